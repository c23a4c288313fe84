/* Generated code as a program: the tables that templates/check.c is built with, its inputs and outputs as files. */
#ifndef CASTNET_ADAPTER_H
#define CASTNET_ADAPTER_H

#include "base/target.h"
#include "castnet.h"
#include "cli/process.h"
#include "frontend/model.h"

/* Writes castnet_check.c and what it includes into the folder. False after E0003. */
bool adapter_write(Arena *a, Diags *d, const Workdir *w, const castnet_interface *const *models, size_t n);

/* The same for timing: templates/bench.c, and peaks over the target's SIMD layer. */
bool adapter_write_bench(Arena *a, Diags *d, const Workdir *w, const castnet_interface *m, const Target *t);

/* Values for all inputs of a model, in its order, for the program to read. False after E0003 or E0601. */
bool adapter_write_inputs(Arena *a, Diags *d, const char *path, const castnet_interface *m, const OnnxValue *const *values);

typedef struct AdapterResult {
  int status;           /* what N_run returned */
  const char *fault;    /* what the program found wrong with the call, or NULL */
  size_t fault_output;
  uint64_t ws_needed;
  OnnxValue *outputs;   /* [n_outputs], NULL after an error or fault */
} AdapterResult;
/* False when the file is not what the program writes: it was ended in between. */
bool adapter_read_outputs(Arena *a, const char *path, const castnet_interface *m, AdapterResult *ret);

/* "CASTNET_ERR_DIM" */
const char *adapter_status_name(int status);

#endif
