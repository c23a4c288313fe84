/* bench_kernels [TARGET [REPEATS]]: convolutions and matrix products of ResNet-50's sizes (batch 1), and a few of
 * transformers', one thread: the best time of REPEATS, and its share of the FMA peak measured beside it in the same run. Then
 * every kernel of the table (kernel_rows.h). */
#define _GNU_SOURCE
#include "simd/scalar.h"

#include "kernel_rows.h"
#include "kernel_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/pack.h"

/* count: how often the network has the layer. in: height and width. */
typedef struct Layer {
  size_t count, c, m, in, kernel, stride;
} Layer;

static const Layer layers[] = {
    {1, 3, 64, 224, 7, 2},   {1, 64, 64, 56, 1, 1},    {3, 64, 64, 56, 3, 1},    {4, 64, 256, 56, 1, 1},
    {2, 256, 64, 56, 1, 1},  {1, 256, 128, 56, 1, 1},  {1, 128, 128, 56, 3, 2},  {4, 128, 512, 28, 1, 1},
    {1, 256, 512, 56, 1, 2}, {3, 512, 128, 28, 1, 1},  {3, 128, 128, 28, 3, 1},  {1, 512, 256, 28, 1, 1},
    {1, 256, 256, 28, 3, 2}, {6, 256, 1024, 14, 1, 1}, {1, 512, 1024, 28, 1, 2}, {5, 1024, 256, 14, 1, 1},
    {5, 256, 256, 14, 3, 1}, {1, 1024, 512, 14, 1, 1}, {1, 512, 512, 14, 3, 2},  {3, 512, 2048, 7, 1, 1},
    {1, 1024, 2048, 14, 1, 2}, {2, 2048, 512, 7, 1, 1}, {2, 512, 512, 7, 3, 1},
};

/* Depthwise layers of MobileNetV2 and EfficientNet; those with their own driver. */
static const Layer depthwise[] = {
    {1, 32, 32, 112, 3, 1}, {1, 96, 96, 112, 3, 2}, {2, 144, 144, 56, 3, 1}, {3, 192, 192, 28, 3, 1},
    {4, 384, 384, 14, 3, 1}, {3, 960, 960, 7, 3, 1}, {1, 240, 240, 28, 5, 1}, {3, 672, 672, 14, 5, 1},
};

/* m, k, n; the first is ResNet-50's. */
static const size_t products[][3] = {
    {1, 2048, 1000}, {128, 768, 768}, {128, 768, 3072}, {128, 3072, 768}, {197, 192, 576}, {512, 512, 512}, {1024, 1024, 1024},
};

#define X(word) extern const KernelSet kernel_set_##word;
KERNEL_SETS
#undef X

static const KernelSet *const sets[] = {
#define X(word) &kernel_set_##word,
    KERNEL_SETS
};

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

double bench_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

float *bench_values(size_t n) {
  float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
  if (!p) abort();
  for (size_t i = 0; i < n; i++) p[i] = (float)(i % 251) / 251.0f - 0.5f;
  return p;
}

static volatile float sink;

/* Best FMA rate seen so far, in GFLOP/s: measured again beside every row, since clocks change. */
static double peak(const KernelSet *s, double best) {
  enum { ROUNDS = 100000 };
  for (int i = 0; i < 3; i++) {
    double t = bench_now();
    sink = s->peak_f32(ROUNDS);
    t = bench_now() - t;
    const double rate = 2e-9 * ROUNDS * CN_PEAK_CHAINS * (double)s->lanes / t;
    if (rate > best) best = rate;
  }
  return best;
}

typedef struct Row {
  double seconds, flop;
  int direct; /* the compiler's choice: cn_conv_f32_direct */
} Row;

