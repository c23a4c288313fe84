/* place_csv [DIR] [--steps N] [--seconds S]: places each DIR/NAME.CAPACITY.csv (rows id,lower,upper,size; half-open lives)
 * and prints peak, live-set bound, steps and processor time. Fails what does not fit into its capacity, is not sound or
 * takes longer than S seconds (10). Without the folder (../shared/planner) it says so and passes. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "plan/place.h"
#include "plan/plan_check.h"

enum { LINE = 256 };

typedef struct Options {
  const char *dir;
  uint64_t steps;
  double seconds;
} Options;

typedef struct Items {
  VEC(PlaceItem) list;
} Items;

static int with_capacity(const struct dirent *e) {
  size_t capacity;
  int end = 0;
  return sscanf(e->d_name, "%*[^.].%zu.csv%n", &capacity, &end) == 1 && end > 0 && e->d_name[end] == 0;
}

static bool items_read(Arena *a, const char *path, Items *ret) {
  FILE *f = fopen(path, "r");
  char line[LINE];
  bool good = f && fgets(line, sizeof line, f) && strcmp(line, "id,lower,upper,size\n") == 0;
  while (good && fgets(line, sizeof line, f)) {
    PlaceItem it = {.align = 1};
    good = sscanf(line, "%*d,%" SCNd64 ",%" SCNd64 ",%zu", &it.lower, &it.upper, &it.size) == 3;
    vec_push(a, ret->list, it);
  }
  if (f) (void)fclose(f);
  return good;
}

static bool sound(Arena *a, const Items *items, const PlaceResult *r) {
  PlanItem *plan = NEW_ARRAY(a, PlanItem, items->list.n);
  PlanFault fault;
  for (size_t i = 0; i < items->list.n; i++) {
    const PlaceItem *it = &items->list.data[i];
    plan[i] = (PlanItem){it->lower, it->upper, r->offsets[i], it->size, it->align};
  }
  return plan_check(a, plan, items->list.n, NULL, 0, r->peak, &fault);
}

static bool place_file(const Options *opt, const char *name) {
  Arena *a = arena_new(NULL, 0);
  Str path = arena_printf(a, "%s/%s", opt->dir, name);
  size_t capacity = 0;
  Items items = {0};
  PlaceResult r;
  (void)sscanf(name, "%*[^.].%zu", &capacity);
  if (!items_read(a, path.ptr, &items)) {
    printf("%-16s is no list of buffers\n", name);
    arena_free(a);
    return false;
  }
  clock_t start = clock();
  plan_place(a, items.list.data, items.list.n, capacity, opt->steps, &r);
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  bool is_sound = r.offsets && sound(a, &items, &r), good = is_sound && r.peak <= capacity && seconds <= opt->seconds;
  printf("%-16s %6zu %9zu %9zu %9zu %11" PRIu64 " %7.2f  %s%s\n", name, items.list.n, capacity, r.lower_bound, r.peak,
         r.steps, seconds, r.strategy, good ? "" : is_sound ? "  FAILED" : "  UNSOUND");
  (void)fflush(stdout);
  arena_free(a);
  return good;
}

int main(int argc, char **argv) {
  Options opt = {"../shared/planner", PLACE_STEPS_THOROUGH, 10};
  struct dirent **entry;
  int passed = 0;
  for (int k = 1; k < argc; k++) {
    if (strcmp(argv[k], "--steps") == 0 && k + 1 < argc)
      opt.steps = strtoull(argv[++k], NULL, 10);
    else if (strcmp(argv[k], "--seconds") == 0 && k + 1 < argc)
      opt.seconds = strtod(argv[++k], NULL);
    else
      opt.dir = argv[k];
  }
  int n = scandir(opt.dir, &entry, with_capacity, alphasort);
  if (n <= 0) {
    printf("no instances in %s\n0 passed, 0 failed, 1 skipped\n", opt.dir);
    return 0;
  }
  printf("%-16s %6s %9s %9s %9s %11s %7s  strategy\n", "instance", "n", "capacity", "bound", "peak", "steps", "seconds");
  for (int k = 0; k < n; k++) {
    passed += place_file(&opt, entry[k]->d_name);
    free(entry[k]);
  }
  free(entry);
  printf("%d passed, %d failed\n", passed, n - passed);
  return passed == n ? 0 : 1;
}
