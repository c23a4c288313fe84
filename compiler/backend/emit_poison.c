/* --poison: between steps, all of the workspace but what a later step reads is overwritten:
 *
 *   {
 *     const cn_held h0[] = {{0, 640}, {o1, (n * 4)}};
 *     cn_poison(m, ws_size, h0, 2);
 *   } */
#include "backend/emit_steps.h"
#include "backend/frame.h"

static bool in_workspace(const EmitCtx *c, uint32_t buffer) { return str_is(c->buffers[emit_storage(c->program, buffer)].base, "m"); }

/* Results that the library owns: the caller reads them after the call, and what they point into. */
static Held find_held(const EmitCtx *c) {
  const Program *p = c->program;
  bool *at_end = NEW_ARRAY(c->arena, bool, p->buffers.n);
  for (uint32_t b = 0; b < p->buffers.n; b++) at_end[b] = p->buffers.data[b].kind == BUF_OUTPUT;
  for (size_t i = 0; i < p->outputs.n; i++)
    if (p->outputs.data[i].content != NO_TENSOR) at_end[p->tensors.data[p->outputs.data[i].content].buffer] = true;
  return program_held(c->arena, p, at_end);
}

/* A size that is decided only later, as that of what a loop stacks, is the most that it may be. */
static const Dim *elements(const EmitCtx *c, const Buffer *b, size_t point) {
  return program_level(c->frame->decided, b->n) >= (int64_t)point ? dim_upper(c->program->dims, b->n) : b->n;
}

/* `{o1, (n * 4)}` */
static void print_held(EmitCtx *c, StrBuf *b, uint32_t buffer, size_t point) {
  const Buffer *buf = &c->program->buffers.data[buffer];
  const Dim *n = elements(c, buf, point);
  const EmitBuffer *place = &c->buffers[emit_storage(c->program, buffer)];
  const unsigned bits = dtype_rows[buf->dtype].bits;
  DimCtx *dims = c->program->dims;
  sb_putc(b, '{');
  if (place->local.len) sb_str(b, place->local);
  else emit_dim(c, b, place->offset);
  sb_puts(b, ", ");
  emit_dim(c, b, bits < 8 ? dim_ceildiv(dims, n, dim_const(dims, 8 / bits)) : dim_mulc(dims, n, bits / 8));
  sb_putc(b, '}');
}

void emit_poison(EmitCtx *c, const Held *held, size_t point) {
  StrBuf list = sb_new(c->arena);
  size_t n = 0;
  for (uint32_t i = 0; i < c->program->buffers.n; i++) {
    if (!held_has(held, point, i) || !in_workspace(c, i)) continue;
    if (n++) sb_puts(&list, ", ");
    print_held(c, &list, i, point);
  }
  const char *size = c->program->makes_strings ? "text.size - text.used" : "ws_size";
  if (n == 0) {
    emit_line(c, "cn_poison(m, %s, NULL, 0);", size);
    return;
  }
  emit_line(c, "{");
  emit_line(c, "  const cn_held h0[] = {%s};", list.data);
  emit_line(c, "  cn_poison(m, %s, h0, %zu);", size, n);
  emit_line(c, "}");
}

bool emit_poisons(const EmitCtx *c, Held *ret) {
  const Common *common = c->frame->common;
  if (!c->opt->poison || (dim_is(common->need, 0) && common->exact)) return false;
  *ret = find_held(c);
  return true;
}
