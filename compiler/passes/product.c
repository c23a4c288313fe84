/* Products of two operands that the call brings, as exporters leave them around attention: queries and keys are each scaled by the root of a factor, so that numbers
 * of 16 bits do not overflow. The operand that has fewer elements, or the first, is scaled by all of it: the other is read where it lies. Scores of many queries, which
 * a softmax reads, perhaps behind a mask, are scaled themselves: whatever computes that has them at hand. */
#include "passes/passes.h"

#include "kernels/thin.h"

enum { MOST_STEPS = 6 };

/* ---- factors ---- */

/* An operand without its factors: the views between, the last one first, and what it is a view of. */
typedef struct Scaled {
  Value *from;
  const Node *views[MOST_STEPS];
  uint32_t n;
  double factor;
} Scaled;

/* Whether a factor leaves f32's range to what is computed. */
static bool is_modest(double factor, double most) {
  const double size = factor < 0 ? -factor : factor;
  return size <= most && size >= 1 / most;
}

/* The operand that n multiplies, or divides, by one modest number; NULL: it does not. */
static Value *scaled_by(Builder *b, const Node *n, double *factor) {
  const double *k;
  size_t count;
  ScalarFn fn;
  if (!pass_is_fn2(n, &fn) || (fn != SC_mul && fn != SC_div)) return NULL;
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  Value *x = n->in[e->nodes[e->nodes[2].args[0]].operand], *y = n->in[e->nodes[e->nodes[2].args[1]].operand];
  if (fn == SC_mul && x->data) x = y, y = n->in[e->nodes[e->nodes[2].args[0]].operand];
  if (x->data || !y->data || y->data->n != 1 || !type_same(&x->type, &n->out[0]->type) || !build_const_floats(b, y, &k, &count)) return NULL;
  if (!is_modest(*k, 0x1p30)) return NULL;
  *factor *= fn == SC_mul ? *k : 1 / *k;
  return x;
}

static Scaled scaled(Builder *b, Value *v) {
  Scaled s = {.from = v, .factor = 1}, here = s;
  for (uint32_t i = 0; i < MOST_STEPS && here.from->def && here.from->def->graph == b->graph; i++) {
    const Node *n = here.from->def;
    Value *x = scaled_by(b, n, &here.factor);
    if (x) {
      here.from = x;
      s = here;
    } else if (pass_is_view(n)) {
      here.views[here.n++] = n;
      here.from = n->in[0];
    } else {
      break;
    }
  }
  return s;
}

/* Its views again, of `from` times a factor. */
static Value *viewed(Builder *b, const Scaled *s, double factor) {
  Value *v = s->from;
  if (factor != 1) v = build_fn2(b, SC_mul, v, build_scalar_f(b, DT_f32, factor));
  for (uint32_t i = s->n; i > 0 && v; i--) {
    const Node *n = s->views[i - 1];
    const Type *t = &n->out[0]->type;
    v = n->op == OP_VIEW ? build_view(b, v, t->rank, t->dims, ((const ViewAttr *)n->attr)->index) : build_reshape(b, v, t->rank, t->dims);
  }
  return v;
}

/* Whether x is known to have more elements. */
static bool is_larger(Builder *b, const Value *x, const Value *than) {
  int64_t n, m;
  const Dim *const sizes[] = {dim_product(b->ir->dims, x->type.dims, x->type.rank), dim_product(b->ir->dims, than->type.dims, than->type.rank)};
  return dim_is_const(sizes[0], &n) && dim_is_const(sizes[1], &m) && n > m;
}

/* ---- scores ---- */
typedef struct Readers {
  const Node **of; /* by value id: the node that alone reads it, else NULL */
  uint32_t n;
} Readers;

static Readers find_readers(Ir *ir) {
  Readers r = {NEW_ARRAY(ir->arena, const Node *, ir->n_values), ir->n_values};
  uint32_t *uses = NEW_ARRAY(ir->arena, uint32_t, ir->n_values);
  pass_count_uses(ir->main, uses);
  for (size_t i = 0; i < ir->main->nodes.n; i++) {
    const Node *n = ir->main->nodes.data[i];
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] && uses[n->in[k]->id] == 1) r.of[n->in[k]->id] = n;
  }
  return r;
}

static const Node *reader_of(const Readers *r, const Value *v) { return v->id < r->n ? r->of[v->id] : NULL; }

static bool is_few(const Node *n, uint32_t operand) {
  const int64_t rows = pass_own_size(n, operand);
  return rows > 0 && rows <= CN_THIN_ROWS;
}

static bool is_of_scores(const Readers *r, const Node *n) {
  const Node *next = reader_of(r, n->out[0]);
  ScalarFn fn;
  if (next && pass_is_fn2(next, &fn) && fn == SC_add) next = reader_of(r, next->out[0]);
  return next && next->op == OP_SOFTMAX && !is_few(n, 0) && !is_few(n, 1);
}

static bool join_factors(Builder *b, const Node *n, Value **ret, void *user) {
  if (!pass_is_product_of_calls(n)) return false;
  const ContractAttr *attr = n->attr;
  const Scaled a = scaled(b, n->in[0]), c = scaled(b, n->in[1]);
  if (a.factor * c.factor != 1 && is_modest(a.factor * c.factor, 0x1p60) && is_of_scores(user, n)) {
    Value *x = viewed(b, &a, 1), *y = viewed(b, &c, 1);
    Value *v = x && y ? build_contract(b, x, attr->a, y, attr->b, attr->out, n->out[0]->type.rank, attr->acc, NULL, NULL) : NULL;
    ret[0] = v ? build_fn2(b, SC_mul, v, build_scalar_f(b, DT_f32, a.factor * c.factor)) : NULL;
    return ret[0] != NULL;
  }
  const bool second = is_larger(b, n->in[0], n->in[1]); /* takes the factor */
  const Scaled *const loses = second ? &a : &c;
  if (loses->factor == 1 || (!second && a.factor == 1 && !is_larger(b, n->in[1], n->in[0]))) return false;
  const double factor = a.factor * c.factor;
  if (!is_modest(factor, 0x1p60)) return false;
  Value *x = viewed(b, &a, second ? 1 : factor), *y = viewed(b, &c, second ? factor : 1);
  ret[0] = x && y ? build_contract(b, x, attr->a, y, attr->b, attr->out, n->out[0]->type.rank, attr->acc, NULL, NULL) : NULL;
  return ret[0] != NULL;
}

bool pass_product(Ir *ir) {
  Readers readers = find_readers(ir);
  if (pass_rewrite(ir, join_factors, &readers)) (void)pass_simplify(ir);
  return true;
}
