/* Which nodes a step computes: the one that it is named after and those, ahead of it, whose results are never stored. */
#include "lower/lower_private.h"

#include <stdlib.h>

enum { MAX_VISITS = 256 }; /* of a step: what is beyond is not named */

typedef struct Origins {
  Lower *l;
  Map of_node;       /* key -> Node *: the last one of this key */
  Map has_step;      /* key -> Step * */
  uint32_t *seen_by; /* by value id: the step, counted from 1, that its node was last visited for */
} Origins;

/* What one ONNX node was decomposed to has one key. */
static Str key_of(Lower *l, DiagPlace p) {
  return arena_printf(l->a, "%zu %.*s %.*s", p.node, STR_ARG(p.op_type), STR_ARG(p.node_name));
}

static void add_nodes(Origins *o, const Graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    Node *n = g->nodes.data[i];
    if (n->dead || !n->src.has_node || !n->n_out || !n->out[0]) continue;
    map_put(&o->of_node, key_of(o->l, n->src), n);
    if (n->op == OP_LOOP) add_nodes(o, ((const LoopAttr *)n->attr)->body);
    if (n->op == OP_IF) {
      add_nodes(o, ((const IfAttr *)n->attr)->then_graph);
      add_nodes(o, ((const IfAttr *)n->attr)->else_graph);
    }
  }
}

static int by_age(const void *a, const void *b) {
  const uint32_t x = (*(const Node *const *)a)->out[0]->id, y = (*(const Node *const *)b)->out[0]->id;
  return x < y ? -1 : x > y;
}

/* Into ret[MAX_VISITS]: n and the nodes ahead of it that have no steps, or are parts of the same ONNX node. */
static size_t visit(Origins *o, uint32_t step, const Node *n, const Node **ret) {
  const Str own = key_of(o->l, n->src);
  size_t done = 0, found = 0;
  for (ret[found++] = n; done < found; done++) {
    for (uint32_t k = 0; k < ret[done]->n_in && found < MAX_VISITS; k++) {
      const Node *before = ret[done]->in[k] ? ret[done]->in[k]->def : NULL;
      if (!before || !before->src.has_node || !before->out[0] || o->seen_by[before->out[0]->id] == step) continue;
      const Str key = key_of(o->l, before->src);
      if (map_get(&o->has_step, key) && !str_eq(key, own)) continue;
      o->seen_by[before->out[0]->id] = step;
      ret[found++] = before;
    }
  }
  return found;
}

static void name_step(Origins *o, Step *s, uint32_t step, const Node *n) {
  const Node *found[MAX_VISITS];
  const size_t n_found = visit(o, step, n, found);
  Map keys = map_new(o->l->a);
  VEC(DiagPlace) with = {0};
  map_put(&keys, key_of(o->l, n->src), s);
  qsort(found, n_found, sizeof *found, by_age);
  for (size_t i = 0; i < n_found; i++) {
    const Str key = key_of(o->l, found[i]->src);
    if (map_has(&keys, key)) continue;
    map_put(&keys, key, s);
    vec_push(o->l->a, with, found[i]->src);
  }
  s->with = with.data;
  s->n_with = (uint32_t)with.n;
}

void lower_name_origins(Lower *l) {
  Origins o = {.l = l, .of_node = map_new(l->a), .has_step = map_new(l->a), .seen_by = NEW_ARRAY(l->a, uint32_t, l->ir->n_values)};
  add_nodes(&o, l->ir->main);
  for (size_t i = 0; i < l->p->main.steps.n; i++)
    if (l->p->main.steps.data[i].src.has_node) map_put(&o.has_step, key_of(l, l->p->main.steps.data[i].src), &l->p->main.steps.data[i]);
  for (size_t i = 0; i < l->p->main.steps.n; i++) {
    Step *s = &l->p->main.steps.data[i];
    const Node *n = s->src.has_node ? map_get(&o.of_node, key_of(l, s->src)) : NULL;
    if (n) name_step(&o, s, (uint32_t)i + 1, n);
  }
}
