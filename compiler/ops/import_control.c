/* If, Loop, Scan. Bodies become graphs inside of the node; Loop and Scan are one LOOP: its body reads what it scans at the place that the
 * iteration's number tells. A size of a state that an iteration may change is a symbol of the body: which ones do is found by
 * importing the body until its results are as its inputs. */
#include "ops/import_loop.h"

/* ---- If -------------------------------------------------------------------------------------------------------------------- */
static Value *as_scalar(Builder *b, Value *v) { return build_reshape(b, v, 0, NULL); }

/* 1, 0, or -1 where only data tells. */
static int truth(Builder *b, Value *v) {
  const int64_t *known;
  size_t n;
  return build_const_ints(b, v, &known, &n) && n == 1 ? known[0] != 0 : -1;
}

static bool take_branch(OpContext *c, const OnnxGraph *g) {
  size_t n;
  c->importer->inlining = c->node;
  Value **found = op_inline(c, g, NULL, 0, &n);
  if (!found) return false;
  if (n < c->n_out) return op_fail(c, DIAG_E0305, "the branch has %zu outputs, the node %zu", n, c->n_out);
  for (size_t k = 0; k < c->n_out; k++) c->out[k] = found[k];
  return true;
}

typedef VEC(JoinedDim) JoinedDims;

/* The type that stands for both branches' results. */
static bool join_types(OpContext *c, size_t k, const Value *x, const Value *y, JoinedDims *joined, Type *ret) {
  DimCtx *d = c->b.ir->dims;
  const Dim *dims[MAX_RANK];
  if (x->type.kind != TYPE_TENSOR || y->type.kind != TYPE_TENSOR) return op_unsupported(c, "output %zu is no tensor", k);
  if (x->type.dtype != y->type.dtype) return op_fail(c, DIAG_E0401, "output %zu has element type %s in one branch, %s in the other", k, dtype_name(x->type.dtype), dtype_name(y->type.dtype));
  if (x->type.rank != y->type.rank) return op_unsupported(c, "output %zu has rank %u in one branch, %u in the other", k, x->type.rank, y->type.rank);
  for (uint32_t a = 0; a < x->type.rank; a++) {
    const Dim *t = x->type.dims[a], *e = y->type.dims[a];
    dims[a] = t;
    if (t == e) continue;
    const Dim *bound = dim_has_data(t) || dim_has_data(e) ? NULL : dim_max(d, t, e);
    dims[a] = bd_data_symbol(&c->b, "joined", t->lo < e->lo ? t->lo : e->lo, t->hi > e->hi ? t->hi : e->hi, bound);
    vec_push(c->b.ir->arena, *joined, ((JoinedDim){dims[a], t, e}));
  }
  *ret = type_tensor(c->b.ir, x->type.dtype, x->type.rank, dims);
  return build_seq_merge(&c->b, &x->type, &y->type, &ret->seq) || op_fail(c, DIAG_E0401, "output %zu is of another kind in one branch than in the other", k);
}

/* Joins the branches' results: the node, or NULL after a diagnostic. */
static const Node *make_if(OpContext *c, Value *cond, Graph *on_then, Graph *on_else) {
  IfAttr *attr = NEW(c->b.ir->arena, IfAttr);
  const size_t n = on_then->outputs.n;
  JoinedDims joined = {0};
  Type *types = NEW_ARRAY(c->b.ir->arena, Type, n);
  for (size_t k = 0; k < n; k++)
    if (!join_types(c, k, on_then->outputs.data[k], on_else->outputs.data[k], &joined, &types[k])) return NULL;
  *attr = (IfAttr){.then_graph = on_then, .else_graph = on_else, .joined = joined.data, .n_joined = (uint32_t)joined.n};
  return graph_add_node(c->b.graph, OP_IF, &cond, 1, types, n, attr, c->b.place);
}

static bool ranks_agree(const Graph *x, const Graph *y) {
  for (size_t k = 0; k < x->outputs.n; k++)
    if (x->outputs.data[k]->type.rank != y->outputs.data[k]->type.rank) return false;
  return true;
}

