#include "plan/plan_private.h"

#include "plan/order.h"
#include "plan/place.h"
#include "plan/plan_check.h"

enum { UNBOUNDED = INT32_MAX, TYPICAL = 64, STEPS_HARD = 100000000 };

static const int64_t LARGEST = INT64_C(1) << 36; /* bytes that any one tensor may certainly take */

/* ---- lifetimes ---------------------------------------------------------------------------------------------------------------- */
static void touch(const Program *p, Life *lives, uint32_t tensor, int64_t step) {
  if (tensor == NO_TENSOR) return;
  Life *life = &lives[p->tensors.data[tensor].buffer];
  if (life->first == NEVER) life->first = step;
  life->last = step;
}

/* What is there when a loop begins and used in it is used until its end. */
static void stretch_over_loops(const Program *p, Life *ret) {
  VEC(size_t) open = {0};
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const StepKind kind = p->main.steps.data[i].kind;
    if (kind == STEP_LOOP) vec_push(p->arena, open, i);
    if (kind != STEP_END_LOOP) continue;
    const int64_t begin = (int64_t)open.data[--open.n];
    for (size_t b = 0; b < p->buffers.n; b++)
      if (ret[b].first != NEVER && ret[b].first <= begin && ret[b].last >= begin && ret[b].last < (int64_t)i) ret[b].last = (int64_t)i;
  }
}

void plan_lives(const Program *p, Life *ret) {
  for (size_t i = 0; i < p->buffers.n; i++) ret[i] = (Life){NEVER, NEVER};
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in; k++) touch(p, ret, s->in[k], (int64_t)i);
    for (uint32_t k = 0; k < s->n_out; k++) touch(p, ret, s->out[k], (int64_t)i);
    touch(p, ret, s->scratch, (int64_t)i);
  }
  stretch_over_loops(p, ret);
}

static void find_lives(Planner *l) {
  plan_lives(l->p, l->life);
  for (size_t i = 0; i < l->p->buffers.n; i++) /* the caller reads them after the call */
    if (l->owned[i] && l->life[i].first != NEVER) l->life[i].last = (int64_t)l->p->main.steps.n;
}

static bool has_data_size(const PTensor *t) {
  bool r = false;
  for (uint32_t k = 0; k < t->rank; k++) r = r || dim_has_data(t->dims[k]);
  return r;
}

static void find_owned(Planner *l, bool all) {
  for (size_t i = 0; i < l->p->outputs.n; i++) {
    const uint32_t t = l->p->outputs.data[i].tensor, content = l->p->outputs.data[i].content;
    if (t == NO_TENSOR) continue;
    const uint32_t b = l->p->tensors.data[t].buffer;
    if (l->p->buffers.data[b].kind == BUF_OUTPUT) l->owned[b] = all || content != NO_TENSOR || has_data_size(&l->p->tensors.data[t]);
    if (content != NO_TENSOR) l->owned[l->p->tensors.data[content].buffer] = true;
  }
}

static uint32_t root(const Program *p, uint32_t buffer) {
  while (p->buffers.data[buffer].alias_of != NO_BUFFER) buffer = p->buffers.data[buffer].alias_of;
  return buffer;
}

/* ---- in place: an element-wise step writes over an operand that it is the last to read, element for element --------------------------- */
static bool same_walk(const Program *p, const Access *a, const Access *b, uint32_t n_axes) {
  const PTensor *ta = &p->tensors.data[a->tensor], *tb = &p->tensors.data[b->tensor];
  if (a->n_indirect || b->n_indirect || a->offset != b->offset || ta->offset != tb->offset) return false;
  for (uint32_t j = 0; j < n_axes; j++)
    if (a->stride[j] != b->stride[j]) return false;
  return true;
}

