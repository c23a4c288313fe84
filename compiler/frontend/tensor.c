/* TensorProto and SparseTensorProto: where the elements lie, and whether they are as many as the shape says. */
#include "frontend/onnx.pb.h"
#include "frontend/reader.h"
#include "ir/dtype.h"

/* A tensor's data is wrong: said once a tensor, and reading goes on (true) until there are too many. */
static bool tensor_bad(Reader *r, DiagCode code, const OnnxTensor *t, Str bytes, const char *fmt, ...)
    BASE_PRINTF(5, 6);
static bool tensor_bad(Reader *r, DiagCode code, const OnnxTensor *t, Str bytes, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  StrBuf b = sb_new(r->diags->arena);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  (void)diag_add(r->diags, code, (DiagPlace){.file = r->name}, "tensor %s at byte %zu: %s",
                 diag_quote(r->diags, t->name), reader_offset(r, bytes.ptr), b.data);
  if (++r->n_bad < READER_MAX_BAD) return true;
  return reader_fail(r, DIAG_E0103, bytes.ptr, "%d tensors are bad; reading stops here", READER_MAX_BAD);
}

bool entry_read(Reader *r, Str bytes, void *ret) {
  OnnxEntry *e = ret;
  onnx_StringStringEntryProto m = {.key = FIELD_STR(e->key), .value = FIELD_STR(e->value)};
  return message_read(r, bytes, onnx_StringStringEntryProto_fields, &m);
}

/* ---- which typed field holds a type's elements (comments of onnx.proto) ---- */
typedef enum { HELD_FLOAT, HELD_INT32, HELD_STRING, HELD_INT64, HELD_DOUBLE, HELD_UINT64, HELD_COUNT } Held;

static const char *const held_names[HELD_COUNT] = {"float_data",  "int32_data",  "string_data",
                                                   "int64_data", "double_data", "uint64_data"};

static Held held_by(DType t) {
  switch (t) {
    case DT_f32:
    case DT_c64: return HELD_FLOAT;
    case DT_f64:
    case DT_c128: return HELD_DOUBLE;
    case DT_s64: return HELD_INT64;
    case DT_u32:
    case DT_u64: return HELD_UINT64;
    case DT_str: return HELD_STRING;
    default: return HELD_INT32;
  }
}

/* Bytes that one entry of the typed field stands for: an entry of int32_data is one element, or one byte of packed
 * ones; complex numbers are two entries. */
static uint32_t entry_bytes(DType t) {
  unsigned bits = dtype_rows[t].bits;
  if (dtype_rows[t].kind == KIND_C) bits /= 2;
  return bits < 8 ? 1 : bits / 8;
}

static OnnxField *held_field(onnx_TensorProto *m, Held h) {
  OnnxField *const fields[HELD_COUNT] = {&m->float_data, &m->int32_data,  &m->string_data,
                                         &m->int64_data, &m->double_data, &m->uint64_data};
  return fields[h];
}

/* ---- checks ---- */
static bool elements_count(const OnnxTensor *t, size_t *ret) {
  size_t n = 1;
  bool zero = false, fits = true;
  for (size_t i = 0; i < t->n_dims; i++) {
    zero |= t->dims[i] == 0;
    fits = fits && size_mul(n, (size_t)t->dims[i], &n);
  }
  *ret = zero ? 0 : n;
  return zero || fits;
}

/* dims, data_type -> n_elements and the bytes they take. NULL, or what is wrong with them. */
static const char *shape_check(OnnxTensor *t, DType type, size_t *ret_bytes) {
  if (type == DT_NONE) return "its data type is unknown";
  for (size_t i = 0; i < t->n_dims; i++)
    if (t->dims[i] < 0) return "a dimension is negative";
  if (!elements_count(t, &t->n_elements) || !dtype_bytes(type, t->n_elements, ret_bytes))
    return "the product of its dimensions overflows";
  return NULL;
}

/* A typed field that is not the one for the type, or NULL. */
static const char *stray_field(onnx_TensorProto *m, Held right) {
  for (Held h = 0; h < HELD_COUNT; h++)
    if (h != right && held_field(m, h)->count) return held_names[h];
  return NULL;
}

static bool data_check(Reader *r, OnnxTensor *t, Str bytes, size_t held_bytes, size_t size) {
  if (t->raw.len && held_bytes)
    return tensor_bad(r, DIAG_E0103, t, bytes, "its elements are given twice, in raw_data and in a typed field");
  if (t->raw.len) t->data = t->raw.ptr;
  t->data_bytes = t->raw.len ? t->raw.len : held_bytes;
  if (t->data_bytes == size) return true;
  return tensor_bad(r, DIAG_E0103, t, bytes, "it has %zu bytes of data, but its type and shape ask for %zu",
                    t->data_bytes, size);
}

