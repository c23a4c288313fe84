/* What the parts of `castnet check` share. */
#ifndef CASTNET_CHECK_H
#define CASTNET_CHECK_H

#include "castnet_options.h"
#include "cli/builder.h"
#include "cli/dataset.h"
#include "cli/tolerance.h"

typedef struct OutputReport {
  castnet_slice name;
  Comparison comparison;
} OutputReport;

typedef struct SetReport {
  const char *dir; /* NULL: made inputs against the reference evaluation */
  OutputReport *outputs;
  size_t n_outputs;
} SetReport;

/* One model on its way. */
typedef struct Check {
  const char *path;
  castnet_options options;
  Tolerances tolerances;
  const char *const *dirs;
  size_t n_dirs;
  castnet *model;                  /* its compile */
  const castnet_interface *iface; /* NULL: not compiled */
  Diags diags;                     /* besides those of the compile */
  DataSet made;                    /* where there are no data sets: made inputs, `inputs` NULL before */
  DataSet failed;                  /* the first that did not agree, for --bisect; `inputs` NULL: none */
  VEC(SetReport) sets;
  bool interrupted;
} Check;

/* check_run.c: a group of models, built as one program. Fills diags and sets of each. */
void check_group(Cli *c, const BuildOptions *o, Check *const *checks, size_t n);

/* check_reference.c: a data set of made inputs, its outputs by the reference evaluation. False after diagnostics. */
bool check_make_set(Cli *c, Check *k, uint64_t seed, DataSet *ret);
/* The reference evaluation of the inputs: all outputs, one a graph output. `hook` as castnet_on_graph. False after diagnostics. */
bool check_evaluate(Cli *c, Check *k, const OnnxValue *const *inputs, GraphHook hook, void *user, const OnnxValue ***ret, size_t *ret_n);

/* check_bisect.c: says which node's result is the first to differ from the reference evaluation on a data set. */
void check_bisect(Cli *c, const BuildOptions *o, Check *k, const DataSet *set);

/* check_report.c */
int check_status(const Check *k); /* exit code */
void check_print(const Cli *c, const Check *k);
void check_print_diags(const Cli *c, const Check *k); /* to standard error */
void check_print_json(const Cli *c, const Check *k);

#endif