bool import_if(OpContext *c) {
  const OnnxGraph *on_then = op_graph(c, "then_branch"), *on_else = op_graph(c, "else_branch");
  Ir *ir = c->b.ir;
  const int known = truth(&c->b, op_in(c, 0));
  if (known >= 0) return take_branch(c, known ? on_then : on_else);
  const size_t n_checks = ir->n_checks;
  Value *cond = as_scalar(&c->b, op_in(c, 0));
  Graph *x = cond ? op_body(c, on_then, 0, NULL, NULL) : NULL, *y = x ? op_body(c, on_else, 0, NULL, NULL) : NULL;
  if (!y) return false;
  if (x->outputs.n != y->outputs.n || x->outputs.n < c->n_out)
    return op_fail(c, DIAG_E0305, "the branches have %zu and %zu outputs, the node %zu", x->outputs.n, y->outputs.n, c->n_out);
  if (!ranks_agree(x, y)) {
    ir->n_checks = n_checks; /* the branches are imported again */
    c->importer->split = (Split){.node = c->node, .cond = cond, .branches = {on_then, on_else}};
    return false;
  }
  const Node *made = make_if(c, cond, x, y);
  for (size_t k = 0; made && k < c->n_out; k++) c->out[k] = made->out[k];
  return made != NULL;
}

/* ---- If of different ranks ---- */
/* The nodes that a branch stands for and the rests of all lists behind it; the last scope of them is left to be looked at. */
static bool import_chain(OpContext *c, const Split *split, int which) {
  Importer *im = c->importer;
  size_t n = 0;
  im->scope = split->rests.data[0].scope;
  im->scope = scope_new(im);
  Value **results = op_inline(c, split->branches[which], NULL, 0, &n);
  for (size_t i = 0; results && i < split->rests.n; i++) {
    const Rest *r = &split->rests.data[i];
    for (size_t k = 0; k < r->node->n_outputs && k < n; k++) scope_bind(im, r->node->outputs[k], results[k]);
    if (!import_nodes_from(im, r->list, r->from)) return false;
    if (i + 1 == split->rests.n) return true;
    n = r->list->n_seen; /* what the next If gets of this list */
    results = NEW_ARRAY(im->a, Value *, n);
    for (size_t k = 0; k < n; k++) {
      const Binding *b = scope_find(im->scope, r->list->seen[k]);
      results[k] = b ? b->value : NULL;
    }
    im->scope = split->rests.data[i + 1].scope;
    im->scope = scope_new(im);
  }
  return false;
}

/* A branch and all that follows it, with what is seen of that as its outputs. */
static Graph *branch_and_rest(OpContext *c, const Split *split, int which, const Str *wanted, size_t n_wanted) {
  Importer *im = c->importer;
  Scope *outer = im->scope;
  Graph *g = graph_new(im->ir, im->graph), *around = op_enter(c, g);
  im->depth++;
  bool ok = import_chain(c, split, which);
  for (size_t k = 0; ok && k < n_wanted; k++) {
    const Binding *b = scope_find(im->scope, wanted[k]);
    ok = b && b->value;
    if (!ok) break;
    vec_push(im->a, g->outputs, b->value);
    vec_push(im->a, g->output_names, wanted[k]);
  }
  im->depth--;
  im->scope = outer;
  (void)op_enter(c, around);
  return ok ? g : NULL;
}

bool import_only_misfits(const Diags *d, size_t from) {
  bool any = d->n_dropped == 0 && d->list.n > from;
  for (size_t i = from; i < d->list.n; i++) any = any && (d->list.data[i].code == DIAG_E0401 || d->list.data[i].code == DIAG_E0402 || d->list.data[i].code == DIAG_E0304);
  return any;
}

/* One branch is the only one that what follows fits: the condition has to choose it, or the call ends with CASTNET_ERR_DIM. */
static bool take_only_branch(OpContext *c, const Split *split, int which, const Str *wanted, size_t n_wanted) {
  Importer *im = c->importer;
  const int64_t want = which == 0;
  Scope *outer = im->scope;
  size_t n = 0;
  Value *cond = build_cast(&c->b, split->cond, DT_s64, true);
  if (!build_read_dims(&c->b, cond, "condition", want, want, NULL, &n)) return false;
  const bool ok = import_chain(c, split, which);
  Scope *inner = im->scope;
  im->scope = outer;
  for (size_t k = 0; k < n_wanted; k++) {
    const Binding *b = scope_find(inner, wanted[k]);
    scope_bind(im, wanted[k], ok && b ? b->value : NULL);
  }
  return ok;
}

static size_t not_yet_bound(const Importer *im, const NodeList *l, Str *ret) {
  size_t n = 0;
  for (size_t k = 0; k < l->n_seen; k++)
    if (!scope_find(im->scope, l->seen[k])) ret[n++] = l->seen[k];
  return n;
}

