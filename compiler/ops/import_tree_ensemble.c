/* TreeEnsemble (ai.onnx.ml 5): interior nodes and leaves in lists of their own, and nodes that ask for membership of a set. */
#include "ops/ml_post.h"
#include "ops/trees.h"

enum { TREE_MEMBER = 6, MAX_NODES = INT32_MAX / 8 }; /* the attribute's number of BRANCH_MEMBER */

typedef struct Given { /* the attributes, [n] and [n_leaf] each */
  const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *missing, *root, *target;
  const double *split, *member, *weight;
  const uint8_t *mode;
  size_t n, n_leaf, n_roots, n_members;
} Given;

static bool ints(OpContext *c, const char *name, size_t want, const int64_t **ret) {
  size_t n;
  *ret = op_ints(c, name, &n);
  return n == want || op_fail(c, DIAG_E0304, "attribute '%s' has %zu elements, %zu are asked", name, n, want);
}

static bool reals(OpContext *c, const char *name, size_t want, const double **ret) {
  size_t n;
  if (!trees_reals(c, name, op_tensor(c, name), ret, &n)) return false;
  return n == want || op_fail(c, DIAG_E0304, "attribute '%s' has %zu elements, %zu are asked", name, n, want);
}

static bool modes(OpContext *c, Given *g) {
  const OnnxTensor *t = op_tensor(c, "nodes_modes");
  if (dtype_from_onnx(t->data_type) != DT_u8 || t->n_elements != g->n) return op_fail(c, DIAG_E0304, "attribute 'nodes_modes' is no uint8 for each node");
  const Tensor data = {DT_u8, t->n_elements, t->data, t->data_bytes, NULL};
  g->mode = tensor_host_elements(op_arena(c), &data);
  size_t sets = 0, members = 0;
  for (size_t i = 0; i < g->n; i++) {
    if (g->mode[i] > TREE_MEMBER) return op_fail(c, DIAG_E0304, "node %zu has mode %u", i, g->mode[i]);
    members += g->mode[i] == TREE_MEMBER;
  }
  const OnnxTensor *values = op_tensor(c, "membership_values");
  if (values && !trees_reals(c, "membership_values", values, &g->member, &g->n_members)) return false;
  for (size_t i = 0; i < g->n_members; i++) sets += g->member[i] != g->member[i];
  return sets >= members || op_fail(c, DIAG_E0304, "%zu nodes ask for membership, 'membership_values' has %zu sets", members, sets);
}

static bool read_given(OpContext *c, Given *g) {
  g->feature = op_ints(c, "nodes_featureids", &g->n);
  g->target = op_ints(c, "leaf_targetids", &g->n_leaf);
  g->root = op_ints(c, "tree_roots", &g->n_roots);
  if (g->n < 1 || g->n > MAX_NODES || g->n_leaf > MAX_NODES || g->n_roots > MAX_NODES) return op_fail(c, DIAG_E0304, "%zu nodes", g->n);
  return ints(c, "nodes_truenodeids", g->n, &g->yes) && ints(c, "nodes_falsenodeids", g->n, &g->no) && ints(c, "nodes_trueleafs", g->n, &g->yes_leaf) &&
         ints(c, "nodes_falseleafs", g->n, &g->no_leaf) && reals(c, "nodes_splits", g->n, &g->split) && reals(c, "leaf_weights", g->n_leaf, &g->weight) &&
         (!op_has_attr(c, "nodes_missing_value_tracks_true") || ints(c, "nodes_missing_value_tracks_true", g->n, &g->missing)) && modes(c, g) &&
         (g->n_members < MAX_NODES || op_fail(c, DIAG_E0304, "%zu members", g->n_members));
}

/* Each inner node has one parent at most, and a root none: so no walk from a root returns to a node. */
static bool check_links(OpContext *c, const Given *g, int64_t n_targets, int64_t n_features) {
  uint8_t *has_parent = NEW_ARRAY(op_arena(c), uint8_t, g->n);
  for (size_t i = 0; i < g->n; i++) {
    if (g->feature[i] < 0 || g->feature[i] >= n_features) return op_fail(c, DIAG_E0304, "node %zu reads feature %lld of %lld", i, (long long)g->feature[i], (long long)n_features);
    for (int side = 0; side < 2; side++) {
      const bool leaf = side ? g->no_leaf[i] != 0 : g->yes_leaf[i] != 0;
      const int64_t child = side ? g->no[i] : g->yes[i];
      if (child < 0 || (size_t)child >= (leaf ? g->n_leaf : g->n)) return op_fail(c, DIAG_E0304, "a child of node %zu does not exist", i);
      if (!leaf && has_parent[child]++) return op_fail(c, DIAG_E0304, "node %lld has two parents", (long long)child);
    }
  }
  for (size_t i = 0; i < g->n_roots; i++)
    if (g->root[i] < 0 || (size_t)g->root[i] >= g->n || has_parent[g->root[i]]) return op_fail(c, DIAG_E0304, "%lld is no root of a tree", (long long)g->root[i]);
  for (size_t i = 0; i < g->n_leaf; i++)
    if (g->target[i] < 0 || g->target[i] >= n_targets) return op_fail(c, DIAG_E0304, "leaf %zu is for target %lld of %lld", i, (long long)g->target[i], (long long)n_targets);
  return true;
}

