#include "interp/scalar_table.h"

#include "scalar_all.h"

#define CTYPE_f32 float
#define CTYPE_f64 double
#define CTYPE_s8 int8_t
#define CTYPE_s16 int16_t
#define CTYPE_s32 int32_t
#define CTYPE_s64 int64_t
#define CTYPE_u8 uint8_t
#define CTYPE_u16 uint16_t
#define CTYPE_u32 uint32_t
#define CTYPE_u64 uint64_t
#define CTYPE_b1 uint8_t
#define CTYPE_str castnet_string
#define CTYPE_c64 castnet_c64
#define CTYPE_c128 castnet_c128

#define RESULT_SAME(t) CTYPE_##t
#define RESULT_B1(t) uint8_t
#define RESULT_DTYPE_SAME DT_NONE
#define RESULT_DTYPE_B1 DT_b1

/* X(name, result, type) for each type of a set. */
#define EACH_S(X, name, result) X(name, result, f32)
#define EACH_F(X, name, result) X(name, result, f32) X(name, result, f64)
#define EACH_I(X, name, result) \
  X(name, result, s8) X(name, result, s16) X(name, result, s32) X(name, result, s64) \
  X(name, result, u8) X(name, result, u16) X(name, result, u32) X(name, result, u64)
#define EACH_B(X, name, result) X(name, result, b1)
#define EACH_FI(X, name, result) EACH_F(X, name, result) EACH_I(X, name, result)
#define EACH_IB(X, name, result) EACH_I(X, name, result) EACH_B(X, name, result)
#define EACH_FIB(X, name, result) EACH_FI(X, name, result) EACH_B(X, name, result)
#define EACH_C(X, name, result) X(name, result, c64) X(name, result, c128)
#define EACH_FIC(X, name, result) EACH_FI(X, name, result) EACH_C(X, name, result)
#define EACH_FIBXC(X, name, result) EACH_FIB(X, name, result) X(name, result, str) EACH_C(X, name, result)

/* ---- one loop a function and type ---- */
#define STRIP_1(name, result, t) \
  static void strip_##name##_##t(const void *const *args, void *out, size_t n) { \
    const CTYPE_##t *a = args[0]; \
    RESULT_##result(t) *o = out; \
    for (size_t i = 0; i < n; i++) o[i] = cn_##name##_##t(a[i]); \
  }
#define STRIP_2(name, result, t) \
  static void strip_##name##_##t(const void *const *args, void *out, size_t n) { \
    const CTYPE_##t *a = args[0], *b = args[1]; \
    RESULT_##result(t) *o = out; \
    for (size_t i = 0; i < n; i++) o[i] = cn_##name##_##t(a[i], b[i]); \
  }
#define STRIP_3(name, result, t) \
  static void strip_##name##_##t(const void *const *args, void *out, size_t n) { \
    const FIRST_##name(t) *a = args[0]; \
    const CTYPE_##t *b = args[1], *c = args[2]; \
    RESULT_##result(t) *o = out; \
    for (size_t i = 0; i < n; i++) o[i] = cn_##name##_##t(a[i], b[i], c[i]); \
  }
#define FIRST_select(t) uint8_t
#define FIRST_clip(t) CTYPE_##t
#define FIRST_fma(t) CTYPE_##t

#define SCALAR(name, arity, types, result, c_format) EACH_##types(STRIP_##arity, name, result)
#include "scalar.def"
#undef SCALAR

#define TYPE_BIT(name, result, t) | 1u << DT_##t
const ScalarRow scalar_rows[SC_COUNT] = {
#define SCALAR(name, arity, types, result, c_format) \
  [SC_##name] = {#name, arity, 0 EACH_##types(TYPE_BIT, name, result), RESULT_DTYPE_##result, c_format},
#include "scalar.def"
#undef SCALAR
};

typedef void (*StripFn)(const void *const *args, void *out, size_t n);

#define STRIP_ROW(name, result, t) [DT_##t] = strip_##name##_##t,
static const StripFn strips[SC_COUNT][DT_COUNT] = {
#define SCALAR(name, arity, types, result, c_format) [SC_##name] = {EACH_##types(STRIP_ROW, name, result)},
#include "scalar.def"
#undef SCALAR
};

bool scalar_exists(ScalarFn fn, DType t) { return (scalar_rows[fn].types >> dtype_compute(t) & 1) != 0; }

DType scalar_result(ScalarFn fn, DType t) { return scalar_rows[fn].result == DT_NONE ? t : scalar_rows[fn].result; }

ScalarFn scalar_from_name(Str name) {
  for (int f = 0; f < SC_COUNT; f++)
    if (str_is(name, scalar_rows[f].name)) return (ScalarFn)f;
  return SC_COUNT;
}

void scalar_eval_strip(ScalarFn fn, DType t, const void *const *args, void *out, size_t n) { strips[fn][t](args, out, n); }
