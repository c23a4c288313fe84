/* SPDX-License-Identifier: MIT-0 */
/* Depthwise convolution and pooling over blocked channels, f32 (kernels/blocked_f32.h): each lane its own window, so that
 * vectors are full whatever the image. Needs a SIMD layer included before; input dilation (up) must be 1. */
#ifndef CN_KERNELS_BLOCKED_WINDOW_F32_H
#define CN_KERNELS_BLOCKED_WINDOW_F32_H

#include "kernels/plane_f32.h"
#include "kernels/tile_f32.h"

/* window: groups = blocks of channels, c = m = 1, two spatial dimensions. */
typedef struct cn_blocked_depthwise_f32_args {
  cn_window window;
  const float *in;      /* [images][blocks][height][width][LANES] */
  const float *weights; /* [blocks][taps][LANES] */
  float *out;
  cn_epilogue_f32 ep;   /* CN_EP_ROW_BIAS: [blocks][LANES]; its tile: row = block, columns pixels times LANES, index the image */
} cn_blocked_depthwise_f32_args;

typedef struct cn_blocked_pool_f32_args {
  cn_window window;  /* groups = blocks of channels, c = m = 1, two spatial dimensions */
  unsigned flags;    /* CN_POOL_... of kernels/window.h; 0: the maximum */
  const float *in;   /* [images][blocks][height][width][LANES] */
  float *out;
} cn_blocked_pool_f32_args;

/* A task: rows y0 .. y1 of one block of channels of one image. Bands of rows come before blocks, as a convolution's tasks do: who computed
 * a band of an image then reads it too. */
typedef struct cn_blocked_band {
  size_t image, block, y0, y1;
} cn_blocked_band;

/* Bands of an image: of some 256 places, at most 8, so that setting out on one costs little; two, where there are rows for them, so that two threads keep to the
 * halves of an image that convolutions give them. By sizes alone. */
CN_INLINE size_t cn_blocked_bands(const cn_window *w) {
  return cn_max(cn_min(cn_min(cn_volume(w->out) / 256, w->out[1]), 8), w->out[1] < 8 ? 1 : 2);
}

/* Where an image's band begins. */
CN_INLINE size_t cn_blocked_band_row(const cn_window *w, size_t bands, size_t band) { return w->out[1] * band / bands; }

CN_INLINE size_t cn_blocked_window_tasks(const cn_window *w) { return w->images * w->groups * cn_blocked_bands(w); }

CN_INLINE cn_blocked_band cn_blocked_window_task(const cn_window *w, size_t t) {
  const size_t bands = cn_blocked_bands(w), band = t / w->groups % bands;
  const cn_blocked_band d = {t / w->groups / bands, t % w->groups, cn_blocked_band_row(w, bands, band), cn_blocked_band_row(w, bands, band + 1)};
  return d;
}

/* Taps lo .. hi of an axis that are inside for output place o. */
typedef struct cn_blocked_taps {
  size_t lo, hi;
} cn_blocked_taps;

CN_INLINE cn_blocked_taps cn_blocked_taps_at(const cn_window *w, int axis, size_t o) {
  cn_blocked_taps t = {0, w->kernel[axis]};
  while (t.lo < t.hi && cn_window_place(w, axis, o, t.lo) < 0) t.lo++;
  while (t.hi > t.lo && cn_window_place(w, axis, o, t.hi - 1) < 0) t.hi--;
  return t;
}

/* Outputs lo .. hi of a row whose taps are all inside. */
CN_INLINE cn_blocked_taps cn_blocked_inner(const cn_window *w) {
  cn_blocked_taps t;
  t.lo = cn_window_first(w, 2, 0, 0);
  t.hi = cn_max(t.lo, cn_window_first(w, 2, w->kernel[2] - 1, w->in[2]));
  return t;
}

/* acc op= the window of output x in the rows `y` of one block; any place, any window. row0: the window's first row, at its
 * place 0 (which may lie outside). */
