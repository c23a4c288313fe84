/* Rows of bench_kernels: convolutions and pools, and products of 8-bit numbers. */
#include "simd/scalar.h"

#include "kernel_rows_private.h"

#include <stdio.h>

/* ---- windows ---- */
/* 1-D where height is 1. */
typedef struct Shape { size_t c, m, height, width, kernel, stride; } Shape;

static const char *shape_text(const Shape *p) {
  static char text[64];
  (void)snprintf(text, sizeof text, "%zux%zux%zu -> %zu, %zux%zu / %zu", p->c, p->height, p->width, p->m, p->height > 1 ? p->kernel : 1, p->kernel, p->stride);
  return text;
}

static cn_window window_of(const Shape *p) {
  const size_t pad = p->kernel / 2, tall = p->height > 1, above = tall ? pad : 0;
  cn_window w = {.images = 1, .groups = 1, .c = p->c, .m = p->m, .in = {1, p->height, p->width}, .kernel = {1, tall ? p->kernel : 1, p->kernel},
                 .stride = {1, tall ? p->stride : 1, p->stride}, .dilation = {1, 1, 1}, .up = {1, 1, 1}, .pad = {0, (ptrdiff_t)above, (ptrdiff_t)pad}};
  w.out[0] = 1;
  for (int i = 1; i < 3; i++) w.out[i] = (w.in[i] + 2 * (size_t)w.pad[i] - w.kernel[i]) / w.stride[i] + 1;
  return w;
}

static double window_flop(const cn_window *w) { return 2.0 * (double)(w->c * w->m * cn_volume(w->kernel) * cn_volume(w->out)); }

static double window_bytes(const cn_window *w) { return 4.0 * (double)(w->c * cn_volume(w->in) + w->m * cn_volume(w->out) + w->c * w->m * cn_volume(w->kernel)); }

static double pass_bytes(const cn_window *w, size_t channels) { return 4.0 * (double)(channels * (cn_volume(w->in) + cn_volume(w->out))); }

/* ---- blocked channels ---- */
typedef struct BlockedJob { cn_blocked_conv_f32_args a; const char *driver; float *scratch; cn_blocked_way way; } BlockedJob;

static void run_blocked(const KernelSet *s, const void *job) {
  const BlockedJob *j = job;
  s->blocked_driver(j->driver)(&j->a, j->scratch, 0, s->blocked_tasks(&j->a, j->way));
}

static void bench_blocked(Bench *b, size_t n, Shape p) {
  const size_t lanes = b->s->lanes, blocks = p.m;
  p.m = blocks * lanes;
  const cn_window w = window_of(&p);
  const cn_blocked_way way = cn_blocked_way_of(&w, w.c < 4, n, lanes, b->s->sums);
  BlockedJob j = {{.window = w, .input = w.c < 4 ? CN_BLOCKED_PLAIN : CN_BLOCKED_BLOCKS, .blocks = blocks, .in = bench_room(b, cn_round_up(w.c, lanes) * cn_volume(w.in)),
                   .weights = bench_room(b, w.c * w.m * cn_volume(w.kernel)), .out = bench_room(b, w.m * cn_volume(w.out)),
                   .ep = {.flags = CN_EP_ROW_BIAS | CN_EP_CLAMP, .bias = bench_room(b, w.m), .hi = 6.0f}}, cn_blocked_driver(&w, w.c < 4, 0, way, b->s->sums), NULL, way};
  j.scratch = bench_room(b, cn_blocked_conv_f32_scratch(&w, j.a.input, blocks, way, lanes));
  bench_row(b, j.driver, shape_text(&p), window_flop(&w), window_bytes(&w), run_blocked, &j);
}

