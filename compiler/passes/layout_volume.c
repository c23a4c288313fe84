/* Volumes over blocked channels: [N][C][D][H][W] as slices, images [N * D][C / block][H][W][block], which the kernels over images compute: a convolution sees
 * the slices of its window's depth side by side, as so many times the channels; a pool of depth is one of each slice, then the largest or the mean of some
 * slices. Element-wise work and concatenations stay in that form; the depth is known, other sizes may be open as those of images. */
#include "passes/layout.h"

enum { VOLUME = 5, WINDOW = 1 << 6 }; /* rank; the most slices that a pool puts together one by one */

static Value *slices_of(const Layout *l, const Value *v) { return v && v->id < l->slices.n ? l->slices.data[v->id] : NULL; }

static bool is_volume_of_any(const Value *v) {
  return v->type.kind == TYPE_TENSOR && v->type.dtype != DT_str && v->type.rank == VOLUME && layout_is_modest(v) && layout_size(v, 2) > 0;
}

static bool is_volume(const Value *v) { return is_volume_of_any(v) && v->type.dtype == DT_f32; }

static int64_t blocks_of(const Layout *l, const Value *v) { return (layout_size(v, 1) + l->block - 1) / l->block; }

/* [N * D][blocks][H][W][block] */
static Type slices_type(Builder *b, const Layout *l, const Value *v) {
  const Dim *const *d = v->type.dims;
  const Dim *dims[VOLUME] = {dim_mul(b->ir->dims, d[0], d[2]), bd_const(b, blocks_of(l, v)), d[3], d[4], bd_const(b, l->block)};
  return type_tensor(b->ir, v->type.dtype, VOLUME, dims);
}

/* A copy that moves elements, for edges; once. */
static Value *to_slices(Builder *b, Layout *l, Value *plain) {
  Value *v = layout_copy_of(b, l, plain);
  if (v) return v;
  const Dim *zero = b->ir->dims->zero, *block = bd_const(b, l->block), *const *d = plain->type.dims;
  const Dim *of_channel[6] = {zero, zero, block, zero, zero, b->ir->dims->one};
  const Dim *lo[VOLUME] = {zero, zero, zero, zero, zero}, *hi[VOLUME] = {zero, bd_const(b, blocks_of(l, plain) * l->block - layout_size(plain, 1)), zero, zero, zero};
  const Dim *dims[6] = {d[0], d[2], bd_const(b, blocks_of(l, plain)), d[3], d[4], block};
  const Affine index[VOLUME] = {build_affine_coord(b, 6, 0), {zero, arena_dup(b->ir->arena, of_channel, sizeof of_channel)}, build_affine_coord(b, 6, 1),
                                build_affine_coord(b, 6, 3), build_affine_coord(b, 6, 4)};
  v = dim_is(hi[1], 0) ? plain : build_pad(b, plain, PAD_CONSTANT, lo, hi, NULL);
  const Type t = slices_type(b, l, plain);
  v = build_reshape(b, build_view(b, v, 6, dims, index), VOLUME, t.dims);
  layout_note_copy(b, l, plain, v);
  return v;
}

/* The node's result, plain: a view of the slices x, known as those from now on. */
static bool give(Builder *b, Layout *l, const Node *n, Value *x, Value **ret) {
  static const uint32_t perm[] = {0, 2, 5, 1, 3, 4};
  const Value *y = n->out[0];
  const Dim *const *d = y->type.dims;
  const Dim *apart[6] = {d[0], d[2], x->type.dims[1], d[3], d[4], x->type.dims[4]}, *whole[VOLUME] = {d[0], dim_mulc(b->ir->dims, x->type.dims[1], l->block), d[2], d[3], d[4]};
  if (!x->name.len) x->name = y->name;
  Value *all = build_reshape(b, build_transpose(b, build_reshape(b, x, 6, apart), perm), VOLUME, whole);
  ret[0] = build_slice(b, all, 1, b->ir->dims->zero, d[1], b->ir->dims->one);
  layout_note(l, true, ret[0], x);
  return true;
}

/* ---- convolution ---- */
static bool within(const Dim *d, int64_t end) {
  int64_t n;
  return dim_is_const(d, &n) && n >= 0 && n < end;
}

