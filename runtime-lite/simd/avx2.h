/* SPDX-License-Identifier: MIT-0 */
/* The SIMD layer on AVX2 and FMA: vectors of 256 bits. Contract: simd/portable.h. */
#ifndef CN_SIMD_AVX2_H
#define CN_SIMD_AVX2_H

#include "base.h"
#include <immintrin.h>

#define CN_SIMD __attribute__((target("avx2,fma,f16c")))

/* 6 x 16: twelve accumulators, two vectors of B, one broadcast of A: 15 of 16 registers (tiles: targets/x86-64-v3.def). */
#define CN_GEMM_F32_MR 6

#define CN_GEMM_F32_NR 16

#define CN_GEMM_F32_KC 256

#define CN_GEMM_F32_DEPTH 1024

#define CN_TILE_F32_TURN 4

#define CN_GEMM_F32_MC 192

#define CN_GEMM_F32_NC 128

#define CN_GEMM_S16_MR 4

#define CN_GEMM_S16_NR 16

/* Sums that a convolution over blocked channels keeps in registers. */
#define CN_BLOCKED_F32_SUMS 12

#define CN_BLOCKED_F32_TURN 4

#define CN_VF32_LANES 8

typedef __m256 cn_vf32;

CN_KERNEL cn_vf32 cn_vf32_zero(void) { return _mm256_setzero_ps(); }

CN_KERNEL cn_vf32 cn_vf32_set1(float x) { return _mm256_set1_ps(x); }

CN_KERNEL cn_vf32 cn_vf32_load(const float *p) { return _mm256_loadu_ps(p); }

CN_KERNEL void cn_vf32_store(float *p, cn_vf32 v) { _mm256_storeu_ps(p, v); }

/* Of each group of `width` lanes, a power of two, lane c in all its places. */
CN_KERNEL cn_vf32 cn_vf32_load_spread(const float *p, size_t width, size_t c) {
  const __m256i from = _mm256_and_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(-(int)width));
  return _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), _mm256_add_epi32(from, _mm256_set1_epi32((int)c)));
}

/* All bits set in the first n of eight 32-bit lanes. */
CN_KERNEL __m256i cn_avx2_mask(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CN_KERNEL __m128 cn_avx2_low(cn_vf32 v) { return _mm256_castps256_ps128(v); }

CN_KERNEL __m128 cn_avx2_high(cn_vf32 v) { return _mm256_extractf128_ps(v, 1); }

/* Literal halves and quarters by loads of just so much: one with a mask waits until a store to any of its lanes, also those that it leaves out, has reached the cache. */
CN_KERNEL cn_vf32 cn_vf32_load_n(const float *p, size_t n) {
  if (__builtin_constant_p(n) && n == 4) return _mm256_zextps128_ps256(_mm_loadu_ps(p));
  if (__builtin_constant_p(n) && n == 2) return _mm256_zextps128_ps256(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)p));
  return _mm256_maskload_ps(p, cn_avx2_mask(n));
}

/* By halves, since masked stores are microcoded on AMD. */
CN_KERNEL void cn_vf32_store_n(float *p, cn_vf32 v, size_t n) {
  __m128 x = cn_avx2_low(v);
  if (n >= 8) {
    _mm256_storeu_ps(p, v);
    return;
  }
  if (n & 4) {
    _mm_storeu_ps(p, x);
    x = cn_avx2_high(v);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi((__m64 *)(void *)p, x);
    x = _mm_movehl_ps(x, x);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, x);
}

