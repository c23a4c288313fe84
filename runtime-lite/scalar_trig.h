/* SPDX-License-Identifier: MIT-0 */
/* Sine, cosine, tangent. */
#ifndef CN_SCALAR_TRIG_H
#define CN_SCALAR_TRIG_H

#include "base.h"
#include <stdint.h>

/* 2^e 2 / pi modulo 4 for e = -28 ... 104, in two parts: the first a multiple of 2^-27, so that its product with a number
 * of 24 bits is exact. */
static const double cn_two_over_pi_f32[133][2] = {
    {0x0p+0, 0x1.45f306dc9c883p-29}, {0x1p-27, -0x1.7419f246c6efbp-29},
    {0x1p-27, 0x1.17cc1b727220bp-29}, {0x1.8p-26, -0x1.d067c91b1bbebp-29},
    {0x1.4p-25, 0x1.7cc1b727220a9p-31}, {0x1.4p-24, 0x1.7cc1b727220a9p-30},
    {0x1.4p-23, 0x1.7cc1b727220a9p-29}, {0x1.48p-22, -0x1.067c91b1bbeadp-29},
    {0x1.44p-21, 0x1.f306dc9c882a5p-29}, {0x1.46p-20, -0x1.9f246c6efab58p-33},
    {0x1.46p-19, -0x1.9f246c6efab58p-32}, {0x1.46p-18, -0x1.9f246c6efab58p-31},
    {0x1.46p-17, -0x1.9f246c6efab58p-30}, {0x1.46p-16, -0x1.9f246c6efab58p-29},
    {0x1.45fp-15, 0x1.836e4e44152ap-30}, {0x1.45fp-14, 0x1.836e4e44152ap-29},
    {0x1.45f4p-13, -0x1.f246c6efab581p-30}, {0x1.45f4p-12, -0x1.f246c6efab581p-29},
    {0x1.45f3p-11, 0x1.b727220a94fe1p-33}, {0x1.45f3p-10, 0x1.b727220a94fe1p-32},
    {0x1.45f3p-9, 0x1.b727220a94fe1p-31}, {0x1.45f3p-8, 0x1.b727220a94fe1p-30},
    {0x1.45f3p-7, 0x1.b727220a94fe1p-29}, {0x1.45f308p-6, -0x1.236377d5ac07bp-30},
    {0x1.45f308p-5, -0x1.236377d5ac07bp-29}, {0x1.45f306p-4, 0x1.b9391054a7f0ap-29},
    {0x1.45f307p-3, -0x1.1b1bbead603d9p-30}, {0x1.45f307p-2, -0x1.1b1bbead603d9p-29},
    {0x1.45f306cp-1, 0x1.c9c882a53f84fp-29}, {0x1.45f306ep+0, -0x1.b1bbead603d8bp-31},
    {0x1.45f306ep+1, -0x1.b1bbead603d8bp-30}, {0x1.17cc1b8p+0, -0x1.b1bbead603d8bp-29},
    {0x1.17cc1b7p+1, 0x1.391054a7f09d6p-30}, {0x1.7cc1b7p-2, 0x1.391054a7f09d6p-29},
    {0x1.7cc1b74p-1, -0x1.8ddf56b01ec54p-29}, {0x1.7cc1b72p+0, 0x1.c882a53f84ebp-30},
    {0x1.7cc1b72p+1, 0x1.c882a53f84ebp-29}, {0x1.f306dcap+0, -0x1.bbead603d8a83p-31},
    {0x1.f306dcap+1, -0x1.bbead603d8a83p-30}, {0x1.e60db94p+1, -0x1.bbead603d8a83p-29},
    {0x1.cc1b727p+1, 0x1.1054a7f09d5f4p-30}, {0x1.9836e4ep+1, 0x1.1054a7f09d5f4p-29},
    {0x1.306dc9dp+1, -0x1.df56b01ec5417p-29}, {0x1.836e4e4p-1, 0x1.054a7f09d5f48p-31},
    {0x1.836e4e4p+0, 0x1.054a7f09d5f48p-30}, {0x1.836e4e4p+1, 0x1.054a7f09d5f48p-29},
    {0x1.06dc9c9p+1, -0x1.f56b01ec5417p-29}, {0x1.b72722p-4, 0x1.529fc2757d1f5p-33},
    {0x1.b72722p-3, 0x1.529fc2757d1f5p-32}, {0x1.b72722p-2, 0x1.529fc2757d1f5p-31},
    {0x1.b72722p-1, 0x1.529fc2757d1f5p-30}, {0x1.b72722p+0, 0x1.529fc2757d1f5p-29},
    {0x1.b727221p+1, -0x1.5ac07b1505c16p-29}, {0x1.6e4e441p+1, 0x1.4a7f09d5f47d5p-29},
    {0x1.b939106p+0, -0x1.6b01ec5417056p-29}, {0x1.b939105p+1, 0x1.29fc2757d1f53p-29},
    {0x1.727220bp+1, -0x1.ac07b1505c159p-29}, {0x1.c9c882ap+0, 0x1.4fe13abe8fa9ap-30},
    {0x1.c9c882ap+1, 0x1.4fe13abe8fa9ap-29}, {0x1.9391055p+1, -0x1.603d8a82e0acbp-29},
    {0x1.27220a9p+1, 0x1.3f84eafa3ea6ap-29}, {0x1.391054cp-1, -0x1.80f62a0b82b2dp-29},
    {0x1.391054ap+0, 0x1.fc2757d1f534ep-30}, {0x1.391054ap+1, 0x1.fc2757d1f534ep-29},
    {0x1.c882a54p-1, -0x1.ec54170565912p-35}, {0x1.c882a54p+0, -0x1.ec54170565912p-34},
    {0x1.c882a54p+1, -0x1.ec54170565912p-33}, {0x1.91054a8p+1, -0x1.ec54170565912p-32},
    {0x1.220a95p+1, -0x1.ec54170565912p-31}, {0x1.1054a8p-1, -0x1.ec54170565912p-30},
    {0x1.1054a8p+0, -0x1.ec54170565912p-29}, {0x1.1054a7fp+1, 0x1.3abe8fa9a6eep-32},
    {0x1.054a7fp-2, 0x1.3abe8fa9a6eep-31}, {0x1.054a7fp-1, 0x1.3abe8fa9a6eep-30},
    {0x1.054a7fp+0, 0x1.3abe8fa9a6eep-29}, {0x1.054a7f1p+1, -0x1.8a82e0acb223fp-29},
    {0x1.529fc2p-4, 0x1.d5f47d4d37703p-30}, {0x1.529fc2p-3, 0x1.d5f47d4d37703p-29},
    {0x1.529fc28p-2, -0x1.505c1596447e5p-31}, {0x1.529fc28p-1, -0x1.505c1596447e5p-30},
    {0x1.529fc28p+0, -0x1.505c1596447e5p-29}, {0x1.529fc27p+1, 0x1.5f47d4d377037p-29},
    {0x1.4a7f09ep+0, -0x1.4170565911f92p-29}, {0x1.4a7f09dp+1, 0x1.7d1f534ddc0dbp-29},
    {0x1.29fc276p+0, -0x1.05c1596447e49p-29}, {0x1.29fc275p+1, 0x1.f47d4d377036ep-29},
    {0x1.4fe13acp-1, -0x1.70565911f924fp-33}, {0x1.4fe13acp+0, -0x1.70565911f924fp-32},
    {0x1.4fe13acp+1, -0x1.70565911f924fp-31}, {0x1.3f84ebp+0, -0x1.70565911f924fp-30},
    {0x1.3f84ebp+1, -0x1.70565911f924fp-29}, {0x1.fc2757cp-1, 0x1.1f534ddc0db63p-29},
    {0x1.fc2757ep+0, -0x1.c1596447e493bp-29}, {0x1.fc2757dp+1, 0x1.f534ddc0db629p-31},
    {0x1.f84eafap+1, 0x1.f534ddc0db629p-30}, {0x1.f09d5f4p+1, 0x1.f534ddc0db629p-29},
    {0x1.e13abe9p+1, -0x1.596447e493ad5p-33}, {0x1.c2757d2p+1, -0x1.596447e493ad5p-32},
    {0x1.84eafa4p+1, -0x1.596447e493ad5p-31}, {0x1.09d5f48p+1, -0x1.596447e493ad5p-30},
    {0x1.3abe9p-3, -0x1.596447e493ad5p-29}, {0x1.3abe8f8p-2, 0x1.4d377036d8a56p-29},
    {0x1.3abe8fcp-1, -0x1.65911f924eb53p-29}, {0x1.3abe8fap+0, 0x1.34ddc0db6295ap-29},
    {0x1.3abe8fbp+1, -0x1.96447e493ad4dp-29}, {0x1.d5f47d4p-1, 0x1.a6ee06db14acdp-30},
    {0x1.d5f47d4p+0, 0x1.a6ee06db14acdp-29}, {0x1.d5f47d5p+1, -0x1.6447e493ad4cep-30},
    {0x1.abe8faap+1, -0x1.6447e493ad4cep-29}, {0x1.57d1f53p+1, 0x1.377036d8a5665p-29},
    {0x1.5f47d4ep+0, -0x1.911f924eb5336p-29}, {0x1.5f47d4dp+1, 0x1.bb81b6c52b328p-30},
    {0x1.7d1f534p+0, 0x1.bb81b6c52b328p-29}, {0x1.7d1f535p+1, -0x1.11f924eb53362p-30},
    {0x1.f47d4d4p+0, -0x1.11f924eb53362p-29}, {0x1.f47d4d3p+1, 0x1.dc0db6295993cp-29},
    {0x1.e8fa9a7p+1, -0x1.1f924eb53361ep-31}, {0x1.d1f534ep+1, -0x1.1f924eb53361ep-30},
    {0x1.a3ea69cp+1, -0x1.1f924eb53361ep-29}, {0x1.47d4d37p+1, 0x1.c0db6295993c4p-29},
    {0x1.1f534dep+0, -0x1.f924eb53361dep-31}, {0x1.1f534dep+1, -0x1.f924eb53361dep-30},
    {0x1.f534dep-2, -0x1.f924eb53361dep-29}, {0x1.f534ddcp-1, 0x1.b6c52b3278872p-34},
    {0x1.f534ddcp+0, 0x1.b6c52b3278872p-33}, {0x1.f534ddcp+1, 0x1.b6c52b3278872p-32},
    {0x1.ea69bb8p+1, 0x1.b6c52b3278872p-31}, {0x1.d4d377p+1, 0x1.b6c52b3278872p-30},
    {0x1.a9a6eep+1, 0x1.b6c52b3278872p-29}, {0x1.534ddc1p+1, -0x1.24eb53361de38p-30},
    {0x1.4d37704p+0, -0x1.24eb53361de38p-29}, {0x1.4d37703p+1, 0x1.b6295993c439p-29},
    {0x1.34ddc0ep+0, -0x1.275a99b0ef1bfp-30},
};

