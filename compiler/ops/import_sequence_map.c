/* SequenceMap: a loop whose states are the sequences that it makes. */
#include "ops/import_loop.h"
#include "ops/import_sequence.h"
#include "ops/shared.h"

/* An input of the body: the tensor of this iteration, or what all of them see. */
static Value *element(OpContext *c, Builder *b, size_t i, void *user) {
  const Loop *l = user;
  Value *v = c->in[i];
  if (!v->type.seq) return v;
  OpContext inside = *c;
  inside.b = *b;
  return sequence_take(&inside, v, build_dim_scalar(b, l->iteration), l->body->inputs[i].type);
}

/* The body, its results put behind the sequences so far. */
static Graph *import_map_body(Loop *l) {
  OpContext c = *l->c;
  Graph *g = op_body(&c, l->body, c.n_in, element, l);
  if (!g) return NULL;
  if (g->outputs.n != l->n_states) return (void)op_fail(&c, DIAG_E0305, "the body has %zu outputs, the node %zu", g->outputs.n, l->n_states), NULL;
  Graph *around = op_enter(&c, g);
  bool ok = true;
  c.b.graph = g;
  for (size_t k = 0; k < l->n_states && ok; k++) {
    Value *state = graph_add_value(g, l->types[k], (Str){0});
    vec_push(c.b.ir->arena, g->inputs, state);
    g->outputs.data[k] = sequence_append(&c, state, g->outputs.data[k]);
    ok = g->outputs.data[k] != NULL;
  }
  (void)op_enter(&c, around);
  return ok ? g : NULL;
}

/* How many iterations: the sequences have one length. */
static const Dim *common_length(OpContext *c) {
  const Dim *n = NULL;
  for (size_t k = 0; k < c->n_in; k++) {
    size_t count;
    if (!c->in[k]) return (void)op_fail(c, DIAG_E0305, "input %zu is left out", k), NULL;
    if (!c->in[k]->type.seq) continue;
    const Dim *const *read = build_read_dims(&c->b, sequence_length(c, c->in[k]), "length", 0, INT32_MAX, NULL, &count);
    if (!read) return NULL;
    if (n && !ir_require_eq(c->b.ir, n, read[0])) return (void)op_fail(c, DIAG_E0402, "sequences of different lengths"), NULL;
    n = n ? n : read[0];
  }
  return n;
}

bool import_sequence_map(OpContext *c) {
  Loop l = {.c = c, .body = op_graph(c, "body"), .n_states = c->n_out, .import = import_map_body};
  size_t n;
  l.trips = common_length(c);
  l.init = NEW_ARRAY(c->b.ir->arena, Value *, c->n_out);
  if (!l.trips) return false;
  if (l.body->n_outputs != c->n_out) return op_fail(c, DIAG_E0305, "the body has %zu outputs, the node %zu", l.body->n_outputs, c->n_out);
  for (size_t k = 0; k < c->n_out; k++) {
    const OnnxType *t = l.body->outputs[k].type;
    const DType dtype = t && t->kind == ONNX_TYPE_TENSOR ? dtype_from_onnx(t->elem_type) : DT_NONE;
    if (dtype == DT_NONE) return op_fail(c, DIAG_E0401, "the body declares no element type for its output %zu", k);
    if (!(l.init[k] = sequence_none(c, dtype))) return false;
  }
  Value **made = loop_make(&l, &n);
  for (size_t k = 0; made && k < c->n_out; k++) c->out[k] = made[k];
  return made != NULL;
}
