/* Data movement that is more than a view: pad, concat, gather, scatter; cumulative and reducing nests. */
#include "lower/lower_private.h"

static const Dim **copy_dims(Lower *l, const Dim *const *d, uint32_t n) { return arena_dup(l->a, d, n * sizeof *d); }

static Affine *coords(Lower *l, uint32_t rank) { /* the identity view */
  Affine *f = NEW_ARRAY(l->a, Affine, rank);
  for (uint32_t a = 0; a < rank; a++) {
    const Dim **coef = NEW_ARRAY(l->a, const Dim *, rank);
    for (uint32_t j = 0; j < rank; j++) coef[j] = j == a ? l->p->dims->one : l->p->dims->zero;
    f[a] = (Affine){l->p->dims->zero, coef};
  }
  return f;
}

/* ---- concat: each operand is written where it belongs ------------------------------------------------------------------------ */
bool lower_concat(Lower *l, const Node *n) {
  uint32_t axis = ((const ConcatAttr *)n->attr)->axis;
  const Value *out = n->out[0];
  uint32_t t = lower_result(l, out);
  const Dim *at = l->p->dims->zero;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const Value *x = n->in[k];
    const Dim **offset = NEW_ARRAY(l->a, const Dim *, out->type.rank);
    offset[axis] = at;
    at = dim_add(l->p->dims, at, x->type.dims[axis]);
    if (dim_is(x->type.dims[axis], 0)) continue;
    uint32_t window = lower_subtensor(l, t, offset, x->type.dims);
    lower_store(l, lower_virt(l, x), out->type.rank, x->type.dims, window, n->src);
  }
  return true;
}

/* ---- pad: the interior, and per axis two slabs, so that no loop branches ------------------------------------------------------ */
typedef struct Slab {
  const Dim **offset, **dims; /* where in the output */
  Affine *index;              /* what of the input, by mode; NULL: the constant */
} Slab;

/* Axis a of a slab that reads the input at start + sign * i (sign 0: one place). */
static void slab_axis(Lower *l, Slab *s, uint32_t rank, uint32_t a, const Dim *offset, const Dim *count, const Dim *start, int sign) {
  s->offset[a] = offset;
  s->dims[a] = count;
  const Dim **coef = NEW_ARRAY(l->a, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) coef[j] = dim_const(l->p->dims, j == a ? sign : 0);
  if (s->index) s->index[a] = (Affine){start, coef};
}

static const Dim *not_negative(DimCtx *c, const Dim *d) { return dim_max(c, d, c->zero); }

/* How much of the pad at one side the result has: what the other side crops beyond the input, it takes from there. */
static const Dim *pad_count(DimCtx *c, const Dim *pad, const Dim *other, const Dim *result) {
  const Dim *count = not_negative(c, pad);
  return other->lo < 0 ? dim_min(c, count, result) : count;
}

static void slab_interior(Lower *l, Slab *s, uint32_t rank, uint32_t a, const PadAttr *attr, const Dim *size, const Dim *result) {
  DimCtx *c = l->p->dims;
  const Dim *lo = pad_count(c, attr->lo[a], attr->hi[a], result), *hi = pad_count(c, attr->hi[a], attr->lo[a], result);
  const bool grows = attr->lo[a]->lo >= 0 && attr->hi[a]->lo >= 0;
  slab_axis(l, s, rank, a, lo, grows ? size : dim_sub(c, dim_sub(c, result, lo), hi), not_negative(c, dim_sub(c, c->zero, attr->lo[a])), 1);
}

static void slab_whole(Lower *l, Slab *s, uint32_t rank, uint32_t a, const Dim *size) { /* constant slabs: all of the axis */
  slab_axis(l, s, rank, a, l->p->dims->zero, size, l->p->dims->zero, 1);
}

