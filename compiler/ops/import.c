/* The importer: names, scopes and order of ONNX graphs; nodes by their rows, functions by inlining. */
#include "ops/import_private.h"

Str canonical_domain(Str domain) { return str_is(domain, "ai.onnx") ? (Str){"", 0} : domain; }

static DiagPlace place_of(const Importer *im, const OnnxNode *n, size_t index) {
  return (DiagPlace){.file = str_c(im->opt->path), .has_node = true, .node = index, .node_name = n->name, .op_type = n->op_type, .domain = n->domain};
}

static DiagPlace file_place(const Importer *im) { return (DiagPlace){.file = str_c(im->opt->path)}; }

/* ---- rows ---- */
static Str row_key(Arena *a, Str domain, Str type) {
  StrBuf b = sb_new(a);
  sb_str(&b, domain);
  sb_putc(&b, '\n');
  sb_str(&b, type);
  return sb_view(&b);
}

static void index_rows(Importer *im) {
  im->rows = map_new(im->a);
  for (size_t i = 0; i < n_onnx_op_rows; i++) {
    const OnnxOpRow *row = &onnx_op_rows[i];
    Str key = row_key(im->a, str_c(row->domain), str_c(row->type));
    RowList *l = map_get(&im->rows, key);
    if (!l) map_put(&im->rows, key, l = NEW(im->a, RowList));
    vec_push(im->a, l->rows, row);
  }
}

const OnnxOpRow *import_find_row(Importer *im, Str domain, Str type, int version, bool *ret_known) {
  RowList *l = map_get(&im->rows, row_key(im->a, canonical_domain(domain), type));
  *ret_known = l != NULL;
  for (size_t i = 0; l && i < l->rows.n; i++)
    if (l->rows.data[i]->since <= version && version <= l->rows.data[i]->until) return l->rows.data[i];
  return NULL;
}

/* The version imported for a domain; one that is not imported is read as its latest. */
static int opset_version(const Importer *im, Str domain) {
  for (size_t i = 0; i < im->frame->n_opsets; i++)
    if (str_eq(canonical_domain(im->frame->opsets[i].domain), canonical_domain(domain))) {
      int64_t v = im->frame->opsets[i].version;
      return v < 1 ? 1 : v > 999 ? 999 : (int)v;
    }
  return 999;
}

/* ---- scopes ---- */
Binding *scope_find(const Scope *s, Str name) {
  for (; s; s = s->parent) {
    Binding *b = map_get(&s->names, name);
    if (b) return b;
  }
  return NULL;
}

void scope_bind(Importer *im, Str name, Value *v) {
  Binding *b = NEW(im->a, Binding);
  b->value = v;
  map_put(&im->scope->names, name, b);
}

/* ---- constants, types ---- */
Value *importer_constant(Importer *im, const OnnxTensor *t) {
  DType dtype = dtype_from_onnx(t->data_type);
  if (t->n_dims > MAX_RANK) {
    (void)diag_add(im->diags, DIAG_E0402, file_place(im), "tensor %s has rank %zu, more than %d", diag_quote(im->diags, t->name), t->n_dims, MAX_RANK);
    return NULL;
  }
  const Dim *dims[MAX_RANK];
  for (size_t i = 0; i < t->n_dims; i++) dims[i] = dim_const(im->ir->dims, t->dims[i]);
  Tensor *data = NEW(im->a, Tensor);
  *data = (Tensor){dtype, t->n_elements, t->data, t->data_bytes, t->strings};
  return ir_add_const(im->ir, type_tensor(im->ir, dtype, (uint32_t)t->n_dims, dims), data, t->name);
}

Value *op_constant(OpContext *c, const OnnxTensor *t) { return importer_constant(c->importer, t); }

static const Dim *import_dim(Importer *im, const OnnxDim *d, Str name, size_t axis) {
  if (d->kind == ONNX_DIM_VALUE && d->value >= 0) return dim_const(im->ir->dims, d->value);
  Str symbol = d->kind == ONNX_DIM_PARAM && d->param.len ? d->param : (Str){0};
  if (!symbol.len) {
    StrBuf b = sb_new(im->a);
    sb_str(&b, name);
    sb_printf(&b, "_d%zu", axis);
    symbol = sb_view(&b);
  }
  int64_t lo = 1, hi = INT32_MAX;
  for (size_t i = 0; i < im->opt->n_dims; i++)
    if (str_eq(im->opt->dims[i].name, symbol)) lo = im->opt->dims[i].lo, hi = im->opt->dims[i].hi;
  if (lo == hi) return dim_const(im->ir->dims, lo);
  return dim_symbol(im->ir->dims, symbol, lo, hi, DIM_FROM_INPUT);
}

