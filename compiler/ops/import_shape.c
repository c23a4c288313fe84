/* Operators that only rename or repeat elements: Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Expand, Tile,
 * DepthToSpace, SpaceToDepth. */
#include "ops/shared.h"

/* ---- Reshape ---- */
/* What 0 and -1 stand for, in graph arithmetic, for a shape that only data decides. */
static Value *reshape_resolve(OpContext *c, Value *x, Value *shape, size_t n, bool allow_zero) {
  Builder *b = &c->b;
  Value *zero = build_scalar_i(b, DT_s64, 0), *one = build_scalar_i(b, DT_s64, 1),
        *minus = build_scalar_i(b, DT_s64, -1);
  if (!allow_zero) {
    const Dim *same[MAX_RANK];
    for (size_t i = 0; i < n; i++) same[i] = i < x->type.rank ? x->type.dims[i] : op_dims(c)->zero;
    shape = build_fn3(b, SC_select, build_fn2(b, SC_eq, shape, zero), build_dims(b, same, n), shape);
  }
  Value *open = build_fn2(b, SC_eq, shape, minus);
  Value *rest = build_reduce(b, REDUCE_PROD, build_fn3(b, SC_select, open, one, shape), 1, true);
  Value *count = build_dim_scalar(b, type_count(b->ir, &x->type));
  return build_fn3(b, SC_select, open, build_fn2(b, SC_div, count, build_fn2(b, SC_max, rest, one)), shape);
}

/* ret_resolved: whether no 0 stands for a dimension to copy any more. */
static const Dim *const *reshape_wanted(OpContext *c, Value *x, bool allow_zero, size_t *ret_n, bool *ret_resolved) {
  Builder *b = &c->b;
  if (c->row->until < 5) {
    const int64_t *v = op_ints(c, "shape", ret_n);
    const Dim **d = NEW_ARRAY(op_arena(c), const Dim *, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) d[i] = bd_const(b, v[i]);
    return d;
  }
  if (!op_rank_in(c, 1, 1, 1) || !op_choose_length(c, 1, op_declared_rank(c, 0), 0, MAX_RANK)) return NULL;
  Value *shape = op_in(c, 1);
  const Dim *const *known = build_content(b, shape, ret_n);
  if (known) return known;
  int64_t n;
  *ret_resolved = dim_is_const(shape->type.dims[0], &n) && n <= MAX_RANK;
  const Dim *const *exact = *ret_resolved ? op_declared(c, 0, (uint32_t)n) : NULL;
  if (*ret_resolved) shape = reshape_resolve(c, x, shape, (size_t)n, allow_zero);
  return build_read(b, shape, (ReadDims){.what = "shape", .hi = INT32_MAX, .exact = exact}, ret_n);
}

static bool may_be_zero(const Dim *d) { return d->lo <= 0 && d->hi >= 0; }

/* Whether the computed size want[i] may be 0 while x is empty and all fits with x's own dimension in its place, which is then meant. */
static bool may_copy(OpContext *c, const Value *x, const Dim *const *want, size_t n, size_t i) {
  if (i >= x->type.rank || want[i]->kind == DIM_CONST || !may_be_zero(want[i])) return false;
  if (dim_is(x->type.dims[i], 0) || dim_eq(op_dims(c), want[i], x->type.dims[i]) == 1 || type_count(c->b.ir, &x->type)->lo > 0) return false;
  for (size_t k = 0; k < n; k++) { /* what makes the result empty instead */
    if (dim_is(want[k], -1) || (k != i && k < x->type.rank && may_be_zero(want[k]) && may_be_zero(x->type.dims[k]))) return true;
  }
  return false;
}

/* A size that data decide or, where that is 0, the dimension that it copies. Others come to 0 only where a window or a slice leaves nothing: they stay as they
 * are, for what is computed from them would outgrow itself, and such a call is an error, if the dimension is none of 0. */
