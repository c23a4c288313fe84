#include "backend/dims_c.h"
#include "backend/language.h"

#include <inttypes.h>

/* ---- N_workspace_size ---- */
static void print_locals(Frame *f, StrBuf *b, const char *from, const bool *wanted) {
  for (size_t i = 0; i < f->program->dims->symbols.n; i++)
    if (f->in_dims[i] && wanted[i])
      sb_printf(b, "  const int64_t %.*s = %s%.*s;\n", STR_WHOLE(f->locals[i]), from, STR_WHOLE(f->dim_fields[i]));
}

static void print_ranges(Frame *f, StrBuf *b) {
  for (size_t i = 0; i < f->program->dims->symbols.n; i++) {
    const Dim *s = f->program->dims->symbols.data[i];
    if (!f->in_dims[i]) continue;
    sb_printf(b, "  if (%.*s < %" PRId64, STR_WHOLE(f->locals[i]), s->lo);
    if (s->hi < INT64_MAX) {
      sb_printf(b, " || %.*s > ", STR_WHOLE(f->locals[i]));
      dimc_const(b, s->hi);
    }
    sb_puts(b, ") return SIZE_MAX;\n");
  }
}

/* What N_workspace_size computes. */
typedef struct SizeCheck {
  const Dim *d;
  unsigned bytes; /* of an element; 0: the left side of an equality with the next */
} SizeCheck;

typedef struct Sizes {
  Frame *f;
  VEC(SizeCheck) checks;
  VEC(const Dim *) dims; /* the same expressions */
  Map seen;
} Sizes;

static void add_size(Sizes *s, const Dim *d, unsigned bytes) {
  vec_push(s->f->arena, s->checks, ((SizeCheck){d, bytes}));
  vec_push(s->f->arena, s->dims, d);
}

/* Each expression once: equal ones are one pointer. */
static void add_size_once(Sizes *s, const Dim *d, unsigned bytes) {
  if (dim_is_const(d, NULL) || dim_has_data(d)) return;
  Str key = arena_printf(s->f->arena, "%" PRIu32 " %u", d->id, bytes);
  if (map_has(&s->seen, key)) return;
  map_put(&s->seen, key, s);
  add_size(s, d, bytes);
}

static void add_program_sizes(Sizes *s, const Program *p) {
  for (size_t i = 0; i < p->buffers.n; i++) {
    const unsigned bits = dtype_rows[p->buffers.data[i].dtype].bits;
    add_size_once(s, p->buffers.data[i].n, bits < 8 ? 1 : bits / 8);
  }
  for (size_t i = 0; i < p->tensors.n; i++)
    for (uint32_t k = 0; k < p->tensors.data[i].rank; k++) {
      const Dim *d = p->tensors.data[i].dims[k];
      if (d->kind != DIM_SYMBOL) add_size_once(s, d, 1);
    }
}

/* Everything that N_run or a step computes of the dimensions is computed here once in checked arithmetic: element counts times
 * their size, dimensions; equalities that could not be proved; last the workspace. */
static Sizes collect_sizes(Frame *f) {
  const Program *p = f->program;
  Sizes s = {.f = f, .seen = map_new(f->arena)};
  for (size_t i = 0; i < f->common->n_frames; i++) add_program_sizes(&s, f->common->frames[i]->program);
  for (size_t i = 0; i < p->ir->n_checks; i++) {
    if (p->ir->checks[i].graph != p->ir->main || dim_has_data(p->ir->checks[i].a) || dim_has_data(p->ir->checks[i].b)) continue;
    add_size(&s, p->ir->checks[i].a, 0);
    add_size(&s, p->ir->checks[i].b, 0);
  }
  add_size(&s, f->common->need, 1);
  return s;
}

static void print_equality(StrBuf *b, const Dim *x, const Dim *y, const DimNames *names) {
  sb_puts(b, "  if (");
  dimc_print_checked(b, x, names);
  sb_puts(b, " != ");
  dimc_print_checked(b, y, names);
  sb_puts(b, ") return SIZE_MAX;\n");
}

static void print_sizes(StrBuf *b, const Sizes *s, const DimNames *names) {
  for (size_t i = 0; i < s->checks.n; i++) {
    const SizeCheck *k = &s->checks.data[i];
    if (k->bytes == 0) {
      print_equality(b, k->d, s->checks.data[++i].d, names);
      continue;
    }
    sb_puts(b, i + 1 < s->checks.n ? "  (void)cn_dim_bytes(" : "  const int64_t need = cn_dim_bytes(");
    dimc_print_checked(b, k->d, names);
    sb_printf(b, ", %u, &bad);\n", k->bytes);
  }
}

