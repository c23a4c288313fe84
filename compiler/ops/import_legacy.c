/* Operators of the first opset's experimental list that old files still use: Crop, ImageScaler, Affine, Scale,
 * ScaledTanh. */
#include "ops/shared.h"

/* border: left, top, right, bottom; scale: height, width of what is kept instead of the right and bottom borders. */
bool import_crop(OpContext *c) {
  size_t n_border, n_scale;
  const int64_t *border = op_ints(c, "border", &n_border), *scale = op_ints(c, "scale", &n_scale);
  if (!op_rank_in(c, 0, 4, 4)) return false;
  if (n_border != 4 || (n_scale && n_scale != 2))
    return op_fail(c, DIAG_E0304, "attribute 'border' must have 4 values, 'scale' 2 or none");
  DimCtx *d = op_dims(c);
  Value *x = op_in(c, 0);
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t axis = 3 - i;
    const Dim *rest = dim_addc(d, x->type.dims[axis], -border[i] - border[i + 2]);
    const Dim *count = n_scale ? dim_const(d, scale[1 - i]) : rest;
    if (border[i] < 0 || border[i + 2] < 0 || !ir_require_le(c->b.ir, dim_addc(d, count, border[i]), op_dim(c, 0, axis)))
      return op_fail(c, DIAG_E0304, "attribute 'border' reaches beyond shape %s", op_shape(c, 0));
    x = build_slice(&c->b, x, axis, dim_const(d, border[i]), count, d->one);
    if (!x) return false;
  }
  return op_give(c, 0, x);
}

/* x * scale + bias, a bias a channel. */
bool import_image_scaler(OpContext *c) {
  Builder *b = &c->b;
  size_t n;
  const float *bias = op_floats(c, "bias", &n);
  Value *x = op_in(c, 0);
  if (!op_rank_in(c, 0, 4, 4)) return false;
  Value *shift = build_cast(b, build_floats(b, bias, n), x->type.dtype, true);
  Value *y = build_fn2(b, SC_mul, x, op_scalar_like(c, x, (double)op_float(c, "scale", 1)));
  return op_give(c, 0, n ? build_fn2(b, SC_add, y, op_along_axis(c, shift, 4, 1)) : y);
}

bool import_affine(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  Value *y = build_fn2(b, SC_mul, x, op_scalar_like(c, x, (double)op_float(c, "alpha", 1)));
  return op_give(c, 0, build_fn2(b, SC_add, y, op_scalar_like(c, x, (double)op_float(c, "beta", 0))));
}

bool import_scale(OpContext *c) {
  Value *x = op_in(c, 0);
  return op_give(c, 0, build_fn2(&c->b, SC_mul, x, op_scalar_like(c, x, (double)op_float(c, "scale", 1))));
}

/* alpha * tanh(beta * x) */
bool import_scaled_tanh(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  Value *y = build_fn1(b, SC_tanh, build_fn2(b, SC_mul, x, op_scalar_like(c, x, (double)op_float(c, "beta", 1))));
  return op_give(c, 0, build_fn2(b, SC_mul, y, op_scalar_like(c, x, (double)op_float(c, "alpha", 1))));
}
