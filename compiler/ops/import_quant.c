/* Quantisation: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinear operators of ONNX and com.microsoft.
 */
#include "ir/quant.h"
#include "ops/shared.h"

static bool is_float8(DType t) { return dtype_rows[t].kind == KIND_F && dtype_rows[t].bits <= 8; }

/* A scale or zero point made to broadcast to x: a scalar, one value an axis element, or one a block of block_size
 * elements. */
static Value *spread(OpContext *c, Value *v, const Value *x, uint32_t axis, int64_t block) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!v || v->type.rank == 0) return v;
  if (v->type.rank == 1 && dim_is(v->type.dims[0], 1)) return build_squeeze(b, v, 1);
  if (block <= 0 && v->type.rank > 1) {
    (void)op_fail(c, DIAG_E0402, "a scale or zero point of shape %s without blocks", build_shape_text(b, v));
    return NULL;
  }
  if (block <= 0) return v->type.rank == 1 ? op_along_axis(c, v, x->type.rank, axis) : v;
  if (v->type.rank != x->type.rank) {
    (void)op_fail(c, DIAG_E0402, "the scale's shape %s does not fit the blocks of %s", build_shape_text(b, v),
                  build_shape_text(b, x));
    return NULL;
  }
  const Dim *wide[MAX_RANK], *flat[MAX_RANK];
  if (x->type.rank + 1 > MAX_RANK) return NULL;
  for (uint32_t i = 0; i < x->type.rank; i++) {
    wide[i + (i > axis)] = flat[i] = v->type.dims[i];
  }
  wide[axis + 1] = dim_const(d, block);
  flat[axis] = dim_mulc(d, v->type.dims[axis], block);
  if (!ir_require_le(b->ir, x->type.dims[axis], flat[axis])) {
    (void)op_fail(c, DIAG_E0402, "the scale's shape %s does not fit the blocks of %s", build_shape_text(b, v), build_shape_text(b, x));
    return NULL;
  }
  v = build_reshape(b, build_expand(b, build_unsqueeze(b, v, 1u << (axis + 1)), x->type.rank + 1, wide), x->type.rank,
                    flat);
  return build_slice(b, v, axis, d->zero, x->type.dims[axis], d->one);
}

/* saturate(round(v) + zero) as `to`; v in f32 or f64 (or f16, rounded to it). */
static Value *quantized(OpContext *c, Value *v, Value *zero, DType to, bool saturate) {
  Builder *b = &c->b;
  if (!v) return NULL;
  if (dtype_rows[to].kind == KIND_F) return build_cast(b, v, to, saturate);
  if (v->type.dtype == DT_f32 && (to == DT_u8 || to == DT_s8)) return build_quantise(b, v, NULL, zero, to);
  v = build_cast(b, build_fn1(b, SC_round, v), dtype_compute(v->type.dtype), true);
  if (zero) v = build_fn2(b, SC_add, v, build_cast(b, zero, v->type.dtype, true));
  return build_cast(b, v, to, true);
}

static bool quant_axis(OpContext *c, int64_t absent, uint32_t *ret) {
  *ret = 0;
  const uint32_t rank = op_rank(c, 0);
  if (op_in(c, 1)->type.rank == 0 || (op_rank(c, 1) == 1 && dim_is(op_dim(c, 1, 0), 1))) return true;
  if (!op_has_attr(c, "axis") && rank == 1) return true;
  return op_axis_attr(c, "axis", absent, rank, ret);
}

/* An element type that an attribute names, DT_NONE where it is absent or 0. */
static bool type_attr(OpContext *c, const char *name, DType *ret) {
  const int64_t type = op_int(c, name, 0);
  *ret = dtype_from_onnx(type);
  return type == 0 || *ret != DT_NONE || op_fail(c, DIAG_E0304, "attribute '%s' is %lld", name, (long long)type);
}

