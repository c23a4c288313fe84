/* Blocked channels: a convolution whose channels are known computes [N][C / block][H][W][block], so that a vector holds one place of
 * neighbouring channels whatever the image's size, of one row too (convolutions of one spatial dimension), open ones too, whose worth is judged by usual
 * sizes (dim_eval); pooling, element-wise work, resizing and concatenations behind it stay in that form. Each such node's plain result is a view of the
 * blocked one, made beside it; where all readers take the blocked one it is dead. */
#include "passes/layout.h"

#include "kernels/blocked.h"

enum { FEW_CHANNELS = 4, PLAIN_CHANNELS = 8, WORK = 512, CHAIN = 128, CACHED = 8192, SIDE = LAYOUT_SIDE, AREA = 1 << 24 };

int64_t layout_size(const Value *v, uint32_t axis) {
  int64_t n;
  return dim_is_const(v->type.dims[axis], &n) ? n : -1;
}

/* The size of an axis, perhaps about, 1 at least; an open one never above SIDE. */
static int64_t about(const Value *v, uint32_t axis) {
  int64_t n;
  if (dim_is_const(v->type.dims[axis], &n)) return n;
  if (!dim_eval(v->type.dims[axis], NULL, &n) || n < 1) return 1;
  return n < SIDE ? n : SIDE;
}

/* Elements behind axis 1 of a value whose sizes there are modest, about. */
static int64_t area_of(const Value *v) {
  int64_t area = 1;
  for (uint32_t a = 2; a < v->type.rank; a++) {
    const int64_t n = about(v, a);
    area = area < AREA ? area * n : area;
  }
  return area;
}

bool layout_is_modest(const Value *v) {
  int64_t area = 1;
  for (uint32_t a = 1; a < v->type.rank; a++) {
    const int64_t n = layout_size(v, a);
    if (a > 1 && n < 0 && !dim_has_data(v->type.dims[a])) continue;
    if (n < 1 || n > SIDE || (a > 1 && (area *= n) >= AREA)) return false;
  }
  return true;
}

/* f32 [N][C][H][W] or, of one row, [N][C][W]. */
static bool is_image(const Value *v) {
  return v->type.kind == TYPE_TENSOR && v->type.dtype == DT_f32 && v->type.rank >= 3 && v->type.rank <= 4 && layout_is_modest(v);
}

static const Dim *height_of(const Builder *b, const Value *v) { return v->type.rank == 4 ? v->type.dims[2] : b->ir->dims->one; }

static const Dim *width_of(const Value *v) { return v->type.dims[v->type.rank - 1]; }

/* An attribute of two spatial dimensions, from that of n. */
static const int64_t *two_sizes(Builder *b, uint32_t n, const int64_t *v) {
  if (n == 2) return v;
  int64_t *two = NEW_ARRAY(b->ir->arena, int64_t, 2);
  two[0] = 1, two[1] = v[0];
  return two;
}

static const Dim *const *two_pads(Builder *b, uint32_t n, const Dim *const *v) {
  if (n == 2) return v;
  const Dim **two = NEW_ARRAY(b->ir->arena, const Dim *, 2);
  two[0] = b->ir->dims->zero, two[1] = v[0];
  return two;
}

/* The like with more axes behind the channels, as resizing makes them. */
static bool is_grid(const Value *v) {
  return v->type.kind == TYPE_TENSOR && v->type.dtype == DT_f32 && v->type.rank >= 4 && v->type.rank < MAX_RANK && layout_is_modest(v);
}

/* Either, of any type: what element-wise work is made on, comparisons too. */
static bool is_grid_of_any(const Value *v) {
  return v->type.kind == TYPE_TENSOR && v->type.dtype != DT_str && v->type.rank >= 3 && v->type.rank < MAX_RANK && layout_is_modest(v);
}

static Value *blocked_of(const Layout *l, const Value *v) { return v && v->id < l->of.n ? l->of.data[v->id] : NULL; }

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* ---- channels last ---- */
/* Coordinate j of the result and nothing else; 0 of an axis that has no other. */
static bool is_coord(const Affine *f, const Value *out, uint32_t j) {
  if (!dim_is(f->offset, 0)) return false;
  for (uint32_t i = 0; i < out->type.rank; i++)
    if (i != j ? affine_coef(f, i) != NULL : affine_coef(f, i) && !dim_is(affine_coef(f, i), 1)) return false;
  return affine_coef(f, j) || dim_is(out->type.dims[j], 1);
}

/* Whether n makes an image, [N][C][places], of one with its channels last (to_image), or one with channels last of an image: a transposition. */
static bool moves_channels(const Node *n, bool to_image) {
  if (!n || n->op != OP_VIEW) return false;
  const Value *x = n->in[0], *y = n->out[0];
  const Affine *index = ((const ViewAttr *)n->attr)->index;
  const uint32_t rank = x->type.rank;
  if (rank < 3 || rank != y->type.rank) return false;
  for (uint32_t a = 0; a < rank; a++) {
    const uint32_t to = a == 0 ? 0 : to_image ? a % (rank - 1) + 1 : a == 1 ? rank - 1 : a - 1;
    if (!is_coord(&index[a], y, to) || x->type.dims[a] != y->type.dims[to]) return false;
  }
  return true;
}

/* Of an image that is such a view, its places cut into rows perhaps: what it is a view of, [N][places][C]; else NULL. Blocks are a copy of whole
 * vectors then, in place of the transposition. */
static Value *channels_last(const Layout *l, const Value *v) {
  const Node *n = v->def;
  if (!is_image(v) || layout_size(v, 1) < l->block) return NULL;
  if (n && n->op == OP_RESHAPE) {
    const Value *x = n->in[0];
    if (x->type.rank < 3 || x->type.dims[0] != v->type.dims[0] || x->type.dims[1] != v->type.dims[1]) return NULL;
    n = x->def;
  }
  return moves_channels(n, true) ? n->in[0] : NULL;
}

