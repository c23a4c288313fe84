/* Composites: convolution, pooling, softmax, normalisation, recurrent layers, runtime functions. */
#include "ir/build.h"
#include "ir/build_priv.h"

/* ---- windows ---- */
/* Elements that a window of `kernel` taps spans. */
static const Dim *window_span(DimCtx *c, const Dim *kernel, int64_t dilation) {
  return dim_addc(c, dim_mulc(c, dim_addc(c, kernel, -1), dilation), 1);
}

static const int64_t *copy_ints(Builder *b, const int64_t *v, uint32_t n) {
  return arena_dup(b->ir->arena, v, n * sizeof *v);
}

/* ---- convolution ---- */
static bool conv_check(Builder *b, const Value *x, const Value *w, const Value *bias, const ConvAttr *a) {
  DimCtx *c = b->ir->dims;
  if (x->type.rank != a->n_spatial + 2 || w->type.rank != a->n_spatial + 2) {
    build_error(b, DIAG_E0402, "input %s and weights %s must have rank %u", build_shape_text(b, x),
                build_shape_text(b, w), a->n_spatial + 2);
    return false;
  }
  if (!ir_require_eq(b->ir, x->type.dims[1], dim_mulc(c, w->type.dims[1], a->group))) {
    build_error(b, DIAG_E0402, "input %s, weights %s and group %lld do not fit: channels differ",
                build_shape_text(b, x), build_shape_text(b, w), (long long)a->group);
    return false;
  }
  if (!ir_require_eq(b->ir, dim_mod(c, w->type.dims[0], bd_const(b, a->group)), c->zero)) {
    build_error(b, DIAG_E0402, "weights %s: output channels are not a multiple of group %lld", build_shape_text(b, w),
                (long long)a->group);
    return false;
  }
  if (bias && (bias->type.rank != 1 || !ir_require_eq(b->ir, bias->type.dims[0], w->type.dims[0]))) {
    build_error(b, DIAG_E0402, "bias %s does not fit weights %s", build_shape_text(b, bias), build_shape_text(b, w));
    return false;
  }
  return true;
}

Value *build_conv(Builder *b, Value *x, Value *w, Value *bias, Value *x_zero, Value *w_zero, ConvAttr attr) {
  if (!x || !w || !conv_check(b, x, w, bias, &attr)) return NULL;
  DimCtx *c = b->ir->dims;
  const Dim *dims[MAX_RANK] = {x->type.dims[0], w->type.dims[0]};
  for (uint32_t i = 0; i < attr.n_spatial; i++) {
    const Dim *spread = window_span(c, x->type.dims[i + 2], attr.dilate_x[i]);
    const Dim *padded = dim_add(c, spread, dim_add(c, attr.pad_lo[i], attr.pad_hi[i]));
    const Dim *room = dim_sub(c, padded, window_span(c, w->type.dims[i + 2], attr.dilation[i]));
    dims[i + 2] = dim_addc(c, dim_floordiv(c, room, bd_const(b, attr.stride[i])), 1);
    if (dims[i + 2]->hi < 0 || (room->hi < 0 && x->type.dims[i + 2]->lo > 0)) { /* of an empty image the result is empty */
      build_error(b, DIAG_E0402, "input %s is smaller than the kernel of weights %s on spatial axis %u",
                  build_shape_text(b, x), build_shape_text(b, w), i);
      return NULL;
    }
  }
  if (attr.acc == DT_NONE) attr.acc = dtype_is_float(x->type.dtype) ? dtype_compute(x->type.dtype) : DT_s32;
  Type t;
  if (!build_type(b, dtype_is_float(x->type.dtype) ? x->type.dtype : attr.acc, attr.n_spatial + 2, dims, &t))
    return NULL;
  ConvAttr *copy = NEW(b->ir->arena, ConvAttr);
  *copy = attr;
  copy->stride = copy_ints(b, attr.stride, attr.n_spatial);
  copy->dilation = copy_ints(b, attr.dilation, attr.n_spatial);
  copy->dilate_x = copy_ints(b, attr.dilate_x, attr.n_spatial);
  copy->pad_lo = build_dims_copy(b, attr.pad_lo, attr.n_spatial);
  copy->pad_hi = build_dims_copy(b, attr.pad_hi, attr.n_spatial);
  Value *const in[] = {x, w, bias, x_zero, w_zero};
  return build_emit(b, OP_CONV, in, w_zero ? 5 : x_zero ? 4 : bias ? 3 : 2, t, copy);
}

