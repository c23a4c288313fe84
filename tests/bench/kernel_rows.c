#define _GNU_SOURCE
#include "simd/scalar.h"

#include "kernel_rows_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

enum { NEAR_BYTES = 256 << 10, FAR_BYTES = 4 << 20 };

/* ---- the table ---- */
static struct { const char *kernel; int known; } table[] = {
#define WINDOW(...)
#define KERNEL(function, family, dtype, tile, file) {#function, 0},
#include "kernels.def"
#undef KERNEL
#undef WINDOW
};

/* What is written once, for any type: scalar code, which has no peak to reach. */
static const char *const plain[] = {"cn_gemm_f64", "cn_gemm_s32", "cn_gemm_s64", "cn_conv_f64", "cn_pool_index_f32", "cn_pool_f64", "cn_pool_u8", "cn_pool_s8"};

static void note(const char *kernel) {
  for (size_t i = 0; i < LENGTH(table); i++)
    if (!strcmp(table[i].kernel, kernel)) table[i].known = 1;
}

static size_t count_missing(void) {
  size_t n = 0;
  for (size_t i = 0; i < LENGTH(plain); i++) note(plain[i]);
  for (size_t i = 0; i < LENGTH(table); i++) {
    if (!table[i].known) (void)printf("no row for %s\n", table[i].kernel);
    n += !table[i].known;
  }
  return n;
}

/* ---- measuring ---- */
static volatile float sink;

static double read_rate(const KernelSet *s, size_t bytes) {
  float *p = bench_values(bytes / sizeof *p);
  double best = 1e9;
  for (int i = 0; i < 20; i++) {
    const double t = bench_now();
    for (size_t r = 0; r < FAR_BYTES / bytes; r++) sink = s->peak_read_f32(p, bytes / sizeof *p);
    const double d = (bench_now() - t) / (double)(FAR_BYTES / bytes);
    if (d < best) best = d;
  }
  free(p);
  return 1e-9 * (double)bytes / best;
}

float *bench_room(Bench *b, size_t n) {
  if (b->n_buffers == MOST_BUFFERS) abort();
  return b->buffers[b->n_buffers++] = bench_values(n);
}

void bench_row(Bench *b, const char *kernel, const char *what, double flop, double bytes, void (*run)(const KernelSet *s, const void *job), const void *job) {
  double best = 1e9;
  for (int i = 0; i < b->repeats; i++) {
    const double t = bench_now();
    run(b->s, job);
    const double d = bench_now() - t;
    if (d < best) best = d;
  }
  const double rate = bytes / b->turns <= NEAR_BYTES ? b->near : b->far, compute = 1e-9 * flop / b->peak, memory = 1e-9 * bytes / rate;
  (void)printf("%-32s %-30s %9.1f %8.1f %8.1f %5.0f%% %s\n", kernel + strlen("cn_"), what, best * 1e6, 1e-9 * flop / best, 1e-9 * bytes / best,
               100 * (compute > memory ? compute : memory) / best, compute > memory ? "FMA" : "read");
  note(kernel);
  b->turns = 1;
  for (; b->n_buffers; b->n_buffers--) free(b->buffers[b->n_buffers - 1]);
}

/* ---- matrices and rows ---- */
static void run_gemm(const KernelSet *s, const void *job) { s->gemm_f32(job, 0, s->gemm_f32_tasks(job)); }

static void bench_gemm(Bench *b, size_t m, size_t k, size_t n) {
  char what[64];
  const cn_gemm_f32_args g = {.m = m, .n = n, .k = k, .a = bench_room(b, m * k), .a_rs = k, .a_ks = 1, .b = bench_room(b, k * cn_round_up(n, b->s->nr)), .c = bench_room(b, m * n), .ldc = n};
  (void)snprintf(what, sizeof what, "m %zu k %zu n %zu", m, k, n);
  bench_row(b, "cn_gemm_f32", what, 2.0 * (double)(m * n * k), 4.0 * (double)(m * k + k * n + m * n), run_gemm, &g);
}

static void run_row_f16(const KernelSet *s, const void *job) { s->row_f16_f32(job, 0, s->gemm_f32_tasks(job)); }
static void run_row_bf16(const KernelSet *s, const void *job) { s->row_bf16_f32(job, 0, s->gemm_f32_tasks(job)); }

