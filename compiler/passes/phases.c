/* A transposed convolution without inserted zeros. Of its results those whose places are equal modulo the step `up` (a phase) read
 * each a part of the window's taps, at neighbouring places of the input: one convolution of stride 1 computes all phases as channels, and a view
 * interleaves them. A window of k taps leaves ceil(k / up) of them. */
#include "passes/passes.h"

enum { FEWEST = 2 }; /* up * ceil(k / up) may be this many times k: else the weights would be mostly zeros */

/* One spatial axis: place o of the result is place o + skip of the interleaved phases; phase a of place q reads the input at q + first + j
 * with tap up * (first + j) + shift - a, if there is one, for each j < taps. */
typedef struct Axis { int64_t up, kernel, taps, first, shift, skip; } Axis;

static bool axis_of(const Node *n, uint32_t i, Axis *ret) {
  const ConvAttr *a = n->attr;
  int64_t pad, kernel;
  if (!dim_is_const(n->in[1]->type.dims[2 + i], &kernel) || kernel < 1) return false;
  *ret = (Axis){.up = a->dilate_x[i], .kernel = kernel, .taps = kernel};
  if (ret->up == 1) return true;
  if (a->stride[i] != 1 || a->dilation[i] != 1 || !dim_is_const(a->pad_lo[i], &pad) || pad < -INT32_MAX || pad > INT32_MAX || kernel > INT32_MAX) return false;
  if (ret->up > FEWEST * kernel) return false;
  ret->skip = i64_floormod(kernel - 1 - pad, ret->up);
  ret->shift = pad + ret->skip;
  ret->first = -i64_floordiv(ret->shift, ret->up);
  ret->taps = (kernel - 1) / ret->up + 1;
  return true;
}

static bool axes_of(const Node *n, Axis *axes, int64_t *ret_phases) {
  const ConvAttr *a = n->attr;
  const Value *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL;
  *ret_phases = 1;
  if (n->n_in > 3 || a->acc != DT_f32 || n->in[0]->type.dtype != DT_f32 || a->n_spatial > 3 || !w->data || (bias && !bias->data)) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (n->out[0]->type.dims[2 + i]->hi < 1 || !axis_of(n, i, &axes[i]) || !i64_mul(*ret_phases, axes[i].up, ret_phases)) return false;
  return *ret_phases > 1;
}

/* Weights [M][C][kernel...] as [groups][phases][M / groups][C][taps...], zeros where a phase has no tap. */
static Value *phase_weights(Builder *b, const Node *n, const Axis *axes, int64_t phases, const Dim *const *dims) {
  const ConvAttr *a = n->attr;
  const Type *t = &n->in[1]->type;
  int64_t area = 1, taps = 1, outputs = 0, channels = 0, room;
  (void)dim_is_const(t->dims[0], &outputs), (void)dim_is_const(t->dims[1], &channels);
  for (uint32_t i = 0; i < a->n_spatial; i++) area *= axes[i].kernel, taps *= axes[i].taps; /* no more than the constant has */
  if (!i64_mul(outputs * channels, phases, &room) || !i64_mul(room, taps, &room) || room > INT32_MAX) return NULL;
  float *dst = NEW_ARRAY(b->ir->arena, float, (size_t)room);
  const float *src = tensor_host_elements(b->ir->arena, n->in[1]->data);
  const int64_t each = outputs / a->group;
  for (int64_t p = 0; p < phases; p++)
    for (int64_t j = 0; j < taps; j++) {
      int64_t phase = p, place = j, from = 0, scale = 1;
      for (uint32_t i = a->n_spatial; i-- > 0 && from >= 0;) {
        const Axis *x = &axes[i];
        const int64_t tap = x->up == 1 ? place % x->taps : x->up * (x->first + place % x->taps) + x->shift - phase % x->up;
        from = tap < 0 || tap >= x->kernel ? -1 : from + tap * scale;
        scale *= x->kernel, phase /= x->up, place /= x->taps;
      }
      for (int64_t m = 0; m < outputs * channels && from >= 0; m++) {
        const int64_t out = m / channels, group = out / each;
        dst[(((group * phases + p) * each + out % each) * channels + m % channels) * taps + j] = src[m * area + from];
      }
    }
  return ir_add_const(b->ir, type_tensor(b->ir, DT_f32, t->rank, dims), tensor_take_host(b->ir->arena, DT_f32, (size_t)room, dst), n->in[1]->name);
}

