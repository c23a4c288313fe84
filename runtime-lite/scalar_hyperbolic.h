/* SPDX-License-Identifier: MIT-0 */
/* Hyperbolic functions and their inverses. */
#ifndef CN_SCALAR_HYPERBOLIC_H
#define CN_SCALAR_HYPERBOLIC_H

#include "base.h"
#include <stdint.h>

/* (n + nl) / (d + dl) with little more than the last rounding: what a quotient of 12 bits leaves is exact. */
CN_INLINE float cn_quotient_f32(float n, float nl, float d, float dl) {
  const float inverse = 1.0f / d;
  const float q = cn_from_bits_f32(cn_bits_f32(n * inverse) & 0xfffff000u);
  const float m = cn_from_bits_f32(cn_bits_f32(d) & 0xfffff000u);
  const float rest = ((n - q * m) - q * ((d - m) + dl)) + nl;
  return q + rest * inverse;
}

/* (e^2a - 1) / (e^2a + 1), both divided by 2^k: (1 - s + p) / (1 + s + p) with s = 2^-k and p = e^r - 1. */
CN_INLINE float cn_tanh_f32(float x) {
  const float a = cn_abs_f32(x);
  float k, low;
  const float high = cn_exp_reduce_f32(2.0f * cn_min_f32(a, 9.5f), &k, &low);
  const float r = high - low, p = r * r * cn_exp_poly_f32(r) - low;
  const float s = cn_pow2_f32(-k);
  const float u = 1.0f - s, v = 1.0f + s;
  const float n = u + high, nl = ((u - n) + high) + (p + ((1.0f - u) - s));
  const float d = v + high, dl = ((v - d) + high) + (p + ((1.0f - v) + s));
  const float ns = n + nl, ds = d + dl;
  return cn_copysign_f32(cn_quotient_f32(ns, (n - ns) + nl, ds, (d - ds) + dl), x);
}

/* Hyperbolic functions by expm1 and log1p, which keep small arguments exact. */
CN_INLINE double cn_tanh_f64(double x) {
  const double a = cn_abs_f64(x);
  const double t = cn_expm1_f64(2.0 * (cn_min_f64(a, 22.0)));
  const double y = t / (t + 2.0);
  return cn_copysign_f64(y, x);
}

CN_INLINE double cn_sinh_f64(double x) {
  const double a = cn_abs_f64(x);
  const double t = cn_expm1_f64(cn_min_f64(a, 30.0));
  const double small = 0.5 * (t + t / (t + 1.0));
  return cn_copysign_f64(cn_pick_f64(a < 30.0, small, cn_exp_scaled_f64(a, -1.0)), x);
}

CN_INLINE double cn_cosh_f64(double x) {
  const double h = cn_exp_scaled_f64(cn_abs_f64(x), -1.0);
  return h + 0.25 / h;
}

CN_INLINE double cn_asinh_f64(double x) {
  const double a = cn_abs_f64(x), big = 0x1p28;
  const double b = cn_min_f64(a, big), z = b * b;
  const double small = cn_log1p_f64(b + z / (1.0 + cn_sqrt_f64(z + 1.0)));
  const double large = cn_log_f64(a) + 0x1.62e42fefa39efp-1;
  return cn_copysign_f64(cn_pick_f64(a < big, small, large), x);
}

CN_INLINE double cn_acosh_f64(double x) {
  const double t = cn_min_f64(x, 0x1p28) - 1.0;
  const double small = cn_log1p_f64(t + cn_sqrt_f64(2.0 * t + t * t));
  const double large = cn_log_f64(x) + 0x1.62e42fefa39efp-1;
  return cn_pick_f64(x < 1.0, cn_nan_f64(), cn_pick_f64(x < 0x1p28, small, large));
}

CN_INLINE double cn_atanh_f64(double x) {
  const double a = cn_abs_f64(x);
  return cn_copysign_f64(0.5 * cn_log1p_f64(2.0 * a / (1.0 - a)), x);
}

#endif
