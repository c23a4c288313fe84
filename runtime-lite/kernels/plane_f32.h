/* SPDX-License-Identifier: MIT-0 */
/* Windows that slide over one channel (depthwise convolution, pooling): a band of the channel is copied with its padding
 * filled in and its columns parted by stride, so that every tap of every output is a plain contiguous vector load.
 * Needs a SIMD layer included before; input dilation (up) must be 1. */
#ifndef CN_KERNELS_PLANE_F32_H
#define CN_KERNELS_PLANE_F32_H

#include "kernels/gather_f32.h"
#include "kernels/plane.h"

/* Floats of the copy that one band should stay under: half of a first-level cache, or little where RAM is. */
#define CN_PLANE_F32_FLOATS (1024 * CN_VF32_LANES)

CN_INLINE cn_plane cn_plane_f32(const cn_window *w) { return cn_plane_of(w, CN_VF32_LANES, 1, CN_PLANE_F32_FLOATS); }

/* Floats of scratch for one copy; vectors may be written over its end. */
CN_INLINE size_t cn_plane_f32_scratch(const cn_window *w) {
  return w->kernel[0] * cn_plane_f32(w).slice + CN_VF32_LANES;
}

CN_INLINE size_t cn_plane_f32_bands(const cn_window *w) { return cn_ceil_div(w->out[1], cn_plane_f32(w).band); }

/* Whole vectors: up to one more than n floats. */
CN_KERNEL void cn_fill_f32(float *dst, size_t n, float x) {
  for (size_t i = 0; i < n; i += CN_VF32_LANES) cn_vf32_store(dst + i, cn_vf32_set1(x));
}

/* Where a phase's columns lie in a row of the input: columns lo .. hi read from place `from` on, every stride-th. */
typedef struct cn_phase {
  size_t lo, hi;
  ptrdiff_t from;
} cn_phase;

CN_INLINE cn_phase cn_phase_f32(const cn_window *w, const cn_plane *p, size_t q) {
  const size_t stride = w->stride[2];
  const ptrdiff_t start = (ptrdiff_t)q - w->pad[2], room = (ptrdiff_t)w->in[2] - start; /* start: place of column 0 */
  cn_phase f;
  f.lo = cn_min(p->pitch, start >= 0 ? 0 : cn_ceil_div((size_t)-start, stride));
  f.hi = cn_max(f.lo, room <= 0 ? 0 : cn_min(p->pitch, cn_ceil_div((size_t)room, stride)));
  f.from = start + (ptrdiff_t)(f.lo * stride);
  return f;
}

/* One phase of one row: fill, the elements, fill. src: the row of the input, NULL for one outside. Vectors may run over the
 * end of the phase, which is why phases and rows are written in order. */
CN_KERNEL void cn_plane_row_f32(const float *src, size_t stride, cn_phase f, size_t pitch, float fill, float *dst) {
  cn_run run;
  run.n = f.hi - f.lo;
  run.from = f.from;
  if (!src || run.n == 0) {
    cn_fill_f32(dst, pitch, fill);
    return;
  }
  cn_fill_f32(dst, f.lo, fill);
  cn_run_copy_f32(src, stride, run, dst + f.lo);
  cn_fill_f32(dst + f.hi, pitch - f.hi, fill);
}

/* The band of output rows y .. of output slice z. src: one channel [in...]; ahead: floats to the next one that will be copied, whose rows it asks for, since
 * they are too few for a processor to foresee; 0: none. */
CN_DRIVER void cn_plane_copy_f32(const cn_window *w, const cn_plane *p, const float *src, size_t ahead, size_t z, size_t y, float fill,
                                 float *dst) {
  const size_t rows = cn_plane_rows(w, cn_min(p->band, w->out[1] - y));
  const cn_phase first = cn_phase_f32(w, p, 0), second = cn_phase_f32(w, p, 1);
  for (size_t k = 0; k < w->kernel[0]; k++) {
    const ptrdiff_t iz = cn_window_place(w, 0, z, k);
    for (size_t r = 0; r < rows; r++) {
      const ptrdiff_t iy = (ptrdiff_t)(y * w->stride[1] + r) - w->pad[1];
      const int inside = iz >= 0 && iy >= 0 && (size_t)iy < w->in[1];
      const float *s = inside ? src + ((size_t)iz * w->in[1] + (size_t)iy) * w->in[2] : 0;
      float *d = dst + k * p->slice + r * p->row;
      for (size_t x = 0; inside && ahead && x < w->in[2]; x += 64 / sizeof *s) CN_PREFETCH(s + ahead + x);
      for (size_t q = 0; q < w->stride[2]; q++, d += p->pitch)
        cn_plane_row_f32(s, w->stride[2], q == 0 ? first : q == 1 ? second : cn_phase_f32(w, p, q), p->pitch, fill, d);
    }
  }
}

