/* What lies in memory between two steps because a later one reads it, by what steps say that they read and write: nothing of
 * the planner's. For --poison. */
#ifndef CASTNET_HELD_H
#define CASTNET_HELD_H

#include "lower/program.h"

typedef struct Held {
  size_t n_words;  /* of a point's set */
  uint64_t *words; /* [steps + 1][n_words] a bit for each buffer: ahead of each step, and behind the last */
} Held;

/* at_end: by buffer, what is read after the call. */
Held program_held(Arena *a, const Program *p, const bool *at_end);

static inline bool held_has(const Held *h, size_t point, uint32_t buffer) {
  return h->words[point * h->n_words + buffer / 64] >> buffer % 64 & 1;
}

#endif