static bool copy_at_run_time(OpContext *c, const Dim *own, const Dim **size) {
  DimCtx *d = op_dims(c);
  const Dim *far = dim_max(d, *size, dim_sub(d, d->zero, *size));
  const Dim *copied = dim_sub(d, own, dim_mul(d, own, dim_min(d, far, d->one)));
  if ((*size)->kind != DIM_SYMBOL || (*size)->lo > 0) return ir_require_eq(c->b.ir, copied, d->zero);
  *size = dim_add(d, *size, copied);
  return true;
}

bool import_reshape(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const bool allow_zero = op_int(c, "allowzero", 0) != 0;
  size_t n;
  bool resolved = allow_zero;
  const Dim *const *want = reshape_wanted(c, x, allow_zero, &n, &resolved);
  if (!want) return false;
  if (n > MAX_RANK) return op_unsupported(c, "a result of rank %zu (at most %d)", n, MAX_RANK);
  const Dim *dims[MAX_RANK], *known = op_dims(c)->one;
  int open = -1;
  for (uint32_t i = 0; i < n; i++) {
    dims[i] = want[i];
    if (dim_is(want[i], -1)) {
      if (open >= 0) return op_fail(c, DIAG_E0403, "the shape has more than one -1");
      open = (int)i;
      continue;
    }
    if (dim_is(want[i], 0) && !resolved) {
      if (i >= x->type.rank)
        return op_fail(c, DIAG_E0403, "the shape's 0 at place %u has no dimension to copy in %s", i, op_shape(c, 0));
      dims[i] = x->type.dims[i];
    } else if (!resolved && may_copy(c, x, want, n, i) && !copy_at_run_time(c, x->type.dims[i], &dims[i])) {
      return op_fail(c, DIAG_E0402, "%s cannot be reshaped to %s", op_shape(c, 0), build_dims_text(b, want, (uint32_t)n));
    }
    if (dims[i]->hi < 0) return op_fail(c, DIAG_E0403, "the shape holds %lld", (long long)dims[i]->hi);
    known = dim_mul(op_dims(c), known, dims[i]);
  }
  if (open >= 0) {
    if (dim_is(known, 0)) return op_fail(c, DIAG_E0403, "-1 cannot be inferred beside a dimension of 0");
    dims[open] = dim_floordiv(op_dims(c), type_count(b->ir, &x->type), known);
  }
  return op_give(c, 0, build_reshape(b, x, (uint32_t)n, dims));
}

bool import_flatten(OpContext *c) {
  const Value *x = op_in(c, 0);
  const uint32_t rank = x->type.rank;
  int64_t axis = op_int(c, "axis", 1);
  if (axis < -(int64_t)rank || axis > (int64_t)rank)
    return op_fail(c, DIAG_E0304, "axis %lld is out of range for shape %s", (long long)axis, op_shape(c, 0));
  const uint32_t a = (uint32_t)(axis < 0 ? axis + rank : axis);
  const Dim *const dims[] = {dim_product(op_dims(c), x->type.dims, a),
                             dim_product(op_dims(c), x->type.dims + a, rank - a)};
  return op_give(c, 0, build_reshape(&c->b, op_in(c, 0), 2, dims));
}

/* ---- Squeeze, Unsqueeze ---- */
static bool squeeze_at_run_time(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  uint32_t n;
  size_t n_read;
  const int64_t declared = op_declared_rank(c, 0);
  if (!op_choose_length(c, 1, declared >= 0 && declared <= rank ? rank - declared : -1, 0, rank)) return false;
  Value *flags = op_axes_flags(c, op_in(c, 1), rank, &n);
  if (!flags) return false;
  Value *kept = op_unflagged(c, build_dims(b, op_in(c, 0)->type.dims, rank), flags, rank, n);
  const Dim *const *exact = op_declared(c, 0, rank - n);
  const Dim *const *dims = build_read(b, kept, (ReadDims){.what = "size", .hi = INT32_MAX, .exact = exact}, &n_read);
  return dims && op_give(c, 0, build_reshape(b, op_in(c, 0), rank - n, dims));
}