/* Each slice of the result sees one of the input at least. */
static bool is_window(const Layout *l, const Node *n) {
  const ConvAttr *a = n->attr;
  const Value *x = n->in[0], *w = n->in[1], *y = n->out[0];
  if (a->n_spatial != 3 || a->group != 1 || a->acc != DT_f32 || !is_volume(x) || !is_volume(y) || !w->data || w->type.dtype != DT_f32) return false;
  const int64_t taps = layout_size(w, 2);
  for (uint32_t i = 0; i < 3; i++)
    if (!layout_is_modest_window(a, w, y, i)) return false;
  if (a->dilation[0] != 1 || !within(a->pad_lo[0], taps) || !within(a->pad_hi[0], taps)) return false;
  return 2 * layout_size(w, 0) >= l->block && layout_size(w, 1) <= LAYOUT_SIDE / taps;
}

/* Weights [M][C][depth][height][width] with a slice's channels side by side: [M][depth * C][height][width]. */
static Value *slice_weights(Builder *b, const Value *w) {
  const int64_t m = layout_size(w, 0), c = layout_size(w, 1), taps = layout_size(w, 2), area = layout_size(w, 3) * layout_size(w, 4), n = m * c * taps * area;
  const float *src = tensor_host_elements(b->ir->arena, w->data);
  float *dst = NEW_ARRAY(b->ir->arena, float, (size_t)n);
  for (int64_t i = 0; i < m; i++)
    for (int64_t k = 0; k < c; k++)
      for (int64_t t = 0; t < taps; t++) memcpy(dst + ((i * taps + t) * c + k) * area, src + ((i * c + k) * taps + t) * area, (size_t)area * sizeof *dst);
  const Dim *dims[4] = {w->type.dims[0], bd_const(b, c * taps), w->type.dims[3], w->type.dims[4]};
  return ir_add_const(b->ir, type_tensor(b->ir, DT_f32, 4, dims), tensor_take_host(b->ir->arena, DT_f32, (size_t)n, dst), w->name);
}

static bool layout_conv(Builder *b, const Node *n, Layout *l, Value **ret) {
  const ConvAttr *a = n->attr;
  Value *x = n->in[0], *bias = n->n_in > 2 ? n->in[2] : NULL, *known = slices_of(l, x);
  if (n->n_in > 3 || (bias && !bias->data) || !is_window(l, n) || (!known && !layout_worth_a_copy(l, n))) return false;
  DimCtx *d = b->ir->dims;
  if (!ir_require_le(b->ir, dim_mul(d, x->type.dims[3], x->type.dims[4]), dim_const(d, INT32_MAX / l->block))) return false; /* kernels count in 32 bits */
  ConvAttr *attr = NEW(b->ir->arena, ConvAttr);
  *attr = (ConvAttr){.n_spatial = 2, .group = 1, .acc = a->acc, .block = l->block, .stride = a->stride + 1, .dilation = a->dilation + 1,
                     .dilate_x = a->dilate_x + 1, .pad_lo = a->pad_lo + 1, .pad_hi = a->pad_hi + 1};
  attr->slices = (ConvSlices){layout_size(x, 2), layout_size(n->out[0], 2), layout_size(n->in[1], 2), a->stride[0], a->pad_lo[0]->value};
  if (attr->slices.taps == 1 && attr->slices.stride == 1) attr->slices = (ConvSlices){0};
  Value *in[3] = {known ? known : to_slices(b, l, x), slice_weights(b, n->in[1]), bias};
  Type t = slices_type(b, l, n->out[0]);
  return give(b, l, n, graph_add_node(b->graph, OP_CONV, in, bias ? 3 : 2, &t, 1, attr, n->src)->out[0], ret);
}

