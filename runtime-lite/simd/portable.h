/* SPDX-License-Identifier: MIT-0 */
/* Vectors of one lane in portable C99: what the layers simd/scalar.h and simd/small.h share. It is the contract of the other layers
 * and the oracle of their tests.
 *
 * _n variants touch the first n lanes in memory only (0 <= n <= lanes); loads fill the others with zero.
 * max(a, b) and min(a, b) give b where either is NaN, as x86 does; maxn lets NaN through from both sides. */
#ifndef CN_SIMD_PORTABLE_H
#define CN_SIMD_PORTABLE_H

#include "base.h"
#include "scalar_f16.h"
#include "scalar_float.h"
#include "scalar_sqrt.h"

#define CN_SIMD

/* Sums that a convolution over blocked channels keeps in registers; channels a turn of its loops, 1 or 4. */
#define CN_BLOCKED_F32_SUMS 4

#define CN_BLOCKED_F32_TURN 1

#define CN_VF32_LANES 1

typedef float cn_vf32;

CN_INLINE cn_vf32 cn_vf32_zero(void) { return 0.0f; }

CN_INLINE cn_vf32 cn_vf32_set1(float x) { return x; }

CN_INLINE cn_vf32 cn_vf32_load(const float *p) { return *p; }

CN_INLINE void cn_vf32_store(float *p, cn_vf32 v) { *p = v; }

/* Of each group of `width` lanes lane c in all its places: width is 1. */
CN_INLINE cn_vf32 cn_vf32_load_spread(const float *p, size_t width, size_t c) {
  (void)width;
  return p[c];
}

CN_INLINE cn_vf32 cn_vf32_load_n(const float *p, size_t n) { return n ? *p : 0.0f; }

CN_INLINE void cn_vf32_store_n(float *p, cn_vf32 v, size_t n) {
  if (n) *p = v;
}

/* Lane i of a, b and c at p[3 i] and behind it. */
CN_INLINE void cn_vf32_store3(float *p, cn_vf32 a, cn_vf32 b, cn_vf32 c) {
  p[0] = a;
  p[1] = b;
  p[2] = c;
}

/* p[0], p[2], p[4], ...: reads nothing after the last of them. */
CN_INLINE cn_vf32 cn_vf32_load_even(const float *p) { return *p; }

/* The first n of them, then zeros: reads nothing after the n-th. */
CN_INLINE cn_vf32 cn_vf32_load_even_n(const float *p, size_t n) { return n ? *p : 0.0f; }

/* The lanes lo .. hi; both at most the number of lanes. */
typedef int cn_vf32_lanes;

CN_INLINE cn_vf32_lanes cn_vf32_lanes_in(size_t lo, size_t hi) { return lo == 0 && hi != 0; }

/* Those lanes from p, which alone are read; zero in the others. */
CN_INLINE cn_vf32 cn_vf32_load_in(const float *p, cn_vf32_lanes in) { return in ? *p : 0.0f; }

/* Those lanes of v, the others of fill. */
CN_INLINE cn_vf32 cn_vf32_fill_out(cn_vf32 v, cn_vf32_lanes in, cn_vf32 fill) { return in ? v : fill; }

/* Of the lanes of a and then b: every second one from the first on, or from the second on. */
CN_INLINE cn_vf32 cn_vf32_even(cn_vf32 a, cn_vf32 b) { return (void)b, a; }

CN_INLINE cn_vf32 cn_vf32_odd(cn_vf32 a, cn_vf32 b) { return (void)a, b; }

/* The same lanes in an order that costs a layer less, which cn_vf32_unmix undoes. */
CN_INLINE cn_vf32 cn_vf32_even_mixed(cn_vf32 a, cn_vf32 b) { return cn_vf32_even(a, b); }

CN_INLINE cn_vf32 cn_vf32_odd_mixed(cn_vf32 a, cn_vf32 b) { return cn_vf32_odd(a, b); }

CN_INLINE cn_vf32 cn_vf32_unmix(cn_vf32 v) { return v; }

CN_INLINE cn_vf32 cn_vf32_add(cn_vf32 a, cn_vf32 b) { return a + b; }

CN_INLINE cn_vf32 cn_vf32_sub(cn_vf32 a, cn_vf32 b) { return a - b; }

CN_INLINE cn_vf32 cn_vf32_mul(cn_vf32 a, cn_vf32 b) { return a * b; }

