#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protobuf.h"

/* TensorProto.DataType */
enum { FLOAT = 1, UINT8 = 2, INT8 = 3, INT64 = 7, STRING = 8, FLOAT16 = 10, UINT32 = 12, COMPLEX64 = 14, INT4 = 22 };

static StrBuf tensor_new(Arena *a, uint64_t type, size_t n_dims, const int64_t *dims) {
  StrBuf t = sb_new(a);
  for (size_t i = 0; i < n_dims; i++) pb_int(&t, TENSOR_DIMS, (uint64_t)dims[i]);
  pb_int(&t, TENSOR_TYPE, type);
  pb_text(&t, TENSOR_NAME, "t");
  return t;
}

#define TENSOR(type, ...) \
  tensor_new(b->a, type, sizeof((int64_t[]){0, __VA_ARGS__}) / 8 - 1, (int64_t[]){0, __VA_ARGS__} + 1)

static void converts_typed_fields(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf t = TENSOR(FLOAT16, 3); /* packed and unpacked: 0x3c00, 1, 0xffff */
  pb_bytes(&t, TENSOR_INT32S, STR("\x80\x78\x01"));
  pb_int(&t, TENSOR_INT32S, 0xffff);
  const OnnxTensor *o = bench_tensor(b, &t);
  assert_true(o && o->n_elements == 3 && o->data_bytes == 6 && !o->has_raw);
  assert_memory_equal(o->data, "\x00\x3c\x01\x00\xff\xff", 6);

  t = TENSOR(INT8, 2); /* -1 takes ten bytes */
  pb_int(&t, TENSOR_INT32S, UINT64_MAX);
  pb_int(&t, TENSOR_INT32S, 7);
  o = bench_tensor(b, &t);
  assert_true(o && o->data_bytes == 2);
  assert_memory_equal(o->data, "\xff\x07", 2);

  t = TENSOR(INT4, 3); /* two in an entry, low bits first */
  pb_bytes(&t, TENSOR_INT32S, STR("\x21\x03"));
  o = bench_tensor(b, &t);
  assert_true(o && o->n_elements == 3 && o->data_bytes == 2);
  assert_memory_equal(o->data, "\x21\x03", 2);

  t = TENSOR(UINT32, 1);
  pb_int(&t, TENSOR_UINT64S, 0xfffffffe);
  o = bench_tensor(b, &t);
  assert_true(o && o->data_bytes == 4);
  assert_memory_equal(o->data, "\xfe\xff\xff\xff", 4);

  t = TENSOR(INT64, 1);
  pb_int(&t, TENSOR_INT64S, (uint64_t)INT64_MIN);
  o = bench_tensor(b, &t);
  assert_true(o && o->data_bytes == 8);
  assert_memory_equal(o->data, "\0\0\0\0\0\0\0\x80", 8);
  bench_free(b);
}

static bool in_model(const OnnxModel *m, const OnnxTensor *t) {
  return (uintptr_t)t->data >= (uintptr_t)m->file.ptr && (uintptr_t)t->data < (uintptr_t)m->file.ptr + m->file.len;
}

/* One packed run of floats has the bytes that raw data has. */
static void points_at_packed_floats(void **state) {
  (void)state;
  Bench *b = bench_new();
  Str run = {"\0\0\x80\x3f\0\0\0\x40", 8};
  StrBuf one = TENSOR(FLOAT, 2), two = TENSOR(FLOAT, 4), complex = TENSOR(COMPLEX64, 1), graph = sb_new(b->a);
  pb_bytes(&one, TENSOR_FLOATS, run);
  pb_bytes(&one, TENSOR_FLOATS, STR("")); /* an empty run changes nothing */
  pb_bytes(&two, TENSOR_FLOATS, run);
  pb_bytes(&two, TENSOR_FLOATS, run);
  pb_bytes(&complex, TENSOR_FLOATS, run);
  pb_message(&graph, GRAPH_INITIALIZER, &one);
  pb_message(&graph, GRAPH_INITIALIZER, &two);
  pb_message(&graph, GRAPH_INITIALIZER, &complex);
  const OnnxModel *m = bench_load(b, pb_model(b->a, &graph));
  assert_non_null(m);
  const OnnxTensor *t = m->graph->initializers;
  assert_true(in_model(m, &t[0]) && !in_model(m, &t[1]) && in_model(m, &t[2]));
  assert_memory_equal(t[0].data, run.ptr, 8);
  assert_int_equal(t[1].data_bytes, 16);
  assert_memory_equal((const char *)t[1].data + 8, run.ptr, 8);
  assert_int_equal(t[2].n_elements, 1);
  bench_free(b);
}

