/* Placement: sound, as low as brute force on small instances, near the bound on such as networks make, the same always. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plan/place.h"
#include "plan/plan_check.h"

static uint64_t rng_next(uint64_t *s) { /* splitmix64 */
  uint64_t z = *s += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}
static size_t below(uint64_t *s, size_t n) { return (size_t)(rng_next(s) % n); }

static PlaceItem item_random(uint64_t *rng, size_t steps, size_t most) {
  int64_t lower = (int64_t)below(rng, steps);
  return (PlaceItem){lower, lower + 1 + (int64_t)below(rng, steps), 1 + below(rng, most), (size_t)1 << below(rng, 4)};
}

static void assert_sound(Arena *a, const PlaceItem *items, size_t n, const PlaceResult *r) {
  PlanItem *plan = NEW_ARRAY(a, PlanItem, n);
  PlanFault f;
  for (size_t i = 0; i < n; i++)
    plan[i] = (PlanItem){items[i].lower, items[i].upper < items[i].lower ? items[i].lower : items[i].upper, r->offsets[i],
                         items[i].size, items[i].align ? items[i].align : 1};
  if (!plan_check(a, plan, n, NULL, 0, r->peak, &f))
    fail_msg("%s: %zu, %zu", plan_fault_text(f.kind), f.a, f.b);
  assert_true(r->lower_bound <= r->peak);
}

/* ---- brute force: first fit in every order; the order of an optimal placement's offsets is one of them ------------------- */
static size_t first_fit(const PlaceItem *items, const size_t *offset, const size_t *order, size_t n, size_t i) {
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    at = (at + items[i].align - 1) / items[i].align * items[i].align;
    for (size_t k = 0; k < n; k++) {
      const PlaceItem *o = &items[order[k]];
      size_t begin = offset[order[k]], end = begin + o->size;
      if (o->lower < items[i].upper && items[i].lower < o->upper && begin < at + items[i].size && at < end) {
        at = end;
        moved = true;
      }
    }
  }
  return at;
}

static size_t brute_force(const PlaceItem *items, size_t n, size_t *order, size_t *offset, size_t depth, size_t peak,
                          size_t best) {
  if (peak >= best) return best;
  if (depth == n) return peak;
  for (size_t k = depth; k < n; k++) {
    size_t i = order[k];
    order[k] = order[depth];
    order[depth] = i;
    offset[i] = first_fit(items, offset, order, depth, i);
    size_t top = offset[i] + items[i].size;
    best = brute_force(items, n, order, offset, depth + 1, top > peak ? top : peak, best);
    order[depth] = order[k];
    order[k] = i;
  }
  return best;
}

static size_t smallest_align(const PlaceItem *items, size_t n) {
  size_t g = items[0].align;
  for (size_t i = 1; i < n; i++)
    if (items[i].align < g) g = items[i].align;
  return g;
}

static void test_brute_force(void **state) {
  (void)state;
  uint64_t rng = 7;
  for (int k = 0; k < 1500; k++) {
    Arena *a = arena_new(NULL, 0);
    PlaceItem items[7];
    size_t n = 1 + below(&rng, 7), order[7] = {0, 1, 2, 3, 4, 5, 6}, offset[7];
    for (size_t i = 0; i < n; i++) items[i] = item_random(&rng, 6, 12);
    if (k % 2)
      for (size_t i = 0; i < n; i++) items[i].align = 1;
    PlaceResult r;
    plan_place(a, items, n, 0, 0, &r);
    assert_sound(a, items, n, &r);
    size_t g = smallest_align(items, n), best = brute_force(items, n, order, offset, 0, 0, SIZE_MAX);
    assert_true(r.optimal);
    assert_int_equal((r.peak + g - 1) / g, (best + g - 1) / g);
    assert_true(r.lower_bound <= best);
    arena_free(a);
  }
}

/* ---- larger ones ----------------------------------------------------------------------------------------------------------- */
static void test_random(void **state) {
  (void)state;
  uint64_t rng = 3;
  for (size_t n = 0; n < 400; n += 1 + n / 4) {
    Arena *a = arena_new(NULL, 0);
    PlaceItem *items = NEW_ARRAY(a, PlaceItem, n);
    PlaceResult r, again;
    for (size_t i = 0; i < n; i++) items[i] = item_random(&rng, 100, 5000);
    for (size_t i = 5; i < n; i += 17) items[i].size = 0;
    for (size_t i = 7; i < n; i += 17) items[i].upper = items[i].lower - (int64_t)(i % 2);
    plan_place(a, items, n, 0, 200000, &r);
    plan_place(a, items, n, 0, 200000, &again);
    assert_sound(a, items, n, &r);
    assert_int_equal(r.peak, again.peak);
    assert_int_equal(r.steps, again.steps);
    assert_memory_equal(r.offsets, again.offsets, n * sizeof *r.offsets);
    arena_free(a);
  }
}

