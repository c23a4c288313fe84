/* A copy of a graph for the levels of a target, each of which may be rewritten in its own way. */
#include "ir/ir.h"

typedef struct Cloner {
  Ir *to;
  Value **values; /* by id */
  VEC(struct GraphPair { const Graph *from; Graph *to; }) graphs;
} Cloner;

static Graph *graph_of(const Cloner *c, const Graph *g) {
  for (size_t i = 0; i < c->graphs.n; i++)
    if (c->graphs.data[i].from == g) return c->graphs.data[i].to;
  return NULL;
}

static Value *value_of(Cloner *c, const Value *v);

static const SeqItems *clone_items(Cloner *c, const SeqItems *items) {
  if (!items) return NULL;
  SeqItems *ret = NEW(c->to->arena, SeqItems);
  Value **values = NEW_ARRAY(c->to->arena, Value *, items->n);
  for (uint32_t i = 0; i < items->n; i++) values[i] = value_of(c, items->values[i]);
  *ret = (SeqItems){items->n, values};
  return ret;
}

/* Made when first named; clone_node says what defines it. */
static Value *value_of(Cloner *c, const Value *v) {
  if (!v || c->values[v->id]) return v ? c->values[v->id] : NULL;
  Value *copy = c->values[v->id] = NEW(c->to->arena, Value);
  *copy = *v;
  copy->def = NULL;
  copy->graph = graph_of(c, v->graph);
  copy->items = clone_items(c, v->items);
  return copy;
}

static Graph *clone_graph(Cloner *c, const Graph *g, Graph *parent);

/* Attributes are never written to; those that hold graphs are copied. */
static const void *clone_attr(Cloner *c, const Node *n, Graph *g) {
  if (n->op == OP_IF) {
    IfAttr *a = arena_dup(c->to->arena, n->attr, sizeof *a);
    a->then_graph = clone_graph(c, a->then_graph, g);
    a->else_graph = clone_graph(c, a->else_graph, g);
    return a;
  }
  if (n->op == OP_LOOP) {
    LoopAttr *a = arena_dup(c->to->arena, n->attr, sizeof *a);
    a->body = clone_graph(c, a->body, g);
    return a;
  }
  return n->attr;
}

static Value **clone_values(Cloner *c, Value *const *from, uint32_t n) {
  Value **ret = NEW_ARRAY(c->to->arena, Value *, n);
  for (uint32_t i = 0; i < n; i++) ret[i] = value_of(c, from[i]);
  return ret;
}

static void clone_node(Cloner *c, const Node *n, Graph *g) {
  Node *copy = arena_dup(c->to->arena, n, sizeof *copy);
  copy->graph = g;
  copy->in = clone_values(c, n->in, n->n_in);
  copy->attr = clone_attr(c, n, g);
  copy->out = clone_values(c, n->out, n->n_out);
  for (uint32_t i = 0; i < n->n_out; i++) copy->out[i]->def = copy;
  vec_push(c->to->arena, g->nodes, copy);
}

static Graph *clone_graph(Cloner *c, const Graph *g, Graph *parent) {
  Arena *a = c->to->arena;
  Graph *copy = graph_new(c->to, parent);
  const struct GraphPair pair = {g, copy};
  vec_push(a, c->graphs, pair);
  for (size_t i = 0; i < g->inputs.n; i++) vec_push(a, copy->inputs, value_of(c, g->inputs.data[i]));
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i]->dead) clone_node(c, g->nodes.data[i], copy);
  for (size_t i = 0; i < g->outputs.n; i++) vec_push(a, copy->outputs, value_of(c, g->outputs.data[i]));
  for (size_t i = 0; i < g->output_names.n; i++) vec_push(a, copy->output_names, g->output_names.data[i]);
  return copy;
}

Ir *ir_clone(const Ir *ir) {
  Ir *to = NEW(ir->arena, Ir);
  *to = *ir;
  memset(&to->constants, 0, sizeof to->constants);
  Cloner c = {.to = to, .values = NEW_ARRAY(ir->arena, Value *, ir->n_values)};
  to->main = clone_graph(&c, ir->main, NULL);
  for (size_t i = 0; i < ir->constants.n; i++) {
    Value *v = value_of(&c, ir->constants.data[i]);
    v->graph = to->main;
    vec_push(to->arena, to->constants, v);
  }
  to->checking = graph_of(&c, ir->checking);
  to->checks = arena_dup(ir->arena, ir->checks, ir->n_checks * sizeof *ir->checks);
  to->cap_checks = ir->n_checks;
  for (size_t i = 0; i < ir->n_checks; i++) to->checks[i].graph = graph_of(&c, ir->checks[i].graph);
  return to;
}
