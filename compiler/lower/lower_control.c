/* If and loops: the bodies' steps lie among the others, marked where they begin and end (lower/program.h). Values of the graph around are stored
 * before a body that reads them, so that it neither computes them again nor leaves them stored in a place that is not always reached. */
#include "lower/lower_private.h"

typedef struct Kept { const Value *value; Slot slot; } Kept; /* slot: as it is outside of the bodies */
typedef VEC(Kept) KeptList;

static void keep(Lower *l, const Value *v, KeptList *ret) {
  if (v && (v->data || l->slots[v->id].virt)) vec_push(l->a, *ret, ((Kept){v, l->slots[v->id]}));
}

/* What bodies read of the graph around: at this point only that has been lowered. */
static void keep_captured(Lower *l, const Graph *g, KeptList *ret) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    for (uint32_t k = 0; k < n->n_in; k++) keep(l, n->in[k], ret);
    if (n->op == OP_LOOP) keep_captured(l, ((const LoopAttr *)n->attr)->body, ret);
    if (n->op != OP_IF) continue;
    keep_captured(l, ((const IfAttr *)n->attr)->then_graph, ret);
    keep_captured(l, ((const IfAttr *)n->attr)->else_graph, ret);
  }
  for (size_t i = 0; i < g->outputs.n; i++) keep(l, g->outputs.data[i], ret);
}

static void store_captured(Lower *l, KeptList *kept, DiagPlace src) {
  for (size_t i = 0; i < kept->n; i++) {
    Kept *k = &kept->data[i];
    const Virt *v = l->slots[k->value->id].virt;
    if (!k->value->data && v && v->n_loads && virt_window_tensor(v) == NO_TENSOR) lower_materialise(l, k->value, src);
    k->slot = l->slots[k->value->id];
  }
}

/* A place of the graph's outputs is not taken where only a body comes by. */
static void enter(Lower *l, const KeptList *kept) {
  for (size_t i = 0; i < kept->n; i++) l->slots[kept->data[i].value->id].output = -1;
}

/* Behind a body its own ways of having them count no more. */
static void restore(Lower *l, const KeptList *kept) {
  for (size_t i = 0; i < kept->n; i++) l->slots[kept->data[i].value->id] = kept->data[i].slot;
}

static void mark(Lower *l, StepKind kind, uint32_t cond, const uint32_t *out, size_t n_out, const void *attr, DiagPlace src) {
  (void)lower_step(l, kind, &cond, cond != NO_TENSOR, out, n_out, attr, NULL, src);
  l->barrier = (int32_t)l->p->main.steps.n;
}

static void branch(Lower *l, StepKind kind, uint32_t cond, const Graph *g, DiagPlace src) {
  BranchStep *s = NEW(l->a, BranchStep);
  s->graph = g;
  mark(l, kind, cond, NULL, 0, s, src);
}

static void assign(Lower *l, AssignStep s, uint32_t in, uint32_t out, DiagPlace src) {
  if (s.n == 0) return;
  for (size_t k = 0; k < s.n; k++) lower_decides(l, s.symbols[k]);
  (void)lower_step(l, STEP_ASSIGN, &in, in != NO_TENSOR, &out, out != NO_TENSOR, arena_dup(l->a, &s, sizeof s), NULL, src);
}

static void set_tensor(Lower *l, const Value *v, uint32_t t) {
  const Virt virt = virt_of_tensor(l->p, t);
  lower_set_virt(l, v, &virt);
}

static void copy_tensor(Lower *l, uint32_t from, uint32_t to, DiagPlace src) {
  const Virt v = virt_of_tensor(l->p, from);
  lower_store(l, &v, l->p->tensors.data[to].rank, l->p->tensors.data[to].dims, to, src);
}

static void store_value(Lower *l, const Value *v, uint32_t to, DiagPlace src) {
  lower_store(l, lower_virt(l, v), v->type.rank, l->p->tensors.data[to].dims, to, src);
}

/* ---- If ---- */
static bool has_joined(const IfAttr *attr, const Type *t) {
  for (size_t i = 0; i < attr->n_joined; i++)
    for (uint32_t a = 0; a < t->rank; a++)
      if (t->dims[a] == attr->joined[i].symbol) return true;
  return false;
}

typedef struct Branches {
  const Node *n;
  const IfAttr *attr;
  uint32_t cond;
  uint32_t *results;    /* by output: where both branches store it, or NO_TENSOR */
  uint32_t *of[2];      /* else: where each has it */
} Branches;

