/* Maps at the border of the graph: the caller's structs (runtime-lite/ops/maps.h). */
#include "lower/lower_private.h"

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
