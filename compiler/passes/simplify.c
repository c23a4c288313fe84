/* Dead code: nodes whose results nobody reads. */
#include "passes/passes.h"

static void mark(const Value *v, uint8_t *live) {
  if (v) live[v->id] = 1;
}

/* A routine that decides sizes, which others may have though nobody reads its elements. */
static bool decides_sizes(const Node *n) {
  const bool routine = n->op == OP_EXTERN || n->op == OP_IF || n->op == OP_LOOP;
  for (uint32_t k = 0; routine && k < n->n_out; k++)
    for (uint32_t a = 0; a < n->out[k]->type.rank; a++)
      if (n->out[k]->type.dims[a]->kind == DIM_SYMBOL && dim_has_data(n->out[k]->type.dims[a])) return true;
  return false;
}

static void mark_graph(Graph *g, uint8_t *live) {
  for (size_t i = 0; i < g->outputs.n; i++) mark(g->outputs.data[i], live);
  for (size_t i = g->nodes.n; i-- > 0;) {
    Node *n = g->nodes.data[i];
    bool used = n->op == OP_SYMBOLS || decides_sizes(n); /* sizes further on depend on it */
    for (uint32_t k = 0; k < n->n_out; k++) used = used || live[n->out[k]->id];
    n->dead = n->dead || !used;
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++) mark(n->in[k], live);
    if (n->op == OP_IF) {
      mark_graph(((const IfAttr *)n->attr)->then_graph, live);
      mark_graph(((const IfAttr *)n->attr)->else_graph, live);
    }
    if (n->op == OP_LOOP) mark_graph(((const LoopAttr *)n->attr)->body, live);
  }
  size_t kept = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i]->dead) g->nodes.data[kept++] = g->nodes.data[i];
  g->nodes.n = kept;
}

bool pass_simplify(Ir *ir) {
  mark_graph(ir->main, NEW_ARRAY(ir->arena, uint8_t, ir->n_values));
  return true;
}
