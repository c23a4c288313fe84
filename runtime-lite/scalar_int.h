/* SPDX-License-Identifier: MIT-0 */
/* Integer arithmetic: total, the same on every machine. */
#ifndef CN_SCALAR_INT_H
#define CN_SCALAR_INT_H

#include <stdint.h>

/* Sums, differences and products wrap: computed unsigned, where C defines it. */
static inline int8_t cn_add_s8(int8_t a, int8_t b) { return (int8_t)((uint32_t)a + (uint32_t)b); }

static inline int16_t cn_add_s16(int16_t a, int16_t b) { return (int16_t)((uint32_t)a + (uint32_t)b); }

static inline int32_t cn_add_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

static inline int64_t cn_add_s64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static inline uint8_t cn_add_u8(uint8_t a, uint8_t b) { return (uint8_t)((uint32_t)a + (uint32_t)b); }

static inline uint16_t cn_add_u16(uint16_t a, uint16_t b) { return (uint16_t)((uint32_t)a + (uint32_t)b); }

static inline uint32_t cn_add_u32(uint32_t a, uint32_t b) { return a + b; }

static inline uint64_t cn_add_u64(uint64_t a, uint64_t b) { return a + b; }

static inline int8_t cn_sub_s8(int8_t a, int8_t b) { return (int8_t)((uint32_t)a - (uint32_t)b); }

static inline int16_t cn_sub_s16(int16_t a, int16_t b) { return (int16_t)((uint32_t)a - (uint32_t)b); }

static inline int32_t cn_sub_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }

static inline int64_t cn_sub_s64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static inline uint8_t cn_sub_u8(uint8_t a, uint8_t b) { return (uint8_t)((uint32_t)a - (uint32_t)b); }

static inline uint16_t cn_sub_u16(uint16_t a, uint16_t b) { return (uint16_t)((uint32_t)a - (uint32_t)b); }

static inline uint32_t cn_sub_u32(uint32_t a, uint32_t b) { return a - b; }

static inline uint64_t cn_sub_u64(uint64_t a, uint64_t b) { return a - b; }

static inline int8_t cn_mul_s8(int8_t a, int8_t b) { return (int8_t)((uint32_t)a * (uint32_t)b); }

static inline int16_t cn_mul_s16(int16_t a, int16_t b) { return (int16_t)((uint32_t)a * (uint32_t)b); }

static inline int32_t cn_mul_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }

static inline int64_t cn_mul_s64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static inline uint8_t cn_mul_u8(uint8_t a, uint8_t b) { return (uint8_t)((uint32_t)a * (uint32_t)b); }

static inline uint16_t cn_mul_u16(uint16_t a, uint16_t b) { return (uint16_t)((uint32_t)a * (uint32_t)b); }

static inline uint32_t cn_mul_u32(uint32_t a, uint32_t b) { return a * b; }

static inline uint64_t cn_mul_u64(uint64_t a, uint64_t b) { return a * b; }

/* The smallest value is its own negative. */
static inline int8_t cn_neg_s8(int8_t a) { return (int8_t)(0u - (uint32_t)a); }

static inline int16_t cn_neg_s16(int16_t a) { return (int16_t)(0u - (uint32_t)a); }

static inline int32_t cn_neg_s32(int32_t a) { return (int32_t)(0u - (uint32_t)a); }

static inline int64_t cn_neg_s64(int64_t a) { return (int64_t)(0u - (uint64_t)a); }

static inline uint8_t cn_neg_u8(uint8_t a) { return (uint8_t)(0u - (uint32_t)a); }

static inline uint16_t cn_neg_u16(uint16_t a) { return (uint16_t)(0u - (uint32_t)a); }

static inline uint32_t cn_neg_u32(uint32_t a) { return 0u - a; }

static inline uint64_t cn_neg_u64(uint64_t a) { return 0u - a; }

/* Whether integers of up to 32 bits are divided as floats: no processor has a division of vectors of integers, and a literal divisor compilers multiply by. */
#if defined(__GNUC__) && (defined(__SSE2__) || defined(__aarch64__))
#define CN_DIVIDES_FLOATS(b) (!__builtin_constant_p(b))
#else
#define CN_DIVIDES_FLOATS(b) 0
#endif

