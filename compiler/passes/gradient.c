/* Gradients (ai.onnx.preview.training) by reverse-mode differentiation: what lies between the variables and the result is emitted again
 * at the variables' given values, composites in terms of simple operators, and that tape is walked backwards. */
#include "passes/gradient_rules.h"

typedef struct Tape {
  Builder *b;
  Value **now;      /* by id of values that were there before: what stands for it on the tape */
  uint32_t n_before;
  size_t first;     /* the tape's first node in the graph */
  bool *active;     /* by id: depends on a variable, and is a float */
  Value **gradient; /* by id */
  uint32_t n_values;
} Tape;

static Value *on_tape(const Tape *t, Value *v) { return v && v->id < t->n_before && t->now[v->id] ? t->now[v->id] : v; }

/* ---- forward ---- */
typedef VEC(Value *) Values;

/* What a body, with those within it, takes from outside of `of`. */
static void add_captured(Arena *a, const Graph *body, const Graph *of, Values *ret);

static void add_captured_by(Arena *a, const Node *n, const Graph *of, Values *ret) {
  if (n->op == OP_LOOP) add_captured(a, ((const LoopAttr *)n->attr)->body, of ? of : ((const LoopAttr *)n->attr)->body, ret);
  if (n->op != OP_IF) return;
  const IfAttr *attr = n->attr;
  add_captured(a, attr->then_graph, of ? of : attr->then_graph, ret);
  add_captured(a, attr->else_graph, of ? of : attr->else_graph, ret);
}

static void add_captured(Arena *a, const Graph *body, const Graph *of, Values *ret) {
  for (size_t i = 0; i < body->nodes.n; i++) {
    const Node *n = body->nodes.data[i];
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] && !graph_is_within(n->in[k]->graph, of)) vec_push(a, *ret, n->in[k]);
    add_captured_by(a, n, of, ret);
  }
  for (size_t i = 0; i < body->outputs.n; i++)
    if (!graph_is_within(body->outputs.data[i]->graph, of)) vec_push(a, *ret, body->outputs.data[i]);
}

/* All that n reads: its operands, and what its bodies capture. */
static Values operands_of(Arena *a, const Node *n) {
  Values v = {0};
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k]) vec_push(a, v, n->in[k]);
  add_captured_by(a, n, NULL, &v);
  return v;
}

/* Nodes that y depends on, operands first; behind values with a replacement nothing is looked at. */
static Node **ancestors(const Tape *t, Value *y, size_t *ret_n) {
  Arena *a = t->b->ir->arena;
  VEC(Node *) found = {0}, stack = {0};
  uint8_t *state = NEW_ARRAY(a, uint8_t, t->n_before); /* by id of the first result: 1 open, 2 done */
  if (y->def && !t->now[y->id]) vec_push(a, stack, y->def);
  while (stack.n) {
    Node *n = stack.data[stack.n - 1];
    const uint32_t id = n->n_out ? n->out[0]->id : 0;
    const size_t before = stack.n;
    const Values operands = state[id] == 0 ? operands_of(a, n) : (Values){0};
    for (size_t k = 0; k < operands.n; k++) {
      const Value *v = operands.data[k];
      if (v->def && !t->now[v->id] && v->def->n_out && state[v->def->out[0]->id] == 0) vec_push(a, stack, v->def);
    }
    if (state[id] == 0) state[id] = 1;
    if (stack.n > before) continue;
    stack.n--;
    if (state[id] == 1) vec_push(a, found, n);
    state[id] = 2;
  }
  *ret_n = found.n;
  return found.data;
}

/* n on the tape: its operands replaced; in terms of simple operators where it is none. */
static bool emit(Tape *t, const Node *n) {
  Builder *b = t->b;
  Arena *a = b->ir->arena;
  bool changed = false;
  Node copy = *n;
  copy.in = NEW_ARRAY(a, Value *, n->n_in + 1);
  for (uint32_t k = 0; k < n->n_in; k++) {
    copy.in[k] = on_tape(t, n->in[k]);
    changed = changed || copy.in[k] != n->in[k];
  }
  Values captured = {0};
  add_captured_by(a, n, NULL, &captured);
  for (size_t k = 0; k < captured.n; k++)
    if (on_tape(t, captured.data[k]) != captured.data[k]) return gradient_no_rule(b, n, NULL); /* bodies are not emitted again */
  if (!changed) return true;
  Value **made = NEW_ARRAY(a, Value *, n->n_out + 1);
  if (n->op == OP_CONTRACT || !legalise_node(b, &copy, made)) {
    Type *types = NEW_ARRAY(a, Type, n->n_out + 1);
    for (uint32_t k = 0; k < n->n_out; k++) types[k] = n->out[k]->type;
    made = graph_add_node(b->graph, n->op, copy.in, n->n_in, types, n->n_out, n->attr, n->src)->out;
  }
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (!made[k]) return false;
    t->now[n->out[k]->id] = made[k];
  }
  return true;
}