/* The result's rank is that of any other size: a size of 1 is an error of the call. */
static bool require_not_one(OpContext *c, const Dim *d) {
  DimCtx *x = op_dims(c);
  const Dim *less = dim_min(x, dim_max(x, dim_addc(x, d, -1), x->zero), x->one); /* 0 for 0 and 1, else 1 */
  if (dim_eq(x, d, x->one) != 0) op_takes_not_one(c, d);
  return dim_eq(x, d, x->one) == 0 || ir_require_eq(c->b.ir, dim_min(x, d, x->one), less) || op_fail(c, DIAG_E0402, "a dimension of %s is 1", op_shape(c, 0));
}

bool import_squeeze(OpContext *c) {
  const Value *x = op_in(c, 0);
  size_t n_axes;
  const int64_t *axes;
  if (op_in(c, 1) && !build_const_ints(&c->b, op_in(c, 1), &axes, &n_axes)) return squeeze_at_run_time(c);
  uint32_t mask = 0;
  bool given;
  if (!op_axes_mask(c, "axes", 1, x->type.rank, &mask, &given)) return false;
  if (!given) {
    mask = 0;
    for (uint32_t i = 0; i < x->type.rank; i++) {
      if (dim_is(x->type.dims[i], 1)) mask |= 1u << i;
      else if (!require_not_one(c, x->type.dims[i])) return false;
    }
  }
  return op_give(c, 0, build_squeeze(&c->b, op_in(c, 0), mask));
}

/* Output axis k is 1 where it is named, else the next dimension of the input. */
static bool unsqueeze_at_run_time(OpContext *c) {
  Builder *b = &c->b;
  int64_t added;
  uint32_t n;
  size_t n_read;
  const int64_t declared = op_declared_rank(c, 0);
  if (!op_choose_length(c, 1, declared >= op_rank(c, 0) ? declared - op_rank(c, 0) : -1, 0, MAX_RANK - (int64_t)op_rank(c, 0))) return false;
  Value *axes = op_in(c, 1);
  if (axes->type.rank == 0) axes = build_reshape(b, axes, 1, (const Dim *[]){op_dims(c)->one}); /* as the suite's own cases write it */
  if (axes->type.rank != 1 || !dim_is_const(axes->type.dims[0], &added) || added + op_rank(c, 0) > MAX_RANK)
    return op_unsupported(c, "with axes of shape %s%s", op_shape(c, 1), build_open_hint(b, axes->type.dims, axes->type.rank));
  const uint32_t rank = op_rank(c, 0) + (uint32_t)added;
  Value *flags = op_axes_flags(c, axes, rank, &n), *one = build_scalar_i(b, DT_s64, 1);
  Value *kept = build_fn2(b, SC_sub, one, flags), *before = build_scan(b, SC_add, kept, 0, true, false);
  const Dim *own[MAX_RANK + 1];
  for (uint32_t i = 0; i < op_rank(c, 0); i++) own[i] = op_dim(c, 0, i);
  own[op_rank(c, 0)] = op_dims(c)->one; /* read behind the last one, not used */
  const Dim *const len = bd_const(b, rank);
  const Affine place = build_affine_coord(b, 1, 0);
  const GatherAxis axis = {.indirect = true, .operand = 1, .place = &place};
  Value *const in[] = {build_dims(b, own, op_rank(c, 0) + 1), before};
  Value *sizes = build_fn3(b, SC_select, build_fn2(b, SC_eq, flags, one), one, build_gather(b, in, 2, 1, &len, &axis));
  const Dim *ones[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) ones[i] = op_dims(c)->one;
  const Dim *const *exact = op_rank(c, 0) == 0 ? ones : op_declared(c, 0, rank); /* of a scalar, wherever they are put */
  const Dim *const *dims = build_read(b, sizes, (ReadDims){.what = "size", .hi = INT32_MAX, .exact = exact}, &n_read);
  return dims && op_give(c, 0, build_reshape(b, op_in(c, 0), rank, dims));
}

