/* Point-wise expressions over content known at import time. Constants go through the scalar functions that generated
 * code uses; dimension expressions through dimension arithmetic, as far as that is exact. */
#include "ir/build_priv.h"

/* One scalar: d / den for integers, bools (den is 1) and floats that sizes went into, as exporters compute floor(n *
 * 0.5); else the bits of a float constant in its compute type. Floats are such that content_holds: exact, but for
 * quotients by another number than a power of two, which are rounded: their floor and ceiling are exact, no more. */
typedef struct Known {
  bool known;
  const Dim *d;
  int64_t den; /* above 0 */
  uint64_t bits;
} Known;

static Known known_dim(const Dim *d) { return (Known){.known = d && !dim_is_bad(d), .d = d, .den = 1}; }
static Known known_bits(uint64_t bits) { return (Known){.known = true, .bits = bits}; }

/* ---- between content and bits ---- */
static bool double_to_bits(DType t, double d, uint64_t *ret) {
  const float f = (float)d;
  uint32_t w;
  *ret = 0;
  if (dtype_compute(t) == DT_f64) {
    memcpy(ret, &d, sizeof d);
    return true;
  }
  memcpy(&w, &f, sizeof f);
  *ret = w;
  return true;
}

static double bits_to_double(DType t, uint64_t bits) {
  double d;
  float f;
  const uint32_t w = (uint32_t)bits;
  if (dtype_compute(t) == DT_f64) {
    memcpy(&d, &bits, sizeof d);
    return d;
  }
  memcpy(&f, &w, sizeof f);
  return (double)f;
}

static bool known_to_bits(Known k, DType t, uint64_t *ret) {
  if (!k.d) {
    *ret = k.bits;
    return k.known;
  }
  int64_t v;
  if (!k.known || !dim_is_const(k.d, &v)) return false;
  if (dtype_is_float(t)) return double_to_bits(t, (double)v / (double)k.den, ret);
  const unsigned bits = dtype_rows[dtype_compute(t)].bits;
  *ret = bits < 64 ? (uint64_t)v & (((uint64_t)1 << bits) - 1) : (uint64_t)v;
  return true;
}

static Known known_from_bits(Builder *b, DType t, uint64_t bits) {
  const DTypeRow *r = &dtype_rows[dtype_compute(t)];
  if (r->kind == KIND_F) return known_bits(bits);
  int64_t v = (int64_t)bits;
  if (r->kind == KIND_S && r->bits < 64) v = (int64_t)(bits << (64 - r->bits)) >> (64 - r->bits);
  if (r->kind == KIND_U && r->bits == 64 && v < 0) return (Known){0};
  return known_dim(bd_const(b, v));
}

/* An element of a float constant, as the bits of its compute type. */
static Known known_element(Builder *b, Value *v, size_t k) {
  size_t n;
  const Dim *const *content = build_content(b, v, &n);
  if (content) return known_dim(content[k]);
  if (v->fraction) return (Known){.known = true, .d = v->fraction[k], .den = v->denominator};
  if (!v->data || !v->data->bytes || dtype_rows[v->type.dtype].kind != KIND_F) return (Known){0};
  uint64_t bits;
  (void)double_to_bits(v->type.dtype, tensor_real(v->data, k), &bits);
  return known_bits(bits);
}

/* ---- constants: through the scalar functions ---- */
/* The bits as an object of the compute type in memory, and back. */
typedef union Cell {
  uint64_t u64;
  uint32_t u32;
  uint16_t u16;
  uint8_t u8;
} Cell;

static Cell cell_of(unsigned bits, uint64_t v) {
  Cell c = {.u64 = 0};
  if (bits == 64) c.u64 = v;
  else if (bits == 32) c.u32 = (uint32_t)v;
  else if (bits == 16) c.u16 = (uint16_t)v;
  else c.u8 = (uint8_t)v;
  return c;
}

static uint64_t cell_bits(unsigned bits, Cell c) {
  return bits == 64 ? c.u64 : bits == 32 ? c.u32 : bits == 16 ? c.u16 : c.u8;
}

static bool is_real(DType t) {
  const DTypeKind k = dtype_rows[t].kind;
  return k == KIND_F || k == KIND_S || k == KIND_U || k == KIND_B;
}

