#include "ops/ml_post.h"

bool ml_post_attr(OpContext *c, PostTransform *ret) {
  static const char *const names[] = {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"};
  Str s = op_str(c, "post_transform", "NONE");
  for (int i = 0; i < 5; i++)
    if (str_is(s, names[i])) {
      *ret = (PostTransform)i;
      return true;
    }
  return op_fail(c, DIAG_E0304, "post_transform is %s", diag_quote(c->b.ir->diags, s));
}

/* A constant of the scores' type. */
static Value *k(Builder *b, const Value *x, double v) { return build_scalar_f(b, x->type.dtype, v); }

/* Softmax in which scores of (nearly) zero stay zero: ONNX Runtime takes 1e-7 for zero. */
static Value *softmax_zero(Builder *b, Value *x) {
  uint32_t last = 1u << (x->type.rank - 1);
  Value *m = build_reduce(b, REDUCE_MAX, x, last, true);
  Value *e = build_fn1(b, SC_exp, build_fn2(b, SC_sub, x, m)), *small = build_fn2(b, SC_mul, x, build_fn1(b, SC_exp, build_fn1(b, SC_neg, m)));
  Value *is_big = build_fn2(b, SC_gt, build_fn1(b, SC_abs, x), k(b, x, 1e-7));
  Value *v = build_fn3(b, SC_select, is_big, e, small);
  return build_fn2(b, SC_div, v, build_reduce(b, REDUCE_SUM, v, last, true));
}

/* sqrt(2) * erfinv(2x - 1), erfinv by Winitzki's approximation, which the field's runtimes share. */
static Value *probit(Builder *b, Value *p) {
  Value *x = build_fn2(b, SC_sub, build_fn2(b, SC_mul, p, k(b, p, 2)), k(b, p, 1));
  Value *sign = build_fn3(b, SC_select, build_fn2(b, SC_lt, x, k(b, x, 0)), k(b, x, -1), k(b, x, 1));
  Value *one_minus = build_fn2(b, SC_mul, build_fn2(b, SC_sub, k(b, x, 1), x), build_fn2(b, SC_add, k(b, x, 1), x));
  Value *log = build_fn1(b, SC_log, one_minus);
  Value *v = build_fn2(b, SC_add, k(b, x, 2 / (3.14159 * 0.147)), build_fn2(b, SC_mul, k(b, x, 0.5), log));
  Value *root = build_fn1(b, SC_sqrt, build_fn2(b, SC_sub, build_fn2(b, SC_mul, v, v), build_fn2(b, SC_mul, k(b, x, 1 / 0.147), log)));
  Value *y = build_fn1(b, SC_sqrt, build_fn2(b, SC_sub, root, v));
  return build_fn2(b, SC_mul, k(b, x, 1.41421356), build_fn2(b, SC_mul, sign, y));
}

Value *ml_post(Builder *b, Value *scores, PostTransform post) {
  if (!scores) return NULL;
  switch (post) {
    case POST_LOGISTIC: return build_fn1(b, SC_sigmoid, scores);
    case POST_SOFTMAX: return build_softmax(b, scores, (SoftmaxAttr){.axis = scores->type.rank - 1});
    case POST_SOFTMAX_ZERO: return softmax_zero(b, scores);
    case POST_PROBIT: return probit(b, scores);
    default: return scores;
  }
}