/* What is done with the elements of a window. */
#define CN_WINDOW_DOT 0

#define CN_WINDOW_MAX 1

#define CN_WINDOW_SUM 2

/* acc[i] op= v, with the weight x for CN_WINDOW_DOT */
CN_KERNEL cn_vf32 cn_window_step_f32(int op, cn_vf32 x, cn_vf32 v, cn_vf32 acc) {
  return op == CN_WINDOW_DOT ? cn_vf32_fma(x, v, acc) : op == CN_WINDOW_MAX ? cn_vf32_maxn(acc, v) : cn_vf32_add(acc, v);
}

/* Four vectors of results that are computed together, since one would wait for its own sum: below each other, or side by side where rows are fewer. */
typedef struct cn_four {
  size_t rows, width; /* of the results that a turn takes */
  size_t step, next;  /* floats from one vector's windows to the next one's, and from its results */
  size_t along;       /* columns from one to the next */
} cn_four;

CN_INLINE cn_four cn_four_f32(const cn_window *w, const cn_plane *p, size_t rows) {
  const cn_four below = {4, CN_VF32_LANES, w->stride[1] * p->row, w->out[2], 0}, beside = {1, 4 * CN_VF32_LANES, CN_VF32_LANES, CN_VF32_LANES, CN_VF32_LANES};
  return rows >= 4 ? below : beside;
}

/* From the first vector's windows to those of vector i: four are `step` floats apart, four more stand beside them. */
CN_INLINE size_t cn_window_at_f32(size_t i, size_t step) { return i % 4 * step + i / 4 * CN_VF32_LANES; }

/* acc[n] of n vectors of results, one, four or eight: all taps in order, but of a sum each row of taps by itself: one
 * sum of a large window would round more. src points at the window of the first; weights [taps] for CN_WINDOW_DOT. op and n are literals. */
CN_KERNEL void cn_window_any_f32(const cn_window *w, const cn_plane *p, const float *src, const float *weights, int op,
                                 size_t n, size_t step, cn_vf32 *acc) {
  const size_t skip = w->dilation[2] / w->stride[2], turn = w->dilation[2] % w->stride[2];
  cn_vf32 above[8];
  CN_UNROLL(8)
  for (size_t i = 0; i < n; i++) above[i] = cn_vf32_zero();
  for (size_t kz = 0; kz < w->kernel[0]; kz++) {
    for (size_t ky = 0; ky < w->kernel[1]; ky++) {
      const float *s = src + kz * p->slice + ky * w->dilation[1] * p->row;
      if (op == CN_WINDOW_SUM) {
        CN_UNROLL(8)
        for (size_t i = 0; i < n; i++) {
          above[i] = cn_vf32_add(above[i], acc[i]);
          acc[i] = cn_vf32_zero();
        }
      }
      for (size_t kx = 0, q = 0; kx < w->kernel[2]; kx++) {
        const cn_vf32 x = op == CN_WINDOW_DOT ? cn_vf32_set1(*weights++) : cn_vf32_zero();
        CN_UNROLL(8)
        for (size_t i = 0; i < n; i++) acc[i] = cn_window_step_f32(op, x, cn_vf32_load(s + q * p->pitch + cn_window_at_f32(i, step)), acc[i]);
        s += skip;
        q += turn;
        if (q >= w->stride[2]) {
          q -= w->stride[2];
          s++;
        }
      }
    }
  }
  if (op == CN_WINDOW_SUM) {
    CN_UNROLL(8)
    for (size_t i = 0; i < n; i++) acc[i] = cn_vf32_add(above[i], acc[i]);
  }
}

/* From the start. */
CN_KERNEL void cn_window_vector_f32(const cn_window *w, const cn_plane *p, const float *src, const float *weights, int op,
                                    size_t n, size_t step, cn_vf32 *acc) {
  CN_UNROLL(8)
  for (size_t i = 0; i < n; i++) acc[i] = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
  cn_window_any_f32(w, p, src, weights, op, n, step, acc);
}

#endif
