/* Products and convolutions of 8-bit operands: what lower_kernel.c leaves to lower_integer.c. */
#ifndef CASTNET_LOWER_INTEGER_H
#define CASTNET_LOWER_INTEGER_H

#include "lower/lower_private.h"

/* The step's sizes and strides are filled in; a, b: its operands; out: its s32 result. */
bool lower_integer_contract(Lower *l, const Node *n, ContractStep *s, uint32_t a, uint32_t b, uint32_t out);
bool lower_integer_conv(Lower *l, const Node *n, ConvStep *s);

#endif
