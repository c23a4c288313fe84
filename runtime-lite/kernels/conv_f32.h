/* SPDX-License-Identifier: MIT-0 */
/* Convolution, f32: plain channel-first activations, weights packed by cn_pack_conv_f32, as a matrix product of weights and
 * pixels that are gathered a block at a time (implicit GEMM). Needs a SIMD layer included before. */
#ifndef CN_KERNELS_CONV_F32_H
#define CN_KERNELS_CONV_F32_H

#include "kernels/gather_f32.h"
#include "kernels/tile_f32.h"

/* A convolution; out must not overlap in or weights. */
typedef struct cn_conv_f32_args {
  cn_window window;
  const float *in;      /* [images][groups * c][in...] */
  const float *weights; /* [groups][ceil(m/MR)][taps * c][MR] */
  float *out;           /* [images][groups * m][out...] */
  cn_epilogue_f32 ep;   /* CN_EP_ROW_BIAS: bias of each output channel; its tile's index is image * groups + group */
  int interleaved;      /* out, and the residual, have the groups' channels in turns, [images][m][groups][out...]; cn_conv_f32 alone */
} cn_conv_f32_args;

CN_INLINE size_t cn_conv_depth(const cn_window *w) { return cn_volume(w->kernel) * w->c; }

/* Floats of scratch that one call of cn_conv_f32 needs. */
CN_INLINE size_t cn_conv_f32_scratch(const cn_window *w) {
  size_t panels = cn_ceil_div(cn_min(cn_volume(w->out), CN_GEMM_F32_NC), CN_GEMM_F32_NR);
  return cn_min(cn_conv_depth(w), CN_GEMM_F32_KC) * CN_GEMM_F32_NR * panels + CN_VF32_LANES;
}

/* Blocks of NC pixels; where these are few, output channels are split too, in at least four tiles. By sizes alone. */
CN_INLINE size_t cn_conv_f32_blocks(const cn_window *w) {
  return w->images * w->groups * cn_ceil_div(cn_volume(w->out), CN_GEMM_F32_NC);
}

CN_INLINE size_t cn_conv_f32_rows(const cn_window *w) {
  const size_t want = cn_ceil_div(16, cn_max(cn_conv_f32_blocks(w), 1));
  const size_t most = cn_max(cn_ceil_div(w->m, 4 * CN_GEMM_F32_MR), 1);
  return cn_max(cn_round_up(cn_ceil_div(w->m, cn_min(want, most)), CN_GEMM_F32_MR), CN_GEMM_F32_MR);
}

CN_INLINE size_t cn_conv_f32_tasks(const cn_conv_f32_args *a) {
  return cn_conv_f32_blocks(&a->window) * cn_ceil_div(a->window.m, cn_conv_f32_rows(&a->window));
}

/* One task's constants: a block of pixels of one image and group. */
typedef struct cn_conv_f32_block {
  const cn_conv_f32_args *args;
  const float *weights, *bias; /* this group's */
  float *out;                  /* of this image and group, ld from channel to channel */
  size_t index, m, depth, pixels, ld;
} cn_conv_f32_block;

/* Pixels of a panel that is computed with vectors of channels instead. */
#define CN_CONV_F32_NARROW 4

/* tile[n * MR][NR] = the weights of n tiles, a literal, `next` apart, times the first CN_CONV_F32_NARROW pixels of a panel. Sums are those of a wide tile. */
CN_KERNEL void cn_conv_narrow_tile_f32(const float *a, size_t next, const float *panel, size_t step, size_t kc, size_t n, float *tile) {
  const size_t nv = (CN_GEMM_F32_MR + CN_VF32_LANES - 1) / CN_VF32_LANES, wide = CN_CONV_F32_NARROW;
  cn_vf32 acc[2 * 2 * CN_CONV_F32_NARROW];
  CN_UNROLL(16)
  for (size_t i = 0; i < n * nv * wide; i++) acc[i] = cn_vf32_zero();
  for (size_t p = 0; p < kc; p++, a += CN_GEMM_F32_MR, panel += step) {
    CN_UNROLL(4)
    for (size_t i = 0; i < n * nv; i++) {
      const cn_vf32 w = cn_vf32_load_n(a + i / nv * next + i % nv * CN_VF32_LANES, CN_GEMM_F32_MR - i % nv * CN_VF32_LANES);
      CN_UNROLL(4)
      for (size_t x = 0; x < wide; x++) acc[i * wide + x] = cn_vf32_fma(cn_vf32_set1(panel[x]), w, acc[i * wide + x]);
    }
  }
  CN_UNROLL(16)
  for (size_t i = 0; i < n * nv * wide; i++) {
    CN_ALIGN(CN_VF32_LANES * 4) float lanes[CN_VF32_LANES];
    const size_t first = i / wide % nv * CN_VF32_LANES;
    float *to = tile + (i / wide / nv * CN_GEMM_F32_MR + first) * CN_GEMM_F32_NR + i % wide;
    cn_vf32_store(lanes, acc[i]);
    for (size_t l = 0; l < cn_min(CN_VF32_LANES, CN_GEMM_F32_MR - first); l++) to[l * CN_GEMM_F32_NR] = lanes[l];
  }
}

