/* The order of a graph's nodes: depth-first from the file's order, so that a sorted file keeps it. The names that a node's
 * bodies capture count as reads of the node. */
#include "ops/import_private.h"

typedef struct Sorter {
  Importer *im;
  const OnnxNode *nodes;
  size_t n;
  Map producer;   /* name -> node index + 1 */
  uint8_t *state; /* 0 new, 1 open: an ancestor of what is visited, 2 done */
  size_t *order;
  size_t n_order;
  VEC(size_t) stack;
  size_t at;      /* the node whose reads are visited */
  bool cycle;
} Sorter;

/* Names that a body defines itself: they hide those of the graph around it. */
typedef struct Locals {
  const struct Locals *parent;
  const Map *names;
} Locals;

static const Map *local_names(Importer *im, const OnnxGraph *g) {
  uintptr_t address = (uintptr_t)g;
  Str key = {(const char *)&address, sizeof address};
  Map *m = map_get(&im->locals, key);
  if (m) return m;
  m = NEW(im->a, Map);
  *m = map_new(im->a);
  for (size_t i = 0; i < g->n_inputs; i++) map_put(m, g->inputs[i].name, m);
  for (size_t i = 0; i < g->n_initializers; i++) map_put(m, g->initializers[i].name, m);
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t k = 0; k < g->nodes[i].n_outputs; k++) map_put(m, g->nodes[i].outputs[k], m);
  map_put(&im->locals, arena_str(im->a, key), m);
  return m;
}

/* Pushes the producer of a name unless it is done; an open one closes a circle. */
static void visit_read(Sorter *s, Str name, const Locals *l) {
  for (; l; l = l->parent)
    if (map_has(l->names, name)) return;
  uintptr_t p = name.len ? (uintptr_t)map_get(&s->producer, name) : 0;
  if (!p || s->state[p - 1] == 2) return;
  if (s->state[p - 1] == 1) s->cycle = true;
  else vec_push(s->im->a, s->stack, p - 1);
}

static void visit_reads(Sorter *s, const OnnxNode *n, const Locals *outer, unsigned depth) {
  for (size_t k = n->n_inputs; k-- > 0;) visit_read(s, n->inputs[k], outer);
  for (size_t k = 0; str_is(n->op_type, "Gradient") && k < n->n_attrs; k++)
    if (str_is(n->attrs[k].name, "y")) visit_read(s, n->attrs[k].s, outer);
  for (size_t k = 0; k < n->n_attrs && depth < MAX_GRAPH_DEPTH; k++) {
    const OnnxGraph *g = n->attrs[k].g;
    if (!g) continue;
    Locals inner = {outer, local_names(s->im, g)};
    for (size_t i = 0; i < g->n_nodes; i++) visit_reads(s, &g->nodes[i], &inner, depth + 1);
    for (size_t i = 0; i < g->n_outputs; i++) visit_read(s, g->outputs[i].name, &inner);
  }
}

/* One step from the top of the stack: done, or what it reads goes first. */
static void sort_step(Sorter *s) {
  size_t at = s->stack.data[s->stack.n - 1], before = s->stack.n;
  if (s->state[at] != 2) {
    s->state[at] = 1;
    s->cycle = false;
    visit_reads(s, &s->nodes[at], NULL, 0);
    if (s->cycle) (void)diag_add(s->im->diags, DIAG_E0203, import_node_place(s->im, &s->nodes[at], at), "the node depends on its own result");
    if (!s->cycle && s->stack.n > before) return;
    s->stack.n = before;
    s->state[at] = 2;
    s->order[s->n_order++] = at;
  }
  s->stack.n--;
}

/* Tools that patch models add constants of names that exist: of two Constant nodes of one name the later one holds, as ONNX
 * Runtime has it. */
static bool both_constant(const OnnxNode *a, const OnnxNode *b) { return str_is(a->op_type, "Constant") && str_is(b->op_type, "Constant"); }

static bool index_producers(Sorter *s) {
  bool ok = true;
  s->producer = map_new(s->im->a);
  for (size_t i = 0; i < s->n; i++)
    for (size_t k = 0; k < s->nodes[i].n_outputs; k++) {
      Str name = s->nodes[i].outputs[k];
      uintptr_t earlier = name.len ? (uintptr_t)map_get(&s->producer, name) : 0;
      if (name.len) map_put(&s->producer, name, (void *)(uintptr_t)(i + 1));
      if (earlier && both_constant(&s->nodes[earlier - 1], &s->nodes[i])) {
        s->state[earlier - 1] = 2; /* left out of the order */
      } else if (earlier) {
        (void)diag_add(s->im->diags, DIAG_E0202, import_node_place(s->im, &s->nodes[i], i), "%s is defined twice", diag_quote(s->im->diags, name));
        ok = false;
      }
    }
  return ok;
}

const NodeOrder *import_order(Importer *im, const OnnxNode *nodes, size_t n) {
  uintptr_t address = (uintptr_t)nodes;
  Str key = {(const char *)&address, sizeof address};
  NodeOrder *o = map_get(&im->orders, key);
  if (o) return o;
  Sorter s = {.im = im, .nodes = nodes, .n = n, .state = NEW_ARRAY(im->a, uint8_t, n), .order = NEW_ARRAY(im->a, size_t, n)};
  size_t errors = im->diags->list.n + im->diags->n_dropped;
  o = NEW(im->a, NodeOrder);
  bool unique = index_producers(&s);
  for (size_t i = 0; unique && i < n; i++) {
    if (s.state[i]) continue;
    vec_push(im->a, s.stack, i);
    while (s.stack.n) sort_step(&s);
  }
  *o = (NodeOrder){errors == im->diags->list.n + im->diags->n_dropped, s.n_order, s.order};
  map_put(&im->orders, arena_str(im->a, key), o);
  return o;
}

/* ---- how much the file itself asks for ---- */
static size_t work_of(const OnnxNode *nodes, size_t n, unsigned depth) {
  size_t sum = n;
  for (size_t i = 0; i < n; i++) {
    sum += nodes[i].n_inputs + nodes[i].n_outputs + nodes[i].n_attrs;
    for (size_t k = 0; k < nodes[i].n_attrs && depth < MAX_GRAPH_DEPTH; k++)
      if (nodes[i].attrs[k].g) sum += work_of(nodes[i].attrs[k].g->nodes, nodes[i].attrs[k].g->n_nodes, depth + 1);
  }
  return sum;
}

size_t import_count_work(const OnnxModel *m) {
  size_t sum = work_of(m->graph->nodes, m->graph->n_nodes, 0);
  for (size_t i = 0; i < m->n_functions; i++) sum += work_of(m->functions[i].nodes, m->functions[i].n_nodes, 0);
  return sum;
}
