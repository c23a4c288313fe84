/* What steps that become one have to know of each other. */
#include "lower/lower_private.h"

Readers lower_readers(Lower *l) {
  const Program *p = l->p;
  Readers r = {NEW_ARRAY(l->a, uint32_t, p->buffers.n), NEW_ARRAY(l->a, int32_t, p->buffers.n)};
  for (size_t i = 0; i < p->buffers.n; i++) r.writer[i] = -1;
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in; k++)
      if (s->in[k] != NO_TENSOR) r.reads[p->tensors.data[s->in[k]].buffer]++;
    for (uint32_t k = 0; k < s->n_out; k++) {
      if (s->out[k] == NO_TENSOR) continue;
      int32_t *w = &r.writer[p->tensors.data[s->out[k]].buffer];
      *w = *w == -1 ? (int32_t)i : -2;
    }
  }
  return r;
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
