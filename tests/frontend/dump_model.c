/* Prints every decoded field of ONNX files, one a line, in a form that compare.py makes from Google's protobuf too.
 * Usage: dump_model KIND FILE... where KIND is model, tensor, sparse, sequence, map or optional. A file that is refused
 * prints its diagnostics. Long byte strings are printed as length and Adler-32. */
#include <inttypes.h>
#include <stdio.h>

#include "base/diag.h"
#include "frontend/model.h"

static uint32_t adler32(const unsigned char *p, size_t n) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < n; i++) {
    a = (a + p[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

static void put_bytes(const char *key, const void *p, size_t n) {
  const unsigned char *c = p;
  printf("%s ", key);
  if (n > 64) {
    printf("%zu:%08" PRIx32 "\n", n, adler32(c, n));
    return;
  }
  putchar('x');
  for (size_t i = 0; i < n; i++) printf("%02x", c[i]);
  putchar('\n');
}

static void put_str(const char *key, Str s) {
  if (s.ptr) put_bytes(key, s.ptr, s.len);
}

static void put_strs(const char *key, const Str *s, size_t n) {
  for (size_t i = 0; i < n; i++) put_str(key, s[i]);
}

static void put_int(const char *key, int64_t v) { printf("%s %" PRId64 "\n", key, v); }

static void put_ints(const char *key, const int64_t *v, size_t n) {
  for (size_t i = 0; i < n; i++) put_int(key, v[i]);
}

static void put_float(const char *key, float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  printf("%s %08" PRIx32 "\n", key, bits);
}

static void put_tensor(const char *key, const OnnxTensor *t) {
  printf("%s {\n", key);
  put_str("name", t->name);
  put_int("data_type", t->data_type);
  put_ints("dim", t->dims, t->n_dims);
  put_int("elements", (int64_t)t->n_elements);
  put_int("raw", t->has_raw);
  put_int("external", t->external);
  if (t->data_bytes) put_bytes("data", t->data, t->data_bytes);
  put_strs("string", t->strings, t->n_strings);
  puts("}");
}

static void put_sparse(const char *key, const OnnxSparse *s) {
  printf("%s {\n", key);
  put_tensor("values", s->values);
  put_tensor("indices", s->indices);
  put_ints("dim", s->dims, s->n_dims);
  puts("}");
}

static void put_type(const char *key, const OnnxType *t) {
  static const char *const kinds[] = {"none", "tensor", "sparse", "sequence", "map", "optional", "opaque"};
  printf("%s {\nkind %s\n", key, kinds[t->kind]);
  put_int("elem_type", t->elem_type);
  put_int("key_type", t->key_type);
  if (t->has_shape) put_int("rank", (int64_t)t->n_dims);
  for (size_t i = 0; i < t->n_dims; i++) {
    const OnnxDim *d = &t->dims[i];
    if (d->kind == ONNX_DIM_NONE) puts("dim none");
    if (d->kind == ONNX_DIM_VALUE) put_int("dim", d->value);
    if (d->kind == ONNX_DIM_PARAM) put_str("dim", d->param);
  }
  put_str("opaque_domain", t->opaque_domain);
  put_str("opaque_name", t->opaque_name);
  put_str("denotation", t->denotation);
  if (t->elem) put_type("elem", t->elem);
  puts("}");
}

static void put_graph(const char *key, const OnnxGraph *g);

static void put_attr(const char *key, const OnnxAttr *a) {
  printf("%s {\n", key);
  put_str("name", a->name);
  put_str("ref", a->ref_attr_name);
  if (a->has_type) put_int("type", a->type);
  if (a->has_f) put_float("f", a->f);
  if (a->has_i) put_int("i", a->i);
  put_str("s", a->s);
  if (a->t) put_tensor("t", a->t);
  if (a->g) put_graph("g", a->g);
  if (a->tp) put_type("tp", a->tp);
  if (a->sparse) put_sparse("sparse", a->sparse);
  for (size_t i = 0; i < a->n_floats; i++) put_float("floats", a->floats[i]);
  put_ints("ints", a->ints, a->n_ints);
  put_strs("strings", a->strings, a->n_strings);
  for (size_t i = 0; i < a->n_tensors; i++) put_tensor("tensors", a->tensors[i]);
  for (size_t i = 0; i < a->n_graphs; i++) put_graph("graphs", a->graphs[i]);
  for (size_t i = 0; i < a->n_type_protos; i++) put_type("type_protos", a->type_protos[i]);
  for (size_t i = 0; i < a->n_sparse_tensors; i++) put_sparse("sparse_tensors", a->sparse_tensors[i]);
  puts("}");
}

static void put_nodes(const OnnxNode *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const OnnxNode *o = &nodes[i];
    puts("node {");
    put_str("name", o->name);
    put_str("op_type", o->op_type);
    put_str("domain", o->domain);
    put_str("overload", o->overload);
    put_strs("input", o->inputs, o->n_inputs);
    put_strs("output", o->outputs, o->n_outputs);
    for (size_t k = 0; k < o->n_attrs; k++) put_attr("attr", &o->attrs[k]);
    puts("}");
  }
}

static void put_values(const char *key, const OnnxValueInfo *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    printf("%s {\n", key);
    put_str("name", v[i].name);
    if (v[i].type) put_type("type", v[i].type);
    puts("}");
  }
}

static void put_graph(const char *key, const OnnxGraph *g) {
  printf("%s {\n", key);
  put_str("name", g->name);
  put_nodes(g->nodes, g->n_nodes);
  for (size_t i = 0; i < g->n_initializers; i++) put_tensor("initializer", &g->initializers[i]);
  for (size_t i = 0; i < g->n_sparse_initializers; i++) put_sparse("sparse", &g->sparse_initializers[i]);
  put_values("graph_input", g->inputs, g->n_inputs);
  put_values("graph_output", g->outputs, g->n_outputs);
  put_values("value_info", g->value_info, g->n_value_info);
  puts("}");
}

static void put_opsets(const OnnxOpset *o, size_t n) {
  for (size_t i = 0; i < n; i++) {
    puts("opset {");
    put_str("domain", o[i].domain);
    put_int("version", o[i].version);
    puts("}");
  }
}

static void put_function(const OnnxFunction *f) {
  puts("function {");
  put_str("name", f->name);
  put_str("domain", f->domain);
  put_str("overload", f->overload);
  put_strs("input", f->inputs, f->n_inputs);
  put_strs("output", f->outputs, f->n_outputs);
  put_strs("attribute", f->attributes, f->n_attributes);
  for (size_t i = 0; i < f->n_attribute_protos; i++) put_attr("attribute_proto", &f->attribute_protos[i]);
  put_nodes(f->nodes, f->n_nodes);
  put_opsets(f->opsets, f->n_opsets);
  put_values("value_info", f->value_info, f->n_value_info);
  puts("}");
}

static void put_model(const OnnxModel *m) {
  put_int("ir_version", m->ir_version);
  put_int("model_version", m->model_version);
  put_opsets(m->opsets, m->n_opsets);
  put_str("producer_name", m->producer_name);
  put_str("producer_version", m->producer_version);
  put_str("domain", m->domain);
  put_str("doc", m->doc);
  put_graph("graph", m->graph);
  for (size_t i = 0; i < m->n_functions; i++) put_function(&m->functions[i]);
  for (size_t i = 0; i < m->n_metadata; i++) {
    put_str("key", m->metadata[i].key);
    put_str("value", m->metadata[i].value);
  }
}

static void put_value(const OnnxValue *v) {
  if (v->kind == ONNX_TYPE_TENSOR) {
    put_tensor("tensor", v->tensor);
    return;
  }
  if (v->kind == ONNX_TYPE_SPARSE) {
    put_sparse("sparse", v->sparse);
    return;
  }
  printf("%s {\n", v->kind == ONNX_TYPE_MAP ? "map" : v->kind == ONNX_TYPE_OPTIONAL ? "optional" : "sequence");
  put_str("name", v->name);
  put_int("elem_type", v->elem_type);
  if (v->kind == ONNX_TYPE_MAP) put_int("key_type", v->key_type);
  if (v->keys) put_ints("key", v->keys, v->n_keys);
  if (v->string_keys) put_strs("key", v->string_keys, v->n_keys);
  for (size_t i = 0; i < v->n_items; i++) put_value(&v->items[i]);
  puts("}");
}

static void dump(const char *kind, const char *path) {
  static const char *const kinds[] = {[ONNX_TYPE_TENSOR] = "tensor",
                                      [ONNX_TYPE_SPARSE] = "sparse",
                                      [ONNX_TYPE_SEQUENCE] = "sequence",
                                      [ONNX_TYPE_MAP] = "map",
                                      [ONNX_TYPE_OPTIONAL] = "optional"};
  Door door;
  Arena *volatile a = NULL;
  if (setjmp(door.env)) {
    printf("refused: %s\n", door.text);
    arena_free(a);
    return;
  }
  a = arena_new(&door, 0);
  Diags d = {.arena = a};
  if (strcmp(kind, "model") == 0) {
    const OnnxModel *m = onnx_load_model(a, &d, path, NULL);
    if (m) put_model(m);
  }
  for (OnnxTypeKind k = ONNX_TYPE_TENSOR; k <= ONNX_TYPE_OPTIONAL; k++) {
    if (strcmp(kind, kinds[k]) != 0) continue;
    const OnnxValue *v = onnx_load_value(a, &d, path, k);
    if (v) put_value(v);
  }
  StrBuf b = sb_new(a);
  for (size_t i = 0; i < d.list.n; i++) diag_print(&b, &d.list.data[i], false);
  if (b.len) printf("refused: %s", b.data);
  arena_free(a);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    (void)fprintf(stderr, "usage: dump_model KIND FILE...\n");
    return 2;
  }
  for (int i = 2; i < argc; i++) {
    printf("== %s\n", argv[i]);
    dump(argv[1], argv[i]);
  }
  return 0;
}
