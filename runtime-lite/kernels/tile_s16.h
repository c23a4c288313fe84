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
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vs32_zero();
  for (size_t p = 0; p < k; p++, a += a_ks, b += CN_GEMM_S16_NR) {
    CN_UNROLL(16)
    for (size_t i = 0; i < mr; i++) {
      cn_vs32 x = cn_vs32_set1(a[i * a_rs]);
      CN_UNROLL(4)
      for (size_t v = 0; v < nv; v++)
        acc[i * nv + v] = cn_vs32_dot2(x, cn_vs32_load(b + v * CN_VS32_LANES), acc[i * nv + v]);
    }
  }
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) cn_vs32_store(tile + i / nv * CN_GEMM_S16_NR + i % nv * CN_VS32_LANES, acc[i]);
}

/* The m x n corner of a tile into c, touching nothing outside of it. */
CN_KERNEL void cn_tile_put_s32(const int32_t *tile, int32_t *c, size_t ldc, size_t m, size_t n) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j += CN_VS32_LANES) {
      cn_vs32_store_n(c + i * ldc + j, cn_vs32_load(tile + i * CN_GEMM_S16_NR + j), n - j);
    }
  }
}

/* m <= MR rows, n <= NR columns: tile and put. */
CN_DRIVER void cn_block_s16(const int32_t *a, size_t a_rs, size_t a_ks, const int32_t *b, size_t k, size_t m, size_t n,
                            int32_t *c, size_t ldc) {
  CN_ALIGN(64) int32_t tile[CN_GEMM_S16_MR * CN_GEMM_S16_NR];
  if (m == CN_GEMM_S16_MR) {
    cn_tile_s16(a, a_rs, a_ks, b, k, CN_GEMM_S16_MR, tile);
  } else {
    for (size_t i = 0; i < m; i++) cn_tile_s16(a + i * a_rs, a_rs, a_ks, b, k, 1, tile + i * CN_GEMM_S16_NR);
  }
  cn_tile_put_s32(tile, c, ldc, m, n);
}

#endif
