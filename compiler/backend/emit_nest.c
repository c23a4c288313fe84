/* Nests as loops: maps and scatters. Reductions and scans: emit_reduce.c. */
#include "backend/emit_nest.h"

#include "backend/language.h"
#include "lower/share.h"

enum { LANES = NEST_LANES, TURNED = 64, UNROLLED = 64 /* turns: clang may unroll a loop of so few */ };

const char *nest_index_type(const NestPrinter *p) { return p->wide ? "int64_t" : "int32_t"; }

Str nest_axis_end(NestPrinter *p, uint32_t axis) {
  StrBuf b = sb_new(p->c->arena);
  if (p->parted == axis) return STR("b1");
  emit_dim(p->c, &b, p->n->extent[axis]);
  return sb_view(&b);
}

const char *nest_axis_begin(const NestPrinter *p, uint32_t axis) { return p->parted == axis ? "b0" : "0"; }

const char *nest_axis_name(const NestPrinter *p, uint32_t axis) { return arena_printf(p->c->arena, "i%u", axis).ptr; }

void nest_open_loop(NestPrinter *p, uint32_t axis, unsigned indent) {
  const Str end = nest_axis_end(p, axis);
  sb_printf(p->b, "%*sfor (%s i%u = %s; i%u < %s; i%u++) {\n", (int)indent, "", nest_index_type(p), axis, nest_axis_begin(p, axis), axis, end.ptr, axis);
}

void nest_close_loop(NestPrinter *p, unsigned indent) { sb_printf(p->b, "%*s}\n", (int)indent, ""); }

unsigned nest_open_loops(NestPrinter *p, ExprPrinter *e, uint32_t from, uint32_t to, unsigned indent) {
  for (uint32_t j = from; j < to; j++, indent += 2) {
    nest_open_loop(p, j, indent);
    expr_print_depth(e, p->b, j + 1, indent + 2);
  }
  return indent;
}

unsigned nest_close_loops(NestPrinter *p, uint32_t n, unsigned indent) {
  for (uint32_t j = 0; j < n; j++) nest_close_loop(p, indent -= 2);
  return indent;
}

ExprPrinter nest_map_printer(NestPrinter *p) {
  return expr_printer(p->c, &p->n->map, p->n->n_axes, p->coords, p->n->loads, p->load_pointers, NULL, "t", p->wide);
}

void nest_store(NestPrinter *p, ExprPrinter *e, Str value, unsigned indent) {
  DType t = p->p->tensors.data[p->n->store.tensor].dtype;
  Str s = expr_store_text(p->c, t, p->store_pointer, expr_print_index(e, &p->n->store), value);
  sb_printf(p->b, "%*s", (int)indent, "");
  sb_str(p->b, s);
  sb_putc(p->b, '\n');
}

/* ---- map -------------------------------------------------------------------------------------------------------------------- */
/* Places that data give, but not for each element of the last axis. */
static bool is_steady(const ExprPrinter *e, const Access *a) {
  for (uint32_t k = 0; k < a->n_indirect; k++)
    if (e->depth[a->indirect[k].node] >= e->n_axes) return false;
  return true;
}

/* What compilers make a call of memcpy or memset of, or nearly. */
static bool is_fill(const Nest *n) {
  const Dim *stride = n->n_loads ? n->loads[0].stride[n->n_axes - 1] : NULL;
  return n->map.n == 1 && (!stride || dim_is(stride, 0) || dim_is(stride, 1));
}

/* Vectors along the last axis are stores and loads, or loads of vectors of which each up to `apart`th element is taken. */
static bool has_lanes(const NestPrinter *p, const ExprPrinter *e, int64_t apart) {
  const Nest *n = p->n;
  const uint32_t last = n->n_axes - 1;
  if (!n->n_axes || is_fill(n) || !dim_is(n->store.stride[last], 1) || n->store.n_indirect) return false;
  if (dtype_rows[p->p->tensors.data[n->store.tensor].dtype].bits < 8) return false;
  for (uint32_t k = 0; k < n->n_loads; k++) {
    int64_t stride;
    if (!is_steady(e, &n->loads[k]) || !dim_is_const(n->loads[k].stride[last], &stride) || stride < 0 || stride > apart) return false;
    if (dtype_rows[p->p->tensors.data[n->loads[k].tensor].dtype].bits < 8) return false;
  }
  return true;
}

