/* Softmax and normalisations. */
#include "ops/shared.h"

/* ---- Softmax, LogSoftmax, Hardmax ---- */
/* 1 at the first largest element along the axis, else 0. */
static Value *hardmax(OpContext *c, Value *x, uint32_t axis) {
  if (!x) return NULL;
  Arena *a = op_arena(c);
  Value *at = build_arg(&c->b, true, x, axis, true, false);
  Expr e = {0};
  const uint32_t place = expr_input(a, &e, 0, DT_s64), here = expr_index(a, &e, axis);
  (void)expr_cast(a, &e, x->type.dtype, true, expr_fn2(a, &e, SC_eq, here, place));
  return build_expr(&c->b, e, &at, 1, (int)x->type.rank, x->type.dims);
}

static Value *softmax(OpContext *c, Value *x, uint32_t axis) {
  if (c->row->arg == SOFTMAX_HARD) return hardmax(c, x, axis);
  return build_softmax(&c->b, x, (SoftmaxAttr){.axis = axis, .log = c->row->arg == SOFTMAX_LOG});
}

/* Before version 13 the input counts as a matrix: rows before `axis`, columns from it on. */
bool import_softmax(OpContext *c) {
  Value *x = op_in(c, 0);
  const uint32_t rank = x->type.rank;
  uint32_t axis = 0;
  if (rank == 0) {
    Value *vector = build_unsqueeze(&c->b, x, 1);
    return op_give(c, 0, build_squeeze(&c->b, softmax(c, vector, 0), 1));
  }
  if (c->row->since >= 13) return op_axis_attr(c, "axis", -1, rank, &axis) && op_give(c, 0, softmax(c, x, axis));
  const int64_t given = op_int(c, "axis", 1);
  if (given != (int64_t)rank && !op_axis(c, given, rank, &axis)) return false;
  if (given == (int64_t)rank) axis = rank;
  if (axis + 1 == rank) return op_give(c, 0, softmax(c, x, axis));
  const Dim *const dims[] = {dim_product(op_dims(c), x->type.dims, axis),
                             dim_product(op_dims(c), x->type.dims + axis, rank - axis)};
  Value *matrix = build_reshape(&c->b, x, 2, dims);
  return op_give(c, 0, build_reshape(&c->b, softmax(c, matrix, 1), rank, x->type.dims));
}

/* ---- BatchNormalization ---- */
/* (x - mean) / sqrt(var + eps) * scale + bias as x * s + t: s and t are small and constant in trained models. */
static Value *batch_norm(OpContext *c, Value *x, Value *scale, Value *bias, Value *mean, Value *var, float epsilon) {
  Builder *b = &c->b;
  if (!x || !scale || !bias || !mean || !var) return NULL;
  const DType t = dtype_compute(x->type.dtype), vt = var->type.dtype;
  Value *root = build_fn1(b, SC_sqrt,
                          build_fn2(b, SC_add, build_cast(b, var, dtype_compute(vt), true),
                                    build_scalar_f(b, dtype_compute(vt), (double)epsilon)));
  Value *s = build_fn2(b, SC_div, build_cast(b, scale, t, true), build_cast(b, root, t, true));
  Value *shift =
      build_fn2(b, SC_sub, build_cast(b, bias, t, true), build_fn2(b, SC_mul, build_cast(b, mean, t, true), s));
  const uint32_t rank = x->type.rank;
  Value *y = build_fn2(b, SC_mul, build_cast(b, x, t, true), op_along_axis(c, s, rank, 1));
  return build_cast(b, build_fn2(b, SC_add, y, op_along_axis(c, shift, rank, 1)), x->type.dtype, true);
}

/* running * momentum + current * (1 - momentum) */
static Value *running(OpContext *c, Value *old, Value *current, float momentum) {
  Builder *b = &c->b;
  if (!old || !current) return NULL;
  Value *kept = build_fn2(b, SC_mul, old, op_scalar_like(c, old, (double)momentum));
  Value *now = build_cast(b, current, old->type.dtype, true);
  return build_fn2(b, SC_add, kept, build_fn2(b, SC_mul, now, op_scalar_like(c, old, 1.0 - (double)momentum)));
}

