#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protobuf.h"

/* A small model with a bit of everything: Conv-like node, attributes, initializer, typed input. */
static Str small_model(Arena *a) {
  StrBuf dim = sb_new(a), shape = sb_new(a), tensor = sb_new(a), type = sb_new(a), input = sb_new(a);
  pb_text(&dim, 2, "batch");
  pb_message(&shape, 1, &dim);
  pb_int(&tensor, 1, 1);
  pb_message(&tensor, 2, &shape);
  pb_message(&type, TYPE_TENSOR, &tensor);
  pb_text(&input, VALUE_NAME, "x");
  pb_message(&input, VALUE_TYPE, &type);

  StrBuf attr = sb_new(a), node = sb_new(a), weight = sb_new(a), graph = sb_new(a), opset = sb_new(a), m = sb_new(a);
  pb_text(&attr, ATTR_NAME, "axes");
  pb_bytes(&attr, ATTR_INTS, STR("\x01\xac\x02")); /* packed 1, 300 */
  pb_int(&attr, ATTR_TYPE, ONNX_ATTR_INTS);
  pb_text(&node, NODE_INPUT, "x");
  pb_text(&node, NODE_INPUT, "w");
  pb_text(&node, NODE_OP, "Add");
  pb_message(&node, NODE_ATTR, &attr);
  pb_int(&weight, TENSOR_DIMS, 2);
  pb_int(&weight, TENSOR_TYPE, 3);
  pb_text(&weight, TENSOR_NAME, "w");
  pb_bytes(&weight, TENSOR_RAW, STR("ab"));
  pb_message(&graph, GRAPH_NODE, &node);
  pb_text(&graph, GRAPH_NAME, "g");
  pb_message(&graph, GRAPH_INITIALIZER, &weight);
  pb_message(&graph, GRAPH_INPUT, &input);
  pb_int(&opset, 2, 17);
  pb_int(&m, MODEL_IR, 8);
  pb_message(&m, MODEL_OPSET, &opset);
  pb_message(&m, MODEL_GRAPH, &graph);
  return sb_view(&m);
}

static void reads_a_small_model(void **state) {
  (void)state;
  Bench *b = bench_new();
  Str bytes = small_model(b->a);
  const OnnxModel *m = bench_load(b, bytes);
  assert_non_null(m);
  assert_int_equal(m->opsets[0].version, 17);
  assert_null(m->opsets[0].domain.ptr);
  assert_int_equal(m->n_files, 1);
  assert_int_equal(m->file.len, bytes.len);
  const OnnxNode *n = &m->graph->nodes[0];
  assert_int_equal(n->n_inputs, 2);
  assert_true(str_is(n->inputs[1], "w"));
  assert_int_equal(n->attrs[0].n_ints, 2);
  assert_int_equal(n->attrs[0].ints[1], 300);
  const OnnxTensor *w = &m->graph->initializers[0];
  assert_memory_equal(w->data, "ab", 2);
  assert_in_range((uintptr_t)w->data, (uintptr_t)m->file.ptr, (uintptr_t)m->file.ptr + m->file.len);
  const OnnxType *t = m->graph->inputs[0].type;
  assert_int_equal(t->kind, ONNX_TYPE_TENSOR);
  assert_int_equal(t->dims[0].kind, ONNX_DIM_PARAM);
  assert_true(str_is(t->dims[0].param, "batch"));
  bench_free(b);
}

/* Cut anywhere, a file is refused or still a whole message; changed anywhere, nothing breaks. */
static void survives_cuts_and_changes(void **state) {
  (void)state;
  Bench *b = bench_new();
  Str bytes = small_model(b->a);
  for (size_t n = 0; n < bytes.len; n++) {
    const OnnxModel *m = bench_load(b, (Str){bytes.ptr, n});
    assert_true((m != NULL) == (b->d.list.n == 0));
  }
  for (size_t i = 0; i < bytes.len; i++) {
    for (unsigned bit = 0; bit < 8; bit++) {
      char *copy = arena_dup(b->a, bytes.ptr, bytes.len);
      copy[i] = (char)(copy[i] ^ (1 << bit));
      const OnnxModel *m = bench_load(b, (Str){copy, bytes.len});
      assert_true((m != NULL) == (b->d.list.n == 0));
    }
  }
  bench_free(b);
}

static const OnnxAttr *load_attr(Bench *b, const StrBuf *attr) {
  StrBuf node = sb_new(b->a), graph = sb_new(b->a);
  pb_message(&node, NODE_ATTR, attr);
  pb_message(&graph, GRAPH_NODE, &node);
  const OnnxModel *m = bench_load(b, pb_model(b->a, &graph));
  return m ? &m->graph->nodes[0].attrs[0] : NULL;
}

