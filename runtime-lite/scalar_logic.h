/* SPDX-License-Identifier: MIT-0 */
/* Bit and boolean operations, shifts. */
#ifndef CN_SCALAR_LOGIC_H
#define CN_SCALAR_LOGIC_H

#include <stdint.h>

/* Booleans are 0 or 1, so the bit operations serve them too. */
static inline uint8_t cn_and_b1(uint8_t a, uint8_t b) { return (uint8_t)(a & b); }

static inline int8_t cn_and_s8(int8_t a, int8_t b) { return (int8_t)(a & b); }

static inline int16_t cn_and_s16(int16_t a, int16_t b) { return (int16_t)(a & b); }

static inline int32_t cn_and_s32(int32_t a, int32_t b) { return (int32_t)(a & b); }

static inline int64_t cn_and_s64(int64_t a, int64_t b) { return (int64_t)(a & b); }

static inline uint8_t cn_and_u8(uint8_t a, uint8_t b) { return (uint8_t)(a & b); }

static inline uint16_t cn_and_u16(uint16_t a, uint16_t b) { return (uint16_t)(a & b); }

static inline uint32_t cn_and_u32(uint32_t a, uint32_t b) { return (uint32_t)(a & b); }

static inline uint64_t cn_and_u64(uint64_t a, uint64_t b) { return (uint64_t)(a & b); }

static inline uint8_t cn_or_b1(uint8_t a, uint8_t b) { return (uint8_t)(a | b); }

static inline int8_t cn_or_s8(int8_t a, int8_t b) { return (int8_t)(a | b); }

static inline int16_t cn_or_s16(int16_t a, int16_t b) { return (int16_t)(a | b); }

static inline int32_t cn_or_s32(int32_t a, int32_t b) { return (int32_t)(a | b); }

static inline int64_t cn_or_s64(int64_t a, int64_t b) { return (int64_t)(a | b); }

static inline uint8_t cn_or_u8(uint8_t a, uint8_t b) { return (uint8_t)(a | b); }

static inline uint16_t cn_or_u16(uint16_t a, uint16_t b) { return (uint16_t)(a | b); }

static inline uint32_t cn_or_u32(uint32_t a, uint32_t b) { return (uint32_t)(a | b); }

static inline uint64_t cn_or_u64(uint64_t a, uint64_t b) { return (uint64_t)(a | b); }

static inline uint8_t cn_xor_b1(uint8_t a, uint8_t b) { return (uint8_t)(a ^ b); }

static inline int8_t cn_xor_s8(int8_t a, int8_t b) { return (int8_t)(a ^ b); }

static inline int16_t cn_xor_s16(int16_t a, int16_t b) { return (int16_t)(a ^ b); }

static inline int32_t cn_xor_s32(int32_t a, int32_t b) { return (int32_t)(a ^ b); }

static inline int64_t cn_xor_s64(int64_t a, int64_t b) { return (int64_t)(a ^ b); }

static inline uint8_t cn_xor_u8(uint8_t a, uint8_t b) { return (uint8_t)(a ^ b); }

static inline uint16_t cn_xor_u16(uint16_t a, uint16_t b) { return (uint16_t)(a ^ b); }

static inline uint32_t cn_xor_u32(uint32_t a, uint32_t b) { return (uint32_t)(a ^ b); }

static inline uint64_t cn_xor_u64(uint64_t a, uint64_t b) { return (uint64_t)(a ^ b); }

static inline uint8_t cn_not_b1(uint8_t a) { return (uint8_t)(a ^ 1); }

static inline int8_t cn_not_s8(int8_t a) { return (int8_t)~a; }

static inline int16_t cn_not_s16(int16_t a) { return (int16_t)~a; }

static inline int32_t cn_not_s32(int32_t a) { return (int32_t)~a; }

static inline int64_t cn_not_s64(int64_t a) { return (int64_t)~a; }

