/* SPDX-License-Identifier: MIT-0 */
/* Sums, maxima, softmax and normalisation of rows, f32. Every reduction is a tree that the row's length and the layer's width
 * fix: blocks of four vectors side by side, then the lanes pairwise. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_ROWS_F32_H
#define CN_KERNELS_ROWS_F32_H

#include "base.h"
#include "kernels/rows.h"
#include "kernels/window.h"
#include "scalar_all.h"

/* e^x for x <= 0, below 1.1 ulp where the result is at least 2^-126, else 0; NaN stays. e^x = 2^k e^r, |r| <= ln 2 / 2,
 * (e^r - 1 - r) / r^2 as a minimax polynomial. */
CN_KERNEL cn_vf32 cn_vf32_exp_neg(cn_vf32 x) {
  cn_vf32 pow2;
  const cn_vf32 k = cn_vf32_round_pow2(x, cn_vf32_set1(0x1.715476p+0f), &pow2);
  cn_vf32 r = cn_vf32_fma(k, cn_vf32_set1(-0x1.62e4p-1f), x); /* 15 bits: the product is exact */
  r = cn_vf32_fma(k, cn_vf32_set1(-0x1.7f7d1cp-20f), r);
  const cn_vf32 r2 = cn_vf32_mul(r, r);
  const cn_vf32 a = cn_vf32_fma(cn_vf32_set1(0x1.555492p-3f), r, cn_vf32_set1(0x1.fffffcp-2f));
  const cn_vf32 b = cn_vf32_fma(cn_vf32_set1(0x1.1239e2p-7f), r, cn_vf32_set1(0x1.5558f2p-5f));
  const cn_vf32 c = cn_vf32_fma(cn_vf32_fma(cn_vf32_set1(0x1.6a2434p-10f), r2, b), r2, a);
  const cn_vf32 p = cn_vf32_add(cn_vf32_set1(1.0f), cn_vf32_fma(r2, c, r));
  return cn_vf32_keep_ge(x, cn_vf32_set1(-87.3365f), cn_vf32_mul(p, pow2));
}

/* What is added up: the elements, the squares of their distances to `about`, or e^(x - about), with a factor e^(x * factor - about), which also goes to out. */
#define CN_ROW_SUM 0

#define CN_ROW_SQUARES 1

#define CN_ROW_EXP 2

#define CN_ROW_EXP_TIMES 3

/* One vector of a row; lanes beyond n add nothing. op is a literal, out may be NULL. */
CN_KERNEL cn_vf32 cn_row_term_f32(const float *x, float *out, cn_vf32 factor, cn_vf32 about, size_t n, int op) {
  const cn_vf32 v = cn_vf32_load_n(x, n);
  cn_vf32 d;
  if (op == CN_ROW_SUM) return v;
  d = op == CN_ROW_EXP_TIMES ? cn_vf32_fma(v, factor, cn_vf32_sub(cn_vf32_zero(), about)) : cn_vf32_sub(v, about);
  d = op == CN_ROW_SQUARES ? cn_vf32_mul(d, d) : cn_vf32_exp_neg(d);
  if (out) cn_vf32_store_n(out, d, n);
  if (n < CN_VF32_LANES) d = cn_vf32_fill_out(d, cn_vf32_lanes_in(0, n), cn_vf32_zero()); /* what the empty lanes made of zero must not count */
  return d;
}

/* Vectors of a block. Blocks are summed apart, so that a long row's sum does not grow too large for its elements to count. */
#define CN_ROW_BLOCK 256

CN_KERNEL float cn_row_reduce_f32(const float *x, float *out, float factor, float about, size_t n, int op) {
  const cn_vf32 f = cn_vf32_set1(factor), a = cn_vf32_set1(about);
  const size_t lanes = CN_VF32_LANES;
  cn_vf32 acc[4], total = cn_vf32_zero();
  size_t i = 0;
  while (i + 4 * lanes <= n) {
    const size_t stop = cn_min(n, i + CN_ROW_BLOCK * lanes);
    CN_UNROLL(4)
    for (size_t v = 0; v < 4; v++) acc[v] = cn_vf32_zero();
    for (; i + 4 * lanes <= stop; i += 4 * lanes) {
      CN_UNROLL(4)
      for (size_t v = 0; v < 4; v++)
        acc[v] = cn_vf32_add(acc[v], cn_row_term_f32(x + i + v * lanes, out ? out + i + v * lanes : 0, f, a, lanes, op));
    }
    total = cn_vf32_add(total, cn_vf32_add(cn_vf32_add(acc[0], acc[2]), cn_vf32_add(acc[1], acc[3])));
  }
  for (; i < n; i += lanes) total = cn_vf32_add(total, cn_row_term_f32(x + i, out ? out + i : 0, f, a, cn_min(lanes, n - i), op));
  return cn_vf32_reduce_add(total);
}

