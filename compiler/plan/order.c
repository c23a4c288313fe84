#include "plan/order_graph.h"

/* ---- lists -------------------------------------------------------------------------------------------------------------- */
typedef struct Pair {
  uint32_t from, to;
} Pair;
typedef VEC(Pair) Pairs;

/* Pairs with the same `from` keep their order. */
static OrderLists lists_from(Arena *a, const Pairs *v, size_t n, bool swap) {
  uint32_t *start = NEW_ARRAY(a, uint32_t, n + 2), *item = NEW_ARRAY(a, uint32_t, v->n);
  for (size_t k = 0; k < v->n; k++) start[(swap ? v->data[k].to : v->data[k].from) + 2]++;
  for (size_t i = 0; i < n; i++) start[i + 2] += start[i + 1];
  for (size_t k = 0; k < v->n; k++) {
    Pair p = v->data[k];
    item[start[(swap ? p.to : p.from) + 1]++] = swap ? p.from : p.to;
  }
  return (OrderLists){start, item};
}

/* The steps of one buffer since its last write, and that write. */
typedef struct Access {
  uint32_t writer;              /* step + 1; 0: none yet */
  VEC(uint32_t) readers;
} Access;

static void add_pair(Arena *a, Pairs *v, uint32_t from, uint32_t to) {
  if (from != to) vec_push(a, *v, ((Pair){from, to}));
}

/* Pairs (step, earlier step that it waits for). */
static void collect_dependences(Arena *a, const OrderStep *steps, size_t n, size_t n_buffers, Pairs *ret) {
  Access *access = NEW_ARRAY(a, Access, n_buffers);
  for (uint32_t i = 0; i < n; i++) {
    const OrderStep *s = &steps[i];
    for (size_t k = 0; k < s->n_after; k++) add_pair(a, ret, i, s->after[k]);
    for (size_t k = 0; k < s->n_reads; k++) {
      Access *b = &access[s->reads[k]];
      if (b->writer) add_pair(a, ret, i, b->writer - 1);
      vec_push(a, b->readers, i);
    }
    for (size_t k = 0; k < s->n_writes; k++) {
      Access *b = &access[s->writes[k]];
      if (b->writer) add_pair(a, ret, i, b->writer - 1);
      for (size_t r = 0; r < b->readers.n; r++) add_pair(a, ret, i, b->readers.data[r]);
      b->readers.n = 0;
      b->writer = i + 1;
    }
  }
}

static void collect_buffers(Arena *a, const OrderStep *steps, size_t n, size_t n_buffers, Pairs *ret) {
  uint32_t *seen = NEW_ARRAY(a, uint32_t, n_buffers); /* by step, + 1 */
  for (uint32_t i = 0; i < n; i++)
    for (size_t k = 0; k < steps[i].n_reads + steps[i].n_writes; k++) {
      uint32_t b = k < steps[i].n_reads ? steps[i].reads[k] : steps[i].writes[k - steps[i].n_reads];
      if (seen[b] == i + 1) continue;
      seen[b] = i + 1;
      vec_push(a, *ret, ((Pair){i, b}));
    }
}

/* Bytes are cut so that no sum can overflow. */
static void graph_sizes(Arena *a, OrderGraph *g, const size_t *bytes, const bool *pinned) {
  uint64_t *size = NEW_ARRAY(a, uint64_t, g->n_buffers);
  uint32_t *uses = NEW_ARRAY(a, uint32_t, g->n_buffers);
  uint64_t most = (uint64_t)SIZE_MAX / 2 / (g->n_buffers + (uint64_t)1);
  for (uint32_t b = 0; b < g->n_buffers; b++) size[b] = pinned[b] ? 0 : bytes[b] < most ? bytes[b] : most;
  for (uint32_t i = 0; i < g->n; i++) {
    uint64_t own = 0;
    for (uint32_t k = g->buffer.start[i]; k < g->buffer.start[i + 1]; k++) {
      own += size[g->buffer.item[k]];
      uses[g->buffer.item[k]]++;
    }
    if (own > g->bound) g->bound = own;
  }
  g->bytes = size;
  g->n_uses = uses;
}

/* ---- states ------------------------------------------------------------------------------------------------------------- */
static void add_ready(OrderState *q, uint32_t step) {
  q->place[step] = q->n_ready;
  q->ready[q->n_ready++] = step;
}

static void drop_ready(OrderState *q, uint32_t step) {
  uint32_t last = q->ready[--q->n_ready];
  q->ready[q->place[step]] = last;
  q->place[last] = q->place[step];
}

