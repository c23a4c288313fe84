#include "backend/dims_c.h"
#include "backend/language.h"

#include <inttypes.h>

enum { WORKSPACE_BOUND_MAX = 1 << 30 }; /* beyond it the symbols are unbounded in all but name */

/* The greatest size that the symbols' ranges allow, or false. */
static bool workspace_bound(const Frame *f, int64_t *ret) {
  if (dim_is_const(f->common->need, ret)) return true;
  *ret = f->common->need->hi;
  return f->common->need->hi < WORKSPACE_BOUND_MAX;
}

static void print_workspace(Frame *f, StrBuf *b) {
  int64_t bound;
  if (workspace_bound(f, &bound)) {
    if (!f->common->exact) sb_puts(b, "/* Bytes of workspace that a call starts with; then data decide how much more it needs, which ws_needed tells. */\n");
    else sb_puts(b, dim_is_const(f->common->need, NULL) ? "/* Bytes of workspace that a call needs (1 stands for none). */\n"
                                                  : "/* Bytes of workspace that are enough for all dimensions allowed. */\n");
    sb_printf(b, "#define %.*s_WORKSPACE_SIZE %" PRId64 "\n", STR_WHOLE(f->name), bound < 1 ? 1 : bound);
  }
  sb_printf(b, "/* Alignment of the workspace, in bytes. */\n#define %.*s_WORKSPACE_ALIGN %zu\n", STR_WHOLE(f->name), f->common->align);
  sb_puts(b, "/* 1: the size needed is known before the call; 0: data decide, and ws_needed tells. */\n");
  sb_printf(b, "#define %.*s_WORKSPACE_EXACT %d\n\n", STR_WHOLE(f->name), f->common->exact ? 1 : 0);
}

static void print_dims(Frame *f, StrBuf *b) {
  if (!f->has_dims) return;
  const DimCtx *c = f->program->dims;
  sb_puts(b, "/* The dimensions that a call chooses. One out of range is CASTNET_ERR_DIM. */\ntypedef struct {\n");
  for (size_t i = 0; i < c->symbols.n; i++) {
    const Dim *s = c->symbols.data[i];
    if (!f->in_dims[i]) continue;
    sb_printf(b, "  int64_t %.*s; /* ", STR_WHOLE(f->dim_fields[i]));
    names_comment(b, s->symbol.name, 200);
    if (s->hi < INT64_MAX / 2) sb_printf(b, ", %" PRId64 " to %" PRId64, s->lo, s->hi);
    else sb_printf(b, ", at least %" PRId64, s->lo);
    sb_puts(b, " */\n");
  }
  sb_printf(b, "} %.*s_dims;\n\n", STR_WHOLE(f->name));
}

static void print_inputs(Frame *f, StrBuf *b) {
  sb_puts(b, "/* Inputs: row-major, each aligned as its C type asks, never written. */\ntypedef struct {\n");
  if (f->has_dims) sb_printf(b, "  %.*s_dims dim;\n", STR_WHOLE(f->name));
  for (size_t i = 0; i < f->n_in; i++) types_input_field(f, b, &f->in[i]);
  if (f->n_in == 0) sb_puts(b, "  uint8_t unused; /* the model has no inputs */\n");
  sb_printf(b, "} %.*s_inputs;\n\n", STR_WHOLE(f->name));
}

static void print_outputs(Frame *f, StrBuf *b) {
  bool owned = false, given = false;
  for (size_t i = 0; i < f->n_out; i++) *(f->out[i].owned ? &owned : &given) = true;
  sb_puts(b, "/* Outputs: row-major. Start from {0}.\n");
  if (given) sb_puts(b, " * Pointers without const are the caller's memory, disjoint from each other, the inputs and the workspace.\n");
  if (owned) sb_puts(b, " * Pointers to const are set by the call; they stay good until the next call with the same workspace.\n");
  sb_puts(b, " */\ntypedef struct {\n");
  for (size_t i = 0; i < f->n_out; i++) types_output_field(f, b, &f->out[i]);
  sb_puts(b, "  size_t ws_needed; /* set by each call: bytes of workspace that it needs */\n");
  sb_printf(b, "} %.*s_outputs;\n\n", STR_WHOLE(f->name));
}

static void print_functions(Frame *f, StrBuf *b) {
  int n = (int)f->name.len;
  const char *s = f->name.ptr;
  if (f->has_dims) {
    sb_printf(b, "/* Bytes of workspace for these dimensions; SIZE_MAX if one is out of range, they do not fit together, or a size\n"
                 " * overflows. */\nsize_t %.*s_workspace_size(const %.*s_dims *dims);\n\n", n, s, n, s);
  }
  sb_puts(b, "/* The instruction set level of this machine, for castnet_env.isa: asking once saves each call a microsecond. */\n");
  sb_printf(b, "uint32_t %.*s_detect(void);\n\n", n, s);
  sb_puts(b, "/* Computes the outputs. ws: at least the workspace size above, aligned to the alignment above, disjoint from inputs and\n"
             " * outputs, content ignored. env: NULL for the defaults. Returns CASTNET_OK or an error; reentrant, with a workspace and\n"
             " * outputs for each call that runs at the same time. */\n");
  sb_printf(b, "int %.*s_run(const %.*s_inputs *in, %.*s_outputs *out, void *ws, size_t ws_size, const castnet_env *env);\n",
            n, s, n, s, n, s);
  if (f->opt->weights == WEIGHTS_BIN) {
    sb_printf(b, "\n/* Whether these are weights that the code can run with, as each call finds out: CASTNET_OK, CASTNET_ERR_WEIGHTS (cut off, of\n"
                 " * another version or other code) or CASTNET_ERR_ALIGN (not aligned to 64 bytes). */\n"
                 "int %.*s_check_weights(const void *weights, size_t size);\n", n, s);
  }
  if (f->lang->header) f->lang->header(f, b);
}

void header_print(Frame *f, StrBuf *b) {
  print_workspace(f, b);
  print_dims(f, b);
  types_declare_structs(f, b);
  print_inputs(f, b);
  print_outputs(f, b);
  print_functions(f, b);
}
