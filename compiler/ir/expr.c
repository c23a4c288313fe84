#include "ir/expr.h"

/* ---- node sharing: linear search backwards over a short window, since equal nodes arise close together ---------------------- */
static bool node_same(const ExprNode *a, const ExprNode *b) {
  if (a->kind != b->kind || a->type != b->type) return false;
  switch (a->kind) {
    case EXPR_INPUT: return a->operand == b->operand;
    case EXPR_CONST: return a->bits == b->bits;
    case EXPR_DIM: return a->dim == b->dim;
    case EXPR_INDEX: return a->axis == b->axis;
    case EXPR_FN: return a->fn == b->fn && memcmp(a->args, b->args, sizeof a->args) == 0;
    case EXPR_CAST: return a->args[0] == b->args[0] && a->saturate == b->saturate;
    case EXPR_BITS: return a->args[0] == b->args[0];
  }
  return false;
}

enum { SHARE_WINDOW = 256 };

/* Appends; shares an equal node unless it is the last one asked for as a result: the result is always the last node. */
static uint32_t expr_append(Arena *a, Expr *e, ExprNode n) {
  if (e->n == e->cap || !e->filled || *e->filled != e->n) {
    uint32_t cap = e->n < 4 ? 4 : e->n * 2;
    ExprNode *grown = NEW_ARRAY(a, ExprNode, cap);
    if (e->n) memcpy(grown, e->nodes, e->n * sizeof *grown);
    e->nodes = grown;
    e->cap = cap;
    e->filled = arena_dup(a, &e->n, sizeof e->n);
  }
  e->nodes[e->n] = n;
  *e->filled = e->n + 1;
  return e->n++;
}

/* Whether x is rounded to the type that a cast makes of it, which rounds. */
static bool is_rounded_for(const Expr *e, DType to, uint32_t x) {
  const ExprNode *n = &e->nodes[x];
  return n->kind == EXPR_FN && ((n->fn == SC_round_f16 && to == DT_f16) || (n->fn == SC_round_bf16 && to == DT_bf16));
}

uint32_t expr_push(Arena *a, Expr *e, ExprNode n) {
  uint32_t floor = e->n > SHARE_WINDOW ? e->n - SHARE_WINDOW : 0;
  if (n.kind == EXPR_CAST && is_rounded_for(e, n.type, n.args[0])) n.args[0] = e->nodes[n.args[0]].args[0];
  for (uint32_t i = e->n; i-- > floor;)
    if (node_same(&e->nodes[i], &n)) return i;
  return expr_append(a, e, n);
}

uint32_t expr_input(Arena *a, Expr *e, uint32_t operand, DType type) {
  return expr_push(a, e, (ExprNode){.kind = EXPR_INPUT, .type = type, .operand = operand});
}

uint32_t expr_const_bits(Arena *a, Expr *e, DType type, uint64_t bits) {
  return expr_push(a, e, (ExprNode){.kind = EXPR_CONST, .type = type, .bits = bits});
}

uint32_t expr_const_f(Arena *a, Expr *e, DType type, double v) {
  union { double d; uint64_t u; } w = {.d = v};
  if (type == DT_f64) return expr_const_bits(a, e, type, w.u);
  float f = 0;
  cast_eval_strip(DT_f64, DT_f32, true, &v, &f, 1);
  if (type != DT_f32) { /* rounded to the narrower type, held as f32 */
    uint16_t narrow = 0;
    cast_eval_strip(DT_f32, type, true, &f, &narrow, 1);
    cast_eval_strip(type, DT_f32, true, &narrow, &f, 1);
  }
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return expr_const_bits(a, e, type, bits);
}

uint32_t expr_const_i(Arena *a, Expr *e, DType type, int64_t v) {
  unsigned bits = dtype_rows[dtype_compute(type)].bits;
  uint64_t u = (uint64_t)v;
  if (dtype_rows[type].kind == KIND_B) u = v != 0;
  else if (bits < 64) u &= ((uint64_t)1 << bits) - 1;
  return expr_const_bits(a, e, type, u);
}

