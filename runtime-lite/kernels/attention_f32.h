/* SPDX-License-Identifier: MIT-0 */
/* softmax(f(Q K^T)) V of one head, f32, without ever holding all of the scores: keys pass by in tiles, and what is summed so
 * far is scaled anew where a greater score turns up (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018;
 * Dao et al., "FlashAttention", 2022). Needs a SIMD layer included before. */
#ifndef CN_KERNELS_ATTENTION_F32_H
#define CN_KERNELS_ATTENTION_F32_H

#include "kernels/attention.h"
#include "kernels/gemm_f32.h"
#include "kernels/pack_f32.h"
#include "kernels/rows_f32.h"
#include "kernels/thin_f32.h"

/* tile, or NULL: what is done to the scores (scale, mask), as in cn_epilogue_f32: rows are queries, columns keys. out must not
 * overlap the operands. */
typedef struct cn_attention_f32_args {
  size_t queries, keys, depth, width; /* width: of V and of the result */
  const float *q, *k, *v;
  size_t q_rs, q_ks; /* element (query, d) of Q at q[query * q_rs + d * q_ks] */
  size_t k_ds, k_ts; /* element (d, key) of K at k[d * k_ds + key * k_ts] */
  size_t v_ts, v_es; /* element (key, e) of V at v[key * v_ts + e * v_es] */
  float *out;        /* [queries][ldo] */
  size_t ldo;
  void (*tile)(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n);
  void *ctx;
} cn_attention_f32_args;

/* Floats of scratch: K and V packed, a tile of scores, two numbers a query. */
CN_INLINE size_t cn_attention_f32_scratch(size_t keys, size_t depth, size_t width, size_t nr) {
  return cn_round_up(keys, nr) * depth + keys * cn_round_up(width, nr) + CN_ATTENTION_QUERIES * (CN_ATTENTION_KEYS + 2);
}

CN_KERNEL void cn_row_scale_f32(float *x, float by, size_t n) {
  for (size_t i = 0; i < n; i += CN_VF32_LANES)
    cn_vf32_store_n(x + i, cn_vf32_mul(cn_vf32_load_n(x + i, n - i), cn_vf32_set1(by)), n - i);
}

/* One query and n more keys, the greatest score among them here: scores become e^(score - most); out and sum, of the
 * keys before, are scaled to the new maximum. While all scores are minus infinity nothing has been summed, and there is nothing to scale. */
CN_KERNEL void cn_attention_row_f32(float *scores, size_t n, float *out, size_t width, float here, float *most, float *sum) {
  const float old = *most, now = old != old || old > here ? old : here;
  const float about = now == cn_least_f32() ? 0.0f : now;
  if (!(old == now) && old != cn_least_f32()) {
    const float by = cn_exp_f32(old - about);
    *sum *= by;
    cn_row_scale_f32(out, by, width);
  }
  *sum += cn_row_exp_f32(scores, scores, about, n);
  *most = now;
}

/* What lies between the products for m queries from q0 and keys t0 .. t0 + n: the scores, which become e^(score - most). */
CN_KERNEL void cn_attention_scores_f32(const cn_attention_f32_args *a, size_t q0, size_t m, size_t t0, size_t n, float *scores, float *most, float *sum) {
  float *out = a->out + q0 * a->ldo, here[CN_ATTENTION_QUERIES];
  if (a->tile) a->tile(a->ctx, scores, CN_ATTENTION_KEYS, 0, q0, m, t0, n);
  for (size_t i = 0; i < m; i++) here[i] = cn_row_max_f32(scores + i * CN_ATTENTION_KEYS, n);
  for (size_t i = 0; i < m; i++)
    cn_attention_row_f32(scores + i * CN_ATTENTION_KEYS, n, out + i * a->ldo, a->width, here[i], most + i, sum + i);
}

/* The arguments of the first product, and of the second, which adds to what there is. */
CN_KERNEL cn_gemm_f32_args cn_attention_keys_f32(const cn_attention_f32_args *a, size_t q0, size_t m, size_t n, float *scores) {
  const cn_gemm_f32_args s = {.m = m, .n = n, .k = a->depth, .a = a->q + q0 * a->q_rs, .a_rs = a->q_rs, .a_ks = a->q_ks, .c = scores, .ldc = CN_ATTENTION_KEYS};
  return s;
}

CN_KERNEL cn_gemm_f32_args cn_attention_values_f32(const cn_attention_f32_args *a, size_t q0, size_t m, size_t t0, size_t n, const float *scores) {
  float *out = a->out + q0 * a->ldo;
  const cn_gemm_f32_args o = {.m = m, .n = a->width, .k = n, .a = scores, .a_rs = CN_ATTENTION_KEYS, .a_ks = 1, .c = out, .ldc = a->ldo,
                              .ep = {.flags = t0 ? CN_EP_RESIDUAL : 0, .residual = out}};
  return o;
}

