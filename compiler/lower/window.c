#include "lower/window.h"

#include "kernels/blocked.h"
#include "kernels/plane.h"

typedef struct WindowRow {
  const char *function, *general;
  int64_t kernel, stride;
} WindowRow;

static const WindowRow rows[] = {
#define KERNEL(function, family, dtype, tile, file)
#define WINDOW(function, general, kernel, stride) {#function, #general, kernel, stride},
#include "kernels.def"
#undef KERNEL
#undef WINDOW
};

static bool row_fits(const WindowRow *r, const WindowDims *w) {
  for (int i = 0; i < 3; i++) {
    if (!dim_is(w->kernel[i], i ? r->kernel : 1) || w->stride[i] != (i ? r->stride : 1) || w->dilation[i] != 1 || w->up[i] != 1) return false;
  }
  return true;
}

const char *window_driver(const Target *t, const char *general, const WindowDims *w) {
  for (size_t i = 0; !t->small_code && i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].general, general) == 0 && row_fits(&rows[i], w)) return rows[i].function;
  return general;
}

static bool sizes(const Dim *const d[3], size_t ret[3]) {
  for (int i = 0; i < 3; i++) {
    int64_t v;
    if (!dim_is_const(d[i], &v) || v < 0 || v > INT32_MAX) return false;
    ret[i] = (size_t)v;
  }
  return true;
}

/* The window in runtime-lite's terms. */
static bool window_known(const WindowDims *w, const Dim *const counts[3], int64_t groups, cn_window *ret) {
  size_t n[3];
  if (!sizes(w->in, ret->in) || !sizes(w->out, ret->out) || !sizes(w->kernel, ret->kernel) || !sizes(counts, n)) return false;
  for (int i = 0; i < 3; i++) {
    int64_t pad;
    if (!dim_is_const(w->pad_lo[i], &pad) || w->stride[i] > INT32_MAX || w->dilation[i] > INT32_MAX) return false;
    ret->stride[i] = (size_t)w->stride[i];
    ret->dilation[i] = (size_t)w->dilation[i];
    ret->up[i] = (size_t)w->up[i];
    ret->pad[i] = (ptrdiff_t)pad;
  }
  ret->images = n[0];
  ret->groups = (size_t)groups;
  ret->c = n[1];
  ret->m = n[2];
  return true;
}

/* No product of the sizing functions may wrap: the padded input and the weights are far below 2^63. */
static bool window_modest(const cn_window *w) {
  size_t copy = w->c, depth = w->c, ok = 1;
  for (int i = 0; i < 3; i++) {
    size_t reach, side;
    ok = ok && size_mul(w->out[i] + 64, w->stride[i], &side) && size_mul(w->kernel[i], w->dilation[i], &reach);
    ok = ok && size_add(side, reach, &side) && size_mul(copy, side, &copy) && size_mul(depth, w->kernel[i], &depth);
  }
  return ok && copy <= (size_t)1 << 40 && depth <= (size_t)1 << 40;
}

const Dim *window_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels,
                         const Dim *m) {
  const Dim *counts[3] = {images, channels, m};
  const TargetTile *tile = target_tile(t, "gemm_f32");
  const size_t lanes = t->vector_bits / 32;
  cn_window known;
  if (!window_known(w, counts, groups, &known) || !window_modest(&known)) return NULL;
  if (!cn_conv_direct_wins(&known, lanes, tile->mr, tile->nr)) return NULL;
  return dim_const(c, (int64_t)(cn_direct_scratch(&known, lanes) * sizeof(float)));
}

bool window_blocked(DimCtx *c, const WindowDims *w, int64_t groups, const Dim *channels, const Dim *m, cn_window *ret) {
  const Dim *counts[3] = {c->one, channels, m};
  return window_known(w, counts, groups, ret);
}

const Dim *window_blocked_scratch(DimCtx *c, const Target *t, const cn_window *w, bool plain, size_t blocks, size_t n) {
  const TargetTile *tile = target_tile(t, "blocked_f32");
  const size_t lanes = t->vector_bits / 32, sums = tile->mr * tile->nr / lanes;
  return dim_const(c, (int64_t)(cn_blocked_conv_f32_scratch(w, plain, blocks, n, lanes, sums) * sizeof(float)));
}
