/* Constant folding: a node of constant operands is lowered without fusion and run by the reference evaluation, together with those before it whose only
 * reader it is, so that results on the way take no memory for long. One whose result is much larger
 * than what it is made of stays, as it is cheaper to compute than to load, until what is computed from it is dear: then all of that folds. One that
 * has a neutral constant gives its other operand. */
#include "interp/interp.h"
#include "lower/lower.h"
#include "lower/virt.h"
#include "passes/passes.h"

#include <math.h>

/* All passes together make at most MOST bytes and twice the model's own constants: castnet keeps to 64 MiB and 4 times the file. */
enum { SMALL = 1 << 14, BUDGET_NODE = 1 << 28, GROWTH = 4, MOST = 16 << 20 };
enum { DEAR = 16 /* arithmetic of a point: a transcendental function */, MOST_NODES = 64 /* of what folds as one */ };
enum { MOST_PRODUCTS = 1 << 28, PRODUCTS = 24 /* for each byte of the model's own constants: some 10 ns */ };
enum { ON_THE_WAY = 4 /* as many times as its result a softmax or normalisation makes on the way */ };

/* What stays though it is made of constants: what it grows to is cheap to compute; what folds with its only reader. */
typedef enum Hold { HOLD_NOT, HOLD_CHEAP, HOLD_ON_THE_WAY } Hold;

typedef struct Fold {
  Ir *ir;
  size_t limit;     /* of ir->folded_bytes, and what folding takes beside */
  size_t most_products; /* of ir->folded_products */
  Hold *held;       /* [n_values] by id */
  bool *on_the_way; /* [n_values] the only reader is made of constants, too */
  uint32_t n_values;
} Fold;

typedef struct Chain { /* what computes a value from constants, in order */
  const Node *nodes[MOST_NODES];
  size_t n, bytes; /* of the constants */
  size_t made;     /* bytes of the results on the way, together */
  size_t products; /* that are summed */
  unsigned cost;   /* of a point */
} Chain;

static bool foldable_op(const Node *n) {
  switch (n->op) {
    case OP_POINTWISE: case OP_VIEW: case OP_RESHAPE: case OP_PAD: case OP_CONCAT: case OP_GATHER: case OP_SCATTER: case OP_REDUCE:
    case OP_SCAN: case OP_DIMS: return n->n_out == 1;
    case OP_CONTRACT: case OP_SOFTMAX: case OP_NORM: return n->n_out == 1; /* evaluated as nests, or by a kernel */
    default: return false;
  }
}

static Hold held(const Fold *f, const Value *v) { return v->id < f->n_values ? f->held[v->id] : HOLD_NOT; }

/* Bytes of a value of known size that may be stored. */
static bool type_bytes(const Type *t, size_t *ret) {
  size_t count = 1;
  for (uint32_t a = 0; a < t->rank; a++) {
    int64_t d;
    if (!dim_is_const(t->dims[a], &d) || !size_mul(count, (size_t)d, &count)) return false;
  }
  return dtype_rows[t->dtype].kind != KIND_X && dtype_rows[t->dtype].kind != KIND_C && dtype_bytes(t->dtype, count, ret);
}

/* Products that a CONTRACT sums, all of them: the sizes of its labels. */
static bool count_products(const Node *n, size_t *ret) {
  const ContractAttr *attr = n->attr;
  const uint8_t *const labels[2] = {attr->a, attr->b};
  *ret = 1;
  for (uint32_t k = 0; k < 2; k++) {
    for (uint32_t a = 0; a < n->in[k]->type.rank; a++) {
      int64_t d;
      if (k == 1 && n->in[0]->type.rank && memchr(attr->a, labels[k][a], n->in[0]->type.rank)) continue;
      if (!dim_is_const(n->in[k]->type.dims[a], &d) || !size_mul(*ret, (size_t)d, ret)) return false;
    }
  }
  return true;
}

/* A product that the reference evaluation leaves to a kernel. */
static bool is_kernels(const Node *n) {
  return n->op == OP_CONTRACT && ((const ContractAttr *)n->attr)->acc == DT_f32 && n->n_in == 2 && n->in[0]->type.dtype == DT_f32 && n->in[1]->type.dtype == DT_f32 &&
         n->out[0]->type.dtype == DT_f32;
}