CN_DRIVER float cn_row_sum_f32(const float *x, size_t n) { return cn_row_reduce_f32(x, 0, 1.0f, 0.0f, n, CN_ROW_SUM); }

/* sum of (x - about)^2 */
CN_DRIVER float cn_row_squares_f32(const float *x, float about, size_t n) {
  return cn_row_reduce_f32(x, 0, 1.0f, about, n, CN_ROW_SQUARES);
}

/* out = e^(x - about), at least as large as all x; returns the sum. out NULL: the sum alone. */
CN_DRIVER float cn_row_exp_f32(const float *x, float *out, float about, size_t n) {
  return cn_row_reduce_f32(x, out, 1.0f, about, n, CN_ROW_EXP);
}

/* out = e^(x * factor - about), which is at least as large as all x * factor; returns the sum. */
CN_DRIVER float cn_row_exp_times_f32(const float *x, float *out, float factor, float about, size_t n) {
  return cn_row_reduce_f32(x, out, factor, about, n, CN_ROW_EXP_TIMES);
}

/* NaN if there is one; minus infinity of nothing. The last vector of a row begins inside of it: a maximum may see an element twice. */
CN_DRIVER float cn_row_max_f32(const float *x, size_t n) {
  const size_t lanes = CN_VF32_LANES;
  cn_vf32 acc[4];
  float most = cn_least_f32();
  size_t i = 0;
  if (n >= lanes) {
    CN_UNROLL(4)
    for (size_t v = 0; v < 4; v++) acc[v] = cn_vf32_load(x + n - lanes);
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      CN_UNROLL(4)
      for (size_t v = 0; v < 4; v++) acc[v] = cn_vf32_maxn(acc[v], cn_vf32_load(x + i + v * lanes));
    }
    for (; i + lanes <= n; i += lanes) acc[0] = cn_vf32_maxn(acc[0], cn_vf32_load(x + i));
    return cn_vf32_reduce_maxn(cn_vf32_maxn(cn_vf32_maxn(acc[0], acc[1]), cn_vf32_maxn(acc[2], acc[3])));
  }
  for (; i < n; i++) most = most > x[i] || most != most ? most : x[i];
  return most;
}

/* Softmax over the middle axis of [outer][n][inner]; may run in place. */
typedef struct cn_softmax_f32_args {
  size_t outer, n, inner;
  const float *in;
  float *out;
  int log;  /* the logarithm of it: x - max - log(sum) */
  int safe; /* 0 where it would not be a number: of a row of minus infinities, plus infinity or NaN; not of a logarithm */
} cn_softmax_f32_args;

/* Rows, or columns of whole vectors, of about 2^12 elements: by sizes alone. */
CN_INLINE size_t cn_softmax_f32_rows(const cn_softmax_f32_args *s) { return cn_ceil_div(4096, cn_max(s->n, 1)); }

CN_INLINE size_t cn_softmax_f32_columns(const cn_softmax_f32_args *s) { return cn_round_up(cn_softmax_f32_rows(s), CN_VF32_LANES); }

CN_INLINE size_t cn_softmax_f32_tasks(const cn_softmax_f32_args *s) {
  return s->inner == 1 ? cn_ceil_div(s->outer, cn_softmax_f32_rows(s)) : s->outer * cn_ceil_div(s->inner, cn_softmax_f32_columns(s));
}

/* x / by, 0 <= x <= 1 <= by, of by's inverse: vectors divide several times as slowly as they multiply. What the product leaves, exact
 * where fma rounds once, mends its last bit (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
 * 1990). Quotients below 2^-126 are 0, as those of e^x are, and what is left of an x below 2^-78 mends nothing: either would be subnormal, and those
 * cost x86 some 150 cycles each. */