/* Compilers make vector code of a loop at -O2 only where they know that its trip count is a multiple of the vector's length. */
static bool wants_lanes(const NestPrinter *p, const ExprPrinter *e) {
  const uint32_t last = p->n->n_axes - 1;
  int64_t extent;
  if (!has_lanes(p, e, 1)) return false;
  return p->parted == last || !dim_is_const(p->n->extent[last], &extent) || (extent >= LANES && extent % LANES != 0);
}

/* A last axis of few lanes, a block of channels: a vector or some. */
static bool is_lanes(const NestPrinter *p, const ExprPrinter *e) {
  const uint32_t last = p->n->n_axes - 1;
  int64_t extent;
  return has_lanes(p, e, 4) && last > 0 && p->parted != last && dim_is_const(p->n->extent[last], &extent) && extent <= UNROLLED && extent % 4 == 0;
}

/* The last axis by LANES elements a turn, then the rest one by one, if there can be any. What outer loops know is declared once, by e. */
static void print_lanes(NestPrinter *p, ExprPrinter *e, ExprPrinter *rest, unsigned indent) {
  const uint32_t last = p->n->n_axes - 1;
  StrBuf *b = p->b;
  const Str size = nest_axis_end(p, last);
  int64_t extent;
  sb_printf(b, "%*s%s i%u = %s;\n", (int)indent, "", nest_index_type(p), last, nest_axis_begin(p, last));
  sb_printf(b, "%*sfor (; i%u + %d <= %s; i%u += %d) {\n", (int)indent, "", last, LANES, size.ptr, last, LANES);
  expr_print_lane_calls(e, b, &(LaneLoop){last + 1, LANES, NULL, "int", "l", nest_axis_name(p, last)}, indent + 2);
  sb_printf(b, "%*sCN_LANES\n%*sfor (int l = 0; l < %d; l++) {\n", (int)indent + 2, "", (int)indent + 2, "", LANES);
  expr_print_depth(e, b, last + 1, indent + 4);
  nest_store(p, e, expr_print_result(e), indent + 4);
  sb_printf(b, "%*s}\n%*s}\n", (int)indent + 2, "", (int)indent, "");
  if (p->parted != last && dim_is_const(p->n->extent[last], &extent) && extent % LANES == 0) return;
  sb_printf(b, "%*sfor (; i%u < %s; i%u++) {\n", (int)indent, "", last, size.ptr, last);
  expr_print_depth(rest, b, last + 1, indent + 2);
  nest_store(p, rest, expr_print_result(rest), indent + 2);
  sb_printf(b, "%*s}\n", (int)indent, "");
}

static void print_map_lanes(NestPrinter *p) {
  const uint32_t last = p->n->n_axes - 1;
  StrBuf declared = sb_new(p->c->arena);
  ExprPrinter rest = nest_map_printer(p);
  rest.coords = arena_dup(p->c->arena, p->coords, sizeof p->coords);
  p->coords[last] = arena_printf(p->c->arena, "(i%u + l)", last);
  ExprPrinter e = nest_map_printer(p);
  unsigned indent = 2;
  for (uint32_t j = 0; j <= last; j++, indent += 2) {
    expr_print_depth(&e, p->b, j, indent);
    expr_print_depth(&rest, &declared, j, indent);
    if (j < last) nest_open_loop(p, j, indent);
  }
  indent -= 2;
  print_lanes(p, &e, &rest, indent);
  for (uint32_t j = 0; j < last; j++) nest_close_loop(p, indent -= 2);
  p->may_fail |= e.may_fail;
}

/* The axis along which a load's neighbours lie, where that is not the last one and both are long, as usual where that is open: a transposition. Else
 * the number of axes. */
static uint32_t turned_axis(const NestPrinter *p) {
  const Nest *n = p->n;
  const uint32_t last = n->n_axes - 1;
  int64_t extent, stride;
  if (n->n_axes < 2 || n->store.n_indirect || !dim_eval(n->extent[last], NULL, &extent) || extent <= TURNED) return n->n_axes;
  for (uint32_t k = 0; k < n->n_loads; k++)
    if (n->loads[k].n_indirect) return n->n_axes;
  for (uint32_t k = 0; k < n->n_loads; k++) {
    if (!dim_is_const(n->loads[k].stride[last], &stride) || stride < 8) continue;
    for (uint32_t j = 0; j < last; j++)
      if (dim_is(n->loads[k].stride[j], 1) && dim_is_const(n->extent[j], &extent) && extent >= 4) return j;
  }
  return n->n_axes;
}

