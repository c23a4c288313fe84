/* SPDX-License-Identifier: MIT-0 */
/* Hyperbolic functions and their inverses. */
#ifndef CN_SCALAR_HYPERBOLIC_H
#define CN_SCALAR_HYPERBOLIC_H

#include <stdint.h>

/* Hyperbolic functions by expm1 and log1p, which keep small arguments exact. */
static inline double cn_tanh_f64(double x) {
  const double a = cn_abs_f64(x);
  const double t = cn_expm1_f64(2.0 * (a < 22.0 ? a : 22.0));
  const double y = t / (t + 2.0);
  return x == x ? cn_copysign_f64(y, x) : x;
}

static inline double cn_sinh_f64(double x) {
  const double a = cn_abs_f64(x);
  const double t = cn_expm1_f64(a < 30.0 ? a : 30.0);
  const double small = 0.5 * (t + t / (t + 1.0));
  return cn_copysign_f64(a < 30.0 ? small : cn_exp_scaled_f64(a, -1.0), x);
}

static inline double cn_cosh_f64(double x) {
  const double h = cn_exp_scaled_f64(cn_abs_f64(x), -1.0);
  return h + 0.25 / h;
}

static inline double cn_asinh_f64(double x) {
  const double a = cn_abs_f64(x), big = 0x1p28;
  const double b = a < big ? a : big, z = b * b;
  const double small = cn_log1p_f64(b + z / (1.0 + cn_sqrt_f64(z + 1.0)));
  const double large = cn_log_f64(a) + 0x1.62e42fefa39efp-1;
  return cn_copysign_f64(a < big ? small : large, x);
}

static inline double cn_acosh_f64(double x) {
  const double t = (x < 0x1p28 ? x : 0x1p28) - 1.0;
  const double small = cn_log1p_f64(t + cn_sqrt_f64(2.0 * t + t * t));
  const double large = cn_log_f64(x) + 0x1.62e42fefa39efp-1;
  return x < 0x1p28 ? small : large;
}

static inline double cn_atanh_f64(double x) {
  const double a = cn_abs_f64(x);
  return cn_copysign_f64(0.5 * cn_log1p_f64(2.0 * a / (1.0 - a)), x);
}

#endif
