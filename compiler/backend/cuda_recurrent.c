/* Recurrent steps as CUDA: the activations as functions, then one kernel whose blocks run a sequence each. */
#include "backend/cuda_print.h"
#include "ir/act.h"

static Str print_act(EmitCtx *c, const Step *s, RecurrentAct act) {
  Expr e = act_expr(c->arena, act, DT_f32);
  StrBuf b = sb_new(c->arena);
  Str value[1] = {STR("v")};
  ExprPrinter p = expr_printer(c, &e, 0, NULL, NULL, NULL, value, "t", true);
  sb_puts(&b, "(float v) {\n");
  expr_print_depth(&p, &b, 0, 2);
  sb_printf(&b, "  return %.*s;\n}\n", STR_WHOLE(expr_print_result(&p)));
  return emit_function(c, s, "__device__ float", (Str){0}, sb_view(&b));
}

/* A cell has one to three activations; those that it does not use may be any. */
static void print_direction(KernelPrinter *k, const RecurrentStep *r, uint32_t d) {
  Str acts[3];
  for (uint32_t i = 0; i < 3; i++) acts[i] = print_act(k->c, k->step, r->attr.acts[d * r->n_acts + (i < r->n_acts ? i : 0)]);
  sb_printf(&k->body, "cn_cuda_recurrent_f32<%.*s, %.*s, %.*s>(&a, blockIdx.x / a.dirs, blockIdx.x %% a.dirs, scratch);\n", STR_WHOLE(acts[0]),
            STR_WHOLE(acts[1]), STR_WHOLE(acts[2]));
}

static void print_operands(KernelPrinter *k) {
  static const struct { const char *field; uint32_t in; } rows[] = {{"x", 0}, {"r", 2}, {"r_bias", 3}, {"lengths", 4}, {"h0", 5}, {"c0", 6}, {"peephole", 7}};
  static const char *const out[3][2] = {{"y", "y"}, {"y_h", "y_h"}, {"y_c", "y_c"}};
  const Step *s = k->step;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (s->in[rows[i].in] != NO_TENSOR) kernel_arg(k, ".%s = %s", rows[i].field, emit_param(&k->params, s->in[rows[i].in]).ptr);
  for (int i = 0; i < 3; i++)
    if (s->out[i] != NO_TENSOR) kernel_arg(k, ".%s = %s", out[i][0], out[i][1]);
}

bool cuda_recurrent(EmitCtx *c, const Step *s) {
  const RecurrentStep *r = s->attr;
  DimCtx *d = c->program->dims;
  const PTensor *x = &c->program->tensors.data[s->in[0]];
  const uint32_t dirs = r->attr.direction == 2 ? 2 : 1;
  KernelPrinter k = kernel_printer(c, s);
  kernel_args(&k, "cn_cuda_recurrent_f32_args", true);
  kernel_arg_size(&k, "steps", x->dims[0]);
  kernel_arg_size(&k, "batch", x->dims[1]);
  kernel_arg(&k, ".hidden = %lld", (long long)r->attr.hidden);
  kernel_arg(&k, ".gates = %u", r->gates);
  kernel_arg(&k, ".dirs = %u", dirs);
  if (r->attr.direction == 1) kernel_arg(&k, ".reverse = 1");
  if (r->attr.linear_before_reset) kernel_arg(&k, ".linear_before_reset = 1");
  if (r->attr.input_forget) kernel_arg(&k, ".input_forget = 1");
  if (r->attr.clip > 0) kernel_arg(&k, ".clip = %s", expr_const_text(c, DT_f32, dtype_read_bits(DT_f32, &r->attr.clip)).ptr);
  print_operands(&k);
  kernel_args_end(&k);
  sb_puts(&k.body, dirs == 2 ? "  if (blockIdx.x % a.dirs == 0) " : "  ");
  print_direction(&k, r, 0);
  if (dirs == 2) {
    sb_puts(&k.body, "  else ");
    print_direction(&k, r, 1);
  }
  cuda_finish(&k, false, dim_mul(d, x->dims[1], dim_const(d, dirs)));
  return true;
}
