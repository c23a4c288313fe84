/* Reductions: the ten Reduce operators, ArgMax, ArgMin. */
#include "ops/shared.h"

/* Which axes. Those that only data decides are reduced by scattering: element x[i] is combined into out[j], where j is
 * i with 0 on the reduced axes. */
typedef struct Reduction {
  uint32_t mask;
  bool keep;
  /* at run time: */
  Value *flags; /* s64 [rank], 1 where reduced; NULL: by mask */
  uint32_t n_flagged;
  const Dim *const *dims;  /* [rank] of the result with the reduced axes kept */
  Value *places[MAX_RANK]; /* [size of the axis]: j for each i */
} Reduction;

/* ---- at run time ---- */
static Value *flag_of(OpContext *c, Value *flags, uint32_t axis) {
  DimCtx *d = op_dims(c);
  return build_squeeze(&c->b, build_slice(&c->b, flags, 0, dim_const(d, axis), d->one, d->one), 1);
}

/* How many axes a list of open length names, as far as that is the rank of the result: the declared rank says it. */
static bool count_axes(OpContext *c, uint32_t rank, bool noop, Reduction *r) {
  DimCtx *d = op_dims(c);
  const int64_t declared = op_declared_rank(c, 0);
  const Dim *n = op_dim(c, 1, 0), *named = noop || !rank ? n : dim_addc(d, dim_mod(d, dim_addc(d, n, -1), bd_const(&c->b, rank)), 1);
  int64_t flagged = rank - declared;
  if (declared > rank) return op_fail(c, DIAG_E0402, "of shape %s, to rank %lld", op_shape(c, 0), (long long)declared);
  if (declared < 0 && !op_choose(c, build_dim_scalar(&c->b, named), noop || !rank ? 0 : 1, rank, &flagged)) return false;
  r->n_flagged = (uint32_t)flagged;
  return true;
}

/* How many axes a list of open length names: none is all of them, unless noop_with_empty_axes. */
static bool hold_axes(OpContext *c, uint32_t rank, Reduction *r) {
  const Dim *n = op_dim(c, 1, 0);
  const bool noop = op_int(c, "noop_with_empty_axes", 0) != 0;
  if (r->keep) return true;
  if (!count_axes(c, rank, noop, r)) return false;
  if (noop || r->n_flagged < rank) return op_hold_length(c, 1, r->n_flagged);
  DimCtx *d = op_dims(c);
  return ir_require_eq(c->b.ir, dim_mul(d, n, dim_addc(d, n, -(int64_t)rank)), d->zero) || op_fail(c, DIAG_E0402, "axes of shape %s for rank %u", op_shape(c, 1), rank);
}

static Value *open_flags(OpContext *c, uint32_t rank) {
  Builder *b = &c->b;
  Value *axes = op_in(c, 1), *one = build_scalar_i(b, DT_s64, 1), *zero = build_scalar_i(b, DT_s64, 0);
  const Dim *all = bd_const(b, rank);
  Value *named = op_scatter_vector(c, build_expand(b, zero, 1, &all), build_expand(b, one, 1, axes->type.dims), axes);
  if (op_int(c, "noop_with_empty_axes", 0)) return named;
  return build_fn3(b, SC_select, build_fn2(b, SC_eq, build_dim_scalar(b, axes->type.dims[0]), zero), one, named);
}

/* s64 [rank], 1 where an axis is reduced. */
static Value *axes_flags(OpContext *c, uint32_t rank, Reduction *r) {
  int64_t n;
  if (op_rank(c, 1) != 1 || dim_is_const(op_dim(c, 1, 0), &n)) return op_axes_flags(c, op_in(c, 1), rank, &r->n_flagged);
  if (!hold_axes(c, rank, r)) return NULL;
  return dim_is_const(op_dim(c, 1, 0), &n) ? op_axes_flags(c, op_in(c, 1), rank, &r->n_flagged) : open_flags(c, rank);
}

static bool run_time_axes(OpContext *c, Value *x, Reduction *r) {
  Builder *b = &c->b;
  Arena *a = op_arena(c);
  const uint32_t rank = x->type.rank;
  size_t n;
  r->flags = axes_flags(c, rank, r);
  if (!r->flags) return false;
  Value *one = build_scalar_i(b, DT_s64, 1);
  Value *sizes = build_fn3(b, SC_select, build_fn2(b, SC_eq, r->flags, one), one, build_dims(b, x->type.dims, rank));
  const Dim *bound[MAX_RANK]; /* an empty axis becomes 1, too */
  for (uint32_t i = 0; i < rank; i++) bound[i] = dim_max(op_dims(c), op_dims(c)->one, x->type.dims[i]);
  const ReadDims read = {
      .what = "size", .hi = INT32_MAX, .bound = bound, .exact = r->keep ? op_declared(c, 0, rank) : NULL};
  r->dims = build_read(b, sizes, read, &n);
  for (uint32_t i = 0; r->dims && i < rank; i++) {
    Expr e = {0};
    Value *flag = flag_of(c, r->flags, i);
    const uint32_t kept = expr_fn2(a, &e, SC_sub, expr_const_i(a, &e, DT_s64, 1), expr_input(a, &e, 0, DT_s64));
    (void)expr_fn2(a, &e, SC_mul, expr_index(a, &e, 0), kept);
    r->places[i] = build_expr(b, e, &flag, 1, 1, &x->type.dims[i]);
    if (!r->places[i]) return false;
  }
  return r->dims != NULL;
}

