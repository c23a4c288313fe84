/* SPDX-License-Identifier: MIT-0 */
/* Sizes of the padded, phase-parted copies of bands (kernels/plane_f32.h), for any vector width: the compiler asks for those
 * of its target. */
#ifndef CN_KERNELS_PLANE_H
#define CN_KERNELS_PLANE_H

#include "kernels/window.h"

/* One channel's copy, [kernel depth][rows][stride][pitch]: column e of phase q of a row is place e * stride + q of the padded
 * row. */
typedef struct cn_plane {
  size_t pitch, row, slice; /* elements from phase to phase, row to row, slice to slice */
  size_t band;              /* output rows made from one copy */
} cn_plane;

CN_INLINE size_t cn_plane_rows(const cn_window *w, size_t band) {
  return (band - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
}

/* Elements that copies in a second-level cache may have. */
#define CN_PLANE_MOST(lanes) (12288 * (lanes))

/* The band: as many rows (without vectors one, memory being dear where they are missing, else four, or two where four leave the second cache), and more by
 * as many while the copies of all channels stay under the limit. */
CN_INLINE cn_plane cn_plane_of(const cn_window *w, size_t lanes, size_t channels, size_t limit) {
  cn_plane p;
  p.pitch = cn_round_up(w->out[2], lanes) + (w->kernel[2] - 1) * w->dilation[2] / w->stride[2];
  p.row = p.pitch * w->stride[2];
  const size_t one = p.row * w->kernel[0] * channels, rows = lanes == 1 ? 1 : cn_plane_rows(w, 4) * one > CN_PLANE_MOST(lanes) ? 2 : 4;
  p.band = cn_max(cn_min(w->out[1], rows), 1); /* of no rows, too: others divide by it */
  while (p.band < w->out[1] && cn_plane_rows(w, p.band + rows) * one <= limit) p.band = cn_min(w->out[1], p.band + rows);
  p.slice = cn_plane_rows(w, p.band) * p.row;
  return p;
}

/* A band of one slice of one channel: what is computed at a time, one after the other. */
typedef struct cn_band {
  size_t band, z, index; /* index: of all images' channels */
} cn_band;

CN_INLINE cn_band cn_band_at(const cn_window *w, size_t bands, size_t t) {
  const cn_band b = {t % bands, t / bands % w->out[0], t / bands / w->out[0]};
  return b;
}

CN_INLINE void cn_band_next(const cn_window *w, size_t bands, cn_band *b) {
  if (++b->band < bands) return;
  b->band = 0;
  if (++b->z < w->out[0]) return;
  b->z = 0;
  b->index++;
}

/* An even number of bands of much the same height, where each has four rows or more and a copy is not tiny: the last of three would be one thread's, while
 * the other waits. */
CN_INLINE cn_plane cn_plane_even(const cn_window *w, cn_plane p, size_t lanes) {
  size_t bands = cn_max(cn_round_up(cn_ceil_div(w->out[1], p.band), 2), 2);
  if (w->out[1] < 4 * bands || p.slice * w->kernel[0] * w->c < 128 * lanes) return p;
  while (cn_ceil_div(w->out[1], cn_ceil_div(w->out[1], bands)) % 2 != 0) bands -= 2; /* 25 rows in six bands are five of five */
  p.band = cn_ceil_div(w->out[1], bands);
  p.slice = cn_plane_rows(w, p.band) * p.row;
  return p;
}

/* Elements that a direct convolution's copy of a band of all channels should stay under: a part of a second-level cache, or a kilobyte where there are no
 * vectors. */
#define CN_DIRECT_MOST(lanes) ((lanes) == 1 ? 256 : 4096 * (lanes))

/* Outputs of a row that one copy is for: all of them, but of a single row too long for that a part, an even number of which make the row. */
CN_INLINE size_t cn_direct_width(const cn_window *w, size_t lanes) {
  const size_t one = cn_max(w->c * w->kernel[0] * w->stride[2], 1), reach = (w->kernel[2] - 1) * w->dilation[2] / w->stride[2], most = CN_DIRECT_MOST(lanes) / one;
  if (lanes == 1 || w->out[1] != 1 || w->kernel[1] != 1 || cn_round_up(w->out[2], lanes) + reach <= most) return w->out[2];
  const size_t least = 8 * lanes, room = most > reach ? (most - reach) / least * least : 0, parts = cn_round_up(cn_ceil_div(w->out[2], cn_max(room, least)), 2);
  return cn_round_up(cn_ceil_div(w->out[2], parts), lanes);
}

/* The copies of a direct convolution. */
CN_INLINE cn_plane cn_direct_plane(const cn_window *w, size_t lanes) {
  cn_window part = *w;
  part.out[2] = cn_direct_width(w, lanes);
  const cn_plane p = cn_plane_of(&part, lanes, cn_max(w->c, 1), CN_DIRECT_MOST(lanes));
  return lanes == 1 ? p : cn_plane_even(&part, p, lanes);
}

/* Elements of scratch of a direct convolution: the copies, a vector, an offset for each place of the depth. */
CN_INLINE size_t cn_direct_scratch(const cn_window *w, size_t lanes) {
  return w->c * w->kernel[0] * cn_direct_plane(w, lanes).slice + lanes + cn_volume(w->kernel) * w->c;
}

/* Whether a convolution of known sizes should run direct (cn_conv_f32_direct) rather than gathered (cn_conv_f32), for a
 * target's vector width and register tile. Cycles for a row of the tile's pixels and one place of the depth, fitted to measured
 * layers on AVX2: direct m / use of the lanes, gathered m + 8 + 5 for each row of the image that the pixels touch + 20 / c. A
 * band's copy must stay in the second cache, the depth's offsets in the first. */
CN_INLINE int cn_conv_direct_wins(const cn_window *w, size_t lanes, size_t nr) {
  const size_t depth = cn_volume(w->kernel) * w->c, width = w->out[2], padded = cn_round_up(width, lanes);
  if (cn_volume(w->kernel) == 1 || cn_volume(w->out) == 0 || depth == 0) return 0;
  if (w->up[0] != 1 || w->up[1] != 1 || w->up[2] != 1 || depth > 4096) return 0;
  if (cn_direct_scratch(w, lanes) > CN_PLANE_MOST(lanes)) return 0;
  return w->m * (padded + padded / 32) < (w->m + 8 + 20 / w->c) * width + 5 * nr;
}

#endif
