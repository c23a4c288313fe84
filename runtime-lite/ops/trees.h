/* SPDX-License-Identifier: MIT-0 */
/* Tree ensembles (ai.onnx.ml TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble). */
#ifndef CN_OPS_TREES_H
#define CN_OPS_TREES_H

#include "base.h"
#include "ops/tree_modes.h"

/* A node: {feature, node if true, node if false, mode * 2 + where NaN counts as true}; a leaf: {first weight, weights, -, mode}. */
CN_INLINE int cn_tree_holds(float x, float threshold, int32_t kind) {
  switch (kind) {
    case CN_TREE_LEQ: return x <= threshold;
    case CN_TREE_LT: return x < threshold;
    case CN_TREE_GTE: return x >= threshold;
    case CN_TREE_GT: return x > threshold;
    case CN_TREE_EQ: return x == threshold;
    default: return x != threshold;
  }
}

/* kind: how all nodes compare, CN_TREE_LEAF where they differ. With branches: processors guess them well, and walk the next tree
 * meanwhile. */
CN_INLINE const int32_t *cn_tree_leaf(const int32_t *nodes, const float *thresholds, int32_t root, const float *x, int kind) {
  const int32_t *node = nodes + 4 * (size_t)root;
  while (node[3] >> 1 != CN_TREE_LEAF) {
    const float v = x[node[0]], threshold = thresholds[(size_t)(node - nodes) / 4];
    if (cn_tree_holds(v, threshold, kind == CN_TREE_LEAF ? node[3] >> 1 : kind)) node = nodes + 4 * (size_t)node[1];
    else node = nodes + 4 * (size_t)node[v != v ? 2 - (node[3] & 1) : 2];
  }
  return node;
}

/* Scores of one row: the sum (0), least (1) or largest (2) of the leaves' weights of each target. */
CN_INLINE void cn_tree_add(const int32_t *leaf, const int32_t *targets, const float *weights, int aggregate, unsigned char *seen, float *y) {
  for (int32_t k = 0; k < leaf[1]; k++) {
    const int32_t t = targets[leaf[0] + k];
    const float w = weights[leaf[0] + k];
    if (aggregate == 0) y[t] += w;
    else if (!seen[t] || (aggregate == 1 ? w < y[t] : w > y[t])) y[t] = w;
    seen[t] = 1;
  }
}

/* The sum of a row's only target, kept in a register. */
CN_INLINE float cn_tree_sum(const castnet_tensor *in, const float *x, int kind) {
  const float *thresholds = (const float *)in[2].data, *weights = (const float *)in[5].data;
  const int32_t *nodes = (const int32_t *)in[1].data, *roots = (const int32_t *)in[3].data;
  float sum = 0.0f;
  for (size_t t = 0; t < (size_t)in[3].dims[0]; t++) {
    const int32_t *leaf = cn_tree_leaf(nodes, thresholds, roots[t], x, kind);
    for (int32_t k = 0; k < leaf[1]; k++) sum += weights[leaf[0] + k];
  }
  return sum;
}

/* Any number of targets: y [n], seen [n]. */
CN_INLINE void cn_tree_row(const castnet_tensor *in, const float *x, int kind, int aggregate, size_t n, unsigned char *seen, float *y) {
  const float *thresholds = (const float *)in[2].data, *weights = (const float *)in[5].data;
  const int32_t *nodes = (const int32_t *)in[1].data, *roots = (const int32_t *)in[3].data, *targets = (const int32_t *)in[4].data;
  if (n == 1 && aggregate == 0) {
    y[0] = cn_tree_sum(in, x, kind);
    return;
  }
  memset(seen, 0, n);
  for (size_t t = 0; t < n; t++) y[t] = 0.0f;
  for (size_t t = 0; t < (size_t)in[3].dims[0]; t++)
    cn_tree_add(cn_tree_leaf(nodes, thresholds, roots[t], x, kind), targets, weights, aggregate, seen, y);
}

/* in: X [N][F], nodes [n][4] s32, thresholds [n], roots [trees] s32, targets [m] s32, weights [m]; out: [N][C]; attrs: aggregate,
 * features (the least F), kind as cn_tree_leaf has it; scratch: C bytes. The compiler has checked every place in the tables. */
