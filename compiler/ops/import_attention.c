/* Attention by decomposition: products, bias, softmax. ONNX Attention, RotaryEmbedding; com.microsoft Attention and
 * EmbedLayerNormalization. */
#include "ops/shared.h"

/* ---- heads ---- */
/* [B][S][n * h] as [B][n][S][h]; 4-dimensional inputs are so already. */
static Value *split_heads(OpContext *c, Value *x, int64_t n) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!x || x->type.rank == 4) return x;
  static const uint32_t perm[] = {0, 2, 1, 3};
  const Dim *heads = dim_const(d, n), *size = dim_floordiv(d, x->type.dims[2], heads);
  const Dim *const dims[] = {x->type.dims[0], x->type.dims[1], heads, size};
  return build_transpose(b, build_reshape(b, x, 4, dims), perm);
}

/* [B][n][S][h] as [B][S][n * h] */
static Value *join_heads(OpContext *c, Value *x) {
  if (!x) return NULL;
  static const uint32_t perm[] = {0, 2, 1, 3};
  const Dim *const *t = x->type.dims;
  const Dim *const dims[] = {t[0], t[2], dim_mul(op_dims(c), t[1], t[3])};
  return build_reshape(&c->b, build_transpose(&c->b, x, perm), 3, dims);
}

