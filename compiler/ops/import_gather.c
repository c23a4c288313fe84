/* Elements at computed places: Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND. */
#include "ops/shared.h"

/* E0403 for a constant index outside [-size, size). */
static bool index_in_range(OpContext *c, Value *index, const Value *x, uint32_t axis) {
  const int64_t *v;
  size_t n;
  int64_t limit;
  if (!dim_is_const(x->type.dims[axis], &limit) || !build_const_ints(&c->b, index, &v, &n)) return true;
  for (size_t k = 0; k < n; k++)
    if (v[k] < -limit || v[k] >= limit)
      return op_fail(c, DIAG_E0403, "index %lld is out of range for axis %u of shape %s", (long long)v[k], axis,
                     build_shape_text(&c->b, x));
  return true;
}

/* A constant scalar index is a view. */
static Value *gather_one(OpContext *c, Value *x, uint32_t axis, const Dim *at) {
  DimCtx *d = op_dims(c);
  const Dim *size = x->type.dims[axis];
  if (at->hi < 0) {
    if (!ir_require_le(c->b.ir, dim_sub(d, d->zero, at), size)) return (void)op_fail(c, DIAG_E0403, "index %lld is out of range for axis %u of shape %s", (long long)at->hi, axis, build_shape_text(&c->b, x)), NULL;
    at = dim_add(d, at, size);
  }
  return build_squeeze(&c->b, op_part(c, x, axis, at, d->one), 1u << axis);
}

Value *op_gather(OpContext *c, Value *x, Value *index, uint32_t axis) {
  Builder *b = &c->b;
  if (!x || !index || !index_in_range(c, index, x, axis)) return NULL;
  const uint32_t r = index->type.rank, rank = x->type.rank + r - 1;
  size_t n;
  const Dim *const *known = build_content(b, index, &n);
  if (r == 0 && known && known[0]->kind == DIM_CONST) return gather_one(c, x, axis, known[0]);
  if (rank > MAX_RANK) return (void)op_unsupported(c, "a result of rank %u (at most %d)", rank, MAX_RANK), NULL;
  const Dim *dims[MAX_RANK];
  Affine place[MAX_RANK];
  GatherAxis axes[MAX_RANK] = {{0}};
  for (uint32_t j = 0; j < r; j++) {
    dims[axis + j] = index->type.dims[j];
    place[j] = build_affine_coord(b, rank, axis + j);
  }
  for (uint32_t i = 0; i < x->type.rank; i++) {
    const uint32_t o = i < axis ? i : i + r - 1;
    if (i == axis) {
      axes[i] = (GatherAxis){.indirect = true, .operand = 1, .place = place};
    } else {
      dims[o] = x->type.dims[i];
      axes[i].affine = build_affine_coord(b, rank, o);
    }
  }
  Value *const in[] = {x, index};
  return build_gather(b, in, 2, rank, dims, axes);
}

bool import_gather(OpContext *c) {
  uint32_t axis;
  if (op_rank(c, 0) == 0) return op_fail(c, DIAG_E0402, "input 0 must have rank 1 or more");
  return op_axis_attr(c, "axis", 0, op_rank(c, 0), &axis) && op_give(c, 0, op_gather(c, op_in(c, 0), op_in(c, 1), axis));
}

/* Axes of an access in which axis `axis` comes from operand `operand` at the same coordinates. */
static void elements_axes(Builder *b, uint32_t rank, uint32_t axis, uint32_t operand, GatherAxis *axes, Affine *place) {
  for (uint32_t i = 0; i < rank; i++) {
    place[i] = build_affine_coord(b, rank, i);
    axes[i] = (GatherAxis){.affine = place[i]};
  }
  axes[axis] = (GatherAxis){.indirect = true, .operand = operand, .place = place};
}

static bool same_rank(OpContext *c, size_t k) {
  if (op_rank(c, k) == op_rank(c, 0)) return true;
  return op_fail(c, DIAG_E0402, "inputs 0 and %zu must have the same rank, not shapes %s and %s", k, op_shape(c, 0),
                 op_shape(c, k));
}

bool import_gather_elements(OpContext *c) {
  const uint32_t rank = op_rank(c, 0);
  uint32_t axis;
  GatherAxis axes[MAX_RANK];
  Affine place[MAX_RANK];
  if (!same_rank(c, 1) || !op_axis_attr(c, "axis", 0, rank, &axis) ||
      !index_in_range(c, op_in(c, 1), op_in(c, 0), axis))
    return false;
  for (uint32_t i = 0; i < rank; i++)
    if (i != axis && !ir_require_le(c->b.ir, op_dim(c, 1, i), op_dim(c, 0, i)))
      return op_fail(c, DIAG_E0402, "indices %s reach beyond data %s", op_shape(c, 1), op_shape(c, 0));
  elements_axes(&c->b, rank, axis, 1, axes, place);
  return op_give(c, 0, build_gather(&c->b, c->in, 2, rank, op_in(c, 1)->type.dims, axes));
}

