/* SPDX-License-Identifier: MIT-0 */
/* Depthwise convolution, f32: each output channel sees one input channel. Weights as ONNX stores them, no packing.
 * Needs a SIMD layer included before. */
#ifndef CN_KERNELS_DEPTHWISE_F32_H
#define CN_KERNELS_DEPTHWISE_F32_H

#include "kernels/square_f32.h"
#include "kernels/tile_f32.h"

/* window: c = 1, up = 1, m output channels for each of the groups. */
typedef struct cn_depthwise_f32_args {
  cn_window window;
  const float *in;      /* [images][groups][in...] */
  const float *weights; /* [groups * m][taps] */
  float *out;           /* [images][groups * m][out...] */
  cn_epilogue_f32 ep;   /* CN_EP_ROW_BIAS; its tile gets one channel: index = image * groups + group, m0 < m, rows of pixels */
} cn_depthwise_f32_args;

CN_INLINE size_t cn_depthwise_f32_scratch(const cn_window *w) { return cn_plane_f32_scratch(w); }

/* A band of rows of one input channel each. */
CN_INLINE size_t cn_depthwise_f32_tasks(const cn_depthwise_f32_args *a) {
  return a->window.images * a->window.groups * a->window.out[0] * cn_plane_f32_bands(&a->window);
}

/* A vector of results of one channel, n of them, with what follows a product; at: from the result's first element. */
CN_KERNEL void cn_depthwise_store_f32(const cn_depthwise_f32_args *a, cn_vf32 v, size_t channel, size_t at, size_t n) {
  if (a->ep.flags & CN_EP_ROW_BIAS) v = cn_vf32_add(v, cn_vf32_set1(a->ep.bias[channel]));
  if (a->ep.flags & CN_EP_RESIDUAL) v = cn_vf32_add(v, cn_vf32_load_n(a->ep.residual + at, n));
  if (a->ep.flags & CN_EP_CLAMP) v = cn_vf32_min(cn_vf32_set1(a->ep.hi), cn_vf32_max(cn_vf32_set1(a->ep.lo), v));
  cn_vf32_store_n(a->out + at, v, n);
}

/* n vectors of results, a literal, of the windows w; at: the first result, left: columns from there on. */
CN_KERNEL void cn_depthwise_vectors_f32(const cn_depthwise_f32_args *a, const cn_window *w, const cn_plane *p, const float *src, const float *weights, size_t n,
                                        const cn_four *f, size_t channel, size_t at, size_t left) {
  cn_vf32 acc[8];
  cn_window_vector_f32(w, p, src, weights, CN_WINDOW_DOT, n, f->step, acc);
  CN_UNROLL(8)
  for (size_t i = 0; i < n; i++) cn_depthwise_store_f32(a, acc[i], channel, at + cn_window_at_f32(i, f->next), left - (i % 4 * f->along + i / 4 * CN_VF32_LANES));
}

/* A band of one channel from its copy, rows of them from output row y on; at: of the band's first result. */
CN_KERNEL void cn_depthwise_band_f32(const cn_depthwise_f32_args *a, const cn_plane *p, const float *src, size_t channel, size_t y, size_t rows, size_t at) {
  const cn_window *w = &a->window;
  const float *weights = a->weights + channel * cn_volume(w->kernel);
  const size_t width = w->out[2], down = w->stride[1] * p->row;
  for (size_t i = 0; i < rows;) {
    const cn_four f = cn_four_f32(w, p, rows - i);
    const float *from = src + i * down, *taps = weights;
    const size_t to = at + i * width;
    cn_window seen = *w;
    size_t x = 0, first;
    if (w->kernel[0] == 1) {
      seen.kernel[1] = cn_window_taps(w, 1, y + i, f.rows, &first);
      from += first * w->dilation[1] * p->row;
      taps += first * w->kernel[2];
    }
    for (; f.rows == 4 && x + CN_VF32_LANES < width; x += 2 * CN_VF32_LANES) cn_depthwise_vectors_f32(a, &seen, p, from + x, taps, 8, &f, channel, to + x, width - x);
    for (; x + f.width < width + CN_VF32_LANES; x += f.width) cn_depthwise_vectors_f32(a, &seen, p, from + x, taps, 4, &f, channel, to + x, width - x);
    for (; x < width; x += CN_VF32_LANES) cn_depthwise_vectors_f32(a, &seen, p, from + x, taps, 1, &f, channel, to + x, width - x);
    i += f.rows;
  }
}

