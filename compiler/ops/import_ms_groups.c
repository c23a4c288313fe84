/* com.microsoft GroupQueryAttention: query key value past_key past_value seqlens_k total_sequence_length cos sin position_ids
 * attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight. Each sequence of the batch has its own length; the past may lie in a
 * buffer longer than what is valid. */
#include "ops/attention.h"

typedef struct Groups {
  int64_t heads, kv_heads;
  Value *q, *k, *v;   /* [B][heads or kv_heads][S][size] */
  Value *before;      /* s64 [B]: valid keys before the queries */
  const Dim *keys;    /* of the present buffer */
} Groups;

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK, K_SCALE, V_SCALE, Q_NORM, K_NORM };

static bool groups_read(OpContext *c, Groups *g) {
  g->heads = op_int(c, "num_heads", 0);
  g->kv_heads = op_int(c, "kv_num_heads", 0);
  if (g->heads < 1 || g->kv_heads < 1 || g->heads % g->kv_heads || g->heads > INT32_MAX)
    return op_fail(c, DIAG_E0304, "attributes 'num_heads' and 'kv_num_heads' are %lld and %lld", (long long)g->heads, (long long)g->kv_heads);
  if (op_in(c, K_SCALE) || op_in(c, V_SCALE)) return op_unsupported(c, "with quantised keys and values");
  if (op_int(c, "sliding_window_cache", 0) || op_wants(c, 3)) return op_unsupported(c, "with a sliding cache or scores as output");
  if (!op_in(c, KEY) != !op_in(c, VALUE) || !op_in(c, PAST_KEY) != !op_in(c, PAST_VALUE) || !op_in(c, COS) != !op_in(c, SIN))
    return op_fail(c, DIAG_E0305, "inputs that go together are not both given");
  for (size_t k = QUERY; k <= VALUE; k++)
    if (op_in(c, k) && !op_rank_in(c, k, 3, 3)) return false;
  for (size_t k = PAST_KEY; k <= PAST_VALUE; k++)
    if (op_in(c, k) && !op_rank_in(c, k, 4, 4)) return false;
  return true;
}

/* Heads of query, key and value, which may lie side by side in the query; normalised where weights are given. */
static bool groups_split(OpContext *c, Groups *g) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Value *parts[] = {op_in(c, QUERY), op_in(c, KEY), op_in(c, VALUE)};
  const Dim *size = dim_floordiv(d, op_dim(c, QUERY, 2), dim_const(d, g->heads + 2 * g->kv_heads)), *at = d->zero;
  const int64_t heads[] = {g->heads, g->kv_heads, g->kv_heads};
  const float epsilon = op_float(c, "qk_norm_epsilon", 1e-6f);
  for (size_t k = 0; k < 3 && !op_in(c, KEY); k++) {
    const Dim *width = dim_mulc(d, size, heads[k]);
    parts[k] = build_slice(b, op_in(c, QUERY), 2, at, width, d->one);
    at = dim_add(d, at, width);
  }
  for (size_t k = 0; k < 3; k++) parts[k] = op_split_heads(c, parts[k], heads[k]);
  g->q = op_in(c, Q_NORM) ? build_norm(b, NORM_RMS, parts[0], op_in(c, Q_NORM), NULL, 3, epsilon) : parts[0];
  g->k = op_in(c, K_NORM) ? build_norm(b, NORM_RMS, parts[1], op_in(c, K_NORM), NULL, 3, epsilon) : parts[1];
  g->v = parts[2];
  return g->q && g->k && g->v;
}

/* Lengths. As many new keys as there are in all make a first call: nothing of the past is valid then. */
static bool groups_lengths(OpContext *c, Groups *g) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  size_t n;
  const Dim *fresh = g->k->type.dims[2], *past = op_in(c, PAST_KEY) ? op_dim(c, PAST_KEY, 2) : d->zero, *most = dim_add(d, past, fresh);
  if (!op_one_element(c, TOTAL)) return false;
  const Dim *const *total = build_read_dims(b, op_in(c, TOTAL), "total_sequence_length", 1, INT32_MAX, &most, &n);
  if (!total) return false;
  g->keys = dim_max(d, past, total[0]);
  const Dim *const flat[] = {op_dim(c, QUERY, 0)};
  Value *s = build_dim_scalar(b, fresh), *lengths = build_cast(b, build_reshape(b, op_in(c, LENGTHS), 1, flat), DT_s64, true);
  Value *behind = build_fn2(b, SC_sub, build_fn2(b, SC_add, lengths, build_scalar_i(b, DT_s64, 1)), s);
  behind = build_fn2(b, SC_max, behind, build_scalar_i(b, DT_s64, 0));
  g->before = build_fn3(b, SC_select, build_fn2(b, SC_eq, build_dim_scalar(b, total[0]), s), build_scalar_i(b, DT_s64, 0), behind);
  return g->before != NULL;
}

