#include "simd/scalar.h"

#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/pack.h"

/* Sizes around a tile: 0 .. 2 * tile + 1, now and then a prime beyond. */
static size_t pick_size(Case *c, size_t tile) {
  static const size_t primes[] = {53, 97, 131};
  return pick(c, 8) ? pick(c, (uint32_t)(2 * tile + 2)) : primes[pick(c, 3)];
}

static size_t pick_depth(Case *c) {
  const size_t kc = c->set->kc, depths[] = {0, 1, 2, 3, 17, 64, kc - 1, kc, kc + 1, 2 * kc + 3};
  return depths[pick(c, 10)];
}

/* x -> 2 x + row + column + index: each place once. */
static void tile_epilogue(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  (void)ctx;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) tile[i * ld + j] = tile[i * ld + j] * 2.0f + (float)(index + m0 + i + n0 + j);
}

static cn_epilogue_f32 pick_epilogue(Case *c, size_t m, size_t n, size_t c_size, float *out) {
  cn_epilogue_f32 ep = {.flags = pick(c, 2) ? CN_EP_ROW_BIAS : pick(c, 2) ? CN_EP_COL_BIAS : 0};
  if (ep.flags) ep.bias = guarded_values(c, ep.flags & CN_EP_ROW_BIAS ? m : n);
  if (pick(c, 3) == 0) {
    ep.flags |= CN_EP_RESIDUAL;
    ep.residual = pick(c, 2) ? out : guarded_values(c, c_size); /* in place, or apart */
  }
  if (pick(c, 3) == 0) {
    ep.flags |= CN_EP_CLAMP;
    ep.lo = -0.25f;
    ep.hi = 3.0f;
  }
  if (pick(c, 3) == 0) ep.tile = tile_epilogue;
  return ep;
}

/* Where C is: apart from rows that are longer, or not. */
static size_t place_result(Case *c, cn_gemm_f32_args *g) {
  g->ldc = g->n + pick(c, 3);
  return g->m ? (g->m - 1) * g->ldc + g->n : 0;
}

/* before: C as it was, which holds the residual of an in-place sum. loose: what errors may be times those of a sum of B's own numbers. */
static void compare_by(Case *c, const cn_gemm_f32_args *g, const float *b, size_t b_ks, size_t b_ns, const float *before, double loose) {
  for (size_t i = 0; i < g->m; i++) {
    for (size_t j = 0; j < (i + 1 < g->m ? g->ldc : g->n); j++) { /* the last row ends at n */
      const size_t at = i * g->ldc + j;
      if (j >= g->n) { /* between the rows: untouched */
        if (memcmp(&g->c[at], &before[at], sizeof(float)) != 0) fail(c, "%s: wrote between rows", c->kernel);
        continue;
      }
      double want = 0, size = 0, squares = 0;
      for (size_t p = 0; p < g->k; p++) {
        const double x = (double)g->a[i * g->a_rs + p * g->a_ks] * (double)b[p * b_ks + j * b_ns];
        want += x;
        size += fabs(x);
        squares += x * x;
      }
      if (g->ep.flags & CN_EP_ROW_BIAS) want += (double)g->ep.bias[i];
      if (g->ep.flags & CN_EP_COL_BIAS) want += (double)g->ep.bias[j];
      if (g->ep.flags & CN_EP_RESIDUAL) want += (double)(g->ep.residual == g->c ? before : g->ep.residual)[at];
      if (g->ep.flags & CN_EP_CLAMP) want = want < (double)g->ep.lo ? (double)g->ep.lo : want > (double)g->ep.hi ? (double)g->ep.hi : want;
      if (g->ep.tile) want = want * 2 + (double)(i + j);
      double bound = (double)(g->k + 4) * 0x1p-23 * (size + 2.0 + (g->ep.tile ? size + (double)(i + j) : 0));
      const double usual = 0x1p-18 * sqrt(squares) * (g->ep.tile ? 2 : 1) + 0x1p-22 * (fabs(want) + 4); /* where no rounding is of more than a sum's last bits */
      if (c->set->own && usual < bound) bound = usual;
      if (!close_enough(g->c[at], want, bound * loose))
        fail(c, "%s m %zu n %zu k %zu flags %u: [%zu][%zu] is %g, not %g", c->kernel, g->m, g->n, g->k, g->ep.flags, i, j,
             (double)g->c[at], want);
    }
  }
}

