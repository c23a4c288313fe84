/* What the printers of nests share: loops, expressions at a point, reductions' ends. */
#ifndef CASTNET_EMIT_NEST_H
#define CASTNET_EMIT_NEST_H

#include "backend/emit_expr.h"
#include "backend/emit_steps.h"

#define NOT_PARTED UINT32_MAX
enum { NEST_LANES = 16 }; /* elements that loops compute side by side */
typedef struct NestPrinter {
  EmitCtx *c;
  const Program *p;
  const Nest *n;
  StrBuf *b;
  bool wide;           /* int64_t loops, else int32_t */
  Str coords[MAX_RANK];
  Str *load_pointers, *post_pointers;
  Str store_pointer;
  uint32_t outer;      /* axes that are not reduced */
  uint32_t parted;     /* the axis of which only b0 .. b1 is walked, or NOT_PARTED */
  bool may_fail;
} NestPrinter;

NestPrinter nest_printer(EmitCtx *c, const Nest *n, EmitParams *ps, StrBuf *b);
ExprPrinter nest_map_printer(NestPrinter *p);
const char *nest_index_type(const NestPrinter *p);
/* Where an axis ends, and where it begins: of the one that is parted, these shares' bounds. */
Str nest_axis_end(NestPrinter *p, uint32_t axis);
const char *nest_axis_begin(const NestPrinter *p, uint32_t axis);
void nest_open_loop(NestPrinter *p, uint32_t axis, unsigned indent);
void nest_close_loop(NestPrinter *p, unsigned indent);
/* Loops over axes [from, to), what becomes known in each printed; what ends n of them. They return the indent within, and outside. */
unsigned nest_open_loops(NestPrinter *p, ExprPrinter *e, uint32_t from, uint32_t to, unsigned indent);
unsigned nest_close_loops(NestPrinter *p, uint32_t n, unsigned indent);
const char *nest_axis_name(const NestPrinter *p, uint32_t axis);
void nest_store(NestPrinter *p, ExprPrinter *e, Str value, unsigned indent);
/* emit_reduce.c */
void nest_reduce(NestPrinter *p);
void nest_scan(NestPrinter *p);
Str nest_combine(NestPrinter *p, Str a, Str b); /* of a reduction */
void nest_declare_acc(NestPrinter *p, const char *array, unsigned indent);
/* One more element of an argmax or argmin: `acc` is the best so far, `at` its place. */
void nest_arg_update(NestPrinter *p, Str value, unsigned indent);
/* What follows a reduction at its outer point: post over `acc`, then the store. */
void nest_finish(NestPrinter *p, Str acc, const Str *coords, unsigned indent);
/* Prints a map that transposes (emit_transpose.c); false: it does not, or its target has no vectors. */
bool nest_transposes(NestPrinter *p);
/* Prints a map that computes between a tensor in blocks of channels and another that is not; false likewise. */
bool nest_turns(NestPrinter *p);
SymbolSet nest_symbols(EmitCtx *c, const Nest *n);
bool nest_is_narrow(const Program *p, const Nest *n); /* all indices are below 2^30 */

#endif
