/* Operators that the user brings (--op domain::Type=symbol): calls of a C function, their results as the model declares them. */
#include "ops/import_private.h"

const struct ImportOp *import_find_custom(const Importer *im, const OnnxNode *n) {
  for (size_t i = 0; i < im->opt->n_ops; i++)
    if (str_eq(canonical_domain(im->opt->ops[i].domain), canonical_domain(n->domain)) && str_eq(im->opt->ops[i].type, n->op_type)) return &im->opt->ops[i];
  return NULL;
}

static bool custom_attr(OpContext *c, const OnnxAttr *a, ExternAttrValue *ret) {
  *ret = (ExternAttrValue){.name = a->name, .n = 1};
  switch (a->type) {
    case ONNX_ATTR_INT: return ret->kind = EXTERN_INT, ret->i = a->i, true;
    case ONNX_ATTR_FLOAT: return ret->kind = EXTERN_FLOAT, ret->f = a->f, true;
    case ONNX_ATTR_STRING: return ret->kind = EXTERN_STRING, ret->s = a->s, true;
    case ONNX_ATTR_INTS: return ret->kind = EXTERN_INTS, ret->ints = a->ints, ret->n = a->n_ints, true;
    case ONNX_ATTR_FLOATS: return ret->kind = EXTERN_FLOATS, ret->floats = a->floats, ret->n = a->n_floats, true;
    case ONNX_ATTR_STRINGS: return ret->kind = EXTERN_STRINGS, ret->strings = a->strings, ret->n = a->n_strings, true;
    default: return op_unsupported(c, "attribute %s of a custom operator: only numbers, strings and lists of them are passed", diag_quote(c->b.ir->diags, a->name));
  }
}

/* Sizes that are not declared are symbols that a first call decides. */
static bool custom_type(OpContext *c, size_t k, Type *ret, bool *ret_measured) {
  Str name = c->node->outputs[k];
  const OnnxType *t = name.len ? map_get(&c->importer->scope->types, name) : NULL;
  const Dim *dims[MAX_RANK];
  if (!t || t->kind != ONNX_TYPE_TENSOR || !t->has_shape)
    return op_unsupported(c, "output %zu of a custom operator: the model declares neither its type nor its rank (value_info)", k);
  const DType dtype = dtype_from_onnx(t->elem_type);
  if (dtype == DT_NONE) return op_fail(c, DIAG_E0401, "output %zu of a custom operator is declared without a known element type", k);
  if (t->n_dims > MAX_RANK) return op_unsupported(c, "output %zu of a custom operator: rank %zu is more than %d", k, t->n_dims, MAX_RANK);
  for (size_t i = 0; i < t->n_dims; i++) {
    dims[i] = import_known_dim(c->importer, &t->dims[i]);
    if (dims[i]) continue;
    dims[i] = bd_data_symbol(&c->b, "size", 0, INT32_MAX, NULL);
    *ret_measured = true;
  }
  *ret = type_tensor(c->b.ir, dtype, (uint32_t)t->n_dims, dims);
  return !dim_is_bad(type_count(c->b.ir, ret)) || op_fail(c, DIAG_E0501, "output %zu of a custom operator: its size overflows 64 bits", k);
}

bool import_custom(OpContext *c, const struct ImportOp *op) {
  ExternAttrValue *attrs = NEW_ARRAY(c->b.ir->arena, ExternAttrValue, c->n_attrs);
  Type *types = NEW_ARRAY(c->b.ir->arena, Type, c->n_out);
  bool measured = false;
  for (size_t i = 0; i < c->n_attrs; i++)
    if (!custom_attr(c, &c->attrs[i], &attrs[i])) return false;
  for (size_t k = 0; k < c->n_in; k++)
    if (c->in[k] && c->in[k]->type.seq) return op_unsupported(c, "input %zu of a custom operator is a sequence or optional: only tensors are passed", k);
  for (size_t k = 0; k < c->n_out; k++)
    if (!custom_type(c, k, &types[k], &measured)) return false;
  ExternAttr attr = {.symbol = op->symbol, .custom = true, .random = true, .measured = measured, .attrs = attrs, .n_attrs = c->n_attrs};
  return build_extern(&c->b, attr, c->in, c->n_in, types, c->n_out, c->out);
}
