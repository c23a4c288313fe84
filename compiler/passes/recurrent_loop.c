/* Recurrent layers of types that no kernel takes: a LOOP over the steps, a direction at a time, whose body is the cell in terms of products and
 * element-wise work, as pass_recurrent prepares it: x holds the gates' input part, biases included. */
#include "ir/act.h"
#include "passes/passes.h"
#include "passes/recurrent.h"

typedef struct Layer {
  Builder *b;                /* around the loop */
  const RecurrentAttr *a;
  Value *const *in;          /* as RECURRENT has them */
  const Dim *steps, *batch, *hidden;
  DType t;
} Layer;

typedef struct Cell { /* one step of direction d, within the loop's body */
  Builder b;
  const Layer *l;
  const RecurrentAct *acts; /* of the direction */
  Value *r, *r_bias, *peephole; /* of the direction: [gates * hidden][hidden], [hidden], [3 * hidden]; may be NULL but r */
  Value *h, *c;             /* [batch][hidden]; c: LSTM */
} Cell;

/* x without `axis`, at one place of it. */
static Value *at(Builder *b, Value *x, uint32_t axis, const Dim *place) {
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  if (!x) return NULL;
  const uint32_t rank = x->type.rank - 1;
  for (uint32_t i = 0, o = 0; i <= rank; i++) {
    index[i] = i == axis ? build_affine_const(b, rank, place) : build_affine_coord(b, rank, o);
    if (i != axis) dims[o++] = x->type.dims[i];
  }
  return build_view(b, x, rank, dims, index);
}

/* Columns of gate k, and of n gates from it. */
static Value *gate(Cell *c, Value *v, int64_t k, int64_t n) {
  const int64_t h = c->l->a->hidden;
  return v ? build_slice(&c->b, v, v->type.rank - 1, bd_const(&c->b, k * h), bd_const(&c->b, n * h), bd_const(&c->b, 1)) : NULL;
}

static Value *add(Cell *c, Value *x, Value *y) { return y ? build_fn2(&c->b, SC_add, x, y) : x; }
static Value *mul(Cell *c, Value *x, Value *y) { return build_fn2(&c->b, SC_mul, x, y); }

/* state [batch][hidden] times rows of R, those of n gates from k. */
static Value *recurrence(Cell *c, Value *state, int64_t k, int64_t n) {
  static const uint8_t lstate[] = {0, 2}, lr[] = {1, 2}, lout[] = {0, 1};
  const int64_t h = c->l->a->hidden;
  Value *rows = build_slice(&c->b, c->r, 0, bd_const(&c->b, k * h), bd_const(&c->b, n * h), bd_const(&c->b, 1));
  return build_contract(&c->b, state, lstate, rows, lr, lout, 2, c->l->t, NULL, NULL);
}

static Value *clipped(Cell *c, Value *v) {
  const double most = (double)c->l->a->clip;
  return most > 0 ? build_fn3(&c->b, SC_clip, v, build_scalar_f(&c->b, c->l->t, -most), build_scalar_f(&c->b, c->l->t, most)) : v;
}

static Value *activated(Cell *c, uint32_t k, Value *v) {
  return v ? build_expr(&c->b, act_expr(c->b.ir->arena, c->acts[k], c->l->t), &v, 1, -1, NULL) : NULL;
}

static Value *rnn(Cell *c, Value *x) { return activated(c, 0, clipped(c, add(c, x, recurrence(c, c->h, 0, 1)))); }

/* Gates z r h. */
static Value *gru(Cell *c, Value *x) {
  Value *zr = activated(c, 0, clipped(c, add(c, gate(c, x, 0, 2), recurrence(c, c->h, 0, 2))));
  Value *z = gate(c, zr, 0, 1), *r = gate(c, zr, 1, 1), *past;
  if (c->l->a->linear_before_reset) past = mul(c, r, add(c, recurrence(c, c->h, 2, 1), c->r_bias));
  else past = recurrence(c, mul(c, r, c->h), 2, 1);
  Value *next = activated(c, 1, clipped(c, add(c, gate(c, x, 2, 1), past)));
  Value *rest = build_fn2(&c->b, SC_sub, build_scalar_f(&c->b, c->l->t, 1), z);
  return add(c, mul(c, rest, next), mul(c, z, c->h));
}