/* TURNED places of the last axis at a time from here on, so that lines of the cache that several turns of an outer loop read stay in it. */
static void open_turned(NestPrinter *p, unsigned indent) {
  const uint32_t last = p->n->n_axes - 1;
  const Str size = nest_axis_end(p, last);
  sb_printf(p->b, "%*sfor (%s from = %s; from < %s; from += %d) {\n", (int)indent, "", nest_index_type(p), nest_axis_begin(p, last), size.ptr, TURNED);
  sb_printf(p->b, "%*sconst %s to = %s - from < %d ? %s : from + %d;\n", (int)indent + 2, "", nest_index_type(p), size.ptr, TURNED, size.ptr, TURNED);
}

/* Whether the last axis, not parted, has few elements: arrays of all. */
static bool is_short(const NestPrinter *p, int64_t *ret) {
  const uint32_t last = p->n->n_axes - 1;
  return p->n->n_axes && p->parted != last && dim_is_const(p->n->extent[last], ret) && *ret > 0 && *ret <= UNROLLED;
}

static void print_map(NestPrinter *p) {
  if (nest_transposes(p) || nest_turns(p)) return;
  ExprPrinter e = nest_map_printer(p);
  int64_t extent = 0;
  const uint32_t n = p->n->n_axes;
  const bool calls = n && !p->n->store.n_indirect && expr_calls_lanes(&e, n), few = is_short(p, &extent);
  const uint32_t turned = calls ? n : turned_axis(p);
  if (calls ? !few : turned == n && wants_lanes(p, &e)) {
    print_map_lanes(p);
    return;
  }
  const bool lanes = calls || (turned == n && is_lanes(p, &e));
  unsigned indent = 2;
  expr_print_depth(&e, p->b, 0, indent);
  for (uint32_t j = 0; j < n; j++, indent += 2) {
    if (j == turned) open_turned(p, indent), indent += 2;
    if (calls && j + 1 == n) expr_print_lane_calls(&e, p->b, &(LaneLoop){n, (int)extent, NULL, nest_index_type(p), p->coords[j].ptr, NULL}, indent);
    if (lanes && j + 1 == n) sb_printf(p->b, "%*sCN_LANES\n", (int)indent, "");
    if (turned < n && j + 1 == n) sb_printf(p->b, "%*sfor (%s i%u = from; i%u < to; i%u++) {\n", (int)indent, "", nest_index_type(p), j, j, j);
    else nest_open_loop(p, j, indent);
    expr_print_depth(&e, p->b, j + 1, indent + 2);
  }
  nest_store(p, &e, expr_print_result(&e), indent);
  for (uint32_t j = 0; j < n + (turned < n); j++) nest_close_loop(p, indent -= 2);
  p->may_fail |= e.may_fail;
}

/* ---- scatter ------------------------------------------------------------------------------------------------------------------------- */
static void print_scatter(NestPrinter *p) {
  const Nest *n = p->n;
  ExprPrinter e = nest_map_printer(p);
  expr_print_depth(&e, p->b, 0, 2);
  unsigned indent = nest_open_loops(p, &e, 0, n->n_axes, 2);
  expr_print_checks(&e, p->b, &n->store, indent);
  Str value = expr_print_result(&e);
  if (n->scatter != SCATTER_SET) {
    DType t = p->p->tensors.data[n->store.tensor].dtype;
    Str old = expr_load_text(p->c, t, p->store_pointer, expr_print_index(&e, &n->store));
    value = expr_fn_text(p->c, scatter_combiner(n->scatter), t, (Str[]){old, value});
  }
  nest_store(p, &e, value, indent);
  (void)nest_close_loops(p, n->n_axes, indent);
  p->may_fail |= e.may_fail;
}

/* ---- the step ------------------------------------------------------------------------------------------------------------------------- */
static void add_access_symbols(EmitCtx *c, SymbolSet *s, const Access *a, uint32_t n_axes) {
  emit_symbols_add(c, s, a->offset);
  for (uint32_t j = 0; j < n_axes; j++) emit_symbols_add(c, s, a->stride[j]);
  for (uint32_t k = 0; k < a->n_indirect; k++) {
    emit_symbols_add(c, s, a->indirect[k].stride);
    if (!a->indirect[k].sure) emit_symbols_add(c, s, a->indirect[k].bound);
  }
}

void emit_access_symbols(EmitCtx *c, SymbolSet *s, const Access *a, uint32_t n, uint32_t n_axes) {
  for (uint32_t k = 0; k < n; k++) add_access_symbols(c, s, &a[k], n_axes);
}

