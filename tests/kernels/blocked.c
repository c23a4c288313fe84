/* Kernels over blocked channels, run on plain tensors: reordered before and after, and held to the plain references. */
#include "simd/scalar.h"

#include "check.h"

#include <math.h>
#include <string.h>

#include "kernels/pack.h"

/* [images][channels][slices][area] to [images][slices][blocks][area][lanes], zeros in the gaps; or back. */
static void reorder_slices(Case *c, float *plain, float *blocked, size_t images, size_t channels, size_t slices, size_t area, int back) {
  const size_t lanes = c->set->lanes, room = cn_round_up(channels, lanes);
  for (size_t i = 0; i < images * slices * room * area; i++) {
    const size_t lane = i % lanes, p = i / lanes % area, block = i / lanes / area % (room / lanes), slice = i / area / room % slices, image = i / area / room / slices;
    const size_t channel = block * lanes + lane;
    float *at = channel < channels ? &plain[((image * channels + channel) * slices + slice) * area + p] : 0;
    if (back && at) *at = blocked[i];
    if (!back) blocked[i] = at ? *at : 0.0f;
  }
}

static void reorder(Case *c, float *plain, float *blocked, size_t images, size_t channels, size_t area, int back) {
  reorder_slices(c, plain, blocked, images, channels, 1, area, back);
}

static float *as_slices(Case *c, const float *plain, size_t images, size_t channels, size_t slices, size_t area) {
  float *blocked = guarded(c, images * slices * cn_round_up(channels, c->set->lanes) * area);
  reorder_slices(c, (float *)(uintptr_t)plain, blocked, images, channels, slices, area, 0);
  return blocked;
}

static float *as_blocked(Case *c, const float *plain, size_t images, size_t channels, size_t area) { return as_slices(c, plain, images, channels, 1, area); }

/* x -> 2 x + matrix + place, as conv.c's, whose matrix is an image's (a volume's) group. */
static void blocked_tile(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  const TileContext *t = ctx;
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      const size_t matrix = index / t->slices * t->groups + ((m0 + i) * t->lanes + (n0 + j) % t->lanes) / t->each;
      tile[i * ld + j] = tile[i * ld + j] * 2.0f + (float)matrix + (float)(index % t->slices * t->area + (n0 + j) / t->lanes);
    }
  }
}

/* ---- volumes ---- */
/* Makes a window of three dimensions of one of two. */
void pick_slices(Case *c, cn_window *w) {
  w->kernel[0] = 1 + pick(c, 4);
  w->stride[0] = 1 + pick(c, 3);
  w->pad[0] = (ptrdiff_t)pick(c, (uint32_t)w->kernel[0]);
  w->pad_end[0] = pick(c, (uint32_t)w->kernel[0]);
  w->in[0] = cn_max(1 + pick(c, 5), w->kernel[0]);
  w->out[0] = (w->in[0] + (size_t)w->pad[0] + w->pad_end[0] - w->kernel[0]) / w->stride[0] + 1;
}

cn_blocked_slices slices_of(const cn_window *w) {
  if (w->in[0] == 1 && w->out[0] == 1) return (cn_blocked_slices){0};
  return (cn_blocked_slices){w->in[0], w->out[0], w->stride[0], w->pad[0]};
}

cn_window slices_window(const cn_window *w) {
  cn_window v = *w;
  v.images *= w->out[0];
  v.in[0] = v.out[0] = v.stride[0] = 1;
  v.pad[0] = 0;
  v.pad_end[0] = 0;
  return v;
}

/* [m][c][taps of depth][area] as [m][taps of depth][c][area] */
const float *slices_weights(Case *c, const cn_window *w, const float *weights) {
  const size_t taps = w->kernel[0], area = w->kernel[1] * w->kernel[2], m = w->groups * w->m;
  if (taps == 1) return weights;
  float *dst = guarded(c, m * w->c * taps * area);
  for (size_t i = 0; i < m * w->c * taps; i++)
    memcpy(dst + ((i / w->c / taps * taps + i % taps) * w->c + i / taps % w->c) * area, weights + i * area, area * sizeof *dst);
  return dst;
}

/* The epilogue over blocks; out: the blocked result. */
static cn_epilogue_f32 blocked_epilogue(Case *c, const cn_conv_f32_args *a, float *out, size_t channels, TileContext *t) {
  const cn_window *w = &a->window;
  cn_epilogue_f32 ep = a->ep;
  if (ep.bias) ep.bias = as_blocked(c, ep.bias, 1, channels, 1);
  if (ep.residual) ep.residual = ep.residual == a->out ? out : as_blocked(c, ep.residual, w->images, channels, cn_volume(w->out));
  if (ep.tile) ep.tile = blocked_tile, ep.ctx = t;
  return ep;
}

