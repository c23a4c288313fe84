/* castnet pool */
#include "cli/pool.h"

#include "backend/template.h"
#include "base/files.h"
#include "cli/cli.h"

#include <sys/stat.h>

static bool write_file(Arena *a, Diags *d, const char *dir, const char *name) {
  for (size_t i = 0; i < n_templates; i++)
    if (strcmp(templates[i].name, name) == 0) return file_write(a, d, arena_printf(a, "%s/%s", dir, name).ptr, str_c(templates[i].text));
  (void)diag_add(d, DIAG_E0901, (DiagPlace){0}, "there is no template %s", name);
  return false;
}

bool pool_write(Arena *a, Diags *d, const char *dir) { return write_file(a, d, dir, "castnet_pool.c") && write_file(a, d, dir, "castnet_pool.h"); }

int cmd_pool(Cli *c) {
  const char *dir = options_last(c, OPT_OUTPUT);
  if (c->words.n) return usage_error(c, "pool takes no operand");
  if (!dir) return usage_error(c, "where to? (-o DIR)");
  (void)mkdir(dir, 0777); /* what is wrong with it shows when the files are written */
  (void)pool_write(c->arena, &c->diags, dir);
  return 0;
}
