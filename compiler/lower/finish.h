/* What an integer kernel does with its sums in registers (runtime-lite/kernels/tile_s16.h, cn_finish_s32): the closed set that
 * an epilogue of such a step is made of. Lowering takes nothing else into it, so that the backend can print all of it. */
#ifndef CASTNET_FINISH_H
#define CASTNET_FINISH_H

#include "lower/program.h"

typedef struct FinishTerm {
  uint32_t tensor;  /* f32; NO_TENSOR: the constant */
  bool per_channel; /* one a channel, contiguous; else one for all */
  uint32_t bits;    /* of the constant */
} FinishTerm;

typedef struct Finish {
  DType out;            /* s32: the sums; f32; u8, s8 */
  bool scaled, shifted;
  FinishTerm scale, shift; /* a shift has one value a channel */
  float lo, hi;
  bool has_lo, has_hi;
  int32_t zero;         /* of u8, s8 */
} Finish;

/* The epilogue as a finish of a result of that shape; axis: of its channels, -1 where there is none. False if it is not one. */
bool finish_match(const Program *p, const Epilogue *e, uint32_t rank, const Dim *const *dims, int axis, Finish *ret);

bool step_is_integer(const Step *s); /* a product or convolution of 8-bit operands */
/* The axis of the step's result that holds channels, or -1. */
int step_channel_axis(const Step *s, uint32_t rank, const Dim *const *dims);

#endif
