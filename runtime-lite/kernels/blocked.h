/* SPDX-License-Identifier: MIT-0 */
/* How a convolution over blocked channels walks its input, and what it needs: for any vector width, an argument, since the
 * compiler asks too. */
#ifndef CN_KERNELS_BLOCKED_H
#define CN_KERNELS_BLOCKED_H

#include "kernels/window.h"

/* Where a convolution's input is: blocks of channels; a plain image; or nowhere, where a function computes the pixels that a call of it asks for, for a
 * dense window of one place without parts. */
typedef enum cn_blocked_input {
  CN_BLOCKED_BLOCKS,
  CN_BLOCKED_PLAIN,
  CN_BLOCKED_COMPUTED
} cn_blocked_input;

/* The input as the tiles walk it. A plain input is copied with its padding and with channels innermost: what a row of the
 * window covers then lies together and acts as one run of channels. Pixels that a window of one place reads by strides are copied side by side, and
 * so are those that are computed. */
typedef struct cn_blocked_walk {
  cn_window w;      /* spatial part of what is read */
  size_t pitch;     /* floats from pixel to pixel */
  size_t run, last; /* channels of an input block, of the last one of a slice */
  size_t begin;     /* those of the first block that are passed over */
  size_t slice, blocks, taps; /* blocks of a slice, and of all that are seen; taps of a block */
  size_t own, depth; /* channels times taps of a slice, and of all */
  int packs;        /* a window of one place reads its pixels side by side, in scratch */
  int dense;        /* pixel p of the result reads pixel p, and nothing else */
} cn_blocked_walk;

/* Slices of volumes as images, [volumes][slices][blocks][height][width][LANES]: image i of the result is slice i % out of its volume and sees kernel[0]
 * slices of the input side by side, where the window has in[0] and out[0] 1; those outside are left out. out 0: image i sees image i. */
typedef struct cn_blocked_slices {
  size_t in, out, stride;
  ptrdiff_t pad; /* before the first; less than kernel[0], as behind the last: an image sees one slice at least */
} cn_blocked_slices;

/* What an image sees: taps from .. to, of slices from `first` on, of all volumes. */
typedef struct cn_blocked_seen {
  size_t first, from, to;
} cn_blocked_seen;

CN_INLINE cn_blocked_seen cn_blocked_sees(const cn_blocked_slices *s, size_t taps, size_t image) {
  cn_blocked_seen seen = {image, 0, 1};
  if (s->out == 0) return seen;
  const ptrdiff_t at = (ptrdiff_t)(image % s->out * s->stride) - s->pad, end = (ptrdiff_t)s->in - at;
  seen.from = at < 0 ? cn_min(taps, (size_t)-at) : 0;
  seen.to = end < 0 ? seen.from : cn_max(seen.from, cn_min(taps, (size_t)end));
  seen.first = image / s->out * s->in + (at < 0 ? 0 : (size_t)at);
  return seen;
}

/* How a convolution's groups lie in blocks: each is whole blocks; a block has as many as fit; or they lie across the ends of blocks. */
typedef enum cn_blocked_grouping {
  CN_BLOCKED_WHOLE,
  CN_BLOCKED_WITHIN,
  CN_BLOCKED_STRADDLE
} cn_blocked_grouping;

/* n groups of c channels and m outputs each. Of those across the ends of blocks, and within them, the window's groups are the blocks of outputs. */
typedef struct cn_blocked_groups {
  size_t n, c, m;
} cn_blocked_groups;

CN_INLINE cn_blocked_grouping cn_blocked_grouping_of(const cn_blocked_groups *g, size_t lanes) {
  if (g->c % lanes == 0 && g->m % lanes == 0) return CN_BLOCKED_WHOLE;
  return g->c == g->m && lanes % g->c == 0 ? CN_BLOCKED_WITHIN : CN_BLOCKED_STRADDLE;
}

/* Channels from .. to of all groups that one output block has a part of, and those that the blocks before it read, all together. */
typedef struct cn_blocked_range {
  size_t from, to, before;
} cn_blocked_range;

