/* SPDX-License-Identifier: MIT-0 */
#if !defined(__linux__)
#define _POSIX_C_SOURCE 200809L
#elif !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* affinity */
#endif
#include "castnet_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CACHE_LINE = 64, SPINS = 8000, MOST_THREADS = 1024 };

/* Indices that the caller does alone before it wakes threads that sleep, counted over calls. Those of castnet's steps take two microseconds
 * or more; waking takes some ten, and the thread comes later still. */
enum { WAKE_LEAST = 16 };

typedef void Each(void *arg, size_t i);
typedef void Ranges(void *arg, size_t from, size_t to);

/* A thread's part of the work, taken from its front by its owner first, then from its end by whoever has none left, so that one step after
 * the other has mostly the same part of its data in the same thread's caches: next | end << 32 in one word. A
 * word is taken only by exchanging it, so whoever got an index got one of the work at hand, which cannot end before that index is done:
 * fn and arg are what they are until then. */
typedef struct Lane {
  _Alignas(CACHE_LINE) _Atomic uint64_t range;
  struct castnet_pool *pool;
  size_t number;
  pthread_t thread;
} Lane;

/* A line that goes from one processor to another and back takes a tenth of a microsecond, half of one where they share no cache. So what the
 * threads wait for comes with all that they need to know, and each line has one side that writes it. */
struct castnet_pool {
  /* The caller's: what is to be done. */
  _Alignas(CACHE_LINE) atomic_uint round; /* changes when there is work, and at the end */
  atomic_size_t active;                   /* threads that have a lane: no more than there are indices */
  atomic_bool several;                    /* neighbours may be taken together: who comes late reads it, too, so it says nothing of fn and ranges */
  Each *fn;
  Ranges *ranges; /* in place of it */
  void *arg;
  /* The threads': indices that they have done, of all calls, those of the caller's thread apart. */
  _Alignas(CACHE_LINE) atomic_size_t finished;
  /* Between callers. */
  _Alignas(CACHE_LINE) atomic_flag busy;
  size_t alone; /* indices done without the threads since they last were awake */
  /* What is written only where somebody sleeps. */
  _Alignas(CACHE_LINE) atomic_uint asleep; /* threads that wait for `begun`, until they are told, so that they are told once */
  unsigned told;                           /* how often they were; under the mutex */
  atomic_bool waiting, ends;               /* the caller waits for `ended`; the threads are to return */
  pthread_mutex_t mutex;
  pthread_cond_t begun, ended;
  size_t threads;
  void *memory;
  Lane lanes[];
};

