/* SPDX-License-Identifier: MIT-0 */
/* Floats of 8, 6 and 4 bits (bit patterns). */
#ifndef CN_SCALAR_F8_H
#define CN_SCALAR_F8_H

#include "base.h"
#include <stdint.h>

/* a >= 0 with the sign that bit 7 of h says */
CN_INLINE float cn_sign_bit_f32(float a, uint8_t h) { return cn_from_bits_f32(cn_bits_f32(a) | (uint32_t)(h & 0x80u) << 24); }

/* f8e4m3fn, f8e5m2: to nearest even, beyond the largest value that value or, `_nosat`, infinity where there is one, else NaN.
 * The fnuz formats have neither infinities nor -0; their NaN is 0x80. */
CN_INLINE float cn_cast_f8e4m3fn_f32(uint8_t h) {
  const float a = cn_pick_f32((h & 0x7fu) == 0x7fu, cn_nan_f32(), cn_widen_f32(h & 0x7fu, 3, 7));
  return cn_sign_bit_f32(a, h);
}

CN_INLINE uint8_t cn_cast_f32_f8e4m3fn(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 3, 7);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7eu), code, 0x7eu);
  return (uint8_t)(cn_pick_u32(x == x, a, 0x7fu) | (u >> 24 & 0x80u));
}

CN_INLINE uint8_t cn_cast_f32_f8e4m3fn_nosat(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 3, 7);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7eu), code, 0x7fu);
  return (uint8_t)(cn_pick_u32(x == x, a, 0x7fu) | (u >> 24 & 0x80u));
}

CN_INLINE float cn_cast_f8e4m3fnuz_f32(uint8_t h) {
  const float a = cn_widen_f32(h & 0x7fu, 3, 8);
  return cn_pick_f32(h == 0x80u, cn_nan_f32(), cn_sign_bit_f32(a, h));
}

CN_INLINE uint8_t cn_cast_f32_f8e4m3fnuz(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 3, 8);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7fu), code, 0x7fu);
  const uint32_t sign = cn_pick_u32((a != 0) & (a != 0x80u), u >> 24 & 0x80u, 0);
  return (uint8_t)cn_pick_u32(x == x, a | sign, 0x80u);
}

CN_INLINE uint8_t cn_cast_f32_f8e4m3fnuz_nosat(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 3, 8);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7fu), code, 0x80u);
  const uint32_t sign = cn_pick_u32((a != 0) & (a != 0x80u), u >> 24 & 0x80u, 0);
  return (uint8_t)cn_pick_u32(x == x, a | sign, 0x80u);
}

CN_INLINE float cn_cast_f8e5m2_f32(uint8_t h) {
  const uint32_t code = h & 0x7fu;
  const float finite = cn_widen_f32(code, 2, 15);
  const float special = cn_from_bits_f32(0x7f800000u | (code & 3u) << 21); /* infinity, or a NaN with its payload */
  return cn_sign_bit_f32(cn_pick_f32(code < 0x7cu, finite, special), h);
}

/* A NaN of f8e5m2 with the payload that the bits of an f32's keep. */
CN_INLINE uint32_t cn_nan_f8e5m2(uint32_t u) {
  const uint32_t payload = u >> 21 & 3u;
  return 0x7cu | payload | (uint32_t)(payload == 0) << 1;
}

CN_INLINE uint8_t cn_cast_f32_f8e5m2(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 2, 15);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7bu), code, 0x7bu);
  return (uint8_t)(cn_pick_u32(x == x, a, cn_nan_f8e5m2(u)) | (u >> 24 & 0x80u));
}

CN_INLINE uint8_t cn_cast_f32_f8e5m2_nosat(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 2, 15);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7bu), code, 0x7cu);
  return (uint8_t)(cn_pick_u32(x == x, a, cn_nan_f8e5m2(u)) | (u >> 24 & 0x80u));
}

CN_INLINE float cn_cast_f8e5m2fnuz_f32(uint8_t h) {
  const float a = cn_widen_f32(h & 0x7fu, 2, 16);
  return cn_pick_f32(h == 0x80u, cn_nan_f32(), cn_sign_bit_f32(a, h));
}

CN_INLINE uint8_t cn_cast_f32_f8e5m2fnuz(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 2, 16);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7fu), code, 0x7fu);
  const uint32_t sign = cn_pick_u32((a != 0) & (a != 0x80u), u >> 24 & 0x80u, 0);
  return (uint8_t)cn_pick_u32(x == x, a | sign, 0x80u);
}