/* ---- from and to plain values ---- */
/* Blocks of the sizes `dims` of a value with its channels last, `more` of them missing. */
static Value *blocks_of_last(Builder *b, Value *v, int64_t more, const Dim *const *dims) {
  static const uint32_t perm[] = {0, 3, 1, 2, 4};
  const Dim *const places[] = {dims[0], dims[2], dims[3], dims[1], dims[4]}, *zero = b->ir->dims->zero;
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  for (uint32_t a = 0; a < v->type.rank; a++) lo[a] = hi[a] = zero;
  hi[v->type.rank - 1] = bd_const(b, more);
  if (more) v = build_pad(b, v, PAD_CONSTANT, lo, hi, NULL);
  return build_transpose(b, build_reshape(b, v, 5, places), perm);
}

Value *layout_copy_of(const Builder *b, Layout *l, const Value *plain) {
  while (l->copies.n <= plain->id) vec_push(l->arena, l->copies, (Copy){0});
  const Copy made = l->copies.data[plain->id];
  return made.v && graph_is_within(b->graph, made.graph) ? made.v : NULL;
}

void layout_note_copy(const Builder *b, Layout *l, const Value *plain, Value *v) { l->copies.data[plain->id] = (Copy){v, b->graph}; }

void layout_note(Layout *l, bool slices, const Value *plain, Value *blocked) {
  while (!slices && l->of.n <= plain->id) vec_push(l->arena, l->of, NULL);
  while (slices && l->slices.n <= plain->id) vec_push(l->arena, l->slices, NULL);
  (slices ? l->slices.data : l->of.data)[plain->id] = blocked;
}

/* An image as blocks: a copy that moves elements, for edges; once. One view, so that what makes the image may write the copy. */
static Value *to_blocks(Builder *b, Layout *l, Value *plain) {
  Value *v = layout_copy_of(b, l, plain);
  if (v) return v;
  v = plain;
  Value *last = channels_last(l, plain);
  const int64_t channels = layout_size(v, 1), room = round_up(channels, l->block);
  const Dim *zero = b->ir->dims->zero, *block = bd_const(b, l->block), *of_channel[5] = {zero, block, zero, zero, b->ir->dims->one};
  const Dim *dims[5] = {v->type.dims[0], bd_const(b, room / l->block), height_of(b, v), width_of(v), block};
  const Dim *lo[4] = {zero, zero, zero, zero}, *hi[4] = {zero, bd_const(b, room - channels), zero, zero};
  if (!last && room != channels) v = build_pad(b, v, PAD_CONSTANT, lo, hi, NULL);
  Affine index[4] = {build_affine_coord(b, 5, 0), {zero, arena_dup(b->ir->arena, of_channel, sizeof of_channel)}};
  for (uint32_t a = 2; v && a < v->type.rank; a++) index[a] = build_affine_coord(b, 5, a + 4 - v->type.rank);
  v = last ? blocks_of_last(b, last, room - channels, dims) : build_view(b, v, 5, dims, index);
  layout_note_copy(b, l, plain, v);
  return v;
}

/* The node's result, plain: a view of the blocked value x, known as that from now on. */
static bool give(Builder *b, Layout *l, const Node *n, Value *x, Value **ret) {
  const Value *y = n->out[0];
  const uint32_t last = x->type.rank - 1, rank = y->type.rank;
  uint32_t perm[MAX_RANK] = {0, 1, last};
  const Dim *dims[MAX_RANK] = {x->type.dims[0], dim_mulc(b->ir->dims, x->type.dims[1], l->block)};
  for (uint32_t a = 2; a < last; a++) perm[a + 1] = a;
  for (uint32_t a = 2; a < rank; a++) dims[a] = y->type.dims[a];
  if (!x->name.len) x->name = y->name;
  Value *all = build_reshape(b, build_transpose(b, x, perm), rank, dims);
  Value *plain = build_slice(b, all, 1, b->ir->dims->zero, y->type.dims[1], b->ir->dims->one);
  layout_note(l, false, plain, x);
  ret[0] = plain;
  return true;
}

Value *layout_fill_up(Builder *b, const Layout *l, const Value *v, int64_t channels, int64_t each, uint32_t rank, const Dim *const *dims) {
  const size_t n = (size_t)(channels * each), room = (size_t)(round_up(channels, l->block) * each);
  float *dst = NEW_ARRAY(b->ir->arena, float, room);
  memcpy(dst, tensor_host_elements(b->ir->arena, v->data), n * sizeof *dst);
  return ir_add_const(b->ir, type_tensor(b->ir, DT_f32, rank, dims), tensor_take_host(b->ir->arena, DT_f32, room, dst), v->name);
}

/* ---- convolution ---- */
bool layout_is_modest_window(const ConvAttr *a, const Value *w, const Value *y, uint32_t i) {
  int64_t lo, hi;
  if (a->dilate_x[i] != 1 || a->stride[i] > SIDE || a->dilation[i] > SIDE || layout_size(w, 2 + i) > SIDE) return false;
  if (!dim_is_const(a->pad_lo[i], &lo) || !dim_is_const(a->pad_hi[i], &hi) || lo < 0 || lo > SIDE || hi > SIDE) return false;
  return layout_size(y, 2 + i) < 0 || (layout_size(y, 2 + i) - 1) * a->stride[i] + (layout_size(w, 2 + i) - 1) * a->dilation[i] < SIDE;
}

static bool plain_window(const ConvAttr *a, const Value *x, const Value *w, const Value *y) {
  if (a->n_spatial > 2 || a->acc != DT_f32 || !is_image(x) || !is_image(y)) return false;
  if (!w->data || w->type.dtype != DT_f32) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!layout_is_modest_window(a, w, y, i)) return false;
  return true;
}

