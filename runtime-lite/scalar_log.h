/* SPDX-License-Identifier: MIT-0 */
/* Logarithms. Method: x = 2^k m, log m by a minimax polynomial of (m - 1) / (m + 1). */
#ifndef CN_SCALAR_LOG_H
#define CN_SCALAR_LOG_H

#include <stdint.h>

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), x a positive normal number */
static inline double cn_log_reduce_f64(double x, double *ret_k) {
  const uint64_t u = cn_bits_f64(x) + (UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
  *ret_k = (cn_from_bits_f64(u >> 52 | UINT64_C(0x4330000000000000)) - 0x1p52) - 1023.0;
  return cn_from_bits_f64((u & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
}

/* k ln 2 + log(1 + f) + c for 1 + f in [sqrt(1/2), sqrt(2)) and a tiny c, by 2 atanh(s), s = f / (2 + f) */
static inline double cn_log_sum_f64(double k, double f, double c) {
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

static inline double cn_log_special_f64(double x, double y) {
  const double finite = x > 0.0 ? y : x == 0.0 ? -cn_inf_f64() : cn_nan_f64();
  return x < cn_inf_f64() ? finite : x; /* infinity and NaN stay */
}

static inline double cn_log_f64(double x) {
  const int tiny = x < 0x1p-1022;
  double k;
  const double m = cn_log_reduce_f64(tiny ? x * 0x1p54 : x, &k);
  return cn_log_special_f64(x, cn_log_sum_f64(tiny ? k - 54.0 : k, m - 1.0, 0.0));
}

/* log(1 + x): c makes up for the rounding of 1 + x. */
static inline double cn_log1p_f64(double x) {
  const double u = 1.0 + x;
  const double lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  double k;
  const double m = cn_log_reduce_f64(u, &k);
  const double y = cn_log_sum_f64(k, k == 0.0 ? (m - 1.0) : m - 1.0, u > 0.0 ? lost / u : 0.0);
  const double special = cn_log_special_f64(u, y);
  return x == 0.0 || cn_abs_f64(x) < 0x1p-54 ? x : special;
}

#endif