/* Bytes that evaluating a composite takes beside its result: operands as the kernel wants them; all that a nest sums; some steps. */
static bool composite_bytes(const Node *n, size_t products, size_t result, size_t *ret) {
  if (n->op != OP_CONTRACT) return size_mul(result, ON_THE_WAY, ret);
  if (!is_kernels(n)) return dtype_bytes(((const ContractAttr *)n->attr)->acc, products, ret);
  *ret = 0;
  for (uint32_t k = 0; k < 2; k++) {
    size_t bytes;
    if (!type_bytes(&n->in[k]->type, &bytes) || bytes > SIZE_MAX - *ret) return false;
    *ret += bytes;
  }
  return true;
}

/* What a composite adds to the chain; false where that is too much. */
static bool add_composite(const Fold *f, Chain *c, const Node *n) {
  size_t result, products = 0, bytes;
  if (n->op != OP_CONTRACT && n->op != OP_SOFTMAX && n->op != OP_NORM) return true;
  if (!type_bytes(&n->out[0]->type, &result) || (n->op == OP_CONTRACT && !count_products(n, &products)) || !composite_bytes(n, products, result, &bytes)) return false;
  if (bytes > f->limit - c->made || products > f->most_products - f->ir->folded_products - c->products) return false;
  const size_t depth = result ? products / result * dtype_rows[n->out[0]->type.dtype].bits / 8 : 0;
  c->made += bytes;
  c->products += products;
  c->cost += n->op != OP_CONTRACT || depth > DEAR ? DEAR : (unsigned)depth;
  return true;
}

/* n with what it is computed from; false where that is more than folds as one. */
static bool add_to_chain(const Fold *f, Chain *c, const Node *n) {
  for (size_t i = 0; i < c->n; i++)
    if (c->nodes[i] == n) return true;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const Value *v = n->in[k];
    if (!v) continue;
    if (v->data) {
      c->bytes += v->data->n_bytes;
      continue;
    }
    size_t bytes;
    if (!held(f, v) || !type_bytes(&v->type, &bytes) || bytes > f->limit - c->made) return false;
    c->made += bytes;
    if (!add_to_chain(f, c, v->def)) return false;
  }
  if (c->n == MOST_NODES || !add_composite(f, c, n)) return false;
  if (n->op == OP_POINTWISE) c->cost += virt_expr_cost(&((const PointwiseAttr *)n->attr)->expr);
  c->nodes[c->n++] = n;
  return true;
}

/* What the nodes of a chain have become. */
typedef struct Copies {
  const Value *from[MOST_NODES];
  Value *to[MOST_NODES];
  size_t n;
} Copies;

static Value *copy_of(const Copies *c, Value *v) {
  for (size_t i = 0; i < c->n; i++)
    if (c->from[i] == v) return c->to[i];
  return v;
}

/* n of copied operands, a composite that is no kernel's as nests; NULL: it cannot be. */
static Value *copy_node(Builder *b, const Copies *c, const Node *n) {
  Node copy = *n;
  Value *made;
  copy.in = NEW_ARRAY(b->ir->arena, Value *, n->n_in + 1);
  for (uint32_t k = 0; k < n->n_in; k++) copy.in[k] = n->in[k] ? copy_of(c, n->in[k]) : NULL;
  b->place = n->src;
  if (!is_kernels(n) && legalise_node(b, &copy, &made)) return made;
  return graph_add_node(b->graph, n->op, copy.in, n->n_in, &n->out[0]->type, 1, n->attr, n->src)->out[0];
}

