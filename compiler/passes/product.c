/* Products of two operands that the call brings, as exporters leave them around attention. Keys and values are many, and are to be read where they lie:
 *   - queries and keys are each scaled by the root of a factor, so that numbers of 16 bits do not overflow: the operand that has fewer elements, or the first, is
 *     scaled by all of it;
 *   - heads that share keys and values have copies of them, side by side: few queries become more rows of fewer products instead. */
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

static bool is_of_calls(const Node *n) {
  if (n->op != OP_CONTRACT || ((const ContractAttr *)n->attr)->acc != DT_f32) return false;
  return n->in[0]->type.dtype == DT_f32 && n->in[1]->type.dtype == DT_f32 && !n->in[0]->data && !n->in[1]->data;
}

static bool join_factors(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  if (!is_of_calls(n)) return false;
  const ContractAttr *attr = n->attr;
  const Scaled a = scaled(b, n->in[0]), c = scaled(b, n->in[1]);
  const bool second = is_larger(b, n->in[0], n->in[1]); /* takes the factor */
  const Scaled *const loses = second ? &a : &c;
  if (loses->factor == 1 || (!second && a.factor == 1 && !is_larger(b, n->in[1], n->in[0]))) return false;
  const double factor = a.factor * c.factor;
  if (!is_modest(factor, 0x1p60)) return false;
  Value *x = viewed(b, &a, second ? 1 : factor), *y = viewed(b, &c, second ? factor : 1);
  ret[0] = x && y ? build_contract(b, x, attr->a, y, attr->b, attr->out, n->out[0]->type.rank, attr->acc, NULL, NULL) : NULL;
  return ret[0] != NULL;
}

/* ---- copies ---- */
/* An operand that has each part of `from` along one axis several times, behind permutations of axes, the last one first. */
typedef struct Repeated {
  const Node *copies, *views[MOST_STEPS]; /* a view that does not depend on its axis + 1 */
  uint32_t n, axis, outer;                /* axis: of the copies and of what follows; outer: of the operand */
  int64_t parts, times;
} Repeated;

/* The axis of a permuted value that has the operand's axis j; UINT32_MAX: the view does something else. */
static uint32_t permuted(const Node *view, uint32_t j) {
  const Type *from = &view->in[0]->type, *to = &view->out[0]->type;
  uint32_t seen = 0, ret = UINT32_MAX;
  if (view->op != OP_VIEW || from->rank != to->rank) return UINT32_MAX;
  for (uint32_t a = 0; a < from->rank; a++) {
    const Affine *f = &((const ViewAttr *)view->attr)->index[a];
    uint32_t at = UINT32_MAX;
    if (!dim_is(f->offset, 0)) return UINT32_MAX;
    for (uint32_t k = 0; k < to->rank; k++) {
      const Dim *c = affine_coef(f, k);
      if (c && (at != UINT32_MAX || !dim_is(c, 1) || to->dims[k] != from->dims[a])) return UINT32_MAX;
      if (c) at = k;
    }
    if (at == UINT32_MAX || seen >> at & 1) return UINT32_MAX;
    seen |= 1u << at;
    if (a == j) ret = at;
  }
  return ret;
}

/* The axis that joins two neighbours of what is reshaped, all others staying; UINT32_MAX: there is none. */
static uint32_t joined_axis(const Type *from, const Type *to) {
  uint32_t axis = 0;
  if (from->rank != to->rank + 1) return UINT32_MAX;
  while (axis < to->rank && from->dims[axis] == to->dims[axis]) axis++;
  for (uint32_t a = axis + 1; a < to->rank; a++)
    if (from->dims[a + 1] != to->dims[a]) return UINT32_MAX;
  return axis < to->rank ? axis : UINT32_MAX;
}

static bool is_repeated(const Builder *b, const Value *v, Repeated *r) {
  *r = (Repeated){0};
  while (v->def && v->def->graph == b->graph && v->def->op == OP_VIEW && r->n < MOST_STEPS && permuted(v->def, 0) != UINT32_MAX) {
    r->views[r->n++] = v->def;
    v = v->def->in[0];
  }
  if (!v->def || v->def->op != OP_RESHAPE || !v->def->in[0]->def || v->def->in[0]->def->op != OP_VIEW) return false;
  r->copies = v->def->in[0]->def;
  if (v->def->graph != b->graph || r->copies->graph != b->graph) return false; /* copied once, outside of a loop */
  const Type *from = &r->copies->out[0]->type;
  r->axis = r->outer = joined_axis(from, &v->type);
  if (r->axis == UINT32_MAX || !dim_is_const(from->dims[r->axis], &r->parts) || !dim_is_const(from->dims[r->axis + 1], &r->times) || r->times < 2) return false;
  for (uint32_t a = 0; a < r->copies->in[0]->type.rank; a++)
    if (affine_coef(&((const ViewAttr *)r->copies->attr)->index[a], r->axis + 1)) return false;
  for (uint32_t i = r->n; i > 0; i--) r->outer = permuted(r->views[i - 1], r->outer);
  return true;
}