/* The routine's nodes: leaves first; a node that asks for membership becomes one comparison a member, each with the same true branch. */
static Trees make_trees(OpContext *c, const Given *g) {
  Arena *a = op_arena(c);
  const size_t most = g->n_leaf + g->n + g->n_members;
  Trees t = {.n_roots = g->n_roots, .n_weights = g->n_leaf, .nodes = NEW_ARRAY(a, int32_t, 4 * most), .thresholds = NEW_ARRAY(a, double, most),
             .roots = NEW_ARRAY(a, int32_t, g->n_roots + 1), .targets = NEW_ARRAY(a, int32_t, g->n_leaf + 1), .weights = NEW_ARRAY(a, double, g->n_leaf + 1)};
  size_t *first = NEW_ARRAY(a, size_t, g->n), *count = NEW_ARRAY(a, size_t, g->n), member = 0;
  t.n = g->n_leaf;
  for (size_t i = 0; i < g->n_leaf; i++) {
    const int32_t leaf[4] = {(int32_t)i, 1, 0, CN_TREE_LEAF * 2};
    memcpy(t.nodes + 4 * i, leaf, sizeof leaf);
    t.targets[i] = (int32_t)g->target[i];
    t.weights[i] = g->weight[i];
  }
  for (size_t i = 0; i < g->n; i++) { /* thresholds, and how many nodes each becomes */
    first[i] = t.n;
    if (g->mode[i] != TREE_MEMBER) {
      t.thresholds[t.n++] = g->split[i];
    } else {
      while (g->member[member] == g->member[member]) t.thresholds[t.n++] = g->member[member++];
      if (t.n == first[i]) t.thresholds[t.n++] = g->member[member]; /* an empty set: nothing equals NaN */
      member++;
    }
    count[i] = t.n - first[i];
  }
  for (size_t i = 0; i < g->n; i++) {
    const int32_t mode = g->mode[i] == TREE_MEMBER ? CN_TREE_EQ : g->mode[i], tracks = g->missing && g->missing[i] ? 1 : 0;
    const size_t yes = g->yes_leaf[i] ? (size_t)g->yes[i] : first[g->yes[i]], no = g->no_leaf[i] ? (size_t)g->no[i] : first[g->no[i]];
    for (size_t k = 0; k < count[i]; k++) {
      const size_t next = k + 1 < count[i] ? first[i] + k + 1 : no;
      const int32_t node[4] = {(int32_t)g->feature[i], (int32_t)yes, (int32_t)next, mode * 2 + tracks};
      memcpy(t.nodes + 4 * (first[i] + k), node, sizeof node);
    }
  }
  for (size_t i = 0; i < g->n_roots; i++) t.roots[i] = (int32_t)first[g->root[i]];
  return t;
}

bool import_tree_ensemble(OpContext *c) {
  static const PostTransform posts[] = {POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT};
  static const int64_t aggregates[] = {0, 0, 1, 2}; /* of AVERAGE, SUM, MIN, MAX */
  const int64_t how = op_int(c, "aggregate_function", 1), post = op_int(c, "post_transform", 0), n = op_int(c, "n_targets", 1);
  int64_t features;
  Given g = {0};
  if (how < 0 || how > 3) return op_fail(c, DIAG_E0304, "attribute 'aggregate_function' is %lld", (long long)how);
  if (post < 0 || post > 4) return op_fail(c, DIAG_E0304, "attribute 'post_transform' is %lld", (long long)post);
  if (n < 1 || n > INT32_MAX) return op_fail(c, DIAG_E0304, "attribute 'n_targets' is %lld", (long long)n);
  if (!trees_features(c, &features) || !read_given(c, &g) || !check_links(c, &g, n, features)) return false;
  const Trees t = make_trees(c, &g);
  Value *y = trees_scores(c, &t, n, aggregates[how]);
  if (how == 0 && y && g.n_roots) y = build_fn2(&c->b, SC_div, y, op_scalar_like(c, y, (double)g.n_roots));
  return op_give(c, 0, build_cast(&c->b, ml_post(&c->b, y, posts[post]), op_dtype(c, 0), true));
}
