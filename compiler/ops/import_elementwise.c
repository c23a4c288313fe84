/* Element-wise operators: one scalar function, or a few joined by the builder. */
#include "ops/shared.h"

#include <math.h>

static bool give(OpContext *c, Value *v) {
  c->out[0] = v;
  return v != NULL;
}

/* A constant of the operand's own type. */
static Value *like(OpContext *c, const Value *x, double v) {
  return dtype_is_float(x->type.dtype) ? build_scalar_f(&c->b, x->type.dtype, v) : build_scalar_i(&c->b, x->type.dtype, (int64_t)v);
}

bool import_fn1(OpContext *c) { return give(c, build_fn1(&c->b, (ScalarFn)c->row->arg, c->in[0])); }

bool import_erf(OpContext *c) {
  if (dtype_is_float(op_dtype(c, 0))) return give(c, build_fn1(&c->b, SC_erf, c->in[0]));
  Value *y = build_fn1(&c->b, SC_erf, build_cast(&c->b, c->in[0], DT_f64, true));
  return give(c, build_cast(&c->b, y, op_dtype(c, 0), true));
}

bool import_isinf(OpContext *c) {
  bool neg = op_int(c, "detect_negative", 1) != 0, pos = op_int(c, "detect_positive", 1) != 0;
  Value *x = c->in[0];
  if (neg && pos) return give(c, build_fn1(&c->b, SC_isinf, x));
  if (pos) return give(c, build_fn1(&c->b, SC_isposinf, x));
  if (neg) return give(c, build_fn1(&c->b, SC_isneginf, x));
  return give(c, build_expand(&c->b, build_scalar_i(&c->b, DT_b1, 0), x->type.rank, x->type.dims));
}

/* ---- activations (the formulas are those of the specification's function bodies) ---- */
bool import_relu(OpContext *c) { return give(c, build_fn2(&c->b, SC_max, c->in[0], like(c, c->in[0], 0))); }

static Value *where_positive(OpContext *c, Value *x, Value *yes, Value *no) {
  return build_fn3(&c->b, SC_select, build_fn2(&c->b, SC_gt, x, like(c, x, 0)), yes, no);
}

bool import_leaky_relu(OpContext *c) {
  Value *x = c->in[0], *scaled = build_fn2(&c->b, SC_mul, x, like(c, x, (double)op_float(c, "alpha", 0.01f)));
  return give(c, build_fn3(&c->b, SC_select, build_fn2(&c->b, SC_lt, x, like(c, x, 0)), scaled, x));
}

/* Opset 1 to 6: a slope of one axis belongs to axis 1. */
static Value *prelu_slope(OpContext *c) {
  Value *s = c->in[1];
  uint32_t rank = op_rank(c, 0);
  if (c->version >= 7 || s->type.rank != 1 || rank < 2 || dim_is(s->type.dims[0], 1)) return s;
  return build_unsqueeze(&c->b, s, ((1u << (rank - 1)) - 1) & ~1u);
}

bool import_prelu(OpContext *c) {
  Value *x = c->in[0], *scaled = build_fn2(&c->b, SC_mul, x, prelu_slope(c));
  return give(c, build_fn3(&c->b, SC_select, build_fn2(&c->b, SC_lt, x, like(c, x, 0)), scaled, x));
}

/* What an operator of several steps computes an f32 in: f64, so that the result is rounded once, by `narrowed`. Other types round after each step. */
static Value *widened(OpContext *c, Value *x) { return x->type.dtype == DT_f32 ? build_cast(&c->b, x, DT_f64, true) : x; }

static Value *narrowed(OpContext *c, Value *y, const Value *x) {
  return y && y->type.dtype != x->type.dtype ? build_cast(&c->b, y, x->type.dtype, true) : y;
}

/* alpha * (exp(x / divisor) - 1) * gamma */
static Value *exp_branch(OpContext *c, Value *x, double alpha, double divisor, double gamma) {
  if (alpha == 1.0 && divisor == 1.0 && gamma == 1.0) return build_fn1(&c->b, SC_expm1, x);
  Value *e = widened(c, x);
  if (divisor != 1.0) e = build_fn2(&c->b, SC_div, e, like(c, e, divisor));
  e = build_fn1(&c->b, SC_expm1, e);
  if (alpha != 1.0) e = build_fn2(&c->b, SC_mul, e, like(c, e, alpha));
  if (gamma != 1.0) e = build_fn2(&c->b, SC_mul, e, like(c, e, gamma));
  return narrowed(c, e, x);
}

