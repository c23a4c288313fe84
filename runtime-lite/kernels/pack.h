/* SPDX-License-Identifier: MIT-0 */
/* Packing of matrix operands into panels. One function serves both sides: B [K][N] becomes column panels
 * [ceil(N/width)][K][width], A [M][K] row panels [ceil(M/width)][K][width]; places beyond the matrix are zero.
 * The width is the target's, an argument: the compiler packs constants with the same functions for any target. */
#ifndef CN_KERNELS_PACK_H
#define CN_KERNELS_PACK_H

#include "base.h"

/* Elements of the packed form. */
CN_INLINE size_t cn_pack_size(size_t k, size_t n, size_t width) { return cn_round_up(n, width) * k; }

/* Four floats, which compilers turn into one register. */
CN_INLINE void cn_copy4_f32(float *dst, const float *src) { memcpy(dst, src, 4 * sizeof *dst); }

/* Rows i .. i + 4 and columns j .. j + 4 of a panel whose source runs down the columns (k_stride 1): a transposition. */
CN_INLINE void cn_pack_block_f32(const float *src, size_t n_stride, size_t width, float *dst) {
  float t[4][4];
  CN_UNROLL(4)
  for (size_t j = 0; j < 4; j++) cn_copy4_f32(t[j], src + j * n_stride);
  CN_UNROLL(4)
  for (size_t i = 0; i < 4; i++) {
    float row[4];
    CN_UNROLL(4)
    for (size_t j = 0; j < 4; j++) row[j] = t[j][i];
    cn_copy4_f32(dst + i * width, row);
  }
}

/* Any rows and columns of a panel, element by element. */
CN_INLINE void cn_pack_rest_f32(const float *src, size_t k_stride, size_t n_stride, size_t k, size_t n, size_t width,
                                float *dst) {
  for (size_t i = 0; i < k; i++, dst += width) {
    for (size_t j = 0; j < n; j++) dst[j] = src[i * k_stride + j * n_stride];
    for (size_t j = n; j < width; j++) dst[j] = 0.0f;
  }
}

/* One panel: src element (i, j) at src[i * k_stride + j * n_stride], n <= width columns of it used. */
CN_NOINLINE void cn_pack_panel_f32(const float *src, size_t k_stride, size_t n_stride, size_t k, size_t n, size_t width,
                                   float *dst) {
  size_t i = 0;
  if (n == width && width % 4 == 0 && n_stride == 1) {
    for (; i < k; i++) {
      for (size_t j = 0; j < width; j += 4) cn_copy4_f32(dst + i * width + j, src + i * k_stride + j);
    }
  } else if (n == width && width % 4 == 0 && k_stride == 1) {
    for (; i + 4 <= k; i += 4) {
      for (size_t j = 0; j < width; j += 4) cn_pack_block_f32(src + j * n_stride + i, n_stride, width, dst + i * width + j);
    }
  }
  cn_pack_rest_f32(src + i * k_stride, k_stride, n_stride, k - i, n, width, dst + i * width);
}

/* B [k][n] with any strides (a transposed B has k_stride 1) -> dst [ceil(n/nr)][k][nr], cn_pack_size(k, n, nr) elements. */
CN_NOINLINE void cn_pack_b_f32(const float *src, size_t k_stride, size_t n_stride, size_t k, size_t n, size_t nr,
                               float *dst) {
  for (size_t j = 0; j < n; j += nr, dst += k * nr)
    cn_pack_panel_f32(src + j * n_stride, k_stride, n_stride, k, cn_min(nr, n - j), nr, dst);
}

/* Weights of a convolution [groups * m][c][taps] -> dst [groups][ceil(m/mr)][taps * c][mr]: m and c are those of one group,
 * taps the product of the kernel's dimensions. Depth runs over taps first, so that the inner loops run over channels. */
CN_NOINLINE void cn_pack_conv_f32(const float *src, size_t groups, size_t m, size_t c, size_t taps, size_t mr, float *dst) {
  for (size_t g = 0; g < groups; g++) {
    for (size_t i = 0; i < m; i += mr) {
      const float *s = src + (g * m + i) * c * taps;
      for (size_t t = 0; t < taps; t++, dst += c * mr)
        cn_pack_panel_f32(s + t, taps, c * taps, c, cn_min(mr, m - i), mr, dst);
    }
  }
}

/* Weights of a convolution [m][slices][c][taps] -> dst [depth][n][block]: output blocks n0 .. n0 + n. Depth runs over slices (1: images), blocks of input
 * channels, taps, then channels; of a plain input over taps, then channels. Returns the end. */
CN_NOINLINE float *cn_pack_blocked_f32(const float *src, size_t m, size_t slices, size_t c, size_t taps, int plain, size_t block,
                                       size_t n0, size_t n, float *dst) {
  const size_t width = plain ? c : block;
  for (size_t z = 0; z < slices; z++) {
    for (size_t c0 = 0; c0 < c; c0 += width) {
      for (size_t t = 0; t < taps; t++) {
        for (size_t i = c0; i < c && i < c0 + width; i++) {
          for (size_t o = n0 * block; o < (n0 + n) * block; o++) *dst++ = o < m ? src[((o * slices + z) * c + i) * taps + t] : 0.0f;
        }
      }
    }
  }
  return dst;
}

/* Weights of n groups [n * m][c][taps] that lie across the ends of blocks -> dst [output block][input block][taps][channel][block], of all channels that an output
 * block reads, first .. all: zeros between an output and the channels of another group. Returns the end. */
CN_NOINLINE float *cn_pack_straddle_f32(const float *src, size_t n, size_t c, size_t m, size_t taps, size_t block, float *dst) {
  for (size_t o0 = 0; o0 < n * m; o0 += block) {
    const size_t end = o0 + block < n * m ? o0 + block : n * m, from = o0 / m * c, to = ((end - 1) / m + 1) * c;
    for (size_t c0 = from, c1; c0 < to; c0 = c1) {
      c1 = (c0 / block + 1) * block < to ? (c0 / block + 1) * block : to;
      for (size_t t = 0; t < taps; t++) {
        for (size_t i = c0; i < c1; i++) {
          for (size_t o = o0; o < o0 + block; o++) *dst++ = o < end && i / c == o / m ? src[(o * c + i % c) * taps + t] : 0.0f;
        }
      }
    }
  }
  return dst;
}

/* Weights of a depthwise convolution [channels][taps] -> dst [ceil(channels/block)][taps][block]. */
CN_NOINLINE void cn_pack_depthwise_f32(const float *src, size_t channels, size_t taps, size_t block, float *dst) {
  for (size_t c0 = 0; c0 < channels; c0 += block) {
    for (size_t t = 0; t < taps; t++) {
      for (size_t o = c0; o < c0 + block; o++) *dst++ = o < channels ? src[o * taps + t] : 0.0f;
    }
  }
}

#endif
