/* The driver of lowering, and what all operators share: virtual values, results, stores. */
#include "lower/lower_private.h"

static const LowerFn lower_fns[OP_COUNT] = {
    [OP_POINTWISE] = lower_pointwise, [OP_VIEW] = lower_view,       [OP_RESHAPE] = lower_reshape, [OP_PAD] = lower_pad,
    [OP_CONCAT] = lower_concat,       [OP_GATHER] = lower_gather,   [OP_SCATTER] = lower_scatter, [OP_REDUCE] = lower_reduce,
    [OP_SCAN] = lower_scan,           [OP_CONTRACT] = lower_contract, [OP_CODES] = lower_codes, [OP_CONV] = lower_conv,     [OP_POOL] = lower_pool,
    [OP_LRN] = lower_lrn,             [OP_SOFTMAX] = lower_softmax, [OP_NORM] = lower_norm,       [OP_RECURRENT] = lower_recurrent,
    [OP_EXTERN] = lower_extern,
    [OP_SYMBOLS] = lower_symbols,     [OP_DIMS] = lower_dims,           [OP_IF] = lower_if,           [OP_LOOP] = lower_loop,
};

bool lower_unsupported(Lower *l, const Node *n, const char *what) {
  (void)diag_add(l->ir->diags, DIAG_E0306, n->src, "%s", what);
  return false;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------------- */
static const Dim *const *dense_strides(Lower *l, uint32_t rank, const Dim *const *dims) {
  const Dim **s = NEW_ARRAY(l->a, const Dim *, rank);
  const Dim *step = l->p->dims->one;
  for (uint32_t a = rank; a-- > 0;) {
    s[a] = step;
    step = dim_mul(l->p->dims, step, dims[a]);
  }
  return s;
}

static uint32_t add_tensor(Lower *l, PTensor t) {
  uint32_t id = program_add_tensor(l->p, t);
  vec_push(l->a, l->step_of, -1);
  return id;
}

uint32_t lower_tensor(Lower *l, DType t, uint32_t rank, const Dim *const *dims, Buffer b) {
  b.dtype = t;
  b.n = dim_product(l->p->dims, dims, rank);
  b.alias_of = NO_BUFFER;
  if (!b.align) b.align = l->opt->target->align;
  uint32_t buffer = program_add_buffer(l->p, b);
  return add_tensor(l, (PTensor){t, rank, dims, buffer, l->p->dims->zero, dense_strides(l, rank, dims), b.name});
}

uint32_t lower_place(Lower *l, DType t, uint32_t rank, const Dim *const *dims, uint32_t buffer, const Dim *offset) {
  return add_tensor(l, (PTensor){t, rank, dims, buffer, offset, dense_strides(l, rank, dims), (Str){0}});
}

uint32_t lower_temp(Lower *l, DType t, uint32_t rank, const Dim *const *dims, Str name) {
  return lower_tensor(l, t, rank, dims, (Buffer){.kind = BUF_ARENA, .name = name});
}

uint32_t lower_constant(Lower *l, DType t, uint32_t rank, const Dim *const *dims, const Tensor *data, Str name) {
  return lower_tensor(l, t, rank, dims, (Buffer){.kind = BUF_CONST, .data = data, .name = name});
}

uint32_t lower_result(Lower *l, const Value *v) {
  int32_t output = l->slots[v->id].output;
  Buffer b = {.kind = output >= 0 ? BUF_OUTPUT : BUF_ARENA, .index = output >= 0 ? (uint32_t)output : 0, .name = v->name};
  uint32_t t = lower_tensor(l, v->type.dtype, v->type.rank, v->type.dims, b);
  Virt virt = virt_of_tensor(l->p, t);
  lower_set_virt(l, v, &virt);
  l->slots[v->id].result = t;
  return t;
}

uint32_t lower_subtensor(Lower *l, uint32_t tensor, const Dim *const *offset, const Dim *const *dims) {
  PTensor t = l->p->tensors.data[tensor];
  for (uint32_t a = 0; a < t.rank; a++)
    if (offset[a]) t.offset = dim_add(l->p->dims, t.offset, dim_mul(l->p->dims, offset[a], t.strides[a]));
  t.dims = arena_dup(l->a, dims, t.rank * sizeof *dims);
  uint32_t id = add_tensor(l, t);
  l->step_of.data[id] = l->step_of.data[tensor];
  return id;
}

/* ---- values ---------------------------------------------------------------------------------------------------------------- */
Virt *lower_new_virt(Lower *l, const Virt *virt) {
  if (!l->spare.n) return arena_dup(l->a, virt, sizeof *virt);
  Virt *r = l->spare.data[--l->spare.n];
  *r = *virt;
  return r;
}

void lower_set_virt(Lower *l, const Value *v, const Virt *virt) { l->slots[v->id].virt = lower_new_virt(l, virt); }

/* A constant of one element is its value; others are stored weights. */
static void constant_virt(Lower *l, const Value *v) {
  Virt virt = {.rank = v->type.rank};
  DType compute = dtype_compute(v->type.dtype);
  const DTypeRow *row = &dtype_rows[v->type.dtype];
  if (v->data->n == 1 && row->kind != KIND_X && row->kind != KIND_C && row->bits >= 8) {
    uint64_t wide = 0;
    cast_eval_strip(v->type.dtype, compute, true, tensor_host_elements(l->a, v->data), &wide, 1);
    (void)expr_const_bits(l->a, &virt.expr, v->type.dtype, dtype_read_bits(compute, &wide));
  } else {
    virt = virt_of_tensor(l->p, lower_constant(l, v->type.dtype, v->type.rank, v->type.dims, v->data, v->name));
  }
  lower_set_virt(l, v, &virt);
}

const Virt *lower_virt(Lower *l, const Value *v) {
  if (!l->slots[v->id].virt && v->data) constant_virt(l, v);
  return l->slots[v->id].virt;
}

void lower_writes(Lower *l, uint32_t tensor, int32_t step) {
  const uint32_t buffer = l->p->tensors.data[tensor].buffer;
  l->step_of.data[tensor] = step;
  while (l->written.n <= buffer) vec_push(l->a, l->written, -1);
  l->written.data[buffer] = step;
}

void lower_decides(Lower *l, const Dim *symbol) { l->decided[symbol->symbol.index] = (int32_t)l->p->main.steps.n + 1; }

Step *lower_step(Lower *l, StepKind kind, const uint32_t *in, size_t n_in, const uint32_t *out, size_t n_out, const void *attr,
                 const Dim *scratch, DiagPlace src) {
  Step s = {.kind = kind, .n_in = (uint32_t)n_in, .n_out = (uint32_t)n_out, .attr = attr, .src = src, .scratch = NO_TENSOR};
  s.in = arena_dup(l->a, in, n_in * sizeof *in);
  s.out = arena_dup(l->a, out, n_out * sizeof *out);
  if (scratch && !dim_is(scratch, 0)) {
    const Dim **dims = NEW(l->a, const Dim *);
    dims[0] = scratch;
    s.scratch = lower_temp(l, DT_u8, 1, dims, (Str){0});
  }
  for (size_t i = 0; i < n_out; i++)
    if (out[i] != NO_TENSOR) lower_writes(l, out[i], (int32_t)l->p->main.steps.n);
  vec_push(l->p->arena, l->p->main.steps, s);
  return &l->p->main.steps.data[l->p->main.steps.n - 1];
}

void lower_store(Lower *l, const Virt *v, uint32_t rank, const Dim *const *dims, uint32_t tensor, DiagPlace src) {
  Nest *n = NEW(l->a, Nest);
  Access *loads = NEW_ARRAY(l->a, Access, v->n_loads);
  uint32_t in[VIRT_MAX_LOADS];
  for (uint32_t k = 0; k < v->n_loads; k++) {
    loads[k] = virt_access(l->p, &v->loads[k], rank);
    in[k] = loads[k].tensor;
  }
  Virt target = virt_of_tensor(l->p, tensor);
  *n = (Nest){.mode = NEST_MAP, .n_axes = rank, .extent = dims, .map = v->expr, .loads = loads, .n_loads = v->n_loads};
  n->store = virt_access(l->p, &target.loads[0], rank);
  nest_simplify(l->a, l->p->dims, n);
  (void)lower_step(l, STEP_NEST, in, v->n_loads, &tensor, 1, n, NULL, src);
}

void lower_materialise(Lower *l, const Value *v, DiagPlace src) {
  const Virt *virt = lower_virt(l, v);
  if (virt_plain_tensor(l->p, virt, &v->type) != NO_TENSOR) return;
  uint32_t t = lower_result(l, v);
  lower_store(l, virt, v->type.rank, v->type.dims, t, src);
}

/* A constant of one element for a reader that takes addresses: a stored weight; other readers keep its value. */
static uint32_t stored_constant(Lower *l, const Value *v) {
  Slot *s = &l->slots[v->id];
  if (s->result == NO_TENSOR) s->result = lower_constant(l, v->type.dtype, v->type.rank, v->type.dims, v->data, v->name);
  return s->result;
}

/* A view of another value by which axes of one element come or go: that value's tensor, seen so; else NO_TENSOR. */
static uint32_t reordered(Lower *l, const Value *v) {
  const uint32_t base = virt_window_tensor(lower_virt(l, v));
  if (base == NO_TENSOR || !v->def || v->def->op != OP_VIEW || l->slots[v->id].output >= 0 || !ptensor_is_contiguous(l->p->dims, &l->p->tensors.data[base])) return NO_TENSOR;
  const uint32_t t = lower_window(l, v, v->def->src);
  const PTensor *from = &l->p->tensors.data[base], *to = &l->p->tensors.data[t];
  const Dim *const n = dim_product(l->p->dims, from->dims, from->rank);
  const bool whole = from->offset == to->offset && n == dim_product(l->p->dims, to->dims, to->rank);
  return whole && ptensor_is_contiguous(l->p->dims, to) ? t : NO_TENSOR;
}

uint32_t lower_dense(Lower *l, const Value *v, DiagPlace src) {
  if (!v) return NO_TENSOR;
  uint32_t t = virt_plain_tensor(l->p, lower_virt(l, v), &v->type);
  if (t != NO_TENSOR && ptensor_is_contiguous(l->p->dims, &l->p->tensors.data[t])) return t;
  if (v->data) return stored_constant(l, v);
  const Virt *virt = lower_virt(l, v);
  if (t == NO_TENSOR && (t = reordered(l, v)) != NO_TENSOR) return t;
  t = lower_result(l, v);
  lower_store(l, virt, v->type.rank, v->type.dims, t, v->def ? v->def->src : src);
  return t;
}

uint32_t lower_window(Lower *l, const Value *v, DiagPlace src) {
  const Virt *virt = lower_virt(l, v);
  uint32_t base = virt_window_tensor(virt);
  if (base == NO_TENSOR) return lower_dense(l, v, src);
  if (virt_plain_tensor(l->p, virt, &v->type) != NO_TENSOR) return base;
  Access acc = virt_access(l->p, &virt->loads[0], v->type.rank);
  PTensor t = l->p->tensors.data[base];
  t.offset = dim_add(l->p->dims, t.offset, acc.offset);
  t.rank = v->type.rank;
  t.dims = v->type.dims;
  t.strides = acc.stride;
  uint32_t id = add_tensor(l, t);
  l->step_of.data[id] = l->step_of.data[base];
  return id;
}

/* ---- driver ------------------------------------------------------------------------------------------------------------------ */
static bool inputs_ready(Lower *l, const Node *n) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] && !lower_virt(l, n->in[i])) return false; /* its producer failed and was reported */
  return true;
}

