#include "ops/shared.h"

bool op_int_list(OpContext *c, const char *name, size_t input, const int64_t **ret, size_t *ret_n, bool *ret_given) {
  Value *v = c->in[input];
  *ret_given = true;
  if (op_has_attr(c, name)) {
    *ret = op_ints(c, name, ret_n);
    return true;
  }
  if (!v) {
    *ret = NULL;
    *ret_n = 0;
    *ret_given = false;
    return true;
  }
  if (build_const_ints(&c->b, v, ret, ret_n)) return true;
  return op_unsupported(c, "input '%s' must be a constant: it is computed at run time", name);
}

bool op_rank_in(OpContext *c, size_t k, uint32_t lo, uint32_t hi) {
  const uint32_t r = op_rank(c, k);
  if (r >= lo && r <= hi) return true;
  if (lo == hi) return op_fail(c, DIAG_E0402, "input %zu has shape %s; it must have rank %u", k, op_shape(c, k), lo);
  return op_fail(c, DIAG_E0402, "input %zu has shape %s; its rank must be at least %u", k, op_shape(c, k), lo);
}

bool op_one_element(OpContext *c, size_t k) {
  const Value *v = op_in(c, k);
  return !v || ir_require_eq(c->b.ir, type_count(c->b.ir, &v->type), op_dims(c)->one) ||
         op_fail(c, DIAG_E0402, "input %zu has shape %s, one element is asked", k, op_shape(c, k));
}

Value *op_along_axis(OpContext *c, Value *v, uint32_t rank, uint32_t axis) {
  if (!v || v->type.rank != 1) return v;
  const Dim *dims[MAX_RANK];
  const uint32_t r = rank - axis; /* leading ones come by broadcasting */
  dims[0] = v->type.dims[0];
  for (uint32_t i = 1; i < r; i++) dims[i] = op_dims(c)->one;
  return build_reshape(&c->b, v, r, dims);
}

bool op_axis_attr(OpContext *c, const char *name, int64_t absent, uint32_t rank, uint32_t *ret) {
  return op_axis(c, op_int(c, name, absent), rank, ret);
}

Value *op_scalar_like(OpContext *c, const Value *v, double x) {
  if (!v) return NULL;
  const DTypeKind kind = dtype_rows[v->type.dtype].kind;
  if (kind == KIND_X || kind == KIND_C) return build_zero(&c->b, v->type.dtype);
  return dtype_is_float(v->type.dtype) ? build_scalar_f(&c->b, v->type.dtype, x)
                                       : build_scalar_i(&c->b, v->type.dtype, (int64_t)x);
}

Value *op_interpolated(OpContext *c, Value *v, DType t) {
  if (v && v->type.dtype != t && !dtype_is_float(t)) /* beyond what a sum of some taps loses */
    v = build_fn2(&c->b, SC_mul, v, op_scalar_like(c, v, 1 + (v->type.dtype == DT_f64 ? 0x1p-40 : 0x1p-20)));
  return build_cast(&c->b, v, t, true);
}

Value *op_keep_shape(OpContext *c, Value *v, const Value *x) {
  if (!v) return NULL;
  bool fits = v->type.rank == x->type.rank;
  for (uint32_t i = 0; fits && i < x->type.rank; i++) fits = ir_require_eq(c->b.ir, v->type.dims[i], x->type.dims[i]);
  if (fits) return v;
  (void)op_fail(c, DIAG_E0402, "operands of the input's shape %s do not broadcast to it", build_shape_text(&c->b, x));
  return NULL;
}

Value *op_vector(OpContext *c, DType t, size_t n, const void *host) {
  const Dim *dim = bd_const(&c->b, (int64_t)n);
  return ir_add_const(c->b.ir, type_tensor(c->b.ir, t, 1, &dim), tensor_from_host(op_arena(c), t, n, host), (Str){0});
}