/* ---- pooling ---- */
/* Windows on one axis. With ceil, the last one may hang over the padded end, but must start before the end of the input
 * and its padding at the beginning (ONNX MaxPool, as PyTorch). NULL after a diagnostic. */
static const Dim *pool_windows(Builder *b, const Dim *in, const PoolAttr *a, uint32_t i, bool ceil_mode) {
  DimCtx *c = b->ir->dims;
  const Dim *stride = bd_const(b, a->stride[i]), *from_lo = dim_add(c, in, a->pad_lo[i]);
  const Dim *room =
      dim_sub(c, dim_add(c, from_lo, a->pad_hi[i]), window_span(c, bd_const(b, a->kernel[i]), a->dilation[i]));
  const Dim *whole = dim_addc(c, dim_floordiv(c, room, stride), 1);
  if (!ceil_mode && (whole->hi < 0 || (room->hi < 0 && in->lo > 0))) { /* of an empty image the result is empty */
    build_error(b, DIAG_E0402, "a window of %lld is larger than its padded input on spatial axis %u", (long long)a->kernel[i], i);
    return NULL;
  }
  if (!ceil_mode) return whole;
  const Dim *last_start = dim_floordiv(c, dim_addc(c, from_lo, -1), stride);
  return dim_addc(c, dim_min(c, dim_ceildiv(c, room, stride), last_start), 1);
}

/* One window that is all of the image: a reduction of its axes. */
static bool is_global(const PoolAttr *a, const Value *x) {
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!dim_is(x->type.dims[2 + i], a->kernel[i]) || a->dilation[i] != 1 || !dim_is(a->pad_lo[i], 0) || !dim_is(a->pad_hi[i], 0)) return false;
  return true;
}

static Value *global_pool(Builder *b, Value *x, const PoolAttr *a) {
  const uint32_t spatial = ((1u << a->n_spatial) - 1) << 2;
  if (a->kind == POOL_AVERAGE) return build_reduce_mean(b, x, spatial, true);
  return build_reduce(b, a->kind == POOL_MAX ? REDUCE_MAX : REDUCE_SUM, x, spatial, true);
}

Value *build_pool(Builder *b, Value *x, PoolAttr attr, bool ceil_mode, Value **ret_indices) {
  if (ret_indices) *ret_indices = NULL;
  if (!x) return NULL;
  if (x->type.rank != attr.n_spatial + 2) {
    build_error(b, DIAG_E0402, "input %s must have rank %u: batch, channels, %u spatial axes", build_shape_text(b, x),
                attr.n_spatial + 2, attr.n_spatial);
    return NULL;
  }
  if (!ret_indices && attr.kind != POOL_LP && is_global(&attr, x)) return global_pool(b, x, &attr);
  const Dim *dims[MAX_RANK];
  const uint32_t first = x->type.rank - attr.n_spatial;
  memcpy(dims, x->type.dims, x->type.rank * sizeof *dims);
  for (uint32_t i = 0; i < attr.n_spatial; i++)
    if (!(dims[first + i] = pool_windows(b, dims[first + i], &attr, i, ceil_mode))) return NULL;
  Type t[2];
  if (!build_type(b, x->type.dtype, x->type.rank, dims, &t[0]) || !build_type(b, DT_s64, x->type.rank, dims, &t[1]))
    return NULL;
  PoolAttr *copy = NEW(b->ir->arena, PoolAttr);
  *copy = attr;
  copy->kernel = copy_ints(b, attr.kernel, attr.n_spatial);
  copy->stride = copy_ints(b, attr.stride, attr.n_spatial);
  copy->dilation = copy_ints(b, attr.dilation, attr.n_spatial);
  copy->pad_lo = build_dims_copy(b, attr.pad_lo, attr.n_spatial);
  copy->pad_hi = build_dims_copy(b, attr.pad_hi, attr.n_spatial);
  const Node *n = graph_add_node(b->graph, OP_POOL, &x, 1, t, ret_indices ? 2 : 1, copy, b->place);
  if (ret_indices) *ret_indices = n->out[1];
  return n->out[0];
}

