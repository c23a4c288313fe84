/* Values of data sets as the interpreter takes them, and what it gives as values: elements unpacked and aligned; in sequences and optionals
 * packed, as generated code has them at its border (runtime-lite/ops/sequence_io.h), and as it keeps them (ops/sequence.h). */
#include "cli/host_value.h"

#include "ops/sequence_io.h"

/* ---- to the interpreter ---- */
static void *host_data(Arena *a, const OnnxTensor *t) {
  const DType d = dtype_from_onnx(t->data_type);
  const Tensor packed = {.dtype = d, .n = t->n_elements, .bytes = t->data, .n_bytes = t->data_bytes, .strings = t->strings};
  return (void *)(uintptr_t)tensor_host_elements(a, &packed);
}

static bool all_tensors(const OnnxValue *v) {
  for (size_t i = 0; i < v->n_items; i++)
    if (v->items[i].kind != ONNX_TYPE_TENSOR) return false;
  return true;
}

/* Of tensors only. */
static cn_seq_list list_of(Arena *a, const OnnxValue *v) {
  cn_seq_tensor *items = NEW_ARRAY(a, cn_seq_tensor, v->n_items);
  for (size_t i = 0; i < v->n_items; i++) {
    const OnnxTensor *t = v->items[i].tensor;
    const bool shared_bytes = dtype_rows[dtype_from_onnx(t->data_type)].bits < 8;
    items[i] = (cn_seq_tensor){shared_bytes ? t->data : host_data(a, t), t->dims, t->n_dims};
  }
  return (cn_seq_list){items, v->n_items};
}

/* The struct of the caller; NULL where it holds other things than tensors. */
static void *host_struct(Arena *a, const OnnxValue *v, const castnet_type *type) {
  if (v->kind == ONNX_TYPE_SEQUENCE) {
    if (!all_tensors(v)) return NULL;
    const cn_seq_list list = list_of(a, v);
    return arena_dup(a, &list, sizeof list);
  }
  if (v->kind != ONNX_TYPE_OPTIONAL || v->n_items > 1) return NULL;
  if (type->elem->kind == CASTNET_KIND_TENSOR) {
    cn_seq_maybe *one = NEW(a, cn_seq_maybe);
    one->has = v->n_items == 1;
    if (one->has && v->items[0].kind != ONNX_TYPE_TENSOR) return NULL;
    if (one->has) one->value = ((const cn_seq_tensor *)list_of(a, v).items)[0];
    return one;
  }
  cn_seq_maybe_list *some = NEW(a, cn_seq_maybe_list);
  some->has = v->n_items == 1;
  if (some->has && (v->items[0].kind != ONNX_TYPE_SEQUENCE || !all_tensors(&v->items[0]))) return NULL;
  if (some->has) some->value = list_of(a, &v->items[0]);
  return some;
}

bool host_from_value(Arena *a, const OnnxValue *v, const castnet_type *type, HostTensor *ret) {
  *ret = (HostTensor){.dtype = DT_u8};
  if (v->kind != ONNX_TYPE_TENSOR) return (ret->data = host_struct(a, v, type)) != NULL;
  const OnnxTensor *t = v->tensor;
  if (t->n_dims > MAX_RANK) return false;
  *ret = (HostTensor){.dtype = dtype_from_onnx(t->data_type), .rank = (uint32_t)t->n_dims, .data = host_data(a, t)};
  for (size_t i = 0; i < t->n_dims; i++) ret->dims[i] = t->dims[i];
  return true;
}

/* ---- from the interpreter ---- */
static const OnnxTensor *tensor_value(Arena *a, DType dtype, uint32_t rank, const int64_t *dims, const void *data, bool in_sequence) {
  OnnxTensor *t = NEW(a, OnnxTensor);
  size_t n = 1;
  for (uint32_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  const Tensor as_it_is = {.dtype = dtype, .n = n, .bytes = data, .n_bytes = cn_seq_bytes(n, dtype_rows[dtype].bits)};
  const Tensor *packed = in_sequence && dtype_rows[dtype].bits < 8 ? &as_it_is : tensor_from_host(a, dtype, n, data);
  *t = (OnnxTensor){.data_type = dtype_rows[dtype].onnx, .n_dims = rank, .dims = arena_dup(a, dims, rank * sizeof *dims), .n_elements = n,
                    .data = packed->bytes, .data_bytes = packed->n_bytes};
  if (dtype_rows[dtype].kind == KIND_X) {
    t->strings = data;
    t->n_strings = n;
  }
  return t;
}

/* The tensors of a sequence in its own form. */
static OnnxValue sequence_value(Arena *a, OnnxTypeKind kind, int dtype, const void *content) {
  OnnxValue v = {.kind = kind, .n_items = cn_seq_count(content)};
  OnnxValue *items = NEW_ARRAY(a, OnnxValue, v.n_items);
  const unsigned char *at = cn_seq_find(content, 0);
  for (size_t i = 0; i < v.n_items; i++) {
    const cn_seq_item head = cn_seq_read_item(at);
    int64_t dims[CN_SEQ_RANK];
    for (int64_t k = 0; k < head.rank; k++) dims[k] = cn_seq_dim(at, k);
    items[i] = (OnnxValue){.kind = ONNX_TYPE_TENSOR, .tensor = tensor_value(a, dtype_from_onnx(dtype), (uint32_t)head.rank, dims, cn_seq_data(at), true)};
    at += CN_SEQ_LINE * head.lines;
  }
  v.items = items;
  return v;
}

const OnnxValue *host_to_value(Arena *a, const HostTensor *h, const castnet_type *type) {
  OnnxValue *v = NEW(a, OnnxValue);
  if (!h->data) return NULL;
  if (!type || type->kind == CASTNET_KIND_TENSOR) {
    *v = (OnnxValue){.kind = ONNX_TYPE_TENSOR, .tensor = tensor_value(a, h->dtype, h->rank, h->dims, h->data, false)};
  } else if (type->kind == CASTNET_KIND_SEQUENCE) {
    *v = sequence_value(a, ONNX_TYPE_SEQUENCE, type->elem->dtype, h->data);
  } else if (type->elem->kind == CASTNET_KIND_TENSOR) {
    *v = sequence_value(a, ONNX_TYPE_OPTIONAL, type->elem->dtype, h->data);
  } else {
    OnnxValue *inner = NEW(a, OnnxValue);
    *inner = sequence_value(a, ONNX_TYPE_SEQUENCE, type->elem->elem->dtype, h->data);
    *v = (OnnxValue){.kind = ONNX_TYPE_OPTIONAL, .items = inner, .n_items = cn_seq_is_there(h->data)};
  }
  return v;
}
