/* Loops: Loop, Scan and SequenceMap are one LOOP; its body reads what it scans at the place that the iteration's number tells. A size of a state that an
 * iteration may change is a symbol of the body: which ones do is found by importing the body until its results are as its inputs. (Ranks that
 * change: import_peel.c.) */
#include "ops/import_loop.h"

/* ---- bodies ---------------------------------------------------------------------------------------------------------------- */
static const Dim *iteration_from_end(const Loop *l) {
  return dim_sub(l->c->b.ir->dims, dim_addc(l->c->b.ir->dims, l->trips, -1), l->iteration);
}

Value *loop_place(Builder *b, Value *x, uint32_t axis, const Dim *place) {
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

Value *loop_as_declared(Builder *b, Value *scalar, const OnnxType *t) {
  const bool vector = t && t->kind == ONNX_TYPE_TENSOR && t->has_shape && t->n_dims == 1;
  return vector ? build_reshape(b, scalar, 1, (const Dim *[]){b->ir->dims->one}) : scalar;
}

static Value *body_input(OpContext *c, Builder *b, size_t i, void *user) {
  const Loop *l = user;
  (void)c;
  if (l->counted && i == 0) return loop_as_declared(b, build_dim_scalar(b, dim_addc(b->ir->dims, l->iteration, l->n_peeled)), l->body->inputs[0].type);
  if (l->counted && i == 1) return loop_as_declared(b, build_scalar_i(b, DT_b1, 1), l->body->inputs[1].type); /* it runs, so it is true */
  i -= l->counted ? 2 : 0;
  if (i < l->n_states && l->kept[i]) return l->init[i];
  if (i < l->n_states) {
    Value *v = graph_add_value(b->graph, l->types[i], l->body->inputs[i + (l->counted ? 2 : 0)].name);
    vec_push(b->ir->arena, b->graph->inputs, v);
    return v;
  }
  const Scanned *s = &l->scanned[i - l->n_states];
  return loop_place(b, s->x, s->axis, s->reverse ? iteration_from_end(l) : l->iteration);
}

Graph *loop_import_body(Loop *l) {
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
    else if (next->rank != now->rank) {
      l->ranks_change = l->counted;
      *ret_ok = l->counted ? false : op_unsupported(l->c, "state %u has rank %u, and %u after an iteration", k, now->rank, next->rank);
    }
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
    for (uint32_t a = 0; a < l->types[k].rank && !l->kept[k]; a++)
      if (dim_is(l->types[k].dims[a], 0)) carry(l, k, a), any = true;
  return any;
}

/* Which sizes a loop was found to carry is kept by its body and the calls that lead there: a loop within a loop is imported again with each import of
 * the outer one, and starts with what is known. */
static Str known_key(const Loop *l) {
  const Importer *im = l->c->importer;
  return arena_printf(im->a, "%p %.*s", (const void *)l->body, (int)im->frame->path.len, im->frame->path.ptr);
}

static void remember(const Loop *l) {
  Importer *im = l->c->importer;
  map_put(&im->carried, known_key(l), arena_dup(im->a, &l->carried, sizeof l->carried));
}

static void carry_known(Loop *l) {
  const CarriedList *known = map_get(&l->c->importer->carried, known_key(l));
  for (size_t i = 0; known && i < known->n; i++) {
    const Carried *k = &known->data[i];
    if (k->state < l->n_states && k->axis < l->types[k->state].rank && !is_carried(l, l->types[k->state].dims[k->axis])) carry(l, k->state, k->axis);
  }
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
    remember(l);
  }
}

/* ---- what a loop gives ---- */
typedef struct Inner { size_t first; bool found; } Inner;

static void see_symbol(void *user, const Dim *symbol) {
  Inner *in = user;
  in->found = in->found || symbol->symbol.index >= in->first;
}

bool loop_is_inner(const Loop *l, const Dim *d) {
  Inner in = {l->first_symbol, false};
  dim_each_symbol(d, see_symbol, &in);
  return in.found;
}

