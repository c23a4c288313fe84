/* SPDX-License-Identifier: MIT-0 */
/* Convolution of 8-bit data, exact s32 sums that wrap, then finished: the scheme of kernels/conv_f32.h with widened pairs.
 * Padding counts as the zero point. Needs a SIMD layer included before. */
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
  void *out;              /* [images][groups * m][out...] of the type that finish.out says */
  cn_finish_s32 finish;
} cn_conv_s16_args;

CN_INLINE size_t cn_conv_s16_pairs(const cn_window *w) { return cn_ceil_div(cn_volume(w->kernel) * w->c, 2); }

/* 32-bit elements of scratch: one panel of pixels, all of the depth, widened and as bytes. */
CN_INLINE size_t cn_conv_s16_scratch(const cn_window *w) { return cn_conv_s16_pairs(w) * (CN_GEMM_S16_NR / 2 * 3); }

/* A panel of pixels each. */
CN_INLINE size_t cn_conv_s16_tasks(const cn_conv_s16_args *a) {
  return a->window.images * a->window.groups * cn_ceil_div(cn_volume(a->window.out), CN_GEMM_S16_NR);
}

/* n bytes, neither read nor written beyond: whole words, the last of them over the one before. */
CN_INLINE void cn_copy_8(uint8_t *dst, const uint8_t *src, size_t n) {
  size_t i = 0;
  if (n >= 16) {
    for (; i + 16 <= n; i += 16) memcpy(dst + i, src + i, 16);
    memcpy(dst + n - 16, src + n - 16, 16);
  } else if (n >= 8) {
    memcpy(dst, src, 8);
    memcpy(dst + n - 8, src + n - 8, 8);
  } else if (n >= 4) {
    memcpy(dst, src, 4);
    memcpy(dst + n - 4, src + n - 4, 4);
  } else {
    for (; i < n; i++) dst[i] = src[i];
  }
}

/* One place of the depth for all pixels of a panel. */
CN_INLINE void cn_gather_row_8(const uint8_t *src, size_t stride, uint8_t zero, const cn_run *runs, size_t n_runs,
                               uint8_t *dst) {
  if (n_runs == 1 && stride == 1 && runs[0].from >= 0) {
    memcpy(dst, src + runs[0].from, CN_GEMM_S16_NR);
    return;
  }
  for (size_t r = 0; r < n_runs; dst += runs[r].n, r++) {
    const uint8_t *from = runs[r].from < 0 ? src : src + runs[r].from;
    if (runs[r].from < 0) {
      for (size_t j = 0; j < runs[r].n; j++) dst[j] = zero;
    } else if (stride == 1) {
      cn_copy_8(dst, from, runs[r].n);
    } else {
      for (size_t j = 0; j < runs[r].n; j++) dst[j] = from[j * stride];
    }
  }
}

/* All of the depth for the pixels p .. p + n of one image and group -> bytes[2 pairs][NR]. */
CN_DRIVER void cn_gather_8(const cn_conv_s16_args *a, size_t index, size_t p, size_t n, uint8_t *dst) {
  const cn_window *w = &a->window;
  const size_t area = cn_volume(w->in), taps = cn_volume(w->kernel);
  const uint8_t zero = (uint8_t)((uint32_t)a->in_zero & 0xffu), *src = (const uint8_t *)a->in + index * w->c * area;
  cn_run runs[2 * CN_GEMM_S16_NR + 1];
  for (size_t t = 0; t < taps; t++) {
    const cn_tap tap = cn_tap_at(w, t);
    const size_t n_runs = cn_run_list(w, &tap, cn_pixel_at(w, p), n, CN_GEMM_S16_NR, runs);
    for (size_t c = 0; c < w->c; c++, dst += CN_GEMM_S16_NR)
      cn_gather_row_8(src + c * area, w->stride[2], zero, runs, n_runs, dst);
  }
  if (w->c * taps % 2) memset(dst, zero, CN_GEMM_S16_NR);
}

/* bytes [2 pairs][NR] -> dst [pairs][NR]. */
CN_DRIVER void cn_widen_panel_8(const cn_conv_s16_args *a, const uint8_t *bytes, size_t pairs, int32_t *dst) {
  const uint32_t flip = cn_flip_8(a->in_signed);
  const int32_t zero = cn_zero_8(a->in_signed, a->in_zero);
  for (size_t p = 0; p < pairs; p++, bytes += 2 * CN_GEMM_S16_NR, dst += CN_GEMM_S16_NR) {
    for (size_t v = 0; v < CN_GEMM_S16_NR; v += CN_VS32_LANES)
      cn_vs32_store(dst + v, cn_vs32_pair_8(bytes + v, bytes + CN_GEMM_S16_NR + v, flip, zero));
  }
}

/* Tasks t0 .. t1 of cn_conv_s16_tasks(a), each call with its own scratch of cn_conv_s16_scratch elements. */
CN_DRIVER void cn_conv_s16(const cn_conv_s16_args *args, int32_t *scratch, size_t t0, size_t t1) {
  cn_conv_s16_args a = *args;
  a.window = cn_window_flat(&args->window);
  const cn_window *w = &a.window;
  const size_t pixels = cn_volume(w->out), across = cn_ceil_div(pixels, CN_GEMM_S16_NR), pairs = cn_conv_s16_pairs(w);
  uint8_t *bytes = (uint8_t *)(scratch + pairs * CN_GEMM_S16_NR);
  cn_place_s32 to;
  to.c = a.out;
  to.ldc = pixels;
  for (size_t t = t0; t < t1; t++) {
    const size_t index = t / across, p = t % across * CN_GEMM_S16_NR, n = cn_min(CN_GEMM_S16_NR, pixels - p);
    const int32_t *weights = a.weights + index % w->groups * cn_round_up(w->m, CN_GEMM_S16_MR) * pairs;
    cn_gather_8(&a, index, p, n, bytes);
    cn_widen_panel_8(&a, bytes, pairs, scratch);
    for (size_t i = 0; i < w->m; i += CN_GEMM_S16_MR) {
      to.i = index % w->groups * w->m + i;
      to.j = p;
      to.at = (index * w->m + i) * pixels + p;
      cn_block_s16(weights + i * pairs, 1, CN_GEMM_S16_MR, scratch, pairs, cn_min(CN_GEMM_S16_MR, w->m - i), n, &a.finish, &to);
    }
  }
}

#endif
