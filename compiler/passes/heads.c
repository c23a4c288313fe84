/* Heads that share keys and values, in products of two operands that the call brings:
 *   - copies of keys and values, side by side, are never made where queries are few: these become more rows of fewer products;
 *   - groups of heads that are an axis of their own in both products around a softmax stay one between them;
 *   - axes of one element that come before a mask and go behind it (windows of one image) never come. */
#include "passes/passes.h"

#include "kernels/thin.h"

enum { MOST_STEPS = 6 };

/* ---- copies ---- */
/* An operand that has each part of `from` along one axis several times, behind permutations of axes, the last one first. */
typedef struct Repeated {
  const Node *copies, *views[MOST_STEPS]; /* a view that does not depend on its axis + 1 */
  uint32_t n, axis, outer;                /* axis: of the copies and of what follows; outer: of the operand */
  int64_t parts, times;
} Repeated;

/* The axis of a permuted value that has the operand's axis j; UINT32_MAX: the view does something else. */
static uint32_t permuted(const Node *view, uint32_t j) {
  const Type *from = &view->in[0]->type, *to = &view->out[0]->type;
  uint32_t seen = 0, ret = UINT32_MAX;
  if (view->op != OP_VIEW || from->rank != to->rank) return UINT32_MAX;
  for (uint32_t a = 0; a < from->rank; a++) {
    const Affine *f = &((const ViewAttr *)view->attr)->index[a];
    uint32_t at = UINT32_MAX;
    if (!dim_is(f->offset, 0)) return UINT32_MAX;
    for (uint32_t k = 0; k < to->rank; k++) {
      const Dim *c = affine_coef(f, k);
      if (c && (at != UINT32_MAX || !dim_is(c, 1) || to->dims[k] != from->dims[a])) return UINT32_MAX;
      if (c) at = k;
    }
    if (at == UINT32_MAX || seen >> at & 1) return UINT32_MAX;
    seen |= 1u << at;
    if (a == j) ret = at;
  }
  return ret;
}

/* The axis that joins two neighbours of what is reshaped, all others staying; UINT32_MAX: there is none. */
static uint32_t joined_axis(const Type *from, const Type *to) {
  uint32_t axis = 0;
  if (from->rank != to->rank + 1) return UINT32_MAX;
  while (axis < to->rank && from->dims[axis] == to->dims[axis]) axis++;
  for (uint32_t a = axis + 1; a < to->rank; a++)
    if (from->dims[a + 1] != to->dims[a]) return UINT32_MAX;
  return axis < to->rank ? axis : UINT32_MAX;
}

static bool is_repeated(const Builder *b, const Value *v, Repeated *r) {
  *r = (Repeated){0};
  while (v->def && v->def->graph == b->graph && v->def->op == OP_VIEW && r->n < MOST_STEPS && permuted(v->def, 0) != UINT32_MAX) {
    r->views[r->n++] = v->def;
    v = v->def->in[0];
  }
  if (!v->def || v->def->op != OP_RESHAPE || !v->def->in[0]->def || v->def->in[0]->def->op != OP_VIEW) return false;
  r->copies = v->def->in[0]->def;
  if (v->def->graph != b->graph || r->copies->graph != b->graph) return false; /* copied once, outside of a loop */
  const Type *from = &r->copies->out[0]->type;
  r->axis = r->outer = joined_axis(from, &v->type);
  if (r->axis == UINT32_MAX || !dim_is_const(from->dims[r->axis], &r->parts) || !dim_is_const(from->dims[r->axis + 1], &r->times) || r->times < 2) return false;
  for (uint32_t a = 0; a < r->copies->in[0]->type.rank; a++)
    if (affine_coef(&((const ViewAttr *)r->copies->attr)->index[a], r->axis + 1)) return false;
  for (uint32_t i = r->n; i > 0; i--) r->outer = permuted(r->views[i - 1], r->outer);
  return true;
}