static void slab_store(Lower *l, const Node *n, const Slab *s, uint32_t out, const Virt *x, const Virt *value) {
  uint32_t rank = n->out[0]->type.rank;
  for (uint32_t a = 0; a < rank; a++)
    if (s->dims[a]->hi <= 0) return;
  uint32_t window = lower_subtensor(l, out, s->offset, s->dims);
  Virt v = s->index ? virt_view(l->p, x, rank, s->index, rank) : virt_view(l->p, value, 0, NULL, rank);
  lower_store(l, &v, rank, copy_dims(l, s->dims, rank), window, n->src);
}

static Slab slab_new(Lower *l, uint32_t rank, bool constant) {
  return (Slab){NEW_ARRAY(l->a, const Dim *, rank), NEW_ARRAY(l->a, const Dim *, rank), constant ? NULL : NEW_ARRAY(l->a, Affine, rank)};
}

/* A non-constant mode pads axis by axis: the slabs of axis a read the output as padded on the axes before it, so that corners
 * come out right; reading what earlier steps stored. */
static void pad_axis_by_reading(Lower *l, const Node *n, uint32_t a, uint32_t out) {
  const PadAttr *attr = n->attr;
  DimCtx *c = l->p->dims;
  const Type *x = &n->in[0]->type, *y = &n->out[0]->type;
  Virt self = virt_of_tensor(l->p, out);
  const Dim *size = x->dims[a], *lo = attr->lo[a], *hi = attr->hi[a], *last = dim_addc(c, size, -1);
  for (int side = 0; side < 2; side++) {
    const Dim *count = side ? hi : lo, *offset = side ? dim_add(c, lo, size) : c->zero, *start = NULL;
    int sign = 1;
    if (attr->mode == PAD_EDGE) start = side ? dim_add(c, lo, last) : lo, sign = 0;
    if (attr->mode == PAD_REFLECT) start = side ? dim_add(c, lo, dim_addc(c, last, -1)) : dim_mulc(c, lo, 2), sign = -1;
    if (attr->mode == PAD_WRAP) start = side ? lo : size;
    if (count->hi <= 0) continue;
    Slab s = slab_new(l, y->rank, false);
    for (uint32_t j = 0; j < y->rank; j++) {
      if (j == a) slab_axis(l, &s, y->rank, j, offset, count, start, sign);
      else if (j < a) slab_whole(l, &s, y->rank, j, y->dims[j]);
      else slab_axis(l, &s, y->rank, j, attr->lo[j], x->dims[j], attr->lo[j], 1);
    }
    slab_store(l, n, &s, out, &self, NULL);
  }
}

static void pad_axis_constant(Lower *l, const Node *n, uint32_t a, uint32_t out, const Virt *value) {
  const PadAttr *attr = n->attr;
  DimCtx *c = l->p->dims;
  const Type *x = &n->in[0]->type, *y = &n->out[0]->type;
  for (int side = 0; side < 2; side++) {
    const Dim *count = side ? pad_count(c, attr->hi[a], attr->lo[a], y->dims[a]) : pad_count(c, attr->lo[a], attr->hi[a], y->dims[a]);
    Slab s = slab_new(l, y->rank, true);
    for (uint32_t j = 0; j < y->rank; j++) {
      if (j == a) slab_axis(l, &s, y->rank, j, side ? dim_sub(c, y->dims[a], count) : c->zero, count, c->zero, 1);
      else if (j < a) slab_interior(l, &s, y->rank, j, attr, x->dims[j], y->dims[j]);
      else slab_whole(l, &s, y->rank, j, y->dims[j]);
    }
    slab_store(l, n, &s, out, NULL, value);
  }
}

