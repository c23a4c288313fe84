/* What the parts of `castnet bench` share. */
#ifndef CASTNET_BENCH_H
#define CASTNET_BENCH_H

#include "cli/builder.h"

enum { BENCH_READS = 8 };

/* What the program of templates/bench.c measured. */
typedef struct BenchResult {
  const char *model, *target, *level; /* level: of the target's, the one that ran; the target where it has none */
  const castnet *compiled;
  double *times; /* [n_times] microseconds of a call, ascending */
  size_t n_times, batch;
  double *steps; /* [n_steps] microseconds, as castnet_get_step counts; 0 where a step did not run */
  size_t n_steps;
  uint64_t threads;
  double near, far; /* nanoseconds that a cache line took between the threads and back, least and most of what was asked; 0: one thread */
  double peak; /* GFLOP/s of all threads */
  struct { double bytes, rate; } reads[BENCH_READS]; /* GB/s from a block of so many bytes, ascending */
  size_t n_reads;
} BenchResult;

/* Microseconds that a step of these costs needs at least on this machine. */
double bench_limit(const BenchResult *r, double macs, double bytes);

void bench_print(const BenchResult *r, StrBuf *b);
void bench_print_json(const BenchResult *r, StrBuf *b);

#endif
