#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <string.h>

#include "kernels/pack.h"

static size_t at3(const size_t dims[3], const size_t i[3]) { return (i[0] * dims[1] + i[1]) * dims[2] + i[2]; }

/* The sum at one output place, and of the sizes of its terms: the definition, tap by tap. */
static double reference(const cn_conv_f32_args *a, const float *w, size_t image, size_t oc, const size_t o[3], double *ret_size) {
  const cn_window *s = &a->window;
  const size_t group = oc / s->m, area = cn_volume(s->in), taps = cn_volume(s->kernel);
  double sum = 0, size = 0;
  for (size_t t = 0; t < taps; t++) {
    const size_t tap[3] = {t / s->kernel[2] / s->kernel[1], t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
    size_t from[3];
    int inside = 1;
    for (int i = 0; i < 3; i++) {
      ptrdiff_t x = (ptrdiff_t)(o[i] * s->stride[i] + tap[i] * s->dilation[i]) - s->pad[i];
      inside &= x >= 0 && x % (ptrdiff_t)s->up[i] == 0 && x / (ptrdiff_t)s->up[i] < (ptrdiff_t)s->in[i];
      from[i] = inside ? (size_t)x / s->up[i] : 0;
    }
    if (!inside) continue;
    const float *in = a->in + (image * s->groups + group) * s->c * area + at3(s->in, from);
    for (size_t c = 0; c < s->c; c++) {
      const double x = (double)in[c * area] * (double)w[(oc * s->c + c) * taps + t];
      sum += x;
      size += fabs(x);
    }
  }
  *ret_size = size;
  return sum;
}

/* The plane of `out` that holds an image's channel. */
static size_t plane_of(const cn_conv_f32_args *a, size_t row) {
  const cn_window *s = &a->window;
  const size_t oc = row % (s->groups * s->m);
  return a->interleaved ? row - oc + oc % s->m * s->groups + oc / s->m : row;
}

double conv_expected(const cn_conv_f32_args *a, const float *w, const float *before, size_t row, size_t p, double *ret_size) {
  const cn_window *s = &a->window;
  const size_t o[3] = {p / s->out[2] / s->out[1], p / s->out[2] % s->out[1], p % s->out[2]};
  const size_t oc = row % (s->groups * s->m), at = plane_of(a, row) * cn_volume(s->out) + p;
  double want = reference(a, w, row / (s->groups * s->m), oc, o, ret_size);
  if (a->ep.flags & CN_EP_ROW_BIAS) want += (double)a->ep.bias[oc];
  if (a->ep.flags & CN_EP_RESIDUAL) want += (double)(a->ep.residual == a->out ? before : a->ep.residual)[at];
  if (a->ep.flags & CN_EP_CLAMP) want = want < 0 ? 0 : want > 2 ? 2 : want;
  if (a->ep.tile) want = want * 2 + (double)(row / s->m) + (double)p;
  return want;
}

static void compare(Case *c, const cn_conv_f32_args *a, const float *w, const float *before) {
  const cn_window *s = &a->window;
  const size_t pixels = cn_volume(s->out);
  for (size_t row = 0; row < s->images * s->groups * s->m; row++) {
    for (size_t p = 0; p < pixels; p++) {
      const size_t at = plane_of(a, row) * pixels + p;
      double size;
      const double want = conv_expected(a, w, before, row, p, &size);
      const double bound = (double)(s->c * cn_volume(s->kernel) + 4) * 0x1p-22 * (size + 4.0 + want * 0.5);
      if (!close_enough(a->out[at], want, fabs(bound)))
        fail(c, "%s row %zu pixel %zu is %g, not %g", c->kernel, row, p, (double)a->out[at], want);
    }
  }
}

/* x -> 2 x + index + pixel: each place once. */
static void tile_epilogue(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  (void)ctx;
  (void)m0;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) tile[i * ld + j] = tile[i * ld + j] * 2.0f + (float)index + (float)(n0 + j);
}

/* Output places along an axis, as ONNX counts them (up or down); makes the input larger until there is one. */
static void pick_axis(Case *c, cn_window *w, int axis, int flat, int dilated_input) {
  w->kernel[axis] = flat ? 1 : 1 + pick(c, 4);
  w->stride[axis] = flat ? 1 : 1 + pick(c, 3);
  w->dilation[axis] = 1 + (pick(c, 4) == 0);
  w->up[axis] = dilated_input && pick(c, 6) == 0 ? 2 + pick(c, 2) : 1;
  w->pad[axis] = flat ? 0 : (ptrdiff_t)pick(c, 4) - (pick(c, 8) == 0);
  w->pad_end[axis] = flat ? 0 : pick(c, 3);
  w->in[axis] = 1 + pick(c, axis == 2 ? 40 : axis == 1 ? 9 : 4);
  for (;; w->in[axis]++) {
    const ptrdiff_t wide = (ptrdiff_t)((w->in[axis] - 1) * w->up[axis] + 1 + w->pad_end[axis]) + w->pad[axis];
    const ptrdiff_t room = wide - (ptrdiff_t)((w->kernel[axis] - 1) * w->dilation[axis]) - 1;
    if (room < 0) continue;
    w->out[axis] = ((size_t)room + (pick(c, 4) == 0 ? w->stride[axis] - 1 : 0)) / w->stride[axis] + 1;
    return;
  }
}

