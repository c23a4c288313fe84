/* SPDX-License-Identifier: MIT-0 */
/* A part of a product C [m][n] = A [m][k] B [k][n], f32: rows and panels that one task has, tile by tile. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_GEMM_PART_F32_H
#define CN_KERNELS_GEMM_PART_F32_H

#include "kernels/tile_f32.h"

/* A product. Sizes may be zero (k = 0 gives the epilogue of zeros). c must not overlap a or b. */
typedef struct cn_gemm_f32_args {
  size_t m, n, k;
  const float *a; /* element (i, p) at a[i * a_rs + p * a_ks]: [m][k] has (k, 1), its transpose [k][m] has (1, m) */
  size_t a_rs, a_ks;
  float *lines;   /* not NULL: room for a part of A, LINE floats for each of MC + MC / 4 rows or of all, for rows that begin a multiple of 4 KB apart, or what amx/split_f32.h needs; a_ks is 1 */
  const float *b; /* [ceil(n/NR)][k][NR] */
  const uint16_t *b16; /* of kernels/row_16_f32.h, in place of b: the same in 16 bits */
  size_t ldb;     /* of kernels/thin_f32.h and few_f32.h, whose b is not packed: from one of its rows or columns to the next */
  float *c;       /* [m][ldc] */
  size_t ldc;
  cn_epilogue_f32 ep; /* bias: CN_EP_ROW_BIAS [m] or CN_EP_COL_BIAS [n] */
} cn_gemm_f32_args;

/* Floats from row to row where a part of A lies side by side: an odd number of lines. */
#define CN_GEMM_F32_LINE (CN_GEMM_F32_KC + 16)

/* Depth k0 .. k0 + kc of rows m0 .. m1 of A, whose elements lie side by side, to `lines`; what is there behind them stays. */
CN_KERNEL void cn_gemm_copy_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t k0, size_t kc) {
  for (size_t i = m0; i < m1; i++) {
    const float *src = g->a + i * g->a_rs + k0;
    float *dst = g->lines + (i - m0) * CN_GEMM_F32_LINE;
    for (size_t p = 0; p < kc; p += CN_VF32_LANES) cn_vf32_store_n(dst + p, cn_vf32_load_n(src + p, kc - p), kc - p);
  }
}

/* mr rows from i, mr a literal, which begin at a, a_rs apart, and one panel b of B whose first column is n0, depth kc. */
CN_KERNEL void cn_gemm_tile_f32(const cn_gemm_f32_args *g, size_t i, size_t n0, const float *a, size_t a_rs, const float *b, size_t kc,
                                unsigned part, const float *ahead, size_t ahead_step, size_t mr) {
  const size_t at = i * g->ldc + n0;
  const float *bias = g->ep.flags & CN_EP_ROW_BIAS ? g->ep.bias + i : g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + n0 : 0;
  const float *residual = g->ep.flags & CN_EP_RESIDUAL ? g->ep.residual + at : 0;
  cn_vf32 acc[CN_GEMM_F32_MR * CN_GEMM_F32_NV];
  cn_tile_f32(a, a_rs, g->a_ks, 1, b, CN_GEMM_F32_NR, kc, mr, CN_GEMM_F32_NV, CN_TILE_ROWS, acc, ahead, ahead_step);
  cn_tile_finish_f32(acc, g->c + at, g->ldc, part, &g->ep, bias, residual, mr);
}

/* The same for any mr <= MR and n <= NR columns, by way of a tile in memory. */
CN_KERNEL void cn_gemm_edge_f32(const cn_gemm_f32_args *g, size_t i, size_t n0, const float *a, size_t a_rs, const float *b, size_t kc,
                                unsigned part, size_t mr, size_t n) {
  const size_t at = i * g->ldc + n0;
  const float *bias = g->ep.flags & CN_EP_ROW_BIAS ? g->ep.bias + i : g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + n0 : 0;
  const float *residual = g->ep.flags & CN_EP_RESIDUAL ? g->ep.residual + at : 0;
  CN_ALIGN(CN_VF32_LANES * 4) float tile[CN_GEMM_F32_MR * CN_GEMM_F32_NR];
  cn_edge_tile_f32(a, a_rs, g->a_ks, b, CN_GEMM_F32_NR, kc, mr, n, tile);
  cn_edge_finish_f32(tile, CN_GEMM_F32_NR, g->c + at, g->ldc, mr, n, part, &g->ep, bias, residual);
}

