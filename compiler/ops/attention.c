#include "ops/attention.h"

/* ---- heads ---- */
/* [B][S][n * h] as [B][n][S][h]; 4-dimensional inputs are so already. */
Value *op_split_heads(OpContext *c, Value *x, int64_t n) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!x || x->type.rank == 4) return x;
  if (x->type.rank != 3) return (void)op_fail(c, DIAG_E0402, "heads of shape %s", build_shape_text(b, x)), NULL;
  static const uint32_t perm[] = {0, 2, 1, 3};
  const Dim *heads = dim_const(d, n), *size = dim_floordiv(d, x->type.dims[2], heads);
  const Dim *const dims[] = {x->type.dims[0], x->type.dims[1], heads, size};
  return build_transpose(b, build_reshape(b, x, 4, dims), perm);
}

/* [B][n][S][h] as [B][S][n * h] */
Value *op_join_heads(OpContext *c, Value *x) {
  if (!x) return NULL;
  static const uint32_t perm[] = {0, 2, 1, 3};
  const Dim *const *t = x->type.dims;
  const Dim *const dims[] = {t[0], t[2], dim_mul(op_dims(c), t[1], t[3])};
  return build_reshape(&c->b, build_transpose(&c->b, x, perm), 3, dims);
}

/* x [B][n][S][a] by y [B][kv][a][T], each of the kv heads serving n / kv of x's. */
Value *op_grouped_matmul(OpContext *c, Value *x, Value *y) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!x || !y) return NULL;
  const Dim *n = x->type.dims[1], *kv = y->type.dims[1];
  if (dim_eq(d, n, kv) == 1 || dim_is(kv, 1)) return build_matmul(b, x, y);
  if (!ir_require_eq(b->ir, dim_mod(d, n, kv), d->zero)) {
    (void)op_fail(c, DIAG_E0402, "the query heads of %s are not a multiple of the key heads of %s",
                  build_shape_text(b, x), build_shape_text(b, y));
    return NULL;
  }
  const Dim *const wide[] = {x->type.dims[0], kv, dim_floordiv(d, n, kv), x->type.dims[2], x->type.dims[3]};
  Value *v = build_matmul(b, build_reshape(b, x, 5, wide), build_unsqueeze(b, y, 1u << 2));
  const Dim *const dims[] = {x->type.dims[0], n, x->type.dims[2], y->type.dims[3]};
  return build_reshape(b, v, 4, dims);
}

Value *op_swap_last(OpContext *c, Value *x) {
  static const uint32_t perm[] = {0, 1, 3, 2};
  return x ? build_transpose(&c->b, x, perm) : NULL;
}

/* ---- what a query may attend to ---- */
/* True where key j (axis n - 1) is visible from query i (axis n - 2): b1 [S][T], or [B][1][S][T] with `valid`. NULL
 * when all are. */
Value *op_visible(OpContext *c, const Visibility *v, const Dim *queries, const Dim *keys) {
  Arena *a = op_arena(c);
  const uint32_t rank = v->valid ? 4 : 2;
  Expr e = {0};
  const uint32_t i = expr_index(a, &e, rank - 2), j = expr_index(a, &e, rank - 1);
  const uint32_t limit = v->valid ? expr_input(a, &e, 0, DT_s64) : 0;
  const uint32_t offset =
      v->valid ? expr_fn2(a, &e, SC_sub, limit, expr_dim(a, &e, queries)) : expr_dim(a, &e, v->past);
  const uint32_t at = !v->valid && dim_is(v->past, 0) ? i : expr_fn2(a, &e, SC_add, i, offset);
  uint32_t all[4], n = 0;
  if (v->causal) all[n++] = expr_fn2(a, &e, SC_le, j, at);
  if (v->left >= 0)
    all[n++] = expr_fn2(a, &e, SC_le, expr_fn2(a, &e, SC_sub, at, j), expr_const_i(a, &e, DT_s64, v->left));
  if (v->right >= 0)
    all[n++] = expr_fn2(a, &e, SC_le, expr_fn2(a, &e, SC_sub, j, at), expr_const_i(a, &e, DT_s64, v->right));
  if (v->valid) all[n++] = expr_fn2(a, &e, SC_lt, j, limit);
  if (n == 0) return NULL;
  uint32_t result = all[0];
  for (uint32_t k = 1; k < n; k++) result = expr_fn2(a, &e, SC_and, result, all[k]);
  expr_set_result(a, &e, result);
  const Dim *const dims[] = {v->valid ? v->valid->type.dims[0] : queries, op_dims(c)->one, queries, keys};
  const Dim *const flat[] = {queries, keys};
  Value *lengths = v->valid;
  if (lengths) lengths = build_unsqueeze(&c->b, lengths, 7u << 1);
  return build_expr(&c->b, e, &lengths, lengths ? 1 : 0, (int)rank, v->valid ? dims : flat);
}

