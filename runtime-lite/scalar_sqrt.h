/* SPDX-License-Identifier: MIT-0 */
/* Square roots. */
#ifndef CN_SCALAR_SQRT_H
#define CN_SCALAR_SQRT_H

#include "base.h"
#include <stdint.h>

/* Portable square roots, rounded as IEEE 754 says: an estimate by Newton steps for 1 / sqrt, then the exact remainder of its
 * square in integers that may wrap, since the remainder is small. m 2^46 (f64: m 2^104) and y^2 are compared, m in [1, 4). f64 makes its estimate
 * good to the last place in floating-point numbers, since vector code converts none of 64 bits to integers. */
CN_INLINE float cn_sqrt_f32(float x) {
  const int tiny = x < 0x1p-126f;
  const uint32_t u = cn_bits_f32(x * cn_pick_f32(tiny, 0x1p24f, 1.0f));
  const uint32_t e = (u >> 23) + (tiny ? 127 - 24 : 127); /* exponent + 254 */
  const float m = cn_from_bits_f32((u & 0x7fffffu) | (127 + (e & 1)) << 23);
  const uint32_t wide = ((u & 0x7fffffu) | 0x800000u) << 23 << (e & 1);
  float r = cn_from_bits_f32(0x5f3759dfu - (cn_bits_f32(m) >> 1));
  r = r * (1.5f - 0.5f * m * r * r);
  r = r * (1.5f - 0.5f * m * r * r);
  r = r * (1.5f - 0.5f * m * r * r);
  int32_t y = (int32_t)(m * r * 0x1p23f);
  int32_t rest = (int32_t)(wide - (uint32_t)y * (uint32_t)y);
  y += (int32_t)((float)rest * r * 0x1p-24f);
  rest = (int32_t)(wide - (uint32_t)y * (uint32_t)y);
  y += rest > y;
  y -= rest <= -y;
  const float root = cn_from_bits_f32((uint32_t)y - 0x800000u + ((e >> 1) << 23));
  const float positive = cn_pick_f32(x < cn_inf_f32(), root, x);
  return cn_pick_f32(x > 0.0f, positive, cn_pick_f32(x == 0.0f, x, cn_nan_f32()));
}

CN_INLINE double cn_sqrt_f64(double x) {
  const int tiny = x < 0x1p-1022;
  const uint64_t u = cn_bits_f64(x * cn_pick_f64(tiny, 0x1p54, 1.0)), f = u & UINT64_C(0xfffffffffffff);
  const uint64_t e = (u >> 52) + (tiny ? 1023 - 54 : 1023); /* exponent + 2046 */
  const double m = cn_from_bits_f64(f | (1023 + (e & 1)) << 52);
  const uint64_t wide = (f | UINT64_C(0x10000000000000)) << 52 << (e & 1);
  double r = cn_from_bits_f64(UINT64_C(0x5fe6eb50c7b537a9) - (cn_bits_f64(m) >> 1));
  r = r * (1.5 - 0.5 * m * r * r);
  r = r * (1.5 - 0.5 * m * r * r);
  r = r * (1.5 - 0.5 * m * r * r);
  const double s = m * r, h = cn_from_bits_f64(cn_bits_f64(s) & UINT64_C(0xfffffffff8000000)), t = s - h;
  const double near = cn_clip_f64(s + 0.5 * r * (((m - h * h) - 2.0 * h * t) - t * t), 1.0, 0x1.fffffffffffffp+0);
  int64_t y = (int64_t)((cn_bits_f64(near) & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000));
  const int64_t rest = (int64_t)(wide - (uint64_t)y * (uint64_t)y);
  y += rest > y;
  y -= rest <= -y;
  const double root = cn_from_bits_f64((uint64_t)y - UINT64_C(0x10000000000000) + ((e >> 1) << 52));
  const double positive = cn_pick_f64(x < cn_inf_f64(), root, x);
  return cn_pick_f64(x > 0.0, positive, cn_pick_f64(x == 0.0, x, cn_nan_f64()));
}

/* 1 / sqrt(x) by x = m 4^k with m in [1/2, 2): for an estimate q of 12 bits, 1 - m q^2 = e is known nearly without loss from products of 12 bits
 * each, and 1 / sqrt(m) = q (1 - e)^(-1/2) with |e| < 2^-8. */
CN_INLINE float cn_rsqrt_f32(float x) {
  const int tiny = x < 0x1p-126f;
  const uint32_t u = cn_bits_f32(x * cn_pick_f32(tiny, 0x1p24f, 1.0f));
  const float m = cn_from_bits_f32((u & 0xffffffu) | 0x3f000000u);
  const float scale = cn_from_bits_f32(((tiny ? 127u + 63u + 12u : 127u + 63u) - (u >> 24)) << 23); /* 2^-k */
  const float r = cn_from_bits_f32(0x5f3759dfu - (cn_bits_f32(m) >> 1));
  const float q = cn_from_bits_f32((cn_bits_f32(r * (1.5f - 0.5f * m * r * r)) + 0x800u) & 0xfffff000u);
  const float s = q * q, sh = cn_from_bits_f32(cn_bits_f32(s) & 0xfffff000u), st = s - sh;
  const float h = cn_from_bits_f32(cn_bits_f32(m) & 0xfffff000u), t = m - h;
  const float e = ((1.0f - h * sh) - (h * st + t * sh)) - t * st;
  const float y = (q + q * (e * (0.5f + e * (0.375f + e * 0.3125f)))) * scale;
  const float positive = cn_pick_f32(x < cn_inf_f32(), y, 0.0f);
  return cn_pick_f32(x > 0.0f, positive, cn_pick_f32(x == 0.0f, cn_copysign_f32(cn_inf_f32(), x), cn_nan_f32()));
}

CN_INLINE double cn_rsqrt_f64(double x) { return 1.0 / cn_sqrt_f64(x); }

#endif
