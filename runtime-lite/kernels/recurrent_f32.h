/* SPDX-License-Identifier: MIT-0 */
/* Recurrent layers, f32 (ONNX RNN, GRU, LSTM): the part that depends on the state. What the input contributes to the gates is a
 * plain matrix product, made for all steps at once before. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_RECURRENT_F32_H
#define CN_KERNELS_RECURRENT_F32_H

#include "kernels/gemm_f32.h"

/* An activation of n values in place; arg is the caller's. */
typedef void cn_act_f32(const void *arg, float *v, size_t n);

/* One direction. Gates in ONNX's order: RNN h; GRU z r h; LSTM i o f c. */
typedef struct cn_recurrent_f32_args {
  size_t steps, batch, hidden, gates; /* gates: 1 RNN, 3 GRU, 4 LSTM */
  int reverse, linear_before_reset, input_forget;
  const float *x;         /* gates' input part, biases included: (step, batch) at x[step * x_step + batch * x_batch], [gates * hidden] */
  size_t x_step, x_batch;
  const float *r;         /* recurrence [hidden][gates * hidden] packed (kernels/pack.h); GRU: z and r in one packing, h in a second */
  const float *r_bias;    /* GRU with linear_before_reset: [hidden], of gate h; or NULL */
  const float *peephole;  /* LSTM: [3][hidden] i o f; or NULL */
  const int32_t *lengths; /* [batch] or NULL: all are steps long */
  float *y;               /* output at (step, batch), or NULL */
  size_t y_step, y_batch;
  float *h, *c;           /* [batch][hidden] state: initial, then final; c: LSTM */
  float clip;             /* of the gates, 0: none */
  cn_act_f32 *f, *g, *act; /* activations, in place; act: LSTM's third */
  const void *f_arg, *g_arg, *act_arg;
  /* Who computes the parts of each product, `shares` of them, on other threads too: castnet_env.parallel_for; NULL: all is done here. */
  int (*spread)(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg);
  void *user;
  size_t shares;
} cn_recurrent_f32_args;

/* Floats of scratch. */
CN_INLINE size_t cn_recurrent_f32_scratch(const cn_recurrent_f32_args *a) { return a->batch * (a->gates + 1) * a->hidden; }

/* A product, and the order of its parts. */
typedef struct cn_recurrent_turn_f32 {
  cn_gemm_f32_args g;
  int back;
  size_t shares;
} cn_recurrent_turn_f32;

static void cn_recurrent_share_f32(void *arg, size_t i) {
  const cn_recurrent_turn_f32 *p = arg;
  const size_t turns = cn_gemm_f32_turns(&p->g);
  cn_gemm_f32_turn(&p->g, p->back, turns * i / p->shares, turns * (i + 1) / p->shares);
}

/* out [batch][ldo] += h [batch][hidden] times packed r, n columns; back: from the last column on. Nonzero: nobody does the parts. */
CN_INLINE int cn_recurrent_product_f32(const cn_recurrent_f32_args *a, const float *h, const float *r, size_t n, float *out, size_t ldo,
                                       int back) {
  cn_recurrent_turn_f32 p;
  memset(&p, 0, sizeof p);
  p.g.m = a->batch;
  p.g.n = n;
  p.g.k = a->hidden;
  p.g.a = h;
  p.g.a_rs = a->hidden;
  p.g.a_ks = 1;
  p.g.b = r;
  p.g.c = out;
  p.g.ldc = ldo;
  p.g.ep.flags = CN_EP_RESIDUAL;
  p.g.ep.residual = out;
  p.back = back;
  p.shares = a->shares;
  if (a->spread) return a->spread(a->user, a->shares, cn_recurrent_share_f32, &p);
  cn_gemm_f32_turn(&p.g, back, 0, cn_gemm_f32_turns(&p.g));
  return 0;
}

CN_INLINE void cn_recurrent_clip_f32(const cn_recurrent_f32_args *a, float *v, size_t n) {
  for (size_t i = 0; a->clip > 0.0f && i < n; i++) v[i] = v[i] > a->clip ? a->clip : v[i] < -a->clip ? -a->clip : v[i];
}

