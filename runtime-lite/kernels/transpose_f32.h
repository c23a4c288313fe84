/* SPDX-License-Identifier: MIT-0 */
/* Matrices turned over their diagonal: copies into and out of blocks of channels, channels first and last.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_TRANSPOSE_F32_H
#define CN_KERNELS_TRANSPOSE_F32_H

#include "base.h"

/* Columns of x that are walked before the next rows: few enough for their lines of y to stay in the first cache. */
#define CN_TRANSPOSE_F32_STRIP 64

/* n vectors, a literal, a power of two of 2 to L, as the rows of an n x L matrix, transposed, row behind row: log2(L) times all elements at even places,
 * then those at odd ones, which each time turns an element's place, written in binary, by one digit. */
CN_KERNEL void cn_vf32_turn(cn_vf32 *rows, size_t n) {
  cn_vf32 turned[CN_VF32_LANES];
  CN_UNROLL(4)
  for (size_t half = 1; half < CN_VF32_LANES; half *= 2) {
    CN_UNROLL(16)
    for (size_t i = 0; i + 1 < n; i += 2) {
      turned[i / 2] = cn_vf32_even(rows[i], rows[i + 1]);
      turned[(n + i) / 2] = cn_vf32_odd(rows[i], rows[i + 1]);
    }
    CN_UNROLL(16)
    for (size_t i = 0; i < n; i++) rows[i] = turned[i];
  }
}

/* L vectors, of a square. */
CN_KERNEL void cn_vf32_transpose(cn_vf32 *rows) { cn_vf32_turn(rows, CN_VF32_LANES); }

/* The first rows x columns of a square, where that is not all of it. */
CN_DRIVER void cn_transpose_edge_f32(float *y, size_t y_row, const float *x, size_t x_row, size_t rows, size_t columns) {
  cn_vf32 v[CN_VF32_LANES];
  CN_UNROLL(16)
  for (size_t i = 0; i < CN_VF32_LANES; i++) v[i] = i < rows ? cn_vf32_load_n(x + i * x_row, columns) : cn_vf32_zero();
  cn_vf32_transpose(v);
  CN_UNROLL(16)
  for (size_t j = 0; j < CN_VF32_LANES; j++)
    if (j < columns) cn_vf32_store_n(y + j * y_row, v[j], rows);
}

/* y[j * y_row + i] = x[i * x_row + j] for i < rows, j < columns. */
CN_DRIVER void cn_transpose_strips_f32(float *y, size_t y_row, const float *x, size_t x_row, size_t rows, size_t columns) {
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
        cn_vf32_transpose(v);
        CN_UNROLL(16)
        for (size_t l = 0; l < CN_VF32_LANES; l++) cn_vf32_store(to + l * y_row, v[l]);
      }
    }
  }
}

/* Rows of x that a part of y's rows holds where those lie a multiple of a kilobyte apart, and from row to row of that part. */
#define CN_TRANSPOSE_F32_PART 128

#define CN_TRANSPOSE_F32_PITCH (CN_TRANSPOSE_F32_PART + 16)

/* y[j * y_row + i] = x[i * x_row + j] for i < rows, j < columns. y and x must not overlap. Lines of y that begin a multiple of a kilobyte apart are
 * in a few sets of the first cache, which a square of them overflows: they are made elsewhere and copied row by row. */
CN_DRIVER void cn_transpose_f32(float *y, size_t y_row, const float *x, size_t x_row, size_t rows, size_t columns) {
  CN_ALIGN(CN_VF32_LANES * 4) float part[CN_VF32_LANES * CN_TRANSPOSE_F32_PITCH];
  if (y_row % 256 != 0 || rows < CN_TRANSPOSE_F32_PART / 2) {
    cn_transpose_strips_f32(y, y_row, x, x_row, rows, columns);
    return;
  }
  for (size_t j = 0; j < columns; j += CN_VF32_LANES) {
    const size_t n = columns - j < CN_VF32_LANES ? columns - j : CN_VF32_LANES;
    for (size_t i = 0; i < rows; i += CN_TRANSPOSE_F32_PART) {
      const size_t m = rows - i < CN_TRANSPOSE_F32_PART ? rows - i : CN_TRANSPOSE_F32_PART;
      cn_transpose_strips_f32(part, CN_TRANSPOSE_F32_PITCH, x + i * x_row + j, x_row, m, n);
      for (size_t l = 0; l < n; l++) memcpy(y + (j + l) * y_row + i, part + l * CN_TRANSPOSE_F32_PITCH, m * sizeof *y);
    }
  }
}

#endif
