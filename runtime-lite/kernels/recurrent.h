/* SPDX-License-Identifier: MIT-0 */
/* How a recurrent layer's steps are parted between threads: the compiler asks too. */
#ifndef CN_KERNELS_RECURRENT_H
#define CN_KERNELS_RECURRENT_H

#include "base.h"

/* Recurrent weights of a direction that a second cache keeps. */
#define CN_RECURRENT_KEPT ((size_t)1 << 18)

CN_INLINE int cn_recurrent_kept(size_t hidden, size_t gates) { return hidden <= CN_RECURRENT_KEPT / cn_max(gates * hidden, 1); }

/* Groups of sequences that go through all steps by themselves, each on one thread, which then has to wait for none: of four sequences at least, whose products hide that each
 * group reads all weights. 1: none, each step is parted. */
CN_INLINE size_t cn_recurrent_groups(size_t batch, size_t hidden, size_t gates) {
  return cn_recurrent_kept(hidden, gates) ? cn_max(cn_min(batch / 8 * 2, 8), 1) : 1;
}

#endif
