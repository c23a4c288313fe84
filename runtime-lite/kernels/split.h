/* SPDX-License-Identifier: MIT-0 */
/* What an f32 product by parts of 8 bits (amx/split_f32.h) needs: the compiler asks too. */
#ifndef CN_KERNELS_SPLIT_H
#define CN_KERNELS_SPLIT_H

#include "base.h"

/* Rows of a tile, columns of a panel, and of the depth what a tile holds. */
#define CN_SPLIT_ROWS 16

#define CN_SPLIT_COLUMNS 32

#define CN_SPLIT_STEP 32

/* 16-bit numbers of a tile: 16 rows of A, or of pairs of B's. */
#define CN_SPLIT_TILE (16 * CN_SPLIT_STEP)

/* Whether a product of these sizes gains: splitting B costs as much as 32 rows' products save, splitting A as those of some columns. */
CN_INLINE int cn_split_wins(size_t m, size_t n, size_t k) { return m >= 32 && n >= 2 * CN_SPLIT_COLUMNS && k >= CN_SPLIT_STEP; }

/* Floats of scratch for that many rows at a time, and a depth of kc at a time: the parts of all of A's tiles, and of two panels of B. */
CN_INLINE size_t cn_split_floats(size_t rows, size_t kc) {
  return (cn_ceil_div(rows, CN_SPLIT_ROWS) + 4) * cn_ceil_div(kc, CN_SPLIT_STEP) * (3 * CN_SPLIT_TILE / 2);
}

#endif
