/* Places that constant index tensors name are computed where they are affine in the coordinates: a range, a step, a window over windows
 * (what exporters make of unfolding), one index; constants also behind views of them put side by side (a range for each axis, expanded: what
 * exporters make of assigning to slices). A gather all of whose places are becomes a view, which costs nothing, as does a scatter that sets each element once;
 * neither has anything to check at run time. Constants out of range stay, and are an error of the call. */
#include "passes/passes.h"

/* The index tensor seen from one axis of the data: coordinates that move with the node's, others fixed. */
typedef struct Indices {
  const Tensor *data;
  uint32_t rank;
  int64_t dims[MAX_RANK], step[MAX_RANK]; /* step: of the element number, in row-major order */
  bool moves[MAX_RANK];
  int64_t base;  /* element number of the fixed coordinates */
  int64_t bound; /* extent of the data's axis */
} Indices;

static bool moves_with(const Affine *f, uint32_t rank) {
  for (uint32_t j = 0; j < rank; j++)
    if (affine_coef(f, j)) return true;
  return false;
}

static bool see(const Value *index, const Affine *place, uint32_t rank, const Dim *bound, Indices *ret) {
  *ret = (Indices){.data = index->data, .rank = index->type.rank};
  if (!index->data || !index->data->n || ret->rank > MAX_RANK || dtype_rows[index->data->dtype].kind != KIND_S || !dim_is_const(bound, &ret->bound)) return false;
  if (ret->bound > INT64_MAX / 64 / (int64_t)index->data->n) return false; /* sums of places must not overflow */
  int64_t step = 1;
  for (uint32_t k = ret->rank; k-- > 0; step *= ret->dims[k]) {
    int64_t at = 0;
    ret->step[k] = step;
    ret->moves[k] = moves_with(&place[k], rank);
    if (!dim_is_const(index->type.dims[k], &ret->dims[k])) return false;
    if (!ret->moves[k] && (!dim_is_const(place[k].offset, &at) || at < 0 || at >= ret->dims[k])) return false;
    ret->base += at * step;
  }
  return true;
}

/* The place that element `at` names; -1 out of range. */
static int64_t named(const Indices *x, int64_t at) {
  const int64_t i = tensor_int(x->data, (size_t)at);
  return i >= -x->bound && i < x->bound ? i < 0 ? i + x->bound : i : -1;
}

/* Whether each named place is first + sum of by[k] * coordinate k. */
static bool is_affine(const Indices *x, int64_t *ret_first, int64_t *by) {
  const int64_t first = *ret_first = named(x, x->base);
  int64_t coord[MAX_RANK] = {0};
  if (first < 0) return false;
  for (uint32_t k = 0; k < x->rank; k++) {
    by[k] = x->moves[k] && x->dims[k] > 1 ? named(x, x->base + x->step[k]) - first : 0;
    if (by[k] < -first) return false; /* out of range */
  }
  for (;;) {
    int64_t at = x->base, place = first;
    for (uint32_t k = 0; k < x->rank; k++) at += coord[k] * x->step[k], place += coord[k] * by[k];
    if (named(x, at) != place) return false;
    uint32_t k = x->rank;
    while (k-- > 0) {
      if (x->moves[k] && ++coord[k] < x->dims[k]) break;
      coord[k] = 0;
    }
    if (k == UINT32_MAX) return true;
  }
}

/* sum + by * f, over `rank` coordinates. */
static Affine affine_plus(Builder *b, Affine sum, const Affine *f, const Dim *by, uint32_t rank) {
  DimCtx *c = b->ir->dims;
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) {
    const Dim *own = affine_coef(&sum, j), *more = affine_coef(f, j);
    coef[j] = own ? own : c->zero;
    if (more) coef[j] = dim_add(c, coef[j], dim_mul(c, more, by));
  }
  return (Affine){dim_add(c, sum.offset, dim_mul(c, f->offset, by)), coef};
}

/* The part of a concatenation that is read, where that does not depend on the coordinates; place becomes one in it. */
static const Value *read_part(Builder *b, const Node *n, Affine *place, uint32_t rank) {
  const uint32_t axis = ((const ConcatAttr *)n->attr)->axis;
  int64_t at, size;
  if (moves_with(&place[axis], rank) || !dim_is_const(place[axis].offset, &at)) return NULL;
  for (uint32_t k = 0; k < n->n_in; at -= size, k++) {
    if (!dim_is_const(n->in[k]->type.dims[axis], &size)) return NULL;
    if (at >= size) continue;
    place[axis] = (Affine){dim_const(b->ir->dims, at), NULL};
    return n->in[k];
  }
  return NULL;
}

/* What a view reads; place becomes one in it. */
static const Value *read_view(Builder *b, const Node *n, Affine *place, uint32_t rank) {
  const Affine *index = ((const ViewAttr *)n->attr)->index;
  Affine through[MAX_RANK];
  for (uint32_t i = 0; i < n->in[0]->type.rank; i++) {
    through[i] = (Affine){index[i].offset, NULL};
    for (uint32_t j = 0; j < n->out[0]->type.rank; j++)
      if (affine_coef(&index[i], j)) through[i] = affine_plus(b, through[i], &place[j], index[i].coef[j], rank);
  }
  memcpy(place, through, n->in[0]->type.rank * sizeof *place);
  return n->in[0];
}

enum { MOST_READ = 16 }; /* nodes that are looked through: many gathers may read one long chain */

