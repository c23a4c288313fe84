/* SPDX-License-Identifier: MIT-0 */
/* The register tile of exact integer products: 8-bit operands are widened to s16 with their zero point subtracted, and two
 * neighbours along the depth share a 32-bit lane, so that one instruction multiplies and adds both. Sums are s32 and wrap.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_TILE_S16_H
#define CN_KERNELS_TILE_S16_H

#include "base.h"

#define CN_GEMM_S16_NV (CN_GEMM_S16_NR / CN_VS32_LANES)

/* Two values of -32768 .. 32767 in a lane, low first. */
CN_INLINE int32_t cn_pair_s16(int32_t low, int32_t high) {
  return (int32_t)(((uint32_t)low & 0xffffu) | (uint32_t)high << 16);
}

/* 8-bit data as u8 (simd/portable.h, cn_vs32_pair_8): what its bytes are flipped with, and its zero point then. */
CN_INLINE uint32_t cn_flip_8(int is_signed) { return is_signed ? 0x80u : 0u; }

CN_INLINE int32_t cn_zero_8(int is_signed, int32_t zero) { return is_signed ? zero + 128 : zero; }

/* Element i of 8-bit data. */
CN_INLINE int32_t cn_load_8(const void *p, size_t i, int is_signed) {
  return is_signed ? (int32_t)((const int8_t *)p)[i] : (int32_t)((const uint8_t *)p)[i];
}

/* tile[mr][NR] = A [mr][k] B [k][NR] over k pairs: element (i, p) of A at a[i * a_rs + p * a_ks], row p of B at b[p * NR].
 * mr is a literal. */
CN_KERNEL void cn_tile_s16(const int32_t *a, size_t a_rs, size_t a_ks, const int32_t *b, size_t k, size_t mr,
                           int32_t *tile) {
  const size_t nv = CN_GEMM_S16_NV;
  cn_vs32 acc[CN_GEMM_S16_MR * CN_GEMM_S16_NV];
  const int32_t *rows[CN_GEMM_S16_MR];
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vs32_zero();
  CN_UNROLL(16)
  for (size_t i = 0; i < mr; i += CN_TILE_ROWS) {
    rows[i / CN_TILE_ROWS] = a + i * a_rs;
    CN_OPAQUE(rows[i / CN_TILE_ROWS]);
  }
  for (size_t p = 0; p < k; p++, b += CN_GEMM_S16_NR) {
    CN_UNROLL(16)
    for (size_t i = 0; i < mr; i++) {
      cn_vs32 x = cn_vs32_set1(rows[i / CN_TILE_ROWS][i % CN_TILE_ROWS * a_rs]);
      CN_UNROLL(4)
      for (size_t v = 0; v < nv; v++)
        acc[i * nv + v] = cn_vs32_dot2(x, cn_vs32_load(b + v * CN_VS32_LANES), acc[i * nv + v]);
    }
    CN_UNROLL(16)
    for (size_t i = 0; i < mr; i += CN_TILE_ROWS) rows[i / CN_TILE_ROWS] += a_ks;
  }
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) cn_vs32_store(tile + i / nv * CN_GEMM_S16_NR + i % nv * CN_VS32_LANES, acc[i]);
}

#define CN_OUT_S32 0

#define CN_OUT_F32 1

#define CN_OUT_8 2

/* What becomes of finished sums in registers, in this order: plus bias; as f32 times scale, plus shift, clamped; rounded to
 * nearest even, plus zero, stored as bytes (lo and hi keep them in range). CN_OUT_S32 ends after the bias, CN_OUT_F32 after the
 * clamp. Channels are the rows of the result (by_row) or its columns. */
typedef struct cn_finish_s32 {
  int out, by_row;
  const int32_t *bias; /* one a channel; NULL: none */
  const float *scale;
  size_t scale_step;   /* 1: one a channel; 0: one for all */
  const float *shift;  /* one a channel; NULL: none */
  float lo, hi;        /* infinite: no bound; a NaN passes */
  int32_t zero;
} cn_finish_s32;

/* Lanes j .. of row i, n of them, to element `at` of c. */
CN_KERNEL void cn_finish_lanes(const cn_finish_s32 *f, cn_vs32 v, size_t i, size_t j, size_t n, void *c, size_t at) {
  if (f->bias) v = cn_vs32_add(v, f->by_row ? cn_vs32_set1(f->bias[i]) : cn_vs32_load_n(f->bias + j, n));
  if (f->out == CN_OUT_S32) {
    cn_vs32_store_n((int32_t *)c + at, v, n);
    return;
  }
  const int one = f->scale_step == 0 || f->by_row;
  cn_vf32 x = cn_vf32_from_s32(v);
  x = cn_vf32_mul(x, one ? cn_vf32_set1(f->scale[f->scale_step ? i : 0]) : cn_vf32_load_n(f->scale + j, n));
  if (f->shift) x = cn_vf32_add(x, f->by_row ? cn_vf32_set1(f->shift[i]) : cn_vf32_load_n(f->shift + j, n));
  x = cn_vf32_min(cn_vf32_set1(f->hi), cn_vf32_max(cn_vf32_set1(f->lo), x));
  if (f->out == CN_OUT_F32) cn_vf32_store_n((float *)c + at, x, n);
  else cn_vs32_store_8_n((uint8_t *)c + at, cn_vs32_add(cn_vs32_round_f32(x), cn_vs32_set1(f->zero)), n);
}

/* Where a block of the result lies: element `at` of c is row i, column j. */
typedef struct cn_place_s32 {
  void *c;
  size_t ldc, at, i, j;
} cn_place_s32;

/* m <= MR rows, n <= NR columns over k pairs, finished and stored; touches nothing else of c. */
CN_DRIVER void cn_block_s16(const int32_t *a, size_t a_rs, size_t a_ks, const int32_t *b, size_t k, size_t m, size_t n,
                            const cn_finish_s32 *f, const cn_place_s32 *to) {
  CN_ALIGN(CN_VS32_LANES * 4) int32_t tile[CN_GEMM_S16_MR * CN_GEMM_S16_NR];
  if (m == CN_GEMM_S16_MR) {
    cn_tile_s16(a, a_rs, a_ks, b, k, CN_GEMM_S16_MR, tile);
  } else {
    for (size_t i = 0; i < m; i++) cn_tile_s16(a + i * a_rs, a_rs, a_ks, b, k, 1, tile + i * CN_GEMM_S16_NR);
  }
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j += CN_VS32_LANES) {
      const cn_vs32 v = cn_vs32_load(tile + i * CN_GEMM_S16_NR + j);
      cn_finish_lanes(f, v, to->i + i, to->j + j, n - j, to->c, to->at + i * to->ldc + j);
    }
  }
}

#endif
