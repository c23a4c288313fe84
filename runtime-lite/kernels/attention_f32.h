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
#include "kernels/spread.h"
#include "kernels/thin_f32.h"

/* scale, above 0, or 0 for 1: of the scores. tile, or NULL: what is done to them then (mask), as in cn_epilogue_f32: rows are queries, columns keys; only one of these. finish, or NULL: what is done to the result. out must not
 * overlap the operands. */
typedef struct cn_attention_f32_args {
  size_t queries, keys, depth, width; /* width: of V and of the result */
  const float *q, *k, *v;
  size_t q_rs, q_ks; /* element (query, d) of Q at q[query * q_rs + d * q_ks] */
  size_t k_ds, k_ts; /* element (d, key) of K at k[d * k_ds + key * k_ts] */
  size_t v_ts, v_es; /* element (key, e) of V at v[key * v_ts + e * v_es] */
  float *out;        /* [queries][ldo] */
  size_t ldo;
  float scale;
  void (*tile)(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n);
  void *ctx;
  void (*finish)(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n);
  void *finish_ctx;
  int packed; /* the scratch has these keys and values from the call before */
  int safe;   /* weights that would not be numbers, as those of keys that are all masked, are 0 */
} cn_attention_f32_args;

/* Floats of scratch: K and V packed, a tile of scores, two numbers a query. */
CN_INLINE size_t cn_attention_f32_scratch(size_t keys, size_t depth, size_t width, size_t nr) {
  return cn_round_up(keys, nr) * depth + keys * cn_round_up(width, nr) + CN_ATTENTION_QUERIES * (CN_ATTENTION_KEYS + 2);
}

/* Where in it V lies, and the scores. */
CN_INLINE size_t cn_attention_values_at(const cn_attention_f32_args *a) { return cn_round_up(a->keys, CN_GEMM_F32_NR) * a->depth; }

CN_INLINE size_t cn_attention_scores_at(const cn_attention_f32_args *a) {
  return cn_attention_values_at(a) + a->keys * cn_round_up(a->width, CN_GEMM_F32_NR);
}

CN_KERNEL void cn_row_scale_f32(float *x, float by, size_t n) {
  for (size_t i = 0; i < n; i += CN_VF32_LANES)
    cn_vf32_store_n(x + i, cn_vf32_mul(cn_vf32_load_n(x + i, n - i), cn_vf32_set1(by)), n - i);
}

/* One query and n more keys, the greatest score among them here: scores, not yet scaled, become e^(score * scale - most); out and sum, of the
 * keys before, are scaled to the new maximum. While all scores are minus infinity nothing has been summed, and there is nothing to scale. */
CN_KERNEL void cn_attention_row_f32(float *scores, size_t n, float scale, float *out, size_t width, float here, float *most, float *sum) {
  const float old = *most, now = old != old || old > here ? old : here;
  const float about = now == cn_least_f32() ? 0.0f : now;
  if (!(old == now) && old != cn_least_f32()) {
    const float by = cn_exp_f32(old - about);
    *sum *= by;
    cn_row_scale_f32(out, by, width);
  }
  *sum += cn_row_exp_times_f32(scores, scores, scale, about, n);
  *most = now;
}

/* What lies between the products for m queries from q0 and keys t0 .. t0 + n: the scores, which become e^(score * scale - most). */
CN_KERNEL void cn_attention_scores_f32(const cn_attention_f32_args *a, size_t q0, size_t m, size_t t0, size_t n, float *scores, float *most, float *sum) {
  float *out = a->out + q0 * a->ldo, here[CN_ATTENTION_QUERIES];
  const float scale = a->scale > 0.0f ? a->scale : 1.0f;
  if (a->tile) a->tile(a->ctx, scores, CN_ATTENTION_KEYS, 0, q0, m, t0, n);
  for (size_t i = 0; i < m; i++) here[i] = scale * cn_row_max_f32(scores + i * CN_ATTENTION_KEYS, n);
  for (size_t i = 0; i < m; i++)
    cn_attention_row_f32(scores + i * CN_ATTENTION_KEYS, n, scale, out + i * a->ldo, a->width, here[i], most + i, sum + i);
}

