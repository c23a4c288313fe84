/* Largest error of each scalar function of one argument over f32 arguments, all 2^32 of them or a sample, and over all arguments of f16 and
 * bf16, in units of the last place (ULP) of the exact result.
 *
 *   accuracy [--stride N] [--shard I/N] [--type f32|f16|bf16] [FUNCTION...]
 *
 * --stride N: every N-th f32 argument, and the neighbours of powers of two and of multiples of ln 2 / 2 and pi / 4, which is where range reductions
 * change, and those of worst.def; --stride 1 takes each argument. --shard 3/8: the fourth of eight equal parts. A line a function and type,
 * columns parted by tabs: name, type, error, bound, argument, result, exact value, arguments whose NaN, infinity, sign of zero or symmetry is
 * wrong or whose reference is, the largest relative error of the reference that MPFR saw in units of 2^-53.
 *
 * How an error is found, and why what is printed is the largest: docs/NUMERICS.md, section Accuracy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "accuracy/reference.h"
#include "accuracy/strips.h"

enum { STRIP = 1024, NEIGHBOURS = 16, SAMPLE = 49999 };
/* Arguments from one that MPFR confirms to the next, of all and of a sample: primes, so that significands have all kinds of last bits. */
enum { CONFIRM = 16381, CONFIRM_SAMPLE = 251 };

typedef struct Format {
  DType type;
  int digits, least, most; /* of the significand; binary exponents (frexp's) of the smallest normal and the largest number */
} Format;
static const Format formats[] = {{DT_f32, 24, -125, 128}, {DT_f16, 11, -13, 16}, {DT_bf16, 8, -125, 128}};

/* More than the reference's error can be, in ULP: 2^-43 of a number below 2^digits units, and the roundings of strip_open. */
static const double open_margin = 0x1p-18;

typedef struct Worst {
  double ulp, x, got;
  double want; /* the exact value, rounded */
  uint64_t wrong; /* special values, signs, or a reference that is not what it promises */
  double wrong_x;
  double screen; /* the reference's largest relative error among those that MPFR saw */
} Worst;

typedef struct Run {
  const Reference *reference;
  const Format *format;
  StripFormat strip;
  mpfr_t x, y, got;
  uint64_t confirm, next; /* every how many arguments MPFR confirms the reference; how many from now on */
  Worst worst;
} Run;

static void run_wrong(Run *run, double x) {
  if (!run->worst.wrong++) run->worst.wrong_x = x;
}

/* How far the reference `want` is from the exact value y, other than a tiny absolute error. */
static void run_check_screen(Run *run, double x, double want) {
  mpfr_d_sub(run->got, want, run->y, MPFR_RNDN);
  if (fabs(mpfr_get_d(run->got, MPFR_RNDA)) <= SCREEN_TINY) return;
  mpfr_div(run->got, run->got, run->y, MPFR_RNDN);
  const double error = fabs(mpfr_get_d(run->got, MPFR_RNDA));
  if (!(error <= run->worst.screen)) run->worst.screen = error;
  if (!(error <= SCREEN_ERROR)) run_wrong(run, x);
}

/* The error as MPFR has it, for finite x and got. */
static void run_decide(Run *run, double x, double got, double want) {
  const Format *f = run->format;
  mpfr_set_d(run->x, x, MPFR_RNDN);
  run->reference->exact(run->y, run->x, MPFR_RNDN);
  if (mpfr_number_p(run->y)) run_check_screen(run, x, want);
  const double exact = mpfr_get_d(run->y, MPFR_RNDN);
  const int64_t e = mpfr_regular_p(run->y) ? (int64_t)mpfr_get_exp(run->y) : f->least; /* of the binade that is the unit's */
  mpfr_set_d(run->got, got, MPFR_RNDN);
  mpfr_sub(run->y, run->y, run->got, MPFR_RNDN);
  mpfr_mul_2si(run->y, run->y, f->digits - (long)(e < f->least ? f->least : e > f->most ? f->most : e), MPFR_RNDN);
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
  } else {
    run_decide(run, x, got, want);
  }
}

/* Results in f32 of a strip of arguments; narrow ones are cast to and fro. */
static void run_evaluate(const Run *run, const uint32_t *bits, float *ret_x, float *ret_got, size_t n) {
  const DType t = run->format->type;
  uint16_t narrow[STRIP];
  if (t == DT_f32) {
    memcpy(ret_x, bits, n * sizeof *ret_x);
    run->reference->judged(ret_x, ret_got, n);
    return;
  }
  for (size_t i = 0; i < n; i++) narrow[i] = (uint16_t)bits[i];
  cast_eval_strip(t, DT_f32, false, narrow, ret_x, n);
  const void *args[1] = {ret_x};
  scalar_eval_strip(run->reference->fn, DT_f32, args, ret_got, n);
  cast_eval_strip(DT_f32, t, false, ret_got, narrow, n);
  cast_eval_strip(t, DT_f32, false, narrow, ret_got, n);
}