bool import_behind_branches(Importer *im, const NodeList *l, size_t from, DiagPlace place) {
  Split split = im->split;
  Diags *d = im->diags;
  Str *wanted = NEW_ARRAY(im->a, Str, l->n_seen);
  const size_t n_said = d->list.n, n_checks = im->ir->n_checks, n = not_yet_bound(im, l, wanted);
  vec_push(im->a, split.rests, ((Rest){split.node, l, from, im->scope}));
  im->split = (Split){0};
  OpContext c = {.b = {im->ir, im->graph, place}, .node = split.node, .in = NEW_ARRAY(im->a, Value *, 1), .importer = im};
  Graph *branches[2];
  bool misfit[2];
  for (int which = 0; which < 2; which++) {
    const size_t before = d->list.n;
    branches[which] = branch_and_rest(&c, &split, which, wanted, n);
    misfit[which] = !branches[which] && import_only_misfits(d, before);
  }
  const bool both = branches[0] && branches[1];
  if ((both && l->inlined && !ranks_agree(branches[0], branches[1])) || (branches[0] && misfit[1]) || (branches[1] && misfit[0])) {
    d->list.n = n_said;
    im->ir->n_checks = n_checks;
    if (!both) return take_only_branch(&c, &split, misfit[0], wanted, n);
    im->split = split; /* with what follows the If that this list is the branch of */
    im->split.node = l->inlined;
    return false;
  }
  const Node *made = both ? make_if(&c, split.cond, branches[0], branches[1]) : NULL;
  for (size_t k = 0; k < n; k++) scope_bind(im, wanted[k], made ? made->out[k] : NULL);
  return made != NULL;
}

/* ---- loops ----------------------------------------------------------------------------------------------------------------- */
static const Dim *iteration_from_end(const Loop *l) {
  return dim_sub(l->c->b.ir->dims, dim_addc(l->c->b.ir->dims, l->trips, -1), l->iteration);
}

/* x at one place of an axis, which it loses. */
static Value *place_of(Builder *b, Value *x, uint32_t axis, const Dim *place) {
  const uint32_t rank = x->type.rank;
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  for (uint32_t i = 0, o = 0; i < rank; i++) {
    if (i == axis) {
      index[i] = build_affine_const(b, rank - 1, place);
      continue;
    }
    index[i] = build_affine_coord(b, rank - 1, o);
    dims[o++] = x->type.dims[i];
  }
  return build_view(b, x, rank - 1, dims, index);
}

/* Of the rank that the body declares: exporters write both [] and [1]. */
static Value *as_declared(Builder *b, Value *scalar, const OnnxType *t) {
  const bool vector = t && t->kind == ONNX_TYPE_TENSOR && t->has_shape && t->n_dims == 1;
  return vector ? build_reshape(b, scalar, 1, (const Dim *[]){b->ir->dims->one}) : scalar;
}

static Value *body_input(OpContext *c, Builder *b, size_t i, void *user) {
  const Loop *l = user;
  (void)c;
  if (l->counted && i == 0) return as_declared(b, build_dim_scalar(b, l->iteration), l->body->inputs[0].type);
  if (l->counted && i == 1) return as_declared(b, build_scalar_i(b, DT_b1, 1), l->body->inputs[1].type); /* it runs, so it is true */
  i -= l->counted ? 2 : 0;
  if (i < l->n_states) {
    Value *v = graph_add_value(b->graph, l->types[i], l->body->inputs[i + (l->counted ? 2 : 0)].name);
    vec_push(b->ir->arena, b->graph->inputs, v);
    return v;
  }
  const Scanned *s = &l->scanned[i - l->n_states];
  return place_of(b, s->x, s->axis, s->reverse ? iteration_from_end(l) : l->iteration);
}

static Graph *import_onnx_body(Loop *l) {
  return op_body(l->c, l->body, (l->counted ? 2 : 0) + l->n_states + l->n_scanned, body_input, l);
}

static bool is_carried(const Loop *l, const Dim *d) {
  for (size_t i = 0; i < l->carried.n; i++)
    if (l->carried.data[i].dim.symbol == d) return true;
  return false;
}

static void carry(Loop *l, uint32_t state, uint32_t axis) {
  Builder *b = &l->c->b;
  const Dim **dims = (const Dim **)(uintptr_t)l->types[state].dims;
  Carried c = {.state = state, .axis = axis, .dim = {.init = dims[axis]}};
  c.dim.symbol = bd_data_symbol(b, "carried", 0, INT32_MAX, NULL);
  c.dim.last = bd_data_symbol(b, "last", 0, INT32_MAX, NULL);
  vec_push(b->ir->arena, l->carried, c);
  dims[axis] = c.dim.symbol;
}

