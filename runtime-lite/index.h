/* SPDX-License-Identifier: MIT-0 */
/* Run-time indices. */
#ifndef CN_INDEX_H
#define CN_INDEX_H

#include <stdint.h>

/* An index into n elements, negative ones counted from the end; -1 where there is no such element. */
static inline int64_t cn_index(int64_t i, int64_t n) {
  const int64_t at = i < 0 ? i + n : i;
  return at >= 0 && at < n ? at : -1;
}

#endif
