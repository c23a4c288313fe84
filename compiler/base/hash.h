/* XXH128, the hash of everything that a user sees: models, weights, sets of files. */
#ifndef CASTNET_HASH_H
#define CASTNET_HASH_H

#include "base/base.h"

typedef struct Hash128 {
  uint64_t hi, lo;
} Hash128;

Hash128 hash128(const void *p, size_t n);

typedef struct HashState HashState;
HashState *hash128_new(Arena *a);
void hash128_add(HashState *s, const void *p, size_t n);
Hash128 hash128_end(const HashState *s);

static inline bool hash128_eq(Hash128 a, Hash128 b) { return a.hi == b.hi && a.lo == b.lo; }

#endif