bool import_elu(OpContext *c) {
  return give(c, where_positive(c, c->in[0], c->in[0], exp_branch(c, c->in[0], (double)op_float(c, "alpha", 1.0f), 1.0, 1.0)));
}

bool import_celu(OpContext *c) {
  double alpha = (double)op_float(c, "alpha", 1.0f);
  return give(c, where_positive(c, c->in[0], c->in[0], exp_branch(c, c->in[0], alpha, alpha, 1.0)));
}

bool import_selu(OpContext *c) {
  bool old = c->version < 6;
  double alpha = (double)op_float(c, "alpha", old ? 1.6732f : 1.67326319217681884765625f), gamma = (double)op_float(c, "gamma", old ? 1.0507f : 1.05070102214813232421875f);
  Value *x = c->in[0], *linear = build_fn2(&c->b, SC_mul, x, like(c, x, gamma));
  return give(c, where_positive(c, x, linear, exp_branch(c, x, alpha, 1.0, gamma)));
}

static Value *hard_sigmoid(OpContext *c, Value *x, double alpha, double beta) {
  Value *y = build_fn2(&c->b, SC_add, build_fn2(&c->b, SC_mul, x, like(c, x, alpha)), like(c, x, beta));
  return build_fn2(&c->b, SC_min, build_fn2(&c->b, SC_max, y, like(c, x, 0)), like(c, x, 1));
}

bool import_hard_sigmoid(OpContext *c) {
  return give(c, hard_sigmoid(c, c->in[0], (double)op_float(c, "alpha", 0.2f), (double)op_float(c, "beta", 0.5f)));
}

bool import_hard_swish(OpContext *c) {
  return give(c, build_fn2(&c->b, SC_mul, c->in[0], hard_sigmoid(c, c->in[0], 1.0 / 6.0, 0.5)));
}

bool import_thresholded_relu(OpContext *c) {
  Value *x = c->in[0], *above = build_fn2(&c->b, SC_gt, x, like(c, x, (double)op_float(c, "alpha", 1.0f)));
  return give(c, build_fn3(&c->b, SC_select, above, x, like(c, x, 0)));
}

/* arg 1: the tanh form. A second operand is a bias added before. */
bool import_gelu(OpContext *c) {
  Value *x = c->in[0];
  if (c->in[1]) x = build_fn2(&c->b, SC_add, x, c->in[1]);
  Str form = op_str(c, "approximate", "none");
  if (!str_is(form, "none") && !str_is(form, "tanh")) return op_fail(c, DIAG_E0304, "approximate is neither none nor tanh");
  return give(c, build_fn1(&c->b, c->row->arg == 1 || str_is(form, "tanh") ? SC_gelu_tanh : SC_gelu, x));
}

/* x * sigmoid(alpha * x), which is silu(alpha * x) / alpha; arg 1: com.microsoft's default of alpha */
bool import_swish(OpContext *c) {
  Value *x = c->in[0];
  double alpha = (double)op_float(c, "alpha", c->row->arg == 1 ? 1.702f : 1.0f);
  if (x->type.dtype == DT_f32 && alpha != 1.0 && alpha != 0.0) {
    Value *wide = widened(c, x), *by = like(c, wide, alpha);
    Value *y = build_fn1(&c->b, SC_silu, build_fn2(&c->b, SC_mul, wide, by));
    return give(c, narrowed(c, build_fn2(&c->b, SC_div, y, by), x));
  }
  if (alpha == 1.0) return give(c, build_fn1(&c->b, SC_silu, x));
  return give(c, build_fn2(&c->b, SC_mul, x, build_fn1(&c->b, SC_sigmoid, build_fn2(&c->b, SC_mul, x, like(c, x, alpha)))));
}