void run_workspace_size(Frame *f, StrBuf *b) {
  if (!f->has_dims) return;
  Sizes s = collect_sizes(f);
  DimNames names = {.symbols = f->locals};
  sb_printf(b, "size_t %.*s_workspace_size(const %.*s_dims *dims) {\n", STR_WHOLE(f->name), STR_WHOLE(f->name));
  print_locals(f, b, "dims->", f->in_dims);
  sb_puts(b, "  int bad = 0;\n");
  print_ranges(f, b);
  dimc_declare_parts(b, s.dims.data, s.dims.n, &names, true);
  print_sizes(b, &s, &names);
  sb_puts(b, "  return bad ? SIZE_MAX : (size_t)need;\n}\n\n");
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

static void want_symbols(Frame *f, const EmitCtx *c, Wanted *w) {
  const size_t n = f->program->dims->symbols.n;
  for (size_t i = 0; i < n; i++) w->symbols[i] = w->symbols[i] || map_has(&w->words, f->locals[i]);
  for (size_t i = 0; i < f->offset_dims.n; i++)
    if (map_has(&w->words, stops_offset_local(f, i))) dimc_symbols(f->offset_dims.data[i].dim, w->symbols);
  for (size_t i = 0; i < f->n_out; i++)
    for (uint32_t k = 0; f->out[i].sized && k < f->out[i].type.rank; k++) dimc_symbols(f->out[i].type.dims[k], w->symbols);
  stops_symbols(f, c, w->symbols);
}

/* Lines of symbols that are needed may need others. */
static bool want_lines(const EmitCtx *c, Wanted *w, bool *taken) {
  bool more = false;
  for (size_t i = 0; i < c->stops.n; i++) {
    const EmitStop *s = &c->stops.data[i];
    if (!s->symbol || taken[i] || !w->symbols[s->symbol->symbol.index]) continue;
    taken[i] = more = true;
    names_each_word(s->line, want_word, w);
  }
  return more;
}

/* Symbols that the calls, the offsets or the outputs' dimensions need. */
static Wanted find_wanted(Frame *f, const EmitCtx *c, Str results) {
  Wanted w = {.words = map_new(f->arena), .symbols = NEW_ARRAY(f->arena, bool, f->program->dims->symbols.n)};
  bool *taken = NEW_ARRAY(f->arena, bool, c->stops.n);
  names_each_word(sb_view(&c->calls), want_word, &w);
  names_each_word(results, want_word, &w);
  do want_symbols(f, c, &w);
  while (want_lines(c, &w, taken));
  return w;
}

static void print_output_dims(StrBuf *b, const IoField *o, const DimNames *names) {
  for (uint32_t k = 0; k < o->type.rank; k++) {
    sb_printf(b, "%*sout->%.*s.dims[%u] = ", (int)names->indent, "", STR_WHOLE(o->name), k);
    dimc_print(b, o->type.dims[k], names, false);
    sb_puts(b, ";\n");
  }
}

/* Those that data decide. */
static void print_decided_dims(Frame *f, StrBuf *b, const IoField *o) {
  DimNames names = {.symbols = f->locals, .indent = 4, .word = "t"};
  StrBuf locals = sb_new(f->arena);
  dimc_declare_parts(&locals, o->type.dims, o->type.rank, &names, false);
  if (!locals.len) names.indent = 2;
  else sb_printf(b, "  {\n%s", sb_view(&locals).ptr);
  print_output_dims(b, o, &names);
  if (locals.len) sb_puts(b, "  }\n");
}

static const Dim *element_count(const Frame *f, const Type *t) {
  return dim_product(f->program->dims, t->dims, t->rank);
}

static bool is_known(const IoField *o) { return o->sized && !frame_needs_data(&o->type); }

/* Dimensions of all outputs come before any check of room: the caller who has to give more sees every size at once. */
static void print_known_dims(Frame *f, StrBuf *b, const DimNames *names) {
  for (size_t i = 0; i < f->n_out; i++)
    if (is_known(&f->out[i])) print_output_dims(b, &f->out[i], names);
}

static void print_room_checks(Frame *f, StrBuf *b, const DimNames *names) {
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
      dimc_print(b, element_count(f, &o->type), names, false);
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
  if (dim_is_const(f->common->need, &bytes) && !f->has_dims) {
    sb_printf(b, "  out->ws_needed = %" PRId64 ";\n", bytes);
    return;
  }
  sb_printf(b, "  const size_t need = %.*s_workspace_size(&in->dim);\n", STR_WHOLE(f->name));
  sb_puts(b, "  if (need == SIZE_MAX) return CASTNET_ERR_DIM;\n  out->ws_needed = need;\n");
}

static void print_workspace_checks(Frame *f, StrBuf *b) {
  if (dim_is(f->common->need, 0) && f->common->exact) return;
  if (!dim_is(f->common->need, 0)) sb_puts(b, "  if (ws_size < out->ws_needed) return CASTNET_ERR_WORKSPACE;\n");
  sb_printf(b, "  if (!cn_aligned(ws, %.*s_WORKSPACE_ALIGN)) return CASTNET_ERR_ALIGN;\n", STR_WHOLE(f->name));
}

static bool is_offset_wanted(const Frame *f, const Wanted *want, size_t i) { return map_has(&want->words, stops_offset_local(f, i)); }

/* Parts of all that N_run computes of the inputs' dimensions: N_workspace_size has checked that nothing overflows here. */
static void declare_run_parts(Frame *f, const Wanted *want, StrBuf *b, DimNames *names) {
  VEC(const Dim *) dims = {0};
  for (size_t i = 0; i < f->n_out; i++) {
    const IoField *o = &f->out[i];
    for (uint32_t k = 0; is_known(o) && k < o->type.rank; k++) vec_push(f->arena, dims, o->type.dims[k]);
    if (o->sized && !o->owned) vec_push(f->arena, dims, element_count(f, &o->type));
  }
  for (size_t i = 0; i < f->offset_dims.n; i++)
    if (is_offset_wanted(f, want, i) && !f->offset_dims.data[i].placed_after) vec_push(f->arena, dims, f->offset_dims.data[i].dim);
  dimc_declare_parts(b, dims.data, dims.n, names, false);
}

static void print_offsets(Frame *f, const Wanted *want, StrBuf *b, const DimNames *names) {
  for (size_t i = 0; i < f->offset_dims.n; i++) {
    if (!is_offset_wanted(f, want, i)) continue;
    if (f->offset_dims.data[i].placed_after) { /* set when data have decided it; --poison asks whether they have */
      sb_printf(b, "  int64_t %.*s = %d;\n", STR_WHOLE(stops_offset_local(f, i)), f->opt->poison ? -1 : 0);
      continue;
    }
    sb_printf(b, "  const int64_t %.*s = ", STR_WHOLE(stops_offset_local(f, i)));
    dimc_print(b, f->offset_dims.data[i].dim, names, false);
    sb_puts(b, ";\n");
  }
}

static void print_places(Frame *f, const Wanted *want, StrBuf *b, const DimNames *names) {
  if (is_wanted(want, "m")) {
    sb_puts(b, "  unsigned char *const m = (unsigned char *)ws");
    if (f->lang->head) sb_printf(b, " + %zu", f->lang->head);
    sb_puts(b, ";\n");
  } else if (dim_is(f->common->need, 0) && f->common->exact) {
    sb_puts(b, "  (void)ws;\n  (void)ws_size;\n");
  }
  if (is_wanted(want, "w")) f->lang->run_weights(f, b);
  if (f->program->makes_strings) sb_puts(b, "  cn_text text;\n  cn_text_begin(&text, &e, ws, ws_size, &out->ws_needed);\n");
  if (f->lang->run_places) f->lang->run_places(f, b);
  print_offsets(f, want, b, names);
}

static void print_data_symbols(Frame *f, StrBuf *b, const bool *wanted) {
  for (size_t i = 0; i < f->program->dims->symbols.n; i++)
    if (wanted[i] && !f->in_dims[i]) sb_printf(b, "  int64_t %.*s = 0;\n", STR_WHOLE(f->locals[i]));
}

static void print_place(StrBuf *b, const EmitBuffer *e) {
  sb_puts(b, "(m");
  if (e->local.len) sb_printf(b, " + %.*s", STR_WHOLE(e->local));
  else if (!dim_is(e->offset, 0)) sb_printf(b, " + %" PRId64, e->offset->value);
  sb_putc(b, ')');
}

/* `out->y.count = cn_seq_count(CONTENT);` */
static void print_from_content(StrBuf *b, const IoField *o, const char *member, const char *function, Str content) {
  sb_printf(b, "  out->%.*s.%s = %s(%.*s);\n", STR_WHOLE(o->name), member, function, STR_WHOLE(content));
}

/* The items stand in the workspace already, in their structs. */
static void print_sequence(Frame *f, EmitCtx *c, StrBuf *b, const IoField *o) {
  StrBuf content = sb_new(f->arena), items = sb_new(f->arena);
  const bool optional = o->type.kind == TYPE_OPTIONAL, one = optional && o->type.elem->kind == TYPE_TENSOR;
  emit_pointer(c, &content, o->content, false);
  print_place(&items, &c->buffers[o->buffer]);
  if (one) {
    print_from_content(b, o, "has", "(uint8_t)cn_seq_count", sb_view(&content));
    sb_printf(b, "  if (out->%.*s.has) memcpy(&out->%.*s.value, %s, sizeof out->%.*s.value);\n", STR_WHOLE(o->name), STR_WHOLE(o->name), items.data, STR_WHOLE(o->name));
    return;
  }
  if (optional) print_from_content(b, o, "has", "cn_seq_is_there", sb_view(&content));
  print_from_content(b, o, optional ? "value.count" : "count", "cn_seq_count", sb_view(&content));
  sb_printf(b, "  out->%.*s%s.items = (const ", STR_WHOLE(o->name), optional ? ".value" : "");
  types_print(f, b, optional ? o->type.elem->elem : o->type.elem);
  sb_printf(b, " *)%s;\n", items.data);
}

/* The maps stand there likewise; their number is that of rows. */
static void print_maps(Frame *f, EmitCtx *c, StrBuf *b, const IoField *o) {
  StrBuf items = sb_new(f->arena);
  print_place(&items, &c->buffers[o->buffer]);
  sb_printf(b, "  out->%.*s.items = (const ", STR_WHOLE(o->name));
  types_print(f, b, o->type.elem);
  sb_printf(b, " *)%s;\n  out->%.*s.count = (size_t)(", items.data, STR_WHOLE(o->name));
  dimc_print(b, f->program->tensors.data[o->tensor].dims[0], &(DimNames){.symbols = f->locals}, false);
  sb_puts(b, ");\n");
}

/* What the library owns, once the steps are done. */
static void print_results(Frame *f, EmitCtx *c, StrBuf *b) {
  for (size_t i = 0; i < f->n_out; i++) {
    const IoField *o = &f->out[i];
    if (!o->owned) continue;
    if (o->type.kind != TYPE_TENSOR) {
      if (o->type.kind == TYPE_SEQUENCE && o->type.elem->kind == TYPE_MAP) print_maps(f, c, b, o);
      else print_sequence(f, c, b, o);
      continue;
    }
    sb_printf(b, "  out->%.*s%s = (const %s *)", STR_WHOLE(o->name), o->sized ? ".data" : "", dtype_rows[o->type.dtype].ctype);
    print_place(b, &c->buffers[o->buffer]);
    sb_puts(b, ";\n");
    if (o->sized && frame_needs_data(&o->type)) print_decided_dims(f, b, o);
  }
}

static void print_calls(Frame *f, const EmitCtx *c, const Wanted *want, const DimNames *names, StrBuf *b) {
  size_t at = 0;
  for (size_t i = 0; i < c->stops.n; i++) {
    const EmitStop *stop = &c->stops.data[i];
    sb_put(b, c->calls.data + at, stop->at - at);
    if (!stop->symbol) stops_print(f, &want->words, &names->parts, stop, b);
    else if (want->symbols[stop->symbol->symbol.index]) sb_str(b, stop->line);
    at = stop->at;
  }
  sb_put(b, c->calls.data + at, c->calls.len - at);
}

void run_body(Frame *f, EmitCtx *c, StrBuf *b) {
  StrBuf results = sb_new(f->arena);
  print_results(f, c, &results);
  const Str result_text = emit_dims_whole(c, sb_view(&results));
  const Wanted want = find_wanted(f, c, result_text);
  sb_puts(b, "  castnet_env e;\n  cn_env_read(&e, env);\n");
  if (c->program->longest_trip) sb_printf(b, "  if (e.line_ns > %u) e.parallel_for = NULL; /* threads that far apart cost more than they save */\n", c->program->longest_trip);
  if (!f->has_dims && !is_wanted(&want, "in")) sb_puts(b, "  (void)in;\n");
  f->lang->run_head(f, b);
  print_need(f, b);
  print_locals(f, b, "in->dim.", want.symbols);
  print_data_symbols(f, b, want.symbols);
  DimNames names = {.symbols = f->locals, .indent = 2};
  declare_run_parts(f, &want, b, &names);
  print_known_dims(f, b, &names);
  print_workspace_checks(f, b);
  print_room_checks(f, b, &names);
  print_places(f, &want, b, &names);
  sb_putc(b, '\n');
  print_calls(f, c, &want, &names, b);
  sb_putc(b, '\n');
  sb_str(b, result_text);
  sb_puts(b, "  return CASTNET_OK;\n");
}
