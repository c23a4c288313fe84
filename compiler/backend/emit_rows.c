/* Kernels over rows: softmax, normalisation, attention. */
#include "backend/emit_tile.h"
#include "kernels/rows.h"

/* Rows of a known length that registers hold; 0: others. */
static int64_t short_row(const EmitCtx *c, const SoftmaxStep *s) {
  const uint32_t lanes = c->opt->target->vector_bits / 32;
  int64_t n;
  return lanes > 1 && dim_is(s->inner, 1) && dim_is_const(s->n, &n) && n <= CN_SOFTMAX_SHORT * (int64_t)lanes ? n : 0;
}

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
  if (v->safe) kernel_arg(&k, ".safe = 1");
  kernel_args_end(&k);
  const int64_t n = short_row(c, v);
  kernel_tasks(&k, 2, n ? arena_printf(c->arena, "cn_softmax_short_f32(&a, %lld", (long long)n).ptr : "cn_softmax_f32(&a", "cn_softmax_f32_tasks(&a)");
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
  kernel_tasks(&k, 2, "cn_norm_f32(&a", "cn_norm_f32_tasks(&a)");
  kernel_finish(&k);
  return true;
}

/* All of a head by the threads that there are, where these take one after the other. */
static void print_spread(KernelPrinter *k, const char *masked, unsigned indent) {
  DimCtx *d = k->c->program->dims;
  const StepShare *share = &k->step->share;
  const Str room = kernel_size(k, dim_floordiv(d, dim_mulc(d, share->slot, share->n), dim_const(d, sizeof(float))));
  sb_printf(&k->body, "%*sif (spread && cn_attention_%sf32_spread(&a, scratch, %s, spread)) return CASTNET_ERR_OP;\n", (int)indent, "", masked, room.ptr);
}

static void print_batches(KernelPrinter *k, const AttentionStep *v, const Str *names, const TileFunction *tile, const TileFunction *finish) {
  const ContractStep *s = &v->scores, *o = &v->sum;
  const char *const fields[] = {"q", "k", "v", "out"};
  const Dim *const *const strides[] = {s->a_batch, s->b_batch, o->b_batch, o->c_batch};
  const bool tasks = kernel_batch_tasks(k, s, "cn_attention_f32_tasks(&a)");
  const bool shared = s->n_batch && dim_is(s->b_batch[s->n_batch - 1], 0) && dim_is(o->b_batch[s->n_batch - 1], 0) && !dim_is(s->batch[s->n_batch - 1], 1);
  if (shared) sb_puts(&k->body, "  const float *keys = NULL, *values = NULL; /* what is packed */\n");
  const unsigned indent = kernel_batches(k, s);
  const char *range = tasks ? kernel_batch_range(k, s, indent) : "0, cn_attention_f32_tasks(&a)";
  for (int f = 0; f < 4; f++) {
    StrBuf at = sb_new(k->c->arena);
    kernel_offset(k, &at, strides[f], s->n_batch);
    if (at.len) sb_printf(&k->body, "%*sa.%s = %s%s;\n", (int)indent, "", fields[f], names[f].ptr, at.data);
  }
  emit_tile_move(k, tile, s->n_batch, indent);
  emit_tile_move(k, finish, s->n_batch, indent);
  if (shared) sb_printf(&k->body, "%*sa.packed = a.k == keys && a.v == values;\n%*skeys = a.k, values = a.v;\n", (int)indent, "", (int)indent, "");
  const char *masked = v->masked && tile->name.len ? "masked_" : "";
  const bool spreads = k->step->share.spread;
  if (spreads) print_spread(k, masked, indent);
  sb_printf(&k->body, "%*s%scn_attention_%sf32%s(&a, scratch, %s);\n", (int)indent, "", spreads ? "if (!spread) " : "", masked, dim_is_const(s->m, NULL) ? "" : "_any", range);
  kernel_batches_end(k, s);
  if (spreads) sb_puts(&k->body, "  return CASTNET_OK;\n");
}

/* Whether all that is done to the scores is a product with a positive number, which the exponential takes. */
static bool is_scaled(const Epilogue *e, float *ret) {
  const ExprNode *n = e->expr.nodes;
  if (e->expr.n != 3 || n[2].kind != EXPR_FN || (n[2].fn != SC_mul && n[2].fn != SC_div)) return false;
  const ExprNode *x = &n[n[2].args[0]], *y = &n[n[2].args[1]];
  if (n[2].fn == SC_mul && x->kind == EXPR_CONST) x = y, y = &n[n[2].args[0]];
  if (x->kind != EXPR_INPUT || x->operand || y->kind != EXPR_CONST || y->type != DT_f32) return false;
  memcpy(ret, &y->bits, sizeof *ret);
  if (n[2].fn == SC_div) *ret = 1.0f / *ret;
  return *ret > 0x1p-64f && *ret < 0x1p64f;
}

/* What follows one of the products. */
static TileFunction product_tile(EmitCtx *c, const Step *s, const ContractStep *g, uint32_t out) {
  const Epilogue *e = &g->epilogue;
  const TileAxes axes = {.rows = g->n_batch, .columns = g->n_batch + 1, .batched = true};
  uint32_t raw = 0;
  while (raw < e->expr.n && !(e->expr.nodes[raw].kind == EXPR_INPUT && e->expr.nodes[raw].operand == 0)) raw++;
  return emit_tile(c, s, out, e, raw, &axes);
}

bool emit_attention(EmitCtx *c, const Step *s) {
  const AttentionStep *v = s->attr;
  KernelPrinter k = kernel_printer(c, s);
  float scale;
  const bool scaled = is_scaled(&v->scores.epilogue, &scale);
  const TileFunction tile = scaled ? (TileFunction){0} : product_tile(c, s, &v->scores, v->shape);
  TileFunction finish = product_tile(c, s, &v->sum, s->out[0]);
  finish.member = "finish", finish.context = "finish_ctx";
  const Str names[] = {emit_param(&k.params, s->in[0]), emit_param(&k.params, s->in[1]), emit_param(&k.params, s->in[2]), STR("y")};
  emit_tile_context(&k, &tile);
  emit_tile_context(&k, &finish);
  kernel_args(&k, "cn_attention_f32_args", v->scores.n_batch == 0);
  kernel_arg_size(&k, "queries", v->scores.m);
  kernel_arg_size(&k, "keys", v->scores.n);
  kernel_arg_size(&k, "depth", v->scores.k);
  kernel_arg_size(&k, "width", v->sum.n);
  kernel_arg(&k, ".q = %s, .k = %s, .v = %s", names[0].ptr, names[1].ptr, names[2].ptr);
  kernel_arg_size(&k, "q_rs", v->scores.a_m);
  kernel_arg_size(&k, "q_ks", v->scores.a_k);
  kernel_arg_size(&k, "k_ds", v->scores.b_k);
  kernel_arg_size(&k, "k_ts", v->scores.b_n);
  kernel_arg_size(&k, "v_ts", v->sum.b_k);
  kernel_arg_size(&k, "v_es", v->sum.b_n);
  kernel_arg(&k, ".out = y");
  kernel_arg_size(&k, "ldo", v->sum.c_m);
  if (scaled) {
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    kernel_arg(&k, ".scale = %s", expr_const_text(c, DT_f32, bits).ptr);
  }
  if (v->safe) kernel_arg(&k, ".safe = 1");
  emit_tile_args(&k, &tile);
  emit_tile_args(&k, &finish);
  kernel_args_end(&k);
  print_batches(&k, v, names, &tile, &finish);
  kernel_finish(&k);
  return true;
}
