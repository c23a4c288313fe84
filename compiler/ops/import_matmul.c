/* Matrix products: MatMul, Gemm, MatMulInteger. */
#include "ops/shared.h"

bool import_matmul(OpContext *c) { return op_give(c, 0, build_matmul(&c->b, op_in(c, 0), op_in(c, 1))); }

/* x * factor, or x itself when that changes nothing. */
static Value *scaled(OpContext *c, Value *x, float factor) {
  Builder *b = &c->b;
  if (!x || factor == 1.0f) return x;
  const DType t = x->type.dtype;
  return build_fn2(b, SC_mul, x, dtype_is_float(t) ? build_scalar_f(b, t, (double)factor) : build_scalar_i(b, t, (int32_t)factor));
}

static bool is_whole(float factor) { return factor >= -0x1p31f && factor < 0x1p31f && factor == (float)(int32_t)factor; }

bool import_gemm(OpContext *c) {
  Builder *b = &c->b;
  static const uint32_t swap[] = {1, 0};
  if (!op_rank_in(c, 0, 2, 2) || !op_rank_in(c, 1, 2, 2)) return false;
  Value *x = op_in(c, 0), *y = op_in(c, 1), *z = op_in(c, 2);
  if (op_int(c, "transA", 0)) x = build_transpose(b, x, swap);
  if (op_int(c, "transB", 0)) y = build_transpose(b, y, swap);
  const float alpha = op_float(c, "alpha", 1), beta = op_float(c, "beta", 1);
  const DType t = op_dtype(c, 0);
  Value *product = build_matmul(b, x, y);
  if (!product) return false;
  if (!dtype_is_float(t) && !(is_whole(alpha) && is_whole(beta))) { /* integers whose sum is not whole until the end */
    product = build_cast(b, product, DT_f64, true);
    z = z ? build_cast(b, z, DT_f64, true) : NULL;
  }
  product = scaled(c, product, alpha);
  if (!z || beta == 0.0f) return op_give(c, 0, build_cast(b, product, t, true));
  Value *sum = build_fn2(b, SC_add, product, scaled(c, z, beta));
  if (!sum) return false;
  for (uint32_t i = 0; i < 2; i++)
    if (sum->type.rank != 2 || dim_eq(op_dims(c), sum->type.dims[i], product->type.dims[i]) == 0)
      return op_fail(c, DIAG_E0402, "C %s does not broadcast to the product's shape %s", op_shape(c, 2),
                     build_shape_text(b, product));
  return op_give(c, 0, build_cast(b, sum, t, true));
}

/* com.microsoft: Gemm through an activation. */
bool import_fused_gemm(OpContext *c) {
  const float p[] = {op_float(c, "activation_alpha", 0.01f), op_float(c, "activation_beta", 0)};
  return import_gemm(c) && op_give(c, 0, op_activation(c, c->out[0], p, 2));
}

/* v - zero in s32. */
static Value *centred(OpContext *c, Value *v, Value *zero) {
  Builder *b = &c->b;
  v = build_cast(b, v, DT_s32, true);
  return zero ? build_fn2(b, SC_sub, v, build_cast(b, zero, DT_s32, true)) : v;
}

Value *op_single(OpContext *c, Value *v) {
  if (!v || v->type.rank == 0 || !dim_is(type_count(c->b.ir, &v->type), 1)) return v;
  return build_reshape(&c->b, v, 0, NULL);
}

/* A zero point for each element along an axis of `size`, or one for all where only run time tells. */
static Value *zeros_along(OpContext *c, Value *zero, const Dim *size) {
  const Dim *both = build_broadcast_dim(&c->b, zero->type.dims[0], size);
  if (both && dim_eq(op_dims(c), both, size) != 0) return build_expand(&c->b, zero, 1, &size);
  (void)op_fail(c, DIAG_E0402, "zero points of shape %s along an axis of size %s", build_shape_text(&c->b, zero), build_dims_text(&c->b, &size, 1));
  return NULL;
}

/* One zero point an operand, or one a row of x, a column of y, goes into the product; other shapes are centred before it. */
Value *op_matmul_integer(OpContext *c, Value *x, Value *x_zero, Value *y, Value *y_zero) {
  x_zero = op_single(c, x_zero);
  y_zero = op_single(c, y_zero);
  const bool rows = x_zero && x_zero->type.rank > 0, columns = y_zero && y_zero->type.rank > 0;
  const bool plain_x = !rows || (x_zero->type.rank == 1 && x && x->type.rank > 1);
  if (rows && plain_x && !(x_zero = zeros_along(c, x_zero, x->type.dims[x->type.rank - 2]))) return NULL;
  if (columns && y_zero->type.rank == 1 && y && y->type.rank > 1 && !(y_zero = zeros_along(c, y_zero, y->type.dims[y->type.rank - 1]))) return NULL;
  if (plain_x && (!columns || (y_zero->type.rank == 1 && y && y->type.rank > 1)))
    return build_matmul_acc(&c->b, x, y, DT_s32, x_zero, y_zero);
  if (rows && x_zero->type.rank == 1) x_zero = build_unsqueeze(&c->b, x_zero, 1u << 1); /* [M] over [M][K] */
  return build_matmul_acc(&c->b, centred(c, x, x_zero), centred(c, y, y_zero), DT_s32, NULL, NULL);
}

bool import_matmul_integer(OpContext *c) {
  return op_give(c, 0, op_matmul_integer(c, op_in(c, 0), op_in(c, 2), op_in(c, 1), op_in(c, 3)));
}
