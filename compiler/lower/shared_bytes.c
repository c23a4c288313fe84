/* Elements that share bytes: a window of them (a row that Scan reads, a part of a concatenation, the interior of a pad) may begin within
 * a byte, where no pointer points. Nests then get the whole buffer, and the window's offset is the access's. */
#include "lower/lower_private.h"

static bool begins_a_byte(const PTensor *t) {
  const unsigned bits = dtype_rows[t->dtype].bits;
  int64_t at;
  return bits >= 8 || (dim_is_const(t->offset, &at) && at % (8 / bits) == 0);
}

/* The buffer of a tensor as one row. */
static uint32_t whole_buffer(Program *p, const PTensor *t) {
  const Dim **dims = NEW_ARRAY(p->arena, const Dim *, 2);
  dims[0] = p->buffers.data[t->buffer].n;
  dims[1] = p->dims->one;
  const PTensor row = {t->dtype, 1, dims, t->buffer, p->dims->zero, &dims[1], t->name};
  return program_add_tensor(p, row);
}

/* Replaces a tensor among a step's operands. */
static const uint32_t *replaced(Program *p, const uint32_t *list, uint32_t n, uint32_t from, uint32_t to) {
  uint32_t *r = arena_dup(p->arena, list, n * sizeof *list);
  for (uint32_t k = 0; k < n; k++)
    if (r[k] == from) r[k] = to;
  return r;
}

static void widen(Program *p, Step *s, Access *a) {
  const PTensor t = p->tensors.data[a->tensor];
  if (begins_a_byte(&t)) return;
  const uint32_t old = a->tensor;
  a->tensor = whole_buffer(p, &t);
  a->offset = dim_add(p->dims, a->offset, t.offset);
  s->in = replaced(p, s->in, s->n_in, old, a->tensor);
  s->out = replaced(p, s->out, s->n_out, old, a->tensor);
}

static const Access *widen_all(Program *p, Step *s, const Access *list, uint32_t n) {
  Access *r = arena_dup(p->arena, list, n * sizeof *list);
  for (uint32_t k = 0; k < n; k++) widen(p, s, &r[k]);
  return r;
}

void lower_shared_bytes(Program *p) {
  for (size_t i = 0; i < p->main.steps.n; i++) {
    Step *s = &p->main.steps.data[i];
    if (s->kind != STEP_NEST) continue;
    Nest *n = arena_dup(p->arena, s->attr, sizeof *n);
    n->loads = widen_all(p, s, n->loads, n->n_loads);
    n->post_loads = widen_all(p, s, n->post_loads, n->n_post_loads);
    widen(p, s, &n->store);
    s->attr = n;
  }
}
