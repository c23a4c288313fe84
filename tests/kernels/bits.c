/* The scalar functions give the same bits with every compiler, optimisation, instruction set and byte order: a hash of results on
 * a fixed sequence of arguments for each row and type, compared with bits.def. `bits --print` writes that file; `bits --needs FEATURE...`
 * skips (77) on a CPU without these. */
#include <stdio.h>

#include "cpu.h"
#include "interp/scalar_table.h"

enum { N = 4096 };

typedef struct Bits {
  ScalarFn fn;
  DType type;
  uint64_t hash;
} Bits;
static const Bits expected[] = {
#define BITS(fn, type, hash) {SC_##fn, DT_##type, UINT64_C(hash)},
#include "bits.def"
#undef BITS
};

static uint64_t next(uint64_t *s) { /* xorshift64 (Marsaglia 2003) */
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

/* Any bits, every second time with an exponent near 0. */
static void fill(DType t, uint64_t *s, void *out) {
  float *f = out;
  double *d = out;
  uint8_t *b = out;
  for (size_t i = 0; i < N; i++) {
    const uint64_t r = next(s);
    const uint32_t u = i & 1 ? (uint32_t)(r >> 32) : (uint32_t)(r >> 32 & 0x807fffff) | (uint32_t)(112 + r % 24) << 23;
    const uint64_t w = i & 1 ? r : (r & UINT64_C(0x800fffffffffffff)) | (uint64_t)(1000 + (r >> 52) % 40) << 52;
    if (t == DT_f32) memcpy(f + i, &u, sizeof u);
    else if (t == DT_f64) memcpy(d + i, &w, sizeof w);
    else if (t == DT_b1) b[i] = r >> 40 & 1;
    else cast_eval_strip(DT_u64, t, true, &r, b + i * dtype_strip_size(t), 1);
  }
}

/* As a number, whatever the byte order; all NaN alike. */
static uint64_t value_bits(DType t, const void *p) {
  uint64_t w = 0;
  uint32_t u = 0;
  if (t == DT_f64) {
    memcpy(&w, p, sizeof w);
    return (w & INT64_MAX) > UINT64_C(0x7ff0000000000000) ? 1 : w;
  }
  if (t == DT_f32) {
    memcpy(&u, p, sizeof u);
    return (u & INT32_MAX) > 0x7f800000u ? 1 : u;
  }
  cast_eval_strip(t, DT_u64, true, p, &w, 1);
  return w;
}

static uint64_t hash_row(ScalarFn fn, DType t) {
  static uint64_t arg[3][N], out[N];
  uint64_t state = 88172645463325252u, hash = 1;
  for (unsigned k = 0; k < scalar_rows[fn].arity; k++) fill(fn == SC_select && k == 0 ? DT_b1 : t, &state, arg[k]);
  const void *args[3] = {arg[0], arg[1], arg[2]};
  scalar_eval_strip(fn, t, args, out, N);
  const DType r = scalar_result(fn, t);
  for (size_t i = 0; i < N; i++) {
    hash = (hash ^ value_bits(r, (const char *)out + i * dtype_strip_size(r))) * UINT64_C(0x100000001b3);
    hash ^= hash >> 29;
  }
  return hash;
}

/* Strings are not drawn here: what compares them is held to Python's answers by tests/strings. */
static bool has_row(int fn, int t) { return t != DT_str && dtype_rows[t].kind != KIND_C && scalar_rows[fn].types >> t & 1; }

static void print_all(void) {
  printf("/* BITS(function, type, hash): written by `bits --print`. */\n");
  for (int f = 0; f < SC_COUNT; f++)
    for (int t = 0; t < DT_COUNT; t++)
      if (has_row(f, t))
        printf("BITS(%s, %s, 0x%016llx)\n", scalar_rows[f].name, dtype_name((DType)t),
               (unsigned long long)hash_row((ScalarFn)f, (DType)t));
}

int main(int argc, char **argv) {
  size_t wrong = 0, rows = 0;
  if (argc > 1 && !strcmp(argv[1], "--print")) {
    print_all();
    return 0;
  }
  for (int i = 2; i < argc && !strcmp(argv[1], "--needs"); i++)
    if (!cpu_has(argv[i], strlen(argv[i]))) return 77;
  for (int f = 0; f < SC_COUNT; f++)
    for (int t = 0; t < DT_COUNT; t++) rows += has_row(f, t);
  const size_t n = sizeof expected / sizeof *expected;
  for (size_t i = 0; i < n; i++) {
    const Bits *b = &expected[i];
    if (hash_row(b->fn, b->type) == b->hash) continue;
    printf("%s_%s: other bits than recorded\n", scalar_rows[b->fn].name, dtype_name(b->type));
    wrong++;
  }
  if (rows != n) printf("bits.def has %zu rows for %zu functions\n", n, rows);
  printf("%zu passed, %zu failed\n", n - wrong, wrong);
  return wrong || rows != n;
}