void emit_expr_symbols(EmitCtx *c, SymbolSet *s, const Expr *e) {
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_DIM) emit_symbols_add(c, s, e->nodes[i].dim);
}

SymbolSet nest_symbols(EmitCtx *c, const Nest *n) {
  SymbolSet s = emit_symbols_new(c);
  uint32_t outer = n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->n_axes;
  for (uint32_t j = 0; j < n->n_axes; j++) emit_symbols_add(c, &s, n->extent[j]);
  emit_access_symbols(c, &s, n->loads, n->n_loads, n->n_axes);
  emit_access_symbols(c, &s, n->post_loads, n->n_post_loads, outer);
  emit_access_symbols(c, &s, &n->store, 1, outer);
  emit_expr_symbols(c, &s, &n->map);
  emit_expr_symbols(c, &s, &n->post);
  return s;
}

/* Pointer parameters, one a tensor, in order of first use. Returns the name for a tensor, adding it if new. */
Str emit_param(EmitParams *ps, uint32_t tensor) {
  for (uint32_t k = 0; k < ps->tensors.n; k++)
    if (ps->tensors.data[k] == tensor) return arena_printf(ps->c->arena, "x%u", k);
  vec_push(ps->c->arena, ps->tensors, tensor);
  return arena_printf(ps->c->arena, "x%zu", ps->tensors.n - 1);
}

/* True if the load reads just what the step then writes: an operand that it replaces. */
static bool is_replaced(const Program *p, const Nest *n, const Access *a) {
  const PTensor *x = &p->tensors.data[a->tensor], *y = &p->tensors.data[n->store.tensor];
  const Buffer *bx = &p->buffers.data[x->buffer], *by = &p->buffers.data[y->buffer];
  while (bx->alias_of != NO_BUFFER && !bx->offset) bx = &p->buffers.data[bx->alias_of];
  while (by->alias_of != NO_BUFFER && !by->offset) by = &p->buffers.data[by->alias_of];
  if (n->mode != NEST_MAP || bx != by || x->dtype != y->dtype || x->offset != y->offset || a->offset != n->store.offset) return false;
  for (uint32_t j = 0; j < n->n_axes; j++)
    if (a->stride[j] != n->store.stride[j]) return false;
  return !a->n_indirect && !n->store.n_indirect;
}

static uint32_t storage_of(const Program *p, uint32_t tensor) {
  uint32_t buffer = p->tensors.data[tensor].buffer;
  while (p->buffers.data[buffer].alias_of != NO_BUFFER) buffer = p->buffers.data[buffer].alias_of;
  return buffer;
}

void emit_params_text(EmitParams *ps, const uint32_t *out, uint32_t n_out, StrBuf *params, StrBuf *args) {
  static const char *const names[] = {"y", "y_h", "y_c"};
  EmitCtx *c = ps->c;
  bool shared = false, first = true;
  for (uint32_t i = 0; i < n_out; i++)
    for (uint32_t k = 0; k < ps->tensors.n && out[i] != NO_TENSOR; k++)
      shared = shared || storage_of(c->program, ps->tensors.data[k]) == storage_of(c->program, out[i]);
  const char *restrict_word = shared ? "" : c->frame->lang->restrict_word;
  for (uint32_t k = 0; k < ps->tensors.n; k++) {
    sb_printf(params, "%sconst %s *%sx%u", first ? "" : ", ", emit_ctype(c, ps->tensors.data[k]), restrict_word, k);
    if (!first) sb_puts(args, ", ");
    emit_pointer(c, args, ps->tensors.data[k], false);
    first = false;
  }
  for (uint32_t i = 0; i < n_out; i++) {
    if (out[i] == NO_TENSOR) continue;
    sb_printf(params, "%s%s *%s%s", first ? "" : ", ", emit_ctype(c, out[i]), restrict_word, names[i]);
    if (!first) sb_puts(args, ", ");
    emit_pointer(c, args, out[i], true);
    first = false;
  }
}

bool nest_is_narrow(const Program *p, const Nest *n) {
  uint32_t outer = n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->n_axes;
  return expr_indices_narrow(p, n->loads, n->n_loads, n->extent, n->n_axes) &&
         expr_indices_narrow(p, n->post_loads, n->n_post_loads, n->extent, outer) &&
         expr_indices_narrow(p, &n->store, 1, n->extent, outer);
}

/* Its pointers become parameters, its coordinates are i0, i1 ... An operand that is replaced has the result's name, so that compilers
 * know what aliases what. */