CN_INLINE uint8_t cn_cast_f32_f8e5m2fnuz_nosat(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t code = cn_narrow_f32(ax, 2, 16);
  const uint32_t a = cn_pick_u32((ax < 0x48000000u) & (code <= 0x7fu), code, 0x80u);
  const uint32_t sign = cn_pick_u32((a != 0) & (a != 0x80u), u >> 24 & 0x80u, 0);
  return (uint8_t)cn_pick_u32(x == x, a | sign, 0x80u);
}

/* A power of two, 2^(code - 127); 255 is NaN. */
CN_INLINE float cn_cast_f8e8m0_f32(uint8_t h) {
  const uint32_t u = h == 0 ? 0x400000u : (uint32_t)h << 23;
  return cn_from_bits_f32(h == 255 ? 0x7fc00000u : u);
}

/* |x| to the next power of two not below it; saturates at 2^-127 and 2^127. */
CN_INLINE uint8_t cn_cast_f32_f8e8m0(float x) {
  const uint32_t ax = cn_bits_f32(x) & 0x7fffffffu;
  const uint32_t up = ax <= 0x400000u ? 0 : ax < 0x800000u ? 1 : (ax + 0x7fffffu) >> 23;
  return (uint8_t)(x != x ? 255 : up < 254 ? up : 254);
}

/* NaN for what lies outside, zero too. */
CN_INLINE uint8_t cn_cast_f32_f8e8m0_nosat(float x) {
  const uint32_t ax = cn_bits_f32(x) & 0x7fffffffu;
  return ax < 0x400000u || ax > 0x7f000000u ? 255 : cn_cast_f32_f8e8m0(x);
}

/* x to the power of two towards zero, sign kept: before a cast to f8e8m0, its rounding mode "down". */
CN_INLINE float cn_pow2_down_f32(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t down = ax < 0x800000u ? (ax < 0x400000u ? ax : 0x400000u) : ax & 0x7f800000u;
  return cn_from_bits_f32(ax > 0x7f800000u ? u : down | (u & 0x80000000u));
}

/* x to the nearest power of two, ties away from zero: rounding mode "nearest". */
CN_INLINE float cn_pow2_nearest_f32(float x) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu;
  const uint32_t tiny = ax < 0x400000u ? ax : ax < 0x600000u ? 0x400000u : 0x800000u;
  const uint32_t near = ax < 0x800000u ? tiny : (ax + 0x400000u) & 0x7f800000u;
  return cn_from_bits_f32(ax > 0x7f800000u ? u : near | (u & 0x80000000u));
}

/* x as a code of m mantissa bits, to nearest even, its sign as the bit `sign`. Saturates, surely from the value on whose bits `beyond` is;
 * the format has no NaN: one gives -0, as in ONNX's own cases. */
CN_INLINE uint8_t cn_narrow_finite_f32(float x, uint32_t m, uint32_t bias, uint32_t beyond, uint32_t sign) {
  const uint32_t u = cn_bits_f32(x), ax = u & 0x7fffffffu, largest = sign - 1;
  const uint32_t code = cn_narrow_f32(ax, m, bias);
  const uint32_t a = cn_pick_u32((ax < beyond) & (code < largest), code, largest);
  return (uint8_t)cn_pick_u32(x == x, a | (u >> 31) * sign, sign);
}

/* Codes of 4 bits in a byte; the largest is 6. */
CN_INLINE uint8_t cn_cast_f32_f4e2m1(float x) { return cn_narrow_finite_f32(x, 1, 1, 0x41000000u, 8); }

CN_INLINE float cn_cast_f4e2m1_f32(uint8_t h) { return cn_sign_bit_f32(cn_widen_f32(h & 7u, 1, 1), (uint8_t)(h << 4)); }

/* Codes of 6 bits; the largest are 7.5 and 28. */
CN_INLINE uint8_t cn_cast_f32_f6e2m3(float x) { return cn_narrow_finite_f32(x, 3, 1, 0x41000000u, 32); }

CN_INLINE float cn_cast_f6e2m3_f32(uint8_t h) { return cn_sign_bit_f32(cn_widen_f32(h & 31u, 3, 1), (uint8_t)(h << 2)); }

CN_INLINE uint8_t cn_cast_f32_f6e3m2(float x) { return cn_narrow_finite_f32(x, 2, 3, 0x42000000u, 32); }

CN_INLINE float cn_cast_f6e3m2_f32(uint8_t h) { return cn_sign_bit_f32(cn_widen_f32(h & 31u, 2, 3), (uint8_t)(h << 2)); }

#endif