/* One row by weights of 16 bits. */
static void bench_row_16(Bench *b, size_t k, size_t n) {
  for (int bf16 = 0; bf16 < 2; bf16++) {
    char what[64];
    const float *half = bench_room(b, k * cn_round_up(n, b->s->nr) / 2);
    const cn_gemm_f32_args g = {.m = 1, .n = n, .k = k, .a = bench_room(b, k), .a_rs = k, .a_ks = 1, .b16 = (const uint16_t *)(const void *)half, .c = bench_room(b, n), .ldc = n};
    (void)snprintf(what, sizeof what, "k %zu n %zu", k, n);
    bench_row(b, bf16 ? "cn_row_bf16_f32" : "cn_row_f16_f32", what, 2.0 * (double)(n * k), (double)(4 * k + 2 * k * n + 4 * n), bf16 ? run_row_bf16 : run_row_f16, &g);
  }
}

static void run_row_codes4(const KernelSet *s, const void *job) { s->row_codes4_f32(job, 0, s->row_codes_f32_tasks(job)); }
static void run_row_codes8(const KernelSet *s, const void *job) { s->row_codes8_f32(job, 0, s->row_codes_f32_tasks(job)); }

/* One row by codes in blocks of 32. */
static void bench_row_codes(Bench *b, size_t k, size_t n) {
  for (size_t bits = 4; bits <= 8; bits += 4) {
    char what[64];
    const size_t columns = cn_round_up(n, b->s->nr);
    const float *codes = bench_room(b, k * columns * bits / 32);
    const cn_codes_f32_args g = {.n = n, .k = k, .block = 32, .a = bench_room(b, k), .codes = (const uint32_t *)(const void *)codes, .scales = bench_room(b, k / 32 * columns), .zero = 8,
                                 .sums = bench_room(b, k / 32), .c = bench_room(b, n)};
    (void)snprintf(what, sizeof what, "k %zu n %zu", k, n);
    bench_row(b, bits == 4 ? "cn_row_codes4_f32" : "cn_row_codes8_f32", what, 2.0 * (double)(n * k), (double)(4 * k + k * n * bits / 8 + k / 8 * n + 4 * n), bits == 4 ? run_row_codes4 : run_row_codes8, &g);
  }
}

static void run_thin_dots(const KernelSet *s, const void *job) { s->thin_dots_f32(job, 0, s->thin_f32_tasks(job)); }
static void run_thin_rows(const KernelSet *s, const void *job) { s->thin_rows_f32(job, 0, s->thin_f32_tasks(job)); }

static void run_few(const KernelSet *s, const void *job) { s->few_columns_f32(job, ((const cn_gemm_f32_args *)job)->n); }

/* The end of a classifier. */
static void bench_few(Bench *b, size_t n, size_t k) {
  char what[64];
  const cn_gemm_f32_args g = {.m = 1, .n = n, .k = k, .a = bench_room(b, k), .a_rs = k, .a_ks = 1, .b = bench_room(b, k * n), .ldb = k, .c = bench_room(b, n), .ldc = n};
  (void)snprintf(what, sizeof what, "m 1 k %zu n %zu", k, n);
  bench_row(b, "cn_few_columns_f32", what, 2.0 * (double)(n * k), 4.0 * (double)(k + k * n + n), run_few, &g);
}

/* Queries by keys, and weights by values. */
static void bench_thin(Bench *b, size_t m, size_t keys, size_t depth) {
  for (int dots = 1; dots >= 0; dots--) {
    const size_t n = dots ? keys : depth, k = dots ? depth : keys;
    char what[64];
    const cn_gemm_f32_args g = {.m = m, .n = n, .k = k, .a = bench_room(b, m * k), .a_rs = k, .a_ks = 1, .b = bench_room(b, k * n), .ldb = depth, .c = bench_room(b, m * n), .ldc = n};
    (void)snprintf(what, sizeof what, "m %zu k %zu n %zu", m, k, n);
    bench_row(b, dots ? "cn_thin_dots_f32" : "cn_thin_rows_f32", what, 2.0 * (double)(m * n * k), 4.0 * (double)(m * k + k * n + m * n), dots ? run_thin_dots : run_thin_rows, &g);
  }
}

typedef struct AttentionJob { cn_attention_f32_args a; float *scratch; AttentionRun *run; } AttentionJob;

static void run_attention(const KernelSet *s, const void *job) {
  const AttentionJob *j = job;
  j->run(&j->a, j->scratch, 0, s->attention_f32_tasks(&j->a));
}

static void causal(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  (void)ctx, (void)index;
  for (size_t i = 0; i < m; i++)
    for (size_t j = m0 + i < n0 ? 0 : m0 + i + 1 - n0; j < n; j++) tile[i * ld + j] = -INFINITY;
}

