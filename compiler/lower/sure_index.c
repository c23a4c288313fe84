/* Indices that lie in constants are checked here, once, so that the code that reads them has nothing to check. */
#include "lower/lower_private.h"

typedef struct Span { int64_t lo, hi; bool known, seen; } Span;

/* The least and largest element of a constant of integers. */
static Span span_of(const Buffer *b) {
  Span s = {INT64_MAX, INT64_MIN, false, true};
  if (b->kind != BUF_CONST || !b->data || (b->dtype != DT_s64 && b->dtype != DT_s32)) return s;
  for (size_t i = 0; i < b->data->n; i++) {
    const int64_t v = tensor_int(b->data, i);
    if (v < s.lo) s.lo = v;
    if (v > s.hi) s.hi = v;
  }
  s.known = b->data->n > 0;
  return s;
}

/* The load that the node is, or is a wider copy of; NULL. */
static const Access *loaded(const Nest *n, uint32_t node) {
  const ExprNode *x = &n->map.nodes[node];
  if (x->kind == EXPR_CAST) x = &n->map.nodes[x->args[0]];
  return x->kind == EXPR_INPUT ? &n->loads[x->operand] : NULL;
}

static void look(const Program *p, const Nest *n, const Access *a, Span *spans) {
  for (uint32_t k = 0; k < a->n_indirect; k++) {
    IndirectTerm *t = (IndirectTerm *)(uintptr_t)&a->indirect[k];
    const Access *from = loaded(n, t->node);
    int64_t bound;
    if (!from || !dim_is_const(t->bound, &bound)) continue;
    const uint32_t buffer = p->tensors.data[from->tensor].buffer;
    if (!spans[buffer].seen) spans[buffer] = span_of(&p->buffers.data[buffer]);
    t->sure |= spans[buffer].known && spans[buffer].lo >= 0 && spans[buffer].hi < bound;
  }
}

void lower_find_sure(Lower *l) {
  const Program *p = l->p;
  Arena *scratch = arena_new(arena_door(l->a), 0);
  Span *spans = NEW_ARRAY(scratch, Span, p->buffers.n);
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    if (s->kind != STEP_NEST) continue;
    const Nest *n = s->attr;
    for (uint32_t k = 0; k < n->n_loads; k++) look(p, n, &n->loads[k], spans);
    look(p, n, &n->store, spans);
  }
  arena_free(scratch);
}