/* What a sequence holds, as general as both need; true where that is more than it was. */
static bool widen(Loop *l, uint32_t state, const Type *next, bool *ret_ok) {
  Type *now = &l->types[state];
  const SeqType *before = now->seq;
  *ret_ok = build_seq_merge(&l->c->b, now, next, &now->seq) || op_fail(l->c, DIAG_E0401, "state %u is of another kind after an iteration", state);
  return now->seq != before;
}

/* Compares the states with what an iteration makes of them; true where more sizes have to be carried. */
static bool states_change(Loop *l, const Graph *g, bool *ret_ok) {
  const size_t first = l->counted;
  bool changed = false;
  for (uint32_t k = 0; k < l->n_states && *ret_ok; k++) {
    const Type *next = &g->outputs.data[first + k]->type, *now = &l->types[k];
    if (next->kind != TYPE_TENSOR) *ret_ok = op_unsupported(l->c, "state %u is no tensor", k);
    else if (next->dtype != now->dtype) *ret_ok = op_fail(l->c, DIAG_E0401, "state %u has element type %s, and %s after an iteration", k, dtype_name(now->dtype), dtype_name(next->dtype));
    else if (next->rank != now->rank) *ret_ok = op_unsupported(l->c, "state %u has rank %u, and %u after an iteration", k, now->rank, next->rank);
    for (uint32_t a = 0; *ret_ok && a < now->rank; a++) {
      if (next->dims[a] == now->dims[a] || is_carried(l, now->dims[a])) continue;
      carry(l, k, a);
      changed = true;
    }
    if (*ret_ok) changed = widen(l, k, next, ret_ok) || changed;
  }
  return changed;
}

/* A body may be wrong for the first sizes alone where those are 0: nothing to work on yet. */
static bool carry_empty(Loop *l) {
  bool any = false;
  for (uint32_t k = 0; k < l->n_states; k++)
    for (uint32_t a = 0; a < l->types[k].rank; a++)
      if (dim_is(l->types[k].dims[a], 0)) carry(l, k, a), any = true;
  return any;
}

/* The body, its states' sizes as general as they have to be. */
static Graph *settled_body(Loop *l) {
  Ir *ir = l->c->b.ir;
  const size_t n_checks = ir->n_checks, n_said = ir->diags->list.n, n_dropped = ir->diags->n_dropped;
  for (;;) {
    ir->n_checks = n_checks; /* those of an import that is given up */
    Graph *g = l->import(l);
    bool ok = true;
    if (!g) {
      if (ir->diags->n_dropped != n_dropped || !carry_empty(l)) return NULL;
      ir->diags->list.n = n_said;
      continue;
    }
    if (g->outputs.n < l->counted + l->n_states) return (void)op_fail(l->c, DIAG_E0305, "the body has %zu outputs for %zu states", g->outputs.n, l->n_states), NULL;
    if (!states_change(l, g, &ok)) return ok ? g : NULL;
  }
}

/* ---- what a loop gives ---- */
typedef struct Inner { size_t first; bool found; } Inner;

static void see_symbol(void *user, const Dim *symbol) {
  Inner *in = user;
  in->found = in->found || symbol->symbol.index >= in->first;
}

/* Whether it may differ from one iteration to the next. */
static bool is_inner(const Loop *l, const Dim *d) {
  Inner in = {l->first_symbol, false};
  dim_each_symbol(d, see_symbol, &in);
  return in.found;
}

static bool fixed_size(const Loop *l, const Type *t) {
  for (uint32_t a = 0; a < t->rank; a++)
    if (is_inner(l, t->dims[a])) return false;
  return true;
}

enum { MOST_UNUSED = 1 << 12 }; /* elements kept for iterations that may not come */

/* Stacked where it belongs as the iterations go, if its size is known before. */
static bool stacks_in_place(const Loop *l, const Type *element, bool conditional) {
  DimCtx *d = l->c->b.ir->dims;
  if (!fixed_size(l, element)) return false;
  if (!conditional) return true;
  const Dim *n = dim_mul(d, l->trips, dim_product(d, element->dims, element->rank));
  return n->hi <= MOST_UNUSED;
}

typedef struct Made { /* the LOOP node as it grows */
  Loop *l;
  Graph *body;
  Builder b;                /* in the body */
  bool conditional;
  VEC(CarriedDim) carried;
  VEC(Value *) in;          /* the first condition, states */
  VEC(Value *) next;        /* results of the body: the condition, states, elements */
  VEC(Value *) elements;
  VEC(Type) types;          /* of the node's results */
  VEC(Type) stacked;
} Made;

