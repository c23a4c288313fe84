/* SPDX-License-Identifier: MIT-0 */
/* The SIMD layer on AVX-512 F, VL, BW, DQ: vectors of 512 bits. Contract: simd/portable.h. */
#ifndef CN_SIMD_AVX512_H
#define CN_SIMD_AVX512_H

#include "base.h"
#include <immintrin.h>

#define CN_SIMD __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")))

/* 12 x 32: 24 accumulators, two vectors of B, A as broadcast operands of the FMA (tiles: targets/x86-64-v4.def). */
#define CN_GEMM_F32_MR 12

#define CN_GEMM_F32_NR 32

#define CN_GEMM_F32_KC 256

#define CN_GEMM_F32_DEPTH 256

#define CN_TILE_F32_TURN 2

#define CN_GEMM_F32_MC 192

#define CN_GEMM_F32_NC 128

#define CN_GEMM_S16_MR 8

#define CN_GEMM_S16_NR 32

/* Sums that a convolution over blocked channels keeps in registers. */
#define CN_BLOCKED_F32_SUMS 24

#define CN_BLOCKED_F32_TURN 1

#define CN_VF32_LANES 16

typedef __m512 cn_vf32;

CN_KERNEL cn_vf32 cn_vf32_zero(void) { return _mm512_setzero_ps(); }

CN_KERNEL cn_vf32 cn_vf32_set1(float x) { return _mm512_set1_ps(x); }

CN_KERNEL cn_vf32 cn_vf32_load(const float *p) { return _mm512_loadu_ps(p); }

CN_KERNEL void cn_vf32_store(float *p, cn_vf32 v) { _mm512_storeu_ps(p, v); }

/* Of each group of `width` lanes, a power of two, lane c in all its places. */
CN_KERNEL cn_vf32 cn_vf32_load_spread(const float *p, size_t width, size_t c) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i from = _mm512_and_si512(lane, _mm512_set1_epi32(-(int)width));
  return _mm512_permutexvar_ps(_mm512_add_epi32(from, _mm512_set1_epi32((int)c)), _mm512_loadu_ps(p));
}

CN_KERNEL __mmask16 cn_avx512_mask(size_t n) { return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1u); }

/* Literal parts of a vector without a mask: what a store with one has written is not forwarded to loads, and a load with one waits for stores to the lanes that it
 * leaves out, too. */
CN_KERNEL cn_vf32 cn_vf32_load_n(const float *p, size_t n) {
  if (__builtin_constant_p(n) && n == 8) return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
  if (__builtin_constant_p(n) && n == 4) return _mm512_zextps128_ps512(_mm_loadu_ps(p));
  if (__builtin_constant_p(n) && n == 2) return _mm512_zextps128_ps512(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)p));
  return _mm512_maskz_loadu_ps(cn_avx512_mask(n), p);
}

CN_KERNEL void cn_vf32_store_n(float *p, cn_vf32 v, size_t n) {
  if (__builtin_constant_p(n) && n == 8) _mm256_storeu_ps(p, _mm512_castps512_ps256(v));
  else if (__builtin_constant_p(n) && n == 4) _mm_storeu_ps(p, _mm512_castps512_ps128(v));
  else if (__builtin_constant_p(n) && n == 2) _mm_storel_pi((__m64 *)(void *)p, _mm512_castps512_ps128(v));
  else _mm512_mask_storeu_ps(p, cn_avx512_mask(n), v);
}

CN_KERNEL void cn_vf32_store3(float *p, cn_vf32 a, cn_vf32 b, cn_vf32 c) {
  const __m512i x = _mm512_setr_epi32(0, 16, 0, 1, 17, 1, 2, 18, 2, 3, 19, 3, 4, 20, 4, 5); /* of a and b, and, by a mask, of c */
  const __m512i y = _mm512_setr_epi32(21, 5, 6, 22, 6, 7, 23, 7, 8, 24, 8, 9, 25, 9, 10, 26);
  const __m512i z = _mm512_setr_epi32(10, 11, 27, 11, 12, 28, 12, 13, 29, 13, 14, 30, 14, 15, 31, 15);
  _mm512_storeu_ps(p, _mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(a, x, b), 0x4924, x, c));
  _mm512_storeu_ps(p + 16, _mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(a, y, b), 0x2492, y, c));
  _mm512_storeu_ps(p + 32, _mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(a, z, b), 0x9249, z, c));
}

