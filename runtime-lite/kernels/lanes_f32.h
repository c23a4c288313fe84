/* SPDX-License-Identifier: MIT-0 */
/* Scalar functions of neighbours at once, where a compiler makes no vectors of the function itself: the same bits.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_LANES_F32_H
#define CN_KERNELS_LANES_F32_H

#include "base.h"
#include "scalar_special.h"

CN_KERNEL cn_vf32 cn_erf_sqrt2_vf32(cn_vf32 x) {
  const float (*const c)[16] = cn_erf_sqrt2_table;
  const cn_vf32 a = cn_vf32_min(cn_vf32_set1(5.5625f), cn_vf32_abs(x)), i = cn_vf32_add(a, cn_vf32_set1(0x1.8p22f));
  const cn_vf32 t = cn_vf32_sub(a, cn_vf32_look_up(c[0], i)), t2 = cn_vf32_mul(t, t);
  const cn_vf32 p2 = cn_vf32_add(cn_vf32_look_up(c[2], i), cn_vf32_mul(t, cn_vf32_look_up(c[3], i)));
  const cn_vf32 p4 = cn_vf32_add(cn_vf32_look_up(c[4], i), cn_vf32_mul(t, cn_vf32_look_up(c[5], i)));
  const cn_vf32 p6 = cn_vf32_add(cn_vf32_look_up(c[6], i), cn_vf32_mul(t, cn_vf32_look_up(c[7], i)));
  const cn_vf32 high = cn_vf32_add(p6, cn_vf32_mul(t2, cn_vf32_look_up(c[8], i)));
  const cn_vf32 slope = cn_vf32_add(p2, cn_vf32_mul(t2, cn_vf32_add(p4, cn_vf32_mul(t2, high))));
  return cn_vf32_copysign(cn_vf32_add(cn_vf32_look_up(c[1], i), cn_vf32_mul(t, slope)), x);
}

/* v[0 .. n), in place; n is a literal. */
CN_KERNEL void cn_erf_sqrt2_lanes_f32(float *v, size_t n) {
  const size_t whole = n / CN_VF32_LANES * CN_VF32_LANES;
  for (size_t i = 0; i < whole; i += CN_VF32_LANES) cn_vf32_store(v + i, cn_erf_sqrt2_vf32(cn_vf32_load(v + i)));
  for (size_t i = whole; i < n; i++) v[i] = cn_erf_sqrt2_f32(v[i]);
}

#endif
