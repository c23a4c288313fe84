/* FlexAttention (ai.onnx.preview): attention whose scores and probabilities a subgraph may change. */
#include "ops/attention.h"

/* x as the graph attribute `name` makes it, of the same type and shape; x itself where the attribute is absent. */
static Value *modified(OpContext *c, const char *name, Value *x) {
  const OnnxGraph *g = op_graph(c, name);
  size_t n;
  if (!g || !x) return x;
  Value **y = op_inline(c, g, &x, 1, &n);
  if (!y) return NULL;
  bool same = n == 1 && y[0]->type.kind == TYPE_TENSOR && y[0]->type.dtype == x->type.dtype && y[0]->type.rank == x->type.rank;
  for (uint32_t i = 0; same && i < x->type.rank; i++) same = ir_require_eq(c->b.ir, y[0]->type.dims[i], x->type.dims[i]);
  if (same) return y[0];
  (void)op_fail(c, DIAG_E0402, "attribute '%s' must give one %s tensor of shape %s", name, dtype_name(x->type.dtype), build_shape_text(&c->b, x));
  return NULL;
}

static bool softmax_type(OpContext *c, DType *ret) {
  const int64_t given = op_int(c, "softmax_precision", 0);
  *ret = op_dtype(c, 0) == DT_f64 ? DT_f64 : DT_f32;
  if (given == 0) return true;
  *ret = dtype_from_onnx(given);
  if (*ret == DT_f16 || *ret == DT_bf16 || *ret == DT_f32 || *ret == DT_f64) return true;
  return op_fail(c, DIAG_E0304, "attribute 'softmax_precision' is %lld", (long long)given);
}

/* Q by the transpose of K, scaled by the attribute or 1 / sqrt(head size): [B][heads][L][S] of type t. */
static Value *scaled_scores(OpContext *c, DType t) {
  Builder *b = &c->b;
  Value *q = build_cast(b, op_in(c, 0), t, true), *k = build_cast(b, op_in(c, 1), t, true);
  Value *scores = op_grouped_matmul(c, q, op_swap_last(c, k));
  if (!scores) return NULL;
  if (op_has_attr(c, "scale")) return build_fn2(b, SC_mul, scores, op_scalar_like(c, scores, (double)op_float(c, "scale", 1)));
  const DType wide = t == DT_f64 ? DT_f64 : DT_f32;
  Value *root = build_fn1(b, SC_sqrt, build_cast(b, build_dim_scalar(b, op_dim(c, 0, 3)), wide, true));
  return build_cast(b, build_fn2(b, SC_div, build_cast(b, scores, wide, true), root), t, true);
}

bool import_flex_attention(OpContext *c) {
  Builder *b = &c->b;
  DType t;
  for (size_t k = 0; k < 3; k++)
    if (!op_rank_in(c, k, 4, 4)) return false;
  if (!softmax_type(c, &t)) return false;
  Value *scores = modified(c, "score_mod", scaled_scores(c, t));
  Value *p = scores ? modified(c, "prob_mod", build_softmax(b, scores, (SoftmaxAttr){.axis = 3})) : NULL;
  if (!p) return false;
  return op_give(c, 0, op_grouped_matmul(c, build_cast(b, p, op_dtype(c, 0), true), op_in(c, 2)));
}