static void reads_packed_and_unpacked_lists(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf attr = sb_new(b->a);
  pb_int(&attr, ATTR_INTS, 5);
  pb_bytes(&attr, ATTR_INTS, STR(""));
  pb_bytes(&attr, ATTR_INTS, STR("\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")); /* 6, -1 */
  pb_int(&attr, ATTR_INTS, (uint64_t)INT64_MIN);
  pb_varint(&attr, ATTR_FLOATS << 3 | 5);
  sb_put(&attr, "\0\0\x80\x3f", 4); /* 1.0f */
  pb_bytes(&attr, ATTR_FLOATS, (Str){"\0\0\0\x40\0\0\x40\x40", 8});
  const OnnxAttr *a = load_attr(b, &attr);
  assert_non_null(a);
  assert_int_equal(a->n_ints, 4);
  assert_true(a->ints[0] == 5 && a->ints[1] == 6 && a->ints[2] == -1 && a->ints[3] == INT64_MIN);
  assert_int_equal(a->n_floats, 3);
  assert_true(a->floats[0] == 1 && a->floats[1] == 2 && a->floats[2] == 3);
  assert_int_equal(a->type, ONNX_ATTR_UNDEFINED); /* none given, and two values: nothing to infer */

  const Str bad[] = {STR("\x80"), STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
                     STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")};
  for (size_t i = 0; i < 3; i++) { /* cut, over 64 bits, over ten bytes */
    attr = sb_new(b->a);
    pb_bytes(&attr, ATTR_INTS, bad[i]);
    assert_null(load_attr(b, &attr));
    expect_code(b, DIAG_E0101);
  }
  attr = sb_new(b->a);
  pb_bytes(&attr, ATTR_FLOATS, STR("abcde"));
  assert_null(load_attr(b, &attr));
  expect_code(b, DIAG_E0101);
  bench_free(b);
}

static void infers_the_type_that_version_1_leaves_out(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf attr = sb_new(b->a);
  pb_int(&attr, ATTR_I, 3);
  const OnnxAttr *a = load_attr(b, &attr);
  assert_true(a && a->type == ONNX_ATTR_INT && !a->has_type && a->i == 3);
  bench_free(b);
}

static void skips_unknown_fields(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf m = sb_new(b->a);
  pb_int(&m, 65536 + MODEL_IR, 99); /* must not be taken for field 1 */
  pb_text(&m, 536870911, "the largest tag");
  pb_varint(&m, 100 << 3 | 1);
  sb_put(&m, "12345678", 8);
  pb_varint(&m, 101 << 3 | 5);
  sb_put(&m, "1234", 4);
  sb_str(&m, small_model(b->a));
  const OnnxModel *o = bench_load(b, sb_view(&m));
  assert_true(o && o->ir_version == 8);
  bench_free(b);
}

static void keeps_the_last_string_and_refuses_a_second_message(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf graph = sb_new(b->a), m = sb_new(b->a), dim = sb_new(b->a), shape = sb_new(b->a), t = sb_new(b->a);
  pb_text(&graph, GRAPH_NAME, "first");
  pb_text(&graph, GRAPH_NAME, "last");
  const OnnxModel *o = bench_load(b, pb_model(b->a, &graph));
  assert_true(o && str_is(o->graph->name, "last"));

  pb_int(&m, MODEL_IR, 8);
  pb_message(&m, MODEL_GRAPH, &graph);
  pb_message(&m, MODEL_GRAPH, &graph);
  assert_null(bench_load(b, sb_view(&m)));
  expect_code(b, DIAG_E0101);

  pb_int(&dim, 1, 3); /* a dimension with value and name */
  pb_text(&dim, 2, "n");
  pb_message(&shape, 1, &dim);
  pb_message(&t, 2, &shape);
  StrBuf type = sb_new(b->a), value = sb_new(b->a), g = sb_new(b->a);
  pb_message(&type, TYPE_TENSOR, &t);
  pb_message(&value, VALUE_TYPE, &type);
  pb_message(&g, GRAPH_INPUT, &value);
  assert_null(bench_load(b, pb_model(b->a, &g)));
  expect_code(b, DIAG_E0101);

  StrBuf empty = sb_new(b->a), two = sb_new(b->a); /* a type that is a tensor and a sequence */
  pb_message(&two, TYPE_TENSOR, &empty);
  pb_message(&two, TYPE_SEQUENCE, &empty);
  value = sb_new(b->a), g = sb_new(b->a);
  pb_message(&value, VALUE_TYPE, &two);
  pb_message(&g, GRAPH_INPUT, &value);
  assert_null(bench_load(b, pb_model(b->a, &g)));
  expect_code(b, DIAG_E0101);
  bench_free(b);
}

/* OptionalProto in OptionalProto, n levels in all. */
static Str nested_optional(Arena *a, size_t n) {
  Str s = {"", 0};
  for (size_t i = 1; i < n; i++) {
    StrBuf b = sb_new(a);
    pb_bytes(&b, 7, s);
    s = sb_view(&b);
  }
  return s;
}

static void limits_nesting(void **state) {
  (void)state;
  Bench *b = bench_new();
  const char *fits = bench_write(b, "fits.pb", nested_optional(b->a, 100));
  assert_non_null(onnx_load_value(b->a, &b->d, fits, ONNX_TYPE_OPTIONAL));
  const char *deep = bench_write(b, "deep.pb", nested_optional(b->a, 101));
  assert_null(onnx_load_value(b->a, &b->d, deep, ONNX_TYPE_OPTIONAL));
  expect_code(b, DIAG_E0102);

  Str graph = {"", 0};
  for (int i = 0; i < 3000; i++) {
    StrBuf attr = sb_new(b->a), node = sb_new(b->a), g = sb_new(b->a);
    pb_bytes(&attr, ATTR_G, graph);
    pb_message(&node, NODE_ATTR, &attr);
    pb_message(&g, GRAPH_NODE, &node);
    graph = sb_view(&g);
  }
  StrBuf m = sb_new(b->a);
  pb_int(&m, MODEL_IR, 8);
  pb_bytes(&m, MODEL_GRAPH, graph);
  assert_null(bench_load(b, sb_view(&m)));
  expect_code(b, DIAG_E0102);
  bench_free(b);
}

/* Two bytes a node in the file are over a hundred in memory. */
static void keeps_the_memory_budget(void **state) {
  (void)state;
  Bench *b = bench_new();
  StrBuf graph = sb_new(b->a);
  for (int i = 0; i < 1000000; i++) sb_put(&graph, "\x0a\0", 2);
  size_t before = arena_used(b->a);
  Str model = pb_model(b->a, &graph);
  assert_null(bench_load(b, model));
  expect_code(b, DIAG_E0502);
  assert_true(arena_used(b->a) - before < (48u << 20) + 8 * model.len); /* the test's own copies included */
  bench_free(b);
}

static void refuses_what_is_no_model(void **state) {
  (void)state;
  Bench *b = bench_new();
  const Str foreign[] = {STR(""), STR("hello"), STR("\x7f" "ELF\2\1\1"), STR("{\"json\": 1}"), STR("\x08\x08"),
                         STR("\x0b\x0c"), STR("\x3a\xff\xff\xff\xff\x0f"), STR("\x00\x00")};
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    assert_null(bench_load(b, foreign[i]));
    expect_code(b, DIAG_E0101);
  }
  StrBuf m = sb_new(b->a), g = sb_new(b->a);
  pb_message(&m, MODEL_GRAPH, &g);
  assert_null(bench_load(b, sb_view(&m)));
  expect_code(b, DIAG_E0105);
  pb_int(&m, MODEL_IR, 1000);
  assert_null(bench_load(b, sb_view(&m)));
  expect_code(b, DIAG_E0105);
  bench_free(b);
}

static void refuses_what_is_no_file(void **state) {
  (void)state;
  Bench *b = bench_new();
  assert_int_equal(mkfifo(bench_path(b, "fifo"), 0600), 0);
  const char *const paths[] = {b->dir, bench_path(b, "fifo"), bench_path(b, "missing"), "", "/dev/null"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    b->d.list.n = 0;
    assert_null(onnx_load_model(b->a, &b->d, paths[i], NULL));
    expect_code(b, DIAG_E0002);
  }
  bench_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_a_small_model),
      cmocka_unit_test(survives_cuts_and_changes),
      cmocka_unit_test(reads_packed_and_unpacked_lists),
      cmocka_unit_test(infers_the_type_that_version_1_leaves_out),
      cmocka_unit_test(skips_unknown_fields),
      cmocka_unit_test(keeps_the_last_string_and_refuses_a_second_message),
      cmocka_unit_test(limits_nesting),
      cmocka_unit_test(keeps_the_memory_budget),
      cmocka_unit_test(refuses_what_is_no_model),
      cmocka_unit_test(refuses_what_is_no_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
