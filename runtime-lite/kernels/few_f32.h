/* SPDX-License-Identifier: MIT-0 */
/* Products of few rows by constant columns of which there are no more than a vector has lanes, as at the end of a classifier: code for just so many, where a
 * panel's others would be idle. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_FEW_F32_H
#define CN_KERNELS_FEW_F32_H

#include "kernels/gemm_part_f32.h"

/* As many vectors as lanes -> in lane i the sum of vector i: pairs of neighbouring lanes, until there is one vector. */
CN_KERNEL cn_vf32 cn_vf32_sums(cn_vf32 *v) {
  CN_UNROLL(4)
  for (size_t n = CN_VF32_LANES / 2; n > 0; n /= 2) {
    CN_UNROLL(8)
    for (size_t i = 0; i < n; i++) v[i] = cn_vf32_add(cn_vf32_even(v[2 * i], v[2 * i + 1]), cn_vf32_odd(v[2 * i], v[2 * i + 1]));
  }
  return v[0];
}

/* Elements p .. p + lanes of a row of k and zeros; a literal part of a vector from one that ends with the row, where that is so long: without a mask nothing waits
 * for what has been stored just behind. */
CN_KERNEL cn_vf32 cn_few_load_f32(const float *a, size_t p, size_t lanes, size_t k) {
  if (lanes == CN_VF32_LANES) return cn_vf32_load(a + p);
  if (k < CN_VF32_LANES) return cn_vf32_load_n(a, lanes);
  return cn_vf32_fill_out(cn_vf32_load(a + k - CN_VF32_LANES), cn_vf32_lanes_in(CN_VF32_LANES - lanes, CN_VF32_LANES), cn_vf32_zero());
}

/* One step of g's depth, `lanes` lanes of it from p: row a by n columns. p, lanes, n: literals. */
CN_KERNEL void cn_few_step_f32(const cn_gemm_f32_args *g, const float *a, size_t p, size_t lanes, size_t n, cn_vf32 *sums) {
  const cn_vf32 x = cn_few_load_f32(a, p, lanes, g->k);
  CN_UNROLL(16)
  for (size_t j = 0; j < n; j++) sums[j] = cn_vf32_fma(x, cn_few_load_f32(g->b + j * g->ldb, p, lanes, g->k), sums[j]);
}

/* Row a by n columns: the products in the first n lanes. Of so few columns that a vector of sums each would wait for itself, several parts of the depth are
 * summed side by side. g's depth and n: literals. */
CN_KERNEL cn_vf32 cn_few_row_f32(const cn_gemm_f32_args *g, const float *a, size_t n) {
  const size_t wide = n > 8 ? 16 : n > 4 ? 8 : n > 2 ? 4 : n, parts = CN_VF32_LANES / wide, step = parts * CN_VF32_LANES;
  const size_t most = g->k / step * step, whole = g->k / CN_VF32_LANES * CN_VF32_LANES;
  cn_vf32 sums[CN_VF32_LANES];
  CN_UNROLL(16)
  for (size_t i = 0; i < CN_VF32_LANES; i++) sums[i] = cn_vf32_zero();
  for (size_t p = 0; p < most; p += step) {
    CN_UNROLL(16)
    for (size_t q = 0; q < parts; q++) cn_few_step_f32(g, a, p + q * CN_VF32_LANES, CN_VF32_LANES, n, sums + q * wide);
  }
  CN_UNROLL(16)
  for (size_t q = 0; q < parts; q++) {
    const size_t p = most + q * CN_VF32_LANES;
    if (p < whole) cn_few_step_f32(g, a, p, CN_VF32_LANES, n, sums + q * wide);
    else if (p == whole && p < g->k) cn_few_step_f32(g, a, p, g->k - p, n, sums + q * wide);
  }
  CN_UNROLL(4)
  for (size_t q = parts / 2; q > 0; q /= 2) {
    CN_UNROLL(16)
    for (size_t i = 0; i < q * wide; i++) {
      sums[i] = cn_vf32_add(sums[i], sums[i + q * wide]);
      sums[i + q * wide] = cn_vf32_zero();
    }
  }
  return cn_vf32_sums(sums);
}

/* All rows by n columns, a literal, whose elements lie side by side as those of A's rows do, ldb floats behind the column before. */
CN_KERNEL void cn_few_columns_f32(const cn_gemm_f32_args *g, size_t n) {
  const unsigned flags = g->ep.flags;
  for (size_t i = 0; i < g->m; i++) {
    cn_vf32 x = cn_few_row_f32(g, g->a + i * g->a_rs, n);
    if (flags & CN_EP_ROW_BIAS) x = cn_vf32_add(x, cn_vf32_set1(g->ep.bias[i]));
    if (flags & CN_EP_COL_BIAS) x = cn_vf32_add(x, cn_vf32_load_n(g->ep.bias, n));
    if (flags & CN_EP_RESIDUAL) x = cn_vf32_add(x, cn_vf32_load_n(g->ep.residual + i * g->ldc, n));
    if (flags & CN_EP_CLAMP) x = cn_vf32_min(cn_vf32_set1(g->ep.hi), cn_vf32_max(cn_vf32_set1(g->ep.lo), x));
    cn_vf32_store_n(g->c + i * g->ldc, x, n);
  }
  if (g->ep.tile) g->ep.tile(g->ep.ctx, g->c, g->ldc, 0, 0, g->m, 0, n);
}

#endif
