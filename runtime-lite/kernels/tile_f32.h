/* SPDX-License-Identifier: MIT-0 */
/* The register tile of the f32 matrix product and convolution, and what is done to it before it is stored.
 * Needs a SIMD layer (simd/<isa>.h) included before. */
#ifndef CN_KERNELS_TILE_F32_H
#define CN_KERNELS_TILE_F32_H

#include "base.h"

#define CN_GEMM_F32_NV (CN_GEMM_F32_NR / CN_VF32_LANES)

/* Flags of cn_epilogue_f32. */
#define CN_EP_ROW_BIAS 1u

#define CN_EP_COL_BIAS 2u

#define CN_EP_RESIDUAL 4u

#define CN_EP_CLAMP 8u

/* What follows a product before its result leaves the cache. In registers, in this order: + bias, + residual, clamp
 * (NaN stays NaN). Then `tile`, if not NULL, once for each finished block of a few kilobytes, in place: rows m0 .. m0 + m,
 * columns n0 .. n0 + n of one matrix (one image and group of a convolution, which index counts), ld apart. */
typedef struct cn_epilogue_f32 {
  unsigned flags;
  const float *bias;     /* [M] or [N]; a convolution's runs over all groups: [groups * M] */
  const float *residual; /* same shape and row distance as the result; may be the result itself */
  float lo, hi;          /* clamp */
  void (*tile)(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n);
  void *ctx;
} cn_epilogue_f32;

/* One step of depth: acc[mr][nv] += column of A, `at` behind the rows' pointers, x row b of B. */
CN_KERNEL void cn_tile_step_f32(const float *const *rows, size_t a_rs, size_t at, const float *b, size_t mr, size_t nv, size_t shared, cn_vf32 *acc) {
  CN_UNROLL(16)
  for (size_t i = 0; i < mr; i++) {
    cn_vf32 x = cn_vf32_set1(rows[i / shared][i % shared * a_rs + at]);
    CN_UNROLL(4)
    for (size_t v = 0; v < nv; v++) acc[i * nv + v] = cn_vf32_fma(x, cn_vf32_load(b + v * CN_VF32_LANES), acc[i * nv + v]);
  }
}

/* `turn` steps, a literal, of columns of A that are a_ks apart, a literal; each `every`th, a literal, asks for what lies ahead. */
CN_KERNEL void cn_tile_turn_f32(const float *const *rows, size_t a_rs, size_t a_ks, const float *b, size_t b_ks, size_t turn, size_t mr, size_t nv,
                                size_t shared, cn_vf32 *acc, const float *ahead, size_t ahead_step, size_t every) {
  CN_UNROLL(4)
  for (size_t u = 0; u < turn; u++) {
    if (ahead_step && u % every == 0) CN_PREFETCH(ahead + u * ahead_step);
    cn_tile_step_f32(rows, a_rs, u * a_ks, b + u * b_ks, mr, nv, shared, acc);
  }
}

/* acc[mr][nv] = A [mr][k] B [k][nv vectors]: element (i, p) of A at a[i * a_rs + p * a_ks], row p of B at b[p * b_ks].
 * mr, nv and shared, how many rows have one pointer (all, where a_rs is a literal), are literals; acc becomes registers. ahead: what comes
 * next from memory, asked for by ahead_step floats a step (0, a literal: not at all); weights seldom wait in a near cache, and this hides that.
 * Several steps a turn where the layer says so and a_ks is `near`, a literal: of 256 branches a processor does not foresee the last, of 64 it may, and one
 * that two programs share has a dispatch slot for each product and hardly one beside. */
CN_KERNEL void cn_tile_f32(const float *a, size_t a_rs, size_t a_ks, size_t near, const float *b, size_t b_ks, size_t k, size_t mr, size_t nv, size_t shared,
                           cn_vf32 *acc, const float *ahead, size_t ahead_step) {
  const size_t turn = CN_TURN(CN_TILE_F32_TURN);
  const float *rows[16];
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vf32_zero();
  CN_UNROLL(16)
  for (size_t i = 0; i < mr; i += shared) {
    rows[i / shared] = a + i * a_rs;
    CN_OPAQUE(rows[i / shared]);
  }
  size_t left = k;
  if (turn > 1 && a_ks == near) {
    size_t turns = k / turn;
    left = k % turn;
    if (ahead_step * turn <= 16) {
      for (; turns > 0; turns--, b += turn * b_ks, ahead += turn * ahead_step) {
        cn_tile_turn_f32(rows, a_rs, near, b, b_ks, turn, mr, nv, shared, acc, ahead, ahead_step, turn);
        CN_UNROLL(16)
        for (size_t i = 0; i < mr; i += shared) rows[i / shared] += turn * near;
      }
    } else {
      for (; turns > 0; turns--, b += turn * b_ks, ahead += turn * ahead_step) {
        cn_tile_turn_f32(rows, a_rs, near, b, b_ks, turn, mr, nv, shared, acc, ahead, ahead_step, 1);
        CN_UNROLL(16)
        for (size_t i = 0; i < mr; i += shared) rows[i / shared] += turn * near;
      }
    }
  }
  for (; left > 0; left--, b += b_ks, ahead += ahead_step) {
    if (ahead_step) CN_PREFETCH(ahead);
    cn_tile_step_f32(rows, a_rs, 0, b, mr, nv, shared, acc);
    CN_UNROLL(16)
    for (size_t i = 0; i < mr; i += shared) rows[i / shared] += a_ks;
  }
}

