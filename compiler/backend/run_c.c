#include "backend/dims_c.h"
#include "backend/frame.h"

#include <inttypes.h>

/* ---- N_workspace_size ---- */
static void print_locals(Frame *f, StrBuf *b, const char *from, const bool *wanted) {
  for (size_t i = 0; i < f->program->dims->symbols.n; i++)
    if (f->in_dims[i] && wanted[i])
      sb_printf(b, "  const int64_t %.*s = %s%.*s;\n", STR_ARG(f->locals[i]), from, STR_ARG(f->dim_fields[i]));
}

static void print_ranges(Frame *f, StrBuf *b) {
  for (size_t i = 0; i < f->program->dims->symbols.n; i++) {
    const Dim *s = f->program->dims->symbols.data[i];
    if (!f->in_dims[i]) continue;
    sb_printf(b, "  if (%.*s < %" PRId64, STR_ARG(f->locals[i]), s->lo);
    if (s->hi < INT64_MAX) {
      sb_printf(b, " || %.*s > ", STR_ARG(f->locals[i]));
      dimc_const(b, s->hi);
    }
    sb_puts(b, ") return SIZE_MAX;\n");
  }
}

/* Each expression once: equal ones are one pointer. */
static bool first_time(Frame *f, Map *seen, const Dim *d, unsigned bytes) {
  Str key = arena_printf(f->arena, "%" PRIu32 " %u", d->id, bytes);
  if (map_has(seen, key)) return false;
  map_put(seen, key, f);
  return true;
}

/* Everything that N_run or a step computes of the dimensions is computed here once in checked arithmetic: element counts times
 * their size, dimensions, offsets. */
static void print_size_checks(Frame *f, StrBuf *b) {
  const Program *p = f->program;
  Map seen = map_new(f->arena);
  for (size_t i = 0; i < p->buffers.n; i++) {
    const Buffer *u = &p->buffers.data[i];
    unsigned bytes = dtype_rows[u->dtype].bits / 8 ? dtype_rows[u->dtype].bits / 8 : 1;
    if (dim_is_const(u->n, NULL) || dimc_has_data(u->n) || !first_time(f, &seen, u->n, bytes)) continue;
    sb_puts(b, "  (void)cn_dim_bytes(");
    dimc_print_checked(b, u->n, f->locals);
    sb_printf(b, ", %u, &bad);\n", bytes);
  }
  for (size_t i = 0; i < p->tensors.n; i++) {
    const PTensor *t = &p->tensors.data[i];
    for (uint32_t k = 0; k < t->rank; k++) {
      const Dim *d = t->dims[k];
      if (dim_is_const(d, NULL) || d->kind == DIM_SYMBOL || dimc_has_data(d) || !first_time(f, &seen, d, 1)) continue;
      sb_puts(b, "  (void)cn_dim_bytes(");
      dimc_print_checked(b, d, f->locals);
      sb_puts(b, ", 1, &bad);\n");
    }
  }
}

static void print_dim_checks(Frame *f, StrBuf *b) {
  const Ir *ir = f->program->ir;
  for (size_t i = 0; i < ir->n_checks; i++) {
    if (dimc_has_data(ir->checks[i].a) || dimc_has_data(ir->checks[i].b)) continue;
    sb_puts(b, "  if (");
    dimc_print_checked(b, ir->checks[i].a, f->locals);
    sb_puts(b, " != ");
    dimc_print_checked(b, ir->checks[i].b, f->locals);
    sb_puts(b, ") return SIZE_MAX;\n");
  }
}

void run_workspace_size(Frame *f, StrBuf *b) {
  if (!f->has_dims) return;
  sb_printf(b, "size_t %.*s_workspace_size(const %.*s_dims *dims) {\n", STR_ARG(f->name), STR_ARG(f->name));
  print_locals(f, b, "dims->", f->in_dims);
  sb_puts(b, "  int bad = 0;\n");
  print_ranges(f, b);
  print_size_checks(f, b);
  print_dim_checks(f, b);
  sb_puts(b, "  const int64_t need = cn_dim_bytes(");
  dimc_print_checked(b, f->arena_bytes, f->locals);
  sb_puts(b, ", 1, &bad);\n  return bad ? SIZE_MAX : (size_t)need;\n}\n");
}

/* ---- constant strings ---- */
enum { LITERAL_MAX = 1000 }; /* C99 promises 4095 characters, escapes make four of one */

/* Longer ones are arrays. */
static void print_long_string(StrBuf *b, uint32_t buffer, size_t k, Str s) {
  sb_printf(b, "static const char string_%" PRIu32 "_%zu[%zu] = {", buffer, k, s.len);
  for (size_t i = 0; i < s.len; i++) {
    int c = (unsigned char)s.ptr[i];
    sb_printf(b, i % 24 ? "%d, " : "\n  %d, ", c < 128 ? c : c - 256);
  }
  sb_puts(b, "\n};\n\n");
}

