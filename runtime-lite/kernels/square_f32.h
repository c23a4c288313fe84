/* SPDX-License-Identifier: MIT-0 */
/* Small square windows over one channel, read where it lies: no copy with padding, whose stores the loads right behind them
 * would have to wait for. What a border needs is masked. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_SQUARE_F32_H
#define CN_KERNELS_SQUARE_F32_H

#include "kernels/plane_f32.h"

/* Most loads of a row of the input for a vector of outputs: k of stride 1, or a pair for each second column of stride 2. */
#define CN_SQUARE_LOADS 6

CN_INLINE size_t cn_square_loads(size_t k, size_t stride) { return stride == 1 ? k : (k + 1) / 2 * 2; }

/* Columns from the window's first one on to load j. */
CN_INLINE size_t cn_square_column(size_t j, size_t stride) {
  return stride == 1 ? j : j / 2 * 2 + j % 2 * CN_VF32_LANES;
}

/* A vector of outputs of each row: where its first window begins, and which lanes of its loads are inside of the row. */
typedef struct cn_square {
  const float *src; /* the channel's slice of the input */
  ptrdiff_t at;     /* place of the first window's first column, may be negative */
  cn_vf32_lanes in[CN_SQUARE_LOADS];
  int masked;       /* whether any lane is outside */
} cn_square;

CN_KERNEL cn_square cn_square_at(const cn_window *w, const float *src, size_t x, size_t k, size_t stride) {
  cn_square q;
  q.src = src;
  q.at = (ptrdiff_t)(x * stride) - w->pad[2];
  q.masked = 0;
  CN_UNROLL(6)
  for (size_t j = 0; j < cn_square_loads(k, stride); j++) {
    const ptrdiff_t c = q.at + (ptrdiff_t)cn_square_column(j, stride), left = (ptrdiff_t)w->in[2] - c;
    const size_t lo = c >= 0 ? 0 : cn_min((size_t)-c, CN_VF32_LANES);
    const size_t hi = left <= 0 ? 0 : cn_min((size_t)left, CN_VF32_LANES);
    q.in[j] = cn_vf32_lanes_in(lo, hi);
    q.masked |= lo != 0 || hi != CN_VF32_LANES;
  }
  return q;
}

/* How much of a block of windows lies inside of the input: literals. */
#define CN_SQUARE_INSIDE 0

#define CN_SQUARE_COLUMNS 1

#define CN_SQUARE_ROWS 2

/* The k vectors of a row that the taps of one kernel row multiply, or compare (op: CN_WINDOW_MAX). */
CN_KERNEL void cn_square_row_f32(const float *row, const cn_square *q, int op, size_t k, size_t stride, int outside, cn_vf32 *v) {
  cn_vf32 x[CN_SQUARE_LOADS];
  CN_UNROLL(6)
  for (size_t j = 0; j < cn_square_loads(k, stride); j++) {
    const float *p = row + cn_square_column(j, stride);
    x[j] = outside ? cn_vf32_load_in(p, q->in[j]) : cn_vf32_load(p);
    if (outside && op == CN_WINDOW_MAX) x[j] = cn_vf32_fill_out(x[j], q->in[j], cn_vf32_set1(cn_least_f32()));
  }
  CN_UNROLL(3)
  for (size_t j = 0; j < CN_SQUARE_LOADS; j += 2) {
    if (j < cn_square_loads(k, stride)) {
      v[j] = stride == 1 ? x[j] : cn_vf32_even(x[j], x[j + 1]);
      if (j + 1 < k) v[j + 1] = stride == 1 ? x[j + 1] : cn_vf32_odd(x[j], x[j + 1]);
    }
  }
}

/* acc[rows] op= the windows of rows output rows below each other, whose first one begins at row y of the input. rows, k,
 * stride (1 or 2), op, outside are literals; taps [k * k] for CN_WINDOW_DOT. Goes by rows of the input, so that windows that
 * overlap share loads. */
CN_KERNEL void cn_square_block_f32(const cn_window *w, const cn_square *q, ptrdiff_t y, const cn_vf32 *taps, int op,
                                   size_t rows, size_t k, size_t stride, int outside, cn_vf32 *acc) {
  const float *row = q->src + (y * (ptrdiff_t)w->in[2] + q->at);
  CN_UNROLL(16)
  for (size_t r = 0; r < (rows - 1) * stride + k; r++) {
    /* a row of padding changes nothing */
    if (outside != CN_SQUARE_ROWS || (size_t)(y + (ptrdiff_t)r) < w->in[1]) {
      cn_vf32 v[CN_SQUARE_LOADS];
      cn_square_row_f32(row + r * w->in[2], q, op, k, stride, outside, v);
      CN_UNROLL(5)
      for (size_t j = 0; j < k; j++) {
        CN_UNROLL(4)
        for (size_t i = 0; i < rows; i++) {
          if (r >= i * stride && r < i * stride + k)
            acc[i] = cn_window_step_f32(op, op == CN_WINDOW_DOT ? taps[(r - i * stride) * k + j] : v[j], v[j], acc[i]);
        }
      }
    }
  }
}

/* The same from output row y on and from the start, which is `start`; picks the body. */
CN_KERNEL void cn_square_f32(const cn_window *w, const cn_square *q, size_t y, const cn_vf32 *taps, cn_vf32 start, int op,
                             size_t rows, size_t k, size_t stride, cn_vf32 *acc) {
  const ptrdiff_t iy = (ptrdiff_t)(y * stride) - w->pad[1];
  const int inside = iy >= 0 && iy + (ptrdiff_t)((rows - 1) * stride + k) <= (ptrdiff_t)w->in[1];
  CN_UNROLL(4)
  for (size_t i = 0; i < rows; i++) acc[i] = start;
  if (rows < 4 || !inside) cn_square_block_f32(w, q, iy, taps, op, rows, k, stride, CN_SQUARE_ROWS, acc);
  else if (q->masked) cn_square_block_f32(w, q, iy, taps, op, rows, k, stride, CN_SQUARE_COLUMNS, acc);
  else cn_square_block_f32(w, q, iy, taps, op, rows, k, stride, CN_SQUARE_INSIDE, acc);
}

#endif
