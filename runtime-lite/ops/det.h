/* SPDX-License-Identifier: MIT-0 */
/* Determinants. */
#ifndef CN_OPS_DET_H
#define CN_OPS_DET_H

#include "base.h"
#include "ops/real.h"

/* Of a [n][n], which is overwritten: elimination with row exchanges, the largest element of a column first. */
CN_INLINE double cn_det(double *a, size_t n) {
  double det = 1.0;
  for (size_t k = 0; k < n; k++) {
    size_t best = k;
    for (size_t i = k + 1; i < n; i++) {
      const double x = a[i * n + k], y = a[best * n + k];
      if ((x < 0.0 ? -x : x) > (y < 0.0 ? -y : y)) best = i;
    }
    for (size_t j = 0; best != k && j < n; j++) {
      const double t = a[k * n + j];
      a[k * n + j] = a[best * n + j];
      a[best * n + j] = t;
    }
    const double pivot = a[k * n + k];
    det *= best != k ? -pivot : pivot;
    if (pivot == 0.0) return 0.0;
    for (size_t i = k + 1; i < n; i++) {
      const double f = a[i * n + k] / pivot;
      for (size_t j = k + 1; j < n; j++) a[i * n + j] -= f * a[k * n + j];
    }
  }
  return det;
}

/* in: X [batch][n][n] f32 or f64; out: [batch]; scratch: n n doubles. */
CN_NOINLINE int cn_op_det(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                          size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t batch = (size_t)in[0].dims[0], n = (size_t)in[0].dims[1];
  double *a = (double *)scratch;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)env;
  if (scratch_size / sizeof *a < n * n) return CASTNET_ERR_DIM;
  for (size_t b = 0; b < batch; b++) {
    for (size_t i = 0; i < n * n; i++) a[i] = cn_real_load(&in[0], b * n * n + i);
    cn_real_store(&out[0], b, cn_det(a, n));
  }
  return CASTNET_OK;
}

#endif
