/* SPDX-License-Identifier: MIT-0 */
/* Matrices of 8 or 16 bits turned over their diagonal: neighbours of a column side by side are elements of 32 bits, which turn as others do.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_TRANSPOSE_NARROW_H
#define CN_KERNELS_TRANSPOSE_NARROW_H

#include "kernels/transpose_f32.h"

/* 4 / bytes rows as elements of 32 bits. bytes: a literal. */
CN_KERNEL cn_vf32 cn_vf32_zip(const unsigned char *x, size_t pitch, size_t bytes) {
  const void *const row[4] = {x, x + pitch, bytes == 1 ? x + 2 * pitch : x, bytes == 1 ? x + 3 * pitch : x};
  return bytes == 1 ? cn_vf32_zip_u8(row[0], row[1], row[2], row[3]) : cn_vf32_zip_u16(row[0], row[1]);
}

/* The same of `rows` rows and `columns` columns of them, zeros elsewhere. */
CN_KERNEL cn_vf32 cn_vf32_zip_edge(const unsigned char *x, size_t pitch, size_t rows, size_t columns, size_t bytes) {
  unsigned char held[4 * CN_VF32_LANES] = {0};
  for (size_t p = 0; p < cn_min(rows, 4 / bytes); p++) memcpy(held + p * CN_VF32_LANES * bytes, x + p * pitch, columns * bytes);
  return cn_vf32_zip(held, CN_VF32_LANES * bytes, bytes);
}

/* At most L columns of L vectors' rows. bytes, whole: literals. */
CN_KERNEL void cn_transpose_square(unsigned char *y, size_t y_pitch, const unsigned char *x, size_t x_pitch, size_t rows, size_t columns, size_t bytes, int whole) {
  const size_t each = 4 / bytes;
  cn_vf32 v[CN_VF32_LANES];
  CN_UNROLL(16)
  for (size_t i = 0; i < CN_VF32_LANES; i++) {
    const unsigned char *const from = x + i * each * x_pitch;
    if (!whole && i * each >= rows) v[i] = cn_vf32_zero();
    else v[i] = whole ? cn_vf32_zip(from, x_pitch, bytes) : cn_vf32_zip_edge(from, x_pitch, rows - i * each, columns, bytes);
  }
  cn_vf32_transpose(v);
  CN_UNROLL(16)
  for (size_t j = 0; j < CN_VF32_LANES; j++) {
    float row[CN_VF32_LANES];
    if (!whole && j >= columns) break;
    cn_vf32_store(row, v[j]);
    memcpy(y + j * y_pitch, row, whole ? sizeof row : rows * bytes);
  }
}

CN_DRIVER void cn_transpose_edge_u8(unsigned char *y, size_t y_pitch, const unsigned char *x, size_t x_pitch, size_t rows, size_t columns) {
  cn_transpose_square(y, y_pitch, x, x_pitch, rows, columns, 1, 0);
}

CN_DRIVER void cn_transpose_edge_u16(unsigned char *y, size_t y_pitch, const unsigned char *x, size_t x_pitch, size_t rows, size_t columns) {
  cn_transpose_square(y, y_pitch, x, x_pitch, rows, columns, 2, 0);
}

typedef void cn_transpose_edge(unsigned char *y, size_t y_pitch, const unsigned char *x, size_t x_pitch, size_t rows, size_t columns);

/* Pitches in bytes. bytes, edge: literals. */
CN_KERNEL void cn_transpose_strips(unsigned char *y, size_t y_pitch, const unsigned char *x, size_t x_pitch, size_t rows, size_t columns, size_t bytes, cn_transpose_edge *edge) {
  const size_t lanes = CN_VF32_LANES, high = lanes * 4 / bytes;
  for (size_t strip = 0; strip < columns; strip += CN_TRANSPOSE_F32_STRIP) {
    const size_t end = cn_min(columns, strip + CN_TRANSPOSE_F32_STRIP);
    for (size_t i = 0; i < rows; i += high)
      for (size_t j = strip; j < end; j += lanes) {
        unsigned char *const to = y + j * y_pitch + i * bytes;
        const unsigned char *const from = x + i * x_pitch + j * bytes;
        if (rows - i < high || end - j < lanes) edge(to, y_pitch, from, x_pitch, cn_min(rows - i, high), cn_min(end - j, lanes));
        else cn_transpose_square(to, y_pitch, from, x_pitch, high, lanes, bytes, 1);
      }
  }
}

/* As cn_transpose_f32: lines of y in few sets of the first cache are made elsewhere. */
CN_KERNEL void cn_transpose_narrow(unsigned char *y, size_t y_pitch, const unsigned char *x, size_t x_pitch, size_t rows, size_t columns, size_t bytes, cn_transpose_edge *edge) {
  const size_t most = CN_TRANSPOSE_F32_PART * 4 / bytes, pitch = CN_TRANSPOSE_F32_PITCH * 4;
  CN_ALIGN(CN_VF32_LANES * 4) unsigned char part[CN_VF32_LANES * CN_TRANSPOSE_F32_PITCH * 4];
  if (y_pitch % 1024 != 0 || rows < most / 2) {
    cn_transpose_strips(y, y_pitch, x, x_pitch, rows, columns, bytes, edge);
    return;
  }
  for (size_t j = 0; j < columns; j += CN_VF32_LANES) {
    const size_t n = cn_min(columns - j, CN_VF32_LANES);
    for (size_t i = 0; i < rows; i += most) {
      const size_t m = cn_min(rows - i, most);
      cn_transpose_strips(part, pitch, x + i * x_pitch + j * bytes, x_pitch, m, n, bytes, edge);
      for (size_t l = 0; l < n; l++) memcpy(y + (j + l) * y_pitch + i * bytes, part + l * pitch, m * bytes);
    }
  }
}

/* y[j * y_row + i] = x[i * x_row + j] for i < rows, j < columns, elements of 8 bits. y and x must not overlap. */
CN_DRIVER void cn_transpose_u8(void *y, size_t y_row, const void *x, size_t x_row, size_t rows, size_t columns) {
  cn_transpose_narrow(y, y_row, x, x_row, rows, columns, 1, cn_transpose_edge_u8);
}

/* The same of 16 bits. */
CN_DRIVER void cn_transpose_u16(void *y, size_t y_row, const void *x, size_t x_row, size_t rows, size_t columns) {
  cn_transpose_narrow(y, 2 * y_row, x, 2 * x_row, rows, columns, 2, cn_transpose_edge_u16);
}

#endif
