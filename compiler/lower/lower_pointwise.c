/* Element-wise expressions and views: fused by composition of virtual values. */
#include "lower/lower_private.h"

enum { CHEAP = 3, REPEAT_LIMIT = 4 };

static bool dims_same(const Type *a, const Type *b) {
  return a->rank == b->rank && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Operand v seen over the output's axes by NumPy's rule. */
static Virt *broadcast_operand(Lower *l, const Value *v, const Type *out, DiagPlace src) {
  uint32_t shift = out->rank - v->type.rank;
  const Virt *virt = lower_virt(l, v);
  if (dims_same(&v->type, out)) return l->slots[v->id].virt;
  if (v->type.rank && virt_cost(virt) > REPEAT_LIMIT) { /* stored rather than computed again for each repetition */
    lower_materialise(l, v, src);
    virt = lower_virt(l, v);
  }
  Affine *index = NEW_ARRAY(l->a, Affine, v->type.rank);
  for (uint32_t a = 0; a < v->type.rank; a++) {
    const Dim **coef = NEW_ARRAY(l->a, const Dim *, out->rank);
    bool repeated = dim_is(v->type.dims[a], 1) && !dim_is(out->dims[a + shift], 1);
    for (uint32_t j = 0; j < out->rank; j++) coef[j] = j == a + shift && !repeated ? l->p->dims->one : l->p->dims->zero;
    index[a] = (Affine){l->p->dims->zero, coef};
  }
  const Virt seen = virt_view(l->p, virt, v->type.rank, index, out->rank);
  return lower_new_virt(l, &seen);
}

static void result_expr(Lower *l, const Node *n, Expr *e) {
  *e = ((const PointwiseAttr *)n->attr)->expr;
  (void)l;
}

/* Keeps a value virtual only where computing it again costs no more than storing it. */
static void settle(Lower *l, const Node *n, const Virt *v) {
  const Value *out = n->out[0];
  lower_set_virt(l, out, v);
  if (l->slots[out->id].uses > 1 && (virt_cost(v) > CHEAP || v->n_loads > 1)) lower_materialise(l, out, n->src);
}

static bool compose(Lower *l, const Node *n, Virt **seen) {
  Expr expr;
  result_expr(l, n, &expr);
  const Virt **operands = NEW_ARRAY(l->a, const Virt *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++) operands[k] = seen[k] = broadcast_operand(l, n->in[k], &n->out[0]->type, n->src);
  if (l->opt->fuse && lower_try_epilogue(l, n, operands)) return true;
  Virt r;
  if (!virt_combine(l->p, &expr, operands, n->n_in, &r)) {
    for (uint32_t k = 0; k < n->n_in; k++) {
      lower_materialise(l, n->in[k], n->src);
      operands[k] = seen[k] = broadcast_operand(l, n->in[k], &n->out[0]->type, n->src);
    }
    if (!virt_combine(l->p, &expr, operands, n->n_in, &r)) return lower_unsupported(l, n, "an expression of too many operands");
  }
  r.rank = n->out[0]->type.rank;
  settle(l, n, &r);
  return true;
}

bool lower_pointwise(Lower *l, const Node *n) {
  Virt **seen = NEW_ARRAY(l->a, Virt *, n->n_in);
  const bool ok = compose(l, n, seen);
  for (uint32_t k = 0; k < n->n_in; k++) {
    Slot *s = &l->slots[n->in[k]->id];
    if (seen[k] != s->virt) vec_push(l->a, l->spare, seen[k]);
    if (s->uses == 1 && s->virt) { /* nobody reads it again */
      vec_push(l->a, l->spare, s->virt);
      s->virt = NULL;
    }
  }
  return ok;
}

/* True if the view reads elements more than once and they cost more than a load. */
static bool view_repeats(const Node *n, const Virt *v) {
  const ViewAttr *attr = n->attr;
  const Type *in = &n->in[0]->type, *out = &n->out[0]->type;
  if (virt_cost(v) <= CHEAP) return false;
  for (uint32_t j = 0; j < out->rank; j++) {
    bool used = dim_is(out->dims[j], 1);
    for (uint32_t a = 0; a < in->rank && !used; a++) used = affine_coef(&attr->index[a], j) != NULL;
    if (!used) return true;
  }
  return false;
}

/* ---- reshape --------------------------------------------------------------------------------------------------------------- */
static uint32_t reshaped_tensor(Lower *l, uint32_t tensor, const Type *type) {
  PTensor t = l->p->tensors.data[tensor];
  const Dim **strides = NEW_ARRAY(l->a, const Dim *, type->rank);
  const Dim *step = l->p->dims->one;
  for (uint32_t a = type->rank; a-- > 0;) {
    strides[a] = step;
    step = dim_mul(l->p->dims, step, type->dims[a]);
  }
  t.rank = type->rank;
  t.dims = type->dims;
  t.strides = strides;
  uint32_t id = program_add_tensor(l->p, t);
  vec_push(l->a, l->step_of, l->step_of.data[tensor]);
  return id;
}

/* An element-wise expression over dense tensors of the value's own shape is reshaped by reshaping them. */
static bool reshape_loads(Lower *l, const Virt *v, const Type *in, const Type *out, Virt *ret) {
  Virt r = *v;
  if (expr_has_index(&v->expr)) return false;
  for (uint32_t k = 0; k < v->n_loads; k++) {
    const PTensor *t = &l->p->tensors.data[v->loads[k].tensor];
    Virt one = {.n_loads = 1, .rank = in->rank};
    (void)expr_input(l->a, &one.expr, 0, t->dtype);
    one.loads[0] = v->loads[k];
    if (t->rank != in->rank || virt_plain_tensor(l->p, &one, in) == NO_TENSOR || !ptensor_is_contiguous(l->p->dims, t)) return false;
    if (t->rank && memcmp(t->dims, in->dims, t->rank * sizeof *t->dims) != 0) return false;
    Virt plain = virt_of_tensor(l->p, reshaped_tensor(l, v->loads[k].tensor, out));
    r.loads[k] = plain.loads[0];
  }
  r.rank = out->rank;
  *ret = r;
  return true;
}

/* A stored value whose only reader is graph output y may lie in the output at once; false where it may not. */
static bool lies_in_output(Lower *l, uint32_t tensor, const Value *y) {
  Buffer *b = &l->p->buffers.data[l->p->tensors.data[tensor].buffer];
  if (b->kind != BUF_ARENA || l->slots[y->id].output < 0 || dim_eq(l->p->dims, b->n, type_count(l->ir, &y->type)) != 1) return false;
  b->kind = BUF_OUTPUT;
  b->index = (uint32_t)l->slots[y->id].output;
  return true;
}

bool lower_reshape(Lower *l, const Node *n) {
  const Value *x = n->in[0], *y = n->out[0];
  Virt r;
  if (!reshape_loads(l, lower_virt(l, x), &x->type, &y->type, &r)) {
    uint32_t dense = lower_dense(l, x, n->src);
    r = virt_of_tensor(l->p, reshaped_tensor(l, dense, &y->type));
  }
  const uint32_t plain = virt_plain_tensor(l->p, &r, &y->type);
  if (plain != NO_TENSOR) (void)lies_in_output(l, plain, y);
  settle(l, n, &r);
  return true;
}

bool lower_view(Lower *l, const Node *n) {
  const ViewAttr *attr = n->attr;
  const Value *x = n->in[0];
  if (view_repeats(n, lower_virt(l, x))) lower_materialise(l, x, n->src);
  const Value *y = n->out[0];
  Virt v = virt_view(l->p, lower_virt(l, x), x->type.rank, attr->index, y->type.rank);
  settle(l, n, &v);
  if (l->slots[y->id].output < 0 || virt_window_tensor(lower_virt(l, y)) == NO_TENSOR) return true;
  const uint32_t window = lower_window(l, y, n->src); /* the whole buffer in its order where axes of one element come or go */
  if (ptensor_is_contiguous(l->p->dims, &l->p->tensors.data[window]) && lies_in_output(l, window, y)) {
    v = virt_of_tensor(l->p, window);
    lower_set_virt(l, y, &v);
  }
  return true;
}

/* Element i of a tensor with constant dimensions, as a window of the same rank. */
static uint32_t element_window(Lower *l, uint32_t tensor, const Type *t, int64_t i) {
  const Dim *at[MAX_RANK], **ones = NEW_ARRAY(l->a, const Dim *, t->rank);
  for (uint32_t a = t->rank; a-- > 0; i /= t->dims[a]->value) {
    at[a] = dim_const(l->p->dims, i % t->dims[a]->value);
    ones[a] = l->p->dims->one;
  }
  return lower_subtensor(l, tensor, at, ones);
}

bool lower_dims(Lower *l, const Node *n) {
  const DimsAttr *attr = n->attr;
  const Value *out = n->out[0];
  int64_t count = 1;
  (void)dim_is_const(type_count(l->ir, &out->type), &count);
  Virt v = {.rank = out->type.rank};
  if (count == 1) {
    uint32_t x = expr_dim(l->a, &v.expr, attr->content[0]);
    expr_set_result(l->a, &v.expr, expr_cast(l->a, &v.expr, out->type.dtype, true, x));
    lower_set_virt(l, out, &v);
    return true;
  }
  uint32_t t = lower_result(l, out);
  for (int64_t i = 0; i < count; i++) {
    const uint32_t place = element_window(l, t, &out->type, i);
    Virt e = {.rank = out->type.rank};
    uint32_t x = expr_dim(l->a, &e.expr, attr->content[i]);
    expr_set_result(l->a, &e.expr, expr_cast(l->a, &e.expr, out->type.dtype, true, x));
    lower_store(l, &e, out->type.rank, l->p->tensors.data[place].dims, place, n->src);
  }
  return true;
}
