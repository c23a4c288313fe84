#include "plan/plan_check.h"

#include <stdlib.h>

#define NO_PARENT SIZE_MAX

typedef struct Checker {
  Arena *scratch;
  const PlanItem *items;
  size_t n;
  const PlanAlias **alias; /* [n] of item b, or NULL */
  PlanFault *fault;
} Checker;

static bool refuse(Checker *c, PlanFaultKind kind, size_t a, size_t b) {
  *c->fault = (PlanFault){kind, a, b};
  return false;
}

const char *plan_fault_text(PlanFaultKind kind) {
  switch (kind) {
  case PLAN_SOUND: return "the plan is sound";
  case PLAN_FAULT_ITEM: return "a buffer's life or alignment makes no sense";
  case PLAN_FAULT_BOUNDS: return "a buffer lies outside the arena";
  case PLAN_FAULT_ALIGN: return "a buffer is not aligned";
  case PLAN_FAULT_OVERLAP: return "two buffers share bytes while both live";
  case PLAN_FAULT_ALIAS: return "an alias names wrong buffers";
  case PLAN_FAULT_INSIDE: return "an alias does not lie where its storage has it";
  case PLAN_FAULT_LIFETIME: return "a slice or part outlives its storage";
  case PLAN_FAULT_IN_PLACE: return "a buffer is overwritten while still needed";
  }
  return "unknown";
}

/* ---- rectangles in time and space ---------------------------------------------------------------------------------------- */
typedef struct Rect {
  int64_t lower, upper; /* time */
  size_t begin, end;    /* bytes */
  size_t item;          /* for messages */
} Rect;

typedef struct Event {
  int64_t time;
  bool begins; /* what ends at a time ends before what begins then */
  size_t rect;
} Event;

static int event_cmp(const void *pa, const void *pb) {
  const Event *a = pa, *b = pb;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->begins != b->begins) return a->begins ? 1 : -1;
  return (a->rect > b->rect) - (a->rect < b->rect);
}

static int size_cmp(const void *pa, const void *pb) {
  size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
  return (a > b) - (a < b);
}

/* A segment tree over the m ranges between the points: how often each is taken. */
typedef struct Cover {
  int32_t *most, *all; /* of a node: the largest count below it; what was added to all of it. most includes all */
  size_t m;
} Cover;

static void cover_add(Cover *v, size_t node, size_t lo, size_t hi, size_t from, size_t to, int32_t by) {
  if (from <= lo && hi <= to) {
    v->most[node] += by;
    v->all[node] += by;
    return;
  }
  size_t mid = lo + (hi - lo) / 2;
  if (from < mid) cover_add(v, 2 * node, lo, mid, from, to, by);
  if (to > mid) cover_add(v, 2 * node + 1, mid, hi, from, to, by);
  int32_t left = v->most[2 * node], right = v->most[2 * node + 1];
  v->most[node] = v->all[node] + (left > right ? left : right);
}

static int32_t cover_most(const Cover *v, size_t node, size_t lo, size_t hi, size_t from, size_t to) {
  if (from <= lo && hi <= to) return v->most[node];
  size_t mid = lo + (hi - lo) / 2;
  int32_t left = from < mid ? cover_most(v, 2 * node, lo, mid, from, to) : 0;
  int32_t right = to > mid ? cover_most(v, 2 * node + 1, mid, hi, from, to) : 0;
  return v->all[node] + (left > right ? left : right);
}

