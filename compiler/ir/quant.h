/* Quantised values: steps from numbers to levels and back as single element-wise nodes, which passes recognise by their
 * expression. Level 0 of a scale is `zero`; a NULL zero is 0. */
#ifndef CASTNET_QUANT_H
#define CASTNET_QUANT_H

#include "ir/build.h"

/* (x - zero) * scale in f32; x, zero: u8, s8 or, without zero, s32; scale f32. Operands broadcast. */
Value *build_dequantise(Builder *b, Value *x, Value *scale, Value *zero);
/* saturate(round(x / scale) + zero) as `to` (u8, s8); x f32. scale NULL: no division. */
Value *build_quantise(Builder *b, Value *x, Value *scale, Value *zero, DType to);

typedef struct Quant {
  Value *x, *scale, *zero; /* scale, zero: NULL where absent. zero of a quantisation: as f32 */
  DType to;
} Quant;

bool quant_is_dequantise(const Value *v, Quant *ret);
bool quant_is_quantise(const Value *v, Quant *ret);

#endif