/* p.m groups of p.c channels: whole blocks, several in a block, or across the ends of blocks. */
static void bench_groups(Bench *b, Shape p) {
  const size_t lanes = b->s->lanes, groups = p.m, channels = groups * p.c;
  const cn_blocked_groups across = {groups, p.c, p.c};
  const cn_blocked_grouping grouping = cn_blocked_grouping_of(&across, lanes);
  const size_t of_part = grouping == CN_BLOCKED_WHOLE ? p.c : lanes, rows = grouping == CN_BLOCKED_STRADDLE ? cn_blocked_read_by_all(&across, lanes) * lanes : channels * p.c;
  p.m = channels;
  cn_window w = window_of(&p);
  w.groups = channels / of_part;
  w.m = of_part;
  if (grouping == CN_BLOCKED_STRADDLE) w.c = cn_blocked_most_read(&across, lanes);
  const cn_blocked_way way = cn_blocked_way_of(&w, 0, 1, lanes, b->s->sums);
  BlockedJob j = {{.window = w, .groups = across, .blocks = of_part / lanes, .in = bench_room(b, channels * cn_volume(w.in)),
                   .weights = bench_room(b, rows * cn_volume(w.kernel)), .out = bench_room(b, channels * cn_volume(w.out)),
                   .ep = {.flags = CN_EP_ROW_BIAS, .bias = bench_room(b, channels)}}, cn_blocked_driver(&w, 0, grouping, way, b->s->sums), NULL, way};
  j.scratch = bench_room(b, cn_blocked_conv_f32_scratch(&w, 0, j.a.blocks, way, lanes));
  bench_row(b, j.driver, shape_text(&p), 2.0 * (double)(channels * p.c * cn_volume(w.kernel) * cn_volume(w.out)),
            pass_bytes(&w, channels), run_blocked, &j);
}

static void bench_all_blocked(Bench *b) {
  static const Shape slides[] = {{16, 1, 32, 32, 3, 1}, {16, 1, 20, 20, 3, 1}, {16, 1, 28, 28, 3, 1}, {16, 1, 7, 7, 3, 1}, {16, 1, 28, 28, 3, 2}, {1, 1, 64, 64, 3, 1}, {1, 1, 30, 30, 3, 1}, {3, 1, 64, 64, 3, 1}, {3, 1, 30, 30, 3, 1}, {3, 1, 224, 224, 3, 2}};
  static const Shape groups[] = {{4, 32, 56, 56, 3, 1}, {4, 32, 28, 28, 3, 1}, {4, 64, 56, 56, 3, 2}, {16, 32, 14, 14, 3, 1}, {16, 32, 7, 7, 3, 1}, {16, 32, 14, 14, 3, 2}, {24, 16, 32, 32, 3, 1},
                                 {24, 16, 28, 28, 3, 1}, {24, 16, 14, 14, 3, 1}, {24, 16, 8, 8, 3, 1}, {24, 16, 7, 7, 3, 1}, {24, 16, 56, 56, 3, 2}, {24, 16, 7, 7, 3, 2}};
  for (size_t n = 4; n > 0; n--) {
    bench_blocked(b, n, (Shape){64, n, 56, 56, 3, 1});
    bench_blocked(b, n, (Shape){64, n, 56, 56, 1, 1});
    bench_blocked(b, n, (Shape){64, n, 56, 56, 3, 2});
    bench_blocked(b, n, (Shape){64, n, 7, 7, 3, 2});
    bench_blocked(b, n, (Shape){64, n, 7, 7, 1, 1});
    bench_blocked(b, n, (Shape){64, n, 5, 5, 1, 1});
  }
  bench_blocked(b, 4, (Shape){3, 4, 224, 224, 7, 2});
  bench_blocked(b, 4, (Shape){256, 16, 14, 14, 3, 1});
  bench_blocked(b, 4, (Shape){128, 8, 1, 512, 3, 1});
  for (size_t i = 0; i < sizeof slides / sizeof *slides; i++) bench_blocked(b, 1, slides[i]);
  if (b->s->lanes < 8) return;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) bench_groups(b, groups[i]);
}

typedef struct WinogradJob { cn_winograd_f32_args a; float *scratch; size_t side; } WinogradJob;

static void run_winograd(const KernelSet *s, const void *job) {
  const WinogradJob *j = job;
  (j->side == 2 ? s->winograd_f32_2x2 : s->winograd_f32_4x4)(&j->a, j->scratch, NULL, 0, cn_winograd_tasks(&j->a, j->side));
}

