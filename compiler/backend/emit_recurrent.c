/* Recurrent steps: the activations as functions over strips, then a call of the driver for each direction. */
#include "backend/emit_kernel.h"
#include "ir/act.h"

enum { LANES = 16 }; /* values a turn: a trip count that compilers know, so that they make vector code at -O2 */

/* One value after the other, or with `wide` LANES of them. */
static void print_act_loop(EmitCtx *c, StrBuf *b, const Expr *e, bool wide) {
  Str coord = STR("i0"), value[1] = {wide ? STR("v[i0 + l]") : STR("v[i0]")};
  ExprPrinter p = expr_printer(c, e, 1, &coord, NULL, NULL, value, "t", true);
  StrBuf outside = sb_new(c->arena); /* names of constants, declared once */
  expr_print_depth(&p, wide ? b : &outside, 0, 2);
  if (wide) sb_printf(b, "  for (; i0 + %d <= n; i0 += %d) {\n    for (size_t l = 0; l < %d; l++) {\n", LANES, LANES, LANES);
  else sb_puts(b, "  for (; i0 < n; i0++) {\n");
  expr_print_depth(&p, b, 1, wide ? 6 : 4);
  sb_printf(b, "%*s%.*s = %.*s;\n", wide ? 6 : 4, "", STR_WHOLE(value[0]), STR_WHOLE(expr_print_result(&p)));
  sb_puts(b, wide ? "    }\n  }\n" : "  }\n");
}

static Str emit_act(EmitCtx *c, const Step *s, RecurrentAct act) {
  Expr e = act_expr(c->arena, act, DT_f32);
  StrBuf b = sb_new(c->arena);
  sb_puts(&b, "(const void *arg, float *v, size_t n) {\n  size_t i0 = 0;\n  (void)arg;\n");
  print_act_loop(c, &b, &e, true);
  print_act_loop(c, &b, &e, false);
  sb_puts(&b, "}\n");
  return emit_function(c, s, "void", (Str){0}, sb_view(&b));
}

/* "x + 128", and x alone where nothing is added. */
static const char *behind(const EmitCtx *c, Str x, long long offset) {
  return offset ? arena_printf(c->arena, "%s + %lld", x.ptr, offset).ptr : x.ptr;
}

static void print_direction(KernelPrinter *k, const RecurrentStep *r, uint32_t d, const Str *names, const Str *acts) {
  StrBuf *b = &k->body;
  EmitCtx *c = k->c;
  const Program *p = c->program;
  const Step *s = k->step;
  long long hidden = (long long)r->attr.hidden, gh = hidden * r->gates;
  const Dim *batch = p->tensors.data[s->in[0]].dims[1];
  sb_printf(b, "  a.reverse = %d;\n", r->attr.direction == 1 || d == 1);
  sb_printf(b, "  a.x = %s;\n", behind(c, names[0], d * gh));
  if (r->r_packed) sb_printf(b, "  a.r = %s;\n", behind(c, names[2], (long long)(d * r->packed)));
  else {
    sb_printf(b, "  cn_pack_b_f32(%s, 1, %lld, %lld, %lld, %u, packed);\n", behind(c, names[2], d * gh * hidden), hidden, hidden, r->gates == 3 ? 2 * hidden : gh, r->nr);
    if (r->gates == 3)
      sb_printf(b, "  cn_pack_b_f32(%s + %lld, 1, %lld, %lld, %lld, %u, packed + cn_pack_size(%lld, %lld, %u));\n", names[2].ptr,
                (d * gh + 2 * hidden) * hidden, hidden, hidden, hidden, r->nr, hidden, 2 * hidden, r->nr);
    sb_puts(b, "  a.r = packed;\n");
  }
  if (names[3].len) sb_printf(b, "  a.r_bias = %s;\n", behind(c, names[3], d * hidden));
  if (names[7].len) sb_printf(b, "  a.peephole = %s;\n", behind(c, names[7], d * 3 * hidden));
  const char *y_names[3] = {"y", "y_h", "y_c"};
  StrBuf state = sb_new(c->arena);
  emit_symbols_add(c, &k->symbols, batch);
  if (d > 0) { /* the second direction's part: one is all that there are before it */
    sb_puts(&state, " + ");
    emit_dim(c, &state, dim_mulc(p->dims, batch, hidden));
  }
  if (s->out[0] != NO_TENSOR) sb_printf(b, "  a.y = y%s;\n", state.len ? state.data : "");
  for (int i = 1; i <= (r->attr.cell == CELL_LSTM ? 2 : 1); i++) {
    char field = i == 1 ? 'h' : 'c';
    if (s->out[i] != NO_TENSOR) sb_printf(b, "  a.%c = %s%s;\n", field, y_names[i], state.len ? state.data : "");
    else {
      sb_printf(b, "  a.%c = state%s", field, i == 2 ? " + a.batch * a.hidden" : "");
      sb_puts(b, ";\n");
    }
    sb_puts(b, batch->lo > 0 ? "  " : "  if (a.batch > 0) "); /* of an empty tensor a caller need not give an address */
    if (names[4 + i].len) sb_printf(b, "memcpy(a.%c, %s%s, a.batch * a.hidden * sizeof *a.%c);\n", field, names[4 + i].ptr, state.len ? state.data : "", field);
    else sb_printf(b, "memset(a.%c, 0, a.batch * a.hidden * sizeof *a.%c);\n", field, field);
  }
  static const char *const fields[] = {"f", "g", "act"};
  for (uint32_t i = 0; i < r->n_acts; i++) sb_printf(b, "  a.%s = %s;\n", fields[i], acts[d * r->n_acts + i].ptr);
  sb_puts(b, s->share.n ? "  if (cn_recurrent_f32(&a, scratch)) return CASTNET_ERR_OP;\n" : "  cn_recurrent_f32(&a, scratch);\n");
}

