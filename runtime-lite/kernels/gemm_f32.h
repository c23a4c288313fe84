/* SPDX-License-Identifier: MIT-0 */
/* C [m][n] = A [m][k] B [k][n], f32: A in place with any strides, B packed in column panels (kernels/pack.h).
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_GEMM_F32_H
#define CN_KERNELS_GEMM_F32_H

#include "kernels/gemm_part_f32.h"

/* Bands of rows that tasks are parted into, whole tiles each, so that of two products that are parted by rows what computes a band of one has made that
 * band of the one before: none of much over MC rows, and where there are tiles for it four, of four tiles or more. By sizes alone. */
CN_INLINE size_t cn_gemm_f32_bands(const cn_gemm_f32_args *g) {
  const size_t blocks = cn_max(cn_ceil_div(g->m, CN_GEMM_F32_MC + CN_GEMM_F32_MC / 4), 1);
  return cn_max(blocks, cn_min(cn_ceil_div(g->m, CN_GEMM_F32_MR) / 4, 4));
}

/* Tiles of all rows: of more than one band that two threads part between them, not its columns, an even number, so that each has as many. */
CN_INLINE size_t cn_gemm_f32_tiles(const cn_gemm_f32_args *g, size_t bands) {
  const size_t tiles = cn_max(cn_ceil_div(g->m, CN_GEMM_F32_MR), 1);
  return CN_VF32_LANES > 1 && bands > 1 && g->n <= g->m ? cn_round_up(tiles, 2) : tiles;
}

/* The row that band i of `bands` starts with. */
CN_INLINE size_t cn_gemm_f32_band(const cn_gemm_f32_args *g, size_t i, size_t bands) {
  const size_t tiles = cn_gemm_f32_tiles(g, bands), t = tiles * i / bands;
  return CN_VF32_LANES > 1 ? cn_share(g->m, t, tiles) : cn_min(t * CN_GEMM_F32_MR, g->m);
}

/* Panels of B in one task: about 2^18 products, so that handing it out costs little; of one row, whose products wait for B, four. By sizes alone. */
CN_INLINE size_t cn_gemm_f32_panels(const cn_gemm_f32_args *g) {
  const size_t one = cn_max(cn_ceil_div(g->m, cn_gemm_f32_bands(g)) * CN_GEMM_F32_NR * g->k, 1);
  return g->m == 1 ? 4 : cn_ceil_div((size_t)1 << 18, one);
}

CN_INLINE size_t cn_gemm_f32_tasks(const cn_gemm_f32_args *g) {
  return cn_gemm_f32_bands(g) * cn_ceil_div(cn_ceil_div(g->n, CN_GEMM_F32_NR), cn_gemm_f32_panels(g));
}

/* Bands i0 .. i1, panels j0 .. j1 of B: bands together as far as a block of A goes. */
CN_DRIVER void cn_gemm_bands_f32(const cn_gemm_f32_args *g, size_t i0, size_t i1, size_t j0, size_t j1) {
  const size_t bands = cn_gemm_f32_bands(g);
  while (i0 < i1) {
    const size_t m0 = cn_gemm_f32_band(g, i0, bands);
    for (i0++; i0 < i1 && cn_gemm_f32_band(g, i0 + 1, bands) - m0 <= CN_GEMM_F32_MC + CN_GEMM_F32_MC / 4;) i0++;
    CN_GEMM_F32_PART(g, m0, cn_gemm_f32_band(g, i0, bands), j0, j1);
  }
}

/* Tasks t0 .. t1 of cn_gemm_f32_tasks(g), in any order and on any threads: each writes its own part of C. Tasks side by side have a band in common,
 * or columns where B is larger than A: who takes neighbours reads the smaller of the two again, and the bands of a low A are not all of a height. */
CN_DRIVER void cn_gemm_f32(const cn_gemm_f32_args *g, size_t t0, size_t t1) {
  const size_t panels = cn_ceil_div(g->n, CN_GEMM_F32_NR), each = cn_gemm_f32_panels(g), across = cn_ceil_div(panels, each);
  const int by_columns = g->n > g->m;
  const size_t inner = by_columns ? cn_gemm_f32_bands(g) : across;
  while (t0 < t1) {
    const size_t outer = t0 / inner, first = t0 % inner, whole = first ? 0 : (t1 - t0) / inner;
    const size_t outer_end = outer + cn_max(whole, 1), end = whole ? inner : cn_min(inner, first + (t1 - t0));
    if (by_columns) cn_gemm_bands_f32(g, first, end, outer * each, cn_min(panels, outer_end * each));
    else cn_gemm_bands_f32(g, outer, outer_end, first * each, cn_min(panels, end * each));
    t0 = (outer_end - 1) * inner + end;
  }
}

/* Four panels of B each: what cn_gemm_f32_turn takes at a time. */
CN_INLINE size_t cn_gemm_f32_turns(const cn_gemm_f32_args *g) { return cn_ceil_div(cn_ceil_div(g->n, CN_GEMM_F32_NR), 4); }

/* Turns t0 .. t1, in the order of `back`: a caller that multiplies by the same B again and again goes back and forth, so that what it
 * read last is still in a cache. No sum changes. */
CN_DRIVER void cn_gemm_f32_turn(const cn_gemm_f32_args *g, int back, size_t t0, size_t t1) {
  const size_t bands = cn_gemm_f32_bands(g);
  for (size_t t = t0; t < t1; t++) {
    const size_t j0 = 4 * (back ? t0 + t1 - 1 - t : t), j1 = cn_min(j0 + 4, cn_ceil_div(g->n, CN_GEMM_F32_NR));
    for (size_t i = 0; i < bands; i++) CN_GEMM_F32_PART(g, cn_gemm_f32_band(g, i, bands), cn_gemm_f32_band(g, i + 1, bands), j0, j1);
  }
}

#endif
