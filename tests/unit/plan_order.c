/* Operator order: right, never above the given order, as low as brute force on small graphs, the same always. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plan/order.h"

enum { MAX_STEPS = 400, MAX_BUFFERS = MAX_STEPS };

typedef struct Graph {
  OrderStep step[MAX_STEPS];
  uint32_t list[MAX_STEPS][8]; /* reads, then writes, then after */
  size_t bytes[MAX_BUFFERS];
  bool pinned[MAX_BUFFERS];
  size_t n, n_buffers;
} Graph;

static uint64_t rng_next(uint64_t *s) { /* splitmix64 */
  uint64_t z = *s += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}
static size_t below(uint64_t *s, size_t n) { return (size_t)(rng_next(s) % n); }

/* Step i writes buffer i, or now and then a part of an earlier one, and reads some of the last `reach`. */
static void graph_random(Graph *g, uint64_t *rng, size_t n, size_t reach) {
  *g = (Graph){.n = n, .n_buffers = n};
  for (size_t i = 0; i < n; i++) {
    OrderStep *s = &g->step[i];
    uint32_t *list = g->list[i];
    size_t most = i < 3 ? i : 3;
    g->bytes[i] = (1 + below(rng, 16)) * ((size_t)1 << below(rng, 6));
    g->pinned[i] = below(rng, 10) == 0;
    s->reads = list;
    s->n_reads = most ? below(rng, most + 1) : 0;
    for (size_t k = 0; k < s->n_reads; k++) list[k] = (uint32_t)(i - 1 - below(rng, i < reach ? i : reach));
    s->writes = list + s->n_reads;
    s->n_writes = 1;
    list[s->n_reads] = (uint32_t)(i && below(rng, 12) == 0 ? i - 1 - below(rng, i < reach ? i : reach) : i);
    s->after = list + s->n_reads + 1;
    s->n_after = i && below(rng, 15) == 0;
    if (s->n_after) list[s->n_reads + 1] = (uint32_t)below(rng, i);
  }
}

/* ---- an independent judge ---------------------------------------------------------------------------------------------------- */
static bool uses(const OrderStep *s, uint32_t b, bool *ret_writes) {
  bool any = false;
  *ret_writes = false;
  for (size_t k = 0; k < s->n_reads; k++) any |= s->reads[k] == b;
  for (size_t k = 0; k < s->n_writes; k++) *ret_writes |= s->writes[k] == b;
  return any || *ret_writes;
}

/* Step j has to come after i (i < j): they use a buffer that one of them writes, or it is said so. */
static bool depends(const Graph *g, size_t i, size_t j) {
  for (size_t k = 0; k < g->step[j].n_after; k++)
    if (g->step[j].after[k] == i) return true;
  for (uint32_t b = 0; b < g->n_buffers; b++) {
    bool wi, wj, ui = uses(&g->step[i], b, &wi), uj = uses(&g->step[j], b, &wj);
    if (ui && uj && (wi || wj)) return true;
  }
  return false;
}

static size_t judge_peak(const Graph *g, const uint32_t *order) {
  size_t first[MAX_BUFFERS], last[MAX_BUFFERS], peak = 0;
  memset(first, 0xff, sizeof first);
  for (size_t k = 0; k < g->n; k++)
    for (uint32_t b = 0; b < g->n_buffers; b++) {
      bool w;
      if (!uses(&g->step[order[k]], b, &w)) continue;
      if (first[b] == SIZE_MAX) first[b] = k;
      last[b] = k;
    }
  for (size_t k = 0; k < g->n; k++) {
    size_t live = 0;
    for (size_t b = 0; b < g->n_buffers; b++)
      if (first[b] <= k && last[b] >= k && !g->pinned[b]) live += g->bytes[b];
    if (live > peak) peak = live;
  }
  return peak;
}

static void assert_right(const Graph *g, const uint32_t *order) {
  size_t at[MAX_STEPS];
  memset(at, 0xff, sizeof at);
  for (size_t k = 0; k < g->n; k++) at[order[k]] = k;
  for (size_t i = 0; i < g->n; i++) assert_true(at[i] != SIZE_MAX);
  for (size_t j = 0; j < g->n; j++)
    for (size_t i = 0; i < j; i++)
      if (at[i] > at[j]) assert_false(depends(g, i, j));
}

static size_t brute_force(const Graph *g, const uint64_t *waits, uint64_t done, uint32_t *order, size_t depth, size_t best) {
  if (depth == g->n) {
    size_t peak = judge_peak(g, order);
    return peak < best ? peak : best;
  }
  for (uint32_t i = 0; i < g->n; i++) {
    if (done >> i & 1 || (waits[i] & ~done)) continue;
    order[depth] = i;
    best = brute_force(g, waits, done | UINT64_C(1) << i, order, depth + 1, best);
  }
  return best;
}

