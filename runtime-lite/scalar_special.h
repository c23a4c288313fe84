/* SPDX-License-Identifier: MIT-0 */
/* Sigmoids, error function and what is made of them. */
#ifndef CN_SCALAR_SPECIAL_H
#define CN_SCALAR_SPECIAL_H

#include <stdint.h>

/* 1 / (1 + e^-x), by the exponential that cannot overflow */
static inline double cn_sigmoid_f64(double x) {
  const double e = cn_exp_f64(-cn_abs_f64(x));
  const double y = (x < 0.0 ? e : 1.0) / (1.0 + e);
  return x == x ? y : x;
}

/* log(1 + e^x) */
static inline double cn_softplus_f64(double x) { return cn_max_f64(x, 0.0) + cn_log1p_f64(cn_exp_f64(-cn_abs_f64(x))); }

static inline double cn_softsign_f64(double x) {
  const double a = cn_abs_f64(x);
  return a < 0x1p60 ? x / (1.0 + a) : cn_copysign_f64(x == x ? 1.0 : x, x);
}

/* x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2) */
static inline double cn_mish_f64(double x) {
  const double low = x > -800.0 ? x : -800.0;
  const double e = cn_exp_f64(low < 40.0 ? low : 40.0);
  const double n = e * (e + 2.0);
  const double y = low * (n / (n + 2.0));
  return x < 40.0 ? y : x;
}

/* e^(a^2) erfc(a) for 0 <= a < 28: a minimax polynomial of (a - 3) / (a + 3), over 1 + 2 a */
static inline double cn_erfcx_f64(double a) {
  const double t = (a - 3.0) / (a + 3.0);
  double p = -0x1.0ed94d2795cccp-30;
  p = p * t - 0x1.b194b14a9f3d7p-28;
  p = p * t - 0x1.9d1aece4b0fb7p-28;
  p = p * t + 0x1.5bf5d3b02a829p-25;
  p = p * t + 0x1.82cf1ed8720a8p-24;
  p = p * t - 0x1.332b77651b439p-23;
  p = p * t - 0x1.453659416e73ep-21;
  p = p * t + 0x1.822a8ee47b587p-22;
  p = p * t + 0x1.d135b1eada068p-19;
  p = p * t - 0x1.89d2cb797f65ap-21;
  p = p * t - 0x1.5130ee9a8663cp-16;
  p = p * t + 0x1.4c35d1c901b5dp-18;
  p = p * t + 0x1.0659e0fb1fdc4p-13;
  p = p * t - 0x1.b912b1e76141p-14;
  p = p * t - 0x1.98db4d7838af2p-11;
  p = p * t + 0x1.ef1bddd08529ap-10;
  p = p * t + 0x1.4b884e2c5772p-9;
  p = p * t - 0x1.8574c40c7ef05p-6;
  p = p * t + 0x1.17ca2877fc0b1p-4;
  p = p * t - 0x1.e88b803a47646p-4;
  p = p * t + 0x1.098366a5b446p-3;
  p = p * t - 0x1.85a15c58aa6b7p-5;
  p = p * t - 0x1.15c084bb9e8eep-3;
  p = p * t + 0x1.40c522d7e4987p+0;
  return p / (1.0 + 2.0 * a);
}

/* e^(-a^2 s) for s = 1 or 1/2: the square in two parts, since rounding it would show in the result. */
static inline double cn_exp_square_f64(double a, double s) {
  const double h = cn_from_bits_f64(cn_bits_f64(a) & UINT64_C(0xfffffffff8000000));
  const double low = (a - h) * (a + h) * s;
  const double e = cn_exp_f64(-(h * h) * s);
  return e - e * (low - 0.5 * low * low);
}

static inline double cn_erf_f64(double x) {
  const double a = cn_abs_f64(x), z = x * x;
  const double b = a < 7.0 ? a : 7.0;
  const double large = 1.0 - cn_exp_square_f64(b, 1.0) * cn_erfcx_f64(b);
  double p = -0x1.2905db202dcbbp-38;
  p = p * z + 0x1.7ebe3ed236acep-34;
  p = p * z - 0x1.4e536e5b19cb2p-30;
  p = p * z + 0x1.fc409d84da27p-27;
  p = p * z - 0x1.5f6d637a5d30fp-23;
  p = p * z + 0x1.b9e64c59929a2p-20;
  p = p * z - 0x1.f4d255d6efa63p-17;
  p = p * z + 0x1.f9a326bf4c0bp-14;
  p = p * z - 0x1.c02db3fed613dp-11;
  p = p * z + 0x1.565bcd0e649ecp-8;
  p = p * z - 0x1.b82ce31288997p-6;
  p = p * z + 0x1.ce2f21a042bddp-4;
  p = p * z - 0x1.812746b0379e7p-2;
  p = p * z + 0x1.06eba8214db69p-3;
  return a < 1.0 ? x + x * p : x == x ? cn_copysign_f64(large, x) : x;
}

static inline double cn_erfc_f64(double x) {
  const double a = cn_abs_f64(x), b = a < 28.0 ? a : 28.0;
  const double large = cn_exp_square_f64(b, 1.0) * cn_erfcx_f64(b);
  const double y = x < 0.0 ? 2.0 - large : large;
  return x == x ? (a < 0.25 ? 1.0 - cn_erf_f64(x) : y) : x;
}

/* x (1 + erf(x / sqrt(2))) / 2, by erfc so that negative x keep their digits */
static inline double cn_gelu_f64(double x) {
  const double a = cn_abs_f64(x), b = a < 39.0 ? a : 39.0;
  const double tail = 0.5 * cn_exp_square_f64(b, 0.5) * cn_erfcx_f64(b * 0x1.6a09e667f3bcdp-1);
  const double y = x < 0.0 ? -b * tail : x * (1.0 - tail);
  return x == x ? y : x;
}

/* x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
static inline double cn_gelu_tanh_f64(double x) {
  const double low = x > -40.0 ? x : -40.0;
  const double b = low < 40.0 ? low : 40.0;
  const double y = cn_sigmoid_f64(0x1.9884533d43651p+0 * b * (1.0 + 0.044715 * b * b));
  return x == x ? (x < 40.0 ? b * y : x) : x;
}

#endif