CN_KERNEL cn_vf32 cn_blocked_window_f32(const cn_window *w, const float *in, ptrdiff_t row, cn_blocked_taps y, size_t x,
                                        const float *weights, int op, cn_vf32 acc) {
  const cn_blocked_taps tx = cn_blocked_taps_at(w, 2, x);
  for (size_t ky = y.lo; ky < y.hi; ky++) {
    cn_vf32 part = op == CN_WINDOW_SUM ? cn_vf32_zero() : acc; /* rows add up by themselves: windows may be whole images */
    for (size_t kx = tx.lo; kx < tx.hi; kx++) {
      const ptrdiff_t column = (ptrdiff_t)(x * w->stride[2] + kx * w->dilation[2]) - w->pad[2];
      const ptrdiff_t at = (row + (ptrdiff_t)(ky * w->dilation[1])) * (ptrdiff_t)w->in[2] + column;
      const cn_vf32 v = cn_vf32_load(in + at * (ptrdiff_t)CN_VF32_LANES);
      const cn_vf32 t = op == CN_WINDOW_DOT ? cn_vf32_load(weights + (ky * w->kernel[2] + kx) * CN_VF32_LANES) : v;
      part = cn_window_step_f32(op, t, v, part);
    }
    acc = op == CN_WINDOW_SUM ? cn_vf32_add(acc, part) : part;
  }
  return acc;
}

/* acc of one output at a border: the columns lo .. hi of its window are inside; k, op: literals. p: row y.lo, the window's first
 * column, which may be outside. */
CN_KERNEL cn_vf32 cn_blocked_border_f32(const float *p, size_t pitch, cn_blocked_taps y, cn_blocked_taps x, const float *weights,
                                        int op, size_t k, cn_vf32 acc) {
  for (size_t ky = y.lo; ky < y.hi; ky++, p += pitch) {
    CN_UNROLL(5)
    for (size_t i = 0; i < k; i++) {
      if (i < x.lo || i >= x.hi) continue;
      const cn_vf32 v = cn_vf32_load(p + i * CN_VF32_LANES);
      acc = cn_window_step_f32(op, op == CN_WINDOW_DOT ? cn_vf32_load(weights + (ky * k + i) * CN_VF32_LANES) : v, v, acc);
    }
  }
  return acc;
}

/* What all rows of a depthwise convolution share; from, to: floats from pixel to pixel of the input and of the result. */
typedef struct cn_blocked_depthwise_row {
  const cn_window *window;
  const cn_epilogue_f32 *ep;
  const float *in, *weights; /* of the block */
  float *out;
  size_t from, to;
  cn_blocked_taps inner;
  cn_vf32 bias;
} cn_blocked_depthwise_row;

/* n outputs side by side of a row, the first at `at`: what is loaded serves all of them that see it, and a row's weights stay in registers. row: the
 * window's row y.lo; column: its first, where what is not inside is skipped: of a window of three only at the ends. inside, k, stride, n: literals. */
CN_KERNEL void cn_blocked_depthwise_tile_f32(const cn_blocked_depthwise_row *r, const float *row, cn_blocked_taps y, ptrdiff_t column, size_t at, int inside,
                                             size_t k, size_t stride, size_t n) {
  const size_t lanes = CN_VF32_LANES, width = r->window->in[2], end = (n - 1) * stride + k;
  const float *p = row + column * (ptrdiff_t)r->from, *weights = r->weights + y.lo * k * lanes;
  cn_vf32 sums[8];
  CN_UNROLL(8)
  for (size_t i = 0; i < n; i++) sums[i] = r->bias;
  for (size_t ky = y.lo; ky < y.hi; ky++, p += width * r->from, weights += k * lanes) {
    cn_vf32 w[7];
    CN_UNROLL(7)
    for (size_t t = 0; t < k; t++) w[t] = cn_vf32_load(weights + t * lanes);
    CN_UNROLL(21)
    for (size_t j = 0; j < end; j++) {
      if (!inside && (k > 3 || j == 0 || j + 1 == end) && (size_t)(column + (ptrdiff_t)j) >= width) continue;
      const cn_vf32 v = cn_vf32_load(p + j * r->from);
      CN_UNROLL(7)
      for (size_t t = 0; t < k; t++)
        if (j >= t && (j - t) % stride == 0 && (j - t) / stride < n) sums[(j - t) / stride] = cn_vf32_fma(w[t], v, sums[(j - t) / stride]);
    }
  }
  cn_finish_pixels_f32(r->ep, sums, n, 0, r->out, at, r->to);
}