static bool bad_type(Importer *im, Str name, const char *what) {
  (void)diag_add(im->diags, DIAG_E0204, file_place(im), "value %s: %s", diag_quote(im->diags, name), what);
  return false;
}

bool import_type(Importer *im, const OnnxType *t, Str name, Type *ret) {
  if (!t) return bad_type(im, name, "its type is missing");
  Type *elem = NULL;
  switch (t->kind) {
    case ONNX_TYPE_TENSOR: {
      DType dtype = dtype_from_onnx(t->elem_type);
      const Dim *dims[MAX_RANK];
      if (dtype == DT_NONE) return bad_type(im, name, "its element type is unknown");
      if (!t->has_shape) return bad_type(im, name, "its shape is missing");
      if (t->n_dims > MAX_RANK) return bad_type(im, name, "its rank is over 16");
      for (size_t i = 0; i < t->n_dims; i++) dims[i] = import_dim(im, &t->dims[i], name, i);
      *ret = type_tensor(im->ir, dtype, (uint32_t)t->n_dims, dims);
      return true;
    }
    case ONNX_TYPE_SEQUENCE:
    case ONNX_TYPE_OPTIONAL:
      elem = NEW(im->a, Type);
      if (!import_type(im, t->elem, name, elem)) return false;
      *ret = (Type){.kind = t->kind == ONNX_TYPE_SEQUENCE ? TYPE_SEQUENCE : TYPE_OPTIONAL, .elem = elem};
      return true;
    default: return bad_type(im, name, "values of its kind are not compiled by this version");
  }
}

/* ---- operators that are missing: each once, with a count ---- */
static void report_missing(Importer *im, DiagPlace place, DiagCode code, int version, const char *why) {
  StrBuf key = sb_new(im->a);
  sb_str(&key, canonical_domain(place.domain));
  sb_putc(&key, '\n');
  sb_str(&key, place.op_type);
  sb_printf(&key, "\n%d", version);
  Missing *m = map_get(&im->missing, sb_view(&key));
  if (!m) {
    m = NEW(im->a, Missing);
    *m = (Missing){code, place, arena_printf(im->a, why, version), 0};
    map_put(&im->missing, sb_view(&key), m);
  }
  m->count++;
}

static void flush_missing(Importer *im) {
  for (size_t i = 0; i < im->missing.entries.n; i++) {
    const Missing *m = im->missing.entries.data[i].value;
    if (m->count == 1) (void)diag_add(im->diags, m->code, m->place, "%s", m->text.ptr);
    else (void)diag_add(im->diags, m->code, m->place, "%s (%zu nodes)", m->text.ptr, m->count);
  }
}

/* ---- nodes ---- */
static bool is_custom(const Importer *im, const OnnxNode *n, Str *ret_symbol) {
  for (size_t i = 0; i < im->opt->n_ops; i++)
    if (str_eq(canonical_domain(im->opt->ops[i].domain), canonical_domain(n->domain)) && str_eq(im->opt->ops[i].type, n->op_type)) {
      *ret_symbol = im->opt->ops[i].symbol;
      return true;
    }
  return false;
}

static void poison_outputs(Importer *im, const OnnxNode *n) {
  for (size_t i = 0; i < n->n_outputs; i++)
    if (n->outputs[i].len) scope_bind(im, n->outputs[i], NULL);
}

/* The node's operands; false when one is missing or its producer failed. */
static bool find_inputs(Importer *im, const OnnxNode *n, DiagPlace place, Value **in) {
  bool ok = true;
  for (size_t k = 0; k < n->n_inputs; k++) {
    if (!n->inputs[k].len) continue;
    Binding *b = scope_find(im->scope, n->inputs[k]);
    if (!b) {
      (void)diag_add(im->diags, DIAG_E0201, place, "input %zu, %s, is defined nowhere", k, diag_quote(im->diags, n->inputs[k]));
      scope_bind(im, n->inputs[k], NULL);
    }
    if (!b || !b->value) ok = false;
    else in[k] = b->value;
  }
  return ok;
}