CN_KERNEL cn_vf32 cn_vf32_quotient(cn_vf32 x, cn_vf32 by, cn_vf32 inverse) {
  const cn_vf32 large = cn_vf32_set1(0x1p-78f), seen = cn_vf32_keep_ge(x, cn_vf32_mul(by, cn_vf32_set1(0x1.00001p-126f)), x);
  if (CN_VF32_LANES == 1) return cn_vf32_div(seen, by);
  const cn_vf32 q = cn_vf32_mul(seen, inverse), mended = cn_vf32_keep_ge(x, large, q);
  return cn_vf32_fma(cn_vf32_fma(cn_vf32_sub(cn_vf32_zero(), mended), by, cn_vf32_keep_ge(x, large, x)), inverse, q);
}

/* x / by, or x - by - low */
CN_KERNEL void cn_row_div_f32(const float *x, float *out, float by, size_t n) {
  const cn_vf32 divisor = cn_vf32_set1(by), inverse = cn_vf32_set1(1.0f / by);
  size_t i = 0;
  for (; i + CN_VF32_LANES <= n; i += CN_VF32_LANES) cn_vf32_store(out + i, cn_vf32_quotient(cn_vf32_load(x + i), divisor, inverse));
  for (; i < n; i += CN_VF32_LANES) cn_vf32_store_n(out + i, cn_vf32_quotient(cn_vf32_load_n(x + i, n - i), divisor, inverse), n - i);
}

CN_KERNEL void cn_row_sub_f32(const float *x, float *out, float by, float low, size_t n) {
  for (size_t i = 0; i < n; i += CN_VF32_LANES) {
    const cn_vf32 d = cn_vf32_sub(cn_vf32_load_n(x + i, n - i), cn_vf32_set1(by));
    cn_vf32_store_n(out + i, cn_vf32_sub(d, cn_vf32_set1(low)), n - i);
  }
}

/* Zeros down those of w columns whose sum of exponentials is none. */
CN_KERNEL void cn_softmax_clear_f32(const cn_softmax_f32_args *s, cn_vf32 sum, float *out, size_t w) {
  CN_ALIGN(CN_VF32_LANES * 4) float lanes[CN_VF32_LANES];
  cn_vf32_store(lanes, sum);
  for (size_t j = 0; j < w; j++)
    for (size_t i = 0; i < s->n && !(lanes[j] > 0.0f); i++) out[i * s->inner + j] = 0.0f;
}

/* w <= lanes columns of [n][inner], down the rows. */
CN_KERNEL void cn_softmax_columns_f32(const cn_softmax_f32_args *s, const float *x, float *out, size_t w) {
  const size_t step = s->inner;
  cn_vf32 most = cn_vf32_set1(cn_least_f32()), sum = cn_vf32_zero();
  for (size_t i = 0; i < s->n; i++) most = cn_vf32_maxn(most, cn_vf32_load_n(x + i * step, w));
  for (size_t i = 0; i < s->n; i++) {
    const cn_vf32 d = cn_vf32_sub(cn_vf32_load_n(x + i * step, w), most), e = cn_vf32_exp_neg(d);
    sum = cn_vf32_add(sum, e);
    cn_vf32_store_n(out + i * step, s->log ? d : e, w);
  }
  if (s->log) {
    CN_ALIGN(CN_VF32_LANES * 4) float lanes[CN_VF32_LANES];
    cn_vf32_store(lanes, sum);
    for (size_t i = 0; i < w; i++) lanes[i] = cn_log_f32(lanes[i]);
    sum = cn_vf32_load_n(lanes, w);
  }
  const cn_vf32 inverse = cn_vf32_div(cn_vf32_set1(1.0f), sum);
  for (size_t i = 0; i < s->n; i++) {
    const cn_vf32 v = cn_vf32_load_n(out + i * step, w);
    cn_vf32_store_n(out + i * step, s->log ? cn_vf32_sub(v, sum) : cn_vf32_quotient(v, sum, inverse), w);
  }
  if (s->safe) cn_softmax_clear_f32(s, sum, out, w);
}

/* Tasks t0 .. t1 of those over columns. */
CN_KERNEL void cn_softmax_across_f32(const cn_softmax_f32_args *s, size_t t0, size_t t1) {
  const size_t columns = cn_softmax_f32_columns(s), groups = cn_ceil_div(s->inner, columns);
  for (size_t t = t0; t < t1; t++) {
    const size_t at = t / groups * s->n * s->inner, first = t % groups * columns, stop = cn_min(s->inner, first + columns);
    for (size_t i = first; i < stop; i += CN_VF32_LANES) cn_softmax_columns_f32(s, s->in + at + i, s->out + at + i, cn_min(CN_VF32_LANES, stop - i));
  }
}

