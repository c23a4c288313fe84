/* Determinants, Fourier transforms, regions of images, linear attention: routines of runtime-lite. */
#include "ops/shared.h"

/* Routines have one source for f32 and f64. */
static Value *real(OpContext *c, Value *x) { return x && x->type.dtype != DT_f64 ? build_cast(&c->b, x, DT_f32, true) : x; }

/* ---- Det ---- */
bool import_det(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  if (!op_rank_in(c, 0, 2, MAX_RANK)) return false;
  const Dim *n = op_dim(c, 0, rank - 1), *batch = dim_product(op_dims(c), op_in(c, 0)->type.dims, rank - 2);
  if (!ir_require_eq(b->ir, n, op_dim(c, 0, rank - 2))) return op_fail(c, DIAG_E0402, "matrices of shape %s are not square", op_shape(c, 0));
  const Dim *const dims[] = {batch, n, n};
  Value *x = real(c, build_reshape(b, op_in(c, 0), 3, dims)), *y;
  const Type type = type_tensor(b->ir, x->type.dtype, 1, &batch);
  if (!op_routine(c, "cn_op_det", &x, 1, NULL, 0, dim_mulc(op_dims(c), dim_mul(op_dims(c), n, n), 8), &type, 1, &y)) return false;
  return op_give(c, 0, build_cast(b, build_reshape(b, y, rank - 2, op_in(c, 0)->type.dims), op_dtype(c, 0), true));
}

/* ---- DFT, STFT ---- */
typedef struct Transform {
  const Dim *length; /* of the transform */
  bool inverse, onesided;
} Transform;

/* x [rows][m][1 or 2] -> [rows][bins][2], or [rows][length][1] from half a spectrum. */
static Value *transform(OpContext *c, Value *x, Transform t) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const bool half = t.inverse && t.onesided;
  const Dim *bins = t.onesided && !half ? dim_addc(d, dim_floordiv(d, t.length, dim_const(d, 2)), 1) : t.length;
  const Dim *const dims[] = {x->type.dims[0], bins, bd_const(b, half ? 1 : 2)};
  const Type type = type_tensor(b->ir, x->type.dtype, 3, dims);
  const RoutineInt attrs[] = {{"inverse", t.inverse}, {"half", half}};
  Value *const in[] = {x, build_dim_scalar(b, t.length)};
  Value *y;
  return op_routine(c, "cn_op_dft", in, 2, attrs, 2, dim_mulc(d, dim_addc(d, t.length, 1), 192), &type, 1, &y) ? y : NULL;
}

/* Real or complex: the last axis has 1 or 2 elements, a root of (parts - 1)(parts - 2). */
static bool check_parts(OpContext *c, const Dim *parts) {
  DimCtx *d = op_dims(c);
  return ir_require_eq(c->b.ir, dim_mul(d, dim_addc(d, parts, -1), dim_addc(d, parts, -2)), d->zero) ||
         op_fail(c, DIAG_E0402, "shape %s: its last dimension must be 1 or 2", op_shape(c, 0));
}

static bool dft_axis(OpContext *c, uint32_t rank, uint32_t *ret) {
  const int64_t *v;
  size_t n;
  int64_t axis = op_int(c, "axis", c->row->since < 20 ? 1 : -2);
  if (op_in(c, 2) && build_const_ints(&c->b, op_in(c, 2), &v, &n) && n == 1) axis = v[0];
  if (!op_axis(c, axis, rank, ret)) return false;
  return *ret + 1 < rank || op_fail(c, DIAG_E0304, "axis %u is the one of real and imaginary parts", *ret);
}

/* The length asked for, else that of the signal; half a spectrum belongs to an even one. */
static const Dim *dft_length(OpContext *c, const Dim *m, bool half) {
  DimCtx *d = op_dims(c);
  size_t n;
  if (!op_in(c, 1)) return half ? dim_mulc(d, dim_addc(d, m, -1), 2) : m;
  if (!op_one_element(c, 1)) return NULL;
  const Dim *const *v = build_read_dims(&c->b, op_in(c, 1), "dft_length", 1, INT32_MAX, NULL, &n);
  if (v && v[0]->hi < 1) return op_fail(c, DIAG_E0403, "dft_length is %lld", (long long)v[0]->hi), NULL;
  return v ? v[0] : NULL;
}

