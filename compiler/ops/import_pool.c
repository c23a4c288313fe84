/* Pooling: MaxPool, AveragePool, LpPool, and their global forms. */
#include "ops/shared.h"

/* x [N][C][spatial...] */
static bool pool_window(OpContext *c, const Value *x, Window *win) {
  if (x->type.rank < 3) return op_fail(c, DIAG_E0402, "input %s must have rank 3 or more", build_shape_text(&c->b, x));
  return op_window(c, x, x->type.rank - 2, NULL, win);
}

static PoolAttr pool_attr(PoolKind kind, const Window *w) {
  return (PoolAttr){.kind = kind,
                    .n_spatial = w->n,
                    .kernel = w->kernel,
                    .stride = w->stride,
                    .dilation = w->dilation,
                    .pad_lo = w->lo,
                    .pad_hi = w->hi};
}

bool import_max_pool(OpContext *c) {
  Window w;
  if (!pool_window(c, op_in(c, 0), &w)) return false;
  PoolAttr attr = pool_attr(POOL_MAX, &w);
  attr.column_major = op_int(c, "storage_order", 0) != 0;
  const bool ceil_mode = op_int(c, "ceil_mode", 0) != 0 && !w.same;
  Value *indices = NULL;
  Value *y = build_pool(&c->b, op_in(c, 0), attr, ceil_mode, op_wants(c, 1) ? &indices : NULL);
  if (c->n_out > 1) c->out[1] = indices;
  return op_give(c, 0, y);
}

/* com.microsoft: channels last. */
bool import_nhwc_max_pool(OpContext *c) {
  Window w;
  Value *x = op_channels_moved(c, op_in(c, 0), false);
  if (!x || !pool_window(c, x, &w)) return false;
  return op_give(c, 0, op_channels_moved(c, build_pool(&c->b, x, pool_attr(POOL_MAX, &w), op_int(c, "ceil_mode", 0) != 0 && !w.same, NULL), true));
}

Value *op_average_pool(OpContext *c, Value *x) {
  Window w;
  if (!pool_window(c, x, &w)) return NULL;
  PoolAttr attr = pool_attr(POOL_AVERAGE, &w);
  attr.count_include_pad = op_int(c, "count_include_pad", 0) != 0;
  return build_pool(&c->b, x, attr, op_int(c, "ceil_mode", 0) != 0 && !w.same, NULL);
}

bool import_average_pool(OpContext *c) { return op_give(c, 0, op_average_pool(c, op_in(c, 0))); }

/* p is a float attribute in version 1. */
static bool lp_order(OpContext *c, double *ret) {
  *ret = c->row->until < 2 ? (double)op_float(c, "p", 2) : (double)op_int(c, "p", 2);
  return (*ret > 0 && *ret <= 1000) || op_fail(c, DIAG_E0304, "attribute 'p' is out of range");
}

bool import_lp_pool(OpContext *c) {
  Builder *b = &c->b;
  Window w;
  double p;
  if (!pool_window(c, op_in(c, 0), &w) || !lp_order(c, &p)) return false;
  PoolAttr attr = pool_attr(POOL_LP, &w);
  const bool ceil_mode = op_int(c, "ceil_mode", 0) != 0 && !w.same;
  attr.p = (int64_t)p;
  if ((double)attr.p == p) return op_give(c, 0, build_pool(b, op_in(c, 0), attr, ceil_mode, NULL));
  attr.kind = POOL_SUM; /* a broken order is not one of the node's: (sum |x|^p)^(1/p) as such */
  Value *sum = build_pool(b, build_fn2(b, SC_pow, build_fn1(b, SC_abs, op_in(c, 0)), op_scalar_like(c, op_in(c, 0), p)), attr, ceil_mode, NULL);
  return sum && op_give(c, 0, build_fn2(b, SC_pow, sum, op_scalar_like(c, sum, 1.0 / p)));
}

/* (sum |x|^p)^(1/p) */
static Value *global_lp(OpContext *c, uint32_t mask, double p) {
  Builder *b = &c->b;
  Value *x = build_fn1(b, SC_abs, op_in(c, 0));
  if (p == 1) return build_reduce(b, REDUCE_SUM, x, mask, true);
  if (p == 2) return build_fn1(b, SC_sqrt, build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, x, x), mask, true));
  Value *sum = build_reduce(b, REDUCE_SUM, build_fn2(b, SC_pow, x, op_scalar_like(c, x, p)), mask, true);
  return build_fn2(b, SC_pow, sum, op_scalar_like(c, x, 1.0 / p));
}

/* The row's argument is the PoolKind. */
bool import_global_pool(OpContext *c) {
  if (op_rank(c, 0) < 2) return op_fail(c, DIAG_E0402, "input %s must have rank 2 or more", op_shape(c, 0));
  const uint32_t mask = axes_from(2, op_rank(c, 0));
  double p;
  switch ((PoolKind)c->row->arg) {
    case POOL_MAX: return op_give(c, 0, build_reduce(&c->b, REDUCE_MAX, op_in(c, 0), mask, true));
    case POOL_LP: return lp_order(c, &p) && op_give(c, 0, global_lp(c, mask, p));
    default: return op_give(c, 0, build_reduce_mean(&c->b, op_in(c, 0), mask, true));
  }
}
