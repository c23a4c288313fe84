/* Orders by rules of thumb: list scheduling over the ready steps, and depth-first walks from the results. The peak of an
 * order read backwards in the reversed graph is the same, so each rule is tried in both directions. */
#include "plan/order_graph.h"

#include <stdlib.h>

/* ---- list scheduling ---------------------------------------------------------------------------------------------------- */
typedef enum ListRule {
  LIST_NET,    /* the least left live after it, then the least during it */
  LIST_DURING, /* the least during it, then after it */
  LIST_FITS,   /* what stays below the highest so far and leaves the least; else the least during it */
  N_LIST_RULES
} ListRule;

typedef struct Choice {
  uint64_t first, second;
  uint32_t step;
} Choice;

static Choice choice_for(ListRule rule, uint64_t during, uint64_t after, uint64_t peak, uint32_t step) {
  switch (rule) {
  case LIST_NET: return (Choice){after, during, step};
  case LIST_DURING: return (Choice){during, after, step};
  default: return during <= peak ? (Choice){0, after, step} : (Choice){during, after, step};
  }
}

static bool choice_better(Choice a, Choice b) {
  if (a.first != b.first) return a.first < b.first;
  return a.second != b.second ? a.second < b.second : a.step < b.step;
}

/* The peak; UINT64_MAX when it would not stay below `ceiling` or steps ran out. */
static uint64_t order_list(Arena *scratch, const OrderGraph *g, ListRule rule, uint64_t ceiling, OrderSteps *s,
                           uint32_t *ret_order) {
  OrderState q;
  uint64_t peak = g->bound, during, after;
  order_state_init(scratch, g, s, &q);
  for (uint32_t k = 0; k < g->n; k++) {
    Choice best = {UINT64_MAX, UINT64_MAX, UINT32_MAX};
    for (uint32_t r = 0; r < q.n_ready; r++) {
      order_cost(&q, q.ready[r], &during, &after);
      Choice c = choice_for(rule, during, after, peak, q.ready[r]);
      if (choice_better(c, best)) best = c;
    }
    order_cost(&q, best.step, &during, &after);
    if (during > peak) peak = during;
    if (peak >= ceiling || s->used >= s->limit) return UINT64_MAX;
    order_do(&q, best.step, after);
    ret_order[k] = best.step;
  }
  return peak;
}

/* ---- depth-first walk ---------------------------------------------------------------------------------------------------- */
/* For trees the best order is known (R. Sethi, J. Ullman 1970; J. Liu 1987): of a step's operands first the one whose
 * computation needs the most above what it leaves. Sharing makes the figures estimates. */
typedef struct Need {
  uint64_t above, need;
  uint32_t step;
} Need;

static int need_cmp(const void *pa, const void *pb) {
  const Need *a = pa, *b = pb;
  if (a->above != b->above) return a->above > b->above ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

/* pred lists of each step, most demanding first. Steps are numbered so that `first to last` is a right order. */
static void sort_operands(Arena *scratch, const OrderGraph *g, bool backwards, uint32_t *ret_pred) {
  uint64_t *need = NEW_ARRAY(scratch, uint64_t, g->n), *left = NEW_ARRAY(scratch, uint64_t, g->n);
  bool *seen = NEW_ARRAY(scratch, bool, g->n_buffers);
  VEC(Need) v = {0};
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t i = backwards ? g->n - 1 - k : k, from = g->pred.start[i], to = g->pred.start[i + 1];
    uint64_t own = 0, held = 0;
    for (uint32_t b = g->buffer.start[i]; b < g->buffer.start[i + 1]; b++) {
      own += g->bytes[g->buffer.item[b]];
      if (!seen[g->buffer.item[b]]) left[i] += g->bytes[g->buffer.item[b]];
      seen[g->buffer.item[b]] = true;
    }
    v.n = 0;
    for (uint32_t p = from; p < to; p++) {
      uint32_t j = g->pred.item[p];
      vec_push(scratch, v, ((Need){need[j] - left[j], need[j], j}));
    }
    if (v.n) qsort(v.data, v.n, sizeof *v.data, need_cmp);
    need[i] = own;
    for (uint32_t p = 0; p < v.n; p++) {
      ret_pred[from + p] = v.data[p].step;
      if (held + v.data[p].need > need[i]) need[i] = held + v.data[p].need;
      if (held < UINT64_MAX / 4) held += left[v.data[p].step];
    }
    if (need[i] > UINT64_MAX / 4) need[i] = UINT64_MAX / 4;
  }
}

/* A step comes as soon as all it waits for has come, operands in the order of sort_operands; roots as they come. */
static void order_walk(Arena *scratch, const OrderGraph *g, bool backwards, uint32_t *ret_order) {
  uint32_t *pred = NEW_ARRAY(scratch, uint32_t, g->pred.start[g->n] + (size_t)1);
  uint32_t *next = arena_dup(scratch, g->pred.start, g->n * sizeof *next), *stack = NEW_ARRAY(scratch, uint32_t, g->n);
  bool *seen = NEW_ARRAY(scratch, bool, g->n);
  uint32_t n = 0;
  sort_operands(scratch, g, backwards, pred);
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t root = backwards ? g->n - 1 - k : k, depth = 0;
    if (seen[root] || g->succ.start[root] != g->succ.start[root + 1]) continue;
    seen[root] = true;
    stack[depth++] = root;
    while (depth) {
      uint32_t i = stack[depth - 1];
      if (next[i] == g->pred.start[i + 1]) {
        ret_order[n++] = i;
        depth--;
      } else if (!seen[pred[next[i]++]]) {
        uint32_t j = pred[next[i] - 1];
        seen[j] = true;
        stack[depth++] = j;
      }
    }
  }
}

/* ---- all ------------------------------------------------------------------------------------------------------------------ */
static void reverse(uint32_t *order, uint32_t n) {
  for (uint32_t k = 0; k < n / 2; k++) {
    uint32_t x = order[k];
    order[k] = order[n - 1 - k];
    order[n - 1 - k] = x;
  }
}

static void keep(OrderBest *best, const OrderGraph *g, uint32_t *order, uint64_t peak, bool backwards) {
  if (peak >= best->peak) return;
  if (backwards) reverse(order, g->n);
  memcpy(best->order, order, g->n * sizeof *order);
  best->peak = peak;
}

void order_heuristics(Arena *scratch, const OrderGraph *g, OrderSteps *s, OrderBest *best) {
  uint32_t *order = NEW_ARRAY(scratch, uint32_t, g->n);
  uint64_t end = s->limit;
  for (int backwards = 0; backwards < 2; backwards++) {
    OrderGraph h = *g;
    if (backwards) {
      h.pred = g->succ;
      h.succ = g->pred;
    }
    if (best->peak <= g->bound) return;
    order_walk(scratch, &h, backwards, order);
    keep(best, g, order, order_peak(scratch, &h, order, s), backwards);
    for (int rule = 0; rule < N_LIST_RULES && best->peak > g->bound && s->used < end; rule++) {
      s->limit = s->used + (end - s->used) / 4; /* wide graphs make this quadratic */
      keep(best, g, order, order_list(scratch, &h, (ListRule)rule, best->peak, s, order), backwards);
      s->limit = end;
    }
  }
}