/* Gates i o f c; replaces the cell's state. */
static Value *lstm(Cell *c, Value *x) {
  Value *v = add(c, x, recurrence(c, c->h, 0, 4)), *p = c->peephole;
  Value *i = gate(c, v, 0, 1), *o = gate(c, v, 1, 1), *f = gate(c, v, 2, 1), *g = gate(c, v, 3, 1);
  if (p) i = add(c, i, mul(c, gate(c, p, 0, 1), c->c)), f = add(c, f, mul(c, gate(c, p, 2, 1), c->c));
  i = activated(c, 0, clipped(c, i));
  f = c->l->a->input_forget ? build_fn2(&c->b, SC_sub, build_scalar_f(&c->b, c->l->t, 1), i) : activated(c, 0, clipped(c, f));
  c->c = add(c, mul(c, f, c->c), mul(c, i, activated(c, 1, clipped(c, g))));
  if (p) o = add(c, o, mul(c, gate(c, p, 1, 1), c->c));
  return mul(c, activated(c, 2, c->c), activated(c, 0, clipped(c, o)));
}

/* [batch][1]: whether the sequences have a step `place`. */
static Value *active(Cell *c, const Dim *place) {
  Value *lengths = c->l->in[RECURRENT_LENS];
  if (!lengths) return NULL;
  Value *more = build_fn2(&c->b, SC_lt, build_dim_scalar(&c->b, place), build_cast(&c->b, lengths, DT_s64, true));
  return build_unsqueeze(&c->b, more, 1u << 1);
}

static Value *chosen(Cell *c, Value *cond, Value *yes, Value *no) { return cond ? build_fn3(&c->b, SC_select, cond, yes, no) : yes; }

/* The body's results: next states, and the step's y. */
static bool step(Cell *c, uint32_t d, const Dim *place) {
  const Layer *l = c->l;
  Graph *g = c->b.graph;
  Arena *arena = c->b.ir->arena;
  Value *x = at(&c->b, at(&c->b, l->in[RECURRENT_X], 0, place), 1, bd_const(&c->b, d)), *was[2] = {c->h, c->c};
  Value *h = l->a->cell == CELL_RNN ? rnn(c, x) : l->a->cell == CELL_GRU ? gru(c, x) : lstm(c, x), *now = active(c, place);
  if (!h) return false;
  vec_push(arena, g->outputs, chosen(c, now, h, was[0]));
  if (was[1]) vec_push(arena, g->outputs, chosen(c, now, c->c, was[1]));
  vec_push(arena, g->outputs, chosen(c, now, h, build_scalar_f(&c->b, l->t, 0)));
  for (size_t i = 0; i < g->outputs.n; i++) {
    if (!g->outputs.data[i]) return false;
    vec_push(arena, g->output_names, g->outputs.data[i]->name);
  }
  return true;
}

/* Numbers of the loop's iterations. */
static LoopAttr *loop_over(const Layer *l) {
  Ir *ir = l->b->ir;
  const int64_t most = l->steps->hi;
  const Dim *last = most <= INT32_MAX ? dim_max(ir->dims, dim_addc(ir->dims, l->steps, -1), ir->dims->zero) : NULL;
  LoopAttr *attr = NEW(ir->arena, LoopAttr);
  attr->body = graph_new(ir, l->b->graph);
  attr->trips = l->steps;
  attr->iteration = bd_data_symbol(l->b, "step", 0, most > 0 ? most - 1 : 0, last);
  attr->done = bd_data_symbol(l->b, "done", 0, most, NULL);
  attr->n_states = l->a->cell == CELL_LSTM ? 2 : 1;
  attr->n_stacked = 1;
  return attr;
}

