/* SPDX-License-Identifier: MIT-0 */
/* Natural numbers of up to 4,096 bits: as much as conversions between binary and decimal ask for. */
#ifndef CN_OPS_BIG_H
#define CN_OPS_BIG_H

#include "base.h"

enum { CN_BIG_WORDS = 128 };

typedef struct cn_big {
  uint32_t w[CN_BIG_WORDS]; /* low words first */
  size_t n;                 /* the highest of them is not 0 */
} cn_big;

CN_INLINE void cn_big_set(cn_big *x, uint64_t v) {
  x->w[0] = (uint32_t)v;
  x->w[1] = (uint32_t)(v >> 32);
  x->n = v == 0 ? 0 : v >> 32 ? 2 : 1;
}

/* x * m + more. What does not fit is lost: callers keep to sizes that do. */
CN_NOINLINE void cn_big_multiply(cn_big *x, uint32_t m, uint32_t more) {
  uint64_t carry = more;
  for (size_t i = 0; i < x->n; i++) {
    carry += (uint64_t)x->w[i] * m;
    x->w[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry && x->n < CN_BIG_WORDS) x->w[x->n++] = (uint32_t)carry;
}

CN_NOINLINE void cn_big_power10(cn_big *x, unsigned k) {
  for (; k >= 9; k -= 9) cn_big_multiply(x, 1000000000u, 0);
  for (; k > 0; k--) cn_big_multiply(x, 10, 0);
}

CN_NOINLINE void cn_big_shift(cn_big *x, unsigned k) {
  const size_t words = k / 32;
  if (k % 32) cn_big_multiply(x, 1u << k % 32, 0);
  if (words == 0 || x->n == 0 || x->n + words > CN_BIG_WORDS) return;
  memmove(x->w + words, x->w, x->n * sizeof *x->w);
  memset(x->w, 0, words * sizeof *x->w);
  x->n += words;
}

/* Negative, zero or positive, as x is less than, equal to or greater than y. */
CN_NOINLINE int cn_big_compare(const cn_big *x, const cn_big *y) {
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  for (size_t i = x->n; i-- > 0;)
    if (x->w[i] != y->w[i]) return x->w[i] < y->w[i] ? -1 : 1;
  return 0;
}

CN_NOINLINE void cn_big_add(cn_big *x, const cn_big *y) {
  uint64_t carry = 0;
  for (size_t i = 0; i < y->n || (carry && i < CN_BIG_WORDS); i++) {
    carry += (i < x->n ? x->w[i] : 0) + (uint64_t)(i < y->n ? y->w[i] : 0);
    x->w[i] = (uint32_t)carry;
    if (i >= x->n) x->n = i + 1;
    carry >>= 32;
  }
}

/* x - y, y <= x */
CN_NOINLINE void cn_big_subtract(cn_big *x, const cn_big *y) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < x->n; i++) {
    const uint64_t d = (uint64_t)x->w[i] - (i < y->n ? y->w[i] : 0) - borrow;
    x->w[i] = (uint32_t)d;
    borrow = d >> 63;
  }
  while (x->n && x->w[x->n - 1] == 0) x->n--;
}

CN_INLINE unsigned cn_big_bits(const cn_big *x) {
  unsigned n = 0;
  if (x->n == 0) return 0;
  for (uint32_t top = x->w[x->n - 1]; top; top >>= 1) n++;
  return n + 32 * (unsigned)(x->n - 1);
}

#endif
