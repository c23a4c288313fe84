/* Steps that call a function of the one ABI (castnet_op): kernels of runtime-lite that have no printer of their own, and
 * custom operators. */
#include "backend/dims_c.h"
#include "backend/emit_expr.h"
#include "backend/emit_steps.h"

#include <inttypes.h>

typedef struct ExternPrinter {
  EmitCtx *c;
  const Step *step;
  const ExternStep *e;
  StrBuf params, args, body;
  SymbolSet symbols;
} ExternPrinter;

/* ---- attributes: constant data of the step function ---- */
static const char *kind_word(ExternAttrKind k) {
  static const char *const words[] = {[EXTERN_INT] = "CASTNET_INT", [EXTERN_FLOAT] = "CASTNET_FLOAT",
                                      [EXTERN_STRING] = "CASTNET_STRING", [EXTERN_INTS] = "CASTNET_INTS",
                                      [EXTERN_FLOATS] = "CASTNET_FLOATS", [EXTERN_STRINGS] = "CASTNET_STRINGS"};
  return words[k];
}

static void print_float(EmitCtx *c, StrBuf *b, float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  sb_str(b, expr_const_text(c, DT_f32, bits));
}

static void print_string(StrBuf *b, Str s) {
  sb_puts(b, "{\"");
  names_c_string(b, s);
  sb_printf(b, "\", %zu}", s.len);
}

static void print_element(EmitCtx *c, StrBuf *b, const ExternAttrValue *v, size_t i) {
  if (v->kind == EXTERN_INTS) dimc_const(b, v->ints[i]);
  else if (v->kind == EXTERN_FLOATS) print_float(c, b, v->floats[i]);
  else print_string(b, v->strings[i]);
}

/* `static const int64_t a2[3] = {...};` of an attribute that has many values. */
static void print_list(EmitCtx *c, StrBuf *b, const ExternAttrValue *v, size_t index) {
  const char *type = v->kind == EXTERN_INTS ? "int64_t" : v->kind == EXTERN_FLOATS ? "float" : "castnet_string";
  if (v->kind < EXTERN_INTS || v->n == 0) return;
  sb_printf(b, "  static const %s a%zu[%zu] = {", type, index, v->n);
  for (size_t i = 0; i < v->n; i++) {
    sb_puts(b, i % 8 ? ", " : i ? ",\n    " : "\n    ");
    print_element(c, b, v, i);
  }
  sb_puts(b, "\n  };\n");
}

static void print_value(EmitCtx *c, StrBuf *b, const ExternAttrValue *v, size_t index) {
  static const char *const members[] = {[EXTERN_INT] = "i", [EXTERN_FLOAT] = "f", [EXTERN_STRING] = "s",
                                        [EXTERN_INTS] = "ints", [EXTERN_FLOATS] = "floats", [EXTERN_STRINGS] = "strings"};
  sb_puts(b, "    {\"");
  names_c_string(b, v->name);
  sb_printf(b, "\", %s, %zu, {.%s = ", kind_word(v->kind), v->kind < EXTERN_INTS ? (size_t)1 : v->n, members[v->kind]);
  if (v->kind == EXTERN_INT) dimc_const(b, v->i);
  else if (v->kind == EXTERN_FLOAT) print_float(c, b, v->f);
  else if (v->kind == EXTERN_STRING) print_string(b, v->s);
  else if (v->n == 0) sb_puts(b, "NULL");
  else sb_printf(b, "a%zu", index);
  sb_puts(b, "}},\n");
}

static void print_attrs(ExternPrinter *p) {
  const ExternAttr *x = &p->e->attr;
  if (x->n_attrs == 0) return;
  for (size_t i = 0; i < x->n_attrs; i++) print_list(p->c, &p->body, &x->attrs[i], i);
  sb_printf(&p->body, "  static const castnet_attr attrs[%zu] = {\n", x->n_attrs);
  for (size_t i = 0; i < x->n_attrs; i++) print_value(p->c, &p->body, &x->attrs[i], i);
  sb_puts(&p->body, "  };\n");
}

