#include "plan/place_part.h"

#include <stdlib.h>

enum { ADJ_MAX = 1 << 22 }; /* neighbours kept as lists, 16 MiB */

typedef struct Live {
  int64_t lower, upper;
  uint32_t item;
} Live;

static int live_cmp(const void *pa, const void *pb) {
  const Live *a = pa, *b = pb;
  if (a->lower != b->lower) return a->lower < b->lower ? -1 : 1;
  return (a->item > b->item) - (a->item < b->item);
}

static uint64_t item_align(const PlaceItem *it) { return it->align ? it->align : 1; }

/* Any placement that a way here makes ends below the sum of all sizes, each with its alignment. */
static bool sizes_fit(const PlaceItem *items, size_t n) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++)
    if (!size_add(sum, items[i].size, &sum) || !size_add(sum, 2 * item_align(&items[i]), &sum) || sum > SIZE_MAX / 4)
      return false;
  return n < UINT32_MAX / 4;
}

/* ---- sections -------------------------------------------------------------------------------------------------------- */
/* live: sorted by lower. Sections begin at the distinct lower ends. */
static uint32_t part_sections(Arena *a, const Live *live, uint32_t n, uint32_t *first, uint32_t *end) {
  int64_t *begin = NEW_ARRAY(a, int64_t, n);
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (m == 0 || begin[m - 1] != live[i].lower) begin[m++] = live[i].lower;
    first[i] = m - 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t lo = first[i] + 1, hi = m; /* the first section that begins at upper or later */
    while (lo < hi) {
      uint32_t mid = lo + (hi - lo) / 2;
      if (begin[mid] < live[i].upper)
        lo = mid + 1;
      else
        hi = mid;
    }
    end[i] = lo;
  }
  return m;
}

static void part_live(Arena *a, PlacePart *p) {
  uint64_t *live = NEW_ARRAY(a, uint64_t, p->n_sections + 1);
  for (uint32_t i = 0; i < p->n; i++) { /* differences; unsigned wrap-around cancels in the sum */
    live[p->first[i]] += p->size[i];
    live[p->end[i]] -= p->size[i];
  }
  for (uint32_t s = 1; s < p->n_sections; s++) live[s] += live[s - 1];
  for (uint32_t s = 0; s < p->n_sections; s++)
    if (live[s] > p->bound) p->bound = live[s];
  p->live = live;
}

/* ---- the bound in bytes ------------------------------------------------------------------------------------------------ */
typedef struct Pad {
  uint64_t pad;
  uint32_t i;
} Pad;

static int pad_cmp(const void *pa, const void *pb) {
  const Pad *a = pa, *b = pb;
  if (a->pad != b->pad) return a->pad > b->pad ? -1 : 1;
  return (a->i > b->i) - (a->i < b->i);
}

static uint32_t next_unpainted(uint32_t *skip, uint32_t s) {
  while (skip[s] != s) {
    skip[s] = skip[skip[s]];
    s = skip[s];
  }
  return s;
}

/* In each section one buffer lies on top, whose padding costs nothing: at best the one with the most. Sections are
 * painted by items of falling padding, each once. */
static void part_bound_bytes(Arena *scratch, PlacePart *p, const PlaceItem *items) {
  Pad *pads = NEW_ARRAY(scratch, Pad, p->n);
  uint32_t *skip = NEW_ARRAY(scratch, uint32_t, p->n_sections + 1);
  for (uint32_t s = 0; s <= p->n_sections; s++) skip[s] = s;
  for (uint32_t i = 0; i < p->n; i++) pads[i] = (Pad){p->size[i] - items[p->item[i]].size, i};
  qsort(pads, p->n, sizeof *pads, pad_cmp);
  for (uint32_t k = 0; k < p->n; k++) {
    uint32_t end = p->end[pads[k].i];
    for (uint32_t s = next_unpainted(skip, p->first[pads[k].i]); s < end; s = next_unpainted(skip, s)) {
      uint64_t bytes = p->live[s] - pads[k].pad;
      if (bytes > p->bound_bytes) p->bound_bytes = bytes;
      skip[s] = s + 1;
    }
  }
}

