#include "base/hash.h"

#define XXH_STATIC_LINKING_ONLY /* for the size of its state */
#include <xxhash.h>

struct HashState {
  XXH3_state_t *xxh;
};

static Hash128 from_xxh(XXH128_hash_t h) { return (Hash128){.hi = h.high64, .lo = h.low64}; }

Hash128 hash128(const void *p, size_t n) { return from_xxh(XXH3_128bits(p, n)); }

/* The state wants 64-byte alignment, which the arena does not give. */
HashState *hash128_new(Arena *a) {
  HashState *s = NEW(a, HashState);
  unsigned char *p = arena_alloc(a, sizeof(XXH3_state_t) + 64);
  s->xxh = (XXH3_state_t *)(void *)(p + (64 - (uintptr_t)p % 64));
  (void)XXH3_128bits_reset(s->xxh);
  return s;
}

void hash128_add(HashState *s, const void *p, size_t n) { (void)XXH3_128bits_update(s->xxh, p, n); }

Hash128 hash128_end(const HashState *s) { return from_xxh(XXH3_128bits_digest(s->xxh)); }
