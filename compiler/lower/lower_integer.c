#include "lower/lower_integer.h"

#include "lower/scratch.h"

#include "simd/scalar.h"

#include "kernels/pack_s16.h"

enum { LANE = 4 }; /* bytes of a pair */

/* ---- zero points ---- */
/* A zero point: a constant for all elements goes into the step, others stay a tensor. NULL: 0. */
static uint32_t zero_operand(Lower *l, const Value *v, DiagPlace src, int32_t *ret_constant) {
  *ret_constant = 0;
  if (!v) return NO_TENSOR;
  if (!v->data || v->data->n != 1) return lower_dense(l, v, src);
  *ret_constant = cn_load_8(tensor_host_elements(l->a, v->data), 0, v->type.dtype == DT_s8);
  return NO_TENSOR;
}

/* Constant zero points as bytes to pack with, NULL for none; false when only the run decides. */
static bool constant_zeros(Lower *l, const Value *v, const void **ret, size_t *ret_step) {
  *ret = NULL;
  *ret_step = 0;
  if (!v) return true;
  if (!v->data) return false;
  *ret = tensor_host_elements(l->a, v->data);
  *ret_step = v->data->n > 1;
  return true;
}

static uint32_t packed_constant(Lower *l, size_t count, const int32_t *elements, Str name) {
  const Dim **dims = NEW(l->a, const Dim *);
  dims[0] = dim_const(l->p->dims, (int64_t)count);
  return lower_constant(l, DT_s32, 1, dims, tensor_from_host(l->a, DT_s32, count, elements), name);
}

static const Dim *pairs_of(DimCtx *c, const Dim *k) { return dim_ceildiv(c, k, dim_const(c, 2)); }

static const Dim *round_up(DimCtx *c, const Dim *d, int64_t to) { return dim_mulc(c, dim_ceildiv(c, d, dim_const(c, to)), to); }

/* ---- products ---- */
/* B packed now, where it, its zero points and sizes are constant. */
static bool pack_columns(Lower *l, ContractStep *s, const Value *zero, uint32_t *b) {
  const TargetTile *tile = target_tile(l->opt->target, "gemm_s16");
  const PTensor *t = &l->p->tensors.data[*b];
  const Buffer *buf = &l->p->buffers.data[t->buffer];
  int64_t k, n, offset, b_k, b_n;
  const void *zeros;
  size_t step, count;
  for (uint32_t i = 0; i < s->n_batch; i++)
    if (!dim_is(s->b_batch[i], 0)) return false;
  if (buf->kind != BUF_CONST || !dim_is_const(s->k, &k) || !dim_is_const(s->n, &n) || !dim_is_const(t->offset, &offset)) return false;
  if (!dim_is_const(s->b_k, &b_k) || !dim_is_const(s->b_n, &b_n) || b_k < 0 || b_n < 0 || !constant_zeros(l, zero, &zeros, &step)) return false;
  count = cn_pack_s16_size((size_t)k, (size_t)n, tile->nr);
  int32_t *packed = NEW_ARRAY(l->a, int32_t, count);
  const uint8_t *src = tensor_host_elements(l->a, buf->data);
  cn_pack_b_s16(src + offset, t->dtype == DT_s8, (size_t)b_k, (size_t)b_n, (size_t)k, (size_t)n, tile->nr, zeros, step, packed);
  *b = packed_constant(l, count, packed, buf->name);
  return true;
}

/* The kernels' calls name their scratch even if there is nothing to sum. */
static const Dim *named_scratch(DimCtx *c, const Dim *bytes) { return dim_is(bytes, 0) ? dim_const(c, LANE) : bytes; }

