/* SPDX-License-Identifier: MIT-0 */
/* Probabilities of classes from those of pairs (Wu, Lin, Weng: Probability Estimates for Multi-class Classification by Pairwise
 * Coupling, 2004, second method; the iteration and its end are LIBSVM's, which trained models were made with). */
#ifndef CN_OPS_SVM_H
#define CN_OPS_SVM_H

#include "base.h"

/* q [k][k] from r [k][k], r[i][j] the probability of i against j. */
CN_INLINE void cn_couple_matrix(const float *r, size_t k, float *q) {
  for (size_t t = 0; t < k; t++) {
    q[t * k + t] = 0.0f;
    for (size_t j = 0; j < k; j++) {
      if (j == t) continue;
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = j < t ? q[j * k + t] : -r[j * k + t] * r[t * k + j];
    }
  }
}

/* p [k], starting at equal shares; qp [k] is scratch. */
CN_INLINE void cn_couple_solve(const float *q, size_t k, float *p, float *qp) {
  const float eps = 0.005f / (float)k;
  for (size_t t = 0; t < k; t++) p[t] = 1.0f / (float)k;
  for (size_t round = 0; round < (k > 100 ? k : 100); round++) {
    float pqp = 0.0f, worst = 0.0f;
    for (size_t t = 0; t < k; t++) {
      qp[t] = 0.0f;
      for (size_t j = 0; j < k; j++) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (size_t t = 0; t < k; t++) {
      const float error = qp[t] > pqp ? qp[t] - pqp : pqp - qp[t];
      worst = error > worst ? error : worst;
    }
    if (worst < eps) return;
    for (size_t t = 0; t < k; t++) {
      const float diff = (pqp - qp[t]) / q[t * k + t];
      p[t] += diff;
      pqp = (pqp + diff * (diff * q[t * k + t] + 2.0f * qp[t])) / (1.0f + diff) / (1.0f + diff);
      for (size_t j = 0; j < k; j++) {
        qp[j] = (qp[j] + diff * q[t * k + j]) / (1.0f + diff);
        p[j] /= 1.0f + diff;
      }
    }
  }
}

/* in: [N][k (k - 1) / 2] probabilities of i against j for i < j, f32; out: [N][k]; scratch: (2 k k + k) floats. */
CN_NOINLINE int cn_op_couple_pairs(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                   size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t rows = (size_t)in[0].dims[0], pairs = (size_t)in[0].dims[1], k = (size_t)out[0].dims[1];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data, *r = (float *)scratch, *q = r + k * k, *qp = q + k * k;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)env;
  if (scratch_size / sizeof *r < 2 * k * k + k || pairs != k * (k - 1) / 2) return CASTNET_ERR_DIM;
  for (size_t n = 0; n < rows; n++) {
    size_t pair = 0;
    for (size_t i = 0; i < k; i++) {
      for (size_t j = i + 1; j < k; j++, pair++) {
        r[i * k + j] = x[n * pairs + pair];
        r[j * k + i] = 1.0f - x[n * pairs + pair];
      }
    }
    cn_couple_matrix(r, k, q);
    cn_couple_solve(q, k, y + n * k, qp);
  }
  return CASTNET_OK;
}

#endif