/* Whether the kernel lets pixels of blocks serve several outputs of a row, which it does of a copied input with 1 or 3 channels alone. */
static bool would_slide(const Layout *l, const ConvAttr *a, const Value *w, const Value *y) {
  const uint32_t last = a->n_spatial - 1;
  if (layout_size(y, 2 + last) < 0) return false;
  const size_t out = (size_t)layout_size(y, 2 + last), width = (size_t)layout_size(w, 2 + last), taps = (size_t)area_of(w);
  const cn_window row = {.c = (size_t)layout_size(w, 1), .out = {1, 1, out}, .kernel = {1, taps / width, width},
                         .stride = {1, 1, (size_t)a->stride[last]}, .dilation = {1, 1, (size_t)a->dilation[last]}};
  return layout_size(w, 0) <= l->block && cn_blocked_slides(&row, false, (size_t)l->block, (size_t)l->sums);
}

/* Whether the padded copy of a plain input is modest, too. */
static bool has_small_copy(const ConvAttr *a, const Value *w, const Value *y) {
  int64_t area = 1;
  for (uint32_t i = 0; i < a->n_spatial && area < AREA; i++) area *= (about(y, 2 + i) - 1) * a->stride[i] + (layout_size(w, 2 + i) - 1) * a->dilation[i] + 1;
  return area < AREA;
}

/* ---- what a copy into blocks pays for ---- */
static int64_t products(const Node *n) {
  int64_t all = area_of(n->out[0]);
  for (uint32_t i = 0; i < n->in[1]->type.rank; i++)
    if (!i64_mul(all, layout_size(n->in[1], i), &all)) return INT64_MAX / 2;
  return all < INT64_MAX / 2 ? all : INT64_MAX / 2;
}

/* Operands whose blocks n would read, once they were blocked. */
static uint32_t n_chained(const Layout *l, const Node *n) {
  const uint32_t volumes = layout_volume_chained(l, n);
  if (volumes) return volumes;
  switch (n->op) {
    case OP_CONV: return plain_window(n->attr, n->in[0], n->in[1], n->out[0]) ? 1 : 0;
    case OP_POOL: case OP_LRN: return is_image(n->out[0]) ? 1 : 0;
    case OP_RESHAPE: return is_image(n->in[0]) && is_image(n->out[0]) ? 1 : 0;
    case OP_VIEW:
      if (is_image(n->in[0]) && is_image(n->out[0])) return 1;
      return is_grid(n->in[0]) && is_grid(n->out[0]) ? 1 : 0;
    case OP_GATHER: case OP_REDUCE: return is_grid(n->in[0]) && is_grid(n->out[0]) ? 1 : 0;
    case OP_POINTWISE: return is_grid_of_any(n->out[0]) ? n->n_in : 0;
    case OP_CONCAT: return is_image(n->out[0]) ? n->n_in : 0;
    default: return 0;
  }
}

/* Whether groups are whole blocks, or a block is several whole groups, with as many outputs, or no more than half of the products are with zeros, which stand where an
 * output's group has no channel, of groups across the ends of blocks. Of those with one tap plain kernels, which have all outputs of a group at once, are as quick, and
 * shuffle channels as they store. */
static bool groups_fit(const Layout *l, const ConvAttr *a, const Value *w) {
  const size_t lanes = (size_t)l->block;
  const cn_blocked_groups g = {(size_t)a->group, (size_t)layout_size(w, 1), (size_t)(layout_size(w, 0) / a->group)};
  if (g.c < 2) return false;
  return cn_blocked_grouping_of(&g, lanes) != CN_BLOCKED_STRADDLE || (area_of(w) > 1 && cn_blocked_read_by_all(&g, lanes) * lanes <= 2 * g.n * g.m * g.c);
}

static bool computes_on_blocks(const Layout *l, const Node *n) {
  const ConvAttr *a = n->attr;
  if (n->op == OP_CONV && a->group != 1) return layout_size(n->in[1], 1) == 1 || groups_fit(l, a, n->in[1]);
  if (n->op == OP_CONV) return 2 * layout_size(n->in[1], 0) >= l->block;
  return n->op == OP_POOL || n->op == OP_LRN || n->op == OP_REDUCE || l->taken[n->out[0]->id];
}

/* Element-wise work on one value of the result's shape: what is left of that in plain is made of the value's blocks. */
static bool is_of_one(const Node *n) {
  uint32_t full = 0;
  for (uint32_t k = 0; k < n->n_in && n->op == OP_POINTWISE; k++) full += !n->in[k]->data && layout_is_full(n->in[k], n->out[0]);
  return full == 1;
}

static void look_ahead(Layout *l, const Graph *g) {
  int64_t *ahead = l->ahead;
  for (size_t i = 0; i < g->outputs.n; i++) l->left[g->outputs.data[i]->id] = true;
  for (size_t i = g->nodes.n; i-- > 0;) {
    const Node *n = g->nodes.data[i];
    if (n->dead) continue;
    const uint32_t chained = n_chained(l, n);
    const bool computes = chained && computes_on_blocks(l, n), left = !computes || (is_of_one(n) && l->left[n->out[0]->id]);
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k]) l->left[n->in[k]->id] |= k >= chained || left;
    for (uint32_t k = 0; k < chained; k++) {
      const int64_t own = n->op == OP_CONV ? products(n) : 0, all = own + ahead[n->out[0]->id];
      int64_t *at = &ahead[n->in[k]->id];
      if (all > *at) *at = all < INT64_MAX / 2 ? all : INT64_MAX / 2;
      l->taken[n->in[k]->id] |= computes;
    }
  }
}

/* Whether a convolution whose input is plain pays for the copy into blocks: by its own products for each element of both
 * sides, as many as the plain kernel makes, whose tiles are two vectors of pixels wide, however few there are; or by those of what
 * follows, which stays in blocks. */