/* Rows of a square window of k that output row y reads, by its stride. */
CN_INLINE cn_blocked_taps cn_blocked_depthwise_seen(const cn_window *w, size_t y, size_t k, size_t stride) {
  const ptrdiff_t top = (ptrdiff_t)(y * stride) - w->pad[1], below = (ptrdiff_t)w->in[1] - top;
  const cn_blocked_taps seen = {top < 0 ? cn_min(k, (size_t)-top) : 0, below < 0 ? 0 : cn_min(k, (size_t)below)};
  return seen;
}

/* Where the first of them begins. */
CN_INLINE const float *cn_blocked_depthwise_first(const cn_blocked_depthwise_row *r, size_t y, cn_blocked_taps seen, size_t stride) {
  const cn_window *w = r->window;
  return r->in + ((ptrdiff_t)(y * stride + seen.lo) - w->pad[1]) * (ptrdiff_t)(w->in[2] * r->from);
}

/* Whether a tile of n outputs, a literal, whose first window begins at `column` is one of those that need not look: of few outputs one that looks is as quick. */
CN_INLINE int cn_blocked_depthwise_inside(const cn_window *w, ptrdiff_t column, size_t k, size_t stride, size_t n) {
  return n > 5 && column >= 0 && (size_t)column + (n - 1) * stride + k <= w->in[2];
}

/* The same of `rows` rows of outputs, n apart, of which row and seen are row y's. */
CN_KERNEL void cn_blocked_depthwise_down_f32(const cn_blocked_depthwise_row *r, const float *row, cn_blocked_taps seen, size_t y, size_t rows, ptrdiff_t column,
                                             size_t at, size_t k, size_t stride, size_t n) {
  const cn_window *w = r->window;
  for (;; at += n * CN_VF32_LANES) {
    if (cn_blocked_depthwise_inside(w, column, k, stride, n)) cn_blocked_depthwise_tile_f32(r, row, seen, column, at, 1, k, stride, n);
    else cn_blocked_depthwise_tile_f32(r, row, seen, column, at, 0, k, stride, n);
    if (--rows == 0) return;
    seen = cn_blocked_depthwise_seen(w, ++y, k, stride);
    row = cn_blocked_depthwise_first(r, y, seen, stride);
  }
}

/* Outputs x .. end of row y, the first at `at`, by tiles of eight or fewer, as equal as can be; of more rows than one where a tile is all of each. k,
 * stride: literals. */
CN_KERNEL void cn_blocked_depthwise_tiles_f32(const cn_blocked_depthwise_row *r, size_t y, size_t rows, size_t x, size_t end, size_t at, size_t k, size_t stride) {
  const cn_window *w = r->window;
  const cn_blocked_taps s = cn_blocked_depthwise_seen(w, y, k, stride);
  const float *row = cn_blocked_depthwise_first(r, y, s, stride);
  for (size_t tiles = cn_ceil_div(end - x, 8), n; x < end; x += n, tiles--, at += n * CN_VF32_LANES) {
    const ptrdiff_t c = (ptrdiff_t)(x * stride) - w->pad[2];
    n = cn_ceil_div(end - x, tiles);
    switch (n) {
      case 8: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 8); break;
      case 7: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 7); break;
      case 6: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 6); break;
      case 5: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 5); break;
      case 4: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 4); break;
      case 3: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 3); break;
      case 2: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 2); break;
      default: cn_blocked_depthwise_down_f32(r, row, s, y, rows, c, at, k, stride, 1); break;
    }
  }
}

