/* The kernels of one target, compiled for it: TARGET_DEF is its description, LAYER_H its SIMD layer. */
#include <stdlib.h>

#include LAYER_H
#ifdef CN_TILE_PRODUCTS
#include "amx/split_f32.h"
#endif
#include "check.h"

/* The numbers in the layer and in the target's description are the same. */
#define TARGET(word, name, fallback)
#define MACHINE(machine, order)
#define CODE(size)
#define ALIGN(bytes) _Static_assert((bytes) % (CN_VF32_LANES * 4) == 0 && (bytes) % 8 == 0, "vectors and the largest numbers are aligned");
#define LAYER(file, bits, header) _Static_assert(CN_VF32_LANES * 32 == (bits), "vector width");
#define CPU(features)
#define CFLAGS(flags)
#define ISA(level, function)
#define TILE(kernel, mr, nr, kc, mc, nc) TILE_##kernel(mr, nr, kc, mc, nc)
#define TILE_gemm_f32(mr, nr, kc, mc, nc)                                                                      \
  _Static_assert(CN_GEMM_F32_MR == (mr) && CN_GEMM_F32_NR == (nr) && CN_GEMM_F32_KC == (kc) &&                 \
                     CN_GEMM_F32_MC == (mc) && CN_GEMM_F32_NC == (nc),                                         \
                 "tile");                                                                                      \
  _Static_assert((mc) % (mr) == 0 && (nc) % (nr) == 0 && (nr) % CN_VF32_LANES == 0, "blocks are whole tiles");
#define TILE_gemm_s16(mr, nr, kc, mc, nc) \
  _Static_assert(CN_GEMM_S16_MR == (mr) && CN_GEMM_S16_NR == (nr) && (nr) % CN_VS32_LANES == 0, "tile");
#define TILE_split_f32(mr, nr, kc, mc, nc) \
  _Static_assert(CN_SPLIT_ROWS == (mr) && CN_SPLIT_COLUMNS == (nr) && CN_GEMM_F32_NR == (nr) && CN_GEMM_F32_KC == (kc), "tile");
#define TILE_blocked_f32(mr, nr, kc, mc, nc) \
  _Static_assert(CN_BLOCKED_F32_SUMS * CN_VF32_LANES == (mr) * (nr), "sums in registers");
#include TARGET_DEF
#undef TARGET
#undef LAYER
#undef CPU
#undef TILE

/* ---- the layer's own functions against plain loops ---- */
enum { L = CN_VF32_LANES };

static size_t wrong(const float *got, const float *want, size_t n) {
  size_t bad = 0;
  for (size_t i = 0; i < n; i++) bad += !(got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]));
  return bad;
}