/* training_mode: normalised by this batch's statistics, which move the running ones. Before version 14 outputs 3 and 4 are
 * the batch's own. */
static bool batch_norm_training(OpContext *c, float epsilon, bool per_element) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const uint32_t mask = per_element ? 1u : axes_from(0, x->type.rank) & ~2u;
  Value *wide = build_cast(b, x, dtype_compute(op_dtype(c, 3)), true);
  Value *mean = build_reduce_mean(b, wide, mask, true), *off = build_fn2(b, SC_sub, wide, mean);
  Value *var = build_squeeze(b, build_reduce_mean(b, build_fn2(b, SC_mul, off, off), mask, true), mask);
  mean = build_squeeze(b, mean, mask);
  const float momentum = op_float(c, "momentum", 0.9f);
  if (op_wants(c, 1) && !op_give(c, 1, running(c, op_in(c, 3), mean, momentum))) return false;
  if (op_wants(c, 2) && !op_give(c, 2, running(c, op_in(c, 4), var, momentum))) return false;
  if (op_wants(c, 3) && !op_give(c, 3, build_cast(b, mean, op_dtype(c, 3), true))) return false;
  if (op_wants(c, 4) && !op_give(c, 4, build_cast(b, var, op_dtype(c, 4), true))) return false;
  return op_give(c, 0, batch_norm(c, x, op_in(c, 1), op_in(c, 2), mean, var, epsilon));
}

bool import_batch_norm(OpContext *c) {
  const float epsilon = op_float(c, "epsilon", 1e-5f);
  const bool of_one = op_rank(c, 0) == 1; /* one channel: [N] is [N, 1] */
  if (op_rank(c, 0) < 1) return op_fail(c, DIAG_E0402, "input %s must have rank 1 or more", op_shape(c, 0));
  if (of_one) c->in[0] = build_unsqueeze(&c->b, c->in[0], 1u << 1);
  const bool per_element = op_has_attr(c, "spatial") && !op_int(c, "spatial", 1);
  for (size_t k = 1; k < 5; k++)
    if (!per_element && (op_rank(c, k) != 1 || !ir_require_eq(c->b.ir, op_dim(c, k, 0), op_dim(c, 0, 1))))
      return op_fail(c, DIAG_E0402, "input %zu has shape %s, which does not fit the channels of %s", k, op_shape(c, k),
                     op_shape(c, 0));
  const bool statistics = op_wants(c, 1) || op_wants(c, 2) || op_wants(c, 3) || op_wants(c, 4);
  if (op_int(c, "training_mode", 0) || (statistics && c->row->since < 14 && !op_int(c, "is_test", 0))) /* before, the outputs say it */
    return batch_norm_training(c, epsilon, per_element) && (!of_one || op_give(c, 0, build_squeeze(&c->b, c->out[0], 1u << 1)));
  if (statistics) return op_fail(c, DIAG_E0305, "statistics are asked for as outputs, but this is no training");
  Value *y = batch_norm(c, op_in(c, 0), op_in(c, 1), op_in(c, 2), op_in(c, 3), op_in(c, 4), epsilon);
  return op_give(c, 0, of_one ? build_squeeze(&c->b, y, 1u << 1) : y);
}

/* ---- over trailing axes ---- */
bool import_instance_norm(OpContext *c) {
  const uint32_t rank = op_rank(c, 0);
  if (rank < 3) return op_fail(c, DIAG_E0402, "input %s must have rank 3 or more", op_shape(c, 0));
  Value *scale = op_along_axis(c, op_in(c, 1), rank, 1), *bias = op_along_axis(c, op_in(c, 2), rank, 1);
  return op_give(c, 0, build_norm(&c->b, NORM_LAYER, op_in(c, 0), scale, bias, 2, op_float(c, "epsilon", 1e-5f)));
}

