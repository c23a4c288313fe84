/* ai.onnx.preview.training: one step of an optimiser on each of several tensors. Formulas as in docs/Operators-ml.md of ONNX. */
#include "ops/shared.h"

/* The operands of one tensor: inputs are R, T, all X, all G, then all of each state. */
typedef struct Optimised {
  Value *rate, *step, *x, *g, *state[2];
} Optimised;

static Value *scaled(OpContext *c, Value *x, double by) { return build_fn2(&c->b, SC_mul, x, op_scalar_like(c, x, by)); }
static Value *plus(OpContext *c, Value *x, Value *y) { return build_fn2(&c->b, SC_add, x, y); }
static Value *times(OpContext *c, Value *x, Value *y) { return build_fn2(&c->b, SC_mul, x, y); }

static Value *regularized(OpContext *c, const Optimised *o) {
  return plus(c, scaled(c, o->x, (double)op_float(c, "norm_coefficient", 0)), o->g);
}

/* x - rate * direction */
static Value *moved(OpContext *c, Value *x, Value *rate, Value *direction) {
  return build_fn2(&c->b, SC_sub, x, times(c, rate, direction));
}

/* `later` after the first step, `first` in it. */
static Value *by_step(OpContext *c, const Optimised *o, Value *later, Value *first) {
  Value *started = build_fn2(&c->b, SC_gt, o->step, build_scalar_i(&c->b, DT_s64, 0));
  return build_fn3(&c->b, SC_select, started, later, first);
}

static bool momentum(OpContext *c, const Optimised *o, Value **ret) {
  const double alpha = (double)op_float(c, "alpha", 0);
  const Str mode = op_str(c, "mode", "");
  Value *g = regularized(c, o), *beta = by_step(c, o, op_scalar_like(c, o->x, (double)op_float(c, "beta", 0)), op_scalar_like(c, o->x, 1));
  Value *v = plus(c, scaled(c, o->state[0], alpha), times(c, beta, g));
  if (!str_is(mode, "standard") && !str_is(mode, "nesterov")) return op_fail(c, DIAG_E0304, "attribute 'mode' is neither standard nor nesterov");
  ret[0] = moved(c, o->x, o->rate, str_is(mode, "nesterov") ? plus(c, g, scaled(c, v, alpha)) : v);
  ret[1] = v;
  return true;
}

static bool adagrad(OpContext *c, const Optimised *o, Value **ret) {
  Builder *b = &c->b;
  Value *decay = scaled(c, build_cast(b, o->step, o->x->type.dtype, true), (double)op_float(c, "decay_factor", 0));
  Value *rate = build_fn2(b, SC_div, o->rate, plus(c, decay, op_scalar_like(c, o->x, 1)));
  Value *g = regularized(c, o), *h = plus(c, o->state[0], times(c, g, g));
  Value *root = plus(c, build_fn1(b, SC_sqrt, h), op_scalar_like(c, o->x, (double)op_float(c, "epsilon", 1e-6f)));
  ret[0] = build_fn2(b, SC_sub, o->x, build_fn2(b, SC_div, times(c, rate, g), root));
  ret[1] = h;
  return true;
}

/* 1 - base ** step */
static Value *decayed(OpContext *c, const Optimised *o, double base) {
  Value *t = build_cast(&c->b, o->step, o->x->type.dtype, true);
  return build_fn2(&c->b, SC_sub, op_scalar_like(c, o->x, 1), build_fn2(&c->b, SC_pow, op_scalar_like(c, o->x, base), t));
}

static bool adam(OpContext *c, const Optimised *o, Value **ret) {
  Builder *b = &c->b;
  const double alpha = (double)op_float(c, "alpha", 0.9f), beta = (double)op_float(c, "beta", 0.999f);
  Value *g = regularized(c, o);
  Value *v = plus(c, scaled(c, o->state[0], alpha), scaled(c, g, 1 - alpha));
  Value *h = plus(c, scaled(c, o->state[1], beta), scaled(c, times(c, g, g), 1 - beta));
  Value *root = plus(c, build_fn1(b, SC_sqrt, h), op_scalar_like(c, o->x, (double)op_float(c, "epsilon", 1e-6f)));
  Value *corrected = build_fn2(b, SC_div, times(c, o->rate, build_fn1(b, SC_sqrt, decayed(c, o, beta))), decayed(c, o, alpha));
  Value *x = moved(c, o->x, by_step(c, o, corrected, o->rate), build_fn2(b, SC_div, v, root));
  ret[0] = scaled(c, x, 1 - (double)op_float(c, "norm_coefficient_post", 0));
  ret[1] = v;
  ret[2] = h;
  return true;
}

