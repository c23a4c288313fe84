#include "interp/interp_private.h"

typedef struct Unbound { const Interp *in; bool any; } Unbound;

static void see_symbol(void *user, const Dim *symbol) {
  Unbound *u = user;
  u->any = u->any || !u->in->bound[symbol->symbol.index];
}

static bool is_open(const Interp *in, const Dim *d) {
  Unbound u = {in, false};
  if (d->kind != DIM_CONST) dim_each_symbol(d, see_symbol, &u);
  return u.any;
}

InterpStatus interp_dim(Interp *in, const Dim *d, int64_t *ret) {
  if (is_open(in, d)) {
    in->met_open = true;
    return INTERP_ERR_DIM;
  }
  return dim_eval(d, in->symbols, ret) ? INTERP_OK : INTERP_ERR_DIM;
}

InterpStatus interp_size(Interp *in, const Dim *d, int64_t *ret) { return interp_dim(in, is_open(in, d) ? dim_upper(in->p->dims, d) : d, ret); }

static size_t element_size(DType t) { return dtype_rows[t].kind == KIND_X ? sizeof(Str) : dtype_host_size(t); }

static InterpStatus allocate(Interp *in, int64_t n, DType t, unsigned char **ret) {
  size_t bytes;
  if (n < 0 || !size_mul((size_t)n, element_size(t), &bytes)) return INTERP_ERR_DIM;
  in->spent += bytes;
  if (in->budget && (bytes > in->budget || in->spent > in->budget)) return INTERP_ERR_BUDGET;
  *ret = arena_array(in->a, bytes + 1, 1);
  return INTERP_OK;
}

InterpStatus interp_buffer(Interp *in, uint32_t buffer, unsigned char **ret) {
  const Buffer *b = &in->p->buffers.data[buffer];
  if (!in->data[buffer]) {
    int64_t n;
    InterpStatus st = INTERP_OK;
    if (b->kind == BUF_CONST) {
      in->data[buffer] = (unsigned char *)(uintptr_t)tensor_host_elements(in->a, b->data);
    } else {
      st = interp_size(in, b->n, &n);
      if (st == INTERP_OK) st = allocate(in, n, b->dtype, &in->data[buffer]);
    }
    if (st != INTERP_OK) return st;
  }
  *ret = in->data[buffer];
  return INTERP_OK;
}

InterpStatus interp_tensor(Interp *in, uint32_t tensor, unsigned char **ret) {
  const PTensor *t = &in->p->tensors.data[tensor];
  int64_t offset;
  InterpStatus st = interp_buffer(in, t->buffer, ret);
  if (st == INTERP_OK) st = interp_dim(in, t->offset, &offset);
  if (st == INTERP_OK) *ret += offset * (int64_t)element_size(t->dtype);
  return st;
}

/* Symbols of input dimensions get their values, other dimensions are compared. */
static InterpStatus bind_inputs(Interp *in, const HostTensor *inputs) {
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < in->p->inputs.n; i++) {
      const PTensor *t = &in->p->tensors.data[in->p->inputs.data[i]];
      if (in->p->ir->main->inputs.data[i]->type.seq || in->p->ir->main->inputs.data[i]->type.map) {
        in->data[t->buffer] = inputs[i].data;
        continue;
      }
      if (inputs[i].rank != t->rank) return INTERP_ERR_DIM;
      for (uint32_t a = 0; a < t->rank; a++) {
        const Dim *d = t->dims[a];
        int64_t v = inputs[i].dims[a], want;
        if (pass == 0 && d->kind == DIM_SYMBOL) in->symbols[d->symbol.index] = v, in->bound[d->symbol.index] = true;
        if (pass == 1 && (interp_dim(in, d, &want) != INTERP_OK || want != v)) return INTERP_ERR_DIM;
      }
      in->data[t->buffer] = inputs[i].data;
    }
  }
  return INTERP_OK;
}

InterpStatus interp_check_dims(const Interp *in) {
  const Ir *ir = in->p->ir;
  for (size_t i = 0; i < ir->n_checks; i++) {
    int64_t a, b;
    if (!graph_is_within(in->running, ir->checks[i].graph) || is_open(in, ir->checks[i].a) || is_open(in, ir->checks[i].b)) continue;
    if (!dim_eval(ir->checks[i].a, in->symbols, &a) || !dim_eval(ir->checks[i].b, in->symbols, &b) || a != b) return INTERP_ERR_DIM;
  }
  return INTERP_OK;
}

