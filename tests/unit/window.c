/* Convolutions over blocked channels: scratch of open sizes is no less than the kernel takes at any size; an image's tasks cover it, none empty or beyond what scratch is for.
 * Direct ones of plain channels: bands cover the image, in even number where they are worth it, and their copies stay small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower/window.h"

#include "kernels/blocked.h"
#include "kernels/plane.h"

static size_t below(uint64_t *s, size_t n) { /* an LCG's upper bits */
  *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (size_t)(*s >> 33) % n;
}

/* One of few sizes often, where tiles and copies begin to be whole; a large one at times. */
static size_t size(uint64_t *s) { return 1 + below(s, below(s, 3) ? 40 : below(s, 2) ? 700 : 5000); }

static cn_window random_window(uint64_t *s) {
  cn_window w = {.images = 1 + below(s, 3), .groups = 1, .c = 1 + below(s, 8), .m = 64, .in = {1, 1, 1}, .out = {1, size(s), size(s)}, .kernel = {1, 1, 1},
                 .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .up = {1, 1, 1}};
  for (int i = 1; i < 3; i++) {
    w.kernel[i] = 1 + below(s, 7);
    w.stride[i] = 1 + below(s, 4);
    w.dilation[i] = 1 + below(s, 3);
    w.pad[i] = (ptrdiff_t)below(s, 4);
    w.in[i] = w.out[i] * w.stride[i]; /* about */
  }
  for (int i = 1, flat = below(s, 4) == 0; flat && i < 3; i++) { /* of one place; the image may be cropped */
    w.kernel[i] = w.stride[i] = w.dilation[i] = 1;
    w.pad[i] = 0;
    w.in[i] = w.out[i] + below(s, 2);
  }
  return w;
}

static void holds_every_size(void **state) {
  (void)state;
  uint64_t seed = 1;
  const Target *t = target_find(STR("x86-64-v4"));
  const TargetTile *tile = target_tile(t, "blocked_f32");
  const size_t lanes = t->vector_bits / 32, sums = tile->mr * tile->nr / lanes;
  for (int i = 0; i < 20000; i++) {
    Arena *a = arena_new(NULL, 0);
    DimCtx *c = dim_ctx_new(a);
    const cn_window w = random_window(&seed);
    const cn_blocked_input input = (cn_blocked_input)below(&seed, 2);
    const bool only_height = below(&seed, 4) == 0;
    const cn_blocked_way way = cn_blocked_any_way(1 + below(&seed, tile->mr), sums);
    const BlockedCall call = {.blocks = (uint32_t)(way.blocks * (1 + below(&seed, 3))), .wide = (uint32_t)way.blocks, .pixels = (uint32_t)way.pixels};
    const Dim *height = dim_symbol(c, STR("h"), 0, INT32_MAX, DIM_FROM_INPUT), *width = dim_symbol(c, STR("w"), 0, INT32_MAX, DIM_FROM_INPUT);
    const Dim *out = only_height ? dim_const(c, (int64_t)w.out[2]) : width;
    WindowDims d = {.in = {c->one, height, out}, .out = {c->one, height, out}};
    for (int k = 0; k < 3; k++) {
      d.kernel[k] = dim_const(c, (int64_t)w.kernel[k]);
      d.pad_lo[k] = d.pad_hi[k] = dim_const(c, w.pad[k]);
      d.stride[k] = (int64_t)w.stride[k], d.dilation[k] = (int64_t)w.dilation[k], d.up[k] = 1;
    }
    const BlockedWindow open = window_blocked(c, &d, dim_const(c, (int64_t)w.images), 1, dim_const(c, (int64_t)w.c), dim_const(c, (int64_t)w.m));
    const int64_t values[] = {(int64_t)w.out[1], (int64_t)w.out[2]};
    int64_t bytes = 0;
    assert_true(open.open);
    assert_true(dim_eval(window_blocked_scratch(c, t, &open, input, &call), values, &bytes));
    assert_true((size_t)bytes >= sizeof(float) * cn_blocked_conv_f32_scratch(&w, input, call.blocks, way, lanes));
    arena_free(a);
  }
}