static void compare(Case *c, const cn_gemm_f32_args *g, const float *b, size_t b_ks, size_t b_ns, const float *before) { compare_by(c, g, b, b_ks, b_ns, before, 1); }

/* Any split of the tasks gives the same bits. */
static void run_split(Case *c, const cn_gemm_f32_args *g) {
  const size_t tasks = c->set->gemm_f32_tasks(g), cut = pick(c, (uint32_t)tasks + 1);
  c->set->gemm_f32(g, cut, tasks);
  c->set->gemm_f32(g, 0, cut);
}

void test_cn_gemm_f32(Case *c) {
  const KernelSet *s = c->set;
  cn_gemm_f32_args g = {.m = pick(c, 4) ? pick_size(c, s->mr) : 1, .n = pick_size(c, pick(c, 4) ? s->nr : 4 * s->nr), .k = pick_depth(c)};
  const int ta = pick(c, 3) == 0, tb = pick(c, 3) == 0;
  if (pick(c, 64) == 0) { /* a result larger than a part of a second cache */
    g.m = 101;
    g.n = 1003;
    g.k = s->kc + 1;
  }
  if (pick(c, 32) == 0) { /* deeper than what passes at a time */
    g.m = pick_size(c, s->mr);
    g.n = pick_size(c, s->nr);
    g.k = 8 * s->kc + 1 + pick(c, 64);
  }
  const int tiled = s->own && pick(c, 4); /* large enough for what the set has in place of another's */
  if (tiled) {
    g.m = 32 + pick(c, 160);
    g.n = 64 + pick(c, 100);
    g.k = 32 + pick(c, (uint32_t)(2 * s->kc));
  }
  const size_t b_ks = tb ? 1 : g.n, b_ns = tb ? g.k : 1;
  float *a = guarded_values(c, g.m * g.k), *b = guarded_values(c, g.k * g.n);
  if (g.m && g.k && pick(c, 8) == 0) a[pick(c, (uint32_t)(g.m * g.k))] = pick(c, 2) ? NAN : INFINITY;
  if (tiled && pick(c, 8) == 0) b[pick(c, (uint32_t)(g.k * g.n))] = pick(c, 2) ? INFINITY : NAN;
  float *packed = guarded(c, cn_pack_size(g.k, g.n, s->nr)), *by_layer = guarded(c, cn_pack_size(g.k, g.n, s->nr));
  cn_pack_b_f32(b, b_ks, b_ns, g.k, g.n, s->nr, packed);
  s->pack_operand_f32(b, b_ks, b_ns, g.k, g.n, by_layer);
  if (memcmp(packed, by_layer, cn_pack_size(g.k, g.n, s->nr) * sizeof(float))) fail(c, "%s m %zu n %zu k %zu: packed otherwise by the layer", c->kernel, g.m, g.n, g.k);
  const size_t c_size = place_result(c, &g);
  g.a = a;
  g.a_rs = ta ? 1 : g.k;
  g.a_ks = ta ? g.m : 1;
  if (!ta && (tiled || pick(c, 2))) g.lines = guarded(c, s->gemm_f32_lines(g.m));
  g.b = packed;
  g.c = guarded_values(c, c_size);
  float *before = guarded(c, c_size), *again = guarded(c, c_size);
  memcpy(before, g.c, c_size * sizeof(float));
  g.ep = pick_epilogue(c, g.m, g.n, c_size, g.c);
  if (tiled && !g.ep.tile && pick(c, 8) == 0) a[pick(c, (uint32_t)(g.m * g.k))] = pick(c, 2) ? FLT_MAX : -INFINITY;
  s->gemm_f32(&g, 0, s->gemm_f32_tasks(&g));
  compare(c, &g, b, b_ks, b_ns, before);
  memcpy(again, g.c, c_size * sizeof(float));
  memcpy(g.c, before, c_size * sizeof(float));
  run_split(c, &g);
  if (memcmp(again, g.c, c_size * sizeof(float)) != 0) fail(c, "%s: the split of tasks changes the result", c->kernel);
}

