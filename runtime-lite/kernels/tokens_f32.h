/* SPDX-License-Identifier: MIT-0 */
/* Depthwise convolution of images whose pixels are tokens, f32: all channels of a pixel lie side by side, [images][height][width][channels], or a part of
 * them in a wider tensor; so may the result, or either of both is in blocks. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_TOKENS_F32_H
#define CN_KERNELS_TOKENS_F32_H

#include "kernels/blocked_window_f32.h"

/* A window of k x k taps, no dilation, cn_blocked_tiled_window; out must not overlap in or weights. */
typedef struct cn_tokens_depthwise_f32_args {
  cn_window window;      /* as of cn_blocked_depthwise_f32_args: groups are blocks of channels, c = m = 1 */
  cn_blocked_pitch from; /* of in */
  cn_blocked_pitch to;   /* of out, and of the residual; pixel: LANES only where it is in blocks, or is one */
  const float *in;
  const float *weights;  /* [blocks][taps][LANES] */
  float *out;
  cn_epilogue_f32 ep;    /* CN_EP_ROW_BIAS: [blocks][LANES]; its tile, of tokens: rows are pixels, columns channels; of blocks: as theirs */
} cn_tokens_depthwise_f32_args;

/* A band of rows of one image each. */
CN_INLINE size_t cn_tokens_depthwise_f32_tasks(const cn_tokens_depthwise_f32_args *a) {
  return a->window.images * cn_tokens_bands(&a->window);
}

/* n outputs of row y from x on, of all blocks: a pixel's channels are read one after the other. k, stride, n: literals. */
CN_KERNEL void cn_tokens_depthwise_blocks_f32(const cn_tokens_depthwise_f32_args *a, size_t image, size_t y, size_t x, size_t k, size_t stride, size_t n) {
  const cn_window *w = &a->window;
  const cn_blocked_taps seen = cn_blocked_depthwise_seen(w, y, k, stride);
  const ptrdiff_t column = (ptrdiff_t)(x * stride) - w->pad[2];
  const size_t lanes = CN_VF32_LANES, pixel = y * w->out[2] + x, at = image * a->to.image + pixel * a->to.pixel;
  cn_blocked_depthwise_row r;
  r.window = w;
  r.ep = &a->ep;
  r.from = a->from.pixel;
  r.to = a->to.pixel;
  r.out = a->out;
  for (size_t b = 0; b < w->groups; b++) {
    r.in = a->in + image * a->from.image + b * a->from.block;
    r.weights = a->weights + b * k * k * lanes;
    r.bias = a->ep.flags & CN_EP_ROW_BIAS ? cn_vf32_load(a->ep.bias + b * lanes) : cn_vf32_zero();
    const float *row = cn_blocked_depthwise_first(&r, y, seen, stride);
    if (cn_blocked_depthwise_inside(w, column, k, stride, n)) cn_blocked_depthwise_tile_f32(&r, row, seen, column, at + b * a->to.block, 1, k, stride, n);
    else cn_blocked_depthwise_tile_f32(&r, row, seen, column, at + b * a->to.block, 0, k, stride, n);
  }
  if (!a->ep.tile) return;
  if (a->to.pixel == lanes) a->ep.tile(a->ep.ctx, a->out + at, a->to.block, image, 0, w->groups, pixel * lanes, n * lanes);
  else a->ep.tile(a->ep.ctx, a->out + at, a->to.pixel, image, pixel, n, 0, w->groups * lanes);
}

/* Tasks t0 .. t1, by tiles of eight outputs or fewer, as equal as can be. k, stride: literals. */
CN_KERNEL void cn_tokens_depthwise_body_f32(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1, size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const size_t bands = cn_tokens_bands(w), width = w->out[2];
  for (size_t t = t0; t < t1; t++) {
    const size_t image = t / bands, end = cn_blocked_band_row(w, bands, t % bands + 1);
    for (size_t y = cn_blocked_band_row(w, bands, t % bands); y < end; y++) {
      for (size_t x = 0, tiles = cn_ceil_div(width, 8), n; x < width; x += n, tiles--) {
        n = cn_ceil_div(width - x, tiles);
        switch (n) {
          case 8: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 8); break;
          case 7: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 7); break;
          case 6: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 6); break;
          case 5: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 5); break;
          case 4: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 4); break;
          case 3: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 3); break;
          case 2: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 2); break;
          default: cn_tokens_depthwise_blocks_f32(a, image, y, x, k, stride, 1); break;
        }
      }
    }
  }
}

/* Tasks t0 .. t1 of cn_tokens_depthwise_f32_tasks(a) for kernel {1, 3, 3} with stride {1, 1, 1}, no dilation and no padding of slices; so for the others by
 * their names. */
CN_DRIVER void cn_tokens_depthwise_f32_3x3s1(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_tokens_depthwise_body_f32(a, t0, t1, 3, 1);
}

CN_DRIVER void cn_tokens_depthwise_f32_3x3s2(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_tokens_depthwise_body_f32(a, t0, t1, 3, 2);
}

CN_DRIVER void cn_tokens_depthwise_f32_5x5s1(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_tokens_depthwise_body_f32(a, t0, t1, 5, 1);
}

CN_DRIVER void cn_tokens_depthwise_f32_5x5s2(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_tokens_depthwise_body_f32(a, t0, t1, 5, 2);
}

CN_DRIVER void cn_tokens_depthwise_f32_7x7s1(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_tokens_depthwise_body_f32(a, t0, t1, 7, 1);
}

#endif