/* One of the four that the set has: masked, any. */
static void bench_attention(Bench *b, size_t queries, size_t n, size_t depth, int masked, int any) {
  AttentionRun *const runs[2][2] = {{b->s->attention_f32, b->s->attention_f32_any}, {b->s->attention_masked_f32, b->s->attention_masked_f32_any}};
  static const char *const names[2][2] = {{"cn_attention_f32", "cn_attention_f32_any"}, {"cn_attention_masked_f32", "cn_attention_masked_f32_any"}};
  char what[64];
  AttentionJob j = {{.queries = queries, .keys = n, .depth = depth, .width = depth, .q = bench_room(b, queries * depth), .k = bench_room(b, n * depth), .v = bench_room(b, n * depth), .q_rs = depth, .q_ks = 1,
                     .k_ds = 1, .k_ts = depth, .v_ts = depth, .v_es = 1, .out = bench_room(b, queries * depth), .ldo = depth}, NULL, runs[masked][any]};
  if (masked) j.a.tile = causal;
  j.scratch = bench_room(b, cn_attention_f32_scratch(n, depth, depth, b->s->nr));
  (void)snprintf(what, sizeof what, "%zu queries, %zu keys of %zu", queries, n, depth);
  bench_row(b, names[masked][any], what, 4.0 * (double)(queries * n * depth), 8.0 * (double)((queries + n) * depth), run_attention, &j);
}

enum { ROWS = 197, ROW = 768 };

typedef struct RowsJob { cn_softmax_f32_args softmax; cn_norm_f32_args norm; const float *x; } RowsJob;

static void run_softmax(const KernelSet *s, const void *job) {
  const RowsJob *j = job;
  s->softmax_f32(&j->softmax, 0, s->softmax_f32_tasks(&j->softmax));
}

static void run_softmax_short(const KernelSet *s, const void *job) { s->softmax_short_f32(job, 0, s->softmax_f32_tasks(job)); }

static void run_norm(const KernelSet *s, const void *job) {
  const RowsJob *j = job;
  s->norm_f32(&j->norm, 0, s->norm_f32_tasks(&j->norm));
}

static void run_row_sums(const KernelSet *s, const void *job) {
  for (size_t i = 0; i < ROWS; i++) sink = s->row_sum_f32(((const RowsJob *)job)->x + i * ROW, ROW);
}

static void run_row_maxima(const KernelSet *s, const void *job) {
  for (size_t i = 0; i < ROWS; i++) sink = s->row_max_f32(((const RowsJob *)job)->x + i * ROW, ROW);
}

static RowsJob rows_job(Bench *b) {
  const float *in = bench_room(b, ROWS * ROW);
  float *out = bench_room(b, ROWS * ROW);
  return (RowsJob){{.outer = ROWS, .n = ROW, .inner = 1, .in = in, .out = out},
                   {.rows = ROWS, .n = ROW, .in = in, .scale = bench_room(b, ROW), .bias = bench_room(b, ROW), .period = 1, .out = out, .epsilon = 1e-5f}, in};
}

typedef struct TransposeJob { const float *x; float *y; size_t rows, columns; } TransposeJob;

static void run_transpose(const KernelSet *s, const void *job) {
  const TransposeJob *t = job;
  s->transpose_f32(t->y, t->rows, t->x, t->columns, t->rows, t->columns);
}

static void run_transpose_u8(const KernelSet *s, const void *job) {
  const TransposeJob *t = job;
  s->transpose_u8(t->y, t->rows, t->x, t->columns, t->rows, t->columns);
}

static void run_transpose_u16(const KernelSet *s, const void *job) {
  const TransposeJob *t = job;
  s->transpose_u16(t->y, t->rows, t->x, t->columns, t->rows, t->columns);
}

