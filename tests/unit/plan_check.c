/* The plan checker: sound plans are accepted, every corruption of one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plan/place.h"
#include "plan/plan_check.h"

enum { MAX_ITEMS = 64, MAX_ROOTS = 20, N_PLANS = 1000 };

typedef struct Plan {
  PlanItem item[MAX_ITEMS];
  PlanAlias alias[MAX_ITEMS];
  size_t root[MAX_ITEMS]; /* of item */
  size_t n, n_alias, size;
} Plan;

static uint64_t rng_next(uint64_t *s) { /* splitmix64 */
  uint64_t z = *s += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}
static size_t below(uint64_t *s, size_t n) { return (size_t)(rng_next(s) % n); }

/* ---- sound plans --------------------------------------------------------------------------------------------------------- */
static size_t plan_alias(Plan *p, size_t a, PlanItem b, size_t at, PlanAliasKind kind) {
  p->alias[p->n_alias++] = (PlanAlias){a, p->n, at, kind};
  p->root[p->n] = p->root[a];
  p->item[p->n] = b;
  return p->n++;
}

/* A storage with perhaps slices, or parts, or a chain of in-place successors below it. */
static void plan_group(Plan *p, uint64_t *rng) {
  size_t root = p->n++, units = 1 + below(rng, 8), pieces = 1 + below(rng, 3);
  int64_t lower = (int64_t)below(rng, 30), upper = lower + 2 + (int64_t)below(rng, 8);
  p->root[root] = root;
  p->item[root] = (PlanItem){lower, upper, 0, 64 * units, 64};
  size_t style = below(rng, 4);
  for (size_t k = 0; k < pieces && style == 1; k++) {
    size_t at = 16 * below(rng, 4 * units);
    PlanItem slice = {lower + 1, upper - (int64_t)below(rng, 2), 0, 1 + below(rng, 64 * units - at), 16};
    plan_alias(p, root, slice, at, ALIAS_SLICE);
  }
  for (size_t k = 0; k < units && style == 2; k++) {
    PlanItem part = {lower + (int64_t)below(rng, 2), upper, 0, 64 - below(rng, 60), 64};
    plan_alias(p, root, part, 64 * k, ALIAS_PART);
  }
  for (size_t k = 0, last = root; k < pieces && style == 3; k++) {
    PlanItem next = {upper - 1, upper + 1 + (int64_t)below(rng, 4), 0, p->item[last].size - below(rng, 16), 64};
    upper = next.upper;
    last = plan_alias(p, last, next, 0, ALIAS_IN_PLACE);
  }
}

static void plan_offsets(Arena *a, Plan *p) {
  PlaceItem place[MAX_ITEMS] = {0};
  PlaceResult r;
  for (size_t i = 0; i < p->n; i++) {
    PlaceItem *it = &place[p->root[i]];
    if (p->root[i] == i) *it = (PlaceItem){p->item[i].lower, p->item[i].upper, p->item[i].size, 64};
    if (p->item[i].upper > it->upper) it->upper = p->item[i].upper;
  }
  plan_place(a, place, p->n, 0, 0, &r);
  p->size = r.peak;
  for (size_t i = 0; i < p->n; i++) p->item[i].offset = r.offsets[i];
  for (size_t k = 0; k < p->n_alias; k++) /* storages come first */
    p->item[p->alias[k].b].offset = p->item[p->alias[k].a].offset + p->alias[k].at;
}

static Plan plan_random(Arena *a, uint64_t *rng) {
  Plan p = {0};
  size_t n_roots = 2 + below(rng, MAX_ROOTS - 2);
  for (size_t k = 0; k < n_roots && p.n + 9 < MAX_ITEMS; k++) plan_group(&p, rng);
  plan_offsets(a, &p);
  return p;
}

static PlanFaultKind check(Arena *a, const Plan *p) {
  PlanFault f;
  bool sound = plan_check(a, p->item, p->n, p->alias, p->n_alias, p->size, &f);
  assert_int_equal(sound, f.kind == PLAN_SOUND);
  return f.kind;
}

