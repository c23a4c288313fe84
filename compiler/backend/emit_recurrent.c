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
  if (wide) {
    sb_printf(b, "  for (; i0 + %d <= n; i0 += %d) {\n", LANES, LANES);
    if (expr_print_lane_calls(&p, b, &(LaneLoop){1, LANES, NULL, "size_t", "l", "i0", "v + i0"}, 4)) {
      sb_puts(b, "  }\n");
      return;
    }
    sb_printf(b, "    for (size_t l = 0; l < %d; l++) {\n", LANES);
  } else {
    sb_puts(b, "  for (; i0 < n; i0++) {\n");
  }
  expr_print_depth(&p, b, 1, wide ? 6 : 4);
  sb_printf(b, "%*s%.*s = %.*s;\n", wide ? 6 : 4, "", STR_WHOLE(value[0]), STR_WHOLE(expr_print_result(&p)));
  sb_puts(b, wide ? "    }\n  }\n" : "  }\n");
}

static Str emit_act(EmitCtx *c, const Step *s, RecurrentAct act) {
  Expr e = act_expr(c->arena, act, DT_f32);
  StrBuf b = sb_new(c->arena);
  sb_puts(&b, "(const void *arg, float *v, size_t n) {\n");
  const ExprNode *last = &e.nodes[e.n - 1]; /* the value is all that it needs where it is a function of lanes itself */
  if (expr_lane_calls(&e) == 1 && expr_node_arity(last) == 1 && e.nodes[last->args[0]].kind == EXPR_INPUT && c->opt->target->vector_bits >= 128) {
    sb_printf(&b, "  (void)arg;\n  cn_%s_lanes_f32(v, v, n);\n", scalar_rows[last->fn].name);
  } else {
    sb_puts(&b, "  size_t i0 = 0;\n  (void)arg;\n");
    print_act_loop(c, &b, &e, true);
    print_act_loop(c, &b, &e, false);
  }
  sb_puts(&b, "}\n");
  return emit_function(c, s, "void", (Str){0}, sb_view(&b));
}

/* "x + d * 128" of two directions, d = 0, 1; x of one. */
static const char *of_direction(const EmitCtx *c, const RecurrentStep *r, Str x, long long each) {
  return r->attr.direction == 2 ? arena_printf(c->arena, "%s + d * %lld", x.ptr, each).ptr : x.ptr;
}

static void print_packing(KernelPrinter *k, const RecurrentStep *r, Str weights, int indent) {
  const long long hidden = (long long)r->attr.hidden, gh = hidden * r->gates, first = r->gates == 3 ? 2 * hidden : gh;
  const char *from = of_direction(k->c, r, weights, gh * hidden);
  sb_printf(&k->body, "%*scn_pack_b_f32(%s, 1, %lld, %lld, %lld, %u, packed);\n", indent, "", from, hidden, hidden, first, r->nr);
  if (r->gates == 3)
    sb_printf(&k->body, "%*scn_pack_b_f32(%s + %lld, 1, %lld, %lld, %lld, %u, packed + cn_pack_size(%lld, %lld, %u));\n", indent, "", from, first * hidden,
              hidden, hidden, hidden, r->nr, hidden, first, r->nr);
  sb_printf(&k->body, "%*sa.r = packed;\n", indent, "");
}

/* Where the layer's state h or c is, and what it begins as. */
static void print_state(KernelPrinter *k, const RecurrentStep *r, int i, const Str *names, int indent) {
  static const char *const results[] = {"", "y_h", "y_c"};
  const char *part = r->attr.direction == 2 ? " + d * a.batch * a.hidden" : "", field = i == 1 ? 'h' : 'c';
  StrBuf *b = &k->body;
  if (k->step->out[i] != NO_TENSOR) sb_printf(b, "%*sa.%c = %s%s;\n", indent, "", field, results[i], part);
  else sb_printf(b, "%*sa.%c = state%s;\n", indent, "", field, i == 2 ? " + a.batch * a.hidden" : "");
  const bool some = k->c->program->tensors.data[k->step->in[0]].dims[1]->lo > 0; /* of an empty tensor a caller need not give an address */
  sb_printf(b, "%*s%s", indent, "", some ? "" : "if (a.batch > 0) ");
  if (names[4 + i].len) sb_printf(b, "memcpy(a.%c, %s%s, a.batch * a.hidden * sizeof *a.%c);\n", field, names[4 + i].ptr, part, field);
  else sb_printf(b, "memset(a.%c, 0, a.batch * a.hidden * sizeof *a.%c);\n", field, field);
}

/* One direction, or d = 0 and 1, of which each share does some. */
static void print_directions(KernelPrinter *k, const RecurrentStep *r, const Str *names, const Str *acts) {
  StrBuf *b = &k->body;
  const Step *s = k->step;
  const bool two = r->attr.direction == 2;
  const int indent = two ? 4 : 2;
  k->parted = s->share.n && s->share.axis == SHARE_DIRECTIONS;
  if (two) sb_puts(b, k->parted ? "  for (size_t d = s0; d < s1; d++) {\n    a.reverse = d == 1;\n" : "  for (size_t d = 0; d < 2; d++) {\n    a.reverse = d == 1;\n");
  else if (r->attr.direction == 1) sb_puts(b, "  a.reverse = 1;\n");
  const long long hidden = (long long)r->attr.hidden;
  sb_printf(b, "%*sa.x = %s;\n", indent, "", of_direction(k->c, r, names[0], hidden * r->gates));
  if (r->r_packed) sb_printf(b, "%*sa.r = %s;\n", indent, "", of_direction(k->c, r, names[2], (long long)r->packed));
  else print_packing(k, r, names[2], indent);
  if (names[3].len) sb_printf(b, "%*sa.r_bias = %s;\n", indent, "", of_direction(k->c, r, names[3], hidden));
  if (names[7].len) sb_printf(b, "%*sa.peephole = %s;\n", indent, "", of_direction(k->c, r, names[7], 3 * hidden));
  if (s->out[0] != NO_TENSOR) sb_printf(b, "%*sa.y = y%s;\n", indent, "", two ? " + d * a.batch * a.hidden" : "");
  for (int i = 1; i <= (r->attr.cell == CELL_LSTM ? 2 : 1); i++) print_state(k, r, i, names, indent);
  static const char *const fields[] = {"f", "g", "act"};
  for (uint32_t i = 0; i < r->n_acts; i++) {
    const char *first = acts[i].ptr, *second = two ? acts[r->n_acts + i].ptr : first;
    if (strcmp(first, second) == 0) sb_printf(b, "%*sa.%s = %s;\n", indent, "", fields[i], first);
    else sb_printf(b, "%*sa.%s = d ? %s : %s;\n", indent, "", fields[i], second, first);
  }
  const bool may_fail = s->share.n && !k->parted;
  sb_printf(b, may_fail ? "%*sif (cn_recurrent_f32(&a, scratch)) return CASTNET_ERR_OP;\n" : "%*s(void)cn_recurrent_f32(&a, scratch);\n", indent, "");
  if (two) sb_puts(b, "  }\n");
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
  if (s->share.n && s->share.axis != SHARE_DIRECTIONS) sb_printf(&k.body, "  a.spread = e->parallel_for;\n  a.user = e->parallel_user;\n  a.shares = %u;\n", s->share.n);
  print_directions(&k, r, names, acts);
  kernel_finish(&k);
  return true;
}
