/* SPDX-License-Identifier: MIT-0 */
/* A part of an f32 product by tiles of bf16: each factor is the sum of three numbers of 8 bits, x = x1 + x2 + x3, and a product the sum of the six that count,
 * a1 b3 + a1 b2 + a2 b2 + a2 b1 + a3 b1 + a1 b1; what is left out is 2^-23 of it at most. The weights are those of kernels/gemm_part_f32.h: a panel is split while
 * the one before it is multiplied. Needs a SIMD layer with tiles included before. */
#ifndef CN_AMX_SPLIT_F32_H
#define CN_AMX_SPLIT_F32_H

#include "kernels/gemm_part_f32.h"
#include "kernels/split.h"

/* A panel of B at a depth: k rows of COLUMNS at b, and its parts, [step][3][2][16][32]: in 32 bits of row p rows p and p + 16 of the step. */
typedef struct cn_split_panel {
  const float *b;
  size_t k, skip; /* skip: floats between its end and the panel behind it, which is asked for ahead */
  uint16_t *parts;
} cn_split_panel;

/* Three parts of x and y, `next` apart, p on. */
CN_KERNEL void cn_split_store_f32(cn_vf32 x, cn_vf32 y, uint16_t *p, size_t next) {
  CN_UNROLL(3)
  for (size_t i = 0; i < 3; i++) cn_vs32_store((int32_t *)(void *)(p + i * next), cn_vs32_split(&x, &y));
}

/* Half a row pair of a panel, 32 halves a step; what it asks for is split a step later. What is deeper than k is zero. */
CN_KERNEL void cn_split_half_f32(const cn_split_panel *q, size_t i) {
  const size_t step = i / 32, row = step * CN_SPLIT_STEP + i % 32 / 2, t = i % 2, later = (i + 32) * CN_SPLIT_COLUMNS;
  const float *const next = q->b + later + (later < q->k * CN_SPLIT_COLUMNS ? 0 : q->skip);
  CN_PREFETCH(next);
  CN_PREFETCH(next + 16);
  const float *low = q->b + row * CN_SPLIT_COLUMNS + 16 * t, *high = low + 16 * CN_SPLIT_COLUMNS;
  const cn_vf32 x = row < q->k ? cn_vf32_load(low) : cn_vf32_zero(), y = row + 16 < q->k ? cn_vf32_load(high) : cn_vf32_zero();
  cn_split_store_f32(x, y, q->parts + (step * 6 + t) * CN_SPLIT_TILE + i % 32 / 2 * CN_SPLIT_STEP, 2 * CN_SPLIT_TILE);
}

/* Rows m0 .. m1 of A, depth k0 .. k0 + kc, [tile][step][3][16][32], `height` rows a tile: in 32 bits of a row places p and p + 16 of the step. */
CN_KERNEL void cn_split_rows_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t k0, size_t kc, size_t height, uint16_t *parts) {
  const size_t steps = cn_ceil_div(kc, CN_SPLIT_STEP);
  for (size_t i = m0, tile = 0, row = 0; i < m1; i++) {
    const float *src = g->a + i * g->a_rs + k0;
    uint16_t *p = parts + tile * steps * 3 * CN_SPLIT_TILE + row * CN_SPLIT_STEP;
    for (size_t k = 0; k < kc; k += CN_SPLIT_STEP, p += 3 * CN_SPLIT_TILE) {
      const size_t left = kc - k;
      const cn_vf32 x = cn_vf32_load_n(src + k, left), y = left > 16 ? cn_vf32_load_n(src + k + 16, left - 16) : cn_vf32_zero();
      cn_split_store_f32(x, y, p, CN_SPLIT_TILE);
    }
    if (++row == height) tile++, row = 0;
  }
}

/* Sums [rows][COLUMNS] of rows from i on and of a panel whose first column is n0, depth k0 on, of which those from row `next` on are not in C yet. */
typedef struct cn_split_left {
  const cn_gemm_f32_args *g;
  float *sums;
  size_t i, next, rows, n0, k0;
  unsigned part;
  cn_split_panel panel;
} cn_split_left;

