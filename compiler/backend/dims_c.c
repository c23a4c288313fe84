#include "backend/dims_c.h"

#include <inttypes.h>

/* runtime-lite/dim.h */
static const char *pair_function(DimKind k) {
  switch (k) {
    case DIM_FLOORDIV: return "cn_dim_floordiv";
    case DIM_MOD: return "cn_dim_mod";
    case DIM_MIN: return "cn_dim_min";
    default: return "cn_dim_max";
  }
}

void dimc_const(StrBuf *b, int64_t v) {
  if (v == INT64_MIN) sb_puts(b, "(-INT64_C(9223372036854775807) - 1)");
  else if (v > INT32_MAX || v < -INT32_MAX) sb_printf(b, "INT64_C(%" PRId64 ")", v);
  else sb_printf(b, "%" PRId64, v);
}

static void print_pair(StrBuf *b, const Dim *d, const Str *names) {
  sb_printf(b, "%s(", pair_function(d->kind));
  dimc_print(b, d->pair.a, names, false);
  sb_puts(b, ", ");
  dimc_print(b, d->pair.b, names, false);
  sb_putc(b, ')');
}

/* The sign is written by the caller when `magnitude` is set. */
static void print_term(StrBuf *b, const DimTerm *t, const Str *names, bool magnitude) {
  int64_t coef = magnitude && t->coef != INT64_MIN && t->coef < 0 ? -t->coef : t->coef;
  if (t->n_factors == 0 || coef != 1) dimc_const(b, coef);
  for (uint32_t i = 0; i < t->n_factors; i++) {
    if (i > 0 || coef != 1) sb_puts(b, " * ");
    dimc_print(b, t->factors[i], names, true);
  }
}

static void print_poly(StrBuf *b, const Dim *d, const Str *names, bool operand) {
  bool parens = operand && d->poly.n_terms > 1;
  if (parens) sb_putc(b, '(');
  for (uint32_t i = 0; i < d->poly.n_terms; i++) {
    const DimTerm *t = &d->poly.terms[i];
    bool minus = i > 0 && t->coef < 0 && t->coef != INT64_MIN;
    if (i > 0) sb_puts(b, minus ? " - " : " + ");
    print_term(b, t, names, minus);
  }
  if (parens) sb_putc(b, ')');
}

void dimc_print(StrBuf *b, const Dim *d, const Str *names, bool operand) {
  switch (d->kind) {
    case DIM_CONST: dimc_const(b, d->value); break;
    case DIM_SYMBOL: sb_str(b, names[d->symbol.index]); break;
    case DIM_POLY: print_poly(b, d, names, operand); break;
    case DIM_BAD: sb_puts(b, "INT64_MAX"); break; /* the graph builder has reported it */
    default: print_pair(b, d, names); break;
  }
}

static void checked_term(StrBuf *b, const DimTerm *t, const Str *names) {
  const uint32_t first = t->coef == 1 && t->n_factors > 0 ? 1 : 0; /* what the product starts from: a factor, or the coefficient */
  for (uint32_t i = first; i < t->n_factors; i++) sb_puts(b, "cn_dim_mul_checked(");
  if (first) dimc_print_checked(b, t->factors[0], names);
  else dimc_const(b, t->coef);
  for (uint32_t i = first; i < t->n_factors; i++) {
    sb_puts(b, ", ");
    dimc_print_checked(b, t->factors[i], names);
    sb_puts(b, ", &bad)");
  }
}

void dimc_print_checked(StrBuf *b, const Dim *d, const Str *names) {
  switch (d->kind) {
    case DIM_CONST: dimc_const(b, d->value); return;
    case DIM_SYMBOL: sb_str(b, names[d->symbol.index]); return;
    case DIM_BAD: sb_puts(b, "cn_dim_mul_checked(INT64_MAX, 2, &bad)"); return;
    case DIM_POLY:
      for (uint32_t i = 1; i < d->poly.n_terms; i++) sb_puts(b, "cn_dim_add_checked(");
      for (uint32_t i = 0; i < d->poly.n_terms; i++) {
        if (i > 0) sb_puts(b, ", ");
        checked_term(b, &d->poly.terms[i], names);
        if (i > 0) sb_puts(b, ", &bad)");
      }
      return;
    default:
      sb_printf(b, "%s(", pair_function(d->kind));
      dimc_print_checked(b, d->pair.a, names);
      sb_puts(b, ", ");
      dimc_print_checked(b, d->pair.b, names);
      sb_putc(b, ')');
  }
}

static void mark(void *user, const Dim *symbol) { ((bool *)user)[symbol->symbol.index] = true; }

void dimc_symbols(const Dim *d, bool *has) { dim_each_symbol(d, mark, has); }

static void note_data(void *user, const Dim *symbol) {
  if (symbol->symbol.origin == DIM_FROM_DATA) *(bool *)user = true;
}

bool dimc_has_data(const Dim *d) {
  bool r = false;
  dim_each_symbol(d, note_data, &r);
  return r;
}
