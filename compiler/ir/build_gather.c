/* Gather and scatter: indices from tensors. */
#include "ir/build.h"
#include "ir/build_priv.h"

static const GatherAxis *copy_axes(Builder *b, const GatherAxis *axes, uint32_t data_rank, Value *const *in) {
  GatherAxis *copy = arena_dup(b->ir->arena, axes, data_rank * sizeof *axes);
  for (uint32_t i = 0; i < data_rank; i++) {
    if (!axes[i].indirect) continue;
    copy[i].place = arena_dup(b->ir->arena, axes[i].place, in[axes[i].operand]->type.rank * sizeof *axes[i].place);
  }
  return copy;
}

/* The index on one data axis at an output coordinate, wrapped once; false when not known. */
static bool gather_index(Builder *b, Value *const *in, const GatherAxis *g, const Dim *bound, uint32_t rank,
                         const int64_t *out, int64_t *ret) {
  if (!g->indirect) return affine_at(&g->affine, rank, out, ret);
  Value *v = in[g->operand];
  int64_t at[MAX_RANK], limit;
  size_t flat, n;
  for (uint32_t i = 0; i < v->type.rank; i++)
    if (!affine_at(&g->place[i], rank, out, &at[i])) return false;
  if (!coord_flat(v->type.rank, v->type.dims, at, &flat)) return false;
  const Dim *const *content = build_content(b, v, &n);
  if (!content || !dim_is_const(content[flat], ret) || !dim_is_const(bound, &limit)) return false;
  if (*ret < 0) *ret += limit;
  return true;
}

static Value *gather_known(Builder *b, Value *const *in, Type t, const GatherAxis *axes) {
  size_t n, n_known;
  if (!build_small_count(t.rank, t.dims, CONTENT_MAX, &n)) return NULL;
  if (!in[0]->data && !build_content(b, in[0], &n_known)) return NULL;
  MoveSource src[CONTENT_MAX];
  int64_t out[MAX_RANK] = {0}, at[MAX_RANK];
  const Type *data = &in[0]->type;
  for (size_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i < data->rank; i++)
      if (!gather_index(b, in, &axes[i], data->dims[i], t.rank, out, &at[i])) return NULL;
    src[k].operand = 0;
    if (!coord_flat(data->rank, data->dims, at, &src[k].element)) return NULL;
    (void)coord_next(t.rank, t.dims, out);
  }
  return build_moved(b, t, in, src, n);
}

Value *build_gather(Builder *b, Value *const *in, size_t n, uint32_t rank, const Dim *const *dims,
                    const GatherAxis *axes) {
  for (size_t k = 0; k < n; k++)
    if (!in[k]) return NULL;
  Type t;
  if (!build_type(b, in[0]->type.dtype, rank, dims, &t)) return NULL;
  Value *known = gather_known(b, in, t, axes);
  if (known) return known;
  GatherAttr *attr = NEW(b->ir->arena, GatherAttr);
  attr->axes = copy_axes(b, axes, in[0]->type.rank, in);
  return build_emit(b, OP_GATHER, in, n, t, attr);
}

Value *build_scatter(Builder *b, ScatterKind kind, Value *const *in, size_t n, const GatherAxis *axes) {
  for (size_t k = 0; k < n; k++)
    if (!in[k]) return NULL;
  if (in[0]->type.dtype != in[1]->type.dtype) {
    build_error(b, DIAG_E0401, "data is %s and updates are %s", dtype_name(in[0]->type.dtype),
                dtype_name(in[1]->type.dtype));
    return NULL;
  }
  ScatterAttr *attr = NEW(b->ir->arena, ScatterAttr);
  *attr = (ScatterAttr){kind, copy_axes(b, axes, in[0]->type.rank, in)};
  return build_emit(b, OP_SCATTER, in, n, in[0]->type, attr);
}
