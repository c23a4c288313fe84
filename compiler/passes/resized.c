/* Pointwise convolutions of images that were resized, alone or side by side with others, as heads of segmentation networks have them: what resizes computes sums
 * over places, with weights that all channels share, the convolution sums over channels, so that either may come first. It does, where there are fewer pixels; what
 * the parts of a concatenation give is added. */
#include "passes/passes.h"

enum { MOST_NODES = 16, LEAST_CHANNELS = 32 /* products of a pixel that are worth a sum of images */ };

/* A value that is computed from `from`, each channel by itself and as all others. */
typedef struct Resized {
  Value *from;
  const Node *nodes[MOST_NODES]; /* the last one first */
  uint32_t n;
} Resized;

static bool is_channel(const Affine *f, uint32_t rank) {
  for (uint32_t j = 0; j < rank; j++)
    if (j != 1 && affine_coef(f, j)) return false;
  return dim_is(f->offset, 0) && affine_coef(f, 1) && dim_is(f->coef[1], 1);
}

static bool moves_places(const Node *n) {
  const uint32_t rank = n->out[0]->type.rank, from = n->in[0]->type.rank;
  const Affine *index = ((const ViewAttr *)n->attr)->index;
  bool apart = from > 1 && rank > 1 && is_channel(&index[1], rank);
  for (uint32_t a = 0; a < from && apart; a++) apart = a == 1 || !affine_coef(&index[a], 1);
  return apart;
}

static bool gathers_places(const Node *n) {
  const uint32_t rank = n->out[0]->type.rank, from = n->in[0]->type.rank;
  const GatherAxis *axes = ((const GatherAttr *)n->attr)->axes;
  if (from < 2 || rank < 2 || axes[1].indirect || !is_channel(&axes[1].affine, rank)) return false;
  for (uint32_t a = 0; a < from; a++) {
    if (a != 1 && !axes[a].indirect && affine_coef(&axes[a].affine, 1)) return false;
    if (!axes[a].indirect) continue;
    const Value *index = n->in[axes[a].operand];
    if (!index->data) return false;
    for (uint32_t i = 0; i < index->type.rank; i++)
      if (affine_coef(&axes[a].place[i], 1)) return false;
  }
  return true;
}

/* Which operand is multiplied by weights of places; UINT32_MAX: none. */
static uint32_t weighted(const Node *n) {
  const Type *y = &n->out[0]->type;
  ScalarFn fn;
  if (!pass_is_fn2(n, &fn) || fn != SC_mul || y->dtype != DT_f32 || y->rank < 2) return UINT32_MAX;
  for (uint32_t k = 0; k < 2; k++) {
    const Value *w = n->in[1 - k];
    if (!w->data || !type_same(&n->in[k]->type, y)) continue;
    const uint32_t ahead = y->rank - w->type.rank; /* axes that it does not have */
    if (ahead > 1 || dim_is(w->type.dims[1 - ahead], 1)) return k;
  }
  return UINT32_MAX;
}

/* The operand whose channels the node's result has, each computed from its own linearly and as all others; UINT32_MAX: there is none. */
static uint32_t by_channel(const Node *n) {
  if (n->op == OP_POINTWISE) return weighted(n);
  if (n->n_out != 1 || n->out[0]->type.dtype != DT_f32 || !n->in[0] || n->in[0]->type.rank < 2 || n->out[0]->type.rank < 2) return UINT32_MAX;
  const Type *x = &n->in[0]->type, *y = &n->out[0]->type;
  if (x->dims[1] != y->dims[1]) return UINT32_MAX;
  switch (n->op) {
    case OP_VIEW: return moves_places(n) ? 0 : UINT32_MAX;
    case OP_RESHAPE: return x->dims[0] == y->dims[0] ? 0 : UINT32_MAX;
    case OP_GATHER: return gathers_places(n) ? 0 : UINT32_MAX;
    case OP_REDUCE: return ((const ReduceAttr *)n->attr)->kind == REDUCE_SUM && !(((const ReduceAttr *)n->attr)->axes & 3) ? 0 : UINT32_MAX;
    default: return UINT32_MAX;
  }
}

static bool known_pixels(const Type *t, int64_t *ret) {
  *ret = 1;
  for (uint32_t a = 2; a < t->rank; a++) {
    int64_t d;
    if (!dim_is_const(t->dims[a], &d) || !i64_mul(*ret, d, ret)) return false;
  }
  return true;
}

/* What x was resized from, the fewest pixels that it was, half of its own at the most. */
static bool find_resized(Value *x, const uint32_t *uses, uint32_t n_values, Resized *ret) {
  const uint32_t rank = x->type.rank;
  int64_t own, pixels, channels;
  Resized r = {.from = x};
  ret->n = 0;
  if (!known_pixels(&x->type, &own) || !dim_is_const(x->type.dims[1], &channels) || channels < LEAST_CHANNELS) return false;
  own /= 2;
  while (r.n < MOST_NODES && r.from->def && r.from->id < n_values && uses[r.from->id] == 1) {
    const uint32_t k = by_channel(r.from->def);
    if (k == UINT32_MAX) break;
    r.nodes[r.n++] = r.from->def;
    r.from = r.from->def->in[k];
    if (r.from->type.rank != rank || r.from->type.dims[0] != x->type.dims[0] || !known_pixels(&r.from->type, &pixels) || pixels < 1) continue;
    if (pixels < own || (pixels == own && !ret->n)) own = pixels, *ret = r;
  }
  return ret->n > 0;
}