#define CN_GEMM_HEIGHT(h)                                                                                       \
  case h:                                                                                                       \
    if (h == CN_GEMM_F32_MR || (h < CN_GEMM_F32_MR && CN_VF32_LANES > 1))                                       \
      cn_gemm_tile_f32(g, i, n0, a, a_rs, b, kc, part, ahead, ahead_step, h);                                   \
    break;

/* A tile of a whole panel, 1 <= mr <= MR <= 12, each height by code of its own (without vectors, whose code is to be small: mr = MR alone). */
CN_KERNEL void cn_gemm_rows_f32(const cn_gemm_f32_args *g, size_t i, size_t n0, const float *a, size_t a_rs, const float *b, size_t kc,
                                unsigned part, const float *ahead, size_t ahead_step, size_t mr) {
  switch (mr) {
    CN_GEMM_HEIGHT(1)
    CN_GEMM_HEIGHT(2)
    CN_GEMM_HEIGHT(3)
    CN_GEMM_HEIGHT(4)
    CN_GEMM_HEIGHT(5)
    CN_GEMM_HEIGHT(6)
    CN_GEMM_HEIGHT(7)
    CN_GEMM_HEIGHT(8)
    CN_GEMM_HEIGHT(9)
    CN_GEMM_HEIGHT(10)
    CN_GEMM_HEIGHT(11)
    CN_GEMM_HEIGHT(12)
    default: break;
  }
}

/* Floats of a page, at whose end processors stop to ask for what comes next. */
#define CN_GEMM_F32_PAGE 1024

/* mr rows from i, which begin at a, of a panel whose first column is n0, depth kc: sums of parts of KC meet in C while the tile's lines are near. */
CN_KERNEL void cn_gemm_parts_f32(const cn_gemm_f32_args *g, size_t i, size_t n0, const float *a, size_t a_rs, const float *b, size_t kc,
                                 unsigned part, const float *ahead, size_t ahead_step, size_t mr) {
  const size_t n = cn_min(CN_GEMM_F32_NR, g->n - n0);
  size_t p = 0;
  do {
    const size_t d = CN_GEMM_F32_DEPTH > CN_GEMM_F32_KC ? cn_min(CN_GEMM_F32_KC, kc - p) : kc;
    const unsigned now = (p == 0 ? part & CN_PART_FIRST : 0) | (p + d == kc ? part & CN_PART_LAST : 0);
    if (n == CN_GEMM_F32_NR && (CN_VF32_LANES > 1 || mr == CN_GEMM_F32_MR)) cn_gemm_rows_f32(g, i, n0, a, a_rs, b, d, now, ahead, ahead_step, mr);
    else cn_gemm_edge_f32(g, i, n0, a, a_rs, b, d, now, mr, n);
    a += d * g->a_ks;
    b += d * CN_GEMM_F32_NR;
    ahead += d * ahead_step;
    p += d;
  } while (CN_GEMM_F32_DEPTH > CN_GEMM_F32_KC && p < kc);
}

/* Rows m0 .. m1, the first at a, of one panel j of B, depth k0 .. k0 + kc, in tiles of heights that differ by one at most (without vectors: of MR
 * and the rest). Each asks for its share of `ahead`, the panel after this one; a single one, which reads B only once, for what lies a page ahead. */
CN_KERNEL void cn_gemm_panel_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, const float *a, size_t a_rs, size_t j, size_t k0, size_t kc,
                                 unsigned part, const float *ahead) {
  const size_t tiles = cn_ceil_div(m1 - m0, CN_GEMM_F32_MR), share = cn_ceil_div(CN_GEMM_F32_NR, tiles);
  const size_t high = (m1 - m0) % tiles, low = (m1 - m0) / tiles;
  const float *b = g->b + (j * g->k + k0) * CN_GEMM_F32_NR;
  size_t i = m0;
  for (size_t t = 0; t < tiles; t++) {
    const size_t mr = CN_VF32_LANES > 1 ? low + (t < high) : cn_min(CN_GEMM_F32_MR, m1 - i);
    const float *next = tiles == 1 ? b + CN_GEMM_F32_PAGE : ahead + t * (kc * CN_GEMM_F32_NR / tiles);
    cn_gemm_parts_f32(g, i, j * CN_GEMM_F32_NR, a, a_rs, b, kc, part, next, share, mr);
    i += mr;
    a += mr * a_rs;
  }
}