/* The operand with one of each part. */
static Value *single(Builder *b, const Repeated *r) {
  const Type *t = &r->copies->out[0]->type;
  const uint32_t from = r->copies->in[0]->type.rank;
  const Dim *dims[MAX_RANK];
  Affine *index = NEW_ARRAY(b->ir->arena, Affine, from);
  for (uint32_t j = 0; j + 1 < t->rank; j++) dims[j] = t->dims[j + (j > r->axis)];
  for (uint32_t a = 0; a < from; a++) {
    const Affine *f = &((const ViewAttr *)r->copies->attr)->index[a];
    const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, t->rank);
    for (uint32_t j = 0; j + 1 < t->rank; j++) coef[j] = f->coef ? f->coef[j + (j > r->axis)] : NULL;
    index[a] = (Affine){f->offset, coef};
  }
  Value *v = build_view(b, r->copies->in[0], t->rank - 1, dims, index);
  uint32_t axis = r->axis;
  for (uint32_t i = r->n; i > 0 && v; i--) {
    const Type *to = &r->views[i - 1]->out[0]->type;
    axis = permuted(r->views[i - 1], axis);
    for (uint32_t j = 0; j < to->rank; j++) dims[j] = to->dims[j];
    dims[axis] = dim_const(b->ir->dims, r->parts);
    v = build_view(b, v, to->rank, dims, ((const ViewAttr *)r->views[i - 1]->attr)->index);
  }
  return v;
}

/* v with its axis in two, of parts and times. */
static Value *split_axis(Builder *b, Value *v, uint32_t axis, const Repeated *r) {
  const uint32_t rank = v->type.rank;
  const Dim *dims[MAX_RANK], *times = dim_const(b->ir->dims, r->times);
  Affine *index = NEW_ARRAY(b->ir->arena, Affine, rank);
  for (uint32_t j = 0; j < rank; j++) {
    dims[j + (j > axis)] = v->type.dims[j];
    index[j] = build_affine_coord(b, rank + 1, j + (j > axis));
  }
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, rank + 1);
  for (uint32_t j = 0; j <= rank; j++) coef[j] = j == axis ? times : j == axis + 1 ? b->ir->dims->one : NULL;
  index[axis].coef = coef;
  dims[axis] = dim_const(b->ir->dims, r->parts);
  dims[axis + 1] = times;
  return build_view(b, v, rank + 1, dims, index);
}

static uint32_t label_axis(const uint8_t *labels, uint32_t rank, uint8_t label) {
  uint32_t a = 0;
  while (a < rank && labels[a] != label) a++;
  return a;
}

/* labels with `more` behind the one at axis. */
static const uint8_t *with_label(Builder *b, const uint8_t *labels, uint32_t rank, uint32_t axis, uint8_t more) {
  uint8_t *r = NEW_ARRAY(b->ir->arena, uint8_t, rank + 1);
  for (uint32_t j = 0; j < rank; j++) r[j + (j > axis)] = labels[j];
  r[axis + 1] = more;
  return r;
}

static uint8_t free_label(const Node *n) {
  const ContractAttr *attr = n->attr;
  uint8_t label = 0;
  while (label_axis(attr->a, n->in[0]->type.rank, label) < n->in[0]->type.rank || label_axis(attr->b, n->in[1]->type.rank, label) < n->in[1]->type.rank) label++;
  return label;
}

static bool join_heads(Builder *b, const Node *n, Value **ret, void *user) {
  Repeated r;
  (void)user;
  if (!pass_is_product_of_calls(n) || n->out[0]->type.rank >= MAX_RANK || n->in[0]->type.rank >= MAX_RANK || !is_repeated(b, n->in[1], &r)) return false;
  const ContractAttr *attr = n->attr;
  Value *x = n->in[0], *y = n->in[1];
  const Type *out = &n->out[0]->type;
  const uint8_t head = attr->b[r.outer], more = free_label(n);
  const uint32_t own = label_axis(attr->a, x->type.rank, head), place = label_axis(attr->out, out->rank, head);
  const int64_t rows = pass_own_size(n, 0);
  if (own == x->type.rank || place == out->rank || x->type.dims[own] != y->type.dims[r.outer] || rows < 1 || rows > CN_THIN_ROWS / r.times) return false;
  x = split_axis(b, x, own, &r);
  y = single(b, &r);
  Value *v = x && y ? build_contract(b, x, with_label(b, attr->a, n->in[0]->type.rank, own, more), y, attr->b, with_label(b, attr->out, out->rank, place, more),
                                     out->rank + 1, attr->acc, NULL, NULL) : NULL;
  ret[0] = v ? build_reshape(b, v, out->rank, out->dims) : NULL;
  return ret[0] != NULL;
}

typedef struct Uses { const uint32_t *of; uint32_t n; } Uses; /* by value id */

/* Whether v is made in the graph at hand and read once. */
static bool only_here(const Builder *b, const Uses *u, const Value *v) { return v->def && v->def->graph == b->graph && v->id < u->n && u->of[v->id] == 1; }

