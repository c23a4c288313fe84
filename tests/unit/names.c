/* C names and comments from hostile ONNX names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "backend/names.h"

static void identifiers(void **state) {
  (void)state;
  static const struct {
    const char *onnx, *want;
  } cases[] = {
      {"Input3", "Input3"},
      {"conv1/weight:0", "conv1_weight_0"},
      {"3d", "x3d"},
      {"", "fallback"},
      {"float", "float_"},
      {"class", "class_"},
      {"linux", "linux_"},
      {"__linux__", "x___linux__"},
      {"__linux_", "x___linux_"},
      {"__LINE_", "x___LINE_"},
      {"INT64_MAX", "INT64_MAX_"},
      {"_MM_HINT_T0", "_MM_HINT_T0_"},
      {"FLT_MAX", "FLT_MAX_"},
      {"BUFSIZ", "BUFSIZ_"},
      {"_Conv_output_0", "_Conv_output_0"},
      {"cn_min", "x_cn_min"},
      {"cn-min", "x_cn_min"},
      {"CN_N", "x_CN_N"},
      {"castnet_env", "x_castnet_env"},
      {"CASTNET_OK", "x_CASTNET_OK"},
      {"cn", "cn"},
      {"string", "string"},
      {"\xc3\xa9t\xc3\xa9", "x___t__"},
      {"INPUT", "INPUT"},
      {"0123456789012345678901234567890123456789012345", "x0123456789012345678901234567890123456789012345"},
  };
  Arena *a = arena_new(NULL, 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(names_identifier(a, str_c(cases[i].onnx), "fallback").ptr, cases[i].want);
  arena_free(a);
}

static void names_of_models(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"resnet-50", "resnet_50"}, {"", "model"}, {"cn", "x_cn"}, {"CN", "x_CN"}, {"_", "x__"}, {"cn_x", "x_cn_x"},
                                         {"castnet", "x_castnet"}, {"stdint", "stdint_"}, {"string", "string_"}, {"float", "float_"}, {"avx2intrin", "avx2intrin_"}, {"cpuid", "cpuid_"},
                                         {"arm_neon", "arm_neon_"}, {"arm_pose", "arm_pose"}, {"strings_of", "strings_of"}};
  Arena *a = arena_new(NULL, 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_string_equal(names_model(a, str_c(cases[i][0])).ptr, cases[i][1]);
  arena_free(a);
}

static void cut_and_colliding_names_get_a_hash(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  NameScope s = names_scope(a);
  char text[1000];
  memset(text, 'a', sizeof text);
  Str cut = names_add(&s, (Str){text, sizeof text}, "x"), same = names_add(&s, (Str){text, sizeof text}, "x");
  assert_int_equal(cut.len, 48 + 9);
  assert_false(str_eq(cut, same));
  assert_string_equal(names_add(&s, STR("a/b"), "x").ptr, "a_b");
  Str other = names_add(&s, STR("a.b"), "x");
  assert_int_equal(other.len, 3 + 9);
  NameScope again = names_scope(a);
  (void)names_add(&again, STR("a/b"), "x");
  assert_true(str_eq(names_add(&again, STR("a.b"), "x"), other));
  names_reserve(&again, "dim");
  assert_int_equal(names_add(&again, STR("dim"), "x").len, 3 + 9);
  arena_free(a);
}

static void comments_stay_comments(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  StrBuf b = sb_new(a);
  names_comment(&b, STR("*/ int x; /* ?" "?/ \\\n\r \x01 **//"), 100);
  assert_null(strstr(b.data, "*/"));
  assert_null(strstr(b.data, "/*"));
  assert_null(strstr(b.data, "?" "?"));
  assert_null(strchr(b.data, '\n'));
  assert_null(strchr(b.data, '\r'));
  StrBuf text = sb_new(a);
  names_c_string(&text, (Str){"a\"b\\c?" "?=\n\0" "1\xff", 12});
  assert_string_equal(text.data, "a\\\"b\\\\c\\?\\?=\\012\\0001\\377");
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identifiers), cmocka_unit_test(names_of_models),
      cmocka_unit_test(cut_and_colliding_names_get_a_hash),
      cmocka_unit_test(comments_stay_comments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
