/* Which nodes a step computes: the one that it is named after and those, ahead of it, whose results are never stored. */
#include "lower/lower_private.h"

#include <stdlib.h>

enum { MAX_VISITS = 256, MAX_NAMED = 24 }; /* of a step: what is beyond is not looked at, not named */

typedef struct Origins {
  Arena *a; /* scratch */
  Map by_key;          /* key of an ONNX node -> its number + 1 */
  VEC(const Node *) last; /* by number: what it was decomposed to, the last of it */
  VEC(bool) has_step;  /* by number */
  uint32_t *number;    /* by value id: that of the value's node, + 1; 0: none */
  uint32_t *seen_by;   /* by value id: the step, counted from 1, that its node was last visited for */
} Origins;

/* What one ONNX node was decomposed to has one number. 0: it has none, and shall not get one. */
static uint32_t number_of(Origins *o, DiagPlace p, bool add) {
  const Str key = arena_printf(o->a, "%zu %.*s %.*s", p.node, STR_ARG(p.op_type), STR_ARG(p.node_name));
  const uintptr_t known = (uintptr_t)map_get(&o->by_key, key);
  if (known || !add) return (uint32_t)known;
  vec_push(o->a, o->last, (const Node *)NULL);
  vec_push(o->a, o->has_step, false);
  map_put(&o->by_key, key, (void *)(uintptr_t)o->last.n);
  return (uint32_t)o->last.n;
}

static void add_nodes(Origins *o, const Graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    if (n->dead || !n->src.has_node || !n->n_out || !n->out[0]) continue;
    const uint32_t number = o->number[n->out[0]->id] = number_of(o, n->src, true);
    o->last.data[number - 1] = n;
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
  const uint32_t own = o->number[n->out[0]->id];
  size_t found = 0;
  ret[found++] = n;
  for (size_t done = 0; done < found; done++) {
    for (uint32_t k = 0; k < ret[done]->n_in && found < MAX_VISITS; k++) {
      const Node *before = ret[done]->in[k] ? ret[done]->in[k]->def : NULL;
      const uint32_t number = before && before->n_out && before->out[0] ? o->number[before->out[0]->id] : 0;
      if (!number || o->seen_by[before->out[0]->id] == step || (o->has_step.data[number - 1] && number != own)) continue;
      o->seen_by[before->out[0]->id] = step;
      ret[found++] = before;
    }
  }
  return found;
}

static void name_step(Origins *o, Arena *a, Step *s, uint32_t step, const Node *n) {
  const Node *found[MAX_VISITS];
  uint32_t named[MAX_NAMED + 1] = {o->number[n->out[0]->id]}, n_named = 1;
  const size_t n_found = visit(o, step, n, found);
  if (n_found == 1) return;
  DiagPlace with[MAX_NAMED];
  qsort(found, n_found, sizeof *found, by_age);
  for (size_t i = 0; i < n_found && n_named <= MAX_NAMED; i++) {
    const uint32_t number = o->number[found[i]->out[0]->id];
    uint32_t k = 0;
    while (k < n_named && named[k] != number) k++;
    if (k < n_named) continue;
    named[n_named++] = number;
    with[s->n_with++] = found[i]->src;
  }
  s->with = arena_dup(a, with, s->n_with * sizeof *with);
}

void lower_name_origins(Lower *l) {
  Arena *scratch = arena_new(arena_door(l->a), 0);
  Origins o = {.a = scratch, .by_key = map_new(scratch), .number = NEW_ARRAY(scratch, uint32_t, l->ir->n_values), .seen_by = NEW_ARRAY(scratch, uint32_t, l->ir->n_values)};
  const size_t n = l->p->main.steps.n;
  uint32_t *of_step = NEW_ARRAY(scratch, uint32_t, n);
  add_nodes(&o, l->ir->main);
  for (size_t i = 0; i < n; i++) {
    const DiagPlace src = l->p->main.steps.data[i].src;
    of_step[i] = src.has_node ? number_of(&o, src, false) : 0;
    if (of_step[i]) o.has_step.data[of_step[i] - 1] = true;
  }
  for (size_t i = 0; i < n; i++)
    if (of_step[i]) name_step(&o, l->a, &l->p->main.steps.data[i], (uint32_t)i + 1, o.last.data[of_step[i] - 1]);
  arena_free(scratch);
}
