/* What no kernel takes, in terms of what lowering prints as nests: softmax, normalisation, products, convolutions and pooling
 * of other types than f32 as reductions over views. */
#include "passes/passes.h"

typedef struct Legalise { bool kernels, all, blocks; } Legalise;

static bool is_narrow_float(DType t) { return dtype_is_float(t) && dtype_rows[t].bits < 32; }

static Value *like(Builder *b, const Value *x, double v) {
  DType t = x->type.dtype;
  return dtype_is_float(t) ? build_scalar_f(b, t, v) : build_scalar_i(b, t, (int64_t)v);
}

/* ---- softmax, normalisation --------------------------------------------------------------------------------------------------- */
enum { SHORT_SUM = 16 }; /* elements of bf16, as many as are added one by one */

/* A short sum in bf16 itself, first element first, each partial sum rounded, as the recorded outputs of the official cases are
 * made. Long ones, and those of f16, are made in f32 and rounded once: a bf16 stops growing at 256 times what is added. */
static Value *bf16_sum(Builder *b, Value *x, uint32_t axis) {
  DimCtx *c = b->ir->dims;
  int64_t n = 0;
  if (!x || !dim_is_const(x->type.dims[axis], &n) || n < 1 || n > SHORT_SUM) return build_reduce(b, REDUCE_SUM, x, 1u << axis, true);
  Value *sum = build_slice(b, x, axis, c->zero, c->one, c->one);
  for (int64_t i = 1; i < n; i++) sum = build_fn2(b, SC_add, sum, build_slice(b, x, axis, dim_const(c, i), c->one, c->one));
  return sum;
}

/* Each operation of the standard's function body rounds to the type. */
static Value *softmax(Builder *b, Value *x, const SoftmaxAttr *attr) {
  uint32_t axis = 1u << attr->axis;
  Value *shifted = build_fn2(b, SC_sub, x, build_reduce(b, REDUCE_MAX, x, axis, true));
  Value *e = build_fn1(b, SC_exp, shifted);
  Value *sum = x->type.dtype == DT_bf16 ? bf16_sum(b, e, attr->axis) : build_reduce(b, REDUCE_SUM, e, axis, true);
  if (attr->log) return build_fn2(b, SC_sub, shifted, build_fn1(b, SC_log, sum));
  Value *p = build_fn2(b, SC_div, e, sum);
  return attr->safe ? build_fn3(b, SC_select, build_fn1(b, SC_isnan, p), like(b, p, 0), p) : p;
}

/* In f32 where the type is narrower. */
static Value *norm(Builder *b, const Node *n) {
  const NormAttr *attr = n->attr;
  Value *x = n->in[0], *scale = n->n_in > 1 ? n->in[1] : NULL, *bias = n->n_in > 2 ? n->in[2] : NULL;
  DType t = x->type.dtype, wide = is_narrow_float(t) ? DT_f32 : t;
  uint32_t axes = ((1u << x->type.rank) - 1) & ~((1u << attr->axis) - 1);
  x = build_cast(b, x, wide, true);
  if (attr->kind == NORM_LAYER) x = build_fn2(b, SC_sub, x, build_reduce_mean(b, x, axes, true));
  Value *var = build_reduce_mean(b, build_fn2(b, SC_mul, x, x), axes, true);
  Value *y = build_fn2(b, SC_div, x, build_fn1(b, SC_sqrt, build_fn2(b, SC_add, var, like(b, var, (double)attr->epsilon))));
  if (scale) y = build_fn2(b, SC_mul, y, build_cast(b, scale, wide, true));
  if (bias) y = build_fn2(b, SC_add, y, build_cast(b, bias, wide, true));
  return build_cast(b, y, t, true);
}

/* ---- products ------------------------------------------------------------------------------------------------------------------- */
/* x (minus its zero point: a scalar, or one value a row) as accumulator values. */
static Value *widened(Builder *b, Value *x, Value *zero, DType acc, bool rows) {
  x = build_cast(b, x, acc, true);
  if (!zero) return x;
  if (rows && zero->type.rank == 1 && x->type.rank > 1) zero = build_unsqueeze(b, zero, 2);
  return build_fn2(b, SC_sub, x, build_cast(b, zero, acc, true));
}

typedef struct Labels { /* the joint space of a product: output labels, then summed ones */
  uint8_t label[MAX_RANK];
  const Dim *dims[MAX_RANK];
  uint32_t n, n_out;
} Labels;

static void add_labels(Labels *l, const uint8_t *labels, const Type *t) {
  for (uint32_t a = 0; a < t->rank; a++) {
    uint32_t i = 0;
    while (i < l->n && l->label[i] != labels[a]) i++;
    if (i == l->n) {
      if (l->n == MAX_RANK) return;
      l->label[l->n++] = labels[a];
      l->dims[i] = t->dims[a];
    } else if (!l->dims[i] || dim_is(l->dims[i], 1)) {
      l->dims[i] = t->dims[a];
    }
  }
}

