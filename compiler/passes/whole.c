/* A convolution of f32 whose only window is the whole image is a product of rows: [N][C * H * W] by [M][C * H * W]. */
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

static bool whole(Builder *b, const Node *n, Value **ret, void *user) {
  static const uint8_t rows[] = {0, 2}, columns[] = {1, 2}, out[] = {0, 1};
  (void)user;
  if (n->op != OP_CONV || !is_whole(n)) return false;
  Value *y = build_contract(b, as_rows(b, n->in[0]), rows, as_rows(b, n->in[1]), columns, out, 2, DT_f32, NULL, NULL);
  if (n->n_in > 2 && n->in[2]) y = build_fn2(b, SC_add, y, n->in[2]);
  ret[0] = build_reshape(b, y, n->out[0]->type.rank, n->out[0]->type.dims);
  return ret[0] != NULL;
}

bool pass_whole(Ir *ir) { return !pass_rewrite(ir, whole, NULL) || pass_fold(ir); }
