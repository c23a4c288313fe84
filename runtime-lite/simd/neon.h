/* SPDX-License-Identifier: MIT-0 */
/* The SIMD layer on AArch64's Advanced SIMD: vectors of 128 bits, part of every such machine. Contract: simd/portable.h. */
#ifndef CN_SIMD_NEON_H
#define CN_SIMD_NEON_H

#include "base.h"
#include <arm_neon.h>

#define CN_SIMD

/* 8 x 8: sixteen accumulators, two vectors of B, eight elements of A: 26 of 32 registers (tiles: targets/aarch64.def). gcc loads
 * all of A ahead, so that the larger tiles 6 x 16 and 8 x 12 spill. */
#define CN_GEMM_F32_MR 8

#define CN_GEMM_F32_NR 8

#define CN_GEMM_F32_KC 256

#define CN_GEMM_F32_DEPTH 256

#define CN_TILE_F32_TURN 1

#define CN_GEMM_F32_MC 192

#define CN_GEMM_F32_NC 128

#define CN_GEMM_S16_MR 4

#define CN_GEMM_S16_NR 8

/* Sums that a convolution over blocked channels keeps in registers. */
#define CN_BLOCKED_F32_SUMS 24

#define CN_BLOCKED_F32_TURN 1

#define CN_VF32_LANES 4

typedef float32x4_t cn_vf32;

CN_KERNEL cn_vf32 cn_vf32_zero(void) { return vdupq_n_f32(0.0f); }

CN_KERNEL cn_vf32 cn_vf32_set1(float x) { return vdupq_n_f32(x); }

CN_KERNEL cn_vf32 cn_vf32_load(const float *p) { return vld1q_f32(p); }

CN_KERNEL void cn_vf32_store(float *p, cn_vf32 v) { vst1q_f32(p, v); }

/* Of each pair of lanes lane c in both places: width is 2. */
CN_KERNEL cn_vf32 cn_vf32_load_spread(const float *p, size_t width, size_t c) {
  const cn_vf32 v = vld1q_f32(p);
  (void)width;
  return c ? vtrn2q_f32(v, v) : vtrn1q_f32(v, v);
}

CN_KERNEL cn_vf32 cn_vf32_load_n(const float *p, size_t n) {
  float32x2_t low = vdup_n_f32(0.0f), high = vdup_n_f32(0.0f);
  if (n >= 4) return vld1q_f32(p);
  if (n & 2) {
    low = vld1_f32(p);
    if (n & 1) high = vld1_lane_f32(p + 2, high, 0);
  } else if (n) {
    low = vld1_lane_f32(p, low, 0);
  }
  return vcombine_f32(low, high);
}

CN_KERNEL void cn_vf32_store_n(float *p, cn_vf32 v, size_t n) {
  if (n >= 4) {
    vst1q_f32(p, v);
  } else if (n & 2) {
    vst1_f32(p, vget_low_f32(v));
    if (n & 1) vst1q_lane_f32(p + 2, v, 2);
  } else if (n) {
    vst1q_lane_f32(p, v, 0);
  }
}

CN_KERNEL void cn_vf32_store3(float *p, cn_vf32 a, cn_vf32 b, cn_vf32 c) {
  float32x4x3_t v;
  v.val[0] = a;
  v.val[1] = b;
  v.val[2] = c;
  vst3q_f32(p, v);
}

/* The second load starts one lane early, so that it ends at p[6]. */
CN_KERNEL cn_vf32 cn_vf32_load_even(const float *p) {
  const float32x4_t b = vld1q_f32(p + 3);
  return vuzp1q_f32(vld1q_f32(p), vextq_f32(b, b, 1));
}

CN_KERNEL cn_vf32 cn_vf32_load_even_n(const float *p, size_t n) {
  const float32x4_t b = cn_vf32_load_n(p + 3, n > 2 ? 2 * n - 4 : 0);
  return vuzp1q_f32(cn_vf32_load_n(p, n ? 2 * n - 1 : 0), vextq_f32(b, b, 1));
}

