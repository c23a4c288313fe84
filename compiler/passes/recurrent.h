/* Recurrent layers without a kernel for their type. */
#ifndef CASTNET_RECURRENT_H
#define CASTNET_RECURRENT_H

#include "ir/build.h"

/* Operands of RECURRENT, in ONNX's order (RNN and GRU lack the last two). */
enum { RECURRENT_X, RECURRENT_W, RECURRENT_R, RECURRENT_B, RECURRENT_LENS, RECURRENT_H, RECURRENT_C, RECURRENT_P, RECURRENT_N_IN };

/* The results (two, of LSTM three) of a prepared layer. False after a diagnostic. */
bool recurrent_loop(Builder *b, const RecurrentAttr *a, Value *const *in /* [RECURRENT_N_IN] */, Value **ret /* [3] */);

#endif