/* Mean and 1 / sqrt(var + eps), where they are asked for. */
static bool layer_statistics(OpContext *c, Value *x, uint32_t axis, float epsilon, size_t mean_out, size_t inv_out) {
  Builder *b = &c->b;
  if (!op_wants(c, mean_out) && !op_wants(c, inv_out)) return true;
  const uint32_t mask = axes_from(axis, x->type.rank);
  Value *wide = build_cast(b, x, dtype_compute(x->type.dtype), true), *mean = build_reduce_mean(b, wide, mask, true);
  Value *off = build_fn2(b, SC_sub, wide, mean),
        *var = build_reduce_mean(b, build_fn2(b, SC_mul, off, off), mask, true);
  Value *root = build_fn1(b, SC_sqrt, build_fn2(b, SC_add, var, op_scalar_like(c, var, (double)epsilon)));
  const DType t = dtype_from_onnx(op_int(c, "stash_type", 1));
  if (op_wants(c, mean_out) && !op_give(c, mean_out, build_cast(b, mean, t, true))) return false;
  return !op_wants(c, inv_out) || op_give(c, inv_out, build_cast(b, build_fn2(b, SC_div, op_scalar_like(c, var, 1), root), t, true));
}

/* The type of the statistics: castnet computes them in float32 or wider whatever it says, but it has to be a float. */
static bool stash_type_fits(OpContext *c) {
  const int64_t type = op_int(c, "stash_type", 1);
  if (dtype_is_float(dtype_from_onnx(type))) return true;
  return op_fail(c, DIAG_E0304, "attribute 'stash_type' is %lld", (long long)type);
}

bool import_layer_norm(OpContext *c) {
  uint32_t axis;
  const float epsilon = op_float(c, "epsilon", 1e-5f);
  if (!stash_type_fits(c) || !op_axis_attr(c, "axis", -1, op_rank(c, 0), &axis) || !layer_statistics(c, op_in(c, 0), axis, epsilon, 1, 2))
    return false;
  return op_give(c, 0, build_norm(&c->b, NORM_LAYER, op_in(c, 0), op_in(c, 1), op_in(c, 2), axis, epsilon));
}

/* The result has the scale's type, which may be another than the data's: then both are computed in the wider. */
bool import_rms_norm(OpContext *c) {
  uint32_t axis;
  if (!stash_type_fits(c) || !op_axis_attr(c, "axis", -1, op_rank(c, 0), &axis)) return false;
  const DType x = op_dtype(c, 0), y = op_dtype(c, 1), t = x == y ? x : x == DT_f64 || y == DT_f64 ? DT_f64 : DT_f32;
  Value *in = build_cast(&c->b, op_in(c, 0), t, true), *scale = build_cast(&c->b, op_in(c, 1), t, true);
  return op_give(c, 0, build_cast(&c->b, build_norm(&c->b, NORM_RMS, in, scale, NULL, axis, op_float(c, "epsilon", 1e-5f)), y, true));
}

/* com.microsoft: normalises input + skip (+ bias); the sum is output 3. The row's argument is the NormKind. */
bool import_skip_layer_norm(OpContext *c) {
  Builder *b = &c->b;
  const bool rms = c->row->arg == NORM_RMS;
  Value *bias = rms ? op_in(c, 3) : op_in(c, 4), *beta = rms ? NULL : op_in(c, 3);
  Value *sum = build_fn2(b, SC_add, op_in(c, 0), op_in(c, 1));
  if (bias) sum = build_fn2(b, SC_add, sum, bias);
  if (!sum || sum->type.rank == 0) return false;
  const uint32_t axis = sum->type.rank - 1;
  const float epsilon = op_float(c, "epsilon", 1e-5f);
  if (op_wants(c, 3)) c->out[3] = sum;
  if (!layer_statistics(c, sum, axis, epsilon, 1, 2)) return false;
  return op_give(c, 0, build_norm(b, rms ? NORM_RMS : NORM_LAYER, sum, op_in(c, 2), beta, axis, epsilon));
}

/* [N][C][spatial...] as [N][groups][C/groups * spatial]. Scale and bias are per group before version 21, per channel
 * since. */