/* ---- softmax, normalisation ---- */
Value *build_softmax(Builder *b, Value *x, SoftmaxAttr attr) {
  if (!x) return NULL;
  SoftmaxAttr *copy = NEW(b->ir->arena, SoftmaxAttr);
  *copy = attr;
  return build_emit(b, OP_SOFTMAX, &x, 1, x->type, copy);
}

Value *build_codes(Builder *b, Value *x, Value *codes, Value *scales, Value *zeros, CodesAttr attr) {
  if (!x || !codes || !scales) return NULL;
  const Dim **dims = arena_dup(b->ir->arena, x->type.dims, x->type.rank * sizeof *dims);
  dims[x->type.rank - 1] = codes->type.dims[0];
  Value *const in[] = {x, codes, scales, zeros};
  return build_emit(b, OP_CODES, in, zeros ? 4 : 3, type_tensor(b->ir, DT_f32, x->type.rank, dims), arena_dup(b->ir->arena, &attr, sizeof attr));
}

Value *build_lrn(Builder *b, Value *x, LrnAttr attr) {
  return x ? build_emit(b, OP_LRN, &x, 1, x->type, arena_dup(b->ir->arena, &attr, sizeof attr)) : NULL;
}

/* Scale and bias must broadcast to x without enlarging it; where only run time tells whether a size of theirs is 1, as a view. */
static bool norm_operand(Builder *b, const Value *x, Value **v, const char *what) {
  if (!*v) return true;
  const uint32_t rank = (*v)->type.rank;
  const Dim *dims[MAX_RANK];
  bool fits = rank <= x->type.rank;
  for (uint32_t i = 0; fits && i < rank; i++) {
    const Dim *own = (*v)->type.dims[i], *size = x->type.dims[x->type.rank - rank + i];
    const Dim *coef;
    dims[i] = dim_is(own, 1) ? own : size;
    fits = build_broadcast_coef(b, own, size, false, &coef);
  }
  if (!fits) build_error(b, DIAG_E0402, "%s %s does not fit input %s", what, build_shape_text(b, *v), build_shape_text(b, x));
  return fits && (*v = build_expand(b, *v, rank, dims)) != NULL;
}

Value *build_norm(Builder *b, NormKind kind, Value *x, Value *scale, Value *bias, uint32_t axis, float epsilon) {
  if (!x || !norm_operand(b, x, &scale, "scale") || !norm_operand(b, x, &bias, "bias")) return NULL;
  NormAttr *attr = NEW(b->ir->arena, NormAttr);
  *attr = (NormAttr){kind, axis, epsilon};
  Value *const in[] = {x, scale, bias};
  return build_emit(b, OP_NORM, in, bias ? 3 : scale ? 2 : 1, x->type, attr);
}

