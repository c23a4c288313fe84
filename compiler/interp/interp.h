/* The reference evaluation: a program run inside castnet, with the same scalar functions and scalar kernels that generated
 * code uses (docs/ARCHITECTURE.md, "One semantics"). */
#ifndef CASTNET_INTERP_H
#define CASTNET_INTERP_H

#include "lower/program.h"

/* A tensor in memory: dense, row-major, sub-byte types unpacked to one element a byte, strings as Str. */
typedef struct HostTensor {
  DType dtype;
  uint32_t rank;
  int64_t dims[MAX_RANK];
  void *data;
} HostTensor;

typedef enum InterpStatus { INTERP_OK, INTERP_ERR_DIM, INTERP_ERR_INDEX, INTERP_ERR_BUDGET, INTERP_ERR_OP, INTERP_UNSUPPORTED } InterpStatus;

/* Runs p on n inputs; outputs live in a; their data are NULL where they depend on a custom operator, which only generated code calls. budget: the most bytes of tensors and the most elements computed (0: no limit). */
/* A sequence or optional goes in as the caller's struct (runtime-lite/ops/sequence_io.h) and comes out as u8 [lines][64] (sequence.h). */
InterpStatus interp_run(Arena *a, const Program *p, const HostTensor *in, HostTensor *ret_out, uint64_t budget);

#endif