/* A row of n elements, a literal, from its maximum to its quotients in registers. */
CN_KERNEL void cn_softmax_short_row_f32(const cn_softmax_f32_args *s, const float *x, float *out, size_t n) {
  const size_t lanes = CN_VF32_LANES, vectors = cn_ceil_div(n, lanes), last = vectors - 1, rest = n - last * lanes;
  cn_vf32 v[CN_SOFTMAX_SHORT], e[CN_SOFTMAX_SHORT], most, sum;
  CN_UNROLL(8)
  for (size_t i = 0; i < last; i++) v[i] = cn_vf32_load(x + i * lanes);
  v[last] = cn_vf32_load_n(x + last * lanes, rest);
  if (rest < lanes) v[last] = cn_vf32_fill_out(v[last], cn_vf32_lanes_in(0, rest), cn_vf32_set1(cn_least_f32()));
  most = v[0];
  CN_UNROLL(8)
  for (size_t i = 1; i < vectors; i++) most = cn_vf32_maxn(most, v[i]);
  most = cn_vf32_set1(cn_vf32_reduce_maxn(most));
  CN_UNROLL(8)
  for (size_t i = 0; i < vectors; i++) {
    v[i] = cn_vf32_sub(v[i], most);
    e[i] = cn_vf32_exp_neg(v[i]);
  }
  sum = e[0];
  CN_UNROLL(8)
  for (size_t i = 1; i < vectors; i++) sum = cn_vf32_add(sum, e[i]);
  const float total = cn_vf32_reduce_add(sum);
  sum = cn_vf32_set1(s->log ? cn_log_f32(total) : total);
  CN_UNROLL(8)
  for (size_t i = 0; i < vectors; i++) {
    if (s->log) v[i] = cn_vf32_sub(v[i], sum);
    else v[i] = cn_vf32_div(cn_vf32_keep_ge(e[i], cn_vf32_mul(sum, cn_vf32_set1(0x1.00001p-126f)), e[i]), sum);
    if (s->safe && !(total > 0.0f)) v[i] = cn_vf32_zero();
    if (i < last) cn_vf32_store(out + i * lanes, v[i]);
    else cn_vf32_store_n(out + i * lanes, v[i], rest);
  }
}

/* Tasks t0 .. t1 of cn_softmax_f32_tasks(s) where inner is 1 and n, a literal, at most CN_SOFTMAX_SHORT vectors: a row passes through no memory, and
 * nothing asks how long it is. */
CN_KERNEL void cn_softmax_short_f32(const cn_softmax_f32_args *s, size_t n, size_t t0, size_t t1) {
  const size_t rows = cn_softmax_f32_rows(s), stop = cn_min(s->outer, t1 * rows);
  for (size_t o = t0 * rows; o < stop; o++) cn_softmax_short_row_f32(s, s->in + o * n, s->out + o * n, n);
}

/* Tasks t0 .. t1 of cn_softmax_f32_tasks(s). */
CN_DRIVER void cn_softmax_f32(const cn_softmax_f32_args *s, size_t t0, size_t t1) {
  const size_t rows = cn_softmax_f32_rows(s), stop = s->inner == 1 ? cn_min(s->outer, t1 * rows) : 0;
  if (s->inner != 1) cn_softmax_across_f32(s, t0, t1);
  for (size_t o = t0 * rows; o < stop; o++) {
    const float *x = s->in + o * s->n;
    float *out = s->out + o * s->n;
    const float most = cn_row_max_f32(x, s->n), sum = cn_row_exp_f32(x, s->log ? 0 : out, most, s->n);
    if (s->log) cn_row_sub_f32(x, out, most, cn_log_f32(sum), s->n);
    else if (s->safe && !(sum > 0.0f)) memset(out, 0, s->n * sizeof(float));
    else cn_row_div_f32(out, out, sum, s->n);
  }
}

/* out = (x - mean) / sqrt(variance + epsilon) * scale + bias over rows of n; rms: no mean. Mean and variance in two passes.
 * scale, bias: [n], or NULL. row_scale, row_bias: [period], or NULL; row r takes element r % period. May run in place. */