/* The same of any window: n loads for each weight. p: the first window's row ty.lo at its first column. */
CN_KERNEL void cn_blocked_depthwise_any_f32(const cn_blocked_depthwise_row *r, const float *p, cn_blocked_taps ty, size_t n, size_t at) {
  const cn_window *w = r->window;
  const size_t lanes = CN_VF32_LANES, down = w->dilation[1] * w->in[2] * lanes, right = w->dilation[2] * lanes, step = w->stride[2] * lanes;
  const float *weight = r->weights + ty.lo * w->kernel[2] * lanes;
  cn_vf32 acc[8];
  CN_UNROLL(8)
  for (size_t i = 0; i < n; i++) acc[i] = r->bias;
  for (size_t ky = ty.lo; ky < ty.hi; ky++, p += down) {
    const float *q = p;
    for (size_t kx = 0; kx < w->kernel[2]; kx++, q += right, weight += lanes) {
      const cn_vf32 t = cn_vf32_load(weight);
      CN_UNROLL(8)
      for (size_t i = 0; i < n; i++) acc[i] = cn_vf32_fma(t, cn_vf32_load(q + i * step), acc[i]);
    }
  }
  cn_finish_vectors_f32(r->ep, acc, n, 0, r->out, at);
}

/* The same of any window. */
CN_KERNEL void cn_blocked_depthwise_row_f32(const cn_blocked_depthwise_row *r, size_t y, size_t x, size_t end, size_t at) {
  const cn_window *w = r->window;
  const size_t lanes = CN_VF32_LANES;
  const ptrdiff_t row = (ptrdiff_t)(y * w->stride[1]) - w->pad[1];
  const cn_blocked_taps ty = cn_blocked_taps_at(w, 1, y);
  const float *first = r->in + ((row + (ptrdiff_t)(ty.lo * w->dilation[1])) * (ptrdiff_t)w->in[2] - w->pad[2]) * (ptrdiff_t)lanes;
  while (x < end) {
    const float *p = first + x * w->stride[2] * lanes;
    const size_t inside = x >= r->inner.lo ? cn_min(end, r->inner.hi) : x;
    size_t n = 1;
    if (x + 8 <= inside) {
      n = 8;
      cn_blocked_depthwise_any_f32(r, p, ty, 8, at);
    } else if (x + 4 <= inside) {
      n = 4;
      cn_blocked_depthwise_any_f32(r, p, ty, 4, at);
    } else if (x + 2 <= inside) {
      n = 2;
      cn_blocked_depthwise_any_f32(r, p, ty, 2, at);
    } else if (x + 1 <= inside) {
      cn_blocked_depthwise_any_f32(r, p, ty, 1, at);
    } else {
      cn_vf32 v = cn_blocked_window_f32(w, r->in, row, ty, x, r->weights, CN_WINDOW_DOT, r->bias);
      cn_finish_vectors_f32(r->ep, &v, 1, 0, r->out, at);
    }
    x += n;
    at += n * lanes;
  }
}

CN_INLINE size_t cn_blocked_depthwise_f32_tasks(const cn_blocked_depthwise_f32_args *a) { return cn_blocked_window_tasks(&a->window); }

/* Pixels p0 .. p1 of a block of an image, the first result at `at` of out. k, stride: literals. */
CN_KERNEL void cn_blocked_depthwise_block_f32(const cn_blocked_depthwise_f32_args *a, size_t image, size_t block, size_t p0, size_t p1, float *out, size_t at,
                                              size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const size_t lanes = CN_VF32_LANES, width = w->out[2];
  const int tiles = k && cn_blocked_tiled_window(w, k, stride);
  cn_blocked_depthwise_row r;
  if (p0 == p1) return; /* rows may have no width */
  r.window = w;
  r.ep = &a->ep;
  r.from = r.to = lanes;
  r.inner = cn_blocked_inner(w);
  r.in = a->in + (image * w->groups + block) * cn_volume(w->in) * lanes;
  r.weights = a->weights + block * cn_volume(w->kernel) * lanes;
  r.bias = a->ep.flags & CN_EP_ROW_BIAS ? cn_vf32_load(a->ep.bias + block * lanes) : cn_vf32_zero();
  r.out = out;
  for (size_t p = p0, y = p0 / width, x = p0 % width, end, rows; p < p1; p += rows * (end - x), y += rows, x = 0) {
    end = cn_min(width, x + (p1 - p));
    rows = tiles && width <= 8 && x == 0 ? cn_max(1, (p1 - p) / width) : 1;
    if (tiles) cn_blocked_depthwise_tiles_f32(&r, y, rows, x, end, at + (p - p0) * lanes, k, stride);
    else cn_blocked_depthwise_row_f32(&r, y, x, end, at + (p - p0) * lanes);
  }
}

