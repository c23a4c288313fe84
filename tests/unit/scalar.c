/* The scalar functions on special values, integers and rounding. tests/accuracy measures their accuracy. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "interp/scalar_table.h"

static float eval_f32(ScalarFn fn, float x, float y, float z) {
  const void *args[3] = {&x, &y, &z};
  float out;
  scalar_eval_strip(fn, DT_f32, args, &out, 1);
  return out;
}

static double eval_f64(ScalarFn fn, double x, double y, double z) {
  const void *args[3] = {&x, &y, &z};
  double out;
  scalar_eval_strip(fn, DT_f64, args, &out, 1);
  return out;
}

/* Equal as bits, but any NaN for a NaN. */
static bool same(double a, double b) { return a == b ? !signbit(a) == !signbit(b) : isnan(a) && isnan(b); }

static void check_one(ScalarFn fn, double x, double want) {
  const double f = (double)eval_f32(fn, (float)x, 0, 0), d = eval_f64(fn, x, 0, 0);
  if (!same(f, want) || !same(d, want))
    fail_msg("%s(%a): f32 %a, f64 %a, want %a", scalar_rows[fn].name, x, f, d, want);
}

static void check_two(ScalarFn fn, double x, double y, double want) {
  const double f = (double)eval_f32(fn, (float)x, (float)y, 0), d = eval_f64(fn, x, y, 0);
  if (!same(f, want) || !same(d, want))
    fail_msg("%s(%a, %a): f32 %a, f64 %a, want %a", scalar_rows[fn].name, x, y, f, d, want);
}

/* ---- tables ---- */
static void every_row_is_whole(void **state) {
  (void)state;
  for (int f = 0; f < SC_COUNT; f++) {
    const ScalarRow *r = &scalar_rows[f];
    assert_true(r->arity >= 1 && r->arity <= 3 && r->types != 0);
    assert_int_equal(scalar_from_name(str_c(r->name)), f);
  }
  assert_int_equal(scalar_from_name(STR("nothing")), SC_COUNT);
  assert_true(scalar_exists(SC_exp, DT_f16) && scalar_exists(SC_add, DT_s4) && !scalar_exists(SC_exp, DT_s32));
  assert_true(scalar_exists(SC_select, DT_c64) && scalar_exists(SC_eq, DT_c128) && scalar_exists(SC_add, DT_c64) && !scalar_exists(SC_mul, DT_c64));
  assert_false(scalar_exists(SC_add, DT_b1));
  assert_int_equal(scalar_result(SC_add, DT_f16), DT_f16);
  assert_int_equal(scalar_result(SC_lt, DT_f64), DT_b1);
}

/* ---- floats ---- */
static void rounding_to_integers(void **state) {
  (void)state;
  static const double in[] = {0,    -0.0, 0.5,     -0.5,     1.5,      2.5,           -2.5,     0.49999997, -0.3,
                              1e10, -7,   8388607, 8388608.5, -8388607, 0x1.fffffcp21, INFINITY, -INFINITY,  NAN};
  for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
    const float x = (float)in[i];
    const double d = (double)x;
    check_one(SC_floor, d, floor(d));
    check_one(SC_ceil, d, ceil(d));
    check_one(SC_trunc, d, trunc(d));
    check_one(SC_round, d, nearbyint(d));
  }
  assert_true(same(eval_f64(SC_round, 4503599627370495.5, 0, 0), 4503599627370496.0));
  assert_true(same(eval_f64(SC_floor, 4503599627370495.5, 0, 0), 4503599627370495.0));
}

static void order_and_nan(void **state) {
  (void)state;
  check_two(SC_max, NAN, 1, NAN);
  check_two(SC_max, 1, NAN, NAN);
  check_two(SC_min, NAN, -INFINITY, NAN);
  check_two(SC_min, -INFINITY, NAN, NAN);
  check_two(SC_max, 2, 3, 3);
  check_two(SC_min, 2, 3, 2);
  check_two(SC_max, -INFINITY, INFINITY, INFINITY);
  check_one(SC_sign, -3, -1);
  check_one(SC_sign, -0.0, 0);
  check_one(SC_sign, NAN, NAN);
  check_one(SC_abs, -0.0, 0);
  check_one(SC_neg, 0, -0.0);
  check_two(SC_copysign, 3, -0.0, -3);
  assert_true(same(eval_f64(SC_clip, 5, 0, 3), 3) && same(eval_f64(SC_clip, -5, 0, 3), 0));
  assert_true(same(eval_f64(SC_clip, 1, 4, 3), 3) && same(eval_f64(SC_clip, NAN, 0, 3), NAN));
  assert_true(same(eval_f64(SC_clip, 1, -INFINITY, INFINITY), 1));
}