static bool groups_rotate(OpContext *c, Groups *g) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!op_int(c, "do_rotary", 0)) return true;
  if (!op_in(c, COS)) return op_fail(c, DIAG_E0305, "attribute 'do_rotary' asks for cos_cache and sin_cache");
  if (!op_rank_in(c, COS, 2, 2) || !op_rank_in(c, SIN, 2, 2)) return false;
  Value *positions = op_in(c, POSITIONS);
  if (!positions) {
    Arena *a = op_arena(c);
    Expr e = {0};
    const Dim *const dims[] = {op_dim(c, QUERY, 0), op_dim(c, QUERY, 1)};
    Value *before = build_unsqueeze(b, g->before, 2);
    expr_set_result(a, &e, expr_fn2(a, &e, SC_add, expr_input(a, &e, 0, DT_s64), expr_index(a, &e, 1)));
    positions = build_expr(b, e, &before, 1, 2, dims);
  }
  const Rotation r = {op_in(c, COS), op_in(c, SIN), positions, dim_mulc(d, op_dim(c, COS, 1), 2), op_int(c, "rotary_interleaved", 0) != 0};
  g->q = op_rotated(c, g->q, &r);
  g->k = op_rotated(c, g->k, &r);
  return g->q && g->k;
}

/* Where key j [T] of the present buffer comes from in [past | new]: s64 [B][T]. Always inside. */
static Value *present_places(OpContext *c, const Groups *g, const Dim *past, const Dim *fresh) {
  Builder *b = &c->b;
  Arena *a = op_arena(c);
  Expr e = {0};
  const Dim *const dims[] = {op_dim(c, QUERY, 0), g->keys};
  const uint32_t j = expr_index(a, &e, 1), behind = expr_fn2(a, &e, SC_sub, j, expr_input(a, &e, 0, DT_s64));
  const uint32_t is_new = expr_fn2(a, &e, SC_and, expr_fn2(a, &e, SC_ge, behind, expr_const_i(a, &e, DT_s64, 0)), expr_fn2(a, &e, SC_lt, behind, expr_dim(a, &e, fresh)));
  const Dim *last = dim_addc(op_dims(c), dim_add(op_dims(c), past, fresh), -1);
  const uint32_t old = expr_fn2(a, &e, SC_min, j, expr_dim(a, &e, last)), added = expr_fn2(a, &e, SC_add, behind, expr_dim(a, &e, past));
  expr_set_result(a, &e, expr_fn3(a, &e, SC_select, is_new, added, old));
  Value *before = build_unsqueeze(b, g->before, 2);
  return build_expr(b, e, &before, 1, 2, dims);
}

/* b1 [B][1][T][1]: places of the present buffer that hold a key. NULL when all do. Others are neither past nor new: short sequences of a batch. */
static Value *present_held(OpContext *c, const Groups *g, const Dim *past, const Dim *fresh) {
  DimCtx *d = op_dims(c);
  Arena *a = op_arena(c);
  Expr e = {0};
  const Dim *const dims[] = {op_dim(c, QUERY, 0), d->one, g->keys, d->one};
  if (dim_le(d, g->keys, past) == 1 || dim_eq(d, g->keys, fresh) == 1) return NULL;
  const uint32_t j = expr_index(a, &e, 2), end = expr_fn2(a, &e, SC_add, expr_input(a, &e, 0, DT_s64), expr_dim(a, &e, fresh));
  expr_set_result(a, &e, expr_fn2(a, &e, SC_or, expr_fn2(a, &e, SC_lt, j, expr_dim(a, &e, past)), expr_fn2(a, &e, SC_lt, j, end)));
  Value *before = build_unsqueeze(&c->b, g->before, 7u << 1);
  return build_expr(&c->b, e, &before, 1, 4, dims);
}

/* The new heads behind what is valid of the past, then zeros: [B][kv_heads][T][size] */
static Value *present(OpContext *c, const Groups *g, Value *past, Value *fresh) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Value *const both[] = {past, fresh}, *all = past ? build_concat(b, both, 2, 2) : fresh;
  Value *places = present_places(c, g, past ? past->type.dims[2] : d->zero, fresh->type.dims[2]);
  if (!all || !places) return NULL;
  const Affine place[] = {build_affine_coord(b, 4, 0), build_affine_coord(b, 4, 2)};
  GatherAxis axes[4] = {{0}};
  for (uint32_t i = 0; i < 4; i++) axes[i].affine = build_affine_coord(b, 4, i);
  axes[2] = (GatherAxis){.indirect = true, .operand = 1, .place = place};
  Value *const in[] = {all, places};
  const Dim *const dims[] = {all->type.dims[0], all->type.dims[1], g->keys, all->type.dims[3]};
  Value *v = build_gather(b, in, 2, 4, dims, axes), *held = present_held(c, g, past ? past->type.dims[2] : d->zero, fresh->type.dims[2]);
  return v && held ? build_fn3(b, SC_select, held, v, op_scalar_like(c, v, 0)) : v;
}