void order_state_init(Arena *scratch, const OrderGraph *g, OrderSteps *s, OrderState *ret) {
  *ret = (OrderState){.g = g, .steps = s};
  ret->waits_for = NEW_ARRAY(scratch, uint32_t, g->n);
  ret->ready = NEW_ARRAY(scratch, uint32_t, g->n);
  ret->place = NEW_ARRAY(scratch, uint32_t, g->n);
  ret->uses_left = arena_dup(scratch, g->n_uses, g->n_buffers * sizeof *g->n_uses);
  for (uint32_t i = 0; i < g->n; i++) {
    ret->waits_for[i] = g->pred.start[i + 1] - g->pred.start[i];
    if (ret->waits_for[i] == 0) add_ready(ret, i);
  }
}

void order_cost(const OrderState *q, uint32_t step, uint64_t *ret_during, uint64_t *ret_after) {
  const OrderGraph *g = q->g;
  uint64_t during = q->live, freed = 0;
  for (uint32_t k = g->buffer.start[step]; k < g->buffer.start[step + 1]; k++) {
    uint32_t b = g->buffer.item[k];
    if (q->uses_left[b] == g->n_uses[b]) during += g->bytes[b];
    if (q->uses_left[b] == 1) freed += g->bytes[b];
  }
  q->steps->used += 1 + g->buffer.start[step + 1] - g->buffer.start[step];
  *ret_during = during;
  *ret_after = during - freed;
}

void order_do(OrderState *q, uint32_t step, uint64_t after) {
  const OrderGraph *g = q->g;
  q->live = after;
  drop_ready(q, step);
  for (uint32_t k = g->buffer.start[step]; k < g->buffer.start[step + 1]; k++) q->uses_left[g->buffer.item[k]]--;
  for (uint32_t k = g->succ.start[step]; k < g->succ.start[step + 1]; k++)
    if (--q->waits_for[g->succ.item[k]] == 0) add_ready(q, g->succ.item[k]);
}

void order_undo(OrderState *q, uint32_t step, uint64_t live) {
  const OrderGraph *g = q->g;
  q->live = live;
  for (uint32_t k = g->buffer.start[step]; k < g->buffer.start[step + 1]; k++) q->uses_left[g->buffer.item[k]]++;
  for (uint32_t k = g->succ.start[step]; k < g->succ.start[step + 1]; k++)
    if (q->waits_for[g->succ.item[k]]++ == 0) drop_ready(q, g->succ.item[k]);
  add_ready(q, step);
}

uint64_t order_peak(Arena *scratch, const OrderGraph *g, const uint32_t *order, OrderSteps *s) {
  OrderState q;
  uint64_t peak = 0, during, after;
  order_state_init(scratch, g, s, &q);
  for (uint32_t k = 0; k < g->n; k++) {
    if (q.waits_for[order[k]] != 0) return UINT64_MAX;
    order_cost(&q, order[k], &during, &after);
    if (during > peak) peak = during;
    order_do(&q, order[k], after);
  }
  return peak;
}

/* ---- all ------------------------------------------------------------------------------------------------------------------ */
void plan_order(Arena *a, const OrderStep *steps, size_t n_steps, const size_t *buffer_bytes, const bool *buffer_pinned,
                size_t n_buffers, uint64_t step_budget, uint32_t *ret_order, size_t *ret_peak, size_t *ret_file_peak) {
  Arena *scratch = arena_new(arena_door(a), 0);
  OrderSteps s = {0, step_budget ? step_budget : ORDER_STEPS_DEFAULT};
  OrderGraph g = {.n = (uint32_t)n_steps, .n_buffers = (uint32_t)n_buffers};
  Pairs dependences = {0}, buffers = {0};
  collect_dependences(scratch, steps, n_steps, n_buffers, &dependences);
  collect_buffers(scratch, steps, n_steps, n_buffers, &buffers);
  g.pred = lists_from(scratch, &dependences, n_steps, false);
  g.succ = lists_from(scratch, &dependences, n_steps, true);
  g.buffer = lists_from(scratch, &buffers, n_steps, false);
  graph_sizes(scratch, &g, buffer_bytes, buffer_pinned);
  for (uint32_t i = 0; i < n_steps; i++) ret_order[i] = i;
  OrderBest best = {ret_order, order_peak(scratch, &g, ret_order, &s)};
  *ret_file_peak = (size_t)best.peak;
  order_heuristics(scratch, &g, &s, &best);
  order_search(scratch, &g, &s, &best);
  *ret_peak = (size_t)best.peak;
  arena_free(scratch);
}