/* A row of a whole panel to c, with what belongs to this part of the depth. */
CN_KERNEL void cn_split_finish_f32(const cn_gemm_f32_args *g, cn_vf32 *x, size_t i, size_t n0, unsigned part) {
  const unsigned flags = part & CN_PART_FIRST ? g->ep.flags : 0;
  const size_t at = i * g->ldc + n0;
  CN_UNROLL(2)
  for (size_t t = 0; t < 2; t++) {
    if (!(part & CN_PART_FIRST)) x[t] = cn_vf32_add(x[t], cn_vf32_load(g->c + at + 16 * t));
    if (flags & CN_EP_ROW_BIAS) x[t] = cn_vf32_add(x[t], cn_vf32_set1(g->ep.bias[i]));
    if (flags & CN_EP_COL_BIAS) x[t] = cn_vf32_add(x[t], cn_vf32_load(g->ep.bias + n0 + 16 * t));
    if (flags & CN_EP_RESIDUAL) x[t] = cn_vf32_add(x[t], cn_vf32_load(g->ep.residual + at + 16 * t));
    if ((part & CN_PART_LAST) && (g->ep.flags & CN_EP_CLAMP)) x[t] = cn_vf32_min(cn_vf32_set1(g->ep.hi), cn_vf32_max(cn_vf32_set1(g->ep.lo), x[t]));
    cn_vf32_store(g->c + at + 16 * t, x[t]);
  }
}

/* A row of sums of which one is not finite, without parts, and one of fewer columns: parts of an infinite factor, or of one next to the largest number, make
 * NaN of what may be infinite or finite. */
CN_DRIVER void cn_split_seldom_f32(const cn_split_left *l, int strange) {
  const cn_gemm_f32_args *g = l->g;
  const size_t i = l->i + l->next, at = i * g->ldc + l->n0, n = cn_min(CN_SPLIT_COLUMNS, g->n - l->n0);
  const float *bias = g->ep.flags & CN_EP_ROW_BIAS ? g->ep.bias + i : g->ep.flags & CN_EP_COL_BIAS ? g->ep.bias + l->n0 : 0;
  float *sums = l->sums + l->next * CN_SPLIT_COLUMNS;
  if (strange) cn_edge_tile_f32(g->a + i * g->a_rs + l->k0, g->a_rs, 1, l->panel.b, CN_GEMM_F32_NR, l->panel.k, 1, n, sums);
  cn_edge_finish_f32(sums, CN_SPLIT_COLUMNS, g->c + at, g->ldc, 1, n, l->part, &g->ep, bias, g->ep.flags & CN_EP_RESIDUAL ? g->ep.residual + at : 0);
}

/* The next row of what is left. */
CN_KERNEL void cn_split_row_f32(cn_split_left *l) {
  const float *sums = l->sums + l->next * CN_SPLIT_COLUMNS;
  cn_vf32 x[2] = {cn_vf32_load(sums), cn_vf32_load(sums + 16)};
  const int strange = cn_vf32_strange(x[0], x[1]);
  if (strange || l->g->n - l->n0 < CN_SPLIT_COLUMNS) cn_split_seldom_f32(l, strange);
  else cn_split_finish_f32(l->g, x, l->i + l->next, l->n0, l->part);
  l->next++;
}

CN_DRIVER void cn_split_flush_f32(cn_split_left *l) {
  while (l->next < l->rows) cn_split_row_f32(l);
}

/* What is done between products, which take tiles' registers and few instructions: sums that are left go to C, a row at a time, and the next panel is
 * split: halves of row pairs from `half` on, `halves` in `slots` turns. */
typedef struct cn_split_work {
  cn_split_left *left;
  const cn_split_panel *ahead;
  size_t half, halves, slots, owed;
} cn_split_work;

CN_KERNEL void cn_split_slot_f32(cn_split_work *w) {
  for (w->owed += w->halves; w->owed >= w->slots; w->owed -= w->slots) cn_split_half_f32(w->ahead, w->half++);
  if (w->left->next < w->left->rows) cn_split_row_f32(w->left);
}

