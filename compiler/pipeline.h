/* The stages of a compile, one after the other (docs/ARCHITECTURE.md). */
#ifndef CASTNET_PIPELINE_H
#define CASTNET_PIPELINE_H

#include "backend/backend.h"
#include "backend/interface.h"
#include "frontend/model.h"
#include "ops/import.h"

/* Called between import and passes, to change the graph. False: give up (after a diagnostic). */
typedef bool (*GraphHook)(Ir *ir, void *user);

typedef struct PipelineOptions {
  const char *path;
  OnnxLoadOptions load;
  ImportOptions import;
  BackendOptions backend; /* model_hash and model_comment are filled by the pipeline */
  bool optimise;          /* false: the program as the model says it */
  bool no_reuse;          /* every buffer has its own place */
  bool threads, threads_all; /* steps that are worth it run in shares; all that can */
  bool keep_subnormals;   /* weights below the least normal number are what they are */
  bool no_winograd;       /* convolutions are computed directly */
  bool no_blocks;         /* channels stay plain */
  bool float_qdq;         /* quantised graphs compute in float as they are written */
  const char *dump_stage; /* the text form after this stage is put into dump, and nothing follows; NULL: none */
  StrBuf *dump;
  GraphHook on_graph;     /* may be NULL */
  void *user;
} PipelineOptions;

typedef struct Pipeline {
  const OnnxModel *model;
  Ir *irs[TARGET_MAX_LEVELS]; /* of each level, after passes; levels whose vectors are as wide share one */
  Program *programs[TARGET_MAX_LEVELS]; /* one for each level of the target; one where it has none */
  size_t level;                         /* of programs: the one that needs the most workspace */
  Interface iface;
  FileSet files;
  BackendResult result;
} Pipeline;

/* False after diagnostics. With dump_stage everything behind that stage stays NULL. */
bool pipeline_run(Arena *a, Diags *d, const PipelineOptions *opt, Pipeline *ret);
/* The first stages alone, for the reference evaluation: the unoptimised program, not planned. */
Program *pipeline_reference(Arena *a, Diags *d, const PipelineOptions *opt, const OnnxModel **ret_model);
bool pipeline_is_stage(const char *name);

#endif
