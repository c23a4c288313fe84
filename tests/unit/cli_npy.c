/* .npy files: what is written is read back, for every type; damaged and foreign ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/npy.h"
#include "ir/dtype.h"

typedef struct Room {
  Arena *a;
  Diags d;
  char path[64];
} Room;

static Room room_new(void) {
  Room r = {.a = arena_new(NULL, 0), .path = "/tmp/castnet-unit-XXXXXX"};
  int fd = mkstemp(r.path);
  assert_true(fd >= 0);
  (void)close(fd);
  r.d.arena = r.a;
  return r;
}

static void room_free(Room *r) {
  (void)unlink(r->path);
  arena_free(r->a);
}

static void round_trips(void **state) {
  (void)state;
  static const DType types[] = {DT_f16, DT_f32, DT_f64, DT_s8, DT_s16, DT_s32, DT_s64, DT_u8,  DT_u16,
                                DT_u32, DT_u64, DT_b1,  DT_c64, DT_c128, DT_bf16, DT_f8e4m3fn};
  static const unsigned char bytes[96] = {0, 1, 2, 3, 0xff, 0x80};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    Room r = room_new();
    OnnxTensor t = {.data_type = dtype_rows[types[i]].onnx, .n_dims = 2, .dims = (int64_t[]){2, 3}, .n_elements = 6, .data = bytes};
    assert_true(dtype_bytes(types[i], 6, &t.data_bytes));
    assert_true(npy_write(r.a, &r.d, r.path, &t));
    const OnnxTensor *back = npy_read(r.a, &r.d, r.path, t.data_type);
    assert_non_null(back);
    assert_int_equal(back->data_type, t.data_type);
    assert_int_equal(back->n_dims, 2);
    assert_int_equal(back->dims[1], 3);
    assert_int_equal(back->data_bytes, t.data_bytes);
    assert_memory_equal(back->data, bytes, t.data_bytes);
    room_free(&r);
  }
}

/* As NumPy wrote it: np.save(f, np.arange(3, dtype='<i2')), a scalar, and version 2 of the format. */
static void written_by_numpy(void **state) {
  (void)state;
  static const struct {
    const char *head, *descr;
    size_t rank;
  } cases[] = {
      {"\x93NUMPY\x01\x00\x76", "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }", 1},
      {"\x93NUMPY\x01\x00\x76", "{'descr': '<i2', 'fortran_order': False, 'shape': (), }", 0},
      {"\x93NUMPY\x02\x00\x76", "{'descr': '<i2', 'fortran_order': True, 'shape': (3,), }", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Room r = room_new();
    StrBuf b = sb_new(r.a);
    sb_put(&b, cases[i].head, 9);
    sb_put(&b, "\0\0\0", cases[i].head[6] == 1 ? 1 : 3);
    sb_printf(&b, "%-117s\n", cases[i].descr);
    sb_put(&b, "\0\0\1\0\2\0", 6);
    assert_true(file_write(r.a, &r.d, r.path, sb_view(&b)));
    const OnnxTensor *t = npy_read(r.a, &r.d, r.path, 0);
    assert_non_null(t);
    assert_int_equal(t->n_dims, cases[i].rank);
    assert_int_equal(t->data_type, dtype_rows[DT_s16].onnx);
    assert_memory_equal(t->data, "\0\0\1\0\2\0", cases[i].rank ? 6 : 2);
    room_free(&r);
  }
}

static void refusals(void **state) {
  (void)state;
  static const char *const descrs[] = {
      "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }", "{'descr': '<i2', 'fortran_order': True, 'shape': (1, 3), }",
      "{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }", "{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (-3,), }", "{'descr': '<i2', 'fortran_order': False, 'shape': (3, }",
      "{'descr': '<i2', 'shape': (3,), }", "{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 16), }", "", "{",
  };
  for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
    Room r = room_new();
    StrBuf b = sb_new(r.a);
    sb_put(&b, "\x93NUMPY\x01\x00\x76", 10);
    sb_printf(&b, "%-117s\n", descrs[i]);
    sb_put(&b, "\0\0\1\0\2\0", 6);
    assert_true(file_write(r.a, &r.d, r.path, sb_view(&b)));
    assert_null(npy_read(r.a, &r.d, r.path, 0));
    assert_int_equal(r.d.list.n, 1);
    assert_int_equal(r.d.list.data[0].code, DIAG_E0601);
    for (size_t n = 0; n < 130; n += 3) { /* cut anywhere */
      assert_true(file_write(r.a, &r.d, r.path, (Str){b.data, n}));
      assert_null(npy_read(r.a, &r.d, r.path, 0));
    }
    room_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips), cmocka_unit_test(written_by_numpy), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
