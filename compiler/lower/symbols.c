/* Sizes that only data decides: each must be made by a step before it is used. */
#include "lower/lower_private.h"

typedef struct Known {
  Lower *l;
  bool *made; /* [symbols] */
  bool *told;
  DiagPlace place;
} Known;

static void note_symbol(void *user, const Dim *symbol) { ((const Known *)user)->made[symbol->symbol.index] = true; }

static void note_made(Known *k, const Block *block) {
  for (size_t i = 0; i < block->steps.n; i++) step_each_symbol(&block->steps.data[i], note_symbol, k);
}

static void use(void *user, const Dim *symbol) {
  const Known *k = user;
  const uint32_t i = symbol->symbol.index;
  if (symbol->symbol.origin != DIM_FROM_DATA || k->made[i] || k->told[i]) return;
  k->told[i] = true;
  (void)diag_add(k->l->ir->diags, DIAG_E0306, k->place, "a size that only data decides is not compiled by this version");
}

static void use_in_step(Known *k, const Step *s) {
  const Program *p = k->l->p;
  k->place = s->src;
  for (uint32_t i = 0; i < s->n_out; i++)
    for (uint32_t a = 0; s->out[i] != NO_TENSOR && a < p->tensors.data[s->out[i]].rank; a++) dim_each_symbol(p->tensors.data[s->out[i]].dims[a], use, k);
  const Nest *nest = s->kind == STEP_NEST ? s->attr : NULL;
  for (uint32_t i = 0; nest && i < nest->map.n; i++)
    if (nest->map.nodes[i].kind == EXPR_DIM) dim_each_symbol(nest->map.nodes[i].dim, use, k);
}

bool lower_check_symbols(Lower *l) {
  const size_t n = l->p->dims->symbols.n;
  const Block *main = &l->p->main;
  Known k = {.l = l, .made = NEW_ARRAY(l->a, bool, n), .told = NEW_ARRAY(l->a, bool, n)};
  note_made(&k, main);
  for (size_t i = 0; i < main->steps.n; i++) use_in_step(&k, &main->steps.data[i]);
  for (size_t i = 0; i < n; i++)
    if (k.told[i]) return false;
  return true;
}
