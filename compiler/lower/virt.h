/* Virtual values: how lowering knows a graph value before, or instead of, storing it. An expression over loads of stored
 * tensors, evaluated at each point of the value's own shape. A stored tensor is the expression `x0` with one plain load. */
#ifndef CASTNET_VIRT_H
#define CASTNET_VIRT_H

#include "lower/program.h"

/* A load by logical coordinates; lowering flattens it to an Access when a step is made. */
typedef struct VLoad {
  uint32_t tensor;
  const Affine *index;     /* [tensor rank] over the value's axes */
  const int32_t *indirect; /* [tensor rank]: node of the expression, or -1; NULL: none */
  uint32_t inside;         /* mask of indirect axes whose node needs no check */
} VLoad;

/* What is composed holds at most FUSED loads; an element at a computed place, one for each of its axes besides its own. */
enum { VIRT_FUSED_LOADS = 12, VIRT_MAX_LOADS = MAX_RANK + 1 };

typedef struct Virt {
  Expr expr;
  VLoad loads[VIRT_MAX_LOADS];
  uint32_t n_loads;
  uint32_t rank; /* axes of the value */
} Virt;

Virt virt_of_tensor(Program *p, uint32_t tensor);
/* The only load's tensor if v, a value of that type, is exactly the tensor, element for element; else NO_TENSOR. */
uint32_t virt_plain_tensor(const Program *p, const Virt *v, const Type *type);
/* The only load's tensor if v is an affine window into it without arithmetic; else NO_TENSOR. */
uint32_t virt_window_tensor(const Virt *v);
/* v seen through a view: coordinate a of v is index[a] over `rank` new axes. */
Virt virt_view(Program *p, const Virt *v, uint32_t v_rank, const Affine *index, uint32_t rank);
/* Adds src's loads and nodes behind dst's, whose own keep their places; the node of src's result, or UINT32_MAX when it would
 * hold too many loads. */
uint32_t virt_append(Program *p, Virt *dst, const Virt *src);
/* expr over several virtual operands of one shape. False when it would hold too many loads or nodes. */
bool virt_combine(Program *p, const Expr *expr, const Virt *const *operands, uint32_t n, Virt *ret);
unsigned virt_expr_cost(const Expr *e); /* arithmetic of a point; a transcendental function counts 16 */
unsigned virt_cost(const Virt *v); /* arithmetic of a point, loads apart; a transcendental function counts 16 */

Access virt_access(Program *p, const VLoad *l, uint32_t n_axes);

#endif
