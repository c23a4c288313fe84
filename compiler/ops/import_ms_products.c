/* com.microsoft: products whose operands are quantised in one way or another. */
#include "ops/shared.h"

static Value *in_float(OpContext *c, Value *v, DType t) { return v ? build_cast(&c->b, v, t, true) : NULL; }

static Value *plus(OpContext *c, Value *x, Value *y) { return x && y ? build_fn2(&c->b, SC_add, x, y) : x; }

/* ---- MatMulNBits ---- */
/* A constant stays packed. */
Value *op_unpacked(OpContext *c, Value *v, const Dim *rows, const Dim *bytes, int64_t bits) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Dim *const dims[] = {rows, dim_mulc(d, bytes, 8 / bits)}, *const packed[] = {rows, bytes}, *const wide[] = {rows, bytes, dim_const(d, 8 / bits)};
  if (v->data && bits < 8) {
    const DType t = bits == 4 ? DT_u4 : DT_u2;
    const Tensor *old = v->data;
    Tensor *data = NEW(op_arena(c), Tensor);
    *data = (Tensor){t, old->n * (size_t)(8 / bits), old->bytes, old->n_bytes, NULL};
    return build_cast(b, ir_add_const(b->ir, type_tensor(b->ir, t, 2, dims), data, v->name), DT_u8, true);
  }
  v = build_reshape(b, v, 2, packed);
  if (bits == 8 || !v) return v;
  Arena *a = op_arena(c);
  Expr e = {0};
  const uint32_t shift = expr_cast(a, &e, DT_u8, true, expr_fn2(a, &e, SC_mul, expr_index(a, &e, 2), expr_const_i(a, &e, DT_s64, bits)));
  const uint32_t shifted = expr_fn2(a, &e, SC_shr, expr_input(a, &e, 0, DT_u8), shift);
  expr_set_result(a, &e, expr_fn2(a, &e, SC_and, shifted, expr_const_i(a, &e, DT_u8, (1 << bits) - 1)));
  v = build_unsqueeze(b, v, 1u << 2);
  return build_reshape(b, build_expr(b, e, &v, 1, 3, wide), 2, dims);
}

/* Block values v [N][blocks] for each k: by g_idx where it is given, else k / block. [N][K] */
static Value *by_block(OpContext *c, Value *v, const Dim *n, const Dim *k, int64_t block) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!v) return NULL;
  const Dim *blocks = v->type.dims[1], *const dims[] = {n, k}, *const wide[] = {n, blocks, dim_const(d, block)}, *const flat[] = {n, dim_mulc(d, blocks, block)};
  if (op_in(c, 4)) {
    const Affine place = build_affine_coord(b, 2, 1);
    const GatherAxis axes[] = {{.affine = build_affine_coord(b, 2, 0)}, {.indirect = true, .operand = 1, .place = &place}};
    Value *const in[] = {v, op_in(c, 4)};
    return build_gather(b, in, 2, 2, dims, axes);
  }
  v = build_reshape(b, build_expand(b, build_unsqueeze(b, v, 1u << 2), 3, wide), 2, flat);
  return v ? build_slice(b, v, 1, d->zero, k, d->one) : NULL;
}

typedef struct Blocks { int64_t n, k, bits, block, count; } Blocks; /* count: blocks a row */

static bool read_blocks(OpContext *c, Blocks *s) {
  *s = (Blocks){op_int(c, "N", 0), op_int(c, "K", 0), op_int(c, "bits", 4), op_int(c, "block_size", 0), 0};
  if (s->n < 1 || s->k < 1 || s->n > INT32_MAX || s->k > INT32_MAX) return op_fail(c, DIAG_E0304, "attributes 'N' and 'K' are %lld and %lld", (long long)s->n, (long long)s->k);
  if (s->bits != 2 && s->bits != 4 && s->bits != 8) return op_fail(c, DIAG_E0304, "attribute 'bits' is %lld", (long long)s->bits);
  if (s->block < 1 || s->block > INT32_MAX || s->block * s->bits % 8) return op_fail(c, DIAG_E0304, "attribute 'block_size' is %lld", (long long)s->block);
  s->count = (s->k + s->block - 1) / s->block;
  return true;
}

