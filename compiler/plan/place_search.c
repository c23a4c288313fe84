/* Depth-first search for a placement within a capacity, after M. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
 * Hardware-Accelerated Machine Learning" (ASPLOS 2023).
 *
 * Every placement can be pushed down until each item lies on the bottom or on another item; such a canonical one is found
 * by placing items in the order of their offsets, each at the lowest offset that those before it allow. So a node of the
 * search is a set of placed items and, for all others, the lowest offset still possible. Cut off are nodes
 * - where in some section the floor (below which nothing more can lie) and all that is still to come exceed the capacity;
 * - that leave a gap into which another item fits whole (some other placement, found elsewhere, is no worse).
 * When no unplaced item joins two stretches of time any more, they are solved one after the other, not in combination. */
#include "plan/place_part.h"

#include <stdlib.h>

enum {
  SEARCH_MAX_ITEMS = 3000,     /* recursion goes one level an item */
  SEARCH_EXHAUSTIBLE_ITEMS = 16 /* so few are better searched through than by turns */
};

/* The order in which items come at equal offsets. How long a search takes hangs on it, over five orders of magnitude. */
static const struct SearchRow {
  const char *name;
  PlaceKey key[3];
} search_rows[] = {
    {"search by live set, sections", {KEY_LIVE, KEY_SECTIONS, KEY_AREA}},
    {"search by live set, area", {KEY_LIVE, KEY_AREA, KEY_WIDTH}},
    {"search by sections, live set", {KEY_SECTIONS, KEY_LIVE, KEY_AREA}},
    {"search by live set, neighbours", {KEY_LIVE, KEY_DEGREE, KEY_AREA}},
};
enum { N_SEARCH_ROWS = sizeof search_rows / sizeof *search_rows };

/* What comes before the row's keys: nothing, or how often sections and items were where a branch failed so far. */
typedef enum SearchMode { MODE_PLAIN, MODE_WORST_SECTION, MODE_ALL_SECTIONS, N_SEARCH_MODES } SearchMode;

typedef struct Change { /* of low[i] or floor[i] */
  uint32_t i;
  uint64_t old;
} Change;
typedef VEC(Change) Changes;

typedef struct Mark {
  size_t n_low, n_floor, n_placed;
} Mark;

typedef struct Candidate {
  uint64_t low;
  uint32_t rank, i;
} Candidate;

typedef struct Search {
  Arena *scratch;
  const PlacePart *p;
  PlaceSteps *steps;
  uint64_t capacity;
  /* items */
  uint64_t *low;  /* the lowest offset still possible; of a placed item its offset */
  bool *placed;
  uint32_t *rank; /* in the order of this try */
  uint32_t *set;  /* the unplaced items of a stretch of time are set[lo..hi) */
  /* sections */
  uint64_t *floor, *left; /* nothing more below floor; bytes still to be placed */
  uint32_t *joins;        /* unplaced items that live in this section and the next */
  uint32_t *member_start, *member; /* items of each section */
  uint32_t *touched, *stamp, n_touched, clock;
  /* failures met, over all tries */
  uint64_t *item_fails, *section_fails;
  /* what to undo */
  Changes lows, floors;
  VEC(uint32_t) done;
} Search;

/* ---- setting up --------------------------------------------------------------------------------------------------------- */
static void search_members(Search *q) {
  const PlacePart *p = q->p;
  q->member_start = NEW_ARRAY(q->scratch, uint32_t, p->n_sections + 2);
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t s = p->first[i]; s < p->end[i]; s++) q->member_start[s + 2]++;
  for (uint32_t s = 0; s < p->n_sections; s++) q->member_start[s + 2] += q->member_start[s + 1];
  q->member = NEW_ARRAY(q->scratch, uint32_t, q->member_start[p->n_sections + 1]);
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t s = p->first[i]; s < p->end[i]; s++) q->member[q->member_start[s + 1]++] = i;
}

static Search *search_new(Arena *scratch, const PlacePart *p, PlaceSteps *s, uint64_t capacity) {
  Search *q = NEW(scratch, Search);
  *q = (Search){.scratch = scratch, .p = p, .steps = s, .capacity = capacity};
  q->low = NEW_ARRAY(scratch, uint64_t, p->n);
  q->placed = NEW_ARRAY(scratch, bool, p->n);
  q->rank = NEW_ARRAY(scratch, uint32_t, p->n);
  q->set = NEW_ARRAY(scratch, uint32_t, p->n);
  q->floor = NEW_ARRAY(scratch, uint64_t, p->n_sections);
  q->left = arena_dup(scratch, p->live, p->n_sections * sizeof *p->live);
  q->joins = NEW_ARRAY(scratch, uint32_t, p->n_sections);
  q->touched = NEW_ARRAY(scratch, uint32_t, p->n_sections);
  q->stamp = NEW_ARRAY(scratch, uint32_t, p->n_sections);
  q->item_fails = NEW_ARRAY(scratch, uint64_t, p->n);
  q->section_fails = NEW_ARRAY(scratch, uint64_t, p->n_sections);
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t t = p->first[i]; t + 1 < p->end[i]; t++) q->joins[t]++;
  search_members(q);
  return q;
}