/* The arguments of the first product, and of the second, which adds to what there is. */
CN_KERNEL cn_gemm_f32_args cn_attention_keys_f32(const cn_attention_f32_args *a, size_t q0, size_t m, size_t n, float *scores) {
  const cn_gemm_f32_args s = {.m = m, .n = n, .k = a->depth, .a = a->q + q0 * a->q_rs, .a_rs = a->q_rs, .a_ks = a->q_ks, .c = scores, .ldc = CN_ATTENTION_KEYS};
  return s;
}

CN_KERNEL cn_gemm_f32_args cn_attention_values_f32(const cn_attention_f32_args *a, size_t q0, size_t m, int begun, size_t n, const float *scores) {
  float *out = a->out + q0 * a->ldo;
  const cn_gemm_f32_args o = {.m = m, .n = a->width, .k = n, .a = scores, .a_rs = CN_ATTENTION_KEYS, .a_ks = 1, .c = out, .ldc = a->ldo,
                              .ep = {.flags = begun ? CN_EP_RESIDUAL : 0, .residual = out}};
  return o;
}

/* One band of queries while keys pass by. k, v: packed, or NULL. bound: no score is further from zero, once one is asked for (not before: a negative number);
 * NaN where a key, a value or a query is not finite. least: of each query the greatest that a key among the first `looked` gets at least. */
typedef struct cn_attention_band_f32 {
  const cn_attention_f32_args *a;
  const float *k, *v;
  float *scores, *most, *sum;
  size_t q0, m;
  int begun; /* sums of some keys are in out */
  float of_keys, bound;
  size_t looked;
  float least[CN_ATTENTION_QUERIES];
} cn_attention_band_f32;

/* The first n of `whole` keys from t0, which are packed together; the first ones begin the sums. Fewer than all: by panels of values, which lie as far apart as all go. */
CN_KERNEL void cn_attention_packed_f32(const cn_attention_band_f32 *b, size_t t0, size_t n, size_t whole) {
  const cn_attention_f32_args *a = b->a;
  cn_gemm_f32_args s = cn_attention_keys_f32(a, b->q0, b->m, n, b->scores), o = cn_attention_values_f32(a, b->q0, b->m, b->begun, n, b->scores);
  const size_t each = n < whole ? CN_GEMM_F32_NR : cn_max(a->width, 1);
  const float *v = b->v + t0 * cn_round_up(a->width, CN_GEMM_F32_NR);
  float *out = o.c;
  s.b = b->k + t0 * a->depth;
  cn_gemm_f32(&s, 0, cn_gemm_f32_tasks(&s));
  cn_attention_scores_f32(a, b->q0, b->m, t0, n, b->scores, b->most, b->sum);
  for (size_t e = 0; e < a->width; e += each) {
    o.n = cn_min(each, a->width - e);
    o.b = v + e * whole;
    o.c = out + e, o.ep.residual = o.c;
    cn_gemm_f32(&o, 0, cn_gemm_f32_tasks(&o));
  }
}

/* The same of keys and values as they lie. */
CN_KERNEL void cn_attention_lying_f32(const cn_attention_band_f32 *b, size_t t0, size_t n, size_t whole) {
  const cn_attention_f32_args *a = b->a;
  cn_gemm_f32_args s = cn_attention_keys_f32(a, b->q0, b->m, n, b->scores), o = cn_attention_values_f32(a, b->q0, b->m, b->begun, n, b->scores);
  (void)whole;
  s.b = a->k + t0 * a->k_ts, s.ldb = a->k_ts;
  o.b = a->v + t0 * a->v_ts, o.ldb = a->v_ts;
  cn_thin_dots_f32(&s, 0, cn_thin_f32_tasks(&s));
  cn_attention_scores_f32(a, b->q0, b->m, t0, n, b->scores, b->most, b->sum);
  cn_thin_rows_f32(&o, 0, cn_thin_f32_tasks(&o));
}

/* Bands of whole tiles of queries, an even number: two threads have as many. */
CN_INLINE size_t cn_attention_f32_tasks(const cn_attention_f32_args *a) {
  const size_t bands = cn_ceil_div(cn_ceil_div(a->queries, CN_GEMM_F32_MR), CN_ATTENTION_QUERIES / CN_GEMM_F32_MR);
  return bands > 1 ? cn_round_up(bands, 2) : bands;
}

