/* What a step costs, from its sizes alone: for `castnet bench` and reports. */
#ifndef CASTNET_COST_H
#define CASTNET_COST_H

#include "lower/program.h"

typedef struct StepCost {
  const Dim *macs;  /* multiply-accumulates of products, convolutions and recurrent layers; zero for the others */
  const Dim *bytes; /* read and written once: operands, weights, results */
} StepCost;

StepCost step_cost(const Program *p, const Step *s);
/* In words: the types of the nodes that it computes, in order; what computes them ("conv winograd 4x4"). */
Str step_ops(Arena *a, const Step *s);
Str step_how(Arena *a, const Step *s);

#endif
