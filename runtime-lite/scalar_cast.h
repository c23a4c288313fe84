/* SPDX-License-Identifier: MIT-0 */
/* Conversions that touch a float of 32 or 64 bits. To an integer: rounded to zero, saturated, NaN gives 0.
 * To a float: to nearest, ties to even, overflow to infinity. To b1: whether not zero (NaN is not). */
#ifndef CN_SCALAR_CAST_H
#define CN_SCALAR_CAST_H

#include <stdint.h>

static inline double cn_cast_f32_f64(float x) { return x; }

static inline int8_t cn_cast_f32_s8(float x) {
  const float v = cn_clip_f32(x, -128.0f, 127.0f);
  return (int8_t)(int32_t)cn_pick_f32(x == x, v, 0.0f);
}

static inline int16_t cn_cast_f32_s16(float x) {
  const float v = cn_clip_f32(x, -32768.0f, 32767.0f);
  return (int16_t)(int32_t)cn_pick_f32(x == x, v, 0.0f);
}

static inline int32_t cn_cast_f32_s32(float x) {
  const float v = cn_clip_f32(x, -2147483648.0f, 2147483520.0f); /* the last float below the end */
  return (int32_t)cn_pick_f32(x == x, v, 0.0f) + 127 * (x >= 2147483648.0f);
}

static inline int64_t cn_cast_f32_s64(float x) {
  const float v = cn_clip_f32(x, -9223372036854775808.0f, 9223371487098961920.0f); /* the last float below the end */
  return (int64_t)cn_pick_f32(x == x, v, 0.0f) + INT64_C(549755813887) * (x >= 9223372036854775808.0f);
}

static inline uint8_t cn_cast_f32_u8(float x) {
  const float v = cn_clip_f32(x, 0.0f, 255.0f);
  return (uint8_t)(int32_t)cn_pick_f32(x == x, v, 0.0f);
}

static inline uint16_t cn_cast_f32_u16(float x) {
  const float v = cn_clip_f32(x, 0.0f, 65535.0f);
  return (uint16_t)(int32_t)cn_pick_f32(x == x, v, 0.0f);
}

static inline uint32_t cn_cast_f32_u32(float x) {
  const float v = cn_clip_f32(x, 0.0f, 4294967040.0f); /* the last float below the end */
  return (uint32_t)cn_pick_f32(x == x, v, 0.0f) + 255u * (x >= 4294967296.0f);
}

static inline uint64_t cn_cast_f32_u64(float x) {
  const float v = cn_clip_f32(x, 0.0f, 18446742974197923840.0f); /* the last float below the end */
  return (uint64_t)cn_pick_f32(x == x, v, 0.0f) + UINT64_C(1099511627775) * (x >= 18446744073709551616.0f);
}

static inline uint8_t cn_cast_f32_b1(float x) { return x != 0.0f; }

static inline float cn_cast_f64_f32(double x) { return (float)x; }

static inline int8_t cn_cast_f64_s8(double x) {
  const double v = cn_clip_f64(x, -128.0, 127.0);
  return (int8_t)(int32_t)cn_pick_f64(x == x, v, 0.0);
}

static inline int16_t cn_cast_f64_s16(double x) {
  const double v = cn_clip_f64(x, -32768.0, 32767.0);
  return (int16_t)(int32_t)cn_pick_f64(x == x, v, 0.0);
}

static inline int32_t cn_cast_f64_s32(double x) {
  const double v = cn_clip_f64(x, -2147483648.0, 2147483647.0);
  return (int32_t)cn_pick_f64(x == x, v, 0.0);
}

static inline int64_t cn_cast_f64_s64(double x) {
  const double v = cn_clip_f64(x, -9223372036854775808.0, 9223372036854774784.0); /* the last double below the end */
  return (int64_t)cn_pick_f64(x == x, v, 0.0) + INT64_C(1023) * (x >= 9223372036854775808.0);
}

static inline uint8_t cn_cast_f64_u8(double x) {
  const double v = cn_clip_f64(x, 0.0, 255.0);
  return (uint8_t)(int32_t)cn_pick_f64(x == x, v, 0.0);
}

static inline uint16_t cn_cast_f64_u16(double x) {
  const double v = cn_clip_f64(x, 0.0, 65535.0);
  return (uint16_t)(int32_t)cn_pick_f64(x == x, v, 0.0);
}

static inline uint32_t cn_cast_f64_u32(double x) {
  const double v = cn_clip_f64(x, 0.0, 4294967295.0);
  return (uint32_t)cn_pick_f64(x == x, v, 0.0);
}

static inline uint64_t cn_cast_f64_u64(double x) {
  const double v = cn_clip_f64(x, 0.0, 18446744073709549568.0); /* the last double below the end */
  return (uint64_t)cn_pick_f64(x == x, v, 0.0) + UINT64_C(2047) * (x >= 18446744073709551616.0);
}

static inline uint8_t cn_cast_f64_b1(double x) { return x != 0.0; }

static inline float cn_cast_s8_f32(int8_t x) { return (float)x; }

static inline double cn_cast_s8_f64(int8_t x) { return (double)x; }

static inline float cn_cast_s16_f32(int16_t x) { return (float)x; }

static inline double cn_cast_s16_f64(int16_t x) { return (double)x; }

static inline float cn_cast_s32_f32(int32_t x) { return (float)x; }

static inline double cn_cast_s32_f64(int32_t x) { return (double)x; }

static inline float cn_cast_s64_f32(int64_t x) { return (float)x; }

static inline double cn_cast_s64_f64(int64_t x) { return (double)x; }

static inline float cn_cast_u8_f32(uint8_t x) { return (float)x; }

static inline double cn_cast_u8_f64(uint8_t x) { return (double)x; }

static inline float cn_cast_u16_f32(uint16_t x) { return (float)x; }

static inline double cn_cast_u16_f64(uint16_t x) { return (double)x; }

static inline float cn_cast_u32_f32(uint32_t x) { return (float)x; }

static inline double cn_cast_u32_f64(uint32_t x) { return (double)x; }

static inline float cn_cast_u64_f32(uint64_t x) { return (float)x; }

static inline double cn_cast_u64_f64(uint64_t x) { return (double)x; }

static inline float cn_cast_b1_f32(uint8_t x) { return (float)x; }

static inline double cn_cast_b1_f64(uint8_t x) { return (double)x; }

#endif
