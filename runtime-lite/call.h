/* SPDX-License-Identifier: MIT-0 */
/* What the head and the calls of N_run stand on. */
#ifndef CN_CALL_H
#define CN_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "castnet_abi.h"

/* The caller's environment, whole: members that an older or absent one lacks are zero, which is their default. */
static inline void cn_env_read(castnet_env *ret, const castnet_env *env) {
  if (env != NULL && env->size >= sizeof *ret) {
    *ret = *env; /* in a few moves: copying any size takes as long as a small model */
  } else {
    memset(ret, 0, sizeof *ret);
    if (env != NULL) memcpy(ret, env, env->size);
  }
  ret->size = sizeof *ret;
}

/* Whether an output of n elements has no room; one without elements needs none. */
static inline int cn_no_room(const void *data, size_t capacity, int64_t n) {
  return n > 0 && (data == NULL || capacity < (uint64_t)n);
}

/* Whether p is a multiple of `align`. */
static inline int cn_aligned(const void *p, size_t align) { return (uintptr_t)p % align == 0; }

/* Step i of N_run, with the environment's hook before and after it; `e` is the environment there. */
#define CN_STEP(i, ...) \
  do { \
    if (e.step != NULL) e.step(e.step_user, (i), 0); \
    __VA_ARGS__; \
    if (e.step != NULL) e.step(e.step_user, (i), 1); \
  } while (0)

/* Step i, which may fail, between calls of the step hook: an error ends the call. */
#define CN_TRY(i, ...) \
  do { \
    if (e.step != NULL) e.step(e.step_user, (i), 0); \
    const int cn_error = __VA_ARGS__; \
    if (e.step != NULL) e.step(e.step_user, (i), 1); \
    if (cn_error != CASTNET_OK) return cn_error; \
  } while (0)

#endif