static bool has_count(OpContext *c, size_t k, int64_t count) {
  return ir_require_eq(c->b.ir, type_count(c->b.ir, &op_in(c, k)->type), bd_const(&c->b, count)) ||
         op_fail(c, DIAG_E0402, "input %zu has shape %s; %lld elements are asked", k, op_shape(c, k), (long long)count);
}

/* The zero points [N][blocks] in type t: packed as the weights, or of their own type; the middle of the range where there are none. */
static Value *block_zeros(OpContext *c, const Blocks *s, DType t) {
  Builder *b = &c->b;
  const Dim *n = bd_const(b, s->n), *count = bd_const(b, s->count), *const dims[] = {n, count};
  if (!op_in(c, 3)) return build_expand(b, build_scalar_f(b, t, (double)(1 << (s->bits - 1))), 2, dims);
  if (op_dtype(c, 3) != DT_u8) return has_count(c, 3, s->n * s->count) ? in_float(c, build_reshape(b, op_in(c, 3), 2, dims), t) : NULL;
  const int64_t bytes = (s->count * s->bits + 7) / 8;
  if (!has_count(c, 3, s->n * bytes)) return NULL;
  Value *v = op_unpacked(c, op_in(c, 3), n, bd_const(b, bytes), s->bits);
  return v ? in_float(c, build_slice(b, v, 1, op_dims(c)->zero, count, op_dims(c)->one), t) : NULL;
}

static Value *constant(OpContext *c, DType t, const Dim *rows, const Dim *columns, const Tensor *data, Str name) {
  const Dim *const dims[] = {rows, columns};
  return ir_add_const(c->b.ir, type_tensor(c->b.ir, t, 2, dims), data, name);
}

/* The zero point of block i of row r, of those that input 3 has. */
static float zero_of(const Blocks *s, const Tensor *zeros, int64_t r, int64_t i) {
  if (zeros->dtype != DT_u8) return (float)tensor_real(zeros, (size_t)(r * s->count + i));
  const int64_t bit = i * s->bits, byte = tensor_int(zeros, (size_t)(r * ((s->count * s->bits + 7) / 8) + bit / 8));
  return (float)(byte >> bit % 8 & ((1 << s->bits) - 1));
}

/* A by constant weights of whole blocks, which stay codes: a product of f32. NULL: they are others. */
static Value *product_of_codes(OpContext *c, const Blocks *s) {
  Builder *b = &c->b;
  Value *codes = op_in(c, 1), *scales = op_in(c, 2), *zeros = op_in(c, 3);
  const Type *x = &op_in(c, 0)->type;
  if (x->rank == MAX_RANK || !dim_is(x->dims[x->rank - 1], s->k) || op_in(c, 4) || s->k % s->block || (s->bits != 4 && s->bits != 8) || !codes->data || !scales->data || (zeros && !zeros->data)) return NULL;
  Arena *a = op_arena(c);
  const Dim *n = bd_const(b, s->n), *count = bd_const(b, s->count);
  const size_t blocks = (size_t)(s->n * s->count);
  Tensor *data = NEW(a, Tensor);
  *data = (Tensor){s->bits == 4 ? DT_u4 : DT_u8, codes->data->n * (size_t)(8 / s->bits), codes->data->bytes, codes->data->n_bytes, NULL};
  float *scale = NEW_ARRAY(a, float, blocks), *zero = NEW_ARRAY(a, float, blocks);
  for (size_t i = 0; i < blocks; i++) scale[i] = (float)tensor_real(scales->data, i);
  for (size_t i = 0; zeros && i < blocks; i++) zero[i] = zero_of(s, zeros->data, (int64_t)i / s->count, (int64_t)i % s->count);
  Value *w = constant(c, data->dtype, n, bd_const(b, s->k), data, codes->name), *worth = constant(c, DT_f32, n, count, tensor_take_host(a, DT_f32, blocks, scale), scales->name);
  Value *from = zeros ? constant(c, DT_f32, n, count, tensor_take_host(a, DT_f32, blocks, zero), zeros->name) : NULL;
  const CodesAttr attr = {s->block, (float)(1 << (s->bits - 1))};
  return build_cast(b, build_codes(b, build_cast(b, op_in(c, 0), DT_f32, true), w, worth, from, attr), op_dtype(c, 0), true);
}

