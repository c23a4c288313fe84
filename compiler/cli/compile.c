/* castnet compile */
#include "cli/cli.h"

#include <stdio.h>

static void put_out(void *user, const char *text, size_t length) {
  (void)user;
  (void)fwrite(text, 1, length, stdout);
}

static void free_model(void *m) { castnet_free(m); }

int cmd_compile(Cli *c) {
  castnet_options o;
  const char *dir = options_last(c, OPT_OUTPUT), *depfile = options_last(c, OPT_DEPFILE);
  if (!options_compile(c, &o)) return 0;
  if (c->words.n != 1) return usage_error(c, "compile takes one model, not %zu", c->words.n);
  if (!dir && !o.dump_stage) return usage_error(c, "where to? (-o DIR)");
  o.dump = put_out;
  castnet *m = castnet_new();
  if (!m) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  arena_on_free(c->arena, free_model, m);
  castnet_status s = castnet_compile(m, c->words.data[0], &o);
  if (s == CASTNET_STATUS_OK && !o.dump_stage) s = castnet_write(m, dir);
  if (s == CASTNET_STATUS_OK && !o.dump_stage && depfile) s = castnet_write_depfile(m, depfile, dir);
  print_model_diags(c, m);
  return (int)s;
}
