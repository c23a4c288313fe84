/* SPDX-License-Identifier: MIT-0 */
/* Steps in shares on the caller's threads: share i of `of` is the work from cn_share(n, i, of) to cn_share(n, i + 1, of). */
#ifndef CN_SHARE_H
#define CN_SHARE_H

#include "base.h"
#include "call.h"

CN_INLINE size_t cn_share(size_t n, size_t i, size_t of) { return n / of * i + n % of * i / of; }

/* The same in whole groups of `by`; the last may be smaller. */
CN_INLINE size_t cn_share_by(size_t n, size_t by, size_t i, size_t of) { return cn_min(n, by * cn_share(cn_ceil_div(n, by), i, of)); }

typedef struct cn_shared {
  void (*fn)(void *arg, size_t from, size_t to);
  void *arg;
} cn_shared;

CN_NOINLINE void cn_one_share(void *arg, size_t i) {
  const cn_shared *s = (const cn_shared *)arg;
  s->fn(s->arg, i, i + 1);
}

/* All n shares on the environment's threads, some neighbours together. */
static inline int cn_shares(const castnet_env *e, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  if (e->parallel_ranges != NULL) return e->parallel_ranges(e->parallel_user, n, fn, arg) == 0 ? CASTNET_OK : CASTNET_ERR_OP;
  cn_shared s = {fn, arg};
  return e->parallel_for(e->parallel_user, n, cn_one_share, &s) == 0 ? CASTNET_OK : CASTNET_ERR_OP;
}

#endif
