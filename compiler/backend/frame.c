#include "backend/frame.h"

#include "backend/dims_c.h"
#include "backend/language.h"

static bool type_is_sized(const Type *t) {
  if (t->kind != TYPE_TENSOR) return false;
  for (uint32_t i = 0; i < t->rank; i++)
    if (!dim_is_const(t->dims[i], NULL)) return true;
  return false;
}

bool frame_needs_data(const Type *t) {
  if (t->kind != TYPE_TENSOR) return true;
  for (uint32_t i = 0; i < t->rank; i++)
    if (dim_has_data(t->dims[i])) return true;
  return false;
}

static void init_inputs(Frame *f) {
  const Program *p = f->program;
  const Graph *g = p->ir->main;
  NameScope scope = names_scope(f->arena);
  names_reserve(&scope, "dim");
  f->n_in = g->inputs.n;
  f->in = NEW_ARRAY(f->arena, IoField, f->n_in);
  for (size_t i = 0; i < f->n_in; i++) {
    const Value *v = g->inputs.data[i];
    uint32_t t = i < p->inputs.n ? p->inputs.data[i] : NO_TENSOR;
    f->in[i] = (IoField){.name = names_add(&scope, v->name, "input"), .onnx = v->name, .type = type_outside(f->arena, &v->type), .tensor = t,
                         .buffer = t == NO_TENSOR ? NO_BUFFER : p->tensors.data[t].buffer, .sized = type_is_sized(&v->type)};
  }
}

static void init_outputs(Frame *f) {
  const Program *p = f->program;
  NameScope scope = names_scope(f->arena);
  names_reserve(&scope, "ws_needed");
  f->n_out = p->outputs.n;
  f->out = NEW_ARRAY(f->arena, IoField, f->n_out);
  for (size_t i = 0; i < f->n_out; i++) {
    const ProgramOutput *o = &p->outputs.data[i];
    f->out[i] = (IoField){.name = names_add(&scope, o->name, "output"), .onnx = o->name, .type = o->type, .tensor = o->tensor,
                          .buffer = o->tensor == NO_TENSOR ? NO_BUFFER : p->tensors.data[o->tensor].buffer,
                          .content = o->content, .sized = type_is_sized(&o->type),
                          .owned = f->opt->outputs == OUTPUTS_WORKSPACE || frame_needs_data(&o->type)};
  }
}

/* dim_batch: no local, parameter or function of a printer, the runtime or a C library is called dim_..., so that whatever the model calls
 * its dimensions hides nothing; N_run and the like are, where N begins so. */
static Str local_name(const Frame *f, NameScope *scope, Str symbol) {
  const Str own = arena_printf(f->arena, "%.*s_", STR_WHOLE(f->name));
  const char *prefix = str_starts(own, "dim_") ? "extent_" : "dim_";
  if (!str_starts(symbol, prefix)) symbol = arena_printf(f->arena, "%s%.*s", prefix, STR_WHOLE(symbol));
  return names_add(scope, symbol, "dim");
}

/* The functions of the user's own operators may be called anything. */
static void reserve_custom(const Program *p, NameScope *scope) {
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    if (s->kind == STEP_EXTERN && ((const ExternStep *)s->attr)->attr.custom) map_put(&scope->used, ((const ExternStep *)s->attr)->attr.symbol, scope);
  }
}

static void init_dims(Frame *f) {
  const DimCtx *c = f->program->dims;
  f->in_dims = NEW_ARRAY(f->arena, bool, c->symbols.n);
  f->dim_fields = NEW_ARRAY(f->arena, Str, c->symbols.n);
  f->locals = NEW_ARRAY(f->arena, Str, c->symbols.n);
  for (size_t i = 0; i < f->n_in; i++)
    for (uint32_t k = 0; f->in[i].type.kind == TYPE_TENSOR && k < f->in[i].type.rank; k++)
      dimc_symbols(f->in[i].type.dims[k], f->in_dims);
  NameScope fields = names_scope(f->arena), locals = names_scope(f->arena);
  reserve_custom(f->program, &locals);
  for (size_t i = 0; i < c->symbols.n; i++) {
    const Dim *s = c->symbols.data[i];
    if (s->symbol.origin != DIM_FROM_INPUT) f->in_dims[i] = false;
    f->has_dims |= f->in_dims[i];
    if (f->in_dims[i]) f->dim_fields[i] = names_add(&fields, s->symbol.name, "dim");
    f->locals[i] = local_name(f, &locals, s->symbol.name);
  }
}

static const Dim *round_up(DimCtx *c, const Dim *d, size_t align) {
  return dim_mulc(c, dim_ceildiv(c, d, dim_const(c, (int64_t)align)), (int64_t)align);
}

/* Bytes of a buffer; an upper bound where data decides its size. */
static const Dim *buffer_bytes(DimCtx *c, const Buffer *b) {
  const Dim *n = dim_has_data(b->n) ? dim_upper(c, b->n) : b->n;
  unsigned bits = dtype_rows[b->dtype].bits;
  return bits >= 8 ? dim_mulc(c, n, bits / 8) : dim_ceildiv(c, dim_mulc(c, n, bits), dim_const(c, 8));
}