bool import_quantize_linear(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0), *zero = op_in(c, 2);
  uint32_t axis;
  if (!quant_axis(c, 1, &axis)) return false;
  const int64_t block = op_int(c, "block_size", 0);
  if (block < 0) return op_fail(c, DIAG_E0304, "attribute 'block_size' is %lld", (long long)block);
  DType wanted, work;
  if (!type_attr(c, "output_dtype", &wanted) || !type_attr(c, "precision", &work)) return false;
  if (wanted != DT_NONE && zero && zero->type.dtype != wanted)
    return op_fail(c, DIAG_E0401, "attribute 'output_dtype' says %s, the zero point has %s", dtype_name(wanted),
                   dtype_name(zero->type.dtype));
  const DType to = zero ? zero->type.dtype : wanted != DT_NONE ? wanted : DT_u8;
  Value *scale = spread(c, op_in(c, 1), x, axis, block);
  zero = spread(c, zero, x, axis, block);
  if (!scale) return false;
  if (work == DT_NONE) work = scale->type.dtype == DT_f8e8m0 ? x->type.dtype : scale->type.dtype; /* a scale of e8m0 has no digits to divide in */
  if (!dtype_is_float(work)) work = DT_f32;
  x = build_cast(b, x, work, true);
  scale = build_cast(b, scale, work, true);
  if (work == DT_f32 && (to == DT_u8 || to == DT_s8))
    return op_give(c, 0, op_keep_shape(c, build_quantise(b, x, scale, zero, to), op_in(c, 0)));
  Value *y = quantized(c, build_fn2(b, SC_div, x, scale), zero, to, op_int(c, "saturate", 1) != 0);
  return op_give(c, 0, op_keep_shape(c, y, op_in(c, 0)));
}

/* (x - zero) exactly, in s32 for integers, then times the scale in f32 at least. */
static Value *dequantized(OpContext *c, Value *x, Value *scale, Value *zero) {
  Builder *b = &c->b;
  if (!x || !scale) return NULL;
  const DType work = dtype_compute(scale->type.dtype), t = x->type.dtype;
  if (scale->type.dtype == DT_f32 && (t == DT_u8 || t == DT_s8 || t == DT_s32)) return build_dequantise(b, x, scale, zero);
  if (zero && !is_float8(x->type.dtype)) {
    const DType sum = dtype_is_float(x->type.dtype) ? work : DT_s32;
    x = build_fn2(b, SC_sub, build_cast(b, x, sum, true), build_cast(b, zero, sum, true));
  }
  return build_fn2(b, SC_mul, build_cast(b, x, work, true), build_cast(b, scale, work, true));
}

bool import_dequantize_linear(OpContext *c) {
  Value *x = op_in(c, 0);
  uint32_t axis;
  if (!quant_axis(c, 1, &axis)) return false;
  const int64_t block = op_int(c, "block_size", 0);
  if (block < 0) return op_fail(c, DIAG_E0304, "attribute 'block_size' is %lld", (long long)block);
  Value *scale = spread(c, op_in(c, 1), x, axis, block), *zero = spread(c, op_in(c, 2), x, axis, block);
  DType wanted;
  if (!type_attr(c, "output_dtype", &wanted)) return false;
  Value *y = op_keep_shape(c, dequantized(c, x, scale, zero), x);
  return op_give(c, 0, build_cast(&c->b, y, wanted != DT_NONE ? wanted : op_dtype(c, 1), true));
}

bool import_dynamic_quantize_linear(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0), *none = build_scalar_f(b, DT_f32, 0);
  const uint32_t all = axes_from(0, x->type.rank);
  Value *low = build_fn2(b, SC_min, build_reduce(b, REDUCE_MIN, x, all, false), none);
  Value *high = build_fn2(b, SC_max, build_reduce(b, REDUCE_MAX, x, all, false), none);
  Value *scale = build_fn2(b, SC_div, build_fn2(b, SC_sub, high, low), build_scalar_f(b, DT_f32, 255));
  Value *level = build_fn2(b, SC_div, build_fn2(b, SC_sub, none, low), scale);
  /* all zeros: the scale is 0, the level NaN, which converts to 0 */
  Value *zero = quantized(c, level, NULL, DT_u8, true);
  return op_give(c, 1, scale) && op_give(c, 2, zero) &&
         op_give(c, 0, quantized(c, build_fn2(b, SC_div, x, scale), zero, DT_u8, true));
}

