/* AVX-512 and AMX played by AVX2: with this folder before the compiler's own, simd/avx512.h, simd/avx512vnni.h and simd/avx512amx.h compile to what any
 * x86-64-v3 machine runs, 16 lanes as 16 lanes. Has what those files call, no more; meant for results and bounds, not for speed. */
#ifndef CN_EMULATED_IMMINTRIN_H
#define CN_EMULATED_IMMINTRIN_H

#include_next <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Whatever a function asks of the CPU, this is what it gets. */
#define target(features) target("avx2,fma,f16c")

typedef struct EmulatedFloats {
  __m256 lo, hi;
} EmulatedFloats;

typedef struct EmulatedInts {
  __m256i lo, hi;
} EmulatedInts;

/* The same 64 bytes by lanes. */
typedef union EmulatedLanes {
  EmulatedFloats ps;
  EmulatedInts si;
  uint32_t u32[16];
  int32_t s32[16];
  uint16_t u16[32];
} EmulatedLanes;

#define __m512 EmulatedFloats
#define __m512i EmulatedInts
#define __mmask16 uint16_t

#define EMULATED(type) static inline __attribute__((always_inline, unused, target("avx2,fma,f16c"))) type

/* ---- halves: a function of AVX2 for each ---- */
#define EMULATED_BINARY(name, type, half) \
  EMULATED(type) emulated_##name(type a, type b) { return (type){half(a.lo, b.lo), half(a.hi, b.hi)}; }
EMULATED_BINARY(add_ps, EmulatedFloats, _mm256_add_ps)
EMULATED_BINARY(sub_ps, EmulatedFloats, _mm256_sub_ps)
EMULATED_BINARY(mul_ps, EmulatedFloats, _mm256_mul_ps)
EMULATED_BINARY(div_ps, EmulatedFloats, _mm256_div_ps)
EMULATED_BINARY(max_ps, EmulatedFloats, _mm256_max_ps)
EMULATED_BINARY(min_ps, EmulatedFloats, _mm256_min_ps)
EMULATED_BINARY(andnot_ps, EmulatedFloats, _mm256_andnot_ps)
EMULATED_BINARY(and_si512, EmulatedInts, _mm256_and_si256)
EMULATED_BINARY(or_si512, EmulatedInts, _mm256_or_si256)
EMULATED_BINARY(add_epi32, EmulatedInts, _mm256_add_epi32)
EMULATED_BINARY(sub_epi32, EmulatedInts, _mm256_sub_epi32)
EMULATED_BINARY(sub_epi16, EmulatedInts, _mm256_sub_epi16)
EMULATED_BINARY(madd_epi16, EmulatedInts, _mm256_madd_epi16)
#define _mm512_add_ps emulated_add_ps
#define _mm512_sub_ps emulated_sub_ps
#define _mm512_mul_ps emulated_mul_ps
#define _mm512_div_ps emulated_div_ps
#define _mm512_max_ps emulated_max_ps
#define _mm512_min_ps emulated_min_ps
#define _mm512_andnot_ps emulated_andnot_ps
#define _mm512_and_si512 emulated_and_si512
#define _mm512_or_si512 emulated_or_si512
#define _mm512_add_epi32 emulated_add_epi32
#define _mm512_sub_epi32 emulated_sub_epi32
#define _mm512_sub_epi16 emulated_sub_epi16
#define _mm512_madd_epi16 emulated_madd_epi16
#define _mm512_dpwssd_epi32(sum, a, b) emulated_add_epi32(sum, emulated_madd_epi16(a, b))

