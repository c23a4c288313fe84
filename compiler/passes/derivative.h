/* Derivatives of scalar expressions, by the table derivative.def. */
#ifndef CASTNET_DERIVATIVE_H
#define CASTNET_DERIVATIVE_H

#include "ir/expr.h"

/* Reverse mode: with operand n_operands the adjoint of e's result, ret[k] becomes the adjoint of operand k as an expression over all of
 * them, or has no nodes where it is 0; for those k with wanted[k]. Returns the function that has no derivative, or SC_COUNT. */
ScalarFn derive_expr(Arena *a, const Expr *e, uint32_t n_operands, const bool *wanted, Expr *ret);

#endif
