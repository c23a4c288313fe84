/* What is chosen by value: TopK, NonZero, Compress, Unique, NonMaxSuppression. Routines of runtime-lite give places, of which the
 * rest is made by gathers. */
#include "ops/shared.h"

static const Dim *data_size(OpContext *c, const char *what, const Dim *most) {
  return bd_data_symbol(&c->b, what, 0, most->hi < INT32_MAX ? most->hi : INT32_MAX, most);
}

static Type places_type(OpContext *c, const Dim *n) { return type_tensor(c->b.ir, DT_s64, 1, &n); }

/* The type that a routine compares x in, which keeps its order: types that it has no code for are widened. */
static Value *comparable(OpContext *c, Value *x) {
  const DType t = x->type.dtype;
  if (dtype_is_float(t) && dtype_rows[t].bits < 16) return build_cast(&c->b, x, DT_f32, true);
  if (dtype_is_int(t) && dtype_rows[t].bits < 8) return build_cast(&c->b, x, dtype_compute(t), true);
  return x;
}

/* Rows of data along `axis` at places [n]. */
static Value *take(OpContext *c, Value *data, uint32_t axis, Value *places) {
  const uint32_t rank = data->type.rank;
  const Dim *dims[MAX_RANK];
  GatherAxis axes[MAX_RANK] = {{0}};
  const Affine place = build_affine_coord(&c->b, rank, axis);
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = i == axis ? places->type.dims[0] : data->type.dims[i];
    axes[i].affine = build_affine_coord(&c->b, rank, i);
  }
  axes[axis] = (GatherAxis){.indirect = true, .operand = 1, .place = &place};
  Value *const in[] = {data, places};
  return build_gather(&c->b, in, 2, rank, dims, axes);
}

static Value *flat(OpContext *c, Value *x) {
  const Dim *n = type_count(c->b.ir, &x->type);
  return build_reshape(&c->b, x, 1, &n);
}

/* ---- TopK ---- */
/* How many: an attribute, a constant, or read from data. */
static const Dim *top_k_count(OpContext *c, const Dim *size) {
  const Dim *k = NULL;
  size_t n;
  if (c->row->until < 10) {
    k = bd_const(&c->b, op_int(c, "k", 0));
  } else {
    const Dim *const *read = build_read(&c->b, flat(c, op_in(c, 1)), (ReadDims){.what = "k", .hi = INT32_MAX, .bound = &size, .count = 1}, &n);
    if (!read) return NULL;
    if (n != 1) return op_fail(c, DIAG_E0402, "K has shape %s", op_shape(c, 1)), NULL;
    k = read[0];
  }
  if (k->hi < 0 || !ir_require_le(c->b.ir, k, size)) return op_fail(c, DIAG_E0403, "K is %lld, the axis has %lld elements", (long long)k->hi, (long long)size->hi), NULL;
  return k;
}

bool import_top_k(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const uint32_t rank = op_rank(c, 0);
  uint32_t axis;
  if (!op_rank_in(c, 0, 1, MAX_RANK) || !op_axis_attr(c, "axis", -1, rank, &axis)) return false;
  const Dim *k = top_k_count(c, op_dim(c, 0, axis)), *dims[MAX_RANK];
  if (!k) return false;
  for (uint32_t i = 0; i < rank; i++) dims[i] = i == axis ? k : op_dim(c, 0, i);
  const Type type = type_tensor(b->ir, DT_s64, rank, dims);
  const RoutineInt attrs[] = {{"axis", axis}, {"largest", op_int(c, "largest", 1) != 0}};
  Value *const in[] = {comparable(c, x)};
  Value *indices;
  if (!op_routine(c, "cn_op_top_k", in, 1, attrs, 2, dim_mulc(op_dims(c), k, 16), &type, 1, &indices)) return false;
  GatherAxis axes[MAX_RANK];
  Affine place[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    place[i] = build_affine_coord(b, rank, i);
    axes[i] = (GatherAxis){.affine = place[i]};
  }
  axes[axis] = (GatherAxis){.indirect = true, .operand = 1, .place = place};
  Value *const both[] = {x, indices};
  if (op_wants(c, 1)) c->out[1] = indices;
  return op_give(c, 0, build_gather(b, both, 2, rank, dims, axes));
}

/* ---- NonZero, Compress ---- */
/* Places of the flags [n] that are set. */
static Value *places_of(OpContext *c, Value *flags, const char *what) {
  if (!flags) return NULL;
  const Type type = places_type(c, data_size(c, what, flags->type.dims[0]));
  Value *places;
  return op_routine(c, "cn_op_places", &flags, 1, NULL, 0, NULL, &type, 1, &places) ? places : NULL;
}