static const Dim *after(const Made *m, const Dim *d) {
  for (size_t i = 0; i < m->carried.n; i++)
    if (m->carried.data[i].symbol == d) return m->carried.data[i].last;
  return d;
}

static Type after_type(const Made *m, const Type *t) {
  const Dim *dims[MAX_RANK];
  for (uint32_t a = 0; a < t->rank; a++) dims[a] = after(m, t->dims[a]);
  return type_tensor(m->l->c->b.ir, t->dtype, t->rank, dims);
}

static const Dim *carry_dim(Made *m, const Dim *init, const Dim *next) {
  Builder *b = &m->l->c->b;
  const CarriedDim c = {.symbol = bd_data_symbol(b, "carried", 0, INT64_MAX, NULL), .last = bd_data_symbol(b, "last", 0, INT64_MAX, NULL), .init = init, .next = next};
  vec_push(b->ir->arena, m->carried, c);
  return c.symbol;
}

/* An element whose place is not known before: appended to a state of one axis. ret_dims: the element's sizes after the loop. */
static bool append(Made *m, Value *element, const Dim **ret_dims) {
  Ir *ir = m->l->c->b.ir;
  DimCtx *d = ir->dims;
  const Type *t = &element->type;
  const size_t at = m->carried.n;
  const Dim *size = carry_dim(m, d->zero, NULL), *count = dim_product(d, t->dims, t->rank);
  Value *state = graph_add_value(m->body, type_tensor(ir, t->dtype, 1, &size), (Str){0});
  Value *both[] = {state, build_reshape(&m->b, element, 1, &count)};
  Value *next = both[1] ? build_concat(&m->b, both, 2, 0) : NULL;
  if (!next) return false;
  m->carried.data[at].next = next->type.dims[0];
  vec_push(ir->arena, m->body->inputs, state);
  vec_push(ir->arena, m->next, next);
  vec_push(ir->arena, m->in, build_tensor(&m->l->c->b, t->dtype, 1, (const int64_t[]){0}, ""));
  vec_push(ir->arena, m->types, after_type(m, &state->type));
  for (uint32_t a = 0; a < t->rank; a++) ret_dims[a] = is_inner(m->l, t->dims[a]) ? after(m, carry_dim(m, d->zero, t->dims[a])) : t->dims[a];
  return true;
}

static void add_states(Made *m, size_t first) {
  Loop *l = m->l;
  Arena *a = l->c->b.ir->arena;
  for (size_t i = 0; i < l->carried.n; i++) {
    const Carried *c = &l->carried.data[i];
    CarriedDim d = c->dim;
    d.next = m->body->outputs.data[first + c->state]->type.dims[c->axis];
    vec_push(a, m->carried, d);
  }
  for (size_t k = 0; k < l->n_states; k++) {
    vec_push(a, m->in, l->init[k]);
    vec_push(a, m->next, m->body->outputs.data[first + k]);
    Type last = after_type(m, &l->types[k]);
    last.seq = m->body->outputs.data[first + k]->type.seq;
    vec_push(a, m->types, last);
  }
}

/* Elements that are stacked in place, and those that are appended: what each is once the loop has run. */
typedef struct Result {
  bool in_place;
  size_t at; /* among the stacked ones, or the states */
  uint32_t rank;
  const Dim *dims[MAX_RANK]; /* [rank] of all elements together */
} Result;

static bool add_result(Made *m, Value *element, const Dim *count, Result *ret) {
  Ir *ir = m->l->c->b.ir;
  *ret = (Result){.in_place = stacks_in_place(m->l, &element->type, m->conditional), .rank = element->type.rank + 1};
  ret->dims[0] = count;
  if (element->type.seq) return op_fail(m->l->c, DIAG_E0401, "a stacked output is a sequence or optional");
  if (ret->rank > MAX_RANK) return op_unsupported(m->l->c, "a stacked output of rank %u", ret->rank);
  if (ret->in_place) {
    for (uint32_t a = 0; a < element->type.rank; a++) ret->dims[a + 1] = element->type.dims[a];
    ret->at = m->stacked.n;
    vec_push(ir->arena, m->stacked, type_tensor(ir, element->type.dtype, ret->rank, ret->dims));
    vec_push(ir->arena, m->elements, element);
    return true;
  }
  ret->at = m->next.n - m->conditional;
  return append(m, element, ret->dims + 1);
}

static bool is_certain(Builder *b, const Loop *l, const Graph *g) { return !l->counted || (truth(b, g->outputs.data[0]) == 1 && !l->cond); }

