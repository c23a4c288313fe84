/* SPDX-License-Identifier: MIT-0 */
/* Windows that slide over one channel (depthwise convolution, pooling): a band of the channel is copied with its padding
 * filled in and its columns parted by stride, so that every tap of every output is a plain contiguous vector load.
 * Needs a SIMD layer included before; input dilation (up) must be 1. */
#ifndef CN_KERNELS_PLANE_F32_H
#define CN_KERNELS_PLANE_F32_H

#include "kernels/gather_f32.h"

/* Floats of the copy that one band should stay under: half of a first-level cache, or little where RAM is. */
#define CN_PLANE_F32_FLOATS (1024 * CN_VF32_LANES)

/* The copy, [kernel depth][rows][stride][pitch]: column e of phase q of a row is place e * stride + q of the padded row. */
typedef struct cn_plane {
  size_t pitch, row, slice; /* floats from phase to phase, row to row, slice to slice */
  size_t band;              /* output rows made from one copy */
} cn_plane;

CN_INLINE size_t cn_plane_rows(const cn_window *w, size_t band) {
  return (band - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
}

CN_INLINE cn_plane cn_plane_f32(const cn_window *w) {
  cn_plane p;
  p.pitch = cn_round_up(w->out[2], CN_VF32_LANES) + (w->kernel[2] - 1) * w->dilation[2] / w->stride[2];
  p.row = p.pitch * w->stride[2];
  p.band = cn_min(w->out[1], 4);
  while (p.band < w->out[1] && cn_plane_rows(w, p.band + 4) * p.row * w->kernel[0] <= CN_PLANE_F32_FLOATS)
    p.band = cn_min(w->out[1], p.band + 4);
  p.slice = cn_plane_rows(w, p.band) * p.row;
  return p;
}

/* Floats of scratch for one copy; vectors may be written over its end. */
CN_INLINE size_t cn_plane_f32_scratch(const cn_window *w) {
  return w->kernel[0] * cn_plane_f32(w).slice + CN_VF32_LANES;
}

CN_INLINE size_t cn_plane_f32_bands(const cn_window *w) { return cn_ceil_div(w->out[1], cn_plane_f32(w).band); }

CN_KERNEL void cn_fill_f32(float *dst, size_t n, float x) {
  size_t i = 0;
  for (; i + CN_VF32_LANES <= n; i += CN_VF32_LANES) cn_vf32_store(dst + i, cn_vf32_set1(x));
  for (; i < n; i++) dst[i] = x;
}

/* One phase of one row: fill, then each stride-th element from the first inside, then fill. src: the row of the input. */
CN_KERNEL void cn_plane_phase_f32(const cn_window *w, const cn_plane *p, const float *src, size_t q, float fill, float *dst) {
  const size_t stride = w->stride[2];
  const ptrdiff_t start = (ptrdiff_t)q - w->pad[2]; /* place of column 0 */
  const size_t lo = cn_min(p->pitch, start >= 0 ? 0 : cn_ceil_div((size_t)-start, stride));
  const ptrdiff_t room = (ptrdiff_t)w->in[2] - start;
  const size_t hi = cn_max(lo, room <= 0 ? 0 : cn_min(p->pitch, cn_ceil_div((size_t)room, stride)));
  cn_run run;
  run.n = hi - lo;
  run.from = start + (ptrdiff_t)(lo * stride);
  cn_fill_f32(dst, lo, fill);
  if (run.n) cn_run_copy_f32(src, stride, run, dst + lo);
  cn_fill_f32(dst + hi, p->pitch - hi, fill);
}

/* The band of output rows y .. of output slice z. src: one channel [in...]. */
CN_DRIVER void cn_plane_copy_f32(const cn_window *w, const cn_plane *p, const float *src, size_t z, size_t y, float fill,
                                 float *dst) {
  const size_t rows = cn_plane_rows(w, cn_min(p->band, w->out[1] - y));
  for (size_t k = 0; k < w->kernel[0]; k++) {
    const ptrdiff_t iz = cn_window_place(w, 0, z, k);
    for (size_t r = 0; r < rows; r++) {
      const ptrdiff_t iy = (ptrdiff_t)(y * w->stride[1] + r) - w->pad[1];
      float *d = dst + k * p->slice + r * p->row;
      if (iz < 0 || iy < 0 || (size_t)iy >= w->in[1]) {
        cn_fill_f32(d, p->row, fill);
        continue;
      }
      const float *s = src + ((size_t)iz * w->in[1] + (size_t)iy) * w->in[2];
      for (size_t q = 0; q < w->stride[2]; q++) cn_plane_phase_f32(w, p, s, q, fill, d + q * p->pitch);
    }
  }
}

/* What is done with the elements of a window. */
#define CN_WINDOW_DOT 0

#define CN_WINDOW_MAX 1

#define CN_WINDOW_SUM 2

/* acc[rows] of one vector of columns, rows output rows below each other: all taps in order. src points at the window of the
 * first; weights [taps] for CN_WINDOW_DOT. op and rows are literals. */
CN_KERNEL void cn_window_vector_f32(const cn_window *w, const cn_plane *p, const float *src, const float *weights, int op,
                                    size_t rows, cn_vf32 *acc) {
  const size_t down = w->stride[1] * p->row, skip = w->dilation[2] / w->stride[2], turn = w->dilation[2] % w->stride[2];
  CN_UNROLL(4)
  for (size_t i = 0; i < rows; i++) acc[i] = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
  for (size_t kz = 0; kz < w->kernel[0]; kz++) {
    for (size_t ky = 0; ky < w->kernel[1]; ky++) {
      const float *s = src + kz * p->slice + ky * w->dilation[1] * p->row;
      for (size_t kx = 0, q = 0; kx < w->kernel[2]; kx++) {
        const cn_vf32 x = op == CN_WINDOW_DOT ? cn_vf32_set1(*weights++) : cn_vf32_zero();
        CN_UNROLL(4)
        for (size_t i = 0; i < rows; i++) {
          const cn_vf32 v = cn_vf32_load(s + q * p->pitch + i * down);
          if (op == CN_WINDOW_DOT) acc[i] = cn_vf32_fma(x, v, acc[i]);
          else if (op == CN_WINDOW_MAX) acc[i] = cn_vf32_maxn(acc[i], v);
          else acc[i] = cn_vf32_add(acc[i], v);
        }
        s += skip;
        q += turn;
        if (q >= w->stride[2]) {
          q -= w->stride[2];
          s++;
        }
      }
    }
  }
}

#endif
