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

static bool custom_type(OpContext *c, size_t k, Type *ret) {
  Str name = c->node->outputs[k];
  const OnnxType *t = name.len ? map_get(&c->importer->scope->types, name) : NULL;
  if (!t || t->kind != ONNX_TYPE_TENSOR || !t->has_shape)
    return op_unsupported(c, "output %zu of a custom operator: the model declares no shape for it (value_info)", k);
  return import_type(c->importer, t, name, ret);
}

bool import_custom(OpContext *c, const struct ImportOp *op) {
  ExternAttrValue *attrs = NEW_ARRAY(c->b.ir->arena, ExternAttrValue, c->n_attrs);
  Type *types = NEW_ARRAY(c->b.ir->arena, Type, c->n_out);
  for (size_t i = 0; i < c->n_attrs; i++)
    if (!custom_attr(c, &c->attrs[i], &attrs[i])) return false;
  for (size_t k = 0; k < c->n_in; k++)
    if (c->in[k] && c->in[k]->type.seq) return op_unsupported(c, "input %zu of a custom operator is a sequence or optional: only tensors are passed", k);
  for (size_t k = 0; k < c->n_out; k++)
    if (!custom_type(c, k, &types[k])) return false;
  ExternAttr attr = {.symbol = op->symbol, .custom = true, .random = true, .attrs = attrs, .n_attrs = c->n_attrs};
  return build_extern(&c->b, attr, c->in, c->n_in, types, c->n_out, c->out);
}