static void bench_rows(Bench *b) {
  static const struct { const char *kernel; void (*run)(const KernelSet *s, const void *job); double bytes; } passes[] = {
      {"cn_softmax_f32", run_softmax, 8}, {"cn_norm_f32", run_norm, 8}, {"cn_row_sum_f32", run_row_sums, 4}, {"cn_row_max_f32", run_row_maxima, 4}};
  for (size_t i = 0; i < LENGTH(passes); i++) {
    const RowsJob j = rows_job(b);
    bench_row(b, passes[i].kernel, "197 rows of 768", 0, passes[i].bytes * ROWS * ROW, passes[i].run, &j);
  }
  static const size_t lengths[] = {2, 10, 31};
  for (size_t i = 0; i < LENGTH(lengths); i++) {
    cn_softmax_f32_args a = rows_job(b).softmax;
    char what[64];
    a.n = lengths[i];
    if (a.n > b->s->softmax_short) continue;
    (void)snprintf(what, sizeof what, "197 rows of %zu", a.n);
    bench_row(b, "cn_softmax_short_f32", what, 0, 8.0 * ROWS * (double)a.n, run_softmax_short, &a);
  }
  static const size_t shapes[][2] = {{16, 784}, {784, 16}, {ROWS, ROW}};
  for (size_t i = 0; i < LENGTH(shapes); i++) {
    const size_t rows = shapes[i][0], columns = shapes[i][1];
    const TransposeJob j = {bench_room(b, rows * columns), bench_room(b, rows * columns), rows, columns};
    char what[32];
    (void)snprintf(what, sizeof what, "%zu x %zu", rows, columns);
    bench_row(b, "cn_transpose_f32", what, 0, 8.0 * (double)(rows * columns), run_transpose, &j);
    if (rows < ROWS) continue;
    bench_row(b, "cn_transpose_u8", what, 0, 2.0 * (double)(rows * columns), run_transpose_u8, &j);
    bench_row(b, "cn_transpose_u16", what, 0, 4.0 * (double)(rows * columns), run_transpose_u16, &j);
  }
}

typedef struct RecurrentJob { cn_recurrent_f32_args a; float *scratch; } RecurrentJob;

static void run_recurrent(const KernelSet *s, const void *job) {
  const RecurrentJob *j = job;
  (void)s->recurrent_f32(&j->a, j->scratch);
}

static void leave(const void *arg, float *v, size_t n) { (void)arg, (void)v, (void)n; }

/* The products of an LSTM's steps, without its activations: the bytes are the weights', once a step. */
static void bench_recurrent(Bench *b, size_t hidden) {
  enum { STEPS = 10, GATES = 4 };
  char what[64];
  const size_t n = GATES * hidden;
  RecurrentJob j = {{.steps = STEPS, .batch = 1, .hidden = hidden, .gates = GATES, .x = bench_room(b, STEPS * n), .x_step = n, .x_batch = n, .r = bench_room(b, hidden * cn_round_up(n, b->s->nr)),
                     .h = bench_room(b, hidden), .c = bench_room(b, hidden), .f = leave, .g = leave, .act = leave}, NULL};
  j.scratch = bench_room(b, cn_recurrent_f32_scratch(&j.a));
  memset(j.a.c, 0, hidden * sizeof(float));
  (void)snprintf(what, sizeof what, "LSTM of %zu, %d steps", hidden, STEPS);
  b->turns = STEPS;
  bench_row(b, "cn_recurrent_f32", what, 2.0 * STEPS * (double)(n * hidden), 4.0 * STEPS * (double)(n * hidden), run_recurrent, &j);
}

static void bench_products(Bench *b) {
  bench_gemm(b, 128, 768, 768);
  bench_gemm(b, 1, 2048, 1000);
  bench_gemm(b, 1, 256, 1024);
}

static void bench_others(Bench *b) {
  bench_row_16(b, 768, 3072);
  bench_row_16(b, 768, 50257);
  bench_row_codes(b, 2048, 2048);
  bench_few(b, cn_min(2, b->s->lanes), 30);
  bench_few(b, b->s->lanes, 256);
  bench_thin(b, 1, 256, 64);
  bench_thin(b, 4, 1024, 64);
  bench_attention(b, 197, 197, 64, 0, 0);
  bench_attention(b, 1024, 1024, 64, 0, 0);
  bench_attention(b, 1, 256, 64, 0, 1);
  bench_attention(b, 197, 197, 64, 1, 1);
  bench_attention(b, 1024, 1024, 64, 1, 0);
  bench_recurrent(b, 128);
  bench_recurrent(b, 256);
  bench_rows(b);
}

size_t kernel_rows(const KernelSet *s, int repeats, double peak) {
  Bench b = {.s = s, .repeats = repeats, .peak = peak, .turns = 1, .near = read_rate(s, NEAR_BYTES), .far = read_rate(s, FAR_BYTES)};
  (void)printf("%-63s %9s %8s %8s %6s of\n", "kernel", "us", "GFLOP/s", "GB/s", "share");
  if (s->own) { /* the others are another set's */
    if (s->gemm_f32) bench_products(&b);
    if (s->gemm_s16) bench_integers(&b);
    return 0;
  }
  bench_windows(&b);
  bench_integers(&b);
  bench_products(&b);
  bench_others(&b);
  (void)printf("read %.0f GB/s from %d KiB, %.0f GB/s from %d KiB\n", b.near, NEAR_BYTES >> 10, b.far, FAR_BYTES >> 10);
  return count_missing();
}
