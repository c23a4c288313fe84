/* What the plan is measured against: the memory that the nodes would need one by one, in the file's order. Each result is a
 * buffer of its own from its node to the last that reads it; inputs and outputs of the model are the caller's, what only
 * constants go into is one. */
#include "ops/import_private.h"

enum { ALIGN = 64 };

typedef struct Held {
  size_t first, last; /* places in the order */
  size_t bytes;
  bool constant, output;
} Held;

typedef struct Peak {
  Importer *im;
  Arena *a; /* for itself */
  Map held; /* address of a value -> Held */
  VEC(Held *) all;
  size_t at;
  bool known; /* every size has a bound */
} Peak;

static Str key_of(Value *const *v) { return (Str){(const char *)v, sizeof *v}; }

static Value *value_named(const Peak *p, Str name) {
  const Binding *b = name.len ? map_get(&p->im->scope->names, name) : NULL;
  return b ? b->value : NULL;
}

static void see_symbol(void *user, const Dim *symbol) {
  bool *known = user;
  if (symbol->hi >= INT32_MAX) *known = false; /* not bounded */
}

static size_t bytes_of(Peak *p, const Value *v) {
  DimCtx *d = p->im->ir->dims;
  if (v->type.kind != TYPE_TENSOR) return p->known = false, 0;
  const Dim *count = dim_upper(d, type_count(p->im->ir, &v->type));
  size_t bits, bytes;
  int64_t n = count->hi;
  dim_each_symbol(count, see_symbol, &p->known);
  if (n >= INT64_MAX / 16 || !size_mul((size_t)n, dtype_rows[v->type.dtype].bits, &bits) || !size_add(bits / 8, ALIGN, &bytes)) return p->known = false, 0;
  return bytes / ALIGN * ALIGN;
}

/* A value read: what this body or this node takes from the graph. True if it is constant. */
static bool read_value(Peak *p, Str name) {
  Value *v = value_named(p, name);
  if (!v || v->data) return true;
  Held *h = map_get(&p->held, key_of(&v));
  if (!h) return false; /* an input of the model */
  h->last = p->at;
  return h->constant;
}

static bool read_body(Peak *p, const OnnxGraph *g, unsigned depth) {
  bool constant = true;
  for (size_t i = 0; i < g->n_nodes; i++) {
    const OnnxNode *n = &g->nodes[i];
    for (size_t k = 0; k < n->n_inputs; k++) constant = read_value(p, n->inputs[k]) && constant;
    for (size_t k = 0; k < n->n_attrs && depth < MAX_GRAPH_DEPTH; k++)
      if (n->attrs[k].g) constant = read_body(p, n->attrs[k].g, depth + 1) && constant;
  }
  for (size_t k = 0; k < g->n_outputs; k++) constant = read_value(p, g->outputs[k].name) && constant;
  return constant;
}

static void see_node(Peak *p, const OnnxNode *n) {
  bool constant = n->n_inputs > 0;
  for (size_t k = 0; k < n->n_inputs; k++) constant = read_value(p, n->inputs[k]) && constant;
  for (size_t k = 0; k < n->n_attrs; k++)
    if (n->attrs[k].g) constant = read_body(p, n->attrs[k].g, 1) && constant;
  for (size_t k = 0; k < n->n_outputs; k++) {
    Value *v = value_named(p, n->outputs[k]);
    if (!v || v->data || map_has(&p->held, key_of(&v))) continue;
    Value **key = arena_dup(p->a, &v, sizeof v);
    Held *h = NEW(p->a, Held);
    *h = (Held){.first = p->at, .last = p->at, .constant = constant};
    h->bytes = constant ? 0 : bytes_of(p, v);
    map_put(&p->held, key_of(key), h);
    vec_push(p->a, p->all, h);
  }
}

size_t import_file_order_peak(Importer *im, const OnnxGraph *g) {
  Arena *a = arena_new(arena_door(im->a), 0);
  Peak p = {.im = im, .a = a, .held = map_new(a), .known = true};
  const NodeOrder *order = import_order(im, g->nodes, g->n_nodes);
  for (; p.at < order->n; p.at++) see_node(&p, &g->nodes[order->nodes[p.at]]);
  for (size_t i = 0; i < g->n_outputs; i++) {
    Value *v = value_named(&p, g->outputs[i].name);
    Held *h = v ? map_get(&p.held, key_of(&v)) : NULL;
    if (h) h->output = true;
  }
  size_t *born = NEW_ARRAY(a, size_t, order->n + 1), *gone = NEW_ARRAY(a, size_t, order->n + 1), live = 0, peak = 0;
  for (size_t i = 0; i < p.all.n; i++) {
    const Held *h = p.all.data[i];
    if (h->output || h->constant) continue;
    p.known = p.known && size_add(born[h->first], h->bytes, &born[h->first]);
    gone[h->last] += h->bytes;
  }
  for (size_t i = 0; i < order->n && p.known; i++) {
    p.known = size_add(live, born[i], &live);
    if (live > peak) peak = live;
    live -= gone[i];
  }
  arena_free(a);
  return p.known ? peak : 0;
}
