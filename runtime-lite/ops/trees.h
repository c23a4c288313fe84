/* SPDX-License-Identifier: MIT-0 */
/* Tree ensembles (ai.onnx.ml TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble). */
#ifndef CN_OPS_TREES_H
#define CN_OPS_TREES_H

#include "base.h"

/* Ways to compare a feature with a node's threshold; a leaf ends the walk. */
enum { CN_TREE_LEQ, CN_TREE_LT, CN_TREE_GTE, CN_TREE_GT, CN_TREE_EQ, CN_TREE_NEQ, CN_TREE_LEAF };

/* A node: {feature, node if true, node if false, mode * 2 + where NaN counts as true}; a leaf: {first weight, weights, -, mode}. */
CN_INLINE int cn_tree_holds(float x, float threshold, int32_t mode) {
  switch (mode >> 1) {
    case CN_TREE_LEQ: return x <= threshold || ((mode & 1) && x != x);
    case CN_TREE_LT: return x < threshold || ((mode & 1) && x != x);
    case CN_TREE_GTE: return x >= threshold || ((mode & 1) && x != x);
    case CN_TREE_GT: return x > threshold || ((mode & 1) && x != x);
    case CN_TREE_EQ: return x == threshold || ((mode & 1) && x != x);
    default: return x != threshold || ((mode & 1) && x != x);
  }
}

CN_INLINE const int32_t *cn_tree_leaf(const int32_t *nodes, const float *thresholds, int32_t root, const float *x) {
  const int32_t *node = nodes + 4 * (size_t)root;
  while (node[3] >> 1 != CN_TREE_LEAF) {
    const size_t at = (size_t)(node - nodes) / 4;
    node = nodes + 4 * (size_t)node[cn_tree_holds(x[node[0]], thresholds[at], node[3]) ? 1 : 2];
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

/* in: X [N][F], nodes [n][4] s32, thresholds [n], roots [trees] s32, targets [m] s32, weights [m]; out: [N][C];
 * attrs: aggregate, features (the least F); scratch: C bytes. The compiler has checked every place in the tables. */
CN_NOINLINE int cn_op_tree_ensemble(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                    size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const float *x = (const float *)in[0].data, *thresholds = (const float *)in[2].data, *weights = (const float *)in[5].data;
  const int32_t *nodes = (const int32_t *)in[1].data, *roots = (const int32_t *)in[3].data, *targets = (const int32_t *)in[4].data;
  const size_t rows = (size_t)in[0].dims[0], features = (size_t)in[0].dims[1], trees = (size_t)in[3].dims[0], n = (size_t)out[0].dims[1];
  float *y = (float *)out[0].data;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch_size, (void)env;
  if (in[0].dims[1] < attrs[1].value.i) return CASTNET_ERR_DIM;
  for (size_t i = 0; i < rows; i++) {
    memset(scratch, 0, n);
    for (size_t t = 0; t < n; t++) y[i * n + t] = 0.0f;
    for (size_t t = 0; t < trees; t++)
      cn_tree_add(cn_tree_leaf(nodes, thresholds, roots[t], x + i * features), targets, weights, (int)attrs[0].value.i, (unsigned char *)scratch,
                  y + i * n);
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
