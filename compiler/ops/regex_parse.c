/* A pattern as a tree. */
#include "ops/regex.h"

#include "castnet_abi.h"
#include "ops/automaton.h"
#include "ops/case.h"

enum { FLAG_FOLD = 1, FLAG_LINES = 2, FLAG_DOT_ALL = 4, FLAG_LAZY = 8, MAX_DEPTH = 250, MAX_REPEAT = 1000, NO_CHARACTER = -1 };

typedef struct Parser {
  Arena *a;
  Str all;
  size_t at;
  unsigned flags, depth;
  bool quoted; /* between \Q and \E */
  ReClass folded[128]; /* of ASCII's characters, when first asked for */
  ReError *error;
} Parser;

static ReNode *fail(Parser *p, const char *why) {
  if (!p->error->why) *p->error = (ReError){why, false, p->at};
  return NULL;
}

static ReNode *node(Parser *p, ReNode n) { return arena_dup(p->a, &n, sizeof n); }

static bool at_end(const Parser *p) { return p->at >= p->all.len; }
static char peek(const Parser *p) { return at_end(p) ? '\0' : p->all.ptr[p->at]; }

static bool take(Parser *p, const char *text) {
  const size_t n = strlen(text);
  if (p->all.len - p->at < n || memcmp(p->all.ptr + p->at, text, n) != 0) return false;
  p->at += n;
  return true;
}

/* The next character of the pattern; NO_CHARACTER after an error. */
static int64_t take_character(Parser *p) {
  size_t bytes;
  const uint32_t c = at_end(p) ? CN_NOT_UTF8 : cn_utf8_read(p->all.ptr + p->at, p->all.len - p->at, &bytes);
  if (c >= CN_NOT_UTF8) return (void)fail(p, at_end(p) ? "it ends too early" : "it is not UTF-8"), NO_CHARACTER;
  p->at += bytes;
  return c;
}

/* ---- escapes ---- */
static int digit_of(char c, int base) {
  const int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
  return v < base ? v : -1;
}

/* \x7F, \x{10FFFF} */
static int64_t hexadecimal(Parser *p) {
  int64_t v = 0;
  const bool braces = take(p, "{");
  size_t n = 0;
  for (; (braces || n < 2) && digit_of(peek(p), 16) >= 0; n++, p->at++) {
    v = v * 16 + digit_of(peek(p), 16);
    if (v > 0x10ffff) return (void)fail(p, "an escape is beyond the last character"), NO_CHARACTER;
  }
  if (n < (braces ? 1u : 2u) || (braces && !take(p, "}"))) return (void)fail(p, "an escape is not understood"), NO_CHARACTER;
  return v;
}

/* Behind the backslash: a character. */
static int64_t escaped_character(Parser *p) {
  static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  const char c = peek(p);
  if (at_end(p)) return (void)fail(p, "it ends with a backslash"), NO_CHARACTER;
  if (c == 'x') return p->at++, hexadecimal(p);
  if (c >= '0' && c <= '7') {
    int64_t v = 0;
    size_t n = 0;
    for (; n < 3 && digit_of(peek(p), 8) >= 0; n++, p->at++) v = v * 8 + digit_of(peek(p), 8);
    return c != '0' && n == 1 ? (void)fail(p, "references to groups are no regular expressions"), NO_CHARACTER : v;
  }
  const char *known = strchr(letters, c);
  if (c && known) return p->at++, values[known - letters];
  const bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (unsigned char)c >= 0x80;
  if (word) return (void)fail(p, "an escape is not understood"), NO_CHARACTER;
  p->at++;
  return (unsigned char)c;
}

/* Finished set of \d \D \w \W \s \S, or of \p. */
static bool escaped_class(Parser *p, ReClass *c) {
  const char letter = peek(p), small = (char)(letter | 0x20);
  if (small == 'p') {
    p->at++;
    if (take(p, "{Any}")) return re_class_add(p->a, c, 0, 0x10ffff), letter == 'p' || (re_class_finish(c), re_class_negate(p->a, c), true);
    (void)fail(p, "classes of Unicode");
    p->error->unsupported = true;
    return false;
  }
  if (!strchr("dDwWsS", letter) || !letter) return false;
  p->at++;
  (void)re_class_perl(p->a, c, small);
  re_class_finish(c);
  if (p->flags & FLAG_FOLD) re_class_fold(p->a, c);
  if (letter != small) re_class_negate(p->a, c);
  return true;
}

static bool is_class_escape(char c) { return c && strchr("dDwWsSpP", c); }

