/* SPDX-License-Identifier: MIT-0 */
/* Steps in shares on the caller's threads: share i of `of` is the work from cn_share(n, i, of) to cn_share(n, i + 1, of). */
#ifndef CN_SHARE_H
#define CN_SHARE_H

#include "base.h"
#include "call.h"

CN_INLINE size_t cn_share(size_t n, size_t i, size_t of) { return n / of * i + n % of * i / of; }

/* The same in whole groups of `by`; the last may be smaller. */
CN_INLINE size_t cn_share_by(size_t n, size_t by, size_t i, size_t of) { return cn_min(n, by * cn_share(cn_ceil_div(n, by), i, of)); }

/* All n shares on the environment's threads. */
static inline int cn_shares(const castnet_env *e, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  return e->parallel_for(e->parallel_user, n, fn, arg) == 0 ? CASTNET_OK : CASTNET_ERR_OP;
}

#endif
