/* Attention by decomposition: products, bias, softmax. ONNX Attention, RotaryEmbedding; com.microsoft Attention and
 * EmbedLayerNormalization. */
#include "ops/attention.h"

/* ---- ONNX Attention ---- */
static Value *plus(OpContext *c, Value *x, Value *y) { return x && y ? build_fn2(&c->b, SC_add, x, y) : x ? x : y; }

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

/* 1 / sqrt(head), f64; of the data's where the size of a head is open. */
static Value *head_scale(OpContext *c, const Dim *head) {
  Builder *b = &c->b;
  Value *size = build_cast(b, build_dim_scalar(b, head), DT_f64, true);
  return build_fn2(b, SC_div, build_scalar_f(b, DT_f64, 1), build_fn1(b, SC_sqrt, size));
}

/* Q K^T scaled, with the soft cap: each factor by sqrt(scale), so that narrow types do not overflow. */
static Value *attention_scores(OpContext *c, Value *q, Value *k, int mode) {
  Builder *b = &c->b;
  Value *const scale = op_has_attr(c, "scale") ? build_scalar_f(b, DT_f64, (double)op_float(c, "scale", 0)) : head_scale(c, q->type.dims[3]);
  Value *root = build_fn1(b, SC_sqrt, scale);
  Value *factor = build_cast(b, root, q->type.dtype, true);
  Value *scores = op_grouped_matmul(c, build_fn2(b, SC_mul, q, factor), build_fn2(b, SC_mul, op_swap_last(c, k), factor));
  if (mode == 0 && op_wants(c, 3)) c->out[3] = scores;
  const float cap = op_float(c, "softcap", 0);
  if (cap > 0 && scores) {
    Value *s = op_scalar_like(c, scores, (double)cap);
    scores = build_fn2(b, SC_mul, build_fn1(b, SC_tanh, build_fn2(b, SC_div, scores, s)), s);
  }
  if (mode == 1 && op_wants(c, 3)) c->out[3] = scores;
  return scores;
}

/* v [B]...: of the query's batch, which is no axis to broadcast along. */
static Value *of_batch(OpContext *c, Value *v, const Dim *batch) {
  if (!v || dim_eq(op_dims(c), v->type.dims[0], batch) == 1) return v;
  const Dim *const dims[] = {batch, v->type.dims[1], v->type.dims[2], v->type.dims[3]};
  if (ir_require_eq(c->b.ir, v->type.dims[0], batch)) return build_reshape(&c->b, v, 4, dims);
  (void)op_fail(c, DIAG_E0402, "keys or values of %s for a query of %s: batches differ", build_shape_text(&c->b, v), op_shape(c, 0));
  return NULL;
}

/* The mask as large as the scores where only run time tells whether one of its sizes is 1: it must not enlarge them. */
static Value *mask_within(OpContext *c, Value *bias, const Dim *const *want) {
  bool open = false;
  for (uint32_t i = 0; bias && i < bias->type.rank && i < 4; i++) {
    const Dim *d = bias->type.dims[bias->type.rank - 1 - i];
    open = open || (!dim_is(d, 1) && dim_eq(op_dims(c), d, want[3 - i]) != 1);
  }
  return open ? build_expand(&c->b, bias, 4, want) : bias;
}