/* Swish of the first operand, times the second: no broadcasting. */
bool import_swiglu(OpContext *c) {
  if (op_rank(c, 0) != op_rank(c, 1)) return op_fail(c, DIAG_E0402, "the operands' shapes differ");
  for (uint32_t i = 0; i < op_rank(c, 0); i++)
    if (!ir_require_eq(c->b.ir, op_dim(c, 0, i), op_dim(c, 1, i))) return op_fail(c, DIAG_E0402, "the operands' shapes differ");
  return import_swish(c) && give(c, build_fn2(&c->b, SC_mul, c->out[0], c->in[1]));
}

bool import_shrink(OpContext *c) {
  Value *x = c->in[0], *lambd = like(c, x, (double)op_float(c, "lambd", 0.5f)), *bias = like(c, x, (double)op_float(c, "bias", 0.0f));
  Value *low = build_fn2(&c->b, SC_lt, x, build_fn1(&c->b, SC_neg, lambd)), *high = build_fn2(&c->b, SC_gt, x, lambd);
  if (dtype_rows[x->type.dtype].kind == KIND_U) low = build_scalar_i(&c->b, DT_b1, 0);
  Value *inner = build_fn3(&c->b, SC_select, high, build_fn2(&c->b, SC_sub, x, bias), like(c, x, 0));
  return give(c, build_fn3(&c->b, SC_select, low, build_fn2(&c->b, SC_add, x, bias), inner));
}

/* Whether the value of a bound of Clip is known, and then whether it is a bound: a NaN is none, as the standard's function body has it (Less, Where). */
static bool is_known_bound(OpContext *c, Value *v, bool *ret_is_bound) {
  const double *known;
  size_t n;
  *ret_is_bound = v != NULL;
  if (!v || !dtype_is_float(v->type.dtype)) return true;
  if (!build_const_floats(&c->b, v, &known, &n) || n != 1) return false;
  *ret_is_bound = known[0] == known[0];
  return true;
}

bool import_clip(OpContext *c) {
  Value *x = c->in[0], *lo = c->in[1], *hi = c->in[2];
  if (op_has_attr(c, "min")) lo = like(c, x, (double)op_float(c, "min", 0));
  if (op_has_attr(c, "max")) hi = like(c, x, (double)op_float(c, "max", 0));
  if (lo && c->in[1] && type_count(c->b.ir, &lo->type)->lo != 1) return op_fail(c, DIAG_E0402, "min is not a scalar");
  if (hi && c->in[2] && type_count(c->b.ir, &hi->type)->lo != 1) return op_fail(c, DIAG_E0402, "max is not a scalar");
  if (lo && lo->type.rank) lo = build_reshape(&c->b, lo, 0, NULL);
  if (hi && hi->type.rank) hi = build_reshape(&c->b, hi, 0, NULL);
  bool has_lo, has_hi;
  const bool known = is_known_bound(c, lo, &has_lo), both = is_known_bound(c, hi, &has_hi) && known;
  if (!both) return give(c, build_fn3(&c->b, SC_clip, x, lo ? lo : like(c, x, -INFINITY), hi ? hi : like(c, x, INFINITY)));
  Value *y = has_lo ? build_fn2(&c->b, SC_max, x, lo) : x;
  return give(c, has_hi ? build_fn2(&c->b, SC_min, y, hi) : y);
}

/* ---- two operands ---- */
/* Opset 1 to 6: the second operand's axes stand at `axis`, or at the end. */
static bool legacy_broadcast(OpContext *c, Value **ret_y) {
  Value *y = c->in[1];
  *ret_y = y;
  if (c->version >= 7) return op_has_attr(c, "broadcast") || op_has_attr(c, "axis") ? op_fail(c, DIAG_E0304, "attributes of opset 6") : true;
  uint32_t rank = op_rank(c, 0), start;
  if (!op_int(c, "broadcast", 0) || !op_has_attr(c, "axis") || y->type.rank == 0) return true;
  if (!op_axis(c, op_int(c, "axis", 0), rank, &start)) return false;
  if (start + y->type.rank > rank) return op_fail(c, DIAG_E0402, "the second operand reaches beyond the first");
  uint32_t behind = rank - start - y->type.rank;
  if (behind) *ret_y = build_unsqueeze(&c->b, y, ((1u << behind) - 1) << y->type.rank);
  return *ret_y != NULL;
}