/* The products of one part of two tiles of A, or of one, in tiles 4 and 5, and one of B's two, in 6 and 7, and some work. */
#define CN_SPLIT_PRODUCTS(two) \
  CN_TILE_PRODUCTS(0, 4, 6);   \
  CN_TILE_PRODUCTS(1, 4, 7);   \
  if (two) {                   \
    CN_TILE_PRODUCTS(2, 5, 6); \
    CN_TILE_PRODUCTS(3, 5, 7); \
  }                            \
  cn_split_slot_f32(w)

#define CN_SPLIT_LOAD_A(two, part)                             \
  CN_TILE_LOAD(4, a + (part) * CN_SPLIT_TILE, 64);             \
  if (two) CN_TILE_LOAD(5, a + next + (part) * CN_SPLIT_TILE, 64)

#define CN_SPLIT_LOAD_B(part)                              \
  CN_TILE_LOAD(6, b + 2 * (part) * CN_SPLIT_TILE, 64);     \
  CN_TILE_LOAD(7, b + (2 * (part) + 1) * CN_SPLIT_TILE, 64)

/* A step of the depth: tiles 0 to 3 += a tile of A, or two, `next` apart, times two of B. Each turn changes one factor. two: a literal. */
CN_KERNEL void cn_split_step_f32(const uint16_t *a, size_t next, const uint16_t *b, int two, cn_split_work *w) {
  CN_SPLIT_LOAD_A(two, 0);
  CN_SPLIT_LOAD_B(2);
  CN_SPLIT_PRODUCTS(two);
  CN_SPLIT_LOAD_B(1);
  CN_SPLIT_PRODUCTS(two);
  CN_SPLIT_LOAD_A(two, 1);
  CN_SPLIT_PRODUCTS(two);
  CN_SPLIT_LOAD_B(0);
  CN_SPLIT_PRODUCTS(two);
  CN_SPLIT_LOAD_A(two, 2);
  CN_SPLIT_PRODUCTS(two);
  CN_SPLIT_LOAD_A(two, 0);
  CN_SPLIT_PRODUCTS(two);
}

/* The products of two tiles of `height` rows, or of one, and a panel, to sums [rows][COLUMNS]. A store now and then, here of nothing, keeps the unit awake that
 * tiles are stored by: else the first one behind a microsecond takes a quarter of one. two: a literal. */
CN_KERNEL void cn_split_sums_f32(const uint16_t *a, size_t steps, const uint16_t *b, size_t height, int two, cn_split_work *w, float *sums) {
  const size_t next = steps * 3 * CN_SPLIT_TILE, pitch = CN_SPLIT_COLUMNS * sizeof *sums;
  cn_tiles_settle();
  CN_TILE_ZERO(0);
  CN_TILE_ZERO(1);
  if (two) {
    CN_TILE_ZERO(2);
    CN_TILE_ZERO(3);
  }
  for (size_t s = 0; s < steps; s++) {
    cn_split_step_f32(a + s * 3 * CN_SPLIT_TILE, next, b + s * 6 * CN_SPLIT_TILE, two, w);
    if (s % 4 == 3) CN_TILE_STORE(4, sums, 64);
  }
  cn_split_flush_f32(w->left);
  CN_TILE_STORE(0, sums, pitch);
  CN_TILE_STORE(1, sums + 16, pitch);
  if (two) {
    CN_TILE_STORE(2, sums + height * CN_SPLIT_COLUMNS, pitch);
    CN_TILE_STORE(3, sums + height * CN_SPLIT_COLUMNS + 16, pitch);
  }
}

