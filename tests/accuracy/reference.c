#include "accuracy/reference.h"

#include "accuracy/strips.h"

static int mpfr_exact_sign(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { return mpfr_set_si(y, mpfr_sgn(x), r); }

static int mpfr_exact_reciprocal(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { return mpfr_si_div(y, 1, x, r); }

static int mpfr_exact_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { /* 1 / (1 + e^-x) */
  mpfr_neg(y, x, r);
  mpfr_exp(y, y, r);
  mpfr_add_si(y, y, 1, r);
  return mpfr_si_div(y, 1, y, r);
}

static int mpfr_exact_silu(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { /* x / (1 + e^-x) */
  mpfr_neg(y, x, r);
  mpfr_exp(y, y, r);
  mpfr_add_si(y, y, 1, r);
  return mpfr_div(y, x, y, r);
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

static int mpfr_exact_erf_sqrt2(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { /* erf(x / sqrt(2)) */
  mpfr_set_si(y, 2, r);
  mpfr_sqrt(y, y, r);
  mpfr_div(y, x, y, r);
  return mpfr_erf(y, y, r);
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
#define ACCURACY(name, parity, c, mpfr, f32, f64) {SC_##name, parity, screen_##name, judged_##name, mpfr, f32},
#include "accuracy/functions.def"
#undef ACCURACY
};
const size_t n_references = sizeof references / sizeof *references;
const double narrow_bound = NARROW_BOUND;

const WorstArgument worst_arguments[] = {
#define WORST(name, x) {SC_##name, x},
#include "accuracy/worst.def"
#undef WORST
};
const size_t n_worst_arguments = sizeof worst_arguments / sizeof *worst_arguments;