/* Runs all tasks, judges what that gives, then the same in two parts, the later one first. before: C as it was. */
static void judge_tasks(Case *c, void (*run)(const cn_gemm_f32_args *g, size_t t0, size_t t1), const cn_gemm_f32_args *g, size_t tasks, size_t cut, const float *b, size_t b_ks, size_t b_ns,
                        const float *before, size_t c_size) {
  float *again = guarded(c, c_size);
  run(g, 0, tasks);
  compare(c, g, b, b_ks, b_ns, before);
  memcpy(again, g->c, c_size * sizeof(float));
  memcpy(g->c, before, c_size * sizeof(float));
  run(g, cut, tasks);
  run(g, 0, cut);
  if (memcmp(again, g->c, c_size * sizeof(float)) != 0) fail(c, "%s: the split of tasks changes the result", c->kernel);
}

/* ---- one row by 16 bits ---- */
static void row_16(Case *c, void (*run)(const cn_gemm_f32_args *g, size_t t0, size_t t1), uint16_t (*narrow)(float), float (*wide)(uint16_t)) {
  const KernelSet *s = c->set;
  cn_gemm_f32_args g = {.m = 1, .n = pick_size(c, pick(c, 2) ? s->nr : 6 * s->nr), .k = pick_depth(c), .a_rs = 1, .a_ks = 1};
  if (pick(c, 16) == 0) g.n = 700 + pick(c, 200), g.k = 900; /* more than a second cache */
  const size_t size = cn_pack_size(g.k, g.n, s->nr);
  float *b = guarded_values(c, g.k * g.n), *packed = guarded(c, size);
  uint16_t *half = (uint16_t *)(void *)guarded(c, (size + 1) / 2) + size % 2; /* the guard is behind the last one */
  g.a = guarded_values(c, g.k);
  for (size_t i = 0; i < g.k * g.n; i++) b[i] = wide(narrow(pick(c, 64) ? b[i] : b[i] * 0x1p-18f));
  cn_pack_b_f32(b, g.n, 1, g.k, g.n, s->nr, packed);
  for (size_t i = 0; i < size; i++) half[i] = narrow(packed[i]);
  const size_t c_size = place_result(c, &g), tasks = s->gemm_f32_tasks(&g), cut = pick(c, (uint32_t)tasks + 1);
  float *before = guarded(c, c_size);
  g.c = guarded_values(c, c_size);
  memcpy(before, g.c, c_size * sizeof(float));
  g.ep = pick_epilogue(c, g.m, g.n, c_size, g.c);
  g.b16 = half;
  judge_tasks(c, run, &g, tasks, cut, b, g.n, 1, before, c_size);
}

void test_cn_row_f16_f32(Case *c) { row_16(c, c->set->row_f16_f32, cn_cast_f32_f16, cn_cast_f16_f32); }

void test_cn_row_bf16_f32(Case *c) { row_16(c, c->set->row_bf16_f32, cn_cast_f32_bf16, cn_cast_bf16_f32); }