/* The arena buffer that the step may write over, or NO_BUFFER. */
static uint32_t replaceable(const Planner *l, const Nest *n, uint32_t out, int64_t step) {
  const Program *p = l->p;
  const Buffer *b = &p->buffers.data[out];
  for (uint32_t k = 0; k < n->n_loads; k++) {
    uint32_t buffer = p->tensors.data[n->loads[k].tensor].buffer, r = root(p, buffer);
    const Buffer *a = &p->buffers.data[buffer];
    if (a->kind != BUF_ARENA || p->buffers.data[r].kind != BUF_ARENA || l->life[r].last != step || l->life[r].first == step) continue;
    if (a->n != b->n || p->buffers.data[r].n != b->n || dtype_rows[a->dtype].bits != dtype_rows[b->dtype].bits || dtype_rows[b->dtype].bits < 8) continue;
    bool all = true;
    for (uint32_t i = 0; i < n->n_loads; i++)
      if (root(p, p->tensors.data[n->loads[i].tensor].buffer) == r) all = all && same_walk(p, &n->loads[i], &n->store, n->n_axes);
    if (all) return r;
  }
  return NO_BUFFER;
}

static void find_in_place(Planner *l) {
  for (size_t i = 0; i < l->p->main.steps.n; i++) {
    const Step *s = &l->p->main.steps.data[i];
    if (s->kind != STEP_NEST || ((const Nest *)s->attr)->mode != NEST_MAP) continue;
    uint32_t out = l->p->tensors.data[s->out[0]].buffer;
    Buffer *b = &l->p->buffers.data[out];
    if (b->kind != BUF_ARENA || l->life[out].first != (int64_t)i || b->alias_of != NO_BUFFER) continue;
    uint32_t a = replaceable(l, s->attr, out, (int64_t)i);
    if (a == NO_BUFFER || a == out) continue;
    b->alias_of = a;
    l->life[a].last = l->life[out].last;
  }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------------------------ */
static const Dim *byte_size(Planner *l, const Buffer *b) {
  DimCtx *c = l->p->dims;
  unsigned bits = dtype_rows[b->dtype].bits;
  const Dim *n = dim_upper(c, b->n);
  if (dim_is(n, 0)) n = c->one; /* a place of its own: compilers warn where restrict pointers are equal */
  const Dim *bytes = bits < 8 ? dim_ceildiv(c, n, dim_const(c, 8 / bits)) : dim_mulc(c, n, bits / 8);
  return dim_mulc(c, dim_ceildiv(c, bytes, dim_const(c, ALIGN)), ALIGN);
}

bool plan_has_place(const Planner *l, size_t i) {
  return (l->p->buffers.data[i].kind == BUF_ARENA || l->owned[i]) && l->life[i].first != NEVER && l->p->buffers.data[i].alias_of == NO_BUFFER;
}

/* Placed before the call: all but those that open symbols decide (plan/regions.c). */
static bool placed(const Planner *l, size_t i) { return plan_has_place(l, i) && l->level[i] == NOT_DECIDED; }

typedef struct SizeKind { bool known, bounded; } SizeKind;

static void see_symbol(void *user, const Dim *symbol) {
  SizeKind *k = user;
  k->known = false;
  if (symbol->hi >= UNBOUNDED || symbol->symbol.origin == DIM_FROM_DATA) k->bounded = false;
}

/* ---- order: the one of two that needs less, results in place taken into account ------------------------------------------------------------ */
static size_t typical_bytes(const Planner *l, size_t i) {
  const size_t most = SIZE_MAX / (l->p->buffers.n + 1); /* so that no sum overflows */
  int64_t n;
  if (!dim_eval(l->bytes[i], l->typical, &n) || n < 0 || (uint64_t)n > most) return most;
  return (size_t)n;
}

/* Bytes live at most; forgets what is in place. */
size_t plan_live_peak(Planner *l) {
  const size_t n = l->p->main.steps.n;
  size_t *born = NEW_ARRAY(l->a, size_t, n + 1), *gone = NEW_ARRAY(l->a, size_t, n + 1), live = 0, peak = 0;
  find_lives(l);
  find_in_place(l);
  for (size_t i = 0; i < l->p->buffers.n; i++) {
    if (plan_has_place(l, i)) {
      const size_t bytes = typical_bytes(l, i);
      born[l->life[i].first] += bytes;
      gone[l->life[i].last] += bytes;
    }
  }
  for (size_t i = 0; i < n; i++) {
    live += born[i];
    if (live > peak) peak = live;
    live -= gone[i];
  }
  for (size_t i = 0; i < l->p->buffers.n; i++) l->p->buffers.data[i].alias_of = NO_BUFFER;
  return peak;
}

static bool decides_sizes(const Step *s) {
  return s->kind == STEP_SYMBOLS || (s->kind == STEP_EXTERN && ((const ExternStep *)s->attr)->n_defs);
}

static void push_buffer(const Planner *l, uint32_t *list, size_t *n, uint32_t tensor) {
  if (tensor != NO_TENSOR) list[(*n)++] = l->p->tensors.data[tensor].buffer;
}

/* What decides sizes stays before all that stood behind it: their loops may run that far. */
static OrderStep *order_steps(Planner *l) {
  const Block *b = &l->p->main;
  OrderStep *steps = NEW_ARRAY(l->a, OrderStep, b->steps.n);
  const uint32_t *last_decider = NULL;
  for (size_t i = 0; i < b->steps.n; i++) {
    const Step *s = &b->steps.data[i];
    uint32_t *reads = NEW_ARRAY(l->a, uint32_t, s->n_in), *writes = NEW_ARRAY(l->a, uint32_t, s->n_out + (size_t)1);
    OrderStep *o = &steps[i];
    for (uint32_t k = 0; k < s->n_in; k++) push_buffer(l, reads, &o->n_reads, s->in[k]);
    for (uint32_t k = 0; k < s->n_out; k++) push_buffer(l, writes, &o->n_writes, s->out[k]);
    push_buffer(l, writes, &o->n_writes, s->scratch);
    o->reads = reads;
    o->writes = writes;
    o->after = last_decider;
    o->n_after = last_decider != NULL;
    if (decides_sizes(s)) last_decider = arena_dup(l->a, &(uint32_t){(uint32_t)i}, sizeof(uint32_t));
  }
  return steps;
}

static void choose_order(Planner *l, uint64_t step_budget) {
  Block *b = &l->p->main;
  const size_t n = b->steps.n, n_buffers = l->p->buffers.n;
  if (n < 2 || program_has_control(l->p)) return; /* a body's steps stay in it */
  size_t *bytes = NEW_ARRAY(l->a, size_t, n_buffers), peak, given;
  bool *pinned = NEW_ARRAY(l->a, bool, n_buffers);
  uint32_t *order = NEW_ARRAY(l->a, uint32_t, n);
  for (size_t i = 0; i < n_buffers; i++) {
    bytes[i] = typical_bytes(l, i);
    pinned[i] = l->p->buffers.data[i].kind != BUF_ARENA;
  }
  const size_t before = plan_live_peak(l);
  plan_order(l->a, order_steps(l), n, bytes, pinned, n_buffers, step_budget, order, &peak, &given);
  if (peak >= given) return;
  Step *old = arena_dup(l->a, b->steps.data, n * sizeof *old);
  for (size_t i = 0; i < n; i++) b->steps.data[i] = old[order[i]];
  if (plan_live_peak(l) >= before) memcpy(b->steps.data, old, n * sizeof *old);
}

/* ---- static: exact sizes, or the largest that bounded symbols allow ------------------------------------------------------------------------ */
static bool place_static(Planner *l, Diags *d, const PlanOptions *opt) {
  Program *p = l->p;
  size_t n = p->buffers.n, items = 0;
  PlaceItem *item = NEW_ARRAY(l->a, PlaceItem, n);
  uint32_t *of = NEW_ARRAY(l->a, uint32_t, n);
  for (size_t i = 0; i < n; i++) {
    if (!placed(l, i)) continue;
    if (l->bytes[i]->hi > (int64_t)(SIZE_MAX / 4)) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "a buffer is larger than the address space"), false;
    item[items] = (PlaceItem){l->life[i].first, l->life[i].last + 1, (size_t)l->bytes[i]->hi, p->buffers.data[i].align};
    if (!opt->reuse) item[items].lower = 0, item[items].upper = (int64_t)p->main.steps.n + 1;
    of[items++] = (uint32_t)i;
  }
  PlaceResult r;
  plan_place(l->a, item, items, 0, opt->step_budget, &r);
  if (r.offsets && !r.optimal && !opt->step_budget && r.peak - r.lower_bound > r.lower_bound / 20) /* a hard one is worth a second */
    plan_place(l->a, item, items, 0, STEPS_HARD, &r);
  if (!r.offsets) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "the workspace is larger than the address space"), false;
  for (size_t k = 0; k < items; k++) p->buffers.data[of[k]].offset = dim_const(p->dims, (int64_t)r.offsets[k]);
  p->arena_bytes = dim_const(p->dims, (int64_t)r.peak);
  p->peak = r.peak;
  p->lower_bound = r.lower_bound;
  return true;
}