/* a / b rounded to zero, b other than 0 and, of 32 bits, -1. A quotient that is not whole is 1 / |b| away from the next one that is, a part of 1 / |a| of it
 * at least, and a float with more bits than a is rounded to something nearer. */
static inline int32_t cn_quotient_s16(int32_t a, int32_t b) { return CN_DIVIDES_FLOATS(b) ? (int32_t)((float)a / (float)b) : a / b; }

static inline int32_t cn_quotient_s32(int32_t a, int32_t b) { return CN_DIVIDES_FLOATS(b) ? (int32_t)((double)a / (double)b) : a / b; }

/* b, or 1 for 0 and -1. No branches here and below: of loops that have some not every compiler makes vectors. */
static inline int32_t cn_divisor_s32(int32_t b) {
  const int32_t other = -((b == 0) | (b == -1));
  return (b & ~other) | (1 & other);
}

static inline uint32_t cn_quotient_u32(uint32_t a, uint32_t b) { return CN_DIVIDES_FLOATS(b) ? (uint32_t)((double)a / (double)b) : a / b; }

/* Quotient rounded to zero; x / 0 is 0, the smallest value / -1 wraps to itself. */
static inline int8_t cn_div_s8(int8_t a, int8_t b) { return (int8_t)(cn_quotient_s16(a, b + (b == 0)) & -(b != 0)); }

static inline int16_t cn_div_s16(int16_t a, int16_t b) { return (int16_t)(cn_quotient_s16(a, b + (b == 0)) & -(b != 0)); }

static inline uint8_t cn_div_u8(uint8_t a, uint8_t b) { return (uint8_t)(cn_quotient_s16(a, b + (b == 0)) & -(b != 0)); }

static inline uint16_t cn_div_u16(uint16_t a, uint16_t b) { return (uint16_t)(cn_quotient_s16(a, b + (b == 0)) & -(b != 0)); }

static inline int32_t cn_div_s32(int32_t a, int32_t b) {
  const uint32_t q = (uint32_t)cn_quotient_s32(a, cn_divisor_s32(b)), minus = 0u - (uint32_t)(b == -1);
  return (int32_t)(((q ^ minus) - minus) & (0u - (uint32_t)(b != 0)));
}

static inline int64_t cn_div_s64(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? cn_neg_s64(a) : a / b; }

static inline uint32_t cn_div_u32(uint32_t a, uint32_t b) { return cn_quotient_u32(a, b + (b == 0)) & (0u - (b != 0)); }

static inline uint64_t cn_div_u64(uint64_t a, uint64_t b) { return (uint64_t)(b == 0 ? 0 : a / b); }

/* Remainder with the sign of the dividend; x fmod 0 is 0. */
static inline int8_t cn_fmod_s8(int8_t a, int8_t b) { return (int8_t)(a - cn_quotient_s16(a, b + (b == 0)) * (b + (b == 0))); }

static inline int16_t cn_fmod_s16(int16_t a, int16_t b) { return (int16_t)(a - cn_quotient_s16(a, b + (b == 0)) * (b + (b == 0))); }

static inline uint8_t cn_fmod_u8(uint8_t a, uint8_t b) { return (uint8_t)(a - cn_quotient_s16(a, b + (b == 0)) * (b + (b == 0))); }

static inline uint16_t cn_fmod_u16(uint16_t a, uint16_t b) { return (uint16_t)(a - cn_quotient_s16(a, b + (b == 0)) * (b + (b == 0))); }

static inline int32_t cn_fmod_s32(int32_t a, int32_t b) {
  const int32_t d = cn_divisor_s32(b);
  return a - cn_quotient_s32(a, d) * d;
}