bool import_attention(OpContext *c) {
  Builder *b = &c->b;
  int64_t q_heads, kv_heads;
  const int mode = (int)op_int(c, "qk_matmul_output_mode", 0);
  if (!attention_shapes(c, &q_heads, &kv_heads)) return false;
  Value *q = op_split_heads(c, op_in(c, 0), q_heads), *k = op_split_heads(c, op_in(c, 1), kv_heads),
        *v = op_split_heads(c, op_in(c, 2), kv_heads);
  if (op_in(c, 4)) {
    Value *const keys[] = {op_in(c, 4), k}, *const values[] = {op_in(c, 5), v};
    k = build_concat(b, keys, 2, 2);
    v = build_concat(b, values, 2, 2);
  }
  k = q ? of_batch(c, k, q->type.dims[0]) : NULL;
  v = q ? of_batch(c, v, q->type.dims[0]) : NULL;
  if (!k || !v) return false;
  if (op_wants(c, 1)) c->out[1] = k;
  if (op_wants(c, 2)) c->out[2] = v;
  const DType t = q->type.dtype;
  const Visibility sight = {op_int(c, "is_causal", 0) != 0, op_int(c, "left_window_size", -1),
                            op_int(c, "right_window_size", -1), op_in(c, 4) ? op_dim(c, 4, 2) : op_dims(c)->zero,
                            op_in(c, 6)};
  Value *mask = op_mask_bias(c, op_in(c, 3), k->type.dims[2], t);
  if (op_in(c, 3) && !mask) return false;
  Value *bias = plus(c, mask, op_bias_of(c, op_visible(c, &sight, q->type.dims[2], k->type.dims[2]), t));
  Value *blind = mask || sight.valid || sight.left >= 0 || sight.right >= 0 ? op_blind(c, bias) : NULL; /* ahead of the products, whose results it is for */
  const Dim *const want[] = {q->type.dims[0], q->type.dims[1], q->type.dims[2], k->type.dims[2]};
  Value *scores = build_expand(b, attention_scores(c, q, k, mode), 4, want), *fits = mask_within(c, bias, want);
  if (!scores || (bias && !fits)) return false;
  scores = plus(c, scores, fits);
  if (mode == 2 && op_wants(c, 3)) c->out[3] = scores;
  const int64_t precision = op_int(c, "softmax_precision", 0);
  const DType work = dtype_from_onnx(precision);
  if (precision && work != DT_f16 && work != DT_bf16 && work != DT_f32 && work != DT_f64) return op_fail(c, DIAG_E0304, "attribute 'softmax_precision' is %lld", (long long)precision);
  Value *p = build_cast(b, build_softmax(b, build_cast(b, scores, work == DT_NONE ? t : work, true), (SoftmaxAttr){.axis = 3}), t, true);
  if (mode == 3 && op_wants(c, 3)) c->out[3] = op_unless_blind(c, p, blind);
  const DType wide = dtype_rows[v->type.dtype].bits > dtype_rows[t].bits ? v->type.dtype : t; /* V may be of another type than Q, K and Y */
  Value *y = build_cast(b, op_grouped_matmul(c, build_cast(b, p, wide, true), build_cast(b, v, wide, true)), t, true);
  y = op_unless_blind(c, y, blind); /* of the result, not of the probabilities: what lies between stays a softmax and a product */
  return op_give(c, 0, op_rank(c, 0) == 3 ? op_join_heads(c, y) : y);
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
static Value *rotary_cache(OpContext *c, Value *cache, Value *positions) {
  if (positions) cache = embed(c, cache, positions);
  return cache && cache->type.rank == 3 ? build_unsqueeze(&c->b, cache, 1u << 1) : cache;
}

Value *op_rotated(OpContext *c, Value *x, const Rotation *r) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!x) return NULL;
  const Dim *size = x->type.dims[3], *dim = r->dim ? r->dim : size, *half = dim_floordiv(d, dim, dim_const(d, 2));
  Value *cos = rotary_cache(c, r->cos, r->positions), *sin = rotary_cache(c, r->sin, r->positions), *whole = op_part(c, x, 3, d->zero, dim);
  if (!cos || !sin || !whole) return NULL;
  const Dim *const widths[] = {cos->type.dims[cos->type.rank - 1], sin->type.dims[sin->type.rank - 1]};
  if (!ir_require_eq(b->ir, dim_mulc(d, widths[0], 2), dim) || !ir_require_eq(b->ir, widths[0], widths[1])) {
    (void)op_fail(c, DIAG_E0402, "sines and cosines of shapes %s and %s are not half as wide as what they turn", build_shape_text(b, r->cos), build_shape_text(b, r->sin));
    return NULL;
  }
  Value *y = rotate(c, whole, cos, sin, half, r->interleaved);
  if (dim_eq(d, dim, size) == 1) return y;
  Value *const parts[] = {y, build_slice(b, x, 3, dim, dim_sub(d, size, dim), d->one)};
  return build_concat(b, parts, 2, 3);
}

