/* SPDX-License-Identifier: MIT-0 */
/* Convolution and pooling, f32, on a GPU: large ones as tiled products whose second operand is gathered, small ones an output
 * element a thread. The geometry is that of kernels/window.h. */
#ifndef CN_CUDA_WINDOW_F32_H
#define CN_CUDA_WINDOW_F32_H

#include "cuda/gemm_f32.h"
#include "kernels/window.h"

typedef struct cn_cuda_conv_f32_args {
  cn_window window;
  const float *in;      /* [images][groups * c][in...] */
  const float *weights; /* [groups * m][c][kernel...] */
} cn_cuda_conv_f32_args;

/* What the output at place o[3] reads at a tap, 0 outside; in: one channel. */
static inline __device__ float cn_cuda_tap_f32(const cn_window *w, const float *in, const size_t o[3], size_t tap) {
  const ptrdiff_t x = cn_window_place(w, 2, o[2], tap % w->kernel[2]);
  const ptrdiff_t y = cn_window_place(w, 1, o[1], tap / w->kernel[2] % w->kernel[1]);
  const ptrdiff_t z = cn_window_place(w, 0, o[0], tap / (w->kernel[2] * w->kernel[1]));
  return x < 0 || y < 0 || z < 0 ? 0.0f : in[((size_t)z * w->in[1] + (size_t)y) * w->in[2] + (size_t)x];
}

static inline __device__ void cn_cuda_place(const cn_window *w, size_t pixel, size_t ret[3]) {
  ret[2] = pixel % w->out[2];
  ret[1] = pixel / w->out[2] % w->out[1];
  ret[0] = pixel / (w->out[2] * w->out[1]);
}

/* Output element f of [images][groups * m][out...]. */
static inline __device__ float cn_cuda_conv_at_f32(const cn_cuda_conv_f32_args *a, size_t f) {
  const cn_window *w = &a->window;
  const size_t pixels = cn_volume(w->out), taps = cn_volume(w->kernel), channel = f / pixels % (w->groups * w->m);
  const size_t image = f / pixels / (w->groups * w->m);
  const float *in = a->in + (image * w->groups + channel / w->m) * w->c * cn_volume(w->in), *weights = a->weights + channel * w->c * taps;
  size_t o[3];
  float sum = 0.0f;
  cn_cuda_place(w, f % pixels, o);
  for (size_t c = 0; c < w->c; c++) {
    for (size_t t = 0; t < taps; t++) sum += weights[c * taps + t] * cn_cuda_tap_f32(w, in + c * cn_volume(w->in), o, t);
  }
  return sum;
}

/* The tile whose first element is row row0 and pixel col0 of image and group `part`: [m][c * taps] times [c * taps][pixels]. */
static inline __device__ void cn_cuda_conv_f32(const cn_cuda_conv_f32_args *a, size_t part, int64_t row0, int64_t col0, float acc[4][4]) {
  __shared__ cn_cuda_slices_f32 s;
  const cn_window *w = &a->window;
  const size_t taps = cn_volume(w->kernel), depth = w->c * taps, pixels = cn_volume(w->out);
  const float *in = a->in + part * w->c * cn_volume(w->in), *weights = a->weights + part % w->groups * w->m * depth;
  for (int i = 0; i < 16; i++) acc[i / 4][i % 4] = 0.0f;
  for (size_t k0 = 0; k0 < depth; k0 += CN_CUDA_DEPTH) {
    for (size_t i = threadIdx.x; i < CN_CUDA_DEPTH * CN_CUDA_TILE; i += CN_CUDA_THREADS) {
      const size_t ak = i % CN_CUDA_DEPTH, at = i / CN_CUDA_DEPTH, bk = i / CN_CUDA_TILE, bt = i % CN_CUDA_TILE;
      const size_t row = (size_t)row0 + at, col = (size_t)col0 + bt, k = k0 + bk;
      size_t o[3];
      cn_cuda_place(w, col, o);
      s.a[ak][at] = row < w->m && k0 + ak < depth ? weights[row * depth + k0 + ak] : 0.0f;
      s.b[bk][bt] = col < pixels && k < depth ? cn_cuda_tap_f32(w, in + k / taps * cn_volume(w->in), o, k % taps) : 0.0f;
    }
    __syncthreads();
    cn_cuda_tile_add_f32(&s, acc);
    __syncthreads();
  }
}

typedef struct cn_cuda_pool_f32_args {
  cn_window window;  /* groups = channels, c = m = 1 */
  unsigned flags;    /* CN_POOL_...; 0: the maximum */
  const float *in;   /* [images][groups][in...] */
} cn_cuda_pool_f32_args;

/* NaN inside of a window makes its maximum NaN. */
static inline __device__ float cn_cuda_pool_max_f32(const cn_window *w, const float *in, const size_t o[3]) {
  float most = cn_least_f32();
  for (size_t t = 0; t < cn_volume(w->kernel); t++) {
    const ptrdiff_t x = cn_window_place(w, 2, o[2], t % w->kernel[2]);
    const ptrdiff_t y = cn_window_place(w, 1, o[1], t / w->kernel[2] % w->kernel[1]);
    const ptrdiff_t z = cn_window_place(w, 0, o[0], t / (w->kernel[2] * w->kernel[1]));
    if (x < 0 || y < 0 || z < 0) continue;
    const float v = in[((size_t)z * w->in[1] + (size_t)y) * w->in[2] + (size_t)x];
    if (v > most || v != v) most = v;
  }
  return most;
}

/* Output element f of [images][groups][out...]. */
static inline __device__ float cn_cuda_pool_at_f32(const cn_cuda_pool_f32_args *a, size_t f) {
  const cn_window *w = &a->window;
  const float *in = a->in + f / cn_volume(w->out) * cn_volume(w->in);
  size_t o[3];
  cn_cuda_place(w, f % cn_volume(w->out), o);
  if (!(a->flags & (CN_POOL_AVERAGE | CN_POOL_SUM))) return cn_cuda_pool_max_f32(w, in, o);
  float sum = 0.0f, count = 1.0f;
  for (size_t t = 0; t < cn_volume(w->kernel); t++) sum += cn_cuda_tap_f32(w, in, o, t);
  for (int i = 0; i < 3; i++) count *= (float)cn_pool_count(w, a->flags, i, o[i]);
  return sum / count;
}

#endif
