/* Dimension expressions as C text over locals of type int64_t. */
#ifndef CASTNET_DIMS_C_H
#define CASTNET_DIMS_C_H

#include "ir/dim.h"

/* names: the local of each symbol, by symbol index. A sum is put in parentheses when `operand` is set. */
void dimc_print(StrBuf *b, const Dim *d, const Str *names, bool operand);
/* The same in checked arithmetic: every operation is a call that sets the local `int bad` on overflow. */
void dimc_print_checked(StrBuf *b, const Dim *d, const Str *names);
/* An int64_t constant, the smallest included. */
void dimc_const(StrBuf *b, int64_t v);
/* Marks in has[] (by symbol index) what d depends on. */
void dimc_symbols(const Dim *d, bool *has);
/* Whether d depends on a symbol that data decides. */
bool dimc_has_data(const Dim *d);

#endif
