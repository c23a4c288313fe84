/* Routines on strings: where new bytes lie, any bytes, a megabyte, nothing at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "scalar_all.h"

#include "ops_all.h"

#define S(text) ((castnet_string){text, sizeof(text) - 1})

static castnet_tensor tensor(void *data, int64_t *dims, uint32_t rank, uint32_t dtype) { return (castnet_tensor){data, dims, rank, dtype, 0}; }

static void assert_string(castnet_string got, castnet_string want) {
  assert_int_equal(got.length, want.length);
  if (want.length) assert_memory_equal(got.ptr, want.ptr, want.length);
}

/* ---- the space ---- */
static void space_grows_downwards_until_it_meets_the_tensors(void **state) {
  (void)state;
  unsigned char ws[100];
  const castnet_env env = {.size = sizeof env};
  size_t needed = 40;
  cn_text t;
  char *p = NULL;
  cn_text_begin(&t, &env, ws, sizeof ws, &needed);
  assert_int_equal(cn_text_new(&t.env, 30, &p), CASTNET_OK);
  assert_ptr_equal(p, ws + 70);
  assert_int_equal(cn_text_new(&t.env, 30, &p), CASTNET_OK);
  assert_ptr_equal(p, ws + 40);
  assert_int_equal(needed, 100);
  assert_int_equal(cn_text_tensors(&t, 20), CASTNET_OK); /* less than an earlier iteration took */
  assert_int_equal(cn_text_tensors(&t, 41), CASTNET_ERR_WORKSPACE);
  assert_int_equal(needed, 101);
}

static void space_asks_for_more_each_time(void **state) {
  (void)state;
  unsigned char ws[100];
  const castnet_env env = {.size = sizeof env};
  size_t needed = 40;
  cn_text t;
  char *p = NULL;
  cn_text_begin(&t, &env, ws, sizeof ws, &needed);
  assert_int_equal(cn_text_new(&t.env, 61, &p), CASTNET_ERR_WORKSPACE);
  assert_int_equal(needed, 101);
  needed = 40;
  cn_text_begin(&t, &env, ws, sizeof ws, &needed);
  assert_int_equal(cn_text_new(&t.env, 60, &p), CASTNET_OK);
  assert_int_equal(cn_text_new(&t.env, 1, &p), CASTNET_ERR_WORKSPACE);
  assert_int_equal(needed, 40 + 61 + 30);
  assert_int_equal(cn_text_new(&t.env, SIZE_MAX - 61, &p), CASTNET_ERR_DIM);
  needed = 0;
  cn_text_begin(&t, &env, NULL, 0, &needed);
  assert_int_equal(cn_text_new(&t.env, 0, &p), CASTNET_OK);
  assert_int_equal(cn_text_new(&t.env, 1, &p), CASTNET_ERR_WORKSPACE);
}

/* ---- routines, in a space of `room` bytes ---- */
static int in_space(castnet_op *op, castnet_tensor *in, size_t n_in, castnet_tensor *out, const castnet_attr *attrs, size_t n_attrs, char *room, size_t size) {
  const castnet_env env = {.size = sizeof env};
  size_t needed = 0;
  cn_text t;
  cn_text_begin(&t, &env, room, size, &needed);
  return op(in, n_in, out, 1, attrs, n_attrs, NULL, 0, &t.env);
}

