/* Products over labelled axes. */
#include "ir/build.h"
#include "ir/build_priv.h"

enum { MAX_LABELS = UINT8_MAX + 1 };

/* Sizes by label; false after a diagnostic. */
static bool label_dims(Builder *b, const Value *v, const uint8_t *labels, const Dim **size) {
  for (uint32_t i = 0; i < v->type.rank; i++) {
    const Dim **s = &size[labels[i]];
    *s = *s ? build_same_dim(b, *s, v->type.dims[i], "dimensions to multiply along") : v->type.dims[i];
    if (!*s) return false;
  }
  return true;
}

static bool has_label(const uint8_t *labels, uint32_t n, uint8_t label) {
  return n && memchr(labels, label, n) != NULL;
}

/* Sums the axes away that neither the other operand nor the output has; labels gets those that stay. */
static Value *sum_alone(Builder *b, Value *v, const uint8_t *labels, const uint8_t *other, uint32_t n_other,
                        const uint8_t *lout, uint32_t n_out, uint8_t *ret) {
  uint32_t mask = 0, n = 0;
  for (uint32_t i = 0; i < v->type.rank; i++) {
    if (has_label(other, n_other, labels[i]) || has_label(lout, n_out, labels[i])) ret[n++] = labels[i];
    else mask |= 1u << i;
  }
  return build_reduce(b, REDUCE_SUM, v, mask, false);
}

/* Integers of 8 and 16 bits are multiplied in s32 and cut back, unless the caller wants the sum itself. */
static bool is_narrow_int(DType t) { return dtype_is_int(t) && dtype_rows[t].bits < 32; }

Value *build_contract(Builder *b, Value *x, const uint8_t *lx, Value *y, const uint8_t *ly, const uint8_t *lout,
                      uint32_t out_rank, DType acc, Value *x_zero, Value *y_zero) {
  if (!x || !y) return NULL;
  const DType in_type = x->type.dtype;
  if (acc == DT_NONE && is_narrow_int(in_type)) {
    Value *v = build_contract(b, build_cast(b, x, DT_s32, true), lx, build_cast(b, y, DT_s32, true), ly, lout, out_rank,
                              DT_s32, NULL, NULL);
    return build_cast(b, v, in_type, true);
  }
  uint8_t kept_x[MAX_RANK], kept_y[MAX_RANK];
  const uint32_t rank_x = x->type.rank, rank_y = y->type.rank;
  if (!x_zero && !y_zero) {
    x = sum_alone(b, x, lx, ly, rank_y, lout, out_rank, kept_x);
    y = sum_alone(b, y, ly, lx, rank_x, lout, out_rank, kept_y);
    if (!x || !y) return NULL;
    lx = kept_x;
    ly = kept_y;
  }
  const Dim *size[MAX_LABELS] = {NULL}, *dims[MAX_RANK];
  if (!label_dims(b, x, lx, size) || !label_dims(b, y, ly, size)) return NULL;
  for (uint32_t i = 0; i < out_rank; i++) dims[i] = size[lout[i]];
  if (acc == DT_NONE) acc = dtype_compute(in_type);
  Type t;
  if (!build_type(b, dtype_is_float(in_type) ? in_type : acc, out_rank, dims, &t)) return NULL;
  Arena *a = b->ir->arena;
  ContractAttr *attr = NEW(a, ContractAttr);
  *attr =
      (ContractAttr){arena_dup(a, lx, x->type.rank), arena_dup(a, ly, y->type.rank), arena_dup(a, lout, out_rank), acc};
  Value *const in[] = {x, y, x_zero, y_zero};
  return build_emit(b, OP_CONTRACT, in, y_zero ? 4 : x_zero ? 3 : 2, t, attr);
}

/* Drops the batch dimensions of 1 that the other operand has larger, so that each label has one size. */
static Value *drop_broadcast(Builder *b, Value *v, const Value *other, uint32_t n_matrix, uint32_t other_matrix) {
  const uint32_t batch = v->type.rank - n_matrix, other_batch = other->type.rank - other_matrix;
  uint32_t mask = 0;
  for (uint32_t k = 0; k < batch && k < other_batch; k++) {
    const uint32_t i = batch - 1 - k, j = other_batch - 1 - k;
    if (dim_is(v->type.dims[i], 1) && !dim_is(other->type.dims[j], 1)) mask |= 1u << i;
  }
  return mask ? build_squeeze(b, v, mask) : v;
}

