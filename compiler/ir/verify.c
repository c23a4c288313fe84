/* The structure of a graph: what every stage may rely on. */
#include "ir/attr.h"

typedef struct Verify {
  const Ir *ir;
  StrBuf *out;
  const Value **known; /* by id: defined so far and in sight */
  const Node *node;    /* looked at, or NULL */
} Verify;

BASE_PRINTF(2, 3) static bool fault(Verify *v, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (v->node) {
    sb_printf(v->out, "%s", op_names[v->node->op]);
    if (v->node->n_out) sb_printf(v->out, " that makes %%%u", v->node->out[0]->id);
    sb_puts(v->out, ": ");
  }
  sb_vprintf(v->out, fmt, ap);
  va_end(ap);
  return false;
}

/* ---- types and values ---- */
static bool verify_type(Verify *v, const Type *t) {
  if (t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL) return t->elem ? verify_type(v, t->elem) : fault(v, "a sequence or optional of nothing");
  if (t->dtype == DT_NONE || (t->kind == TYPE_MAP && t->key == DT_NONE)) return fault(v, "no element type");
  if (t->kind == TYPE_MAP) return true;
  if (t->rank > MAX_RANK) return fault(v, "rank %u", t->rank);
  for (uint32_t i = 0; i < t->rank; i++)
    if (!t->dims[i] || dim_is_bad(t->dims[i]) || t->dims[i]->hi < 0) return fault(v, "dimension %u of %s is none", i, dtype_name(t->dtype));
  return true;
}

static bool define(Verify *v, const Value *x) {
  if (x->id >= v->ir->n_values) return fault(v, "%%%u is beyond the number of values", x->id);
  if (v->known[x->id]) return fault(v, "%%%u is defined twice", x->id);
  v->known[x->id] = x;
  return verify_type(v, &x->type);
}

static bool in_sight(Verify *v, const Value *x) {
  if (x->id < v->ir->n_values && v->known[x->id] == x) return true;
  return fault(v, "%%%u is not defined before", x->id);
}

static bool verify_constant(Verify *v, const Value *x) {
  int64_t n;
  if (!define(v, x)) return false;
  if (!x->data) return fault(v, "constant %%%u has no content", x->id);
  if (x->data->dtype != x->type.dtype) return fault(v, "the content of %%%u is of another type", x->id);
  if (!dim_is_const(dim_product(v->ir->dims, x->type.dims, x->type.rank), &n) || (uint64_t)n != x->data->n)
    return fault(v, "the content of %%%u has another size", x->id);
  return true;
}

/* ---- shapes ---- */
static bool is_tensor(const Value *x) { return x && x->type.kind == TYPE_TENSOR; }

/* False only when certainly different: what is not certain is checked when the model runs. */
static bool may_equal(Verify *v, const Dim *a, const Dim *b) { return dim_eq(v->ir->dims, a, b) != 0; }

static bool same_shape(Verify *v, const Value *a, const Value *b, uint32_t except) {
  if (a->type.rank != b->type.rank) return false;
  for (uint32_t i = 0; i < a->type.rank; i++)
    if (i != except && !may_equal(v, a->type.dims[i], b->type.dims[i])) return false;
  return true;
}

static bool same_count(Verify *v, const Value *a, const Value *b) {
  return may_equal(v, dim_product(v->ir->dims, a->type.dims, a->type.rank), dim_product(v->ir->dims, b->type.dims, b->type.rank));
}