static Value *spread(Builder *b, Value *x, const uint8_t *labels, const Labels *l) {
  Affine *index = NEW_ARRAY(b->ir->arena, Affine, x->type.rank);
  for (uint32_t a = 0; a < x->type.rank; a++)
    for (uint32_t i = 0; i < l->n; i++)
      if (l->label[i] == labels[a]) index[a] = dim_is(x->type.dims[a], 1) ? build_affine_const(b, l->n, b->ir->dims->zero) : build_affine_coord(b, l->n, i);
  return build_view(b, x, l->n, l->dims, index);
}

static uint32_t axes_from(uint32_t first, uint32_t n) { return ((1u << n) - 1) & ~((1u << first) - 1); }

static Value *product_nest(Builder *b, const Node *n) {
  const ContractAttr *attr = n->attr;
  const Type *out = &n->out[0]->type;
  Labels l = {.n = out->rank, .n_out = out->rank};
  for (uint32_t i = 0; i < out->rank; i++) l.label[i] = attr->out[i], l.dims[i] = NULL;
  Value *x = widened(b, n->in[0], n->n_in > 2 ? n->in[2] : NULL, attr->acc, true);
  Value *y = widened(b, n->in[1], n->n_in > 3 ? n->in[3] : NULL, attr->acc, false);
  if (!x || !y) return NULL;
  add_labels(&l, attr->a, &x->type);
  add_labels(&l, attr->b, &y->type);
  Value *p = build_fn2(b, SC_mul, spread(b, x, attr->a, &l), spread(b, y, attr->b, &l));
  if (l.n > l.n_out) p = build_reduce(b, REDUCE_SUM, p, axes_from(l.n_out, l.n), false);
  return build_cast(b, p, out->dtype, true);
}

/* The same product of f32 operands. */
static Value *product_f32(Builder *b, const Node *n) {
  const ContractAttr *attr = n->attr;
  Value *x = build_cast(b, n->in[0], DT_f32, true), *y = build_cast(b, n->in[1], DT_f32, true);
  Value *p = build_contract(b, x, attr->a, y, attr->b, attr->out, n->out[0]->type.rank, DT_f32, NULL, NULL);
  return build_cast(b, p, n->out[0]->type.dtype, true);
}

/* The axis along which v's elements are neighbours in memory, through as many views; MAX_RANK: none is known to be. */
static uint32_t nearest_axis(const Value *v, unsigned views) {
  if (!v->def || v->def->op != OP_VIEW) return v->type.rank ? v->type.rank - 1 : MAX_RANK;
  const uint32_t inner = views ? nearest_axis(v->def->in[0], views - 1) : MAX_RANK;
  if (inner == MAX_RANK) return MAX_RANK;
  const Affine *index = &((const ViewAttr *)v->def->attr)->index[inner];
  uint32_t axis = MAX_RANK;
  for (uint32_t j = 0; j < v->type.rank; j++) {
    const Dim *c = affine_coef(index, j);
    if (c && (axis != MAX_RANK || !dim_is(c, 1))) return MAX_RANK;
    if (c) axis = j;
  }
  return axis;
}

enum { LONG_SUM = 256, LONG_ROW = 512, WIDE_ROW = 16 };

/* Products of one row or of one column with a matrix that only the call knows: each of its numbers is used once, so that a kernel, which would pack them
 * first, takes longer than sums where they lie, side by side or long ones. reads: the kernels of one row read them as they lie, several sums at a time, which is quicker
 * while these are short. */
static bool is_thin(const Node *n, bool reads) {
  const ContractAttr *attr = n->attr;
  const Value *a = n->in[0], *b = n->in[1];
  const Type *out = &n->out[0]->type;
  if (b->data || attr->acc != DT_f32) return false;
  const int64_t rows = pass_own_size(n, 0), columns = pass_own_size(n, 1);
  if (rows != 1 && columns != 1) return false;
  if (rows == columns) return true;
  const Value *matrix = rows == 1 ? b : a;
  const uint32_t near = nearest_axis(matrix, 8);
  int64_t size;
  if (near == MAX_RANK || !dim_is_const(matrix->type.dims[near], &size)) return false;
  return size >= (out->rank && memchr(attr->out, (rows == 1 ? attr->b : attr->a)[near], out->rank) ? WIDE_ROW : rows == 1 && reads ? LONG_ROW : LONG_SUM);
}

