/* SPDX-License-Identifier: MIT-0 */
/* Convolution over blocked channels, f32: a vector holds the same place of neighbouring channels, so that pixels of any
 * image fill whole vectors. Tensors are [images][blocks][height][width][LANES]. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_BLOCKED_F32_H
#define CN_KERNELS_BLOCKED_F32_H

#include "kernels/blocked.h"
#include "kernels/tile_f32.h"
#include "kernels/transpose_f32.h"

/* Computes pixels p0 .. p1 of an image, to dst, [blocks][p1 - p0][LANES]. */
typedef void cn_blocked_pixels_f32(const void *ctx, size_t image, size_t p0, size_t p1, float *dst);

/* A convolution of two spatial dimensions without input dilation; out must not overlap in or weights. Its groups are whole blocks, or each block has
 * as many groups as fit, whose weights have the channels of one, or they lie across the ends of blocks, whose weights have the channels of all that a block has a part of. */
typedef struct cn_blocked_conv_f32_args {
  cn_window window;     /* groups: such parts; of each c: channels as they lie in `in`, or of a smaller group; m: output channels, a multiple of the LANES */
  cn_blocked_input input; /* CN_BLOCKED_PLAIN: in is [images][c][height][width] */
  cn_blocked_slices slices; /* of blocks, no groups: images of the window are slices of the result */
  cn_blocked_groups groups; /* where they lie across the ends of blocks, with window.c cn_blocked_most_read of them */
  size_t first, blocks; /* output blocks of this call, of each part: a multiple of what the driver takes at a time */
  const float *in;      /* CN_BLOCKED_COMPUTED: none, but: */
  cn_blocked_pixels_f32 *pixels;
  const void *ctx;      /* of pixels */
  size_t room;          /* floats of scratch for them (kernels/blocked.h); else 0 */
  const float *weights; /* of these blocks: [groups][blocks / N][depth][N][LANES], depth [slice][input block][taps][channel], plain: [taps][c] */
  float *out;
  cn_epilogue_f32 ep;   /* CN_EP_ROW_BIAS: [groups * m]; its tile: rows are blocks, columns pixels times LANES, index the image */
} cn_blocked_conv_f32_args;

/* Where the number of images, or their sizes, are known to the caller alone: of the driver that computes so many blocks, pixels and outputs that slide
 * (cn_blocked_way) at a time. */
CN_INLINE size_t cn_blocked_tasks(const cn_blocked_conv_f32_args *a, size_t blocks, size_t pixels, size_t slides) {
  const cn_blocked_way way = {blocks, pixels, slides};
  return cn_blocked_count(&a->window, a->input, a->blocks, way, CN_VF32_LANES);
}

/* n pixels of c channels, `area` apart, side by side; c: a literal, a power of two of 2 to LANES. */
CN_KERNEL void cn_blocked_interleave_even_f32(const float *in, size_t area, size_t n, size_t c, float *dst) {
  size_t x = 0;
  for (; x + CN_VF32_LANES <= n; x += CN_VF32_LANES) {
    cn_vf32 rows[CN_VF32_LANES];
    CN_UNROLL(16)
    for (size_t k = 0; k < c; k++) rows[k] = cn_vf32_load(in + k * area + x);
    cn_vf32_turn(rows, c);
    CN_UNROLL(16)
    for (size_t k = 0; k < c; k++) cn_vf32_store(dst + x * c + k * CN_VF32_LANES, rows[k]);
  }
  for (; x < n; x++) {
    CN_UNROLL(16)
    for (size_t k = 0; k < c; k++) dst[x * c + k] = in[k * area + x];
  }
}

/* The same of any c. */
CN_KERNEL void cn_blocked_interleave_any_f32(const float *in, size_t area, size_t n, size_t c, float *dst) {
  for (size_t k = 0; k < c; k++) {
    for (size_t x = 0; x < n; x++) dst[x * c + k] = in[k * area + x];
  }
}

/* The same; c: a literal, 1, 3 or a power of two up to 8. */
CN_KERNEL void cn_blocked_interleave_row_f32(const float *in, size_t area, size_t n, size_t c, float *dst) {
  if (c == 1) {
    memcpy(dst, in, n * sizeof *dst);
  } else if (c == 3) {
    const float *second = in + area, *third = second + area;
    size_t x = 0;
    for (; x + CN_VF32_LANES <= n; x += CN_VF32_LANES) cn_vf32_store3(dst + 3 * x, cn_vf32_load(in + x), cn_vf32_load(second + x), cn_vf32_load(third + x));
    for (; x < n; x++) {
      dst[3 * x] = in[x];
      dst[3 * x + 1] = second[x];
      dst[3 * x + 2] = third[x];
    }
  } else if (c <= CN_VF32_LANES) {
    cn_blocked_interleave_even_f32(in, area, n, c, dst);
  } else {
    cn_blocked_interleave_any_f32(in, area, n, c, dst);
  }
}

/* Few zeros: a call of the library takes longer. */
CN_INLINE void cn_blocked_zeros(float *dst, size_t n) {
  for (; n > 0; n--, dst++) {
    CN_OPAQUE(dst);
    *dst = 0.0f;
  }
}

/* [c][height][width] -> rows y0 .. y1 of [height + padding][width + padding][c] */
CN_DRIVER void cn_blocked_interleave_f32(const cn_window *w, const cn_window *padded, const float *in, size_t y0, size_t y1, float *dst) {
  const size_t area = w->in[1] * w->in[2], row = padded->in[2] * w->c, lo = w->pad[2] > 0 ? cn_min(padded->in[2], (size_t)w->pad[2]) : 0;
  const ptrdiff_t end = (ptrdiff_t)w->in[2] + w->pad[2];
  const size_t hi = end < 0 ? lo : cn_max(lo, cn_min(padded->in[2], (size_t)end));
  for (size_t y = y0; y < y1; y++, dst += row) {
    const ptrdiff_t iy = (ptrdiff_t)y - w->pad[1];
    if (iy < 0 || (size_t)iy >= w->in[1]) {
      memset(dst, 0, row * sizeof *dst);
      continue;
    }
    const float *s = in + iy * (ptrdiff_t)w->in[2] + (ptrdiff_t)lo - w->pad[2];
    cn_blocked_zeros(dst, lo * w->c);
    cn_blocked_zeros(dst + hi * w->c, (padded->in[2] - hi) * w->c);
    if (w->c == 1) cn_blocked_interleave_row_f32(s, area, hi - lo, 1, dst + lo);
    else if (w->c == 2) cn_blocked_interleave_row_f32(s, area, hi - lo, 2, dst + lo * 2);
    else if (w->c == 3) cn_blocked_interleave_row_f32(s, area, hi - lo, 3, dst + lo * 3);
    else if (w->c == 4) cn_blocked_interleave_row_f32(s, area, hi - lo, 4, dst + lo * 4);
    else if (w->c == 8) cn_blocked_interleave_row_f32(s, area, hi - lo, 8, dst + lo * 8);
    else cn_blocked_interleave_any_f32(s, area, hi - lo, w->c, dst + lo * w->c);
  }
}