static void print_string(StrBuf *b, uint32_t buffer, size_t k, Str s) {
  if (s.len > LITERAL_MAX) {
    sb_printf(b, "  {string_%" PRIu32 "_%zu, %zu},\n", buffer, k, s.len);
    return;
  }
  sb_puts(b, "  {\"");
  names_c_string(b, s);
  sb_printf(b, "\", %zu},\n", s.len);
}

void run_strings(Frame *f, StrBuf *b) {
  for (size_t i = 0; i < f->strings.n; i++) {
    const uint32_t buffer = f->strings.data[i];
    const Tensor *t = f->program->buffers.data[buffer].data;
    for (size_t k = 0; k < t->n; k++)
      if (t->strings[k].len > LITERAL_MAX) print_long_string(b, buffer, k, t->strings[k]);
    sb_printf(b, "static const castnet_string strings_%" PRIu32 "[%zu] = {\n", buffer, t->n ? t->n : 1);
    for (size_t k = 0; k < t->n; k++) print_string(b, buffer, k, t->strings[k]);
    sb_puts(b, t->n ? "};\n\n" : "  {\"\", 0}\n};\n\n");
  }
}

/* ---- N_run ---- */
/* What the calls name of N_run's locals: only that is declared. */
typedef struct Wanted {
  Map words;
  bool *symbols; /* [symbols] */
} Wanted;

static bool is_wanted(const Wanted *w, const char *name) { return map_has(&w->words, str_c(name)); }

static void want_word(void *user, Str word) {
  Wanted *w = user;
  map_put(&w->words, word, w);
}

/* Symbols that the calls, the offsets or the outputs' dimensions need. */
static Wanted find_wanted(Frame *f, const EmitCtx *c, Str results) {
  const size_t n = f->program->dims->symbols.n;
  Wanted w = {.words = map_new(f->arena), .symbols = NEW_ARRAY(f->arena, bool, n)};
  names_each_word(sb_view(&c->calls), want_word, &w);
  names_each_word(results, want_word, &w);
  for (size_t i = 0; i < n; i++) w.symbols[i] = map_has(&w.words, f->locals[i]);
  for (size_t i = 0; i < f->program->buffers.n; i++)
    if (c->buffers[i].local.len && map_has(&w.words, c->buffers[i].local)) dimc_symbols(c->buffers[i].offset, w.symbols);
  for (size_t i = 0; i < f->n_out; i++)
    for (uint32_t k = 0; f->out[i].sized && k < f->out[i].type.rank; k++) dimc_symbols(f->out[i].type.dims[k], w.symbols);
  return w;
}

static void print_weights_checks(const Frame *f, StrBuf *b) {
  if (!frame_weights_checked(f)) return;
  int n = (int)f->name.len;
  const char *name = f->name.ptr;
  if (f->opt->weights == WEIGHTS_BIN)
    sb_printf(b, "  const int error = cn_weights_check(e.weights, e.weights_size, %zu, %.*s_CODE_HIGH, %.*s_CODE_LOW);\n",
              f->weights_size, n, name, n, name);
  else
    sb_printf(b, "  const int error = cn_weights_check_set(%.*s_WEIGHTS, %.*s_SET);\n", n, name, n, name);
  sb_puts(b, "  if (error != CASTNET_OK) return error;\n");
}

static void print_isa_check(const Frame *f, StrBuf *b) {
  const Target *t = f->opt->target;
  if (t->isa_level == 0) return;
  sb_printf(b, "  if ((e.isa != 0 ? e.isa : %s()) < %" PRIu32 ") return CASTNET_ERR_ISA; /* %s */\n", t->isa_detect, t->isa_level, t->name);
}

static void print_output_dims(Frame *f, StrBuf *b, const IoField *o) {
  for (uint32_t k = 0; k < o->type.rank; k++) {
    sb_printf(b, "  out->%.*s.dims[%u] = ", STR_ARG(o->name), k);
    dimc_print(b, o->type.dims[k], f->locals, false);
    sb_puts(b, ";\n");
  }
}

static const Dim *element_count(const Frame *f, const Type *t) {
  return dim_product(f->program->dims, t->dims, t->rank);
}

/* Dimensions of all outputs come before any check of room: the caller who has to give more sees every size at once. */
static void print_known_dims(Frame *f, StrBuf *b) {
  for (size_t i = 0; i < f->n_out; i++)
    if (f->out[i].sized && !frame_needs_data(&f->out[i].type)) print_output_dims(f, b, &f->out[i]);
}

