/* Writes protobuf by hand, wrong bytes included, and loads it as a file. */
#ifndef CASTNET_TEST_PROTOBUF_H
#define CASTNET_TEST_PROTOBUF_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "frontend/model.h"

static inline void pb_varint(StrBuf *b, uint64_t v) {
  for (; v >= 0x80; v >>= 7) sb_putc(b, (char)(v | 0x80));
  sb_putc(b, (char)v);
}

static inline void pb_int(StrBuf *b, uint64_t tag, uint64_t v) {
  pb_varint(b, tag << 3);
  pb_varint(b, v);
}

static inline void pb_bytes(StrBuf *b, uint64_t tag, Str s) {
  pb_varint(b, tag << 3 | 2);
  pb_varint(b, s.len);
  sb_put(b, s.ptr, s.len);
}

static inline void pb_text(StrBuf *b, uint64_t tag, const char *s) { pb_bytes(b, tag, str_c(s)); }
static inline void pb_message(StrBuf *b, uint64_t tag, const StrBuf *m) { pb_bytes(b, tag, sb_view(m)); }

/* Field numbers of onnx.proto that the tests use. */
enum {
  MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8,
  GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_SPARSE = 15,
  NODE_INPUT = 1, NODE_NAME = 3, NODE_OP = 4, NODE_ATTR = 5,
  ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_T = 5, ATTR_G = 6, ATTR_FLOATS = 7, ATTR_INTS = 8, ATTR_TYPE = 20,
  TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_SEGMENT = 3, TENSOR_FLOATS = 4, TENSOR_INT32S = 5, TENSOR_STRINGS = 6,
  TENSOR_INT64S = 7, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_UINT64S = 11, TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14,
  VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TYPE_SEQUENCE = 4
};

/* A directory of its own for each test, and an arena. */
typedef struct Bench {
  Arena *a;
  Diags d;
  char dir[64];
} Bench;

static inline Bench *bench_new(void) {
  Arena *a = arena_new(NULL, 0);
  Bench *b = NEW(a, Bench);
  b->a = a;
  b->d.arena = a;
  const char *tmp = getenv("TMPDIR");
  (void)snprintf(b->dir, sizeof b->dir, "%.40s/castnet-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  assert_non_null(mkdtemp(b->dir));
  return b;
}

static inline const char *bench_path(Bench *b, const char *name) {
  return arena_printf(b->a, "%s/%s", b->dir, name).ptr;
}

static inline void bench_free(Bench *b) {
  Str command = arena_printf(b->a, "rm -rf '%s'", b->dir);
  assert_int_equal(system(command.ptr), 0);
  arena_free(b->a);
}

static inline const char *bench_write(Bench *b, const char *name, Str s) {
  const char *path = bench_path(b, name);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(s.ptr, 1, s.len, f), s.len);
  assert_int_equal(fclose(f), 0);
  return path;
}

/* A model around a graph. */
static inline Str pb_model(Arena *a, const StrBuf *graph) {
  StrBuf m = sb_new(a);
  pb_int(&m, MODEL_IR, 8);
  pb_message(&m, MODEL_GRAPH, graph);
  return sb_view(&m);
}

static inline const OnnxModel *bench_load(Bench *b, Str model) {
  b->d.list.n = 0;
  return onnx_load_model(b->a, &b->d, bench_write(b, "model.onnx", model), NULL);
}

static inline const OnnxTensor *bench_tensor(Bench *b, const StrBuf *tensor) {
  b->d.list.n = 0;
  return onnx_load_tensor(b->a, &b->d, bench_write(b, "tensor.pb", sb_view(tensor)));
}

static inline void expect_code(const Bench *b, DiagCode code) {
  assert_true(b->d.list.n >= 1);
  assert_string_equal(diag_rows[b->d.list.data[0].code].name, diag_rows[code].name);
}

#endif