static inline int64_t cn_fmod_s64(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

static inline uint32_t cn_fmod_u32(uint32_t a, uint32_t b) {
  const uint32_t d = b + (b == 0);
  return a - cn_quotient_u32(a, d) * d;
}

static inline uint64_t cn_fmod_u64(uint64_t a, uint64_t b) { return (uint64_t)(b == 0 ? 0 : a % b); }

/* Remainder with the sign of the divisor, as in Python; x mod 0 is 0. */
static inline int8_t cn_mod_s8(int8_t a, int8_t b) {
  const int8_t r = cn_fmod_s8(a, b);
  return (int8_t)(r + (b & -((r != 0) & ((r ^ b) < 0))));
}

static inline int16_t cn_mod_s16(int16_t a, int16_t b) {
  const int16_t r = cn_fmod_s16(a, b);
  return (int16_t)(r + (b & -((r != 0) & ((r ^ b) < 0))));
}

static inline int32_t cn_mod_s32(int32_t a, int32_t b) {
  const int32_t r = cn_fmod_s32(a, b);
  return r + (b & -(int32_t)((r != 0) & ((r ^ b) < 0)));
}

static inline int64_t cn_mod_s64(int64_t a, int64_t b) {
  const int64_t r = cn_fmod_s64(a, b);
  return r + (b & -(int64_t)((r != 0) & ((r ^ b) < 0)));
}

static inline uint8_t cn_mod_u8(uint8_t a, uint8_t b) { return cn_fmod_u8(a, b); }

static inline uint16_t cn_mod_u16(uint16_t a, uint16_t b) { return cn_fmod_u16(a, b); }

static inline uint32_t cn_mod_u32(uint32_t a, uint32_t b) { return cn_fmod_u32(a, b); }

static inline uint64_t cn_mod_u64(uint64_t a, uint64_t b) { return cn_fmod_u64(a, b); }

static inline int8_t cn_min_s8(int8_t a, int8_t b) { return b < a ? b : a; }

static inline int16_t cn_min_s16(int16_t a, int16_t b) { return b < a ? b : a; }

static inline int32_t cn_min_s32(int32_t a, int32_t b) { return b < a ? b : a; }

static inline int64_t cn_min_s64(int64_t a, int64_t b) { return b < a ? b : a; }

static inline uint8_t cn_min_u8(uint8_t a, uint8_t b) { return b < a ? b : a; }

static inline uint16_t cn_min_u16(uint16_t a, uint16_t b) { return b < a ? b : a; }

static inline uint32_t cn_min_u32(uint32_t a, uint32_t b) { return b < a ? b : a; }

static inline uint64_t cn_min_u64(uint64_t a, uint64_t b) { return b < a ? b : a; }

static inline int8_t cn_max_s8(int8_t a, int8_t b) { return b > a ? b : a; }

static inline int16_t cn_max_s16(int16_t a, int16_t b) { return b > a ? b : a; }

static inline int32_t cn_max_s32(int32_t a, int32_t b) { return b > a ? b : a; }

static inline int64_t cn_max_s64(int64_t a, int64_t b) { return b > a ? b : a; }

static inline uint8_t cn_max_u8(uint8_t a, uint8_t b) { return b > a ? b : a; }

static inline uint16_t cn_max_u16(uint16_t a, uint16_t b) { return b > a ? b : a; }

static inline uint32_t cn_max_u32(uint32_t a, uint32_t b) { return b > a ? b : a; }

static inline uint64_t cn_max_u64(uint64_t a, uint64_t b) { return b > a ? b : a; }

/* ONNX Clip: hi wins when lo > hi. */
static inline int8_t cn_clip_s8(int8_t x, int8_t lo, int8_t hi) { return cn_min_s8(cn_max_s8(x, lo), hi); }

static inline int16_t cn_clip_s16(int16_t x, int16_t lo, int16_t hi) { return cn_min_s16(cn_max_s16(x, lo), hi); }

static inline int32_t cn_clip_s32(int32_t x, int32_t lo, int32_t hi) { return cn_min_s32(cn_max_s32(x, lo), hi); }

static inline int64_t cn_clip_s64(int64_t x, int64_t lo, int64_t hi) { return cn_min_s64(cn_max_s64(x, lo), hi); }

static inline uint8_t cn_clip_u8(uint8_t x, uint8_t lo, uint8_t hi) { return cn_min_u8(cn_max_u8(x, lo), hi); }

static inline uint16_t cn_clip_u16(uint16_t x, uint16_t lo, uint16_t hi) { return cn_min_u16(cn_max_u16(x, lo), hi); }

static inline uint32_t cn_clip_u32(uint32_t x, uint32_t lo, uint32_t hi) { return cn_min_u32(cn_max_u32(x, lo), hi); }

static inline uint64_t cn_clip_u64(uint64_t x, uint64_t lo, uint64_t hi) { return cn_min_u64(cn_max_u64(x, lo), hi); }

/* The smallest value is its own magnitude. */
static inline int8_t cn_abs_s8(int8_t a) { return a < 0 ? cn_neg_s8(a) : a; }

static inline int16_t cn_abs_s16(int16_t a) { return a < 0 ? cn_neg_s16(a) : a; }

static inline int32_t cn_abs_s32(int32_t a) { return a < 0 ? cn_neg_s32(a) : a; }

static inline int64_t cn_abs_s64(int64_t a) { return a < 0 ? cn_neg_s64(a) : a; }

static inline uint8_t cn_abs_u8(uint8_t a) { return a; }

static inline uint16_t cn_abs_u16(uint16_t a) { return a; }

static inline uint32_t cn_abs_u32(uint32_t a) { return a; }

static inline uint64_t cn_abs_u64(uint64_t a) { return a; }

static inline int8_t cn_sign_s8(int8_t a) { return (int8_t)((a > 0) - (a < 0)); }

static inline int16_t cn_sign_s16(int16_t a) { return (int16_t)((a > 0) - (a < 0)); }

static inline int32_t cn_sign_s32(int32_t a) { return (int32_t)((a > 0) - (a < 0)); }

static inline int64_t cn_sign_s64(int64_t a) { return (int64_t)((a > 0) - (a < 0)); }

static inline uint8_t cn_sign_u8(uint8_t a) { return a != 0; }

static inline uint16_t cn_sign_u16(uint16_t a) { return a != 0; }

static inline uint32_t cn_sign_u32(uint32_t a) { return a != 0; }

static inline uint64_t cn_sign_u64(uint64_t a) { return a != 0; }

/* Wraps. A negative exponent gives the quotient 1 / x^-y rounded to zero, with x / 0 = 0. */
static inline int8_t cn_pow_s8(int8_t x, int8_t y) {
  if (y < 0) return (int8_t)(x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0);
  uint32_t r = 1, base = (uint32_t)x, n = (uint32_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (int8_t)r;
}

static inline int16_t cn_pow_s16(int16_t x, int16_t y) {
  if (y < 0) return (int16_t)(x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0);
  uint32_t r = 1, base = (uint32_t)x, n = (uint32_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (int16_t)r;
}

static inline int32_t cn_pow_s32(int32_t x, int32_t y) {
  if (y < 0) return (int32_t)(x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0);
  uint32_t r = 1, base = (uint32_t)x, n = (uint32_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (int32_t)r;
}

static inline int64_t cn_pow_s64(int64_t x, int64_t y) {
  if (y < 0) return (int64_t)(x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0);
  uint64_t r = 1, base = (uint64_t)x, n = (uint64_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (int64_t)r;
}

static inline uint8_t cn_pow_u8(uint8_t x, uint8_t y) {
  uint32_t r = 1, base = (uint32_t)x, n = (uint32_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (uint8_t)r;
}

static inline uint16_t cn_pow_u16(uint16_t x, uint16_t y) {
  uint32_t r = 1, base = (uint32_t)x, n = (uint32_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (uint16_t)r;
}

static inline uint32_t cn_pow_u32(uint32_t x, uint32_t y) {
  uint32_t r = 1, base = (uint32_t)x, n = (uint32_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (uint32_t)r;
}

static inline uint64_t cn_pow_u64(uint64_t x, uint64_t y) {
  uint64_t r = 1, base = (uint64_t)x, n = (uint64_t)y;
  for (; n; n >>= 1) {
    if (n & 1) r *= base;
    base *= base;
  }
  return (uint64_t)r;
}

#endif
