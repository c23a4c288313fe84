#include "ir/dim.h"

#include <stdio.h>

enum {
  MAX_TERMS = 128,  /* of a polynomial; what has more is put together as DIM_SUM */
  MAX_SUM = 600,    /* terms of a DIM_SUM as a tree: generated code prints each place in a concatenation as such a sum */
  MAX_OPERANDS = 24, /* of nested maxima or minima that are compared and put in order */
  MAX_FACTORS = 16, /* of a monomial; what has more is put together, too */
  MAX_DEPTH = 200,
  MAX_SIZE = 50000
};

/* ---- construction: every Dim passes through intern ------------------------------------------------------------------- */
static const Dim *intern(DimCtx *c, const Dim *proto, const void *key, size_t key_len) {
  Str k = {key, key_len};
  const Dim *found = map_get(&c->table, k);
  if (found) return found;
  Dim *d = NEW(c->arena, Dim);
  *d = *proto;
  d->id = c->n_dims++;
  map_put(&c->table, arena_str(c->arena, k), d);
  return d;
}

DimCtx *dim_ctx_new(Arena *a) {
  DimCtx *c = NEW(a, DimCtx);
  c->arena = a;
  c->table = map_new(a);
  c->bad = intern(c, &(Dim){.kind = DIM_BAD, .lo = 0, .hi = INT64_MAX}, "bad", 3);
  c->zero = dim_const(c, 0);
  c->one = dim_const(c, 1);
  return c;
}

const Dim *dim_const(DimCtx *c, int64_t v) {
  char key[1 + sizeof v] = {'c'};
  memcpy(key + 1, &v, sizeof v);
  return intern(c, &(Dim){.kind = DIM_CONST, .lo = v, .hi = v, .value = v}, key, sizeof key);
}

static Str symbol_key(DimCtx *c, Str name) { return arena_printf(c->arena, "s%.*s", (int)name.len, name.ptr); }

const Dim *dim_symbol(DimCtx *c, Str name, int64_t lo, int64_t hi, DimOrigin origin) {
  Str key = symbol_key(c, name);
  const Dim *found = map_get(&c->table, key);
  if (found) return found;
  Dim proto = {.kind = DIM_SYMBOL, .lo = lo, .hi = hi};
  proto.symbol.name = arena_str(c->arena, name);
  proto.symbol.index = (uint32_t)c->symbols.n;
  proto.symbol.origin = origin;
  const Dim *d = intern(c, &proto, key.ptr, key.len);
  vec_push(c->arena, c->symbols, d);
  return d;
}

const Dim *dim_symbol_find(const DimCtx *c, Str name) {
  for (size_t i = 0; i < c->symbols.n; i++)
    if (str_eq(c->symbols.data[i]->symbol.name, name)) return c->symbols.data[i];
  return NULL;
}

void dim_symbol_set_bound(const Dim *symbol, const Dim *bound) {
  Dim *d = (Dim *)(uintptr_t)symbol; /* symbols are completed once, right after their creation */
  d->symbol.bound = bound;
  if (bound && bound->hi < d->hi) d->hi = bound->hi;
}

