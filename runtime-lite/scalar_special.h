/* SPDX-License-Identifier: MIT-0 */
/* Sigmoids, error function and what is made of them. */
#ifndef CN_SCALAR_SPECIAL_H
#define CN_SCALAR_SPECIAL_H

#include "base.h"
#include <stdint.h>

/* The leading 12 bits: products of two such numbers are exact. */
CN_INLINE float cn_head_f32(float x) { return cn_from_bits_f32(cn_bits_f32(x) & 0xfffff000u); }

/* For -110 <= x <= 17.5, or whatever elsewhere: e^-x = 2^40 (s - s (high + low) + sp), s = 2^(k - 40), so that neither
 * 2^-40 (1 + e^-x) nor its inverse leaves the normal numbers. */
CN_INLINE float cn_logistic_parts_f32(float x, float *high, float *low, float *sp) {
  const float integer = 0x1.8p23f + 87.0f, t = x * -0x1.715476p+0f + integer, k = t - integer;
  const float s = cn_from_bits_f32(cn_bits_f32(t) << 23);
  *high = k * 0x1.62e4p-1f + x; /* the product is exact, as in cn_exp_reduce_f32 */
  *low = k * 0x1.7f7d1cp-20f;
  const float r = *high + *low;
  *sp = (r * (s * r)) * cn_exp_poly_f32(-r);
  return s;
}

/* n / (1 + e^-x) with little more than the last rounding, by the divisor d = 2^-40 (1 + e^-x). What a quotient q of 12 bits leaves
 * is exact but for q times the rest of d, a sum that begins with what cancels. The last scaling rounds what is subnormal. */
CN_INLINE float cn_logistic_f32(float n, float x) {
  float high, low, sp;
  const float s = cn_logistic_parts_f32(x, &high, &low, &sp), sr = s * (high + low);
  const float d = ((0x1p-40f + s) - sr) + sp, m = cn_head_f32(d), inverse = 1.0f / d;
  const float rest = (((s - m) + 0x1p-40f) - sr) + sp;
  const float q = cn_head_f32(n * inverse);
  return (q - ((q * m - n) + q * rest) * inverse) * 0x1p-40f;
}

/* 1 / (1 + e^-x): 1 from where it is nearest to that */
CN_INLINE float cn_sigmoid_f32(float x) { return cn_pick_f32(x > 17.5f, 1.0f, cn_logistic_f32(1.0f, cn_max_f32(x, -110.0f))); }

/* x / (1 + e^-x) */
CN_INLINE float cn_silu_f32(float x) {
  const float z = cn_max_f32(x, -110.0f);
  return cn_pick_f32(x > 17.5f, x, cn_logistic_f32(z, z));
}

/* x / (1 + e^-x) as near as the product of x and a rounded sigmoid(x): a model's two operators in one quotient */
CN_INLINE float cn_silu_product_f32(float x) {
  float high, low, sp;
  const float z = cn_max_f32(x, -110.0f), s = cn_logistic_parts_f32(z, &high, &low, &sp);
  const float least = cn_min_f32(s, 0x1p-40f) + ((sp - s * low) - s * high);
  return cn_pick_f32(x > 17.5f, x, z / (cn_max_f32(s, 0x1p-40f) + least) * 0x1p-40f);
}

/* log(1 + e^x) = max(x, 0) + log(1 + t) with t = e^-|x| = 2^k (e + el). log(1 + t) is that of 1 + f, or for small |x| of 2 (1 + f), |f| < 0.42:
 * f is t or (t - 1) / 2, a tiny c adds c / (1 + f), and what sums lose is added last. Where k is below -100, log(1 + t) is t, made with k = -100
 * and scaled at the end, so that it rounds once where it is subnormal. */
