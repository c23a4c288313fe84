/* SPDX-License-Identifier: MIT-0 */
/* Floats: bits, arithmetic, order and rounding to integers. */
#ifndef CN_SCALAR_FLOAT_H
#define CN_SCALAR_FLOAT_H

#include <stdint.h>

/* The bits of a value, by union: the one form of type punning that C defines without calling memcpy. */
static inline uint32_t cn_bits_f32(float x) {
  union {
    float f;
    uint32_t u;
  } v;
  v.f = x;
  return v.u;
}

static inline uint64_t cn_bits_f64(double x) {
  union {
    double f;
    uint64_t u;
  } v;
  v.f = x;
  return v.u;
}

static inline float cn_from_bits_f32(uint32_t u) {
  union {
    uint32_t u;
    float f;
  } v;
  v.u = u;
  return v.f;
}

static inline double cn_from_bits_f64(uint64_t u) {
  union {
    uint64_t u;
    double f;
  } v;
  v.u = u;
  return v.f;
}

static inline float cn_nan_f32(void) { return cn_from_bits_f32(0x7fc00000u); }

static inline double cn_nan_f64(void) { return cn_from_bits_f64(UINT64_C(0x7ff8000000000000)); }

static inline float cn_inf_f32(void) { return cn_from_bits_f32(0x7f800000u); }

static inline double cn_inf_f64(void) { return cn_from_bits_f64(UINT64_C(0x7ff0000000000000)); }

static inline float cn_abs_f32(float x) { return cn_from_bits_f32(cn_bits_f32(x) & 0x7fffffffu); }

static inline double cn_abs_f64(double x) { return cn_from_bits_f64(cn_bits_f64(x) & UINT64_C(0x7fffffffffffffff)); }

/* c ? a : b with c 0 or 1, by bits: GCC, which keeps floating-point exceptions unless told otherwise, makes vector code
 * of no other form when a or b is a computed value. */
static inline float cn_pick_f32(int c, float a, float b) {
  const uint32_t m = 0 - (uint32_t)c;
  return cn_from_bits_f32((cn_bits_f32(a) & m) | (cn_bits_f32(b) & ~m));
}

static inline double cn_pick_f64(int c, double a, double b) {
  const uint64_t m = 0 - (uint64_t)c;
  return cn_from_bits_f64((cn_bits_f64(a) & m) | (cn_bits_f64(b) & ~m));
}

/* Magnitude of x, sign of s. */
static inline float cn_copysign_f32(float x, float s) {
  return cn_from_bits_f32((cn_bits_f32(x) & 0x7fffffffu) | (cn_bits_f32(s) & 0x80000000u));
}

static inline double cn_copysign_f64(double x, double s) {
  return cn_from_bits_f64((cn_bits_f64(x) & UINT64_C(0x7fffffffffffffff)) | (cn_bits_f64(s) & UINT64_C(0x8000000000000000)));
}