/* Converts between element types held in their compute types, rounding to `to` where that is narrower. */
static Known cast_constant(Builder *b, DType from, DType to, bool saturate, uint64_t bits) {
  const DType cf = dtype_compute(from), ct = dtype_compute(to);
  const Cell in = cell_of(dtype_rows[cf].bits, bits);
  Cell narrow = {.u64 = 0}, out = {.u64 = 0};
  cast_eval_strip(cf, to, saturate, &in, &narrow, 1);
  if (ct == to) out = narrow;
  else cast_eval_strip(to, ct, saturate, &narrow, &out, 1);
  return known_from_bits(b, to, cell_bits(dtype_rows[ct].bits, out));
}

static Known fn_constant(Builder *b, const Expr *e, const ExprNode *n, const Known *arg) {
  const unsigned arity = scalar_rows[n->fn].arity;
  const DType t = dtype_compute(expr_fn_type(e, n));
  Cell in[3], out = {.u64 = 0};
  const void *p[3] = {&in[0], &in[1], &in[2]};
  for (unsigned i = 0; i < arity; i++) {
    const DType at = e->nodes[n->args[i]].type;
    uint64_t bits;
    if (!known_to_bits(arg[i], at, &bits)) return (Known){0};
    in[i] = cell_of(dtype_rows[dtype_compute(at)].bits, bits);
  }
  scalar_eval_strip(n->fn, t, p, &out, 1);
  const DType r = scalar_result(n->fn, t);
  const Known exact = known_from_bits(b, r, cell_bits(dtype_rows[r].bits, out));
  uint64_t bits;
  if (n->type == r || !known_to_bits(exact, r, &bits)) return exact;
  return cast_constant(b, r, n->type, true, bits); /* f16 and its like: rounded after each operation */
}

/* ---- dimension expressions ---- */
static Known truth(Builder *b, int three_valued) {
  return three_valued < 0 ? (Known){0} : known_dim(bd_const(b, three_valued));
}

static Known held_by(DType t, Known k) { return k.known && k.d && !content_holds(t, k.d, k.den) ? (Known){0} : k; }

static Known fn_symbolic(Builder *b, ScalarFn fn, const Known *arg) {
  DimCtx *c = b->ir->dims;
  const Dim *x = arg[0].d, *y = arg[1].d;
  const bool whole = x && x->lo >= 0 && y && y->lo > 0; /* truncation and floor agree */
  switch (fn) {
    case SC_add: return known_dim(dim_add(c, x, y));
    case SC_sub: return known_dim(dim_sub(c, x, y));
    case SC_mul: return known_dim(dim_mul(c, x, y));
    case SC_div: return whole ? known_dim(dim_floordiv(c, x, y)) : (Known){0};
    case SC_mod: return whole ? known_dim(dim_mod(c, x, y)) : (Known){0};
    case SC_min: return known_dim(dim_min(c, x, y));
    case SC_max: return known_dim(dim_max(c, x, y));
    case SC_neg: return known_dim(dim_sub(c, c->zero, x));
    case SC_abs: return x->lo >= 0 ? arg[0] : known_dim(dim_max(c, x, dim_sub(c, c->zero, x)));
    case SC_eq: return truth(b, dim_eq(c, x, y));
    case SC_lt: return truth(b, dim_lt(c, x, y));
    case SC_le: return truth(b, dim_le(c, x, y));
    case SC_gt: return truth(b, dim_lt(c, y, x));
    case SC_ge: return truth(b, dim_le(c, y, x));
    default: return (Known){0};
  }
}

static bool is_rounded(int64_t den) { return (den & (den - 1)) != 0; }

/* A float constant as a fraction with a denominator that is a power of two; false when it is none of small size. */
static bool as_fraction(DType t, Known k, const Dim **ret_d, int64_t *ret_den, DimCtx *c) {
  if (k.d) {
    const bool whole = is_rounded(k.den) && dim_is(dim_mod(c, k.d, dim_const(c, k.den)), 0);
    *ret_d = whole ? dim_floordiv(c, k.d, dim_const(c, k.den)) : k.d;
    *ret_den = whole ? 1 : k.den;
    return true;
  }
  const double v = bits_to_double(t, k.bits);
  for (int64_t den = 1; den <= 1 << 16; den *= 2) {
    const double n = v * (double)den;
    if (!(n >= -1e9 && n <= 1e9)) return false;
    if (n != (double)(int64_t)n) continue;
    *ret_d = dim_const(c, (int64_t)n);
    *ret_den = den;
    return true;
  }
  return false;
}

