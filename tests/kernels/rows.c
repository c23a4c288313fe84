#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <string.h>

static size_t pick_length(Case *c) { return pick(c, 5) ? pick(c, (uint32_t)(8 * c->set->lanes + 2)) : 100 + pick(c, pick(c, 4) ? 900 : 9000); }

/* Bits are moved, and nothing else is written. */
void test_cn_transpose_f32(Case *c) {
  const int far = pick(c, 5) == 0; /* y's rows a multiple of a kilobyte apart */
  const size_t most = 3 * c->set->lanes + 2, rows = far ? pick(c, 300) : pick(c, (uint32_t)most), columns = pick(c, 6) ? pick(c, (uint32_t)most) : 60 + pick(c, 100);
  const size_t x_row = columns + pick(c, 5), y_row = far ? (rows / 256 + 1 + pick(c, 2)) * 256 : rows + pick(c, 5);
  const size_t x_size = rows ? (rows - 1) * x_row + columns : 0, y_size = columns ? (columns - 1) * y_row + rows : 0;
  float *x = guarded_values(c, x_size), *y = guarded_values(c, y_size), *before = guarded(c, y_size);
  memcpy(before, y, y_size * sizeof *y);
  c->set->transpose_f32(y, y_row, x, x_row, rows, columns);
  for (size_t j = 0; j < columns; j++)
    for (size_t i = 0; i < y_row && j * y_row + i < y_size; i++) {
      const float *want = i < rows ? &x[i * x_row + j] : &before[j * y_row + i];
      if (memcmp(&y[j * y_row + i], want, sizeof *y) != 0)
        fail(c, "%s of %zu x %zu, rows of %zu and %zu: [%zu][%zu] is %g, not %g", c->kernel, rows, columns, x_row, y_row, j, i, (double)y[j * y_row + i], (double)*want);
    }
}

/* The same of elements of so many bytes. */
static void transpose_narrow(Case *c, TransposeRun *run, size_t bytes) {
  const uint32_t high = (uint32_t)(c->set->lanes * 4 / bytes), wide = (uint32_t)c->set->lanes;
  const int far = pick(c, 5) == 0; /* y's rows a multiple of a kilobyte apart */
  const size_t rows = pick(c, (far ? 1200 : 3 * high) + 2), columns = pick(c, 6) ? pick(c, 3 * wide + 2) : 60 + pick(c, 100), step = 1024 / bytes;
  const size_t x_row = columns + pick(c, 5), y_row = far ? cn_round_up(rows, step) : rows + pick(c, 5);
  const size_t x_size = rows ? (rows - 1) * x_row + columns : 0, y_size = columns ? (columns - 1) * y_row + rows : 0;
  unsigned char *x = (unsigned char *)guarded(c, cn_ceil_div(x_size * bytes, 4)), *y = (unsigned char *)guarded(c, cn_ceil_div(y_size * bytes, 4)), *before = (unsigned char *)guarded(c, cn_ceil_div(y_size * bytes, 4));
  for (size_t i = 0; i < x_size * bytes; i++) x[i] = (unsigned char)pick(c, 256);
  for (size_t i = 0; i < y_size * bytes; i++) y[i] = before[i] = (unsigned char)pick(c, 256);
  run(y, y_row, x, x_row, rows, columns);
  for (size_t j = 0; j < columns; j++)
    for (size_t i = 0; i < y_row && j * y_row + i < y_size; i++)
      if (memcmp(y + (j * y_row + i) * bytes, i < rows ? x + (i * x_row + j) * bytes : before + (j * y_row + i) * bytes, bytes) != 0)
        fail(c, "%s of %zu x %zu, rows of %zu and %zu: [%zu][%zu]", c->kernel, rows, columns, x_row, y_row, j, i);
}

void test_cn_transpose_u8(Case *c) { transpose_narrow(c, c->set->transpose_u8, 1); }

void test_cn_transpose_u16(Case *c) { transpose_narrow(c, c->set->transpose_u16, 2); }

void test_cn_row_sum_f32(Case *c) {
  const size_t n = pick_length(c);
  float *x = guarded_values(c, n);
  double want = 0, size = 0;
  if (n && pick(c, 6) == 0) x[pick(c, (uint32_t)n)] = pick(c, 2) ? NAN : INFINITY;
  for (size_t i = 0; i < n; i++) {
    want += (double)x[i];
    size += fabs((double)x[i]);
  }
  const float got = c->set->row_sum_f32(x, n);
  if (!close_enough(got, want, size * 0x1p-20)) fail(c, "%s of %zu: %g, not %g", c->kernel, n, (double)got, want);
}

void test_cn_row_max_f32(Case *c) {
  const size_t n = pick_length(c);
  float *x = guarded_values(c, n), want = -INFINITY;
  if (n && pick(c, 6) == 0) x[pick(c, (uint32_t)n)] = pick(c, 2) ? NAN : INFINITY;
  for (size_t i = 0; i < n; i++) want = want > x[i] || isnan(want) ? want : x[i];
  const float got = c->set->row_max_f32(x, n);
  if (!close_enough(got, (double)want, 0)) fail(c, "%s of %zu: %g, not %g", c->kernel, n, (double)got, (double)want);
}

