/* Kernel steps: the arguments of a runtime-lite driver, and a call of it. */
#include "backend/emit_tile.h"

#include "backend/emit_integer.h"

#include "lower/finish.h"
#include "lower/share.h"
#include "lower/window.h"

/* ---- the function around a kernel --------------------------------------------------------------------------------------------- */
KernelPrinter kernel_printer(EmitCtx *c, const Step *s) {
  KernelPrinter k = {.c = c, .step = s, .args = "a", .body = sb_new(c->arena), .assigned = sb_new(c->arena), .params = {.c = c}, .symbols = emit_symbols_new(c)};
  return k;
}

static Str cast_dim(KernelPrinter *k, const Dim *d, const char *type) {
  StrBuf b = sb_new(k->c->arena);
  emit_symbols_add(k->c, &k->symbols, d);
  emit_dim_as(k->c, &b, d, type);
  return sb_view(&b);
}

Str kernel_size(KernelPrinter *k, const Dim *d) { return cast_dim(k, d, "size_t"); }

/* ---- the arguments: one initialiser, filled to the width of a page ---- */
enum { PAGE = 118, ITEM_INDENT = 6 };

static void open_initialiser(KernelPrinter *k, const char *what) {
  k->line = k->body.len;
  k->first = true;
  sb_printf(&k->body, "  %s = {", what);
}

void kernel_args(KernelPrinter *k, const char *type, bool constant) {
  open_initialiser(k, arena_printf(k->c->arena, "%s%s %s", constant ? "const " : "", type, k->args).ptr);
}

static void put_item(KernelPrinter *k, Str item) {
  if (!k->first) sb_putc(&k->body, ',');
  if (k->body.len - k->line + item.len + 2 > PAGE) {
    sb_putc(&k->body, '\n');
    k->line = k->body.len;
    sb_printf(&k->body, "%*s", ITEM_INDENT, "");
  } else if (!k->first) {
    sb_putc(&k->body, ' ');
  }
  sb_str(&k->body, item);
  k->first = false;
}

void kernel_arg(KernelPrinter *k, const char *fmt, ...) {
  StrBuf b = sb_new(k->c->arena);
  va_list ap;
  va_start(ap, fmt);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  put_item(k, sb_view(&b));
}

void kernel_arg_size(KernelPrinter *k, const char *name, const Dim *d) {
  kernel_arg(k, ".%s = %.*s", name, STR_WHOLE(kernel_size(k, d)));
}

void kernel_group(KernelPrinter *k, const char *name) {
  kernel_arg(k, ".%s = {", name);
  k->first = true;
}

void kernel_group_end(KernelPrinter *k) {
  sb_putc(&k->body, '}');
  k->first = false;
}

void kernel_args_end(KernelPrinter *k) {
  sb_puts(&k->body, "};\n");
  sb_str(&k->body, sb_view(&k->assigned));
  k->assigned = sb_new(k->c->arena);
}

void kernel_tasks(KernelPrinter *k, unsigned indent, const char *head, const char *tasks) {
  const StepShare *share = &k->step->share;
  sb_printf(&k->body, "%*s%s, ", (int)indent, "", head);
  if (!share->n || share->axis != SHARE_TASKS) {
    sb_printf(&k->body, "0, %s);\n", tasks);
    return;
  }
  sb_printf(&k->body, "cn_share(%s, s0, %u),\n%*scn_share(%s, s1, %u));\n", tasks, share->n, (int)indent + 4, "", tasks, share->n);
  k->parted = true;
}

/* A step that hands out its parts itself, again and again. */
static bool step_spreads(const Step *s) { return s->kind == STEP_RECURRENT && s->share.n && s->share.axis != SHARE_DIRECTIONS; }

/* Behind the parameters of a function that does the shares s0 .. s1, where it is one. */
static void finish_shares(KernelPrinter *k, StrBuf *rest, Str params) {
  const StepShare *share = &k->step->share;
  sb_puts(rest, step_spreads(k->step) ? "(const castnet_env *e, " : share->spread ? "(const cn_spread *spread, " : "(");
  sb_str(rest, params);
  sb_puts(rest, k->parted ? ", size_t s0, size_t s1) {\n" : ") {\n");
  if (!k->parted || !share->slot) return;
  sb_puts(rest, "  scratch += s0 * ");
  sb_str(rest, kernel_size(k, dim_floordiv(k->c->program->dims, share->slot, dim_const(k->c->program->dims, 4))));
  sb_puts(rest, ";\n");
}

void kernel_finish(KernelPrinter *k) {
  EmitCtx *c = k->c;
  const Step *s = k->step;
  StrBuf params = sb_new(c->arena), args = sb_new(c->arena), rest = sb_new(c->arena), comment = sb_new(c->arena), unused = sb_new(c->arena);
  if (k->parted && s->share.slot) emit_symbols_add(c, &k->symbols, s->share.slot);
  if (k->parted && s->share.elements) emit_symbols_beside(c, &k->symbols, s->share.elements, &unused);
  emit_params_text(&k->params, s->out, s->kind == STEP_RECURRENT ? 3 : 1, &params, &args);
  if (s->scratch != NO_TENSOR) {
    sb_puts(&params, ", float *scratch");
    sb_puts(&args, ", ");
    emit_pointer_as(c, &args, s->scratch, "float");
  }
  emit_symbol_params(c, &params, &k->symbols);
  emit_symbol_args(c, &args, &k->symbols);
  emit_describe(c, &comment, s->out[0] != NO_TENSOR ? s->out[0] : s->out[1] != NO_TENSOR ? s->out[1] : s->out[2]);
  finish_shares(k, &rest, sb_view(&params));
  const bool spreads = step_spreads(s);
  sb_str(&rest, sb_view(&unused));
  sb_printf(&rest, "%s%s}\n", k->body.data, spreads ? "  return CASTNET_OK;\n" : "");
  Str name = emit_function(c, s, spreads || s->share.spread ? "int" : "void", sb_view(&comment), sb_view(&rest));
  if (spreads) emit_call(c, s, name, true, str_c(arena_printf(c->arena, "&e, %s", args.data).ptr));
  else if (k->parted) emit_shares(c, s, name, sb_view(&params), sb_view(&args));
  else emit_call(c, s, name, false, sb_view(&args));
}