/* As products of the direct convolution: more than the peak can be had. */
static void bench_winograd(Bench *b, const char *kernel, size_t side, Shape p, size_t bands) {
  const cn_window w = window_of(&p);
  const size_t blocks = w.m / b->s->lanes, tiles = cn_winograd_tiles(&w, side);
  WinogradJob j = {{.window = w, .band = cn_ceil_div(tiles, bands), .groups = cn_ceil_div(blocks, b->s->winograd_blocks), .part = 32, .in = bench_room(b, w.c * cn_volume(w.in)),
                    .weights = bench_room(b, cn_winograd_places(side) * w.c * w.m), .out = bench_room(b, w.m * cn_volume(w.out)),
                    .ep = {.flags = CN_EP_ROW_BIAS | CN_EP_CLAMP, .bias = bench_room(b, w.m), .hi = 6.0f}}, NULL, side};
  j.scratch = bench_room(b, cn_winograd_scratch(&w, side, j.a.band, b->s->lanes));
  bench_row(b, kernel, shape_text(&p), window_flop(&w), window_bytes(&w), run_winograd, &j);
}

typedef struct BlockedDepthwiseJob { cn_blocked_depthwise_f32_args a; BlockedDepthwiseRun *run; } BlockedDepthwiseJob;

static void run_blocked_depthwise(const KernelSet *s, const void *job) {
  const BlockedDepthwiseJob *j = job;
  (void)s;
  j->run(&j->a, 0, cn_blocked_depthwise_f32_tasks(&j->a));
}

static cn_window channels_alone(const Shape *p, size_t groups) {
  cn_window w = window_of(p);
  w.groups = groups;
  w.c = w.m = 1;
  return w;
}

static void bench_blocked_depthwise(Bench *b, const char *kernel, BlockedDepthwiseRun *run, Shape p) {
  const cn_window w = channels_alone(&p, p.c / b->s->lanes);
  const BlockedDepthwiseJob j = {{.window = w, .in = bench_room(b, p.c * cn_volume(w.in)), .weights = bench_room(b, p.c * cn_volume(w.kernel)),
                                  .out = bench_room(b, p.c * cn_volume(w.out)), .ep = {.flags = CN_EP_ROW_BIAS, .bias = bench_room(b, p.c)}}, run};
  bench_row(b, kernel, shape_text(&p), 2.0 * (double)(p.c * cn_volume(w.kernel) * cn_volume(w.out)), pass_bytes(&w, p.c), run_blocked_depthwise, &j);
}

typedef struct TokensDepthwiseJob { cn_tokens_depthwise_f32_args a; TokensDepthwiseRun *run; } TokensDepthwiseJob;

static void run_tokens_depthwise(const KernelSet *s, const void *job) {
  const TokensDepthwiseJob *j = job;
  (void)s;
  j->run(&j->a, 0, cn_tokens_depthwise_f32_tasks(&j->a));
}

static void bench_tokens_depthwise(Bench *b, const char *kernel, TokensDepthwiseRun *run, Shape p) {
  const size_t lanes = b->s->lanes;
  const cn_window w = channels_alone(&p, p.c / lanes);
  const TokensDepthwiseJob j = {{.window = w, .from = {.block = lanes, .pixel = p.c}, .to = {.block = lanes, .pixel = p.c}, .in = bench_room(b, p.c * cn_volume(w.in)),
                                 .weights = bench_room(b, p.c * cn_volume(w.kernel)), .out = bench_room(b, p.c * cn_volume(w.out)),
                                 .ep = {.flags = CN_EP_ROW_BIAS, .bias = bench_room(b, p.c)}}, run};
  bench_row(b, kernel, shape_text(&p), 2.0 * (double)(p.c * cn_volume(w.kernel) * cn_volume(w.out)), pass_bytes(&w, p.c), run_tokens_depthwise, &j);
}

typedef struct BlockedPoolJob { cn_blocked_pool_f32_args a; BlockedPoolRun *run; } BlockedPoolJob;

static void run_blocked_pool(const KernelSet *s, const void *job) {
  const BlockedPoolJob *j = job;
  (void)s;
  j->run(&j->a, 0, cn_blocked_pool_f32_tasks(&j->a));
}

