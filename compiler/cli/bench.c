/* castnet bench */
#include "cli/bench.h"
#include "cli/dataset.h"
#include "cli/machine.h"
#include "cli/made_inputs.h"
#include "cli/progress.h"

#include "base/io.h"

#include <inttypes.h>
#include <stdlib.h>

static void free_model(void *m) { castnet_free(m); }

/* ---- what the program printed ---- */
static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* "times" and as many numbers as follow on the line */
static void read_times(Arena *a, const char *s, BenchResult *r) {
  VEC(double) times = {0};
  for (char *end; *s && *s != '\n'; s = end) {
    const double t = strtod(s, &end);
    if (end == s) break;
    vec_push(a, times, t);
  }
  if (times.n) qsort(times.data, times.n, sizeof *times.data, compare_doubles);
  r->times = times.data;
  r->n_times = times.n;
}

/* The best of what was measured before and after the model ran. */
static void note_rate(BenchResult *r, double bytes, double rate) {
  size_t i = 0;
  while (i < r->n_reads && r->reads[i].bytes < bytes) i++;
  if (i == BENCH_READS) return;
  if (i == r->n_reads) r->n_reads++;
  r->reads[i].bytes = bytes;
  if (rate > r->reads[i].rate) r->reads[i].rate = rate;
}

static void read_line(Arena *a, const char *line, BenchResult *r) {
  char *end;
  if (strncmp(line, "times ", 6) == 0) {
    read_times(a, line + 6, r);
  } else if (strncmp(line, "batch ", 6) == 0) {
    r->batch = (size_t)strtoul(line + 6, NULL, 10);
  } else if (strncmp(line, "apart ", 6) == 0) {
    const double ns = strtod(line + 6, NULL);
    if (r->near == 0 || ns < r->near) r->near = ns;
    if (ns > r->far) r->far = ns;
  } else if (strncmp(line, "peak ", 5) == 0) {
    const double rate = strtod(line + 5, NULL);
    if (rate > r->peak) r->peak = rate;
  } else if (strncmp(line, "read ", 5) == 0) {
    const double bytes = strtod(line + 5, &end);
    note_rate(r, bytes, strtod(end, NULL));
  } else if (strncmp(line, "step ", 5) == 0) {
    const size_t i = (size_t)strtoul(line + 5, &end, 10);
    if (i < r->n_steps) r->steps[i] = strtod(end, NULL);
  }
}

static bool read_result(Cli *c, Diags *d, const char *path, BenchResult *r) {
  Str text;
  if (!file_map(c->arena, d, path, &text)) return false;
  const char *s = arena_cstr(c->arena, text);
  for (const char *line = s; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) read_line(c->arena, line, r);
  if (r->n_times && r->peak > 0) return true;
  (void)diag_add(d, DIAG_E0603, (DiagPlace){0}, "the timing program did not finish: %s", diag_quote(d, (Str){s, text.len < 200 ? text.len : 200}));
  return false;
}

/* ---- the command ---- */
static bool find_inputs(Cli *c, const castnet_interface *m, const OnnxValue **ret) {
  uint64_t seed;
  DataSet set;
  if (!options_number(c, OPT_SEED, 0, UINT64_MAX, 1, &seed)) return false;
  if (c->words.n < 2) return made_inputs(c->arena, &c->diags, m, seed, ret);
  if (!dataset_load_inputs(c->arena, &c->diags, c->words.data[1], m, &set)) return false;
  memcpy(ret, set.inputs, m->n_inputs * sizeof *ret);
  return true;
}

static bool measure(Cli *c, const BuildOptions *o, Workdir *w, const castnet_interface *m, uint64_t seconds, BenchResult *r) {
  Arena *a = c->arena;
  const char *program = workdir_file(a, w, "castnet_check"), *in = workdir_file(a, w, "inputs"), *log = workdir_file(a, w, "bench.log");
  const char *weights = m->weights_at_run_time ? workdir_file(a, w, arena_printf(a, "%s_weights.bin", m->prefix).ptr) : "-";
  const char *time = arena_printf(a, "%" PRIu64, seconds).ptr;
  const char *argv[] = {program, in, weights, "peak", "run", time, "steps", time, "peak", NULL};
  Command cmd = {.argv = argv, .output = log, .seconds = o->run_seconds + 2 * (double)seconds};
  progress_step(c->progress, "timing");
  if (!commands_run(w, a, &cmd, 1, 1)) return false;
  if (cmd.start_error || cmd.timed_out || cmd.signal) {
    (void)diag_add(&c->diags, DIAG_E0603, (DiagPlace){0}, "the timing program %s",
                   cmd.start_error ? strerror(cmd.start_error) : cmd.signal ? "was ended by a signal" : "did not end in time (--timeout)");
    return false;
  }
  return read_result(c, &c->diags, log, r);
}

static void report(Cli *c, const BenchResult *r) {
  StrBuf b = sb_new(c->arena);
  if (options_has(c, OPT_JSON)) bench_print_json(r, &b);
  else bench_print(r, &b);
  print_out(&b);
}

static void build_and_measure(Cli *c, const BuildOptions *o, Workdir *w, castnet *model, const Target *t, uint64_t seconds) {
  const castnet_interface *m = castnet_get_interface(model);
  const OnnxValue **inputs = NEW_ARRAY(c->arena, const OnnxValue *, m->n_inputs);
  const size_t number = machine_level(t, o->isa);
  const Target *level = t->n_levels ? t->levels[number] : t;
  castnet_choose_level(model, number);
  BenchResult r = {.model = c->words.data[0], .target = t->name, .level = level->name, .compiled = model, .n_steps = castnet_n_steps(model), .threads = o->threads ? o->threads : 1};
  r.steps = NEW_ARRAY(c->arena, double, r.n_steps);
  if (!find_inputs(c, m, inputs)) return;
  if (castnet_write(model, workdir_path(w)) != CASTNET_STATUS_OK) return;
  if (!adapter_write_bench(c->arena, &c->diags, w, m, level)) return;
  if (!adapter_write_inputs(c->arena, &c->diags, workdir_file(c->arena, w, "inputs"), m, inputs)) return;
  progress_step(c->progress, "building");
  if (!builder_build(c, &c->diags, o, w, &m, 1) || options_has(c, OPT_NO_RUN)) return;
  if (measure(c, o, w, m, seconds, &r)) report(c, &r);
}

int cmd_bench(Cli *c) {
  castnet_options options;
  BuildOptions o;
  uint64_t seconds;
  if (!options_compile(c, &options) || !options_number(c, OPT_SECONDS, 1, 3600, 2, &seconds)) return 0;
  if (c->words.n != 1 && c->words.n != 2) return usage_error(c, "bench takes one model and at most one data set");
  if (!builder_options(c, &o)) return 0;
  castnet *model = castnet_new();
  if (!model) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  arena_on_free(c->arena, free_model, model);
  castnet_status s = castnet_compile(model, c->words.data[0], &options);
  Workdir *w = s == CASTNET_STATUS_OK ? workdir_open(c->arena, &c->diags, options_last(c, OPT_KEEP)) : NULL;
  if (w) {
    Progress progress = progress_begin(c, 2);
    c->progress = &progress;
    workdir_on_wait(w, progress_tick, &progress);
    build_and_measure(c, &o, w, model, target_find(str_c(options.target ? options.target : "c99")), seconds);
    c->progress = NULL;
    progress_end(&progress);
    c->interrupted = workdir_signal(w);
    workdir_close(w);
  }
  print_model_diags(c, model);
  return (int)s;
}
