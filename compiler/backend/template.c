#include "backend/template.h"

static const char *find_template(const char *name) {
  for (size_t i = 0; i < n_templates; i++)
    if (strcmp(templates[i].name, name) == 0) return templates[i].text;
  return NULL;
}

static const TemplateValue *find_value(const TemplateValue *values, size_t n, Str token) {
  for (size_t i = 0; i < n; i++)
    if (str_is(token, values[i].token)) return &values[i];
  return NULL;
}

/* A token is a word of small letters and underscores between two at signs. */
static size_t token_length(const char *at) {
  size_t n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
  return n > 0 && at[1 + n] == '@' ? n : 0;
}

static void put_section(StrBuf *b, Str text) {
  sb_str(b, text);
  if (text.len && text.ptr[text.len - 1] != '\n') sb_putc(b, '\n');
}

bool template_fill(StrBuf *b, Diags *d, const char *name, const TemplateValue *values, size_t n_values) {
  const char *p = find_template(name);
  if (!p) {
    diag_add(d, DIAG_E0901, (DiagPlace){0}, "no template %s", name);
    return false;
  }
  for (bool line_start = true; *p;) {
    size_t n = *p == '@' ? token_length(p) : 0;
    if (!n) {
      line_start = *p == '\n';
      sb_putc(b, *p++);
      continue;
    }
    const TemplateValue *v = find_value(values, n_values, (Str){p + 1, n});
    if (!v) {
      diag_add(d, DIAG_E0901, (DiagPlace){0}, "template %s: no value for @%.*s@", name, (int)n, p + 1);
      return false;
    }
    p += n + 2;
    if (line_start && *p == '\n') {
      put_section(b, v->text);
      p++;
    } else {
      sb_str(b, v->text);
      line_start = false;
    }
  }
  return true;
}