static bool bind_outputs(Importer *im, const OnnxNode *n, Value *const *out, DiagPlace place) {
  for (size_t i = 0; i < n->n_outputs; i++) {
    if (!n->outputs[i].len) continue;
    if (!out[i]) {
      (void)diag_add(im->diags, DIAG_E0306, place, "output %zu is not compiled by this version", i);
      scope_bind(im, n->outputs[i], NULL);
      continue;
    }
    if (!out[i]->name.len && !out[i]->data) out[i]->name = n->outputs[i];
    scope_bind(im, n->outputs[i], out[i]);
  }
  return true;
}

static bool import_by_row(Importer *im, const OnnxNode *n, const OnnxOpRow *row, DiagPlace place, Value **in) {
  OpContext c = {.b = {im->ir, im->graph, place}, .row = row, .node = n, .version = opset_version(im, n->domain), .in = in,
                 .n_in = n->n_inputs, .n_out = n->n_outputs, .importer = im};
  c.out = NEW_ARRAY(im->a, Value *, n->n_outputs + 4);
  c.attrs = import_attrs(im, n, &c.n_attrs);
  while (c.n_in && !n->inputs[c.n_in - 1].len) c.n_in--; /* trailing left-out inputs count for nothing */
  while (c.n_out && !n->outputs[c.n_out - 1].len) c.n_out--;
  size_t before = im->diags->list.n + im->diags->n_dropped;
  if (!import_check(&c) || !row->import(&c)) {
    if (before == im->diags->list.n + im->diags->n_dropped)
      (void)diag_add(im->diags, DIAG_E0901, place, "the import function failed without a reason");
    return false;
  }
  return bind_outputs(im, n, c.out, place);
}

static const OnnxFunction *find_function(Importer *im, const OnnxNode *n) {
  StrBuf key = sb_new(im->a);
  sb_str(&key, canonical_domain(n->domain));
  sb_putc(&key, '\n');
  sb_str(&key, n->op_type);
  sb_putc(&key, '\n');
  sb_str(&key, n->overload);
  return map_get(&im->functions, sb_view(&key));
}

bool import_node(Importer *im, const OnnxNode *n, size_t index) {
  DiagPlace place = place_of(im, n, index);
  if (++im->n_nodes > MAX_NODES) {
    (void)diag_add(im->diags, DIAG_E0502, place, "more than %d nodes after inlining", MAX_NODES);
    im->gave_up = true;
    return false;
  }
  Value **in = NEW_ARRAY(im->a, Value *, n->n_inputs + 16);
  bool have = find_inputs(im, n, place, in);
  const OnnxFunction *f = find_function(im, n);
  bool known = false, ok = false;
  int version = opset_version(im, n->domain);
  Str symbol;
  const OnnxOpRow *row = f ? NULL : import_find_row(im, n->domain, n->op_type, version, &known);
  if (is_custom(im, n, &symbol)) (void)diag_add(im->diags, DIAG_E0306, place, "custom operators are not compiled by this version");
  else if (!f && !row) report_missing(im, place, known ? DIAG_E0302 : DIAG_E0303, version, known ? "not compiled at opset version %d" : "not compiled by this version");
  else if (have && f) ok = import_call(im, f, n, place);
  else if (have) ok = import_by_row(im, n, row, place, in);
  if (!ok) poison_outputs(im, n);
  return ok;
}

/* ---- functions ---- */
static bool function_active(const Frame *frame, const OnnxFunction *f) {
  for (; frame; frame = frame->parent)
    if (frame->function == f) return true;
  return false;
}

/* The callee's attributes: the caller's, or their defaults. */
static void bind_attrs(Importer *im, const OnnxFunction *f, const OnnxNode *n, Frame *callee) {
  size_t n_actual;
  const OnnxAttr *actual = import_attrs(im, n, &n_actual);
  OnnxAttr *out = NEW_ARRAY(im->a, OnnxAttr, n_actual + f->n_attribute_protos);
  memcpy(out, actual, n_actual * sizeof *out);
  callee->n_attrs = n_actual;
  for (size_t i = 0; i < f->n_attribute_protos; i++) {
    bool given = false;
    for (size_t k = 0; k < n_actual; k++) given = given || str_eq(actual[k].name, f->attribute_protos[i].name);
    if (!given) out[callee->n_attrs++] = f->attribute_protos[i];
  }
  callee->attrs = out;
}

static bool import_nodes(Importer *im, const OnnxNode *nodes, size_t n);