/* ---- products of codes ---- */
/* One value a block for each of its elements. */
static Value *by_element(Builder *b, Value *v, const Dim *n, const Dim *k, int64_t block) {
  const Dim *const wide[] = {n, v->type.dims[1], dim_const(b->ir->dims, block)}, *const flat[] = {n, k};
  return build_reshape(b, build_expand(b, build_unsqueeze(b, v, 1u << 2), 3, wide), 2, flat);
}

static bool is_one_row(const Node *n) {
  for (uint32_t a = 0; a + 1 < n->in[0]->type.rank; a++)
    if (!dim_is(n->in[0]->type.dims[a], 1)) return false;
  return true;
}

/* A sum over blocks and over what is in them, so that weights are an expression of codes and nothing of their size stands for scales; of one row a sum
 * along all of it, where codes lie. */
static Value *codes_nest(Builder *b, const Node *n) {
  const CodesAttr *attr = n->attr;
  Arena *a = b->ir->arena;
  Value *x = n->in[0], *w = n->in[1], *scales = n->in[2], *zeros = n->n_in > 3 ? n->in[3] : NULL;
  const Dim *rows = w->type.dims[0], *k = w->type.dims[1], *count = scales->type.dims[1], *one = b->ir->dims->one;
  const Dim *const wide[] = {rows, count, dim_const(b->ir->dims, attr->block)}, *const single[] = {rows, count, one};
  const bool row = is_one_row(n);
  const uint32_t rank = x->type.rank, last = rank - 1;
  Expr e = {0};
  const uint32_t code = expr_cast(a, &e, DT_f32, true, expr_cast(a, &e, DT_u8, true, expr_input(a, &e, 0, w->type.dtype)));
  const uint32_t from = zeros ? expr_input(a, &e, 2, DT_f32) : expr_const_f(a, &e, DT_f32, (double)attr->zero);
  expr_set_result(a, &e, expr_fn2(a, &e, SC_mul, expr_fn2(a, &e, SC_sub, code, from), expr_input(a, &e, 1, DT_f32)));
  Value *in[3] = {w, scales, zeros};
  for (uint32_t i = 0; i < n->n_in - 1; i++) in[i] = i == 0 ? (row ? w : build_reshape(b, w, 3, wide)) : row ? by_element(b, in[i], rows, k, attr->block) : build_reshape(b, in[i], 3, single);
  Value *weights = build_expr(b, e, in, n->n_in - 1, row ? 2 : 3, row ? w->type.dims : wide);
  const Dim *dims[MAX_RANK];
  uint8_t lx[MAX_RANK], lw[3], out[MAX_RANK];
  for (uint32_t i = 0; i < last; i++) dims[i] = x->type.dims[i], lx[i] = out[i] = (uint8_t)i;
  lx[last] = lw[1] = (uint8_t)last;
  lx[rank] = lw[2] = (uint8_t)rank;
  out[last] = lw[0] = (uint8_t)(rank + 1);
  dims[last] = count;
  dims[rank] = wide[2];
  if (!row) x = build_reshape(b, x, rank + 1, dims);
  return build_contract(b, x, lx, weights, lw, out, rank, DT_f32, NULL, NULL);
}

/* ---- windows ---------------------------------------------------------------------------------------------------------------------- */
typedef struct Windows {
  uint32_t n, lead; /* spatial axes, those in front of them */
  const int64_t *stride, *dilation;
  const Dim *const *kernel;
  const Dim *const *pad_lo;
  const Dim *const *out; /* [n] output sizes */
} Windows;

/* What windows reach beyond spatial axis i of x; negative: what they leave. */
static const Dim *pad_behind(DimCtx *c, const Value *x, const Windows *w, uint32_t i) {
  const Dim *span = dim_addc(c, dim_mulc(c, dim_addc(c, w->kernel[i], -1), w->dilation[i]), 1);
  const Dim *reach = dim_add(c, dim_mulc(c, dim_addc(c, w->out[i], -1), w->stride[i]), span);
  return dim_sub(c, reach, dim_add(c, x->type.dims[w->lead + i], w->pad_lo[i]));
}

/* x padded (or cropped) so that the windows cover exactly what is there: [lead...][spatial...]. */
static Value *fit(Builder *b, Value *x, const Windows *w, Value *fill) {
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  for (uint32_t i = 0; i < w->lead; i++) lo[i] = hi[i] = b->ir->dims->zero;
  for (uint32_t i = 0; i < w->n; i++) lo[w->lead + i] = w->pad_lo[i], hi[w->lead + i] = pad_behind(b->ir->dims, x, w, i);
  return build_pad(b, x, PAD_CONSTANT, lo, hi, fill);
}