/* Tuples: data axis first + t is element t of the last axis of the indices; `rank` coordinates, the first q - 1 of them
 * the tuple's. */
/* E0403 for a constant tuple of k indices, one of which is outside of its axis, the first of them `first`. */
static bool tuples_in_range(OpContext *c, size_t operand, uint32_t first, uint32_t k) {
  const int64_t *v;
  size_t n;
  if (!build_const_ints(&c->b, op_in(c, operand), &v, &n)) return true;
  for (size_t i = 0; i < n; i++) {
    const uint32_t axis = first + (uint32_t)(i % k);
    int64_t limit;
    if (dim_is_const(op_dim(c, 0, axis), &limit) && (v[i] < -limit || v[i] >= limit))
      return op_fail(c, DIAG_E0403, "index %lld is out of range for axis %u of shape %s", (long long)v[i], axis, op_shape(c, 0));
  }
  return true;
}

static void tuple_axes(Builder *b, const Value *index, uint32_t operand, uint32_t first, uint32_t k, uint32_t data_rank,
                       uint32_t rank, GatherAxis *axes) {
  const uint32_t q = index->type.rank;
  for (uint32_t i = 0; i < data_rank; i++) {
    axes[i] = (GatherAxis){0};
    if (i < first) {
      axes[i].affine = build_affine_coord(b, rank, i);
    } else if (i >= first + k) {
      axes[i].affine = build_affine_coord(b, rank, q - 1 + i - first - k);
    } else {
      Affine *place = NEW_ARRAY(b->ir->arena, Affine, q);
      for (uint32_t j = 0; j + 1 < q; j++) place[j] = build_affine_coord(b, rank, j);
      place[q - 1] = build_affine_const(b, rank, bd_const(b, i - first));
      axes[i] = (GatherAxis){.indirect = true, .operand = operand, .place = place};
    }
  }
}

/* Length of the index tuples: the last dimension of input k's shape. */
static bool tuple_length(OpContext *c, size_t k, uint32_t room, uint32_t *ret) {
  const Value *index = op_in(c, k);
  int64_t n;
  if (index->type.rank == 0) return op_fail(c, DIAG_E0402, "indices must have rank 1 or more");
  if (!dim_is_const(index->type.dims[index->type.rank - 1], &n))
    return op_unsupported(c, "with indices of shape %s, whose last dimension is not known%s", op_shape(c, k), build_open_hint(&c->b, index->type.dims + index->type.rank - 1, 1));
  if (n < 1 || n > (int64_t)room)
    return op_fail(c, DIAG_E0402, "indices %s do not fit data %s", op_shape(c, k), op_shape(c, 0));
  *ret = (uint32_t)n;
  return true;
}

/* Indices whose last size is open have that for which the result gets its declared rank, if it has one. */
static bool hold_tuples(OpContext *c, uint32_t batch) {
  Builder *b = &c->b;
  const Value *index = op_in(c, 1);
  const uint32_t q = index->type.rank;
  const int64_t declared = op_declared_rank(c, 0), most = (int64_t)op_rank(c, 0) - batch;
  int64_t n = (int64_t)q - 1 + most - declared, known;
  if (q == 0 || n < 1 || dim_is_const(index->type.dims[q - 1], &known)) return true;
  if (declared < 0 && !op_choose(c, build_dim_scalar(b, index->type.dims[q - 1]), 1, most, &n)) return false;
  const Dim *dims[MAX_RANK];
  for (uint32_t i = 0; i < q; i++) dims[i] = i + 1 < q ? index->type.dims[i] : bd_const(b, n);
  if (!ir_require_eq(b->ir, index->type.dims[q - 1], dims[q - 1])) return op_fail(c, DIAG_E0402, "indices %s do not fit data %s", op_shape(c, 1), op_shape(c, 0));
  return (c->in[1] = build_reshape(b, c->in[1], q, dims)) != NULL;
}

bool import_gather_nd(OpContext *c) {
  Builder *b = &c->b;
  const int64_t batch = op_int(c, "batch_dims", 0);
  if (batch >= 0 && batch < (int64_t)op_rank(c, 0) && !hold_tuples(c, (uint32_t)batch)) return false;
  const Value *x = op_in(c, 0), *index = op_in(c, 1);
  const uint32_t q = index->type.rank;
  uint32_t k;
  if (batch < 0 || batch >= (int64_t)x->type.rank || batch >= (int64_t)q)
    return op_fail(c, DIAG_E0304, "attribute 'batch_dims' is %lld", (long long)batch);
  const uint32_t first = (uint32_t)batch;
  if (!tuple_length(c, 1, x->type.rank - first, &k) || !tuples_in_range(c, 1, first, k)) return false;
  const uint32_t rank = q - 1 + x->type.rank - first - k;
  if (rank > MAX_RANK) return op_unsupported(c, "a result of rank %u (at most %d)", rank, MAX_RANK);
  const Dim *dims[MAX_RANK];
  GatherAxis axes[MAX_RANK];
  for (uint32_t i = 0; i < first; i++)
    if (!ir_require_eq(b->ir, x->type.dims[i], index->type.dims[i]))
      return op_fail(c, DIAG_E0402, "data %s and indices %s differ in batch dimension %u", op_shape(c, 0),
                     op_shape(c, 1), i);
  for (uint32_t o = 0; o < rank; o++) dims[o] = o < q - 1 ? index->type.dims[o] : x->type.dims[first + k + o - (q - 1)];
  tuple_axes(b, index, 1, first, k, x->type.rank, rank, axes);
  return op_give(c, 0, build_gather(b, c->in, 2, rank, dims, axes));
}