CN_KERNEL void cn_blocked_depthwise_body_f32(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1, size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const size_t lanes = CN_VF32_LANES, columns = cn_volume(w->out) * lanes;
  for (size_t i = t0; i < t1; i++) {
    const cn_blocked_band d = cn_blocked_window_task(w, i);
    const size_t p0 = d.y0 * w->out[2], p1 = d.y1 * w->out[2], at = (d.image * w->groups + d.block) * columns + p0 * lanes;
    cn_blocked_depthwise_block_f32(a, d.image, d.block, p0, p1, a->out, at, k, stride);
    if (a->ep.tile) a->ep.tile(a->ep.ctx, a->out + at, columns, d.image, d.block, 1, p0 * lanes, (p1 - p0) * lanes);
  }
}

/* Tasks t0 .. t1 of cn_blocked_depthwise_f32_tasks(a). */
CN_DRIVER void cn_blocked_depthwise_f32(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_depthwise_body_f32(a, t0, t1, 0, 0);
}

/* The same for kernel {1, 3, 3} with stride {1, 1, 1}, no dilation and no padding of slices; so for the others by their names. */
CN_DRIVER void cn_blocked_depthwise_f32_3x3s1(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_depthwise_body_f32(a, t0, t1, 3, 1);
}

CN_DRIVER void cn_blocked_depthwise_f32_3x3s2(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_depthwise_body_f32(a, t0, t1, 3, 2);
}

CN_DRIVER void cn_blocked_depthwise_f32_5x5s1(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_depthwise_body_f32(a, t0, t1, 5, 1);
}

CN_DRIVER void cn_blocked_depthwise_f32_5x5s2(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_depthwise_body_f32(a, t0, t1, 5, 2);
}

CN_DRIVER void cn_blocked_depthwise_f32_7x7s1(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_depthwise_body_f32(a, t0, t1, 7, 1);
}

/* The same as a function of kernels/blocked_f32.h, of all blocks: ctx is a cn_blocked_depthwise_f32_args without out and residual. */
CN_KERNEL void cn_blocked_depthwise_pixels_body_f32(const void *ctx, size_t image, size_t p0, size_t p1, float *dst, size_t k, size_t stride) {
  const cn_blocked_depthwise_f32_args *a = ctx;
  const size_t lanes = CN_VF32_LANES, columns = (p1 - p0) * lanes;
  for (size_t block = 0; block < a->window.groups; block++, dst += columns) {
    cn_blocked_depthwise_block_f32(a, image, block, p0, p1, dst, 0, k, stride);
    if (a->ep.tile) a->ep.tile(a->ep.ctx, dst, columns, image, block, 1, p0 * lanes, columns);
  }
}

CN_DRIVER void cn_blocked_depthwise_pixels_f32(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  cn_blocked_depthwise_pixels_body_f32(ctx, image, p0, p1, dst, 0, 0);
}

CN_DRIVER void cn_blocked_depthwise_pixels_f32_3x3s1(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  cn_blocked_depthwise_pixels_body_f32(ctx, image, p0, p1, dst, 3, 1);
}

CN_DRIVER void cn_blocked_depthwise_pixels_f32_3x3s2(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  cn_blocked_depthwise_pixels_body_f32(ctx, image, p0, p1, dst, 3, 2);
}

