/* The kernel tests: one program, one translation unit of kernels a target, each against a plain reference in double.
 * Include a SIMD layer first: the argument types are the same for all. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <stdint.h>

#define CN_BLOCKED_KEPT ((size_t)512) /* so that small layers go each way */

#include "kernels/attention_f32.h"
#include "kernels/blocked_driver.h"
#include "kernels/blocked_f32.h"
#include "kernels/blocked_lrn_f32.h"
#include "kernels/blocked_window_f32.h"
#include "kernels/conv_f32.h"
#include "kernels/conv_s16.h"
#include "kernels/depthwise_f32.h"
#include "kernels/direct_f32.h"
#include "kernels/gemm_f32.h"
#include "kernels/gemm_s16.h"
#include "kernels/lanes_f32.h"
#include "kernels/pool_f32.h"
#include "kernels/recurrent_f32.h"
#include "kernels/rows_f32.h"
#include "kernels/row_16_f32.h"
#include "kernels/row_codes_f32.h"
#include "kernels/thin_f32.h"
#include "kernels/tokens_f32.h"
#include "kernels/transpose_f32.h"
#include "kernels/transpose_narrow.h"
#include "kernels/winograd_f32.h"
#include "peak_f32.h"

typedef void DepthwiseRun(const cn_depthwise_f32_args *a, float *scratch, size_t t0, size_t t1);
typedef void PoolRun(const cn_pool_f32_args *a, float *scratch, size_t t0, size_t t1);

typedef void TransposeRun(void *y, size_t y_row, const void *x, size_t x_row, size_t rows, size_t columns);
typedef void AttentionRun(const cn_attention_f32_args *a, float *scratch, size_t t0, size_t t1);

typedef void BlockedRun(const cn_blocked_conv_f32_args *a, float *scratch, size_t t0, size_t t1);
typedef int WinogradRun(const cn_winograd_f32_args *a, float *scratch, const cn_spread *spread, size_t t0, size_t t1);
typedef void BlockedDepthwiseRun(const cn_blocked_depthwise_f32_args *a, size_t t0, size_t t1);
typedef void TokensDepthwiseRun(const cn_tokens_depthwise_f32_args *a, size_t t0, size_t t1);
typedef void BlockedPoolRun(const cn_blocked_pool_f32_args *a, size_t t0, size_t t1);

