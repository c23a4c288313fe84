/* Tree ensembles for targets with vectors: trees of at most 32 leaves, all of whose nodes are compared (runtime-lite/kernels/trees_f32.h).
 * A larger tree is cut into several, one a subtree: on the way to it stand the nodes above, which lead to a weight of zero where they turn
 * off, so that one of the parts gives the leaf's weight and the others add nothing. */
#include "kernels/trees.h"
#include "lower/lower_private.h"
#include "ops/tree_modes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_DEPTH = 64, MOST_LEAVES = 256 /* of a tree on average: beyond, walks are quicker */, ROWS = 2 };

/* A node: holds where x[feature] <= threshold, or x is a NaN and `nan`. */
typedef struct Branch {
  int32_t feature, yes, no;
  float threshold;
  bool nan;
} Branch;

typedef struct Cell { /* a node of a part */
  int32_t feature, mask, nan;
  float threshold;
} Cell;

typedef struct Part {
  VEC(Cell) cells;
  float weights[CN_TREES_LEAVES];
  int32_t target;
} Part;

typedef struct Turn { int32_t node; bool yes; } Turn; /* on the way from a root: the branch taken */

typedef struct Trees {
  Arena *a;
  const Tensor *nodes, *thresholds, *roots, *targets, *weights;
  uint32_t *leaves; /* by node */
  VEC(Part) parts;
  Turn way[MAX_DEPTH];
  bool said[2]; /* some node leads NaN to no, to yes */
  bool flush;   /* subnormal numbers are zero to the comparisons */
} Trees;