bool lower_integer_contract(Lower *l, const Node *n, ContractStep *s, uint32_t a, uint32_t b, uint32_t out) {
  DimCtx *c = l->p->dims;
  const TargetTile *tile = target_tile(l->opt->target, "gemm_s16");
  const Value *zero_a = n->n_in > 2 ? n->in[2] : NULL, *zero_b = n->n_in > 3 ? n->in[3] : NULL;
  uint32_t in[4] = {a, b, zero_operand(l, zero_a, n->src, &s->a_zero), NO_TENSOR};
  s->b_packed = pack_columns(l, s, zero_b, &in[1]);
  if (!s->b_packed) in[3] = lower_dense(l, zero_b, n->src);
  const Dim *pairs = pairs_of(c, s->k);
  s->pack_bytes = s->b_packed ? c->zero : dim_mulc(c, dim_mul(c, pairs, round_up(c, s->n, tile->nr)), LANE);
  const Dim *rows = dim_min(c, s->m, dim_const(c, 8 * tile->mr)); /* CN_GEMM_S16_ROWS */
  (void)lower_step(l, STEP_CONTRACT, in, 4, &out, 1, s, named_scratch(c, dim_add(c, s->pack_bytes, dim_mulc(c, dim_mul(c, rows, pairs), LANE))), n->src);
  return true;
}

/* ---- convolution ---- */
static bool pack_filters(Lower *l, ConvStep *s, const Value *zero, uint32_t *weights) {
  const TargetTile *tile = target_tile(l->opt->target, "gemm_s16");
  const PTensor *t = &l->p->tensors.data[*weights];
  const Buffer *buf = &l->p->buffers.data[t->buffer];
  int64_t m, channels, taps;
  const void *zeros;
  size_t step, group = (size_t)s->attr.group;
  if (buf->kind != BUF_CONST || !dim_is(t->offset, 0) || !dim_is_const(t->dims[0], &m) || !dim_is_const(t->dims[1], &channels)) return false;
  if (!dim_is_const(dim_product(l->p->dims, t->dims + 2, s->attr.n_spatial), &taps) || !constant_zeros(l, zero, &zeros, &step)) return false;
  const size_t rows = (size_t)m / group, count = group * cn_pack_s16_size((size_t)(channels * taps), rows, tile->mr);
  int32_t *packed = NEW_ARRAY(l->a, int32_t, count);
  cn_pack_conv_s16(tensor_host_elements(l->a, buf->data), t->dtype == DT_s8, group, rows, (size_t)channels, (size_t)taps, tile->mr, zeros,
                   step, packed);
  *weights = packed_constant(l, count, packed, buf->name);
  return true;
}

bool lower_integer_conv(Lower *l, const Node *n, ConvStep *s) {
  DimCtx *c = l->p->dims;
  const TargetTile *tile = target_tile(l->opt->target, "gemm_s16");
  const Value *zero_x = n->n_in > 3 ? n->in[3] : NULL, *zero_w = n->n_in > 4 ? n->in[4] : NULL;
  uint32_t in[5];
  for (uint32_t k = 0; k < 3; k++) in[k] = k < n->n_in ? lower_dense(l, n->in[k], n->src) : NO_TENSOR;
  in[3] = zero_operand(l, zero_x, n->src, &s->in_zero);
  in[4] = NO_TENSOR;
  const PTensor w = l->p->tensors.data[in[1]];
  const uint32_t out = lower_result(l, n->out[0]);
  const Dim *m = dim_floordiv(c, w.dims[0], dim_const(c, s->attr.group));
  const Dim *pairs = pairs_of(c, dim_mul(c, w.dims[1], dim_product(c, w.dims + 2, s->attr.n_spatial)));
  s->channels = w.dims[1];
  s->kernel = w.dims + 2;
  s->w_packed = pack_filters(l, s, zero_w, &in[1]);
  if (!s->w_packed) in[4] = lower_dense(l, zero_w, n->src);
  s->pack_bytes = s->w_packed ? c->zero : dim_mulc(c, dim_mul(c, pairs, round_up(c, m, tile->mr)), LANE * s->attr.group);
  const Dim *panel = dim_mulc(c, pairs, (int64_t)tile->nr / 2 * 3 * LANE); /* cn_conv_s16_scratch */
  (void)lower_step(l, STEP_CONV, in, 5, &out, 1, s, named_scratch(c, dim_add(c, s->pack_bytes, panel)), n->src);
  return true;
}
