/* SPDX-License-Identifier: MIT-0 */
/* How a convolution of 3x3 windows is parted for Winograd's minimal filtering, and what it needs: for any vector width, an
 * argument, since the compiler asks too. A tile is n x n pixels of the result, from (n + 2) x (n + 2) of the input: one product of
 * matrices for each of these places, over all tiles of a band. */
#ifndef CN_KERNELS_WINOGRAD_H
#define CN_KERNELS_WINOGRAD_H

#include "kernels/window.h"

/* Products, one a place of the transformed tile. */
CN_INLINE size_t cn_winograd_places(size_t n) { return (n + 2) * (n + 2); }

CN_INLINE size_t cn_winograd_tiles(const cn_window *w, size_t n) { return cn_ceil_div(w->out[1], n) * cn_ceil_div(w->out[2], n); }

/* Floats from place to place: a line more than `tiles` rows, so that one tile's places fall into different sets of a cache. */
CN_INLINE size_t cn_winograd_plane(size_t tiles, size_t row) { return tiles * row + 16; }

/* The first output block of a group: as even as can be. */
CN_INLINE size_t cn_winograd_block(size_t blocks, size_t groups, size_t g) { return g * blocks / groups; }

/* Floats of a tile's place before the products: the channels of all slices that the window sees. */
CN_INLINE size_t cn_winograd_row(const cn_window *w, size_t lanes) { return cn_round_up(w->c, lanes) * w->kernel[0]; }

/* Floats of scratch of one call: the tiles of a band, or of an image that has fewer, before and after the products. */
CN_INLINE size_t cn_winograd_scratch(const cn_window *w, size_t n, size_t band, size_t lanes) {
  return cn_winograd_places(n) * (cn_winograd_plane(band, cn_winograd_row(w, lanes)) + cn_winograd_plane(band, w->m));
}

/* The transforms of a side of 4, as exact floats. Its points are 0, A, -A, B, -B and infinity, which multiply the error of rounding
 * less than the customary 1 and 2 do (docs/NUMERICS.md). */
#define CN_WINOGRAD_A 0.625f

#define CN_WINOGRAD_B 1.5f

#endif
