#include "ir/quant.h"

#include "ir/build_priv.h"

/* The node stays a node where its operands are small constants too (build_expr would work them out), so that passes see levels of
 * weights. A single element, which other operators may want to know, is worked out. */
static Value *emit(Builder *b, Expr e, Value *const *in, size_t n) {
  const Dim *d[MAX_RANK], *count;
  uint32_t rank = 0;
  Type t;
  count = type_count(b->ir, &in[0]->type);
  if (dim_is(count, 1) || !in[0]->data) return build_expr(b, e, in, n, -1, NULL);
  Value **v = arena_dup(b->ir->arena, in, n * sizeof *in);
  if (!build_broadcast(b, v, n, &rank, d) || !build_type(b, expr_type(&e), rank, d, &t)) return NULL;
  PointwiseAttr *attr = NEW(b->ir->arena, PointwiseAttr);
  attr->expr = expr_ordered(b->ir->arena, &e);
  return build_emit(b, OP_POINTWISE, v, n, t, attr);
}

/* Operand 0 x, then zero (s32) if there is one, then scale. */
static Expr dequantise_expr(Arena *a, DType x, bool has_zero) {
  Expr e = {0};
  uint32_t v = expr_input(a, &e, 0, x);
  if (has_zero) v = expr_fn2(a, &e, SC_sub, expr_cast(a, &e, DT_s32, true, v), expr_input(a, &e, 1, DT_s32));
  v = expr_cast(a, &e, DT_f32, true, v);
  (void)expr_fn2(a, &e, SC_mul, v, expr_input(a, &e, has_zero ? 2 : 1, DT_f32));
  return e;
}

Value *build_dequantise(Builder *b, Value *x, Value *scale, Value *zero) {
  if (!x || !scale) return NULL;
  Value *in[3] = {x};
  size_t n = 1;
  if (zero) in[n++] = build_cast(b, zero, DT_s32, true);
  in[n++] = scale;
  for (size_t k = 0; k < n; k++)
    if (!in[k]) return NULL;
  return emit(b, dequantise_expr(b->ir->arena, x->type.dtype, zero != NULL), in, n);
}

/* Operand 0 x, then scale and zero (f32) as there are. */
static Expr quantise_expr(Arena *a, bool has_scale, bool has_zero, DType to) {
  Expr e = {0};
  uint32_t v = expr_input(a, &e, 0, DT_f32);
  if (has_scale) v = expr_fn2(a, &e, SC_div, v, expr_input(a, &e, 1, DT_f32));
  v = expr_fn1(a, &e, SC_round, v);
  if (has_zero) v = expr_fn2(a, &e, SC_add, v, expr_input(a, &e, has_scale ? 2 : 1, DT_f32));
  (void)expr_cast(a, &e, to, true, v);
  return e;
}

Value *build_quantise(Builder *b, Value *x, Value *scale, Value *zero, DType to) {
  if (!x) return NULL;
  Value *in[3] = {x};
  size_t n = 1;
  if (scale) in[n++] = scale;
  if (zero) in[n++] = build_cast(b, zero, DT_f32, true);
  if (!in[n - 1]) return NULL;
  return build_expr(b, quantise_expr(b->ir->arena, scale != NULL, zero != NULL, to), in, n, -1, NULL);
}

/* ---- recognition ---- */
static bool same_nodes(Arena *a, const Expr *x, const Expr *y) {
  const Expr u = expr_ordered(a, x), w = expr_ordered(a, y);
  if (u.n != w.n) return false;
  for (uint32_t i = 0; i < u.n; i++) {
    const ExprNode *p = &u.nodes[i], *q = &w.nodes[i];
    if (p->kind != q->kind || p->type != q->type) return false;
    if (p->kind == EXPR_INPUT && p->operand != q->operand) return false;
    if (p->kind == EXPR_FN && p->fn != q->fn) return false;
    for (unsigned k = 0; k < expr_node_arity(p); k++)
      if (p->args[k] != q->args[k]) return false;
  }
  return true;
}

static const Expr *expr_of(const Value *v) {
  const Node *n = v ? v->def : NULL;
  return n && n->op == OP_POINTWISE ? &((const PointwiseAttr *)n->attr)->expr : NULL;
}

/* What a zero point was before it was widened; v itself where it was not. */
static Value *before_cast(Value *v) {
  const Expr *e = expr_of(v);
  return e && e->n == 2 && e->nodes[1].kind == EXPR_CAST && e->nodes[0].kind == EXPR_INPUT ? v->def->in[0] : v;
}

bool quant_is_dequantise(const Value *v, Quant *ret) {
  const Expr *e = expr_of(v);
  if (!e || e->n < 4 || v->def->n_in < 2 || v->def->n_in > 3) return false;
  const bool has_zero = v->def->n_in == 3;
  Arena *a = v->graph->ir->arena;
  const Expr want = dequantise_expr(a, v->def->in[0]->type.dtype, has_zero);
  if (!same_nodes(a, e, &want)) return false;
  *ret = (Quant){v->def->in[0], v->def->in[has_zero ? 2 : 1], has_zero ? before_cast(v->def->in[1]) : NULL, v->def->in[0]->type.dtype};
  return true;
}

bool quant_is_quantise(const Value *v, Quant *ret) {
  const Expr *e = expr_of(v);
  if (!e || e->n < 3 || (expr_type(e) != DT_u8 && expr_type(e) != DT_s8)) return false;
  Arena *a = v->graph->ir->arena;
  for (unsigned form = 0; form < 4; form++) {
    const bool has_scale = form & 1, has_zero = form & 2;
    const Expr want = quantise_expr(a, has_scale, has_zero, expr_type(e));
    if (v->def->n_in != 1u + has_scale + has_zero || !same_nodes(a, e, &want)) continue;
    *ret = (Quant){v->def->in[0], has_scale ? v->def->in[1] : NULL, has_zero ? v->def->in[has_scale ? 2 : 1] : NULL, expr_type(e)};
    return true;
  }
  return false;
}
