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
  if (dimc_has_data(n)) n = dim_upper(dims, n);
  sb_puts(&p->body, "(size_t)(");
  print_dim(p, n);
  sb_putc(&p->body, ')');
}

static void print_operand(ExternPrinter *p, const char *word, uint32_t k, uint32_t tensor) {
  if (tensor == NO_TENSOR) {
    sb_puts(&p->body, "    {NULL, NULL, 0, 0, 0},\n");
    return;
  }
  const PTensor *t = &p->c->program->tensors.data[tensor];
  sb_printf(&p->body, "    {(void *)%s%u, ", word, k);
  if (t->rank) sb_printf(&p->body, "%s%u_dims", word, k);
  else sb_puts(&p->body, "NULL");
  sb_printf(&p->body, ", %u, %d, ", t->rank, dtype_rows[t->dtype].onnx);
  print_capacity(p, t);
  sb_puts(&p->body, "},\n");
}

static void print_operands(ExternPrinter *p, const char *word, const char *array, const uint32_t *tensors, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (tensors[k] == NO_TENSOR) continue;
    const bool write = *word == 'y';
    sb_printf(&p->params, ", %s%s *%s%u", write ? "" : "const ", emit_ctype(p->c, tensors[k]), word, k);
    sb_puts(&p->args, ", ");
    emit_pointer(p->c, &p->args, tensors[k], write);
    print_dims(p, &p->c->program->tensors.data[tensors[k]], word, k);
  }
  if (n == 0) return;
  sb_printf(&p->body, "  %scastnet_tensor %s[%u] = {\n", *word == 'y' ? "" : "const ", array, n);
  for (uint32_t k = 0; k < n; k++) print_operand(p, word, k, tensors[k]);
  sb_puts(&p->body, "  };\n");
}

/* ---- the call ---- */
/* What the function decided, held against its range before anything is computed from it. */
static void print_def(ExternPrinter *p, const SymbolDef *d, uint32_t k) {
  const Dim *upper = dim_upper(p->c->program->dims, d->symbol);
  sb_printf(&p->body, "  if (y%u_dims[%u] < %" PRId64 " || y%u_dims[%u] > ", d->out, d->axis, d->symbol->lo, d->out, d->axis);
  print_dim(p, upper);
  sb_printf(&p->body, ") return CASTNET_ERR_OP;\n  *d%u = y%u_dims[%u];\n", k, d->out, d->axis);
  sb_printf(&p->params, ", int64_t *d%u", k);
  sb_printf(&p->args, ", &%.*s", STR_ARG(p->c->symbols[d->symbol->symbol.index]));
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
  Str key = arena_printf(c->arena, "castnet_op %.*s;\n\n", STR_ARG(symbol));
  if (map_has(&c->shared, key)) return;
  map_put(&c->shared, key, c);
  sb_str(&c->functions, key);
}

bool emit_extern(EmitCtx *c, const Step *s) {
  const ExternStep *e = s->attr;
  ExternPrinter p = {.c = c, .step = s, .e = e, .params = sb_new(c->arena), .args = sb_new(c->arena),
                     .body = sb_new(c->arena), .symbols = emit_symbols_new(c)};
  sb_puts(&p.params, "const castnet_env *env");
  sb_puts(&p.args, "&e");
  if (e->attr.custom) declare_custom(c, e->attr.symbol);
  print_attrs(&p);
  print_operands(&p, "x", "in", s->in, s->n_in);
  print_operands(&p, "y", "out", s->out, s->n_out);
  sb_printf(&p.body, "  const int error = %.*s(%s, %u, %s, %u, %s, %zu, ", STR_ARG(e->attr.symbol), s->n_in ? "in" : "NULL", s->n_in,
            s->n_out ? "out" : "NULL", s->n_out, e->attr.n_attrs ? "attrs" : "NULL", e->attr.n_attrs);
  print_scratch(&p);
  sb_puts(&p.body, ", env);\n  if (error != CASTNET_OK) return error;\n");
  for (uint32_t k = 0; k < e->n_defs; k++) print_def(&p, &e->defs[k], k);
  emit_symbol_params(c, &p.params, &p.symbols);
  emit_symbol_args(c, &p.args, &p.symbols);
  StrBuf rest = sb_new(c->arena), comment = sb_new(c->arena);
  if (s->n_out && s->out[0] != NO_TENSOR) emit_describe(c, &comment, s->out[0]);
  sb_printf(&rest, "(%s) {\n%s  return CASTNET_OK;\n}\n", p.params.data, p.body.data);
  emit_call(c, s, emit_function(c, s, "int", sb_view(&comment), sb_view(&rest)), true, sb_view(&p.args));
  return true;
}