CN_DRIVER void cn_blocked_depthwise_pixels_f32_5x5s1(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  cn_blocked_depthwise_pixels_body_f32(ctx, image, p0, p1, dst, 5, 1);
}

CN_DRIVER void cn_blocked_depthwise_pixels_f32_5x5s2(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  cn_blocked_depthwise_pixels_body_f32(ctx, image, p0, p1, dst, 5, 2);
}

CN_DRIVER void cn_blocked_depthwise_pixels_f32_7x7s1(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  cn_blocked_depthwise_pixels_body_f32(ctx, image, p0, p1, dst, 7, 1);
}

/* What all windows of an output row share. */
typedef struct cn_blocked_pool_row {
  const cn_blocked_pool_f32_args *args;
  const float *in; /* the block */
  float *out;      /* the row */
  ptrdiff_t row;   /* the windows' first row, which may be outside */
  cn_blocked_taps y, inner;
  size_t rows;     /* that an average counts */
} cn_blocked_pool_row;

/* n neighbouring outputs from x on, all of whose columns are inside, as many as y has rows, at least one: columns first, which
 * windows share. k, stride, n, op: literals. */
CN_KERNEL void cn_blocked_pool_inner_f32(const cn_blocked_pool_row *r, size_t x, int op, size_t k, size_t stride, size_t n) {
  const cn_window *w = &r->args->window;
  const size_t lanes = CN_VF32_LANES, columns = (n - 1) * stride + k;
  const float *p = r->in + ((r->row + (ptrdiff_t)r->y.lo) * (ptrdiff_t)w->in[2] + (ptrdiff_t)(x * stride) - w->pad[2]) * (ptrdiff_t)lanes;
  const float by = op == CN_WINDOW_SUM ? (float)(r->rows * cn_pool_count(w, r->args->flags, 2, x)) : 1.0f;
  cn_vf32 column[12];
  CN_UNROLL(12)
  for (size_t j = 0; j < columns; j++) column[j] = cn_vf32_load(p + j * lanes);
  for (size_t ky = r->y.lo + 1; ky < r->y.hi; ky++) {
    p += w->in[2] * lanes;
    CN_UNROLL(12)
    for (size_t j = 0; j < columns; j++) column[j] = cn_window_step_f32(op, column[j], cn_vf32_load(p + j * lanes), column[j]);
  }
  CN_UNROLL(8)
  for (size_t i = 0; i < n; i++) {
    cn_vf32 v = column[i * stride];
    CN_UNROLL(5)
    for (size_t t = 1; t < k; t++) v = cn_window_step_f32(op, v, column[i * stride + t], v);
    cn_vf32_store(r->out + (x + i) * lanes, op == CN_WINDOW_SUM ? cn_vf32_div(v, cn_vf32_set1(by)) : v);
  }
}

/* The sum of the window at x, rows and four columns apart: one sum of a whole image would round more, and wait for each addition. */
CN_KERNEL cn_vf32 cn_blocked_pool_sum_f32(const cn_blocked_pool_row *r, size_t x) {
  const cn_window *w = &r->args->window;
  const size_t lanes = CN_VF32_LANES, step = w->dilation[2] * lanes;
  const cn_blocked_taps t = cn_blocked_taps_at(w, 2, x);
  const ptrdiff_t column = (ptrdiff_t)(x * w->stride[2] + t.lo * w->dilation[2]) - w->pad[2];
  cn_vf32 sum = cn_vf32_zero();
  for (size_t ky = r->y.lo; ky < r->y.hi && t.lo < t.hi; ky++) {
    const float *p = r->in + ((r->row + (ptrdiff_t)(ky * w->dilation[1])) * (ptrdiff_t)w->in[2] + column) * (ptrdiff_t)lanes;
    cn_vf32 part[4];
    size_t n = t.hi - t.lo;
    CN_UNROLL(4)
    for (size_t i = 0; i < 4; i++) part[i] = cn_vf32_zero();
    for (; n >= 4; n -= 4, p += 4 * step) {
      CN_UNROLL(4)
      for (size_t i = 0; i < 4; i++) part[i] = cn_vf32_add(part[i], cn_vf32_load(p + i * step));
    }
    for (; n > 0; n--, p += step) part[0] = cn_vf32_add(part[0], cn_vf32_load(p));
    sum = cn_vf32_add(sum, cn_vf32_add(cn_vf32_add(part[0], part[1]), cn_vf32_add(part[2], part[3])));
  }
  return sum;
}

