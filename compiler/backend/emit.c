#include "backend/dims_c.h"
#include "backend/language.h"

#include <inttypes.h>

/* ---- buffers ---- */
static EmitBuffer io_buffer(const Frame *f, const Buffer *b) {
  if (b->kind == BUF_INPUT && f->in[b->index].type.kind != TYPE_TENSOR)
    return (EmitBuffer){.base = arena_printf(f->arena, "(const uint8_t *)&in->%.*s", STR_WHOLE(f->in[b->index].name))};
  if (b->kind == BUF_INPUT) return (EmitBuffer){.base = arena_printf(f->arena, "in->%.*s", STR_WHOLE(f->in[b->index].name))};
  const IoField *o = &f->out[b->index];
  return (EmitBuffer){.base = arena_printf(f->arena, o->sized ? "out->%.*s.data" : "out->%.*s", STR_WHOLE(o->name))};
}

/* One local for all buffers of one place that is known at the same time. */
static Str offset_local(EmitCtx *c, const Dim *offset, size_t placed_after) {
  const Str key = arena_printf(c->arena, "%u %zu", offset->id, placed_after);
  Str *local = map_get(&c->frame->offsets, key);
  if (!local) {
    local = NEW(c->arena, Str);
    *local = arena_printf(c->arena, "o%zu", c->frame->offsets.entries.n);
    map_put(&c->frame->offsets, key, local);
    vec_push(c->arena, c->frame->offset_dims, ((OffsetDim){offset, placed_after}));
  }
  return *local;
}

static void init_buffer(EmitCtx *c, uint32_t i) {
  const Frame *f = c->frame;
  const Buffer *b = &f->program->buffers.data[i];
  const Dim *offset = f->placed[i] ? f->placed[i] : b->offset;
  EmitBuffer *e = &c->buffers[i];
  if ((b->kind == BUF_ARENA || b->kind == BUF_OUTPUT) && offset) {
    *e = (EmitBuffer){.base = STR("m"), .offset = offset};
    if (!dim_is_const(offset, NULL)) e->local = offset_local(c, offset, f->placed[i] ? 0 : b->placed_after);
  } else if (b->kind == BUF_INPUT || b->kind == BUF_OUTPUT) {
    *e = io_buffer(f, b);
  }
}

uint32_t emit_storage(const Program *p, uint32_t b) {
  while (p->buffers.data[b].alias_of != NO_BUFFER && p->buffers.data[b].offset == NULL) b = p->buffers.data[b].alias_of;
  return b;
}

/* Constants get their place when they are first used. */
static const EmitBuffer *buffer_used(EmitCtx *c, uint32_t i) {
  Frame *f = c->frame;
  i = emit_storage(f->program, i);
  EmitBuffer *e = &c->buffers[i];
  const Buffer *b = &f->program->buffers.data[i];
  if (b->kind != BUF_CONST || e->base.len) return e;
  if (b->dtype == DT_str) {
    e->base = arena_printf(c->arena, "strings_%" PRIu32, i);
    vec_push(c->arena, f->strings, i);
    return e;
  }
  e->base = STR("w");
  e->offset = dim_const(f->program->dims, (int64_t)weights_place(f, i));
  return e;
}

EmitCtx *emit_new(Frame *f) {
  EmitCtx *c = NEW(f->arena, EmitCtx);
  *c = (EmitCtx){.arena = f->arena, .diags = f->diags, .program = f->program, .opt = f->opt, .frame = f, .name = f->name,
                 .functions = sb_new(f->arena), .calls = sb_new(f->arena), .indent = 2, .symbols = f->locals,
                 .buffers = NEW_ARRAY(f->arena, EmitBuffer, f->program->buffers.n), .step_names = names_scope(f->arena),
                 .decided = NEW_ARRAY(f->arena, bool, f->program->dims->symbols.n),
                 .checked = NEW_ARRAY(f->arena, bool, f->program->ir->n_checks), .shared = map_new(f->arena), .part_marks = map_new(f->arena),
                 .bad_index = f->lang->bad_index, .running = f->program->ir->main};
  for (uint32_t i = 0; i < f->program->buffers.n; i++) init_buffer(c, i);
  return c;
}

/* ---- pointers ---- */
const char *emit_ctype(const EmitCtx *c, uint32_t tensor) { return dtype_rows[c->program->tensors.data[tensor].dtype].ctype; }

/* Behind a typed pointer: elements, or bytes where several share one. */
static void print_elements(EmitCtx *c, StrBuf *b, const PTensor *t) {
  unsigned bits = dtype_rows[t->dtype].bits;
  if (dim_is(t->offset, 0)) return;
  sb_puts(b, " + ");
  emit_dim(c, b, t->offset);
  if (bits < 8) sb_printf(b, " / %u", 8 / bits);
}

