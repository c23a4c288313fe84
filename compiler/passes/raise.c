/* Softmax, normalisation and parts of activations that exporters leave as reductions and arithmetic become one node again:
 *
 *   e / sum(e), e = exp(x - max(x))                    softmax
 *   x * sigmoid(x)                                     silu
 *   erf(x / sqrt(2)), by a product too                 that of GELU, in one function
 *   d / sqrt(mean(d * d) + eps), d = x - mean(x)       normalisation, by its root's inverse too; d = x: without mean
 *
 * and a factor or term behind a normalisation its scale or bias. Found by what is computed, not by names or by order. */
#include "passes/passes.h"

typedef struct Raise { uint32_t *uses; uint32_t n; } Raise;

/* Whether v is computed in the graph at hand: what is outside stays there, since a body may run again and again. */
static bool is_here(const Builder *b, const Value *v) { return v && v->def && v->def->graph == b->graph; }

/* v = fn(x) or fn(x, y) of f32 values, and nothing else. */
static bool is_fn(const Value *v, ScalarFn fn, Value **x, Value **y) {
  if (!v || !v->def || v->def->op != OP_POINTWISE || v->type.dtype != DT_f32) return false;
  const Expr *e = &((const PointwiseAttr *)v->def->attr)->expr;
  const ExprNode *last = &e->nodes[e->n - 1];
  Value *arg[2] = {NULL, NULL};
  if (last->kind != EXPR_FN || last->fn != fn || scalar_rows[fn].arity > 2) return false;
  for (unsigned k = 0; k < scalar_rows[fn].arity; k++) {
    const ExprNode *n = &e->nodes[last->args[k]];
    if (n->kind != EXPR_INPUT) return false;
    arg[k] = v->def->in[n->operand];
  }
  *x = arg[0];
  if (y) *y = arg[1];
  return true;
}

static bool scalar_f32(Builder *b, const Value *v, float *ret) {
  if (!v || !v->data || v->data->n != 1 || v->type.dtype != DT_f32) return false;
  *ret = *(const float *)tensor_host_elements(b->ir->arena, v->data);
  return true;
}

static bool is_number(Builder *b, const Value *v, double want) {
  float f;
  return scalar_f32(b, v, &f) && (double)f == want;
}

/* v = a reduction of *x over axes, kept as size 1. */
static bool is_reduction(const Value *v, ReduceKind kind, Value **x, uint32_t *axes) {
  if (!v || !v->def || v->def->op != OP_REDUCE || v->type.dtype != DT_f32) return false;
  const ReduceAttr *attr = v->def->attr;
  *x = v->def->in[0];
  *axes = attr->axes;
  return attr->kind == kind;
}

/* v = sum(*x) over axes, divided by how many they are. */
static bool is_mean(Builder *b, const Value *v, Value **x, uint32_t *axes) {
  Value *sum, *count;
  size_t n;
  if (!is_fn(v, SC_div, &sum, &count) || !is_reduction(sum, REDUCE_SUM, x, axes)) return false;
  const Dim *const *content = build_content(b, count, &n), *all = b->ir->dims->one;
  for (uint32_t a = 0; a < (*x)->type.rank; a++)
    if (*axes >> a & 1) all = dim_mul(b->ir->dims, all, (*x)->type.dims[a]);
  int64_t known;
  if (content && n == 1) return content[0] == all;
  return dim_is_const(all, &known) && is_number(b, count, (double)known);
}

/* d = *x - mean(*x) over axes. */
static bool is_centred(Builder *b, const Value *d, uint32_t axes, Value **x) {
  Value *mean, *of;
  uint32_t over;
  return is_fn(d, SC_sub, x, &mean) && is_mean(b, mean, &of, &over) && of == *x && over == axes;
}

static bool is_square(Builder *b, const Value *v, Value **x) {
  Value *y;
  if (is_fn(v, SC_mul, x, &y) && *x == y) return true;
  return is_fn(v, SC_pow, x, &y) && is_number(b, y, 2);
}

/* v = sqrt(var + epsilon), or its inverse. */
static bool is_deviation(Builder *b, const Value *v, bool inverse, Value **var, float *epsilon) {
  Value *x, *y, *sum;
  if (inverse) {
    const bool found = is_fn(v, SC_rsqrt, &sum, NULL) || (is_fn(v, SC_pow, &sum, &y) && is_number(b, y, -0.5));
    if (!found) return ((is_fn(v, SC_reciprocal, &x, NULL)) || (is_fn(v, SC_div, &y, &x) && is_number(b, y, 1))) && is_deviation(b, x, false, var, epsilon);
  } else if (!is_fn(v, SC_sqrt, &sum, NULL) && !(is_fn(v, SC_pow, &sum, &y) && is_number(b, y, 0.5))) {
    return false;
  }
  if (!is_fn(sum, SC_add, &x, &y)) return false;
  *var = scalar_f32(b, y, epsilon) ? x : y;
  return scalar_f32(b, *var == x ? y : x, epsilon) && *epsilon >= 0;
}

/* The first of the axes if they are all from there on, else the rank. */
static uint32_t trailing(uint32_t axes, uint32_t rank) {
  uint32_t axis = rank;
  while (axis > 0 && (axes >> (axis - 1) & 1)) axis--;
  return axes == (((1u << rank) - 1) & ~((1u << axis) - 1)) ? axis : rank;
}

