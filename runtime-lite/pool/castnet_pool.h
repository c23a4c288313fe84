/* SPDX-License-Identifier: MIT-0 */
/* A pool of threads for code compiled by castnet: what castnet_env.parallel_for and parallel_ranges may be, C11 and POSIX threads.
 *
 *   castnet_pool *pool = castnet_pool_new(0);
 *   castnet_env env = {.size = sizeof env, .parallel_for = castnet_pool_run, .parallel_user = pool, .line_ns = castnet_pool_line_ns(pool),
 *                      .parallel_ranges = castnet_pool_ranges, .threads = (uint32_t)castnet_pool_threads(pool)};
 *   ... N_run(&in, &out, ws, ws_size, &env) ...
 *   castnet_pool_free(pool);
 *
 * Results do not depend on the number of threads. Threads that have nothing to do spin for some 200 microseconds, then sleep; a few indices
 * alone do not wake them. */
#ifndef CASTNET_POOL_H
#define CASTNET_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct castnet_pool castnet_pool;

/* Threads, the one that calls counted; 0: as many as there are processors. NULL where memory or threads are refused. */
castnet_pool *castnet_pool_new(size_t threads);
/* Ends the threads. No call may be under way; NULL is fine. */
void castnet_pool_free(castnet_pool *pool);
size_t castnet_pool_threads(const castnet_pool *pool);

/* Binds the calling thread and the pool's to a processor each, where the process may use just as many as there are threads (taskset, cgroups' cpusets); else,
 * and where the system has no such call, nothing is done and 1 returned. For machines with other work: a scheduler may leave two threads on one processor. */
int castnet_pool_pin(castnet_pool *pool);

/* What castnet_env.line_ns is for: the nanoseconds that a cache line takes to the pool's furthest thread and back, measured now, in some ten
 * microseconds once its threads are awake, in some 20 milliseconds at most; 0 with one thread, or where none comes in that time. For callers to ask once the threads are
 * pinned; in virtual machines, whose processors move, again now and then. Not while the pool serves a call. */
uint32_t castnet_pool_line_ns(castnet_pool *pool);

/* Runs fn(arg, i) for each i < n and returns 0 when all are done. The pool serves one caller at a time: while it does, others (and fn
 * itself) run all of theirs alone, in order. */
int castnet_pool_run(void *pool, size_t n, void (*fn)(void *arg, size_t i), void *arg);

/* The same for castnet_env.parallel_ranges: fn(arg, from, to) for a few ranges that have each i < n in one of them. Each thread takes three
 * quarters of its part at once, or all of up to three indices, so that little is done twice, and leaves the rest to whoever is done first. */
int castnet_pool_ranges(void *pool, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg);

#ifdef __cplusplus
}
#endif
#endif
