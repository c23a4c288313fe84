#include "ops/trees.h"

DType trees_type(const OpContext *c) {
  const DType t = op_dtype(c, 0);
  return t == DT_f32 || t == DT_f16 ? DT_f32 : DT_f64;
}

bool trees_features(OpContext *c, int64_t *ret) {
  if (!op_rank_in(c, 0, 2, 2)) return false;
  if (!dim_is_const(op_dim(c, 0, 1), ret)) *ret = INT32_MAX; /* compared at run time */
  return true;
}

bool trees_reals(OpContext *c, const char *name, const OnnxTensor *t, const double **ret, size_t *ret_n) {
  const DType type = dtype_from_onnx(t->data_type);
  Arena *a = op_arena(c);
  if (type != DT_f32 && type != DT_f64 && type != DT_f16) return op_fail(c, DIAG_E0304, "%s is of type %s", name, dtype_name(type));
  const Tensor data = {type, t->n_elements, t->data, t->data_bytes, NULL};
  double *d = NEW_ARRAY(a, double, t->n_elements);
  cast_eval_strip(type, DT_f64, true, tensor_host_elements(a, &data), d, t->n_elements);
  *ret = d;
  *ret_n = t->n_elements;
  return true;
}

Value *trees_table(OpContext *c, DType type, size_t rows, size_t columns, const void *host) {
  const int64_t dims[2] = {(int64_t)rows, (int64_t)columns};
  const size_t n = rows * (columns ? columns : 1);
  return build_tensor(&c->b, type, columns ? 2 : 1, dims, tensor_from_host(op_arena(c), type, n, host)->bytes);
}

static Value *reals_table(OpContext *c, size_t n, const double *v) {
  const DType t = trees_type(c);
  void *as = NEW_ARRAY(op_arena(c), double, n);
  cast_eval_strip(DT_f64, t, true, v, as, n);
  return trees_table(c, t, n, 0, as);
}

/* How all nodes compare, CN_TREE_LEAF where they differ. */
static int64_t common_kind(const Trees *t) {
  int64_t kind = -1;
  for (size_t i = 0; i < t->n; i++) {
    const int64_t own = t->nodes[4 * i + 3] >> 1;
    if (own == CN_TREE_LEAF || own == kind) continue;
    if (kind >= 0) return CN_TREE_LEAF;
    kind = own;
  }
  return kind < 0 ? CN_TREE_LEAF : kind;
}

Value *trees_scores(OpContext *c, const Trees *t, int64_t n_targets, int64_t aggregate) {
  int64_t least = 0; /* features that a row must have */
  for (size_t i = 0; i < t->n; i++)
    if (t->nodes[4 * i + 3] >> 1 != CN_TREE_LEAF && t->nodes[4 * i] >= least) least = t->nodes[4 * i] + 1;
  const DType type = trees_type(c);
  const RoutineInt attrs[] = {{"aggregate", aggregate}, {"features", least}, {"kind", common_kind(t)}};
  Value *const in[6] = {build_cast(&c->b, c->in[0], type, true), trees_table(c, DT_s32, t->n, 4, t->nodes), reals_table(c, t->n, t->thresholds),
                        trees_table(c, DT_s32, t->n_roots, 0, t->roots), trees_table(c, DT_s32, t->n_weights, 0, t->targets),
                        reals_table(c, t->n_weights, t->weights)};
  const Dim *dims[2] = {op_dim(c, 0, 0), bd_const(&c->b, n_targets)};
  const Type out = type_tensor(c->b.ir, type, 2, dims);
  Value *scores;
  const char *symbol = type == DT_f64 ? "cn_op_tree_ensemble_f64" : "cn_op_tree_ensemble";
  return op_routine(c, symbol, in, 6, attrs, 3, dims[1], &out, 1, &scores) ? scores : NULL;
}
