/* SPDX-License-Identifier: MIT-0 */
/* Products and convolutions for element types that have no tiled kernel: one body each, bound to a type by load and store
 * functions that vanish into it. Sums are double for floating types, and modulo 2^64 for integers, which is exact for every
 * integer result that wraps. No SIMD layer needed. */
#ifndef CN_KERNELS_PLAIN_H
#define CN_KERNELS_PLAIN_H

#include "kernels/window.h"

/* Any strides on all sides, in elements. */
typedef struct cn_gemm_plain_args {
  size_t m, n, k;
  const void *a, *b;
  void *c;
  size_t a_rs, a_ks, b_ks, b_ns, c_rs, c_ns;
} cn_gemm_plain_args;

/* Columns summed side by side. */
#define CN_PLAIN_WIDTH 8

CN_INLINE double cn_plain_load_f64(const void *p, size_t i) { return ((const double *)p)[i]; }

CN_INLINE void cn_plain_store_f64(void *p, size_t i, double x) { ((double *)p)[i] = x; }

CN_INLINE uint64_t cn_plain_load_s32(const void *p, size_t i) { return (uint64_t)(int64_t)((const int32_t *)p)[i]; }

CN_INLINE uint64_t cn_plain_load_u64(const void *p, size_t i) { return ((const uint64_t *)p)[i]; }

CN_INLINE void cn_plain_store_s32(void *p, size_t i, uint64_t x) { ((uint32_t *)p)[i] = (uint32_t)(x & 0xffffffffu); }

CN_INLINE void cn_plain_store_u64(void *p, size_t i, uint64_t x) { ((uint64_t *)p)[i] = x; }

/* Rows t0 .. t1 in floating point. */
CN_INLINE void cn_gemm_plain_float(const cn_gemm_plain_args *g, size_t t0, size_t t1, double (*load)(const void *, size_t),
                                   void (*store)(void *, size_t, double)) {
  for (size_t i = t0; i < t1; i++) {
    for (size_t j = 0; j < g->n; j += CN_PLAIN_WIDTH) {
      const size_t n = cn_min(CN_PLAIN_WIDTH, g->n - j);
      double acc[CN_PLAIN_WIDTH] = {0};
      for (size_t p = 0; p < g->k; p++) {
        const double x = load(g->a, i * g->a_rs + p * g->a_ks);
        for (size_t v = 0; v < n; v++) acc[v] += x * load(g->b, p * g->b_ks + (j + v) * g->b_ns);
      }
      for (size_t v = 0; v < n; v++) store(g->c, i * g->c_rs + (j + v) * g->c_ns, acc[v]);
    }
  }
}

/* Rows t0 .. t1 modulo 2^64. */
CN_INLINE void cn_gemm_plain_int(const cn_gemm_plain_args *g, size_t t0, size_t t1, uint64_t (*load)(const void *, size_t),
                                 void (*store)(void *, size_t, uint64_t)) {
  for (size_t i = t0; i < t1; i++) {
    for (size_t j = 0; j < g->n; j += CN_PLAIN_WIDTH) {
      const size_t n = cn_min(CN_PLAIN_WIDTH, g->n - j);
      uint64_t acc[CN_PLAIN_WIDTH] = {0};
      for (size_t p = 0; p < g->k; p++) {
        const uint64_t x = load(g->a, i * g->a_rs + p * g->a_ks);
        for (size_t v = 0; v < n; v++) acc[v] += x * load(g->b, p * g->b_ks + (j + v) * g->b_ns);
      }
      for (size_t v = 0; v < n; v++) store(g->c, i * g->c_rs + (j + v) * g->c_ns, acc[v]);
    }
  }
}

/* A task is a row. */
CN_INLINE size_t cn_gemm_plain_tasks(const cn_gemm_plain_args *g) { return g->m; }

CN_NOINLINE void cn_gemm_f64(const cn_gemm_plain_args *g, size_t t0, size_t t1) {
  cn_gemm_plain_float(g, t0, t1, cn_plain_load_f64, cn_plain_store_f64);
}

/* s32 and u32: the same bits. */
CN_NOINLINE void cn_gemm_s32(const cn_gemm_plain_args *g, size_t t0, size_t t1) {
  cn_gemm_plain_int(g, t0, t1, cn_plain_load_s32, cn_plain_store_s32);
}

/* s64 and u64: the same bits. */
CN_NOINLINE void cn_gemm_s64(const cn_gemm_plain_args *g, size_t t0, size_t t1) {
  cn_gemm_plain_int(g, t0, t1, cn_plain_load_u64, cn_plain_store_u64);
}

/* A convolution of doubles with weights as ONNX stores them; bias [groups * m] or NULL. */
typedef struct cn_conv_f64_args {
  cn_window window;
  const double *in, *weights, *bias;
  double *out;
} cn_conv_f64_args;

/* A task is a row of outputs. */
CN_INLINE size_t cn_conv_f64_tasks(const cn_conv_f64_args *a) {
  const cn_window *w = &a->window;
  return w->images * w->groups * w->m * w->out[0] * w->out[1];
}

/* out[x] += weight * in[place of x at the tap] for one row of each. */
CN_INLINE void cn_conv_row_f64(const cn_window *w, size_t tap, double weight, const double *in, double *out) {
  for (size_t x = 0; x < w->out[2]; x++) {
    const ptrdiff_t from = cn_window_place(w, 2, x, tap);
    if (from >= 0) out[x] += weight * in[from];
  }
}

/* Tasks t0 .. t1 of cn_conv_f64_tasks(a). */
CN_NOINLINE void cn_conv_f64(const cn_conv_f64_args *a, size_t t0, size_t t1) {
  const cn_window *w = &a->window;
  const size_t taps = cn_volume(w->kernel);
  for (size_t t = t0; t < t1; t++) {
    const size_t y = t % w->out[1], z = t / w->out[1] % w->out[0], row = t / w->out[1] / w->out[0];
    const size_t oc = row % (w->groups * w->m), first = row / w->m * w->c; /* channel of the input */
    double *out = a->out + t * w->out[2];
    for (size_t x = 0; x < w->out[2]; x++) out[x] = a->bias ? a->bias[oc] : 0.0;
    for (size_t q = 0; q < w->c * taps; q++) {
      const size_t tap = q % taps;
      const ptrdiff_t iz = cn_window_place(w, 0, z, tap / w->kernel[2] / w->kernel[1]);
      const ptrdiff_t iy = cn_window_place(w, 1, y, tap / w->kernel[2] % w->kernel[1]);
      if (iz < 0 || iy < 0) continue;
      const size_t at = (((first + q / taps) * w->in[0] + (size_t)iz) * w->in[1] + (size_t)iy) * w->in[2];
      cn_conv_row_f64(w, tap % w->kernel[2], a->weights[oc * w->c * taps + q], a->in + at, out);
    }
  }
}

#endif
