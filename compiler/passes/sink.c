/* Transpositions sink behind element-wise work, concatenations, pads and reductions, until they meet their inverses and both are gone. Exporters of models whose
 * channels come last put one before and one behind each convolution: what stands between two convolutions then reads with wide
 * strides, and no layout of channels in blocks goes through it.
 *
 * So do reshapes of a product's result behind element-wise work, which then is done with the product: exporters that know products of matrices alone
 * reshape rows to a matrix in front of one and back behind it, where its bias and activation follow. */
#include "passes/passes.h"

/* Whether v transposes: ret_perm[j] is the operand's axis that axis j of v is. */
static bool is_transposed(const Value *v, uint32_t *ret_perm) {
  if (!v || v->data || !v->def || v->def->op != OP_VIEW || v->def->in[0]->type.rank != v->type.rank) return false;
  const Affine *index = ((const ViewAttr *)v->def->attr)->index;
  const uint32_t rank = v->type.rank;
  uint32_t seen = 0;
  bool moves = false;
  for (uint32_t a = 0; a < rank; a++) {
    uint32_t at = rank;
    for (uint32_t j = 0; j < rank; j++) {
      const Dim *c = affine_coef(&index[a], j);
      if (c && (at < rank || !dim_is(c, 1))) return false;
      if (c) at = j;
    }
    if (at == rank || !dim_is(index[a].offset, 0) || (seen >> at & 1) || v->type.dims[at] != v->def->in[0]->type.dims[a]) return false;
    seen |= (uint32_t)1 << at;
    ret_perm[at] = a;
    moves |= at != a;
  }
  return moves;
}

static bool same_perm(const Value *v, uint32_t rank, const uint32_t *perm) {
  uint32_t own[MAX_RANK];
  return v->type.rank == rank && is_transposed(v, own) && memcmp(own, perm, rank * sizeof *perm) == 0;
}

static bool same_dims(const Value *v, const Value *as) {
  return v->type.rank == as->type.rank && memcmp(v->type.dims, as->type.dims, v->type.rank * sizeof *v->type.dims) == 0;
}

/* v, which broadcasts to `rank` axes, as it lies before the transposition. */
static Value *lifted(Builder *b, Value *v, uint32_t rank, const uint32_t *perm) {
  uint32_t back[MAX_RANK];
  if (v->type.rank == 0) return v;
  if (same_perm(v, rank, perm)) return v->def->in[0];
  if (v->type.rank < rank) v = build_unsqueeze(b, v, ((uint32_t)1 << (rank - v->type.rank)) - 1);
  for (uint32_t j = 0; j < rank; j++) back[perm[j]] = j;
  return v ? build_transpose(b, v, back) : NULL;
}

/* Whether operands of the result's shape share a transposition. Another of that shape has to be a constant: it would be moved instead. */
static bool shares_transposition(const Node *n, uint32_t *ret_perm) {
  const Value *out = n->out[0];
  bool any = false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const Value *v = n->in[k];
    if (!same_dims(v, out) || v->data) continue;
    if (any ? !same_perm(v, out->type.rank, ret_perm) : !is_transposed(v, ret_perm)) return false;
    any = true;
  }
  return any;
}

static Value *like(Builder *b, const Node *n, Value **in, const Dim *const *dims, uint32_t rank, const void *attr) {
  const Type t = type_tensor(b->ir, n->out[0]->type.dtype, rank, dims);
  return graph_add_node(b->graph, n->op, in, n->n_in, &t, 1, attr, n->src)->out[0];
}

/* Sizes of the node's result as they lie before the transposition. */
static const Dim **lifted_dims(Builder *b, const Node *n, const uint32_t *perm) {
  const uint32_t rank = n->out[0]->type.rank;
  const Dim **dims = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) dims[perm[j]] = n->out[0]->type.dims[j];
  return dims;
}

static bool sink_pointwise(Builder *b, const Node *n, Value **ret) {
  const uint32_t rank = n->out[0]->type.rank;
  uint32_t perm[MAX_RANK];
  if (expr_has_index(&((const PointwiseAttr *)n->attr)->expr) || !shares_transposition(n, perm)) return false;
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (!(in[k] = lifted(b, n->in[k], rank, perm))) return false;
  ret[0] = build_transpose(b, like(b, n, in, lifted_dims(b, n, perm), rank, n->attr), perm);
  return ret[0] != NULL;
}

static bool sink_concat(Builder *b, const Node *n, Value **ret) {
  uint32_t perm[MAX_RANK];
  const uint32_t rank = n->out[0]->type.rank;
  if (!is_transposed(n->in[0], perm)) return false;
  for (uint32_t k = 1; k < n->n_in; k++)
    if (!n->in[k]->data && !same_perm(n->in[k], rank, perm)) return false;
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (!(in[k] = lifted(b, n->in[k], rank, perm))) return false;
  ConcatAttr *a = NEW(b->ir->arena, ConcatAttr);
  a->axis = perm[((const ConcatAttr *)n->attr)->axis];
  ret[0] = build_transpose(b, like(b, n, in, lifted_dims(b, n, perm), rank, a), perm);
  return ret[0] != NULL;
}

