/* Text form of the graph: one line a node, `%id:type "name" = OP(operands) key=value ...`. ir/parse.c reads it back; grammar
 * and examples are in docs/ARCHITECTURE.md and tests/passes. */
#include "ir/attr.h"

#include <inttypes.h>

static void dims_print(StrBuf *b, const Dim *const *d, size_t n) {
  sb_putc(b, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) sb_putc(b, ',');
    if (d[i]) dim_print(b, d[i]);
    else sb_putc(b, '?');
  }
  sb_putc(b, ']');
}

static void type_print(StrBuf *b, const Type *t) {
  switch (t->kind) {
    case TYPE_TENSOR:
      sb_puts(b, dtype_name(t->dtype));
      dims_print(b, t->dims, t->rank);
      return;
    case TYPE_SEQUENCE: sb_puts(b, "seq("); break;
    case TYPE_OPTIONAL: sb_puts(b, "opt("); break;
    case TYPE_MAP: sb_printf(b, "map(%s,%s)", dtype_name(t->key), dtype_name(t->dtype)); return;
  }
  type_print(b, t->elem);
  sb_putc(b, ')');
}

static void quoted_print(StrBuf *b, Str s) {
  sb_putc(b, '"');
  sb_escaped(b, s, SIZE_MAX);
  sb_putc(b, '"');
}

static void name_print(StrBuf *b, Str name) {
  if (!name.len) return;
  sb_putc(b, ' ');
  quoted_print(b, name);
}

/* Decimal digits that read back as the same float; its bits where there are none. */
static void f32_print(StrBuf *b, float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  if ((u & 0x7f800000u) == 0x7f800000u) sb_printf(b, "0x%" PRIx32, u);
  else sb_printf(b, "%.9g", (double)f);
}

/* ---- attributes ---- */
static void ints_print(StrBuf *b, const int64_t *v, size_t n) {
  sb_putc(b, '[');
  for (size_t i = 0; i < n; i++) sb_printf(b, i ? ",%" PRId64 : "%" PRId64, v[i]);
  sb_putc(b, ']');
}

static void labels_print(StrBuf *b, const uint8_t *v, size_t n) {
  sb_putc(b, '[');
  for (size_t i = 0; i < n; i++) sb_printf(b, i ? ",%u" : "%u", v[i]);
  sb_putc(b, ']');
}

/* Index of an axis: `(2)*o0+o3+(1)`. */
static void affine_print(StrBuf *b, const Affine *f, uint32_t rank) {
  bool any = false;
  for (uint32_t j = 0; j < rank; j++) {
    const Dim *coef = affine_coef(f, j);
    if (!coef) continue;
    if (any) sb_putc(b, '+');
    any = true;
    if (!dim_is(coef, 1)) {
      sb_putc(b, '(');
      dim_print(b, coef);
      sb_puts(b, ")*");
    }
    sb_printf(b, "o%u", j);
  }
  if (any && dim_is(f->offset, 0)) return;
  sb_puts(b, any ? "+(" : "(");
  dim_print(b, f->offset);
  sb_putc(b, ')');
}

static void affines_print(StrBuf *b, const Affine *f, uint32_t n, uint32_t rank) {
  sb_putc(b, '[');
  for (uint32_t a = 0; a < n; a++) {
    if (a) sb_puts(b, ", ");
    affine_print(b, &f[a], rank);
  }
  sb_putc(b, ']');
}

/* An axis of a gather: an affine index, or `in2[o0, o1]`, an element of operand 2. */
static void axes_print(StrBuf *b, const Node *n, const GatherAxis *axes) {
  const uint32_t rank = attr_coordinates(n);
  sb_putc(b, '[');
  for (uint32_t a = 0; a < n->in[0]->type.rank; a++) {
    if (a) sb_puts(b, ", ");
    if (!axes[a].indirect) {
      affine_print(b, &axes[a].affine, rank);
      continue;
    }
    sb_printf(b, "%sin%u", axes[a].inside ? "inside " : "", axes[a].operand);
    affines_print(b, axes[a].place, n->in[axes[a].operand]->type.rank, rank);
  }
  sb_putc(b, ']');
}

static void acts_print(StrBuf *b, const RecurrentAct *v, size_t n) {
  sb_putc(b, '[');
  for (size_t i = 0; i < n; i++) {
    sb_printf(b, "%s%s(", i ? ", " : "", act_names[v[i].kind]);
    f32_print(b, v[i].alpha);
    sb_puts(b, ", ");
    f32_print(b, v[i].beta);
    sb_putc(b, ')');
  }
  sb_putc(b, ']');
}