bool lower_pad(Lower *l, const Node *n) {
  const PadAttr *attr = n->attr;
  const Value *x = n->in[0], *y = n->out[0];
  uint32_t rank = y->type.rank, t;
  Virt value = {0};
  if (n->n_in > 1 && n->in[1]) value = *lower_virt(l, n->in[1]);
  else (void)expr_const_bits(l->a, &value.expr, x->type.dtype, 0);
  if (attr->mode != PAD_CONSTANT) /* slabs read what is stored: negative pads were cropped by views before */
    for (uint32_t a = 0; a < rank; a++)
      if (attr->lo[a]->lo < 0 || attr->hi[a]->lo < 0) return lower_unsupported(l, n, "negative pads that are not constant, with a mode other than constant");
  const Virt source = *lower_virt(l, x);
  t = lower_result(l, y);
  Slab s = slab_new(l, rank, false);
  for (uint32_t a = 0; a < rank; a++) slab_interior(l, &s, rank, a, attr, x->type.dims[a], y->type.dims[a]);
  slab_store(l, n, &s, t, &source, NULL);
  for (uint32_t a = 0; a < rank; a++) {
    if (attr->mode == PAD_CONSTANT) pad_axis_constant(l, n, a, t, &value);
    else pad_axis_by_reading(l, n, a, t);
  }
  return true;
}

/* ---- gather, scatter ------------------------------------------------------------------------------------------------------------ */
/* Appends the index operands' values to v: one s64 node a data axis (or -1). False where they are `most` loads or more. */
static bool append_index(Lower *l, const Node *n, const GatherAxis *axes, uint32_t data_rank, uint32_t rank, uint32_t most, Virt *v, int32_t *ret) {
  for (uint32_t a = 0; a < data_rank; a++) {
    ret[a] = -1;
    if (!axes[a].indirect) continue;
    const Value *index = n->in[axes[a].operand];
    Virt seen = virt_view(l->p, lower_virt(l, index), index->type.rank, axes[a].place, rank);
    uint32_t node = virt_append(l->p, v, &seen);
    if (node == UINT32_MAX || v->n_loads >= most) return false;
    ret[a] = (int32_t)expr_cast(l->a, &v->expr, DT_s64, true, node);
  }
  return true;
}

/* The value of `rank` axes that has the indices' nodes: operands that each axis would load again and again are stored before. */
static Virt index_nodes(Lower *l, const Node *n, const GatherAxis *axes, uint32_t data_rank, uint32_t rank, int32_t *ret) {
  Virt v = {.rank = rank};
  if (append_index(l, n, axes, data_rank, rank, VIRT_FUSED_LOADS, &v, ret)) return v;
  for (uint32_t a = 0; a < data_rank; a++)
    if (axes[a].indirect) lower_materialise(l, n->in[axes[a].operand], n->src);
  v = (Virt){.rank = rank};
  (void)append_index(l, n, axes, data_rank, rank, VIRT_MAX_LOADS, &v, ret); /* a load for each axis now */
  return v;
}

/* The element at those places: where each coordinate comes from. */
static VLoad placed_load(Lower *l, uint32_t tensor, const GatherAxis *axes, uint32_t data_rank, const int32_t *indirect) {
  Affine *index = NEW_ARRAY(l->a, Affine, data_rank);
  uint32_t inside = 0;
  for (uint32_t a = 0; a < data_rank; a++) {
    index[a] = axes[a].indirect ? (Affine){l->p->dims->zero, NULL} : axes[a].affine;
    if (axes[a].indirect && axes[a].inside) inside |= 1u << a;
  }
  return (VLoad){tensor, index, indirect, inside};
}

/* How much a place may cost to compute for each element that is read there: little where many are. */
static unsigned place_cost(const Type *places, const Type *out) {
  enum { SELDOM = 8, OFTEN = 2, MANY = 8 };
  int64_t few = 1, all = 1, d;
  for (uint32_t a = 0; a < places->rank; a++)
    if (!dim_is_const(places->dims[a], &d) || !i64_mul(few, d, &few)) return SELDOM;
  for (uint32_t a = 0; a < out->rank; a++)
    if (!dim_is_const(out->dims[a], &d) || !i64_mul(all, d, &all)) return SELDOM;
  return few <= all / MANY ? OFTEN : SELDOM;
}

