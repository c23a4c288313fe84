#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

typedef struct Scores { float scale; const float *mask; size_t keys; } Scores;

static void scale_and_mask(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  const Scores *s = ctx;
  (void)index;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) tile[i * ld + j] = tile[i * ld + j] * s->scale + s->mask[(m0 + i) * s->keys + n0 + j];
}

/* Row `query` of the result against the definition in double. */
static void compare_query(Case *c, const cn_attention_f32_args *a, const Scores *s, size_t query, double *score) {
  double most = -INFINITY, sum = 0;
  for (size_t t = 0; t < a->keys; t++) {
    double x = 0;
    for (size_t d = 0; d < a->depth; d++) x += (double)a->q[query * a->q_rs + d * a->q_ks] * (double)a->k[d * a->k_ds + t * a->k_ts];
    score[t] = a->tile ? x * (double)s->scale + (double)s->mask[query * a->keys + t] : x;
    most = fmax(most, score[t]);
  }
  for (size_t t = 0; t < a->keys; t++) sum += score[t] = exp(score[t] - most);
  for (size_t e = 0; e < a->width; e++) {
    double want = 0, size = 0;
    for (size_t t = 0; t < a->keys; t++) {
      const double x = score[t] / sum * (double)a->v[t * a->v_ts + e * a->v_es];
      want += x;
      size += fabs(x);
    }
    const double bound = (size + 0x1p-10) * (double)(a->depth + a->keys + 64) * 0x1p-22;
    if (!close_enough(a->out[query * a->ldo + e], want, bound))
      fail(c, "%s [%zu][%zu] of %zu keys is %g, not %g", c->kernel, query, e, a->keys, (double)a->out[query * a->ldo + e], want);
  }
}

static size_t pick_count(Case *c, size_t tile) { return pick(c, 6) ? pick(c, 20) : tile - 1 + pick(c, 3) + (pick(c, 3) ? 0 : tile); }

static void attention(Case *c, AttentionRun *run) {
  const size_t nr = c->set->nr;
  cn_attention_f32_args a = {.queries = pick_count(c, CN_ATTENTION_QUERIES), .keys = pick_count(c, CN_ATTENTION_KEYS)};
  a.depth = 1 + pick(c, 20);
  a.width = 1 + pick(c, (uint32_t)(2 * nr + 1));
  const int q_turned = pick(c, 3) == 0, k_turned = pick(c, 2) == 0, v_turned = pick(c, 3) == 0;
  a.q_rs = q_turned ? 1 : a.depth, a.q_ks = q_turned ? a.queries : 1;
  a.k_ds = k_turned ? 1 : a.keys, a.k_ts = k_turned ? a.depth : 1;
  a.v_ts = v_turned ? 1 : a.width, a.v_es = v_turned ? a.keys : 1;
  a.ldo = a.width + pick(c, 3);
  a.q = guarded_values(c, a.queries * a.depth);
  a.k = guarded_values(c, a.keys * a.depth);
  a.v = guarded_values(c, a.keys * a.width);
  float *mask = guarded_values(c, a.queries * a.keys);
  for (size_t i = 0; i < a.queries * a.keys; i++) mask[i] = pick(c, 3) ? mask[i] * 8.0f : -INFINITY;
  Scores s = {.scale = 0.5f, .mask = mask, .keys = a.keys};
  if (pick(c, 3)) a.tile = scale_and_mask, a.ctx = &s;
  a.out = guarded(c, a.queries ? (a.queries - 1) * a.ldo + a.width : 0);
  float *scratch = guarded(c, cn_attention_f32_scratch(a.keys, a.depth, a.width, nr));
  double *score = calloc(a.keys + 1, sizeof *score);
  const size_t tasks = c->set->attention_f32_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  run(&a, scratch, cut, tasks);
  run(&a, scratch, 0, cut);
  for (size_t i = 0; i < a.queries; i++) compare_query(c, &a, &s, i, score);
  free(score);
}

void test_cn_attention_f32(Case *c) { attention(c, c->set->attention_f32); }

void test_cn_attention_f32_any(Case *c) { attention(c, c->set->attention_f32_any); }
