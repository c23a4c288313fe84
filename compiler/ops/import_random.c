/* Random operators. Element i of a stream is SplitMix64's i-th output from the operator's start: the node's seed where it has one,
 * else the call's (castnet_env.seed), told apart for each node. */
#include "ops/shared.h"

static const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15), other_stream = UINT64_C(0xD1B54A32D192ED03);

/* The start as a u64 scalar. */
static Value *random_start(OpContext *c, bool has_seed, uint64_t seed) {
  if (has_seed) return build_scalar_i(&c->b, DT_u64, (int64_t)(seed * golden));
  const RoutineInt number = {"number", (int64_t)c->b.place.node};
  const Type type = type_tensor(c->b.ir, DT_u64, 0, NULL);
  Value *start;
  return op_routine_random(c, "cn_op_seed", NULL, 0, &number, 1, NULL, &type, 1, &start) ? start : NULL;
}

/* From the attribute `seed`, a float. */
static Value *node_start(OpContext *c) {
  const float seed = op_float(c, "seed", 0);
  uint32_t bits;
  memcpy(&bits, &seed, sizeof bits);
  return random_start(c, op_has_attr(c, "seed"), bits);
}

static uint32_t u64(Arena *a, Expr *e, uint64_t v) { return expr_const_bits(a, e, DT_u64, v); }

static uint32_t xor_shift(Arena *a, Expr *e, uint32_t z, uint64_t by) { return expr_fn2(a, e, SC_xor, z, expr_fn2(a, e, SC_shr, z, u64(a, e, by))); }

/* Numbers in [0, 1), f32 (24 random bits) or f64 (53), of the given shape. */
static Value *uniform(OpContext *c, Value *start, uint64_t stream, DType t, uint32_t rank, const Dim *const *dims) {
  Arena *a = op_arena(c);
  Expr e = {0};
  const Dim *n = dim_product(op_dims(c), dims, rank);
  uint32_t i = expr_cast(a, &e, DT_u64, true, expr_index(a, &e, 0));
  uint32_t z = expr_fn2(a, &e, SC_add, expr_input(a, &e, 0, DT_u64), u64(a, &e, stream));
  z = expr_fn2(a, &e, SC_add, z, expr_fn2(a, &e, SC_mul, expr_fn2(a, &e, SC_add, i, u64(a, &e, 1)), u64(a, &e, golden)));
  z = expr_fn2(a, &e, SC_mul, xor_shift(a, &e, z, 30), u64(a, &e, UINT64_C(0xBF58476D1CE4E5B9)));
  z = expr_fn2(a, &e, SC_mul, xor_shift(a, &e, z, 27), u64(a, &e, UINT64_C(0x94D049BB133111EB)));
  z = xor_shift(a, &e, z, 31);
  const bool wide = t == DT_f64;
  const uint32_t top = expr_cast(a, &e, t, true, expr_fn2(a, &e, SC_shr, z, u64(a, &e, wide ? 11 : 40)));
  expr_set_result(a, &e, expr_fn2(a, &e, SC_mul, top, expr_const_f(a, &e, t, wide ? 0x1p-53 : 0x1p-24)));
  return start ? build_reshape(&c->b, build_expr(&c->b, e, &start, 1, 1, &n), rank, dims) : NULL;
}

static Value *scaled(OpContext *c, Value *x, double by, double plus) {
  Builder *b = &c->b;
  return x ? build_fn2(b, SC_add, build_fn2(b, SC_mul, x, op_scalar_like(c, x, by)), op_scalar_like(c, x, plus)) : NULL;
}

/* Box and Muller (1958): one of the pair. */
static Value *normal(OpContext *c, Value *start, DType t, uint32_t rank, const Dim *const *dims) {
  Builder *b = &c->b;
  Value *u = scaled(c, uniform(c, start, 0, t, rank, dims), -1, 1), *angle = scaled(c, uniform(c, start, other_stream, t, rank, dims), 6.283185307179586477, 0);
  Value *radius = u ? build_fn1(b, SC_sqrt, build_fn2(b, SC_mul, build_fn1(b, SC_log, u), op_scalar_like(c, u, -2))) : NULL;
  return radius ? build_fn2(b, SC_mul, radius, build_fn1(b, SC_cos, angle)) : NULL;
}

static DType wide_type(DType t) { return t == DT_f64 ? DT_f64 : DT_f32; }

/* The result's type: attribute dtype, or `absent`. DT_NONE after a diagnostic. */
static DType result_type(OpContext *c, DType absent) {
  const DType t = op_has_attr(c, "dtype") ? dtype_from_onnx(op_int(c, "dtype", 0)) : absent;
  if (t != DT_NONE && dtype_rows[t].kind != KIND_X && dtype_rows[t].kind != KIND_C) return t;
  (void)op_fail(c, DIAG_E0304, "attribute 'dtype' names no type of numbers");
  return DT_NONE;
}

/* arg: 0 uniform, 1 normal. */
static bool give_random(OpContext *c, DType t, uint32_t rank, const Dim *const *dims) {
  if (t == DT_NONE) return false;
  if (!dtype_is_float(t)) return op_fail(c, DIAG_E0304, "random numbers of type %s", dtype_name(t));
  Value *y;
  if (c->row->arg) {
    y = scaled(c, normal(c, node_start(c), wide_type(t), rank, dims), (double)op_float(c, "scale", 1), (double)op_float(c, "mean", 0));
  } else {
    const double low = (double)op_float(c, "low", 0), high = (double)op_float(c, "high", 1);
    y = scaled(c, uniform(c, node_start(c), 0, wide_type(t), rank, dims), high - low, low);
  }
  return op_give(c, 0, build_cast(&c->b, y, t, true));
}

