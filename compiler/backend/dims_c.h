/* Dimension expressions as C text over locals of type int64_t. */
#ifndef CASTNET_DIMS_C_H
#define CASTNET_DIMS_C_H

#include "ir/dim.h"

/* What an expression's parts are called where it is printed. */
typedef struct DimNames {
  const Str *symbols; /* by symbol index */
  Map parts;          /* id of an expression -> Str *, the local that holds it; {0}: none */
  const Map *outer;   /* the like, of the block around; may be NULL */
  unsigned indent;    /* of the locals that dimc_declare_parts prints; 0: 2 */
  const char *word;   /* what they begin with; NULL: "s" */
} DimNames;

/* A sum is put in parentheses when `operand` is set. */
void dimc_print(StrBuf *b, const Dim *d, const DimNames *names, bool operand);
/* The same in checked arithmetic: every operation that may overflow is a call that then sets the local `int bad`. */
void dimc_print_checked(StrBuf *b, const Dim *d, const DimNames *names);
/* Declares a local (s0, s1 ...) for each part that several of the n expressions, or one several times, have in common, and for what
 * would make a long line, and remembers it in names: expressions are graphs, and would grow exponentially as trees. */
void dimc_declare_parts(StrBuf *b, const Dim *const *d, size_t n, DimNames *names, bool checked);
/* An int64_t constant, the smallest included. */
void dimc_const(StrBuf *b, int64_t v);
/* Marks in has[] (by symbol index) what d depends on. */
void dimc_symbols(const Dim *d, bool *has);

#endif