/* x [B][n][S][a] by y [B][kv][a][T], each of the kv heads serving n / kv of x's. */
static Value *grouped_matmul(OpContext *c, Value *x, Value *y) {
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

static Value *swap_last(OpContext *c, Value *x) {
  static const uint32_t perm[] = {0, 1, 3, 2};
  return x ? build_transpose(&c->b, x, perm) : NULL;
}

/* ---- what a query may attend to ---- */
typedef struct Visibility {
  bool causal;
  int64_t left, right; /* window, -1: open */
  const Dim *past;     /* keys before this block of queries */
  Value *valid;        /* s64 [B]: keys that are no padding, or NULL; then the queries are the last of them */
} Visibility;

/* True where key j (axis n - 1) is visible from query i (axis n - 2): b1 [S][T], or [B][1][S][T] with `valid`. NULL
 * when all are. */
static Value *visible(OpContext *c, const Visibility *v, const Dim *queries, const Dim *keys) {
  Arena *a = op_arena(c);
  const uint32_t rank = v->valid ? 4 : 2;
  Expr e = {0};
  const uint32_t i = expr_index(a, &e, rank - 2), j = expr_index(a, &e, rank - 1);
  const uint32_t limit = v->valid ? expr_input(a, &e, 0, DT_s64) : 0;
  const uint32_t offset =
      v->valid ? expr_fn2(a, &e, SC_sub, limit, expr_dim(a, &e, queries)) : expr_dim(a, &e, v->past);
  const uint32_t at = expr_fn2(a, &e, SC_add, i, offset);
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
static Value *bias_of(OpContext *c, Value *allowed, DType t) {
  if (!allowed) return NULL;
  return build_fn3(&c->b, SC_select, allowed, build_scalar_f(&c->b, t, 0), build_scalar_f(&c->b, t, -__builtin_inf()));
}

/* attn_mask as an additive bias of type t; keys that it does not reach are hidden. */
static Value *mask_bias(OpContext *c, Value *mask, const Dim *keys, DType t) {
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
  return boolean ? bias_of(c, mask, t) : build_cast(b, mask, t, true);
}

static Value *plus(OpContext *c, Value *x, Value *y) { return x && y ? build_fn2(&c->b, SC_add, x, y) : x ? x : y; }

/* Softmax over keys; a row that sees nothing gives zeros. */
static Value *probabilities(OpContext *c, Value *scores, Value *bias, bool may_be_blind) {
  Builder *b = &c->b;
  if (!scores) return NULL;
  Value *p = build_softmax(b, scores, scores->type.rank - 1, false);
  if (!bias || !may_be_blind || !p) return p;
  Value *best = build_reduce(b, REDUCE_MAX, bias, 1u << (bias->type.rank - 1), true);
  Value *blind = build_fn2(b, SC_eq, best, op_scalar_like(c, bias, -__builtin_inf()));
  return build_fn3(b, SC_select, blind, op_scalar_like(c, p, 0), p);
}

/* ---- ONNX Attention ---- */
static bool attention_shapes(OpContext *c, int64_t *q_heads, int64_t *kv_heads) {
  const uint32_t rank = op_rank(c, 0);
  *q_heads = op_int(c, "q_num_heads", 0);
  *kv_heads = op_int(c, "kv_num_heads", 0);
  if ((rank != 3 && rank != 4) || op_rank(c, 1) != rank || op_rank(c, 2) != rank)
    return op_fail(c, DIAG_E0402, "Q, K and V must all have rank 3 or all rank 4, not shapes %s, %s and %s",
                   op_shape(c, 0), op_shape(c, 1), op_shape(c, 2));
  if (rank == 3 && (*q_heads < 1 || *kv_heads < 1))
    return op_fail(c, DIAG_E0304, "attributes 'q_num_heads' and 'kv_num_heads' must be given for rank 3");
  if (!op_in(c, 4) != !op_in(c, 5)) return op_fail(c, DIAG_E0305, "past_key and past_value go together");
  for (size_t k = 4; k < 6; k++)
    if (op_in(c, k) && !op_rank_in(c, k, 4, 4)) return false;
  return !op_in(c, 6) || op_rank_in(c, 6, 1, 1);
}

/* Q K^T scaled, with the soft cap: each factor by sqrt(scale), so that narrow types do not overflow. */
static Value *attention_scores(OpContext *c, Value *q, Value *k, int mode) {
  Builder *b = &c->b;
  int64_t head;
  double scale = (double)op_float(c, "scale", 0);
  Value *root;
  if (op_has_attr(c, "scale")) {
    root = build_fn1(b, SC_sqrt, build_scalar_f(b, DT_f64, scale));
  } else if (dim_is_const(q->type.dims[3], &head) && head > 0) {
    root = build_fn1(b, SC_sqrt,
                     build_fn2(b, SC_div, build_scalar_f(b, DT_f64, 1),
                               build_fn1(b, SC_sqrt, build_scalar_f(b, DT_f64, (double)head))));
  } else {
    (void)op_unsupported(c, "with a head size that is not known and no scale");
    return NULL;
  }
  Value *factor = build_cast(b, root, q->type.dtype, true);
  Value *scores = grouped_matmul(c, build_fn2(b, SC_mul, q, factor), build_fn2(b, SC_mul, swap_last(c, k), factor));
  if (mode == 0 && op_wants(c, 3)) c->out[3] = scores;
  const float cap = op_float(c, "softcap", 0);
  if (cap > 0 && scores) {
    Value *s = op_scalar_like(c, scores, (double)cap);
    scores = build_fn2(b, SC_mul, build_fn1(b, SC_tanh, build_fn2(b, SC_div, scores, s)), s);
  }
  if (mode == 1 && op_wants(c, 3)) c->out[3] = scores;
  return scores;
}

bool import_attention(OpContext *c) {
  Builder *b = &c->b;
  int64_t q_heads, kv_heads;
  const int mode = (int)op_int(c, "qk_matmul_output_mode", 0);
  if (!attention_shapes(c, &q_heads, &kv_heads)) return false;
  Value *q = split_heads(c, op_in(c, 0), q_heads), *k = split_heads(c, op_in(c, 1), kv_heads),
        *v = split_heads(c, op_in(c, 2), kv_heads);
  if (op_in(c, 4)) {
    Value *const keys[] = {op_in(c, 4), k}, *const values[] = {op_in(c, 5), v};
    k = build_concat(b, keys, 2, 2);
    v = build_concat(b, values, 2, 2);
  }
  if (!q || !k || !v) return false;
  if (op_wants(c, 1)) c->out[1] = k;
  if (op_wants(c, 2)) c->out[2] = v;
  const DType t = q->type.dtype;
  const Visibility sight = {op_int(c, "is_causal", 0) != 0, op_int(c, "left_window_size", -1),
                            op_int(c, "right_window_size", -1), op_in(c, 4) ? op_dim(c, 4, 2) : op_dims(c)->zero,
                            op_in(c, 6)};
  Value *mask = mask_bias(c, op_in(c, 3), k->type.dims[2], t);
  if (op_in(c, 3) && !mask) return false;
  Value *bias = plus(c, mask, bias_of(c, visible(c, &sight, q->type.dims[2], k->type.dims[2]), t));
  Value *scores = plus(c, attention_scores(c, q, k, mode), bias);
  if (!scores) return false;
  const Dim *const want[] = {q->type.dims[0], q->type.dims[1], q->type.dims[2], k->type.dims[2]};
  scores = build_expand(b, scores, 4, want); /* the mask must not enlarge them */
  if (mode == 2 && op_wants(c, 3)) c->out[3] = scores;
  const DType work = dtype_from_onnx(op_int(c, "softmax_precision", 0));
  const bool may_be_blind = mask || sight.valid || sight.left >= 0 || sight.right >= 0;
  Value *p = build_cast(
      b, probabilities(c, build_cast(b, scores, work == DT_NONE ? t : work, true), bias, may_be_blind), t, true);
  if (mode == 3 && op_wants(c, 3)) c->out[3] = p;
  Value *y = grouped_matmul(c, p, v);
  return op_give(c, 0, op_rank(c, 0) == 3 ? join_heads(c, y) : y);
}

/* ---- RotaryEmbedding ---- */
/* Rows of a table at integer positions [B][S]. */
static Value *embed(OpContext *c, Value *table, Value *ids) {
  Builder *b = &c->b;
  if (!table || !ids) return NULL;
  if (table->type.rank != 2 || ids->type.rank >= MAX_RANK) {
    (void)op_fail(c, DIAG_E0402, "rows of shape %s cannot be picked by indices of shape %s", build_shape_text(b, table),
                  build_shape_text(b, ids));
    return NULL;
  }
  const uint32_t r = ids->type.rank;
  const Dim *dims[MAX_RANK];
  Affine place[MAX_RANK];
  for (uint32_t j = 0; j < r; j++) {
    dims[j] = ids->type.dims[j];
    place[j] = build_affine_coord(b, r + 1, j);
  }
  dims[r] = table->type.dims[1];
  const GatherAxis axes[] = {{.indirect = true, .operand = 1, .place = place},
                             {.affine = build_affine_coord(b, r + 1, r)}};
  Value *const in[] = {table, ids};
  return build_gather(b, in, 2, r + 1, dims, axes);
}

/* Pairs (x1, x2) become (cos x1 - sin x2, sin x1 + cos x2). */
static Value *rotate(OpContext *c, Value *x, Value *cos, Value *sin, const Dim *half, bool interleaved) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!x || !cos || !sin) return NULL;
  const Dim *step = dim_const(d, interleaved ? 2 : 1);
  Value *x1 = build_slice(b, x, 3, d->zero, half, step),
        *x2 = build_slice(b, x, 3, interleaved ? d->one : half, half, step);
  Value *real = build_fn2(b, SC_sub, build_fn2(b, SC_mul, cos, x1), build_fn2(b, SC_mul, sin, x2));
  Value *imag = build_fn2(b, SC_add, build_fn2(b, SC_mul, sin, x1), build_fn2(b, SC_mul, cos, x2));
  if (!interleaved) {
    Value *const parts[] = {real, imag};
    return build_concat(b, parts, 2, 3);
  }
  Value *const parts[] = {build_unsqueeze(b, real, 1u << 4), build_unsqueeze(b, imag, 1u << 4)};
  return build_reshape(b, build_concat(b, parts, 2, 4), 4, x->type.dims);
}