/* Moves `axis` to the place before the last; the same exchange moves it back. */
static Value *swap_axis(OpContext *c, Value *x, uint32_t axis) {
  uint32_t perm[MAX_RANK];
  for (uint32_t i = 0; i < x->type.rank; i++) perm[i] = i;
  perm[axis] = x->type.rank - 2;
  perm[x->type.rank - 2] = axis;
  return build_transpose(&c->b, x, perm);
}

/* Elements before the axis, on it and behind it, for an axis that only data decides (s64 [1], not negative). NULL after a diagnostic. */
static const Dim *const *around_axis(OpContext *c, Value *axis, uint32_t rank) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Dim *const *x = op_in(c, 0)->type.dims, *before[MAX_RANK], *behind[MAX_RANK], *bound[3];
  const uint32_t n = rank - 1; /* the last axis holds the parts */
  const Dim *const count = bd_const(b, n), *const one = d->one;
  size_t n_read;
  const Dim *most = one; /* of any part, though another axis has no elements */
  for (uint32_t i = 0; i < n; i++) most = dim_mul(d, most, dim_max(d, x[i], one));
  for (uint32_t i = 0; i < n; i++) before[i] = dim_product(d, x, i);
  for (uint32_t i = 0; i < n; i++) behind[i] = dim_product(d, x + i + 1, n - i - 1);
  const Dim *const *tables[] = {before, x, behind};
  Value *parts[3];
  for (int k = 0; k < 3; k++) {
    const Affine place = build_affine_coord(b, 1, 0);
    const GatherAxis at = {.indirect = true, .operand = 1, .place = &place};
    Value *const in[] = {build_reshape(b, build_dims(b, tables[k], n), 1, &count), axis};
    parts[k] = build_gather(b, in, 2, 1, &one, &at);
    bound[k] = most;
  }
  return build_read_dims(b, build_concat(b, parts, 3, 0), "part", 0, INT32_MAX, bound, &n_read);
}

static bool dft_at_run_time(OpContext *c, Transform t) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  static const uint32_t perm[] = {0, 2, 1, 3};
  Value *axis = build_reshape(b, op_in(c, 2), 1, &op_dims(c)->one);
  axis = build_fn3(b, SC_select, build_fn2(b, SC_lt, axis, build_scalar_i(b, DT_s64, 0)), build_fn2(b, SC_add, axis, build_scalar_i(b, DT_s64, rank)), axis);
  const Dim *const *around = axis ? around_axis(c, axis, rank) : NULL;
  if (!around || !(t.length = dft_length(c, around[1], t.inverse && t.onesided))) return false;
  const Dim *const dims[] = {around[0], around[1], around[2], op_dim(c, 0, rank - 1)};
  Value *x = build_transpose(b, build_reshape(b, real(c, op_in(c, 0)), 4, dims), perm);
  const Dim *const rows[] = {dim_mul(op_dims(c), around[0], around[2]), around[1], dims[3]};
  Value *y = x ? transform(c, build_reshape(b, x, 3, rows), t) : NULL;
  if (!y) return false;
  const Dim *bins = y->type.dims[1], *const spread[] = {around[0], around[2], bins, y->type.dims[2]}, *out[MAX_RANK];
  y = build_transpose(b, build_reshape(b, y, 4, spread), perm);
  const Dim *const count = bd_const(b, rank - 1);
  Expr e = {0};
  expr_set_result(op_arena(c), &e, expr_index(op_arena(c), &e, 0));
  Value *here = build_fn2(b, SC_eq, build_expr(b, e, NULL, 0, 1, &count), axis);
  Value *sizes = build_fn3(b, SC_select, here, build_dim_scalar(b, bins), build_dims(b, op_in(c, 0)->type.dims, rank - 1));
  size_t n;
  const Dim *const *exact = op_declared(c, 0, rank);
  const Dim *const *read = build_read(b, sizes, (ReadDims){.what = "size", .hi = INT32_MAX, .exact = exact}, &n);
  if (!read) return false;
  memcpy(out, read, (rank - 1) * sizeof *out);
  out[rank - 1] = spread[3];
  return op_give(c, 0, build_cast(b, build_reshape(b, y, rank, out), op_dtype(c, 0), true));
}