CN_INLINE cn_blocked_range cn_blocked_reads(const cn_blocked_groups *g, size_t block, size_t lanes) {
  const size_t first = block * lanes, end = cn_min(first + lanes, g->n * g->m), whole = g->m / cn_min(lanes, g->m & (~g->m + 1)); /* blocks from one that begins with a group to the next */
  cn_blocked_range r = {first / g->m * g->c, ((end - 1) / g->m + 1) * g->c, 0};
  if (block) r.before = ((first - 1) / g->m + block - (block - 1) / whole) * g->c; /* groups that begin before it, each once more for each further block that it lies in */
  return r;
}

/* The channels that all blocks of outputs read, together. */
CN_INLINE size_t cn_blocked_read_by_all(const cn_blocked_groups *g, size_t lanes) {
  const cn_blocked_range r = cn_blocked_reads(g, cn_ceil_div(g->n * g->m, lanes) - 1, lanes);
  return r.before + r.to - r.from;
}

/* The most that one of them does, in whole blocks of the input. */
CN_INLINE size_t cn_blocked_most_read(const cn_blocked_groups *g, size_t lanes) {
  size_t most = 0;
  for (size_t b = 0; b * lanes < g->n * g->m; b++) {
    const cn_blocked_range r = cn_blocked_reads(g, b, lanes);
    most = cn_max(most, cn_round_up(r.to, lanes) - r.from / lanes * lanes);
  }
  return most;
}

/* Windows of one place that pass over pixels. */
CN_INLINE int cn_blocked_skips(const cn_window *w, cn_blocked_input input) {
  return input == CN_BLOCKED_BLOCKS && w->kernel[1] == 1 && w->kernel[2] == 1 && (w->stride[1] > 1 || w->stride[2] > 1);
}