static void bench_blocked_pool(Bench *b, const char *kernel, BlockedPoolRun *run, Shape p) {
  const cn_window w = channels_alone(&p, p.c / b->s->lanes);
  const BlockedPoolJob j = {{.window = w, .in = bench_room(b, p.c * cn_volume(w.in)), .out = bench_room(b, p.c * cn_volume(w.out))}, run};
  bench_row(b, kernel, shape_text(&p), 0, pass_bytes(&w, p.c), run_blocked_pool, &j);
}

typedef struct LrnJob { cn_blocked_lrn_f32_args a; float *scratch; } LrnJob;

static void run_lrn(const KernelSet *s, const void *job) {
  const LrnJob *j = job;
  s->blocked_lrn_f32(&j->a, j->scratch, 0, s->blocked_lrn_tasks(&j->a));
}

static void bench_lrn(Bench *b) {
  const size_t n = 64 * 28 * 28;
  const LrnJob j = {{.images = 1, .channels = 64, .pixels = 28 * 28, .below = 2, .above = 2, .scale = 1e-4f, .bias = 1.0f, .quarters = 3, .in = bench_room(b, n), .out = bench_room(b, n)},
                    bench_room(b, cn_blocked_lrn_f32_scratch(64, 2, 2, b->s->lanes))};
  bench_row(b, "cn_blocked_lrn_f32", "64x28x28, 5 channels", 0, 8.0 * (double)n, run_lrn, &j);
}

static void bench_blocked_windows(Bench *b) {
  const KernelSet *s = b->s;
  bench_winograd(b, "cn_winograd_f32_4x4", 4, (Shape){64, 64, 56, 56, 3, 1}, 8);
  bench_winograd(b, "cn_winograd_f32_4x4", 4, (Shape){256, 256, 14, 14, 3, 1}, 1);
  bench_winograd(b, "cn_winograd_f32_2x2", 2, (Shape){512, 512, 7, 7, 3, 1}, 1);
  bench_blocked_depthwise(b, "cn_blocked_depthwise_f32_3x3s1", s->blocked_depthwise_f32_3x3s1, (Shape){144, 144, 56, 56, 3, 1});
  bench_blocked_depthwise(b, "cn_blocked_depthwise_f32_3x3s2", s->blocked_depthwise_f32_3x3s2, (Shape){96, 96, 112, 112, 3, 2});
  bench_blocked_depthwise(b, "cn_blocked_depthwise_f32_5x5s1", s->blocked_depthwise_f32_5x5s1, (Shape){240, 240, 28, 28, 5, 1});
  bench_blocked_depthwise(b, "cn_blocked_depthwise_f32_5x5s2", s->blocked_depthwise_f32_5x5s2, (Shape){240, 240, 28, 28, 5, 2});
  bench_blocked_depthwise(b, "cn_blocked_depthwise_f32_7x7s1", s->blocked_depthwise_f32_7x7s1, (Shape){64, 64, 28, 28, 7, 1});
  bench_blocked_depthwise(b, "cn_blocked_depthwise_f32", s->blocked_depthwise_f32, (Shape){64, 64, 28, 28, 9, 1});
  bench_tokens_depthwise(b, "cn_tokens_depthwise_f32_3x3s1", s->tokens_depthwise_f32_3x3s1, (Shape){144, 144, 56, 56, 3, 1});
  bench_tokens_depthwise(b, "cn_tokens_depthwise_f32_3x3s2", s->tokens_depthwise_f32_3x3s2, (Shape){96, 96, 112, 112, 3, 2});
  bench_tokens_depthwise(b, "cn_tokens_depthwise_f32_5x5s1", s->tokens_depthwise_f32_5x5s1, (Shape){240, 240, 28, 28, 5, 1});
  bench_tokens_depthwise(b, "cn_tokens_depthwise_f32_5x5s2", s->tokens_depthwise_f32_5x5s2, (Shape){240, 240, 28, 28, 5, 2});
  bench_tokens_depthwise(b, "cn_tokens_depthwise_f32_7x7s1", s->tokens_depthwise_f32_7x7s1, (Shape){64, 64, 28, 28, 7, 1});
  bench_blocked_pool(b, "cn_blocked_pool_f32_2x2s2", s->blocked_pool_f32_2x2s2, (Shape){64, 64, 56, 56, 2, 2});
  bench_blocked_pool(b, "cn_blocked_pool_f32_3x3s1", s->blocked_pool_f32_3x3s1, (Shape){64, 64, 28, 28, 3, 1});
  bench_blocked_pool(b, "cn_blocked_pool_f32_3x3s2", s->blocked_pool_f32_3x3s2, (Shape){64, 64, 56, 56, 3, 2});
  bench_blocked_pool(b, "cn_blocked_pool_f32", s->blocked_pool_f32, (Shape){64, 64, 28, 28, 5, 1});
  bench_lrn(b);
}