/* ---- groups ---- */
typedef struct Groups {
  Uses uses;
  uint32_t axis;   /* the heads', which is this and the next one in groups */
  const Type *all; /* the scores in groups */
} Groups;

static bool same_sizes(const Type *x, const Type *y) { return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0; }

/* v, which broadcasts to scores of `rank` axes, as it does to those in groups. */
static Value *spread(Builder *b, Value *v, const Groups *g, uint32_t rank) {
  const uint32_t left = rank - v->type.rank, at = g->axis - left;
  const Dim *dims[MAX_RANK];
  if (left > g->axis) return v;
  if (dim_is(v->type.dims[at], 1)) return build_unsqueeze(b, v, 1u << (at + 1));
  for (uint32_t j = 0; j < v->type.rank; j++) dims[j + (j > at)] = v->type.dims[j];
  dims[at] = g->all->dims[g->axis], dims[at + 1] = g->all->dims[g->axis + 1];
  return build_reshape(b, v, v->type.rank + 1, dims);
}

/* The expression with its coordinates in groups; false where one is a head's. */
static bool spread_places(Builder *b, Expr *e, uint32_t axis) {
  Expr r = {0};
  for (uint32_t i = 0; i < e->n; i++) {
    ExprNode n = e->nodes[i];
    if (n.kind == EXPR_INDEX && n.axis == axis) return false;
    if (n.kind == EXPR_INDEX && n.axis > axis) n.axis++;
    (void)expr_push(b->ir->arena, &r, n);
  }
  *e = r;
  return true;
}

static Value *in_groups(Builder *b, Value *v, const Groups *g, unsigned depth);

static Value *pointwise_in_groups(Builder *b, const Node *n, const Groups *g, unsigned depth) {
  const uint32_t rank = n->out[0]->type.rank;
  PointwiseAttr *attr = NEW(b->ir->arena, PointwiseAttr);
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  uint32_t scores = 0;
  *attr = *(const PointwiseAttr *)n->attr;
  while (scores < n->n_in && !(same_sizes(&n->in[scores]->type, &n->out[0]->type) && (in[scores] = in_groups(b, n->in[scores], g, depth)))) scores++;
  if (scores == n->n_in || !spread_places(b, &attr->expr, g->axis)) return NULL;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (k != scores && !(in[k] = spread(b, n->in[k], g, rank))) return NULL;
  const Type t = type_tensor(b->ir, n->out[0]->type.dtype, g->all->rank, g->all->dims);
  return graph_add_node(b->graph, OP_POINTWISE, in, n->n_in, &t, 1, attr, n->src)->out[0];
}

/* v, which only what is behind it reads, as it comes of the scores in groups; NULL: of something else. */
static Value *in_groups(Builder *b, Value *v, const Groups *g, unsigned depth) {
  const Node *n = v->def;
  if (depth == 0 || !only_here(b, &g->uses, v)) return NULL;
  if (n->op == OP_RESHAPE) return same_sizes(&n->in[0]->type, g->all) ? n->in[0] : NULL;
  if (n->op == OP_POINTWISE) return pointwise_in_groups(b, n, g, depth - 1);
  if (n->op != OP_SOFTMAX || ((const SoftmaxAttr *)n->attr)->axis == g->axis) return NULL;
  SoftmaxAttr attr = *(const SoftmaxAttr *)n->attr;
  attr.axis += attr.axis > g->axis;
  Value *x = in_groups(b, n->in[0], g, depth - 1);
  return x ? build_softmax(b, x, attr) : NULL;
}

static bool keep_groups(Builder *b, const Node *n, Value **ret, void *user) {
  Groups g = *(const Groups *)user;
  if (!pass_is_product_of_calls(n) || !n->in[0]->def || n->in[0]->def->op != OP_RESHAPE) return false;
  Value *heads = n->in[0]->def->in[0];
  g.all = &n->in[0]->type;
  g.axis = joined_axis(g.all, &heads->type);
  if (g.axis == UINT32_MAX || !only_here(b, &g.uses, n->in[0])) return false;
  const ContractAttr *attr = n->attr;
  Value *x = in_groups(b, heads, &g, MOST_STEPS);
  ret[0] = x ? build_contract(b, x, attr->a, n->in[1], attr->b, attr->out, n->out[0]->type.rank, attr->acc, NULL, NULL) : NULL;
  return ret[0] != NULL;
}