/* A target's kernels, as tests/kernels/set.c exports them. */
typedef struct KernelSet {
  const char *name, *cpu;
  const char *own; /* what the names of the rows have that are not those of another set, of which it has no function; NULL: all are its own */
  size_t lanes, sums, mr, nr, kc, mc, nc; /* sums: vectors of a tile over blocked channels */
  size_t (*gemm_f32_tasks)(const cn_gemm_f32_args *g);
  size_t (*gemm_f32_lines)(size_t m); /* floats of its scratch */
  void (*gemm_f32)(const cn_gemm_f32_args *g, size_t t0, size_t t1);
  size_t (*thin_f32_tasks)(const cn_gemm_f32_args *g);
  void (*row_f16_f32)(const cn_gemm_f32_args *g, size_t t0, size_t t1);
  void (*row_bf16_f32)(const cn_gemm_f32_args *g, size_t t0, size_t t1);
  size_t (*row_codes_f32_tasks)(const cn_codes_f32_args *g);
  void (*row_codes4_f32)(const cn_codes_f32_args *g, size_t t0, size_t t1);
  void (*row_codes8_f32)(const cn_codes_f32_args *g, size_t t0, size_t t1);
  void (*few_columns_f32)(const cn_gemm_f32_args *g, size_t n);
  void (*thin_dots_f32)(const cn_gemm_f32_args *g, size_t t0, size_t t1);
  void (*thin_rows_f32)(const cn_gemm_f32_args *g, size_t t0, size_t t1);
  size_t (*conv_f32_tasks)(const cn_conv_f32_args *a);
  size_t (*conv_f32_scratch)(const cn_window *w);
  void (*conv_f32)(const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1);
  size_t (*conv_f32_direct_tasks)(const cn_conv_f32_args *a);
  size_t (*conv_f32_direct_scratch)(const cn_window *w);
  void (*conv_f32_direct)(const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1);
  size_t (*depthwise_f32_tasks)(const cn_depthwise_f32_args *a);
  size_t (*depthwise_f32_scratch)(const cn_window *w);
  DepthwiseRun *depthwise_f32, *depthwise_f32_3x3s1, *depthwise_f32_3x3s2, *depthwise_f32_5x5s1, *depthwise_f32_5x5s2;
  size_t (*pool_f32_tasks)(const cn_pool_f32_args *a);
  size_t (*pool_f32_scratch)(const cn_window *w);
  PoolRun *pool_f32, *pool_f32_2x2s2, *pool_f32_3x3s2;
  size_t (*blocked_tasks)(const cn_blocked_conv_f32_args *a, cn_blocked_way way);
  BlockedRun *(*blocked_driver)(const char *name);
  WinogradRun *winograd_f32_2x2, *winograd_f32_4x4;
  size_t winograd_blocks;
  BlockedDepthwiseRun *blocked_depthwise_f32, *blocked_depthwise_f32_3x3s1, *blocked_depthwise_f32_3x3s2, *blocked_depthwise_f32_5x5s1,
      *blocked_depthwise_f32_5x5s2, *blocked_depthwise_f32_7x7s1;
  TokensDepthwiseRun *tokens_depthwise_f32_3x3s1, *tokens_depthwise_f32_3x3s2, *tokens_depthwise_f32_5x5s1, *tokens_depthwise_f32_5x5s2,
      *tokens_depthwise_f32_7x7s1;
  cn_blocked_pixels_f32 *blocked_depthwise_pixels_f32, *blocked_depthwise_pixels_f32_3x3s1, *blocked_depthwise_pixels_f32_3x3s2,
      *blocked_depthwise_pixels_f32_5x5s1, *blocked_depthwise_pixels_f32_5x5s2, *blocked_depthwise_pixels_f32_7x7s1;
  BlockedPoolRun *blocked_pool_f32, *blocked_pool_f32_2x2s2, *blocked_pool_f32_3x3s1, *blocked_pool_f32_3x3s2;
  size_t (*blocked_lrn_tasks)(const cn_blocked_lrn_f32_args *a);
  void (*blocked_lrn_f32)(const cn_blocked_lrn_f32_args *a, float *scratch, size_t t0, size_t t1);
  size_t s16_mr, s16_nr;
  size_t (*gemm_s16_tasks)(const cn_gemm_s16_args *g);
  size_t (*gemm_s16_scratch)(size_t m, size_t k);
  void (*gemm_s16)(const cn_gemm_s16_args *g, int32_t *scratch, size_t t0, size_t t1);
  size_t (*conv_s16_tasks)(const cn_conv_s16_args *a);
  size_t (*conv_s16_scratch)(const cn_window *w);
  void (*conv_s16)(const cn_conv_s16_args *a, int32_t *scratch, size_t t0, size_t t1);
  void (*pack_operand_f32)(const float *src, size_t k_stride, size_t n_stride, size_t k, size_t n, float *dst);
  void (*transpose_f32)(float *y, size_t y_row, const float *x, size_t x_row, size_t rows, size_t columns);
  TransposeRun *transpose_u8, *transpose_u16;
  float (*row_sum_f32)(const float *x, size_t n);
  float (*row_max_f32)(const float *x, size_t n);
  size_t (*softmax_f32_tasks)(const cn_softmax_f32_args *s);
  void (*softmax_f32)(const cn_softmax_f32_args *s, size_t t0, size_t t1);
  void (*softmax_short_f32)(const cn_softmax_f32_args *s, size_t t0, size_t t1); /* n one of those that the test takes */
  size_t softmax_short;                                                                  /* the most of them */
  size_t (*norm_f32_tasks)(const cn_norm_f32_args *a);
  void (*norm_f32)(const cn_norm_f32_args *a, size_t t0, size_t t1);
  int (*attention_spread)(const cn_attention_f32_args *a, float *scratch, size_t room, const cn_spread *spread);
  int (*attention_masked_spread)(const cn_attention_f32_args *a, float *scratch, size_t room, const cn_spread *spread);
  AttentionRun *attention_f32, *attention_f32_any, *attention_masked_f32, *attention_masked_f32_any;
  size_t (*attention_f32_tasks)(const cn_attention_f32_args *a);
  int (*recurrent_f32)(const cn_recurrent_f32_args *a, float *scratch);
  size_t (*layer_selftest)(void);     /* number of wrong lanes */
  float (*peak_f32)(size_t rounds);   /* runtime-lite/peak_f32.h */
  float (*peak_read_f32)(const float *p, size_t n);
} KernelSet;

