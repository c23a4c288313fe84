/* Attributes by name, references of function bodies resolved; and the small checks that import functions share. */
#include "ops/import_private.h"

static const OnnxAttr *find_attr(const OnnxAttr *attrs, size_t n, Str name) {
  for (size_t i = 0; i < n; i++)
    if (str_eq(attrs[i].name, name)) return &attrs[i];
  return NULL;
}

const OnnxAttr *import_attrs(Importer *im, const OnnxNode *n, DiagPlace place, size_t *ret_n) {
  *ret_n = 0;
  if (n->n_attrs > MAX_ATTRS) return (void)diag_add(im->diags, DIAG_E0304, place, "%zu attributes, more than any operator has", n->n_attrs), NULL;
  OnnxAttr *out = NEW_ARRAY(im->a, OnnxAttr, n->n_attrs + 1);
  for (size_t i = 0; i < n->n_attrs; i++) {
    const OnnxAttr *a = &n->attrs[i];
    if (!a->ref_attr_name.len) {
      out[(*ret_n)++] = *a;
      continue;
    }
    const OnnxAttr *actual = find_attr(im->frame->attrs, im->frame->n_attrs, a->ref_attr_name);
    if (!actual) continue; /* left out by the caller, without default */
    out[*ret_n] = *actual;
    out[(*ret_n)++].name = a->name;
  }
  return out;
}

static const OnnxAttr *attr(const OpContext *c, const char *name) { return find_attr(c->attrs, c->n_attrs, str_c(name)); }

bool op_has_attr(const OpContext *c, const char *name) { return attr(c, name) != NULL; }

int64_t op_int(const OpContext *c, const char *name, int64_t absent) {
  const OnnxAttr *a = attr(c, name);
  return a ? a->i : absent;
}

float op_float(const OpContext *c, const char *name, float absent) {
  const OnnxAttr *a = attr(c, name);
  return a ? a->f : absent;
}

Str op_str(const OpContext *c, const char *name, const char *absent) {
  const OnnxAttr *a = attr(c, name);
  return a ? a->s : str_c(absent);
}

const int64_t *op_ints(const OpContext *c, const char *name, size_t *ret_n) {
  const OnnxAttr *a = attr(c, name);
  *ret_n = a ? a->n_ints : 0;
  return a ? (a->ints ? a->ints : &a->i) : NULL;
}

const float *op_floats(const OpContext *c, const char *name, size_t *ret_n) {
  const OnnxAttr *a = attr(c, name);
  *ret_n = a ? a->n_floats : 0;
  return a ? (a->floats ? a->floats : &a->f) : NULL;
}

const Str *op_strs(const OpContext *c, const char *name, size_t *ret_n) {
  const OnnxAttr *a = attr(c, name);
  *ret_n = a ? a->n_strings : 0;
  return a ? (a->strings ? a->strings : &a->s) : NULL;
}

Value *op_constant(OpContext *c, const OnnxTensor *t) { return import_constant_value(c->importer, t); }

Value *op_sparse_constant(OpContext *c, const char *name) {
  const OnnxAttr *a = attr(c, name);
  return a && a->sparse ? import_sparse_value(c->importer, a->sparse, a->sparse->values->name) : NULL;
}

const OnnxTensor *op_tensor(const OpContext *c, const char *name) {
  const OnnxAttr *a = attr(c, name);
  return a ? a->t : NULL;
}

const OnnxGraph *op_graph(const OpContext *c, const char *name) {
  const OnnxAttr *a = attr(c, name);
  return a ? a->g : NULL;
}

const OnnxType *op_type(const OpContext *c, const char *name) {
  const OnnxAttr *a = attr(c, name);
  return a ? a->tp : NULL;
}

/* ---- diagnostics ---- */
static void add_tensors(OpContext *c, Diag *d) {
  StrBuf b = sb_new(c->b.ir->diags->arena);
  for (size_t k = 0; k < c->n_in && k < 8; k++) {
    if (!c->in[k]) continue;
    if (b.len) sb_puts(&b, ", ");
    sb_putc(&b, '"');
    sb_escaped(&b, c->node->inputs[k], 60);
    sb_putc(&b, '"');
    const Type *t = &c->in[k]->type;
    if (t->seq) sb_printf(&b, " %s of %s", t->seq->form == SEQ_SEQUENCE ? "sequence" : "optional", dtype_name(t->seq->dtype));
    if (t->seq) continue;
    sb_printf(&b, " %s[", dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++) {
      if (i) sb_putc(&b, ',');
      dim_print_short(&b, t->dims[i]);
    }
    sb_putc(&b, ']');
  }
  d->tensors = sb_view(&b);
}

