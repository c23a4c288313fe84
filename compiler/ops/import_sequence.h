/* What other families do with sequences (import_sequence.c). Each gives NULL after a diagnostic. */
#ifndef CASTNET_IMPORT_SEQUENCE_H
#define CASTNET_IMPORT_SEQUENCE_H

#include "ops/import.h"

Value *sequence_none(OpContext *c, DType t);      /* one without tensors */
Value *sequence_length(OpContext *c, Value *seq); /* s64 scalar */

#endif
