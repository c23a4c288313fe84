/* ai.onnx.ml: element-wise preparation of features, linear models. */
#include "ops/shared.h"

/* A vector of the attribute's floats in the type computed in: [n]. */
static Value *float_vector(OpContext *c, DType t, const char *name) {
  size_t n;
  const float *v = op_floats(c, name, &n);
  if (!v) return NULL;
  return build_cast(&c->b, build_floats(&c->b, v, n), t, true);
}

static DType feature_type(const OpContext *c) { return op_dtype(c, 0) == DT_f64 ? DT_f64 : DT_f32; }

/* A list of one element or one a feature (the last axis). */
static bool fits_features(OpContext *c, const Value *v, const char *name) {
  const Type *x = &c->in[0]->type;
  if (dim_is(v->type.dims[0], 1)) return true;
  if (x->rank && ir_require_eq(c->b.ir, v->type.dims[0], x->dims[x->rank - 1])) return true;
  return op_fail(c, DIAG_E0304, "attribute '%s' has %lld values for features of shape %s", name, (long long)v->type.dims[0]->lo, op_shape(c, 0));
}

bool import_binarizer(OpContext *c) {
  Value *x = c->in[0];
  Value *above = build_fn2(&c->b, SC_gt, build_cast(&c->b, x, DT_f64, true), build_scalar_f(&c->b, DT_f64, (double)op_float(c, "threshold", 0)));
  return op_give(c, 0, build_cast(&c->b, above, x->type.dtype, true));
}

bool import_scaler(OpContext *c) {
  const DType t = feature_type(c);
  Value *x = build_cast(&c->b, c->in[0], t, true), *offset = float_vector(c, t, "offset"), *scale = float_vector(c, t, "scale");
  if (offset && !fits_features(c, offset, "offset")) return false;
  if (scale && !fits_features(c, scale, "scale")) return false;
  if (offset) x = build_fn2(&c->b, SC_sub, x, offset);
  if (scale) x = build_fn2(&c->b, SC_mul, x, scale);
  return op_give(c, 0, build_cast(&c->b, x, DT_f32, true));
}

/* Elements equal to the replaced value (or NaN, where that is NaN) become the imputed one. */
bool import_imputer(OpContext *c) {
  Builder *b = &c->b;
  Value *x = c->in[0], *replaced, *imputed, *hit;
  const bool real = dtype_is_float(x->type.dtype);
  size_t n;
  if (real) {
    imputed = float_vector(c, x->type.dtype, "imputed_value_floats");
    replaced = op_scalar_like(c, x, (double)op_float(c, "replaced_value_float", 0));
  } else {
    const int64_t *v = op_ints(c, "imputed_value_int64s", &n);
    imputed = v ? build_cast(b, build_ints(b, v, n), x->type.dtype, true) : NULL;
    replaced = build_cast(b, build_scalar_i(b, DT_s64, op_int(c, "replaced_value_int64", 0)), x->type.dtype, true);
  }
  if (!imputed) return op_fail(c, DIAG_E0304, "no imputed values of the input's type are given");
  if (!fits_features(c, imputed, real ? "imputed_value_floats" : "imputed_value_int64s")) return false;
  const float f = op_float(c, "replaced_value_float", 0);
  hit = real && f != f ? build_fn1(b, SC_isnan, x) : build_fn2(b, SC_eq, x, replaced);
  return op_give(c, 0, op_keep_shape(c, build_fn3(b, SC_select, hit, imputed, x), x));
}