static void value_print(StrBuf *b, const ExternAttrValue *v) {
  sb_str(b, v->name);
  switch (v->kind) {
    case EXTERN_INT: sb_printf(b, ":i %" PRId64, v->i); return;
    case EXTERN_FLOAT: sb_puts(b, ":f "); f32_print(b, v->f); return;
    case EXTERN_STRING: sb_puts(b, ":s "); quoted_print(b, v->s); return;
    case EXTERN_INTS: sb_puts(b, ":is "); ints_print(b, v->ints, v->n); return;
    case EXTERN_FLOATS:
    case EXTERN_STRINGS:
      sb_puts(b, v->kind == EXTERN_FLOATS ? ":fs [" : ":ss [");
      for (size_t i = 0; i < v->n; i++) {
        if (i) sb_puts(b, ",");
        if (v->kind == EXTERN_FLOATS) f32_print(b, v->floats[i]);
        else quoted_print(b, v->strings[i]);
      }
      sb_putc(b, ']');
      return;
  }
}

static void values_print(StrBuf *b, const ExternAttr *e) {
  sb_putc(b, '{');
  for (size_t i = 0; i < e->n_attrs; i++) {
    if (i) sb_puts(b, "; ");
    value_print(b, &e->attrs[i]);
  }
  sb_putc(b, '}');
}

static void enum_print(StrBuf *b, const char *names, int at) {
  for (; at > 0; at--) names = strchr(names, ' ') + 1;
  sb_put(b, names, strcspn(names, " "));
}

static void array_print(StrBuf *b, const Node *n, const AttrField *f) {
  const void *p = attr_array(n, f);
  size_t count = 0;
  if (!p || !attr_count(n, f, &count)) {
    sb_puts(b, "none");
    return;
  }
  if (f->kind == ATTR_DIMS) dims_print(b, p, count);
  else if (f->kind == ATTR_INTS) ints_print(b, p, count);
  else if (f->kind == ATTR_LABELS) labels_print(b, p, count);
  else acts_print(b, p, count);
}

static void field_print(StrBuf *b, const Node *n, const AttrField *f) {
  const void *p = (const char *)n->attr + f->at;
  switch (f->kind) {
    case ATTR_U8: sb_printf(b, "%u", *(const uint8_t *)p); return;
    case ATTR_U32: sb_printf(b, "%u", *(const uint32_t *)p); return;
    case ATTR_BOOL: sb_printf(b, "%d", *(const bool *)p); return;
    case ATTR_I64: sb_printf(b, "%" PRId64, *(const int64_t *)p); return;
    case ATTR_F32: f32_print(b, *(const float *)p); return;
    case ATTR_ENUM: enum_print(b, f->names, *(const int *)p); return;
    case ATTR_MASK: sb_printf(b, "0x%x", *(const uint32_t *)p); return;
    case ATTR_DTYPE: sb_puts(b, dtype_name(*(const DType *)p)); return;
    case ATTR_FN: sb_puts(b, scalar_rows[*(const ScalarFn *)p].name); return;
    case ATTR_STR: quoted_print(b, *(const Str *)p); return;
    case ATTR_DIM: dim_print(b, *(const Dim *const *)p); return;
    case ATTR_AFFINES: affines_print(b, attr_array(n, f), n->in[0]->type.rank, attr_coordinates(n)); return;
    case ATTR_AXES: axes_print(b, n, attr_array(n, f)); return;
    case ATTR_VALUES: values_print(b, n->attr); return;
    case ATTR_EXPR: expr_print(b, p); return;
    default: array_print(b, n, f); return;
  }
}

/* What is 0 goes without saying, but for names. */
static bool is_default(const Node *n, const AttrField *f) {
  static const char zero[16];
  const char *p = (const char *)n->attr + f->at;
  switch (f->kind) {
    case ATTR_BOOL: case ATTR_U8: return *p == 0;
    case ATTR_F32: case ATTR_DTYPE: return memcmp(p, zero, 4) == 0;
    case ATTR_I64: return memcmp(p, zero, 8) == 0;
    case ATTR_DIM: return attr_array(n, f) == NULL;
    case ATTR_VALUES: return ((const ExternAttr *)n->attr)->n_attrs == 0;
    default: return false;
  }
}

static void attr_print(StrBuf *b, const Node *n) {
  for (size_t i = 0; i < n_attr_fields; i++) {
    const AttrField *f = &attr_fields[i];
    if (f->op != n->op || is_default(n, f)) continue;
    sb_printf(b, " %s=", f->name);
    field_print(b, n, f);
  }
}