/* The index of spatial axis i over coordinates: out_axis * stride + tap_axis * dilation. */
static Affine window_index(Builder *b, uint32_t rank, const Windows *w, uint32_t i, uint32_t out_axis, uint32_t tap_axis) {
  const Dim **coef = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) coef[j] = b->ir->dims->zero;
  coef[out_axis] = dim_const(b->ir->dims, w->stride[i]);
  coef[tap_axis] = dim_const(b->ir->dims, w->dilation[i]);
  return (Affine){b->ir->dims->zero, coef};
}

/* x [lead...][spatial...] -> [lead...][out...][taps...] */
static Value *windows_view(Builder *b, Value *x, const Windows *w) {
  uint32_t rank = w->lead + 2 * w->n;
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  if (!x) return NULL;
  for (uint32_t i = 0; i < w->lead; i++) dims[i] = x->type.dims[i], index[i] = build_affine_coord(b, rank, i);
  for (uint32_t i = 0; i < w->n; i++) {
    dims[w->lead + i] = w->out[i];
    dims[w->lead + w->n + i] = w->kernel[i];
    index[w->lead + i] = window_index(b, rank, w, i, w->lead + i, w->lead + w->n + i);
  }
  return build_view(b, x, rank, dims, arena_dup(b->ir->arena, index, (w->lead + w->n) * sizeof *index));
}

static Value *lowest(Builder *b, DType t) {
  DType c = dtype_compute(t);
  if (dtype_is_float(t)) return build_scalar_f(b, t, -1e300 * 1e300);
  return build_scalar_i(b, t, dtype_rows[t].kind == KIND_S ? -((int64_t)1 << (dtype_rows[c].bits - 2)) * 2 : 0);
}

static Windows pool_windows(const Node *n, const PoolAttr *a) {
  uint32_t lead = n->out[0]->type.rank - a->n_spatial;
  const Dim **kernel = NEW_ARRAY(n->graph->ir->arena, const Dim *, a->n_spatial);
  for (uint32_t i = 0; i < a->n_spatial; i++) kernel[i] = dim_const(n->graph->ir->dims, a->kernel[i]);
  return (Windows){a->n_spatial, lead, a->stride, a->dilation, kernel, a->pad_lo, n->out[0]->type.dims + lead};
}

/* How many elements each window averages, [1][1][out...]: the sum of a mask. */
static Value *window_counts(Builder *b, const Node *n, const PoolAttr *a, DType t) {
  const Type *x = &n->in[0]->type;
  DimCtx *c = b->ir->dims;
  const Dim *dims[MAX_RANK], *lo[MAX_RANK], *hi[MAX_RANK];
  Windows w = pool_windows(n, a);
  for (uint32_t i = 0; i < w.lead; i++) dims[i] = c->one, lo[i] = hi[i] = c->zero;
  for (uint32_t i = 0; i < a->n_spatial; i++) {
    dims[w.lead + i] = x->dims[w.lead + i];
    lo[w.lead + i] = a->pad_lo[i];
    hi[w.lead + i] = a->pad_hi[i];
  }
  Value *one = build_scalar_f(b, t, 1), *mask = build_expand(b, one, w.lead + a->n_spatial, dims);
  if (a->count_include_pad) {
    const Dim **zeros = NEW_ARRAY(b->ir->arena, const Dim *, a->n_spatial);
    for (uint32_t i = 0; i < a->n_spatial; i++) zeros[i] = c->zero;
    mask = build_pad(b, mask, PAD_CONSTANT, lo, hi, one);
    w.pad_lo = zeros;
  }
  mask = windows_view(b, fit(b, mask, &w, NULL), &w);
  return build_reduce(b, REDUCE_SUM, mask, axes_from(w.lead + w.n, w.lead + 2 * w.n), false);
}

/* What is greatest at the tap of each window's maximum: the taps v themselves or, where some may be padding, which could be as low as all that the image
 * has, 1 for those of the image that equal the maximum y, or are NaN. */
static Value *maximal_taps(Builder *b, const Node *n, const Windows *w, Value *v, Value *y) {
  const Value *x = n->in[0];
  const Dim *dims[MAX_RANK];
  bool padded = false;
  for (uint32_t i = 0; i < w->n; i++) padded = padded || w->pad_lo[i]->hi > 0 || pad_behind(b->ir->dims, x, w, i)->hi > 0;
  if (!padded) return v;
  for (uint32_t i = 0; i < w->lead + w->n; i++) dims[i] = i < w->lead ? b->ir->dims->one : x->type.dims[i];
  Value *image = build_expand(b, build_scalar_i(b, DT_u8, 1), w->lead + w->n, dims);
  Value *hit = build_cast(b, build_fn2(b, SC_eq, v, build_unsqueeze(b, y, axes_from(w->lead + w->n, w->lead + 2 * w->n))), DT_u8, true);
  if (dtype_is_float(v->type.dtype)) hit = build_fn2(b, SC_max, hit, build_cast(b, build_fn1(b, SC_isnan, v), DT_u8, true));
  return build_fn2(b, SC_min, hit, windows_view(b, fit(b, image, w, NULL), w));
}