CN_INLINE cn_vf32 cn_vf32_div(cn_vf32 a, cn_vf32 b) { return a / b; }

CN_INLINE cn_vf32 cn_vf32_sqrt(cn_vf32 a) { return cn_sqrt_f32(a); }

/* Floats of 16 bits; signalling NaNs may become quiet. */
CN_INLINE cn_vf32 cn_vf32_load_f16(const uint16_t *p) { return cn_cast_f16_f32(*p); }

CN_INLINE cn_vf32 cn_vf32_load_bf16(const uint16_t *p) { return cn_cast_bf16_f32(*p); }

/* Rounded to f16, and NaNs to quiet ones. */
CN_INLINE cn_vf32 cn_vf32_round_f16(cn_vf32 a) { return cn_round_f16_f32(a); }

/* a * b + c; with one rounding where the ISA has it, with two here. */
CN_INLINE cn_vf32 cn_vf32_fma(cn_vf32 a, cn_vf32 b, cn_vf32 c) { return a * b + c; }

CN_INLINE cn_vf32 cn_vf32_max(cn_vf32 a, cn_vf32 b) { return a > b ? a : b; }

CN_INLINE cn_vf32 cn_vf32_min(cn_vf32 a, cn_vf32 b) { return a < b ? a : b; }

CN_INLINE cn_vf32 cn_vf32_maxn(cn_vf32 a, cn_vf32 b) { return a > b || a != a ? a : b; }

/* k = a b to the nearest whole number, a tie to either, |k| < 2^21; *ret_pow2 = 2^k for k of -126 .. 127. Anything for others and NaN. The sum's
 * last bit counts ones, so that its low bits are the exponent of 2^k. */
CN_INLINE cn_vf32 cn_vf32_round_pow2(cn_vf32 a, cn_vf32 b, cn_vf32 *ret_pow2) {
  const float big = a * b + 12583039.0f; /* 1.5 * 2^23 + 127 */
  uint32_t bits;
  memcpy(&bits, &big, sizeof bits);
  bits <<= 23;
  memcpy(ret_pow2, &bits, sizeof bits);
  return big - 12583039.0f;
}

CN_INLINE cn_vf32 cn_vf32_abs(cn_vf32 v) { return cn_abs_f32(v); }

CN_INLINE cn_vf32 cn_vf32_copysign(cn_vf32 v, cn_vf32 sign) { return cn_copysign_f32(v, sign); }

/* Of 16 numbers those at the low four bits of each lane. */
CN_INLINE cn_vf32 cn_vf32_look_up(const float *table, cn_vf32 i) { return table[cn_bits_f32(i) & 15u]; }

/* Of 8 numbers those at the low three bits of each lane. */
CN_INLINE cn_vf32 cn_vf32_look_up8(const float *table, cn_vf32 i) { return table[cn_bits_f32(i) & 7u]; }

/* Whether a < b in some lane. */
CN_INLINE int cn_vf32_any_lt(cn_vf32 a, cn_vf32 b) { return a < b; }

/* v where a >= b or a is NaN, else 0. */
CN_INLINE cn_vf32 cn_vf32_keep_ge(cn_vf32 a, cn_vf32 b, cn_vf32 v) { return a < b ? 0.0f : v; }

/* Lanes are added pairwise at half distances: (0 + L/2), ..., in the same order on every run. */
CN_INLINE float cn_vf32_reduce_add(cn_vf32 v) { return v; }

CN_INLINE float cn_vf32_reduce_maxn(cn_vf32 v) { return v; }

/* Vectors of 32-bit integers. */
#define CN_VS32_LANES 1

typedef int32_t cn_vs32;

CN_INLINE cn_vs32 cn_vs32_zero(void) { return 0; }

CN_INLINE cn_vs32 cn_vs32_set1(int32_t x) { return x; }

CN_INLINE cn_vs32 cn_vs32_load(const int32_t *p) { return *p; }

CN_INLINE void cn_vs32_store(int32_t *p, cn_vs32 v) { *p = v; }

CN_INLINE cn_vs32 cn_vs32_load_n(const int32_t *p, size_t n) { return n ? *p : 0; }

CN_INLINE void cn_vs32_store_n(int32_t *p, cn_vs32 v, size_t n) {
  if (n) *p = v;
}

