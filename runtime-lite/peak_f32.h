/* SPDX-License-Identifier: MIT-0 */
/* What the machine can do at best, for `castnet bench` and the kernel benchmark: nothing in a model uses it.
 * Needs a SIMD layer included before. */
#ifndef CN_PEAK_F32_H
#define CN_PEAK_F32_H

#include "base.h"

/* Chains enough to hide an FMA's latency, few enough for sixteen registers. */
#define CN_PEAK_CHAINS 12

/* CN_PEAK_CHAINS independent FMAs of a vector a round, nothing else. The result is returned, so that all of it is computed. */
CN_DRIVER float cn_peak_f32(size_t rounds) {
  float start[CN_PEAK_CHAINS * CN_VF32_LANES], sum = 0.0f;
  cn_vf32 acc[CN_PEAK_CHAINS];
  for (size_t i = 0; i < CN_PEAK_CHAINS * CN_VF32_LANES; i++) start[i] = (float)i;
  const cn_vf32 x = cn_vf32_set1(0.5f + 1e-3f * (float)(rounds & 1)), y = cn_vf32_set1(1.0f);
  CN_UNROLL(12)
  for (size_t i = 0; i < CN_PEAK_CHAINS; i++) acc[i] = cn_vf32_load(start + i * CN_VF32_LANES);
  for (size_t r = 0; r < rounds; r++) {
    CN_UNROLL(12)
    for (size_t i = 0; i < CN_PEAK_CHAINS; i++) acc[i] = cn_vf32_fma(acc[i], x, y);
  }
  CN_UNROLL(12)
  for (size_t i = 0; i < CN_PEAK_CHAINS; i++) sum += cn_vf32_reduce_add(acc[i]);
  return sum;
}

/* Reads n floats, a multiple of eight vectors, and adds them up in eight sums. */
CN_DRIVER float cn_peak_read_f32(const float *p, size_t n) {
  cn_vf32 acc[8];
  CN_UNROLL(8)
  for (size_t i = 0; i < 8; i++) acc[i] = cn_vf32_zero();
  for (size_t k = 0; k < n; k += 8 * CN_VF32_LANES) {
    CN_UNROLL(8)
    for (size_t i = 0; i < 8; i++) acc[i] = cn_vf32_add(acc[i], cn_vf32_load(p + k + i * CN_VF32_LANES));
  }
  for (size_t i = 1; i < 8; i++) acc[0] = cn_vf32_add(acc[0], acc[i]);
  return cn_vf32_reduce_add(acc[0]);
}

/* The same in four streams, which a memory far away may serve faster; n: a multiple of 32 vectors. */
CN_DRIVER float cn_peak_streams_f32(const float *p, size_t n) {
  const size_t part = n / 4;
  cn_vf32 acc[8];
  CN_UNROLL(8)
  for (size_t i = 0; i < 8; i++) acc[i] = cn_vf32_zero();
  for (size_t k = 0; k < part; k += 8 * CN_VF32_LANES) {
    for (size_t s = 0; s < 4; s++) {
      CN_UNROLL(8)
      for (size_t i = 0; i < 8; i++) acc[i] = cn_vf32_add(acc[i], cn_vf32_load(p + s * part + k + i * CN_VF32_LANES));
    }
  }
  for (size_t i = 1; i < 8; i++) acc[0] = cn_vf32_add(acc[0], acc[i]);
  return cn_vf32_reduce_add(acc[0]);
}

/* Float operations of a round of cn_peak_f32. */
CN_INLINE double cn_peak_round_f32(void) { return 2.0 * CN_PEAK_CHAINS * CN_VF32_LANES; }

#endif