CN_INLINE float cn_softplus_f32(float x) {
  float k, low;
  const float high = cn_exp_reduce_f32(-cn_min_f32(cn_abs_f32(x), 105.0f), &k, &low);
  const float r = high - low, p = r * r * cn_exp_poly_f32(r) - low;
  const float e = 1.0f + (high + p), el = ((1.0f - e) + high) + p;
  const float half = cn_pick_f32(cn_abs_f32(x) < 0.875f, 0.5f, 1.0f), base = 1.0f - half;
  const float k1 = cn_max_f32(k, -100.0f), scale = half * cn_pow2_f32(k1), t = e * scale;
  const float f = t - base, c = scale * el + (t - (f + base));
  float rest;
  const float part = cn_log_parts_f32(2.0f * base, f, c * (1.0f - f + f * f), &rest);
  const float m = cn_max_f32(x, 0.0f), sum = m + part, moved = sum - m;
  const float lost = (m - (sum - moved)) + (part - moved);
  return cn_pick_f32(x > 32.0f, x, (sum + (lost + rest)) * cn_pow2_f32(k - k1));
}

CN_INLINE float cn_softsign_f32(float x) {
  const float a = cn_min_f32(cn_abs_f32(x), 0x1p60f);
  return cn_copysign_f32((float)((double)a / (1.0 + (double)a)), x);
}

CN_INLINE float cn_mish_f32(float x) {
  const double b = (double)cn_max_f32(x, -110.0f), e = cn_exp_short_f64(cn_min_f64(b, 40.0));
  const double n = e * (e + 2.0);
  return cn_pick_f32(x > 40.0f, x, (float)(b * (n / (n + 2.0))));
}

/* erf(x) / x - 1 of z = x^2 - 1/2 for |x| < 1, minimax. Few products wait for one another here and below: that, not their number, is what a
 * loop over vectors waits for. What is largest is added last. */
CN_INLINE float cn_erf_near_f32(float z) {
  const float z2 = z * z;
  const float q = (0x1.454374p-4f + z * -0x1.2b8d9ep-6f) + z2 * ((0x1.c8176p-9f + z * -0x1.288f12p-11f) + z2 * 0x1.5036d6p-14f);
  return -0x1.1ae14ep-5f + (z * -0x1.1fd164p-2f + z2 * q);
}

/* erfc(u + 2.375) - 1/8 on 1 .. 3.93, minimax: less the eighth, its roundings are smaller where they count. */
CN_INLINE float cn_erf_far_f32(float u) {
  const float u2 = u * u, u4 = u2 * u2;
  const float a = (-0x1.fccb08p-4f + u * -0x1.06918ep-8f) + u2 * (0x1.37cd4p-7f + u * -0x1.c1ebfp-7f);
  const float b = (0x1.ae5656p-7f + u * -0x1.11da9ep-7f) + u2 * (0x1.985344p-9f + u * -0x1.03c1d8p-13f);
  const float c = (-0x1.38954ap-11f + u * 0x1.63bc8cp-12f) + u2 * (-0x1.ba1bdep-15f + u * -0x1.1c1728p-15f);
  const float d = (0x1.4ceee8p-16f + u * -0x1.b0c45cp-20f) + u2 * (-0x1.a31b4cp-20f + u * 0x1.9e0004p-22f);
  return (a + u4 * b) + u4 * u4 * (c + u4 * d);
}

CN_INLINE float cn_erf_f32(float x) {
  const float a = cn_abs_f32(x);
  const float far = cn_copysign_f32(0.875f - cn_erf_far_f32(cn_min_f32(a, 3.93f) - 2.375f), x);
  return cn_pick_f32(a < 1.0f, x + x * cn_erf_near_f32(x * x - 0.5f), far);
}

/* erf((c + t) / sqrt(2)) for |t| up to 0.39 around eight centres near 0, 3/4, 3/2 ...: the centres c, then the factors of 1, t, t^2 ... t^7, minimax.
 * Each centre but 0 lies where the function is nearly a float, so that what the first factor loses by rounding does not count. Eight fill one
 * register of AVX2. */
