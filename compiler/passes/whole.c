/* Windows that are less than they seem. Taps of a convolution of f32 that read nothing but padding go. One whose only window is the whole
 * image is a product of rows, [N][C * H * W] by [M][C * H * W]; an average or maximum over it is a reduction. One tap of a channel by
 * itself is a factor. Windows over volumes of few channels that do not overlap in depth are windows over images, whose channels are those of a window's slices. */
#include "passes/passes.h"

/* One result, whose window lies on the input place for place. */
static bool is_whole(const Node *n) {
  const ConvAttr *a = n->attr;
  const Value *x = n->in[0], *w = n->in[1], *y = n->out[0];
  if (n->n_in > 3 || a->group != 1 || a->acc != DT_f32 || x->type.dtype != DT_f32 || y->type.dtype != DT_f32) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++) {
    if (!dim_is(y->type.dims[2 + i], 1) || x->type.dims[2 + i] != w->type.dims[2 + i]) return false;
    if (a->dilate_x[i] != 1 || !dim_is(a->pad_lo[i], 0) || (a->dilation[i] != 1 && !dim_is(w->type.dims[2 + i], 1))) return false;
  }
  return true;
}

/* [rows][all else] */
static Value *as_rows(Builder *b, Value *v) {
  const Dim *dims[2] = {v->type.dims[0], dim_product(b->ir->dims, v->type.dims + 1, v->type.rank - 1)};
  return build_reshape(b, v, 2, dims);
}

enum { MOST_REDUCED = 256 }; /* elements: a pool sums a larger image by columns, which rounds less than one sum in a row */

/* One result a channel, of all of it and no padding. */
static bool is_whole_pool(const Node *n) {
  const PoolAttr *a = n->attr;
  const Value *x = n->in[0], *y = n->out[0];
  if (n->n_out > 1 || (a->kind != POOL_AVERAGE && a->kind != POOL_MAX) || a->block) return false;
  int64_t elements = 1;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!i64_mul(elements, a->kernel[i], &elements) || elements > MOST_REDUCED || !dim_is(x->type.dims[2 + i], a->kernel[i]) || a->dilation[i] != 1 || !dim_is(a->pad_lo[i], 0) || !dim_is(a->pad_hi[i], 0) || !dim_is(y->type.dims[2 + i], 1)) return false;
  return true;
}

/* The first tap along axis i that some window has inside of the input, and how many there are from there to the last one; false where
 * sizes are not known, or all are. */
static bool used_taps(const Node *n, uint32_t i, int64_t *ret_first, int64_t *ret_taps) {
  const ConvAttr *a = n->attr;
  int64_t in, out, kernel, pad, first = 0, last;
  if (!dim_is_const(n->in[0]->type.dims[2 + i], &in) || !dim_is_const(n->out[0]->type.dims[2 + i], &out) || !dim_is_const(a->pad_lo[i], &pad)) return false;
  if (!dim_is_const(n->in[1]->type.dims[2 + i], &kernel) || a->dilate_x[i] != 1 || in < 1 || out < 1 || in > INT32_MAX || out > INT32_MAX) return false;
  if (kernel > INT16_MAX || a->stride[i] > INT32_MAX || a->dilation[i] > INT32_MAX || pad < -INT32_MAX || pad > INT32_MAX) return false;
  const int64_t reach = (out - 1) * a->stride[i] - pad; /* where the last window begins */
  while (first < kernel && reach + first * a->dilation[i] < 0) first++;
  for (last = kernel - 1; last > first && last * a->dilation[i] - pad >= in;) last--;
  *ret_first = first;
  *ret_taps = last + 1 - first;
  return first < kernel && last * a->dilation[i] - pad < in && *ret_taps < kernel;
}