/* ---- dynamic: buffers share slots as a typical size suggests; a slot is as large as its largest, whatever the sizes turn out to be -------------- */
typedef struct SlotOrder { int64_t size; uint32_t buffer; } SlotOrder;

static void sort_by_size(SlotOrder *o, size_t n) { /* largest first, then by number; insertion is enough for some thousands */
  for (size_t i = 1; i < n; i++) {
    SlotOrder x = o[i];
    size_t j = i;
    for (; j > 0 && o[j - 1].size < x.size; j--) o[j] = o[j - 1];
    o[j] = x;
  }
}

typedef struct Share { const Dim *size; VEC(uint32_t) buffers; } Share;

static bool fits(const Planner *l, const Share *s, uint32_t buffer) {
  for (size_t i = 0; i < s->buffers.n; i++) {
    const Life *a = &l->life[s->buffers.data[i]], *b = &l->life[buffer];
    if (a->first <= b->last && b->first <= a->last) return false;
  }
  return true;
}

static bool place_dynamic(Planner *l, Diags *d, const PlanOptions *opt) {
  Program *p = l->p;
  SlotOrder *order = NEW_ARRAY(l->a, SlotOrder, p->buffers.n);
  size_t n = 0;
  for (size_t i = 0; i < p->buffers.n; i++) {
    if (!placed(l, i)) continue;
    if (dim_is_bad(l->bytes[i])) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "a buffer's size overflows"), false;
    order[n].buffer = (uint32_t)i;
    if (!dim_eval(l->bytes[i], l->typical, &order[n].size)) order[n].size = INT64_MAX;
    n++;
  }
  sort_by_size(order, n);
  VEC(Share) shares = {0};
  for (size_t k = 0; k < n; k++) {
    uint32_t b = order[k].buffer;
    size_t s = 0;
    while (s < shares.n && (!opt->reuse || !fits(l, &shares.data[s], b))) s++;
    if (s == shares.n) vec_push(l->a, shares, ((Share){.size = p->dims->zero}));
    shares.data[s].size = dim_max(p->dims, shares.data[s].size, l->bytes[b]);
    vec_push(l->a, shares.data[s].buffers, b);
  }
  const Dim *at = p->dims->zero;
  for (size_t s = 0; s < shares.n; s++) {
    for (size_t i = 0; i < shares.data[s].buffers.n; i++) p->buffers.data[shares.data[s].buffers.data[i]].offset = at;
    at = dim_add(p->dims, at, shares.data[s].size);
  }
  if (dim_is_bad(at)) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "the workspace's size overflows"), false;
  p->arena_bytes = at;
  return true;
}

