/* Kernels without a SIMD layer: the same for every target, so called directly. */
#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <string.h>

#include "kernels/pool_plain.h"

static cn_gemm_plain_args pick_gemm(Case *c, size_t size) {
  cn_gemm_plain_args g = {.m = pick(c, 6), .n = pick(c, 19), .k = pick(c, 40)};
  const int ta = pick(c, 2) != 0, tb = pick(c, 2) != 0, tc = pick(c, 2) != 0;
  g.a_rs = ta ? 1 : g.k;
  g.a_ks = ta ? g.m : 1;
  g.b_ks = tb ? 1 : g.n;
  g.b_ns = tb ? g.k : 1;
  g.c_rs = tc ? 1 : g.n;
  g.c_ns = tc ? g.m : 1;
  g.c = guarded_bytes(c, g.m * g.n * size);
  return g;
}

void test_cn_gemm_f64(Case *c) {
  cn_gemm_plain_args g = pick_gemm(c, sizeof(double));
  double *a = guarded_bytes(c, g.m * g.k * sizeof *a), *b = guarded_bytes(c, g.k * g.n * sizeof *b);
  for (size_t i = 0; i < g.m * g.k; i++) a[i] = (double)pick_value(c);
  for (size_t i = 0; i < g.k * g.n; i++) b[i] = (double)pick_value(c);
  g.a = a;
  g.b = b;
  cn_gemm_f64(&g, 0, cn_gemm_plain_tasks(&g));
  for (size_t i = 0; i < g.m * g.n; i++) {
    double want = 0;
    for (size_t p = 0; p < g.k; p++) want += a[i / g.n * g.a_rs + p * g.a_ks] * b[p * g.b_ks + i % g.n * g.b_ns];
    const double got = ((double *)g.c)[i / g.n * g.c_rs + i % g.n * g.c_ns];
    if (got != want) fail(c, "%s: [%zu] is %g, not %g", c->kernel, i, got, want);
  }
}

void test_cn_gemm_s32(Case *c) {
  cn_gemm_plain_args g = pick_gemm(c, sizeof(int32_t));
  uint32_t *a = guarded_bytes(c, g.m * g.k * sizeof *a), *b = guarded_bytes(c, g.k * g.n * sizeof *b);
  for (size_t i = 0; i < g.m * g.k; i++) a[i] = pick(c, 1u << 31) * 2 + 1;
  for (size_t i = 0; i < g.k * g.n; i++) b[i] = pick(c, 1u << 31) * 2 + 1;
  g.a = a;
  g.b = b;
  cn_gemm_s32(&g, 0, cn_gemm_plain_tasks(&g));
  for (size_t i = 0; i < g.m * g.n; i++) {
    uint32_t want = 0;
    for (size_t p = 0; p < g.k; p++) want += a[i / g.n * g.a_rs + p * g.a_ks] * b[p * g.b_ks + i % g.n * g.b_ns];
    const uint32_t got = ((uint32_t *)g.c)[i / g.n * g.c_rs + i % g.n * g.c_ns];
    if (got != want) fail(c, "%s: [%zu] is %u, not %u", c->kernel, i, got, want);
  }
}

void test_cn_gemm_s64(Case *c) {
  cn_gemm_plain_args g = pick_gemm(c, sizeof(int64_t));
  uint64_t *a = guarded_bytes(c, g.m * g.k * sizeof *a), *b = guarded_bytes(c, g.k * g.n * sizeof *b);
  for (size_t i = 0; i < g.m * g.k; i++) a[i] = (uint64_t)pick(c, 1u << 31) << 32 | pick(c, 1u << 31);
  for (size_t i = 0; i < g.k * g.n; i++) b[i] = (uint64_t)pick(c, 1u << 31) << 32 | pick(c, 1u << 31);
  g.a = a;
  g.b = b;
  cn_gemm_s64(&g, 0, cn_gemm_plain_tasks(&g));
  for (size_t i = 0; i < g.m * g.n; i++) {
    uint64_t want = 0;
    for (size_t p = 0; p < g.k; p++) want += a[i / g.n * g.a_rs + p * g.a_ks] * b[p * g.b_ks + i % g.n * g.b_ns];
    const uint64_t got = ((uint64_t *)g.c)[i / g.n * g.c_rs + i % g.n * g.c_ns];
    if (got != want) fail(c, "%s: [%zu] differs", c->kernel, i);
  }
}

void test_cn_conv_f64(Case *c) {
  cn_conv_f64_args a = {.window = pick_geometry(c, 0, 1)};
  cn_window *w = &a.window;
  w->groups = 1 + pick(c, 3);
  w->c = 1 + pick(c, 4);
  w->m = 1 + pick(c, 3);
  const size_t ins = w->images * w->groups * w->c * cn_volume(w->in), taps = cn_volume(w->kernel), pixels = cn_volume(w->out);
  const size_t channels = w->groups * w->m, n_weights = channels * w->c * taps;
  double *in = guarded_bytes(c, ins * sizeof *in), *weights = guarded_bytes(c, n_weights * sizeof *in);
  for (size_t i = 0; i < ins; i++) in[i] = (double)pick_value(c);
  for (size_t i = 0; i < n_weights; i++) weights[i] = (double)pick_value(c);
  a.in = in;
  a.weights = weights;
  a.out = guarded_bytes(c, w->images * channels * pixels * sizeof *a.out);
  cn_conv_f64(&a, 0, cn_conv_f64_tasks(&a));
  for (size_t i = 0; i < w->images * channels * pixels; i++) {
    const size_t p = i % pixels, row = i / pixels;
    double want = 0;
    for (size_t q = 0; q < w->c * taps; q++) {
      const size_t t = q % taps, channel = row / w->m * w->c + q / taps;
      const ptrdiff_t z = cn_window_place(w, 0, p / w->out[2] / w->out[1], t / w->kernel[2] / w->kernel[1]);
      const ptrdiff_t y = cn_window_place(w, 1, p / w->out[2] % w->out[1], t / w->kernel[2] % w->kernel[1]);
      const ptrdiff_t x = cn_window_place(w, 2, p % w->out[2], t % w->kernel[2]);
      if (z < 0 || y < 0 || x < 0) continue;
      want += in[((channel * w->in[0] + (size_t)z) * w->in[1] + (size_t)y) * w->in[2] + (size_t)x] *
              weights[row % channels * w->c * taps + q];
    }
    if (fabs(a.out[i] - want) > 1e-12) fail(c, "%s: place %zu is %g, not %g", c->kernel, i, a.out[i], want);
  }
}

