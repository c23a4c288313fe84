/* SPDX-License-Identifier: MIT-0 */
/* Dimension arithmetic of N_run and of step functions: total, as compiler/base/base.c has it (i64_floordiv, i64_floormod). */
#ifndef CN_DIM_H
#define CN_DIM_H

#include <stdint.h>

/* Towards minus infinity; a division by zero gives 0, INT64_MIN / -1 saturates. */
static inline int64_t cn_dim_floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* The remainder of cn_dim_floordiv: it has the sign of b. */
static inline int64_t cn_dim_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline int64_t cn_dim_min(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t cn_dim_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Whether a + b, a * b overflow; else *r is the result. Compilers know the flag; on 32 bits clang would call a function for it,
 * and devices have none. */
#if defined(__GNUC__) && UINTPTR_MAX > 0xffffffffu && !defined(__CUDACC__)
#define CN_ADD_OVERFLOWS(a, b, r) __builtin_add_overflow(a, b, r)
#define CN_MUL_OVERFLOWS(a, b, r) __builtin_mul_overflow(a, b, r)
#else
#define CN_ADD_OVERFLOWS(a, b, r) (((b) > 0 ? (a) > INT64_MAX - (b) : (a) < INT64_MIN - (b)) || (*(r) = (a) + (b), 0))
#define CN_MUL_OVERFLOWS(a, b, r)                                                \
  (((a) > 0 ? ((b) > 0 ? (a) > INT64_MAX / (b) : (b) < INT64_MIN / (a))          \
            : ((b) > 0 ? (a) < INT64_MIN / (b) : (a) != 0 && (b) < INT64_MAX / (a))) || \
   (*(r) = (a) * (b), 0))
#endif

/* a + b; on overflow 0, and *bad is set. */
static inline int64_t cn_dim_add_checked(int64_t a, int64_t b, int *bad) {
  int64_t r;
  if (!CN_ADD_OVERFLOWS(a, b, &r)) return r;
  *bad = 1;
  return 0;
}

/* a * b; on overflow 0, and *bad is set. */
static inline int64_t cn_dim_mul_checked(int64_t a, int64_t b, int *bad) {
  int64_t r;
  if (!CN_MUL_OVERFLOWS(a, b, &r)) return r;
  *bad = 1;
  return 0;
}

/* Bytes of n elements of `size` bytes; on overflow of size_t or int64_t, or n < 0, 0, and *bad is set. */
static inline int64_t cn_dim_bytes(int64_t n, int64_t size, int *bad) {
  const int64_t r = cn_dim_mul_checked(n, size, bad);
  if (n < 0 || (uint64_t)r > (uint64_t)PTRDIFF_MAX) *bad = 1;
  return r;
}

#endif