static bool worth_its_copies(const Layout *l, const Node *n) {
  const Value *w = n->in[1];
  const int64_t m = layout_size(w, 0), c = layout_size(w, 1), taps = area_of(w), area = area_of(n->out[0]);
  return m * c * taps / (m + layout_size(n->in[0], 1)) * (round_up(area, 2 * l->block) / area) >= WORK;
}

bool layout_worth_a_copy(const Layout *l, const Node *n) {
  const Value *x = n->in[0];
  return worth_its_copies(l, n) || channels_last(l, x) || (products(n) + l->ahead[n->out[0]->id]) / (layout_size(x, 1) * area_of(x)) >= CHAIN;
}

/* Whether one that reads a plain input as it is pays for the copy of its result out of blocks, where nobody computes on them: a small one lies in the cache. */
static bool worth_its_result(const Layout *l, const Node *n) {
  return l->taken[n->out[0]->id] || layout_size(n->in[1], 0) * area_of(n->out[0]) <= CACHED || worth_its_copies(l, n);
}

/* Of outputs so few that plain kernels, which have a vector of pixels, are as quick and need less room: less than half a block; where a chain begins, half
 * of it, and three quarters where they read every pixel of a row. */
static bool leaves_lanes_empty(const Layout *l, const Node *n, bool in_blocks) {
  const ConvAttr *a = n->attr;
  const int64_t m = layout_size(n->in[1], 0);
  if (in_blocks) return 2 * m < l->block;
  return 4 * m <= (a->stride[a->n_spatial - 1] == 1 ? 3 : 2) * l->block;
}

/* [N][blocks][H][W][block], or with more axes behind the blocks. */
static Type blocked_type(Builder *b, const Layout *l, const Value *y) {
  const uint32_t rank = y->type.rank < 4 ? 4 : y->type.rank;
  const Dim *dims[MAX_RANK] = {y->type.dims[0], bd_const(b, round_up(layout_size(y, 1), l->block) / l->block), height_of(b, y), width_of(y)};
  if (rank > 4) memcpy(dims + 2, y->type.dims + 2, (rank - 2) * sizeof *dims);
  dims[rank] = bd_const(b, l->block);
  return type_tensor(b->ir, y->type.dtype, rank + 1, dims);
}

static bool give_conv(Builder *b, const Node *n, Layout *l, Value **in, Value **ret) {
  ConvAttr *attr = NEW(b->ir->arena, ConvAttr);
  Type t = blocked_type(b, l, n->out[0]);
  const ConvAttr *a = n->attr;
  *attr = (ConvAttr){.n_spatial = 2, .group = a->group, .acc = a->acc, .block = l->block};
  attr->stride = two_sizes(b, a->n_spatial, a->stride), attr->dilation = two_sizes(b, a->n_spatial, a->dilation);
  attr->dilate_x = two_sizes(b, a->n_spatial, a->dilate_x);
  attr->pad_lo = two_pads(b, a->n_spatial, a->pad_lo), attr->pad_hi = two_pads(b, a->n_spatial, a->pad_hi);
  return give(b, l, n, graph_add_node(b->graph, OP_CONV, in, in[2] ? 3 : 2, &t, 1, attr, n->src)->out[0], ret);
}

/* The blocked value x, whose rows may be cut otherwise (layout_view), with the rows of `image`. */
static Value *with_rows_of(Builder *b, Value *x, const Value *image) {
  const Dim *const *d = x->type.dims, *dims[5] = {d[0], d[1], height_of(b, image), width_of(image), d[4]};
  return d[2] == dims[2] && d[3] == dims[3] ? x : build_reshape(b, x, 5, dims);
}

static bool is_7x7(const ConvAttr *a, const Value *w) {
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (layout_size(w, 2 + i) != 7 || a->stride[i] != 1 || a->dilation[i] != 1) return false;
  return a->n_spatial == 2;
}

/* Windows whose weights, a vector for each tap, leave little of the first cache: plain kernels read one number for each, and skip rows of padding. */
static bool is_huge(const Layout *l, const Node *n) {
  enum { MOST_TAPS = 400 };
  return area_of(n->in[1]) > MOST_TAPS && about(n->out[0], n->out[0]->type.rank - 1) > l->block;
}

static bool layout_depthwise(Builder *b, const Node *n, Layout *l, Value **ret) {
  Value *x = blocked_of(l, n->in[0]), *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL;
  const int64_t channels = layout_size(n->in[0], 1);
  if (layout_size(w, 1) != 1 || layout_size(w, 0) != channels || is_huge(l, n)) return false;
  const bool short_rows = 2 * about(n->out[0], n->out[0]->type.rank - 1) <= l->block && 2 * channels >= l->block; /* they leave plain vectors empty */
  const bool large = 2 * channels >= l->block && is_7x7(n->attr, w); /* no plain kernel is made for it */
  if (!x && (short_rows || large || channels_last(l, n->in[0]))) x = to_blocks(b, l, n->in[0]);
  if (!x) return false;
  const Dim *all = bd_const(b, round_up(channels, l->block)), *dims[4] = {all, w->type.dims[1], height_of(b, w), width_of(w)};
  Value *in[3] = {with_rows_of(b, x, n->in[0]), layout_fill_up(b, l, w, channels, area_of(w), 4, dims), NULL};
  if (bias) in[2] = layout_fill_up(b, l, bias, channels, 1, 1, &all);
  return give_conv(b, n, l, in, ret);
}

/* An image, or weights, of one row as of two spatial dimensions. */
static Value *of_rank_4(Builder *b, Value *v) {
  if (v->type.rank == 4) return v;
  const Dim *dims[4] = {v->type.dims[0], v->type.dims[1], b->ir->dims->one, v->type.dims[2]};
  return v->data ? ir_add_const(b->ir, type_tensor(b->ir, DT_f32, 4, dims), v->data, v->name) : build_reshape(b, v, 4, dims);
}

