/* SPDX-License-Identifier: MIT-0 */
/* Recurrent layers, f32 (ONNX RNN, GRU, LSTM): the part that depends on the state. What the input contributes to the gates is a
 * plain matrix product, made for all steps at once before. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_RECURRENT_F32_H
#define CN_KERNELS_RECURRENT_F32_H

#include "kernels/gemm_f32.h"
#include "kernels/recurrent.h"

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

/* out [batch][ldo] = x [batch][ldo], which may be out itself, + h [batch][hidden] times packed r, n columns. */
CN_INLINE cn_gemm_f32_args cn_recurrent_product_of_f32(const cn_recurrent_f32_args *a, const float *h, const float *r, size_t n, const float *x, float *out,
                                                       size_t ldo) {
  cn_gemm_f32_args g;
  memset(&g, 0, sizeof g);
  g.m = a->batch;
  g.n = n;
  g.k = a->hidden;
  g.a = h;
  g.a_rs = a->hidden;
  g.a_ks = 1;
  g.b = r;
  g.c = out;
  g.ldc = ldo;
  g.ep.flags = CN_EP_RESIDUAL;
  g.ep.residual = x;
  return g;
}

/* back: from the last column on. Nonzero: nobody does the parts. */
CN_INLINE int cn_recurrent_product_f32(const cn_recurrent_f32_args *a, const float *h, const float *r, size_t n, const float *x, float *out, size_t ldo,
                                       int back) {
  cn_recurrent_turn_f32 p = {cn_recurrent_product_of_f32(a, h, r, n, x, out, ldo), back, a->shares};
  if (a->spread) return a->spread(a->user, a->shares, cn_recurrent_share_f32, &p);
  cn_gemm_f32_turn(&p.g, back, 0, cn_gemm_f32_turns(&p.g));
  return 0;
}

/* Whether the gates' input part lies as the gates do, so that the product adds to it where it is. */
CN_INLINE int cn_recurrent_in_place_f32(const cn_recurrent_f32_args *a) {
  return a->gates != 3 && (a->batch == 1 || a->x_batch == a->gates * a->hidden);
}

CN_INLINE void cn_recurrent_clip_f32(const cn_recurrent_f32_args *a, float *v, size_t n) {
  for (size_t i = 0; a->clip > 0.0f && i < n; i++) v[i] = v[i] > a->clip ? a->clip : v[i] < -a->clip ? -a->clip : v[i];
}

/* Units u .. u + n of one batch entry, whose gates are in v; h: its next state, c: its cell, in place. */
CN_INLINE void cn_lstm_cell_f32(const cn_recurrent_f32_args *a, float *v, float *h, float *c, size_t u, size_t n) {
  const float *peephole = a->peephole ? a->peephole + u : 0;
  float *in = v + u, *out = in + a->hidden, *forget = out + a->hidden, *cell = forget + a->hidden;
  h += u;
  c += u;
  for (size_t i = 0; peephole && i < n; i++) in[i] += peephole[i] * c[i];
  for (size_t i = 0; peephole && i < n; i++) forget[i] += peephole[2 * a->hidden + i] * c[i];
  cn_recurrent_clip_f32(a, in, n);
  a->f(a->f_arg, in, n);
  cn_recurrent_clip_f32(a, forget, n);
  a->f(a->f_arg, forget, n);
  cn_recurrent_clip_f32(a, cell, n);
  a->g(a->g_arg, cell, n);
  if (a->input_forget) {
    for (size_t i = 0; i < n; i++) forget[i] = 1.0f - in[i];
  }
  for (size_t i = 0; i < n; i++) c[i] = forget[i] * c[i] + in[i] * cell[i];
  for (size_t i = 0; peephole && i < n; i++) out[i] += peephole[a->hidden + i] * c[i];
  cn_recurrent_clip_f32(a, out, n);
  a->f(a->f_arg, out, n);
  memcpy(h, c, n * sizeof *h);
  a->act(a->act_arg, h, n);
  for (size_t i = 0; i < n; i++) h[i] *= out[i];
}

