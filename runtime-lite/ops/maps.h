/* SPDX-License-Identifier: MIT-0 */
/* Maps: ZipMap. */
#ifndef CN_OPS_MAPS_H
#define CN_OPS_MAPS_H

#include "base.h"
#include "castnet_abi.h"

/* Every struct of a map in a header, whatever its types are. */
typedef struct cn_map {
  const void *keys, *values;
  size_t count;
} cn_map;

/* in: keys [k]; values f32 [n][k]. out: the maps, cn_map [n], in the place of u64 [n][3]; a copy of the values, to which they point. */
CN_NOINLINE int cn_op_zip_map(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                              void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t n = (size_t)in[1].dims[0], k = (size_t)in[1].dims[1];
  float *const values = (float *)out[1].data;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (n > 0 && k > 0) memcpy(values, in[1].data, n * k * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    cn_map m;
    m.keys = in[0].data;
    m.values = values + i * k;
    m.count = k;
    memcpy((unsigned char *)out[0].data + i * sizeof m, &m, sizeof m);
  }
  return CASTNET_OK;
}

#endif