/* The output at x, anywhere; k 0: of any window. */
CN_KERNEL void cn_blocked_pool_one_f32(const cn_blocked_pool_row *r, size_t x, int op, size_t k) {
  const cn_window *w = &r->args->window;
  const ptrdiff_t lanes = CN_VF32_LANES;
  cn_vf32 v = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
  if (k) {
    const ptrdiff_t column = (ptrdiff_t)(x * w->stride[2]) - w->pad[2];
    const float *p = r->in + ((r->row + (ptrdiff_t)r->y.lo) * (ptrdiff_t)w->in[2] + column) * lanes;
    v = cn_blocked_border_f32(p, w->in[2] * CN_VF32_LANES, r->y, cn_blocked_taps_at(w, 2, x), 0, op, k, v);
  } else if (op == CN_WINDOW_SUM) {
    v = cn_blocked_pool_sum_f32(r, x);
  } else {
    v = cn_blocked_window_f32(w, r->in, r->row, r->y, x, 0, op, v);
  }
  if (op == CN_WINDOW_SUM) v = cn_vf32_div(v, cn_vf32_set1((float)(r->rows * cn_pool_count(w, r->args->flags, 2, x))));
  cn_vf32_store(r->out + (ptrdiff_t)x * lanes, v);
}

/* Columns of the input that windows side by side share. */
#define CN_BLOCKED_POOL_COLUMNS 48

/* The outputs of a row from x0 on that read no more than so many columns, at least one, of any window: columns first. Returns
 * the next output, x0 where the windows are wider. op: a literal; r->y has rows. */
CN_KERNEL size_t cn_blocked_pool_columns_f32(const cn_blocked_pool_row *r, size_t x0, int op) {
  const cn_window *w = &r->args->window;
  const size_t lanes = CN_VF32_LANES, span = (w->kernel[2] - 1) * w->dilation[2] + 1, down = w->dilation[1] * w->in[2] * lanes;
  cn_vf32 column[CN_BLOCKED_POOL_COLUMNS];
  if (span > CN_BLOCKED_POOL_COLUMNS) return x0;
  const size_t x1 = cn_min(w->out[2], x0 + (CN_BLOCKED_POOL_COLUMNS - span) / w->stride[2] + 1);
  const ptrdiff_t from = (ptrdiff_t)(x0 * w->stride[2]) - w->pad[2], to = (ptrdiff_t)((x1 - 1) * w->stride[2] + span) - w->pad[2];
  const size_t c0 = from < 0 ? 0 : (size_t)from, c1 = to < 0 ? 0 : cn_min(w->in[2], (size_t)to);
  const float *p = r->in + (r->row + (ptrdiff_t)(r->y.lo * w->dilation[1])) * (ptrdiff_t)(w->in[2] * lanes);
  for (size_t c = c0; c < c1; c++) {
    const float *q = p + c * lanes;
    cn_vf32 v = cn_vf32_load(q);
    for (size_t ky = r->y.lo + 1; ky < r->y.hi; ky++) {
      q += down;
      v = cn_window_step_f32(op, v, cn_vf32_load(q), v);
    }
    column[c - c0] = v;
  }
  for (size_t x = x0; x < x1; x++) {
    const cn_blocked_taps t = cn_blocked_taps_at(w, 2, x);
    cn_vf32 v = op == CN_WINDOW_MAX ? cn_vf32_set1(cn_least_f32()) : cn_vf32_zero();
    for (size_t kx = t.lo; kx < t.hi; kx++)
      v = cn_window_step_f32(op, v, column[(ptrdiff_t)(x * w->stride[2] + kx * w->dilation[2]) - w->pad[2] - (ptrdiff_t)c0], v);
    if (op == CN_WINDOW_SUM) v = cn_vf32_div(v, cn_vf32_set1((float)(r->rows * cn_pool_count(w, r->args->flags, 2, x))));
    cn_vf32_store(r->out + x * lanes, v);
  }
  return x1;
}