static void comparisons(void **state) {
  (void)state;
  const float x[5] = {1, 2, NAN, INFINITY, -INFINITY}, y[5] = {2, 2, 2, INFINITY, 0};
  const void *args[2] = {x, y};
  static const struct {
    ScalarFn fn;
    uint8_t want[5];
  } rows[] = {{SC_eq, {0, 1, 0, 1, 0}}, {SC_ne, {1, 0, 1, 0, 1}}, {SC_lt, {1, 0, 0, 0, 1}},
              {SC_le, {1, 1, 0, 1, 1}}, {SC_gt, {0, 0, 0, 0, 0}}, {SC_ge, {0, 1, 0, 1, 0}},
              {SC_isnan, {0, 0, 1, 0, 0}}, {SC_isinf, {0, 0, 0, 1, 1}}, {SC_isposinf, {0, 0, 0, 1, 0}},
              {SC_isneginf, {0, 0, 0, 0, 1}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint8_t out[5];
    scalar_eval_strip(rows[i].fn, DT_f32, args, out, 5);
    assert_memory_equal(out, rows[i].want, 5);
  }
  const uint8_t c[5] = {1, 0, 1, 0, 1};
  const void *select[3] = {c, x, y};
  float out[5];
  scalar_eval_strip(SC_select, DT_f32, select, out, 5);
  for (int i = 0; i < 5; i++) assert_true(same((double)out[i], (double)(c[i] ? x[i] : y[i])));
}

static void special_values(void **state) {
  (void)state;
  const double inf = INFINITY;
  const struct {
    ScalarFn fn;
    double x, want;
  } rows[] = {
      {SC_exp, -inf, 0},        {SC_exp, inf, inf},       {SC_exp, 0, 1},           {SC_exp, -2000, 0},     {SC_exp, 2000, inf},
      {SC_expm1, -0.0, -0.0},   {SC_expm1, -inf, -1},     {SC_expm1, inf, inf},     {SC_log, 0, -inf},      {SC_log, -0.0, -inf},
      {SC_log, 1, 0},           {SC_log, -1, NAN},        {SC_log, inf, inf},       {SC_log1p, -1, -inf},   {SC_log1p, -0.0, -0.0},
      {SC_log1p, -2, NAN},      {SC_log1p, inf, inf},     {SC_sqrt, -0.0, -0.0},    {SC_sqrt, -1, NAN},     {SC_sqrt, inf, inf},
      {SC_rsqrt, 0, inf},       {SC_rsqrt, 4, 0.5},       {SC_reciprocal, -0.0, -inf}, {SC_sin, -0.0, -0.0}, {SC_sin, inf, NAN},
      {SC_cos, 0, 1},           {SC_cos, -inf, NAN},      {SC_tan, -0.0, -0.0},     {SC_tan, inf, NAN},     {SC_asin, -0.0, -0.0},
      {SC_asin, 1.5, NAN},      {SC_acos, 1, 0},          {SC_acos, -1.5, NAN},     {SC_atan, -0.0, -0.0},  {SC_sinh, -inf, -inf},
      {SC_sinh, -0.0, -0.0},    {SC_cosh, -inf, inf},     {SC_cosh, 0, 1},          {SC_tanh, inf, 1},      {SC_tanh, -inf, -1},
      {SC_tanh, -0.0, -0.0},    {SC_asinh, -inf, -inf},   {SC_asinh, -0.0, -0.0},   {SC_acosh, 1, 0},       {SC_acosh, 0.5, NAN},
      {SC_acosh, inf, inf},     {SC_atanh, 1, inf},       {SC_atanh, -1, -inf},     {SC_atanh, 2, NAN},     {SC_atanh, -0.0, -0.0},
      {SC_erf, inf, 1},         {SC_erf, -inf, -1},       {SC_erf, -0.0, -0.0},     {SC_erfc, inf, 0},      {SC_erfc, -inf, 2},
      {SC_sigmoid, -inf, 0},    {SC_sigmoid, inf, 1},     {SC_sigmoid, 0, 0.5},     {SC_softplus, inf, inf}, {SC_softplus, -inf, 0},
      {SC_softsign, inf, 1},    {SC_softsign, -0.0, -0.0}, {SC_gelu, inf, inf},     {SC_gelu, -inf, -0.0},  {SC_gelu, -0.0, -0.0},
      {SC_gelu_tanh, inf, inf}, {SC_gelu_tanh, 0, 0},     {SC_mish, inf, inf},      {SC_mish, -0.0, -0.0},
      {SC_silu, inf, inf},      {SC_silu, -inf, -0.0},  {SC_silu, -0.0, -0.0},    {SC_silu, 0x1p100, 0x1p100},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_one(rows[i].fn, rows[i].x, rows[i].want);
  for (int f = 0; f < SC_COUNT; f++)
    if (scalar_rows[f].arity == 1 && scalar_rows[f].result == DT_NONE && scalar_exists((ScalarFn)f, DT_f64))
      check_one((ScalarFn)f, NAN, NAN);
  static const double roots[][2] = {{INFINITY, 1}, {-INFINITY, -1}, {0, 0}, {-0.0, -0.0}, {NAN, NAN}, {6, 1}, {-0x1p-149, -0x1p-149}};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    assert_true(same((double)eval_f32(SC_erf_sqrt2, (float)roots[i][0], 0, 0), roots[i][1]));
  static const double products[][2] = {{INFINITY, INFINITY}, {-INFINITY, -0.0}, {0, 0}, {-0.0, -0.0}, {0x1p100, 0x1p100}, {-0x1p100, -0.0}, {NAN, NAN}};
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    assert_true(same((double)eval_f32(SC_silu_product, (float)products[i][0], 0, 0), products[i][1]));
}

static void powers_and_remainders(void **state) {
  (void)state;
  static const double v[] = {0, -0.0, 0.5, -0.5, 1, -1, 2, -2, 3, -3, 7.25, -1e30, 1e30, INFINITY, -INFINITY, NAN};
  enum { N = sizeof v / sizeof *v };
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      const double p = pow(v[i], v[j]);
      if (p == 0 || p == 1 || isnan(p) || isinf(p)) check_two(SC_pow, v[i], v[j], p);
      const float x = (float)v[i], y = (float)v[j];
      check_two(SC_fmod, (double)x, (double)y, fmod((double)x, (double)y));
    }
  check_two(SC_mod, -7, 3, 2);
  check_two(SC_mod, 7, -3, -2);
  check_two(SC_mod, -6, 3, 0);
  check_two(SC_mod, 6, -3, -0.0);
  check_two(SC_mod, 1, INFINITY, 1);
  check_two(SC_mod, -1, INFINITY, INFINITY);
  check_two(SC_atan2, 0, 1, 0);
  check_two(SC_atan2, -0.0, 1, -0.0);
  check_two(SC_atan2, NAN, 1, NAN);
}

static void square_roots_are_rounded_right(void **state) {
  (void)state;
  uint64_t s = 88172645463325252u; /* xorshift64 */
  for (int i = 0; i < 300000; i++) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    const uint32_t u = (uint32_t)(s >> 33);
    const uint64_t w = s >> 1;
    float f;
    double d;
    memcpy(&f, &u, sizeof f);
    memcpy(&d, &w, sizeof d);
    assert_true(same((double)eval_f32(SC_sqrt, f, 0, 0), (double)sqrtf(f)));
    assert_true(same(eval_f64(SC_sqrt, d, 0, 0), sqrt(d)));
  }
}