/* Sizes and lives as in a network: short chains, skips over some layers, a few values that live long. */
static void network(uint64_t *rng, PlaceItem *items, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t far = below(rng, 20), width = far == 0 ? 2 + below(rng, n / 4 + 1) : far < 5 ? 2 + below(rng, 12) : 2;
    size_t size = ((size_t)1 << below(rng, 8)) * 256 * (1 + below(rng, 3));
    items[i] = (PlaceItem){(int64_t)i, (int64_t)(i + width), far == 0 ? size / 16 : size, 64};
  }
}

static void test_network(void **state) {
  (void)state;
  uint64_t rng = 11;
  for (size_t n = 10; n <= 3000; n = n * 3 / 2) {
    Arena *a = arena_new(NULL, 0);
    PlaceItem *items = NEW_ARRAY(a, PlaceItem, n);
    PlaceResult r;
    network(&rng, items, n);
    plan_place(a, items, n, 0, 0, &r);
    assert_sound(a, items, n, &r);
    if (r.peak > r.lower_bound + r.lower_bound / 20)
      fail_msg("%zu buffers: peak %zu, bound %zu (%s)", n, r.peak, r.lower_bound, r.strategy);
    arena_free(a);
  }
}

/* Too many neighbours to list: one sweep, near to linear in time. */
static void test_dense(void **state) {
  (void)state;
  enum { N = 30000 };
  uint64_t rng = 5;
  Arena *a = arena_new(NULL, 0);
  PlaceItem *items = NEW_ARRAY(a, PlaceItem, N);
  PlaceResult r;
  for (size_t i = 0; i < N; i++) {
    int64_t lower = (int64_t)below(&rng, N);
    items[i] = (PlaceItem){lower, lower + N / 2 + (int64_t)below(&rng, N), 1 + below(&rng, 100000), (size_t)16 << below(&rng, 3)};
  }
  plan_place(a, items, N, 0, 0, &r);
  assert_string_equal(r.strategy, "sweep along time");
  assert_sound(a, items, N, &r);
  assert_true(r.peak < r.lower_bound + r.lower_bound / 5);
  arena_free(a);
}

/* ---- borders ----------------------------------------------------------------------------------------------------------------- */
static void test_borders(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  PlaceResult r;
  plan_place(a, NULL, 0, 0, 0, &r);
  assert_true(r.offsets && r.peak == 0 && r.optimal);
  PlaceItem two[] = {{INT64_MIN, INT64_MAX, 3, 64}, {0, 1, 5, 64}};
  plan_place(a, two, 2, 0, 0, &r);
  assert_true(r.peak < 128 && r.lower_bound == 67 && r.optimal); /* the one with more padding on top would be 67 */
  PlaceItem huge[] = {{0, 1, SIZE_MAX, 1}, {0, 1, 1, 1}};
  plan_place(a, huge, 2, 0, 0, &r);
  assert_null(r.offsets);
  assert_true(r.peak == SIZE_MAX && !r.optimal);
  arena_free(a);
}

/* Fits into 12 only as the search finds it; within more, the first plan that fits is taken. */
static void test_capacity(void **state) {
  (void)state;
  PlaceItem items[] = {{0, 3, 4, 1}, {3, 9, 4, 1}, {0, 9, 4, 1}, {9, 21, 4, 1}, {0, 21, 4, 1}};
  Arena *a = arena_new(NULL, 0);
  PlaceResult r;
  plan_place(a, items, 5, 12, 0, &r);
  assert_int_equal(r.peak, 12);
  assert_sound(a, items, 5, &r);
  plan_place(a, items, 5, 100, 0, &r);
  assert_true(r.peak <= 100);
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_brute_force), cmocka_unit_test(test_random),   cmocka_unit_test(test_network),
      cmocka_unit_test(test_dense),       cmocka_unit_test(test_borders),  cmocka_unit_test(test_capacity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
