/* The second tier of epilogues: what a kernel cannot do to its sums in registers, as a function over each finished tile while that is
 * in the first cache. */
#ifndef CASTNET_EMIT_TILE_H
#define CASTNET_EMIT_TILE_H

#include "backend/emit_kernel.h"

/* How a kernel's rows and columns lie in the output: axes [0, rows) count matrices, [rows, columns) rows, the rest columns. */
typedef struct TileAxes {
  uint32_t rows, columns;
  const Dim *group_rows; /* of a grouped convolution: rows of one matrix, rows being all groups'; else NULL */
  bool whole_blocks;     /* a tile begins and ends with the last axis: blocks of channels */
  bool batched;          /* the step loops over axes [0, rows) itself and moves the operands' pointers */
} TileAxes;

typedef struct TileOperand { uint32_t tensor; const Dim *const *batch; } TileOperand; /* batch: [rows] strides */
typedef struct TileFunction {
  Str name; /* empty: not expressible so */
  const char *member, *context; /* of the kernel's arguments: "tile" and "ctx" */
  const TileOperand *operands;
  uint32_t n_operands;
  const Dim *const *sizes; /* open strides, behind the operands in the context */
  uint32_t n_sizes;
} TileFunction;

/* The function for what follows node `done` of the epilogue, which is the value so far; out: the tensor whose tiles they are. */
TileFunction emit_tile(EmitCtx *c, const Step *s, uint32_t out, const Epilogue *e, uint32_t done, const TileAxes *axes);
/* In the arguments' epilogue: the function and its context; ahead of the arguments, the context itself. */
void emit_tile_context(KernelPrinter *k, const TileFunction *t);
void emit_tile_args(KernelPrinter *k, const TileFunction *t);
/* In the loops over batches: where the operands are. */
void emit_tile_move(KernelPrinter *k, const TileFunction *t, uint32_t n_batch, unsigned indent);

#endif