/* ---- epilogues ----------------------------------------------------------------------------------------------------------------- */
/* What of an epilogue the kernel does in registers; the rest follows as a nest over the result, in place. */
typedef struct Registers {
  uint32_t bias, residual; /* tensors, or NO_TENSOR */
  bool row_bias, clamp;
  Str lo, hi;
  uint32_t done;           /* nodes of the expression covered: the last of them is the value so far */
} Registers;

/* The load behind a node, or NULL. */
static const Access *load_of(const Epilogue *e, uint32_t node) {
  const ExprNode *n = &e->expr.nodes[node];
  return n->kind == EXPR_INPUT && n->operand > 0 ? &e->loads[n->operand - 1] : NULL;
}

static bool strides_are(const Access *a, uint32_t rank, uint32_t axis, bool all, const PTensor *out) {
  if (!dim_is(a->offset, 0) || a->n_indirect) return false;
  for (uint32_t j = 0; j < rank; j++) {
    const Dim *want = all ? out->strides[j] : NULL;
    bool unit = dim_is(out->dims[j], 1);
    if (all ? a->stride[j] != want && !unit : j == axis ? !dim_is(a->stride[j], 1) && !unit : !dim_is(a->stride[j], 0) && !unit) return false;
  }
  return true;
}

static bool is_const_f32(const Expr *e, uint32_t node) { return e->nodes[node].kind == EXPR_CONST && e->nodes[node].type == DT_f32; }

/* A kernel's clamp would pass over it, where it wins. */
static bool is_nan_f32(uint64_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/* One more operation on the value so far (node `at`), if it is of the closed set; the kernel adds bias, then residual, then clamps. */
static bool take(EmitCtx *c, const Epilogue *e, const PTensor *out, uint32_t channel_axis, uint32_t i, uint32_t at, bool has_bias, Registers *r) {
  const ExprNode *n = &e->expr.nodes[i];
  if (n->kind != EXPR_FN || n->type != DT_f32) return false;
  uint32_t other = n->args[0] == at ? n->args[1] : n->args[0];
  if (n->fn == SC_add && (n->args[0] == at || n->args[1] == at) && !r->clamp) {
    const Access *a = load_of(e, other);
    if (!a || c->program->tensors.data[a->tensor].dtype != DT_f32) return false;
    if (!has_bias && r->bias == NO_TENSOR && r->residual == NO_TENSOR && strides_are(a, out->rank, channel_axis, false, out)) {
      r->bias = a->tensor;
      return true;
    }
    if (r->residual == NO_TENSOR && strides_are(a, out->rank, 0, true, out)) {
      r->residual = a->tensor;
      return true;
    }
    return false;
  }
  if ((n->fn == SC_max || n->fn == SC_min) && n->args[0] == at && is_const_f32(&e->expr, other) && !is_nan_f32(e->expr.nodes[other].bits)) {
    Str text = expr_const_text(c, DT_f32, e->expr.nodes[other].bits);
    Str *bound = n->fn == SC_max ? &r->lo : &r->hi;
    if (bound->len || (n->fn == SC_max && r->hi.len)) return false;
    *bound = text;
    r->clamp = true;
    return true;
  }
  return false;
}

static uint32_t node_uses(const Expr *e, uint32_t node) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < e->n; i++)
    for (unsigned k = 0; k < expr_node_arity(&e->nodes[i]); k++) n += e->nodes[i].args[k] == node;
  return n;
}

static Registers find_registers(EmitCtx *c, const Epilogue *e, const PTensor *out, uint32_t channel_axis, bool has_bias) {
  Registers r = {.bias = NO_TENSOR, .residual = NO_TENSOR};
  if (!e->expr.n || out->dtype != DT_f32) return r;
  uint32_t at = 0;
  while (at < e->expr.n && !(e->expr.nodes[at].kind == EXPR_INPUT && e->expr.nodes[at].operand == 0)) at++;
  for (uint32_t i = at + 1; i < e->expr.n; i++) {
    bool reads = false;
    for (unsigned k = 0; k < expr_node_arity(&e->expr.nodes[i]); k++) reads = reads || e->expr.nodes[i].args[k] == at;
    if (!reads) continue;
    if (node_uses(&e->expr, at) != 1 || !take(c, e, out, channel_axis, i, at, has_bias, &r)) break;
    at = i;
  }
  r.done = at;
  return r;
}

