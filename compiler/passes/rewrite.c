#include "passes/passes.h"

typedef struct Rewriter {
  Ir *ir;
  RewriteFn f;
  void *user;
  Value **now; /* by value id, what replaced it */
  uint32_t n_values;
  bool changed;
} Rewriter;

static Value *current(const Rewriter *r, Value *v) {
  while (v && v->id < r->n_values && r->now[v->id]) v = r->now[v->id];
  return v;
}

static void rewrite_graph(Rewriter *r, Graph *g) {
  size_t n = g->nodes.n;
  Node **old = arena_dup(r->ir->arena, g->nodes.data, n * sizeof *old);
  g->nodes.n = 0;
  for (size_t i = 0; i < n; i++) {
    Node *node = old[i];
    if (node->dead) continue;
    for (uint32_t k = 0; k < node->n_in; k++) node->in[k] = current(r, node->in[k]);
    Builder b = {r->ir, g, node->src};
    Value **ret = NEW_ARRAY(r->ir->arena, Value *, node->n_out + 1);
    if (!r->f(&b, node, ret, r->user)) {
      vec_push(r->ir->arena, g->nodes, node);
      if (node->op == OP_IF) {
        rewrite_graph(r, ((const IfAttr *)node->attr)->then_graph);
        rewrite_graph(r, ((const IfAttr *)node->attr)->else_graph);
      }
      if (node->op == OP_LOOP) rewrite_graph(r, ((const LoopAttr *)node->attr)->body);
      continue;
    }
    node->dead = true;
    r->changed = true;
    for (uint32_t k = 0; k < node->n_out; k++) {
      if (!ret[k]) continue;
      if (!ret[k]->name.len && !ret[k]->data) ret[k]->name = node->out[k]->name;
      r->now[node->out[k]->id] = ret[k];
    }
  }
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.data[i] = current(r, g->outputs.data[i]);
}

bool pass_rewrite(Ir *ir, RewriteFn f, void *user) {
  Rewriter r = {.ir = ir, .f = f, .user = user, .n_values = ir->n_values};
  r.now = NEW_ARRAY(ir->arena, Value *, ir->n_values);
  rewrite_graph(&r, ir->main);
  return r.changed;
}

void pass_count_uses(const Graph *g, uint32_t *uses) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k]) uses[n->in[k]->id]++;
    if (n->op == OP_IF) pass_count_uses(((const IfAttr *)n->attr)->then_graph, uses), pass_count_uses(((const IfAttr *)n->attr)->else_graph, uses);
    if (n->op == OP_LOOP) pass_count_uses(((const LoopAttr *)n->attr)->body, uses);
  }
  for (size_t i = 0; i < g->outputs.n; i++) uses[g->outputs.data[i]->id]++;
}

bool passes_run(Ir *ir, PassOptions opt) {
  const bool optimise = opt.optimise;
  bool ok = pass_simplify(ir) && pass_recurrent(ir);
  if (ok && optimise && opt.kernels && !opt.float_qdq) ok = pass_quantise(ir); /* before weights fold into floats */
  if (ok && optimise) ok = pass_fold(ir) && pass_raise(ir);
  ok = ok && pass_legalise(ir, optimise, opt.kernels);
  if (ok && optimise) ok = pass_fold(ir) && pass_fuse(ir) && pass_fold(ir);
  return ok && pass_simplify(ir) && !diags_any(ir->diags);
}
