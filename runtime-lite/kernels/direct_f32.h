/* SPDX-License-Identifier: MIT-0 */
/* Convolution without gathering, f32: a band of all input channels is copied with its padding filled in and its columns parted
 * by stride (kernels/plane_f32.h); then each tap of each channel is an offset from where a vector of pixels starts. Arguments
 * and packed weights are those of cn_conv_f32, which it outruns where output channels are few (cn_conv_direct_wins of kernels/plane.h).
 * Input dilation must be 1. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_DIRECT_F32_H
#define CN_KERNELS_DIRECT_F32_H

#include "kernels/conv_f32.h"
#include "kernels/plane_f32.h"

/* Floats of scratch: the band, then an offset for each place of the depth. */
CN_INLINE size_t cn_conv_f32_direct_scratch(const cn_window *w) { return cn_direct_scratch(w, CN_VF32_LANES); }

/* Bands of rows, or parts of a single one, that one slice of an image and group is computed by. */
CN_INLINE size_t cn_direct_bands_f32(const cn_window *w) {
  const size_t width = cn_direct_width(w, CN_VF32_LANES);
  return width < w->out[2] ? cn_ceil_div(w->out[2], width) : cn_ceil_div(w->out[1], cn_direct_plane(w, CN_VF32_LANES).band);
}

/* One of them each. */
CN_INLINE size_t cn_conv_f32_direct_tasks(const cn_conv_f32_args *a) {
  const cn_window *w = &a->window;
  return w->images * w->groups * w->out[0] * cn_direct_bands_f32(w);
}

/* One task: a band, and where its results go. */
typedef struct cn_direct_f32_band {
  const cn_conv_f32_args *args;
  const float *weights, *bias; /* this group's */
  const float *planes;         /* [c][kernel depth][rows][stride][pitch] */
  const uint32_t *offsets;     /* [depth] from the first tap of the first channel */
  float *out;                  /* first pixel of the band in the first channel; channels are `pixels` apart */
  size_t depth, pixels, rows, width, down;
} cn_direct_f32_band;

/* A vector of pixels: its first tap, its place behind the band's first pixel, its lanes that exist. */
typedef struct cn_direct_f32_vector {
  const float *src;
  size_t at, n;
} cn_direct_f32_vector;

/* Vector t of a band, counted along rows; beyond the last one, that one without lanes. */
CN_INLINE cn_direct_f32_vector cn_direct_vector_f32(const cn_direct_f32_band *d, size_t t, size_t lanes) {
  const size_t width = d->width, each = cn_ceil_div(width, lanes), last = d->rows * each - 1;
  const size_t at = cn_min(t, last), y = at / each, x = at % each * lanes;
  cn_direct_f32_vector v;
  v.src = d->planes + y * d->down + x;
  v.at = y * width + x;
  v.n = t > last ? 0 : width - x;
  return v;
}

/* mr output channels from i on, nv vectors (literals): the product over all of the depth, epilogue, store. */
CN_KERNEL void cn_direct_tile_f32(const cn_direct_f32_band *d, size_t i, const cn_direct_f32_vector *vec, size_t mr, size_t nv) {
  const cn_epilogue_f32 *ep = &d->args->ep;
  const float *a = d->weights + i / CN_GEMM_F32_MR * CN_GEMM_F32_MR * d->depth + i % CN_GEMM_F32_MR;
  const uint32_t *offset = d->offsets;
  cn_vf32 acc[64];
  CN_UNROLL(64)
  for (size_t r = 0; r < mr * nv; r++) acc[r] = cn_vf32_zero();
  for (size_t p = 0; p < d->depth; p++, a += CN_GEMM_F32_MR) {
    const size_t o = offset[p];
    CN_UNROLL(16)
    for (size_t r = 0; r < mr; r++) {
      const cn_vf32 x = cn_vf32_set1(a[r]);
      CN_UNROLL(8)
      for (size_t v = 0; v < nv; v++) acc[r * nv + v] = cn_vf32_fma(x, cn_vf32_load(vec[v].src + o), acc[r * nv + v]);
    }
  }
  if (ep->flags & CN_EP_ROW_BIAS) {
    CN_UNROLL(64)
    for (size_t r = 0; r < mr * nv; r++) acc[r] = cn_vf32_add(acc[r], cn_vf32_set1(d->bias[i + r / nv]));
  }
  if (ep->flags & CN_EP_RESIDUAL) {
    const float *residual = ep->residual + (d->out - d->args->out) + i * d->pixels;
    CN_UNROLL(64)
    for (size_t r = 0; r < mr * nv; r++)
      acc[r] = cn_vf32_add(acc[r], cn_vf32_load_n(residual + r / nv * d->pixels + vec[r % nv].at, vec[r % nv].n));
  }
  if (ep->flags & CN_EP_CLAMP) {
    const cn_vf32 lo = cn_vf32_set1(ep->lo), hi = cn_vf32_set1(ep->hi);
    CN_UNROLL(64)
    for (size_t r = 0; r < mr * nv; r++) acc[r] = cn_vf32_min(hi, cn_vf32_max(lo, acc[r]));
  }
  CN_UNROLL(64)
  for (size_t r = 0; r < mr * nv; r++)
    cn_vf32_store_n(d->out + (i + r / nv) * d->pixels + vec[r % nv].at, acc[r], vec[r % nv].n);
}