static const float cn_erf_sqrt2_table[9][8] = {
    {0x0p+0f, 0x1.7b28c8p-1f, 0x1.81d9fep+0f, 0x1.226fd6p+1f, 0x1.81cbfap+1f, 0x1.dfa1c4p+1f, 0x1.203dd4p+2f, 0x1.4eb852p+2f},
    {0x0p+0f, 0x1.150202p-1f, 0x1.bc8b2p-1f, 0x1.f4167ap-1f, 0x1.feae1ap-1f, 0x1.ffe88ep-1f, 0x1.ffff2p-1f, 0x1.fffffap-1f},
    {0x1.988454p-1f, 0x1.368b92p-1f, 0x1.06621p-2f, 0x1.f2208cp-5f, 0x1.1670ep-7f, 0x1.75bb0ap-11f, 0x1.07a51ep-15f, 0x1.ec4508p-21f},
    {0x0p+0f, -0x1.cbf1f4p-3f, -0x1.8b78fcp-3f, -0x1.1a9144p-4f, -0x1.a39d3ep-7f, -0x1.5e1a86p-10f, -0x1.28dd82p-14f, -0x1.07e476p-20f},
    {-0x1.105946p-3f, -0x1.75f9d4p-5f, 0x1.bcea3ap-5f, 0x1.586ae8p-5f, 0x1.772b06p-7f, 0x1.9625eap-10f, 0x1.a7b1f2p-14f, 0x1.2006cep-18f},
    {0x0p+0f, 0x1.77c37ap-5f, 0x1.803c7ep-7f, -0x1.94b3b4p-7f, -0x1.a9a35ap-8f, -0x1.422088p-10f, -0x1.aaf74ap-14f, -0x1.36eecp-15f},
    {0x1.474776p-6f, 0x1.e9fcecp-15f, -0x1.7ec828p-7f, -0x1.71cb84p-11f, 0x1.203a98p-9f, 0x1.6911b2p-11f, 0x1.413966p-14f, -0x1.f96b02p-18f},
    {0x0p+0f, -0x1.8705aep-8f, 0x1.4fa318p-10f, 0x1.f19b44p-10f, -0x1.c35bb6p-13f, -0x1.16e726p-12f, -0x1.7ecc4cp-15f, 0x1.7aefd8p-13f},
    {-0x1.420e24p-9f, 0x1.3aefdep-11f, 0x1.20babap-10f, -0x1.08fdc6p-11f, -0x1.6b028p-13f, 0x1.ebbf6ap-15f, 0x1.4b24d8p-16f, 0x1.b5af06p-14f}};

/* erf(x / sqrt(2)) nearly as erf of a rounded quotient: a model's two operators without the division. Vectors look the factors up in registers
 * (kernels/lanes_f32.h). */
CN_INLINE float cn_erf_sqrt2_f32(float x) {
  const float a = cn_min_f32(cn_abs_f32(x), 5.5625f), place = a * 0x1.555556p+0f + 0x1.8p23f; /* whose last bit is 1 */
  return cn_copysign_f32(cn_of_part_f32(cn_erf_sqrt2_table, cn_bits_f32(place) & 7u, a), x);
}

/* (n + nl) / (d + dl) with little more than the last rounding: what a quotient of 12 bits leaves is exact. */
CN_INLINE float cn_quotient_f32(float n, float nl, float d, float dl) {
  const float inverse = 1.0f / d;
  const float q = cn_from_bits_f32(cn_bits_f32(n * inverse) & 0xfffff000u);
  const float m = cn_from_bits_f32(cn_bits_f32(d) & 0xfffff000u);
  const float rest = ((n - q * m) - q * ((d - m) + dl)) + nl;
  return q + rest * inverse;
}

/* b e^(-b^2 / 2) P((b - 4) / (b + 4)) / (1 + b) = b erfc(b / sqrt(2)) / 2 for 0 <= b <= 15, P minimax. The square is taken
 * in two parts, since rounding it would show in the result. */
