/* SPDX-License-Identifier: MIT-0 */
/* Exponentials. Method: e^x = 2^k e^r with |r| <= ln 2 / 2 and a minimax polynomial for e^r. */
#ifndef CN_SCALAR_EXP_H
#define CN_SCALAR_EXP_H

#include "base.h"
#include <stdint.h>

/* r = x - k ln 2, |r| <= ln 2 / 2, for |x| < 2000; *ret_low is what rounding r left. */
CN_INLINE double cn_exp_reduce_f64(double x, double *ret_k, double *ret_low) {
  const double k = cn_rint_small_f64(x * 0x1.71547652b82fep+0);
  const double high = x - k * 0x1.62e42feep-1; /* 32 bits: the product is exact */
  const double low = k * 0x1.a39ef35793c76p-33;
  const double r = high - low;
  *ret_k = k;
  *ret_low = (high - r) - low;
  return r;
}

/* (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, minimax */
CN_INLINE double cn_exp_poly_f64(double r) {
  double p = 0x1.1e3c5da31a41bp-29;
  p = p * r + 0x1.af6c5fe60c753p-26;
  p = p * r + 0x1.27e5b547f2d79p-22;
  p = p * r + 0x1.71ddefdd5a9ep-19;
  p = p * r + 0x1.a01a0135d1513p-16;
  p = p * r + 0x1.a01a01b39891dp-13;
  p = p * r + 0x1.6c16c16c3081ap-10;
  p = p * r + 0x1.111111110ec1bp-7;
  p = p * r + 0x1.5555555555502p-5;
  p = p * r + 0x1.555555555555bp-3;
  p = p * r + 0x1p-1;
  return p;
}

/* e^x 2^scale, -1 <= scale <= 1 */
CN_INLINE double cn_exp_scaled_f64(double x, double scale) {
  const double in = cn_clip_f64(x, -750.0, 712.0);
  double k, c;
  const double r = cn_exp_reduce_f64(in, &k, &c);
  const double y = 1.0 + (r + (c + r * r * cn_exp_poly_f64(r)));
  return cn_scale_f64(y, k + scale);
}

CN_INLINE double cn_exp_f64(double x) { return cn_exp_scaled_f64(x, 0.0); }

/* e^x - 1 = 2^k ((1 - 2^-k) + (e^r - 1)) */
CN_INLINE double cn_expm1_f64(double x) {
  const double in = cn_clip_f64(x, -50.0, 712.0);
  double k, c;
  const double r = cn_exp_reduce_f64(in, &k, &c);
  const double q = c + (r * c + r * r * cn_exp_poly_f64(r));
  const double s = cn_pow2_f64(-cn_min_f64(k, 80.0));
  const double t = 1.0 - s;
  const double sum = t + r; /* |t| >= |r| or t is 0 */
  const double y = sum + (((t - sum) + r) + q);
  return cn_pick_f64(x == 0.0, x, cn_scale_f64(y, k));
}

/* x = k ln 2 + high - *ret_low with |high| <= 0.35, for |x| < 120; high is exact. A NaN stays one in all three. */
CN_INLINE float cn_exp_reduce_f32(float x, float *ret_k, float *ret_low) {
  const float k = cn_rint_small_f32(x * 0x1.715476p+0f);
  *ret_k = k;
  *ret_low = k * 0x1.7f7d1cp-20f;
  return x - k * 0x1.62e4p-1f; /* 15 bits: the product is exact */
}

/* (e^r - 1 - r) / r^2, minimax on |r| <= ln 2 / 2, weighted by e^r */
CN_INLINE float cn_exp_poly_f32(float r) {
  const float r2 = r * r;
  return (0x1.fffffcp-2f + r * 0x1.55549p-3f) + r2 * ((0x1.5558dp-5f + r * 0x1.123b0ep-7f) + r2 * 0x1.6a21d6p-10f);
}

CN_INLINE float cn_exp_f32(float x) {
  float k, low;
  const float high = cn_exp_reduce_f32(cn_clip_f32(x, -104.0f, 89.0f), &k, &low);
  const float r = high - low;
  return cn_scale_f32(1.0f + (high + (r * r * cn_exp_poly_f32(r) - low)), k);
}

/* (e^r - 1 - r - r^2 / 2) / r^3 on the same interval, for differences that cancel */
CN_INLINE float cn_expm1_poly_f32(float r) {
  float p = 0x1.a17f64p-13f;
  p = p * r + 0x1.6da926p-10f;
  p = p * r + 0x1.11119ap-7f;
  p = p * r + 0x1.55549cp-5f;
  p = p * r + 0x1.555554p-3f;
  return p;
}

/* e^x - 1 = 2^k ((1 - 2^-k) + (e^r - 1)); r^2 / 2 without the rounding of r^2, since it counts where the first bracket cancels r. */
CN_INLINE float cn_expm1_f32(float x) {
  float k, low;
  const float high = cn_exp_reduce_f32(cn_clip_f32(x, -18.0f, 89.0f), &k, &low);
  const float r = high - low, head = cn_from_bits_f32(cn_bits_f32(r) & 0xfffff000u);
  const float square = 0.5f * head * head, rest = 0.5f * (r - head) * (r + head); /* the first is exact */
  const float s = cn_pow2_f32(-cn_min_f32(k, 30.0f)), u = 1.0f - s;
  const float n = u + high, nl = ((u - n) + high) + (square + ((r * r * r * cn_expm1_poly_f32(r) + (rest - low)) + ((1.0f - u) - s)));
  return cn_pick_f32(x == 0.0f, x, cn_scale_f32(n + nl, k));
}

/* e^x in f64 with the accuracy that a result in f32 needs, |x| <= 700 */
CN_INLINE double cn_exp_short_f64(double x) {
  const double k = cn_rint_small_f64(x * 0x1.71547652b82fep+0);
  const double r = x - k * 0x1.62e42fefa39efp-1;
  double p = 0x1.a17eaca33fb37p-13;
  p = p * r + 0x1.6da824f6456d1p-10;
  p = p * r + 0x1.1110ab1173787p-7;
  p = p * r + 0x1.55546fbbdbef8p-5;
  p = p * r + 0x1.5555557459f8p-3;
  p = p * r + 0x1.00000045d321cp-1;
  return (1.0 + (r + r * r * p)) * cn_pow2_f64(k);
}

#endif