/* ---- axes of one element ---- */
/* The axes that a view leaves out, all of one element, others staying in order; 0: it does something else. */
static uint32_t left_out(const Node *view) {
  const Type *from = &view->in[0]->type, *to = &view->out[0]->type;
  uint32_t axes = 0, next = 0;
  for (uint32_t a = 0; a < from->rank; a++) {
    const Affine *f = &((const ViewAttr *)view->attr)->index[a];
    uint32_t own = 0, others = 0;
    for (uint32_t j = 0; j < to->rank; j++) {
      const Dim *c = affine_coef(f, j);
      own += c && j == next && dim_is(c, 1);
      others += c && !(j == next && dim_is(c, 1));
    }
    if (!dim_is(f->offset, 0) || others || (!own && !dim_is(from->dims[a], 1)) || (own && from->dims[a] != to->dims[next])) return 0;
    if (own) next++;
    else axes |= 1u << a;
  }
  return next == to->rank ? axes : 0;
}

/* Whether v without those axes is what a view put them into, or element-wise work on such, which nothing else reads. */
static bool is_put_into(const Builder *b, const Uses *u, const Value *v, uint32_t axes, unsigned depth) {
  if (!v->def || v->def->graph != b->graph || depth == 0) return false;
  if (v->def->op == OP_POINTWISE && only_here(b, u, v)) {
    for (uint32_t k = 0; k < v->def->n_in; k++)
      if (same_sizes(&v->def->in[k]->type, &v->type) && is_put_into(b, u, v->def->in[k], axes, depth - 1)) return true;
    return false;
  }
  if (v->def->op != OP_VIEW || !pass_keeps_order(v->def)) return false;
  const Type *from = &v->def->in[0]->type;
  uint32_t next = 0;
  for (uint32_t a = 0; a < v->type.rank; a++)
    if (!(axes >> a & 1) && (next == from->rank || from->dims[next++] != v->type.dims[a])) return false;
  return next == from->rank;
}

/* The expression without those axes; false where it asks for a place along one. */
static bool leave_out(Builder *b, Expr *e, uint32_t axes) {
  Expr r = {0};
  for (uint32_t i = 0; i < e->n; i++) {
    ExprNode n = e->nodes[i];
    if (n.kind == EXPR_INDEX) {
      if (axes >> n.axis & 1) return false;
      for (uint32_t a = n.axis; a-- > 0;) n.axis -= axes >> a & 1;
    }
    (void)expr_push(b->ir->arena, &r, n);
  }
  *e = r;
  return true;
}

static bool drop_ones(Builder *b, const Node *n, Value **ret, void *user) {
  const uint32_t axes = n->op == OP_VIEW ? left_out(n) : 0;
  if (!axes || n->in[0]->def == NULL || n->in[0]->def->op != OP_POINTWISE || !is_put_into(b, user, n->in[0], axes, MOST_STEPS)) return false;
  const Node *work = n->in[0]->def;
  const uint32_t rank = n->in[0]->type.rank;
  PointwiseAttr *attr = NEW(b->ir->arena, PointwiseAttr);
  Value **in = NEW_ARRAY(b->ir->arena, Value *, work->n_in);
  *attr = *(const PointwiseAttr *)work->attr;
  if (!leave_out(b, &attr->expr, axes)) return false;
  for (uint32_t k = 0; k < work->n_in; k++) {
    const uint32_t own = axes >> (rank - work->in[k]->type.rank); /* operands broadcast from the right */
    if (!(in[k] = own ? build_squeeze(b, work->in[k], own) : work->in[k])) return false;
  }
  ret[0] = graph_add_node(b->graph, OP_POINTWISE, in, work->n_in, &n->out[0]->type, 1, attr, work->src)->out[0];
  return true;
}

bool pass_heads(Ir *ir) {
  bool changed = false;
  for (unsigned i = 0; i < MOST_STEPS; i++) { /* the last of a chain of element-wise work, then what it reads */
    uint32_t *of = NEW_ARRAY(ir->arena, uint32_t, ir->n_values);
    const Uses u = {of, ir->n_values};
    pass_count_uses(ir->main, of);
    if (!pass_rewrite(ir, drop_ones, (void *)(uintptr_t)&u)) break;
    changed = true;
    (void)pass_simplify(ir);
  }
  changed |= pass_rewrite(ir, join_heads, NULL);
  uint32_t *uses = NEW_ARRAY(ir->arena, uint32_t, ir->n_values);
  const Groups g = {.uses = {uses, ir->n_values}};
  pass_count_uses(ir->main, uses);
  changed |= pass_rewrite(ir, keep_groups, (void *)(uintptr_t)&g);
  if (changed) (void)pass_simplify(ir);
  return true;
}