uint32_t expr_dim(Arena *a, Expr *e, const Dim *d) {
  int64_t v;
  if (dim_is_const(d, &v)) return expr_const_i(a, e, DT_s64, v);
  return expr_push(a, e, (ExprNode){.kind = EXPR_DIM, .type = DT_s64, .dim = d});
}

uint32_t expr_index(Arena *a, Expr *e, uint32_t axis) {
  return expr_push(a, e, (ExprNode){.kind = EXPR_INDEX, .type = DT_s64, .axis = axis});
}

/* f16 and its like keep their own name as the type of the result: computed in f32, rounded after. */
static DType fn_result(ScalarFn fn, DType type) {
  DType compute = dtype_compute(type), r = scalar_result(fn, compute);
  return r == compute ? type : r;
}

static uint32_t expr_fn(Arena *a, Expr *e, ScalarFn fn, const uint32_t *args) {
  ExprNode n = {.kind = EXPR_FN, .fn = fn};
  for (unsigned i = 0; i < scalar_rows[fn].arity; i++) n.args[i] = args[i];
  n.type = fn_result(fn, e->nodes[args[scalar_rows[fn].arity - 1]].type);
  return expr_push(a, e, n);
}

uint32_t expr_fn1(Arena *a, Expr *e, ScalarFn fn, uint32_t x) { return expr_fn(a, e, fn, (uint32_t[]){x}); }
uint32_t expr_fn2(Arena *a, Expr *e, ScalarFn fn, uint32_t x, uint32_t y) { return expr_fn(a, e, fn, (uint32_t[]){x, y}); }
uint32_t expr_fn3(Arena *a, Expr *e, ScalarFn fn, uint32_t x, uint32_t y, uint32_t z) {
  return expr_fn(a, e, fn, (uint32_t[]){x, y, z});
}

uint32_t expr_cast(Arena *a, Expr *e, DType to, bool saturate, uint32_t x) {
  if (e->nodes[x].type == to) return x;
  return expr_push(a, e, (ExprNode){.kind = EXPR_CAST, .type = to, .saturate = saturate, .args = {x}});
}

uint32_t expr_bits(Arena *a, Expr *e, DType to, uint32_t x) {
  if (e->nodes[x].type == to) return x;
  return expr_push(a, e, (ExprNode){.kind = EXPR_BITS, .type = to, .args = {x}});
}

unsigned expr_node_arity(const ExprNode *n) {
  return n->kind == EXPR_FN ? scalar_rows[n->fn].arity : n->kind == EXPR_CAST || n->kind == EXPR_BITS ? 1 : 0;
}

uint32_t expr_inline(Arena *a, Expr *dst, const Expr *src, const uint32_t *inputs) {
  uint32_t *map = NEW_ARRAY(a, uint32_t, src->n);
  for (uint32_t i = 0; i < src->n; i++) {
    ExprNode n = src->nodes[i];
    if (n.kind == EXPR_INPUT) {
      map[i] = inputs[n.operand];
      continue;
    }
    for (unsigned k = 0; k < expr_node_arity(&n); k++) n.args[k] = map[n.args[k]];
    map[i] = expr_push(a, dst, n);
  }
  return map[src->n - 1];
}

void expr_set_result(Arena *a, Expr *e, uint32_t node) {
  if (node == e->n - 1) return;
  ExprNode n = e->nodes[node];
  (void)expr_append(a, e, n);
}

/* The first argument that is not placed yet, or UINT32_MAX. */
static uint32_t unplaced(const Expr *e, uint32_t node, const uint32_t *place) {
  for (unsigned k = 0; k < expr_node_arity(&e->nodes[node]); k++)
    if (place[e->nodes[node].args[k]] == UINT32_MAX) return e->nodes[node].args[k];
  return UINT32_MAX;
}

