/* SPDX-License-Identifier: MIT-0 */
/* The layer of simd/avx512vnni.h with AMX: tiles of 16 rows of 64 bytes, products of bf16 numbers that are added to f32 sums. */
#ifndef CN_SIMD_AVX512AMX_H
#define CN_SIMD_AVX512AMX_H

#include "simd/avx512vnni.h"

#undef CN_SIMD
#define CN_SIMD __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,amx-tile,amx-bf16,avx2,fma")))

/* Large products go by parts (amx/split_f32.h). */
#define CN_GEMM_F32_PART cn_split_part_f32

/* Tiles 0 to 5 of so many rows, 6 and 7 of 16, until cn_tiles_end; a thread's other code has no tiles. */
CN_KERNEL void cn_tiles_begin(size_t rows) {
  uint8_t config[64] = {1}; /* the palette; from 16 on the bytes of each tile's rows, two bytes each, from 48 on its rows */
  for (size_t t = 0; t < 8; t++) {
    config[16 + 2 * t] = 64;
    config[48 + t] = (uint8_t)(t < 6 ? rows : 16);
  }
  _tile_loadconfig(config);
}

CN_KERNEL void cn_tiles_end(void) { _tile_release(); }

/* t, a, b, sums: literals; rows `pitch` bytes apart. */
#define CN_TILE_ZERO(t) _tile_zero(t)

#define CN_TILE_LOAD(t, p, pitch) _tile_loadd(t, p, pitch)

/* What was stored before is there for the tiles that are loaded behind it: gcc 12 does not know that these read memory. */
CN_KERNEL void cn_tiles_settle(void) { __asm__ volatile("" ::: "memory"); }

#define CN_TILE_STORE(t, p, pitch) _tile_stored(t, p, pitch)

/* sums[i][j] += a[i][p] * b[p][j], of pairs: neighbours in a's rows, and in each 32 bits of b's. Subnormal numbers are zeros. */
#define CN_TILE_PRODUCTS(sums, a, b) _tile_dpbf16ps(sums, a, b)

/* Whether an element of a or b is infinite or NaN. */
CN_KERNEL int cn_vf32_strange(cn_vf32 a, cn_vf32 b) {
  const cn_vf32 zero = _mm512_setzero_ps(), odd = _mm512_fmadd_ps(a, zero, _mm512_mul_ps(b, zero));
  return _mm512_cmp_ps_mask(odd, odd, _CMP_UNORD_Q) != 0;
}

/* x and y rounded to 8 bits, as pairs of bf16, x the low one; x and y become what is left of them. */
CN_KERNEL cn_vs32 cn_vs32_split(cn_vf32 *x, cn_vf32 *y) {
  const __m512i half = _mm512_set1_epi32(0x8000), high = _mm512_set1_epi32((int)0xffff0000u);
  const __m512i a = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(*x), half), high);
  const __m512i b = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(*y), half), high);
  *x = _mm512_sub_ps(*x, _mm512_castsi512_ps(a));
  *y = _mm512_sub_ps(*y, _mm512_castsi512_ps(b));
  return _mm512_or_si512(_mm512_srli_epi32(a, 16), b);
}

#endif