bool import_dft(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  const int64_t *known;
  size_t n;
  uint32_t axis;
  if (!op_rank_in(c, 0, 2, MAX_RANK) || !check_parts(c, op_dim(c, 0, rank - 1)) || !op_one_element(c, 2)) return false;
  Transform t = {.inverse = op_int(c, "inverse", 0) != 0, .onesided = op_int(c, "onesided", 0) != 0};
  if (op_in(c, 2) && !build_const_ints(b, op_in(c, 2), &known, &n)) return dft_at_run_time(c, t);
  if (!dft_axis(c, rank, &axis)) return false;
  t.length = dft_length(c, op_dim(c, 0, axis), t.inverse && t.onesided);
  if (!t.length) return false;
  Value *x = swap_axis(c, real(c, op_in(c, 0)), axis);
  const Dim *dims[MAX_RANK];
  memcpy(dims, x->type.dims, rank * sizeof *dims);
  const Dim *const rows[] = {dim_product(op_dims(c), dims, rank - 2), dims[rank - 2], dims[rank - 1]};
  Value *y = transform(c, build_reshape(b, x, 3, rows), t);
  if (!y) return false;
  dims[rank - 2] = y->type.dims[1];
  dims[rank - 1] = y->type.dims[2];
  return op_give(c, 0, build_cast(b, swap_axis(c, build_reshape(b, y, rank, dims), axis), op_dtype(c, 0), true));
}

static const Dim *stft_scalar(OpContext *c, size_t k, const char *what) {
  size_t n;
  if (!op_one_element(c, k)) return NULL;
  const Dim *const *v = build_read_dims(&c->b, op_in(c, k), what, 1, INT32_MAX, NULL, &n);
  if (v && v[0]->hi < 1) return op_fail(c, DIAG_E0403, "%s is %lld", what, (long long)v[0]->hi), NULL;
  return v ? v[0] : NULL;
}

bool import_stft(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!op_rank_in(c, 0, 2, 3)) return false;
  Value *x = real(c, op_rank(c, 0) == 2 ? build_unsqueeze(b, op_in(c, 0), 4) : op_in(c, 0)), *window = real(c, op_in(c, 2));
  if (!check_parts(c, x->type.dims[2])) return false;
  const Dim *step = stft_scalar(c, 1, "frame_step"), *length = op_in(c, 3) ? stft_scalar(c, 3, "frame_length") : window ? op_dim(c, 2, 0) : NULL;
  if (!step || !length) return step && !op_in(c, 3) ? op_fail(c, DIAG_E0305, "neither frame_length nor window is given") : false;
  if (window && (!op_rank_in(c, 2, 1, 1) || !ir_require_eq(b->ir, op_dim(c, 2, 0), length))) return op_fail(c, DIAG_E0402, "a window %s for frames of another length", op_shape(c, 2));
  const Dim *frames = dim_max(d, dim_addc(d, dim_floordiv(d, dim_sub(d, x->type.dims[1], length), step), 1), d->zero);
  const Dim *const dims[] = {x->type.dims[0], frames, length, x->type.dims[2]};
  const Dim *const coef[] = {d->zero, step, d->one, d->zero};
  const Affine index[] = {build_affine_coord(b, 4, 0), {d->zero, arena_dup(op_arena(c), coef, sizeof coef)}, build_affine_coord(b, 4, 3)};
  Value *v = build_view(b, x, 4, dims, index);
  if (window) v = build_fn2(b, SC_mul, v, build_unsqueeze(b, window, 2));
  const Dim *const rows[] = {dim_mul(d, dims[0], frames), length, dims[3]};
  Value *y = v ? transform(c, build_reshape(b, v, 3, rows), (Transform){.length = length, .onesided = op_int(c, "onesided", 1) != 0}) : NULL;
  if (!y) return false;
  const Dim *const out[] = {dims[0], frames, y->type.dims[1], y->type.dims[2]};
  return op_give(c, 0, build_cast(b, build_reshape(b, y, 4, out), op_dtype(c, 0), true));
}