/* Each lane to its place among four by shuffles, then the places of three vectors. */
CN_KERNEL void cn_vf32_store3(float *p, cn_vf32 a, cn_vf32 b, cn_vf32 c) {
  a = _mm256_permute_ps(a, 0x6c); /* 0 3 2 1 */
  b = _mm256_permute_ps(b, 0xb1); /* 1 0 3 2 */
  c = _mm256_permute_ps(c, 0xc6); /* 2 1 0 3 */
  const __m256 x = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x22), c, 0x44); /* a0 b0 c0 a1 | a4 b4 c4 a5 */
  const __m256 y = _mm256_blend_ps(_mm256_blend_ps(b, c, 0x22), a, 0x44); /* b1 c1 a2 b2 | b5 ... */
  const __m256 z = _mm256_blend_ps(_mm256_blend_ps(c, a, 0x22), b, 0x44); /* c2 a3 b3 c3 | c6 ... */
  _mm256_storeu_ps(p, _mm256_permute2f128_ps(x, y, 0x20));
  _mm256_storeu_ps(p + 8, _mm256_blend_ps(z, x, 0xf0));
  _mm256_storeu_ps(p + 16, _mm256_permute2f128_ps(y, z, 0x31));
}

/* The second load starts one lane early, so that it ends at p[14]. */
CN_KERNEL cn_vf32 cn_vf32_load_even(const float *p) {
  __m256 s = _mm256_shuffle_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 7), 0xd8); /* 0 2 8 10 | 4 6 12 14 */
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(s), 0xd8));
}

CN_KERNEL cn_vf32 cn_vf32_load_even_n(const float *p, size_t n) {
  const __m256 low = cn_vf32_load_n(p, n ? 2 * n - 1 : 0), high = cn_vf32_load_n(p + 7, n > 4 ? 2 * n - 8 : 0);
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(low, high, 0xd8)), 0xd8));
}

typedef __m256i cn_vf32_lanes;

CN_KERNEL cn_vf32_lanes cn_vf32_lanes_in(size_t lo, size_t hi) {
  return _mm256_andnot_si256(cn_avx2_mask(lo), cn_avx2_mask(hi));
}

CN_KERNEL cn_vf32 cn_vf32_load_in(const float *p, cn_vf32_lanes in) { return _mm256_maskload_ps(p, in); }

CN_KERNEL cn_vf32 cn_vf32_fill_out(cn_vf32 v, cn_vf32_lanes in, cn_vf32 fill) {
  return _mm256_blendv_ps(fill, v, _mm256_castsi256_ps(in));
}

CN_KERNEL cn_vf32 cn_vf32_even_mixed(cn_vf32 a, cn_vf32 b) { return _mm256_shuffle_ps(a, b, 0x88); }

CN_KERNEL cn_vf32 cn_vf32_odd_mixed(cn_vf32 a, cn_vf32 b) { return _mm256_shuffle_ps(a, b, 0xdd); }

CN_KERNEL cn_vf32 cn_vf32_unmix(cn_vf32 v) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8)); }

CN_KERNEL cn_vf32 cn_vf32_even(cn_vf32 a, cn_vf32 b) { return cn_vf32_unmix(cn_vf32_even_mixed(a, b)); }

CN_KERNEL cn_vf32 cn_vf32_odd(cn_vf32 a, cn_vf32 b) { return cn_vf32_unmix(cn_vf32_odd_mixed(a, b)); }

CN_KERNEL cn_vf32 cn_vf32_add(cn_vf32 a, cn_vf32 b) { return _mm256_add_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_sub(cn_vf32 a, cn_vf32 b) { return _mm256_sub_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_mul(cn_vf32 a, cn_vf32 b) { return _mm256_mul_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_div(cn_vf32 a, cn_vf32 b) { return _mm256_div_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_sqrt(cn_vf32 a) { return _mm256_sqrt_ps(a); }

CN_KERNEL cn_vf32 cn_vf32_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }

CN_KERNEL cn_vf32 cn_vf32_load_bf16(const uint16_t *p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16));
}

CN_KERNEL cn_vf32 cn_vf32_round_f16(cn_vf32 a) { return _mm256_cvtph_ps(_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT)); }

CN_KERNEL cn_vf32 cn_vf32_fma(cn_vf32 a, cn_vf32 b, cn_vf32 c) { return _mm256_fmadd_ps(a, b, c); }

