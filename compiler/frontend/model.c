/* ModelProto down to attributes. */
#include "frontend/model.h"

#include "frontend/onnx.pb.h"
#include "frontend/reader.h"

enum { IR_VERSION_LATEST = onnx_Version_IR_VERSION };

static bool graph_read(Reader *r, Str bytes, void *ret);

/* ---- attributes ---- */
/* The type of an attribute that does not say it (files of IR version 1): its one value's. */
static int32_t attr_infer(const OnnxAttr *a) {
  const struct {
    bool present;
    int32_t type;
  } rows[] = {{a->has_f, ONNX_ATTR_FLOAT},
              {a->has_i, ONNX_ATTR_INT},
              {a->has_s, ONNX_ATTR_STRING},
              {a->t != NULL, ONNX_ATTR_TENSOR},
              {a->g != NULL, ONNX_ATTR_GRAPH},
              {a->sparse != NULL, ONNX_ATTR_SPARSE_TENSOR},
              {a->tp != NULL, ONNX_ATTR_TYPE_PROTO},
              {a->n_floats != 0, ONNX_ATTR_FLOATS},
              {a->n_ints != 0, ONNX_ATTR_INTS},
              {a->n_strings != 0, ONNX_ATTR_STRINGS},
              {a->n_tensors != 0, ONNX_ATTR_TENSORS},
              {a->n_graphs != 0, ONNX_ATTR_GRAPHS},
              {a->n_sparse_tensors != 0, ONNX_ATTR_SPARSE_TENSORS},
              {a->n_type_protos != 0, ONNX_ATTR_TYPE_PROTOS}};
  int32_t type = ONNX_ATTR_UNDEFINED;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!rows[i].present) continue;
    if (type != ONNX_ATTR_UNDEFINED) return ONNX_ATTR_UNDEFINED;
    type = rows[i].type;
  }
  return type;
}

static bool attr_read(Reader *r, Str bytes, void *ret) {
  OnnxAttr *a = ret;
  onnx_AttributeProto m = {
      .name = FIELD_STR(a->name),
      .ref_attr_name = FIELD_STR(a->ref_attr_name),
      .s = FIELD_STR(a->s),
      .t = FIELD_ONE(OnnxTensor, a->t, tensor_read),
      .g = FIELD_ONE(OnnxGraph, a->g, graph_read),
      .tp = FIELD_ONE(OnnxType, a->tp, type_read),
      .sparse_tensor = FIELD_ONE(OnnxSparse, a->sparse, sparse_read),
      .floats = FIELD_NUMBERS(float, a->floats, a->n_floats),
      .ints = FIELD_NUMBERS(int64_t, a->ints, a->n_ints),
      .strings = FIELD_STRS(a->strings, a->n_strings),
      .tensors = FIELD_MANY_POINTERS(OnnxTensor, a->tensors, a->n_tensors, tensor_read),
      .graphs = FIELD_MANY_POINTERS(OnnxGraph, a->graphs, a->n_graphs, graph_read),
      .type_protos = FIELD_MANY_POINTERS(OnnxType, a->type_protos, a->n_type_protos, type_read),
      .sparse_tensors = FIELD_MANY_POINTERS(OnnxSparse, a->sparse_tensors, a->n_sparse_tensors, sparse_read)};
  if (!message_read(r, bytes, onnx_AttributeProto_fields, &m)) return false;
  a->has_type = m.has_type;
  a->has_f = m.has_f;
  a->has_i = m.has_i;
  a->has_s = m.s.count != 0;
  a->f = m.f;
  a->i = m.i;
  a->type = m.has_type && m.type ? (int32_t)m.type : attr_infer(a);
  return true;
}

/* ---- nodes, values, graphs ---- */
static bool node_read(Reader *r, Str bytes, void *ret) {
  OnnxNode *n = ret;
  onnx_NodeProto m = {.input = FIELD_STRS(n->inputs, n->n_inputs),
                      .output = FIELD_STRS(n->outputs, n->n_outputs),
                      .name = FIELD_STR(n->name),
                      .op_type = FIELD_STR(n->op_type),
                      .domain = FIELD_STR(n->domain),
                      .overload = FIELD_STR(n->overload),
                      .attribute = FIELD_MANY(OnnxAttr, n->attrs, n->n_attrs, attr_read)};
  return message_read(r, bytes, onnx_NodeProto_fields, &m);
}

