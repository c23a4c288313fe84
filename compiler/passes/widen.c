/* What has 16 bits, f16 or bf16, is held as f32 that is rounded to 16 bits where an operation rounds, on targets whose kernels
 * are of f32: a network of such floats is then one of f32, in chains, blocks and steps as any other, with a function more behind its
 * products, and the same results to the bit. Content that moves without ever being computed stays as it is, and so do a graph's own inputs and outputs. */
#include "passes/passes.h"

typedef struct Widen {
  Arena *a;
  Value **wide; /* [cap] by id of a value of 16 bits: the same numbers in f32, or NULL */
  uint32_t cap;
} Widen;

static bool is_16(DType t) { return t == DT_f16 || t == DT_bf16; }

static ScalarFn rounding(DType t) { return t == DT_f16 ? SC_round_f16 : SC_round_bf16; }

static Value *wide_of(const Widen *w, const Value *v) { return v && v->id < w->cap ? w->wide[v->id] : NULL; }

/* v in f32 where it has 16 bits, else v itself. */
static Value *widened(Builder *b, const Widen *w, Value *v) {
  if (!v || !is_16(v->type.dtype)) return v;
  Value *known = wide_of(w, v);
  return known ? known : build_cast(b, v, DT_f32, true);
}

/* The value of type t that `wide`, all of whose numbers t has, stands for. */
static Value *narrowed(Builder *b, Widen *w, Value *wide, DType t) {
  Value *v = wide ? build_cast(b, wide, t, true) : NULL;
  if (!v) return NULL;
  if (v->id >= w->cap) {
    const uint32_t cap = 2 * v->id + 64;
    Value **grown = NEW_ARRAY(w->a, Value *, cap);
    if (w->cap) memcpy(grown, w->wide, w->cap * sizeof *grown);
    w->wide = grown;
    w->cap = cap;
  }
  return w->wide[v->id] = wide, v;
}

/* Functions whose results have no more digits than their arguments. */
static bool is_exact(ScalarFn fn) {
  switch (fn) {
    case SC_neg: case SC_abs: case SC_sign: case SC_floor: case SC_ceil: case SC_round: case SC_trunc:
    case SC_min: case SC_max: case SC_copysign: case SC_select: return true;
    default: return false;
  }
}

/* Whether node x of e, or what its operand is, was computed: its NaNs then are quiet ones, as those that rounding makes. */
static bool is_computed(const Expr *e, uint32_t x, Value *const *in) {
  const ExprNode *n = &e->nodes[x];
  if (n->kind == EXPR_FN) return !is_exact(n->fn);
  const Node *def = n->kind == EXPR_INPUT && in ? in[n->operand]->def : NULL;
  if (!def || def->op != OP_POINTWISE) return def && (def->op == OP_CONV || def->op == OP_CONTRACT || def->op == OP_NORM || def->op == OP_SOFTMAX || def->op == OP_RECURRENT);
  const Expr *of = &((const PointwiseAttr *)def->attr)->expr;
  return is_computed(of, of->n - 1, NULL);
}

/* Node x behind e, its arguments mapped: those of 16 bits in f32. Returns its place, in f32 where it has 16 bits. */
static uint32_t widened_node(Arena *a, Expr *e, ExprNode x, DType from, Value *const *in) {
  const DType t = x.type;
  switch (x.kind) {
    case EXPR_FN:
      if (!is_16(t)) return expr_push(a, e, x);
      x.type = DT_f32;
      return is_exact(x.fn) ? expr_push(a, e, x) : expr_fn1(a, e, rounding(t), expr_push(a, e, x));
    case EXPR_CAST:
      if (is_16(t) && (from == DT_f32 || is_16(from)) && is_computed(e, x.args[0], in)) return expr_fn1(a, e, rounding(t), x.args[0]);
      if (t == DT_f32 && is_16(from)) return x.args[0];
      return expr_cast(a, e, is_16(t) ? DT_f32 : t, true, expr_push(a, e, x));
    case EXPR_BITS:
      if (is_16(from)) x.args[0] = expr_cast(a, e, from, true, x.args[0]);
      return expr_cast(a, e, is_16(t) ? DT_f32 : t, true, expr_push(a, e, x));
    case EXPR_CONST: /* bits are of f32 already */
      if (is_16(t)) x.type = DT_f32;
      return expr_push(a, e, x);
    default: return expr_push(a, e, x);
  }
}

