/* Elements that go to places which attributes and small operands say: ReverseSequence, TensorScatter, MaxUnpool, Col2Im; and
 * CausalConvWithState, which keeps the last ones. */
#include "ops/shared.h"

/* The coordinate on `axis` of a tensor of the given shape, s64. */
static Value *coordinate(OpContext *c, uint32_t rank, const Dim *const *dims, uint32_t axis) {
  Expr e = {0};
  expr_set_result(op_arena(c), &e, expr_index(op_arena(c), &e, axis));
  return build_expr(&c->b, e, NULL, 0, (int)rank, dims);
}

/* Axes that all are output coordinates, but `axis`, which operand `operand` [batch][axis] gives at (batch, axis). place: 2 of them. */
static void batch_axes(OpContext *c, uint32_t rank, uint32_t batch, uint32_t axis, uint32_t operand, GatherAxis *axes, Affine *place) {
  for (uint32_t i = 0; i < rank; i++) axes[i] = (GatherAxis){.affine = build_affine_coord(&c->b, rank, i)};
  place[0] = build_affine_coord(&c->b, rank, batch);
  place[1] = build_affine_coord(&c->b, rank, axis);
  axes[axis] = (GatherAxis){.indirect = true, .operand = operand, .place = place};
}

bool import_reverse_sequence(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const uint32_t rank = op_rank(c, 0);
  uint32_t batch, time;
  GatherAxis axes[MAX_RANK];
  Affine place[2];
  if (!op_rank_in(c, 0, 2, MAX_RANK) || !op_rank_in(c, 1, 1, 1) || !op_axis_attr(c, "batch_axis", 1, rank, &batch) || !op_axis_attr(c, "time_axis", 0, rank, &time)) return false;
  if (batch == time) return op_fail(c, DIAG_E0304, "batch_axis and time_axis are both %u", batch);
  if (!ir_require_eq(b->ir, op_dim(c, 1, 0), op_dim(c, 0, batch))) return op_fail(c, DIAG_E0402, "sequence_lens %s do not fit %s", op_shape(c, 1), op_shape(c, 0));
  const Dim *const dims[] = {op_dim(c, 0, batch), op_dim(c, 0, time)};
  Value *len = build_unsqueeze(b, op_in(c, 1), 2), *t = coordinate(c, 2, dims, 1);
  Value *back = build_fn2(b, SC_sub, build_fn2(b, SC_sub, len, build_scalar_i(b, DT_s64, 1)), t);
  Value *const in[] = {x, build_fn3(b, SC_select, build_fn2(b, SC_lt, t, len), back, t)};
  batch_axes(c, rank, batch, time, 1, axes, place);
  return op_give(c, 0, build_gather(b, in, 2, rank, x->type.dims, axes));
}

bool import_tensor_scatter(OpContext *c) {
  Builder *b = &c->b;
  const Str mode = op_str(c, "mode", "linear");
  const uint32_t rank = op_rank(c, 0);
  uint32_t axis;
  GatherAxis axes[MAX_RANK];
  Affine place[2];
  if (!op_rank_in(c, 0, 2, MAX_RANK) || !op_rank_in(c, 1, rank, rank) || !op_axis_attr(c, "axis", -2, rank, &axis)) return false;
  if (axis == 0) return op_fail(c, DIAG_E0304, "axis is that of the batch");
  if (!str_is(mode, "linear") && !str_is(mode, "circular")) return op_fail(c, DIAG_E0304, "attribute 'mode' is %s", diag_quote(b->ir->diags, mode));
  for (uint32_t i = 0; i < rank; i++)
    if (i == axis ? !ir_require_le(b->ir, op_dim(c, 1, i), op_dim(c, 0, i)) : !ir_require_eq(b->ir, op_dim(c, 0, i), op_dim(c, 1, i)))
      return op_fail(c, DIAG_E0402, "an update %s does not fit %s", op_shape(c, 1), op_shape(c, 0));
  const Dim *const dims[] = {op_dim(c, 1, 0), op_dim(c, 1, axis)};
  Value *at = coordinate(c, 2, dims, 1);
  if (op_in(c, 2)) {
    if (!op_rank_in(c, 2, 1, 1)) return false;
    at = build_fn2(b, SC_add, at, build_unsqueeze(b, op_in(c, 2), 2));
  }
  if (str_is(mode, "circular")) at = build_fn2(b, SC_mod, at, build_dim_scalar(b, op_dim(c, 0, axis)));
  Value *const in[] = {op_in(c, 0), op_in(c, 1), at};
  batch_axes(c, rank, 0, axis, 2, axes, place);
  return op_give(c, 0, build_scatter(b, SCATTER_SET, in, 3, axes));
}