bool op_fail(OpContext *c, DiagCode code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  StrBuf b = sb_new(c->b.ir->diags->arena);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  add_tensors(c, diag_add(c->b.ir->diags, code, c->b.place, "%s", sb_view(&b).ptr));
  return false;
}

bool op_unsupported(OpContext *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  StrBuf b = sb_new(c->b.ir->diags->arena);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  add_tensors(c, diag_add(c->b.ir->diags, DIAG_E0306, c->b.place, "%s", sb_view(&b).ptr));
  return false;
}

/* ---- declared shapes ---- */
const Dim *const *op_declared(const OpContext *c, size_t k, uint32_t rank) {
  Importer *im = c->importer;
  if (im->opt->ignore_output_shapes || im->depth || im->frame->function || k >= c->n_out) return NULL;
  if (!im->has_declared) {
    const OnnxGraph *g = im->model->graph;
    im->declared = map_new(im->a);
    for (size_t i = 0; i < g->n_outputs; i++)
      if (g->outputs[i].type) map_put(&im->declared, g->outputs[i].name, (void *)(uintptr_t)g->outputs[i].type);
    im->has_declared = true;
  }
  const OnnxType *t = map_get(&im->declared, c->node->outputs[k]);
  if (!t || t->kind != ONNX_TYPE_TENSOR || !t->has_shape || t->n_dims != rank) return NULL;
  const Dim **d = NEW_ARRAY(im->a, const Dim *, rank);
  for (uint32_t i = 0; i < rank; i++)
    if (t->dims[i].kind == ONNX_DIM_VALUE && t->dims[i].value >= 0 && t->dims[i].value <= INT32_MAX) d[i] = bd_const((Builder *)(uintptr_t)&c->b, t->dims[i].value);
  return d;
}

/* ---- axes ---- */
bool op_axis(OpContext *c, int64_t axis, uint32_t rank, uint32_t *ret) {
  if (axis < -(int64_t)rank || axis >= (int64_t)rank) return op_fail(c, DIAG_E0304, "axis %lld is out of range for rank %u", (long long)axis, rank);
  *ret = (uint32_t)(axis < 0 ? axis + rank : axis);
  return true;
}

/* Adds the axis to those seen. */
static bool axis_once(OpContext *c, int64_t axis, uint32_t rank, uint32_t *seen, uint32_t *ret) {
  if (!op_axis(c, axis, rank, ret)) return false;
  if (*seen >> *ret & 1) return op_fail(c, DIAG_E0304, "axis %u is given twice", *ret);
  *seen |= 1u << *ret;
  return true;
}

bool op_axes_mask(OpContext *c, const char *name, size_t input, uint32_t rank, uint32_t *ret_mask, bool *ret_given) {
  size_t n;
  const int64_t *axes = op_ints(c, name, &n);
  *ret_mask = 0;
  if (!axes && input < 16 && c->in[input]) {
    if (!build_const_ints(&c->b, c->in[input], &axes, &n)) return op_unsupported(c, "axes that are not constant");
  }
  *ret_given = axes != NULL;
  for (size_t i = 0; i < n; i++) {
    uint32_t a;
    if (!axis_once(c, axes[i], rank, ret_mask, &a)) return false;
  }
  return true;
}

bool op_axes_list(OpContext *c, uint32_t rank, uint32_t *ret, size_t *ret_n) {
  size_t n;
  const int64_t *axes = op_ints(c, "axes", &n);
  uint32_t seen = 0;
  if (!axes && !op_has_attr(c, "axes")) n = rank;
  if (n > rank) return op_fail(c, DIAG_E0304, "attribute 'axes' has %zu values for rank %u", n, rank);
  for (uint32_t i = 0; i < n; i++)
    if (!axis_once(c, axes ? axes[i] : i, rank, &seen, &ret[i])) return false;
  *ret_n = n;
  return true;
}
