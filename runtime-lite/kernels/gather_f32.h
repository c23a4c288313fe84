/* SPDX-License-Identifier: MIT-0 */
/* Gathering a panel of pixels for the convolution: [channels][NR] floats of one tap. The places of a panel's pixels are
 * the same in every channel, so they are worked out once for a tap, as a short list of runs, and copied for each channel.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_GATHER_F32_H
#define CN_KERNELS_GATHER_F32_H

#include "kernels/window.h"

/* n floats of a panel's row; from: offset in the channel, -1 for zeros. Runs cover a row from left to right. */
typedef struct cn_run {
  size_t n;
  ptrdiff_t from;
} cn_run;

/* Adds a run of zeros, or makes the last one longer. Returns the new count. */
CN_INLINE size_t cn_run_zeros(cn_run *runs, size_t count, size_t n) {
  if (n == 0) return count;
  if (count && runs[count - 1].from < 0) {
    runs[count - 1].n += n;
    return count;
  }
  runs[count].n = n;
  runs[count].from = -1;
  return count + 1;
}

CN_INLINE size_t cn_run_add(cn_run *runs, size_t count, size_t n, size_t from) {
  if (n == 0) return count;
  runs[count].n = n;
  runs[count].from = (ptrdiff_t)from;
  return count + 1;
}

/* A tap of the kernel. */
typedef struct cn_tap {
  size_t z, y, x;
} cn_tap;

CN_INLINE cn_tap cn_tap_at(const cn_window *w, size_t flat) {
  cn_tap t;
  t.z = flat / w->kernel[2] / w->kernel[1];
  t.y = flat / w->kernel[2] % w->kernel[1];
  t.x = flat % w->kernel[2];
  return t;
}

CN_INLINE void cn_tap_next(const cn_window *w, cn_tap *t) {
  if (++t->x < w->kernel[2]) return;
  t->x = 0;
  if (++t->y < w->kernel[1]) return;
  t->y = 0;
  t->z++;
}

/* An output place. */
typedef struct cn_pixel {
  size_t z, y, x;
} cn_pixel;

CN_INLINE cn_pixel cn_pixel_at(const cn_window *w, size_t flat) {
  cn_pixel p;
  p.x = flat % w->out[2];
  p.y = flat / w->out[2] % w->out[1];
  p.z = flat / w->out[2] / w->out[1];
  return p;
}

/* Runs of the outputs o .. o + n of one row; row: offset of the input row. Input dilation makes runs of one element. */
CN_INLINE size_t cn_run_row(const cn_window *w, const cn_tap *t, size_t row, size_t o, size_t n, cn_run *runs, size_t count) {
  if (w->up[2] != 1) {
    for (size_t i = o; i < o + n; i++) {
      ptrdiff_t x = cn_window_place(w, 2, i, t->x);
      count = x < 0 ? cn_run_zeros(runs, count, 1) : cn_run_add(runs, count, 1, row + (size_t)x);
    }
    return count;
  }
  const ptrdiff_t first = (ptrdiff_t)(o * w->stride[2] + t->x * w->dilation[2]) - w->pad[2];
  if (first >= 0 && (size_t)first + (n - 1) * w->stride[2] < w->in[2]) return cn_run_add(runs, count, n, row + (size_t)first);
  const size_t lo = cn_min(o + n, cn_max(o, cn_window_first(w, 2, t->x, 0)));
  const size_t hi = cn_max(lo, cn_min(o + n, cn_window_first(w, 2, t->x, w->in[2])));
  count = cn_run_zeros(runs, count, lo - o);
  count = cn_run_add(runs, count, hi - lo, row + (size_t)first + (lo - o) * w->stride[2]); /* not negative when it is used */
  return cn_run_zeros(runs, count, o + n - hi);
}