static void print_room_checks(Frame *f, StrBuf *b) {
  const char *before = "  if (", *end = "";
  for (size_t i = 0; i < f->n_out; i++) {
    const IoField *o = &f->out[i];
    if (o->owned) continue;
    sb_puts(b, before);
    before = " ||\n      ";
    end = ")\n    return CASTNET_ERR_CAPACITY;\n";
    int n = (int)o->name.len;
    if (o->sized) {
      sb_printf(b, "cn_no_room(out->%.*s.data, out->%.*s.capacity, ", n, o->name.ptr, n, o->name.ptr);
      dimc_print(b, element_count(f, &o->type), f->locals, false);
      sb_putc(b, ')');
    } else {
      sb_printf(b, "out->%.*s == NULL", n, o->name.ptr);
    }
  }
  sb_puts(b, end);
}

/* Also says CASTNET_ERR_DIM: a size that cannot be told. */
static void print_need(Frame *f, StrBuf *b) {
  int64_t bytes = 0;
  if (dim_is_const(f->arena_bytes, &bytes) && !f->has_dims) {
    sb_printf(b, "  out->ws_needed = %" PRId64 ";\n", bytes);
    return;
  }
  sb_printf(b, "  const size_t need = %.*s_workspace_size(&in->dim);\n", STR_ARG(f->name));
  sb_puts(b, "  if (need == SIZE_MAX) return CASTNET_ERR_DIM;\n  out->ws_needed = need;\n");
}

static void print_workspace_checks(Frame *f, StrBuf *b) {
  if (dim_is(f->arena_bytes, 0)) return;
  sb_puts(b, "  if (ws_size < out->ws_needed) return CASTNET_ERR_WORKSPACE;\n");
  sb_printf(b, "  if (!cn_aligned(ws, %.*s_WORKSPACE_ALIGN)) return CASTNET_ERR_ALIGN;\n", STR_ARG(f->name));
}

static void print_places(Frame *f, const EmitCtx *c, const Wanted *want, StrBuf *b) {
  if (is_wanted(want, "m")) sb_puts(b, "  unsigned char *const m = (unsigned char *)ws;\n");
  else if (dim_is(f->arena_bytes, 0)) sb_puts(b, "  (void)ws;\n  (void)ws_size;\n");
  if (is_wanted(want, "w")) {
    if (f->opt->weights == WEIGHTS_BIN) sb_puts(b, "  const unsigned char *const w = (const unsigned char *)e.weights;\n");
    else sb_printf(b, "  const unsigned char *const w = %.*s_WEIGHTS;\n", STR_ARG(f->name));
  }
  for (size_t i = 0; i < f->program->buffers.n; i++) {
    const EmitBuffer *e = &c->buffers[i];
    if (!e->local.len || !map_has(&want->words, e->local)) continue;
    sb_printf(b, "  const int64_t %.*s = ", STR_ARG(e->local));
    dimc_print(b, e->offset, f->locals, false);
    sb_puts(b, ";\n");
  }
}

static void print_data_symbols(Frame *f, StrBuf *b, const bool *wanted) {
  for (size_t i = 0; i < f->program->dims->symbols.n; i++)
    if (wanted[i] && !f->in_dims[i]) sb_printf(b, "  int64_t %.*s = 0;\n", STR_ARG(f->locals[i]));
}

/* What the library owns, once the steps are done. */
static void print_results(Frame *f, const EmitCtx *c, StrBuf *b) {
  for (size_t i = 0; i < f->n_out; i++) {
    const IoField *o = &f->out[i];
    if (!o->owned) continue;
    const EmitBuffer *e = &c->buffers[o->buffer];
    sb_printf(b, "  out->%.*s%s = (const %s *)(m", STR_ARG(o->name), o->sized ? ".data" : "", dtype_rows[o->type.dtype].ctype);
    if (e->local.len) sb_printf(b, " + %.*s", STR_ARG(e->local));
    else if (!dim_is(e->offset, 0)) sb_printf(b, " + %" PRId64, e->offset->value);
    sb_puts(b, ");\n");
    if (o->sized && frame_needs_data(&o->type)) print_output_dims(f, b, o);
  }
}

void run_body(Frame *f, const EmitCtx *c, StrBuf *b) {
  StrBuf results = sb_new(f->arena);
  print_results(f, c, &results);
  const Wanted want = find_wanted(f, c, sb_view(&results));
  sb_puts(b, "  castnet_env e;\n  cn_env_read(&e, env);\n");
  if (!f->has_dims && !is_wanted(&want, "in")) sb_puts(b, "  (void)in;\n");
  print_isa_check(f, b);
  print_weights_checks(f, b);
  print_need(f, b);
  print_locals(f, b, "in->dim.", want.symbols);
  print_data_symbols(f, b, want.symbols);
  print_known_dims(f, b);
  print_workspace_checks(f, b);
  print_room_checks(f, b);
  print_places(f, c, &want, b);
  sb_putc(b, '\n');
  sb_str(b, sb_view(&c->calls));
  sb_putc(b, '\n');
  sb_str(b, sb_view(&results));
  sb_puts(b, "  return CASTNET_OK;\n");
}