CN_INLINE float cn_gelu_tail_f32(float b) {
  const float h = cn_head_f32(b);
  float k, low;
  const float high = cn_exp_reduce_f32(-0.5f * h * h, &k, &low);
  low += 0.5f * (b - h) * (b + h);
  const float r = high - low, w = r * r * cn_exp_poly_f32(r) - low;
  const float e = 1.0f + (high + w), el = ((1.0f - e) + high) + w;
  const float t = (b - 4.0f) / (b + 4.0f);
  const float t2 = t * t, t4 = t2 * t2;
  const float qa = (-0x1.8c18fp-4f + t * 0x1.cabd2p-7f) + t2 * (0x1.d49504p-6f + t * -0x1.07c292p-5f);
  const float qb = (0x1.25eea8p-6f + t * -0x1.47f796p-8f) + t2 * (-0x1.3e81f4p-12f + t * 0x1.6b4216p-11f);
  const float q = t * (qa + t4 * (qb + t4 * (-0x1.fc0f96p-15f + t * -0x1.2c6148p-14f)));
  const float p = 0x1.e361eap-2f + q, pl = (0x1.e361eap-2f - p) + q;
  const float n = e * p, eh = cn_head_f32(e), ph = cn_head_f32(p), et = e - eh, pt = p - ph;
  const float nl = (((eh * ph - n) + eh * pt + et * ph) + et * pt) + (el * p + e * pl);
  const float d = 1.0f + b, dl = (cn_max_f32(b, 1.0f) - d) + cn_min_f32(b, 1.0f);
  return cn_scale_f32(b * cn_quotient_f32(n, nl, d, dl), k);
}

/* b Phi(-b) of b = c + t, in parts that get narrower the faster it falls: the centres c, then the factors of 1, t, t^2 ... t^6, minimax, relative to the
 * function. As above, each centre but 0 lies where it is nearly a float. The last part, of b from 4.7 on, has what x - b Phi(-b) needs. */
