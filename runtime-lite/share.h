/* SPDX-License-Identifier: MIT-0 */
/* Steps in shares on the caller's threads. */
#ifndef CN_SHARE_H
#define CN_SHARE_H

#include "base.h"
#include "call.h"

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
