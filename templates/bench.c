/* SPDX-License-Identifier: MIT-0 */
/* Times a model compiled by castnet: what `castnet bench` builds along, and a worker of tests/bench.
 *
 * usage: program INPUTS WEIGHTS|- COMMAND...
 *   run SECONDS      prints `batch N`, then `times` and the microseconds of each sample (of N calls)
 *   steps SECONDS    prints `step I US COUNT` for each step: its least time in a call, added up over its COUNT runs in that call
 *   peak             prints `peak GFLOP/s`, and `read BYTES GB/s` for some sizes, of one thread
 *   outputs FILE     writes what the call returned
 *   serve            prints READY {...}, then answers `RUN seconds samples` on standard input with a line of times
 * Anything but steps and peak is timed without the step hook. */
#define _POSIX_C_SOURCE 199309L
#include "castnet_check_write.h"

#include "castnet_bench_peak.h"

#include <time.h>

enum { MAX_SAMPLES = 200000, MAX_STEPS = 65536, PEAK_ROUNDS = 100000 };
#define MIN_SAMPLE_SECONDS 5e-6 /* shorter ones are batched, so that reading the clock costs under a hundredth */

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- whole calls ---- */
static struct call model;
static castnet_env env;

static void one_call(void) {
  const int status = model.m->run(model.in, model.out, model.ws.at, model.ws.size, &env);
  if (status != CASTNET_OK) {
    (void)fprintf(stderr, "error: a call returned %d\n", status);
    exit(3);
  }
}

/* Seconds of a call, over `batch` of them. */
static double sample(size_t batch) {
  const double start = now();
  for (size_t i = 0; i < batch; i++) one_call();
  return (now() - start) / (double)batch;
}

static size_t choose_batch(void) {
  size_t batch = 1;
  for (; batch < 1 << 16; batch *= 2) {
    double least = 1e9;
    for (int i = 0; i < 5; i++) {
      const double t = sample(batch) * (double)batch;
      if (t < least) least = t;
    }
    if (least >= MIN_SAMPLE_SECONDS) break;
  }
  return batch;
}

static void print_samples(size_t batch, double seconds, size_t most) {
  static double samples[MAX_SAMPLES];
  size_t n = 0;
  const double start = now();
  if (most > MAX_SAMPLES) most = MAX_SAMPLES;
  one_call(); /* warms caches; not counted */
  do samples[n++] = sample(batch);
  while (n < most && now() - start < seconds);
  for (size_t i = 0; i < n; i++) (void)printf("%.4f ", samples[i] * 1e6);
  (void)printf("\n");
}

static void run(double seconds) {
  const size_t batch = choose_batch();
  (void)printf("batch %zu\ntimes ", batch);
  print_samples(batch, seconds, MAX_SAMPLES);
}

/* ---- by step ---- */
static double step_start, step_time[MAX_STEPS], step_least[MAX_STEPS];
static size_t step_count[MAX_STEPS], n_steps;

static void on_step(void *user, uint32_t step, int phase) {
  const double t = now();
  (void)user;
  if (step >= MAX_STEPS) return;
  if (phase == 0) {
    step_start = t;
    return;
  }
  step_time[step] += t - step_start;
  step_count[step]++;
  if (step >= n_steps) n_steps = (size_t)step + 1;
}

/* The clock's own time between two readings, which every step's time holds once. */
static double clock_cost(void) {
  double least = 1e9;
  for (int i = 0; i < 1000; i++) {
    const double t = now(), d = now() - t;
    if (d < least) least = d;
  }
  return least;
}

static void steps(double seconds) {
  const double start = now(), cost = clock_cost();
  for (size_t i = 0; i < MAX_STEPS; i++) step_least[i] = 1e9;
  env.step = on_step;
  do {
    memset(step_time, 0, n_steps * sizeof *step_time);
    memset(step_count, 0, n_steps * sizeof *step_count);
    one_call();
    for (size_t i = 0; i < n_steps; i++) {
      const double t = step_time[i] - (double)step_count[i] * cost;
      if (t < step_least[i]) step_least[i] = t < 0 ? 0 : t;
    }
  } while (now() - start < seconds);
  env.step = NULL;
  for (size_t i = 0; i < n_steps; i++) (void)printf("step %zu %.4f %zu\n", i, step_least[i] * 1e6, step_count[i]);
}

/* ---- the machine ---- */
static volatile float sink;

static void peak(void) {
  static const size_t sizes[] = {(size_t)1 << 18, (size_t)1 << 22, (size_t)1 << 28};
  double best = 1e9;
  for (int i = 0; i < 20; i++) {
    const double start = now();
    sink = cn_peak_f32(PEAK_ROUNDS);
    const double t = now() - start;
    if (t < best) best = t;
  }
  (void)printf("peak %.3f\n", 1e-9 * PEAK_ROUNDS * cn_peak_round_f32() / best);
  struct block b = block_new(sizes[2], 64);
  memset(b.at, 0, sizes[2]);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const size_t rounds = sizes[1] > sizes[k] ? sizes[1] / sizes[k] : 1;
    best = 1e9;
    for (int i = 0; i < (k < 2 ? 20 : 4); i++) {
      const double start = now();
      for (size_t r = 0; r < rounds; r++) sink = cn_peak_read_f32((const float *)(const void *)b.at, sizes[k] / sizeof(float));
      const double t = (now() - start) / (double)rounds;
      if (t < best) best = t;
    }
    (void)printf("read %zu %.3f\n", sizes[k], 1e-9 * (double)sizes[k] / best);
  }
  free(b.base);
}

/* ---- serving ---- */
static void write_results(const char *path) {
  write_begin(path);
  write_outputs(&model);
  write_end();
}

static void serve(void) {
  char line[128];
  double seconds;
  int most;
  const size_t batch = choose_batch();
  (void)printf("READY {\"batch\":%zu}\n", batch);
  (void)fflush(stdout);
  while (fgets(line, sizeof line, stdin) && sscanf(line, "RUN %lf %d", &seconds, &most) == 2) {
    print_samples(batch, seconds, most > 0 ? (size_t)most : 1);
    (void)fflush(stdout);
  }
}

int main(int argc, char **argv) {
  if (argc < 4) die("usage: program INPUTS WEIGHTS|- COMMAND...");
  model = call_open(0, argv[1]);
  env = env_new(model.m, strcmp(argv[2], "-") == 0 ? NULL : argv[2]);
  if (env.isa == 0) env.isa = model.m->detect(); /* once, as a caller should: CPUID is slow in virtual machines */
  const int status = call_model(&model, &env);
  if (status != CASTNET_OK || model.fault != FAULT_NONE) {
    (void)fprintf(stderr, "error: the call returned %d, fault %d\n", status, model.fault);
    return 3;
  }
  for (int i = 3; i < argc; i++) {
    const int more = i + 1 < argc;
    if (strcmp(argv[i], "peak") == 0) peak();
    else if (strcmp(argv[i], "serve") == 0) serve();
    else if (more && strcmp(argv[i], "outputs") == 0) write_results(argv[++i]);
    else if (more && strcmp(argv[i], "run") == 0) run(strtod(argv[++i], NULL));
    else if (more && strcmp(argv[i], "steps") == 0) steps(strtod(argv[++i], NULL));
    else die("no such command");
  }
  if (fflush(stdout) != 0) die("cannot write");
  _Exit(0); /* what was allocated is left as it is */
}