/* ---- scatter ---- */
static bool scatter_kind(OpContext *c, ScatterKind *ret) {
  static const struct {
    const char *name;
    ScatterKind kind;
  } kinds[] = {
      {"none", SCATTER_SET}, {"add", SCATTER_ADD}, {"mul", SCATTER_MUL}, {"min", SCATTER_MIN}, {"max", SCATTER_MAX}};
  const Str s = op_str(c, "reduction", "none");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    *ret = kinds[i].kind;
    if (str_is(s, kinds[i].name)) return true;
  }
  return op_fail(c, DIAG_E0304, "attribute 'reduction' is %s", diag_quote(c->b.ir->diags, s));
}

bool import_scatter_elements(OpContext *c) {
  const uint32_t rank = op_rank(c, 0);
  uint32_t axis;
  ScatterKind kind;
  GatherAxis axes[MAX_RANK];
  Affine place[MAX_RANK];
  if (!scatter_kind(c, &kind) || !same_rank(c, 1) || !same_rank(c, 2) || !op_axis_attr(c, "axis", 0, rank, &axis))
    return false;
  if (!index_in_range(c, op_in(c, 1), op_in(c, 0), axis)) return false;
  for (uint32_t i = 0; i < rank; i++) {
    if (!ir_require_eq(c->b.ir, op_dim(c, 1, i), op_dim(c, 2, i)))
      return op_fail(c, DIAG_E0402, "indices %s and updates %s differ", op_shape(c, 1), op_shape(c, 2));
    if (i != axis && !ir_require_le(c->b.ir, op_dim(c, 1, i), op_dim(c, 0, i)))
      return op_fail(c, DIAG_E0402, "indices %s reach beyond data %s", op_shape(c, 1), op_shape(c, 0));
  }
  elements_axes(&c->b, rank, axis, 2, axes, place);
  Value *const in[] = {op_in(c, 0), op_in(c, 2), op_in(c, 1)};
  return op_give(c, 0, build_scatter(&c->b, kind, in, 3, axes));
}

/* Of indices [..., k]: an open k is what the ranks leave, rank(updates) = rank(indices) - 1 + rank(data) - k. */
static bool scatter_tuple(OpContext *c, uint32_t *ret) {
  const Value *index = op_in(c, 1);
  const int64_t left = (int64_t)index->type.rank - 1 + op_rank(c, 0) - op_rank(c, 2);
  int64_t known;
  if (index->type.rank == 0 || dim_is_const(index->type.dims[index->type.rank - 1], &known) || left < 1 || left > op_rank(c, 0))
    return tuple_length(c, 1, op_rank(c, 0), ret);
  *ret = (uint32_t)left;
  return ir_require_eq(c->b.ir, index->type.dims[index->type.rank - 1], bd_const(&c->b, left)) ||
         op_fail(c, DIAG_E0402, "indices %s do not fit updates %s", op_shape(c, 1), op_shape(c, 2));
}

bool import_scatter_nd(OpContext *c) {
  const Value *x = op_in(c, 0), *index = op_in(c, 1), *updates = op_in(c, 2);
  const uint32_t q = index->type.rank;
  uint32_t k;
  ScatterKind kind;
  GatherAxis axes[MAX_RANK];
  if (!scatter_kind(c, &kind) || !scatter_tuple(c, &k) || !tuples_in_range(c, 1, 0, k)) return false;
  const uint32_t rank = q - 1 + x->type.rank - k;
  bool fits = updates->type.rank == rank;
  for (uint32_t o = 0; fits && o < rank; o++)
    fits =
        ir_require_eq(c->b.ir, updates->type.dims[o], o < q - 1 ? index->type.dims[o] : x->type.dims[k + o - (q - 1)]);
  if (!fits)
    return op_fail(c, DIAG_E0402, "updates %s do not fit data %s and indices %s", op_shape(c, 2), op_shape(c, 0),
                   op_shape(c, 1));
  tuple_axes(&c->b, index, 2, 0, k, x->type.rank, rank, axes);
  Value *const in[] = {op_in(c, 0), op_in(c, 2), op_in(c, 1)};
  return op_give(c, 0, build_scatter(&c->b, kind, in, 3, axes));
}