/* ---- operands ---- */
static void print_dim(ExternPrinter *p, const Dim *d) {
  emit_symbols_add(p->c, &p->symbols, d);
  emit_dim(p->c, &p->body, d);
}

static bool is_defined_here(const ExternStep *e, const Dim *d) {
  for (uint32_t i = 0; i < e->n_defs; i++)
    if (e->defs[i].symbol == d) return true;
  return false;
}

/* Dimensions that the function decides start as 0. */
static void print_dims(ExternPrinter *p, const PTensor *t, const char *word, uint32_t k) {
  if (t->rank == 0) return;
  sb_printf(&p->body, "  int64_t %s%u_dims[%u] = {", word, k, t->rank);
  for (uint32_t i = 0; i < t->rank; i++) {
    if (i) sb_puts(&p->body, ", ");
    if (is_defined_here(p->e, t->dims[i])) sb_putc(&p->body, '0');
    else print_dim(p, t->dims[i]);
  }
  sb_puts(&p->body, "};\n");
}

/* Elements that there is room for: what is computed from the symbols, an upper bound where this step decides some. */
static void print_capacity(ExternPrinter *p, const PTensor *t) {
  DimCtx *dims = p->c->program->dims;
  const Dim *n = dim_product(dims, t->dims, t->rank);
  if (dim_has_data(n)) n = dim_upper(dims, n);
  emit_symbols_add(p->c, &p->symbols, n);
  emit_dim_as(p->c, &p->body, n, "size_t");
}

/* measured: its dimensions only, there is no room for it. */
static void print_operand(ExternPrinter *p, const char *word, uint32_t k, uint32_t tensor, bool measured) {
  if (tensor == NO_TENSOR) {
    sb_puts(&p->body, "    {NULL, NULL, 0, 0, 0},\n");
    return;
  }
  const PTensor *t = &p->c->program->tensors.data[tensor];
  if (measured) sb_puts(&p->body, "    {NULL, ");
  else sb_printf(&p->body, "    {(void *)%s%u, ", word, k);
  if (t->rank) sb_printf(&p->body, "%s%u_dims", word, k);
  else sb_puts(&p->body, "NULL");
  sb_printf(&p->body, ", %u, %d, ", t->rank, dtype_rows[t->dtype].onnx);
  if (measured) sb_putc(&p->body, '0');
  else print_capacity(p, t);
  sb_puts(&p->body, "},\n");
}

static void print_pointer(ExternPrinter *p, const char *word, uint32_t k, uint32_t tensor) {
  const bool write = *word == 'y';
  sb_printf(&p->params, ", %s%s *%s%u", write ? "" : "const ", emit_ctype(p->c, tensor), word, k);
  sb_puts(&p->args, ", ");
  emit_pointer(p->c, &p->args, tensor, write);
}

static void print_operands(ExternPrinter *p, const char *word, const char *array, const uint32_t *tensors, uint32_t n, bool measured) {
  for (uint32_t k = 0; k < n; k++) {
    if (tensors[k] == NO_TENSOR) continue;
    if (!measured) print_pointer(p, word, k, tensors[k]);
    print_dims(p, &p->c->program->tensors.data[tensors[k]], word, k);
  }
  if (n == 0) return;
  sb_printf(&p->body, "  %scastnet_tensor %s[%u] = {\n", *word == 'y' ? "" : "const ", array, n);
  for (uint32_t k = 0; k < n; k++) print_operand(p, word, k, tensors[k], measured);
  sb_puts(&p->body, "  };\n");
}

