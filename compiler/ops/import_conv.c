/* Convolutions: Conv, ConvInteger, ConvTranspose, com.microsoft FusedConv. */
#include "ops/shared.h"

/* Attributes of a convolution with weights w: group, window. */
static bool conv_attr(OpContext *c, const Value *x, Value **weights, Window *win, int64_t *ret_group) {
  const Value *w = *weights;
  if (x->type.rank < 3) return op_fail(c, DIAG_E0402, "input %s must have rank 3 or more", build_shape_text(&c->b, x));
  if (w->type.rank != x->type.rank)
    return op_fail(c, DIAG_E0402, "input %s and weights %s must have the same rank", build_shape_text(&c->b, x),
                   build_shape_text(&c->b, w));
  const Dim *kernel[MAX_RANK];
  const uint32_t n = x->type.rank - 2;
  if (!op_kernel_sizes(c, weights, n, kernel)) return false;
  *ret_group = op_int(c, "group", 1);
  if (*ret_group < 1 || *ret_group > INT32_MAX)
    return op_fail(c, DIAG_E0304, "attribute 'group' is %lld", (long long)*ret_group);
  return op_window(c, x, n, kernel, win);
}

/* x - zero in s32, a zero point for each element along axis 0 or one for all. */
static Value *centred(OpContext *c, Value *x, Value *zero) {
  Builder *b = &c->b;
  x = build_cast(b, x, DT_s32, true);
  if (!x || !zero) return x;
  return build_fn2(b, SC_sub, x, op_along_axis(c, build_cast(b, zero, DT_s32, true), x->type.rank, 0));
}

Value *op_conv(OpContext *c, Value *x, Value *w, Value *bias, Value *x_zero, Value *w_zero) {
  x_zero = op_single(c, x_zero);
  w_zero = op_single(c, w_zero);
  if (x_zero && x_zero->type.rank > 0) {
    (void)op_fail(c, DIAG_E0402, "the input's zero point has shape %s", build_shape_text(&c->b, x_zero));
    return NULL;
  }
  if (w_zero && w && w_zero->type.rank == 1 && !ir_require_eq(c->b.ir, w_zero->type.dims[0], w->type.dims[0])) {
    (void)op_fail(c, DIAG_E0402, "the weights' zero point has shape %s, the weights %s", build_shape_text(&c->b, w_zero), build_shape_text(&c->b, w));
    return NULL;
  }
  if (w_zero && w_zero->type.rank > 1) {
    x = centred(c, x, x_zero);
    w = centred(c, w, w_zero);
    x_zero = w_zero = NULL;
    if (!x || !w) return NULL;
  }
  Window win;
  int64_t group, ones[MAX_RANK];
  if (!conv_attr(c, x, &w, &win, &group)) return NULL;
  for (uint32_t i = 0; i < win.n; i++) ones[i] = 1;
  const ConvAttr attr = {win.n, group, win.stride, win.dilation, ones, win.lo, win.hi, DT_NONE};
  return build_conv(&c->b, x, w, bias, x_zero, w_zero, attr);
}

bool import_conv(OpContext *c) { return op_give(c, 0, op_conv(c, op_in(c, 0), op_in(c, 1), op_in(c, 2), NULL, NULL)); }

bool import_conv_integer(OpContext *c) {
  Value *x_zero = op_in(c, 2), *w_zero = op_in(c, 3);
  return op_give(c, 0, op_conv(c, op_in(c, 0), op_in(c, 1), NULL, x_zero, w_zero));
}

/* Convolution, plus Z, through an activation. */
bool import_fused_conv(OpContext *c) {
  Value *y = op_conv(c, op_in(c, 0), op_in(c, 1), op_in(c, 2), NULL, NULL);
  if (y && op_in(c, 3)) y = build_fn2(&c->b, SC_add, y, op_in(c, 3));
  size_t n;
  const float *p = op_floats(c, "activation_params", &n);
  return y && op_give(c, 0, op_activation(c, y, p, n));
}

