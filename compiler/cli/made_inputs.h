/* Inputs for models that come without data. */
#ifndef CASTNET_MADE_INPUTS_H
#define CASTNET_MADE_INPUTS_H

#include "castnet.h"
#include "frontend/model.h"
#include "interp/interp.h"

/* One value an input. False after E0601, for types that cannot be made up. */
bool made_inputs(Arena *a, Diags *d, const castnet_interface *m, uint64_t seed, const OnnxValue **ret);

#endif