/* ---- the call ---- */
/* A value that data decided is held against its symbol's range before anything is computed from it. */
static void print_range(EmitCtx *c, StrBuf *b, SymbolSet *used, const Dim *symbol, const char *value, const char *error) {
  const Dim *upper = symbol->symbol.bound ? dim_upper(c->program->dims, symbol->symbol.bound) : dim_const(c->program->dims, symbol->hi);
  if (symbol->lo > INT64_MIN) {
    sb_printf(b, "  if (%s < ", value);
    dimc_const(b, symbol->lo);
    sb_printf(b, ") return %s;\n", error);
  }
  if (dim_is(upper, INT64_MAX)) return;
  emit_symbols_add(c, used, upper);
  sb_printf(b, "  if (%s > ", value);
  emit_dim(c, b, upper);
  sb_printf(b, ") return %s;\n", error);
}

static void print_def(ExternPrinter *p, const SymbolDef *d, uint32_t k) {
  Str value = arena_printf(p->c->arena, "y%u_dims[%u]", d->out, d->axis);
  print_range(p->c, &p->body, &p->symbols, d->symbol, value.ptr, "CASTNET_ERR_OP");
  sb_printf(&p->body, "  *d%u = %s;\n", k, value.ptr);
  sb_printf(&p->params, ", int64_t *d%u", k);
  sb_printf(&p->args, ", &%.*s", STR_WHOLE(p->c->symbols[d->symbol->symbol.index]));
}

static void print_scratch(ExternPrinter *p) {
  const uint32_t scratch = p->step->scratch;
  if (scratch == NO_TENSOR) {
    sb_puts(&p->body, "NULL, 0");
    return;
  }
  const PTensor *t = &p->c->program->tensors.data[scratch];
  sb_printf(&p->params, ", %s *scratch", emit_ctype(p->c, scratch));
  sb_puts(&p->args, ", ");
  emit_pointer(p->c, &p->args, scratch, true);
  sb_puts(&p->body, "scratch, ");
  print_capacity(p, t);
}

static void declare_custom(EmitCtx *c, Str symbol) {
  Str key = arena_printf(c->arena, "castnet_op %.*s;\n\n", STR_WHOLE(symbol));
  if (map_has(&c->shared, key)) return;
  map_put(&c->shared, key, c);
  sb_str(&c->functions, key);
}

static void note_open(void *user, const Dim *symbol) {
  EmitCtx *c = ((void **)user)[0];
  if (symbol->symbol.origin == DIM_FROM_DATA && !c->decided[symbol->symbol.index]) ((void **)user)[1] = c;
}

static bool is_decided(EmitCtx *c, const Dim *d) {
  void *user[2] = {c, NULL};
  dim_each_symbol(d, note_open, user);
  return user[1] == NULL;
}

/* Those of the main graph that inputs alone decide are at the head of the call. */
static bool is_due(EmitCtx *c, const struct IrDimCheck *k) {
  if (!graph_is_within(c->running, k->graph) || !is_decided(c, k->a) || !is_decided(c, k->b)) return false;
  return k->graph != c->program->ir->main || dim_has_data(k->a) || dim_has_data(k->b);
}

void emit_checks(EmitCtx *c) {
  const Ir *ir = c->program->ir;
  for (size_t i = 0; i < ir->n_checks; i++) {
    if (c->checked[i] || !is_due(c, &ir->checks[i])) continue;
    const Dim *sides[2] = {ir->checks[i].a, ir->checks[i].b};
    DimNames names = {.symbols = c->symbols, .indent = c->indent + 2, .word = "t"};
    emit_line(c, "{");
    emit_line(c, "  int bad = 0;");
    dimc_declare_parts(&c->calls, sides, 2, &names, true);
    StrBuf text = sb_new(c->arena);
    dimc_print_checked(&text, sides[0], &names);
    sb_puts(&text, " != ");
    dimc_print_checked(&text, sides[1], &names);
    emit_line(c, "  if (%s || bad) return CASTNET_ERR_DIM;", sb_view(&text).ptr);
    emit_line(c, "}");
    c->checked[i] = true;
  }
}