CN_INLINE cn_blocked_walk cn_blocked_walk_of(const cn_window *w, cn_blocked_input input, size_t lanes) {
  cn_blocked_walk k;
  const int plain = input == CN_BLOCKED_PLAIN, flat = w->kernel[1] == 1 && w->kernel[2] == 1 && !w->pad[1] && !w->pad[2];
  k.w = *w;
  k.packs = flat && cn_blocked_skips(w, input) && (w->out[1] - 1) * w->stride[1] < w->in[1] && (w->out[2] - 1) * w->stride[2] < w->in[2];
  for (int i = 1; k.packs && i < 3; i++) k.w.in[i] = w->out[i], k.w.stride[i] = 1;
  k.packs = k.packs || input == CN_BLOCKED_COMPUTED;
  if (plain) {
    k.w.in[1] = (w->out[1] - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    k.w.in[2] = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    k.w.pad[1] = k.w.pad[2] = 0;
    if (w->dilation[2] == 1) k.w.kernel[2] = 1;
  }
  k.run = !plain ? lanes : w->dilation[2] == 1 ? w->c * w->kernel[2] : w->c;
  k.pitch = plain ? w->c : lanes;
  k.slice = plain ? 1 : cn_ceil_div(w->c, lanes);
  k.blocks = k.slice * w->kernel[0];
  k.last = plain ? k.run : w->c - (k.slice - 1) * lanes;
  k.begin = 0;
  k.taps = k.w.kernel[1] * k.w.kernel[2];
  k.own = w->c * w->kernel[1] * w->kernel[2];
  k.depth = k.own * w->kernel[0];
  k.dense = input == CN_BLOCKED_COMPUTED || (!plain && flat && k.w.stride[1] == 1 && k.w.stride[2] == 1 && k.w.in[1] == w->out[1] && k.w.in[2] == w->out[2]);
  return k;
}

/* Pixels of the result that a task computes, at most. */
#define CN_BLOCKED_SPAN 480

/* The pixels that a driver of n output blocks computes side by side: as many sums as there are registers for. */
CN_INLINE size_t cn_blocked_wide(size_t n, size_t sums) { return cn_min(12, sums / n); }

/* How long n pixels take by np side by side, of so many blocks, in quarters of a cycle for each channel: two products a cycle, each four cycles behind the
 * one before in its sum, and what a tile takes beside. */
CN_INLINE size_t cn_blocked_time(size_t n, size_t blocks, size_t np) { return cn_ceil_div(n, np) * (2 * cn_max(blocks * np, 8) + 3); }

/* One less is quicker in some images (7x7), since fewer lanes of pixels are idle. By sizes alone. */
CN_INLINE size_t cn_blocked_pixels(size_t pixels, size_t n, size_t sums) {
  const size_t wide = cn_blocked_wide(n, sums), narrow = cn_max(wide - 1, 1);
  return cn_blocked_time(pixels, n, narrow) < cn_blocked_time(pixels, n, wide) ? narrow : wide;
}

/* Where a call computes one output block, a pixel that is read once serves all outputs of a row that see it by three taps: so many
 * outputs side by side, or fewer where that leaves fewer idle (14, 28, 56; 20, 30; 7, of two rows where there are registers); the most taps of a row; products
 * of an output that are one sum, in whole input blocks at least. */
#define CN_BLOCKED_SLIDE(sums) ((sums) * 2 / 3)

#define CN_BLOCKED_SLIDE_EVEN(sums) (CN_BLOCKED_SLIDE(sums) < 16 ? CN_BLOCKED_SLIDE(sums) : 14)

#define CN_BLOCKED_SLIDE_FEW(sums) (CN_BLOCKED_SLIDE(sums) < 16 ? CN_BLOCKED_SLIDE(sums) : 10)

#define CN_BLOCKED_SLIDE_SHORT 7

#define CN_BLOCKED_SLIDE_ROWS(sums) (CN_BLOCKED_SLIDE(sums) < 16 ? 1 : 2)

#define CN_BLOCKED_SLIDE_TAPS 16

#define CN_BLOCKED_SLIDE_PART 288

/* The better of n outputs side by side and of `more`, which are no fewer. */
CN_INLINE size_t cn_blocked_slide_better(size_t width, size_t more, size_t n) {
  return more > width || (n <= width && cn_round_up(width, n) < cn_round_up(width, more)) ? n : more;
}

CN_INLINE size_t cn_blocked_slide_of(size_t width, int blocks, size_t stride, size_t sums) {
  if (!blocks) return stride == 1 ? cn_blocked_slide_better(width, CN_BLOCKED_SLIDE(sums), CN_BLOCKED_SLIDE_FEW(sums)) : CN_BLOCKED_SLIDE(sums);
  if (stride == 2) return cn_blocked_slide_better(width, CN_BLOCKED_SLIDE_EVEN(sums), CN_BLOCKED_SLIDE_SHORT);
  const size_t n = cn_blocked_slide_better(width, CN_BLOCKED_SLIDE(sums), CN_BLOCKED_SLIDE_EVEN(sums));
  return cn_blocked_slide_better(width, cn_blocked_slide_better(width, n, CN_BLOCKED_SLIDE_FEW(sums)), CN_BLOCKED_SLIDE_SHORT);
}

/* Outputs side by side of a convolution that goes that way, else 0: where tiles do not waste a quarter of their outputs; of every second pixel those of blocks, and of a copied colour image, what networks begin with. */
CN_INLINE size_t cn_blocked_slides(const cn_window *w, cn_blocked_input input, size_t lanes, size_t sums) {
  const int plain = input == CN_BLOCKED_PLAIN, copied = plain && (w->c == 3 || (w->c == 1 && w->stride[2] == 1));
  if (lanes == 1 || w->stride[2] > 2 || (plain && !copied) || w->dilation[2] != 1 || w->kernel[2] < 2 || w->kernel[2] > CN_BLOCKED_SLIDE_TAPS) return 0;
  const size_t n = cn_blocked_slide_of(w->out[2], !plain, w->stride[2], sums);
  if (3 * cn_round_up(w->out[2], n) > 4 * w->out[2]) return 0;
  return w->out[2] >= n ? n : 0;
}

/* How a driver computes: output blocks at a time; of each, so many pixels side by side; or, not 0, outputs that slide along a row. */
typedef struct cn_blocked_way {
  size_t blocks, pixels, slides;
} cn_blocked_way;

/* That of n blocks for a window whose sizes are known. */
CN_INLINE cn_blocked_way cn_blocked_way_of(const cn_window *w, cn_blocked_input input, size_t n, size_t lanes, size_t sums) {
  const size_t slides = n == 1 ? cn_blocked_slides(w, input, lanes, sums) : 0;
  const cn_blocked_way way = {n, slides ? 1 : cn_blocked_pixels(cn_volume(w->out), n, sums), slides};
  return way;
}

/* That of n blocks for any sizes. */
CN_INLINE cn_blocked_way cn_blocked_any_way(size_t n, size_t sums) {
  const cn_blocked_way way = {n, cn_blocked_wide(n, sums), 0};
  return way;
}

/* What it computes at a time: the pixels of a tile, or a row. */
CN_INLINE size_t cn_blocked_unit(const cn_window *w, cn_blocked_way way) { return way.slides ? w->out[2] : way.pixels; }

/* Pixels for which it goes through the weights once, at most: the input that they read stays in the second cache. */
CN_INLINE size_t cn_blocked_most(const cn_window *w, cn_blocked_way way) {
  const size_t unit = cn_max(cn_blocked_unit(w, way), 1), least = way.slides ? cn_ceil_div(4 * way.slides, unit) : 4;
  const size_t most = cn_max(least, cn_min(CN_BLOCKED_SPAN, 65536 / cn_max(w->c * w->kernel[0], 1)) / unit);
  return cn_min(most, cn_max(cn_ceil_div(cn_volume(w->out), unit), 1)) * unit;
}

/* Whether a call computes one task after the other, each with rows of its own, not as many together as the second cache holds. */
CN_INLINE int cn_blocked_singly(cn_blocked_input input, cn_blocked_way way) { return input == CN_BLOCKED_PLAIN || way.slides; }

/* Tasks that have the same pixels, each for way.blocks output blocks; for all of them one, where the pixels would be computed again. */
CN_INLINE size_t cn_blocked_apart(cn_blocked_input input, size_t blocks, cn_blocked_way way) {
  return input == CN_BLOCKED_COMPUTED ? 1 : blocks / way.blocks;
}

/* Tasks that an image is parted into for some of a call's output blocks, evenly, of whole units. With all output blocks some 16, an even number, so that two
 * threads have as much to do; fewer where a task would have less than 2^14 products, or 2^16 where it is computed singly, and one where halves would have
 * less than a quarter of that; more, an even number, too, where the second cache bounds a task (cn_blocked_most). By sizes alone. */
CN_INLINE size_t cn_blocked_across(const cn_window *w, cn_blocked_input input, size_t blocks, cn_blocked_way way, size_t lanes) {
  const size_t unit = cn_max(cn_blocked_unit(w, way), 1), all = cn_ceil_div(cn_volume(w->out), unit);
  const size_t apart = cn_blocked_apart(input, blocks, way), groups = cn_max(w->images * w->groups * apart, 1), worth = (size_t)1 << (cn_blocked_singly(input, way) ? 16 : 14);
  const size_t least = cn_ceil_div(worth, cn_max(unit * (blocks / cn_max(apart, 1)) * lanes * w->c * cn_volume(w->kernel), 1));
  const size_t bound = cn_ceil_div(all, cn_blocked_most(w, way) / unit);
  size_t n = groups < 16 ? 2 * cn_ceil_div(8, groups) : 1;
  while (n > 2 && all < n * least) n = 2 * (n / 4);
  if (n == 2 && all < 2 * cn_ceil_div(least, 4)) n = 1;
  return cn_min(cn_max(n, bound > 1 ? cn_round_up(bound, 2) : bound), all);
}

/* Pixels of one of these tasks, at most. */
CN_INLINE size_t cn_blocked_span(const cn_window *w, cn_blocked_input input, size_t blocks, cn_blocked_way way, size_t lanes) {
  const size_t unit = cn_max(cn_blocked_unit(w, way), 1), all = cn_ceil_div(cn_volume(w->out), unit);
  return cn_max(cn_ceil_div(all, cn_max(cn_blocked_across(w, input, blocks, way, lanes), 1)), 1) * unit;
}

/* Weights that a network's second cache keeps from call to call, where others are no larger. */
#ifndef CN_BLOCKED_KEPT
#define CN_BLOCKED_KEPT ((size_t)1 << 16)
#endif

/* Whether tasks side by side have outputs in common, not pixels: who takes neighbours then reads a part of the weights, which come from far, and are more than the
 * pixels that it reads for that. By sizes alone. */
CN_INLINE int cn_blocked_by_outputs(const cn_window *w, cn_blocked_input input, size_t blocks, size_t lanes) {
  const size_t each = blocks * lanes * cn_volume(w->kernel);
  return input == CN_BLOCKED_BLOCKS && each > 2 * cn_volume(w->in) && each * w->c > CN_BLOCKED_KEPT;
}

/* Tasks of a call for `blocks` output blocks: some pixels of an image for some of them, in the order of cn_blocked_by_outputs. */
CN_INLINE size_t cn_blocked_count(const cn_window *w, cn_blocked_input input, size_t blocks, cn_blocked_way way, size_t lanes) {
  return w->images * w->groups * cn_blocked_across(w, input, blocks, way, lanes) * cn_blocked_apart(input, blocks, way);
}

/* Output rows whose input is copied at a time: a task's at least, and so many that what two copies share, which moves, is no more than half. */
CN_INLINE size_t cn_blocked_copy_rows(const cn_window *w, size_t span) {
  const size_t reach = (w->kernel[1] - 1) * w->dilation[1] + 1, twice = reach - cn_min(reach, w->stride[1]);
  return cn_min(w->out[1], cn_max(span / cn_max(w->out[2], 1) + 2, cn_ceil_div(2 * twice, w->stride[1])));
}

/* Padded input rows that n output rows read. */
CN_INLINE size_t cn_blocked_reach(const cn_window *w, size_t n) { return (n - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1; }

/* Floats of a plain input's copy for tasks of `span` pixels. */
CN_INLINE size_t cn_blocked_copy(const cn_window *w, cn_blocked_input input, size_t span, size_t lanes) {
  const cn_blocked_walk k = cn_blocked_walk_of(w, input, lanes);
  return input == CN_BLOCKED_PLAIN && cn_volume(w->out) ? cn_blocked_reach(w, cn_blocked_copy_rows(w, span)) * k.w.in[2] * w->c : 0;
}

/* Floats of the copied pixels of a window of one place. */
CN_INLINE size_t cn_blocked_packed(const cn_window *w, cn_blocked_input input, cn_blocked_way way, size_t lanes) {
  return cn_blocked_skips(w, input) ? cn_blocked_most(w, way) * w->kernel[0] * cn_round_up(w->c, lanes) : 0;
}

/* Pixels whose taps' places are worked out together: a few tiles', by turns of 16. */
#define CN_BLOCKED_PLACES 48

/* Floats of scratch of a call for `blocks` output blocks: zeros, the copy or copied pixels, places (of 32 bits) for each tap of a few tiles, behind
 * those the pixels' own, by rows and by columns; of a dense window's last tile only. Pixels that are computed come on top: those of a task (cn_blocked_span) at least, of
 * cn_blocked_most at most, of all channels, in whole blocks. */
CN_INLINE size_t cn_blocked_conv_f32_scratch(const cn_window *w, cn_blocked_input input, size_t blocks, cn_blocked_way way, size_t lanes) {
  const cn_blocked_walk k = cn_blocked_walk_of(w, input, lanes);
  const size_t places = way.slides ? 0 : k.dense ? 16 : k.taps * CN_BLOCKED_PLACES + 2 * (cn_blocked_most(w, way) + 32);
  return cn_max(lanes, k.run) + cn_blocked_copy(w, input, cn_blocked_span(w, input, blocks, way, lanes), lanes) + cn_blocked_packed(w, input, way, lanes) + places;
}

/* Whether tiles of outputs side by side do for a depthwise window of k x k taps: of three at most the first and the last column of a tile are outside. */
CN_INLINE int cn_blocked_tiled_window(const cn_window *w, size_t k, size_t stride) {
  return k > 3 || (w->pad[2] <= 1 && (ptrdiff_t)((w->out[2] - 1) * stride + k) - w->pad[2] <= (ptrdiff_t)w->in[2] + 1);
}

/* Floats from image to image, from block to block of an image's channels, and from pixel to pixel, where rows follow one another. */
typedef struct cn_blocked_pitch {
  size_t image, block, pixel;
} cn_blocked_pitch;

/* Bands of rows that a depthwise convolution of pixels that lie apart is parted into: each has all blocks. By sizes alone. */
CN_INLINE size_t cn_tokens_bands(const cn_window *w) { return cn_min(w->out[1], 8); }

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