CN_NOINLINE int cn_op_tree_ensemble(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                    size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const float *x = (const float *)in[0].data;
  const size_t rows = (size_t)in[0].dims[0], features = (size_t)in[0].dims[1], n = (size_t)out[0].dims[1];
  const int aggregate = (int)attrs[0].value.i;
  unsigned char *seen = (unsigned char *)scratch;
  float *y = (float *)out[0].data;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch_size, (void)env;
  if (in[0].dims[1] < attrs[1].value.i) return CASTNET_ERR_DIM;
  for (size_t i = 0; i < rows; i++, x += features, y += n) {
    switch (attrs[2].value.i) { /* what trainers write, with the comparison in place */
      case CN_TREE_LEQ: cn_tree_row(in, x, CN_TREE_LEQ, aggregate, n, seen, y); break;
      case CN_TREE_LT: cn_tree_row(in, x, CN_TREE_LT, aggregate, n, seen, y); break;
      default: cn_tree_row(in, x, CN_TREE_LEAF, aggregate, n, seen, y);
    }
  }
  return CASTNET_OK;
}

/* ---- the same in f64 ---- */
CN_INLINE int cn_tree_holds_f64(double x, double threshold, int32_t mode) {
  switch (mode >> 1) {
    case CN_TREE_LEQ: return x <= threshold || ((mode & 1) && x != x);
    case CN_TREE_LT: return x < threshold || ((mode & 1) && x != x);
    case CN_TREE_GTE: return x >= threshold || ((mode & 1) && x != x);
    case CN_TREE_GT: return x > threshold || ((mode & 1) && x != x);
    case CN_TREE_EQ: return x == threshold || ((mode & 1) && x != x);
    default: return x != threshold || ((mode & 1) && x != x);
  }
}

CN_INLINE const int32_t *cn_tree_leaf_f64(const int32_t *nodes, const double *thresholds, int32_t root, const double *x) {
  const int32_t *node = nodes + 4 * (size_t)root;
  while (node[3] >> 1 != CN_TREE_LEAF) {
    const size_t at = (size_t)(node - nodes) / 4;
    node = nodes + 4 * (size_t)node[cn_tree_holds_f64(x[node[0]], thresholds[at], node[3]) ? 1 : 2];
  }
  return node;
}

CN_INLINE void cn_tree_add_f64(const int32_t *leaf, const int32_t *targets, const double *weights, int aggregate, unsigned char *seen, double *y) {
  for (int32_t k = 0; k < leaf[1]; k++) {
    const int32_t t = targets[leaf[0] + k];
    const double w = weights[leaf[0] + k];
    if (aggregate == 0) y[t] += w;
    else if (!seen[t] || (aggregate == 1 ? w < y[t] : w > y[t])) y[t] = w;
    seen[t] = 1;
  }
}

CN_NOINLINE int cn_op_tree_ensemble_f64(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                    size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const double *x = (const double *)in[0].data, *thresholds = (const double *)in[2].data, *weights = (const double *)in[5].data;
  const int32_t *nodes = (const int32_t *)in[1].data, *roots = (const int32_t *)in[3].data, *targets = (const int32_t *)in[4].data;
  const size_t rows = (size_t)in[0].dims[0], features = (size_t)in[0].dims[1], trees = (size_t)in[3].dims[0], n = (size_t)out[0].dims[1];
  double *y = (double *)out[0].data;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch_size, (void)env;
  if (in[0].dims[1] < attrs[1].value.i) return CASTNET_ERR_DIM;
  for (size_t i = 0; i < rows; i++) {
    memset(scratch, 0, n);
    for (size_t t = 0; t < n; t++) y[i * n + t] = 0.0;
    for (size_t t = 0; t < trees; t++)
      cn_tree_add_f64(cn_tree_leaf_f64(nodes, thresholds, roots[t], x + i * features), targets, weights, (int)attrs[0].value.i, (unsigned char *)scratch,
                  y + i * n);
  }
  return CASTNET_OK;
}

#endif