static bool sink_pad(Builder *b, const Node *n, Value **ret) {
  uint32_t perm[MAX_RANK];
  const uint32_t rank = n->out[0]->type.rank;
  const PadAttr *from = n->attr;
  if (!is_transposed(n->in[0], perm)) return false;
  const Dim **lo = NEW_ARRAY(b->ir->arena, const Dim *, rank), **hi = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) lo[perm[j]] = from->lo[j], hi[perm[j]] = from->hi[j];
  PadAttr *a = NEW(b->ir->arena, PadAttr);
  *a = (PadAttr){from->mode, lo, hi};
  Value *in[2] = {n->in[0]->def->in[0], n->n_in > 1 ? n->in[1] : NULL};
  ret[0] = build_transpose(b, like(b, n, in, lifted_dims(b, n, perm), rank, a), perm);
  return ret[0] != NULL;
}

static bool sink_reduce(Builder *b, const Node *n, Value **ret) {
  uint32_t perm[MAX_RANK];
  if (n->n_in != 1 || !is_transposed(n->in[0], perm)) return false;
  ReduceAttr *a = NEW(b->ir->arena, ReduceAttr);
  *a = *(const ReduceAttr *)n->attr;
  a->axes = 0;
  for (uint32_t j = 0; j < n->out[0]->type.rank; j++)
    if (((const ReduceAttr *)n->attr)->axes >> j & 1) a->axes |= (uint32_t)1 << perm[j];
  Value *in = n->in[0]->def->in[0];
  ret[0] = build_transpose(b, like(b, n, &in, lifted_dims(b, n, perm), n->out[0]->type.rank, a), perm);
  return ret[0] != NULL;
}

/* A transposition of its inverse. */
static bool cancel(const Node *n, Value **ret) {
  uint32_t outer[MAX_RANK], inner[MAX_RANK];
  if (!is_transposed(n->out[0], outer) || !is_transposed(n->in[0], inner)) return false;
  for (uint32_t j = 0; j < n->out[0]->type.rank; j++)
    if (inner[outer[j]] != j) return false;
  ret[0] = n->in[0]->def->in[0];
  return true;
}

enum { MOST_WORK = 8 }; /* nodes behind a product that are looked through */

/* Whether v is an f32 product, or element-wise work on one. */
static bool is_of_product(const Value *v, unsigned depth) {
  const Node *n = v->def;
  if (!n || v->type.dtype != DT_f32) return false;
  if (n->op == OP_CONTRACT) return true;
  if (n->op != OP_POINTWISE || depth == 0) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (same_dims(n->in[k], v) && is_of_product(n->in[k], depth - 1)) return true;
  return false;
}

/* v, which broadcasts to `to`, as it broadcasts to `from`, whose elements are those of `to` in their order; NULL: it would have to be moved. */
static Value *unshaped(Builder *b, Value *v, const Value *from, const Value *to) {
  const Type *f = &from->type, *t = &to->type;
  Value *const first = pass_in_order(v);
  if (first != v && same_dims(v, to) && same_dims(first, from)) return first;
  uint32_t own = v->type.rank; /* its axes from the first of more than one element on */
  while (own && dim_is(v->type.dims[v->type.rank - own], 1)) own--;
  if (own > f->rank) return NULL;
  for (uint32_t a = 1; a <= own; a++)
    if (f->dims[f->rank - a] != t->dims[t->rank - a]) return NULL;
  return v->type.rank <= f->rank ? v : build_reshape(b, v, own, v->type.dims + v->type.rank - own);
}

static bool sink_reshape(Builder *b, const Node *n, Value **ret) {
  const Value *from = NULL, *out = n->out[0];
  if (expr_has_index(&((const PointwiseAttr *)n->attr)->expr)) return false;
  for (uint32_t k = 0; k < n->n_in && !from; k++) {
    const Value *first = pass_in_order(n->in[k]);
    if (first != n->in[k] && same_dims(n->in[k], out) && is_of_product(first, MOST_WORK)) from = first;
  }
  if (!from || from->def->graph != b->graph || same_dims(from, out)) return false;
  Value **in = NEW_ARRAY(b->ir->arena, Value *, n->n_in);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (!(in[k] = unshaped(b, n->in[k], from, out))) return false;
  ret[0] = build_reshape(b, like(b, n, in, from->type.dims, from->type.rank, n->attr), out->type.rank, out->type.dims);
  return ret[0] != NULL;
}

/* A reshape of a reshape back. */
static bool cancel_reshape(const Node *n, Value **ret) {
  ret[0] = pass_in_order(n->out[0]);
  return ret[0] != n->out[0] && ret[0] != n->in[0] && same_dims(ret[0], n->out[0]);
}

static bool sink(Builder *b, const Node *n, Value **ret, void *user) {
  (void)user;
  switch (n->op) {
    case OP_POINTWISE: return sink_pointwise(b, n, ret) || sink_reshape(b, n, ret);
    case OP_CONCAT: return sink_concat(b, n, ret);
    case OP_PAD: return sink_pad(b, n, ret);
    case OP_REDUCE: return sink_reduce(b, n, ret);
    case OP_VIEW: return cancel(n, ret) || cancel_reshape(n, ret);
    case OP_RESHAPE: return cancel_reshape(n, ret);
    default: return false;
  }
}

bool pass_sink(Ir *ir) {
  (void)pass_rewrite(ir, sink, NULL);
  return true;
}
