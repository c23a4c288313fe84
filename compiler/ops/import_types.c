/* Declared types, symbols of dimensions, constant tensors. */
#include "ops/import_private.h"

/* ---- constants: the bytes stay where the file has them ---- */
static Value *tensor_value(Importer *im, DType dtype, size_t rank, const int64_t *sizes, const Tensor *data, Str name) {
  const Dim *dims[MAX_RANK];
  if (rank > MAX_RANK) {
    (void)diag_add(im->diags, DIAG_E0402, import_file_place(im), "tensor %s has rank %zu, more than %d", diag_quote(im->diags, name), rank, MAX_RANK);
    return NULL;
  }
  for (size_t i = 0; i < rank; i++) dims[i] = dim_const(im->ir->dims, sizes[i]);
  return ir_add_const(im->ir, type_tensor(im->ir, dtype, (uint32_t)rank, dims), data, name);
}

Value *import_constant_value(Importer *im, const OnnxTensor *t) {
  DType dtype = dtype_from_onnx(t->data_type);
  if (dtype == DT_NONE) {
    (void)diag_add(im->diags, DIAG_E0401, import_file_place(im), "tensor %s has no known element type", diag_quote(im->diags, t->name));
    return NULL;
  }
  Tensor *data = NEW(im->a, Tensor);
  *data = (Tensor){dtype, t->n_elements, t->data, t->data_bytes, t->strings};
  return tensor_value(im, dtype, t->n_dims, t->dims, data, t->name);
}

static bool bad_sparse(Importer *im, Str name, DiagCode code, const char *why) {
  (void)diag_add(im->diags, code, import_file_place(im), "sparse tensor %s: %s", diag_quote(im->diags, name), why);
  return false;
}

/* The flat place of element k, from a row of coordinates or a linear index. */
static bool sparse_place(const OnnxSparse *s, const int64_t *index, size_t k, size_t n, size_t *ret) {
  if (s->indices->n_dims == 1) {
    *ret = (size_t)index[k];
    return index[k] >= 0 && *ret < n;
  }
  size_t flat = 0;
  for (size_t i = 0; i < s->n_dims; i++) {
    int64_t x = index[k * s->n_dims + i];
    if (x < 0 || x >= s->dims[i]) return false;
    flat = flat * (size_t)s->dims[i] + (size_t)x;
  }
  *ret = flat;
  return true;
}

static bool sparse_size(Importer *im, const OnnxSparse *s, Str name, size_t element, size_t *ret_n) {
  enum { DENSE_MAX = 1 << 24 }; /* bytes that a few indices may ask for */
  size_t n = 1, bytes, indices = s->values->n_elements;
  for (size_t i = 0; i < s->n_dims; i++)
    if (s->dims[i] < 0 || !size_mul(n, (size_t)s->dims[i], &n)) return bad_sparse(im, name, DIAG_E0103, "its size overflows");
  if (!size_mul(n, element, &bytes) || bytes > DENSE_MAX) return bad_sparse(im, name, DIAG_E0502, "over 16 MiB when made dense");
  if (s->indices->n_dims == 2 && !size_mul(indices, s->n_dims, &indices)) return bad_sparse(im, name, DIAG_E0103, "its size overflows");
  if (dtype_from_onnx(s->indices->data_type) != DT_s64 || s->indices->n_dims < 1 || s->indices->n_dims > 2 || s->indices->n_elements != indices)
    return bad_sparse(im, name, DIAG_E0103, "its indices fit neither its values nor its shape");
  *ret_n = n;
  return true;
}

Value *import_sparse_value(Importer *im, const OnnxSparse *s, Str name) {
  DType dtype = dtype_from_onnx(s->values->data_type);
  size_t n = 0, element = dtype == DT_NONE ? 0 : dtype_rows[dtype].bits / 8;
  if (!element || dtype == DT_str) return bad_sparse(im, name, DIAG_E0306, "its element type is not compiled"), NULL;
  if (!sparse_size(im, s, name, element, &n)) return NULL;
  unsigned char *out = arena_array(im->a, n, element);
  const Tensor indices = {DT_s64, s->indices->n_elements, s->indices->data, s->indices->data_bytes, NULL};
  const int64_t *index = tensor_host_elements(im->a, &indices);
  for (size_t k = 0; k < s->values->n_elements; k++) {
    size_t at;
    if (!sparse_place(s, index, k, n, &at)) return bad_sparse(im, name, DIAG_E0103, "an index is out of range"), NULL;
    memcpy(out + at * element, (const unsigned char *)s->values->data + k * element, element);
  }
  Tensor *data = NEW(im->a, Tensor);
  *data = (Tensor){dtype, n, out, n * element, NULL};
  return tensor_value(im, dtype, s->n_dims, s->dims, data, name);
}

/* ---- dimensions ---- */
/* What exporters write for a dimension without a name: it says nothing about equality. */
static bool is_named(const OnnxDim *d) {
  return d->kind == ONNX_DIM_PARAM && d->param.len && !str_is(d->param, "?") && !str_is(d->param, "-1") && !str_is(d->param, "None");
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_of_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }

/* The name of a dimension, or what is shown of it and stands in C: underscores for what no identifier has. */
static bool means_dim(const struct ImportDim *dim, Str name) {
  const Str said = dim->name;
  if (dim->exact || said.len != name.len) return str_eq(said, name);
  for (size_t i = 0; i < name.len; i++) {
    if (said.ptr[i] != name.ptr[i] && (said.ptr[i] != '_' || is_of_word(name.ptr[i]))) return false;
  }
  return true;
}

static Str unnamed_dim(Arena *a, Str value, size_t axis) { return arena_printf(a, "%.*s_d%zu", STR_WHOLE(value), axis); }

bool import_dims_exist(Arena *a, Diags *d, const OnnxGraph *g, const ImportOptions *opt) {
  enum { SHOWN = 8 };
  for (size_t o = 0; o < opt->n_dims; o++) {
    StrBuf there = sb_new(a);
    size_t n = 0;
    bool found = false;
    for (size_t i = 0; i < g->n_inputs; i++) {
      const OnnxType *t = g->inputs[i].type;
      for (size_t k = 0; t && t->kind == ONNX_TYPE_TENSOR && k < t->n_dims; k++) {
        if (t->dims[k].kind == ONNX_DIM_VALUE && t->dims[k].value >= 0) continue;
        Str name = is_named(&t->dims[k]) ? t->dims[k].param : unnamed_dim(a, g->inputs[i].name, k);
        found = found || means_dim(&opt->dims[o], name);
        if (n++ < SHOWN) sb_printf(&there, "%s%s", n > 1 ? ", " : "", diag_quote(d, name));
      }
    }
    if (found) continue;
    Diag *e = diag_add(d, DIAG_E0001, (DiagPlace){0}, "--dim: no input has a dimension %s", diag_quote(d, opt->dims[o].name));
    e->hint = n ? arena_printf(d->arena, "known: %s%s", there.data, n > SHOWN ? ", ..." : "") : str_c("known: none, all sizes are fixed");
    return false;
  }
  return true;
}

static const Dim *input_symbol(Importer *im, Str name) {
  int64_t lo = 1, hi = INT32_MAX;
  for (size_t i = 0; i < im->opt->n_dims; i++)
    if (means_dim(&im->opt->dims[i], name)) lo = im->opt->dims[i].lo, hi = im->opt->dims[i].hi;
  return lo == hi ? dim_const(im->ir->dims, lo) : dim_symbol(im->ir->dims, name, lo, hi, DIM_FROM_INPUT);
}

static bool is_identifier(Str s) {
  for (size_t i = 0; i < s.len; i++) {
    if (!is_of_word(s.ptr[i]) || (i == 0 && is_digit(s.ptr[i]))) return false;
  }
  return s.len > 0;
}

/* "past + 1" over the names of other dimensions; NULL when it is a name of its own. */
static const Dim *parameter_expression(Importer *im, Str text) {
  enum { EXPRESSION_MAX = 64 };
  if (text.len > EXPRESSION_MAX || is_identifier(text)) return NULL;
  const Dim *d = dim_parse(im->ir->dims, &text);
  const bool speaks = d && text.len == 0 && !dim_is_bad(d) && !dim_is_const(d, NULL); /* "8" alone is a name as any other */
  return speaks ? d : NULL;
}

const Dim *import_known_dim(Importer *im, const OnnxDim *d) {
  if (d->kind == ONNX_DIM_VALUE && d->value >= 0) return dim_const(im->ir->dims, d->value);
  if (!is_named(d)) return NULL;
  for (size_t i = 0; i < im->opt->n_dims; i++)
    if (means_dim(&im->opt->dims[i], d->param) && im->opt->dims[i].lo == im->opt->dims[i].hi) return dim_const(im->ir->dims, im->opt->dims[i].lo);
  const Dim *e = parameter_expression(im, d->param), *symbol = e ? NULL : dim_symbol_find(im->ir->dims, d->param);
  return e ? e : symbol && symbol->symbol.origin == DIM_FROM_INPUT ? symbol : NULL;
}

static const Dim *import_dim(Importer *im, const OnnxDim *d, Str name, size_t axis) {
  if (d->kind == ONNX_DIM_VALUE && d->value >= 0) return dim_const(im->ir->dims, d->value);
  if (is_named(d)) {
    const Dim *e = parameter_expression(im, d->param);
    return e ? e : input_symbol(im, d->param);
  }
  return input_symbol(im, unnamed_dim(im->a, name, axis));
}

void import_declare_symbols(Importer *im, const OnnxGraph *g) {
  for (size_t i = 0; i < g->n_inputs; i++) {
    const OnnxType *t = g->inputs[i].type;
    for (size_t k = 0; t && t->kind == ONNX_TYPE_TENSOR && k < t->n_dims; k++)
      if (is_named(&t->dims[k]) && is_identifier(t->dims[k].param)) (void)input_symbol(im, t->dims[k].param);
  }
}

/* ---- types ---- */
static bool bad_type(Importer *im, Str name, const char *what) {
  (void)diag_add(im->diags, DIAG_E0204, import_file_place(im), "value %s: %s", diag_quote(im->diags, name), what);
  return false;
}

