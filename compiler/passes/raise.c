/* Softmax, normalisation and parts of activations that exporters leave as reductions and arithmetic become one node again:
 *
 *   e / sum(e), e = exp(x - max(x))                    softmax
 *   isnan(s) ? 0 : s, s a softmax                      the same, safe
 *   softmax(x + 0)                                     softmax(x): a mask that hides nothing
 *   x * sigmoid(x)                                     silu
 *   x * tanh(softplus(x))                              mish
 *   erf(x / sqrt(2)), by a product too                 that of GELU, in one function
 *   x/2 (1 + erf(x))                                   x ((1 + erf(x)) / 2)
 *   x (1 + tanh(a x + b x^3)) / 2                      GELU by tanh, where a and b are its factors
 *   d / sqrt(mean(d * d) + eps), d = x - mean(x)       normalisation, by its root's inverse too; d = x: without mean
 *   x k + (b - mean(x) k), k = s / sqrt(...)           the same, as a batch's is written; of rows that are viewed as its channels, too
 *
 * and a factor or term behind a normalisation its scale or bias. Found by what is computed, not by names or by order. */
#include "passes/passes.h"

#include <math.h>

typedef struct Raise { uint32_t *uses; uint32_t n; } Raise;

/* Whether v is computed in the graph at hand: what is outside stays there, since a body may run again and again. */
static bool is_here(const Builder *b, const Value *v) { return v && v->def && v->def->graph == b->graph; }

/* v = fn of values, and nothing else. */
static bool is_call(const Value *v, ScalarFn fn, Value *arg[3]) {
  if (!v || !v->def || v->def->op != OP_POINTWISE) return false;
  const Expr *e = &((const PointwiseAttr *)v->def->attr)->expr;
  const ExprNode *last = &e->nodes[e->n - 1];
  if (last->kind != EXPR_FN || last->fn != fn) return false;
  for (unsigned k = 0; k < scalar_rows[fn].arity; k++) {
    const ExprNode *n = &e->nodes[last->args[k]];
    if (n->kind != EXPR_INPUT) return false;
    arg[k] = v->def->in[n->operand];
  }
  return true;
}

/* v = fn(x) or fn(x, y) of f32. */
static bool is_fn(const Value *v, ScalarFn fn, Value **x, Value **y) {
  Value *arg[3] = {NULL, NULL, NULL};
  if (!is_call(v, fn, arg) || v->type.dtype != DT_f32 || arg[2]) return false;
  *x = arg[0];
  if (y) *y = arg[1];
  return true;
}

static bool scalar_f32(Builder *b, const Value *v, float *ret) {
  if (!v || !v->data || v->data->n != 1 || v->type.dtype != DT_f32) return false;
  *ret = *(const float *)tensor_host_elements(b->ir->arena, v->data);
  return true;
}

/* A constant whose elements all are that. */
static bool is_filled(Builder *b, const Value *v, double want) {
  if (!v || !v->data || v->type.dtype != DT_f32) return false;
  const float *f = tensor_host_elements(b->ir->arena, v->data);
  for (size_t i = 0; i < v->data->n; i++)
    if ((double)f[i] != want) return false;
  return v->data->n > 0;
}

/* v without views by which axes of one element come and go. */
static Value *bare(const Value *v) {
  while (v && v->def && v->def->op == OP_VIEW && pass_keeps_order(v->def)) v = v->def->in[0];
  return (Value *)(uintptr_t)v;
}

/* Whether the axes of more than one element are the same: neither of both repeats in an operation of them with that result. */
static bool same_elements(const Value *x, const Value *y) {
  uint32_t i = 0, j = 0;
  for (;; i++, j++) {
    while (i < x->type.rank && dim_is(x->type.dims[i], 1)) i++;
    while (j < y->type.rank && dim_is(y->type.dims[j], 1)) j++;
    if (i == x->type.rank || j == y->type.rank) return i == x->type.rank && j == y->type.rank;
    if (x->type.dims[i] != y->type.dims[j]) return false;
  }
}