/* The same of a plain layer. */
CN_INLINE void cn_rnn_cell_f32(const cn_recurrent_f32_args *a, float *v, float *h, size_t u, size_t n) {
  cn_recurrent_clip_f32(a, v + u, n);
  a->f(a->f_arg, v + u, n);
  memcpy(h + u, v + u, n * sizeof *h);
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

/* The same of units u .. u + n where gate h's recurrent part is reset when it is complete (linear_before_reset): that is in v, its input part in x; h: the state, next: the one
 * to come. */
CN_INLINE void cn_gru_linear_cell_f32(const cn_recurrent_f32_args *a, float *v, const float *x, const float *h, float *next, size_t u, size_t n) {
  float *z = v + u, *r = z + a->hidden, *t = r + a->hidden;
  cn_recurrent_clip_f32(a, z, n);
  a->f(a->f_arg, z, n);
  cn_recurrent_clip_f32(a, r, n);
  a->f(a->f_arg, r, n);
  for (size_t i = 0; i < n; i++) t[i] = x[u + i] + r[i] * t[i];
  cn_recurrent_clip_f32(a, t, n);
  a->g(a->g_arg, t, n);
  for (size_t i = 0; i < n; i++) next[u + i] = (1.0f - z[i]) * t[i] + z[i] * h[u + i];
}

/* Packed weights of a GRU's gate h. */
CN_INLINE const float *cn_gru_weights_f32(const cn_recurrent_f32_args *a) { return a->r + cn_round_up(2 * a->hidden, CN_GEMM_F32_NR) * a->hidden; }

/* All batch entries of one GRU step, gates v [batch][3 * hidden], gate h without its recurrent part; reset: [batch][hidden]. */
CN_INLINE int cn_gru_gates_f32(const cn_recurrent_f32_args *a, float *v, float *reset, int back) {
  const size_t n = a->hidden, ld = 3 * n;
  const float *r_h = cn_gru_weights_f32(a);
  if (a->linear_before_reset) {
    for (size_t b = 0; b < a->batch; b++) {
      for (size_t i = 0; i < n; i++) reset[b * n + i] = a->r_bias ? a->r_bias[i] : 0.0f;
    }
    if (cn_recurrent_product_f32(a, a->h, r_h, n, reset, reset, n, back)) return 1;
  }
  for (size_t b = 0; b < a->batch; b++) {
    float *zr = v + b * ld, *r = zr + n, *t = reset + b * n;
    cn_recurrent_clip_f32(a, zr, 2 * n);
    a->f(a->f_arg, zr, 2 * n);
    for (size_t i = 0; i < n; i++) t[i] = r[i] * (a->linear_before_reset ? t[i] : a->h[b * n + i]);
    for (size_t i = 0; a->linear_before_reset && i < n; i++) zr[2 * n + i] += t[i];
  }
  return a->linear_before_reset ? 0 : cn_recurrent_product_f32(a, reset, r_h, n, v + 2 * n, v + 2 * n, ld, back);
}

/* ---- by units ---- */
/* A step in shares of its units: all of a unit's gates and its state are one share's, which reads the weights of the same units in every step. Not of a GRU
 * whose gate h multiplies a state that all units have reset. */
typedef struct cn_recurrent_step_f32 {
  const cn_recurrent_f32_args *a;
  float *v, *next;         /* gates [batch][gates * hidden], the next state */
  cn_gemm_f32_args g, h;   /* h: a GRU's gate h, whose weights lie apart */
  size_t t, turns, shares; /* turns: of one gate */
  int back;
} cn_recurrent_step_f32;

static void cn_recurrent_units_f32(void *arg, size_t i) {
  const cn_recurrent_step_f32 *p = arg;
  const cn_recurrent_f32_args *a = p->a;
  const size_t n = a->hidden, ld = a->gates * n, t0 = p->turns * i / p->shares, t1 = p->turns * (i + 1) / p->shares;
  const size_t each = n / p->turns, u = each * t0, units = each * (t1 - t0);
  const size_t gates = a->gates == 3 ? 2 : a->gates;
  for (size_t b = 0; b < a->batch && !cn_recurrent_in_place_f32(a); b++) {
    const float *x = a->x + p->t * a->x_step + b * a->x_batch + u;
    float *v = p->v + b * ld + u;
    for (size_t k = 0; k < gates; k++) memcpy(v + k * n, x + k * n, units * sizeof *x);
    for (size_t k = 0; a->gates == 3 && k < units; k++) v[2 * n + k] = a->r_bias ? a->r_bias[u + k] : 0.0f;
  }
  for (size_t k = 0; k < gates; k++) {
    const size_t first = p->turns * (p->back ? gates - 1 - k : k);
    cn_gemm_f32_turn(&p->g, p->back, first + t0, first + t1);
  }
  if (a->gates == 3) cn_gemm_f32_turn(&p->h, p->back, t0, t1);
  for (size_t b = 0; b < a->batch; b++) {
    const int active = !a->lengths || (int64_t)p->t < (int64_t)a->lengths[b];
    float *h = p->next + b * n, *y = a->y ? a->y + p->t * a->y_step + b * a->y_batch : 0;
    if (active && a->gates == 4) cn_lstm_cell_f32(a, p->v + b * ld, h, a->c + b * n, u, units);
    if (active && a->gates == 3)
      cn_gru_linear_cell_f32(a, p->v + b * ld, a->x + p->t * a->x_step + b * a->x_batch + 2 * n, p->g.a + b * n, h, u, units);
    if (active && a->gates == 1) cn_rnn_cell_f32(a, p->v + b * ld, h, u, units);
    if (!active) memcpy(h + u, p->g.a + b * n + u, units * sizeof *h);
    if (y && active) memcpy(y + u, h + u, units * sizeof *y);
    if (y && !active) memset(y + u, 0, units * sizeof *y);
  }
}

/* Two shares at least, of whole turns of each gate. */
CN_INLINE int cn_recurrent_has_units_f32(const cn_recurrent_f32_args *a) {
  return a->spread && (a->gates != 3 || a->linear_before_reset) && a->hidden % (4 * CN_GEMM_F32_NR) == 0 && a->hidden / (4 * CN_GEMM_F32_NR) > 1;
}

/* The state goes to and fro between a->h and scratch: shares read all of it while others write theirs. */
CN_INLINE int cn_recurrent_by_units_f32(const cn_recurrent_f32_args *a, float *scratch) {
  const size_t n = a->hidden, ld = a->gates * n;
  float *h = a->h;
  cn_recurrent_step_f32 p;
  memset(&p, 0, sizeof p);
  p.a = a;
  p.v = scratch;
  p.next = scratch + a->batch * ld;
  p.g = cn_recurrent_product_of_f32(a, h, a->r, a->gates == 3 ? 2 * n : ld, p.v, p.v, ld);
  if (a->gates == 3) p.h = cn_recurrent_product_of_f32(a, h, cn_gru_weights_f32(a), n, p.v + 2 * n, p.v + 2 * n, ld);
  p.turns = n / (4 * CN_GEMM_F32_NR);
  p.shares = cn_min(a->shares, p.turns);
  for (size_t s = 0; s < a->steps; s++) {
    p.t = a->reverse ? a->steps - 1 - s : s;
    p.back = s % 2;
    p.g.a = p.h.a = h;
    if (cn_recurrent_in_place_f32(a)) p.g.ep.residual = a->x + p.t * a->x_step;
    if (a->spread(a->user, p.shares, cn_recurrent_units_f32, &p)) return 1;
    float *const old = h;
    h = p.next;
    p.next = old;
  }
  if (h != a->h) memcpy(a->h, h, a->batch * n * sizeof *h);
  return 0;
}

/* All steps, each product by itself. */
CN_DRIVER int cn_recurrent_steps_f32(const cn_recurrent_f32_args *a, float *scratch) {
  const size_t n = a->hidden, ld = a->gates * n;
  float *v = scratch, *reset = scratch + a->batch * ld;
  for (size_t s = 0; s < a->steps; s++) {
    const size_t t = a->reverse ? a->steps - 1 - s : s;
    const int back = s % 2;
    const int in_place = cn_recurrent_in_place_f32(a);
    const float *x = a->x + t * a->x_step;
    for (size_t b = 0; b < a->batch && !in_place; b++) memcpy(v + b * ld, x + b * a->x_batch, ld * sizeof *v);
    if (cn_recurrent_product_f32(a, a->h, a->r, a->gates == 3 ? 2 * n : ld, in_place ? x : v, v, ld, back)) return 1;
    if (a->gates == 3 && cn_gru_gates_f32(a, v, reset, back)) return 1;
    for (size_t b = 0; b < a->batch; b++) {
      const int active = !a->lengths || (int64_t)t < (int64_t)a->lengths[b];
      float *h = a->h + b * n, *y = a->y ? a->y + t * a->y_step + b * a->y_batch : 0;
      if (active && a->gates == 4) cn_lstm_cell_f32(a, v + b * ld, h, a->c + b * n, 0, n);
      if (active && a->gates == 3) cn_gru_cell_f32(a, v + b * ld, h);
      if (active && a->gates == 1) cn_rnn_cell_f32(a, v + b * ld, h, 0, n);
      if (y && active) memcpy(y, h, n * sizeof *y);
      if (y && !active) memset(y, 0, n * sizeof *y);
    }
  }
  return 0;
}

/* ---- by sequences ---- */
typedef struct cn_recurrent_sequences_f32 {
  const cn_recurrent_f32_args *a;
  float *scratch;
  size_t groups;
} cn_recurrent_sequences_f32;

/* All steps of group i. */
static void cn_recurrent_group_f32(void *arg, size_t i) {
  const cn_recurrent_sequences_f32 *p = arg;
  cn_recurrent_f32_args a = *p->a;
  const size_t first = cn_share(a.batch, i, p->groups);
  a.batch = cn_share(a.batch, i + 1, p->groups) - first;
  a.spread = 0;
  a.x += first * a.x_batch;
  a.h += first * a.hidden;
  if (a.c) a.c += first * a.hidden;
  if (a.y) a.y += first * a.y_batch;
  if (a.lengths) a.lengths += first;
  (void)cn_recurrent_steps_f32(&a, p->scratch + first * (a.gates + 1) * a.hidden);
}

/* scratch: cn_recurrent_f32_scratch floats. Nonzero: a->spread failed. */
CN_DRIVER int cn_recurrent_f32(const cn_recurrent_f32_args *a, float *scratch) {
  cn_recurrent_sequences_f32 p = {a, scratch, a->spread ? cn_recurrent_groups(a->batch, a->hidden, a->gates) : 1};
  if (p.groups > 1) return a->spread(a->user, p.groups, cn_recurrent_group_f32, &p);
  return cn_recurrent_has_units_f32(a) ? cn_recurrent_by_units_f32(a, scratch) : cn_recurrent_steps_f32(a, scratch);
}

#endif