/* ---- one row by codes ---- */
static void row_codes(Case *c, void (*run)(const cn_codes_f32_args *g, size_t t0, size_t t1), unsigned bits) {
  const KernelSet *s = c->set;
  const size_t blocks = pick(c, 5), steps = 32 / bits;
  cn_codes_f32_args g = {.n = pick_size(c, pick(c, 2) ? s->nr : 6 * s->nr), .block = steps * (1 + pick(c, 5))};
  g.k = blocks * g.block;
  const size_t words = g.k / steps, panels = cn_pack_size(words, g.n, s->nr), each = cn_pack_size(blocks, g.n, s->nr);
  uint32_t *codes = (uint32_t *)(void *)guarded(c, panels);
  float *scales = guarded_values(c, g.n * blocks), *zeros = pick(c, 2) ? guarded_values(c, g.n * blocks) : NULL, *by_panel = guarded(c, each), *from = guarded(c, each);
  for (size_t i = 0; i < panels; i++) codes[i] = (uint32_t)pick(c, 1u << 16) << 16 | (uint32_t)pick(c, 1u << 16);
  cn_pack_b_f32(scales, 1, blocks, blocks, g.n, s->nr, by_panel);
  if (zeros) cn_pack_b_f32(zeros, 1, blocks, blocks, g.n, s->nr, from);
  g.zero = zeros ? 0 : (float)pick(c, 16);
  g.a = guarded_values(c, g.k);
  g.codes = codes;
  g.scales = by_panel;
  g.zeros = zeros ? from : NULL;
  g.sums = guarded(c, blocks);
  cn_gemm_f32_args plain = {.m = 1, .n = g.n, .k = g.k, .a = g.a, .a_rs = g.k, .a_ks = 1};
  const size_t c_size = place_result(c, &plain), tasks = s->row_codes_f32_tasks(&g), cut = pick(c, (uint32_t)tasks + 1);
  float *before = guarded(c, c_size), *again = guarded(c, c_size), *b = guarded(c, g.k * g.n);
  plain.c = g.c = guarded_values(c, c_size);
  memcpy(before, g.c, c_size * sizeof(float));
  plain.ep = g.ep = pick_epilogue(c, 1, g.n, c_size, g.c);
  for (size_t j = 0; j < g.n; j++) {
    for (size_t p = 0; p < g.k; p++) {
      const size_t at = j * blocks + p / g.block;
      const uint32_t code = codes[(j / s->nr * words + p / steps) * s->nr + j % s->nr] >> p % steps * bits & ((1u << bits) - 1);
      b[p * g.n + j] = ((float)code - (zeros ? zeros[at] : g.zero)) * scales[at];
    }
  }
  run(&g, 0, tasks);
  compare_by(c, &plain, b, g.n, 1, before, 256); /* codes are larger than what they are worth beside zeros */
  memcpy(again, g.c, c_size * sizeof(float));
  memcpy(g.c, before, c_size * sizeof(float));
  run(&g, cut, tasks);
  run(&g, 0, cut);
  if (memcmp(again, g.c, c_size * sizeof(float)) != 0) fail(c, "%s: the split of tasks changes the result", c->kernel);
}

void test_cn_row_codes4_f32(Case *c) { row_codes(c, c->set->row_codes4_f32, 4); }

void test_cn_row_codes8_f32(Case *c) { row_codes(c, c->set->row_codes8_f32, 8); }

/* ---- few rows by what lies as it is ---- */
static void thin(Case *c, void (*run)(const cn_gemm_f32_args *g, size_t t0, size_t t1), int dots) {
  cn_gemm_f32_args g = {.m = pick(c, CN_THIN_ROWS + 1), .n = pick_size(c, c->set->nr), .k = pick_depth(c)};
  const size_t line = dots ? g.k : g.n, lines = dots ? g.n : g.k;
  const int turned = !dots && pick(c, 3) == 0;
  g.ldb = line + pick(c, 3);
  float *b = guarded_values(c, lines ? (lines - 1) * g.ldb + line : 0);
  g.b = b;
  g.a = guarded_values(c, g.m * g.k);
  g.a_rs = turned ? 1 : g.k;
  g.a_ks = turned ? g.m : 1;
  const size_t c_size = place_result(c, &g), tasks = c->set->thin_f32_tasks(&g), cut = pick(c, (uint32_t)tasks + 1);
  g.c = guarded_values(c, c_size);
  float *before = guarded(c, c_size);
  memcpy(before, g.c, c_size * sizeof(float));
  g.ep = pick_epilogue(c, g.m, g.n, c_size, g.c);
  judge_tasks(c, run, &g, tasks, cut, b, dots ? 1 : g.ldb, dots ? g.ldb : 1, before, c_size);
}

void test_cn_thin_dots_f32(Case *c) { thin(c, c->set->thin_dots_f32, 1); }

/* ---- few constant columns ---- */
void test_cn_few_columns_f32(Case *c) {
  cn_gemm_f32_args g = {.m = pick(c, CN_THIN_ROWS + 1), .n = 1 + pick(c, (uint32_t)c->set->lanes), .k = pick_depth(c), .a_ks = 1};
  g.ldb = g.k + pick(c, 3);
  float *b = guarded_values(c, (g.n - 1) * g.ldb + g.k);
  g.b = b;
  g.a = guarded_values(c, g.m * g.k);
  g.a_rs = g.k;
  const size_t c_size = place_result(c, &g);
  g.c = guarded_values(c, c_size);
  float *before = guarded(c, c_size);
  memcpy(before, g.c, c_size * sizeof(float));
  g.ep = pick_epilogue(c, g.m, g.n, c_size, g.c);
  c->set->few_columns_f32(&g, g.n);
  compare(c, &g, b, 1, g.ldb, before);
}

void test_cn_thin_rows_f32(Case *c) { thin(c, c->set->thin_rows_f32, 0); }
