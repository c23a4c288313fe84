/* SequenceMap: a loop whose states are the sequences that it makes. */
#include "ops/import_loop.h"
#include "ops/import_sequence.h"
#include "ops/shared.h"

/* The body with nodes that take its inputs out of the sequences and put its results behind those so far, as the standard's function body has them: what an
 * iteration does is imported as any list of nodes, for each rank that a tensor taken out may have. Behind the body's own inputs come the sequences by the names
 * of `alias`, the iteration and the states. */
static Str alias(OpContext *c, const char *what, size_t k) { return arena_printf(c->importer->a, "SequenceMap's %s %zu", what, k); }

static OnnxNode sequence_node(OpContext *c, const char *op, Str from, Str with, Str to) {
  Str *names = NEW_ARRAY(c->importer->a, Str, 3);
  names[0] = from, names[1] = with, names[2] = to;
  return (OnnxNode){.op_type = str_c(op), .inputs = names, .n_inputs = 2, .outputs = names + 2, .n_outputs = 1};
}

static OnnxGraph *iteration_graph(OpContext *c, const OnnxGraph *body) {
  Arena *a = c->importer->a;
  const size_t n_in = body->n_inputs, n_out = body->n_outputs;
  OnnxGraph *g = arena_dup(a, body, sizeof *g);
  OnnxNode *nodes = NEW_ARRAY(a, OnnxNode, body->n_nodes + n_in + n_out);
  OnnxValueInfo *in = NEW_ARRAY(a, OnnxValueInfo, n_in + 1 + n_out), *out = NEW_ARRAY(a, OnnxValueInfo, n_out), *types = NEW_ARRAY(a, OnnxValueInfo, body->n_value_info + n_in);
  for (size_t i = 0; i < body->n_nodes; i++) nodes[i] = body->nodes[i]; /* first, so that diagnostics number them as the file does */
  for (size_t i = 0; i < body->n_value_info; i++) types[i] = body->value_info[i];
  const Str iteration = alias(c, "iteration", 0);
  for (size_t k = 0; k < n_in; k++) {
    in[k] = body->inputs[k];
    if (!c->in[k]->type.seq) continue;
    types[g->n_value_info++] = body->inputs[k];
    in[k] = (OnnxValueInfo){.name = alias(c, "sequence", k)};
    nodes[g->n_nodes++] = sequence_node(c, "SequenceAt", in[k].name, iteration, body->inputs[k].name);
  }
  in[n_in].name = iteration;
  for (size_t k = 0; k < n_out; k++) {
    in[n_in + 1 + k].name = alias(c, "state", k);
    out[k].name = alias(c, "next state", k);
    nodes[g->n_nodes++] = sequence_node(c, "SequenceInsert", in[n_in + 1 + k].name, body->outputs[k].name, out[k].name);
  }
  g->nodes = nodes, g->inputs = in, g->outputs = out, g->value_info = types;
  g->n_inputs = n_in + 1 + n_out;
  return g;
}

static Value *iteration_input(OpContext *c, Builder *b, size_t i, void *user) {
  const Loop *l = user;
  if (i < l->body->n_inputs) return c->in[i];
  if (i == l->body->n_inputs) return build_dim_scalar(b, l->iteration);
  Value *state = graph_add_value(b->graph, l->types[i - l->body->n_inputs - 1], (Str){0});
  vec_push(b->ir->arena, b->graph->inputs, state);
  return state;
}

static Graph *import_map_body(Loop *l) {
  const OnnxGraph *g = l->user;
  return op_body(l->c, g, g->n_inputs, iteration_input, l);
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
  if (l.body->n_inputs != c->n_in) return op_fail(c, DIAG_E0305, "the body has %zu inputs, %zu are given", l.body->n_inputs, c->n_in);
  if (l.body->n_outputs != c->n_out) return op_fail(c, DIAG_E0305, "the body has %zu outputs, the node %zu", l.body->n_outputs, c->n_out);
  l.user = iteration_graph(c, l.body);
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
