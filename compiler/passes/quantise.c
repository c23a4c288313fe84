/* Products and convolutions between dequantised operands become integer ones: sums of 8-bit products are exact, and one
 * scaling follows them (docs/NUMERICS.md). Where they are quantised again, the scales join into one factor. */
#include "ir/quant.h"
#include "passes/passes.h"

#include <float.h>
#include <math.h>

/* Sums of that many products of 8-bit values with their zero points taken off cannot leave s32. */
enum { MAX_DEPTH = 32768 };

typedef struct Levels { /* a value known as levels */
  Value *x;      /* u8 or s8 */
  Value *scale;  /* rank 0, or [n] along axis */
  Value *zero;   /* of x's type, rank 0 or [n] along axis; NULL: 0 */
  int axis;      /* -1: one scale for all */
} Levels;

static bool is_8(DType t) { return t == DT_u8 || t == DT_s8; }

/* What v is a view of. */
static Value *root_of(Value *v) {
  while (!v->data && v->def && (v->def->op == OP_VIEW || v->def->op == OP_RESHAPE)) v = v->def->in[0];
  return v;
}

static bool is_constant(Value *v) { return root_of(v)->data != NULL; }

/* ---- scales and zero points ---- */
/* The axis of x that v, broadcast to it, walks along: -1 for none, -2 for several. */
static int walked_axis(const Value *v, const Value *x) {
  int axis = -1;
  if (v->type.rank > x->type.rank) return -2;
  for (uint32_t i = 0; i < v->type.rank; i++) {
    if (dim_is(v->type.dims[i], 1)) continue;
    if (axis != -1) return -2;
    axis = (int)(x->type.rank - v->type.rank + i);
  }
  return axis;
}

/* v as rank 0, or as [n]. */
static Value *flat(Builder *b, Value *v, int axis, const Value *x) {
  const Dim *n = axis < 0 ? NULL : x->type.dims[axis];
  return build_reshape(b, v, axis < 0 ? 0 : 1, axis < 0 ? NULL : &n);
}

static bool levels_of_dequantise(Builder *b, const Value *v, Levels *ret) {
  Quant q;
  if (!quant_is_dequantise(v, &q) || !is_8(q.to) || v->type.rank != q.x->type.rank) return false;
  const int scale_axis = walked_axis(q.scale, q.x), zero_axis = q.zero ? walked_axis(q.zero, q.x) : -1;
  if (scale_axis == -2 || zero_axis == -2 || (zero_axis >= 0 && zero_axis != scale_axis)) return false;
  *ret = (Levels){.x = q.x, .axis = scale_axis};
  ret->scale = flat(b, q.scale, scale_axis, q.x);
  if (q.zero) ret->zero = build_cast(b, flat(b, q.zero, zero_axis, q.x), q.to, true);
  return ret->scale && (!q.zero || ret->zero);
}

/* The output axis that an input axis of a view became: it alone walks along it, from its start; -1 where none does. */
static int viewed_axis(const ViewAttr *attr, int axis, const Type *in, const Type *out) {
  const Affine *f = &attr->index[axis];
  int found = -1;
  if (!dim_is(f->offset, 0)) return -1;
  for (uint32_t j = 0; j < out->rank; j++) {
    const Dim *coef = affine_coef(f, j);
    if (!coef) continue;
    if (found >= 0 || !dim_is(coef, 1) || out->dims[j] != in->dims[axis]) return -1;
    found = (int)j;
  }
  for (uint32_t a = 0; found >= 0 && a < in->rank; a++)
    if ((int)a != axis && affine_coef(&attr->index[a], (uint32_t)found)) return -1;
  return found;
}

enum { MAX_VIEWS = 8 };