/* Depth that passes at a time, whole parts of KC, as even as can be. */
CN_INLINE size_t cn_gemm_f32_depth(const cn_gemm_f32_args *g) {
  const size_t parts = cn_max(cn_ceil_div(g->k, CN_GEMM_F32_DEPTH), 1);
  return CN_GEMM_F32_DEPTH > CN_GEMM_F32_KC ? cn_round_up(cn_ceil_div(g->k, parts), CN_GEMM_F32_KC) : CN_GEMM_F32_KC;
}

/* Depth of one row's partial sums, in whichever way its columns are computed: equal columns give equal sums. */
#define CN_GEMV_F32_KC 128

/* Whether a part of A is worth copying for these rows and so many panels: full tiles have more lines side by side than the 8 ways that many
 * processors' first caches have for rows that begin a multiple of 4 KB apart, so that each would be gone before its next element is read. */
CN_INLINE int cn_gemm_f32_copies(const cn_gemm_f32_args *g, size_t rows, size_t panels) {
  return CN_GEMM_F32_MR > 8 && CN_GEMM_F32_DEPTH == CN_GEMM_F32_KC && g->lines && panels >= 2 && rows / cn_ceil_div(rows, CN_GEMM_F32_MR) + 2 >= CN_GEMM_F32_MR;
}

/* Rows m0 .. m1, panels j0 .. j1. A block of A (MC x DEPTH) stays in the second cache while the panels pass through the first. Sums of parts of
 * the depth, added, have a fraction of the rounding error of one long sum. */
CN_KERNEL void cn_gemm_block_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t j0, size_t j1) {
  const size_t depth = g->m == 1 ? CN_GEMV_F32_KC : cn_gemm_f32_depth(g);
  const int copies = cn_gemm_f32_copies(g, m1 - m0, j1 - j0);
  size_t k0 = 0;
  do {
    const size_t kc = cn_min(depth, g->k - k0);
    const unsigned part = (k0 == 0 ? CN_PART_FIRST : 0) | (k0 + kc == g->k ? CN_PART_LAST : 0);
    const float *a = copies ? g->lines : g->a + m0 * g->a_rs + k0 * g->a_ks;
    if (copies) cn_gemm_copy_f32(g, m0, m1, k0, kc);
    for (size_t j = j0; j < j1; j++) {
      const size_t next = j + 1 < j1 ? (j + 1) * g->k + k0 : part & CN_PART_LAST ? cn_min(j + 1, (g->n - 1) / CN_GEMM_F32_NR) * g->k : j0 * g->k + k0 + kc;
      cn_gemm_panel_f32(g, m0, m1, a, copies ? CN_GEMM_F32_LINE : g->a_rs, j, k0, kc, part, g->b + next * CN_GEMM_F32_NR);
      if ((part & CN_PART_LAST) && g->ep.tile) {
        const size_t n0 = j * CN_GEMM_F32_NR;
        g->ep.tile(g->ep.ctx, g->c + m0 * g->ldc + n0, g->ldc, 0, m0, m1 - m0, n0, cn_min(CN_GEMM_F32_NR, g->n - n0));
      }
    }
    k0 += kc;
  } while (k0 < g->k);
}

/* Columns n0 .. n0 + n of one row, whose sums are in tile, with what follows them. */
CN_KERNEL void cn_gemv_finish_f32(const cn_gemm_f32_args *g, const float *tile, size_t n0, size_t n) {
  cn_edge_finish_f32(tile, 0, g->c + n0, 0, 1, n, CN_PART_FIRST | CN_PART_LAST, &g->ep,
                     g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + n0 : g->ep.bias, g->ep.residual ? g->ep.residual + n0 : 0);
  if (g->ep.tile) g->ep.tile(g->ep.ctx, g->c + n0, g->ldc, 0, 0, 1, n0, n);
}

/* A vector of B, whatever the type of its elements. */
typedef cn_vf32 cn_vf32_loads(const void *p);

CN_KERNEL cn_vf32 cn_gemv_load_f32(const void *p) { return cn_vf32_load(p); }

/* One row times `count` panels from j side by side, a literal, whose elements have `size` bytes, a literal: so many streams of B, four of which have enough sums in
 * flight to hide the latency of an FMA. */