/* The case being run: which set, which numbered case, and the buffers it took. */
typedef struct Case {
  const KernelSet *set;
  const char *kernel;
  unsigned index;
  uint64_t seed;
  int failed;
} Case;

uint32_t pick(Case *c, uint32_t n); /* 0 .. n-1 */
float pick_value(Case *c);          /* -1 .. 1, sometimes a denormal or a zero */
void fail(Case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Bytes between guard pages: flush with the page behind (even index) or before (odd index) so that any access outside
 * traps; the rest of the pages is a canary that checks_end looks at. guarded: n floats. */
void *guarded_bytes(Case *c, size_t size);
float *guarded(Case *c, size_t n);
float *guarded_values(Case *c, size_t n);
void checks_end(Case *c);

/* |got - want| <= bound, NaN and infinities alike. */
int close_enough(float got, double want, double bound);
int run_backwards(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg); /* what cn_spread.run may be: the last first */

/* A random window of one to three dimensions; channels and groups are left to the caller. flat: nothing slides. */
cn_window pick_geometry(Case *c, int flat, int dilated_input);

/* Two dimensions, a square kernel, one stride, no dilation. */
cn_window pick_square(Case *c, size_t kernel, size_t stride);

/* tests/kernels/conv.c: input, weights, output and epilogue of a convolution, its weights in ONNX's order being the result; a run of it,
 * in one piece against the reference, in two pieces bit for bit. */
float *conv_operands(Case *c, cn_conv_f32_args *a);
typedef void ConvRunner(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1);
void conv_both_ways(Case *c, ConvRunner *run, const cn_conv_f32_args *a, const float *weights, float *scratch, size_t tasks);
/* The same, judged by what the caller says of a result; `before`: out as it was. */
typedef void ConvCompare(Case *c, const cn_conv_f32_args *a, const float *weights, const float *before);
void conv_ways(Case *c, ConvRunner *run, ConvCompare *judge, const cn_conv_f32_args *a, const float *weights, float *scratch, size_t tasks);
/* The value at pixel p of row (image, channel), and the sum of the sizes of its terms. */
double conv_expected(const cn_conv_f32_args *a, const float *weights, const float *before, size_t row, size_t p, double *ret_size);

/* tests/kernels/blocked.c: a convolution's operands as kernels over blocked channels take them, out too, in `channels` rounded up by the caller; and
 * its result back in its place. */
typedef struct BlockedOperands {
  const float *in;
  float *out;
  cn_epilogue_f32 ep;
} BlockedOperands;
typedef struct TileContext { size_t lanes, groups, each, slices, area; } TileContext; /* each: channels of a group; slices of a volume, 1 of an image */
BlockedOperands blocked_operands(Case *c, const cn_conv_f32_args *a, size_t room, int plain, TileContext *t);
void blocked_result(Case *c, const cn_conv_f32_args *a, size_t room, float *out);
/* Of windows with depth: what makes one, and what kernels over slices are given for it. */
void pick_slices(Case *c, cn_window *w);
cn_blocked_slices slices_of(const cn_window *w);
cn_window slices_window(const cn_window *w);
const float *slices_weights(Case *c, const cn_window *w, const float *weights);

/* tests/kernels/pool.c: the value of one place of a channel. */
double pool_reference(const cn_pool_f32_args *a, size_t channel, const size_t o[3]);

#define WINDOW(...)
#define KERNEL(function, family, dtype, tile, file) void test_##function(Case *c);
#include "kernels.def"
#undef KERNEL
#undef WINDOW

#endif
