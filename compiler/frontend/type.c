/* TypeProto: the members of its oneof are separate fields in the generated structs. */
#include "frontend/onnx.pb.h"
#include "frontend/reader.h"

static bool dim_read(Reader *r, Str bytes, void *ret) {
  OnnxDim *d = ret;
  onnx_TensorShapeProto_Dimension m = {.dim_param = FIELD_STR(d->param)};
  if (!message_read(r, bytes, onnx_TensorShapeProto_Dimension_fields, &m)) return false;
  if (m.has_dim_value && m.dim_param.count)
    return reader_fail(r, DIAG_E0101, bytes.ptr, "a dimension has a value and a name");
  d->value = m.dim_value;
  d->kind = m.has_dim_value ? ONNX_DIM_VALUE : m.dim_param.count ? ONNX_DIM_PARAM : ONNX_DIM_NONE;
  return true;
}

static bool shape_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  t->has_shape = true;
  onnx_TensorShapeProto m = {.dim = FIELD_MANY(OnnxDim, t->dims, t->n_dims, dim_read)};
  return message_read(r, bytes, onnx_TensorShapeProto_fields, &m);
}

/* One member of the oneof was met. */
static bool kind_set(Reader *r, Str bytes, OnnxType *t, OnnxTypeKind kind) {
  if (t->kind != ONNX_TYPE_NONE) return reader_fail(r, DIAG_E0101, bytes.ptr, "a type is of two kinds");
  t->kind = kind;
  return true;
}

static bool tensor_type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto_Tensor m = {.shape = FIELD_HERE(t, shape_read)};
  bool ok = kind_set(r, bytes, t, ONNX_TYPE_TENSOR) && message_read(r, bytes, onnx_TypeProto_Tensor_fields, &m);
  t->elem_type = m.elem_type;
  return ok;
}

static bool sparse_type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto_SparseTensor m = {.shape = FIELD_HERE(t, shape_read)};
  bool ok = kind_set(r, bytes, t, ONNX_TYPE_SPARSE) && message_read(r, bytes, onnx_TypeProto_SparseTensor_fields, &m);
  t->elem_type = m.elem_type;
  return ok;
}

static bool sequence_type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto_Sequence m = {.elem_type = FIELD_ONE(OnnxType, t->elem, type_read)};
  return kind_set(r, bytes, t, ONNX_TYPE_SEQUENCE) && message_read(r, bytes, onnx_TypeProto_Sequence_fields, &m);
}

static bool optional_type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto_Optional m = {.elem_type = FIELD_ONE(OnnxType, t->elem, type_read)};
  return kind_set(r, bytes, t, ONNX_TYPE_OPTIONAL) && message_read(r, bytes, onnx_TypeProto_Optional_fields, &m);
}

static bool map_type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto_Map m = {.value_type = FIELD_ONE(OnnxType, t->elem, type_read)};
  bool ok = kind_set(r, bytes, t, ONNX_TYPE_MAP) && message_read(r, bytes, onnx_TypeProto_Map_fields, &m);
  t->key_type = m.key_type;
  return ok;
}

static bool opaque_type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto_Opaque m = {.domain = FIELD_STR(t->opaque_domain), .name = FIELD_STR(t->opaque_name)};
  return kind_set(r, bytes, t, ONNX_TYPE_OPAQUE) && message_read(r, bytes, onnx_TypeProto_Opaque_fields, &m);
}

bool type_read(Reader *r, Str bytes, void *ret) {
  OnnxType *t = ret;
  onnx_TypeProto m = {.tensor_type = FIELD_HERE(t, tensor_type_read),
                      .sequence_type = FIELD_HERE(t, sequence_type_read),
                      .map_type = FIELD_HERE(t, map_type_read),
                      .optional_type = FIELD_HERE(t, optional_type_read),
                      .sparse_tensor_type = FIELD_HERE(t, sparse_type_read),
                      .opaque_type = FIELD_HERE(t, opaque_type_read),
                      .denotation = FIELD_STR(t->denotation)};
  return message_read(r, bytes, onnx_TypeProto_fields, &m);
}