typedef struct cn_norm_f32_args {
  size_t rows, n;
  const float *in, *scale, *bias, *row_scale, *row_bias;
  size_t period;
  float *out;
  float epsilon;
  int rms;
} cn_norm_f32_args;

CN_INLINE size_t cn_norm_f32_rows(const cn_norm_f32_args *a) { return cn_ceil_div(4096, cn_max(a->n, 1)); }

CN_INLINE size_t cn_norm_f32_tasks(const cn_norm_f32_args *a) { return cn_ceil_div(a->rows, cn_norm_f32_rows(a)); }

/* left elements, at most a vector's, from i: (x - mean) * by * scale + bias + *shift */
CN_KERNEL cn_vf32 cn_norm_vector_f32(const float *x, float mean, float by, const float *scale, const float *bias, const float *shift, size_t i, size_t left) {
  cn_vf32 v = cn_vf32_mul(cn_vf32_sub(cn_vf32_load_n(x + i, left), cn_vf32_set1(mean)), cn_vf32_set1(by));
  if (scale) v = cn_vf32_mul(v, cn_vf32_load_n(scale + i, left));
  if (bias) v = cn_vf32_add(v, cn_vf32_load_n(bias + i, left));
  if (shift) v = cn_vf32_add(v, cn_vf32_set1(*shift));
  return v;
}

CN_KERNEL void cn_norm_row_f32(const float *x, float *out, size_t n, float mean, float by, const float *scale, const float *bias, const float *shift) {
  size_t i = 0;
  if (scale && bias && !shift) /* a layer's: nothing to ask for each vector */
    for (; i + CN_VF32_LANES <= n; i += CN_VF32_LANES) cn_vf32_store(out + i, cn_norm_vector_f32(x, mean, by, scale, bias, 0, i, CN_VF32_LANES));
  for (; i + CN_VF32_LANES <= n; i += CN_VF32_LANES) cn_vf32_store(out + i, cn_norm_vector_f32(x, mean, by, scale, bias, shift, i, CN_VF32_LANES));
  if (i < n) cn_vf32_store_n(out + i, cn_norm_vector_f32(x, mean, by, scale, bias, shift, i, n - i), n - i);
}

/* Rows whose scalar parts are worked out side by side: one root after the other would wait for each. */
#define CN_NORM_F32_SIDE 16

/* Rows r0 .. r0 + m, at most CN_NORM_F32_SIDE. */
CN_KERNEL void cn_norm_rows_f32(const cn_norm_f32_args *a, size_t r0, size_t m) {
  const size_t n = a->n;
  const float *x = a->in + r0 * n, *const factors = a->scale, *const bias = a->bias;
  float *const out = a->out + r0 * n;
  float mean[CN_NORM_F32_SIDE], by[CN_NORM_F32_SIDE] = {0};
  for (size_t i = 0; i < m; i++) mean[i] = a->rms ? 0.0f : cn_row_sum_f32(x + i * n, n) / (float)n;
  for (size_t i = 0; i < m; i++) by[i] = cn_row_squares_f32(x + i * n, mean[i], n) / (float)n;
  for (size_t i = 0; i < m; i += CN_VF32_LANES)
    cn_vf32_store(by + i, cn_vf32_div(cn_vf32_set1(1.0f), cn_vf32_sqrt(cn_vf32_add(cn_vf32_load(by + i), cn_vf32_set1(a->epsilon)))));
  for (size_t i = 0; i < m; i++) {
    const float scale = a->row_scale ? by[i] * a->row_scale[(r0 + i) % a->period] : by[i];
    cn_norm_row_f32(x + i * n, out + i * n, n, mean[i], scale, factors, bias, a->row_bias ? a->row_bias + (r0 + i) % a->period : 0);
  }
}

/* Tasks t0 .. t1 of cn_norm_f32_tasks(a). */
CN_DRIVER void cn_norm_f32(const cn_norm_f32_args *a, size_t t0, size_t t1) {
  const size_t rows = cn_norm_f32_rows(a), stop = cn_min(a->rows, t1 * rows), side = cn_min(rows, CN_NORM_F32_SIDE);
  for (size_t r = t0 * rows; r < stop; r += side) cn_norm_rows_f32(a, r, cn_min(side, stop - r));
}

#endif
