#include "simd/scalar.h"

#include "check.h"

#include <string.h>

#include "kernels/pack_s16.h"

/* n bytes, often at the ends of their range, where sums are largest. */
static uint8_t *bytes(Case *c, size_t n) {
  uint8_t *p = guarded_bytes(c, n);
  for (size_t i = 0; i < n; i++) p[i] = pick(c, 4) ? (uint8_t)pick(c, 256) : pick(c, 2) ? 0x80 : 0x7f + 0x80 * (pick(c, 2) == 0);
  return p;
}

static int64_t at(const void *p, size_t i, int is_signed) {
  return is_signed ? ((const int8_t *)p)[i] : ((const uint8_t *)p)[i];
}

static void *channel_values(Case *c, size_t n) {
  float *p = guarded_bytes(c, n * sizeof *p);
  for (size_t i = 0; i < n; i++) p[i] = pick_value(c) * (pick(c, 5) ? 0.01f : 1e30f);
  return p;
}

/* Any finish of n channels. */
static cn_finish_s32 pick_finish(Case *c, size_t n) {
  const float most = __builtin_inff();
  cn_finish_s32 f = {.out = (int)pick(c, 3), .scale_step = pick(c, 2), .lo = -most, .hi = most};
  int32_t *bias = pick(c, 2) ? guarded_bytes(c, n * sizeof *bias) : NULL;
  for (size_t i = 0; bias && i < n; i++) bias[i] = (int32_t)pick(c, 2000001) - 1000000;
  f.bias = bias;
  f.scale = channel_values(c, f.scale_step ? n : 1);
  f.shift = pick(c, 2) ? channel_values(c, n) : NULL;
  if (f.out == CN_OUT_8) f.zero = (int32_t)pick(c, 384) - 128;
  if (f.out == CN_OUT_8 || pick(c, 2)) {
    f.lo = (float)((f.zero >= 0 && pick(c, 2) ? 0 : -128) - f.zero);
    f.hi = f.lo + 255.0f;
  }
  return f;
}

static size_t out_size(const cn_finish_s32 *f) { return f->out == CN_OUT_8 ? 1 : 4; }

/* Element i of the result against the exact sum of its channel. */
static void check_finished(Case *c, const cn_finish_s32 *f, const void *got, size_t i, size_t channel, int64_t sum) {
  sum += f->bias ? f->bias[channel] : 0;
  float x = (float)sum * f->scale[f->scale_step ? channel : 0];
  if (f->out == CN_OUT_S32) {
    const int32_t y = ((const int32_t *)got)[i];
    if (y != sum) fail(c, "%s: [%zu] is %d, not %lld", c->kernel, i, y, (long long)sum);
    return;
  }
  if (f->shift) x += f->shift[channel];
  x = f->lo > x ? f->lo : x;
  x = f->hi < x ? f->hi : x;
  if (f->out == CN_OUT_F32) {
    const float y = ((const float *)got)[i];
    if (y != x && (x == x || y == y)) fail(c, "%s: [%zu] is %g, not %g", c->kernel, i, (double)y, (double)x);
    return;
  }
  const uint8_t want = (uint8_t)((int)__builtin_rintf(x) + f->zero), y = ((const uint8_t *)got)[i];
  if (y != want) fail(c, "%s: byte [%zu] is %d, not %d", c->kernel, i, y, want);
}

void test_cn_gemm_s16(Case *c) {
  const KernelSet *s = c->set;
  const int b_signed = pick(c, 2) != 0, ta = pick(c, 3) == 0, tb = pick(c, 3) == 0;
  cn_gemm_s16_args g = {.m = pick(c, (uint32_t)(pick(c, 4) ? 2 * s->s16_mr + 2 : 20 * s->s16_mr)), .n = pick(c, (uint32_t)(2 * s->s16_nr + 2)),
                        .k = pick(c, 6) ? pick(c, 70) : 1000, .a_signed = pick(c, 2) != 0};
  const size_t b_ks = tb ? 1 : g.n, b_ns = tb ? g.k : 1;
  uint8_t *a = bytes(c, g.m * g.k), *b = bytes(c, g.k * g.n), *b_zero = pick(c, 2) ? bytes(c, g.n) : NULL;
  const size_t b_zero_step = g.n > 1 && b_zero && pick(c, 2);
  int32_t *packed = guarded_bytes(c, cn_pack_s16_size(g.k, g.n, s->s16_nr) * sizeof *packed);
  cn_pack_b_s16(b, b_signed, b_ks, b_ns, g.k, g.n, s->s16_nr, g.n ? b_zero : NULL, b_zero_step, packed);
  g.a = a;
  g.a_rs = ta ? 1 : g.k;
  g.a_ks = ta ? g.m : 1;
  g.a_zero = pick(c, 2) && g.m ? bytes(c, g.m) : NULL;
  g.a_zero_step = g.a_zero && pick(c, 2);
  g.b = packed;
  g.ldc = g.n;
  g.finish = pick_finish(c, g.n);
  g.c = guarded_bytes(c, g.m * g.n * out_size(&g.finish));
  int32_t *scratch = guarded_bytes(c, s->gemm_s16_scratch(g.m, g.k) * sizeof *scratch);
  const size_t tasks = s->gemm_s16_tasks(&g), cut = pick(c, (uint32_t)tasks + 1);
  s->gemm_s16(&g, scratch, cut, tasks);
  s->gemm_s16(&g, scratch, 0, cut);
  for (size_t i = 0; i < g.m * g.n; i++) {
    const int64_t za = g.a_zero ? at(g.a_zero, i / g.n * g.a_zero_step, g.a_signed) : 0;
    const int64_t zb = b_zero ? at(b_zero, i % g.n * b_zero_step, b_signed) : 0;
    int64_t want = 0;
    for (size_t p = 0; p < g.k; p++)
      want += (at(a, i / g.n * g.a_rs + p * g.a_ks, g.a_signed) - za) * (at(b, p * b_ks + i % g.n * b_ns, b_signed) - zb);
    check_finished(c, &g.finish, g.c, i, i % g.n, want);
  }
}

