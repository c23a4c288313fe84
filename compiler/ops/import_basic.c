/* Constants, generators, and operators that give what they take. */
#include "ops/shared.h"

static bool give(OpContext *c, Value *v) {
  c->out[0] = v;
  return v != NULL;
}

bool import_identity(OpContext *c) { return give(c, c->in[0]); }

/* ---- constants ---- */
bool import_constant(OpContext *c) {
  size_t n;
  if (c->n_attrs != 1) return op_fail(c, DIAG_E0304, "exactly one value must be given");
  if (op_tensor(c, "value")) return give(c, op_constant(c, op_tensor(c, "value")));
  if (op_has_attr(c, "value_float")) return give(c, build_scalar_f(&c->b, DT_f32, (double)op_float(c, "value_float", 0)));
  if (op_has_attr(c, "value_int")) return give(c, build_scalar_i(&c->b, DT_s64, op_int(c, "value_int", 0)));
  if (op_has_attr(c, "value_ints")) {
    const int64_t *v = op_ints(c, "value_ints", &n);
    return give(c, build_ints(&c->b, v, n));
  }
  if (op_has_attr(c, "value_floats")) {
    const float *v = op_floats(c, "value_floats", &n);
    return give(c, build_floats(&c->b, v, n));
  }
  if (op_has_attr(c, "sparse_value")) return give(c, op_sparse_constant(c, "sparse_value"));
  const Str *strings = op_strs(c, "value_strings", &n);
  const bool one = op_has_attr(c, "value_string");
  const Str single = op_str(c, "value_string", "");
  if (!one && !op_has_attr(c, "value_strings")) return op_fail(c, DIAG_E0304, "the value is missing");
  const Dim *dim = bd_const(&c->b, one ? 1 : (int64_t)n);
  const Tensor *data = tensor_from_host(c->b.ir->arena, DT_str, one ? 1 : n, one ? arena_dup(c->b.ir->arena, &single, sizeof single) : strings);
  return give(c, ir_add_const(c->b.ir, type_tensor(c->b.ir, DT_str, one ? 0 : 1, &dim), data, (Str){0}));
}

bool import_constant_of_shape(OpContext *c) {
  size_t n;
  if (op_rank(c, 0) != 1) return op_fail(c, DIAG_E0402, "the shape must be a vector");
  if (!op_choose_length(c, 0, op_declared_rank(c, 0), 0, MAX_RANK)) return false;
  const Dim *const *dims = build_read_dims(&c->b, c->in[0], "size", 0, INT32_MAX, NULL, &n);
  if (!dims) return false;
  if (n > MAX_RANK) return op_fail(c, DIAG_E0402, "rank %zu", n);
  for (size_t i = 0; i < n; i++)
    if (dims[i]->hi < 0) return op_fail(c, DIAG_E0403, "dimension %zu is negative", i);
  const OnnxTensor *t = op_tensor(c, "value");
  if (t && t->n_elements != 1) return op_fail(c, DIAG_E0304, "value must hold one element");
  Value *v = t ? op_constant(c, t) : build_scalar_f(&c->b, DT_f32, 0);
  return give(c, build_expand(&c->b, v ? build_reshape(&c->b, v, 0, NULL) : NULL, (uint32_t)n, dims));
}

/* ---- ranges: start + i * delta for i below max(ceil((limit - start) / delta), 0) ---- */
/* From integers that are known at compile time; NULL otherwise. False after a diagnostic. */
static bool known_count(OpContext *c, const Dim **ret) {
  Builder *b = &c->b;
  DimCtx *d = b->ir->dims;
  const Dim *limits[3];
  for (size_t k = 0; k < 3; k++) {
    size_t n;
    const Dim *const *content = build_content(b, c->in[k], &n);
    if (!content || n != 1) return true;
    limits[k] = content[0];
  }
  if (dim_is(limits[2], 0)) return op_fail(c, DIAG_E0403, "delta is 0");
  if (limits[2]->kind != DIM_CONST) return true;
  const bool down = limits[2]->value < 0;
  const Dim *span = down ? dim_sub(d, limits[0], limits[1]) : dim_sub(d, limits[1], limits[0]);
  *ret = dim_max(d, dim_ceildiv(d, span, down ? dim_mulc(d, limits[2], -1) : limits[2]), d->zero);
  return true;
}

static bool known_float_count(OpContext *c, const Dim **ret) {
  const double *s, *l, *e;
  size_t n;
  if (!build_const_floats(&c->b, c->in[0], &s, &n) || !build_const_floats(&c->b, c->in[1], &l, &n) || !build_const_floats(&c->b, c->in[2], &e, &n)) return true;
  const double steps = (l[0] - s[0]) / e[0];
  if (!(steps < 4e18)) return op_fail(c, DIAG_E0403, "the number of elements is not finite");
  const int64_t whole = steps > 0 ? (int64_t)steps : 0;
  *ret = bd_const(&c->b, whole + ((double)whole < steps));
  return true;
}

