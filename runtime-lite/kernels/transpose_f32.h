/* SPDX-License-Identifier: MIT-0 */
/* Matrices turned over their diagonal: copies into and out of blocks of channels, channels first and last.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_TRANSPOSE_F32_H
#define CN_KERNELS_TRANSPOSE_F32_H

#include "base.h"

/* Columns of x that are walked before the next rows: few enough for their lines of y to stay in the first cache. */
#define CN_TRANSPOSE_F32_STRIP 64

/* A square of vectors: each turn parts the even lanes of neighbours from the odd ones. */
CN_KERNEL void cn_transpose_square_f32(cn_vf32 *v) {
  cn_vf32 w[CN_VF32_LANES];
  CN_UNROLL(4)
  for (size_t turn = 1; turn < CN_VF32_LANES; turn *= 2) {
    CN_UNROLL(8)
    for (size_t i = 0; i + 1 < CN_VF32_LANES; i += 2) {
      w[i / 2] = cn_vf32_even(v[i], v[i + 1]);
      w[i / 2 + CN_VF32_LANES / 2] = cn_vf32_odd(v[i], v[i + 1]);
    }
    CN_UNROLL(16)
    for (size_t i = 0; i < CN_VF32_LANES; i++) v[i] = w[i];
  }
}

/* The first rows x columns of a square, where that is not all of it. */
CN_DRIVER void cn_transpose_edge_f32(float *y, size_t y_row, const float *x, size_t x_row, size_t rows, size_t columns) {
  cn_vf32 v[CN_VF32_LANES];
  CN_UNROLL(16)
  for (size_t i = 0; i < CN_VF32_LANES; i++) v[i] = i < rows ? cn_vf32_load_n(x + i * x_row, columns) : cn_vf32_zero();
  cn_transpose_square_f32(v);
  CN_UNROLL(16)
  for (size_t j = 0; j < CN_VF32_LANES; j++)
    if (j < columns) cn_vf32_store_n(y + j * y_row, v[j], rows);
}

/* y[j * y_row + i] = x[i * x_row + j] for i < rows, j < columns. y and x must not overlap. */
CN_DRIVER void cn_transpose_f32(float *y, size_t y_row, const float *x, size_t x_row, size_t rows, size_t columns) {
  for (size_t strip = 0; strip < columns; strip += CN_TRANSPOSE_F32_STRIP) {
    const size_t end = columns - strip < CN_TRANSPOSE_F32_STRIP ? columns : strip + CN_TRANSPOSE_F32_STRIP;
    for (size_t i = 0; i < rows; i += CN_VF32_LANES) {
      for (size_t j = strip; j < end; j += CN_VF32_LANES) {
        const float *from = x + i * x_row + j;
        float *to = y + j * y_row + i;
        cn_vf32 v[CN_VF32_LANES];
        if (rows - i < CN_VF32_LANES || end - j < CN_VF32_LANES) {
          cn_transpose_edge_f32(to, y_row, from, x_row, rows - i, end - j);
          continue;
        }
        CN_UNROLL(16)
        for (size_t l = 0; l < CN_VF32_LANES; l++) v[l] = cn_vf32_load(from + l * x_row);
        cn_transpose_square_f32(v);
        CN_UNROLL(16)
        for (size_t l = 0; l < CN_VF32_LANES; l++) cn_vf32_store(to + l * y_row, v[l]);
      }
    }
  }
}

#endif