/* One image's pixels p0 .. p1 of one call. */
typedef struct cn_blocked_job {
  const cn_blocked_conv_f32_args *args;
  const cn_blocked_walk *walk;
  const float *in, *zeros;
  int32_t *places;       /* [taps][CN_BLOCKED_PLACES]: of the tiles at hand; of a dense window's last one */
  int32_t *ys, *xs;      /* of each pixel, where the window is not dense: where the first tap is */
  size_t area;           /* floats of an input block */
  size_t p0, p1, pixels; /* pixels: of the image */
} cn_blocked_job;

/* n numbers from `from` on, step apart, in whole turns: up to 15 more are written. */
CN_INLINE void cn_blocked_line(int32_t *dst, size_t n, int32_t from, int32_t step) {
  for (size_t i = 0; i < n; i += 16) {
    for (int32_t l = 0; l < 16; l++) dst[i + (size_t)l] = from + ((int32_t)i + l) * step;
  }
}

/* Rows and columns of the job's pixels. What fills up the last tile is outside at all taps. */
CN_KERNEL void cn_blocked_job_pixels(const cn_blocked_job *j) {
  const cn_window *w = &j->walk->w;
  const size_t n = j->p1 - j->p0, width = w->out[2];
  for (size_t i = 0, y = j->p0 / width, x = j->p0 % width, run; i < n; i += run, y++, x = 0) {
    run = cn_min(width - x, n - i);
    cn_blocked_line(j->ys + i, run, (int32_t)(y * w->stride[1]) - (int32_t)w->pad[1], 0);
    cn_blocked_line(j->xs + i, run, (int32_t)(x * w->stride[2]) - (int32_t)w->pad[2], (int32_t)w->stride[2]);
  }
  cn_blocked_line(j->ys + n, 32, INT32_MIN / 2, 0);
  cn_blocked_line(j->xs + n, 32, 0, 0);
}

/* Where n pixels from p on read at each tap, in whole turns: floats from the block's start, -1 outside; of a plain input's copy, where all taps of a pixel
 * are inside, at the first one. plain: a literal. */
CN_KERNEL void cn_blocked_places(const cn_blocked_job *j, size_t p, size_t n, int plain) {
  const cn_window *w = &j->walk->w;
  const uint32_t height = (uint32_t)w->in[1], width = (uint32_t)w->in[2], pitch = (uint32_t)j->walk->pitch;
  const int32_t *ys = j->ys + (p - j->p0), *xs = j->xs + (p - j->p0);
  int32_t *dst = j->places;
  for (size_t ky = 0; ky < w->kernel[1]; ky++) {
    for (size_t kx = 0; kx < w->kernel[2]; kx++, dst += CN_BLOCKED_PLACES) {
      const uint32_t dy = (uint32_t)(ky * w->dilation[1]), dx = (uint32_t)(kx * w->dilation[2]);
      for (size_t i = 0; i < n; i += 16) {
        for (size_t l = i; l < i + 16; l++) {
          const uint32_t y = (uint32_t)ys[l] + dy, x = (uint32_t)xs[l] + dx;
          dst[l] = ((y < height) & (x < width)) ? (int32_t)((y * width + x) * pitch) : -1;
        }
      }
      if (plain) return;
    }
  }
}

/* The same for n pixels of a dense window, of np: the others are outside. */
CN_KERNEL void cn_blocked_dense_places(const cn_blocked_job *j, size_t p, size_t n, size_t np) {
  for (size_t l = 0; l < np; l++) j->places[l] = l < n ? (int32_t)((p + l) * CN_VF32_LANES) : -1;
}

/* Channel c of the pixel at p, for all outputs, or, if spread, for those of its group of `width` in each place of the block. spread: a literal. */
CN_KERNEL cn_vf32 cn_blocked_channel_f32(const float *p, size_t c, size_t width, int spread) {
  return spread ? cn_vf32_load_spread(p, width, c) : cn_vf32_set1(p[c]);
}

/* sums[np][nb] += the products of channel c of np pixels at x, or, if not 0, `pitch` floats apart from x[0] on, and of its weights [nb]. pitch, spread, nb
 * and np are literals. */
CN_KERNEL void cn_blocked_step_f32(const float *const *x, size_t pitch, size_t c, const float *weights, size_t run, int spread, size_t nb, size_t np,
                                   cn_vf32 *sums) {
  cn_vf32 w[4];
  CN_UNROLL(4)
  for (size_t b = 0; b < nb; b++) w[b] = cn_vf32_load(weights + b * CN_VF32_LANES);
  CN_UNROLL(12)
  for (size_t i = 0; i < np; i++) {
    const cn_vf32 v = cn_blocked_channel_f32(pitch ? x[0] + i * pitch : x[i], c, run, spread);
    CN_UNROLL(4)
    for (size_t b = 0; b < nb; b++) sums[i * nb + b] = cn_vf32_fma(v, w[b], sums[i * nb + b]);
  }
}

/* The same of `turn` channels side by side in x, a literal, and of weights [turn][nb]; each `every`th, a literal, asks for what lies as many times `step`
 * floats ahead, at most a line of 16, or, if twice, a literal, two (without a branch). */
CN_KERNEL void cn_blocked_turn_f32(const float *const *x, size_t pitch, size_t c, const float *weights, const float *ahead, size_t step, int twice, size_t turn,
                                   size_t every, size_t nb, size_t np, cn_vf32 *sums) {
  CN_UNROLL(16)
  for (size_t u = 0; u < turn; u++) {
    if (u % every == 0) CN_PREFETCH(ahead + u * step);
    if (twice && u % every == 0) CN_PREFETCH(ahead + (u + 1) * step - 16);
    cn_blocked_step_f32(x, pitch, c + u, weights + u * nb * CN_VF32_LANES, 0, 0, nb, np, sums);
  }
}

/* Channels a turn for np pixels, which lie side by side or have a pointer each: one where those leave no registers. */
CN_INLINE size_t cn_blocked_turn(int dense, size_t np) { return dense || np <= 6 ? CN_BLOCKED_F32_TURN : 1; }

/* The same of channels c .. c + run, `turn` of them at a time, a literal. */
CN_KERNEL void cn_blocked_products_f32(const float *const *x, size_t pitch, size_t c, const float *weights, const float *ahead, size_t step, int twice,
                                       size_t run, size_t turn, int spread, size_t nb, size_t np, cn_vf32 *sums) {
  const size_t row = nb * CN_VF32_LANES, end = c + run;
  if (turn > 1 && !spread && step * turn <= 16) {
    for (; c + turn <= end; c += turn, weights += turn * row, ahead += turn * step) {
      CN_OPAQUE(ahead);
      cn_blocked_turn_f32(x, pitch, c, weights, ahead, step, 0, turn, turn, nb, np, sums);
    }
  }
  for (; turn > 1 && !spread && c + turn <= end; c += turn, weights += turn * row, ahead += turn * step) {
    CN_OPAQUE(ahead);
    cn_blocked_turn_f32(x, pitch, c, weights, ahead, step, twice, turn, 1, nb, np, sums);
  }
  for (; c < end; c++, weights += row) {
    CN_OPAQUE(ahead);
    CN_PREFETCH(ahead);
    ahead += step;
    if (twice) CN_PREFETCH(ahead - 16);
    cn_blocked_step_f32(x, pitch, c, weights, run, spread, nb, np, sums);
  }
}