/* The chain in a graph of its own, sharing dimensions and constants with ir. */
static const Tensor *evaluate(Ir *ir, const Chain *c, Arena *scratch) {
  Ir alone = *ir;
  Diags diags = {.arena = scratch};
  alone.arena = scratch;
  alone.diags = &diags;
  alone.main = graph_new(&alone, NULL);
  Builder b = {.ir = &alone, .graph = alone.main};
  Copies copies = {0};
  for (size_t i = 0; i < c->n; i++) {
    Value *made = copy_node(&b, &copies, c->nodes[i]);
    if (!made) return NULL;
    copies.from[copies.n] = c->nodes[i]->out[0];
    copies.to[copies.n++] = made;
  }
  vec_push(scratch, alone.main->outputs, copies.to[c->n - 1]);
  LowerOptions opt = {.fuse = false, .target = target_find(STR("c99"))};
  Program *p = lower_graph(scratch, &alone, &opt);
  HostTensor out;
  if (!p || p->outputs.n != 1 || interp_run(scratch, p, NULL, &out, BUDGET_NODE) != INTERP_OK) return NULL;
  size_t count = 1;
  for (uint32_t a = 0; a < out.rank; a++) count *= (size_t)out.dims[a];
  return tensor_from_host(ir->arena, out.dtype, count, out.data);
}

/* The chain's result as a constant, or NULL. */
static Value *folded(Fold *f, const Chain *c, size_t bytes) {
  const Value *v = c->nodes[c->n - 1]->out[0];
  if (bytes > BUDGET_NODE || bytes > f->limit - c->made || f->ir->folded_bytes > f->limit - c->made - bytes) return NULL;
  Arena *scratch = arena_new(arena_door(f->ir->arena), 0);
  const Tensor *data = evaluate(f->ir, c, scratch);
  arena_free(scratch);
  if (!data) return NULL;
  f->ir->folded_bytes += data->n_bytes;
  f->ir->folded_products += c->products;
  return ir_add_const(f->ir, v->type, data, v->name);
}

/* Weights are laid out for their kernel when they are constants. Views alone stay: kernels read what repeats in place. */
static void fold_weights(Fold *f, Node *n) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    Chain c = {0};
    size_t bytes;
    if (!n->in[k] || n->in[k]->data || !held(f, n->in[k]) || !add_to_chain(f, &c, n->in[k]->def) || c.cost == 0 || !type_bytes(&n->in[k]->type, &bytes)) continue;
    Value *v = folded(f, &c, bytes);
    if (v) n->in[k] = v;
  }
}

/* What would have folded with its reader, by itself; NULL: it stays. */
static Value *fold_alone(Fold *f, const Value *v) {
  Chain c = {0};
  size_t bytes;
  return add_to_chain(f, &c, v->def) && type_bytes(&v->type, &bytes) ? folded(f, &c, bytes) : NULL;
}

/* What is on the way to n, which does not fold with it. Whether there is some. */
static bool fold_operands(Fold *f, Node *n) {
  bool any = false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    Value *v = n->in[k] && held(f, n->in[k]) == HOLD_ON_THE_WAY ? fold_alone(f, n->in[k]) : NULL;
    if (v) n->in[k] = v, any = true;
  }
  return any;
}

/* Zeros by their sign, too. */
static bool is_all(const Value *v, double want) {
  if (!v->data || !v->data->n) return false;
  for (size_t k = 0; k < v->data->n; k++) {
    const double x = tensor_real(v->data, k);
    if (x != want || signbit(x) != signbit(want)) return false;
  }
  return true;
}

/* x of x * 1, x / 1, pow(x, 1), x - 0 and, where that keeps a negative zero, x + 0; else NULL. */
static Value *without_neutral(const Node *n) {
  ScalarFn fn;
  if (!pass_is_fn2(n, &fn)) return NULL;
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  const ExprNode *last = &e->nodes[e->n - 1];
  const bool is_float = dtype_is_float(n->out[0]->type.dtype);
  if (!is_float && !dtype_is_int(n->out[0]->type.dtype)) return NULL;
  for (unsigned k = 0; k < 2; k++) { /* the constant's place */
    Value *x = n->in[e->nodes[last->args[!k]].operand];
    const Value *constant = n->in[e->nodes[last->args[k]].operand];
    const bool product = fn == SC_mul || (k == 1 && (fn == SC_div || fn == SC_pow)), sum = fn == SC_add || (k == 1 && fn == SC_sub);
    if ((!product && !sum) || !type_same(&x->type, &n->out[0]->type)) continue;
    if (is_all(constant, product ? 1.0 : is_float && fn == SC_add ? -0.0 : 0.0)) return x;
  }
  return NULL;
}