/* A cache as [B][1][S][half]: rows picked by position, or given per position. */
static Value *rotary_cache(OpContext *c, size_t k, Value *positions) {
  Value *cache = op_in(c, k);
  if (positions) cache = embed(c, cache, positions);
  return cache && cache->type.rank == 3 ? build_unsqueeze(&c->b, cache, 1u << 1) : cache;
}

bool import_rotary_embedding(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const uint32_t rank = op_rank(c, 0);
  const int64_t heads = op_int(c, "num_heads", 0);
  if (rank != 4 && (rank != 3 || heads < 1))
    return op_fail(c, DIAG_E0402, "input %s must have rank 4, or rank 3 with attribute 'num_heads'", op_shape(c, 0));
  Value *x = split_heads(c, op_in(c, 0), heads);
  if (!x) return false;
  const int64_t rotated = op_int(c, "rotary_embedding_dim", 0);
  const Dim *size = x->type.dims[3], *dim = rotated > 0 ? dim_const(d, rotated) : size,
            *half = dim_floordiv(d, dim, dim_const(d, 2));
  Value *cos = rotary_cache(c, 1, op_in(c, 3)), *sin = rotary_cache(c, 2, op_in(c, 3));
  Value *part = build_slice(b, x, 3, d->zero, dim, d->one);
  Value *y = rotate(c, part, cos, sin, half, op_int(c, "interleaved", 0) != 0);
  if (rotated > 0) {
    Value *const parts[] = {y, build_slice(b, x, 3, dim, dim_sub(d, size, dim), d->one)};
    y = build_concat(b, parts, 2, 3);
  }
  return op_give(c, 0, rank == 3 ? join_heads(c, y) : y);
}