/* ---- integers, against 64-bit arithmetic for every pair of 8-bit values ---- */
static int64_t wrap(DType t, int64_t v) {
  switch (t) {
  case DT_s8: return (int8_t)v;
  case DT_u8: return (uint8_t)v;
  default: return v;
  }
}

static int64_t int_pow(DType t, int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;
  int64_t r = 1;
  for (int64_t i = 0; i < n; i++) r = wrap(t, r * x);
  return r;
}

static int64_t int_shift(DType t, ScalarFn fn, int64_t a, int64_t b) {
  const bool out = b < 0 || b > 7;
  if (fn == SC_shl) return out ? 0 : wrap(t, a * ((int64_t)1 << b));
  return out ? (a < 0 ? -1 : 0) : i64_floordiv(a, (int64_t)1 << b);
}

static int64_t int_reference(DType t, ScalarFn fn, int64_t a, int64_t b) {
  switch (fn) {
  case SC_add: return wrap(t, a + b);
  case SC_sub: return wrap(t, a - b);
  case SC_mul: return wrap(t, a * b);
  case SC_div: return b == 0 ? 0 : wrap(t, a / b);
  case SC_fmod: return b == 0 ? 0 : a % b;
  case SC_mod: return b == 0 ? 0 : i64_floormod(a, b);
  case SC_min: return a < b ? a : b;
  case SC_max: return a > b ? a : b;
  case SC_pow: return wrap(t, int_pow(t, a, b));
  case SC_and: return wrap(t, a & b);
  case SC_or: return wrap(t, a | b);
  case SC_xor: return wrap(t, a ^ b);
  default: return int_shift(t, fn, a, b);
  }
}

