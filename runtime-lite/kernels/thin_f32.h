/* SPDX-License-Identifier: MIT-0 */
/* Products of few rows by a matrix that only the call knows: it is read once, where it lies, since packing it would take longer than the products do. A step
 * of attention is two of them, by keys and by values. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_THIN_F32_H
#define CN_KERNELS_THIN_F32_H

#include "kernels/few_f32.h"
#include "kernels/thin.h"

/* Columns of a task. */
#define CN_THIN_F32_COLUMNS 64

/* Vectors of columns side by side. */
#define CN_THIN_F32_NV (CN_VF32_LANES == 8 ? 2 : 4)

CN_INLINE size_t cn_thin_f32_tasks(const cn_gemm_f32_args *g) { return cn_ceil_div(g->n, CN_THIN_F32_COLUMNS); }

/* What follows the products of columns n0 .. n0 + n, which lie in tile [m][COLUMNS]. */
CN_DRIVER void cn_thin_finish_f32(const cn_gemm_f32_args *g, const float *tile, size_t n0, size_t n) {
  cn_edge_finish_f32(tile, CN_THIN_F32_COLUMNS, g->c + n0, g->ldc, g->m, n, CN_PART_FIRST | CN_PART_LAST, &g->ep,
                     g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + n0 : g->ep.bias, g->ep.flags & CN_EP_RESIDUAL ? g->ep.residual + n0 : 0);
  if (g->ep.tile) g->ep.tile(g->ep.ctx, g->c + n0, g->ldc, 0, 0, g->m, n0, n);
}

/* One step of depth of cn_thin_dots_tile_f32, n lanes of it. */
CN_KERNEL void cn_thin_dots_step_f32(const float *a, size_t a_rs, const float *const *columns, size_t p, size_t n, size_t rows, cn_vf32 *sums) {
  const size_t across = CN_VF32_LANES / rows;
  cn_vf32 x[CN_VF32_LANES];
  CN_UNROLL(4)
  for (size_t i = 0; i < rows; i++) x[i] = n < CN_VF32_LANES ? cn_vf32_load_n(a + i * a_rs + p, n) : cn_vf32_load(a + i * a_rs + p);
  CN_UNROLL(16)
  for (size_t j = 0; j < across; j++) {
    const cn_vf32 y = n < CN_VF32_LANES ? cn_vf32_load_n(columns[j] + p, n) : cn_vf32_load(columns[j] + p);
    CN_UNROLL(4)
    for (size_t i = 0; i < rows; i++) sums[i * across + j] = cn_vf32_fma(x[i], y, sums[i * across + j]);
  }
}

/* rows, a literal that divides the lanes, of A from a by as many columns as then fill a vector with sums, those beyond the n there are being the last again. */
CN_KERNEL void cn_thin_dots_tile_f32(const cn_gemm_f32_args *g, const float *a, const float *b, size_t n, float *tile, size_t rows) {
  const size_t across = CN_VF32_LANES / rows, whole = g->k / CN_VF32_LANES * CN_VF32_LANES;
  const float *columns[CN_VF32_LANES];
  cn_vf32 sums[CN_VF32_LANES];
  CN_ALIGN(CN_VF32_LANES * 4) float apart[CN_VF32_LANES];
  CN_UNROLL(16)
  for (size_t j = 0; j < across; j++) columns[j] = b + cn_min(j, n - 1) * g->ldb;
  CN_UNROLL(16)
  for (size_t i = 0; i < CN_VF32_LANES; i++) sums[i] = cn_vf32_zero();
  for (size_t p = 0; p < whole; p += CN_VF32_LANES) cn_thin_dots_step_f32(a, g->a_rs, columns, p, CN_VF32_LANES, rows, sums);
  if (whole < g->k) cn_thin_dots_step_f32(a, g->a_rs, columns, whole, g->k - whole, rows, sums);
  cn_vf32_store(apart, cn_vf32_sums(sums));
  for (size_t i = 0; i < rows; i++) memcpy(tile + i * CN_THIN_F32_COLUMNS, apart + i * across, across * sizeof *apart);
}

/* The products of so many rows, a literal, from row i on and n columns from b. */
CN_KERNEL void cn_thin_dots_rows_f32(const cn_gemm_f32_args *g, size_t i, const float *b, size_t n, float *tile, size_t rows) {
  const size_t across = CN_VF32_LANES / rows;
  for (size_t j = 0; j < n; j += across)
    cn_thin_dots_tile_f32(g, g->a + i * g->a_rs, b + j * g->ldb, n - j, tile + i * CN_THIN_F32_COLUMNS + j, rows);
}

/* Tasks t0 .. t1 of cn_thin_f32_tasks(g), of at most CN_THIN_ROWS rows whose elements lie side by side (a_ks is 1), as do those of each column of b, ldb
 * behind the one before. */