/* The same of a block's channels; every: as above. */
CN_KERNEL void cn_blocked_whole_f32(const float *const *x, size_t pitch, const float *weights, const float *ahead, size_t step, size_t every, size_t nb,
                                    size_t np, cn_vf32 *sums) {
  if (cn_blocked_turn(pitch != 0, np) > 1) cn_blocked_turn_f32(x, pitch, 0, weights, ahead, step, 0, CN_VF32_LANES, every, nb, np, sums);
  else cn_blocked_products_f32(x, pitch, 0, weights, ahead, step, 0, CN_VF32_LANES, 1, 0, nb, np, sums);
}

/* np pixels side by side at x, of n whole blocks, `area` apart; every: as above. Many blocks of a pixel are far apart, which no processor foresees: if far,
 * each asks for the next. */
CN_KERNEL void cn_blocked_dense_f32(const float *x, size_t area, size_t n, const float *weights, const float *ahead, size_t step, size_t every, int far,
                                    size_t nb, size_t np, cn_vf32 *sums) {
  for (; n > 0; n--, x += area, weights += nb * CN_VF32_LANES * CN_VF32_LANES, ahead += CN_VF32_LANES * step) {
    CN_OPAQUE(x);
    CN_OPAQUE(ahead);
    if (far) {
      CN_UNROLL(12)
      for (size_t l = 0; l < np * CN_VF32_LANES; l += 16) CN_PREFETCH(x + area + l);
    }
    cn_blocked_whole_f32(&x, CN_VF32_LANES, weights, ahead, step, every, nb, np, sums);
  }
}

/* Where np pixels are that lie at `at` in a block, or among zeros; whether one is inside. */
CN_KERNEL int cn_blocked_see_f32(const float *in, const float *zeros, const int32_t *at, size_t np, const float **x) {
  int32_t any = -1;
  CN_UNROLL(12)
  for (size_t l = 0; l < np; l++) {
    x[l] = at[l] < 0 ? zeros : in + at[l];
    any &= at[l];
  }
  return any >= 0;
}

/* The same by places, of all taps. */
CN_KERNEL void cn_blocked_placed_f32(const cn_blocked_job *j, const float *in, size_t n, const int32_t *places, const float *weights, const float *ahead,
                                     size_t step, size_t every, size_t nb, size_t np, cn_vf32 *sums) {
  const float *const zeros = j->zeros;
  const size_t area = j->area, taps = j->walk->taps;
  for (; n > 0; n--, in += area) {
    const int32_t *at = places;
    for (size_t t = taps; t > 0; t--, at += CN_BLOCKED_PLACES, weights += nb * CN_VF32_LANES * CN_VF32_LANES) {
      const float *x[12];
      if (!cn_blocked_see_f32(in, zeros, at, np, x)) continue;
      CN_OPAQUE(ahead);
      cn_blocked_whole_f32(x, 0, weights, ahead, step, every, nb, np, sums);
      ahead += CN_VF32_LANES * step;
    }
  }
}

/* The same of one block of `run` channels. */
CN_KERNEL void cn_blocked_part_f32(const cn_blocked_job *j, const float *in, const int32_t *places, const float *weights, const float *ahead, size_t step,
                                   size_t run, int dense, int spread, size_t nb, size_t np, cn_vf32 *sums) {
  for (size_t t = 0; t < (dense ? 1 : j->walk->taps); t++, places += CN_BLOCKED_PLACES, weights += run * nb * CN_VF32_LANES) {
    const float *x[12] = {in};
    if (!dense && !cn_blocked_see_f32(in, j->zeros, places, np, x)) continue;
    cn_blocked_products_f32(x, dense ? CN_VF32_LANES : 0, 0, weights, ahead, step, 0, run, CN_TURN(cn_blocked_turn(dense, np)), spread, nb, np, sums);
    ahead += run * step;
  }
}

/* All taps of np pixels of a plain input's copy, in which none is outside: as far from a pixel's first one as from any other's. What fills up a tile is its
 * first pixel. */
CN_KERNEL void cn_blocked_copied_f32(const cn_blocked_job *j, const int32_t *at, const float *weights, const float *ahead, size_t step, size_t nb, size_t np,
                                     cn_vf32 *sums) {
  const cn_window *w = &j->walk->w;
  const size_t run = j->walk->run, right = w->dilation[2] * j->walk->pitch, down = w->dilation[1] * w->in[2] * j->walk->pitch;
  const float *x[12];
  CN_UNROLL(12)
  for (size_t l = 0; l < np; l++) x[l] = j->in + (at[l] < 0 ? at[0] : at[l]);
  for (size_t ky = 0; ky < w->kernel[1]; ky++) {
    for (size_t kx = 0, c = ky * down; kx < w->kernel[2]; kx++, c += right, weights += run * nb * CN_VF32_LANES, ahead += run * step)
      cn_blocked_products_f32(x, 0, c, weights, ahead, step, 0, run, CN_TURN(cn_blocked_turn(0, np)), 0, nb, np, sums);
  }
}

/* Input blocks i0 .. i1 of all taps, for the np pixels from p on; dense: they lie side by side; else places: theirs. For literals see cn_blocked_body_f32. */
CN_KERNEL void cn_blocked_depth_f32(const cn_blocked_job *j, size_t i0, size_t i1, size_t p, const int32_t *places, const float *weights,
                                    const float *ahead, size_t step, int dense, int plain, cn_blocked_grouping grouping, size_t nb, size_t np, cn_vf32 *sums) {
  const cn_blocked_walk *k = j->walk;
  if (plain) {
    cn_blocked_copied_f32(j, places, weights, ahead, step, nb, np, sums);
    return;
  }
  const int few = cn_blocked_turn(dense, np) > 1 && step * 4 <= 16;
  const float *in = j->in + i0 * j->area + (dense ? p * CN_VF32_LANES : 0);
  if (grouping == CN_BLOCKED_STRADDLE && i0 == 0 && k->begin) {
    const size_t run = (k->blocks == 1 ? k->last : k->run) - k->begin;
    cn_blocked_part_f32(j, in + k->begin, places, weights, ahead, step, run, dense, 0, nb, np, sums);
    in += j->area;
    weights += k->taps * run * nb * CN_VF32_LANES;
    ahead += k->taps * run * step;
    i0++;
  }
  while (i0 < i1) {
    const size_t left = k->slice == k->blocks ? k->blocks - i0 : k->slice - i0 % k->slice, n = cn_min(left, i1 - i0); /* of a slice, whose last block may be in part */
    const size_t whole = grouping == CN_BLOCKED_WITHIN ? 0 : n == left && k->last < k->run ? n - 1 : n, channels = k->taps * k->run;
    if (whole && dense && few) cn_blocked_dense_f32(in, j->area, whole, weights, ahead, step, 4, k->blocks >= 16, nb, np, sums);
    else if (whole && dense) cn_blocked_dense_f32(in, j->area, whole, weights, ahead, step, 1, k->blocks >= 16, nb, np, sums);
    else if (whole && few) cn_blocked_placed_f32(j, in, whole, places, weights, ahead, step, 4, nb, np, sums);
    else if (whole) cn_blocked_placed_f32(j, in, whole, places, weights, ahead, step, 1, nb, np, sums);
    in += whole * j->area;
    weights += whole * channels * nb * CN_VF32_LANES;
    ahead += whole * channels * step;
    for (size_t i = whole; i < n; i++, in += j->area) {
      const size_t run = i + 1 == left ? k->last : k->run;
      cn_blocked_part_f32(j, in, places, weights, ahead, step, run, dense, grouping == CN_BLOCKED_WITHIN, nb, np, sums);
      weights += k->taps * run * nb * CN_VF32_LANES;
      ahead += k->taps * run * step;
    }
    i0 += n;
  }
}

