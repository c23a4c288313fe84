#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <string.h>

/* The definition: over the taps of a window, the maximum (NaN wins) or the sum over the count. */
double pool_reference(const cn_pool_f32_args *a, size_t channel, const size_t o[3]) {
  const cn_window *w = &a->window;
  const float *in = a->in + channel * cn_volume(w->in);
  double sum = 0, most = -INFINITY;
  size_t count = 0;
  for (size_t t = 0; t < cn_volume(w->kernel); t++) {
    const size_t tap[3] = {t / w->kernel[2] / w->kernel[1], t / w->kernel[2] % w->kernel[1], t % w->kernel[2]};
    ptrdiff_t x[3];
    int inside = 1, padded = 1;
    for (int i = 0; i < 3; i++) {
      x[i] = (ptrdiff_t)(o[i] * w->stride[i] + tap[i] * w->dilation[i]) - w->pad[i];
      inside &= x[i] >= 0 && x[i] < (ptrdiff_t)w->in[i];
      padded &= x[i] < (ptrdiff_t)(w->in[i] + w->pad_end[i]);
    }
    count += (size_t)(a->flags & CN_POOL_INCLUDE_PAD ? padded : inside);
    if (!inside) continue;
    const double v = (double)in[((size_t)x[0] * w->in[1] + (size_t)x[1]) * w->in[2] + (size_t)x[2]];
    sum += v;
    most = most > v || isnan(most) ? most : v;
  }
  if (a->flags & CN_POOL_SUM) return sum;
  return a->flags & CN_POOL_AVERAGE ? sum / (double)(count ? count : 1) : most;
}

static void test_pool(Case *c, PoolRun *run, cn_window window) {
  const KernelSet *s = c->set;
  cn_pool_f32_args a = {.flags = pick(c, 2) ? CN_POOL_AVERAGE | (pick(c, 2) ? CN_POOL_INCLUDE_PAD : 0) : pick(c, 4) ? 0 : CN_POOL_SUM};
  cn_window *w = &a.window;
  *w = window;
  w->groups = 1 + pick(c, 5);
  const size_t pixels = cn_volume(w->out), ins = w->images * w->groups * cn_volume(w->in);
  const size_t outs = w->images * w->groups * pixels;
  float *in = guarded_values(c, ins), *again = guarded(c, outs), *scratch = guarded(c, s->pool_f32_scratch(w));
  if (pick(c, 4) == 0) in[pick(c, (uint32_t)ins)] = pick(c, 2) ? NAN : -INFINITY;
  a.in = in;
  a.out = guarded(c, outs);
  const size_t tasks = s->pool_f32_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  run(&a, scratch, 0, tasks);
  for (size_t i = 0; i < outs; i++) {
    const size_t p = i % pixels, o[3] = {p / w->out[2] / w->out[1], p / w->out[2] % w->out[1], p % w->out[2]};
    const double want = pool_reference(&a, i / pixels, o);
    if (!close_enough(a.out[i], want, 1e-5)) fail(c, "%s place %zu is %g, not %g", c->kernel, i, (double)a.out[i], want);
  }
  memcpy(again, a.out, outs * sizeof(float));
  run(&a, scratch, cut, tasks);
  run(&a, scratch, 0, cut);
  if (memcmp(again, a.out, outs * sizeof(float)) != 0) fail(c, "%s: the split of tasks changes the result", c->kernel);
}

void test_cn_pool_f32(Case *c) {
  const cn_window w = pick_geometry(c, 0, 0);
  test_pool(c, c->set->pool_f32, w);
}
void test_cn_pool_f32_2x2s2(Case *c) {
  const cn_window w = pick_square(c, 2, 2);
  test_pool(c, c->set->pool_f32_2x2s2, w);
}
void test_cn_pool_f32_3x3s2(Case *c) {
  const cn_window w = pick_square(c, 3, 2);
  test_pool(c, c->set->pool_f32_3x3s2, w);
}
