/* Maps at the border of the graph: the caller's structs (runtime-lite/ops/maps.h). */
#include "lower/lower_private.h"

void lower_map_input(Lower *l, const Value *v, uint32_t index) {
  /* an opaque struct: one element stands for it */
  const uint32_t given = lower_tensor(l, DT_u8, 0, NULL, (Buffer){.kind = BUF_INPUT, .index = index, .name = v->name, .align = 1});
  const ExternAttrValue value = {.name = STR("sequence"), .kind = EXTERN_INT, .n = 1, .i = v->type.map->sequence};
  const ExternAttr attr = {.symbol = STR("cn_op_map_input"), .measured = v->type.map->sequence, .attrs = arena_dup(l->a, &value, sizeof value), .n_attrs = 1};
  vec_push(l->p->arena, l->p->inputs, given);
  const uint32_t out = lower_result(l, v);
  lower_routine(l, &attr, &given, 1, &out, 1, (DiagPlace){.node_name = v->name});
}

/* The step that made the structs made the values to which they point: its second result. */
void lower_map_output(Lower *l, const Value *v, uint32_t index, Str name) {
  const DiagPlace src = v->def ? v->def->src : (DiagPlace){.node_name = name};
  if (!v->def || v->def->op != OP_EXTERN || v->def->n_out != 2) {
    l->failed = true;
    (void)diag_add(l->ir->diags, DIAG_E0306, src, "graph output %s: a map that no node of the graph makes", diag_quote(l->ir->diags, name));
    return;
  }
  const uint32_t values = lower_dense(l, v->def->out[1], src);
  const uint32_t maps = lower_tensor(l, DT_u64, v->type.rank, v->type.dims, (Buffer){.kind = BUF_OUTPUT, .index = index, .name = name});
  lower_store(l, lower_virt(l, v), v->type.rank, v->type.dims, maps, src);
  vec_push(l->p->arena, l->p->outputs, ((ProgramOutput){maps, type_outside(l->a, &v->type), name, values}));
}