static const float cn_gelu_table[8][16] = {
    {0x0p+0f, 0x1.1f384p-1f, 0x1.0b50e2p+0f, 0x1.759bccp+0f, 0x1.d8b034p+0f, 0x1.185fa4p+1f, 0x1.41a7p+1f, 0x1.69785p+1f,
     0x1.8ddf6ep+1f, 0x1.b0b836p+1f, 0x1.d26328p+1f, 0x1.f28514p+1f, 0x1.085d62p+2f, 0x1.173606p+2f, 0x1.2598e4p+2f, 0x1.4b5676p+2f},
    {0x0p+0f, 0x1.4a321ep-3f, 0x1.3cebb4p-3f, 0x1.afc00ap-4f, 0x1.ea4c9p-5f, 0x1.ff4aacp-6f, 0x1.ecfd1p-7f, 0x1.b6e81p-8f,
     0x1.7f362p-9f, 0x1.407666p-10f, 0x1.00becap-11f, 0x1.918cfep-13f, 0x1.394bdp-14f, 0x1.d63506p-16f, 0x1.595302p-17f, 0x1.391ab4p-21f},
    {0x1p-1f, 0x1.8a01d8p-4f, -0x1.7e31f4p-4f, -0x1.0727bap-3f, -0x1.9fdba8p-4f, -0x1.0aafa8p-4f, -0x1.2c4caap-5f, -0x1.2f7e1ep-6f,
     -0x1.256098p-7f, -0x1.0bd73ap-8f, -0x1.cfc3fp-10f, -0x1.845adp-11f, -0x1.41c6a6p-12f, -0x1.fe8e2ep-14f, -0x1.8a925ap-15f, -0x1.94ef46p-19f},
    {-0x1.98844ep-2f, -0x1.261ea6p-2f, -0x1.aedd6ap-4f, 0x1.24a706p-7f, 0x1.a2c08p-5f, 0x1.9f313ap-5f, 0x1.2bea8p-5f, 0x1.6a29f2p-6f,
     0x1.8f9152p-7f, 0x1.968db8p-8f, 0x1.82116ep-9f, 0x1.5e0f92p-10f, 0x1.36a05ep-11f, 0x1.0650e8p-12f, 0x1.ad0bcep-14f, 0x1.f6c88cp-18f},
    {-0x1.cdc114p-19f, 0x1.e10292p-4f, 0x1.dfb23ap-4f, 0x1.004212p-4f, 0x1.b0209cp-7f, -0x1.59cf1cp-7f, -0x1.0d8b88p-6f, -0x1.c599dap-7f,
     -0x1.31f04ap-7f, -0x1.68f4dap-8f, -0x1.81bbd6p-9f, -0x1.816fe6p-10f, -0x1.72e924p-11f, -0x1.50ac2ap-12f, -0x1.2595aep-13f, -0x1.8877a2p-17f},
    {0x1.108a9p-4f, 0x1.b96d42p-6f, -0x1.81c9e4p-6f, -0x1.2b23e6p-5f, -0x1.98341p-6f, -0x1.44ba2p-7f, -0x1.e697fcp-13f, 0x1.dbc9bap-9f,
     0x1.024bcp-8f, 0x1.88767ap-9f, 0x1.f2492ep-10f, 0x1.1b580cp-10f, 0x1.2df268p-11f, 0x1.2b12fcp-12f, 0x1.1938p-13f, 0x1.be824ep-17f},
    {-0x1.22ed6p-12f, -0x1.77e10ap-6f, -0x1.d7c06ap-7f, 0x1.72dd88p-10f, 0x1.1d227ep-7f, 0x1.fc0b58p-8f, 0x1.0e34cp-8f, 0x1.1adaa4p-10f,
     -0x1.ad2f9ep-12f, -0x1.bad4d2p-11f, -0x1.9065d2p-11f, -0x1.186c54p-11f, -0x1.59634cp-12f, -0x1.7fb9f2p-13f, -0x1.8cad1ap-14f, -0x1.b7b136p-17f},
    {-0x1.32a856p-7f, -0x1.d897dp-10f, 0x1.9d1f78p-8f, 0x1.543412p-8f, 0x1.17550cp-10f, -0x1.9d93cep-10f, -0x1.f61012p-10f, -0x1.46de3ep-10f,
     -0x1.08b7bap-11f, -0x1.d41bd2p-15f, 0x1.104cd6p-13f, 0x1.4c74f8p-13f, 0x1.07dacp-13f, 0x1.5a878ap-14f, 0x1.96d468p-15f, 0x1.1d6664p-17f}};

