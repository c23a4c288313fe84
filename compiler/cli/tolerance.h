/* How far each output may be from what was recorded. */
#ifndef CASTNET_TOLERANCE_H
#define CASTNET_TOLERANCE_H

#include "cli/cli.h"
#include "cli/compare.h"

#include <jansson.h>

typedef struct Tolerances {
  Tolerance others; /* of outputs that are not named */
  struct NamedTolerance {
    Str name;
    Tolerance t;
    bool has_atol, has_rtol; /* else that of `others` */
  } *named;
  size_t n_named;
} Tolerances;

Tolerance tolerance_of(const Tolerances *t, castnet_slice output);
/* --atol, --rtol, --random, --tolerances. False after E0001 or E0601. */
bool tolerances_from_options(Cli *c, Tolerances *ret);
/* A row of --batch: "atol", "rtol", "random". False after E0001. */
bool tolerances_from_row(Cli *c, const json_t *row, Tolerances *ret);

#endif
