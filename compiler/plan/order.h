/* The order of steps: one in which less lives at once. Knows nothing of programs, and like placement is a pure function of
 * its arguments with a budget of steps. docs/PLANNING.md tells the ways it tries. */
#ifndef CASTNET_ORDER_H
#define CASTNET_ORDER_H

#include "base/base.h"

/* The given order of steps is one that is right. A read sees what was last written before it there; several writes of one
 * buffer (parts of a concat) stay in their order. */
typedef struct OrderStep {
  const uint32_t *reads, *writes; /* buffers */
  size_t n_reads, n_writes;
  const uint32_t *after;          /* earlier steps that have to come before for other reasons */
  size_t n_after;
} OrderStep;

/* About 10 ns a step at most. */
#define ORDER_STEPS_DEFAULT UINT64_C(2000000)

/* A buffer lives from the first to the last step that uses it; pinned ones take no room. ret_order: [n_steps] indices of
 * steps; its peak is never above that of the given order. step_budget 0: the default. Sums saturate. */
void plan_order(Arena *a, const OrderStep *steps, size_t n_steps, const size_t *buffer_bytes, const bool *buffer_pinned,
                size_t n_buffers, uint64_t step_budget, uint32_t *ret_order, size_t *ret_peak, size_t *ret_file_peak);

#endif
