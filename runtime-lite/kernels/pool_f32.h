/* SPDX-License-Identifier: MIT-0 */
/* Maximum, average and sum pooling, f32. NaN inside of a window makes its maximum NaN. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_POOL_F32_H
#define CN_KERNELS_POOL_F32_H

#include "kernels/square_f32.h"

/* window: groups = channels, c = m = 1, up = 1; output sizes by floor or ceil are the caller's. */
typedef struct cn_pool_f32_args {
  cn_window window;
  unsigned flags;    /* CN_POOL_... of kernels/window.h; 0: the maximum */
  const float *in; /* [images][groups][in...] */
  float *out;      /* [images][groups][out...] */
} cn_pool_f32_args;

/* Floats: the copy of a band, then the counts of each column. */
CN_INLINE size_t cn_pool_f32_scratch(const cn_window *w) {
  return cn_plane_f32_scratch(w) + cn_round_up(w->out[2], CN_VF32_LANES);
}

CN_INLINE size_t cn_pool_f32_tasks(const cn_pool_f32_args *a) {
  return a->window.images * a->window.groups * a->window.out[0] * cn_plane_f32_bands(&a->window);
}

/* A sum by the size of its window; op: a literal. */
CN_KERNEL cn_vf32 cn_pool_finish_f32(cn_vf32 v, int op, const float *counts, float rows_count) {
  return op == CN_WINDOW_SUM ? cn_vf32_div(v, cn_vf32_mul(cn_vf32_load(counts), cn_vf32_set1(rows_count))) : v;
}

/* What rows y .. y + n count of their windows. */
CN_INLINE void cn_pool_rows_count(const cn_pool_f32_args *a, int op, size_t z, size_t y, size_t n, float *ret) {
  for (size_t r = 0; op == CN_WINDOW_SUM && r < n; r++)
    ret[r] = (float)(cn_pool_count(&a->window, a->flags, 0, z) * cn_pool_count(&a->window, a->flags, 1, y + r));
}

/* What windows reach of one axis: n places of the input from `first` on, `step` floats apart. */
typedef struct cn_pool_reach {
  size_t first, n, step;
} cn_pool_reach;

CN_INLINE cn_pool_reach cn_pool_reach_of(const cn_window *w, int axis, size_t o, size_t size) {
  cn_pool_reach r = {0, 0, w->dilation[axis] * size};
  size_t tap;
  r.n = cn_window_taps(w, axis, o, 1, &tap);
  if (r.n) r.first = (size_t)cn_window_place(w, axis, o, tap) * size;
  return r;
}

/* n vectors (op and n are literals) of columns, of all rows that windows reach; one may be in part: `left` columns. */
CN_KERNEL void cn_pool_down_f32(const cn_pool_reach *z, const cn_pool_reach *y, const float *src, int op, size_t n, size_t left, float *out) {
  cn_vf32 acc[4];
  CN_UNROLL(4)
  for (size_t i = 0; i < n; i++) acc[i] = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
  src += z->first + y->first;
  for (size_t kz = 0; kz < z->n; kz++) {
    const float *s = src + kz * z->step;
    for (size_t ky = 0; ky < y->n; ky++, s += y->step) {
      CN_UNROLL(4)
      for (size_t i = 0; i < n; i++)
        acc[i] = cn_window_step_f32(op, cn_vf32_zero(), n == 1 ? cn_vf32_load_n(s, cn_min(left, CN_VF32_LANES)) : cn_vf32_load(s + i * CN_VF32_LANES), acc[i]);
    }
  }
  CN_UNROLL(4)
  for (size_t i = 0; i < n; i++) cn_vf32_store(out + i * CN_VF32_LANES, acc[i]);
}

/* The rows that the windows of output row (z, y) reach joined column by column, with padding, as one padded row of p->row floats. */
CN_KERNEL void cn_pool_joined_f32(const cn_window *w, const cn_plane *p, const float *src, int op, size_t z, size_t y, float fill, float *row) {
  const cn_pool_reach rz = cn_pool_reach_of(w, 0, z, w->in[1] * w->in[2]), ry = cn_pool_reach_of(w, 1, y, w->in[2]);
  const size_t lo = w->pad[2] > 0 ? cn_min((size_t)w->pad[2], p->row) : 0, skip = w->pad[2] < 0 ? cn_min((size_t)-w->pad[2], w->in[2]) : 0;
  const size_t n = cn_min(w->in[2] - skip, p->row - lo), whole = n / CN_VF32_LANES * CN_VF32_LANES;
  size_t x = 0;
  cn_fill_f32(row, lo, fill);
  row += lo;
  for (; x + 4 * CN_VF32_LANES <= whole; x += 4 * CN_VF32_LANES) cn_pool_down_f32(&rz, &ry, src + skip + x, op, 4, n - x, row + x);
  for (; x < n; x += CN_VF32_LANES) cn_pool_down_f32(&rz, &ry, src + skip + x, op, 1, n - x, row + x);
  cn_fill_f32(row + n, p->row - lo - n, fill);
}