/* The integer nearest to x, ties to even, for |x| < 2^21. */
static inline float cn_rint_small_f32(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

static inline double cn_rint_small_f64(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* 2^k for an integer k, -126 <= k <= 127 */
static inline float cn_pow2_f32(float k) { return cn_from_bits_f32(cn_bits_f32(k + (0x1.8p23f + 127.0f)) << 23); }

/* 2^k for an integer k, -1022 <= k <= 1023 */
static inline double cn_pow2_f64(double k) { return cn_from_bits_f64(cn_bits_f64(k + (0x1.8p52 + 1023.0)) << 52); }

/* x 2^k with one rounding for an integer k: in two steps, of which the first is exact unless |x| is far from 1. u ends in k and twice the bias of
 * exponents, half and the rest of which are those of the two factors; what stands before is shifted out. */
static inline float cn_scale_f32(float x, float k) {
  const uint32_t u = cn_bits_f32(k + (0x1.8p23f + 254.0f)), h = u >> 1;
  return x * cn_from_bits_f32(h << 23) * cn_from_bits_f32((u - h) << 23);
}

static inline double cn_scale_f64(double x, double k) {
  const uint64_t u = cn_bits_f64(k + (0x1.8p52 + 2046.0)), h = u >> 1;
  return x * cn_from_bits_f64(h << 52) * cn_from_bits_f64((u - h) << 52);
}

static inline float cn_add_f32(float a, float b) { return a + b; }

static inline double cn_add_f64(double a, double b) { return a + b; }

static inline float cn_sub_f32(float a, float b) { return a - b; }

static inline double cn_sub_f64(double a, double b) { return a - b; }

static inline float cn_mul_f32(float a, float b) { return a * b; }

static inline double cn_mul_f64(double a, double b) { return a * b; }

static inline float cn_div_f32(float a, float b) { return a / b; }

static inline double cn_div_f64(double a, double b) { return a / b; }

/* Two roundings, of the product and of the sum, on every machine. */
static inline float cn_fma_f32(float a, float b, float c) {
  const float p = a * b;
  return p + c;
}

static inline double cn_fma_f64(double a, double b, double c) {
  const double p = a * b;
  return p + c;
}

static inline float cn_neg_f32(float x) { return -x; }

static inline double cn_neg_f64(double x) { return -x; }

static inline float cn_reciprocal_f32(float x) { return 1.0f / x; }

static inline double cn_reciprocal_f64(double x) { return 1.0 / x; }

/* A NaN wins whatever the order; of two zeros the first argument. Cheaper when b is a literal. */
static inline float cn_min_f32(float a, float b) { return cn_pick_f32(b == b, cn_pick_f32(b < a, b, a), b); }

static inline double cn_min_f64(double a, double b) { return cn_pick_f64(b == b, cn_pick_f64(b < a, b, a), b); }

static inline float cn_max_f32(float a, float b) { return cn_pick_f32(b == b, cn_pick_f32(b > a, b, a), b); }

static inline double cn_max_f64(double a, double b) { return cn_pick_f64(b == b, cn_pick_f64(b > a, b, a), b); }

/* x limited to lo .. hi. A NaN in x stays, one in a bound means no bound; hi wins when lo > hi, as in ONNX Clip. */
static inline float cn_clip_f32(float x, float lo, float hi) {
  const float m = cn_pick_f32(lo > x, lo, x);
  return cn_pick_f32(hi < m, hi, m);
}

static inline double cn_clip_f64(double x, double lo, double hi) {
  const double m = cn_pick_f64(lo > x, lo, x);
  return cn_pick_f64(hi < m, hi, m);
}

/* 0 for both zeros, NaN for NaN. */
static inline float cn_sign_f32(float x) {
  const float s = cn_pick_f32(x == 0.0f, 0.0f, cn_copysign_f32(1.0f, x));
  return cn_pick_f32(x == x, s, x);
}

static inline double cn_sign_f64(double x) {
  const double s = cn_pick_f64(x == 0.0, 0.0, cn_copysign_f64(1.0, x));
  return cn_pick_f64(x == x, s, x);
}

static inline uint8_t cn_isnan_f32(float x) { return x != x; }

static inline uint8_t cn_isnan_f64(double x) { return x != x; }

static inline uint8_t cn_isinf_f32(float x) { return cn_abs_f32(x) == cn_inf_f32(); }

static inline uint8_t cn_isinf_f64(double x) { return cn_abs_f64(x) == cn_inf_f64(); }

static inline uint8_t cn_isposinf_f32(float x) { return x == cn_inf_f32(); }

static inline uint8_t cn_isposinf_f64(double x) { return x == cn_inf_f64(); }

static inline uint8_t cn_isneginf_f32(float x) { return x == -cn_inf_f32(); }

static inline uint8_t cn_isneginf_f64(double x) { return x == -cn_inf_f64(); }

/* To the nearest integer, ties to even: adding 2^(digits) leaves no place for a fraction. Larger magnitudes are integers. */
static inline float cn_round_f32(float x) {
  const float a = cn_abs_f32(x);
  const float r = (a + 0x1p23f) - 0x1p23f;
  return cn_pick_f32(a < 0x1p23f, cn_copysign_f32(r, x), x);
}

static inline double cn_round_f64(double x) {
  const double a = cn_abs_f64(x);
  const double r = (a + 0x1p52) - 0x1p52;
  return cn_pick_f64(a < 0x1p52, cn_copysign_f64(r, x), x);
}

static inline float cn_floor_f32(float x) {
  const float r = cn_round_f32(x);
  return cn_copysign_f32(r - cn_pick_f32(r > x, 1.0f, 0.0f), x);
}

static inline double cn_floor_f64(double x) {
  const double r = cn_round_f64(x);
  return cn_copysign_f64(r - cn_pick_f64(r > x, 1.0, 0.0), x);
}

static inline float cn_ceil_f32(float x) {
  const float r = cn_round_f32(x);
  return cn_copysign_f32(r + cn_pick_f32(r < x, 1.0f, 0.0f), x);
}

static inline double cn_ceil_f64(double x) {
  const double r = cn_round_f64(x);
  return cn_copysign_f64(r + cn_pick_f64(r < x, 1.0, 0.0), x);
}

static inline float cn_trunc_f32(float x) {
  const float a = cn_abs_f32(x);
  const float r = cn_round_f32(a);
  return cn_copysign_f32(r - cn_pick_f32(r > a, 1.0f, 0.0f), x);
}

static inline double cn_trunc_f64(double x) {
  const double a = cn_abs_f64(x);
  const double r = cn_round_f64(a);
  return cn_copysign_f64(r - cn_pick_f64(r > a, 1.0, 0.0), x);
}

#endif
