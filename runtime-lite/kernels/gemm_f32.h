/* SPDX-License-Identifier: MIT-0 */
/* C [m][n] = A [m][k] B [k][n], f32: A in place with any strides, B packed in column panels (kernels/pack.h).
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_GEMM_F32_H
#define CN_KERNELS_GEMM_F32_H

#include "kernels/tile_f32.h"

/* A product. Sizes may be zero (k = 0 gives the epilogue of zeros). c must not overlap a or b. */
typedef struct cn_gemm_f32_args {
  size_t m, n, k;
  const float *a; /* element (i, p) at a[i * a_rs + p * a_ks]: [m][k] has (k, 1), its transpose [k][m] has (1, m) */
  size_t a_rs, a_ks;
  const float *b; /* [ceil(n/NR)][k][NR] */
  float *c;       /* [m][ldc] */
  size_t ldc;
  cn_epilogue_f32 ep; /* bias: CN_EP_ROW_BIAS [m] or CN_EP_COL_BIAS [n] */
} cn_gemm_f32_args;

/* Panels of B in one task: about 2^18 products, so that handing it out costs little. By sizes alone. */
CN_INLINE size_t cn_gemm_f32_panels(const cn_gemm_f32_args *g) {
  size_t one = cn_max(cn_min(g->m, CN_GEMM_F32_MC) * CN_GEMM_F32_NR * g->k, 1);
  return cn_round_up(cn_ceil_div((size_t)1 << 18, one), 4);
}

CN_INLINE size_t cn_gemm_f32_tasks(const cn_gemm_f32_args *g) {
  size_t panels = cn_ceil_div(g->n, CN_GEMM_F32_NR);
  return cn_ceil_div(g->m, CN_GEMM_F32_MC) * cn_ceil_div(panels, cn_gemm_f32_panels(g));
}

/* Rows m0 .. m1 of one panel j of B, depth k0 .. k0 + kc. Each tile asks for its share of the next panel. */
CN_KERNEL void cn_gemm_panel_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t j, size_t k0, size_t kc,
                                 unsigned part) {
  const size_t n0 = j * CN_GEMM_F32_NR, n = cn_min(CN_GEMM_F32_NR, g->n - n0);
  const float *b = g->b + (j * g->k + k0) * CN_GEMM_F32_NR;
  const size_t tiles = cn_ceil_div(m1 - m0, CN_GEMM_F32_MR), share = cn_ceil_div(CN_GEMM_F32_NR, tiles);
  const float *ahead = n0 + n < g->n ? b + g->k * CN_GEMM_F32_NR : b;
  for (size_t i = m0; i < m1; i += CN_GEMM_F32_MR) {
    const size_t m = cn_min(CN_GEMM_F32_MR, m1 - i), at = i * g->ldc + n0;
    const float *a = g->a + i * g->a_rs + k0 * g->a_ks;
    const float *bias = g->ep.flags & CN_EP_ROW_BIAS ? g->ep.bias + i : g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + n0 : 0;
    const float *residual = g->ep.flags & CN_EP_RESIDUAL ? g->ep.residual + at : 0;
    if (m == CN_GEMM_F32_MR && n == CN_GEMM_F32_NR) {
      cn_vf32 acc[CN_GEMM_F32_MR * CN_GEMM_F32_NV];
      cn_tile_f32(a, g->a_rs, g->a_ks, b, CN_GEMM_F32_NR, kc, CN_GEMM_F32_MR, CN_GEMM_F32_NV, acc,
                  ahead + (i - m0) / CN_GEMM_F32_MR * (kc * CN_GEMM_F32_NR / tiles), share);
      cn_tile_finish_f32(acc, g->c + at, g->ldc, part, &g->ep, bias, residual);
    } else {
      CN_ALIGN(64) float tile[CN_GEMM_F32_MR * CN_GEMM_F32_NR];
      cn_edge_tile_f32(a, g->a_rs, g->a_ks, b, CN_GEMM_F32_NR, kc, m, n, tile);
      cn_edge_finish_f32(tile, CN_GEMM_F32_NR, g->c + at, g->ldc, m, n, part, &g->ep, bias, residual);
    }
  }
}