/* ---- RoiAlign ---- */
bool import_roi_align(OpContext *c) {
  Builder *b = &c->b;
  const Str mode = op_str(c, "mode", "avg"), how = op_str(c, "coordinate_transformation_mode", "half_pixel");
  const int64_t h = op_int(c, "output_height", 1), w = op_int(c, "output_width", 1), ratio = op_int(c, "sampling_ratio", 0);
  const bool half = c->row->since >= 16 && str_is(how, "half_pixel"), largest = str_is(mode, "max");
  if (!largest && !str_is(mode, "avg")) return op_fail(c, DIAG_E0304, "attribute 'mode' is %s", diag_quote(b->ir->diags, mode));
  if (!half && c->row->since >= 16 && !str_is(how, "output_half_pixel")) return op_fail(c, DIAG_E0304, "coordinate_transformation_mode is %s", diag_quote(b->ir->diags, how));
  if (h < 1 || w < 1 || h > INT32_MAX || w > INT32_MAX || ratio < 0 || ratio > INT16_MAX) return op_fail(c, DIAG_E0304, "output %lld x %lld, sampling_ratio %lld", (long long)h, (long long)w, (long long)ratio);
  if (!op_rank_in(c, 0, 4, 4) || !op_rank_in(c, 1, 2, 2) || !op_rank_in(c, 2, 1, 1)) return false;
  if (!ir_require_eq(b->ir, op_dim(c, 1, 0), op_dim(c, 2, 0)) || !ir_require_eq(b->ir, op_dim(c, 1, 1), bd_const(b, 4)))
    return op_fail(c, DIAG_E0402, "regions %s and batch indices %s", op_shape(c, 1), op_shape(c, 2));
  Value *x = real(c, op_in(c, 0)), *y;
  Value *const in[] = {x, real(c, op_in(c, 1)), op_in(c, 2), build_scalar_f(b, x->type.dtype, (double)op_float(c, "spatial_scale", 1))};
  const Dim *const dims[] = {op_dim(c, 1, 0), op_dim(c, 0, 1), bd_const(b, h), bd_const(b, w)};
  const Type type = type_tensor(b->ir, x->type.dtype, 4, dims);
  const RoutineInt attrs[] = {{"sampling_ratio", ratio}, {"half_pixel", half}, {"largest", largest}};
  DimCtx *d = b->ir->dims;
  const Dim *places = dim_add(d, op_dim(c, 0, 2), dim_mulc(d, op_dim(c, 0, 3), 2));
  const Dim *scratch = dim_mulc(d, dim_add(d, places, bd_const(b, 5 * (h + w))), 8); /* runtime-lite/ops/regions.h */
  return op_routine(c, "cn_op_roi_align", in, 4, attrs, 3, scratch, &type, 1, &y) && op_give(c, 0, build_cast(b, y, op_dtype(c, 0), true));
}

bool import_max_roi_pool(OpContext *c) {
  Builder *b = &c->b;
  size_t n;
  const int64_t *pooled = op_ints(c, "pooled_shape", &n);
  if (n != 2 || pooled[0] < 1 || pooled[1] < 1 || pooled[0] > INT16_MAX || pooled[1] > INT16_MAX) return op_fail(c, DIAG_E0304, "attribute 'pooled_shape' must have two values above 0");
  if (!op_rank_in(c, 0, 4, 4) || !op_rank_in(c, 1, 2, 2)) return false;
  if (!ir_require_eq(b->ir, op_dim(c, 1, 1), bd_const(b, 5))) return op_fail(c, DIAG_E0402, "regions %s: five values each are needed", op_shape(c, 1));
  Value *x = real(c, op_in(c, 0)), *y;
  Value *const in[] = {x, real(c, op_in(c, 1)), build_scalar_f(b, x->type.dtype, (double)op_float(c, "spatial_scale", 1))};
  const Dim *const dims[] = {op_dim(c, 1, 0), op_dim(c, 0, 1), bd_const(b, pooled[0]), bd_const(b, pooled[1])};
  const Type type = type_tensor(b->ir, x->type.dtype, 4, dims);
  return op_routine(c, "cn_op_max_roi_pool", in, 3, NULL, 0, NULL, &type, 1, &y) && op_give(c, 0, build_cast(b, y, op_dtype(c, 0), true));
}

/* ---- LinearAttention ---- */
/* Whether operand k, [B][T][..] as the query, is there exactly if the rule asks for it. */
static bool check_gate(OpContext *c, size_t k, bool asked, const char *what) {
  const Value *v = op_in(c, k);
  if (asked != (v != NULL)) return op_fail(c, DIAG_E0305, "%s is %s by update_rule", what, asked ? "asked for" : "not allowed");
  if (!v) return true;
  if (!op_rank_in(c, k, 3, 3)) return false;
  for (uint32_t i = 0; i < 2; i++)
    if (!ir_require_eq(c->b.ir, op_dim(c, k, i), op_dim(c, 0, i))) return op_fail(c, DIAG_E0402, "%s %s does not fit the query %s", what, op_shape(c, k), op_shape(c, 0));
  return true;
}