/* ---- [...] ---- */
static bool posix_class(Parser *p, ReClass *set) {
  const bool not = take(p, "^");
  const size_t from = p->at;
  while (peek(p) >= 'a' && peek(p) <= 'z') p->at++;
  const Str name = {p->all.ptr + from, p->at - from};
  ReClass c = {0};
  if (!re_class_posix(p->a, &c, name) || !take(p, ":]")) return fail(p, "a class has no known name") != NULL;
  re_class_finish(&c);
  if (p->flags & FLAG_FOLD) re_class_fold(p->a, &c);
  if (not) re_class_negate(p->a, &c);
  re_class_add_all(p->a, set, &c);
  return true;
}

static int64_t class_character(Parser *p) { return take(p, "\\") ? escaped_character(p) : take_character(p); }

/* One character, range or class of a set. */
static bool class_item(Parser *p, ReClass *set) {
  if (take(p, "[:")) return posix_class(p, set);
  if (peek(p) == '\\' && p->at + 1 < p->all.len && is_class_escape(p->all.ptr[p->at + 1])) {
    ReClass c = {0};
    p->at++;
    if (!escaped_class(p, &c)) return false;
    re_class_add_all(p->a, set, &c);
    return true;
  }
  const int64_t lo = class_character(p);
  int64_t hi = lo;
  const bool range = lo >= 0 && p->at + 1 < p->all.len && peek(p) == '-' && p->all.ptr[p->at + 1] != ']';
  if (range) {
    p->at++;
    hi = class_character(p);
    if (hi >= 0 && hi < lo) return fail(p, "a range runs backwards") != NULL;
  }
  if (lo < 0 || hi < 0) return false;
  re_class_add(p->a, set, (uint32_t)lo, (uint32_t)hi);
  return true;
}

static ReNode *class_node(Parser *p, ReClass set, bool not) {
  re_class_finish(&set);
  if (p->flags & FLAG_FOLD) re_class_fold(p->a, &set);
  if (not) re_class_negate(p->a, &set);
  return node(p, (ReNode){.kind = RE_CLASS, .set = set});
}

static ReNode *bracket(Parser *p) {
  ReClass set = {0};
  const bool not = take(p, "^");
  for (bool first = true; first || peek(p) != ']'; first = false) {
    if (at_end(p)) return fail(p, "a [ is not closed");
    if (!class_item(p, &set)) return NULL;
  }
  p->at++;
  return class_node(p, set, not);
}

/* ---- atoms ---- */
static ReNode *character(Parser *p, int64_t c) {
  ReClass set = {0};
  if (c < 0) return NULL;
  if ((p->flags & FLAG_FOLD) && c < 128) {
    if (p->folded[c].n == 0) {
      re_class_add(p->a, &p->folded[c], (uint32_t)c, (uint32_t)c);
      re_class_fold(p->a, &p->folded[c]);
    }
    return node(p, (ReNode){.kind = RE_CLASS, .set = p->folded[c]});
  }
  re_class_add(p->a, &set, (uint32_t)c, (uint32_t)c);
  return class_node(p, set, false);
}

static ReNode *assertion(Parser *p, int kind) { return node(p, (ReNode){.kind = RE_ASSERT, .assertion = kind}); }

static ReNode *escape(Parser *p) {
  ReClass set = {0};
  if (is_class_escape(peek(p))) return escaped_class(p, &set) ? node(p, (ReNode){.kind = RE_CLASS, .set = set}) : NULL;
  if (take(p, "A")) return assertion(p, CN_RE_TEXT_BEGIN);
  if (take(p, "z")) return assertion(p, CN_RE_TEXT_END);
  if (take(p, "b")) return assertion(p, CN_RE_WORD_EDGE);
  if (take(p, "B")) return assertion(p, CN_RE_NO_WORD_EDGE);
  if (take(p, "C")) return node(p, (ReNode){.kind = RE_BYTE});
  if (take(p, "Q")) return p->quoted = true, node(p, (ReNode){.kind = RE_EMPTY});
  if (take(p, "E")) return node(p, (ReNode){.kind = RE_EMPTY});
  return character(p, escaped_character(p));
}

static ReNode *alternatives(Parser *p);

/* Behind "(?": flags up to ')' or ':'. False at an error. */
static bool group_flags(Parser *p, bool *ret_opens) {
  static const char letters[] = "imsU";
  static const unsigned bits[] = {FLAG_FOLD, FLAG_LINES, FLAG_DOT_ALL, FLAG_LAZY};
  bool off = false, any = false;
  for (;; p->at++) {
    const char c = peek(p), *known = c ? strchr(letters, c) : NULL;
    if (known) p->flags = off ? p->flags & ~bits[known - letters] : p->flags | bits[known - letters];
    else if (c == '-' && !off) off = true;
    else if ((c == ')' || c == ':') && (any || !off)) return *ret_opens = c == ':', p->at++, true;
    else return fail(p, "a group is not understood") != NULL;
    any = known != NULL;
  }
}

