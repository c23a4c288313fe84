#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"

static void map_keeps_insertion_order(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  Map m = map_new(a);
  for (int i = 0; i < 1000; i++) map_put(&m, arena_printf(a, "k%d", (i * 7919) % 1000), NEW(a, int));
  assert_int_equal(m.entries.n, 1000);
  for (size_t i = 0; i < 1000; i++) {
    Str want = arena_printf(a, "k%d", (int)((i * 7919) % 1000));
    assert_true(str_eq(m.entries.data[i].key, want));
    assert_ptr_equal(map_get(&m, want), m.entries.data[i].value);
  }
  assert_false(map_has(&m, STR("absent")));
  arena_free(a);
}

static void arena_limit_leaves_through_the_door(void **state) {
  (void)state;
  Door door;
  Arena *volatile a = NULL;
  if (setjmp(door.env) == 0) {
    a = arena_new(&door, 1 << 20);
    for (;;) (void)arena_alloc(a, 1000);
  }
  assert_int_equal(door.reason, DOOR_MEMORY);
  arena_free(a);
}

static void division_rounds_down(void **state) {
  (void)state;
  assert_int_equal(i64_floordiv(-7, 2), -4);
  assert_int_equal(i64_floormod(-7, 2), 1);
  assert_int_equal(i64_floordiv(INT64_MIN, -1), INT64_MAX);
}

static void escapes_hostile_bytes(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  StrBuf b = sb_new(a);
  sb_escaped(&b, (Str){"a\"\n\0\xff\xe2\x80\xae\xc3\xa9", 10}, 100);
  assert_string_equal(b.data, "a\\\"\\n\\x00\\xff\\xe2\\x80\\xae\xc3\xa9");
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(map_keeps_insertion_order),
      cmocka_unit_test(arena_limit_leaves_through_the_door),
      cmocka_unit_test(division_rounds_down),
      cmocka_unit_test(escapes_hostile_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