/* That the results at -x are those at x, but for the sign of an odd function. */
static void run_mirror(Run *run, const float *x, const float *got, size_t n) {
  const uint32_t flip = run->reference->parity == ODD ? 0x80000000u : 0;
  float minus_x[STRIP], mirrored[STRIP];
  for (size_t i = 0; i < n; i++) minus_x[i] = -x[i];
  run->reference->judged(minus_x, mirrored, n);
  if (!strip_asymmetric(got, mirrored, flip, n)) return;
  for (size_t i = 0; i < n; i++)
    if (strip_asymmetric(got + i, mirrored + i, flip, 1)) run_wrong(run, (double)-x[i]);
}

static void run_strip(Run *run, const uint32_t *bits, size_t n, bool mirror) {
  float x[STRIP], got[STRIP];
  double want[STRIP];
  run_evaluate(run, bits, x, got, n);
  if (mirror) run_mirror(run, x, got, n);
  run->reference->screen(x, want, n);
  for (; run->next < n; run->next += run->confirm) {
    const size_t i = run->next;
    if (isfinite(x[i]) && isfinite(got[i]) && !isnan(want[i])) run_decide(run, (double)x[i], (double)got[i], want[i]);
  }
  run->next -= n;
  const double limit = run->worst.ulp > 2 * open_margin ? run->worst.ulp - open_margin : open_margin;
  if (!strip_open(&run->strip, got, want, limit, n)) return;
  for (size_t i = 0; i < n; i++) {
    const double left = run->worst.ulp > 2 * open_margin ? run->worst.ulp - open_margin : open_margin;
    if (strip_open(&run->strip, got + i, want + i, left, 1)) run_judge(run, (double)x[i], (double)got[i], want[i]);
  }
}

static void run_range(Run *run, uint64_t first, uint64_t end, uint64_t stride, bool mirror) {
  uint32_t bits[STRIP];
  for (uint64_t at = first; at < end;) {
    size_t n = 0;
    for (; n < STRIP && at < end; at += stride) bits[n++] = (uint32_t)at;
    run_strip(run, bits, n, mirror);
  }
}

static void run_near(Run *run, double x) {
  const float f = (float)x;
  uint32_t bits, near[2 * NEIGHBOURS + 1];
  memcpy(&bits, &f, sizeof bits);
  for (uint32_t i = 0; i <= 2 * NEIGHBOURS; i++) near[i] = bits + i - NEIGHBOURS;
  run_strip(run, near, 2 * NEIGHBOURS + 1, false);
}

static void run_neighbourhoods(Run *run) {
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int e = -150; e <= 128; e++) run_near(run, ldexp(sign, e));
    for (int k = 1; k <= 320; k++) {
      run_near(run, sign * k * 0.34657359027997265471);
      run_near(run, sign * k * 0.78539816339744830962);
    }
  }
  run_near(run, 0);
  for (size_t i = 0; i < n_worst_arguments; i++)
    if (worst_arguments[i].fn == run->reference->fn) run_near(run, worst_arguments[i].x);
}

typedef struct Options {
  uint64_t stride, shard, n_shards;
  const char *type;
} Options;

/* All f32 arguments of a shard: half of them where the function's symmetry gives the others. */
static void run_all(Run *run, const Options *o) {
  const bool mirror = run->reference->parity != NEITHER;
  const uint64_t all = UINT64_C(1) << (mirror ? 31 : 32), part = all / o->n_shards;
  run->confirm = CONFIRM;
  run_range(run, part * o->shard, o->shard + 1 == o->n_shards ? all : part * (o->shard + 1), 1, mirror);
}

static bool function_run(const Reference *r, const Format *f, const Options *o) {
  const bool wide = f->type == DT_f32;
  Run run = {.reference = r, .format = f, .strip = {ldexp(1, f->least - 1), ldexp(1, f->most - 1), ldexp(1, f->digits - 1)}};
  run.confirm = CONFIRM_SAMPLE;
  mpfr_inits2(REFERENCE_BITS, run.x, run.y, run.got, (mpfr_ptr)NULL);
  /* A sample goes first in any case: with an error near the worst, few arguments of the rest can exceed it and have to be decided by MPFR. */
  run_range(&run, 0, UINT64_C(1) << (wide ? 32 : 16), wide ? o->stride > 1 ? o->stride : SAMPLE : 1, false);
  if (wide) run_neighbourhoods(&run);
  if (wide && o->stride == 1) run_all(&run, o);
  mpfr_clears(run.x, run.y, run.got, (mpfr_ptr)NULL);
  const Worst *w = &run.worst;
  const double bound = wide ? r->bound32 : narrow_bound;
  printf("%s\t%s\t%.6f\t%g\t%a\t%a\t%a\t%llu\t%.2f", scalar_rows[r->fn].name, dtype_name(f->type), w->ulp, bound, w->x, w->got, w->want,
         (unsigned long long)w->wrong, w->screen * 0x1p53);
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
      if (formats[f].type != DT_f32 && o.shard) continue; /* the first shard judges all 65,536 arguments */
      if (!o.type || !strcmp(o.type, dtype_name(formats[f].type))) good &= function_run(&references[k], &formats[f], &o);
    }
  }
  return good ? 0 : 1;
}
