/* The pool of runtime-lite: every index once, whatever the number of threads and indices; calls in calls; sleeping and waking. Built and
 * run as it is by the unit tests, under ThreadSanitizer by tests/threads/run.py. */
#define _POSIX_C_SOURCE 200809L
#include "pool/castnet_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MOST = 300 };

static int failures;

#define EXPECT(what) \
  do { \
    if (!(what)) { \
      (void)printf("%s:%d: %s\n", __FILE__, __LINE__, #what); \
      failures++; \
    } \
  } while (0)

typedef struct Job {
  castnet_pool *pool; /* for calls in calls; NULL: none */
  unsigned char seen[MOST];
  unsigned sum[MOST];
} Job;

static void inner(void *arg, size_t i) {
  unsigned *sum = arg;
  *sum += (unsigned)i; /* all of one caller's, in order, on one thread */
}

static void mark(void *arg, size_t i) {
  Job *j = arg;
  j->seen[i]++;
  if (j->pool) EXPECT(castnet_pool_run(j->pool, 10, inner, &j->sum[i]) == 0);
}

static void mark_range(void *arg, size_t from, size_t to) {
  EXPECT(from < to && to <= MOST);
  for (size_t i = from; i < to && i < MOST; i++) mark(arg, i);
}

static void check_run(castnet_pool *pool, size_t n, int nested) {
  nested = nested && n > 1 && castnet_pool_threads(pool) > 1; /* one index leaves the pool to a call in it */
  for (int ranges = 0; ranges < 2; ranges++) {
    Job j;
    memset(&j, 0, sizeof j);
    j.pool = nested ? pool : NULL;
    EXPECT((ranges ? castnet_pool_ranges(pool, n, mark_range, &j) : castnet_pool_run(pool, n, mark, &j)) == 0);
    for (size_t i = 0; i < MOST; i++) EXPECT(j.seen[i] == (i < n));
    for (size_t i = 0; nested && i < n; i++) EXPECT(j.sum[i] == 45);
  }
}

static void check_threads(size_t threads) {
  static const size_t counts[] = {0, 1, 2, 3, 7, 16, 100, MOST};
  const struct timespec nap = {0, 2000000}; /* longer than threads spin */
  castnet_pool *pool = castnet_pool_new(threads);
  EXPECT(pool != NULL);
  if (!pool) return;
  EXPECT(threads ? castnet_pool_threads(pool) == threads : castnet_pool_threads(pool) >= 1);
  for (int round = 0; round < 300; round++)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) check_run(pool, counts[k], round % 10 == 0);
  for (int round = 0; round < 20; round++) {
    (void)nanosleep(&nap, NULL);
    check_run(pool, 16, 0);
    (void)nanosleep(&nap, NULL);
    for (size_t n = 2; n < 8; n++) check_run(pool, n, 0); /* little work, which at first wakes nobody */
  }
  (void)nanosleep(&nap, NULL);
  for (int round = 0; round < 5; round++) {
    const uint32_t trip = castnet_pool_line_ns(pool); /* no upper bound: other programs may have the processors */
    EXPECT(castnet_pool_threads(pool) > 1 || trip == 0);
    check_run(pool, 16, 0);
  }
  castnet_pool_free(pool);
}

/* Where this machine has as many processors as threads; the caller then has one, which is not as many. */
static void check_pinned(void) {
  castnet_pool *pool = castnet_pool_new(2);
  const int status = castnet_pool_pin(pool);
  EXPECT(status == 0 || status == 1);
  check_run(pool, 100, 0);
  EXPECT(castnet_pool_pin(pool) == 1 || status == 1);
  castnet_pool_free(pool);
}

static void nothing(void *arg, size_t i) { (void)arg, (void)i; }

#ifdef LATE_LOCK /* what the pool calls instead of pthread_mutex_lock */
#undef pthread_mutex_lock
int pthread_mutex_lock(pthread_mutex_t *mutex);
enum { LATE = 1 };
static pthread_t caller; /* set before any pool is made */

/* The caller comes late to the lock behind which threads that sleep are told, so that others fall asleep between. */
int LATE_LOCK(pthread_mutex_t *mutex) {
  const struct timespec nap = {0, 1000000};
  if (pthread_equal(pthread_self(), caller)) (void)nanosleep(&nap, NULL);
  return pthread_mutex_lock(mutex);
}

static void come_late(void) { caller = pthread_self(); }
#else
enum { LATE = 0 };
static void come_late(void) {}
#endif

/* Runs at all distances from the threads' falling asleep; an end that not all threads hear of is waited for without end. */
static void check_ends(void) {
  unsigned random = 1;
  for (int k = 0; k < 200; k++) {
    castnet_pool *pool = castnet_pool_new(4);
    EXPECT(pool != NULL);
    if (!pool) break;
    for (int run = 0; run < 3; run++) {
      random = random * 1103515245u + 12345u;
      for (volatile unsigned wait = (random >> 16) * 4; wait; wait--) {}
      EXPECT(castnet_pool_run(pool, 16, nothing, NULL) == 0);
    }
    castnet_pool_free(pool);
  }
}

int main(void) {
  come_late();
  for (size_t threads = 0; !LATE && threads <= 8; threads++) check_threads(threads);
  castnet_pool_free(NULL);
  for (int i = 0; i < 20; i++) castnet_pool_free(castnet_pool_new(4)); /* threads that never had work */
  if (!LATE) check_pinned();
  check_ends();
  (void)printf("%s\n", failures ? "failed" : "the pool does what it says");
  return failures != 0;
}