static const Node *add_loop(Made *m, const Dim *done) {
  Loop *l = m->l;
  Ir *ir = l->c->b.ir;
  LoopAttr *attr = NEW(ir->arena, LoopAttr);
  *attr = (LoopAttr){.body = m->body, .iteration = l->iteration, .trips = l->trips, .done = done, .n_states = (uint32_t)(m->in.n - 1),
                     .n_stacked = (uint32_t)m->elements.n, .carried = m->carried.data, .n_carried = (uint32_t)m->carried.n};
  for (size_t i = 0; i < m->elements.n; i++) vec_push(ir->arena, m->next, m->elements.data[i]);
  for (size_t i = 0; i < m->stacked.n; i++) vec_push(ir->arena, m->types, m->stacked.data[i]);
  m->body->outputs.n = 0;
  m->body->output_names.n = 0;
  for (size_t i = 0; i < m->next.n; i++) {
    vec_push(ir->arena, m->body->outputs, m->next.data[i]);
    vec_push(ir->arena, m->body->output_names, m->next.data[i]->name);
  }
  return graph_add_node(l->c->b.graph, OP_LOOP, m->in.data, m->in.n, m->types.data, m->types.n, attr, l->c->b.place);
}

Value **loop_make(Loop *l, size_t *ret_n) {
  Builder *b = &l->c->b;
  Ir *ir = b->ir;
  const int64_t most = l->trips->hi;
  l->first_symbol = ir->dims->symbols.n;
  const Dim *last = most <= INT32_MAX ? dim_max(ir->dims, dim_addc(ir->dims, l->trips, -1), ir->dims->zero) : NULL;
  l->iteration = bd_data_symbol(b, "iteration", 0, most > 0 ? most - 1 : 0, last);
  l->types = NEW_ARRAY(ir->arena, Type, l->n_states);
  for (size_t k = 0; k < l->n_states; k++) {
    const Type *t = &l->init[k]->type;
    l->types[k] = type_tensor(ir, t->dtype, t->rank, t->dims);
    l->types[k].seq = t->seq;
  }
  Graph *body = settled_body(l);
  if (!body) return NULL;
  if (l->counted && body->outputs.data[0]->type.dtype != DT_b1)
    return (void)op_fail(l->c, DIAG_E0401, "the body's condition has element type %s", dtype_name(body->outputs.data[0]->type.dtype)), NULL;
  Made m = {.l = l, .body = body, .b = {ir, body, b->place}, .conditional = !is_certain(b, l, body)};
  Graph *outer = op_enter(l->c, body);
  Value *next = m.conditional ? as_scalar(&m.b, body->outputs.data[0]) : NULL;
  vec_push(ir->arena, m.in, m.conditional ? l->cond ? l->cond : build_scalar_i(b, DT_b1, 1) : NULL);
  if (next) vec_push(ir->arena, m.next, next);
  add_states(&m, l->counted);
  const Dim *done = bd_data_symbol(b, "done", 0, most < INT32_MAX ? most : INT32_MAX, most <= MOST_UNUSED ? l->trips : NULL);
  const size_t first = l->counted + l->n_states, n = body->outputs.n - first;
  Value **elements = arena_dup(ir->arena, body->outputs.data + first, n * sizeof *elements);
  Result *results = NEW_ARRAY(ir->arena, Result, n);
  bool ok = !m.conditional || (next && m.in.data[0]);
  for (size_t k = 0; k < n && ok; k++) ok = add_result(&m, elements[k], m.conditional ? done : l->trips, &results[k]);
  (void)op_enter(l->c, outer);
  if (!ok) return NULL;
  const Node *made = add_loop(&m, done);
  Value **ret = NEW_ARRAY(ir->arena, Value *, l->n_states + n);
  for (size_t k = 0; k < l->n_states; k++) ret[k] = made->out[k];
  for (size_t k = 0; k < n; k++) {
    const Result *r = &results[k];
    ret[l->n_states + k] = r->in_place ? made->out[m.in.n - 1 + r->at] : build_reshape(b, made->out[r->at], r->rank, r->dims);
  }
  *ret_n = l->n_states + n;
  return ret;
}

/* ---- Loop -------------------------------------------------------------------------------------------------------------------- */
static bool give(OpContext *c, Value *const *found, size_t n) {
  if (!found) return false;
  if (n < c->n_out) return op_fail(c, DIAG_E0305, "the body has %zu outputs, the node %zu", n, c->n_out);
  for (size_t k = 0; k < c->n_out; k++) c->out[k] = found[k];
  return true;
}