/* A B scales zero_points? g_idx? bias?: A [..][K] by the transpose of B [N][K], which lies in blocks. */
bool import_matmul_nbits(OpContext *c) {
  Builder *b = &c->b;
  static const uint32_t swap[] = {1, 0};
  Blocks s;
  const DType t = op_dtype(c, 0);
  if (!read_blocks(c, &s)) return false;
  const int64_t bytes = s.count * s.block * s.bits / 8;
  if (!has_count(c, 1, s.n * bytes) || !has_count(c, 2, s.n * s.count)) return false;
  const Dim *n = bd_const(b, s.n), *k = bd_const(b, s.k), *const dims[] = {n, bd_const(b, s.count)};
  if (op_in(c, 4) && (!op_rank_in(c, 4, 1, 1) || !ir_require_eq(b->ir, op_dim(c, 4, 0), k))) return op_fail(c, DIAG_E0402, "g_idx has shape %s", op_shape(c, 4));
  if (!op_in(c, 0)->type.rank || !ir_require_eq(b->ir, op_dim(c, 0, op_in(c, 0)->type.rank - 1), k)) return op_fail(c, DIAG_E0402, "input 0 has shape %s", op_shape(c, 0));
  Value *kept = product_of_codes(c, &s);
  if (kept) return op_give(c, 0, plus(c, kept, op_in(c, 5)));
  Value *w = op_unpacked(c, op_in(c, 1), n, bd_const(b, bytes), s.bits), *zeros = block_zeros(c, &s, t);
  if (!w || !zeros) return false;
  w = in_float(c, build_slice(b, w, 1, op_dims(c)->zero, k, op_dims(c)->one), t);
  Value *scales = by_block(c, in_float(c, build_reshape(b, op_in(c, 2), 2, dims), t), n, k, s.block);
  w = build_fn2(b, SC_mul, build_fn2(b, SC_sub, w, by_block(c, zeros, n, k, s.block)), scales);
  return w && op_give(c, 0, plus(c, build_matmul(b, op_in(c, 0), build_transpose(b, w, swap)), op_in(c, 5)));
}

/* ---- integers in, floats out ---- */
Value *op_scaled_product(OpContext *c, Value *x, Value *x_scale, Value *x_zero, Value *w, Value *w_scale, Value *w_zero, Value *bias) {
  Builder *b = &c->b;
  x_scale = op_single(c, x_scale);
  if (x_scale && x_scale->type.rank == 1) x_scale = build_unsqueeze(b, x_scale, 2); /* one a row */
  Value *sum = op_matmul_integer(c, x, x_zero, w, w_zero);
  Value *scale = build_fn2(b, SC_mul, x_scale, op_single(c, w_scale));
  return sum && scale ? plus(c, build_fn2(b, SC_mul, build_cast(b, sum, DT_f32, true), scale), bias) : NULL;
}

/* A B a_scale b_scale a_zero? b_zero? bias? */
bool import_matmul_integer_to_float(OpContext *c) {
  return op_give(c, 0, op_scaled_product(c, op_in(c, 0), op_in(c, 2), op_in(c, 4), op_in(c, 1), op_in(c, 3), op_in(c, 5), op_in(c, 6)));
}

/* x as u8 over the range of its elements and 0, with that range's scale and zero point. */
static Value *quantised_by_range(OpContext *c, Value *x, Value **ret_scale, Value **ret_zero) {
  Builder *b = &c->b;
  Value *none = build_scalar_f(b, DT_f32, 0);
  const uint32_t all = axes_from(0, x->type.rank);
  Value *low = build_fn2(b, SC_min, build_reduce(b, REDUCE_MIN, x, all, false), none);
  Value *high = build_fn2(b, SC_max, build_reduce(b, REDUCE_MAX, x, all, false), none);
  Value *scale = build_fn2(b, SC_div, build_fn2(b, SC_sub, high, low), build_scalar_f(b, DT_f32, 255));
  if (!scale) return NULL;
  scale = build_fn3(b, SC_select, build_fn2(b, SC_eq, scale, none), build_scalar_f(b, DT_f32, 1), scale);
  Value *zero = build_fn1(b, SC_round, build_fn2(b, SC_sub, none, build_fn2(b, SC_div, low, scale)));
  Value *level = build_fn2(b, SC_add, build_fn1(b, SC_round, build_fn2(b, SC_div, x, scale)), zero);
  *ret_scale = scale;
  *ret_zero = build_cast(b, zero, DT_u8, true);
  return build_cast(b, level, DT_u8, true);
}

