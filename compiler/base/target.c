#include "base/target.h"

const Target *target_find(Str name) {
  for (const Target *const *t = targets; *t; t++)
    if (str_is(name, (*t)->name)) return *t;
  return NULL;
}

const TargetTile *target_tile(const Target *t, const char *kernel) {
  for (; t; t = t->fallback)
    for (size_t i = 0; i < t->n_tiles; i++)
      if (strcmp(t->tiles[i].kernel, kernel) == 0) return &t->tiles[i];
  return NULL;
}
