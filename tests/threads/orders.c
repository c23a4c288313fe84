/* Stands in for runtime-lite/pool/castnet_pool.c: ORDER says who runs the indices. A number: the real pool of so many threads; forward,
 * reverse, random (from a fixed seed): this thread in that order, of ranges those of one, of two, and of one to three; never: nobody may ask. Says on standard
 * error how often it was called, and whether for ranges. */
#define castnet_pool_new real_new
#define castnet_pool_run real_run
#define castnet_pool_ranges real_ranges
#define castnet_pool_free real_free
#define castnet_pool_threads real_threads
#include "pool/castnet_pool.c"
#undef castnet_pool_new
#undef castnet_pool_run
#undef castnet_pool_ranges
#undef castnet_pool_free
#undef castnet_pool_threads

#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

castnet_pool *castnet_pool_new(size_t threads);
int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg);
int castnet_pool_ranges(void *pool, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg);

size_t castnet_pool_threads(const castnet_pool *pool);

static size_t calls[2]; /* for indices, for ranges */

static const char *asked_order(void *pool, size_t n, int ranges) {
  const char *order = getenv("ORDER");
  if (++calls[ranges] == 1) (void)fprintf(stderr, ranges ? "ranges\n" : "calls\n"); /* the program leaves by _Exit */
  if (n > MOST || !order || strcmp(order, "never") == 0) abort();
  return real_threads(pool) > 1 || strcmp(order, "1") == 0 ? NULL : order;
}

castnet_pool *castnet_pool_new(size_t threads) {
  const char *order = getenv("ORDER");
  const size_t n = order ? strtoul(order, NULL, 10) : threads;
  return real_new(n ? n : 1);
}

/* In an order: as many as may ask for no more than MOST. */
size_t castnet_pool_threads(const castnet_pool *pool) {
  const char *order = getenv("ORDER");
  const size_t n = real_threads(pool);
  return n > 1 || !order || strcmp(order, "1") == 0 ? n : MOST / 4;
}

/* A permutation of n indices. */
static void shuffle(size_t *order, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) order[i] = i;
  for (size_t i = n; i > 1; i--) {
    seed = seed * 1664525u + 1013904223u;
    const size_t j = (seed >> 8) % i, old = order[i - 1];
    order[i - 1] = order[j];
    order[j] = old;
  }
}

/* The order of n indices that ORDER asks for. */
static void put_in_order(size_t *at, size_t n, const char *order) {
  if (strcmp(order, "random") == 0) shuffle(at, n, (unsigned)(calls[0] + calls[1]));
  else
    for (size_t i = 0; i < n; i++) at[i] = strcmp(order, "reverse") == 0 ? n - 1 - i : i;
}

int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  const char *order = asked_order(pool, n, 0);
  size_t at[MOST];
  if (!order) return real_run(pool, n, fn, arg);
  put_in_order(at, n, order);
  for (size_t i = 0; i < n; i++) fn(arg, at[i]);
  return 0;
}

int castnet_pool_ranges(void *pool, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  const char *order = asked_order(pool, n, 1);
  size_t at[MOST], from[MOST + 1] = {0}, ranges = 0;
  if (!order) return real_ranges(pool, n, fn, arg);
  for (; from[ranges] < n; ranges++) {
    const size_t length = strcmp(order, "random") == 0 ? 1 + (calls[1] + ranges) % 3 : strcmp(order, "reverse") == 0 ? 2 : 1;
    from[ranges + 1] = from[ranges] + length < n ? from[ranges] + length : n;
  }
  put_in_order(at, ranges, order);
  for (size_t i = 0; i < ranges; i++) fn(arg, from[at[i]], from[at[i] + 1]);
  fn(arg, n, n); /* nothing, which hooks that cut by sizes of their own may ask for */
  return 0;
}