/* Index operands 2.. of a scatter (1.. of a gather) for all axes. */
static void run_time_places(OpContext *c, const Reduction *r, uint32_t rank, uint32_t first, GatherAxis *axes,
                            Affine *places, Value **in) {
  for (uint32_t i = 0; i < rank; i++) {
    places[i] = build_affine_coord(&c->b, rank, i);
    axes[i] = (GatherAxis){.indirect = true, .operand = first + i, .place = &places[i]};
    in[first + i] = r->places[i];
  }
}

/* The least or largest value of a type: what reducing nothing gives. */
static Value *extreme(OpContext *c, DType t, bool least) {
  Value *v = build_scalar_f(&c->b, DT_f64, least ? -__builtin_inf() : __builtin_inf());
  return build_cast(&c->b, v, t, true);
}

static Value *scatter_reduce(OpContext *c, ReduceKind kind, Value *x, const Reduction *r) {
  static const ScatterKind kinds[] = {
      [REDUCE_SUM] = SCATTER_ADD, [REDUCE_PROD] = SCATTER_MUL, [REDUCE_MAX] = SCATTER_MAX, [REDUCE_MIN] = SCATTER_MIN};
  Builder *b = &c->b;
  const uint32_t rank = x->type.rank;
  GatherAxis axes[MAX_RANK];
  Affine places[MAX_RANK];
  Value *in[MAX_RANK + 2];
  Value *none = kind == REDUCE_MAX || kind == REDUCE_MIN ? extreme(c, x->type.dtype, kind == REDUCE_MAX)
                                                         : op_scalar_like(c, x, kind == REDUCE_PROD);
  in[0] = build_expand(b, none, rank, r->dims);
  in[1] = x;
  run_time_places(c, r, rank, 2, axes, places, in);
  return build_scatter(b, kinds[kind], in, rank + 2, axes);
}

/* ---- both ---- */
/* With the reduced axes kept. */
static Value *plain(OpContext *c, ReduceKind kind, Value *x, const Reduction *r) {
  Builder *b = &c->b;
  if (!x || !r->flags) return build_reduce(b, kind, x, r->mask, true);
  const DType t = x->type.dtype, wide = dtype_is_float(t) ? dtype_compute(t) : t; /* of narrow floats each partial result would be rounded */
  if ((kind == REDUCE_SUM || kind == REDUCE_PROD) && wide != t) return build_cast(b, scatter_reduce(c, kind, build_cast(b, x, wide, true), r), t, true);
  if (kind != REDUCE_ANY && kind != REDUCE_ALL) return scatter_reduce(c, kind, x, r);
  Value *v = scatter_reduce(c, kind == REDUCE_ANY ? REDUCE_MAX : REDUCE_MIN, build_cast(b, x, DT_u8, true), r);
  return build_fn2(b, SC_ne, v, build_scalar_i(b, DT_u8, 0));
}

/* v, a reduced value, at every element that went into it. */
static Value *spread(OpContext *c, Value *v, const Value *x, const Reduction *r) {
  if (!v || !r->flags) return v; /* broadcasting does it */
  GatherAxis axes[MAX_RANK];
  Affine places[MAX_RANK];
  Value *in[MAX_RANK + 1] = {v};
  run_time_places(c, r, x->type.rank, 1, axes, places, in);
  return build_gather(&c->b, in, x->type.rank + 1, x->type.rank, x->type.dims, axes);
}

static Value *squeezed(OpContext *c, Value *v, const Value *x, const Reduction *r) {
  Builder *b = &c->b;
  if (!v || r->keep) return v;
  if (!r->flags) return build_squeeze(b, v, r->mask);
  const uint32_t rank = x->type.rank;
  size_t n;
  Value *kept = op_unflagged(c, build_dims(b, x->type.dims, rank), r->flags, rank, r->n_flagged);
  const Dim *most = op_dims(c)->one, *bound[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) most = dim_max(op_dims(c), most, x->type.dims[i]);
  for (uint32_t i = 0; i < rank; i++) bound[i] = most;
  const ReadDims read = {
      .what = "size", .hi = INT32_MAX, .bound = bound, .exact = op_declared(c, 0, rank - r->n_flagged)};
  const Dim *const *dims = build_read(b, kept, read, &n);
  return dims ? build_reshape(b, v, rank - r->n_flagged, dims) : NULL;
}

