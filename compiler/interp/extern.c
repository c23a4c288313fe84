/* Steps that call a routine of runtime-lite, and sizes read from tensors. */
#include "interp/interp_private.h"

#include "scalar_all.h"

#include "ops_all.h"

static castnet_op *find_routine(Str symbol) {
  static const struct { const char *symbol; castnet_op *fn; } routines[] = {
#define ROUTINE(fn) {#fn, fn},
#include "ops.def"
#undef ROUTINE
  };
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (str_is(symbol, routines[i].symbol)) return routines[i].fn;
  return NULL;
}

/* ---- operands ---- */
/* Routines get elements that share bytes as generated code has them; here each has a byte. */
static bool is_packed(const Interp *in, uint32_t tensor) { return tensor != NO_TENSOR && dtype_rows[in->p->tensors.data[tensor].dtype].bits < 8; }

static void pack(Interp *in, uint32_t tensor, castnet_tensor *x) {
  if (is_packed(in, tensor) && x->data) x->data = (void *)(uintptr_t)tensor_from_host(in->a, in->p->tensors.data[tensor].dtype, x->capacity, x->data)->bytes;
}

static InterpStatus unpack(Interp *in, uint32_t tensor, const castnet_tensor *y) {
  unsigned char *data;
  if (!is_packed(in, tensor) || !y->data) return INTERP_OK;
  const InterpStatus st = interp_tensor(in, tensor, &data);
  Tensor t = {.dtype = in->p->tensors.data[tensor].dtype, .n = y->capacity, .bytes = y->data};
  if (st != INTERP_OK || !dtype_bytes(t.dtype, t.n, &t.n_bytes)) return INTERP_ERR_DIM;
  if (t.n) memcpy(data, tensor_host_elements(in->a, &t), t.n);
  return INTERP_OK;
}

static bool is_defined_here(const ExternStep *e, const Dim *d) {
  for (uint32_t i = 0; i < e->n_defs; i++)
    if (e->defs[i].symbol == d) return true;
  return false;
}

static InterpStatus operand(Interp *in, const ExternStep *e, uint32_t tensor, bool measured, castnet_tensor *ret) {
  *ret = (castnet_tensor){0};
  if (tensor == NO_TENSOR) return INTERP_OK;
  const PTensor *t = &in->p->tensors.data[tensor];
  unsigned char *data = NULL;
  int64_t room = 0;
  InterpStatus st = measured ? INTERP_OK : interp_tensor(in, tensor, &data);
  ret->dims = NEW_ARRAY(in->a, int64_t, t->rank + 1);
  for (uint32_t i = 0; i < t->rank && st == INTERP_OK; i++)
    if (!is_defined_here(e, t->dims[i])) st = interp_dim(in, t->dims[i], &ret->dims[i]);
  if (st == INTERP_OK && !measured) st = interp_size(in, dim_product(in->p->dims, t->dims, t->rank), &room);
  if (st != INTERP_OK) return st;
  ret->data = data;
  ret->rank = t->rank;
  ret->dtype = (uint32_t)dtype_rows[t->dtype].onnx;
  ret->capacity = (size_t)room;
  return INTERP_OK;
}

static castnet_attr attribute(Arena *a, const ExternAttrValue *v) {
  castnet_attr r = {.name = arena_cstr(a, v->name), .kind = (int)v->kind, .n = v->kind < EXTERN_INTS ? 1 : v->n};
  castnet_string *strings;
  switch (v->kind) {
    case EXTERN_INT: r.value.i = v->i; break;
    case EXTERN_FLOAT: r.value.f = v->f; break;
    case EXTERN_STRING: r.value.s = (castnet_string){v->s.ptr, v->s.len}; break;
    case EXTERN_INTS: r.value.ints = v->ints; break;
    case EXTERN_FLOATS: r.value.floats = v->floats; break;
    case EXTERN_STRINGS:
      strings = NEW_ARRAY(a, castnet_string, v->n);
      for (size_t i = 0; i < v->n; i++) strings[i] = (castnet_string){v->strings[i].ptr, v->strings[i].len};
      r.value.strings = strings;
      break;
  }
  return r;
}

static InterpStatus status_of(int error) {
  return error == CASTNET_OK ? INTERP_OK : error == CASTNET_ERR_DIM ? INTERP_ERR_DIM : error == CASTNET_ERR_INDEX ? INTERP_ERR_INDEX : INTERP_ERR_OP;
}

/* A value that data decided, held against its symbol's range. */
static InterpStatus decide(Interp *in, const Dim *symbol, int64_t v, InterpStatus error) {
  const Dim *bound = symbol->symbol.bound;
  int64_t most = symbol->hi;
  InterpStatus st = bound ? interp_dim(in, dim_upper(in->p->dims, bound), &most) : INTERP_OK;
  if (st != INTERP_OK) return st;
  if (v < symbol->lo || v > most) return error;
  in->symbols[symbol->symbol.index] = v;
  in->bound[symbol->symbol.index] = true;
  return INTERP_OK;
}