/* The arguments' epilogue, where there is one. */
static void print_registers(KernelPrinter *k, const Registers *r, uint32_t bias, bool row_bias, const TileFunction *tile) {
  StrBuf flags = sb_new(k->c->arena);
  if (bias == NO_TENSOR) bias = r->bias;
  const bool any = bias != NO_TENSOR || r->residual != NO_TENSOR || r->clamp;
  if (!any && !tile->name.len) return;
  kernel_group(k, "ep");
  if (bias != NO_TENSOR) {
    sb_puts(&flags, row_bias ? "CN_EP_ROW_BIAS" : "CN_EP_COL_BIAS");
    kernel_arg(k, ".bias = %s", emit_param(&k->params, bias).ptr);
  }
  if (r->residual != NO_TENSOR) {
    sb_printf(&flags, "%sCN_EP_RESIDUAL", flags.len ? " | " : "");
    kernel_arg(k, ".residual = %s", emit_param(&k->params, r->residual).ptr);
  }
  if (r->clamp) {
    sb_printf(&flags, "%sCN_EP_CLAMP", flags.len ? " | " : "");
    kernel_arg(k, ".lo = %s", r->lo.len ? r->lo.ptr : "cn_from_bits_f32(0xff800000u /* -infinity */)");
    kernel_arg(k, ".hi = %s", r->hi.len ? r->hi.ptr : "cn_from_bits_f32(0x7f800000u /* infinity */)");
  }
  if (any) kernel_arg(k, ".flags = %s", flags.data);
  emit_tile_args(k, tile);
  kernel_group_end(k);
}

/* What is left of the expression after the registers' part where no tile function can do it: a nest in place over the output. */
static bool print_rest(EmitCtx *c, const Step *s, const Epilogue *e, uint32_t done, const TileFunction *tile) {
  if (!e->expr.n || done + 1 == e->expr.n || tile->name.len) return true;
  const PTensor *t = &c->program->tensors.data[s->out[0]];
  Expr expr = {.nodes = arena_dup(c->arena, e->expr.nodes, e->expr.n * sizeof(ExprNode)), .n = e->expr.n, .cap = e->expr.n};
  expr.nodes[done] = (ExprNode){.kind = EXPR_INPUT, .type = t->dtype, .operand = 0};
  Nest *n = NEW(c->arena, Nest);
  Access *loads = NEW_ARRAY(c->arena, Access, e->n_loads + 1);
  loads[0] = (Access){.tensor = s->out[0], .offset = c->program->dims->zero, .stride = t->strides};
  if (e->n_loads) memcpy(loads + 1, e->loads, e->n_loads * sizeof *loads);
  *n = (Nest){.mode = NEST_MAP, .n_axes = t->rank, .extent = t->dims, .map = expr, .loads = loads, .n_loads = e->n_loads + 1, .store = loads[0]};
  nest_simplify(c->arena, c->program->dims, n);
  Step *step = NEW(c->arena, Step); /* reports name it */
  *step = (Step){.kind = STEP_NEST, .in = s->out, .n_in = 1, .out = s->out, .n_out = 1, .attr = n, .src = s->src, .scratch = NO_TENSOR};
  if (s->share.n) step->share = step_share(c->program, c->opt->target, step);
  return emit_nest(c, step);
}

/* ---- windows --------------------------------------------------------------------------------------------------------------------- */
/* What a window's member is initialised with. What only the call knows is 0 in a static window, and assigned behind the arguments. */
static Str window_value(KernelPrinter *k, bool fixed, const char *member, const Dim *d, const char *type) {
  const Str text = cast_dim(k, d, type);
  if (d->kind == DIM_CONST || !fixed) return text;
  sb_printf(&k->assigned, "  %s.window.%s = %s;\n", k->args, member, text.ptr);
  return STR("0");
}

static void window_size(KernelPrinter *k, bool fixed, const char *member, const Dim *d) {
  const Str value = window_value(k, fixed, member, d, "size_t");
  if (!fixed || d->kind == DIM_CONST) kernel_arg(k, ".%s = %s", member, value.ptr);
}

static void window_three(KernelPrinter *k, bool fixed, const char *member, const Dim *const d[3], const char *type) {
  Str t[3];
  for (int i = 0; i < 3; i++) t[i] = window_value(k, fixed, arena_printf(k->c->arena, "%s[%d]", member, i).ptr, d[i], type);
  kernel_arg(k, ".%s = {%s, %s, %s}", member, t[0].ptr, t[1].ptr, t[2].ptr);
}

static void window_numbers(KernelPrinter *k, const char *member, const int64_t v[3]) {
  kernel_arg(k, ".%s = {%lld, %lld, %lld}", member, (long long)v[0], (long long)v[1], (long long)v[2]);
}

static void window_members(KernelPrinter *k, bool fixed, const WindowDims *w, const WindowChannels *n) {
  window_size(k, fixed, "images", n->images);
  window_size(k, fixed, "groups", n->groups);
  window_size(k, fixed, "c", n->c);
  window_size(k, fixed, "m", n->m);
  window_three(k, fixed, "in", w->in, "size_t");
  window_three(k, fixed, "out", w->out, "size_t");
  window_three(k, fixed, "kernel", w->kernel, "size_t");
  window_numbers(k, "stride", w->stride);
  window_numbers(k, "dilation", w->dilation);
  window_numbers(k, "up", w->up);
  window_three(k, fixed, "pad", w->pad_lo, "ptrdiff_t");
  if (n->pooled) window_three(k, fixed, "pad_end", w->pad_hi, "size_t");
}

void kernel_window(KernelPrinter *k, const WindowDims *w, const WindowChannels *n) {
  kernel_group(k, "window");
  window_members(k, false, w, n);
  kernel_group_end(k);
}

void kernel_args_of_window(KernelPrinter *k, const char *type, const WindowDims *w, const WindowChannels *n) {
  const char *window = strcmp(k->args, "a") == 0 ? "window" : arena_printf(k->c->arena, "%s_window", k->args).ptr;
  open_initialiser(k, arena_printf(k->c->arena, "static const cn_window %s", window).ptr);
  window_members(k, true, w, n);
  sb_puts(&k->body, "};\n");
  kernel_args(k, type, !k->assigned.len);
  kernel_arg(k, ".window = %s", window);
}