/* n's result as a constant; NULL: it stays, if only because of what it would take (ret_held). */
static Value *fold_node(Fold *f, Node *n, Hold *ret_held) {
  Chain c = {0};
  size_t bytes;
  *ret_held = HOLD_NOT;
  if (!foldable_op(n) || !type_bytes(&n->out[0]->type, &bytes)) return NULL;
  if (!add_to_chain(f, &c, n)) {
    c = (Chain){0};
    if (!fold_operands(f, n) || !add_to_chain(f, &c, n)) return NULL;
  }
  const Value *v = n->out[0];
  *ret_held = HOLD_CHEAP;
  if (bytes > SMALL && bytes / GROWTH > c.bytes && c.cost < DEAR) return (void)fold_operands(f, n), NULL; /* cheaper to compute than to store */
  if (bytes > SMALL && v->id < f->n_values && f->on_the_way[v->id] && c.n < MOST_NODES / 2) return *ret_held = HOLD_ON_THE_WAY, NULL;
  Value *data = folded(f, &c, bytes);
  if (data || !fold_operands(f, n)) return data;
  c = (Chain){0};
  return add_to_chain(f, &c, n) ? folded(f, &c, bytes) : NULL;
}

static bool fold(Builder *b, const Node *n, Value **ret, void *user) {
  Fold *f = user;
  Hold hold;
  (void)b;
  if ((ret[0] = without_neutral(n)) != NULL) {
    Value *own = held(f, ret[0]) == HOLD_ON_THE_WAY ? fold_alone(f, ret[0]) : NULL;
    if (own) ret[0] = own;
    return true;
  }
  ret[0] = fold_node(f, (Node *)(uintptr_t)n, &hold);
  if (!ret[0] && !hold && (n->op == OP_CONV || n->op == OP_CONTRACT || n->op == OP_RECURRENT)) fold_weights(f, (Node *)(uintptr_t)n);
  if (!ret[0] && hold && n->out[0]->id < f->n_values) f->held[n->out[0]->id] = hold;
  return ret[0] != NULL;
}

/* By id of values of the main graph: whether the only reader is a node of it that is made of constants, as is the value. */
static bool *find_on_the_way(Arena *a, const Ir *ir) {
  bool *constant = NEW_ARRAY(a, bool, ir->n_values), *way = NEW_ARRAY(a, bool, ir->n_values);
  uint32_t *uses = NEW_ARRAY(a, uint32_t, ir->n_values);
  pass_count_uses(ir->main, uses);
  for (size_t i = 0; i < ir->main->nodes.n; i++) {
    const Node *n = ir->main->nodes.data[i];
    size_t bytes;
    bool all = foldable_op(n) && type_bytes(&n->out[0]->type, &bytes);
    for (uint32_t k = 0; k < n->n_in && all; k++) all = !n->in[k] || n->in[k]->data || constant[n->in[k]->id];
    if (!all) continue;
    constant[n->out[0]->id] = true;
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] && !n->in[k]->data && uses[n->in[k]->id] == 1) way[n->in[k]->id] = true;
  }
  return way;
}

bool pass_fold(Ir *ir) {
  size_t own = 0;
  for (size_t i = 0; i < ir->constants.n; i++) own += ir->constants.data[i]->data->n_bytes;
  own -= own < ir->folded_bytes ? own : ir->folded_bytes;
  Arena *scratch = arena_new(arena_door(ir->arena), 0);
  Fold f = {.ir = ir, .limit = MOST + (own < SIZE_MAX / 4 ? 2 * own : own), .most_products = MOST_PRODUCTS + (own < SIZE_MAX / 64 ? PRODUCTS * own : own), .held = NEW_ARRAY(scratch, Hold, ir->n_values), .on_the_way = find_on_the_way(scratch, ir),
            .n_values = ir->n_values};
  (void)pass_rewrite(ir, fold, &f);
  arena_free(scratch);
  return true;
}