/* The definition at one output place. */
static int64_t reference(const cn_conv_s16_args *a, const uint8_t *weights, int w_signed, int64_t w_zero, size_t image,
                         size_t oc, size_t p) {
  const cn_window *w = &a->window;
  const size_t taps = cn_volume(w->kernel), area = cn_volume(w->in);
  const size_t o[3] = {p / w->out[2] / w->out[1], p / w->out[2] % w->out[1], p % w->out[2]};
  int64_t sum = 0;
  for (size_t q = 0; q < w->c * taps; q++) {
    const size_t t = q % taps, channel = (image * w->groups + oc / w->m) * w->c + q / taps;
    const ptrdiff_t z = cn_window_place(w, 0, o[0], t / w->kernel[2] / w->kernel[1]);
    const ptrdiff_t y = cn_window_place(w, 1, o[1], t / w->kernel[2] % w->kernel[1]);
    const ptrdiff_t x = cn_window_place(w, 2, o[2], t % w->kernel[2]);
    if (z < 0 || y < 0 || x < 0) continue;
    const size_t place = channel * area + ((size_t)z * w->in[1] + (size_t)y) * w->in[2] + (size_t)x;
    sum += (at(a->in, place, a->in_signed) - a->in_zero) * (at(weights, oc * w->c * taps + q, w_signed) - w_zero);
  }
  return sum;
}

void test_cn_conv_s16(Case *c) {
  const KernelSet *s = c->set;
  const int flat = pick(c, 4) == 0, w_signed = pick(c, 2) != 0;
  cn_conv_s16_args a = {.window = pick_geometry(c, flat, !flat), .in_signed = pick(c, 2) != 0};
  cn_window *w = &a.window;
  w->groups = pick(c, 3) ? 1 : 1 + pick(c, 3);
  w->c = 1 + pick(c, 9);
  w->m = 1 + pick(c, (uint32_t)(2 * s->s16_mr + 1));
  const size_t taps = cn_volume(w->kernel), channels = w->groups * w->m, pixels = cn_volume(w->out);
  uint8_t *weights = bytes(c, channels * w->c * taps), *zero = pick(c, 2) ? bytes(c, channels) : NULL;
  const size_t zero_step = zero && pick(c, 2);
  int32_t *packed = guarded_bytes(c, w->groups * cn_pack_s16_size(w->c * taps, w->m, s->s16_mr) * sizeof *packed);
  cn_pack_conv_s16(weights, w_signed, w->groups, w->m, w->c, taps, s->s16_mr, zero, zero_step, packed);
  a.in = bytes(c, w->images * w->groups * w->c * cn_volume(w->in));
  a.in_zero = (int32_t)(a.in_signed ? (int)pick(c, 256) - 128 : (int)pick(c, 256));
  a.weights = packed;
  a.finish = pick_finish(c, channels);
  a.finish.by_row = 1;
  a.out = guarded_bytes(c, w->images * channels * pixels * out_size(&a.finish));
  int32_t *scratch = guarded_bytes(c, s->conv_s16_scratch(w) * sizeof *scratch);
  const size_t tasks = s->conv_s16_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  s->conv_s16(&a, scratch, cut, tasks);
  s->conv_s16(&a, scratch, 0, cut);
  for (size_t i = 0; i < w->images * channels * pixels; i++) {
    const size_t row = i / pixels, oc = row % channels;
    const int64_t want = reference(&a, weights, w_signed, zero ? at(zero, oc * zero_step, w_signed) : 0, row / channels, oc, i % pixels);
    check_finished(c, &a.finish, a.out, i, oc, want);
  }
}