bool import_call(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place) {
  if (function_active(im->frame, f)) return diag_add(im->diags, DIAG_E0205, place, "the function calls itself"), false;
  if (im->frame->depth >= MAX_CALL_DEPTH) return diag_add(im->diags, DIAG_E0502, place, "functions call each other more than %d deep", MAX_CALL_DEPTH), im->gave_up = true, false;
  if (n->n_inputs > f->n_inputs || n->n_outputs > f->n_outputs) return diag_add(im->diags, DIAG_E0205, place, "called with %zu inputs and %zu outputs, the function has %zu and %zu", n->n_inputs, n->n_outputs, f->n_inputs, f->n_outputs), false;
  Frame callee = {.parent = im->frame, .function = f, .opsets = f->opsets, .n_opsets = f->n_opsets, .depth = im->frame->depth + 1};
  Scope inner = {.names = map_new(im->a)}, *outer = im->scope;
  bind_attrs(im, f, n, &callee);
  for (size_t k = 0; k < f->n_inputs; k++) {
    if (k >= n->n_inputs || !n->inputs[k].len) continue; /* left out: its uses read as left out */
    Binding *b = scope_find(outer, n->inputs[k]);
    map_put(&inner.names, f->inputs[k], b);
  }
  Frame *frame = im->frame;
  im->frame = &callee;
  im->scope = &inner;
  bool ok = import_nodes(im, f->nodes, f->n_nodes);
  im->frame = frame;
  im->scope = outer;
  for (size_t k = 0; k < n->n_outputs; k++) {
    if (!n->outputs[k].len) continue;
    Binding *b = map_get(&inner.names, f->outputs[k]);
    if (!b) ok = (diag_add(im->diags, DIAG_E0201, place, "output %zu of the function is defined nowhere", k), false);
    scope_bind(im, n->outputs[k], b ? b->value : NULL);
    ok = ok && b && b->value;
  }
  return ok;
}

/* ---- order: depth-first from the file's order, so that a sorted file keeps it; captured names of bodies count as reads ------------ */
typedef struct StrVec { VEC(Str) list; } StrVec;

typedef struct Sorter {
  Importer *im;
  const OnnxNode *nodes;
  size_t n;
  Map producer;      /* name -> node index + 1 */
  uint8_t *state;    /* 0 new, 1 open, 2 done */
  VEC(size_t) order;
  VEC(size_t) stack;
  StrVec *reads;     /* by node, captured names included */
} Sorter;

/* Names that a body reads from outside: those that it does not define itself. */
static void captured_names(Sorter *s, const OnnxGraph *g, StrVec *reads, unsigned depth) {
  Map own = map_new(s->im->a);
  StrVec inner = {0};
  for (size_t i = 0; i < g->n_inputs; i++) map_put(&own, g->inputs[i].name, NULL);
  for (size_t i = 0; i < g->n_initializers; i++) map_put(&own, g->initializers[i].name, NULL);
  for (size_t i = 0; i < g->n_nodes; i++) {
    const OnnxNode *n = &g->nodes[i];
    for (size_t k = 0; k < n->n_outputs; k++) map_put(&own, n->outputs[k], NULL);
    for (size_t k = 0; k < n->n_inputs; k++) vec_push(s->im->a, inner.list, n->inputs[k]);
    for (size_t k = 0; k < n->n_attrs && depth < MAX_GRAPH_DEPTH; k++)
      if (n->attrs[k].g) captured_names(s, n->attrs[k].g, &inner, depth + 1);
  }
  for (size_t i = 0; i < g->n_outputs; i++) vec_push(s->im->a, inner.list, g->outputs[i].name);
  for (size_t i = 0; i < inner.list.n; i++)
    if (!map_has(&own, inner.list.data[i])) vec_push(s->im->a, reads->list, inner.list.data[i]);
}

static void sorter_reads(Sorter *s, size_t i) {
  const OnnxNode *n = &s->nodes[i];
  for (size_t k = 0; k < n->n_inputs; k++) vec_push(s->im->a, s->reads[i].list, n->inputs[k]);
  for (size_t k = 0; k < n->n_attrs; k++)
    if (n->attrs[k].g) captured_names(s, n->attrs[k].g, &s->reads[i], 0);
}