/* A call of a routine: its operands. */
typedef struct RoutineCall {
  castnet_op *fn;
  castnet_tensor *x, *y;
  uint32_t n_in, n_out;
  castnet_attr *attrs;
  size_t n_attrs;
  unsigned char *scratch;
  size_t scratch_size;
} RoutineCall;

static int call(const RoutineCall *r, const castnet_env *env) {
  return r->fn(r->x, r->n_in, r->y, r->n_out, r->attrs, r->n_attrs, r->scratch, r->scratch_size, env);
}

/* One that makes strings, with a workspace for nothing else: it is called again until that is large enough. */
static InterpStatus call_for_strings(Interp *in, const RoutineCall *r, const castnet_env *env) {
  size_t needed = 0;
  unsigned char *ws = NULL;
  for (;;) {
    const size_t size = needed;
    cn_text text;
    needed = 0;
    cn_text_begin(&text, env, ws, size, &needed);
    const int error = call(r, &text.env);
    if (error != CASTNET_ERR_WORKSPACE) return status_of(error);
    in->spent += needed;
    if (needed <= size || (in->budget && in->spent > in->budget)) return INTERP_ERR_BUDGET;
    ws = arena_array(in->a, needed, 1);
  }
}

InterpStatus interp_extern(Interp *in, const Step *s) {
  const ExternStep *e = s->attr;
  castnet_op *fn = e->attr.custom ? NULL : find_routine(e->attr.symbol);
  const uint32_t n_out = e->measures ? e->n_measures : s->n_out, *out = e->measures ? e->measures : s->out;
  castnet_tensor *x = NEW_ARRAY(in->a, castnet_tensor, s->n_in), *y = NEW_ARRAY(in->a, castnet_tensor, n_out);
  castnet_attr *attrs = NEW_ARRAY(in->a, castnet_attr, e->attr.n_attrs);
  const castnet_env env = {.size = sizeof env};
  InterpStatus st = fn ? INTERP_OK : INTERP_UNSUPPORTED;
  unsigned char *scratch = NULL;
  int64_t scratch_size = 0;
  for (uint32_t k = 0; k < s->n_in && st == INTERP_OK; k++) st = operand(in, e, s->in[k], false, &x[k]);
  for (uint32_t k = 0; k < n_out && st == INTERP_OK; k++) st = operand(in, e, out[k], e->measures != NULL, &y[k]);
  for (size_t k = 0; k < e->attr.n_attrs; k++) attrs[k] = attribute(in->a, &e->attr.attrs[k]);
  if (st == INTERP_OK && s->scratch != NO_TENSOR) st = interp_tensor(in, s->scratch, &scratch);
  if (st == INTERP_OK && s->scratch != NO_TENSOR) st = interp_size(in, in->p->tensors.data[s->scratch].dims[0], &scratch_size);
  if (st != INTERP_OK) return st;
  for (uint32_t k = 0; k < s->n_in; k++) pack(in, s->in[k], &x[k]);
  for (uint32_t k = 0; k < n_out; k++) pack(in, out[k], &y[k]);
  const RoutineCall r = {fn, x, y, s->n_in, n_out, attrs, e->attr.n_attrs, scratch, (size_t)scratch_size};
  st = e->attr.strings ? call_for_strings(in, &r, &env) : status_of(call(&r, &env));
  for (uint32_t k = 0; k < n_out && st == INTERP_OK; k++) st = unpack(in, out[k], &y[k]);
  for (uint32_t k = 0; k < e->n_defs && st == INTERP_OK; k++)
    st = decide(in, e->defs[k].symbol, y[e->defs[k].out].dims[e->defs[k].axis], INTERP_ERR_OP);
  return st;
}

static int64_t element(DType t, const unsigned char *p) {
  const uint64_t u = dtype_read_bits(t, p);
  const unsigned bits = (unsigned)dtype_host_size(t) * 8;
  if (dtype_rows[t].kind != KIND_S || bits == 64) return (int64_t)u;
  return (int64_t)(u << (64 - bits)) >> (64 - bits);
}

InterpStatus interp_symbols(Interp *in, const Step *s) {
  const SymbolsStep *y = s->attr;
  const DType t = in->p->tensors.data[s->in[0]].dtype;
  unsigned char *data;
  InterpStatus st = interp_tensor(in, s->in[0], &data);
  for (size_t k = 0; k < y->n && st == INTERP_OK; k++)
    st = decide(in, y->symbols[k], element(t, data + k * dtype_host_size(t)), INTERP_ERR_DIM);
  return st;
}
