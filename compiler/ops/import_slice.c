/* Cutting and joining: Slice, Split, Concat. */
#include "ops/shared.h"

/* ---- Slice ---- */
typedef struct SliceArgs {
  size_t n;
  Value *starts, *ends, *axes, *steps; /* integer vectors; axes, steps may be NULL */
} SliceArgs;

/* A start or end within [lo, hi] after negative ones count from the end. NULL when its sign is not known. */
static const Dim *slice_clamp(DimCtx *d, const Dim *v, const Dim *size, const Dim *lo, const Dim *hi) {
  if (v->lo < 0) {
    if (v->hi >= 0) return NULL;
    /* INT64_MIN + size must not overflow: such a value lies before every element anyway */
    v = v->lo < -INT32_MAX && v->kind == DIM_CONST ? dim_const(d, -1) : dim_add(d, v, size);
  }
  return v == hi ? hi : dim_max(d, lo, dim_min(d, v, hi)); /* lo <= hi */
}

/* One axis with start, end known as expressions and a constant step. *ret_known false when they do not decide it. */
static Value *slice_axis(OpContext *c, Value *x, uint32_t axis, const Dim *start, const Dim *end, int64_t step,
                         bool *ret_known) {
  DimCtx *d = op_dims(c);
  const Dim *size = x->type.dims[axis], *last = dim_addc(d, size, -1), *minus = dim_const(d, -1);
  const Dim *first = dim_min(d, d->zero, last); /* backwards; -1 where there are no elements */
  const Dim *s = step > 0 ? slice_clamp(d, start, size, d->zero, size) : slice_clamp(d, start, size, first, last);
  const Dim *e = step > 0 ? slice_clamp(d, end, size, d->zero, size) : slice_clamp(d, end, size, minus, last);
  *ret_known = s && e;
  if (!*ret_known) return NULL;
  const Dim *span = step > 0 ? dim_sub(d, e, s) : dim_sub(d, s, e);
  const Dim *count = dim_max(d, d->zero, dim_ceildiv(d, span, dim_const(d, step > 0 ? step : -step)));
  return build_slice(&c->b, x, axis, s, count, dim_const(d, step));
}

/* What only data decides, in graph arithmetic over one integer a data axis: start, step, count; then read as symbols.
 */
static bool slice_at_run_time(OpContext *c, const SliceArgs *a) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const uint32_t rank = x->type.rank;
  int64_t ones[MAX_RANK], zeros[MAX_RANK] = {0}, many[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) ones[i] = 1, many[i] = INT64_MAX;
  Value *full[3] = {build_ints(b, zeros, rank), build_ints(b, many, rank), build_ints(b, ones, rank)};
  Value *const given[3] = {a->starts, a->ends, a->steps};
  for (int k = 0; k < 3; k++) {
    if (!given[k]) continue;
    int64_t order[MAX_RANK];
    for (size_t i = 0; i < a->n && i < MAX_RANK; i++) order[i] = (int64_t)i;
    full[k] = op_scatter_vector(c, full[k], build_cast(b, given[k], DT_s64, true),
                                a->axes ? a->axes : build_ints(b, order, a->n));
  }
  Value *size = build_dims(b, x->type.dims, rank), *zero = build_scalar_i(b, DT_s64, 0),
        *one = build_scalar_i(b, DT_s64, 1);
  Value *far = build_scalar_i(b, DT_s64, INT32_MAX), *step = build_fn2(b, SC_max, build_fn2(b, SC_min, full[2], far), build_scalar_i(b, DT_s64, -INT32_MAX)); /* no axis is longer */
  Value *forward = build_fn2(b, SC_gt, step, zero);
  Value *bound[2]; /* start and end, negative ones counted from the end, clamped */
  for (int k = 0; k < 2; k++) {
    Value *v =
        build_fn3(b, SC_select, build_fn2(b, SC_lt, full[k], zero), build_fn2(b, SC_add, full[k], size), full[k]);
    Value *last = build_fn2(b, SC_sub, size, one), *high = build_fn3(b, SC_select, forward, size, last);
    Value *low = build_fn3(b, SC_select, forward, zero, k ? build_scalar_i(b, DT_s64, -1) : build_fn2(b, SC_min, last, zero));
    bound[k] = build_fn2(b, SC_max, low, build_fn2(b, SC_min, v, high));
  }
  Value *span = build_fn3(b, SC_select, forward, build_fn2(b, SC_sub, bound[1], bound[0]),
                          build_fn2(b, SC_sub, bound[0], bound[1]));
  Value *stride = build_fn1(b, SC_abs, step);
  Value *count = build_fn2(b, SC_div, build_fn2(b, SC_sub, build_fn2(b, SC_add, span, stride), one), stride);
  count = build_fn2(b, SC_max, count, zero);
  if (a->steps && !a->steps->data) count = build_fn3(b, SC_select, build_fn2(b, SC_eq, step, zero), build_scalar_i(b, DT_s64, -1), count); /* no size: an error of the call */
  size_t n;
  const Dim *const *s = build_read(b, bound[0], (ReadDims){.what = "start", .lo = -1, .hi = INT32_MAX}, &n);
  const Dim *const *k = build_read(
      b, count, (ReadDims){.what = "count", .hi = INT32_MAX, .bound = x->type.dims, .exact = op_declared(c, 0, rank)},
      &n);
  const Dim *const *st = build_read(b, step, (ReadDims){.what = "step", .lo = INT32_MIN, .hi = INT32_MAX}, &n);
  if (!s || !k || !st) return false;
  for (uint32_t i = 0; i < rank; i++) x = build_slice(b, x, i, s[i], k[i], st[i]);
  return op_give(c, 0, x);
}