bool op_rotary(OpContext *c) {
  const uint32_t rank = op_rank(c, 0);
  int64_t heads = op_int(c, "num_heads", 0), half_head, all;
  if (rank == 3 && heads < 1 && op_rank(c, 1) == 2 && dim_is_const(op_dim(c, 1, 1), &half_head) && dim_is_const(op_dim(c, 0, 2), &all) && half_head > 0)
    heads = all / (2 * half_head);
  if (rank != 4 && (rank != 3 || heads < 1))
    return op_fail(c, DIAG_E0402, "input %s must have rank 4, or rank 3 with attribute 'num_heads'", op_shape(c, 0));
  const uint32_t tables = op_in(c, 3) ? 2 : 3;
  if (!op_rank_in(c, 1, tables, tables) || !op_rank_in(c, 2, tables, tables) || (op_in(c, 3) && !op_rank_in(c, 3, 2, 2))) return false;
  Value *x = op_split_heads(c, op_in(c, 0), heads);
  if (!x) return false;
  const int64_t rotated = op_int(c, "rotary_embedding_dim", 0);
  const Rotation r = {op_in(c, 1), op_in(c, 2), op_in(c, 3), rotated > 0 ? dim_const(op_dims(c), rotated) : NULL, op_int(c, "interleaved", 0) != 0};
  Value *y = op_rotated(c, x, &r);
  return op_give(c, 0, rank == 3 ? op_join_heads(c, y) : y);
}

bool import_rotary_embedding(OpContext *c) {
  if (op_rank(c, 0) == 3 && op_int(c, "num_heads", 0) < 1) return op_fail(c, DIAG_E0402, "input %s has rank 3: attribute 'num_heads' must be given", op_shape(c, 0));
  return op_rotary(c);
}

/* ---- com.microsoft ---- */
/* Q, K and V side by side [B][S][3 * hidden], as heads */
static bool packed_heads(OpContext *c, Value *all, int64_t heads, Value **qkv) {
  DimCtx *d = op_dims(c);
  size_t n;
  const int64_t *sizes = op_ints(c, "qkv_hidden_sizes", &n);
  if (n && n != 3) return op_fail(c, DIAG_E0304, "attribute 'qkv_hidden_sizes' has %zu values", n);
  const Dim *third = dim_floordiv(d, all->type.dims[2], dim_const(d, 3)), *at = d->zero;
  for (size_t k = 0; k < 3; k++) {
    const Dim *size = n ? dim_const(d, sizes[k]) : third;
    if (n && sizes[k] < 1) return op_fail(c, DIAG_E0304, "attribute 'qkv_hidden_sizes' has %lld", (long long)sizes[k]);
    qkv[k] = op_split_heads(c, op_part(c, all, 2, at, size), heads);
    if (!qkv[k]) return false;
    at = dim_add(d, at, size);
  }
  return ir_require_eq(c->b.ir, at, all->type.dims[2]) || op_fail(c, DIAG_E0402, "Q, K and V lie side by side in shape %s", build_shape_text(&c->b, all));
}

/* Which input is which, of Attention and of QAttention; 0: none. Past and present are [2][B][n][T][h]. */
typedef struct PackedInputs { size_t mask, past, bias, buffer; } PackedInputs;