/* What a channel's windows need beside the input: taps, bias, clamp, all as vectors. */
typedef struct cn_depthwise_channel_f32 {
  cn_vf32 taps[25], bias, lo, hi;
} cn_depthwise_channel_f32;

/* n output rows of one vector, all of whose lanes are stored and to which nothing is added; n, k, stride, masked are literals. */
CN_KERNEL void cn_depthwise_square_f32(const cn_depthwise_channel_f32 *c, const float *const *row, const cn_square *q, size_t n, size_t k, size_t stride,
                                       int masked, float *out, size_t ldo) {
  cn_vf32 acc[7];
  cn_square_f32(row, q, c->taps, c->bias, CN_WINDOW_DOT, n, k, stride, masked, acc);
  CN_UNROLL(7)
  for (size_t i = 0; i < n; i++) cn_vf32_store(out + i * ldo, cn_vf32_min(c->hi, cn_vf32_max(c->lo, acc[i])));
}

/* n output rows of any vector; at: its first result, left: rows of the band behind the first. */
CN_KERNEL void cn_depthwise_square_edge_f32(const cn_depthwise_f32_args *a, const cn_squares *s, const cn_depthwise_channel_f32 *c, const float *const *row,
                                            const cn_square *q, size_t n, size_t k, size_t stride, size_t at, size_t left) {
  const int once = (a->ep.flags & CN_EP_RESIDUAL) != 0;
  const size_t width = a->window.out[2], fewer = cn_squares_fewer(&a->window, s, once);
  float *out = a->out + at;
  const float *residual = once ? a->ep.residual + at : out;
  size_t lanes = cn_squares_lanes(&a->window, s, q, once, left);
  CN_ALIGN(CN_VF32_LANES * 4) float tile[7 * CN_VF32_LANES];
  cn_vf32 acc[7];
  cn_square_f32(row, q, c->taps, c->bias, CN_WINDOW_DOT, n, k, stride, 1, acc);
  CN_UNROLL(7)
  for (size_t i = 0; i < n; i++) cn_vf32_store(tile + i * CN_VF32_LANES, acc[i]);
  CN_LANES
  for (size_t i = 0; i < n; i++, out += width, residual += width, lanes -= fewer) {
    cn_vf32 v = cn_vf32_load(tile + i * CN_VF32_LANES);
    if (once) v = cn_vf32_add(v, cn_vf32_load_n(residual, lanes));
    cn_vf32_store_n(out, cn_vf32_min(c->hi, cn_vf32_max(c->lo, v)), lanes);
  }
}

/* n output rows, a literal, of one channel from row y on, read where they lie; at: the first result, left: rows of the band behind the first. */
CN_KERNEL void cn_depthwise_square_rows_f32(const cn_depthwise_f32_args *a, const cn_squares *s, const cn_depthwise_channel_f32 *c, const float *src,
                                            size_t y, size_t n, size_t k, size_t stride, size_t at, size_t left) {
  const float *rows[CN_SQUARE_ROWS];
  cn_square_rows_f32(&a->window, s, src, (ptrdiff_t)(y * stride) - a->window.pad[1], (n - 1) * stride + k, rows);
  for (size_t i = 0; i < s->n; i++) {
    cn_square room;
    const cn_square *q = cn_squares_get(&a->window, s, i, k, stride, &room);
    if (n >= 4 && s->whole && !q->masked) cn_depthwise_square_f32(c, rows, q, n, k, stride, 0, a->out + at + q->x, a->window.out[2]);
    else if (n >= 4 && s->whole) cn_depthwise_square_f32(c, rows, q, n, k, stride, 1, a->out + at + q->x, a->window.out[2]);
    else cn_depthwise_square_edge_f32(a, s, c, rows, q, n, k, stride, at + q->x, left);
  }
}

/* rows output rows of one channel, from row y on; at: the first result. */
CN_KERNEL void cn_depthwise_square_band_f32(const cn_depthwise_f32_args *a, const cn_squares *s, const float *src, size_t channel, size_t y,
                                            size_t rows, size_t k, size_t stride, size_t at) {
  const int clamped = (a->ep.flags & CN_EP_CLAMP) != 0;
  const size_t most = cn_square_most(k, stride);
  cn_depthwise_channel_f32 c;
  size_t i = 0, n;
  CN_UNROLL(25)
  for (size_t t = 0; t < k * k; t++) c.taps[t] = cn_vf32_set1(a->weights[channel * k * k + t]);
  c.bias = cn_vf32_set1(a->ep.flags & CN_EP_ROW_BIAS ? a->ep.bias[channel] : 0.0f);
  c.lo = cn_vf32_set1(clamped ? a->ep.lo : cn_least_f32());
  c.hi = cn_vf32_set1(clamped ? a->ep.hi : -cn_least_f32());
  for (; i < rows; i += n, at += n * a->window.out[2]) {
    const size_t left = rows - i;
    n = cn_square_height(left, most);
    if (n == most) cn_depthwise_square_rows_f32(a, s, &c, src, y + i, most, k, stride, at, left - 1);
    else if (n == 4) cn_depthwise_square_rows_f32(a, s, &c, src, y + i, 4, k, stride, at, left - 1);
    else if (n == 2) cn_depthwise_square_rows_f32(a, s, &c, src, y + i, 2, k, stride, at, left - 1);
    else cn_depthwise_square_rows_f32(a, s, &c, src, y + i, 1, k, stride, at, left - 1);
  }
}