cn_window pick_geometry(Case *c, int flat, int dilated_input) {
  cn_window w = {.images = 1 + pick(c, 2), .groups = 1, .c = 1, .m = 1};
  const uint32_t rank = 1 + pick(c, 3);
  for (uint32_t i = 0; i < 3; i++) {
    if (i + rank >= 3) {
      pick_axis(c, &w, (int)i, flat, dilated_input);
    } else {
      w.in[i] = w.out[i] = w.kernel[i] = w.stride[i] = w.dilation[i] = w.up[i] = 1;
    }
  }
  return w;
}

cn_window pick_square(Case *c, size_t kernel, size_t stride) {
  cn_window w = {.images = 1 + pick(c, 2), .groups = 1, .c = 1, .m = 1, .in = {1, 1, 1}, .out = {1, 1, 1}, .up = {1, 1, 1},
                 .kernel = {1, kernel, kernel}, .stride = {1, stride, stride}, .dilation = {1, 1, 1}};
  for (int i = 1; i < 3; i++) {
    w.pad[i] = (ptrdiff_t)pick(c, 3) - (pick(c, 8) == 0);
    w.pad_end[i] = pick(c, 3);
    w.in[i] = kernel + (w.pad[i] < 0) + pick(c, i == 2 && pick(c, 4) ? 40 : 12);
    w.out[i] = (w.in[i] + (size_t)w.pad[i] + w.pad_end[i] - kernel) / stride + 1;
  }
  return w;
}

/* Input, weights, output and epilogue; returns the weights in ONNX's order. */
float *conv_operands(Case *c, cn_conv_f32_args *a) {
  const cn_window *w = &a->window;
  const size_t n_weights = w->groups * w->m * w->c * cn_volume(w->kernel), n_bias = w->groups * w->m;
  const size_t ins = w->images * w->groups * w->c * cn_volume(w->in), outs = w->images * n_bias * cn_volume(w->out);
  float *in = guarded_values(c, ins), *weights = guarded_values(c, n_weights);
  if (!strstr(c->kernel, "_straddle_") && pick(c, 8) == 0) in[pick(c, (uint32_t)ins)] = pick(c, 2) ? NAN : -INFINITY; /* those multiply by zeros, too */
  for (size_t i = 0; i < n_weights; i++)
    if (weights[i] == 0.0f) weights[i] = 1.0f; /* an infinite input times an exact zero is not what is tested */
  a->in = in;
  a->out = guarded_values(c, outs);
  if (pick(c, 2)) a->ep.flags |= CN_EP_ROW_BIAS, a->ep.bias = guarded_values(c, n_bias);
  if (pick(c, 3) == 0) a->ep.flags |= CN_EP_RESIDUAL, a->ep.residual = pick(c, 2) ? a->out : guarded_values(c, outs);
  if (pick(c, 3) == 0) a->ep.flags |= CN_EP_CLAMP, a->ep.lo = 0.0f, a->ep.hi = 2.0f;
  if (pick(c, 4) == 0) a->ep.tile = tile_epilogue;
  return weights;
}

void conv_both_ways(Case *c, ConvRunner *run, const cn_conv_f32_args *a, const float *weights, float *scratch, size_t tasks) {
  conv_ways(c, run, compare, a, weights, scratch, tasks);
}

/* In one piece against the reference, then in two pieces against that, bit for bit. */
void conv_ways(Case *c, ConvRunner *run, ConvCompare *judge, const cn_conv_f32_args *a, const float *weights, float *scratch, size_t tasks) {
  const cn_window *w = &a->window;
  const size_t outs = w->images * w->groups * w->m * cn_volume(w->out), cut = pick(c, (uint32_t)tasks + 1);
  float *before = guarded(c, outs), *again = guarded(c, outs);
  memcpy(before, a->out, outs * sizeof(float));
  run(c, a, scratch, 0, tasks);
  judge(c, a, weights, before);
  memcpy(again, a->out, outs * sizeof(float));
  memcpy(a->out, before, outs * sizeof(float));
  run(c, a, scratch, cut, tasks);
  run(c, a, scratch, 0, cut);
  if (memcmp(again, a->out, outs * sizeof(float)) != 0) fail(c, "%s: the split of tasks changes the result", c->kernel);
}