/* As cn_conv_panel_f32, for n <= CN_CONV_F32_NARROW pixels: a vector of pixels would be mostly empty. */
CN_DRIVER void cn_conv_narrow_f32(const cn_conv_f32_block *t, size_t m0, size_t m1, size_t p, size_t n, const float *panel, size_t step,
                                  size_t k0, size_t kc, unsigned part) {
  const cn_epilogue_f32 *ep = &t->args->ep;
  for (size_t i = m0; i < m1; i += 2 * CN_GEMM_F32_MR) {
    const size_t m = cn_min(2 * CN_GEMM_F32_MR, m1 - i);
    const float *a = t->weights + i * t->depth + k0 * CN_GEMM_F32_MR;
    float *out = t->out + i * t->ld + p;
    CN_ALIGN(CN_VF32_LANES * 4) float tile[2 * CN_GEMM_F32_MR * CN_GEMM_F32_NR];
    if (m > CN_GEMM_F32_MR) cn_conv_narrow_tile_f32(a, t->depth * CN_GEMM_F32_MR, panel, step, kc, 2, tile);
    else cn_conv_narrow_tile_f32(a, 0, panel, step, kc, 1, tile);
    cn_edge_finish_f32(tile, CN_GEMM_F32_NR, out, t->ld, m, n, part, ep, ep->flags & CN_EP_ROW_BIAS ? t->bias + i : 0,
                       ep->flags & CN_EP_RESIDUAL ? ep->residual + (out - t->args->out) : 0);
  }
}

/* Output channels m0 .. m1 times n <= NR pixels from p; panel: kc rows of NR, step apart. Each tile asks
 * for the next one's weights. */
CN_KERNEL void cn_conv_panel_f32(const cn_conv_f32_block *t, size_t m0, size_t m1, size_t p, size_t n, const float *panel,
                                 size_t step, size_t k0, size_t kc, unsigned part) {
  const cn_epilogue_f32 *ep = &t->args->ep;
  if (CN_VF32_LANES > 1 && n <= CN_CONV_F32_NARROW) {
    cn_conv_narrow_f32(t, m0, m1, p, n, panel, step, k0, kc, part);
    return;
  }
  for (size_t i = m0; i < m1; i += CN_GEMM_F32_MR) {
    const size_t m = cn_min(CN_GEMM_F32_MR, m1 - i);
    const float *a = t->weights + i * t->depth + k0 * CN_GEMM_F32_MR;
    float *out = t->out + i * t->ld + p;
    const float *bias = ep->flags & CN_EP_ROW_BIAS ? t->bias + i : 0;
    const float *residual = ep->flags & CN_EP_RESIDUAL ? ep->residual + (out - t->args->out) : 0;
    if (m == CN_GEMM_F32_MR && n == CN_GEMM_F32_NR) {
      cn_vf32 acc[CN_GEMM_F32_MR * CN_GEMM_F32_NV];
      cn_tile_f32(a, 1, CN_GEMM_F32_MR, CN_GEMM_F32_MR, panel, step, kc, CN_GEMM_F32_MR, CN_GEMM_F32_NV, CN_GEMM_F32_MR, acc,
                  i + m < t->m ? a + t->depth * CN_GEMM_F32_MR : a, CN_GEMM_F32_MR);
      cn_tile_finish_f32(acc, out, t->ld, part, ep, bias, residual, CN_GEMM_F32_MR);
    } else {
      CN_ALIGN(CN_VF32_LANES * 4) float tile[CN_GEMM_F32_MR * CN_GEMM_F32_NR];
      cn_edge_tile_f32(a, 1, CN_GEMM_F32_MR, panel, step, kc, m, n, tile);
      cn_edge_finish_f32(tile, CN_GEMM_F32_NR, out, t->ld, m, n, part, ep, bias, residual);
    }
  }
}

