/* Placement: offsets of buffers in one arena, so that no two that live at the same time overlap and the peak is low.
 * Knows nothing of graphs. A pure function of its arguments: budgets count steps, never time, so that every host finds
 * the same plan. docs/PLANNING.md tells the ways it tries. */
#ifndef CASTNET_PLACE_H
#define CASTNET_PLACE_H

#include "base/base.h"

typedef struct PlaceItem {
  int64_t lower, upper; /* live in steps [lower, upper); empty: never live, overlaps nothing */
  size_t size;          /* bytes */
  size_t align;         /* of its offset, bytes, a power of two; 0 means 1 */
} PlaceItem;

typedef struct PlaceResult {
  size_t *offsets;      /* [n] bytes; NULL when the sizes overflow size_t */
  size_t peak;          /* bytes; SIZE_MAX when offsets is NULL */
  size_t lower_bound;   /* bytes: the largest live set, with the padding that the smallest alignment forces */
  bool optimal;         /* proved: no placement is lower by a multiple of the smallest alignment */
  uint64_t steps;       /* spent */
  const char *strategy; /* which way found the part that decides the peak */
} PlaceResult;

/* About 10 ns a step at most. */
#define PLACE_STEPS_DEFAULT UINT64_C(4000000)
/* For a plan that has to fit into a given size. */
#define PLACE_STEPS_THOROUGH UINT64_C(2000000000)

/* capacity: bytes; the search ends as soon as the plan fits into it. 0: the peak is minimised. step_budget 0: the
 * default. The best plan found is returned even if it does not fit. */
void plan_place(Arena *a, const PlaceItem *items, size_t n, size_t capacity, uint64_t step_budget, PlaceResult *ret);

#endif
