/* castnet check */
#include "cli/check.h"
#include "cli/progress.h"

#include <stdio.h>

enum { GROUP = 24 }; /* models of a batch that are built as one program */

/* ---- one model ---- */
static int check_one(Cli *c, const BuildOptions *o, const castnet_options *options) {
  Check k = {.path = c->words.data[0], .options = *options, .dirs = c->words.data + 1, .n_dirs = c->words.n - 1,
             .diags = {.arena = c->arena}};
  Check *const list[] = {&k};
  if (!tolerances_from_options(c, &k.tolerances)) return 0;
  if (k.n_dirs == 0) k.n_dirs = datasets_beside(c->arena, k.path, &k.dirs);
  Progress progress = progress_begin(c, 1 + (k.n_dirs ? k.n_dirs : 1));
  c->progress = &progress;
  check_group(c, o, list, 1);
  c->progress = NULL;
  progress_end(&progress);
  if (c->interrupted) return 0;
  if (options_has(c, OPT_JSON)) check_print_json(c, &k);
  else check_print(c, &k);
  check_print_diags(c, &k);
  return check_status(&k);
}

/* ---- many ---- */
static void free_json(void *v) { json_decref(v); }

static json_t *read_list(Cli *c, const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (root) arena_on_free(c->arena, free_json, root);
  if (json_is_array(root)) return root;
  (void)usage_error(c, "--batch: %s is no list: %s", diag_quote(&c->diags, str_c(path)),
                    root ? "not an array" : diag_quote(&c->diags, str_c(error.text)));
  return NULL;
}

static bool read_row(Cli *c, const json_t *row, const castnet_options *options, size_t index, Check *ret) {
  *ret = (Check){.path = json_string_value(json_object_get(row, "model")), .options = *options, .diags = {.arena = c->arena}};
  ret->options.name = arena_printf(c->arena, "m%zu", index).ptr;
  if (!ret->path) return usage_error(c, "--batch: row %zu names no model", index);
  const json_t *dirs = json_object_get(row, "datasets");
  if (!dirs) {
    ret->n_dirs = datasets_beside(c->arena, ret->path, &ret->dirs);
  } else {
    const char **list = NEW_ARRAY(c->arena, const char *, json_array_size(dirs));
    for (size_t i = 0; i < json_array_size(dirs); i++) {
      const char *dir = json_string_value(json_array_get(dirs, i));
      if (!dir) return usage_error(c, "--batch: datasets of row %zu are not names", index);
      list[ret->n_dirs++] = dir;
    }
    ret->dirs = list;
  }
  return tolerances_from_row(c, row, &ret->tolerances);
}

/* One group in an arena of its own: the memory of a batch is that of its largest group. */
static int check_rows(Cli *outer, const BuildOptions *o, const castnet_options *options, const json_t *rows, size_t from, size_t n) {
  Arena *arena = arena_new(arena_door(outer->arena), 0);
  Cli c = *outer;
  c.arena = arena;
  Check *checks = NEW_ARRAY(arena, Check, n), **list = NEW_ARRAY(arena, Check *, n);
  bool ok = true;
  for (size_t i = 0; i < n && ok; i++) {
    list[i] = &checks[i];
    ok = read_row(&c, json_array_get(rows, from + i), options, from + i, &checks[i]);
  }
  if (ok) check_group(&c, o, list, n);
  int worst = 0;
  for (size_t i = 0; i < n && ok && !c.interrupted; i++) {
    check_print_json(&c, &checks[i]);
    if (check_status(&checks[i]) > worst) worst = check_status(&checks[i]);
  }
  outer->interrupted = c.interrupted;
  outer->diags = c.diags;
  arena_free(arena);
  return worst;
}

static int check_batch(Cli *c, const BuildOptions *o, const castnet_options *options, const char *path) {
  const json_t *rows = read_list(c, path);
  int worst = 0;
  for (size_t i = 0; rows && i < json_array_size(rows) && !c->interrupted && !diags_any(&c->diags); i += GROUP) {
    size_t left = json_array_size(rows) - i;
    int s = check_rows(c, o, options, rows, i, left < GROUP ? left : GROUP);
    if (s > worst) worst = s;
  }
  return worst;
}

int cmd_check(Cli *c) {
  castnet_options options;
  BuildOptions o;
  const char *batch = options_last(c, OPT_BATCH);
  if (!options_compile(c, &options)) return 0;
  if (batch && c->words.n) return usage_error(c, "--batch takes no models besides the list's");
  if (!batch && c->words.n == 0) return usage_error(c, "check takes a model");
  if (!builder_options(c, &o)) return 0;
  return batch ? check_batch(c, &o, &options, batch) : check_one(c, &o, &options);
}