/* ---- operators ---- */
static bool verify_expr(Verify *v, const Node *n) {
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  const Value *y = n->out[0];
  if (!e->n) return fault(v, "an empty expression");
  for (uint32_t i = 0; i < e->n; i++) {
    const ExprNode *x = &e->nodes[i];
    for (unsigned k = 0; k < expr_node_arity(x); k++)
      if (x->args[k] >= i) return fault(v, "expression node %u reads a later one", i);
    if (x->kind == EXPR_INPUT && (x->operand >= n->n_in || !is_tensor(n->in[x->operand]))) return fault(v, "expression node %u reads operand %u", i, x->operand);
    if (x->kind == EXPR_INPUT && n->in[x->operand]->type.dtype != x->type) return fault(v, "operand %u is read as %s", x->operand, dtype_name(x->type));
    if (x->kind == EXPR_INDEX && x->axis >= y->type.rank) return fault(v, "coordinate %u of %u", x->axis, y->type.rank);
    if (x->kind == EXPR_FN && !scalar_exists(x->fn, expr_fn_type(e, x))) return fault(v, "%s has no form for %s", scalar_rows[x->fn].name, dtype_name(expr_fn_type(e, x)));
  }
  if (expr_type(e) != y->type.dtype) return fault(v, "the expression makes %s", dtype_name(expr_type(e)));
  for (uint32_t k = 0; k < n->n_in; k++) { /* NumPy's broadcasting */
    const Value *x = n->in[k];
    if (!is_tensor(x) || x->type.rank > y->type.rank) return fault(v, "operand %u does not broadcast", k);
    for (uint32_t i = 0; i < x->type.rank; i++)
      if (!dim_is(x->type.dims[i], 1) && !may_equal(v, x->type.dims[i], y->type.dims[y->type.rank - x->type.rank + i])) return fault(v, "operand %u does not broadcast", k);
  }
  return true;
}

static bool verify_affine(Verify *v, const Affine *f) {
  return f->offset && !dim_is_bad(f->offset) ? true : fault(v, "an index without an offset");
}

/* The places that f takes over all of `out`, which is not empty; false where one is not known. */
static bool affine_range(const Affine *f, const Type *out, int64_t *lo, int64_t *hi) {
  if (!dim_is_const(f->offset, lo)) return false;
  *hi = *lo;
  for (uint32_t j = 0; j < out->rank; j++) {
    int64_t n, coef, last;
    if (!affine_coef(f, j)) continue;
    if (!dim_is_const(out->dims[j], &n) || !dim_is_const(affine_coef(f, j), &coef) || !i64_mul(coef, n - 1, &last)) return false;
    if (!i64_add(last < 0 ? *lo : *hi, last, last < 0 ? lo : hi)) return false;
  }
  return true;
}

/* A view reads nothing outside of its operand, as far as sizes are known. */
static bool verify_view(Verify *v, const Node *n) {
  const Type *in = &n->in[0]->type, *out = &n->out[0]->type;
  bool empty = false;
  for (uint32_t j = 0; j < out->rank; j++) empty = empty || dim_is(out->dims[j], 0);
  for (uint32_t i = 0; i < in->rank; i++) {
    const Affine *f = &((const ViewAttr *)n->attr)->index[i];
    int64_t size, lo, hi;
    if (!verify_affine(v, f)) return false;
    if (empty || !dim_is_const(in->dims[i], &size) || !affine_range(f, out, &lo, &hi)) continue;
    if (lo < 0 || hi >= size) return fault(v, "a view of places %lld to %lld along axis %u, which has %lld", (long long)lo, (long long)hi, i, (long long)size);
  }
  return in->dtype == out->dtype ? true : fault(v, "the type changes");
}

static bool verify_axes(Verify *v, const Node *n, const GatherAxis *axes) {
  for (uint32_t i = 0; i < n->in[0]->type.rank; i++) {
    const GatherAxis *g = &axes[i];
    if (!g->indirect) {
      if (!verify_affine(v, &g->affine)) return false;
      continue;
    }
    if (g->operand >= n->n_in || !is_tensor(n->in[g->operand])) return fault(v, "index operand %u", g->operand);
    if (!dtype_is_int(n->in[g->operand]->type.dtype)) return fault(v, "indices of type %s", dtype_name(n->in[g->operand]->type.dtype));
    for (uint32_t j = 0; j < n->in[g->operand]->type.rank; j++)
      if (!verify_affine(v, &g->place[j])) return false;
  }
  return true;
}

static bool verify_pad(Verify *v, const Node *n) {
  const PadAttr *p = n->attr;
  const Value *x = n->in[0], *y = n->out[0];
  DimCtx *c = v->ir->dims;
  if (x->type.rank != y->type.rank) return fault(v, "the rank changes");
  for (uint32_t i = 0; i < x->type.rank; i++)
    if (!may_equal(v, dim_add(c, x->type.dims[i], dim_add(c, p->lo[i], p->hi[i])), y->type.dims[i])) return fault(v, "axis %u has another size", i);
  return true;
}

