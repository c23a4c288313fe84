/* SPDX-License-Identifier: MIT-0 */
/* Convolution of 8-bit data into s32, exact, sums wrap: the scheme of kernels/conv_f32.h with widened pairs. Padding counts as
 * the zero point. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_CONV_S16_H
#define CN_KERNELS_CONV_S16_H

#include "kernels/gather_f32.h"
#include "kernels/tile_s16.h"

typedef struct cn_conv_s16_args {
  cn_window window;
  const void *in; /* [images][groups * c][in...], 8 bits */
  int in_signed;
  int32_t in_zero;        /* zero point of the input */
  const int32_t *weights; /* cn_pack_conv_s16 */
  int32_t *out;           /* [images][groups * m][out...] */
  void (*tile)(void *ctx, int32_t *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n);
  void *ctx;
} cn_conv_s16_args;

CN_INLINE size_t cn_conv_s16_pairs(const cn_window *w) { return cn_ceil_div(cn_volume(w->kernel) * w->c, 2); }

/* 32-bit elements of scratch: one panel of pixels, all of the depth. */
CN_INLINE size_t cn_conv_s16_scratch(const cn_window *w) { return cn_conv_s16_pairs(w) * CN_GEMM_S16_NR; }

/* A panel of pixels each. */
CN_INLINE size_t cn_conv_s16_tasks(const cn_conv_s16_args *a) {
  return a->window.images * a->window.groups * cn_ceil_div(cn_volume(a->window.out), CN_GEMM_S16_NR);
}

/* Place q of the depth for all pixels of a panel into its half of the pairs at dst. */
CN_INLINE void cn_gather_row_s16(const cn_conv_s16_args *a, size_t channel, const cn_run *runs, size_t n_runs, int high,
                                 int32_t *dst) {
  for (size_t r = 0; r < n_runs; r++) {
    for (size_t j = 0; j < runs[r].n; j++, dst++) {
      const size_t at = channel + (size_t)(runs[r].from < 0 ? 0 : runs[r].from) + j * a->window.stride[2];
      const int32_t x = runs[r].from < 0 ? 0 : cn_load_8(a->in, at, a->in_signed) - a->in_zero;
      *dst = high ? cn_pair_s16(*dst, x) : cn_pair_s16(x, 0);
    }
  }
}

/* All of the depth for the pixels p .. p + n of one image and group -> dst[pairs][NR]. */
CN_DRIVER void cn_gather_s16(const cn_conv_s16_args *a, size_t index, size_t p, size_t n, int32_t *dst) {
  const cn_window *w = &a->window;
  const size_t area = cn_volume(w->in);
  cn_run runs[2 * CN_GEMM_S16_NR + 1];
  size_t q = 0;
  for (size_t t = 0; t < cn_volume(w->kernel); t++) {
    const cn_tap tap = cn_tap_at(w, t);
    const size_t n_runs = cn_run_list(w, &tap, cn_pixel_at(w, p), n, CN_GEMM_S16_NR, runs);
    for (size_t c = 0; c < w->c; c++, q++)
      cn_gather_row_s16(a, (index * w->c + c) * area, runs, n_runs, (int)(q & 1), dst + q / 2 * CN_GEMM_S16_NR);
  }
}

/* Tasks t0 .. t1 of cn_conv_s16_tasks(a), each call with its own scratch of cn_conv_s16_scratch elements. */
CN_DRIVER void cn_conv_s16(const cn_conv_s16_args *a, int32_t *scratch, size_t t0, size_t t1) {
  const cn_window *w = &a->window;
  const size_t pixels = cn_volume(w->out), across = cn_ceil_div(pixels, CN_GEMM_S16_NR), pairs = cn_conv_s16_pairs(w);
  for (size_t t = t0; t < t1; t++) {
    const size_t index = t / across, p = t % across * CN_GEMM_S16_NR, n = cn_min(CN_GEMM_S16_NR, pixels - p);
    const int32_t *weights = a->weights + index % w->groups * cn_round_up(w->m, CN_GEMM_S16_MR) * pairs;
    int32_t *out = a->out + index * w->m * pixels + p;
    cn_gather_s16(a, index, p, n, scratch);
    for (size_t i = 0; i < w->m; i += CN_GEMM_S16_MR)
      cn_block_s16(weights + i * pairs, 1, CN_GEMM_S16_MR, scratch, pairs, cn_min(CN_GEMM_S16_MR, w->m - i), n,
                   out + i * pixels, pixels);
    if (a->tile) a->tile(a->ctx, out, pixels, index, 0, w->m, p, n);
  }
}

#endif