/* ---- corruptions: true when one was made that is a violation indeed ---------------------------------------------------------- */
static bool time_meets(const PlanItem *a, const PlanItem *b) { return a->lower < b->upper && b->lower < a->upper; }
static bool space_meets(const PlanItem *a, const PlanItem *b) {
  return a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static bool break_overlap(Plan *p, size_t i, size_t j, uint64_t *rng) { /* onto another that lives */
  if (p->root[i] == p->root[j] || !time_meets(&p->item[i], &p->item[j])) return false;
  p->item[i].offset = p->item[j].offset + below(rng, p->item[j].size) / p->item[i].align * p->item[i].align;
  p->size += p->item[i].size;
  return true;
}
static bool break_life(Plan *p, size_t i, size_t j, uint64_t *rng) { /* lives on while its bytes are another's */
  (void)rng;
  if (p->root[i] == p->root[j] || !space_meets(&p->item[i], &p->item[j]) || p->item[i].upper > p->item[j].lower)
    return false;
  p->item[i].upper = p->item[j].lower + 1;
  return true;
}
static bool break_align(Plan *p, size_t i, size_t j, uint64_t *rng) {
  (void)j;
  p->item[i].offset += 1 + below(rng, p->item[i].align - 1);
  p->size += 64;
  return true;
}
static bool break_bounds(Plan *p, size_t i, size_t j, uint64_t *rng) {
  (void)i, (void)j;
  p->size -= 1 + below(rng, p->size); /* the peak is exact */
  return true;
}
static bool break_far(Plan *p, size_t i, size_t j, uint64_t *rng) { /* offset + size wraps around */
  (void)j, (void)rng;
  p->item[i].offset = SIZE_MAX / 64 * 64;
  return true;
}
static bool break_in_place(Plan *p, size_t i, size_t j, uint64_t *rng) { /* read once more after it was overwritten */
  (void)j;
  if (i >= p->n_alias || p->alias[i].kind != ALIAS_IN_PLACE) return false;
  p->item[p->alias[i].a].upper += 1 + (int64_t)below(rng, 3);
  return true;
}
static bool break_outlive(Plan *p, size_t i, size_t j, uint64_t *rng) {
  (void)j;
  if (i >= p->n_alias || p->alias[i].kind == ALIAS_IN_PLACE) return false;
  p->item[p->alias[i].b].upper = p->item[p->alias[i].a].upper + 1 + (int64_t)below(rng, 3);
  return true;
}
static bool break_place(Plan *p, size_t i, size_t j, uint64_t *rng) { /* not where its storage has it */
  (void)j;
  if (i >= p->n_alias) return false;
  p->alias[i].at += 1 + below(rng, 100);
  return true;
}
static bool break_inside(Plan *p, size_t i, size_t j, uint64_t *rng) { /* larger than what is left of its storage */
  (void)j;
  if (i >= p->n_alias) return false;
  p->item[p->alias[i].b].size = p->item[p->alias[i].a].size - p->alias[i].at + 1 + below(rng, 8);
  p->size += 64;
  return true;
}
static bool break_undeclared(Plan *p, size_t i, size_t j, uint64_t *rng) { /* shares bytes without saying so */
  (void)j, (void)rng;
  if (i >= p->n_alias || p->item[p->alias[i].b].lower == p->item[p->alias[i].b].upper) return false;
  p->alias[i] = p->alias[--p->n_alias];
  return true;
}
static bool break_circle(Plan *p, size_t i, size_t j, uint64_t *rng) {
  (void)j, (void)rng;
  if (i >= p->n_alias) return false;
  p->alias[p->n_alias++] = (PlanAlias){p->alias[i].b, p->root[p->alias[i].b], 0, ALIAS_SLICE};
  return true;
}
static bool break_twice(Plan *p, size_t i, size_t j, uint64_t *rng) { /* two storages */
  (void)rng;
  if (i >= p->n_alias || j == p->alias[i].b) return false;
  p->alias[p->n_alias++] = (PlanAlias){j, p->alias[i].b, 0, ALIAS_SLICE};
  return true;
}
static bool break_index(Plan *p, size_t i, size_t j, uint64_t *rng) {
  (void)j;
  if (i >= p->n_alias) return false;
  p->alias[i].a = p->n + below(rng, 3);
  return true;
}
static bool break_parts(Plan *p, size_t i, size_t j, uint64_t *rng) { /* two parts in one place */
  (void)rng;
  if (i >= p->n_alias || j >= p->n_alias || i == j || p->alias[i].kind != ALIAS_PART || p->alias[j].kind != ALIAS_PART ||
      p->alias[i].a != p->alias[j].a)
    return false;
  p->alias[i].at = p->alias[j].at;
  p->item[p->alias[i].b].offset = p->item[p->alias[j].b].offset;
  return true;
}
static bool break_reversed(Plan *p, size_t i, size_t j, uint64_t *rng) {
  (void)j, (void)rng;
  p->item[i].upper = p->item[i].lower - 1;
  return true;
}

typedef bool (*Break)(Plan *p, size_t i, size_t j, uint64_t *rng);
static const Break breaks[] = {
    break_overlap, break_life,  break_align,      break_bounds, break_far,   break_in_place, break_outlive, break_place,
    break_inside,  break_parts, break_undeclared, break_circle, break_twice, break_index,    break_reversed,
};
enum { N_BREAKS = sizeof breaks / sizeof *breaks };

static void test_random(void **state) {
  (void)state;
  uint64_t rng = 1;
  size_t n_refused = 0, n_by[N_BREAKS] = {0};
  for (size_t k = 0; k < N_PLANS; k++) {
    Arena *a = arena_new(NULL, 0);
    Plan sound = plan_random(a, &rng);
    assert_int_equal(check(a, &sound), PLAN_SOUND);
    for (int tries = 0; tries < 10000; tries++) {
      Plan bad = sound;
      size_t how = (k + (size_t)tries / 500) % N_BREAKS;
      if (!breaks[how](&bad, below(&rng, bad.n), below(&rng, bad.n), &rng)) continue;
      if (check(a, &bad) == PLAN_SOUND) fail_msg("plan %zu, corruption %zu is accepted", k, how);
      n_refused++;
      n_by[how]++;
      break;
    }
    arena_free(a);
  }
  assert_int_equal(n_refused, N_PLANS);
  for (size_t how = 0; how < N_BREAKS; how++) assert_true(n_by[how] > N_PLANS / N_BREAKS / 4);
}

/* ---- kinds by hand --------------------------------------------------------------------------------------------------------- */
static PlanFaultKind check_list(const PlanItem *items, size_t n, const PlanAlias *aliases, size_t n_aliases, size_t size) {
  Arena *a = arena_new(NULL, 0);
  PlanFault f;
  (void)plan_check(a, items, n, aliases, n_aliases, size, &f);
  arena_free(a);
  return f.kind;
}

static void test_kinds(void **state) {
  (void)state;
  PlanItem two[] = {{0, 2, 0, 8, 4}, {1, 3, 4, 4, 4}};
  assert_int_equal(check_list(two, 2, NULL, 0, 8), PLAN_FAULT_OVERLAP);
  assert_int_equal(check_list(two, 2, NULL, 0, 7), PLAN_FAULT_BOUNDS);
  assert_int_equal(check_list(two, 2, &(PlanAlias){0, 1, 4, ALIAS_IN_PLACE}, 1, 8), PLAN_SOUND);
  assert_int_equal(check_list(two, 2, &(PlanAlias){0, 1, 0, ALIAS_IN_PLACE}, 1, 8), PLAN_FAULT_INSIDE);
  assert_int_equal(check_list(two, 2, &(PlanAlias){0, 1, 4, ALIAS_SLICE}, 1, 8), PLAN_FAULT_LIFETIME);
  assert_int_equal(check_list(two, 2, &(PlanAlias){1, 1, 0, ALIAS_SLICE}, 1, 8), PLAN_FAULT_ALIAS);
  two[1].upper = 2;
  assert_int_equal(check_list(two, 2, &(PlanAlias){0, 1, 4, ALIAS_SLICE}, 1, 8), PLAN_SOUND);
  two[1].align = 3;
  assert_int_equal(check_list(two, 2, NULL, 0, 8), PLAN_FAULT_ITEM);
  two[1].align = 8;
  assert_int_equal(check_list(two, 2, NULL, 0, 8), PLAN_FAULT_ALIGN);
}

/* A slice cannot be overwritten while the whole is still read. */
static void test_slice_in_place(void **state) {
  (void)state;
  PlanItem it[] = {{0, 5, 0, 16, 4}, {1, 3, 8, 8, 4}, {2, 6, 8, 8, 4}};
  PlanAlias l[] = {{0, 1, 8, ALIAS_SLICE}, {1, 2, 0, ALIAS_IN_PLACE}};
  assert_int_equal(check_list(it, 3, l, 2, 16), PLAN_FAULT_IN_PLACE);
  it[0].upper = 3;
  assert_int_equal(check_list(it, 3, l, 2, 16), PLAN_SOUND);
}

/* An in-place successor keeps the whole storage; a stranger in its unused end is refused. */
static void test_group_keeps_storage(void **state) {
  (void)state;
  PlanItem it[] = {{0, 2, 0, 16, 4}, {1, 5, 0, 8, 4}, {3, 4, 8, 8, 4}};
  PlanAlias l = {0, 1, 0, ALIAS_IN_PLACE};
  assert_int_equal(check_list(it, 3, &l, 1, 16), PLAN_FAULT_OVERLAP);
  it[2].lower = 5;
  it[2].upper = 6;
  assert_int_equal(check_list(it, 3, &l, 1, 16), PLAN_SOUND);
}

/* Chains of aliases are walked once: 100,000 deep in no time, and without recursion. */
static void test_long_chain(void **state) {
  (void)state;
  enum { N = 100000 };
  Arena *a = arena_new(NULL, 0);
  PlanItem *it = NEW_ARRAY(a, PlanItem, N);
  PlanAlias *l = NEW_ARRAY(a, PlanAlias, N);
  PlanFault f;
  for (size_t i = 0; i < N; i++) {
    it[i] = (PlanItem){(int64_t)i, (int64_t)i + 2, 0, 4, 4};
    if (i) l[i - 1] = (PlanAlias){i - 1, i, 0, ALIAS_IN_PLACE};
  }
  assert_true(plan_check(a, it, N, l, N - 1, 4, &f));
  it[N / 2].upper++;
  assert_false(plan_check(a, it, N, l, N - 1, 4, &f));
  assert_int_equal(f.kind, PLAN_FAULT_IN_PLACE);
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),         cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_slice_in_place), cmocka_unit_test(test_group_keeps_storage),
      cmocka_unit_test(test_long_chain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