typedef struct cn_vf32_lanes { size_t lo, hi; } cn_vf32_lanes;

CN_KERNEL cn_vf32_lanes cn_vf32_lanes_in(size_t lo, size_t hi) {
  cn_vf32_lanes in;
  in.lo = lo;
  in.hi = hi;
  return in;
}

CN_KERNEL cn_vf32 cn_vf32_fill_out(cn_vf32 v, cn_vf32_lanes in, cn_vf32 fill) {
  const uint64_t lane[2] = {UINT64_C(0x100000000), UINT64_C(0x300000002)};
  const uint32x4_t i = vreinterpretq_u32_u64(vld1q_u64(lane));
  const uint32x4_t low = vdupq_n_u32((uint32_t)in.lo), high = vdupq_n_u32((uint32_t)in.hi);
  return vbslq_f32(vandq_u32(vcgeq_u32(i, low), vcltq_u32(i, high)), v, fill);
}

CN_KERNEL cn_vf32 cn_vf32_load_in(const float *p, cn_vf32_lanes in) {
  float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (in.lo == 0) return cn_vf32_load_n(p, in.hi);
  for (size_t i = in.lo; i < in.hi; i++) lanes[i] = p[i];
  return vld1q_f32(lanes);
}

CN_KERNEL cn_vf32 cn_vf32_even(cn_vf32 a, cn_vf32 b) { return vuzp1q_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_odd(cn_vf32 a, cn_vf32 b) { return vuzp2q_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_even_mixed(cn_vf32 a, cn_vf32 b) { return cn_vf32_even(a, b); }

CN_KERNEL cn_vf32 cn_vf32_odd_mixed(cn_vf32 a, cn_vf32 b) { return cn_vf32_odd(a, b); }

CN_KERNEL cn_vf32 cn_vf32_unmix(cn_vf32 v) { return v; }

CN_KERNEL cn_vf32 cn_vf32_add(cn_vf32 a, cn_vf32 b) { return vaddq_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_sub(cn_vf32 a, cn_vf32 b) { return vsubq_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_mul(cn_vf32 a, cn_vf32 b) { return vmulq_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_div(cn_vf32 a, cn_vf32 b) { return vdivq_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_sqrt(cn_vf32 a) { return vsqrtq_f32(a); }

CN_KERNEL cn_vf32 cn_vf32_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }

CN_KERNEL cn_vf32 cn_vf32_load_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }

CN_KERNEL cn_vf32 cn_vf32_round_f16(cn_vf32 a) { return vcvt_f32_f16(vcvt_f16_f32(a)); }

CN_KERNEL cn_vf32 cn_vf32_fma(cn_vf32 a, cn_vf32 b, cn_vf32 c) { return vfmaq_f32(c, a, b); }

/* By comparison: FMAX and FMIN let NaN through. */
CN_KERNEL cn_vf32 cn_vf32_max(cn_vf32 a, cn_vf32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

CN_KERNEL cn_vf32 cn_vf32_min(cn_vf32 a, cn_vf32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }

CN_KERNEL cn_vf32 cn_vf32_maxn(cn_vf32 a, cn_vf32 b) { return vmaxq_f32(a, b); }

CN_KERNEL cn_vf32 cn_vf32_round_pow2(cn_vf32 a, cn_vf32 b, cn_vf32 *ret_pow2) {
  const cn_vf32 shift = vdupq_n_f32(12583039.0f), big = vfmaq_f32(shift, a, b);
  *ret_pow2 = vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(big), 23));
  return vsubq_f32(big, shift);
}

CN_KERNEL cn_vf32 cn_vf32_abs(cn_vf32 v) { return vabsq_f32(v); }

CN_KERNEL cn_vf32 cn_vf32_copysign(cn_vf32 v, cn_vf32 sign) { return vbslq_f32(vdupq_n_u32(0x80000000u), sign, v); }

/* The bytes of the numbers at the low bits of each lane: four times the place, and 0 to 3 more. */
CN_KERNEL uint8x16_t cn_neon_bytes_at(cn_vf32 i, uint32_t bits) {
  const uint32x4_t place = vandq_u32(vreinterpretq_u32_f32(i), vdupq_n_u32(bits));
  return vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100u), place, 0x04040404u));
}