/* The flat place of each maximum from its tap, counted over taps in row-major order. */
static Value *max_places(Builder *b, const Node *n, const PoolAttr *a, Value *tap) {
  Arena *arena = b->ir->arena;
  Expr e = {0};
  const Type *x = &n->in[0]->type;
  uint32_t rest = expr_input(arena, &e, 0, DT_s64), place[3];
  for (uint32_t i = a->n_spatial; i-- > 0;) {
    uint32_t size = expr_const_i(arena, &e, DT_s64, a->kernel[i]);
    uint32_t t = expr_fn2(arena, &e, SC_mod, rest, size);
    rest = expr_fn2(arena, &e, SC_div, rest, size);
    uint32_t at = expr_fn2(arena, &e, SC_mul, expr_index(arena, &e, 2 + i), expr_const_i(arena, &e, DT_s64, a->stride[i]));
    at = expr_fn2(arena, &e, SC_add, at, expr_fn2(arena, &e, SC_mul, t, expr_const_i(arena, &e, DT_s64, a->dilation[i])));
    place[i] = expr_fn2(arena, &e, SC_sub, at, expr_dim(arena, &e, a->pad_lo[i]));
  }
  uint32_t image = expr_fn2(arena, &e, SC_add, expr_fn2(arena, &e, SC_mul, expr_index(arena, &e, 0), expr_dim(arena, &e, x->dims[1])), expr_index(arena, &e, 1)), flat = UINT32_MAX;
  for (uint32_t k = 0; k < a->n_spatial; k++) {
    uint32_t i = a->column_major ? a->n_spatial - 1 - k : k;
    flat = flat == UINT32_MAX ? place[i] : expr_fn2(arena, &e, SC_add, expr_fn2(arena, &e, SC_mul, flat, expr_dim(arena, &e, x->dims[2 + i])), place[i]);
  }
  uint32_t size = expr_dim(arena, &e, dim_product(b->ir->dims, x->dims + 2, a->n_spatial));
  expr_set_result(arena, &e, expr_fn2(arena, &e, SC_add, expr_fn2(arena, &e, SC_mul, image, size), flat));
  return build_expr(b, e, &tap, 1, (int)n->out[0]->type.rank, n->out[0]->type.dims);
}

static bool pool(Builder *b, const Node *n, Value **ret) {
  const PoolAttr *a = n->attr;
  Value *x = n->in[0];
  DType t = x->type.dtype, wide = is_narrow_float(t) ? DT_f32 : t;
  Windows w = pool_windows(n, a);
  uint32_t taps = axes_from(w.lead + w.n, w.lead + 2 * w.n);
  x = build_cast(b, x, wide, true);
  if (a->kind == POOL_LP) x = build_fn2(b, SC_pow, build_fn1(b, SC_abs, x), like(b, x, (double)a->p));
  Value *v = windows_view(b, fit(b, x, &w, a->kind == POOL_MAX ? lowest(b, wide) : NULL), &w);
  if (!v) return false;
  Value *y = build_reduce(b, a->kind == POOL_MAX ? REDUCE_MAX : REDUCE_SUM, v, taps, false);
  if (a->kind == POOL_AVERAGE) y = build_fn2(b, SC_div, y, window_counts(b, n, a, wide));
  if (a->kind == POOL_LP) y = build_fn2(b, SC_pow, y, like(b, y, 1.0 / (double)a->p));
  ret[0] = build_cast(b, y, t, true);
  if (n->n_out > 1) {
    const Dim *dims[MAX_RANK];
    memcpy(dims, v->type.dims, (2 + w.n) * sizeof *dims);
    dims[2 + w.n] = dim_product(b->ir->dims, v->type.dims + 2 + w.n, w.n);
    Value *tap = build_arg(b, true, build_reshape(b, maximal_taps(b, n, &w, v, y), 3 + w.n, dims), 2 + w.n, false, false);
    ret[1] = max_places(b, n, a, tap);
  }
  return ret[0] != NULL;
}

/* ---- normalisation over neighbouring channels ---------------------------------------------------------------------------------- */
/* base to the power beta for a base that is positive: quarters by square roots, which are exact to half a place and faster than a power. */
static Value *quarter_power(Builder *b, Value *base, double beta) {
  if (beta == 1.0) return base;
  if (beta != 0.25 && beta != 0.5 && beta != 0.75) return build_fn2(b, SC_pow, base, like(b, base, beta));
  Value *half = build_fn1(b, SC_sqrt, base);
  if (beta == 0.5) return half;
  Value *quarter = build_fn1(b, SC_sqrt, half);
  return beta == 0.25 ? quarter : build_fn2(b, SC_mul, half, quarter);
}

