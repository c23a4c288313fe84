/* SPDX-License-Identifier: MIT-0 */
/* C [m][n] s32 = (A - zero points) (B - zero points), A of 8 bits in place, B packed by cn_pack_b_s16: exact, sums wrap.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_GEMM_S16_H
#define CN_KERNELS_GEMM_S16_H

#include "kernels/tile_s16.h"

typedef struct cn_gemm_s16_args {
  size_t m, n, k;
  const void *a; /* 8 bits, element (i, p) at i * a_rs + p * a_ks */
  size_t a_rs, a_ks;
  int a_signed;
  const void *a_zero; /* NULL, one, or (a_zero_step 1) one a row; of A's type */
  size_t a_zero_step;
  const int32_t *b; /* [ceil(n/NR)][ceil(k/2)][NR] */
  int32_t *c;       /* [m][ldc] */
  size_t ldc;
  /* Called on each finished block in place, as cn_epilogue_f32's; NULL: none. */
  void (*tile)(void *ctx, int32_t *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n);
  void *ctx;
} cn_gemm_s16_args;

/* 32-bit elements of scratch: MR rows of A, widened. */
CN_INLINE size_t cn_gemm_s16_scratch(size_t k) { return cn_ceil_div(k, 2) * CN_GEMM_S16_MR; }

CN_INLINE size_t cn_gemm_s16_tasks(const cn_gemm_s16_args *g) { return cn_ceil_div(g->m, CN_GEMM_S16_MR); }

/* Rows i .. i + m as pairs [m][ceil(k/2)]. */
CN_DRIVER void cn_gemm_s16_widen(const cn_gemm_s16_args *g, size_t i, size_t m, int32_t *dst) {
  for (size_t r = i; r < i + m; r++) {
    const int32_t z = g->a_zero ? cn_load_8(g->a_zero, r * g->a_zero_step, g->a_signed) : 0;
    for (size_t p = 0; p < g->k; p += 2) {
      const size_t at = r * g->a_rs + p * g->a_ks;
      const int32_t high = p + 1 < g->k ? cn_load_8(g->a, at + g->a_ks, g->a_signed) - z : 0;
      *dst++ = cn_pair_s16(cn_load_8(g->a, at, g->a_signed) - z, high);
    }
  }
}

/* Tasks t0 .. t1 of cn_gemm_s16_tasks(g), each call with its own scratch of cn_gemm_s16_scratch elements. */
CN_DRIVER void cn_gemm_s16(const cn_gemm_s16_args *g, int32_t *scratch, size_t t0, size_t t1) {
  const size_t pairs = cn_ceil_div(g->k, 2);
  for (size_t t = t0; t < t1; t++) {
    const size_t i = t * CN_GEMM_S16_MR, m = cn_min(CN_GEMM_S16_MR, g->m - i);
    cn_gemm_s16_widen(g, i, m, scratch);
    for (size_t j = 0; j < g->n; j += CN_GEMM_S16_NR)
      cn_block_s16(scratch, pairs, 1, g->b + j * pairs, pairs, m, cn_min(CN_GEMM_S16_NR, g->n - j), g->c + i * g->ldc + j,
                   g->ldc);
    if (g->tile && g->n) g->tile(g->ctx, g->c + i * g->ldc, g->ldc, 0, i, m, 0, g->n);
  }
}

#endif
