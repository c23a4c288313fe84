/* Stands in for runtime-lite/pool/castnet_pool.c on one processor: computes what is handed out one after the other, and lets the clock go on only by what
 * AS_IF threads would take, each with its own lane of the work as in the pool, with HANDOUT nanoseconds for each time. What it leaves out is what threads
 * cost each other: lines that cross over between their caches, the memory and the clock that they share. */
#define _GNU_SOURCE
#include "castnet_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256 };

struct castnet_pool { size_t threads; };

typedef struct Lane { size_t from, to; int64_t ns; } Lane;

static int64_t left_out, handout; /* nanoseconds */
static int busy;

static int64_t system_ns(void) {
  struct timespec t;
  (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* In place of the C library's, for the benchmark's own readings. */
int clock_gettime(clockid_t id, struct timespec *ret) {
  const int64_t ns = system_ns() - left_out;
  (void)id;
  *ret = (struct timespec){ns / 1000000000, ns % 1000000000};
  return 0;
}

castnet_pool *castnet_pool_new(size_t threads) {
  castnet_pool *p = malloc(sizeof *p);
  const char *n = getenv("AS_IF"), *ns = getenv("HANDOUT");
  if (!p) return NULL;
  handout = ns ? strtoll(ns, NULL, 10) : 1000;
  p->threads = n ? strtoul(n, NULL, 10) : threads;
  if (p->threads > MOST) p->threads = MOST;
  return p;
}

void castnet_pool_free(castnet_pool *p) { free(p); }

size_t castnet_pool_threads(const castnet_pool *p) { return p->threads; }

int castnet_pool_pin(castnet_pool *p) {
  (void)p;
  return 0;
}

uint32_t castnet_pool_line_ns(castnet_pool *p) {
  (void)p;
  return 0;
}

/* Of the lane of whoever is first done, or of the next that has some: where from, and how many. */
static size_t take(Lane *lanes, size_t n, size_t own, int several, size_t *ret) {
  for (size_t k = 0; k < n; k++) {
    Lane *l = &lanes[(own + k) % n];
    const size_t left = l->to - l->from, m = !several ? left > 0 : k == 0 ? left - left / 8 : (left + 1) / 2;
    if (!left) continue;
    if (k == 0) *ret = l->from, l->from += m;
    else *ret = l->to -= m;
    return m;
  }
  return 0;
}

static void run(castnet_pool *p, size_t n, void (*each)(void *arg, size_t i), void (*ranges)(void *arg, size_t from, size_t to), void *arg) {
  const int64_t start = system_ns();
  const size_t active = n < p->threads ? n : p->threads;
  Lane lanes[MOST];
  int64_t longest = 0;
  if (n < 2 || active < 2 || busy) {
    if (ranges && n) ranges(arg, 0, n);
    for (size_t i = 0; i < n && !ranges; i++) each(arg, i);
    return;
  }
  busy = 1;
  for (size_t k = 0; k < active; k++) lanes[k] = (Lane){n * k / active, n * (k + 1) / active, 0};
  for (size_t left = n; left;) {
    size_t first = 0, from = 0;
    for (size_t k = 1; k < active; k++) first = lanes[k].ns < lanes[first].ns ? k : first;
    const size_t m = take(lanes, active, first, ranges != NULL, &from);
    const int64_t before = system_ns();
    if (ranges) ranges(arg, from, from + m);
    for (size_t i = from; i < from + m && !ranges; i++) each(arg, i);
    lanes[first].ns += system_ns() - before;
    if (lanes[first].ns > longest) longest = lanes[first].ns;
    left -= m;
  }
  busy = 0;
  left_out += system_ns() - start - longest - handout;
}

int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  run(pool, n, fn, NULL, arg);
  return 0;
}

int castnet_pool_ranges(void *pool, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  run(pool, n, NULL, fn, arg);
  return 0;
}