bool import_unsqueeze(OpContext *c) {
  const int64_t *axes;
  size_t n;
  bool given;
  if (op_in(c, 1) && !build_const_ints(&c->b, op_in(c, 1), &axes, &n)) return unsqueeze_at_run_time(c);
  if (!op_int_list(c, "axes", 1, &axes, &n, &given)) return false;
  if (!given) return op_fail(c, DIAG_E0304, "attribute 'axes' is missing");
  if (op_rank(c, 0) + n > MAX_RANK)
    return op_unsupported(c, "a result of rank %zu (at most %d)", op_rank(c, 0) + n, MAX_RANK);
  uint32_t mask = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t axis;
    if (!op_axis(c, axes[i], op_rank(c, 0) + (uint32_t)n, &axis)) return false;
    if (mask >> axis & 1) return op_fail(c, DIAG_E0403, "axis %u is given twice", axis);
    mask |= 1u << axis;
  }
  return op_give(c, 0, build_unsqueeze(&c->b, op_in(c, 0), mask));
}

/* ---- Transpose ---- */
bool import_transpose(OpContext *c) {
  const uint32_t rank = op_rank(c, 0);
  size_t n;
  const int64_t *perm = op_ints(c, "perm", &n);
  uint32_t p[MAX_RANK], seen = 0;
  if (op_has_attr(c, "perm") && n != rank)
    return op_fail(c, DIAG_E0304, "attribute 'perm' has %zu values for shape %s", n, op_shape(c, 0));
  for (uint32_t i = 0; i < rank; i++) {
    if (!op_has_attr(c, "perm")) p[i] = rank - 1 - i;
    else if (!op_axis(c, perm[i], rank, &p[i])) return false;
    if (seen >> p[i] & 1) return op_fail(c, DIAG_E0304, "attribute 'perm' names axis %u twice", p[i]);
    seen |= 1u << p[i];
  }
  return op_give(c, 0, build_transpose(&c->b, op_in(c, 0), p));
}

/* ---- Expand, Tile ---- */
/* A shape that only data decides, with the input's dimensions in place of 1, so that broadcasting is an equality. */
static Value *expand_resolve(OpContext *c, const Value *x, Value *shape, size_t n) {
  const Dim *own[MAX_RANK];
  for (size_t i = 0; i < n; i++) {
    const size_t back = n - i;
    own[i] = back <= x->type.rank ? x->type.dims[x->type.rank - back] : op_dims(c)->one;
  }
  Value *one = build_scalar_i(&c->b, DT_s64, 1);
  return build_fn3(&c->b, SC_select, build_fn2(&c->b, SC_eq, shape, one), build_dims(&c->b, own, n), shape);
}

/* A shape of open length: no longer than the data's rank, or as long as the declared one. */
static bool expand_length(OpContext *c) {
  int64_t rank = op_rank(c, 0), n = op_declared_rank(c, 0), len;
  if (dim_is_const(op_dim(c, 1, 0), &len)) return true;
  const Dim *wide = dim_max(op_dims(c), op_dim(c, 1, 0), bd_const(&c->b, rank));
  if (n < 0 && !op_choose(c, build_dim_scalar(&c->b, wide), rank, wide->hi < MAX_RANK ? wide->hi : MAX_RANK, &n)) return false;
  return n > rank ? op_hold_length(c, 1, n) : op_fill_length(c, 1, rank, true, 1);
}