static void count_body_uses(Lower *l, const Graph *g);

static void count_node_uses(Lower *l, const Graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    for (uint32_t k = 0; !n->dead && k < n->n_in; k++)
      if (n->in[k]) l->slots[n->in[k]->id].uses++;
    if (!n->dead && n->op == OP_LOOP) count_body_uses(l, ((const LoopAttr *)n->attr)->body);
    if (!n->dead && n->op == OP_IF) {
      count_body_uses(l, ((const IfAttr *)n->attr)->then_graph);
      count_body_uses(l, ((const IfAttr *)n->attr)->else_graph);
    }
  }
}

static void count_body_uses(Lower *l, const Graph *g) {
  count_node_uses(l, g);
  for (size_t i = 0; i < g->outputs.n; i++) l->slots[g->outputs.data[i]->id].uses++;
}

static void count_uses(Lower *l, const Graph *g) {
  count_node_uses(l, g);
  for (size_t i = 0; i < g->outputs.n; i++) {
    Slot *s = &l->slots[g->outputs.data[i]->id];
    s->uses++;
    if (s->output < 0 && !g->outputs.data[i]->type.seq && !g->outputs.data[i]->type.map) s->output = (int32_t)i;
  }
}

static void lower_inputs(Lower *l, const Graph *g) {
  for (size_t i = 0; i < g->inputs.n; i++) {
    const Value *v = g->inputs.data[i];
    if (v->type.seq) {
      lower_sequence_input(l, v, (uint32_t)i);
      continue;
    }
    if (v->type.map) {
      lower_map_input(l, v, (uint32_t)i);
      continue;
    }
    uint32_t t = lower_tensor(l, v->type.dtype, v->type.rank, v->type.dims,
                              (Buffer){.kind = BUF_INPUT, .index = (uint32_t)i, .name = v->name, .align = 1});
    Virt virt = virt_of_tensor(l->p, t);
    lower_set_virt(l, v, &virt);
    vec_push(l->p->arena, l->p->inputs, t);
  }
}

