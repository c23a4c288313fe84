/* Sets of characters as ascending ranges. */
#include "ops/regex.h"

#include "castnet_abi.h"
#include "ops/case.h"

#include <stdlib.h>

enum { LAST_CHARACTER = 0x10ffff };

void re_class_add(Arena *a, ReClass *c, uint32_t lo, uint32_t hi) { vec_push(a, *c, ((ReRange){lo, hi})); }

void re_class_add_all(Arena *a, ReClass *c, const ReClass *more) {
  for (size_t i = 0; i < more->n; i++) vec_push(a, *c, more->data[i]);
}

static int by_start(const void *a, const void *b) {
  const ReRange *x = a, *y = b;
  return x->lo != y->lo ? (x->lo > y->lo) - (x->lo < y->lo) : (x->hi > y->hi) - (x->hi < y->hi);
}

void re_class_finish(ReClass *c) {
  if (c->n == 0) return;
  qsort(c->data, c->n, sizeof *c->data, by_start);
  size_t n = 1;
  for (size_t i = 1; i < c->n; i++) {
    ReRange *last = &c->data[n - 1];
    if (c->data[i].lo > last->hi + 1) c->data[n++] = c->data[i];
    else if (c->data[i].hi > last->hi) last->hi = c->data[i].hi;
  }
  c->n = n;
}

void re_class_negate(Arena *a, ReClass *c) {
  ReClass rest = {0};
  uint32_t from = 0;
  for (size_t i = 0; i < c->n; i++) {
    if (c->data[i].lo > from) re_class_add(a, &rest, from, c->data[i].lo - 1);
    from = c->data[i].hi + 1;
  }
  if (from <= LAST_CHARACTER) re_class_add(a, &rest, from, LAST_CHARACTER);
  *c = rest;
}

static bool has(const ReClass *c, uint32_t x) {
  size_t lo = 0, hi = c->n;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (c->data[mid].hi < x) lo = mid + 1;
    else hi = mid;
  }
  return lo < c->n && c->data[lo].lo <= x;
}

/* Both characters of each pair of a table where one of them is there. False when nothing came anew. */
static bool fold_by(Arena *a, ReClass *c, const cn_case_range *table, size_t n) {
  ReClass more = {0};
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < table[i].count; k++) {
      const uint32_t x = table[i].first + k * table[i].step, y = (uint32_t)((int64_t)x + table[i].delta);
      const bool has_x = has(c, x), has_y = has(c, y);
      if (has_x != has_y) re_class_add(a, &more, has_x ? y : x, has_x ? y : x);
    }
  re_class_add_all(a, c, &more);
  re_class_finish(c);
  return more.n > 0;
}

void re_class_fold(Arena *a, ReClass *c) {
  re_class_finish(c);
  bool more = true;
  while (more) { /* an orbit has at most four characters */
    more = fold_by(a, c, cn_case_to_upper, CN_CASE_UPPER);
    more = fold_by(a, c, cn_case_to_lower, CN_CASE_LOWER) || more;
  }
}

/* ---- names ---- */
/* Pairs of first and last characters. */
static const struct { const char *name, *ranges; } posix[] = {
    {"alnum", "09AZaz"}, {"alpha", "AZaz"}, {"ascii", NULL}, {"blank", "\t\t  "}, {"cntrl", NULL}, {"digit", "09"}, {"graph", "!~"},
    {"lower", "az"}, {"print", " ~"}, {"punct", "!/:@[`{~"}, {"space", "\t\r  "}, {"upper", "AZ"}, {"word", "09AZaz__"}, {"xdigit", "09AFaf"},
};

static void add_pairs(Arena *a, ReClass *c, const char *ranges) {
  for (; *ranges; ranges += 2) re_class_add(a, c, (unsigned char)ranges[0], (unsigned char)ranges[1]);
}

bool re_class_posix(Arena *a, ReClass *c, Str name) {
  for (size_t i = 0; i < sizeof posix / sizeof *posix; i++) {
    if (!str_is(name, posix[i].name)) continue;
    if (posix[i].ranges) add_pairs(a, c, posix[i].ranges);
    else re_class_add(a, c, 0, str_is(name, "ascii") ? 0x7f : 0x1f);
    if (str_is(name, "cntrl")) re_class_add(a, c, 0x7f, 0x7f);
    return true;
  }
  return false;
}

bool re_class_perl(Arena *a, ReClass *c, char letter) {
  switch (letter) {
    case 'd': add_pairs(a, c, "09"); return true;
    case 'w': add_pairs(a, c, "09AZ__az"); return true;
    case 's': add_pairs(a, c, "\t\n\f\r  "); return true;
    default: return false;
  }
}
