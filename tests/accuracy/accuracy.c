/* Largest error of each scalar function of one argument over f32 arguments, all 2^32 of them or a sample, and over all arguments of f16 and
 * bf16, in units of the last place (ULP) of the exact result.
 *
 *   accuracy [--stride N] [--shard I/N] [--type f32|f16|bf16] [FUNCTION...]
 *
 * --stride N: every N-th f32 argument, and the neighbours of powers of two and of multiples of ln 2 / 2 and pi / 4, which is where range reductions
 * change; --stride 1 takes each argument. --shard 3/8: the fourth of eight equal parts. A line a function and type, columns parted by tabs:
 * name, type, error, bound, argument, result, exact value, arguments whose NaN, infinity or sign of zero is wrong.
 *
 * How an error is found: the C library's `double` functions screen. They are taken to be right to 2^-40, 2^13 times worse than the C library
 * says; MPFR confirms that at every 2^16-th argument. Where that leaves open whether an argument is worse than the worst so far, MPFR decides:
 * the printed error is MPFR's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "accuracy/reference.h"

enum { STRIP = 1024, NEIGHBOURS = 16, CONFIRM = 1 << 16 };

typedef struct Format {
  DType type;
  int digits, least, most; /* of the significand; binary exponents (frexp's) of the smallest normal and the largest number */
} Format;
static const Format formats[] = {{DT_f32, 24, -125, 128}, {DT_f16, 11, -13, 16}, {DT_bf16, 8, -125, 128}};

typedef struct Worst {
  double ulp, x, got;
  double want; /* the exact value, rounded */
  uint64_t wrong; /* special values, or a reference that is not what it promises */
  double wrong_x;
} Worst;

typedef struct Run {
  const Reference *reference;
  const Format *format;
  mpfr_t x, y, got;
  uint64_t seen;
  Worst worst;
} Run;

static void run_wrong(Run *run, double x) {
  if (!run->worst.wrong++) run->worst.wrong_x = x;
}

static int exponent_of(double x, const Format *f) { /* of the binade that is the unit's */
  int e;
  (void)frexp(x, &e);
  return e < f->least ? f->least : e > f->most ? f->most : e;
}

/* The error as MPFR has it. `want` is the C library's value: MPFR's own has to be within 2^-40 of it. */
static void run_decide(Run *run, double x, double got, double want) {
  mpfr_set_d(run->x, x, MPFR_RNDN);
  run->reference->exact(run->y, run->x, MPFR_RNDN);
  const double exact = mpfr_get_d(run->y, MPFR_RNDZ);
  if (fabs(exact - want) > fabs(exact) * 0x1p-40 + 0x1p-190 && isfinite(exact)) run_wrong(run, x);
  const int e = exponent_of(exact, run->format);
  mpfr_set_d(run->got, got, MPFR_RNDN);
  mpfr_sub(run->y, run->y, run->got, MPFR_RNDN);
  mpfr_mul_2si(run->y, run->y, run->format->digits - e, MPFR_RNDN);
  const double ulp = fabs(mpfr_get_d(run->y, MPFR_RNDA));
  if (!(ulp <= run->worst.ulp)) {
    run->worst.ulp = ulp;
    run->worst.x = x;
    run->worst.got = got;
    run->worst.want = exact;
  }
}

/* An infinite result stands for the power of two beyond the largest number: right where rounding overflows, an error like any other elsewhere. */
static void run_judge(Run *run, double x, double got, double want) {
  const Format *f = run->format;
  const double beyond = ldexp(1, f->most);
  run->seen++;
  if (isnan(want) || isnan(got)) {
    if (!isnan(want) || !isnan(got)) run_wrong(run, x);
    return;
  }
  if (got == 0 || want == 0) {
    if (!signbit(got) != !signbit(want)) run_wrong(run, x);
  }
  if (isinf(got)) {
    if ((got > 0) == (want > 0) && fabs(want) >= beyond) return;
    got = copysign(beyond, got);
  }
  if (isinf(x)) {
    if (fabs(got - want) > fabs(want) * ldexp(1, -f->digits)) run_wrong(run, x);
    return;
  }
  /* What is no more than 2^-40 above a power of two may lie below it, where the unit is half as large. */
  const double error = ldexp(fabs(got - want), f->digits - exponent_of(want * (1 - 0x1p-39), f));
  if (error != 0 && error + 0x1p-14 > run->worst.ulp) run_decide(run, x, got, want);
  else if (run->seen % CONFIRM == 0) run_decide(run, x, got, want);
}