/* Weights that are not constants are packed in front of the kernel's own scratch, which the result names. */
static const char *print_conv_pack(KernelPrinter *k, const ConvStep *v, const Dim *groups, const Dim *m, const Dim *const kernel[3], Str weights) {
  EmitCtx *c = k->c;
  StrBuf at = sb_new(c->arena), taps = sb_new(c->arena);
  for (int i = 0; i < 3; i++) sb_printf(&taps, "%s%.*s", i ? " * " : "", STR_WHOLE(kernel_size(k, kernel[i])));
  sb_printf(&k->body, "  cn_pack_conv_f32(%s, %.*s, %.*s, %.*s, %s, %u, scratch);\n", weights.ptr, STR_WHOLE(kernel_size(k, groups)),
            STR_WHOLE(kernel_size(k, m)), STR_WHOLE(kernel_size(k, v->channels)), taps.data, target_tile(c->opt->target, "gemm_f32")->mr);
  emit_symbols_add(c, &k->symbols, v->pack_bytes);
  sb_puts(&at, "scratch + ");
  emit_dim(c, &at, dim_floordiv(c->program->dims, v->pack_bytes, dim_const(c->program->dims, 4)));
  return at.data;
}

static void print_blocked_call(KernelPrinter *k, const char *args, const BlockedCall *v) {
  Arena *a = k->c->arena;
  const Str tasks = v->tasks ? arena_printf(a, "%zu", v->tasks) : arena_printf(a, "cn_blocked_tasks(&%s, %u, %u, %u)", args, v->wide, v->pixels, v->slides);
  kernel_tasks(k, 2, arena_printf(a, "%s(&%s, scratch", v->driver, args).ptr, tasks.ptr);
}

/* Over blocked channels: a call for the blocks that the widest driver takes, one for the rest. */
static void print_blocked_calls(KernelPrinter *k, const ConvStep *v) {
  print_blocked_call(k, "a", &v->most);
  if (!v->rest.blocks) return;
  sb_puts(&k->body, "  cn_blocked_conv_f32_args b = a;\n");
  sb_printf(&k->body, "  b.weights += %zu;\n  b.first = %u;\n  b.blocks = %u;\n", v->rest_weights, v->most.blocks, v->rest.blocks);
  print_blocked_call(k, "b", &v->rest);
}

static void print_winograd_call(KernelPrinter *k, size_t side) {
  Arena *arena = k->c->arena;
  const bool phases = k->step->share.spread;
  const char *before = phases ? "const int failed = " : "(void)", *spread = phases ? "spread" : "NULL";
  kernel_tasks(k, 2, arena_printf(arena, "%scn_winograd_f32_%zux%zu(&a, scratch, %s", before, side, side, spread).ptr,
               arena_printf(arena, "cn_winograd_tasks(&a, %zu)", side).ptr);
  if (phases) sb_puts(&k->body, "  return failed ? CASTNET_ERR_OP : CASTNET_OK;\n");
}

/* The depthwise convolution whose pixels the step computes as it goes, as `before`; the function that does. */
static const char *print_before(KernelPrinter *k, const ConvStep *v) {
  EmitCtx *c = k->c;
  DimCtx *d = c->program->dims;
  const Step *s = k->step;
  const ConvStep *own = v->before.conv;
  const PTensor *x = &c->program->tensors.data[s->in[0]], *image = &c->program->tensors.data[v->before.image];
  const WindowDims w = window_blocked_dims(d, x, image, own);
  const WindowChannels channels = {x->dims[0], image->dims[1], d->one, d->one, false};
  const Registers r = find_registers(c, &own->epilogue, image, 1, true);
  const TileAxes axes = {.rows = 1, .columns = 2, .whole_blocks = true};
  const TileFunction tile = emit_tile(c, s, v->before.image, &own->epilogue, r.done, &axes);
  k->args = "before";
  kernel_args_of_window(k, "cn_blocked_depthwise_f32_args", &w, &channels);
  kernel_arg(k, ".in = %s", emit_param(&k->params, s->in[0]).ptr);
  kernel_arg(k, ".weights = %s", emit_param(&k->params, s->in[v->before.weights]).ptr);
  print_registers(k, &r, s->in[v->before.bias], true, &tile);
  kernel_args_end(k);
  k->args = "a";
  return window_driver(c->opt->target, "cn_blocked_depthwise_pixels_f32", &w);
}

/* Floats for these pixels: of the slots of all shares that a call does. */
static const char *computed_room(EmitCtx *c, const Step *s) {
  const size_t fixed = ((const ConvStep *)s->attr)->before.fixed;
  int64_t bytes = 0;
  (void)dim_is_const(s->share.slot ? s->share.slot : c->program->tensors.data[s->scratch].dims[0], &bytes);
  const long long floats = bytes / (int64_t)sizeof(float), room = floats - (long long)fixed;
  return s->share.slot ? arena_printf(c->arena, "(s1 - s0) * %lld - %zu", floats, fixed).ptr : arena_printf(c->arena, "%lld", room).ptr;
}

/* `from` or `to` of pixels that lie apart. */
static void print_pitch(KernelPrinter *k, const char *name, const PTensor *t) {
  const Dim *pixel = t->strides[dim_is(t->dims[3], 1) ? 2 : 3];
  kernel_group(k, name);
  kernel_arg_size(k, "image", t->strides[0]);
  kernel_arg_size(k, "block", t->strides[1]);
  kernel_arg_size(k, "pixel", pixel);
  kernel_group_end(k);
}