static Row bench_conv(const KernelSet *s, const Layer *l, int repeats) {
  const size_t pad = l->kernel / 2, out = (l->in + 2 * pad - l->kernel) / l->stride + 1;
  cn_conv_f32_args a = {.window = {.images = 1, .groups = 1, .c = l->c, .m = l->m,
                                   .in = {1, l->in, l->in}, .out = {1, out, out}, .kernel = {1, l->kernel, l->kernel},
                                   .stride = {1, l->stride, l->stride}, .dilation = {1, 1, 1}, .up = {1, 1, 1},
                                   .pad = {0, (ptrdiff_t)pad, (ptrdiff_t)pad}}};
  const size_t depth = l->c * l->kernel * l->kernel;
  float *in = bench_values(l->c * l->in * l->in), *weights = bench_values(l->m * depth), *bias = bench_values(l->m);
  float *packed = bench_values(cn_pack_size(depth, l->m, s->mr)), *scratch;
  const int direct = cn_conv_direct_wins(&a.window, s->lanes, s->nr);
  float *result = bench_values(l->m * out * out);
  cn_pack_conv_f32(weights, 1, l->m, l->c, l->kernel * l->kernel, s->mr, packed);
  a.in = in;
  a.weights = packed;
  a.out = result;
  a.ep = (cn_epilogue_f32){.flags = CN_EP_ROW_BIAS | CN_EP_CLAMP, .bias = bias, .lo = 0.0f, .hi = 6.0f};
  scratch = bench_values(direct ? s->conv_f32_direct_scratch(&a.window) : s->conv_f32_scratch(&a.window));
  Row row = {1e9, 2.0 * (double)(depth * l->m * out * out), direct};
  for (int i = 0; i < repeats; i++) {
    const double t = bench_now();
    if (direct) s->conv_f32_direct(&a, scratch, 0, s->conv_f32_direct_tasks(&a));
    else s->conv_f32(&a, scratch, 0, s->conv_f32_tasks(&a));
    const double d = bench_now() - t;
    if (d < row.seconds) row.seconds = d;
  }
  free(in), free(weights), free(bias), free(packed), free(scratch), free(result);
  return row;
}

static Row bench_gemm(const KernelSet *s, const size_t *p, int repeats) {
  const size_t m = p[0], k = p[1], n = p[2];
  float *a = bench_values(m * k), *b = bench_values(k * n), *packed = bench_values(cn_pack_size(k, n, s->nr)), *c = bench_values(m * n), *bias = bench_values(n);
  cn_pack_b_f32(b, n, 1, k, n, s->nr, packed);
  cn_gemm_f32_args g = {.m = m, .n = n, .k = k, .a = a, .a_rs = k, .a_ks = 1, .b = packed, .c = c, .ldc = n,
                        .ep = {.flags = CN_EP_COL_BIAS, .bias = bias}};
  Row row = {1e9, 2.0 * (double)(m * n * k)};
  for (int i = 0; i < repeats; i++) {
    const double t = bench_now();
    s->gemm_f32(&g, 0, s->gemm_f32_tasks(&g));
    const double d = bench_now() - t;
    if (d < row.seconds) row.seconds = d;
  }
  free(a), free(b), free(packed), free(c), free(bias);
  return row;
}