CN_KERNEL cn_vf32 cn_vf32_max(cn_vf32 a, cn_vf32 b) { return _mm256_max_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_min(cn_vf32 a, cn_vf32 b) { return _mm256_min_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_maxn(cn_vf32 a, cn_vf32 b) {
  return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

CN_KERNEL cn_vf32 cn_vf32_round_pow2(cn_vf32 a, cn_vf32 b, cn_vf32 *ret_pow2) {
  const cn_vf32 shift = _mm256_set1_ps(12583039.0f), big = _mm256_fmadd_ps(a, b, shift);
  *ret_pow2 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(big), 23));
  return _mm256_sub_ps(big, shift);
}

CN_KERNEL cn_vf32 cn_vf32_abs(cn_vf32 v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v); }

CN_KERNEL cn_vf32 cn_vf32_copysign(cn_vf32 v, cn_vf32 sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_and_ps(bit, sign), _mm256_andnot_ps(bit, v));
}

/* Both halves of the table by the low three bits, of which the fourth chooses. */
CN_KERNEL cn_vf32 cn_vf32_look_up(const float *table, cn_vf32 i) {
  const __m256i at = _mm256_castps_si256(i);
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), at), high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), at);
  return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
}

CN_KERNEL cn_vf32 cn_vf32_look_up8(const float *table, cn_vf32 i) {
  return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), _mm256_castps_si256(i));
}

CN_KERNEL int cn_vf32_any_lt(cn_vf32 a, cn_vf32 b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)) != 0; }

CN_KERNEL cn_vf32 cn_vf32_keep_ge(cn_vf32 a, cn_vf32 b, cn_vf32 v) {
  return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ), v);
}

CN_KERNEL float cn_vf32_reduce_add(cn_vf32 v) {
  __m128 x = _mm_add_ps(cn_avx2_low(v), cn_avx2_high(v));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

CN_KERNEL float cn_vf32_reduce_maxn(cn_vf32 v) {
  v = cn_vf32_maxn(v, _mm256_permute2f128_ps(v, v, 1));
  v = cn_vf32_maxn(v, _mm256_permute_ps(v, 0x4e));
  v = cn_vf32_maxn(v, _mm256_permute_ps(v, 0xb1));
  return _mm_cvtss_f32(cn_avx2_low(v));
}

#define CN_VS32_LANES 8

typedef __m256i cn_vs32;

CN_KERNEL cn_vs32 cn_vs32_zero(void) { return _mm256_setzero_si256(); }

CN_KERNEL cn_vs32 cn_vs32_set1(int32_t x) { return _mm256_set1_epi32(x); }

CN_KERNEL cn_vs32 cn_vs32_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }

CN_KERNEL void cn_vs32_store(int32_t *p, cn_vs32 v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }

CN_KERNEL cn_vs32 cn_vs32_load_n(const int32_t *p, size_t n) { return _mm256_maskload_epi32(p, cn_avx2_mask(n)); }

CN_KERNEL void cn_vs32_store_n(int32_t *p, cn_vs32 v, size_t n) {
  cn_vf32_store_n((float *)(void *)p, _mm256_castsi256_ps(v), n);
}

CN_KERNEL cn_vs32 cn_vs32_add(cn_vs32 a, cn_vs32 b) { return _mm256_add_epi32(a, b); }

CN_KERNEL cn_vs32 cn_vs32_and_gt(cn_vs32 v, cn_vs32 m, cn_vf32 a, cn_vf32 b) {
  return _mm256_andnot_si256(_mm256_andnot_si256(m, _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ))), v);
}

CN_KERNEL cn_vs32 cn_vs32_and_nan(cn_vs32 v, cn_vs32 m, cn_vf32 a) {
  return _mm256_andnot_si256(_mm256_andnot_si256(m, _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q))), v);
}

/* The exponent of that bit alone as a float. */
CN_KERNEL cn_vs32 cn_vs32_first_bit(cn_vs32 v) {
  const __m256i bit = _mm256_and_si256(v, _mm256_sub_epi32(_mm256_setzero_si256(), v));
  const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(bit)), 23);
  return _mm256_and_si256(_mm256_sub_epi32(exponent, _mm256_set1_epi32(127)), _mm256_set1_epi32(31));
}