static Value *with_channels(Builder *b, const Node *n, Value *x) {
  const Type *t = &n->out[0]->type;
  const Dim **dims = arena_dup(b->ir->arena, t->dims, t->rank * sizeof *dims);
  Value **in = arena_dup(b->ir->arena, n->in, n->n_in * sizeof *in);
  dims[1] = x->type.dims[1];
  in[by_channel(n)] = x;
  switch (n->op) {
    case OP_VIEW: return build_view(b, x, t->rank, dims, ((const ViewAttr *)n->attr)->index);
    case OP_RESHAPE: return build_reshape(b, x, t->rank, dims);
    case OP_GATHER: return build_gather(b, in, n->n_in, t->rank, dims, ((const GatherAttr *)n->attr)->axes);
    case OP_REDUCE: return build_reduce(b, REDUCE_SUM, x, ((const ReduceAttr *)n->attr)->axes, true);
    default: return build_fn2(b, SC_mul, in[0], in[1]);
  }
}

typedef struct Uses {
  uint32_t *uses; /* [n_values] by id */
  uint32_t n_values;
} Uses;

/* Sums over channels alone. */
static bool is_pointwise_conv(const Node *n) {
  if (n->op != OP_CONV || n->n_in > 3 || !n->in[1]->data) return false;
  const ConvAttr *a = n->attr;
  if (a->group != 1 || a->acc != DT_f32 || a->block || n->in[0]->type.dtype != DT_f32 || n->out[0]->type.dtype != DT_f32) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!dim_is(n->in[1]->type.dims[2 + i], 1) || a->stride[i] != 1 || a->dilate_x[i] != 1 || !dim_is(a->pad_lo[i], 0) || !dim_is(a->pad_hi[i], 0)) return false;
  return true;
}

/* What the convolution gives of these channels from `first` on. */
static Value *part_conv(Builder *b, const Node *n, Value *x, const Dim *first, Value *bias) {
  Value *w = build_slice(b, n->in[1], 1, first, x->type.dims[1], b->ir->dims->one);
  return w ? build_conv(b, x, w, bias, NULL, NULL, *(const ConvAttr *)n->attr) : NULL;
}

static Value *plus(Builder *b, Value *sum, Value *x) { return sum && x ? build_fn2(b, SC_add, sum, x) : x ? x : sum; }

/* Those of the parts that were not resized, neighbours together. */
static bool add_plain(Builder *b, const Node *n, Value *const *parts, uint32_t count, const Dim *first, Value **bias, Value **sum) {
  if (!count) return true;
  Value *x = count == 1 ? parts[0] : build_concat(b, parts, count, 1), *y = x ? part_conv(b, n, x, first, *bias) : NULL;
  *bias = NULL;
  *sum = plus(b, *sum, y);
  return y != NULL;
}

static bool resized(Builder *b, const Node *n, Value **ret, void *user) {
  const Uses *u = user;
  DimCtx *c = b->ir->dims;
  if (!is_pointwise_conv(n)) return false;
  const bool together = n->in[0]->def && n->in[0]->def->op == OP_CONCAT && ((const ConcatAttr *)n->in[0]->def->attr)->axis == 1 && n->in[0]->id < u->n_values &&
                        u->uses[n->in[0]->id] == 1;
  Value *const *parts = together ? n->in[0]->def->in : n->in;
  const uint32_t count = together ? n->in[0]->def->n_in : 1;
  Resized *of = NEW_ARRAY(b->ir->arena, Resized, count);
  bool any = false;
  int64_t results, channels;
  if (!dim_is_const(n->out[0]->type.dims[1], &results)) return false;
  for (uint32_t k = 0; k < count; k++) {
    if (!find_resized(parts[k], u->uses, u->n_values, &of[k])) continue;
    if (!dim_is_const(parts[k]->type.dims[1], &channels) || results > 2 * channels) of[k].n = 0; /* more channels to resize than there were */
    any |= of[k].n > 0;
  }
  if (!any) return false;
  Value *sum = NULL, *bias = n->n_in > 2 ? n->in[2] : NULL;
  const Dim *at = c->zero, *begin = c->zero;
  uint32_t first = 0;
  for (uint32_t k = 0; k <= count; k++) {
    if (k < count && !of[k].n) {
      at = dim_add(c, at, parts[k]->type.dims[1]);
      continue;
    }
    if (!add_plain(b, n, parts + first, k - first, begin, &bias, &sum)) return false;
    if (k == count) break;
    Value *y = part_conv(b, n, of[k].from, at, NULL);
    for (uint32_t i = of[k].n; i > 0 && y; i--) y = with_channels(b, of[k].nodes[i - 1], y);
    if (!y) return false;
    sum = plus(b, sum, y);
    at = begin = dim_add(c, at, parts[k]->type.dims[1]);
    first = k + 1;
  }
  const uint32_t places = ((1u << (n->out[0]->type.rank - 2)) - 1) << 1;
  if (bias) sum = build_fn2(b, SC_add, sum, build_unsqueeze(b, bias, places));
  ret[0] = sum;
  return sum && type_same(&sum->type, &n->out[0]->type);
}

bool pass_resized(Ir *ir) {
  Arena *scratch = arena_new(arena_door(ir->arena), 0);
  Uses u = {.uses = NEW_ARRAY(scratch, uint32_t, ir->n_values), .n_values = ir->n_values};
  pass_count_uses(ir->main, u.uses);
  const bool any = pass_rewrite(ir, resized, &u);
  arena_free(scratch);
  if (any) (void)pass_fold(ir);
  return true;
}