/* [M] as [groups][phases][M / groups] */
static Value *phase_bias(Builder *b, const Node *n, int64_t phases, const Dim *all) {
  const int64_t group = ((const ConvAttr *)n->attr)->group;
  Value *bias = n->n_in > 2 ? n->in[2] : NULL;
  const Dim *each = dim_floordiv(b->ir->dims, n->in[1]->type.dims[0], bd_const(b, group));
  const Dim *one[3] = {bd_const(b, group), b->ir->dims->one, each}, *many[3] = {one[0], bd_const(b, phases), each};
  return bias ? build_reshape(b, build_expand(b, build_reshape(b, bias, 3, one), 3, many), 1, &all) : NULL;
}

/* [N][groups][up...][M / groups][places...] as [N][M][places * up...], then what the result has of it. */
static Value *interleave(Builder *b, const Node *n, const Axis *axes, Value *y) {
  const ConvAttr *a = n->attr;
  const Type *out = &n->out[0]->type;
  const uint32_t s = a->n_spatial;
  const Dim *dims[MAX_RANK] = {out->dims[0], bd_const(b, a->group)}, *joined[MAX_RANK] = {out->dims[0], out->dims[1]};
  uint32_t perm[MAX_RANK] = {0, 1, 2 + s};
  for (uint32_t i = 0; i < s; i++) {
    dims[2 + i] = bd_const(b, axes[i].up);
    dims[3 + s + i] = y->type.dims[2 + i];
    joined[2 + i] = dim_mulc(b->ir->dims, y->type.dims[2 + i], axes[i].up);
    perm[3 + 2 * i] = 3 + s + i, perm[4 + 2 * i] = 2 + i;
  }
  dims[2 + s] = dim_floordiv(b->ir->dims, out->dims[1], dims[1]);
  y = build_reshape(b, build_transpose(b, build_reshape(b, y, 3 + 2 * s, dims), perm), 2 + s, joined);
  for (uint32_t i = 0; i < s; i++) y = build_slice(b, y, 2 + i, bd_const(b, axes[i].skip), out->dims[2 + i], b->ir->dims->one);
  return y;
}

static bool phases(Builder *b, const Node *n, Value **ret, void *user) {
  DimCtx *c = b->ir->dims;
  Axis axes[3];
  int64_t count, one[3] = {1, 1, 1};
  (void)user;
  if (n->op != OP_CONV || !axes_of(n, axes, &count)) return false;
  ConvAttr attr = *(const ConvAttr *)n->attr;
  const Value *x = n->in[0], *w = n->in[1], *y = n->out[0];
  const Dim *dims[MAX_RANK] = {dim_mulc(c, w->type.dims[0], count), w->type.dims[1]}, *lo[3], *hi[3];
  for (uint32_t i = 0; i < attr.n_spatial; i++) {
    const Axis *a = &axes[i];
    const Dim *places = dim_ceildiv(c, dim_addc(c, y->type.dims[2 + i], a->skip), bd_const(b, a->up));
    dims[2 + i] = bd_const(b, a->taps);
    lo[i] = a->up == 1 ? attr.pad_lo[i] : bd_const(b, -a->first);
    hi[i] = a->up == 1 ? attr.pad_hi[i] : dim_addc(c, dim_sub(c, places, x->type.dims[2 + i]), a->taps - 1 + a->first);
  }
  Value *weights = phase_weights(b, n, axes, count, dims);
  if (!weights) return false;
  attr.dilate_x = one;
  attr.pad_lo = lo;
  attr.pad_hi = hi;
  Value *all = build_conv(b, n->in[0], weights, phase_bias(b, n, count, dims[0]), NULL, NULL, attr);
  ret[0] = all ? interleave(b, n, axes, all) : NULL;
  return ret[0] != NULL;
}

bool pass_phases(Ir *ir) { return !pass_rewrite(ir, phases, NULL) || pass_fold(ir); }