static bool are_tensors(OpContext *c, Value *const *v, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!v[k] || v[k]->type.kind != TYPE_TENSOR) return v[k] ? op_unsupported(c, "state or input %zu is no tensor", k) : op_fail(c, DIAG_E0305, "state or input %zu is left out", k);
  return true;
}

/* How often at most: never less than 0 times. */
static const Dim *trip_count(OpContext *c) {
  DimCtx *d = c->b.ir->dims;
  size_t n;
  if (!op_in(c, 0)) return dim_const(d, INT64_MAX);
  const Dim *const *read = build_read_dims(&c->b, op_in(c, 0), "trips", INT64_MIN, INT64_MAX, NULL, &n);
  if (!read) return NULL;
  if (n != 1) return (void)op_fail(c, DIAG_E0402, "the trip count has %zu elements", n), NULL;
  return dim_max(d, read[0], d->zero);
}

bool import_loop(OpContext *c) {
  const size_t n = c->n_in > 2 ? c->n_in - 2 : 0;
  Loop l = {.c = c, .body = op_graph(c, "body"), .counted = true, .n_states = n, .init = c->in + 2, .import = import_onnx_body};
  Value *cond = op_in(c, 1);
  size_t found;
  l.trips = trip_count(c);
  if (!l.trips || !are_tensors(c, l.init, n)) return false;
  const int first = cond ? truth(&c->b, cond) : 1;
  if (first == 0) l.trips = c->b.ir->dims->zero;
  if (first < 0) l.cond = as_scalar(&c->b, cond);
  if (first < 0 && !l.cond) return false;
  Value **made = loop_make(&l, &found);
  return give(c, made, made ? found : 0);
}

/* ---- Scan -------------------------------------------------------------------------------------------------------------------- */
/* Element k of a list with one entry a scanned input or output; 0 where the node has none. False when its length is another. */
static bool list_entry(OpContext *c, const char *name, size_t n, size_t k, int64_t *ret) {
  size_t given;
  const int64_t *v = op_ints(c, name, &given);
  *ret = 0;
  if (!v || !given) return true;
  if (given != n) return op_fail(c, DIAG_E0304, "%s has %zu entries, not %zu", name, given, n);
  *ret = v[k];
  return true;
}

static bool direction(OpContext *c, const char *name, size_t n, size_t k, bool *ret) {
  int64_t v;
  if (!list_entry(c, name, n, k, &v)) return false;
  if (v != 0 && v != 1) return op_fail(c, DIAG_E0304, "%s holds %lld; 0 is forwards, 1 backwards", name, (long long)v);
  *ret = v == 1;
  return true;
}

static bool same_length(OpContext *c, size_t k, const Dim *d, const Dim **trips) {
  if (!*trips) *trips = d;
  return ir_require_eq(c->b.ir, *trips, d) || op_fail(c, DIAG_E0402, "scanned input %zu has another length than the first", k);
}

/* What is stacked along axis 0, at the axis and in the direction that the node asks for. */
static Value *placed(OpContext *c, Value *v, size_t n, size_t k) {
  Builder *b = &c->b;
  int64_t want;
  uint32_t axis, perm[MAX_RANK];
  bool reverse = false;
  if (!v || !list_entry(c, "scan_output_axes", n, k, &want) || !op_axis(c, want, v->type.rank, &axis) || !direction(c, "scan_output_directions", n, k, &reverse)) return NULL;
  DimCtx *d = b->ir->dims;
  if (reverse) v = build_slice(b, v, 0, dim_addc(d, v->type.dims[0], -1), v->type.dims[0], dim_const(d, -1));
  for (uint32_t i = 0; v && i < v->type.rank; i++) perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
  return v ? build_transpose(b, v, perm) : NULL;
}

static bool count_scanned(OpContext *c, size_t operands, size_t *ret) {
  const int64_t n = op_int(c, "num_scan_inputs", 0);
  if (n < 1 || (uint64_t)n > operands) return op_fail(c, DIAG_E0304, "num_scan_inputs is %lld, of %zu inputs", (long long)n, operands);
  *ret = (size_t)n;
  return true;
}

