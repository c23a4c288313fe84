/* SPDX-License-Identifier: MIT-0 */
/* How a convolution over blocked channels walks its input, and what it needs: for any vector width, an argument, since the
 * compiler asks too. */
#ifndef CN_KERNELS_BLOCKED_H
#define CN_KERNELS_BLOCKED_H

#include "kernels/window.h"

/* The input as the tiles walk it. A plain input is copied with its padding and with channels innermost: what a row of the
 * window covers then lies together and acts as one run of channels. */
typedef struct cn_blocked_walk {
  cn_window w;      /* spatial part of what is read */
  size_t pitch;     /* floats from pixel to pixel */
  size_t run, last; /* channels of an input block, of the last one */
  size_t blocks, taps;
  size_t depth;     /* channels times taps of all */
  int dense;        /* pixel p of the result reads pixel p, and nothing else */
} cn_blocked_walk;

CN_INLINE cn_blocked_walk cn_blocked_walk_of(const cn_window *w, int plain, size_t lanes) {
  cn_blocked_walk k;
  const int flat = cn_volume(w->kernel) == 1 && w->stride[1] == 1 && w->stride[2] == 1 && !w->pad[1] && !w->pad[2];
  k.w = *w;
  if (plain) {
    k.w.in[1] = (w->out[1] - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    k.w.in[2] = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    k.w.pad[1] = k.w.pad[2] = 0;
    if (w->dilation[2] == 1) k.w.kernel[2] = 1;
  }
  k.run = !plain ? lanes : w->dilation[2] == 1 ? w->c * w->kernel[2] : w->c;
  k.pitch = plain ? w->c : lanes;
  k.blocks = plain ? 1 : cn_ceil_div(w->c, lanes);
  k.last = plain ? k.run : w->c - (k.blocks - 1) * lanes;
  k.taps = cn_volume(k.w.kernel);
  k.depth = w->c * cn_volume(w->kernel);
  k.dense = !plain && flat && w->in[1] == w->out[1] && w->in[2] == w->out[2];
  return k;
}

/* Pixels of the result that a task computes, at most. */
#define CN_BLOCKED_SPAN 480

/* Output rows whose input is copied at a time: two tasks' at least, and so many that few rows serve two copies. By sizes alone. */
CN_INLINE size_t cn_blocked_copy_rows(const cn_window *w) {
  const size_t twice = (w->kernel[1] - 1) * w->dilation[1];
  return cn_min(w->out[1], cn_max(2 * CN_BLOCKED_SPAN / w->out[2] + 2, cn_ceil_div(8 * twice, w->stride[1])));
}

/* Padded input rows that n output rows read. */
CN_INLINE size_t cn_blocked_reach(const cn_window *w, size_t n) { return (n - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1; }

/* Floats of a plain input's copy. */
CN_INLINE size_t cn_blocked_copy(const cn_window *w, int plain, size_t lanes) {
  const cn_blocked_walk k = cn_blocked_walk_of(w, plain, lanes);
  return plain && cn_volume(w->out) ? cn_blocked_reach(w, cn_blocked_copy_rows(w)) * k.w.in[2] * w->c : 0;
}

/* Floats of scratch of a driver of any number of blocks: zeros, the copy, places (of 32 bits) for each tap of each pixel. */
CN_INLINE size_t cn_blocked_conv_f32_scratch(const cn_window *w, int plain, size_t lanes) {
  const cn_blocked_walk k = cn_blocked_walk_of(w, plain, lanes);
  const size_t zeros = cn_max(lanes, k.run);
  return zeros + cn_blocked_copy(w, plain, lanes) + k.taps * (cn_min(CN_BLOCKED_SPAN, cn_volume(w->out)) + 64) + 16;
}

/* Pixels whose channels are normalised side by side: what they store is read again after it has reached the cache. */
#define CN_BLOCKED_LRN_F32_PIXELS 8

/* Floats of squares of one pixel: all blocks, zeros on either side. */
CN_INLINE size_t cn_blocked_lrn_f32_row(size_t channels, size_t below, size_t above, size_t lanes) {
  return below + cn_round_up(channels, lanes) + above;
}

/* Floats of scratch of cn_blocked_lrn_f32. */
CN_INLINE size_t cn_blocked_lrn_f32_scratch(size_t channels, size_t below, size_t above, size_t lanes) {
  return CN_BLOCKED_LRN_F32_PIXELS * cn_blocked_lrn_f32_row(channels, below, above, lanes);
}

#endif