/* ---- the check of every plan --------------------------------------------------------------------------------------------------------------------- */
static bool check(Planner *l, Diags *d) {
  Program *p = l->p;
  size_t n = 0, n_alias = 0;
  PlanItem *items = NEW_ARRAY(l->a, PlanItem, p->buffers.n);
  PlanAlias *aliases = NEW_ARRAY(l->a, PlanAlias, p->buffers.n);
  size_t *number = NEW_ARRAY(l->a, size_t, p->buffers.n);
  for (size_t i = 0; i < p->buffers.n; i++) {
    const Buffer *b = &p->buffers.data[i];
    if ((b->kind != BUF_ARENA && !l->owned[i]) || l->life[i].first == NEVER || l->level[i] != NOT_DECIDED) continue;
    uint32_t r = root(p, (uint32_t)i);
    number[i] = n;
    items[n++] = (PlanItem){l->life[i].first, l->life[i].last + 1, (size_t)p->buffers.data[r].offset->value, (size_t)l->bytes[i]->hi, b->align};
    if (b->alias_of != NO_BUFFER) aliases[n_alias++] = (PlanAlias){b->alias_of, i, 0, ALIAS_IN_PLACE};
  }
  for (size_t i = 0; i < n_alias; i++) {
    /* the storage's last holder before this one, not its first */
    size_t holder = aliases[i].a, b = aliases[i].b;
    for (size_t k = 0; k < n_alias; k++)
      if (aliases[k].b < p->buffers.n && root(p, (uint32_t)aliases[k].b) == root(p, (uint32_t)b) && l->life[aliases[k].b].first < l->life[b].first &&
          l->life[aliases[k].b].first > l->life[holder].first)
        holder = aliases[k].b;
    aliases[i].a = holder;
  }
  for (size_t i = 0; i < n_alias; i++) aliases[i].a = number[aliases[i].a], aliases[i].b = number[aliases[i].b];
  PlanFault fault;
  if (plan_check(l->a, items, n, aliases, n_alias, p->peak, &fault)) return true;
  (void)diag_add(d, DIAG_E0901, (DiagPlace){0}, "the memory plan is unsound: %s", plan_fault_text(fault.kind));
  return false;
}