/* ---- MaxUnpool ---- */
/* Sizes that come from an operand: [count], of at least 0. NULL after a diagnostic. */
static const Dim *const *read_sizes(OpContext *c, size_t k, const char *what, size_t count) {
  size_t n;
  if (!op_rank_in(c, k, 1, 1)) return NULL;
  const Dim *const *d = build_read(&c->b, op_in(c, k), (ReadDims){.what = what, .hi = INT32_MAX, .count = (int64_t)count}, &n);
  if (d && n != count) return op_fail(c, DIAG_E0402, "%s of %zu elements, %zu are asked", what, n, count), NULL;
  for (size_t i = 0; d && i < n; i++)
    if (d[i]->hi < 0) return op_fail(c, DIAG_E0403, "%s holds %lld", what, (long long)d[i]->hi), NULL;
  return d;
}

bool import_max_unpool(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Value *x = op_in(c, 0);
  const uint32_t rank = op_rank(c, 0);
  Window w;
  if (!op_rank_in(c, 0, 3, MAX_RANK) || !op_keep_shape(c, op_in(c, 1), x) || !op_window(c, x, rank - 2, NULL, &w)) return false;
  const Dim *dims[MAX_RANK] = {op_dim(c, 0, 0), op_dim(c, 0, 1)}, *lo[MAX_RANK], *hi[MAX_RANK];
  for (uint32_t i = 0; i < w.n; i++) {
    const Dim *size = dim_addc(d, dim_mulc(d, dim_addc(d, op_dim(c, 0, 2 + i), -1), w.stride[i]), w.kernel[i]);
    dims[2 + i] = dim_max(d, dim_sub(d, size, dim_add(d, w.lo[i], w.hi[i])), d->zero);
  }
  const Dim *count = dim_product(d, dims, rank), *n = type_count(b->ir, &x->type);
  Value *updates = build_reshape(b, x, 1, &n), *index = build_reshape(b, op_in(c, 1), 1, &n);
  Value *y = build_reshape(b, op_scatter_vector(c, build_expand(b, op_scalar_like(c, x, 0), 1, &count), updates, index), rank, dims);
  if (!op_in(c, 2)) return op_give(c, 0, y);
  const Dim *const *want = read_sizes(c, 2, "output_shape", rank);
  if (!want) return false;
  for (uint32_t i = 0; i < rank; i++) { /* indices speak of the inferred shape; more lies behind it */
    lo[i] = d->zero;
    hi[i] = dim_sub(d, want[i], dims[i]);
  }
  return op_give(c, 0, build_pad(b, y, PAD_CONSTANT, lo, hi, NULL));
}

/* ---- Col2Im ---- */
bool import_col2im(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  int64_t n_axes;
  if (!op_choose_length(c, 1, op_declared_rank(c, 0) > 2 ? op_declared_rank(c, 0) - 2 : -1, 1, (MAX_RANK - 2) / 2)) return false;
  if (!op_rank_in(c, 0, 3, 3) || !op_rank_in(c, 1, 1, 1) || !dim_is_const(op_dim(c, 1, 0), &n_axes) || n_axes < 1 || 2 * n_axes + 2 > MAX_RANK)
    return op_unsupported(c, "an image_shape of shape %s", op_shape(c, 1));
  const uint32_t n = (uint32_t)n_axes, rank = 2 + 2 * n;
  const Dim *const *image = read_sizes(c, 1, "image_shape", n), *const *block = read_sizes(c, 2, "block_shape", n);
  Window w;
  const Dim *dims[MAX_RANK], *out[MAX_RANK];
  if (!image || !block) return false;
  const Dim *blocks = dim_product(d, block, n);
  if (blocks->hi < 1) return op_fail(c, DIAG_E0403, "block_shape holds a size below 1");
  /* [N][C][block...][places...]: sums of what falls on one pixel */
  GatherAxis axes[MAX_RANK];
  for (uint32_t i = 0; i < 2; i++) axes[i] = (GatherAxis){.affine = build_affine_coord(b, rank, i)};
  dims[0] = out[0] = op_dim(c, 0, 0);
  dims[1] = out[1] = dim_floordiv(d, op_dim(c, 0, 1), dim_max(d, blocks, d->one));
  const Dim *image_dims[MAX_RANK] = {dims[0], dims[1]};
  for (uint32_t i = 0; i < n; i++) image_dims[2 + i] = image[i];
  const Value shape = {.type = type_tensor(b->ir, op_dtype(c, 0), 2 + n, image_dims)};
  if (!op_window(c, &shape, n, block, &w)) return false;
  for (uint32_t i = 0; i < n; i++) {
    const Dim *span = op_window_span(c, &w, i), **coef = NEW_ARRAY(op_arena(c), const Dim *, rank);
    out[2 + i] = dim_add(d, image[i], dim_add(d, w.lo[i], w.hi[i]));
    if (w.lo[i]->hi < 0 || w.hi[i]->hi < 0) return op_fail(c, DIAG_E0304, "attribute 'pads' holds a negative number");
    dims[2 + i] = block[i];
    dims[2 + n + i] = dim_max(d, dim_addc(d, dim_floordiv(d, dim_sub(d, out[2 + i], span), dim_const(d, w.stride[i])), 1), d->zero);
    coef[2 + i] = dim_const(d, w.dilation[i]);
    coef[2 + n + i] = dim_const(d, w.stride[i]);
    axes[2 + i] = (GatherAxis){.affine = {d->zero, coef}};
  }
  const bool flags = op_dtype(c, 0) == DT_b1; /* their sum: whether any is set */
  Value *x = flags ? build_cast(b, op_in(c, 0), DT_s32, true) : op_in(c, 0);
  Value *const in[] = {build_expand(b, op_scalar_like(c, x, 0), 2 + n, out), build_reshape(b, x, rank, dims)};
  Value *y = build_scatter(b, SCATTER_ADD, in, 2, axes);
  for (uint32_t i = 0; y && i < n; i++) y = build_slice(b, y, 2 + i, w.lo[i], image[i], d->one);
  return op_give(c, 0, flags ? build_cast(b, y, DT_b1, true) : y);
}