/* ---- ranges: saturating interval arithmetic ---------------------------------------------------------------------------- */
static int64_t sat_add(int64_t a, int64_t b) {
  int64_t r;
  if (i64_add(a, b, &r)) return r;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t sat_mul(int64_t a, int64_t b) {
  int64_t r;
  if (i64_mul(a, b, &r)) return r;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static void range_mul(int64_t *lo, int64_t *hi, int64_t blo, int64_t bhi) {
  int64_t p[4] = {sat_mul(*lo, blo), sat_mul(*lo, bhi), sat_mul(*hi, blo), sat_mul(*hi, bhi)};
  *lo = *hi = p[0];
  for (int i = 1; i < 4; i++) {
    if (p[i] < *lo) *lo = p[i];
    if (p[i] > *hi) *hi = p[i];
  }
}

static void terms_range(const DimTerm *t, size_t n, int64_t *ret_lo, int64_t *ret_hi) {
  int64_t lo = 0, hi = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t tlo = t[i].coef, thi = t[i].coef;
    for (uint32_t f = 0; f < t[i].n_factors; f++) range_mul(&tlo, &thi, t[i].factors[f]->lo, t[i].factors[f]->hi);
    lo = sat_add(lo, tlo);
    hi = sat_add(hi, thi);
  }
  *ret_lo = lo;
  *ret_hi = hi;
}

static bool any_bad(const Dim *a, const Dim *b) { return a->kind == DIM_BAD || b->kind == DIM_BAD; }

/* ---- polynomials ------------------------------------------------------------------------------------------------------- */
typedef struct Terms {
  DimTerm t[MAX_TERMS];
  size_t n;
  bool bad;
} Terms;

static int term_cmp(const DimTerm *a, const DimTerm *b);

static int i64_cmp(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int poly_cmp(const Dim *a, const Dim *b) {
  if (a->poly.n_terms != b->poly.n_terms) return a->poly.n_terms < b->poly.n_terms ? -1 : 1;
  for (uint32_t i = 0; i < a->poly.n_terms; i++) {
    int order = term_cmp(&a->poly.terms[i], &b->poly.terms[i]);
    if (!order) order = i64_cmp(a->poly.terms[i].coef, b->poly.terms[i].coef);
    if (order) return order;
  }
  return 0;
}

/* By what they are, not by when they were made: the same expression reads the same wherever it comes from. Equal ones are one. */
static int dim_cmp(const Dim *a, const Dim *b) {
  if (a == b) return 0;
  if (a->kind != b->kind) return b->kind == DIM_CONST || (a->kind != DIM_CONST && a->kind < b->kind) ? -1 : 1; /* constants last */
  int order;
  switch (a->kind) {
    case DIM_CONST: return i64_cmp(a->value, b->value);
    case DIM_SYMBOL: return a->symbol.index < b->symbol.index ? -1 : 1;
    case DIM_POLY: return poly_cmp(a, b);
    case DIM_BAD: return 0;
    default: return (order = dim_cmp(a->pair.a, b->pair.a)) ? order : dim_cmp(a->pair.b, b->pair.b);
  }
}

static int term_cmp(const DimTerm *a, const DimTerm *b) { /* by factors: higher degree first */
  if (a->n_factors != b->n_factors) return a->n_factors > b->n_factors ? -1 : 1;
  for (uint32_t i = 0; i < a->n_factors; i++) {
    const int order = dim_cmp(a->factors[i], b->factors[i]);
    if (order) return order;
  }
  return 0;
}

static const Dim *terms_dim(DimCtx *c, const Terms *s);
static const Dim *pair(DimCtx *c, DimKind kind, const Dim *a, const Dim *b, int64_t lo, int64_t hi);

static DimTerm term_of(DimCtx *c, int64_t coef, const Dim *atom) {
  const Dim **f = NEW(c->arena, const Dim *);
  f[0] = atom;
  return (DimTerm){coef, 1, f};
}

/* a + b as an atom. */
static const Dim *sum_of(DimCtx *c, const Dim *a, const Dim *b) {
  return any_bad(a, b) || a->size + b->size > MAX_SUM ? c->bad : pair(c, DIM_SUM, a, b, sat_add(a->lo, b->lo), sat_add(a->hi, b->hi));
}

/* All terms but a constant become one atom, of two halves. Of sums that grow term by term the atoms are the same ones, so that all of them together
 * are no larger than the longest. */
static void terms_fold(DimCtx *c, Terms *s) {
  const size_t n = s->t[s->n - 1].n_factors ? s->n : s->n - 1, half = n / 2;
  Terms part = {.n = half};
  memcpy(part.t, s->t, half * sizeof *s->t);
  const Dim *first = terms_dim(c, &part);
  part.n = n - half;
  memcpy(part.t, s->t + half, part.n * sizeof *s->t);
  const Dim *all = sum_of(c, first, terms_dim(c, &part));
  s->bad = dim_is_bad(all);
  if (n < s->n) s->t[1] = s->t[n];
  s->n -= n - 1;
  s->t[0] = term_of(c, 1, all);
}

static void terms_add(DimCtx *c, Terms *s, DimTerm t) { /* keeps order; merges equal monomials */
  if (t.coef == 0 || s->bad) return;
  size_t i = 0;
  while (i < s->n && term_cmp(&s->t[i], &t) < 0) i++;
  if (i < s->n && term_cmp(&s->t[i], &t) == 0) {
    if (!i64_add(s->t[i].coef, t.coef, &s->t[i].coef)) s->bad = true;
    if (s->t[i].coef == 0) {
      memmove(&s->t[i], &s->t[i + 1], (s->n - i - 1) * sizeof t);
      s->n--;
    }
    return;
  }
  if (s->n == MAX_TERMS) {
    terms_fold(c, s);
    terms_add(c, s, t);
    return;
  }
  memmove(&s->t[i + 1], &s->t[i], (s->n - i) * sizeof t);
  s->t[i] = t;
  s->n++;
}

static void terms_of(DimCtx *c, const Dim *d, Terms *s) {
  s->n = 0;
  s->bad = false;
  if (d->kind == DIM_CONST) {
    terms_add(c, s, (DimTerm){.coef = d->value});
  } else if (d->kind == DIM_POLY) {
    memcpy(s->t, d->poly.terms, d->poly.n_terms * sizeof(DimTerm));
    s->n = d->poly.n_terms;
  } else {
    terms_add(c, s, term_of(c, 1, d));
  }
}

enum { POLY_KEY_MAX = 1 + MAX_TERMS * (sizeof(int64_t) + (1 + MAX_FACTORS) * sizeof(uint32_t)) };

static size_t poly_key(const Terms *s, char *ret) {
  char *at = ret;
  *at++ = 'p';
  for (size_t i = 0; i < s->n; i++) {
    const DimTerm *t = &s->t[i];
    memcpy(at, &t->coef, sizeof t->coef);
    memcpy(at + sizeof t->coef, &t->n_factors, sizeof t->n_factors);
    at += sizeof t->coef + sizeof t->n_factors;
    for (uint32_t f = 0; f < t->n_factors; f++, at += sizeof(uint32_t)) memcpy(at, &t->factors[f]->id, sizeof(uint32_t));
  }
  return (size_t)(at - ret);
}

static const Dim *terms_dim(DimCtx *c, const Terms *s) {
  if (s->bad) return c->bad;
  if (s->n == 0) return c->zero;
  if (s->n == 1 && s->t[0].n_factors == 0) return dim_const(c, s->t[0].coef);
  if (s->n == 1 && s->t[0].n_factors == 1 && s->t[0].coef == 1) return s->t[0].factors[0];
  char key[POLY_KEY_MAX];
  const Str k = {key, poly_key(s, key)};
  const Dim *found = map_get(&c->table, k);
  if (found) return found;
  Dim proto = {.kind = DIM_POLY, .size = (uint32_t)s->n};
  for (size_t i = 0; i < s->n; i++)
    for (uint32_t f = 0; f < s->t[i].n_factors; f++) {
      const Dim *x = s->t[i].factors[f];
      if (x->depth > proto.depth) proto.depth = x->depth;
      if ((proto.size += x->size) > MAX_SIZE) return c->bad;
    }
  proto.poly.n_terms = (uint32_t)s->n;
  proto.poly.terms = arena_dup(c->arena, s->t, s->n * sizeof(DimTerm));
  terms_range(s->t, s->n, &proto.lo, &proto.hi);
  return intern(c, &proto, k.ptr, k.len);
}

/* The factors of a monomial as one atom. */
static bool term_fold(DimCtx *c, DimTerm *t) {
  Terms one = {.t = {{1, t->n_factors, t->factors}}, .n = 1};
  const Dim *all = sum_of(c, terms_dim(c, &one), c->zero);
  *t = term_of(c, t->coef, all);
  return !dim_is_bad(all);
}

static bool term_mul(DimCtx *c, const DimTerm *x, const DimTerm *y, DimTerm *ret) {
  DimTerm folded = x->n_factors > y->n_factors ? *x : *y;
  const DimTerm *a = x, *b = y;
  if (a->n_factors + b->n_factors > MAX_FACTORS) {
    if (!term_fold(c, &folded)) return false;
    a = x->n_factors > y->n_factors ? &folded : x;
    b = a == &folded ? y : &folded;
  }
  if (!i64_mul(a->coef, b->coef, &ret->coef)) return false;
  ret->n_factors = a->n_factors + b->n_factors;
  const Dim **f = NEW_ARRAY(c->arena, const Dim *, ret->n_factors);
  uint32_t i = 0, j = 0, k = 0;
  while (i < a->n_factors || j < b->n_factors)
    f[k++] = j == b->n_factors || (i < a->n_factors && dim_cmp(a->factors[i], b->factors[j]) <= 0) ? a->factors[i++] : b->factors[j++];
  ret->factors = f;
  return true;
}

/* a / b when b's monomial divides a's exactly. */
static bool term_div(DimCtx *c, const DimTerm *a, const DimTerm *b, DimTerm *ret) {
  if (a->coef == INT64_MIN || a->coef % b->coef != 0 || a->n_factors < b->n_factors) return false;
  const Dim **f = NEW_ARRAY(c->arena, const Dim *, a->n_factors);
  uint32_t j = 0, k = 0;
  for (uint32_t i = 0; i < a->n_factors; i++) {
    if (j < b->n_factors && a->factors[i] == b->factors[j]) j++;
    else f[k++] = a->factors[i];
  }
  if (j != b->n_factors) return false;
  *ret = (DimTerm){a->coef / b->coef, k, f};
  return true;
}

static const Dim *plain_add_scaled(DimCtx *c, const Dim *a, const Dim *b, int64_t scale) {
  if (any_bad(a, b)) return c->bad;
  Terms s, t;
  terms_of(c, a, &s);
  terms_of(c, b, &t);
  for (size_t i = 0; i < t.n; i++) {
    DimTerm x = t.t[i];
    if (!i64_mul(x.coef, scale, &x.coef)) s.bad = true;
    terms_add(c, &s, x);
  }
  return terms_dim(c, &s);
}

/* The factor of a term that is nothing but mod(m, k), of a constant k. */
static const Dim *only_mod(const DimTerm *t, int64_t *ret_k) {
  const Dim *f = t->n_factors == 1 ? t->factors[0] : NULL;
  return f && f->kind == DIM_MOD && dim_is_const(f->pair.b, ret_k) && *ret_k > 0 ? f : NULL;
}

static uint32_t n_open_terms(const Dim *d) {
  if (d->kind != DIM_POLY) return d->kind != DIM_CONST;
  return d->poly.n_terms - (d->poly.terms[d->poly.n_terms - 1].n_factors == 0);
}

/* n + mod(-n, k) is n padded to a multiple of k, k * floordiv(n + k - 1, k), and n - mod(n, k) is k * floordiv(n, k): c * mod(m, k) goes, as c * m less
 * c * k * floordiv(m, k), where all of c * m meets its opposite. */
static const Dim *join_mods(DimCtx *c, const Dim *d) {
  for (uint32_t i = 0; d->kind == DIM_POLY && i < d->poly.n_terms; i++) {
    const DimTerm *t = &d->poly.terms[i];
    int64_t k, ck;
    const Dim *f = only_mod(t, &k);
    if (!f || !i64_mul(t->coef, k, &ck) || ck == INT64_MIN) continue;
    const Dim *m = f->pair.a, *rest = plain_add_scaled(c, plain_add_scaled(c, d, f, -t->coef), m, t->coef);
    if (dim_is_bad(rest) || n_open_terms(rest) + n_open_terms(m) + 1 != n_open_terms(d)) continue;
    const bool negative = m->kind == DIM_POLY && m->poly.terms[0].coef < 0;
    const Dim *joined = negative ? plain_add_scaled(c, rest, dim_ceildiv(c, dim_sub(c, c->zero, m), f->pair.b), ck)
                                 : plain_add_scaled(c, rest, dim_floordiv(c, m, f->pair.b), -ck);
    return dim_is_bad(joined) ? d : join_mods(c, joined);
  }
  return d;
}

/* a + scale * b */
static const Dim *add_scaled(DimCtx *c, const Dim *a, const Dim *b, int64_t scale) { return join_mods(c, plain_add_scaled(c, a, b, scale)); }

const Dim *dim_add(DimCtx *c, const Dim *a, const Dim *b) { return add_scaled(c, a, b, 1); }
const Dim *dim_sub(DimCtx *c, const Dim *a, const Dim *b) { return add_scaled(c, a, b, -1); }

const Dim *dim_mul(DimCtx *c, const Dim *a, const Dim *b) {
  if (any_bad(a, b)) return c->bad;
  Terms s, t, r = {.n = 0};
  terms_of(c, a, &s);
  terms_of(c, b, &t);
  if (s.n * t.n > MAX_TERMS) terms_fold(c, s.n > t.n ? &s : &t);
  if (s.n * t.n > MAX_TERMS) terms_fold(c, s.n > t.n ? &s : &t);
  if (s.bad || t.bad) return c->bad;
  for (size_t i = 0; i < s.n; i++) {
    for (size_t j = 0; j < t.n && !r.bad; j++) {
      DimTerm x;
      if (term_mul(c, &s.t[i], &t.t[j], &x)) terms_add(c, &r, x);
      else r.bad = true;
    }
  }
  return terms_dim(c, &r);
}

const Dim *dim_product(DimCtx *c, const Dim *const *d, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (dim_is(d[i], 0)) return c->zero; /* an empty tensor, however large its other dimensions */
  const Dim *p = c->one;
  for (size_t i = 0; i < n; i++) p = dim_mul(c, p, d[i]);
  return p;
}

/* ---- division ------------------------------------------------------------------------------------------------------------ */
static const Dim *pair(DimCtx *c, DimKind kind, const Dim *a, const Dim *b, int64_t lo, int64_t hi) {
  if (a->depth >= MAX_DEPTH || b->depth >= MAX_DEPTH || a->size + b->size >= MAX_SIZE) return c->bad;
  char key[1 + 2 * sizeof(uint32_t)] = {(char)('A' + (int)kind)};
  memcpy(key + 1, &a->id, sizeof a->id);
  memcpy(key + 1 + sizeof a->id, &b->id, sizeof b->id);
  Dim proto = {.kind = kind, .lo = lo, .hi = hi, .depth = 1 + (a->depth > b->depth ? a->depth : b->depth), .size = 1 + a->size + b->size};
  proto.pair.a = a;
  proto.pair.b = b;
  return intern(c, &proto, key, sizeof key);
}

/* Polynomial long division; NULL unless b divides a exactly. */
static const Dim *exact_div(DimCtx *c, const Dim *a, const Dim *b) {
  Terms t;
  terms_of(c, b, &t);
  const Dim *q = c->zero;
  for (int round = 0; round < 32; round++) {
    if (dim_is(a, 0)) return q;
    Terms s;
    terms_of(c, a, &s);
    DimTerm x;
    if (!term_div(c, &s.t[0], &t.t[0], &x)) return NULL;
    Terms one = {.n = 0};
    terms_add(c, &one, x);
    const Dim *step = terms_dim(c, &one);
    q = dim_add(c, q, step);
    a = dim_sub(c, a, dim_mul(c, step, b));
    if (any_bad(a, q)) return NULL;
  }
  return NULL;
}

/* Splits a by a constant n > 0 into n * q + r with r without terms that n divides. */
static void split_by(DimCtx *c, const Dim *a, int64_t n, const Dim **ret_q, const Dim **ret_r) {
  Terms s, q = {.n = 0}, r = {.n = 0};
  terms_of(c, a, &s);
  for (size_t i = 0; i < s.n; i++) {
    int64_t whole = i64_floordiv(s.t[i].coef, n), rest = i64_floormod(s.t[i].coef, n);
    bool constant = s.t[i].n_factors == 0;
    if (rest == 0 || constant) terms_add(c, &q, (DimTerm){whole, s.t[i].n_factors, s.t[i].factors});
    if (rest != 0) terms_add(c, &r, (DimTerm){constant ? rest : s.t[i].coef, s.t[i].n_factors, s.t[i].factors});
  }
  *ret_q = terms_dim(c, &q);
  *ret_r = terms_dim(c, &r);
}

/* floor((floor(p/m) + rest) / n) = floor((p + m*rest) / (m*n)): keeps chains of strided layers flat. NULL if not of that form. */
static const Dim *merge_floordiv(DimCtx *c, const Dim *a, int64_t n) {
  Terms s;
  terms_of(c, a, &s);
  for (size_t i = 0; i < s.n; i++) {
    const Dim *f = s.t[i].n_factors == 1 ? s.t[i].factors[0] : NULL;
    int64_t m, mn;
    if (!f || s.t[i].coef != 1 || f->kind != DIM_FLOORDIV || !dim_is_const(f->pair.b, &m) || m <= 0 || !i64_mul(m, n, &mn)) continue;
    const Dim *rest = dim_sub(c, a, f);
    return dim_floordiv(c, dim_add(c, f->pair.a, dim_mulc(c, rest, m)), dim_const(c, mn));
  }
  return NULL;
}

const Dim *dim_floordiv(DimCtx *c, const Dim *a, const Dim *b) {
  if (any_bad(a, b) || dim_is(b, 0)) return c->bad;
  int64_t x, n;
  if (dim_is_const(b, &n) && dim_is_const(a, &x)) return dim_const(c, i64_floordiv(x, n));
  const Dim *exact = exact_div(c, a, b);
  if (exact) return exact;
  if (dim_is_const(b, &n) && n > 0) {
    const Dim *q, *r;
    split_by(c, a, n, &q, &r);
    if (r->lo >= 0 && r->hi < n) return q;
    if (!dim_is(q, 0)) return dim_add(c, q, dim_floordiv(c, r, b));
    const Dim *merged = merge_floordiv(c, a, n);
    if (merged) return merged;
    return pair(c, DIM_FLOORDIV, a, b, i64_floordiv(a->lo, n), a->hi == INT64_MAX ? INT64_MAX : i64_floordiv(a->hi, n));
  }
  int64_t lo = a->lo >= 0 && b->lo >= 0 ? 0 : INT64_MIN, hi = a->lo >= 0 && b->lo >= 0 ? a->hi : INT64_MAX;
  return pair(c, DIM_FLOORDIV, a, b, lo, hi);
}

const Dim *dim_ceildiv(DimCtx *c, const Dim *a, const Dim *b) {
  const Dim *bm1 = dim_addc(c, b, -1);
  return dim_floordiv(c, dim_add(c, a, bm1), b);
}

/* The same modulo n: m for each mod(m, k) of which n divides k. */
static const Dim *without_mods(DimCtx *c, const Dim *d, int64_t n) {
  Terms s;
  terms_of(c, d, &s);
  const Dim *flat = d;
  for (size_t i = 0; i < s.n; i++) {
    int64_t k;
    const Dim *f = only_mod(&s.t[i], &k);
    if (!f || k % n || s.t[i].coef == INT64_MIN) continue;
    flat = plain_add_scaled(c, plain_add_scaled(c, flat, f, -s.t[i].coef), f->pair.a, s.t[i].coef);
  }
  return dim_is_bad(flat) ? d : flat;
}

const Dim *dim_mod(DimCtx *c, const Dim *a, const Dim *b) {
  if (any_bad(a, b) || dim_is(b, 0)) return c->bad;
  int64_t x, n;
  if (dim_is_const(b, &n) && dim_is_const(a, &x)) return dim_const(c, i64_floormod(x, n));
  if (exact_div(c, a, b)) return c->zero;
  if (dim_is_const(b, &n) && n > 0) {
    const Dim *q, *r;
    split_by(c, a, n, &q, &r);
    if (r->lo >= 0 && r->hi < n) return r;
    const Dim *flat = without_mods(c, r, n);
    return flat != r ? dim_mod(c, flat, b) : pair(c, DIM_MOD, r, b, 0, n - 1);
  }
  if (a->lo >= 0 && dim_lt(c, a, b) == 1) return a;
  return pair(c, DIM_MOD, a, b, b->lo >= 0 ? 0 : INT64_MIN, b->hi);
}

/* ---- comparison, extremes -------------------------------------------------------------------------------------------------- */
int dim_eq(DimCtx *c, const Dim *a, const Dim *b) {
  if (any_bad(a, b)) return -1;
  if (a == b) return 1;
  const Dim *d = dim_sub(c, a, b);
  if (dim_is_bad(d)) return -1;
  return d->lo > 0 || d->hi < 0 ? 0 : -1;
}

int dim_le(DimCtx *c, const Dim *a, const Dim *b) {
  if (any_bad(a, b)) return -1;
  const Dim *d = dim_sub(c, b, a);
  if (dim_is_bad(d)) return -1;
  return d->lo >= 0 ? 1 : d->hi < 0 ? 0 : -1;
}

int dim_lt(DimCtx *c, const Dim *a, const Dim *b) { return dim_le(c, dim_addc(c, a, 1), b); }

static bool never_positive(DimCtx *c, const Dim *d, unsigned cases);

/* With an operand in the place of a summand that is a minimum or maximum. */
static bool never_positive_with(DimCtx *c, const Dim *d, const DimTerm *term, const Dim *operand, unsigned cases) {
  return never_positive(c, add_scaled(c, d, dim_sub(c, operand, term->factors[0]), term->coef), cases);
}

/* What has to hold for both operands comes first: one of the others is then chosen for each. */
static bool never_positive(DimCtx *c, const Dim *d, unsigned cases) {
  if (d->hi <= 0) return !dim_is_bad(d);
  const uint32_t n = d->kind == DIM_POLY ? d->poly.n_terms : 1;
  const DimTerm own = {1, 1, &d}, *terms = d->kind == DIM_POLY ? d->poly.terms : &own;
  for (int both = 1; cases && both >= 0; both--) {
    for (uint32_t i = 0; i < n; i++) {
      const Dim *x = terms[i].n_factors == 1 ? terms[i].factors[0] : NULL;
      if (!x || (x->kind != DIM_MIN && x->kind != DIM_MAX) || ((x->kind == DIM_MAX) == (terms[i].coef > 0)) != both) continue;
      const bool first = never_positive_with(c, d, &terms[i], x->pair.a, cases - 1);
      if (first != both) return first;
      const bool second = never_positive_with(c, d, &terms[i], x->pair.b, cases - 1);
      if (both || second) return second;
    }
  }
  return false;
}

bool dim_never_above(DimCtx *c, const Dim *a, const Dim *b) {
  enum { CASES = 4 };
  return never_positive(c, dim_sub(c, a, b), CASES);
}

static const Dim *extreme_pair(DimCtx *c, DimKind kind, const Dim *a, const Dim *b) {
  const bool min = kind == DIM_MIN;
  const int64_t lo = (a->lo < b->lo) == min ? a->lo : b->lo, hi = (a->hi < b->hi) == min ? a->hi : b->hi;
  return pair(c, kind, a, b, lo, hi);
}

/* What nested maxima (or minima) are of. */
typedef struct Operands {
  const Dim *d[MAX_OPERANDS];
  size_t n;
  bool whole; /* there are no more */
} Operands;

static void add_operands(Operands *o, DimKind kind, const Dim *d) {
  if (d->kind == kind && o->whole) {
    add_operands(o, kind, d->pair.a);
    add_operands(o, kind, d->pair.b);
  } else if (o->n < MAX_OPERANDS) {
    o->d[o->n++] = d;
  } else {
    o->whole = false;
  }
}

static bool any_covers(DimCtx *c, DimKind kind, const Operands *o, const Dim *x) {
  for (size_t i = 0; i < o->n; i++) {
    const Dim *small = kind == DIM_MIN ? o->d[i] : x, *large = kind == DIM_MIN ? x : o->d[i];
    if (small == large || small->hi <= large->lo || (small->lo <= large->hi && dim_le(c, small, large) == 1)) return true;
  }
  return false;
}

/* The operands that none of others makes superfluous. */
static Operands not_covered(DimCtx *c, DimKind kind, const Operands *o, const Operands *others) {
  Operands left = {.whole = true};
  for (size_t i = 0; i < o->n; i++)
    if (!any_covers(c, kind, others, o->d[i])) left.d[left.n++] = o->d[i];
  return left;
}

static void insert_operand(Operands *o, const Dim *d) {
  size_t i = o->n++;
  for (; i > 0 && dim_cmp(o->d[i - 1], d) > 0; i--) o->d[i] = o->d[i - 1];
  o->d[i] = d;
}

/* Nested ones are one list, in order and without what can be proved superfluous; a very long one stays as it was put together. */
static const Dim *extreme(DimCtx *c, DimKind kind, const Dim *a, const Dim *b) {
  if (any_bad(a, b)) return c->bad;
  Operands of_a = {.whole = true}, of_b = {.whole = true};
  add_operands(&of_a, kind, a);
  add_operands(&of_b, kind, b);
  if (!of_a.whole || !of_b.whole) return a == b ? a : dim_cmp(a, b) > 0 ? extreme_pair(c, kind, b, a) : extreme_pair(c, kind, a, b);
  const Operands more = not_covered(c, kind, &of_b, &of_a);
  if (more.n == 0) return a;
  Operands all = not_covered(c, kind, &of_a, &more);
  if (all.n == 0 && more.n == of_b.n) return b;
  if (all.n + more.n > MAX_OPERANDS) return dim_cmp(a, b) > 0 ? extreme_pair(c, kind, b, a) : extreme_pair(c, kind, a, b);
  for (size_t i = 0; i < more.n; i++) insert_operand(&all, more.d[i]);
  const Dim *rest = all.d[all.n - 1];
  for (size_t i = all.n - 1; i-- > 0 && !dim_is_bad(rest);) rest = extreme_pair(c, kind, all.d[i], rest);
  return rest;
}

const Dim *dim_min(DimCtx *c, const Dim *a, const Dim *b) { return extreme(c, DIM_MIN, a, b); }
const Dim *dim_max(DimCtx *c, const Dim *a, const Dim *b) { return extreme(c, DIM_MAX, a, b); }

/* ---- bounds, evaluation ------------------------------------------------------------------------------------------------------ */
/* Monotone in its data symbols when every coefficient that reaches one is positive; else the numeric range answers. */
const Dim *dim_upper(DimCtx *c, const Dim *d) {
  if (!dim_has_data(d)) return d;
  switch (d->kind) {
    case DIM_SYMBOL:
      if (d->symbol.origin == DIM_FROM_INPUT) return d;
      return d->symbol.bound ? dim_upper(c, d->symbol.bound) : d->hi < INT32_MAX ? dim_const(c, d->hi) : d;
    case DIM_POLY: {
      const Dim *sum = c->zero;
      for (uint32_t i = 0; i < d->poly.n_terms; i++) {
        const DimTerm *t = &d->poly.terms[i];
        const Dim *p = dim_const(c, t->coef);
        for (uint32_t f = 0; f < t->n_factors; f++) {
          const Dim *x = t->factors[f], *up = dim_upper(c, x);
          if (up != x && t->coef < 0) up = x->lo > INT64_MIN ? dim_const(c, x->lo) : x;
          p = dim_mul(c, p, up);
        }
        sum = dim_add(c, sum, p);
      }
      return sum;
    }
    case DIM_FLOORDIV:
      return d->pair.b->kind == DIM_CONST ? dim_floordiv(c, dim_upper(c, d->pair.a), d->pair.b) : d;
    case DIM_SUM: return dim_add(c, dim_upper(c, d->pair.a), dim_upper(c, d->pair.b));
    case DIM_MIN: return dim_min(c, dim_upper(c, d->pair.a), dim_upper(c, d->pair.b));
    case DIM_MAX: return dim_max(c, dim_upper(c, d->pair.a), dim_upper(c, d->pair.b));
    default: return d;
  }
}

static bool term_eval(const DimTerm *t, const int64_t *symbols, int64_t *ret) {
  *ret = t->coef;
  for (uint32_t f = 0; f < t->n_factors; f++) {
    int64_t v;
    if (!dim_eval(t->factors[f], symbols, &v) || !i64_mul(*ret, v, ret)) return false;
  }
  return true;
}

/* The side of a classifier's image, or the nearest that the range allows. */
static int64_t usual_size(const Dim *symbol) {
  enum { USUAL = 224 };
  return symbol->lo > USUAL ? symbol->lo : symbol->hi < USUAL ? symbol->hi : USUAL;
}

bool dim_eval(const Dim *d, const int64_t *symbols, int64_t *ret) {
  int64_t a, b;
  switch (d->kind) {
    case DIM_CONST: *ret = d->value; return true;
    case DIM_SYMBOL: *ret = symbols ? symbols[d->symbol.index] : usual_size(d); return true;
    case DIM_POLY:
      *ret = 0;
      for (uint32_t i = 0; i < d->poly.n_terms; i++)
        if (!term_eval(&d->poly.terms[i], symbols, &a) || !i64_add(*ret, a, ret)) return false;
      return true;
    case DIM_BAD: return false;
    default: break;
  }
  if (!dim_eval(d->pair.a, symbols, &a) || !dim_eval(d->pair.b, symbols, &b)) return false;
  switch (d->kind) {
    case DIM_FLOORDIV:
      if (b == 0) return false;
      *ret = i64_floordiv(a, b);
      return true;
    case DIM_MOD:
      if (b == 0) return false;
      *ret = i64_floormod(a, b);
      return true;
    case DIM_SUM: return i64_add(a, b, ret);
    case DIM_MIN: *ret = a < b ? a : b; return true;
    default: *ret = a > b ? a : b; return true;
  }
}

void dim_each_symbol(const Dim *d, void (*f)(void *user, const Dim *symbol), void *user) {
  switch (d->kind) {
    case DIM_CONST:
    case DIM_BAD: return;
    case DIM_SYMBOL: f(user, d); return;
    case DIM_POLY:
      for (uint32_t i = 0; i < d->poly.n_terms; i++)
        for (uint32_t k = 0; k < d->poly.terms[i].n_factors; k++) dim_each_symbol(d->poly.terms[i].factors[k], f, user);
      return;
    default: dim_each_symbol(d->pair.a, f, user); dim_each_symbol(d->pair.b, f, user);
  }
}

static void note_data(void *user, const Dim *symbol) {
  if (symbol->symbol.origin == DIM_FROM_DATA) *(bool *)user = true;
}

bool dim_has_data(const Dim *d) {
  bool r = false;
  dim_each_symbol(d, note_data, &r);
  return r;
}

/* ---- text ---------------------------------------------------------------------------------------------------------------------- */
static const char *const pair_names[] = {[DIM_FLOORDIV] = "floordiv", [DIM_MOD] = "mod", [DIM_MIN] = "min", [DIM_MAX] = "max", [DIM_SUM] = "sum"};

static void symbol_print(StrBuf *b, Str name) { /* bare when an identifier, else quoted */
  bool bare = name.len > 0;
  for (size_t i = 0; i < name.len; i++) {
    char ch = name.ptr[i];
    bare = bare && (ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (i && ch >= '0' && ch <= '9'));
  }
  for (int k = DIM_FLOORDIV; k <= DIM_SUM; k++) bare = bare && !str_is(name, pair_names[k]);
  if (bare) {
    sb_str(b, name);
    return;
  }
  sb_putc(b, '"');
  sb_escaped(b, name, SIZE_MAX);
  sb_putc(b, '"');
}

void dim_print(StrBuf *b, const Dim *d) {
  switch (d->kind) {
    case DIM_CONST: sb_printf(b, "%lld", (long long)d->value); return;
    case DIM_SYMBOL: symbol_print(b, d->symbol.name); return;
    case DIM_BAD: sb_puts(b, "bad"); return;
    case DIM_POLY: break;
    default:
      sb_printf(b, "%s(", pair_names[d->kind]);
      dim_print(b, d->pair.a);
      sb_puts(b, ", ");
      dim_print(b, d->pair.b);
      sb_putc(b, ')');
      return;
  }
  for (uint32_t i = 0; i < d->poly.n_terms; i++) {
    const DimTerm *t = &d->poly.terms[i];
    if (i) sb_puts(b, t->coef < 0 ? " - " : " + ");
    int64_t coef = i && t->coef < 0 && t->coef != INT64_MIN ? -t->coef : t->coef;
    bool show = coef != 1 || t->n_factors == 0;
    if (show) sb_printf(b, "%lld", (long long)coef);
    for (uint32_t f = 0; f < t->n_factors; f++) {
      if (f || show) sb_putc(b, '*');
      dim_print(b, t->factors[f]);
    }
  }
}

void dim_print_short(StrBuf *b, const Dim *d) {
  enum { SHORT_MAX = 200 };
  const size_t from = b->len;
  dim_print(b, d);
  if (b->len - from <= SHORT_MAX) return;
  b->len = from + SHORT_MAX;
  while ((b->data[b->len] & 0xC0) == 0x80) b->len--; /* a character of several bytes */
  sb_puts(b, "...");
}

/* Recursive descent over `sum := product (('+'|'-') product)*`, `product := atom ('*' atom)*`. */
typedef struct Parser {
  DimCtx *c;
  Str s;
  int depth;
} Parser;

static const Dim *parse_sum(Parser *p);

static void skip(Parser *p) {
  while (p->s.len && *p->s.ptr == ' ') p->s.ptr++, p->s.len--;
}

static bool accept(Parser *p, char ch) {
  skip(p);
  if (!p->s.len || *p->s.ptr != ch) return false;
  p->s.ptr++, p->s.len--;
  return true;
}

static const Dim *parse_number(Parser *p) {
  uint64_t v = 0;
  bool neg = accept(p, '-');
  if (!p->s.len || *p->s.ptr < '0' || *p->s.ptr > '9') return NULL;
  while (p->s.len && *p->s.ptr >= '0' && *p->s.ptr <= '9') {
    if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p->s.ptr - '0'), &v)) return NULL;
    p->s.ptr++, p->s.len--;
  }
  if (v > (uint64_t)INT64_MAX + neg) return NULL;
  return dim_const(p->c, neg ? (int64_t)(0 - v) : (int64_t)v);
}

