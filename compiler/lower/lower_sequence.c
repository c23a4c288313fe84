/* Sequences and optionals at the border of the graph: the caller's structs (runtime-lite/ops/sequence_io.h). */
#include "ir/build.h"
#include "lower/lower_private.h"

static ExternAttrValue int_value(const char *name, int64_t v) { return (ExternAttrValue){.name = str_c(name), .kind = EXTERN_INT, .n = 1, .i = v}; }

/* What tensors given must be: NULL sizes are any. */
static ExternAttrValue sizes_value(Lower *l, const SeqType *s) {
  const size_t n = s->rank > 0 ? (size_t)s->rank : 0;
  int64_t *sizes = NEW_ARRAY(l->a, int64_t, n);
  for (size_t i = 0; i < n; i++)
    if (!s->dims[i] || !dim_is_const(s->dims[i], &sizes[i])) sizes[i] = -1;
  return (ExternAttrValue){.name = STR("sizes"), .kind = EXTERN_INTS, .n = n, .ints = sizes};
}

static ExternAttr routine(Lower *l, const char *symbol, const ExternAttrValue *values, size_t n) {
  return (ExternAttr){.symbol = str_c(symbol), .measured = true, .attrs = arena_dup(l->a, values, n * sizeof *values), .n_attrs = n};
}

void lower_sequence_input(Lower *l, const Value *v, uint32_t index) {
  const SeqType *s = v->type.seq;
  /* an opaque struct: one element stands for it */
  const uint32_t given = lower_tensor(l, DT_u8, 0, NULL, (Buffer){.kind = BUF_INPUT, .index = index, .name = v->name, .align = 1});
  vec_push(l->p->arena, l->p->inputs, given);
  const ExternAttrValue values[] = {int_value("form", (int64_t)s->form), int_value("dtype", dtype_rows[s->dtype].onnx), int_value("rank", s->rank), sizes_value(l, s)};
  const ExternAttr attr = routine(l, "cn_op_seq_pack", values, 4);
  const uint32_t out = lower_result(l, v);
  lower_routine(l, &attr, &given, 1, &out, 1, (DiagPlace){.node_name = v->name});
}

void lower_sequence_output(Lower *l, const Value *v, uint32_t index, Str name) {
  DimCtx *c = l->p->dims;
  const DiagPlace src = {.node_name = name};
  const uint32_t content = lower_dense(l, v, src);
  const Dim **dims = NEW_ARRAY(l->a, const Dim *, 2);
  Builder b = {l->ir, l->ir->main, src};
  dims[0] = v->items ? dim_const(c, v->items->n) : bd_data_symbol(&b, "count", 0, INT32_MAX, NULL);
  dims[1] = dim_const(c, 3);
  const ExternAttrValue value = int_value("form", (int64_t)v->type.seq->form);
  ExternAttr attr = routine(l, "cn_op_seq_unpack", &value, 1);
  attr.measured = v->items == NULL;
  const uint32_t items = lower_tensor(l, DT_u64, 2, dims, (Buffer){.kind = BUF_OUTPUT, .index = index, .name = name});
  lower_routine(l, &attr, &content, 1, &items, 1, src);
  vec_push(l->p->arena, l->p->outputs, ((ProgramOutput){items, type_outside(l->a, &v->type), name, content}));
}