/* v as levels: dequantised, perhaps viewed or reshaped after that. */
static bool find_levels(Builder *b, const Value *v, unsigned depth, Levels *ret) {
  if (!v || v->type.dtype != DT_f32 || depth > MAX_VIEWS) return false;
  if (levels_of_dequantise(b, v, ret)) return true;
  const Node *n = v->def;
  if (!n || (n->op != OP_VIEW && n->op != OP_RESHAPE) || !find_levels(b, n->in[0], depth + 1, ret)) return false;
  if (n->op == OP_RESHAPE) {
    ret->x = ret->axis < 0 ? build_reshape(b, ret->x, v->type.rank, v->type.dims) : NULL;
    return ret->x != NULL;
  }
  if (ret->axis >= 0) {
    ret->axis = viewed_axis(n->attr, ret->axis, &n->in[0]->type, &v->type);
    if (ret->axis < 0) return false;
  }
  ret->x = build_view(b, ret->x, v->type.rank, v->type.dims, ((const ViewAttr *)n->attr)->index);
  return ret->x != NULL;
}

static Value *nonzero(Value *zero) { return zero && pass_is_zeros(zero) ? NULL : zero; }

/* v [n] with `behind` axes of 1 after it; rank 0 stays. */
static Value *raised(Builder *b, Value *v, uint32_t behind) {
  return v->type.rank == 1 && behind ? build_unsqueeze(b, v, ((1u << behind) - 1) << 1) : v;
}

/* Magnitudes of a constant's elements but zeros; of none: least is above most. */
typedef struct Magnitudes { double least, most; } Magnitudes;