static Known fraction(const Dim *d, int64_t den) {
  Known k = known_dim(d);
  k.den = den;
  return k;
}

/* Functions of floats that sizes went into. */
static Known fn_fraction(Builder *b, ScalarFn fn, DType t, const Known *arg) {
  DimCtx *c = b->ir->dims;
  const Dim *x, *y = c->one, *over;
  int64_t xd, yd = 1, den, by;
  const bool two = scalar_rows[fn].arity == 2;
  if (scalar_rows[fn].arity == 3 || !as_fraction(t, arg[0], &x, &xd, c) || (two && !as_fraction(t, arg[1], &y, &yd, c)))
    return (Known){0};
  switch (fn) {
    case SC_floor: return known_dim(dim_floordiv(c, x, dim_const(c, xd)));
    case SC_ceil: return known_dim(dim_ceildiv(c, x, dim_const(c, xd)));
    default: break;
  }
  if (is_rounded(xd) || is_rounded(yd)) return (Known){0};
  switch (fn) {
    case SC_round:
    case SC_trunc: return xd == 1 ? known_dim(x) : (Known){0};
    case SC_mul: return i64_mul(xd, yd, &den) && den <= INT32_MAX ? fraction(dim_mul(c, x, y), den) : (Known){0};
    case SC_div:
      over = dim_mulc(c, x, yd);
      return dim_is_const(y, &by) && by > 0 && i64_mul(xd, by, &den) && den <= INT32_MAX ? fraction(over, den)
                                                                                         : (Known){0};
    default: break;
  }
  if (xd != 1 || yd != 1) return (Known){0};
  const Known whole[2] = {known_dim(x), known_dim(y)};
  return fn_symbolic(b, fn, whole);
}

/* ---- evaluation ---- */
static Known select_known(const Known *arg) {
  int64_t v;
  return dim_is_const(arg[0].d, &v) ? arg[v ? 1 : 2] : (Known){0};
}

static Known eval_fn(Builder *b, const Expr *e, const ExprNode *n, const Known *at) {
  Known arg[3] = {{0}};
  const DType t = expr_fn_type(e, n);
  bool constant = true, known = true;
  for (unsigned i = 0; i < scalar_rows[n->fn].arity; i++) {
    arg[i] = at[n->args[i]];
    if (n->fn == SC_select && i == 0 && !arg[0].known) return (Known){0};
    constant &= arg[i].known && (!arg[i].d || arg[i].d->kind == DIM_CONST);
    known &= arg[i].known;
  }
  if (constant) return fn_constant(b, e, n, arg);
  if (n->fn == SC_select) return select_known(arg);
  if (!known) return (Known){0};
  if (dtype_is_float(t)) return t == DT_f32 || t == DT_f64 ? held_by(n->type, fn_fraction(b, n->fn, t, arg)) : (Known){0};
  return held_by(n->type, fn_symbolic(b, n->fn, arg));
}

static Known eval_cast(Builder *b, const Expr *e, const ExprNode *n, Known x) {
  const DType from = e->nodes[n->args[0]].type;
  uint64_t bits;
  if (!x.known) return x;
  if (known_to_bits(x, from, &bits)) return cast_constant(b, from, n->type, n->saturate, bits);
  const bool int_in = from == DT_s64 || from == DT_s32, int_out = n->type == DT_s64 || n->type == DT_s32;
  const bool float_in = from == DT_f32 || from == DT_f64, float_out = n->type == DT_f32 || n->type == DT_f64;
  if ((!int_in && !float_in) || (!int_out && !float_out)) return (Known){0};
  if (int_in || float_out || x.den == 1) return held_by(n->type, x);
  return x.d->lo >= 0 ? held_by(n->type, known_dim(dim_floordiv(b->ir->dims, x.d, dim_const(b->ir->dims, x.den)))) : (Known){0};
}

static Known eval_node(Builder *b, const Expr *e, const ExprNode *n, const Known *at, const Known *operands,
                       const int64_t *coord) {
  switch (n->kind) {
    case EXPR_INPUT: return operands[n->operand];
    case EXPR_CONST: return known_from_bits(b, n->type, n->bits);
    case EXPR_DIM: return known_dim(n->dim);
    case EXPR_INDEX: return known_dim(bd_const(b, coord[n->axis]));
    case EXPR_FN: return eval_fn(b, e, n, at);
    case EXPR_CAST: return eval_cast(b, e, n, at[n->args[0]]);
    case EXPR_BITS: return (Known){0};
  }
  return (Known){0};
}

