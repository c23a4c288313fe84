/* Conversions: the narrow floats against their definition, code by code, and what lies between two codes; saturation, wrapping. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "interp/scalar_table.h"
#include "scalar_all.h"

static uint32_t cast_bits(DType from, DType to, bool saturate, const void *x) {
  uint8_t b8 = 0;
  uint16_t b16 = 0;
  uint32_t b32 = 0;
  const size_t size = dtype_strip_size(to);
  cast_eval_strip(from, to, saturate, x, size == 1 ? (void *)&b8 : size == 2 ? (void *)&b16 : &b32, 1);
  return size == 1 ? b8 : size == 2 ? b16 : b32;
}

static uint32_t narrow(DType to, bool saturate, float x) { return cast_bits(DT_f32, to, saturate, &x); }
static uint32_t narrow_f64(DType to, double x) { return cast_bits(DT_f64, to, true, &x); }

static float widen(DType from, uint32_t code) {
  const uint8_t b8 = (uint8_t)code;
  const uint16_t b16 = (uint16_t)code;
  float out;
  cast_eval_strip(from, DT_f32, true, dtype_strip_size(from) == 1 ? (const void *)&b8 : &b16, &out, 1);
  return out;
}

/* A format: `last` is the largest finite code without a sign. */
typedef struct Format {
  DType type;
  uint32_t bits, mantissa, bias, last;
  uint32_t over_sat, over_nosat; /* codes for what is too large */
  bool fnuz;
} Format;
static const Format formats[] = {
    {DT_f16, 16, 10, 15, 0x7bff, 0x7c00, 0x7c00, false},     {DT_bf16, 16, 7, 127, 0x7f7f, 0x7f80, 0x7f80, false},
    {DT_f8e4m3fn, 8, 3, 7, 0x7e, 0x7e, 0x7f, false},         {DT_f8e5m2, 8, 2, 15, 0x7b, 0x7b, 0x7c, false},
    {DT_f8e4m3fnuz, 8, 3, 8, 0x7f, 0x7f, 0x80, true},        {DT_f8e5m2fnuz, 8, 2, 16, 0x7f, 0x7f, 0x80, true},
    {DT_f4e2m1, 4, 1, 1, 7, 7, 7, false},                    {DT_f6e2m3, 6, 3, 1, 31, 31, 31, false},
    {DT_f6e3m2, 6, 2, 3, 31, 31, 31, false},
};

static double value_of(const Format *f, uint32_t code) {
  const uint32_t m = code & ((1u << f->mantissa) - 1), e = code >> f->mantissa;
  const int scale = (int)(e ? e : 1) - (int)f->bias - (int)f->mantissa;
  return ldexp((double)(e ? m | 1u << f->mantissa : m), scale);
}

static void check_code(const Format *f, uint32_t code) {
  const uint32_t sign = 1u << (f->bits - 1);
  const double v = value_of(f, code);
  assert_true((double)widen(f->type, code) == v);
  assert_int_equal(narrow(f->type, true, (float)v), code);
  assert_int_equal(narrow_f64(f->type, v), code);
  if (code == 0 && f->fnuz) return;
  assert_true((double)widen(f->type, code | sign) == -v);
  assert_int_equal(narrow(f->type, true, (float)-v), code | sign);
}

/* What lies between two codes goes to the nearer one, a tie to the even one; in one rounding from f64 too. */
static void check_gap(const Format *f, uint32_t code) {
  const double a = value_of(f, code), b = value_of(f, code + 1), tie = (a + b) / 2;
  const uint32_t even = code & 1 ? code + 1 : code;
  assert_int_equal(narrow(f->type, true, (float)tie), even);
  assert_int_equal(narrow(f->type, false, nextafterf((float)tie, 0)), code);
  assert_int_equal(narrow(f->type, false, nextafterf((float)tie, INFINITY)), code + 1);
  assert_int_equal(narrow_f64(f->type, tie), even);
  assert_int_equal(narrow_f64(f->type, nextafter(tie, 0)), code);
  assert_int_equal(narrow_f64(f->type, nextafter(tie, INFINITY)), code + 1);
}

