/* Element-wise operations. */
#include "ir/build.h"
#include "ir/build_priv.h"

/* Leaves out of in, copied to ret, what e does not read: nobody need compute it then. Their number. */
static size_t read_operands(Arena *a, Expr *e, Value *const *in, size_t n, Value **ret) {
  uint32_t *now = NEW_ARRAY(a, uint32_t, n + 1);
  size_t kept = 0;
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_INPUT) now[e->nodes[i].operand] = 1;
  for (size_t k = 0; k < n; k++) {
    const bool read = now[k];
    now[k] = (uint32_t)kept;
    if (read) ret[kept++] = in[k];
  }
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_INPUT) e->nodes[i].operand = now[e->nodes[i].operand];
  return kept;
}

static Value *emit_pointwise(Builder *b, Expr e, Value *const *in, size_t n, Type t) {
  Value *known = build_expr_known(b, &e, in, n, t, NULL);
  if (known) return known;
  PointwiseAttr *attr = NEW(b->ir->arena, PointwiseAttr);
  attr->expr = expr_ordered(b->ir->arena, &e);
  Value **read = NEW_ARRAY(b->ir->arena, Value *, n + 1);
  Value *v = build_emit(b, OP_POINTWISE, read, read_operands(b->ir->arena, &attr->expr, in, n, read), t, attr);
  if (t.dtype == DT_f32 || t.dtype == DT_f64) (void)build_expr_known(b, &e, in, n, t, v);
  return v;
}

Value *build_expr(Builder *b, Expr e, Value *const *in, size_t n, int rank, const Dim *const *dims) {
  const Dim *d[MAX_RANK];
  uint32_t r = 0;
  Value **v = arena_dup(b->ir->arena, in, n * sizeof *in);
  if (!build_broadcast(b, v, n, &r, d)) return NULL;
  if (rank >= 0) {
    if (r > (uint32_t)rank) {
      build_error(b, DIAG_E0402, "rank %u does not broadcast to rank %d", r, rank);
      return NULL;
    }
    for (uint32_t i = 0; i < r; i++) {
      const Dim *want = dims[(uint32_t)rank - r + i];
      if (!dim_is(d[i], 1) && !build_same_dim(b, d[i], want, "dimensions that must broadcast")) return NULL;
    }
    r = (uint32_t)rank;
    for (uint32_t i = 0; i < r; i++) d[i] = dims[i];
  }
  Type t;
  if (!build_type(b, expr_type(&e), r, d, &t)) return NULL;
  return emit_pointwise(b, e, v, n, t);
}

static bool fn_takes(Builder *b, ScalarFn fn, DType t) {
  if (scalar_exists(fn, t)) return true;
  build_error(b, DIAG_E0306, "function %s on type %s", scalar_rows[fn].name, dtype_name(t));
  return false;
}

Value *build_fn1(Builder *b, ScalarFn fn, Value *x) {
  if (!x || !fn_takes(b, fn, x->type.dtype)) return NULL;
  Arena *a = b->ir->arena;
  Expr e = {0};
  (void)expr_fn1(a, &e, fn, expr_input(a, &e, 0, x->type.dtype));
  return build_expr(b, e, &x, 1, -1, NULL);
}

static bool same_dtype(Builder *b, const Value *x, const Value *y) {
  if (!x || !y) return false;
  if (x->type.dtype == y->type.dtype) return true;
  build_error(b, DIAG_E0401, "types %s and %s must agree", dtype_name(x->type.dtype), dtype_name(y->type.dtype));
  return false;
}

Value *build_fn2(Builder *b, ScalarFn fn, Value *x, Value *y) {
  if (!same_dtype(b, x, y) || !fn_takes(b, fn, x->type.dtype)) return NULL;
  Arena *a = b->ir->arena;
  Value *const in[] = {x, y};
  Expr e = {0};
  const uint32_t ex = expr_input(a, &e, 0, x->type.dtype), ey = expr_input(a, &e, 1, y->type.dtype);
  (void)expr_fn2(a, &e, fn, ex, ey);
  return build_expr(b, e, in, 2, -1, NULL);
}

Value *build_fn3(Builder *b, ScalarFn fn, Value *x, Value *y, Value *z) {
  if (!x || !same_dtype(b, y, z) || !fn_takes(b, fn, z->type.dtype)) return NULL;
  Arena *a = b->ir->arena;
  Value *const in[] = {x, y, z};
  Expr e = {0};
  uint32_t arg[3];
  for (uint32_t k = 0; k < 3; k++) arg[k] = expr_input(a, &e, k, in[k]->type.dtype);
  (void)expr_fn3(a, &e, fn, arg[0], arg[1], arg[2]);
  return build_expr(b, e, in, 3, -1, NULL);
}

Value *build_cast(Builder *b, Value *x, DType to, bool saturate) {
  if (!x || x->type.dtype == to) return x;
  Arena *a = b->ir->arena;
  if (!cast_exists(x->type.dtype, to)) {
    build_error(b, DIAG_E0306, "conversion from %s to %s", dtype_name(x->type.dtype), dtype_name(to));
    return NULL;
  }
  Expr e = {0};
  (void)expr_cast(a, &e, to, saturate, expr_input(a, &e, 0, x->type.dtype));
  return build_expr(b, e, &x, 1, -1, NULL);
}

Value *build_bits(Builder *b, Value *x, DType to) {
  if (!x || x->type.dtype == to) return x;
  Arena *a = b->ir->arena;
  Expr e = {0};
  (void)expr_bits(a, &e, to, expr_input(a, &e, 0, x->type.dtype));
  return build_expr(b, e, &x, 1, -1, NULL);
}
