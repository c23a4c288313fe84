#include "cli/cache.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_text(HashState *h, const char *s) { hash128_add(h, s, strlen(s) + 1); }

static void add_words(HashState *h, const Words *w) {
  for (size_t i = 0; i < w->list.n; i++) add_text(h, w->list.data[i]);
  add_text(h, "");
}

static void add_file(HashState *h, Arena *a, const char *path) {
  Diags none = {.arena = a};
  Str text;
  add_text(h, path);
  if (file_map(a, &none, path, &text)) hash128_add(h, text.ptr, text.len);
}

static const char *cache_folder(Arena *a) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (xdg && *xdg == '/') return arena_printf(a, "%s/castnet", xdg).ptr;
  return home && *home == '/' ? arena_printf(a, "%s/.cache/castnet", home).ptr : NULL;
}

/* Everything that the program is made of: generated text, weights, the user's sources, the command. */
const char *cache_path(Cli *c, const BuildOptions *o, const Workdir *w, const castnet *m) {
  HashState *h = hash128_new(c->arena);
  const char *folder = cache_folder(c->arena);
  if (!folder) return NULL;
  add_text(h, CASTNET_VERSION);
  add_text(h, castnet_get_interface(m)->cflags);
  add_words(h, &o->cc);
  add_words(h, &o->flags);
  static const char *const own[] = {"castnet_check.c", "castnet_check_models.h"};
  for (size_t i = 0; i < castnet_n_files(m) + 2; i++) {
    const char *name = i < 2 ? own[i] : castnet_file_name(m, i - 2);
    Diags none = {.arena = c->arena};
    Str text;
    add_text(h, name);
    if (file_map(c->arena, &none, workdir_file(c->arena, w, name), &text)) hash128_add(h, text.ptr, text.len);
  }
  for (size_t i = 0; i < o->sources.list.n; i++) add_file(h, c->arena, o->sources.list.data[i]);
  Hash128 sum = hash128_end(h);
  return arena_printf(c->arena, "%s/%016" PRIx64 "%016" PRIx64, folder, sum.hi, sum.lo).ptr;
}

bool cache_has(const char *path) { return path && access(path, X_OK) == 0; }

static void make_folders(Arena *a, const char *path) {
  for (const char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) (void)mkdir(arena_cstr(a, (Str){path, (size_t)(p - path)}), 0700);
}

void cache_put(Cli *c, const char *program, const char *path) {
  Diags none = {.arena = c->arena};
  Str bytes;
  make_folders(c->arena, path);
  if (file_map(c->arena, &none, program, &bytes) && file_write(c->arena, &none, path, bytes)) (void)chmod(path, 0700);
}