/* ---- com.microsoft ---- */
/* mask_index of shape [B] (numbers of valid keys), [B][T] or [B][S][T] (1: visible): filter is added where hidden. */
static Value *index_bias(OpContext *c, Value *mask, const Dim *keys, DType t, float filter) {
  Builder *b = &c->b;
  Value *shown;
  if (mask->type.rank == 1) {
    Arena *a = op_arena(c);
    Expr e = {0};
    (void)expr_fn2(a, &e, SC_lt, expr_index(a, &e, 3),
                   expr_cast(a, &e, DT_s64, true, expr_input(a, &e, 0, mask->type.dtype)));
    const Dim *const dims[] = {mask->type.dims[0], op_dims(c)->one, op_dims(c)->one, keys};
    Value *lengths = build_unsqueeze(b, mask, 7u << 1);
    shown = build_expr(b, e, &lengths, 1, 4, dims);
  } else if (mask->type.rank == 2 || mask->type.rank == 3) {
    shown = build_fn2(b, SC_ne, build_unsqueeze(b, mask, mask->type.rank == 2 ? 3u << 1 : 1u << 1),
                      build_scalar_i(b, mask->type.dtype, 0));
  } else {
    (void)op_unsupported(c, "with a mask of shape %s", build_shape_text(b, mask));
    return NULL;
  }
  return build_fn3(b, SC_select, shown, build_scalar_f(b, t, 0), build_scalar_f(b, t, (double)filter));
}

/* input [B][S][in] by weights [in][3 * hidden], plus bias: Q, K and V; past and present are [2][B][n][T][h]. */
static bool packed_projection(OpContext *c, int64_t heads, Value **qkv) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!op_rank_in(c, 0, 3, 3) || !op_rank_in(c, 1, 2, 2)) return false;
  Value *all = build_matmul(b, op_in(c, 0), op_in(c, 1));
  if (all && op_in(c, 2)) all = build_fn2(b, SC_add, all, op_in(c, 2));
  if (!all) return false;
  size_t n;
  const int64_t *sizes = op_ints(c, "qkv_hidden_sizes", &n);
  if (n && n != 3) return op_fail(c, DIAG_E0304, "attribute 'qkv_hidden_sizes' has %zu values", n);
  const Dim *third = dim_floordiv(d, all->type.dims[2], dim_const(d, 3)), *at = d->zero;
  for (size_t k = 0; k < 3; k++) {
    const Dim *size = n ? dim_const(d, sizes[k]) : third;
    qkv[k] = split_heads(c, build_slice(b, all, 2, at, size, d->one), heads);
    if (!qkv[k]) return false;
    at = dim_add(d, at, size);
  }
  return true;
}