/* The constant that `place` of the index tensor is read from; place (room for MAX_RANK) becomes one in it. NULL: none. */
static const Value *read_constant(Builder *b, const Value *index, Affine *place, uint32_t rank) {
  for (int i = 0; index && !index->data; i++) {
    const Node *n = i < MOST_READ ? index->def : NULL;
    index = !n ? NULL : n->op == OP_CONCAT ? read_part(b, n, place, rank) : n->op == OP_VIEW ? read_view(b, n, place, rank) : NULL;
  }
  return index;
}

static bool compute_axis(Builder *b, const Value *index, uint32_t rank, const Dim *bound, GatherAxis *axis) {
  DimCtx *c = b->ir->dims;
  Indices x;
  int64_t first, by[MAX_RANK];
  Affine place[MAX_RANK], sum = {NULL, NULL};
  memcpy(place, axis->place, index->type.rank * sizeof *place);
  index = read_constant(b, index, place, rank);
  if (!index || !see(index, place, rank, bound, &x) || !is_affine(&x, &first, by)) return false;
  sum.offset = dim_const(c, first);
  for (uint32_t k = 0; k < x.rank; k++)
    if (x.moves[k]) sum = affine_plus(b, sum, &place[k], dim_const(c, by[k]), rank);
  *axis = (GatherAxis){.affine = sum};
  return true;
}

/* The node's axes with fewer indirect ones; NULL if there are none to take. */
static GatherAxis *compute_axes(Builder *b, const Node *n, const GatherAxis *axes, uint32_t rank, bool *ret_all) {
  const Type *data = &n->in[0]->type;
  GatherAxis *now = arena_dup(b->ir->arena, axes, data->rank * sizeof *now);
  bool any = false;
  *ret_all = true;
  for (uint32_t a = 0; a < data->rank; a++) {
    if (!axes[a].indirect) continue;
    if (compute_axis(b, n->in[axes[a].operand], rank, data->dims[a], &now[a])) any = true;
    else *ret_all = false;
  }
  return any ? now : NULL;
}

/* The coordinate of the updates that an axis of the data moves with, all along the axis: forwards, or else (ret_back) backwards. False: there is none.
 * UINT32_MAX: of one element. */
static bool axis_covered(Builder *b, const GatherAxis *axis, const Type *updates, const Dim *size, uint32_t *ret, bool *ret_back) {
  DimCtx *c = b->ir->dims;
  const Affine *f = &axis->affine;
  *ret = UINT32_MAX;
  for (uint32_t j = 0; j < updates->rank; j++) {
    if (!affine_coef(f, j) || dim_is(updates->dims[j], 1)) continue;
    if (*ret != UINT32_MAX || updates->dims[j] != size) return false;
    *ret = j;
  }
  if (*ret == UINT32_MAX) return dim_is(size, 1);
  *ret_back = dim_is(f->coef[*ret], -1);
  return *ret_back ? f->offset == dim_addc(c, size, -1) : dim_is(f->coef[*ret], 1) && dim_is(f->offset, 0);
}

/* The updates as the data's elements, each of which they set once; NULL where they do not. */
static Value *all_set(Builder *b, const Node *n, const GatherAxis *axes) {
  DimCtx *c = b->ir->dims;
  const Type *data = &n->in[0]->type, *updates = &n->in[1]->type;
  const Affine none = {c->zero, NULL};
  Affine index[MAX_RANK];
  bool taken[MAX_RANK] = {false};
  for (uint32_t j = 0; j < updates->rank; j++) index[j] = none;
  for (uint32_t a = 0; a < data->rank; a++) {
    uint32_t j;
    bool back;
    if (!axis_covered(b, &axes[a], updates, data->dims[a], &j, &back)) return NULL;
    if (j == UINT32_MAX) continue;
    if (taken[j]) return NULL;
    taken[j] = true;
    const Affine along = build_affine_coord(b, data->rank, a);
    const Affine start = {back ? dim_addc(c, data->dims[a], -1) : c->zero, NULL};
    index[j] = affine_plus(b, start, &along, dim_const(c, back ? -1 : 1), data->rank);
  }
  for (uint32_t j = 0; j < updates->rank; j++)
    if (!taken[j] && !dim_is(updates->dims[j], 1)) return NULL;
  return build_view(b, n->in[1], data->rank, data->dims, index);
}

static bool scatter(Builder *b, const Node *n, Value **ret) {
  const ScatterAttr *attr = n->attr;
  bool all;
  const GatherAxis *axes = compute_axes(b, n, attr->axes, n->in[1]->type.rank, &all);
  if (!axes) return false;
  ret[0] = all && attr->kind == SCATTER_SET ? all_set(b, n, axes) : NULL;
  if (!ret[0]) ret[0] = build_scatter(b, attr->kind, n->in, all ? 2 : n->n_in, axes);
  return ret[0] != NULL;
}

static bool gather(Builder *b, const Node *n, Value **ret, void *user) {
  bool all;
  (void)user;
  if (n->op == OP_SCATTER) return scatter(b, n, ret);
  if (n->op != OP_GATHER) return false;
  const Type *out = &n->out[0]->type;
  const GatherAxis *axes = compute_axes(b, n, ((const GatherAttr *)n->attr)->axes, out->rank, &all);
  if (!axes) return false;
  if (!all) {
    ret[0] = build_gather(b, n->in, n->n_in, out->rank, out->dims, axes);
    return ret[0] != NULL;
  }
  Affine *index = NEW_ARRAY(b->ir->arena, Affine, n->in[0]->type.rank);
  for (uint32_t a = 0; a < n->in[0]->type.rank; a++) index[a] = axes[a].affine;
  ret[0] = build_view(b, n->in[0], out->rank, out->dims, index);
  return ret[0] != NULL;
}

bool pass_gather(Ir *ir) { return pass_rewrite(ir, gather, NULL), true; }
