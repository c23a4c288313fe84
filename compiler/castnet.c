/* The public interface over the pipeline: the one place where the Door opens. */
#include "castnet.h"

#include "castnet_options.h"
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

struct castnet {
  Door door;
  Arena *arena;
  Diags diags;
  castnet_diagnostic *shown; /* [n_shown] of diags.list in public form */
  size_t n_shown;
  castnet_diagnostic last;   /* what left through the door, or a call out of order */
  char last_printed[700];
  bool has_last;
  Pipeline pipe;
  bool compiled;
  castnet_interface iface;
  Life *life;               /* by buffer of the program */
  uint32_t *number;         /* by buffer of the program, among the planned ones */
  VEC(uint32_t) planned;    /* buffers of the workspace that steps use */
  GraphHook hook;
  void *hook_user;
};

void castnet_on_graph(castnet *c, GraphHook hook, void *user) {
  c->hook = hook;
  c->hook_user = user;
}

const char *castnet_version(void) { return CASTNET_VERSION; }

castnet *castnet_new(void) { return calloc(1, sizeof(castnet)); }

void castnet_free(castnet *c) {
  if (!c) return;
  arena_free(c->arena);
  free(c);
}

/* ---- diagnostics ---- */
/* Without the arena: it may be what is exhausted. */
static castnet_status fail_plainly(castnet *c, DiagCode code, const char *text) {
  const DiagRow *row = &diag_rows[code];
  c->has_last = true;
  (void)snprintf(c->last_printed, sizeof c->last_printed, "error %s: %s\n", row->name, text);
  size_t head = strlen("error : ") + strlen(row->name), all = strlen(c->last_printed);
  c->last = (castnet_diagnostic){.code = row->name, .status = (castnet_status)row->exit_code, .node = -1,
                                 .text = {c->last_printed + head, all - head - 1}, .printed = c->last_printed};
  return c->last.status;
}

static castnet_status through_door(castnet *c) {
  switch (c->door.reason) {
    case DOOR_MEMORY: return fail_plainly(c, DIAG_E0004, c->door.text);
    case DOOR_IO: return fail_plainly(c, DIAG_E0003, c->door.text);
    default: return fail_plainly(c, DIAG_E0901, c->door.text);
  }
}

static castnet_slice slice(Str s) { return (castnet_slice){s.ptr ? s.ptr : "", s.len}; }

static void show_diagnostics(castnet *c) {
  size_t n = c->diags.list.n;
  castnet_diagnostic *shown = NEW_ARRAY(c->arena, castnet_diagnostic, n);
  for (size_t i = 0; i < n; i++) {
    const Diag *d = &c->diags.list.data[i];
    StrBuf printed = sb_new(c->arena);
    diag_print(&printed, d, false);
    shown[i] = (castnet_diagnostic){
        .code = diag_rows[d->code].name, .status = (castnet_status)diag_rows[d->code].exit_code,
        .file = slice(d->place.file), .node_name = slice(d->place.node_name), .op_type = slice(d->place.op_type),
        .domain = slice(d->place.domain), .node = d->place.has_node ? (int64_t)d->place.node : -1, .text = slice(d->text),
        .tensors = slice(d->tensors), .hint = slice(d->hint), .printed = printed.data};
  }
  c->shown = shown;
  c->n_shown = n;
}

size_t castnet_n_diagnostics(const castnet *c) { return c->n_shown + c->has_last; }
size_t castnet_n_dropped_diagnostics(const castnet *c) { return c->diags.n_dropped; }

const castnet_diagnostic *castnet_get_diagnostic(const castnet *c, size_t i) {
  if (i < c->n_shown) return &c->shown[i];
  return i == c->n_shown && c->has_last ? &c->last : NULL;
}

/* What a call returns: the worst of all diagnostics. */
static castnet_status finish(castnet *c, bool ok) {
  show_diagnostics(c);
  castnet_status s = (castnet_status)diags_exit_code(&c->diags);
  if (!ok && s == CASTNET_STATUS_OK) return fail_plainly(c, DIAG_E0901, "a stage failed without a reason");
  return s;
}