/* Decided by data: computed in f64, which holds every span of up to 2^53, and read. */
static const Dim *run_time_count(OpContext *c) {
  Builder *b = &c->b;
  Value *v[3];
  size_t n;
  for (size_t k = 0; k < 3; k++) v[k] = build_cast(b, build_reshape(b, c->in[k], 0, NULL), DT_f64, true);
  Value *steps = build_fn1(b, SC_ceil, build_fn2(b, SC_div, build_fn2(b, SC_sub, v[1], v[0]), v[2]));
  steps = build_fn2(b, SC_max, steps, build_scalar_f(b, DT_f64, 0));
  const Dim *const *count = build_read_dims(b, build_cast(b, steps, DT_s64, true), "count", 0, INT32_MAX, NULL, &n);
  return count ? count[0] : NULL;
}

bool import_range(OpContext *c) {
  Builder *b = &c->b;
  Arena *a = b->ir->arena;
  const DType t = op_dtype(c, 0);
  const Dim *count = NULL;
  for (size_t k = 0; k < 3; k++)
    if (!op_one_element(c, k)) return false;
  if (!(dtype_is_int(t) ? known_count(c, &count) : known_float_count(c, &count))) return false;
  if (!count) count = run_time_count(c);
  if (!count) return false;
  Expr e = {0};
  const DType wide = dtype_is_float(t) ? dtype_compute(t) : t; /* one rounding of narrow floats */
  const uint32_t start = expr_cast(a, &e, wide, true, expr_input(a, &e, 0, t)), delta = expr_cast(a, &e, wide, true, expr_input(a, &e, 1, t));
  const uint32_t i = expr_cast(a, &e, wide, true, expr_index(a, &e, 0));
  expr_set_result(a, &e, expr_cast(a, &e, t, true, expr_fn2(a, &e, SC_add, start, expr_fn2(a, &e, SC_mul, i, delta))));
  Value *const in[2] = {build_reshape(b, c->in[0], 0, NULL), build_reshape(b, c->in[2], 0, NULL)};
  return give(c, build_expr(b, e, in, 2, 1, &count));
}

/* ---- masks by coordinates ---- */
bool import_eye_like(OpContext *c) {
  Builder *b = &c->b;
  Arena *a = b->ir->arena;
  const Type *x = &c->in[0]->type;
  DType t = op_has_attr(c, "dtype") ? dtype_from_onnx(op_int(c, "dtype", 0)) : x->dtype;
  if (x->rank != 2) return op_fail(c, DIAG_E0402, "rank %u, 2 is asked", x->rank);
  if (t == DT_NONE || !cast_exists(DT_b1, t)) return op_fail(c, DIAG_E0304, "dtype names no element type");
  Expr e = {0};
  uint32_t shifted = expr_fn2(a, &e, SC_add, expr_index(a, &e, 0), expr_const_i(a, &e, DT_s64, op_int(c, "k", 0)));
  expr_set_result(a, &e, expr_cast(a, &e, t, true, expr_fn2(a, &e, SC_eq, shifted, expr_index(a, &e, 1))));
  return give(c, build_expr(b, e, NULL, 0, 2, x->dims));
}

bool import_trilu(OpContext *c) {
  Builder *b = &c->b;
  Arena *a = b->ir->arena;
  const Type *x = &c->in[0]->type;
  if (x->rank < 2) return op_fail(c, DIAG_E0402, "rank %u, at least 2 is asked", x->rank);
  Expr e = {0};
  uint32_t value = expr_input(a, &e, 0, x->dtype), zero = expr_input(a, &e, 1, x->dtype);
  uint32_t k = c->in[1] ? expr_input(a, &e, 2, DT_s64) : expr_const_i(a, &e, DT_s64, 0);
  uint32_t diagonal = expr_fn2(a, &e, SC_add, expr_index(a, &e, x->rank - 2), k), column = expr_index(a, &e, x->rank - 1);
  uint32_t keep = expr_fn2(a, &e, op_int(c, "upper", 1) ? SC_ge : SC_le, column, diagonal);
  expr_set_result(a, &e, expr_fn3(a, &e, SC_select, keep, value, zero));
  Value *const in[3] = {c->in[0], build_zero(b, x->dtype), c->in[1] ? build_reshape(b, c->in[1], 0, NULL) : NULL};
  return give(c, build_expr(b, e, in, c->in[1] ? 3 : 2, (int)x->rank, x->dims));
}