static bool group_name(Parser *p) {
  const size_t from = p->at;
  while (!at_end(p) && (digit_of(peek(p), 10) >= 0 || (peek(p) >= 'a' && peek(p) <= 'z') || (peek(p) >= 'A' && peek(p) <= 'Z') || peek(p) == '_')) p->at++;
  return p->at > from && take(p, ">");
}

static ReNode *group(Parser *p) {
  const unsigned outer = p->flags;
  bool opens = true;
  if (take(p, "?P<") || take(p, "?<")) {
    if (!group_name(p)) return fail(p, "a group is not understood");
  } else if (take(p, "?") && !group_flags(p, &opens)) {
    return NULL;
  }
  if (!opens) return node(p, (ReNode){.kind = RE_EMPTY}); /* the flags hold on */
  if (p->depth >= MAX_DEPTH) return fail(p, "groups are nested too deep");
  p->depth++;
  ReNode *inner = alternatives(p);
  p->depth--;
  p->flags = outer;
  if (!inner) return NULL;
  return take(p, ")") ? inner : fail(p, "a ( is not closed");
}

static ReNode *any_character(Parser *p) {
  ReClass set = {0};
  re_class_add(p->a, &set, '\n', '\n');
  if (p->flags & FLAG_DOT_ALL) set.n = 0;
  re_class_negate(p->a, &set);
  return node(p, (ReNode){.kind = RE_CLASS, .set = set});
}

static ReNode *atom(Parser *p) {
  const bool lines = (p->flags & FLAG_LINES) != 0;
  if (p->quoted) {
    if (take(p, "\\E")) return p->quoted = false, node(p, (ReNode){.kind = RE_EMPTY});
    return character(p, take_character(p));
  }
  if (take(p, "(")) return group(p);
  if (take(p, "[")) return bracket(p);
  if (take(p, ".")) return any_character(p);
  if (take(p, "^")) return assertion(p, lines ? CN_RE_LINE_BEGIN : CN_RE_TEXT_BEGIN);
  if (take(p, "$")) return assertion(p, lines ? CN_RE_LINE_END : CN_RE_TEXT_END);
  if (take(p, "\\")) return escape(p);
  if (peek(p) && strchr("*+?", peek(p))) return fail(p, "there is nothing to repeat");
  return character(p, take_character(p));
}

/* ---- repetition ---- */
static bool take_number(Parser *p, int32_t *ret) {
  const size_t from = p->at;
  *ret = 0;
  for (; digit_of(peek(p), 10) >= 0; p->at++)
    if (*ret <= MAX_REPEAT) *ret = *ret * 10 + digit_of(peek(p), 10);
  return p->at > from;
}

/* {n}, {n,}, {n,m}; anything else is taken literally. */
static bool take_counts(Parser *p, ReNode *r) {
  const size_t from = p->at;
  if (take(p, "{") && take_number(p, &r->min)) {
    r->max = r->min;
    if (take(p, ",") && !take_number(p, &r->max)) r->max = -1;
    if (take(p, "}")) return true;
  }
  p->at = from;
  return false;
}

static bool take_repeat(Parser *p, ReNode *r) {
  *r = (ReNode){.kind = RE_REPEAT, .min = 0, .max = -1};
  if (at_end(p) || p->quoted) return false;
  if (take(p, "*")) return true;
  if (take(p, "+")) return r->min = 1, true;
  if (take(p, "?")) return r->max = 1, true;
  return take_counts(p, r);
}

/* Matching a whole text, greedy or not makes no difference. */
static ReNode *repeated(Parser *p) {
  ReNode *x = atom(p), r, again;
  if (!x || !take_repeat(p, &r)) return x;
  (void)take(p, "?");
  if (r.min > MAX_REPEAT || r.max > MAX_REPEAT || (r.max >= 0 && r.max < r.min)) return fail(p, "a repetition is out of range");
  if (take_repeat(p, &again)) return fail(p, "a repetition is repeated");
  r.a = x;
  return node(p, r);
}

static ReNode *sequence(Parser *p) {
  ReNode *x = node(p, (ReNode){.kind = RE_EMPTY});
  while (!at_end(p) && (p->quoted || (peek(p) != '|' && peek(p) != ')'))) {
    ReNode *y = repeated(p);
    if (!y) return NULL;
    x = node(p, (ReNode){.kind = RE_CAT, .a = x, .b = y});
  }
  return x;
}

static ReNode *alternatives(Parser *p) {
  ReNode *x = sequence(p);
  while (x && take(p, "|")) {
    ReNode *y = sequence(p);
    x = y ? node(p, (ReNode){.kind = RE_ALT, .a = x, .b = y}) : NULL;
  }
  return x;
}

const ReNode *regex_parse(Arena *a, Str pattern, ReError *ret) {
  Parser p = {.a = a, .all = pattern, .error = ret};
  *ret = (ReError){0};
  const ReNode *x = alternatives(&p);
  if (x && !at_end(&p)) return fail(&p, "a ) closes nothing");
  return x;
}