/* [images][m][slices][area], or back, in whole groups of blocks: the rows behind m have zero weights. */
static void reorder_room(Case *c, const cn_window *w, float *plain, float *blocked, size_t room, int back) {
  const size_t area = w->out[1] * w->out[2], m = w->groups * w->m, lanes = c->set->lanes, own = cn_round_up(m, lanes);
  float *one = guarded(c, own * area);
  for (size_t i = 0; i < w->images * w->out[0]; i++) { /* a slice at a time, whose channels are as far apart as volumes have places */
    float *at = blocked + i * room * area, *from = plain + i / w->out[0] * m * cn_volume(w->out) + i % w->out[0] * area;
    if (back) memcpy(one, at, own * area * sizeof *one);
    for (size_t k = 0; k < m; k++) {
      for (size_t p = 0; p < area; p++) {
        float *there = &one[(k / lanes * area + p) * lanes + k % lanes];
        if (back) from[k * cn_volume(w->out) + p] = *there;
        else *there = from[k * cn_volume(w->out) + p];
      }
    }
    for (size_t k = m; !back && k < own; k++)
      for (size_t p = 0; p < area; p++) one[(k / lanes * area + p) * lanes + k % lanes] = 0;
    if (!back) memcpy(at, one, own * area * sizeof *one);
  }
}

static float *in_room(Case *c, const cn_window *w, const float *plain, size_t room) {
  const size_t n = w->images * room * cn_volume(w->out);
  float *blocked = guarded(c, n);
  memset(blocked, 0, n * sizeof *blocked);
  reorder_room(c, w, (float *)(uintptr_t)plain, blocked, room, 0);
  return blocked;
}

BlockedOperands blocked_operands(Case *c, const cn_conv_f32_args *a, size_t room, int plain, TileContext *t) {
  const cn_window *w = &a->window;
  BlockedOperands x = {.in = plain ? a->in : as_slices(c, a->in, w->images, w->groups * w->c, w->in[0], w->in[1] * w->in[2]), .ep = a->ep};
  *t = (TileContext){c->set->lanes, w->groups, w->groups > 1 ? w->m : room, w->out[0], w->out[1] * w->out[2]};
  x.out = in_room(c, w, a->out, room);
  if (a->ep.bias) {
    float *bias = guarded(c, room);
    memset(bias, 0, room * sizeof *bias);
    memcpy(bias, a->ep.bias, w->groups * w->m * sizeof *bias);
    x.ep.bias = bias;
  }
  if (a->ep.residual) x.ep.residual = a->ep.residual == a->out ? x.out : in_room(c, w, a->ep.residual, room);
  if (a->ep.tile) x.ep.tile = blocked_tile, x.ep.ctx = t;
  return x;
}

void blocked_result(Case *c, const cn_conv_f32_args *a, size_t room, float *out) {
  reorder_room(c, &a->window, a->out, out, room, 1);
}

/* What a run derives from the case alone: blocks at a time, those of a part in whole groups of them, whether the input stays plain, which some drivers are
 * for, or is computed by a function, how groups lie in blocks; the window, of slices where it has depth, with such parts as groups; the way of this window, or that of any, which whole tiles are for too. */
typedef struct BlockedCase {
  cn_blocked_way way;
  size_t n, blocks;
  cn_blocked_input input;
  cn_blocked_grouping grouping;
  cn_window window;
} BlockedCase;

static int is_dense(const cn_window *w) {
  int dense = w->groups == 1 && w->in[0] == 1 && w->out[0] == 1;
  for (int i = 0; i < 3; i++) dense = dense && w->kernel[i] == 1 && w->stride[i] == 1 && !w->pad[i] && w->in[i] == w->out[i];
  return dense;
}

static cn_blocked_groups groups_of(const cn_window *w) { return (cn_blocked_groups){w->groups, w->c, w->m}; }