/* Whether k has an element for each row of x, whose axes the others are, and broadcasts to it. */
static bool is_by_row(const Value *k, const Value *x, uint32_t axes) {
  if (k->type.rank > x->type.rank) return false;
  for (uint32_t a = 0, lead = x->type.rank - k->type.rank; a < x->type.rank; a++) {
    const bool one = a < lead || dim_is(k->type.dims[a - lead], 1);
    if (axes >> a & 1 ? !one : one ? !dim_is(x->type.dims[a], 1) : k->type.dims[a - lead] != x->type.dims[a]) return false;
  }
  return true;
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
  if (!is_fn(bare(v), SC_div, &sum, &count) || !is_reduction(bare(sum), REDUCE_SUM, x, axes)) return false;
  const Dim *const *content = build_content(b, count, &n), *all = b->ir->dims->one;
  for (uint32_t a = 0; a < (*x)->type.rank; a++)
    if (*axes >> a & 1) all = dim_mul(b->ir->dims, all, (*x)->type.dims[a]);
  int64_t known;
  if (content && n == 1) return content[0] == all;
  return dim_is_const(all, &known) && pass_is_number(b, count, (double)known);
}

/* d = *x - mean(*x) over axes. */
static bool is_centred(Builder *b, const Value *d, uint32_t axes, Value **x) {
  Value *mean, *of;
  uint32_t over;
  return is_fn(d, SC_sub, x, &mean) && is_mean(b, mean, &of, &over) && of == *x && over == axes && is_by_row(mean, of, axes);
}

static bool is_square(Builder *b, const Value *v, Value **x) {
  Value *y;
  if (is_fn(v, SC_mul, x, &y) && *x == y) return true;
  return is_fn(v, SC_pow, x, &y) && pass_is_number(b, y, 2);
}

/* v = sqrt(var + epsilon), or its inverse. */
static bool is_deviation(Builder *b, const Value *v, bool inverse, Value **var, float *epsilon) {
  Value *x, *y, *sum;
  v = bare(v);
  if (inverse) {
    const bool found = is_fn(v, SC_rsqrt, &sum, NULL) || (is_fn(v, SC_pow, &sum, &y) && pass_is_number(b, y, -0.5));
    if (!found) return ((is_fn(v, SC_reciprocal, &x, NULL)) || (is_fn(v, SC_div, &y, &x) && is_filled(b, y, 1) && same_elements(v, x))) && is_deviation(b, x, false, var, epsilon);
  } else if (!is_fn(v, SC_sqrt, &sum, NULL) && !(is_fn(v, SC_pow, &sum, &y) && pass_is_number(b, y, 0.5))) {
    return false;
  }
  if (!is_fn(bare(sum), SC_add, &x, &y)) return false;
  *var = scalar_f32(b, y, epsilon) ? x : y;
  return scalar_f32(b, *var == x ? y : x, epsilon) && *epsilon >= 0;
}

/* v = the root of the mean of *x's squares over axes, plus epsilon, or its inverse. */
static bool is_root(Builder *b, const Value *v, bool inverse, Value **x, uint32_t *axes, float *epsilon) {
  Value *var, *square;
  return is_deviation(b, v, inverse, &var, epsilon) && is_mean(b, var, &square, axes) && is_square(b, square, x);
}

/* The first of x's axes from which on all are summed, the rank where others lie between; those of one element do not count. */
static uint32_t trailing(const Value *x, uint32_t axes) {
  uint32_t axis = 0;
  for (uint32_t a = 0; a < x->type.rank; a++)
    if (!(axes >> a & 1) && !dim_is(x->type.dims[a], 1)) axis = a + 1;
  for (uint32_t a = 0; a < axis; a++)
    if (axes >> a & 1 && !dim_is(x->type.dims[a], 1)) return x->type.rank;
  while (axis < x->type.rank && !(axes >> axis & 1)) axis++;
  return axis;
}

