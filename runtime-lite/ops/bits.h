/* SPDX-License-Identifier: MIT-0 */
/* The same bits as another type. */
#ifndef CN_OPS_BITS_H
#define CN_OPS_BITS_H

#include "base.h"

/* in: complex numbers of two f32, or f64, s64, u64; out: another of these types. */
CN_NOINLINE int cn_op_bits(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                           size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  size_t n = 1;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (uint32_t i = 0; i < in[0].rank; i++) n *= (size_t)in[0].dims[i];
  if (n) memcpy(out[0].data, in[0].data, n * 8);
  return CASTNET_OK;
}

#endif