/* One output row, of sums and maxima of columns: windows join rows first. scratch: of cn_plane_f32_scratch, which has two rows where there are rows to join. */
CN_KERNEL void cn_pool_row_f32(const cn_pool_f32_args *a, const cn_plane *p, const float *src, int op, size_t z, size_t y, float fill,
                               const float *counts, float *scratch, float *out) {
  const size_t stride = a->window.stride[2], width = a->window.out[2];
  const int joins = a->window.kernel[0] * a->window.kernel[1] > 1;
  const ptrdiff_t iz = cn_window_place(&a->window, 0, z, 0), iy = cn_window_place(&a->window, 1, y, 0);
  const float *only = iz < 0 || iy < 0 ? 0 : src + ((size_t)iz * a->window.in[1] + (size_t)iy) * a->window.in[2];
  const float rows_count = op == CN_WINDOW_SUM ? (float)(cn_pool_count(&a->window, a->flags, 0, z) * cn_pool_count(&a->window, a->flags, 1, y)) : 1.0f;
  float *columns = joins && stride > 1 ? scratch + p->row : scratch;
  cn_window flat = a->window;
  size_t x = 0;
  flat.kernel[0] = flat.kernel[1] = 1;
  if (joins) cn_pool_joined_f32(&a->window, p, src, op, z, y, fill, scratch);
  for (size_t q = 0; q < stride && !(joins && stride == 1); q++) {
    const cn_phase all = {0, p->pitch, (ptrdiff_t)q};
    cn_plane_row_f32(joins ? scratch : only, stride, joins ? all : cn_phase_f32(&a->window, p, q), p->pitch, fill, columns + q * p->pitch);
  }
  for (cn_vf32 acc[4]; x + 4 * CN_VF32_LANES <= width; x += 4 * CN_VF32_LANES) {
    cn_window_vector_f32(&flat, p, columns + x, 0, op, 4, CN_VF32_LANES, acc);
    CN_UNROLL(4)
    for (size_t i = 0; i < 4; i++) cn_vf32_store(out + x + i * CN_VF32_LANES, cn_pool_finish_f32(acc[i], op, counts + x + i * CN_VF32_LANES, rows_count));
  }
  for (cn_vf32 acc; x < width; x += CN_VF32_LANES) {
    cn_window_vector_f32(&flat, p, columns + x, 0, op, 1, 0, &acc);
    cn_vf32_store_n(out + x, cn_pool_finish_f32(acc, op, counts + x, rows_count), width - x);
  }
}

/* n output rows of all columns from row y on, read where they lie; left: rows of the band behind the first. op, n, k, stride are literals. */
CN_KERNEL void cn_pool_square_rows_f32(const cn_pool_f32_args *a, const cn_squares *s, const float *src, int op, size_t y, size_t n, size_t k,
                                       size_t stride, const float *counts, const float *rows_count, float *out, size_t left) {
  const cn_window *w = &a->window;
  const cn_vf32 start = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
  const size_t width = w->out[2], fewer = cn_squares_fewer(w, s, 0);
  const float *rows[CN_SQUARE_ROWS];
  cn_square_rows_f32(w, s, src, (ptrdiff_t)(y * stride) - w->pad[1], (n - 1) * stride + k, rows);
  for (size_t i = 0; i < s->n; i++) {
    CN_ALIGN(CN_VF32_LANES * 4) float tile[7 * CN_VF32_LANES];
    cn_square room;
    const cn_square *q = cn_squares_get(w, s, i, k, stride, &room);
    float *to = out + q->x;
    cn_vf32 acc[7];
    if (n >= 4 && !q->masked) cn_square_f32(rows, q, 0, start, op, n, k, stride, 0, acc);
    else cn_square_f32(rows, q, 0, start, op, n, k, stride, 1, acc);
    CN_UNROLL(7)
    for (size_t r = 0; r < n; r++) acc[r] = cn_pool_finish_f32(acc[r], op, counts + q->x, rows_count[r]);
    if (s->whole) {
      CN_UNROLL(7)
      for (size_t r = 0; r < n; r++) cn_vf32_store(to + r * width, acc[r]);
      continue;
    }
    CN_UNROLL(7)
    for (size_t r = 0; r < n; r++) cn_vf32_store(tile + r * CN_VF32_LANES, acc[r]);
    size_t lanes = cn_squares_lanes(w, s, q, 0, left);
    CN_LANES
    for (size_t r = 0; r < n; r++, to += width, lanes -= fewer) cn_vf32_store_n(to, cn_vf32_load(tile + r * CN_VF32_LANES), lanes);
  }
}

