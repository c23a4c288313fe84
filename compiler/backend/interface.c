#include "backend/interface.h"

#include "backend/language.h"

static InterfaceField *fields(Frame *f, const IoField *io, size_t n) {
  InterfaceField *ret = NEW_ARRAY(f->arena, InterfaceField, n);
  for (size_t i = 0; i < n; i++)
    ret[i] = (InterfaceField){.name = io[i].onnx, .c_name = str_c(arena_cstr(f->arena, io[i].name)), .type = &io[i].type,
                              .sized = io[i].sized, .owned = io[i].owned};
  return ret;
}

bool backend_interface(Arena *a, Diags *d, const Program *p, const BackendOptions *opt, Interface *ret) {
  Frame *f = NEW(a, Frame);
  if (!frame_init(f, a, d, p, opt)) return false;
  *ret = (Interface){.prefix = str_c(arena_cstr(a, f->name)), .inputs = fields(f, f->in, f->n_in), .n_inputs = f->n_in,
                     .outputs = fields(f, f->out, f->n_out), .n_outputs = f->n_out,
                     .dims = NEW_ARRAY(a, InterfaceDim, p->dims->symbols.n),
                     .weights_at_run_time = opt->weights == WEIGHTS_BIN, .device = f->lang->device,
                     .source = arena_printf(a, "%.*s%s", STR_ARG(f->name), f->lang->suffix), .workspace = f->arena_bytes};
  for (size_t i = 0; i < p->dims->symbols.n; i++)
    if (f->in_dims[i])
      ret->dims[ret->n_dims++] = (InterfaceDim){str_c(arena_cstr(a, f->dim_fields[i])), p->dims->symbols.data[i]};
  return true;
}