static void accepts_scalars_and_empty_tensors(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf t = tensor_new(b->a, UINT8, 0, NULL);
  pb_bytes(&t, TENSOR_RAW, STR("x"));
  const OnnxTensor *o = bench_tensor(b, &t);
  assert_true(o && o->n_elements == 1 && o->n_dims == 0);
  t = TENSOR(FLOAT, INT64_MAX, INT64_MAX, 0); /* no element, whatever the others say */
  o = bench_tensor(b, &t);
  assert_true(o && o->n_elements == 0 && o->data_bytes == 0);
  t = TENSOR(STRING, 2);
  pb_text(&t, TENSOR_STRINGS, "");
  pb_bytes(&t, TENSOR_STRINGS, (Str){"a\0b", 3});
  o = bench_tensor(b, &t);
  assert_true(o && o->n_strings == 2 && o->strings[0].len == 0 && o->strings[1].len == 3 && !o->data);
  bench_free(b);
}

static void refuses_data_that_does_not_fit(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf bad[] = {TENSOR(FLOAT, -1),       TENSOR(FLOAT, INT64_MAX, 2), TENSOR(FLOAT, 1L << 32, 1L << 31),
                  TENSOR(FLOAT, 2),        TENSOR(0, 1),                TENSOR(99, 1),
                  TENSOR(UINT8, 2),        TENSOR(UINT8, 1),            TENSOR(UINT8, 1),
                  TENSOR(STRING, 2),       TENSOR(STRING, 1),           TENSOR(UINT8, 1),
                  TENSOR((uint64_t)-1, 1), TENSOR(UINT32, 1)};
  StrBuf segment = sb_new(b->a);
  pb_int(&segment, 1, 0);
  pb_bytes(&bad[6], TENSOR_RAW, STR("abc"));   /* a byte too many */
  pb_bytes(&bad[7], TENSOR_RAW, STR("a"));     /* given twice */
  pb_int(&bad[7], TENSOR_INT32S, 1);
  pb_bytes(&bad[8], TENSOR_FLOATS, STR("abcd")); /* in the wrong field */
  pb_text(&bad[9], TENSOR_STRINGS, "one");
  pb_bytes(&bad[10], TENSOR_RAW, STR("a"));
  pb_bytes(&bad[11], TENSOR_RAW, STR("a"));
  pb_message(&bad[11], TENSOR_SEGMENT, &segment);
  pb_int(&bad[13], TENSOR_INT32S, 1); /* unsigned ones belong in uint64_data */
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_null(bench_tensor(b, &bad[i]));
    expect_code(b, DIAG_E0103);
  }
  bench_free(b);
}

/* All bad tensors are named, up to a limit. */
static void names_every_bad_tensor(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf graph = sb_new(b->a), t = TENSOR(FLOAT, 1);
  for (int i = 0; i < 3; i++) pb_message(&graph, GRAPH_INITIALIZER, &t);
  assert_null(bench_load(b, pb_model(b->a, &graph)));
  assert_int_equal(b->d.list.n, 3);
  for (int i = 0; i < 1000; i++) pb_message(&graph, GRAPH_INITIALIZER, &t);
  assert_null(bench_load(b, pb_model(b->a, &graph)));
  assert_in_range(b->d.list.n, 100, 101);
  bench_free(b);
}

static void reads_sparse_tensors_whole(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf values = TENSOR(UINT8, 1), indices = TENSOR(INT64, 1), sparse = sb_new(b->a), graph = sb_new(b->a);
  pb_bytes(&values, TENSOR_RAW, STR("v"));
  pb_int(&indices, TENSOR_INT64S, 5);
  pb_message(&sparse, 1, &values);
  StrBuf half = sb_new(b->a);
  sb_str(&half, sb_view(&sparse));
  pb_message(&sparse, 2, &indices);
  pb_int(&sparse, 3, 10);
  pb_message(&graph, GRAPH_SPARSE, &sparse);
  const OnnxModel *m = bench_load(b, pb_model(b->a, &graph));
  assert_non_null(m);
  assert_int_equal(m->graph->sparse_initializers[0].dims[0], 10);
  assert_true(str_is(m->graph->sparse_initializers[0].values->name, "t"));
  pb_message(&graph, GRAPH_SPARSE, &half);
  assert_null(bench_load(b, pb_model(b->a, &graph)));
  expect_code(b, DIAG_E0103);
  bench_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(converts_typed_fields),
      cmocka_unit_test(points_at_packed_floats),
      cmocka_unit_test(accepts_scalars_and_empty_tensors),
      cmocka_unit_test(refuses_data_that_does_not_fit),
      cmocka_unit_test(names_every_bad_tensor),
      cmocka_unit_test(reads_sparse_tensors_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
