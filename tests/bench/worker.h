/*
 * worker.h - what the benchmark workers of other engines share: inputs, checksum, timing.
 *
 * A worker is a process that holds one model in one engine. The driver
 * (tests/bench/run.py) starts one worker per engine and lets them run in turns, so that
 * competitors see the same state of the machine and never share a thread pool.
 *
 * Protocol, one line each way:
 *
 *   worker -> driver   READY {"load_s":..,"rss_kb":..,"peak_kb":..,
 *                             "batch":..,"checksum":..}
 *                      once, after the model is loaded and has run once
 *   driver -> worker   RUN <seconds> <max samples>
 *   worker -> driver   <t1> <t2> ... <tn>     microseconds for one inference
 *   driver closes the pipe: the worker leaves
 *
 * Anything a worker prints before READY is ignored, so chatty engines are fine.
 * A worker in any language may join, if it fills its inputs with the formula
 * of worker_fill and sums its outputs with the formula of worker_checksum.
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

/* The element types that models of this benchmark take or return. */
enum worker_type {
  WORKER_F32,
  WORKER_F64,
  WORKER_I8,
  WORKER_U8,
  WORKER_I32,
  WORKER_I64,
  WORKER_BOOL,
  WORKER_UNSUPPORTED
};

static inline double worker_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void worker_die(const char *engine, const char *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", engine, what, why ? why : "unknown error");
  exit(3);
}

/* SplitMix64 (Steele, Lea, Flood 2014), one sequence through all inputs: the numbers of compiler/cli/made_inputs.c. */
static inline uint64_t worker_random(void) {
  static uint64_t state = 1;
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static inline double worker_unit(uint64_t r) { return (double)(r >> 11) * 0x1p-52 - 1.0; }

static inline size_t worker_type_size(enum worker_type type) {
  switch (type) {
  case WORKER_F64:
  case WORKER_I64: return 8;
  case WORKER_F32:
  case WORKER_I32: return 4;
  default: return 1;
  }
}

/* Floats in [-1, 1), integers 0 to 7, since they may be indices; inputs in their order. */
static inline void worker_fill(enum worker_type type, void *data, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint64_t r = worker_random();
    switch (type) {
    case WORKER_F32: ((float *)data)[i] = (float)worker_unit(r); break;
    case WORKER_F64: ((double *)data)[i] = worker_unit(r); break;
    case WORKER_I64: ((int64_t *)data)[i] = (int64_t)(r & 7); break;
    case WORKER_I32: ((int32_t *)data)[i] = (int32_t)(r & 7); break;
    case WORKER_I8: ((int8_t *)data)[i] = (int8_t)(r & 7); break;
    case WORKER_U8: ((uint8_t *)data)[i] = (uint8_t)(r & 7); break;
    case WORKER_BOOL: ((uint8_t *)data)[i] = (uint8_t)(r & 1); break;
    default: worker_die("worker", "input", "element type not supported");
    }
  }
}

static inline double worker_element(enum worker_type type, const void *data, size_t i) {
  switch (type) {
  case WORKER_F32: return (double)((const float *)data)[i];
  case WORKER_F64: return ((const double *)data)[i];
  case WORKER_I64: return (double)((const int64_t *)data)[i];
  case WORKER_I32: return (double)((const int32_t *)data)[i];
  case WORKER_I8: return (double)((const int8_t *)data)[i];
  case WORKER_U8:
  case WORKER_BOOL: return (double)((const uint8_t *)data)[i];
  default: worker_die("worker", "output", "element type not supported");
  }
  return 0.0;
}

/*
 * Weighted sum of magnitudes of one output; a model's checksum is the sum over
 * its outputs. Magnitudes, so that errors cannot cancel; weights, so that a
 * permuted output is noticed.
 */
static inline double worker_checksum(enum worker_type type, const void *data, size_t count) {
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) sum += fabs(worker_element(type, data, i)) * (double)(1 + i % 7);
  return sum;
}

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
  for (int i = 0; i < batch; i++) run();
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
static inline int worker_serve(void (*run)(void), double load_seconds, double checksum) {
  static double samples[WORKER_MAX_SAMPLES];
  int batch = worker_choose_batch(run);

  printf("READY {\"load_s\":%.4f,\"rss_kb\":%ld,\"peak_kb\":%ld,\"batch\":%d,\"checksum\":%.9g}\n", load_seconds,
         worker_memory_kb("VmRSS:"), worker_memory_kb("VmHWM:"), batch, checksum);
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
