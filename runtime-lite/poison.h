/* SPDX-License-Identifier: MIT-0 */
/* Between steps of code compiled with --poison. */
#ifndef CN_POISON_H
#define CN_POISON_H

#include "base.h"

/* Bytes of the workspace that a later step reads. */
typedef struct cn_held {
  int64_t at, bytes;
} cn_held;

/* Makes all other bytes of the workspace 0xFF: NaN as a float, -1 as an integer, no pointer. Those that two hold, too: one of them would have
 * overwritten the other. A place below 0 is not decided: what lies there is of a branch that was not taken. */
CN_NOINLINE void cn_poison(unsigned char *m, size_t size, const cn_held *held, size_t n) {
  for (size_t at = 0, next; at < size; at = next) {
    size_t holders = 0;
    next = size;
    for (size_t i = 0; i < n; i++) {
      if (held[i].at < 0) continue;
      const size_t begin = (size_t)held[i].at, end = begin + (size_t)held[i].bytes;
      holders += begin <= at && at < end;
      if (begin > at && begin < next) next = begin;
      if (end > at && end < next) next = end;
    }
    if (holders != 1) memset(m + at, 0xFF, next - at);
  }
}

#endif