/* Which part of the depth a tile is: sums of the parts meet in C. */
#define CN_PART_FIRST 1u

#define CN_PART_LAST 2u

/* A tile of mr rows, a literal, from registers to c (row distance ldc): the flags choose whole passes over the registers. bias and
 * residual point at this tile's places. */
CN_KERNEL void cn_tile_finish_f32(cn_vf32 *acc, float *c, size_t ldc, unsigned part, const cn_epilogue_f32 *ep,
                                  const float *bias, const float *residual, size_t mr) {
  const size_t nv = CN_GEMM_F32_NV, lanes = CN_VF32_LANES;
  if (!(part & CN_PART_FIRST)) {
    CN_UNROLL(64)
    for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vf32_add(acc[i], cn_vf32_load(c + i / nv * ldc + i % nv * lanes));
  } else {
    if (ep->flags & CN_EP_ROW_BIAS) {
      CN_UNROLL(64)
      for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vf32_add(acc[i], cn_vf32_set1(bias[i / nv]));
    }
    if (ep->flags & CN_EP_COL_BIAS) {
      CN_UNROLL(64)
      for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vf32_add(acc[i], cn_vf32_load(bias + i % nv * lanes));
    }
    if (ep->flags & CN_EP_RESIDUAL) {
      CN_UNROLL(64)
      for (size_t i = 0; i < mr * nv; i++)
        acc[i] = cn_vf32_add(acc[i], cn_vf32_load(residual + i / nv * ldc + i % nv * lanes));
    }
  }
  if ((part & CN_PART_LAST) && (ep->flags & CN_EP_CLAMP)) {
    cn_vf32 lo = cn_vf32_set1(ep->lo), hi = cn_vf32_set1(ep->hi);
    CN_UNROLL(64)
    for (size_t i = 0; i < mr * nv; i++) acc[i] = cn_vf32_min(hi, cn_vf32_max(lo, acc[i]));
  }
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) cn_vf32_store(c + i / nv * ldc + i % nv * lanes, acc[i]);
}

/* n vectors of sums, `pitch` floats apart from `at` of out and of the residual on: what follows them, whose flags are looked up once; the first `skip` are not
 * stored. n: a literal, at most 16. */
CN_KERNEL void cn_finish_pixels_f32(const cn_epilogue_f32 *ep, cn_vf32 *sums, size_t n, size_t skip, float *out, size_t at, size_t pitch) {
  if (ep->flags & CN_EP_RESIDUAL) {
    const float *residual = ep->residual + at;
    CN_UNROLL(16)
    for (size_t i = 0; i < n; i++) sums[i] = cn_vf32_add(sums[i], cn_vf32_load(residual + i * pitch));
  }
  if (ep->flags & CN_EP_CLAMP) {
    const cn_vf32 lo = cn_vf32_set1(ep->lo), hi = cn_vf32_set1(ep->hi);
    CN_UNROLL(16)
    for (size_t i = 0; i < n; i++) sums[i] = cn_vf32_min(hi, cn_vf32_max(lo, sums[i]));
  }
  out += at;
  CN_UNROLL(16)
  for (size_t i = 0; i < n; i++)
    if (i >= skip) cn_vf32_store(out + i * pitch, sums[i]);
}

/* The same of neighbours. */
CN_KERNEL void cn_finish_vectors_f32(const cn_epilogue_f32 *ep, cn_vf32 *sums, size_t n, size_t skip, float *out, size_t at) {
  cn_finish_pixels_f32(ep, sums, n, skip, out, at, CN_VF32_LANES);
}