bool import_group_norm(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Value *x = op_in(c, 0);
  const uint32_t rank = x->type.rank;
  const int64_t groups = op_int(c, "num_groups", 0);
  if (groups < 1) return op_fail(c, DIAG_E0304, "attribute 'num_groups' is %lld", (long long)groups);
  if (rank < 3) return op_fail(c, DIAG_E0402, "input %s must have rank 3 or more", op_shape(c, 0));
  if (!ir_require_eq(b->ir, dim_mod(d, x->type.dims[1], dim_const(d, groups)), d->zero))
    return op_fail(c, DIAG_E0402, "the channels of %s are not a multiple of %lld groups", op_shape(c, 0),
                   (long long)groups);
  const Dim *rest = dim_product(d, x->type.dims + 2, rank - 2);
  const Dim *const dims[] = {x->type.dims[0], dim_const(d, groups),
                             dim_mul(d, dim_floordiv(d, x->type.dims[1], dim_const(d, groups)), rest)};
  const bool per_group = c->row->since < 21;
  Value *scale = op_along_axis(c, op_in(c, 1), per_group ? 3 : rank, 1),
        *bias = op_along_axis(c, op_in(c, 2), per_group ? 3 : rank, 1);
  Value *v = build_norm(b, NORM_LAYER, build_reshape(b, x, 3, dims), per_group ? scale : NULL, per_group ? bias : NULL,
                        2, op_float(c, "epsilon", 1e-5f));
  v = build_reshape(b, v, rank, x->type.dims);
  if (per_group) return op_give(c, 0, v);
  return op_give(c, 0, build_fn2(b, SC_add, build_fn2(b, SC_mul, v, scale), bias));
}

bool import_lrn(OpContext *c) {
  const LrnAttr attr = {.size = op_int(c, "size", 0), .alpha = op_float(c, "alpha", 1e-4f), .beta = op_float(c, "beta", 0.75f), .bias = op_float(c, "bias", 1)};
  if (attr.size < 1 || attr.size > INT32_MAX) return op_fail(c, DIAG_E0304, "attribute 'size' is %lld", (long long)attr.size);
  if (op_rank(c, 0) < 3) return op_fail(c, DIAG_E0402, "input %s must have rank 3 or more", op_shape(c, 0));
  return op_give(c, 0, build_lrn(&c->b, op_in(c, 0), attr));
}

bool import_mean_variance_norm(OpContext *c) {
  Builder *b = &c->b;
  Value *x = build_cast(b, op_in(c, 0), dtype_compute(op_dtype(c, 0)), true);
  uint32_t mask = 0;
  bool given;
  if (!op_axes_mask(c, "axes", 15, op_rank(c, 0), &mask, &given)) return false;
  if (!given) mask = axes_from(0, op_rank(c, 0)) & 0xd; /* 0, 2, 3 */
  Value *off = build_fn2(b, SC_sub, x, build_reduce_mean(b, x, mask, true));
  Value *dev = build_fn1(b, SC_sqrt, build_reduce_mean(b, build_fn2(b, SC_mul, off, off), mask, true));
  if (!dev) return false;
  dev = build_fn2(b, SC_add, dev, op_scalar_like(c, dev, 1e-9));
  return op_give(c, 0, build_cast(b, build_fn2(b, SC_div, off, dev), op_dtype(c, 0), true));
}

/* x over its 1- or 2-norm along an axis; 0 where that is 0. */
bool import_lp_norm(OpContext *c) {
  Builder *b = &c->b;
  const int64_t p = op_int(c, "p", 2);
  uint32_t axis;
  if (p != 1 && p != 2) return op_fail(c, DIAG_E0304, "attribute 'p' is %lld", (long long)p);
  if (!op_axis_attr(c, "axis", -1, op_rank(c, 0), &axis)) return false;
  Value *x = build_cast(b, op_in(c, 0), dtype_compute(op_dtype(c, 0)), true);
  Value *sum =
      build_reduce(b, REDUCE_SUM, p == 1 ? build_fn1(b, SC_abs, x) : build_fn2(b, SC_mul, x, x), 1u << axis, true);
  Value *norm = p == 1 ? sum : build_fn1(b, SC_sqrt, sum), *zero = op_scalar_like(c, x, 0);
  Value *y = build_fn3(b, SC_select, build_fn2(b, SC_eq, norm, zero), zero, build_fn2(b, SC_div, x, norm));
  return op_give(c, 0, build_cast(b, y, op_dtype(c, 0), true));
}