/* Wraps. */
CN_INLINE cn_vs32 cn_vs32_add(cn_vs32 a, cn_vs32 b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* v & m in the lanes where a > b, where a is NaN; v in the others. */
CN_INLINE cn_vs32 cn_vs32_and_gt(cn_vs32 v, cn_vs32 m, cn_vf32 a, cn_vf32 b) { return a > b ? v & m : v; }

CN_INLINE cn_vs32 cn_vs32_and_nan(cn_vs32 v, cn_vs32 m, cn_vf32 a) { return a != a ? v & m : v; }

/* The place of the lowest bit that is set, 0 .. 31; any of them where none is. */
CN_INLINE cn_vs32 cn_vs32_first_bit(cn_vs32 v) {
  int32_t at = 0;
  while (at < 31 && !((uint32_t)v >> at & 1)) at++;
  return at;
}

/* p[i]; in at32 i is 0 .. 31, in at2 of so many as two vectors have lanes, and p has as many. */
CN_INLINE cn_vf32 cn_vf32_at(const float *p, cn_vs32 i) { return p[i]; }

CN_INLINE cn_vf32 cn_vf32_at32(const float *p, cn_vs32 i) { return p[i]; }

CN_INLINE cn_vf32 cn_vf32_at2(const float *p, cn_vs32 i) { return p[i]; }

CN_INLINE int32_t cn_pair_low(int32_t x) { return (int16_t)(uint16_t)((uint32_t)x & 0xffffu); }

CN_INLINE int32_t cn_pair_high(int32_t x) { return (int16_t)(uint16_t)((uint32_t)x >> 16); }

/* Each lane of a and b holds two s16 (cn_pair_s16): acc + low * low + high * high, wrapping. |s16| <= 2^14 in one of them. */
CN_INLINE cn_vs32 cn_vs32_dot2(cn_vs32 a, cn_vs32 b, cn_vs32 acc) {
  return cn_vs32_add(acc, cn_pair_low(a) * cn_pair_low(b) + cn_pair_high(a) * cn_pair_high(b));
}

CN_INLINE cn_vf32 cn_vf32_from_s32(cn_vs32 v) { return (float)v; }

/* `bits` bits of each lane from bit `at` on, 4 or 8, literals, as a number. */
CN_INLINE cn_vf32 cn_vf32_from_bits(cn_vs32 v, unsigned at, unsigned bits) { return (float)((uint32_t)v >> at & ((1u << bits) - 1)); }

/* To the nearest integer, ties to even; |x| < 2^22. */
CN_INLINE cn_vs32 cn_vs32_round_f32(cn_vf32 x) { return (int32_t)((x + 12582912.0f) - 12582912.0f); }

/* The low byte of the first n lanes. */
CN_INLINE void cn_vs32_store_8_n(uint8_t *p, cn_vs32 v, size_t n) {
  if (n) *p = (uint8_t)((uint32_t)v & 0xffu);
}

/* Pairs of s16 (kernels/tile_s16.h) from bytes, each (byte ^ flip) - zero: flip 0x80 maps s8 to u8, 0 keeps u8; zero 0 .. 255.
 * Lane i: low[i], high[i]. */
CN_INLINE cn_vs32 cn_vs32_pair_8(const uint8_t *low, const uint8_t *high, uint32_t flip, int32_t zero) {
  const uint32_t l = (uint32_t)((int32_t)(*low ^ flip) - zero), h = (uint32_t)((int32_t)(*high ^ flip) - zero);
  return (int32_t)((l & 0xffffu) | h << 16);
}

/* The same from neighbours: lane i: p[2 i], p[2 i + 1]. */
CN_INLINE cn_vs32 cn_vs32_neighbours_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  return cn_vs32_pair_8(p, p + 1, flip, zero);
}

/* Elements of 32 bits from rows of narrower ones, side by side in memory: lane l is {a[l], b[l]} of 16 bits, or {a[l], b[l], c[l], d[l]} of 8. */
CN_INLINE cn_vf32 cn_vf32_zip_u16(const uint16_t *a, const uint16_t *b) {
  const uint16_t rows[2] = {*a, *b};
  cn_vf32 v;
  memcpy(&v, rows, sizeof v);
  return v;
}

CN_INLINE cn_vf32 cn_vf32_zip_u8(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
  const uint8_t rows[4] = {*a, *b, *c, *d};
  cn_vf32 v;
  memcpy(&v, rows, sizeof v);
  return v;
}

#endif
