/* Tolerances: |a - b| <= atol + rtol * |b|, NaN and infinities, exact types, maps in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/compare.h"
#include "ir/dtype.h"

static Comparison compare(Arena *a, const OnnxValue *got, const OnnxValue *want, double atol, double rtol) {
  Diags d = {.arena = a};
  Comparison r;
  compare_values(a, &d, got, want, &(Tolerance){.atol = atol, .rtol = rtol}, &r);
  assert_int_equal(r.ok, r.why.len == 0);
  return r;
}

static OnnxTensor tensor(DType t, size_t n, const void *data) {
  static const int64_t dims[] = {1, 2, 3, 4, 5};
  OnnxTensor r = {.data_type = dtype_rows[t].onnx, .n_dims = 1, .dims = &dims[n - 1], .n_elements = n, .data = data};
  (void)dtype_bytes(t, n, &r.data_bytes);
  return r;
}

static Comparison floats(Arena *a, size_t n, const float *got, const float *want, double atol, double rtol) {
  OnnxTensor x = tensor(DT_f32, n, got), y = tensor(DT_f32, n, want);
  return compare(a, &(OnnxValue){.kind = ONNX_TYPE_TENSOR, .tensor = &x}, &(OnnxValue){.kind = ONNX_TYPE_TENSOR, .tensor = &y}, atol, rtol);
}

static void float_rule(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  const float nan = (float)(0.0 / 0.0 * -1), inf = (float)(1.0 / 0.0);
  assert_true(floats(a, 2, (float[]){1.5f, -2}, (float[]){1, -2}, 0.5, 0).ok);
  assert_false(floats(a, 2, (float[]){1.5f, -2}, (float[]){1, -2}, 0.25, 0).ok);
  assert_true(floats(a, 1, (float[]){5}, (float[]){4}, 0, 0.25).ok);
  assert_false(floats(a, 1, (float[]){4}, (float[]){5}, 0, 0.1875).ok); /* of the recorded value */
  assert_true(floats(a, 3, (float[]){nan, inf, -inf}, (float[]){nan, inf, -inf}, 0, 0).ok);
  assert_false(floats(a, 1, (float[]){inf}, (float[]){-inf}, 1e30, 1e30).ok);
  assert_false(floats(a, 1, (float[]){nan}, (float[]){1}, 1e30, 1e30).ok);
  assert_false(floats(a, 1, (float[]){3e38f}, (float[]){inf}, 1e30, 1).ok);
  assert_true(floats(a, 1, (float[]){0.0f}, (float[]){-0.0f}, 0, 0).ok);
  Comparison r = floats(a, 3, (float[]){1, 2, 9}, (float[]){1, 3, 3}, 0, 0);
  assert_int_equal(r.n, 3);
  assert_int_equal(r.n_bad, 2);
  assert_true(r.max_abs == 6 && r.max_rel == 2);
  assert_non_null(strstr(r.why.ptr, "[2]"));
  arena_free(a);
}

static void exact_types(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  OnnxTensor x = tensor(DT_s8, 3, (int8_t[]){1, -2, 3}), y = tensor(DT_s8, 3, (int8_t[]){1, -3, 3});
  OnnxTensor z = tensor(DT_u8, 3, (int8_t[]){1, -2, 3}), shorter = tensor(DT_s8, 2, (int8_t[]){1, -2});
  OnnxTensor p = tensor(DT_u4, 3, (uint8_t[]){0x21, 0x03}), q = tensor(DT_u4, 3, (uint8_t[]){0x21, 0xf3});
  const OnnxValue vx = {.kind = ONNX_TYPE_TENSOR, .tensor = &x}, vy = {.kind = ONNX_TYPE_TENSOR, .tensor = &y};
  const OnnxValue vz = {.kind = ONNX_TYPE_TENSOR, .tensor = &z}, vs = {.kind = ONNX_TYPE_TENSOR, .tensor = &shorter};
  const OnnxValue vp = {.kind = ONNX_TYPE_TENSOR, .tensor = &p}, vq = {.kind = ONNX_TYPE_TENSOR, .tensor = &q};
  assert_true(compare(a, &vx, &vx, 0, 0).ok);
  Comparison r = compare(a, &vx, &vy, 100, 100);
  assert_false(r.ok);
  assert_non_null(strstr(r.why.ptr, "is -2, recorded -3"));
  assert_false(compare(a, &vx, &vz, 100, 100).ok);
  assert_false(compare(a, &vx, &vs, 100, 100).ok);
  assert_true(compare(a, &vp, &vq, 0, 0).ok); /* bits behind the last element mean nothing */
  arena_free(a);
}

static void maps(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  OnnxTensor one = {.data_type = 1, .n_elements = 1, .data = (float[]){1}, .data_bytes = 4}, two = one;
  two.data = (float[]){2};
  const OnnxValue items[] = {{.kind = ONNX_TYPE_TENSOR, .tensor = &one}, {.kind = ONNX_TYPE_TENSOR, .tensor = &two}};
  const OnnxValue reversed[] = {items[1], items[0]};
  OnnxValue x = {.kind = ONNX_TYPE_MAP, .key_type = 7, .keys = (int64_t[]){10, 20}, .n_keys = 2, .items = items, .n_items = 2}, y = x;
  y.keys = (int64_t[]){20, 10};
  assert_false(compare(a, &x, &y, 0, 0).ok);
  y.items = reversed;
  assert_true(compare(a, &x, &y, 0, 0).ok);
  y.keys = (int64_t[]){20, 11};
  assert_non_null(strstr(compare(a, &x, &y, 0, 0).why.ptr, "11"));
  y.n_keys = y.n_items = 1;
  assert_false(compare(a, &x, &y, 0, 0).ok);
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(float_rule), cmocka_unit_test(exact_types), cmocka_unit_test(maps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
