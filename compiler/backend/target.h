/* Targets: one row each, with the one it falls back on. */
#ifndef CASTNET_TARGET_H
#define CASTNET_TARGET_H

#include "base/base.h"

typedef struct Target {
  const char *name;           /* "x86-64-v3": the word used on the command line, in file names, in tests */
  const char *text;           /* one line for `castnet targets` */
  const struct Target *fallback; /* NULL: portable C */
  /* Files of runtime-lite that belong to this target alone ("simd/avx2.h"), NULL-terminated. A name that the bundle needs
   * is looked up in the target's files, then in those of its fallback chain, then in the files that no target claims. */
  const char *const *files;
  const char *cflags;         /* documented flags of the generated code */
  const char *macros;         /* predefined macros that N.c asserts ("__SSE2__"), space-separated; NULL: none */
  bool big_endian;            /* byte order of weights written as words */
  unsigned vector_bytes;      /* width of a vector register; also the least alignment of buffers */
  uint32_t isa_level;         /* what castnet_env.isa must reach; 0: every machine that the code compiles for */
  const char *isa_detect;     /* runtime-lite function `uint32_t f(void)` that returns this machine's level; NULL: none */
} Target;

const Target *target_find(Str name); /* NULL if unknown */
extern const Target *const targets[]; /* NULL-terminated, in the order of `castnet targets` */

#endif
