/* Element types: one row of dtype.def each. */
#ifndef CASTNET_DTYPE_H
#define CASTNET_DTYPE_H

#include "base/base.h"

typedef enum DType {
  DT_NONE,
#define DTYPE(name, onnx, bits, kind, ctype) DT_##name,
#include "ir/dtype.def"
#undef DTYPE
  DT_COUNT
} DType;

typedef enum DTypeKind { KIND_NONE, KIND_F, KIND_S, KIND_U, KIND_B, KIND_X, KIND_C } DTypeKind;

typedef struct DTypeRow {
  const char *name; /* "f32" */
  int onnx;         /* TensorProto.DataType */
  unsigned bits;    /* of one element in tensor data */
  DTypeKind kind;
  const char *ctype;
} DTypeRow;
extern const DTypeRow dtype_rows[DT_COUNT];

DType dtype_from_onnx(int64_t onnx); /* DT_NONE if unknown */
DType dtype_from_name(Str name);     /* DT_NONE if unknown */
static inline const char *dtype_name(DType t) { return dtype_rows[t].name; }
static inline bool dtype_is_float(DType t) { return dtype_rows[t].kind == KIND_F; }
static inline bool dtype_is_float6(DType t) { return t == DT_f6e2m3 || t == DT_f6e3m2; } /* whose codes do not fill their bytes */
static inline bool dtype_is_int(DType t) { return dtype_rows[t].kind == KIND_S || dtype_rows[t].kind == KIND_U; }

/* The type in which arithmetic on t is done: f32 for every float narrower than it, s8/u8 for narrower integers, else t. */
DType dtype_compute(DType t);
/* One host element of at most 64 bits as the low bits of an integer, and back. */
uint64_t dtype_read_bits(DType t, const void *element);
void dtype_write_bits(DType t, uint64_t bits, void *element);
/* Bytes of one element in host memory, sub-byte types unpacked (1). */
size_t dtype_host_size(DType t);
/* Bytes that n elements take in tensor data; false on overflow. Sub-byte types round up to whole bytes. */
bool dtype_bytes(DType t, size_t n, size_t *ret);

#endif
