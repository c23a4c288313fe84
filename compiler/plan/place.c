#include "plan/place_part.h"

/* The least peak that the whole needs: no part has to be better than the worst part's bound. */
static uint64_t parts_proved(const PlaceParts *ps) {
  uint64_t most = 0;
  for (size_t k = 0; k < ps->n; k++)
    if (ps->part[k].proved > most) most = ps->part[k].proved;
  return most;
}

static PlacePart *parts_worst(const PlaceParts *ps) {
  PlacePart *worst = NULL;
  for (size_t k = 0; k < ps->n; k++)
    if (!worst || ps->part[k].peak > worst->peak) worst = &ps->part[k];
  return worst;
}

/* Searches for less than the peak, halving the range between what is refuted or given up and what is found. */
static void part_bisect(Arena *a, PlacePart *p, uint64_t enough, uint64_t grain, PlaceSteps *s) {
  uint64_t end = s->limit, low = p->proved > enough ? p->proved : enough, target = low;
  while (p->peak > low && s->used < end) {
    s->limit = s->used + (end - s->used) / 3;
    if (s->limit == s->used) break;
    PlaceVerdict v = place_search(a, p, target, s);
    if (v != PLACE_FOUND) low = target + grain;
    if (v == PLACE_IMPOSSIBLE && low > p->proved) p->proved = low;
    target = low + (p->peak - low) / 2 / grain * grain;
    if (target >= p->peak) break;
  }
  s->limit = end;
}

/* False when the part could not be brought to `enough`. */
static bool part_improve(Arena *a, PlacePart *p, uint64_t enough, uint64_t grain, PlaceSteps *s, uint32_t *order) {
  uint64_t end = s->limit;
  part_bisect(a, p, enough, grain, s);
  if (s->used < end) s->limit = s->used + (end - s->used) / 2;
  place_improve(a, p, enough, s, order);
  s->limit = end;
  return p->peak <= enough;
}

static void place_all(Arena *scratch, PlaceParts *ps, uint64_t capacity, PlaceSteps *s) {
  uint32_t **order = NEW_ARRAY(scratch, uint32_t *, ps->n);
  uint64_t enough = parts_proved(ps);
  if (capacity > enough) enough = capacity;
  for (size_t k = 0; k < ps->n; k++) {
    order[k] = NEW_ARRAY(scratch, uint32_t, ps->part[k].n);
    place_greedy(scratch, &ps->part[k], enough, s, order[k]);
  }
  for (;;) {
    PlacePart *worst = parts_worst(ps);
    if (!worst || worst->peak <= enough || !part_improve(scratch, worst, enough, ps->grain, s, order[worst - ps->part]))
      return;
  }
}

void plan_place(Arena *a, const PlaceItem *items, size_t n, size_t capacity, uint64_t step_budget, PlaceResult *ret) {
  PlaceSteps s = {0, step_budget ? step_budget : PLACE_STEPS_DEFAULT};
  PlaceParts ps;
  Arena *scratch = arena_new(arena_door(a), 0);
  *ret = (PlaceResult){.peak = SIZE_MAX, .strategy = "none"};
  if (place_parts(scratch, items, n, &ps)) {
    ret->offsets = NEW_ARRAY(a, size_t, n);
    ret->peak = 0;
    place_all(scratch, &ps, capacity, &s);
    const PlacePart *worst = parts_worst(&ps);
    if (worst) ret->strategy = worst->strategy;
    ret->optimal = !worst || worst->peak <= parts_proved(&ps);
    for (size_t k = 0; k < ps.n; k++) {
      const PlacePart *p = &ps.part[k];
      if (p->bound_bytes > ret->lower_bound) ret->lower_bound = (size_t)p->bound_bytes;
      for (uint32_t i = 0; i < p->n; i++) {
        size_t at = (size_t)p->offset[i], end = at + items[p->item[i]].size;
        ret->offsets[p->item[i]] = at;
        if (end > ret->peak) ret->peak = end;
      }
    }
  }
  ret->steps = s.used;
  arena_free(scratch);
}