static void integers_of_8_bits(void **state) {
  (void)state;
  static const ScalarFn fns[] = {SC_add, SC_sub, SC_mul, SC_div, SC_fmod, SC_mod, SC_min,
                                 SC_max, SC_pow, SC_and, SC_or,  SC_xor,  SC_shl, SC_shr};
  for (size_t f = 0; f < sizeof fns / sizeof *fns; f++)
    for (int is_signed = 0; is_signed < 2; is_signed++)
      for (int i = 0; i < 256; i++) {
        const DType t = is_signed ? DT_s8 : DT_u8;
        uint8_t a[256], b[256], out[256];
        for (int j = 0; j < 256; j++) a[j] = (uint8_t)i, b[j] = (uint8_t)j;
        const void *args[2] = {a, b};
        scalar_eval_strip(fns[f], t, args, out, 256);
        for (int j = 0; j < 256; j++) {
          const int64_t want = int_reference(t, fns[f], wrap(t, i), wrap(t, j));
          if (wrap(t, out[j]) != want)
            fail_msg("%s_%s(%d, %d): %d, want %d", scalar_rows[fns[f]].name, dtype_name(t), (int)wrap(t, i), (int)wrap(t, j),
                     (int)wrap(t, out[j]), (int)want);
        }
      }
}

static int64_t eval_s64(ScalarFn fn, int64_t a, int64_t b) {
  const void *args[2] = {&a, &b};
  int64_t out;
  scalar_eval_strip(fn, DT_s64, args, &out, 1);
  return out;
}

static int32_t eval_s32(ScalarFn fn, int32_t a, int32_t b) {
  const void *args[2] = {&a, &b};
  int32_t out;
  scalar_eval_strip(fn, DT_s32, args, &out, 1);
  return out;
}

static void integers_at_their_ends(void **state) {
  (void)state;
  assert_int_equal(eval_s32(SC_div, INT32_MIN, -1), INT32_MIN);
  assert_int_equal(eval_s32(SC_div, 7, 0), 0);
  assert_int_equal(eval_s32(SC_mod, INT32_MIN, -1), 0);
  assert_int_equal(eval_s32(SC_fmod, INT32_MIN, 0), 0);
  assert_int_equal(eval_s32(SC_neg, INT32_MIN, 0), INT32_MIN);
  assert_int_equal(eval_s32(SC_abs, INT32_MIN, 0), INT32_MIN);
  assert_int_equal(eval_s32(SC_add, INT32_MAX, 1), INT32_MIN);
  assert_int_equal(eval_s32(SC_mul, 0x10001, 0x10001), 0x20001);
  assert_int_equal(eval_s32(SC_shr, INT32_MIN, 31), -1);
  assert_int_equal(eval_s32(SC_shl, 1, 31), INT32_MIN);
  assert_true(eval_s64(SC_div, INT64_MIN, -1) == INT64_MIN);
  assert_true(eval_s64(SC_mod, -7, 3) == 2 && eval_s64(SC_fmod, -7, 3) == -1);
  assert_true(eval_s64(SC_pow, 3, 40) == INT64_C(-6289078614652622815));
  assert_true(eval_s64(SC_pow, -1, -3) == -1 && eval_s64(SC_pow, 0, -3) == 0);
  assert_true(eval_s64(SC_shl, 1, 64) == 0 && eval_s64(SC_shr, -5, 64) == -1 && eval_s64(SC_shr, -5, -1) == -1);
  assert_true(eval_s64(SC_sign, INT64_MIN, 0) == -1 && eval_s64(SC_not, 0, 0) == -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_whole),
      cmocka_unit_test(rounding_to_integers),
      cmocka_unit_test(order_and_nan),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(special_values),
      cmocka_unit_test(powers_and_remainders),
      cmocka_unit_test(square_roots_are_rounded_right),
      cmocka_unit_test(integers_of_8_bits),
      cmocka_unit_test(integers_at_their_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
