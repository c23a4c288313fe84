/* Tree ensembles: their tables checked and made constants of a runtime function; what follows the scores is built. */
#include "ops/ml_post.h"
#include "ops/trees.h"

typedef struct Lists { /* the attributes of versions 1 to 3, [n] each */
  const int64_t *tree, *node, *feature, *yes, *no, *missing;
  const double *value;
  const Str *mode;
  size_t n;
  const int64_t *leaf_tree, *leaf_node, *leaf_target;
  const double *leaf_weight;
  size_t n_leaf;
} Lists;

static Str node_key(Arena *a, int64_t tree, int64_t node) {
  int64_t *k = NEW_ARRAY(a, int64_t, 2);
  k[0] = tree;
  k[1] = node;
  return (Str){(const char *)k, 2 * sizeof *k};
}

static int32_t mode_of(Str s) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
  for (int32_t i = 0; i < 7; i++)
    if (str_is(s, names[i])) return i;
  return -1;
}

static bool same_length(OpContext *c, const char *name, size_t n, size_t want) {
  return n == want || op_fail(c, DIAG_E0304, "%s has %zu elements, %zu are asked", name, n, want);
}

/* Numbers of attribute `name`, or of the tensor `name`_as_tensor. */
static bool read_reals(OpContext *c, const char *name, const double **ret, size_t *ret_n) {
  StrBuf b = sb_new(c->b.ir->arena);
  sb_printf(&b, "%s_as_tensor", name);
  const OnnxTensor *t = op_tensor(c, b.data);
  if (t) return trees_reals(c, b.data, t, ret, ret_n);
  const float *f = op_floats(c, name, ret_n);
  double *d = NEW_ARRAY(c->b.ir->arena, double, *ret_n);
  for (size_t i = 0; i < *ret_n; i++) d[i] = (double)f[i];
  *ret = f ? d : NULL;
  return true;
}

static bool read_lists(OpContext *c, const char *leaf, Lists *l) {
  size_t n;
  char name[64];
  l->tree = op_ints(c, "nodes_treeids", &l->n);
  l->node = op_ints(c, "nodes_nodeids", &n);
  if (!same_length(c, "nodes_nodeids", n, l->n)) return false;
  l->feature = op_ints(c, "nodes_featureids", &n);
  if (!same_length(c, "nodes_featureids", n, l->n)) return false;
  l->yes = op_ints(c, "nodes_truenodeids", &n);
  if (!same_length(c, "nodes_truenodeids", n, l->n)) return false;
  l->no = op_ints(c, "nodes_falsenodeids", &n);
  if (!same_length(c, "nodes_falsenodeids", n, l->n)) return false;
  l->mode = op_strs(c, "nodes_modes", &n);
  if (!same_length(c, "nodes_modes", n, l->n)) return false;
  if (!read_reals(c, "nodes_values", &l->value, &n) || !same_length(c, "nodes_values", n, l->n)) return false;
  l->missing = op_ints(c, "nodes_missing_value_tracks_true", &n);
  if (l->missing && !same_length(c, "nodes_missing_value_tracks_true", n, l->n)) return false;
  const char *const parts[] = {"treeids", "nodeids", "ids"};
  const int64_t **lists[] = {&l->leaf_tree, &l->leaf_node, &l->leaf_target};
  for (int i = 0; i < 3; i++) {
    StrBuf b = sb_new(c->b.ir->arena);
    sb_printf(&b, "%s_%s", leaf, parts[i]);
    *lists[i] = op_ints(c, b.data, &n);
    if (i == 0) l->n_leaf = n;
    else if (!same_length(c, b.data, n, l->n_leaf)) return false;
  }
  memcpy(name, leaf, strlen(leaf));
  memcpy(name + strlen(leaf), "_weights", 9);
  return read_reals(c, name, &l->leaf_weight, &n) && same_length(c, name, n, l->n_leaf);
}