/* x = (quadrant + f) pi/2 with |f| <= 1/2; the quadrant's low bits are those of *ret_quadrant. NaN for an infinity. */
CN_INLINE double cn_trig_reduce_f32(float x, uint64_t *ret_quadrant) {
  const double w = x;
  const int64_t u = (int64_t)(cn_bits_f64(w) >> 52 & 0x7ff), low = u > 1018 ? u : 1018, e = low < 1150 ? low : 1150;
  const double m = w * cn_from_bits_f64((uint64_t)(2069 - e) << 52); /* |m| < 2^24 */
  const double t = m * cn_two_over_pi_f32[e - 1018][0], k = t + 0x1.8p52;
  *ret_quadrant = cn_bits_f64(k);
  return (t - (k - 0x1.8p52)) + m * cn_two_over_pi_f32[e - 1018][1];
}

/* sin(f pi/2) and cos(f pi/2), minimax */
CN_INLINE double cn_sin_quarter_f32(double f) {
  const double z = f * f;
  double p = 0x1.4bc1daddd2a6cp-13;
  p = p * z - 0x1.32ca83a679f96p-8;
  p = p * z + 0x1.466bba8890d39p-4;
  p = p * z - 0x1.4abbce56489c9p-1;
  p = p * z + 0x1.921fb5443af33p+0;
  return f * p;
}