static void pause_thread(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* How many of a lane's indices are taken where it may be several: of eight or more a part is left for whoever is done sooner. Each
 * time a step may read its weights again. */
static uint32_t at_once(uint32_t left, bool front) { return front ? left - left / 8 : (left + 1) / 2; }

/* Indices from *ret on. Returns how many. */
static uint32_t take(Lane *lane, bool front, bool several, size_t *ret) {
  uint64_t range = atomic_load_explicit(&lane->range, memory_order_relaxed);
  while ((uint32_t)range < (uint32_t)(range >> 32)) {
    const uint32_t n = several ? at_once((uint32_t)(range >> 32) - (uint32_t)range, front) : 1;
    const uint64_t rest = front ? range + n : range - ((uint64_t)n << 32);
    if (atomic_compare_exchange_weak_explicit(&lane->range, &range, rest, memory_order_acquire, memory_order_relaxed)) {
      *ret = front ? (uint32_t)range : (uint32_t)(rest >> 32);
      return n;
    }
  }
  return 0;
}

/* n > 0 indices from i on. One of fn and ranges is NULL, here and below. */
static void do_indices(Each *fn, Ranges *ranges, void *arg, size_t i, size_t n) {
  if (ranges) {
    ranges(arg, i, i + n);
    return;
  }
  for (size_t k = i; k < i + n; k++) fn(arg, k);
}

/* All that is to be had, the own lane first. Returns how much that was. */
static size_t work(castnet_pool *p, size_t own) {
  size_t done = 0, i, n;
  const size_t active = atomic_load_explicit(&p->active, memory_order_relaxed);
  const bool several = atomic_load_explicit(&p->several, memory_order_relaxed);
  for (size_t k = 0; k < active && own < active; k++) {
    Lane *lane = &p->lanes[(own + k) % active];
    for (; (n = take(lane, k == 0, several, &i)) != 0; done += n) do_indices(p->fn, p->ranges, p->arg, i, n);
  }
  return done;
}

static void finish(castnet_pool *p, size_t done) {
  (void)atomic_fetch_add(&p->finished, done);
  if (!atomic_load(&p->waiting)) return;
  (void)pthread_mutex_lock(&p->mutex);
  (void)pthread_cond_signal(&p->ended);
  (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- the threads ---- */
static unsigned wait_for_round(castnet_pool *p, unsigned seen) {
  unsigned now = seen;
  for (int i = 0; i < SPINS; i++) {
    now = atomic_load(&p->round);
    if (now != seen) return now;
    pause_thread();
  }
  (void)pthread_mutex_lock(&p->mutex);
  while (now == seen) { /* who is told counts again, if there is nothing new: it slept after the round that it was told of */
    const unsigned told = p->told;
    (void)atomic_fetch_add(&p->asleep, 1);
    while ((now = atomic_load(&p->round)) == seen && p->told == told) (void)pthread_cond_wait(&p->begun, &p->mutex);
    if (p->told == told) (void)atomic_fetch_sub(&p->asleep, 1);
  }
  (void)pthread_mutex_unlock(&p->mutex);
  return now;
}

static void *thread_main(void *arg) {
  const Lane *lane = arg;
  castnet_pool *p = lane->pool;
  unsigned seen = 0;
  for (;;) {
    seen = wait_for_round(p, seen);
    if (atomic_load(&p->ends)) return NULL;
    const size_t done = work(p, lane->number);
    if (done) finish(p, done);
  }
}

static void next_round(castnet_pool *p) {
  (void)atomic_fetch_add(&p->round, 1);
  if (atomic_load(&p->asleep) == 0) return;
  (void)pthread_mutex_lock(&p->mutex);
  atomic_store(&p->asleep, 0);
  p->told++;
  (void)pthread_cond_broadcast(&p->begun);
  (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- the caller ---- */
/* finished: what it is once the threads have done their part. */
static void wait_for_all(castnet_pool *p, size_t finished) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load(&p->finished) == finished) return;
    pause_thread();
  }
  (void)pthread_mutex_lock(&p->mutex);
  atomic_store(&p->waiting, 1);
  while (atomic_load(&p->finished) != finished) (void)pthread_cond_wait(&p->ended, &p->mutex);
  atomic_store(&p->waiting, 0);
  (void)pthread_mutex_unlock(&p->mutex);
}

/* All threads sleep, and what is to do is not worth waking them yet. */
static int sleeps_on(castnet_pool *p, size_t n) {
  if (atomic_load_explicit(&p->asleep, memory_order_relaxed) + 1 < p->threads) {
    p->alone = 0;
    return 0;
  }
  p->alone += n < WAKE_LEAST ? n : WAKE_LEAST;
  if (p->alone < WAKE_LEAST) return 1;
  p->alone = 0;
  return 0;
}

static void run(castnet_pool *p, size_t n, Each *fn, Ranges *ranges, void *arg) {
  if (n == 0) return;
  if (n == 1 || n > UINT32_MAX || p->threads < 2 || atomic_flag_test_and_set(&p->busy)) {
    do_indices(fn, ranges, arg, 0, n);
    return;
  }
  if (sleeps_on(p, n)) {
    do_indices(fn, ranges, arg, 0, n);
    atomic_flag_clear(&p->busy);
    return;
  }
  const size_t active = n < p->threads ? n : p->threads, before = atomic_load(&p->finished);
  p->fn = fn;
  p->ranges = ranges;
  p->arg = arg;
  atomic_store_explicit(&p->active, active, memory_order_relaxed);
  atomic_store_explicit(&p->several, ranges != NULL, memory_order_relaxed);
  for (size_t k = 0; k < active; k++) {
    const uint64_t from = n * k / active, to = n * (k + 1) / active;
    atomic_store_explicit(&p->lanes[k].range, to << 32 | from, memory_order_release);
  }
  next_round(p);
  const size_t own = work(p, 0);
  wait_for_all(p, before + (n - own));
  atomic_flag_clear(&p->busy);
}

int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  run(pool, n, fn, NULL, arg);
  return 0;
}

int castnet_pool_ranges(void *pool, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  run(pool, n, NULL, fn, arg);
  return 0;
}

/* ---- making and ending ---- */
static size_t count_threads(size_t wanted) {
  const long processors = wanted ? 0 : sysconf(_SC_NPROCESSORS_ONLN);
  if (!wanted) wanted = processors > 0 ? (size_t)processors : 1;
  return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

/* Ends the threads 1 .. n - 1. */
static void end_threads(castnet_pool *p, size_t n) {
  atomic_store(&p->ends, 1);
  next_round(p);
  for (size_t k = 1; k < n; k++) (void)pthread_join(p->lanes[k].thread, NULL);
  (void)pthread_cond_destroy(&p->ended);
  (void)pthread_cond_destroy(&p->begun);
  (void)pthread_mutex_destroy(&p->mutex);
}

static castnet_pool *pool_memory(size_t threads) {
  unsigned char *memory = calloc(1, sizeof(castnet_pool) + threads * sizeof(Lane) + CACHE_LINE);
  if (!memory) return NULL;
  castnet_pool *p = (castnet_pool *)(void *)(memory + (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE);
  p->memory = memory;
  p->threads = threads;
  return p;
}

castnet_pool *castnet_pool_new(size_t threads) {
  const size_t n = count_threads(threads);
  castnet_pool *p = pool_memory(n);
  if (!p) return NULL;
  atomic_flag_clear(&p->busy);
  (void)pthread_mutex_init(&p->mutex, NULL);
  (void)pthread_cond_init(&p->begun, NULL);
  (void)pthread_cond_init(&p->ended, NULL);
  for (size_t k = 0; k < n; k++) {
    p->lanes[k].pool = p;
    p->lanes[k].number = k;
    if (k == 0 || pthread_create(&p->lanes[k].thread, NULL, thread_main, &p->lanes[k]) == 0) continue;
    end_threads(p, k);
    free(p->memory);
    return NULL;
  }
  return p;
}

void castnet_pool_free(castnet_pool *p) {
  if (!p) return;
  end_threads(p, p->threads);
  free(p->memory);
}

#ifdef __linux__
static int pin(pthread_t thread, size_t cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return pthread_setaffinity_np(thread, sizeof one, &one) != 0;
}

int castnet_pool_pin(castnet_pool *p) {
  cpu_set_t allowed;
  size_t k = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || (size_t)CPU_COUNT(&allowed) != p->threads) return 1;
  for (size_t cpu = 0; cpu < CPU_SETSIZE && k < p->threads; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    if (pin(k ? p->lanes[k].thread : pthread_self(), cpu)) return 1;
    k++;
  }
  return 0;
}
#else
int castnet_pool_pin(castnet_pool *p) {
  (void)p;
  return 1;
}
#endif

/* ---- how far apart the threads are ---- */
enum { TRIPS = 8, BATCHES = 8, TRIES = 100, LANE_INDICES = 16 /* of which the first does something; so many wake threads that sleep */ };

/* The caller asks one thread after the other: thread << 16 | trip, which the thread repeats. */
typedef struct Trips {
  _Alignas(CACHE_LINE) atomic_uint asked;
  _Alignas(CACHE_LINE) atomic_uint answered;
  _Alignas(CACHE_LINE) unsigned threads;
  double longest; /* ns */
} Trips;

static double nanoseconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Nobody waits for long: who is waited for may not run. */
static int is_answered(Trips *t, unsigned question) {
  atomic_store(&t->asked, question);
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load(&t->answered) == question) return 1;
    pause_thread();
  }
  return 0;
}

