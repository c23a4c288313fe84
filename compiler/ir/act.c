#include "ir/act.h"

static uint32_t fn1(Arena *a, Expr *e, ScalarFn f, uint32_t x) { return expr_fn1(a, e, f, x); }
static uint32_t fn2(Arena *a, Expr *e, ScalarFn f, uint32_t x, uint32_t y) { return expr_fn2(a, e, f, x, y); }

Expr act_expr(Arena *a, RecurrentAct act, DType t) {
  Expr e = {0};
  uint32_t x = expr_input(a, &e, 0, t), y = x;
  uint32_t alpha = expr_const_f(a, &e, t, (double)act.alpha), beta = expr_const_f(a, &e, t, (double)act.beta);
  uint32_t zero = expr_const_f(a, &e, t, 0), one = expr_const_f(a, &e, t, 1);
  switch (act.kind) {
    case ACT_SIGMOID: y = fn1(a, &e, SC_sigmoid, x); break;
    case ACT_TANH: y = fn1(a, &e, SC_tanh, x); break;
    case ACT_RELU: y = fn2(a, &e, SC_max, x, zero); break;
    case ACT_AFFINE: y = fn2(a, &e, SC_add, fn2(a, &e, SC_mul, alpha, x), beta); break;
    case ACT_LEAKY_RELU: y = expr_fn3(a, &e, SC_select, fn2(a, &e, SC_lt, x, zero), fn2(a, &e, SC_mul, alpha, x), x); break;
    case ACT_THRESHOLDED_RELU: y = expr_fn3(a, &e, SC_select, fn2(a, &e, SC_gt, x, alpha), x, zero); break;
    case ACT_SCALED_TANH: y = fn2(a, &e, SC_mul, alpha, fn1(a, &e, SC_tanh, fn2(a, &e, SC_mul, beta, x))); break;
    case ACT_HARD_SIGMOID:
      y = fn2(a, &e, SC_add, fn2(a, &e, SC_mul, alpha, x), beta);
      y = fn2(a, &e, SC_min, fn2(a, &e, SC_max, y, zero), one);
      break;
    case ACT_ELU: y = expr_fn3(a, &e, SC_select, fn2(a, &e, SC_gt, x, zero), x, fn2(a, &e, SC_mul, alpha, fn1(a, &e, SC_expm1, x))); break;
    case ACT_SOFTSIGN: y = fn1(a, &e, SC_softsign, x); break;
    case ACT_SOFTPLUS: y = fn1(a, &e, SC_softplus, x); break;
  }
  expr_set_result(a, &e, y);
  return e;
}
