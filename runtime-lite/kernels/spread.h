/* SPDX-License-Identifier: MIT-0 */
/* Work whose phases a kernel hands out itself, one after the other: each needs all of the one before. */
#ifndef CN_KERNELS_SPREAD_H
#define CN_KERNELS_SPREAD_H

#include "base.h"

/* run: castnet_env.parallel_for, for `user`, on so many threads. */
typedef struct cn_spread {
  int (*run)(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg);
  void *user;
  size_t threads;
} cn_spread;

#endif
