/*
 * worker.h - what the benchmark workers of other engines share: inputs, outputs, timing.
 *
 * A worker is a process that holds one model in one engine. The driver
 * (tests/bench/run.py) starts one worker per engine and lets them run in turns, so that
 * competitors see the same state of the machine and never share a thread pool.
 *
 * Protocol, one line each way:
 *
 *   worker -> driver   READY {"load_s":..,"rss_kb":..,"peak_kb":..,"batch":..}
 *                      once, after the model is loaded and has run once
 *   driver -> worker   RUN <seconds> <max samples>
 *   worker -> driver   <t1> <t2> ... <tn>     microseconds for one inference; castnet's own on several threads
 *                                             begins with `apart <ns>`, a cache line's way there and back
 *   driver closes the pipe: the worker leaves
 *
 * Anything a worker prints before READY is ignored, so chatty engines are fine.
 *
 * Two files, numbers of 64 bits in the machine's order. Inputs: how many; of each the name
 * (length, bytes), the element type (TensorProto.DataType), rank, sizes, elements. Outputs, written before READY,
 * in the order of the model's: rank, sizes, elements of a tensor (a string: length, bytes);
 * a sequence: how many, then each; a map: how many, the keys as a tensor, the values as one.
 */
#ifndef WORKER_H
#define WORKER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime, aligned_alloc and dlopen under -std=c11 */
#endif

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Shorter samples are batched, so that reading the clock costs under 1 %. */
#define WORKER_MIN_SAMPLE_SECONDS 5e-6
#define WORKER_MAX_SAMPLES 200000

enum { WORKER_MAX_RANK = 16, WORKER_STRING = 8 /* TensorProto.DataType */ };

static inline double worker_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void worker_die(const char *engine, const char *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", engine, what, why ? why : "unknown error");
  exit(3);
}

/* ---- inputs ---- */
struct worker_input {
  char *name;
  int type; /* TensorProto.DataType */
  size_t rank, count, bytes;
  int64_t dims[WORKER_MAX_RANK];
  void *data;     /* aligned to 64 bytes; of strings: const char *[count] */
};

struct worker_file {
  const char *engine;
  FILE *file;
};

static inline void *worker_allocate(const struct worker_file *f, size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!p) worker_die(f->engine, "memory", "out of memory");
  return p;
}

static inline void worker_take_bytes(const struct worker_file *f, void *to, size_t bytes) {
  if (bytes && fread(to, 1, bytes, f->file) != bytes) worker_die(f->engine, "inputs", "cut off");
}

static inline uint64_t worker_take(const struct worker_file *f) {
  uint64_t v;
  worker_take_bytes(f, &v, sizeof v);
  return v;
}

static inline char *worker_take_string(const struct worker_file *f) {
  const size_t n = (size_t)worker_take(f);
  char *s = worker_allocate(f, n + 1);
  worker_take_bytes(f, s, n);
  s[n] = 0;
  return s;
}

/* Bytes of an element, 0 of a type that no worker takes. */
static inline size_t worker_type_size(int type) {
  static const unsigned char sizes[] = {[1] = 4, [2] = 1, [3] = 1, [4] = 2, [5] = 2, [6] = 4, [7] = 8, [9] = 1,
                                        [10] = 2, [11] = 8, [12] = 4, [13] = 8, [16] = 2};
  return type >= 0 && (size_t)type < sizeof sizes ? sizes[type] : 0;
}

/* Inputs that calls take in turns, so that a processor does not learn one: copied into the first input's place before each. */
static struct {
  char *sets, *to;
  size_t bytes, count, next;
} worker_turns;

static inline struct worker_input worker_read_input(const struct worker_file *f) {
  struct worker_input in = {.name = worker_take_string(f)};
  in.type = (int)worker_take(f);
  in.rank = (size_t)worker_take(f);
  if (in.rank > WORKER_MAX_RANK) worker_die(f->engine, in.name, "rank too high");
  in.count = 1;
  for (size_t i = 0; i < in.rank; i++) {
    in.dims[i] = (int64_t)worker_take(f);
    in.count *= (size_t)in.dims[i];
  }
  if (in.type == WORKER_STRING) {
    char **strings = in.data = worker_allocate(f, in.count * sizeof *strings);
    for (size_t i = 0; i < in.count; i++) strings[i] = worker_take_string(f);
    return in;
  }
  if (!worker_type_size(in.type)) worker_die(f->engine, in.name, "element type not supported");
  in.bytes = in.count * worker_type_size(in.type);
  in.data = worker_allocate(f, in.bytes);
  worker_take_bytes(f, in.data, in.bytes);
  if (!worker_turns.to) worker_turns.to = in.data;
  return in;
}