static bool lower_branch(Lower *l, const Branches *b, int which) {
  const Graph *g = which ? b->attr->else_graph : b->attr->then_graph;
  KeptList kept = {0};
  keep_captured(l, g, &kept);
  store_captured(l, &kept, b->n->src);
  enter(l, &kept);
  lower_nodes(l, g);
  for (uint32_t k = 0; k < b->n->n_out && !l->failed; k++) {
    const Value *v = g->outputs.data[k];
    if (!lower_virt(l, v)) return false;
    if (b->results[k] != NO_TENSOR) store_value(l, v, b->results[k], b->n->src);
    else b->of[which][k] = lower_dense(l, v, b->n->src);
  }
  restore(l, &kept);
  return !l->failed;
}

static void assign_joined(Lower *l, const Branches *b) {
  const IfAttr *attr = b->attr;
  AssignStep s = {.n = attr->n_joined};
  const Dim **symbols = NEW_ARRAY(l->a, const Dim *, s.n), **values = NEW_ARRAY(l->a, const Dim *, s.n), **others = NEW_ARRAY(l->a, const Dim *, s.n);
  for (size_t i = 0; i < s.n; i++) symbols[i] = attr->joined[i].symbol, values[i] = attr->joined[i].on_then, others[i] = attr->joined[i].on_else;
  s.symbols = symbols, s.values = values, s.others = others;
  assign(l, s, b->cond, NO_TENSOR, b->n->src);
}

/* Results whose sizes the condition decides: copied once those are known. */
static void join_sized(Lower *l, const Branches *b) {
  uint32_t *to = NEW_ARRAY(l->a, uint32_t, b->n->n_out);
  for (uint32_t k = 0; k < b->n->n_out; k++)
    if (b->results[k] == NO_TENSOR) to[k] = lower_result(l, b->n->out[k]);
  for (int which = 0; which < 2; which++) {
    branch(l, which ? STEP_ELSE : STEP_IF, b->cond, NULL, b->n->src);
    for (uint32_t k = 0; k < b->n->n_out; k++) {
      if (b->results[k] != NO_TENSOR) continue;
      const PTensor from = l->p->tensors.data[b->of[which][k]], all = l->p->tensors.data[to[k]];
      copy_tensor(l, b->of[which][k], lower_place(l, from.dtype, from.rank, from.dims, all.buffer, all.offset), b->n->src);
    }
  }
  branch(l, STEP_END_IF, b->cond, NULL, b->n->src);
}

bool lower_if(Lower *l, const Node *n) {
  Branches b = {.n = n, .attr = n->attr, .cond = lower_dense(l, n->in[0], n->src), .results = NEW_ARRAY(l->a, uint32_t, n->n_out)};
  KeptList kept = {0};
  b.of[0] = NEW_ARRAY(l->a, uint32_t, n->n_out);
  b.of[1] = NEW_ARRAY(l->a, uint32_t, n->n_out);
  keep_captured(l, b.attr->then_graph, &kept);
  keep_captured(l, b.attr->else_graph, &kept);
  store_captured(l, &kept, n->src);
  for (uint32_t k = 0; k < n->n_out; k++) b.results[k] = has_joined(b.attr, &n->out[k]->type) ? NO_TENSOR : lower_result(l, n->out[k]);
  branch(l, STEP_IF, b.cond, b.attr->then_graph, n->src);
  if (!lower_branch(l, &b, 0)) return false;
  branch(l, STEP_ELSE, b.cond, b.attr->else_graph, n->src);
  if (!lower_branch(l, &b, 1)) return false;
  branch(l, STEP_END_IF, b.cond, b.attr->else_graph, n->src);
  if (b.attr->n_joined) {
    assign_joined(l, &b);
    join_sized(l, &b);
  }
  l->barrier = (int32_t)l->p->main.steps.n;
  return true;
}

/* ---- loops ---- */
typedef struct Looping {
  Lower *l;
  const Node *n;
  const LoopAttr *attr;
  bool conditional;
  uint32_t cond;
  bool *sized;      /* by state: an iteration may change its size */
  uint32_t *states; /* by state: its tensor in the body */
  uint32_t block;   /* the buffer of the sized ones, one behind the other */
  int32_t begin;    /* the first step of the body */
} Looping;

enum { BLOCK = 64 }; /* bytes that each begins at a multiple of */

static bool is_sized(const LoopAttr *attr, const Type *t) {
  for (size_t i = 0; i < attr->n_carried; i++)
    for (uint32_t a = 0; a < t->rank; a++)
      if (t->dims[a] == attr->carried[i].symbol) return true;
  return false;
}

static const Dim *blocks_of(Lower *l, const Type *t) {
  DimCtx *c = l->p->dims;
  const Dim *bits = dim_mulc(c, dim_product(c, t->dims, t->rank), dtype_rows[t->dtype].bits);
  return dim_ceildiv(c, bits, dim_const(c, BLOCK * 8));
}

