/* Copies that only put a buffer's whole content where a larger buffer has it (a part of a concatenation) vanish: the smaller buffer lies
 * there from the start. A group, all such copies into one buffer, is taken where no more memory is live at any time than with them. */
#include "plan/plan_private.h"

enum { MAX_WORK = 20000000 };

typedef struct Copy { uint32_t from, to; int64_t at, n; size_t step; } Copy; /* n elements of `from`, all it has, to place `at` of `to` */
typedef struct Range { int64_t lo, hi; } Range;

static int64_t constant(const Dim *d) {
  int64_t v;
  return dim_is_const(d, &v) ? v : -1;
}

/* Elements of the buffer from the first to the last of the tensor; false where they are not known. */
static bool range_of(const PTensor *t, Range *ret) {
  int64_t last = ret->lo = constant(t->offset);
  if (last < 0) return false;
  for (uint32_t a = 0; a < t->rank; a++) {
    const int64_t n = constant(t->dims[a]), stride = constant(t->strides[a]);
    int64_t reach;
    if (n < 1 || stride < 0 || !i64_mul(n - 1, stride, &reach) || !i64_add(last, reach, &last)) return false;
  }
  ret->hi = last + 1;
  return true;
}

static bool is_plain_copy(const Step *s) {
  const Nest *n = s->attr;
  if (s->kind != STEP_NEST || n->mode != NEST_MAP || n->n_loads != 1 || n->map.n != 1 || n->map.nodes[0].kind != EXPR_INPUT || n->n_axes != 1) return false;
  if (n->loads[0].n_indirect || n->store.n_indirect) return false;
  return dim_is(n->loads[0].stride[0], 1) && dim_is(n->store.stride[0], 1);
}

static bool is_copy(const Planner *l, size_t step, Copy *ret) {
  const Program *p = l->p;
  const Step *s = &p->main.steps.data[step];
  if (!is_plain_copy(s)) return false;
  const Nest *n = s->attr;
  const PTensor *x = &p->tensors.data[n->loads[0].tensor], *y = &p->tensors.data[n->store.tensor];
  const Buffer *from = &p->buffers.data[x->buffer], *to = &p->buffers.data[y->buffer];
  if (from == to || x->dtype != y->dtype || l->owned[x->buffer] || l->owned[y->buffer] || from->kind != BUF_ARENA || to->kind != BUF_ARENA || from->dtype != to->dtype || dtype_rows[from->dtype].bits < 8) return false;
  const int64_t count = constant(n->extent[0]), at = constant(y->offset), shift = constant(n->store.offset), bytes = dtype_rows[from->dtype].bits / 8;
  if (count < 1 || at < 0 || shift < 0 || !dim_is(from->n, count) || !dim_is(x->offset, 0) || !dim_is(n->loads[0].offset, 0)) return false;
  *ret = (Copy){x->buffer, y->buffer, at + shift, count, step};
  return constant(to->n) > count && (at + shift) * bytes % (int64_t)from->align == 0;
}

/* Whether the step's use of the tensor, if of one of the two buffers, allows the copy to go. */
static bool allows(const Program *p, const Copy *c, uint32_t tensor, size_t step, bool writes) {
  if (tensor == NO_TENSOR || step == c->step) return true;
  const PTensor *t = &p->tensors.data[tensor];
  Range r;
  if (t->buffer == c->from) return !writes || step < c->step;
  if (t->buffer != c->to || (!writes && step > c->step)) return true;
  return range_of(t, &r) && (r.hi <= c->at || r.lo >= c->at + c->n);
}

static bool may_go(const Program *p, const Copy *c) {
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in; k++)
      if (!allows(p, c, s->in[k], i, false)) return false;
    for (uint32_t k = 0; k < s->n_out; k++)
      if (!allows(p, c, s->out[k], i, true)) return false;
  }
  return true;
}

static void apply(Program *p, const Copy *c) {
  for (size_t i = 0; i < p->tensors.n; i++) {
    PTensor *t = &p->tensors.data[i];
    if (t->buffer != c->from) continue;
    t->buffer = c->to;
    t->offset = dim_addc(p->dims, t->offset, c->at);
  }
}

/* All copies from step `first` on into the buffer of that one; gone: by step. False: none. */
static bool join_group(Planner *l, size_t first, uint32_t to, bool *gone) {
  bool any = false;
  for (size_t i = first; i < l->p->main.steps.n; i++) {
    Copy c;
    if (gone[i] || !is_copy(l, i, &c) || c.to != to || !may_go(l->p, &c)) continue;
    apply(l->p, &c);
    any = gone[i] = true;
  }
  return any;
}

static void drop(Block *b, const Step *from, size_t n, const bool *gone) {
  b->steps.n = 0;
  for (size_t i = 0; i < n; i++)
    if (!gone[i]) b->steps.data[b->steps.n++] = from[i];
}

void plan_join(Planner *l) {
  Program *p = l->p;
  Block *b = &p->main;
  if (program_has_control(p) || b->steps.n * (b->steps.n + p->tensors.n) > MAX_WORK) return;
  PTensor *tensors = NEW_ARRAY(l->a, PTensor, p->tensors.n); /* as before a group */
  Step *steps = NEW_ARRAY(l->a, Step, b->steps.n);
  bool *gone = NEW_ARRAY(l->a, bool, b->steps.n);
  size_t peak = plan_live_peak(l);
  for (size_t i = 0; i < b->steps.n; i++) {
    const size_t n = b->steps.n;
    Copy c;
    if (!is_copy(l, i, &c)) continue;
    memcpy(tensors, p->tensors.data, p->tensors.n * sizeof *tensors);
    memcpy(steps, b->steps.data, n * sizeof *steps);
    memset(gone, 0, n * sizeof *gone);
    if (!join_group(l, i, c.to, gone)) continue;
    drop(b, steps, n, gone);
    const size_t with = plan_live_peak(l);
    if (with <= peak) {
      peak = with;
      i -= gone[i];
      continue;
    }
    memcpy(p->tensors.data, tensors, p->tensors.n * sizeof *tensors);
    memcpy(b->steps.data, steps, n * sizeof *steps);
    b->steps.n = n;
  }
}