/* The tile of np pixels from p on, n of them inside, and nb output blocks from block `first`: from the input blocks i0 .. i1. */
CN_KERNEL void cn_blocked_tile_f32(const cn_blocked_job *j, size_t first, size_t i0, size_t i1, size_t p, size_t n,
                                   const int32_t *places, const float *weights, const float *ahead, size_t step, int dense, int plain, cn_blocked_grouping grouping, size_t nb,
                                   size_t np) {
  const cn_epilogue_f32 *ep = &j->args->ep;
  const size_t lanes = CN_VF32_LANES, row = j->pixels * lanes, at = first * row + p * lanes;
  float *out = j->args->out + at;
  cn_vf32 sums[24];
  CN_UNROLL(24)
  for (size_t i = 0; i < nb * np; i++) sums[i] = cn_vf32_zero();
  if (i0 == 0 && (ep->flags & CN_EP_ROW_BIAS)) {
    const float *bias = ep->bias + first % (j->args->window.groups * j->args->window.m / lanes) * lanes;
    CN_UNROLL(24)
    for (size_t i = 0; i < nb * np; i++) sums[i] = cn_vf32_load(bias + i % nb * lanes);
  }
  if (i0 == 0 && (ep->flags & CN_EP_RESIDUAL)) { /* now: it may be the result itself, which takes the parts' sums */
    CN_UNROLL(24)
    for (size_t i = 0; i < nb * np; i++)
      if (i / nb < n) sums[i] = cn_vf32_add(sums[i], cn_vf32_load(ep->residual + at + i % nb * row + i / nb * lanes));
  }
  cn_blocked_depth_f32(j, i0, i1, p, places, weights, ahead, step, dense, plain, grouping, nb, np, sums);
  if (i0 != 0) { /* sums of parts, added: a fraction of the rounding that one long sum has */
    CN_UNROLL(24)
    for (size_t i = 0; i < nb * np; i++)
      if (i / nb < n) sums[i] = cn_vf32_add(sums[i], cn_vf32_load(out + i % nb * row + i / nb * lanes));
  }
  if (i1 == j->walk->blocks && (ep->flags & CN_EP_CLAMP)) {
    const cn_vf32 lo = cn_vf32_set1(ep->lo), hi = cn_vf32_set1(ep->hi);
    CN_UNROLL(24)
    for (size_t i = 0; i < nb * np; i++) sums[i] = cn_vf32_min(hi, cn_vf32_max(lo, sums[i]));
  }
  CN_UNROLL(24)
  for (size_t i = 0; i < nb * np; i++)
    if (i / nb < n) cn_vf32_store(out + i % nb * row + i / nb * lanes, sums[i]);
}

/* Floats of the weights of one output block for the input blocks before block i. */
CN_INLINE size_t cn_blocked_before(const cn_blocked_walk *k, size_t i) {
  return (i / k->slice * k->own + (i % k->slice * k->run - (i % k->slice ? k->begin : 0)) * k->taps) * CN_VF32_LANES;
}

/* All pixels of a job for nb output blocks: a part of the depth at a time whose weights stay in the first cache. The tiles ask for those of the part
 * behind it, each for its share, so that they neither come all at once nor drive out the ones in use. */
CN_KERNEL void cn_blocked_group_f32(const cn_blocked_job *j, size_t first, const float *weights, const float *end, int plain, cn_blocked_grouping grouping, size_t nb, size_t np) {
  const cn_blocked_walk *k = j->walk;
  const size_t blocks = plain ? 1 : k->blocks, one = k->taps * k->run * nb * CN_VF32_LANES, each = cn_max(1, 4096 / one);
  const size_t together = CN_BLOCKED_PLACES / np * np;
  const size_t tiles = cn_ceil_div(j->p1 - j->p0, np), step = cn_min(16, cn_ceil_div(nb * CN_VF32_LANES, tiles));
  for (size_t i0 = 0; i0 < blocks; i0 += each) {
    const size_t i1 = cn_min(blocks, i0 + each), share = (i1 - i0) * k->taps * k->run * step;
    const float *w = weights + cn_blocked_before(k, i0) * nb, *ahead = weights + cn_blocked_before(k, i1) * nb;
    size_t looked = j->p0, until = j->p0; /* pixels whose places are there */
    for (size_t p = j->p0; p < j->p1; p += np) {
      const size_t n = cn_min(np, j->p1 - p), asked = (p - j->p0) / np * share;
      const float *next = ahead < end && asked < (size_t)(end - ahead) ? ahead + asked : w;
      if (!plain && k->dense && n == np) {
        cn_blocked_tile_f32(j, first, i0, i1, p, np, j->places, w, next, step, 1, 0, grouping, nb, np);
        continue;
      }
      if (!plain && k->dense) {
        looked = p;
        cn_blocked_dense_places(j, p, n, np);
      } else if (p >= until) {
        looked = p;
        until = p + cn_min(together, cn_round_up(j->p1 - p, np));
        cn_blocked_places(j, p, until - p, plain);
      }
      cn_blocked_tile_f32(j, first, i0, i1, p, n, j->places + (p - looked), w, next, step, 0, plain, grouping, nb, np);
    }
  }
}

/* ---- one output block, whose outputs slide along a row (cn_blocked_slides) ---- */
#define CN_BLOCKED_F32_SLIDE CN_BLOCKED_SLIDE(CN_BLOCKED_F32_SUMS)
#define CN_BLOCKED_F32_SLIDE_EVEN CN_BLOCKED_SLIDE_EVEN(CN_BLOCKED_F32_SUMS)
#define CN_BLOCKED_F32_SLIDE_FEW CN_BLOCKED_SLIDE_FEW(CN_BLOCKED_F32_SUMS)
#define CN_BLOCKED_F32_SLIDE_ROWS CN_BLOCKED_SLIDE_ROWS(CN_BLOCKED_F32_SUMS)

/* The pixels of a row that n outputs see, pitch apart from `second` on; the first and the last may lie elsewhere: among zeros. */
typedef struct cn_blocked_row {
  const float *first, *second, *last;
} cn_blocked_row;