/* Batch labels count from the innermost batch axis; dropped ones leave their label out. */
static uint32_t batch_labels(const Value *v, uint32_t n_matrix, const Value *other, uint32_t other_matrix,
                             uint8_t *ret) {
  const uint32_t batch = v->type.rank - n_matrix, other_batch = other->type.rank - other_matrix;
  uint32_t n = 0;
  for (uint32_t i = 0; i < batch; i++) {
    const uint32_t k = batch - 1 - i;
    const bool dropped =
        k < other_batch && dim_is(v->type.dims[i], 1) && !dim_is(other->type.dims[other_batch - 1 - k], 1);
    if (!dropped) ret[n++] = (uint8_t)k;
  }
  return n;
}

/* v at the batch sizes that it and the other broadcast to, where only run time tells whether one of them is 1. */
static Value *broadcast_batch(Builder *b, Value *v, const Value *other, uint32_t n_matrix, uint32_t other_matrix) {
  const uint32_t batch = v->type.rank - n_matrix, other_batch = other->type.rank - other_matrix;
  const Dim *dims[MAX_RANK];
  for (uint32_t i = 0; i < v->type.rank; i++) dims[i] = v->type.dims[i];
  for (uint32_t k = 0; k < batch && k < other_batch; k++) {
    const Dim **d = &dims[batch - 1 - k], *o = other->type.dims[other_batch - 1 - k];
    const Dim *both = dim_is(*d, 1) ? NULL : build_broadcast_dim(b, *d, o);
    if (both) *d = both;
  }
  return build_expand(b, v, v->type.rank, dims);
}

/* Labels of NumPy's matmul: batch axes from 0, m, n, k above them. */
typedef struct MatmulLabels {
  uint8_t x[MAX_RANK], y[MAX_RANK], out[MAX_RANK];
  uint32_t n_x, n_y, n_out;
} MatmulLabels;

static void matmul_labels(const Value *x, const Value *y, MatmulLabels *l) {
  enum { M = MAX_RANK, N, K };
  const uint32_t mx = x->type.rank < 2 ? x->type.rank : 2, my = y->type.rank < 2 ? y->type.rank : 2;
  const uint32_t bx = x->type.rank - mx, by = y->type.rank - my;
  l->n_x = batch_labels(x, mx, y, my, l->x);
  l->n_y = batch_labels(y, my, x, mx, l->y);
  if (mx == 2) l->x[l->n_x++] = M;
  l->x[l->n_x++] = K;
  l->y[l->n_y++] = K;
  if (my == 2) l->y[l->n_y++] = N;
  for (uint32_t k = bx > by ? bx : by; k-- > 0;) l->out[l->n_out++] = (uint8_t)k;
  if (mx == 2) l->out[l->n_out++] = M;
  if (my == 2) l->out[l->n_out++] = N;
}

Value *build_matmul_acc(Builder *b, Value *x, Value *y, DType acc, Value *x_zero, Value *y_zero) {
  if (!x || !y) return NULL;
  if (x->type.rank == 0 || y->type.rank == 0) {
    build_error(b, DIAG_E0402, "a matrix product needs ranks of at least 1, not shapes %s and %s",
                build_shape_text(b, x), build_shape_text(b, y));
    return NULL;
  }
  const uint32_t mx = x->type.rank < 2 ? 1 : 2, my = y->type.rank < 2 ? 1 : 2;
  const Dim *kx = x->type.dims[x->type.rank - 1], *ky = y->type.dims[y->type.rank - my];
  if (dim_eq(b->ir->dims, kx, ky) == 0) {
    build_error(b, DIAG_E0402, "shapes %s and %s cannot be multiplied: inner dimensions differ", build_shape_text(b, x),
                build_shape_text(b, y));
    return NULL;
  }
  Value *const given = x;
  x = broadcast_batch(b, x, y, mx, my);
  y = broadcast_batch(b, y, given, my, mx);
  if (!x || !y) return NULL;
  MatmulLabels l = {.n_x = 0};
  matmul_labels(x, y, &l);
  Value *sx = drop_broadcast(b, x, y, mx, my), *sy = drop_broadcast(b, y, x, my, mx);
  return build_contract(b, sx, l.x, sy, l.y, l.out, l.n_out, acc, x_zero, y_zero);
}

Value *build_matmul(Builder *b, Value *x, Value *y) { return build_matmul_acc(b, x, y, DT_NONE, NULL, NULL); }