static Str parse_word(Parser *p) {
  Str w = {p->s.ptr, 0};
  size_t used;
  if (accept(p, '"')) {
    if (!str_unescape(p->c->arena, p->s, &w, &used)) return (Str){0};
    p->s.ptr += used, p->s.len -= used;
    return w;
  }
  while (p->s.len) {
    char ch = *p->s.ptr;
    if (!(ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (w.len && ch >= '0' && ch <= '9'))) break;
    p->s.ptr++, p->s.len--, w.len++;
  }
  return w;
}

static const Dim *parse_atom(Parser *p) {
  skip(p);
  if (!p->s.len) return NULL;
  if (*p->s.ptr == '-' || (*p->s.ptr >= '0' && *p->s.ptr <= '9')) return parse_number(p);
  if (accept(p, '(')) {
    const Dim *d = parse_sum(p);
    return accept(p, ')') ? d : NULL;
  }
  Str w = parse_word(p);
  for (int k = DIM_FLOORDIV; k <= DIM_SUM; k++) {
    if (!str_is(w, pair_names[k]) || !accept(p, '(')) continue;
    const Dim *a = parse_sum(p);
    const Dim *b = a && accept(p, ',') ? parse_sum(p) : NULL;
    if (!b || !accept(p, ')')) return NULL;
    if (k == DIM_SUM) return sum_of(p->c, a, b);
    return k == DIM_FLOORDIV ? dim_floordiv(p->c, a, b) : k == DIM_MOD ? dim_mod(p->c, a, b) : k == DIM_MIN ? dim_min(p->c, a, b) : dim_max(p->c, a, b);
  }
  return dim_symbol_find(p->c, w);
}

static const Dim *parse_product(Parser *p) {
  const Dim *d = parse_atom(p);
  while (d && accept(p, '*')) {
    const Dim *e = parse_atom(p);
    d = e ? dim_mul(p->c, d, e) : NULL;
  }
  return d;
}

static const Dim *parse_sum(Parser *p) {
  if (p->depth++ > MAX_DEPTH) return NULL;
  const Dim *d = parse_product(p);
  for (;;) {
    bool minus = d && accept(p, '-');
    if (!d || (!minus && !accept(p, '+'))) break;
    const Dim *e = parse_product(p);
    d = !e ? NULL : minus ? dim_sub(p->c, d, e) : dim_add(p->c, d, e);
  }
  p->depth--;
  return d;
}

const Dim *dim_parse(DimCtx *c, Str *text) {
  Parser p = {c, *text, 0};
  const Dim *d = parse_sum(&p);
  if (d) *text = p.s;
  return d;
}
