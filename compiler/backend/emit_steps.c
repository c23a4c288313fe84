#include "backend/emit_steps.h"

#include "backend/language.h"

bool (*const c_steps[STEP_COUNT])(EmitCtx *c, const Step *s) = {
    [STEP_NEST] = emit_nest, [STEP_CONTRACT] = emit_contract, [STEP_CONV] = emit_conv,
    [STEP_POOL] = emit_pool, [STEP_SOFTMAX] = emit_softmax, [STEP_NORM] = emit_norm,
          [STEP_EXTERN] = emit_extern,     [STEP_SYMBOLS] = emit_symbols,     [STEP_RECURRENT] = emit_recurrent,
};

bool emit_steps(EmitCtx *c) {
  const Language *l = c->frame->lang;
  bool ok = true;
  for (size_t i = 0; i < c->program->main.steps.n; i++) {
    const Step *s = &c->program->main.steps.data[i];
    if (l->steps[s->kind]) ok = l->steps[s->kind](c, s) && ok;
    else ok = (diag_add(c->diags, DIAG_E0306, s->src, "a step of kind %s is not printed for target %s", step_names[s->kind], c->opt->target->name), false);
  }
  return ok;
}