/* ---- CausalConvWithState ---- */
/* x [N][C][past + L] and w [C][1][K] as sums over K, where the number of channels is not known. */
static Value *depthwise(OpContext *c, Value *x, Value *w, Value *bias) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const DType t = x->type.dtype;
  const Dim *const dims[] = {x->type.dims[0], x->type.dims[1], op_dim(c, 0, 2), w->type.dims[2]};
  const Dim **both = NEW_ARRAY(op_arena(c), const Dim *, 4);
  both[0] = both[1] = d->zero;
  both[2] = both[3] = d->one;
  const Affine at_x[] = {build_affine_coord(b, 4, 0), build_affine_coord(b, 4, 1), {d->zero, both}};
  const Affine at_w[] = {build_affine_coord(b, 4, 1), build_affine_const(b, 4, d->zero), build_affine_coord(b, 4, 3)};
  if (!ir_require_eq(b->ir, w->type.dims[0], dims[1]) || !ir_require_eq(b->ir, w->type.dims[1], d->one))
    return (void)op_fail(c, DIAG_E0402, "weights %s do not fit input %s", op_shape(c, 1), op_shape(c, 0)), NULL;
  Value *xs = build_cast(b, build_view(b, x, 4, dims, at_x), DT_f32, true), *ws = build_cast(b, build_view(b, w, 4, dims, at_w), DT_f32, true);
  Value *y = build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, xs, ws), 1u << 3, false);
  if (y && bias) y = build_fn2(b, SC_add, y, build_unsqueeze(b, build_cast(b, bias, DT_f32, true), 1u << 1));
  return build_cast(b, y, t, true);
}

bool import_causal_conv(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Str act = op_str(c, "activation", "none");
  const bool silu = str_is(act, "silu") || str_is(act, "swish");
  int64_t channels;
  if (!silu && !str_is(act, "none")) return op_fail(c, DIAG_E0304, "attribute 'activation' is %s", diag_quote(b->ir->diags, act));
  if (!op_rank_in(c, 0, 3, 3) || !op_rank_in(c, 1, 3, 3)) return false;
  const Dim *kernel = op_dim(c, 1, 2);
  const bool known = dim_is_const(op_dim(c, 1, 0), &channels) || dim_is_const(op_dim(c, 0, 1), &channels);
  if (kernel->hi < 1) return op_fail(c, DIAG_E0402, "weights of shape %s", op_shape(c, 1));
  const Dim *kept = dim_max(d, dim_addc(d, kernel, -1), d->zero), *const state[] = {op_dim(c, 0, 0), op_dim(c, 0, 1), kept};
  if (op_in(c, 3) && !op_rank_in(c, 3, 3, 3)) return false;
  for (uint32_t i = 0; op_in(c, 3) && i < 3; i++)
    if (!ir_require_eq(b->ir, op_dim(c, 3, i), state[i])) return op_fail(c, DIAG_E0402, "past_state has shape %s instead of %s", op_shape(c, 3), build_dims_text(b, state, 3));
  Value *past = op_in(c, 3) ? op_in(c, 3) : build_expand(b, op_scalar_like(c, op_in(c, 0), 0), 3, state);
  Value *const both[] = {past, op_in(c, 0)};
  Value *x = kernel->hi > 1 ? build_concat(b, both, 2, 2) : op_in(c, 0);
  static const int64_t one = 1;
  const Dim *const pad = d->zero;
  const ConvAttr attr = {.n_spatial = 1, .group = known ? channels : 1, .stride = &one, .dilation = &one, .dilate_x = &one, .pad_lo = &pad, .pad_hi = &pad, .acc = DT_f32};
  Value *y = NULL;
  if (x && dim_is(op_dim(c, 0, 2), 0)) y = op_in(c, 0);
  else if (x && known) y = build_conv(b, x, op_in(c, 1), op_in(c, 2), NULL, NULL, attr);
  else if (x) y = depthwise(c, x, op_in(c, 1), op_in(c, 2));
  if (silu && y) {
    Value *wide = build_cast(b, y, DT_f32, true);
    y = build_cast(b, build_fn1(b, SC_silu, wide), y->type.dtype, true);
  }
  if (op_wants(c, 1) && x) c->out[1] = kernel->hi > 1 ? build_slice(b, x, 2, op_dim(c, 0, 2), kept, d->one) : build_expand(b, op_scalar_like(c, op_in(c, 0), 0), 3, state);
  return op_give(c, 0, y);
}