/* Rows divided by their largest element, the sum of magnitudes, or the length; those of norm 0 stay. Of doubles in double: their sums may be no floats. */
bool import_normalizer(OpContext *c) {
  Builder *b = &c->b;
  const Str norm = op_str(c, "norm", "MAX");
  Value *x = build_cast(b, c->in[0], feature_type(c), true), *by = NULL;
  const uint32_t rank = op_rank(c, 0);
  if (rank < 1 || rank > 2) return op_fail(c, DIAG_E0402, "shape %s, a matrix is asked", op_shape(c, 0));
  const uint32_t axes = 1u << (rank - 1);
  if (str_is(norm, "MAX")) by = build_reduce(b, REDUCE_MAX, x, axes, true);
  else if (str_is(norm, "L1")) by = build_reduce(b, REDUCE_SUM, build_fn1(b, SC_abs, x), axes, true);
  else if (str_is(norm, "L2")) by = build_fn1(b, SC_sqrt, build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, x, x), axes, true));
  else return op_fail(c, DIAG_E0304, "attribute 'norm' is none of MAX, L1, L2");
  Value *zero = build_fn2(b, SC_eq, by, op_scalar_like(c, by, 0));
  by = build_fn3(b, SC_select, zero, op_scalar_like(c, by, 1), by);
  return op_give(c, 0, build_cast(b, build_fn2(b, SC_div, x, by), DT_f32, true));
}

/* ---- linear models ---- */
/* [N][F] times rows of coefficients [M][F], plus intercepts: [N][M] */
static Value *linear(OpContext *c, size_t rows) {
  Builder *b = &c->b;
  const DType t = feature_type(c);
  Value *x = build_cast(b, c->in[0], t, true), *w = float_vector(c, t, "coefficients"), *bias = float_vector(c, t, "intercepts");
  const int64_t n = w ? w->type.dims[0]->lo : 0;
  if (!x) return NULL;
  if (x->type.rank == 1) x = build_unsqueeze(b, x, 1); /* one sample */
  if (!x || x->type.rank != 2) return (void)op_fail(c, DIAG_E0402, "shape %s, a matrix is asked", op_shape(c, 0)), NULL;
  if (!w || rows == 0 || n % (int64_t)rows) return (void)op_fail(c, DIAG_E0304, "%lld coefficients for %zu results", (long long)n, rows), NULL;
  if (bias && !dim_is(bias->type.dims[0], (int64_t)rows)) return (void)op_fail(c, DIAG_E0304, "attribute 'intercepts' has not one value a result"), NULL;
  const Dim *dims[] = {bd_const(b, (int64_t)rows), bd_const(b, n / (int64_t)rows)};
  const uint32_t perm[] = {1, 0};
  Value *y = build_matmul(b, x, build_transpose(b, build_reshape(b, w, 2, dims), perm));
  return bias ? build_fn2(b, SC_add, y, bias) : y;
}

/* Softmax in which zeros stay zero; a row of zeros becomes halves. */
static Value *softmax_zero(OpContext *c, Value *x) {
  Builder *b = &c->b;
  Value *max = build_reduce(b, REDUCE_MAX, x, 2, true), *tiny = op_scalar_like(c, x, 1e-7);
  Value *is_zero = build_fn2(b, SC_le, build_fn1(b, SC_abs, x), tiny);
  Value *small = build_fn2(b, SC_mul, x, build_fn1(b, SC_exp, build_fn1(b, SC_neg, max)));
  Value *e = build_fn3(b, SC_select, is_zero, small, build_fn1(b, SC_exp, build_fn2(b, SC_sub, x, max)));
  Value *sum = build_reduce(b, REDUCE_SUM, e, 2, true);
  Value *none = build_fn2(b, SC_eq, sum, op_scalar_like(c, x, 0));
  return build_fn3(b, SC_select, none, op_scalar_like(c, x, 0.5), build_fn2(b, SC_div, e, sum));
}

/* Inverse of the normal distribution by Winitzki's approximation of the inverse error function, as ONNX's reference has it. */
static Value *probit(OpContext *c, Value *p) {
  Builder *b = &c->b;
  Value *one = op_scalar_like(c, p, 1), *half = op_scalar_like(c, p, 0.5), *zero = op_scalar_like(c, p, 0);
  Value *x = build_fn2(b, SC_sub, build_fn2(b, SC_add, p, p), one);
  Value *rest = build_fn2(b, SC_mul, build_fn2(b, SC_sub, one, x), build_fn2(b, SC_add, one, x));
  Value *log = build_fn1(b, SC_log, rest);
  Value *v = build_fn2(b, SC_add, op_scalar_like(c, p, 2 / (3.14159265358979323846 * 0.147)), build_fn2(b, SC_mul, half, log));
  Value *v2 = build_fn2(b, SC_mul, log, op_scalar_like(c, p, 1 / 0.147));
  Value *root = build_fn1(b, SC_sqrt, build_fn2(b, SC_sub, build_fn2(b, SC_mul, v, v), v2));
  Value *y = build_fn2(b, SC_copysign, build_fn1(b, SC_sqrt, build_fn2(b, SC_sub, root, v)), x);
  y = build_fn3(b, SC_select, build_fn2(b, SC_eq, rest, zero), zero, y);
  return build_fn2(b, SC_mul, y, op_scalar_like(c, p, 1.41421356));
}

