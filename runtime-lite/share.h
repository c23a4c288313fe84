/* SPDX-License-Identifier: MIT-0 */
/* Steps in shares on the caller's threads. */
#ifndef CN_SHARE_H
#define CN_SHARE_H

#include "base.h"
#include "call.h"

/* n shares, handed out as `parts` ranges. */
typedef struct cn_shared {
  void (*fn)(void *arg, size_t from, size_t to);
  void *arg;
  size_t n, parts;
} cn_shared;

CN_NOINLINE void cn_shared_parts(void *arg, size_t from, size_t to) {
  const cn_shared *s = (const cn_shared *)arg;
  s->fn(s->arg, from * s->n / s->parts, to * s->n / s->parts);
}

CN_NOINLINE void cn_shared_part(void *arg, size_t i) { cn_shared_parts(arg, i, i + 1); }

/* All n shares on the environment's threads, neighbours together: `few` times, which is n over a power of 2, or more often for more threads than that. */
static inline int cn_shares(const castnet_env *e, size_t few, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  cn_shared s = {fn, arg, n, few};
  while (s.parts < e->threads && s.parts < n) s.parts *= 2;
  const int failed = e->parallel_ranges != NULL ? e->parallel_ranges(e->parallel_user, s.parts, cn_shared_parts, &s)
                                                : e->parallel_for(e->parallel_user, s.parts, cn_shared_part, &s);
  return failed ? CASTNET_ERR_OP : CASTNET_OK;
}

#endif
