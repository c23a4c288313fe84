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
#define CTYPE_f16 uint16_t
#define CTYPE_bf16 uint16_t
#define CTYPE_f8e4m3fn uint8_t
#define CTYPE_f8e4m3fnuz uint8_t
#define CTYPE_f8e5m2 uint8_t
#define CTYPE_f8e5m2fnuz uint8_t
#define CTYPE_f8e8m0 uint8_t
#define CTYPE_f4e2m1 uint8_t
#define CTYPE_f6e2m3 uint8_t
#define CTYPE_f6e3m2 uint8_t

/* ---- the pairs that have a function of their own ---- */
#define PAIRS_FLOAT(X, f) X(f, s8) X(f, s16) X(f, s32) X(f, s64) X(f, u8) X(f, u16) X(f, u32) X(f, u64) X(f, b1)
#define PAIRS_TO_FLOAT(X, f) X(f, f32) X(f, f64)
#define PAIRS(X) \
  X(f32, f64) X(f64, f32) PAIRS_FLOAT(X, f32) PAIRS_FLOAT(X, f64) \
  PAIRS_TO_FLOAT(X, s8) X(s8, s16) X(s8, s32) X(s8, s64) X(s8, u8) X(s8, u16) X(s8, u32) X(s8, u64) X(s8, b1) \
  PAIRS_TO_FLOAT(X, s16) X(s16, s8) X(s16, s32) X(s16, s64) X(s16, u8) X(s16, u16) X(s16, u32) X(s16, u64) X(s16, b1) \
  PAIRS_TO_FLOAT(X, s32) X(s32, s8) X(s32, s16) X(s32, s64) X(s32, u8) X(s32, u16) X(s32, u32) X(s32, u64) X(s32, b1) \
  PAIRS_TO_FLOAT(X, s64) X(s64, s8) X(s64, s16) X(s64, s32) X(s64, u8) X(s64, u16) X(s64, u32) X(s64, u64) X(s64, b1) \
  PAIRS_TO_FLOAT(X, u8) X(u8, s8) X(u8, s16) X(u8, s32) X(u8, s64) X(u8, u16) X(u8, u32) X(u8, u64) X(u8, b1) \
  PAIRS_TO_FLOAT(X, u16) X(u16, s8) X(u16, s16) X(u16, s32) X(u16, s64) X(u16, u8) X(u16, u32) X(u16, u64) X(u16, b1) \
  PAIRS_TO_FLOAT(X, u32) X(u32, s8) X(u32, s16) X(u32, s32) X(u32, s64) X(u32, u8) X(u32, u16) X(u32, u64) X(u32, b1) \
  PAIRS_TO_FLOAT(X, u64) X(u64, s8) X(u64, s16) X(u64, s32) X(u64, s64) X(u64, u8) X(u64, u16) X(u64, u32) X(u64, b1) \
  PAIRS_TO_FLOAT(X, b1) X(b1, s8) X(b1, s16) X(b1, s32) X(b1, s64) X(b1, u8) X(b1, u16) X(b1, u32) X(b1, u64) \
  X(f32, f16) X(f16, f32) X(f32, bf16) X(bf16, f32) \
  X(f32, f8e4m3fn) X(f8e4m3fn, f32) X(f32, f8e4m3fnuz) X(f8e4m3fnuz, f32) \
  X(f32, f8e5m2) X(f8e5m2, f32) X(f32, f8e5m2fnuz) X(f8e5m2fnuz, f32) \
  X(f32, f8e8m0) X(f8e8m0, f32) X(f32, f4e2m1) X(f4e2m1, f32) \
  X(f32, f6e2m3) X(f6e2m3, f32) X(f32, f6e3m2) X(f6e3m2, f32)
#define NOSAT(X) X(f8e4m3fn) X(f8e4m3fnuz) X(f8e5m2) X(f8e5m2fnuz) X(f8e8m0)

#define LOOP(fn, from, to) \
  static void strip_##fn(const void *in, void *out, size_t n) { \
    const CTYPE_##from *a = in; \
    CTYPE_##to *o = out; \
    for (size_t i = 0; i < n; i++) o[i] = fn(a[i]); \
  }