static void run_strip(Run *run, const uint32_t *bits, size_t n) {
  const DType t = run->format->type;
  float x[STRIP], got[STRIP];
  uint16_t narrow[STRIP];
  for (size_t i = 0; i < n; i++) narrow[i] = (uint16_t)bits[i];
  if (t == DT_f32) memcpy(x, bits, n * sizeof *x);
  else cast_eval_strip(t, DT_f32, false, narrow, x, n);
  const void *args[1] = {x};
  scalar_eval_strip(run->reference->fn, DT_f32, args, got, n);
  if (t != DT_f32) {
    cast_eval_strip(DT_f32, t, false, got, narrow, n);
    cast_eval_strip(t, DT_f32, false, narrow, got, n);
  }
  for (size_t i = 0; i < n; i++) run_judge(run, (double)x[i], (double)got[i], run->reference->screen((double)x[i]));
}

static void run_range(Run *run, uint64_t first, uint64_t end, uint64_t stride) {
  uint32_t bits[STRIP];
  for (uint64_t at = first; at < end;) {
    size_t n = 0;
    for (; n < STRIP && at < end; at += stride) bits[n++] = (uint32_t)at;
    run_strip(run, bits, n);
  }
}

static void run_near(Run *run, double x) {
  const float f = (float)x;
  uint32_t bits, near[2 * NEIGHBOURS + 1];
  memcpy(&bits, &f, sizeof bits);
  for (uint32_t i = 0; i <= 2 * NEIGHBOURS; i++) near[i] = bits + i - NEIGHBOURS;
  run_strip(run, near, 2 * NEIGHBOURS + 1);
}

static void run_neighbourhoods(Run *run) {
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int e = -150; e <= 128; e++) run_near(run, ldexp(sign, e));
    for (int k = 1; k <= 320; k++) {
      run_near(run, sign * k * 0.34657359027997265471);
      run_near(run, sign * k * 0.78539816339744830962);
    }
  }
}

typedef struct Options {
  uint64_t stride, shard, n_shards;
  const char *type;
} Options;

static bool function_run(const Reference *r, const Format *f, const Options *o) {
  Run run = {.reference = r, .format = f};
  mpfr_inits2(REFERENCE_BITS, run.x, run.y, run.got, (mpfr_ptr)NULL);
  const uint64_t all = f->type == DT_f32 ? UINT64_C(1) << 32 : UINT64_C(1) << 16, stride = f->type == DT_f32 ? o->stride : 1;
  run_range(&run, all / o->n_shards * o->shard, o->shard + 1 == o->n_shards ? all : all / o->n_shards * (o->shard + 1), stride);
  if (stride > 1 && o->shard == 0) run_neighbourhoods(&run);
  mpfr_clears(run.x, run.y, run.got, (mpfr_ptr)NULL);
  const Worst *w = &run.worst;
  const double bound = f->type == DT_f32 ? r->bound32 : narrow_bound;
  printf("%s\t%s\t%.6f\t%g\t%a\t%a\t%a\t%llu", scalar_rows[r->fn].name, dtype_name(f->type), w->ulp, bound, w->x, w->got, w->want,
         (unsigned long long)w->wrong);
  if (w->wrong) printf("\tfirst at %a", w->wrong_x);
  printf("\n");
  (void)fflush(stdout);
  return w->ulp <= bound && !w->wrong;
}

static bool options_read(Options *o, int argc, char **argv, int *ret_first) {
  int i = 1;
  *o = (Options){4999, 0, 1, NULL};
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (!strcmp(argv[i], "--stride")) o->stride = strtoull(argv[i + 1], NULL, 10);
    else if (!strcmp(argv[i], "--type")) o->type = argv[i + 1];
    else if (!strcmp(argv[i], "--shard")) {
      char *end;
      o->shard = strtoull(argv[i + 1], &end, 10);
      o->n_shards = *end == '/' ? strtoull(end + 1, NULL, 10) : 0;
    } else return false;
  }
  *ret_first = i;
  return o->stride && o->shard < o->n_shards && (i == argc || argv[i][0] != '-');
}

int main(int argc, char **argv) {
  Options o;
  int first;
  bool good = true;
  if (!options_read(&o, argc, argv, &first)) {
    fprintf(stderr, "usage: accuracy [--stride N] [--shard I/N] [--type f32|f16|bf16] [FUNCTION...]\n");
    return 2;
  }
  for (size_t k = 0; k < n_references; k++) {
    bool wanted = first == argc;
    for (int i = first; i < argc; i++) wanted |= !strcmp(argv[i], scalar_rows[references[k].fn].name);
    for (size_t f = 0; wanted && f < sizeof formats / sizeof *formats; f++) {
      if (!o.type || !strcmp(o.type, dtype_name(formats[f].type))) good &= function_run(&references[k], &formats[f], &o);
    }
  }
  return good ? 0 : 1;
}
