#include "ops/import_private.h"
#include "ops/shared.h"

const OnnxOpRow onnx_op_rows[] = {
#define ROW(domain, type, since, until, signature, types, attrs, fn, arg) \
  {domain, type, since, until, signature, types, attrs, import_##fn, arg},
#include "ops/onnx.def"
#undef ROW
};
const size_t n_onnx_op_rows = sizeof onnx_op_rows / sizeof *onnx_op_rows;

const OnnxKnownOp onnx_known_ops[] = {
#define KNOWN(domain, type, since) {domain, type, since},
#include "ops/onnx_known.def"
#undef KNOWN
};
const size_t n_onnx_known_ops = sizeof onnx_known_ops / sizeof *onnx_known_ops;

const OnnxKnownOp *onnx_known_op(Str domain, Str type) {
  for (size_t i = 0; i < n_onnx_known_ops; i++)
    if (str_is(type, onnx_known_ops[i].type) && str_is(domain, onnx_known_ops[i].domain)) return &onnx_known_ops[i];
  return NULL;
}
