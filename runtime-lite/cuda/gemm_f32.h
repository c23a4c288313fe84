/* SPDX-License-Identifier: MIT-0 */
/* Products of f32 matrices on a GPU: a block makes a tile of 64 x 64, its operands in shared memory, a thread 4 x 4 of it. Each
 * element is one sum in the order of k, so that results do not depend on the grid. */
#ifndef CN_CUDA_GEMM_F32_H
#define CN_CUDA_GEMM_F32_H

#include "cuda/layer.h"

#define CN_CUDA_TILE 64

#define CN_CUDA_DEPTH 16

/* c[m][n] = sum over k of a[m][k] * b[k][n], strides in elements. */
typedef struct cn_cuda_gemm_f32_args {
  int64_t m, n, k;
  const float *a, *b;
  int64_t a_m, a_k, b_k, b_n;
} cn_cuda_gemm_f32_args;

/* Depth slices of both operands. */
typedef struct cn_cuda_slices_f32 {
  float a[CN_CUDA_DEPTH][CN_CUDA_TILE], b[CN_CUDA_DEPTH][CN_CUDA_TILE];
} cn_cuda_slices_f32;

/* First row and first column of a thread's 4 x 4 in the tile. */
static inline __device__ int cn_cuda_tile_row(void) { return (int)threadIdx.x / 16 * 4; }

static inline __device__ int cn_cuda_tile_col(void) { return (int)threadIdx.x % 16 * 4; }

/* acc += the product of the slices. */
static inline __device__ void cn_cuda_tile_add_f32(const cn_cuda_slices_f32 *s, float acc[4][4]) {
  const int row = cn_cuda_tile_row(), col = cn_cuda_tile_col();
  for (int k = 0; k < CN_CUDA_DEPTH; k++) {
    CN_UNROLL(4)
    for (int u = 0; u < 4; u++) {
      CN_UNROLL(4)
      for (int v = 0; v < 4; v++) acc[u][v] += s->a[k][row + u] * s->b[k][col + v];
    }
  }
}

/* The tile whose first element is (row0, col0), this thread's part of it. All threads of the block call it. */
static inline __device__ void cn_cuda_gemm_f32(const cn_cuda_gemm_f32_args *g, int64_t row0, int64_t col0, float acc[4][4]) {
  __shared__ cn_cuda_slices_f32 s;
  for (int i = 0; i < 16; i++) acc[i / 4][i % 4] = 0.0f;
  for (int64_t k0 = 0; k0 < g->k; k0 += CN_CUDA_DEPTH) {
    for (int i = (int)threadIdx.x; i < CN_CUDA_DEPTH * CN_CUDA_TILE; i += CN_CUDA_THREADS) {
      const int ak = g->a_k == 1 ? i % CN_CUDA_DEPTH : i / CN_CUDA_TILE, at = g->a_k == 1 ? i / CN_CUDA_DEPTH : i % CN_CUDA_TILE;
      const int bk = g->b_k == 1 ? i % CN_CUDA_DEPTH : i / CN_CUDA_TILE, bt = g->b_k == 1 ? i / CN_CUDA_DEPTH : i % CN_CUDA_TILE;
      const int64_t row = row0 + at, col = col0 + bt;
      s.a[ak][at] = row < g->m && k0 + ak < g->k ? g->a[row * g->a_m + (k0 + ak) * g->a_k] : 0.0f;
      s.b[bk][bt] = col < g->n && k0 + bk < g->k ? g->b[(k0 + bk) * g->b_k + col * g->b_n] : 0.0f;
    }
    __syncthreads();
    cn_cuda_tile_add_f32(&s, acc);
    __syncthreads();
  }
}

/* Tiles along n elements. */
CN_INLINE int64_t cn_cuda_tiles(int64_t n) { return n / CN_CUDA_TILE + (n % CN_CUDA_TILE != 0); }

#endif
