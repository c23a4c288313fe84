/* Comparing what generated code computed with what was recorded. */
#ifndef CASTNET_COMPARE_H
#define CASTNET_COMPARE_H

#include "base/diag.h"
#include "cli/quantum.h"
#include "frontend/model.h"

/* |a - b| <= atol + rtol * |b| for floats, b being recorded; all else exactly. NaN equals NaN, infinities themselves. */
typedef struct Tolerance {
  double atol, rtol;
  bool random; /* only type and shape */
} Tolerance;

typedef struct Comparison {
  bool ok, random;         /* random: only type and shape were looked at */
  double max_abs, max_rel; /* of the floats that differ at all; infinite where one is not finite */
  size_t n, n_bad;
  double quantum;          /* of a quantised tensor's recorded grid, else 0: */
  QuantumCount quanta;     /* how many elements are off by it */
  Str why;                 /* what differs, one line; empty when ok */
} Comparison;

void compare_values(Arena *a, Diags *d, const OnnxValue *got, const OnnxValue *want, const Tolerance *t, Comparison *ret);

#endif