/* For each place the sum of squares of its channel's neighbours, in f32 where the type is narrower. */
static Value *lrn_sum(Builder *b, Value *x, const LrnAttr *a) {
  DimCtx *d = b->ir->dims;
  const DType t = x->type.dtype, wide = is_narrow_float(t) ? DT_f32 : t;
  const Dim *const dims[] = {x->type.dims[0], d->one, x->type.dims[1], dim_product(d, x->type.dims + 2, x->type.rank - 2)};
  const int64_t ones[] = {1, 1};
  const Dim *const kernel[] = {dim_const(d, a->size), d->one}, *const lo[] = {dim_const(d, (a->size - 1) / 2), d->zero};
  const Windows w = {2, 2, ones, ones, kernel, lo, dims + 2};
  Value *squares = build_cast(b, build_reshape(b, build_fn2(b, SC_mul, x, x), 4, dims), wide, true);
  Value *v = windows_view(b, fit(b, squares, &w, NULL), &w);
  if (!v) return NULL;
  return build_reshape(b, build_cast(b, build_reduce(b, REDUCE_SUM, v, axes_from(4, 6), false), t, true), x->type.rank, x->type.dims);
}

static Value *lrn(Builder *b, Value *x, const LrnAttr *a) {
  Value *sum = lrn_sum(b, x, a);
  if (!sum) return NULL;
  Value *scaled = build_fn2(b, SC_mul, sum, like(b, x, (double)(a->alpha / (float)a->size)));
  Value *base = build_fn2(b, SC_add, scaled, like(b, x, (double)a->bias));
  const double beta = (double)a->beta;
  Value *power = a->alpha >= 0 && a->bias > 0 ? quarter_power(b, base, beta) : build_fn2(b, SC_pow, base, like(b, base, beta));
  return build_fn2(b, SC_div, x, power);
}

/* ---- convolution ------------------------------------------------------------------------------------------------------------------- */
/* Zeros between the elements of each spatial axis: [.., n, ..] -> [.., (n - 1) * up + 1, ..]. */
static Value *dilate(Builder *b, Value *x, uint32_t axis, int64_t up) {
  DimCtx *c = b->ir->dims;
  if (up == 1) return x;
  const Dim *lo[MAX_RANK], *hi[MAX_RANK], *dims[MAX_RANK];
  uint32_t rank = x->type.rank;
  memcpy(dims, x->type.dims, rank * sizeof *dims);
  for (uint32_t i = 0; i <= rank; i++) lo[i] = hi[i] = c->zero;
  hi[axis + 1] = dim_const(c, up - 1);
  x = build_pad(b, build_unsqueeze(b, x, 1u << (axis + 1)), PAD_CONSTANT, lo, hi, NULL);
  dims[axis] = dim_mulc(c, dims[axis], up);
  x = build_reshape(b, x, rank, dims);
  return build_slice(b, x, axis, c->zero, dim_addc(c, dims[axis], 1 - up), c->one);
}

/* [N][C][...] and [M][C/g][k...] -> products over [N][g][m][out...][c][taps...], summed. */
static Value *conv_products(Builder *b, Value *x, Value *w, const Windows *win, int64_t group, const Type *out) {
  DimCtx *c = b->ir->dims;
  uint32_t n = win->n, rank = 4 + 2 * n, channel = 3 + n;
  const Dim *per_group = dim_floordiv(c, out->dims[1], dim_const(c, group)), *channels = w->type.dims[1];
  const Dim *dims[MAX_RANK] = {out->dims[0], dim_const(c, group), per_group};
  Affine xi[MAX_RANK], wi[MAX_RANK];
  xi[0] = build_affine_coord(b, rank, 0);
  wi[1] = build_affine_coord(b, rank, channel);
  const Dim **xc = NEW_ARRAY(b->ir->arena, const Dim *, rank), **wc = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) xc[j] = wc[j] = c->zero;
  xc[1] = channels;
  xc[channel] = c->one;
  wc[1] = per_group;
  wc[2] = c->one;
  xi[1] = (Affine){c->zero, xc};
  wi[0] = (Affine){c->zero, wc};
  dims[channel] = channels;
  for (uint32_t i = 0; i < n; i++) {
    dims[3 + i] = win->out[i];
    dims[channel + 1 + i] = w->type.dims[2 + i];
    xi[2 + i] = window_index(b, rank, win, i, 3 + i, channel + 1 + i);
    wi[2 + i] = build_affine_coord(b, rank, channel + 1 + i);
  }
  Value *xv = build_view(b, x, rank, dims, arena_dup(b->ir->arena, xi, (2 + n) * sizeof *xi));
  Value *wv = build_view(b, w, rank, dims, arena_dup(b->ir->arena, wi, (2 + n) * sizeof *wi));
  return build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, xv, wv), axes_from(channel, rank), false);
}

