/* SPDX-License-Identifier: MIT-0 */
/* Local response normalisation over blocked channels, f32 (kernels/blocked_f32.h): each element over a power of the sum of
 * squares of its channel's neighbours. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_BLOCKED_LRN_F32_H
#define CN_KERNELS_BLOCKED_LRN_F32_H

#include "kernels/blocked.h"

typedef struct cn_blocked_lrn_f32_args {
  size_t images, channels, pixels; /* pixels: of an image */
  size_t below, above;             /* channels of the window before and after its own, each less than `channels` */
  float scale, bias;               /* out = in / (bias + scale * sum) ^ (quarters / 4), bias > 0, scale >= 0 */
  int quarters;                    /* 1, 2 or 3 */
  const float *in;                 /* [images][blocks][pixels][LANES] */
  float *out;                      /* may be in */
} cn_blocked_lrn_f32_args;

/* Some pixels of an image. */
CN_INLINE size_t cn_blocked_lrn_f32_tasks(const cn_blocked_lrn_f32_args *a) {
  return a->images * cn_ceil_div(a->pixels, CN_BLOCKED_LRN_F32_PIXELS);
}

/* Squares of n pixels from `in` on; zeros for what lies behind the channels in the last block. */
CN_KERNEL void cn_blocked_lrn_squares_f32(const cn_blocked_lrn_f32_args *a, const float *in, size_t n, size_t row, float *squares) {
  const size_t lanes = CN_VF32_LANES;
  for (size_t c = 0; c < a->channels; c += lanes, in += a->pixels * lanes) {
    for (size_t p = 0; p < n; p++) {
      const cn_vf32 v = cn_vf32_load_n(in + p * lanes, cn_min(lanes, a->channels - c));
      cn_vf32_store(squares + p * row + a->below + c, cn_vf32_mul(v, v));
    }
  }
}

CN_KERNEL cn_vf32 cn_blocked_lrn_power_f32(const cn_blocked_lrn_f32_args *a, cn_vf32 sum) {
  const cn_vf32 base = cn_vf32_add(cn_vf32_mul(sum, cn_vf32_set1(a->scale)), cn_vf32_set1(a->bias)), half = cn_vf32_sqrt(base);
  if (a->quarters == 2) return half;
  return a->quarters == 1 ? cn_vf32_sqrt(half) : cn_vf32_mul(half, cn_vf32_sqrt(half));
}

/* Tasks t0 .. t1 of cn_blocked_lrn_f32_tasks(a); each call with its own scratch of
 * cn_blocked_lrn_f32_scratch floats. */
CN_DRIVER void cn_blocked_lrn_f32(const cn_blocked_lrn_f32_args *a, float *scratch, size_t t0, size_t t1) {
  const size_t lanes = CN_VF32_LANES, row = cn_blocked_lrn_f32_row(a->channels, a->below, a->above, lanes);
  const size_t across = cn_ceil_div(a->pixels, CN_BLOCKED_LRN_F32_PIXELS), image = cn_round_up(a->channels, lanes) * a->pixels;
  memset(scratch, 0, CN_BLOCKED_LRN_F32_PIXELS * row * sizeof *scratch);
  for (size_t t = t0; t < t1; t++) {
    const size_t p0 = t % across * CN_BLOCKED_LRN_F32_PIXELS, n = cn_min(CN_BLOCKED_LRN_F32_PIXELS, a->pixels - p0);
    const size_t at = t / across * image + p0 * lanes;
    cn_blocked_lrn_squares_f32(a, a->in + at, n, row, scratch);
    for (size_t c = 0; c < a->channels; c += lanes) {
      for (size_t p = 0; p < n; p++) {
        const size_t place = at + c * a->pixels + p * lanes;
        const float *s = scratch + p * row + c;
        cn_vf32 sum = cn_vf32_load(s);
        for (size_t d = 1; d <= a->below + a->above; d++) sum = cn_vf32_add(sum, cn_vf32_load(s + d));
        cn_vf32_store(a->out + place, cn_vf32_div(cn_vf32_load(a->in + place), cn_blocked_lrn_power_f32(a, sum)));
      }
    }
  }
}

#endif
