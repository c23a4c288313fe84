/* SPDX-License-Identifier: MIT-0 */
/* Hyperbolic functions and their inverses. */
#ifndef CN_SCALAR_HYPERBOLIC_H
#define CN_SCALAR_HYPERBOLIC_H

#include "base.h"
#include <stdint.h>

/* The polynomial of degree 7 of a table's part i, at a: the centres c, then the factors of 1, t, t^2 ... t^7 of a = c + t. */
CN_INLINE float cn_of_part_f32(const float (*c)[8], uint32_t i, float a) {
  const float t = a - c[0][i], t2 = t * t;
  const float slope = (c[2][i] + t * c[3][i]) + t2 * ((c[4][i] + t * c[5][i]) + t2 * ((c[6][i] + t * c[7][i]) + t2 * c[8][i]));
  return c[1][i] + t * slope;
}

/* tanh(c + t) less c + t below CN_TANH_EDGE, less that edge above it, for parts of 0 .. 9.02 that are the wider the flatter the function is: their centres c, then the
 * factors of 1, t, t^2 ... t^7, minimax, relative to the function. Each centre but 0 lies where the first factor is nearly a float, so that what it loses by
 * rounding does not count. Eight fill one register of AVX2. */
static const float cn_tanh_table[9][8] = {
    {0x0p+0f, 0x1.416cfep-1f, 0x1.4f558ap+0f, 0x1.08f2a2p+1f, 0x1.72a63cp+1f, 0x1.eff336p+1f, 0x1.46f53ep+2f, 0x1.d7fb2ap+2f},
    {0x0p+0f, -0x1.23e148p-4f, -0x1.89197ap-4f, 0x1.141b74p-7f, 0x1.13fc88p-5f, 0x1.3ece74p-5f, 0x1.45448cp-5f, 0x1.45dc1ap-5f},
    {0x0p+0f, -0x1.3d273ap-2f, 0x1.03255ap-2f, 0x1.f9a056p-5f, 0x1.8dd2c2p-7f, 0x1.c3a128p-10f, 0x1.32650ap-13f, 0x1.a5ae1ap-20f},
    {-0x1.52914ep-23f, -0x1.8960f2p-2f, -0x1.bfef08p-3f, -0x1.e9c592p-5f, -0x1.8b66cp-7f, -0x1.c33ee4p-10f, -0x1.3264f6p-13f, -0x1.ab0c1ap-20f},
    {-0x1.5552dp-2f, -0x1.0b1ea6p-6f, 0x1.acbbc4p-4f, 0x1.31defap-5f, 0x1.04627p-7f, 0x1.2c4f0cp-10f, 0x1.98753cp-14f, 0x1.1b1a38p-20f},
    {-0x1.95ae6cp-13f, 0x1.18ee96p-3f, -0x1.1f9242p-6f, -0x1.0a3426p-6f, -0x1.fbf24cp-9f, -0x1.2b0ad4p-11f, -0x1.973f7p-15f, -0x1.01cfbap-21f},
    {0x1.14a88ep-3f, -0x1.c5bfcp-5f, -0x1.cf4dap-7f, 0x1.31d638p-8f, 0x1.824d5cp-10f, 0x1.db6ccap-13f, 0x1.45d80ep-16f, 0x1.ac1b12p-23f},
    {-0x1.f5f3e8p-8f, -0x1.8c4a3ap-6f, 0x1.ae4b8p-7f, -0x1.53f1f6p-12f, -0x1.d1b9eep-12f, -0x1.43d04p-14f, -0x1.d0a304p-18f, -0x1.a5e792p-24f},
    {-0x1.478888p-5f, 0x1.c6009ap-6f, -0x1.26ced4p-8f, -0x1.0e69dp-11f, 0x1.8f40fep-14f, 0x1.61e2c2p-16f, 0x1.05ffc6p-19f, 0x1.bed03ep-26f}};

/* The least float of the third part, where the second ends: below it a result is its argument and a little, which keeps the rounding of products out of it. */
#define CN_TANH_EDGE 0x1.eba224p-1f

/* Vectors look the factors up in registers (kernels/lanes_f32.h). */
CN_INLINE float cn_tanh_f32(float x) {
  const float a = cn_min_f32(cn_abs_f32(x), 9.0109377f), place = a * (1.65f - a * 0.0915f) + 0x1.8p23f; /* whose last bit is 1 */
  return cn_copysign_f32(cn_min_f32(a, CN_TANH_EDGE) + cn_of_part_f32(cn_tanh_table, cn_bits_f32(place) & 7u, a), x);
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