/* ---- masked keys ---- */
/* A key's weight e^(score - most) is exactly zero where its score is so far below another's. */
#define CN_ATTENTION_FAR 200.0f

/* The greatest magnitude among [m][n] numbers, rows ld apart; NaN if one of them is not finite. */
CN_KERNEL float cn_attention_magnitude_f32(const float *x, size_t ld, size_t m, size_t n) {
  const size_t lanes = CN_VF32_LANES;
  cn_vf32 most = cn_vf32_zero(), nothing = cn_vf32_zero();
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j += lanes) {
      const cn_vf32 v = cn_vf32_load_n(x + i * ld + j, cn_min(lanes, n - j));
      most = cn_vf32_max(most, cn_vf32_abs(v));
      nothing = cn_vf32_fma(v, cn_vf32_zero(), nothing);
    }
  return cn_vf32_reduce_maxn(most) + cn_vf32_reduce_add(nothing);
}

/* The bound of the band's scores: what rounding adds to them is within the factor. */
CN_KERNEL float cn_attention_bound_f32(cn_attention_band_f32 *b) {
  const cn_attention_f32_args *a = b->a;
  const float *q = a->q + b->q0 * a->q_rs;
  float most = 0.0f;
  if (b->bound >= 0.0f || b->bound != b->bound) return b->bound;
  if (b->of_keys < 0.0f)
    b->of_keys = cn_attention_magnitude_f32(b->k, 0, 1, cn_round_up(a->keys, CN_GEMM_F32_NR) * a->depth) +
                 0.0f * cn_attention_magnitude_f32(b->v, 0, 1, a->keys * cn_round_up(a->width, CN_GEMM_F32_NR));
  if (a->q_ks == 1) most = cn_attention_magnitude_f32(q, a->q_rs, b->m, a->depth);
  for (size_t i = 0; i < b->m * a->depth && a->q_ks != 1; i++) {
    const float x = q[i / a->depth * a->q_rs + i % a->depth * a->q_ks], here = (x < 0.0f ? -x : x) + 0.0f * x;
    most = here > most || here != here ? here : most;
  }
  return b->bound = 2.0f * (float)a->depth * most * b->of_keys;
}

/* What the tile function makes of n scores from t0 on, all of them `score`, for m queries from q0: the greatest of each query. */
CN_KERNEL void cn_attention_try_f32(const cn_attention_band_f32 *b, size_t q0, size_t m, size_t t0, size_t n, float score, float *most) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j += CN_VF32_LANES) cn_vf32_store(b->scores + i * CN_ATTENTION_KEYS + j, cn_vf32_set1(score));
  b->a->tile(b->a->ctx, b->scores, CN_ATTENTION_KEYS, 0, q0, m, t0, n);
  for (size_t i = 0; i < m; i++) most[i] = cn_row_max_f32(b->scores + i * CN_ATTENTION_KEYS, n);
}

/* Whether each of the band's queries has a key that gets more than `score` whatever its product is. */
CN_KERNEL int cn_attention_exceeds_f32(cn_attention_band_f32 *b, float score) {
  for (;;) {
    float most[CN_ATTENTION_QUERIES];
    size_t above = 0;
    const size_t n = cn_min(CN_ATTENTION_CHUNK, b->a->keys - b->looked);
    for (size_t i = 0; i < b->m; i++) above += b->least[i] > score;
    if (above == b->m || n == 0) return above == b->m;
    cn_attention_try_f32(b, b->q0, b->m, b->looked, n, -b->bound, most);
    for (size_t i = 0; i < b->m; i++) b->least[i] = most[i] > b->least[i] ? most[i] : b->least[i];
    b->looked += n;
  }
}