static bool verify_concat(Verify *v, const Node *n) {
  const uint32_t axis = ((const ConcatAttr *)n->attr)->axis;
  DimCtx *c = v->ir->dims;
  const Dim *sum = c->zero;
  if (axis >= n->out[0]->type.rank) return fault(v, "axis %u", axis);
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (!is_tensor(n->in[k]) || !same_shape(v, n->in[k], n->out[0], axis)) return fault(v, "part %u has another shape", k);
    sum = dim_add(c, sum, n->in[k]->type.dims[axis]);
  }
  return may_equal(v, sum, n->out[0]->type.dims[axis]) ? true : fault(v, "the parts do not add up");
}

static bool verify_reduce(Verify *v, const Node *n) {
  const ReduceAttr *r = n->attr;
  const Value *x = n->in[0], *y = n->out[0];
  if (x->type.rank != y->type.rank || (x->type.rank < 32 && r->axes >> x->type.rank)) return fault(v, "axes 0x%x of rank %u", r->axes, x->type.rank);
  for (uint32_t i = 0; i < x->type.rank; i++)
    if (r->axes >> i & 1 ? !dim_is(y->type.dims[i], 1) : !may_equal(v, x->type.dims[i], y->type.dims[i])) return fault(v, "axis %u has another size", i);
  return true;
}

/* Each label has one size, and what `out` names is there. */
static bool verify_contract(Verify *v, const Node *n) {
  const ContractAttr *c = n->attr;
  const Dim *size[256] = {0};
  const Value *const tensors[] = {n->in[0], n->in[1], n->out[0]};
  const uint8_t *const labels[] = {c->a, c->b, c->out};
  for (int k = 0; k < 3; k++) {
    if (!is_tensor(tensors[k])) return fault(v, "operand %d", k);
    for (uint32_t i = 0; i < tensors[k]->type.rank; i++) {
      const uint8_t label = labels[k][i];
      const Dim *d = tensors[k]->type.dims[i];
      if (k == 2 && !size[label]) return fault(v, "label %u comes from nowhere", label);
      if (size[label] && !may_equal(v, size[label], d)) return fault(v, "label %u has two sizes", label);
      size[label] = d;
    }
  }
  return true;
}

static bool verify_axis(Verify *v, const Node *n, uint32_t axis, uint32_t most) {
  if (axis > most || !is_tensor(n->in[0])) return fault(v, "axis %u", axis);
  return same_shape(v, n->in[0], n->out[0], UINT32_MAX) ? true : fault(v, "the shape changes");
}

/* The channels of [N][blocks][H][W][block], or of a plain [N][C][H][W] where that may be; -1: neither. */
static int64_t blocked_channels(const Value *v, int64_t block, bool plain) {
  int64_t n;
  if (!is_tensor(v) || v->type.dtype != DT_f32 || v->type.rank < 4 || !dim_is_const(v->type.dims[1], &n)) return -1;
  if (v->type.rank == 5 && dim_is(v->type.dims[4], block) && block <= INT32_MAX && n <= INT32_MAX) return n * block;
  return plain && v->type.rank == 4 ? n : -1;
}

static bool verify_slices(Verify *v, const Node *n, const ConvSlices *s) {
  const Dim *in = n->in[0]->type.dims[0], *out = n->out[0]->type.dims[0];
  if (s->out == 0) return may_equal(v, in, out) ? true : fault(v, "the batch changes");
  const bool sound = s->in > 0 && s->in <= INT32_MAX && s->out > 0 && s->out <= INT32_MAX && s->taps > 0 && s->taps <= INT32_MAX && s->stride > 0 && s->stride <= INT32_MAX;
  const int64_t end = sound && s->pad >= 0 && s->pad < s->taps ? (s->out - 1) * s->stride - s->pad : s->in; /* of the last window, its begin */
  if (end >= s->in || n->in[0]->type.rank != 5 || ((const ConvAttr *)n->attr)->group != 1) return fault(v, "slices that are not there");
  DimCtx *d = v->ir->dims;
  return may_equal(v, dim_mulc(d, in, s->out), dim_mulc(d, out, s->in)) ? true : fault(v, "the number of slices");
}

