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

static const Target *level_of(const PipelineOptions *opt, size_t i) {
  const Target *t = opt->backend.target;
  return t->n_levels ? t->levels[i] : t;
}

/* Where the level computes convolutions in blocks, else of none. */
static LayoutTile tile_of(const PipelineOptions *opt, size_t i) {
  const Target *level = level_of(opt, i);
  const TargetTile *tile = opt->optimise && !opt->no_blocks ? target_tile(level, "blocked_f32") : NULL;
  const uint32_t block = level->vector_bits / 32;
  return tile ? (LayoutTile){block, tile->mr * tile->nr / block} : (LayoutTile){0};
}

static bool has_blocks(const PipelineOptions *opt) {
  bool any = tile_of(opt, 0).block != 0;
  for (size_t i = 1; i < opt->backend.target->n_levels; i++) any = any || tile_of(opt, i).block;
  return any;
}

/* The graph in the layout of level i, which levels before it may have, too. */
static Ir *level_graph(const PipelineOptions *opt, Ir *ir, const Pipeline *p, size_t i) {
  const LayoutTile tile = tile_of(opt, i);
  for (size_t k = 0; k < i; k++)
    if (tile_of(opt, k).block == tile.block && tile_of(opt, k).sums == tile.sums) return p->irs[k];
  if (!has_blocks(opt)) return ir;
  if (opt->backend.target->n_levels) ir = ir_clone(ir);
  return passes_layout(ir, tile) ? ir : NULL;
}

static bool level_graphs(const PipelineOptions *opt, Ir *ir, Pipeline *ret) {
  const Target *t = opt->backend.target;
  for (size_t i = 0; i < t->n_levels || i == 0; i++) {
    if (!(ret->irs[i] = level_graph(opt, ir, ret, i))) return false;
    if (!dumps(opt, "passes")) continue;
    if (t->n_levels) sb_printf(opt->dump, "# %s\n", t->levels[i]->name);
    ir_print(opt->dump, ret->irs[i]);
  }
  return true;
}

/* A violation is a bug of lowering. */
static bool verify_program(const Program *p, Diags *d) {
#ifndef NDEBUG
  StrBuf what = sb_new(p->arena);
  if (program_verify(p, &what)) return true;
  (void)diag_add(d, DIAG_E0901, (DiagPlace){0}, "the program is unsound: %s", what.data);
  return false;
#else
  (void)p, (void)d;
  return true;
#endif
}

/* The program of a level, planned where more than its steps is asked for. NULL after diagnostics. */
static Program *lower_level(Arena *a, Diags *d, const PipelineOptions *opt, Ir *ir, const Target *level) {
  Program *p = lower_graph(a, ir, &(LowerOptions){.fuse = opt->optimise, .winograd = !opt->no_winograd, .shared = opt->threads,
                                                   .fixed_weights = opt->backend.weights != WEIGHTS_BIN, .flush_subnormals = opt->backend.flush_subnormals, .target = level});
  if (!p) return NULL;
  if (opt->threads) program_share(p, level, opt->threads_all);
  if (!verify_program(p, d)) return NULL;
  if (dumps(opt, "program")) return p;
  return plan_program(p, d, &(PlanOptions){.reuse = !opt->no_reuse, .own_outputs = opt->backend.outputs == OUTPUTS_WORKSPACE}) ? p : NULL;
}

static bool needs_more(const Program *p, const Program *than) {
  int64_t x, y;
  return !dim_is_const(p->arena_bytes, &x) || !dim_is_const(than->arena_bytes, &y) || x >= y;
}

/* All of them before the backend sees one: they may bring dimensions, which are of the graph. */
static bool lower_levels(Arena *a, Diags *d, const PipelineOptions *opt, Pipeline *ret) {
  const Target *t = opt->backend.target;
  for (size_t i = 0; i < t->n_levels || i == 0; i++) {
    Program *p = ret->programs[i] = lower_level(a, d, opt, ret->irs[i], level_of(opt, i));
    if (!p) return false;
    if (p->arena_bytes && (i == 0 || needs_more(p, ret->programs[ret->level]))) ret->level = i; /* where it is planned */
    if (!dumps(opt, "program") && !dumps(opt, "plan")) continue;
    if (t->n_levels) sb_printf(opt->dump, "# %s\n", t->levels[i]->name);
    program_print(opt->dump, p);
  }
  return true;
}

static bool splits(const Program *p) {
  for (size_t i = 0; i < p->main.steps.n; i++)
    if (p->main.steps.data[i].kind == STEP_CONTRACT && ((const ContractStep *)p->main.steps.data[i].attr)->split) return true;
  return false;
}

/* What the backend prints for: without a product that may go by parts the target that there is but for those, which asks less of a machine. */
static const Target *needed_target(const Target *t, const Program *p) {
  const bool parts = !t->n_levels && target_tile(t, "split_f32");
  return parts && !target_tile(t->fallback, "split_f32") && !splits(p) ? t->fallback : t;
}

bool pipeline_run(Arena *a, Diags *d, const PipelineOptions *opt, Pipeline *ret) {
  *ret = (Pipeline){0};

  const OnnxModel *m = ret->model = onnx_load_model(a, d, opt->path, &opt->load);
  if (!m) return false;
  if (dumps(opt, "model")) return onnx_print_model(opt->dump, m), true;

  Ir *ir = import_model(a, d, m, &opt->import);
  if (!ir || (opt->on_graph && !opt->on_graph(ir, opt->user))) return false;
  if (dumps(opt, "graph")) return ir_print(opt->dump, ir), true;

  const bool kernels = strcmp(opt->backend.target->language, "c") == 0;
  if (!passes_run(ir, (PassOptions){.optimise = opt->optimise, .kernels = kernels, .blocks = has_blocks(opt), .widen = kernels && !opt->backend.target->small_code, .float_qdq = opt->float_qdq, .keep_subnormals = opt->keep_subnormals})) return false;
  if (!level_graphs(opt, ir, ret)) return false;
  if (dumps(opt, "passes")) return true;

  if (!lower_levels(a, d, opt, ret)) return false;
  if (dumps(opt, "program") || dumps(opt, "plan")) return true;

  BackendOptions *b = NEW(a, BackendOptions); /* the writers of large files need it until they are written */
  *b = backend_options(a, opt, m);
  b->target = needed_target(b->target, ret->programs[0]);
  const Program *programs[TARGET_MAX_LEVELS];
  memcpy(programs, ret->programs, sizeof programs);
  return backend_interface(a, d, programs, b, &ret->iface) && backend_print(a, d, programs, b, &ret->files, &ret->result);
}

Program *pipeline_reference(Arena *a, Diags *d, const PipelineOptions *opt, const OnnxModel **ret_model) {
  const OnnxModel *m = *ret_model = onnx_load_model(a, d, opt->path, &opt->load);
  Ir *ir = m ? import_model(a, d, m, &opt->import) : NULL;
  if (!ir || (opt->on_graph && !opt->on_graph(ir, opt->user))) return NULL;
  if (!passes_run(ir, (PassOptions){.optimise = false})) return NULL;
  return lower_graph(a, ir, &(LowerOptions){.fuse = false, .target = target_find(STR("c99"))}); /* the interpreter's own layer */
}
