/* The functions of functions.def by other means: in the C library's `double` for screening, in MPFR for decisions. */
#ifndef ACCURACY_REFERENCE_H
#define ACCURACY_REFERENCE_H

#include <mpfr.h>

#include "interp/scalar_table.h"

typedef struct Reference {
  ScalarFn fn;
  double (*screen)(double);                         /* relative error far below 2^-40, or absolute error far below 2^-190 */
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);  /* finite arguments; the result's precision is REFERENCE_BITS */
  double bound32;
} Reference;

enum { REFERENCE_BITS = 256 };

extern const Reference references[];
extern const size_t n_references;
extern const double narrow_bound; /* for f16 and bf16 */

#endif
