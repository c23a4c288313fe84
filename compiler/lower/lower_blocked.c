#include "lower/lower_blocked.h"

#include "lower/scratch.h"
#include "lower/window.h"
#include "lower/winograd.h"

#include "kernels/blocked_driver.h"
#include "kernels/pack.h"
#include "kernels/winograd.h"

/* What is known of every convolution over blocks (pass_layout): m of all parts, blocks of one. A part of groups that are not whole blocks is a block. */
typedef struct Shape { size_t m, c, slices, taps, block, blocks, parts; bool plain; cn_blocked_grouping grouping; cn_blocked_groups groups; } Shape; /* c: of all slices that are seen */

static cn_blocked_input input_of(const Shape *s) { return s->plain ? CN_BLOCKED_PLAIN : CN_BLOCKED_BLOCKS; }

static size_t known(const Dim *d) {
  int64_t v = 0;
  (void)dim_is_const(d, &v);
  return (size_t)v;
}

static uint32_t constant_floats(Lower *l, size_t n, float *v, Str name) {
  const Dim **dims = NEW(l->a, const Dim *);
  dims[0] = dim_const(l->p->dims, (int64_t)n);
  return lower_constant(l, DT_f32, 1, dims, tensor_take_host(l->a, DT_f32, n, v), name);
}

static size_t weights_of(const Shape *s, size_t blocks) {
  return (s->grouping == CN_BLOCKED_STRADDLE ? cn_blocked_read_by_all(&s->groups, s->block) : s->parts * blocks * s->c) * s->block * s->taps;
}

/* Blocks n0 .. n1 of all parts, `n` at a time. */
static float *pack_parts(const Shape *s, const float *src, size_t n0, size_t n1, size_t n, float *at) {
  const size_t m = s->blocks * s->block;
  for (size_t p = 0; p < s->parts; p++) {
    for (size_t b = n0; b < n1; b += n)
      at = cn_pack_blocked_f32(src + p * m * s->c * s->taps, cn_min(m, s->m - p * m), s->slices, s->c / s->slices, s->taps, s->plain, s->block, b, n, at);
  }
  return at;
}

static uint32_t pack_dense(Lower *l, const ConvStep *step, const Shape *s, const Value *w) {
  const size_t count = weights_of(s, s->blocks), most = step->most.blocks;
  const float *src = tensor_host_elements(l->a, w->data);
  float *packed = NEW_ARRAY(l->a, float, count);
  if (s->grouping == CN_BLOCKED_STRADDLE) {
    (void)cn_pack_straddle_f32(src, s->groups.n, s->groups.c, s->groups.m, s->taps, s->block, packed);
    return constant_floats(l, count, packed, w->name);
  }
  float *at = pack_parts(s, src, 0, most, step->most.wide, packed);
  (void)pack_parts(s, src, most, s->blocks, step->rest.wide, at);
  return constant_floats(l, count, packed, w->name);
}

static uint32_t pack_depthwise(Lower *l, const Shape *s, const Value *w) {
  const size_t count = weights_of(s, s->blocks);
  float *packed = NEW_ARRAY(l->a, float, count);
  cn_pack_depthwise_f32(tensor_host_elements(l->a, w->data), s->m, s->taps, s->block, packed);
  return constant_floats(l, count, packed, w->name);
}

static uint32_t padded_bias(Lower *l, const Shape *s, const Value *bias) {
  if (!bias) return NO_TENSOR;
  const size_t room = s->parts * s->blocks * s->block;
  float *padded = NEW_ARRAY(l->a, float, room);
  memcpy(padded, tensor_host_elements(l->a, bias->data), s->m * sizeof *padded);
  return constant_floats(l, room, padded, bias->name);
}

/* The largest share that the target's tile takes, even over all calls: 5 blocks are 3 and 2, not 4 and 1, and 16 by 3 are 12 and two times 2: one
 * alone loads a pixel for each product. */
static void split_blocks(Lower *l, ConvStep *step, uint32_t blocks) {
  const uint32_t at_most = (uint32_t)target_tile(l->opt->target, "blocked_f32")->mr, groups = (blocks + at_most - 1) / at_most;
  const uint32_t wide = (blocks + groups - 1) / groups;
  uint32_t rest = blocks % wide, rest_blocks = rest;
  if (rest == 1 && wide >= 3) {
    rest = wide - 1;
    rest_blocks = rest * rest; /* one more than a multiple of `wide` */
  }
  step->most = (BlockedCall){.blocks = blocks - rest_blocks, .wide = wide};
  step->rest = (BlockedCall){.blocks = rest_blocks, .wide = rest};
}