/* b sigmoid(-2 u(b)), u as in cn_gelu_tanh_f64, in the same parts. */
static const float cn_gelu_tanh_table[8][16] = {
    {0x0p+0f, 0x1.1ed7bp-1f, 0x1.0a6b8cp+0f, 0x1.778a22p+0f, 0x1.d7066ep+0f, 0x1.191486p+1f, 0x1.4196f6p+1f, 0x1.690b58p+1f,
     0x1.8e4cf6p+1f, 0x1.b07128p+1f, 0x1.d1c6c6p+1f, 0x1.f20f56p+1f, 0x1.08bd72p+2f, 0x1.176e64p+2f, 0x1.25bf2p+2f, 0x1.4aff5ap+2f},
    {0x0p+0f, 0x1.4a1a76p-3f, 0x1.3dedb4p-3f, 0x1.acb3ccp-4f, 0x1.f0032p-5f, 0x1.f51edp-6f, 0x1.df073p-7f, 0x1.9cadp-8f,
     0x1.4b124ap-9f, 0x1.017e88p-10f, 0x1.708a9ep-12f, 0x1.ea37c4p-14f, 0x1.2e1162p-15f, 0x1.6bb1b8p-17f, 0x1.99a764p-19f, 0x1.2adb98p-24f},
    {0x1p-1f, 0x1.8c6948p-4f, -0x1.79c44cp-4f, -0x1.073a1cp-3f, -0x1.a5c29p-4f, -0x1.0b9a18p-4f, -0x1.2f3442p-5f, -0x1.2f01dp-6f,
     -0x1.14ca48p-7f, -0x1.e1c2fcp-9f, -0x1.7ed3c8p-10f, -0x1.18a17ep-11f, -0x1.7adbcap-13f, -0x1.ef4c6ap-15f, -0x1.2d799ep-16f, -0x1.0ce052p-21f},
    {-0x1.98844ep-2f, -0x1.260c44p-2f, -0x1.b4a158p-4f, 0x1.347f96p-7f, 0x1.9c8e5cp-5f, 0x1.a199cep-5f, 0x1.334d96p-5f, 0x1.7713bap-6f,
     0x1.930104p-7f, 0x1.912a0ap-8f, 0x1.6800a6p-9f, 0x1.26c234p-10f, 0x1.b8a0d2p-12f, 0x1.3b6b82p-13f, 0x1.a1f676p-15f, 0x1.c71cfcp-20f},
    {-0x1.d012d2p-19f, 0x1.e117ecp-4f, 0x1.de09cp-4f, 0x1.f634f8p-5f, 0x1.e0b424p-7f, -0x1.479b94p-7f, -0x1.0caa54p-6f, -0x1.d68596p-7f,
     -0x1.407cb4p-7f, -0x1.7cbe06p-8f, -0x1.8d32c6p-9f, -0x1.72ee4ap-10f, -0x1.37eae2p-11f, -0x1.eef0a8p-13f, -0x1.686ae2p-14f, -0x1.d1a482p-19f},
    {0x1.11e442p-4f, 0x1.b48922p-6f, -0x1.8059fcp-6f, -0x1.24a72cp-5f, -0x1.96611cp-6f, -0x1.4bd694p-7f, -0x1.b16942p-11f, 0x1.bcf528p-9f,
     0x1.0ac764p-8f, 0x1.a91992p-9f, 0x1.12675ap-9f, 0x1.2fd5dp-10f, 0x1.272602p-11f, 0x1.08623ep-12f, 0x1.ad3bf6p-14f, 0x1.6d085cp-18f},
    {-0x1.28dd3ap-12f, -0x1.7bfbf2p-6f, -0x1.cdbd28p-7f, 0x1.d39ba8p-10f, 0x1.0d98e8p-7f, 0x1.e370b8p-8f, 0x1.164a0cp-8f, 0x1.6d1d78p-10f,
     -0x1.0c125cp-12f, -0x1.bae6dp-11f, -0x1.bcd23p-11f, -0x1.422dc6p-11f, -0x1.7e06a6p-12f, -0x1.8ff2ecp-13f, -0x1.72c5d6p-14f, -0x1.0abep-17f},
    {-0x1.398a76p-7f, -0x1.b22ebap-10f, 0x1.a4f21ep-8f, 0x1.4011b6p-8f, 0x1.afb402p-11f, -0x1.64267cp-10f, -0x1.c4a77ap-10f, -0x1.4a2358p-10f,
     -0x1.41b314p-11f, -0x1.1da794p-13f, 0x1.dc8a72p-14f, 0x1.765416p-13f, 0x1.3d438ep-13f, 0x1.9e7b5cp-14f, 0x1.c6a048p-15f, 0x1.b625fp-18f}};

/* From here down the parts would be too narrow. */
#define CN_GELU_FAR (-4.6875f)

CN_INLINE float cn_gelu_far_f32(float x) { return -cn_gelu_tail_f32(cn_min_f32(cn_abs_f32(x), 15.0f)); }

/* Through f64, since errors of 2 u grow into the exponential. */
CN_INLINE float cn_gelu_tanh_far_f32(float x) {
  const double b = (double)cn_max_f32(x, -30.0f), u = 0x1.9884533d43651p+0 * b * (1.0 + 0.044715 * b * b);
  return (float)(b / (1.0 + cn_exp_short_f64(-cn_max_f64(u, -700.0))));
}

