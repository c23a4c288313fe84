/* Placement along time, as an allocator at run time would do it, with a list of gaps. For parts so dense that their
 * neighbours cannot be listed (thousands of buffers that all live at once). */
#include "plan/place_part.h"

#include <stdlib.h>

enum { GAPS_MAX = 4096 }; /* further ones are forgotten, which wastes them and keeps the time near to linear */

typedef struct Gap {
  uint64_t begin, end;
} Gap;

typedef struct Heap {
  Gap *gap; /* by begin, none touching another */
  uint32_t n;
  uint64_t top; /* nothing lies above */
  uint64_t peak;
} Heap;

static uint32_t heap_find(const Heap *h, uint64_t begin) { /* the first gap that begins there or above */
  uint32_t lo = 0, hi = h->n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (h->gap[mid].begin < begin)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static void heap_erase(Heap *h, uint32_t k) {
  h->n--;
  memmove(h->gap + k, h->gap + k + 1, (h->n - k) * sizeof *h->gap);
}

static void heap_free(Heap *h, uint64_t begin, uint64_t end) {
  if (begin == end) return;
  uint32_t k = heap_find(h, begin);
  if (k < h->n && h->gap[k].begin == end) {
    end = h->gap[k].end;
    heap_erase(h, k);
  }
  if (k > 0 && h->gap[k - 1].end == begin) {
    begin = h->gap[--k].begin;
    heap_erase(h, k);
  }
  if (end == h->top) {
    h->top = begin;
  } else if (h->n < GAPS_MAX) {
    memmove(h->gap + k + 1, h->gap + k, (h->n - k) * sizeof *h->gap);
    h->gap[k] = (Gap){begin, end};
    h->n++;
  }
}

static uint64_t heap_take(Heap *h, uint64_t size, uint64_t align) {
  for (uint32_t k = 0; k < h->n; k++) {
    Gap g = h->gap[k];
    uint64_t at = place_align(g.begin, align);
    if (g.end < at || g.end - at < size) continue;
    heap_erase(h, k);
    heap_free(h, g.begin, at);
    heap_free(h, at + size, g.end);
    return at;
  }
  uint64_t bottom = h->top, at = place_align(bottom, align);
  h->top = at + size;
  if (h->top > h->peak) h->peak = h->top;
  heap_free(h, bottom, at);
  return at;
}

typedef struct Moment {
  uint32_t section;
  bool begins; /* after all that ends with the section before */
  uint64_t size;
  uint32_t i;
} Moment;

static int moment_cmp(const void *pa, const void *pb) {
  const Moment *a = pa, *b = pb;
  if (a->section != b->section) return a->section < b->section ? -1 : 1;
  if (a->begins != b->begins) return a->begins ? 1 : -1;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return (a->i > b->i) - (a->i < b->i);
}

void place_sweep(Arena *scratch, PlacePart *p) {
  Heap h = {.gap = NEW_ARRAY(scratch, Gap, GAPS_MAX)};
  Moment *m = NEW_ARRAY(scratch, Moment, 2 * (size_t)p->n);
  for (uint32_t i = 0; i < p->n; i++) {
    m[2 * (size_t)i] = (Moment){p->first[i], true, p->size[i], i};
    m[2 * (size_t)i + 1] = (Moment){p->end[i], false, p->size[i], i};
  }
  qsort(m, 2 * (size_t)p->n, sizeof *m, moment_cmp);
  for (size_t k = 0; k < 2 * (size_t)p->n; k++) {
    uint32_t i = m[k].i;
    if (m[k].begins)
      p->offset[i] = heap_take(&h, p->size[i], p->align[i]);
    else
      heap_free(&h, p->offset[i], p->offset[i] + p->size[i]);
  }
  p->peak = h.peak;
  p->strategy = "sweep along time";
}