#define PAIR_LOOP(f, t) LOOP(cn_cast_##f##_##t, f, t)
PAIRS(PAIR_LOOP)
#define NOSAT_LOOP(t) LOOP(cn_cast_f32_##t##_nosat, f32, t)
NOSAT(NOSAT_LOOP)
LOOP(cn_odd_f64_f32, f64, f32)
LOOP(cn_odd_s64_f64, s64, f64)
LOOP(cn_odd_u64_f64, u64, f64)
LOOP(cn_bits_f32, f32, u32)
LOOP(cn_bits_f64, f64, u64)
LOOP(cn_from_bits_f32, u32, f32)
LOOP(cn_from_bits_f64, u64, f64)
LOOP(cn_sat_s4, s8, s8)
LOOP(cn_sat_u4, u8, u8)
LOOP(cn_sat_s2, s8, s8)
LOOP(cn_sat_u2, u8, u8)
LOOP(cn_wrap_s4, s8, s8)
LOOP(cn_wrap_u4, u8, u8)
LOOP(cn_wrap_s2, s8, s8)
LOOP(cn_wrap_u2, u8, u8)

#define STEP(fn, f, t) {#fn, DT_##f, DT_##t, strip_##fn}
#define PAIR_ROW(f, t) [DT_##f][DT_##t] = STEP(cn_cast_##f##_##t, f, t),
static const CastStep pairs[DT_COUNT][DT_COUNT] = {PAIRS(PAIR_ROW)};
#define NOSAT_ROW(t) [DT_##t] = STEP(cn_cast_f32_##t##_nosat, f32, t),
static const CastStep nosat[DT_COUNT] = {NOSAT(NOSAT_ROW)};
static const CastStep odd_f64 = STEP(cn_odd_f64_f32, f64, f32);
static const CastStep odd_s64 = STEP(cn_odd_s64_f64, s64, f64);
static const CastStep odd_u64 = STEP(cn_odd_u64_f64, u64, f64);
static const CastStep to_bits[DT_COUNT] = {[DT_f32] = STEP(cn_bits_f32, f32, u32), [DT_f64] = STEP(cn_bits_f64, f64, u64)};
static const CastStep from_bits[DT_COUNT] = {[DT_f32] = STEP(cn_from_bits_f32, u32, f32), [DT_f64] = STEP(cn_from_bits_f64, u64, f64)};
static const CastStep sub_byte[DT_COUNT][2] = {
    [DT_s4] = {STEP(cn_wrap_s4, s8, s4), STEP(cn_sat_s4, s8, s4)},
    [DT_u4] = {STEP(cn_wrap_u4, u8, u4), STEP(cn_sat_u4, u8, u4)},
    [DT_s2] = {STEP(cn_wrap_s2, s8, s2), STEP(cn_sat_s2, s8, s2)},
    [DT_u2] = {STEP(cn_wrap_u2, u8, u2), STEP(cn_sat_u2, u8, u2)},
};

size_t dtype_strip_size(DType t) { return dtype_rows[t].bits < 8 ? 1 : dtype_rows[t].bits / 8; }

static bool is_numeric(DType t) {
  const DTypeKind k = dtype_rows[t].kind;
  return k == KIND_F || k == KIND_S || k == KIND_U || k == KIND_B;
}

bool cast_exists(DType from, DType to) { return is_numeric(from) && is_numeric(to); }

/* The steps from compute type `from` to f32 for a later rounding to a narrow float. */
static size_t path_to_f32(DType from, const CastStep **ret) {
  size_t n = 0;
  const DTypeRow *r = &dtype_rows[from];
  if (from == DT_f32) return 0;
  if (r->bits < 32) {
    ret[n++] = &pairs[from][DT_f32];
    return n;
  }
  if (from == DT_s64) ret[n++] = &odd_s64;
  else if (from == DT_u64) ret[n++] = &odd_u64;
  else if (from != DT_f64) ret[n++] = &pairs[from][DT_f64];
  ret[n++] = &odd_f64;
  return n;
}