static bool packed_attention(OpContext *c, Value *all, PackedInputs at) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const int64_t heads = op_int(c, "num_heads", 0);
  Value *qkv[3], *past = op_in(c, at.past), *mask_index = op_in(c, at.mask), *given = at.bias ? op_in(c, at.bias) : NULL;
  if (!all) return false;
  if (heads < 1) return op_fail(c, DIAG_E0304, "attribute 'num_heads' is %lld", (long long)heads);
  if (op_int(c, "do_rotary", 0)) return op_unsupported(c, "with do_rotary");
  if (op_int(c, "past_present_share_buffer", 0) || (at.buffer && op_in(c, at.buffer)))
    return op_unsupported(c, "with a shared past and present buffer");
  if ((past && !op_rank_in(c, at.past, 5, 5)) || !packed_heads(c, all, heads, qkv)) return false;
  if (past && !ir_require_eq(b->ir, past->type.dims[0], dim_const(d, 2))) return op_fail(c, DIAG_E0402, "past has shape %s, not 2 first", op_shape(c, at.past));
  const Dim *before = past ? past->type.dims[3] : d->zero;
  for (uint32_t k = 0; past && k < 2; k++) {
    Value *const parts[] = {build_squeeze(b, build_slice(b, past, 0, dim_const(d, k), d->one, d->one), 1), qkv[k + 1]};
    qkv[k + 1] = build_concat(b, parts, 2, 2);
    if (!qkv[k + 1]) return false;
  }
  if (op_wants(c, 1)) {
    Value *const both[] = {build_unsqueeze(b, qkv[1], 1), build_unsqueeze(b, qkv[2], 1)};
    if (!op_give(c, 1, build_concat(b, both, 2, 0))) return false;
  }
  const DType t = qkv[0]->type.dtype;
  Value *scale = op_has_attr(c, "scale") && op_float(c, "scale", 0) != 0.0f
                     ? build_scalar_f(b, t, (double)op_float(c, "scale", 0))
                     : build_cast(b, head_scale(c, qkv[0]->type.dims[3]), t, true);
  Value *scores = build_fn2(b, SC_mul, build_matmul(b, qkv[0], op_swap_last(c, qkv[1])), scale);
  if (!scores) return false;
  const Visibility sight = {op_int(c, "unidirectional", 0) != 0, -1, -1, before, NULL};
  const Dim *keys = qkv[1]->type.dims[2];
  Value *bias = op_bias_of(c, op_visible(c, &sight, qkv[0]->type.dims[2], keys), t);
  if (mask_index) {
    Value *mask = op_index_bias(c, mask_index, qkv[0]->type.dims[0], keys, t, op_float(c, "mask_filter_value", -10000.0f));
    if (!mask) return false;
    bias = plus(c, bias, mask);
  }
  bias = plus(c, bias, given);
  scores = plus(c, scores, bias);
  return scores && op_give(c, 0, op_join_heads(c, build_matmul(b, build_softmax(b, scores, (SoftmaxAttr){.axis = 3}), qkv[2])));
}

/* input [B][S][in] weights [in][3 * hidden] bias mask past attention_bias past_length */
bool import_ms_attention(OpContext *c) {
  if (!op_rank_in(c, 0, 3, 3) || !op_rank_in(c, 1, 2, 2)) return false;
  Value *all = build_matmul(&c->b, op_in(c, 0), op_in(c, 1));
  return all && packed_attention(c, plus(c, all, op_in(c, 2)), (PackedInputs){3, 4, 5, 6});
}

/* The same in 8 bits: input weights bias input_scale weight_scale mask input_zero weight_zero past */
bool import_qattention(OpContext *c) {
  if (!op_rank_in(c, 0, 3, 3) || !op_rank_in(c, 1, 2, 2)) return false;
  Value *all = op_scaled_product(c, op_in(c, 0), op_in(c, 3), op_in(c, 6), op_in(c, 1), op_in(c, 4), op_in(c, 7), op_in(c, 2));
  return packed_attention(c, all, (PackedInputs){5, 8, 0, 0});
}

/* input_ids segment_ids? word position segment? gamma beta mask? position_ids? */
bool import_embed_layer_norm(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!op_rank_in(c, 0, 2, 2) || !op_rank_in(c, 2, 2, 2) || !op_rank_in(c, 3, 2, 2)) return false;
  const Dim *seq = op_dim(c, 0, 1);
  Value *position =
      op_in(c, 8) ? embed(c, op_in(c, 3), op_in(c, 8)) : op_part(c, op_in(c, 3), 0, d->zero, seq);
  Value *sum = build_fn2(b, SC_add, embed(c, op_in(c, 2), op_in(c, 0)), position);
  if (op_in(c, 4) && op_in(c, 1)) sum = build_fn2(b, SC_add, sum, embed(c, op_in(c, 4), op_in(c, 1)));
  if (!sum) return false;
  if (op_wants(c, 2)) c->out[2] = sum;
  if (op_wants(c, 1)) {
    Value *lengths = op_in(c, 7) ? build_reduce(b, REDUCE_SUM, op_in(c, 7), 1u << 1, false)
                                 : build_expand(b, build_scalar_i(b, DT_s32, 0), 1, op_in(c, 0)->type.dims);
    if (!op_give(c, 1, lengths)) return false;
  }
  return op_give(c, 0, build_norm(b, NORM_LAYER, sum, op_in(c, 5), op_in(c, 6), 2, op_float(c, "epsilon", 1e-12f)));
}