/* d over the root of the mean of its squares. */
static Value *raise_norm(Builder *b, Value *d, const Value *deviation, bool inverse) {
  Value *x, *other;
  float epsilon;
  uint32_t axes;
  if (!d || (d->def && !is_here(b, d)) || !is_here(b, deviation) || !is_root(b, deviation, inverse, &x, &axes, &epsilon)) return NULL;
  const uint32_t axis = trailing(x, axes);
  if (axis == x->type.rank || d->type.rank != x->type.rank || !is_by_row(deviation, x, axes)) return NULL;
  if (is_centred(b, x, axes, &x)) {
    if (!is_centred(b, d, axes, &other) || other != x) return NULL;
    return build_norm(b, NORM_LAYER, x, NULL, NULL, axis, epsilon);
  }
  return d == x ? build_norm(b, NORM_RMS, x, NULL, NULL, axis, epsilon) : NULL;
}

/* v = x k in either order, v and k as they are, or bare. */
static bool is_times(const Value *v, const Value *k, bool views, Value **x) {
  Value *y;
  if (!is_fn(views ? bare(v) : v, SC_mul, x, &y)) return false;
  if (y == k || (views && bare(y) == bare(k))) return true;
  const bool first = *x == k || (views && bare(*x) == bare(k));
  *x = y;
  return first;
}

/* x without axes of one element that a view added, normalised from the axis on, then viewed as x. */
static Value *norm_of_view(Builder *b, Value *x, uint32_t axis, float epsilon) {
  Value *of = bare(x);
  uint32_t rows = 0, from = 0;
  for (uint32_t a = 0; a < axis; a++) rows += !dim_is(x->type.dims[a], 1);
  for (; from < of->type.rank && (rows || dim_is(of->type.dims[from], 1)); from++) rows -= !dim_is(of->type.dims[from], 1);
  if (of == x || from == of->type.rank) return build_norm(b, NORM_LAYER, x, NULL, NULL, axis, epsilon);
  return build_reshape(b, build_norm(b, NORM_LAYER, of, NULL, NULL, from, epsilon), x->type.rank, x->type.dims);
}

/* Normalisation of x by k of its rows, 1 over the root, times a scale or not; by_row: what rows' parts are as they are used. absorb takes scale and bias. */
static Value *raise_by(Builder *b, Value *x, const Value *k, uint32_t axes, const Value *by_row, Value *bias) {
  Value *part[2] = {bare(k), NULL}, *centred, *of;
  uint32_t over;
  float epsilon;
  const bool scaled = is_fn(k, SC_mul, &part[0], &part[1]);
  const uint32_t axis = trailing(x, axes);
  if (axis == x->type.rank || !is_by_row(by_row, x, axes)) return NULL;
  for (int root = 0; root < 2; root++) {
    if (!is_here(b, part[root]) || !is_by_row(scaled ? part[root] : k, x, axes) || !is_root(b, part[root], true, &centred, &over, &epsilon)) continue;
    if (axes != over || !is_centred(b, centred, axes, &of) || of != x) continue;
    Value *y = norm_of_view(b, x, axis, epsilon), *scale = part[!root];
    if (scale) y = build_fn2(b, SC_mul, y, scale);
    return bias ? build_fn2(b, SC_add, y, bias) : y;
  }
  return NULL;
}

/* product + rest, or product - rest: product = x k, rest = bias - mean(x) k, or mean(x) k. */
static Value *raise_affine(Builder *b, const Value *product, Value *rest, bool minus) {
  Value *side[2], *mean, *of, *bias = NULL, *shift = rest;
  uint32_t axes;
  if (!is_here(b, product) || !is_here(b, rest) || !is_fn(product, SC_mul, &side[0], &side[1])) return NULL;
  if (!minus && !is_fn(bare(rest), SC_sub, &bias, &shift)) return NULL;
  for (int way = 0; way < 2; way++) {
    Value *x = side[way], *k = side[!way];
    const bool scaled = is_fn(k, SC_mul, &of, &of); /* all of it is as large as x, and nothing is viewed */
    if (!is_times(shift, k, !scaled, &mean) || !is_mean(b, mean, &of, &axes) || of != x) continue;
    const bool zero = !scaled && bias && is_filled(b, bias, 0) && same_elements(bare(rest), shift);
    if (!scaled && !same_elements(shift, k)) continue;
    if (bias && !zero && rest != bare(rest)) continue;
    return raise_by(b, x, k, axes, scaled ? mean : zero ? rest : shift, zero ? NULL : bias);
  }
  return NULL;
}

