#include "backend/emit_integer.h"

#include "lower/finish.h"

/* ---- the finish ---- */
static Finish finish_of(EmitCtx *c, const Step *s, const Epilogue *e) {
  const PTensor *y = &c->program->tensors.data[s->out[0]];
  Finish f;
  (void)finish_match(c->program, e, y->rank, y->dims, step_channel_axis(s, y->rank, y->dims), &f); /* lowering made sure */
  return f;
}

/* A constant scale gets a name, so that the arguments can point to it. */
static void print_scale(KernelPrinter *k, const Finish *f) {
  if (f->out == DT_s32 || (f->scaled && f->scale.tensor != NO_TENSOR)) return;
  Str text = f->scaled ? expr_const_text(k->c, DT_f32, f->scale.bits) : STR("1.0f");
  sb_printf(&k->body, "  const float scale = %.*s;\n", STR_WHOLE(text));
}

static uint64_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static void print_bound(KernelPrinter *k, const char *name, bool has, float x, const char *none) {
  Str text = has ? expr_const_text(k->c, DT_f32, bits_of(x)) : str_c(none);
  kernel_arg(k, ".%s = %.*s", name, STR_WHOLE(text));
}

static void print_finish(KernelPrinter *k, const Finish *f, bool by_row, uint32_t bias) {
  const char *out = f->out == DT_s32 ? "CN_OUT_S32" : f->out == DT_f32 ? "CN_OUT_F32" : "CN_OUT_8";
  kernel_group(k, "finish");
  kernel_arg(k, ".out = %s", out);
  if (by_row) kernel_arg(k, ".by_row = 1");
  if (bias != NO_TENSOR) kernel_arg(k, ".bias = %s", emit_param(&k->params, bias).ptr);
  if (f->out != DT_s32) {
    const bool stored = f->scaled && f->scale.tensor != NO_TENSOR;
    kernel_arg(k, ".scale = %s", stored ? emit_param(&k->params, f->scale.tensor).ptr : "&scale");
    if (stored && f->scale.per_channel) kernel_arg(k, ".scale_step = 1");
    if (f->shifted) kernel_arg(k, ".shift = %s", emit_param(&k->params, f->shift.tensor).ptr);
    print_bound(k, "lo", f->has_lo, f->lo, "cn_from_bits_f32(0xff800000u /* -infinity */)");
    print_bound(k, "hi", f->has_hi, f->hi, "cn_from_bits_f32(0x7f800000u /* infinity */)");
    if (f->zero) kernel_arg(k, ".zero = %d", f->zero);
  }
  kernel_group_end(k);
}

/* ---- what is packed by the step ---- */
/* Where the kernel's own scratch starts. */
static Str own_scratch(KernelPrinter *k, const Dim *pack_bytes) {
  StrBuf b = sb_new(k->c->arena);
  emit_symbols_add(k->c, &k->symbols, pack_bytes);
  sb_puts(&b, "(int32_t *)(void *)scratch");
  if (dim_is(pack_bytes, 0)) return sb_view(&b);
  sb_puts(&b, " + ");
  emit_dim(k->c, &b, dim_floordiv(k->c->program->dims, pack_bytes, dim_const(k->c->program->dims, 4)));
  return sb_view(&b);
}

static bool is_signed(const EmitCtx *c, uint32_t tensor) { return c->program->tensors.data[tensor].dtype == DT_s8; }

/* ", zero points, their step": one, or one a column or row. */
static Str zeros_text(KernelPrinter *k, uint32_t zeros) {
  if (zeros == NO_TENSOR) return STR("NULL, 0");
  const PTensor *t = &k->c->program->tensors.data[zeros];
  const bool single = dim_is(dim_product(k->c->program->dims, t->dims, t->rank), 1);
  return arena_printf(k->c->arena, "%s, %d", emit_param(&k->params, zeros).ptr, !single);
}

static void print_pack_columns(KernelPrinter *k, const ContractStep *g, Str b, unsigned indent) {
  const Step *s = k->step;
  const TargetTile *tile = target_tile(k->c->opt->target, "gemm_s16");
  sb_printf(&k->body, "%*scn_pack_b_s16(%s", (int)indent, "", b.ptr);
  kernel_offset(k, &k->body, g->b_batch, g->n_batch);
  sb_printf(&k->body, ", %d, %.*s, %.*s, %.*s, %.*s, %u, %.*s, (int32_t *)(void *)scratch);\n", is_signed(k->c, s->in[1]),
            STR_WHOLE(kernel_size(k, g->b_k)), STR_WHOLE(kernel_size(k, g->b_n)), STR_WHOLE(kernel_size(k, g->k)), STR_WHOLE(kernel_size(k, g->n)),
            tile->nr, STR_WHOLE(zeros_text(k, s->in[3])));
}

/* ---- products ---- */
static void print_zero_rows(KernelPrinter *k, const ContractStep *g) {
  const uint32_t zeros = k->step->in[2];
  if (zeros == NO_TENSOR) {
    if (g->a_zero) kernel_arg(k, ".a_zero = &zero");
    return;
  }
  const PTensor *t = &k->c->program->tensors.data[zeros];
  kernel_arg(k, ".a_zero = %s", emit_param(&k->params, zeros).ptr);
  if (!dim_is(dim_product(k->c->program->dims, t->dims, t->rank), 1)) kernel_arg(k, ".a_zero_step = 1");
}

