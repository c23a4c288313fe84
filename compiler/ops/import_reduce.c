/* Reductions: the ten Reduce operators, ArgMax, ArgMin. */
#include "ops/shared.h"

typedef struct Reduction {
  uint32_t mask;
  bool keep;
} Reduction;

/* log(sum(exp(x))) about the largest finite element, so that exp neither overflows nor vanishes. */
static Value *log_sum_exp(OpContext *c, Value *x, Reduction r) {
  Builder *b = &c->b;
  if (!r.mask) return build_fn1(b, SC_log, build_fn1(b, SC_exp, x));
  Value *max = build_reduce(b, REDUCE_MAX, x, r.mask, true), *zero = op_scalar_like(c, x, 0);
  Value *finite = build_fn2(b, SC_eq, build_fn2(b, SC_sub, max, max), zero);
  max = build_fn3(b, SC_select, finite, max, zero);
  Value *sum = build_reduce(b, REDUCE_SUM, build_fn1(b, SC_exp, build_fn2(b, SC_sub, x, max)), r.mask, true);
  Value *v = build_fn2(b, SC_add, build_fn1(b, SC_log, sum), max);
  return r.keep ? v : build_squeeze(b, v, r.mask);
}

/* The compound ones, on a type wide enough for their intermediate values. */
static Value *reduce_compound(OpContext *c, int kind, Value *x, Reduction r) {
  Builder *b = &c->b;
  switch (kind) {
    case RED_L1: return build_reduce(b, REDUCE_SUM, build_fn1(b, SC_abs, x), r.mask, r.keep);
    case RED_SUM_SQUARE: return build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, x, x), r.mask, r.keep);
    case RED_L2: return build_fn1(b, SC_sqrt, build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, x, x), r.mask, r.keep));
    case RED_LOG_SUM: return build_fn1(b, SC_log, build_reduce(b, REDUCE_SUM, x, r.mask, r.keep));
    default: return log_sum_exp(c, x, r);
  }
}

static bool needs_float(int kind) { return kind == RED_L2 || kind == RED_LOG_SUM || kind == RED_LOG_SUM_EXP; }

static Value *reduce(OpContext *c, int kind, Value *x, Reduction r) {
  Builder *b = &c->b;
  const DType t = x->type.dtype;
  if (t == DT_b1) return build_reduce(b, kind == RED_MAX ? REDUCE_ANY : REDUCE_ALL, x, r.mask, r.keep);
  if (kind == RED_MEAN) return build_reduce_mean(b, x, r.mask, r.keep);
  if (kind < RED_MEAN) return build_reduce(b, (ReduceKind)kind, x, r.mask, r.keep);
  const DType wide = dtype_is_float(t) ? dtype_compute(t) : needs_float(kind) ? DT_f64 : t;
  return build_cast(b, reduce_compound(c, kind, build_cast(b, x, wide, true), r), t, true);
}

bool import_reduce(OpContext *c) {
  const uint32_t rank = op_rank(c, 0);
  Reduction r = {.keep = op_int(c, "keepdims", 1) != 0};
  bool given;
  if (!op_axes_mask(c, "axes", 1, rank, &r.mask, &given)) return false;
  if ((!given || r.mask == 0) && !op_int(c, "noop_with_empty_axes", 0)) r.mask = axes_from(0, rank);
  return op_give(c, 0, reduce(c, c->row->arg, op_in(c, 0), r));
}

/* The row's argument: 1 for the largest. */
bool import_arg(OpContext *c) {
  uint32_t axis;
  if (op_rank(c, 0) == 0) {
    Value *zero = build_scalar_i(&c->b, DT_s64, 0);
    return op_give(c, 0, zero);
  }
  if (!op_axis_attr(c, "axis", 0, op_rank(c, 0), &axis)) return false;
  if (dim_is(op_dim(c, 0, axis), 0)) return op_fail(c, DIAG_E0402, "axis %u of shape %s is empty", axis, op_shape(c, 0));
  const bool keep = op_int(c, "keepdims", 1) != 0, last = op_int(c, "select_last_index", 0) != 0;
  return op_give(c, 0, build_arg(&c->b, c->row->arg != 0, op_in(c, 0), axis, keep, last));
}