/* ---- pooling ---- */
static bool is_pool(const Node *n) {
  const PoolAttr *a = n->attr;
  const Value *y = n->out[0];
  if (n->n_out != 1 || a->n_spatial != 3 || (a->kind != POOL_MAX && a->kind != POOL_AVERAGE) || !is_volume(n->in[0]) || !is_volume(y)) return false;
  for (uint32_t i = 0; i < 3; i++)
    if (a->kernel[i] > LAYOUT_SIDE || a->stride[i] > LAYOUT_SIDE || a->dilation[i] > LAYOUT_SIDE || !within(a->pad_lo[i], LAYOUT_SIDE) || !within(a->pad_hi[i], LAYOUT_SIDE)) return false;
  const int64_t last = (layout_size(y, 2) - 1) * a->stride[0] + a->kernel[0];
  return dim_is(a->pad_lo[0], 0) && a->dilation[0] == 1 && a->kernel[0] <= WINDOW && last <= layout_size(n->in[0], 2);
}

/* A pool of each slice by itself. */
static Value *pool_slices(Builder *b, const Node *n, const Layout *l, Value *x) {
  const PoolAttr *a = n->attr;
  const Value *y = n->out[0];
  const bool through = a->kernel[1] == 1 && a->kernel[2] == 1 && a->stride[1] == 1 && a->stride[2] == 1; /* as is_pool knows: nothing is padded */
  if (through && x->type.dims[2] == y->type.dims[3] && x->type.dims[3] == y->type.dims[4]) return x;
  const Dim *dims[VOLUME] = {x->type.dims[0], x->type.dims[1], y->type.dims[3], y->type.dims[4], x->type.dims[4]};
  Type t = type_tensor(b->ir, DT_f32, VOLUME, dims);
  PoolAttr *attr = NEW(b->ir->arena, PoolAttr);
  *attr = (PoolAttr){.kind = a->kind, .n_spatial = 2, .kernel = a->kernel + 1, .stride = a->stride + 1, .dilation = a->dilation + 1, .pad_lo = a->pad_lo + 1,
                     .pad_hi = a->pad_hi + 1, .count_include_pad = a->count_include_pad, .p = a->p, .block = l->block};
  return graph_add_node(b->graph, OP_POOL, &x, 1, &t, 1, attr, n->src)->out[0];
}

static bool layout_pool(Builder *b, const Node *n, Layout *l, Value **ret) {
  const PoolAttr *a = n->attr;
  const Value *y = n->out[0];
  Value *x = slices_of(l, n->in[0]), *all = NULL;
  if (!x || !is_pool(n)) return false;
  x = pool_slices(b, n, l, x);
  if (a->kernel[0] == 1 && a->stride[0] == 1) return give(b, l, n, x, ret);
  const Dim *dims[6] = {y->type.dims[0], n->in[0]->type.dims[2], x->type.dims[1], x->type.dims[2], x->type.dims[3], x->type.dims[4]};
  x = build_reshape(b, x, 6, dims);
  for (int64_t k = 0; k < a->kernel[0]; k++) {
    Value *tap = build_slice(b, x, 1, bd_const(b, k), y->type.dims[2], bd_const(b, a->stride[0]));
    all = all ? build_fn2(b, a->kind == POOL_MAX ? SC_max : SC_add, all, tap) : tap;
  }
  if (a->kind == POOL_AVERAGE && a->kernel[0] > 1) all = build_fn2(b, SC_div, all, build_scalar_f(b, DT_f32, (double)a->kernel[0]));
  const Type t = slices_type(b, l, y);
  return give(b, l, n, build_reshape(b, all, VOLUME, t.dims), ret);
}

/* A sum or maximum over all of a volume: of each slice, then of these. */
static bool is_whole(const Node *n) {
  const ReduceAttr *a = n->attr;
  return (a->kind == REDUCE_SUM || a->kind == REDUCE_MAX) && a->axes == 0x1cu && a->acc == DT_f32 && is_volume(n->in[0]) && is_volume(n->out[0]);
}

static bool layout_reduce(Builder *b, const Node *n, Layout *l, Value **ret) {
  const ReduceAttr *a = n->attr;
  Value *x = slices_of(l, n->in[0]);
  if (!x || !is_whole(n)) return false;
  const Dim *dims[4] = {n->in[0]->type.dims[0], n->in[0]->type.dims[2], x->type.dims[1], x->type.dims[4]};
  Value *each = build_reshape(b, build_reduce(b, a->kind, x, 0xcu, true), 4, dims);
  const Type t = slices_type(b, l, n->out[0]);
  return give(b, l, n, build_reshape(b, build_reduce(b, a->kind, each, 2u, true), VOLUME, t.dims), ret);
}