bool import_fn2(OpContext *c) {
  Value *y;
  return legacy_broadcast(c, &y) && give(c, build_fn2(&c->b, (ScalarFn)c->row->arg, c->in[0], y));
}

bool import_bit_shift(OpContext *c) {
  Str d = op_str(c, "direction", "");
  if (!str_is(d, "LEFT") && !str_is(d, "RIGHT")) return op_fail(c, DIAG_E0304, "direction is neither LEFT nor RIGHT");
  return give(c, build_fn2(&c->b, str_is(d, "LEFT") ? SC_shl : SC_shr, c->in[0], c->in[1]));
}

bool import_mod(OpContext *c) {
  bool fmod = op_int(c, "fmod", 0) != 0;
  if (!fmod && c->version < 28 && dtype_is_float(op_dtype(c, 0))) return op_fail(c, DIAG_E0304, "fmod must be 1 for floating-point operands");
  return give(c, build_fn2(&c->b, fmod ? SC_fmod : SC_mod, c->in[0], c->in[1]));
}

/* Whether v is the one number `want`. */
static bool is_number(Builder *b, Value *v, int want) {
  const double *real;
  const int64_t *whole;
  size_t n;
  if (build_const_floats(b, v, &real, &n)) return n == 1 && real[0] == (double)want;
  return build_const_ints(b, v, &whole, &n) && n == 1 && whole[0] == want;
}

/* Whether exponents of an integer type are numbers of the base's: all are, or they are constants that are. */
static bool are_exact(Builder *b, DType base, Value *y) {
  const int64_t most = INT64_C(1) << (base == DT_bf16 ? 8 : base == DT_f16 ? 11 : base == DT_f32 ? 24 : 53), *known;
  size_t n;
  if (dtype_rows[y->type.dtype].bits <= 8 || (base == DT_f32 && dtype_rows[y->type.dtype].bits <= 16) || base == DT_f64) return true;
  if (!build_const_ints(b, y, &known, &n)) return false;
  for (size_t i = 0; i < n; i++)
    if (known[i] > most || known[i] < -most) return false;
  return true;
}

/* Computed in the wider of the two types when they differ. Squares and cubes are products: a square is rounded correctly, a cube twice, and is no less exact for that
 * where the square is subnormal or infinite, since it is 0 or infinite itself. */
bool import_pow(OpContext *c) {
  Value *x = c->in[0], *y;
  if (!legacy_broadcast(c, &y)) return false;
  DType tx = op_dtype(c, 0), ty = y->type.dtype, t = tx;
  if (tx != ty) {
    bool fx = dtype_is_float(tx), fy = dtype_is_float(ty);
    t = fx && fy ? (dtype_rows[tx].bits >= dtype_rows[ty].bits ? tx : ty) : fx ? (are_exact(&c->b, tx, y) ? tx : DT_f64) : fy ? (ty == DT_f64 || dtype_rows[tx].bits > 16 ? DT_f64 : ty) : DT_s64;
  }
  if (t == tx && dtype_is_float(t) && y->type.rank <= x->type.rank) {
    const bool cube = is_number(&c->b, y, 3);
    Value *square = cube || is_number(&c->b, y, 2) ? build_fn2(&c->b, SC_mul, x, x) : NULL;
    if (square) return give(c, cube ? build_fn2(&c->b, SC_mul, square, x) : square);
  }
  Value *p = build_fn2(&c->b, SC_pow, build_cast(&c->b, x, t, true), build_cast(&c->b, y, t, true));
  return give(c, build_cast(&c->b, p, tx, true));
}

bool import_where(OpContext *c) { return give(c, build_fn3(&c->b, SC_select, c->in[0], c->in[1], c->in[2])); }

bool import_variadic(OpContext *c) {
  Value *v = c->in[0];
  for (size_t k = 1; k < c->n_in; k++) v = build_fn2(&c->b, (ScalarFn)c->row->arg, v, c->in[k]);
  return give(c, v);
}