/* Tensors of the types, those of `sized` states, one behind the other in a buffer; a new one if NO_BUFFER is given. */
static uint32_t lay_out(const Looping *o, const Type *types, uint32_t buffer, uint32_t *ret) {
  Lower *l = o->l;
  DimCtx *c = l->p->dims;
  const Dim *at = c->zero, *all = c->zero;
  for (uint32_t k = 0; k < o->attr->n_states; k++)
    if (o->sized[k]) all = dim_add(c, all, blocks_of(l, &types[k]));
  if (buffer == NO_BUFFER) {
    const Dim **bytes = NEW(l->a, const Dim *);
    bytes[0] = dim_mulc(c, all, BLOCK);
    const uint32_t block = lower_temp(l, DT_u8, 1, bytes, (Str){0});
    buffer = l->p->tensors.data[block].buffer;
  }
  for (uint32_t k = 0; k < o->attr->n_states; k++) {
    const Type *t = &types[k];
    if (!o->sized[k]) continue;
    ret[k] = lower_place(l, t->dtype, t->rank, t->dims, buffer, dim_mulc(c, at, BLOCK * 8 / dtype_rows[t->dtype].bits));
    at = dim_add(c, at, blocks_of(l, t));
  }
  return buffer;
}

static Type *types_of(Lower *l, Value *const *v, size_t n) {
  Type *t = NEW_ARRAY(l->a, Type, n);
  for (size_t k = 0; k < n; k++) t[k] = v[k]->type;
  return t;
}

typedef enum CarriedPart { AT_START, AT_NEXT, AT_END } CarriedPart;

static void assign_carried(const Looping *o, CarriedPart part, uint32_t stage, uint32_t block) {
  Lower *l = o->l;
  const LoopAttr *attr = o->attr;
  AssignStep s = {.n = attr->n_carried + (part == AT_END), .again = part == AT_NEXT};
  const Dim **symbols = NEW_ARRAY(l->a, const Dim *, s.n), **values = NEW_ARRAY(l->a, const Dim *, s.n);
  for (size_t i = 0; i < attr->n_carried; i++) {
    const CarriedDim *c = &attr->carried[i];
    symbols[i] = part == AT_END ? c->last : c->symbol;
    values[i] = part == AT_START ? c->init : part == AT_NEXT ? c->next : c->symbol;
  }
  if (part == AT_END) symbols[attr->n_carried] = attr->done, values[attr->n_carried] = attr->iteration;
  s.symbols = symbols, s.values = values;
  assign(l, s, stage, block, o->n->src);
}

/* States get memory and their first values. */
static void start_states(Looping *o) {
  Lower *l = o->l;
  const LoopAttr *attr = o->attr;
  Value *const *inputs = attr->body->inputs.data;
  const Dim *none = NULL;
  if (o->conditional) {
    o->cond = lower_temp(l, DT_b1, 0, &none, (Str){0});
    store_value(l, o->n->in[0], o->cond, o->n->src);
  }
  assign_carried(o, AT_START, NO_TENSOR, NO_TENSOR);
  bool any = false;
  for (uint32_t k = 0; k < attr->n_states; k++) any = any || o->sized[k];
  if (any) o->block = lay_out(o, types_of(l, inputs, attr->n_states), NO_BUFFER, o->states);
  for (uint32_t k = 0; k < attr->n_states; k++) {
    const Type *t = &inputs[k]->type;
    if (!o->sized[k]) o->states[k] = lower_temp(l, t->dtype, t->rank, t->dims, inputs[k]->name);
    const Value *init = o->n->in[1 + k];
    const PTensor to = l->p->tensors.data[o->states[k]]; /* in the sizes that it begins with: they are the same */
    const uint32_t first = o->sized[k] ? lower_place(l, t->dtype, t->rank, init->type.dims, to.buffer, to.offset) : o->states[k];
    store_value(l, init, first, o->n->src);
    set_tensor(l, inputs[k], o->states[k]);
  }
}

/* Stored by a step of the body in a place of its own. */
static bool is_own(const Looping *o, uint32_t t) {
  const Lower *l = o->l;
  if (t == NO_TENSOR || l->step_of.data[t] < o->begin || l->p->buffers.data[l->p->tensors.data[t].buffer].kind != BUF_ARENA) return false;
  for (uint32_t k = 0; k < o->attr->n_states; k++)
    if (l->p->tensors.data[t].buffer == l->p->tensors.data[o->states[k]].buffer) return false;
  return ptensor_is_contiguous(l->p->dims, &l->p->tensors.data[t]);
}