bool import_expand(OpContext *c) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  size_t n;
  int64_t len;
  if (!op_rank_in(c, 1, 1, 1) || !expand_length(c)) return false;
  Value *shape = op_in(c, 1);
  const bool resolved = !build_content(b, shape, &n) && dim_is_const(shape->type.dims[0], &len) && len <= MAX_RANK;
  if (resolved) shape = expand_resolve(c, x, shape, (size_t)len);
  /* the shape's elements are the last ones of the result's */
  const bool counted = dim_is_const(shape->type.dims[0], &len) && len <= MAX_RANK;
  const uint32_t wide = counted && len > x->type.rank ? (uint32_t)len : x->type.rank;
  const Dim *const *declared = counted ? op_declared(c, 0, wide) : NULL;
  const Dim *const *exact = declared ? declared + (wide - (uint32_t)len) : NULL;
  const Dim *const *want = build_read(b, shape, (ReadDims){.what = "shape", .hi = INT32_MAX, .exact = exact}, &n);
  if (!want) return false;
  const uint32_t rank = n > x->type.rank ? (uint32_t)n : x->type.rank;
  if (rank > MAX_RANK) return op_unsupported(c, "a result of rank %u (at most %d)", rank, MAX_RANK);
  const Dim *dims[MAX_RANK];
  for (uint32_t o = 0; o < rank; o++) {
    const uint32_t back = rank - o;
    const Dim *mine = back <= x->type.rank ? x->type.dims[x->type.rank - back] : op_dims(c)->one;
    const Dim *theirs = back <= n ? want[n - back] : op_dims(c)->one;
    if (theirs->hi < 0) return op_fail(c, DIAG_E0403, "the shape holds %lld", (long long)theirs->hi);
    dims[o] = build_expand_dim(b, mine, theirs, resolved && back <= n);
    if (!dims[o])
      return op_fail(c, DIAG_E0402, "shape %s does not expand to %s", op_shape(c, 0),
                     build_dims_text(b, want, (uint32_t)n));
  }
  return op_give(c, 0, build_expand_exact(b, x, rank, dims));
}

/* [d0, d1] repeated r0, r1 times: through [r0, d0, r1, d1]. */
static Value *tile(OpContext *c, Value *x, const Dim *const *repeats) {
  Builder *b = &c->b;
  const Dim *wide[MAX_RANK], *dims[MAX_RANK];
  uint32_t n = 0, mask = 0;
  for (uint32_t i = 0; i < x->type.rank; i++) {
    const bool inserts = !dim_is(repeats[i], 1) && !dim_is(x->type.dims[i], 1);
    if (n + 2 > MAX_RANK) {
      (void)op_unsupported(c, "repeating that many axes");
      return NULL;
    }
    if (inserts) {
      mask |= 1u << n;
      wide[n++] = repeats[i];
    }
    wide[n++] = inserts || dim_is(repeats[i], 1) ? x->type.dims[i] : repeats[i];
    dims[i] = dim_mul(op_dims(c), x->type.dims[i], repeats[i]);
  }
  return build_reshape(b, build_expand(b, build_unsqueeze(b, x, mask), n, wide), x->type.rank, dims);
}

/* Version 1: one axis, input 2, is repeated input 1 times. As the vector of later versions. */
static Value *tile_v1(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  int64_t places[MAX_RANK];
  for (size_t k = 1; k < 3; k++)
    if (!ir_require_eq(b->ir, type_count(b->ir, &c->in[k]->type), bd_const(b, 1))) return (void)op_fail(c, DIAG_E0402, "tiles and axis must be one value"), NULL;
  for (uint32_t i = 0; i < rank; i++) places[i] = i;
  const Dim *one = bd_const(b, 1);
  Value *axis = build_cast(b, build_reshape(b, op_in(c, 2), 1, &one), DT_s64, true),
        *times = build_cast(b, build_reshape(b, op_in(c, 1), 1, &one), DT_s64, true);
  return build_fn3(b, SC_select, build_fn2(b, SC_eq, build_ints(b, places, rank), axis), times, build_scalar_i(b, DT_s64, 1));
}