/* Blocked channels: all sizes but the batch are known where pass_layout makes these. */
static bool verify_blocked(Verify *v, const Node *n, int64_t block) {
  const Value *x = n->in[0], *y = n->out[0], *w = n->op == OP_CONV ? n->in[1] : NULL;
  const int64_t in = blocked_channels(x, block, n->op == OP_CONV), out = blocked_channels(y, block, false);
  int64_t m, c;
  if (in < 0 || out < 0) return fault(v, "operands without such blocks");
  if (!w) return may_equal(v, x->type.dims[0], y->type.dims[0]) && in == out ? true : fault(v, "the batch or the channels change");
  const ConvSlices *s = &((const ConvAttr *)n->attr)->slices;
  const int64_t taps = s->out ? s->taps : 1;
  if (!verify_slices(v, n, s)) return false;
  if (!is_tensor(w) || !w->data || w->type.rank != 4 || !dim_is_const(w->type.dims[0], &m) || !dim_is_const(w->type.dims[1], &c))
    return fault(v, "weights that are not constant");
  const int64_t group = ((const ConvAttr *)n->attr)->group;
  if (c < 1 || group < 1) return fault(v, "weights or groups");
  bool fits = x->type.rank == 4 ? c == in : c % taps == 0 && c / taps <= in && c / taps > in - block;
  if (group != 1) fits = x->type.rank == 5 && (c == 1 ? m == in && m == out : m % group == 0 && c <= in / group && c * group > in - block);
  return fits && m <= out && m > out - block ? true : fault(v, "the weights are of other channels");
}

static bool verify_lrn(Verify *v, const Node *n, const LrnAttr *a) {
  const Value *x = n->in[0];
  int64_t blocks, block;
  if (a->size < 1) return fault(v, "a window of %lld channels", (long long)a->size);
  if (!verify_axis(v, n, 2, is_tensor(x) ? x->type.rank : 0)) return false;
  if (a->channels == 0) return true;
  if (x->type.dtype != DT_f32 || x->type.rank != 5 || !dim_is_const(x->type.dims[1], &blocks) || !dim_is_const(x->type.dims[4], &block))
    return fault(v, "operands without such blocks");
  return a->channels > 0 && block > 0 && (a->channels - 1) / block + 1 == blocks ? true : fault(v, "%lld channels", (long long)a->channels);
}

static bool verify_codes(Verify *v, const Node *n, int64_t block) {
  const Value *x = n->in[0], *y = n->out[0];
  int64_t rows, depth, k;
  for (uint32_t i = 1; i < n->n_in; i++)
    if (!is_tensor(n->in[i]) || !n->in[i]->data || n->in[i]->type.rank != 2) return fault(v, "operand %u is no constant matrix", i);
  const DType t = n->in[1]->type.dtype;
  if ((t != DT_u8 && t != DT_u4) || x->type.dtype != DT_f32 || y->type.dtype != DT_f32) return fault(v, "types");
  if (x->type.rank < 1 || x->type.rank == MAX_RANK || y->type.rank != x->type.rank || !dim_is_const(n->in[1]->type.dims[0], &rows) || !dim_is_const(n->in[1]->type.dims[1], &depth)) return fault(v, "shapes");
  if (block < 1 || depth % block || !dim_is_const(x->type.dims[x->type.rank - 1], &k) || k != depth || !dim_is(y->type.dims[x->type.rank - 1], rows)) return fault(v, "blocks of %lld", (long long)block);
  for (uint32_t i = 2; i < n->n_in; i++)
    if (n->in[i]->type.dtype != DT_f32 || !dim_is(n->in[i]->type.dims[0], rows) || !dim_is(n->in[i]->type.dims[1], depth / block)) return fault(v, "operand %u has other blocks", i);
  return true;
}

