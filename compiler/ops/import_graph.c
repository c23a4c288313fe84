/* Graphs: initializers, inputs, nodes in order, outputs; bodies of control flow with the graph around them in sight. */
#include "ops/import_private.h"

static bool file_error(Importer *im, DiagCode code, const char *what, Str name, const char *why) {
  (void)diag_add(im->diags, code, import_file_place(im), "%s %s %s", what, diag_quote(im->diags, name), why);
  return false;
}

/* ---- scopes ---- */
Binding *scope_find(const Scope *s, Str name) {
  for (; s; s = s->parent) {
    Binding *b = map_get(&s->names, name);
    if (b) return b;
  }
  return NULL;
}

Scope *scope_new(Importer *im) {
  Scope *s = NEW(im->a, Scope);
  *s = (Scope){.parent = im->scope, .names = map_new(im->a), .types = map_new(im->a), .variables = map_new(im->a)};
  return s;
}

static void note_variables(Importer *im, const OnnxGraph *g) {
  for (size_t i = 0; i < g->n_nodes; i++) {
    const OnnxNode *n = &g->nodes[i];
    for (size_t k = 0; str_is(n->op_type, "Gradient") && k < n->n_attrs; k++)
      for (size_t s = 0; s < n->attrs[k].n_strings; s++) map_put(&im->scope->variables, n->attrs[k].strings[s], im);
  }
}

void scope_bind(Importer *im, Str name, Value *v) {
  Binding *b = NEW(im->a, Binding);
  if (v && v->data && map_has(&im->scope->variables, name)) /* what is computed from it must not be folded before its gradient is known */
    v = graph_add_node(im->graph, OP_RESHAPE, &v, 1, &v->type, 1, NULL, (DiagPlace){0})->out[0];
  b->value = v;
  map_put(&im->scope->names, name, b);
}

void import_declare_types(Importer *im, const OnnxValueInfo *v, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (v[i].type) map_put(&im->scope->types, v[i].name, (void *)(uintptr_t)v[i].type);
}

/* ---- parts of a graph ---- */
static bool import_initializers(Importer *im, const OnnxGraph *g) {
  bool ok = true;
  for (size_t i = 0; i < g->n_initializers + g->n_sparse_initializers; i++) {
    bool dense = i < g->n_initializers;
    const OnnxSparse *sparse = dense ? NULL : &g->sparse_initializers[i - g->n_initializers];
    Str name = dense ? g->initializers[i].name : sparse->values->name;
    if (map_has(&im->scope->names, name)) {
      ok = file_error(im, DIAG_E0202, "initializer", name, "is defined twice");
      continue;
    }
    Value *v = dense ? import_constant_value(im, &g->initializers[i]) : import_sparse_value(im, sparse, name);
    ok = ok && v;
    scope_bind(im, name, v);
  }
  return ok;
}

static bool import_inputs(Importer *im, const OnnxGraph *g, Graph *into) {
  Map seen = map_new(im->a);
  bool ok = true;
  import_declare_symbols(im, g);
  for (size_t i = 0; i < g->n_inputs; i++) {
    Str name = g->inputs[i].name;
    Type type;
    if (!name.len || map_has(&seen, name)) {
      ok = file_error(im, DIAG_E0204, "input", name, name.len ? "is listed twice" : "has no name");
      continue;
    }
    map_put(&seen, name, im);
    if (map_has(&im->scope->names, name)) continue; /* an initializer: a default that nothing overrides */
    bool typed = import_type(im, g->inputs[i].type, name, &type);
    Value *v = typed ? graph_add_value(into, type, name) : NULL;
    if (v) vec_push(im->a, into->inputs, v);
    scope_bind(im, name, v);
    ok = ok && typed;
  }
  return ok;
}