CN_KERNEL cn_vf32 cn_vf32_at(const float *p, cn_vs32 i) { return _mm256_i32gather_ps(p, i, 4); }

CN_KERNEL cn_vf32 cn_vf32_at2(const float *p, cn_vs32 i) { return cn_vf32_look_up(p, _mm256_castsi256_ps(i)); }

/* Looked up in both halves, then picked by the highest bit: gathers cost twice as much. */
CN_KERNEL cn_vf32 cn_vf32_at32(const float *p, cn_vs32 i) {
  const cn_vf32 at = _mm256_castsi256_ps(i);
  return _mm256_blendv_ps(cn_vf32_look_up(p, at), cn_vf32_look_up(p + 16, at), _mm256_castsi256_ps(_mm256_slli_epi32(i, 27)));
}

CN_KERNEL cn_vs32 cn_vs32_dot2(cn_vs32 a, cn_vs32 b, cn_vs32 acc) {
  return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

CN_KERNEL cn_vf32 cn_vf32_from_s32(cn_vs32 v) { return _mm256_cvtepi32_ps(v); }

CN_KERNEL cn_vf32 cn_vf32_from_bits(cn_vs32 v, unsigned at, unsigned bits) {
  return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srlv_epi32(v, _mm256_set1_epi32((int)at)), _mm256_set1_epi32((int)(1u << bits) - 1)));
}

CN_KERNEL cn_vs32 cn_vs32_round_f32(cn_vf32 x) { return _mm256_cvtps_epi32(x); }

CN_KERNEL void cn_vs32_store_8_n(uint8_t *p, cn_vs32 v, size_t n) {
  const __m256i bytes = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c080400));
  const __m128i low = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  uint8_t all[8];
  if (n >= 8) {
    _mm_storel_epi64((__m128i *)(void *)p, low);
    return;
  }
  _mm_storel_epi64((__m128i *)(void *)all, low);
  for (size_t i = 0; i < n; i++) p[i] = all[i];
}

CN_KERNEL __m256i cn_avx2_widen_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  const __m128i x = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)p), _mm_set1_epi8((char)flip));
  return _mm256_sub_epi32(_mm256_cvtepu8_epi32(x), _mm256_set1_epi32(zero));
}

CN_KERNEL cn_vs32 cn_vs32_pair_8(const uint8_t *low, const uint8_t *high, uint32_t flip, int32_t zero) {
  const __m256i h = _mm256_slli_epi32(cn_avx2_widen_8(high, flip, zero), 16);
  return _mm256_blend_epi16(cn_avx2_widen_8(low, flip, zero), h, 0xaa);
}

CN_KERNEL cn_vs32 cn_vs32_neighbours_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  const __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8((char)flip));
  return _mm256_sub_epi16(_mm256_cvtepu8_epi16(x), _mm256_set1_epi16((short)zero));
}

/* Elements of 32 bits from rows of narrower ones, side by side in memory: lane l is {a[l], b[l]} of 16 bits, or {a[l], b[l], c[l], d[l]} of 8. */
CN_KERNEL cn_vf32 cn_vf32_zip_u16(const uint16_t *a, const uint16_t *b) {
  const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)a)), high = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)b));
  return _mm256_castsi256_ps(_mm256_or_si256(low, _mm256_slli_epi32(high, 16)));
}

CN_KERNEL __m256i cn_avx2_widen_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)); }

CN_KERNEL cn_vf32 cn_vf32_zip_u8(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
  const __m256i low = _mm256_or_si256(cn_avx2_widen_u8(a), _mm256_slli_epi32(cn_avx2_widen_u8(b), 8));
  const __m256i high = _mm256_or_si256(_mm256_slli_epi32(cn_avx2_widen_u8(c), 16), _mm256_slli_epi32(cn_avx2_widen_u8(d), 24));
  return _mm256_castsi256_ps(_mm256_or_si256(low, high));
}

#endif