static bool widen_pointwise(Builder *b, const Node *n, Value **ret, Widen *w) {
  Arena *a = b->ir->arena;
  const Expr *from = &((const PointwiseAttr *)n->attr)->expr;
  const Type *out = &n->out[0]->type;
  bool any = false;
  for (uint32_t i = 0; i < from->n; i++) any |= is_16(from->nodes[i].type) && (from->nodes[i].kind != EXPR_INPUT || wide_of(w, n->in[from->nodes[i].operand]));
  if (!any) return false;
  Value **in = NEW_ARRAY(a, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++) in[k] = wide_of(w, n->in[k]) || n->in[k]->data ? widened(b, w, n->in[k]) : n->in[k];
  uint32_t *map = NEW_ARRAY(a, uint32_t, from->n);
  Expr e = {0};
  for (uint32_t i = 0; i < from->n; i++) {
    ExprNode x = from->nodes[i];
    if (x.kind == EXPR_INPUT) {
      map[i] = expr_input(a, &e, x.operand, in[x.operand]->type.dtype);
      if (is_16(x.type)) map[i] = expr_cast(a, &e, DT_f32, true, map[i]);
      continue;
    }
    const DType of = expr_node_arity(&x) ? from->nodes[x.args[0]].type : DT_NONE;
    for (unsigned k = 0; k < expr_node_arity(&x); k++) x.args[k] = map[x.args[k]];
    map[i] = widened_node(a, &e, x, of, in);
  }
  expr_set_result(a, &e, map[from->n - 1]);
  const ExprNode *last = &e.nodes[e.n - 1];
  Value *same = last->kind == EXPR_INPUT ? in[last->operand] : NULL;
  const Type wide_type = {.dtype = expr_type(&e), .rank = out->rank, .dims = out->dims};
  Value *y = same && type_same(&same->type, &wide_type) ? same : build_expr(b, e, in, n->n_in, (int)out->rank, out->dims);
  ret[0] = is_16(out->dtype) ? narrowed(b, w, y, out->dtype) : y;
  return ret[0] != NULL;
}

/* The same node of operands in f32, and its results of 16 bits, too. */
static const Node *like(Builder *b, const Node *n, const Widen *w) {
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  Type *out = NEW_ARRAY(b->ir->arena, Type, n->n_out);
  for (uint32_t k = 0; k < n->n_in; k++) in[k] = widened(b, w, n->in[k]);
  for (uint32_t k = 0; k < n->n_out; k++) {
    out[k] = n->out[k]->type;
    if (is_16(out[k].dtype)) out[k].dtype = DT_f32;
  }
  return graph_add_node(b->graph, n->op, in, n->n_in, out, n->n_out, n->attr, n->src);
}

/* Whether a node that moves elements moves some that are held as f32. */
static bool moves_wide(const Node *n, const Widen *w) {
  const uint32_t data = n->op == OP_CONCAT ? n->n_in : n->op == OP_SCATTER ? 2 : 1;
  for (uint32_t k = 0; k < data; k++)
    if (wide_of(w, n->in[k])) return true;
  return false;
}

/* What a node does in f32: how its result is that of 16 bits. */
typedef enum Way { WAY_NONE, WAY_EXACT, WAY_ROUND } Way;

static Way way(const Node *n, const Widen *w) {
  switch (n->op) {
    case OP_VIEW: case OP_RESHAPE: case OP_PAD: case OP_CONCAT: case OP_GATHER: return moves_wide(n, w) ? WAY_EXACT : WAY_NONE;
    case OP_SCATTER: {
      const ScatterKind kind = ((const ScatterAttr *)n->attr)->kind;
      return kind != SCATTER_ADD && kind != SCATTER_MUL && moves_wide(n, w) ? WAY_EXACT : WAY_NONE;
    }
    case OP_REDUCE: {
      const ReduceAttr *a = n->attr;
      if (a->acc != DT_f32) return WAY_NONE;
      return a->kind == REDUCE_SUM || a->kind == REDUCE_PROD ? WAY_ROUND : WAY_EXACT;
    }
    case OP_POOL: return ((const PoolAttr *)n->attr)->kind == POOL_MAX ? WAY_EXACT : WAY_ROUND;
    case OP_CONTRACT: return ((const ContractAttr *)n->attr)->acc == DT_f32 && n->n_in <= 2 ? WAY_ROUND : WAY_NONE;
    case OP_CONV: return ((const ConvAttr *)n->attr)->acc == DT_f32 && n->n_in <= 3 ? WAY_ROUND : WAY_NONE;
    case OP_NORM: return WAY_ROUND;
    default: return WAY_NONE;
  }
}

static bool widen(Builder *b, const Node *n, Value **ret, void *user) {
  Widen *w = user;
  if (n->op == OP_POINTWISE) return widen_pointwise(b, n, ret, w);
  if (!n->n_in || !n->in[0] || !is_16(n->in[0]->type.dtype)) return false;
  const Way how = way(n, w);
  if (how == WAY_NONE) return false;
  const Node *wide = like(b, n, w);
  for (uint32_t k = 0; k < n->n_out; k++) {
    const DType t = n->out[k]->type.dtype;
    Value *y = wide->out[k];
    ret[k] = !is_16(t) ? y : narrowed(b, w, how == WAY_ROUND ? build_fn1(b, rounding(t), y) : y, t);
    if (!ret[k]) return false;
  }
  return true;
}

/* Softmax and LRN round each operation of their function bodies: those are what is widened. */
static bool expand(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  return (n->op == OP_SOFTMAX || n->op == OP_LRN) && is_16(n->in[0]->type.dtype) && legalise_node(b, n, ret);
}

bool pass_widen(Ir *ir) {
  Widen w = {.a = ir->arena};
  (void)pass_rewrite(ir, expand, NULL);
  (void)pass_rewrite(ir, widen, &w);
  return true;
}