#define CHECK_BINARY(op, expr)                                      \
  do {                                                              \
    cn_vf32_store(got, cn_vf32_##op(cn_vf32_load(x), cn_vf32_load(y))); \
    for (size_t i = 0; i < L; i++) {                                \
      const float a = x[i], b = y[i];                               \
      want[i] = (expr);                                             \
    }                                                               \
    bad += wrong(got, want, L);                                     \
  } while (0)

CN_DRIVER size_t check_arithmetic(const float *x, const float *y) {
  float got[L], want[L];
  size_t bad = 0;
  CHECK_BINARY(add, a + b);
  CHECK_BINARY(sub, a - b);
  CHECK_BINARY(mul, a * b);
  CHECK_BINARY(div, a / b);
  CHECK_BINARY(max, a > b ? a : b);
  CHECK_BINARY(min, a < b ? a : b);
  CHECK_BINARY(maxn, a > b || a != a ? a : b);
  CHECK_BINARY(copysign, cn_copysign_f32(a, b));
  return bad;
}

CN_DRIVER size_t check_memory(const float *x) {
  float got[L + 1], want[L + 1];
  size_t bad = 0;
  for (size_t n = 0; n <= L; n++) {
    for (size_t i = 0; i <= L; i++) got[i] = -7.0f, want[i] = i < n ? x[i] : -7.0f;
    cn_vf32_store_n(got, cn_vf32_load(x), n);
    bad += wrong(got, want, L + 1);
    for (size_t i = 0; i < L; i++) want[i] = i < n ? x[i] : 0.0f;
    cn_vf32_store(got, cn_vf32_load_n(x, n));
    bad += wrong(got, want, L);
  }
  for (size_t n = 0; n <= L; n++) {
    for (size_t i = 0; i < L; i++) want[i] = i < n ? x[2 * i] : 0.0f;
    cn_vf32_store(got, cn_vf32_load_even_n(x, n));
    bad += wrong(got, want, L);
  }
  for (size_t lo = 0; lo <= L; lo++) {
    for (size_t hi = 0; hi <= L; hi++) {
      const cn_vf32_lanes in = cn_vf32_lanes_in(lo, hi);
      for (size_t i = 0; i < L; i++) want[i] = i >= lo && i < hi ? x[i] : 0.0f;
      cn_vf32_store(got, cn_vf32_load_in(x, in));
      bad += wrong(got, want, L);
      for (size_t i = 0; i < L; i++) want[i] = i >= lo && i < hi ? x[i] : -7.0f;
      cn_vf32_store(got, cn_vf32_fill_out(cn_vf32_load(x), in, cn_vf32_set1(-7.0f)));
      bad += wrong(got, want, L);
    }
  }
  for (size_t width = 2; width < L; width *= 2) {
    for (size_t k = 0; k < width; k++) {
      for (size_t i = 0; i < L; i++) want[i] = x[i / width * width + k];
      cn_vf32_store(got, cn_vf32_load_spread(x, width, k));
      bad += wrong(got, want, L);
    }
  }
  for (size_t i = 0; i < L; i++) want[i] = x[2 * i + 1];
  cn_vf32_store(got, cn_vf32_odd(cn_vf32_load(x), cn_vf32_load(x + L)));
  bad += wrong(got, want, L);
  for (size_t i = 0; i < L; i++) want[i] = x[2 * i];
  cn_vf32_store(got, cn_vf32_even(cn_vf32_load(x), cn_vf32_load(x + L)));
  bad += wrong(got, want, L);
  cn_vf32_store(got, cn_vf32_unmix(cn_vf32_even_mixed(cn_vf32_load(x), cn_vf32_load(x + L))));
  bad += wrong(got, want, L);
  for (size_t i = 0; i < L; i++) want[i] = x[2 * i + 1];
  cn_vf32_store(got, cn_vf32_unmix(cn_vf32_odd_mixed(cn_vf32_load(x), cn_vf32_load(x + L))));
  bad += wrong(got, want, L);
  for (size_t i = 0; i < L; i++) want[i] = x[2 * i];
  cn_vf32_store(got, cn_vf32_load_even(x));
  bad += wrong(got, want, L);
  return bad;
}

CN_DRIVER size_t check_reductions(const float *x) {
  float tree[L], most = x[0];
  for (size_t i = 0; i < L; i++) {
    tree[i] = x[i];
    most = most > x[i] || most != most ? most : x[i];
  }
  for (size_t half = L / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++) tree[i] += tree[i + half];
  float got[2], want[2] = {tree[0], most};
  got[0] = cn_vf32_reduce_add(cn_vf32_load(x));
  got[1] = cn_vf32_reduce_maxn(cn_vf32_load(x));
  return wrong(got, want, 2);
}

/* e^x for x <= 0 against double: units in the last place beyond which a lane counts as wrong. */
CN_DRIVER size_t check_exp(void) {
  size_t bad = 0;
  for (float x = 0.0f; x > -110.0f; x -= 0.00731f) {
    float got[L];
    cn_vf32_store(got, cn_vf32_exp_neg(cn_vf32_set1(x)));
    const double want = x < -87.3365f ? 0.0 : __builtin_exp((double)x);
    bad += !((double)got[0] <= want * (1 + 1.1 * 0x1p-23) && (double)got[0] >= want * (1 - 1.1 * 0x1p-23));
  }
  float got[L];
  cn_vf32_store(got, cn_vf32_exp_neg(cn_vf32_set1(-__builtin_inff())));
  bad += got[0] != 0.0f;
  cn_vf32_store(got, cn_vf32_exp_neg(cn_vf32_set1(__builtin_nanf(""))));
  return bad + (got[0] == got[0]);
}

static size_t differs(float got, float want) { return cn_bits_f32(got) != cn_bits_f32(want) && (got == got || want == want); }

/* Functions of lanes give the bits of the scalar function, whatever the number of lanes. */
CN_DRIVER size_t check_lanes(void) {
  enum { MOST = 2 * L + 3 };
  size_t bad = 0;
  for (uint32_t bits = 0; bits < UINT32_C(0xffff0000); bits += 5003 * MOST) {
    float x[MOST], root[MOST], half[MOST], erf[MOST], tanh[MOST], gelu[MOST], by_tanh[MOST];
    for (uint32_t i = 0; i < MOST; i++) x[i] = by_tanh[i] = cn_from_bits_f32(bits + 5003 * i);
    cn_sqrt_lanes_f32(root, x, MOST);
    cn_round_f16_lanes_f32(half, x, MOST);
    cn_erf_sqrt2_lanes_f32(erf, x, MOST);
    cn_tanh_lanes_f32(tanh, x, MOST);
    cn_gelu_lanes_f32(gelu, x, MOST);
    cn_gelu_tanh_lanes_f32(by_tanh, by_tanh, MOST); /* in place */
    for (uint32_t i = 0; i < MOST; i++)
      bad += differs(root[i], cn_sqrt_f32(x[i])) + differs(half[i], cn_round_f16_f32(x[i])) + differs(erf[i], cn_erf_sqrt2_f32(x[i])) + differs(tanh[i], cn_tanh_f32(x[i])) + differs(gelu[i], cn_gelu_f32(x[i])) + differs(by_tanh[i], cn_gelu_tanh_f32(x[i]));
  }
  return bad;
}

/* Bytes of both signs widened to pairs, and lanes narrowed to bytes. */
CN_DRIVER size_t check_bytes(uint32_t flip, int32_t zero) {
  uint8_t x[3 * L], bytes[L + 1];
  int32_t lanes[L];
  size_t bad = 0;
  for (size_t i = 0; i < 3 * L; i++) x[i] = (uint8_t)(i * 37 + (i % 3 ? 128 : 0));
  cn_vs32_store(lanes, cn_vs32_pair_8(x, x + L, flip, zero));
  for (size_t i = 0; i < L; i++) bad += lanes[i] != cn_pair_s16((int32_t)(x[i] ^ flip) - zero, (int32_t)(x[i + L] ^ flip) - zero);
  cn_vs32_store(lanes, cn_vs32_neighbours_8(x, flip, zero));
  for (size_t i = 0; i < L; i++) bad += lanes[i] != cn_pair_s16((int32_t)(x[2 * i] ^ flip) - zero, (int32_t)(x[2 * i + 1] ^ flip) - zero);
  for (size_t n = 0; n <= L; n++) {
    memset(bytes, 0x5a, sizeof bytes);
    cn_vs32_store_8_n(bytes, cn_vs32_load(lanes), n);
    for (size_t i = 0; i <= L; i++) bad += bytes[i] != (i < n ? (uint8_t)((uint32_t)lanes[i] & 0xffu) : 0x5a);
  }
  return bad;
}

/* Conversions of lanes: halves go to the even neighbour. */
CN_DRIVER size_t check_conversions(void) {
  size_t bad = 0;
  for (int32_t i = -4001; i < 4001; i += 2) {
    int32_t lanes[L];
    float values[L];
    cn_vs32_store(lanes, cn_vs32_round_f32(cn_vf32_set1((float)i * 0.5f)));
    bad += lanes[L - 1] != (int32_t)__builtin_rintf((float)i * 0.5f);
    cn_vf32_store(values, cn_vf32_from_s32(cn_vs32_set1(i * 500001)));
    bad += values[L - 1] != (float)(i * 500001);
  }
  return bad;
}

/* Sets of bits by comparisons, their first bits, and lookups. */
CN_DRIVER size_t check_sets(const float *x, const float *y) {
  int32_t v[L], m[L], got[L];
  float table[32], values[L];
  size_t bad = 0;
  for (size_t i = 0; i < 32; i++) table[i] = (float)i * 1.5f;
  for (size_t i = 0; i < L; i++) v[i] = (int32_t)(0x9e3779b9u * (uint32_t)(i + 1)), m[i] = (int32_t)(0x7f4a7c15u * (uint32_t)(i + 3));
  cn_vs32_store(got, cn_vs32_and_gt(cn_vs32_load(v), cn_vs32_load(m), cn_vf32_load(x), cn_vf32_load(y)));
  for (size_t i = 0; i < L; i++) bad += got[i] != (x[i] > y[i] ? v[i] & m[i] : v[i]);
  cn_vs32_store(got, cn_vs32_and_nan(cn_vs32_load(v), cn_vs32_load(m), cn_vf32_load(x)));
  for (size_t i = 0; i < L; i++) bad += got[i] != (x[i] != x[i] ? v[i] & m[i] : v[i]);
  for (uint32_t bit = 0; bit <= 32; bit++) {
    const uint32_t set = bit == 32 ? 0 : 0xa5a5a5a5u << bit | 1u << bit;
    cn_vs32_store(got, cn_vs32_first_bit(cn_vs32_set1((int32_t)set)));
    for (size_t i = 0; i < L; i++) bad += bit == 32 ? got[i] < 0 || got[i] > 31 : got[i] != (int32_t)bit;
    for (size_t i = 0; i < L; i++) v[i] = (int32_t)((bit + 7 * i) % 32);
    cn_vf32_store(values, cn_vf32_at(table, cn_vs32_load(v)));
    for (size_t i = 0; i < L; i++) bad += values[i] != table[v[i]];
    cn_vf32_store(values, cn_vf32_at32(table, cn_vs32_load(v)));
    for (size_t i = 0; i < L; i++) bad += values[i] != table[v[i]];
    for (size_t i = 0; i < L; i++) v[i] = (int32_t)((bit + 7 * i) % (2 * L));
    cn_vf32_store(values, cn_vf32_at2(table, cn_vs32_load(v)));
    for (size_t i = 0; i < L; i++) bad += values[i] != table[v[i]];
  }
  return bad;
}

static size_t layer_selftest(void) {
  static const float special[] = {0.0f, -0.0f, 1.0f, -2.5f, 1e-42f, 3e38f, __builtin_inff(), -__builtin_inff(), __builtin_nanf("")};
  enum { N = sizeof special / sizeof special[0] };
  size_t bad = check_exp() + check_lanes() + check_conversions() + check_bytes(0, 0) + check_bytes(0, 255) + check_bytes(0x80, 128) + check_bytes(0x80, 3);
  for (size_t s = 0; s < N * N; s++) {
    float x[2 * L], y[2 * L];
    for (size_t i = 0; i < 2 * L; i++) {
      x[i] = special[(s + i * (1 + s / N)) % N];
      y[i] = special[(s / N + i) % N];
    }
    bad += check_arithmetic(x, y) + check_memory(x) + check_reductions(x) + check_reductions(y) + check_sets(x, y);
  }
  return bad;
}

#define TARGET(word, target_name, fallback) .name = target_name,
#define LAYER(file, bits, header)
#ifdef OWN_CPU /* where another than the target's plays it */
#define CPU(features) .cpu = OWN_CPU,
#else
#define CPU(features) .cpu = features,
#endif
#define TILE(kernel, ...)
#undef ALIGN
#define ALIGN(bytes)
extern const KernelSet SET;

/* A layer that has this in place of another layer's, and the rest from there: only its own rows are in the set. */
#if defined(CN_TILE_PRODUCTS)
#define OWN "cn_gemm_f32"
#elif defined(cn_vs32_dot2)
#define OWN "_s16"
#endif
#if !defined(OWN) || defined(CN_TILE_PRODUCTS)
#define HAS_GEMM_F32
#endif
#if !defined(OWN) || !defined(CN_TILE_PRODUCTS)
#define HAS_S16
#endif

#ifdef HAS_GEMM_F32
static size_t gemm_f32_tasks(const cn_gemm_f32_args *g) { return cn_gemm_f32_tasks(g); }
static size_t gemm_f32_lines(size_t m) {
  const size_t rows = cn_min(m, CN_GEMM_F32_MC + CN_GEMM_F32_MC / 4), lines = rows * CN_GEMM_F32_LINE;
#ifdef CN_TILE_PRODUCTS
  return cn_max(lines, cn_split_floats(rows, CN_GEMM_F32_KC));
#else
  return lines;
#endif
}
#endif

#ifdef HAS_S16
static size_t gemm_s16_tasks(const cn_gemm_s16_args *g) { return cn_gemm_s16_tasks(g); }
static size_t gemm_s16_scratch(size_t m, size_t k) { return cn_gemm_s16_scratch(m, k); }
static size_t conv_s16_tasks(const cn_conv_s16_args *a) { return cn_conv_s16_tasks(a); }
static size_t conv_s16_scratch(const cn_window *w) { return cn_conv_s16_scratch(w); }
#endif

#ifndef OWN
static size_t attention_f32_tasks(const cn_attention_f32_args *a) { return cn_attention_f32_tasks(a); }
static size_t row_codes_f32_tasks(const cn_codes_f32_args *g) { return cn_row_codes_f32_tasks(g); }
#define FEW(n)                                             \
  case n:                                                  \
    if (n <= CN_VF32_LANES) cn_few_columns_f32(g, n); \
    break;

CN_DRIVER void few_columns_f32(const cn_gemm_f32_args *g, size_t n) {
  switch (n) {
    FEW(1) FEW(2) FEW(3) FEW(4) FEW(5) FEW(6) FEW(7) FEW(8) FEW(9) FEW(10) FEW(11) FEW(12) FEW(13) FEW(14) FEW(15) FEW(16)
  }
}

static size_t thin_f32_tasks(const cn_gemm_f32_args *g) { return cn_thin_f32_tasks(g); }
static size_t conv_f32_tasks(const cn_conv_f32_args *a) { return cn_conv_f32_tasks(a); }
static size_t conv_f32_scratch(const cn_window *w) { return cn_conv_f32_scratch(w); }
static size_t conv_f32_direct_tasks(const cn_conv_f32_args *a) { return cn_conv_f32_direct_tasks(a); }
static size_t conv_f32_direct_scratch(const cn_window *w) { return cn_conv_f32_direct_scratch(w); }
static size_t depthwise_f32_tasks(const cn_depthwise_f32_args *a) { return cn_depthwise_f32_tasks(a); }
static size_t depthwise_f32_scratch(const cn_window *w) { return cn_depthwise_f32_scratch(w); }
static size_t pool_f32_tasks(const cn_pool_f32_args *a) { return cn_pool_f32_tasks(a); }
static size_t pool_f32_scratch(const cn_window *w) { return cn_pool_f32_scratch(w); }

static size_t blocked_lrn_tasks(const cn_blocked_lrn_f32_args *a) { return cn_blocked_lrn_f32_tasks(a); }
static size_t blocked_tasks(const cn_blocked_conv_f32_args *a, cn_blocked_way way) { return cn_blocked_tasks(a, way.blocks, way.pixels, way.slides); }

static BlockedRun *blocked_driver(const char *name) {
  static const struct { const char *name; BlockedRun *run; } rows[] = {
#define ROW(name) {#name, name}
      ROW(cn_blocked_conv_f32_4), ROW(cn_blocked_conv_f32_4_narrow), ROW(cn_blocked_conv_f32_3),
      ROW(cn_blocked_conv_f32_3_narrow), ROW(cn_blocked_conv_f32_2), ROW(cn_blocked_conv_f32_2_narrow),
      ROW(cn_blocked_conv_f32_1), ROW(cn_blocked_conv_f32_1_narrow), ROW(cn_blocked_plain_f32_4),
      ROW(cn_blocked_plain_f32_4_narrow), ROW(cn_blocked_plain_f32_3), ROW(cn_blocked_plain_f32_3_narrow),
      ROW(cn_blocked_plain_f32_2), ROW(cn_blocked_plain_f32_2_narrow), ROW(cn_blocked_plain_f32_1),
      ROW(cn_blocked_plain_f32_1_narrow), ROW(cn_blocked_slide_f32_c1), ROW(cn_blocked_slide_f32_c1_few),
      ROW(cn_blocked_slide_f32_c3), ROW(cn_blocked_slide_f32_c3_few), ROW(cn_blocked_slide_f32_c3s2),
      ROW(cn_blocked_groups_f32), ROW(cn_blocked_groups_f32_narrow), ROW(cn_blocked_straddle_f32),
      ROW(cn_blocked_straddle_f32_narrow), ROW(cn_blocked_slide_f32), ROW(cn_blocked_slide_f32_even),
      ROW(cn_blocked_slide_f32_few), ROW(cn_blocked_slide_f32_short), ROW(cn_blocked_slide_f32_s2),
      ROW(cn_blocked_slide_f32_s2_short), ROW(cn_blocked_groups_slide_f32), ROW(cn_blocked_groups_slide_f32_even),
      ROW(cn_blocked_groups_slide_f32_few), ROW(cn_blocked_groups_slide_f32_short), ROW(cn_blocked_groups_slide_f32_s2),
      ROW(cn_blocked_groups_slide_f32_s2_short), ROW(cn_blocked_straddle_slide_f32), ROW(cn_blocked_straddle_slide_f32_even),
      ROW(cn_blocked_straddle_slide_f32_few), ROW(cn_blocked_straddle_slide_f32_short), ROW(cn_blocked_straddle_slide_f32_s2),
      ROW(cn_blocked_straddle_slide_f32_s2_short),
#undef ROW
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].run;
  abort();
}

static size_t softmax_f32_tasks(const cn_softmax_f32_args *s) { return cn_softmax_f32_tasks(s); }
#define SHORT(n)                                                                          \
  case n:                                                                                 \
    if (n <= CN_SOFTMAX_SHORT * CN_VF32_LANES) cn_softmax_short_f32(s, n, t0, t1); \
    break;

CN_DRIVER void softmax_short_f32(const cn_softmax_f32_args *s, size_t t0, size_t t1) {
  switch (s->n) {
    SHORT(1) SHORT(2) SHORT(3) SHORT(4) SHORT(5) SHORT(6) SHORT(7) SHORT(8) SHORT(10) SHORT(15) SHORT(16) SHORT(17) SHORT(31) SHORT(49) SHORT(64) SHORT(100)
  }
}

static size_t norm_f32_tasks(const cn_norm_f32_args *a) { return cn_norm_f32_tasks(a); }
#endif

const KernelSet SET = {
#include TARGET_DEF
#ifdef OWN
    .own = OWN,
#endif
    .lanes = CN_VF32_LANES,
    .sums = CN_BLOCKED_F32_SUMS,
    .mr = CN_GEMM_F32_MR,
    .nr = CN_GEMM_F32_NR,
    .kc = CN_GEMM_F32_KC,
    .mc = CN_GEMM_F32_MC,
    .nc = CN_GEMM_F32_NC,
    .winograd_blocks = CN_WINOGRAD_BLOCKS,
    .s16_mr = CN_GEMM_S16_MR,
    .s16_nr = CN_GEMM_S16_NR,
    .pack_operand_f32 = cn_pack_operand_f32,
    .layer_selftest = layer_selftest,
    .peak_f32 = cn_peak_f32,
    .peak_read_f32 = cn_peak_read_f32,
#ifdef HAS_GEMM_F32
    .gemm_f32_tasks = gemm_f32_tasks,
    .gemm_f32_lines = gemm_f32_lines,
    .gemm_f32 = cn_gemm_f32,
#endif
#ifdef HAS_S16
    .gemm_s16_tasks = gemm_s16_tasks,
    .gemm_s16_scratch = gemm_s16_scratch,
    .gemm_s16 = cn_gemm_s16,
    .conv_s16_tasks = conv_s16_tasks,
    .conv_s16_scratch = conv_s16_scratch,
    .conv_s16 = cn_conv_s16,
#endif
#ifndef OWN
    .thin_f32_tasks = thin_f32_tasks,
    .row_f16_f32 = cn_row_f16_f32,
    .row_bf16_f32 = cn_row_bf16_f32,
    .row_codes_f32_tasks = row_codes_f32_tasks,
    .row_codes4_f32 = cn_row_codes4_f32,
    .row_codes8_f32 = cn_row_codes8_f32,
    .few_columns_f32 = few_columns_f32,
    .thin_dots_f32 = cn_thin_dots_f32,
    .thin_rows_f32 = cn_thin_rows_f32,
    .conv_f32_tasks = conv_f32_tasks,
    .conv_f32_scratch = conv_f32_scratch,
    .conv_f32 = cn_conv_f32,
    .conv_f32_direct_tasks = conv_f32_direct_tasks,
    .conv_f32_direct_scratch = conv_f32_direct_scratch,
    .conv_f32_direct = cn_conv_f32_direct,
    .depthwise_f32_tasks = depthwise_f32_tasks,
    .depthwise_f32_scratch = depthwise_f32_scratch,
    .depthwise_f32 = cn_depthwise_f32,
    .depthwise_f32_3x3s1 = cn_depthwise_f32_3x3s1,
    .depthwise_f32_3x3s2 = cn_depthwise_f32_3x3s2,
    .depthwise_f32_5x5s1 = cn_depthwise_f32_5x5s1,
    .depthwise_f32_5x5s2 = cn_depthwise_f32_5x5s2,
    .pool_f32_tasks = pool_f32_tasks,
    .pool_f32_scratch = pool_f32_scratch,
    .pool_f32 = cn_pool_f32,
    .pool_f32_2x2s2 = cn_pool_f32_2x2s2,
    .pool_f32_3x3s2 = cn_pool_f32_3x3s2,
    .blocked_tasks = blocked_tasks,
    .blocked_driver = blocked_driver,
    .winograd_f32_2x2 = cn_winograd_f32_2x2,
    .winograd_f32_4x4 = cn_winograd_f32_4x4,
    .blocked_depthwise_f32 = cn_blocked_depthwise_f32,
    .blocked_depthwise_f32_3x3s1 = cn_blocked_depthwise_f32_3x3s1,
    .blocked_depthwise_f32_3x3s2 = cn_blocked_depthwise_f32_3x3s2,
    .blocked_depthwise_f32_5x5s1 = cn_blocked_depthwise_f32_5x5s1,
    .blocked_depthwise_f32_5x5s2 = cn_blocked_depthwise_f32_5x5s2,
    .blocked_depthwise_f32_7x7s1 = cn_blocked_depthwise_f32_7x7s1,
    .tokens_depthwise_f32_3x3s1 = cn_tokens_depthwise_f32_3x3s1,
    .tokens_depthwise_f32_3x3s2 = cn_tokens_depthwise_f32_3x3s2,
    .tokens_depthwise_f32_5x5s1 = cn_tokens_depthwise_f32_5x5s1,
    .tokens_depthwise_f32_5x5s2 = cn_tokens_depthwise_f32_5x5s2,
    .tokens_depthwise_f32_7x7s1 = cn_tokens_depthwise_f32_7x7s1,
    .blocked_depthwise_pixels_f32 = cn_blocked_depthwise_pixels_f32,
    .blocked_depthwise_pixels_f32_3x3s1 = cn_blocked_depthwise_pixels_f32_3x3s1,
    .blocked_depthwise_pixels_f32_3x3s2 = cn_blocked_depthwise_pixels_f32_3x3s2,
    .blocked_depthwise_pixels_f32_5x5s1 = cn_blocked_depthwise_pixels_f32_5x5s1,
    .blocked_depthwise_pixels_f32_5x5s2 = cn_blocked_depthwise_pixels_f32_5x5s2,
    .blocked_depthwise_pixels_f32_7x7s1 = cn_blocked_depthwise_pixels_f32_7x7s1,
    .blocked_pool_f32 = cn_blocked_pool_f32,
    .blocked_pool_f32_2x2s2 = cn_blocked_pool_f32_2x2s2,
    .blocked_pool_f32_3x3s1 = cn_blocked_pool_f32_3x3s1,
    .blocked_pool_f32_3x3s2 = cn_blocked_pool_f32_3x3s2,
    .blocked_lrn_tasks = blocked_lrn_tasks,
    .blocked_lrn_f32 = cn_blocked_lrn_f32,
    .transpose_f32 = cn_transpose_f32,
    .transpose_u8 = cn_transpose_u8,
    .transpose_u16 = cn_transpose_u16,
    .row_sum_f32 = cn_row_sum_f32,
    .row_max_f32 = cn_row_max_f32,
    .softmax_f32_tasks = softmax_f32_tasks,
    .softmax_f32 = cn_softmax_f32,
    .softmax_short_f32 = softmax_short_f32,
    .softmax_short = CN_SOFTMAX_SHORT * CN_VF32_LANES,
    .norm_f32_tasks = norm_f32_tasks,
    .norm_f32 = cn_norm_f32,
    .attention_f32 = cn_attention_f32,
    .attention_spread = cn_attention_f32_spread,
    .attention_masked_spread = cn_attention_masked_f32_spread,
    .attention_f32_any = cn_attention_f32_any,
    .attention_masked_f32 = cn_attention_masked_f32,
    .attention_masked_f32_any = cn_attention_masked_f32_any,
    .attention_f32_tasks = attention_f32_tasks,
    .recurrent_f32 = cn_recurrent_f32,
#endif
};