/* Kernels count the floats of a block of an image's places in 32 bits: a check in front of a run where sizes are open. False where they never fit. */
static bool require_places(Builder *b, const Layout *l, const Value *x) {
  DimCtx *d = b->ir->dims;
  return ir_require_le(b->ir, dim_mul(d, height_of(b, x), width_of(x)), dim_const(d, INT32_MAX / l->block));
}

static bool layout_conv(Builder *b, const Node *n, Layout *l, Value **ret) {
  const ConvAttr *a = n->attr;
  Value *x = n->in[0], *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL, *known = blocked_of(l, x);
  if (n->n_in > 3 || !plain_window(a, x, w, n->out[0]) || (bias && !bias->data)) return false;
  if (a->group != 1 && !groups_fit(l, a, w)) return layout_depthwise(b, n, l, ret);
  if (leaves_lanes_empty(l, n, known)) return false;
  const bool few = a->group == 1 && layout_size(w, 1) <= FEW_CHANNELS, plain = few || (a->group == 1 && layout_size(w, 1) <= PLAIN_CHANNELS && !would_slide(l, a, w, n->out[0]));
  const bool narrow = !known && plain && has_small_copy(a, w, n->out[0]);
  if (!known && !(narrow && few ? worth_its_result(l, n) : layout_worth_a_copy(l, n))) return false;
  if (!require_places(b, l, x)) return false;
  Value *in[3] = {known ? with_rows_of(b, known, x) : narrow ? of_rank_4(b, x) : to_blocks(b, l, x), of_rank_4(b, w), bias};
  return give_conv(b, n, l, in, ret);
}

/* ---- pooling ---- */
static bool give_pool(Builder *b, const Node *n, Layout *l, Value *x, PoolAttr *attr, Value **ret) {
  Type t = blocked_type(b, l, n->out[0]);
  attr->block = l->block;
  return give(b, l, n, graph_add_node(b->graph, OP_POOL, &x, 1, &t, 1, attr, n->src)->out[0], ret);
}

static bool layout_pool(Builder *b, const Node *n, Layout *l, Value **ret) {
  Value *x = blocked_of(l, n->in[0]);
  const PoolAttr *a = n->attr;
  int64_t lo, hi;
  if (!x || n->n_out != 1 || a->n_spatial > 2 || a->kind == POOL_LP || !is_image(n->out[0])) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++) {
    if (a->kernel[i] > SIDE || a->stride[i] > SIDE || a->dilation[i] > SIDE) return false;
    if (!dim_is_const(a->pad_lo[i], &lo) || !dim_is_const(a->pad_hi[i], &hi) || lo < -SIDE || lo > SIDE || hi < -SIDE || hi > SIDE) return false;
  }
  PoolAttr *attr = NEW(b->ir->arena, PoolAttr);
  *attr = (PoolAttr){.kind = a->kind, .n_spatial = 2, .count_include_pad = a->count_include_pad, .column_major = a->column_major, .p = a->p};
  attr->kernel = two_sizes(b, a->n_spatial, a->kernel), attr->stride = two_sizes(b, a->n_spatial, a->stride);
  attr->dilation = two_sizes(b, a->n_spatial, a->dilation);
  attr->pad_lo = two_pads(b, a->n_spatial, a->pad_lo), attr->pad_hi = two_pads(b, a->n_spatial, a->pad_hi);
  return give_pool(b, n, l, with_rows_of(b, x, n->in[0]), attr, ret);
}

/* Over places, where a convolution follows; a sum or maximum over the whole image always. */
static bool layout_reduce(Builder *b, const Node *n, Layout *l, Value **ret) {
  static const int64_t ones[] = {1, 1};
  Value *x = blocked_of(l, n->in[0]);
  const ReduceAttr *a = n->attr;
  const Value *image = n->in[0];
  if (!x || a->acc != DT_f32 || a->kind > REDUCE_MIN || (a->axes & 3)) return false;
  const bool whole = (a->kind == REDUCE_SUM || a->kind == REDUCE_MAX) && a->axes == (image->type.rank == 4 ? 0xcu : 0x4u) && is_image(n->out[0]);
  if (!whole || layout_size(x, 2) < 0 || layout_size(x, 3) < 0) {
    if (!is_grid(image) || !is_grid(n->out[0]) || !(whole || l->ahead[n->out[0]->id])) return false;
    Type t = blocked_type(b, l, n->out[0]);
    if (image->type.rank == 4) x = with_rows_of(b, x, image);
    return give(b, l, n, graph_add_node(b->graph, OP_REDUCE, &x, 1, &t, 1, a, n->src)->out[0], ret);
  }
  int64_t *kernel = NEW_ARRAY(b->ir->arena, int64_t, 2);
  const Dim **pad = NEW_ARRAY(b->ir->arena, const Dim *, 2);
  kernel[0] = layout_size(x, 2), kernel[1] = layout_size(x, 3);
  pad[0] = pad[1] = b->ir->dims->zero;
  PoolAttr *attr = NEW(b->ir->arena, PoolAttr);
  *attr = (PoolAttr){.kind = a->kind == REDUCE_SUM ? POOL_SUM : POOL_MAX, .n_spatial = 2, .kernel = kernel, .stride = ones, .dilation = ones, .pad_lo = pad, .pad_hi = pad};
  return give_pool(b, n, l, x, attr, ret);
}

/* ---- normalisation over neighbouring channels ---- */
/* A plain one is nests from here on. */
static bool layout_lrn(Builder *b, const Node *n, Layout *l, Value **ret) {
  LrnAttr a = *(const LrnAttr *)n->attr;
  Value *x = blocked_of(l, n->in[0]);
  const bool quarters = a.beta == 0.25f || a.beta == 0.5f || a.beta == 0.75f;
  if (!x || !is_image(n->in[0]) || !quarters || !(a.alpha >= 0) || !(a.bias > 0)) return legalise_node(b, n, ret);
  a.channels = layout_size(n->in[0], 1);
  return give(b, l, n, build_lrn(b, x, a), ret);
}

