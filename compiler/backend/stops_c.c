/* What N_run does when a step has decided sizes that had no bound: every size that follows is computed in checked arithmetic, then
 * the workspace that they need is asked for, then what lies in it gets its place. */
#include "backend/dims_c.h"
#include "backend/frame.h"
#include "backend/language.h"

Str stops_offset_local(const Frame *f, size_t i) { return *(const Str *)f->offsets.entries.data[i].value; }

typedef struct Stop {
  Frame *f;
  int64_t step;
  VEC(const Dim *) dims; /* [checks, offsets, need] */
  VEC(unsigned) bytes;   /* of an element, for each check */
  Map seen;
} Stop;

/* Sizes are checked at their bounds: what has one is not larger. */
static void add_check(Stop *s, const Dim *d, unsigned bytes) {
  d = dim_upper(s->f->program->dims, d);
  if (program_level(s->f->decided, d) != s->step) return;
  const Str key = arena_printf(s->f->arena, "%u %u", d->id, bytes);
  if (map_has(&s->seen, key)) return;
  map_put(&s->seen, key, s);
  vec_push(s->f->arena, s->dims, d);
  vec_push(s->f->arena, s->bytes, bytes);
}

static void add_checks(Stop *s) {
  const Program *p = s->f->program;
  for (size_t i = 0; i < p->buffers.n; i++) {
    const unsigned bits = dtype_rows[p->buffers.data[i].dtype].bits;
    add_check(s, p->buffers.data[i].n, bits < 8 ? 1 : bits / 8);
  }
  for (size_t i = 0; i < p->tensors.n; i++)
    for (uint32_t k = 0; k < p->tensors.data[i].rank; k++)
      if (p->tensors.data[i].dims[k]->kind != DIM_SYMBOL) add_check(s, p->tensors.data[i].dims[k], 1);
}

static const Dim *need_after(const Frame *f, int64_t step) {
  for (size_t i = 0; i < f->program->regions.n; i++)
    if ((int64_t)f->program->regions.data[i].step == step) return dim_addc(f->program->dims, f->program->regions.data[i].bytes, (int64_t)f->lang->head);
  return NULL;
}

static Stop stop_new(Frame *f, size_t step) {
  Stop s = {.f = f, .step = (int64_t)step, .seen = map_new(f->arena)};
  add_checks(&s);
  return s;
}

void stops_symbols(Frame *f, const EmitCtx *c, bool *has) {
  for (size_t i = 0; i < c->stops.n; i++) {
    if (c->stops.data[i].symbol) continue;
    const Stop s = stop_new(f, c->stops.data[i].step);
    const Dim *need = need_after(f, s.step);
    for (size_t k = 0; k < s.dims.n; k++) dimc_symbols(s.dims.data[k], has);
    if (need) dimc_symbols(need, has);
  }
}

/* In a block the need of an earlier iteration may have been the larger; before it, that of another level to begin with. */
static void print_need(const Frame *f, StrBuf *b, const Dim *need, const DimNames *names, const EmitStop *at) {
  const int n = (int)at->indent + 2;
  if (need) {
    sb_printf(b, "%*sconst int64_t more = cn_dim_bytes(", n, "");
    dimc_print_checked(b, need, names);
    sb_puts(b, ", 1, &bad);\n");
  }
  sb_printf(b, "%*sif (bad) return CASTNET_ERR_DIM;\n", n, "");
  if (!need) return;
  if (f->program->makes_strings) {
    sb_printf(b, "%*sif (cn_text_tensors(&text, (size_t)more) != CASTNET_OK) return CASTNET_ERR_WORKSPACE;\n", n, "");
    return;
  }
  if (at->indent == 2 && !frame_is_level(f)) {
    sb_printf(b, "%*sout->ws_needed = (size_t)more;\n%*sif (ws_size < out->ws_needed) return CASTNET_ERR_WORKSPACE;\n", n, "", n, "");
    return;
  }
  sb_printf(b, "%*sif (out->ws_needed < (size_t)more) out->ws_needed = (size_t)more;\n", n, "");
  if (at->indent == 2) {
    sb_printf(b, "%*sif (ws_size < out->ws_needed) return CASTNET_ERR_WORKSPACE;\n", n, "");
    return;
  }
  sb_printf(b, "%*sif (ws_size < out->ws_needed) {\n%*sout->ws_needed += out->ws_needed / 2; /* for what the next ones ask */\n", n, "", n + 2, "");
  sb_printf(b, "%*sreturn CASTNET_ERR_WORKSPACE;\n%*s}\n", n + 2, "", n, "");
}

void stops_print(Frame *f, const Map *words, const Map *outer, const EmitStop *stop, StrBuf *b) {
  const int n = (int)stop->indent + 2;
  Stop s = stop_new(f, stop->step);
  const size_t n_checks = s.dims.n;
  const Dim *need = need_after(f, s.step);
  VEC(Str) locals = {0};
  for (size_t i = 0; i < f->offset_dims.n; i++) {
    if (!map_has(words, stops_offset_local(f, i)) || f->offset_dims.data[i].placed_after != (size_t)s.step + 1) continue;
    vec_push(f->arena, s.dims, f->offset_dims.data[i].dim);
    vec_push(f->arena, locals, stops_offset_local(f, i));
  }
  if (need) vec_push(f->arena, s.dims, need);
  if (s.dims.n == 0) return;
  DimNames names = {.symbols = f->locals, .indent = (unsigned)n, .word = "t", .outer = outer};
  sb_printf(b, "%*s{\n%*sint bad = 0;\n", n - 2, "", n, "");
  dimc_declare_parts(b, s.dims.data, s.dims.n, &names, true);
  for (size_t i = 0; i < n_checks; i++) {
    sb_printf(b, "%*s(void)cn_dim_bytes(", n, "");
    dimc_print_checked(b, s.dims.data[i], &names);
    sb_printf(b, ", %u, &bad);\n", s.bytes.data[i]);
  }
  print_need(f, b, need, &names, stop);
  for (size_t i = 0; i < locals.n; i++) {
    sb_printf(b, "%*s%.*s = ", n, "", STR_WHOLE(locals.data[i]));
    dimc_print(b, s.dims.data[n_checks + i], &names, false);
    sb_puts(b, ";\n");
  }
  sb_printf(b, "%*s}\n", n - 2, "");
}
