/* Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include "ops/shared.h"

/* x [N][C][d...] at the class that target [N][d...] names: [N][d...] */
static Value *at_class(OpContext *c, Value *x, Value *target) {
  Builder *b = &c->b;
  const uint32_t rank = target->type.rank;
  Affine place[MAX_RANK] = {{0}};
  GatherAxis axes[MAX_RANK + 1] = {{0}};
  for (uint32_t j = 0; j < rank; j++) place[j] = build_affine_coord(b, rank, j);
  axes[0].affine = place[0];
  axes[1] = (GatherAxis){.indirect = true, .operand = 1, .place = place};
  for (uint32_t i = 2; i <= rank; i++) axes[i].affine = place[i - 1];
  Value *const in[] = {x, target};
  return build_gather(b, in, 2, rank, target->type.dims, axes);
}

/* weight [C] at each target */
static Value *class_weight(OpContext *c, Value *weight, Value *target) {
  Builder *b = &c->b;
  Affine place[MAX_RANK];
  for (uint32_t j = 0; j < target->type.rank; j++) place[j] = build_affine_coord(b, target->type.rank, j);
  const GatherAxis axis = {.indirect = true, .operand = 1, .place = place};
  Value *const in[] = {weight, target};
  return build_gather(b, in, 2, target->type.rank, target->type.dims, &axis);
}

static bool shapes_fit(OpContext *c) {
  const Type *x = &c->in[0]->type, *t = &c->in[1]->type;
  if (x->rank < 2 || t->rank + 1 != x->rank) return op_fail(c, DIAG_E0402, "scores of shape %s, targets of shape %s", op_shape(c, 0), op_shape(c, 1));
  bool ok = ir_require_eq(c->b.ir, x->dims[0], t->dims[0]);
  for (uint32_t i = 2; i < x->rank; i++) ok = ok && ir_require_eq(c->b.ir, x->dims[i], t->dims[i - 1]);
  if (!ok) return op_fail(c, DIAG_E0402, "scores of shape %s, targets of shape %s", op_shape(c, 0), op_shape(c, 1));
  if (c->in[2] && (c->in[2]->type.rank != 1 || !ir_require_eq(c->b.ir, c->in[2]->type.dims[0], x->dims[1])))
    return op_fail(c, DIAG_E0402, "weights of shape %s for scores of shape %s", op_shape(c, 2), op_shape(c, 0));
  return true;
}

static Value *mean_loss(OpContext *c, Value *loss, Value *weight) {
  Builder *b = &c->b;
  const uint32_t all = axes_from(0, loss->type.rank);
  if (!weight) return build_reduce_mean(b, loss, all, false);
  /* Sums in a wider type: a mean of narrow floats exists where their sum does not. */
  const DType t = loss->type.dtype, wide = dtype_compute(t);
  Value *sum = build_reduce(b, REDUCE_SUM, build_cast(b, loss, wide, true), all, false);
  Value *weights = build_reduce(b, REDUCE_SUM, build_cast(b, weight, wide, true), all, false);
  return build_cast(b, build_fn2(b, SC_div, sum, weights), t, true);
}

/* Of log-probabilities x; NULL after a diagnostic. */
static Value *nll_loss(OpContext *c, Value *x) {
  Builder *b = &c->b;
  Value *target = c->in[1], *keep = NULL, *weight = NULL;
  const Str how = op_str(c, "reduction", "mean");
  if (!x || !target) return NULL;
  if (op_has_attr(c, "ignore_index")) {
    keep = build_fn2(b, SC_ne, target, op_scalar_like(c, target, (double)op_int(c, "ignore_index", 0)));
    target = build_fn3(b, SC_select, keep, target, op_scalar_like(c, target, 0));
  }
  if (!target) return NULL;
  if (c->in[2]) weight = class_weight(c, c->in[2], target);
  if (keep && str_is(how, "mean")) weight = build_fn3(b, SC_select, keep, weight ? weight : op_scalar_like(c, x, 1), op_scalar_like(c, x, 0));
  Value *loss = build_fn1(b, SC_neg, at_class(c, x, target));
  if (weight) loss = build_fn2(b, SC_mul, loss, weight);
  if (keep) loss = build_fn3(b, SC_select, keep, loss, op_scalar_like(c, x, 0));
  if (!loss || str_is(how, "none")) return loss;
  if (str_is(how, "sum")) return build_reduce(b, REDUCE_SUM, loss, axes_from(0, loss->type.rank), false);
  if (str_is(how, "mean")) return mean_loss(c, loss, weight);
  (void)op_fail(c, DIAG_E0304, "attribute 'reduction' is neither none, sum nor mean");
  return NULL;
}

bool import_nll_loss(OpContext *c) { return shapes_fit(c) && op_give(c, 0, nll_loss(c, c->in[0])); }

bool import_cross_entropy(OpContext *c) {
  if (!shapes_fit(c)) return false;
  Value *log_prob = build_softmax(&c->b, c->in[0], (SoftmaxAttr){.axis = 1, .log = true});
  if (c->n_out > 1) c->out[1] = log_prob;
  return op_give(c, 0, nll_loss(c, log_prob));
}