/* ---- plain channels ---- */
typedef struct ConvJob { cn_conv_f32_args a; float *scratch; int direct; } ConvJob;

static void run_conv(const KernelSet *s, const void *job) {
  const ConvJob *j = job;
  if (j->direct) s->conv_f32_direct(&j->a, j->scratch, 0, s->conv_f32_direct_tasks(&j->a));
  else s->conv_f32(&j->a, j->scratch, 0, s->conv_f32_tasks(&j->a));
}

/* up: of a transposed convolution, whose inserted zeros count as products. */
static void bench_conv(Bench *b, int direct, Shape p, size_t up) {
  cn_window w = window_of(&p);
  for (int i = 1; up > 1 && i < 3; i++) w.up[i] = up, w.out[i] = up * w.in[i];
  ConvJob j = {{.window = w, .in = bench_room(b, w.c * cn_volume(w.in)), .weights = bench_room(b, w.c * cn_round_up(w.m, b->s->mr) * cn_volume(w.kernel)), .out = bench_room(b, w.m * cn_volume(w.out)),
                .ep = {.flags = CN_EP_ROW_BIAS, .bias = bench_room(b, w.m)}}, NULL, direct};
  j.scratch = bench_room(b, direct ? b->s->conv_f32_direct_scratch(&w) : b->s->conv_f32_scratch(&w));
  bench_row(b, direct ? "cn_conv_f32_direct" : "cn_conv_f32", shape_text(&p), window_flop(&w), window_bytes(&w), run_conv, &j);
}

typedef struct DepthwiseJob { cn_depthwise_f32_args a; float *scratch; DepthwiseRun *run; } DepthwiseJob;

static void run_depthwise(const KernelSet *s, const void *job) {
  const DepthwiseJob *j = job;
  j->run(&j->a, j->scratch, 0, s->depthwise_f32_tasks(&j->a));
}

static void bench_depthwise(Bench *b, const char *kernel, DepthwiseRun *run, Shape p) {
  const cn_window w = channels_alone(&p, p.c);
  const DepthwiseJob j = {{.window = w, .in = bench_room(b, p.c * cn_volume(w.in)), .weights = bench_room(b, p.c * cn_volume(w.kernel)), .out = bench_room(b, p.c * cn_volume(w.out)),
                           .ep = {.flags = CN_EP_ROW_BIAS, .bias = bench_room(b, p.c)}}, bench_room(b, b->s->depthwise_f32_scratch(&w)), run};
  bench_row(b, kernel, shape_text(&p), 2.0 * (double)(p.c * cn_volume(w.kernel) * cn_volume(w.out)), pass_bytes(&w, p.c), run_depthwise, &j);
}

typedef struct PoolJob { cn_pool_f32_args a; float *scratch; PoolRun *run; } PoolJob;

static void run_pool(const KernelSet *s, const void *job) {
  const PoolJob *j = job;
  j->run(&j->a, j->scratch, 0, s->pool_f32_tasks(&j->a));
}

static void bench_pool(Bench *b, const char *kernel, PoolRun *run, Shape p) {
  const cn_window w = channels_alone(&p, p.c);
  const PoolJob j = {{.window = w, .in = bench_room(b, p.c * cn_volume(w.in)), .out = bench_room(b, p.c * cn_volume(w.out))}, bench_room(b, b->s->pool_f32_scratch(&w)), run};
  bench_row(b, kernel, shape_text(&p), 0, pass_bytes(&w, p.c), run_pool, &j);
}