/* Whether one block at a time is quicker than several: where outputs slide, in tiles that make up a row, and are so many that three products in turn to
 * each hide an addition's latency, which AVX2's eight are not (resnet8_cifar's 16 to 16 channels: tiles 168, sliding 176 thousand cycles; AVX-512, 32 to
 * 32: tiles 81, sliding 72). */
static bool slides_best(const Target *t, const cn_window *w, cn_blocked_input input) {
  const TargetTile *tile = target_tile(t, "blocked_f32");
  const size_t lanes = t->vector_bits / 32, n = cn_blocked_slides(w, input, lanes, tile->mr * tile->nr / lanes);
  return n > 8 && w->out[2] % n == 0 && w->stride[2] == 1;
}

/* ---- Winograd ---- */
int64_t lower_usual_bytes(DType t, uint32_t rank, const Dim *const *dims) {
  const int64_t most = INT64_C(1) << 40;
  int64_t bytes = dtype_rows[t].bits / 8, n;
  for (uint32_t i = 0; i < rank; i++) {
    if (!dim_is_const(dims[i], &n) && (i == 0 || !dim_eval(dims[i], NULL, &n))) n = 1;
    if (n <= 0) return 0;
    bytes = bytes > most / n ? most : bytes * n;
  }
  return bytes;
}

/* Where it lies in the workspace. */
static int64_t stored_bytes(const Value *v) {
  return v->def ? lower_usual_bytes(v->type.dtype, v->type.rank, v->type.dims) : 0; /* else the caller's */
}

static int64_t conv_bytes(const Node *n) { return stored_bytes(n->in[0]) + stored_bytes(n->out[0]); }

/* Of the convolution that reads and writes most: the workspace has as many. */
static int64_t most_conv_bytes(const Graph *g) {
  int64_t most = 0;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    if (n->op == OP_CONV && !n->dead && ((const ConvAttr *)n->attr)->block && conv_bytes(n) > most) most = conv_bytes(n);
  }
  return most;
}

/* What the scratch of a convolution may take without the workspace growing by more than a tenth, twice: shares have their own. */
static int64_t scratch_room(Lower *l, const Node *n) {
  if (!l->workspace) l->workspace = most_conv_bytes(l->ir->main);
  return (l->workspace + l->workspace / 10 - conv_bytes(n)) / 2;
}

/* Bytes: no more tiles at a time than the image has. */
static const Dim *winograd_scratch(DimCtx *c, const BlockedWindow *w, const Winograd *v, size_t lanes) {
  const Dim *side = dim_const(c, (int64_t)v->side), *tiles = dim_mul(c, dim_ceildiv(c, w->out[0], side), dim_ceildiv(c, w->out[1], side));
  const size_t none = cn_winograd_scratch(&w->usual, v->side, 0, lanes), each = cn_winograd_scratch(&w->usual, v->side, 1, lanes) - none;
  const Dim *floats = dim_addc(c, dim_mulc(c, dim_min(c, tiles, dim_const(c, (int64_t)v->band)), (int64_t)each), (int64_t)none);
  return dim_mulc(c, floats, (int64_t)sizeof(float));
}

static bool is_3x3(const cn_window *w) {
  for (int i = 1; i < 3; i++)
    if (w->kernel[i] != 3 || w->stride[i] != 1 || w->dilation[i] != 1) return false;
  return true;
}

/* ---- the step ---- */
/* How a call computes, and its tasks where all sizes are known. */
static void choose_driver(const Target *t, const BlockedWindow *w, cn_blocked_input input, cn_blocked_grouping grouping, BlockedCall *call) {
  const TargetTile *tile = target_tile(t, "blocked_f32");
  const size_t lanes = t->vector_bits / 32, sums = tile->mr * tile->nr / lanes;
  if (!call->blocks) return;
  const cn_blocked_way way = w->open ? cn_blocked_any_way(call->wide, sums) : cn_blocked_way_of(&w->most, input, call->wide, lanes, sums);
  call->driver = cn_blocked_driver(&w->most, input, grouping, way, sums);
  call->pixels = (uint32_t)way.pixels, call->slides = (uint32_t)way.slides;
  if (!w->open && !w->many) call->tasks = cn_blocked_count(&w->most, input, call->blocks, way, lanes);
}

