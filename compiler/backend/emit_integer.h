/* Products and convolutions of 8-bit operands (lower/finish.h). */
#ifndef CASTNET_EMIT_INTEGER_H
#define CASTNET_EMIT_INTEGER_H

#include "backend/emit_kernel.h"

bool emit_integer_contract(EmitCtx *c, const Step *s);
bool emit_integer_conv(EmitCtx *c, const Step *s);

#endif
