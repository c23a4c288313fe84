/* Which items of runtime-lite a text brings along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "backend/bundle.h"

static const BundleChunk chunks[] = {
    {"kernels/k.h", "cn_k", "cn_v cn_step", "string.h", "kernel"},
    {"base.h", "CN_A CN_B", "", "stdint.h", "macros"},
    {"simd/avx2.h", "cn_v", "CN_A", "immintrin.h stdint.h", "vector of avx2"},
    {"simd/scalar.h", "cn_v", "CN_A", "stdint.h", "vector of one"},
    {"simd/scalar.h", "cn_step", "", "stdint.h", "step of one"},
    {"simd/avx512.h", "cn_mask", "", "immintrin.h", "mask of avx512"},
    {"base.h", "cn_broken", "cn_absent", "", "broken"},
};
static const BundleTable table = {chunks, sizeof chunks / sizeof *chunks};

static bool close_of(Arena *a, Diags *d, const char *target, const char *text, Str *ret) {
  Map roots = map_new(a);
  bundle_scan(a, str_c(text), &roots);
  Bundle b = {0};
  bool ok = bundle_close(a, d, &table, target_find(str_c(target)), &roots, &b);
  StrBuf out = sb_new(a);
  for (size_t i = 0; i < b.headers.n; i++) sb_printf(&out, "<%.*s>", STR_ARG(b.headers.data[i]));
  for (size_t i = 0; i < b.chunks.n; i++) sb_printf(&out, " %s;", b.chunks.data[i]->text);
  *ret = sb_view(&out);
  return ok;
}

static void layers_of_the_target_come_first(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  Diags d = {.arena = a};
  Str got;
  assert_true(close_of(a, &d, "x86-64-v3", "cn_k(1) /* cn_broken */ \"cn_broken\" xcn_broken", &got));
  assert_string_equal(got.ptr, "<immintrin.h><stdint.h><string.h> macros; vector of avx2; step of one; kernel;");
  assert_true(close_of(a, &d, "c99", "CN_B + cn_k", &got));
  assert_string_equal(got.ptr, "<stdint.h><string.h> macros; vector of one; step of one; kernel;");
  assert_int_equal(d.list.n, 0);
  arena_free(a);
}

static void missing_names_are_bugs(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  Diags d = {.arena = a};
  Str got;
  assert_false(close_of(a, &d, "x86-64-v3", "cn_mask cn_broken cn_nowhere", &got)); /* cn_mask: another target's layer */
  assert_int_equal(d.list.n, 3);
  for (size_t i = 0; i < d.list.n; i++) assert_int_equal(d.list.data[i].code, DIAG_E0901);
  arena_free(a);
}

/* What the frame of every N.c needs is there for every target. */
static void the_runtime_is_whole(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  Diags d = {.arena = a};
  BundleTable runtime = bundle_runtime();
  for (const Target *const *t = targets; *t; t++) {
    if (strcmp((*t)->language, "c") != 0) continue; /* takes no kernel of C */
    Map roots = map_new(a);
    for (size_t i = 0; i < runtime.n; i++) { /* every common item, with all that it needs */
      const bool tiles = strncmp(runtime.chunks[i].file, "amx/", 4) == 0 && strcmp((*t)->layer, "simd/avx512amx.h") != 0;
      bool layer = tiles || strncmp(runtime.chunks[i].file, "cuda/", 5) == 0;
      for (const Target *const *u = targets; *u; u++) layer |= strcmp((*u)->layer, runtime.chunks[i].file) == 0;
      if (!layer) map_put(&roots, (Str){runtime.chunks[i].defines, strcspn(runtime.chunks[i].defines, " ")}, a);
    }
    Bundle b = {0};
    assert_true(bundle_close(a, &d, &runtime, *t, &roots, &b));
    assert_true(b.chunks.n > 20);
  }
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_of_the_target_come_first),
      cmocka_unit_test(missing_names_are_bugs),
      cmocka_unit_test(the_runtime_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