static bool verify_windows(Verify *v, const Node *n, uint32_t n_spatial) {
  const Value *x = n->in[0], *y = n->out[0];
  if (x->type.rank != n_spatial + 2 || y->type.rank != n_spatial + 2) return fault(v, "rank %u with %u spatial axes", x->type.rank, n_spatial);
  if (!may_equal(v, x->type.dims[0], y->type.dims[0])) return fault(v, "the batch changes");
  if (n->op != OP_CONV) return true;
  const Value *w = n->in[1];
  const int64_t group = ((const ConvAttr *)n->attr)->group;
  if (!is_tensor(w) || w->type.rank != x->type.rank || group < 1) return fault(v, "weights or groups");
  if (!may_equal(v, w->type.dims[0], y->type.dims[1])) return fault(v, "the weights are of other channels");
  return may_equal(v, dim_mulc(v->ir->dims, w->type.dims[1], group), x->type.dims[1]) ? true : fault(v, "the weights are of other channels");
}

static bool verify_body(Verify *v, const Graph *g, const Graph *outer);

static bool verify_branches(Verify *v, const Node *n) {
  const IfAttr *a = n->attr;
  const Graph *const both[] = {a->then_graph, a->else_graph};
  for (int k = 0; k < 2; k++) {
    if (!both[k] || both[k]->outputs.n != n->n_out) return fault(v, "a branch with other outputs");
    if (!verify_body(v, both[k], n->graph)) return false;
    v->node = n;
  }
  return true;
}

static bool tensors_needed(Verify *v, const Node *n) {
  static const uint8_t inputs[OP_COUNT] = {
      [OP_VIEW] = 1, [OP_RESHAPE] = 1, [OP_PAD] = 1, [OP_CONCAT] = 1, [OP_GATHER] = 1, [OP_SCATTER] = 2, [OP_REDUCE] = 1, [OP_SCAN] = 1,
      [OP_CONTRACT] = 2, [OP_CODES] = 3, [OP_CONV] = 2, [OP_POOL] = 1, [OP_LRN] = 1, [OP_SOFTMAX] = 1, [OP_NORM] = 1, [OP_RECURRENT] = 1, [OP_SYMBOLS] = 1, [OP_GRADIENT] = 3, [OP_IF] = 1};
  if (n->op != OP_SYMBOLS && n->op != OP_LOOP && n->op != OP_IF && n->n_out == 0) return fault(v, "no output");
  if (n->n_in < inputs[n->op]) return fault(v, "%u operands", n->n_in);
  for (uint32_t k = 0; k < inputs[n->op]; k++)
    if (!is_tensor(n->in[k])) return fault(v, "operand %u is missing", k);
  return true;
}

static bool verify_arrays(Verify *v, const Node *n) {
  for (size_t i = 0; i < n_attr_fields; i++) {
    const AttrField *f = &attr_fields[i];
    size_t count;
    if (f->op != n->op) continue;
    if (f->count != N_NONE && !attr_count(n, f, &count)) return fault(v, "no length of %s", f->name);
    if ((f->count != N_NONE && count == 0) || (f->count == N_NONE && f->kind != ATTR_AFFINES && f->kind != ATTR_AXES)) continue;
    if (!attr_array(n, f) && n->in[0]->type.rank) return fault(v, "no %s", f->name);
    for (size_t k = 0; f->kind == ATTR_DIMS && k < count; k++) {
      const Dim *d = ((const Dim *const *)attr_array(n, f))[k];
      if (d ? dim_is_bad(d) : n->op != OP_SYMBOLS) return fault(v, "%s of axis %zu is none", f->name, k);
    }
  }
  return true;
}

