/* SPDX-License-Identifier: MIT-0 */
/* Case of characters by Unicode's simple mappings, whatever the locale. What is not UTF-8 stays as it is, byte by byte. */
#ifndef CN_OPS_CASE_H
#define CN_OPS_CASE_H

#include "base.h"
#include "castnet_abi.h"
#include "ops/case_table.h"

enum { CN_TO_LOWER = 0, CN_TO_UPPER = 1, CN_NOT_UTF8 = 0x110000 };

/* The character at p, of 1 .. 4 of n bytes, n > 0; CN_NOT_UTF8 + the byte where there is none. */
CN_NOINLINE uint32_t cn_utf8_read(const char *p, size_t n, size_t *ret_bytes) {
  const uint32_t b = (unsigned char)p[0];
  const size_t more = b < 0x80 ? 0 : b >= 0xc2 && b < 0xe0 ? 1 : b >= 0xe0 && b < 0xf0 ? 2 : b >= 0xf0 && b < 0xf5 ? 3 : 4;
  uint32_t c = more == 0 ? b : b & (0x3fu >> more);
  *ret_bytes = 1;
  if (more > 3 || more >= n) return CN_NOT_UTF8 + b;
  for (size_t i = 1; i <= more; i++) {
    const uint32_t next = (unsigned char)p[i];
    if ((next & 0xc0) != 0x80) return CN_NOT_UTF8 + b;
    c = c << 6 | (next & 0x3f);
  }
  if ((more == 2 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (more == 3 && (c < 0x10000 || c >= CN_NOT_UTF8))) return CN_NOT_UTF8 + b;
  *ret_bytes = more + 1;
  return c;
}

/* Its bytes at p, if that is not NULL; how many there are. */
CN_NOINLINE size_t cn_utf8_write(uint32_t c, char *p) {
  const size_t more = c < 0x80 || c >= CN_NOT_UTF8 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  if (p == NULL) return more + 1;
  if (more == 0) {
    p[0] = (char)(unsigned char)(c >= CN_NOT_UTF8 ? c - CN_NOT_UTF8 : c);
    return 1;
  }
  p[0] = (char)(unsigned char)((0xf0u << (3 - more) & 0xff) | c >> (6 * more));
  for (size_t i = 1; i <= more; i++) p[i] = (char)(unsigned char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
  return more + 1;
}

/* The character in the other case, itself where it has none. */
CN_NOINLINE uint32_t cn_case_map(int to, uint32_t c) {
  const cn_case_range *table = to == CN_TO_UPPER ? cn_case_to_upper : cn_case_to_lower;
  size_t lo = 0, hi = to == CN_TO_UPPER ? CN_CASE_UPPER : CN_CASE_LOWER;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (table[mid].first <= c) lo = mid + 1;
    else hi = mid;
  }
  for (size_t i = lo; i > 0 && i + 2 > lo; i--) { /* ranges with gaps may hold one that begins in them */
    const cn_case_range *r = &table[i - 1];
    const uint32_t behind = c - r->first;
    if (behind < (uint32_t)r->count * r->step && behind % r->step == 0) return (uint32_t)((int64_t)c + r->delta);
  }
  return c;
}

/* What characters are compared as where case does not count. */
CN_INLINE uint32_t cn_case_fold(uint32_t c) { return cn_case_map(CN_TO_LOWER, cn_case_map(CN_TO_UPPER, c)); }

/* Negative, zero or positive, as a comes before, with or behind b by folded characters. */
CN_NOINLINE int cn_case_compare(castnet_string a, castnet_string b) {
  size_t i = 0, k = 0, x_bytes, y_bytes;
  while (i < a.length && k < b.length) {
    const uint32_t x = cn_case_fold(cn_utf8_read(a.ptr + i, a.length - i, &x_bytes));
    const uint32_t y = cn_case_fold(cn_utf8_read(b.ptr + k, b.length - k, &y_bytes));
    if (x != y) return x < y ? -1 : 1;
    i += x_bytes;
    k += y_bytes;
  }
  return (i < a.length) - (k < b.length);
}

/* s in the other case, at p if that is not NULL; its length. */
CN_NOINLINE size_t cn_case_text(int to, castnet_string s, char *p) {
  size_t n = 0, bytes;
  for (size_t i = 0; i < s.length; i += bytes) {
    const uint32_t c = cn_case_map(to, cn_utf8_read(s.ptr + i, s.length - i, &bytes));
    n += cn_utf8_write(c, p ? p + n : NULL);
  }
  return n;
}

#endif
