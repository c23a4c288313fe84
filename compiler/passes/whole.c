/* Windows that are the whole image. A convolution of f32 with no other is a product of rows, [N][C * H * W] by [M][C * H * W]; an average or
 * maximum over it is a reduction. */
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

/* One result a channel, of all of it and no padding. */
static bool is_whole_pool(const Node *n) {
  const PoolAttr *a = n->attr;
  const Value *x = n->in[0], *y = n->out[0];
  if (n->n_out > 1 || (a->kind != POOL_AVERAGE && a->kind != POOL_MAX) || a->block) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!dim_is(x->type.dims[2 + i], a->kernel[i]) || a->dilation[i] != 1 || !dim_is(a->pad_lo[i], 0) || !dim_is(a->pad_hi[i], 0) || !dim_is(y->type.dims[2 + i], 1)) return false;
  return true;
}

static bool whole(Builder *b, const Node *n, Value **ret, void *user) {
  static const uint8_t rows[] = {0, 2}, columns[] = {1, 2}, out[] = {0, 1};
  (void)user;
  if (n->op == OP_POOL && is_whole_pool(n)) {
    const uint32_t axes = (((uint32_t)1 << n->in[0]->type.rank) - 1) & ~(uint32_t)3;
    ret[0] = ((const PoolAttr *)n->attr)->kind == POOL_MAX ? build_reduce(b, REDUCE_MAX, n->in[0], axes, true) : build_reduce_mean(b, n->in[0], axes, true);
    return ret[0] != NULL;
  }
  if (n->op != OP_CONV || !is_whole(n)) return false;
  Value *y = build_contract(b, as_rows(b, n->in[0]), rows, as_rows(b, n->in[1]), columns, out, 2, DT_f32, NULL, NULL);
  if (n->n_in > 2 && n->in[2]) y = build_fn2(b, SC_add, y, n->in[2]);
  ret[0] = build_reshape(b, y, n->out[0]->type.rank, n->out[0]->type.dims);
  return ret[0] != NULL;
}

bool pass_whole(Ir *ir) { return !pass_rewrite(ir, whole, NULL) || pass_fold(ir); }
