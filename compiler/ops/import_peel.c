/* Loops whose states change their rank: iterations are made ahead of the loop until they no longer do. */
#include "ops/import_loop.h"

enum { MOST_PEELED = 16 };

/* One iteration, its nodes made part of the graph around the loop. */
static bool peel(Loop *l) {
  OpContext *c = l->c;
  Builder *b = &c->b;
  Arena *a = b->ir->arena;
  const size_t first = 1 + l->n_states;
  Value **in = NEW_ARRAY(a, Value *, 2 + l->n_states);
  size_t n;
  if (l->body->n_inputs != 2 + l->n_states) return op_fail(c, DIAG_E0305, "the body has %zu inputs, %zu are given", l->body->n_inputs, 2 + l->n_states);
  in[0] = loop_as_declared(b, build_scalar_i(b, DT_s64, l->n_peeled), l->body->inputs[0].type);
  in[1] = loop_as_declared(b, build_scalar_i(b, DT_b1, 1), l->body->inputs[1].type);
  for (size_t k = 0; k < l->n_states; k++) in[2 + k] = l->init[k];
  Value **found = op_inline(c, l->body, in, 2 + l->n_states, &n);
  if (!found) return false;
  if (n < first) return op_fail(c, DIAG_E0305, "the body has %zu outputs for %zu states", n, l->n_states);
  const int again = control_truth(b, found[0]);
  l->cond = again < 0 ? control_scalar(b, found[0]) : NULL;
  l->trips = again == 0 ? b->ir->dims->zero : dim_max(b->ir->dims, dim_addc(b->ir->dims, l->trips, -1), b->ir->dims->zero);
  l->init = found + 1;
  l->peeled = arena_dup(a, &(Peeled){.before = l->peeled, .elements = found + first, .n = n - first}, sizeof(Peeled));
  l->n_peeled++;
  l->carried.n = 0;
  return again >= 0 || l->cond;
}

/* What the loop gives if no iteration is left: the body is looked at for the types of what it would stack. */
static Value **no_iteration(Loop *l, size_t *ret_n) {
  Builder *b = &l->c->b;
  Ir *ir = b->ir;
  const size_t n = l->c->n_out > l->n_states ? l->c->n_out - l->n_states : 0, n_checks = ir->n_checks;
  Value **ret = NEW_ARRAY(ir->arena, Value *, l->n_states + n);
  loop_begin(l);
  Graph *g = n ? l->import(l) : NULL;
  ir->n_checks = n_checks;
  for (size_t k = 0; k < l->n_states; k++) ret[k] = l->init[k];
  if (n && (!g || g->outputs.n < 1 + l->n_states + n)) return NULL;
  for (size_t k = 0; k < n; k++) {
    const Type *t = &g->outputs.data[1 + l->n_states + k]->type;
    const Dim *dims[MAX_RANK] = {ir->dims->zero};
    if (t->rank + 1 > MAX_RANK) return NULL;
    for (uint32_t i = 0; i < t->rank; i++) dims[i + 1] = loop_is_inner(l, t->dims[i]) ? loop_unmade(l, k, i) : t->dims[i];
    ret[l->n_states + k] = build_reshape(b, build_tensor(b, t->dtype, 1, (const int64_t[]){0}, ""), t->rank + 1, dims);
  }
  *ret_n = l->n_states + n;
  return ret;
}

/* A stacked output: what the iterations ahead gave, then what the loop gives. */
static Value *with_peeled(const Loop *l, size_t k, Value *rest) {
  Builder *b = &l->c->b;
  Value **parts = NEW_ARRAY(b->ir->arena, Value *, l->n_peeled + 1);
  size_t at = l->n_peeled;
  parts[at] = rest;
  for (const Peeled *p = l->peeled; p; p = p->before) {
    if (k >= p->n) return NULL;
    parts[--at] = build_unsqueeze(b, p->elements[k], 1);
    if (!parts[at]) return NULL;
  }
  return l->n_peeled && rest ? build_concat(b, parts, l->n_peeled + 1, 0) : rest;
}

static Value **stacked_with_peeled(const Loop *l, Value **made, size_t n) {
  for (size_t k = l->n_states; made && k < n; k++)
    if (!(made[k] = with_peeled(l, k - l->n_states, made[k]))) return NULL;
  return made;
}

/* What follows is imported twice: behind one more iteration, and behind none. */
static void split_before(Loop *l) {
  OpContext *c = l->c;
  Builder *b = &c->b;
  Arena *a = b->ir->arena;
  Value *cond = l->cond;
  if (l->trips->lo < 1) {
    Value *runs = build_fn2(b, SC_gt, build_dim_scalar(b, l->trips), build_scalar_i(b, DT_s64, 0));
    cond = cond ? build_fn2(b, SC_and, cond, runs) : runs;
  }
  c->importer->split = (Split){.node = c->node, .cond = cond, .loop = arena_dup(a, l, sizeof *l)};
  c->importer->split.loop->c = arena_dup(a, c, sizeof *c);
}

Value **loop_branch(OpContext *c, const Loop *l, int which, size_t *ret_n) {
  Arena *a = c->b.ir->arena;
  Loop *now = arena_dup(a, l, sizeof *l);
  now->c = arena_dup(a, l->c, sizeof *l->c);
  now->c->b.graph = c->importer->graph;
  if (which) {
    Value **made = no_iteration(now, ret_n);
    return made ? stacked_with_peeled(now, made, *ret_n) : NULL;
  }
  now->cond = NULL;
  return peel(now) ? loop_run(now, ret_n) : NULL;
}

Value **loop_run(Loop *l, size_t *ret_n) {
  for (;;) {
    l->ranks_change = false;
    Value **made = loop_make(l, ret_n);
    if (!made && l->ranks_change && dim_is(l->trips, 0)) made = no_iteration(l, ret_n);
    if (made || !l->ranks_change) return stacked_with_peeled(l, made, *ret_n);
    if (l->n_peeled == MOST_PEELED) return (void)op_unsupported(l->c, "a state whose rank changes in more than %d iterations", MOST_PEELED), NULL;
    if (l->trips->lo < 1 || l->cond) return split_before(l), NULL;
    if (!peel(l)) return NULL;
  }
}