static Value *raise_softmax(Builder *b, Value *e, Value *sum) {
  Value *of, *shifted, *x, *most, *from;
  uint32_t axes, over;
  if (!is_here(b, e) || !is_here(b, sum) || !is_reduction(sum, REDUCE_SUM, &of, &axes) || of != e || !is_fn(e, SC_exp, &shifted, NULL)) return NULL;
  if (!is_fn(shifted, SC_sub, &x, &most) || !is_reduction(most, REDUCE_MAX, &from, &over) || from != x || over != axes) return NULL;
  uint32_t axis = 0;
  while (!(axes >> axis & 1)) axis++;
  return axes >> axis == 1 ? build_softmax(b, x, (SoftmaxAttr){.axis = axis}) : NULL;
}

static Value *raise_safe(Builder *b, const Value *v) {
  Value *arg[3], *of[3];
  if (!is_call(v, SC_select, arg) || !is_here(b, arg[0]) || !is_here(b, arg[2]) || !pass_is_number(b, arg[1], 0) || arg[2]->def->op != OP_SOFTMAX) return NULL;
  SoftmaxAttr attr = *(const SoftmaxAttr *)arg[2]->def->attr;
  if (attr.log || !is_call(arg[0], SC_isnan, of) || of[0] != arg[2]) return NULL;
  attr.safe = true;
  return build_softmax(b, arg[2]->def->in[0], attr);
}

/* A softmax does not tell zeros of two signs apart, so that x + 0 is x there: a mask that hides nothing. */
static Value *raise_unmasked(Builder *b, const Node *softmax) {
  Value *sum = softmax->in[0], *arg[3];
  if (!is_here(b, sum) || !is_call(sum, SC_add, arg)) return NULL;
  for (int k = 0; k < 2; k++)
    if (type_same(&arg[k]->type, &sum->type) && pass_is_zeros(arg[!k])) return build_softmax(b, arg[k], *(const SoftmaxAttr *)softmax->attr);
  return NULL;
}

/* x * sigmoid(x), which by itself costs half of it: of f32 no more exact than the two */
static Value *raise_silu(Builder *b, Value *x, Value *s) {
  Value *of;
  if (!is_here(b, s) || !is_fn(s, SC_sigmoid, &of, NULL) || of != x) return NULL;
  return build_fn1(b, x->type.dtype == DT_f32 ? SC_silu_product : SC_silu, x);
}

static Value *raise_mish(Builder *b, Value *x, Value *t) {
  Value *s, *of;
  if (!is_here(b, t) || !is_fn(t, SC_tanh, &s, NULL) || !is_here(b, s) || !is_fn(s, SC_softplus, &of, NULL) || of != x) return NULL;
  return build_fn1(b, SC_mish, x);
}

/* erf of x over the root of two, or times its inverse, as near as f32 has them */
static Value *raise_erf(Builder *b, const Value *v) {
  Value *x, *y, *of = NULL;
  if (!is_here(b, v)) return NULL;
  if (is_fn(v, SC_div, &x, &y)) of = pass_is_number(b, y, (double)0x1.6a09e6p+0f) ? x : NULL;
  else if (is_fn(v, SC_mul, &x, &y)) of = pass_is_number(b, y, (double)0x1.6a09e6p-1f) ? x : pass_is_number(b, x, (double)0x1.6a09e6p-1f) ? y : NULL;
  return of ? build_fn1(b, SC_erf_sqrt2, of) : NULL;
}

/* ---- GELU by tanh ---- */
enum { CUBIC = 3, CUBIC_DEPTH = 7 };

