/* Dimension expressions as C text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "backend/dims_c.h"

typedef struct Fixture {
  Arena *a;
  DimCtx *c;
  const Dim *n, *k;
  DimNames names;
} Fixture;

static Fixture fixture(void) {
  static const Str symbols[] = {{"batch", 5}, {"len", 3}};
  Fixture f = {.a = arena_new(NULL, 0), .names = {.symbols = symbols}};
  f.c = dim_ctx_new(f.a);
  f.n = dim_symbol(f.c, STR("N"), 1, INT64_MAX, DIM_FROM_INPUT);
  f.k = dim_symbol(f.c, STR("K"), 0, 100, DIM_FROM_DATA);
  return f;
}

static const char *text(Fixture *f, const Dim *d, bool checked, bool operand) {
  StrBuf b = sb_new(f->a);
  if (checked) dimc_print_checked(&b, d, &f->names);
  else dimc_print(&b, d, &f->names, operand);
  return b.data;
}

static void expressions(void **state) {
  (void)state;
  Fixture f = fixture();
  const Dim *sum = dim_addc(f.c, dim_mul(f.c, f.n, f.k), -3);
  assert_string_equal(text(&f, dim_const(f.c, -7), false, false), "-7");
  assert_string_equal(text(&f, dim_const(f.c, INT64_MIN), false, false), "(-INT64_C(9223372036854775807) - 1)");
  assert_string_equal(text(&f, dim_const(f.c, 3000000000), false, false), "INT64_C(3000000000)");
  assert_string_equal(text(&f, sum, false, false), "batch * len - 3");
  assert_string_equal(text(&f, sum, false, true), "(batch * len - 3)");
  assert_string_equal(text(&f, dim_floordiv(f.c, dim_addc(f.c, f.n, 1), dim_const(f.c, 2)), false, true), "cn_dim_floordiv(batch + 1, 2)");
  assert_string_equal(text(&f, dim_mulc(f.c, dim_min(f.c, f.n, f.k), 4), true, false),
                      "cn_dim_mul_checked(4, cn_dim_min(batch, len), &bad)");
  assert_string_equal(text(&f, sum, true, false),
                      "cn_dim_add_checked(cn_dim_mul_checked(batch, len, &bad), -3, &bad)");
  assert_true(dim_has_data(sum));
  assert_false(dim_has_data(f.n));
  arena_free(f.a);
}

/* Each round doubles the tree; the expression is given up before walks over it would take long. */
static void trees_are_bounded(void **state) {
  (void)state;
  Fixture f = fixture();
  const Dim *x = f.n;
  for (int i = 0; i < 60; i++) x = dim_max(f.c, dim_mod(f.c, dim_addc(f.c, x, 1), f.k), dim_min(f.c, x, f.k));
  assert_true(dim_is_bad(x));
  arena_free(f.a);
}

static void common_parts_are_printed_once(void **state) {
  (void)state;
  Fixture f = fixture();
  const Dim *x = f.n;
  for (int i = 0; i < 9; i++) x = dim_max(f.c, dim_mod(f.c, dim_addc(f.c, x, 1), f.k), dim_min(f.c, x, f.k));
  assert_false(dim_is_bad(x));
  StrBuf b = sb_new(f.a);
  dimc_declare_parts(&b, &x, 1, &f.names, true);
  assert_true(b.len > 500 && b.len < 5000);
  assert_non_null(strstr(b.data, "const int64_t s0 = "));
  assert_true(strlen(text(&f, x, true, false)) < 1000);
  arena_free(f.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions),
      cmocka_unit_test(trees_are_bounded),
      cmocka_unit_test(common_parts_are_printed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
