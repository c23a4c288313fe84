#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Scores { float scale; const float *mask; size_t keys, products; } Scores; /* products: how many scores were not of one value along a row */

static void scale_and_mask(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  Scores *s = ctx;
  (void)index;
  if (m && n > 1 && tile[0] != tile[n - 1]) s->products += m * n;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) tile[i * ld + j] = tile[i * ld + j] * s->scale + s->mask[(m0 + i) * s->keys + n0 + j];
}

/* Row `query` of the result against the definition in double. */
static void compare_query(Case *c, const cn_attention_f32_args *a, const Scores *s, size_t query, double *score) {
  double most = -INFINITY, sum = 0;
  for (size_t t = 0; t < a->keys; t++) {
    double x = 0;
    for (size_t d = 0; d < a->depth; d++) x += (double)a->q[query * a->q_rs + d * a->q_ks] * (double)a->k[d * a->k_ds + t * a->k_ts];
    score[t] = a->tile ? x * (double)s->scale + (double)s->mask[query * a->keys + t] : a->scale > 0.0f ? x * (double)a->scale : x;
    most = fmax(most, score[t]);
  }
  for (size_t t = 0; t < a->keys; t++) sum += score[t] = exp(score[t] - most);
  const int nothing = a->safe && !(sum > 0);
  for (size_t e = 0; e < a->width; e++) {
    double want = 0, size = 0;
    for (size_t t = 0; t < a->keys; t++) {
      const double x = (nothing ? 0 : score[t] / sum) * (double)a->v[t * a->v_ts + e * a->v_es];
      want += x;
      size += fabs(x);
    }
    const double bound = (size + 0x1p-10) * (double)(a->depth + a->keys + 64) * 0x1p-22;
    if (!close_enough(a->out[query * a->ldo + e], want, bound))
      fail(c, "%s [%zu][%zu] of %zu keys is %g, not %g", c->kernel, query, e, a->keys, (double)a->out[query * a->ldo + e], want);
  }
}

static size_t pick_count(Case *c, size_t tile) { return pick(c, 6) ? pick(c, 20) : tile - 1 + pick(c, 3) + (pick(c, 3) ? 0 : tile); }

static cn_attention_f32_args operands(Case *c) {
  cn_attention_f32_args a = {.queries = pick_count(c, CN_ATTENTION_QUERIES), .keys = pick_count(c, CN_ATTENTION_KEYS)};
  a.depth = 1 + pick(c, 20);
  a.width = 1 + pick(c, (uint32_t)(2 * c->set->nr + 1));
  const int q_turned = pick(c, 3) == 0, k_turned = pick(c, 2) == 0, v_turned = pick(c, 3) == 0;
  a.q_rs = q_turned ? 1 : a.depth, a.q_ks = q_turned ? a.queries : 1;
  a.k_ds = k_turned ? 1 : a.keys, a.k_ts = k_turned ? a.depth : 1;
  a.v_ts = v_turned ? 1 : a.width, a.v_es = v_turned ? a.keys : 1;
  a.ldo = a.width + pick(c, 3);
  a.q = guarded_values(c, a.queries * a.depth);
  a.k = guarded_values(c, a.keys * a.depth);
  a.v = guarded_values(c, a.keys * a.width);
  a.out = guarded(c, a.queries ? (a.queries - 1) * a.ldo + a.width : 0);
  a.safe = pick(c, 2) != 0;
  return a;
}

static float *scratch_of(Case *c, const cn_attention_f32_args *a) { return guarded(c, cn_attention_f32_scratch(a->keys, a->depth, a->width, c->set->nr)); }

/* By phases for some threads, in what scratch some slots have: the same bits, or both no number. */
static void by_phases(Case *c, const cn_attention_f32_args *a, int masked) {
  const cn_spread spread = {run_backwards, NULL, 1 + c->index % 17};
  const size_t n = a->queries ? (a->queries - 1) * a->ldo + a->width : 0, one = cn_attention_f32_scratch(a->keys, a->depth, a->width, c->set->nr), room = one * (1 + c->index % 3);
  cn_attention_f32_args again = *a;
  again.out = guarded(c, n);
  again.packed = 0;
  if ((masked ? c->set->attention_masked_spread : c->set->attention_spread)(&again, guarded(c, room), room, &spread)) fail(c, "%s by phases failed", c->kernel);
  for (size_t i = 0; i < a->queries; i++)
    for (size_t e = 0; e < a->width; e++) {
      const float is = again.out[i * a->ldo + e], was = a->out[i * a->ldo + e];
      if (memcmp(&is, &was, sizeof is) != 0 && !(is != is && was != was)) fail(c, "%s by phases [%zu][%zu] is %g, not %g", c->kernel, i, e, (double)is, (double)was);
    }
}