static Value *per_channel(Builder *b, Value *v, uint32_t n_spatial) { /* [M] -> [M][1]... */
  return v->type.rank == 1 && n_spatial ? build_unsqueeze(b, v, ((1u << n_spatial) - 1) << 1) : v;
}

static Value *conv_nest(Builder *b, const Node *n) {
  const ConvAttr *a = n->attr;
  const Type *out = &n->out[0]->type;
  Value *zero_x = n->n_in > 3 ? n->in[3] : NULL, *zero_w = n->n_in > 4 ? n->in[4] : NULL, *bias = n->n_in > 2 ? n->in[2] : NULL;
  Value *x = widened(b, n->in[0], zero_x, a->acc, false);
  Value *w = widened(b, n->in[1], zero_w && zero_w->type.rank == 1 ? build_unsqueeze(b, zero_w, ((1u << (1 + a->n_spatial)) - 1) << 1) : zero_w, a->acc, false);
  if (!x || !w) return NULL;
  for (uint32_t i = 0; i < a->n_spatial; i++) x = dilate(b, x, 2 + i, a->dilate_x[i]);
  Windows win = {a->n_spatial, 2, a->stride, a->dilation, w->type.dims + 2, a->pad_lo, out->dims + 2};
  Value *y = conv_products(b, x ? fit(b, x, &win, NULL) : NULL, w, &win, a->group, out);
  y = y ? build_reshape(b, y, out->rank, out->dims) : NULL;
  if (bias) y = build_fn2(b, SC_add, y, per_channel(b, build_cast(b, bias, a->acc, true), a->n_spatial));
  return build_cast(b, y, out->dtype, true);
}