static void concat_takes_any_bytes(void **state) {
  (void)state;
  enum { MEGABYTE = 1 << 20 };
  char *big = malloc(MEGABYTE), *room = malloc(2 * MEGABYTE + 5);
  assert_non_null(big);
  assert_non_null(room);
  memset(big, 'b', MEGABYTE);
  castnet_string x[] = {S("a\0"), S(""), {big, MEGABYTE}, {NULL, 0}}, y[] = {S("\0c"), S(""), {big, MEGABYTE}, S("\xff")}, z[4];
  int64_t dims[] = {4}, none[] = {0};
  castnet_tensor in[] = {tensor(x, dims, 1, 8), tensor(y, dims, 1, 8)}, out = tensor(z, dims, 1, 8);
  assert_int_equal(in_space(cn_op_string_concat, in, 2, &out, NULL, 0, room, 2 * MEGABYTE + 4), CASTNET_ERR_WORKSPACE);
  assert_int_equal(in_space(cn_op_string_concat, in, 2, &out, NULL, 0, room, 2 * MEGABYTE + 5), CASTNET_OK);
  assert_string(z[0], S("a\0\0c"));
  assert_string(z[1], S(""));
  assert_int_equal(z[2].length, 2 * MEGABYTE);
  assert_memory_equal(z[2].ptr + MEGABYTE, big, MEGABYTE);
  assert_string(z[3], S("\xff"));
  in[0].dims = in[1].dims = out.dims = none;
  assert_int_equal(in_space(cn_op_string_concat, in, 2, &out, NULL, 0, NULL, 0), CASTNET_OK);
  free(big);
  free(room);
}

static void split_counts_what_it_gives(void **state) {
  (void)state;
  castnet_string x[] = {S("a,b"), S(""), {NULL, 0}, S(","), S("\0,\0\0")}, y[10];
  int64_t dims[] = {5}, wide[] = {5, 2}, one[] = {1}, counts[5], most;
  const castnet_attr attrs[] = {{"delimiter", CASTNET_STRING, 1, {.s = S(",")}}, {"maxsplit", CASTNET_INT, 1, {.i = -1}}};
  castnet_tensor in = tensor(x, dims, 1, 8), out[] = {tensor(counts, dims, 1, 7), tensor(&most, one, 1, 7)}, pieces = tensor(y, wide, 2, 8);
  assert_int_equal(cn_op_split_count(&in, 1, out, 2, attrs, 2, NULL, 0, NULL), CASTNET_OK);
  assert_int_equal(most, 2);
  assert_int_equal(counts[0], 2);
  assert_int_equal(counts[2], 1);
  assert_int_equal(cn_op_split(&in, 1, &pieces, 1, attrs, 2, NULL, 0, NULL), CASTNET_OK);
  assert_string(y[1], S("b"));
  assert_string(y[3], S(""));
  assert_string(y[8], S("\0"));
  assert_string(y[9], S("\0\0"));
}

/* ---- characters ---- */
static void utf8_round_trip(void **state) {
  (void)state;
  char p[4];
  size_t bytes;
  for (uint32_t c = 0; c < 0x110000; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const size_t n = cn_utf8_write(c, p);
    assert_int_equal(cn_utf8_write(c, NULL), n);
    assert_int_equal(cn_utf8_read(p, n, &bytes), c);
    assert_int_equal(bytes, n);
    if (n > 1) assert_int_equal(cn_utf8_read(p, n - 1, &bytes), CN_NOT_UTF8 + (unsigned char)p[0]);
  }
  const char *const bad[] = {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_true(cn_utf8_read(bad[i], strlen(bad[i]), &bytes) >= CN_NOT_UTF8);
    assert_int_equal(bytes, 1);
  }
}

static void case_keeps_what_is_no_text(void **state) {
  (void)state;
  char p[64];
  const castnet_string x = S("aB\xff\xc3\0\xc3\xa9\xe1"), want = S("AB\xff\xc3\0\xc3\x89\xe1");
  const size_t n = cn_case_text(CN_TO_UPPER, x, p);
  assert_string((castnet_string){p, n}, want);
  assert_int_equal(cn_case_compare(x, want), 0);
  assert_int_equal(cn_case_compare(S("a"), S("AB")), -1);
  assert_true(cn_case_compare(S("\xff"), S("z")) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(space_grows_downwards_until_it_meets_the_tensors),
      cmocka_unit_test(space_asks_for_more_each_time),
      cmocka_unit_test(concat_takes_any_bytes),
      cmocka_unit_test(split_counts_what_it_gives),
      cmocka_unit_test(utf8_round_trip),
      cmocka_unit_test(case_keeps_what_is_no_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
