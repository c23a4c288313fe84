#include "cli/cli.h"

#include <stdio.h>

void print_out(const StrBuf *b) {
  if (b->len) (void)fwrite(b->data, 1, b->len, stdout);
}

void print_diags(const Cli *c, const Diags *d) {
  StrBuf b = sb_new(c->arena);
  for (size_t i = 0; i < d->list.n; i++) diag_print(&b, &d->list.data[i], c->colour);
  if (d->n_dropped) sb_printf(&b, "... and %zu more\n", d->n_dropped);
  if (b.len) (void)fwrite(b.data, 1, b.len, stderr);
}

/* The word "error" and its code in red; the text is castnet's own. */
static void print_one(const Cli *c, const castnet_diagnostic *d) {
  const char *mark = c->colour ? strstr(d->printed, "error E") : NULL, *end = mark ? strchr(mark, ':') : NULL;
  if (!end) {
    (void)fputs(d->printed, stderr);
    return;
  }
  (void)fprintf(stderr, "%.*s\033[31m%.*s:\033[0m%s", (int)(mark - d->printed), d->printed, (int)(end - mark), mark, end + 1);
}

void print_model_diags(const Cli *c, const castnet *m) {
  for (size_t i = 0; i < castnet_n_diagnostics(m); i++) print_one(c, castnet_get_diagnostic(m, i));
  if (castnet_n_dropped_diagnostics(m)) (void)fprintf(stderr, "... and %zu more\n", castnet_n_dropped_diagnostics(m));
}