/* Weights of each leaf, kept together: counted, then placed. */
static bool place_weights(OpContext *c, const Lists *l, const Map *index, int64_t n_targets, Trees *t) {
  Arena *a = c->b.ir->arena;
  int32_t *count = NEW_ARRAY(a, int32_t, l->n), *at = NEW_ARRAY(a, int32_t, l->n_leaf);
  for (size_t i = 0; i < l->n_leaf; i++) {
    uintptr_t node = (uintptr_t)map_get(index, node_key(a, l->leaf_tree[i], l->leaf_node[i]));
    if (!node || t->nodes[4 * (node - 1) + 3] >> 1 != CN_TREE_LEAF) return op_fail(c, DIAG_E0304, "weight %zu belongs to no leaf", i);
    if (l->leaf_target[i] < 0 || l->leaf_target[i] >= n_targets) return op_fail(c, DIAG_E0304, "weight %zu is for target %lld of %lld", i, (long long)l->leaf_target[i], (long long)n_targets);
    at[i] = (int32_t)(node - 1);
    count[at[i]]++;
  }
  int32_t next = 0;
  for (size_t i = 0; i < l->n; i++) {
    if (t->nodes[4 * i + 3] >> 1 != CN_TREE_LEAF) continue;
    t->nodes[4 * i] = next;
    t->nodes[4 * i + 1] = 0;
    next += count[i];
  }
  t->n_weights = l->n_leaf;
  t->targets = NEW_ARRAY(a, int32_t, l->n_leaf + 1);
  t->weights = NEW_ARRAY(a, double, l->n_leaf + 1);
  for (size_t i = 0; i < l->n_leaf; i++) {
    int32_t *leaf = t->nodes + 4 * (size_t)at[i];
    t->targets[leaf[0] + leaf[1]] = (int32_t)l->leaf_target[i];
    t->weights[leaf[0] + leaf[1]++] = l->leaf_weight[i];
  }
  return true;
}

/* With one parent a node at most, what no root reaches is in a circle. */
static bool all_reached(OpContext *c, const Trees *t) {
  int32_t *stack = NEW_ARRAY(c->b.ir->arena, int32_t, t->n);
  size_t n = t->n_roots, reached = 0;
  memcpy(stack, t->roots, n * sizeof *stack);
  while (n) {
    const int32_t *node = t->nodes + 4 * (size_t)stack[--n];
    reached++;
    for (int side = 1; node[3] >> 1 != CN_TREE_LEAF && side <= 2; side++) stack[n++] = node[side];
  }
  return reached == t->n;
}

/* Every node has one parent or is its tree's first; so no walk returns to a node. */
static bool link_nodes(OpContext *c, const Lists *l, const Map *index, int64_t n_features, Trees *t) {
  Arena *a = c->b.ir->arena;
  uint8_t *has_parent = NEW_ARRAY(a, uint8_t, l->n);
  for (size_t i = 0; i < l->n; i++) {
    int32_t mode = mode_of(l->mode[i]), *node = t->nodes + 4 * i;
    if (mode < 0) return op_fail(c, DIAG_E0304, "node %zu has mode %s", i, diag_quote(c->b.ir->diags, l->mode[i]));
    node[3] = mode * 2 + (l->missing && l->missing[i] ? 1 : 0);
    t->thresholds[i] = l->value[i];
    if (mode == CN_TREE_LEAF) continue;
    if (l->feature[i] < 0 || l->feature[i] >= n_features) return op_fail(c, DIAG_E0304, "node %zu reads feature %lld of %lld", i, (long long)l->feature[i], (long long)n_features);
    node[0] = (int32_t)l->feature[i];
    for (int side = 0; side < 2; side++) {
      uintptr_t child = (uintptr_t)map_get(index, node_key(a, l->tree[i], side ? l->no[i] : l->yes[i]));
      if (!child) return op_fail(c, DIAG_E0304, "a child of node %zu does not exist", i);
      if (has_parent[child - 1]++) return op_fail(c, DIAG_E0304, "node %zu has two parents", (size_t)(child - 1));
      node[1 + side] = (int32_t)(child - 1);
    }
  }
  Map seen = map_new(a);
  t->roots = NEW_ARRAY(a, int32_t, l->n);
  for (size_t i = 0; i < l->n; i++) { /* a tree's first node that is no child */
    Str tree = {(const char *)&l->tree[i], sizeof l->tree[i]};
    if (has_parent[i]) continue;
    if (map_has(&seen, tree)) return op_fail(c, DIAG_E0304, "tree %lld has two roots", (long long)l->tree[i]);
    map_put(&seen, tree, t);
    t->roots[t->n_roots++] = (int32_t)i;
  }
  for (size_t i = 0; i < l->n; i++)
    if (!map_has(&seen, (Str){(const char *)&l->tree[i], sizeof l->tree[i]})) return op_fail(c, DIAG_E0304, "tree %lld is a circle", (long long)l->tree[i]);
  return all_reached(c, t) || op_fail(c, DIAG_E0304, "nodes of a tree are in a circle");
}

