/* Constants of the graph. */
#include "ir/build.h"
#include "ir/build_priv.h"

static Value *add_const(Builder *b, Type t, void *bytes, size_t n, size_t n_bytes) {
  Tensor *data = NEW(b->ir->arena, Tensor);
  *data = (Tensor){.dtype = t.dtype, .n = n, .bytes = bytes, .n_bytes = n_bytes};
  return ir_add_const(b->ir, t, data, (Str){0});
}

Value *build_tensor(Builder *b, DType t, uint32_t rank, const int64_t *dims, const void *bytes) {
  const Dim *d[MAX_RANK];
  size_t n = 1, n_bytes;
  for (uint32_t i = 0; i < rank && i < MAX_RANK; i++) {
    d[i] = bd_const(b, dims[i]);
    if (dims[i] < 0 || !size_mul(n, (size_t)dims[i], &n)) return NULL;
  }
  Type type;
  if (!dtype_bytes(t, n, &n_bytes) || !build_type(b, t, rank, d, &type)) return NULL;
  return add_const(b, type, arena_dup(b->ir->arena, bytes, n_bytes), n, n_bytes);
}

/* The element's bytes, low first, through the expression constants, which know every type's encoding. */
static Value *scalar_bits(Builder *b, DType t, uint64_t bits) {
  unsigned char bytes[8];
  for (unsigned i = 0; i < 8; i++) bytes[i] = (unsigned char)(bits >> 8 * i);
  return build_tensor(b, t, 0, NULL, bytes);
}

static uint64_t double_bits(double v) {
  uint64_t u;
  memcpy(&u, &v, sizeof u);
  return u;
}

static uint32_t float_bits(float v) {
  uint32_t u;
  memcpy(&u, &v, sizeof u);
  return u;
}

Value *build_scalar_f(Builder *b, DType t, double v) {
  if (t == DT_f64) return scalar_bits(b, t, double_bits(v));
  if (t == DT_f32) return scalar_bits(b, t, float_bits((float)v));
  const float f = (float)v;
  uint64_t narrow = 0;
  cast_eval_strip(DT_f32, t, true, &f, &narrow, 1);
  return scalar_bits(b, t, dtype_read_bits(t, &narrow));
}

Value *build_scalar_i(Builder *b, DType t, int64_t v) { return scalar_bits(b, t, (uint64_t)v); }

Value *build_zero(Builder *b, DType t) {
  const unsigned char bytes[16] = {0};
  if (dtype_rows[t].kind != KIND_X) return build_tensor(b, t, 0, NULL, bytes);
  Tensor *data = NEW(b->ir->arena, Tensor);
  *data = (Tensor){.dtype = t, .n = 1, .strings = NEW(b->ir->arena, Str)};
  return ir_add_const(b->ir, type_tensor(b->ir, t, 0, NULL), data, (Str){0});
}

Value *build_ints(Builder *b, const int64_t *v, size_t n) {
  unsigned char *bytes = arena_array(b->ir->arena, n, 8);
  for (size_t k = 0; k < n; k++)
    for (unsigned i = 0; i < 8; i++) bytes[k * 8 + i] = (unsigned char)((uint64_t)v[k] >> 8 * i);
  const int64_t dims[] = {(int64_t)n};
  return build_tensor(b, DT_s64, 1, dims, bytes);
}

Value *build_floats(Builder *b, const float *v, size_t n) {
  const int64_t dims[] = {(int64_t)n};
  return build_tensor(b, DT_f32, 1, dims, tensor_from_host(b->ir->arena, DT_f32, n, v)->bytes);
}

Value *build_dims(Builder *b, const Dim *const *content, size_t n) {
  const Dim *d = bd_const(b, (int64_t)n);
  Type t;
  if (!build_type(b, DT_s64, 1, &d, &t)) return NULL;
  return build_known(b, t, content, n);
}

Value *build_dim_scalar(Builder *b, const Dim *d) {
  Type t;
  if (!build_type(b, DT_s64, 0, NULL, &t)) return NULL;
  return build_known(b, t, &d, 1);
}