/* ---- placing and undoing ------------------------------------------------------------------------------------------------- */
static Mark search_mark(const Search *q) { return (Mark){q->lows.n, q->floors.n, q->done.n}; }

static void search_undo(Search *q, Mark m) {
  const PlacePart *p = q->p;
  while (q->lows.n > m.n_low) {
    Change c = q->lows.data[--q->lows.n];
    q->low[c.i] = c.old;
  }
  while (q->floors.n > m.n_floor) {
    Change c = q->floors.data[--q->floors.n];
    q->floor[c.i] = c.old;
  }
  while (q->done.n > m.n_placed) {
    uint32_t i = q->done.data[--q->done.n];
    q->placed[i] = false;
    for (uint32_t s = p->first[i]; s < p->end[i]; s++) q->left[s] += p->size[i];
    for (uint32_t s = p->first[i]; s + 1 < p->end[i]; s++) q->joins[s]++;
  }
}

static void raise_floor(Search *q, uint32_t s, uint64_t floor) {
  vec_push(q->scratch, q->floors, ((Change){s, q->floor[s]}));
  q->floor[s] = floor;
}

static bool section_fits(Search *q, uint32_t s, uint64_t floor) {
  if (q->left[s] == 0 || floor + q->left[s] <= q->capacity) return true;
  q->section_fails[s]++;
  return false;
}

/* The floor of a section may have rested on item j, which is about to be lifted. */
static void touch_sections(Search *q, uint32_t j) {
  for (uint32_t s = q->p->first[j]; s < q->p->end[j]; s++)
    if (q->low[j] <= q->floor[s] && q->stamp[s] != q->clock) {
      q->stamp[s] = q->clock;
      q->touched[q->n_touched++] = s;
    }
}

/* Lifts the unplaced neighbours of i above it. */
static bool lift_neighbours(Search *q, uint32_t i, bool *ret_hatless) {
  const PlacePart *p = q->p;
  uint64_t top = q->low[i] + p->size[i];
  q->n_touched = 0;
  q->clock++;
  *ret_hatless = true;
  q->steps->used += p->adj_start[i + 1] - p->adj_start[i];
  for (uint32_t k = p->adj_start[i]; k < p->adj_start[i + 1]; k++) {
    uint32_t j = p->adj[k];
    if (q->placed[j]) continue;
    *ret_hatless = false;
    uint64_t low = place_align(top, p->align[j]);
    if (q->low[j] >= low) continue;
    if (low + p->size[j] > q->capacity) {
      q->item_fails[j]++;
      return false;
    }
    touch_sections(q, j);
    q->steps->used += (p->end[j] - p->first[j]) / 2;
    vec_push(q->scratch, q->lows, ((Change){j, q->low[j]}));
    q->low[j] = low;
  }
  return true;
}

/* The lowest offset still possible in a section if that is above its floor, else 0. */
static uint64_t section_least(Search *q, uint32_t s) {
  uint64_t least = UINT64_MAX;
  uint32_t k = q->member_start[s], end = q->member_start[s + 1];
  for (; k < end && least > q->floor[s]; k++) {
    uint32_t j = q->member[k];
    if (!q->placed[j] && q->low[j] < least) least = q->low[j];
  }
  q->steps->used += 1 + k - q->member_start[s];
  return least > q->floor[s] && least != UINT64_MAX ? least : 0;
}

/* Lifts the floors of the touched sections to what is still possible there. */
static bool lift_floors(Search *q) {
  for (uint32_t t = 0; t < q->n_touched; t++) {
    uint32_t s = q->touched[t];
    uint64_t least = section_least(q, s);
    if (least == 0) continue;
    if (!section_fits(q, s, least)) return false;
    raise_floor(q, s, least);
  }
  return true;
}

