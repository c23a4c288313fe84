#include "backend/interface.h"

#include "backend/language.h"

static InterfaceField *fields(Frame *f, const IoField *io, size_t n) {
  InterfaceField *ret = NEW_ARRAY(f->arena, InterfaceField, n);
  for (size_t i = 0; i < n; i++)
    ret[i] = (InterfaceField){.name = io[i].onnx, .c_name = str_c(arena_cstr(f->arena, io[i].name)), .type = &io[i].type,
                              .sized = io[i].sized, .owned = io[i].owned};
  return ret;
}

/* The files but the header and those of the weights, which come first. */
static void name_sources(Arena *a, const BackendOptions *opt, Interface *ret) {
  Str names[BACKEND_MAX_FILES];
  const size_t n = backend_file_names(a, opt->name, opt->target, opt->weights, names);
  ret->n_sources = opt->target->n_levels + 1;
  ret->sources = arena_dup(a, names + n - 1 - ret->n_sources, ret->n_sources * sizeof *names);
}

bool backend_interface(Arena *a, Diags *d, const Program *const *programs, const BackendOptions *opt, Interface *ret) {
  const Common *common = frames_new(a, d, programs, opt);
  if (!common) return false;
  Frame *f = common->frames[0];
  const Program *p = f->program;
  *ret = (Interface){.prefix = str_c(arena_cstr(a, f->name)), .inputs = fields(f, f->in, f->n_in), .n_inputs = f->n_in,
                     .outputs = fields(f, f->out, f->n_out), .n_outputs = f->n_out,
                     .dims = NEW_ARRAY(a, InterfaceDim, p->dims->symbols.n),
                     .weights_at_run_time = opt->weights == WEIGHTS_BIN, .device = f->lang->device,
                     .workspace = common->need};
  name_sources(a, opt, ret);
  for (size_t i = 0; i < p->dims->symbols.n; i++)
    if (f->in_dims[i])
      ret->dims[ret->n_dims++] = (InterfaceDim){str_c(arena_cstr(a, f->dim_fields[i])), p->dims->symbols.data[i]};
  return true;
}