bool import_ms_attention(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const int64_t heads = op_int(c, "num_heads", 0);
  int64_t head;
  Value *qkv[3], *past = op_in(c, 4);
  if (heads < 1) return op_fail(c, DIAG_E0304, "attribute 'num_heads' is %lld", (long long)heads);
  if (op_int(c, "do_rotary", 0)) return op_unsupported(c, "with do_rotary");
  if (op_int(c, "past_present_share_buffer", 0) || op_in(c, 6))
    return op_unsupported(c, "with a shared past and present buffer");
  if ((past && !op_rank_in(c, 4, 5, 5)) || !packed_projection(c, heads, qkv)) return false;
  const Dim *before = past ? op_dim(c, 4, 3) : d->zero;
  for (uint32_t k = 0; past && k < 2; k++) {
    Value *const parts[] = {build_squeeze(b, build_slice(b, past, 0, dim_const(d, k), d->one, d->one), 1), qkv[k + 1]};
    qkv[k + 1] = build_concat(b, parts, 2, 2);
    if (!qkv[k + 1]) return false;
  }
  if (op_wants(c, 1)) {
    Value *const both[] = {build_unsqueeze(b, qkv[1], 1), build_unsqueeze(b, qkv[2], 1)};
    if (!op_give(c, 1, build_concat(b, both, 2, 0))) return false;
  }
  if (!dim_is_const(qkv[0]->type.dims[3], &head)) return op_unsupported(c, "with a head size that is not known");
  const DType t = qkv[0]->type.dtype;
  Value *root = build_fn1(b, SC_sqrt, build_scalar_f(b, DT_f64, (double)head));
  Value *scale = op_has_attr(c, "scale") && op_float(c, "scale", 0) != 0.0f
                     ? build_scalar_f(b, t, (double)op_float(c, "scale", 0))
                     : build_cast(b, build_fn2(b, SC_div, build_scalar_f(b, DT_f64, 1), root), t, true);
  Value *scores = build_fn2(b, SC_mul, build_matmul(b, qkv[0], swap_last(c, qkv[1])), scale);
  const Visibility sight = {op_int(c, "unidirectional", 0) != 0, -1, -1, before, NULL};
  const Dim *keys = qkv[1]->type.dims[2];
  Value *bias = bias_of(c, visible(c, &sight, qkv[0]->type.dims[2], keys), t);
  if (op_in(c, 3)) {
    Value *mask = index_bias(c, op_in(c, 3), keys, t, op_float(c, "mask_filter_value", -10000.0f));
    if (!mask) return false;
    bias = plus(c, bias, mask);
  }
  if (op_in(c, 5)) bias = plus(c, bias, op_in(c, 5));
  scores = plus(c, scores, bias);
  return scores && op_give(c, 0, join_heads(c, build_matmul(b, build_softmax(b, scores, 3, false), qkv[2])));
}

/* input_ids segment_ids? word position segment? gamma beta mask? position_ids? */
bool import_embed_layer_norm(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!op_rank_in(c, 0, 2, 2) || !op_rank_in(c, 2, 2, 2) || !op_rank_in(c, 3, 2, 2)) return false;
  const Dim *seq = op_dim(c, 0, 1);
  Value *position =
      op_in(c, 8) ? embed(c, op_in(c, 3), op_in(c, 8)) : build_slice(b, op_in(c, 3), 0, d->zero, seq, d->one);
  Value *sum = plus(c, embed(c, op_in(c, 2), op_in(c, 0)), position);
  if (op_in(c, 4) && op_in(c, 1)) sum = plus(c, sum, embed(c, op_in(c, 4), op_in(c, 1)));
  if (!sum) return false;
  if (op_wants(c, 2)) c->out[2] = sum;
  if (op_wants(c, 1)) {
    Value *lengths = op_in(c, 7) ? build_reduce(b, REDUCE_SUM, op_in(c, 7), 1u << 1, false)
                                 : build_expand(b, build_scalar_i(b, DT_s32, 0), 1, op_in(c, 0)->type.dims);
    if (!op_give(c, 1, lengths)) return false;
  }
  return op_give(c, 0, build_norm(b, NORM_LAYER, sum, op_in(c, 5), op_in(c, 6), 2, op_float(c, "epsilon", 1e-12f)));
}
