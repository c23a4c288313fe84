/* Places that constant index tensors name are computed where they are affine in the coordinates: a range, a step, a window over windows
 * (what exporters make of unfolding), one index. A gather all of whose places are becomes a view, which costs nothing; neither has anything
 * to check at run time. Constants out of range stay, and are an error of the call. */
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

static bool compute_axis(Builder *b, const Value *index, uint32_t rank, const Dim *bound, GatherAxis *axis) {
  DimCtx *c = b->ir->dims;
  Indices x;
  int64_t first, by[MAX_RANK];
  if (!see(index, axis->place, rank, bound, &x) || !is_affine(&x, &first, by)) return false;
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  const Dim *offset = dim_const(c, first);
  for (uint32_t k = 0; k < x.rank; k++) {
    if (!x.moves[k]) continue;
    offset = dim_add(c, offset, dim_mulc(c, axis->place[k].offset, by[k]));
    for (uint32_t j = 0; j < rank; j++)
      if (affine_coef(&axis->place[k], j)) coef[j] = dim_add(c, coef[j] ? coef[j] : c->zero, dim_mulc(c, axis->place[k].coef[j], by[k]));
  }
  *axis = (GatherAxis){.affine = {offset, coef}};
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

static bool gather(Builder *b, const Node *n, Value **ret, void *user) {
  bool all;
  (void)user;
  if (n->op == OP_SCATTER) {
    const ScatterAttr *attr = n->attr;
    const GatherAxis *axes = compute_axes(b, n, attr->axes, n->in[1]->type.rank, &all);
    if (axes) ret[0] = build_scatter(b, attr->kind, n->in, n->n_in, axes);
    return axes && ret[0];
  }
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
