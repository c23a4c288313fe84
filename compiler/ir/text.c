/* Text form of the graph: one line a node, `%id:type = OP(operands) attributes`, made to be read in tests of passes. */
#include "ir/ir.h"

static void dims_print(StrBuf *b, const Dim *const *d, size_t n) {
  sb_putc(b, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) sb_putc(b, ',');
    if (d[i]) dim_print(b, d[i]);
    else sb_putc(b, '-');
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

static void name_print(StrBuf *b, Str name) {
  if (!name.len) return;
  sb_puts(b, " \"");
  sb_escaped(b, name, 200);
  sb_putc(b, '"');
}

static void ints_print(StrBuf *b, const char *key, const int64_t *v, size_t n) {
  sb_printf(b, " %s=[", key);
  for (size_t i = 0; i < n; i++) sb_printf(b, i ? ",%lld" : "%lld", (long long)v[i]);
  sb_putc(b, ']');
}

static void labels_print(StrBuf *b, const char *key, const uint8_t *v, size_t n) {
  sb_printf(b, " %s=[", key);
  for (size_t i = 0; i < n; i++) sb_printf(b, i ? ",%u" : "%u", v[i]);
  sb_putc(b, ']');
}

/* Index of an axis as `1 + 2*o0 + o3`. */
static void affine_print(StrBuf *b, const Affine *f, uint32_t rank) {
  bool any = false;
  for (uint32_t j = 0; f->coef && j < rank; j++) {
    if (!f->coef[j] || dim_is(f->coef[j], 0)) continue;
    if (any) sb_putc(b, '+');
    any = true;
    if (!dim_is(f->coef[j], 1)) {
      sb_putc(b, '(');
      dim_print(b, f->coef[j]);
      sb_puts(b, ")*");
    }
    sb_printf(b, "o%u", j);
  }
  if (any && dim_is(f->offset, 0)) return;
  if (any) sb_putc(b, '+');
  sb_putc(b, '(');
  dim_print(b, f->offset);
  sb_putc(b, ')');
}

static void affines_print(StrBuf *b, const Affine *f, uint32_t n, uint32_t rank) {
  sb_puts(b, " [");
  for (uint32_t a = 0; a < n; a++) {
    if (a) sb_puts(b, ", ");
    affine_print(b, &f[a], rank);
  }
  sb_putc(b, ']');
}

static void gather_print(StrBuf *b, const Node *n, const GatherAxis *axes, uint32_t rank) {
  sb_puts(b, " [");
  for (uint32_t a = 0; a < n->in[0]->type.rank; a++) {
    if (a) sb_puts(b, ", ");
    if (!axes[a].indirect) {
      affine_print(b, &axes[a].affine, rank);
      continue;
    }
    sb_printf(b, "in%u", axes[a].operand);
    affines_print(b, axes[a].place, n->in[axes[a].operand]->type.rank, rank);
  }
  sb_putc(b, ']');
}

static void conv_print(StrBuf *b, const ConvAttr *c) {
  sb_printf(b, " group=%lld", (long long)c->group);
  ints_print(b, "stride", c->stride, c->n_spatial);
  ints_print(b, "dilation", c->dilation, c->n_spatial);
  ints_print(b, "dilate_x", c->dilate_x, c->n_spatial);
  sb_puts(b, " pad=");
  dims_print(b, c->pad_lo, c->n_spatial);
  dims_print(b, c->pad_hi, c->n_spatial);
}

static void pool_print(StrBuf *b, const PoolAttr *c) {
  static const char *const kinds[] = {"max", "average", "lp", "sum"};
  sb_printf(b, " %s%s", kinds[c->kind], c->count_include_pad ? " count_include_pad" : "");
  ints_print(b, "kernel", c->kernel, c->n_spatial);
  ints_print(b, "stride", c->stride, c->n_spatial);
  ints_print(b, "dilation", c->dilation, c->n_spatial);
  sb_puts(b, " pad=");
  dims_print(b, c->pad_lo, c->n_spatial);
  dims_print(b, c->pad_hi, c->n_spatial);
}

static void attr_print(StrBuf *b, const Node *n) {
  static const char *const reduces[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
  static const char *const pads[] = {"constant", "reflect", "edge", "wrap"};
  static const char *const scatters[] = {"set", "add", "mul", "min", "max"};
  const void *attr = n->attr;
  uint32_t in_rank = n->n_in && n->in[0] ? n->in[0]->type.rank : 0, out_rank = n->n_out ? n->out[0]->type.rank : 0;
  switch (n->op) {
    case OP_POINTWISE:
      sb_puts(b, " : ");
      expr_print(b, &((const PointwiseAttr *)attr)->expr);
      return;
    case OP_VIEW: affines_print(b, ((const ViewAttr *)attr)->index, in_rank, out_rank); return;
    case OP_PAD:
      sb_printf(b, " %s lo=", pads[((const PadAttr *)attr)->mode]);
      dims_print(b, ((const PadAttr *)attr)->lo, in_rank);
      sb_puts(b, " hi=");
      dims_print(b, ((const PadAttr *)attr)->hi, in_rank);
      return;
    case OP_CONCAT: sb_printf(b, " axis=%u", ((const ConcatAttr *)attr)->axis); return;
    case OP_GATHER: gather_print(b, n, ((const GatherAttr *)attr)->axes, out_rank); return;
    case OP_SCATTER:
      sb_printf(b, " %s", scatters[((const ScatterAttr *)attr)->kind]);
      gather_print(b, n, ((const ScatterAttr *)attr)->axes, n->in[1]->type.rank);
      return;
    case OP_REDUCE:
      sb_printf(b, " %s axes=0x%x", reduces[((const ReduceAttr *)attr)->kind], ((const ReduceAttr *)attr)->axes);
      return;
    case OP_SCAN: {
      const ScanAttr *s = attr;
      sb_printf(b, " %s axis=%u%s%s", scalar_rows[s->fn].name, s->axis, s->exclusive ? " exclusive" : "", s->reverse ? " reverse" : "");
      return;
    }
    case OP_CONTRACT: {
      const ContractAttr *c = attr;
      labels_print(b, "a", c->a, in_rank);
      labels_print(b, "b", c->b, n->in[1]->type.rank);
      labels_print(b, "out", c->out, out_rank);
      return;
    }
    case OP_CONV: conv_print(b, attr); return;
    case OP_POOL: pool_print(b, attr); return;
    case OP_SOFTMAX: sb_printf(b, " axis=%u%s", ((const SoftmaxAttr *)attr)->axis, ((const SoftmaxAttr *)attr)->log ? " log" : ""); return;
    case OP_NORM: sb_printf(b, " %s axis=%u", ((const NormAttr *)attr)->kind == NORM_LAYER ? "layer" : "rms", ((const NormAttr *)attr)->axis); return;
    case OP_RECURRENT: sb_printf(b, " cell=%d hidden=%lld direction=%d", (int)((const RecurrentAttr *)attr)->cell, (long long)((const RecurrentAttr *)attr)->hidden, ((const RecurrentAttr *)attr)->direction); return;
    case OP_EXTERN:
      sb_putc(b, ' ');
      sb_str(b, ((const ExternAttr *)attr)->symbol);
      return;
    case OP_DIMS:
      sb_putc(b, ' ');
      dims_print(b, ((const DimsAttr *)attr)->content, n->out[0]->type.rank && n->out[0]->type.dims[0]->kind == DIM_CONST ? (size_t)n->out[0]->type.dims[0]->value : 1);
      return;
    default: return;
  }
}

static void graph_print(StrBuf *b, const Graph *g, int indent) {
  for (size_t i = 0; i < g->inputs.n; i++) {
    sb_printf(b, "%*sinput %%%u:", indent, "", g->inputs.data[i]->id);
    type_print(b, &g->inputs.data[i]->type);
    name_print(b, g->inputs.data[i]->name);
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    if (n->dead) continue;
    sb_printf(b, "%*s", indent, "");
    for (uint32_t k = 0; k < n->n_out; k++) {
      sb_printf(b, k ? ", %%%u:" : "%%%u:", n->out[k]->id);
      type_print(b, &n->out[k]->type);
    }
    sb_printf(b, " = %s(", op_names[n->op]);
    for (uint32_t k = 0; k < n->n_in; k++) {
      if (k) sb_puts(b, ", ");
      if (n->in[k]) sb_printf(b, "%%%u", n->in[k]->id);
      else sb_putc(b, '-');
    }
    sb_putc(b, ')');
    attr_print(b, n);
    if (n->src.has_node) {
      sb_puts(b, "  # ");
      sb_escaped(b, n->src.op_type, 60);
      name_print(b, n->src.node_name);
    }
    sb_putc(b, '\n');
    if (n->op == OP_IF) {
      graph_print(b, ((const IfAttr *)n->attr)->then_graph, indent + 2);
      sb_printf(b, "%*selse\n", indent, "");
      graph_print(b, ((const IfAttr *)n->attr)->else_graph, indent + 2);
    }
    if (n->op == OP_LOOP) graph_print(b, ((const LoopAttr *)n->attr)->body, indent + 2);
  }
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
    sb_printf(b, " %lld..%lld\n", (long long)s->lo, (long long)s->hi);
  }
  for (size_t i = 0; i < ir->constants.n; i++) {
    const Value *v = ir->constants.data[i];
    sb_printf(b, "const %%%u:", v->id);
    type_print(b, &v->type);
    name_print(b, v->name);
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < ir->n_checks; i++) {
    sb_puts(b, "check ");
    dim_print(b, ir->checks[i].a);
    sb_puts(b, " == ");
    dim_print(b, ir->checks[i].b);
    sb_putc(b, '\n');
  }
  graph_print(b, ir->main, 0);
}
