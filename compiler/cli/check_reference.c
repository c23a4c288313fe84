/* Made inputs, and the reference evaluation of the unoptimised program on them. */
#include "cli/check.h"
#include "cli/made_inputs.h"
#include "interp/interp.h"

static const char *status_text(InterpStatus s) {
  switch (s) {
    case INTERP_ERR_DIM: return "the dimensions do not fit together";
    case INTERP_ERR_INDEX: return "an index is out of range";
    case INTERP_ERR_BUDGET: return "it is too large";
    case INTERP_ERR_OP: return "an operator refused its data";
    default: return "it has steps that are not evaluated";
  }
}

/* Values of a data set as the interpreter takes them: elements unpacked and aligned. */
static bool as_host(Arena *a, const OnnxValue *v, HostTensor *ret) {
  if (v->kind != ONNX_TYPE_TENSOR || v->tensor->n_dims > MAX_RANK) return false;
  const OnnxTensor *t = v->tensor;
  DType d = dtype_from_onnx(t->data_type);
  *ret = (HostTensor){.dtype = d, .rank = (uint32_t)t->n_dims};
  for (size_t i = 0; i < t->n_dims; i++) ret->dims[i] = t->dims[i];
  Tensor packed = {.dtype = d, .n = t->n_elements, .bytes = t->data, .n_bytes = t->data_bytes, .strings = t->strings};
  ret->data = (void *)(uintptr_t)tensor_host_elements(a, &packed);
  return true;
}

static bool refuse(Check *k, const char *why) {
  (void)diag_add(&k->diags, DIAG_E0601, (DiagPlace){.file = str_c(k->path)}, "the reference evaluation does not take this model: %s", why);
  return false;
}

bool check_evaluate(Cli *c, Check *k, const OnnxValue *const *inputs, GraphHook hook, void *user, const OnnxValue ***ret, size_t *ret_n) {
  Arena *a = c->arena;
  PipelineOptions opt;
  const OnnxModel *model;
  HostTensor *in = NEW_ARRAY(a, HostTensor, k->iface->n_inputs);
  for (size_t i = 0; i < k->iface->n_inputs; i++)
    if (!as_host(a, inputs[i], &in[i])) return refuse(k, "an input is no tensor");
  if (!castnet_read_options(a, &k->diags, k->path, &k->options, &opt)) return false;
  opt.on_graph = hook;
  opt.user = user;
  Program *p = pipeline_reference(a, &k->diags, &opt, &model);
  if (!p) return false;
  HostTensor *out = NEW_ARRAY(a, HostTensor, p->outputs.n);
  InterpStatus s = interp_run(a, p, in, out, 0);
  if (s != INTERP_OK) return refuse(k, status_text(s));
  *ret = NEW_ARRAY(a, const OnnxValue *, p->outputs.n);
  *ret_n = p->outputs.n;
  for (size_t i = 0; i < p->outputs.n; i++) (*ret)[i] = made_value(a, &out[i]);
  return true;
}

bool check_make_set(Cli *c, Check *k, uint64_t seed, DataSet *ret) {
  size_t n;
  *ret = (DataSet){.inputs = NEW_ARRAY(c->arena, const OnnxValue *, k->iface->n_inputs)};
  if (!made_inputs(c->arena, &k->diags, k->iface, seed, ret->inputs)) return false;
  if (!check_evaluate(c, k, ret->inputs, NULL, NULL, &ret->outputs, &n)) return false;
  for (size_t i = 0; i < n; i++)
    if (!ret->outputs[i]) return refuse(k, "what a custom operator computes is not known to castnet: give a data set");
  return true;
}