static void multiply(double *p, const double *q) {
  double r[2 * CUBIC + 1] = {0};
  for (int i = 0; i <= CUBIC; i++)
    for (int j = 0; j <= CUBIC; j++) r[i + j] += p[i] * q[j];
  for (int i = 0; i <= 2 * CUBIC; i++) {
    if (i <= CUBIC) p[i] = r[i];
    else if (r[i] != 0) p[0] = NAN;
  }
}

/* The factors of 1, x, x^2, x^3 in v, NaN where it is no such polynomial; in whatever order it is computed. */
static void read_cubic(Builder *b, const Value *v, const Value *x, int depth, double p[CUBIC + 1]) {
  Value *left, *right;
  double q[CUBIC + 1];
  float f;
  memset(p, 0, (CUBIC + 1) * sizeof *p);
  if (v == x) {
    p[1] = 1;
  } else if (scalar_f32(b, v, &f)) {
    p[0] = (double)f;
  } else if (depth == 0 || !is_here(b, v)) {
    p[0] = NAN;
  } else if (is_fn(v, SC_mul, &left, &right)) {
    read_cubic(b, left, x, depth - 1, p);
    read_cubic(b, right, x, depth - 1, q);
    multiply(p, q);
  } else if (is_fn(v, SC_add, &left, &right)) {
    read_cubic(b, left, x, depth - 1, p);
    read_cubic(b, right, x, depth - 1, q);
    for (int i = 0; i <= CUBIC; i++) p[i] += q[i];
  } else {
    p[0] = NAN;
  }
}

/* Whether v is the cubic of x whose tanh stands for the error function (Hendrycks and Gimpel, "Gaussian Error Linear Units"), as near as products of
 * rounded factors have it. */
static bool is_gelu_cubic(Builder *b, const Value *v, const Value *x) {
  const double a = 0x1.9884533d43651p-1 /* sqrt(2 / pi) */, factors[CUBIC + 1] = {0, a, 0, 0.044715 * a};
  double p[CUBIC + 1];
  read_cubic(b, v, x, CUBIC_DEPTH, p);
  for (int i = 0; i <= CUBIC; i++)
    if (!(fabs(p[i] - factors[i]) <= 1e-6 * factors[i])) return false;
  return true;
}

/* v = half of *x */
static bool is_half(Builder *b, const Value *v, Value **x) {
  Value *y;
  if (!is_here(b, v)) return false;
  if (is_fn(v, SC_div, x, &y)) return pass_is_number(b, y, 2);
  if (!is_fn(v, SC_mul, x, &y)) return false;
  if (pass_is_number(b, y, 0.5)) return true;
  const bool first = pass_is_number(b, *x, 0.5);
  *x = y;
  return first;
}

/* v = 1 + tanh(*u) */
static bool is_tanh_gate(Builder *b, const Value *v, Value **u) {
  Value *x, *y;
  if (!is_here(b, v) || !is_fn(v, SC_add, &x, &y)) return false;
  Value *tanh = pass_is_number(b, y, 1) ? x : pass_is_number(b, x, 1) ? y : NULL;
  return is_here(b, tanh) && is_fn(tanh, SC_tanh, u, NULL);
}

/* (x / 2) (1 + erf(x)) as x ((1 + erf(x)) / 2), the same but for subnormal numbers: what finishes a product begins with its result. */
static Value *raise_gelu_halves(Builder *b, const Value *half, Value *gate) {
  Value *x, *e, *one, *of;
  if (!is_here(b, half) || !is_here(b, gate) || !is_half(b, half, &x) || !is_fn(gate, SC_add, &e, &one)) return NULL;
  if (pass_is_number(b, e, 1)) e = one;
  else if (!pass_is_number(b, one, 1)) return NULL;
  if (!is_fn(e, SC_erf_sqrt2, &of, NULL) || of != x) return NULL;
  return build_fn2(b, SC_mul, x, build_fn2(b, SC_mul, gate, build_scalar_f(b, DT_f32, 0.5)));
}