static bool emit_blocked_conv(EmitCtx *c, const Step *s) {
  const ConvStep *v = s->attr;
  const Program *p = c->program;
  DimCtx *d = p->dims;
  const bool computed = v->before.conv;
  const PTensor *x = &p->tensors.data[computed ? v->before.image : s->in[0]], *y = &p->tensors.data[s->out[0]];
  const ConvAttr *attr = &v->attr;
  const WindowDims w = window_blocked_dims(d, x, y, v);
  int64_t blocks = 0;
  (void)dim_is_const(y->dims[1], &blocks);
  KernelPrinter k = kernel_printer(c, s);
  const Str in = emit_param(&k.params, s->in[0]), weights = emit_param(&k.params, s->in[1]);
  const char *pixels = computed ? print_before(&k, v) : NULL;
  const Registers r = find_registers(c, &v->epilogue, y, 1, true); /* a bias of its own form: pass_fuse made it the convolution's */
  const TileAxes axes = {.rows = 1, .columns = 2, .whole_blocks = true};
  const TileFunction tile = emit_tile(c, s, s->out[0], &v->epilogue, r.done, &axes);
  emit_tile_context(&k, &tile);
  const Dim *depth = v->straddle.most ? dim_const(d, (int64_t)v->straddle.most) : dim_floordiv(d, v->channels, w.kernel[0]);
  const WindowChannels dense = {y->dims[0], dim_const(d, v->parts), depth, dim_const(d, blocks / v->parts * attr->block), false};
  const WindowChannels single = {x->dims[0], y->dims[1], d->one, d->one, false};
  const bool apart = v->depthwise && !(ptensor_is_contiguous(d, x) && ptensor_is_contiguous(d, y)); /* lower_tokens.c */
  const char *args = apart ? "cn_tokens_depthwise_f32_args" : v->depthwise ? "cn_blocked_depthwise_f32_args" : v->winograd.side ? "cn_winograd_f32_args" : "cn_blocked_conv_f32_args";
  kernel_args_of_window(&k, args, &w, v->depthwise ? &single : &dense);
  const ConvSlices *z = &attr->slices;
  if (z->out) kernel_arg(&k, ".slices = {.in = %lld, .out = %lld, .stride = %lld, .pad = %lld}", (long long)z->in, (long long)z->out, (long long)z->stride, (long long)z->pad);
  if (v->straddle.most) kernel_arg(&k, ".groups = {.n = %lld, .c = %zu, .m = %zu}", (long long)attr->group, v->straddle.channels, v->straddle.outputs);
  if (v->winograd.side) {
    kernel_arg(&k, ".band = %zu", v->winograd.band);
    kernel_arg(&k, ".groups = %zu", v->winograd.groups);
    kernel_arg(&k, ".part = %zu", v->winograd.part);
  } else if (apart) {
    print_pitch(&k, "from", x);
    print_pitch(&k, "to", y);
  } else if (!v->depthwise) {
    if (computed || x->rank == 4) kernel_arg(&k, ".input = %s", computed ? "CN_BLOCKED_COMPUTED" : "CN_BLOCKED_PLAIN");
    kernel_arg(&k, ".blocks = %u", v->most.blocks);
  }
  if (!computed) kernel_arg(&k, ".in = %s", in.ptr);
  else kernel_arg(&k, ".pixels = %s", pixels), kernel_arg(&k, ".ctx = &before"), kernel_arg(&k, ".room = %s", computed_room(c, s));
  kernel_arg(&k, ".weights = %s", weights.ptr);
  kernel_arg(&k, ".out = y");
  print_registers(&k, &r, s->in[2], true, &tile);
  kernel_args_end(&k);
  const char *depthwise = window_driver(c->opt->target, apart ? "cn_tokens_depthwise_f32" : "cn_blocked_depthwise_f32", &w);
  if (v->depthwise) kernel_tasks(&k, 2, arena_printf(c->arena, "%s(&a", depthwise).ptr, apart ? "cn_tokens_depthwise_f32_tasks(&a)" : "cn_blocked_depthwise_f32_tasks(&a)");
  else if (v->winograd.side) print_winograd_call(&k, v->winograd.side);
  else print_blocked_calls(&k, v);
  kernel_finish(&k);
  return print_rest(c, s, &v->epilogue, r.done, &tile);
}

/* open: where the call's sizes gain by it. */
static void print_direct_call(KernelPrinter *k, bool open, const char *scratch) {
  Arena *arena = k->c->arena;
  const Target *t = k->c->opt->target;
  if (open) sb_printf(&k->body, "  if (cn_conv_direct_wins(&a.window, %u, %u)) {\n", t->vector_bits / 32, target_tile(t, "gemm_f32")->nr);
  kernel_tasks(k, open ? 4 : 2, arena_printf(arena, "cn_conv_f32_direct(&a, %s", scratch).ptr, "cn_conv_f32_direct_tasks(&a)");
}