/* Output row y of block `block`; op, k, stride: literals, k 0 for any window. */
CN_KERNEL void cn_blocked_pool_row_f32(const cn_blocked_pool_f32_args *a, size_t block, size_t y, int op, size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const size_t lanes = CN_VF32_LANES;
  cn_blocked_pool_row r;
  r.args = a;
  r.in = a->in + block * cn_volume(w->in) * lanes;
  r.out = a->out + (block * w->out[1] + y) * w->out[2] * lanes;
  r.row = (ptrdiff_t)(y * w->stride[1]) - w->pad[1];
  r.y = cn_blocked_taps_at(w, 1, y);
  r.inner = cn_blocked_inner(w);
  r.rows = op == CN_WINDOW_SUM ? cn_pool_count(w, a->flags, 1, y) : 1;
  if (!k || r.y.lo >= r.y.hi) r.inner.lo = r.inner.hi = 0;
  size_t x = 0;
  if (!k && w->out[2] > 1 && r.y.lo < r.y.hi) {
    for (size_t last = w->out[2]; x != last && x < w->out[2];) {
      last = x;
      x = cn_blocked_pool_columns_f32(&r, x, op);
    }
  }
  while (x < w->out[2]) {
    const size_t left = x >= r.inner.lo && x < r.inner.hi ? r.inner.hi - x : 0;
    if (k && stride == 1 && left >= 8) {
      cn_blocked_pool_inner_f32(&r, x, op, k, stride, 8);
      x += 8;
    } else if (k && left >= 4) {
      cn_blocked_pool_inner_f32(&r, x, op, k, stride, 4);
      x += 4;
    } else {
      cn_blocked_pool_one_f32(&r, x, op, k);
      x++;
    }
  }
}

CN_INLINE size_t cn_blocked_pool_f32_tasks(const cn_blocked_pool_f32_args *a) { return cn_blocked_window_tasks(&a->window); }

CN_KERNEL void cn_blocked_pool_body_f32(const cn_blocked_pool_f32_args *a, size_t t0, size_t t1, size_t k, size_t stride) {
  for (size_t i = t0; i < t1; i++) {
    const cn_blocked_band d = cn_blocked_window_task(&a->window, i);
    const size_t t = d.image * a->window.groups + d.block;
    for (size_t y = d.y0; y < d.y1; y++) {
      if (a->flags & (CN_POOL_AVERAGE | CN_POOL_SUM)) cn_blocked_pool_row_f32(a, t, y, CN_WINDOW_SUM, k, stride);
      else cn_blocked_pool_row_f32(a, t, y, CN_WINDOW_MAX, k, stride);
    }
  }
}

/* Tasks t0 .. t1 of cn_blocked_pool_f32_tasks(a). */
CN_DRIVER void cn_blocked_pool_f32(const cn_blocked_pool_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_pool_body_f32(a, t0, t1, 0, 0);
}

/* The same for kernel {1, 3, 3} with stride {1, 1, 1}, no dilation and no padding of slices; so for the others by their names. */
CN_DRIVER void cn_blocked_pool_f32_3x3s1(const cn_blocked_pool_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_pool_body_f32(a, t0, t1, 3, 1);
}

CN_DRIVER void cn_blocked_pool_f32_3x3s2(const cn_blocked_pool_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_pool_body_f32(a, t0, t1, 3, 2);
}

CN_DRIVER void cn_blocked_pool_f32_2x2s2(const cn_blocked_pool_f32_args *a, size_t t0, size_t t1) {
  cn_blocked_pool_body_f32(a, t0, t1, 2, 2);
}

#endif
