/* Activations of recurrent operators. */
#ifndef CASTNET_ACT_H
#define CASTNET_ACT_H

#include "ir/ir.h"

/* An activation of ONNX's recurrent operators as an expression over operand 0, in type t. */
Expr act_expr(Arena *a, RecurrentAct act, DType t);

#endif