/* ---- what was compiled ---- */
static castnet_extent extent(const Interface *f, const Dim *d) {
  castnet_extent e = {-1, -1};
  if (dim_is_const(d, &e.value)) return e;
  for (size_t i = 0; i < f->n_dims; i++)
    if (f->dims[i].symbol == d) e.symbol = (int32_t)i;
  return e;
}

static castnet_type type(castnet *c, const Type *t) {
  castnet_type r = {.kind = (castnet_kind)t->kind, .dtype = dtype_rows[t->dtype].onnx, .key = dtype_rows[t->key].onnx};
  if (t->kind == TYPE_TENSOR) {
    castnet_extent *dims = NEW_ARRAY(c->arena, castnet_extent, t->rank);
    for (uint32_t i = 0; i < t->rank && t->dims; i++) dims[i] = t->dims[i] ? extent(&c->pipe.iface, t->dims[i]) : (castnet_extent){-1, -1};
    r.rank = t->rank;
    r.dims = dims;
  } else if (t->elem) {
    castnet_type *elem = NEW(c->arena, castnet_type);
    *elem = type(c, t->elem);
    r.elem = elem;
  }
  return r;
}

static const castnet_field *fields(castnet *c, const InterfaceField *f, size_t n) {
  castnet_field *ret = NEW_ARRAY(c->arena, castnet_field, n);
  for (size_t i = 0; i < n; i++)
    ret[i] = (castnet_field){.name = slice(f[i].name), .c_name = f[i].c_name.ptr, .type = type(c, f[i].type), .sized = f[i].sized,
                             .owned = f[i].owned};
  return ret;
}

static const char *const *sources(castnet *c) {
  const char **ret = NEW_ARRAY(c->arena, const char *, c->pipe.iface.n_sources);
  for (size_t i = 0; i < c->pipe.iface.n_sources; i++) ret[i] = c->pipe.iface.sources[i].ptr;
  return ret;
}

static void describe(castnet *c, const PipelineOptions *opt) {
  const Interface *f = &c->pipe.iface;
  castnet_dim_field *dims = NEW_ARRAY(c->arena, castnet_dim_field, f->n_dims);
  for (size_t i = 0; i < f->n_dims; i++)
    dims[i] = (castnet_dim_field){slice(f->dims[i].symbol->symbol.name), f->dims[i].c_name.ptr, f->dims[i].symbol->lo, f->dims[i].symbol->hi};
  c->iface = (castnet_interface){.prefix = f->prefix.ptr, .cflags = opt->backend.target->cflags,
                                 .inputs = fields(c, f->inputs, f->n_inputs), .outputs = fields(c, f->outputs, f->n_outputs),
                                 .n_inputs = f->n_inputs, .n_outputs = f->n_outputs, .dims = dims, .n_dims = f->n_dims,
                                 .weights_at_run_time = f->weights_at_run_time, .sources = sources(c), .n_sources = f->n_sources, .device = f->device,
                                 .big_endian = opt->backend.target->big_endian};
}

/* ---- compiling ---- */
static void describe_plan(castnet *c);

static castnet_status compile(castnet *c, const char *path, const castnet_options *o) {
  c->arena = arena_new(&c->door, (size_t)o->max_memory);
  c->diags.arena = c->arena;
  PipelineOptions opt;
  StrBuf dump = sb_new(c->arena);
  bool ok = castnet_read_options(c->arena, &c->diags, path, o, &opt);
  opt.dump = &dump;
  opt.on_graph = c->hook;
  opt.user = c->hook_user;
  ok = ok && pipeline_run(c->arena, &c->diags, &opt, &c->pipe);
  if (ok && o->dump_stage && o->dump) o->dump(o->dump_user, dump.data ? dump.data : "", dump.len);
  c->compiled = ok && !o->dump_stage;
  if (c->compiled) describe(c, &opt), describe_plan(c);
  return finish(c, ok);
}

