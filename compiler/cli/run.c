/* castnet run */
#include "cli/cache.h"
#include "cli/dataset.h"
#include "cli/npy.h"
#include "cli/progress.h"

#include "base/files.h"
#include "ir/ir.h"

#include <inttypes.h>
#include <sys/stat.h>

static void free_model(void *m) { castnet_free(m); }

/* ---- inputs ---- */
static bool is_named(const castnet_field *f, const char *s, size_t n) {
  return (f->name.length == n && memcmp(f->name.ptr, s, n) == 0) || (strlen(f->c_name) == n && memcmp(f->c_name, s, n) == 0);
}

/* NAME=FILE, where both may hold '=': the first split whose name the model knows. */
static bool read_input(Cli *c, const castnet_interface *m, const char *use, const OnnxValue **values) {
  for (const char *equals = strchr(use, '='); equals; equals = strchr(equals + 1, '=')) {
    for (size_t i = 0; i < m->n_inputs; i++) {
      if (!is_named(&m->inputs[i], use, (size_t)(equals - use))) continue;
      values[i] = dataset_load_value(c->arena, &c->diags, equals + 1, &m->inputs[i].type);
      return values[i] && dataset_fits(&c->diags, equals + 1, &m->inputs[i], values[i]);
    }
  }
  return usage_error(c, "--input: %s does not begin with an input's name and '='", diag_quote(&c->diags, str_c(use)));
}

static bool read_inputs(Cli *c, const castnet_interface *m, const OnnxValue **values) {
  bool ok = true;
  for (size_t i = 0; i < c->uses.n; i++)
    if (c->uses.data[i].id == OPT_INPUT) ok &= read_input(c, m, c->uses.data[i].value, values);
  for (size_t i = 0; ok && i < m->n_inputs; i++)
    if (!values[i]) ok = usage_error(c, "input %s is not given (--input %s=FILE.npy)", m->inputs[i].c_name, m->inputs[i].c_name);
  return ok;
}

/* ---- outputs ---- */
static void print_shape(StrBuf *b, const OnnxTensor *t) {
  for (size_t i = 0; i < t->n_dims; i++) sb_printf(b, "[%" PRId64 "]", t->dims[i]);
}

/* What .npy has no form for, and strings that end with a zero byte: one element a line. */
static void print_text(StrBuf *b, const OnnxValue *v, int depth) {
  if (v->kind == ONNX_TYPE_TENSOR && v->tensor->strings) {
    for (size_t i = 0; i < v->tensor->n_strings; i++) {
      sb_printf(b, "%*s\"", 2 * depth, "");
      sb_escaped(b, v->tensor->strings[i], 4096);
      sb_puts(b, "\"\n");
    }
  } else if (v->kind == ONNX_TYPE_TENSOR && v->tensor->data_type == 1) {
    for (size_t i = 0; i < v->tensor->n_elements; i++) {
      float x;
      memcpy(&x, (const char *)v->tensor->data + i * sizeof x, sizeof x);
      sb_printf(b, "%*s%.9g\n", 2 * depth, "", (double)x);
    }
  } else if (v->kind == ONNX_TYPE_TENSOR) {
    DType t = dtype_from_onnx(v->tensor->data_type);
    sb_printf(b, "%*s%s", 2 * depth, "", dtype_name(t));
    print_shape(b, v->tensor);
    sb_putc(b, '\n');
  }
  for (size_t i = 0; i < v->n_items; i++) {
    sb_printf(b, "%*s", 2 * depth, "");
    if (v->kind == ONNX_TYPE_MAP && v->string_keys) sb_escaped(b, v->string_keys[i], 200);
    else if (v->kind == ONNX_TYPE_MAP) sb_printf(b, "%" PRId64, v->keys[i]);
    else sb_printf(b, "#%zu", i);
    sb_puts(b, ":\n");
    print_text(b, &v->items[i], depth + 1);
  }
}

static bool write_output(Cli *c, const char *dir, const castnet_field *f, const OnnxValue *v, StrBuf *said) {
  sb_printf(said, "%s: ", f->c_name);
  if (v->kind == ONNX_TYPE_TENSOR && npy_holds(v->tensor)) {
    const char *path = arena_printf(c->arena, "%s/%s.npy", dir, f->c_name).ptr;
    sb_puts(said, dtype_name(dtype_from_onnx(v->tensor->data_type)));
    print_shape(said, v->tensor);
    sb_printf(said, " in %s\n", path);
    return npy_write(c->arena, &c->diags, path, v->tensor);
  }
  sb_putc(said, '\n');
  print_text(said, v, 1);
  return true;
}

static void write_outputs(Cli *c, const castnet_interface *m, const AdapterResult *r) {
  const char *dir = options_last(c, OPT_OUTPUT_DIR);
  StrBuf said = sb_new(c->arena);
  if (dir) (void)mkdir(dir, 0777);
  for (size_t i = 0; i < m->n_outputs; i++)
    if (!write_output(c, dir ? dir : ".", &m->outputs[i], &r->outputs[i], &said)) return;
  print_out(&said);
}

/* ---- the command ---- */
static castnet_status run(Cli *c, const BuildOptions *o, Workdir *w, castnet *model, const OnnxValue *const *inputs) {
  const castnet_interface *m = castnet_get_interface(model);
  AdapterResult result;
  castnet_status s = castnet_write(model, workdir_path(w));
  if (s != CASTNET_STATUS_OK || !adapter_write(c->arena, &c->diags, w, &m, 1)) return s;
  const char *kept = cache_path(c, o, w, model), *program = kept;
  if (!cache_has(kept)) {
    progress_step(c->progress, "building");
    if (!builder_build(c, &c->diags, o, w, &m, 1)) return s;
    program = workdir_file(c->arena, w, "castnet_check");
    if (kept) cache_put(c, program, kept);
  }
  progress_step(c->progress, "running");
  if (builder_run(c, &c->diags, o, w, program, 0, m, inputs, &result) == RUN_DONE) write_outputs(c, m, &result);
  return s;
}

int cmd_run(Cli *c) {
  castnet_options options;
  BuildOptions o;
  if (!options_compile(c, &options)) return 0;
  if (c->words.n != 1) return usage_error(c, "run takes one model, not %zu", c->words.n);
  if (!builder_options(c, &o)) return 0;
  castnet *model = castnet_new();
  if (!model) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  arena_on_free(c->arena, free_model, model);
  castnet_status s = castnet_compile(model, c->words.data[0], &options);
  if (s == CASTNET_STATUS_OK) {
    const castnet_interface *m = castnet_get_interface(model);
    const OnnxValue **inputs = NEW_ARRAY(c->arena, const OnnxValue *, m->n_inputs);
    Workdir *w = read_inputs(c, m, inputs) ? workdir_open(c->arena, &c->diags, NULL) : NULL;
    if (w) {
      Progress progress = progress_begin(c, 2);
      c->progress = &progress;
      workdir_on_wait(w, progress_tick, &progress);
      s = run(c, &o, w, model, inputs);
      c->progress = NULL;
      progress_end(&progress);
      c->interrupted = workdir_signal(w);
      workdir_close(w);
    }
  }
  print_model_diags(c, model);
  return (int)s;
}
