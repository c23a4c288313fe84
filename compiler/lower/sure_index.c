/* Indices that lie in constants, or are kept in range by what computes them, are checked here, once, so that the code that reads them has nothing to check. */
#include "lower/lower_private.h"

typedef struct Span { int64_t lo, hi; } Span;

typedef struct Known {
  Span span;
  bool seen;
} Known;

typedef struct Ranges {
  const Program *p;
  const Nest *nest;
  Known *known; /* by buffer */
} Ranges;

/* What integers of the type hold; of u64 those above INT64_MAX count as that. */
static Span span_of_type(DType t) {
  const unsigned bits = dtype_rows[t].bits;
  if (dtype_rows[t].kind == KIND_U) return (Span){0, bits < 64 ? (int64_t)(((uint64_t)1 << bits) - 1) : INT64_MAX};
  const int64_t hi = dtype_rows[t].kind == KIND_S && bits < 64 ? ((int64_t)1 << (bits - 1)) - 1 : INT64_MAX;
  return (Span){-hi - 1, hi};
}

static Span span_within(Span x, Span type) { return x.lo >= type.lo && x.hi <= type.hi ? x : type; }

/* The least and largest element of a constant of integers; of others what the type holds. */
static Span span_of_buffer(const Buffer *b) {
  const Span type = span_of_type(b->dtype);
  if (b->kind != BUF_CONST || !b->data || b->data->n == 0 || (b->dtype != DT_s64 && b->dtype != DT_s32)) return type;
  Span s = {INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < b->data->n; i++) {
    const int64_t v = tensor_int(b->data, i);
    if (v < s.lo) s.lo = v;
    if (v > s.hi) s.hi = v;
  }
  return s;
}

static Span span_of_input(const Ranges *r, uint32_t operand) {
  const uint32_t buffer = r->p->tensors.data[r->nest->loads[operand].tensor].buffer;
  Known *k = &r->known[buffer];
  if (!k->seen) *k = (Known){span_of_buffer(&r->p->buffers.data[buffer]), true};
  return k->span;
}

enum { MOST_DEEP = 8 };

/* What a node of the nest's map, an integer, may be. */
static Span span_of(const Ranges *r, uint32_t node, int most) {
  const ExprNode *x = &r->nest->map.nodes[node];
  const Span type = span_of_type(x->type);
  if (!dtype_is_int(x->type) || most == 0) return type;
  if (x->kind == EXPR_INPUT) return span_within(span_of_input(r, x->operand), type);
  if (x->kind == EXPR_CAST && dtype_is_int(r->nest->map.nodes[x->args[0]].type)) return span_within(span_of(r, x->args[0], most - 1), type);
  if (x->kind == EXPR_CONST) {
    const int64_t v = dtype_rows[x->type].bits == 32 && dtype_rows[x->type].kind == KIND_S ? (int32_t)x->bits : (int64_t)x->bits;
    return span_within((Span){v, v}, type);
  }
  if (x->kind != EXPR_FN || (x->fn != SC_min && x->fn != SC_max)) return type;
  const Span a = span_of(r, x->args[0], most - 1), b = span_of(r, x->args[1], most - 1);
  const bool min = x->fn == SC_min;
  return (Span){(a.lo < b.lo) == min ? a.lo : b.lo, (a.hi < b.hi) == min ? a.hi : b.hi};
}

static void look(const Ranges *r, const Access *a) {
  for (uint32_t k = 0; k < a->n_indirect; k++) {
    IndirectTerm *t = (IndirectTerm *)(uintptr_t)&a->indirect[k];
    int64_t bound;
    if (!dim_is_const(t->bound, &bound)) continue;
    const Span s = span_of(r, t->node, MOST_DEEP);
    t->sure |= s.lo >= 0 && s.hi < bound;
  }
}

void lower_find_sure(Lower *l) {
  const Program *p = l->p;
  Arena *scratch = arena_new(arena_door(l->a), 0);
  Ranges r = {p, NULL, NEW_ARRAY(scratch, Known, p->buffers.n)};
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    if (s->kind != STEP_NEST) continue;
    r.nest = s->attr;
    for (uint32_t k = 0; k < r.nest->n_loads; k++) look(&r, &r.nest->loads[k]);
    look(&r, &r.nest->store);
  }
  arena_free(scratch);
}
