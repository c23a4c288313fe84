/* Operands of a length that the model leaves open, where the rank of a result hangs on it: held to what the operator or the declared result says. */
#include "ops/import_private.h"
#include "ops/shared.h"

static const Dim *open_length(const OpContext *c, size_t k) {
  const Value *v = op_in(c, k);
  int64_t n;
  return v && v->type.kind == TYPE_TENSOR && v->type.rank == 1 && !dim_is_const(v->type.dims[0], &n) ? v->type.dims[0] : NULL;
}

int64_t op_declared_rank(const OpContext *c, size_t k) {
  if (k >= c->n_out || c->importer->opt->ignore_output_shapes) return -1;
  const OnnxType *t = map_get(&c->importer->scope->types, c->node->outputs[k]);
  return t && t->kind == ONNX_TYPE_TENSOR && t->has_shape && t->n_dims <= MAX_RANK ? (int64_t)t->n_dims : -1;
}

bool op_hold_length(OpContext *c, size_t k, int64_t n) {
  const Dim *len = open_length(c, k);
  if (!len || n < 0) return true;
  const Dim *held = bd_const(&c->b, n);
  if (!ir_require_eq(c->b.ir, len, held)) return op_fail(c, DIAG_E0402, "input %zu of shape %s must have %lld elements", k, op_shape(c, k), (long long)n);
  c->in[k] = build_reshape(&c->b, c->in[k], 1, &held);
  return c->in[k] != NULL;
}

bool op_fill_length(OpContext *c, size_t k, int64_t n, bool in_front, int64_t fill) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Dim *len = open_length(c, k), *most = bd_const(b, n);
  if (!len) return true;
  if (!ir_require_eq(b->ir, dim_max(d, len, most), most)) return op_fail(c, DIAG_E0402, "input %zu of shape %s must have at most %lld elements", k, op_shape(c, k), (long long)n);
  const Dim *rest = dim_max(d, dim_sub(d, most, len), d->zero), *none = d->zero;
  Value *v = build_cast(b, op_in(c, k), DT_s64, true);
  v = v ? build_pad(b, v, PAD_CONSTANT, in_front ? &rest : &none, in_front ? &none : &rest, build_scalar_i(b, DT_s64, fill)) : NULL;
  c->in[k] = v ? build_reshape(b, v, 1, &most) : NULL; /* for a length that is at most `most` */
  return c->in[k] != NULL;
}