CN_INLINE double cn_cos_quarter_f32(double f) {
  const double z = f * f;
  double p = 0x1.d99e771a02cf6p-11;
  p = p * z - 0x1.55c4e6a75ce51p-6;
  p = p * z + 0x1.03c1daa611b0cp-2;
  p = p * z - 0x1.3bd3cc6e69234p+0;
  p = p * z + 0x1.ffffffff846c3p-1;
  return p;
}

CN_INLINE float cn_sin_f32(float x) {
  uint64_t q;
  const double f = cn_trig_reduce_f32(x, &q);
  const double y = cn_pick_f64((int)(q & 1), cn_cos_quarter_f32(f), cn_sin_quarter_f32(f));
  const float s = (float)cn_from_bits_f64(cn_bits_f64(y) ^ (q & 2) << 62);
  return cn_pick_f32(x == 0.0f, x, s);
}

CN_INLINE float cn_cos_f32(float x) {
  uint64_t q;
  const double f = cn_trig_reduce_f32(x, &q);
  const double y = cn_pick_f64((int)(q & 1), cn_sin_quarter_f32(f), cn_cos_quarter_f32(f));
  return (float)cn_from_bits_f64(cn_bits_f64(y) ^ ((q + 1) & 2) << 62);
}

CN_INLINE float cn_tan_f32(float x) {
  uint64_t q;
  const double f = cn_trig_reduce_f32(x, &q);
  const double s = cn_sin_quarter_f32(f), c = cn_cos_quarter_f32(f);
  const float t = (float)(cn_pick_f64((int)(q & 1), -c, s) / cn_pick_f64((int)(q & 1), s, c));
  return cn_pick_f32(x == 0.0f, x, t);
}