static bool type_unsupported(Importer *im, Str name, const char *what) {
  (void)diag_add(im->diags, DIAG_E0306, import_file_place(im), "value %s: %s are not compiled by this version", diag_quote(im->diags, name), what);
  return false;
}

static bool import_tensor_type(Importer *im, const OnnxType *t, Str name, Type *ret) {
  DType dtype = dtype_from_onnx(t->elem_type);
  const Dim *dims[MAX_RANK];
  if (dtype == DT_NONE) return bad_type(im, name, "its element type is unknown");
  if (!t->has_shape) return bad_type(im, name, "its shape is missing");
  if (t->n_dims > MAX_RANK) return bad_type(im, name, "its rank is over 16");
  for (size_t i = 0; i < t->n_dims; i++) dims[i] = import_dim(im, &t->dims[i], name, i);
  *ret = type_tensor(im->ir, dtype, (uint32_t)t->n_dims, dims);
  if (dim_is_bad(type_count(im->ir, ret))) {
    (void)diag_add(im->diags, DIAG_E0501, import_file_place(im), "value %s: its size overflows 64 bits", diag_quote(im->diags, name));
    return false;
  }
  return true;
}

/* Names of dimensions say nothing here: the tensors of a sequence may have a size each. */
bool import_seq_type(Importer *im, const OnnxType *t, Str name, SeqType *ret) {
  const bool optional = t->kind == ONNX_TYPE_OPTIONAL;
  const OnnxType *e = t->elem;
  *ret = (SeqType){.form = optional ? SEQ_OPTIONAL : SEQ_SEQUENCE, .rank = SEQ_RANK_UNKNOWN, .guess = true};
  if (optional && e && e->kind == ONNX_TYPE_SEQUENCE) {
    ret->form = SEQ_OPTIONAL_SEQUENCE;
    e = e->elem;
  }
  if (!e || e->kind == ONNX_TYPE_NONE) return bad_type(im, name, "the type of what it holds is missing");
  if (e->kind != ONNX_TYPE_TENSOR) return type_unsupported(im, name, "sequences and optionals of other values than tensors");
  ret->dtype = dtype_from_onnx(e->elem_type);
  if (ret->dtype == DT_NONE) return bad_type(im, name, "its element type is unknown");
  if (!e->has_shape) return true;
  if (e->n_dims > MAX_RANK) return bad_type(im, name, "its rank is over 16");
  const Dim **dims = NEW_ARRAY(im->a, const Dim *, e->n_dims);
  for (size_t i = 0; i < e->n_dims; i++)
    if (e->dims[i].kind == ONNX_DIM_VALUE && e->dims[i].value >= 0) dims[i] = dim_const(im->ir->dims, e->dims[i].value);
  ret->rank = (int32_t)e->n_dims;
  ret->dims = dims;
  ret->guess = false;
  return true;
}

/* How much is in it, data decide. */
static bool import_sequence(Importer *im, const OnnxType *t, Str name, Type *ret) {
  Builder b = {im->ir, im->graph, import_file_place(im)};
  SeqType s;
  return import_seq_type(im, t, name, &s) && build_seq_type(&b, s, bd_data_symbol(&b, "lines", 1, INT32_MAX, NULL), ret);
}

/* Keys and values of the types that the standard's operators on maps know. */
static bool import_map(Importer *im, const OnnxType *t, Str name, bool sequence, Type *ret) {
  Builder b = {im->ir, im->graph, import_file_place(im)};
  const DType value = t->elem && t->elem->kind == ONNX_TYPE_TENSOR ? dtype_from_onnx(t->elem->elem_type) : DT_NONE;
  const MapType map = {sequence, dtype_from_onnx(t->key_type), value};
  if (map.key != DT_str && map.key != DT_s64) return type_unsupported(im, name, "maps with keys that are neither strings nor int64");
  if (value != DT_str && value != DT_s64 && value != DT_f32 && value != DT_f64) return type_unsupported(im, name, "maps of other values than strings, int64, float and double");
  const Dim *const dims[] = {sequence ? bd_data_symbol(&b, "maps", 0, INT32_MAX, NULL) : im->ir->dims->one, dim_const(im->ir->dims, 3)};
  *ret = type_tensor(im->ir, DT_u64, 2, dims);
  ret->map = arena_dup(im->a, &map, sizeof map);
  return true;
}

bool import_type(Importer *im, const OnnxType *t, Str name, Type *ret) {
  if (!t) return bad_type(im, name, "its type is missing");
  switch (t->kind) {
    case ONNX_TYPE_TENSOR: return import_tensor_type(im, t, name, ret);
    case ONNX_TYPE_MAP: return import_map(im, t, name, false, ret);
    case ONNX_TYPE_SEQUENCE:
      if (t->elem && t->elem->kind == ONNX_TYPE_MAP) return import_map(im, t->elem, name, true, ret);
      return import_sequence(im, t, name, ret);
    case ONNX_TYPE_OPTIONAL: return import_sequence(im, t, name, ret);
    default: return bad_type(im, name, "values of its kind are not compiled by this version");
  }
}
