/* Rows of constant tables. A product of one-hot rows and a constant matrix, as exporters write an embedding, reads one row of the matrix: it becomes a gather,
 * of a row of zeros where a number names no column. What is computed of each element of gathered rows, by itself and constants, is computed of the table. */
#include "passes/passes.h"

#include <math.h>

/* ---- one-hot rows ---- */

/* A tensor whose rows hold 1 at one place, which `index` names, else 0. */
typedef struct Hot {
  Value *index; /* integers, the last axis of size 1 */
  int64_t n;    /* columns; no other number names one */
  bool wraps;   /* negative numbers count from the end */
} Hot;

static const ExprNode *root_of(const Expr *e) { return &e->nodes[e->n - 1]; }

static const Expr *expr_of(const Value *v) {
  return v->def && v->def->op == OP_POINTWISE ? &((const PointwiseAttr *)v->def->attr)->expr : NULL;
}

/* Whether v is 0, 1, 2 ... along its last axis, its only one of more than one element. */
static bool is_range(const Value *v) {
  if (!v->data || !v->data->n || v->type.rank == 0 || !dtype_is_int(v->data->dtype)) return false;
  for (uint32_t i = 0; i + 1 < v->type.rank; i++)
    if (!dim_is(v->type.dims[i], 1)) return false;
  for (size_t i = 0; i < v->data->n; i++)
    if (tensor_int(v->data, i) != (int64_t)i) return false;
  return true;
}

/* Whether the first n axes are of the same sizes. */
static bool same_axes(const Type *x, const Type *y, uint32_t n) { return memcmp(x->dims, y->dims, n * sizeof *x->dims) == 0; }

/* Whether `index` has a number for each row of v. */
static bool names_rows(const Value *index, const Value *v) {
  const Type *x = &index->type, *t = &v->type;
  return dtype_is_int(x->dtype) && x->rank == t->rank && dim_is(x->dims[t->rank - 1], 1) && same_axes(x, t, t->rank - 1);
}

/* A comparison with a range of numbers, converted. */
static bool hot_by_range(const Value *v, Hot *ret) {
  const Expr *e = expr_of(v);
  if (!e || root_of(e)->kind != EXPR_CAST) return false;
  const Node *n = v->def;
  const ExprNode *is = &e->nodes[root_of(e)->args[0]];
  if (is->kind == EXPR_INPUT) {
    n = n->in[is->operand]->def;
    e = n ? expr_of(n->out[0]) : NULL;
    if (!e || n->out[0]->type.rank != v->type.rank || !same_axes(&n->out[0]->type, &v->type, v->type.rank)) return false;
    is = root_of(e);
  }
  if (is->kind != EXPR_FN || is->fn != SC_eq) return false;
  for (uint32_t k = 0; k < 2; k++) {
    const ExprNode *x = &e->nodes[is->args[k]], *y = &e->nodes[is->args[1 - k]];
    if (x->kind != EXPR_INPUT || y->kind != EXPR_INPUT || !is_range(n->in[y->operand]) || !names_rows(n->in[x->operand], v)) continue;
    *ret = (Hot){n->in[x->operand], (int64_t)n->in[y->operand]->data->n, false};
    return dim_is(v->type.dims[v->type.rank - 1], ret->n);
  }
  return false;
}

/* Whether node k is x == coordinate along `axis`; x is a node. */
static bool is_hit(const Expr *e, uint32_t k, uint32_t axis, uint32_t *x) {
  const ExprNode *is = &e->nodes[k];
  if (is->kind != EXPR_FN || is->fn != SC_eq) return false;
  const ExprNode *at = &e->nodes[is->args[1]];
  *x = is->args[0];
  return at->kind == EXPR_INDEX && at->axis == axis;
}

/* What import makes of OneHot of values 0 and 1. */
static bool hot_by_operator(Builder *b, const Value *v, Hot *ret) {
  const Expr *e = expr_of(v);
  uint32_t plain, from_end;
  int64_t n;
  if (!e || root_of(e)->kind != EXPR_FN || root_of(e)->fn != SC_select || !dim_is_const(v->type.dims[v->type.rank - 1], &n)) return false;
  const uint32_t axis = v->type.rank - 1;
  const ExprNode *either = &e->nodes[root_of(e)->args[0]], *on = &e->nodes[root_of(e)->args[1]], *off = &e->nodes[root_of(e)->args[2]];
  if (either->kind != EXPR_FN || either->fn != SC_or || on->kind != EXPR_INPUT || off->kind != EXPR_INPUT) return false;
  if (!is_hit(e, either->args[0], axis, &plain) || !is_hit(e, either->args[1], axis, &from_end)) return false;
  const ExprNode *x = &e->nodes[plain], *sum = &e->nodes[from_end];
  if (x->kind != EXPR_INPUT || sum->kind != EXPR_FN || sum->fn != SC_add || sum->args[0] != plain) return false;
  const ExprNode *size = &e->nodes[sum->args[1]];
  if (size->kind != EXPR_CONST || size->bits != (uint64_t)n) return false;
  Value *const *in = v->def->in;
  if (!names_rows(in[x->operand], v) || !pass_is_number(b, in[on->operand], 1) || !pass_is_number(b, in[off->operand], 0)) return false;
  *ret = (Hot){in[x->operand], n, true};
  return true;
}