/* False: there is no placement with i here; the caller undoes. */
static bool search_place(Search *q, uint32_t i, bool *ret_hatless) {
  const PlacePart *p = q->p;
  uint64_t top = q->low[i] + p->size[i];
  bool fits = true;
  *ret_hatless = false;
  q->placed[i] = true;
  vec_push(q->scratch, q->done, i);
  q->steps->used += p->end[i] - p->first[i];
  for (uint32_t s = p->first[i]; s + 1 < p->end[i]; s++) q->joins[s]--;
  for (uint32_t s = p->first[i]; s < p->end[i]; s++) {
    raise_floor(q, s, top);
    q->left[s] -= p->size[i];
    fits &= section_fits(q, s, top);
  }
  return fits && lift_neighbours(q, i, ret_hatless) && lift_floors(q);
}

/* All that comes lies at `offset` or above. */
static bool sections_fit(Search *q, uint32_t s0, uint32_t s1, uint64_t offset) {
  q->steps->used += (s1 - s0) / 4;
  for (uint32_t s = s0; s < s1; s++)
    if (!section_fits(q, s, offset)) return false;
  return true;
}

/* ---- the search ----------------------------------------------------------------------------------------------------------- */
typedef struct Stretch { /* unplaced items set[lo..hi), which live in sections [s0, s1) */
  uint32_t lo, hi, s0, s1;
} Stretch;

static bool before(Candidate a, Candidate b) { return a.low != b.low ? a.low < b.low : a.rank < b.rank; }

/* Where the first gap would close: at or above it, nothing may come next. */
static uint64_t gap_top(Search *q, Stretch t) {
  const PlacePart *p = q->p;
  uint64_t least = UINT64_MAX;
  for (uint32_t k = t.lo; k < t.hi; k++) {
    uint64_t top = q->low[q->set[k]] + p->size[q->set[k]];
    if (top < least) least = top;
  }
  q->steps->used += t.hi - t.lo;
  return least;
}

/* The item that may come next: the first at or after `from` in (low, rank) and below `top`. */
static bool next_candidate(Search *q, Stretch t, Candidate from, uint64_t top, Candidate *ret) {
  Candidate best = {top, 0, 0};
  for (uint32_t k = t.lo; k < t.hi; k++) {
    uint32_t i = q->set[k];
    if (q->low[i] > best.low || q->low[i] < from.low) continue;
    Candidate c = {q->low[i], q->rank[i], i};
    if (before(c, best) && !before(c, from)) best = c;
  }
  q->steps->used += t.hi - t.lo;
  *ret = best;
  return best.low < top;
}

static void set_take(Search *q, Stretch t, uint32_t i) { /* i to the end of its stretch */
  uint32_t k = t.lo;
  while (q->set[k] != i) k++;
  q->set[k] = q->set[t.hi - 1];
  q->set[t.hi - 1] = i;
}

static PlaceVerdict search_stretch(Search *q, Stretch t, Candidate last);

/* Splits the stretch where nothing unplaced joins its sections any more; only i's own joins have gone. */
static PlaceVerdict search_split(Search *q, Stretch t, uint32_t i, Candidate last) {
  const PlacePart *p = q->p;
  Stretch rest = t;
  for (uint32_t s = p->first[i]; s + 1 < p->end[i]; s++) {
    if (q->joins[s] != 0) continue;
    Stretch head = {rest.lo, rest.lo, rest.s0, s + 1};
    for (uint32_t k = rest.lo; k < rest.hi; k++)
      if (p->end[q->set[k]] <= s + 1) {
        uint32_t j = q->set[k];
        q->set[k] = q->set[head.hi];
        q->set[head.hi++] = j;
      }
    q->steps->used += rest.hi - rest.lo;
    rest.lo = head.hi;
    rest.s0 = s + 1;
    PlaceVerdict v = search_stretch(q, head, (Candidate){0});
    if (v != PLACE_FOUND) return v;
  }
  return search_stretch(q, rest, rest.s0 == t.s0 ? last : (Candidate){0});
}

static PlaceVerdict search_stretch(Search *q, Stretch t, Candidate last) {
  if (t.lo == t.hi) return PLACE_FOUND;
  if (q->steps->used >= q->steps->limit) return PLACE_GAVE_UP;
  uint64_t top = gap_top(q, t);
  Candidate c;
  for (Candidate from = last; next_candidate(q, t, from, top, &c); from = (Candidate){c.low, c.rank + 1, 0}) {
    Mark m = search_mark(q);
    bool hatless;
    if (c.low > last.low && !sections_fit(q, t.s0, t.s1, c.low)) break;
    set_take(q, t, c.i);
    PlaceVerdict v = PLACE_IMPOSSIBLE;
    if (search_place(q, c.i, &hatless)) v = search_split(q, (Stretch){t.lo, t.hi - 1, t.s0, t.s1}, c.i, c);
    if (v == PLACE_FOUND) return v;
    search_undo(q, m);
    if (v == PLACE_GAVE_UP) return v;
    if (hatless) break; /* with nothing above it, no other place for it can help the others */
  }
  return PLACE_IMPOSSIBLE;
}

