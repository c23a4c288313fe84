/* Planning: lifetimes, in-place results, offsets of the workspace. */
#ifndef CASTNET_PLAN_H
#define CASTNET_PLAN_H

#include "lower/program.h"

typedef struct PlanOptions {
  uint64_t step_budget; /* 0: the default */
  bool reuse;           /* false: every buffer has its own place (for tests) */
  bool own_outputs;     /* all outputs lie in the workspace; else only those whose size data decide */
} PlanOptions;

/* Fills buffers' offsets and alias_of, arena_bytes, regions, peak, lower_bound. False after a diagnostic (E0501: too large). */
bool plan_program(Program *p, Diags *d, const PlanOptions *opt);

enum { NEVER = -1 };
typedef struct Life { int64_t first, last; } Life; /* steps: written, last used; first NEVER: not used */
/* The steps' own uses, by buffer. */
void plan_lives(const Program *p, Life *ret);

#endif