bool import_non_zero(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Value *x = op_in(c, 0);
  const uint32_t rank = op_rank(c, 0);
  const bool is_bool = op_dtype(c, 0) == DT_b1;
  x = flat(c, comparable(c, x));
  Value *places = places_of(c, is_bool || !x ? x : build_fn2(b, SC_ne, x, op_scalar_like(c, x, 0)), "nonzero");
  if (!places) return false;
  const Dim *sizes[MAX_RANK], *steps[MAX_RANK], *step = d->one;
  for (uint32_t i = rank; i-- > 0; step = dim_mul(d, step, sizes[i])) {
    sizes[i] = op_dim(c, 0, i);
    steps[i] = step;
  }
  const Dim *const column[] = {bd_const(b, rank), d->one}, *const shape[] = {column[0], places->type.dims[0]};
  if (rank == 0) return op_give(c, 0, build_expand(b, build_reshape(b, build_ints(b, NULL, 0), 2, (const Dim *const[]){d->zero, d->one}), 2, shape));
  Value *step_of = build_reshape(b, build_dims(b, steps, rank), 2, column), *size_of = build_reshape(b, build_dims(b, sizes, rank), 2, column);
  return op_give(c, 0, build_fn2(b, SC_mod, build_fn2(b, SC_div, places, step_of), size_of));
}

bool import_compress(OpContext *c) {
  Value *x = op_in(c, 0);
  uint32_t axis = 0;
  if (!op_rank_in(c, 1, 1, 1)) return false;
  if (!op_has_attr(c, "axis")) x = flat(c, x);
  else if (!op_axis_attr(c, "axis", 0, op_rank(c, 0), &axis)) return false;
  if (!ir_require_le(c->b.ir, op_dim(c, 1, 0), x->type.dims[axis]))
    return op_fail(c, DIAG_E0402, "the condition %s is longer than the axis of %s", op_shape(c, 1), op_shape(c, 0));
  Value *places = places_of(c, op_in(c, 1), "kept");
  return places && op_give(c, 0, take(c, x, axis, places));
}

/* ---- Unique ---- */
/* x [.., axis, ..] as [axis][all others]. */
static Value *as_rows(OpContext *c, Value *x, uint32_t axis) {
  const uint32_t rank = x->type.rank;
  uint32_t perm[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) perm[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
  const Dim *width = op_dims(c)->one;
  for (uint32_t i = 0; i < rank; i++)
    if (i != axis) width = dim_mul(op_dims(c), width, x->type.dims[i]);
  const Dim *const dims[] = {x->type.dims[axis], width};
  return build_reshape(&c->b, build_transpose(&c->b, x, perm), 2, dims);
}

bool import_unique(OpContext *c) {
  Value *x = op_in(c, 0);
  uint32_t axis = 0;
  if (!op_has_attr(c, "axis")) x = flat(c, x);
  else if (!op_axis_attr(c, "axis", 0, op_rank(c, 0), &axis)) return false;
  Value *rows = as_rows(c, comparable(c, x), axis);
  if (!rows) return false;
  const Dim *n = x->type.dims[axis], *m = data_size(c, "unique", n);
  const Type types[] = {places_type(c, m), places_type(c, n), places_type(c, m)};
  const RoutineInt attrs[] = {{"sorted", op_int(c, "sorted", 1) != 0}};
  Value *found[3];
  if (!op_routine(c, "cn_op_unique", &rows, 1, attrs, 1, dim_mulc(op_dims(c), n, 32), types, 3, found)) return false;
  for (size_t k = 1; k < c->n_out; k++)
    if (op_wants(c, k)) c->out[k] = found[k - 1];
  return op_give(c, 0, take(c, x, axis, found[0]));
}

/* ---- NonMaxSuppression ---- */
bool import_nms(OpContext *c) {
  DimCtx *d = op_dims(c);
  Value *in[5] = {op_in(c, 0), op_in(c, 1)};
  if (!op_rank_in(c, 0, 3, 3) || !op_rank_in(c, 1, 3, 3)) return false;
  for (size_t k = 2; k < 5; k++) {
    if (!op_one_element(c, k)) return false;
    in[k] = op_in(c, k);
  }
  const Dim *const boxes[] = {op_dim(c, 1, 0), op_dim(c, 1, 2), bd_const(&c->b, 4)};
  for (uint32_t i = 0; i < 3; i++)
    if (!ir_require_eq(c->b.ir, op_dim(c, 0, i), boxes[i]))
      return op_fail(c, DIAG_E0402, "boxes %s do not fit scores %s", op_shape(c, 0), op_shape(c, 1));
  size_t n;
  const Dim *const *most = in[2] ? build_content(&c->b, in[2], &n) : NULL;
  const Dim *kept = !in[2] ? d->zero : most ? dim_min(d, dim_max(d, most[0], d->zero), boxes[1]) : boxes[1];
  const Dim *selected = data_size(c, "selected", dim_mul(d, dim_mul(d, boxes[0], op_dim(c, 1, 1)), kept));
  const Dim *const dims[] = {selected, bd_const(&c->b, 3)};
  const Type type = type_tensor(c->b.ir, DT_s64, 2, dims);
  const int64_t center = op_int(c, "center_point_box", 0);
  if (center != 0 && center != 1) return op_fail(c, DIAG_E0304, "attribute 'center_point_box' is %lld", (long long)center);
  const RoutineInt attrs[] = {{"center_point_box", center}};
  const Dim *scratch = dim_addc(d, dim_add(d, dim_mulc(d, boxes[1], 5), dim_mulc(d, kept, 26)), 1280); /* runtime-lite/ops/boxes.h */
  return op_routine(c, "cn_op_nms", in, 5, attrs, 1, scratch, &type, 1, c->out);
}