static BlockedCase blocked_case(const Case *c, const cn_window *window) {
  const cn_blocked_grouping grouping = strstr(c->kernel, "_straddle_") ? CN_BLOCKED_STRADDLE : window->groups > 1 && window->c < c->set->lanes ? CN_BLOCKED_WITHIN : CN_BLOCKED_WHOLE;
  cn_window flat = slices_window(window);
  const cn_window *w = &flat;
  if (grouping == CN_BLOCKED_STRADDLE) {
    const cn_blocked_groups g = groups_of(window);
    flat.c = cn_blocked_most_read(&g, c->set->lanes);
    flat.groups = cn_ceil_div(window->groups * window->m, c->set->lanes);
    flat.m = c->set->lanes;
  }
  const char *copied = strstr(c->kernel, "_plain_f32_"), *tiled = copied ? copied : strstr(c->kernel, "_conv_f32_");
  const size_t n = tiled ? (size_t)(strstr(tiled, "_f32_")[strlen("_f32_")] - '0') : 1;
  const size_t lanes = c->set->lanes;
  const int plain = w->groups == 1 && !slices_of(window).out && (copied ? w->c <= 8 : strstr(c->kernel, "_f32_c") != NULL);
  const cn_blocked_input input = tiled && !copied && is_dense(window) && c->index % 3 ? CN_BLOCKED_COMPUTED : plain ? CN_BLOCKED_PLAIN : CN_BLOCKED_BLOCKS;
  const int any = c->index / 2 % 2 && !strstr(c->kernel, "_slide_") && !strstr(c->kernel, "_narrow");
  const cn_blocked_way way = any ? cn_blocked_any_way(n, c->set->sums) : cn_blocked_way_of(w, input, n, lanes, c->set->sums);
  BlockedCase k = {way, n, cn_round_up(cn_ceil_div(w->m, lanes), n), input, grouping, *w};
  if (grouping == CN_BLOCKED_WITHIN) k.window.groups = cn_ceil_div(w->groups * w->m, lanes);
  k.window.m = k.blocks * lanes;
  return k;
}

/* Floats for pixels of a call of so many blocks: of one task, or of several. */
static size_t computed_room(const Case *c, const BlockedCase *k, size_t blocks) {
  const size_t lanes = c->set->lanes, span = cn_blocked_span(&k->window, k->input, blocks, k->way, lanes);
  return k->input == CN_BLOCKED_COMPUTED ? span * (1 + c->index % 4) * cn_round_up(k->window.c, lanes) + c->index % 7 : 0;
}

/* Pixels that are computed: copies of those of blocks. */
typedef struct Stored {
  const float *in;
  size_t blocks, area, lanes;
} Stored;

static void stored_pixels(const void *ctx, size_t image, size_t p0, size_t p1, float *dst) {
  const Stored *s = ctx;
  for (size_t b = 0; b < s->blocks; b++, dst += (p1 - p0) * s->lanes)
    memcpy(dst, s->in + ((image * s->blocks + b) * s->area + p0) * s->lanes, (p1 - p0) * s->lanes * sizeof *dst);
}

/* What of this call's tasks the tasks t0 .. t1 of `all` stand for. */
static void run_share(Case *c, const cn_blocked_conv_f32_args *b, float *scratch, size_t t0, size_t t1, size_t all, cn_blocked_way way) {
  const size_t own = c->set->blocked_tasks(b, way);
  c->set->blocked_driver(c->kernel)(b, scratch, t0 * own / all, t1 * own / all);
}

