/* SPDX-License-Identifier: MIT-0 */
/* Comparisons and selection. */
#ifndef CN_SCALAR_COMPARE_H
#define CN_SCALAR_COMPARE_H

#include <stdint.h>

/* Comparisons give 0 or 1; with a NaN only ne is 1. */
static inline uint8_t cn_eq_f32(float a, float b) { return a == b; }

static inline uint8_t cn_eq_f64(double a, double b) { return a == b; }

static inline uint8_t cn_eq_s8(int8_t a, int8_t b) { return a == b; }

static inline uint8_t cn_eq_s16(int16_t a, int16_t b) { return a == b; }

static inline uint8_t cn_eq_s32(int32_t a, int32_t b) { return a == b; }

static inline uint8_t cn_eq_s64(int64_t a, int64_t b) { return a == b; }

static inline uint8_t cn_eq_u8(uint8_t a, uint8_t b) { return a == b; }

static inline uint8_t cn_eq_u16(uint16_t a, uint16_t b) { return a == b; }

static inline uint8_t cn_eq_u32(uint32_t a, uint32_t b) { return a == b; }

static inline uint8_t cn_eq_u64(uint64_t a, uint64_t b) { return a == b; }

static inline uint8_t cn_eq_b1(uint8_t a, uint8_t b) { return a == b; }

static inline uint8_t cn_ne_f32(float a, float b) { return a != b; }

static inline uint8_t cn_ne_f64(double a, double b) { return a != b; }

static inline uint8_t cn_ne_s8(int8_t a, int8_t b) { return a != b; }

static inline uint8_t cn_ne_s16(int16_t a, int16_t b) { return a != b; }

static inline uint8_t cn_ne_s32(int32_t a, int32_t b) { return a != b; }

static inline uint8_t cn_ne_s64(int64_t a, int64_t b) { return a != b; }

static inline uint8_t cn_ne_u8(uint8_t a, uint8_t b) { return a != b; }

static inline uint8_t cn_ne_u16(uint16_t a, uint16_t b) { return a != b; }

static inline uint8_t cn_ne_u32(uint32_t a, uint32_t b) { return a != b; }

static inline uint8_t cn_ne_u64(uint64_t a, uint64_t b) { return a != b; }

static inline uint8_t cn_ne_b1(uint8_t a, uint8_t b) { return a != b; }

static inline uint8_t cn_lt_f32(float a, float b) { return a < b; }

static inline uint8_t cn_lt_f64(double a, double b) { return a < b; }

static inline uint8_t cn_lt_s8(int8_t a, int8_t b) { return a < b; }

static inline uint8_t cn_lt_s16(int16_t a, int16_t b) { return a < b; }

static inline uint8_t cn_lt_s32(int32_t a, int32_t b) { return a < b; }

static inline uint8_t cn_lt_s64(int64_t a, int64_t b) { return a < b; }

static inline uint8_t cn_lt_u8(uint8_t a, uint8_t b) { return a < b; }

static inline uint8_t cn_lt_u16(uint16_t a, uint16_t b) { return a < b; }

static inline uint8_t cn_lt_u32(uint32_t a, uint32_t b) { return a < b; }

static inline uint8_t cn_lt_u64(uint64_t a, uint64_t b) { return a < b; }

static inline uint8_t cn_lt_b1(uint8_t a, uint8_t b) { return a < b; }

static inline uint8_t cn_le_f32(float a, float b) { return a <= b; }

static inline uint8_t cn_le_f64(double a, double b) { return a <= b; }

static inline uint8_t cn_le_s8(int8_t a, int8_t b) { return a <= b; }

static inline uint8_t cn_le_s16(int16_t a, int16_t b) { return a <= b; }

static inline uint8_t cn_le_s32(int32_t a, int32_t b) { return a <= b; }

static inline uint8_t cn_le_s64(int64_t a, int64_t b) { return a <= b; }