/* Of the best batch; 0: no answer. */
static double trip_to(Trips *t, unsigned thread) {
  double best = 0.0;
  for (unsigned b = 0; b < BATCHES; b++) {
    const double start = nanoseconds();
    for (unsigned i = 0; i < TRIPS; i++)
      if (!is_answered(t, thread << 16 | (b * TRIPS + i + 1))) return best;
    const double one = (nanoseconds() - start) / TRIPS;
    if (b == 0 || one < best) best = one;
  }
  return best;
}

static void answer(Trips *t, unsigned thread) {
  unsigned last = 0;
  for (int i = 0; i < SPINS; i++) {
    const unsigned question = atomic_load(&t->asked);
    if (question >> 16 > thread) return;
    if (question >> 16 == thread && question != last) {
      atomic_store(&t->answered, last = question);
      i = 0;
    }
    pause_thread();
  }
}

static void do_trips(void *arg, size_t i) {
  Trips *t = arg;
  if (i % LANE_INDICES != 0) return;
  if (i > 0) {
    answer(t, (unsigned)(i / LANE_INDICES));
    return;
  }
  for (unsigned k = 1; k < t->threads; k++) {
    const double trip = trip_to(t, k);
    if (trip > t->longest) t->longest = trip;
  }
  atomic_store(&t->asked, t->threads << 16);
}

uint32_t castnet_pool_line_ns(castnet_pool *p) {
  double longest = 0.0;
  for (int i = 0; i < TRIES && p->threads > 1 && longest <= 0.0; i++) { /* a thread that slept may come only for the next */
    Trips t = {.threads = (unsigned)p->threads};
    (void)castnet_pool_run(p, p->threads * LANE_INDICES, do_trips, &t);
    longest = t.longest;
  }
  return (uint32_t)longest;
}

size_t castnet_pool_threads(const castnet_pool *p) { return p->threads; }