/* Element of v that broadcasting to an output coordinate reads. */
static bool broadcast_element(const Value *v, uint32_t rank, const int64_t *out, size_t *ret) {
  int64_t at[MAX_RANK];
  for (uint32_t i = 0; i < v->type.rank; i++) at[i] = dim_is(v->type.dims[i], 1) ? 0 : out[rank - v->type.rank + i];
  return coord_flat(v->type.rank, v->type.dims, at, ret);
}

/* Whole sizes are content; halves and the like stay with the computed value, for the floor that follows. */
static Value *known_sizes(Builder *b, Type t, const Known *v, size_t n, Value *computed) {
  const Dim **content = NEW_ARRAY(b->ir->arena, const Dim *, n);
  for (size_t k = 0; k < n; k++) {
    if (!v[k].d || v[k].den != v[0].den) return NULL;
    content[k] = v[k].d;
  }
  if (v[0].den == 1) return build_known(b, t, content, n);
  if (!computed) return NULL;
  computed->fraction = content;
  computed->denominator = v[0].den;
  return computed;
}

static Value *known_result(Builder *b, Type t, const Known *v, size_t n, Value *computed) {
  const DTypeRow *r = &dtype_rows[t.dtype];
  bool sizes = r->kind != KIND_F;
  for (size_t k = 0; k < n; k++) sizes |= v[k].d && v[k].d->kind != DIM_CONST;
  if (sizes) return known_sizes(b, t, v, n, computed);
  const DType c = dtype_compute(t.dtype);
  if (r->bits < 8) return NULL;
  const size_t size = r->bits / 8;
  unsigned char *bytes = arena_array(b->ir->arena, n, size);
  for (size_t k = 0; k < n; k++) {
    uint64_t held;
    if (!known_to_bits(v[k], t.dtype, &held)) return NULL;
    Cell cell = cell_of(dtype_rows[c].bits, held), narrow = cell;
    if (c != t.dtype) cast_eval_strip(c, t.dtype, false, &cell, &narrow, 1); /* a value of that type already, infinity too */
    const uint64_t bits = cell_bits(r->bits, narrow);
    for (size_t i = 0; i < size; i++) bytes[k * size + i] = (unsigned char)(bits >> 8 * i);
  }
  Tensor *data = NEW(b->ir->arena, Tensor);
  *data = (Tensor){.dtype = t.dtype, .n = n, .bytes = bytes, .n_bytes = n * size};
  return ir_add_const(b->ir, t, data, (Str){0});
}

static bool operands_may_be_known(Builder *b, Value *const *in, size_t n) {
  for (size_t k = 0; k < n; k++) {
    size_t count;
    if (!is_real(in[k]->type.dtype) || !(in[k]->data || in[k]->fraction || build_content(b, in[k], &count)))
      return false;
  }
  return true;
}

Value *build_expr_known(Builder *b, const Expr *e, Value *const *in, size_t n_in, Type t, Value *computed) {
  size_t n;
  if (!is_real(t.dtype) || !build_small_count(t.rank, t.dims, CONTENT_MAX, &n) || !operands_may_be_known(b, in, n_in))
    return NULL;
  for (uint32_t i = 0; i < e->n; i++)
    if (!is_real(e->nodes[i].type)) return NULL;
  Known *results = NEW_ARRAY(b->ir->arena, Known, n), *at = NEW_ARRAY(b->ir->arena, Known, e->n);
  Known *operands = NEW_ARRAY(b->ir->arena, Known, n_in);
  int64_t out[MAX_RANK] = {0};
  for (size_t k = 0; k < n; k++) {
    for (size_t i = 0; i < n_in; i++) {
      size_t element;
      if (!broadcast_element(in[i], t.rank, out, &element)) return NULL;
      operands[i] = known_element(b, in[i], element);
    }
    for (uint32_t i = 0; i < e->n; i++) at[i] = eval_node(b, e, &e->nodes[i], at, operands, out);
    results[k] = at[e->n - 1];
    if (!results[k].known) return NULL;
    (void)coord_next(t.rank, t.dims, out);
  }
  return known_result(b, t, results, n, computed);
}
