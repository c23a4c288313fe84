/* The expression printer: scalar expressions as C, shared by nests and epilogues. Every printed function is a row of
 * scalar.def or a conversion of runtime-lite. */
#ifndef CASTNET_EMIT_EXPR_H
#define CASTNET_EMIT_EXPR_H

#include "backend/emit.h"

/* A point of a printed domain: loops i0.. around, each node printed at the depth where all it depends on is known. */
typedef struct ExprPrinter {
  EmitCtx *c;
  const Expr *e;
  uint32_t n_axes;
  const Str *coords;      /* [n_axes] text of each coordinate: "i0", "(r1 + l)" */
  const Str *places;      /* [n_axes] that of an EXPR_INDEX node, where accesses begin elsewhere than its axis does; NULL: the same */
  /* Text of operand k's element: given (post, epilogue) or from an access. */
  const Str *given;       /* [n_operands] or NULL entries (len 0): then by access */
  const Access *accesses; /* by operand */
  const Str *pointers;    /* by operand: "x0" */
  const char *prefix;     /* of locals: "t" */
  bool wide;              /* 64-bit index arithmetic */
  unsigned *depth;        /* [e->n] loops that the node depends on, outermost first: 0 none */
  Str *text;              /* [e->n] */
  bool *local;            /* [e->n] declared already */
  bool may_fail;          /* set when an indirect index is printed */
  const bool *wanted;     /* [e->n]: only these are printed; NULL: all */
  Str *computed;          /* [e->n]: where functions of lanes have left a node's values; len 0: nowhere */
} ExprPrinter;

/* Computes with coordinates, and what is added to them, as s32 where all of that stays below 2^31 and only comparisons and casts to floats read it; false, and e
 * as it was, where it has no coordinates or something else. most: by axis, the greatest coordinate. EXPR_INDEX nodes are then s32, too: for printing only. */
bool expr_narrow(Arena *a, Expr *e, const int64_t *most);
/* Computes depths and which nodes become locals. */
ExprPrinter expr_printer(EmitCtx *c, const Expr *e, uint32_t n_axes, const Str *coords, const Access *accesses, const Str *pointers,
                         const Str *given, const char *prefix, bool wide);
/* Declares, at `indent`, the locals of all nodes of that depth. */
void expr_print_depth(ExprPrinter *p, StrBuf *b, unsigned depth, unsigned indent);
/* Whether there are nodes of at least that depth whose function the target computes for neighbouring lanes at once (kernels/lanes_f32.h). */
bool expr_calls_lanes(const ExprPrinter *p, unsigned depth);
unsigned expr_lane_calls(const Expr *e); /* how many it has */
/* The loop over neighbouring lanes that follows such calls: along the axis `depth - 1`, from the coordinate `base` (NULL: 0), with `count` turns, a text of no more
 * than `lanes`, which NULL stands for; type and name of a turn's index. Where results go, side by side, as f32 (NULL: somewhere else). */
typedef struct LaneLoop {
  unsigned depth;
  int lanes;
  const char *count, *type, *index, *base, *into;
} LaneLoop;

/* Prints them, each as a call, with a loop before it for an argument that does not lie side by side in memory: what is printed of those depths from here on finds
 * their values. Whether results have been stored: then the loop has nothing left to do. */
bool expr_print_lane_calls(ExprPrinter *p, StrBuf *b, const LaneLoop *loop, unsigned indent);
/* The result's text; all depths must have been printed. */
Str expr_print_result(ExprPrinter *p);
/* The index of an access at the current point, e.g. "i0 * 784 + i1". Indirect terms refer to nodes of the printer. */
Str expr_print_index(ExprPrinter *p, const Access *a);
/* Declares the checked indirect places of an access (a store): text of its nodes must be known. */
void expr_print_checks(ExprPrinter *p, StrBuf *b, const Access *a, unsigned indent);
/* Element text of a tensor's storage as its register type, and the statement that stores a register value. */
Str expr_load_text(EmitCtx *c, DType storage, Str pointer, Str index);
Str expr_store_text(EmitCtx *c, DType storage, Str pointer, Str index, Str value);
/* Without the parentheses around the whole, which it needs in no argument, index or right side. */
Str expr_bare(Str x);
const char *expr_register_ctype(DType t);
Str expr_const_text(EmitCtx *c, DType type, uint64_t bits);
/* cn_<fn>_<dtype>(args) or its infix form. */
Str expr_fn_text(EmitCtx *c, ScalarFn fn, DType type, const Str *args);
/* Constants and coefficients all known, and every flat index below 2^31. */
bool expr_indices_narrow(const Program *p, const Access *a, size_t n, const Dim *const *extent, uint32_t n_axes);

#endif
