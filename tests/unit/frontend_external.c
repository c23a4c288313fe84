#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protobuf.h"

static void add_entry(StrBuf *tensor, const char *key, Str value) {
  StrBuf e = sb_new(tensor->arena);
  pb_text(&e, 1, key);
  pb_bytes(&e, 2, value);
  pb_message(tensor, TENSOR_EXTERNAL, &e);
}

/* A tensor of 4 bytes in a file; NULL leaves an entry out. */
static StrBuf external_tensor(Arena *a, Str location, const char *offset, const char *length) {
  StrBuf t = sb_new(a);
  pb_int(&t, TENSOR_DIMS, 4);
  pb_int(&t, TENSOR_TYPE, 2);
  if (location.ptr) add_entry(&t, "location", location);
  if (offset) add_entry(&t, "offset", str_c(offset));
  if (length) add_entry(&t, "length", str_c(length));
  pb_int(&t, TENSOR_LOCATION, 1);
  return t;
}

static const OnnxModel *load_external(Bench *b, Str location, const char *offset, const char *length, bool links) {
  StrBuf graph = sb_new(b->a), t = external_tensor(b->a, location, offset, length);
  pb_message(&graph, GRAPH_INITIALIZER, &t);
  b->d.list.n = 0;
  const char *path = bench_write(b, "model.onnx", pb_model(b->a, &graph));
  return onnx_load_model(b->a, &b->d, path, &(OnnxLoadOptions){.allow_symlinks = links});
}

static Bench *bench_with_files(void) {
  Bench *b = bench_new();
  assert_int_equal(mkdir(bench_path(b, "sub"), 0700), 0);
  (void)bench_write(b, "w.bin", STR("0123456789"));
  (void)bench_write(b, "sub/w.bin", STR("abcdefghij"));
  (void)bench_write(b, "empty.bin", STR(""));
  assert_int_equal(symlink("w.bin", bench_path(b, "link.bin")), 0);
  assert_int_equal(symlink("sub", bench_path(b, "linked")), 0);
  assert_int_equal(mkfifo(bench_path(b, "fifo"), 0600), 0);
  return b;
}

static void reads_what_lies_inside(void **state) {
  (void)state;
  Bench *b = bench_with_files();
  const struct {
    const char *location, *offset, *length, *want;
  } good[] = {{"w.bin", NULL, NULL, "0123"},         {"w.bin", "6", "4", "6789"},     {"./w.bin", "0", NULL, "0123"},
              {"sub/w.bin", "1", "4", "bcde"},       {"sub//./w.bin", NULL, "4", "abcd"}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    const OnnxModel *m = load_external(b, str_c(good[i].location), good[i].offset, good[i].length, false);
    assert_non_null(m);
    const OnnxTensor *t = &m->graph->initializers[0];
    assert_true(t->external && t->data_bytes == 4);
    assert_memory_equal(t->data, good[i].want, 4);
    assert_int_equal(m->n_files, 2);
  }
  assert_non_null(load_external(b, STR("link.bin"), NULL, NULL, true));
  assert_non_null(load_external(b, STR("linked/w.bin"), NULL, NULL, true));
  bench_free(b);
}

static void maps_each_file_once(void **state) {
  (void)state;
  Bench *b = bench_with_files();
  StrBuf graph = sb_new(b->a);
  const char *const locations[] = {"w.bin", "./w.bin", "sub/w.bin", "w.bin"};
  for (size_t i = 0; i < 4; i++) {
    StrBuf t = external_tensor(b->a, str_c(locations[i]), "1", NULL);
    pb_message(&graph, GRAPH_INITIALIZER, &t);
  }
  const OnnxModel *m = bench_load(b, pb_model(b->a, &graph));
  assert_non_null(m);
  assert_int_equal(m->n_files, 3);
  assert_true(str_is(m->files[0], bench_path(b, "model.onnx")));
  assert_true(str_is(m->files[1], bench_path(b, "w.bin")));
  assert_true(str_is(m->files[2], bench_path(b, "sub/w.bin")));
  assert_ptr_equal(m->graph->initializers[0].data, m->graph->initializers[3].data);
  bench_free(b);
}

static void refuses_the_rest(void **state) {
  (void)state;
  Bench *b = bench_with_files();
  const Str outside = arena_printf(b->a, "../%s/w.bin", strrchr(b->dir, '/') + 1);
  const Str absolute = arena_printf(b->a, "%s/w.bin", b->dir);
  const struct {
    Str location;
    const char *offset, *length;
  } bad[] = {{{0}, NULL, NULL},
             {STR(""), NULL, NULL},
             {STR("."), NULL, NULL},
             {STR("sub"), NULL, NULL},
             {STR("sub/"), NULL, NULL},
             {STR("missing.bin"), NULL, NULL},
             {STR("w.bin/w.bin"), NULL, NULL},
             {STR("sub/../w.bin"), NULL, NULL},
             {outside, NULL, NULL},
             {absolute, NULL, NULL},
             {{"w.bin\0x", 7}, NULL, NULL},
             {STR("link.bin"), NULL, NULL},
             {STR("linked/w.bin"), NULL, NULL},
             {STR("fifo"), NULL, NULL},
             {STR("empty.bin"), NULL, NULL},
             {STR("w.bin"), "7", NULL},
             {STR("w.bin"), "11", NULL},
             {STR("w.bin"), "18446744073709551615", NULL},
             {STR("w.bin"), "18446744073709551616", NULL},
             {STR("w.bin"), "-1", NULL},
             {STR("w.bin"), " 1", NULL},
             {STR("w.bin"), "", NULL},
             {STR("w.bin"), "0x1", NULL},
             {STR("w.bin"), "0", "3"},
             {STR("w.bin"), "0", "5"},
             {STR("w.bin"), "0", "four"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_null(load_external(b, bad[i].location, bad[i].offset, bad[i].length, false));
    expect_code(b, DIAG_E0104);
  }
  /* links or not, these stay closed */
  assert_null(load_external(b, outside, NULL, NULL, true));
  assert_null(load_external(b, absolute, NULL, NULL, true));
  assert_null(load_external(b, STR("fifo"), NULL, NULL, true));
  bench_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_lies_inside),
      cmocka_unit_test(maps_each_file_once),
      cmocka_unit_test(refuses_the_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
