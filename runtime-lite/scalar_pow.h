/* SPDX-License-Identifier: MIT-0 */
/* Powers. */
#ifndef CN_SCALAR_POW_H
#define CN_SCALAR_POW_H

#include "base.h"
#include <stdint.h>

/* What rounding p = a b left, for products that neither overflow nor underflow: the factors in halves of 26 and 27 bits. */
CN_INLINE double cn_mul_error_f64(double a, double b, double p) {
  const double ah = cn_from_bits_f64(cn_bits_f64(a) & UINT64_C(0xfffffffff8000000)), al = a - ah;
  const double bh = cn_from_bits_f64(cn_bits_f64(b) & UINT64_C(0xfffffffff8000000)), bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

/* log(x) for 0 < x < infinity as a sum of two, relative error about 2^-64 */
CN_INLINE double cn_log_double_f64(double x, double *ret_low) {
  const int tiny = x < 0x1p-1022;
  double k;
  const double f = cn_log_reduce_f64(x * cn_pick_f64(tiny, 0x1p54, 1.0), &k) - 1.0;
  const double kk = k - cn_pick_f64(tiny, 54.0, 0.0);
  const double d = 2.0 + f, dl = f - (d - 2.0);
  const double s = f / d, sd = s * d;
  const double sl = ((f - sd) - cn_mul_error_f64(s, d, sd) - s * dl) / d;
  const double z = s * s, zl = cn_mul_error_f64(s, s, z) + 2.0 * s * sl;
  double p = 0x1.ed717bb4acf47p-4;
  p = p * z + 0x1.dde690db4b453p-4;
  p = p * z + 0x1.1122b8abf5aa5p-3;
  p = p * z + 0x1.3b1354440aeaep-3;
  p = p * z + 0x1.745d186e66934p-3;
  p = p * z + 0x1.c71c71c4ee3f4p-3;
  p = p * z + 0x1.2492492493676p-2;
  p = p * z + 0x1.9999999999991p-2;
  const double w = z * p + 0x1.57ab5da408147p-55, c = 0x1.5555555555555p-1 + w, cl = (0x1.5555555555555p-1 - c) + w;
  const double t = z * c, tl = cn_mul_error_f64(z, c, t) + (z * cl + zl * c);
  const double u = s * t, ul = cn_mul_error_f64(s, t, u) + (s * tl + sl * t);
  const double h = 2.0 * s + u, hl = ((2.0 * s - h) + u) + (2.0 * sl + ul);
  const double kh = kk * 0x1.62e42feep-1, km = kk * 0x1.a39ef35792p-33; /* both exact */
  const double a = kh + h, al = (kh - a) + h;
  const double b = a + km, bl = (a - b) + km;
  const double low = (al + bl) + (hl + kk * 0x1.c7673007e5ed6p-73);
  *ret_low = low;
  return b;
}

/* The cases of C99's pow (Annex F): |x|^y is `power` where x is neither 0, 1 nor infinite and y is finite and not 0. */
CN_INLINE double cn_pow_special_f64(double x, double y, double power) {
  const double a = cn_abs_f64(x), ay = cn_abs_f64(y), inf = cn_inf_f64();
  const int whole = (cn_trunc_f64(ay) == ay) & (ay < inf), odd = whole & (cn_trunc_f64(0.5 * ay) != 0.5 * ay);
  const int grows = (a > 1.0) == (y > 0.0), limit = (a == 0.0) | (a == inf) | (ay == inf);
  const double edge = cn_pick_f64(grows, inf, 0.0);
  const double m = cn_pick_f64(a == 1.0, 1.0, cn_pick_f64(limit, edge, power));
  const double r = cn_pick_f64(odd, cn_copysign_f64(m, x), m);
  const int invalid = (x != x) | (y != y) | ((x < 0.0) & !whole & !limit);
  return cn_pick_f64((y == 0.0) | (x == 1.0), 1.0, cn_pick_f64(invalid, cn_nan_f64(), r));
}

CN_INLINE double cn_pow_f64(double x, double y) {
  const double a = cn_abs_f64(x);
  const double base = cn_pick_f64((a > 0.0) & (a < cn_inf_f64()), a, 1.0);
  const double e = cn_clip_f64(y, -0x1p64, 0x1p64);
  double low, k, c;
  const double high = cn_log_double_f64(base, &low);
  const double t = cn_clip_f64(e * high, -760.0, 720.0);
  const double tl = cn_pick_f64(t == e * high, cn_mul_error_f64(e, high, t) + e * low, 0.0);
  const double r = cn_exp_reduce_f64(t, &k, &c);
  const double q = r * r * cn_exp_poly_f64(r);
  const double p = 1.0 + (r + (c + (q + tl * (1.0 + (r + q)))));
  return cn_pow_special_f64(x, y, cn_scale_f64(p, k));
}

/* By a logarithm and an exponential in f64, whose errors stay below the rounding of the result. */
CN_INLINE float cn_pow_f32(float x, float y) {
  const double a = cn_abs_f64((double)x);
  const double base = cn_pick_f64((a > 0.0) & (a < cn_inf_f64()), a, 1.0);
  double k;
  const double m = cn_log_reduce_f64(base, &k);
  const double t = (double)y * cn_log_sum_f64(k, m - 1.0, 0.0);
  return (float)cn_pow_special_f64((double)x, (double)y, cn_exp_short_f64(cn_clip_f64(t, -700.0, 700.0)));
}

#endif