/* Whether full panels are read in place: pixels that are neighbours in the input too, for so few output channels that a copy
 * does not pay. */
CN_INLINE int cn_conv_f32_in_place(const cn_window *w) {
  return w->m <= 4 * CN_GEMM_F32_MR && cn_volume(w->kernel) == 1 && w->in[2] == w->out[2] && w->in[2] == cn_volume(w->in) &&
         w->out[2] == cn_volume(w->out) && w->stride[2] == 1 && w->up[2] == 1 && w->pad[2] == 0;
}

/* Channels m0 .. m1 of the pixels p0 .. p1: for each part of the depth, gather all panels, then pass the weights over them,
 * a block of MC channels at a time so that it is read from a near cache for every panel after the first. */
CN_KERNEL void cn_conv_block_run_f32(const cn_conv_f32_block *t, const cn_window *w, const float *in, size_t p0, size_t p1,
                                     size_t m0, size_t m1, float *scratch) {
  const int in_place = cn_conv_f32_in_place(w);
  cn_pixel starts[CN_GEMM_F32_NC / CN_GEMM_F32_NR];
  size_t k0 = 0;
  for (size_t p = p0, j = 0; p < p1; p += CN_GEMM_F32_NR, j++) starts[j] = cn_pixel_at(w, p);
  do {
    const size_t kc = cn_min(CN_GEMM_F32_KC, t->depth - k0);
    const unsigned part = (k0 == 0 ? CN_PART_FIRST : 0) | (k0 + kc == t->depth ? CN_PART_LAST : 0);
    for (size_t p = p0, j = 0; p < p1; p += CN_GEMM_F32_NR, j++) {
      if (in_place && p + CN_GEMM_F32_NR <= p1) continue;
      cn_gather_f32(w, in, k0, kc, starts[j], cn_min(CN_GEMM_F32_NR, p1 - p), scratch + (p - p0) * kc);
    }
    for (size_t i = m0; i < m1; i += CN_GEMM_F32_MC) {
      const size_t stop = cn_min(m1, i + CN_GEMM_F32_MC);
      for (size_t p = p0; p < p1; p += CN_GEMM_F32_NR) {
        const size_t n = cn_min(CN_GEMM_F32_NR, p1 - p);
        const int direct = in_place && n == CN_GEMM_F32_NR;
        cn_conv_panel_f32(t, i, stop, p, n, direct ? in + k0 * t->pixels + p : scratch + (p - p0) * kc,
                          direct ? t->pixels : CN_GEMM_F32_NR, k0, kc, part);
        if ((part & CN_PART_LAST) && t->args->ep.tile)
          t->args->ep.tile(t->args->ep.ctx, t->out + i * t->ld + p, t->ld, t->index, i, stop - i, p, n);
      }
    }
    k0 += kc;
  } while (k0 < t->depth);
}

/* Tasks t0 .. t1 of cn_conv_f32_tasks(a), in any order and on any threads, each call with its own scratch of
 * cn_conv_f32_scratch floats. Tasks of the same pixels share their gathering. */
CN_DRIVER void cn_conv_f32(const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  const cn_window w = cn_window_flat(&a->window);
  const size_t rows = cn_conv_f32_rows(&a->window), splits = cn_ceil_div(w.m, rows);
  const size_t pixels = cn_volume(w.out), across = cn_ceil_div(pixels, CN_GEMM_F32_NC);
  while (t0 < t1) {
    const size_t block = t0 / splits, stop = cn_min(t1, (block + 1) * splits);
    const size_t index = block / across, p0 = block % across * CN_GEMM_F32_NC, group = index % w.groups;
    const size_t m0 = (t0 - block * splits) * rows, m1 = cn_min(w.m, (stop - block * splits) * rows);
    cn_conv_f32_block t;
    t.args = a;
    t.m = w.m;
    t.depth = cn_conv_depth(&w);
    t.weights = a->weights + group * cn_round_up(w.m, CN_GEMM_F32_MR) * t.depth;
    t.bias = a->ep.bias ? a->ep.bias + group * w.m : 0;
    t.out = a->out + (index - group) * w.m * pixels + (a->interleaved ? group : group * w.m) * pixels;
    t.ld = a->interleaved ? w.groups * pixels : pixels;
    t.index = index;
    t.pixels = pixels;
    cn_conv_block_run_f32(&t, &w, a->in + index * w.c * cn_volume(w.in), p0, cn_min(pixels, p0 + CN_GEMM_F32_NC), m0, m1,
                          scratch);
    t0 = stop;
  }
}

#endif