/* Whether a declared type is of the kind that is made; *t becomes that of its tensors. */
static bool kind_fits(const OnnxType **t, const SeqType *s) {
  static const OnnxTypeKind kinds[][2] = {[SEQ_SEQUENCE] = {ONNX_TYPE_SEQUENCE, ONNX_TYPE_TENSOR},
                                          [SEQ_OPTIONAL] = {ONNX_TYPE_OPTIONAL, ONNX_TYPE_TENSOR},
                                          [SEQ_OPTIONAL_SEQUENCE] = {ONNX_TYPE_OPTIONAL, ONNX_TYPE_SEQUENCE}};
  if (!s) return (*t)->kind == ONNX_TYPE_TENSOR;
  for (size_t i = 0; i < 2; i++) {
    if (!*t || (*t)->kind != kinds[s->form][i]) return false;
    if ((*t)->kind != ONNX_TYPE_TENSOR) *t = (*t)->elem;
  }
  return *t && (*t)->kind == ONNX_TYPE_TENSOR;
}

static bool map_fits(const OnnxType *t, const MapType *m) {
  if (m->sequence) t = t->kind == ONNX_TYPE_SEQUENCE ? t->elem : NULL;
  if (!t || t->kind != ONNX_TYPE_MAP || dtype_from_onnx(t->key_type) != m->key) return false;
  return !t->elem || (t->elem->kind == ONNX_TYPE_TENSOR && dtype_from_onnx(t->elem->elem_type) == m->value);
}

/* A declared element type that contradicts what the nodes make: the reader of the model would get other data than promised. */
static bool output_type_fits(Importer *im, const OnnxValueInfo *declared, const Value *v) {
  const OnnxType *t = declared->type;
  const SeqType *s = v->type.seq;
  const DType dtype = s ? s->dtype : v->type.dtype;
  if (t && v->type.map) return map_fits(t, v->type.map) || file_error(im, DIAG_E0204, "graph output", declared->name, "is another map than declared");
  if (!t || (t->kind != ONNX_TYPE_TENSOR && t->kind != ONNX_TYPE_SEQUENCE && t->kind != ONNX_TYPE_OPTIONAL)) return true;
  if (!kind_fits(&t, s)) return file_error(im, DIAG_E0204, "graph output", declared->name, "is of another kind (tensor, sequence, optional) than declared");
  if (t->elem_type == 0 || dtype_from_onnx(t->elem_type) == dtype) return true;
  (void)diag_add(im->diags, DIAG_E0204, import_file_place(im), "graph output %s has element type %s, not the declared one", diag_quote(im->diags, declared->name), dtype_name(dtype));
  return false;
}

static bool import_outputs(Importer *im, const OnnxGraph *g, Graph *into) {
  Map seen = map_new(im->a);
  bool ok = true;
  for (size_t i = 0; i < g->n_outputs; i++) {
    Str name = g->outputs[i].name;
    const Binding *b = scope_find(im->scope, name);
    if (im->depth == 0 && map_has(&seen, name)) ok = file_error(im, DIAG_E0204, "graph output", name, "is listed twice");
    map_put(&seen, name, im);
    if (!b) ok = file_error(im, DIAG_E0201, "graph output", name, "is defined nowhere");
    if (!b || !b->value) {
      ok = false;
      continue;
    }
    ok = output_type_fits(im, &g->outputs[i], b->value) && ok;
    vec_push(im->a, into->outputs, b->value);
    vec_push(im->a, into->output_names, name);
  }
  return ok;
}

NodeList import_graph_nodes(Importer *im, const OnnxGraph *g) {
  Str *seen = NEW_ARRAY(im->a, Str, g->n_outputs);
  for (size_t i = 0; i < g->n_outputs; i++) seen[i] = g->outputs[i].name;
  return (NodeList){.nodes = g->nodes, .n = g->n_nodes, .seen = seen, .n_seen = g->n_outputs};
}

