/* Stands in for runtime-lite/pool/castnet_pool.c: ORDER says who runs the indices. A number: the real pool of so many threads; forward,
 * reverse, random (from a fixed seed): this thread in that order; never: nobody may ask. Says on standard error how often it was called. */
#define castnet_pool_new real_new
#define castnet_pool_run real_run
#define castnet_pool_free real_free
#define castnet_pool_threads real_threads
#include "pool/castnet_pool.c"
#undef castnet_pool_new
#undef castnet_pool_run
#undef castnet_pool_free
#undef castnet_pool_threads

#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

castnet_pool *castnet_pool_new(size_t threads);
int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg);

static size_t calls;

static void say_calls(void) { (void)fprintf(stderr, "calls %zu\n", calls); }

castnet_pool *castnet_pool_new(size_t threads) {
  const char *order = getenv("ORDER");
  const size_t n = order ? strtoul(order, NULL, 10) : threads;
  return real_new(n ? n : 1);
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

int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  const char *order = getenv("ORDER");
  size_t at[MOST];
  calls++;
  if (calls == 1) say_calls(); /* the program leaves by _Exit */
  if (n > MOST || !order || strcmp(order, "never") == 0) abort();
  if (real_threads(pool) > 1 || strcmp(order, "1") == 0) return real_run(pool, n, fn, arg);
  if (strcmp(order, "random") == 0) shuffle(at, n, (unsigned)calls);
  else
    for (size_t i = 0; i < n; i++) at[i] = strcmp(order, "reverse") == 0 ? n - 1 - i : i;
  for (size_t i = 0; i < n; i++) fn(arg, at[i]);
  return 0;
}