/* Whether n keys from t0 have no weight for any query of the band. The first and the last of them tell in nearly all cases that they have. */
CN_KERNEL int cn_attention_hides_f32(cn_attention_band_f32 *b, size_t t0, size_t n) {
  float most[CN_ATTENTION_QUERIES], top = cn_least_f32();
  cn_attention_try_f32(b, b->q0 + b->m - 1, 1, t0, n, 0.0f, most);
  if (!(most[0] < -CN_ATTENTION_FAR)) return 0;
  cn_attention_try_f32(b, b->q0, 1, t0, n, 0.0f, most);
  if (!(most[0] < -CN_ATTENTION_FAR)) return 0;
  cn_attention_try_f32(b, b->q0, b->m, t0, n, cn_attention_bound_f32(b), most);
  for (size_t i = 0; i < b->m; i++) top = top > most[i] ? top : most[i] == most[i] ? most[i] : 0.0f;
  return top < -CN_ATTENTION_FAR && cn_attention_exceeds_f32(b, 0.99f * top + CN_ATTENTION_FAR);
}

/* How many of n keys from t0 are to be looked at: none of those behind them has a weight. */
CN_KERNEL size_t cn_attention_unmasked_f32(cn_attention_band_f32 *b, size_t t0, size_t n) {
  while (n) {
    const size_t chunk = (n - 1) % CN_ATTENTION_CHUNK + 1;
    if (!cn_attention_hides_f32(b, t0 + n - chunk, chunk)) break;
    n -= chunk;
  }
  return n;
}

CN_KERNEL size_t cn_attention_all_f32(cn_attention_band_f32 *b, size_t t0, size_t n) {
  (void)b, (void)t0;
  return n;
}

typedef void cn_attention_tile_f32(const cn_attention_band_f32 *b, size_t t0, size_t n, size_t whole);

typedef size_t cn_attention_keys_of_f32(cn_attention_band_f32 *b, size_t t0, size_t n);

/* The values weighed with what follows from the sum of weights that are not yet divided by it. */
CN_KERNEL void cn_attention_divide_f32(const cn_attention_f32_args *a, float *out, float sum) {
  const int nothing = a->safe && !(sum > 0.0f);
  if (!nothing) cn_row_scale_f32(out, 1.0f / sum, a->width);
  for (size_t e = 0; e < a->width && nothing; e++) {
    out[e] = 0.0f;
    for (size_t t = 0; t < a->keys; t++) out[e] += 0.0f * a->v[t * a->v_ts + e * a->v_es]; /* 0, or NaN of what is not finite */
  }
}

/* b->m queries from b->q0, all keys. tile, keys: literals. */
CN_KERNEL void cn_attention_band_of_f32(cn_attention_band_f32 *b, cn_attention_tile_f32 *tile, cn_attention_keys_of_f32 *keys) {
  const cn_attention_f32_args *a = b->a;
  b->begun = 0, b->bound = -1.0f, b->looked = 0;
  for (size_t i = 0; i < b->m; i++) {
    b->most[i] = b->least[i] = cn_least_f32();
    b->sum[i] = 0.0f;
    if (!a->keys) memset(a->out + (b->q0 + i) * a->ldo, 0, a->width * sizeof(float));
  }
  for (size_t t = 0; t < a->keys && b->m; t += CN_ATTENTION_KEYS) {
    const size_t whole = cn_min(CN_ATTENTION_KEYS, a->keys - t), n = keys(b, t, whole);
    if (!n) continue;
    tile(b, t, n, whole);
    b->begun = 1;
  }
  for (size_t i = 0; i < b->m && a->keys; i++) cn_attention_divide_f32(a, a->out + (b->q0 + i) * a->ldo, b->sum[i]);
  if (a->finish) a->finish(a->finish_ctx, a->out + b->q0 * a->ldo, a->ldo, 0, b->q0, b->m, 0, a->width);
}

CN_DRIVER void cn_attention_every_key_f32(cn_attention_band_f32 *b) { cn_attention_band_of_f32(b, cn_attention_packed_f32, cn_attention_all_f32); }

CN_DRIVER void cn_attention_unmasked_keys_f32(cn_attention_band_f32 *b) { cn_attention_band_of_f32(b, cn_attention_packed_f32, cn_attention_unmasked_f32); }

CN_DRIVER void cn_attention_lying_keys_f32(cn_attention_band_f32 *b) { cn_attention_band_of_f32(b, cn_attention_lying_f32, cn_attention_all_f32); }