/* Bounds of axes that a list of open length names, as those of all axes. */
static bool place_bounds(OpContext *c) {
  static const int64_t absent[] = {0, 0, INT64_MAX, 0, 1};
  Builder *b = &c->b;
  const Dim *len = op_dim(c, 3, 0), *all = bd_const(b, op_rank(c, 0));
  Value *axes = op_in(c, 3);
  for (size_t k = 1; k < 5; k++) {
    if (k == 3 || !op_in(c, k)) continue;
    if (op_rank(c, k) != 1 || !ir_require_eq(b->ir, op_dim(c, k, 0), len)) return op_fail(c, DIAG_E0402, "starts, ends, axes and steps differ in length");
    Value *none = build_expand(b, build_scalar_i(b, DT_s64, absent[k]), 1, &all);
    if (!(c->in[k] = op_scatter_vector(c, none, build_cast(b, op_in(c, k), DT_s64, true), axes))) return false;
  }
  c->in[3] = NULL;
  return true;
}

/* Starts, ends and steps of open length: as many as another of them has, or, for the first axes, at most the data's rank. */
static bool slice_lengths(OpContext *c) {
  int64_t n = -1;
  const uint32_t rank = op_rank(c, 0);
  for (size_t k = 1; k < 5; k++)
    if (op_in(c, k) && op_rank(c, k) == 1) (void)dim_is_const(op_dim(c, k, 0), &n);
  if (n < 0 && op_in(c, 3)) return place_bounds(c);
  if (n < 0) return op_fill_length(c, 1, rank, false, 0) && op_fill_length(c, 2, rank, false, INT64_MAX) && op_fill_length(c, 4, rank, false, 1);
  for (size_t k = 1; k < 5; k++)
    if (!op_hold_length(c, k, n)) return false;
  return true;
}

static bool slice_args(OpContext *c, SliceArgs *a) {
  Builder *b = &c->b;
  if (c->row->until >= 10 && !slice_lengths(c)) return false;
  if (c->row->until < 10) {
    size_t n_starts, n_ends, n_axes;
    const int64_t *starts = op_ints(c, "starts", &n_starts), *ends = op_ints(c, "ends", &n_ends),
                  *axes = op_ints(c, "axes", &n_axes);
    *a = (SliceArgs){n_starts, build_ints(b, starts, n_starts), build_ints(b, ends, n_ends), NULL, NULL};
    if (op_has_attr(c, "axes")) a->axes = build_ints(b, axes, n_axes);
  } else {
    *a = (SliceArgs){0, op_in(c, 1), op_in(c, 2), op_in(c, 3), op_in(c, 4)};
  }
  Value *const all[] = {a->starts, a->ends, a->axes, a->steps};
  for (size_t k = 0; k < 4; k++) {
    int64_t n;
    if (!all[k]) continue;
    if (all[k]->type.rank != 1)
      return op_fail(c, DIAG_E0402, "starts, ends, axes and steps must have rank 1, not shape %s",
                     build_shape_text(b, all[k]));
    if (!dim_is_const(all[k]->type.dims[0], &n))
      return op_unsupported(c, "with a number of slices that is not known: %s%s", build_shape_text(b, all[k]), build_open_hint(b, all[k]->type.dims, 1));
    if (k == 0) a->n = (size_t)n;
    if ((size_t)n != a->n) return op_fail(c, DIAG_E0402, "starts, ends, axes and steps differ in length");
  }
  if (!a->axes && a->n > op_rank(c, 0)) return op_fail(c, DIAG_E0402, "%zu starts for shape %s", a->n, op_shape(c, 0));
  return true;
}

