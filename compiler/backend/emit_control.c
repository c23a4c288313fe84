/* Control flow in N_run: the structure of the model as if, else and for around the calls of its bodies. */
#include "backend/dims_c.h"
#include "backend/emit_steps.h"

#include <inttypes.h>

static void enter(EmitCtx *c, const Graph *g) {
  c->indent += 2;
  if (g) c->running = g;
  emit_checks(c);
}

static void leave(EmitCtx *c, const Graph *g) {
  c->indent -= 2;
  if (g) c->running = g->parent;
}

/* `*in->cond`, `*(const uint8_t *)(m + 64)` */
static Str condition(EmitCtx *c, uint32_t tensor) {
  StrBuf b = sb_new(c->arena), p = sb_new(c->arena);
  emit_pointer(c, &p, tensor, false);
  const bool sum = p.data[0] != '(' && memchr(p.data, ' ', p.len) != NULL;
  sb_printf(&b, sum ? "*(%s)" : "*%s", p.data);
  return sb_view(&b);
}

static void comment(EmitCtx *c, const Step *s) {
  if (!s->src.has_node) return;
  StrBuf name = sb_new(c->arena), op = sb_new(c->arena);
  names_comment(&name, s->src.node_name, 80);
  names_comment(&op, s->src.op_type, 80);
  const int op_len = (int)op.len - 2; /* without quotes */
  if (s->src.node_name.len) emit_line(c, "/* %s (%.*s) */", name.data, op_len, op.data + 1);
  else emit_line(c, "/* %.*s */", op_len, op.data + 1);
}

bool emit_if(EmitCtx *c, const Step *s) {
  comment(c, s);
  emit_line(c, "if (%s) {", condition(c, s->in[0]).ptr);
  enter(c, ((const BranchStep *)s->attr)->graph);
  return true;
}

bool emit_else(EmitCtx *c, const Step *s) {
  const Graph *g = ((const BranchStep *)s->attr)->graph;
  leave(c, g ? c->running : NULL);
  emit_line(c, "} else {");
  enter(c, g);
  return true;
}

bool emit_end_if(EmitCtx *c, const Step *s) {
  const Graph *g = ((const BranchStep *)s->attr)->graph;
  leave(c, g);
  emit_line(c, "}");
  return true;
}

static const char *symbol_name(const EmitCtx *c, const Dim *symbol) { return c->symbols[symbol->symbol.index].ptr; }

bool emit_loop(EmitCtx *c, const Step *s) {
  const LoopStep *l = s->attr;
  const char *i = symbol_name(c, l->iteration);
  StrBuf limit = sb_new(c->arena);
  comment(c, s);
  if (!dim_is(l->trips, INT64_MAX)) {
    sb_printf(&limit, "%s < ", i);
    emit_dim(c, &limit, l->trips);
  }
  if (s->n_in) sb_printf(&limit, "%s%s", limit.len ? " && " : "", condition(c, s->in[0]).ptr);
  emit_line(c, "for (%s = 0; %s; %s++) {", i, limit.len ? limit.data : "", i);
  c->decided[l->iteration->symbol.index] = true;
  c->indent += 2;
  emit_line(c, "if (e.max_trip != 0 && (uint64_t)%s >= e.max_trip) return CASTNET_ERR_TRIP;", i);
  c->indent -= 2;
  enter(c, l->graph);
  return true;
}

bool emit_end_loop(EmitCtx *c, const Step *s) {
  leave(c, ((const LoopStep *)s->attr)->graph);
  emit_line(c, "}");
  return true;
}

static Str value_text(EmitCtx *c, const AssignStep *a, size_t k, const Step *s) {
  StrBuf b = sb_new(c->arena);
  if (a->others) {
    sb_printf(&b, "%s ? ", condition(c, s->in[0]).ptr);
    emit_dim(c, &b, a->values[k]);
    sb_puts(&b, " : ");
    emit_dim(c, &b, a->others[k]);
  } else {
    dimc_print(&b, a->values[k], &(DimNames){.symbols = c->symbols}, false);
  }
  return sb_view(&b);
}

static void decide(EmitCtx *c, const AssignStep *a) {
  for (size_t k = 0; k < a->n; k++) c->decided[a->symbols[k]->symbol.index] = true;
}

/* At the end of an iteration. All at once: a value may be made of symbols that get others. */
static void assign_again(EmitCtx *c, const Step *s) {
  const AssignStep *a = s->attr;
  StrBuf from = sb_new(c->arena), to = sb_new(c->arena), bytes = sb_new(c->arena);
  emit_line(c, "{");
  c->indent += 2;
  for (size_t k = 0; k < a->n; k++) emit_line_of(c, a->symbols[k], "const int64_t next_%zu = %s;", k, value_text(c, a, k, s).ptr);
  if (s->n_out) {
    emit_pointer(c, &from, s->in[0], false);
    emit_line(c, "const uint8_t *const made = %s;", from.data);
  }
  for (size_t k = 0; k < a->n; k++) emit_line_of(c, a->symbols[k], "%s = next_%zu;", symbol_name(c, a->symbols[k]), k);
  emit_stop(c, s);
  if (s->n_out) {
    emit_pointer(c, &to, s->out[0], true);
    dimc_print(&bytes, c->program->tensors.data[s->out[0]].dims[0], &(DimNames){.symbols = c->symbols}, false);
    emit_line(c, "memmove(%s, made, (size_t)(%s));", to.data, bytes.data);
  }
  c->indent -= 2;
  emit_line(c, "}");
}

bool emit_assign(EmitCtx *c, const Step *s) {
  const AssignStep *a = s->attr;
  if (a->again) {
    assign_again(c, s);
    return true;
  }
  for (size_t k = 0; k < a->n; k++) emit_line_of(c, a->symbols[k], "%s = %s;", symbol_name(c, a->symbols[k]), value_text(c, a, k, s).ptr);
  decide(c, a);
  emit_checks(c);
  return true;
}
