/* Words and numbers of the text form. */
#include "ir/parse_priv.h"

#include <stdlib.h>

bool parse_fail(Parse *p, const char *what) {
  size_t line = 1, column = 1;
  if (p->failed) return false;
  p->failed = true;
  for (const char *c = p->start; c < p->s.ptr; c++) {
    column = *c == '\n' ? 1 : column + 1;
    line += *c == '\n';
  }
  (void)diag_add(p->diags, DIAG_E0101, (DiagPlace){0}, "line %zu, column %zu of the graph's text: %s", line, column, what);
  return false;
}

static void advance(Parse *p, size_t n) {
  p->s.ptr += n;
  p->s.len -= n;
}

void parse_blank(Parse *p) {
  while (p->s.len && *p->s.ptr == ' ') advance(p, 1);
}

bool parse_next(Parse *p, char ch) {
  parse_blank(p);
  return p->s.len && *p->s.ptr == ch;
}

bool parse_is(Parse *p, const char *text) {
  const size_t n = strlen(text);
  parse_blank(p);
  if (p->s.len < n || memcmp(p->s.ptr, text, n) != 0) return false;
  advance(p, n);
  return true;
}

bool parse_want(Parse *p, const char *text) {
  if (parse_is(p, text)) return true;
  return parse_fail(p, arena_printf(p->a, "expected %s", *text == '\n' ? "the line's end" : text).ptr);
}

static bool is_word(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

Str parse_word(Parse *p) {
  parse_blank(p);
  Str w = {p->s.ptr, 0};
  while (p->s.len && is_word(*p->s.ptr)) {
    advance(p, 1);
    w.len++;
  }
  return w;
}

bool parse_string(Parse *p, Str *ret) {
  if (!parse_want(p, "\"")) return false;
  size_t used;
  if (!str_unescape(p->a, p->s, ret, &used)) return parse_fail(p, "a string without end, or a bad escape in it");
  advance(p, used);
  return true;
}

/* Digits of a number as C text, at most 63 of them. */
static size_t number_text(Parse *p, char *text, const char *extra) {
  size_t n = 0;
  parse_blank(p);
  while (n < 63 && n < p->s.len && (is_word(p->s.ptr[n]) || strchr(extra, p->s.ptr[n]))) n++;
  if (n) memcpy(text, p->s.ptr, n);
  text[n] = 0;
  return n;
}

bool parse_uint(Parse *p, uint64_t most, uint64_t *ret) {
  char text[64], *end;
  const size_t n = number_text(p, text, "");
  *ret = strtoull(text, &end, 0);
  if (!n || text[0] < '0' || text[0] > '9' || *end || n > 20 || *ret > most) return parse_fail(p, "expected a number");
  advance(p, n);
  return true;
}

bool parse_int(Parse *p, int64_t *ret) {
  uint64_t u;
  const bool negative = parse_is(p, "-");
  if (!parse_uint(p, (uint64_t)INT64_MAX + negative, &u)) return false;
  *ret = (int64_t)(negative ? 0 - u : u);
  return true;
}

bool parse_f32(Parse *p, float *ret) {
  char text[64], *end;
  uint64_t bits;
  if (p->s.len > 1 && (parse_blank(p), p->s.len > 1) && p->s.ptr[0] == '0' && p->s.ptr[1] == 'x') {
    if (!parse_uint(p, UINT32_MAX, &bits)) return false;
    const uint32_t u = (uint32_t)bits;
    memcpy(ret, &u, sizeof u);
    return true;
  }
  const size_t n = number_text(p, text, "+-.");
  *ret = strtof(text, &end);
  if (!n || *end) return parse_fail(p, "expected a number");
  advance(p, n);
  return true;
}

bool parse_dim(Parse *p, const Dim **ret) {
  parse_blank(p);
  *ret = dim_parse(p->ir->dims, &p->s);
  return *ret || parse_fail(p, "expected a dimension over known symbols");
}
