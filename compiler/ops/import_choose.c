/* Numbers that data decide and that the rank of a result hangs on: what follows the node is imported for one value after the other, behind a branch for each
 * that it fits. A value that nothing behind the node fits costs no code: the last that does is demanded of the call. */
#include "ops/import_private.h"
#include "ops/shared.h"

enum { MOST_CHOSEN = 8 }; /* ranks, and lengths that ranks hang on: each costs an import of what follows */

bool op_choose(OpContext *c, Value *number, int64_t lo, int64_t hi, int64_t *ret) {
  Builder *b = &c->b;
  if (!number) return false;
  if (c->choice.made) return *ret = c->choice.number, true;
  if (hi > MOST_CHOSEN && lo <= MOST_CHOSEN) hi = MOST_CHOSEN;
  if (c->choice.from > lo) lo = c->choice.from;
  if (lo > hi) return op_fail(c, DIAG_E0402, "no rank of the result fits what follows");
  if (lo == hi) return *ret = lo, true;
  Value *scalar = control_scalar(b, number);
  Value *is_lo = scalar ? build_fn2(b, SC_eq, scalar, build_scalar_i(b, DT_s64, lo)) : NULL;
  if (!is_lo) return false;
  c->importer->split = (Split){.node = c->node, .cond = is_lo, .again = arena_dup(op_arena(c), c, sizeof *c), .number = lo};
  return false;
}

Value **choose_branch(const Split *split, Importer *im, int which, size_t *ret_n) {
  OpContext again = *split->again;
  const OnnxNode *n = again.node;
  again.b.graph = im->graph;
  again.in = arena_dup(im->a, again.in, (n->n_inputs + 16) * sizeof *again.in);
  again.out = NEW_ARRAY(im->a, Value *, n->n_outputs + 4);
  again.choice = which == 0 ? (Choice){.made = true, .number = split->number} : (Choice){.from = split->number + 1};
  if (!again.row->import(&again)) return NULL;
  for (size_t k = 0; k < again.n_out; k++)
    if (again.out[k] && !again.out[k]->name.len && !again.out[k]->data) again.out[k]->name = n->outputs[k];
  *ret_n = again.n_out;
  return again.out;
}

bool op_choose_length(OpContext *c, size_t k, int64_t told, int64_t lo, int64_t hi) {
  const Value *v = op_in(c, k);
  int64_t n;
  if (!v || v->type.kind != TYPE_TENSOR || v->type.rank != 1 || dim_is_const(v->type.dims[0], &n)) return true;
  const Dim *len = v->type.dims[0];
  if (told >= 0) return op_hold_length(c, k, told);
  if (len->lo > lo) lo = len->lo;
  if (len->hi < hi) hi = len->hi;
  return op_choose(c, build_dim_scalar(&c->b, len), lo, hi, &n) && op_hold_length(c, k, n);
}
