/* Values of data sets: TensorProto, SparseTensorProto, SequenceProto, MapProto, OptionalProto as whole files. */
#include "frontend/model.h"
#include "frontend/onnx-data.pb.h"
#include "frontend/reader.h"

static bool map_value_read(Reader *r, Str bytes, void *ret);
static bool optional_value_read(Reader *r, Str bytes, void *ret);

static bool tensor_value_read(Reader *r, Str bytes, void *ret) {
  OnnxValue *v = ret;
  OnnxTensor *t = reader_alloc(r, 1, sizeof *t);
  if (!t || !tensor_read(r, bytes, t)) return false;
  v->kind = ONNX_TYPE_TENSOR;
  v->name = t->name;
  v->tensor = t;
  return true;
}

static bool sparse_value_read(Reader *r, Str bytes, void *ret) {
  OnnxValue *v = ret;
  OnnxSparse *s = reader_alloc(r, 1, sizeof *s);
  if (!s || !sparse_read(r, bytes, s)) return false;
  v->kind = ONNX_TYPE_SPARSE;
  v->name = s->values->name;
  v->sparse = s;
  return true;
}

/* Keeps of n lists the one that is not empty; false when there are two. */
static bool one_list(const OnnxValue *const *lists, const size_t *n_lists, size_t n, OnnxValue *v) {
  for (size_t i = 0; i < n; i++) {
    if (!n_lists[i]) continue;
    if (v->n_items) return false;
    v->items = lists[i];
    v->n_items = n_lists[i];
  }
  return true;
}

static bool sequence_value_read(Reader *r, Str bytes, void *ret) {
  OnnxValue *v = ret;
  const OnnxValue *lists[5] = {0};
  size_t n[5] = {0};
  onnx_SequenceProto m = {.name = FIELD_STR(v->name),
                          .tensor_values = FIELD_MANY(OnnxValue, lists[0], n[0], tensor_value_read),
                          .sparse_tensor_values = FIELD_MANY(OnnxValue, lists[1], n[1], sparse_value_read),
                          .sequence_values = FIELD_MANY(OnnxValue, lists[2], n[2], sequence_value_read),
                          .map_values = FIELD_MANY(OnnxValue, lists[3], n[3], map_value_read),
                          .optional_values = FIELD_MANY(OnnxValue, lists[4], n[4], optional_value_read)};
  if (!message_read(r, bytes, onnx_SequenceProto_fields, &m)) return false;
  v->kind = ONNX_TYPE_SEQUENCE;
  v->elem_type = m.elem_type;
  if (!one_list(lists, n, 5, v)) return reader_fail(r, DIAG_E0101, bytes.ptr, "a sequence has elements of two kinds");
  return true;
}

static bool map_value_read(Reader *r, Str bytes, void *ret) {
  OnnxValue *v = ret;
  OnnxValue values = {0};
  size_t n_strings = 0;
  onnx_MapProto m = {.name = FIELD_STR(v->name),
                     .keys = FIELD_NUMBERS(int64_t, v->keys, v->n_keys),
                     .string_keys = FIELD_STRS(v->string_keys, n_strings),
                     .values = FIELD_HERE(&values, sequence_value_read)};
  if (!message_read(r, bytes, onnx_MapProto_fields, &m)) return false;
  v->kind = ONNX_TYPE_MAP;
  v->key_type = m.key_type;
  v->elem_type = values.elem_type;
  v->items = values.items;
  v->n_items = values.n_items;
  if (v->n_keys && n_strings) return reader_fail(r, DIAG_E0101, bytes.ptr, "a map has keys of two kinds");
  if (n_strings) v->n_keys = n_strings;
  if (v->n_keys != v->n_items)
    return reader_fail(r, DIAG_E0103, bytes.ptr, "a map has %zu keys and %zu values", v->n_keys, v->n_items);
  return true;
}

static bool optional_value_read(Reader *r, Str bytes, void *ret) {
  OnnxValue *v = ret;
  const OnnxValue *lists[5] = {0};
  size_t n[5] = {0};
  onnx_OptionalProto m = {.name = FIELD_STR(v->name),
                          .tensor_value = FIELD_ONE(OnnxValue, lists[0], tensor_value_read),
                          .sparse_tensor_value = FIELD_ONE(OnnxValue, lists[1], sparse_value_read),
                          .sequence_value = FIELD_ONE(OnnxValue, lists[2], sequence_value_read),
                          .map_value = FIELD_ONE(OnnxValue, lists[3], map_value_read),
                          .optional_value = FIELD_ONE(OnnxValue, lists[4], optional_value_read)};
  if (!message_read(r, bytes, onnx_OptionalProto_fields, &m)) return false;
  v->kind = ONNX_TYPE_OPTIONAL;
  v->elem_type = m.elem_type;
  for (size_t i = 0; i < 5; i++) n[i] = lists[i] != NULL;
  if (!one_list(lists, n, 5, v)) return reader_fail(r, DIAG_E0101, bytes.ptr, "an optional has two values");
  return true;
}

const OnnxValue *onnx_load_value(Arena *a, Diags *d, const char *path, OnnxTypeKind kind) {
  static FieldRead *const readers[] = {
      [ONNX_TYPE_TENSOR] = tensor_value_read,     [ONNX_TYPE_SPARSE] = sparse_value_read,
      [ONNX_TYPE_SEQUENCE] = sequence_value_read, [ONNX_TYPE_MAP] = map_value_read,
      [ONNX_TYPE_OPTIONAL] = optional_value_read, [ONNX_TYPE_OPAQUE] = NULL};
  Reader r;
  if (!reader_open(&r, a, d, path, NULL)) return NULL;
  if (!readers[kind]) {
    (void)reader_fail(&r, DIAG_E0601, NULL, "values of this type cannot be stored in a file");
    return NULL;
  }
  OnnxValue *v = NEW(a, OnnxValue);
  return readers[kind](&r, r.file, v) && !r.n_bad ? v : NULL;
}

const OnnxTensor *onnx_load_tensor(Arena *a, Diags *d, const char *path) {
  const OnnxValue *v = onnx_load_value(a, d, path, ONNX_TYPE_TENSOR);
  return v ? v->tensor : NULL;
}
