/* Compiling a group of models, building them as one program, running it on each data set, comparing. */
#include "cli/check.h"
#include "cli/progress.h"

static void free_model(void *m) { castnet_free(m); }

static bool compile_once(Cli *c, Check *k) {
  k->model = castnet_new();
  if (!k->model) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  arena_on_free(c->arena, free_model, k->model);
  if (castnet_compile(k->model, k->path, &k->options) != CASTNET_STATUS_OK) return false;
  k->iface = castnet_get_interface(k->model);
  return true;
}

/* Marks the dimensions that an input has at size 0 and whose range starts above. */
static bool note_empty(const castnet_interface *m, const OnnxValue *const *inputs, bool *empty) {
  bool any = false;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const castnet_type *t = &m->inputs[i].type;
    for (size_t d = 0; inputs[i] && t->kind == CASTNET_KIND_TENSOR && d < t->rank; d++) {
      const int32_t symbol = t->dims[d].symbol;
      if (symbol < 0 || inputs[i]->tensor->dims[d] != 0 || m->dims[symbol].lo == 0) continue;
      any = empty[symbol] = true;
    }
  }
  return any;
}

/* Dimensions start at 1 where nothing is said; what was recorded at size 0 says something. Does nothing to those that --dim names. */
static bool allow_empty(Cli *c, Check *k) {
  const castnet_interface *m = k->iface;
  bool *empty = NEW_ARRAY(c->arena, bool, m->n_dims + 1), any = false;
  for (size_t i = 0; i < k->n_dirs && m->n_dims; i++) {
    Diags unsaid = {.arena = c->arena};
    DataSet set;
    if (dataset_load(c->arena, &unsaid, k->dirs[i], m, &set)) any = note_empty(m, set.inputs, empty) || any;
  }
  for (size_t s = 0; s < m->n_dims && any; s++)
    for (size_t i = 0; i < k->options.n_dims; i++)
      if (str_is((Str){m->dims[s].name.ptr, m->dims[s].name.length}, k->options.dims[i].name)) empty[s] = false;
  castnet_dim_bound *dims = NEW_ARRAY(c->arena, castnet_dim_bound, k->options.n_dims + m->n_dims);
  size_t n = k->options.n_dims;
  for (size_t i = 0; i < n; i++) dims[i] = k->options.dims[i];
  for (size_t s = 0; s < m->n_dims && any; s++)
    if (empty[s]) dims[n++] = (castnet_dim_bound){arena_cstr(c->arena, (Str){m->dims[s].name.ptr, m->dims[s].name.length}), 0, m->dims[s].hi};
  any = n > k->options.n_dims;
  k->options.dims = dims;
  k->options.n_dims = n;
  return any;
}

static bool compile(Cli *c, Check *k) { return compile_once(c, k) && (!allow_empty(c, k) || compile_once(c, k)); }

/* What was recorded or made, and what came out. */
static void compare_set(Cli *c, Check *k, const DataSet *set, const AdapterResult *got) {
  const castnet_interface *m = k->iface;
  SetReport report = {.dir = set->dir, .outputs = NEW_ARRAY(c->arena, OutputReport, m->n_outputs)};
  for (size_t i = 0; i < m->n_outputs; i++) {
    if (!set->outputs[i]) continue;
    OutputReport *r = &report.outputs[report.n_outputs++];
    Tolerance t = tolerance_of(&k->tolerances, m->outputs[i].name);
    r->name = m->outputs[i].name;
    compare_values(c->arena, &k->diags, &got->outputs[i], set->outputs[i], &t, &r->comparison);
    if (r->comparison.ok) continue;
    (void)diag_add(&k->diags, DIAG_E0602, (DiagPlace){.file = str_c(set->dir ? set->dir : k->path)}, "output %s: %.*s",
                   diag_quote(&k->diags, (Str){r->name.ptr, r->name.length}), STR_ARG(r->comparison.why));
  }
  vec_push(c->arena, k->sets, report);
}

