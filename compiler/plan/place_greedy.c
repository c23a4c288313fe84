/* Greedy placement: items one by one in an order, each into a gap between those placed before; and a local search over
 * the order. */
#include "plan/place_part.h"

#include <stdlib.h>

/* ---- orders ------------------------------------------------------------------------------------------------------------ */
typedef struct OrderEntry {
  uint64_t key[3];
  uint32_t i;
} OrderEntry;

static int order_cmp(const void *pa, const void *pb) {
  const OrderEntry *a = pa, *b = pb;
  for (int k = 0; k < 3; k++)
    if (a->key[k] != b->key[k]) return a->key[k] > b->key[k] ? -1 : 1;
  return (a->i > b->i) - (a->i < b->i);
}

static uint64_t mul_saturated(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t max_live(const PlacePart *p, uint32_t i) {
  uint64_t most = 0;
  for (uint32_t s = p->first[i]; s < p->end[i]; s++)
    if (p->live[s] > most) most = p->live[s];
  return most;
}

static uint64_t order_key(const PlacePart *p, PlaceKey key, uint32_t i) {
  switch (key) {
  case KEY_NONE: return 0;
  case KEY_SIZE: return p->size[i];
  case KEY_AREA: return mul_saturated(p->size[i], p->width[i]);
  case KEY_WIDTH: return p->width[i];
  case KEY_SECTIONS: return p->end[i] - p->first[i];
  case KEY_START: return UINT32_MAX - p->first[i];
  case KEY_LIVE: return max_live(p, i);
  case KEY_DEGREE: return p->adj_start[i + 1] - p->adj_start[i];
  }
  return 0;
}

void place_order(Arena *scratch, const PlacePart *p, const PlaceKey key[3], uint32_t *ret_order) {
  OrderEntry *e = NEW_ARRAY(scratch, OrderEntry, p->n);
  for (uint32_t i = 0; i < p->n; i++) {
    e[i].i = i;
    for (int k = 0; k < 3; k++) e[i].key[k] = order_key(p, key[k], i);
  }
  qsort(e, p->n, sizeof *e, order_cmp);
  for (uint32_t k = 0; k < p->n; k++) ret_order[k] = e[k].i;
}

/* ---- fitting ----------------------------------------------------------------------------------------------------------- */
typedef struct Span {
  uint64_t begin, end;
} Span;

typedef struct Fitter {
  const PlacePart *p;
  PlaceSteps *steps;
  uint64_t *offset; /* UINT64_MAX while unplaced */
  Span *spans;      /* of the neighbours of the item in hand */
} Fitter;

static Fitter fitter_new(Arena *scratch, const PlacePart *p, PlaceSteps *s) {
  return (Fitter){p, s, NEW_ARRAY(scratch, uint64_t, p->n), NEW_ARRAY(scratch, Span, p->n)};
}

static void fitter_add(Fitter *f, uint32_t *n, uint32_t j) {
  if (f->offset[j] != UINT64_MAX) f->spans[(*n)++] = (Span){f->offset[j], f->offset[j] + f->p->size[j]};
}

static uint32_t fitter_neighbours(Fitter *f, uint32_t i) {
  const PlacePart *p = f->p;
  uint32_t n = 0;
  for (uint32_t k = p->adj_start[i]; k < p->adj_start[i + 1]; k++) fitter_add(f, &n, p->adj[k]);
  f->steps->used += 4 * (uint64_t)(p->adj_start[i + 1] - p->adj_start[i]) + 4;
  return n;
}

/* By begin; Shell's sort with Ciura's gaps: short lists, and no function call a comparison. */
static void sort_spans(Span *v, uint32_t n) {
  static const uint32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
    for (uint32_t gap = gaps[g], i = gap; i < n; i++) {
      Span x = v[i];
      uint32_t j = i;
      for (; j >= gap && v[j - gap].begin > x.begin; j -= gap) v[j] = v[j - gap];
      v[j] = x;
    }
}

/* The lowest gap that takes item i, or with `tightest` the one that it fills best; above all if there is none. */
static uint64_t fitter_gap(Fitter *f, uint32_t i, bool tightest) {
  uint64_t align = f->p->align[i], size = f->p->size[i], top = 0, best = UINT64_MAX, best_slack = UINT64_MAX;
  uint32_t n = fitter_neighbours(f, i);
  sort_spans(f->spans, n);
  for (uint32_t k = 0; k < n; k++) {
    uint64_t at = place_align(top, align);
    if (f->spans[k].begin >= at + size) {
      if (!tightest) return at;
      uint64_t slack = f->spans[k].begin - top - size;
      if (slack < best_slack) {
        best_slack = slack;
        best = at;
      }
    }
    if (f->spans[k].end > top) top = f->spans[k].end;
  }
  return best != UINT64_MAX ? best : place_align(top, align);
}

/* The peak; UINT64_MAX when it would not stay below `ceiling`. */
static uint64_t fitter_run(Fitter *f, const uint32_t *order, bool tightest, uint64_t ceiling) {
  uint64_t peak = 0;
  memset(f->offset, 0xff, f->p->n * sizeof *f->offset);
  for (uint32_t k = 0; k < f->p->n; k++) {
    uint32_t i = order[k];
    f->offset[i] = fitter_gap(f, i, tightest);
    uint64_t top = f->offset[i] + f->p->size[i];
    if (top >= ceiling) return UINT64_MAX;
    if (top > peak) peak = top;
  }
  return peak;
}

static void fitter_keep(const Fitter *f, PlacePart *p, uint64_t peak, const char *strategy) {
  memcpy(p->offset, f->offset, p->n * sizeof *p->offset);
  p->peak = peak;
  p->strategy = strategy;
}

/* ---- the portfolio ------------------------------------------------------------------------------------------------------ */
typedef struct GreedyRow {
  const char *name;
  PlaceKey key[3];
  bool tightest;
} GreedyRow;

static const GreedyRow greedy_rows[] = {
    {"first fit by size", {KEY_SIZE, KEY_WIDTH}, false},
    {"first fit by area", {KEY_AREA, KEY_SIZE}, false},
    {"first fit by lifetime", {KEY_WIDTH, KEY_SIZE}, false},
    {"first fit by live set", {KEY_LIVE, KEY_SIZE, KEY_WIDTH}, false},
    {"first fit by live set and lifetime", {KEY_LIVE, KEY_WIDTH, KEY_SIZE}, false},
    {"first fit by neighbours", {KEY_DEGREE, KEY_SIZE}, false},
    {"first fit by start", {KEY_START, KEY_SIZE}, false},
    {"best fit by size", {KEY_SIZE, KEY_WIDTH}, true},
    {"best fit by area", {KEY_AREA, KEY_SIZE}, true},
    {"best fit by start", {KEY_START, KEY_SIZE}, true},
};

void place_greedy(Arena *scratch, PlacePart *p, uint64_t enough, PlaceSteps *s, uint32_t *ret_order) {
  Fitter f = fitter_new(scratch, p, s);
  uint32_t *order = NEW_ARRAY(scratch, uint32_t, p->n);
  for (size_t r = 0; r < sizeof greedy_rows / sizeof *greedy_rows; r++) {
    if (p->peak <= enough || (p->strategy && s->used >= s->limit)) return; /* one always runs */
    place_order(scratch, p, greedy_rows[r].key, order);
    uint64_t peak = fitter_run(&f, order, greedy_rows[r].tightest, p->peak);
    if (peak == UINT64_MAX) continue;
    fitter_keep(&f, p, peak, greedy_rows[r].name);
    memcpy(ret_order, order, p->n * sizeof *order);
  }
}

/* ---- local search -------------------------------------------------------------------------------------------------------- */
static uint32_t below(uint64_t *state, uint32_t n) { /* xorshift64*; n > 0 */
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (uint32_t)((*state * UINT64_C(0x2545F4914F6CDD1D) >> 32) % n);
}

static void order_move(uint32_t *order, uint32_t from, uint32_t to) {
  uint32_t i = order[from];
  if (to < from)
    memmove(order + to + 1, order + to, (from - to) * sizeof *order);
  else
    memmove(order + from, order + from + 1, (to - from) * sizeof *order);
  order[to] = i;
}

/* The place in the order of an item that ends at the peak; of several, of one by chance. */
static uint32_t on_peak(const PlacePart *p, const uint64_t *offset, uint64_t peak, const uint32_t *order, uint64_t *rng) {
  uint32_t found = 0, n = 0;
  for (uint32_t k = 0; k < p->n; k++)
    if (offset[order[k]] + p->size[order[k]] == peak && below(rng, ++n) == 0) found = k;
  return found;
}

void place_improve(Arena *scratch, PlacePart *p, uint64_t enough, PlaceSteps *s, uint32_t *order) {
  Fitter f = fitter_new(scratch, p, s);
  uint32_t *trial = NEW_ARRAY(scratch, uint32_t, p->n);
  uint64_t *offset = NEW_ARRAY(scratch, uint64_t, p->n), rng = UINT64_C(0x9E3779B97F4A7C15), current = UINT64_MAX;
  if (p->n < 2) return;
  current = fitter_run(&f, order, false, UINT64_MAX);
  memcpy(offset, f.offset, p->n * sizeof *offset);
  while (p->peak > enough && s->used < s->limit) {
    memcpy(trial, order, p->n * sizeof *order);
    uint32_t from = on_peak(p, offset, current, trial, &rng);
    order_move(trial, from, below(&rng, from + 1));
    if (below(&rng, 2)) {
      const uint32_t to = below(&rng, p->n), moved = below(&rng, p->n); /* one after the other, whatever compiles this */
      order_move(trial, moved, to);
    }
    /* An equal peak is a step on the plateau; now and then a slightly higher one is a way out of a valley. */
    uint64_t ceiling = below(&rng, 64) ? current + 1 : p->peak + p->peak / 32;
    uint64_t peak = fitter_run(&f, trial, false, ceiling);
    s->used += p->n;
    if (peak == UINT64_MAX) continue;
    current = peak;
    memcpy(order, trial, p->n * sizeof *order);
    memcpy(offset, f.offset, p->n * sizeof *offset);
    if (peak < p->peak) fitter_keep(&f, p, peak, "local search");
  }
}