/* For positive x, x minus what negative x give, which keep their digits. Vectors look the factors up in registers (kernels/lanes_f32.h). */
CN_INLINE float cn_gelu_near_f32(const float (*c)[16], float x) {
  const float a = cn_min_f32(cn_abs_f32(x), 5.65f), ones = cn_min_f32(a * (a * 0.3224f + 1.57f), 15.0f) + 0x1.8p23f; /* whose last bit is 1 */
  const uint32_t i = cn_bits_f32(ones) & 15u;
  const float t = a - c[0][i], t2 = t * t;
  const float slope = (c[2][i] + t * c[3][i]) + t2 * ((c[4][i] + t * c[5][i]) + t2 * (c[6][i] + t * c[7][i]));
  return cn_copysign_f32(cn_max_f32(x, 0.0f) - (c[1][i] + t * slope), x);
}

/* x Phi(x) */
CN_INLINE float cn_gelu_f32(float x) { return x < CN_GELU_FAR ? cn_gelu_far_f32(x) : cn_gelu_near_f32(cn_gelu_table, x); }

/* x (1 + tanh(u)) / 2: see cn_gelu_tanh_f64. */
CN_INLINE float cn_gelu_tanh_f32(float x) { return x < CN_GELU_FAR ? cn_gelu_tanh_far_f32(x) : cn_gelu_near_f32(cn_gelu_tanh_table, x); }

/* 1 / (1 + e^-x), by the exponential that cannot overflow */
CN_INLINE double cn_sigmoid_f64(double x) {
  const double e = cn_exp_f64(-cn_abs_f64(x));
  return cn_pick_f64(x < 0.0, e, 1.0) / (1.0 + e);
}

CN_INLINE double cn_silu_f64(double x) {
  const double z = cn_max_f64(x, -800.0);
  return z * cn_sigmoid_f64(z);
}

/* log(1 + e^x) */
CN_INLINE double cn_softplus_f64(double x) { return cn_max_f64(x, 0.0) + cn_log1p_f64(cn_exp_f64(-cn_abs_f64(x))); }

CN_INLINE double cn_softsign_f64(double x) {
  const double a = cn_abs_f64(x);
  const double b = cn_min_f64(a, 0x1p60);
  return cn_copysign_f64(b / (1.0 + b), x);
}

/* x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2) */
CN_INLINE double cn_mish_f64(double x) {
  const double low = cn_max_f64(x, -800.0);
  const double e = cn_exp_f64(cn_min_f64(low, 40.0));
  const double n = e * (e + 2.0);
  const double y = low * (n / (n + 2.0));
  return cn_pick_f64(x < 40.0, y, x);
}

/* e^(a^2) erfc(a) for 0 <= a < 28: a minimax polynomial of (a - 3) / (a + 3), over 1 + 2 a */
CN_INLINE double cn_erfcx_f64(double a) {
  const double t = (a - 3.0) / (a + 3.0);
  double p = -0x1.0ed94d2795cccp-30;
  p = p * t - 0x1.b194b14a9f3d7p-28;
  p = p * t - 0x1.9d1aece4b0fb7p-28;
  p = p * t + 0x1.5bf5d3b02a829p-25;
  p = p * t + 0x1.82cf1ed8720a8p-24;
  p = p * t - 0x1.332b77651b439p-23;
  p = p * t - 0x1.453659416e73ep-21;
  p = p * t + 0x1.822a8ee47b587p-22;
  p = p * t + 0x1.d135b1eada068p-19;
  p = p * t - 0x1.89d2cb797f65ap-21;
  p = p * t - 0x1.5130ee9a8663cp-16;
  p = p * t + 0x1.4c35d1c901b5dp-18;
  p = p * t + 0x1.0659e0fb1fdc4p-13;
  p = p * t - 0x1.b912b1e76141p-14;
  p = p * t - 0x1.98db4d7838af2p-11;
  p = p * t + 0x1.ef1bddd08529ap-10;
  p = p * t + 0x1.4b884e2c5772p-9;
  p = p * t - 0x1.8574c40c7ef05p-6;
  p = p * t + 0x1.17ca2877fc0b1p-4;
  p = p * t - 0x1.e88b803a47646p-4;
  p = p * t + 0x1.098366a5b446p-3;
  p = p * t - 0x1.85a15c58aa6b7p-5;
  p = p * t - 0x1.15c084bb9e8eep-3;
  p = p * t + 0x1.40c522d7e4987p+0;
  return p / (1.0 + 2.0 * a);
}

