/* SPDX-License-Identifier: MIT-0 */
/* Times a model compiled by castnet: what `castnet bench` builds along, and a worker of tests/bench.
 *
 * usage: program INPUTS WEIGHTS|- COMMAND...
 *   run SECONDS      prints `batch N`, then `times` and the microseconds of each sample (of N calls)
 *   steps SECONDS    prints `step I US COUNT` for each step: its least time in a call, added up over its COUNT runs in that call
 *   peak             prints `peak GFLOP/s`, and `read BYTES GB/s` for some sizes, of all threads
 *   turns FILE       calls take the first input in turns from a file: 64-bit sizes of a set and of how many, then all sets
 *   outputs FILE     writes what the call returned
 *   serve            prints READY {...}, then answers `RUN seconds samples` on standard input with a line of times, perhaps behind `apart NS`
 * Anything but steps and peak is timed without the step hook. A pool's threads are pinned where that leaves no choice (castnet_pool_pin), and asked how far apart they
 * are before and after each measurement: run and steps print lines `apart NS`. */
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

/* Sets of values of the first input, so that a processor does not learn one: copied into its place before each call. */
static struct {
  const unsigned char *sets;
  unsigned char *to;
  size_t bytes, count, next;
} turns;

static void read_turns(const char *path) {
  uint64_t head[2];
  size_t n;
  const unsigned char *file = read_file(path, &n);
  if (n < sizeof head) die("turns are cut off");
  memcpy(head, file, sizeof head);
  turns.sets = file + sizeof head;
  turns.bytes = (size_t)head[0];
  turns.count = (size_t)head[1];
  if (!turns.bytes || turns.count != (n - sizeof head) / turns.bytes) die("turns are cut off");
  memcpy(&turns.to, model.in + model.m->in[0].value, sizeof turns.to);
}

static void take_turn(void) {
  memcpy(turns.to, turns.sets + turns.next * turns.bytes, turns.bytes);
  turns.next = turns.next + 1 == turns.count ? 0 : turns.next + 1;
}

static void one_call(void) {
  if (turns.count) take_turn();
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

/* As a caller would now and then: a virtual machine's processors move. Nanoseconds, 0 of one thread. */
static uint32_t look_around(void) {
#ifdef CHECK_THREADS
  env.line_ns = castnet_pool_line_ns(env.parallel_user);
#endif
  return env.line_ns;
}

static void print_apart(uint32_t ns, const char *end) {
  if (ns) (void)printf("apart %u%s", (unsigned)ns, end);
}

/* Returns how far apart the threads were. */
static uint32_t take_samples(size_t batch, double seconds, size_t most, double *samples, size_t *ret_n) {
  size_t n = 0;
  const uint32_t before = look_around();
  const double start = now();
  if (most > MAX_SAMPLES) most = MAX_SAMPLES;
  one_call(); /* warms caches; not counted */
  do samples[n++] = sample(batch);
  while (n < most && now() - start < seconds);
  *ret_n = n;
  const uint32_t after = look_around();
  return before > after ? before : after;
}

static double samples[MAX_SAMPLES];

static void print_samples(size_t n) {
  for (size_t i = 0; i < n; i++) (void)printf("%.4f ", samples[i] * 1e6);
  (void)printf("\n");
}

static void run(double seconds) {
  size_t n;
  const size_t batch = choose_batch();
  print_apart(take_samples(batch, seconds, MAX_SAMPLES, samples, &n), "\n");
  (void)printf("batch %zu\ntimes ", batch);
  print_samples(n);
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
  print_apart(look_around(), "\n");
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
  print_apart(look_around(), "\n");
  for (size_t i = 0; i < n_steps; i++) (void)printf("step %zu %.4f %zu\n", i, step_least[i] * 1e6, step_count[i]);
}

/* ---- the machine ---- */
#ifdef CHECK_THREADS
enum { THREADS = CHECK_THREADS };
#else
enum { THREADS = 1 };
#endif
enum { PEAK_TRIES = 40, READ_TRIES = 60, FAR_TRIES = 8 };

/* Each thread reads its own block of n floats, `rounds` times. */
struct reading {
  float (*read)(const float *p, size_t n);
  const float *at;
  size_t n, rounds;
};

static volatile float sinks[THREADS][16]; /* a line each */

static void compute(void *arg, size_t i) {
  (void)arg;
  sinks[i][0] = cn_peak_f32(PEAK_ROUNDS);
}

static void read_block(void *arg, size_t i) {
  const struct reading *r = arg;
  for (size_t k = 0; k < r->rounds; k++) sinks[i][0] = r->read(r->at + i * r->n, r->n);
}

/* The least time in which every thread does its part. The first tries wake them. */
static double least_time(void (*part)(void *arg, size_t i), void *arg, int tries) {
  double best = 1e9;
  for (int i = 0; i < tries; i++) {
    const double start = now();
    if (!env.parallel_for) part(arg, 0);
    else if (env.parallel_for(env.parallel_user, THREADS, part, arg)) die("the pool failed");
    const double t = now() - start;
    if (t < best) best = t;
  }
  return best;
}

static void peak(void) {
  static const size_t sizes[] = {(size_t)1 << 18, (size_t)1 << 22, ((size_t)1 << 28) / THREADS / 4096 * 4096};
  (void)printf("peak %.3f\n", 1e-9 * THREADS * PEAK_ROUNDS * cn_peak_round_f32() / least_time(compute, NULL, PEAK_TRIES));
  struct block b = block_new(sizes[2] * THREADS, 64);
  memset(b.at, 0, sizes[2] * THREADS);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    struct reading r = {cn_peak_read_f32, (const float *)(const void *)b.at, sizes[k] / sizeof(float), sizes[1] > sizes[k] ? sizes[1] / sizes[k] : 1};
    const double one = least_time(read_block, &r, k < 2 ? READ_TRIES : FAR_TRIES);
    r.read = cn_peak_streams_f32;
    const double four = least_time(read_block, &r, k < 2 ? READ_TRIES : FAR_TRIES), t = (four < one ? four : one) / (double)r.rounds;
    (void)printf("read %zu %.3f\n", sizes[k] * THREADS, 1e-9 * THREADS * (double)sizes[k] / t);
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
    size_t n;
    print_apart(take_samples(batch, seconds, most > 0 ? (size_t)most : 1, samples, &n), " ");
    print_samples(n);
    (void)fflush(stdout);
  }
}

int main(int argc, char **argv) {
  if (argc < 4) die("usage: program INPUTS WEIGHTS|- COMMAND...");
  model = call_open(0, argv[1]);
  env = env_new(model.m, strcmp(argv[2], "-") == 0 ? NULL : argv[2]);
#ifdef CHECK_THREADS
  (void)castnet_pool_pin(env.parallel_user);
#endif
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
    else if (more && strcmp(argv[i], "turns") == 0) read_turns(argv[++i]);
    else if (more && strcmp(argv[i], "outputs") == 0) write_results(argv[++i]);
    else if (more && strcmp(argv[i], "run") == 0) run(strtod(argv[++i], NULL));
    else if (more && strcmp(argv[i], "steps") == 0) steps(strtod(argv[++i], NULL));
    else die("no such command");
  }
  if (fflush(stdout) != 0) die("cannot write");
  _Exit(0); /* what was allocated is left as it is */
}
