/* What printers of kernel steps share. */
#ifndef CASTNET_EMIT_KERNEL_H
#define CASTNET_EMIT_KERNEL_H

#include "backend/emit_expr.h"
#include "backend/emit_steps.h"

typedef struct KernelPrinter {
  EmitCtx *c;
  const Step *step;
  StrBuf body;        /* of the step function */
  EmitParams params;  /* read-only tensors */
  SymbolSet symbols;  /* what the body uses */
} KernelPrinter;

KernelPrinter kernel_printer(EmitCtx *c, const Step *s);
void kernel_field(KernelPrinter *k, const char *name, const Dim *d); /* `  name = size;` */
void kernel_size(KernelPrinter *k, const Dim *d);
/* The function (operands x0.., the result y, scratch) and its call. */
void kernel_finish(KernelPrinter *k);

#endif
