/* ai.onnx.ml: operators on maps. */
#include "ops/shared.h"

/* A map of labels to scores for each row. */
bool import_zip_map(OpContext *c) {
  Builder *b = &c->b;
  Value *x = c->in[0];
  size_t n, n_ints;
  const Str *strings = op_strs(c, "classlabels_strings", &n);
  const int64_t *ints = op_ints(c, "classlabels_int64s", &n_ints);
  if ((n > 0) == (n_ints > 0)) return op_fail(c, DIAG_E0304, "one of 'classlabels_strings' and 'classlabels_int64s' is asked");
  if (n == 0) n = n_ints, strings = NULL;
  if (x->type.rank == 1) x = build_unsqueeze(b, x, 1);
  const Dim *const count = bd_const(b, (int64_t)n);
  if (!x || x->type.rank != 2 || !ir_require_eq(b->ir, x->type.dims[1], count)) return op_fail(c, DIAG_E0402, "shape %s for %zu labels", op_shape(c, 0), n);
  Value *const in[] = {strings ? op_vector(c, DT_str, n, strings) : build_ints(b, ints, n), x};
  const MapType map = {true, strings ? DT_str : DT_s64, DT_f32};
  const Dim *const rows[] = {x->type.dims[0], bd_const(b, 3)}, *const values[] = {x->type.dims[0], count};
  Type types[] = {type_tensor(b->ir, DT_u64, 2, rows), type_tensor(b->ir, DT_f32, 2, values)};
  types[0].map = arena_dup(op_arena(c), &map, sizeof map);
  Value *made[2];
  if (!op_routine(c, "cn_op_zip_map", in, 2, NULL, 0, NULL, types, 2, made)) return false;
  return op_give(c, 0, made[0]);
}

/* ---- maps to tensors ---- */
bool import_dict_vectorizer(OpContext *c) {
  Builder *b = &c->b;
  const MapType *m = c->in[0]->type.map;
  size_t n, n_ints;
  const Str *strings = op_strs(c, "string_vocabulary", &n);
  const int64_t *ints = op_ints(c, "int64_vocabulary", &n_ints);
  if (m->sequence) return op_fail(c, DIAG_E0401, "input 0 is a sequence of maps");
  if ((n > 0) == (n_ints > 0)) return op_fail(c, DIAG_E0304, "one of 'string_vocabulary' and 'int64_vocabulary' is asked");
  if ((m->key == DT_str) != (n > 0)) return op_fail(c, DIAG_E0401, "the map's keys are %s, which the vocabulary is not", dtype_name(m->key));
  if (n == 0) n = n_ints;
  Value *in[3] = {c->in[0]};
  if (!op_sorted(c, m->key, n, strings ? (const void *)strings : ints, &in[1], &in[2])) return false;
  const Dim *const dim = bd_const(b, (int64_t)n);
  const Type type = type_tensor(b->ir, m->value, 1, &dim);
  return op_routine(c, "cn_op_map_vector", in, 3, NULL, 0, NULL, &type, 1, c->out);
}

static Value *cast_values(OpContext *c, Value *x, DType to) {
  if (!x) return NULL;
  return (x->type.dtype == DT_str) != (to == DT_str) ? op_cast_text(c, x, to) : build_cast(&c->b, x, to, true);
}

/* Values [n] at their keys in a row of `most`, zeros or empty strings elsewhere. */
static Value *sparse_row(OpContext *c, Value *values, Value *keys, int64_t most) {
  Builder *b = &c->b;
  static const Str nothing[1];
  const Dim *const dim = bd_const(b, most), *const count = values->type.dims[1], *const row[] = {op_dims(c)->one, dim};
  Value *zero = values->type.dtype == DT_str ? op_vector(c, DT_str, 1, nothing) : build_reshape(b, op_scalar_like(c, values, 0), 1, &op_dims(c)->one);
  Value *y = op_scatter_vector(c, build_expand(b, zero, 1, &dim), build_reshape(b, values, 1, &count), build_reshape(b, keys, 1, &count));
  return build_reshape(b, y, 2, row);
}

bool import_cast_map(OpContext *c) {
  Builder *b = &c->b;
  const MapType *m = c->in[0]->type.map;
  const Str form = op_str(c, "map_form", "DENSE"), to = op_str(c, "cast_to", "TO_FLOAT");
  const bool sparse = str_is(form, "SPARSE");
  const DType type = str_is(to, "TO_FLOAT") ? DT_f32 : str_is(to, "TO_STRING") ? DT_str : str_is(to, "TO_INT64") ? DT_s64 : DT_NONE;
  const int64_t most = op_int(c, "max_map", 1);
  if (m->sequence || m->key != DT_s64) return op_fail(c, DIAG_E0401, "input 0 is no map with keys int64");
  if (type == DT_NONE) return op_fail(c, DIAG_E0304, "attribute 'cast_to' is none of TO_FLOAT, TO_STRING, TO_INT64");
  if (!sparse && !str_is(form, "DENSE")) return op_fail(c, DIAG_E0304, "attribute 'map_form' is neither DENSE nor SPARSE");
  if (sparse && (most < 0 || most > INT32_MAX)) return op_fail(c, DIAG_E0304, "attribute 'max_map' is %lld", (long long)most);
  const ExternAttrValue attr = {.name = STR("most"), .kind = EXTERN_INT, .n = 1, .i = sparse ? most : -1};
  const ExternAttr e = {.symbol = STR("cn_op_map_values"), .measured = true, .attrs = arena_dup(op_arena(c), &attr, sizeof attr), .n_attrs = 1};
  const Dim *const dims[] = {op_dims(c)->one, bd_data_symbol(b, "entries", 0, INT32_MAX, NULL)};
  const Type types[] = {type_tensor(b->ir, m->value, 2, dims), type_tensor(b->ir, DT_s64, 2, dims)};
  Value *made[2];
  if (!build_extern(b, e, c->in, 1, types, 2, made)) return false;
  Value *y = cast_values(c, made[0], type);
  return y && op_give(c, 0, sparse ? sparse_row(c, y, made[1], most) : y);
}