bool emit_recurrent(EmitCtx *c, const Step *s) {
  const RecurrentStep *r = s->attr;
  const Program *p = c->program;
  KernelPrinter k = kernel_printer(c, s);
  uint32_t dirs = r->attr.direction == 2 ? 2 : 1;
  Str names[8] = {{0}}, acts[6];
  for (uint32_t i = 0; i < dirs * r->n_acts; i++) acts[i] = emit_act(c, s, r->attr.acts[i]);
  for (uint32_t i = 0; i < 8; i++)
    if (s->in[i] != NO_TENSOR) names[i] = emit_param(&k.params, s->in[i]);
  const PTensor *x = &p->tensors.data[s->in[0]];
  const Dim *batch = x->dims[1];
  long long hidden = (long long)r->attr.hidden, gh = hidden * r->gates;
  kernel_args(&k, "cn_recurrent_f32_args", false);
  kernel_arg_size(&k, "steps", x->dims[0]);
  kernel_arg_size(&k, "batch", batch);
  kernel_arg(&k, ".hidden = %lld", hidden);
  kernel_arg(&k, ".gates = %u", r->gates);
  if (r->attr.linear_before_reset) kernel_arg(&k, ".linear_before_reset = 1");
  if (r->attr.input_forget) kernel_arg(&k, ".input_forget = 1");
  if (r->attr.clip > 0) kernel_arg(&k, ".clip = %s", expr_const_text(c, DT_f32, dtype_read_bits(DT_f32, &r->attr.clip)).ptr);
  kernel_arg_size(&k, "x_step", dim_mul(p->dims, batch, dim_const(p->dims, dirs * gh)));
  kernel_arg(&k, ".x_batch = %lld", dirs * gh);
  kernel_arg_size(&k, "y_step", dim_mul(p->dims, batch, dim_const(p->dims, dirs * hidden)));
  kernel_arg(&k, ".y_batch = %lld", hidden);
  if (names[4].len) kernel_arg(&k, ".lengths = %s", names[4].ptr);
  kernel_args_end(&k);
  if (!r->r_packed) sb_puts(&k.body, "  float *packed = scratch + cn_recurrent_f32_scratch(&a);\n");
  if (s->out[1] == NO_TENSOR || (r->attr.cell == CELL_LSTM && s->out[2] == NO_TENSOR))
    sb_printf(&k.body, "  float *state = scratch + cn_recurrent_f32_scratch(&a)%s;\n", r->r_packed ? "" : arena_printf(c->arena, " + %lld", (long long)r->packed).ptr);
  if (s->share.n) sb_printf(&k.body, "  a.spread = e->parallel_for;\n  a.user = e->parallel_user;\n  a.shares = %u;\n", s->share.n);
  for (uint32_t d = 0; d < dirs; d++) print_direction(&k, r, d, names, acts);
  kernel_finish(&k);
  return true;
}