static bool trim(Builder *b, const Node *n, Value **ret) {
  DimCtx *c = b->ir->dims;
  ConvAttr a = *(const ConvAttr *)n->attr;
  Value *w = n->in[1];
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  bool any = false;
  if (n->n_in > 3 || a.acc != DT_f32 || !w->data) return false;
  for (uint32_t i = 0; i < a.n_spatial; i++) {
    int64_t first, taps, kernel;
    lo[i] = a.pad_lo[i], hi[i] = a.pad_hi[i];
    if (!used_taps(n, i, &first, &taps) || !dim_is_const(w->type.dims[2 + i], &kernel)) continue;
    w = build_slice(b, w, 2 + i, bd_const(b, first), bd_const(b, taps), c->one);
    lo[i] = dim_addc(c, lo[i], -first * a.dilation[i]);
    hi[i] = dim_addc(c, hi[i], -(kernel - first - taps) * a.dilation[i]);
    any = true;
  }
  a.pad_lo = lo;
  a.pad_hi = hi;
  ret[0] = any ? build_conv(b, n->in[0], w, n->n_in > 2 ? n->in[2] : NULL, NULL, NULL, a) : NULL;
  return ret[0] && type_same(&ret[0]->type, &n->out[0]->type);
}

/* One weight a channel, one place a result. */
static bool is_factor(const Node *n) {
  const ConvAttr *a = n->attr;
  const Value *x = n->in[0], *w = n->in[1], *y = n->out[0];
  if (n->n_in > 3 || a->acc != DT_f32 || x->type.dtype != DT_f32 || y->type.dtype != DT_f32 || !type_same(&x->type, &y->type)) return false;
  for (uint32_t i = 1; i < w->type.rank; i++)
    if (!dim_is(w->type.dims[i], 1)) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (a->dilate_x[i] != 1 || a->stride[i] != 1 || !dim_is(a->pad_lo[i], 0)) return false;
  return dim_is(x->type.dims[1], a->group);
}

static bool factor(Builder *b, const Node *n, Value **ret) {
  const uint32_t rank = n->in[0]->type.rank, places = ((1u << (rank - 2)) - 1) << 1;
  Value *bias = n->n_in > 2 ? n->in[2] : NULL, *w = build_reshape(b, n->in[1], 1, n->in[1]->type.dims);
  ret[0] = build_fn2(b, SC_mul, n->in[0], build_unsqueeze(b, w, places));
  if (bias) ret[0] = build_fn2(b, SC_add, ret[0], build_unsqueeze(b, bias, places));
  return ret[0] && type_same(&ret[0]->type, &n->out[0]->type);
}

enum { FEW_CHANNELS = 7 }; /* more fill half of a vector, in which layers over volumes are chained */

/* Windows one behind the other in depth, of several slices each. */
static bool is_of_slices(const Node *n) {
  const ConvAttr *a = n->attr;
  const Value *x = n->in[0], *w = n->in[1], *y = n->out[0];
  int64_t channels, depth, results;
  if (n->n_in > 3 || a->n_spatial != 3 || a->group != 1 || a->acc != DT_f32 || x->type.dtype != DT_f32 || y->type.dtype != DT_f32) return false;
  if (!dim_is_const(x->type.dims[1], &channels) || channels > FEW_CHANNELS || !dim_is_const(x->type.dims[2], &depth) || !dim_is_const(y->type.dims[2], &results)) return false;
  return a->stride[0] > 1 && dim_is(w->type.dims[2], a->stride[0]) && a->dilation[0] == 1 && a->dilate_x[0] == 1 && dim_is(a->pad_lo[0], 0) &&
         results >= 1 && results <= depth / a->stride[0];
}

/* [N][C][D / taps][taps][H][W] with the channels of a window's slices side by side, as images. */
static Value *slices_as_images(Builder *b, Value *x, const Dim *windows, const Dim *taps) {
  static const uint32_t perm[] = {0, 2, 1, 3, 4, 5};
  DimCtx *c = b->ir->dims;
  x = build_slice(b, x, 2, c->zero, dim_mul(c, windows, taps), c->one);
  if (!x) return NULL;
  const Dim *const *d = x->type.dims, *split[] = {d[0], d[1], windows, taps, d[3], d[4]};
  const Dim *joined[] = {dim_mul(c, d[0], windows), dim_mul(c, d[1], taps), d[3], d[4]};
  x = build_transpose(b, build_reshape(b, x, 6, split), perm);
  return build_reshape(b, x, 4, joined);
}