static bool magnitudes_of(Builder *b, Value *v, Magnitudes *ret) {
  const double *x;
  size_t n;
  *ret = (Magnitudes){INFINITY, 0};
  v = root_of(v);
  if (!v->data || !build_const_floats(b, v, &x, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    const double m = fabs(x[i]);
    if (m < ret->least && m != 0) ret->least = m;
    if (!(m <= ret->most)) ret->most = m;
  }
  return true;
}

static bool are_normal(double least, double most) { return least > most || (least >= FLT_MIN && most <= FLT_MAX); }

/* False where the product of two scales leaves f32's normal numbers, which theirs with the levels one after the other need not. */
static bool scales_multiply(Builder *b, Value *x_scale, Value *w_scale) {
  Magnitudes x, w;
  return !magnitudes_of(b, x_scale, &x) || !magnitudes_of(b, w_scale, &w) || are_normal(x.least * w.least, x.most * w.most);
}

/* The sums as numbers. */
static Value *scaled(Builder *b, Value *sums, Value *x_scale, Value *w_scale, uint32_t behind) {
  Value *factor = build_fn2(b, SC_mul, x_scale, raised(b, w_scale, behind));
  return build_fn2(b, SC_mul, build_cast(b, sums, DT_f32, true), factor);
}

/* ---- convolution ---- */
/* What a level of the sums stands for: xs * ws of a channel, n of which have their own. */
typedef struct Units {
  const double *x, *w;
  size_t n;
  double room; /* of levels beside the products: no sum leaves s32 */
} Units;

/* The most that an element can differ from its zero point. */
static int64_t reach(const Levels *l) { return nonzero(l->zero) || l->x->type.dtype == DT_u8 ? 255 : 128; }

/* False where the scales are not constants. */
static bool units_of(Builder *b, const Levels *x, const Levels *w, int64_t depth, Units *ret) {
  Value *xs = pass_in_order(x->scale), *ws = pass_in_order(w->scale);
  size_t n_x;
  ret->room = (double)(INT32_MAX - depth * reach(x) * reach(w));
  return xs->data && ws->data && build_const_floats(b, xs, &ret->x, &n_x) && n_x == 1 && build_const_floats(b, ws, &ret->w, &ret->n);
}

static double unit(const Units *u, size_t i) { return u->x[0] * u->w[u->n == 1 ? 0 : i]; }

static bool has_room(Builder *b, Value *levels, const Units *u) {
  const double *x;
  size_t n;
  Value *root = pass_in_order(levels);
  if (!root->data || !build_const_floats(b, root, &x, &n)) return false;
  for (size_t i = 0; i < n; i++)
    if (fabs(x[i]) > u->room) return false;
  return true;
}

/* A constant bias dequantised by the product of both scales: its levels; else NULL. */
static Value *bias_levels(Builder *b, Value *bias, const Units *u) {
  Quant q;
  const double *scale;
  size_t n;
  if (!quant_is_dequantise(bias, &q) || q.to != DT_s32 || (q.zero && !pass_is_zeros(q.zero))) return NULL;
  Value *root = pass_in_order(q.scale);
  if (!root->data || !build_const_floats(b, root, &scale, &n) || (n != 1 && u->n != 1 && n != u->n)) return NULL;
  for (size_t i = 0; i < (n > u->n ? n : u->n); i++) {
    const double want = unit(u, i), off = fabs(scale[n == 1 ? 0 : i] - want);
    if (!(off <= want * 1e-6)) return NULL; /* a few units in the last place of f32 */
  }
  return has_room(b, q.x, u) ? q.x : NULL;
}

/* A constant bias that is whole in units of the product of both scales, up to the rounding of f32; else NULL. */
static Value *bias_whole(Builder *b, Value *bias, const Units *u) {
  const double *x;
  size_t n;
  Value *root = pass_in_order(bias);
  if (!root->data || !build_const_floats(b, root, &x, &n) || n == 0 || (u->n != 1 && u->n != n)) return NULL;
  int32_t *levels = NEW_ARRAY(b->ir->arena, int32_t, n);
  for (size_t i = 0; i < n; i++) {
    const double q = x[i] / unit(u, i);
    if (!(fabs(q) <= u->room)) return NULL;
    levels[i] = (int32_t)(q < 0 ? q - 0.5 : q + 0.5);
    if (fabs(q - levels[i]) > 1e-3 + fabs(q) * 0x1p-22) return NULL;
  }
  const int64_t dims = (int64_t)n;
  return build_tensor(b, DT_s32, 1, &dims, levels);
}

/* The bias as levels of the sums, where it is given so and fits them; else NULL. */
static Value *integer_bias(Builder *b, Value *bias, const Levels *x, const Levels *w, int64_t depth) {
  Units u;
  if (bias->type.rank != 1 || !units_of(b, x, w, depth, &u)) return NULL;
  Value *v = bias_levels(b, bias, &u);
  return v ? v : bias_whole(b, bias, &u);
}

/* Products of a sum, -1 where they are too many. */
static int64_t depth_of(const Value *w) {
  int64_t depth = 1, d;
  for (uint32_t a = 1; a < w->type.rank; a++) {
    if (!dim_is_const(w->type.dims[a], &d) || d > MAX_DEPTH || (depth *= d) > MAX_DEPTH) return -1;
  }
  return depth;
}

static bool quantised_conv(Builder *b, const Node *n, Value **ret) {
  ConvAttr attr = *(const ConvAttr *)n->attr;
  Value *bias = n->n_in > 2 ? n->in[2] : NULL;
  const int64_t depth = depth_of(n->in[1]);
  Levels x, w;
  if (n->n_in > 3 || n->out[0]->type.dtype != DT_f32 || attr.n_spatial < 1 || attr.n_spatial > 3 || depth < 0) return false;
  if (!find_levels(b, n->in[0], 0, &x) || x.axis >= 0 || !find_levels(b, n->in[1], 0, &w) || w.axis > 0) return false;
  if (!scales_multiply(b, x.scale, w.scale)) return false;
  Value *whole = bias ? integer_bias(b, bias, &x, &w, depth) : NULL;
  attr.acc = DT_s32;
  Value *sums = build_conv(b, x.x, w.x, whole, nonzero(x.zero), nonzero(w.zero), attr);
  Value *y = scaled(b, sums, x.scale, w.scale, attr.n_spatial);
  if (bias && !whole) y = build_fn2(b, SC_add, y, raised(b, bias, attr.n_spatial));
  ret[0] = y;
  return y != NULL;
}

/* ---- products ---- */
static bool in_labels(const uint8_t *labels, uint32_t n, uint8_t label) { return n && memchr(labels, label, n); }

/* How many axes of the result stand behind the one that w's scale walks along; false where that axis is summed. */
static bool scale_place(const ContractAttr *attr, const Type *out, const Levels *w, uint32_t *ret_behind) {
  *ret_behind = 0;
  if (w->axis < 0) return true;
  for (uint32_t i = 0; i < out->rank; i++) {
    if (attr->out[i] != attr->b[w->axis]) continue;
    *ret_behind = out->rank - 1 - i;
    return true;
  }
  return false;
}

static bool contract_shallow(const ContractAttr *attr, const Value *x, uint32_t out_rank) {
  int64_t depth = 1, d;
  for (uint32_t a = 0; a < x->type.rank; a++) {
    if (in_labels(attr->out, out_rank, attr->a[a])) continue;
    if (!dim_is_const(x->type.dims[a], &d) || d > MAX_DEPTH || (depth *= d) > MAX_DEPTH) return false;
  }
  return true;
}

static bool quantised_contract(Builder *b, const Node *n, Value **ret) {
  const ContractAttr *attr = n->attr;
  const Type *out = &n->out[0]->type;
  Levels x, w;
  uint32_t behind;
  if (n->n_in > 2 || out->dtype != DT_f32 || !contract_shallow(attr, n->in[0], out->rank)) return false;
  if (!find_levels(b, n->in[0], 0, &x) || x.axis >= 0 || !find_levels(b, n->in[1], 0, &w) || !scale_place(attr, out, &w, &behind)) return false;
  if (!scales_multiply(b, x.scale, w.scale)) return false;
  Value *zero_w = nonzero(w.zero);
  if (zero_w && zero_w->type.rank && w.axis != (int)w.x->type.rank - 1) return false;
  Value *sums = build_contract(b, x.x, attr->a, w.x, attr->b, attr->out, out->rank, DT_s32, nonzero(x.zero), zero_w);
  ret[0] = scaled(b, sums, x.scale, w.scale, behind);
  return ret[0] != NULL;
}

static bool quantise_products(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  if (n->op == OP_CONV) return quantised_conv(b, n, ret);
  return n->op == OP_CONTRACT && quantised_contract(b, n, ret);
}

/* ---- one factor ---- */
typedef struct Join { const uint32_t *uses; uint32_t n; } Join;

static bool used_once(const Join *j, const Value *v) { return v->id < j->n && j->uses[v->id] == 1; }

/* fn(x, y) of two operands as they are. */
static bool is_binary(const Value *v, ScalarFn *ret) {
  if (!v->def || v->def->op != OP_POINTWISE || v->def->n_in != 2) return false;
  const Expr *e = &((const PointwiseAttr *)v->def->attr)->expr;
  if (e->n != 3 || e->nodes[2].kind != EXPR_FN || e->nodes[2].args[0] != 0 || e->nodes[2].args[1] != 1) return false;
  if (e->nodes[0].kind != EXPR_INPUT || e->nodes[0].operand != 0 || e->nodes[1].kind != EXPR_INPUT || e->nodes[1].operand != 1) return false;
  *ret = e->nodes[2].fn;
  return true;
}

static bool is_sums(const Value *v) { /* of an integer kernel, as f32 */
  if (!v->def || v->def->op != OP_POINTWISE || v->def->n_in != 1) return false;
  const Expr *e = &((const PointwiseAttr *)v->def->attr)->expr;
  const Value *x = v->def->in[0];
  if (e->n != 2 || e->nodes[1].kind != EXPR_CAST || x->type.dtype != DT_s32 || v->type.dtype != DT_f32 || !x->def) return false;
  return x->def->op == OP_CONTRACT || x->def->op == OP_CONV;
}

enum { MAX_CHAIN = 4 };

typedef struct ScaledChain { /* ((sums * factor) op0 k0) op1 k1 ... */
  Value *sums, *factor;
  struct { ScalarFn fn; Value *k; } op[MAX_CHAIN];
  uint32_t n;
} ScaledChain;

/* From the result back to the sums; each step's other operand is a constant. */
static bool find_chain(const Join *j, Value *v, ScaledChain *ret) {
  ScalarFn fn;
  for (ret->n = 0; used_once(j, v) && is_binary(v, &fn); ret->n++) {
    Value *x = v->def->in[0], *k = v->def->in[1];
    if (fn == SC_mul && is_sums(x)) {
      ret->sums = x;
      ret->factor = k;
      return is_constant(k) || (k->def && k->def->op == OP_POINTWISE);
    }
    if (ret->n == MAX_CHAIN || (fn != SC_add && fn != SC_max && fn != SC_min) || !is_constant(k)) return false;
    ret->op[ret->n].fn = fn;
    ret->op[ret->n].k = k;
    v = x;
  }
  return false;
}

static bool is_positive(Builder *b, Value *v) {
  const double *x;
  size_t n;
  v = root_of(v);
  if (!v->data || !build_const_floats(b, v, &x, &n) || n != 1) return false;
  return x[0] > 0 && x[0] - x[0] == 0;
}

/* False where factor / scale leaves f32's normal numbers, or what is added overflows: bounds that do are none for levels either. The factor is a constant
 * or the product of two. */
static bool scale_divides(Builder *b, const ScaledChain *chain, Value *scale) {
  Magnitudes f, x = {1, 1}, s, k;
  ScalarFn fn;
  Value *factor = root_of(chain->factor);
  if (!magnitudes_of(b, scale, &s)) return true;
  for (uint32_t i = 0; i < chain->n; i++)
    if (chain->op[i].fn == SC_add && magnitudes_of(b, chain->op[i].k, &k) && !(k.most / s.least <= FLT_MAX)) return false;
  if (is_binary(factor, &fn) && fn == SC_mul) {
    if (!magnitudes_of(b, factor->def->in[0], &x)) return true;
    factor = factor->def->in[1];
  }
  return !magnitudes_of(b, factor, &f) || are_normal(x.least * f.least / s.most, x.most * f.most / s.least);
}

/* quantise(chain, scale) with the scale taken into the factor and the constants behind it. */
static bool join_scales(Builder *b, const Node *n, Value **ret, void *user) {
  Quant q;
  ScaledChain chain;
  if (n->op != OP_POINTWISE || !quant_is_quantise(n->out[0], &q) || !q.scale) return false;
  Value *scale = q.scale->type.rank ? NULL : q.scale;
  if (!scale || !is_positive(b, scale) || !find_chain(user, q.x, &chain) || !scale_divides(b, &chain, scale)) return false;
  Value *y = build_fn2(b, SC_mul, chain.sums, build_fn2(b, SC_div, chain.factor, scale));
  for (uint32_t i = chain.n; y && i-- > 0;) y = build_fn2(b, chain.op[i].fn, y, build_fn2(b, SC_div, chain.op[i].k, scale));
  ret[0] = build_quantise(b, y, NULL, q.zero, q.to);
  return ret[0] != NULL;
}

bool pass_quantise(Ir *ir) {
  if (!pass_rewrite(ir, quantise_products, NULL)) return true;
  (void)pass_simplify(ir);
  uint32_t *uses = NEW_ARRAY(ir->arena, uint32_t, ir->n_values);
  pass_count_uses(ir->main, uses);
  Join j = {uses, ir->n_values};
  (void)pass_rewrite(ir, join_scales, &j);
  return pass_simplify(ir);
}
