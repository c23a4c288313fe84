/* Buffers whose size is known only when data have decided it: they lie behind all others, in slots by the step that decides them, so
 * that a slot's place and size are known as soon as that step is done. */
#include "plan/plan_private.h"

typedef struct Slot {
  int64_t level; /* the step that decides its size */
  const Dim *size;
  VEC(uint32_t) buffers;
} Slot;

typedef VEC(Slot) Slots;

/* Whether two blocks are run or passed over together: a branch on a condition that has decided before in the same block. */
static bool run_together(const Planner *l, int64_t a, int64_t b) {
  if (a == b) return true;
  if (a < 0 || b < 0 || l->block[a] != l->block[b]) return false;
  const Step *x = &l->p->main.steps.data[a], *y = &l->p->main.steps.data[b];
  return x->kind == y->kind && (x->kind == STEP_IF || x->kind == STEP_ELSE) && x->in[0] == y->in[0];
}

/* The block that has run where a step has decided something: an iteration's number is one where the loop runs only. */
static int64_t deciding_block(const Planner *l, int64_t step) { return l->p->main.steps.data[step].kind == STEP_LOOP ? step : l->block[step]; }

/* Whether a step is only reached where what another step decides is decided. What stays to the end has no last step. */
static bool encloses(const Planner *l, int64_t outer, int64_t inner) {
  const int64_t home = deciding_block(l, outer);
  int64_t block = inner < (int64_t)l->p->main.steps.n ? l->block[inner] : -1;
  while (block >= 0 && !run_together(l, block, home)) block = l->block[block];
  return block >= 0 || home < 0;
}

/* Both ends: what is made in one branch and used behind it is made in the other branch too. */
static bool encloses_life(const Planner *l, int64_t outer, const Life *life) {
  return encloses(l, outer, life->first) && encloses(l, outer, life->last);
}

/* Whether the place of a slot is known when the buffer starts, and stays. */
static bool may_join(const Planner *l, const Slot *s, uint32_t buffer) {
  const Life *life = &l->life[buffer];
  return l->level[buffer] == s->level || (life->first > s->level && !l->again[s->level] && encloses_life(l, s->level, life));
}

/* Lives apart from all in the slot, and may lie there. */
static bool fits(const Planner *l, const Slot *s, uint32_t buffer) {
  const Life *b = &l->life[buffer];
  if (!may_join(l, s, buffer)) return false;
  for (size_t i = 0; i < s->buffers.n; i++) {
    const Life *a = &l->life[s->buffers.data[i]];
    if (a->first <= b->last && b->first <= a->last) return false;
  }
  return true;
}

static void add(Planner *l, Slots *slots, uint32_t buffer, bool reuse) {
  size_t s = 0;
  while (s < slots->n && (!reuse || !fits(l, &slots->data[s], buffer))) s++;
  if (s == slots->n) vec_push(l->a, *slots, ((Slot){.level = l->level[buffer], .size = l->p->dims->zero}));
  slots->data[s].size = dim_max(l->p->dims, slots->data[s].size, l->bytes[buffer]);
  vec_push(l->a, slots->data[s].buffers, buffer);
}

/* What a step itself decides about the size of its result comes too late. */
static bool check_levels(const Planner *l, Diags *d) {
  for (size_t i = 0; i < l->p->buffers.n; i++)
    if (plan_has_place(l, i) && l->level[i] != NOT_DECIDED && l->level[i] >= l->life[i].first) {
      (void)diag_add(d, DIAG_E0306, l->p->main.steps.data[l->life[i].first].src, "data decide the size of a result, without an upper bound");
      return false;
    }
  return true;
}

