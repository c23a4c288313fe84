#include "passes/gradient_rules.h"

#include "passes/derivative.h"

bool gradient_no_rule(Builder *b, const Node *n, const char *what) {
  build_error(b, DIAG_E0306, "a gradient through %s%s%s", op_names[n->op], what ? " " : "", what ? what : "");
  return false;
}

Value *gradient_zeros(Builder *b, const Value *like) {
  return build_expand(b, build_scalar_f(b, like->type.dtype, 0), like->type.rank, like->type.dims);
}

/* Summed over the axes along which an operand of type t was broadcast. */
static Value *unbroadcast(Builder *b, Value *v, const Type *t) {
  uint32_t axes = 0;
  if (!v) return NULL;
  const uint32_t lead = v->type.rank - t->rank;
  for (uint32_t i = 0; i < v->type.rank; i++)
    if (!dim_is(v->type.dims[i], 1) && (i < lead || dim_is(t->dims[i - lead], 1))) axes |= 1u << i;
  if (axes) v = build_reduce(b, REDUCE_SUM, v, axes, true);
  return build_reshape(b, v, t->rank, t->dims);
}

static bool pointwise(Builder *b, const Node *n, Value *dy, const bool *wanted, Value **ret) {
  Arena *a = b->ir->arena;
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  Expr *parts = NEW_ARRAY(a, Expr, n->n_in);
  Value **in = NEW_ARRAY(a, Value *, n->n_in + 1);
  const ScalarFn without = derive_expr(a, e, n->n_in, wanted, parts);
  if (without != SC_COUNT) return gradient_no_rule(b, n, scalar_rows[without].name);
  memcpy(in, n->in, n->n_in * sizeof *in);
  in[n->n_in] = dy;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (!parts[k].n) continue;
    ret[k] = unbroadcast(b, build_expr(b, parts[k], in, n->n_in + 1, (int)dy->type.rank, dy->type.dims), &n->in[k]->type);
    if (!ret[k]) return false;
  }
  return true;
}

/* Each element of dy is added where the view read. */
static Value *view(Builder *b, const Node *n, Value *dy) {
  const ViewAttr *attr = n->attr;
  const uint32_t rank = n->in[0]->type.rank;
  GatherAxis *axes = NEW_ARRAY(b->ir->arena, GatherAxis, rank);
  for (uint32_t i = 0; i < rank; i++) axes[i].affine = attr->index[i];
  Value *const in[] = {gradient_zeros(b, n->in[0]), dy};
  return build_scatter(b, SCATTER_ADD, in, 2, axes);
}

static bool pad(Builder *b, const Node *n, Value *dy, const bool *wanted, Value **ret) {
  const PadAttr *attr = n->attr;
  DimCtx *d = b->ir->dims;
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  if (attr->mode != PAD_CONSTANT) return gradient_no_rule(b, n, "with the tensor's own elements");
  if (n->n_in > 1 && wanted[1]) return gradient_no_rule(b, n, "to the value that pads");
  for (uint32_t i = 0; i < dy->type.rank; i++) lo[i] = dim_sub(d, d->zero, attr->lo[i]), hi[i] = dim_sub(d, d->zero, attr->hi[i]);
  ret[0] = build_pad(b, dy, PAD_CONSTANT, lo, hi, NULL);
  return ret[0] != NULL;
}

static bool concat(Builder *b, const Node *n, Value *dy, const bool *wanted, Value **ret) {
  const uint32_t axis = ((const ConcatAttr *)n->attr)->axis;
  const Dim *at = b->ir->dims->zero;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const Dim *size = n->in[k]->type.dims[axis];
    if (wanted[k] && !(ret[k] = build_slice(b, dy, axis, at, size, b->ir->dims->one))) return false;
    at = dim_add(b->ir->dims, at, size);
  }
  return true;
}

/* Index operands that stand `by` places later (or earlier) in the new node's list. */
static const GatherAxis *moved_axes(Builder *b, const GatherAxis *axes, uint32_t rank, int by) {
  GatherAxis *moved = arena_dup(b->ir->arena, axes, rank * sizeof *axes);
  for (uint32_t i = 0; i < rank; i++)
    if (moved[i].indirect) moved[i].operand = (uint32_t)((int)moved[i].operand + by);
  return moved;
}

static bool gather(Builder *b, const Node *n, Value *dy, Value **ret) {
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in + 1);
  in[0] = gradient_zeros(b, n->in[0]);
  in[1] = dy;
  memcpy(in + 2, n->in + 1, (n->n_in - 1) * sizeof *in);
  ret[0] = build_scatter(b, SCATTER_ADD, in, n->n_in + 1, moved_axes(b, ((const GatherAttr *)n->attr)->axes, n->in[0]->type.rank, 1));
  return ret[0] != NULL;
}