static bool hot_rows(Builder *b, const Value *v, Hot *ret) {
  return v->type.rank > 1 && v->type.dtype == DT_f32 && (hot_by_range(v, ret) || hot_by_operator(b, v, ret));
}

/* Which row of a table of n rows and one of zeros each row is: a number below zero is a large one without its sign. */
static Value *row_numbers(Builder *b, const Hot *hot) {
  Arena *a = b->ir->arena;
  const DType own = hot->index->type.dtype;
  const bool small = own == DT_s32 || dtype_rows[own].bits < 32;
  Value *x = build_cast(b, build_squeeze(b, hot->index, 1u << (hot->index->type.rank - 1)), small ? DT_s32 : DT_s64, true);
  if (!x) return NULL;
  const DType t = x->type.dtype, bare = small ? DT_u32 : DT_u64;
  Expr e = {0};
  uint32_t at = expr_input(a, &e, 0, t);
  if (hot->wraps) at = expr_fn3(a, &e, SC_select, expr_fn2(a, &e, SC_lt, at, expr_const_i(a, &e, t, 0)), expr_fn2(a, &e, SC_add, at, expr_const_i(a, &e, t, hot->n)), at);
  at = expr_fn2(a, &e, SC_min, expr_cast(a, &e, bare, true, at), expr_const_i(a, &e, bare, hot->n));
  expr_set_result(a, &e, expr_cast(a, &e, DT_s64, true, at));
  return build_expr(b, e, &x, 1, -1, NULL);
}

enum { MOST_WEIGHTS = 1 << 24 }; /* of which folding makes a table for sure */

