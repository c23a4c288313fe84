/* SPDX-License-Identifier: MIT-0 */
/* Packing of 8-bit operands for the integer kernels: panels as in kernels/pack.h, of s16 pairs along the depth with the zero
 * points subtracted. Panels hold ceil(k/2) rows; an odd depth ends with a zero. */
#ifndef CN_KERNELS_PACK_S16_H
#define CN_KERNELS_PACK_S16_H

#include "kernels/tile_s16.h"

/* 32-bit elements of the packed form. */
CN_INLINE size_t cn_pack_s16_size(size_t k, size_t n, size_t width) {
  return cn_round_up(n, width) * cn_ceil_div(k, 2);
}

/* B [k][n] of 8 bits -> dst [ceil(n/nr)][ceil(k/2)][nr]; zero: NULL, one zero point, or (zero_step 1) one a column. */
CN_NOINLINE void cn_pack_b_s16(const void *src, int is_signed, size_t k_stride, size_t n_stride, size_t k, size_t n, size_t nr,
                               const void *zero, size_t zero_step, int32_t *dst) {
  const size_t pairs = cn_ceil_div(k, 2);
  for (size_t j = 0; j < cn_round_up(n, nr); j++) {
    int32_t *d = dst + j / nr * pairs * nr + j % nr;
    const int32_t z = zero && j < n ? cn_load_8(zero, j * zero_step, is_signed) : 0;
    for (size_t p = 0; p < pairs; p++) {
      const size_t at = 2 * p * k_stride + j * n_stride;
      const int32_t low = j < n ? cn_load_8(src, at, is_signed) - z : 0;
      const int32_t high = j < n && 2 * p + 1 < k ? cn_load_8(src, at + k_stride, is_signed) - z : 0;
      d[p * nr] = cn_pair_s16(low, high);
    }
  }
}

/* Element q of the depth (taps * c, taps first) of output channel i in weights [...][c][taps]. */
CN_INLINE int32_t cn_conv_weight_8(const void *src, int is_signed, size_t i, size_t q, size_t c, size_t taps) {
  return cn_load_8(src, (i * c + q % c) * taps + q / c, is_signed);
}

/* Weights of a convolution [groups * m][c][taps] of 8 bits -> dst [groups][ceil(m/mr)][ceil(taps * c / 2)][mr]; zero: NULL,
 * one zero point, or (zero_step 1) one an output channel. */
CN_NOINLINE void cn_pack_conv_s16(const void *src, int is_signed, size_t groups, size_t m, size_t c, size_t taps, size_t mr,
                                  const void *zero, size_t zero_step, int32_t *dst) {
  const size_t depth = c * taps, pairs = cn_ceil_div(depth, 2), rows = cn_round_up(m, mr);
  for (size_t r = 0; r < groups * rows; r++) {
    const size_t i = r % rows, channel = r / rows * m + i;
    int32_t *d = dst + r / mr * pairs * mr + r % mr;
    const int32_t z = zero && i < m ? cn_load_8(zero, channel * zero_step, is_signed) : 0;
    for (size_t p = 0; p < pairs; p++) {
      const int32_t low = i < m ? cn_conv_weight_8(src, is_signed, channel, 2 * p, c, taps) - z : 0;
      const int32_t high = i < m && 2 * p + 1 < depth ? cn_conv_weight_8(src, is_signed, channel, 2 * p + 1, c, taps) - z : 0;
      d[p * mr] = cn_pair_s16(low, high);
    }
  }
}

#endif
