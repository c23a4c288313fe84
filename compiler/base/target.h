/* Targets: one file of targets/ each, made into this table at build time (compiler/embed/embed_targets.py). */
#ifndef CASTNET_TARGET_H
#define CASTNET_TARGET_H

#include "base/base.h"

/* Register tile and cache blocks of a kernel; packed panels are mr or nr wide. */
typedef struct TargetTile {
  const char *kernel; /* "gemm_f32" */
  unsigned mr, nr, kc, mc, nc;
} TargetTile;

typedef struct Target {
  const char *name;              /* "x86-64-v3": the word used on the command line, in file names, in tests */
  const struct Target *fallback; /* NULL: portable C */
  const char *machine; /* "aarch64-linux-gnu": what the names of its cross compilers begin with; "": any */
  bool big_endian;
  /* The SIMD layer under runtime-lite ("simd/avx2.h"). A name that generated code needs is looked up in the target's
   * layer, then in those of its fallback chain, then in the files that are no target's layer. */
  const char *layer;
  unsigned vector_bits;
  const char *cpu;        /* features that the machine must have, separated by blanks */
  const char *cflags;     /* what generated code is to be built with */
  uint32_t isa_level;     /* what castnet_env.isa must reach; 0: every machine that the code compiles for */
  const char *isa_detect; /* runtime-lite function `uint32_t f(void)` that returns this machine's level; "": none */
  const TargetTile *tiles; /* none: kernels take their operands as they are, and no scratch */
  size_t n_tiles;
  const char *language; /* what it is printed in: compiler/backend/language.c */
  const char *compiler; /* what builds that; "": the C compiler of the machine */
  unsigned align;       /* bytes: what the workspace and each buffer in it begin at a multiple of */
  bool small_code;      /* code is dearer than time: no drivers for single shapes of windows */
  const struct Target *const *levels; /* [n_levels], ascending: compiled for each of them, one of which each call picks by isa_detect */
  size_t n_levels;                    /* 0: compiled for itself */
} Target;

extern const Target *const targets[]; /* NULL-terminated; a fallback before those that fall back on it, levels before who has them */
enum { TARGET_MAX_LEVELS = 8 };

const Target *target_find(Str name); /* NULL if unknown */
/* The tile of a kernel, of the target or the first of its fallback chain that has one; NULL if none. */
const TargetTile *target_tile(const Target *t, const char *kernel);

#endif