bool import_tile(OpContext *c) {
  const Dim *repeats[MAX_RANK];
  if (c->row->until >= 6 && !op_hold_length(c, 1, op_rank(c, 0))) return false;
  Value *given = c->row->until < 6 ? tile_v1(c) : op_in(c, 1);
  size_t n;
  const Dim *const *declared = op_declared(c, 0, op_rank(c, 0)), *times[MAX_RANK] = {NULL};
  for (uint32_t i = 0; declared && i < op_rank(c, 0); i++) {
    int64_t size, whole;
    if (declared[i] && dim_is_const(declared[i], &whole) && dim_is_const(op_dim(c, 0, i), &size) && size > 0 &&
        whole % size == 0)
      times[i] = bd_const(&c->b, whole / size);
  }
  int64_t len;
  const bool fits = given && given->type.rank == 1 && dim_is_const(given->type.dims[0], &len) && len == op_rank(c, 0);
  const ReadDims read = {.what = "repeats", .hi = INT32_MAX, .exact = fits ? times : NULL};
  const Dim *const *want = build_read(&c->b, given, read, &n);
  if (!want) return false;
  if (n != op_rank(c, 0)) return op_fail(c, DIAG_E0402, "%zu repeats for shape %s", n, op_shape(c, 0));
  for (size_t i = 0; i < n; i++) {
    if (want[i]->hi < 0) return op_fail(c, DIAG_E0403, "axis %zu is repeated %lld times", i, (long long)want[i]->hi);
    repeats[i] = want[i];
  }
  return op_give(c, 0, tile(c, op_in(c, 0), repeats));
}

/* ---- DepthToSpace, SpaceToDepth ---- */
/* Depth as [block][block][channels] (DCR) or [channels][block][block] (CRD). */
static bool block_mode(OpContext *c, int64_t *ret_size, bool *ret_crd) {
  const Str mode = op_str(c, "mode", "DCR");
  *ret_crd = str_is(mode, "CRD");
  *ret_size = op_int(c, "blocksize", 0);
  if (!*ret_crd && !str_is(mode, "DCR"))
    return op_fail(c, DIAG_E0304, "attribute 'mode' is %s", diag_quote(c->b.ir->diags, mode));
  if (*ret_size < 1 || *ret_size > INT16_MAX)
    return op_fail(c, DIAG_E0304, "attribute 'blocksize' is %lld", (long long)*ret_size);
  return op_rank_in(c, 0, 4, 4);
}

bool import_depth_to_space(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  int64_t bs;
  bool crd;
  if (!block_mode(c, &bs, &crd)) return false;
  const Dim *const *x = op_in(c, 0)->type.dims, *s = dim_const(d, bs),
                   *depth = dim_floordiv(d, x[1], dim_const(d, bs * bs));
  const Dim *const dcr_dims[] = {x[0], s, s, depth, x[2], x[3]}, *const crd_dims[] = {x[0], depth, s, s, x[2], x[3]};
  static const uint32_t dcr_perm[] = {0, 3, 4, 1, 5, 2}, crd_perm[] = {0, 1, 4, 2, 5, 3};
  Value *v = build_transpose(b, build_reshape(b, op_in(c, 0), 6, crd ? crd_dims : dcr_dims), crd ? crd_perm : dcr_perm);
  const Dim *const out[] = {x[0], depth, dim_mul(d, x[2], s), dim_mul(d, x[3], s)};
  return op_give(c, 0, build_reshape(b, v, 4, out));
}

bool import_space_to_depth(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  int64_t bs;
  bool crd;
  if (!block_mode(c, &bs, &crd)) return false;
  const Dim *const *x = op_in(c, 0)->type.dims, *s = dim_const(d, bs), *h = dim_floordiv(d, x[2], s),
                   *w = dim_floordiv(d, x[3], s);
  const Dim *const dims[] = {x[0], x[1], h, s, w, s}, *const out[] = {x[0], dim_mulc(d, x[1], bs * bs), h, w};
  static const uint32_t dcr_perm[] = {0, 3, 5, 1, 2, 4}, crd_perm[] = {0, 1, 3, 5, 2, 4};
  return op_give(
      c, 0,
      build_reshape(b, build_transpose(b, build_reshape(b, op_in(c, 0), 6, dims), crd ? crd_perm : dcr_perm), 4, out));
}