static void narrow_floats(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    const Format *f = &formats[k];
    for (uint32_t code = 0; code <= f->last; code++) check_code(f, code);
    for (uint32_t code = 0; code < f->last; code++)
      if (f->type != DT_bf16 || code > 0) check_gap(f, code); /* half of bf16's least value is no f32 with neighbours */
    const uint32_t nan = narrow(f->type, true, NAN);
    if (f->bits > 6) assert_true(isnan(widen(f->type, nan)));
    const float huge[] = {INFINITY, 0x1.fffffep127f, (float)(value_of(f, f->last) * 1.5)};
    for (int i = 0; i < 3; i++) {
      if (i == 2 && isinf(huge[i])) continue;
      assert_int_equal(narrow(f->type, true, huge[i]), f->over_sat);
      assert_int_equal(narrow(f->type, false, huge[i]), f->over_nosat);
    }
  }
  assert_int_equal(narrow(DT_f8e4m3fn, true, 464.0f), 0x7e); /* a tie with what would be NaN */
  assert_int_equal(narrow(DT_f8e5m2fnuz, true, -0.0f), 0);
  assert_int_equal(narrow(DT_f8e5m2fnuz, true, -1e-30f), 0);
  assert_int_equal(narrow(DT_f4e2m1, true, NAN), 8);
  assert_int_equal(narrow(DT_f6e2m3, true, NAN), 32);
  assert_int_equal(narrow(DT_f6e3m2, true, NAN), 32);
  assert_true(isinf(widen(DT_f16, 0x7c00)) && isnan(widen(DT_f16, 0x7c01)) && isinf(widen(DT_f8e5m2, 0xfc)));
}

/* Rounding in f32 is widening what was cast, for every float a thousand apart; NaNs become quiet. */
static void rounded_in_place(void **state) {
  (void)state;
  for (uint64_t u = 0; u <= UINT32_MAX; u += 997) {
    const float x = cn_from_bits_f32((uint32_t)u);
    const uint32_t quiet = x == x ? 0 : UINT32_C(1) << 22;
    assert_int_equal(cn_bits_f32(cn_round_f16_f32(x)), cn_bits_f32(cn_cast_f16_f32(cn_cast_f32_f16(x))) | quiet);
    assert_int_equal(cn_bits_f32(cn_round_bf16_f32(x)), cn_bits_f32(cn_cast_bf16_f32(cn_cast_f32_bf16(x))) | quiet);
  }
}

static void powers_of_two(void **state) {
  (void)state;
  for (uint32_t code = 0; code < 255; code++) {
    assert_true((double)widen(DT_f8e8m0, code) == ldexp(1, (int)code - 127));
    assert_int_equal(narrow(DT_f8e8m0, false, (float)ldexp(1, (int)code - 127)), code);
  }
  assert_true(isnan(widen(DT_f8e8m0, 255)));
  assert_int_equal(narrow(DT_f8e8m0, true, 0), 0);
  assert_int_equal(narrow(DT_f8e8m0, false, 0), 255);
  assert_int_equal(narrow(DT_f8e8m0, true, INFINITY), 254);
  assert_int_equal(narrow(DT_f8e8m0, false, 0x1.8p127f), 255);
  assert_int_equal(narrow(DT_f8e8m0, true, 1.0001f), 128);
  assert_int_equal(narrow(DT_f8e8m0, true, cn_pow2_down_f32(1.9999f)), 127);
  assert_int_equal(narrow(DT_f8e8m0, true, cn_pow2_nearest_f32(1.4999f)), 127);
  assert_int_equal(narrow(DT_f8e8m0, true, cn_pow2_nearest_f32(1.5f)), 128);
}