static bool of_slices(Builder *b, const Node *n, Value **ret) {
  static const uint32_t perm[] = {0, 2, 1, 3, 4};
  DimCtx *c = b->ir->dims;
  const Dim *const *x = n->in[0]->type.dims, *const *w = n->in[1]->type.dims, *const *y = n->out[0]->type.dims;
  ConvAttr a = *(const ConvAttr *)n->attr;
  a.n_spatial = 2;
  a.stride++, a.dilation++, a.dilate_x++, a.pad_lo++, a.pad_hi++;
  const Dim *weights[] = {w[0], dim_mul(c, w[1], w[2]), w[3], w[4]}, *results[] = {x[0], y[2], y[1], y[3], y[4]};
  Value *images = slices_as_images(b, n->in[0], y[2], w[2]), *taps = build_reshape(b, n->in[1], 4, weights);
  if (!images || !taps) return false;
  Value *r = build_conv(b, images, taps, n->n_in > 2 ? n->in[2] : NULL, NULL, NULL, a);
  r = r ? build_reshape(b, r, 5, results) : NULL;
  ret[0] = r ? build_transpose(b, r, perm) : NULL;
  return ret[0] && type_same(&ret[0]->type, &n->out[0]->type);
}

static bool whole(Builder *b, const Node *n, Value **ret, void *user) {
  static const uint8_t rows[] = {0, 2}, columns[] = {1, 2}, out[] = {0, 1};
  (void)user;
  if (n->op == OP_POOL && is_whole_pool(n)) {
    const uint32_t axes = (((uint32_t)1 << n->in[0]->type.rank) - 1) & ~(uint32_t)3;
    ret[0] = ((const PoolAttr *)n->attr)->kind == POOL_MAX ? build_reduce(b, REDUCE_MAX, n->in[0], axes, true) : build_reduce_mean(b, n->in[0], axes, true);
    return ret[0] != NULL;
  }
  if (n->op != OP_CONV) return false;
  if (is_factor(n)) return factor(b, n, ret);
  if (!is_whole(n)) return is_of_slices(n) ? of_slices(b, n, ret) : trim(b, n, ret);
  Value *y = build_contract(b, as_rows(b, n->in[0]), rows, as_rows(b, n->in[1]), columns, out, 2, DT_f32, NULL, NULL);
  if (n->n_in > 2 && n->in[2]) y = build_fn2(b, SC_add, y, n->in[2]);
  ret[0] = build_reshape(b, y, n->out[0]->type.rank, n->out[0]->type.dims);
  return ret[0] != NULL;
}

bool pass_whole(Ir *ir) {
  for (int round = 0; round < 2; round++) /* what is trimmed may then be whole */
    if (pass_rewrite(ir, whole, NULL)) (void)pass_fold(ir);
  return true;
}

/* An image of one column, which a pool in plain channels leaves alone. */
static bool is_column(const Node *n) {
  if (n->op != OP_POOL || n->n_out > 1) return false;
  const PoolAttr *a = n->attr;
  const uint32_t last = a->n_spatial - 1;
  if (a->n_spatial < 2 || a->block || a->kernel[last] != 1) return false;
  return dim_is(n->in[0]->type.dims[2 + last], 1) && dim_is(n->out[0]->type.dims[2 + last], 1) && dim_is(a->pad_lo[last], 0) && dim_is(a->pad_hi[last], 0);
}

/* By the sizes that the pool has: whether they were rounded up, the node no longer says. */
static bool narrow(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  if (!is_column(n)) return false;
  PoolAttr *a = NEW(b->ir->arena, PoolAttr);
  *a = *(const PoolAttr *)n->attr;
  a->n_spatial--;
  const Type *want = &n->out[0]->type, t = type_tensor(b->ir, want->dtype, want->rank - 1, want->dims);
  Value *x = build_reshape(b, n->in[0], want->rank - 1, n->in[0]->type.dims);
  ret[0] = x ? build_reshape(b, graph_add_node(b->graph, OP_POOL, &x, 1, &t, 1, a, n->src)->out[0], want->rank, want->dims) : NULL;
  return ret[0] != NULL;
}

bool pass_narrow(Ir *ir) {
  (void)pass_rewrite(ir, narrow, NULL);
  return true;
}