static void attention(Case *c, AttentionRun *run) {
  cn_attention_f32_args a = operands(c);
  float *mask = guarded_values(c, a.queries * a.keys);
  for (size_t i = 0; i < a.queries * a.keys; i++) mask[i] = pick(c, 3) ? mask[i] * 8.0f : -INFINITY;
  for (int k = 0; k < 2 && a.safe; k++) {
    const size_t n = k ? a.keys * a.width : a.queries * a.depth;
    if (n && pick(c, 8) == 0) ((float *)(uintptr_t)(k ? a.v : a.q))[pick(c, (uint32_t)n)] = pick(c, 2) ? NAN : INFINITY;
  }
  const size_t blind = pick(c, 3) ? a.queries : pick(c, 60);
  for (size_t i = blind * a.keys; i < cn_min(blind + 1, a.queries) * a.keys; i++) mask[i] = -INFINITY;
  Scores s = {.scale = 0.5f, .mask = mask, .keys = a.keys};
  if (pick(c, 3)) a.tile = scale_and_mask, a.ctx = &s;
  else if (pick(c, 2)) a.scale = 0.3f;
  float *scratch = scratch_of(c, &a);
  double *score = calloc(a.keys + 1, sizeof *score);
  const size_t tasks = c->set->attention_f32_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  run(&a, scratch, cut, tasks);
  a.packed = cut < tasks && pick(c, 2);
  run(&a, scratch, 0, cut);
  for (size_t i = 0; i < a.queries; i++) compare_query(c, &a, &s, i, score);
  if (run == c->set->attention_f32) by_phases(c, &a, 0);
  free(score);
}

void test_cn_attention_f32(Case *c) { attention(c, c->set->attention_f32); }

void test_cn_attention_f32_any(Case *c) { attention(c, c->set->attention_f32_any); }

/* What keys are hidden from a query: those behind it and `gap` more, those that `window` keys lie between, those from `end` on; of some queries all. */
typedef struct Hidden { size_t gap, window, end, blind; float by; } Hidden;

static Hidden pick_hidden(Case *c, size_t keys) {
  static const float by[] = {-INFINITY, -3.402823466e38f, -1e4f, -900.0f};
  Hidden h = {.gap = pick(c, 3) ? keys : pick(c, (uint32_t)keys + 1), .window = pick(c, 3) ? keys : pick(c, 200), .end = pick(c, 3) ? keys : pick(c, (uint32_t)keys + 1)};
  h.by = by[pick(c, 4)];
  h.blind = pick(c, 6) ? SIZE_MAX : pick(c, 60);
  return h;
}

static int is_hidden(const Hidden *h, size_t query, size_t key) {
  return query == h->blind || key > query + h->gap || key + h->window < query || key >= h->end;
}

/* As without masks, bit by bit, whatever the operands hold; and what lies behind the last key that any query sees is not multiplied. */
static void masked(Case *c, AttentionRun *run, AttentionRun *plain) {
  cn_attention_f32_args a = operands(c);
  const size_t n = a.queries * a.keys, room = a.queries ? (a.queries - 1) * a.ldo + a.width : 0;
  const Hidden h = pick_hidden(c, a.keys);
  float *mask = guarded_values(c, n), *scratch = scratch_of(c, &a);
  int strange = 0;
  for (size_t i = 0; i < n; i++) mask[i] = is_hidden(&h, i / a.keys, i % a.keys) ? h.by : mask[i];
  for (int k = 0; k < 4; k++) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f};
    const size_t sizes[] = {a.queries * a.depth, a.keys * a.depth, a.keys * a.width, n};
    float *const of[] = {(float *)(uintptr_t)a.q, (float *)(uintptr_t)a.k, (float *)(uintptr_t)a.v, mask};
    if (!sizes[k] || pick(c, 5)) continue;
    of[k][pick(c, (uint32_t)sizes[k])] = odd[pick(c, 4)];
    strange = 1;
  }
  Scores s = {.scale = 0.5f, .mask = mask, .keys = a.keys};
  a.tile = scale_and_mask, a.ctx = &s;
  const size_t tasks = c->set->attention_f32_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  plain(&a, scratch, 0, tasks);
  float *want = a.out;
  a.out = guarded(c, room);
  s.products = 0;
  run(&a, scratch, cut, tasks);
  run(&a, scratch, 0, cut);
  for (size_t i = 0; i < a.queries; i++)
    for (size_t e = 0; e < a.width; e++) {
      const float is = a.out[i * a.ldo + e], was = want[i * a.ldo + e];
      if (!(is == was) && !(is != is && was != was)) fail(c, "%s [%zu][%zu] of %zu keys is %g, not %g", c->kernel, i, e, a.keys, (double)is, (double)was);
    }
  const size_t seen = cn_min(a.keys, cn_round_up(h.end, CN_ATTENTION_CHUNK)), packs = a.queries > CN_THIN_ROWS || run == c->set->attention_masked_f32;
  if (!strange && h.blind == SIZE_MAX && h.gap >= a.keys && h.window >= a.keys && h.end && packs && s.products > a.queries * seen)
    fail(c, "%s multiplies %zu of %zu scores, of which %zu are masked", c->kernel, s.products, n, n - a.queries * h.end);
  if (run == c->set->attention_masked_f32) by_phases(c, &a, 1);
}

void test_cn_attention_masked_f32(Case *c) { masked(c, c->set->attention_masked_f32, c->set->attention_f32); }

void test_cn_attention_masked_f32_any(Case *c) { masked(c, c->set->attention_masked_f32_any, c->set->attention_f32_any); }
