/* SPDX-License-Identifier: MIT-0 */
/* Where random operators start: everything behind the seed is arithmetic on places, so that no order of evaluation matters. */
#ifndef CN_OPS_RANDOM_H
#define CN_OPS_RANDOM_H

#include "base.h"

/* SplitMix64's output function (Steele, Lea, Flood 2014). */
CN_INLINE uint64_t cn_random_mix(uint64_t z) {
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

/* out: u64 []; attrs: the operator's number. The call's seed, told apart for each operator. */
CN_NOINLINE int cn_op_seed(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                           size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  (void)in, (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size;
  ((uint64_t *)out[0].data)[0] = cn_random_mix(env->seed ^ cn_random_mix((uint64_t)attrs[0].value.i));
  return CASTNET_OK;
}

#endif