bool import_slice(OpContext *c) {
  Builder *b = &c->b;
  SliceArgs a;
  const int64_t *axes = NULL, *steps = NULL;
  size_t n;
  if (!slice_args(c, &a)) return false;
  const Dim *const *starts = build_content(b, a.starts, &n), *const *ends = build_content(b, a.ends, &n);
  bool known = starts && ends && (!a.axes || build_const_ints(b, a.axes, &axes, &n)) &&
               (!a.steps || build_const_ints(b, a.steps, &steps, &n));
  Value *x = op_in(c, 0);
  uint32_t seen = 0;
  for (size_t k = 0; known && k < a.n; k++) {
    uint32_t axis = (uint32_t)k;
    if (axes && !op_axis(c, axes[k], x->type.rank, &axis)) return false;
    if (seen >> axis & 1) return op_fail(c, DIAG_E0403, "axis %u is sliced twice", axis);
    seen |= 1u << axis;
    const int64_t step = steps ? steps[k] : 1;
    if (step == 0) return op_fail(c, DIAG_E0403, "the step on axis %u is 0", axis);
    /* beyond any size, so that INT64_MIN has an absolute value */
    x = slice_axis(c, x, axis, starts[k], ends[k],
                   step < -INT32_MAX  ? -INT32_MAX
                   : step > INT32_MAX ? INT32_MAX
                                      : step,
                   &known);
  }
  return known ? op_give(c, 0, x) : slice_at_run_time(c, &a);
}

/* ---- Split ---- */
/* Equal parts; from version 18 on the last one takes what is left. */
static bool split_equal(OpContext *c, const Dim *size, size_t parts, uint32_t axis) {
  DimCtx *d = op_dims(c);
  const Dim *n = dim_const(d, (int64_t)parts);
  if (c->row->since < 18 && !ir_require_eq(c->b.ir, dim_mod(d, size, n), d->zero))
    return op_fail(c, DIAG_E0402, "axis %u of shape %s does not split into %zu equal parts", axis, op_shape(c, 0),
                   parts);
  const Dim *part = dim_ceildiv(d, size, n);
  for (size_t k = 0; k < parts; k++) {
    const Dim *from = dim_min(d, dim_mulc(d, part, (int64_t)k), size);
    const Dim *count = dim_min(d, part, dim_sub(d, size, from));
    if (!op_give(c, k, build_slice(&c->b, op_in(c, 0), axis, from, count, d->one))) return false;
  }
  return true;
}

bool import_split(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  uint32_t axis;
  if (!op_axis_attr(c, "axis", 0, op_rank(c, 0), &axis)) return false;
  const Dim *size = op_dim(c, 0, axis), *at = d->zero;
  const Dim *const *sizes = NULL;
  size_t n = 0;
  if (op_has_attr(c, "split")) {
    const int64_t *v = op_ints(c, "split", &n);
    sizes = build_content(b, build_ints(b, v, n), &n);
  } else if (op_in(c, 1)) {
    if (!op_hold_length(c, 1, (int64_t)c->n_out)) return false;
    const Dim **exact = NEW_ARRAY(op_arena(c), const Dim *, c->n_out);
    for (size_t k = 0; k < c->n_out; k++) {
      const Dim *const *declared = op_declared(c, k, op_rank(c, 0));
      exact[k] = declared ? declared[axis] : NULL;
    }
    int64_t len;
    const bool fits = op_rank(c, 1) == 1 && dim_is_const(op_dim(c, 1, 0), &len) && (size_t)len == c->n_out;
    sizes = build_read(b, op_in(c, 1), (ReadDims){.what = "split", .hi = INT32_MAX, .exact = fits ? exact : NULL}, &n);
    if (!sizes) return false;
  }
  if (!sizes) {
    const int64_t parts = op_int(c, "num_outputs", (int64_t)c->n_out);
    if (parts < 1 || (size_t)parts != c->n_out)
      return op_fail(c, DIAG_E0304, "attribute 'num_outputs' is %lld, but there are %zu outputs", (long long)parts,
                     c->n_out);
    return split_equal(c, size, c->n_out, axis);
  }
  if (n != c->n_out) return op_fail(c, DIAG_E0305, "%zu sizes for %zu outputs", n, c->n_out);
  for (size_t k = 0; k < n; k++) {
    if (sizes[k]->hi < 0) return op_fail(c, DIAG_E0403, "part %zu has size %lld", k, (long long)sizes[k]->hi);
    if (!op_give(c, k, build_slice(b, op_in(c, 0), axis, at, sizes[k], d->one))) return false;
    at = dim_add(d, at, sizes[k]);
  }
  if (!ir_require_eq(b->ir, at, size))
    return op_fail(c, DIAG_E0403, "the parts do not add up to axis %u of shape %s", axis, op_shape(c, 0));
  return true;
}

/* ---- Concat ---- */
bool import_concat(OpContext *c) {
  uint32_t axis;
  if (op_rank(c, 0) == 0) return op_fail(c, DIAG_E0402, "scalars cannot be concatenated");
  if (!op_axis_attr(c, "axis", 1, op_rank(c, 0), &axis)) return false;
  return op_give(c, 0, build_concat(&c->b, c->in, c->n_in, axis));
}