/* Keys t0 .. t0 + n for m queries from q0; the first ones begin the sums. k, v: packed. */
CN_KERNEL void cn_attention_packed_f32(const cn_attention_f32_args *a, const float *k, const float *v, size_t q0, size_t m, size_t t0, size_t n, float *scores,
                                       float *most, float *sum) {
  cn_gemm_f32_args s = cn_attention_keys_f32(a, q0, m, n, scores), o = cn_attention_values_f32(a, q0, m, t0, n, scores);
  s.b = k + t0 * a->depth;
  o.b = v + t0 * cn_round_up(a->width, CN_GEMM_F32_NR);
  cn_gemm_f32(&s, 0, cn_gemm_f32_tasks(&s));
  cn_attention_scores_f32(a, q0, m, t0, n, scores, most, sum);
  cn_gemm_f32(&o, 0, cn_gemm_f32_tasks(&o));
}

/* The same of keys and values as they lie. */
CN_KERNEL void cn_attention_lying_f32(const cn_attention_f32_args *a, const float *k, const float *v, size_t q0, size_t m, size_t t0, size_t n, float *scores,
                                      float *most, float *sum) {
  cn_gemm_f32_args s = cn_attention_keys_f32(a, q0, m, n, scores), o = cn_attention_values_f32(a, q0, m, t0, n, scores);
  (void)k, (void)v;
  s.b = a->k + t0 * a->k_ts, s.ldb = a->k_ts;
  o.b = a->v + t0 * a->v_ts, o.ldb = a->v_ts;
  cn_thin_dots_f32(&s, 0, cn_thin_f32_tasks(&s));
  cn_attention_scores_f32(a, q0, m, t0, n, scores, most, sum);
  cn_thin_rows_f32(&o, 0, cn_thin_f32_tasks(&o));
}

/* Bands of whole tiles of queries, an even number: two threads have as many. */
CN_INLINE size_t cn_attention_f32_tasks(const cn_attention_f32_args *a) {
  const size_t bands = cn_ceil_div(cn_ceil_div(a->queries, CN_GEMM_F32_MR), CN_ATTENTION_QUERIES / CN_GEMM_F32_MR);
  return bands > 1 ? cn_round_up(bands, 2) : bands;
}

typedef void cn_attention_tile_f32(const cn_attention_f32_args *a, const float *k, const float *v, size_t q0, size_t m, size_t t0, size_t n, float *scores,
                                   float *most, float *sum);

/* tile, packs: literals. */
CN_KERNEL void cn_attention_body_f32(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1, cn_attention_tile_f32 *tile, int packs) {
  const size_t nr = CN_GEMM_F32_NR, wide = cn_round_up(a->width, nr);
  float *k = scratch, *v = k + cn_round_up(a->keys, nr) * a->depth, *scores = v + a->keys * wide;
  float *most = scores + CN_ATTENTION_QUERIES * CN_ATTENTION_KEYS, *sum = most + CN_ATTENTION_QUERIES;
  const cn_gemm_f32_args rows = {.m = a->queries};
  const size_t bands = cn_attention_f32_tasks(a);
  if (packs && t0 < t1) cn_pack_operand_f32(a->k, a->k_ds, a->k_ts, a->depth, a->keys, k);
  for (size_t t = 0; t < a->keys && packs && t0 < t1; t += CN_ATTENTION_KEYS)
    cn_pack_operand_f32(a->v + t * a->v_ts, a->v_ts, a->v_es, cn_min(CN_ATTENTION_KEYS, a->keys - t), a->width, v + t * wide);
  for (size_t band = t0; band < t1; band++) {
    const size_t q0 = cn_gemm_f32_band(&rows, band, bands), m = cn_gemm_f32_band(&rows, band + 1, bands) - q0;
    for (size_t i = 0; i < m; i++) {
      most[i] = cn_least_f32();
      sum[i] = 0.0f;
      if (!a->keys) memset(a->out + (q0 + i) * a->ldo, 0, a->width * sizeof(float));
    }
    for (size_t t = 0; t < a->keys; t += CN_ATTENTION_KEYS)
      tile(a, k, v, q0, m, t, cn_min(CN_ATTENTION_KEYS, a->keys - t), scores, most, sum);
    for (size_t i = 0; i < m && a->keys; i++) cn_row_scale_f32(a->out + (q0 + i) * a->ldo, 1.0f / sum[i], a->width);
  }
}

/* Tasks t0 .. t1 of cn_attention_f32_tasks(a), each call with its own scratch of
 * cn_attention_f32_scratch(keys, depth, width, CN_GEMM_F32_NR) floats. No keys: zeros. */
CN_DRIVER void cn_attention_f32(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_attention_body_f32(a, scratch, t0, t1, cn_attention_packed_f32, 1);
}

/* The same where only the call knows how many queries there are: of so few that packing keys and values would take longer than all else, these are read as they
 * lie, if they can be. */
CN_DRIVER void cn_attention_f32_any(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1) {
  if (CN_VF32_LANES > 1 && a->queries <= CN_THIN_ROWS && a->q_ks == 1 && a->k_ds == 1 && a->v_es == 1)
    cn_attention_body_f32(a, scratch, t0, t1, cn_attention_lying_f32, 0);
  else cn_attention_f32(a, scratch, t0, t1);
}

#endif