static size_t point_index(const size_t *points, size_t m, size_t x) {
  size_t lo = 0, hi = m;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (points[mid] < x)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static bool refuse_overlap(Checker *c, const Rect *r, size_t n, size_t with) {
  for (size_t k = 0; k < n; k++)
    if (k != with && r[k].lower < r[with].upper && r[with].lower < r[k].upper && r[k].begin < r[with].end &&
        r[with].begin < r[k].end)
      return refuse(c, PLAN_FAULT_OVERLAP, r[k].item, r[with].item);
  return refuse(c, PLAN_FAULT_OVERLAP, r[with].item, r[with].item);
}

/* True when no two of the rectangles (none empty) have a common point. */
static bool check_disjoint(Checker *c, const Rect *r, size_t n) {
  if (n < 2) return true;
  Event *events = NEW_ARRAY(c->scratch, Event, 2 * n);
  size_t *points = NEW_ARRAY(c->scratch, size_t, 2 * n);
  for (size_t k = 0; k < n; k++) {
    events[2 * k] = (Event){r[k].lower, true, k};
    events[2 * k + 1] = (Event){r[k].upper, false, k};
    points[2 * k] = r[k].begin;
    points[2 * k + 1] = r[k].end;
  }
  qsort(events, 2 * n, sizeof *events, event_cmp);
  qsort(points, 2 * n, sizeof *points, size_cmp);
  Cover v = {NEW_ARRAY(c->scratch, int32_t, 8 * n), NEW_ARRAY(c->scratch, int32_t, 8 * n), 2 * n};
  for (size_t e = 0; e < 2 * n; e++) {
    const Rect *now = &r[events[e].rect];
    size_t from = point_index(points, 2 * n, now->begin), to = point_index(points, 2 * n, now->end);
    if (events[e].begins && cover_most(&v, 1, 0, v.m, from, to) > 0) return refuse_overlap(c, r, n, events[e].rect);
    cover_add(&v, 1, 0, v.m, from, to, events[e].begins ? 1 : -1);
  }
  return true;
}

/* ---- single items --------------------------------------------------------------------------------------------------------- */
static bool check_items(Checker *c, size_t arena_size) {
  for (size_t i = 0; i < c->n; i++) {
    const PlanItem *it = &c->items[i];
    if (it->lower < INT64_MIN / 2 || it->upper > INT64_MAX / 2 || it->lower > it->upper || it->align == 0 ||
        (it->align & (it->align - 1)))
      return refuse(c, PLAN_FAULT_ITEM, i, i);
    if (it->offset > arena_size || it->size > arena_size - it->offset) return refuse(c, PLAN_FAULT_BOUNDS, i, i);
    if (it->offset % it->align) return refuse(c, PLAN_FAULT_ALIGN, i, i);
  }
  return true;
}

/* ---- aliases -------------------------------------------------------------------------------------------------------------- */
/* Fills alias[]; each b once, and no circles. */
static bool check_alias_forest(Checker *c, const PlanAlias *aliases, size_t n_aliases) {
  for (size_t k = 0; k < n_aliases; k++) {
    const PlanAlias *l = &aliases[k];
    if (l->a >= c->n || l->b >= c->n || l->kind > ALIAS_PART) return refuse(c, PLAN_FAULT_ALIAS, l->a, l->b);
    if (c->alias[l->b]) return refuse(c, PLAN_FAULT_ALIAS, l->a, l->b);
    c->alias[l->b] = l;
  }
  size_t *walk = NEW_ARRAY(c->scratch, size_t, c->n); /* 1 + the item from which the walk came by */
  for (size_t i = 0; i < c->n; i++)
    for (size_t j = i; walk[j] == 0 || walk[j] == i + 1; j = c->alias[j]->a) {
      if (walk[j] == i + 1) return refuse(c, PLAN_FAULT_ALIAS, i, j);
      walk[j] = i + 1;
      if (!c->alias[j]) break;
    }
  return true;
}

static bool check_alias(Checker *c, const PlanAlias *l) {
  const PlanItem *a = &c->items[l->a], *b = &c->items[l->b];
  if (l->at > a->size || b->size > a->size - l->at || b->offset != a->offset + l->at)
    return refuse(c, PLAN_FAULT_INSIDE, l->a, l->b);
  if (l->kind != ALIAS_IN_PLACE) {
    if (b->lower < a->lower || b->upper > a->upper) return refuse(c, PLAN_FAULT_LIFETIME, l->a, l->b);
  } else if (a->lower >= b->lower || a->upper - 1 != b->lower) {
    return refuse(c, PLAN_FAULT_IN_PLACE, l->a, l->b);
  }
  return true;
}

/* The end of the chain of `until` above i: the whole group's storage, or what i is a slice or part of. Paths are
 * shortened as they are walked, so that long chains cost no square. */
static size_t chain_top(const Checker *c, size_t *top, size_t i, bool through_in_place) {
  size_t end = i;
  while (c->alias[end] && top[end] == NO_PARENT && (through_in_place || c->alias[end]->kind != ALIAS_IN_PLACE))
    end = c->alias[end]->a;
  size_t result = top[end] == NO_PARENT ? end : top[end];
  for (size_t j = i; j != end; j = c->alias[j]->a) top[j] = result;
  top[end] = result;
  return result;
}

static size_t *tops_new(Checker *c) {
  size_t *top = NEW_ARRAY(c->scratch, size_t, c->n);
  for (size_t i = 0; i < c->n; i++) top[i] = NO_PARENT;
  return top;
}

/* What is written over a must not be needed as a piece of something that lives on, and only once. */
static bool check_overwrites(Checker *c) {
  size_t *top = tops_new(c);
  bool *overwritten = NEW_ARRAY(c->scratch, bool, c->n);
  for (size_t b = 0; b < c->n; b++) {
    const PlanAlias *l = c->alias[b];
    if (!l || l->kind != ALIAS_IN_PLACE) continue;
    size_t whole = chain_top(c, top, l->a, false);
    if (c->items[whole].upper - 1 != c->items[b].lower || overwritten[l->a])
      return refuse(c, PLAN_FAULT_IN_PLACE, whole, b);
    overwritten[l->a] = true;
  }
  return true;
}

static int part_cmp(const void *pa, const void *pb) {
  const PlanAlias *a = *(const PlanAlias *const *)pa, *b = *(const PlanAlias *const *)pb;
  if (a->a != b->a) return a->a < b->a ? -1 : 1;
  return (a->b > b->b) - (a->b < b->b);
}

static Rect item_rect(const Checker *c, size_t i) {
  const PlanItem *it = &c->items[i];
  return (Rect){it->lower, it->upper, it->offset, it->offset + it->size, i};
}

static bool rect_empty(Rect r) { return r.lower == r.upper || r.begin == r.end; }

/* Parts of the same item, against each other. */
static bool check_parts(Checker *c) {
  const PlanAlias **parts = NEW_ARRAY(c->scratch, const PlanAlias *, c->n);
  size_t n = 0;
  for (size_t i = 0; i < c->n; i++)
    if (c->alias[i] && c->alias[i]->kind == ALIAS_PART && !rect_empty(item_rect(c, i))) parts[n++] = c->alias[i];
  qsort(parts, n, sizeof *parts, part_cmp);
  Rect *rects = NEW_ARRAY(c->scratch, Rect, n);
  for (size_t k = 0; k < n; k++) rects[k] = item_rect(c, parts[k]->b);
  for (size_t k = 0, end; k < n; k = end) {
    for (end = k + 1; end < n && parts[end]->a == parts[k]->a; end++) {}
    if (!check_disjoint(c, rects + k, end - k)) return false;
  }
  return true;
}

/* Groups against each other: each takes its storage from its first write to its last read. */
static bool check_storages(Checker *c) {
  size_t *top = tops_new(c), n = 0;
  Rect *group = NEW_ARRAY(c->scratch, Rect, c->n), *rects = NEW_ARRAY(c->scratch, Rect, c->n);
  for (size_t i = 0; i < c->n; i++) group[i] = item_rect(c, i);
  for (size_t i = 0; i < c->n; i++) {
    Rect *g = &group[chain_top(c, top, i, true)];
    if (rect_empty(item_rect(c, i))) continue;
    if (rect_empty(*g)) {
      g->lower = c->items[i].lower;
      g->upper = c->items[i].upper;
    }
    if (c->items[i].lower < g->lower) g->lower = c->items[i].lower;
    if (c->items[i].upper > g->upper) g->upper = c->items[i].upper;
  }
  for (size_t i = 0; i < c->n; i++)
    if (!c->alias[i] && !rect_empty(group[i])) rects[n++] = group[i];
  return check_disjoint(c, rects, n);
}

bool plan_check(Arena *scratch, const PlanItem *items, size_t n, const PlanAlias *aliases, size_t n_aliases,
                size_t arena_size, PlanFault *ret) {
  Checker c = {scratch, items, n, NEW_ARRAY(scratch, const PlanAlias *, n), ret};
  *ret = (PlanFault){PLAN_SOUND, 0, 0};
  if (!check_items(&c, arena_size) || !check_alias_forest(&c, aliases, n_aliases)) return false;
  for (size_t k = 0; k < n_aliases; k++)
    if (!check_alias(&c, &aliases[k])) return false;
  return check_overwrites(&c) && check_parts(&c) && check_storages(&c);
}