bool emit_integer_contract(EmitCtx *c, const Step *s) {
  const ContractStep *g = s->attr;
  KernelPrinter k = kernel_printer(c, s);
  Str a = emit_param(&k.params, s->in[0]), b = emit_param(&k.params, s->in[1]);
  const Finish f = finish_of(c, s, &g->epilogue);
  const bool b_moves = kernel_batched(g->b_batch, g->n_batch);
  if (!g->b_packed && !b_moves) print_pack_columns(&k, g, b, 2);
  if (g->a_zero) sb_printf(&k.body, "  const %s zero = %d;\n", is_signed(c, s->in[0]) ? "int8_t" : "uint8_t", g->a_zero);
  print_scale(&k, &f);
  kernel_args(&k, "cn_gemm_s16_args", g->n_batch == 0);
  kernel_arg_size(&k, "m", g->m);
  kernel_arg_size(&k, "n", g->n);
  kernel_arg_size(&k, "k", g->k);
  kernel_arg(&k, ".a = %s", a.ptr);
  kernel_arg_size(&k, "a_rs", g->a_m);
  kernel_arg_size(&k, "a_ks", g->a_k);
  if (is_signed(c, s->in[0])) kernel_arg(&k, ".a_signed = 1");
  print_zero_rows(&k, g);
  kernel_arg(&k, ".b = %s", g->b_packed ? b.ptr : "(const int32_t *)(const void *)scratch");
  kernel_arg(&k, ".c = y");
  kernel_arg_size(&k, "ldc", g->c_m);
  print_finish(&k, &f, false, NO_TENSOR);
  kernel_args_end(&k);
  const bool all = kernel_packs_tasks(&k, g, "cn_gemm_s16_tasks(&a)");
  const unsigned indent = kernel_batches(&k, g);
  const char *range = all ? kernel_batch_range(&k, g, indent) : NULL;
  if (!g->b_packed && b_moves) print_pack_columns(&k, g, b, indent);
  kernel_moving(&k, "a", a, g->a_batch, g->n_batch, indent);
  kernel_moving(&k, "c", STR("y"), g->c_batch, g->n_batch, indent);
  const char *call = arena_printf(c->arena, "cn_gemm_s16(&a, %.*s", STR_WHOLE(own_scratch(&k, g->pack_bytes))).ptr;
  if (range) sb_printf(&k.body, "%*s%s, %s);\n", (int)indent, "", call, range);
  else kernel_tasks(&k, indent, call, "cn_gemm_s16_tasks(&a)");
  kernel_batches_end(&k, g);
  kernel_finish(&k);
  return true;
}

/* ---- convolution ---- */
static void print_pack_filters(KernelPrinter *k, const ConvStep *v, const Dim *groups, const Dim *m, const Dim *const kernel[3], Str weights) {
  const Step *s = k->step;
  StrBuf taps = sb_new(k->c->arena);
  for (int i = 0; i < 3; i++) sb_printf(&taps, "%s%.*s", i ? " * " : "", STR_WHOLE(kernel_size(k, kernel[i])));
  sb_printf(&k->body, "  cn_pack_conv_s16(%s, %d, %.*s, %.*s, %.*s, %s, %u, %.*s, (int32_t *)(void *)scratch);\n", weights.ptr,
            is_signed(k->c, s->in[1]), STR_WHOLE(kernel_size(k, groups)), STR_WHOLE(kernel_size(k, m)), STR_WHOLE(kernel_size(k, v->channels)), taps.data,
            target_tile(k->c->opt->target, "gemm_s16")->mr, STR_WHOLE(zeros_text(k, s->in[4])));
}

bool emit_integer_conv(EmitCtx *c, const Step *s) {
  const ConvStep *v = s->attr;
  const Program *p = c->program;
  DimCtx *d = p->dims;
  const PTensor *x = &p->tensors.data[s->in[0]], *y = &p->tensors.data[s->out[0]];
  const ConvAttr *attr = &v->attr;
  WindowDims w = window_dims(d, x, y, attr->n_spatial, v->kernel, attr->stride, attr->dilation, attr->dilate_x, attr->pad_lo, attr->pad_hi);
  KernelPrinter k = kernel_printer(c, s);
  const Dim *groups = dim_const(d, attr->group), *m = dim_floordiv(d, y->dims[1], groups);
  Str in = emit_param(&k.params, s->in[0]), weights = emit_param(&k.params, s->in[1]);
  const Finish f = finish_of(c, s, &v->epilogue);
  if (!v->w_packed) print_pack_filters(&k, v, groups, m, w.kernel, weights);
  print_scale(&k, &f);
  const WindowChannels channels = {x->dims[0], groups, v->channels, m, false};
  kernel_args_of_window(&k, "cn_conv_s16_args", &w, &channels);
  kernel_arg(&k, ".in = %s", in.ptr);
  if (x->dtype == DT_s8) kernel_arg(&k, ".in_signed = 1");
  if (s->in[3] != NO_TENSOR) kernel_arg(&k, ".in_zero = *%s", emit_param(&k.params, s->in[3]).ptr);
  else if (v->in_zero) kernel_arg(&k, ".in_zero = %d", v->in_zero);
  kernel_arg(&k, ".weights = %s", v->w_packed ? weights.ptr : "(const int32_t *)(const void *)scratch");
  kernel_arg(&k, ".out = y");
  print_finish(&k, &f, true, s->in[2]);
  kernel_args_end(&k);
  kernel_tasks(&k, 2, arena_printf(c->arena, "cn_conv_s16(&a, %.*s", STR_WHOLE(own_scratch(&k, v->pack_bytes))).ptr, "cn_conv_s16_tasks(&a)");
  kernel_finish(&k);
  return true;
}
