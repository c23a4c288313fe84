#include "ir/dtype.h"

const DTypeRow dtype_rows[DT_COUNT] = {
    [DT_NONE] = {"none", 0, 0, KIND_NONE, "void"},
#define DTYPE(name, onnx, bits, kind, ctype) [DT_##name] = {#name, onnx, bits, KIND_##kind, ctype},
#include "ir/dtype.def"
#undef DTYPE
};

DType dtype_from_onnx(int64_t onnx) {
  for (int t = DT_NONE + 1; t < DT_COUNT; t++)
    if (dtype_rows[t].onnx == onnx) return (DType)t;
  return DT_NONE;
}

DType dtype_from_name(Str name) {
  for (int t = DT_NONE + 1; t < DT_COUNT; t++)
    if (str_is(name, dtype_rows[t].name)) return (DType)t;
  return DT_NONE;
}

DType dtype_compute(DType t) {
  const DTypeRow *r = &dtype_rows[t];
  if (r->kind == KIND_F && r->bits < 32) return DT_f32;
  if (r->bits < 8) return r->kind == KIND_S ? DT_s8 : DT_u8;
  return t;
}

bool dtype_bytes(DType t, size_t n, size_t *ret) {
  unsigned bits = dtype_rows[t].bits;
  if (bits >= 8) return size_mul(n, bits / 8, ret);
  size_t per_byte = 8 / bits;
  *ret = n / per_byte + (n % per_byte != 0);
  return true;
}