CN_KERNEL void cn_gemv_panels_f32(const cn_gemm_f32_args *g, size_t j, size_t count, const void *panels, size_t size, cn_vf32_loads *load) {
  const size_t nv = CN_GEMM_F32_NV, n0 = j * CN_GEMM_F32_NR, n = cn_min(count * CN_GEMM_F32_NR, g->n - n0);
  const float *a = g->a;
  const char *b = (const char *)panels + n0 * g->k * size;
  const size_t step = g->k * CN_GEMM_F32_NR;
  CN_ALIGN(CN_VF32_LANES * 4) float tile[4 * CN_GEMM_F32_NR];
  cn_vf32 acc[4 * CN_GEMM_F32_NV];
  size_t p = 0;
  do {
    const size_t first = p, end = cn_min(g->k, p + CN_GEMV_F32_KC);
    CN_UNROLL(16)
    for (size_t i = 0; i < count * nv; i++) acc[i] = cn_vf32_zero();
    for (; p < end; p++, a += g->a_ks, b += CN_GEMM_F32_NR * size) {
      cn_vf32 x = cn_vf32_set1(*a);
      CN_UNROLL(16)
      for (size_t i = 0; i < count * nv; i++)
        acc[i] = cn_vf32_fma(x, load(b + (i / nv * step + i % nv * CN_VF32_LANES) * size), acc[i]);
    }
    if (first) {
      CN_UNROLL(16)
      for (size_t i = 0; i < count * nv; i++) acc[i] = cn_vf32_add(acc[i], cn_vf32_load(tile + i * CN_VF32_LANES));
    }
    CN_UNROLL(16)
    for (size_t i = 0; i < count * nv; i++) cn_vf32_store(tile + i * CN_VF32_LANES, acc[i]);
  } while (p < g->k);
  cn_gemv_finish_f32(g, tile, n0, n);
}

/* Steps of depth of cn_gemv_near_f32 whose sums are apart, so that enough are in flight. */
#define CN_GEMV_F32_STEPS 4

/* Whether one row is multiplied panel by panel: where there are vectors and B has no four panels, or long vectors and it stays in the second cache, as what is
 * read again and again does. One stream of it reads on where four pause (Zen 5: 512 KiB at 265 GB/s instead of 215 to 235, a MiB at 200 instead of 185; with
 * 144 MiB there is no difference). Of short vectors the loads of A, one for each step of a panel, would take as long. */
CN_INLINE int cn_gemv_f32_is_near(const cn_gemm_f32_args *g) {
  return CN_VF32_LANES > 1 && g->m == 1 && (g->n < 4 * CN_GEMM_F32_NR || (CN_VF32_LANES >= 16 && g->k * g->n <= (size_t)1 << 19));
}

/* Panels that cn_gemv_near_f32 has side by side where there are registers for them: a number of A, loaded, is multiplied by as many more vectors, and what a
 * processor can load at once is what bounds such a row (Granite Rapids: a MiB at 173 GB/s instead of 145). */
#define CN_GEMV_F32_PAIR (CN_VF32_LANES >= 16 ? 2 : 1)