static InterpStatus evaluate(Interp *in, const Step *s) {
  InterpStatus st;
  switch (s->kind) {
    case STEP_NEST: return interp_nest(in, s->attr);
    case STEP_CONTRACT: return interp_contract(in, s);
    case STEP_RECURRENT: return interp_recurrent(in, s);
    case STEP_EXTERN: st = interp_extern(in, s); break;
    case STEP_SYMBOLS: st = interp_symbols(in, s); break;
    case STEP_ASSIGN: st = interp_assign(in, s); break;
    default: return INTERP_UNSUPPORTED;
  }
  return st == INTERP_OK ? interp_check_dims(in) : st;
}

/* ---- what a custom operator computes is not known here, nor what follows from it ---- */
static bool reads_unknown(const Interp *in, const Step *s) {
  for (uint32_t k = 0; k < s->n_in; k++)
    if (s->in[k] != NO_TENSOR && in->unknown[in->p->tensors.data[s->in[k]].buffer]) return true;
  return s->kind == STEP_EXTERN && ((const ExternStep *)s->attr)->attr.custom;
}

/* Steps whose result is not known do not run; a condition that is not known cannot be followed. */
static InterpStatus run_step(Interp *in, size_t *at) {
  const Step *s = &in->p->main.steps.data[*at];
  if (s->kind == STEP_ELSE || step_nesting(s)) return reads_unknown(in, s) ? INTERP_UNSUPPORTED : interp_control(in, at);
  (*at)++;
  in->met_open = false;
  const bool unknown = reads_unknown(in, s);
  const InterpStatus st = unknown ? INTERP_OK : evaluate(in, s);
  in->has_unknown = in->has_unknown || unknown;
  if (!unknown && !(in->met_open && in->has_unknown)) return st;
  for (uint32_t k = 0; k < s->n_out; k++)
    if (s->out[k] != NO_TENSOR) in->unknown[in->p->tensors.data[s->out[k]].buffer] = true;
  return INTERP_OK;
}

static const int64_t *find_births(Arena *a, const Program *p) {
  int64_t *born = NEW_ARRAY(a, int64_t, p->buffers.n);
  for (size_t i = 0; i < p->buffers.n; i++) born[i] = -1;
  for (size_t i = p->main.steps.n; i-- > 0;) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_out; k++)
      if (s->out[k] != NO_TENSOR) born[p->tensors.data[s->out[k]].buffer] = (int64_t)i;
  }
  return born;
}

/* The tensor that stands for a sequence, whatever its items are. */
static InterpStatus give_sequence(Interp *in, const ProgramOutput *o, HostTensor *ret) {
  const PTensor *t = &in->p->tensors.data[o->content];
  unsigned char *data;
  *ret = (HostTensor){.dtype = t->dtype, .rank = t->rank};
  if (in->unknown[t->buffer]) return INTERP_OK;
  InterpStatus st = interp_tensor(in, o->content, &data);
  for (uint32_t d = 0; d < t->rank && st == INTERP_OK; d++) st = interp_dim(in, t->dims[d], &ret->dims[d]);
  if (st == INTERP_OK) ret->data = data;
  return st;
}

static InterpStatus give_output(Interp *in, const ProgramOutput *o, HostTensor *ret) {
  if (o->content != NO_TENSOR) return give_sequence(in, o, ret);
  unsigned char *data;
  InterpStatus st = INTERP_OK;
  *ret = (HostTensor){.dtype = o->type.dtype, .rank = o->type.rank};
  if (in->unknown[in->p->tensors.data[o->tensor].buffer]) return INTERP_OK;
  for (uint32_t d = 0; d < o->type.rank && st == INTERP_OK; d++) st = interp_dim(in, o->type.dims[d], &ret->dims[d]);
  if (st == INTERP_OK) st = interp_tensor(in, o->tensor, &data);
  if (st == INTERP_OK) ret->data = data;
  return st;
}

InterpStatus interp_run(Arena *a, const Program *p, const HostTensor *inputs, HostTensor *ret_out, uint64_t budget) {
  Interp *in = NEW(a, Interp);
  in->a = a;
  in->p = p;
  in->budget = budget;
  in->symbols = NEW_ARRAY(a, int64_t, p->dims->symbols.n);
  in->bound = NEW_ARRAY(a, bool, p->dims->symbols.n);
  in->data = NEW_ARRAY(a, unsigned char *, p->buffers.n);
  in->unknown = NEW_ARRAY(a, bool, p->buffers.n);
  in->running = p->ir->main;
  in->born = find_births(a, p);
  InterpStatus st = bind_inputs(in, inputs);
  if (st == INTERP_OK) st = interp_check_dims(in);
  for (size_t i = 0; i < p->main.steps.n && st == INTERP_OK;) st = run_step(in, &i);
  for (size_t i = 0; i < p->outputs.n && st == INTERP_OK; i++) st = give_output(in, &p->outputs.data[i], &ret_out[i]);
  return st;
}