#define _mm512_fmadd_ps emulated_fmadd_ps
EMULATED(EmulatedFloats) emulated_fmadd_ps(EmulatedFloats a, EmulatedFloats b, EmulatedFloats c) {
  return (EmulatedFloats){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

#define _mm512_sqrt_ps emulated_sqrt_ps
EMULATED(EmulatedFloats) emulated_sqrt_ps(EmulatedFloats a) { return (EmulatedFloats){_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }

#define _mm512_srlv_epi32 emulated_srlv_epi32
EMULATED(EmulatedInts) emulated_srlv_epi32(EmulatedInts a, EmulatedInts count) { return (EmulatedInts){_mm256_srlv_epi32(a.lo, count.lo), _mm256_srlv_epi32(a.hi, count.hi)}; }

#define _mm512_maskz_cvtps_ph emulated_cvtps_ph
EMULATED(__m256i) emulated_cvtps_ph(unsigned all, EmulatedFloats a, int to_nearest) {
  (void)all, (void)to_nearest;
  return _mm256_set_m128i(_mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT), _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
}

#define _mm512_cvtph_ps emulated_cvtph_ps
EMULATED(EmulatedFloats) emulated_cvtph_ps(__m256i a) {
  return (EmulatedFloats){_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1))};
}

#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
EMULATED(EmulatedFloats) emulated_cvtepi32_ps(EmulatedInts a) { return (EmulatedFloats){_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }

#define _mm512_cvtps_epi32 emulated_cvtps_epi32
EMULATED(EmulatedInts) emulated_cvtps_epi32(EmulatedFloats a) { return (EmulatedInts){_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }

#define _mm512_slli_epi32 emulated_slli_epi32
EMULATED(EmulatedInts) emulated_slli_epi32(EmulatedInts a, int n) { return (EmulatedInts){_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)}; }

#define _mm512_srli_epi32 emulated_srli_epi32
EMULATED(EmulatedInts) emulated_srli_epi32(EmulatedInts a, int n) { return (EmulatedInts){_mm256_srli_epi32(a.lo, n), _mm256_srli_epi32(a.hi, n)}; }

/* ---- constants, casts, parts ---- */
#define _mm512_setzero_ps() ((EmulatedFloats){_mm256_setzero_ps(), _mm256_setzero_ps()})
#define _mm512_setzero_si512() ((EmulatedInts){_mm256_setzero_si256(), _mm256_setzero_si256()})
#define _mm512_set1_ps emulated_set1_ps
EMULATED(EmulatedFloats) emulated_set1_ps(float x) { return (EmulatedFloats){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }

#define _mm512_set1_epi32 emulated_set1_epi32
EMULATED(EmulatedInts) emulated_set1_epi32(int x) { return (EmulatedInts){_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }

#define _mm512_set1_epi16 emulated_set1_epi16
EMULATED(EmulatedInts) emulated_set1_epi16(short x) { return (EmulatedInts){_mm256_set1_epi16(x), _mm256_set1_epi16(x)}; }

#define _mm512_setr_epi32(...) (((EmulatedLanes){.s32 = {__VA_ARGS__}}).si)
#define _mm512_castps_si512 emulated_castps_si512
EMULATED(EmulatedInts) emulated_castps_si512(EmulatedFloats a) { return (EmulatedInts){_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }

#define _mm512_castsi512_ps emulated_castsi512_ps
EMULATED(EmulatedFloats) emulated_castsi512_ps(EmulatedInts a) { return (EmulatedFloats){_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }

#define _mm512_zextps256_ps512(a) ((EmulatedFloats){(a), _mm256_setzero_ps()})
#define _mm512_zextps128_ps512(a) _mm512_zextps256_ps512(_mm256_zextps128_ps256(a))
#define _mm512_castps512_ps256(a) ((a).lo)
#define _mm512_castps512_ps128(a) _mm256_castps256_ps128((a).lo)
#define _mm512_extractf32x8_ps(a, i) ((i) ? (a).hi : (a).lo)
#define _mm512_broadcast_f32x8 emulated_broadcast_f32x8
EMULATED(EmulatedFloats) emulated_broadcast_f32x8(__m256 a) { return (EmulatedFloats){a, a}; }

/* ---- memory: a lane whose bit is not set is not touched ---- */
#define _mm512_loadu_ps emulated_loadu_ps
EMULATED(EmulatedFloats) emulated_loadu_ps(const float *p) { return (EmulatedFloats){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }

#define _mm512_loadu_si512 emulated_loadu_si512
EMULATED(EmulatedInts) emulated_loadu_si512(const void *p) {
  EmulatedInts v;
  memcpy(&v, p, sizeof v);
  return v;
}

#define _mm512_storeu_ps emulated_storeu_ps
EMULATED(void) emulated_storeu_ps(float *p, EmulatedFloats v) {
  _mm256_storeu_ps(p, v.lo);
  _mm256_storeu_ps(p + 8, v.hi);
}

#define _mm512_storeu_si512 emulated_storeu_si512
EMULATED(void) emulated_storeu_si512(void *p, EmulatedInts v) { memcpy(p, &v, sizeof v); }

/* Eight bits of a mask, as AVX2 has them. */
EMULATED(__m256i) emulated_half_mask(unsigned k) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)k), bit), bit);
}

#define _mm512_maskz_loadu_ps emulated_maskz_loadu_ps
EMULATED(EmulatedFloats) emulated_maskz_loadu_ps(uint16_t k, const float *p) {
  return (EmulatedFloats){_mm256_maskload_ps(p, emulated_half_mask(k)), _mm256_maskload_ps(p + 8, emulated_half_mask(k >> 8))};
}

#define _mm512_maskz_loadu_epi32(k, p) emulated_castps_si512(emulated_maskz_loadu_ps(k, (const float *)(const void *)(p)))
#define _mm512_mask_storeu_ps emulated_mask_storeu_ps
EMULATED(void) emulated_mask_storeu_ps(float *p, uint16_t k, EmulatedFloats v) {
  _mm256_maskstore_ps(p, emulated_half_mask(k), v.lo);
  _mm256_maskstore_ps(p + 8, emulated_half_mask(k >> 8), v.hi);
}

#define _mm512_mask_storeu_epi32(p, k, v) emulated_mask_storeu_ps((float *)(void *)(p), k, emulated_castsi512_ps(v))
#define _mm512_mask_cvtepi32_storeu_epi8 emulated_mask_cvtepi32_storeu_epi8
EMULATED(void) emulated_mask_cvtepi32_storeu_epi8(void *p, uint16_t k, EmulatedInts v) {
  const EmulatedLanes from = {.si = v};
  for (int i = 0; i < 16; i++)
    if (k >> i & 1) ((unsigned char *)p)[i] = (unsigned char)from.u32[i];
}

#define _mm512_i32gather_ps(at, p, scale) ((EmulatedFloats){_mm256_i32gather_ps(p, (at).lo, scale), _mm256_i32gather_ps(p, (at).hi, scale)})
#define _mm512_cvtepu8_epi32 emulated_cvtepu8_epi32
EMULATED(EmulatedInts) emulated_cvtepu8_epi32(__m128i a) {
  return (EmulatedInts){_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_srli_si128(a, 8))};
}

#define _mm512_cvtepu16_epi32 emulated_cvtepu16_epi32
EMULATED(EmulatedInts) emulated_cvtepu16_epi32(__m256i a) {
  return (EmulatedInts){_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1))};
}