/* The largest float below x, which is no NaN and not minus infinity. */
static float before(float x) {
  uint32_t bits;
  if (x == 0) x = 0; /* of either sign */
  memcpy(&bits, &x, sizeof bits);
  bits = bits == 0 ? 0x80000001u : bits >> 31 ? bits + 1 : bits - 1;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static int32_t field(const Trees *t, int32_t node, unsigned k) { return (int32_t)tensor_int(t->nodes, 4 * (size_t)node + k); }
static bool is_leaf(const Trees *t, int32_t node) { return field(t, node, 3) >> 1 == CN_TREE_LEAF; }

/* Every order as <=: x < t is x <= the number before t; x >= t holds where x < t does not, but for NaN. False for what no threshold says. */
static bool branch_of(const Trees *t, int32_t node, Branch *ret) {
  const int32_t mode = field(t, node, 3) >> 1;
  const bool turned = mode == CN_TREE_GTE || mode == CN_TREE_GT, less = mode == CN_TREE_LT || mode == CN_TREE_GTE, nan = (field(t, node, 3) & 1) != 0;
  const float threshold = (float)tensor_real(t->thresholds, (size_t)node);
  if (mode > CN_TREE_GT || threshold != threshold || (less && threshold == -INFINITY)) return false;
  const bool is_zero = t->flush && threshold > -FLT_MIN && threshold < FLT_MIN;
  *ret = (Branch){.feature = field(t, node, 0), .yes = field(t, node, turned ? 2 : 1), .no = field(t, node, turned ? 1 : 2),
                  .threshold = !less ? threshold : is_zero ? -FLT_MIN : before(threshold), .nan = nan != turned};
  return true;
}

/* Leaves under each node; every leaf has one weight, for `target` (-1: any, which the first one decides). */
static bool count_leaves(Trees *t, int32_t node, int depth, int32_t *target) {
  if (is_leaf(t, node)) {
    if (field(t, node, 1) != 1) return false;
    const int32_t own = (int32_t)tensor_int(t->targets, (size_t)field(t, node, 0));
    t->leaves[node] = 1;
    if (*target < 0) *target = own;
    return *target == own;
  }
  Branch b;
  if (depth == MAX_DEPTH || !branch_of(t, node, &b) || !count_leaves(t, b.yes, depth + 1, target) || !count_leaves(t, b.no, depth + 1, target)) return false;
  t->leaves[node] = t->leaves[b.yes] + t->leaves[b.no];
  return true;
}

static void add_cell(Trees *t, Part *p, const Branch *b, uint32_t left) {
  t->said[b->nan] = true;
  vec_push(t->a, p->cells, ((Cell){b->feature, (int32_t)left, b->nan ? -1 : (int32_t)left, b->threshold}));
}

/* The subtree's nodes, its leaves from bit `at` on. */
static void add_subtree(Trees *t, Part *p, int32_t node, uint32_t at) {
  Branch b;
  if (is_leaf(t, node)) {
    p->weights[at] = (float)tensor_real(t->weights, (size_t)field(t, node, 0));
    return;
  }
  (void)branch_of(t, node, &b);
  const uint32_t n = t->leaves[b.yes]; /* < 32: another leaf is on the other side */
  add_cell(t, p, &b, ~((((uint32_t)1 << n) - 1) << at));
  add_subtree(t, p, b.yes, at);
  add_subtree(t, p, b.no, at + n);
}

/* Bits that the way needs: one for each turn to no, ahead of the leaves; the last of all for the turns to yes. */
static uint32_t bits_of(const Trees *t, int depth) {
  uint32_t turns = 0, last = 0;
  for (int i = 0; i < depth; i++) turns += !t->way[i].yes, last |= t->way[i].yes;
  return turns + last;
}

static void add_part(Trees *t, int32_t node, int depth, int32_t target) {
  Part p = {.target = target};
  uint32_t at = 0;
  for (int i = 0; i < depth; i++) {
    Branch b;
    (void)branch_of(t, t->way[i].node, &b);
    add_cell(t, &p, &b, t->way[i].yes ? (uint32_t)1 << (CN_TREES_LEAVES - 1) : ~((uint32_t)1 << at++));
  }
  add_subtree(t, &p, node, at);
  vec_push(t->a, t->parts, p);
}

/* False where the way to a leaf needs too many bits. */
static bool cut(Trees *t, int32_t node, int depth, int32_t target) {
  if (bits_of(t, depth) + t->leaves[node] <= CN_TREES_LEAVES) return add_part(t, node, depth, target), true;
  Branch b;
  if (is_leaf(t, node) || !branch_of(t, node, &b)) return false;
  t->way[depth] = (Turn){node, true};
  if (!cut(t, b.yes, depth + 1, target)) return false;
  t->way[depth].yes = false;
  return cut(t, b.no, depth + 1, target);
}

static bool read_trees(Trees *t) {
  uint64_t leaves = 0;
  for (size_t i = 0; i < t->roots->n; i++) {
    int32_t target = -1;
    const int32_t root = (int32_t)tensor_int(t->roots, i);
    if (!count_leaves(t, root, 0, &target) || !cut(t, root, 0, target)) return false;
    leaves += t->leaves[root];
  }
  return t->roots->n && leaves / t->roots->n <= MOST_LEAVES && t->parts.n < INT32_MAX / CN_TREES_LEAVES / CN_TREES_GROUP;
}

/* ---- tables ---- */
static uint32_t table(Lower *l, DType type, size_t n, size_t columns, const void *host) {
  const Dim **dims = NEW_ARRAY(l->a, const Dim *, 2);
  dims[0] = dim_const(l->p->dims, (int64_t)n);
  dims[1] = dim_const(l->p->dims, (int64_t)columns);
  return lower_constant(l, type, columns ? 2 : 1, dims, tensor_from_host(l->a, type, n * (columns ? columns : 1), host), (Str){0});
}

/* By feature; by all else, so that no sort makes other bytes of the same trees. */
static int by_feature(const void *x, const void *y) {
  const Cell *a = x, *b = y;
  int32_t p[4] = {a->feature, a->mask, a->nan}, q[4] = {b->feature, b->mask, b->nan};
  memcpy(&p[3], &a->threshold, sizeof p[3]);
  memcpy(&q[3], &b->threshold, sizeof q[3]);
  for (int i = 0; i < 4; i++)
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  return 0;
}

/* Cells of up to 16 trees side by side. */
typedef struct Tables {
  VEC(Cell) cells;    /* [slots][16] */
  VEC(int32_t) from;  /* [slots] the first feature that one of them reads; theirs count from there */
  VEC(int32_t) first; /* [groups + 1] */
} Tables;

/* Any order of a tree's cells gives the same leaves. With each tree's sorted by feature, a slot takes the next one of every tree that reads one of
 * `window` neighbouring features. */
static Tables place_cells(const Trees *t, int64_t window) {
  Tables r = {0};
  const size_t groups = (t->parts.n + CN_TREES_GROUP - 1) / CN_TREES_GROUP;
  vec_push(t->a, r.first, 0);
  for (size_t g = 0; g < groups; g++) {
    size_t next[CN_TREES_GROUP] = {0}, left = 0;
    const Part *parts = t->parts.data + g * CN_TREES_GROUP;
    const size_t n = t->parts.n - g * CN_TREES_GROUP < CN_TREES_GROUP ? t->parts.n - g * CN_TREES_GROUP : CN_TREES_GROUP;
    for (size_t l = 0; l < n; l++) left += parts[l].cells.n;
    while (left) {
      int64_t from = INT64_MAX;
      for (size_t l = 0; l < n; l++)
        if (next[l] < parts[l].cells.n && parts[l].cells.data[next[l]].feature < from) from = parts[l].cells.data[next[l]].feature;
      for (size_t l = 0; l < CN_TREES_GROUP; l++) {
        Cell cell = {.mask = -1, .nan = -1}; /* takes nothing */
        if (l < n && next[l] < parts[l].cells.n && parts[l].cells.data[next[l]].feature - from < window) {
          cell = parts[l].cells.data[next[l]++];
          cell.feature -= (int32_t)from;
          left--;
        }
        vec_push(t->a, r.cells, cell);
      }
      vec_push(t->a, r.from, (int32_t)from);
    }
    vec_push(t->a, r.first, (int32_t)r.from.n);
  }
  return r;
}

/* in[1 ..] of cn_trees_f32. */
static void make_tables(Lower *l, const Trees *t, const Tables *tables, int nan, uint32_t *in) {
  const size_t groups = tables->first.n - 1, slots = tables->from.n, n = slots * CN_TREES_GROUP;
  int32_t *target = NEW_ARRAY(l->a, int32_t, groups * CN_TREES_GROUP);
  float *weights = NEW_ARRAY(l->a, float, groups * CN_TREES_GROUP * CN_TREES_LEAVES), *thresholds = NEW_ARRAY(l->a, float, n);
  int32_t *features = NEW_ARRAY(l->a, int32_t, n), *masks = NEW_ARRAY(l->a, int32_t, n), *nans = NEW_ARRAY(l->a, int32_t, n), *from = NEW_ARRAY(l->a, int32_t, slots);
  for (size_t i = 0; i < slots; i++) from[i] = tables->from.data[i];
  for (size_t i = 0; i < t->parts.n; i++) {
    target[i] = t->parts.data[i].target;
    memcpy(weights + i * CN_TREES_LEAVES, t->parts.data[i].weights, sizeof t->parts.data[i].weights);
  }
  for (size_t i = 0; i < n; i++) {
    const Cell *cell = &tables->cells.data[i];
    thresholds[i] = cell->threshold, features[i] = cell->feature, masks[i] = cell->mask, nans[i] = cell->nan;
  }
  in[1] = table(l, DT_f32, slots, CN_TREES_GROUP, thresholds);
  in[2] = table(l, DT_s32, slots, CN_TREES_GROUP, features);
  in[3] = table(l, DT_s32, slots, CN_TREES_GROUP, masks);
  in[4] = nan == CN_TREES_NAN_EITHER ? table(l, DT_s32, slots, CN_TREES_GROUP, nans) : in[3];
  in[5] = table(l, DT_s32, slots, 0, from);
  in[6] = table(l, DT_s32, groups + 1, 0, tables->first.data);
  in[7] = table(l, DT_s32, groups * CN_TREES_GROUP, 0, target);
  in[8] = table(l, DT_f32, groups * CN_TREES_GROUP, CN_TREES_LEAVES, weights);
}

/* Looked up in two vectors where that takes no more than twice as many slots: values from anywhere take three times as long. */
static bool place_near(const Trees *t, int64_t lanes, Tables *ret) {
  const Tables near = place_cells(t, 2 * lanes);
  *ret = place_cells(t, INT64_MAX);
  if (near.from.n > 2 * ret->from.n) return false;
  *ret = near;
  return true;
}

static bool is_ensemble(const Node *n) {
  const ExternAttr *attr = n->attr;
  if (attr->custom || !str_is(attr->symbol, "cn_op_tree_ensemble") || attr->attrs[0].i != 0) return false;
  for (uint32_t k = 1; k < 6; k++)
    if (!n->in[k]->data) return false;
  return true;
}

bool lower_try_trees(Lower *l, const Node *n) {
  static const ExternAttrValue no_attr;
  const ExternAttr *given = n->attr;
  const int64_t lanes = l->opt->target->vector_bits / 32;
  if (!l->opt->fuse || lanes < 8 || !is_ensemble(n)) return false;
  Trees t = {.a = l->a, .nodes = n->in[1]->data, .thresholds = n->in[2]->data, .roots = n->in[3]->data, .targets = n->in[4]->data, .weights = n->in[5]->data,
             .flush = l->opt->flush_subnormals};
  t.leaves = NEW_ARRAY(l->a, uint32_t, t.thresholds->n);
  if (!read_trees(&t)) return false;
  const int nan = t.said[0] && t.said[1] ? CN_TREES_NAN_EITHER : t.said[1] ? CN_TREES_NAN_YES : CN_TREES_NAN_NO;
  for (size_t i = 0; i < t.parts.n; i++)
    if (t.parts.data[i].cells.n) qsort(t.parts.data[i].cells.data, t.parts.data[i].cells.n, sizeof(Cell), by_feature);
  Tables tables;
  const int64_t further[] = {nan, place_near(&t, lanes, &tables)};
  ExternAttrValue *attrs = NEW_ARRAY(l->a, ExternAttrValue, 3);
  attrs[0] = given->attrs[1];
  for (size_t k = 0; k < 2; k++) {
    attrs[k + 1] = no_attr;
    attrs[k + 1].name = k ? STR("near") : STR("nan");
    attrs[k + 1].kind = EXTERN_INT;
    attrs[k + 1].n = 1;
    attrs[k + 1].i = further[k];
  }
  DimCtx *c = l->p->dims;
  const int64_t room = lanes * ROWS * (int64_t)sizeof(float);
  const Dim *columns = dim_addc(c, n->out[0]->type.dims[1], attrs[0].i);
  ExternAttr *attr = arena_dup(l->a, given, sizeof *given);
  attr->symbol = STR("cn_trees_f32");
  attr->attrs = attrs;
  attr->n_attrs = 3;
  attr->scratch = dim_mulc(c, columns, room);
  uint32_t in[9] = {lower_dense(l, n->in[0], n->src)}, out = lower_result(l, n->out[0]);
  make_tables(l, &t, &tables, nan, in);
  lower_routine(l, attr, in, 9, &out, 1, n->src);
  return true;
}