/* 64 zero bits, then the bits of 2 / pi */
static const uint64_t cn_two_over_pi[22] = {
    UINT64_C(0x0000000000000000), UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0), UINT64_C(0xdb6295993c439041),
    UINT64_C(0xfe5163abdebbc561), UINT64_C(0xb7246e3a424dd2e0), UINT64_C(0x06492eea09d1921c), UINT64_C(0xfe1deb1cb129a73e),
    UINT64_C(0xe88235f52ebb4484), UINT64_C(0xe99c7026b45f7e41), UINT64_C(0x3991d639835339f4), UINT64_C(0x9c845f8bbdf9283b),
    UINT64_C(0x1ff897ffde05980f), UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7), UINT64_C(0x4f463f669e5fea2d),
    UINT64_C(0x7527bac7ebe5f17b), UINT64_C(0x3d0739f78a5292ea), UINT64_C(0x6bfb5fb11f8d5d08), UINT64_C(0x56033046fc7b6bab),
    UINT64_C(0xf0cfbc209af4361d), UINT64_C(0xa9e391615ee61b08),
};

/* High 64 bits of a product. */
static inline uint64_t cn_mul_high_u64(uint64_t a, uint64_t b) {
  const uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
  const uint64_t low = al * bl, m1 = ah * bl + (low >> 32), m2 = al * bh + (m1 & 0xffffffffu);
  return ah * bh + (m1 >> 32) + (m2 >> 32);
}

/* Payne and Hanek's reduction (Radian reduction for trigonometric functions, 1983): x = m 2^e times the bits of 2 / pi that
 * weigh 2^1 or less, 192 of them; the top two bits of the product are the quadrant. For |x| >= 2^19. */