/* ---- backward ---- */
static bool hand_down(Tape *t, Node *n) {
  Builder *b = t->b;
  Value *dy = n->n_out && n->out[0]->id < t->n_values ? t->gradient[n->out[0]->id] : NULL;
  bool any = false, *wanted = NEW_ARRAY(b->ir->arena, bool, n->n_in + 1);
  Value **parts = NEW_ARRAY(b->ir->arena, Value *, n->n_in + 1);
  for (uint32_t k = 0; k < n->n_in; k++) any |= wanted[k] = n->in[k] && t->active[n->in[k]->id];
  for (uint32_t k = 1; any && k < n->n_out; k++)
    if (n->out[k] && n->out[k]->id < t->n_values && t->gradient[n->out[k]->id]) return gradient_no_rule(b, n, NULL);
  if (!dy || !any) return true;
  if (!gradient_rule(b, n, dy, wanted, parts)) return false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (!wanted[k] || !parts[k]) continue;
    Value **sum = &t->gradient[n->in[k]->id];
    *sum = *sum ? build_fn2(b, SC_add, *sum, parts[k]) : parts[k];
    if (!*sum) return false;
  }
  return true;
}

static void mark_active(Tape *t, const Node *n) {
  bool any = false;
  for (uint32_t k = 0; k < n->n_in; k++) any = any || (n->in[k] && t->active[n->in[k]->id]);
  for (uint32_t k = 0; k < n->n_out; k++) t->active[n->out[k]->id] = any && n->out[k]->type.kind == TYPE_TENSOR && dtype_is_float(n->out[k]->type.dtype);
}

/* Each variable as a value of its own, since two may be given the same one. */
static Value *variable(Builder *b, Value *given) {
  const Type type = given->type;
  return graph_add_node(b->graph, OP_RESHAPE, &given, 1, &type, 1, NULL, b->place)->out[0];
}

/* in: y, the named variables, the values given for them. */
static bool differentiate(Builder *b, const Node *n, Value **ret) {
  const uint32_t n_named = (n->n_in - 1) / 2, n_xs = ((const GradientAttr *)n->attr)->n_xs;
  Arena *a = b->ir->arena;
  Graph *g = b->graph;
  Tape t = {.b = b, .n_before = b->ir->n_values, .now = NEW_ARRAY(a, Value *, b->ir->n_values), .first = g->nodes.n};
  size_t n_nodes;
  Value **x = NEW_ARRAY(a, Value *, n_named);
  for (uint32_t k = 0; k < n_named; k++) t.now[n->in[1 + k]->id] = x[k] = variable(b, n->in[1 + n_named + k]);
  Node **nodes = ancestors(&t, n->in[0], &n_nodes);
  for (size_t i = 0; i < n_nodes; i++)
    if (!emit(&t, nodes[i])) return false;
  Value *y = on_tape(&t, n->in[0]);
  const size_t end = g->nodes.n;
  t.n_values = b->ir->n_values;
  t.active = NEW_ARRAY(a, bool, t.n_values);
  t.gradient = NEW_ARRAY(a, Value *, t.n_values);
  for (uint32_t k = 0; k < n_xs; k++) t.active[x[k]->id] = true;
  for (size_t i = t.first; i < end; i++)
    if (i >= t.first + n_named) mark_active(&t, g->nodes.data[i]);
  t.gradient[y->id] = build_expand(b, build_scalar_f(b, y->type.dtype, 1), y->type.rank, y->type.dims);
  for (size_t i = end; i-- > t.first;)
    if (!hand_down(&t, g->nodes.data[i])) return false;
  for (uint32_t k = 0; k < n_xs; k++) ret[k] = t.gradient[x[k]->id] ? t.gradient[x[k]->id] : gradient_zeros(b, x[k]);
  return true;
}

static bool rewrite(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  if (n->op != OP_GRADIENT) return false;
  if (differentiate(b, n, ret)) return true;
  for (uint32_t k = 0; k < n->n_out; k++) ret[k] = gradient_zeros(b, n->out[k]); /* reported */
  return true;
}

bool pass_gradient(Ir *ir) {
  (void)pass_rewrite(ir, rewrite, NULL);
  return !diags_any(ir->diags);
}