/* ---- constants ---- */
static void element_print(StrBuf *b, DType t, const void *elements, size_t i) {
  if (dtype_rows[t].kind == KIND_X) {
    quoted_print(b, ((const Str *)elements)[i]);
    return;
  }
  const char *p = (const char *)elements + i * dtype_host_size(t);
  uint64_t half[2] = {0};
  float f;
  if (t == DT_f32) {
    memcpy(&f, p, sizeof f);
    f32_print(b, f);
  } else if (dtype_rows[t].kind == KIND_S) {
    unsigned shift = 64 - (dtype_rows[t].bits < 8 ? 8 : dtype_rows[t].bits);
    sb_printf(b, "%" PRId64, (int64_t)(dtype_read_bits(t, p) << shift) >> shift);
  } else if (dtype_host_size(t) == 16) {
    memcpy(half, p, sizeof half);
    sb_printf(b, "0x%" PRIx64 ":0x%" PRIx64, half[0], half[1]);
  } else {
    sb_printf(b, dtype_rows[t].kind == KIND_F || dtype_rows[t].kind == KIND_C ? "0x%" PRIx64 : "%" PRIu64, dtype_read_bits(t, p));
  }
}

enum { CONTENT_MAX = 64 }; /* larger constants are `...`, and read back as zeros */

static void const_print(StrBuf *b, const Value *v) {
  sb_printf(b, "const %%%u:", v->id);
  type_print(b, &v->type);
  name_print(b, v->name);
  sb_puts(b, " = ");
  if (!v->data || v->data->n > CONTENT_MAX) {
    sb_puts(b, "...\n");
    return;
  }
  const void *elements = tensor_host_elements(b->arena, v->data);
  sb_putc(b, '{');
  for (size_t i = 0; i < v->data->n; i++) {
    if (i) sb_puts(b, ", ");
    element_print(b, v->data->dtype, elements, i);
  }
  sb_puts(b, "}\n");
}

/* ---- graphs ---- */
static void graph_print(StrBuf *b, const Graph *g, int indent);

static void node_print(StrBuf *b, const Node *n, int indent) {
  sb_printf(b, "%*s", indent, "");
  for (uint32_t k = 0; k < n->n_out; k++) {
    sb_printf(b, k ? ", %%%u:" : "%%%u:", n->out[k]->id);
    type_print(b, &n->out[k]->type);
    name_print(b, n->out[k]->name);
  }
  sb_printf(b, "%s= %s(", n->n_out ? " " : "", op_names[n->op]);
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (k) sb_puts(b, ", ");
    if (n->in[k]) sb_printf(b, "%%%u", n->in[k]->id);
    else sb_putc(b, '-');
  }
  sb_putc(b, ')');
  attr_print(b, n);
  if (n->op == OP_IF || n->op == OP_LOOP) sb_puts(b, " {");
  if (n->src.has_node) {
    sb_puts(b, "  # ");
    quoted_print(b, n->src.op_type);
    name_print(b, n->src.node_name);
  }
  sb_putc(b, '\n');
  if (n->op == OP_IF) {
    graph_print(b, ((const IfAttr *)n->attr)->then_graph, indent + 2);
    sb_printf(b, "%*s} else {\n", indent, "");
    graph_print(b, ((const IfAttr *)n->attr)->else_graph, indent + 2);
  }
  if (n->op == OP_LOOP) graph_print(b, ((const LoopAttr *)n->attr)->body, indent + 2);
  if (n->op == OP_IF || n->op == OP_LOOP) sb_printf(b, "%*s}\n", indent, "");
}

static void graph_print(StrBuf *b, const Graph *g, int indent) {
  for (size_t i = 0; i < g->ir->n_checks; i++) {
    const struct IrDimCheck *c = &g->ir->checks[i];
    if (c->graph != g) continue;
    sb_printf(b, "%*scheck ", indent, "");
    dim_print(b, c->a);
    sb_puts(b, " == ");
    dim_print(b, c->b);
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < g->inputs.n; i++) {
    sb_printf(b, "%*sinput %%%u:", indent, "", g->inputs.data[i]->id);
    type_print(b, &g->inputs.data[i]->type);
    name_print(b, g->inputs.data[i]->name);
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i]->dead) node_print(b, g->nodes.data[i], indent);
  for (size_t i = 0; i < g->outputs.n; i++) {
    sb_printf(b, "%*soutput %%%u", indent, "", g->outputs.data[i]->id);
    name_print(b, i < g->output_names.n ? g->output_names.data[i] : g->outputs.data[i]->name);
    sb_putc(b, '\n');
  }
}

void ir_print(StrBuf *b, const Ir *ir) {
  for (size_t i = 0; i < ir->dims->symbols.n; i++) {
    const Dim *s = ir->dims->symbols.data[i];
    sb_puts(b, s->symbol.origin == DIM_FROM_INPUT ? "dim " : "data ");
    dim_print(b, s);
    sb_printf(b, " %lld..%lld", (long long)s->lo, (long long)s->hi);
    if (s->symbol.bound) {
      sb_puts(b, " <= ");
      dim_print(b, s->symbol.bound);
    }
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < ir->constants.n; i++) const_print(b, ir->constants.data[i]);
  graph_print(b, ir->main, 0);
}