bool import_scan(OpContext *c) {
  Loop l = {.c = c, .body = op_graph(c, "body"), .init = c->in, .import = import_onnx_body};
  if (!count_scanned(c, c->n_in, &l.n_scanned) || !are_tensors(c, c->in, c->n_in)) return false;
  l.n_states = c->n_in - l.n_scanned;
  l.scanned = NEW_ARRAY(c->b.ir->arena, Scanned, l.n_scanned);
  for (size_t k = 0; k < l.n_scanned; k++) {
    Scanned *s = &l.scanned[k];
    int64_t axis;
    s->x = c->in[l.n_states + k];
    if (!list_entry(c, "scan_input_axes", l.n_scanned, k, &axis) || !op_axis(c, axis, s->x->type.rank, &s->axis) ||
        !direction(c, "scan_input_directions", l.n_scanned, k, &s->reverse) || !same_length(c, k, s->x->type.dims[s->axis], &l.trips))
      return false;
  }
  size_t n;
  Value **made = loop_make(&l, &n);
  for (size_t k = l.n_states; made && k < n; k++)
    if (!(made[k] = placed(c, made[k], n - l.n_states, k - l.n_states))) return false;
  return give(c, made, made ? n : 0);
}

/* ---- Scan of version 8: every operand has a batch axis ahead, each row of it a length of its own ---- */
typedef struct Batch {
  const Dim *length;
  Value *lengths; /* or NULL */
  size_t n_states, n_scanned;
  Value **in;     /* [n_states + n_scanned] */
} Batch;

/* Zeros behind the iterations that there were. */
static Value *padded(Builder *b, Value *v, const Dim *length) {
  if (v->type.dims[0] == length) return v;
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  for (uint32_t i = 0; i < v->type.rank; i++) lo[i] = hi[i] = b->ir->dims->zero;
  hi[0] = dim_sub(b->ir->dims, length, v->type.dims[0]);
  return build_pad(b, v, PAD_CONSTANT, lo, hi, NULL);
}

/* The body of the loop over the batch: a scan of one row. */
static Graph *import_row(Loop *outer) {
  const Batch *batch = outer->user;
  OpContext c = *outer->c;
  Ir *ir = c.b.ir;
  Graph *g = graph_new(ir, c.b.graph);
  c.b.graph = g;
  Loop l = {.c = &c, .body = outer->body, .trips = batch->length, .n_states = batch->n_states, .n_scanned = batch->n_scanned, .import = import_onnx_body};
  l.init = NEW_ARRAY(ir->arena, Value *, l.n_states);
  l.scanned = NEW_ARRAY(ir->arena, Scanned, l.n_scanned);
  Graph *importing = op_enter(&c, g);
  size_t n = 1;
  if (batch->lengths) {
    const Dim *const *read = build_read_dims(&c.b, place_of(&c.b, batch->lengths, 0, outer->iteration), "length", 0, INT32_MAX, (const Dim *[]){batch->length}, &n);
    l.trips = read ? read[0] : NULL;
  }
  for (size_t k = 0; k < l.n_states; k++) l.init[k] = place_of(&c.b, batch->in[k], 0, outer->iteration);
  for (size_t k = 0; k < l.n_scanned; k++) {
    l.scanned[k] = (Scanned){.x = place_of(&c.b, batch->in[l.n_states + k], 0, outer->iteration)};
    if (!direction(&c, "directions", l.n_scanned, k, &l.scanned[k].reverse)) l.trips = NULL;
  }
  Value **made = l.trips ? loop_make(&l, &n) : NULL;
  for (size_t k = 0; made && k < n; k++) {
    Value *v = k < l.n_states ? made[k] : padded(&c.b, made[k], batch->length);
    if (v) vec_push(ir->arena, g->outputs, v);
    if (v) vec_push(ir->arena, g->output_names, v->name);
  }
  (void)op_enter(&c, importing);
  return made && g->outputs.n == n ? g : NULL;
}

bool import_scan_batch(OpContext *c) {
  Batch batch = {.lengths = op_in(c, 0), .in = c->in + 1};
  const size_t operands = c->n_in ? c->n_in - 1 : 0;
  Loop l = {.c = c, .body = op_graph(c, "body"), .import = import_row, .user = &batch};
  if (!count_scanned(c, operands, &batch.n_scanned) || !are_tensors(c, batch.in, operands)) return false;
  batch.n_states = operands - batch.n_scanned;
  for (size_t k = 0; k < operands; k++) {
    const Type *t = &batch.in[k]->type;
    const bool scanned = k >= batch.n_states;
    if (t->rank < 1 + (uint32_t)scanned) return op_fail(c, DIAG_E0402, "input %zu has rank %u", k + 1, t->rank);
    if (!same_length(c, k, t->dims[0], &l.trips) || (scanned && !same_length(c, k, t->dims[1], &batch.length))) return false;
  }
  if (batch.lengths && batch.lengths->type.rank != 1) return op_fail(c, DIAG_E0402, "the lengths have rank %u", batch.lengths->type.rank);
  size_t n;
  Value **made = loop_make(&l, &n);
  return give(c, made, made ? n : 0);
}