static void run_set(Cli *c, const BuildOptions *o, Workdir *w, Check *k, size_t index, const DataSet *set) {
  AdapterResult got;
  progress_step(c->progress, set->dir ? set->dir : "made inputs");
  size_t before = k->diags.list.n;
  RunOutcome outcome = builder_run(c, &k->diags, o, w, workdir_file(c->arena, w, "castnet_check"), index, k->iface, set->inputs, &got);
  if (outcome == RUN_INTERRUPTED) k->interrupted = true;
  for (size_t i = before; i < k->diags.list.n; i++)
    if (!k->diags.list.data[i].place.file.len) k->diags.list.data[i].place.file = str_c(set->dir ? set->dir : k->path);
  if (outcome == RUN_DONE) compare_set(c, k, set, &got);
  if (!k->failed.inputs && k->diags.list.n > before) k->failed = *set;
}

static void run_sets(Cli *c, const BuildOptions *o, Workdir *w, Check *k, size_t index) {
  DataSet set;
  for (size_t i = 0; i < k->n_dirs && !k->interrupted; i++)
    if (dataset_load(c->arena, &k->diags, k->dirs[i], k->iface, &set)) run_set(c, o, w, k, index, &set);
  if (k->made.inputs) run_set(c, o, w, k, index, &k->made);
}

/* All as one program. Where the compiler fails on several, each half is tried by itself, so that the others are judged. */
static void build_and_run(Cli *c, const BuildOptions *o, Workdir *w, Check *const *checks, size_t n) {
  const castnet_interface **models = NEW_ARRAY(c->arena, const castnet_interface *, n);
  Diags diags = {.arena = c->arena};
  for (size_t i = 0; i < n; i++) models[i] = checks[i]->iface;
  if (n == 1) progress_step(c->progress, "building");
  bool built = adapter_write(c->arena, &diags, w, models, n) && builder_build(c, &diags, o, w, models, n);
  if (built) {
    for (size_t i = 0; i < n && !workdir_signal(w); i++) run_sets(c, o, w, checks[i], i);
  } else if (workdir_signal(w)) {
    checks[0]->interrupted = true;
  } else if (n > 1) {
    build_and_run(c, o, w, checks, n / 2);
    build_and_run(c, o, w, checks + n / 2, n - n / 2);
  } else {
    for (size_t i = 0; i < diags.list.n; i++) {
      diags.list.data[i].place.file = str_c(checks[0]->path);
      vec_push(c->arena, checks[0]->diags.list, diags.list.data[i]);
    }
  }
}

/* Before the folder is opened: while it is, only the end of a child lets a signal through. */
static void make_sets(Cli *c, Check *const *checks, size_t n) {
  uint64_t seed;
  if (!options_number(c, OPT_SEED, 0, UINT64_MAX, 1, &seed)) return;
  for (size_t i = 0; i < n; i++)
    if (checks[i]->n_dirs == 0 && !check_make_set(c, checks[i], seed, &checks[i]->made)) checks[i]->made = (DataSet){0};
}

/* The folder and what happens in it. */
static void write_and_run(Cli *c, const BuildOptions *o, Check **checks, size_t n) {
  Workdir *w = workdir_open(c->arena, &checks[0]->diags, options_last(c, OPT_KEEP));
  size_t n_written = 0;
  if (!w) return;
  if (c->progress) workdir_on_wait(w, progress_tick, c->progress);
  for (size_t i = 0; i < n; i++)
    if (castnet_write(checks[i]->model, workdir_path(w)) == CASTNET_STATUS_OK) checks[n_written++] = checks[i];
  if (n_written) build_and_run(c, o, w, checks, n_written);
  c->interrupted = workdir_signal(w);
  workdir_close(w);
}

void check_group(Cli *c, const BuildOptions *o, Check *const *checks, size_t n) {
  Check **compiled = NEW_ARRAY(c->arena, Check *, n);
  size_t n_compiled = 0;
  for (size_t i = 0; i < n; i++)
    if (compile(c, checks[i])) compiled[n_compiled++] = checks[i];
  if (n_compiled == 0) return;
  make_sets(c, compiled, n_compiled);
  write_and_run(c, o, compiled, n_compiled);
  for (size_t i = 0; i < n && options_has(c, OPT_BISECT) && !c->interrupted; i++)
    if (checks[i]->failed.inputs) check_bisect(c, o, checks[i], &checks[i]->failed);
}