/* Weights as the kernel of the step wants them; scratch in bytes. */
static uint32_t lower_dense_weights(Lower *l, const Node *n, const Shape *shape, const BlockedWindow *window, ConvStep *s, const Dim **ret_scratch) {
  DimCtx *c = l->p->dims;
  const Value *w = n->in[1];
  const Target *t = l->opt->target;
  const cn_blocked_input input = input_of(shape);
  split_blocks(l, s, (uint32_t)shape->blocks);
  const bool whole = shape->slices == 1 || shape->c / shape->slices % shape->block == 0;
  if (l->opt->winograd && !shape->plain && s->attr.group == 1 && whole && is_3x3(&window->most)) {
    const float *weights = tensor_host_elements(l->a, w->data);
    s->winograd = winograd_choose(t, &window->usual, weights, shape->m, scratch_room(l, n), l->opt->shared);
    if (s->winograd.side) {
      const Winograd *v = &s->winograd;
      *ret_scratch = winograd_scratch(c, window, v, shape->block);
      return constant_floats(l, shape->blocks * shape->block * shape->c * cn_winograd_places(v->side),
                             winograd_pack(l->a, v, weights, shape->m, shape->c, shape->block), w->name);
    }
  }
  if (!window->open && slides_best(t, &window->most, input)) {
    s->most = (BlockedCall){.blocks = (uint32_t)shape->blocks, .wide = 1};
    s->rest = (BlockedCall){0};
  }
  choose_driver(t, window, input, shape->grouping, &s->most);
  choose_driver(t, window, input, shape->grouping, &s->rest);
  s->rest_weights = weights_of(shape, s->most.blocks);
  *ret_scratch = dim_max(c, window_blocked_scratch(c, t, window, input, &s->most), window_blocked_scratch(c, t, window, input, &s->rest));
  return pack_dense(l, s, shape, w);
}

bool lower_blocked_conv(Lower *l, const Node *n, ConvStep *s) {
  DimCtx *c = l->p->dims;
  const Value *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL;
  uint32_t in[5] = {lower_dense(l, n->in[0], n->src), NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR}, out = lower_result(l, n->out[0]);
  const PTensor x = l->p->tensors.data[in[0]], y = l->p->tensors.data[out];
  const size_t slices = (size_t)conv_depth(&s->attr);
  Shape shape = {known(w->type.dims[0]), known(w->type.dims[1]), slices, known(w->type.dims[2]) * known(w->type.dims[3]), (size_t)s->attr.block,
                 known(y.dims[1]), 1, x.rank == 4, CN_BLOCKED_WHOLE, {0}};
  const Dim *scratch = c->zero;
  s->channels = w->type.dims[1];
  s->kernel = w->type.dims + 2;
  s->depthwise = s->attr.group > 1 && shape.c == 1;
  if (s->attr.group > 1 && !s->depthwise) {
    shape.groups = (cn_blocked_groups){(size_t)s->attr.group, shape.c, shape.m / (size_t)s->attr.group};
    shape.grouping = cn_blocked_grouping_of(&shape.groups, shape.block);
    shape.parts = shape.grouping == CN_BLOCKED_WHOLE ? (size_t)s->attr.group : shape.blocks;
  }
  if (shape.grouping == CN_BLOCKED_STRADDLE) s->straddle = (Straddle){shape.c, shape.groups.m, cn_blocked_most_read(&shape.groups, shape.block)};
  shape.blocks /= shape.parts;
  s->parts = (uint32_t)shape.parts;
  s->w_packed = true;
  s->pack_bytes = c->zero;
  const WindowDims win = window_blocked_dims(c, &x, &y, s);
  const BlockedWindow window = window_blocked(c, &win, y.dims[0], s->parts, dim_const(c, (int64_t)(s->straddle.most ? s->straddle.most : shape.c / slices)), dim_const(c, (int64_t)(shape.blocks * shape.block)));
  in[1] = s->depthwise ? pack_depthwise(l, &shape, w) : lower_dense_weights(l, n, &shape, &window, s, &scratch);
  in[2] = padded_bias(l, &shape, bias);
  (void)lower_step(l, STEP_CONV, in, 5, &out, 1, s, scratch, n->src);
  return true;
}

