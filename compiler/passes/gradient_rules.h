/* How each canonical operator hands the gradient of its result to its operands. */
#ifndef CASTNET_GRADIENT_RULES_H
#define CASTNET_GRADIENT_RULES_H

#include "passes/passes.h"

/* dy: the gradient of n's first result. ret[k], for those operands with wanted[k], becomes the gradient of operand k, or NULL: it is 0.
 * False after a diagnostic: the operator has no rule. */
bool gradient_rule(Builder *b, const Node *n, Value *dy, const bool *wanted, Value **ret);
/* E0306: no gradient through n, as far as `what` says (may be NULL); false. */
bool gradient_no_rule(Builder *b, const Node *n, const char *what);
Value *gradient_zeros(Builder *b, const Value *like);

#endif
