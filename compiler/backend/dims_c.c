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

static void print_pair(StrBuf *b, const Dim *d, const DimNames *names) {
  if (d->kind == DIM_SUM) {
    sb_putc(b, '(');
    dimc_print(b, d->pair.a, names, false);
    sb_puts(b, " + ");
    dimc_print(b, d->pair.b, names, true);
    sb_putc(b, ')');
    return;
  }
  sb_printf(b, "%s(", pair_function(d->kind));
  dimc_print(b, d->pair.a, names, false);
  sb_puts(b, ", ");
  dimc_print(b, d->pair.b, names, false);
  sb_putc(b, ')');
}

/* The sign is written by the caller when `magnitude` is set. */
static void print_term(StrBuf *b, const DimTerm *t, const DimNames *names, bool magnitude) {
  int64_t coef = magnitude && t->coef != INT64_MIN && t->coef < 0 ? -t->coef : t->coef;
  if (t->n_factors == 0 || coef != 1) dimc_const(b, coef);
  for (uint32_t i = 0; i < t->n_factors; i++) {
    if (i > 0 || coef != 1) sb_puts(b, " * ");
    dimc_print(b, t->factors[i], names, true);
  }
}

static void print_poly(StrBuf *b, const Dim *d, const DimNames *names, bool operand) {
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

static Str id_key(const Dim *d) { return (Str){(const char *)&d->id, sizeof d->id}; }

static const Str *local_of(const Dim *d, const DimNames *names) {
  const Str *local = map_get(&names->parts, id_key(d));
  return local || !names->outer ? local : map_get(names->outer, id_key(d));
}

/* Prints the local that holds d, if there is one. */
static bool print_part(StrBuf *b, const Dim *d, const DimNames *names) {
  const Str *local = local_of(d, names);
  if (local) sb_str(b, *local);
  return local != NULL;
}

void dimc_print(StrBuf *b, const Dim *d, const DimNames *names, bool operand) {
  if (print_part(b, d, names)) return;
  switch (d->kind) {
    case DIM_CONST: dimc_const(b, d->value); break;
    case DIM_SYMBOL: sb_str(b, names->symbols[d->symbol.index]); break;
    case DIM_POLY: print_poly(b, d, names, operand); break;
    case DIM_BAD: sb_puts(b, "INT64_MAX"); break; /* the graph builder has reported it */
    default: print_pair(b, d, names); break;
  }
}

static void checked_term(StrBuf *b, const DimTerm *t, const DimNames *names) {
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

void dimc_print_checked(StrBuf *b, const Dim *d, const DimNames *names) {
  if (print_part(b, d, names)) return;
  switch (d->kind) {
    case DIM_CONST: dimc_const(b, d->value); return;
    case DIM_SYMBOL: sb_str(b, names->symbols[d->symbol.index]); return;
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
      sb_printf(b, "%s(", d->kind == DIM_SUM ? "cn_dim_add_checked" : pair_function(d->kind));
      dimc_print_checked(b, d->pair.a, names);
      sb_puts(b, ", ");
      dimc_print_checked(b, d->pair.b, names);
      sb_puts(b, d->kind == DIM_SUM ? ", &bad)" : ")");
  }
}

/* ---- parts ---- */
enum { MOST_OPERATIONS = 5 }; /* of a line; a checked one is a call */

typedef struct Parts {
  StrBuf *b;
  DimNames *names;
  Map seen; /* id -> non-NULL when met more than once */
  bool checked;
  unsigned n;
} Parts;

static bool is_leaf(const Dim *d) {
  return d->kind == DIM_CONST || d->kind == DIM_SYMBOL || d->kind == DIM_BAD ||
         (d->kind == DIM_POLY && d->poly.n_terms == 1 && d->poly.terms[0].n_factors == 1 &&
          d->poly.terms[0].factors[0]->kind == DIM_SYMBOL);
}

static void count_part(Parts *p, const Dim *d) {
  if (is_leaf(d) || local_of(d, p->names)) return;
  const bool again = map_has(&p->seen, id_key(d)), large = d->kind == DIM_SUM; /* compilers bound the nesting of calls */
  map_put(&p->seen, id_key(d), again || large ? p : NULL);
  if (again) return;
  if (d->kind != DIM_POLY) {
    count_part(p, d->pair.a);
    count_part(p, d->pair.b);
    return;
  }
  for (uint32_t i = 0; i < d->poly.n_terms; i++)
    for (uint32_t k = 0; k < d->poly.terms[i].n_factors; k++) count_part(p, d->poly.terms[i].factors[k]);
}

static unsigned declare_part(Parts *p, const Dim *d);

static unsigned declare_term(Parts *p, const DimTerm *t) {
  unsigned n = t->n_factors + (t->coef != 1) - (t->n_factors > 0 || t->coef != 1);
  for (uint32_t k = 0; k < t->n_factors; k++) n += declare_part(p, t->factors[k]);
  return n;
}

/* `int64_t s4 = FIRST; s4 = cn_dim_add_checked(s4, SECOND, &bad); ...` */
static void print_sum_lines(Parts *p, const Dim *d, Str local, int indent) {
  for (uint32_t i = 0; i < d->poly.n_terms; i++) {
    sb_printf(p->b, i ? "%*s%.*s = cn_dim_add_checked(%.*s, " : "%*sint64_t %.*s = ", indent, "", STR_WHOLE(local), STR_WHOLE(local));
    checked_term(p->b, &d->poly.terms[i], p->names);
    sb_puts(p->b, i ? ", &bad);\n" : ";\n");
  }
}

static void print_local(Parts *p, const Dim *d, unsigned operations) {
  Str *local = NEW(p->b->arena, Str);
  *local = arena_printf(p->b->arena, "%s%u", p->names->word ? p->names->word : "s", p->n++);
  const int indent = (int)(p->names->indent ? p->names->indent : 2);
  if (p->checked && d->kind == DIM_POLY && d->poly.n_terms > 1 && operations > MOST_OPERATIONS) {
    print_sum_lines(p, d, *local, indent);
  } else {
    sb_printf(p->b, "%*sconst int64_t %.*s = ", indent, "", STR_WHOLE(*local));
    if (p->checked) dimc_print_checked(p->b, d, p->names);
    else dimc_print(p->b, d, p->names, false);
    sb_puts(p->b, ";\n");
  }
  map_put(&p->names->parts, id_key(d), local);
}

/* Each part once, behind what it consists of. How many operations are printed where d stands. */
static unsigned declare_part(Parts *p, const Dim *d) {
  if (is_leaf(d) || local_of(d, p->names)) return 0;
  unsigned n = 0;
  if (d->kind == DIM_POLY) {
    for (uint32_t i = 0; i < d->poly.n_terms; i++) n += declare_term(p, &d->poly.terms[i]) + (i > 0);
  } else {
    n = declare_part(p, d->pair.a);
    n += declare_part(p, d->pair.b) + 1;
  }
  const unsigned most = p->checked ? MOST_OPERATIONS : 2 * MOST_OPERATIONS;
  if (n <= most && !map_get(&p->seen, id_key(d))) return n;
  print_local(p, d, n);
  return 0;
}

void dimc_declare_parts(StrBuf *b, const Dim *const *d, size_t n, DimNames *names, bool checked) {
  Parts p = {.b = b, .names = names, .seen = map_new(b->arena), .checked = checked};
  names->parts = map_new(b->arena);
  for (size_t i = 0; i < n; i++) count_part(&p, d[i]);
  for (size_t i = 0; i < n; i++) (void)declare_part(&p, d[i]);
}

static void mark(void *user, const Dim *symbol) { ((bool *)user)[symbol->symbol.index] = true; }

void dimc_symbols(const Dim *d, bool *has) { dim_each_symbol(d, mark, has); }
