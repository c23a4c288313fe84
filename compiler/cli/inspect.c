/* castnet inspect */
#include "cli/inspect.h"
#include "cli/progress.h"

#include "base/files.h"

static void free_model(void *m) { castnet_free(m); }

static bool report(Cli *c, const Inspection *n) {
  StrBuf b = sb_new(c->arena), page = sb_new(c->arena);
  const char *html = options_last(c, OPT_HTML);
  if (html) {
    inspect_print_html(n, &page);
    if (!file_write(c->arena, &c->diags, html, sb_view(&page))) return false;
  }
  if (options_has(c, OPT_JSON)) inspect_print_json(n, &b);
  else inspect_print(n, &b);
  print_out(&b);
  return true;
}

/* Code and stack are the C compiler's: without one they are left out. */
static bool measure(Cli *c, castnet *model, Measured *ret) {
  BuildOptions o;
  const castnet_interface *m = castnet_get_interface(model);
  if (options_has(c, OPT_NO_RUN) || m->device[0]) return true;
  if (!builder_options(c, &o)) return false;
  Workdir *w = workdir_open(c->arena, &c->diags, options_last(c, OPT_KEEP));
  if (!w) return false;
  Progress progress = progress_begin(c, 1);
  c->progress = &progress;
  workdir_on_wait(w, progress_tick, &progress);
  progress_step(c->progress, "building");
  const bool ok = castnet_write(model, workdir_path(w)) == CASTNET_STATUS_OK && inspect_measure(c, &o, w, m, ret);
  c->progress = NULL;
  progress_end(&progress);
  c->interrupted = workdir_signal(w);
  workdir_close(w);
  return ok;
}

int cmd_inspect(Cli *c) {
  castnet_options options;
  if (!options_compile(c, &options)) return 0;
  if (c->words.n != 1) return usage_error(c, "inspect takes one model, not %zu", c->words.n);
  castnet *model = castnet_new();
  if (!model) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  arena_on_free(c->arena, free_model, model);
  castnet_status s = castnet_compile(model, c->words.data[0], &options);
  if (s == CASTNET_STATUS_OK) {
    Inspection n = {.model = c->words.data[0], .target = options.target ? options.target : "c99", .compiled = model};
    if (measure(c, model, &n.measured) && !c->interrupted) (void)report(c, &n);
  }
  print_model_diags(c, model);
  return (int)s;
}