static inline uint8_t cn_not_u8(uint8_t a) { return (uint8_t)~a; }

static inline uint16_t cn_not_u16(uint16_t a) { return (uint16_t)~a; }

static inline uint32_t cn_not_u32(uint32_t a) { return (uint32_t)~a; }

static inline uint64_t cn_not_u64(uint64_t a) { return (uint64_t)~a; }

/* A count outside 0 .. width - 1 shifts everything out (ONNX BitShift 28). */
static inline int8_t cn_shl_s8(int8_t a, int8_t b) { return (int8_t)((uint8_t)b < 8 ? (uint32_t)a << (b & 7) : 0); }

static inline int16_t cn_shl_s16(int16_t a, int16_t b) { return (int16_t)((uint16_t)b < 16 ? (uint32_t)a << (b & 15) : 0); }

static inline int32_t cn_shl_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)b < 32 ? (uint32_t)a << (b & 31) : 0); }

static inline int64_t cn_shl_s64(int64_t a, int64_t b) { return (int64_t)((uint64_t)b < 64 ? (uint64_t)a << (b & 63) : 0); }

static inline uint8_t cn_shl_u8(uint8_t a, uint8_t b) { return (uint8_t)((uint8_t)b < 8 ? (uint32_t)a << (b & 7) : 0); }

static inline uint16_t cn_shl_u16(uint16_t a, uint16_t b) { return (uint16_t)((uint16_t)b < 16 ? (uint32_t)a << (b & 15) : 0); }

static inline uint32_t cn_shl_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint32_t)b < 32 ? (uint32_t)a << (b & 31) : 0); }

static inline uint64_t cn_shl_u64(uint64_t a, uint64_t b) { return (uint64_t)((uint64_t)b < 64 ? (uint64_t)a << (b & 63) : 0); }

/* Signed values shift in their sign; a count outside 0 .. width - 1 leaves only the fill. */
static inline int8_t cn_shr_s8(int8_t a, int8_t b) {
  const uint32_t fill = a < 0 ? ~(uint32_t)0 : 0;
  const uint32_t n = (uint8_t)b < 8 ? (uint32_t)b : 7;
  return (int8_t)((((uint32_t)a ^ fill) >> n) ^ fill);
}

static inline int16_t cn_shr_s16(int16_t a, int16_t b) {
  const uint32_t fill = a < 0 ? ~(uint32_t)0 : 0;
  const uint32_t n = (uint16_t)b < 16 ? (uint32_t)b : 15;
  return (int16_t)((((uint32_t)a ^ fill) >> n) ^ fill);
}

static inline int32_t cn_shr_s32(int32_t a, int32_t b) {
  const uint32_t fill = a < 0 ? ~(uint32_t)0 : 0;
  const uint32_t n = (uint32_t)b < 32 ? (uint32_t)b : 31;
  return (int32_t)((((uint32_t)a ^ fill) >> n) ^ fill);
}

static inline int64_t cn_shr_s64(int64_t a, int64_t b) {
  const uint64_t fill = a < 0 ? ~(uint64_t)0 : 0;
  const uint64_t n = (uint64_t)b < 64 ? (uint64_t)b : 63;
  return (int64_t)((((uint64_t)a ^ fill) >> n) ^ fill);
}

static inline uint8_t cn_shr_u8(uint8_t a, uint8_t b) { return (uint8_t)(b < 8 ? a >> (b & 7) : 0); }

static inline uint16_t cn_shr_u16(uint16_t a, uint16_t b) { return (uint16_t)(b < 16 ? a >> (b & 15) : 0); }

static inline uint32_t cn_shr_u32(uint32_t a, uint32_t b) { return (uint32_t)(b < 32 ? a >> (b & 31) : 0); }

static inline uint64_t cn_shr_u64(uint64_t a, uint64_t b) { return (uint64_t)(b < 64 ? a >> (b & 63) : 0); }

#endif