/* The operand with one of each part. */
static Value *single(Builder *b, const Repeated *r) {
  const Type *t = &r->copies->out[0]->type;
  const uint32_t from = r->copies->in[0]->type.rank;
  const Dim *dims[MAX_RANK];
  Affine *index = NEW_ARRAY(b->ir->arena, Affine, from);
  for (uint32_t j = 0; j + 1 < t->rank; j++) dims[j] = t->dims[j + (j > r->axis)];
  for (uint32_t a = 0; a < from; a++) {
    const Affine *f = &((const ViewAttr *)r->copies->attr)->index[a];
    const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, t->rank);
    for (uint32_t j = 0; j + 1 < t->rank; j++) coef[j] = f->coef ? f->coef[j + (j > r->axis)] : NULL;
    index[a] = (Affine){f->offset, coef};
  }
  Value *v = build_view(b, r->copies->in[0], t->rank - 1, dims, index);
  uint32_t axis = r->axis;
  for (uint32_t i = r->n; i > 0 && v; i--) {
    const Type *to = &r->views[i - 1]->out[0]->type;
    axis = permuted(r->views[i - 1], axis);
    for (uint32_t j = 0; j < to->rank; j++) dims[j] = to->dims[j];
    dims[axis] = dim_const(b->ir->dims, r->parts);
    v = build_view(b, v, to->rank, dims, ((const ViewAttr *)r->views[i - 1]->attr)->index);
  }
  return v;
}

/* v with its axis in two, of parts and times. */
static Value *split_axis(Builder *b, Value *v, uint32_t axis, const Repeated *r) {
  const uint32_t rank = v->type.rank;
  const Dim *dims[MAX_RANK], *times = dim_const(b->ir->dims, r->times);
  Affine *index = NEW_ARRAY(b->ir->arena, Affine, rank);
  for (uint32_t j = 0; j < rank; j++) {
    dims[j + (j > axis)] = v->type.dims[j];
    index[j] = build_affine_coord(b, rank + 1, j + (j > axis));
  }
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, rank + 1);
  for (uint32_t j = 0; j <= rank; j++) coef[j] = j == axis ? times : j == axis + 1 ? b->ir->dims->one : NULL;
  index[axis].coef = coef;
  dims[axis] = dim_const(b->ir->dims, r->parts);
  dims[axis + 1] = times;
  return build_view(b, v, rank + 1, dims, index);
}

static uint32_t label_axis(const uint8_t *labels, uint32_t rank, uint8_t label) {
  uint32_t a = 0;
  while (a < rank && labels[a] != label) a++;
  return a;
}

/* labels with `more` behind the one at axis. */
static const uint8_t *with_label(Builder *b, const uint8_t *labels, uint32_t rank, uint32_t axis, uint8_t more) {
  uint8_t *r = NEW_ARRAY(b->ir->arena, uint8_t, rank + 1);
  for (uint32_t j = 0; j < rank; j++) r[j + (j > axis)] = labels[j];
  r[axis + 1] = more;
  return r;
}

static uint8_t free_label(const Node *n) {
  const ContractAttr *attr = n->attr;
  uint8_t label = 0;
  while (label_axis(attr->a, n->in[0]->type.rank, label) < n->in[0]->type.rank || label_axis(attr->b, n->in[1]->type.rank, label) < n->in[1]->type.rank) label++;
  return label;
}

static bool join_heads(Builder *b, const Node *n, Value **ret, void *user) {
  Repeated r;
  (void)user;
  if (!is_of_calls(n) || n->out[0]->type.rank >= MAX_RANK || n->in[0]->type.rank >= MAX_RANK || !is_repeated(b, n->in[1], &r)) return false;
  const ContractAttr *attr = n->attr;
  Value *x = n->in[0], *y = n->in[1];
  const Type *out = &n->out[0]->type;
  const uint8_t head = attr->b[r.outer], more = free_label(n);
  const uint32_t own = label_axis(attr->a, x->type.rank, head), place = label_axis(attr->out, out->rank, head);
  const int64_t rows = pass_own_size(n, 0);
  if (own == x->type.rank || place == out->rank || x->type.dims[own] != y->type.dims[r.outer] || rows < 1 || rows > CN_THIN_ROWS / r.times) return false;
  x = split_axis(b, x, own, &r);
  y = single(b, &r);
  Value *v = x && y ? build_contract(b, x, with_label(b, attr->a, n->in[0]->type.rank, own, more), y, attr->b, with_label(b, attr->out, out->rank, place, more),
                                     out->rank + 1, attr->acc, NULL, NULL) : NULL;
  ret[0] = v ? build_reshape(b, v, out->rank, out->dims) : NULL;
  return ret[0] != NULL;
}

bool pass_product(Ir *ir) {
  const bool factors = pass_rewrite(ir, join_factors, NULL);
  if (pass_rewrite(ir, join_heads, NULL) || factors) (void)pass_simplify(ir);
  return true;
}
