/* The public interface where it goes wrong: nothing exits or prints, every failure is a status and a diagnostic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "castnet.h"

static void expect_code(const castnet *c, const char *code) {
  assert_int_equal(castnet_n_diagnostics(c), 1);
  const castnet_diagnostic *d = castnet_get_diagnostic(c, 0);
  assert_string_equal(d->code, code);
  assert_non_null(strstr(d->printed, code));
  assert_true(d->text.length > 0 && d->printed[strlen(d->printed) - 1] == '\n');
  assert_null(castnet_get_diagnostic(c, 1));
}

static void missing_model(void **state) {
  (void)state;
  castnet *c = castnet_new();
  assert_int_equal(castnet_compile(c, "no/such/model.onnx", NULL), CASTNET_STATUS_MODEL);
  expect_code(c, "E0002");
  assert_null(castnet_get_interface(c));
  assert_int_equal(castnet_n_files(c), 0);
  assert_null(castnet_file_name(c, 0));
  assert_int_equal(castnet_get_memory(c).workspace, 0);
  castnet_free(c);
}

static void calls_out_of_order(void **state) {
  (void)state;
  castnet *c = castnet_new();
  assert_int_equal(castnet_write(c, "."), CASTNET_STATUS_BUG);
  expect_code(c, "E0901");
  assert_int_equal(castnet_write_depfile(c, "x.d", "."), CASTNET_STATUS_BUG);
  castnet_free(c);
  c = castnet_new();
  (void)castnet_compile(c, "no/such/model.onnx", NULL);
  assert_int_equal(castnet_compile(c, "no/such/model.onnx", NULL), CASTNET_STATUS_BUG);
  castnet_free(c);
  castnet_free(NULL);
}

static void wrong_options(void **state) {
  (void)state;
  const castnet_options cases[] = {
      {.size = sizeof(castnet_options), .target = "z80"}, {.size = sizeof(castnet_options), .weights = "zip"},
      {.size = sizeof(castnet_options), .outputs = "nobody"}, {.size = sizeof(castnet_options), .dump_stage = "soup"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    castnet *c = castnet_new();
    assert_int_equal(castnet_compile(c, "model.onnx", &cases[i]), CASTNET_STATUS_USAGE);
    expect_code(c, "E0001");
    assert_true(castnet_get_diagnostic(c, 0)->hint.length > 0);
    castnet_free(c);
  }
}

/* A caller of an older header: what lies behind its struct is not read. */
static void shorter_options(void **state) {
  (void)state;
  const castnet_options o = {.size = offsetof(castnet_options, target), .target = "z80", .weights = "zip"};
  castnet *c = castnet_new();
  assert_int_equal(castnet_compile(c, "no/such/model.onnx", &o), CASTNET_STATUS_MODEL);
  castnet_free(c);
}

static void memory_limit(void **state) {
  (void)state;
  const castnet_options o = {.size = sizeof o, .max_memory = 100};
  castnet *c = castnet_new();
  assert_int_equal(castnet_compile(c, "model.onnx", &o), CASTNET_STATUS_ENVIRONMENT);
  expect_code(c, "E0004");
  castnet_free(c);
}

static void tables(void **state) {
  (void)state;
  size_t n = 0;
  while (castnet_target_name(n)) n++;
  assert_true(n >= 2);
  assert_string_equal(castnet_target_name(0), "c99");
  assert_true(strlen(castnet_version()) >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_model),   cmocka_unit_test(calls_out_of_order), cmocka_unit_test(wrong_options),
      cmocka_unit_test(shorter_options), cmocka_unit_test(memory_limit),       cmocka_unit_test(tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