/* keys and values, packed, at the start of the scratch; scores, for `rows` queries. */
CN_INLINE cn_attention_band_f32 cn_attention_band_at_f32(const cn_attention_f32_args *a, const float *scratch, float *scores, size_t rows) {
  float *most = scores + rows * CN_ATTENTION_KEYS;
  const cn_attention_band_f32 b = {.a = a, .k = scratch, .v = scratch + cn_attention_values_at(a), .scores = scores, .most = most, .sum = most + rows, .of_keys = -1.0f};
  return b;
}

/* packs: keys and values have to be. */
CN_KERNEL void cn_attention_body_f32(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1, void (*band)(cn_attention_band_f32 *b), int packs) {
  const cn_gemm_f32_args rows = {.m = a->queries};
  const size_t bands = cn_attention_f32_tasks(a), wide = cn_round_up(a->width, CN_GEMM_F32_NR);
  cn_attention_band_f32 b = cn_attention_band_at_f32(a, scratch, scratch + cn_attention_scores_at(a), CN_ATTENTION_QUERIES);
  float *v = scratch + cn_attention_values_at(a);
  packs = packs && t0 < t1 && !a->packed;
  if (packs) cn_pack_operand_f32(a->k, a->k_ds, a->k_ts, a->depth, a->keys, scratch);
  for (size_t t = 0; t < a->keys && packs; t += CN_ATTENTION_KEYS)
    cn_pack_operand_f32(a->v + t * a->v_ts, a->v_ts, a->v_es, cn_min(CN_ATTENTION_KEYS, a->keys - t), a->width, v + t * wide);
  for (size_t t = t0; t < t1; t++) {
    b.q0 = cn_gemm_f32_band(&rows, t, bands), b.m = cn_gemm_f32_band(&rows, t + 1, bands) - b.q0;
    band(&b);
  }
}

/* ---- a head by many threads: keys and values are packed together, then each computes bands of its own ---- */
typedef struct cn_attention_phase_f32 {
  const cn_attention_f32_args *a;
  void (*band)(cn_attention_band_f32 *b);
  float *scratch;
  size_t rows, floats, shares; /* of a band; its scores; of the phase */
} cn_attention_phase_f32;

/* NR keys each, then as many values. */
CN_INLINE size_t cn_attention_pack_units(const cn_attention_f32_args *a) { return 2 * cn_ceil_div(a->keys, CN_GEMM_F32_NR); }

CN_DRIVER void cn_attention_pack_share_f32(void *arg, size_t i) {
  const cn_attention_phase_f32 *p = (const cn_attention_phase_f32 *)arg;
  const cn_attention_f32_args *a = p->a;
  const size_t nr = CN_GEMM_F32_NR, all = cn_attention_pack_units(a), end = cn_share(all, i + 1, p->shares);
  float *v = p->scratch + cn_attention_values_at(a);
  for (size_t u = cn_share(all, i, p->shares); u < end; u++) {
    const size_t t = u % (all / 2) * nr, n = cn_min(nr, a->keys - t), tile = t / CN_ATTENTION_KEYS * CN_ATTENTION_KEYS;
    const size_t whole = cn_min(CN_ATTENTION_KEYS, a->keys - tile);
    if (u < all / 2) cn_pack_operand_f32(a->k + t * a->k_ts, a->k_ds, a->k_ts, a->depth, n, p->scratch + t * a->depth);
    for (size_t e = 0; e < a->width && u >= all / 2; e += nr)
      cn_pack_operand_f32(a->v + t * a->v_ts + e * a->v_es, a->v_ts, a->v_es, n, cn_min(nr, a->width - e),
                          v + tile * cn_round_up(a->width, nr) + e * whole + (t - tile) * nr);
  }
}

CN_DRIVER void cn_attention_bands_share_f32(void *arg, size_t i) {
  const cn_attention_phase_f32 *p = (const cn_attention_phase_f32 *)arg;
  const cn_attention_f32_args *a = p->a;
  const size_t bands = cn_ceil_div(a->queries, p->rows), end = cn_share(bands, i + 1, p->shares);
  cn_attention_band_f32 b = cn_attention_band_at_f32(a, p->scratch, p->scratch + cn_attention_scores_at(a) + i * p->floats, p->rows);
  for (size_t t = cn_share(bands, i, p->shares); t < end; t++) {
    b.q0 = cn_share(a->queries, t, bands), b.m = cn_share(a->queries, t + 1, bands) - b.q0;
    p->band(&b);
  }
}

