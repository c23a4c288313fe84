#include "accuracy/reference.h"

#include <math.h>

static double exact_neg(double x) { return -x; }
static double exact_sign(double x) { return isnan(x) ? x : (double)((x > 0) - (x < 0)); }
static double exact_rsqrt(double x) { return 1 / sqrt(x); }
static double exact_reciprocal(double x) { return 1 / x; }
static double exact_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double exact_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double exact_softsign(double x) { return isinf(x) ? copysign(1, x) : x / (1 + fabs(x)); }
static double exact_mish(double x) {
  if (isinf(x)) return x > 0 ? x : -0.0;
  const double e = exp(x < 100 ? x : 100), n = e * (e + 2);
  return x * (n / (n + 2));
}
static double exact_gelu(double x) { return isinf(x) ? (x > 0 ? x : -0.0) : x * erfc(-x * 0.70710678118654752440) / 2; }
static double exact_gelu_tanh(double x) {
  return isinf(x) ? (x > 0 ? x : -0.0) : x * exact_sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x));
}

static int mpfr_exact_sign(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { return mpfr_set_si(y, mpfr_sgn(x), r); }

static int mpfr_exact_reciprocal(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { return mpfr_si_div(y, 1, x, r); }

static int mpfr_exact_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { /* 1 / (1 + e^-x) */
  mpfr_neg(y, x, r);
  mpfr_exp(y, y, r);
  mpfr_add_si(y, y, 1, r);
  return mpfr_si_div(y, 1, y, r);
}

/* log(1 + e^x); from 256 on it is x to more digits than are kept. */
static int mpfr_exact_softplus(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  if (mpfr_cmp_si(x, 256) > 0) return mpfr_set(y, x, r);
  mpfr_exp(y, x, r);
  return mpfr_log1p(y, y, r);
}

static int mpfr_exact_softsign(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_abs(y, x, r);
  mpfr_add_si(y, y, 1, r);
  return mpfr_div(y, x, y, r);
}

/* x n / (n + 2) with n = e^x (e^x + 2) */
static int mpfr_exact_mish(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  if (mpfr_cmp_si(x, 256) > 0) return mpfr_set(y, x, r);
  mpfr_t d;
  mpfr_init2(d, REFERENCE_BITS);
  mpfr_exp(y, x, r);
  mpfr_add_si(d, y, 2, r);
  mpfr_mul(y, y, d, r);
  mpfr_add_si(d, y, 2, r);
  mpfr_div(y, y, d, r);
  const int way = mpfr_mul(y, y, x, r);
  mpfr_clear(d);
  return way;
}

/* x erfc(-x / sqrt(2)) / 2 */
static int mpfr_exact_gelu(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_set_si(y, 2, r);
  mpfr_sqrt(y, y, r);
  mpfr_div(y, x, y, r);
  mpfr_neg(y, y, r);
  mpfr_erfc(y, y, r);
  mpfr_mul(y, y, x, r);
  return mpfr_div_si(y, y, 2, r);
}

/* x sigmoid(sqrt(8 / pi) (x + 0.044715 x^3)) */
static int mpfr_exact_gelu_tanh(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_t c;
  mpfr_init2(c, REFERENCE_BITS);
  mpfr_const_pi(c, r);
  mpfr_si_div(c, 8, c, r);
  mpfr_sqrt(c, c, r);
  mpfr_sqr(y, x, r);
  mpfr_mul_si(y, y, 44715, r);
  mpfr_div_si(y, y, 1000000, r);
  mpfr_add_si(y, y, 1, r);
  mpfr_mul(y, y, x, r);
  mpfr_mul(y, y, c, r);
  mpfr_exact_sigmoid(y, y, r);
  const int way = mpfr_mul(y, y, x, r);
  mpfr_clear(c);
  return way;
}

const Reference references[] = {
#define ACCURACY(name, c, mpfr, f32, f64) {SC_##name, c, mpfr, f32},
#include "accuracy/functions.def"
#undef ACCURACY
};
const size_t n_references = sizeof references / sizeof *references;
const double narrow_bound = NARROW_BOUND;
