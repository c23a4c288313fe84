/* Powers of f32 with a constant exponent become products, quotients and roots. A square and a cube are of f32, as import makes those that a model
 * writes (import_pow says why). Another whole exponent's products are of f64, whose roundings vanish in the one to
 * f32; that they leave f64's range where the power leaves f32's, and keep signs, is C99's pow (F.9.4.4) without a case. A half is a square root, of +0
 * for -0, and infinite for -infinity. */
#include "passes/passes.h"

#include <math.h>

enum { MOST_PRODUCTS = 64 };

static Value *whole_power(Builder *b, Value *x, unsigned n) {
  Value *power = NULL;
  for (;; x = build_fn2(b, SC_mul, x, x), n /= 2) {
    if (n % 2) power = power ? build_fn2(b, SC_mul, power, x) : x;
    if (n < 2) return power;
  }
}

static Value *half_power(Builder *b, Value *x, bool inverse) {
  Value *root = build_fn1(b, inverse ? SC_rsqrt : SC_sqrt, build_fn2(b, SC_add, x, build_scalar_f(b, DT_f32, 0)));
  Value *lowest = build_fn2(b, SC_eq, x, build_scalar_f(b, DT_f32, -HUGE_VAL));
  return build_fn3(b, SC_select, lowest, build_scalar_f(b, DT_f32, inverse ? 0 : HUGE_VAL), root);
}

static bool power(Builder *b, const Node *n, Value **ret, void *user) {
  ScalarFn fn;
  (void)user;
  if (!pass_is_fn2(n, &fn) || fn != SC_pow || n->out[0]->type.dtype != DT_f32) return false;
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  Value *x = n->in[e->nodes[e->nodes[2].args[0]].operand], *y = n->in[e->nodes[e->nodes[2].args[1]].operand];
  if (!y->data || y->data->n != 1 || !type_same(&x->type, &n->out[0]->type)) return false;
  const double p = (double)*(const float *)tensor_host_elements(b->ir->arena, y->data), size = p < 0 ? -p : p;
  if (size == 0.5) {
    ret[0] = half_power(b, x, p < 0);
    return true;
  }
  if (!(size >= 1 && size <= MOST_PRODUCTS) || (double)(unsigned)size != size) return false;
  if (p == 2 || p == 3) {
    ret[0] = whole_power(b, x, (unsigned)size);
    return true;
  }
  Value *whole = whole_power(b, build_cast(b, x, DT_f64, true), (unsigned)size);
  if (p < 0) whole = build_fn2(b, SC_div, build_scalar_f(b, DT_f64, 1), whole);
  ret[0] = build_cast(b, whole, DT_f32, true);
  return true;
}

bool pass_power(Ir *ir) {
  (void)pass_rewrite(ir, power, NULL);
  return true;
}