static bool read_trees(OpContext *c, const char *leaf, int64_t n_targets, int64_t n_features, Trees *t) {
  Lists l = {0};
  Arena *a = c->b.ir->arena;
  if (!read_lists(c, leaf, &l)) return false;
  if (l.n == 0 || l.n > INT32_MAX / 4 || l.n_leaf > INT32_MAX / 4) return op_fail(c, DIAG_E0304, "%zu nodes", l.n);
  *t = (Trees){.n = l.n, .nodes = NEW_ARRAY(a, int32_t, 4 * l.n), .thresholds = NEW_ARRAY(a, double, l.n)};
  Map index = map_new(a);
  for (size_t i = 0; i < l.n; i++) {
    Str key = node_key(a, l.tree[i], l.node[i]);
    if (map_has(&index, key)) return op_fail(c, DIAG_E0304, "node %lld of tree %lld is given twice", (long long)l.node[i], (long long)l.tree[i]);
    map_put(&index, key, (void *)(uintptr_t)(i + 1));
  }
  return link_nodes(c, &l, &index, n_features, t) && place_weights(c, &l, &index, n_targets, t);
}

/* Scores [N][n_targets] in the type that the features are compared in. */
static Value *tree_scores(OpContext *c, const char *leaf, int64_t n_targets, int64_t aggregate) {
  int64_t features;
  Trees t;
  if (!trees_features(c, &features) || !read_trees(c, leaf, n_targets, features, &t)) return NULL;
  return trees_scores(c, &t, n_targets, aggregate);
}

static bool base_values(OpContext *c, int64_t n, Value **ret) {
  const double *v;
  size_t count;
  *ret = NULL;
  if (!read_reals(c, "base_values", &v, &count)) return false;
  if (count == 0) return true;
  if (count != 1 && count != (size_t)n) return op_fail(c, DIAG_E0304, "base_values has %zu elements for %lld targets", count, (long long)n);
  *ret = build_cast(&c->b, trees_table(c, DT_f64, count, 0, v), trees_type(c), true);
  return *ret != NULL;
}

bool import_tree_regressor(OpContext *c) {
  static const char *const names[] = {"SUM", "MIN", "MAX", "AVERAGE"};
  int64_t n = op_int(c, "n_targets", 1), aggregate = 0;
  PostTransform post;
  Value *base, *y;
  Str how = op_str(c, "aggregate_function", "SUM");
  while (aggregate < 4 && !str_is(how, names[aggregate])) aggregate++;
  if (aggregate == 4) return op_fail(c, DIAG_E0304, "aggregate_function is %s", diag_quote(c->b.ir->diags, how));
  if (n < 1 || n > INT32_MAX) return op_fail(c, DIAG_E0304, "n_targets is %lld", (long long)n);
  if (!ml_post_attr(c, &post) || !base_values(c, n, &base) || !(y = tree_scores(c, "target", n, aggregate == 3 ? 0 : aggregate))) return false;
  if (aggregate == 3) { /* the number of trees: distinct ids */
    size_t count;
    const int64_t *ids = op_ints(c, "nodes_treeids", &count);
    Map seen = map_new(c->b.ir->arena);
    for (size_t i = 0; i < count; i++) map_put(&seen, (Str){(const char *)&ids[i], sizeof *ids}, &seen);
    y = build_fn2(&c->b, SC_div, y, op_scalar_like(c, y, (double)seen.entries.n));
  }
  if (base) y = build_fn2(&c->b, SC_add, y, base);
  return op_give(c, 0, build_cast(&c->b, ml_post(&c->b, y, post), DT_f32, true));
}

