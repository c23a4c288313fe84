/* SPDX-License-Identifier: MIT-0 */
/* Elements of 4 and 2 bits: in memory packed, in arithmetic one a byte. */
#ifndef CN_SCALAR_PACKED_H
#define CN_SCALAR_PACKED_H

#include <stddef.h>
#include <stdint.h>

/* The low bits, as casts between integers keep them. */
static inline uint8_t cn_wrap_u4(uint8_t x) { return (uint8_t)(x & 15); }

/* Saturated, as casts from floats are. */
static inline uint8_t cn_sat_u4(uint8_t x) { return (uint8_t)(x < 15 ? x : 15); }

/* Element i of packed data, low bits of a byte first. */
static inline uint8_t cn_get_u4(const uint8_t *p, size_t i) { return (uint8_t)(p[i >> 1] >> ((i & 1) * 4) & 15); }

/* Replaces element i; its neighbours in the byte stay. */
static inline void cn_put_u4(uint8_t *p, size_t i, uint8_t x) {
  const unsigned shift = (unsigned)((i & 1) * 4);
  p[i >> 1] = (uint8_t)((p[i >> 1] & ~(15u << shift)) | (x & 15u) << shift);
}

static inline int8_t cn_wrap_s4(int8_t x) { return (int8_t)(((x & 15) ^ 8) - 8); }

static inline int8_t cn_sat_s4(int8_t x) { return (int8_t)(x < -8 ? -8 : x < 7 ? x : 7); }

static inline int8_t cn_get_s4(const uint8_t *p, size_t i) { return cn_wrap_s4((int8_t)cn_get_u4(p, i)); }

static inline void cn_put_s4(uint8_t *p, size_t i, int8_t x) { cn_put_u4(p, i, (uint8_t)x); }

static inline uint8_t cn_wrap_u2(uint8_t x) { return (uint8_t)(x & 3); }

static inline uint8_t cn_sat_u2(uint8_t x) { return (uint8_t)(x < 3 ? x : 3); }

static inline uint8_t cn_get_u2(const uint8_t *p, size_t i) { return (uint8_t)(p[i >> 2] >> ((i & 3) * 2) & 3); }

static inline void cn_put_u2(uint8_t *p, size_t i, uint8_t x) {
  const unsigned shift = (unsigned)((i & 3) * 2);
  p[i >> 2] = (uint8_t)((p[i >> 2] & ~(3u << shift)) | (x & 3u) << shift);
}

static inline int8_t cn_wrap_s2(int8_t x) { return (int8_t)(((x & 3) ^ 2) - 2); }

static inline int8_t cn_sat_s2(int8_t x) { return (int8_t)(x < -2 ? -2 : x < 1 ? x : 1); }

static inline int8_t cn_get_s2(const uint8_t *p, size_t i) { return cn_wrap_s2((int8_t)cn_get_u2(p, i)); }

static inline void cn_put_s2(uint8_t *p, size_t i, int8_t x) { cn_put_u2(p, i, (uint8_t)x); }

static inline uint8_t cn_get_f4e2m1(const uint8_t *p, size_t i) { return cn_get_u4(p, i); }

static inline void cn_put_f4e2m1(uint8_t *p, size_t i, uint8_t x) { cn_put_u4(p, i, x); }

#endif