/* A B b_scale b_zero? bias? */
bool import_dynamic_quantize_matmul(OpContext *c) {
  Value *scale = NULL, *zero = NULL, *x = quantised_by_range(c, op_in(c, 0), &scale, &zero);
  return x && op_give(c, 0, op_scaled_product(c, x, scale, zero, op_in(c, 1), op_in(c, 2), op_in(c, 3), op_in(c, 4)));
}

/* A a_scale a_zero B b_scale b_zero C? y_scale? y_zero?: floats without y_scale. C is in units of alpha * a_scale * b_scale. */
bool import_qgemm(OpContext *c) {
  Builder *b = &c->b;
  static const uint32_t swap[] = {1, 0};
  if (!op_rank_in(c, 0, 2, 2) || !op_rank_in(c, 3, 2, 2)) return false;
  Value *x = op_int(c, "transA", 0) ? build_transpose(b, op_in(c, 0), swap) : op_in(c, 0);
  Value *w = op_int(c, "transB", 0) ? build_transpose(b, op_in(c, 3), swap) : op_in(c, 3);
  Value *sum = plus(c, op_matmul_integer(c, x, op_in(c, 2), w, op_in(c, 5)), op_in(c, 6));
  Value *scale = build_fn2(b, SC_mul, op_single(c, op_in(c, 1)), op_single(c, op_in(c, 4)));
  if (!sum || !scale) return false;
  scale = build_fn2(b, SC_mul, scale, build_scalar_f(b, DT_f32, (double)op_float(c, "alpha", 1)));
  Value *y = build_fn2(b, SC_mul, build_cast(b, sum, DT_f32, true), scale);
  if (!op_in(c, 7) || !y) return op_give(c, 0, y);
  y = build_fn1(b, SC_round, build_fn2(b, SC_div, y, op_single(c, op_in(c, 7))));
  const DType to = op_in(c, 8) ? op_dtype(c, 8) : op_dtype(c, 0);
  if (op_in(c, 8)) y = build_fn2(b, SC_add, y, build_cast(b, op_single(c, op_in(c, 8)), DT_f32, true));
  return op_give(c, 0, build_cast(b, y, to, true));
}

/* ---- DynamicQuantizeLSTM ---- */
/* Weights [directions][inputs][gates] of 8 bits, a scale a direction or a gate, as floats [directions][gates][inputs]. */
static Value *recurrent_weights(OpContext *c, size_t weights, size_t scale) {
  Builder *b = &c->b;
  static const uint32_t perm[] = {0, 2, 1};
  if (!op_rank_in(c, weights, 3, 3)) return NULL;
  Value *w = build_cast(b, op_in(c, weights), DT_f32, true), *part[2] = {in_float(c, op_in(c, scale + 1), DT_f32), op_in(c, scale)};
  for (int k = 0; k < 2; k++) {
    if (!part[k]) return NULL;
    if (part[k]->type.rank == 1) part[k] = build_unsqueeze(b, part[k], 3u << 1);
    else part[k] = build_unsqueeze(b, part[k], 1u << 1);
    w = build_fn2(b, k ? SC_mul : SC_sub, w, part[k]);
  }
  return build_transpose(b, w, perm);
}

/* X W R B sequence_lens initial_h initial_c P W_scale W_zero R_scale R_zero: in float, which is what the 8-bit weights stand for. */
bool import_dynamic_quantize_lstm(OpContext *c) {
  Value *w = recurrent_weights(c, 1, 8), *r = recurrent_weights(c, 2, 10);
  if (!w || !r) return false;
  c->in[1] = w;
  c->in[2] = r;
  return import_recurrent(c);
}
