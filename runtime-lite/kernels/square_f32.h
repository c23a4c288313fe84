/* SPDX-License-Identifier: MIT-0 */
/* Small square windows over one channel, read where it lies: no copy with padding, whose stores the loads right behind them
 * would have to wait for. What a border needs is masked, rows outside are a row of padding. Needs a SIMD layer included before. */
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

/* A vector of outputs of a row: the first's column, where its window begins, and which lanes of its loads are inside of the row. */
typedef struct cn_square {
  size_t x;
  ptrdiff_t at; /* the window's first column, may be negative */
  cn_vf32_lanes in[CN_SQUARE_LOADS];
  int masked;   /* whether any lane is outside */
} cn_square;

CN_KERNEL void cn_square_at(const cn_window *w, size_t x, size_t k, size_t stride, cn_square *ret) {
  ret->x = x;
  ret->at = (ptrdiff_t)(x * stride) - w->pad[2];
  ret->masked = ret->at < 0 || ret->at + (ptrdiff_t)(cn_square_column(cn_square_loads(k, stride) - 1, stride) + CN_VF32_LANES) > (ptrdiff_t)w->in[2];
  CN_UNROLL(6)
  for (size_t j = 0; j < cn_square_loads(k, stride); j++) {
    size_t lo = 0, hi = CN_VF32_LANES;
    if (ret->masked) {
      const ptrdiff_t c = ret->at + (ptrdiff_t)cn_square_column(j, stride), left = (ptrdiff_t)w->in[2] - c;
      lo = c >= 0 ? 0 : cn_min((size_t)-c, CN_VF32_LANES);
      hi = left <= 0 ? 0 : cn_min((size_t)left, CN_VF32_LANES);
    }
    ret->in[j] = cn_vf32_lanes_in(lo, hi);
  }
}

/* Vectors of a row that are worked out once for all rows and channels. */
#define CN_SQUARES_KEPT 8

/* A row of outputs. whole: all vectors are, the last one begins where it ends with the row, and computes again what another one has; else they lie side by
 * side, and the only one of a short row may write over what lies behind the row, before the next row's outputs are stored there. */
typedef struct cn_squares {
  size_t n;
  int whole;
  const float *outside; /* a row of padding */
  cn_square kept[CN_SQUARES_KEPT];
} cn_squares;

CN_INLINE size_t cn_squares_column(const cn_window *w, int whole, size_t i) {
  return whole ? cn_min(i * CN_VF32_LANES, w->out[2] - CN_VF32_LANES) : i * CN_VF32_LANES;
}

/* once: no output may be computed twice. room: that of cn_plane_f32_scratch, for the row of padding. */
CN_KERNEL void cn_squares_f32(const cn_window *w, const cn_plane *p, int once, float fill, size_t k, size_t stride, float *room, cn_squares *ret) {
  ret->n = cn_ceil_div(w->out[2], CN_VF32_LANES);
  ret->whole = !once && w->out[2] >= CN_VF32_LANES;
  ret->outside = room + (w->pad[2] < 0 ? w->pad[2] : 0); /* a cropped row is read from there on */
  cn_fill_f32(room, p->row, fill);
  for (size_t i = 0; i < cn_min(ret->n, CN_SQUARES_KEPT); i++) cn_square_at(w, cn_squares_column(w, ret->whole, i), k, stride, ret->kept + i);
}

/* Vector i of a row; room: for one that is not kept. */
CN_KERNEL const cn_square *cn_squares_get(const cn_window *w, const cn_squares *s, size_t i, size_t k, size_t stride, cn_square *room) {
  if (i < CN_SQUARES_KEPT) return s->kept + i;
  cn_square_at(w, cn_squares_column(w, s->whole, i), k, stride, room);
  return room;
}

/* How many outputs fewer cn_squares_lanes has for each row further down. */
CN_INLINE size_t cn_squares_fewer(const cn_window *w, const cn_squares *s, int once) { return s->whole || once || s->n > 1 ? 0 : w->out[2]; }