/* The second load starts one lane early, so that it ends at p[30]. */
CN_KERNEL cn_vf32 cn_vf32_load_even(const float *p) {
  __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(_mm512_loadu_ps(p), order, _mm512_loadu_ps(p + 15));
}

CN_KERNEL cn_vf32 cn_vf32_load_even_n(const float *p, size_t n) {
  __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  const __mmask16 low = cn_avx512_mask(n ? 2 * n - 1 : 0), high = cn_avx512_mask(n > 8 ? 2 * n - 16 : 0);
  return _mm512_permutex2var_ps(_mm512_maskz_loadu_ps(low, p), order, _mm512_maskz_loadu_ps(high, p + 15));
}

typedef __mmask16 cn_vf32_lanes;

CN_KERNEL cn_vf32_lanes cn_vf32_lanes_in(size_t lo, size_t hi) {
  return (__mmask16)(cn_avx512_mask(hi) & ~(unsigned)cn_avx512_mask(lo));
}

CN_KERNEL cn_vf32 cn_vf32_load_in(const float *p, cn_vf32_lanes in) { return _mm512_maskz_loadu_ps(in, p); }

CN_KERNEL cn_vf32 cn_vf32_fill_out(cn_vf32 v, cn_vf32_lanes in, cn_vf32 fill) { return _mm512_mask_mov_ps(fill, in, v); }

CN_KERNEL cn_vf32 cn_vf32_even(cn_vf32 a, cn_vf32 b) {
  return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}

CN_KERNEL cn_vf32 cn_vf32_odd(cn_vf32 a, cn_vf32 b) {
  return _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
}

CN_KERNEL cn_vf32 cn_vf32_even_mixed(cn_vf32 a, cn_vf32 b) { return cn_vf32_even(a, b); }

CN_KERNEL cn_vf32 cn_vf32_odd_mixed(cn_vf32 a, cn_vf32 b) { return cn_vf32_odd(a, b); }

CN_KERNEL cn_vf32 cn_vf32_unmix(cn_vf32 v) { return v; }

CN_KERNEL cn_vf32 cn_vf32_add(cn_vf32 a, cn_vf32 b) { return _mm512_add_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_sub(cn_vf32 a, cn_vf32 b) { return _mm512_sub_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_mul(cn_vf32 a, cn_vf32 b) { return _mm512_mul_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_div(cn_vf32 a, cn_vf32 b) { return _mm512_div_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_sqrt(cn_vf32 a) { return _mm512_sqrt_ps(a); }

CN_KERNEL cn_vf32 cn_vf32_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)); }

CN_KERNEL cn_vf32 cn_vf32_load_bf16(const uint16_t *p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)), 16));
}

CN_KERNEL cn_vf32 cn_vf32_round_f16(cn_vf32 a) { return _mm512_cvtph_ps(_mm512_maskz_cvtps_ph(0xffffu, a, _MM_FROUND_TO_NEAREST_INT)); } /* all lanes: gcc -O0 warns of the other name */

CN_KERNEL cn_vf32 cn_vf32_fma(cn_vf32 a, cn_vf32 b, cn_vf32 c) { return _mm512_fmadd_ps(a, b, c); }

CN_KERNEL cn_vf32 cn_vf32_max(cn_vf32 a, cn_vf32 b) { return _mm512_max_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_min(cn_vf32 a, cn_vf32 b) { return _mm512_min_ps(a, b); }

CN_KERNEL cn_vf32 cn_vf32_maxn(cn_vf32 a, cn_vf32 b) {
  return _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}

CN_KERNEL cn_vf32 cn_vf32_round_pow2(cn_vf32 a, cn_vf32 b, cn_vf32 *ret_pow2) {
  const cn_vf32 shift = _mm512_set1_ps(12583039.0f), big = _mm512_fmadd_ps(a, b, shift);
  *ret_pow2 = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(big), 23));
  return _mm512_sub_ps(big, shift);
}