/* Each graph output ends in an output buffer of its own. */
static void lower_outputs(Lower *l, const Graph *g) {
  for (size_t i = 0; i < g->outputs.n; i++) {
    const Value *v = g->outputs.data[i];
    const Str name = i < g->output_names.n ? g->output_names.data[i] : v->name;
    const Virt *virt = lower_virt(l, v);
    if (!virt) continue;
    if (v->type.seq) {
      lower_sequence_output(l, v, (uint32_t)i, name);
      continue;
    }
    if (v->type.map) {
      lower_map_output(l, v, (uint32_t)i, name);
      continue;
    }
    uint32_t t = virt_plain_tensor(l->p, virt, &v->type);
    const Buffer *b = t == NO_TENSOR ? NULL : &l->p->buffers.data[l->p->tensors.data[t].buffer];
    if (!b || b->kind != BUF_OUTPUT || b->index != i || !ptensor_is_contiguous(l->p->dims, &l->p->tensors.data[t])) {
      t = lower_tensor(l, v->type.dtype, v->type.rank, v->type.dims,
                       (Buffer){.kind = BUF_OUTPUT, .index = (uint32_t)i, .name = name});
      lower_store(l, virt, v->type.rank, v->type.dims, t, v->def ? v->def->src : (DiagPlace){0});
    }
    vec_push(l->p->arena, l->p->outputs, ((ProgramOutput){t, v->type, name, NO_TENSOR}));
  }
}