/* 0 where true, -infinity elsewhere. */
Value *op_bias_of(OpContext *c, Value *allowed, DType t) {
  if (!allowed) return NULL;
  return build_fn3(&c->b, SC_select, allowed, build_scalar_f(&c->b, t, 0), build_scalar_f(&c->b, t, -__builtin_inf()));
}

/* attn_mask as an additive bias of type t; keys that it does not reach are hidden. */
Value *op_mask_bias(OpContext *c, Value *mask, const Dim *keys, DType t) {
  Builder *b = &c->b;
  if (!mask) return NULL;
  const uint32_t rank = mask->type.rank;
  const bool boolean = mask->type.dtype == DT_b1;
  if (rank == 0) {
    (void)op_fail(c, DIAG_E0402, "the mask has no dimensions");
    return NULL;
  }
  if (dim_eq(op_dims(c), mask->type.dims[rank - 1], keys) != 1) {
    const Dim *lo[MAX_RANK], *hi[MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) lo[i] = hi[i] = op_dims(c)->zero;
    hi[rank - 1] = dim_sub(op_dims(c), keys, mask->type.dims[rank - 1]);
    Value *hidden = boolean ? build_scalar_i(b, DT_b1, 0) : op_scalar_like(c, mask, -__builtin_inf());
    mask = build_pad(b, mask, PAD_CONSTANT, lo, hi, hidden);
  }
  return boolean ? op_bias_of(c, mask, t) : build_cast(b, mask, t, true);
}

Value *op_blind(OpContext *c, Value *bias) {
  if (!bias) return NULL;
  Value *best = build_reduce(&c->b, REDUCE_MAX, bias, 1u << (bias->type.rank - 1), true);
  return build_fn2(&c->b, SC_eq, best, op_scalar_like(c, bias, -__builtin_inf()));
}

Value *op_unless_blind(OpContext *c, Value *x, Value *blind) {
  return blind && x ? build_fn3(&c->b, SC_select, blind, op_scalar_like(c, x, 0), x) : x;
}

/* Keys before those numbers, one of each sequence: [B][1][1][keys]; or from them on. */
static Value *keys_before(OpContext *c, Value *ends, const Dim *keys, bool from) {
  Arena *a = op_arena(c);
  Expr e = {0};
  if (!ends) return NULL;
  const uint32_t key = expr_index(a, &e, 3), end = expr_cast(a, &e, DT_s64, true, expr_input(a, &e, 0, ends->type.dtype));
  (void)(from ? expr_fn2(a, &e, SC_le, end, key) : expr_fn2(a, &e, SC_lt, key, end));
  const Dim *const dims[] = {ends->type.dims[0], op_dims(c)->one, op_dims(c)->one, keys};
  Value *of = build_unsqueeze(&c->b, ends, 7u << 1);
  return build_expr(&c->b, e, &of, 1, 4, dims);
}

/* mask_index of shape [B] (numbers of valid keys), [2 * B] (where they end, then where they begin), [3 * B + 2] (their numbers, then what only packed
 * sequences need), [B][T] or [B][S][T] (1: visible): filter is added where hidden. */
Value *op_index_bias(OpContext *c, Value *mask, const Dim *batch, const Dim *keys, DType t, float filter) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const uint32_t rank = mask->type.rank;
  const Dim *n = rank ? mask->type.dims[0] : d->zero, *twice = dim_mulc(d, batch, 2);
  const bool both = rank == 1 && dim_eq(d, n, twice) == 1, packed = rank == 1 && dim_eq(d, n, dim_addc(d, dim_mulc(d, batch, 3), 2)) == 1;
  Value *shown;
  if (rank < 1 || rank > 3 || (!both && !packed && !dim_is(rank > 1 ? n : d->zero, 1) && !ir_require_eq(b->ir, n, batch))) {
    (void)op_fail(c, DIAG_E0402, "the mask has shape %s", build_shape_text(b, mask));
    return NULL;
  }
  if (rank == 1) {
    shown = keys_before(c, both || packed ? op_part(c, mask, 0, d->zero, batch) : mask, keys, false);
    if (both) shown = build_fn2(b, SC_and, shown, keys_before(c, op_part(c, mask, 0, batch, batch), keys, true));
  } else {
    shown = build_fn2(b, SC_ne, build_unsqueeze(b, mask, rank == 2 ? 3u << 1 : 1u << 1), build_scalar_i(b, mask->type.dtype, 0));
  }
  return build_fn3(b, SC_select, shown, build_scalar_f(b, t, 0), build_scalar_f(b, t, (double)filter));
}
