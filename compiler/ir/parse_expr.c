/* Scalar expressions: `%0 = mul(x0, f32 2); add(%0, %0)`. */
#include "ir/parse_priv.h"

#include <stdlib.h>

typedef struct ExprParse {
  Parse *p;
  Value *const *in;
  size_t n_in;
  Expr *e;
  VEC(uint32_t) labels;
} ExprParse;

static bool parse_node(ExprParse *x, uint32_t *ret);

static bool parse_const(ExprParse *x, DType t, uint32_t *ret) {
  Parse *p = x->p;
  const DType compute = dtype_compute(t);
  uint64_t bits = 0;
  int64_t v;
  float f;
  if (compute == DT_f32) {
    if (!parse_f32(p, &f)) return false;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    bits = u;
  } else if (compute == DT_f64 && !(p->s.len > 1 && p->s.ptr[0] == '0' && p->s.ptr[1] == 'x')) {
    char text[64];
    size_t n = p->s.len < 63 ? p->s.len : 63;
    memcpy(text, p->s.ptr, n);
    text[n] = 0;
    char *end;
    const double d = strtod(text, &end);
    if (end == text) return parse_fail(p, "expected a number");
    p->s.len -= (size_t)(end - text);
    p->s.ptr += end - text;
    memcpy(&bits, &d, sizeof bits);
  } else if (dtype_rows[compute].kind == KIND_S) {
    if (!parse_int(p, &v)) return false;
    const unsigned width = dtype_rows[compute].bits;
    bits = width < 64 ? (uint64_t)v & ((UINT64_C(1) << width) - 1) : (uint64_t)v;
  } else if (!parse_uint(p, UINT64_MAX, &bits)) {
    return false;
  }
  *ret = expr_const_bits(p->a, x->e, t, bits);
  return true;
}

static bool parse_call(ExprParse *x, Str name, uint32_t *ret) {
  Parse *p = x->p;
  const ScalarFn fn = scalar_from_name(name);
  uint32_t arg[3] = {0};
  if (fn == SC_COUNT) return parse_fail(p, "an unknown function");
  for (unsigned k = 0; k < scalar_rows[fn].arity; k++)
    if ((k && !parse_want(p, ",")) || !parse_node(x, &arg[k])) return false;
  if (!parse_want(p, ")")) return false;
  const unsigned n = scalar_rows[fn].arity;
  const DType at = x->e->nodes[arg[n - 1]].type;
  for (unsigned k = n == 3 ? 1 : 0; k < n; k++)
    if (x->e->nodes[arg[k]].type != at) return parse_fail(p, "arguments of different types");
  if (!scalar_exists(fn, at)) return parse_fail(p, "a function that the type does not have");
  *ret = n == 1 ? expr_fn1(p->a, x->e, fn, arg[0]) : n == 2 ? expr_fn2(p->a, x->e, fn, arg[0], arg[1]) : expr_fn3(p->a, x->e, fn, arg[0], arg[1], arg[2]);
  return true;
}

/* `f32 2` is a constant, `f32(x)` and `f8e5m2!(x)` (not saturating) are casts, `f32~(x)` has the bits of x. */
static bool parse_typed(ExprParse *x, DType t, uint32_t *ret) {
  Parse *p = x->p;
  const bool wraps = p->s.len && *p->s.ptr == '!' && parse_is(p, "!");
  const bool bits = p->s.len && *p->s.ptr == '~' && parse_is(p, "~");
  if (!p->s.len || *p->s.ptr != '(') return wraps || bits ? parse_fail(p, "expected (") : (parse_blank(p), parse_const(x, t, ret));
  uint32_t arg;
  if (!parse_want(p, "(") || !parse_node(x, &arg) || !parse_want(p, ")")) return false;
  if (bits && !bits_exist(x->e->nodes[arg].type, t)) return parse_fail(p, "bits of a type of another width");
  *ret = bits ? expr_bits(p->a, x->e, t, arg) : expr_cast(p->a, x->e, t, !wraps, arg);
  return true;
}

/* x0 and i0: an operand's element, a coordinate. */
static bool parse_numbered(ExprParse *x, Str w, uint32_t *ret) {
  uint64_t k = 0;
  if (w.len < 2 || w.len > 7 || (w.ptr[0] != 'x' && w.ptr[0] != 'i')) return false;
  for (size_t i = 1; i < w.len; i++) {
    if (w.ptr[i] < '0' || w.ptr[i] > '9') return false;
    k = k * 10 + (uint64_t)(w.ptr[i] - '0');
  }
  if (w.ptr[0] == 'i') {
    *ret = expr_index(x->p->a, x->e, (uint32_t)k);
    return true;
  }
  if (k >= x->n_in || !x->in[k]) return parse_fail(x->p, "an operand that is not there");
  *ret = expr_input(x->p->a, x->e, (uint32_t)k, x->in[k]->type.dtype);
  return true;
}

static bool parse_label(ExprParse *x, uint32_t *ret) {
  uint64_t k;
  if (!parse_uint(x->p, UINT32_MAX, &k)) return false;
  if (k >= x->labels.n) return parse_fail(x->p, "a label that was not defined before");
  *ret = x->labels.data[k];
  return true;
}

static bool parse_atom(ExprParse *x, uint32_t *ret) {
  Parse *p = x->p;
  if (parse_is(p, "%")) return parse_label(x, ret);
  const Str w = parse_word(p);
  if (str_is(w, "dim") && parse_is(p, "(")) {
    const Dim *d;
    if (!parse_dim(p, &d) || !parse_want(p, ")")) return false;
    *ret = expr_dim(p->a, x->e, d);
    return true;
  }
  const DType t = dtype_from_name(w);
  if (t != DT_NONE) return parse_typed(x, t, ret);
  if (p->s.len && *p->s.ptr == '(') return parse_want(p, "(") && parse_call(x, w, ret);
  return parse_numbered(x, w, ret) || parse_fail(p, "expected an expression");
}

static bool parse_node(ExprParse *x, uint32_t *ret) {
  if (x->p->depth >= PARSE_DEPTH) return parse_fail(x->p, "nested too deeply");
  x->p->depth++;
  const bool ok = parse_atom(x, ret);
  x->p->depth--;
  return ok;
}

bool parse_expr(Parse *p, Value *const *in, size_t n_in, Expr *ret) {
  ExprParse x = {.p = p, .in = in, .n_in = n_in, .e = ret};
  uint32_t node;
  *ret = (Expr){0};
  for (;;) {
    const Str before = p->s;
    uint64_t label;
    if (!parse_is(p, "%") || !parse_uint(p, UINT32_MAX, &label) || !parse_is(p, "=")) {
      p->s = before;
      break;
    }
    if (label != x.labels.n) return parse_fail(p, "labels have to be numbered as they come");
    if (!parse_node(&x, &node) || !parse_want(p, ";")) return false;
    vec_push(p->a, x.labels, node);
  }
  if (p->failed || !parse_node(&x, &node)) return false;
  expr_set_result(p->a, ret, node);
  return true;
}
