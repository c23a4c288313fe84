/* SPDX-License-Identifier: MIT-0 */
/* Logarithms. Method: x = 2^k m, log m by a minimax polynomial. */
#ifndef CN_SCALAR_LOG_H
#define CN_SCALAR_LOG_H

#include "base.h"
#include <stdint.h>

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), x a positive normal number */
CN_INLINE double cn_log_reduce_f64(double x, double *ret_k) {
  const uint64_t u = cn_bits_f64(x) + (UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
  *ret_k = (cn_from_bits_f64(u >> 52 | UINT64_C(0x4330000000000000)) - 0x1p52) - 1023.0;
  return cn_from_bits_f64((u & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
}

/* k ln 2 + log(1 + f) + c for 1 + f in [sqrt(1/2), sqrt(2)) and a tiny c, by 2 atanh(s), s = f / (2 + f) */
CN_INLINE double cn_log_sum_f64(double k, double f, double c) {
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double p = 0x1.0faf9f78b4b4fp-3;
  p = p * z + 0x1.0f56e056a19c2p-3;
  p = p * z + 0x1.3b20c8eb4fd09p-3;
  p = p * z + 0x1.745cdeb143892p-3;
  p = p * z + 0x1.c71c72526fab7p-3;
  p = p * z + 0x1.2492492436b3ep-2;
  p = p * z + 0x1.9999999999d02p-2;
  p = p * z + 0x1.5555555555555p-1;
  p = s * (half + z * p) + (k * 0x1.a39ef35793c76p-33 + c);
  return k * 0x1.62e42feep-1 + (f - (half - p));
}

CN_INLINE double cn_log_special_f64(double x, double y) {
  const double finite = cn_pick_f64(x > 0.0, y, cn_pick_f64(x == 0.0, -cn_inf_f64(), cn_nan_f64()));
  return cn_pick_f64(x < cn_inf_f64(), finite, x); /* infinity and NaN stay */
}

CN_INLINE double cn_log_f64(double x) {
  const int tiny = x < 0x1p-1022;
  double k;
  const double m = cn_log_reduce_f64(x * cn_pick_f64(tiny, 0x1p54, 1.0), &k);
  return cn_log_special_f64(x, cn_log_sum_f64(k - cn_pick_f64(tiny, 54.0, 0.0), m - 1.0, 0.0));
}

/* log(1 + x): c makes up for the rounding of 1 + x. */
CN_INLINE double cn_log1p_f64(double x) {
  const double u = 1.0 + x;
  const double big = cn_max_f64(x, 1.0), lost = cn_min_f64(x, 1.0) - (u - big);
  double k;
  const double m = cn_log_reduce_f64(u, &k);
  const double y = cn_log_sum_f64(k, m - 1.0, lost / u);
  return cn_pick_f64(cn_abs_f64(x) < 0x1p-54, x, cn_log_special_f64(u, y));
}

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), x a positive normal number */
CN_INLINE float cn_log_reduce_f32(float x, float *ret_k) {
  const uint32_t u = cn_bits_f32(x) + (0x3f800000u - 0x3f3504f3u);
  *ret_k = (float)((int32_t)(u >> 23) - 127);
  return cn_from_bits_f32((u & 0x7fffffu) + 0x3f3504f3u);
}

/* k ln 2 + log(1 + f) + c for 1 + f in [sqrt(1/2), sqrt(2)) and a tiny c, in two parts: k ln 2 and f are added without loss. */
CN_INLINE float cn_log_parts_f32(float k, float f, float c, float *ret_rest) {
  const float z = f * f, kl = k * 0x1.62e4p-1f, sum = kl + f;
  const float p0 = 0x1.55554ap-2f - 0x1.00022p-2f * f, p1 = 0x1.99a59ap-3f - 0x1.54788cp-3f * f;
  const float p2 = 0x1.226e5ep-3f - 0x1.0ce09ap-3f * f, p3 = 0x1.07d03ep-3f - 0x1.41eb88p-4f * f;
  const float p = (p0 + z * p1) + z * z * (p2 + z * p3); /* in pairs: a chain of multiplications and additions would be waited for */
  *ret_rest = (f * z * p + (k * 0x1.7f7d1cp-20f + c)) + (((kl - sum) + f) - 0.5f * z);
  return sum;
}

CN_INLINE float cn_log_f32(float x) {
  const int tiny = x < 0x1p-126f;
  float k;
  const float m = cn_log_reduce_f32(x * cn_pick_f32(tiny, 0x1p24f, 1.0f), &k);
  float rest;
  const float sum = cn_log_parts_f32(k - cn_pick_f32(tiny, 24.0f, 0.0f), m - 1.0f, 0.0f, &rest);
  const float finite = cn_pick_f32(x > 0.0f, sum + rest, cn_pick_f32(x == 0.0f, -cn_inf_f32(), cn_nan_f32()));
  return cn_pick_f32(x < cn_inf_f32(), finite, x); /* infinity and NaN stay */
}

/* log(1 + x): the third argument of cn_log_parts_f32 makes up for the rounding of u = 1 + x. */
CN_INLINE float cn_log1p_f32(float x) {
  const float u = 1.0f + x, lost = cn_min_f32(x, 1.0f) - (u - cn_max_f32(x, 1.0f));
  float k, rest;
  const float m = cn_log_reduce_f32(u, &k), sum = cn_log_parts_f32(k, m - 1.0f, lost / u, &rest);
  const float finite = cn_pick_f32(x > -1.0f, sum + rest, cn_pick_f32(x == -1.0f, -cn_inf_f32(), cn_nan_f32()));
  return cn_pick_f32((cn_abs_f32(x) < 0x1p-25f) + (x == cn_inf_f32()), x, finite);
}

#endif