/* ---- tests ----------------------------------------------------------------------------------------------------------------------- */
static size_t order_of(Arena *a, const Graph *g, uint64_t budget, uint32_t *ret_order, size_t *ret_file) {
  size_t peak;
  plan_order(a, g->step, g->n, g->bytes, g->pinned, g->n_buffers, budget, ret_order, &peak, ret_file);
  assert_right(g, ret_order);
  assert_int_equal(judge_peak(g, ret_order), peak);
  assert_true(peak <= *ret_file);
  return peak;
}

static void test_brute_force(void **state) {
  (void)state;
  static Graph g;
  uint64_t rng = 9, waits[7];
  for (int k = 0; k < 300; k++) {
    Arena *a = arena_new(NULL, 0);
    uint32_t order[7], trial[7];
    size_t file;
    graph_random(&g, &rng, 1 + below(&rng, 7), 5);
    for (size_t j = 0; j < g.n; j++) {
      waits[j] = 0;
      for (size_t i = 0; i < j; i++)
        if (depends(&g, i, j)) waits[j] |= UINT64_C(1) << i;
    }
    assert_int_equal(order_of(a, &g, 0, order, &file), brute_force(&g, waits, 0, trial, 0, SIZE_MAX));
    arena_free(a);
  }
}

static void test_random(void **state) {
  (void)state;
  static Graph g;
  uint64_t rng = 4;
  for (size_t n = 10; n <= MAX_STEPS; n = n * 2) {
    Arena *a = arena_new(NULL, 0);
    uint32_t order[MAX_STEPS], again[MAX_STEPS];
    size_t file;
    graph_random(&g, &rng, n, 12);
    size_t peak = order_of(a, &g, 200000, order, &file);
    assert_int_equal(order_of(a, &g, 200000, again, &file), peak);
    assert_memory_equal(order, again, n * sizeof *order);
    arena_free(a);
  }
}

/* Branches written one layer at a time, each of which shrinks its input: the best order finishes one after the other. */
static void test_branches(void **state) {
  (void)state;
  enum { BRANCHES = 12, LAYERS = 3 };
  static Graph g;
  Arena *a = arena_new(NULL, 0);
  uint32_t order[MAX_STEPS];
  size_t file;
  g = (Graph){.n = BRANCHES * LAYERS, .n_buffers = BRANCHES * LAYERS};
  for (uint32_t i = 0; i < g.n; i++) {
    uint32_t layer = i / BRANCHES;
    g.list[i][0] = i - BRANCHES;
    g.list[i][1] = i;
    g.step[i] = (OrderStep){.reads = g.list[i], .n_reads = layer > 0, .writes = &g.list[i][1], .n_writes = 1};
    g.bytes[i] = layer == 0 ? 1000 : layer == 1 ? 100 : 1;
    g.pinned[i] = layer == LAYERS - 1;
  }
  assert_int_equal(order_of(a, &g, 0, order, &file), 1100);
  assert_true(file >= 12000);
  arena_free(a);
}

static void test_borders(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  size_t peak = 1, file = 1, bytes[2] = {SIZE_MAX, SIZE_MAX};
  bool pinned[2] = {false, false};
  uint32_t order[1] = {7}, both[2] = {0, 1};
  plan_order(a, NULL, 0, NULL, NULL, 0, 0, order, &peak, &file);
  assert_true(peak == 0 && file == 0);
  OrderStep step = {.reads = both, .n_reads = 1, .writes = both, .n_writes = 2};
  plan_order(a, &step, 1, bytes, pinned, 2, 0, order, &peak, &file);
  assert_true(order[0] == 0 && peak == file && peak > SIZE_MAX / 4);
  arena_free(a);
}

/* A step with very many ready ones beside it: the rules of thumb are quadratic there and have to stop. */
static void test_wide(void **state) {
  (void)state;
  enum { N = 20000 };
  Arena *a = arena_new(NULL, 0);
  OrderStep *steps = NEW_ARRAY(a, OrderStep, N);
  uint32_t *id = NEW_ARRAY(a, uint32_t, N), *order = NEW_ARRAY(a, uint32_t, N);
  size_t *bytes = NEW_ARRAY(a, size_t, N), peak, file;
  bool *pinned = NEW_ARRAY(a, bool, N);
  for (uint32_t i = 0; i < N; i++) {
    id[i] = i;
    bytes[i] = i + 1;
    steps[i] = (OrderStep){.writes = &id[i], .n_writes = 1};
  }
  steps[N - 1].reads = id;
  steps[N - 1].n_reads = N - 1;
  plan_order(a, steps, N, bytes, pinned, N, 0, order, &peak, &file);
  assert_int_equal(peak, file);
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_brute_force), cmocka_unit_test(test_random), cmocka_unit_test(test_branches),
      cmocka_unit_test(test_borders),     cmocka_unit_test(test_wide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