/* ---- products ---- */
/* The s32 sum times the scales' product, rounded once. */
static Value *requantized(OpContext *c, Value *sum, Value *scales, Value *y_scale, Value *y_zero, DType to) {
  Builder *b = &c->b;
  Value *factor = build_fn2(b, SC_div, build_cast(b, scales, DT_f32, true), build_cast(b, y_scale, DT_f32, true));
  return quantized(c, build_fn2(b, SC_mul, build_cast(b, sum, DT_f32, true), factor), y_zero, to, true);
}

/* a a_scale a_zero b b_scale b_zero y_scale y_zero. Rows of a and columns of b may have their own scales. */
bool import_qlinear_matmul(OpContext *c) {
  Builder *b = &c->b;
  Value *a_scale = op_single(c, op_in(c, 1)), *b_scale = op_single(c, op_in(c, 4));
  if (a_scale && a_scale->type.rank == 1) a_scale = build_unsqueeze(b, a_scale, 2); /* [M] over [M][N] */
  Value *sum = op_matmul_integer(c, op_in(c, 0), op_in(c, 2), op_in(c, 3), op_in(c, 5));
  Value *scales = build_fn2(b, SC_mul, build_cast(b, a_scale, DT_f32, true), build_cast(b, b_scale, DT_f32, true));
  return op_give(c, 0,
                 requantized(c, sum, scales, op_single(c, op_in(c, 6)), op_single(c, op_in(c, 7)), op_dtype(c, 7)));
}

/* x x_scale x_zero w w_scale w_zero y_scale y_zero bias (s32, in units of x_scale * w_scale). */
bool import_qlinear_conv(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  const bool last = op_int(c, "channels_last", 0) != 0; /* of com.microsoft's */
  Value *x = last ? op_channels_moved(c, op_in(c, 0), false) : op_in(c, 0);
  Value *sum = x ? op_conv(c, x, op_in(c, 3), op_in(c, 8), op_single(c, op_in(c, 2)), op_single(c, op_in(c, 5))) : NULL;
  if (!sum) return false;
  Value *scales = build_fn2(b, SC_mul, op_single(c, op_in(c, 1)), op_along_axis(c, op_single(c, op_in(c, 4)), rank, 1));
  Value *y = requantized(c, sum, scales, op_single(c, op_in(c, 6)), op_single(c, op_in(c, 7)), op_dtype(c, 7));
  return y && op_give(c, 0, last ? op_channels_moved(c, y, true) : y);
}

/* com.microsoft QLinearAdd, QLinearMul: A A_scale A_zero B B_scale B_zero C_scale C_zero. The row's argument is the
 * function. */
bool import_qlinear_binary(OpContext *c) {
  Builder *b = &c->b;
  Value *x = dequantized(c, op_in(c, 0), op_single(c, op_in(c, 1)), op_single(c, op_in(c, 2)));
  Value *y = dequantized(c, op_in(c, 3), op_single(c, op_in(c, 4)), op_single(c, op_in(c, 5)));
  Value *z = build_fn2(b, SC_div, build_fn2(b, (ScalarFn)c->row->arg, x, y), op_single(c, op_in(c, 6)));
  return op_give(c, 0, quantized(c, z, op_single(c, op_in(c, 7)), op_dtype(c, 0), true));
}

/* X x_scale x_zero y_scale y_zero */
static bool qlinear_unary(OpContext *c, Value *y) {
  Value *v = build_fn2(&c->b, SC_div, y, op_single(c, op_in(c, 3)));
  return op_give(c, 0, quantized(c, v, op_single(c, op_in(c, 4)), op_dtype(c, 0), true));
}

bool import_qlinear_average_pool(OpContext *c) {
  const bool last = op_int(c, "channels_last", 0) != 0;
  Value *x = dequantized(c, op_in(c, 0), op_single(c, op_in(c, 1)), op_single(c, op_in(c, 2)));
  if (last) x = op_channels_moved(c, x, false);
  Value *y = x ? op_average_pool(c, x) : NULL;
  return y && qlinear_unary(c, last ? op_channels_moved(c, y, true) : y);
}

