#include "ir/act.h"

static uint32_t konst(Arena *a, Expr *e, float v) { return expr_const_f(a, e, DT_f32, (double)v); }
static uint32_t fn1(Arena *a, Expr *e, ScalarFn f, uint32_t x) { return expr_fn1(a, e, f, x); }
static uint32_t fn2(Arena *a, Expr *e, ScalarFn f, uint32_t x, uint32_t y) { return expr_fn2(a, e, f, x, y); }

Expr act_expr(Arena *a, RecurrentAct act) {
  Expr e = {0};
  uint32_t x = expr_input(a, &e, 0, DT_f32), y = x;
  uint32_t alpha = konst(a, &e, act.alpha), beta = konst(a, &e, act.beta), zero = konst(a, &e, 0.0f), one = konst(a, &e, 1.0f);
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