/* gate times x, which its argument is a cubic of; the half is in v, x or the gate. */
static Value *raise_gelu_product(Builder *b, Value *gate, Value *x, bool halved) {
  Value *u, *half;
  if (is_tanh_gate(b, gate, &u)) {
    if (!halved && !is_half(b, x, &x)) return NULL;
  } else if (halved || !is_half(b, gate, &half) || !is_tanh_gate(b, half, &u)) {
    return NULL;
  }
  return is_gelu_cubic(b, u, x) ? build_fn1(b, SC_gelu_tanh, x) : NULL;
}

static Value *raise_gelu_tanh(Builder *b, Value *v) {
  Value *whole = v, *x, *y;
  const bool halved = is_half(b, v, &whole);
  if (halved && is_here(b, whole) && is_fn(whole, SC_mul, &x, &y)) {
    Value *r = raise_gelu_product(b, x, y, true);
    if (r || (r = raise_gelu_product(b, y, x, true))) return r;
  }
  if (!is_fn(v, SC_mul, &x, &y)) return NULL;
  Value *r = raise_gelu_product(b, x, y, false);
  return r ? r : raise_gelu_product(b, y, x, false);
}

/* A normalisation without scale (bias) that only this node reads, perhaps by views to and fro, times (plus) k. */
static Value *absorb(Builder *b, const Raise *r, Value *v, Value *k, bool factor) {
  const Value *norm = bare(v);
  const Node *n = norm ? norm->def : NULL;
  if (!is_here(b, norm) || n->op != OP_NORM || !type_same(&norm->type, &v->type) || !k || k->type.dtype != DT_f32) return NULL;
  for (const Value *on = v;; on = on->def->in[0]) {
    if (on->id >= r->n || r->uses[on->id] != 1) return NULL;
    if (on == norm) break;
  }
  const NormAttr *attr = n->attr;
  Value *scale = n->n_in > 1 ? n->in[1] : NULL, *bias = n->n_in > 2 ? n->in[2] : NULL;
  if (bias || (factor && scale) || k->type.rank > v->type.rank) return NULL;
  if (norm_operand_kind(&k->type, &v->type, attr->axis) == NORM_BY_OTHER) return NULL;
  return build_norm(b, attr->kind, n->in[0], factor ? k : scale, factor ? NULL : k, attr->axis, attr->epsilon);
}

static bool raise(Builder *b, const Node *n, Value **ret, void *user) {
  Value *x, *y, *v = NULL;
  if (n->op == OP_SOFTMAX) {
    v = raise_unmasked(b, n);
  } else if (n->op != OP_POINTWISE) {
    return false;
  } else if (is_fn(n->out[0], SC_div, &x, &y)) {
    v = raise_softmax(b, x, y);
    if (!v) v = raise_norm(b, x, y, false);
    if (!v) v = raise_gelu_tanh(b, n->out[0]);
  } else if (is_fn(n->out[0], SC_mul, &x, &y)) {
    v = raise_silu(b, x, y);
    if (!v) v = raise_silu(b, y, x);
    if (!v) v = raise_mish(b, x, y);
    if (!v) v = raise_mish(b, y, x);
    if (!v) v = raise_gelu_tanh(b, n->out[0]);
    if (!v) v = raise_gelu_halves(b, x, y);
    if (!v) v = raise_gelu_halves(b, y, x);
    if (!v) v = raise_norm(b, x, y, true);
    if (!v) v = raise_norm(b, y, x, true);
    if (!v) v = absorb(b, user, x, y, true);
    if (!v) v = absorb(b, user, y, x, true);
  } else if (is_fn(n->out[0], SC_erf, &x, NULL)) {
    v = raise_erf(b, x);
  } else if (is_fn(n->out[0], SC_add, &x, &y)) {
    v = raise_affine(b, x, y, false);
    if (!v) v = raise_affine(b, y, x, false);
    if (!v) v = absorb(b, user, x, y, false);
    if (!v) v = absorb(b, user, y, x, false);
  } else if (is_fn(n->out[0], SC_sub, &x, &y)) {
    v = raise_affine(b, x, y, true);
  } else {
    v = raise_safe(b, n->out[0]);
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
