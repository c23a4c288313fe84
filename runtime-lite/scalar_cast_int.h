/* SPDX-License-Identifier: MIT-0 */
/* Conversions between integers keep the low bits. */
#ifndef CN_SCALAR_CAST_INT_H
#define CN_SCALAR_CAST_INT_H

#include <stdint.h>

static inline int16_t cn_cast_s8_s16(int8_t x) { return (int16_t)x; }

static inline int32_t cn_cast_s8_s32(int8_t x) { return (int32_t)x; }

static inline int64_t cn_cast_s8_s64(int8_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_s8_u8(int8_t x) { return (uint8_t)x; }

static inline uint16_t cn_cast_s8_u16(int8_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_s8_u32(int8_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_s8_u64(int8_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_s8_b1(int8_t x) { return x != 0; }

static inline int8_t cn_cast_s16_s8(int16_t x) { return (int8_t)x; }

static inline int32_t cn_cast_s16_s32(int16_t x) { return (int32_t)x; }

static inline int64_t cn_cast_s16_s64(int16_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_s16_u8(int16_t x) { return (uint8_t)x; }

static inline uint16_t cn_cast_s16_u16(int16_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_s16_u32(int16_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_s16_u64(int16_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_s16_b1(int16_t x) { return x != 0; }

static inline int8_t cn_cast_s32_s8(int32_t x) { return (int8_t)x; }

static inline int16_t cn_cast_s32_s16(int32_t x) { return (int16_t)x; }

static inline int64_t cn_cast_s32_s64(int32_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_s32_u8(int32_t x) { return (uint8_t)x; }

static inline uint16_t cn_cast_s32_u16(int32_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_s32_u32(int32_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_s32_u64(int32_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_s32_b1(int32_t x) { return x != 0; }

static inline int8_t cn_cast_s64_s8(int64_t x) { return (int8_t)x; }

static inline int16_t cn_cast_s64_s16(int64_t x) { return (int16_t)x; }

static inline int32_t cn_cast_s64_s32(int64_t x) { return (int32_t)x; }

static inline uint8_t cn_cast_s64_u8(int64_t x) { return (uint8_t)x; }

static inline uint16_t cn_cast_s64_u16(int64_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_s64_u32(int64_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_s64_u64(int64_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_s64_b1(int64_t x) { return x != 0; }

static inline int8_t cn_cast_u8_s8(uint8_t x) { return (int8_t)x; }

static inline int16_t cn_cast_u8_s16(uint8_t x) { return (int16_t)x; }

static inline int32_t cn_cast_u8_s32(uint8_t x) { return (int32_t)x; }

static inline int64_t cn_cast_u8_s64(uint8_t x) { return (int64_t)x; }

static inline uint16_t cn_cast_u8_u16(uint8_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_u8_u32(uint8_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_u8_u64(uint8_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_u8_b1(uint8_t x) { return x != 0; }

static inline int8_t cn_cast_u16_s8(uint16_t x) { return (int8_t)x; }

static inline int16_t cn_cast_u16_s16(uint16_t x) { return (int16_t)x; }

static inline int32_t cn_cast_u16_s32(uint16_t x) { return (int32_t)x; }

static inline int64_t cn_cast_u16_s64(uint16_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_u16_u8(uint16_t x) { return (uint8_t)x; }

static inline uint32_t cn_cast_u16_u32(uint16_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_u16_u64(uint16_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_u16_b1(uint16_t x) { return x != 0; }

static inline int8_t cn_cast_u32_s8(uint32_t x) { return (int8_t)x; }

static inline int16_t cn_cast_u32_s16(uint32_t x) { return (int16_t)x; }

static inline int32_t cn_cast_u32_s32(uint32_t x) { return (int32_t)x; }

static inline int64_t cn_cast_u32_s64(uint32_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_u32_u8(uint32_t x) { return (uint8_t)x; }

static inline uint16_t cn_cast_u32_u16(uint32_t x) { return (uint16_t)x; }

static inline uint64_t cn_cast_u32_u64(uint32_t x) { return (uint64_t)x; }

static inline uint8_t cn_cast_u32_b1(uint32_t x) { return x != 0; }

static inline int8_t cn_cast_u64_s8(uint64_t x) { return (int8_t)x; }

static inline int16_t cn_cast_u64_s16(uint64_t x) { return (int16_t)x; }

static inline int32_t cn_cast_u64_s32(uint64_t x) { return (int32_t)x; }

static inline int64_t cn_cast_u64_s64(uint64_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_u64_u8(uint64_t x) { return (uint8_t)x; }

static inline uint16_t cn_cast_u64_u16(uint64_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_u64_u32(uint64_t x) { return (uint32_t)x; }

static inline uint8_t cn_cast_u64_b1(uint64_t x) { return x != 0; }

static inline int8_t cn_cast_b1_s8(uint8_t x) { return (int8_t)x; }

static inline int16_t cn_cast_b1_s16(uint8_t x) { return (int16_t)x; }

static inline int32_t cn_cast_b1_s32(uint8_t x) { return (int32_t)x; }

static inline int64_t cn_cast_b1_s64(uint8_t x) { return (int64_t)x; }

static inline uint8_t cn_cast_b1_u8(uint8_t x) { return x; }

static inline uint16_t cn_cast_b1_u16(uint8_t x) { return (uint16_t)x; }

static inline uint32_t cn_cast_b1_u32(uint8_t x) { return (uint32_t)x; }

static inline uint64_t cn_cast_b1_u64(uint8_t x) { return (uint64_t)x; }

#endif