/* ---- neighbours -------------------------------------------------------------------------------------------------------- */
/* Items are sorted by first, so those that begin while i lives follow it directly. */
static void part_neighbours(Arena *a, PlacePart *p) {
  uint32_t *start = NEW_ARRAY(a, uint32_t, p->n + 1);
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < p->n && pairs <= ADJ_MAX / 2; i++)
    for (uint32_t j = i + 1; j < p->n && p->first[j] < p->end[i] && pairs <= ADJ_MAX / 2; j++) {
      start[i]++;
      start[j]++;
      pairs++;
    }
  if (pairs > ADJ_MAX / 2) return;
  for (uint32_t i = 0, sum = 0; i <= p->n; i++) {
    uint32_t degree = start[i];
    start[i] = sum;
    sum += degree;
  }
  uint32_t *adj = NEW_ARRAY(a, uint32_t, 2 * pairs), *fill = arena_dup(a, start, p->n * sizeof *start);
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t j = i + 1; j < p->n && p->first[j] < p->end[i]; j++) {
      adj[fill[i]++] = j;
      adj[fill[j]++] = i;
    }
  p->adj_start = start;
  p->adj = adj;
}

/* ---- parts ------------------------------------------------------------------------------------------------------------- */
static void part_make(Arena *a, PlacePart *p, const PlaceItem *items, const Live *live, uint32_t n, uint64_t grain) {
  uint32_t *item = NEW_ARRAY(a, uint32_t, n), *first = NEW_ARRAY(a, uint32_t, n), *end = NEW_ARRAY(a, uint32_t, n);
  uint64_t *size = NEW_ARRAY(a, uint64_t, n), *align = NEW_ARRAY(a, uint64_t, n), *width = NEW_ARRAY(a, uint64_t, n);
  *p = (PlacePart){.n = n, .item = item, .first = first, .end = end, .size = size, .align = align, .width = width};
  p->n_sections = part_sections(a, live, n, first, end);
  for (uint32_t i = 0; i < n; i++) {
    item[i] = live[i].item;
    size[i] = place_align(items[item[i]].size, grain);
    align[i] = item_align(&items[item[i]]);
    width[i] = (uint64_t)live[i].upper - (uint64_t)live[i].lower;
  }
  part_live(a, p);
  part_bound_bytes(a, p, items);
  part_neighbours(a, p);
  p->offset = NEW_ARRAY(a, uint64_t, n);
  p->peak = UINT64_MAX;
  p->proved = p->bound;
}

bool place_parts(Arena *a, const PlaceItem *items, size_t n, PlaceParts *ret) {
  *ret = (PlaceParts){.grain = 1};
  if (!sizes_fit(items, n)) return false;
  Live *live = NEW_ARRAY(a, Live, n);
  size_t m = 0;
  uint64_t grain = UINT64_MAX;
  for (size_t i = 0; i < n; i++) {
    if (items[i].size == 0 || items[i].lower >= items[i].upper) continue;
    live[m++] = (Live){items[i].lower, items[i].upper, (uint32_t)i};
    if (item_align(&items[i]) < grain) grain = item_align(&items[i]);
  }
  if (m == 0) return true;
  ret->grain = grain;
  qsort(live, m, sizeof *live, live_cmp);
  VEC(PlacePart) parts = {0};
  for (size_t i = 0, j; i < m; i = j) {
    int64_t upper = live[i].upper;
    for (j = i + 1; j < m && live[j].lower < upper; j++)
      if (live[j].upper > upper) upper = live[j].upper;
    PlacePart p;
    part_make(a, &p, items, live + i, (uint32_t)(j - i), grain);
    vec_push(a, parts, p);
  }
  ret->part = parts.data;
  ret->n = parts.n;
  return true;
}
