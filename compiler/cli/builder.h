/* Building and running generated code with the user's C compiler. */
#ifndef CASTNET_BUILDER_H
#define CASTNET_BUILDER_H

#include "cli/adapter.h"
#include "cli/cli.h"
#include "cli/process.h"

typedef struct BuildOptions {
  Words cc;          /* the compiler and what stands with it in $CC */
  Words flags;       /* behind the target's */
  Words sources;     /* of the user */
  Words runner;      /* what stands before the program when it is run */
  bool sanitize;
  uint64_t threads;  /* of a pool that the program has; 0: none */
  size_t jobs;
  uint32_t isa;      /* castnet_env.isa of the calls */
  double run_seconds;
} BuildOptions;

/* From the command line and the environment. False after E0005 or E0001. */
bool builder_options(Cli *c, BuildOptions *ret);

/* Builds the files of the models in the folder, written by castnet_write and adapter_write, into the program `castnet_check`.
 * False after E0006, or when a signal asked castnet to end. */
bool builder_build(Cli *c, Diags *d, const BuildOptions *o, Workdir *w, const castnet_interface *const *models, size_t n);

/* The command that compiles one of the model's sources into an object, `extra` (or NULL) behind the target's flags; and running such a
 * command: false after E0005 or E0006. */
const char *const *builder_compile_only(Cli *c, const BuildOptions *o, Workdir *w, const castnet_interface *m, size_t source, const char *extra, const char *object);
bool builder_run_compiler(Diags *d, Arena *a, const BuildOptions *o, Workdir *w, Command *cmd);

typedef enum RunOutcome { RUN_DONE, RUN_FAILED, RUN_INTERRUPTED } RunOutcome;
/* Runs model number k on inputs; RUN_FAILED after E0603. */
RunOutcome builder_run(Cli *c, Diags *d, const BuildOptions *o, Workdir *w, const char *program, size_t k, const castnet_interface *m,
                       const OnnxValue *const *inputs, AdapterResult *ret);

#endif