static void run_conv(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  c->set->conv_f32(a, scratch, t0, t1);
}

static void run_direct(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  c->set->conv_f32_direct(a, scratch, t0, t1);
}

/* A single row that is computed in parts. */
static void lengthen_row(Case *c, cn_window *w) {
  w->images = w->groups = 1;
  w->c = 24 + pick(c, 9);
  w->m = 1 + pick(c, 4);
  w->in[1] = w->out[1] = w->kernel[1] = w->stride[1] = w->dilation[1] = 1;
  w->pad[1] = 0, w->pad_end[1] = 0;
  w->in[2] += CN_DIRECT_MOST(c->set->lanes) / w->c + w->stride[2] * pick(c, 600);
  w->out[2] = (size_t)((ptrdiff_t)w->in[2] + w->pad[2] + (ptrdiff_t)w->pad_end[2] - (ptrdiff_t)((w->kernel[2] - 1) * w->dilation[2]) - 1) / w->stride[2] + 1;
}

static void test_conv(Case *c, int direct) {
  const KernelSet *s = c->set;
  const int flat = pick(c, 4) == 0;
  cn_conv_f32_args a = {.window = pick_geometry(c, flat, !flat && !direct)};
  cn_window *w = &a.window;
  w->groups = pick(c, 3) ? 1 : 1 + pick(c, 3);
  w->c = pick(c, 5) ? 1 + pick(c, 9) : 1 + pick(c, (uint32_t)s->kc / 2);
  w->m = 1 + pick(c, (uint32_t)(2 * s->mr + 1));
  if (direct && pick(c, 16) == 0) lengthen_row(c, w);
  a.interleaved = !direct && pick(c, 2);
  const float *weights = conv_operands(c, &a);
  const size_t taps = cn_volume(w->kernel);
  float *packed = guarded(c, w->groups * cn_pack_size(w->c * taps, w->m, s->mr));
  cn_pack_conv_f32(weights, w->groups, w->m, w->c, taps, s->mr, packed);
  a.weights = packed;
  if (direct) conv_both_ways(c, run_direct, &a, weights, guarded(c, s->conv_f32_direct_scratch(w)), s->conv_f32_direct_tasks(&a));
  else conv_both_ways(c, run_conv, &a, weights, guarded(c, s->conv_f32_scratch(w)), s->conv_f32_tasks(&a));
}

void test_cn_conv_f32(Case *c) { test_conv(c, 0); }
void test_cn_conv_f32_direct(Case *c) { test_conv(c, 1); }

static cn_depthwise_f32_args as_depthwise(const cn_conv_f32_args *a) {
  return (cn_depthwise_f32_args){.window = a->window, .in = a->in, .weights = a->weights, .out = a->out, .ep = a->ep};
}

/* A depthwise kernel as a ConvRunner: which one is the case's. */
#define RUNNER(kernel)                                                                                                \
  static void run_##kernel(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {     \
    const cn_depthwise_f32_args d = as_depthwise(a);                                                                  \
    c->set->kernel(&d, scratch, t0, t1);                                                                                  \
  }

RUNNER(depthwise_f32)
RUNNER(depthwise_f32_3x3s1)
RUNNER(depthwise_f32_3x3s2)
RUNNER(depthwise_f32_5x5s1)
RUNNER(depthwise_f32_5x5s2)

static void test_depthwise(Case *c, ConvRunner *run, cn_window window) {
  const KernelSet *s = c->set;
  cn_conv_f32_args a = {.window = window};
  a.window.groups = 1 + pick(c, 5);
  a.window.m = pick(c, 3) ? 1 : 1 + pick(c, 3);
  a.weights = conv_operands(c, &a);
  const cn_depthwise_f32_args d = as_depthwise(&a);
  conv_both_ways(c, run, &a, a.weights, guarded(c, s->depthwise_f32_scratch(&a.window)), s->depthwise_f32_tasks(&d));
}

void test_cn_depthwise_f32(Case *c) {
  test_depthwise(c, run_depthwise_f32, pick_geometry(c, 0, 0));
}
void test_cn_depthwise_f32_3x3s1(Case *c) {
  test_depthwise(c, run_depthwise_f32_3x3s1, pick_square(c, 3, 1));
}
void test_cn_depthwise_f32_3x3s2(Case *c) {
  test_depthwise(c, run_depthwise_f32_3x3s2, pick_square(c, 3, 2));
}
void test_cn_depthwise_f32_5x5s1(Case *c) {
  test_depthwise(c, run_depthwise_f32_5x5s1, pick_square(c, 5, 1));
}
void test_cn_depthwise_f32_5x5s2(Case *c) {
  test_depthwise(c, run_depthwise_f32_5x5s2, pick_square(c, 5, 2));
}
