/* runtime-lite as data: written at build time by compiler/embed/embed_runtime.py. */
#ifndef CASTNET_BUNDLE_TABLE_H
#define CASTNET_BUNDLE_TABLE_H

#include <stddef.h>

typedef struct BundleChunk {
  const char *file;    /* "simd/avx2.h" */
  const char *defines; /* names, separated by blanks */
  const char *uses;    /* names of runtime-lite, separated by blanks */
  const char *headers; /* system headers of its file and of what that includes, separated by blanks */
  const char *text;    /* a top-level item, without its last newline */
} BundleChunk;

extern const BundleChunk bundle_chunks[];
extern const size_t n_bundle_chunks;

#endif
