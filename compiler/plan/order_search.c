/* Exact where the budget allows: is there an order whose peak stays within a limit? A state is the set of steps done; from
 * each the ready steps that fit are tried, and a state is entered once. A ready step that fits and leaves no more live than
 * before is taken at once: in any order that works, moving it to the front works too. Each order found lowers the limit. */
#include "plan/order_graph.h"

#include <stdlib.h>

enum { SEARCH_MAX_STEPS = 4000, N_VISITED = 1 << 18 }; /* recursion goes one level a step; states remembered */

typedef struct Done {
  uint32_t step;
  uint64_t live; /* before */
} Done;

typedef struct Option {
  uint64_t after, during;
  uint32_t step;
} Option;

typedef struct Searcher {
  Arena *scratch;
  OrderState q;
  uint64_t limit;     /* bytes */
  uint64_t hash;      /* of the set of steps done; 1 for none, as 0 is an empty place */
  uint64_t *visited;  /* [N_VISITED] hashes, the newest at each place */
  VEC(Done) done;
  VEC(Option) options; /* a stack of lists */
} Searcher;

static uint64_t step_hash(uint32_t step) { /* splitmix64 */
  uint64_t z = (step + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static void search_do(Searcher *r, uint32_t step, uint64_t after) {
  vec_push(r->scratch, r->done, ((Done){step, r->q.live}));
  r->hash ^= step_hash(step);
  order_do(&r->q, step, after);
}

static void search_undo(Searcher *r, size_t n) {
  while (r->done.n > n) {
    Done d = r->done.data[--r->done.n];
    r->hash ^= step_hash(d.step);
    order_undo(&r->q, d.step, d.live);
  }
}

static void search_do_free(Searcher *r) {
  uint64_t during, after;
  for (uint32_t k = 0; k < r->q.n_ready;) {
    uint32_t step = r->q.ready[k];
    order_cost(&r->q, step, &during, &after);
    k++;
    if (during > r->limit || after > r->q.live) continue;
    search_do(r, step, after);
    k = 0; /* others may be free now */
  }
}

static int option_cmp(const void *pa, const void *pb) {
  const Option *a = pa, *b = pb;
  if (a->after != b->after) return a->after < b->after ? -1 : 1;
  if (a->during != b->during) return a->during < b->during ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

typedef enum Answer { ORDER_FOUND, ORDER_NONE, ORDER_GAVE_UP } Answer;

static Answer search_from(Searcher *r) {
  uint64_t during, after;
  search_do_free(r);
  if (r->done.n == r->q.g->n) return ORDER_FOUND;
  uint64_t *place = &r->visited[r->hash % N_VISITED];
  if (*place == r->hash) return ORDER_NONE;
  *place = r->hash;
  if (r->q.steps->used >= r->q.steps->limit) return ORDER_GAVE_UP;
  size_t base = r->options.n, n_done = r->done.n;
  for (uint32_t k = 0; k < r->q.n_ready; k++) {
    order_cost(&r->q, r->q.ready[k], &during, &after);
    if (during <= r->limit) vec_push(r->scratch, r->options, ((Option){after, during, r->q.ready[k]}));
  }
  size_t n = r->options.n - base;
  if (n) qsort(r->options.data + base, n, sizeof(Option), option_cmp);
  Answer answer = ORDER_NONE;
  for (size_t k = 0; k < n && answer == ORDER_NONE; k++) {
    Option o = r->options.data[base + k];
    search_do(r, o.step, o.after);
    answer = search_from(r);
    if (answer == ORDER_NONE) search_undo(r, n_done);
  }
  r->options.n = base;
  return answer;
}

static Answer search_within(Searcher *r, uint64_t limit) {
  search_undo(r, 0);
  memset(r->visited, 0, N_VISITED * sizeof *r->visited);
  r->limit = limit;
  r->options.n = 0;
  r->q.steps->used += N_VISITED / 32;
  return search_from(r);
}

static void search_keep(const Searcher *r, OrderSteps *s, OrderBest *best) {
  for (size_t k = 0; k < r->done.n; k++) best->order[k] = r->done.data[k].step;
  best->peak = order_peak(r->scratch, r->q.g, best->order, s);
}

/* Halves between the bound and the best: how far down one can get is not known, and a limit that is far too low is refuted
 * soon. What gave up is not tried again. */
void order_search(Arena *scratch, const OrderGraph *g, OrderSteps *s, OrderBest *best) {
  uint64_t low = g->bound, end = s->limit;
  if (g->n > SEARCH_MAX_STEPS || best->peak <= low || s->used >= end) return;
  Searcher r = {.scratch = scratch, .hash = 1, .visited = NEW_ARRAY(scratch, uint64_t, N_VISITED)};
  order_state_init(scratch, g, s, &r.q);
  while (low < best->peak && s->used < end) {
    uint64_t target = low + (best->peak - 1 - low) / 2;
    s->limit = s->used + (end - s->used) / 3 + 1;
    if (search_within(&r, target) == ORDER_FOUND)
      search_keep(&r, s, best);
    else
      low = target + 1;
    s->limit = end;
  }
}
