#include "ops/shared.h"

const OnnxOpRow onnx_op_rows[] = {
#define ROW(domain, type, since, until, signature, types, attrs, fn, arg) \
  {domain, type, since, until, signature, types, attrs, import_##fn, arg},
#include "ops/onnx.def"
#undef ROW
};
const size_t n_onnx_op_rows = sizeof onnx_op_rows / sizeof *onnx_op_rows;
