#include "backend/bundle.h"

#include "backend/names.h"

#include <stdlib.h>

enum { NOT_THIS_TARGET = -1 };

typedef struct Item {
  const BundleChunk *chunk;
  int rank; /* 0 the target's own layer, 1, 2 ... those of its fallback chain, then the files that are no layer */
  bool visited;
} Item;

typedef struct Closing {
  Arena *arena;
  Diags *diags;
  const Target *target;
  Item *items; /* [n] in the order of the table */
  size_t n;
  Map by_name; /* name -> Item, the one of the least rank */
  Map headers;
  bool ok;
  Bundle *ret;
} Closing;

static int file_rank(const Target *t, const char *file) {
  int rank = 0;
  for (const Target *u = t; u; u = u->fallback, rank++)
    if (strcmp(u->layer, file) == 0) return rank;
  for (const Target *const *u = targets; *u; u++)
    if (strcmp((*u)->layer, file) == 0) return NOT_THIS_TARGET;
  return rank;
}

/* Takes the next word of a list separated by blanks. */
static bool next_word(const char **list, Str *ret) {
  while (**list == ' ') ++*list;
  size_t n = strcspn(*list, " ");
  *ret = (Str){*list, n};
  *list += n;
  return n > 0;
}

static void index_names(Closing *c, const BundleTable *table) {
  c->n = table->n;
  c->items = NEW_ARRAY(c->arena, Item, table->n);
  c->by_name = map_new(c->arena);
  for (size_t i = 0; i < table->n; i++) {
    Item *it = &c->items[i];
    it->chunk = &table->chunks[i];
    it->rank = file_rank(c->target, it->chunk->file);
    if (it->rank == NOT_THIS_TARGET) continue;
    const char *list = it->chunk->defines;
    for (Str w; next_word(&list, &w);) {
      const Item *other = map_get(&c->by_name, w);
      if (!other || it->rank < other->rank) map_put(&c->by_name, w, it);
    }
  }
}

static int compare_items(const void *a, const void *b) {
  const Item *x = *(Item *const *)a, *y = *(Item *const *)b;
  return (x > y) - (x < y); /* both point into one array */
}

typedef VEC(Item *) ItemList;

static void add_unvisited(Closing *c, ItemList *list, Str name) {
  Item *it = map_get(&c->by_name, name);
  if (it && !it->visited) vec_push(c->arena, *list, it);
}

static void add_headers(Closing *c, const BundleChunk *chunk) {
  const char *list = chunk->headers;
  for (Str w; next_word(&list, &w);) map_put(&c->headers, w, c);
}

/* Depth first, so that what an item uses comes before it; among several, in the order of the table. Items nest as deep as
 * runtime-lite's own call chains. */
static void visit(Closing *c, Item *it) {
  if (it->visited) return;
  it->visited = true;
  ItemList uses = {0};
  const char *list = it->chunk->uses;
  for (Str w; next_word(&list, &w);) {
    if (map_has(&c->by_name, w)) {
      add_unvisited(c, &uses, w);
      continue;
    }
    diag_add(c->diags, DIAG_E0901, (DiagPlace){0}, "%s of runtime-lite needs %.*s, which target %s does not have",
             it->chunk->file, STR_WHOLE(w), c->target->name);
    c->ok = false;
  }
  if (uses.n) qsort(uses.data, uses.n, sizeof *uses.data, compare_items);
  for (size_t i = 0; i < uses.n; i++) visit(c, uses.data[i]);
  vec_push(c->arena, c->ret->chunks, it->chunk);
  add_headers(c, it->chunk);
}

static int compare_strs(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

bool bundle_close(Arena *a, Diags *d, const BundleTable *table, const Target *t, const Map *roots, Bundle *ret) {
  Closing c = {.arena = a, .diags = d, .target = t, .ok = true, .headers = map_new(a), .ret = ret};
  index_names(&c, table);
  ItemList first = {0};
  for (size_t i = 0; i < roots->entries.n; i++) {
    Str name = roots->entries.data[i].key;
    if (map_has(&c.by_name, name)) {
      add_unvisited(&c, &first, name);
      continue;
    }
    diag_add(d, DIAG_E0901, (DiagPlace){0}, "the generated code needs %.*s, which runtime-lite does not have for target %s",
             STR_WHOLE(name), t->name);
    c.ok = false;
  }
  if (first.n) qsort(first.data, first.n, sizeof *first.data, compare_items);
  for (size_t i = 0; i < first.n; i++) visit(&c, first.data[i]);
  for (size_t i = 0; i < c.headers.entries.n; i++) vec_push(a, ret->headers, c.headers.entries.data[i].key);
  if (ret->headers.n) qsort(ret->headers.data, ret->headers.n, sizeof *ret->headers.data, compare_strs);
  return c.ok;
}

typedef struct Scan {
  Arena *arena;
  Map *roots;
} Scan;

static void add_root(void *user, Str w) {
  Scan *s = user;
  bool ours = w.len > 3 && (memcmp(w.ptr, "cn_", 3) == 0 || memcmp(w.ptr, "CN_", 3) == 0);
  if (ours && !map_has(s->roots, w)) map_put(s->roots, arena_str(s->arena, w), s->roots);
}

void bundle_scan(Arena *a, Str text, Map *roots) { names_each_word(text, add_root, &(Scan){a, roots}); }

BundleTable bundle_runtime(void) { return (BundleTable){bundle_chunks, n_bundle_chunks}; }
