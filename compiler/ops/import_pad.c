/* Pad. */
#include "ops/shared.h"

static bool pad_mode(OpContext *c, PadMode *ret) {
  static const struct {
    const char *name;
    PadMode mode;
  } modes[] = {{"constant", PAD_CONSTANT}, {"reflect", PAD_REFLECT}, {"edge", PAD_EDGE}, {"wrap", PAD_WRAP}};
  const Str s = op_str(c, "mode", "constant");
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    *ret = modes[i].mode;
    if (str_is(s, modes[i].name)) return true;
  }
  return op_fail(c, DIAG_E0304, "attribute 'mode' is %s", diag_quote(c->b.ir->diags, s));
}

/* Pads as dimensions: attribute `pads` (`paddings` in version 1) or input 1; starts, then ends, of the chosen axes. */
static const Dim *const *pad_amounts(OpContext *c, Value *pads, size_t *ret_n) {
  const char *name = c->row->until < 2 ? "paddings" : "pads";
  if (c->row->since >= 11)
    return build_read(&c->b, pads, (ReadDims){.what = "pads", .lo = INT32_MIN, .hi = INT32_MAX}, ret_n);
  const int64_t *v = op_ints(c, name, ret_n);
  return build_content(&c->b, build_ints(&c->b, v, *ret_n), ret_n);
}

/* Pads of axes that only data decides, as those of all axes. */
static Value *pad_everywhere(OpContext *c, Value *pads, Value *axes, uint32_t rank) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  int64_t zeros[2 * MAX_RANK] = {0};
  if (axes->type.rank != 1 || !ir_require_eq(b->ir, pads->type.dims[0], dim_mulc(d, axes->type.dims[0], 2))) {
    (void)op_fail(c, DIAG_E0402, "pads and axes do not fit together");
    return NULL;
  }
  const Dim *n = axes->type.dims[0];
  Value *sides[2];
  for (int k = 0; k < 2; k++) sides[k] = op_scatter_vector(c, build_ints(b, zeros, rank), build_slice(b, pads, 0, k ? n : d->zero, n, d->one), axes);
  return build_concat(b, sides, 2, 0);
}

/* at + by, or at - by. */
static uint32_t moved(Arena *a, Expr *e, ScalarFn fn, uint32_t at, const Dim *by) { return dim_is(by, 0) ? at : expr_fn2(a, e, fn, at, expr_dim(a, e, by)); }

/* Which element of an axis of x each place of the padded axis reads: s64 [padded size]. Negative pads crop before the others pad; a
 * reflection or a period that ends before the pads do begins again. */
static Value *pad_places(OpContext *c, PadMode mode, uint32_t axis, const Dim *lo, const Dim *hi, const Dim *padded) {
  DimCtx *d = op_dims(c);
  Arena *a = op_arena(c);
  const Dim *size = op_dim(c, 0, axis), *first = dim_max(d, dim_sub(d, d->zero, lo), d->zero);
  const Dim *left = dim_sub(d, dim_sub(d, size, first), dim_max(d, dim_sub(d, d->zero, hi), d->zero)); /* elements after the crop */
  Expr e = {0};
  const uint32_t zero = expr_const_i(a, &e, DT_s64, 0), n = expr_dim(a, &e, left);
  uint32_t at = moved(a, &e, SC_sub, expr_index(a, &e, 0), dim_max(d, lo, d->zero));
  if (mode == PAD_EDGE) {
    at = expr_fn2(a, &e, SC_min, expr_fn2(a, &e, SC_max, at, zero), expr_dim(a, &e, dim_addc(d, left, -1)));
  } else if (mode == PAD_WRAP) {
    at = expr_fn2(a, &e, SC_mod, at, n);
  } else {
    const uint32_t period = expr_dim(a, &e, dim_max(d, dim_mulc(d, dim_addc(d, left, -1), 2), d->one));
    at = expr_fn2(a, &e, SC_mod, at, period);
    at = expr_fn2(a, &e, SC_min, at, expr_fn2(a, &e, SC_sub, period, at));
  }
  at = moved(a, &e, SC_add, at, first);
  if (left->lo < 1) /* nothing to repeat: an index that the reader refuses */
    at = expr_fn3(a, &e, SC_select, expr_fn2(a, &e, SC_gt, n, zero), at, expr_dim(a, &e, size));
  expr_set_result(a, &e, at);
  return build_expr(&c->b, e, NULL, 0, 1, &padded);
}

