/* SPDX-License-Identifier: MIT-0 */
/* The SIMD layer in portable C99. Contract: simd/portable.h. */
#ifndef CN_SIMD_SCALAR_H
#define CN_SIMD_SCALAR_H

#include "simd/portable.h"

/* Register tile of the f32 matrix product and convolution, rows and columns; depth of one sum, rows and columns of a cache block.
 * The same numbers stand in targets/c99.def, where the compiler reads them (a test compares). DEPTH: whole KCs, what each tile of a product takes of a
 * panel at once; TURN: steps of depth a turn of a tile's loop, at most 4. */
#define CN_GEMM_F32_MR 4

#define CN_GEMM_F32_NR 4

#define CN_GEMM_F32_KC 128

#define CN_GEMM_F32_DEPTH 128

#define CN_TILE_F32_TURN 1

#define CN_GEMM_F32_MC 32

#define CN_GEMM_F32_NC 32

/* Register tile of the integer matrix product and convolution; the blocks are those of f32, depth counted in pairs. */
#define CN_GEMM_S16_MR 4

#define CN_GEMM_S16_NR 4

#endif
