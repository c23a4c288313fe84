/* Between values of data sets and the interpreter. */
#ifndef CASTNET_HOST_VALUE_H
#define CASTNET_HOST_VALUE_H

#include "castnet.h"
#include "frontend/model.h"
#include "interp/interp.h"

/* An input of the model's type `type`; false where the interpreter has no form for it. */
bool host_from_value(Arena *a, const OnnxValue *v, const castnet_type *type, HostTensor *ret);
/* An output of that type, a tensor where it is NULL. NULL: not known. */
const OnnxValue *host_to_value(Arena *a, const HostTensor *h, const castnet_type *type);

#endif
