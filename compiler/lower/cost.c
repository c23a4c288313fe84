#include "lower/cost.h"

#include "lower/finish.h"

static const Dim *elements(const Program *p, uint32_t tensor) {
  const PTensor *t = &p->tensors.data[tensor];
  return dim_product(p->dims, t->dims, t->rank);
}

static const Dim *tensor_bytes(const Program *p, uint32_t tensor) {
  const unsigned bits = dtype_rows[p->tensors.data[tensor].dtype].bits;
  return dim_ceildiv(p->dims, dim_mulc(p->dims, elements(p, tensor), bits), dim_const(p->dims, 8));
}

static const Dim *contract_macs(const Program *p, const ContractStep *s) {
  const Dim *n = dim_mul(p->dims, dim_mul(p->dims, s->m, s->n), s->k);
  for (uint32_t i = 0; i < s->n_batch; i++) n = dim_mul(p->dims, n, s->batch[i]);
  return n;
}

static const Dim *conv_macs(const Program *p, const Step *step) {
  const ConvStep *s = step->attr, *before = s->before.conv;
  const Dim *taps = dim_product(p->dims, s->kernel, s->attr.n_spatial);
  const Dim *macs = dim_mul(p->dims, dim_mul(p->dims, elements(p, step->out[0]), s->channels), taps);
  if (!before) return macs;
  return dim_add(p->dims, macs, dim_mul(p->dims, elements(p, s->before.image), dim_product(p->dims, before->kernel, before->attr.n_spatial)));
}

/* [steps][batch][directions][gates * hidden] times the state */
static const Dim *recurrent_macs(const Program *p, const Step *step) {
  const RecurrentStep *s = step->attr;
  return dim_mulc(p->dims, elements(p, step->in[0]), s->attr.hidden);
}

StepCost step_cost(const Program *p, const Step *s) {
  StepCost cost = {p->dims->zero, p->dims->zero};
  if (s->kind == STEP_CONTRACT) cost.macs = contract_macs(p, s->attr);
  if (s->kind == STEP_ATTENTION) {
    const AttentionStep *a = s->attr;
    cost.macs = dim_add(p->dims, contract_macs(p, &a->scores), contract_macs(p, &a->sum));
  }
  if (s->kind == STEP_CONV) cost.macs = conv_macs(p, s);
  if (s->kind == STEP_RECURRENT) cost.macs = recurrent_macs(p, s);
  for (uint32_t i = 0; i < s->n_in; i++)
    if (s->in[i] != NO_TENSOR) cost.bytes = dim_add(p->dims, cost.bytes, tensor_bytes(p, s->in[i]));
  for (uint32_t i = 0; i < s->n_out; i++)
    if (s->out[i] != NO_TENSOR) cost.bytes = dim_add(p->dims, cost.bytes, tensor_bytes(p, s->out[i]));
  return cost;
}

Str step_ops(Arena *a, const Step *s) {
  if (!s->n_with) return s->src.op_type;
  StrBuf b = sb_new(a);
  for (uint32_t i = 0; i < s->n_with; i++) {
    sb_str(&b, s->with[i].op_type);
    sb_puts(&b, ", ");
  }
  sb_str(&b, s->src.op_type);
  return sb_view(&b);
}

static Str conv_how(Arena *a, const ConvStep *v) {
  if (v->winograd.side) return arena_printf(a, "conv winograd %zux%zu", v->winograd.side, v->winograd.side);
  if (v->before.conv) return STR("conv depthwise, pointwise blocked");
  return arena_printf(a, "conv%s%s%s", v->depthwise ? " depthwise" : "", v->attr.block ? " blocked" : v->direct ? " direct" : "", v->attr.acc == DT_s32 ? " integer" : "");
}

Str step_how(Arena *a, const Step *s) {
  switch (s->kind) {
    case STEP_NEST: return STR("nest");
    case STEP_CONV: return conv_how(a, s->attr);
    case STEP_EXTERN: return ((const ExternStep *)s->attr)->attr.symbol;
    case STEP_CONTRACT: return step_is_integer(s) ? STR("gemm integer") : STR("gemm");
    default: break;
  }
  const char *name = step_names[s->kind];
  char *lower = NEW_ARRAY(a, char, strlen(name) + 1);
  for (size_t i = 0; name[i]; i++) lower[i] = name[i] == '_' ? ' ' : (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
  return str_c(lower);
}