bool import_random(OpContext *c) {
  size_t rank;
  const int64_t *shape = op_ints(c, "shape", &rank);
  const Dim *dims[MAX_RANK];
  if (rank > MAX_RANK) return op_unsupported(c, "a result of rank %zu (at most %d)", rank, MAX_RANK);
  for (size_t i = 0; i < rank; i++) {
    if (shape[i] < 0) return op_fail(c, DIAG_E0304, "attribute 'shape' holds %lld", (long long)shape[i]);
    dims[i] = bd_const(&c->b, shape[i]);
  }
  return give_random(c, result_type(c, DT_f32), (uint32_t)rank, dims);
}

bool import_random_like(OpContext *c) { return give_random(c, result_type(c, op_dtype(c, 0)), op_rank(c, 0), op_in(c, 0)->type.dims); }

bool import_bernoulli(OpContext *c) {
  const DType t = result_type(c, op_dtype(c, 0)), wide = wide_type(op_dtype(c, 0));
  if (t == DT_NONE) return false;
  Value *u = uniform(c, node_start(c), 0, wide, op_rank(c, 0), op_in(c, 0)->type.dims);
  return op_give(c, 0, u ? build_cast(&c->b, build_fn2(&c->b, SC_lt, u, build_cast(&c->b, op_in(c, 0), wide, true)), t, true) : NULL);
}

/* Log-probabilities [B][C], not normalised: how many of the cumulated weights a random share of their sum reaches beyond. */
bool import_multinomial(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const DType t = result_type(c, DT_s32), wide = wide_type(op_dtype(c, 0));
  const int64_t samples = op_int(c, "sample_size", 1);
  if (t == DT_NONE || !op_rank_in(c, 0, 2, 2)) return false;
  if (samples < 1 || samples > INT32_MAX || !dtype_is_int(t)) return op_fail(c, DIAG_E0304, "sample_size is %lld, dtype %s", (long long)samples, dtype_name(t));
  const Dim *batch = op_dim(c, 0, 0), *classes = op_dim(c, 0, 1);
  if (classes->hi < 1) return op_fail(c, DIAG_E0402, "no classes in %s", op_shape(c, 0));
  Value *x = build_cast(b, op_in(c, 0), wide, true);
  Value *weights = build_fn1(b, SC_exp, build_fn2(b, SC_sub, x, build_reduce(b, REDUCE_MAX, x, 2, true)));
  Value *sums = build_scan(b, SC_add, weights, 1, false, false);
  if (!sums) return false;
  const Dim *const shape[] = {batch, bd_const(b, samples)};
  Value *total = build_slice(b, sums, 1, dim_addc(d, classes, -1), d->one, d->one);
  Value *share = build_fn2(b, SC_mul, uniform(c, node_start(c), 0, wide, 2, shape), total);
  Value *beyond = build_fn2(b, SC_le, build_unsqueeze(b, sums, 2), build_unsqueeze(b, share, 4)); /* [B][S][C] */
  Value *class = build_reduce(b, REDUCE_SUM, build_cast(b, beyond, DT_s64, true), 4, false);
  class = build_fn2(b, SC_min, class, build_dim_scalar(b, dim_addc(d, classes, -1)));
  return op_give(c, 0, build_cast(b, class, t, true));
}

/* ---- Dropout ---- */
/* Elements are dropped where `training` (b1 [] or NULL: always) says so, and the others scaled to keep their mean. */
static bool drop(OpContext *c, Value *ratio, Value *training) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const DType t = op_dtype(c, 0), wide = wide_type(t);
  ratio = build_cast(b, ratio ? build_reshape(b, ratio, 0, NULL) : build_scalar_f(b, wide, 0.5), wide, true);
  Value *u = uniform(c, random_start(c, op_has_attr(c, "seed"), (uint64_t)op_int(c, "seed", 0)), 0, wide, x->type.rank, x->type.dims);
  Value *keep = u ? build_fn2(b, SC_ge, u, ratio) : NULL, *one = build_scalar_f(b, wide, 1);
  Value *scale = build_fn2(b, SC_div, one, build_fn2(b, SC_sub, one, ratio));
  if (training && keep) {
    training = build_reshape(b, training, 0, NULL);
    keep = build_fn2(b, SC_or, keep, build_fn1(b, SC_not, training));
    scale = build_fn3(b, SC_select, training, scale, one);
  }
  Value *y = keep ? build_fn3(b, SC_select, keep, build_fn2(b, SC_mul, build_cast(b, x, wide, true), scale), build_scalar_f(b, wide, 0)) : NULL;
  if (op_wants(c, 1)) c->out[1] = keep;
  return op_give(c, 0, build_cast(b, y, t, true));
}

bool import_dropout(OpContext *c) {
  const int64_t *training = NULL;
  size_t n = 0;
  for (size_t k = 1; k < 3; k++)
    if (!op_one_element(c, k)) return false;
  if (op_in(c, 2) && !build_const_ints(&c->b, op_in(c, 2), &training, &n)) return drop(c, op_in(c, 1), op_in(c, 2));
  if (training && training[0]) return drop(c, op_in(c, 1), NULL);
  const DType mask = c->row->until < 10 ? op_dtype(c, 0) : DT_b1; /* what was kept: all */
  Value *one = dtype_is_float(mask) ? build_scalar_f(&c->b, mask, 1) : build_scalar_i(&c->b, mask, 1);
  if (op_wants(c, 1)) c->out[1] = build_expand(&c->b, one, op_rank(c, 0), op_in(c, 0)->type.dims);
  return op_give(c, 0, op_in(c, 0));
}
