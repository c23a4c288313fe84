/* SPDX-License-Identifier: MIT-0 */
/* Pooling for all element types, with the places of maxima where they are asked for: one body, bound to a type by load and
 * store functions that vanish into it. All types but 64-bit integers are exact in double. No SIMD layer needed. */
#ifndef CN_KERNELS_POOL_PLAIN_H
#define CN_KERNELS_POOL_PLAIN_H

#include "kernels/plain.h"

/* window, flags: as cn_pool_f32_args. */
typedef struct cn_pool_plain_args {
  cn_window window;
  unsigned flags;
  const void *in;   /* [images][groups][in...] */
  void *out;        /* [images][groups][out...] */
  int64_t *indices; /* [images][groups][out...] flat place of the (first) maximum in all of `in`, or NULL */
  int column_major; /* places within a channel count the first spatial dimension fastest */
} cn_pool_plain_args;

/* A task is one channel of one image. */
CN_INLINE size_t cn_pool_plain_tasks(const cn_pool_plain_args *a) { return a->window.images * a->window.groups; }

CN_INLINE int64_t cn_pool_place(const cn_pool_plain_args *a, size_t channel, size_t z, size_t y, size_t x) {
  const size_t *d = a->window.in;
  const size_t at = a->column_major ? (x * d[1] + y) * d[0] + z : (z * d[1] + y) * d[2] + x;
  return (int64_t)(channel * cn_volume(d) + at);
}

/* One output place. */
CN_INLINE double cn_pool_plain_window(const cn_pool_plain_args *a, size_t channel, const size_t o[3], int64_t *ret_place,
                                      double (*load)(const void *, size_t)) {
  const cn_window *w = &a->window;
  double most = 0.0, sum = 0.0;
  int seen = 0;
  for (size_t t = 0; t < cn_volume(w->kernel); t++) {
    const ptrdiff_t z = cn_window_place(w, 0, o[0], t / w->kernel[2] / w->kernel[1]);
    const ptrdiff_t y = cn_window_place(w, 1, o[1], t / w->kernel[2] % w->kernel[1]);
    const ptrdiff_t x = cn_window_place(w, 2, o[2], t % w->kernel[2]);
    if (z < 0 || y < 0 || x < 0) continue;
    const double v = load(a->in, ((channel * w->in[0] + (size_t)z) * w->in[1] + (size_t)y) * w->in[2] + (size_t)x);
    sum += v;
    if (!seen || v > most || (v != v && most == most)) {
      most = v;
      *ret_place = cn_pool_place(a, channel, (size_t)z, (size_t)y, (size_t)x);
      seen = 1;
    }
  }
  if (!(a->flags & (CN_POOL_AVERAGE | CN_POOL_SUM))) return seen ? most : (double)cn_least_f32();
  return sum / (double)(cn_pool_count(w, a->flags, 0, o[0]) * cn_pool_count(w, a->flags, 1, o[1]) *
                        cn_pool_count(w, a->flags, 2, o[2]));
}

/* Channels t0 .. t1. */
CN_INLINE void cn_pool_plain(const cn_pool_plain_args *a, size_t t0, size_t t1, double (*load)(const void *, size_t),
                             void (*store)(void *, size_t, double)) {
  const cn_window *w = &a->window;
  const size_t pixels = cn_volume(w->out);
  for (size_t t = t0; t < t1; t++) {
    for (size_t p = 0; p < pixels; p++) {
      size_t o[3];
      int64_t place = -1;
      o[0] = p / w->out[2] / w->out[1];
      o[1] = p / w->out[2] % w->out[1];
      o[2] = p % w->out[2];
      store(a->out, t * pixels + p, cn_pool_plain_window(a, t, o, &place, load));
      if (a->indices) a->indices[t * pixels + p] = place;
    }
  }
}

CN_INLINE double cn_plain_load_f32(const void *p, size_t i) { return (double)((const float *)p)[i]; }

CN_INLINE void cn_plain_store_f32(void *p, size_t i, double x) { ((float *)p)[i] = (float)x; }

CN_INLINE double cn_plain_load_u8(const void *p, size_t i) { return (double)((const uint8_t *)p)[i]; }

CN_INLINE void cn_plain_store_u8(void *p, size_t i, double x) { ((uint8_t *)p)[i] = (uint8_t)(x > 0.0 ? x : 0.0); }

CN_INLINE double cn_plain_load_s8(const void *p, size_t i) { return (double)((const int8_t *)p)[i]; }

CN_INLINE void cn_plain_store_s8(void *p, size_t i, double x) { ((int8_t *)p)[i] = (int8_t)(x > -128.0 ? x : -128.0); }

/* f32 with indices. */
CN_NOINLINE void cn_pool_index_f32(const cn_pool_plain_args *a, size_t t0, size_t t1) {
  cn_pool_plain(a, t0, t1, cn_plain_load_f32, cn_plain_store_f32);
}

CN_NOINLINE void cn_pool_f64(const cn_pool_plain_args *a, size_t t0, size_t t1) {
  cn_pool_plain(a, t0, t1, cn_plain_load_f64, cn_plain_store_f64);
}

CN_NOINLINE void cn_pool_u8(const cn_pool_plain_args *a, size_t t0, size_t t1) {
  cn_pool_plain(a, t0, t1, cn_plain_load_u8, cn_plain_store_u8);
}

CN_NOINLINE void cn_pool_s8(const cn_pool_plain_args *a, size_t t0, size_t t1) {
  cn_pool_plain(a, t0, t1, cn_plain_load_s8, cn_plain_store_s8);
}

#endif