/* ---- recurrent ---- */
static const uint32_t cell_gates[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4};
/* Activations of one direction. */
static const uint32_t cell_acts[] = {[CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3};

enum { IN_X, IN_W, IN_R, IN_B, IN_LENS, IN_H, IN_C, IN_P, N_RECURRENT_IN };

static bool require_shape(Builder *b, const Value *v, const char *what, uint32_t rank, const Dim *const *dims) {
  if (!v) return true;
  bool fits = v->type.rank == rank;
  for (uint32_t i = 0; fits && i < rank; i++) fits = ir_require_eq(b->ir, v->type.dims[i], dims[i]);
  if (!fits)
    build_error(b, DIAG_E0402, "%s has shape %s instead of %s", what, build_shape_text(b, v),
                build_dims_text(b, dims, rank));
  return fits;
}

static bool recurrent_check(Builder *b, Value *const *in, const RecurrentAttr *a, const Dim *dirs, const Dim *batch) {
  const Dim *hidden = bd_const(b, a->hidden), *gates = bd_const(b, cell_gates[a->cell] * a->hidden);
  const Dim *peep = bd_const(b, 3 * a->hidden), *size = in[IN_X]->type.dims[2];
  const Dim *const state[] = {dirs, batch, hidden}, *const state_first[] = {batch, dirs, hidden};
  const Dim *const w[] = {dirs, gates, size}, *const r[] = {dirs, gates, hidden};
  const Dim *const bias[] = {dirs, dim_mulc(b->ir->dims, gates, 2)}, *const p[] = {dirs, peep};
  const Dim *const *s = a->batch_first ? state_first : state;
  return require_shape(b, in[IN_W], "W", 3, w) && require_shape(b, in[IN_R], "R", 3, r) &&
         require_shape(b, in[IN_B], "B", 2, bias) && require_shape(b, in[IN_LENS], "sequence_lens", 1, &batch) &&
         require_shape(b, in[IN_H], "initial_h", 3, s) && require_shape(b, in[IN_C], "initial_c", 3, s) &&
         require_shape(b, in[IN_P], "P", 2, p);
}

bool build_recurrent(Builder *b, Value *const *in, RecurrentAttr attr, Value **ret) {
  if (!in[IN_X] || !in[IN_W] || !in[IN_R]) return false;
  if (in[IN_X]->type.rank != 3) {
    build_error(b, DIAG_E0402, "X has shape %s instead of rank 3", build_shape_text(b, in[IN_X]));
    return false;
  }
  const Dim *seq = in[IN_X]->type.dims[attr.batch_first ? 1 : 0],
            *batch = in[IN_X]->type.dims[attr.batch_first ? 0 : 1];
  const uint32_t n_dirs = attr.direction == 2 ? 2 : 1;
  const Dim *dirs = bd_const(b, n_dirs), *hidden = bd_const(b, attr.hidden);
  if (!recurrent_check(b, in, &attr, dirs, batch)) return false;
  const Dim *const y[] = {seq, dirs, batch, hidden}, *const y_first[] = {batch, seq, dirs, hidden};
  const Dim *const state[] = {dirs, batch, hidden}, *const state_first[] = {batch, dirs, hidden};
  const DType dt = in[IN_X]->type.dtype;
  Type t[3];
  if (!build_type(b, dt, 4, attr.batch_first ? y_first : y, &t[0])) return false;
  if (!build_type(b, dt, 3, attr.batch_first ? state_first : state, &t[1])) return false;
  t[2] = t[1];
  RecurrentAttr *copy = NEW(b->ir->arena, RecurrentAttr);
  *copy = attr;
  copy->acts = arena_dup(b->ir->arena, attr.acts, n_dirs * cell_acts[attr.cell] * sizeof *attr.acts);
  const size_t n_out = attr.cell == CELL_LSTM ? 3 : 2;
  const Node *n = graph_add_node(b->graph, OP_RECURRENT, in, N_RECURRENT_IN, t, n_out, copy, b->place);
  for (size_t k = 0; k < 3; k++) ret[k] = k < n_out ? n->out[k] : NULL;
  return true;
}

/* ---- runtime functions ---- */
bool build_extern(Builder *b, ExternAttr attr, Value *const *in, size_t n_in, const Type *out_types, size_t n_out,
                  Value **ret) {
  ExternAttr *copy = NEW(b->ir->arena, ExternAttr);
  *copy = attr;
  const Node *n = graph_add_node(b->graph, OP_EXTERN, in, n_in, out_types, n_out, copy, b->place);
  for (size_t k = 0; k < n_out; k++) ret[k] = n->out[k];
  return true;
}