CN_KERNEL cn_vf32 cn_vf32_abs(cn_vf32 v) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), v); }

CN_KERNEL cn_vf32 cn_vf32_copysign(cn_vf32 v, cn_vf32 sign) {
  const __m512i bit = _mm512_set1_epi32(INT32_MIN); /* of three operands: bit ? sign : v */
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign), _mm512_castps_si512(v), 0xca));
}

CN_KERNEL cn_vf32 cn_vf32_look_up(const float *table, cn_vf32 i) {
  return _mm512_permutexvar_ps(_mm512_castps_si512(i), _mm512_loadu_ps(table));
}

CN_KERNEL cn_vf32 cn_vf32_look_up8(const float *table, cn_vf32 i) {
  return _mm512_permutexvar_ps(_mm512_castps_si512(i), _mm512_broadcast_f32x8(_mm256_loadu_ps(table)));
}

CN_KERNEL int cn_vf32_any_lt(cn_vf32 a, cn_vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ) != 0; }

CN_KERNEL cn_vf32 cn_vf32_keep_ge(cn_vf32 a, cn_vf32 b, cn_vf32 v) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), v);
}

CN_KERNEL float cn_vf32_reduce_add(cn_vf32 v) {
  __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

CN_KERNEL float cn_vf32_reduce_maxn(cn_vf32 v) {
  v = cn_vf32_maxn(v, _mm512_shuffle_f32x4(v, v, 0x4e));
  v = cn_vf32_maxn(v, _mm512_shuffle_f32x4(v, v, 0xb1));
  v = cn_vf32_maxn(v, _mm512_permute_ps(v, 0x4e));
  v = cn_vf32_maxn(v, _mm512_permute_ps(v, 0xb1));
  return _mm_cvtss_f32(_mm512_castps512_ps128(v));
}

#define CN_VS32_LANES 16

typedef __m512i cn_vs32;

CN_KERNEL cn_vs32 cn_vs32_zero(void) { return _mm512_setzero_si512(); }

CN_KERNEL cn_vs32 cn_vs32_set1(int32_t x) { return _mm512_set1_epi32(x); }

CN_KERNEL cn_vs32 cn_vs32_load(const int32_t *p) { return _mm512_loadu_si512(p); }

CN_KERNEL void cn_vs32_store(int32_t *p, cn_vs32 v) { _mm512_storeu_si512(p, v); }

CN_KERNEL cn_vs32 cn_vs32_load_n(const int32_t *p, size_t n) { return _mm512_maskz_loadu_epi32(cn_avx512_mask(n), p); }

CN_KERNEL void cn_vs32_store_n(int32_t *p, cn_vs32 v, size_t n) { _mm512_mask_storeu_epi32(p, cn_avx512_mask(n), v); }

CN_KERNEL cn_vs32 cn_vs32_add(cn_vs32 a, cn_vs32 b) { return _mm512_add_epi32(a, b); }

CN_KERNEL cn_vs32 cn_vs32_and_gt(cn_vs32 v, cn_vs32 m, cn_vf32 a, cn_vf32 b) {
  return _mm512_mask_and_epi32(v, _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), v, m);
}

CN_KERNEL cn_vs32 cn_vs32_and_nan(cn_vs32 v, cn_vs32 m, cn_vf32 a) {
  return _mm512_mask_and_epi32(v, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), v, m);
}

/* The exponent of that bit alone as a float. */
CN_KERNEL cn_vs32 cn_vs32_first_bit(cn_vs32 v) {
  const __m512i bit = _mm512_and_si512(v, _mm512_sub_epi32(_mm512_setzero_si512(), v));
  const __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepi32_ps(bit)), 23);
  return _mm512_and_si512(_mm512_sub_epi32(exponent, _mm512_set1_epi32(127)), _mm512_set1_epi32(31));
}