/* The gates of one batch entry are in v; h and c are its state. */
CN_INLINE void cn_lstm_cell_f32(const cn_recurrent_f32_args *a, float *v, float *h, float *c) {
  const size_t n = a->hidden;
  float *in = v, *out = v + n, *forget = v + 2 * n, *cell = v + 3 * n;
  for (size_t i = 0; a->peephole && i < n; i++) in[i] += a->peephole[i] * c[i];
  for (size_t i = 0; a->peephole && i < n; i++) forget[i] += a->peephole[2 * n + i] * c[i];
  cn_recurrent_clip_f32(a, in, n);
  a->f(a->f_arg, in, n);
  cn_recurrent_clip_f32(a, forget, 2 * n);
  a->f(a->f_arg, forget, n);
  a->g(a->g_arg, cell, n);
  if (a->input_forget) {
    for (size_t i = 0; i < n; i++) forget[i] = 1.0f - in[i];
  }
  for (size_t i = 0; i < n; i++) c[i] = forget[i] * c[i] + in[i] * cell[i];
  for (size_t i = 0; a->peephole && i < n; i++) out[i] += a->peephole[n + i] * c[i];
  cn_recurrent_clip_f32(a, out, n);
  a->f(a->f_arg, out, n);
  memcpy(h, c, n * sizeof *h);
  a->act(a->act_arg, h, n);
  for (size_t i = 0; i < n; i++) h[i] *= out[i];
}

/* Gates z and r are activated, h's is complete. */
CN_INLINE void cn_gru_cell_f32(const cn_recurrent_f32_args *a, float *v, float *h) {
  const size_t n = a->hidden;
  const float *z = v;
  float *next = v + 2 * n;
  cn_recurrent_clip_f32(a, next, n);
  a->g(a->g_arg, next, n);
  for (size_t i = 0; i < n; i++) h[i] = (1.0f - z[i]) * next[i] + z[i] * h[i];
}

/* All batch entries of one GRU step, gates v [batch][3 * hidden], gate h without its recurrent part; reset: [batch][hidden]. */
CN_INLINE int cn_gru_gates_f32(const cn_recurrent_f32_args *a, float *v, float *reset, int back) {
  const size_t n = a->hidden, ld = 3 * n;
  const float *r_h = a->r + cn_round_up(2 * n, CN_GEMM_F32_NR) * n;
  if (a->linear_before_reset) {
    for (size_t b = 0; b < a->batch; b++) {
      for (size_t i = 0; i < n; i++) reset[b * n + i] = a->r_bias ? a->r_bias[i] : 0.0f;
    }
    if (cn_recurrent_product_f32(a, a->h, r_h, n, reset, n, back)) return 1;
  }
  for (size_t b = 0; b < a->batch; b++) {
    float *zr = v + b * ld, *r = zr + n, *t = reset + b * n;
    cn_recurrent_clip_f32(a, zr, 2 * n);
    a->f(a->f_arg, zr, 2 * n);
    for (size_t i = 0; i < n; i++) t[i] = r[i] * (a->linear_before_reset ? t[i] : a->h[b * n + i]);
    for (size_t i = 0; a->linear_before_reset && i < n; i++) zr[2 * n + i] += t[i];
  }
  return a->linear_before_reset ? 0 : cn_recurrent_product_f32(a, reset, r_h, n, v + 2 * n, ld, back);
}

/* scratch: cn_recurrent_f32_scratch floats. Nonzero: a->spread failed. */
CN_DRIVER int cn_recurrent_f32(const cn_recurrent_f32_args *a, float *scratch) {
  const size_t n = a->hidden, ld = a->gates * n;
  float *v = scratch, *reset = scratch + a->batch * ld;
  for (size_t s = 0; s < a->steps; s++) {
    const size_t t = a->reverse ? a->steps - 1 - s : s;
    const int back = s % 2;
    for (size_t b = 0; b < a->batch; b++) memcpy(v + b * ld, a->x + t * a->x_step + b * a->x_batch, ld * sizeof *v);
    if (cn_recurrent_product_f32(a, a->h, a->r, a->gates == 3 ? 2 * n : ld, v, ld, back)) return 1;
    if (a->gates == 3 && cn_gru_gates_f32(a, v, reset, back)) return 1;
    for (size_t b = 0; b < a->batch; b++) {
      const int active = !a->lengths || (int64_t)t < (int64_t)a->lengths[b];
      float *h = a->h + b * n, *y = a->y ? a->y + t * a->y_step + b * a->y_batch : 0;
      if (active && a->gates == 4) cn_lstm_cell_f32(a, v + b * ld, h, a->c + b * n);
      if (active && a->gates == 3) cn_gru_cell_f32(a, v + b * ld, h);
      if (active && a->gates == 1) {
        cn_recurrent_clip_f32(a, v + b * ld, n);
        a->f(a->f_arg, v + b * ld, n);
        memcpy(h, v + b * ld, n * sizeof *h);
      }
      if (y && active) memcpy(y, h, n * sizeof *y);
      if (y && !active) memset(y, 0, n * sizeof *y);
    }
  }
  return 0;
}

#endif
