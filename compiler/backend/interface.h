/* What a compiled model looks like from C: the members of N_inputs, N_outputs and N_dims. */
#ifndef CASTNET_INTERFACE_H
#define CASTNET_INTERFACE_H

#include "backend/backend.h"

typedef struct InterfaceField {
  Str name;   /* in the model */
  Str c_name; /* NUL-terminated */
  const Type *type;
  bool sized; /* {data, capacity, dims} in outputs, else a pointer */
  bool owned; /* by the library: no capacity */
} InterfaceField;

typedef struct InterfaceDim {
  Str c_name;
  const Dim *symbol;
} InterfaceDim;

typedef struct Interface {
  Str prefix;
  InterfaceField *inputs, *outputs;
  size_t n_inputs, n_outputs;
  InterfaceDim *dims;
  size_t n_dims;
  bool weights_at_run_time;
  Str *sources;       /* [n_sources] the C files but that of the weights, NUL-terminated; the last is the one of N_run */
  size_t n_sources;
  const char *device; /* backend/language.h */
  const Dim *workspace;
} Interface;

/* False after a diagnostic. */
bool backend_interface(Arena *a, Diags *d, const Program *const *programs, const BackendOptions *opt, Interface *ret);

#endif
