/* What steps that become one have to know of each other. */
#include "lower/lower_private.h"

static int64_t tensor_bytes(const Program *p, uint32_t tensor) {
  const PTensor *t = &p->tensors.data[tensor];
  return lower_usual_bytes(t->dtype, t->rank, t->dims);
}

static void name(Readers *r, const Program *p, uint32_t tensor, int32_t step) {
  const uint32_t b = p->tensors.data[tensor].buffer;
  if (r->first[b] < 0) r->first[b] = step, r->tensor[b] = tensor;
  else if (tensor != r->tensor[b] && tensor_bytes(p, tensor) > tensor_bytes(p, r->tensor[b])) r->tensor[b] = tensor;
  r->last[b] = step;
}

Readers lower_readers(Lower *l) {
  const Program *p = l->p;
  const size_t n = p->buffers.n;
  Readers r = {NEW_ARRAY(l->a, uint32_t, n), NEW_ARRAY(l->a, uint32_t, n), NEW_ARRAY(l->a, int32_t, n), NEW_ARRAY(l->a, int32_t, n), NEW_ARRAY(l->a, int32_t, n)};
  for (size_t i = 0; i < n; i++) r.writer[i] = r.first[i] = r.last[i] = -1, r.tensor[i] = NO_TENSOR;
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in; k++) {
      if (s->in[k] == NO_TENSOR) continue;
      r.reads[p->tensors.data[s->in[k]].buffer]++;
      name(&r, p, s->in[k], (int32_t)i);
    }
    for (uint32_t k = 0; k < s->n_out; k++) {
      if (s->out[k] == NO_TENSOR) continue;
      int32_t *w = &r.writer[p->tensors.data[s->out[k]].buffer];
      *w = *w == -1 ? (int32_t)i : -2; /* -2: several */
      name(&r, p, s->out[k], (int32_t)i);
    }
  }
  return r;
}

int64_t lower_usual_bytes(DType t, uint32_t rank, const Dim *const *dims) {
  const int64_t most = INT64_C(1) << 40;
  int64_t bytes = dtype_rows[t].bits / 8, n;
  for (uint32_t i = 0; i < rank; i++) {
    if (!dim_is_const(dims[i], &n) && (i == 0 || !dim_eval(dims[i], NULL, &n))) n = 1;
    if (n <= 0) return 0;
    bytes = bytes > most / n ? most : bytes * n;
  }
  return bytes;
}

const Step *lower_only_maker(Lower *l, const Readers *r, uint32_t tensor, StepKind kind, int32_t *ret_index) {
  const PTensor *t = &l->p->tensors.data[tensor];
  const int32_t w = r->writer[t->buffer];
  if (l->p->buffers.data[t->buffer].kind != BUF_ARENA || r->reads[t->buffer] != 1 || w < 0 || !dim_is(t->offset, 0)) return NULL;
  const Step *s = &l->p->main.steps.data[w];
  *ret_index = w;
  return s->kind == kind ? s : NULL;
}

void lower_drop_steps(Lower *l, const bool *gone) {
  size_t n = l->p->main.steps.n, kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!gone[i]) l->p->main.steps.data[kept++] = l->p->main.steps.data[i];
  l->p->main.steps.n = kept;
}