castnet_status castnet_compile(castnet *c, const char *path, const castnet_options *options) {
  castnet_options o = {0};
  if (options) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
  if (c->arena) return fail_plainly(c, DIAG_E0901, "castnet_compile was called twice on one object");
  if (setjmp(c->door.env)) return through_door(c);
  return compile(c, path, &o);
}

castnet_status castnet_write(castnet *c, const char *dir) {
  if (!c->compiled) return fail_plainly(c, DIAG_E0901, "castnet_write without a successful castnet_compile");
  if (setjmp(c->door.env)) return through_door(c);
  return finish(c, fileset_write(&c->pipe.files, &c->diags, dir));
}

static Str join(Arena *a, const char *dir, Str name) {
  size_t n = strlen(dir);
  return arena_printf(a, "%s%s%.*s", dir, n && dir[n - 1] != '/' ? "/" : "", STR_ARG(name));
}

castnet_status castnet_write_depfile(castnet *c, const char *path, const char *dir) {
  if (!c->compiled) return fail_plainly(c, DIAG_E0901, "castnet_write_depfile without a successful castnet_compile");
  if (setjmp(c->door.env)) return through_door(c);
  size_t n = c->pipe.files.files.n;
  Str *names = NEW_ARRAY(c->arena, Str, n);
  for (size_t i = 0; i < n; i++) names[i] = join(c->arena, dir, c->pipe.files.files.data[i].name);
  StrBuf b = sb_new(c->arena);
  depfile_print(&b, names, n, c->pipe.model->files, c->pipe.model->n_files);
  return finish(c, file_write(c->arena, &c->diags, path, sb_view(&b)));
}

size_t castnet_n_files(const castnet *c) { return c->compiled ? c->pipe.files.files.n : 0; }
const char *castnet_file_name(const castnet *c, size_t i) {
  return i < castnet_n_files(c) ? c->pipe.files.files.data[i].name.ptr : NULL;
}

const castnet_interface *castnet_get_interface(const castnet *c) { return c->compiled ? &c->iface : NULL; }

static const Program *program(const castnet *c) { return c->pipe.programs[c->pipe.level]; }
static const BackendCalls *calls(const castnet *c) { return &c->pipe.result.levels[c->pipe.level].calls; }

castnet_memory castnet_get_memory(const castnet *c) {
  int64_t bytes = 0;
  if (!c->compiled) return (castnet_memory){0};
  const Program *p = program(c);
  (void)(p->arena_bytes && dim_is_const(p->arena_bytes, &bytes));
  return (castnet_memory){(uint64_t)bytes, p->lower_bound, p->file_order_peak};
}

size_t castnet_n_levels(const castnet *c) { return c->compiled ? c->pipe.result.n_levels : 0; }

castnet_level castnet_get_level(const castnet *c, size_t i) {
  if (i >= castnet_n_levels(c)) return (castnet_level){.target = ""};
  const BackendLevel *level = &c->pipe.result.levels[i];
  int64_t bytes = 0;
  (void)dim_is_const(level->workspace, &bytes);
  return (castnet_level){level->target->name, level->target->isa_level, (uint64_t)bytes, level->weights, level->own_weights};
}

size_t castnet_n_steps(const castnet *c) { return c->compiled ? calls(c)->n : 0; }

castnet_step castnet_get_step(const castnet *c, size_t i) {
  if (i >= castnet_n_steps(c)) return (castnet_step){.function = ""};
  const BackendCall *call = &calls(c)->data[i];
  castnet_step s = {call->function.ptr, slice(call->step->src.node_name), slice(call->step->src.op_type), -1, -1,
                    slice(step_ops(c->arena, call->step)), slice(step_how(c->arena, call->step))};
  (void)dim_is_const(call->cost.macs, &s.macs);
  (void)dim_is_const(call->cost.bytes, &s.bytes);
  return s;
}

/* ---- the plan ---- */
static void describe_plan(castnet *c) {
  const Program *p = program(c);
  c->life = NEW_ARRAY(c->arena, Life, p->buffers.n);
  plan_lives(p, c->life);
  c->number = NEW_ARRAY(c->arena, uint32_t, p->buffers.n);
  c->planned.n = 0;
  for (uint32_t i = 0; i < p->buffers.n; i++) {
    if (p->buffers.data[i].kind != BUF_ARENA || c->life[i].first == NEVER) continue;
    c->number[i] = (uint32_t)c->planned.n;
    vec_push(c->arena, c->planned, i);
  }
}

