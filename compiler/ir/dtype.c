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

size_t dtype_host_size(DType t) { return dtype_rows[t].bits < 8 ? 1 : dtype_rows[t].bits / 8; }

uint64_t dtype_read_bits(DType t, const void *element) {
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  switch (dtype_host_size(t)) {
    case 1: memcpy(&u8, element, 1); return u8;
    case 2: memcpy(&u16, element, 2); return u16;
    case 4: memcpy(&u32, element, 4); return u32;
    default: memcpy(&u64, element, 8); return u64;
  }
}

void dtype_write_bits(DType t, uint64_t bits, void *element) {
  uint8_t u8 = (uint8_t)bits;
  uint16_t u16 = (uint16_t)bits;
  uint32_t u32 = (uint32_t)bits;
  switch (dtype_host_size(t)) {
    case 1: memcpy(element, &u8, 1); return;
    case 2: memcpy(element, &u16, 2); return;
    case 4: memcpy(element, &u32, 4); return;
    default: memcpy(element, &bits, 8); return;
  }
}