static bool all_tensors(Lower *l, const Graph *g) {
  bool ok = true;
  for (size_t i = 0; i < g->inputs.n; i++) ok = ok && g->inputs.data[i]->type.kind == TYPE_TENSOR;
  for (size_t i = 0; i < g->outputs.n; i++) ok = ok && g->outputs.data[i]->type.kind == TYPE_TENSOR;
  if (!ok) (void)diag_add(l->ir->diags, DIAG_E0306, (DiagPlace){0}, "inputs and outputs that are maps");
  return ok;
}

void lower_nodes(Lower *l, const Graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    if (n->dead) continue;
    if (!inputs_ready(l, n) || !lower_fns[n->op](l, n)) {
      l->failed = true;
      continue;
    }
    for (uint32_t k = 0; !l->opt->fuse && k < n->n_out; k++)
      if (n->out[k] && l->slots[n->out[k]->id].virt) lower_materialise(l, n->out[k], n->src);
  }
}

Program *lower_graph(Arena *a, Ir *ir, const LowerOptions *opt) {
  Program *p = NEW(a, Program);
  p->arena = a;
  p->ir = ir;
  p->dims = ir->dims;
  Lower l = {.a = a, .ir = ir, .p = p, .opt = opt};
  l.slots = NEW_ARRAY(a, Slot, ir->n_values);
  l.decided = NEW_ARRAY(a, int32_t, ir->dims->symbols.n + ir->main->outputs.n); /* outputs may bring a size each */
  for (uint32_t i = 0; i < ir->n_values; i++) l.slots[i].output = -1, l.slots[i].result = NO_TENSOR;
  if (!all_tensors(&l, ir->main)) return NULL;
  count_uses(&l, ir->main);
  lower_inputs(&l, ir->main);
  lower_nodes(&l, ir->main);
  lower_outputs(&l, ir->main);
  if (opt->fuse && !l.failed && !program_has_control(p)) {
    lower_fuse_attention(&l);
    lower_join_depthwise(&l);
    lower_move_depthwise(&l);
    lower_shuffle_groups(&l);
  }
  if (l.failed || !lower_check_symbols(&l)) return NULL;
  lower_name_origins(&l);
  lower_shared_bytes(p);
  if (opt->fixed_weights) lower_find_sure(&l);
  return p;
}
