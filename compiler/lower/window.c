#include "lower/window.h"

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

/* A window of one slice of a volume sees each slice where it lies. */
static bool row_fits(const WindowRow *r, const WindowDims *w) {
  if (!dim_is(w->pad_lo[0], 0) || !dim_is(w->pad_hi[0], 0)) return false;
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

/* False where one is not known, which is `most` then. */
static bool sizes(const Dim *const d[3], size_t most, size_t ret[3]) {
  bool all = true;
  for (int i = 0; i < 3; i++) {
    int64_t v;
    const bool known = dim_is_const(d[i], &v) && v >= 0 && v <= INT32_MAX;
    ret[i] = known ? (size_t)v : most;
    all = all && known;
  }
  return all;
}

/* The window in runtime-lite's terms; counts: images, channels of a group, outputs of one. */
static bool window_known(const WindowDims *w, const Dim *const counts[3], int64_t groups, cn_window *ret) {
  size_t n[3];
  if (!sizes(w->in, 0, ret->in) || !sizes(w->out, 0, ret->out) || !sizes(w->kernel, 0, ret->kernel) || !sizes(counts, 0, n)) return false;
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
  if (!cn_conv_direct_wins(&known, lanes, tile->nr)) return NULL;
  return dim_const(c, (int64_t)(cn_direct_scratch(&known, lanes) * sizeof(float)));
}

static const Dim *usual_size(DimCtx *c, const Dim *d) {
  int64_t n;
  return dim_const(c, dim_eval(d, NULL, &n) && n > 0 ? n : 0);
}

static WindowDims usual_window(DimCtx *c, const WindowDims *w) {
  WindowDims usual = *w;
  for (int i = 0; i < 3; i++) {
    usual.in[i] = usual_size(c, w->in[i]);
    usual.out[i] = usual_size(c, w->out[i]);
  }
  return usual;
}

/* Steps and reach that keep the sizing functions from wrapping for any image of 2^31 places a side. */
static bool strides_modest(const cn_window *w) {
  enum { MOST_STEP = 16, MOST_REACH = 1 << 10 };
  for (int i = 0; i < 3; i++)
    if (w->stride[i] > MOST_STEP || w->dilation[i] > MOST_REACH || w->kernel[i] * w->dilation[i] > MOST_REACH) return false;
  return true;
}

const Dim *window_open_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels,
                              const Dim *m) {
  const Dim *counts[3] = {dim_is_const(images, NULL) ? images : c->one, channels, m};
  const TargetTile *tile = target_tile(t, "gemm_f32");
  const size_t lanes = t->vector_bits / 32;
  const WindowDims usual = usual_window(c, w);
  cn_window known;
  if (lanes == 1 || !window_known(&usual, counts, groups, &known) || !window_modest(&known) || !strides_modest(&known)) return NULL;
  return cn_conv_direct_wins(&known, lanes, tile->nr) ? scratch_direct(c, t, w, channels) : NULL;
}

WindowDims window_blocked_dims(DimCtx *c, const PTensor *x, const PTensor *y, const ConvStep *s) {
  const ConvAttr *a = &s->attr;
  WindowDims w = window_dims(c, x, y, 2, s->kernel, a->stride, a->dilation, a->dilate_x, a->pad_lo, a->pad_hi);
  w.kernel[0] = dim_const(c, conv_depth(a));
  return w;
}

BlockedWindow window_blocked(DimCtx *c, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels, const Dim *m) {
  enum { MANY = 1 << 10 }; /* more change nothing */
  const Dim *most = dim_const(c, MANY), *more = dim_const(c, MANY + 1), *counts[3] = {images, channels, m}, *one[3] = {c->one, channels, m};
  const WindowDims usual = usual_window(c, w);
  WindowDims large = *w;
  BlockedWindow ret = {.out = {w->out[1], w->out[2]}, .many = !dim_is_const(images, NULL)};
  for (int i = 0; i < 3; i++) {
    ret.open = ret.open || !dim_is_const(w->in[i], NULL) || !dim_is_const(w->out[i], NULL);
    if (!dim_is_const(w->in[i], NULL)) large.in[i] = more; /* than there are results: a dense window needs less scratch */
    if (!dim_is_const(w->out[i], NULL)) large.out[i] = most;
  }
  if (ret.many) counts[0] = most;
  (void)window_known(&large, counts, groups, &ret.most); /* pass_layout takes no other */
  (void)window_known(&usual, one, groups, &ret.usual);
  return ret;
}

/* Floats of the padded copy of a plain input, of any size, at most: of what span / width + 2 + again output rows read (cn_blocked_copy_rows: no more),
 * width * stride + reach pixels each, where span / width times width is span at most. */
static const Dim *open_copy(DimCtx *c, const BlockedWindow *w, size_t span) {
  const cn_window *v = &w->most;
  const size_t tall = (v->kernel[1] - 1) * v->dilation[1] + 1, reach = (v->kernel[2] - 1) * v->dilation[2] + 1;
  const size_t again = cn_ceil_div(2 * (tall - cn_min(tall, v->stride[1])), v->stride[1]), height = (1 + again) * v->stride[1] + tall;
  const size_t fixed = span * v->stride[1] * (v->stride[2] + reach) + height * reach;
  return dim_addc(c, dim_mulc(c, w->out[1], (int64_t)(height * v->stride[2] * v->c)), (int64_t)(fixed * v->c));
}

const Dim *window_blocked_scratch(DimCtx *c, const Target *t, const BlockedWindow *w, cn_blocked_input input, const BlockedCall *call) {
  const size_t lanes = t->vector_bits / 32;
  const cn_blocked_way way = {call->wide, call->pixels, call->slides};
  if (!call->blocks) return c->zero;
  size_t floats = cn_blocked_conv_f32_scratch(&w->most, input, call->blocks, way, lanes);
  if (input != CN_BLOCKED_PLAIN || !w->open) return dim_const(c, (int64_t)(floats * sizeof(float)));
  floats -= cn_blocked_copy(&w->most, input, cn_blocked_span(&w->most, input, call->blocks, way, lanes), lanes);
  return dim_mulc(c, dim_addc(c, open_copy(c, w, cn_blocked_most(&w->most, way)), (int64_t)floats), (int64_t)sizeof(float));
}