static bool is_finite(Builder *b, const Value *v) {
  const float *x = tensor_host_elements(b->ir->arena, v->data);
  for (size_t i = 0; i < v->data->n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* Rows of a table [rows][m] at `index`, whose coordinates are the result's but for the last. */
static Value *gather_rows(Builder *b, Value *table, Value *index, const Type *out) {
  const uint32_t rank = out->rank;
  Affine place[MAX_RANK];
  for (uint32_t i = 0; i + 1 < rank; i++) place[i] = build_affine_coord(b, rank, i);
  const GatherAxis axes[] = {{.indirect = true, .operand = 1, .place = place}, {.affine = build_affine_coord(b, rank, rank - 1)}};
  Value *const in[] = {table, index};
  return build_gather(b, in, 2, rank, out->dims, axes);
}

static bool of_hot(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  if (n->op != OP_CONTRACT || n->n_in != 2) return false;
  const ContractAttr *attr = n->attr;
  const Type *out = &n->out[0]->type, *x = &n->in[0]->type;
  Value *w = n->in[1];
  Hot hot;
  if (out->dtype != DT_f32 || attr->acc != DT_f32 || !w->data || w->type.dtype != DT_f32 || w->type.rank != 2 || x->rank != out->rank || x->rank < 2) return false;
  const uint32_t last = x->rank - 1;
  const bool rows = attr->b[0] == attr->a[last];
  if ((!rows && attr->b[1] != attr->a[last]) || attr->b[rows] != attr->out[last] || memcmp(attr->a, attr->out, last * sizeof *attr->a) != 0) return false;
  if (w->data->n > MOST_WEIGHTS || !hot_rows(b, n->in[0], &hot) || !is_finite(b, w)) return false;
  if (!rows) w = build_transpose(b, w, (const uint32_t[]){1, 0});
  const Dim *const zeros[] = {b->ir->dims->one, out->dims[last]};
  Value *const parts[] = {w, build_expand(b, build_zero(b, DT_f32), 2, zeros)};
  Value *table = build_concat(b, parts, 2, 0), *index = row_numbers(b, &hot);
  ret[0] = table && index ? gather_rows(b, table, index, out) : NULL;
  return ret[0] != NULL;
}

/* ---- what follows ---- */
enum { MOST_ELEMENTS = 1 << 16 }; /* of a table that is computed in advance: it is stored beside another that is read elsewhere, too */

/* How often values are read, by id; those that are made meanwhile have room too, and what has none counts as read often. */
typedef struct Uses {
  uint32_t *of;
  uint32_t n;
} Uses;

static uint32_t uses_of(const Uses *uses, const Value *v) { return v->id < uses->n ? uses->of[v->id] : 2; }

static void set_uses(Uses *uses, const Value *v, uint32_t n) {
  if (v->id < uses->n) uses->of[v->id] = n;
}

enum { MOST_NODES = 8 }; /* one behind the other */

/* Whether v is computed of constants, by few nodes. */
static bool is_known(const Value *v, int most) {
  if (v->data || !v->def) return v->data != NULL;
  const Node *n = v->def;
  if (most == 0 || (n->op != OP_POINTWISE && n->op != OP_CONCAT && n->op != OP_VIEW && n->op != OP_RESHAPE)) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (!is_known(n->in[k], most - 1)) return false;
  return true;
}

/* The node of rows gathered from a small constant table that v is, read once; NULL: it is none. */
static const Node *gathered(DimCtx *c, const Uses *uses, const Value *v) {
  const Node *n = v->def;
  int64_t elements, one;
  if (!n || n->op != OP_GATHER || n->n_in != 2 || n->in[0]->type.rank != 2 || uses_of(uses, v) != 1 || uses_of(uses, n->in[0]) != 1) return NULL;
  const GatherAxis *axes = ((const GatherAttr *)n->attr)->axes;
  const Type *table = &n->in[0]->type;
  if (!axes[0].indirect || axes[1].indirect || table->dims[1] != v->type.dims[v->type.rank - 1]) return NULL;
  const Affine *column = &axes[1].affine;
  for (uint32_t j = 0; j < v->type.rank; j++) {
    const Dim *coef = affine_coef(column, j);
    if (j + 1 == v->type.rank ? !dim_is(coef, 1) : coef != NULL) return NULL;
  }
  if (!dim_is_const(column->offset, &one) || one != 0 || !dim_is_const(dim_product(c, table->dims, 2), &elements) || elements > MOST_ELEMENTS) return NULL;
  return is_known(n->in[0], MOST_NODES) ? n : NULL;
}

/* A constant that stands along the last of `rank` axes, as one of a table; NULL: v is none. */
static Value *along_columns(Builder *b, Value *v) {
  const uint32_t rank = v->type.rank;
  if (!v->data) return NULL;
  for (uint32_t i = 0; i + 1 < rank; i++)
    if (!dim_is(v->type.dims[i], 1)) return NULL;
  return rank < 2 ? v : build_reshape(b, v, 1, &v->type.dims[rank - 1]);
}

static bool of_table(Builder *b, const Node *n, Value **ret, void *user) {
  if (n->op != OP_POINTWISE || n->out[0]->type.dtype != DT_f32 || n->n_in > MAX_RANK) return false;
  const Type *out = &n->out[0]->type;
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  const Node *rows = NULL;
  Value *in[MAX_RANK];
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_INDEX || e->nodes[i].kind == EXPR_DIM) return false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const Node *from = n->in[k]->data ? NULL : gathered(b->ir->dims, user, n->in[k]);
    if (from && (rows || !type_same(&n->in[k]->type, out))) return false;
    if (from) rows = from;
    in[k] = from ? from->in[0] : along_columns(b, n->in[k]);
    if (!in[k]) return false;
  }
  if (!rows) return false;
  Value *table = build_expr(b, *e, in, n->n_in, -1, NULL);
  Value *const of[] = {table, rows->in[1]};
  ret[0] = table && table->type.rank == 2 ? build_gather(b, of, 2, out->rank, out->dims, ((const GatherAttr *)rows->attr)->axes) : NULL;
  if (!ret[0]) return false;
  set_uses(user, table, 1);
  set_uses(user, ret[0], uses_of(user, n->out[0]));
  return true;
}

bool pass_rows(Ir *ir) {
  if (pass_rewrite(ir, of_hot, NULL)) (void)pass_simplify(ir);
  Uses uses = {NEW_ARRAY(ir->arena, uint32_t, 2 * ir->n_values), 2 * ir->n_values};
  pass_count_uses(ir->main, uses.of);
  if (pass_rewrite(ir, of_table, &uses)) (void)pass_simplify(ir);
  return true;
}