static void stack(const Looping *o, const Value *element, uint32_t all) {
  Lower *l = o->l;
  const PTensor t = l->p->tensors.data[all];
  const Dim *at = dim_add(l->p->dims, t.offset, dim_mul(l->p->dims, o->attr->iteration, t.strides[0]));
  store_value(l, element, lower_place(l, t.dtype, t.rank - 1, element->type.dims, t.buffer, at), o->n->src);
}

/* All that the next iteration starts from is computed before any of it replaces what this one started from. */
static bool end_iteration(const Looping *o, const uint32_t *stacked) {
  Lower *l = o->l;
  const LoopAttr *attr = o->attr;
  Value *const *next = attr->body->outputs.data + o->conditional;
  uint32_t *made = NEW_ARRAY(l->a, uint32_t, attr->n_states), stage = NO_BUFFER;
  for (size_t k = 0; k < attr->body->outputs.n; k++)
    if (!lower_virt(l, attr->body->outputs.data[k])) return false;
  for (uint32_t k = 0; k < attr->n_stacked; k++) stack(o, next[attr->n_states + k], stacked[k]);
  if (o->block != NO_BUFFER) stage = lay_out(o, types_of(l, next, attr->n_states), NO_BUFFER, made);
  for (uint32_t k = 0; k < attr->n_states; k++) {
    const Type *t = &next[k]->type;
    if (!o->sized[k]) {
      made[k] = virt_plain_tensor(l->p, lower_virt(l, next[k]), t);
      if (made[k] == o->states[k] || is_own(o, made[k])) continue;
      made[k] = lower_temp(l, t->dtype, t->rank, t->dims, (Str){0});
    }
    store_value(l, next[k], made[k], o->n->src);
  }
  if (o->conditional) store_value(l, attr->body->outputs.data[0], o->cond, o->n->src);
  for (uint32_t k = 0; k < attr->n_states; k++)
    if (!o->sized[k] && made[k] != o->states[k]) copy_tensor(l, made[k], o->states[k], o->n->src);
  uint32_t from = NO_TENSOR, to = NO_TENSOR;
  if (stage != NO_BUFFER) {
    from = lower_place(l, DT_u8, 1, arena_dup(l->a, &l->p->buffers.data[stage].n, sizeof(const Dim *)), stage, l->p->dims->zero);
    to = lower_place(l, DT_u8, 1, arena_dup(l->a, &l->p->buffers.data[o->block].n, sizeof(const Dim *)), o->block, l->p->dims->zero);
  }
  assign_carried(o, AT_NEXT, from, to);
  return true;
}

static void finish_states(const Looping *o) {
  Lower *l = o->l;
  const LoopAttr *attr = o->attr;
  uint32_t *last = arena_dup(l->a, o->states, attr->n_states * sizeof *last);
  assign_carried(o, AT_END, NO_TENSOR, NO_TENSOR);
  if (o->block != NO_BUFFER) (void)lay_out(o, types_of(l, o->n->out, attr->n_states), o->block, last);
  for (uint32_t k = 0; k < attr->n_states; k++) set_tensor(l, o->n->out[k], last[k]);
}

bool lower_loop(Lower *l, const Node *n) {
  const LoopAttr *attr = n->attr;
  Looping o = {.l = l, .n = n, .attr = attr, .conditional = n->in[0] != NULL, .cond = NO_TENSOR, .block = NO_BUFFER,
               .sized = NEW_ARRAY(l->a, bool, attr->n_states), .states = NEW_ARRAY(l->a, uint32_t, attr->n_states)};
  KeptList kept = {0};
  for (uint32_t k = 0; k < attr->n_states; k++) o.sized[k] = is_sized(attr, &attr->body->inputs.data[k]->type);
  keep_captured(l, attr->body, &kept);
  store_captured(l, &kept, n->src);
  start_states(&o);
  uint32_t *stacked = NEW_ARRAY(l->a, uint32_t, attr->n_stacked);
  for (uint32_t k = 0; k < attr->n_stacked; k++) stacked[k] = lower_result(l, n->out[attr->n_states + k]);
  LoopStep *s = NEW(l->a, LoopStep);
  *s = (LoopStep){.graph = attr->body, .iteration = attr->iteration, .trips = attr->trips};
  lower_decides(l, attr->iteration);
  mark(l, STEP_LOOP, o.cond, stacked, attr->n_stacked, s, n->src);
  enter(l, &kept);
  o.begin = l->barrier;
  lower_nodes(l, attr->body);
  if (l->failed || !end_iteration(&o, stacked)) return false;
  restore(l, &kept);
  mark(l, STEP_END_LOOP, o.cond, NULL, 0, s, n->src);
  finish_states(&o);
  for (uint32_t k = 0; k < attr->n_stacked; k++) set_tensor(l, n->out[attr->n_states + k], stacked[k]);
  l->barrier = (int32_t)l->p->main.steps.n;
  return true;
}
