/* Recurrent steps: the kernel of runtime-lite over the portable layer, its activations as expressions. */
#include "interp/interp_private.h"
#include "ir/act.h"

#include "simd/scalar.h"

#include "kernels/pack.h"
#include "kernels/recurrent_f32.h"

static void run_act(const void *arg, float *v, size_t n) {
  StripEval *s = (StripEval *)(uintptr_t)arg;
  const int64_t point = 0;
  for (size_t i = 0; i < n; i += STRIP) {
    const size_t count = n - i < STRIP ? n - i : STRIP;
    s->given[0] = v + i;
    (void)strip_run(s, &point, count); /* nothing in an activation can fail */
    memcpy(v + i, s->strips[s->e->n - 1], count * sizeof *v);
  }
}

static const StripEval *new_act(Interp *in, RecurrentAct act) {
  Expr *e = NEW(in->a, Expr);
  StripEval *s = NEW(in->a, StripEval);
  *e = act_expr(in->a, act, DT_f32);
  (void)strip_new(in, e, 1, NULL, 0, 1, s);
  return s;
}

typedef struct RecurrentRun {
  Interp *in;
  const Step *step;
  const RecurrentStep *r;
  unsigned char *x[8], *y[3]; /* operands, results; NULL where absent */
  cn_recurrent_f32_args args;
  size_t state;               /* floats of one direction's state */
  float *scratch;
} RecurrentRun;

static InterpStatus find_operands(RecurrentRun *run) {
  InterpStatus st = INTERP_OK;
  for (uint32_t k = 0; k < 8 && st == INTERP_OK; k++)
    if (run->step->in[k] != NO_TENSOR) st = interp_tensor(run->in, run->step->in[k], &run->x[k]);
  for (uint32_t k = 0; k < 3 && st == INTERP_OK; k++)
    if (run->step->out[k] != NO_TENSOR) st = interp_tensor(run->in, run->step->out[k], &run->y[k]);
  return st;
}

static const float *floats(const RecurrentRun *run, int k, size_t at) { return run->x[k] ? (const float *)(const void *)run->x[k] + at : NULL; }

/* R of direction d, packed. */
static const float *packed(RecurrentRun *run, uint32_t d) {
  const RecurrentStep *r = run->r;
  const size_t h = run->args.hidden, n = r->gates * h, first = r->gates == 3 ? 2 * h : n;
  if (r->r_packed) return floats(run, 2, d * r->packed);
  float *dst = NEW_ARRAY(run->in->a, float, r->packed);
  const float *src = floats(run, 2, d * n * h);
  cn_pack_b_f32(src, 1, h, h, first, r->nr, dst);
  if (r->gates == 3) cn_pack_b_f32(src + 2 * h * h, 1, h, h, h, r->nr, dst + cn_pack_size(h, first, r->nr));
  return dst;
}

/* Where the state of direction d runs: in the result if there is one, from its initial value or zero. */
static float *state(RecurrentRun *run, int result, int initial, uint32_t d) {
  float *s = run->y[result] ? (float *)(void *)run->y[result] + d * run->state : NEW_ARRAY(run->in->a, float, run->state + 1);
  if (run->x[initial]) memcpy(s, floats(run, initial, d * run->state), run->state * sizeof *s);
  else memset(s, 0, run->state * sizeof *s);
  return s;
}

static void run_direction(RecurrentRun *run, uint32_t d) {
  const RecurrentStep *r = run->r;
  cn_recurrent_f32_args *a = &run->args;
  const RecurrentAct *acts = r->attr.acts + d * r->n_acts;
  a->reverse = r->attr.direction == 1 || d == 1;
  a->x = floats(run, 0, d * r->gates * a->hidden);
  a->r = packed(run, d);
  a->r_bias = floats(run, 3, d * a->hidden);
  a->peephole = floats(run, 7, d * 3 * a->hidden);
  a->y = run->y[0] ? (float *)(void *)run->y[0] + d * run->state : NULL;
  a->h = state(run, 1, 5, d);
  if (r->attr.cell == CELL_LSTM) a->c = state(run, 2, 6, d);
  a->f = a->g = a->act = run_act;
  a->f_arg = new_act(run->in, acts[0]);
  if (r->n_acts > 1) a->g_arg = new_act(run->in, acts[1]);
  if (r->n_acts > 2) a->act_arg = new_act(run->in, acts[2]);
  cn_recurrent_f32(a, run->scratch);
}

InterpStatus interp_recurrent(Interp *in, const Step *s) {
  RecurrentRun run = {.in = in, .step = s, .r = s->attr};
  const RecurrentAttr *attr = &run.r->attr;
  const PTensor *x = &in->p->tensors.data[s->in[0]];
  int64_t steps, batch;
  if (run.r->nr != CN_GEMM_F32_NR) return INTERP_UNSUPPORTED;
  InterpStatus st = find_operands(&run);
  if (st == INTERP_OK) st = interp_dim(in, x->dims[0], &steps);
  if (st == INTERP_OK) st = interp_dim(in, x->dims[1], &batch);
  if (st != INTERP_OK) return st;
  const size_t dirs = attr->direction == 2 ? 2 : 1;
  cn_recurrent_f32_args *a = &run.args;
  *a = (cn_recurrent_f32_args){.steps = (size_t)steps, .batch = (size_t)batch, .hidden = (size_t)attr->hidden, .gates = run.r->gates,
                               .linear_before_reset = attr->linear_before_reset, .input_forget = attr->input_forget, .clip = attr->clip};
  run.state = a->batch * a->hidden;
  a->x_batch = dirs * a->gates * a->hidden;
  a->x_step = a->batch * a->x_batch;
  a->y_batch = a->hidden;
  a->y_step = dirs * run.state;
  a->lengths = (const int32_t *)(const void *)run.x[4];
  run.scratch = NEW_ARRAY(in->a, float, cn_recurrent_f32_scratch(a) + 1);
  for (uint32_t d = 0; d < dirs; d++) run_direction(&run, d);
  return INTERP_OK;
}