bool lower_gather(Lower *l, const Node *n) {
  const GatherAttr *attr = n->attr;
  const Value *data = n->in[0], *out = n->out[0];
  uint32_t rank = out->type.rank, table;
  for (uint32_t k = 1; k < n->n_in; k++)
    if (virt_cost(lower_virt(l, n->in[k])) > place_cost(&n->in[k]->type, &out->type)) lower_materialise(l, n->in[k], n->src);
  table = virt_plain_tensor(l->p, lower_virt(l, data), &data->type);
  if (table == NO_TENSOR) table = lower_dense(l, data, n->src);
  int32_t *indirect = NEW_ARRAY(l->a, int32_t, data->type.rank);
  Virt v = index_nodes(l, n, attr->axes, data->type.rank, rank, indirect);
  uint32_t k = v.n_loads++;
  v.loads[k] = placed_load(l, table, attr->axes, data->type.rank, indirect);
  expr_set_result(l->a, &v.expr, expr_input(l->a, &v.expr, k, data->type.dtype));
  lower_set_virt(l, out, &v);
  if (l->slots[out->id].uses > 1) lower_materialise(l, out, n->src);
  return true;
}

bool lower_scatter(Lower *l, const Node *n) {
  const ScatterAttr *attr = n->attr;
  const Value *data = n->in[0], *updates = n->in[1], *out = n->out[0];
  uint32_t rank = updates->type.rank;
  Virt base = *lower_virt(l, data);
  uint32_t t = lower_result(l, out);
  lower_store(l, &base, out->type.rank, out->type.dims, t, n->src);
  int32_t *indirect = NEW_ARRAY(l->a, int32_t, data->type.rank);
  Virt v = index_nodes(l, n, attr->axes, data->type.rank, rank, indirect);
  if (lower_virt(l, updates)->n_loads + v.n_loads > VIRT_FUSED_LOADS) lower_materialise(l, updates, n->src);
  expr_set_result(l->a, &v.expr, virt_append(l->p, &v, lower_virt(l, updates)));
  const VLoad place = placed_load(l, t, attr->axes, data->type.rank, indirect);
  Nest *nest = NEW(l->a, Nest);
  *nest = (Nest){.mode = NEST_SCATTER, .n_axes = rank, .extent = updates->type.dims, .map = v.expr, .scatter = attr->kind,
                 .n_loads = v.n_loads};
  Access *loads = NEW_ARRAY(l->a, Access, v.n_loads);
  uint32_t in[VIRT_MAX_LOADS + 1];
  for (uint32_t k = 0; k < v.n_loads; k++) loads[k] = virt_access(l->p, &v.loads[k], rank), in[k] = loads[k].tensor;
  in[v.n_loads] = t; /* what is there stays, but for the updates */
  nest->loads = loads;
  nest->store = virt_access(l->p, &place, rank);
  nest_simplify(l->a, l->p->dims, nest);
  (void)lower_step(l, STEP_NEST, in, v.n_loads + 1, &t, 1, nest, NULL, n->src);
  return true;
}

/* ---- reduce, scan ------------------------------------------------------------------------------------------------------------------ */
/* The nest over x's axes in the given order. */
static Nest *ordered_nest(Lower *l, const Virt *x, const Type *type, const uint32_t *order) {
  uint32_t rank = type->rank;
  Affine *index = coords(l, rank);
  for (uint32_t j = 0; j < rank; j++) {
    const Dim **coef = NEW_ARRAY(l->a, const Dim *, rank);
    for (uint32_t k = 0; k < rank; k++) coef[k] = order[k] == j ? l->p->dims->one : l->p->dims->zero;
    index[j] = (Affine){l->p->dims->zero, coef};
  }
  Virt v = virt_view(l->p, x, rank, index, rank);
  Nest *n = NEW(l->a, Nest);
  const Dim **extent = NEW_ARRAY(l->a, const Dim *, rank);
  Access *loads = NEW_ARRAY(l->a, Access, v.n_loads);
  for (uint32_t k = 0; k < rank; k++) extent[k] = type->dims[order[k]];
  for (uint32_t k = 0; k < v.n_loads; k++) loads[k] = virt_access(l->p, &v.loads[k], rank);
  *n = (Nest){.n_axes = rank, .extent = extent, .map = v.expr, .loads = loads, .n_loads = v.n_loads};
  return n;
}