/* Whether build_pad can make it of pieces: nothing cropped, and each piece reaches as far as its pad, whatever the sizes are. */
static bool pad_in_pieces(OpContext *c, PadMode mode, uint32_t axis, const Dim *lo, const Dim *hi) {
  DimCtx *d = op_dims(c);
  const Dim *n = op_dim(c, 0, axis), *room = mode == PAD_REFLECT ? dim_addc(d, n, -1) : n;
  if (lo->lo < 0 || hi->lo < 0) return false;
  if (dim_is(lo, 0) && dim_is(hi, 0)) return true;
  return n->lo > 0 && (mode == PAD_EDGE || (dim_le(d, lo, room) == 1 && dim_le(d, hi, room) == 1));
}

/* Padding with the tensor's own elements. */
static Value *pad_by_own(OpContext *c, PadMode mode, const Dim *const *lo, const Dim *const *hi) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const uint32_t rank = op_rank(c, 0);
  Value *in[1 + MAX_RANK] = {op_in(c, 0)};
  const Dim *dims[MAX_RANK];
  GatherAxis *axes = NEW_ARRAY(op_arena(c), GatherAxis, rank);
  Affine *places = NEW_ARRAY(op_arena(c), Affine, rank);
  uint32_t n = 1;
  bool pieces = true;
  for (uint32_t i = 0; i < rank; i++) pieces &= pad_in_pieces(c, mode, i, lo[i], hi[i]);
  if (pieces) return build_pad(b, in[0], mode, lo, hi, NULL);
  for (uint32_t i = 0; i < rank; i++) dims[i] = dim_add(d, op_dim(c, 0, i), dim_add(d, lo[i], hi[i]));
  if (!build_name_dims(b, "padded", dims, op_declared(c, 0, rank), rank)) return NULL;
  for (uint32_t i = 0; i < rank; i++) {
    places[i] = build_affine_coord(b, rank, i);
    axes[i] = (GatherAxis){.affine = places[i]};
    if (dim_is(lo[i], 0) && dim_is(hi[i], 0)) continue;
    if (dim_is(op_dim(c, 0, i), 0) && dims[i]->lo > 0) { /* where only data know, its index is refused */
      (void)op_fail(c, DIAG_E0402, "axis %u of shape %s is empty, so it has no elements to pad with", i, op_shape(c, 0));
      return NULL;
    }
    axes[i] = (GatherAxis){.indirect = true, .operand = n, .place = &places[i]};
    if (!(in[n++] = pad_places(c, mode, i, lo[i], hi[i], dims[i]))) return NULL;
  }
  return build_gather(b, in, n, rank, dims, axes);
}

bool import_pad(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  const int64_t *axes = NULL;
  size_t n, n_axes = rank;
  PadMode mode;
  if (!pad_mode(c, &mode)) return false;
  Value *amounts = op_in(c, 1);
  if (amounts && (!op_rank_in(c, 1, 1, 1) || !op_hold_length(c, 1, op_in(c, 3) ? -1 : 2 * (int64_t)rank))) return false;
  amounts = op_in(c, 1);
  if (op_in(c, 3) && !build_const_ints(b, op_in(c, 3), &axes, &n_axes) &&
      !(amounts = pad_everywhere(c, amounts, op_in(c, 3), rank)))
    return false;
  const Dim *const *pads = pad_amounts(c, amounts, &n);
  if (!pads) return false;
  if (n != 2 * n_axes) return op_fail(c, DIAG_E0402, "%zu pads for %zu axes of shape %s", n, n_axes, op_shape(c, 0));
  for (uint32_t i = 0; i < rank; i++) lo[i] = hi[i] = op_dims(c)->zero;
  for (size_t k = 0; k < n_axes; k++) {
    uint32_t axis = (uint32_t)k;
    if (axes && !op_axis(c, axes[k], rank, &axis)) return false;
    lo[axis] = pads[k];
    hi[axis] = pads[n_axes + k];
  }
  if (mode != PAD_CONSTANT) return op_give(c, 0, pad_by_own(c, mode, lo, hi));
  Value *value = op_in(c, 2);
  if (c->row->since < 11 && op_has_attr(c, "value"))
    value = op_scalar_like(c, op_in(c, 0), (double)op_float(c, "value", 0));
  if (value && value->type.rank > 0) value = build_reshape(b, value, 0, NULL);
  return op_give(c, 0, build_pad(b, op_in(c, 0), mode, lo, hi, value));
}
