#include "base/diag.h"

const DiagRow diag_rows[DIAG_COUNT] = {
#define DIAG(code, exit_code, title, explanation) {#code, exit_code, title, explanation},
#include "base/diag.def"
#undef DIAG
};

Diag *diag_add(Diags *d, DiagCode code, DiagPlace place, const char *fmt, ...) {
  static _Thread_local Diag beyond; /* where writes to dropped entries go; never read */
  if (d->list.n >= DIAGS_MAX) {
    d->n_dropped++;
    return &beyond;
  }
  va_list ap;
  va_start(ap, fmt);
  StrBuf b = sb_new(d->arena);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  vec_push(d->arena, d->list, ((Diag){.code = code, .place = place, .text = sb_view(&b)}));
  return &d->list.data[d->list.n - 1];
}

const char *diag_quote(Diags *d, Str s) {
  StrBuf b = sb_new(d->arena);
  sb_putc(&b, '"');
  sb_escaped(&b, s, 120);
  sb_putc(&b, '"');
  return b.data;
}

static void place_print(StrBuf *out, const DiagPlace *p) {
  if (p->file.len) {
    sb_escaped(out, p->file, 4096);
    sb_puts(out, ": ");
  }
  if (!p->has_node) return;
  sb_printf(out, "node #%zu", p->node);
  if (p->node_name.len) {
    sb_puts(out, " \"");
    sb_escaped(out, p->node_name, 120);
    sb_putc(out, '"');
  }
  sb_puts(out, " (");
  if (p->domain.len && !str_is(p->domain, "ai.onnx")) {
    sb_escaped(out, p->domain, 80);
    sb_puts(out, "::");
  }
  sb_escaped(out, p->op_type, 80);
  sb_puts(out, "): ");
}

void diag_print(StrBuf *out, const Diag *d, bool colour) {
  const DiagRow *row = &diag_rows[d->code];
  place_print(out, &d->place);
  sb_printf(out, colour ? "\033[31merror %s:\033[0m " : "error %s: ", row->name);
  sb_str(out, d->text);
  sb_putc(out, '\n');
  if (d->tensors.len) {
    sb_puts(out, "  tensors: ");
    sb_str(out, d->tensors);
    sb_putc(out, '\n');
  }
  if (d->hint.len) {
    sb_puts(out, "  hint: ");
    sb_str(out, d->hint);
    sb_putc(out, '\n');
  }
}

int diags_exit_code(const Diags *d) {
  int worst = 0;
  for (size_t i = 0; i < d->list.n; i++) {
    int e = diag_rows[d->list.data[i].code].exit_code;
    if (e > worst) worst = e;
  }
  return worst;
}
