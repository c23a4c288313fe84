/* SPDX-License-Identifier: MIT-0 */
/* Scalar functions of neighbours at once, where a compiler makes no vectors of the function itself, or an instruction does as much: the same bits.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_LANES_F32_H
#define CN_KERNELS_LANES_F32_H

#include "base.h"
#include "scalar_f16.h"
#include "scalar_hyperbolic.h"
#include "scalar_special.h"
#include "scalar_sqrt.h"

/* As cn_of_part_f32, the parts in the last bits of i. */
CN_KERNEL cn_vf32 cn_of_part_vf32(const float (*c)[8], cn_vf32 i, cn_vf32 a) {
  const cn_vf32 t = cn_vf32_sub(a, cn_vf32_look_up8(c[0], i)), t2 = cn_vf32_mul(t, t);
  const cn_vf32 p2 = cn_vf32_add(cn_vf32_look_up8(c[2], i), cn_vf32_mul(t, cn_vf32_look_up8(c[3], i)));
  const cn_vf32 p4 = cn_vf32_add(cn_vf32_look_up8(c[4], i), cn_vf32_mul(t, cn_vf32_look_up8(c[5], i)));
  const cn_vf32 p6 = cn_vf32_add(cn_vf32_look_up8(c[6], i), cn_vf32_mul(t, cn_vf32_look_up8(c[7], i)));
  const cn_vf32 high = cn_vf32_add(p6, cn_vf32_mul(t2, cn_vf32_look_up8(c[8], i)));
  const cn_vf32 slope = cn_vf32_add(p2, cn_vf32_mul(t2, cn_vf32_add(p4, cn_vf32_mul(t2, high))));
  return cn_vf32_add(cn_vf32_look_up8(c[1], i), cn_vf32_mul(t, slope));
}

CN_KERNEL cn_vf32 cn_erf_sqrt2_vf32(cn_vf32 x) {
  const cn_vf32 a = cn_vf32_min(cn_vf32_set1(5.5625f), cn_vf32_abs(x)), place = cn_vf32_mul(a, cn_vf32_set1(0x1.555556p+0f));
  return cn_vf32_copysign(cn_of_part_vf32(cn_erf_sqrt2_table, cn_vf32_add(place, cn_vf32_set1(0x1.8p23f)), a), x);
}

CN_KERNEL cn_vf32 cn_tanh_vf32(cn_vf32 x) {
  const cn_vf32 a = cn_vf32_min(cn_vf32_set1(9.0109377f), cn_vf32_abs(x));
  const cn_vf32 place = cn_vf32_mul(a, cn_vf32_sub(cn_vf32_set1(1.65f), cn_vf32_mul(a, cn_vf32_set1(0.0915f))));
  const cn_vf32 more = cn_of_part_vf32(cn_tanh_table, cn_vf32_add(place, cn_vf32_set1(0x1.8p23f)), a);
  return cn_vf32_copysign(cn_vf32_add(cn_vf32_min(cn_vf32_set1(CN_TANH_EDGE), a), more), x);
}

CN_KERNEL cn_vf32 cn_gelu_near_vf32(const float (*c)[16], cn_vf32 x) {
  const cn_vf32 a = cn_vf32_min(cn_vf32_set1(5.65f), cn_vf32_abs(x)), zero = cn_vf32_set1(0.0f);
  const cn_vf32 place = cn_vf32_mul(a, cn_vf32_add(cn_vf32_mul(a, cn_vf32_set1(0.3224f)), cn_vf32_set1(1.57f)));
  const cn_vf32 i = cn_vf32_add(cn_vf32_min(cn_vf32_set1(15.0f), place), cn_vf32_set1(0x1.8p23f));
  const cn_vf32 t = cn_vf32_sub(a, cn_vf32_look_up(c[0], i)), t2 = cn_vf32_mul(t, t);
  const cn_vf32 p2 = cn_vf32_add(cn_vf32_look_up(c[2], i), cn_vf32_mul(t, cn_vf32_look_up(c[3], i)));
  const cn_vf32 p4 = cn_vf32_add(cn_vf32_look_up(c[4], i), cn_vf32_mul(t, cn_vf32_look_up(c[5], i)));
  const cn_vf32 p6 = cn_vf32_add(cn_vf32_look_up(c[6], i), cn_vf32_mul(t, cn_vf32_look_up(c[7], i)));
  const cn_vf32 slope = cn_vf32_add(p2, cn_vf32_mul(t2, cn_vf32_add(p4, cn_vf32_mul(t2, p6))));
  const cn_vf32 under = cn_vf32_add(cn_vf32_look_up(c[1], i), cn_vf32_mul(t, slope));
  return cn_vf32_copysign(cn_vf32_sub(cn_vf32_max(zero, x), under), x);
}