/* Vectors at a time for mr output channels: what a full tile has; of fewer channels as many, up to eight, as leave room in the registers for them, their
 * sums and one weight, in numbers that part a row well. */
CN_INLINE size_t cn_direct_vectors_f32(size_t mr) {
  const size_t most = ((CN_GEMM_F32_MR * CN_GEMM_F32_NV >= 16 ? 32 : 16) - 1) / (mr + 1);
  return mr == CN_GEMM_F32_MR ? CN_GEMM_F32_NV : most >= 8 ? 8 : most >= 6 ? 6 : most >= 4 ? 4 : most;
}

/* mr output channels from i on, all vectors of the band. */
CN_KERNEL void cn_direct_rows_f32(const cn_direct_f32_band *d, size_t i, size_t mr) {
  const size_t nv = cn_direct_vectors_f32(mr), vectors = d->rows * cn_ceil_div(d->width, CN_VF32_LANES);
  for (size_t t = 0; t < vectors; t += nv) {
    cn_direct_f32_vector vec[8];
    CN_UNROLL(8)
    for (size_t v = 0; v < nv; v++) vec[v] = cn_direct_vector_f32(d, t + v, CN_VF32_LANES);
    cn_direct_tile_f32(d, i, vec, mr, nv);
  }
}

/* All output channels: full tiles, then 8, 4, 3, 2, 1 rows. */
CN_KERNEL void cn_direct_band_f32(const cn_direct_f32_band *d, size_t m) {
  size_t i = 0;
  for (; i + CN_GEMM_F32_MR <= m; i += CN_GEMM_F32_MR) cn_direct_rows_f32(d, i, CN_GEMM_F32_MR);
  for (; CN_GEMM_F32_MR > 8 && i + 8 <= m; i += 8) cn_direct_rows_f32(d, i, 8);
  for (; CN_GEMM_F32_MR > 4 && i + 4 <= m; i += 4) cn_direct_rows_f32(d, i, 4);
  for (; CN_GEMM_F32_MR > 3 && i + 3 <= m; i += 3) cn_direct_rows_f32(d, i, 3);
  for (; CN_GEMM_F32_MR > 2 && i + 2 <= m; i += 2) cn_direct_rows_f32(d, i, 2);
  for (; i < m; i++) cn_direct_rows_f32(d, i, 1);
}

/* Offsets of the depth in the order of the packed weights: taps, then channels. */
CN_INLINE void cn_direct_offsets_f32(const cn_window *w, const cn_plane *p, uint32_t *offsets) {
  const size_t channel = w->kernel[0] * p->slice, stride = w->stride[2];
  cn_tap t = {0, 0, 0};
  for (size_t q = 0; q < cn_volume(w->kernel); q++, cn_tap_next(w, &t)) {
    const size_t x = t.x * w->dilation[2];
    const size_t at = t.z * p->slice + t.y * w->dilation[1] * p->row + x % stride * p->pitch + x / stride;
    for (size_t c = 0; c < w->c; c++) *offsets++ = (uint32_t)(at + c * channel);
  }
}

/* Tasks t0 .. t1 of cn_conv_f32_direct_tasks(a), each call with its own scratch of cn_conv_f32_direct_scratch floats. */
CN_DRIVER void cn_conv_f32_direct(const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  const cn_window *w = &a->window;
  const cn_plane p = cn_direct_plane(w, CN_VF32_LANES);
  const size_t width = cn_direct_width(w, CN_VF32_LANES), bands = cn_direct_bands_f32(w), channel = w->kernel[0] * p.slice, image = cn_volume(w->in);
  const int parted = width < w->out[2];
  uint32_t *offsets = (uint32_t *)(void *)(scratch + w->c * channel + CN_VF32_LANES);
  cn_direct_offsets_f32(w, &p, offsets);
  for (size_t t = t0; t < t1; t++) {
    const cn_band b = cn_band_at(w, bands, t);
    const size_t y = parted ? 0 : b.band * p.band, x = parted ? b.band * width : 0, z = b.z, index = b.index, group = index % w->groups;
    const size_t n0 = (z * w->out[1] + y) * w->out[2] + x;
    cn_window own = *w; /* the columns from x on */
    own.out[2] = cn_min(width, w->out[2] - x);
    own.pad[2] -= (ptrdiff_t)(x * w->stride[2]);
    cn_direct_f32_band d;
    d.args = a;
    d.depth = cn_conv_depth(w);
    d.weights = a->weights + group * cn_round_up(w->m, CN_GEMM_F32_MR) * d.depth;
    d.bias = a->ep.bias ? a->ep.bias + group * w->m : 0;
    d.planes = scratch;
    d.offsets = offsets;
    d.pixels = cn_volume(w->out);
    d.out = a->out + index * w->m * d.pixels + n0;
    d.rows = cn_min(p.band, w->out[1] - y);
    d.width = own.out[2];
    d.down = w->stride[1] * p.row;
    for (size_t c = 0; c < w->c; c++)
      cn_plane_copy_f32(&own, &p, a->in + (index * w->c + c) * image, c + 1 < w->c && !parted ? image : 0, z, y, 0.0f, scratch + c * channel);
    cn_direct_band_f32(&d, w->m);
    if (a->ep.tile) a->ep.tile(a->ep.ctx, d.out, d.pixels, index, 0, w->m, n0, d.rows * d.width);
  }
}

#endif
