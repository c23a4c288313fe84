/* Lowering: graph to program. */
#ifndef CASTNET_LOWER_H
#define CASTNET_LOWER_H

#include "base/target.h"
#include "lower/program.h"

typedef struct LowerOptions {
  bool fuse;             /* false: each graph node its own steps (the reference program) */
  bool winograd;         /* convolutions may be computed by tiles */
  bool shared;           /* steps will run in shares, where that is worth it */
  bool fixed_weights;    /* nobody replaces constants: they may be relied on */
  bool flush_subnormals; /* calls take subnormal numbers as zero */
  const Target *target; /* whose kernels' packing and tiles */
} LowerOptions;

/* NULL after diagnostics. */
Program *lower_graph(Arena *a, Ir *ir, const LowerOptions *opt);

#endif