/* Where pixel j of a row is, of `end`. */
CN_KERNEL const float *cn_blocked_slide_at(cn_blocked_row p, size_t j, size_t end, size_t pitch) {
  return j == 0 ? p.first : j + 1 == end ? p.last : p.second + (j - 1) * pitch;
}

/* sums[n] += the products of channel c, of `run`, of the pixels of a row and of the taps' weights. Literals, but c and run. */
CN_KERNEL void cn_blocked_slide_step_f32(cn_blocked_row p, size_t c, const cn_vf32 *w, size_t run, int spread, size_t pitch, size_t taps, size_t n,
                                         cn_vf32 *sums) {
  CN_UNROLL(33)
  for (size_t j = 0; j < n - 1 + taps; j++) {
    const cn_vf32 v = cn_blocked_channel_f32(cn_blocked_slide_at(p, j, n - 1 + taps, pitch), c, run, spread);
    CN_UNROLL(3)
    for (size_t t = 0; t < taps; t++)
      if (j >= t && j - t < n) sums[j - t] = cn_vf32_fma(v, w[t], sums[j - t]);
  }
}

/* The same of every second pixel: a stride that is an argument keeps compilers from seeing in time that sums are registers. */
CN_KERNEL void cn_blocked_slide_step2_f32(cn_blocked_row p, size_t c, const cn_vf32 *w, size_t run, int spread, size_t pitch, size_t taps, size_t n,
                                          cn_vf32 *sums) {
  CN_UNROLL(33)
  for (size_t j = 0; j < 2 * n - 2 + taps; j++) {
    const cn_vf32 v = cn_blocked_channel_f32(cn_blocked_slide_at(p, j, 2 * n - 2 + taps, pitch), c, run, spread);
    CN_UNROLL(3)
    for (size_t t = 0; t < taps; t++)
      if (j >= t && (j - t) % 2 == 0 && (j - t) / 2 < n) sums[(j - t) / 2] = cn_vf32_fma(v, w[t], sums[(j - t) / 2]);
  }
}

/* The same of all channels, whose taps' weights are run * LANES apart, for each of one or two rows: sums[rows][n]. */
CN_KERNEL void cn_blocked_slide_products_f32(cn_blocked_row p, cn_blocked_row q, size_t rows, const float *weights, const float *ahead, size_t step, size_t run,
                                             int spread, size_t pitch, size_t stride, size_t taps, size_t n, cn_vf32 *sums) {
  for (size_t c = 0; c < run; c++, weights += CN_VF32_LANES, ahead += step) {
    CN_PREFETCH(ahead);
    cn_vf32 w[3];
    CN_UNROLL(3)
    for (size_t t = 0; t < taps; t++) w[t] = cn_vf32_load(weights + t * run * CN_VF32_LANES);
    if (stride == 1) cn_blocked_slide_step_f32(p, c, w, run, spread, pitch, taps, n, sums);
    else cn_blocked_slide_step2_f32(p, c, w, run, spread, pitch, taps, n, sums);
    if (rows == 2 && stride == 1) cn_blocked_slide_step_f32(q, c, w, run, spread, pitch, taps, n, sums + n);
    else if (rows == 2) cn_blocked_slide_step2_f32(q, c, w, run, spread, pitch, taps, n, sums + n);
  }
}

/* What three taps see of a row, which ends at `last` or goes on. */
CN_KERNEL cn_blocked_row cn_blocked_slide_three(cn_blocked_row p, int ends, size_t pitch, size_t stride, size_t n) {
  if (!ends) p.last = p.second + (n - 1) * stride * pitch + pitch;
  return p;
}

/* What those behind them do. */
CN_KERNEL cn_blocked_row cn_blocked_slide_on(cn_blocked_row p, size_t pitch) {
  p.first = p.second + 2 * pitch;
  p.second += 3 * pitch;
  return p;
}

/* All taps of a row of the window, three at a time; q: the second row. */
CN_KERNEL void cn_blocked_slide_row_f32(cn_blocked_row p, cn_blocked_row q, size_t rows, const float *weights, const float *ahead, size_t step, size_t run,
                                        int spread, size_t pitch, size_t stride, size_t taps, size_t n, cn_vf32 *sums) {
  for (; taps >= 3; taps -= 3, weights += 3 * run * CN_VF32_LANES, ahead += step * run) {
    const cn_blocked_row p3 = cn_blocked_slide_three(p, taps == 3, pitch, stride, n), q3 = cn_blocked_slide_three(q, taps == 3, pitch, stride, n);
    cn_blocked_slide_products_f32(p3, q3, rows, weights, ahead, step, run, spread, pitch, stride, 3, n, sums);
    p = cn_blocked_slide_on(p, pitch);
    q = cn_blocked_slide_on(q, pitch);
  }
  if (taps == 2) cn_blocked_slide_products_f32(p, q, rows, weights, ahead, step, run, spread, pitch, stride, 2, n, sums);
  else if (taps) cn_blocked_slide_products_f32(p, q, rows, weights, ahead, step, run, spread, pitch, stride, 1, n, sums);
}

/* n pixels of a row of blocks from place x on, zeros where that is outside, as all are of no row; where that is more than one at an end, a copy. From
 * channel `begin` on. */
CN_KERNEL cn_blocked_row cn_blocked_slide_pixels_f32(const float *row, ptrdiff_t x, size_t n, size_t width, size_t begin, const float *zeros, float *room) {
  const ptrdiff_t lanes = CN_VF32_LANES, end = x + (ptrdiff_t)n;
  if (!row || x < -1 || end > (ptrdiff_t)width + 1) {
    for (size_t i = 0; i < n; i++) {
      const ptrdiff_t at = x + (ptrdiff_t)i;
      const int inside = row && at >= 0 && (size_t)at < width;
      cn_vf32_store(room + i * CN_VF32_LANES, inside ? cn_vf32_load(row + at * lanes) : cn_vf32_zero());
    }
    return (cn_blocked_row){room + begin, room + begin + lanes, room + begin + (n - 1) * CN_VF32_LANES};
  }
  row += begin;
  return (cn_blocked_row){x < 0 ? zeros : row + x * lanes, row + (x + 1) * lanes, end > (ptrdiff_t)width ? zeros : row + (end - 1) * lanes};
}

/* Adds sums[n] to those of the parts before, and begins anew: a fraction of the rounding that one long sum has. */
CN_KERNEL void cn_blocked_slide_hold_f32(float *held, size_t parts, size_t n, cn_vf32 *sums) {
  CN_UNROLL(16)
  for (size_t i = 0; i < n; i++) {
    float *const at = held + i * CN_VF32_LANES;
    cn_vf32_store(at, parts ? cn_vf32_add(sums[i], cn_vf32_load(at)) : sums[i]);
    sums[i] = cn_vf32_zero();
  }
}

/* The row of input block b that row y of the result sees at its taps of row ky; NULL: it is outside. */
CN_KERNEL const float *cn_blocked_slide_line_f32(const cn_blocked_job *j, size_t b, size_t y, size_t ky) {
  const cn_blocked_walk *k = j->walk;
  const cn_window *w = &j->args->window;
  const ptrdiff_t row = (ptrdiff_t)(y * w->stride[1] + ky * w->dilation[1]) - k->w.pad[1];
  return row < 0 || (size_t)row >= k->w.in[1] ? NULL : j->in + b * j->area + row * (ptrdiff_t)(k->w.in[2] * k->pitch);
}

