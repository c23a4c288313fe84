/* Reductions, cumulative operations. */
#include "ir/build.h"
#include "ir/build_priv.h"

#include <math.h>

static bool combines_values(ReduceKind k) { return k == REDUCE_SUM || k == REDUCE_PROD || k == REDUCE_MIN || k == REDUCE_MAX; }

static const Dim *reduce_pair(DimCtx *c, ReduceKind kind, const Dim *x, const Dim *y) {
  switch (kind) {
    case REDUCE_SUM: return dim_add(c, x, y);
    case REDUCE_PROD: return dim_mul(c, x, y);
    case REDUCE_MIN: return dim_min(c, x, y);
    case REDUCE_MAX: return dim_max(c, x, y);
    default: return c->bad;
  }
}

/* The content of x, also where it is constant floats that are whole numbers, as exporters make of sizes; NULL: it is not known, or more. */
static const Dim *const *whole_content(Builder *b, Value *x, size_t *ret_n) {
  const Dim *const *known = build_content(b, x, ret_n);
  const double *floats;
  if (known || !x->data || x->data->n > CONTENT_MAX || (x->type.dtype != DT_f32 && x->type.dtype != DT_f64) || !build_const_floats(b, x, &floats, ret_n)) return known;
  const Dim **content = NEW_ARRAY(b->ir->arena, const Dim *, *ret_n);
  for (size_t k = 0; k < *ret_n; k++) {
    const double limit = x->type.dtype == DT_f64 ? 0x1p53 : 0x1p24, d = floats[k];
    if (!(fabs(d) <= limit) || (double)(int64_t)d != d || (d == 0 && signbit(d))) return NULL;
    content[k] = bd_const(b, (int64_t)d);
  }
  return content;
}

/* Shape arithmetic: sums, products, extremes of dimension values, sums and extremes also as floats, which hold them exactly. Not places, which are no element even of one alone. */
static Value *reduce_known(Builder *b, ReduceKind kind, Value *x, uint32_t mask, Type t) {
  size_t n, m;
  const Dim *const *in = whole_content(b, x, &n);
  const bool numbers = dtype_is_int(t.dtype) || ((t.dtype == DT_f32 || t.dtype == DT_f64) && kind != REDUCE_PROD); /* whose zero may be negative */
  if (!combines_values(kind) || !in || n == 0 || !numbers || !build_small_count(t.rank, t.dims, CONTENT_MAX, &m)) return NULL;
  const Dim *out[CONTENT_MAX] = {NULL};
  int64_t at[MAX_RANK] = {0};
  for (size_t k = 0; k < n; k++) {
    int64_t to[MAX_RANK];
    size_t flat;
    for (uint32_t i = 0; i < t.rank; i++) to[i] = (mask >> i & 1) ? 0 : at[i];
    if (!coord_flat(t.rank, t.dims, to, &flat)) return NULL;
    out[flat] = out[flat] ? reduce_pair(b->ir->dims, kind, out[flat], in[k]) : in[k];
    if (dim_is_bad(out[flat]) || !content_holds(t.dtype, out[flat], 1)) return NULL;
    (void)coord_next(x->type.rank, x->type.dims, at);
  }
  return build_known(b, t, out, m);
}

static Value *reduce_emit(Builder *b, ReduceAttr r, Value *x, DType out, bool keepdims) {
  const Dim *dims[MAX_RANK];
  for (uint32_t i = 0; i < x->type.rank; i++) dims[i] = (r.axes >> i & 1) ? b->ir->dims->one : x->type.dims[i];
  Type t;
  if (!build_type(b, out, x->type.rank, dims, &t)) return NULL;
  Value *v = reduce_known(b, r.kind, x, r.axes, t);
  if (!v) {
    ReduceAttr *attr = NEW(b->ir->arena, ReduceAttr);
    *attr = r;
    v = build_emit(b, OP_REDUCE, &x, 1, t, attr);
  }
  return keepdims ? v : build_squeeze(b, v, r.axes);
}

Value *build_reduce(Builder *b, ReduceKind kind, Value *x, uint32_t axes_mask, bool keepdims) {
  if (!x || !axes_mask) return x;
  const DType t = x->type.dtype;
  return reduce_emit(b, (ReduceAttr){.kind = kind, .axes = axes_mask, .acc = dtype_compute(t)}, x, t, keepdims);
}

/* Narrow floats are summed and divided in f32, since a sum may exceed their range where the mean does not. */
Value *build_reduce_mean(Builder *b, Value *x, uint32_t axes_mask, bool keepdims) {
  if (!x || !axes_mask) return x;
  const DType t = x->type.dtype, compute = dtype_is_float(t) ? dtype_compute(t) : t;
  const Dim *count = b->ir->dims->one;
  for (uint32_t i = 0; i < x->type.rank; i++)
    if (axes_mask >> i & 1) count = dim_mul(b->ir->dims, count, x->type.dims[i]);
  Value *sum = build_reduce(b, REDUCE_SUM, build_cast(b, x, compute, true), axes_mask, keepdims);
  Value *n = build_cast(b, build_dim_scalar(b, count), compute, true);
  return build_cast(b, build_fn2(b, SC_div, sum, n), t, true);
}

Value *build_arg(Builder *b, bool max, Value *x, uint32_t axis, bool keepdims, bool last) {
  if (!x) return NULL;
  const ReduceKind kind = max ? REDUCE_ARGMAX : REDUCE_ARGMIN;
  const ReduceAttr r = {.kind = kind, .axes = 1u << axis, .last = last, .acc = dtype_compute(x->type.dtype)};
  return reduce_emit(b, r, x, DT_s64, keepdims);
}

Value *build_scan(Builder *b, ScalarFn fn, Value *x, uint32_t axis, bool exclusive, bool reverse) {
  if (!x) return NULL;
  ScanAttr *attr = NEW(b->ir->arena, ScanAttr);
  *attr = (ScanAttr){fn, axis, exclusive, reverse};
  return build_emit(b, OP_SCAN, &x, 1, x->type, attr);
}