CN_KERNEL void cn_pool_square_band_f32(const cn_pool_f32_args *a, const cn_squares *s, const float *src, int op, size_t z, size_t y, size_t rows,
                                       size_t k, size_t stride, const float *counts, float *out) {
  const size_t most = cn_square_most(k, stride);
  for (size_t i = 0, n; i < rows; i += n, out += n * a->window.out[2]) {
    const size_t left = rows - i;
    float rows_count[7] = {0};
    n = cn_square_height(left, most);
    cn_pool_rows_count(a, op, z, y + i, n, rows_count);
    if (n == most) cn_pool_square_rows_f32(a, s, src, op, y + i, most, k, stride, counts, rows_count, out, left - 1);
    else if (n == 4) cn_pool_square_rows_f32(a, s, src, op, y + i, 4, k, stride, counts, rows_count, out, left - 1);
    else if (n == 2) cn_pool_square_rows_f32(a, s, src, op, y + i, 2, k, stride, counts, rows_count, out, left - 1);
    else cn_pool_square_rows_f32(a, s, src, op, y + i, 1, k, stride, counts, rows_count, out, left - 1);
  }
}

CN_INLINE int cn_pool_sums(const cn_pool_f32_args *a) { return (a->flags & (CN_POOL_AVERAGE | CN_POOL_SUM)) != 0; }

/* What is outside of the input: as good as not there. */
CN_INLINE float cn_pool_fill_f32(const cn_pool_f32_args *a) { return cn_pool_sums(a) ? 0.0f : cn_least_f32(); }

/* What columns count of their windows, behind the copy in scratch. */
CN_INLINE const float *cn_pool_columns_count(const cn_pool_f32_args *a, float *scratch) {
  const cn_window *w = &a->window;
  float *counts = scratch + cn_plane_f32_scratch(w);
  for (size_t x = 0; x < cn_round_up(w->out[2], CN_VF32_LANES); x++)
    counts[x] = cn_pool_sums(a) && x < w->out[2] ? (float)cn_pool_count(w, a->flags, 2, x) : 1.0f;
  return counts;
}

/* Where band b's results begin. */
CN_INLINE float *cn_pool_place_f32(const cn_pool_f32_args *a, const cn_plane *p, const cn_band *b) {
  return a->out + ((b->index * a->window.out[0] + b->z) * a->window.out[1] + b->band * p->band) * a->window.out[2];
}

/* Tasks t0 .. t1 of cn_pool_f32_tasks(a), each call with its own scratch of cn_pool_f32_scratch floats. */
CN_DRIVER void cn_pool_f32(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1) {
  const cn_window *w = &a->window;
  const cn_plane p = cn_plane_f32(w);
  const size_t bands = cn_ceil_div(w->out[1], p.band), area = cn_volume(w->in);
  if (t0 >= t1) return; /* of no rows there is no scratch either */
  const float *counts = cn_pool_columns_count(a, scratch), fill = cn_pool_fill_f32(a);
  cn_band b = cn_band_at(w, bands, t0);
  for (size_t t = t0; t < t1; t++, cn_band_next(w, bands, &b)) {
    const size_t y = b.band * p.band, rows = cn_min(p.band, w->out[1] - y);
    float *out = cn_pool_place_f32(a, &p, &b);
    const float *src = a->in + b.index * area;
    for (size_t r = 0; r < rows; r++, out += w->out[2]) {
      if (cn_pool_sums(a)) cn_pool_row_f32(a, &p, src, CN_WINDOW_SUM, b.z, y + r, fill, counts, scratch, out);
      else cn_pool_row_f32(a, &p, src, CN_WINDOW_MAX, b.z, y + r, fill, counts, scratch, out);
    }
  }
}

/* The same for a square window, whose k and stride are literals. */
CN_KERNEL void cn_pool_square_f32(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1, size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const cn_plane p = cn_plane_f32(w);
  const size_t bands = cn_ceil_div(w->out[1], p.band), slice = w->in[1] * w->in[2], area = w->in[0] * slice;
  if (t0 >= t1) return;
  const float *counts = cn_pool_columns_count(a, scratch);
  cn_squares s;
  cn_squares_f32(w, &p, 0, cn_pool_fill_f32(a), k, stride, scratch, &s);
  cn_band b = cn_band_at(w, bands, t0);
  for (size_t t = t0; t < t1; t++, cn_band_next(w, bands, &b)) {
    const size_t y = b.band * p.band, rows = cn_min(p.band, w->out[1] - y);
    const float *src = a->in + b.index * area + b.z * slice;
    float *out = cn_pool_place_f32(a, &p, &b);
    if (cn_pool_sums(a)) cn_pool_square_band_f32(a, &s, src, CN_WINDOW_SUM, b.z, y, rows, k, stride, counts, out);
    else cn_pool_square_band_f32(a, &s, src, CN_WINDOW_MAX, b.z, y, rows, k, stride, counts, out);
  }
}

/* cn_pool_f32 for kernel {1, 2, 2} with stride {1, 2, 2}, no dilation and no padding of slices; so for the other by its name. */
CN_DRIVER void cn_pool_f32_2x2s2(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_pool_square_f32(a, scratch, t0, t1, 2, 2);
}

CN_DRIVER void cn_pool_f32_3x3s2(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_pool_square_f32(a, scratch, t0, t1, 3, 2);
}

#endif
