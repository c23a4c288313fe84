/* What the files of kernel_rows.h share. Include a SIMD layer first. */
#ifndef KERNEL_ROWS_PRIVATE_H
#define KERNEL_ROWS_PRIVATE_H

#include "kernel_rows.h"

enum { MOST_BUFFERS = 16 };

typedef struct Bench {
  const KernelSet *s;
  int repeats;
  double peak, near, far; /* GFLOP/s, GB/s from blocks of 256 KiB and of more */
  double turns;           /* how often the next row reads its bytes */
  void *buffers[MOST_BUFFERS];
  size_t n_buffers;
} Bench;

/* Floats of a buffer until the end of the next row. */
float *bench_room(Bench *b, size_t n);

/* Measures and prints a run; bytes: read and written once. */
void bench_row(Bench *b, const char *kernel, const char *what, double flop, double bytes, void (*run)(const KernelSet *s, const void *job), const void *job);

/* Convolutions and pools: blocked channels, then plain ones. */
void bench_windows(Bench *b);
/* Products and convolutions of 8 bits. */
void bench_integers(Bench *b);

#endif
