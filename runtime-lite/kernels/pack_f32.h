/* SPDX-License-Identifier: MIT-0 */
/* Packing of a second operand that is only known at run time: cn_pack_b_f32's panels of NR columns, by the vectors of a SIMD layer,
 * which has to be included before. */
#ifndef CN_KERNELS_PACK_F32_H
#define CN_KERNELS_PACK_F32_H

#include "kernels/pack.h"
#include "kernels/transpose_f32.h"

/* B [k][n] whose columns lie whole in memory, the next one n_stride behind -> dst [ceil(n/NR)][k][NR]. Stores
 * whole vectors, zeros too: they are read again at once, and masked stores would not be forwarded to whole loads. */
CN_DRIVER void cn_pack_columns_f32(const float *src, size_t n_stride, size_t k, size_t n, float *dst) {
  const size_t lanes = CN_VF32_LANES;
  for (size_t j = 0; j < cn_round_up(n, CN_GEMM_F32_NR); j += lanes) {
    float *panel = dst + j / CN_GEMM_F32_NR * CN_GEMM_F32_NR * k + j % CN_GEMM_F32_NR;
    for (size_t i = 0; i < k; i += lanes) {
      cn_vf32 block[CN_VF32_LANES];
      CN_UNROLL(16)
      for (size_t v = 0; v < lanes; v++) block[v] = j + v < n ? cn_vf32_load_n(src + (j + v) * n_stride + i, cn_min(lanes, k - i)) : cn_vf32_zero();
      cn_vf32_transpose(block);
      CN_UNROLL(16)
      for (size_t v = 0; v < lanes; v++) {
        if (i + v < k) cn_vf32_store(panel + (i + v) * CN_GEMM_F32_NR, block[v]);
      }
    }
  }
}

/* B [k][n] with any strides, as cn_pack_b_f32. */
CN_DRIVER void cn_pack_operand_f32(const float *src, size_t k_stride, size_t n_stride, size_t k, size_t n, float *dst) {
  if (k_stride == 1 && CN_VF32_LANES > 1) cn_pack_columns_f32(src, n_stride, k, n, dst);
  else cn_pack_b_f32(src, k_stride, n_stride, k, n, CN_GEMM_F32_NR, dst);
}

#endif