/* ---- element-wise work ---- */
bool layout_is_full(const Value *v, const Value *out) {
  const uint32_t rank = out->type.rank;
  return v->type.rank == rank && memcmp(v->type.dims, out->type.dims, rank * sizeof *out->type.dims) == 0;
}

bool layout_is_single(const Value *v) {
  for (uint32_t a = 0; a < v->type.rank; a++)
    if (!dim_is(v->type.dims[a], 1)) return false;
  return true;
}

/* One value a channel (of each image, perhaps): [..., C, 1, 1], or [..., C, 1] of one row. */
static bool by_channel(const Value *v, const Value *out) {
  const uint32_t r = v->type.rank, all = out->type.rank, channel = all == r ? 1 : 0;
  if (all > 4 || (r != all && r + 1 != all) || v->type.dtype != DT_f32 || v->type.dims[channel] != out->type.dims[1]) return false;
  for (uint32_t a = channel + 1; a < r; a++)
    if (!dim_is(v->type.dims[a], 1)) return false;
  return !channel || dim_is(v->type.dims[0], 1) || v->type.dims[0] == out->type.dims[0];
}

/* The same for all channels of all images. */
static bool by_place(const Value *v, const Value *out) {
  const uint32_t r = v->type.rank, all = out->type.rank;
  return all > 3 && r <= all && (r + 1 < all || dim_is(v->type.dims[r + 1 - all], 1)) && (r < all || dim_is(v->type.dims[0], 1));
}

/* A constant for each channel and place, as the slopes of PRelu may be; the same for all images. */
static bool by_element(const Value *v, const Value *out) {
  const uint32_t r = v->type.rank, all = out->type.rank, images = r < all ? 0 : 1;
  if (!v->data || v->type.dtype != DT_f32 || all > 4 || r + 1 < all || r > all || (images && !dim_is(v->type.dims[0], 1))) return false;
  for (uint32_t a = 1; a < all; a++)
    if (v->type.dims[a - 1 + images] != out->type.dims[a]) return false;
  return true;
}

/* Such a constant in blocks: [1][blocks][H][W][block], zeros behind the last channel. */
static Value *in_blocks(Builder *b, const Layout *l, const Value *v, const Value *out) {
  const int64_t channels = layout_size(out, 1), room = round_up(channels, l->block);
  const size_t area = (size_t)area_of(out), block = (size_t)l->block;
  const float *src = tensor_host_elements(b->ir->arena, v->data);
  float *dst = NEW_ARRAY(b->ir->arena, float, (size_t)room * area);
  for (size_t c = 0; c < (size_t)channels; c++)
    for (size_t i = 0; i < area; i++) dst[(c / block * area + i) * block + c % block] = src[c * area + i];
  const Dim *dims[5] = {b->ir->dims->one, bd_const(b, room / l->block), height_of(b, out), width_of(out), bd_const(b, l->block)};
  return ir_add_const(b->ir, type_tensor(b->ir, DT_f32, 5, dims), tensor_take_host(b->ir->arena, DT_f32, (size_t)room * area, dst), v->name);
}

/* Whether a value of the result's shape is in blocks, or was copied into them for somebody before, or is as cheaply. */
static bool is_whole_blocks(const Builder *b, Layout *l, const Value *v, const Value *out) {
  return layout_is_full(v, out) && (blocked_of(l, v) || channels_last(l, v) || (is_image(v) && layout_copy_of(b, l, v)));
}

/* Whether one is plain and may be copied, whole blocks, where the result goes on in blocks alone: else that would be copied into them, and another operand out of them. */
static bool joins_blocks(const Layout *l, const Value *v, const Value *out) {
  return layout_is_full(v, out) && is_image(v) && !v->data && layout_size(v, 1) % l->block == 0 && l->taken[out->id] && !l->left[out->id];
}

/* An operand over blocks; NULL where it has no such form. */
static Value *blocked_operand(Builder *b, Layout *l, Value *v, const Value *out) {
  Value *own = blocked_of(l, v);
  if (!own && (is_whole_blocks(b, l, v, out) || joins_blocks(l, v, out))) return to_blocks(b, l, v);
  if (layout_is_single(v)) return v->type.rank <= out->type.rank ? v : NULL;
  if (own && (layout_is_full(v, out) || (v->type.rank == out->type.rank && by_channel(v, out)))) return own;
  if (by_place(v, out)) return build_unsqueeze(b, v, 1u << v->type.rank);
  if (by_element(v, out)) return in_blocks(b, l, v, out);
  if (!by_channel(v, out)) return NULL;
  const Dim *one = b->ir->dims->one, *images = v->type.rank == out->type.rank ? v->type.dims[0] : one;
  if (v->data && images == one) {
    const int64_t channels = layout_size(out, 1);
    const Dim *dims[5] = {one, bd_const(b, round_up(channels, l->block) / l->block), one, one, bd_const(b, l->block)};
    return layout_fill_up(b, l, v, channels, 1, 5, dims);
  }
  const Dim *dims[4] = {images, out->type.dims[1], one, one};
  return to_blocks(b, l, build_reshape(b, v, 4, dims));
}

/* Whether an operand has a form over blocks. */
static bool has_blocks(const Builder *b, Layout *l, const Value *v, const Value *out) {
  return is_whole_blocks(b, l, v, out) || by_channel(v, out) || by_place(v, out) || by_element(v, out) || (layout_is_single(v) && v->type.rank <= out->type.rank);
}