/* c e^(-a^2 s) for s = 1 or 1/2, 0 <= a < 40: the square in two parts, since rounding it would show in the result. */
CN_INLINE double cn_exp_square_f64(double a, double s, double c) {
  const double h = cn_from_bits_f64(cn_bits_f64(a) & UINT64_C(0xfffffffff8000000));
  const double rest = (a - h) * (a + h) * s;
  double k, low;
  const double r = cn_exp_reduce_f64(-(h * h) * s, &k, &low);
  const double e = 1.0 + (r + (low + r * r * cn_exp_poly_f64(r)));
  return cn_scale_f64((e - e * (rest - rest * rest * (0.5 - rest * 0x1.5555555555555p-3))) * c, k);
}

/* erf(x) / x - 1 of z = x^2 for |x| < 1, minimax */
CN_INLINE double cn_erf_poly_f64(double z) {
  double p = -0x1.2905db202dcbbp-38;
  p = p * z + 0x1.7ebe3ed236acep-34;
  p = p * z - 0x1.4e536e5b19cb2p-30;
  p = p * z + 0x1.fc409d84da27p-27;
  p = p * z - 0x1.5f6d637a5d30fp-23;
  p = p * z + 0x1.b9e64c59929a2p-20;
  p = p * z - 0x1.f4d255d6efa63p-17;
  p = p * z + 0x1.f9a326bf4c0bp-14;
  p = p * z - 0x1.c02db3fed613dp-11;
  p = p * z + 0x1.565bcd0e649ecp-8;
  p = p * z - 0x1.b82ce31288997p-6;
  p = p * z + 0x1.ce2f21a042bddp-4;
  p = p * z - 0x1.812746b0379e7p-2;
  p = p * z + 0x1.06eba8214db69p-3;
  return p;
}

CN_INLINE double cn_erf_f64(double x) {
  const double a = cn_abs_f64(x), b = cn_min_f64(a, 7.0);
  const double large = 1.0 - cn_exp_square_f64(b, 1.0, cn_erfcx_f64(b));
  return cn_pick_f64(a < 1.0, x + x * cn_erf_poly_f64(x * x), cn_copysign_f64(large, x));
}

CN_INLINE double cn_erfc_f64(double x) {
  const double a = cn_abs_f64(x), b = cn_min_f64(a, 28.0);
  const double large = cn_exp_square_f64(b, 1.0, cn_erfcx_f64(b));
  const double y = cn_pick_f64(x < 0.0, 2.0 - large, large);
  return cn_pick_f64(a < 0.25, 1.0 - cn_erf_f64(x), y);
}

/* x (1 + erf(x / sqrt(2))) / 2, by erfc so that negative x keep their digits */
CN_INLINE double cn_gelu_f64(double x) {
  const double a = cn_abs_f64(x), b = cn_min_f64(a, 39.0);
  const double tail = cn_exp_square_f64(b, 0.5, 0.5 * b * cn_erfcx_f64(b * 0x1.6a09e667f3bcdp-1));
  const double v = x * 0x1.6a09e667f3bcdp-1, near = x * (0.5 + 0.5 * (v + v * cn_erf_poly_f64(v * v)));
  return cn_pick_f64(a < 0.75, near, cn_pick_f64(x < 0.0, -tail, x - tail));
}

/* x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
CN_INLINE double cn_gelu_tanh_f64(double x) {
  const double b = cn_clip_f64(x, -40.0, 40.0);
  const double y = cn_sigmoid_f64(0x1.9884533d43651p+0 * b * (1.0 + 0.044715 * b * b));
  return cn_pick_f64(x > 40.0, x, b * y);
}

#endif
