/* SPDX-License-Identifier: MIT-0 */
/* Attention by a recurrent state (LinearAttention): linear, gated, and with the delta rule. */
#ifndef CN_OPS_LINEAR_ATTENTION_H
#define CN_OPS_LINEAR_ATTENTION_H

#include "base.h"

/* state [dk][dv] of one head takes in key [dk] and value [dv]: faded by decay (one, or one a row; NULL: not at all), then corrected
 * towards the value by `beta` where `delta` is set. spare: [dv]. */
CN_INLINE void cn_linear_step(float *state, size_t dk, size_t dv, const float *key, const float *value, const float *decay, size_t n_decay,
                              int delta, float beta, float *spare) {
  for (size_t i = 0; decay && i < dk; i++) {
    for (size_t j = 0; j < dv; j++) state[i * dv + j] *= decay[n_decay > 1 ? i : 0];
  }
  for (size_t j = 0; j < dv; j++) spare[j] = 0.0f;
  for (size_t i = 0; delta && i < dk; i++) {
    for (size_t j = 0; j < dv; j++) spare[j] += state[i * dv + j] * key[i];
  }
  for (size_t j = 0; j < dv; j++) spare[j] = delta ? beta * (value[j] - spare[j]) : value[j];
  for (size_t i = 0; i < dk; i++) {
    for (size_t j = 0; j < dv; j++) state[i * dv + j] += key[i] * spare[j];
  }
}

/* out [dv] = query [dk] times state [dk][dv]. */
CN_INLINE void cn_linear_read(const float *state, size_t dk, size_t dv, const float *query, float *out) {
  for (size_t j = 0; j < dv; j++) out[j] = 0.0f;
  for (size_t i = 0; i < dk; i++) {
    for (size_t j = 0; j < dv; j++) out[j] += query[i] * state[i * dv + j];
  }
}

/* in, all f32: query [B][T][Hq dk] (scaled), key [B][T][H dk], value [B][T][H dv], state [B][H][dk][dv], decay factors [B][T][H or H dk]
 * or absent, beta [B][T][H or 1] or absent; out: [B][T][Hq dv], state; attrs: Hq, H; scratch: dv floats. */
CN_NOINLINE int cn_op_linear_attention(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                       size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t batch = (size_t)in[0].dims[0], steps = (size_t)in[0].dims[1], hq = (size_t)attrs[0].value.i, h = (size_t)attrs[1].value.i;
  const size_t dk = (size_t)out[1].dims[2], dv = (size_t)out[1].dims[3], group = hq / h;
  const float *q = (const float *)in[0].data, *k = (const float *)in[1].data, *v = (const float *)in[2].data;
  const float *decay = (const float *)in[4].data, *beta = (const float *)in[5].data;
  const size_t n_decay = decay ? (size_t)in[4].dims[2] / h : 0, n_beta = beta ? (size_t)in[5].dims[2] : 0;
  float *y = (float *)out[0].data, *states = (float *)out[1].data;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  if (scratch_size / sizeof *y < dv) return CASTNET_ERR_DIM;
  if (batch * h * dk * dv > 0) memcpy(states, in[3].data, batch * h * dk * dv * sizeof *states);
  for (size_t b = 0; b < batch * h; b++) {
    float *state = states + b * dk * dv;
    for (size_t t = 0; t < steps; t++) {
      const size_t row = b / h * steps + t, head = b % h;
      cn_linear_step(state, dk, dv, k + (row * h + head) * dk, v + (row * h + head) * dv, decay ? decay + (row * h + head) * n_decay : NULL,
                     n_decay, beta != NULL, beta ? beta[row * n_beta + (n_beta > 1 ? head : 0)] : 0.0f, (float *)scratch);
      for (size_t g = 0; g < group; g++)
        cn_linear_read(state, dk, dv, q + (row * hq + head * group + g) * dk, y + (row * hq + head * group + g) * dv);
    }
  }
  return CASTNET_OK;
}

#endif