/* Outputs of vector q that may be stored for a row behind which `left` others of this task come. */
CN_INLINE size_t cn_squares_lanes(const cn_window *w, const cn_squares *s, const cn_square *q, int once, size_t left) {
  return s->whole ? CN_VF32_LANES : w->out[2] - q->x + left * cn_squares_fewer(w, s, once);
}

/* Output rows that are computed together, at most, a literal: where windows share rows and there are vectors, those of images of 7 x 7, 14 x 14, 28 x 28
 * in full. */
CN_INLINE size_t cn_square_most(size_t k, size_t stride) { return CN_VF32_LANES > 1 && k > stride ? 7 : 4; }

/* Of them so many at once where so many are left. */
CN_INLINE size_t cn_square_height(size_t left, size_t most) { return left >= most ? most : left >= 4 ? 4 : left >= 2 ? 2 : 1; }

/* Rows of input for n windows' rows from row y of the input on. n: a literal, at most CN_SQUARE_ROWS. */
#define CN_SQUARE_ROWS 17

CN_KERNEL void cn_square_rows_f32(const cn_window *w, const cn_squares *s, const float *src, ptrdiff_t y, size_t n, const float **rows) {
  const float *row = src + y * (ptrdiff_t)w->in[2];
  CN_UNROLL(17)
  for (size_t r = 0; r < n; r++, y++, row += w->in[2]) rows[r] = (size_t)y < w->in[1] ? row : s->outside;
}

/* The vector of a row, from the first window on, that column j of the taps multiplies, or compares (op: CN_WINDOW_MAX); with a stride of 2 as cn_vf32_even_mixed has it. */
CN_KERNEL cn_vf32 cn_square_vector_f32(const float *row, const cn_square *q, int op, size_t j, size_t stride, int masked) {
  const size_t first = stride == 1 ? j : j / 2 * 2;
  cn_vf32 x[2];
  CN_UNROLL(2)
  for (size_t i = 0; i < stride; i++) {
    const float *p = row + cn_square_column(first + i, stride);
    x[i] = masked ? cn_vf32_load_in(p, q->in[first + i]) : cn_vf32_load(p);
    if (masked && op == CN_WINDOW_MAX) x[i] = cn_vf32_fill_out(x[i], q->in[first + i], cn_vf32_set1(cn_least_f32()));
  }
  return stride == 1 ? x[0] : j % 2 == 0 ? cn_vf32_even_mixed(x[0], x[1]) : cn_vf32_odd_mixed(x[0], x[1]);
}

/* acc[n] = start op the windows of n output rows below each other. n, k, stride (1 or 2), op, masked are literals; taps [k * k] for CN_WINDOW_DOT.
 * Goes by columns of the taps, of which registers hold one beside the sums, and by rows of the input, so that windows that overlap share loads. */
CN_KERNEL void cn_square_f32(const float *const *rows, const cn_square *q, const cn_vf32 *taps, cn_vf32 start, int op, size_t n, size_t k, size_t stride,
                             int masked, cn_vf32 *acc) {
  const float *row[CN_SQUARE_ROWS];
  CN_UNROLL(17)
  for (size_t r = 0; r < (n - 1) * stride + k; r++) {
    row[r] = rows[r] + q->at;
    CN_OPAQUE(row[r]);
  }
  CN_UNROLL(7)
  for (size_t i = 0; i < n; i++) acc[i] = start;
  CN_UNROLL(5)
  for (size_t j = 0; j < k; j++) {
    CN_UNROLL(17)
    for (size_t r = 0; r < (n - 1) * stride + k; r++) {
      const cn_vf32 v = cn_square_vector_f32(row[r], q, op, j, stride, masked);
      CN_UNROLL(7)
      for (size_t i = 0; i < n; i++) {
        if (r >= i * stride && r < i * stride + k) acc[i] = cn_window_step_f32(op, op == CN_WINDOW_DOT ? taps[(r - i * stride) * k + j] : v, v, acc[i]);
      }
    }
  }
  if (stride != 2) return;
  CN_UNROLL(7)
  for (size_t i = 0; i < n; i++) acc[i] = cn_vf32_unmix(acc[i]);
}

#endif
