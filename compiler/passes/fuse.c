/* Per-channel scale and shift behind a convolution move into its weights and bias (batch normalisation after folding);
 * constant zero pads in front of one move into its padding. */
#include "passes/passes.h"

typedef struct Fuse { uint32_t *uses; uint32_t n; } Fuse;

/* v is constant and one value a channel (axis 1) of rank-r data, or a scalar: as a vector [channels] or scalar; else NULL. */
static Value *channel_constant(Builder *b, Value *v, uint32_t rank, const Dim *channels) {
  if (!v->data) return NULL;
  bool scalar = true;
  for (uint32_t a = 0; a < v->type.rank; a++) {
    bool is_channel = a + rank == v->type.rank + 1;
    if (dim_is(v->type.dims[a], 1)) continue;
    if (!is_channel || v->type.dims[a] != channels) return NULL;
    scalar = false;
  }
  return build_reshape(b, v, scalar ? 0 : 1, &channels);
}

static Value *rows(Builder *b, Value *v, uint32_t rank) { /* [M] -> [M][1]... */
  return v->type.rank == 1 ? build_unsqueeze(b, v, ((1u << (rank - 1)) - 1) << 1) : v;
}

static bool read_once(const Fuse *f, const Value *v) { return v->id < f->n && f->uses[v->id] == 1; }

/* Whether axis 1 of a view or a reshaped value is that of its operand, place for place. */
static bool keeps_channels(const Node *n) {
  const Type *from = &n->in[0]->type, *to = &n->out[0]->type;
  if (from->rank < 2 || to->rank < 2 || from->dims[1] != to->dims[1]) return false;
  if (n->op == OP_RESHAPE) return from->dims[0] == to->dims[0];
  const Affine *f = &((const ViewAttr *)n->attr)->index[1];
  for (uint32_t j = 0; j < to->rank; j++)
    if (j == 1 ? !affine_coef(f, 1) || !dim_is(f->coef[1], 1) : affine_coef(f, j) != NULL) return false;
  return dim_is(f->offset, 0);
}

/* The convolution of graph g whose result, or a view of that with its channels, v is; NULL: none, or others read it, or it would move into a body, which may
 * run again and again. */
static const Node *conv_behind(const Fuse *f, const Graph *g, const Value *v) {
  const Node *n = v->def;
  if (!n || n->graph != g || !read_once(f, v)) return NULL;
  if (pass_is_view(n) && keeps_channels(n) && n->in[0]->def && read_once(f, n->in[0])) n = n->in[0]->def;
  return n->op == OP_CONV && n->graph == g ? n : NULL;
}

/* The view of v that `view` is of another convolution's result of the same type. */
static Value *view_again(Builder *b, const Node *view, Value *v) {
  const Type *t = &view->out[0]->type;
  return view->op == OP_VIEW ? build_view(b, v, t->rank, t->dims, ((const ViewAttr *)view->attr)->index) : build_reshape(b, v, t->rank, t->dims);
}

/* Whether factors, or divisors, are so far from the ends of f32 that weights take them without leaving its numbers where the results would not. */
static bool are_modest(Builder *b, Value *v, bool divisors) {
  const double most = 0x1p60, *k;
  size_t n;
  if (!build_const_floats(b, v, &k, &n)) return true;
  for (size_t i = 0; i < n; i++) {
    const double size = k[i] < 0 ? -k[i] : k[i];
    if (!(size <= most) || (size < 1 / most && (divisors || size != 0))) return false;
  }
  return true;
}

