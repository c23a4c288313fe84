/* Softmax and normalisation of f32: kernels over dense rows. */
#include "lower/lower_private.h"

bool lower_softmax(Lower *l, const Node *n) {
  DimCtx *c = l->p->dims;
  const SoftmaxAttr *attr = n->attr;
  const Type *t = &n->in[0]->type;
  SoftmaxStep *s = NEW(l->a, SoftmaxStep);
  *s = (SoftmaxStep){.outer = dim_product(c, t->dims, attr->axis), .n = t->dims[attr->axis], .log = attr->log, .safe = attr->safe};
  s->inner = dim_product(c, t->dims + attr->axis + 1, t->rank - attr->axis - 1);
  uint32_t in = lower_dense(l, n->in[0], n->src), out = lower_result(l, n->out[0]);
  (void)lower_step(l, STEP_SOFTMAX, &in, 1, &out, 1, s, NULL, n->src);
  return true;
}

bool lower_norm(Lower *l, const Node *n) {
  DimCtx *c = l->p->dims;
  const NormAttr *attr = n->attr;
  const Type *t = &n->in[0]->type;
  NormStep *s = NEW(l->a, NormStep);
  *s = (NormStep){.kind = attr->kind, .rows = dim_product(c, t->dims, attr->axis), .epsilon = attr->epsilon};
  s->n = dim_product(c, t->dims + attr->axis, t->rank - attr->axis);
  s->period = attr->axis ? t->dims[attr->axis - 1] : c->one;
  s->scale_rows = n->n_in > 1 && n->in[1] && norm_operand_kind(&n->in[1]->type, t, attr->axis) == NORM_BY_ROW;
  s->bias_rows = n->n_in > 2 && n->in[2] && norm_operand_kind(&n->in[2]->type, t, attr->axis) == NORM_BY_ROW;
  uint32_t in[3], out;
  for (uint32_t k = 0; k < 3; k++) in[k] = k < n->n_in ? lower_dense(l, n->in[k], n->src) : NO_TENSOR;
  out = lower_result(l, n->out[0]);
  (void)lower_step(l, STEP_NORM, in, 3, &out, 1, s, NULL, n->src);
  return true;
}