static Row bench_depthwise(const KernelSet *s, const Layer *l, int repeats) {
  const size_t pad = l->kernel / 2, out = (l->in + 2 * pad - l->kernel) / l->stride + 1;
  cn_depthwise_f32_args a = {.window = {.images = 1, .groups = l->c, .c = 1, .m = 1,
                                        .in = {1, l->in, l->in}, .out = {1, out, out}, .kernel = {1, l->kernel, l->kernel},
                                        .stride = {1, l->stride, l->stride}, .dilation = {1, 1, 1}, .up = {1, 1, 1},
                                        .pad = {0, (ptrdiff_t)pad, (ptrdiff_t)pad}}};
  DepthwiseRun *run = l->kernel == 5 ? s->depthwise_f32_5x5s1 : l->stride == 2 ? s->depthwise_f32_3x3s2 : s->depthwise_f32_3x3s1;
  float *in = bench_values(l->c * l->in * l->in), *weights = bench_values(l->c * l->kernel * l->kernel), *bias = bench_values(l->c);
  float *result = bench_values(l->c * out * out), *scratch = bench_values(s->depthwise_f32_scratch(&a.window));
  a.in = in;
  a.weights = weights;
  a.out = result;
  a.ep = (cn_epilogue_f32){.flags = CN_EP_ROW_BIAS | CN_EP_CLAMP, .bias = bias, .lo = 0.0f, .hi = 6.0f};
  Row row = {1e9, 2.0 * (double)(l->c * l->kernel * l->kernel * out * out)};
  for (int i = 0; i < repeats; i++) {
    const double t = bench_now();
    run(&a, scratch, 0, s->depthwise_f32_tasks(&a));
    const double d = bench_now() - t;
    if (d < row.seconds) row.seconds = d;
  }
  free(in), free(weights), free(bias), free(result), free(scratch);
  return row;
}

/* Returns how many kernels have no row. */
static size_t bench_set(const KernelSet *s, int repeats) {
  double best = peak(s, 0), flop = 0, seconds = 0;
  (void)printf("%s\n%-34s %5s %9s %9s %6s\n", s->name, "", "times", "us", "GFLOP/s", "share");
  if (s->own) return kernel_rows(s, repeats, best);
  for (size_t i = 0; i < LENGTH(layers); i++) {
    const Layer *l = &layers[i];
    const Row row = bench_conv(s, l, repeats);
    best = peak(s, best);
    flop += row.flop * (double)l->count;
    seconds += row.seconds * (double)l->count;
    (void)printf("conv %4zux%3zux%-3zu -> %4zu, %zux%zu / %zu  %5zu %9.1f %9.1f %5.0f%%%s\n", l->c, l->in, l->in, l->m, l->kernel,
                 l->kernel, l->stride, l->count, row.seconds * 1e6, row.flop * 1e-9 / row.seconds,
                 row.flop * 1e-7 / row.seconds / best, row.direct ? " direct" : "");
  }
  (void)printf("%-40s %9.1f %9.1f %5.0f%%\n", "all convolutions of ResNet-50", seconds * 1e6, flop * 1e-9 / seconds,
               flop * 1e-7 / seconds / best);
  for (size_t i = 0; i < LENGTH(products); i++) {
    const Row row = bench_gemm(s, products[i], repeats);
    best = peak(s, best);
    (void)printf("gemm m %4zu k %4zu n %4zu %16s %9.1f %9.1f %5.0f%%\n", products[i][0], products[i][1], products[i][2], "",
                 row.seconds * 1e6, row.flop * 1e-9 / row.seconds, row.flop * 1e-7 / row.seconds / best);
  }
  for (size_t i = 0; i < LENGTH(depthwise); i++) {
    const Layer *l = &depthwise[i];
    const Row row = bench_depthwise(s, l, repeats);
    best = peak(s, best);
    (void)printf("depthwise %4zux%3zux%-3zu, %zux%zu / %zu %12s %9.1f %9.1f %5.0f%%\n", l->c, l->in, l->in, l->kernel, l->kernel,
                 l->stride, "", row.seconds * 1e6, row.flop * 1e-9 / row.seconds, row.flop * 1e-7 / row.seconds / best);
  }
  (void)printf("FMA peak %.1f GFLOP/s\n\n", best);
  return kernel_rows(s, repeats, best);
}

int main(int argc, char **argv) {
  const int repeats = argc > 2 ? atoi(argv[2]) : 20;
  size_t missing = 0;
  for (size_t i = 0; i < LENGTH(sets); i++)
    if (argc < 2 || !strcmp(argv[1], sets[i]->name)) missing += bench_set(sets[i], repeats);
  return missing != 0;
}