/* The step of a nest that writes t; it reads what is left of the loads when dead ones are gone. */
static void nest_step(Lower *l, const Node *n, Nest *nest, uint32_t t) {
  uint32_t in[VIRT_MAX_LOADS];
  nest_simplify(l->a, l->p->dims, nest);
  for (uint32_t k = 0; k < nest->n_loads; k++) in[k] = nest->loads[k].tensor;
  (void)lower_step(l, STEP_NEST, in, nest->n_loads, &t, 1, nest, NULL, n->src);
}

bool lower_reduce(Lower *l, const Node *n) {
  const ReduceAttr *attr = n->attr;
  const Value *x = n->in[0], *out = n->out[0];
  uint32_t rank = x->type.rank, order[MAX_RANK], outer = 0, at = 0;
  for (uint32_t a = 0; a < rank; a++)
    if (!(attr->axes >> a & 1)) order[at++] = a;
  outer = at;
  for (uint32_t a = 0; a < rank; a++)
    if (attr->axes >> a & 1) order[at++] = a;
  Nest *nest = ordered_nest(l, lower_virt(l, x), &x->type, order);
  nest->mode = NEST_REDUCE;
  nest->n_reduce = rank - outer;
  nest->reduce = attr->kind;
  nest->arg_last = attr->last;
  nest->acc = attr->acc;
  bool arg = attr->kind == REDUCE_ARGMAX || attr->kind == REDUCE_ARGMIN;
  uint32_t r = expr_input(l->a, &nest->post, 0, arg ? DT_s64 : attr->acc);
  expr_set_result(l->a, &nest->post, expr_cast(l->a, &nest->post, out->type.dtype, true, r));
  uint32_t t = lower_result(l, out);
  const PTensor *pt = &l->p->tensors.data[t];
  const Dim **stride = NEW_ARRAY(l->a, const Dim *, rank);
  for (uint32_t j = 0; j < outer; j++) stride[j] = pt->strides[order[j]];
  nest->store = (Access){.tensor = t, .offset = l->p->dims->zero, .stride = stride};
  nest_step(l, n, nest, t);
  return true;
}

bool lower_scan(Lower *l, const Node *n) {
  const ScanAttr *attr = n->attr;
  const Value *x = n->in[0], *out = n->out[0];
  uint32_t rank = x->type.rank, order[MAX_RANK], at = 0;
  for (uint32_t a = 0; a < rank; a++)
    if (a != attr->axis) order[at++] = a;
  order[at] = attr->axis;
  Virt source = *lower_virt(l, x);
  uint32_t t = lower_result(l, out);
  const PTensor *pt = &l->p->tensors.data[t];
  const Dim *offset = l->p->dims->zero, *last = dim_addc(l->p->dims, x->type.dims[attr->axis], -1);
  const Dim **stride = NEW_ARRAY(l->a, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) stride[j] = pt->strides[order[j]];
  if (attr->reverse) { /* the domain runs forwards; both sides are read from the end */
    Affine *flip = coords(l, rank);
    const Dim **coef = NEW_ARRAY(l->a, const Dim *, rank);
    for (uint32_t j = 0; j < rank; j++) coef[j] = dim_const(l->p->dims, j == attr->axis ? -1 : 0);
    flip[attr->axis] = (Affine){last, coef};
    source = virt_view(l->p, &source, rank, flip, rank);
    offset = dim_mul(l->p->dims, last, pt->strides[attr->axis]);
    stride[at] = dim_mulc(l->p->dims, stride[at], -1);
  }
  Nest *nest = ordered_nest(l, &source, &x->type, order);
  nest->mode = NEST_SCAN;
  nest->scan_fn = attr->fn;
  nest->scan_exclusive = attr->exclusive;
  nest->acc = out->type.dtype;
  nest->store = (Access){.tensor = t, .offset = offset, .stride = stride};
  nest_step(l, n, nest, t);
  return true;
}