CN_DRIVER void cn_thin_dots_f32(const cn_gemm_f32_args *g, size_t t0, size_t t1) {
  CN_ALIGN(CN_VF32_LANES * 4) float tile[CN_THIN_ROWS * CN_THIN_F32_COLUMNS];
  for (; t0 < t1; t0++) {
    const size_t n0 = t0 * CN_THIN_F32_COLUMNS, n = cn_min(CN_THIN_F32_COLUMNS, g->n - n0);
    const float *b = g->b + n0 * g->ldb;
    size_t i = 0;
    if (CN_VF32_LANES >= 4) {
      for (; i + 4 <= g->m; i += 4) cn_thin_dots_rows_f32(g, i, b, n, tile, 4);
    }
    if (CN_VF32_LANES >= 2) {
      for (; i + 2 <= g->m; i += 2) cn_thin_dots_rows_f32(g, i, b, n, tile, 2);
    }
    for (; i < g->m; i++) cn_thin_dots_rows_f32(g, i, b, n, tile, 1);
    cn_thin_finish_f32(g, tile, n0, n);
  }
}

/* rows x nv vectors, literals, of columns from b; of one vector n lanes. Sums of parts of the depth, added, as of one row of cn_gemm_f32. */
CN_KERNEL void cn_thin_rows_tile_f32(const cn_gemm_f32_args *g, const float *a, const float *b, size_t n, float *tile, size_t rows, size_t nv) {
  size_t p = 0;
  do {
    const size_t first = p, end = cn_min(g->k, p + CN_GEMV_F32_KC);
    cn_vf32 sums[4 * CN_THIN_F32_NV];
    CN_UNROLL(16)
    for (size_t i = 0; i < rows * nv; i++) sums[i] = cn_vf32_zero();
    for (; p < end; p++, a += g->a_ks, b += g->ldb) {
      cn_vf32 y[CN_THIN_F32_NV];
      CN_UNROLL(4)
      for (size_t v = 0; v < nv; v++) y[v] = nv == 1 ? cn_vf32_load_n(b, n) : cn_vf32_load(b + v * CN_VF32_LANES);
      CN_UNROLL(4)
      for (size_t i = 0; i < rows; i++) {
        const cn_vf32 x = cn_vf32_set1(a[i * g->a_rs]);
        CN_UNROLL(4)
        for (size_t v = 0; v < nv; v++) sums[i * nv + v] = cn_vf32_fma(x, y[v], sums[i * nv + v]);
      }
    }
    CN_UNROLL(16)
    for (size_t i = 0; i < rows * nv; i++) {
      float *at = tile + i / nv * CN_THIN_F32_COLUMNS + i % nv * CN_VF32_LANES;
      cn_vf32_store(at, first ? cn_vf32_add(cn_vf32_load(at), sums[i]) : sums[i]);
    }
  } while (p < g->k);
}

/* So many rows, a literal, from row i on, and n columns from b. */
CN_KERNEL void cn_thin_rows_rows_f32(const cn_gemm_f32_args *g, size_t i, const float *b, size_t n, float *tile, size_t rows) {
  const float *a = g->a + i * g->a_rs;
  size_t j = 0;
  tile += i * CN_THIN_F32_COLUMNS;
  for (; j + CN_THIN_F32_NV * CN_VF32_LANES <= n; j += CN_THIN_F32_NV * CN_VF32_LANES) cn_thin_rows_tile_f32(g, a, b + j, 0, tile + j, rows, CN_THIN_F32_NV);
  for (; j < n; j += CN_VF32_LANES) cn_thin_rows_tile_f32(g, a, b + j, n - j, tile + j, rows, 1);
}

/* The same where the elements of each row of b lie side by side, ldb behind the one before. */
CN_DRIVER void cn_thin_rows_f32(const cn_gemm_f32_args *g, size_t t0, size_t t1) {
  CN_ALIGN(CN_VF32_LANES * 4) float tile[CN_THIN_ROWS * CN_THIN_F32_COLUMNS];
  for (; t0 < t1; t0++) {
    const size_t n0 = t0 * CN_THIN_F32_COLUMNS, n = cn_min(CN_THIN_F32_COLUMNS, g->n - n0);
    size_t i = 0;
    for (; i + 4 <= g->m; i += 4) cn_thin_rows_rows_f32(g, i, g->b + n0, n, tile, 4);
    for (; i + 2 <= g->m; i += 2) cn_thin_rows_rows_f32(g, i, g->b + n0, n, tile, 2);
    for (; i < g->m; i++) cn_thin_rows_rows_f32(g, i, g->b + n0, n, tile, 1);
    cn_thin_finish_f32(g, tile, n0, n);
  }
}

#endif
