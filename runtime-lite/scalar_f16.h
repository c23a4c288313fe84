/* SPDX-License-Identifier: MIT-0 */
/* The 16-bit floats (bit patterns), and what all narrow floats share. */
#ifndef CN_SCALAR_F16_H
#define CN_SCALAR_F16_H

#include "base.h"
#include "scalar_float.h"
#include <stdint.h>

/* c ? a : b with c 0 or 1, without a branch */
CN_INLINE uint32_t cn_pick_u32(int c, uint32_t a, uint32_t b) {
  const uint32_t m = 0 - (uint32_t)c;
  return (a & m) | (b & ~m);
}

/* |x|, given by its bits, rounded to nearest even to a format of `m` stored significand bits and exponent bias `bias`: its
 * code without a sign, as if the exponent had no end (the caller handles overflow and NaN). */
CN_INLINE uint32_t cn_narrow_f32(uint32_t ax, uint32_t m, uint32_t bias) {
  const uint32_t drop = 23 - m;
  const uint32_t normal = (ax - ((127 - bias) << 23) + (((uint32_t)1 << (drop - 1)) - 1) + ((ax >> drop) & 1)) >> drop;
  const uint32_t magic = (151 - bias - m) << 23; /* its last place is the format's smallest subnormal */
  const uint32_t subnormal = cn_bits_f32(cn_from_bits_f32(ax) + cn_from_bits_f32(magic)) - magic;
  return cn_pick_u32(ax < ((128 - bias) << 23), subnormal, normal);
}

/* The value of such a code, infinities and NaN apart. */
CN_INLINE float cn_widen_f32(uint32_t code, uint32_t m, uint32_t bias) {
  const float normal = cn_from_bits_f32((code << (23 - m)) + ((127 - bias) << 23));
  const float subnormal = (float)(int32_t)code * cn_from_bits_f32((128 - bias - m) << 23);
  return cn_pick_f32(code >> m != 0, normal, subnormal);
}

CN_INLINE float cn_cast_f16_f32(uint16_t h) {
  const uint32_t code = h & 0x7fffu;
  const uint32_t u = cn_bits_f32(cn_widen_f32(code, 10, 15));
  return cn_from_bits_f32((u + cn_pick_u32(code < 0x7c00u, 0, 112u << 23)) | (uint32_t)(h & 0x8000u) << 16);
}

/* A NaN keeps what payload the format has room for, so that one that was widened comes back as it was. */
CN_INLINE uint16_t cn_cast_f32_f16(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 10, 15);
  const uint32_t finite = cn_pick_u32(ax < 0x47800000u, code, 0x7c00u);
  const uint32_t payload = (ax >> 13) & 0x3ffu, nan = 0x7c00u | payload | (uint32_t)(payload == 0) << 9;
  return (uint16_t)(cn_pick_u32(ax > 0x7f800000u, nan, finite) | (u >> 16 & 0x8000u));
}

CN_INLINE float cn_cast_bf16_f32(uint16_t h) { return cn_from_bits_f32((uint32_t)h << 16); }

CN_INLINE uint16_t cn_cast_f32_bf16(float x) {
  const uint32_t u = cn_bits_f32(x);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
  return (uint16_t)cn_pick_u32(x == x, rounded, u >> 16 | (uint32_t)((u & 0x7f0000u) == 0) << 6);
}

/* x rounded to f16, as f32 still: what widens again what was cast, but that a NaN becomes a quiet one, as those that arithmetic makes are. Adding 3/2 * 2^13 of x's power of two leaves no more digits than f16 has,
 * of its subnormals, too, whose power is that of its least normal number; scaling makes infinities of what is too large. */
CN_INLINE float cn_round_f16_f32(float x) {
  const uint32_t u = cn_bits_f32(x), e = u & 0x7f800000u;
  const uint32_t least = e < 113u << 23 ? 113u << 23 : e, power = least > 143u << 23 ? 143u << 23 : least;
  const float magic = cn_from_bits_f32(power + (13u << 23 | 1u << 22)), up = cn_from_bits_f32(239u << 23), down = cn_from_bits_f32(15u << 23);
  const float y = ((x + magic) - magic) * up * down;
  return cn_from_bits_f32((cn_bits_f32(y) & 0xffffe000u) | (u & 0x80000000u));
}

CN_INLINE float cn_round_bf16_f32(float x) {
  const uint32_t u = cn_bits_f32(x);
  return cn_from_bits_f32(cn_pick_u32(x == x, u + 0x7fffu + ((u >> 16) & 1), u | 1u << 22) & 0xffff0000u);
}

/* Rounded to odd: a later rounding to a much narrower format is then the rounding of x itself. */
CN_INLINE float cn_odd_f64_f32(double x) {
  const float y = (float)x;
  const double back = (double)y;
  const uint32_t u = cn_bits_f32(y);
  const int away = cn_abs_f64(back) > cn_abs_f64(x);
  const uint32_t down = u - (uint32_t)away; /* towards zero */
  return cn_from_bits_f32(back == x || x != x ? u : down | 1);
}

/* Rounded to odd: 53 bits kept, the last one sticky. */
CN_INLINE double cn_odd_u64_f64(uint64_t x) {
  const uint64_t sticky = (x & 0x7ff) != 0 ? 0x800 : 0;
  return (double)(x < UINT64_C(1) << 53 ? x : (x & ~UINT64_C(0x7ff)) | sticky);
}

CN_INLINE double cn_odd_s64_f64(int64_t x) {
  const double a = cn_odd_u64_f64(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
  return x < 0 ? -a : a;
}

#endif