bool emit_conv(EmitCtx *c, const Step *s) {
  if (step_is_integer(s)) return emit_integer_conv(c, s);
  if (((const ConvStep *)s->attr)->attr.block) return emit_blocked_conv(c, s);
  const ConvStep *v = s->attr;
  const Program *p = c->program;
  DimCtx *d = p->dims;
  const PTensor *x = &p->tensors.data[s->in[0]], *y = &p->tensors.data[s->out[0]];
  const ConvAttr *attr = &v->attr;
  WindowDims w = window_dims(d, x, y, attr->n_spatial, v->kernel, attr->stride, attr->dilation, attr->dilate_x, attr->pad_lo, attr->pad_hi);
  KernelPrinter k = kernel_printer(c, s);
  const char *kernel = v->depthwise ? "cn_depthwise_f32" : "cn_conv_f32";
  const Dim *m = dim_floordiv(d, y->dims[1], dim_const(d, attr->group)), *groups = dim_const(d, attr->group);
  Str in = emit_param(&k.params, s->in[0]), weights = emit_param(&k.params, s->in[1]);
  const bool packed = v->depthwise || v->w_packed;
  Registers r = find_registers(c, &v->epilogue, y, 1, s->in[2] != NO_TENSOR);
  const TileAxes axes = {.rows = 1, .columns = 2, .group_rows = attr->group > 1 ? m : NULL};
  const TileFunction tile = emit_tile(c, s, s->out[0], &v->epilogue, r.done, &axes);
  emit_tile_context(&k, &tile);
  const char *scratch = packed ? "scratch" : print_conv_pack(&k, v, groups, m, w.kernel, weights);
  const WindowChannels channels = {x->dims[0], groups, v->channels, m, false};
  kernel_args_of_window(&k, v->depthwise ? "cn_depthwise_f32_args" : "cn_conv_f32_args", &w, &channels);
  kernel_arg(&k, ".in = %s", in.ptr);
  kernel_arg(&k, ".weights = %s", packed ? weights.ptr : "scratch");
  kernel_arg(&k, ".out = y");
  if (v->interleaved) kernel_arg(&k, ".interleaved = 1");
  print_registers(&k, &r, s->in[2], true, &tile);
  kernel_args_end(&k);
  const char *driver = v->depthwise ? window_driver(c->opt->target, kernel, &w) : kernel;
  if (v->direct) print_direct_call(&k, v->open, scratch);
  if (v->open) sb_puts(&k.body, "  } else {\n");
  if (!v->direct || v->open)
    kernel_tasks(&k, v->open ? 4 : 2, arena_printf(c->arena, "%s(&a, %s", driver, scratch).ptr, arena_printf(c->arena, "%s_tasks(&a)", kernel).ptr);
  if (v->open) sb_puts(&k.body, "  }\n");
  kernel_finish(&k);
  return print_rest(c, s, &v->epilogue, r.done, &tile);
}

bool emit_pool(EmitCtx *c, const Step *s) {
  const PoolAttr *attr = &((const PoolStep *)s->attr)->attr;
  const Program *p = c->program;
  DimCtx *d = p->dims;
  const PTensor *x = &p->tensors.data[s->in[0]], *y = &p->tensors.data[s->out[0]];
  const Dim *kernel[3];
  for (uint32_t i = 0; i < attr->n_spatial; i++) kernel[i] = dim_const(d, attr->kernel[i]);
  WindowDims w = window_dims(d, x, y, attr->n_spatial, kernel, attr->stride, attr->dilation, NULL, attr->pad_lo, attr->pad_hi);
  KernelPrinter k = kernel_printer(c, s);
  Str in = emit_param(&k.params, s->in[0]);
  const WindowChannels channels = {x->dims[0], x->dims[1], d->one, d->one, true};
  kernel_args_of_window(&k, attr->block ? "cn_blocked_pool_f32_args" : "cn_pool_f32_args", &w, &channels);
  kernel_arg(&k, ".in = %s", in.ptr);
  kernel_arg(&k, ".out = y");
  if (attr->kind == POOL_AVERAGE) kernel_arg(&k, ".flags = CN_POOL_AVERAGE%s", attr->count_include_pad ? " | CN_POOL_INCLUDE_PAD" : "");
  if (attr->kind == POOL_SUM && attr->block) kernel_arg(&k, ".flags = CN_POOL_SUM");
  kernel_args_end(&k);
  const char *driver = window_driver(c->opt->target, attr->block ? "cn_blocked_pool_f32" : "cn_pool_f32", &w);
  kernel_tasks(&k, 2, arena_printf(c->arena, "%s(&a%s", driver, attr->block ? "" : ", scratch").ptr,
               attr->block ? "cn_blocked_pool_f32_tasks(&a)" : "cn_pool_f32_tasks(&a)");
  kernel_finish(&k);
  return true;
}

/* ---- products ----------------------------------------------------------------------------------------------------------------------- */
void kernel_offset(KernelPrinter *k, StrBuf *b, const Dim *const *strides, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (dim_is(strides[i], 0)) continue;
    sb_printf(b, " + i%u", i);
    if (dim_is(strides[i], 1)) continue;
    emit_symbols_add(k->c, &k->symbols, strides[i]);
    sb_puts(b, " * ");
    emit_dim(k->c, b, strides[i]);
  }
}

bool kernel_batched(const Dim *const *strides, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!dim_is(strides[i], 0)) return true;
  return false;
}

/* `a.c = y + i0 * 64;`, in the loops over batches; what does not move is in the initialiser. */
void kernel_moving(KernelPrinter *k, const char *field, Str base, const Dim *const *strides, uint32_t n, unsigned indent) {
  if (!kernel_batched(strides, n)) return;
  sb_printf(&k->body, "%*sa.%s = %s", (int)indent, "", field, base.ptr);
  kernel_offset(k, &k->body, strides, n);
  sb_puts(&k->body, ";\n");
}

/* Those of the axis that these shares do. */
static void open_batch_share(KernelPrinter *k, uint32_t i, const Dim *extent, unsigned indent) {
  const Str n = kernel_size(k, extent);
  const unsigned shares = k->step->share.n;
  sb_printf(&k->body, "%*sfor (int64_t i%u = (int64_t)cn_share(%s, s0, %u); i%u < (int64_t)cn_share(%s, s1, %u); i%u++) {\n", (int)indent, "", i,
            n.ptr, shares, i, n.ptr, shares, i);
  k->parted = true;
}

unsigned kernel_batches(KernelPrinter *k, const ContractStep *g) {
  unsigned indent = 2;
  for (uint32_t i = 0; i < g->n_batch; i++, indent += 2) {
    emit_symbols_add(k->c, &k->symbols, g->batch[i]);
    if (k->step->share.n && k->step->share.axis == i) {
      open_batch_share(k, i, g->batch[i], indent);
      continue;
    }
    sb_printf(&k->body, "%*sfor (int64_t i%u = 0; i%u < ", (int)indent, "", i, i);
    emit_dim(k->c, &k->body, g->batch[i]);
    sb_printf(&k->body, "; i%u++) {\n", i);
  }
  return indent;
}