bool import_qlinear_global_average_pool(OpContext *c) {
  Value *x = dequantized(c, op_in(c, 0), op_single(c, op_in(c, 1)), op_single(c, op_in(c, 2)));
  const uint32_t rank = op_rank(c, 0);
  const bool last = op_int(c, "channels_last", 0) != 0;
  const uint32_t mask = last ? axes_from(1, rank - 1) : axes_from(2, rank);
  return qlinear_unary(c, build_reduce_mean(&c->b, x, mask, true));
}

bool import_qlinear_softmax(OpContext *c) {
  uint32_t axis;
  if (!op_axis_attr(c, "axis", -1, op_rank(c, 0), &axis)) return false;
  Value *x = dequantized(c, op_in(c, 0), op_single(c, op_in(c, 1)), op_single(c, op_in(c, 2)));
  if (!x) return false;
  if (op_int(c, "opset", 13) >= 13) return qlinear_unary(c, build_softmax(&c->b, x, (SoftmaxAttr){.axis = axis}));
  const Type type = x->type; /* the softmax of before: over all axes from `axis` on */
  const Dim *const rows[] = {dim_product(op_dims(c), type.dims, axis), dim_product(op_dims(c), type.dims + axis, type.rank - axis)};
  Value *y = build_softmax(&c->b, build_reshape(&c->b, x, 2, rows), (SoftmaxAttr){.axis = 1});
  return qlinear_unary(c, build_reshape(&c->b, y, type.rank, type.dims));
}

bool import_qlinear_sigmoid(OpContext *c) {
  Value *x = dequantized(c, op_in(c, 0), op_single(c, op_in(c, 1)), op_single(c, op_in(c, 2)));
  return qlinear_unary(c, build_fn1(&c->b, SC_sigmoid, x));
}

bool import_qlinear_leaky_relu(OpContext *c) {
  Builder *b = &c->b;
  Value *x = dequantized(c, op_in(c, 0), op_single(c, op_in(c, 1)), op_single(c, op_in(c, 2)));
  if (!x) return false;
  Value *zero = op_scalar_like(c, x, 0),
        *low = build_fn2(b, SC_mul, x, op_scalar_like(c, x, (double)op_float(c, "alpha", 0.01f)));
  return qlinear_unary(c, build_fn3(b, SC_select, build_fn2(b, SC_lt, x, zero), low, x));
}

/* y_scale y_zero (tensor scale zero)+ */
bool import_qlinear_concat(OpContext *c) {
  Builder *b = &c->b;
  uint32_t axis;
  const size_t n = c->n_in < 5 ? 0 : (c->n_in - 2) / 3;
  for (size_t k = 0; k < c->n_in; k++)
    if (!op_in(c, k) || op_in(c, k)->type.kind != TYPE_TENSOR) return op_fail(c, DIAG_E0305, "input %zu is missing", k);
  if (n == 0 || c->n_in != 2 + 3 * n)
    return op_fail(c, DIAG_E0305, "%zu inputs are not triples of tensor, scale, zero point", c->n_in);
  if (!op_axis_attr(c, "axis", 0, op_rank(c, 2), &axis)) return false;
  Value **parts = NEW_ARRAY(op_arena(c), Value *, n);
  for (size_t k = 0; k < n; k++) {
    Value *v =
        dequantized(c, op_in(c, 2 + 3 * k), op_single(c, op_in(c, 3 + 3 * k)), op_single(c, op_in(c, 4 + 3 * k)));
    parts[k] = quantized(c, build_fn2(b, SC_div, v, op_single(c, op_in(c, 0))), op_single(c, op_in(c, 1)),
                         op_dtype(c, 1), true);
  }
  return op_give(c, 0, build_concat(b, parts, n, axis));
}

/* condition X x_scale x_zero Y y_scale y_zero z_scale z_zero */
bool import_qlinear_where(OpContext *c) {
  Builder *b = &c->b;
  Value *x = dequantized(c, op_in(c, 1), op_single(c, op_in(c, 2)), op_single(c, op_in(c, 3)));
  Value *y = dequantized(c, op_in(c, 4), op_single(c, op_in(c, 5)), op_single(c, op_in(c, 6)));
  Value *z = build_fn2(b, SC_div, build_fn3(b, SC_select, op_in(c, 0), x, y), op_single(c, op_in(c, 7)));
  return op_give(c, 0, quantized(c, z, op_single(c, op_in(c, 8)), op_dtype(c, 1), true));
}

