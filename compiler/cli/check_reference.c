/* Made inputs, and the reference evaluation of the unoptimised program on them. */
#include "cli/check.h"
#include "cli/host_value.h"
#include "cli/made_inputs.h"

static const char *status_text(InterpStatus s) {
  switch (s) {
    case INTERP_ERR_DIM: return "the dimensions do not fit together";
    case INTERP_ERR_INDEX: return "an index is out of range";
    case INTERP_ERR_BUDGET: return "it is too large";
    case INTERP_ERR_OP: return "an operator refused its data";
    default: return "it has steps that are not evaluated";
  }
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
    if (!host_from_value(a, inputs[i], &k->iface->inputs[i].type, &in[i])) return refuse(k, "an input is neither a tensor nor a sequence of tensors");
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
  for (size_t i = 0; i < p->outputs.n; i++) /* those that the hook adds are tensors */
    (*ret)[i] = host_to_value(a, &out[i], i < k->iface->n_outputs ? &k->iface->outputs[i].type : NULL);
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