/* ---- element-wise work ---- */
/* One value a channel: [C, 1, 1, 1], or [1, C, 1, 1, 1]. */
static bool by_channel(const Value *v, const Value *out) {
  const uint32_t r = v->type.rank, channel = r == VOLUME ? 1 : 0;
  if ((r != VOLUME && r + 1 != VOLUME) || v->type.dtype != DT_f32 || v->type.dims[channel] != out->type.dims[1] || (channel && !dim_is(v->type.dims[0], 1))) return false;
  for (uint32_t a = channel + 1; a < r; a++)
    if (!dim_is(v->type.dims[a], 1)) return false;
  return true;
}

static bool has_slices(const Layout *l, const Value *v, const Value *out) {
  return (layout_is_full(v, out) && slices_of(l, v)) || by_channel(v, out) || (layout_is_single(v) && v->type.rank <= VOLUME);
}

static Value *slices_operand(Builder *b, Layout *l, Value *v, const Value *out) {
  Value *own = slices_of(l, v);
  if (own && (layout_is_full(v, out) || by_channel(v, out))) return own;
  if (layout_is_single(v)) return v;
  const Dim *one = b->ir->dims->one, *dims[VOLUME] = {one, bd_const(b, blocks_of(l, out)), one, one, bd_const(b, l->block)}, *plain[VOLUME] = {one, out->type.dims[1], one, one, one};
  if (v->data) return layout_fill_up(b, l, v, layout_size(out, 1), 1, VOLUME, dims);
  return to_slices(b, l, v->type.rank == VOLUME ? v : build_reshape(b, v, VOLUME, plain));
}

static bool layout_pointwise(Builder *b, const Node *n, Layout *l, Value **ret) {
  const Value *out = n->out[0];
  bool any = false;
  if (!is_volume_of_any(out) || expr_has_index(&((const PointwiseAttr *)n->attr)->expr)) return false;
  for (uint32_t k = 0; k < n->n_in; k++) { /* first without making anything */
    if (!has_slices(l, n->in[k], out)) return false;
    any = any || (layout_is_full(n->in[k], out) && slices_of(l, n->in[k]));
  }
  if (!any) return false;
  Type t = slices_type(b, l, out);
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++) in[k] = slices_operand(b, l, n->in[k], out);
  return give(b, l, n, graph_add_node(b->graph, OP_POINTWISE, in, n->n_in, &t, 1, n->attr, n->src)->out[0], ret);
}

/* ---- concatenation of channels: all but the last part fill their blocks (layout.c) ---- */
static bool layout_concat(Builder *b, const Node *n, Layout *l, Value **ret) {
  if (((const ConcatAttr *)n->attr)->axis != 1 || !is_volume(n->out[0])) return false;
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++) {
    in[k] = slices_of(l, n->in[k]);
    if (!in[k] || (k + 1 < n->n_in && layout_size(n->in[k], 1) % l->block)) return false;
  }
  return give(b, l, n, build_concat(b, in, n->n_in, 1), ret);
}

uint32_t layout_volume_chained(const Layout *l, const Node *n) {
  if (l->block == 0) return 0;
  switch (n->op) {
    case OP_CONV: return is_window(l, n) ? 1 : 0;
    case OP_POOL: return is_pool(n) ? 1 : 0;
    case OP_REDUCE: return is_whole(n) ? 1 : 0;
    case OP_POINTWISE: return is_volume_of_any(n->out[0]) ? n->n_in : 0;
    case OP_CONCAT: return ((const ConcatAttr *)n->attr)->axis == 1 && is_volume(n->out[0]) ? n->n_in : 0;
    default: return 0;
  }
}

bool layout_volume(Builder *b, const Node *n, Layout *l, Value **ret) {
  switch (n->op) {
    case OP_CONV: return layout_conv(b, n, l, ret);
    case OP_POOL: return layout_pool(b, n, l, ret);
    case OP_REDUCE: return layout_reduce(b, n, l, ret);
    case OP_POINTWISE: return layout_pointwise(b, n, l, ret);
    case OP_CONCAT: return layout_concat(b, n, l, ret);
    default: return false;
  }
}