static bool layout_pointwise(Builder *b, const Node *n, Layout *l, Value **ret) {
  const Value *out = n->out[0];
  if (!is_grid_of_any(out) || expr_has_index(&((const PointwiseAttr *)n->attr)->expr)) return false;
  const Value *rows = NULL; /* whose rows all take */
  bool cut = false;         /* rows as the plain result has them */
  uint32_t whole = 0, plain = 0;
  for (uint32_t k = 0; k < n->n_in; k++) { /* first without making anything */
    const bool blocks = has_blocks(b, l, n->in[k], out);
    if (!blocks && !joins_blocks(l, n->in[k], out)) return false;
    plain += !blocks;
    whole += is_whole_blocks(b, l, n->in[k], out);
    if (!rows && layout_is_full(n->in[k], out)) rows = blocked_of(l, n->in[k]);
    cut = cut || (!layout_is_single(n->in[k]) && (by_place(n->in[k], out) || by_element(n->in[k], out)));
  }
  if (!rows || plain > whole) return false;
  Type t = cut ? blocked_type(b, l, out) : type_tensor(b->ir, out->type.dtype, rows->type.rank, rows->type.dims);
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++) {
    in[k] = blocked_operand(b, l, n->in[k], out);
    if (is_whole_blocks(b, l, n->in[k], out)) in[k] = build_reshape(b, in[k], t.rank, t.dims);
  }
  return give(b, l, n, graph_add_node(b->graph, OP_POINTWISE, in, n->n_in, &t, 1, n->attr, n->src)->out[0], ret);
}

/* ---- moving places ---- */
/* One that neither image nor channel changes. */
static bool is_of_places(const Affine *f) { return !affine_coef(f, 0) && !affine_coef(f, 1); }

/* The same of a result with one axis more, and of that axis alone. */
static Affine widened_affine(Builder *b, const Affine *f, uint32_t rank) {
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, rank + 1);
  for (uint32_t j = 0; j < rank; j++) coef[j] = affine_coef(f, j);
  return (Affine){f->offset, coef};
}

/* Whether node n gives an image to blocked layers from one of as many channels. */
static bool moves_places(const Node *n, const Layout *l) {
  const Value *x = n->in[0], *y = n->out[0];
  const bool rows = x->type.rank == 3 && y->type.rank == 3 && is_image(y);
  return (rows || (x->type.rank >= 4 && is_grid(y))) && l->ahead[y->id] && y->type.dims[1] == x->type.dims[1];
}

/* Of one row: places along it. */
static bool layout_row_places(Builder *b, const Node *n, Layout *l, Value *x, Value **ret) {
  const Affine *from = ((const ViewAttr *)n->attr)->index;
  const Dim *along[5] = {NULL, NULL, NULL, affine_coef(&from[2], 2), NULL};
  Affine index[5];
  if (!is_of_places(&from[2])) return false;
  for (uint32_t a = 0; a < 5; a++) index[a] = build_affine_coord(b, 5, a);
  index[3] = (Affine){from[2].offset, arena_dup(b->ir->arena, along, sizeof along)};
  const Type t = blocked_type(b, l, n->out[0]);
  return give(b, l, n, build_view(b, with_rows_of(b, x, n->in[0]), 5, t.dims, index), ret);
}

static bool layout_places(Builder *b, const Node *n, Layout *l, Value **ret) {
  Value *x = blocked_of(l, n->in[0]), *y = n->out[0];
  const Affine *from = ((const ViewAttr *)n->attr)->index;
  const uint32_t in = n->in[0]->type.rank, rank = y->type.rank;
  Affine index[MAX_RANK];
  if (!x || !moves_places(n, l)) return false;
  if (!is_coord(&from[0], y, 0) || !is_coord(&from[1], y, 1)) return false;
  if (in == 3) return layout_row_places(b, n, l, x, ret);
  for (uint32_t a = 0; a < in; a++) {
    if (a > 1 && !is_of_places(&from[a])) return false;
    index[a] = widened_affine(b, &from[a], rank);
  }
  if (in == 4) x = with_rows_of(b, x, n->in[0]);
  index[in] = build_affine_coord(b, rank + 1, rank);
  const Type t = blocked_type(b, l, y);
  return give(b, l, n, build_view(b, x, rank + 1, t.dims, index), ret);
}

/* Whether resizing a plain image, which makes at least as many places of it, is to begin a chain of blocks rather than what reads its result: its input is copied into
 * them, which is smaller, and a vector holds channels, not places of rows that may be shorter. */
static bool begins_larger(const Layout *l, const Node *n) {
  const Value *x = n->in[0], *y = n->out[0];
  if (!is_image(x)) return false;
  const int64_t channels = layout_size(x, 1), area = area_of(x);
  return channels >= l->block && channels % l->block == 0 && 2 * area <= area_of(y) /* of two places each, or more */ && l->taken[y->id] &&
         l->ahead[y->id] / (channels * area) >= CHAIN;
}

static bool layout_gather(Builder *b, const Node *n, Layout *l, Value **ret) {
  Value *x = blocked_of(l, n->in[0]), *y = n->out[0];
  const GatherAxis *from = ((const GatherAttr *)n->attr)->axes;
  const uint32_t in = n->in[0]->type.rank, rank = y->type.rank;
  GatherAxis axes[MAX_RANK];
  const bool begins = !x && begins_larger(l, n);
  if ((!x && !begins) || in < 4 || !moves_places(n, l)) return false;
  for (uint32_t a = 0; a < in; a++) {
    axes[a] = from[a];
    if (a < 2 ? from[a].indirect || !is_coord(&from[a].affine, y, a) : !from[a].indirect && !is_of_places(&from[a].affine)) return false;
    if (!from[a].indirect) {
      axes[a].affine = widened_affine(b, &from[a].affine, rank);
      continue;
    }
    const uint32_t places = n->in[from[a].operand]->type.rank;
    Affine *place = NEW_ARRAY(b->ir->arena, Affine, places);
    for (uint32_t k = 0; k < places; k++) {
      if (!is_of_places(&from[a].place[k])) return false;
      place[k] = widened_affine(b, &from[a].place[k], rank);
    }
    axes[a].place = place;
  }
  axes[in] = (GatherAxis){.affine = build_affine_coord(b, rank + 1, rank)};
  if (begins) x = to_blocks(b, l, n->in[0]);
  Value **operands = arena_dup(b->ir->arena, n->in, n->n_in * sizeof *operands);
  operands[0] = in == 4 ? with_rows_of(b, x, n->in[0]) : x;
  const Type t = blocked_type(b, l, y);
  return give(b, l, n, build_gather(b, operands, n->n_in, rank + 1, t.dims, axes), ret);
}

