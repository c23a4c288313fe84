/* Kernels over rows: softmax, normalisation. */
#include "backend/emit_kernel.h"

bool emit_softmax(EmitCtx *c, const Step *s) {
  const SoftmaxStep *v = s->attr;
  KernelPrinter k = kernel_printer(c, s);
  Str in = emit_param(&k.params, s->in[0]);
  kernel_args(&k, "cn_softmax_f32_args", true);
  kernel_arg_size(&k, "outer", v->outer);
  kernel_arg_size(&k, "n", v->n);
  kernel_arg_size(&k, "inner", v->inner);
  kernel_arg(&k, ".in = %s", in.ptr);
  kernel_arg(&k, ".out = y");
  if (v->log) kernel_arg(&k, ".log = 1");
  kernel_args_end(&k);
  sb_puts(&k.body, "  cn_softmax_f32(&a, 0, cn_softmax_f32_tasks(&a));\n");
  kernel_finish(&k);
  return true;
}

bool emit_norm(EmitCtx *c, const Step *s) {
  const NormStep *v = s->attr;
  KernelPrinter k = kernel_printer(c, s);
  Str in = emit_param(&k.params, s->in[0]);
  kernel_args(&k, "cn_norm_f32_args", true);
  kernel_arg_size(&k, "rows", v->rows);
  kernel_arg_size(&k, "n", v->n);
  kernel_arg(&k, ".in = %s", in.ptr);
  if (s->in[1] != NO_TENSOR) kernel_arg(&k, ".%s = %s", v->scale_rows ? "row_scale" : "scale", emit_param(&k.params, s->in[1]).ptr);
  if (s->in[2] != NO_TENSOR) kernel_arg(&k, ".%s = %s", v->bias_rows ? "row_bias" : "bias", emit_param(&k.params, s->in[2]).ptr);
  if (v->scale_rows || v->bias_rows) kernel_arg_size(&k, "period", v->period);
  kernel_arg(&k, ".out = y");
  uint32_t bits;
  memcpy(&bits, &v->epsilon, sizeof bits);
  kernel_arg(&k, ".epsilon = %s", expr_const_text(c, DT_f32, bits).ptr);
  if (v->kind == NORM_RMS) kernel_arg(&k, ".rms = 1");
  kernel_args_end(&k);
  sb_puts(&k.body, "  cn_norm_f32(&a, 0, cn_norm_f32_tasks(&a));\n");
  kernel_finish(&k);
  return true;
}
