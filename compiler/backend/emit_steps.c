#include "backend/emit_steps.h"

#include "backend/language.h"

bool (*const c_steps[STEP_COUNT])(EmitCtx *c, const Step *s) = {
    [STEP_NEST] = emit_nest, [STEP_CONTRACT] = emit_contract, [STEP_CONV] = emit_conv,
    [STEP_POOL] = emit_pool, [STEP_SOFTMAX] = emit_softmax, [STEP_NORM] = emit_norm, [STEP_ATTENTION] = emit_attention,
          [STEP_EXTERN] = emit_extern,     [STEP_SYMBOLS] = emit_symbols,     [STEP_RECURRENT] = emit_recurrent,
};

/* A symbol without a bound: memory for what it decides is taken when it is known. */
static bool decides_open(const EmitCtx *c, const Step *s) {
  const SymbolsStep *y = s->attr;
  for (size_t k = 0; s->kind == STEP_SYMBOLS && k < y->n; k++)
    if (dim_upper(c->program->dims, y->symbols[k]) == y->symbols[k]) return true;
  return false;
}

static bool region_starts(const EmitCtx *c, size_t step) {
  for (size_t i = 0; i < c->program->regions.n; i++)
    if (c->program->regions.data[i].step == step) return true;
  return false;
}

bool emit_steps(EmitCtx *c) {
  const Language *l = c->frame->lang;
  bool ok = true;
  for (size_t i = 0; i < c->program->main.steps.n; i++) {
    const Step *s = &c->program->main.steps.data[i];
    if (l->steps[s->kind]) ok = l->steps[s->kind](c, s) && ok;
    if (region_starts(c, i) || decides_open(c, s)) vec_push(c->arena, c->stops, ((EmitStop){c->calls.len, i}));
    if (!l->steps[s->kind]) ok = (diag_add(c->diags, DIAG_E0306, s->src, "a step of kind %s is not printed for target %s", step_names[s->kind], c->opt->target->name), false);
  }
  return ok;
}
