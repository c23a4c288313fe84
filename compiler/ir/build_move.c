/* Data movement: views, reshape, pad, concat. */
#include "ir/build.h"
#include "ir/build_priv.h"

/* ---- affine indices ---- */
const Dim **build_coefs(Builder *b, uint32_t rank) { return NEW_ARRAY(b->ir->arena, const Dim *, rank); }

Affine build_affine_const(Builder *b, uint32_t rank, const Dim *d) { return (Affine){d, build_coefs(b, rank)}; }

Affine build_affine_coord(Builder *b, uint32_t rank, uint32_t j) {
  const Dim **coef = build_coefs(b, rank);
  coef[j] = b->ir->dims->one;
  return (Affine){b->ir->dims->zero, coef};
}

/* ---- views ---- */
static Value *view_known(Builder *b, Value *x, Type t, const Affine *index) {
  size_t n;
  if ((!x->content && !x->data) || !build_small_count(t.rank, t.dims, CONTENT_MAX, &n)) return NULL;
  MoveSource src[CONTENT_MAX];
  int64_t out[MAX_RANK] = {0}, in[MAX_RANK];
  for (size_t k = 0; k < n; k++) {
    for (uint32_t a = 0; a < x->type.rank; a++)
      if (!affine_at(&index[a], t.rank, out, &in[a])) return NULL;
    src[k].operand = 0;
    if (!coord_flat(x->type.rank, x->type.dims, in, &src[k].element)) return NULL;
    (void)coord_next(t.rank, t.dims, out);
  }
  return build_moved(b, t, &x, src, n);
}

Value *build_view(Builder *b, Value *x, uint32_t rank, const Dim *const *dims, const Affine *index) {
  Type t;
  if (!x || !build_type(b, x->type.dtype, rank, dims, &t)) return NULL;
  Value *known = view_known(b, x, t, index);
  if (known) return known;
  ViewAttr *attr = NEW(b->ir->arena, ViewAttr);
  attr->index = arena_dup(b->ir->arena, index, x->type.rank * sizeof *index);
  return build_emit(b, OP_VIEW, &x, 1, t, attr);
}

Value *build_transpose(Builder *b, Value *x, const uint32_t *perm) {
  if (!x) return NULL;
  const uint32_t rank = x->type.rank;
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  bool moved = false;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = x->type.dims[perm[i]];
    index[perm[i]] = build_affine_coord(b, rank, i);
    moved |= perm[i] != i;
  }
  return moved ? build_view(b, x, rank, dims, index) : x;
}

static Value *expand(Builder *b, Value *x, uint32_t rank, const Dim *const *dims, bool exact) {
  if (!x) return NULL;
  if (x->type.rank > rank) {
    build_error(b, DIAG_E0402, "shape %s does not expand to %s", build_shape_text(b, x),
                build_dims_text(b, dims, rank));
    return NULL;
  }
  Affine index[MAX_RANK];
  bool same = x->type.rank == rank;
  for (uint32_t i = 0; i < x->type.rank; i++) {
    const uint32_t o = rank - x->type.rank + i;
    const Dim **coef = build_coefs(b, rank);
    if (!build_broadcast_coef(b, x->type.dims[i], dims[o], exact, &coef[o])) {
      build_error(b, DIAG_E0402, "shape %s does not expand to %s", build_shape_text(b, x),
                  build_dims_text(b, dims, rank));
      return NULL;
    }
    same &= dim_is(coef[o], 1);
    index[i] = (Affine){b->ir->dims->zero, coef};
  }
  return same ? x : build_view(b, x, rank, dims, index);
}

Value *build_expand(Builder *b, Value *x, uint32_t rank, const Dim *const *dims) { return expand(b, x, rank, dims, false); }
Value *build_expand_exact(Builder *b, Value *x, uint32_t rank, const Dim *const *dims) { return expand(b, x, rank, dims, true); }

Value *build_slice(Builder *b, Value *x, uint32_t axis, const Dim *start, const Dim *count, const Dim *step) {
  if (!x) return NULL;
  const uint32_t rank = x->type.rank;
  if (dim_is(start, 0) && dim_is(step, 1) && count == x->type.dims[axis]) return x;
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = x->type.dims[i];
    index[i] = build_affine_coord(b, rank, i);
  }
  dims[axis] = count;
  const Dim **coef = build_coefs(b, rank);
  coef[axis] = step;
  index[axis] = (Affine){start, coef};
  return build_view(b, x, rank, dims, index);
}

/* ---- reshape ---- */
/* A constant keeps its bytes under another shape. */
static Value *reshape_const(Builder *b, Value *x, Type t) {
  Value *v = ir_add_const(b->ir, t, x->data, x->name);
  v->content = x->content;
  return v;
}

