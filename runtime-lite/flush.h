/* SPDX-License-Identifier: MIT-0 */
/* Calls of code compiled with --flush-subnormals: operands and results below the least normal number are zero. */
#ifndef CN_FLUSH_H
#define CN_FLUSH_H

#include "base.h"
#include "call.h"

/* The bits of the thread's floating-point control that flush become those of `bits`; ret: all of it, as it was. Machines without a way keep theirs. */
static inline uint64_t cn_flush_set(uint64_t bits) {
#if defined(__GNUC__) && defined(__SSE2__)
  const uint32_t mask = 1u << 15 | 1u << 6; /* FTZ, DAZ */
  uint32_t before, now;
  __asm__ volatile("stmxcsr %0" : "=m"(before) : : "memory");
  now = (before & ~mask) | ((uint32_t)bits & mask);
  __asm__ volatile("ldmxcsr %0" : : "m"(now) : "memory");
  return before;
#elif defined(__GNUC__) && defined(__aarch64__)
  const uint64_t mask = 1u << 24; /* FZ */
  uint64_t before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before) : : "memory");
  __asm__ volatile("msr fpcr, %0" : : "r"((before & ~mask) | (bits & mask)) : "memory");
  return before;
#elif defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP)
  const uint32_t mask = 1u << 24; /* FZ */
  uint32_t before;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(before) : : "memory");
  __asm__ volatile("vmsr fpscr, %0" : : "r"((before & ~mask) | ((uint32_t)bits & mask)) : "memory");
  return before;
#else
  return bits;
#endif
}

/* One call, which runs in `own`: its shares flush on whichever thread they are. */
typedef struct cn_flushed {
  castnet_env caller, own;
  uint64_t before;
} cn_flushed;

typedef struct cn_flushed_shares {
  void (*fn)(void *arg, size_t i);
  void *arg;
} cn_flushed_shares;

CN_NOINLINE void cn_flushed_share(void *arg, size_t i) {
  const cn_flushed_shares *s = (const cn_flushed_shares *)arg;
  const uint64_t before = cn_flush_set(UINT64_MAX);
  s->fn(s->arg, i);
  (void)cn_flush_set(before);
}

CN_NOINLINE int cn_flushed_for(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  const castnet_env *e = (const castnet_env *)user;
  cn_flushed_shares s = {fn, arg};
  return e->parallel_for(e->parallel_user, n, cn_flushed_share, &s);
}

typedef struct cn_flushed_span {
  void (*fn)(void *arg, size_t from, size_t to);
  void *arg;
} cn_flushed_span;

CN_NOINLINE void cn_flushed_range(void *arg, size_t from, size_t to) {
  const cn_flushed_span *s = (const cn_flushed_span *)arg;
  const uint64_t before = cn_flush_set(UINT64_MAX);
  s->fn(s->arg, from, to);
  (void)cn_flush_set(before);
}

CN_NOINLINE int cn_flushed_ranges(void *user, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  const castnet_env *e = (const castnet_env *)user;
  cn_flushed_span s = {fn, arg};
  return e->parallel_ranges(e->parallel_user, n, cn_flushed_range, &s);
}

static inline void cn_flush_begin(cn_flushed *f, const castnet_env *env) {
  cn_env_read(&f->caller, env);
  f->own = f->caller;
  if (f->caller.parallel_for != NULL) {
    f->own.parallel_for = cn_flushed_for;
    f->own.parallel_user = &f->caller;
    if (f->caller.parallel_ranges != NULL) f->own.parallel_ranges = cn_flushed_ranges;
  }
  f->before = cn_flush_set(UINT64_MAX);
}

static inline void cn_flush_end(const cn_flushed *f) { (void)cn_flush_set(f->before); }

#endif