/* A state before the first step. */
static Value *initial(const Layer *l, int operand, uint32_t d) {
  const Dim *const dims[] = {l->batch, l->hidden};
  if (l->in[operand]) return at(l->b, l->in[operand], 0, bd_const(l->b, d));
  return build_expand(l->b, build_scalar_f(l->b, l->t, 0), 2, dims);
}

static Value *flipped(Builder *b, Value *y, const Dim *n) {
  Affine index[3];
  for (uint32_t i = 0; i < 3; i++) index[i] = build_affine_coord(b, 3, i);
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, 3);
  coef[0] = bd_const(b, -1);
  index[0] = (Affine){.offset = dim_addc(b->ir->dims, n, -1), .coef = coef};
  return build_view(b, y, 3, y->type.dims, index);
}

/* Y [steps][1][batch][hidden], Y_h and Y_c [1][batch][hidden] of direction d. */
static bool direction(const Layer *l, uint32_t d, Value **ret) {
  static const uint32_t n_acts[] = {[CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3};
  Builder *b = l->b;
  Ir *ir = b->ir;
  const bool reverse = l->a->direction == 1 || d == 1;
  const Dim *const state[] = {l->batch, l->hidden}, *const y[] = {l->steps, l->batch, l->hidden};
  LoopAttr *attr = loop_over(l);
  const Dim *place = reverse ? dim_sub(ir->dims, dim_addc(ir->dims, l->steps, -1), attr->iteration) : attr->iteration;
  Value *in[3] = {NULL, initial(l, RECURRENT_H, d), attr->n_states > 1 ? initial(l, RECURRENT_C, d) : NULL}, *states[2] = {NULL, NULL};
  for (uint32_t i = 0; i < attr->n_states; i++) {
    states[i] = graph_add_value(attr->body, type_tensor(ir, l->t, 2, state), (Str){0});
    vec_push(ir->arena, attr->body->inputs, states[i]);
  }
  const Dim *which = bd_const(b, d);
  Cell cell = {.b = {ir, attr->body, b->place}, .l = l, .acts = l->a->acts + d * n_acts[l->a->cell], .r = at(b, l->in[RECURRENT_R], 0, which),
               .r_bias = at(b, l->in[RECURRENT_B], 0, which), .peephole = at(b, l->in[RECURRENT_P], 0, which), .h = states[0], .c = states[1]};
  const Graph *checking = ir->checking;
  ir->checking = attr->body;
  const bool ok = step(&cell, d, place);
  ir->checking = checking;
  if (!ok) return false;
  Type out[3] = {type_tensor(ir, l->t, 2, state), type_tensor(ir, l->t, 2, state)};
  out[attr->n_states] = type_tensor(ir, l->t, 3, y);
  const Node *made = graph_add_node(b->graph, OP_LOOP, in, 1 + attr->n_states, out, attr->n_states + 1, attr, b->place);
  Value *all = made->out[attr->n_states];
  ret[0] = build_unsqueeze(b, reverse ? flipped(b, all, l->steps) : all, 1u << 1);
  for (uint32_t i = 0; i < attr->n_states; i++) ret[1 + i] = build_unsqueeze(b, made->out[i], 1u << 0);
  return true;
}

bool recurrent_loop(Builder *b, const RecurrentAttr *a, Value *const *in, Value **ret) {
  const Type *x = &in[RECURRENT_X]->type;
  const Layer l = {.b = b, .a = a, .in = in, .steps = x->dims[0], .batch = x->dims[1], .hidden = bd_const(b, a->hidden), .t = x->dtype};
  const size_t n_out = a->cell == CELL_LSTM ? 3 : 2;
  Value *forth[3], *back[3];
  if (!direction(&l, 0, forth) || (a->direction == 2 && !direction(&l, 1, back))) return false;
  for (size_t k = 0; k < n_out; k++) ret[k] = a->direction == 2 ? build_concat(b, (Value *const[]){forth[k], back[k]}, 2, k == 0) : forth[k];
  return true;
}