static inline double cn_trig_reduce_large_f64(double x, double *ret_low, uint32_t *ret_quadrant) {
  const uint64_t u = cn_bits_f64(x), m = (u & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
  const uint32_t at = (uint32_t)(u >> 52 & 0x7ff) - 1075u - 2u + 64u, word = at >> 6, shift = at & 63;
  uint64_t w[3];
  for (uint32_t i = 0; i < 3; i++)
    w[i] = shift ? cn_two_over_pi[word + i] << shift | cn_two_over_pi[word + i + 1] >> (64 - shift) : cn_two_over_pi[word + i];
  const uint64_t mid = m * w[1] + cn_mul_high_u64(m, w[2]);
  const uint64_t carry = mid < m * w[1];
  const uint64_t top = m * w[0] + cn_mul_high_u64(m, w[1]) + carry;
  const uint64_t q = (top >> 62) + (top >> 61 & 1); /* to the nearest quadrant */
  const uint64_t signed_top = top << 2 | mid >> 62;
  const int negative = (signed_top >> 63) != 0;
  const uint64_t low = mid << 2, a1 = negative ? ~low + 1 : low, a0 = negative ? ~signed_top + (low == 0) : signed_top;
  const double sign = negative != (x < 0.0) ? -1.0 : 1.0;
  const double a = (double)(a0 >> 32) * 0x1p-32, b = (double)(a0 & 0xffffffffu) * 0x1p-64, c = (double)(a1 >> 11) * 0x1p-117;
  const double sum = a + b, more = (b - (sum - a)) + c;
  const double f = sum + more;
  const double g = cn_from_bits_f64(cn_bits_f64(f) & UINT64_C(0xfffffffffc000000)), rest = (f - g) + ((sum - f) + more);
  const double p = 0x1.921fb5p+0, pl = 0x1.110b4611a6263p-26;
  const double y = g * p;
  const double yl = g * pl + rest * (p + pl);
  const double r = y + yl;
  *ret_quadrant = (uint32_t)(x < 0.0 ? 0 - q : q);
  *ret_low = sign * ((y - r) + yl);
  return sign * r;
}

/* x = quadrant pi/2 + r + *ret_low, |r| <= pi/4; below 2^19 by three parts of pi/2 whose products are exact. */
static inline double cn_trig_reduce_f64(double x, double *ret_low, uint32_t *ret_quadrant) {
  if (cn_abs_f64(x) < 0x1p19) {
    const double t = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, k = t - 0x1.8p52;
    const double a = x - k * 0x1.921fb544p+0, b = k * 0x1.0b4611a6p-34;
    const double c = a - b;
    const double d = k * 0x1.3198a2e037073p-69 - ((a - c) - b);
    const double r = c - d;
    *ret_low = (c - r) - d;
    *ret_quadrant = (uint32_t)(cn_bits_f64(t) & 3);
    return r;
  }
  return cn_trig_reduce_large_f64(x, ret_low, ret_quadrant);
}

/* sin(r + low) on |r| <= pi/4 */
static inline double cn_sin_poly_f64(double r, double low) {
  const double z = r * r;
  double p = -0x1.aa99d5a7b7a08p-41;
  p = p * z + 0x1.6120827ba9b9cp-33;
  p = p * z - 0x1.ae64528d535bdp-26;
  p = p * z + 0x1.71de3a5340558p-19;
  p = p * z - 0x1.a01a01a018c41p-13;
  p = p * z + 0x1.111111111110cp-7;
  return r + (z * r * -0x1.5555555555555p-3 + (z * r * (z * p) + (low - 0.5 * z * low)));
}

static inline double cn_cos_poly_f64(double r, double low) {
  const double z = r * r, half = 0.5 * z, w = 1.0 - half;
  double p = -0x1.8ff804f708569p-37;
  p = p * z + 0x1.1eea86467c6e9p-29;
  p = p * z - 0x1.27e4f900480e8p-22;
  p = p * z + 0x1.a01a019e20ec4p-16;
  p = p * z - 0x1.6c16c16c16118p-10;
  p = p * z + 0x1.5555555555553p-5;
  return w + (((1.0 - w) - half) + (z * (z * p) - r * low));
}

static inline double cn_sin_f64(double x) {
  double low;
  uint32_t q;
  if (!(cn_abs_f64(x) < cn_inf_f64())) return cn_nan_f64();
  const double r = cn_trig_reduce_f64(x, &low, &q);
  const double y = q & 1 ? cn_cos_poly_f64(r, low) : cn_sin_poly_f64(r, low);
  return x == 0.0 ? x : q & 2 ? -y : y;
}

static inline double cn_cos_f64(double x) {
  double low;
  uint32_t q;
  if (!(cn_abs_f64(x) < cn_inf_f64())) return cn_nan_f64();
  const double r = cn_trig_reduce_f64(x, &low, &q);
  const double y = q & 1 ? cn_sin_poly_f64(r, low) : cn_cos_poly_f64(r, low);
  return (q + 1) & 2 ? -y : y;
}

static inline double cn_tan_f64(double x) {
  double low;
  uint32_t q;
  if (!(cn_abs_f64(x) < cn_inf_f64())) return cn_nan_f64();
  const double r = cn_trig_reduce_f64(x, &low, &q);
  const double s = cn_sin_poly_f64(r, low), c = cn_cos_poly_f64(r, low);
  return x == 0.0 ? x : q & 1 ? -c / s : s / c;
}

#endif
