/* Dimension expressions: what they are simplified to, and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/dim.h"

typedef struct Fixture {
  Arena *a;
  DimCtx *c;
} Fixture;

static Fixture fixture(void) {
  Fixture f = {.a = arena_new(NULL, 0)};
  f.c = dim_ctx_new(f.a);
  (void)dim_symbol(f.c, STR("h"), 1, INT32_MAX, DIM_FROM_INPUT);
  (void)dim_symbol(f.c, STR("w"), 1, INT32_MAX, DIM_FROM_INPUT);
  return f;
}

static const Dim *read_dim(Fixture *f, const char *text) {
  Str s = str_c(text);
  const Dim *d = dim_parse(f->c, &s);
  assert_non_null(d);
  assert_int_equal(s.len, 0);
  return d;
}

/* The text's expression is `simple`, and both have the value of the operators as written, for all small h and w. */
static void assert_simple(Fixture *f, const char *text, const char *simple, int64_t (*value)(int64_t h, int64_t w)) {
  StrBuf b = sb_new(f->a);
  const Dim *d = read_dim(f, text);
  dim_print(&b, d);
  assert_string_equal(b.data, simple);
  for (int64_t h = 1; h < 30; h++)
    for (int64_t w = 1; w < 30; w++) {
      int64_t v;
      assert_true(dim_eval(d, (const int64_t[]){h, w}, &v));
      assert_int_equal(v, value(h, w));
    }
}

static int64_t padded(int64_t h, int64_t w) { return h + i64_floormod(-h, 4) + w; }
static int64_t padded_twice(int64_t h, int64_t w) { return 3 * (h + 1) + 3 * i64_floormod(-h - 1, 7) + 0 * w; }
static int64_t cut(int64_t h, int64_t w) { return 2 * h - w - 2 * i64_floormod(h, 4) + i64_floormod(w, 8); }
static int64_t apart(int64_t h, int64_t w) { return h + i64_floormod(-w, 4); }
static int64_t nested(int64_t h, int64_t w) { return i64_floormod(-i64_floormod(h, 8) + 3 * i64_floormod(w, 4), 4); }
static int64_t other_base(int64_t h, int64_t w) { return i64_floormod(i64_floormod(h, 6) + w, 4); }

static void multiples(void **state) {
  (void)state;
  Fixture f = fixture();
  assert_simple(&f, "h + mod(-1*mod(h, 4), 4) + w", "w + 4*floordiv(h + 3, 4)", padded);
  assert_simple(&f, "3*h + 3 + 3*mod(-1*h - 1, 7)", "21*floordiv(h, 7) + 21", padded_twice);
  assert_simple(&f, "2*h - w - 2*mod(h, 4) + mod(w, 8)", "8*floordiv(h, 4) - 8*floordiv(w, 8)", cut);
  assert_simple(&f, "h + mod(-1*w, 4)", "h + mod(-1*w, 4)", apart);
  assert_simple(&f, "mod(-1*mod(h, 8) + 3*mod(w, 4), 4)", "mod(-1*h + 3*w, 4)", nested);
  assert_simple(&f, "mod(mod(h, 6) + w, 4)", "mod(w + mod(h, 6), 4)", other_base);
  arena_free(f.a);
}

static void extremes(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"max(h, max(h, w))", "max(h, w)"},
      {"max(max(w, h), max(h, w))", "max(h, w)"},
      {"max(max(h, 3), 5)", "max(h, 5)"},
      {"max(max(h, w), h + w)", "h + w"},                    /* sizes are not negative */
      {"min(min(h, 2*w), w)", "min(h, w)"},
      {"min(max(h, w), min(9, h + w))", "min(h + w, min(max(h, w), 9))"},
      {"max(9, max(mod(w, 4), max(w, h)))", "max(h, max(w, 9))"},
  };
  Fixture f = fixture();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    StrBuf b = sb_new(f.a);
    dim_print(&b, read_dim(&f, rows[i][0]));
    assert_string_equal(b.data, rows[i][1]);
  }
  arena_free(f.a);
}

static void never_above(void **state) {
  (void)state;
  static const struct { const char *a, *b; bool holds; } rows[] = {
      {"min(min(h, 9), 5)", "h", true},
      {"max(min(h + w, 9) - min(w, 9), 0)", "h", true}, /* what a slice from w to h + w of 9 elements leaves */
      {"min(h + w, 9) - min(w, 9)", "h - 1", false},
      {"h", "min(h, 9)", false},
      {"h", "max(h, w)", true},
      {"max(h, w)", "h + w", true},
      {"max(h, w)", "h", false},
  };
  Fixture f = fixture();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(dim_never_above(f.c, read_dim(&f, rows[i].a), read_dim(&f, rows[i].b)), rows[i].holds);
  arena_free(f.a);
}

static void long_text_is_cut(void **state) {
  (void)state;
  Fixture f = fixture();
  char name[] = "\xc3\xa4 0";
  const Dim *d = f.c->zero;
  for (int i = 0; i < 60; i++) {
    name[3] = (char)('A' + i);
    d = dim_add(f.c, d, dim_symbol(f.c, str_c(name), 0, 9, DIM_FROM_INPUT));
    StrBuf whole = sb_new(f.a), part = sb_new(f.a);
    dim_print(&whole, d);
    dim_print_short(&part, d);
    if (whole.len <= 200) assert_string_equal(part.data, whole.data);
    else assert_true(part.len >= 200 && part.len <= 203 && memcmp(part.data, whole.data, part.len - 3) == 0 && (whole.data[part.len - 3] & 0xC0) != 0x80);
  }
  arena_free(f.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiples),
      cmocka_unit_test(extremes),
      cmocka_unit_test(never_above),
      cmocka_unit_test(long_text_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
