#include "castnet_options.h"

static bool wrong_option(Diags *d, const char *what, const char *word, const char *words) {
  Diag *e = diag_add(d, DIAG_E0001, (DiagPlace){0}, "%s %s is unknown", what, diag_quote(d, str_c(word)));
  e->hint = arena_printf(d->arena, "known: %s", words);
  return false;
}

static bool read_target(Diags *d, const char *name, BackendOptions *b) {
  b->target = target_find(str_c(name ? name : "c99"));
  if (b->target) return true;
  StrBuf words = sb_new(d->arena);
  for (size_t i = 0; targets[i]; i++) sb_printf(&words, "%s%s", i ? ", " : "", targets[i]->name);
  return wrong_option(d, "target", name, words.data);
}

static bool read_weights(Diags *d, const char *word, BackendOptions *b) {
  static const char *const words[] = {[WEIGHTS_AUTO] = "auto", [WEIGHTS_C] = "c", [WEIGHTS_ASM] = "asm", [WEIGHTS_BIN] = "bin",
                                      [WEIGHTS_EMBED] = "embed"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!word || strcmp(word, words[i]) == 0) {
      b->weights = (WeightsMode)i;
      return true;
    }
  return wrong_option(d, "form of weights", word, "auto, c, asm, embed, bin");
}

static bool read_outputs(Diags *d, const char *word, BackendOptions *b) {
  b->outputs = word && strcmp(word, "workspace") == 0 ? OUTPUTS_WORKSPACE : OUTPUTS_CALLER;
  if (!word || strcmp(word, "caller") == 0 || strcmp(word, "workspace") == 0) return true;
  return wrong_option(d, "owner of outputs", word, "caller, workspace");
}

/* Where nothing is said: what has an operating system has threads. */
static bool read_threads(Diags *d, const char *word, PipelineOptions *o) {
  const Target *t = o->backend.target;
  const bool all = word && strcmp(word, "all") == 0, on = all || (word && strcmp(word, "on") == 0), off = word && strcmp(word, "off") == 0;
  if (t) o->threads = strcmp(t->language, "c") == 0 && (on || (!off && strstr(t->machine, "-linux")));
  o->threads_all = all;
  return !word || on || off || wrong_option(d, "choice of threads", word, "on, off, all");
}

/* What code in C alone can do. */
static bool read_switch(Diags *d, const char *option, bool wanted, const BackendOptions *b, bool *ret) {
  *ret = wanted;
  if (!wanted || !b->target || strcmp(b->target->language, "c") == 0) return true;
  (void)diag_add(d, DIAG_E0001, (DiagPlace){0}, "%s: code for target %s runs on a device", option, b->target->name);
  return false;
}

static Str file_stem(Str path) {
  size_t from = path.len;
  while (from > 0 && path.ptr[from - 1] != '/') from--;
  Str s = {path.ptr + from, path.len - from};
  for (size_t i = s.len; i > 1; i--)
    if (s.ptr[i - 1] == '.') return (Str){s.ptr, i - 1};
  return s;
}

static void read_dims(Arena *a, const castnet_options *o, ImportOptions *ret) {
  struct ImportDim *dims = NEW_ARRAY(a, struct ImportDim, o->n_dims);
  for (size_t i = 0; i < o->n_dims; i++) dims[i] = (struct ImportDim){str_c(arena_cstr(a, str_c(o->dims[i].name))), o->dims[i].lo, o->dims[i].hi, false};
  ret->dims = dims;
  ret->n_dims = o->n_dims;
}

static void read_ops(Arena *a, const castnet_options *o, ImportOptions *ret) {
  struct ImportOp *ops = NEW_ARRAY(a, struct ImportOp, o->n_ops);
  for (size_t i = 0; i < o->n_ops; i++)
    ops[i] = (struct ImportOp){arena_str(a, str_c(o->ops[i].domain)), arena_str(a, str_c(o->ops[i].type)),
                               arena_str(a, str_c(o->ops[i].symbol))};
  ret->ops = ops;
  ret->n_ops = o->n_ops;
}

/* The options that change the output, as on the command line, for the heads of files. */
static Str options_text(Arena *a, const castnet_options *o, const BackendOptions *b) {
  StrBuf s = sb_new(a);
  if (b->weights != WEIGHTS_AUTO) sb_printf(&s, " --weights=%s", o->weights);
  if (b->outputs != OUTPUTS_CALLER) sb_printf(&s, " --outputs=%s", o->outputs);
  for (size_t i = 0; i < o->n_dims; i++) sb_printf(&s, " --dim %s=%lld..%lld", o->dims[i].name, (long long)o->dims[i].lo, (long long)o->dims[i].hi);
  for (size_t i = 0; i < o->n_ops; i++) sb_printf(&s, " --op %s::%s=%s", o->ops[i].domain, o->ops[i].type, o->ops[i].symbol);
  if (o->no_fuse) sb_puts(&s, " --no-fuse");
  if (o->float_qdq) sb_puts(&s, " --float-qdq");
  if (o->keep_subnormals) sb_puts(&s, " --keep-subnormals");
  if (o->no_winograd) sb_puts(&s, " --no-winograd");
  if (o->no_blocks) sb_puts(&s, " --no-blocks");
  if (o->no_reuse) sb_puts(&s, " --no-reuse");
  if (o->ignore_output_shapes) sb_puts(&s, " --ignore-output-shapes");
  if (o->poison) sb_puts(&s, " --poison");
  if (o->flush_subnormals) sb_puts(&s, " --flush-subnormals");
  if (o->threads) sb_printf(&s, " --threads=%s", o->threads);
  return s.len ? (Str){s.data + 1, s.len - 1} : STR("");
}

bool castnet_read_options(Arena *a, Diags *d, const char *path, const castnet_options *o, PipelineOptions *ret) {
  Str own = str_c(arena_cstr(a, str_c(path)));
  *ret = (PipelineOptions){.path = own.ptr, .load = {.allow_symlinks = o->allow_symlinks != 0}, .import = {.path = own.ptr, .ignore_output_shapes = o->ignore_output_shapes != 0},
                           .backend = {.name = o->name ? arena_str(a, str_c(o->name)) : file_stem(own)},
                           .optimise = !o->no_fuse, .float_qdq = o->float_qdq != 0, .no_winograd = o->no_winograd != 0, .keep_subnormals = o->keep_subnormals != 0,
                           .no_blocks = o->no_blocks != 0, .no_reuse = o->no_reuse != 0};
  read_dims(a, o, &ret->import);
  read_ops(a, o, &ret->import);
  bool ok = read_target(d, o->target, &ret->backend);
  ok &= read_threads(d, o->threads, ret);
  ok &= read_weights(d, o->weights, &ret->backend);
  ok &= read_outputs(d, o->outputs, &ret->backend);
  ok &= read_switch(d, "--poison", o->poison != 0, &ret->backend, &ret->backend.poison);
  ok &= read_switch(d, "--flush-subnormals", o->flush_subnormals != 0, &ret->backend, &ret->backend.flush_subnormals);
  if (o->dump_stage && !pipeline_is_stage(o->dump_stage))
    ok = wrong_option(d, "stage", o->dump_stage, "model, graph, passes, program, plan");
  ret->dump_stage = o->dump_stage;
  ret->backend.options = options_text(a, o, &ret->backend);
  return ok;
}