Expr expr_ordered(Arena *a, const Expr *e) {
  Expr r = {.nodes = NEW_ARRAY(a, ExprNode, e->n), .cap = e->n};
  uint32_t *place = NEW_ARRAY(a, uint32_t, e->n), *stack = NEW_ARRAY(a, uint32_t, e->n), depth = 0;
  for (uint32_t i = 0; i < e->n; i++) place[i] = UINT32_MAX;
  if (e->n) stack[depth++] = e->n - 1;
  while (depth) {
    const uint32_t at = stack[depth - 1], first = unplaced(e, at, place);
    if (first != UINT32_MAX) {
      stack[depth++] = first;
      continue;
    }
    ExprNode n = e->nodes[at];
    for (unsigned k = 0; k < expr_node_arity(&n); k++) n.args[k] = place[n.args[k]];
    place[at] = r.n;
    r.nodes[r.n++] = n;
    depth--;
  }
  return r;
}

/* ---- text ------------------------------------------------------------------------------------------------------------------ */
static void const_print(StrBuf *b, const ExprNode *n) {
  DType t = dtype_compute(n->type);
  sb_printf(b, "%s ", dtype_name(n->type));
  if (t == DT_f32) {
    uint32_t u = (uint32_t)n->bits;
    float f;
    memcpy(&f, &u, sizeof f);
    if ((u & 0x7f800000u) == 0x7f800000u) sb_printf(b, "0x%x", u);
    else sb_printf(b, "%.9g", (double)f);
  } else if (t == DT_f64) {
    double f;
    memcpy(&f, &n->bits, sizeof f);
    if ((n->bits >> 52 & 0x7ff) == 0x7ff) sb_printf(b, "0x%llx", (unsigned long long)n->bits);
    else sb_printf(b, "%.17g", f);
  } else if (dtype_rows[t].kind == KIND_S) {
    unsigned shift = 64 - dtype_rows[t].bits;
    sb_printf(b, "%lld", (long long)((int64_t)(n->bits << shift) >> shift));
  } else {
    sb_printf(b, "%llu", (unsigned long long)n->bits);
  }
}

/* Nodes used more than once are printed once, as `%0 = ...;` ahead of the result: label[i] is one more than the number. */
static void node_print(StrBuf *b, const Expr *e, uint32_t i, const uint32_t *label, bool definition) {
  const ExprNode *n = &e->nodes[i];
  if (!definition && label[i]) {
    sb_printf(b, "%%%u", label[i] - 1);
    return;
  }
  switch (n->kind) {
    case EXPR_INPUT: sb_printf(b, "x%u", n->operand); return;
    case EXPR_CONST: const_print(b, n); return;
    case EXPR_DIM:
      sb_puts(b, "dim(");
      dim_print(b, n->dim);
      sb_putc(b, ')');
      return;
    case EXPR_INDEX: sb_printf(b, "i%u", n->axis); return;
    case EXPR_FN: sb_printf(b, "%s(", scalar_rows[n->fn].name); break;
    case EXPR_CAST: sb_printf(b, "%s%s(", dtype_name(n->type), n->saturate ? "" : "!"); break;
    case EXPR_BITS: sb_printf(b, "%s~(", dtype_name(n->type)); break;
  }
  for (unsigned k = 0; k < expr_node_arity(n); k++) {
    if (k) sb_puts(b, ", ");
    node_print(b, e, n->args[k], label, false);
  }
  sb_putc(b, ')');
}

void expr_print(StrBuf *b, const Expr *e) {
  uint32_t *label = NEW_ARRAY(b->arena, uint32_t, e->n + 1), next = 1;
  for (uint32_t i = e->n; i-- > 0;) /* uses by what the result needs */
    for (unsigned k = 0; (label[i] || i + 1 == e->n) && k < expr_node_arity(&e->nodes[i]); k++) label[e->nodes[i].args[k]]++;
  for (uint32_t i = 0; i < e->n; i++) label[i] = label[i] > 1 && expr_node_arity(&e->nodes[i]) ? next++ : 0;
  for (uint32_t i = 0; i + 1 < e->n; i++) {
    if (!label[i]) continue;
    sb_printf(b, "%%%u = ", label[i] - 1);
    node_print(b, e, i, label, true);
    sb_puts(b, "; ");
  }
  if (e->n) node_print(b, e, e->n - 1, label, true);
}

bool expr_has_index(const Expr *e) {
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_INDEX) return true;
  return false;
}