/* The outputs of `rows` rows from y on, one or two, of which `inside` are there, from x on, of which the first `skip` of each were stored before; pitch, stride, rows, n: literals,
 * pitch 0 for blocks. */
CN_KERNEL void cn_blocked_slide_tile_f32(const cn_blocked_job *j, size_t first, const float *weights, const float *ahead, size_t step, cn_vf32 bias, size_t y,
                                         size_t inside, size_t x, size_t skip, cn_blocked_grouping grouping, size_t pitch, size_t stride, size_t rows, size_t n) {
  const cn_blocked_walk *k = j->walk;
  const cn_window *w = &j->args->window;
  const size_t lanes = CN_VF32_LANES, taps = w->kernel[2], seen = (n - 1) * stride + taps, turns = cn_ceil_div(taps, 3);
  CN_ALIGN(64) float room[(2 * CN_BLOCKED_F32_SLIDE_EVEN + CN_BLOCKED_SLIDE_TAPS) * CN_VF32_LANES], room2[sizeof room / sizeof *room];
  CN_ALIGN(64) float held[16 * CN_VF32_LANES];
  cn_vf32 sums[16];
  CN_UNROLL(16)
  for (size_t i = 0; i < rows * n; i++) sums[i] = bias;
  size_t parts = 0, since = 0; /* sums that are held, products since then */
  for (size_t b = 0, left = k->slice; b < k->blocks; b++) {
    if (since >= CN_BLOCKED_SLIDE_PART) cn_blocked_slide_hold_f32(held, parts++, rows * n, sums), since = 0;
    const size_t begin = grouping == CN_BLOCKED_STRADDLE && b == 0 ? k->begin : 0, run = pitch ? pitch : (left == 1 ? k->last : lanes) - begin;
    left = left == 1 ? k->slice : left - 1;
    since += run * w->kernel[1] * taps;
    for (size_t ky = 0; ky < w->kernel[1]; ky++, weights += taps * run * lanes, ahead += turns * run * step) {
      const float *in = cn_blocked_slide_line_f32(j, b, y, ky), *below = rows == 2 && inside > 1 ? cn_blocked_slide_line_f32(j, b, y + 1, ky) : NULL;
      if (!in && !below) continue;
      if (pitch) {
        const float *at = in + x * stride * pitch;
        const cn_blocked_row p = {at, at + pitch, at + (seen - 1) * pitch};
        cn_blocked_slide_row_f32(p, p, 1, weights, ahead, step, run, 0, pitch, stride, taps, n, sums);
      } else {
        const cn_blocked_row p = cn_blocked_slide_pixels_f32(in, (ptrdiff_t)(x * stride) - w->pad[2], seen, k->w.in[2], begin, j->zeros, room);
        cn_blocked_row q = p;
        if (rows == 2) q = cn_blocked_slide_pixels_f32(below, (ptrdiff_t)(x * stride) - w->pad[2], seen, k->w.in[2], begin, j->zeros, room2);
        cn_blocked_slide_row_f32(p, q, rows, weights, ahead, step, run, grouping == CN_BLOCKED_WITHIN, lanes, stride, taps, n, sums);
      }
    }
  }
  if (parts) {
    CN_UNROLL(16)
    for (size_t i = 0; i < rows * n; i++) sums[i] = cn_vf32_add(sums[i], cn_vf32_load(held + i * CN_VF32_LANES));
  }
  cn_finish_vectors_f32(&j->args->ep, sums, n, skip, j->args->out, (first * j->pixels + y * w->out[2] + x) * lanes);
  if (rows == 2 && inside > 1) cn_finish_vectors_f32(&j->args->ep, sums + n, n, skip, j->args->out, (first * j->pixels + (y + 1) * w->out[2] + x) * lanes);
}

/* A job's rows; the last outputs of a row by a tile that begins before them. Each tile asks for its share of the weights behind these. pitch, stride, rows, n: as above. */
CN_KERNEL void cn_blocked_slide_group_f32(const cn_blocked_job *j, size_t first, const float *weights, const float *end, cn_blocked_grouping grouping,
                                          size_t pitch, size_t stride, size_t rows, size_t n) {
  const cn_window *w = &j->args->window;
  const cn_epilogue_f32 *ep = &j->args->ep;
  const size_t width = w->out[2], lanes = CN_VF32_LANES;
  const cn_vf32 bias = ep->flags & CN_EP_ROW_BIAS ? cn_vf32_load(ep->bias + first % (w->groups * w->m / lanes) * lanes) : cn_vf32_zero();
  const size_t y0 = j->p0 / width, y1 = j->p1 / width, own = j->walk->depth * lanes, tiles = cn_ceil_div(y1 - y0, rows) * cn_ceil_div(width, n);
  const size_t turns = own / lanes / w->kernel[2] * cn_ceil_div(w->kernel[2], 3), step = cn_min(16, cn_ceil_div(own, cn_max(tiles * turns, 1))), share = turns * step;
  const float *ahead = weights + cn_min(own, (size_t)(end - weights));
  for (size_t y = y0; y < y1; y += rows) {
    for (size_t from = 0; from < width; from += n) {
      const size_t x = cn_min(from, width - n);
      cn_blocked_slide_tile_f32(j, first, weights, share < (size_t)(end - ahead) ? ahead : weights, step, bias, y, y1 - y, x, from - x, grouping, pitch, stride, rows, n);
      ahead += cn_min(share, (size_t)(end - ahead));
    }
  }
}

/* Padded input rows of an image that lie in the copy, and the pixels p1 of the result that they are enough for. */
typedef struct cn_blocked_copied {
  size_t image, y0, y1, p1;
} cn_blocked_copied;

/* Copies what the tasks of `span` pixels at most from p0 on read, until p1 at most. Rows that are there already move. */
CN_KERNEL void cn_blocked_copy_band(const cn_window *w, const cn_blocked_walk *k, cn_blocked_copied *c, const float *in, size_t image, size_t p0, size_t p1,
                                    size_t span, float *copy) {
  const size_t row = k->w.in[2] * w->c, from = p0 / w->out[2], y0 = from * w->stride[1];
  const size_t keep = c->image == image && c->p1 && c->y1 > y0 ? c->y1 - y0 : 0;
  c->p1 = cn_min(p1, p0 + cn_max(1, ((from + cn_blocked_copy_rows(w, span)) * w->out[2] - p0) / span) * span);
  if (keep) memmove(copy, copy + (y0 - c->y0) * row, keep * row * sizeof *copy);
  c->image = image;
  c->y0 = y0;
  c->y1 = y0 + cn_blocked_reach(w, (c->p1 - 1) / w->out[2] + 1 - from);
  if (y0 + keep < c->y1) cn_blocked_interleave_f32(w, &k->w, in, y0 + keep, c->y1, copy + keep * row);
  else c->y1 = y0 + keep;
}

