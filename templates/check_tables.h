/* SPDX-License-Identifier: MIT-0 */
/* What the programs that castnet builds around generated code (templates/check.c, templates/bench.c) know of a model. */
#ifndef CASTNET_CHECK_TABLES_H
#define CASTNET_CHECK_TABLES_H

#include "castnet_abi.h"

enum { CHECK_TENSOR, CHECK_SEQUENCE, CHECK_OPTIONAL, CHECK_MAP };
#define CHECK_NONE ((size_t)-1)

struct check_type {
  int kind, string;
  int dtype;           /* TensorProto.DataType; map: unused */
  unsigned bits;       /* of an element; map: of a value */
  size_t rank;
  const int64_t *dims; /* [rank] where they are constants */
  const struct check_type *elem, *key; /* sequence, optional, map: of the values; map: of the keys */
};

/* Places in N_inputs or N_outputs; CHECK_NONE where there is no such member. */
struct check_field {
  const struct check_type *type;
  size_t value, capacity, dims;
  int owned;
};

struct check_model {
  const struct check_field *in, *out;
  size_t n_in, n_out, in_size, out_size;
  size_t dim, n_dims; /* of N_dims in N_inputs */
  size_t ws_needed;   /* in N_outputs */
  size_t ws_align, ws_bound; /* N_WORKSPACE_SIZE, 0 where there is none */
  int (*run)(const void *in, void *out, void *ws, size_t ws_size, const castnet_env *env);
  uint32_t (*detect)(void);
};

#endif
