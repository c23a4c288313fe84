/* The printers of steps, one a kind, and what they share. */
#ifndef CASTNET_EMIT_STEPS_H
#define CASTNET_EMIT_STEPS_H

#include "backend/emit.h"
#include "lower/held.h"

bool emit_nest(EmitCtx *c, const Step *s);
bool emit_contract(EmitCtx *c, const Step *s);
bool emit_conv(EmitCtx *c, const Step *s);
bool emit_pool(EmitCtx *c, const Step *s);
bool emit_lrn(EmitCtx *c, const Step *s);
bool emit_softmax(EmitCtx *c, const Step *s);
bool emit_norm(EmitCtx *c, const Step *s);
bool emit_attention(EmitCtx *c, const Step *s);
bool emit_extern(EmitCtx *c, const Step *s);
bool emit_symbols(EmitCtx *c, const Step *s);

bool emit_recurrent(EmitCtx *c, const Step *s);
bool emit_assign(EmitCtx *c, const Step *s);
bool emit_if(EmitCtx *c, const Step *s);
bool emit_else(EmitCtx *c, const Step *s);
bool emit_end_if(EmitCtx *c, const Step *s);
bool emit_loop(EmitCtx *c, const Step *s);
bool emit_end_loop(EmitCtx *c, const Step *s);
/* Behind the text so far: what follows from the sizes that the step decides (stops_c.c). */
void emit_stop(EmitCtx *c, const Step *s);
/* --poison: whether there is anything to overwrite; then what is held between the steps. */
bool emit_poisons(const EmitCtx *c, Held *ret);
/* Overwrites what is not held ahead of a step. */
void emit_poison(EmitCtx *c, const Held *held, size_t point);
/* Equalities that could not be proved, as soon as all that they speak of is decided, where their graph runs. */
void emit_checks(EmitCtx *c);

/* Read-only pointer parameters of a step function, x0, x1 ..., one a tensor. */
typedef struct EmitParams {
  EmitCtx *c;
  VEC(uint32_t) tensors;
} EmitParams;
Str emit_param(EmitParams *ps, uint32_t tensor); /* its name; added when new */
/* "const float *restrict x0, float *restrict y" and the call's arguments (up to three results: y, y_h, y_c); restrict only where no storage is shared. */
void emit_params_text(EmitParams *ps, const uint32_t *out, uint32_t n_out, StrBuf *params, StrBuf *args);
/* A step by shares: `name` does the shares s0 .. s1 as its last two arguments say. Prints what runs it on the environment's threads, or
 * all of it at once where there are none, and the call. params, args: of `name`, without the two. Where the step's
 * share has a `spread`, `name` has a cn_spread before them, by which it hands out all of the step, or NULL, and returns a status. */
void emit_shares(EmitCtx *c, const Step *s, Str name, Str params, Str args);
void emit_access_symbols(EmitCtx *c, SymbolSet *s, const Access *a, uint32_t n, uint32_t n_axes);
void emit_expr_symbols(EmitCtx *c, SymbolSet *s, const Expr *e);

#endif
