/* Tree ensembles as the tables of a routine (runtime-lite/ops/trees.h). */
#ifndef CASTNET_OPS_TREES_H
#define CASTNET_OPS_TREES_H

#include "ops/shared.h"
#include "ops/tree_modes.h"

typedef struct Trees {
  size_t n, n_roots, n_weights;
  int32_t *nodes;     /* [n][4] */
  double *thresholds; /* [n] */
  int32_t *roots;
  int32_t *targets;
  double *weights;
} Trees;

/* What features are compared and scores are summed in: f64 where the operand has values that f32 has not. */
DType trees_type(const OpContext *c);
/* Features of a row of operand 0, [N][F]; INT32_MAX where only the call knows. False after a diagnostic. */
bool trees_features(OpContext *c, int64_t *ret);
/* Elements of an attribute's tensor of floats. */
bool trees_reals(OpContext *c, const char *name, const OnnxTensor *t, const double **ret, size_t *ret_n);
/* Host elements as a constant [rows] (columns 0) or [rows][columns]. */
Value *trees_table(OpContext *c, DType type, size_t rows, size_t columns, const void *host);
/* Scores [N][n_targets] of type trees_type. aggregate: 0 sums, 1 the least, 2 the largest. */
Value *trees_scores(OpContext *c, const Trees *t, int64_t n_targets, int64_t aggregate);

#endif
