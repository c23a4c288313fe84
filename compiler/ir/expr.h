/* Scalar expressions: a DAG evaluated once for each point of an iteration domain.
 *
 * A node's `type` is an element type with its semantics: a node of type f16 is computed in f32 and rounded to f16 after
 * each operation, so that fused and unfused programs agree bit for bit. Nodes refer to earlier nodes only; the last node
 * is the result. */
#ifndef CASTNET_EXPR_H
#define CASTNET_EXPR_H

#include "interp/scalar_table.h"
#include "ir/dim.h"
#include "ir/dtype.h"

typedef enum ExprKind {
  EXPR_INPUT, /* element of operand `operand` at this point (broadcast, or by the step's access) */
  EXPR_CONST, /* `bits`: the value in its compute type (dtype_compute), low bytes first */
  EXPR_DIM,   /* value of dimension expression `dim`, type s64 */
  EXPR_INDEX, /* this point's coordinate on axis `axis`, type s64 */
  EXPR_FN,    /* fn(args...) */
  EXPR_CAST,  /* args[0] converted to `type`; `saturate` matters for float8 targets only */
  EXPR_BITS   /* the value of `type` that has args[0]'s bits: types of one width */
} ExprKind;

typedef struct ExprNode {
  ExprKind kind;
  DType type;
  ScalarFn fn;
  bool saturate;
  uint32_t args[3];
  union {
    uint32_t operand;
    uint32_t axis;
    const Dim *dim;
    uint64_t bits;
  };
} ExprNode;

/* A copy of the struct shares the nodes, and both may grow: whoever appends first has the room behind them, the other moves. */
typedef struct Expr {
  ExprNode *nodes;
  uint32_t n, cap;
  uint32_t *filled; /* nodes of the array that are taken, by whatever copy; NULL: all */
} Expr;

uint32_t expr_input(Arena *a, Expr *e, uint32_t operand, DType type);
uint32_t expr_const_f(Arena *a, Expr *e, DType type, double v);  /* float types; rounded to `type` */
uint32_t expr_const_i(Arena *a, Expr *e, DType type, int64_t v); /* integer and bool types */
uint32_t expr_const_bits(Arena *a, Expr *e, DType type, uint64_t bits);
uint32_t expr_dim(Arena *a, Expr *e, const Dim *d);
uint32_t expr_index(Arena *a, Expr *e, uint32_t axis);
/* fn at the type of its value arguments (for select: of the last two). Result type from the scalar table. */
uint32_t expr_fn1(Arena *a, Expr *e, ScalarFn fn, uint32_t x);
uint32_t expr_fn2(Arena *a, Expr *e, ScalarFn fn, uint32_t x, uint32_t y);
uint32_t expr_fn3(Arena *a, Expr *e, ScalarFn fn, uint32_t x, uint32_t y, uint32_t z);
uint32_t expr_cast(Arena *a, Expr *e, DType to, bool saturate, uint32_t x); /* x itself when already of that type */
uint32_t expr_bits(Arena *a, Expr *e, DType to, uint32_t x);                /* likewise */
static inline DType expr_type(const Expr *e) { return e->nodes[e->n - 1].type; }

/* The type at which an EXPR_FN node's function is computed: that of its last argument (comparisons differ from `type`). */
static inline DType expr_fn_type(const Expr *e, const ExprNode *n) {
  const uint32_t last = scalar_rows[n->fn].arity - 1;
  return e->nodes[n->args[last]].type;
}

/* Copies src's nodes behind dst's, operand k becoming node `inputs[k]` of dst; returns the result's place in dst. Equal nodes are shared. */
uint32_t expr_inline(Arena *a, Expr *dst, const Expr *src, const uint32_t *inputs);
uint32_t expr_push(Arena *a, Expr *e, ExprNode n); /* shares an equal earlier node */
void expr_set_result(Arena *a, Expr *e, uint32_t node); /* makes it the last node */
/* The same with arguments before what uses them, left to right, and nothing else: how it was built, and in which order a C compiler
 * evaluates arguments that append nodes, no longer shows. */
Expr expr_ordered(Arena *a, const Expr *e);
unsigned expr_node_arity(const ExprNode *n); /* arguments of a function or cast, else 0 */

/* Text: `add(x0, mul(f32 2, x1))`. */
void expr_print(StrBuf *b, const Expr *e);

/* Whether it computes with its point's coordinates. */
bool expr_has_index(const Expr *e);

#endif
