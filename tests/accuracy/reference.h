/* The functions of functions.def by other means: in the C library's `double` for screening, in MPFR for decisions. */
#ifndef ACCURACY_REFERENCE_H
#define ACCURACY_REFERENCE_H

#include <mpfr.h>

#include "interp/scalar_table.h"

typedef enum Parity { NEITHER, EVEN, ODD } Parity;

typedef struct Reference {
  ScalarFn fn;
  Parity parity;
  void (*screen)(const float *x, double *want, size_t n);  /* within SCREEN_ERROR of the exact value, or within SCREEN_TINY */
  void (*judged)(const float *x, float *got, size_t n);    /* castnet's function */
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);         /* finite arguments; the result's precision is REFERENCE_BITS */
  double bound32;
} Reference;

#define SCREEN_ERROR 0x1p-43
#define SCREEN_TINY 0x1p-190

enum { REFERENCE_BITS = 256 };

extern const Reference references[];
extern const size_t n_references;
extern const double narrow_bound; /* for f16 and bf16 */

typedef struct WorstArgument {
  ScalarFn fn;
  double x;
} WorstArgument;
extern const WorstArgument worst_arguments[];
extern const size_t n_worst_arguments;

#endif