/* Runs of n pixels from p on in flat order, filled up with zeros to nr. At most 2 nr + 1 of them. */
CN_NOINLINE size_t cn_run_list(const cn_window *w, const cn_tap *t, cn_pixel p, size_t n, size_t nr, cn_run *runs) {
  size_t count = 0;
  for (size_t j = 0; j < n;) {
    const size_t len = cn_min(n - j, w->out[2] - p.x);
    const ptrdiff_t z = cn_window_place(w, 0, p.z, t->z), y = cn_window_place(w, 1, p.y, t->y);
    if (z < 0 || y < 0) count = cn_run_zeros(runs, count, len);
    else count = cn_run_row(w, t, ((size_t)z * w->in[1] + (size_t)y) * w->in[2], p.x, len, runs, count);
    j += len;
    p.x = 0;
    if (++p.y == w->out[1]) {
      p.y = 0;
      p.z++;
    }
  }
  return cn_run_zeros(runs, count, nr - n);
}

/* One run. Writes whole vectors: what lands behind the run is written again by the next run, row or panel. */
CN_KERNEL void cn_run_copy_f32(const float *src, size_t stride, cn_run run, float *dst) {
  const size_t lanes = CN_VF32_LANES;
  size_t i = 0;
  if (run.from < 0) {
    for (; i < run.n; i += lanes) cn_vf32_store(dst + i, cn_vf32_zero());
    return;
  }
  src += run.from;
  if (stride == 1) {
    for (; i + lanes <= run.n; i += lanes) cn_vf32_store(dst + i, cn_vf32_load(src + i));
    if (i < run.n) cn_vf32_store(dst + i, cn_vf32_load_n(src + i, run.n - i));
    return;
  }
  if (stride == 2) {
    for (; i + lanes <= run.n; i += lanes) cn_vf32_store(dst + i, cn_vf32_load_even(src + 2 * i));
    if (i < run.n) cn_vf32_store(dst + i, cn_vf32_load_even_n(src + 2 * i, run.n - i));
    return;
  }
  for (; i < run.n; i++) dst[i] = src[i * stride];
}

/* dst[channels][nr] of one tap, from channels of area floats each. */
CN_DRIVER void cn_gather_tap_f32(const float *src, size_t area, size_t channels, size_t stride, const cn_run *runs,
                                 size_t n_runs, size_t nr, float *dst) {
  if (n_runs == 1 && stride == 1 && runs[0].from >= 0 && nr == CN_GEMM_F32_NR) {
    src += runs[0].from;
    for (size_t c = 0; c < channels; c++, src += area, dst += nr) {
      CN_UNROLL(8)
      for (size_t v = 0; v < CN_GEMM_F32_NR; v += CN_VF32_LANES) cn_vf32_store(dst + v, cn_vf32_load(src + v));
    }
    return;
  }
  for (size_t c = 0; c < channels; c++, src += area, dst += nr) {
    float *d = dst;
    for (size_t r = 0; r < n_runs; d += runs[r].n, r++) cn_run_copy_f32(src, stride, runs[r], d);
  }
}

/* Depth k0 .. k0 + kc (taps * c, taps first) of the pixels p .. p + n of one image and group -> dst[kc][NR]; start: the first
 * of them. Writes up to a vector more. */
CN_DRIVER void cn_gather_f32(const cn_window *w, const float *src, size_t k0, size_t kc, cn_pixel start, size_t n, float *dst) {
  cn_run runs[2 * CN_GEMM_F32_NR + 1];
  const size_t nr = CN_GEMM_F32_NR, area = cn_volume(w->in);
  if (kc == 0) return;
  cn_tap tap = cn_tap_at(w, k0 / w->c);
  for (size_t c = k0 % w->c; kc; c = 0, cn_tap_next(w, &tap)) {
    const size_t channels = cn_min(w->c - c, kc), n_runs = cn_run_list(w, &tap, start, n, nr, runs);
    cn_gather_tap_f32(src + c * area, area, channels, w->stride[2], runs, n_runs, nr, dst);
    dst += channels * nr;
    kc -= channels;
  }
}

#endif