/* Tasks t0 .. t1 of cn_depthwise_f32_tasks(a), each call with its own scratch of cn_depthwise_f32_scratch floats. */
CN_DRIVER void cn_depthwise_f32(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1) {
  const cn_window *w = &a->window;
  const cn_plane p = cn_plane_f32(w);
  const size_t bands = cn_ceil_div(w->out[1], p.band), pixels = cn_volume(w->out), area = cn_volume(w->in);
  if (t0 >= t1) return; /* of no rows there is nothing to count by */
  cn_band b = cn_band_at(w, bands, t0);
  for (size_t t = t0; t < t1; t++, cn_band_next(w, bands, &b)) {
    const size_t y = b.band * p.band, rows = cn_min(p.band, w->out[1] - y), n0 = (b.z * w->out[1] + y) * w->out[2];
    cn_plane_copy_f32(w, &p, a->in + b.index * area, 0, b.z, y, 0.0f, scratch);
    for (size_t m = 0; m < w->m; m++) {
      const size_t at = (b.index * w->m + m) * pixels + n0;
      cn_depthwise_band_f32(a, &p, scratch, b.index % w->groups * w->m + m, y, rows, at);
      if (a->ep.tile) a->ep.tile(a->ep.ctx, a->out + at, pixels, b.index, m, 1, n0, rows * w->out[2]);
    }
  }
}

/* The same for a square window, whose k and stride are literals. */
CN_KERNEL void cn_depthwise_square_tasks_f32(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1, size_t k, size_t stride) {
  const cn_window *w = &a->window;
  const cn_plane p = cn_plane_f32(w);
  const size_t bands = cn_ceil_div(w->out[1], p.band), pixels = cn_volume(w->out), slice = w->in[1] * w->in[2], area = w->in[0] * slice;
  if (t0 >= t1) return;
  cn_squares s;
  cn_squares_f32(w, &p, (a->ep.flags & CN_EP_RESIDUAL) != 0, 0.0f, k, stride, scratch, &s);
  cn_band b = cn_band_at(w, bands, t0);
  for (size_t t = t0, group = b.index % w->groups; t < t1; t++) {
    const size_t y = b.band * p.band, rows = cn_min(p.band, w->out[1] - y), n0 = (b.z * w->out[1] + y) * w->out[2], index = b.index;
    const float *src = a->in + index * area + b.z * slice;
    for (size_t m = 0; m < w->m; m++) {
      const size_t at = (index * w->m + m) * pixels + n0;
      cn_depthwise_square_band_f32(a, &s, src, group * w->m + m, y, rows, k, stride, at);
      if (a->ep.tile) a->ep.tile(a->ep.ctx, a->out + at, pixels, index, m, 1, n0, rows * w->out[2]);
    }
    cn_band_next(w, bands, &b);
    if (b.index != index) group = group + 1 < w->groups ? group + 1 : 0; /* small images would wait for a division each */
  }
}

/* cn_depthwise_f32 for kernel {1, 3, 3} with stride {1, 1, 1}, no dilation and no padding of slices; so for the others by their names. */
CN_DRIVER void cn_depthwise_f32_3x3s1(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_depthwise_square_tasks_f32(a, scratch, t0, t1, 3, 1);
}

CN_DRIVER void cn_depthwise_f32_3x3s2(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_depthwise_square_tasks_f32(a, scratch, t0, t1, 3, 2);
}

CN_DRIVER void cn_depthwise_f32_5x5s1(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_depthwise_square_tasks_f32(a, scratch, t0, t1, 5, 1);
}

CN_DRIVER void cn_depthwise_f32_5x5s2(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_depthwise_square_tasks_f32(a, scratch, t0, t1, 5, 2);
}

#endif