Value *op_post_transform(OpContext *c, Value *scores) {
  const Str how = op_str(c, "post_transform", "NONE");
  if (!scores || str_is(how, "NONE")) return scores;
  if (str_is(how, "LOGISTIC")) return build_fn1(&c->b, SC_sigmoid, scores);
  if (str_is(how, "SOFTMAX")) return build_softmax(&c->b, scores, (SoftmaxAttr){.axis = 1});
  if (str_is(how, "SOFTMAX_ZERO")) return softmax_zero(c, scores);
  if (str_is(how, "PROBIT")) return probit(c, scores);
  (void)op_fail(c, DIAG_E0304, "attribute 'post_transform' is unknown");
  return NULL;
}

bool import_linear_regressor(OpContext *c) {
  const int64_t targets = op_int(c, "targets", 1);
  if (targets < 1) return op_fail(c, DIAG_E0304, "attribute 'targets' is %lld", (long long)targets);
  return op_give(c, 0, build_cast(&c->b, op_post_transform(c, linear(c, (size_t)targets)), DT_f32, true));
}

/* The labels [n] as a constant, integers or strings; {0, 1 ...} when none are given. */
static Value *class_labels(OpContext *c, size_t n_default, size_t *ret_n) {
  size_t n_ints, n_strings;
  const int64_t *ints = op_ints(c, "classlabels_ints", &n_ints);
  const Str *strings = op_strs(c, "classlabels_strings", &n_strings);
  *ret_n = n_strings ? n_strings : n_ints ? n_ints : n_default;
  if (n_strings) return op_vector(c, DT_str, n_strings, strings);
  if (n_ints) return build_ints(&c->b, ints, n_ints);
  int64_t *count = NEW_ARRAY(op_arena(c), int64_t, n_default);
  for (size_t i = 0; i < n_default; i++) count[i] = (int64_t)i;
  return build_ints(&c->b, count, n_default);
}

/* scores [N][M] -> the label of the largest; one column of scores: the second label where positive. */
static Value *best_label(OpContext *c, Value *scores, Value *labels, bool one_column) {
  Builder *b = &c->b;
  Value *best;
  if (one_column) best = build_cast(b, build_squeeze(b, build_fn2(b, SC_gt, scores, op_scalar_like(c, scores, 0)), 2), DT_s64, true);
  else best = build_arg(b, true, scores, 1, false, false);
  return op_take(c, labels, best);
}

bool import_linear_classifier(OpContext *c) {
  Builder *b = &c->b;
  size_t n_rows, n_labels, n_coefficients;
  (void)op_floats(c, "intercepts", &n_rows);
  (void)op_floats(c, "coefficients", &n_coefficients);
  Value *labels = class_labels(c, n_rows < 2 ? 2 : n_rows, &n_labels);
  if (!n_rows) n_rows = n_labels;
  if (n_rows != n_labels && (n_rows != 1 || n_labels != 2)) return op_fail(c, DIAG_E0304, "%zu class labels for %zu scores", n_labels, n_rows);
  Value *scores = linear(c, n_rows);
  if (!scores || !labels) return false;
  if (!op_give(c, 0, best_label(c, scores, labels, n_rows == 1))) return false;
  if (n_rows == 1) {
    Value *const both[] = {build_fn1(b, SC_neg, scores), scores};
    scores = build_concat(b, both, 2, 1);
  }
  Value *z = build_cast(b, op_post_transform(c, scores), DT_f32, true);
  return c->n_out < 2 ? z != NULL : op_give(c, 1, z);
}