static void to_integers(void **state) {
  (void)state;
  static const DType types[] = {DT_s8, DT_s16, DT_s32, DT_s64, DT_u8, DT_u16, DT_u32, DT_u64};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    const unsigned bits = dtype_rows[types[k]].bits;
    const bool s = k < 4;
    const int64_t low = s ? -((int64_t)1 << (bits - 2)) * 2 : 0;
    const uint64_t high = s ? ((uint64_t)1 << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    const double in[] = {1e30, -1e30, INFINITY, -INFINITY, NAN, -0.99, 100.99, 0};
    const uint64_t want[] = {high, (uint64_t)low, high, (uint64_t)low, 0, 0, 100, 0};
    for (int i = 0; i < 8; i++) {
      const float f = (float)in[i];
      uint64_t a = 0, b = 0;
      cast_eval_strip(DT_f64, types[k], true, &in[i], &a, 1);
      cast_eval_strip(DT_f32, types[k], true, &f, &b, 1);
      const size_t size = dtype_strip_size(types[k]);
      assert_memory_equal(&a, &b, size);
      uint64_t as_stored = 0;
      cast_eval_strip(s ? DT_s64 : DT_u64, types[k], true, &want[i], &as_stored, 1);
      assert_memory_equal(&a, &as_stored, size);
    }
  }
  assert_int_equal(cn_cast_f32_s32(2147483520.0f), 2147483520);
  assert_true(cn_cast_f64_u64(18446744073709549568.0) == UINT64_C(18446744073709549568));
  assert_int_equal(cn_cast_f32_b1(NAN), 1);
  assert_int_equal(cn_cast_f64_b1(-0.0), 0);
}

static void between_integers(void **state) {
  (void)state;
  for (int32_t v = -70000; v < 70000; v++) {
    assert_int_equal(cn_cast_s32_s8(v), (int8_t)(uint8_t)(uint32_t)v);
    assert_int_equal(cn_cast_s32_u16(v), (uint16_t)(uint32_t)v);
    assert_int_equal(cn_cast_s32_s16(v), (int16_t)(uint16_t)(uint32_t)v);
    assert_int_equal(cn_cast_s32_b1(v), v != 0);
  }
  assert_true(cn_cast_s8_u64(-1) == UINT64_MAX && cn_cast_u64_s32(UINT64_C(0x180000000)) == INT32_MIN);
}

/* An integer that lies just above a tie of the target must not be rounded twice. */
static void one_rounding(void **state) {
  (void)state;
  const int64_t a = (INT64_C(0x101) << 54) + 1, b = INT64_C(0x101) << 54;
  assert_int_equal(cast_bits(DT_s64, DT_bf16, true, &a), 0x5e81);
  assert_int_equal(cast_bits(DT_s64, DT_bf16, true, &b), 0x5e80);
  const uint64_t c = (UINT64_C(0x103) << 55) - 1;
  assert_int_equal(cast_bits(DT_u64, DT_bf16, true, &c), 0x5f01);
  const int32_t d = (0x801 << 4) + 1;
  assert_int_equal(cast_bits(DT_s32, DT_f16, true, &d), 0x7801);
}

static void sub_byte(void **state) {
  (void)state;
  for (int v = -128; v < 128; v++) {
    const int8_t s = (int8_t)v;
    const float f = (float)v;
    const int low4 = v & 15, low2 = v & 3;
    assert_int_equal((int8_t)cast_bits(DT_s8, DT_s4, true, &s), low4 > 7 ? low4 - 16 : low4);
    assert_int_equal(cast_bits(DT_s8, DT_u4, true, &s), low4);
    assert_int_equal((int8_t)cast_bits(DT_s8, DT_s2, true, &s), low2 > 1 ? low2 - 4 : low2);
    assert_int_equal(cast_bits(DT_s8, DT_u2, true, &s), low2);
    assert_int_equal((int8_t)cast_bits(DT_f32, DT_s4, true, &f), v < -8 ? -8 : v > 7 ? 7 : v);
    assert_int_equal(cast_bits(DT_f32, DT_u4, true, &f), v < 0 ? 0 : v > 15 ? 15 : v);
    assert_int_equal((int8_t)cast_bits(DT_f32, DT_s2, true, &f), v < -2 ? -2 : v > 1 ? 1 : v);
    assert_int_equal(cast_bits(DT_f32, DT_u2, true, &f), v < 0 ? 0 : v > 3 ? 3 : v);
    assert_int_equal((int8_t)cast_bits(DT_f32, DT_s4, false, &f), low4 > 7 ? low4 - 16 : low4);
    assert_int_equal(cast_bits(DT_f32, DT_u4, false, &f), low4);
    assert_int_equal(cast_bits(DT_f32, DT_u2, false, &f), low2);
  }
}

