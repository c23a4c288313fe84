/* The backend: a planned program to the fixed set of files (docs/GENERATED_API.md), in the language of the target. */
#ifndef CASTNET_BACKEND_H
#define CASTNET_BACKEND_H

#include "base/target.h"
#include "base/diag.h"
#include "base/files.h"
#include "lower/cost.h"

typedef enum WeightsMode {
  WEIGHTS_AUTO, /* words up to 4 MiB, .incbin above; the same files either way */
  WEIGHTS_C,    /* words in N_weights.c */
  WEIGHTS_ASM,  /* .incbin of N_weights.bin in N_weights.c */
  WEIGHTS_BIN,  /* N_weights.bin alone, given at run time in castnet_env */
  WEIGHTS_EMBED /* #embed of N_weights.bin in N_weights.c (C23) */
} WeightsMode;

typedef enum OutputsMode { OUTPUTS_CALLER, OUTPUTS_WORKSPACE } OutputsMode;

typedef struct BackendOptions {
  Str name;           /* the model's name; every external symbol starts with it (made a C identifier by the backend) */
  const Target *target;
  WeightsMode weights;
  OutputsMode outputs;
  bool flush_subnormals; /* N_run takes subnormal numbers as zero */
  bool poison;        /* between steps N_run overwrites what no later one reads */
  uint64_t model_hash[2]; /* XXH128 of the model's file, high half first (hash128) */
  Str options;        /* the options that change the output, as on the command line without paths; may be empty */
  Str model_comment;  /* one line about the model (graph and producer name); may be empty */
} BackendOptions;

/* A call of N_run: what castnet_env.step counts. */
typedef struct BackendCall {
  Str function;
  const Step *step;
  StepCost cost;
} BackendCall;

typedef VEC(BackendCall) BackendCalls;

/* One of the levels that a call picks from; a target without levels is the only one. */
typedef struct BackendLevel {
  const Target *target;
  const Dim *workspace;        /* bytes that it needs by itself */
  size_t weights, own_weights; /* bytes of the constants that it reads; of those that no other level reads */
  BackendCalls calls;
} BackendLevel;

/* What came of a program besides the files. */
typedef struct BackendResult {
  size_t weights_bytes;
  BackendLevel *levels; /* [n_levels] */
  size_t n_levels;
} BackendResult;

/* Fills ret with N.h, N.c (or what the language calls it) and the weights' files, ret_result with its calls in the
 * order of their numbers among others. programs: one for each level of the target (one where it has none), all of one Ir. False after a
 * diagnostic. */
bool backend_print(Arena *a, Diags *d, const Program *const *programs, const BackendOptions *opt, FileSet *ret, BackendResult *ret_result);

/* The names of the files that a compile writes, in a fixed order, N.h last: known before the model is read.
 * Returns their number. */
enum { BACKEND_MAX_FILES = 4 + TARGET_MAX_LEVELS };
size_t backend_file_names(Arena *a, Str name, const Target *t, WeightsMode weights, Str ret[BACKEND_MAX_FILES]);
/* The C identifier that `name` becomes. */
Str backend_c_name(Arena *a, Str name);

#endif