/* `m + 640`, with the window's own offset where both are constants; *ret_whole tells so. */
static void print_place(StrBuf *b, const EmitBuffer *e, const PTensor *t, bool *ret_whole) {
  int64_t at = 0, elements = 0, bits = dtype_rows[t->dtype].bits;
  sb_str(b, e->base);
  *ret_whole = dim_is_const(e->offset, &at) && dim_is_const(t->offset, &elements);
  if (t->dtype == DT_str && elements != 0) *ret_whole = false; /* a string's size is the machine's, DT_str's the largest there is */
  if (*ret_whole) at += elements * bits / 8;
  if (e->local.len) sb_printf(b, " + %.*s", STR_WHOLE(e->local));
  else if (at != 0) sb_printf(b, " + %" PRId64, at);
}

/* `(const float *)m`, `(float *)(m + 64)`; returns whether t's own place is in it */
static bool print_cast_place(EmitCtx *c, StrBuf *b, const EmitBuffer *e, const PTensor *t, const char *qualifier, const char *type) {
  StrBuf place = sb_new(c->arena);
  bool whole;
  print_place(&place, e, t, &whole);
  const bool sum = memchr(place.data, '+', place.len) != NULL;
  sb_printf(b, "(%s%s *)%s%s%s", qualifier, type, sum ? "(" : "", place.data, sum ? ")" : "");
  return whole;
}

void emit_pointer(EmitCtx *c, StrBuf *b, uint32_t tensor, bool write) {
  const PTensor *t = &c->program->tensors.data[tensor];
  const EmitBuffer *e = buffer_used(c, t->buffer);
  const char *type = dtype_rows[t->dtype].ctype;
  bool whole = false;
  if (!e->offset) { /* a typed pointer */
    if (c->program->buffers.data[t->buffer].dtype != t->dtype) sb_printf(b, "(%s%s *)", write ? "" : "const ", type);
    sb_str(b, e->base);
  } else {
    whole = print_cast_place(c, b, e, t, write ? "" : "const ", type);
  }
  if (!whole) print_elements(c, b, t);
}

void emit_pointer_as(EmitCtx *c, StrBuf *b, uint32_t tensor, const char *type) {
  const PTensor *t = &c->program->tensors.data[tensor];
  (void)print_cast_place(c, b, buffer_used(c, t->buffer), t, "", type);
}

/* ---- comments ---- */
void emit_shape(EmitCtx *c, StrBuf *b, uint32_t rank, const Dim *const *dims) {
  enum { SHORT = 60 }; /* a comment need not tell more */
  if (rank == 0) sb_puts(b, "[]");
  for (uint32_t i = 0; i < rank; i++) {
    StrBuf d = sb_new(c->arena);
    dimc_print(&d, dims[i], &(DimNames){.symbols = c->symbols}, false);
    sb_putc(b, '[');
    sb_str(b, d.len <= SHORT ? sb_view(&d) : STR("..."));
    sb_putc(b, ']');
  }
}

void emit_describe(EmitCtx *c, StrBuf *b, uint32_t tensor) {
  static const char *const where[] = {
      [BUF_INPUT] = "input", [BUF_OUTPUT] = "output", [BUF_CONST] = "weights", [BUF_ARENA] = "workspace"};
  const PTensor *t = &c->program->tensors.data[tensor];
  const EmitBuffer *e = buffer_used(c, t->buffer);
  int64_t at;
  if (t->name.len) {
    names_comment(b, t->name, 80);
    sb_putc(b, ' ');
  }
  emit_shape(c, b, t->rank, t->dims);
  sb_printf(b, ", %s", where[c->program->buffers.data[t->buffer].kind]);
  if (e->offset && dim_is_const(e->offset, &at)) sb_printf(b, " + %" PRId64, at);
}

/* ---- functions and calls ---- */
/* Text up to the first line's end, broken behind commas where it would pass the page's width; column: where it starts. */
static void put_wrapped(StrBuf *b, Str text, size_t column, unsigned indent) {
  enum { PAGE = 120 };
  for (size_t i = 0; i < text.len;) {
    size_t n = i;
    while (n < text.len && text.ptr[n] != '\n' && !(text.ptr[n] == ',' && n + 1 < text.len && text.ptr[n + 1] == ' ')) n++;
    const bool ends = n == text.len || text.ptr[n] == '\n';
    const size_t piece = ends ? n - i : n + 1 - i;
    if (i > 0 && column + piece + 1 > PAGE) {
      sb_printf(b, "\n%*s", (int)indent, "");
      column = indent;
    } else if (i > 0) {
      sb_putc(b, ' ');
      column++;
    }
    sb_put(b, text.ptr + i, piece);
    column += piece;
    if (ends) {
      sb_put(b, text.ptr + n, text.len - n);
      return;
    }
    i = n + 2;
  }
}

