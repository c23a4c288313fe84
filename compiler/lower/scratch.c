#include "lower/scratch.h"

#include "kernels/plane.h"
#include "kernels/split.h"

enum { F32 = 4 };

static const Dim *round_up(DimCtx *c, const Dim *d, int64_t to) { return dim_mulc(c, dim_ceildiv(c, d, dim_const(c, to)), to); }

WindowDims window_dims(DimCtx *c, const PTensor *x, const PTensor *y, uint32_t n, const Dim *const *kernel, const int64_t *stride,
                       const int64_t *dilation, const int64_t *up, const Dim *const *pad_lo, const Dim *const *pad_hi) {
  WindowDims w;
  uint32_t lead = 3 - n;
  for (uint32_t i = 0; i < 3; i++) {
    bool real = i >= lead;
    uint32_t j = real ? i - lead : 0;
    w.in[i] = real ? x->dims[2 + j] : c->one;
    w.out[i] = real ? y->dims[2 + j] : c->one;
    w.kernel[i] = real ? kernel[j] : c->one;
    w.pad_lo[i] = real ? pad_lo[j] : c->zero;
    w.pad_hi[i] = real ? pad_hi[j] : c->zero;
    w.stride[i] = real ? stride[j] : 1;
    w.dilation[i] = real ? dilation[j] : 1;
    w.up[i] = real && up ? up[j] : 1;
  }
  return w;
}

static const Dim *volume(DimCtx *c, const Dim *const d[3]) { return dim_product(c, d, 3); }
static int64_t lanes(const Target *t) { return t->vector_bits / 32; }

const Dim *scratch_pack(DimCtx *c, const Target *t, const Dim *k, const Dim *n, bool rows) {
  const TargetTile *tile = target_tile(t, "gemm_f32");
  const Dim *bytes = dim_mulc(c, dim_mul(c, k, round_up(c, n, rows ? tile->mr : tile->nr)), F32);
  return dim_is(bytes, 0) ? dim_const(c, F32) : bytes; /* nothing to pack is no reason for the step to have no scratch to name */
}

const Dim *scratch_lines(DimCtx *c, const Target *t, const Dim *rows) {
  const TargetTile *tile = target_tile(t, "gemm_f32"), *split = target_tile(t, "split_f32");
  const Dim *most = dim_min(c, rows, dim_const(c, tile->mc + tile->mc / 4)), *lines = dim_mulc(c, most, (tile->kc + 16) * F32);
  if (!split) return lines;
  const int64_t none = (int64_t)cn_split_floats(0, split->kc), each = (int64_t)cn_split_floats(split->mr, split->kc) - none;
  return dim_max(c, lines, dim_mulc(c, dim_addc(c, dim_mulc(c, dim_ceildiv(c, most, dim_const(c, split->mr)), each), none), F32));
}

const Dim *scratch_conv(DimCtx *c, const Target *t, const WindowDims *w, const Dim *depth) {
  const TargetTile *tile = target_tile(t, "gemm_f32");
  const Dim *pixels = round_up(c, dim_min(c, volume(c, w->out), dim_const(c, tile->nc)), tile->nr);
  const Dim *floats = dim_mul(c, dim_min(c, depth, dim_const(c, tile->kc)), pixels);
  return dim_mulc(c, dim_addc(c, floats, lanes(t)), F32);
}

/* Of a copied row (cn_plane_of), one of the columns that a stride parts. */
static const Dim *plane_pitch(DimCtx *c, const Target *t, const WindowDims *w) {
  const Dim *reach = dim_mulc(c, dim_addc(c, w->kernel[2], -1), w->dilation[2]);
  return dim_add(c, round_up(c, w->out[2], lanes(t)), dim_floordiv(c, reach, dim_const(c, w->stride[2])));
}

const Dim *scratch_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *channels) {
  const Dim *pitch = plane_pitch(c, t, w), *reach = dim_mulc(c, dim_addc(c, w->kernel[1], -1), w->dilation[1]);
  const Dim *rows = dim_addc(c, dim_add(c, dim_mulc(c, dim_addc(c, dim_max(c, w->out[1], c->one), -1), w->stride[1]), reach), 1);
  const Dim *image = dim_mul(c, dim_mul(c, channels, w->kernel[0]), dim_mul(c, rows, dim_mulc(c, pitch, w->stride[2])));
  const Dim *floats = dim_addc(c, dim_add(c, image, dim_mul(c, volume(c, w->kernel), channels)), lanes(t));
  return dim_mulc(c, dim_min(c, floats, dim_const(c, CN_PLANE_MOST(lanes(t)))), F32);
}

/* The band starts with four rows at most and grows only while the copy stays under CN_PLANE_F32_FLOATS. */
const Dim *scratch_plane(DimCtx *c, const Target *t, const WindowDims *w, bool counts) {
  const Dim *row = dim_mulc(c, plane_pitch(c, t, w), w->stride[2]);
  const Dim *band = dim_addc(c, dim_min(c, w->out[1], dim_const(c, 4)), -1);
  const Dim *rows = dim_addc(c, dim_add(c, dim_mulc(c, band, w->stride[1]), dim_mulc(c, dim_addc(c, w->kernel[1], -1), w->dilation[1])), 1);
  const Dim *least = dim_mul(c, w->kernel[0], dim_mul(c, rows, row));
  /* all rows at once, where that is less than the limit */
  const Dim *all = dim_addc(c, dim_add(c, dim_mulc(c, dim_addc(c, w->out[1], -1), w->stride[1]), dim_mulc(c, dim_addc(c, w->kernel[1], -1), w->dilation[1])), 1);
  const Dim *whole = dim_mul(c, w->kernel[0], dim_mul(c, all, row));
  const Dim *floats = dim_min(c, whole, dim_max(c, least, dim_const(c, 1024 * lanes(t))));
  floats = dim_addc(c, floats, lanes(t));
  if (counts) floats = dim_add(c, floats, round_up(c, w->out[2], lanes(t)));
  return dim_mulc(c, floats, F32);
}