static bool verify_op(Verify *v, const Node *n) {
  if (!tensors_needed(v, n)) return false;
  if (!n->attr && n->op != OP_RESHAPE) return fault(v, "no attributes");
  if (!verify_arrays(v, n)) return false;
  const uint32_t rank = n->n_in && is_tensor(n->in[0]) ? n->in[0]->type.rank : 0;
  switch (n->op) {
    case OP_POINTWISE: return verify_expr(v, n);
    case OP_VIEW: return verify_view(v, n);
    case OP_RESHAPE:
      if (n->in[0]->type.dtype != n->out[0]->type.dtype) return fault(v, "the type changes");
      return same_count(v, n->in[0], n->out[0]) ? true : fault(v, "the number of elements changes");
    case OP_PAD: return verify_pad(v, n);
    case OP_CONCAT: return verify_concat(v, n);
    case OP_GATHER: return verify_axes(v, n, ((const GatherAttr *)n->attr)->axes);
    case OP_SCATTER: return verify_axes(v, n, ((const ScatterAttr *)n->attr)->axes);
    case OP_REDUCE: return verify_reduce(v, n);
    case OP_SCAN: return ((const ScanAttr *)n->attr)->axis < rank ? verify_axis(v, n, 0, rank) : fault(v, "axis %u", ((const ScanAttr *)n->attr)->axis);
    case OP_CONTRACT: return verify_contract(v, n);
    case OP_CODES: return verify_codes(v, n, ((const CodesAttr *)n->attr)->block);
    case OP_CONV: {
      const ConvAttr *a = n->attr;
      return a->block ? verify_blocked(v, n, a->block) : verify_windows(v, n, a->n_spatial);
    }
    case OP_POOL: {
      const PoolAttr *a = n->attr;
      return a->block ? verify_blocked(v, n, a->block) : verify_windows(v, n, a->n_spatial);
    }
    case OP_LRN: return verify_lrn(v, n, n->attr);
    case OP_SOFTMAX: return ((const SoftmaxAttr *)n->attr)->axis < rank ? verify_axis(v, n, 0, rank) : fault(v, "axis %u", ((const SoftmaxAttr *)n->attr)->axis);
    case OP_NORM: return verify_axis(v, n, ((const NormAttr *)n->attr)->axis, rank);
    case OP_IF: return verify_branches(v, n);
    case OP_LOOP: return verify_body(v, ((const LoopAttr *)n->attr)->body, n->graph);
    default: return true;
  }
}

static bool verify_node(Verify *v, const Graph *g, const Node *n) {
  v->node = n;
  if (n->op >= OP_COUNT || n->graph != g) return fault(v, "of another graph");
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] && !in_sight(v, n->in[k])) return false;
  for (uint32_t k = 0; k < n->n_out; k++) {
    const Value *y = n->out[k];
    if (!y || y->def != n || y->def_index != k || y->graph != g || y->data) return fault(v, "output %u does not know its node", k);
    if (!verify_type(v, &y->type)) return false;
  }
  if (!verify_op(v, n)) return false;
  for (uint32_t k = 0; k < n->n_out; k++)
    if (!define(v, n->out[k])) return false;
  return true;
}

static bool verify_body(Verify *v, const Graph *g, const Graph *outer) {
  if (!g || g->parent != outer) return fault(v, "a body of another graph");
  for (size_t i = 0; i < g->inputs.n; i++)
    if (g->inputs.data[i]->def || g->inputs.data[i]->data ? fault(v, "input %zu has a definition", i), true : !define(v, g->inputs.data[i])) return false;
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i]->dead && !verify_node(v, g, g->nodes.data[i])) return false;
  v->node = NULL;
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!in_sight(v, g->outputs.data[i])) return false;
  /* what is inside is not seen outside */
  for (size_t i = 0; outer && i < g->nodes.n; i++)
    for (uint32_t k = 0; !g->nodes.data[i]->dead && k < g->nodes.data[i]->n_out; k++) v->known[g->nodes.data[i]->out[k]->id] = NULL;
  return true;
}

bool ir_verify(const Ir *ir, StrBuf *ret) {
  Arena *scratch = arena_new(arena_door(ir->arena), 0);
  Verify v = {.ir = ir, .out = ret, .known = NEW_ARRAY(scratch, const Value *, ir->n_values)};
  bool ok = true;
  for (size_t i = 0; ok && i < ir->constants.n; i++) ok = verify_constant(&v, ir->constants.data[i]);
  if (ok && ir->main->outputs.n != ir->main->output_names.n) ok = fault(&v, "outputs without a name");
  ok = ok && verify_body(&v, ir->main, NULL);
  arena_free(scratch);
  return ok;
}
