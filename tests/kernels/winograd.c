/* Convolution of 3x3 windows by Winograd's tiles, held to the plain reference. */
#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <string.h>

/* What transforms a filter along one axis, worked out by hand for the points of kernels/winograd.h: of n + 2 rows. */
static const double filter_2[][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double filter_4[][3] = {
    {256.0 / 225, 0, 0},
    {-4096.0 / 5950, -4096.0 / 5950 * 0.625, -4096.0 / 5950 * 0.390625},
    {-4096.0 / 5950, 4096.0 / 5950 * 0.625, -4096.0 / 5950 * 0.390625},
    {256.0 / 2142, 256.0 / 2142 * 1.5, 256.0 / 2142 * 2.25},
    {256.0 / 2142, -256.0 / 2142 * 1.5, 256.0 / 2142 * 2.25},
    {0, 0, 1},
};

typedef struct WinogradCase { size_t n, room, groups, band; } WinogradCase;

/* Groups as small as the case says, of at most as many blocks as fit; bands of any length. */
static WinogradCase winograd_case(const Case *c, const cn_window *w, size_t n) {
  const size_t blocks = cn_ceil_div(w->m, c->set->lanes), least = cn_ceil_div(blocks, c->set->winograd_blocks), tiles = cn_winograd_tiles(w, n);
  return (WinogradCase){n, blocks * c->set->lanes, cn_min(blocks, least + c->index % 2), 1 + c->index % 7 * tiles / 6};
}

static float *transformed(Case *c, const WinogradCase *k, const float *weights, size_t m, size_t channels) {
  const double(*g)[3] = k->n == 2 ? filter_2 : filter_4;
  const size_t side = k->n + 2, places = cn_winograd_places(k->n), lanes = c->set->lanes;
  float *u = guarded(c, places * channels * k->room), *at = u;
  for (size_t e = 0; e < places; e++) {
    for (size_t group = 0; group < k->groups; group++) {
      const size_t from = cn_winograd_block(k->room / lanes, k->groups, group) * lanes, to = cn_winograd_block(k->room / lanes, k->groups, group + 1) * lanes;
      for (size_t i = 0; i < channels; i++) {
        for (size_t o = from; o < to; o++) {
          double sum = 0;
          for (size_t t = 0; o < m && t < 9; t++) sum += g[e / side][t / 3] * g[e % side][t % 3] * (double)weights[(o * channels + i) * 9 + t];
          *at++ = (float)sum;
        }
      }
    }
  }
  return u;
}

/* Whether some pixel under the tile of a place is not finite: its results are not either. */
static int infected(const cn_conv_f32_args *a, size_t n, size_t image, size_t p) {
  const cn_window *w = &a->window;
  const size_t y0 = p / w->out[2] % w->out[1] / n * n, x0 = p % w->out[2] / n * n;
  for (size_t i = 0; i < w->kernel[0] * w->c * (n + 2) * (n + 2); i++) {
    const ptrdiff_t y = (ptrdiff_t)(y0 + i / (n + 2) % (n + 2)) - w->pad[1], x = (ptrdiff_t)(x0 + i % (n + 2)) - w->pad[2];
    const size_t above = i / (n + 2) / (n + 2), channel = image * w->c + above % w->c;
    const ptrdiff_t z = (ptrdiff_t)(p / w->out[1] / w->out[2] * w->stride[0] + above / w->c) - w->pad[0];
    if (z < 0 || y < 0 || x < 0 || (size_t)z >= w->in[0] || (size_t)y >= w->in[1] || (size_t)x >= w->in[2]) continue;
    if (!isfinite(a->in[((channel * w->in[0] + (size_t)z) * w->in[1] + (size_t)y) * w->in[2] + (size_t)x])) return 1;
  }
  return 0;
}

/* The largest size of what is finite in the input. */
static double largest(const cn_conv_f32_args *a, int *ret_all_finite) {
  double most = 0;
  *ret_all_finite = 1;
  for (size_t i = 0; i < a->window.images * a->window.c * cn_volume(a->window.in); i++) {
    if (isfinite(a->in[i])) most = fmax(most, fabs((double)a->in[i]));
    else *ret_all_finite = 0;
  }
  return most;
}

/* A tile's error comes from all of its input: the bound is the largest sum that the row's terms could have. */
static void compare(Case *c, const cn_conv_f32_args *a, const float *weights, const float *before, size_t n) {
  const cn_window *w = &a->window;
  const size_t pixels = cn_volume(w->out);
  int all_finite;
  const double most = largest(a, &all_finite);
  for (size_t row = 0; row < w->images * w->m; row++) {
    double sum = 0;
    const size_t depth = w->kernel[0] * w->c, all = 9 * depth;
    for (size_t i = 0; i < all; i++) sum += fabs((double)weights[row % w->m * all + i]);
    for (size_t p = 0; p < pixels; p++) {
      double size;
      const double want = conv_expected(a, weights, before, row, p, &size), bound = (double)(depth + 8) * 0x1p-22 * (sum * most + 4.0 + fabs(want));
      const float got = a->out[row * pixels + p];
      if (!all_finite && infected(a, n, row / w->m, p) ? isnan(want) && !isnan(got) : !close_enough(got, want, bound))
        fail(c, "%s row %zu pixel %zu is %g, not %g", c->kernel, row, p, (double)got, want);
    }
  }
}

static void compare_2(Case *c, const cn_conv_f32_args *a, const float *w, const float *before) { compare(c, a, w, before, 2); }
static void compare_4(Case *c, const cn_conv_f32_args *a, const float *w, const float *before) { compare(c, a, w, before, 4); }

static cn_winograd_f32_args winograd_args(Case *c, const cn_conv_f32_args *a, size_t n) {
  const WinogradCase k = winograd_case(c, &a->window, n);
  cn_winograd_f32_args w = {.window = slices_window(&a->window), .slices = slices_of(&a->window), .band = k.band, .groups = k.groups, .part = c->index % 3 ? 32 : 16, .weights = a->weights};
  w.window.m = k.room;
  return w;
}

/* All tasks of some cases by phases. */
static void run(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1, size_t n) {
  cn_winograd_f32_args w = winograd_args(c, a, n);
  TileContext t;
  const BlockedOperands x = blocked_operands(c, a, w.window.m, 0, &t);
  w.in = x.in;
  w.out = x.out;
  w.ep = x.ep;
  const cn_spread phases = {run_backwards, NULL, 1 + c->index % 29};
  const int spread = c->index % 2 && t0 == 0 && t1 == cn_winograd_tasks(&w, n);
  if ((n == 2 ? c->set->winograd_f32_2x2 : c->set->winograd_f32_4x4)(&w, scratch, spread ? &phases : NULL, t0, t1)) fail(c, "%s failed", c->kernel);
  blocked_result(c, a, w.window.m, x.out);
}

static void run_2(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) { run(c, a, scratch, t0, t1, 2); }
static void run_4(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) { run(c, a, scratch, t0, t1, 4); }

static void test_winograd(Case *c, size_t n) {
  const size_t lanes = c->set->lanes;
  cn_conv_f32_args a = {.window = pick_square(c, 3, 1)};
  const int deep = pick(c, 4) == 0; /* else wide */
  a.window.c = 1 + pick(c, deep ? (uint32_t)(3 * lanes) : 4);
  a.window.m = 1 + pick(c, (uint32_t)((deep ? 2 : 6) * lanes));
  if (pick(c, 4) == 0) {
    pick_slices(c, &a.window);
    if (a.window.kernel[0] > 1) a.window.c = lanes * (1 + pick(c, 2));
  }
  const float *weights = conv_operands(c, &a);
  const WinogradCase k = winograd_case(c, &a.window, n);
  a.weights = transformed(c, &k, slices_weights(c, &a.window, weights), a.window.m, a.window.kernel[0] * a.window.c);
  const cn_winograd_f32_args w = winograd_args(c, &a, n);
  conv_ways(c, n == 2 ? run_2 : run_4, n == 2 ? compare_2 : compare_4, &a, weights, guarded(c, cn_winograd_scratch(&w.window, n, k.band, lanes)),
            cn_winograd_tasks(&w, n));
}

void test_cn_winograd_f32_2x2(Case *c) { test_winograd(c, 2); }
void test_cn_winograd_f32_4x4(Case *c) { test_winograd(c, 4); }