static bool scatter(Builder *b, const Node *n, Value *dy, const bool *wanted, Value **ret) {
  const ScatterAttr *attr = n->attr;
  const Type *updates = &n->in[1]->type;
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  if (attr->kind != SCATTER_SET && attr->kind != SCATTER_ADD) return gradient_no_rule(b, n, "that combines by other than sums");
  memcpy(in, n->in, n->n_in * sizeof *in);
  in[0] = dy;
  in[1] = gradient_zeros(b, n->in[1]);
  if (wanted[0] && !(ret[0] = attr->kind == SCATTER_ADD ? dy : build_scatter(b, SCATTER_SET, in, n->n_in, attr->axes))) return false;
  if (!wanted[1]) return true;
  memmove(in + 1, in + 2, (n->n_in - 2) * sizeof *in);
  ret[1] = build_gather(b, in, n->n_in - 1, updates->rank, updates->dims, moved_axes(b, attr->axes, n->in[0]->type.rank, -1));
  return ret[1] != NULL;
}

/* The product of all elements along the axis but this one, from both sides: right where elements are 0 too. */
static Value *others(Builder *b, Value *x, uint32_t axis) {
  return build_fn2(b, SC_mul, build_scan(b, SC_mul, x, axis, true, false), build_scan(b, SC_mul, x, axis, true, true));
}

static bool reduce(Builder *b, const Node *n, Value *dy, Value **ret) {
  const ReduceAttr *attr = n->attr;
  Value *x = n->in[0], *wide = build_expand(b, dy, x->type.rank, x->type.dims), *best, *ties;
  switch (attr->kind) {
    case REDUCE_SUM: ret[0] = wide; break;
    case REDUCE_MAX: case REDUCE_MIN: /* equal elements share it */
      best = build_cast(b, build_fn2(b, SC_eq, x, n->out[0]), x->type.dtype, true);
      ties = build_reduce(b, REDUCE_SUM, best, attr->axes, true);
      ret[0] = build_fn2(b, SC_mul, best, build_fn2(b, SC_div, wide, ties));
      break;
    case REDUCE_PROD:
      if (attr->axes & (attr->axes - 1)) return gradient_no_rule(b, n, "of products over several axes");
      ret[0] = attr->axes ? build_fn2(b, SC_mul, wide, others(b, x, (uint32_t)__builtin_ctz(attr->axes))) : wide;
      break;
    default: return gradient_no_rule(b, n, NULL);
  }
  return ret[0] != NULL;
}

static bool scan(Builder *b, const Node *n, Value *dy, Value **ret) {
  const ScanAttr *attr = n->attr;
  if (attr->fn != SC_add) return gradient_no_rule(b, n, "that is no sum");
  ret[0] = build_scan(b, SC_add, dy, attr->axis, attr->exclusive, !attr->reverse);
  return ret[0] != NULL;
}

/* The gradient of operand k: of dy and the other operand, summed over what k does not have. */
static bool contract(Builder *b, const Node *n, Value *dy, uint32_t k, Value **ret) {
  const ContractAttr *attr = n->attr;
  const uint8_t *own = k ? attr->b : attr->a, *other = k ? attr->a : attr->b;
  const Value *v = n->in[k], *w = n->in[1 - k];
  for (uint32_t i = 0; i < v->type.rank; i++) {
    const bool in_out = dy->type.rank && memchr(attr->out, own[i], dy->type.rank), in_other = w->type.rank && memchr(other, own[i], w->type.rank);
    if (!in_out && !in_other) return gradient_no_rule(b, n, "that sums one operand alone");
  }
  ret[k] = build_contract(b, dy, attr->out, n->in[1 - k], other, own, v->type.rank, DT_NONE, NULL, NULL);
  return ret[k] != NULL;
}

bool gradient_rule(Builder *b, const Node *n, Value *dy, const bool *wanted, Value **ret) {
  const Value *x = n->n_in ? n->in[0] : NULL;
  switch (n->op) {
    case OP_POINTWISE: return pointwise(b, n, dy, wanted, ret);
    case OP_VIEW: ret[0] = view(b, n, dy); return ret[0] != NULL;
    case OP_RESHAPE: ret[0] = build_reshape(b, dy, x->type.rank, x->type.dims); return ret[0] != NULL;
    case OP_PAD: return pad(b, n, dy, wanted, ret);
    case OP_CONCAT: return concat(b, n, dy, wanted, ret);
    case OP_GATHER: return gather(b, n, dy, ret);
    case OP_SCATTER: return scatter(b, n, dy, wanted, ret);
    case OP_REDUCE: return reduce(b, n, dy, ret);
    case OP_SCAN: return scan(b, n, dy, ret);
    case OP_CONTRACT: return (!wanted[0] || contract(b, n, dy, 0, ret)) && (!wanted[1] || contract(b, n, dy, 1, ret));
    default: return gradient_no_rule(b, n, NULL);
  }
}