size_t cast_path(DType from, DType to, bool saturate, const CastStep *ret[CAST_STEPS]) {
  if (from == to) return 0;
  size_t n = 0;
  const DType c = dtype_compute(from), d = dtype_compute(to);
  if (dtype_is_float(from) && from != c) ret[n++] = &pairs[from][c];
  if (d == to) {
    if (c != d) ret[n++] = &pairs[c][d];
  } else if (dtype_is_float(to)) {
    n += path_to_f32(c, ret + n);
    ret[n++] = saturate || !nosat[to].name ? &pairs[DT_f32][to] : &nosat[to];
  } else {
    const bool saturates = saturate && dtype_is_float(c);
    DType at = c;
    if (dtype_is_float(c) && !saturates) ret[n++] = &pairs[c][at = DT_s32]; /* signed, so that low bits of negative values count */
    if (at != d) ret[n++] = &pairs[at][d];
    ret[n++] = &sub_byte[to][saturates];
  }
  return n;
}

bool bits_exist(DType from, DType to) { return is_numeric(from) && is_numeric(to) && dtype_rows[from].bits == dtype_rows[to].bits && !dtype_is_float6(from) && !dtype_is_float6(to); }

/* An unsigned integer with the bits of t: the type that it is computed in. */
static DType bits_carrier(DType t) {
  switch (dtype_rows[t].bits) {
    case 64: return DT_u64;
    case 32: return DT_u32;
    case 16: return DT_u16;
    default: return DT_u8;
  }
}

size_t bits_path(DType from, DType to, const CastStep *ret[CAST_STEPS]) {
  size_t n = 0;
  const DType carrier = bits_carrier(from);
  if (from == to) return 0;
  if (to_bits[from].name) ret[n++] = &to_bits[from];
  else if (dtype_is_float(from)) ret[n++] = nosat[from].name ? &nosat[from] : &pairs[DT_f32][from]; /* infinity stays */
  else if (dtype_compute(from) != carrier) ret[n++] = &pairs[dtype_compute(from)][carrier];
  if (dtype_rows[from].bits < 8 && dtype_rows[from].kind == KIND_S) ret[n++] = &sub_byte[dtype_rows[from].bits == 4 ? DT_u4 : DT_u2][0];
  if (from_bits[to].name) ret[n++] = &from_bits[to];
  else if (dtype_is_float(to)) ret[n++] = &pairs[to][DT_f32];
  else if (dtype_compute(to) != carrier) ret[n++] = &pairs[carrier][dtype_compute(to)];
  if (dtype_rows[to].bits < 8 && dtype_rows[to].kind == KIND_S) ret[n++] = &sub_byte[to][0];
  return n;
}

/* Runs a path over a strip, a piece at a time where it has more than one step. */
static void path_eval(const CastStep *const *path, size_t steps, size_t in_size, size_t out_size, const void *in, void *out, size_t n) {
  enum { PIECE = 256 };
  uint64_t buffer[2][PIECE];
  if (steps == 0) {
    if (n) memmove(out, in, n * in_size);
    return;
  }
  if (steps == 1) {
    path[0]->strip(in, out, n);
    return;
  }
  for (size_t at = 0; at < n; at += PIECE) {
    const size_t m = n - at < PIECE ? n - at : PIECE;
    const void *src = (const char *)in + at * in_size;
    for (size_t s = 0; s < steps; s++) {
      path[s]->strip(src, buffer[s & 1], m);
      src = buffer[s & 1];
    }
    memcpy((char *)out + at * out_size, src, m * out_size);
  }
}

void cast_eval_strip(DType from, DType to, bool saturate, const void *in, void *out, size_t n) {
  const CastStep *path[CAST_STEPS];
  const size_t steps = cast_path(from, to, saturate, path);
  path_eval(path, steps, dtype_strip_size(from), dtype_strip_size(to), in, out, n);
}

void bits_eval_strip(DType from, DType to, const void *in, void *out, size_t n) {
  const CastStep *path[CAST_STEPS];
  const size_t steps = bits_path(from, to, path);
  path_eval(path, steps, dtype_strip_size(dtype_compute(from)), dtype_strip_size(dtype_compute(to)), in, out, n);
}