/* Pixels that tiles of n blocks compute of an image whose halves are of whole tiles. */
static size_t tiled_pixels(const Target *t, size_t pixels, size_t n) {
  const TargetTile *tile = target_tile(t, "blocked_f32");
  const size_t unit = cn_blocked_pixels(pixels, n, tile->mr * tile->nr / (t->vector_bits / 32)), tiles = cn_ceil_div(pixels, unit);
  return (tiles > 1 ? cn_round_up(tiles, 2) : 1) * unit;
}

uint32_t lower_blocked_even(const Target *t, const ConvStep *s, size_t pixels) {
  const uint32_t blocks = s->most.blocks + s->rest.blocks;
  uint32_t n = s->most.wide;
  if (!s->rest.blocks) return n;
  while (n > 1 && blocks % n) n--;
  return n > 1 && 20 * tiled_pixels(t, pixels, n) <= 21 * tiled_pixels(t, pixels, s->most.wide) ? n : 0;
}

/* Weights of a pointwise convolution's two calls as one of so many blocks at a time has them. */
static uint32_t repack(Lower *l, const ConvStep *s, uint32_t weights, size_t wide) {
  const Buffer *b = &l->p->buffers.data[l->p->tensors.data[weights].buffer];
  const size_t depth = known(s->channels), lanes = (size_t)s->attr.block, blocks = s->most.blocks + s->rest.blocks;
  const float *src = tensor_host_elements(l->a, b->data);
  float *dst = NEW_ARRAY(l->a, float, blocks * depth * lanes);
  for (size_t k = 0; k < blocks; k++) {
    const BlockedCall *call = k < s->most.blocks ? &s->most : &s->rest;
    const size_t i = k < s->most.blocks ? k : k - s->most.blocks, w = call->wide;
    const float *from = src + (call == &s->rest ? s->rest_weights : 0) + (i / w * depth * w + i % w) * lanes;
    float *to = dst + (k / wide * depth * wide + k % wide) * lanes;
    for (size_t c = 0; c < depth; c++) memcpy(to + c * wide * lanes, from + c * w * lanes, lanes * sizeof *to);
  }
  return constant_floats(l, blocks * depth * lanes, dst, b->name);
}

uint32_t lower_blocked_computed(Lower *l, ConvStep *s, uint32_t wide, uint32_t weights, uint32_t out) {
  DimCtx *c = l->p->dims;
  const Target *t = l->opt->target;
  const PTensor *x = &l->p->tensors.data[s->before.image], *y = &l->p->tensors.data[out];
  const WindowDims win = window_blocked_dims(c, x, y, s);
  const BlockedWindow window = window_blocked(c, &win, y->dims[0], 1, s->channels, dim_mulc(c, y->dims[1], s->attr.block));
  if (wide != s->most.wide) weights = repack(l, s, weights, wide);
  s->most = (BlockedCall){.blocks = s->most.blocks + s->rest.blocks, .wide = wide};
  s->rest = (BlockedCall){0};
  choose_driver(t, &window, CN_BLOCKED_COMPUTED, false, &s->most);
  const size_t lanes = (size_t)s->attr.block;
  const cn_blocked_way way = {s->most.wide, s->most.pixels, s->most.slides};
  s->before.fixed = cn_blocked_conv_f32_scratch(&window.most, CN_BLOCKED_COMPUTED, s->most.blocks, way, lanes);
  s->before.pixel = cn_round_up(known(s->channels), lanes);
  s->before.most = cn_blocked_most(&window.most, way);
  s->before.least = s->most.tasks ? cn_blocked_span(&window.most, CN_BLOCKED_COMPUTED, s->most.blocks, way, lanes) : s->before.most;
  return weights;
}

bool lower_lrn(Lower *l, const Node *n) {
  const LrnAttr *a = n->attr;
  LrnStep *s = NEW(l->a, LrnStep);
  const uint32_t in = lower_dense(l, n->in[0], n->src), out = lower_result(l, n->out[0]);
  const size_t last = (size_t)a->channels - 1, below = (size_t)(a->size - 1) / 2, above = (size_t)a->size / 2;
  *s = (LrnStep){(size_t)a->channels, below < last ? below : last, above < last ? above : last, a->alpha / (float)a->size, a->bias, (int)(a->beta * 4)};
  const size_t scratch = sizeof(float) * cn_blocked_lrn_f32_scratch(s->channels, s->below, s->above, known(n->in[0]->type.dims[4]));
  (void)lower_step(l, STEP_LRN, &in, 1, &out, 1, s, dim_const(l->p->dims, (int64_t)scratch), n->src);
  return true;
}