/* `far` of x in place of y where that lies far below 0. */
CN_KERNEL cn_vf32 cn_gelu_fill_far_vf32(cn_vf32 x, cn_vf32 y, float (*far)(float)) {
  float from[CN_VF32_LANES], to[CN_VF32_LANES];
  if (!cn_vf32_any_lt(x, cn_vf32_set1(CN_GELU_FAR))) return y;
  cn_vf32_store(from, x);
  cn_vf32_store(to, y);
  CN_LANES
  for (size_t i = 0; i < CN_VF32_LANES; i++) to[i] = cn_pick_f32(from[i] < CN_GELU_FAR, far(from[i]), to[i]);
  return cn_vf32_load(to);
}

CN_KERNEL cn_vf32 cn_gelu_vf32(cn_vf32 x) { return cn_gelu_fill_far_vf32(x, cn_gelu_near_vf32(cn_gelu_table, x), cn_gelu_far_f32); }

CN_KERNEL cn_vf32 cn_gelu_tanh_vf32(cn_vf32 x) { return cn_gelu_fill_far_vf32(x, cn_gelu_near_vf32(cn_gelu_tanh_table, x), cn_gelu_tanh_far_f32); }

/* out[0 .. n) of x, which may be out. */
CN_KERNEL void cn_lanes_f32(float *out, const float *x, size_t n, cn_vf32 (*vector)(cn_vf32), float (*one)(float)) {
  const size_t whole = n / CN_VF32_LANES * CN_VF32_LANES;
  CN_OPAQUE(out); /* clang would take the first lane from the vector that is stored, and make masked vectors of the caller's loop over the other fifteen */
  for (size_t i = 0; i < whole; i += CN_VF32_LANES) cn_vf32_store(out + i, vector(cn_vf32_load(x + i)));
  for (size_t i = whole; i < n; i++) out[i] = one(x[i]);
}

CN_KERNEL void cn_sqrt_lanes_f32(float *out, const float *x, size_t n) { cn_lanes_f32(out, x, n, cn_vf32_sqrt, cn_sqrt_f32); }

CN_KERNEL void cn_round_f16_lanes_f32(float *out, const float *x, size_t n) { cn_lanes_f32(out, x, n, cn_vf32_round_f16, cn_round_f16_f32); }

CN_KERNEL void cn_erf_sqrt2_lanes_f32(float *out, const float *x, size_t n) { cn_lanes_f32(out, x, n, cn_erf_sqrt2_vf32, cn_erf_sqrt2_f32); }

CN_KERNEL void cn_tanh_lanes_f32(float *out, const float *x, size_t n) { cn_lanes_f32(out, x, n, cn_tanh_vf32, cn_tanh_f32); }

CN_KERNEL void cn_gelu_lanes_f32(float *out, const float *x, size_t n) { cn_lanes_f32(out, x, n, cn_gelu_vf32, cn_gelu_f32); }

CN_KERNEL void cn_gelu_tanh_lanes_f32(float *out, const float *x, size_t n) { cn_lanes_f32(out, x, n, cn_gelu_tanh_vf32, cn_gelu_tanh_f32); }

#endif
