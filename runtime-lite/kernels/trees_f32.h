/* SPDX-License-Identifier: MIT-0 */
/* Tree ensembles without branches, for vectors: all nodes of a tree of at most 32 leaves are compared, and each that does not hold takes
 * the leaves of its yes-branch from a set of 32 bits; the first leaf left, in the order of the branches, is the tree's. (Lucchese et al.,
 * "QuickScorer", SIGIR 2015.) Several rows are compared with one node at a time, or one row with nodes of 16 trees. */
#ifndef CN_KERNELS_TREES_F32_H
#define CN_KERNELS_TREES_F32_H

#include "base.h"
#include "kernels/trees.h"

#define CN_TREES_ROWS (2 * CN_VF32_LANES) /* of a block */

#define CN_TREES_WINDOW (2 * CN_VF32_LANES) /* neighbouring features, which nodes side by side read where `near` is set */

/* Node j of tree l of group g is element [i][l] of thresholds, features, masks, nans, i = first[g] + j: it holds where
 * x[from[i] + feature] <= threshold; where it does not, mask has the leaves that are left, nan for a NaN. */
typedef struct cn_trees {
  const float *thresholds;
  const int32_t *features, *masks, *nans, *from, *first, *targets; /* first [groups + 1], targets [groups][16] */
  const float *weights;                                     /* [groups][16][32] */
  size_t groups, n_targets;
  int nan, near; /* CN_TREES_NAN_... */
} cn_trees;

/* What is left of leaves after node i. nans: a literal, whether x may be NaN. */
CN_KERNEL cn_vs32 cn_trees_step_f32(cn_vs32 leaves, cn_vs32 mask, cn_vs32 nan, cn_vf32 x, cn_vf32 threshold, int nans) {
  leaves = cn_vs32_and_gt(leaves, mask, x, threshold);
  return nans ? cn_vs32_and_nan(leaves, nan, x) : leaves;
}

/* What nodes i .. of as many trees as a vector has lanes leave of their leaves. near, nans: literals. */
CN_KERNEL cn_vs32 cn_trees_nodes_f32(const cn_trees *a, size_t i, const float *from, int near, int nans, cn_vs32 leaves) {
  const cn_vs32 f = cn_vs32_load(a->features + i), mask = cn_vs32_load(a->masks + i);
  return cn_trees_step_f32(leaves, mask, nans ? cn_vs32_load(a->nans + i) : mask, near ? cn_vf32_at2(from, f) : cn_vf32_at(from, f),
                           cn_vf32_load(a->thresholds + i), nans);
}

/* One row x; adds to y [n_targets], which is zero. near: CN_TREES_WINDOW floats may be read from each feature on. near, nans: literals. */
CN_KERNEL void cn_trees_row_f32(const cn_trees *a, const float *x, int near, int nans, float *y) {
  const int two = CN_VS32_LANES < CN_TREES_GROUP;
  float sum = 0.0f;
  for (size_t g = 0; g < a->groups; g++) {
    int32_t leaf[CN_TREES_GROUP];
    for (size_t l = 0; l < CN_TREES_GROUP; l += CN_VS32_LANES << two) {
      cn_vs32 low = cn_vs32_set1(-1), high = low;
      for (size_t j = (size_t)a->first[g]; j < (size_t)a->first[g + 1]; j++) {
        const size_t i = j * CN_TREES_GROUP + l;
        low = cn_trees_nodes_f32(a, i, x + a->from[j], near, nans, low);
        if (two) high = cn_trees_nodes_f32(a, i + CN_VS32_LANES, x + a->from[j], near, nans, high);
      }
      cn_vs32_store(leaf + l, cn_vs32_first_bit(low));
      if (two) cn_vs32_store(leaf + l + CN_VS32_LANES, cn_vs32_first_bit(high));
    }
    const float *weights = a->weights + g * CN_TREES_GROUP * CN_TREES_LEAVES;
    const int32_t *targets = a->targets + g * CN_TREES_GROUP;
    for (size_t l = 0; l < CN_TREES_GROUP; l++) {
      const float w = weights[l * CN_TREES_LEAVES + (size_t)leaf[l]];
      if (a->n_targets == 1) sum += w; /* stays in a register */
      else y[targets[l]] += w;
    }
  }
  if (a->n_targets == 1) y[0] = sum;
}