bool import_mean(OpContext *c) {
  Value *v = c->in[0];
  for (size_t k = 1; k < c->n_in; k++) v = build_fn2(&c->b, SC_add, v, c->in[k]);
  return give(c, v ? build_fn2(&c->b, SC_div, v, like(c, v, (double)c->n_in)) : NULL);
}

/* ---- types ---- */
/* Integers narrower than a byte keep the low bits of the number, as the standard's cases have it. */
static bool cast_saturates(const OpContext *c, DType to) {
  return !(dtype_is_int(to) && dtype_rows[to].bits < 8) && op_int(c, "saturate", 1) != 0;
}

static bool is_text_cast(DType from, DType to) {
  const bool both = from == DT_str && to == DT_str;
  return both || (from == DT_str && cast_exists(DT_f32, to)) || (to == DT_str && cast_exists(from, DT_f32));
}

/* x as the type `to`. Powers of two without mantissa have a rounding mode; x is brought to one of them first. */
static Value *cast_rounded(OpContext *c, Value *x, DType to) {
  const Str mode = op_str(c, "round_mode", "up");
  if (to == DT_f8e8m0 && !str_is(mode, "up")) {
    if (!str_is(mode, "down") && !str_is(mode, "nearest")) return (void)op_fail(c, DIAG_E0304, "attribute 'round_mode' is none of up, down, nearest"), NULL;
    x = build_fn1(&c->b, str_is(mode, "down") ? SC_pow2_down : SC_pow2_nearest, build_cast(&c->b, x, DT_f32, true));
  }
  return build_cast(&c->b, x, to, cast_saturates(c, to));
}

bool import_cast(OpContext *c) {
  DType to = DT_NONE;
  if (c->version < 6) { /* by name: "FLOAT", "INT64" ... as TensorProto.DataType spells them */
    static const struct { const char *name; DType t; } names[] = {
        {"FLOAT", DT_f32}, {"UINT8", DT_u8}, {"INT8", DT_s8}, {"UINT16", DT_u16}, {"INT16", DT_s16}, {"INT32", DT_s32}, {"INT64", DT_s64},
        {"BOOL", DT_b1}, {"FLOAT16", DT_f16}, {"DOUBLE", DT_f64}, {"UINT32", DT_u32}, {"UINT64", DT_u64}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (str_is(op_str(c, "to", ""), names[i].name)) to = names[i].t;
  } else {
    to = dtype_from_onnx(op_int(c, "to", 0));
  }
  if (to == DT_NONE) return op_fail(c, DIAG_E0304, "attribute \"to\" names no element type");
  if (is_text_cast(op_dtype(c, 0), to)) return give(c, op_cast_text(c, c->in[0], to));
  if (!cast_exists(op_dtype(c, 0), to)) return op_unsupported(c, "a cast from %s to %s", dtype_name(op_dtype(c, 0)), dtype_name(to));
  return give(c, cast_rounded(c, c->in[0], to));
}

bool import_cast_like(OpContext *c) {
  DType to = op_dtype(c, 1);
  if (is_text_cast(op_dtype(c, 0), to)) return give(c, op_cast_text(c, c->in[0], to));
  if (!cast_exists(op_dtype(c, 0), to)) return op_unsupported(c, "a cast from %s to %s", dtype_name(op_dtype(c, 0)), dtype_name(to));
  return give(c, cast_rounded(c, c->in[0], to));
}

/* Complex numbers are structures, whose bytes a routine copies; all else is an expression. */
bool import_bit_cast(OpContext *c) {
  const DType from = op_dtype(c, 0), to = dtype_from_onnx(op_int(c, "to", 0));
  if (to == DT_NONE || dtype_is_float6(to) || dtype_rows[from].bits != dtype_rows[to].bits) return op_fail(c, DIAG_E0304, "attribute \"to\" names no type of %u bits", dtype_rows[from].bits);
  if (from == to) return give(c, c->in[0]);
  if (bits_exist(from, to)) return give(c, build_bits(&c->b, c->in[0], to));
  const Type type = type_tensor(c->b.ir, to, op_rank(c, 0), c->in[0]->type.dims);
  Value *v;
  return op_routine(c, "cn_op_bits", c->in, 1, NULL, 0, NULL, &type, 1, &v) && give(c, v);
}