static void packed(void **state) {
  (void)state;
  uint8_t p[4] = {0};
  for (size_t i = 0; i < 8; i++) cn_put_u4(p, i, (uint8_t)(i + 5));
  assert_int_equal(p[0], 0x65); /* low bits first */
  for (size_t i = 0; i < 8; i++) {
    assert_int_equal(cn_get_u4(p, i), i + 5);
    assert_int_equal(cn_get_s4(p, i), i + 5 > 7 ? (int)i + 5 - 16 : (int)i + 5);
  }
  for (size_t i = 0; i < 16; i++) cn_put_s2(p, i, (int8_t)((int)(i & 3) - 2));
  assert_int_equal(p[3], 0x4e);
  for (size_t i = 0; i < 16; i++) assert_int_equal(cn_get_s2(p, i), (int)(i & 3) - 2);
}

static void long_strips_in_pieces(void **state) {
  (void)state;
  enum { N = 1000 };
  static uint16_t h[N];
  static int8_t out[N];
  for (int i = 0; i < N; i++) h[i] = (uint16_t)cn_cast_f32_f16((float)(i % 17) - 8.25f);
  cast_eval_strip(DT_f16, DT_s4, true, h, out, N);
  for (int i = 0; i < N; i++) {
    const int t = (int)((float)(i % 17) - 8.25f);
    assert_int_equal(out[i], t < -8 ? -8 : t > 7 ? 7 : t);
  }
}

/* The bits of every code of 16 bits or fewer, as any other type of that width and back, NaN payloads too. */
static void bits_come_back(void **state) {
  (void)state;
  enum { N = 65536 };
  static uint16_t codes[N], back[N];
  static uint64_t there[N], here[N];
  static uint8_t bytes[N], bytes_back[N];
  for (int i = 0; i < N; i++) codes[i] = (uint16_t)i, bytes[i] = (uint8_t)i;
  for (int f = DT_NONE + 1; f < DT_COUNT; f++) {
    for (int t = DT_NONE + 1; t < DT_COUNT; t++) {
      const DType from = (DType)f, to = (DType)t, carrier = dtype_rows[f].bits == 16 ? DT_u16 : DT_u8;
      if (!bits_exist(from, to) || dtype_rows[f].bits > 16 || dtype_rows[f].bits < 8 || from == DT_b1 || to == DT_b1) continue;
      const size_t n = dtype_rows[f].bits == 16 ? N : 256;
      const void *in = dtype_rows[f].bits == 16 ? (const void *)codes : (const void *)bytes;
      bits_eval_strip(carrier, from, in, there, n);
      bits_eval_strip(from, to, there, here, n);
      bits_eval_strip(to, carrier, here, carrier == DT_u16 ? (void *)back : (void *)bytes_back, n);
      assert_memory_equal(in, carrier == DT_u16 ? (void *)back : (void *)bytes_back, n * dtype_rows[f].bits / 8);
    }
  }
}

static void bits_of_numbers(void **state) {
  (void)state;
  const float one = 1.0f;
  const int8_t minus_two = -2;
  int32_t word;
  float value;
  bits_eval_strip(DT_f32, DT_s32, &one, &word, 1);
  assert_int_equal(word, 0x3f800000);
  bits_eval_strip(DT_s4, DT_f4e2m1, &minus_two, &value, 1); /* code 14 */
  assert_true(value == -4.0f);
  assert_false(bits_exist(DT_f32, DT_s16) || bits_exist(DT_str, DT_c128) || bits_exist(DT_c64, DT_f64));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(narrow_floats),    cmocka_unit_test(rounded_in_place), cmocka_unit_test(powers_of_two), cmocka_unit_test(to_integers),
      cmocka_unit_test(between_integers), cmocka_unit_test(one_rounding),  cmocka_unit_test(sub_byte),
      cmocka_unit_test(packed),           cmocka_unit_test(long_strips_in_pieces), cmocka_unit_test(bits_come_back),
      cmocka_unit_test(bits_of_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
