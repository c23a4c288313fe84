/* Measures the error of the scalar functions in units of the last place (ULP) at random arguments, against the C library in a wider type: f64,
 * and the functions of two arguments in f32 too (accuracy.c judges those of one).
 *
 *   sampled [--samples N] [--limit] [FUNCTION...]
 *
 * --limit exits 1 when a function misses the bound that docs/NUMERICS.md promises. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "interp/scalar_table.h"

typedef long double Wide;

static Wide exact_negl(Wide x) { return -x; }
static Wide exact_signl(Wide x) { return isnan(x) ? x : (Wide)((x > 0) - (x < 0)); }
static Wide exact_reciprocall(Wide x) { return 1 / x; }
static Wide exact_sigmoidl(Wide x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static Wide exact_rsqrtl(Wide x) { return 1 / sqrtl(x); }
static Wide exact_silul(Wide x) { return isinf(x) ? (x > 0 ? x : -0.0L) : x * exact_sigmoidl(x); }
static Wide exact_softplusl(Wide x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }
static Wide exact_softsignl(Wide x) { return isinf(x) ? copysignl(1, x) : x / (1 + fabsl(x)); }
static Wide exact_mishl(Wide x) {
  if (isinf(x)) return x > 0 ? x : -0.0L;
  const Wide e = expl(x < 100 ? x : 100), n = e * (e + 2);
  return x * (n / (n + 2));
}
static Wide exact_erf_sqrt2l(Wide x) { return erfl(x * 0.70710678118654752440084436210484904L); }
static Wide exact_gelul(Wide x) { return isinf(x) ? (x > 0 ? x : -0.0L) : x * erfcl(-x * 0.70710678118654752440084436210484904L) / 2; }
static Wide exact_gelu_tanhl(Wide x) {
  if (isinf(x)) return x > 0 ? x : -0.0L;
  return x * exact_sigmoidl(1.5957691216057307117597842397375L * (x + 0.044715L * x * x * x));
}

/* Bounds in ULP for f32 and f64, 0 where none is promised. */
typedef struct Row {
  ScalarFn fn;
  Wide (*one)(Wide);
  Wide (*two)(Wide, Wide);
  double bound32, bound64;
} Row;
static const Row rows[] = {
#define ACCURACY(name, parity, c, mpfr, f32, f64) {SC_##name, c##l, NULL, f32, f64},
#include "accuracy/functions.def"
#undef ACCURACY
    {SC_pow, NULL, powl, 1, 1},
    {SC_atan2, NULL, atan2l, 1, 2.5},
    {SC_fmod, NULL, fmodl, 0, 0},
};

enum { STRIP = 512 };

typedef struct Worst {
  double ulp;
  double x, y, got;
  Wide want;
  uint64_t special; /* arguments whose NaN, infinity or zero is wrong */
  double special_x, special_y;
} Worst;

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void) { /* xorshift64 (Marsaglia 2003) */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

/* Half of the arguments have any bits, half lie where networks work: magnitudes of 2^-12 to 2^7. */
static double sample(DType t) {
  const uint64_t r = random_bits();
  double d;
  float f;
  if (r >> 40 & 1) {
    const uint64_t bits = random_bits();
    const uint32_t half = (uint32_t)(bits >> 32);
    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &half, sizeof f);
    return t == DT_f32 ? (double)f : d;
  }
  d = ldexp(1 + (double)(random_bits() >> 12) * 0x1p-52, (int)(r % 20) - 12) * (r >> 41 & 1 ? -1 : 1);
  return t == DT_f32 ? (double)(float)d : d;
}

static void judge(Worst *w, DType t, double x, double y, double got, Wide want) {
  const int digits = t == DT_f32 ? 24 : 53, least = t == DT_f32 ? -125 : -1021;
  const Wide max = t == DT_f32 ? (Wide)FLT_MAX : (Wide)DBL_MAX;
  const double rounded = t == DT_f32 ? (double)(float)want : (double)want;
  int e;
  bool right = true;
  if (isnan(want) || isnan(got)) right = isnan(want) && isnan(got);
  else if (isinf(got)) right = fabsl(want) >= max && (want > 0) == (got > 0);
  else if (rounded == 0 && got == 0) right = !signbit(rounded) == !signbit(got);
  if (!right) {
    if (!w->special++) {
      w->special_x = x;
      w->special_y = y;
    }
    return;
  }
  if (isnan(got) || isinf(got) || isinf(rounded)) return;
  (void)frexpl(want, &e);
  const double ulp = (double)(fabsl((Wide)got - want) / ldexpl(1, (e < least ? least : e) - digits));
  if (ulp > w->ulp) *w = (Worst){ulp, x, y, got, want, w->special, w->special_x, w->special_y};
}

static void measure_strip(const Row *r, DType t, const double *x, const double *y, size_t n, Worst *w) {
  float xf[STRIP], yf[STRIP], outf[STRIP];
  double outd[STRIP];
  for (size_t i = 0; i < n; i++) {
    xf[i] = (float)x[i];
    yf[i] = (float)y[i];
  }
  const void *args[2] = {t == DT_f32 ? (const void *)xf : x, t == DT_f32 ? (const void *)yf : y};
  scalar_eval_strip(r->fn, t, args, t == DT_f32 ? (void *)outf : outd, n);
  for (size_t i = 0; i < n; i++) {
    const double got = t == DT_f32 ? (double)outf[i] : outd[i];
    judge(w, t, x[i], y[i], got, r->one ? r->one(x[i]) : r->two(x[i], y[i]));
  }
}

static Worst measure(const Row *r, DType t, uint64_t samples) {
  Worst w = {0};
  double x[STRIP], y[STRIP] = {0};
  for (uint64_t at = 0; at < samples; at += STRIP) {
    for (uint32_t i = 0; i < STRIP; i++) {
      x[i] = sample(t);
      if (r->two) y[i] = sample(t);
    }
    measure_strip(r, t, x, y, STRIP, &w);
  }
  return w;
}

static bool report(const Row *r, DType t, uint64_t samples) {
  const double bound = t == DT_f32 ? r->bound32 : r->bound64;
  const Worst w = measure(r, t, samples);
  printf("%-10s %s  %8.4f ULP  at %-24a", scalar_rows[r->fn].name, dtype_name(t), w.ulp, w.x);
  if (r->two) printf(" %-24a", w.y);
  printf(" got %a want %La", w.got, w.want);
  if (w.special) printf("  WRONG special values: %llu, at %a %a", (unsigned long long)w.special, w.special_x, w.special_y);
  const bool good = !w.special && (bound == 0 || w.ulp <= bound);
  printf("%s\n", good ? "" : "  MISSES its bound");
  (void)fflush(stdout);
  return good;
}

int main(int argc, char **argv) {
  uint64_t samples = 1 << 20;
  bool limit = false, named = false, good = true;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--limit")) limit = true;
    else if (!strcmp(argv[i], "--samples") && i + 1 < argc) samples = strtoull(argv[++i], NULL, 0);
    else named = true;
  }
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    bool wanted = !named;
    for (int i = 1; i < argc; i++) wanted |= !strcmp(argv[i], scalar_rows[rows[k].fn].name);
    if (!wanted) continue;
    if (rows[k].two) good &= report(&rows[k], DT_f32, samples);
    if (scalar_exists(rows[k].fn, DT_f64)) good &= report(&rows[k], DT_f64, samples);
  }
  return limit && !good ? 1 : 0;
}
