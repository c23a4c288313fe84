/* Sizes that only data decides: each must be made by a step before it is used. */
#include "lower/lower_private.h"

typedef enum Made { NEVER, LATER, BEFORE } Made;

typedef struct Known {
  Lower *l;
  Made *made; /* [symbols] */
  Made now;   /* what those of the step at hand are */
  Made least; /* that is enough at the place looked at */
  bool *told;
  DiagPlace place;
} Known;

static void note_symbol(void *user, const Dim *symbol) {
  const Known *k = user;
  k->made[symbol->symbol.index] = k->now;
}

static void use(void *user, const Dim *symbol) {
  const Known *k = user;
  const uint32_t i = symbol->symbol.index;
  if (symbol->symbol.origin != DIM_FROM_DATA || k->made[i] >= k->least || k->told[i]) return;
  k->told[i] = true;
  if (k->made[i] == NEVER) (void)diag_add(k->l->ir->diags, DIAG_E0306, k->place, "a size that only data decides is not compiled by this version");
  else (void)diag_add(k->l->ir->diags, DIAG_E0901, k->place, "the size %.*s is used before it is decided", STR_WHOLE(symbol->symbol.name));
}

static void use_in_expr(Known *k, const Expr *e) {
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_DIM) dim_each_symbol(e->nodes[i].dim, use, k);
}

static void use_in_loads(Known *k, const Access *loads, uint32_t n, uint32_t rank) {
  for (uint32_t i = 0; i < n; i++) {
    dim_each_symbol(loads[i].offset, use, k);
    for (uint32_t a = 0; a < rank; a++) dim_each_symbol(loads[i].stride[a], use, k);
  }
}

static void use_in_step(Known *k, const Step *s) {
  const Program *p = k->l->p;
  k->place = s->src;
  k->least = s->kind == STEP_LOOP ? LATER : BEFORE; /* what iterations stack is as long as they are many in the end */
  for (uint32_t i = 0; i < s->n_out; i++)
    for (uint32_t a = 0; s->out[i] != NO_TENSOR && a < p->tensors.data[s->out[i]].rank; a++) dim_each_symbol(p->tensors.data[s->out[i]].dims[a], use, k);
  const Nest *nest = s->kind == STEP_NEST ? s->attr : NULL;
  if (nest) use_in_expr(k, &nest->map), use_in_loads(k, nest->loads, nest->n_loads, nest->n_axes);
  const Epilogue *e = s->kind == STEP_CONTRACT ? &((const ContractStep *)s->attr)->epilogue : s->kind == STEP_CONV ? &((const ConvStep *)s->attr)->epilogue : NULL;
  if (e) use_in_expr(k, &e->expr), use_in_loads(k, e->loads, e->n_loads, p->tensors.data[s->out[0]].rank);
}

bool lower_check_symbols(Lower *l) {
  const size_t n = l->p->dims->symbols.n;
  const Block *main = &l->p->main;
  Known k = {.l = l, .made = NEW_ARRAY(l->a, Made, n), .now = LATER, .told = NEW_ARRAY(l->a, bool, n)};
  for (size_t i = 0; i < main->steps.n; i++) step_each_symbol(&main->steps.data[i], note_symbol, &k);
  k.now = BEFORE;
  for (size_t i = 0; i < main->steps.n; i++) {
    step_each_symbol(&main->steps.data[i], note_symbol, &k); /* its results' sizes are its own */
    use_in_step(&k, &main->steps.data[i]);
  }
  for (size_t i = 0; i < n; i++)
    if (k.told[i]) return false;
  return true;
}