/* True when every producer that i reads is done; else pushes the missing ones. */
static bool sorter_ready(Sorter *s, size_t i, bool *ret_cycle) {
  size_t before = s->stack.n;
  for (size_t k = s->reads[i].list.n; k-- > 0;) {
    uintptr_t p = (uintptr_t)map_get(&s->producer, s->reads[i].list.data[k]);
    if (!p || p - 1 == i) {
      *ret_cycle |= p - 1 == i;
      continue;
    }
    if (s->state[p - 1] == 1) *ret_cycle = true;
    if (s->state[p - 1] == 0) vec_push(s->im->a, s->stack, p - 1);
  }
  return s->stack.n == before;
}

static bool sort_nodes(Sorter *s) {
  for (size_t i = 0; i < s->n; i++) {
    if (s->state[i]) continue;
    vec_push(s->im->a, s->stack, i);
    while (s->stack.n) {
      size_t at = s->stack.data[s->stack.n - 1];
      bool cycle = false;
      if (s->state[at] == 2) {
        s->stack.n--;
        continue;
      }
      s->state[at] = 1;
      bool ready = sorter_ready(s, at, &cycle);
      if (cycle) {
        (void)diag_add(s->im->diags, DIAG_E0203, place_of(s->im, &s->nodes[at], at), "the node depends on its own result");
        return false;
      }
      if (!ready) continue;
      s->state[at] = 2;
      vec_push(s->im->a, s->order, at);
      s->stack.n--;
    }
  }
  return true;
}

/* Two Constant nodes of the same tensor. */
static bool same_constant(const OnnxNode *a, const OnnxNode *b) {
  if (!str_is(a->op_type, "Constant") || !str_is(b->op_type, "Constant") || a->n_attrs != 1 || b->n_attrs != 1) return false;
  const OnnxTensor *x = a->attrs[0].t, *y = b->attrs[0].t;
  return x && y && x->data_type == y->data_type && x->n_dims == y->n_dims && x->data_bytes == y->data_bytes && !x->strings && !y->strings &&
         (x->n_dims == 0 || memcmp(x->dims, y->dims, x->n_dims * sizeof *x->dims) == 0) &&
         (x->data_bytes == 0 || memcmp(x->data, y->data, x->data_bytes) == 0);
}

static bool import_nodes(Importer *im, const OnnxNode *nodes, size_t n) {
  Sorter s = {.im = im, .nodes = nodes, .n = n, .producer = map_new(im->a), .state = NEW_ARRAY(im->a, uint8_t, n)};
  s.reads = NEW_ARRAY(im->a, StrVec, n);
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    sorter_reads(&s, i);
    for (size_t k = 0; k < nodes[i].n_outputs; k++) {
      Str name = nodes[i].outputs[k];
      if (!name.len) continue;
      size_t first = (uintptr_t)map_get(&s.producer, name);
      if (first && same_constant(&nodes[first - 1], &nodes[i])) {
        s.state[i] = 2; /* a copy that exporters leave: the first one serves */
        continue;
      }
      if (first || map_has(&im->scope->names, name))
        ok = (diag_add(im->diags, DIAG_E0202, place_of(im, &nodes[i], i), "%s is defined twice", diag_quote(im->diags, name)), false);
      map_put(&s.producer, name, (void *)(uintptr_t)(i + 1));
    }
  }
  if (!ok || !sort_nodes(&s)) return false;
  for (size_t i = 0; i < s.order.n && !im->gave_up; i++) ok = import_node(im, &nodes[s.order.data[i]], s.order.data[i]) && ok;
  return ok && !im->gave_up;
}

/* ---- graphs ---- */
static bool import_initializers(Importer *im, const OnnxGraph *g) {
  bool ok = true;
  for (size_t i = 0; i < g->n_initializers; i++) {
    const OnnxTensor *t = &g->initializers[i];
    if (map_has(&im->scope->names, t->name)) {
      ok = (diag_add(im->diags, DIAG_E0202, file_place(im), "initializer %s is defined twice", diag_quote(im->diags, t->name)), false);
      continue;
    }
    Value *v = importer_constant(im, t);
    ok = ok && v;
    scope_bind(im, t->name, v);
  }
  if (g->n_sparse_initializers) ok = (diag_add(im->diags, DIAG_E0306, file_place(im), "sparse initializers are not compiled by this version"), false);
  return ok;
}