/* True when both shapes are the same but for dimensions of 1; index gets a view's. */
static bool unit_reshape(Builder *b, const Value *x, uint32_t rank, const Dim *const *dims, Affine *index) {
  uint32_t o = 0;
  for (uint32_t i = 0; i < x->type.rank; i++) {
    if (dim_is(x->type.dims[i], 1)) {
      index[i] = build_affine_const(b, rank, b->ir->dims->zero);
      continue;
    }
    while (o < rank && dim_is(dims[o], 1)) o++;
    if (o == rank || dim_eq(b->ir->dims, x->type.dims[i], dims[o]) != 1) return false;
    index[i] = build_affine_coord(b, rank, o++);
  }
  while (o < rank && dim_is(dims[o], 1)) o++;
  return o == rank;
}

static bool same_shape(Builder *b, const Value *x, uint32_t rank, const Dim *const *dims) {
  if (x->type.rank != rank) return false;
  for (uint32_t i = 0; i < rank; i++)
    if (dim_eq(b->ir->dims, x->type.dims[i], dims[i]) != 1) return false;
  return true;
}

Value *build_reshape(Builder *b, Value *x, uint32_t rank, const Dim *const *dims) {
  if (!x) return NULL;
  if (same_shape(b, x, rank, dims)) return x;
  Type t;
  if (!build_type(b, x->type.dtype, rank, dims, &t)) return NULL;
  const Dim *n = type_count(b->ir, &x->type), *m = type_count(b->ir, &t);
  if (dim_is_bad(n) || dim_is_bad(m) || !ir_require_eq(b->ir, n, m)) {
    build_error(b, DIAG_E0402, "shape %s cannot be reshaped to %s: the numbers of elements differ",
                build_shape_text(b, x), build_dims_text(b, dims, rank));
    return NULL;
  }
  int64_t all;
  if (x->data && dim_is_const(m, &all)) return reshape_const(b, x, t);
  size_t count, known_n;
  const Dim *const *known = build_content(b, x, &known_n);
  if (known && build_small_count(rank, dims, CONTENT_MAX, &count) && count == known_n)
    return build_known(b, t, known, count);
  Affine index[MAX_RANK];
  if (unit_reshape(b, x, rank, dims, index)) return build_view(b, x, rank, dims, index);
  return build_emit(b, OP_RESHAPE, &x, 1, t, NULL);
}

Value *build_squeeze(Builder *b, Value *x, uint32_t axes_mask) {
  if (!x) return NULL;
  const Dim *dims[MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < x->type.rank; i++) {
    if (!(axes_mask >> i & 1)) {
      dims[rank++] = x->type.dims[i];
    } else if (!ir_require_eq(b->ir, x->type.dims[i], b->ir->dims->one)) {
      build_error(b, DIAG_E0402, "axis %u of shape %s is not 1, so it cannot be squeezed", i, build_shape_text(b, x));
      return NULL;
    }
  }
  return build_reshape(b, x, rank, dims);
}

Value *build_unsqueeze(Builder *b, Value *x, uint32_t out_axes_mask) {
  if (!x) return NULL;
  const Dim *dims[MAX_RANK];
  uint32_t rank = x->type.rank + (uint32_t)__builtin_popcount(out_axes_mask);
  if (rank > MAX_RANK) {
    build_error(b, DIAG_E0306, "rank %u is more than %d", rank, MAX_RANK);
    return NULL;
  }
  for (uint32_t o = 0, i = 0; o < rank; o++)
    dims[o] = (out_axes_mask >> o & 1) || i == x->type.rank ? b->ir->dims->one : x->type.dims[i++];
  return build_reshape(b, x, rank, dims);
}

/* ---- pad ---- */
/* Crops, and padding that pads nothing, as views. */
static Value *pad_crop(Builder *b, Value *x, const Dim *const *lo, const Dim *const *dims) {
  DimCtx *c = b->ir->dims;
  for (uint32_t i = 0; i < x->type.rank; i++) x = build_slice(b, x, i, dim_sub(c, c->zero, lo[i]), dims[i], c->one);
  return x;
}

static Value *pad_known(Builder *b, Value *x, Type t, const Dim *const *lo, Value *value) {
  size_t n;
  size_t n_known;
  if (!build_small_count(t.rank, t.dims, CONTENT_MAX, &n)) return NULL;
  if (!x->data && !build_content(b, x, &n_known)) return NULL;
  if (!value && !x->data) value = build_scalar_i(b, t.dtype, 0);
  if (!value) return NULL;
  Value *const in[] = {x, value};
  MoveSource src[CONTENT_MAX];
  int64_t out[MAX_RANK] = {0}, at[MAX_RANK], shift;
  for (size_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i < t.rank; i++) {
      if (!dim_is_const(lo[i], &shift) || !i64_sub(out[i], shift, &at[i])) return NULL;
    }
    const bool inside = coord_flat(t.rank, x->type.dims, at, &src[k].element);
    src[k].operand = inside ? 0 : 1;
    if (!inside) src[k].element = 0;
    (void)coord_next(t.rank, t.dims, out);
  }
  return build_moved(b, t, in, src, n);
}