/* A pointwise convolution of open sizes whose input is computed: what it is given at the largest is enough for all. */
static void computes_every_size(void **state) {
  (void)state;
  uint64_t seed = 3;
  for (int i = 0; i < 20000; i++) {
    cn_window w = random_window(&seed), most;
    const size_t lanes = (size_t)4 << below(&seed, 3), sums = below(&seed, 2) ? 24 : 12;
    const cn_blocked_way way = cn_blocked_any_way(1 + below(&seed, 4), sums);
    const size_t blocks = way.blocks * (1 + below(&seed, 9));
    w.c *= below(&seed, 2) ? 1 : 64;
    for (int k = 1; k < 3; k++) w.in[k] = w.out[k] = cn_min(w.out[k], 1 << 10), w.kernel[k] = w.stride[k] = w.dilation[k] = 1, w.pad[k] = 0;
    most = w;
    most.images = most.in[1] = most.in[2] = most.out[1] = most.out[2] = 1 << 10;
    assert_true(cn_blocked_conv_f32_scratch(&w, CN_BLOCKED_COMPUTED, blocks, way, lanes) <= cn_blocked_conv_f32_scratch(&most, CN_BLOCKED_COMPUTED, blocks, way, lanes));
    assert_true(cn_blocked_span(&w, CN_BLOCKED_COMPUTED, blocks, way, lanes) <= cn_blocked_most(&most, way));
  }
}

static void parts_whole_images(void **state) {
  (void)state;
  uint64_t seed = 2;
  for (int i = 0; i < 50000; i++) {
    cn_window w = random_window(&seed), many;
    const size_t lanes = (size_t)4 << below(&seed, 3), sums = below(&seed, 2) ? 24 : 12, wide = 1 + below(&seed, 4);
    w.c *= below(&seed, 2) ? 1 : 64;
    if (below(&seed, 20) == 0) w.out[1 + below(&seed, 2)] = 0;
    const cn_blocked_input input = (cn_blocked_input)below(&seed, 3);
    const cn_blocked_way way = below(&seed, 2) ? cn_blocked_way_of(&w, input, wide, lanes, sums) : cn_blocked_any_way(wide, sums);
    const size_t blocks = wide * (1 + below(&seed, 9)), pixels = cn_volume(w.out), unit = cn_max(cn_blocked_unit(&w, way), 1);
    const size_t across = cn_blocked_across(&w, input, blocks, way, lanes), span = cn_blocked_span(&w, input, blocks, way, lanes);
    size_t at = 0;
    assert_true(across < 2 || across % 2 == 0 || across == cn_ceil_div(pixels, unit)); /* halves for two threads */
    for (size_t k = 0; k < across; k++) {
      const size_t p0 = cn_share_by(pixels, unit, k, across), p1 = cn_share_by(pixels, unit, k + 1, across);
      assert_true(p0 == at && p1 > p0 && p1 - p0 <= span);
      at = p1;
    }
    assert_true(at == pixels && span > 0 && span <= cn_blocked_most(&w, way));
    many = w;
    many.images = 1000; /* what scratch for any number of images is made for */
    assert_true(span <= cn_blocked_span(&many, input, blocks, way, lanes));
  }
}

static void direct_bands_are_even(void **state) {
  (void)state;
  uint64_t seed = 3;
  for (int i = 0; i < 20000; i++) {
    const cn_window w = random_window(&seed);
    const size_t lanes = (size_t)4 << below(&seed, 3), limit = 4096 * lanes;
    const cn_plane p = cn_direct_plane(&w, lanes);
    const size_t bands = cn_ceil_div(w.out[1], p.band), copy = w.c * p.slice, least = w.c * p.row * cn_plane_rows(&w, 4);
    assert_true(p.band > 0 && p.slice == cn_plane_rows(&w, p.band) * p.row);
    assert_true(copy <= (least > 2 * limit ? least : 2 * limit));
    if (w.out[1] >= 4 * (bands + bands % 2) && w.out[1] >= 8 && copy >= 256 * lanes) assert_true(bands % 2 == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(holds_every_size), cmocka_unit_test(computes_every_size),
                                     cmocka_unit_test(parts_whole_images), cmocka_unit_test(direct_bands_are_even)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
