/* Dimensions in the text of steps. What a compound expression (a quotient, a maximum ...) looks like is decided late: printers put a mark
 * in its place. Where the text becomes a step function, each part is a local, once; in the body of N_run it is printed whole. */
#include "backend/dims_c.h"
#include "backend/emit.h"


enum { MARK_BEGIN = 1, MARK_END = 2 }; /* neither is in C text: names and strings of models are escaped */

static Str id_key(const Dim *d) { return (Str){(const char *)&d->id, sizeof d->id}; }

static bool is_part(const Dim *d) {
  return d->kind == DIM_FLOORDIV || d->kind == DIM_MOD || d->kind == DIM_MIN || d->kind == DIM_MAX || d->kind == DIM_SUM;
}

static void each_child(EmitCtx *c, const Dim *d, void (*f)(EmitCtx *c, const Dim *d, void *user), void *user) {
  if (is_part(d)) {
    f(c, d->pair.a, user);
    f(c, d->pair.b, user);
  } else if (d->kind == DIM_POLY) {
    for (uint32_t i = 0; i < d->poly.n_terms; i++)
      for (uint32_t k = 0; k < d->poly.terms[i].n_factors; k++) f(c, d->poly.terms[i].factors[k], user);
  }
}

/* A part's number is above those of the parts that it consists of. */
static void add_parts(EmitCtx *c, const Dim *d, void *user) {
  (void)user;
  if (is_part(d) && map_has(&c->part_marks, id_key(d))) return;
  each_child(c, d, add_parts, NULL);
  if (!is_part(d)) return;
  Str *mark = NEW(c->arena, Str);
  *mark = arena_printf(c->arena, "%c%zu%c", MARK_BEGIN, c->parts.n, MARK_END);
  map_put(&c->part_marks, id_key(d), mark);
  vec_push(c->arena, c->parts, d);
}

void emit_dim(EmitCtx *c, StrBuf *b, const Dim *d) {
  add_parts(c, d, NULL);
  dimc_print(b, d, &(DimNames){.symbols = c->symbols, .parts = c->part_marks}, true);
}

void emit_dim_as(EmitCtx *c, StrBuf *b, const Dim *d, const char *type) {
  const bool product = d->kind == DIM_POLY && d->poly.n_terms == 1; /* emit_dim puts only sums in parentheses */
  if (d->kind != DIM_CONST) sb_printf(b, "(%s)%s", type, product ? "(" : "");
  emit_dim(c, b, d);
  if (product) sb_putc(b, ')');
}

/* Prints text up to the next mark, and that part's number to *ret; returns what is behind, which is empty where none came. */
static Str until_mark(StrBuf *b, Str text, size_t *ret) {
  size_t n = 0;
  while (n < text.len && text.ptr[n] != MARK_BEGIN) n++;
  if (b) sb_put(b, text.ptr, n);
  if (n == text.len) return (Str){0};
  size_t part = 0;
  for (n++; text.ptr[n] != MARK_END; n++) part = part * 10 + (size_t)(text.ptr[n] - '0');
  *ret = part;
  return (Str){text.ptr + n + 1, text.len - n - 1};
}

static bool has_marks(Str text) { return text.len && memchr(text.ptr, MARK_BEGIN, text.len) != NULL; }

static void mark_used(EmitCtx *c, const Dim *d, void *user) {
  Map *used = user;
  if (is_part(d) && map_has(used, id_key(d))) return;
  if (is_part(d)) map_put(used, id_key(d), c);
  each_child(c, d, mark_used, used);
}

Str emit_dims_function(EmitCtx *c, Str text) {
  if (!has_marks(text)) return text;
  DimNames names = {.symbols = c->symbols, .parts = map_new(c->arena)};
  Map used = map_new(c->arena);
  size_t part = 0;
  for (Str rest = text; has_marks(rest);) {
    rest = until_mark(NULL, rest, &part);
    mark_used(c, c->parts.data[part], &used);
  }
  StrBuf b = sb_new(c->arena);
  const size_t head = (size_t)((const char *)memchr(text.ptr, '\n', text.len) - text.ptr) + 1; /* `(params) {` */
  sb_put(&b, text.ptr, head);
  size_t n = 0;
  for (part = 0; part < c->parts.n; part++) {
    const Dim *d = c->parts.data[part];
    if (!map_has(&used, id_key(d))) continue;
    Str *local = NEW(c->arena, Str);
    *local = arena_printf(c->arena, "dim%zu", n++);
    sb_printf(&b, "  const int64_t %s = ", local->ptr);
    dimc_print(&b, d, &names, false);
    sb_puts(&b, ";\n");
    map_put(&names.parts, id_key(d), local);
  }
  for (Str rest = {text.ptr + head, text.len - head}; rest.len;) {
    const bool marked = has_marks(rest);
    rest = until_mark(&b, rest, &part);
    if (marked) sb_str(&b, *(const Str *)map_get(&names.parts, id_key(c->parts.data[part])));
  }
  return sb_view(&b);
}

Str emit_dims_whole(EmitCtx *c, Str text) {
  if (!has_marks(text)) return text;
  StrBuf b = sb_new(c->arena);
  while (text.len) {
    const bool marked = has_marks(text);
    size_t part = 0;
    text = until_mark(&b, text, &part);
    if (marked) dimc_print(&b, c->parts.data[part], &(DimNames){.symbols = c->symbols}, true);
  }
  return sb_view(&b);
}

/* ---- symbols ---- */
SymbolSet emit_symbols_new(EmitCtx *c) { return (SymbolSet){NEW_ARRAY(c->arena, bool, c->program->dims->symbols.n)}; }

void emit_symbols_add(EmitCtx *c, SymbolSet *s, const Dim *d) {
  (void)c;
  if (d) dimc_symbols(d, s->has);
}

static void print_symbols(EmitCtx *c, StrBuf *b, const SymbolSet *s, const char *before) {
  for (size_t i = 0; i < c->program->dims->symbols.n; i++)
    if (s->has[i]) sb_printf(b, "%s%.*s", before, STR_WHOLE(c->symbols[i]));
}

void emit_symbols_beside(EmitCtx *c, SymbolSet *s, const Dim *d, StrBuf *body) {
  SymbolSet own = emit_symbols_new(c);
  emit_symbols_add(c, &own, d);
  for (size_t i = 0; i < c->program->dims->symbols.n; i++) {
    if (own.has[i] && !s->has[i]) sb_printf(body, "  (void)%.*s;\n", STR_WHOLE(c->symbols[i]));
    s->has[i] |= own.has[i];
  }
}

void emit_symbol_params(EmitCtx *c, StrBuf *b, const SymbolSet *s) { print_symbols(c, b, s, ", int64_t "); }
void emit_symbol_args(EmitCtx *c, StrBuf *b, const SymbolSet *s) { print_symbols(c, b, s, ", "); }
