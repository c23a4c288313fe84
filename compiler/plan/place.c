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

/* Searches below `target` with a share of the steps left; what is refuted is proved. */
static PlaceVerdict part_search(Arena *scratch, PlacePart *p, uint64_t target, uint64_t grain, uint64_t steps,
                                PlaceSteps *s) {
  uint64_t end = s->limit;
  s->limit = s->used + steps;
  PlaceVerdict v = place_search(scratch, p, target, s);
  s->limit = end;
  if (v == PLACE_IMPOSSIBLE && target + grain > p->proved) p->proved = target + grain;
  return v;
}

static uint64_t steps_left(const PlaceSteps *s) { return s->used < s->limit ? s->limit - s->used : 0; }

/* False when the part could not be brought to `enough`. The search goes for that first (where it is a given capacity, with
 * most of the steps), then the local search for anything lower, then the search halves the range that is left. */
static bool part_improve(Arena *scratch, PlacePart *p, uint64_t enough, uint64_t grain, PlaceSteps *s, uint32_t *order) {
  uint64_t end = s->limit, low = p->proved > enough ? p->proved : enough, left = steps_left(s);
  if (part_search(scratch, p, low, grain, low > p->proved ? left - left / 8 : left / 4, s) == PLACE_FOUND)
    return p->peak <= enough;
  s->limit = s->used + steps_left(s) / 2;
  place_improve(scratch, p, enough, s, order);
  s->limit = end;
  low += grain;
  while (p->peak > low && steps_left(s)) {
    uint64_t target = low + (p->peak - grain - low) / 2 / grain * grain;
    if (part_search(scratch, p, target, grain, steps_left(s) / 2 + 1, s) != PLACE_FOUND) low = target + grain;
  }
  return p->peak <= enough;
}

static void place_all(Arena *scratch, PlaceParts *ps, uint64_t capacity, PlaceSteps *s) {
  uint32_t **order = NEW_ARRAY(scratch, uint32_t *, ps->n);
  uint64_t enough = parts_proved(ps);
  if (capacity > enough) enough = capacity;
  for (size_t k = 0; k < ps->n; k++) {
    PlacePart *p = &ps->part[k];
    order[k] = NEW_ARRAY(scratch, uint32_t, p->n);
    if (p->adj)
      place_greedy(scratch, p, enough, s, order[k]);
    else
      place_sweep(scratch, p);
  }
  for (;;) {
    PlacePart *worst = parts_worst(ps);
    if (!worst || worst->peak <= enough || !worst->adj || !part_improve(scratch, worst, enough, ps->grain, s, order[worst - ps->part]))
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