Value *op_take(OpContext *c, Value *vector, Value *index) {
  if (!vector || !index) return NULL;
  const uint32_t rank = index->type.rank;
  Affine place[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) place[i] = build_affine_coord(&c->b, rank, i);
  const GatherAxis axis = {.indirect = true, .operand = 1, .place = place};
  Value *const in[] = {vector, index};
  return build_gather(&c->b, in, 2, rank, index->type.dims, &axis);
}

/* ---- axes that only data decides ---- */
Value *op_scatter_vector(OpContext *c, Value *v, Value *updates, Value *index) {
  const Affine place = build_affine_coord(&c->b, 1, 0);
  const GatherAxis axis = {.indirect = true, .operand = 2, .place = &place};
  Value *const in[] = {v, updates, index};
  return build_scatter(&c->b, SCATTER_SET, in, 3, &axis);
}

Value *op_axes_flags(OpContext *c, Value *axes, uint32_t rank, uint32_t *ret_n) {
  int64_t n, values[MAX_RANK] = {0};
  if (axes->type.rank == 1 && !dim_is_const(axes->type.dims[0], &n)) {
    (void)op_unsupported(c, "with axes of shape %s%s", build_shape_text(&c->b, axes), build_open_hint(&c->b, axes->type.dims, 1));
    return NULL;
  }
  if (axes->type.rank != 1 || !dim_is_const(axes->type.dims[0], &n) || n > rank) {
    (void)op_fail(c, DIAG_E0402, "axes of shape %s for rank %u", build_shape_text(&c->b, axes), rank);
    return NULL;
  }
  *ret_n = (uint32_t)n;
  Value *none = build_ints(&c->b, values, rank);
  for (int64_t i = 0; i < n; i++) values[i] = 1;
  return op_scatter_vector(c, none, build_ints(&c->b, values, (size_t)n), axes);
}

Value *op_unflagged(OpContext *c, Value *v, Value *flags, uint32_t rank, uint32_t n_flagged) {
  Builder *b = &c->b;
  const int64_t zeros[MAX_RANK + 1] = {0};
  const uint32_t n = rank - n_flagged;
  Value *one = build_scalar_i(b, DT_s64, 1);
  Value *before = build_scan(b, SC_add, build_fn2(b, SC_sub, one, flags), 0, true, false);
  /* flagged ones all go behind the end */
  Value *place = build_fn3(b, SC_select, build_fn2(b, SC_eq, flags, one), build_scalar_i(b, DT_s64, n), before);
  Value *all = op_scatter_vector(c, build_ints(b, zeros, n + 1), v, place);
  return build_slice(b, all, 0, op_dims(c)->zero, bd_const(b, n), op_dims(c)->one);
}

/* ---- routines ---- */
static bool call_routine(OpContext *c, ExternAttr e, Value *const *in, size_t n_in, const RoutineInt *attrs, const Type *types, size_t n_out, Value **ret) {
  ExternAttrValue *values = NEW_ARRAY(op_arena(c), ExternAttrValue, e.n_attrs);
  for (size_t i = 0; i < e.n_attrs; i++)
    values[i] = (ExternAttrValue){.name = str_c(attrs[i].name), .kind = EXTERN_INT, .n = 1, .i = attrs[i].v};
  e.attrs = values;
  return build_extern(&c->b, e, in, n_in, types, n_out, ret);
}

bool op_routine(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs, const Dim *scratch,
                const Type *types, size_t n_out, Value **ret) {
  return call_routine(c, (ExternAttr){.symbol = str_c(symbol), .n_attrs = n_attrs, .scratch = scratch}, in, n_in, attrs, types, n_out, ret);
}

bool op_routine_random(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs,
                       const Dim *scratch, const Type *types, size_t n_out, Value **ret) {
  return call_routine(c, (ExternAttr){.symbol = str_c(symbol), .random = true, .n_attrs = n_attrs, .scratch = scratch}, in, n_in, attrs, types, n_out, ret);
}

bool op_routine_measured(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs,
                         const Type *types, size_t n_out, Value **ret) {
  return call_routine(c, (ExternAttr){.symbol = str_c(symbol), .measured = true, .n_attrs = n_attrs}, in, n_in, attrs, types, n_out, ret);
}

