/* com.microsoft MultiHeadAttention and RotaryEmbedding. */
#include "ops/attention.h"

/* ---- MultiHeadAttention: query key value bias key_padding_mask attention_bias past_key past_value ---- */
typedef struct Heads {
  Value *q, *k, *v; /* [B][heads][S or T][size] */
} Heads;

/* Part k of x [B][S][heads][n][size], as [B][heads][S][size] */
static Value *packed_part(OpContext *c, Value *x, int64_t n, int64_t k) {
  static const uint32_t perm[] = {0, 2, 1, 3};
  DimCtx *d = op_dims(c);
  if (!ir_require_eq(c->b.ir, x->type.dims[3], dim_const(d, n)))
    return (void)op_fail(c, DIAG_E0402, "%lld parts are packed into shape %s", (long long)n, build_shape_text(&c->b, x)), NULL;
  return build_transpose(&c->b, build_squeeze(&c->b, build_slice(&c->b, x, 3, dim_const(d, k), d->one, d->one), 1u << 3), perm);
}

/* `at` numbers into the bias: those of x's heads are added to it; *at moves behind them. */
static Value *biased(OpContext *c, Value *x, const Dim **at) {
  Builder *b = &c->b;
  if (!x || !op_in(c, 3)) return x;
  const Dim *n = dim_mul(op_dims(c), x->type.dims[1], x->type.dims[3]), *const dims[] = {x->type.dims[1], op_dims(c)->one, x->type.dims[3]};
  Value *part = op_part(c, op_in(c, 3), 0, *at, n);
  *at = dim_add(op_dims(c), *at, n);
  return build_fn2(b, SC_add, x, build_reshape(b, part, 3, dims));
}

static bool heads_of(OpContext *c, int64_t n, Heads *h) {
  const Dim *at = op_dims(c)->zero;
  Value *key = op_in(c, 1), *value = op_in(c, 2), *query = op_in(c, 0);
  const bool packed = query->type.rank == 5, pair = key && key->type.rank == 5;
  if (!packed && query->type.rank != 3) return op_fail(c, DIAG_E0402, "the query has shape %s", op_shape(c, 0));
  if (!packed && (!key || (!pair && !value))) return op_fail(c, DIAG_E0305, "key or value is missing");
  if (op_in(c, 3) && !op_rank_in(c, 3, 1, 1)) return false;
  h->q = biased(c, packed ? packed_part(c, query, 3, 0) : op_split_heads(c, query, n), &at);
  if (!h->q) return false;
  h->k = packed ? packed_part(c, query, 3, 1) : pair ? packed_part(c, key, 2, 0) : op_split_heads(c, key, n);
  if (packed || pair || key->type.rank == 3) h->k = biased(c, h->k, &at); /* keys of another model's memory have theirs already */
  if (!h->k) return false;
  h->v = packed ? packed_part(c, query, 3, 2) : pair ? packed_part(c, key, 2, 1) : op_split_heads(c, value, n);
  if (packed || pair || value->type.rank == 3) h->v = biased(c, h->v, &at);
  return h->q && h->k && h->v;
}

static bool with_past(OpContext *c, Heads *h) {
  if (!op_in(c, 6) != !op_in(c, 7)) return op_fail(c, DIAG_E0305, "past_key and past_value go together");
  if (op_in(c, 6)) {
    if (!op_rank_in(c, 6, 4, 4) || !op_rank_in(c, 7, 4, 4)) return false;
    Value *const keys[] = {op_in(c, 6), h->k}, *const values[] = {op_in(c, 7), h->v};
    h->k = build_concat(&c->b, keys, 2, 2);
    h->v = build_concat(&c->b, values, 2, 2);
  }
  if (!h->k || !h->v) return false;
  if (op_wants(c, 1)) c->out[1] = h->k;
  if (op_wants(c, 2)) c->out[2] = h->v;
  return true;
}

static Value *plus(OpContext *c, Value *x, Value *y) { return x && y ? build_fn2(&c->b, SC_add, x, y) : x ? x : y; }

bool import_multi_head_attention(OpContext *c) {
  Builder *b = &c->b;
  const int64_t n = op_int(c, "num_heads", 0);
  Heads h = {0};
  if (n < 1) return op_fail(c, DIAG_E0304, "attribute 'num_heads' is %lld", (long long)n);
  if (op_in(c, 8) || op_in(c, 9) || op_wants(c, 3)) return op_unsupported(c, "with a shared buffer of the past, beams, or scores as output");
  if (!heads_of(c, n, &h) || !with_past(c, &h)) return false;
  const DType t = h.q->type.dtype;
  const Dim *keys = h.k->type.dims[2];
  Value *scores = build_matmul(b, h.q, op_swap_last(c, h.k));
  if (!scores) return false;
  if (op_float(c, "scale", 0) != 0.0f) scores = build_fn2(b, SC_mul, scores, op_scalar_like(c, scores, (double)op_float(c, "scale", 0)));
  else scores = build_fn2(b, SC_div, scores, build_cast(b, build_fn1(b, SC_sqrt, build_cast(b, build_dim_scalar(b, h.q->type.dims[3]), DT_f32, true)), t, true));
  const Visibility sight = {op_int(c, "unidirectional", 0) != 0, -1, -1, op_in(c, 6) ? op_dim(c, 6, 2) : op_dims(c)->zero, NULL};
  Value *bias = op_bias_of(c, op_visible(c, &sight, h.q->type.dims[2], keys), t);
  if (op_in(c, 4)) {
    Value *mask = op_index_bias(c, op_in(c, 4), h.q->type.dims[0], keys, t, op_float(c, "mask_filter_value", -10000.0f));
    if (!mask) return false;
    bias = plus(c, bias, mask);
  }
  scores = plus(c, scores, plus(c, bias, op_in(c, 5)));
  return scores && op_give(c, 0, op_join_heads(c, build_matmul(b, build_softmax(b, scores, (SoftmaxAttr){.axis = 3}), h.v)));
}

/* ---- RotaryEmbedding: input position_ids cos sin. The operator of ONNX has the positions last and as many as there are places. ---- */
bool import_ms_rotary_embedding(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0), *positions = op_in(c, 1);
  const uint32_t rank = x->type.rank;
  if (rank != 3 && rank != 4) return op_fail(c, DIAG_E0402, "the input has shape %s", op_shape(c, 0));
  if (op_int(c, "is_packed_batching", 0) || op_float(c, "scale", 1) != 1.0f) return op_unsupported(c, "with packed batches or a scale");
  if (positions->type.rank < 2) { /* the first place's */
    Arena *a = op_arena(c);
    Expr e = {0};
    const Dim *const dims[] = {x->type.dims[0], x->type.dims[rank - 2]};
    expr_set_result(a, &e, expr_fn2(a, &e, SC_add, expr_input(a, &e, 0, DT_s64), expr_index(a, &e, 1)));
    positions = op_single(c, positions);
    positions = build_expr(b, e, &positions, 1, 2, dims);
  }
  Value *const in[] = {x, op_in(c, 2), op_in(c, 3), positions};
  memcpy(c->in, in, sizeof in);
  return positions && op_rotary(c);
}