bool kernel_batch_tasks(KernelPrinter *k, const ContractStep *g, const char *tasks) {
  const StepShare *share = &k->step->share;
  if (!share->n || share->axis != SHARE_TASKS) return false;
  const Str n = kernel_size(k, dim_product(k->c->program->dims, g->batch, g->n_batch));
  sb_printf(&k->body, "  const size_t tasks = %s, all = tasks * %s;\n", tasks, n.ptr);
  sb_printf(&k->body, "  const size_t t0 = cn_share(all, s0, %u), t1 = cn_share(all, s1, %u);\n", share->n, share->n);
  k->parted = true;
  return true;
}

const char *kernel_batch_range(KernelPrinter *k, const ContractStep *g, unsigned indent) {
  if (g->n_batch == 0) return "t0, t1";
  sb_printf(&k->body, "%*sconst size_t first = tasks * ", (int)indent, "");
  for (uint32_t i = 1; i < g->n_batch; i++) sb_putc(&k->body, '(');
  sb_puts(&k->body, "(size_t)i0");
  for (uint32_t i = 1; i < g->n_batch; i++) sb_printf(&k->body, " * %s + (size_t)i%u)", kernel_size(k, g->batch[i]).ptr, i);
  sb_printf(&k->body, ";\n%*sif (first >= t1 || first + tasks <= t0) continue;\n", (int)indent, "");
  return "t0 - cn_min(t0, first), cn_min(t1 - first, tasks)";
}

bool kernel_packs_tasks(KernelPrinter *k, const ContractStep *g, const char *tasks) {
  return !g->b_packed && g->n_batch > 0 && kernel_batch_tasks(k, g, tasks);
}

void kernel_batches_end(KernelPrinter *k, const ContractStep *g) {
  for (uint32_t i = g->n_batch; i > 0; i--) sb_printf(&k->body, "%*s}\n", (int)(2 * i), "");
}

static void print_pack(KernelPrinter *k, const ContractStep *g, Str b, unsigned indent) {
  const Target *target = k->c->opt->target;
  const bool columns = dim_is(g->b_k, 1) && target->vector_bits > 32;
  sb_printf(&k->body, "%*s%s(%s", (int)indent, "", columns ? "cn_pack_columns_f32" : "cn_pack_b_f32", b.ptr);
  kernel_offset(k, &k->body, g->b_batch, g->n_batch);
  if (!columns) sb_printf(&k->body, ", %.*s", STR_WHOLE(kernel_size(k, g->b_k)));
  sb_printf(&k->body, ", %.*s, %.*s, %.*s", STR_WHOLE(kernel_size(k, g->b_n)), STR_WHOLE(kernel_size(k, g->k)), STR_WHOLE(kernel_size(k, g->n)));
  if (!columns) sb_printf(&k->body, ", %u", target_tile(target, "gemm_f32")->nr);
  sb_puts(&k->body, ", scratch);\n");
}

static uint32_t last_axis(const PTensor *t) { return t->rank ? t->rank - 1 : 0; }

/* The first of the axes that a product's columns are. */
static uint32_t column_axes(const PTensor *y, const ContractStep *g) {
  uint32_t axis = y->rank;
  while (axis > g->n_batch && !dim_is(g->n, 1) && y->strides[axis - 1] != g->c_m) axis--;
  return axis;
}

/* The arguments of a product of codes, but for what follows it. */
static void print_codes(KernelPrinter *k, const ContractStep *g, Str a, Str b) {
  const uint32_t *in = k->step->in;
  const Str scales = emit_param(&k->params, in[2]), zeros = in[3] == NO_TENSOR ? (Str){0} : emit_param(&k->params, in[3]);
  uint32_t bits;
  memcpy(&bits, &g->zero, sizeof bits);
  kernel_args(k, "cn_codes_f32_args", true);
  kernel_arg_size(k, "n", g->n);
  kernel_arg_size(k, "k", g->k);
  kernel_arg(k, ".block = %zu", g->block);
  kernel_arg(k, ".a = %s", a.ptr);
  kernel_arg(k, ".codes = %s", b.ptr);
  kernel_arg(k, ".scales = %s", scales.ptr);
  if (zeros.len) kernel_arg(k, ".zeros = %s", zeros.ptr);
  else kernel_arg(k, ".zero = %s", expr_const_text(k->c, DT_f32, bits).ptr);
  kernel_arg(k, ".sums = scratch");
  kernel_arg(k, ".c = y");
}

static bool emit_codes(EmitCtx *c, const Step *s) {
  const ContractStep *g = s->attr;
  const PTensor *y = &c->program->tensors.data[s->out[0]];
  KernelPrinter k = kernel_printer(c, s);
  const Str a = emit_param(&k.params, s->in[0]), b = emit_param(&k.params, s->in[1]);
  const Registers r = find_registers(c, &g->epilogue, y, last_axis(y), false);
  const TileAxes axes = {.rows = 0, .columns = column_axes(y, g), .batched = true};
  const TileFunction tile = emit_tile(c, s, s->out[0], &g->epilogue, r.done, &axes);
  emit_tile_context(&k, &tile);
  print_codes(&k, g, a, b);
  print_registers(&k, &r, NO_TENSOR, false, &tile);
  kernel_args_end(&k);
  kernel_tasks(&k, 2, g->b_type == DT_u4 ? "cn_row_codes4_f32(&a" : "cn_row_codes8_f32(&a", "cn_row_codes_f32_tasks(&a)");
  kernel_finish(&k);
  return print_rest(c, s, &g->epilogue, r.done, &tile);
}