/* ---- windows ---- */
static bool window_ints(OpContext *c, const char *name, uint32_t n, int64_t min, int64_t absent, int64_t *ret) {
  size_t count;
  const int64_t *v = op_ints(c, name, &count);
  for (uint32_t i = 0; i < n; i++) ret[i] = absent;
  if (!op_has_attr(c, name) || (count == 0 && absent > 0)) return true;
  if (count != n) return op_fail(c, DIAG_E0304, "attribute '%s' has %zu values for %u spatial axes", name, count, n);
  for (uint32_t i = 0; i < n; i++) {
    if (v[i] < min || v[i] > INT32_MAX)
      return op_fail(c, DIAG_E0304, "attribute '%s' holds %lld", name, (long long)v[i]);
    ret[i] = v[i];
  }
  return true;
}

bool op_kernel_sizes(OpContext *c, Value **w, uint32_t n, const Dim **ret) {
  const Value *v = *w;
  const Dim *dims[MAX_RANK];
  int64_t given[MAX_RANK], known;
  if (!window_ints(c, "kernel_shape", n, 1, 0, given)) return false;
  for (uint32_t i = 0; i < v->type.rank; i++) dims[i] = v->type.dims[i];
  for (uint32_t i = 0; i < n; i++) {
    const Dim **d = &dims[v->type.rank - n + i];
    if (!dim_is_const(*d, &known) && given[i]) {
      if (!ir_require_eq(c->b.ir, *d, bd_const(&c->b, given[i])))
        return op_fail(c, DIAG_E0402, "attribute 'kernel_shape' says %lld on axis %u, the weights are %s", (long long)given[i], i, build_shape_text(&c->b, v));
      *d = bd_const(&c->b, given[i]);
    }
    ret[i] = *d;
  }
  *w = build_reshape(&c->b, *w, v->type.rank, dims);
  return *w != NULL;
}

static bool window_kernel(OpContext *c, uint32_t n, const Dim *const *kernel, Window *w) {
  if (!kernel && !op_has_attr(c, "kernel_shape")) return op_fail(c, DIAG_E0304, "attribute 'kernel_shape' is missing");
  if (!window_ints(c, "kernel_shape", n, 1, 0, w->kernel)) return false;
  for (uint32_t i = 0; i < n; i++) {
    int64_t size;
    w->taps[i] = kernel ? kernel[i] : bd_const(&c->b, w->kernel[i]);
    if (!kernel || !dim_is_const(kernel[i], &size)) continue;
    if (op_has_attr(c, "kernel_shape") && size != w->kernel[i])
      return op_fail(c, DIAG_E0304, "attribute 'kernel_shape' says %lld on axis %u, the weights %lld", (long long)w->kernel[i], i, (long long)size);
    w->kernel[i] = size;
  }
  return true;
}

const Dim *op_window_span(OpContext *c, const Window *w, uint32_t i) {
  DimCtx *d = op_dims(c);
  return dim_addc(d, dim_mulc(d, dim_addc(d, w->taps[i], -1), w->dilation[i]), 1);
}

/* Total padding such that the output has ceil(in / stride) elements; the odd element goes to the end (SAME_UPPER). */
static void window_same(OpContext *c, const Dim *in, bool upper, uint32_t i, Window *w) {
  DimCtx *d = op_dims(c);
  const Dim *out = dim_ceildiv(d, in, dim_const(d, w->stride[i]));
  const Dim *needed = dim_add(d, dim_mulc(d, dim_addc(d, out, -1), w->stride[i]), op_window_span(c, w, i));
  const Dim *total = dim_max(d, dim_sub(d, needed, in), d->zero);
  const Dim *half = dim_floordiv(d, total, dim_const(d, 2)), *rest = dim_sub(d, total, half);
  w->lo[i] = upper ? half : rest;
  w->hi[i] = upper ? rest : half;
}

