/* SPDX-License-Identifier: MIT-0 */
/* What every kernel stands on: the words for "inline" and "unroll" of each compiler.
 *
 * House rule of this folder (the bundler depends on it): one top-level item, one blank line, the next item; no blank line
 * inside an item; its comment directly above it; every defined name starts with cn_ or CN_. */
#ifndef CN_BASE_H
#define CN_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Full unrolling of a loop whose trip count is a literal once its function is inlined. Each compiler needs its own pragma:
 * with another, or with none, accumulators that live in an array are spilled. n is an upper bound of the trip count. */
#if defined(__clang__)
#define CN_UNROLL(n) CN_PRAGMA(clang loop unroll(full))
#elif defined(__GNUC__)
#define CN_UNROLL(n) CN_PRAGMA(GCC unroll n)
#else
#define CN_UNROLL(n)
#endif

/* Before a loop over one vector's lanes. clang would unroll it, then make vector code of the loop around it instead, whose lanes
 * are 16 elements apart: gathers and scatters. gcc leaves it alone. */
#if defined(__clang__)
#define CN_LANES CN_PRAGMA(clang loop unroll(disable))
#else
#define CN_LANES
#endif

#define CN_PRAGMA(text) _Pragma(#text)

/* A body that must vanish into its caller, so that its parameters become literals there. */
#if defined(__GNUC__)
#define CN_INLINE static inline __attribute__((always_inline))
#else
#define CN_INLINE static inline
#endif

/* A driver: one copy a translation unit, called with arguments. */
#if defined(__GNUC__)
#define CN_NOINLINE static __attribute__((noinline, unused))
#else
#define CN_NOINLINE static
#endif

/* A body or a driver that uses the SIMD layer; CN_SIMD is the layer's target attribute. */
#define CN_KERNEL CN_INLINE CN_SIMD

#define CN_DRIVER CN_NOINLINE CN_SIMD

#if defined(__GNUC__)
#define CN_ALIGN(n) __attribute__((aligned(n)))
#else
#define CN_ALIGN(n)
#endif

/* Asks for the cache line at p, whatever p is. */
#if defined(__GNUC__)
#define CN_PREFETCH(p) __builtin_prefetch(p)
#else
#define CN_PREFETCH(p) ((void)(p))
#endif

/* Hides where the pointer p, a variable, comes from, so that a compiler does not derive it from another one again and again. */
#if defined(__GNUC__)
#define CN_OPAQUE(p) __asm__("" : "+r"(p))
#else
#define CN_OPAQUE(p) ((void)(p))
#endif

/* The array x is written and read in memory there. */
#if defined(__GNUC__)
#define CN_IN_MEMORY(x) __asm__("" : "+m"(x))
#else
#define CN_IN_MEMORY(x) ((void)(x))
#endif

/* Steps a turn of a loop over registers: of n, gcc 12 spills some. */
#if defined(__clang__)
#define CN_TURN(n) (n)
#else
#define CN_TURN(n) 1
#endif

/* Rows of a product's left operand, any distance apart, that share a pointer: the second and third are an addressing mode away. One pointer
 * for all would be walked from row to row, a chain of additions as long as a step's products; one for each would leave no registers. */
#define CN_TILE_ROWS 3

CN_INLINE size_t cn_min(size_t a, size_t b) { return a < b ? a : b; }

CN_INLINE size_t cn_max(size_t a, size_t b) { return a > b ? a : b; }

CN_INLINE size_t cn_ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }

CN_INLINE size_t cn_round_up(size_t a, size_t b) { return cn_ceil_div(a, b) * b; }

/* Where part i of `of` equal parts of n begins. */
CN_INLINE size_t cn_share(size_t n, size_t i, size_t of) { return n / of * i + n % of * i / of; }

/* The same in whole groups of `by`; the last may be smaller. */
CN_INLINE size_t cn_share_by(size_t n, size_t by, size_t i, size_t of) { return cn_min(n, by * cn_share(cn_ceil_div(n, by), i, of)); }

#endif
