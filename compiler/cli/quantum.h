/* Quantised results in a comparison: recorded numbers that lie on a grid of at most 256 levels. */
#ifndef CASTNET_QUANTUM_H
#define CASTNET_QUANTUM_H

#include "base/base.h"

/* The grid's step; 0 where there is no such grid, or too few levels to tell. */
double quantum_of(const double *x, size_t n);

/* How many of n differ by one step, and by more. */
typedef struct QuantumCount { size_t by_one, by_more; } QuantumCount;
QuantumCount quantum_count(const double *got, const double *recorded, size_t n, double quantum);

#endif