CN_KERNEL cn_vf32 cn_vf32_look_up(const float *table, cn_vf32 i) {
  uint8x16x4_t all;
  for (int k = 0; k < 4; k++) all.val[k] = vreinterpretq_u8_f32(vld1q_f32(table + 4 * k));
  return vreinterpretq_f32_u8(vqtbl4q_u8(all, cn_neon_bytes_at(i, 15)));
}

CN_KERNEL cn_vf32 cn_vf32_look_up8(const float *table, cn_vf32 i) {
  uint8x16x2_t all;
  for (int k = 0; k < 2; k++) all.val[k] = vreinterpretq_u8_f32(vld1q_f32(table + 4 * k));
  return vreinterpretq_f32_u8(vqtbl2q_u8(all, cn_neon_bytes_at(i, 7)));
}

CN_KERNEL int cn_vf32_any_lt(cn_vf32 a, cn_vf32 b) { return vmaxvq_u32(vcltq_f32(a, b)) != 0; }

CN_KERNEL cn_vf32 cn_vf32_keep_ge(cn_vf32 a, cn_vf32 b, cn_vf32 v) {
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcltq_f32(a, b)));
}

CN_KERNEL float cn_vf32_reduce_add(cn_vf32 v) {
  const float32x2_t half = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
}

CN_KERNEL float cn_vf32_reduce_maxn(cn_vf32 v) { return vmaxvq_f32(v); }

#define CN_VS32_LANES 4

typedef int32x4_t cn_vs32;

CN_KERNEL cn_vs32 cn_vs32_zero(void) { return vdupq_n_s32(0); }

CN_KERNEL cn_vs32 cn_vs32_set1(int32_t x) { return vdupq_n_s32(x); }

CN_KERNEL cn_vs32 cn_vs32_load(const int32_t *p) { return vld1q_s32(p); }

CN_KERNEL void cn_vs32_store(int32_t *p, cn_vs32 v) { vst1q_s32(p, v); }

CN_KERNEL cn_vs32 cn_vs32_load_n(const int32_t *p, size_t n) {
  return vreinterpretq_s32_f32(cn_vf32_load_n((const float *)(const void *)p, n));
}

CN_KERNEL void cn_vs32_store_n(int32_t *p, cn_vs32 v, size_t n) {
  cn_vf32_store_n((float *)(void *)p, vreinterpretq_f32_s32(v), n);
}

CN_KERNEL cn_vs32 cn_vs32_add(cn_vs32 a, cn_vs32 b) { return vaddq_s32(a, b); }

CN_KERNEL cn_vs32 cn_vs32_and_gt(cn_vs32 v, cn_vs32 m, cn_vf32 a, cn_vf32 b) {
  return vbslq_s32(vcgtq_f32(a, b), vandq_s32(v, m), v);
}

CN_KERNEL cn_vs32 cn_vs32_and_nan(cn_vs32 v, cn_vs32 m, cn_vf32 a) {
  return vbslq_s32(vceqq_f32(a, a), v, vandq_s32(v, m));
}

CN_KERNEL cn_vs32 cn_vs32_first_bit(cn_vs32 v) {
  const int32x4_t bit = vandq_s32(v, vnegq_s32(v)), places = vsubq_s32(vdupq_n_s32(31), vclzq_s32(bit));
  return vandq_s32(places, vdupq_n_s32(31));
}

CN_KERNEL cn_vf32 cn_vf32_at(const float *p, cn_vs32 i) {
  const cn_vf32 v = {p[vgetq_lane_s32(i, 0)], p[vgetq_lane_s32(i, 1)], p[vgetq_lane_s32(i, 2)], p[vgetq_lane_s32(i, 3)]};
  return v;
}