/* A block of rows: x [features][CN_TREES_ROWS]; adds to y [n_targets][CN_TREES_ROWS]. nans: a literal. */
CN_KERNEL void cn_trees_block_f32(const cn_trees *a, const float *x, int nans, float *y) {
  for (size_t tree = 0; tree < a->groups * CN_TREES_GROUP; tree++) {
    const size_t g = tree / CN_TREES_GROUP, l = tree % CN_TREES_GROUP;
    const float *weights = a->weights + tree * CN_TREES_LEAVES;
    float *to = y + (size_t)a->targets[tree] * CN_TREES_ROWS;
    cn_vs32 low = cn_vs32_set1(-1), high = low;
    for (size_t j = (size_t)a->first[g]; j < (size_t)a->first[g + 1]; j++) {
      const size_t i = j * CN_TREES_GROUP + l;
      const float *column = x + (size_t)(a->from[j] + a->features[i]) * CN_TREES_ROWS;
      const cn_vf32 threshold = cn_vf32_set1(a->thresholds[i]);
      const cn_vs32 mask = cn_vs32_set1(a->masks[i]), nan = nans ? cn_vs32_set1(a->nans[i]) : mask;
      low = cn_trees_step_f32(low, mask, nan, cn_vf32_load(column), threshold, nans);
      high = cn_trees_step_f32(high, mask, nan, cn_vf32_load(column + CN_VF32_LANES), threshold, nans);
    }
    cn_vf32_store(to, cn_vf32_add(cn_vf32_load(to), cn_vf32_at32(weights, cn_vs32_first_bit(low))));
    cn_vf32_store(to + CN_VF32_LANES, cn_vf32_add(cn_vf32_load(to + CN_VF32_LANES), cn_vf32_at32(weights, cn_vs32_first_bit(high))));
  }
}

/* Scores of one row of at least `features` columns; scratch: [features + CN_TREES_WINDOW]. */
CN_DRIVER void cn_trees_one_f32(const cn_trees *a, const float *x, size_t features, float *scratch, float *y) {
  int nans = 0;
  for (size_t f = 0; f < features; f++) nans |= x[f] != x[f];
  for (size_t t = 0; t < a->n_targets; t++) y[t] = 0.0f;
  if (nans && a->nan != CN_TREES_NAN_YES) {
    cn_trees_row_f32(a, x, 0, 1, y);
  } else if (a->near) {
    memcpy(scratch, x, features * sizeof *x);
    memset(scratch + features, 0, CN_TREES_WINDOW * sizeof *scratch);
    cn_trees_row_f32(a, scratch, 1, 0, y);
  } else {
    cn_trees_row_f32(a, x, 0, 0, y);
  }
}

/* The same of n rows, CN_TREES_ROWS at most, `width` floats apart; scratch: [features + n_targets][CN_TREES_ROWS]. */
CN_DRIVER void cn_trees_some_f32(const cn_trees *a, const float *x, size_t width, size_t n, size_t features, float *scratch, float *y) {
  float *sums = scratch + features * CN_TREES_ROWS;
  int nans = 0;
  memset(sums, 0, a->n_targets * CN_TREES_ROWS * sizeof *sums);
  if (n < CN_TREES_ROWS) memset(scratch, 0, features * CN_TREES_ROWS * sizeof *scratch);
  for (size_t r = 0; r < n; r++) {
    for (size_t f = 0; f < features; f++) {
      const float v = x[r * width + f];
      scratch[f * CN_TREES_ROWS + r] = v;
      nans |= v != v;
    }
  }
  if (nans && a->nan != CN_TREES_NAN_YES) cn_trees_block_f32(a, scratch, 1, sums);
  else cn_trees_block_f32(a, scratch, 0, sums);
  for (size_t r = 0; r < n; r++)
    for (size_t t = 0; t < a->n_targets; t++) y[r * a->n_targets + t] = sums[t * CN_TREES_ROWS + r];
}

/* in: X [N][F], thresholds, features, masks, nans (those of masks where all nodes agree about NaN), from, first, targets, weights, as cn_trees has
 * them; out: [N][n_targets]; attrs: features (the least F), nan, near. Sums are in the order of the trees. scratch: that of a block. */
CN_DRIVER int cn_trees_f32(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                           void *scratch, size_t scratch_size, const castnet_env *env) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const size_t rows = (size_t)in[0].dims[0], width = (size_t)in[0].dims[1], features = (size_t)attrs[0].value.i;
  const cn_trees a = {.thresholds = (const float *)in[1].data, .features = (const int32_t *)in[2].data, .masks = (const int32_t *)in[3].data,
                      .nans = (const int32_t *)in[4].data, .from = (const int32_t *)in[5].data, .first = (const int32_t *)in[6].data,
                      .targets = (const int32_t *)in[7].data, .weights = (const float *)in[8].data, .groups = (size_t)in[6].dims[0] - 1,
                      .n_targets = (size_t)out[0].dims[1], .nan = (int)attrs[1].value.i, .near = (int)attrs[2].value.i};
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch_size, (void)env;
  if (in[0].dims[1] < attrs[0].value.i) return CASTNET_ERR_DIM;
  for (size_t i = 0; i < rows;) {
    const size_t n = cn_min(rows - i, CN_TREES_ROWS);
    if (n < CN_VF32_LANES) {
      cn_trees_one_f32(&a, x + i * width, features, (float *)scratch, y + i * a.n_targets);
      i++;
    } else {
      cn_trees_some_f32(&a, x + i * width, width, n, features, (float *)scratch, y + i * a.n_targets);
      i += n;
    }
  }
  return CASTNET_OK;
}

#endif
