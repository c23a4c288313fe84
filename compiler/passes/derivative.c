#include "passes/derivative.h"

#include <stdlib.h>

#define NONE UINT32_MAX /* no enumerator: it does not fit an int */
enum { DEPTH = 24 };

static const char *const texts[SC_COUNT][3] = {
#define DERIVATIVE(fn, arg, text) [SC_##fn][arg] = text,
#include "passes/derivative.def"
#undef DERIVATIVE
};

/* ---- the table's texts ---- */
typedef struct Text {
  Arena *a;
  Expr *e;
  const char *at;
  const uint32_t *args;
  uint32_t result;
  DType type;
} Text;

static void skip(Text *t, char c) {
  while (*t->at == ' ') t->at++;
  if (*t->at == c) t->at++;
  while (*t->at == ' ') t->at++;
}

/* One term: a number, x y z r, or function(term, ...). The texts are the table's own, so nothing else occurs. */
static uint32_t term(Text *t, unsigned depth) {
  const char *from = t->at;
  char *end;
  const double number = strtod(from, &end);
  if (end != from) {
    t->at = end;
    return expr_const_f(t->a, t->e, t->type, number);
  }
  while ((*t->at >= 'a' && *t->at <= 'z') || (*t->at >= '0' && *t->at <= '9') || *t->at == '_') t->at++;
  const Str word = {from, (size_t)(t->at - from)};
  if (word.len == 1 && depth < DEPTH) return *from == 'r' ? t->result : t->args[*from - 'x'];
  const ScalarFn fn = scalar_from_name(word);
  uint32_t args[3] = {0};
  skip(t, '(');
  for (unsigned k = 0; k < scalar_rows[fn].arity; k++) {
    args[k] = term(t, depth + 1);
    skip(t, k + 1 < scalar_rows[fn].arity ? ',' : ')');
  }
  if (scalar_rows[fn].arity == 1) return expr_fn1(t->a, t->e, fn, args[0]);
  if (scalar_rows[fn].arity == 2) return expr_fn2(t->a, t->e, fn, args[0], args[1]);
  return expr_fn3(t->a, t->e, fn, args[0], args[1], args[2]);
}

/* ---- reverse mode ---- */
typedef struct Derive {
  Arena *a;
  Expr out;           /* the expression itself, then adjoints */
  uint32_t *place;    /* of each node of e in `out` */
  uint32_t *adjoint;  /* of each node of e in `out`, or NONE: 0 */
  const bool *needed; /* nodes of e that depend on what is asked for */
} Derive;

static void gain(Derive *d, uint32_t node, uint32_t by) {
  d->adjoint[node] = d->adjoint[node] == NONE ? by : expr_fn2(d->a, &d->out, SC_add, d->adjoint[node], by);
}

static bool is_text(const char *text, const char *s) { return strcmp(text, s) == 0; }

/* adjoint times the derivative that the text says. */
static void gain_by(Derive *d, const ExprNode *n, uint32_t node, uint32_t i, unsigned k) {
  const char *text = texts[n->fn][k];
  const uint32_t adjoint = d->adjoint[i];
  uint32_t args[3] = {0};
  if (is_text(text, "0")) return;
  if (is_text(text, "1")) {
    gain(d, node, adjoint);
    return;
  }
  if (is_text(text, "-1")) {
    gain(d, node, expr_fn1(d->a, &d->out, SC_neg, adjoint));
    return;
  }
  for (unsigned j = 0; j < scalar_rows[n->fn].arity; j++) args[j] = d->place[n->args[j]];
  Text t = {d->a, &d->out, text, args, d->place[i], n->type};
  gain(d, node, expr_fn2(d->a, &d->out, SC_mul, adjoint, term(&t, 0)));
}

/* The adjoint of node i handed to its arguments. */
static bool hand_down(Derive *d, const Expr *e, uint32_t i) {
  const ExprNode *n = &e->nodes[i];
  for (unsigned k = 0; k < expr_node_arity(n); k++) {
    const uint32_t node = n->args[k];
    const DType type = e->nodes[node].type;
    if (!d->needed[node] || !dtype_is_float(type) || !dtype_is_float(n->type)) continue;
    if (n->kind == EXPR_CAST) {
      gain(d, node, expr_cast(d->a, &d->out, type, true, d->adjoint[i]));
    } else if (n->kind == EXPR_FN && n->fn == SC_select) {
      const uint32_t zero = expr_const_f(d->a, &d->out, type, 0), adjoint = d->adjoint[i], choice = d->place[n->args[0]];
      gain(d, node, expr_fn3(d->a, &d->out, SC_select, choice, k == 1 ? adjoint : zero, k == 1 ? zero : adjoint));
    } else if (n->kind == EXPR_FN && texts[n->fn][k]) {
      gain_by(d, n, node, i, k);
    } else if (n->kind == EXPR_FN) {
      return false;
    }
  }
  return true;
}

ScalarFn derive_expr(Arena *a, const Expr *e, uint32_t n_operands, const bool *wanted, Expr *ret) {
  bool *needed = NEW_ARRAY(a, bool, e->n);
  Derive d = {a, {0}, NEW_ARRAY(a, uint32_t, e->n), NEW_ARRAY(a, uint32_t, e->n), needed};
  for (uint32_t i = 0; i < e->n; i++) {
    ExprNode n = e->nodes[i];
    needed[i] = n.kind == EXPR_INPUT && wanted[n.operand];
    for (unsigned k = 0; k < expr_node_arity(&n); k++) {
      needed[i] = needed[i] || needed[n.args[k]];
      n.args[k] = d.place[n.args[k]];
    }
    d.place[i] = expr_push(a, &d.out, n);
    d.adjoint[i] = NONE;
  }
  if (e->n) d.adjoint[e->n - 1] = expr_input(a, &d.out, n_operands, expr_type(e));
  for (uint32_t i = e->n; i-- > 0;)
    if (d.adjoint[i] != NONE && !hand_down(&d, e, i)) return e->nodes[i].fn;
  for (uint32_t k = 0; k < n_operands; k++) {
    uint32_t sum = NONE;
    ret[k] = (Expr){0};
    for (uint32_t i = 0; i < e->n; i++)
      if (wanted[k] && e->nodes[i].kind == EXPR_INPUT && e->nodes[i].operand == k && d.adjoint[i] != NONE)
        sum = sum == NONE ? d.adjoint[i] : expr_fn2(a, &d.out, SC_add, sum, d.adjoint[i]);
    if (sum == NONE) continue;
    expr_set_result(a, &d.out, sum);
    ret[k] = expr_ordered(a, &d.out);
  }
  return SC_COUNT;
}