/* ---- ConvTranspose ---- */
/* Weights [C][M/group][k...] as those of the convolution that it is: [M][C/group][k...], each kernel reversed. */
static Value *transposed_weights(OpContext *c, Value *w, int64_t group, uint32_t n) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Dim *per_group = dim_floordiv(d, w->type.dims[0], dim_const(d, group)), *out = w->type.dims[1];
  const Dim *dims[MAX_RANK] = {dim_const(d, group), per_group};
  uint32_t perm[MAX_RANK] = {0, 2, 1};
  for (uint32_t i = 0; i <= n; i++) dims[i + 2] = w->type.dims[i + 1];
  for (uint32_t i = 0; i < n; i++) perm[i + 3] = i + 3;
  if (n + 3 > MAX_RANK) return NULL;
  Value *v = build_transpose(b, build_reshape(b, w, n + 3, dims), perm);
  for (uint32_t i = 0; v && i < n; i++)
    v = build_slice(b, v, i + 3, dim_addc(d, w->type.dims[i + 2], -1), w->type.dims[i + 2], dim_const(d, -1));
  const Dim *flat[MAX_RANK] = {dim_mulc(d, out, group), per_group};
  for (uint32_t i = 0; i < n; i++) flat[i + 2] = w->type.dims[i + 2];
  return build_reshape(b, v, n + 2, flat);
}

/* What output_shape, or SAME padding, leaves to cut off on axis i: total = full size - wanted size. */
static void transpose_total(OpContext *c, Window *win, uint32_t i, const Dim *full, const Dim *wanted, bool upper) {
  DimCtx *d = op_dims(c);
  const Dim *total = dim_max(d, dim_sub(d, full, wanted), d->zero), *half = dim_floordiv(d, total, dim_const(d, 2));
  const Dim *rest = dim_sub(d, total, half);
  win->lo[i] = upper ? half : rest;
  win->hi[i] = dim_sub(d, dim_sub(d, full, wanted), win->lo[i]);
}

bool import_conv_transpose(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Value *x = op_in(c, 0), *w = op_in(c, 1);
  Window win;
  int64_t group, ones[MAX_RANK];
  size_t n_extra, n_shape;
  if (!conv_attr(c, x, &w, &win, &group)) return false;
  const int64_t *extra = op_ints(c, "output_padding", &n_extra), *shape = op_ints(c, "output_shape", &n_shape);
  if ((n_extra && n_extra != win.n) || (n_shape && n_shape < win.n))
    return op_fail(c, DIAG_E0304, "attribute '%s' does not have %u values",
                   n_extra && n_extra != win.n ? "output_padding" : "output_shape", win.n);
  if (!ir_require_eq(b->ir, x->type.dims[1], w->type.dims[0]) ||
      !ir_require_eq(b->ir, dim_mod(d, w->type.dims[0], dim_const(d, group)), d->zero))
    return op_fail(c, DIAG_E0402, "input %s, weights %s and group %lld do not fit: channels differ", op_shape(c, 0),
                   op_shape(c, 1), (long long)group);
  const bool upper = str_is(op_str(c, "auto_pad", "NOTSET"), "SAME_UPPER");
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  for (uint32_t i = 0; i < win.n; i++) {
    const int64_t more = n_extra ? extra[i] : 0;
    const Dim *span = op_window_span(c, &win, i);
    const Dim *full = dim_addc(d, dim_add(d, dim_mulc(d, dim_addc(d, x->type.dims[i + 2], -1), win.stride[i]), span), more);
    if (n_shape) transpose_total(c, &win, i, full, dim_const(d, shape[n_shape - win.n + i]), upper);
    else if (win.same) transpose_total(c, &win, i, full, dim_mulc(d, x->type.dims[i + 2], win.stride[i]), upper);
    lo[i] = dim_sub(d, dim_addc(d, span, -1), win.lo[i]);
    hi[i] = dim_sub(d, dim_addc(d, span, more - 1), win.hi[i]);
    ones[i] = 1;
  }
  const ConvAttr attr = {win.n, group, ones, win.dilation, win.stride, lo, hi, DT_NONE};
  return op_give(c, 0, build_conv(b, x, transposed_weights(c, w, group, win.n), op_in(c, 2), NULL, NULL, attr));
}