static void bench_plain_windows(Bench *b) {
  const KernelSet *s = b->s;
  bench_conv(b, 0, (Shape){256, 256, 14, 14, 3, 1}, 1);
  bench_conv(b, 0, (Shape){64, 128, 1, 512, 3, 1}, 1);
  bench_conv(b, 0, (Shape){64, 64, 28, 28, 3, 1}, 2);
  bench_conv(b, 1, (Shape){3, 64, 224, 224, 7, 2}, 1);
  bench_depthwise(b, "cn_depthwise_f32_3x3s1", s->depthwise_f32_3x3s1, (Shape){144, 144, 56, 56, 3, 1});
  bench_depthwise(b, "cn_depthwise_f32_3x3s2", s->depthwise_f32_3x3s2, (Shape){96, 96, 112, 112, 3, 2});
  bench_depthwise(b, "cn_depthwise_f32_5x5s1", s->depthwise_f32_5x5s1, (Shape){240, 240, 28, 28, 5, 1});
  bench_depthwise(b, "cn_depthwise_f32_5x5s2", s->depthwise_f32_5x5s2, (Shape){240, 240, 28, 28, 5, 2});
  bench_depthwise(b, "cn_depthwise_f32", s->depthwise_f32, (Shape){64, 64, 28, 28, 7, 1});
  bench_pool(b, "cn_pool_f32_2x2s2", s->pool_f32_2x2s2, (Shape){64, 64, 56, 56, 2, 2});
  bench_pool(b, "cn_pool_f32_3x3s2", s->pool_f32_3x3s2, (Shape){64, 64, 56, 56, 3, 2});
  bench_pool(b, "cn_pool_f32", s->pool_f32, (Shape){64, 64, 28, 28, 5, 1});
}

/* ---- 8 bits ---- */
typedef struct IntegerJob { cn_gemm_s16_args g; cn_conv_s16_args c; int32_t *scratch; int conv; } IntegerJob;

static void run_integer(const KernelSet *s, const void *job) {
  const IntegerJob *j = job;
  if (j->conv) s->conv_s16(&j->c, j->scratch, 0, s->conv_s16_tasks(&j->c));
  else s->gemm_s16(&j->g, j->scratch, 0, s->gemm_s16_tasks(&j->g));
}

/* Beside the FMA peak of floats: a multiplication of pairs has two products for a lane's one. */
void bench_integers(Bench *b) {
  const Shape p = {64, 64, 28, 28, 3, 1};
  const cn_window w = window_of(&p);
  const cn_finish_s32 finish = {.out = CN_OUT_S32};
  IntegerJob g = {.g = {.m = 128, .n = 768, .k = 768, .a = bench_room(b, 128 * 768), .a_rs = 768, .a_ks = 1, .a_signed = 1, .b = (int32_t *)bench_room(b, 768 * 768),
                        .c = bench_room(b, 128 * 768), .ldc = 768, .finish = finish}, .scratch = (int32_t *)bench_room(b, b->s->gemm_s16_scratch(128, 768))};
  bench_row(b, "cn_gemm_s16", "m 128 k 768 n 768", 2.0 * 128 * 768 * 768, 128 * 768 * 5 + 768 * 768 * 2, run_integer, &g);
  IntegerJob c = {.c = {.window = w, .in = bench_room(b, w.c * cn_volume(w.in)), .in_signed = 1, .weights = (int32_t *)bench_room(b, cn_round_up(w.m, b->s->s16_mr) * w.c * 9),
                        .out = bench_room(b, w.m * cn_volume(w.out)), .finish = finish}, .scratch = (int32_t *)bench_room(b, b->s->conv_s16_scratch(&w)), .conv = 1};
  bench_row(b, "cn_conv_s16", shape_text(&p), window_flop(&w), (double)(w.c * cn_volume(w.in) + 4 * w.m * cn_volume(w.out)), run_integer, &c);
}

void bench_windows(Bench *b) {
  bench_all_blocked(b);
  bench_blocked_windows(b);
  bench_plain_windows(b);
}