Value *build_pad(Builder *b, Value *x, PadMode mode, const Dim *const *lo, const Dim *const *hi, Value *value) {
  if (!x) return NULL;
  DimCtx *c = b->ir->dims;
  const Dim *dims[MAX_RANK] = {NULL};
  bool crop = true;
  for (uint32_t i = 0; i < x->type.rank; i++) {
    dims[i] = dim_add(c, x->type.dims[i], dim_add(c, lo[i], hi[i]));
    crop &= dim_le(c, lo[i], c->zero) == 1 && dim_le(c, hi[i], c->zero) == 1;
  }
  Type t;
  if (!build_type(b, x->type.dtype, x->type.rank, dims, &t)) return NULL;
  for (uint32_t i = 0; mode != PAD_CONSTANT && i < t.rank; i++) {
    if (!dim_is(x->type.dims[i], 0) || (dim_is(dims[i], 0))) continue;
    build_error(b, DIAG_E0402, "axis %u of shape %s is empty, so it has no elements to pad with", i,
                build_shape_text(b, x));
    return NULL;
  }
  if (crop) return pad_crop(b, x, lo, dims);
  const DTypeKind kind = dtype_rows[t.dtype].kind; /* an expression has constants of at most 64 bits */
  if (mode == PAD_CONSTANT && !value && (kind == KIND_X || kind == KIND_C)) value = build_zero(b, t.dtype);
  if (mode == PAD_CONSTANT) {
    Value *known = pad_known(b, x, t, lo, value);
    if (known) return known;
  }
  PadAttr *attr = NEW(b->ir->arena, PadAttr);
  *attr = (PadAttr){mode, build_dims_copy(b, lo, t.rank), build_dims_copy(b, hi, t.rank)};
  Value *const in[] = {x, value};
  return build_emit(b, OP_PAD, in, value ? 2 : 1, t, attr);
}

/* ---- concat ---- */
static Value *concat_known(Builder *b, Value *const *in, size_t n_in, uint32_t axis, Type t) {
  size_t n;
  if (!build_small_count(t.rank, t.dims, CONTENT_MAX, &n)) return NULL;
  MoveSource src[CONTENT_MAX];
  int64_t out[MAX_RANK] = {0};
  for (size_t k = 0; k < n; k++) {
    int64_t at[MAX_RANK];
    memcpy(at, out, sizeof at);
    uint32_t operand = 0;
    while (operand < n_in && at[axis] >= in[operand]->type.dims[axis]->value)
      at[axis] -= in[operand++]->type.dims[axis]->value;
    src[k].operand = operand;
    if (operand == n_in || !coord_flat(t.rank, in[operand]->type.dims, at, &src[k].element)) return NULL;
    (void)coord_next(t.rank, t.dims, out);
  }
  return build_moved(b, t, in, src, n);
}

static bool concat_check(Builder *b, Value *const *in, size_t k, uint32_t axis, const Dim **dims) {
  const Type *t = &in[k]->type;
  if (t->rank != in[0]->type.rank || t->dtype != in[0]->type.dtype) {
    build_error(b, t->dtype != in[0]->type.dtype ? DIAG_E0401 : DIAG_E0402,
                "inputs 0 and %zu do not fit: %s %s and %s %s", k, dtype_name(in[0]->type.dtype),
                build_shape_text(b, in[0]), dtype_name(t->dtype), build_shape_text(b, in[k]));
    return false;
  }
  for (uint32_t i = 0; i < t->rank; i++) {
    if (i == axis) continue;
    dims[i] = build_same_dim(b, dims[i], t->dims[i], "dimensions of inputs to concatenate");
    if (!dims[i]) return false;
  }
  return true;
}

Value *build_concat(Builder *b, Value *const *in, size_t n, uint32_t axis) {
  const Dim *dims[MAX_RANK] = {NULL};
  Value **kept = NEW_ARRAY(b->ir->arena, Value *, n);
  size_t n_kept = 0;
  for (size_t k = 0; k < n; k++) {
    if (!in[k]) return NULL;
    if (k == 0) memcpy(dims, in[0]->type.dims, in[0]->type.rank * sizeof *dims);
    else if (!concat_check(b, in, k, axis, dims)) return NULL;
    else dims[axis] = dim_add(b->ir->dims, dims[axis], in[k]->type.dims[axis]);
    if (!dim_is(in[k]->type.dims[axis], 0)) kept[n_kept++] = in[k];
  }
  if (n_kept <= 1) return n_kept ? kept[0] : in[0];
  Type t;
  if (!build_type(b, in[0]->type.dtype, in[0]->type.rank, dims, &t)) return NULL;
  Value *known = concat_known(b, kept, n_kept, axis, t);
  if (known) return known;
  ConcatAttr *attr = NEW(b->ir->arena, ConcatAttr);
  attr->axis = axis;
  return build_emit(b, OP_CONCAT, kept, n_kept, t, attr);
}