/* Narrow floats are summed and divided in f32, since a sum may exceed their range where the mean does not. */
static Value *mean(OpContext *c, Value *x, const Reduction *r) {
  Builder *b = &c->b;
  if (!r->flags) return build_reduce_mean(b, x, r->mask, true);
  const DType t = x->type.dtype, wide = dtype_is_float(t) ? dtype_compute(t) : t;
  Value *one = build_scalar_i(b, DT_s64, 1), *all = build_dims(b, x->type.dims, x->type.rank);
  Value *count =
      build_reduce(b, REDUCE_PROD, build_fn3(b, SC_select, build_fn2(b, SC_eq, r->flags, one), all, one), 1, false);
  Value *sum = plain(c, REDUCE_SUM, build_cast(b, x, wide, true), r);
  return build_cast(b, build_fn2(b, SC_div, sum, build_cast(b, count, wide, true)), t, true);
}

/* log(sum(exp(x))) about the largest element where that is finite, so that exp neither overflows nor vanishes. */
static Value *log_sum_exp(OpContext *c, Value *x, const Reduction *r) {
  Builder *b = &c->b;
  if (!r->flags && !r->mask) return build_fn1(b, SC_log, build_fn1(b, SC_exp, x));
  Value *max = plain(c, REDUCE_MAX, x, r), *zero = op_scalar_like(c, x, 0);
  Value *finite = build_fn2(b, SC_eq, build_fn2(b, SC_sub, max, max), zero);
  max = build_fn3(b, SC_select, finite, max, zero);
  Value *sum = plain(c, REDUCE_SUM, build_fn1(b, SC_exp, build_fn2(b, SC_sub, x, spread(c, max, x, r))), r);
  return build_fn2(b, SC_add, build_fn1(b, SC_log, sum), max);
}

/* The compound ones, on a type wide enough for their intermediate values. */
static Value *compound(OpContext *c, int kind, Value *x, const Reduction *r) {
  Builder *b = &c->b;
  switch (kind) {
    case RED_L1: return plain(c, REDUCE_SUM, build_fn1(b, SC_abs, x), r);
    case RED_SUM_SQUARE: return plain(c, REDUCE_SUM, build_fn2(b, SC_mul, x, x), r);
    case RED_L2: return build_fn1(b, SC_sqrt, plain(c, REDUCE_SUM, build_fn2(b, SC_mul, x, x), r));
    case RED_LOG_SUM: return build_fn1(b, SC_log, plain(c, REDUCE_SUM, x, r));
    default: return log_sum_exp(c, x, r);
  }
}

static bool needs_float(int kind) { return kind == RED_L2 || kind == RED_LOG_SUM || kind == RED_LOG_SUM_EXP; }

static Value *reduce(OpContext *c, int kind, Value *x, const Reduction *r) {
  Builder *b = &c->b;
  const DType t = x->type.dtype;
  if (t == DT_b1) return plain(c, kind == RED_MAX ? REDUCE_ANY : REDUCE_ALL, x, r);
  if (kind == RED_MEAN) return mean(c, x, r);
  if (kind < RED_MEAN) return plain(c, (ReduceKind)kind, x, r);
  const DType wide = dtype_is_float(t) ? dtype_compute(t) : needs_float(kind) ? DT_f64 : t;
  return build_cast(b, compound(c, kind, build_cast(b, x, wide, true), r), t, true);
}

bool import_reduce(OpContext *c) {
  Value *x = op_in(c, 0);
  Reduction r = {.keep = op_int(c, "keepdims", 1) != 0};
  const int64_t *axes;
  size_t n;
  bool given = true;
  if (op_in(c, 1) && !build_const_ints(&c->b, op_in(c, 1), &axes, &n)) {
    if (!run_time_axes(c, x, &r)) return false;
  } else {
    if (!op_axes_mask(c, "axes", 1, x->type.rank, &r.mask, &given)) return false;
    if ((!given || r.mask == 0) && !op_int(c, "noop_with_empty_axes", 0)) r.mask = axes_from(0, x->type.rank);
  }
  return op_give(c, 0, squeezed(c, reduce(c, c->row->arg, x, &r), x, &r));
}

/* The row's argument: 1 for the largest. */
bool import_arg(OpContext *c) {
  uint32_t axis;
  if (op_rank(c, 0) == 0) return op_give(c, 0, build_scalar_i(&c->b, DT_s64, 0));
  if (!op_axis_attr(c, "axis", 0, op_rank(c, 0), &axis)) return false;
  if (dim_is(op_dim(c, 0, axis), 0))
    return op_fail(c, DIAG_E0402, "axis %u of shape %s is empty", axis, op_shape(c, 0));
  const bool keep = op_int(c, "keepdims", 1) != 0, last = op_int(c, "select_last_index", 0) != 0;
  return op_give(c, 0, build_arg(&c->b, c->row->arg != 0, op_in(c, 0), axis, keep, last));
}