/* ---- all ---------------------------------------------------------------------------------------------------------------------------------- */
static bool find_sizes(Planner *l, Diags *d) {
  l->typical = NEW_ARRAY(l->a, int64_t, l->p->dims->symbols.n);
  for (size_t i = 0; i < l->p->dims->symbols.n; i++) {
    const Dim *s = l->p->dims->symbols.data[i];
    l->typical[i] = s->lo > TYPICAL ? s->lo : s->hi < TYPICAL ? s->hi : TYPICAL;
  }
  for (size_t i = 0; i < l->p->buffers.n; i++) {
    l->bytes[i] = byte_size(l, &l->p->buffers.data[i]);
    if (l->bytes[i]->lo > LARGEST) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "a tensor of more than %lld GiB", (long long)LARGEST >> 30), false;
  }
  return true;
}

typedef struct Again { const int64_t *decided; bool *ret; } Again;

static void note_again(void *user, const Dim *symbol) {
  const Again *a = user;
  a->ret[a->decided[symbol->symbol.index]] = true;
}

static void find_blocks(Planner *l, const int64_t *decided) {
  const Block *b = &l->p->main;
  l->block = program_blocks(l->a, l->p);
  l->again = NEW_ARRAY(l->a, bool, b->steps.n);
  for (size_t i = 0; i < b->steps.n; i++)
    if (step_decides_again(&b->steps.data[i])) step_each_symbol(&b->steps.data[i], note_again, &(Again){decided, l->again});
}

bool plan_program(Program *p, Diags *d, const PlanOptions *opt) {
  Planner l = {.a = p->arena, .p = p};
  l.life = NEW_ARRAY(p->arena, Life, p->buffers.n);
  l.bytes = NEW_ARRAY(p->arena, const Dim *, p->buffers.n);
  l.level = NEW_ARRAY(p->arena, int64_t, p->buffers.n);
  l.owned = NEW_ARRAY(p->arena, bool, p->buffers.n);
  find_owned(&l, opt->own_outputs);
  p->file_order_peak = p->ir->file_order_peak;
  if (!find_sizes(&l, d)) return false;
  if (opt->reuse) plan_join(&l), choose_order(&l, opt->step_budget);
  const int64_t *decided = program_decided(p->arena, p);
  find_blocks(&l, decided);
  find_lives(&l);
  if (opt->reuse) find_in_place(&l);
  SizeKind kind = {true, true};
  for (size_t i = 0; i < p->buffers.n; i++) {
    l.level[i] = program_level(decided, l.bytes[i]);
    if (!placed(&l, i)) continue;
    if (dim_is_bad(l.bytes[i])) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "the size of a buffer overflows"), false;
    dim_each_symbol(l.bytes[i], see_symbol, &kind);
  }
  const bool dynamic = !kind.known && !kind.bounded;
  if (!(dynamic ? place_dynamic(&l, d, opt) : place_static(&l, d, opt)) || !plan_regions(&l, d, opt->reuse)) return false;
  find_lives(&l); /* anew: planning stretched the lives of what is replaced in place */
  return (dynamic || check(&l, d)) && plan_check_slots(&l, d, dynamic);
}