NestPrinter nest_printer(EmitCtx *c, const Nest *n, EmitParams *ps, StrBuf *b) {
  NestPrinter p = {.c = c, .p = c->program, .n = n, .b = b, .outer = n->n_axes, .parted = NOT_PARTED, .wide = !nest_is_narrow(c->program, n)};
  p.load_pointers = NEW_ARRAY(c->arena, Str, n->n_loads);
  p.post_pointers = NEW_ARRAY(c->arena, Str, n->n_post_loads);
  for (uint32_t j = 0; j < n->n_axes; j++) p.coords[j] = arena_printf(c->arena, "i%u", j);
  for (uint32_t k = 0; k < n->n_loads; k++) p.load_pointers[k] = is_replaced(c->program, n, &n->loads[k]) ? STR("y") : emit_param(ps, n->loads[k].tensor);
  for (uint32_t k = 0; k < n->n_post_loads; k++) p.post_pointers[k] = emit_param(ps, n->post_loads[k].tensor);
  p.store_pointer = STR("y");
  return p;
}

/* Each element to where it already is: a copy that planning has put in place of what it copies. */
static bool moves_nothing(const EmitCtx *c, const Nest *n) {
  const Program *p = c->program;
  if (n->mode != NEST_MAP || n->map.n != 1 || n->map.nodes[0].kind != EXPR_INPUT || n->n_loads != 1) return false;
  const Access *from = &n->loads[0], *to = &n->store;
  const PTensor *x = &p->tensors.data[from->tensor], *y = &p->tensors.data[to->tensor];
  if (from->n_indirect || to->n_indirect || x->dtype != y->dtype || x->offset != y->offset || from->offset != to->offset) return false;
  for (uint32_t j = 0; j < n->n_axes; j++)
    if (from->stride[j] != to->stride[j]) return false;
  return emit_storage(p, x->buffer) == emit_storage(p, y->buffer);
}

/* b0 and b1: of the axis that is parted, what the shares s0 .. s1 do. */
static void print_bounds(NestPrinter *p, const StepShare *share) {
  const int grain = share_by_lines(p->n, share->axis) ? LANES : 1;
  StrBuf size = sb_new(p->c->arena);
  p->parted = share->axis;
  emit_dim_as(p->c, &size, p->n->extent[share->axis], "size_t");
  for (int i = 0; i < 2; i++)
    sb_printf(p->b, "  const %s b%d = (%s)cn_share_by(%s, %d, s%d, %u);\n", nest_index_type(p), i, nest_index_type(p), size.data, grain, i, share->n);
}

bool emit_nest(EmitCtx *c, const Step *s) {
  const Nest *n = s->attr;
  const bool parted = s->share.n && share_is_safe(c->program, n);
  if (moves_nothing(c, n)) return true;
  StrBuf body = sb_new(c->arena), params = sb_new(c->arena), args = sb_new(c->arena);
  EmitParams ps = {.c = c};
  NestPrinter p = nest_printer(c, n, &ps, &body);
  if (parted) print_bounds(&p, &s->share);
  switch (n->mode) {
    case NEST_MAP: print_map(&p); break;
    case NEST_REDUCE: nest_reduce(&p); break;
    case NEST_SCAN: nest_scan(&p); break;
    case NEST_SCATTER: print_scatter(&p); break;
  }
  SymbolSet symbols = nest_symbols(c, n);
  StrBuf unused = sb_new(c->arena);
  if (parted && s->share.elements) emit_symbols_beside(c, &symbols, s->share.elements, &unused);
  emit_params_text(&ps, s->out, 1, &params, &args);
  emit_symbol_params(c, &params, &symbols);
  emit_symbol_args(c, &args, &symbols);
  StrBuf rest = sb_new(c->arena), comment = sb_new(c->arena);
  emit_describe(c, &comment, s->out[0]);
  sb_printf(&rest, "(%s%s) {\n", params.data, parted ? ", size_t s0, size_t s1" : "");
  sb_str(&rest, sb_view(&unused));
  sb_printf(&rest, "%s%s}\n", body.data, p.may_fail ? "  return CASTNET_OK;\n" : "");
  Str name = emit_function(c, s, p.may_fail ? "int" : "void", sb_view(&comment), sb_view(&rest));
  if (parted) emit_shares(c, s, name, sb_view(&params), sb_view(&args));
  else emit_call(c, s, name, p.may_fail, sb_view(&args));
  return true;
}
