#include "backend/emit_steps.h"

#include "backend/language.h"

bool (*const c_steps[STEP_COUNT])(EmitCtx *c, const Step *s) = {
    [STEP_NEST] = emit_nest, [STEP_CONTRACT] = emit_contract, [STEP_CONV] = emit_conv,
    [STEP_POOL] = emit_pool, [STEP_LRN] = emit_lrn, [STEP_SOFTMAX] = emit_softmax, [STEP_NORM] = emit_norm, [STEP_ATTENTION] = emit_attention,
    [STEP_EXTERN] = emit_extern, [STEP_SYMBOLS] = emit_symbols, [STEP_RECURRENT] = emit_recurrent, [STEP_ASSIGN] = emit_assign,
    [STEP_IF] = emit_if, [STEP_ELSE] = emit_else, [STEP_END_IF] = emit_end_if, [STEP_LOOP] = emit_loop,
    [STEP_END_LOOP] = emit_end_loop,
};

/* A symbol without a bound: memory for what it decides is taken when it is known. */
typedef struct Open { const EmitCtx *c; int64_t first; bool any; } Open;

static void see_symbol(void *user, const Dim *symbol) {
  Open *o = user;
  o->any = o->any || dim_upper(o->c->program->dims, symbol) == symbol;
  o->first = o->c->frame->decided[symbol->symbol.index];
}

static bool region_starts(const EmitCtx *c, size_t step) {
  for (size_t i = 0; i < c->program->regions.n; i++)
    if (c->program->regions.data[i].step == step) return true;
  return false;
}

/* At the end of an iteration: what followed when the sizes were first decided. */
void emit_stop(EmitCtx *c, const Step *s) {
  const int64_t i = s - c->program->main.steps.data;
  Open o = {.c = c, .first = i};
  step_each_symbol(s, see_symbol, &o);
  const size_t step = (size_t)(step_decides_again(s) ? o.first : i);
  if (region_starts(c, step) || (o.any && s->kind != STEP_EXTERN)) vec_push(c->arena, c->stops, ((EmitStop){.at = c->calls.len, .step = step, .indent = c->indent}));
}

static bool is_mark(const Step *s) { return step_nesting(s) != 0 || s->kind == STEP_ELSE; }

bool emit_steps(EmitCtx *c) {
  const Language *l = c->frame->lang;
  Held held;
  const bool poison = emit_poisons(c, &held);
  bool ok = true;
  for (size_t i = 0; i < c->program->main.steps.n; i++) {
    const Step *s = &c->program->main.steps.data[i];
    if (poison && !is_mark(s)) emit_poison(c, &held, i);
    if (l->steps[s->kind]) ok = l->steps[s->kind](c, s) && ok;
    if (!step_decides_again(s)) emit_stop(c, s);
    if (!l->steps[s->kind]) ok = (diag_add(c->diags, DIAG_E0306, s->src, "a step of kind %s is not printed for target %s", step_names[s->kind], c->opt->target->name), false);
  }
  if (poison) emit_poison(c, &held, c->program->main.steps.n);
  return ok;
}
