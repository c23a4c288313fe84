/* ai.onnx.ml: operators on maps. */
#include "ops/shared.h"

/* A map of labels to scores for each row. */
bool import_zip_map(OpContext *c) {
  Builder *b = &c->b;
  Value *x = c->in[0];
  size_t n, n_ints;
  const Str *strings = op_strs(c, "classlabels_strings", &n);
  const int64_t *ints = op_ints(c, "classlabels_int64s", &n_ints);
  if ((n > 0) == (n_ints > 0)) return op_fail(c, DIAG_E0304, "one of 'classlabels_strings' and 'classlabels_int64s' is asked");
  if (n == 0) n = n_ints, strings = NULL;
  if (x->type.rank == 1) x = build_unsqueeze(b, x, 1);
  const Dim *const count = bd_const(b, (int64_t)n);
  if (!x || x->type.rank != 2 || !ir_require_eq(b->ir, x->type.dims[1], count)) return op_fail(c, DIAG_E0402, "shape %s for %zu labels", op_shape(c, 0), n);
  Value *const in[] = {strings ? op_vector(c, DT_str, n, strings) : build_ints(b, ints, n), x};
  const MapType map = {true, strings ? DT_str : DT_s64, DT_f32};
  const Dim *const rows[] = {x->type.dims[0], bd_const(b, 3)}, *const values[] = {x->type.dims[0], count};
  Type types[] = {type_tensor(b->ir, DT_u64, 2, rows), type_tensor(b->ir, DT_f32, 2, values)};
  types[0].map = arena_dup(op_arena(c), &map, sizeof map);
  Value *made[2];
  if (!op_routine(c, "cn_op_zip_map", in, 2, NULL, 0, NULL, types, 2, made)) return false;
  return op_give(c, 0, made[0]);
}
