/* Arithmetic of coordinates in 32 bits, where all of it stays below 2^31: a vector holds twice as many. */
#include "backend/emit_expr.h"

typedef struct Interval { bool known; int64_t lo, hi; } Interval; /* of an s64 node that coordinates and constants make */

static bool is_short(Interval x) { return x.known && x.lo >= INT32_MIN && x.hi <= INT32_MAX; }

static Interval of_node(const ExprNode *n, const Interval *of, const int64_t *most) {
  const Interval none = {false, 0, 0};
  if (n->type != DT_s64) return none;
  if (n->kind == EXPR_CONST) return (Interval){true, (int64_t)n->bits, (int64_t)n->bits};
  if (n->kind == EXPR_INDEX) return (Interval){true, 0, most[n->axis]};
  if (n->kind != EXPR_FN || (n->fn != SC_add && n->fn != SC_sub)) return none;
  const Interval x = of[n->args[0]], y = of[n->args[1]];
  if (!is_short(x) || !is_short(y)) return none;
  if (n->fn == SC_add) return (Interval){true, x.lo + y.lo, x.hi + y.hi};
  return (Interval){true, x.lo - y.hi, x.hi - y.lo};
}

/* What reads such a node and gives the same of one of 32 bits. */
static bool reads_either(const ExprNode *n, const Interval *of) {
  if (n->kind == EXPR_CAST) return n->type == DT_f32 || n->type == DT_f64;
  if (n->kind != EXPR_FN) return false;
  switch (n->fn) {
    case SC_add:
    case SC_sub:
    case SC_lt:
    case SC_le:
    case SC_gt:
    case SC_ge:
    case SC_eq:
    case SC_ne: return is_short(of[n->args[0]]) && is_short(of[n->args[1]]);
    default: return false;
  }
}

bool expr_narrow(Arena *a, Expr *e, const int64_t *most) {
  Interval *of = NEW_ARRAY(a, Interval, e->n);
  bool any = false;
  for (uint32_t i = 0; i < e->n; i++) {
    const ExprNode *n = &e->nodes[i];
    of[i] = of_node(n, of, most);
    any |= n->kind == EXPR_INDEX;
    if (n->kind == EXPR_DIM || (n->kind == EXPR_INDEX && !is_short(of[i]))) return false;
    for (unsigned k = 0; k < expr_node_arity(n); k++)
      if (of[n->args[k]].known && !(reads_either(n, of) && is_short(of[n->args[k]]))) return false;
  }
  if (!any || of[e->n - 1].known) return false;
  Expr r = {0};
  uint32_t *map = NEW_ARRAY(a, uint32_t, e->n);
  for (uint32_t i = 0; i < e->n; i++) {
    ExprNode n = e->nodes[i];
    for (unsigned k = 0; k < expr_node_arity(&n); k++) n.args[k] = map[n.args[k]];
    if (is_short(of[i])) n.type = DT_s32;
    if (is_short(of[i]) && n.kind == EXPR_CONST) n.bits &= UINT32_MAX;
    map[i] = expr_push(a, &r, n);
  }
  expr_set_result(a, &r, map[e->n - 1]);
  *e = r;
  return true;
}
