/* SPDX-License-Identifier: MIT-0 */
/* Where the bytes of new strings lie: they are taken from the end of the workspace downwards and live until the call ends, while what
 * data ask for grows upwards behind the planned tensors. Where the two would meet the call returns CASTNET_ERR_WORKSPACE. */
#ifndef CN_TEXT_SPACE_H
#define CN_TEXT_SPACE_H

#include "base.h"
#include "castnet_abi.h"

/* Of one call. A step that makes strings gets the address of its first member, the environment. */
typedef struct cn_text {
  castnet_env env;
  unsigned char *end; /* of the workspace */
  size_t size;        /* of the workspace */
  size_t tensors;     /* bytes at its start that tensors take */
  size_t used;        /* bytes at its end that strings take */
  size_t *needed;     /* ws_needed of the outputs */
} cn_text;

/* `needed` holds what the tensors need. */
CN_INLINE void cn_text_begin(cn_text *t, const castnet_env *env, void *ws, size_t ws_size, size_t *needed) {
  t->env = *env;
  t->end = ws_size ? (unsigned char *)ws + ws_size : NULL;
  t->size = ws_size;
  t->tensors = *needed;
  t->used = 0;
  t->needed = needed;
}

/* What both take now; the need stands in ws_needed. */
CN_INLINE int cn_text_check(const cn_text *t) {
  if (t->used > SIZE_MAX - t->tensors) return CASTNET_ERR_DIM;
  *t->needed = t->tensors + t->used;
  return *t->needed > t->size ? CASTNET_ERR_WORKSPACE : CASTNET_OK;
}

/* The tensors take n bytes from now on, or what they took in an earlier iteration of a loop. */
CN_INLINE int cn_text_tensors(cn_text *t, size_t n) {
  if (n > t->tensors) t->tensors = n;
  return cn_text_check(t);
}

/* Room for n bytes of strings; env is that of a cn_text. A call that has made strings before and now lacks room asks for half as much again, so that
 * a loop does not ask once a round. */
CN_INLINE int cn_text_new(const castnet_env *env, size_t n, char **ret) {
  cn_text *t = (cn_text *)(uintptr_t)env;
  const size_t before = t->used;
  if (n > SIZE_MAX - t->used) return CASTNET_ERR_DIM;
  t->used += n;
  const int error = cn_text_check(t);
  if (error == CASTNET_ERR_WORKSPACE && before / 2 <= SIZE_MAX - *t->needed) *t->needed += before / 2;
  if (error == CASTNET_OK) *ret = n ? (char *)(t->end - t->used) : NULL;
  return error;
}

#endif