/* fn(conv, k) or fn(k, conv) for a constant k: the same convolution with other weights and bias. */
static bool scale_conv(Builder *b, const Node *n, const Fuse *f, Value **ret) {
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  ScalarFn fn;
  if (!pass_is_fn2(n, &fn)) return false;
  bool swapped = !conv_behind(f, b->graph, n->in[0]);
  Value *y = n->in[swapped], *k = n->in[!swapped];
  const Node *conv = conv_behind(f, b->graph, y);
  if (!conv || !type_same(&y->type, &n->out[0]->type)) return false;
  if (y->type.dtype != DT_f32 || !conv->in[1]->data || (conv->n_in > 2 && conv->in[2] && !conv->in[2]->data)) return false;
  if (e->nodes[e->nodes[2].args[0]].operand != 0 && (fn == SC_sub || fn == SC_div)) return false;
  if (swapped && (fn == SC_sub || fn == SC_div)) return false;
  if (fn != SC_mul && fn != SC_div && fn != SC_add && fn != SC_sub) return false;
  if ((fn == SC_mul || fn == SC_div) && !are_modest(b, k, fn == SC_div)) return false;
  k = channel_constant(b, k, y->type.rank, y->type.dims[1]);
  if (!k) return false;
  Value *w = conv->in[1], *bias = conv->n_in > 2 ? conv->in[2] : NULL;
  if (fn == SC_mul || fn == SC_div) {
    w = build_fn2(b, fn, w, rows(b, k, w->type.rank));
    if (bias) bias = build_fn2(b, fn, bias, k);
  } else {
    Value *shift = fn == SC_sub ? build_fn1(b, SC_neg, k) : k;
    bias = bias ? build_fn2(b, SC_add, bias, shift) : build_expand(b, shift, 1, &y->type.dims[1]);
  }
  b->place = conv->src;
  ret[0] = build_conv(b, conv->in[0], w, bias, NULL, NULL, *(const ConvAttr *)conv->attr);
  if (ret[0] && pass_is_view(y->def)) ret[0] = view_again(b, y->def, ret[0]);
  return ret[0] != NULL;
}

/* Whether what a pad of `first` elements cuts off may be what a second puts zeros in place of. */
static bool crops_below(const Dim *first, const Dim *second) { return first->lo < 0 && second->hi > 0; }

/* Zero pads of the spatial axes alone. */
static bool absorb_pad(Builder *b, const Node *n, const Fuse *f, Value **ret) {
  const Node *pad = n->in[0]->def;
  const ConvAttr *a = n->attr;
  if (!pad || pad->op != OP_PAD || n->in[0]->id >= f->n || n->in[0]->type.dtype != DT_f32 || n->n_in > 3) return false;
  const PadAttr *pa = pad->attr;
  if (pa->mode != PAD_CONSTANT) return false;
  if (pad->n_in > 1 && pad->in[1]) {
    const Tensor *v = pad->in[1]->data;
    static const char zero[8] = {0};
    if (!v || v->n_bytes > sizeof zero || memcmp(v->bytes, zero, v->n_bytes) != 0) return false;
  }
  if (!dim_is(pa->lo[0], 0) || !dim_is(pa->lo[1], 0) || !dim_is(pa->hi[0], 0) || !dim_is(pa->hi[1], 0)) return false;
  ConvAttr grown = *a;
  const Dim **lo = NEW_ARRAY(b->ir->arena, const Dim *, a->n_spatial), **hi = NEW_ARRAY(b->ir->arena, const Dim *, a->n_spatial);
  for (uint32_t i = 0; i < a->n_spatial; i++) {
    if (a->dilate_x[i] != 1 || crops_below(pa->lo[2 + i], a->pad_lo[i]) || crops_below(pa->hi[2 + i], a->pad_hi[i])) return false;
    lo[i] = dim_add(b->ir->dims, a->pad_lo[i], pa->lo[2 + i]);
    hi[i] = dim_add(b->ir->dims, a->pad_hi[i], pa->hi[2 + i]);
  }
  grown.pad_lo = lo;
  grown.pad_hi = hi;
  ret[0] = build_conv(b, pad->in[0], n->in[1], n->n_in > 2 ? n->in[2] : NULL, NULL, NULL, grown);
  return ret[0] != NULL && type_same(&ret[0]->type, &n->out[0]->type);
}

static bool fuse(Builder *b, const Node *n, Value **ret, void *user) {
  if (n->op == OP_POINTWISE) return scale_conv(b, n, user, ret);
  if (n->op == OP_CONV) return absorb_pad(b, n, user, ret);
  return false;
}

bool pass_fuse(Ir *ir) {
  for (int round = 0; round < 4; round++) { /* scale, then shift, each behind the convolution that the last round made */
    Arena *scratch = arena_new(arena_door(ir->arena), 0);
    Fuse f = {NEW_ARRAY(scratch, uint32_t, ir->n_values), ir->n_values};
    pass_count_uses(ir->main, f.uses);
    const bool changed = pass_rewrite(ir, fuse, &f);
    arena_free(scratch);
    if (!changed) break;
    (void)pass_fold(ir);
    (void)pass_simplify(ir);
  }
  return true;
}