static bool value_info_read(Reader *r, Str bytes, void *ret) {
  OnnxValueInfo *v = ret;
  onnx_ValueInfoProto m = {.name = FIELD_STR(v->name), .type = FIELD_ONE(OnnxType, v->type, type_read)};
  return message_read(r, bytes, onnx_ValueInfoProto_fields, &m);
}

static bool graph_read(Reader *r, Str bytes, void *ret) {
  OnnxGraph *g = ret;
  onnx_GraphProto m = {
      .name = FIELD_STR(g->name),
      .node = FIELD_MANY(OnnxNode, g->nodes, g->n_nodes, node_read),
      .initializer = FIELD_MANY(OnnxTensor, g->initializers, g->n_initializers, tensor_read),
      .sparse_initializer = FIELD_MANY(OnnxSparse, g->sparse_initializers, g->n_sparse_initializers, sparse_read),
      .input = FIELD_MANY(OnnxValueInfo, g->inputs, g->n_inputs, value_info_read),
      .output = FIELD_MANY(OnnxValueInfo, g->outputs, g->n_outputs, value_info_read),
      .value_info = FIELD_MANY(OnnxValueInfo, g->value_info, g->n_value_info, value_info_read)};
  return message_read(r, bytes, onnx_GraphProto_fields, &m);
}

/* ---- functions, models ---- */
static bool opset_read(Reader *r, Str bytes, void *ret) {
  OnnxOpset *o = ret;
  onnx_OperatorSetIdProto m = {.domain = FIELD_STR(o->domain)};
  bool ok = message_read(r, bytes, onnx_OperatorSetIdProto_fields, &m);
  o->version = m.version;
  return ok;
}

static bool function_read(Reader *r, Str bytes, void *ret) {
  OnnxFunction *f = ret;
  onnx_FunctionProto m = {
      .name = FIELD_STR(f->name),
      .domain = FIELD_STR(f->domain),
      .overload = FIELD_STR(f->overload),
      .input = FIELD_STRS(f->inputs, f->n_inputs),
      .output = FIELD_STRS(f->outputs, f->n_outputs),
      .attribute = FIELD_STRS(f->attributes, f->n_attributes),
      .attribute_proto = FIELD_MANY(OnnxAttr, f->attribute_protos, f->n_attribute_protos, attr_read),
      .node = FIELD_MANY(OnnxNode, f->nodes, f->n_nodes, node_read),
      .opset_import = FIELD_MANY(OnnxOpset, f->opsets, f->n_opsets, opset_read),
      .value_info = FIELD_MANY(OnnxValueInfo, f->value_info, f->n_value_info, value_info_read)};
  return message_read(r, bytes, onnx_FunctionProto_fields, &m);
}

static bool model_read(Reader *r, Str bytes, OnnxModel *o) {
  onnx_ModelProto m = {.opset_import = FIELD_MANY(OnnxOpset, o->opsets, o->n_opsets, opset_read),
                       .producer_name = FIELD_STR(o->producer_name),
                       .producer_version = FIELD_STR(o->producer_version),
                       .domain = FIELD_STR(o->domain),
                       .doc_string = FIELD_STR(o->doc),
                       .graph = FIELD_ONE(OnnxGraph, o->graph, graph_read),
                       .functions = FIELD_MANY(OnnxFunction, o->functions, o->n_functions, function_read),
                       .metadata_props = FIELD_MANY(OnnxEntry, o->metadata, o->n_metadata, entry_read)};
  bool ok = message_read(r, bytes, onnx_ModelProto_fields, &m);
  o->ir_version = m.ir_version;
  o->model_version = m.model_version;
  return ok;
}

const OnnxModel *onnx_load_model(Arena *a, Diags *d, const char *path, const OnnxLoadOptions *opt) {
  Reader r;
  if (!reader_open(&r, a, d, path, opt)) return NULL;
  OnnxModel *m = NEW(a, OnnxModel);
  if (!model_read(&r, r.file, m)) return NULL;
  if (!m->graph) {
    (void)reader_fail(&r, DIAG_E0101, NULL, r.file.len ? "there is no graph in it" : "the file is empty");
    return NULL;
  }
  if (m->ir_version < 1 || m->ir_version > IR_VERSION_LATEST) {
    (void)diag_add(d, DIAG_E0105, (DiagPlace){.file = r.name}, "its ir_version is %lld, known are 1 to %d",
                   (long long)m->ir_version, IR_VERSION_LATEST);
    return NULL;
  }
  m->file = r.file;
  m->files = r.files.data;
  m->n_files = r.files.n;
  return r.n_bad ? NULL : m;
}