/* One row with its stride against the definition in double. */
static void compare_softmax(Case *c, const cn_softmax_f32_args *a, const float *x, const float *got) {
  const size_t n = a->n, step = a->inner;
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) most = isnan(x[i * step]) ? NAN : isnan(most) || most > (double)x[i * step] ? most : (double)x[i * step];
  for (size_t i = 0; i < n; i++) sum += exp((double)x[i * step] - most);
  for (size_t i = 0; i < n; i++) {
    const double d = (double)x[i * step] - most, want = a->log ? d - log(sum) : a->safe && !(sum > 0) ? 0 : exp(d) / sum;
    const double bound = a->log ? (fabs(want) + 4) * 0x1p-21 : want * (0x1p-20 + fmin(fabs(d), 200) * 0x1p-23) + 0x1p-125;
    if (!close_enough(got[i * step], want, bound))
      fail(c, "%s [%zu] of %zu is %g, not %g", c->kernel, i, n, (double)got[i * step], want);
  }
}

/* Rows or columns of a's sizes by run. */
static void softmax(Case *c, cn_softmax_f32_args a, void (*run)(const cn_softmax_f32_args *s, size_t t0, size_t t1)) {
  a.log = pick(c, 2) != 0;
  a.safe = !a.log && pick(c, 2);
  const size_t size = a.outer * a.n * a.inner;
  float *x = guarded(c, size), *kept = guarded(c, size);
  for (size_t i = 0; i < size; i++) x[i] = pick_value(c) * (pick(c, 8) ? 4.0f : 60.0f);
  if (pick(c, 4) == 0) x[pick(c, (uint32_t)size)] = pick(c, 3) ? pick(c, 2) ? NAN : INFINITY : -INFINITY;
  for (size_t i = pick(c, 60); i < a.outer * a.inner; i += 60) /* rows of nothing */
    for (size_t j = 0; j < a.n; j++) x[(i / a.inner * a.n + j) * a.inner + i % a.inner] = -INFINITY;
  memcpy(kept, x, size * sizeof *x);
  a.in = x;
  a.out = pick(c, 2) ? x : guarded(c, size);
  const size_t tasks = c->set->softmax_f32_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  run(&a, cut, tasks);
  run(&a, 0, cut);
  for (size_t o = 0; o < a.outer; o++)
    for (size_t i = 0; i < a.inner; i++)
      compare_softmax(c, &a, kept + o * a.n * a.inner + i, a.out + o * a.n * a.inner + i);
}

void test_cn_softmax_f32(Case *c) {
  softmax(c, (cn_softmax_f32_args){.outer = 1 + pick(c, 4), .n = 1 + pick_length(c), .inner = pick(c, 2) ? 1 : 1 + pick(c, pick(c, 4) ? 40 : 300)}, c->set->softmax_f32);
}

void test_cn_softmax_short_f32(Case *c) {
  static const size_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 16, 17, 31, 49, 64, 100};
  uint32_t most = 0;
  while (most < sizeof lengths / sizeof *lengths && lengths[most] <= c->set->softmax_short) most++;
  const size_t n = lengths[pick(c, most)];
  softmax(c, (cn_softmax_f32_args){.outer = 1 + pick(c, pick(c, 4) ? 9 : 9000 / (uint32_t)n), .n = n, .inner = 1}, c->set->softmax_short_f32);
}

void test_cn_norm_f32(Case *c) {
  const KernelSet *s = c->set;
  cn_norm_f32_args a = {.rows = 1 + pick(c, 9), .n = 1 + pick_length(c), .epsilon = 1e-5f, .rms = pick(c, 2) != 0};
  float *x = guarded_values(c, a.rows * a.n), *kept = guarded(c, a.rows * a.n);
  const float offset = pick(c, 3) ? 0.0f : 50.0f;
  for (size_t i = 0; i < a.rows * a.n; i++) x[i] += offset;
  memcpy(kept, x, a.rows * a.n * sizeof *x);
  a.in = x;
  a.scale = pick(c, 2) ? guarded_values(c, a.n) : NULL;
  a.bias = pick(c, 2) ? guarded_values(c, a.n) : NULL;
  a.period = 1 + pick(c, 4);
  a.row_scale = pick(c, 2) ? guarded_values(c, a.period) : NULL;
  a.row_bias = pick(c, 2) ? guarded_values(c, a.period) : NULL;
  a.out = pick(c, 2) ? x : guarded(c, a.rows * a.n);
  const size_t tasks = s->norm_f32_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  s->norm_f32(&a, cut, tasks);
  s->norm_f32(&a, 0, cut);
  for (size_t r = 0; r < a.rows; r++) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < a.n; i++) mean += (double)kept[r * a.n + i] / (double)a.n;
    if (a.rms) mean = 0;
    for (size_t i = 0; i < a.n; i++) var += ((double)kept[r * a.n + i] - mean) * ((double)kept[r * a.n + i] - mean) / (double)a.n;
    for (size_t i = 0; i < a.n; i++) {
      const double inv = 1 / sqrt(var + (double)a.epsilon);
      const double row_scale = a.row_scale ? (double)a.row_scale[r % a.period] : 1, row_bias = a.row_bias ? (double)a.row_bias[r % a.period] : 0;
      const double scale = (a.scale ? (double)a.scale[i] : 1) * row_scale, bias = (a.bias ? (double)a.bias[i] : 0) + row_bias;
      const double want = ((double)kept[r * a.n + i] - mean) * inv * scale + bias;
      const double bound = (fabs(want) + 4 + fabs(bias) + fabs(row_bias) + (double)offset * inv) * 0x1p-20;
      if (!close_enough(a.out[r * a.n + i], want, bound))
        fail(c, "%s row %zu [%zu] of %zu is %g, not %g", c->kernel, r, i, a.n, (double)a.out[r * a.n + i], want);
    }
  }
}
