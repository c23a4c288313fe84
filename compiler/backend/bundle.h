/* The part of runtime-lite that a generated file needs: the closure of the names it uses. */
#ifndef CASTNET_BUNDLE_H
#define CASTNET_BUNDLE_H

#include "backend/bundle_table.h"
#include "base/target.h"
#include "base/diag.h"

typedef struct Bundle {
  VEC(const BundleChunk *) chunks; /* definitions before uses */
  VEC(Str) headers;                /* system headers, sorted */
} Bundle;

typedef struct BundleTable { /* runtime-lite, or a table of a test */
  const BundleChunk *chunks;
  size_t n;
} BundleTable;
BundleTable bundle_runtime(void);

/* roots: a set (values ignored). Names are looked up in the target's own layer, then in those of its fallback chain, then
 * in the files that are no target's layer. False after E0901 for each name that none defines. */
bool bundle_close(Arena *a, Diags *d, const BundleTable *table, const Target *t, const Map *roots, Bundle *ret);
/* Adds to roots every identifier of a C text, comments and strings left out, that starts with cn_ or CN_. */
void bundle_scan(Arena *a, Str text, Map *roots);

#endif
