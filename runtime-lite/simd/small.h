/* SPDX-License-Identifier: MIT-0 */
/* The SIMD layer in portable C99 for microcontrollers: small bodies, since .text is flash. Contract: simd/portable.h. */
#ifndef CN_SIMD_SMALL_H
#define CN_SIMD_SMALL_H

#include "simd/portable.h"

/* 2 x 4: eight accumulators, four elements of B, one of A, of the 32 registers of a single-precision FPU. Unrolled bodies are half
 * of those of 4 x 4, for a tenth more cycles (tiles: targets/cortex-m4.def). */
#define CN_GEMM_F32_MR 2

#define CN_GEMM_F32_NR 4

#define CN_GEMM_F32_KC 128

#define CN_GEMM_F32_DEPTH 128

#define CN_TILE_F32_TURN 1

#define CN_GEMM_F32_MC 32

#define CN_GEMM_F32_NC 4

#define CN_GEMM_S16_MR 2

#define CN_GEMM_S16_NR 4

#endif