static inline uint8_t cn_le_u8(uint8_t a, uint8_t b) { return a <= b; }

static inline uint8_t cn_le_u16(uint16_t a, uint16_t b) { return a <= b; }

static inline uint8_t cn_le_u32(uint32_t a, uint32_t b) { return a <= b; }

static inline uint8_t cn_le_u64(uint64_t a, uint64_t b) { return a <= b; }

static inline uint8_t cn_le_b1(uint8_t a, uint8_t b) { return a <= b; }

static inline uint8_t cn_gt_f32(float a, float b) { return a > b; }

static inline uint8_t cn_gt_f64(double a, double b) { return a > b; }

static inline uint8_t cn_gt_s8(int8_t a, int8_t b) { return a > b; }

static inline uint8_t cn_gt_s16(int16_t a, int16_t b) { return a > b; }

static inline uint8_t cn_gt_s32(int32_t a, int32_t b) { return a > b; }

static inline uint8_t cn_gt_s64(int64_t a, int64_t b) { return a > b; }

static inline uint8_t cn_gt_u8(uint8_t a, uint8_t b) { return a > b; }

static inline uint8_t cn_gt_u16(uint16_t a, uint16_t b) { return a > b; }

static inline uint8_t cn_gt_u32(uint32_t a, uint32_t b) { return a > b; }

static inline uint8_t cn_gt_u64(uint64_t a, uint64_t b) { return a > b; }

static inline uint8_t cn_gt_b1(uint8_t a, uint8_t b) { return a > b; }

static inline uint8_t cn_ge_f32(float a, float b) { return a >= b; }

static inline uint8_t cn_ge_f64(double a, double b) { return a >= b; }

static inline uint8_t cn_ge_s8(int8_t a, int8_t b) { return a >= b; }

static inline uint8_t cn_ge_s16(int16_t a, int16_t b) { return a >= b; }

static inline uint8_t cn_ge_s32(int32_t a, int32_t b) { return a >= b; }

static inline uint8_t cn_ge_s64(int64_t a, int64_t b) { return a >= b; }

static inline uint8_t cn_ge_u8(uint8_t a, uint8_t b) { return a >= b; }

static inline uint8_t cn_ge_u16(uint16_t a, uint16_t b) { return a >= b; }

static inline uint8_t cn_ge_u32(uint32_t a, uint32_t b) { return a >= b; }

static inline uint8_t cn_ge_u64(uint64_t a, uint64_t b) { return a >= b; }

static inline uint8_t cn_ge_b1(uint8_t a, uint8_t b) { return a >= b; }

/* ONNX Where. */
static inline float cn_select_f32(uint8_t c, float a, float b) { return cn_pick_f32(c != 0, a, b); }

static inline double cn_select_f64(uint8_t c, double a, double b) { return cn_pick_f64(c != 0, a, b); }

static inline int8_t cn_select_s8(uint8_t c, int8_t a, int8_t b) { return c ? a : b; }

static inline int16_t cn_select_s16(uint8_t c, int16_t a, int16_t b) { return c ? a : b; }

static inline int32_t cn_select_s32(uint8_t c, int32_t a, int32_t b) { return c ? a : b; }

static inline int64_t cn_select_s64(uint8_t c, int64_t a, int64_t b) { return c ? a : b; }

static inline uint8_t cn_select_u8(uint8_t c, uint8_t a, uint8_t b) { return c ? a : b; }

static inline uint16_t cn_select_u16(uint8_t c, uint16_t a, uint16_t b) { return c ? a : b; }

static inline uint32_t cn_select_u32(uint8_t c, uint32_t a, uint32_t b) { return c ? a : b; }

static inline uint64_t cn_select_u64(uint8_t c, uint64_t a, uint64_t b) { return c ? a : b; }

static inline uint8_t cn_select_b1(uint8_t c, uint8_t a, uint8_t b) { return c ? a : b; }

#endif