static bool import_outputs(Importer *im, const OnnxGraph *g, Graph *into) {
  bool ok = true;
  for (size_t i = 0; i < g->n_outputs; i++) {
    Str name = g->outputs[i].name;
    Binding *b = scope_find(im->scope, name);
    for (size_t k = 0; k < i && !im->depth; k++)
      if (str_eq(g->outputs[k].name, name)) ok = (diag_add(im->diags, DIAG_E0204, file_place(im), "output %s is listed twice", diag_quote(im->diags, name)), false);
    if (!b) ok = (diag_add(im->diags, DIAG_E0201, file_place(im), "graph output %s is defined nowhere", diag_quote(im->diags, name)), false);
    if (!b || !b->value) ok = false;
    else vec_push(im->a, into->outputs, b->value);
  }
  return ok;
}

static bool import_inputs(Importer *im, const OnnxGraph *g, Graph *into) {
  bool ok = true;
  for (size_t i = 0; i < g->n_inputs; i++) {
    Str name = g->inputs[i].name;
    Type type;
    Binding *b = map_get(&im->scope->names, name);
    if (b && b->value && b->value->data) continue; /* an initializer: a default that nothing overrides */
    if (b) {
      ok = (diag_add(im->diags, DIAG_E0204, file_place(im), "input %s is listed twice", diag_quote(im->diags, name)), false);
      continue;
    }
    bool typed = import_type(im, g->inputs[i].type, name, &type);
    Value *v = typed ? graph_add_value(into, type, name) : NULL;
    if (v) vec_push(im->a, into->inputs, v);
    scope_bind(im, name, v);
    ok = ok && typed;
  }
  return ok;
}

Graph *op_subgraph(OpContext *c, const OnnxGraph *g, const Type *input_types, size_t n_inputs) {
  Importer *im = c->importer;
  if (im->depth >= MAX_GRAPH_DEPTH) return op_fail(c, DIAG_E0502, "graphs are nested more than %d deep", MAX_GRAPH_DEPTH), NULL;
  if (g->n_inputs != n_inputs) return op_fail(c, DIAG_E0305, "the body has %zu inputs, %zu are given", g->n_inputs, n_inputs), NULL;
  Graph *into = graph_new(im->ir, im->graph), *outer_graph = im->graph;
  Scope inner = {.parent = im->scope, .names = map_new(im->a)}, *outer = im->scope;
  im->scope = &inner;
  im->graph = into;
  im->depth++;
  for (size_t i = 0; i < n_inputs; i++) {
    Value *v = graph_add_value(into, input_types[i], g->inputs[i].name);
    vec_push(im->a, into->inputs, v);
    scope_bind(im, g->inputs[i].name, v);
  }
  bool ok = import_initializers(im, g) && import_nodes(im, g->nodes, g->n_nodes) && import_outputs(im, g, into);
  im->scope = outer;
  im->graph = outer_graph;
  im->depth--;
  return ok ? into : NULL;
}

static bool index_functions(Importer *im) {
  bool ok = true;
  im->functions = map_new(im->a);
  for (size_t i = 0; i < im->model->n_functions; i++) {
    const OnnxFunction *f = &im->model->functions[i];
    StrBuf key = sb_new(im->a);
    sb_str(&key, canonical_domain(f->domain));
    sb_putc(&key, '\n');
    sb_str(&key, f->name);
    sb_putc(&key, '\n');
    sb_str(&key, f->overload);
    if (map_has(&im->functions, sb_view(&key))) ok = (diag_add(im->diags, DIAG_E0205, file_place(im), "function %s is defined twice", diag_quote(im->diags, f->name)), false);
    map_put(&im->functions, sb_view(&key), (void *)(uintptr_t)f);
  }
  return ok;
}

Ir *import_model(Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *opt) {
  Importer *im = NEW(a, Importer);
  *im = (Importer){.a = a, .ir = ir_new(a, d), .diags = d, .model = m, .opt = opt, .missing = map_new(a)};
  Scope scope = {.names = map_new(a)};
  Frame frame = {.opsets = m->opsets, .n_opsets = m->n_opsets};
  im->graph = im->ir->main;
  im->scope = &scope;
  im->frame = &frame;
  index_rows(im);
  bool ok = index_functions(im);
  if (!m->graph) return diag_add(d, DIAG_E0101, file_place(im), "the model has no graph"), NULL;
  ok = import_initializers(im, m->graph) && ok;
  ok = import_inputs(im, m->graph, im->graph) && ok;
  ok = import_nodes(im, m->graph->nodes, m->graph->n_nodes) && ok;
  ok = import_outputs(im, m->graph, im->graph) && ok;
  flush_missing(im);
  return ok && !diags_any(d) ? im->ir : NULL;
}