static inline struct worker_file worker_open(const char *engine, const char *path, const char *mode) {
  const struct worker_file f = {engine, fopen(path, mode)};
  if (!f.file) worker_die(engine, path, "cannot be opened");
  return f;
}

/* ---- turns ---- */
/* The file that WORKER_TURNS names: the bytes of a set, then all sets. */
static inline void worker_read_turns(void) {
  const char *path = getenv("WORKER_TURNS");
  if (!path) return;
  const struct worker_file f = worker_open("turns", path, "rb");
  worker_turns.bytes = (size_t)worker_take(&f);
  worker_turns.count = (size_t)worker_take(&f);
  worker_turns.sets = worker_allocate(&f, worker_turns.bytes * worker_turns.count);
  worker_take_bytes(&f, worker_turns.sets, worker_turns.bytes * worker_turns.count);
  fclose(f.file);
}

static inline void worker_take_turn(void) {
  if (!worker_turns.count) return;
  memcpy(worker_turns.to, worker_turns.sets + worker_turns.next * worker_turns.bytes, worker_turns.bytes);
  worker_turns.next = worker_turns.next + 1 == worker_turns.count ? 0 : worker_turns.next + 1;
}

/* ---- outputs ---- */
static inline void worker_put_bytes(const struct worker_file *f, const void *from, size_t bytes) {
  if (bytes && fwrite(from, 1, bytes, f->file) != bytes) worker_die(f->engine, "outputs", "cannot be written");
}

static inline void worker_put(const struct worker_file *f, uint64_t v) { worker_put_bytes(f, &v, sizeof v); }

static inline void worker_put_shape(const struct worker_file *f, const int64_t *dims, size_t rank) {
  worker_put(f, rank);
  for (size_t i = 0; i < rank; i++) worker_put(f, (uint64_t)dims[i]);
}

static inline void worker_close(const struct worker_file *f) {
  if (fclose(f->file) != 0) worker_die(f->engine, "outputs", "cannot be written");
}

/* ---- timing ---- */
/* A "VmRSS:" or "VmHWM:" figure in KiB; 0 where the system has no /proc. */
static inline long worker_memory_kb(const char *key) {
  FILE *status = fopen("/proc/self/status", "r");
  if (!status) return 0;

  char line[256];
  long kb = 0;
  while (fgets(line, sizeof line, status))
    if (strncmp(line, key, strlen(key)) == 0) kb = atol(line + strlen(key));
  fclose(status);
  return kb;
}

/* Mean seconds per inference over `batch` inferences in a row. */
static inline double worker_sample(void (*run)(void), int batch) {
  double start = worker_now();
  for (int i = 0; i < batch; i++) {
    worker_take_turn();
    run();
  }
  return (worker_now() - start) / batch;
}

/* How many inferences make one sample long enough for the clock. */
static inline int worker_choose_batch(void (*run)(void)) {
  int batch = 1;
  while (batch < (1 << 16)) {
    double fastest = 1e9;
    for (int i = 0; i < 5; i++) fastest = fmin(fastest, worker_sample(run, batch) * batch);
    if (fastest >= WORKER_MIN_SAMPLE_SECONDS) break;
    batch *= 2;
  }
  return batch;
}

static inline int worker_collect(void (*run)(void), int batch, double seconds, int max_samples, double *samples) {
  int count = 0;
  double start = worker_now();
  run(); /* warm caches and wake sleeping threads; not counted */
  do {
    samples[count++] = worker_sample(run, batch);
  } while (count < max_samples && worker_now() - start < seconds);
  return count;
}

/*
 * Announce the model, then answer RUN lines until the driver closes the pipe.
 * `run` is one inference on inputs that stay in place; it has run once already.
 */
static inline int worker_serve(void (*run)(void), double load_seconds) {
  static double samples[WORKER_MAX_SAMPLES];
  worker_read_turns();
  int batch = worker_choose_batch(run);

  printf("READY {\"load_s\":%.4f,\"rss_kb\":%ld,\"peak_kb\":%ld,\"batch\":%d}\n", load_seconds,
         worker_memory_kb("VmRSS:"), worker_memory_kb("VmHWM:"), batch);
  fflush(stdout);

  char line[128];
  double seconds;
  int max_samples;
  while (fgets(line, sizeof line, stdin) && sscanf(line, "RUN %lf %d", &seconds, &max_samples) == 2) {
    if (max_samples > WORKER_MAX_SAMPLES) max_samples = WORKER_MAX_SAMPLES;
    int count = worker_collect(run, batch, seconds, max_samples, samples);
    for (int i = 0; i < count; i++) printf("%.4f ", samples[i] * 1e6);
    putchar('\n');
    fflush(stdout);
  }
  return 0;
}

#endif