/* ids segment_ids? then word, position and segment tables, gamma, beta in 8 bits; mask?; their scales; their zero points */
bool import_qembed_layer_norm(OpContext *c) {
  enum { FIRST = 2, TABLES = 5, SCALES = 8, ZEROS = SCALES + TABLES };
  Value *table[TABLES];
  for (size_t k = 0; k < TABLES; k++) {
    table[k] = op_in(c, FIRST + k);
    if (!table[k]) continue;
    if (!op_in(c, SCALES + k) || !op_in(c, ZEROS + k)) return op_fail(c, DIAG_E0305, "scale or zero point of input %zu is missing", FIRST + k);
    table[k] = dequantized(c, table[k], op_single(c, op_in(c, SCALES + k)), op_single(c, op_in(c, ZEROS + k)));
    if (!table[k]) return false;
  }
  memcpy(c->in + FIRST, table, sizeof table);
  c->in[SCALES] = NULL; /* where the operator in floats has its positions */
  return import_embed_layer_norm(c);
}

/* ---- GatherBlockQuantized: data indices scales zero_points? ---- */
/* Integers that share bytes along the last axis, one an element. */
static Value *unshared(OpContext *c, Value *v, int64_t bits) {
  DimCtx *d = op_dims(c);
  if (!v || v->type.dtype != DT_u8 || bits == 8) return v;
  const uint32_t rank = v->type.rank;
  const Dim *dims[MAX_RANK], *rows = dim_product(d, v->type.dims, rank - 1), *bytes = v->type.dims[rank - 1];
  for (uint32_t i = 0; i < rank; i++) dims[i] = v->type.dims[i];
  dims[rank - 1] = dim_mulc(d, bytes, 8 / bits);
  v = op_unpacked(c, v, rows, bytes, bits);
  return v ? build_reshape(&c->b, v, rank, dims) : NULL;
}

bool import_gather_block_quantized(OpContext *c) {
  const int64_t bits = op_int(c, "bits", 4), block = op_int(c, "block_size", 128);
  const uint32_t rank = op_rank(c, 0);
  uint32_t from, axis;
  if (!op_axis_attr(c, "gather_axis", 0, rank, &from) || !op_axis_attr(c, "quantize_axis", 1, rank, &axis)) return false;
  if (from == axis || op_rank(c, 2) != rank) return op_fail(c, DIAG_E0402, "scales %s for data %s in blocks along axis %u", op_shape(c, 2), op_shape(c, 0), axis);
  if ((bits != 2 && bits != 4 && bits != 8) || block < 1 || block > INT32_MAX) return op_fail(c, DIAG_E0304, "attributes 'bits' and 'block_size' are %lld and %lld", (long long)bits, (long long)block);
  Value *index = op_in(c, 1), *x = op_gather(c, unshared(c, op_in(c, 0), bits), index, from), *scale = op_gather(c, op_in(c, 2), index, from), *zero = op_in(c, 3);
  if (!x || !scale) return false;
  if (zero) {
    zero = op_gather(c, unshared(c, zero, bits), index, from);
    const uint32_t at = axis > from ? axis + index->type.rank - 1 : axis; /* packed rows may end in a half byte */
    zero = op_part(c, zero, at, op_dims(c)->zero, scale->type.dims[at]);
    if (!zero) return false;
  } else if (op_dtype(c, 0) == DT_u8) {
    zero = build_scalar_i(&c->b, DT_u8, 1 << (bits - 1));
  }
  if (axis > from) axis += index->type.rank - 1;
  Value *y = dequantized(c, x, spread(c, scale, x, axis, block), spread(c, zero, x, axis, block));
  return y && op_give(c, 0, op_keep_shape(c, build_cast(&c->b, y, op_dtype(c, 2), true), x));
}