static PlaceVerdict search_try(Search *q, const uint32_t *order) {
  const PlacePart *p = q->p;
  for (uint32_t k = 0; k < p->n; k++) {
    q->rank[order[k]] = k;
    q->set[k] = order[k];
  }
  search_undo(q, (Mark){0});
  memset(q->low, 0, p->n * sizeof *q->low);
  return search_stretch(q, (Stretch){0, p->n, 0, p->n_sections}, (Candidate){0});
}

/* ---- tries ------------------------------------------------------------------------------------------------------------------ */
typedef struct Weighed {
  uint64_t fails;
  uint32_t k, i;
} Weighed;

static int weighed_cmp(const void *pa, const void *pb) {
  const Weighed *a = pa, *b = pb;
  if (a->fails != b->fails) return a->fails > b->fails ? -1 : 1;
  return (a->k > b->k) - (a->k < b->k);
}

static uint64_t item_weight(const Search *q, SearchMode mode, uint32_t i) {
  uint64_t most = 0, sum = 0;
  for (uint32_t s = q->p->first[i]; s < q->p->end[i]; s++) {
    sum += q->section_fails[s];
    if (q->section_fails[s] > most) most = q->section_fails[s];
  }
  return q->item_fails[i] + (mode == MODE_WORST_SECTION ? most : sum);
}

/* Moves to the front what the tries before failed on. */
static void search_order(const Search *q, SearchMode mode, const uint32_t *row, Weighed *scratch, uint32_t *ret_order) {
  for (uint32_t k = 0; k < q->p->n; k++)
    scratch[k] = (Weighed){mode == MODE_PLAIN ? 0 : item_weight(q, mode, row[k]), k, row[k]};
  qsort(scratch, q->p->n, sizeof *scratch, weighed_cmp);
  for (uint32_t k = 0; k < q->p->n; k++) ret_order[k] = scratch[k].i;
}

/* All orders in all modes in turn, then again with twice the steps: which one finds it soon cannot be told before.
 * Returns the row of the last try. */
static int search_all(Search *q, uint64_t end, PlaceVerdict *ret) {
  const PlacePart *p = q->p;
  PlaceSteps *s = q->steps;
  uint32_t *rows = NEW_ARRAY(q->scratch, uint32_t, (size_t)N_SEARCH_ROWS * p->n);
  uint32_t *order = NEW_ARRAY(q->scratch, uint32_t, p->n);
  Weighed *weighed = NEW_ARRAY(q->scratch, Weighed, p->n);
  uint64_t tenure = p->n <= SEARCH_EXHAUSTIBLE_ITEMS ? end - s->used : 64 * (uint64_t)p->n;
  for (int r = 0; r < N_SEARCH_ROWS; r++) place_order(q->scratch, p, search_rows[r].key, rows + (size_t)r * p->n);
  for (;; tenure *= 2)
    for (int t = 0; t < N_SEARCH_ROWS * N_SEARCH_MODES; t++) {
      int r = t % N_SEARCH_ROWS;
      s->limit = end - s->used < tenure ? end : s->used + tenure;
      search_order(q, (SearchMode)(t / N_SEARCH_ROWS), rows + (size_t)r * p->n, weighed, order);
      *ret = search_try(q, order);
      if (*ret != PLACE_GAVE_UP || s->used >= end) return r;
    }
}

PlaceVerdict place_search(Arena *scratch, PlacePart *p, uint64_t capacity, PlaceSteps *s) {
  uint64_t end = s->limit;
  PlaceVerdict v = PLACE_GAVE_UP;
  if (capacity < p->bound) return PLACE_IMPOSSIBLE;
  if (p->n > SEARCH_MAX_ITEMS || s->used >= end) return v;
  Search *q = search_new(scratch, p, s, capacity);
  int row = search_all(q, end, &v);
  s->limit = end;
  if (v != PLACE_FOUND) return v;
  memcpy(p->offset, q->low, p->n * sizeof *p->offset);
  p->strategy = search_rows[row].name;
  p->peak = 0;
  for (uint32_t i = 0; i < p->n; i++)
    if (p->offset[i] + p->size[i] > p->peak) p->peak = p->offset[i] + p->size[i];
  return v;
}