/* Floats of the scores of so many queries, in whole lines. */
CN_INLINE size_t cn_attention_band_floats(size_t rows) { return cn_round_up(rows * (CN_ATTENTION_KEYS + 2), 16); }

/* One tile of queries a band, or more where the room is there and each thread still has one; of four queries at least, so that none of equal bands has
 * one alone, whose products are summed in another order. Nonzero: it could not be handed out. */
CN_DRIVER int cn_attention_phases_f32(const cn_attention_f32_args *a, float *scratch, size_t room, const cn_spread *spread, void (*band)(cn_attention_band_f32 *b)) {
  const size_t mr = cn_max(CN_GEMM_F32_MR, 4), left = room - cn_attention_scores_at(a);
  cn_attention_phase_f32 p = {a, band, scratch, mr, cn_attention_band_floats(mr), cn_min(spread->threads, cn_attention_pack_units(a))};
  if (!a->packed && p.shares && spread->run(spread->user, p.shares, cn_attention_pack_share_f32, &p)) return 1;
  p.shares = cn_max(1, cn_min(spread->threads, left / p.floats));
  while (p.rows + mr <= CN_ATTENTION_QUERIES && cn_attention_band_floats(p.rows + mr) * p.shares <= left && (p.rows + mr) * p.shares <= cn_round_up(a->queries, mr))
    p.rows += mr;
  p.floats = cn_attention_band_floats(p.rows);
  p.shares = cn_min(p.shares, cn_ceil_div(a->queries, p.rows));
  return p.shares ? spread->run(spread->user, p.shares, cn_attention_bands_share_f32, &p) : 0;
}

/* Tasks t0 .. t1 of cn_attention_f32_tasks(a), each call with its own scratch of
 * cn_attention_f32_scratch(keys, depth, width, CN_GEMM_F32_NR) floats. No keys: zeros. */
CN_DRIVER void cn_attention_f32(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_attention_body_f32(a, scratch, t0, t1, cn_attention_every_key_f32, 1);
}

/* The same of a tile function that never makes less of a greater score: blocks of keys whose weights are all zero, by what it makes of the least and the
 * greatest scores that there can be, are passed over. The results are the same. */
CN_DRIVER void cn_attention_masked_f32(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1) {
  cn_attention_body_f32(a, scratch, t0, t1, cn_attention_unmasked_keys_f32, 1);
}

/* All tasks of either, one phase after the other by spread, with `room` floats of scratch, at least what a call of them needs. The results are the same. */
CN_DRIVER int cn_attention_f32_spread(const cn_attention_f32_args *a, float *scratch, size_t room, const cn_spread *spread) {
  return cn_attention_phases_f32(a, scratch, room, spread, cn_attention_every_key_f32);
}

CN_DRIVER int cn_attention_masked_f32_spread(const cn_attention_f32_args *a, float *scratch, size_t room, const cn_spread *spread) {
  return cn_attention_phases_f32(a, scratch, room, spread, cn_attention_unmasked_keys_f32);
}

/* Whether queries are so few that packing keys and values would take longer than all else, and these can be read as they lie. */
CN_KERNEL int cn_attention_lies_f32(const cn_attention_f32_args *a) {
  return CN_VF32_LANES > 1 && a->queries <= CN_THIN_ROWS && a->q_ks == 1 && a->k_ds == 1 && a->v_es == 1;
}

/* Where only the call knows how many queries there are. */
CN_DRIVER void cn_attention_f32_any(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1) {
  if (cn_attention_lies_f32(a)) cn_attention_body_f32(a, scratch, t0, t1, cn_attention_lying_keys_f32, 0);
  else cn_attention_f32(a, scratch, t0, t1);
}

CN_DRIVER void cn_attention_masked_f32_any(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1) {
  if (cn_attention_lies_f32(a)) cn_attention_body_f32(a, scratch, t0, t1, cn_attention_lying_keys_f32, 0);
  else cn_attention_masked_f32(a, scratch, t0, t1);
}

#endif