static Value *conv_f32(Builder *b, const Node *n) {
  ConvAttr a = *(const ConvAttr *)n->attr;
  Value *bias = n->n_in > 2 && n->in[2] ? build_cast(b, n->in[2], DT_f32, true) : NULL;
  a.acc = DT_f32;
  Value *y = build_conv(b, build_cast(b, n->in[0], DT_f32, true), build_cast(b, n->in[1], DT_f32, true), bias, NULL, NULL, a);
  return build_cast(b, y, n->out[0]->type.dtype, true);
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------------ */
enum { SHORT_ROW = 8, NARROW = 4, FEW_ROWS = 4 }; /* elements: a nest takes shorter rows, many at a time, of a target with vectors, whose softmax has code for each length, narrow ones that are not few */

static bool softmax_fits(const Node *n, bool vectors) {
  const SoftmaxAttr *attr = n->attr;
  const Type *t = &n->in[0]->type;
  int64_t count = INT64_MAX, rows = INT64_MAX;
  (void)dim_is_const(t->dims[attr->axis], &count);
  (void)dim_is_const(dim_product(n->graph->ir->dims, t->dims, attr->axis), &rows);
  return attr->axis + 1 < t->rank || count >= (!vectors ? SHORT_ROW : rows < FEW_ROWS ? 1 : NARROW);
}

static bool norm_fits(const Node *n) {
  const NormAttr *attr = n->attr;
  int64_t count = INT64_MAX;
  (void)dim_is_const(dim_product(n->graph->ir->dims, n->in[0]->type.dims + attr->axis, n->in[0]->type.rank - attr->axis), &count);
  for (uint32_t k = 1; k < n->n_in; k++)
    if (n->in[k] && (n->in[k]->type.dtype != DT_f32 || norm_operand_kind(&n->in[k]->type, &n->in[0]->type, attr->axis) == NORM_BY_OTHER)) return false;
  return count >= SHORT_ROW;
}

/* ---- products of 8-bit operands that the integer kernels take ---- */
static bool is_8(const Value *v) { return v->type.dtype == DT_u8 || v->type.dtype == DT_s8; }

/* label's axis is the only one of v that goes into the result alone: its rows or columns. */
static bool walks_alone(const ContractAttr *attr, const Type *out, const uint8_t *own, const Type *v, const uint8_t *other, const Type *w,
                        uint8_t label) {
  for (uint32_t a = 0; a < v->rank; a++) {
    const bool alone = out->rank && memchr(attr->out, own[a], out->rank) && !(w->rank && memchr(other, own[a], w->rank));
    if (alone != (own[a] == label)) return false;
  }
  return true;
}

static bool kernel_contract(const Node *n) {
  const ContractAttr *attr = n->attr;
  const Value *a = n->in[0], *b = n->in[1], *za = n->n_in > 2 ? n->in[2] : NULL, *zb = n->n_in > 3 ? n->in[3] : NULL;
  const Type *out = &n->out[0]->type;
  if (attr->acc != DT_s32 || out->dtype != DT_s32 || !is_8(a) || !is_8(b) || (za && !is_8(za)) || (zb && !is_8(zb))) return false;
  if (za && za->type.rank) {
    const uint32_t r = a->type.rank;
    if (za->type.rank > 1 || r < 2 || za->type.dims[0] != a->type.dims[r - 2]) return false;
    if (!walks_alone(attr, out, attr->a, &a->type, attr->b, &b->type, attr->a[r - 2])) return false;
  }
  if (zb && zb->type.rank) {
    const uint32_t r = b->type.rank;
    if (zb->type.rank > 1 || r < 2 || zb->type.dims[0] != b->type.dims[r - 1]) return false;
    if (!walks_alone(attr, out, attr->b, &b->type, attr->a, &a->type, attr->b[r - 1])) return false;
  }
  return true;
}

/* Kernels are written for windows of known size. */
static bool window_known(const Node *n) {
  int64_t size;
  for (uint32_t i = 0; i < ((const ConvAttr *)n->attr)->n_spatial; i++)
    if (!dim_is_const(n->in[1]->type.dims[2 + i], &size)) return false;
  return true;
}

static bool kernel_conv(const Node *n) {
  const ConvAttr *attr = n->attr;
  const Value *x = n->in[0], *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL;
  const Value *zx = n->n_in > 3 ? n->in[3] : NULL, *zw = n->n_in > 4 ? n->in[4] : NULL;
  if (attr->acc != DT_s32 || attr->n_spatial < 1 || attr->n_spatial > 3 || n->out[0]->type.dtype != DT_s32 || !is_8(x) || !is_8(w)) return false;
  if ((zx && (!is_8(zx) || zx->type.rank)) || (zw && (!is_8(zw) || zw->type.rank > 1))) return false;
  if (zw && zw->type.rank == 1 && zw->type.dims[0] != w->type.dims[0]) return false;
  return !bias || (bias->type.dtype == DT_s32 && bias->type.rank == 1 && bias->type.dims[0] == w->type.dims[0]);
}

/* ---- the pass ------------------------------------------------------------------------------------------------------------------------ */
static bool legalise(Builder *b, const Node *n, Value **ret, void *user) {
  const Legalise *l = user;
  DType t = n->n_in && n->in[0] ? n->in[0]->type.dtype : DT_NONE;
  bool f32 = t == DT_f32 && l->kernels, narrow = is_narrow_float(t) && l->kernels;
  switch (n->op) {
    case OP_SOFTMAX:
      if (f32 && l->all && softmax_fits(n, l->blocks)) return false;
      ret[0] = softmax(b, n->in[0], n->attr);
      return true;
    case OP_LRN:
      if (f32 && l->blocks) return false;
      ret[0] = lrn(b, n->in[0], n->attr);
      return true;
    case OP_NORM:
      if (f32 && l->all && norm_fits(n)) return false;
      ret[0] = norm(b, n);
      return true;
    case OP_CONTRACT:
      if ((f32 && !(l->all && is_thin(n, l->blocks))) || (l->kernels && l->all && kernel_contract(n))) return false;
      ret[0] = narrow ? product_f32(b, n) : product_nest(b, n);
      return true;
    case OP_CODES:
      if (l->all && is_one_row(n) && ((const CodesAttr *)n->attr)->block % (32 / dtype_rows[n->in[1]->type.dtype].bits) == 0) return false;
      ret[0] = codes_nest(b, n);
      return true;
    case OP_CONV: {
      const bool known = window_known(n);
      const bool fits = known && ((const ConvAttr *)n->attr)->n_spatial >= 1 && ((const ConvAttr *)n->attr)->n_spatial <= 3;
      if ((f32 && fits) || (known && l->kernels && l->all && kernel_conv(n))) return false;
      ret[0] = narrow && fits ? conv_f32(b, n) : conv_nest(b, n);
      return true;
    }
    case OP_POOL: {
      const PoolAttr *a = n->attr;
      if (f32 && a->n_spatial <= 3 && n->in[0]->type.rank == a->n_spatial + 2 && n->n_out == 1 && (a->kind == POOL_MAX || a->kind == POOL_AVERAGE)) return false;
      return pool(b, n, ret);
    }
    default: return false;
  }
}

bool legalise_node(Builder *b, const Node *n, Value **ret) {
  Legalise l = {0};
  return legalise(b, n, ret, &l);
}

bool pass_legalise(Ir *ir, bool kernels, bool all, bool blocks) {
  Legalise l = {kernels, all, blocks};
  (void)pass_rewrite(ir, legalise, &l);
  return true;
}
