/* What printers of kernel steps share. */
#ifndef CASTNET_EMIT_KERNEL_H
#define CASTNET_EMIT_KERNEL_H

#include "backend/emit_expr.h"
#include "backend/emit_steps.h"
#include "lower/window.h"

typedef struct KernelPrinter {
  EmitCtx *c;
  const Step *step;
  StrBuf body;        /* of the step function */
  const char *args;   /* the arguments' name: a, whose window is `window`; of others, NAME_window */
  StrBuf assigned;    /* statements that complete the arguments, behind their initialiser */
  EmitParams params;  /* read-only tensors */
  SymbolSet symbols;  /* what the body uses */
  size_t line;        /* of the arguments' initialiser: where its last line starts in body, */
  bool first;         /* and whether an item is the first between braces */
  bool parted;        /* the body does the shares s0 .. s1 of the step's alone */
} KernelPrinter;

KernelPrinter kernel_printer(EmitCtx *c, const Step *s);
Str kernel_size(KernelPrinter *k, const Dim *d); /* as size_t text: `64`, `(size_t)(batch * 64)` */

/* `const TYPE a = {.m = 1, .window = {.images = 1, ...}, ...};`: open, items and groups of them, close. Not constant where the
 * body changes members afterwards. */
void kernel_args(KernelPrinter *k, const char *type, bool constant);
void kernel_arg(KernelPrinter *k, const char *fmt, ...) BASE_PRINTF(2, 3);
void kernel_arg_size(KernelPrinter *k, const char *name, const Dim *d);
void kernel_group(KernelPrinter *k, const char *name);
void kernel_group_end(KernelPrinter *k);
void kernel_args_end(KernelPrinter *k);

/* Of a window, besides its geometry; pooled: what lies behind the input counts, too. */
typedef struct WindowChannels {
  const Dim *images, *groups, *c, *m;
  bool pooled;
} WindowChannels;
void kernel_window(KernelPrinter *k, const WindowDims *w, const WindowChannels *n); /* an item */
/* `static const cn_window window = {...}; const TYPE a = {.window = window`: opens the arguments. A window of its own, since clang keeps an
 * array of literals in an initialiser as writable data at -O0. */
void kernel_args_of_window(KernelPrinter *k, const char *type, const WindowDims *w, const WindowChannels *n);

/* Loops over a product's batches, i0 .., and their ends; returns the indentation inside. */
unsigned kernel_batches(KernelPrinter *k, const ContractStep *g);
void kernel_batches_end(KernelPrinter *k, const ContractStep *g);
/* Where the shares are tasks of all batches counted through, those of one batch being `tasks`: which are these shares', as t0 and t1; false:
 * another axis is parted, or none. Then in the loops what batches without any leave out, and the range of this batch's tasks. */
bool kernel_batch_tasks(KernelPrinter *k, const ContractStep *g, const char *tasks);
const char *kernel_batch_range(KernelPrinter *k, const ContractStep *g, unsigned indent);
/* The same where the step packs the second operand of each batch, so that a share packs those alone that it multiplies by. */
bool kernel_packs_tasks(KernelPrinter *k, const ContractStep *g, const char *tasks);
bool kernel_batched(const Dim *const *strides, uint32_t n);                /* some stride is not 0 */
void kernel_offset(KernelPrinter *k, StrBuf *b, const Dim *const *strides, uint32_t n); /* ` + i0 * 64` */
/* `a.c = y + i0 * 64;`, in the loops over batches; what does not move is in the initialiser. */
void kernel_moving(KernelPrinter *k, const char *field, Str base, const Dim *const *strides, uint32_t n, unsigned indent);

/* The call of a driver for all of its tasks, or for those of the step's shares s0 .. s1: head "cn_conv_f32(&a, scratch", tasks
 * "cn_conv_f32_tasks(&a)". */
void kernel_tasks(KernelPrinter *k, unsigned indent, const char *head, const char *tasks);

/* The function (operands x0.., the result y, scratch) and its call. */
void kernel_finish(KernelPrinter *k);

#endif
