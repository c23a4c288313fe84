/* Rows of bench_kernels for each kernel of runtime-lite/kernels.def. Include a SIMD layer first. */
#ifndef KERNEL_ROWS_H
#define KERNEL_ROWS_H

#include "check.h"

/* Prints the best of `repeats` runs of every kernel of a target with its share of what bounds it: the FMA peak (GFLOP/s), or the read rate of
 * the cache that holds so many bytes. Returns how many kernels of the table have no row. */
size_t kernel_rows(const KernelSet *s, int repeats, double peak);

double bench_now(void);

/* n floats on a line of their own. */
float *bench_values(size_t n);

#endif
