/* Control flow: the steps of a program lie flat, so a loop is a way back (lower/program.h). */
#include "interp/interp_private.h"

/* The step behind the block that `at` opens: its ELSE or END. */
static size_t block_end(const Interp *in, size_t at) {
  const Block *b = &in->p->main;
  int depth = 0;
  for (size_t i = at + 1; i < b->steps.n; i++) {
    const Step *s = &b->steps.data[i];
    if (depth == 0 && (s->kind == STEP_ELSE || step_nesting(s) < 0)) return i;
    depth += step_nesting(s);
  }
  return b->steps.n;
}

static InterpStatus condition(Interp *in, const Step *s, bool *ret) {
  unsigned char *data;
  InterpStatus st = interp_tensor(in, s->in[0], &data);
  if (st == INTERP_OK) *ret = *data != 0;
  return st;
}

static void forget_symbol(void *user, const Dim *symbol) { ((Interp *)user)->bound[symbol->symbol.index] = false; }

/* An iteration starts with memory of its own, and sizes that it has to decide. */
static void forget(Interp *in, size_t from, size_t to) {
  const Program *p = in->p;
  for (size_t i = from; i < to; i++) {
    const Step *s = &p->main.steps.data[i];
    if (!step_decides_again(s)) step_each_symbol(s, forget_symbol, in);
    for (uint32_t k = 0; k < s->n_out; k++) {
      const uint32_t b = s->out[k] == NO_TENSOR ? NO_BUFFER : p->tensors.data[s->out[k]].buffer;
      if (b != NO_BUFFER && in->born[b] >= (int64_t)from) in->data[b] = NULL;
    }
    if (s->scratch != NO_TENSOR) in->data[p->tensors.data[s->scratch].buffer] = NULL;
  }
}

static void set(Interp *in, const Dim *symbol, int64_t v) {
  in->symbols[symbol->symbol.index] = v;
  in->bound[symbol->symbol.index] = true;
}

/* Whether another iteration runs. */
static InterpStatus test(Interp *in, const Step *s, bool *ret) {
  const LoopStep *l = s->attr;
  const int64_t now = in->symbols[l->iteration->symbol.index];
  int64_t trips;
  InterpStatus st = interp_dim(in, l->trips, &trips);
  if (st == INTERP_OK && in->budget && now >= MOST_ITERATIONS) return INTERP_ERR_BUDGET;
  *ret = st == INTERP_OK && now < trips;
  return *ret && s->n_in ? condition(in, s, ret) : st;
}

static InterpStatus start_iteration(Interp *in, size_t *at) {
  const Step *s = &in->p->main.steps.data[*at];
  const size_t end = block_end(in, *at);
  bool runs = false;
  const InterpStatus st = test(in, s, &runs);
  if (runs) forget(in, *at + 1, end);
  in->running = runs ? ((const LoopStep *)s->attr)->graph : in->running;
  *at = runs ? *at + 1 : end + 1;
  return st == INTERP_OK && runs ? interp_check_dims(in) : st;
}

/* The LOOP that an END_LOOP closes. */
static size_t loop_begin(const Interp *in, size_t end) {
  int depth = 1;
  while (depth) depth -= step_nesting(&in->p->main.steps.data[--end]);
  return end;
}

static InterpStatus start_branch(Interp *in, size_t *at) {
  const Step *s = &in->p->main.steps.data[*at];
  bool yes = false;
  const InterpStatus st = condition(in, s, &yes);
  if (!yes) *at = block_end(in, *at);
  const Graph *g = ((const BranchStep *)in->p->main.steps.data[*at].attr)->graph;
  if (g) in->running = g;
  (*at)++;
  return st == INTERP_OK ? interp_check_dims(in) : st;
}

InterpStatus interp_control(Interp *in, size_t *at) {
  const Step *s = &in->p->main.steps.data[*at];
  const LoopStep *l = s->attr;
  const BranchStep *b = s->attr;
  switch (s->kind) {
    case STEP_IF: return start_branch(in, at);
    case STEP_ELSE: *at = block_end(in, *at); return INTERP_OK; /* from the other branch */
    case STEP_END_IF:
      if (b->graph) in->running = b->graph->parent;
      (*at)++;
      return INTERP_OK;
    case STEP_LOOP: set(in, l->iteration, 0); return start_iteration(in, at);
    default: /* STEP_END_LOOP */
      in->running = l->graph->parent;
      set(in, l->iteration, in->symbols[l->iteration->symbol.index] + 1);
      *at = loop_begin(in, *at);
      return start_iteration(in, at);
  }
}

InterpStatus interp_assign(Interp *in, const Step *s) {
  const AssignStep *a = s->attr;
  int64_t *now = NEW_ARRAY(in->a, int64_t, a->n), bytes;
  unsigned char *made = NULL, *to = NULL;
  bool yes = true;
  InterpStatus st = a->others ? condition(in, s, &yes) : INTERP_OK;
  for (size_t k = 0; k < a->n && st == INTERP_OK; k++) st = interp_dim(in, yes ? a->values[k] : a->others[k], &now[k]);
  if (st == INTERP_OK && s->n_out) st = interp_tensor(in, s->in[0], &made);
  if (st != INTERP_OK) return st;
  for (size_t k = 0; k < a->n; k++) set(in, a->symbols[k], now[k]);
  if (!s->n_out) return INTERP_OK;
  const PTensor *t = &in->p->tensors.data[s->out[0]];
  in->data[t->buffer] = NULL; /* of another size now */
  st = interp_tensor(in, s->out[0], &to);
  if (st == INTERP_OK) st = interp_dim(in, t->dims[0], &bytes);
  if (st == INTERP_OK) memcpy(to, made, (size_t)bytes);
  return st;
}
