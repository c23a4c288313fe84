#include "backend/emit_steps.h"

static bool (*const emit_fns[STEP_COUNT])(EmitCtx *c, const Step *s) = {
    [STEP_NEST] = emit_nest, [STEP_CONTRACT] = emit_contract, [STEP_CONV] = emit_conv,
    [STEP_POOL] = emit_pool,       [STEP_EXTERN] = emit_extern,     [STEP_SYMBOLS] = emit_symbols,     [STEP_RECURRENT] = emit_recurrent,
};

bool emit_steps(EmitCtx *c) {
  bool ok = true;
  for (size_t i = 0; i < c->program->main.steps.n; i++) {
    const Step *s = &c->program->main.steps.data[i];
    if (emit_fns[s->kind]) ok = emit_fns[s->kind](c, s) && ok;
    else ok = (diag_add(c->diags, DIAG_E0306, s->src, "a step of kind %s cannot be printed as C", step_names[s->kind]), false);
  }
  return ok;
}
