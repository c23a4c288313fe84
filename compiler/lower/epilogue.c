/* Epilogues: element-wise work fused behind the kernel step that made an operand. */
#include "lower/finish.h"
#include "lower/lower_private.h"

enum { MAX_EPILOGUE_NODES = 64, MAX_DEPTH = 8 };

static Epilogue *epilogue_of(Step *s) { /* NULL: the step cannot do more */
  if (s->kind == STEP_CONTRACT) return &((ContractStep *)(uintptr_t)s->attr)->epilogue;
  if (s->kind == STEP_CONV) return &((ConvStep *)(uintptr_t)s->attr)->epilogue;
  return NULL;
}

/* Load k of v is of tensor `self`, element for element. */
static bool loads_self(const Lower *l, const Virt *v, uint32_t k, uint32_t self) {
  if (v->loads[k].tensor != self) return false;
  const PTensor *t = &l->p->tensors.data[self];
  Virt one = {.n_loads = 1, .rank = v->rank};
  (void)expr_input(l->a, &one.expr, 0, t->dtype);
  one.loads[0] = v->loads[k];
  return virt_plain_tensor(l->p, &one, &(Type){.dtype = t->dtype, .rank = t->rank, .dims = t->dims}) == self;
}

/* Of windows of it, too, as the parts of a concatenation are. */
static int32_t last_written(const Lower *l, uint32_t tensor) {
  const uint32_t buffer = l->p->tensors.data[tensor].buffer;
  return buffer < l->written.n ? l->written.data[buffer] : -1;
}

/* True if every tensor that v loads is stored before step `step` runs, or is `self`, element for element. */
static bool ready_before(const Lower *l, const Virt *v, int32_t step, uint32_t self) {
  for (uint32_t k = 0; k < v->n_loads; k++) {
    uint32_t t = v->loads[k].tensor;
    if (loads_self(l, v, k, self)) continue;
    if (t == self || last_written(l, t) >= step || v->loads[k].indirect) return false;
  }
  return true;
}

/* How often n reads x, itself or through element-wise work that nothing else reads (x * sigmoid(x): twice). */
static uint32_t reads(const Lower *l, const Node *n, const Value *x, unsigned depth) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n->n_in; i++) {
    const Value *v = n->in[i];
    if (v == x) sum++;
    else if (depth && v->def && v->def->op == OP_POINTWISE && l->slots[v->id].uses == 1) sum += reads(l, v->def, x, depth - 1);
  }
  return sum;
}

/* Whether tensor t was made for v, or for what v is a view of and nobody else reads. */
static bool is_made_for(const Lower *l, const Value *v, uint32_t t) {
  while (l->slots[v->id].result != t) {
    const Node *n = v->def;
    if (!n || (n->op != OP_VIEW && n->op != OP_RESHAPE) || l->slots[n->in[0]->id].uses != 1) return false;
    v = n->in[0];
  }
  return true;
}

static bool fusable(Lower *l, const Node *n, const Virt *const *operands, uint32_t k) {
  const Type *type = &n->out[0]->type;
  uint32_t t = virt_plain_tensor(l->p, operands[k], &n->out[0]->type);
  if (t == NO_TENSOR || l->step_of.data[t] < l->barrier || reads(l, n, n->in[k], MAX_DEPTH) != l->slots[n->in[k]->id].uses) return false;
  if (!is_made_for(l, n->in[k], t)) return false;
  const PTensor *pt = &l->p->tensors.data[t];
  if (l->p->buffers.data[pt->buffer].kind != BUF_ARENA || pt->rank != type->rank) return false;
  if (pt->rank && memcmp(pt->dims, type->dims, pt->rank * sizeof *pt->dims) != 0) return false;
  Step *s = &l->p->main.steps.data[l->step_of.data[t]];
  if (s->n_out != 1 || s->out[0] != t || !epilogue_of(s)) return false;
  if (pt->dtype != type->dtype && !step_is_integer(s)) return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (i != k && !ready_before(l, operands[i], l->step_of.data[t], t)) return false;
  return true;
}

/* Nodes of v behind e's, load i of v being operand operand[i] of e, 0: node `so_far`; returns the result's node. */
static uint32_t append_nodes(Lower *l, Expr *e, const Virt *v, const uint32_t *operand, uint32_t so_far) {
  uint32_t *map = NEW_ARRAY(l->a, uint32_t, v->expr.n);
  for (uint32_t i = 0; i < v->expr.n; i++) {
    ExprNode x = v->expr.nodes[i];
    if (x.kind == EXPR_INPUT && operand[x.operand] == 0) {
      map[i] = so_far;
      continue;
    }
    if (x.kind == EXPR_INPUT) x.operand = operand[x.operand];
    for (unsigned j = 0; j < expr_node_arity(&x); j++) x.args[j] = map[x.args[j]];
    map[i] = expr_push(l->a, e, x);
  }
  return map[v->expr.n - 1];
}