bool emit_contract(EmitCtx *c, const Step *s) {
  if (step_is_integer(s)) return emit_integer_contract(c, s);
  const ContractStep *g = s->attr;
  if (g->block) return emit_codes(c, s);
  const PTensor *y = &c->program->tensors.data[s->out[0]];
  KernelPrinter k = kernel_printer(c, s);
  Str a = emit_param(&k.params, s->in[0]), b = emit_param(&k.params, s->in[1]);
  /* a residual or bias of a batch would have to move along: registers only for a single product */
  Registers r = {.bias = NO_TENSOR, .residual = NO_TENSOR};
  bool plain = g->n_batch == 0 && y->rank >= 1 && y->dims[last_axis(y)] == g->n;
  if (plain) r = find_registers(c, &g->epilogue, y, last_axis(y), false);
  else if (g->epilogue.expr.n) while (g->epilogue.expr.nodes[r.done].kind != EXPR_INPUT || g->epilogue.expr.nodes[r.done].operand != 0) r.done++;
  const TileAxes axes = {.rows = g->n_batch, .columns = column_axes(y, g), .batched = true};
  const TileFunction tile = emit_tile(c, s, s->out[0], &g->epilogue, r.done, &axes);
  emit_tile_context(&k, &tile);
  bool b_moves = kernel_batched(g->b_batch, g->n_batch);
  const bool packs = !g->b_packed && !g->thin;
  if (packs && !b_moves) print_pack(&k, g, b, 2);
  kernel_args(&k, "cn_gemm_f32_args", g->n_batch == 0);
  kernel_arg_size(&k, "m", g->m);
  kernel_arg_size(&k, "n", g->n);
  kernel_arg_size(&k, "k", g->k);
  kernel_arg(&k, ".a = %s", a.ptr);
  kernel_arg_size(&k, "a_rs", g->a_m);
  kernel_arg_size(&k, "a_ks", g->a_k);
  if (g->lines) kernel_arg(&k, ".lines = scratch");
  kernel_arg(&k, g->b_type == DT_f32 ? ".b = %s" : ".b16 = %s", packs ? "scratch" : b.ptr);
  if (g->thin) kernel_arg_size(&k, "ldb", g->thin == THIN_ROWS ? g->b_k : g->b_n);
  kernel_arg(&k, ".c = y");
  kernel_arg_size(&k, "ldc", g->c_m);
  print_registers(&k, &r, NO_TENSOR, false, &tile);
  kernel_args_end(&k);
  const char *run = g->thin == THIN_DOTS ? "cn_thin_dots_f32(&a" : g->thin ? "cn_thin_rows_f32(&a" : g->b_type == DT_f16 ? "cn_row_f16_f32(&a" : g->b_type == DT_bf16 ? "cn_row_bf16_f32(&a" : "cn_gemm_f32(&a";
  const char *tasks = g->thin ? "cn_thin_f32_tasks(&a)" : "cn_gemm_f32_tasks(&a)";
  const bool all = kernel_packs_tasks(&k, g, tasks);
  unsigned indent = kernel_batches(&k, g);
  const char *range = all ? kernel_batch_range(&k, g, indent) : NULL;
  if (packs && b_moves) print_pack(&k, g, b, indent);
  if (!packs) kernel_moving(&k, g->b_type == DT_f32 ? "b" : "b16", b, g->b_batch, g->n_batch, indent);
  kernel_moving(&k, "a", a, g->a_batch, g->n_batch, indent);
  kernel_moving(&k, "c", STR("y"), g->c_batch, g->n_batch, indent);
  emit_tile_move(&k, &tile, g->n_batch, indent);
  if (g->thin == THIN_FEW) sb_printf(&k.body, "  cn_few_columns_f32(&a, %lld);\n", (long long)g->n->value);
  else if (range) sb_printf(&k.body, "%*s%s, %s);\n", (int)indent, "", run, range);
  else kernel_tasks(&k, indent, run, tasks);
  kernel_batches_end(&k, g);
  kernel_finish(&k);
  return print_rest(c, s, &g->epilogue, r.done, &tile);
}

bool emit_lrn(EmitCtx *c, const Step *s) {
  const LrnStep *v = s->attr;
  const PTensor *x = &c->program->tensors.data[s->in[0]];
  uint32_t bits[2];
  memcpy(&bits[0], &v->scale, sizeof bits[0]);
  memcpy(&bits[1], &v->bias, sizeof bits[1]);
  KernelPrinter k = kernel_printer(c, s);
  const Str in = emit_param(&k.params, s->in[0]);
  kernel_args(&k, "cn_blocked_lrn_f32_args", true);
  kernel_arg_size(&k, "images", x->dims[0]);
  kernel_arg(&k, ".channels = %zu", v->channels);
  kernel_arg_size(&k, "pixels", dim_mul(c->program->dims, x->dims[2], x->dims[3]));
  kernel_arg(&k, ".below = %zu, .above = %zu", v->below, v->above);
  kernel_arg(&k, ".scale = %s, .bias = %s", expr_const_text(c, DT_f32, bits[0]).ptr, expr_const_text(c, DT_f32, bits[1]).ptr);
  kernel_arg(&k, ".quarters = %d", v->quarters);
  kernel_arg(&k, ".in = %s", in.ptr);
  kernel_arg(&k, ".out = y");
  kernel_args_end(&k);
  kernel_tasks(&k, 2, "cn_blocked_lrn_f32(&a, scratch", "cn_blocked_lrn_f32_tasks(&a)");
  kernel_finish(&k);
  return true;
}