/* The pixels that pixels p0 .. p1 of the result read by strides, of so many blocks, side by side. */
CN_DRIVER void cn_blocked_pack_pixels_f32(const cn_window *w, const float *in, size_t blocks, size_t p0, size_t p1, float *dst) {
  const size_t lanes = CN_VF32_LANES, width = w->out[2], down = w->stride[1] * w->in[2] * lanes, right = w->stride[2] * lanes, area = cn_volume(w->in) * lanes;
  for (size_t b = 0; b < blocks; b++, in += area) {
    for (size_t p = p0, y = p0 / width, x = p0 % width; p < p1; p++, dst += lanes) {
      cn_vf32_store(dst, cn_vf32_load(in + y * down + x * right));
      if (++x == width) x = 0, y++;
    }
  }
}

/* Tasks t0 .. t1. Literals: whether the input is plain, which a->input says, too; how groups lie in blocks; nb and np; slides, 0 or the outputs
 * that slide, of a row, by pitch and stride. */
CN_KERNEL void cn_blocked_body_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1, int plain, cn_blocked_grouping grouping, size_t nb, size_t np,
                                   size_t slides, size_t pitch, size_t stride) {
  const cn_blocked_walk k = cn_blocked_walk_of(&a->window, a->input, CN_VF32_LANES);
  const cn_blocked_way way = {nb, np, slides};
  const size_t span = cn_blocked_span(&a->window, a->input, a->blocks, way, CN_VF32_LANES), most = cn_blocked_most(&a->window, way);
  const size_t held = a->input == CN_BLOCKED_COMPUTED ? cn_min(most, a->room / (k.slice * CN_VF32_LANES)) : most;
  const size_t across = cn_blocked_across(&a->window, a->input, a->blocks, way, CN_VF32_LANES);
  const size_t pixels = cn_volume(a->window.out), unit = cn_max(cn_blocked_unit(&a->window, way), 1);
  const size_t parts = a->window.groups, all = a->window.m / CN_VF32_LANES, zeros = cn_max(CN_VF32_LANES, k.run);
  const size_t groups = a->blocks / nb, apart = cn_blocked_apart(a->input, a->blocks, way), rows = slides == CN_BLOCKED_SLIDE_SHORT ? CN_BLOCKED_F32_SLIDE_ROWS : 1;
  const size_t together = cn_blocked_singly(a->input, way) ? 1 : held / span;
  const size_t image_in = (plain ? a->window.c : k.slice * CN_VF32_LANES) * cn_volume(a->window.in);
  float *copy = scratch + zeros, *behind = copy + cn_blocked_copy(&a->window, a->input, span, CN_VF32_LANES);
  int32_t *places = (int32_t *)(void *)(behind + a->room + cn_blocked_packed(&a->window, a->input, way, CN_VF32_LANES));
  int32_t *ys = k.dense ? NULL : places + k.taps * CN_BLOCKED_PLACES, *xs = k.dense ? NULL : ys + most + 32;
  const int by_outputs = cn_blocked_by_outputs(&a->window, a->input, a->blocks, CN_VF32_LANES);
  const size_t inner = by_outputs ? across : apart;
  const size_t rows_read = grouping == CN_BLOCKED_STRADDLE ? cn_blocked_read_by_all(&a->groups, CN_VF32_LANES) * k.taps : parts * a->blocks * k.depth;
  const float *const end = a->weights + rows_read * CN_VF32_LANES;
  cn_blocked_copied copied = {0, 0, 0, 0};
  int first = 1;
  memset(scratch, 0, zeros * sizeof *scratch);
  for (size_t t = t0; t < t1;) { /* i0 .. i1 of what neighbours do not have in common, for all from o0 to o1 of what they have */
    const size_t image = t / (apart * across), o0 = t % (apart * across) / inner, i0 = t % inner;
    const size_t whole = i0 ? 0 : cn_min((t1 - t) / inner, apart * across / inner - o0);
    const size_t o1 = o0 + cn_max(whole, 1), i1 = whole ? inner : cn_min(inner, i0 + (t1 - t));
    const size_t g0 = (by_outputs ? o0 : i0) * (groups / apart), g1 = (by_outputs ? o1 : i1) * (groups / apart);
    const cn_blocked_seen seen = cn_blocked_sees(&a->slices, a->window.kernel[0], image);
    const size_t skipped = seen.from * k.own * nb;
    const float *in = a->in ? a->in + seen.first * image_in : NULL, *weights = a->weights + (image % parts * a->blocks * k.depth + skipped) * CN_VF32_LANES;
    cn_blocked_walk own = k;
    own.blocks = (seen.to - seen.from) * k.slice;
    if (grouping == CN_BLOCKED_STRADDLE) {
      const cn_blocked_range r = cn_blocked_reads(&a->groups, image % parts, CN_VF32_LANES);
      in = a->in + (image / parts * cn_ceil_div(a->groups.n * a->groups.c, CN_VF32_LANES) + r.from / CN_VF32_LANES) * cn_volume(a->window.in) * CN_VF32_LANES;
      weights = a->weights + r.before * k.taps * CN_VF32_LANES;
      own.begin = r.from % CN_VF32_LANES;
      own.blocks = own.slice = cn_ceil_div(r.to, CN_VF32_LANES) - r.from / CN_VF32_LANES;
      own.last = r.to - (r.to - 1) / CN_VF32_LANES * CN_VF32_LANES;
      own.own = own.depth = (r.to - r.from) * k.taps;
    }
    t += whole ? whole * inner : i1 - i0;
    for (size_t at = by_outputs ? i0 : o0, stop = by_outputs ? i1 : o1, many; at < stop; at += many) {
      many = cn_max(1, cn_min(together, stop - at));
      const size_t p0 = cn_share_by(pixels, unit, at, across), p1 = cn_share_by(pixels, unit, at + many, across);
      if (plain && (first || copied.image != image || p1 > copied.p1)) {
        const size_t last = cn_min(t1, (image + 1) * across * apart) - 1, until = cn_share_by(pixels, unit, last / apart % across + 1, across);
        cn_blocked_copy_band(&a->window, &k, &copied, in, image, p0, until, span, copy);
        first = 0;
      }
      if (plain) own.w.in[1] = copied.y1 - copied.y0, own.w.pad[1] = (ptrdiff_t)copied.y0;
      if (a->input == CN_BLOCKED_COMPUTED) a->pixels(a->ctx, image, p0, p1, copy);
      else if (k.packs) cn_blocked_pack_pixels_f32(&a->window, in, own.blocks, p0, p1, copy);
      const float *const from = k.packs ? copy - p0 * CN_VF32_LANES : plain ? copy : in;
      const cn_blocked_job j = {a, &own, from, scratch, places, ys, xs, k.packs ? (p1 - p0) * CN_VF32_LANES : cn_volume(k.w.in) * k.pitch, p0, p1, pixels};
      if (!slides && !k.dense) cn_blocked_job_pixels(&j);
      for (size_t g = g0; g < g1; g++) {
        const size_t b = g * nb, block = image * all + a->first + b;
        if (slides) cn_blocked_slide_group_f32(&j, block, weights + b * k.depth * CN_VF32_LANES, end, grouping, pitch, stride, rows, slides);
        else cn_blocked_group_f32(&j, block, weights + b * k.depth * CN_VF32_LANES, end, plain, grouping, nb, np);
        if (a->ep.tile)
          a->ep.tile(a->ep.ctx, a->out + (block * pixels + p0) * CN_VF32_LANES, pixels * CN_VF32_LANES, image / parts, image % parts * all + a->first + b, nb,
                     p0 * CN_VF32_LANES, (p1 - p0) * CN_VF32_LANES);
      }
    }
  }
}