/* Rows m0 .. m1, panels j0 .. j1. A block of A (MC x KC) stays in the second cache while the panels pass through the first. */
CN_KERNEL void cn_gemm_block_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t j0, size_t j1) {
  const size_t kc_max = m1 - m0 > CN_GEMM_F32_MR ? CN_GEMM_F32_KC : cn_max(g->k, 1); /* one pass needs no reuse of B */
  size_t k0 = 0;
  do {
    const size_t kc = cn_min(kc_max, g->k - k0);
    const unsigned part = (k0 == 0 ? CN_PART_FIRST : 0) | (k0 + kc == g->k ? CN_PART_LAST : 0);
    for (size_t j = j0; j < j1; j++) {
      cn_gemm_panel_f32(g, m0, m1, j, k0, kc, part);
      if ((part & CN_PART_LAST) && g->ep.tile) {
        const size_t n0 = j * CN_GEMM_F32_NR;
        g->ep.tile(g->ep.ctx, g->c + m0 * g->ldc + n0, g->ldc, 0, m0, m1 - m0, n0, cn_min(CN_GEMM_F32_NR, g->n - n0));
      }
    }
    k0 += kc;
  } while (k0 < g->k);
}

/* One row times four panels side by side: four streams of B, and enough sums in flight to hide the latency of an FMA. */
CN_KERNEL void cn_gemv_f32(const cn_gemm_f32_args *g, size_t j) {
  const size_t nv = CN_GEMM_F32_NV, n0 = j * CN_GEMM_F32_NR, n = cn_min(4 * CN_GEMM_F32_NR, g->n - n0);
  const float *a = g->a, *b = g->b + n0 * g->k;
  const size_t step = g->k * CN_GEMM_F32_NR;
  CN_ALIGN(64) float tile[4 * CN_GEMM_F32_NR];
  cn_vf32 acc[4 * CN_GEMM_F32_NV];
  CN_UNROLL(16)
  for (size_t i = 0; i < 4 * nv; i++) acc[i] = cn_vf32_zero();
  for (size_t p = 0; p < g->k; p++, a += g->a_ks, b += CN_GEMM_F32_NR) {
    cn_vf32 x = cn_vf32_set1(*a);
    CN_UNROLL(16)
    for (size_t i = 0; i < 4 * nv; i++)
      acc[i] = cn_vf32_fma(x, cn_vf32_load(b + i / nv * step + i % nv * CN_VF32_LANES), acc[i]);
  }
  CN_UNROLL(16)
  for (size_t i = 0; i < 4 * nv; i++) cn_vf32_store(tile + i * CN_VF32_LANES, acc[i]);
  cn_edge_finish_f32(tile, 0, g->c + n0, 0, 1, n, CN_PART_FIRST | CN_PART_LAST, &g->ep,
                     g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + n0 : g->ep.bias, g->ep.residual ? g->ep.residual + n0 : 0);
  if (g->ep.tile) g->ep.tile(g->ep.ctx, g->c + n0, g->ldc, 0, 0, 1, n0, n);
}

/* Rows m0 .. m1, panels j0 .. j1 of B. */
CN_DRIVER void cn_gemm_part_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t j0, size_t j1) {
  for (; g->m == 1 && j0 + 4 <= j1; j0 += 4) cn_gemv_f32(g, j0);
  if (j0 < j1) cn_gemm_block_f32(g, m0, m1, j0, j1);
}

/* Tasks t0 .. t1 of cn_gemm_f32_tasks(g), in any order and on any threads: each writes its own part of C. */
CN_DRIVER void cn_gemm_f32(const cn_gemm_f32_args *g, size_t t0, size_t t1) {
  const size_t panels = cn_ceil_div(g->n, CN_GEMM_F32_NR), each = cn_gemm_f32_panels(g);
  const size_t across = cn_ceil_div(panels, each);
  while (t0 < t1) {
    const size_t row = t0 / across, stop = cn_min(t1, (row + 1) * across); /* tasks of one block of rows run as one */
    const size_t m0 = row * CN_GEMM_F32_MC, m1 = cn_min(g->m, m0 + CN_GEMM_F32_MC);
    cn_gemm_part_f32(g, m0, m1, (t0 - row * across) * each, cn_min(panels, (stop - row * across) * each));
    t0 = stop;
  }
}

/* The whole product, with the panels of B in the order of `back`: a caller that multiplies by the same B again and again goes back
 * and forth, so that what it read last is still in a cache. No sum changes. */
CN_DRIVER void cn_gemm_f32_turn(const cn_gemm_f32_args *g, int back) {
  const size_t turns = cn_ceil_div(cn_ceil_div(g->n, CN_GEMM_F32_NR), 4);
  for (size_t t = 0; t < turns; t++) {
    const size_t j0 = 4 * (back ? turns - 1 - t : t), j1 = cn_min(j0 + 4, cn_ceil_div(g->n, CN_GEMM_F32_NR));
    for (size_t m0 = 0; m0 < g->m; m0 += CN_GEMM_F32_MC) cn_gemm_part_f32(g, m0, cn_min(g->m, m0 + CN_GEMM_F32_MC), j0, j1);
  }
}

#endif