static void put_function(EmitCtx *c, const char *result, Str name, Str comment, Str rest) {
  if (comment.len) {
    sb_puts(&c->functions, "/* ");
    sb_str(&c->functions, comment);
    sb_puts(&c->functions, " */\n");
  }
  sb_printf(&c->functions, "static %s %.*s", result, STR_WHOLE(name));
  put_wrapped(&c->functions, emit_dims_function(c, rest), strlen("static  ") + strlen(result) + name.len, 4);
  sb_putc(&c->functions, '\n');
}

/* Numbers are of calls: a function has the number of the first call that it is for. */
Str emit_function(EmitCtx *c, const Step *s, const char *result, Str comment, Str rest) {
  StrBuf whole = sb_new(c->arena);
  sb_puts(&whole, result);
  sb_str(&whole, rest);
  const Str *known = map_get(&c->shared, sb_view(&whole));
  if (known) return *known;
  StrBuf long_name = sb_new(c->arena);
  sb_printf(&long_name, "step_%" PRIu32 "_", c->n_steps);
  sb_str(&long_name, s->src.node_name.len ? s->src.node_name : s->src.op_type.len ? s->src.op_type : str_c(step_names[s->kind]));
  Str *name = NEW(c->arena, Str);
  *name = names_add(&c->step_names, sb_view(&long_name), "step");
  map_put(&c->shared, sb_view(&whole), name);
  put_function(c, result, *name, comment, rest);
  return *name;
}

Str emit_beside(EmitCtx *c, Str name, const char *suffix, const char *result, Str rest) {
  const Str own = names_add(&c->step_names, arena_printf(c->arena, "%.*s_%s", STR_WHOLE(name), suffix), "step");
  put_function(c, result, own, (Str){0}, rest);
  return own;
}

static void indent(EmitCtx *c) {
  for (unsigned i = 0; i < c->indent; i++) sb_putc(&c->calls, ' ');
}

/* `"conv1" (Conv)`, or its type alone */
static void put_node(StrBuf *b, DiagPlace n) {
  if (n.node_name.len) {
    names_comment(b, n.node_name, 80);
    sb_puts(b, " (");
  }
  names_bare_comment(b, n.op_type, 80);
  if (n.node_name.len) sb_putc(b, ')');
}

/* The nodes that a step computes, as a comment of as many lines as it takes. */
static void put_nodes(EmitCtx *c, const Step *s) {
  size_t column = c->indent + 3;
  indent(c);
  sb_puts(&c->calls, "/* ");
  for (uint32_t i = 0; i <= s->n_with; i++) {
    const DiagPlace n = i < s->n_with ? s->with[i] : s->src;
    const size_t width = (n.node_name.len < 80 ? n.node_name.len : 80) + n.op_type.len + 7;
    if (i && column + width > 120) {
      sb_puts(&c->calls, ",\n");
      indent(c);
      sb_puts(&c->calls, " * ");
      column = c->indent + 3;
    } else if (i) {
      sb_puts(&c->calls, ", ");
    }
    put_node(&c->calls, n);
    column += width;
  }
  sb_puts(&c->calls, " */\n");
}

void emit_call(EmitCtx *c, const Step *s, Str name, bool may_fail, Str args) {
  vec_push(c->arena, c->made, ((BackendCall){name, s, step_cost(c->program, s)}));
  if (s->src.has_node) put_nodes(c, s);
  indent(c);
  StrBuf call = sb_new(c->arena);
  sb_printf(&call, "%s(%" PRIu32 ", %.*s(", may_fail ? "CN_TRY" : "CN_STEP", c->n_steps++, STR_WHOLE(name));
  sb_str(&call, args);
  sb_puts(&call, "));\n");
  put_wrapped(&c->calls, emit_dims_whole(c, sb_view(&call)), c->indent, c->indent + 4);
}

void emit_line(EmitCtx *c, const char *fmt, ...) {
  StrBuf b = sb_new(c->arena);
  va_list ap;
  va_start(ap, fmt);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  indent(c);
  sb_str(&c->calls, emit_dims_whole(c, sb_view(&b)));
  sb_putc(&c->calls, '\n');
}

void emit_line_of(EmitCtx *c, const Dim *symbol, const char *fmt, ...) {
  StrBuf b = sb_new(c->arena);
  va_list ap;
  va_start(ap, fmt);
  sb_printf(&b, "%*s", (int)c->indent, "");
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  sb_putc(&b, '\n');
  vec_push(c->arena, c->stops, ((EmitStop){.at = c->calls.len, .symbol = symbol, .line = emit_dims_whole(c, sb_view(&b))}));
}