/* Whether the last size of operand k is one of two. */
static bool last_is(OpContext *c, size_t k, const Dim *a, const Dim *either) {
  DimCtx *x = op_dims(c);
  const Dim *d = op_dim(c, k, 2);
  return dim_eq(x, d, a) > 0 || ir_require_eq(c->b.ir, dim_mul(x, dim_sub(x, d, a), dim_sub(x, d, either)), x->zero) ||
         op_fail(c, DIAG_E0402, "input %zu has shape %s", k, op_shape(c, k));
}

bool import_linear_attention(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const int64_t hq = op_int(c, "q_num_heads", 0), h = op_int(c, "kv_num_heads", 0);
  const Str rule = op_str(c, "update_rule", "gated_delta");
  const bool both = str_is(rule, "gated_delta"), gated = both || str_is(rule, "gated"), delta = both || str_is(rule, "delta");
  if (!gated && !delta && !str_is(rule, "linear")) return op_fail(c, DIAG_E0304, "update_rule is %s", diag_quote(b->ir->diags, rule));
  if (h < 1 || hq < 1 || hq > INT32_MAX || hq % h) return op_fail(c, DIAG_E0304, "%lld query heads for %lld heads", (long long)hq, (long long)h);
  for (size_t k = 0; k < 3; k++)
    if (!check_gate(c, k, true, "an operand")) return false;
  if (!check_gate(c, 4, gated, "decay") || !check_gate(c, 5, delta, "beta")) return false;
  const Dim *dk = dim_floordiv(d, op_dim(c, 0, 2), dim_const(d, hq)), *dv = dim_floordiv(d, op_dim(c, 2, 2), dim_const(d, h)), *heads = bd_const(b, h);
  if (!ir_require_eq(b->ir, dim_mulc(d, dk, hq), op_dim(c, 0, 2)) || !ir_require_eq(b->ir, dim_mulc(d, dk, h), op_dim(c, 1, 2)) || !ir_require_eq(b->ir, dim_mulc(d, dv, h), op_dim(c, 2, 2)))
    return op_fail(c, DIAG_E0402, "query %s, key %s and value %s do not fit the heads", op_shape(c, 0), op_shape(c, 1), op_shape(c, 2));
  if ((gated && !last_is(c, 4, heads, dim_mul(d, heads, dk))) || (delta && !last_is(c, 5, heads, d->one))) return false;
  const Dim *const state[] = {op_dim(c, 0, 0), heads, dk, dv}, *const out[] = {op_dim(c, 0, 0), op_dim(c, 0, 1), dim_mulc(d, dv, hq)};
  Value *in[6];
  for (size_t k = 0; k < 6; k++) in[k] = op_in(c, k) ? build_cast(b, op_in(c, k), DT_f32, true) : NULL;
  if (!in[3]) in[3] = build_expand(b, build_scalar_f(b, DT_f32, 0), 4, state);
  for (uint32_t i = 0; i < 4; i++)
    if (in[3]->type.rank != 4 || !ir_require_eq(b->ir, in[3]->type.dims[i], state[i])) return op_fail(c, DIAG_E0402, "past_state has shape %s", op_shape(c, 3));
  const float scale = op_float(c, "scale", 0);
  in[0] = scale != 0 ? build_fn2(b, SC_mul, in[0], build_scalar_f(b, DT_f32, (double)scale))
                     : build_fn2(b, SC_div, in[0], build_fn1(b, SC_sqrt, build_cast(b, build_dim_scalar(b, dk), DT_f32, true)));
  if (gated) in[4] = build_fn1(b, SC_exp, in[4]);
  const Type types[] = {type_tensor(b->ir, DT_f32, 3, out), type_tensor(b->ir, DT_f32, 4, state)};
  const RoutineInt attrs[] = {{"q_num_heads", hq}, {"kv_num_heads", h}};
  Value *y[2];
  if (!op_routine(c, "cn_op_linear_attention", in, 6, attrs, 2, dim_mulc(d, dv, 4), types, 2, y)) return false;
  if (op_wants(c, 1)) c->out[1] = build_cast(b, y[1], op_in(c, 3) ? op_dtype(c, 3) : op_dtype(c, 0), true);
  return op_give(c, 0, build_cast(b, y[0], op_dtype(c, 0), true));
}
