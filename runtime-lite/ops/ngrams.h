/* SPDX-License-Identifier: MIT-0 */
/* TfIdfVectorizer: how often each n-gram of a pool occurs. */
#ifndef CN_OPS_NGRAMS_H
#define CN_OPS_NGRAMS_H

#include "base.h"
#include "ops/find.h"

/* n-grams of one size: rows [n][size] of numbers of words, ascending, and the column that each counts in. */
typedef struct cn_grams {
  const int32_t *rows, *columns;
  size_t n, size;
} cn_grams;

/* The column of the n-gram of words w[0], w[step] ..., or -1. */
CN_NOINLINE int32_t cn_grams_find(const cn_grams *g, const int64_t *w, size_t step) {
  size_t lo = 0, hi = g->n;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    size_t k = 0;
    while (k < g->size && g->rows[mid * g->size + k] == w[k * step]) k++;
    if (k == g->size) return g->columns[mid];
    if (g->rows[mid * g->size + k] < w[k * step]) lo = mid + 1;
    else hi = mid;
  }
  return -1;
}

/* Counts of the n-grams of one size in n words, with step - 1 words left out between two. */
CN_INLINE void cn_grams_count(const cn_grams *g, const int64_t *w, size_t n, size_t step, float *counts) {
  if (g->n == 0) return;
  for (size_t i = 0; i < n && (g->size - 1) * step < n - i; i++) {
    const int32_t column = cn_grams_find(g, w + i, step);
    if (column >= 0) counts[column] += 1;
  }
}

/* in: x [rows][n], the pool's words ascending, rows of all n-grams one after the other, their columns. out: f32 [rows][columns].
 * Attributes: first, the smallest size; skips; counts, how many n-grams there are of each size from 1 on. Scratch: 8 n bytes. */
CN_NOINLINE int cn_op_ngrams(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                             void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t rows = (size_t)in[0].dims[0], n = (size_t)in[0].dims[1], columns = (size_t)out[0].dims[1], sizes = attrs[2].n;
  const size_t first = (size_t)attrs[0].value.i, skips = (size_t)attrs[1].value.i;
  int64_t *const w = (int64_t *)scratch;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch_size, (void)env;
  for (size_t r = 0; r < rows; r++) {
    float *const counts = (float *)out[0].data + r * columns;
    for (size_t i = 0; i < columns; i++) counts[i] = 0;
    for (size_t i = 0; i < n; i++) w[i] = (int64_t)cn_find_key(&in[0], r * n + i, &in[1]);
    for (size_t step = 1; step <= skips + 1 && step <= n; step++) {
      cn_grams g = {(const int32_t *)in[2].data, (const int32_t *)in[3].data, 0, 0};
      for (g.size = 1; g.size <= sizes; g.size++) {
        g.n = (size_t)attrs[2].value.ints[g.size - 1];
        if (g.size >= first && (g.size > 1 || step == 1)) cn_grams_count(&g, w, n, step, counts);
        g.rows += g.n * g.size;
        g.columns += g.n;
      }
    }
  }
  return CASTNET_OK;
}

#endif