bool op_window(OpContext *c, const Value *x, uint32_t n, const Dim *const *kernel, Window *ret) {
  ret->n = n;
  ret->same = false;
  int64_t pads[2 * MAX_RANK];
  const Str mode = op_str(c, "auto_pad", "NOTSET");
  if (!window_kernel(c, n, kernel, ret) || !window_ints(c, "strides", n, 1, 1, ret->stride) ||
      !window_ints(c, "dilations", n, 1, 1, ret->dilation))
    return false;
  if (2 * n > 2 * MAX_RANK || !window_ints(c, "pads", 2 * n, INT32_MIN, 0, pads)) return false;
  const bool upper = str_is(mode, "SAME_UPPER"), explicit_pads = str_is(mode, "NOTSET") || mode.len == 0;
  ret->same = upper || str_is(mode, "SAME_LOWER");
  if (!ret->same && !explicit_pads && !str_is(mode, "VALID"))
    return op_fail(c, DIAG_E0304, "attribute 'auto_pad' is %s", diag_quote(c->b.ir->diags, mode));
  for (uint32_t i = 0; i < n; i++) {
    ret->lo[i] = bd_const(&c->b, explicit_pads ? pads[i] : 0);
    ret->hi[i] = bd_const(&c->b, explicit_pads ? pads[n + i] : 0);
    if (ret->same) window_same(c, x->type.dims[x->type.rank - n + i], upper, i, ret);
  }
  return true;
}

/* ---- activations by name ---- */
Value *op_activation(OpContext *c, Value *y, const float *p, size_t n) {
  Builder *b = &c->b;
  const Str act = op_str(c, "activation", "");
  if (act.len == 0 || !y) return y;
  Value *zero = op_scalar_like(c, y, 0);
  if (str_is(act, "Relu")) return build_fn2(b, SC_max, y, zero);
  if (str_is(act, "Tanh")) return build_fn1(b, SC_tanh, y);
  if (str_is(act, "Sigmoid")) return build_fn1(b, SC_sigmoid, y);
  if (str_is(act, "LeakyRelu") && n >= 1) {
    Value *low = build_fn2(b, SC_mul, y, op_scalar_like(c, y, (double)p[0]));
    return build_fn3(b, SC_select, build_fn2(b, SC_lt, y, zero), low, y);
  }
  if (str_is(act, "Clip") && n >= 2) {
    Value *low = build_fn2(b, SC_max, y, op_scalar_like(c, y, (double)p[0]));
    return build_fn2(b, SC_min, low, op_scalar_like(c, y, (double)p[1]));
  }
  if (str_is(act, "HardSigmoid") && n >= 2) {
    Value *v = build_fn2(b, SC_add, build_fn2(b, SC_mul, y, op_scalar_like(c, y, (double)p[0])), op_scalar_like(c, y, (double)p[1]));
    return build_fn2(b, SC_min, build_fn2(b, SC_max, v, zero), op_scalar_like(c, y, 1));
  }
  (void)op_unsupported(c, "activation %s", diag_quote(b->ir->diags, act));
  return NULL;
}

Value *op_channels_moved(OpContext *c, Value *x, bool back) {
  uint32_t perm[MAX_RANK] = {0};
  if (!x || x->type.rank < 3) return x;
  const uint32_t rank = x->type.rank;
  for (uint32_t i = 1; i < rank; i++) perm[i] = back ? (i + 1 < rank ? i + 1 : 1) : i == 1 ? rank - 1 : i - 1;
  return build_transpose(&c->b, x, perm);
}

Value *op_part(OpContext *c, Value *x, uint32_t axis, const Dim *start, const Dim *count) {
  DimCtx *d = op_dims(c);
  if (!x) return NULL;
  if (ir_require_le(c->b.ir, dim_add(d, start, count), x->type.dims[axis])) return build_slice(&c->b, x, axis, start, count, d->one);
  (void)op_fail(c, DIAG_E0402, "axis %u of shape %s is too short", axis, build_shape_text(&c->b, x));
  return NULL;
}
