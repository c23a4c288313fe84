/* SPDX-License-Identifier: MIT-0 */
/* Sine, cosine, tangent. */
#ifndef CN_SCALAR_TRIG_H
#define CN_SCALAR_TRIG_H

#include <stdint.h>

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