/* b1 [B][1][S][T]: keys up to the query's own, or up to the last; of them those in the window. */
static Value *groups_sight(OpContext *c, const Groups *g) {
  Builder *b = &c->b;
  Arena *a = op_arena(c);
  Expr e = {0};
  const int64_t window = op_int(c, "local_window_size", -1);
  const Dim *queries = g->q->type.dims[2], *const dims[] = {op_dim(c, QUERY, 0), op_dims(c)->one, queries, g->keys};
  const uint32_t before = expr_input(a, &e, 0, DT_s64), at = expr_fn2(a, &e, SC_add, before, expr_index(a, &e, 2)), j = expr_index(a, &e, 3);
  const uint32_t last = expr_fn2(a, &e, SC_add, before, expr_dim(a, &e, dim_addc(op_dims(c), queries, -1)));
  uint32_t seen = expr_fn2(a, &e, SC_le, j, op_int(c, "causal", 1) ? at : last);
  if (window > 0) seen = expr_fn2(a, &e, SC_and, seen, expr_fn2(a, &e, SC_lt, expr_fn2(a, &e, SC_sub, at, j), expr_const_i(a, &e, DT_s64, window)));
  expr_set_result(a, &e, seen);
  Value *v = build_unsqueeze(b, g->before, 7u << 1);
  return build_expr(b, e, &v, 1, 4, dims);
}

static Value *groups_scores(OpContext *c, const Groups *g, Value *keys) {
  Builder *b = &c->b;
  const DType t = g->q->type.dtype;
  Value *root = build_fn1(b, SC_sqrt, build_cast(b, build_dim_scalar(b, g->q->type.dims[3]), DT_f32, true)), *scores = op_grouped_matmul(c, g->q, op_swap_last(c, keys));
  const float scale = op_float(c, "scale", 0), cap = op_float(c, "softcap", 0);
  if (!scores) return NULL;
  scores = scale != 0.0f ? build_fn2(b, SC_mul, scores, op_scalar_like(c, scores, (double)scale)) : build_fn2(b, SC_div, scores, build_cast(b, root, t, true));
  if (cap > 0 && scores) {
    Value *s = op_scalar_like(c, scores, (double)cap);
    scores = build_fn2(b, SC_mul, build_fn1(b, SC_tanh, build_fn2(b, SC_div, scores, s)), s);
  }
  return scores;
}

/* Softmax over the keys and, where one is given or asked, one more score a head whose share is dropped. */
static Value *groups_softmax(OpContext *c, Value *scores) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  if (!scores) return NULL;
  if (!op_in(c, SINK) && op_int(c, "smooth_softmax", 0) <= 0) return build_softmax(b, scores, (SoftmaxAttr){.axis = 3});
  const Dim *const *t = scores->type.dims, *const dims[] = {t[0], t[1], t[2], d->one}, *const heads[] = {t[1], d->one, d->one};
  Value *sink = op_in(c, SINK) ? build_reshape(b, op_in(c, SINK), 3, heads) : op_scalar_like(c, scores, 0);
  Value *const both[] = {scores, build_expand(b, sink, 4, dims)};
  Value *p = build_softmax(b, build_concat(b, both, 2, 3), (SoftmaxAttr){.axis = 3});
  return p ? build_slice(b, p, 3, d->zero, t[3], d->one) : NULL;
}

bool import_group_query_attention(OpContext *c) {
  Builder *b = &c->b;
  Groups g = {0};
  if (!groups_read(c, &g) || !groups_split(c, &g) || !groups_lengths(c, &g) || !groups_rotate(c, &g)) return false;
  Value *keys = present(c, &g, op_in(c, PAST_KEY), g.k), *values = present(c, &g, op_in(c, PAST_VALUE), g.v);
  if (!keys || !values) return false;
  if (op_wants(c, 1)) c->out[1] = keys;
  if (op_wants(c, 2)) c->out[2] = values;
  Value *scores = groups_scores(c, &g, keys), *bias = op_bias_of(c, groups_sight(c, &g), g.q->type.dtype);
  if (op_in(c, BIAS)) {
    Value *given = op_mask_bias(c, op_in(c, BIAS), g.keys, g.q->type.dtype);
    bias = given ? build_fn2(b, SC_add, bias, given) : NULL;
  }
  if (!scores || !bias) return false;
  return op_give(c, 0, op_join_heads(c, op_grouped_matmul(c, groups_softmax(c, build_fn2(b, SC_add, scores, bias)), values)));
}