/* Outputs that the library owns and that the planner has not placed lie behind everything else: they live on after the call. */
static void place_outputs(Frame *f) {
  const Program *p = f->program;
  f->arena_bytes = p->arena_bytes ? p->arena_bytes : p->dims->zero;
  f->placed = NEW_ARRAY(f->arena, const Dim *, p->buffers.n);
  for (size_t i = 0; i < f->n_out; i++) {
    uint32_t b = f->out[i].buffer;
    if (!f->out[i].owned || b == NO_BUFFER || p->buffers.data[b].kind != BUF_OUTPUT || p->buffers.data[b].offset) continue;
    f->placed[b] = round_up(p->dims, f->arena_bytes, p->buffers.data[b].align);
    f->arena_bytes = dim_add(p->dims, f->placed[b], buffer_bytes(p->dims, &p->buffers.data[b]));
  }
  f->arena_bytes = dim_addc(p->dims, f->arena_bytes, (int64_t)f->lang->head);
  f->decided = program_decided(f->arena, p);
}

/* Pointers to text mean nothing on a device. */
static bool has_strings(const Program *p) {
  bool any = false;
  for (size_t i = 0; i < p->buffers.n; i++) any = any || p->buffers.data[i].dtype == DT_str;
  return any;
}

static bool check_program(const Frame *f) {
  size_t before = f->diags->list.n;
  if (*f->lang->device && has_strings(f->program)) diag_add(f->diags, DIAG_E0306, (DiagPlace){0}, "strings on target %s", f->opt->target->name);
  for (size_t i = 0; i < f->n_out; i++) {
    const IoField *o = &f->out[i];
    if ((o->type.kind == TYPE_TENSOR || !*f->lang->device) && o->buffer != NO_BUFFER && f->program->buffers.data[o->buffer].kind == BUF_OUTPUT) continue;
    diag_add(f->diags, DIAG_E0306, (DiagPlace){0}, "graph output %s of this type is not compiled", diag_quote(f->diags, o->onnx));
  }
  for (size_t i = 0; i < f->n_in; i++)
    if (f->in[i].type.kind != TYPE_TENSOR && *f->lang->device)
      diag_add(f->diags, DIAG_E0306, (DiagPlace){0}, "graph input %s of this type is not compiled",
               diag_quote(f->diags, f->in[i].onnx));
  if (dim_is_bad(f->arena_bytes))
    diag_add(f->diags, DIAG_E0501, (DiagPlace){0}, "the workspace is larger than the address space");
  else if (dim_has_data(f->arena_bytes))
    diag_add(f->diags, DIAG_E0306, (DiagPlace){0}, "data decide how much workspace is needed, without a useful upper bound");
  return f->diags->list.n == before;
}

static bool frame_init(Frame *f) {
  init_inputs(f);
  init_outputs(f);
  init_dims(f);
  place_outputs(f);
  return check_program(f);
}

static Frame *frame_new(Arena *a, Diags *d, Common *common, const Program *p, const Target *level) {
  Frame *f = NEW(a, Frame);
  BackendOptions *opt = arena_dup(a, common->opt, sizeof *opt);
  opt->target = level;
  *f = (Frame){.arena = a, .diags = d, .program = p, .opt = opt, .common = common, .level = common->n_frames, .lang = language_of(level),
               .name = backend_c_name(a, opt->name), .offsets = map_new(a)};
  return f;
}

/* What a caller has to give is enough for whichever level runs. */
static void share_workspace(Common *c, const Frame *f) {
  const Program *p = f->program;
  c->need = c->need ? dim_max(p->dims, c->need, f->arena_bytes) : f->arena_bytes;
  c->exact = c->exact && p->regions.n == 0 && !p->makes_strings;
  for (size_t i = 0; i < p->buffers.n; i++)
    if (p->buffers.data[i].kind == BUF_ARENA && p->buffers.data[i].align > c->align) c->align = p->buffers.data[i].align;
}

Common *frames_new(Arena *a, Diags *d, const Program *const *programs, const BackendOptions *opt) {
  const Target *const *levels = opt->target->n_levels ? opt->target->levels : &opt->target;
  const size_t n = opt->target->n_levels ? opt->target->n_levels : 1;
  Common *c = NEW(a, Common);
  *c = (Common){.opt = opt, .frames = NEW_ARRAY(a, Frame *, n), .align = opt->target->align, .exact = true, .weights_end = WEIGHTS_HEADER,
                .weights_size = WEIGHTS_HEADER, .weights_by_key = map_new(a)};
  for (; c->n_frames < n; c->n_frames++) {
    Frame *f = frame_new(a, d, c, programs[c->n_frames], levels[c->n_frames]);
    if (!frame_init(f)) return NULL;
    c->frames[c->n_frames] = f;
    share_workspace(c, f);
  }
  return c;
}
