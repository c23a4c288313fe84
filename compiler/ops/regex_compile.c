/* A tree as states over bytes. Each part is made with what comes behind it in hand, from the end of the pattern to its start. */
#include "ops/regex.h"

#include "castnet_abi.h"
#include "ops/automaton.h"
#include "ops/case.h"

enum { MAX_STATES = 1 << 16, MAX_WORK = 1 << 20 };

typedef struct State { int32_t kind, a, b; } State;

typedef struct Compiler {
  Arena *a;
  VEC(State) states;
  Map ranges; /* State of kind RANGE -> its place + 1: equal ends of characters are shared */
  size_t work;
  bool full;
} Compiler;

static int32_t add(Compiler *c, int32_t kind, int32_t a, int32_t b) {
  if (c->states.n >= MAX_STATES) {
    c->full = true;
    return 0;
  }
  vec_push(c->a, c->states, ((State){kind, a, b}));
  return (int32_t)c->states.n - 1;
}

static int32_t add_range(Compiler *c, uint32_t lo, uint32_t hi, int32_t next) {
  const State s = {CN_RE_RANGE, (int32_t)(lo | hi << 8), next};
  const Str key = {(const char *)&s, sizeof s};
  const uintptr_t known = (uintptr_t)map_get(&c->ranges, key);
  if (known) return (int32_t)(known - 1);
  const int32_t at = add(c, s.kind, s.a, s.b);
  if (!c->full) map_put(&c->ranges, arena_str(c->a, key), (void *)((uintptr_t)at + 1));
  return at;
}

/* Either way; -1: none. */
static int32_t either(Compiler *c, int32_t x, int32_t y) { return x < 0 ? y : y < 0 ? x : add(c, CN_RE_SPLIT, x, y); }

/* ---- characters ---- */
/* Those from lo to hi as sequences of bytes, each byte in a range of its own: joined to `found`. */
static int32_t characters(Compiler *c, uint32_t lo, uint32_t hi, int32_t next, int32_t found) {
  static const uint32_t cuts[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff};
  char first[4], last[4];
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
    if (lo <= cuts[i] && hi > cuts[i]) return characters(c, cuts[i] + 1, hi, next, characters(c, lo, cuts[i], next, found));
  if (lo >= 0xd800 && hi <= 0xdfff) return found; /* surrogates have no UTF-8 */
  for (unsigned i = 1; i < 4 && hi > 0x7f; i++) {
    const uint32_t m = (1u << (6 * i)) - 1;
    if ((lo & ~m) == (hi & ~m)) continue;
    if (lo & m) return characters(c, (lo | m) + 1, hi, next, characters(c, lo, lo | m, next, found));
    if ((hi & m) != m) return characters(c, hi & ~m, hi, next, characters(c, lo, (hi & ~m) - 1, next, found));
  }
  const size_t n = cn_utf8_write(lo, first);
  (void)cn_utf8_write(hi, last);
  for (size_t i = n; i-- > 0;) next = add_range(c, (unsigned char)first[i], (unsigned char)last[i], next);
  return either(c, found, next);
}

static int32_t class_state(Compiler *c, const ReClass *set, int32_t next) {
  int32_t found = -1;
  for (size_t i = 0; i < set->n && !c->full; i++) found = characters(c, set->data[i].lo, set->data[i].hi, next, found);
  return found < 0 ? add_range(c, 1, 0, next) : found; /* no byte at all */
}

/* ---- the tree ---- */
static int32_t part(Compiler *c, const ReNode *x, int32_t next);

/* The left sides of a chain of one kind, which may be as long as the pattern: the last comes first. */
static int32_t chain(Compiler *c, const ReNode *x, int32_t next) {
  const ReKind kind = x->kind;
  int32_t found = -1, at = next;
  for (; x->kind == kind && !c->full; x = x->a) {
    const int32_t y = part(c, x->b, kind == RE_CAT ? at : next);
    if (kind == RE_CAT) at = y;
    else found = either(c, y, found);
  }
  if (kind == RE_CAT) return part(c, x, at);
  return either(c, part(c, x, next), found);
}

static int32_t repeat(Compiler *c, const ReNode *x, int32_t next) {
  int32_t at = next;
  if (x->max < 0) {
    at = add(c, CN_RE_SPLIT, 0, next);
    const int32_t body = part(c, x->a, at);
    if (!c->full) c->states.data[at].a = body;
  }
  for (int32_t i = x->min; i < x->max && !c->full; i++) at = either(c, part(c, x->a, at), next);
  for (int32_t i = 0; i < x->min && !c->full; i++) at = part(c, x->a, at);
  return at;
}

static int32_t part(Compiler *c, const ReNode *x, int32_t next) {
  if (c->full || ++c->work > MAX_WORK) {
    c->full = true;
    return next;
  }
  switch (x->kind) {
    case RE_CLASS: return class_state(c, &x->set, next);
    case RE_BYTE: return add_range(c, 0, 255, next);
    case RE_ASSERT: return add(c, CN_RE_ASSERT, x->assertion, next);
    case RE_CAT:
    case RE_ALT: return chain(c, x, next);
    case RE_REPEAT: return repeat(c, x, next);
    default: return next;
  }
}

const int32_t *regex_compile(Arena *a, Str pattern, size_t *ret_n, ReError *ret_error) {
  if (pattern.len > MAX_STATES) {
    *ret_error = (ReError){"it is too long", false, MAX_STATES};
    return NULL;
  }
  const ReNode *x = regex_parse(a, pattern, ret_error);
  if (!x) return NULL;
  Compiler c = {.a = a, .ranges = map_new(a)};
  (void)add(&c, CN_RE_SPLIT, 0, 0);
  const int32_t start = part(&c, x, add(&c, CN_RE_MATCH, 0, 0));
  if (c.full) {
    *ret_error = (ReError){"it asks for more than 65,536 states", false, pattern.len};
    return NULL;
  }
  c.states.data[0].a = c.states.data[0].b = start;
  int32_t *flat = NEW_ARRAY(a, int32_t, 3 * c.states.n);
  memcpy(flat, c.states.data, c.states.n * sizeof *c.states.data);
  *ret_n = c.states.n;
  return flat;
}
