/* Model-local functions: inlined through the importer, each call in a scope of its own. */
#include "ops/import_private.h"

static Str function_key(Arena *a, Str domain, Str name, Str overload) {
  StrBuf b = sb_new(a);
  sb_str(&b, canonical_domain(domain));
  sb_putc(&b, '\n');
  sb_str(&b, name);
  sb_putc(&b, '\n');
  sb_str(&b, overload);
  return sb_view(&b);
}

bool import_index_functions(Importer *im) {
  bool ok = true;
  im->functions = map_new(im->a);
  for (size_t i = 0; i < im->model->n_functions; i++) {
    const OnnxFunction *f = &im->model->functions[i];
    Str key = function_key(im->a, f->domain, f->name, f->overload);
    if (map_has(&im->functions, key)) {
      (void)diag_add(im->diags, DIAG_E0205, import_file_place(im), "function %s is defined twice", diag_quote(im->diags, f->name));
      ok = false;
    }
    if (!f->name.len) ok = ((void)diag_add(im->diags, DIAG_E0205, import_file_place(im), "function %zu has no name", i), false);
    map_put(&im->functions, key, (void *)(uintptr_t)f);
  }
  return ok;
}

const OnnxFunction *import_find_function(Importer *im, const OnnxNode *n) {
  return im->model->n_functions ? map_get(&im->functions, function_key(im->a, n->domain, n->op_type, n->overload)) : NULL;
}

static bool function_active(const Frame *frame, const OnnxFunction *f) {
  for (; frame; frame = frame->parent)
    if (frame->function == f) return true;
  return false;
}

/* The callee's attributes: the caller's, or their defaults. */
static bool bind_attrs(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place, Frame *callee) {
  size_t n_actual;
  const OnnxAttr *actual = import_attrs(im, n, place, &n_actual);
  if (!actual) return false;
  if (f->n_attribute_protos > MAX_ATTRS) return (void)diag_add(im->diags, DIAG_E0205, place, "the function has over %d attributes", MAX_ATTRS), false;
  OnnxAttr *out = NEW_ARRAY(im->a, OnnxAttr, n_actual + f->n_attribute_protos);
  if (n_actual) memcpy(out, actual, n_actual * sizeof *out);
  callee->n_attrs = n_actual;
  for (size_t i = 0; i < f->n_attribute_protos; i++) {
    bool given = false;
    for (size_t k = 0; k < n_actual; k++) given = given || str_eq(actual[k].name, f->attribute_protos[i].name);
    if (!given) out[callee->n_attrs++] = f->attribute_protos[i];
  }
  callee->attrs = out;
  return true;
}

/* Names of nodes inside: those of the calls before them, while that stays readable. */
static Str call_path(Importer *im, const OnnxNode *n) {
  enum { PATH_MAX_BYTES = 160 };
  Str name = n->name.len ? n->name : n->op_type;
  if (im->frame->path.len + name.len > PATH_MAX_BYTES) return im->frame->path;
  StrBuf b = sb_new(im->a);
  sb_str(&b, im->frame->path);
  sb_str(&b, name);
  sb_putc(&b, '/');
  return sb_view(&b);
}

static bool can_call(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place) {
  const char *why = NULL;
  DiagCode code = DIAG_E0205;
  if (function_active(im->frame, f)) {
    why = "the function calls itself";
  } else if (n->n_inputs > f->n_inputs || n->n_outputs > f->n_outputs) {
    why = "called with more inputs or outputs than the function has";
  } else if (im->frame->depth >= MAX_CALL_DEPTH) {
    why = "functions call each other too deeply";
    code = DIAG_E0502;
    im->gave_up = true;
  }
  if (why) (void)diag_add(im->diags, code, place, "%s", why);
  return !why;
}

static void bind_inputs(Importer *im, const OnnxFunction *f, const OnnxNode *n, const Scope *outer, Scope *inner) {
  Binding *absent = NEW(im->a, Binding);
  absent->absent = true;
  for (size_t k = 0; k < f->n_inputs; k++) {
    Binding *b = k < n->n_inputs && n->inputs[k].len ? scope_find(outer, n->inputs[k]) : NULL;
    map_put(&inner->names, f->inputs[k], b ? b : absent);
  }
}

static bool bind_results(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place, const Scope *inner, bool body_ok) {
  bool ok = body_ok;
  for (size_t k = 0; k < n->n_outputs; k++) {
    if (!n->outputs[k].len) continue;
    const Binding *b = map_get(&inner->names, f->outputs[k]);
    if (!b && body_ok) (void)diag_add(im->diags, DIAG_E0201, place, "output %zu of the function is defined nowhere", k);
    scope_bind(im, n->outputs[k], b ? b->value : NULL);
    ok = ok && b && b->value;
  }
  return ok;
}

/* The results that a call takes; "" for others. */
static const Str *results_seen(Importer *im, const OnnxFunction *f, const OnnxNode *n) {
  Str *seen = NEW_ARRAY(im->a, Str, n->n_outputs);
  for (size_t k = 0; k < n->n_outputs; k++) seen[k] = n->outputs[k].len ? f->outputs[k] : (Str){0};
  return seen;
}

/* A split keeps the nodes, scope and frame of the function that it was met in. */
bool import_call(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place) {
  Frame *callee = NEW(im->a, Frame), *frame = im->frame;
  Scope *inner = NEW(im->a, Scope), *outer = im->scope;
  NodeList *nodes = NEW(im->a, NodeList);
  *callee = (Frame){.parent = frame, .function = f, .opsets = f->opsets, .n_opsets = f->n_opsets, .depth = frame->depth + 1};
  *inner = (Scope){.names = map_new(im->a), .types = map_new(im->a), .variables = map_new(im->a)};
  if (!can_call(im, f, n, place) || !bind_attrs(im, f, n, place, callee)) return false;
  *nodes = (NodeList){.nodes = f->nodes, .n = f->n_nodes, .seen = results_seen(im, f, n), .n_seen = n->n_outputs, .inlined = n};
  callee->path = call_path(im, n);
  bind_inputs(im, f, n, outer, inner);
  im->frame = callee;
  im->scope = inner;
  import_declare_types(im, f->value_info, f->n_value_info);
  const bool ok = import_nodes(im, nodes);
  im->frame = frame;
  im->scope = outer;
  return !im->split.node && bind_results(im, f, n, place, inner, ok);
}