/* values[1] where the new axis' coordinate is the index (negative ones count from the end), else values[0] */
bool import_one_hot(OpContext *c) {
  Builder *b = &c->b;
  Arena *a = b->ir->arena;
  const Type *x = &c->in[0]->type;
  size_t n;
  uint32_t axis, rank = x->rank + 1;
  const Dim *depth = NULL;
  Value *number = build_cast(b, build_reshape(b, c->in[1], 0, NULL), DT_s64, true);
  const double *value;
  if (build_const_floats(b, c->in[1], &value, &n) && n == 1 && value[0] > -1 && value[0] < 2147483648.0) depth = dim_const(b->ir->dims, (int64_t)value[0]);
  const Dim *const *read = depth || !number ? NULL : build_read_dims(b, number, "depth", 0, INT32_MAX, NULL, &n);
  if (read) depth = read[0];
  if (!depth) return false;
  if (depth->hi < 0) return op_fail(c, DIAG_E0403, "the depth is negative");
  if (rank > MAX_RANK || !op_axis(c, op_int(c, "axis", -1), rank, &axis)) return rank > MAX_RANK ? op_fail(c, DIAG_E0402, "rank %u", rank) : false;
  if (c->in[2]->type.rank != 1 || !ir_require_eq(b->ir, c->in[2]->type.dims[0], bd_const(b, 2))) return op_fail(c, DIAG_E0402, "values must hold two elements");
  const Dim *dims[MAX_RANK], *one = b->ir->dims->one;
  for (uint32_t i = 0, j = 0; i < rank; i++) dims[i] = i == axis ? depth : x->dims[j++];
  Value *index = build_unsqueeze(b, build_cast(b, c->in[0], DT_s64, true), 1u << axis);
  Value *off = build_reshape(b, build_slice(b, c->in[2], 0, b->ir->dims->zero, one, one), 0, NULL);
  Value *on = build_reshape(b, build_slice(b, c->in[2], 0, one, one, one), 0, NULL);
  DType t = c->in[2]->type.dtype;
  Expr e = {0};
  uint32_t i = expr_input(a, &e, 0, DT_s64), at = expr_index(a, &e, axis), size = expr_dim(a, &e, depth);
  uint32_t hit = expr_fn2(a, &e, SC_eq, i, at), wrapped = expr_fn2(a, &e, SC_eq, expr_fn2(a, &e, SC_add, i, size), at);
  uint32_t yes = expr_fn2(a, &e, SC_or, hit, wrapped);
  expr_set_result(a, &e, expr_fn3(a, &e, SC_select, yes, expr_input(a, &e, 2, t), expr_input(a, &e, 1, t)));
  Value *const in[3] = {index, off, on};
  return give(c, build_expr(b, e, in, 3, (int)rank, dims));
}

/* An axis that only data decides: of the results along each axis the one asked for. Out of range is CASTNET_ERR_INDEX. */
static Value *scan_along_any(OpContext *c, bool exclusive, bool reverse) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  int64_t numbers[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) numbers[i] = i;
  const Affine place = {.offset = b->ir->dims->zero};
  const GatherAxis axis = {.indirect = true, .operand = 1, .place = &place};
  Value *const in[] = {build_ints(b, numbers, rank), build_reshape(b, c->in[1], 0, NULL)};
  Value *at = build_gather(b, in, 2, 0, NULL, &axis), *v = NULL;
  for (uint32_t i = 0; i < rank; i++) {
    Value *along = build_scan(b, (ScalarFn)c->row->arg, c->in[0], i, exclusive, reverse);
    v = v ? build_fn3(b, SC_select, build_fn2(b, SC_eq, at, build_scalar_i(b, DT_s64, i)), along, v) : along;
  }
  return v;
}

bool import_cumulative(OpContext *c) {
  const bool exclusive = op_int(c, "exclusive", 0) != 0, reverse = op_int(c, "reverse", 0) != 0;
  const int64_t *axis;
  size_t n;
  uint32_t at;
  if (!op_one_element(c, 1)) return false;
  if (op_rank(c, 0) == 0) return give(c, exclusive ? op_scalar_like(c, c->in[0], c->row->arg == SC_mul) : c->in[0]);
  if (!build_const_ints(&c->b, c->in[1], &axis, &n)) return give(c, scan_along_any(c, exclusive, reverse));
  if (!op_axis(c, axis[0], op_rank(c, 0), &at)) return false;
  return give(c, build_scan(&c->b, (ScalarFn)c->row->arg, c->in[0], at, exclusive, reverse));
}

/* ---- sizes ---- */
bool import_shape(OpContext *c) {
  int64_t rank = c->in[0]->type.rank, start = op_int(c, "start", 0), end = op_int(c, "end", rank);
  if (c->in[0]->type.kind != TYPE_TENSOR) return op_fail(c, DIAG_E0401, "the operand is no tensor");
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = start < 0 ? 0 : start > rank ? rank : start;
  end = end < start ? start : end > rank ? rank : end;
  return give(c, build_dims(&c->b, c->in[0]->type.dims + start, (size_t)(end - start)));
}

bool import_size(OpContext *c) { return give(c, build_dim_scalar(&c->b, type_count(c->b.ir, &c->in[0]->type))); }

/* Inference: the data as it is, a mask of ones. */