/* ---- columns ---- */
/* x[..., y]; a vector counts as a matrix of one row. */
bool import_array_feature_extractor(OpContext *c) {
  Builder *b = &c->b;
  Value *x = c->in[0], *y = c->in[1];
  if (x->type.rank == 0) return op_fail(c, DIAG_E0402, "the data is a scalar");
  if (x->type.rank == 1) x = build_unsqueeze(b, x, 1);
  const Dim *count = type_count(b->ir, &y->type);
  y = build_reshape(b, y, 1, &count);
  if (!x || !y) return false;
  const uint32_t rank = x->type.rank;
  const Dim *dims[MAX_RANK];
  GatherAxis axes[MAX_RANK] = {{0}};
  const Affine place = build_affine_coord(b, rank, rank - 1);
  for (uint32_t i = 0; i + 1 < rank; i++) {
    dims[i] = x->type.dims[i];
    axes[i].affine = build_affine_coord(b, rank, i);
  }
  dims[rank - 1] = count;
  axes[rank - 1] = (GatherAxis){.indirect = true, .operand = 1, .place = &place};
  Value *const in[] = {x, y};
  return op_give(c, 0, build_gather(b, in, 2, rank, dims, axes));
}

/* The inputs' columns side by side, each cut or padded to its declared width. */
bool import_feature_vectorizer(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  size_t n;
  const int64_t *widths = op_ints(c, "inputdimensions", &n);
  Value **parts = NEW_ARRAY(op_arena(c), Value *, c->n_in);
  if (widths && n != c->n_in) return op_fail(c, DIAG_E0304, "%zu input dimensions for %zu inputs", n, c->n_in);
  for (size_t k = 0; k < c->n_in; k++) {
    Value *x = c->in[k] ? build_cast(b, c->in[k], DT_f32, true) : NULL;
    if (x && x->type.rank == 1) x = build_unsqueeze(b, x, 1);
    if (!x || x->type.rank != 2) return op_fail(c, DIAG_E0402, "input %zu is no matrix", k);
    if (widths && (widths[k] < 0 || widths[k] > INT32_MAX)) return op_fail(c, DIAG_E0304, "input dimension %lld", (long long)widths[k]);
    const Dim *lo[] = {d->zero, d->zero}, *hi[] = {d->zero, widths ? dim_sub(d, dim_const(d, widths[k]), x->type.dims[1]) : d->zero};
    parts[k] = dim_is(hi[1], 0) ? x : build_pad(b, x, PAD_CONSTANT, lo, hi, NULL);
  }
  return op_give(c, 0, build_concat(b, parts, c->n_in, 1));
}

/* ---- com.microsoft ---- */
static Value *matrices_transposed(OpContext *c, Value *x, bool swap) {
  uint32_t perm[MAX_RANK];
  const uint32_t rank = x->type.rank;
  if (!swap || rank < 2) return x;
  for (uint32_t i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 1] = rank - 2, perm[rank - 2] = rank - 1;
  return build_transpose(&c->b, x, perm);
}

/* [M][batch...][K] as [batch...][M][K] */
static Value *batch_first(OpContext *c, Value *x, bool move) {
  uint32_t perm[MAX_RANK];
  const uint32_t rank = x->type.rank;
  if (!move || rank < 3) return x;
  for (uint32_t i = 0; i < rank; i++) perm[i] = i + 2 < rank ? i + 1 : i + 2 == rank ? 0 : i;
  return build_transpose(&c->b, x, perm);
}

/* alpha * A B, either transposed */
bool import_fused_matmul(OpContext *c) {
  Value *x = batch_first(c, c->in[0], op_int(c, "transBatchA", 0) != 0), *y = batch_first(c, c->in[1], op_int(c, "transBatchB", 0) != 0);
  if (!x || !y) return false;
  x = matrices_transposed(c, x, op_int(c, "transA", 0) != 0);
  y = matrices_transposed(c, y, op_int(c, "transB", 0) != 0);
  Value *v = build_matmul(&c->b, x, y);
  const double alpha = (double)op_float(c, "alpha", 1);
  return op_give(c, 0, alpha == 1 ? v : build_fn2(&c->b, SC_mul, v, op_scalar_like(c, v, alpha)));
}
