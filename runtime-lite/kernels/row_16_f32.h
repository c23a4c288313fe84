/* SPDX-License-Identifier: MIT-0 */
/* C [1][n] = A [1][k] B [k][n], f32, of one row: B packed in column panels (kernels/pack.h) of floats of 16 bits, half of what memory has to bring. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_ROW_16_F32_H
#define CN_KERNELS_ROW_16_F32_H

#include "kernels/gemm_f32.h"

CN_KERNEL cn_vf32 cn_gemv_load_f16(const void *p) { return cn_vf32_load_f16(p); }

CN_KERNEL cn_vf32 cn_gemv_load_bf16(const void *p) { return cn_vf32_load_bf16(p); }

/* Panels j0 .. j1. */
CN_KERNEL void cn_row_16_f32(const cn_gemm_f32_args *g, size_t j0, size_t j1, cn_vf32_loads *load) {
  j0 = cn_gemv_nears_f32(g, j0, j1, g->b16, sizeof *g->b16, load);
  for (; j0 + 4 <= j1; j0 += 4) cn_gemv_panels_f32(g, j0, 4, g->b16, sizeof *g->b16, load);
  for (; j0 < j1; j0++) cn_gemv_panels_f32(g, j0, 1, g->b16, sizeof *g->b16, load);
}

/* Tasks t0 .. t1 of cn_gemm_f32_tasks(g), in any order and on any threads: each writes its own part of C. */
CN_DRIVER void cn_row_f16_f32(const cn_gemm_f32_args *g, size_t t0, size_t t1) {
  const size_t each = cn_gemm_f32_panels(g), panels = cn_ceil_div(g->n, CN_GEMM_F32_NR);
  cn_row_16_f32(g, cn_min(t0 * each, panels), cn_min(t1 * each, panels), cn_gemv_load_f16);
}

CN_DRIVER void cn_row_bf16_f32(const cn_gemm_f32_args *g, size_t t0, size_t t1) {
  const size_t each = cn_gemm_f32_panels(g), panels = cn_ceil_div(g->n, CN_GEMM_F32_NR);
  cn_row_16_f32(g, cn_min(t0 * each, panels), cn_min(t1 * each, panels), cn_gemv_load_bf16);
}

#endif
