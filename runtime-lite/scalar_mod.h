/* SPDX-License-Identifier: MIT-0 */
/* Remainders of floats. */
#ifndef CN_SCALAR_MOD_H
#define CN_SCALAR_MOD_H

#include <stdint.h>

/* a = significand 2^*ret_exponent for a finite a > 0 */
static inline uint64_t cn_significand_f32(float a, int32_t *ret_exponent) {
  const uint32_t u = cn_bits_f32(a), e = u >> 23, f = u & 0x7fffffu;
  *ret_exponent = (int32_t)(e ? e : 1) - 150;
  return e ? f | 0x800000u : f;
}

static inline uint64_t cn_significand_f64(double a, int32_t *ret_exponent) {
  const uint64_t u = cn_bits_f64(a), e = u >> 52, f = u & UINT64_C(0xfffffffffffff);
  *ret_exponent = (int32_t)(e ? e : 1) - 1075;
  return e ? f | UINT64_C(0x10000000000000) : f;
}

/* x fmod y, sign of x: the exact remainder, by long division of the significands, 40 bits a step. */
static inline float cn_fmod_f32(float x, float y) {
  const float ax = cn_abs_f32(x), ay = cn_abs_f32(y);
  uint64_t r, d;
  int32_t ex, ey;
  if (!(ax < cn_inf_f32()) || !(ay > 0.0f)) return cn_nan_f32();
  if (ax < ay) return x;
  r = cn_significand_f32(ax, &ex);
  d = cn_significand_f32(ay, &ey);
  r %= d;
  for (ex -= ey; ex > 0 && r != 0; ex -= 40) r = (r << (ex < 40 ? ex : 40)) % d;
  return cn_copysign_f32(cn_scale_f32((float)r, (float)ey), x);
}

/* The same, 11 bits a step. */
static inline double cn_fmod_f64(double x, double y) {
  const double ax = cn_abs_f64(x), ay = cn_abs_f64(y);
  uint64_t r, d;
  int32_t ex, ey;
  if (!(ax < cn_inf_f64()) || !(ay > 0.0)) return cn_nan_f64();
  if (ax < ay) return x;
  r = cn_significand_f64(ax, &ex);
  d = cn_significand_f64(ay, &ey);
  r %= d;
  for (ex -= ey; ex > 0 && r != 0; ex -= 11) r = (r << (ex < 11 ? ex : 11)) % d;
  return cn_copysign_f64(cn_scale_f64((double)r, ey), x);
}

/* Sign of y, as in Python; -0 and 0 too (ONNX Mod 28). */
static inline float cn_mod_f32(float x, float y) {
  const float r = cn_fmod_f32(x, y);
  if (r == 0.0f) return cn_copysign_f32(r, y);
  return (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

static inline double cn_mod_f64(double x, double y) {
  const double r = cn_fmod_f64(x, y);
  if (r == 0.0) return cn_copysign_f64(r, y);
  return (r < 0.0) != (y < 0.0) ? r + y : r;
}

#endif
