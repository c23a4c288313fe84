/* SPDX-License-Identifier: MIT-0 */
/* C [m][n] = finish((A - zero points) (B - zero points)), A of 8 bits in place, B packed by cn_pack_b_s16: exact s32 sums that
 * wrap. Needs a SIMD layer included before. */
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
  void *c;          /* [m][ldc] of the type that finish.out says */
  size_t ldc;
  cn_finish_s32 finish;
} cn_gemm_s16_args;

/* Rows of a task: widened together, so that a panel of B is read once for all of them. */
#define CN_GEMM_S16_ROWS (8 * CN_GEMM_S16_MR)

/* 32-bit elements of scratch: the rows of a task, widened. */
CN_INLINE size_t cn_gemm_s16_scratch(size_t m, size_t k) { return cn_min(m, CN_GEMM_S16_ROWS) * cn_ceil_div(k, 2); }

CN_INLINE size_t cn_gemm_s16_tasks(const cn_gemm_s16_args *g) { return cn_ceil_div(g->m, CN_GEMM_S16_ROWS); }

/* Row i as pairs [ceil(k/2)]. */
CN_DRIVER void cn_gemm_s16_widen(const cn_gemm_s16_args *g, size_t i, int32_t *dst) {
  const int32_t z = g->a_zero ? cn_load_8(g->a_zero, i * g->a_zero_step, g->a_signed) : 0;
  const uint8_t *row = (const uint8_t *)g->a + i * g->a_rs;
  size_t p = 0;
  if (g->a_ks == 1) {
    for (; p + 2 * CN_VS32_LANES <= g->k; p += 2 * CN_VS32_LANES, dst += CN_VS32_LANES)
      cn_vs32_store(dst, cn_vs32_neighbours_8(row + p, cn_flip_8(g->a_signed), cn_zero_8(g->a_signed, z)));
  }
  for (; p < g->k; p += 2) {
    const size_t at = p * g->a_ks;
    const int32_t high = p + 1 < g->k ? cn_load_8(row, at + g->a_ks, g->a_signed) - z : 0;
    *dst++ = cn_pair_s16(cn_load_8(row, at, g->a_signed) - z, high);
  }
}

/* Tasks t0 .. t1 of cn_gemm_s16_tasks(g), each call with its own scratch of cn_gemm_s16_scratch elements. */
CN_DRIVER void cn_gemm_s16(const cn_gemm_s16_args *g, int32_t *scratch, size_t t0, size_t t1) {
  const size_t pairs = cn_ceil_div(g->k, 2);
  cn_place_s32 to;
  to.c = g->c;
  to.ldc = g->ldc;
  for (size_t t = t0; t < t1; t++) {
    const size_t i0 = t * CN_GEMM_S16_ROWS, rows = cn_min(CN_GEMM_S16_ROWS, g->m - i0);
    for (size_t i = 0; i < rows; i++) cn_gemm_s16_widen(g, i0 + i, scratch + i * pairs);
    for (size_t j = 0; j < g->n; j += CN_GEMM_S16_NR) {
      for (size_t i = 0; i < rows; i += CN_GEMM_S16_MR) {
        to.i = i0 + i;
        to.j = j;
        to.at = to.i * g->ldc + j;
        cn_block_s16(scratch + i * pairs, pairs, 1, g->b + j * pairs, pairs, cn_min(CN_GEMM_S16_MR, rows - i),
                     cn_min(CN_GEMM_S16_NR, g->n - j), &g->finish, &to);
      }
    }
  }
}

#endif