CN_KERNEL void cn_blocked_wide_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1, int plain, size_t nb) {
  cn_blocked_body_f32(a, scratch, t0, t1, plain, CN_BLOCKED_WHOLE, nb, cn_blocked_wide(nb, CN_BLOCKED_F32_SUMS), 0, 0, 0);
}

CN_KERNEL void cn_blocked_narrow_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1, int plain, size_t nb) {
  cn_blocked_body_f32(a, scratch, t0, t1, plain, CN_BLOCKED_WHOLE, nb, cn_max(cn_blocked_wide(nb, CN_BLOCKED_F32_SUMS) - 1, 1), 0, 0, 0);
}

/* Tasks t0 .. t1 of cn_blocked_tasks(a, 4), four output blocks at a time, each call with its own scratch of
 * cn_blocked_conv_f32_scratch and a->room floats, for windows whose driver it is (kernels/blocked_driver.h); so for the others by their names. */
CN_DRIVER void cn_blocked_conv_f32_4(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 0, 4);
}

CN_DRIVER void cn_blocked_conv_f32_4_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 0, 4);
}

CN_DRIVER void cn_blocked_conv_f32_3(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 0, 3);
}

CN_DRIVER void cn_blocked_conv_f32_3_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 0, 3);
}

CN_DRIVER void cn_blocked_conv_f32_2(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 0, 2);
}

CN_DRIVER void cn_blocked_conv_f32_2_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 0, 2);
}

CN_DRIVER void cn_blocked_conv_f32_1(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 0, 1);
}

CN_DRIVER void cn_blocked_conv_f32_1_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 0, 1);
}

/* The same of a plain input. */
CN_DRIVER void cn_blocked_plain_f32_4(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 1, 4);
}

CN_DRIVER void cn_blocked_plain_f32_4_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 1, 4);
}

CN_DRIVER void cn_blocked_plain_f32_3(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 1, 3);
}

CN_DRIVER void cn_blocked_plain_f32_3_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 1, 3);
}

CN_DRIVER void cn_blocked_plain_f32_2(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 1, 2);
}

CN_DRIVER void cn_blocked_plain_f32_2_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 1, 2);
}

CN_DRIVER void cn_blocked_plain_f32_1(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_wide_f32(a, scratch, t0, t1, 1, 1);
}

CN_DRIVER void cn_blocked_plain_f32_1_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_narrow_f32(a, scratch, t0, t1, 1, 1);
}

/* Groups within blocks: pixels side by side, or outputs that slide, of every pixel or of every second. */
CN_DRIVER void cn_blocked_groups_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, cn_blocked_wide(1, CN_BLOCKED_F32_SUMS), 0, 0, 0);
}

CN_DRIVER void cn_blocked_groups_f32_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, cn_max(cn_blocked_wide(1, CN_BLOCKED_F32_SUMS) - 1, 1), 0, 0, 0);
}

CN_DRIVER void cn_blocked_groups_slide_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, 1, CN_BLOCKED_F32_SLIDE, 0, 1);
}

CN_DRIVER void cn_blocked_groups_slide_f32_even(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, 1, CN_BLOCKED_F32_SLIDE_EVEN, 0, 1);
}

CN_DRIVER void cn_blocked_groups_slide_f32_few(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, 1, CN_BLOCKED_F32_SLIDE_FEW, 0, 1);
}

CN_DRIVER void cn_blocked_groups_slide_f32_short(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, 1, CN_BLOCKED_SLIDE_SHORT, 0, 1);
}

CN_DRIVER void cn_blocked_groups_slide_f32_s2(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, 1, CN_BLOCKED_F32_SLIDE_EVEN, 0, 2);
}

CN_DRIVER void cn_blocked_groups_slide_f32_s2_short(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WITHIN, 1, 1, CN_BLOCKED_SLIDE_SHORT, 0, 2);
}

/* Groups across the ends of blocks. */
CN_DRIVER void cn_blocked_straddle_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, cn_blocked_wide(1, CN_BLOCKED_F32_SUMS), 0, 0, 0);
}

CN_DRIVER void cn_blocked_straddle_f32_narrow(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, cn_max(cn_blocked_wide(1, CN_BLOCKED_F32_SUMS) - 1, 1), 0, 0, 0);
}

CN_DRIVER void cn_blocked_straddle_slide_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, 1, CN_BLOCKED_F32_SLIDE, 0, 1);
}

CN_DRIVER void cn_blocked_straddle_slide_f32_even(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, 1, CN_BLOCKED_F32_SLIDE_EVEN, 0, 1);
}

CN_DRIVER void cn_blocked_straddle_slide_f32_few(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, 1, CN_BLOCKED_F32_SLIDE_FEW, 0, 1);
}

CN_DRIVER void cn_blocked_straddle_slide_f32_short(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, 1, CN_BLOCKED_SLIDE_SHORT, 0, 1);
}

CN_DRIVER void cn_blocked_straddle_slide_f32_s2(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, 1, CN_BLOCKED_F32_SLIDE_EVEN, 0, 2);
}

CN_DRIVER void cn_blocked_straddle_slide_f32_s2_short(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_STRADDLE, 1, 1, CN_BLOCKED_SLIDE_SHORT, 0, 2);
}

/* One output block, outputs slide over blocks; over a copied input of one channel, of three, of three and two pixels on. */
CN_DRIVER void cn_blocked_slide_f32(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE, 0, 1);
}

CN_DRIVER void cn_blocked_slide_f32_even(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE_EVEN, 0, 1);
}

CN_DRIVER void cn_blocked_slide_f32_few(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE_FEW, 0, 1);
}

CN_DRIVER void cn_blocked_slide_f32_short(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_SLIDE_SHORT, 0, 1);
}

CN_DRIVER void cn_blocked_slide_f32_s2(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE_EVEN, 0, 2);
}

CN_DRIVER void cn_blocked_slide_f32_s2_short(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 0, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_SLIDE_SHORT, 0, 2);
}

CN_DRIVER void cn_blocked_slide_f32_c1(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 1, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE, 1, 1);
}

CN_DRIVER void cn_blocked_slide_f32_c1_few(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 1, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE_FEW, 1, 1);
}

CN_DRIVER void cn_blocked_slide_f32_c3(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 1, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE, 3, 1);
}

CN_DRIVER void cn_blocked_slide_f32_c3_few(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 1, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE_FEW, 3, 1);
}

CN_DRIVER void cn_blocked_slide_f32_c3s2(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_blocked_body_f32(a, scratch, t0, t1, 1, CN_BLOCKED_WHOLE, 1, 1, CN_BLOCKED_F32_SLIDE, 3, 2);
}

#endif