/* Without optimisation gcc has a macro for it, whose mask of all lanes changes its sign. */
CN_KERNEL cn_vf32 cn_vf32_at(const float *p, cn_vs32 i) {
  CN_PRAGMA(GCC diagnostic push)
  CN_PRAGMA(GCC diagnostic ignored "-Wsign-conversion")
  return _mm512_i32gather_ps(i, p, 4);
  CN_PRAGMA(GCC diagnostic pop)
}

CN_KERNEL cn_vf32 cn_vf32_at32(const float *p, cn_vs32 i) {
  return _mm512_permutex2var_ps(_mm512_loadu_ps(p), i, _mm512_loadu_ps(p + 16));
}

CN_KERNEL cn_vf32 cn_vf32_at2(const float *p, cn_vs32 i) { return cn_vf32_at32(p, i); }

CN_KERNEL cn_vs32 cn_vs32_dot2(cn_vs32 a, cn_vs32 b, cn_vs32 acc) {
  return _mm512_add_epi32(acc, _mm512_madd_epi16(a, b));
}

CN_KERNEL cn_vf32 cn_vf32_from_s32(cn_vs32 v) { return _mm512_cvtepi32_ps(v); }

CN_KERNEL cn_vf32 cn_vf32_from_bits(cn_vs32 v, unsigned at, unsigned bits) {
  static const float numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const cn_vs32 low = _mm512_srlv_epi32(v, _mm512_set1_epi32((int)at));
  if (bits == 4) return _mm512_permutexvar_ps(low, _mm512_loadu_ps(numbers)); /* which reads four bits of a place */
  return _mm512_cvtepi32_ps(_mm512_and_si512(low, _mm512_set1_epi32((int)(1u << bits) - 1)));
}

CN_KERNEL cn_vs32 cn_vs32_round_f32(cn_vf32 x) { return _mm512_cvtps_epi32(x); }

CN_KERNEL void cn_vs32_store_8_n(uint8_t *p, cn_vs32 v, size_t n) {
  _mm512_mask_cvtepi32_storeu_epi8(p, cn_avx512_mask(n), v);
}

CN_KERNEL __m512i cn_avx512_widen_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  const __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8((char)flip));
  return _mm512_sub_epi32(_mm512_cvtepu8_epi32(x), _mm512_set1_epi32(zero));
}

CN_KERNEL cn_vs32 cn_vs32_pair_8(const uint8_t *low, const uint8_t *high, uint32_t flip, int32_t zero) {
  const __m512i h = _mm512_slli_epi32(cn_avx512_widen_8(high, flip, zero), 16);
  return _mm512_mask_blend_epi16(0xaaaaaaaau, cn_avx512_widen_8(low, flip, zero), h);
}

CN_KERNEL cn_vs32 cn_vs32_neighbours_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  const __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)p), _mm256_set1_epi8((char)flip));
  return _mm512_sub_epi16(_mm512_cvtepu8_epi16(x), _mm512_set1_epi16((short)zero));
}

/* Elements of 32 bits from rows of narrower ones, side by side in memory: lane l is {a[l], b[l]} of 16 bits, or {a[l], b[l], c[l], d[l]} of 8. */
CN_KERNEL cn_vf32 cn_vf32_zip_u16(const uint16_t *a, const uint16_t *b) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)a)), high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)b));
  return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

CN_KERNEL __m512i cn_avx512_widen_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }

CN_KERNEL cn_vf32 cn_vf32_zip_u8(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
  const __m512i low = _mm512_or_si512(cn_avx512_widen_u8(a), _mm512_slli_epi32(cn_avx512_widen_u8(b), 8));
  const __m512i high = _mm512_or_si512(_mm512_slli_epi32(cn_avx512_widen_u8(c), 16), _mm512_slli_epi32(cn_avx512_widen_u8(d), 24));
  return _mm512_castsi512_ps(_mm512_or_si512(low, high));
}

#endif