bool emit_extern(EmitCtx *c, const Step *s) {
  const ExternStep *e = s->attr;
  const uint32_t n_out = e->measures ? e->n_measures : s->n_out, *out = e->measures ? e->measures : s->out;
  ExternPrinter p = {.c = c, .step = s, .e = e, .params = sb_new(c->arena), .args = sb_new(c->arena),
                     .body = sb_new(c->arena), .symbols = emit_symbols_new(c)};
  sb_puts(&p.params, "const castnet_env *env");
  sb_puts(&p.args, e->attr.strings ? "&text.env" : "&e");
  if (e->attr.custom) declare_custom(c, e->attr.symbol);
  print_attrs(&p);
  print_operands(&p, "x", "in", s->in, s->n_in, false);
  print_operands(&p, "y", "out", out, n_out, e->measures != NULL);
  sb_printf(&p.body, "  %s%.*s(%s, %u, %s, %u, %s, %zu, ", e->n_defs ? "const int error = " : "return ", STR_WHOLE(e->attr.symbol),
            s->n_in ? "in" : "NULL", s->n_in, n_out ? "out" : "NULL", n_out, e->attr.n_attrs ? "attrs" : "NULL", e->attr.n_attrs);
  print_scratch(&p);
  sb_puts(&p.body, ", env);\n");
  if (e->n_defs) sb_puts(&p.body, "  if (error != CASTNET_OK) return error;\n");
  for (uint32_t k = 0; k < e->n_defs; k++) print_def(&p, &e->defs[k], k);
  emit_symbol_params(c, &p.params, &p.symbols);
  emit_symbol_args(c, &p.args, &p.symbols);
  StrBuf rest = sb_new(c->arena), comment = sb_new(c->arena);
  if (s->n_out && s->out[0] != NO_TENSOR) emit_describe(c, &comment, s->out[0]);
  sb_printf(&rest, "(%s) {\n%s%s}\n", p.params.data, p.body.data, e->n_defs ? "  return CASTNET_OK;\n" : "");
  emit_call(c, s, emit_function(c, s, "int", sb_view(&comment), sb_view(&rest)), true, sb_view(&p.args));
  for (uint32_t k = 0; k < e->n_defs; k++) c->decided[e->defs[k].symbol->symbol.index] = true;
  emit_checks(c);
  return true;
}

/* Sizes that stand in an integer tensor. */
bool emit_symbols(EmitCtx *c, const Step *s) {
  const SymbolsStep *y = s->attr;
  SymbolSet used = emit_symbols_new(c);
  StrBuf params = sb_new(c->arena), body = sb_new(c->arena), args = sb_new(c->arena), rest = sb_new(c->arena);
  emit_pointer(c, &args, s->in[0], false);
  for (size_t k = 0; k < y->n; k++) {
    const Dim *symbol = y->symbols[k];
    Str value = arena_printf(c->arena, "v%zu", k);
    sb_printf(&body, "  const int64_t %s = (int64_t)x[%zu];\n", value.ptr, k);
    print_range(c, &body, &used, symbol, value.ptr, "CASTNET_ERR_DIM");
    sb_printf(&body, "  *d%zu = %s;\n", k, value.ptr);
    sb_printf(&params, ", int64_t *d%zu", k);
    sb_printf(&args, ", &%.*s", STR_WHOLE(c->symbols[symbol->symbol.index]));
  }
  emit_symbol_params(c, &params, &used);
  emit_symbol_args(c, &args, &used);
  sb_printf(&rest, "(const %s *x%s) {\n%s  return CASTNET_OK;\n}\n", emit_ctype(c, s->in[0]), sb_view(&params).ptr, sb_view(&body).ptr);
  emit_call(c, s, emit_function(c, s, "int", (Str){0}, sb_view(&rest)), true, sb_view(&args));
  for (size_t k = 0; k < y->n; k++) c->decided[y->symbols[k]->symbol.index] = true;
  emit_checks(c);
  return true;
}