/* What follows the products of the m x n corner of a tile that lies in memory (row distance ld), touching nothing outside of it. */
CN_DRIVER void cn_edge_finish_f32(const float *tile, size_t ld, float *c, size_t ldc, size_t m, size_t n, unsigned part,
                                  const cn_epilogue_f32 *ep, const float *bias, const float *residual) {
  const unsigned flags = part & CN_PART_FIRST ? ep->flags : 0;
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j += CN_VF32_LANES) {
      const size_t w = n - j, at = i * ldc + j;
      cn_vf32 x = cn_vf32_load_n(tile + i * ld + j, w);
      if (!(part & CN_PART_FIRST)) x = cn_vf32_add(x, cn_vf32_load_n(c + at, w));
      if (flags & CN_EP_ROW_BIAS) x = cn_vf32_add(x, cn_vf32_set1(bias[i]));
      if (flags & CN_EP_COL_BIAS) x = cn_vf32_add(x, cn_vf32_load_n(bias + j, w));
      if (flags & CN_EP_RESIDUAL) x = cn_vf32_add(x, cn_vf32_load_n(residual + at, w));
      if ((part & CN_PART_LAST) && (ep->flags & CN_EP_CLAMP))
        x = cn_vf32_min(cn_vf32_set1(ep->hi), cn_vf32_max(cn_vf32_set1(ep->lo), x));
      cn_vf32_store_n(c + at, x, w);
    }
  }
}

/* One shape of the edge: mr rows, nv vectors into tile (row distance NR). */
CN_KERNEL void cn_edge_body_f32(const float *a, size_t a_rs, size_t a_ks, const float *b, size_t b_ks, size_t k, size_t mr,
                                size_t nv, float *tile) {
  cn_vf32 acc[16 * 4];
  cn_tile_f32(a, a_rs, a_ks, 1, b, b_ks, k, mr, nv, CN_TILE_ROWS, acc, b, 0);
  CN_UNROLL(64)
  for (size_t i = 0; i < mr * nv; i++) cn_vf32_store(tile + i / nv * CN_GEMM_F32_NR + i % nv * CN_VF32_LANES, acc[i]);
}

/* Rows of an edge tile that are computed at once: all m, each height by code of its own, so that none is a rest of few rows. A layer without
 * vectors, whose code is to be small, takes the greatest of MR, 4, 2, 1. */
CN_INLINE size_t cn_edge_height(size_t m) {
  if (CN_VF32_LANES > 1 || m >= CN_GEMM_F32_MR) return m;
  return CN_GEMM_F32_MR > 4 && m >= 4 ? 4 : CN_GEMM_F32_MR > 2 && m >= 2 ? 2 : 1;
}

#define CN_EDGE_HEIGHT(h)                                                                                                                  \
  case h:                                                                                                                                  \
    if (h <= CN_GEMM_F32_MR && cn_edge_height(h) == h) cn_edge_body_f32(ai, a_rs, a_ks, b, b_ks, k, h, nv, tile + i * CN_GEMM_F32_NR);      \
    break;

/* m rows, nv vectors, a literal. */
CN_KERNEL void cn_edge_rows_f32(const float *a, size_t a_rs, size_t a_ks, const float *b, size_t b_ks, size_t k, size_t m, size_t nv,
                                float *tile) {
  for (size_t i = 0; i < m; i += cn_edge_height(m - i)) {
    const float *ai = a + i * a_rs;
    switch (cn_edge_height(m - i)) {
      CN_EDGE_HEIGHT(1)
      CN_EDGE_HEIGHT(2)
      CN_EDGE_HEIGHT(3)
      CN_EDGE_HEIGHT(4)
      CN_EDGE_HEIGHT(5)
      CN_EDGE_HEIGHT(6)
      CN_EDGE_HEIGHT(7)
      CN_EDGE_HEIGHT(8)
      CN_EDGE_HEIGHT(9)
      CN_EDGE_HEIGHT(10)
      CN_EDGE_HEIGHT(11)
      CN_EDGE_HEIGHT(12)
      default: break;
    }
  }
}

/* tile[m][NR] = A [m][k] B [k][n], 1 <= m <= MR <= 12, n <= NR, of a packed B; half the vectors where they suffice, if there are any: of two
 * rows by two columns of numbers gcc 12 -O3 makes vectors that read beyond A. */
CN_DRIVER void cn_edge_tile_f32(const float *a, size_t a_rs, size_t a_ks, const float *b, size_t b_ks, size_t k, size_t m, size_t n,
                                float *tile) {
  if (CN_VF32_LANES == 1 || n > CN_GEMM_F32_NR / 2) cn_edge_rows_f32(a, a_rs, a_ks, b, b_ks, k, m, CN_GEMM_F32_NV, tile);
  else cn_edge_rows_f32(a, a_rs, a_ks, b, b_ks, k, m, (CN_GEMM_F32_NV + 1) / 2, tile);
}

#endif
