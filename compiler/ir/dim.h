/* Dimension expressions: integers known at compile time or computed from symbols, in canonical form.
 *
 * A Dim is immutable and hash-consed in its DimCtx: equal expressions are the same pointer. Canonical form is a
 * polynomial with int64 coefficients over atoms (symbols, floordiv, mod, min, max); of more than 128 terms part of them are an atom, DIM_SUM, too,
 * so that such a sum is canonical only as it was put together. Each carries its range [lo, hi];
 * arithmetic is checked: what overflows is the context's `bad` dimension, which absorbs, and which the graph builder
 * reports as E0501. Division and modulo round towards minus infinity. */
#ifndef CASTNET_DIM_H
#define CASTNET_DIM_H

#include "base/base.h"

typedef enum DimKind { DIM_CONST, DIM_SYMBOL, DIM_POLY, DIM_FLOORDIV, DIM_MOD, DIM_MIN, DIM_MAX, DIM_SUM, DIM_BAD } DimKind;

/* Where a symbol's value comes from at run time. */
typedef enum DimOrigin {
  DIM_FROM_INPUT, /* a dimension of a graph input: a field of N_dims */
  DIM_FROM_DATA   /* decided by data during the call (NonZero, sizes read from tensors, loops) */
} DimOrigin;

typedef struct Dim Dim;

typedef struct DimTerm {
  int64_t coef; /* never 0 */
  uint32_t n_factors;
  const Dim *const *factors; /* atoms in canonical order, repeated for powers; empty for the constant term */
} DimTerm;

struct Dim {
  DimKind kind;
  uint32_t id; /* creation order in its context */
  uint32_t depth, size; /* of the expression as a tree, bounded: walks over it need no care */
  int64_t lo, hi; /* range, saturated to the int64 limits */
  union {
    int64_t value; /* DIM_CONST */
    struct {
      Str name;
      uint32_t index; /* among the context's symbols */
      DimOrigin origin;
      const Dim *bound; /* an upper bound as an expression over other symbols, or NULL */
    } symbol;
    struct {
      uint32_t n_terms;
      const DimTerm *terms; /* canonical order, constant term last */
    } poly;
    struct {
      const Dim *a, *b;
    } pair; /* FLOORDIV, MOD, MIN, MAX, SUM */
  };
};

typedef struct DimCtx {
  Arena *arena;
  VEC(const Dim *) symbols;
  Map table; /* canonical key -> Dim */
  uint32_t n_dims;
  const Dim *bad;
  const Dim *zero, *one;
} DimCtx;

DimCtx *dim_ctx_new(Arena *a);
const Dim *dim_const(DimCtx *c, int64_t v);
/* A new symbol, or the existing one of that name and origin with its range narrowed... names are unique per context. */
const Dim *dim_symbol(DimCtx *c, Str name, int64_t lo, int64_t hi, DimOrigin origin);
const Dim *dim_symbol_find(const DimCtx *c, Str name); /* NULL when absent */
void dim_symbol_set_bound(const Dim *symbol, const Dim *bound);

const Dim *dim_add(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_sub(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_mul(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_floordiv(DimCtx *c, const Dim *a, const Dim *b); /* by 0: bad */
const Dim *dim_ceildiv(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_mod(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_min(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_max(DimCtx *c, const Dim *a, const Dim *b);
const Dim *dim_product(DimCtx *c, const Dim *const *d, size_t n); /* 1 when n is 0 */
static inline const Dim *dim_addc(DimCtx *c, const Dim *a, int64_t v) { return dim_add(c, a, dim_const(c, v)); }
static inline const Dim *dim_mulc(DimCtx *c, const Dim *a, int64_t v) { return dim_mul(c, a, dim_const(c, v)); }

static inline bool dim_is_const(const Dim *d, int64_t *ret) {
  if (d->kind != DIM_CONST) return false;
  if (ret) *ret = d->value;
  return true;
}
static inline bool dim_is(const Dim *d, int64_t v) { return d->kind == DIM_CONST && d->value == v; }
static inline bool dim_is_bad(const Dim *d) { return d->kind == DIM_BAD; }

/* Three-valued comparison from canonical form and ranges: 1 certainly, 0 certainly not, -1 unknown. */
int dim_eq(DimCtx *c, const Dim *a, const Dim *b);
int dim_le(DimCtx *c, const Dim *a, const Dim *b);
int dim_lt(DimCtx *c, const Dim *a, const Dim *b);
/* Whether a <= b in each case of the minima and maxima that are summands: closer than dim_le, and dearer. */
bool dim_never_above(DimCtx *c, const Dim *a, const Dim *b);

/* Largest value as an expression without data symbols that have a bound. Those that stay are open: their range says no more than
 * that sizes have 32 bits, so memory for them is taken when they are known. */
const Dim *dim_upper(DimCtx *c, const Dim *d);

/* Value for given symbol values (by symbol index; NULL: usual ones, for comparing costs); false on overflow or division by zero. */
bool dim_eval(const Dim *d, const int64_t *symbols, int64_t *ret);

/* Each symbol that d depends on, once; calls f(user, symbol). */
void dim_each_symbol(const Dim *d, void (*f)(void *user, const Dim *symbol), void *user);
/* Whether d depends on a symbol that data decides. */
bool dim_has_data(const Dim *d);

/* Text form: `2*batch*n + 3`, `floordiv(n, 2)`; read back by dim_parse (symbols must exist; NULL on a syntax error). */
void dim_print(StrBuf *b, const Dim *d);
void dim_print_short(StrBuf *b, const Dim *d); /* its beginning, for diagnostics: an expression may have thousands of terms */
const Dim *dim_parse(DimCtx *c, Str *text); /* consumes from text */

#endif
