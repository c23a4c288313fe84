/* SPDX-License-Identifier: MIT-0 */
/* Inverse trigonometric functions. */
#ifndef CN_SCALAR_ARC_H
#define CN_SCALAR_ARC_H

#include "base.h"
#include <stdint.h>

/* (asin(x) - x) / x^3 of z = x^2 on |x| <= 1/2, minimax, weighted by z */
CN_INLINE float cn_asin_poly_f32(float z) {
  const float z2 = z * z;
  return (0x1.5555cap-3f + z * 0x1.33014ep-4f) + z2 * ((0x1.748c64p-5f + z * 0x1.8ba262p-6f) + z2 * 0x1.59dacp-5f);
}

/* sqrt(z) as *ret_head, 12 bits, and what it lacks, for z = 0 or 2^-26 <= z <= 1/4: 1 / sqrt(z) by an estimate of its bits and two Newton steps. */
CN_INLINE float cn_root_rest_f32(float z, float *ret_head) {
  const float half = 0.5f * z;
  float r = cn_from_bits_f32(0x5f3759dfu - (cn_bits_f32(z) >> 1));
  r = r * (1.5f - half * r * r);
  r = r * (1.5f - half * r * r);
  const float h = cn_from_bits_f32(cn_bits_f32(z * r) & 0xfffff000u), by = 0.5f * r, d = (z - h * h) * by;
  *ret_head = h;
  return d + d * d * by;
}

/* Beyond 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). */
CN_INLINE float cn_asin_f32(float x) {
  const float a = cn_abs_f32(x), z = cn_pick_f32(a < 0.5f, a * a, 0.5f * (1.0f - a)), p = z * cn_asin_poly_f32(z);
  float h;
  const float c = cn_root_rest_f32(z, &h);
  const float d = 0x1.921fb6p+0f - 2.0f * h, lost = (0x1.921fb6p+0f - d) - 2.0f * h;
  const float large = d + (lost - (2.0f * (c + (h + c) * p) + 0x1.777a5cp-25f));
  return cn_pick_f32(a < 0.5f, x + x * p, cn_pick_f32(a <= 1.0f, cn_copysign_f32(large, x), cn_nan_f32()));
}

CN_INLINE float cn_acos_f32(float x) {
  const float a = cn_abs_f32(x), z = cn_pick_f32(a < 0.5f, a * a, 0.5f * (1.0f - a)), p = z * cn_asin_poly_f32(z);
  float h;
  const float c = cn_root_rest_f32(z, &h), rest = c + (h + c) * p;
  const float middle = 0x1.921fb6p+0f - (x + (0x1.777a5cp-25f + x * p));
  const float d = 0x1.921fb6p+0f - h, lost = (0x1.921fb6p+0f - d) - h;
  const float outer = cn_pick_f32(x < 0.0f, 2.0f * (d + (lost - (rest + 0x1.777a5cp-25f))), 2.0f * (h + rest));
  return cn_pick_f32(a < 0.5f, middle, cn_pick_f32(a <= 1.0f, outer, cn_nan_f32()));
}

/* (asin(x) - x) / x^3 of z = x^2 on |x| <= 1/2, minimax */
CN_INLINE double cn_asin_poly_f64(double z) {
  double p = 0x1.0c6d231522905p-5;
  p = p * z - 0x1.59b1f1803d5edp-6;
  p = p * z + 0x1.6344d806a27f3p-6;
  p = p * z + 0x1.ecbe6b3ce1d01p-9;
  p = p * z + 0x1.605e99f3be9e9p-7;
  p = p * z + 0x1.75c27cc9a9114p-7;
  p = p * z + 0x1.ca152d9aa2d88p-7;
  p = p * z + 0x1.1c4a82332a333p-6;
  p = p * z + 0x1.6e8bd4904dd11p-6;
  p = p * z + 0x1.f1c71b090bab4p-6;
  p = p * z + 0x1.6db6db70998dcp-5;
  p = p * z + 0x1.333333333071dp-4;
  p = p * z + 0x1.5555555555562p-3;
  return p;
}