/* ---- concatenation of channels ---- */
/* Gaps between channels would be what a convolution multiplies by zero, and they may hold anything: all but the last part fill
 * their blocks. */
static bool layout_concat(Builder *b, const Node *n, Layout *l, Value **ret) {
  if (((const ConcatAttr *)n->attr)->axis != 1 || !is_image(n->out[0])) return false;
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++) {
    in[k] = blocked_of(l, n->in[k]);
    if (!in[k] || (k + 1 < n->n_in && layout_size(n->in[k], 1) % l->block)) return false;
    in[k] = with_rows_of(b, in[k], n->out[0]);
  }
  return give(b, l, n, build_concat(b, in, n->n_in, 1), ret);
}

/* Some channels, from a block's first on: whole blocks. */
static bool layout_slice(Builder *b, const Node *n, Layout *l, Value **ret) {
  const Value *from = n->in[0], *to = n->out[0];
  const Affine *index = ((const ViewAttr *)n->attr)->index;
  Value *x = blocked_of(l, from);
  int64_t first;
  if (!x || from->type.rank != to->type.rank || !is_grid_of_any(to) || !dim_is_const(index[1].offset, &first) || first % l->block) return false;
  for (uint32_t a = 0; a < to->type.rank; a++) {
    const Affine at = {a == 1 ? b->ir->dims->zero : index[a].offset, index[a].coef};
    if (!is_coord(&at, to, a) || (a != 1 && from->type.dims[a] != to->type.dims[a])) return false;
  }
  const Dim *count = bd_const(b, round_up(layout_size(to, 1), l->block) / l->block);
  return give(b, l, n, build_slice(b, x, 1, bd_const(b, first / l->block), count, b->ir->dims->one), ret);
}

/* ---- rows cut otherwise ---- */
static const Dim *places_of(const Builder *b, const Value *v) { return dim_product(b->ir->dims, v->type.dims + 2, v->type.rank - 2); }

/* [N][C][H][W] as [N][C][pixels], or back: the blocked value stays as it is. */
static bool layout_view(Builder *b, const Node *n, Layout *l, Value **ret) {
  const Value *from = n->in[0], *to = n->out[0];
  Value *x = blocked_of(l, from);
  if (!x || !is_image(to) || !is_image(from) || from->type.dims[0] != to->type.dims[0] || from->type.dims[1] != to->type.dims[1]) return false;
  if (places_of(b, from) != places_of(b, to) || (n->op == OP_VIEW && !pass_keeps_order(n))) return false;
  return give(b, l, n, x, ret);
}

/* A transposition that puts the channels last: of the blocked value at once. */
static bool layout_channels(Builder *b, const Node *n, Layout *l, Value **ret) {
  static const uint32_t perm[] = {0, 2, 3, 1, 4};
  Value *x = blocked_of(l, n->in[0]);
  const Value *y = n->out[0];
  if (!x || x->type.rank != 5 || !moves_channels(n, false)) return false;
  const uint32_t last = y->type.rank - 1;
  const Dim *dims[4] = {y->type.dims[0], y->type.dims[1], y->type.dims[2], NULL};
  dims[last] = dim_mulc(b->ir->dims, x->type.dims[1], l->block);
  Value *all = build_reshape(b, build_transpose(b, x, perm), y->type.rank, dims);
  ret[0] = build_slice(b, all, last, b->ir->dims->zero, y->type.dims[last], b->ir->dims->one);
  return true;
}

static bool layout(Builder *b, const Node *n, Value **ret, void *user) {
  if (n->op == OP_LRN) return layout_lrn(b, n, user, ret);
  if (((const Layout *)user)->block == 0) return false;
  if (layout_volume(b, n, user, ret)) return true;
  switch (n->op) {
    case OP_CONV: return layout_conv(b, n, user, ret);
    case OP_POOL: return layout_pool(b, n, user, ret);
    case OP_REDUCE: return layout_reduce(b, n, user, ret);
    case OP_POINTWISE: return layout_pointwise(b, n, user, ret);
    case OP_VIEW: return layout_view(b, n, user, ret) || layout_slice(b, n, user, ret) || layout_channels(b, n, user, ret) || layout_places(b, n, user, ret);
    case OP_RESHAPE: return layout_view(b, n, user, ret);
    case OP_GATHER: return layout_gather(b, n, user, ret);
    case OP_CONCAT: return layout_concat(b, n, user, ret);
    default: return false;
  }
}

bool pass_layout(Ir *ir, LayoutTile tile) {
  Arena *scratch = arena_new(arena_door(ir->arena), 0);
  Layout l = {.arena = scratch, .block = tile.block, .sums = tile.sums, .ahead = NEW_ARRAY(scratch, int64_t, ir->n_values), .taken = NEW_ARRAY(scratch, bool, ir->n_values),
              .left = NEW_ARRAY(scratch, bool, ir->n_values)};
  if (tile.block) look_ahead(&l, ir->main);
  const bool changed = pass_rewrite(ir, layout, &l);
  arena_free(scratch);
  return !changed || pass_simplify(ir);
}