/* One row times `count` panels from j, a literal, whose elements have `size` bytes, a literal. */
CN_KERNEL void cn_gemv_near_f32(const cn_gemm_f32_args *g, size_t j, size_t count, const void *panels, size_t size, cn_vf32_loads *load) {
  const size_t nv = CN_GEMM_F32_NV, all = count * nv, steps = CN_GEMV_F32_STEPS, n0 = j * CN_GEMM_F32_NR, n = cn_min(count * CN_GEMM_F32_NR, g->n - n0);
  const size_t line = CN_GEMM_F32_NR * size, panel = g->k * line;
  const float *a = g->a;
  const char *b = (const char *)panels + j * panel;
  CN_ALIGN(CN_VF32_LANES * 4) float tile[CN_GEMV_F32_PAIR * CN_GEMM_F32_NR];
  cn_vf32 acc[CN_GEMV_F32_STEPS * CN_GEMV_F32_PAIR * CN_GEMM_F32_NV];
  size_t p = 0;
  do {
    const size_t first = p, end = cn_min(g->k, p + steps * CN_GEMV_F32_KC);
    CN_UNROLL(16)
    for (size_t i = 0; i < steps * all; i++) acc[i] = cn_vf32_zero();
    for (; p + steps <= end; p += steps, a += steps * g->a_ks, b += steps * line) {
      CN_UNROLL(16)
      for (size_t i = 0; i < steps * all; i++)
        acc[i] = cn_vf32_fma(cn_vf32_set1(a[i / all * g->a_ks]), load(b + i % all / nv * panel + i / all * line + i % nv * CN_VF32_LANES * size), acc[i]);
    }
    for (; p < end; p++, a += g->a_ks, b += line) {
      CN_UNROLL(4)
      for (size_t i = 0; i < all; i++) acc[i] = cn_vf32_fma(cn_vf32_set1(*a), load(b + i / nv * panel + i % nv * CN_VF32_LANES * size), acc[i]);
    }
    CN_UNROLL(4)
    for (size_t i = 0; i < all; i++) {
      acc[i] = cn_vf32_add(cn_vf32_add(acc[i], acc[all + i]), cn_vf32_add(acc[2 * all + i], acc[3 * all + i]));
      if (first) acc[i] = cn_vf32_add(acc[i], cn_vf32_load(tile + i * CN_VF32_LANES));
      cn_vf32_store(tile + i * CN_VF32_LANES, acc[i]);
    }
  } while (p < g->k);
  if (n < all * CN_VF32_LANES) {
    cn_gemv_finish_f32(g, tile, n0, n);
    return;
  }
  CN_UNROLL(2)
  for (size_t i = 0; i < count; i++) {
    const size_t at = n0 + i * CN_GEMM_F32_NR;
    const float *bias = g->ep.flags & CN_EP_ROW_BIAS ? g->ep.bias : g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + at : 0;
    cn_tile_finish_f32(acc + i * nv, g->c + at, 0, CN_PART_FIRST | CN_PART_LAST, &g->ep, bias, g->ep.flags & CN_EP_RESIDUAL ? g->ep.residual + at : 0, 1);
  }
  if (g->ep.tile) g->ep.tile(g->ep.ctx, g->c + n0, g->ldc, 0, 0, 1, n0, n);
}

/* The same of panels j to j1: returns the first that is left, j1 or, where B stays in no near cache, j. */
CN_KERNEL size_t cn_gemv_nears_f32(const cn_gemm_f32_args *g, size_t j, size_t j1, const void *panels, size_t size, cn_vf32_loads *load) {
  if (!cn_gemv_f32_is_near(g)) return j;
  for (; CN_GEMV_F32_PAIR > 1 && j + CN_GEMV_F32_PAIR <= j1; j += CN_GEMV_F32_PAIR) cn_gemv_near_f32(g, j, CN_GEMV_F32_PAIR, panels, size, load);
  for (; j < j1; j++) cn_gemv_near_f32(g, j, 1, panels, size, load);
  return j;
}

/* Panels of B that pass for each part of the depth, so that what they add to, of `rows` rows, stays in the second cache: as even as can be. Where one
 * tile is as high as all rows, nothing of A is to stay and each panel is read through. */
CN_INLINE size_t cn_gemm_f32_group(const cn_gemm_f32_args *g, size_t rows, size_t panels) {
  const size_t bytes = rows * panels * CN_GEMM_F32_NR * sizeof(float), groups = g->k > CN_GEMM_F32_DEPTH ? cn_ceil_div(bytes, 384 << 10) : 1;
  return rows > CN_GEMM_F32_MR ? cn_ceil_div(panels, cn_max(groups, 1)) : 1;
}

/* Rows m0 .. m1, panels j0 .. j1 of B. */
CN_DRIVER void cn_gemm_part_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t j0, size_t j1) {
  const size_t each = cn_gemm_f32_group(g, m1 - m0, j1 - j0);
  if (m0 < m1) j0 = cn_gemv_nears_f32(g, j0, j1, g->b, sizeof *g->b, cn_gemv_load_f32);
  for (; g->m == 1 && j0 + 4 <= j1; j0 += 4) cn_gemv_panels_f32(g, j0, 4, g->b, sizeof *g->b, cn_gemv_load_f32);
  for (; m0 < m1 && j0 < j1; j0 += each) cn_gemm_block_f32(g, m0, m1, j0, cn_min(j1, j0 + each));
}

/* The function that computes a part, of the arguments of cn_gemm_part_f32: a layer that has another way names its own. */
#ifndef CN_GEMM_F32_PART
#define CN_GEMM_F32_PART cn_gemm_part_f32
#endif

#endif