bool plan_regions(Planner *l, Diags *d, bool reuse) {
  Program *p = l->p;
  Slots slots = {0};
  if (!check_levels(l, d)) return false;
  for (int64_t level = (int64_t)p->main.steps.n; level-- > 0;) /* later ones first: earlier buffers may join them */
    for (uint32_t i = 0; i < p->buffers.n; i++)
      if (plan_has_place(l, i) && l->level[i] == level) add(l, &slots, i, reuse);
  const Dim *at = dim_mulc(p->dims, dim_ceildiv(p->dims, p->arena_bytes, dim_const(p->dims, ALIGN)), ALIGN);
  for (size_t s = slots.n; s-- > 0;) {
    const Slot *slot = &slots.data[s];
    for (size_t i = 0; i < slot->buffers.n; i++) {
      Buffer *b = &p->buffers.data[slot->buffers.data[i]];
      b->offset = at;
      b->placed_after = (size_t)slot->level + 1;
    }
    at = dim_add(p->dims, at, slot->size);
    if (!p->regions.n || p->regions.data[p->regions.n - 1].step != (size_t)slot->level) vec_push(p->arena, p->regions, ((Region){.step = (size_t)slot->level}));
    p->regions.data[p->regions.n - 1].bytes = at;
  }
  if (dim_is_bad(at)) return diag_add(d, DIAG_E0501, (DiagPlace){0}, "the workspace's size overflows"), false;
  return true;
}

/* ---- the check ---- */
static uint32_t storage(const Program *p, uint32_t b) {
  while (p->buffers.data[b].alias_of != NO_BUFFER) b = p->buffers.data[b].alias_of;
  return b;
}

/* Two users of one place: the later one may begin in the step in which the earlier one ends, if it replaces it. */
static bool live_apart(const Planner *l, uint32_t a, uint32_t b) {
  const Life *x = &l->life[a], *y = &l->life[b];
  if (storage(l->p, a) == storage(l->p, b)) return x->last <= y->first || y->last <= x->first;
  return x->last < y->first || y->last < x->first;
}

static bool slot_fault(Diags *d, const char *what) {
  (void)diag_add(d, DIAG_E0901, (DiagPlace){0}, "the memory plan is unsound: %s", what);
  return false;
}

typedef struct Depends { const Dim *offset; const Step *step; bool found; } Depends;

static void see_offset_symbol(void *user, const Dim *symbol) {
  Depends *d = user;
  const AssignStep *a = d->step->attr;
  for (size_t k = 0; k < a->n; k++) d->found = d->found || a->symbols[k] == symbol;
}

/* Whether the place changes at a loop's end while the buffer is in use, and nothing moves its content. */
static bool moves(const Planner *l, uint32_t buffer) {
  const Life *life = &l->life[buffer];
  const Program *p = l->p;
  for (int64_t i = life->first + 1; i < life->last; i++) {
    const Step *s = &p->main.steps.data[i];
    if (!step_decides_again(s) || (s->n_out && p->tensors.data[s->out[0]].buffer == buffer)) continue;
    Depends d = {.step = s};
    dim_each_symbol(p->buffers.data[storage(p, buffer)].offset, see_offset_symbol, &d);
    if (d.found) return true;
  }
  return false;
}

bool plan_check_slots(const Planner *l, Diags *d, bool dynamic) {
  const Program *p = l->p;
  const int64_t *decided = program_decided(l->a, p);
  VEC(uint32_t) users = {0};
  for (uint32_t i = 0; i < p->buffers.n; i++) {
    const Buffer *b = &p->buffers.data[storage(p, i)];
    if ((p->buffers.data[i].kind != BUF_ARENA && !l->owned[i]) || l->life[i].first == NEVER || (!dynamic && l->level[i] == NOT_DECIDED)) continue;
    const int64_t level = (int64_t)b->placed_after - 1;
    if (level >= l->life[i].first || program_level(decided, b->offset) > level || program_level(decided, l->bytes[i]) >= l->life[i].first)
      return slot_fault(d, "a buffer is used before its place is known");
    if (level != NOT_DECIDED && !encloses_life(l, level, &l->life[i])) return slot_fault(d, "a buffer is used where its place may not be known");
    if (moves(l, i)) return slot_fault(d, "a buffer's place changes while it is in use");
    vec_push(l->a, users, i);
  }
  for (size_t i = 0; i < users.n; i++)
    for (size_t k = i + 1; k < users.n; k++) {
      const uint32_t a = users.data[i], b = users.data[k];
      const bool one_place = p->buffers.data[storage(p, a)].offset == p->buffers.data[storage(p, b)].offset;
      if (one_place && !dim_is(l->bytes[a], 0) && !dim_is(l->bytes[b], 0) && !live_apart(l, a, b)) return slot_fault(d, "buffers at one place live together");
    }
  return true;
}