CN_INLINE double cn_asin_f64(double x) {
  const double a = cn_abs_f64(x);
  const double z = cn_pick_f64(a < 0.5, a * a, 0.5 * (1.0 - a));
  const double p = z * cn_asin_poly_f64(z);
  const double s = cn_sqrt_f64(z);
  const double h = cn_from_bits_f64(cn_bits_f64(s) & UINT64_C(0xffffffff00000000)), c = (z - h * h) / (s + h);
  const double rest = 2.0 * s * p - (0x1.1a62633145c07p-54 - 2.0 * c);
  const double large = 0x1.921fb54442d18p-1 - (rest - (0x1.921fb54442d18p-1 - 2.0 * h));
  const double edge = cn_pick_f64(a == 1.0, cn_copysign_f64(0x1.921fb54442d18p+0, x), cn_nan_f64());
  return cn_pick_f64(a < 0.5, x + x * p, cn_pick_f64(a < 1.0, cn_copysign_f64(large, x), edge));
}

CN_INLINE double cn_acos_f64(double x) {
  const double a = cn_abs_f64(x);
  const double z = cn_pick_f64(a < 0.5, a * a, 0.5 * (1.0 - a));
  const double p = z * cn_asin_poly_f64(z);
  const double s = cn_sqrt_f64(z);
  const double h = cn_from_bits_f64(cn_bits_f64(s) & UINT64_C(0xffffffff00000000));
  const double c = (z - h * h) / (s + h + 0x1p-1000); /* 0 for z = 0 */
  const double middle = 0x1.921fb54442d18p+0 - (x - (0x1.1a62633145c07p-54 - x * p));
  const double right = 2.0 * (h + (c + s * p));
  const double left = 0x1.921fb54442d18p+1 - 2.0 * (s + (s * p - 0x1.1a62633145c07p-54));
  const double outer = cn_pick_f64(x < 0.0, left, right);
  return cn_pick_f64(a < 0.5, middle, cn_pick_f64(a <= 1.0, outer, cn_nan_f64()));
}

/* Reduced to |t| <= tan(pi/8) by atan(x) = pi/4 + atan((x - 1) / (x + 1)) and pi/2 - atan(1 / x). */
CN_INLINE double cn_atan_f64(double x) {
  const double a = cn_abs_f64(x);
  const int far = a > 0x1.3504f333f9de6p+1, mid = a > 0x1.a827999fcef32p-2; /* also when far */
  const double b = cn_min_f64(a, 0x1p60);
  const double n = cn_pick_f64(far, -1.0, b - cn_pick_f64(mid, 1.0, 0.0));
  const double d = cn_pick_f64(mid, b, 0.0) + cn_pick_f64(far, 0.0, 1.0);
  const double high = cn_pick_f64(far, 0x1.921fb54442d18p+0, cn_pick_f64(mid, 0x1.921fb54442d18p-1, 0.0));
  const double low = high * 0x1.678afae35cdd1p-55; /* what high lacks of pi/4 or pi/2 */
  const double t = n / d, z = t * t;
  double p = 0x1.ef026b6076cfdp-7;
  p = p * z - 0x1.11a81fd8c0c1ap-5;
  p = p * z + 0x1.70c3e5d0d228p-5;
  p = p * z - 0x1.ab7963c9478e3p-5;
  p = p * z + 0x1.e172830d8a6a3p-5;
  p = p * z - 0x1.110c8bf904456p-4;
  p = p * z + 0x1.3b13716e6b98fp-4;
  p = p * z - 0x1.745d14f46d074p-4;
  p = p * z + 0x1.c71c71b9ae684p-4;
  p = p * z - 0x1.249249247c566p-3;
  p = p * z + 0x1.9999999999781p-3;
  p = p * z - 0x1.5555555555555p-2;
  const double y = high + (t + (t * z * p + low));
  return cn_copysign_f64(y, x);
}

/* Angle of the point (x, y). */
CN_INLINE double cn_atan2_f64(double y, double x) {
  const double ax = cn_abs_f64(x), ay = cn_abs_f64(y);
  const double q = cn_pick_f64(ax == ay, cn_pick_f64(ax == 0.0, 0.0, 1.0), ay / ax);
  const double a = cn_atan_f64(q);
  const int left = (cn_bits_f64(x) >> 63) != 0;
  const double t = cn_pick_f64(left, 0x1.921fb54442d18p+1 - (a - 0x1.1a62633145c07p-53), a);
  return cn_pick_f64((x == x) & (y == y), cn_copysign_f64(t, y), cn_nan_f64());
}

#endif
