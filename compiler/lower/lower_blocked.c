#include "lower/lower_blocked.h"

#include "lower/scratch.h"
#include "lower/window.h"

#include "kernels/pack.h"

/* Sizes of one convolution, which are known (pass_layout). */
typedef struct Shape { size_t m, c, taps, block, blocks; bool plain; } Shape;

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

static uint32_t pack_dense(Lower *l, const ConvStep *step, const Shape *s, const Value *w) {
  const size_t count = s->blocks * s->block * s->c * s->taps;
  const float *src = tensor_host_elements(l->a, w->data);
  float *packed = NEW_ARRAY(l->a, float, count), *at = packed;
  size_t n = 0;
  for (; n + step->wide <= s->blocks; n += step->wide)
    at = cn_pack_blocked_f32(src, s->m, s->c, s->taps, s->plain, s->block, n, step->wide, at);
  if (step->rest) (void)cn_pack_blocked_f32(src, s->m, s->c, s->taps, s->plain, s->block, n, step->rest, at);
  return constant_floats(l, count, packed, w->name);
}

static uint32_t pack_depthwise(Lower *l, const Shape *s, const Value *w) {
  const size_t count = s->blocks * s->block * s->taps;
  float *packed = NEW_ARRAY(l->a, float, count);
  cn_pack_depthwise_f32(tensor_host_elements(l->a, w->data), s->m, s->taps, s->block, packed);
  return constant_floats(l, count, packed, w->name);
}

static uint32_t padded_bias(Lower *l, const Shape *s, const Value *bias) {
  if (!bias) return NO_TENSOR;
  float *padded = NEW_ARRAY(l->a, float, s->blocks * s->block);
  memcpy(padded, tensor_host_elements(l->a, bias->data), s->m * sizeof *padded);
  return constant_floats(l, s->blocks * s->block, padded, bias->name);
}

/* The largest share that the target's tile takes, even over all calls: 5 blocks are 3 and 2, not 4 and 1. */
static void split_blocks(Lower *l, ConvStep *step, size_t blocks) {
  const size_t most = target_tile(l->opt->target, "blocked_f32")->mr, groups = (blocks + most - 1) / most;
  step->wide = (uint32_t)((blocks + groups - 1) / groups);
  step->rest = (uint32_t)(blocks % step->wide);
}

bool lower_blocked_conv(Lower *l, const Node *n, ConvStep *s) {
  DimCtx *c = l->p->dims;
  const Value *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL;
  uint32_t in[5] = {lower_dense(l, n->in[0], n->src), NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR}, out = lower_result(l, n->out[0]);
  const PTensor x = l->p->tensors.data[in[0]], y = l->p->tensors.data[out];
  const Shape shape = {known(w->type.dims[0]), known(w->type.dims[1]), known(w->type.dims[2]) * known(w->type.dims[3]), (size_t)s->attr.block,
                       known(y.dims[1]), x.rank == 4};
  const Dim *scratch = NULL;
  s->channels = w->type.dims[1];
  s->kernel = w->type.dims + 2;
  s->depthwise = s->attr.group > 1;
  s->w_packed = true;
  s->pack_bytes = c->zero;
  if (s->depthwise) {
    in[1] = pack_depthwise(l, &shape, w);
  } else {
    const WindowDims win = window_dims(c, &x, &y, 2, s->kernel, s->attr.stride, s->attr.dilation, s->attr.dilate_x, s->attr.pad_lo, s->attr.pad_hi);
    split_blocks(l, s, shape.blocks);
    in[1] = pack_dense(l, s, &shape, w);
    scratch = window_blocked_scratch(c, l->opt->target, &win, s->channels, dim_mulc(c, y.dims[1], s->attr.block), shape.plain);
  }
  in[2] = padded_bias(l, &shape, bias);
  (void)lower_step(l, STEP_CONV, in, 5, &out, 1, s, scratch, n->src);
  return true;
}