static bool strings_check(Reader *r, OnnxTensor *t, Str bytes) {
  if (t->raw.len || t->external)
    return tensor_bad(r, DIAG_E0103, t, bytes, "strings must be in string_data, not in raw or external data");
  if (t->n_strings == t->n_elements) return true;
  return tensor_bad(r, DIAG_E0103, t, bytes, "it has %zu strings, but its shape asks for %zu", t->n_strings,
                    t->n_elements);
}

static bool external_read(Reader *r, OnnxTensor *t, Str bytes, const OnnxEntry *entries, size_t n, size_t size) {
  Str found;
  const char *why = external_find(r, entries, n, size, &found);
  if (why) return tensor_bad(r, DIAG_E0104, t, bytes, "%s", why);
  t->data = found.ptr;
  t->data_bytes = found.len;
  return true;
}

/* ---- float6: raw and external data are a stream of 6 bits an element, low bits first; elsewhere each has a byte ---- */
static bool float6_unpack(Reader *r, OnnxTensor *t) {
  const unsigned char *from = t->data;
  unsigned char *to = reader_alloc(r, t->n_elements, 1);
  if (!to) return false;
  for (size_t i = 0; i < t->n_elements; i++) {
    const size_t at = i / 4 * 3 + i % 4 * 6 / 8;
    const unsigned shift = (unsigned)(i % 4 * 6 % 8), next = shift > 2 ? from[at + 1] : 0u; /* the next byte only where the element reaches into it */
    to[i] = (unsigned char)((from[at] | next << 8) >> shift & 63u);
  }
  t->data = to;
  t->data_bytes = t->n_elements;
  return true;
}

static bool segment_refuse(Reader *r, Str bytes, void *ret) {
  return tensor_bad(r, DIAG_E0103, ret, bytes, "it is stored in segments, which nothing reads");
}

bool tensor_read(Reader *r, Str bytes, void *ret) {
  OnnxTensor *t = ret;
  const OnnxEntry *entries = NULL;
  size_t n_entries = 0, n_held = 0, size = 0;
  onnx_TensorProto m = {.name = FIELD_STR(t->name),
                        .dims = FIELD_NUMBERS(int64_t, t->dims, t->n_dims),
                        .raw_data = FIELD_STR(t->raw),
                        .segment = FIELD_HERE(t, segment_refuse),
                        .external_data = FIELD_MANY(OnnxEntry, entries, n_entries, entry_read)};
  for (Held h = 0; h < HELD_COUNT; h++)
    *held_field(&m, h) = (OnnxField){.dst = (void *)&t->data, .n_dst = &n_held, .flags = FIELD_DATA};
  m.string_data = FIELD_STRS(t->strings, t->n_strings);
  if (!message_count(r, bytes, onnx_TensorProto_fields, &m)) return false;

  DType type = dtype_from_onnx(m.data_type);
  Held held = held_by(type);
  const char *stray = stray_field(&m, held);
  for (Held h = 0; h < HELD_COUNT; h++) {
    if (h == held) held_field(&m, h)->size = type ? entry_bytes(type) : 1;
    else held_field(&m, h)->dst = NULL;
  }
  if (!message_fill(r, bytes, onnx_TensorProto_fields, &m)) return false;

  t->data_type = m.data_type;
  t->has_raw = m.raw_data.count != 0;
  t->external = m.data_location == onnx_TensorProto_DataLocation_EXTERNAL;
  const char *why = shape_check(t, type, &size);
  if (why)
    return tensor_bad(r, DIAG_E0103, t, bytes, "%s (data_type %d, %zu dimensions)", why, (int)t->data_type, t->n_dims);
  if (stray)
    return tensor_bad(r, DIAG_E0103, t, bytes, "elements of type %s are in %s, not in %s", dtype_name(type), stray,
                      held_names[held]);
  if (type == DT_str) return strings_check(r, t, bytes);
  const bool stream = dtype_is_float6(type) && (t->external || t->has_raw);
  if (stream) size -= size / 4; /* ceil(6 n / 8) */
  const unsigned bad = r->n_bad;
  const bool ok = t->external ? external_read(r, t, bytes, entries, n_entries, size) : data_check(r, t, bytes, n_held * entry_bytes(type), size);
  return ok && (!stream || r->n_bad != bad || float6_unpack(r, t));
}

bool sparse_read(Reader *r, Str bytes, void *ret) {
  OnnxSparse *s = ret;
  onnx_SparseTensorProto m = {.values = FIELD_ONE(OnnxTensor, s->values, tensor_read),
                              .indices = FIELD_ONE(OnnxTensor, s->indices, tensor_read),
                              .dims = FIELD_NUMBERS(int64_t, s->dims, s->n_dims)};
  if (!message_read(r, bytes, onnx_SparseTensorProto_fields, &m)) return false;
  if (!s->values || !s->indices)
    return reader_fail(r, DIAG_E0103, bytes.ptr, "a sparse tensor lacks its values or its indices");
  return true;
}
