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

/* Divides a sum by its window's size, and stores rows (a literal) of one vector, n lanes of them. */
CN_KERNEL void cn_pool_store_f32(const cn_pool_f32_args *a, cn_vf32 *acc, int op, size_t rows, const float *counts,
                                 const float *rows_count, float *out, size_t n) {
  CN_UNROLL(4)
  for (size_t i = 0; i < rows; i++) {
    cn_vf32 v = acc[i];
    if (op == CN_WINDOW_SUM) v = cn_vf32_div(v, cn_vf32_mul(cn_vf32_load(counts), cn_vf32_set1(rows_count[i])));
    cn_vf32_store_n(out + i * a->window.out[2], v, n);
  }
}

/* rows output rows (op and rows are literals) of a vector at column x, row y; src: its place in the copy (k 0). */
CN_KERNEL void cn_pool_rows_f32(const cn_pool_f32_args *a, const cn_plane *p, const float *src, const cn_square *q, int op,
                                size_t y, size_t rows, size_t k, size_t stride, cn_vf32 *acc) {
  const cn_vf32 start = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
  if (k) cn_square_f32(&a->window, q, y, 0, start, op, rows, k, stride, acc);
  else cn_window_vector_f32(&a->window, p, src, 0, op, rows, acc);
}

/* A band of rows output rows from row y on. src: the copy, or with k the channel's slice; counts: of the columns. */
CN_KERNEL void cn_pool_band_f32(const cn_pool_f32_args *a, const cn_plane *p, const float *src, int op, size_t z, size_t y,
                                size_t rows, size_t k, size_t stride, const float *counts, float *out) {
  const cn_window *w = &a->window;
  const size_t width = w->out[2], down = w->stride[1] * p->row;
  for (size_t x = 0; x < width; x += CN_VF32_LANES) {
    cn_square q;
    if (k) q = cn_square_at(w, src, x, k, stride);
    for (size_t i = 0; i < rows;) {
      const size_t step = rows - i >= 4 ? 4 : 1;
      const float *from = k ? src : src + i * down + x;
      float rows_count[4] = {0}, *to = out + i * width + x;
      cn_vf32 acc[4];
      for (size_t r = 0; op == CN_WINDOW_SUM && r < step; r++)
        rows_count[r] =
            (float)(cn_pool_count(w, a->flags, 0, z) * cn_pool_count(w, a->flags, 1, y + i + r));
      if (step == 4) {
        cn_pool_rows_f32(a, p, from, &q, op, y + i, 4, k, stride, acc);
        cn_pool_store_f32(a, acc, op, 4, counts + x, rows_count, to, width - x);
      } else {
        cn_pool_rows_f32(a, p, from, &q, op, y + i, 1, k, stride, acc);
        cn_pool_store_f32(a, acc, op, 1, counts + x, rows_count, to, width - x);
      }
      i += step;
    }
  }
}

/* Tasks t0 .. t1; k and stride: literals of a square window, k 0 for any. */
CN_KERNEL void cn_pool_body_f32(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1, size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const cn_plane p = cn_plane_f32(w);
  const size_t bands = cn_ceil_div(w->out[1], p.band), pixels = cn_volume(w->out);
  const int sum = (a->flags & (CN_POOL_AVERAGE | CN_POOL_SUM)) != 0;
  float *counts = scratch + cn_plane_f32_scratch(w);
  if (t0 >= t1) return; /* of no rows there is no scratch either */
  for (size_t x = 0; x < cn_round_up(w->out[2], CN_VF32_LANES); x++)
    counts[x] = sum && x < w->out[2] ? (float)cn_pool_count(w, a->flags, 2, x) : 1.0f;
  for (size_t t = t0; t < t1; t++) {
    const size_t y = t % bands * p.band, z = t / bands % w->out[0], index = t / bands / w->out[0];
    const size_t rows = cn_min(p.band, w->out[1] - y);
    const float *in = a->in + index * cn_volume(w->in), *src = k ? in + z * w->in[1] * w->in[2] : scratch;
    float *out = a->out + index * pixels + (z * w->out[1] + y) * w->out[2];
    if (!k) cn_plane_copy_f32(w, &p, in, 0, z, y, sum ? 0.0f : cn_least_f32(), scratch);
    if (sum) cn_pool_band_f32(a, &p, src, CN_WINDOW_SUM, z, y, rows, k, stride, counts, out);
    else cn_pool_band_f32(a, &p, src, CN_WINDOW_MAX, z, y, rows, k, stride, counts, out);
  }
}

/* Tasks t0 .. t1 of cn_pool_f32_tasks(a), each call with its own scratch of cn_pool_f32_scratch floats. */
CN_DRIVER void cn_pool_f32(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_pool_body_f32(a, scratch, t0, t1, 0, 0);
}

/* The same for kernel {1, 2, 2} with stride {1, 2, 2} and no dilation; so for the other by its name. */
CN_DRIVER void cn_pool_f32_2x2s2(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_pool_body_f32(a, scratch, t0, t1, 2, 2);
}

CN_DRIVER void cn_pool_f32_3x3s2(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_pool_body_f32(a, scratch, t0, t1, 3, 2);
}

#endif