static void run_blocked(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {
  const BlockedCase k = blocked_case(c, &a->window);
  const size_t n = k.n, lanes = c->set->lanes, parts = k.window.groups, room = parts * k.window.m;
  TileContext t;
  cn_blocked_conv_f32_args b = {.window = k.window, .input = k.input, .slices = slices_of(&a->window), .weights = a->weights};
  const BlockedOperands x = blocked_operands(c, a, room, k.input == CN_BLOCKED_PLAIN, &t);
  const Stored stored = {x.in, cn_ceil_div(k.window.c, lanes), cn_volume(k.window.in), lanes};
  if (k.input == CN_BLOCKED_COMPUTED) b.pixels = stored_pixels, b.ctx = &stored;
  else b.in = x.in;
  if (k.grouping == CN_BLOCKED_STRADDLE) b.groups = groups_of(&a->window);
  b.out = x.out;
  b.ep = x.ep;
  b.blocks = k.blocks;
  const size_t all = c->set->blocked_tasks(&b, k.way);
  b.blocks = n; /* the first group by itself, then the others */
  b.room = computed_room(c, &k, n);
  run_share(c, &b, scratch, t0, t1, all, k.way);
  b.first = n;
  b.blocks = k.blocks - n;
  b.room = computed_room(c, &k, b.blocks);
  b.weights += parts * n * lanes * a->window.c * cn_volume(a->window.kernel);
  if (b.blocks) run_share(c, &b, scratch, t0, t1, all, k.way);
  blocked_result(c, a, room, x.out);
}

/* Two dimensions, any window. */
static cn_window pick_image(Case *c) {
  cn_window w = pick_square(c, 1 + pick(c, 4), strstr(c->kernel, "s2") ? 2 : 1 + pick(c, 3));
  for (int i = 1; i < 3; i++) {
    if (pick(c, 3) == 0) w.kernel[i] = 1 + pick(c, (uint32_t)w.kernel[i]);
    if (i == 2 && pick(c, 12) == 0) w.kernel[i] = 5 + pick(c, 13), w.in[i] += 16; /* more taps than slide, too */
    if (pick(c, 4) == 0) w.dilation[i] = 1 + pick(c, 2);
    const ptrdiff_t room = (ptrdiff_t)(w.in[i] + w.pad_end[i]) + w.pad[i] - (ptrdiff_t)((w.kernel[i] - 1) * w.dilation[i]) - 1;
    if (room < 0) w.dilation[i] = 1;
    w.out[i] = (w.in[i] + (size_t)w.pad[i] + w.pad_end[i] - (w.kernel[i] - 1) * w.dilation[i] - 1) / w.stride[i] + 1;
  }
  return w;
}

/* Of both calls of run_blocked. */
static size_t blocked_scratch(const Case *c, const BlockedCase *k) {
  const cn_window *w = &k->window;
  const size_t rest = k->blocks - k->n, one = cn_blocked_conv_f32_scratch(w, k->input, k->n, k->way, c->set->lanes) + computed_room(c, k, k->n);
  return !rest ? one : cn_max(one, cn_blocked_conv_f32_scratch(w, k->input, rest, k->way, c->set->lanes) + computed_room(c, k, rest));
}

static cn_window pick_blocked(Case *c) {
  cn_window w = pick_image(c);
  if (pick(c, 4) == 0) { /* nothing slides */
    w.kernel[1] = w.kernel[2] = w.stride[1] = w.stride[2] = 1;
    w.pad[1] = w.pad[2] = 0;
    w.out[1] = w.in[1], w.out[2] = w.in[2];
  }
  const char *colours = strstr(c->kernel, "_f32_c");
  w.c = colours ? (size_t)(colours[strlen("_f32_c")] - '0') : pick(c, 3) ? 1 + pick(c, 4) : 1 + pick(c, (uint32_t)(3 * c->set->lanes));
  if (strstr(c->kernel, "_groups_")) { /* some of them a block */
    w.c = cn_min((size_t)2 << pick(c, 3), c->set->lanes / 2);
    w.groups = 2 + pick(c, (uint32_t)(2 * c->set->lanes / w.c));
  } else if (strstr(c->kernel, "_straddle_")) { /* of any size */
    w.c = 1 + pick(c, (uint32_t)(pick(c, 3) ? 2 : 4) * (uint32_t)c->set->lanes);
    w.m = pick(c, 2) ? w.c : 1 + pick(c, (uint32_t)(2 * c->set->lanes));
    w.groups = 2 + pick(c, 5);
  } else if (!colours && pick(c, 16) == 0) { /* of whole blocks */
    w.c = c->set->lanes * (1 + pick(c, 2));
    w.groups = 2 + pick(c, 2);
  }
  if (w.groups == 1 && !colours && pick(c, 6) == 0) {
    pick_slices(c, &w);
    for (int i = 1, skips = pick(c, 3) == 0; skips && i < 3; i++) { /* taps of depth alone, which pass over pixels */
      w.kernel[i] = w.dilation[i] = 1;
      w.stride[i] = 2;
      w.pad[i] = 0;
      w.pad_end[i] = 0;
      w.out[i] = (w.in[i] + 1) / 2;
    }
  }
  return w;
}

/* Whether no window is the driver's: nothing slides on one lane, which has no smaller groups, AVX2's even and few outputs that slide are its many, no tile is narrower than one pixel, or quicker than the wide one where both wait for their sums. */
static int has_no_window(const Case *c) {
  const size_t sums = c->set->sums;
  if (c->set->lanes == 1 && (strstr(c->kernel, "_groups_") || strstr(c->kernel, "_straddle_") || strstr(c->kernel, "_slide_"))) return 1;
  if (strstr(c->kernel, "_even")) return CN_BLOCKED_SLIDE_EVEN(sums) == CN_BLOCKED_SLIDE(sums);
  if (strstr(c->kernel, "_few")) return CN_BLOCKED_SLIDE_FEW(sums) == CN_BLOCKED_SLIDE(sums);
  if (strstr(c->kernel, "_slide_")) return 0;
  const size_t n = blocked_case(c, &(cn_window){.c = 1}).n, wide = cn_blocked_wide(n, sums);
  return strstr(c->kernel, "_narrow") && (wide == 1 || cn_blocked_time(1, n, wide - 1) == cn_blocked_time(1, n, wide));
}

/* Weights as run_blocked's two calls want them: the first blocks of all parts, then their others. */
static float *packed_parts(Case *c, const cn_conv_f32_args *a, const float *plain, const BlockedCase *k) {
  const cn_window flat = slices_window(&a->window), *w = &flat;
  const float *weights = slices_weights(c, &a->window, plain);
  if (k->grouping == CN_BLOCKED_STRADDLE) {
    const cn_blocked_groups g = groups_of(w);
    const size_t floats = cn_blocked_read_by_all(&g, c->set->lanes) * c->set->lanes * cn_volume(w->kernel);
    float *packed = guarded(c, floats);
    if (cn_pack_straddle_f32(weights, g.n, g.c, g.m, cn_volume(w->kernel), c->set->lanes, packed) != packed + floats) fail(c, "blocks read other channels than they have weights for");
    return packed;
  }
  const size_t lanes = c->set->lanes, taps = cn_volume(w->kernel), parts = k->window.groups, of_part = cn_min(k->window.m, w->groups * w->m) * w->c * taps;
  float *packed = guarded(c, parts * k->blocks * lanes * w->c * taps), *at = packed;
  for (int rest = 0; rest < 2; rest++) {
    for (size_t p = 0; p < parts; p++) {
      const size_t m = w->groups == 1 ? w->m : cn_min(k->window.m, w->groups * w->m - p * k->window.m);
      for (size_t b = rest ? k->n : 0; b < (rest ? k->blocks : k->n); b += k->n)
        at = cn_pack_blocked_f32(weights + p * of_part, m, w->kernel[0], w->c, taps / w->kernel[0], k->input == CN_BLOCKED_PLAIN, lanes, b, k->n, at);
    }
  }
  return packed;
}

/* A window that is the driver's. */
static void test_blocked(Case *c) {
  enum { TRIES = 10000 };
  if (has_no_window(c)) return;
  const size_t lanes = c->set->lanes;
  for (int i = 0; i < TRIES; i++) {
    cn_conv_f32_args a = {.window = pick_blocked(c)};
    cn_window *w = &a.window;
    BlockedCase k = blocked_case(c, w);
    if (strcmp(cn_blocked_driver(&k.window, k.input, k.grouping, k.way, c->set->sums), c->kernel) != 0) continue;
    if (k.grouping != CN_BLOCKED_STRADDLE) w->m = k.grouping == CN_BLOCKED_WITHIN ? w->c : w->groups > 1 ? k.n * lanes * (1 + pick(c, 2)) : 1 + pick(c, (uint32_t)((pick(c, 3) ? 2 : 4) * k.n * lanes));
    k = blocked_case(c, w);
    const float *weights = conv_operands(c, &a);
    a.weights = packed_parts(c, &a, weights, &k);
    const cn_blocked_conv_f32_args b = {.window = k.window, .input = k.input, .blocks = k.blocks};
    conv_both_ways(c, run_blocked, &a, weights, guarded(c, blocked_scratch(c, &k)), c->set->blocked_tasks(&b, k.way));
    return;
  }
  fail(c, "%s: no window of %d is its own", c->kernel, TRIES);
}

void test_cn_blocked_conv_f32_4(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_4_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_3(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_3_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_2(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_2_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_1(Case *c) { test_blocked(c); }
void test_cn_blocked_conv_f32_1_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_4(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_4_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_3(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_3_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_2(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_2_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_1(Case *c) { test_blocked(c); }
void test_cn_blocked_plain_f32_1_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_f32(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_f32_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_slide_f32(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_slide_f32_even(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_slide_f32_few(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_slide_f32_short(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_slide_f32_s2(Case *c) { test_blocked(c); }
void test_cn_blocked_groups_slide_f32_s2_short(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_f32(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_f32_narrow(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_slide_f32(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_slide_f32_even(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_slide_f32_few(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_slide_f32_short(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_slide_f32_s2(Case *c) { test_blocked(c); }
void test_cn_blocked_straddle_slide_f32_s2_short(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_even(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_few(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_short(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_s2(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_s2_short(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_c1(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_c1_few(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_c3(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_c3_few(Case *c) { test_blocked(c); }
void test_cn_blocked_slide_f32_c3s2(Case *c) { test_blocked(c); }

/* A depthwise convolution's operands, blocked; out is that of the result, too. */
static cn_blocked_depthwise_f32_args depthwise_args(Case *c, const cn_conv_f32_args *a, TileContext *t) {
  const cn_window *w = &a->window;
  const size_t channels = w->groups, taps = cn_volume(w->kernel), lanes = c->set->lanes;
  cn_blocked_depthwise_f32_args b = {.window = *w};
  float *weights = guarded(c, cn_round_up(channels, lanes) * taps);
  *t = (TileContext){lanes, channels, 1, 1, cn_volume(w->out)};
  b.window.groups = cn_ceil_div(channels, lanes);
  cn_pack_depthwise_f32(a->weights, channels, taps, lanes, weights);
  b.weights = weights;
  b.in = as_blocked(c, a->in, w->images, channels, cn_volume(w->in));
  b.out = as_blocked(c, a->out, w->images, channels, cn_volume(w->out));
  b.ep = blocked_epilogue(c, a, b.out, channels, t);
  return b;
}

static void run_depthwise(Case *c, const cn_conv_f32_args *a, BlockedDepthwiseRun *run, size_t t0, size_t t1) {
  TileContext t;
  const cn_blocked_depthwise_f32_args b = depthwise_args(c, a, &t);
  run(&b, t0, t1);
  reorder(c, a->out, b.out, a->window.images, a->window.groups, cn_volume(a->window.out), 1);
}

/* Pixels t0 .. t1 of each image, in two parts, as a function of a convolution behind it would have them. */
static void run_pixels(Case *c, const cn_conv_f32_args *a, cn_blocked_pixels_f32 *pixels, size_t t0, size_t t1) {
  TileContext t;
  const cn_blocked_depthwise_f32_args b = depthwise_args(c, a, &t);
  const size_t images = a->window.images, lanes = c->set->lanes, area = cn_volume(a->window.out), cut = t0 + pick(c, (uint32_t)(t1 - t0) + 1);
  for (size_t part = 0; part < 2; part++) {
    const size_t p0 = part ? cut : t0, p1 = part ? t1 : cut, row = (p1 - p0) * lanes;
    float *dst = guarded(c, b.window.groups * row);
    for (size_t image = 0; image < images; image++) {
      pixels(&b, image, p0, p1, dst);
      for (size_t k = 0; k < b.window.groups; k++) memcpy(b.out + ((image * b.window.groups + k) * area + p0) * lanes, dst + k * row, row * sizeof *dst);
    }
  }
  reorder(c, a->out, b.out, images, a->window.groups, area, 1);
}

/* ---- pixels that lie apart ---- */
#define GAP (-12345.0f)

/* blocked_tile where rows are pixels, columns channels. */
static void tokens_tile(void *ctx, float *tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {
  const TileContext *t = ctx;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) tile[i * ld + j] = tile[i * ld + j] * 2.0f + (float)(index * t->groups + n0 + j) + (float)(m0 + i);
}

/* In blocks, or as tokens with something behind each. */
static cn_blocked_pitch pick_pitch(Case *c, size_t blocks, size_t area) {
  const size_t lanes = c->set->lanes, pixel = blocks * lanes + pick(c, 3) * pick(c, 20);
  if (pick(c, 3) == 0) return (cn_blocked_pitch){blocks * area * lanes, area * lanes, lanes};
  return (cn_blocked_pitch){area * pixel + pick(c, 5), lanes, pixel};
}

/* Where element i of a tensor in blocks lies then. */
static size_t pixel_at(const Case *c, const cn_blocked_pitch *pitch, size_t blocks, size_t area, size_t i) {
  const size_t lanes = c->set->lanes, p = i / lanes;
  return p / area / blocks * pitch->image + p / area % blocks * pitch->block + p % area * pitch->pixel + i % lanes;
}

static size_t pixels_room(const Case *c, const cn_blocked_pitch *pitch, size_t blocks, size_t area, size_t n) {
  return n ? pixel_at(c, pitch, blocks, area, n - 1) + 1 : 0;
}

static float *spread_pixels(Case *c, const float *blocked, size_t images, size_t blocks, size_t area, const cn_blocked_pitch *pitch) {
  const size_t n = images * blocks * area * c->set->lanes, room = pixels_room(c, pitch, blocks, area, n);
  float *spread = guarded(c, room);
  for (size_t i = 0; i < room; i++) spread[i] = GAP;
  for (size_t i = 0; i < n; i++) spread[pixel_at(c, pitch, blocks, area, i)] = blocked[i];
  return spread;
}

static void gather_pixels(Case *c, float *blocked, float *spread, size_t images, size_t blocks, size_t area, const cn_blocked_pitch *pitch) {
  const size_t n = images * blocks * area * c->set->lanes, room = pixels_room(c, pitch, blocks, area, n);
  for (size_t i = 0; i < n; i++) {
    const size_t at = pixel_at(c, pitch, blocks, area, i);
    blocked[i] = spread[at];
    spread[at] = GAP;
  }
  for (size_t i = 0; i < room; i++)
    if (spread[i] != GAP) fail(c, "%s: wrote between pixels", c->kernel);
}

static void run_tokens(Case *c, const cn_conv_f32_args *a, TokensDepthwiseRun *run, size_t t0, size_t t1) {
  TileContext t;
  const cn_blocked_depthwise_f32_args b = depthwise_args(c, a, &t);
  const cn_window *w = &b.window;
  const size_t blocks = w->groups, area = cn_volume(w->out);
  const cn_blocked_pitch from = pick_pitch(c, blocks, cn_volume(w->in)), to = pick_pitch(c, blocks, area);
  cn_tokens_depthwise_f32_args d = {.window = *w, .from = from, .to = to, .weights = b.weights, .ep = b.ep};
  float *out = spread_pixels(c, b.out, w->images, blocks, area, &to);
  d.in = spread_pixels(c, b.in, w->images, blocks, cn_volume(w->in), &from);
  d.out = out;
  if (b.ep.residual) d.ep.residual = b.ep.residual == b.out ? out : spread_pixels(c, b.ep.residual, w->images, blocks, area, &to);
  if (b.ep.tile && to.pixel != c->set->lanes) d.ep.tile = tokens_tile;
  run(&d, t0, t1);
  gather_pixels(c, b.out, out, w->images, blocks, area, &to);
  reorder(c, a->out, b.out, w->images, a->window.groups, area, 1);
}

#define RUNNERS(name)                                                                                                            \
  static void run_blocked_depthwise_##name(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {           \
    (void)scratch;                                                                                                               \
    run_depthwise(c, a, c->set->blocked_depthwise_##name, t0, t1);                                                               \
  }                                                                                                                              \
  static void run_blocked_depthwise_pixels_##name(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {    \
    (void)scratch;                                                                                                               \
    run_pixels(c, a, c->set->blocked_depthwise_pixels_##name, t0, t1);                                                           \
  }
#define TOKENS_RUNNER(name)                                                                                                      \
  static void run_tokens_depthwise_##name(Case *c, const cn_conv_f32_args *a, float *scratch, size_t t0, size_t t1) {            \
    (void)scratch;                                                                                                               \
    run_tokens(c, a, c->set->tokens_depthwise_##name, t0, t1);                                                                   \
  }

RUNNERS(f32)
RUNNERS(f32_3x3s1)
RUNNERS(f32_3x3s2)
RUNNERS(f32_5x5s1)
RUNNERS(f32_5x5s2)
RUNNERS(f32_7x7s1)
TOKENS_RUNNER(f32_3x3s1)
TOKENS_RUNNER(f32_3x3s2)
TOKENS_RUNNER(f32_5x5s1)
TOKENS_RUNNER(f32_5x5s2)
TOKENS_RUNNER(f32_7x7s1)

static void test_pixels(Case *c, ConvRunner *run, cn_window window) {
  cn_conv_f32_args a = {.window = window};
  a.window.groups = 1 + pick(c, (uint32_t)(2 * c->set->lanes + 2));
  a.weights = conv_operands(c, &a);
  a.ep.flags &= ~(unsigned)CN_EP_RESIDUAL;
  a.ep.residual = NULL;
  conv_both_ways(c, run, &a, a.weights, 0, cn_volume(window.out));
}

void test_cn_blocked_depthwise_pixels_f32(Case *c) { test_pixels(c, run_blocked_depthwise_pixels_f32, pick_image(c)); }

static void test_depthwise(Case *c, ConvRunner *run, cn_window window) {
  cn_conv_f32_args a = {.window = window};
  a.window.groups = 1 + pick(c, (uint32_t)(2 * c->set->lanes + 2));
  a.weights = conv_operands(c, &a);
  window.groups = cn_ceil_div(a.window.groups, c->set->lanes);
  conv_both_ways(c, run, &a, a.weights, 0, cn_blocked_window_tasks(&window));
}

static void test_tokens(Case *c, ConvRunner *run, size_t k, size_t stride) {
  cn_conv_f32_args a = {.window = pick_square(c, k, stride)};
  if (!cn_blocked_tiled_window(&a.window, k, stride)) a.window.pad[2] = 0, a.window.out[2] = (a.window.in[2] - k) / stride + 1; /* of three: no more than one outside */
  a.window.groups = 1 + pick(c, (uint32_t)(2 * c->set->lanes + 2));
  a.weights = conv_operands(c, &a);
  conv_both_ways(c, run, &a, a.weights, 0, a.window.images * cn_tokens_bands(&a.window));
}

void test_cn_blocked_depthwise_f32(Case *c) { test_depthwise(c, run_blocked_depthwise_f32, pick_image(c)); }

#define SQUARE_TEST(name, k, s)                                          \
  void test_cn_blocked_depthwise_f32_##name(Case *c) {                   \
    test_depthwise(c, run_blocked_depthwise_f32_##name, pick_square(c, k, s)); \
  }                                                                      \
  void test_cn_blocked_depthwise_pixels_f32_##name(Case *c) {            \
    test_pixels(c, run_blocked_depthwise_pixels_f32_##name, pick_square(c, k, s)); \
  }                                                                      \
  void test_cn_tokens_depthwise_f32_##name(Case *c) { test_tokens(c, run_tokens_depthwise_f32_##name, k, s); }

SQUARE_TEST(3x3s1, 3, 1)
SQUARE_TEST(3x3s2, 3, 2)
SQUARE_TEST(5x5s1, 5, 1)
SQUARE_TEST(5x5s2, 5, 2)
SQUARE_TEST(7x7s1, 7, 1)

static void test_pool(Case *c, BlockedPoolRun *run, cn_window w) {
  const size_t lanes = c->set->lanes;
  cn_pool_f32_args a = {.flags = pick(c, 2) ? CN_POOL_AVERAGE | (pick(c, 2) ? CN_POOL_INCLUDE_PAD : 0) : pick(c, 4) ? 0 : CN_POOL_SUM};
  a.window = w;
  const size_t channels = a.window.groups = 1 + pick(c, (uint32_t)(2 * lanes + 1)), pixels = cn_volume(w.out);
  float *in = guarded_values(c, w.images * channels * cn_volume(w.in));
  if (pick(c, 4) == 0) in[pick(c, (uint32_t)(w.images * channels * cn_volume(w.in)))] = pick(c, 2) ? NAN : -INFINITY;
  a.in = in;
  cn_blocked_pool_f32_args b = {.window = w, .flags = a.flags, .in = as_blocked(c, in, w.images, channels, cn_volume(w.in))};
  b.window.groups = cn_ceil_div(channels, lanes);
  b.out = guarded(c, w.images * b.window.groups * lanes * pixels);
  const size_t tasks = cn_blocked_window_tasks(&b.window), cut = pick(c, (uint32_t)tasks + 1);
  run(&b, cut, tasks);
  run(&b, 0, cut);
  float *out = guarded(c, w.images * channels * pixels);
  reorder(c, out, b.out, w.images, channels, pixels, 1);
  for (size_t i = 0; i < w.images * channels * pixels; i++) {
    const size_t p = i % pixels, o[3] = {0, p / w.out[2], p % w.out[2]};
    const double want = pool_reference(&a, i / pixels, o);
    if (!close_enough(out[i], want, 1e-5)) fail(c, "%s place %zu is %g, not %g", c->kernel, i, (double)out[i], want);
  }
}

void test_cn_blocked_pool_f32(Case *c) {
  const cn_window w = pick_square(c, 1 + pick(c, 4), 1 + pick(c, 3));
  test_pool(c, c->set->blocked_pool_f32, w);
}

#define POOL_TEST(name, k, s) \
  void test_cn_blocked_pool_f32_##name(Case *c) { test_pool(c, c->set->blocked_pool_f32_##name, pick_square(c, k, s)); }

POOL_TEST(2x2s2, 2, 2)
POOL_TEST(3x3s1, 3, 1)
POOL_TEST(3x3s2, 3, 2)

/* The definition, in double. */
static double lrn_reference(const cn_blocked_lrn_f32_args *a, const float *in, size_t i) {
  const size_t c = i / a->pixels % a->channels, from = c - (c < a->below ? c : a->below);
  double sum = 0;
  for (size_t k = from; k <= c + a->above && k < a->channels; k++) {
    const double v = (double)in[i + k * a->pixels - c * a->pixels];
    sum += v * v;
  }
  return (double)in[i] / pow((double)a->bias + (double)a->scale * sum, a->quarters / 4.0);
}

void test_cn_blocked_lrn_f32(Case *c) {
  const size_t lanes = c->set->lanes;
  cn_blocked_lrn_f32_args a = {.images = 1 + pick(c, 2), .channels = 1 + pick(c, (uint32_t)(3 * lanes)), .pixels = 1 + pick(c, 40),
                               .scale = pick(c, 4) ? 0.01f * (float)pick(c, 100) : 0.0f, .bias = 0.5f + (float)pick(c, 3), .quarters = 1 + (int)pick(c, 3)};
  a.below = pick(c, (uint32_t)cn_min(a.channels, 9));
  a.above = pick(c, (uint32_t)cn_min(a.channels, 9));
  const size_t blocks = cn_ceil_div(a.channels, lanes), n = a.images * a.channels * a.pixels, room = a.images * blocks * lanes * a.pixels;
  float *in = guarded_values(c, n), *out = guarded(c, n), *scratch = guarded(c, cn_blocked_lrn_f32_scratch(a.channels, a.below, a.above, lanes));
  if (pick(c, 4) == 0) in[pick(c, (uint32_t)n)] = NAN;
  a.in = as_blocked(c, in, a.images, a.channels, a.pixels);
  a.out = guarded(c, room);
  if (pick(c, 2)) memcpy(a.out, a.in, room * sizeof(float)), a.in = a.out;
  const size_t tasks = c->set->blocked_lrn_tasks(&a), cut = pick(c, (uint32_t)tasks + 1);
  c->set->blocked_lrn_f32(&a, scratch, cut, tasks);
  c->set->blocked_lrn_f32(&a, scratch, 0, cut);
  reorder(c, out, a.out, a.images, a.channels, a.pixels, 1);
  for (size_t i = 0; i < n; i++) {
    const double want = lrn_reference(&a, in, i);
    if (!close_enough(out[i], want, 1e-5)) fail(c, "%s place %zu is %g, not %g", c->kernel, i, (double)out[i], want);
  }
}
