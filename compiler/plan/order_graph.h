/* What the ways of ordering share: steps with their dependences and buffers as flat lists, and a state of execution. */
#ifndef CASTNET_ORDER_GRAPH_H
#define CASTNET_ORDER_GRAPH_H

#include "plan/order.h"

typedef struct OrderLists { /* of step or buffer i: item[start[i]..start[i + 1]) */
  const uint32_t *start, *item;
} OrderLists;

typedef struct OrderGraph {
  uint32_t n, n_buffers;
  OrderLists pred, succ;  /* steps */
  OrderLists buffer;      /* of a step, each once */
  const uint64_t *bytes;  /* [n_buffers] 0 when pinned */
  const uint32_t *n_uses; /* [n_buffers] steps */
  uint64_t bound;         /* the most that one step needs by itself */
} OrderGraph;

typedef struct OrderSteps {
  uint64_t used, limit;
} OrderSteps;

/* Some steps are done; what is live between steps. */
typedef struct OrderState {
  const OrderGraph *g;
  OrderSteps *steps;
  uint32_t *waits_for; /* [n] steps before it that are not done */
  uint32_t *uses_left; /* [n_buffers] */
  uint32_t *ready;     /* steps that may be next */
  uint32_t *place;     /* [n] of a ready step in ready[] */
  uint32_t n_ready;
  uint64_t live;       /* bytes */
} OrderState;

void order_state_init(Arena *scratch, const OrderGraph *g, OrderSteps *s, OrderState *ret);
/* What doing a ready step would take: bytes live during it, and after it. */
void order_cost(const OrderState *q, uint32_t step, uint64_t *ret_during, uint64_t *ret_after);
void order_do(OrderState *q, uint32_t step, uint64_t after);
void order_undo(OrderState *q, uint32_t step, uint64_t live); /* the last one done; live: before it */
/* Peak of a whole order, UINT64_MAX if a step comes before one that it waits for. */
uint64_t order_peak(Arena *scratch, const OrderGraph *g, const uint32_t *order, OrderSteps *s);

typedef struct OrderBest {
  uint32_t *order;
  uint64_t peak;
} OrderBest;
/* List scheduling and depth-first walks, forwards and backwards. */
void order_heuristics(Arena *scratch, const OrderGraph *g, OrderSteps *s, OrderBest *best);
/* Depth-first search over sets of done steps, for ever lower peaks. */
void order_search(Arena *scratch, const OrderGraph *g, OrderSteps *s, OrderBest *best);

#endif