/* The row's argument: which. */
bool import_optimiser(OpContext *c) {
  static const struct { bool (*fn)(OpContext *, const Optimised *, Value **); size_t n_state; } kinds[] = {{adagrad, 1}, {adam, 2}, {momentum, 1}};
  const size_t n_state = kinds[c->row->arg].n_state, each = 2 + n_state, n = (c->n_in - 2) / each;
  if (c->n_in < 2 + each || n * each != c->n_in - 2 || c->n_out > n * (1 + n_state)) return op_fail(c, DIAG_E0305, "%zu inputs and %zu outputs", c->n_in, c->n_out);
  for (size_t k = 2; k < c->n_in; k++)
    if (!c->in[k]) return op_fail(c, DIAG_E0305, "input %zu is left out", k);
  for (size_t i = 0; i < n; i++) {
    Value **in = c->in + 2 + i, *ret[3] = {NULL};
    DType t = in[0]->type.dtype;
    Optimised o = {.rate = build_cast(&c->b, c->in[0], t, true), .step = c->in[1], .x = in[0], .g = in[n]};
    for (size_t k = 0; k < n_state; k++) o.state[k] = in[(2 + k) * n];
    if (!kinds[c->row->arg].fn(c, &o, ret)) return false;
    for (size_t k = 0; k <= n_state; k++)
      if (k * n + i < c->n_out && !op_give(c, k * n + i, ret[k])) return false;
  }
  return true;
}

/* ---- Gradient ---- */
/* The named variables and the values given for them, as the node of the graph wants them: all names, then all values. */
bool import_gradient(OpContext *c) {
  size_t n_xs, n_zs;
  const Str *xs = op_strs(c, "xs", &n_xs), *zs = op_strs(c, "zs", &n_zs);
  const size_t n = n_xs + n_zs;
  if (n != c->n_in || c->n_out > n_xs) return op_fail(c, DIAG_E0305, "%zu inputs and %zu outputs for %zu variables", c->n_in, c->n_out, n);
  Value **in = NEW_ARRAY(op_arena(c), Value *, 1 + 2 * n);
  Type *types = NEW_ARRAY(op_arena(c), Type, n);
  if (!(in[0] = op_named(c, op_str(c, "y", "")))) return false;
  for (size_t k = 0; k < n; k++) {
    const Value *named = in[1 + k] = op_named(c, k < n_xs ? xs[k] : zs[k - n_xs]);
    const Value *given = in[1 + n + k] = op_in(c, k);
    if (!named || !given) return false;
    if (named->type.kind != TYPE_TENSOR || named->type.dtype != given->type.dtype || (k < n_xs && !dtype_is_float(named->type.dtype)))
      return op_fail(c, DIAG_E0401, "input %zu and the variable that it is given for are no tensors of one type with a gradient", k);
    bool same = named->type.rank == given->type.rank;
    for (uint32_t i = 0; same && i < named->type.rank; i++) same = ir_require_eq(c->b.ir, named->type.dims[i], given->type.dims[i]);
    if (!same) return op_fail(c, DIAG_E0402, "input %zu has shape %s, its variable %s", k, op_shape(c, k), build_shape_text(&c->b, in[1 + k]));
    types[k] = given->type;
  }
  if (in[0]->type.kind != TYPE_TENSOR || !dtype_is_float(in[0]->type.dtype)) return op_fail(c, DIAG_E0401, "attribute 'y' names no tensor of floats");
  GradientAttr *attr = NEW(op_arena(c), GradientAttr);
  attr->n_xs = (uint32_t)n_xs;
  const Node *node = graph_add_node(c->b.graph, OP_GRADIENT, in, 1 + 2 * n, types, n_xs, attr, c->b.place);
  for (size_t k = 0; k < c->n_out; k++) c->out[k] = node->out[k];
  return true;
}