/* ---- classification ---- */
static Value *column(OpContext *c, Value *x, int64_t at) {
  return build_slice(&c->b, x, 1, bd_const(&c->b, at), bd_const(&c->b, 1), bd_const(&c->b, 1));
}

static Value *minus_from(OpContext *c, double k, Value *x) { return build_fn2(&c->b, SC_sub, op_scalar_like(c, x, k), x); }

/* Labels [N] of the classes with the given indices. */
static Value *labels_of(OpContext *c, Value *index) {
  size_t n_ints, n_strs;
  const int64_t *ints = op_ints(c, "classlabels_int64s", &n_ints);
  const Str *strs = op_strs(c, "classlabels_strings", &n_strs);
  return op_take(c, strs ? op_vector(c, DT_str, n_strs, strs) : build_ints(&c->b, ints, n_ints), index);
}

/* Two classes of which the weights know one: its score decides, the other's follows (as ONNX Runtime does). */
static bool binary(OpContext *c, Value *score /* [N][1] */, bool positive, PostTransform post) {
  Builder *b = &c->b;
  Value *wins = build_fn2(b, SC_gt, score, op_scalar_like(c, score, positive ? 0.5 : 0.0));
  c->out[0] = labels_of(c, build_cast(b, build_reshape(b, wins, 1, &score->type.dims[0]), DT_s64, true));
  Value *both[2];
  if (post == POST_PROBIT) {
    if (c->n_out > 1) c->out[1] = build_cast(b, ml_post(b, score, post), DT_f32, true);
    return c->out[0] != NULL;
  }
  if (positive) both[0] = minus_from(c, 1, score), both[1] = score;
  else if (post == POST_LOGISTIC) both[0] = build_fn1(b, SC_sigmoid, build_fn1(b, SC_neg, score)), both[1] = build_fn1(b, SC_sigmoid, score);
  else both[0] = build_fn1(b, SC_neg, score), both[1] = score;
  if (c->n_out > 1) c->out[1] = build_cast(b, build_concat(b, both, 2, 1), DT_f32, true);
  return c->out[0] != NULL;
}

bool import_tree_classifier(OpContext *c) {
  size_t n_ints, n_strs, n_ids, n_weights;
  const int64_t *ids = op_ints(c, "class_ids", &n_ids);
  const double *weights;
  (void)op_ints(c, "classlabels_int64s", &n_ints);
  (void)op_strs(c, "classlabels_strings", &n_strs);
  int64_t n = (int64_t)(n_ints + n_strs);
  PostTransform post;
  Value *base;
  if (n < 1 || (n_ints && n_strs)) return op_fail(c, DIAG_E0304, "exactly one list of class labels must be given");
  if (!ml_post_attr(c, &post) || !base_values(c, n, &base) || !read_reals(c, "class_weights", &weights, &n_weights)) return false;
  bool one_class = n_ids > 0, positive = true;
  for (size_t i = 1; i < n_ids; i++) one_class = one_class && ids[i] == ids[0];
  for (size_t i = 0; i < n_weights; i++) positive = positive && weights[i] >= 0;
  Value *y = tree_scores(c, "class", n, 0);
  if (!y) return false;
  if (n == 2 && one_class) {
    y = column(c, y, ids[0]);
    if (base) y = build_fn2(&c->b, SC_add, y, dim_is(base->type.dims[0], 2) ? build_slice(&c->b, base, 0, bd_const(&c->b, 1), bd_const(&c->b, 1), bd_const(&c->b, 1)) : base);
    return binary(c, y, positive, post);
  }
  if (base) y = build_fn2(&c->b, SC_add, y, base);
  c->out[0] = labels_of(c, build_arg(&c->b, true, y, 1, false, false));
  if (c->n_out > 1) c->out[1] = build_cast(&c->b, ml_post(&c->b, y, post), DT_f32, true);
  return c->out[0] != NULL;
}