void castnet_choose_level(castnet *c, size_t i) {
  if (i >= castnet_n_levels(c)) return;
  c->pipe.level = i;
  describe_plan(c);
}

size_t castnet_n_buffers(const castnet *c) { return c->compiled ? c->planned.n : 0; }

castnet_buffer castnet_get_buffer(const castnet *c, size_t i) {
  if (i >= castnet_n_buffers(c)) return (castnet_buffer){{"", 0}, -1, -1, 0, 0, -1};
  const Program *p = program(c);
  const uint32_t at = c->planned.data[i];
  const Buffer *b = &p->buffers.data[at];
  uint32_t root = at;
  while (p->buffers.data[root].alias_of != NO_BUFFER) root = p->buffers.data[root].alias_of;
  castnet_buffer r = {slice(b->name), -1, -1, (size_t)c->life[at].first, (size_t)c->life[at].last, -1};
  int64_t n;
  if (p->buffers.data[root].offset) (void)dim_is_const(p->buffers.data[root].offset, &r.offset);
  if (dim_is_const(b->n, &n) && n >= 0 && n < INT64_MAX / 256) r.bytes = (n * dtype_rows[b->dtype].bits + 7) / 8;
  if (root != at && c->life[root].first != NEVER) r.storage_of = c->number[root];
  return r;
}

size_t castnet_n_plan_steps(const castnet *c) { return c->compiled ? program(c)->main.steps.n : 0; }

castnet_plan_step castnet_get_plan_step(const castnet *c, size_t i) {
  if (i >= castnet_n_plan_steps(c)) return (castnet_plan_step){.kind = ""};
  const Step *s = &program(c)->main.steps.data[i];
  return (castnet_plan_step){step_names[s->kind], slice(s->src.node_name), slice(s->src.op_type)};
}

/* Elements of float32 between 0 and the least normal number. */
static uint64_t count_subnormal(const OnnxTensor *t) {
  uint64_t n = 0;
  if (dtype_from_onnx(t->data_type) != DT_f32 || !t->data) return 0;
  const unsigned char *p = t->data; /* the file's byte order */
  for (size_t i = 0; i < t->data_bytes / 4; i++, p += 4) n += (p[3] & 0x7f) == 0 && (p[2] & 0x80) == 0 && (p[0] | p[1] | p[2]);
  return n;
}

static void add_parameters(const OnnxTensor *t, castnet_size *ret) {
  const DType type = dtype_from_onnx(t->data_type);
  ret->parameters += t->n_elements;
  ret->parameter_bytes += (t->n_elements * dtype_rows[type].bits + 7) / 8;
  ret->subnormal_parameters += count_subnormal(t);
}

static void add_parameters_of(const OnnxGraph *g, castnet_size *ret) {
  for (size_t i = 0; i < g->n_initializers; i++) add_parameters(&g->initializers[i], ret);
  for (size_t i = 0; i < g->n_nodes; i++) {
    const OnnxNode *n = &g->nodes[i];
    for (size_t k = 0; k < n->n_attrs; k++) {
      if (n->attrs[k].g) add_parameters_of(n->attrs[k].g, ret);
      if (n->attrs[k].t && str_is(n->op_type, "Constant")) add_parameters(n->attrs[k].t, ret);
    }
  }
}

castnet_size castnet_get_size(const castnet *c) {
  if (!c->compiled) return (castnet_size){0};
  const OnnxGraph *g = c->pipe.model->graph;
  castnet_size r = {.nodes = g->n_nodes, .weights = c->pipe.result.weights_bytes};
  add_parameters_of(g, &r);
  return r;
}

const char *castnet_target_name(size_t i) {
  for (size_t k = 0; targets[k]; k++)
    if (k == i) return targets[k]->name;
  return NULL;
}