/* What a test of pooling knows of a type. */
typedef struct PoolType {
  size_t size;
  void (*run)(const cn_pool_plain_args *a, size_t t0, size_t t1);
  double (*load)(const void *p, size_t i);
  void (*store)(void *p, size_t i, double x);
  double least, most;
} PoolType;

static double load_f32(const void *p, size_t i) { return (double)((const float *)p)[i]; }
static double load_f64(const void *p, size_t i) { return ((const double *)p)[i]; }
static double load_u8(const void *p, size_t i) { return ((const uint8_t *)p)[i]; }
static double load_s8(const void *p, size_t i) { return ((const int8_t *)p)[i]; }
static void store_f32(void *p, size_t i, double x) { ((float *)p)[i] = (float)x; }
static void store_f64(void *p, size_t i, double x) { ((double *)p)[i] = x; }
static void store_u8(void *p, size_t i, double x) { ((uint8_t *)p)[i] = (uint8_t)x; }
static void store_s8(void *p, size_t i, double x) { ((int8_t *)p)[i] = (int8_t)x; }

/* The maximum at a place, against all elements of its window; its index holds it. */
static void check_maximum(Case *c, const cn_pool_plain_args *a, const PoolType *t, size_t i) {
  const cn_window *w = &a->window;
  const size_t pixels = cn_volume(w->out), p = i % pixels, area = cn_volume(w->in);
  double want = t->least;
  int seen = 0;
  for (size_t k = 0; k < cn_volume(w->kernel); k++) {
    const ptrdiff_t z = cn_window_place(w, 0, p / w->out[2] / w->out[1], k / w->kernel[2] / w->kernel[1]);
    const ptrdiff_t y = cn_window_place(w, 1, p / w->out[2] % w->out[1], k / w->kernel[2] % w->kernel[1]);
    const ptrdiff_t x = cn_window_place(w, 2, p % w->out[2], k % w->kernel[2]);
    if (z < 0 || y < 0 || x < 0) continue;
    const double v = t->load(a->in, i / pixels * area + ((size_t)z * w->in[1] + (size_t)y) * w->in[2] + (size_t)x);
    want = seen && want >= v ? want : v;
    seen = 1;
  }
  if (t->load(a->out, i) != want) fail(c, "%s: place %zu is %g, not %g", c->kernel, i, t->load(a->out, i), want);
  if (!seen || a->indices[i] < 0) {
    if (seen || a->indices[i] != -1) fail(c, "%s: place %zu has index %lld", c->kernel, i, (long long)a->indices[i]);
    return;
  }
  size_t at = (size_t)a->indices[i] % area;
  if (a->column_major) {
    const size_t z = at % w->in[0], y = at / w->in[0] % w->in[1], x = at / w->in[0] / w->in[1];
    at = (z * w->in[1] + y) * w->in[2] + x;
  }
  if (t->load(a->in, i / pixels * area + at) != want) fail(c, "%s: index of place %zu is wrong", c->kernel, i);
}

static void test_pool(Case *c, PoolType t) {
  cn_pool_plain_args a = {.column_major = pick(c, 2) != 0};
  a.window = pick_geometry(c, 0, 0);
  a.window.groups = 1 + pick(c, 3);
  const size_t ins = a.window.images * a.window.groups * cn_volume(a.window.in);
  const size_t outs = a.window.images * a.window.groups * cn_volume(a.window.out);
  void *in = guarded_bytes(c, ins * t.size);
  for (size_t i = 0; i < ins; i++) t.store(in, i, t.most < 1e9 ? t.least + pick(c, 256) : (double)pick_value(c));
  a.in = in;
  a.out = guarded_bytes(c, outs * t.size);
  a.indices = guarded_bytes(c, outs * sizeof(int64_t));
  t.run(&a, 0, cn_pool_plain_tasks(&a));
  for (size_t i = 0; i < outs; i++) check_maximum(c, &a, &t, i);
}

void test_cn_pool_index_f32(Case *c) {
  test_pool(c, (PoolType){sizeof(float), cn_pool_index_f32, load_f32, store_f32, -INFINITY, INFINITY});
}
void test_cn_pool_f64(Case *c) {
  test_pool(c, (PoolType){sizeof(double), cn_pool_f64, load_f64, store_f64, -INFINITY, INFINITY});
}
void test_cn_pool_u8(Case *c) { test_pool(c, (PoolType){1, cn_pool_u8, load_u8, store_u8, 0, 255}); }
void test_cn_pool_s8(Case *c) { test_pool(c, (PoolType){1, cn_pool_s8, load_s8, store_s8, -128, 127}); }
