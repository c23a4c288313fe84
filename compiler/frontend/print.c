#include "frontend/print.h"

#include "ir/dtype.h"

#include <inttypes.h>

static void quote(StrBuf *b, Str s) {
  sb_putc(b, '"');
  sb_escaped(b, s, 200);
  sb_putc(b, '"');
}

static void dtype(StrBuf *b, int32_t onnx) {
  DType t = dtype_from_onnx(onnx);
  if (t == DT_NONE) sb_printf(b, "type_%" PRId32, onnx);
  else sb_puts(b, dtype_name(t));
}

static void print_shape(StrBuf *b, const OnnxType *t) {
  if (!t->has_shape) sb_puts(b, "[...]");
  for (size_t i = 0; t->has_shape && i < t->n_dims; i++) {
    const OnnxDim *d = &t->dims[i];
    sb_putc(b, '[');
    if (d->kind == ONNX_DIM_VALUE) sb_printf(b, "%" PRId64, d->value);
    else if (d->kind == ONNX_DIM_PARAM) sb_escaped(b, d->param, 60);
    else sb_putc(b, '?');
    sb_putc(b, ']');
  }
}

/* The reader limits nesting to 100 levels. */
static void print_type(StrBuf *b, const OnnxType *t) {
  if (!t) {
    sb_puts(b, "no type");
    return;
  }
  switch (t->kind) {
    case ONNX_TYPE_SPARSE: sb_puts(b, "sparse "); /* fall through */
    case ONNX_TYPE_TENSOR:
      dtype(b, t->elem_type);
      print_shape(b, t);
      return;
    case ONNX_TYPE_SEQUENCE: sb_puts(b, "sequence of "); break;
    case ONNX_TYPE_OPTIONAL: sb_puts(b, "optional "); break;
    case ONNX_TYPE_MAP:
      sb_puts(b, "map from ");
      dtype(b, t->key_type);
      sb_puts(b, " to ");
      break;
    default: sb_puts(b, t->kind == ONNX_TYPE_OPAQUE ? "opaque" : "no type"); return;
  }
  print_type(b, t->elem);
}

static void print_tensor(StrBuf *b, const OnnxTensor *t) {
  dtype(b, t->data_type);
  for (size_t i = 0; i < t->n_dims; i++) sb_printf(b, "[%" PRId64 "]", t->dims[i]);
  if (t->external) sb_puts(b, " external");
}

static void print_graph(StrBuf *b, const OnnxGraph *g, int depth);

static void print_attr(StrBuf *b, const OnnxAttr *a, int depth) {
  sb_escaped(b, a->name, 100);
  sb_puts(b, "=");
  if (a->ref_attr_name.len) {
    sb_putc(b, '@');
    sb_escaped(b, a->ref_attr_name, 100);
    return;
  }
  switch (a->type) {
    case ONNX_ATTR_FLOAT: sb_printf(b, "%g", (double)a->f); break;
    case ONNX_ATTR_INT: sb_printf(b, "%" PRId64, a->i); break;
    case ONNX_ATTR_STRING: quote(b, a->s); break;
    case ONNX_ATTR_TENSOR:
      if (a->t) print_tensor(b, a->t);
      break;
    case ONNX_ATTR_INTS:
      sb_putc(b, '[');
      for (size_t i = 0; i < a->n_ints && i < 32; i++) sb_printf(b, "%s%" PRId64, i ? ", " : "", a->ints[i]);
      sb_puts(b, a->n_ints > 32 ? ", ...]" : "]");
      break;
    case ONNX_ATTR_FLOATS: sb_printf(b, "%zu floats", a->n_floats); break;
    case ONNX_ATTR_STRINGS: sb_printf(b, "%zu strings", a->n_strings); break;
    case ONNX_ATTR_GRAPH:
      if (a->g) {
        sb_puts(b, "{\n");
        print_graph(b, a->g, depth + 1);
        sb_printf(b, "%*s}", 2 * depth, "");
      }
      break;
    default: sb_printf(b, "(type %" PRId32 ")", a->type);
  }
}

static void print_names(StrBuf *b, const Str *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (i) sb_puts(b, ", ");
    quote(b, names[i]);
  }
}

static void print_node(StrBuf *b, const OnnxNode *n, size_t index, int depth) {
  sb_printf(b, "%*s#%zu ", 2 * depth, "", index);
  print_names(b, n->outputs, n->n_outputs);
  sb_puts(b, " = ");
  if (n->domain.len) {
    sb_escaped(b, n->domain, 100);
    sb_puts(b, "::");
  }
  sb_escaped(b, n->op_type, 100);
  sb_putc(b, '(');
  print_names(b, n->inputs, n->n_inputs);
  sb_putc(b, ')');
  for (size_t i = 0; i < n->n_attrs; i++) {
    sb_putc(b, ' ');
    print_attr(b, &n->attrs[i], depth);
  }
  sb_putc(b, '\n');
}

static void print_values(StrBuf *b, const char *what, const OnnxValueInfo *v, size_t n, int depth) {
  for (size_t i = 0; i < n; i++) {
    sb_printf(b, "%*s%s ", 2 * depth, "", what);
    quote(b, v[i].name);
    sb_puts(b, ": ");
    print_type(b, v[i].type);
    sb_putc(b, '\n');
  }
}

static void print_graph(StrBuf *b, const OnnxGraph *g, int depth) {
  print_values(b, "input", g->inputs, g->n_inputs, depth);
  for (size_t i = 0; i < g->n_initializers; i++) {
    sb_printf(b, "%*sconstant ", 2 * depth, "");
    quote(b, g->initializers[i].name);
    sb_puts(b, ": ");
    print_tensor(b, &g->initializers[i]);
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < g->n_nodes; i++) print_node(b, &g->nodes[i], i, depth);
  print_values(b, "output", g->outputs, g->n_outputs, depth);
}

void onnx_print_model(StrBuf *b, const OnnxModel *m) {
  sb_printf(b, "ir_version %" PRId64 "\n", m->ir_version);
  for (size_t i = 0; i < m->n_opsets; i++) {
    sb_puts(b, "opset ");
    quote(b, m->opsets[i].domain);
    sb_printf(b, " %" PRId64 "\n", m->opsets[i].version);
  }
  for (size_t i = 0; i < m->n_functions; i++) {
    const OnnxFunction *f = &m->functions[i];
    sb_puts(b, "function ");
    quote(b, f->domain);
    sb_puts(b, "::");
    quote(b, f->name);
    sb_puts(b, " (");
    print_names(b, f->inputs, f->n_inputs);
    sb_puts(b, ") -> (");
    print_names(b, f->outputs, f->n_outputs);
    sb_puts(b, ")\n");
    for (size_t k = 0; k < f->n_nodes; k++) print_node(b, &f->nodes[k], k, 1);
  }
  sb_puts(b, "graph ");
  quote(b, m->graph->name);
  sb_putc(b, '\n');
  print_graph(b, m->graph, 1);
}