/* d over the root of the mean of its squares. */
static Value *raise_norm(Builder *b, Value *d, const Value *deviation, bool inverse) {
  Value *var, *square, *x, *other;
  float epsilon;
  uint32_t axes;
  if (!d || (d->def && !is_here(b, d)) || !is_here(b, deviation) || !is_deviation(b, deviation, inverse, &var, &epsilon) || !is_mean(b, var, &square, &axes) || !is_square(b, square, &x)) return NULL;
  const uint32_t axis = trailing(axes, x->type.rank);
  if (axis == x->type.rank || d->type.rank != x->type.rank) return NULL;
  if (is_centred(b, x, axes, &x)) {
    if (!is_centred(b, d, axes, &other) || other != x) return NULL;
    return build_norm(b, NORM_LAYER, x, NULL, NULL, axis, epsilon);
  }
  return d == x ? build_norm(b, NORM_RMS, x, NULL, NULL, axis, epsilon) : NULL;
}

static Value *raise_softmax(Builder *b, Value *e, Value *sum) {
  Value *of, *shifted, *x, *most, *from;
  uint32_t axes, over;
  if (!is_here(b, e) || !is_here(b, sum) || !is_reduction(sum, REDUCE_SUM, &of, &axes) || of != e || !is_fn(e, SC_exp, &shifted, NULL)) return NULL;
  if (!is_fn(shifted, SC_sub, &x, &most) || !is_reduction(most, REDUCE_MAX, &from, &over) || from != x || over != axes) return NULL;
  uint32_t axis = 0;
  while (!(axes >> axis & 1)) axis++;
  return axes >> axis == 1 ? build_softmax(b, x, axis, false) : NULL;
}

/* x * sigmoid(x), which by itself costs half of it: of f32 no more exact than the two */
static Value *raise_silu(Builder *b, Value *x, Value *s) {
  Value *of;
  if (!is_here(b, s) || !is_fn(s, SC_sigmoid, &of, NULL) || of != x) return NULL;
  return build_fn1(b, x->type.dtype == DT_f32 ? SC_silu_product : SC_silu, x);
}

/* erf of x over the root of two, or times its inverse, as near as f32 has them */
static Value *raise_erf(Builder *b, const Value *v) {
  Value *x, *y, *of = NULL;
  if (!is_here(b, v)) return NULL;
  if (is_fn(v, SC_div, &x, &y)) of = is_number(b, y, (double)0x1.6a09e6p+0f) ? x : NULL;
  else if (is_fn(v, SC_mul, &x, &y)) of = is_number(b, y, (double)0x1.6a09e6p-1f) ? x : is_number(b, x, (double)0x1.6a09e6p-1f) ? y : NULL;
  return of ? build_fn1(b, SC_erf_sqrt2, of) : NULL;
}

/* A normalisation without scale (bias) that only this node reads, times (plus) k. */
static Value *absorb(Builder *b, const Raise *r, Value *v, Value *k, bool factor) {
  const Node *n = v ? v->def : NULL;
  if (!is_here(b, v) || n->op != OP_NORM || !k || v->id >= r->n || r->uses[v->id] != 1 || k->type.dtype != DT_f32) return NULL;
  const NormAttr *attr = n->attr;
  Value *scale = n->n_in > 1 ? n->in[1] : NULL, *bias = n->n_in > 2 ? n->in[2] : NULL;
  if (bias || (factor && scale) || k->type.rank > v->type.rank) return NULL;
  if (norm_operand_kind(&k->type, &v->type, attr->axis) == NORM_BY_OTHER) return NULL;
  return build_norm(b, attr->kind, n->in[0], factor ? k : scale, factor ? NULL : k, attr->axis, attr->epsilon);
}

static bool raise(Builder *b, const Node *n, Value **ret, void *user) {
  Value *x, *y, *v = NULL;
  if (n->op != OP_POINTWISE) return false;
  if (is_fn(n->out[0], SC_div, &x, &y)) {
    v = raise_softmax(b, x, y);
    if (!v) v = raise_norm(b, x, y, false);
  } else if (is_fn(n->out[0], SC_mul, &x, &y)) {
    v = raise_silu(b, x, y);
    if (!v) v = raise_silu(b, y, x);
    if (!v) v = raise_norm(b, x, y, true);
    if (!v) v = raise_norm(b, y, x, true);
    if (!v) v = absorb(b, user, x, y, true);
    if (!v) v = absorb(b, user, y, x, true);
  } else if (is_fn(n->out[0], SC_erf, &x, NULL)) {
    v = raise_erf(b, x);
  } else if (is_fn(n->out[0], SC_add, &x, &y)) {
    v = absorb(b, user, x, y, false);
    if (!v) v = absorb(b, user, y, x, false);
  }
  ret[0] = v;
  return v && type_same(&v->type, &n->out[0]->type);
}

bool pass_raise(Ir *ir) {
  for (int round = 0; round < 4; round++) { /* the composite, then its scale, then its bias */
    Raise r = {NEW_ARRAY(ir->arena, uint32_t, ir->n_values), ir->n_values};
    pass_count_uses(ir->main, r.uses);
    if (!pass_rewrite(ir, raise, &r)) break;
    (void)pass_simplify(ir);
  }
  return true;
}