bool import_main_graph(Importer *im, const OnnxGraph *g) {
  import_declare_types(im, g->value_info, g->n_value_info);
  import_declare_types(im, g->outputs, g->n_outputs);
  note_variables(im, g);
  bool ok = import_initializers(im, g);
  ok = import_inputs(im, g, im->graph) && ok;
  if (!g->n_outputs) ok = ((void)diag_add(im->diags, DIAG_E0204, import_file_place(im), "the graph has no outputs"), false);
  /* Outputs are looked at only when all nodes are there: what failed has been reported. */
  const NodeList nodes = import_graph_nodes(im, g);
  return import_nodes(im, &nodes) && import_outputs(im, g, im->graph) && ok;
}

Value *op_named(OpContext *c, Str name) {
  const Binding *found = scope_find(c->importer->scope, name);
  if (!found) (void)op_fail(c, DIAG_E0201, "tensor %s is defined nowhere before", diag_quote(c->b.ir->diags, name));
  return found ? found->value : NULL;
}

/* ---- bodies of control flow ---- */
/* Imports g's nodes into `into`, with the scope around them in sight; its outputs are added to those of `ret`. */
static bool import_body(OpContext *c, const OnnxGraph *g, Graph *into, Graph *ret, BodyInputFn make, void *user) {
  Importer *im = c->importer;
  Graph *outer_graph = im->graph;
  const Graph *outer_checking = im->ir->checking;
  Scope *inner = scope_new(im), *outer = im->scope;
  Builder b = {im->ir, into, c->b.place};
  bool ok = true;
  im->scope = inner;
  im->graph = into;
  im->ir->checking = into;
  im->depth++;
  import_declare_types(im, g->value_info, g->n_value_info);
  note_variables(im, g);
  for (size_t i = 0; i < g->n_inputs && ok; i++) {
    Value *v = make(c, &b, i, user);
    ok = v != NULL;
    if (ok && map_has(&inner->names, g->inputs[i].name)) ok = op_fail(c, DIAG_E0202, "input %zu of the body is named as an earlier one", i);
    scope_bind(im, g->inputs[i].name, v);
  }
  NodeList *nodes = NEW(im->a, NodeList); /* a split keeps it */
  *nodes = import_graph_nodes(im, g);
  nodes->inlined = im->inlining;
  im->inlining = NULL;
  ok = ok && import_initializers(im, g) && import_nodes(im, nodes) && import_outputs(im, g, ret);
  im->scope = outer;
  im->graph = outer_graph;
  im->ir->checking = outer_checking;
  im->depth--;
  return ok;
}

static bool body_fits(OpContext *c, const OnnxGraph *g, size_t n_inputs) {
  if (c->importer->depth >= MAX_GRAPH_DEPTH) return op_fail(c, DIAG_E0502, "graphs are nested more than %d deep", MAX_GRAPH_DEPTH);
  if (g->n_inputs != n_inputs) return op_fail(c, DIAG_E0305, "the body has %zu inputs, %zu are given", g->n_inputs, n_inputs);
  return true;
}

Graph *op_body(OpContext *c, const OnnxGraph *g, size_t n_inputs, BodyInputFn make, void *user) {
  if (!body_fits(c, g, n_inputs)) return NULL;
  Graph *into = graph_new(c->importer->ir, c->importer->graph);
  return import_body(c, g, into, into, make, user) ? into : NULL;
}

static Value *given_input(OpContext *c, Builder *b, size_t i, void *user) {
  (void)c, (void)b;
  return ((Value *const *)user)[i];
}

Value **op_inline(OpContext *c, const OnnxGraph *g, Value *const *inputs, size_t n_inputs, size_t *ret_n) {
  if (!body_fits(c, g, n_inputs)) return NULL;
  Graph results = {.ir = c->importer->ir};
  Value **given = n_inputs ? arena_dup(c->importer->a, inputs, n_inputs * sizeof *inputs) : NULL;
  if (!import_body(c, g, c->importer->graph, &results, given_input, given)) return NULL;
  *ret_n = results.outputs.n;
  return results.outputs.data;
}

Graph *op_enter(OpContext *c, Graph *g) {
  Graph *before = c->importer->graph;
  c->importer->graph = g;
  c->importer->ir->checking = g;
  return before;
}
