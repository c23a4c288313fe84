/* Sets of files, whole or not at all; make's escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

static void put_twice(FileWriter *w, const void *user) {
  const size_t n = *(const size_t *)user;
  char *block = calloc(n, 1);
  file_put(w, block, n);
  file_put(w, "end", 3);
  free(block);
}

static size_t size_of(Arena *a, const char *dir, const char *name) {
  struct stat st;
  return stat(arena_printf(a, "%s/%s", dir, name).ptr, &st) == 0 ? (size_t)st.st_size : SIZE_MAX;
}

static void writes_text_and_streams(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  Diags d = {.arena = a};
  char dir[] = "/tmp/castnet-files-XXXXXX";
  assert_non_null(mkdtemp(dir));
  const size_t big = 3000000, small = 10;
  FILE *stale = fopen(arena_printf(a, "%s/.castnet-1-0-m.c", dir).ptr, "w");
  assert_non_null(stale);
  assert_int_equal(fclose(stale), 0);
  FileSet s = {.arena = a};
  vec_push(a, s.files, ((OutFile){.name = STR("m.bin"), .write = put_twice, .user = &big}));
  vec_push(a, s.files, ((OutFile){.name = STR("m_small.bin"), .write = put_twice, .user = &small}));
  vec_push(a, s.files, ((OutFile){.name = STR("m.c"), .text = STR("int x;\n")}));
  const char *sub = arena_printf(a, "%s/sub", dir).ptr;
  assert_true(fileset_write(&s, &d, sub));
  assert_true(fileset_write(&s, &d, dir));
  assert_int_equal(size_of(a, dir, "m.bin"), 3000003);
  assert_int_equal(size_of(a, sub, "m_small.bin"), 13);
  assert_int_equal(size_of(a, dir, "m.c"), 7);
  assert_int_equal(size_of(a, dir, ".castnet-1-0-m.c"), SIZE_MAX);
  assert_true(file_write(a, &d, arena_printf(a, "%s/one", dir).ptr, STR("1")));
  assert_int_equal(d.list.n, 0);
  assert_false(fileset_write(&s, &d, "/proc/castnet/none"));
  assert_false(file_write(a, &d, arena_printf(a, "%s/sub", dir).ptr, STR("a folder")));
  assert_int_equal(d.list.n, 2);
  assert_int_equal(diags_exit_code(&d), 4);
  assert_int_equal(system(arena_printf(a, "rm -r %s", dir).ptr), 0);
  arena_free(a);
}

static void depfiles_are_escaped(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  StrBuf b = sb_new(a);
  const Str targets[] = {STR("out/m.h"), STR("out/m.c")}, sources[] = {STR("a b.onnx"), STR("$x#y"), STR("back\\ slash")};
  depfile_print(&b, targets, 2, sources, 3);
  assert_string_equal(b.data, "out/m.h out/m.c: \\\n  a\\ b.onnx \\\n  $$x\\#y \\\n  back\\\\\\ slash\n");
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_text_and_streams),
      cmocka_unit_test(depfiles_are_escaped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
