#include "backend/dims_c.h"
#include "backend/frame.h"

/* The word of a type in the name of its struct: "f32", "seq_map_str_f32". */
static void type_word(StrBuf *b, const Type *t) {
  for (; t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL; t = t->elem)
    sb_puts(b, t->kind == TYPE_SEQUENCE ? "seq_" : "opt_");
  if (t->kind == TYPE_MAP) sb_printf(b, "map_%s_%s", dtype_name(t->key), dtype_name(t->dtype));
  else sb_puts(b, dtype_name(t->dtype));
}

/* The C type of an element of a sequence or optional: a tensor there brings its shape along. */
void types_print(Frame *f, StrBuf *b, const Type *t) {
  sb_printf(b, "%.*s_%s", STR_WHOLE(f->name), t->kind == TYPE_TENSOR ? "tensor_" : "");
  type_word(b, t);
}

static void declare(Frame *f, StrBuf *b, Map *done, const Type *t) {
  if (t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL) declare(f, b, done, t->elem);
  StrBuf name = sb_new(f->arena);
  types_print(f, &name, t);
  if (map_has(done, sb_view(&name))) return;
  map_put(done, sb_view(&name), f);
  sb_puts(b, "typedef struct {\n");
  if (t->kind == TYPE_TENSOR) {
    sb_printf(b, "  const %s *data;\n  const int64_t *dims; /* [rank] */\n  size_t rank;\n", dtype_rows[t->dtype].ctype);
  } else if (t->kind == TYPE_MAP) {
    sb_printf(b, "  const %s *keys;   /* [count] */\n", dtype_rows[t->key].ctype);
    sb_printf(b, "  const %s *values; /* [count] */\n  size_t count;\n", dtype_rows[t->dtype].ctype);
  } else {
    sb_puts(b, t->kind == TYPE_SEQUENCE ? "  const " : "  uint8_t has; /* value means something only where this is 1 */\n  ");
    types_print(f, b, t->elem);
    sb_puts(b, t->kind == TYPE_SEQUENCE ? " *items; /* [count] */\n  size_t count;\n" : " value;\n");
  }
  sb_printf(b, "} %s;\n\n", name.data);
}

void types_declare_structs(Frame *f, StrBuf *b) {
  Map done = map_new(f->arena);
  for (size_t i = 0; i < f->n_in; i++)
    if (f->in[i].type.kind != TYPE_TENSOR) declare(f, b, &done, &f->in[i].type);
  for (size_t i = 0; i < f->n_out; i++)
    if (f->out[i].type.kind != TYPE_TENSOR) declare(f, b, &done, &f->out[i].type);
}

void types_shape(Frame *f, StrBuf *b, const Type *t) {
  if (t->rank == 0) sb_puts(b, "a scalar");
  for (uint32_t i = 0; i < t->rank; i++) {
    sb_putc(b, '[');
    if (dim_has_data(t->dims[i])) sb_putc(b, '?');
    else dimc_print(b, t->dims[i], &(DimNames){.symbols = f->dim_fields}, false);
    sb_putc(b, ']');
  }
}

/* "[1][28][28], \"Input3\", two elements a byte" */
static void field_comment(Frame *f, StrBuf *b, const IoField *io) {
  sb_puts(b, " /* ");
  if (io->type.kind == TYPE_TENSOR) {
    types_shape(f, b, &io->type);
    sb_puts(b, ", ");
  }
  names_comment(b, io->onnx, 200);
  unsigned bits = dtype_rows[io->type.dtype].bits;
  if (io->type.kind == TYPE_TENSOR && bits < 8) sb_printf(b, ", %s: %u elements a byte, low bits first", dtype_name(io->type.dtype), 8 / bits);
  if (io->type.kind == TYPE_TENSOR && io->type.dtype == DT_b1) sb_puts(b, ", 0 or 1");
  sb_puts(b, " */\n");
}

void types_input_field(Frame *f, StrBuf *b, const IoField *io) {
  sb_puts(b, "  ");
  if (io->type.kind == TYPE_TENSOR) sb_printf(b, "const %s *", dtype_rows[io->type.dtype].ctype);
  else types_print(f, b, &io->type);
  sb_printf(b, "%s%.*s;", io->type.kind == TYPE_TENSOR ? "" : " ", STR_WHOLE(io->name));
  field_comment(f, b, io);
}

void types_output_field(Frame *f, StrBuf *b, const IoField *io) {
  const char *ctype = dtype_rows[io->type.dtype].ctype, *constant = io->owned ? "const " : "";
  sb_puts(b, "  ");
  if (io->type.kind != TYPE_TENSOR) {
    types_print(f, b, &io->type);
    sb_putc(b, ' ');
  } else if (!io->sized) {
    sb_printf(b, "%s%s *", constant, ctype);
  } else {
    sb_printf(b, "struct {\n    %s%s *data;\n", constant, ctype);
    if (!io->owned) sb_puts(b, "    size_t capacity; /* elements that data has room for */\n");
    sb_printf(b, "    int64_t dims[%u];\n  } ", io->type.rank);
  }
  sb_printf(b, "%.*s;", STR_WHOLE(io->name));
  field_comment(f, b, io);
}