/* Rows m0 .. m1 and a panel whose first column is n0, depth k0 on; a: the rows' parts; room: for the sums of two turns. */
CN_KERNEL void cn_split_tiles_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t height, const uint16_t *a, const cn_split_panel *q, const cn_split_panel *ahead,
                                  size_t n0, size_t k0, unsigned part, cn_split_left *left, float *room) {
  const size_t steps = cn_ceil_div(q->k, CN_SPLIT_STEP), turns = cn_ceil_div(m1 - m0, 2 * height);
  cn_split_work w = {left, ahead, 0, cn_ceil_div(ahead->k, CN_SPLIT_STEP) * 32, 6 * steps * turns, 0};
  for (size_t i = m0; i < m1; i += 2 * height, a += 2 * steps * 3 * CN_SPLIT_TILE) {
    const size_t rows = cn_min(2 * height, m1 - i);
    float *const sums = left->sums == room ? room + 2 * CN_SPLIT_ROWS * CN_SPLIT_COLUMNS : room;
    if (rows > height) cn_split_sums_f32(a, steps, q->parts, height, 1, &w, sums);
    else cn_split_sums_f32(a, steps, q->parts, height, 0, &w, sums);
    *left = (cn_split_left){g, sums, i, 0, rows, n0, k0, part, *q};
  }
}

/* Rows m0 .. m1, panels j0 .. j1: cn_gemm_block_f32 by parts. */
CN_KERNEL void cn_split_block_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t height, size_t j0, size_t j1) {
  const size_t tiles = cn_ceil_div(m1 - m0, height), part_room = CN_GEMM_F32_KC / CN_SPLIT_STEP * 3 * CN_SPLIT_TILE;
  uint16_t *const a = (uint16_t *)(void *)g->lines, *const b = a + tiles * part_room;
  CN_ALIGN(64) float room[4 * CN_SPLIT_ROWS * CN_SPLIT_COLUMNS];
  cn_split_left left = {g, room, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0}};
  for (size_t k0 = 0; k0 < g->k; k0 += CN_GEMM_F32_KC) {
    const size_t kc = cn_min(CN_GEMM_F32_KC, g->k - k0);
    const unsigned part = (k0 == 0 ? CN_PART_FIRST : 0) | (k0 + kc == g->k ? CN_PART_LAST : 0);
    const size_t skip = (g->k - kc) * CN_GEMM_F32_NR;
    cn_split_panel now = {g->b + (j0 * g->k + k0) * CN_GEMM_F32_NR, kc, skip, b};
    cn_split_rows_f32(g, m0, m1, k0, kc, height, a);
    for (size_t i = 0; i < cn_ceil_div(kc, CN_SPLIT_STEP) * 32; i++) cn_split_half_f32(&now, i);
    for (size_t j = j0; j < j1; j++) {
      const size_t n0 = j * CN_GEMM_F32_NR;
      const cn_split_panel ahead = {now.b + g->k * CN_GEMM_F32_NR, j + 1 < j1 ? kc : 0, skip, now.parts == b ? b + 2 * part_room : b};
      cn_split_tiles_f32(g, m0, m1, height, a, &now, &ahead, n0, k0, part, &left, room);
      if ((part & CN_PART_LAST) && g->ep.tile) {
        cn_split_flush_f32(&left);
        g->ep.tile(g->ep.ctx, g->c + m0 * g->ldc + n0, g->ldc, 0, m0, m1 - m0, n0, cn_min(CN_GEMM_F32_NR, g->n - n0));
      }
      now = ahead;
    }
  }
  cn_split_flush_f32(&left);
}

/* cn_gemm_part_f32, of many rows whose elements lie side by side by tiles. By the product's sizes alone, so that a row's sums are the same in any part. */
CN_DRIVER void cn_split_part_f32(const cn_gemm_f32_args *g, size_t m0, size_t m1, size_t j0, size_t j1) {
  const size_t rows = m1 - m0, each = cn_gemm_f32_group(g, rows, j1 - j0);
  if (!g->lines || g->a_ks != 1 || !cn_split_wins(g->m, g->n, g->k)) {
    cn_gemm_part_f32(g, m0, m1, j0, j1);
    return;
  }
  if (rows == 0 || j0 >= j1) return;
  const size_t height = cn_ceil_div(rows, cn_ceil_div(rows, CN_SPLIT_ROWS));
  cn_tiles_begin(height);
  for (; j0 < j1; j0 += each) cn_split_block_f32(g, m0, m1, height, j0, cn_min(j1, j0 + each));
  cn_tiles_end();
}

#endif
