/* What the ways of placement share: a part is a set of items that no time separates; parts are placed independently. */
#ifndef CASTNET_PLACE_PART_H
#define CASTNET_PLACE_PART_H

#include "plan/place.h"

/* Time is cut into sections at the points where an item begins; only there can the live set be a new largest one.
 * Sizes are rounded up to the smallest alignment of all items. All arrays are [n] unless said otherwise. */
typedef struct PlacePart {
  uint32_t n, n_sections;
  const uint32_t *item;         /* index in the caller's array */
  const uint64_t *size, *align; /* bytes */
  const uint64_t *width;        /* steps of life */
  const uint32_t *first, *end;  /* live in sections [first, end) */
  const uint32_t *adj_start;    /* [n + 1]: adj[adj_start[i]..adj_start[i + 1]) live together with i; NULL when too many */
  const uint32_t *adj;
  const uint64_t *live;         /* [n_sections] bytes live */
  uint64_t bound;               /* the largest of live */
  uint64_t bound_bytes;         /* the same without the padding of the buffer on top, which needs none */
  /* the result so far */
  uint64_t *offset;
  uint64_t peak;                /* bytes, rounded like the sizes */
  uint64_t proved;              /* no placement has a lower peak */
  const char *strategy;
} PlacePart;

/* Steps are counted here by all; `limit` is where the present way has to stop. */
typedef struct PlaceSteps {
  uint64_t used, limit;
} PlaceSteps;

typedef struct PlaceParts {
  PlacePart *part;
  size_t n;
  uint64_t grain; /* the smallest alignment */
} PlaceParts;

static inline uint64_t place_align(uint64_t x, uint64_t align) { return (x + align - 1) & ~(align - 1); }

/* False when the sizes overflow. */
bool place_parts(Arena *a, const PlaceItem *items, size_t n, PlaceParts *ret);

/* What an order of items goes by: the larger first, of KEY_START the earlier. */
typedef enum PlaceKey {
  KEY_NONE,
  KEY_SIZE,
  KEY_AREA,     /* size times steps of life */
  KEY_WIDTH,    /* steps of life */
  KEY_SECTIONS, /* sections of life */
  KEY_START,
  KEY_LIVE,     /* the largest live set it belongs to */
  KEY_DEGREE    /* items it lives together with */
} PlaceKey;
/* By key[0], then key[1], key[2], index. */
void place_order(Arena *scratch, const PlacePart *p, const PlaceKey key[3], uint32_t *ret_order);

/* The one way for a part whose neighbours are too many to list; near to linear. */
void place_sweep(Arena *scratch, PlacePart *p);
/* The others need the lists. Tries the greedy ways; keeps the best in p, and the order of the best in ret_order. Stops at `enough`. */
void place_greedy(Arena *scratch, PlacePart *p, uint64_t enough, PlaceSteps *s, uint32_t *ret_order);
/* Moves items of the order about, as long as steps last; keeps the best in p. Stops at `enough`. */
void place_improve(Arena *scratch, PlacePart *p, uint64_t enough, PlaceSteps *s, uint32_t *order);

typedef enum PlaceVerdict { PLACE_FOUND, PLACE_IMPOSSIBLE, PLACE_GAVE_UP } PlaceVerdict;
/* Looks for a placement within capacity by depth-first search; PLACE_FOUND has put it into p. */
PlaceVerdict place_search(Arena *scratch, PlacePart *p, uint64_t capacity, PlaceSteps *s);

#endif
