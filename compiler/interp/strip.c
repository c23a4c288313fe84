/* Evaluation of scalar expressions a strip of points at a time, with the functions that generated code calls. */
#include "interp/interp_private.h"

static bool is_narrow_float(DType t) { return dtype_is_float(t) && dtype_rows[t].bits < 32; }

InterpStatus interp_access(Interp *in, const Access *a, uint32_t n_axes, Interval *ret) {
  const PTensor *t = &in->p->tensors.data[a->tensor];
  InterpStatus st = interp_tensor(in, a->tensor, &ret->base);
  ret->dtype = t->dtype;
  ret->size = dtype_rows[t->dtype].kind == KIND_X ? sizeof(Str) : dtype_host_size(t->dtype);
  ret->indirect = a->indirect;
  ret->n_indirect = a->n_indirect;
  if (st == INTERP_OK) st = interp_dim(in, a->offset, &ret->offset);
  for (uint32_t j = 0; j < n_axes && st == INTERP_OK; j++) st = interp_dim(in, a->stride[j], &ret->stride[j]);
  for (uint32_t k = 0; k < a->n_indirect && st == INTERP_OK; k++) {
    st = interp_dim(in, a->indirect[k].stride, &ret->ind_stride[k]);
    if (st == INTERP_OK) st = interp_dim(in, a->indirect[k].bound, &ret->ind_bound[k]);
  }
  return st;
}

InterpStatus strip_new(Interp *in, const Expr *e, uint32_t n_axes, const Access *loads, uint32_t n_loads, uint32_t first, StripEval *ret) {
  *ret = (StripEval){.in = in, .e = e, .n_axes = n_axes};
  ret->loads = NEW_ARRAY(in->a, Interval, n_loads + first);
  ret->given = NEW_ARRAY(in->a, const void *, n_loads + first);
  ret->strips = NEW_ARRAY(in->a, void *, e->n);
  for (uint32_t k = 0; k < n_loads; k++) {
    InterpStatus st = interp_access(in, &loads[k], n_axes, &ret->loads[first + k]);
    if (st != INTERP_OK) return st;
  }
  for (uint32_t i = 0; i < e->n; i++) {
    size_t size = dtype_rows[e->nodes[i].type].kind == KIND_X ? sizeof(Str) : 8;
    ret->strips[i] = arena_array(in->a, STRIP, dtype_rows[e->nodes[i].type].kind == KIND_C ? 16 : size);
  }
  return INTERP_OK;
}

/* Element index of point l of the strip; false when an indirect index is out of range. */
static bool place(const StripEval *s, const Interval *a, const int64_t *point, uint32_t n_axes, size_t l, int64_t *ret) {
  int64_t at = a->offset;
  for (uint32_t j = 0; j < n_axes; j++) at += a->stride[j] * (point[j] + (j + 1 == n_axes ? (int64_t)l : 0));
  for (uint32_t k = 0; k < a->n_indirect; k++) {
    int64_t i = ((const int64_t *)s->strips[a->indirect[k].node])[l];
    if (i < 0) i += a->ind_bound[k];
    if (i < 0 || i >= a->ind_bound[k]) return false;
    at += i * a->ind_stride[k];
  }
  *ret = at;
  return true;
}

static InterpStatus load_strip(const StripEval *s, const Interval *a, const int64_t *point, size_t n, void *out) {
  unsigned char raw[STRIP * 16];
  bool same = !is_narrow_float(a->dtype);
  unsigned char *to = same ? out : raw;
  for (size_t l = 0; l < n; l++) {
    int64_t at;
    if (!place(s, a, point, s->n_axes, l, &at)) return INTERP_ERR_INDEX;
    memcpy(to + l * a->size, a->base + at * (int64_t)a->size, a->size);
  }
  if (!same) cast_eval_strip(a->dtype, dtype_compute(a->dtype), true, raw, out, n);
  return INTERP_OK;
}

/* Compute values as an operation at type t leaves them: narrow floats rounded, sub-byte integers wrapped. */
static void strip_round(DType t, void *values, size_t n) {
  unsigned char raw[STRIP * 8];
  DType c = dtype_compute(t);
  if (c == t) return;
  cast_eval_strip(c, t, true, values, raw, n);
  cast_eval_strip(t, c, true, raw, values, n);
}

static void fill(DType t, uint64_t bits, void *out, size_t n) {
  DType c = dtype_compute(t);
  size_t size = dtype_host_size(c);
  for (size_t l = 0; l < n; l++) dtype_write_bits(c, bits, (unsigned char *)out + l * size);
}