#define _mm512_cvtepu8_epi16 emulated_cvtepu8_epi16
EMULATED(EmulatedInts) emulated_cvtepu8_epi16(__m256i a) {
  return (EmulatedInts){_mm256_cvtepu8_epi16(_mm256_castsi256_si128(a)), _mm256_cvtepu8_epi16(_mm256_extracti128_si256(a, 1))};
}

/* ---- choices by masks ---- */
#define _mm512_cmp_ps_mask(a, b, op) \
  ((uint16_t)(_mm256_movemask_ps(_mm256_cmp_ps((a).lo, (b).lo, op)) | _mm256_movemask_ps(_mm256_cmp_ps((a).hi, (b).hi, op)) << 8))

#define _mm512_mask_mov_ps emulated_mask_mov_ps
EMULATED(EmulatedFloats) emulated_mask_mov_ps(EmulatedFloats otherwise, uint16_t k, EmulatedFloats a) {
  return (EmulatedFloats){_mm256_blendv_ps(otherwise.lo, a.lo, _mm256_castsi256_ps(emulated_half_mask(k))),
                          _mm256_blendv_ps(otherwise.hi, a.hi, _mm256_castsi256_ps(emulated_half_mask(k >> 8)))};
}

#define _mm512_maskz_mov_ps(k, a) emulated_mask_mov_ps(_mm512_setzero_ps(), k, a)
#define _mm512_mask_and_epi32(otherwise, k, a, b) \
  emulated_castps_si512(emulated_mask_mov_ps(emulated_castsi512_ps(otherwise), k, emulated_castsi512_ps(emulated_and_si512(a, b))))

#define _mm512_mask_blend_epi16 emulated_mask_blend_epi16
EMULATED(EmulatedInts) emulated_mask_blend_epi16(uint32_t k, EmulatedInts a, EmulatedInts b) {
  EmulatedLanes v = {.si = a};
  const EmulatedLanes other = {.si = b};
  for (int i = 0; i < 32; i++)
    if (k >> i & 1) v.u16[i] = other.u16[i];
  return v.si;
}

#define _mm512_ternarylogic_epi32 emulated_ternarylogic_epi32
EMULATED(EmulatedInts) emulated_ternarylogic_epi32(EmulatedInts a, EmulatedInts b, EmulatedInts c, unsigned table) {
  const EmulatedLanes of[3] = {{.si = a}, {.si = b}, {.si = c}};
  EmulatedLanes v = {.u32 = {0}};
  for (int i = 0; i < 16; i++) {
    for (unsigned row = 0; row < 8; row++) {
      const uint32_t x = row & 4 ? of[0].u32[i] : ~of[0].u32[i], y = row & 2 ? of[1].u32[i] : ~of[1].u32[i];
      if (table >> row & 1) v.u32[i] |= x & y & (row & 1 ? of[2].u32[i] : ~of[2].u32[i]);
    }
  }
  return v.si;
}

