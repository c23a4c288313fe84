/* castnet ops, targets, explain: the tables that drive the compiler. */
#include "base/target.h"
#include "cli/cli.h"
#include "ops/import.h"

#include <stdio.h>
#include <stdlib.h>

static int row_order(const void *a, const void *b) {
  const OnnxOpRow *x = *(const OnnxOpRow *const *)a, *y = *(const OnnxOpRow *const *)b;
  int by = strcmp(x->domain, y->domain);
  if (by == 0) by = strcmp(x->type, y->type);
  return by ? by : (x->since > y->since) - (x->since < y->since);
}

int cmd_ops(Cli *c) {
  if (c->words.n) return usage_error(c, "ops takes no operand");
  const OnnxOpRow **rows = NEW_ARRAY(c->arena, const OnnxOpRow *, n_onnx_op_rows);
  for (size_t i = 0; i < n_onnx_op_rows; i++) rows[i] = &onnx_op_rows[i];
  qsort(rows, n_onnx_op_rows, sizeof *rows, row_order);
  StrBuf b = sb_new(c->arena);
  for (size_t i = 0; i < n_onnx_op_rows; i++) {
    const OnnxOpRow *r = rows[i];
    const char *domain = *r->domain ? r->domain : "ai.onnx";
    char versions[24];
    if (r->until >= 999) (void)snprintf(versions, sizeof versions, "%d-", r->since);
    else (void)snprintf(versions, sizeof versions, "%d-%d", r->since, r->until);
    sb_printf(&b, "%-15s %-25s %-6s %-29s%s%s\n", domain, r->type, versions, r->signature, *r->types ? " " : "", r->types);
  }
  print_out(&b);
  return 0;
}

int cmd_targets(Cli *c) {
  if (c->words.n) return usage_error(c, "targets takes no operand");
  StrBuf b = sb_new(c->arena);
  for (size_t i = 0; targets[i]; i++) sb_printf(&b, "%-14s %s\n", targets[i]->name, targets[i]->cflags);
  print_out(&b);
  return 0;
}

int cmd_explain(Cli *c) {
  if (c->words.n != 1) return usage_error(c, "explain takes one code, such as E0303");
  StrBuf b = sb_new(c->arena);
  for (size_t i = 0; i < DIAG_COUNT; i++) {
    const DiagRow *r = &diag_rows[i];
    if (strcmp(r->name, c->words.data[0]) != 0) continue;
    sb_printf(&b, "%s: %s (exit code %d)\n\n%s\n", r->name, r->title, r->exit_code, r->explanation);
    print_out(&b);
    return 0;
  }
  return usage_error(c, "there is no diagnostic %s", diag_quote(&c->diags, str_c(c->words.data[0])));
}