/* Straight to the type, as generated code casts: what saturates or wraps there is not what its compute type would. */
static void run_cast(StripEval *s, const ExprNode *n, void *out, size_t count) {
  DType from = dtype_compute(s->e->nodes[n->args[0]].type), to = dtype_compute(n->type);
  const void *x = s->strips[n->args[0]];
  unsigned char raw[STRIP * 8];
  if (n->type != to) {
    cast_eval_strip(from, n->type, n->saturate, x, raw, count);
    cast_eval_strip(n->type, to, true, raw, out, count);
  } else if (from == to) memcpy(out, x, count * dtype_host_size(from));
  else cast_eval_strip(from, to, n->saturate, x, out, count);
}

InterpStatus strip_run(StripEval *s, const int64_t *point, size_t count) {
  int64_t v;
  for (uint32_t i = 0; i < s->e->n; i++) {
    const ExprNode *n = &s->e->nodes[i];
    void *out = s->strips[i];
    InterpStatus st = INTERP_OK;
    switch (n->kind) {
      case EXPR_INPUT:
        if (s->given[n->operand]) memcpy(out, s->given[n->operand], count * dtype_host_size(dtype_compute(n->type)));
        else st = load_strip(s, &s->loads[n->operand], point, count, out);
        break;
      case EXPR_CONST: fill(n->type, n->bits, out, count); break;
      case EXPR_DIM:
        st = interp_dim(s->in, n->dim, &v);
        if (st == INTERP_OK) fill(DT_s64, (uint64_t)v, out, count);
        break;
      case EXPR_INDEX:
        for (size_t l = 0; l < count; l++)
          ((int64_t *)out)[l] = point[n->axis] + (n->axis + 1 == s->n_axes ? (int64_t)l : 0);
        break;
      case EXPR_FN: {
        const void *args[3] = {NULL};
        for (unsigned k = 0; k < expr_node_arity(n); k++) args[k] = s->strips[n->args[k]];
        DType at = expr_fn_type(s->e, n);
        scalar_eval_strip(n->fn, dtype_compute(at), args, out, count);
        if (scalar_result(n->fn, dtype_compute(at)) != DT_b1) strip_round(n->type, out, count);
        break;
      }
      case EXPR_CAST: run_cast(s, n, out, count); break;
      case EXPR_BITS: bits_eval_strip(s->e->nodes[n->args[0]].type, n->type, s->strips[n->args[0]], out, count); break;
    }
    if (st != INTERP_OK) return st;
  }
  return INTERP_OK;
}

InterpStatus strip_store(StripEval *s, const Interval *to, const int64_t *point, uint32_t n_axes, const void *values, size_t n) {
  unsigned char raw[STRIP * 16];
  const unsigned char *from = values;
  if (is_narrow_float(to->dtype)) {
    cast_eval_strip(DT_f32, to->dtype, false, values, raw, n);
    from = raw;
  }
  for (size_t l = 0; l < n; l++) {
    int64_t at;
    if (!place(s, to, point, n_axes, l, &at)) return INTERP_ERR_INDEX;
    memcpy(to->base + at * (int64_t)to->size, from + l * to->size, to->size);
  }
  return INTERP_OK;
}

InterpStatus strip_update(StripEval *s, const Interval *to, const int64_t *point, uint32_t n_axes, size_t l, ScatterKind kind,
                          const void *value) {
  unsigned char wide[16], raw[16];
  int64_t at;
  if (!place(s, to, point, n_axes, l, &at)) return INTERP_ERR_INDEX;
  unsigned char *element = to->base + at * (int64_t)to->size;
  DType c = dtype_compute(to->dtype);
  memcpy(wide, value, dtype_rows[to->dtype].kind == KIND_X ? sizeof(Str) : dtype_host_size(c));
  if (kind != SCATTER_SET) {
    unsigned char old[16];
    if (c == to->dtype) memcpy(old, element, to->size);
    else cast_eval_strip(to->dtype, c, true, element, old, 1);
    const void *args[2] = {old, value};
    scalar_eval_strip(scatter_combiner(kind), c, args, wide, 1);
  }
  if (is_narrow_float(to->dtype)) cast_eval_strip(DT_f32, to->dtype, false, wide, raw, 1);
  else memcpy(raw, wide, to->size);
  memcpy(element, raw, to->size);
  return INTERP_OK;
}