CN_KERNEL cn_vf32 cn_vf32_at32(const float *p, cn_vs32 i) { return cn_vf32_at(p, i); }

CN_KERNEL cn_vf32 cn_vf32_at2(const float *p, cn_vs32 i) { return cn_vf32_at(p, i); }

/* Products of all eight pairs, then the sums of neighbours. */
CN_KERNEL cn_vs32 cn_vs32_dot2(cn_vs32 a, cn_vs32 b, cn_vs32 acc) {
  const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
  return vaddq_s32(acc, vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
}

CN_KERNEL cn_vf32 cn_vf32_from_s32(cn_vs32 v) { return vcvtq_f32_s32(v); }

CN_KERNEL cn_vf32 cn_vf32_from_bits(cn_vs32 v, unsigned at, unsigned bits) {
  return vcvtq_f32_u32(vandq_u32(vshlq_u32(vreinterpretq_u32_s32(v), vdupq_n_s32(-(int32_t)at)), vdupq_n_u32((1u << bits) - 1)));
}

CN_KERNEL cn_vs32 cn_vs32_round_f32(cn_vf32 x) { return vcvtnq_s32_f32(x); }

CN_KERNEL void cn_vs32_store_8_n(uint8_t *p, cn_vs32 v, size_t n) {
  uint8_t all[8];
  vst1_u8(all, vmovn_u16(vcombine_u16(vreinterpret_u16_s16(vmovn_s32(v)), vdup_n_u16(0))));
  for (size_t i = 0; i < n && i < 4; i++) p[i] = all[i];
}

/* Four bytes as lanes of 32 bits. */
CN_KERNEL int32x4_t cn_neon_widen_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  uint8_t all[8] = {0};
  memcpy(all, p, 4);
  const uint16x8_t x = vmovl_u8(veor_u8(vld1_u8(all), vdup_n_u8((uint8_t)flip)));
  return vsubq_s32(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(x))), vdupq_n_s32(zero));
}

CN_KERNEL cn_vs32 cn_vs32_pair_8(const uint8_t *low, const uint8_t *high, uint32_t flip, int32_t zero) {
  return vsliq_n_s32(cn_neon_widen_8(low, flip, zero), cn_neon_widen_8(high, flip, zero), 16);
}

CN_KERNEL cn_vs32 cn_vs32_neighbours_8(const uint8_t *p, uint32_t flip, int32_t zero) {
  const uint8x8_t x = veor_u8(vld1_u8(p), vdup_n_u8((uint8_t)flip));
  const int16x8_t w = vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(x)), vdupq_n_s16((int16_t)zero));
  return vsliq_n_s32(vmovl_s16(vget_low_s16(vuzp1q_s16(w, w))), vmovl_s16(vget_low_s16(vuzp2q_s16(w, w))), 16);
}

/* Elements of 32 bits from rows of narrower ones, side by side in memory: lane l is {a[l], b[l]} of 16 bits, or {a[l], b[l], c[l], d[l]} of 8. */
CN_KERNEL cn_vf32 cn_vf32_zip_u16(const uint16_t *a, const uint16_t *b) {
  return vreinterpretq_f32_u32(vorrq_u32(vmovl_u16(vld1_u16(a)), vshll_n_u16(vld1_u16(b), 16)));
}

CN_KERNEL uint16x4_t cn_neon_widen_u8(const uint8_t *p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  return vget_low_u16(vmovl_u8(vcreate_u8(four)));
}

CN_KERNEL cn_vf32 cn_vf32_zip_u8(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
  const uint16x4_t low = vorr_u16(cn_neon_widen_u8(a), vshl_n_u16(cn_neon_widen_u8(b), 8)), high = vorr_u16(cn_neon_widen_u8(c), vshl_n_u16(cn_neon_widen_u8(d), 8));
  return vreinterpretq_f32_u32(vorrq_u32(vmovl_u16(low), vshll_n_u16(high, 16)));
}

#endif
