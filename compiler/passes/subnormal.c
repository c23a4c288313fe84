/* Weights below the least normal number count as zero: training with weight decay leaves many, and an x86 core takes some 150 cycles for each product of one. A
 * sum is off by no more than 2^-126 (float64: 2^-1022) of the sum of its inputs' sizes, docs/NUMERICS.md. Weights are constants of which nothing but
 * sums of products is made: of convolutions, products and recurrent layers, and scales and shifts by channel behind them (batch normalisation). */
#include "passes/passes.h"

enum { READ_BY_SUM = 1, READ_BY_OTHER = 2 };

/* A constant with one axis of more than one element. */
static bool is_vector(const Value *v) {
  uint32_t n = 0;
  for (uint32_t a = 0; v->data && a < v->type.rank; a++) n += !dim_is(v->type.dims[a], 1);
  return n == 1;
}

/* The operand of x fn k, or k fn x, that is a constant vector k; 2: it is no such node. */
static uint32_t vector_operand(const Node *n) {
  ScalarFn fn;
  if (!pass_is_fn2(n, &fn)) return 2;
  if (fn != SC_mul && fn != SC_add && fn != SC_sub) return 2;
  return is_vector(n->in[1]) ? 1 : is_vector(n->in[0]) ? 0 : 2;
}

/* Whether v is the result of a convolution or product, or, a few nodes further, of that times or plus a vector. */
static bool is_sum(const Value *v) {
  for (int i = 0; i < 4 && v->def; i++) {
    const uint32_t k = vector_operand(v->def);
    if (!pass_is_view(v->def) && k > 1) break;
    v = v->def->in[pass_is_view(v->def) ? 0 : !k];
  }
  return v->def && (v->def->op == OP_CONV || v->def->op == OP_CONTRACT);
}

/* The operand of n that is a vector by which a sum's result is scaled or shifted, or n->n_in. */
static uint32_t scale_or_shift(const Node *n) {
  const uint32_t k = vector_operand(n);
  return k < 2 && is_sum(n->in[!k]) ? k : n->n_in;
}

/* Whether operand k of n is nothing but a factor, or a term, of its sums. */
static bool is_weight(const Node *n, uint32_t k) {
  switch (n->op) {
    case OP_CONV: return k > 0;
    case OP_CONTRACT: return true;
    case OP_RECURRENT: return (k >= 1 && k <= 3) || k == 7; /* W R B, P */
    default: return false;
  }
}

/* role: by value id, who reads it. */
static void mark_graph(uint8_t *role, const Graph *g) {
  for (size_t i = 0; i < g->outputs.n; i++) role[g->outputs.data[i]->id] |= READ_BY_OTHER;
  for (size_t i = g->nodes.n; i-- > 0;) { /* a value's readers come before what makes it */
    const Node *n = g->nodes.data[i];
    if (n->op == OP_IF) mark_graph(role, ((const IfAttr *)n->attr)->then_graph), mark_graph(role, ((const IfAttr *)n->attr)->else_graph);
    if (n->op == OP_LOOP) mark_graph(role, ((const LoopAttr *)n->attr)->body);
    const uint32_t scale = scale_or_shift(n);
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k]) role[n->in[k]->id] |= pass_is_view(n) ? role[n->out[0]->id] : is_weight(n, k) || k == scale ? READ_BY_SUM : READ_BY_OTHER;
  }
}

/* Of `size` bytes in a model's order, the lowest first. */
static bool is_subnormal(const unsigned char *p, size_t size) {
  unsigned fraction = size == 4 ? p[2] & 0x7f : p[6] & 0x0f;
  if ((p[size - 1] & 0x7f) || p[size - 2] & (size == 4 ? 0x80 : 0xf0)) return false;
  for (size_t k = 0; k + 2 < size; k++) fraction |= p[k];
  return fraction != 0;
}

/* NULL where none is. */
static const Tensor *without_subnormals(Arena *a, const Tensor *t) {
  const size_t size = t->dtype == DT_f32 ? 4 : 8;
  const unsigned char *from = t->bytes;
  unsigned char *bytes = NULL;
  for (size_t i = 0; i < t->n * size; i += size) {
    if (!is_subnormal(from + i, size)) continue;
    if (!bytes) from = bytes = arena_dup(a, t->bytes, t->n_bytes);
    memset(bytes + i, 0, size);
  }
  if (!bytes) return NULL;
  Tensor *ret = arena_dup(a, t, sizeof *t);
  ret->bytes = bytes;
  return ret;
}

bool pass_subnormal(Ir *ir) {
  Arena *scratch = arena_new(arena_door(ir->arena), 0);
  uint8_t *role = NEW_ARRAY(scratch, uint8_t, ir->n_values);
  mark_graph(role, ir->main);
  for (size_t i = 0; i < ir->constants.n; i++) {
    Value *v = ir->constants.data[i];
    if (role[v->id] != READ_BY_SUM || (v->data->dtype != DT_f32 && v->data->dtype != DT_f64)) continue;
    const Tensor *t = without_subnormals(ir->arena, v->data);
    if (t) v->data = t;
  }
  arena_free(scratch);
  return true;
}