/* The step's epilogue followed by n's expression; false when it would grow too large. */
static bool extend(Lower *l, const Node *n, const Virt *const *operands, uint32_t k, Step *s, Epilogue *ret) {
  const Epilogue *old = epilogue_of(s);
  Expr e = old->expr;
  uint32_t rank = n->out[0]->type.rank, n_loads = old->n_loads;
  uint32_t *roots = NEW_ARRAY(l->a, uint32_t, n->n_in);
  Access *loads = NEW_ARRAY(l->a, Access, VIRT_MAX_LOADS);
  if (old->n_loads) memcpy(loads, old->loads, old->n_loads * sizeof *loads);
  roots[k] = e.n ? e.n - 1 : expr_input(l->a, &e, 0, l->p->tensors.data[s->out[0]].dtype);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (i == k) continue;
    uint32_t place[VIRT_MAX_LOADS];
    if (n_loads + operands[i]->n_loads > VIRT_FUSED_LOADS) return false;
    for (uint32_t j = 0; j < operands[i]->n_loads; j++) {
      place[j] = loads_self(l, operands[i], j, s->out[0]) ? 0 : 1 + n_loads;
      if (place[j]) loads[n_loads++] = virt_access(l->p, &operands[i]->loads[j], rank);
    }
    roots[i] = append_nodes(l, &e, operands[i], place, roots[k]);
  }
  expr_set_result(l->a, &e, expr_inline(l->a, &e, &((const PointwiseAttr *)n->attr)->expr, roots));
  *ret = (Epilogue){e, loads, n_loads};
  return e.n <= MAX_EPILOGUE_NODES;
}

/* All that an integer step does besides its sums, it does in registers. */
static bool finishes(Lower *l, const Step *s, const Epilogue *e, const Type *t) {
  Finish f;
  return finish_match(l->p, e, t->rank, t->dims, step_channel_axis(s, t->rank, t->dims), &f) && f.out == t->dtype;
}

typedef struct Sizes { const Lower *l; int32_t step; bool known; } Sizes;

static void see_size(void *user, const Dim *symbol) {
  Sizes *s = user;
  if (symbol->symbol.origin == DIM_FROM_DATA && s->l->decided[symbol->symbol.index] > s->step) s->known = false;
}

/* Whether all sizes that e speaks of are decided when step `step` runs. */
static bool sizes_known(const Lower *l, const Epilogue *e, uint32_t rank, int32_t step) {
  Sizes s = {l, step, true};
  for (uint32_t k = 0; k < e->n_loads; k++) {
    dim_each_symbol(e->loads[k].offset, see_size, &s);
    for (uint32_t a = 0; a < rank; a++) dim_each_symbol(e->loads[k].stride[a], see_size, &s);
  }
  for (uint32_t i = 0; i < e->expr.n; i++)
    if (e->expr.nodes[i].kind == EXPR_DIM) dim_each_symbol(e->expr.nodes[i].dim, see_size, &s);
  return s.known;
}

bool lower_try_epilogue(Lower *l, const Node *n, const Virt *const *operands) {
  uint32_t k = 0;
  while (k < n->n_in && !fusable(l, n, operands, k)) k++;
  if (k == n->n_in) return false;
  uint32_t stored = virt_plain_tensor(l->p, operands[k], &n->out[0]->type);
  int32_t at = l->step_of.data[stored];
  Step *s = &l->p->main.steps.data[at];
  Epilogue grown, *e = epilogue_of(s);
  if (!extend(l, n, operands, k, s, &grown) || !sizes_known(l, &grown, n->out[0]->type.rank, at)) return false;
  if (step_is_integer(s) && !finishes(l, s, &grown, &n->out[0]->type)) return false;
  uint32_t added = grown.n_loads - e->n_loads;
  uint32_t *in = NEW_ARRAY(l->a, uint32_t, s->n_in + added), *out = NEW(l->a, uint32_t);
  memcpy(in, s->in, s->n_in * sizeof *in);
  for (uint32_t i = 0; i < added; i++) in[s->n_in + i] = grown.loads[e->n_loads + i].tensor;
  *e = grown;
  s->in = in;
  s->n_in += added;
  s->out = out;
  s->src = n->src;
  out[0] = lower_result(l, n->out[0]);
  lower_writes(l, out[0], at);
  l->step_of.data[stored] = -1; /* never stored now */
  return true;
}
