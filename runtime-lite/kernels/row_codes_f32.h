/* SPDX-License-Identifier: MIT-0 */
/* C [1][n] = A [1][k] B [k][n], f32, of one row by weights that are codes of 4 or 8 bits: (code - zero) * scale, scale and zero one a column and `block` of the depth. Sums
 * are of codes, block by block; what of a block's zero is, is its sum of A times that. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_ROW_CODES_F32_H
#define CN_KERNELS_ROW_CODES_F32_H

#include "kernels/gemm_f32.h"

typedef struct cn_codes_f32_args {
  size_t n, k, block;    /* block divides k, and holds whole words */
  const float *a;        /* [k] */
  const uint32_t *codes; /* [ceil(n/NR)][k * bits / 32][NR]: a word has steps of one column, the first in its low bits */
  const float *scales;   /* [ceil(n/NR)][k / block][NR] */
  const float *zeros;    /* the same, or NULL: */
  float zero;            /* of all */
  float *sums;           /* room for k / block, of a call alone */
  float *c;              /* [n] */
  cn_epilogue_f32 ep;
} cn_codes_f32_args;

/* Panels of a task. */
#define CN_ROW_CODES_PANELS 4

CN_INLINE size_t cn_row_codes_f32_tasks(const cn_codes_f32_args *g) { return cn_ceil_div(cn_ceil_div(g->n, CN_GEMM_F32_NR), CN_ROW_CODES_PANELS); }

CN_KERNEL void cn_row_codes_sums_f32(const cn_codes_f32_args *g) {
  for (size_t b = 0; b < g->k / g->block; b++) {
    float sum = 0;
    for (size_t p = 0; p < g->block; p++) sum += g->a[b * g->block + p];
    g->sums[b] = sum;
  }
}

/* `count` panels from j, a literal, codes of `bits`, a literal. */
CN_KERNEL void cn_row_codes_panels_f32(const cn_codes_f32_args *g, size_t j, size_t count, unsigned bits) {
  const size_t nv = CN_GEMM_F32_NV, steps = 32 / bits, words = g->k / steps, blocks = g->k / g->block, n0 = j * CN_GEMM_F32_NR;
  const float *a = g->a, *scales = g->scales + n0 * blocks, *zeros = g->zeros ? g->zeros + n0 * blocks : NULL;
  const uint32_t *codes = g->codes + n0 * words;
  CN_ALIGN(CN_VF32_LANES * 4) float tile[2 * CN_GEMM_F32_NR];
  cn_vf32 total[2 * CN_GEMM_F32_NV];
  CN_UNROLL(8)
  for (size_t i = 0; i < count * nv; i++) total[i] = cn_vf32_zero();
  for (size_t b = 0; b < blocks; b++, scales += CN_GEMM_F32_NR) {
    const cn_vf32 sum = cn_vf32_set1(g->sums[b]);
    cn_vf32 acc[2 * CN_GEMM_F32_NV];
    CN_UNROLL(8)
    for (size_t i = 0; i < count * nv; i++) acc[i] = cn_vf32_zero();
    for (size_t w = 0; w < g->block / steps; w++, a += steps, codes += CN_GEMM_F32_NR) {
      cn_vs32 word[2 * CN_GEMM_F32_NV];
      CN_UNROLL(8)
      for (size_t i = 0; i < count * nv; i++) word[i] = cn_vs32_load((const int32_t *)(const void *)(codes + i / nv * (words * CN_GEMM_F32_NR) + i % nv * CN_VF32_LANES));
      CN_UNROLL(8)
      for (unsigned q = 0; q < steps; q++) {
        const cn_vf32 x = cn_vf32_set1(a[q]);
        CN_UNROLL(8)
        for (size_t i = 0; i < count * nv; i++) acc[i] = cn_vf32_fma(x, cn_vf32_from_bits(word[i], q * bits, bits), acc[i]);
      }
    }
    CN_UNROLL(8)
    for (size_t i = 0; i < count * nv; i++) {
      const size_t at = i / nv * (blocks * CN_GEMM_F32_NR) + i % nv * CN_VF32_LANES;
      const cn_vf32 zero = zeros ? cn_vf32_load(zeros + b * CN_GEMM_F32_NR + at) : cn_vf32_set1(g->zero);
      total[i] = cn_vf32_fma(cn_vf32_sub(acc[i], cn_vf32_mul(zero, sum)), cn_vf32_load(scales + at), total[i]);
    }
  }
  CN_UNROLL(8)
  for (size_t i = 0; i < count * nv; i++) cn_vf32_store(tile + i * CN_VF32_LANES, total[i]);
  const cn_gemm_f32_args result = {.m = 1, .n = g->n, .c = g->c, .ldc = g->n, .ep = g->ep};
  cn_gemv_finish_f32(&result, tile, n0, cn_min(count * CN_GEMM_F32_NR, g->n - n0));
}

CN_KERNEL void cn_row_codes_f32(const cn_codes_f32_args *g, size_t t0, size_t t1, unsigned bits) {
  const size_t panels = cn_ceil_div(g->n, CN_GEMM_F32_NR), end = cn_min(t1 * CN_ROW_CODES_PANELS, panels);
  size_t j = t0 * CN_ROW_CODES_PANELS;
  if (j < end) cn_row_codes_sums_f32(g);
  for (; j + 2 <= end; j += 2) cn_row_codes_panels_f32(g, j, 2, bits);
  for (; j < end; j++) cn_row_codes_panels_f32(g, j, 1, bits);
}

/* Tasks t0 .. t1 of cn_row_codes_f32_tasks(g), in any order and on any threads, each call with sums of its own: each writes its own part of C. */
CN_DRIVER void cn_row_codes4_f32(const cn_codes_f32_args *g, size_t t0, size_t t1) { cn_row_codes_f32(g, t0, t1, 4); }

CN_DRIVER void cn_row_codes8_f32(const cn_codes_f32_args *g, size_t t0, size_t t1) { cn_row_codes_f32(g, t0, t1, 8); }

#endif