/* ---- permutations ---- */
#define _mm512_permutexvar_ps(at, a) emulated_permutex2var_ps(a, emulated_and_si512(at, emulated_set1_epi32(15)), a)
#define _mm512_permutex2var_ps emulated_permutex2var_ps
EMULATED(EmulatedFloats) emulated_permutex2var_ps(EmulatedFloats a, EmulatedInts at, EmulatedFloats b) {
  const EmulatedLanes from[2] = {{.ps = a}, {.ps = b}}, place = {.si = at};
  EmulatedLanes v;
  for (int i = 0; i < 16; i++) v.u32[i] = from[place.u32[i] >> 4 & 1].u32[place.u32[i] % 16];
  return v.ps;
}

#define _mm512_mask_permutexvar_ps(otherwise, k, at, a) emulated_mask_mov_ps(otherwise, k, _mm512_permutexvar_ps(at, a))

#define _mm512_permute_ps(a, order) ((EmulatedFloats){_mm256_permute_ps((a).lo, order), _mm256_permute_ps((a).hi, order)})
#define _mm512_shuffle_f32x4 emulated_shuffle_f32x4
EMULATED(EmulatedFloats) emulated_shuffle_f32x4(EmulatedFloats a, EmulatedFloats b, int order) {
  const EmulatedLanes from[2] = {{.ps = a}, {.ps = b}};
  EmulatedLanes v;
  for (int i = 0; i < 16; i++) v.u32[i] = from[i / 8].u32[(order >> i / 4 * 2 & 3) * 4 + i % 4];
  return v.ps;
}

/* ---- tiles of AMX ---- */
typedef struct EmulatedTiles {
  uint8_t rows[8];
  uint32_t at[8][16][16];
} EmulatedTiles;

static __attribute__((unused)) EmulatedTiles emulated_tiles;

static inline __attribute__((unused)) void emulated_tile_loadconfig(const void *config) { memcpy(emulated_tiles.rows, (const uint8_t *)config + 48, 8); }

static inline __attribute__((unused)) void emulated_tile_zero(int t) { memset(emulated_tiles.at[t], 0, sizeof emulated_tiles.at[t]); }

static inline __attribute__((unused)) void emulated_tile_loadd(int t, const void *p, size_t pitch) {
  for (size_t i = 0; i < emulated_tiles.rows[t]; i++) memcpy(emulated_tiles.at[t][i], (const uint8_t *)p + i * pitch, 64);
}

static inline __attribute__((unused)) void emulated_tile_stored(int t, void *p, size_t pitch) {
  for (size_t i = 0; i < emulated_tiles.rows[t]; i++) memcpy((uint8_t *)p + i * pitch, emulated_tiles.at[t][i], 64);
}

/* Half of 32 bits as the bf16 number that it is; a subnormal one is zero. */
static inline __attribute__((unused)) float emulated_bf16(uint32_t pair, int high) {
  const uint32_t bits = high ? pair & 0xffff0000u : pair << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return bits & 0x7f800000u ? x : 0.0f;
}

static inline __attribute__((unused)) void emulated_tile_dpbf16ps(int sums, int a, int b) {
  EmulatedTiles *t = &emulated_tiles;
  for (size_t i = 0; i < t->rows[sums]; i++) {
    for (size_t j = 0; j < 16; j++) {
      float sum, halves[2] = {0, 0};
      for (size_t p = 0; p < 32; p++) halves[p % 2] += emulated_bf16(t->at[a][i][p / 2], p % 2) * emulated_bf16(t->at[b][p / 2][j], p % 2);
      memcpy(&sum, &t->at[sums][i][j], sizeof sum);
      sum += halves[0] + halves[1];
      memcpy(&t->at[sums][i][j], &sum, sizeof sum);
    }
  }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig emulated_tile_loadconfig
#define _tile_release() memset(&emulated_tiles, 0, sizeof emulated_tiles)
#define _tile_zero emulated_tile_zero
#define _tile_loadd emulated_tile_loadd
#define _tile_stored emulated_tile_stored
#define _tile_dpbf16ps emulated_tile_dpbf16ps

#endif