static bool fixed_size(const Loop *l, const Type *t) {
  for (uint32_t a = 0; a < t->rank; a++)
    if (loop_is_inner(l, t->dims[a])) return false;
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

const Dim *loop_unmade(const Loop *l, size_t k, uint32_t axis) {
  DimCtx *d = l->c->b.ir->dims;
  const size_t at = l->counted + l->n_states + k;
  const OnnxType *t = at < l->body->n_outputs ? l->body->outputs[at].type : NULL;
  const bool told = t && t->kind == ONNX_TYPE_TENSOR && t->has_shape && axis < t->n_dims && t->dims[axis].kind == ONNX_DIM_VALUE && !l->n_peeled;
  return told && t->dims[axis].value >= 0 && t->dims[axis].value <= INT32_MAX ? dim_const(d, t->dims[axis].value) : d->zero;
}

/* Stacked output k, whose place is not known before: appended to a state of one axis. ret_dims: the element's sizes after the loop. */
static bool append(Made *m, size_t k, Value *element, const Dim **ret_dims) {
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
  for (uint32_t a = 0; a < t->rank; a++) ret_dims[a] = loop_is_inner(m->l, t->dims[a]) ? after(m, carry_dim(m, loop_unmade(m->l, k, a), t->dims[a])) : t->dims[a];
  return true;
}

/* What a state holds behind the loop: as an iteration leaves it, but for sizes that are not those of the first state, or that an iteration decides. */
static const SeqType *after_seq(const Made *m, const SeqType *next, const SeqType *now) {
  if (!next || next->rank <= 0) return next;
  Arena *a = m->l->c->b.ir->arena;
  const Dim **dims = arena_dup(a, next->dims, (size_t)next->rank * sizeof *dims);
  SeqType *s = arena_dup(a, next, sizeof *s);
  for (int32_t i = 0; i < next->rank; i++)
    if (dims[i] && (loop_is_inner(m->l, dims[i]) || (now && now->rank == next->rank && now->dims[i] != dims[i]))) dims[i] = NULL;
  s->dims = dims;
  return s;
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
    if (l->kept[k]) continue;
    vec_push(a, m->in, l->init[k]);
    vec_push(a, m->next, m->body->outputs.data[first + k]);
    Type last = after_type(m, &l->types[k]);
    last.seq = after_seq(m, m->body->outputs.data[first + k]->type.seq, l->types[k].seq);
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

static bool add_result(Made *m, size_t k, Value *element, const Dim *count, Result *ret) {
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
  return append(m, k, element, ret->dims + 1);
}

static bool is_certain(Builder *b, const Loop *l, const Graph *g) { return !l->counted || (control_truth(b, g->outputs.data[0]) == 1 && !l->cond); }

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

static const OnnxNode not_a_copy; /* what makes a name that no node does */

/* What makes the body's names: nodes, initializers. */
static Map made_names(const Loop *l) {
  const OnnxGraph *g = l->body;
  Map made = map_new(l->c->importer->a);
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t k = 0; k < g->nodes[i].n_outputs; k++) map_put(&made, g->nodes[i].outputs[k], (void *)(uintptr_t)&g->nodes[i]);
  for (size_t i = 0; i < g->n_initializers; i++) map_put(&made, g->initializers[i].name, (void *)(uintptr_t)&not_a_copy);
  return made;
}

static bool is_copy(const OnnxNode *n) { return str_is(n->op_type, "Identity") && !n->domain.len && n->n_inputs == 1; }

/* States whose next value is their last one, by name or by Identity nodes: frameworks hand on what a body only reads, weights and
 * shapes too, and as constants those are worth more. */
static bool *kept_states(const Loop *l) {
  enum { MOST_COPIES = 8 };
  const size_t skip = l->counted ? 2 : 0, first = l->counted;
  bool *ret = NEW_ARRAY(l->c->b.ir->arena, bool, l->n_states + 1);
  if (l->import != loop_import_body || l->body->n_inputs < skip + l->n_states || l->body->n_outputs < first + l->n_states) return ret;
  const Map made = made_names(l);
  for (size_t k = 0; k < l->n_states; k++) {
    Str name = l->body->outputs[first + k].name;
    const OnnxNode *n = map_get(&made, name);
    for (int i = 0; n && is_copy(n) && i < MOST_COPIES; i++) n = map_get(&made, name = n->inputs[0]);
    ret[k] = !n && name.len && str_eq(name, l->body->inputs[skip + k].name);
  }
  return ret;
}

void loop_begin(Loop *l) {
  Builder *b = &l->c->b;
  Ir *ir = b->ir;
  const int64_t most = l->trips->hi;
  l->first_symbol = ir->dims->symbols.n;
  l->kept = kept_states(l);
  const Dim *last = most <= INT32_MAX ? dim_max(ir->dims, dim_addc(ir->dims, l->trips, -1), ir->dims->zero) : NULL;
  l->iteration = bd_data_symbol(b, "iteration", 0, most > 0 ? most - 1 : 0, last);
  l->types = NEW_ARRAY(ir->arena, Type, l->n_states);
  for (size_t k = 0; k < l->n_states; k++) {
    const Type *t = &l->init[k]->type;
    l->types[k] = type_tensor(ir, t->dtype, t->rank, t->dims);
    l->types[k].seq = t->seq;
  }
}

Value **loop_make(Loop *l, size_t *ret_n) {
  Builder *b = &l->c->b;
  Ir *ir = b->ir;
  const int64_t most = l->trips->hi;
  loop_begin(l);
  carry_known(l);
  Graph *body = settled_body(l);
  if (!body) return NULL;
  if (l->counted && body->outputs.data[0]->type.dtype != DT_b1)
    return (void)op_fail(l->c, DIAG_E0401, "the body's condition has element type %s", dtype_name(body->outputs.data[0]->type.dtype)), NULL;
  Made m = {.l = l, .body = body, .b = {ir, body, b->place}, .conditional = !is_certain(b, l, body)};
  Graph *outer = op_enter(l->c, body);
  Value *next = m.conditional ? control_scalar(&m.b, body->outputs.data[0]) : NULL;
  vec_push(ir->arena, m.in, m.conditional ? l->cond ? l->cond : build_scalar_i(b, DT_b1, 1) : NULL);
  if (next) vec_push(ir->arena, m.next, next);
  add_states(&m, l->counted);
  const Dim *done = bd_data_symbol(b, "done", 0, most < INT32_MAX ? most : INT32_MAX, most <= MOST_UNUSED ? l->trips : NULL);
  const size_t first = l->counted + l->n_states, n = body->outputs.n - first;
  Value **elements = arena_dup(ir->arena, body->outputs.data + first, n * sizeof *elements);
  Result *results = NEW_ARRAY(ir->arena, Result, n);
  bool ok = !m.conditional || (next && m.in.data[0]);
  for (size_t k = 0; k < n && ok; k++) ok = add_result(&m, k, elements[k], m.conditional ? done : l->trips, &results[k]);
  (void)op_enter(l->c, outer);
  if (!ok) return NULL;
  const Node *made = add_loop(&m, done);
  Value **ret = NEW_ARRAY(ir->arena, Value *, l->n_states + n);
  for (size_t k = 0, at = 0; k < l->n_states; k++) ret[k] = l->kept[k] ? l->init[k] : made->out[at++];
  for (size_t k = 0; k < n; k++) {
    const Result *r = &results[k];
    ret[l->n_states + k] = r->in_place ? made->out[m.in.n - 1 + r->at] : build_reshape(b, made->out[r->at], r->rank, r->dims);
  }
  *ret_n = l->n_states + n;
  return ret;
}
