#include "pipeline.h"

#include "base/hash.h"
#include "frontend/print.h"
#include "lower/lower.h"
#include "lower/share.h"
#include "passes/passes.h"
#include "plan/plan.h"

static const char *const stages[] = {"model", "graph", "passes", "program", "plan"};

bool pipeline_is_stage(const char *name) {
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
    if (strcmp(stages[i], name) == 0) return true;
  return false;
}

static bool dumps(const PipelineOptions *opt, const char *stage) {
  return opt->dump_stage && strcmp(opt->dump_stage, stage) == 0;
}

/* One line about where the model comes from. */
static Str comment(Arena *a, const OnnxModel *m) {
  StrBuf b = sb_new(a);
  sb_str(&b, m->graph->name);
  if (m->producer_name.len) {
    sb_puts(&b, b.len ? ", by " : "by ");
    sb_str(&b, m->producer_name);
    if (m->producer_version.len) sb_putc(&b, ' ');
    sb_str(&b, m->producer_version);
  }
  return sb_view(&b);
}

static BackendOptions backend_options(Arena *a, const PipelineOptions *opt, const OnnxModel *m) {
  BackendOptions b = opt->backend;
  Hash128 h = hash128(m->file.ptr, m->file.len);
  b.model_hash[0] = h.hi;
  b.model_hash[1] = h.lo;
  b.model_comment = comment(a, m);
  return b;
}

bool pipeline_run(Arena *a, Diags *d, const PipelineOptions *opt, Pipeline *ret) {
  *ret = (Pipeline){0};

  const OnnxModel *m = ret->model = onnx_load_model(a, d, opt->path, &opt->load);
  if (!m) return false;
  if (dumps(opt, "model")) return onnx_print_model(opt->dump, m), true;

  Ir *ir = ret->ir = import_model(a, d, m, &opt->import);
  if (!ir || (opt->on_graph && !opt->on_graph(ir, opt->user))) return false;
  if (dumps(opt, "graph")) return ir_print(opt->dump, ir), true;

  const bool kernels = strcmp(opt->backend.target->language, "c") == 0;
  if (!passes_run(ir, (PassOptions){.optimise = opt->optimise, .kernels = kernels, .float_qdq = opt->float_qdq})) return false;
  if (dumps(opt, "passes")) return ir_print(opt->dump, ir), true;

  Program *p = ret->program = lower_graph(a, ir, &(LowerOptions){.fuse = opt->optimise, .target = opt->backend.target});
  if (!p) return false;
  if (opt->threads) program_share(p, opt->backend.target, opt->threads_all);
  if (dumps(opt, "program")) return program_print(opt->dump, p), true;

  if (!plan_program(p, d, &(PlanOptions){.reuse = !opt->no_reuse, .own_outputs = opt->backend.outputs == OUTPUTS_WORKSPACE})) return false;
  if (dumps(opt, "plan")) return program_print(opt->dump, p), true;

  BackendOptions *b = NEW(a, BackendOptions); /* the writers of large files need it until they are written */
  *b = backend_options(a, opt, m);
  return backend_interface(a, d, p, b, &ret->iface) && backend_print(a, d, p, b, &ret->files, &ret->calls);
}

Program *pipeline_reference(Arena *a, Diags *d, const PipelineOptions *opt, const OnnxModel **ret_model) {
  const OnnxModel *m = *ret_model = onnx_load_model(a, d, opt->path, &opt->load);
  Ir *ir = m ? import_model(a, d, m, &opt->import) : NULL;
  if (!ir || (opt->on_graph && !opt->on_graph(ir, opt->user))) return NULL;
  if (!passes_run(ir, (PassOptions){.optimise = false})) return NULL;
  return lower_graph(a, ir, &(LowerOptions){.fuse = false, .target = target_find(STR("c99"))}); /* the interpreter's own layer */
}
