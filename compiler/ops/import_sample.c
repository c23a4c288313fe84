/* Values between the elements of a tensor: GridSample, DeformConv. Everything is gathers at computed places and arithmetic, so
 * that it fuses, and holds for any number of axes. */
#include "ops/shared.h"

typedef enum Beyond { BEYOND_ZERO, BEYOND_EDGE, BEYOND_REFLECT } Beyond;

typedef struct Sampler {
  OpContext *c;
  Value *x;       /* [lead...][spatial...] */
  uint32_t lead, n; /* axes of either kind */
  Beyond beyond;
  bool corners;   /* what reflection turns at: the outer elements, not their edges */
  DType t;        /* of weights and sums: f32 or f64 */
  uint32_t rank;  /* of the result, and of places (1 where they are the same along an axis) */
  const Dim *dims[MAX_RANK];
} Sampler;

static Value *fn(OpContext *c, ScalarFn f, Value *x, double y) { return x ? build_fn2(&c->b, f, x, op_scalar_like(c, x, y)) : NULL; }

static const Dim *size_of(const Sampler *s, uint32_t i) { return s->x->type.dims[s->lead + i]; }
static Value *size_as(const Sampler *s, uint32_t i, DType t) { return build_cast(&s->c->b, build_dim_scalar(&s->c->b, size_of(s, i)), t, true); }

/* Into the axis by turning at its ends, as often as it takes: a triangular wave. */
static Value *reflect(const Sampler *s, Value *x, uint32_t i) {
  Builder *b = &s->c->b;
  const double lo = s->corners ? 0 : -0.5;
  Value *range = size_as(s, i, x->type.dtype);
  if (s->corners) range = fn(s->c, SC_sub, range, 1);
  Value *period = fn(s->c, SC_max, fn(s->c, SC_mul, range, 2), 1), *t = fn(s->c, SC_sub, x, lo);
  t = build_fn2(b, SC_sub, t, build_fn2(b, SC_mul, build_fn1(b, SC_floor, build_fn2(b, SC_div, t, period)), period));
  Value *turned = build_fn2(b, SC_min, t, build_fn2(b, SC_sub, fn(s->c, SC_mul, range, 2), t));
  return fn(s->c, SC_add, turned, lo);
}

static Value *clamp(const Sampler *s, Value *v, uint32_t i) {
  Value *last = fn(s->c, SC_sub, size_as(s, i, v->type.dtype), 1);
  return build_fn3(&s->c->b, SC_clip, v, op_scalar_like(s->c, v, 0), last);
}

static Value *both(Builder *b, Value *x, Value *y) { return x ? build_fn2(b, SC_and, x, y) : y; }

/* The elements at places at[n] (s64), or what stands for them beyond the axes' ends. */
static Value *pixel(const Sampler *s, Value *const *at) {
  Builder *b = &s->c->b;
  GatherAxis axes[MAX_RANK];
  Affine place[MAX_RANK][MAX_RANK];
  Value *in[MAX_RANK + 1] = {s->x}, *inside = NULL;
  for (uint32_t i = 0; i < s->lead; i++) axes[i] = (GatherAxis){.affine = build_affine_coord(b, s->rank, i)};
  for (uint32_t i = 0; i < s->n; i++) {
    Value *k = at[i];
    if (!k) return NULL;
    if (s->beyond == BEYOND_REFLECT) k = build_cast(b, reflect(s, build_cast(b, k, DT_f64, true), i), DT_s64, true);
    Value *fit = clamp(s, k, i);
    if (s->beyond == BEYOND_ZERO) inside = both(b, inside, build_fn2(b, SC_eq, fit, k));
    in[i + 1] = fit;
    for (uint32_t a = 0; a < s->rank; a++) place[i][a] = dim_is(fit->type.dims[a], 1) ? build_affine_const(b, s->rank, op_dims(s->c)->zero) : build_affine_coord(b, s->rank, a);
    axes[s->lead + i] = (GatherAxis){.indirect = true, .operand = i + 1, .place = place[i], .inside = size_of(s, i)->lo > 0};
  }
  Value *v = build_gather(b, in, s->n + 1, s->rank, s->dims, axes);
  return inside && v ? build_fn3(b, SC_select, inside, v, op_scalar_like(s->c, v, 0)) : v;
}

/* Weights of the places floor - 1 to floor + 2 (Keys 1981, a = -0.75), or floor and floor + 1. */
static void weights(OpContext *c, Value *fraction, bool cubic, Value **ret) {
  const double a = -0.75;
  Value *rest = fn(c, SC_add, fn(c, SC_mul, fraction, -1), 1);
  if (!cubic) {
    ret[0] = rest;
    ret[1] = fraction;
    return;
  }
  Builder *b = &c->b;
  for (int k = 0; k < 4; k++) {
    Value *d = k < 2 ? fraction : rest; /* the distance: d + 1, d, d, d + 1 */
    if (k == 0 || k == 3) {
      d = fn(c, SC_add, d, 1);
      Value *p = fn(c, SC_add, build_fn2(b, SC_mul, fn(c, SC_sub, fn(c, SC_mul, d, a), 5 * a), d), 8 * a);
      ret[k] = fn(c, SC_sub, build_fn2(b, SC_mul, p, d), 4 * a);
    } else {
      Value *p = build_fn2(b, SC_mul, build_fn2(b, SC_mul, fn(c, SC_sub, fn(c, SC_mul, d, a + 2), a + 3), d), d);
      ret[k] = fn(c, SC_add, p, 1);
    }
  }
}

/* The value at coordinates x[n]: the sum over all neighbours of their products of weights. */
static Value *interpolate(const Sampler *s, Value *const *x, bool cubic) {
  OpContext *c = s->c;
  Builder *b = &c->b;
  const uint32_t taps = cubic ? 4 : 2;
  Value *w[3][4], *first[3], *sum = NULL;
  uint32_t count = 1;
  for (uint32_t i = 0; i < s->n; i++, count *= taps) {
    Value *whole = build_fn1(b, SC_floor, x[i]);
    if (!whole) return NULL;
    weights(c, build_fn2(b, SC_sub, x[i], whole), cubic, w[i]);
    first[i] = build_cast(b, whole, DT_s64, true);
    if (cubic) first[i] = fn(c, SC_sub, first[i], 1);
  }
  for (uint32_t k = 0; k < count; k++) {
    Value *at[3], *weight = NULL;
    for (uint32_t i = 0, rest = k; i < s->n; i++, rest /= taps) {
      const uint32_t tap = rest % taps;
      at[i] = tap ? fn(c, SC_add, first[i], tap) : first[i];
      weight = weight ? build_fn2(b, SC_mul, weight, w[i][tap]) : w[i][tap];
    }
    Value *v = build_fn2(b, SC_mul, build_cast(b, pixel(s, at), s->t, true), build_cast(b, weight, s->t, true));
    sum = sum ? build_fn2(b, SC_add, sum, v) : v;
  }
  return sum;
}

static DType wide_type(DType t) { return t == DT_f64 ? DT_f64 : DT_f32; }

/* ---- GridSample ---- */
typedef enum GridMode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC } GridMode;

static bool grid_modes(OpContext *c, GridMode *ret_mode, Beyond *ret_beyond) {
  static const char *const modes[][2] = {{"nearest", "nearest"}, {"linear", "bilinear"}, {"cubic", "bicubic"}};
  static const char *const beyond[] = {"zeros", "border", "reflection"};
  const Str mode = op_str(c, "mode", "linear"), padding = op_str(c, "padding_mode", "zeros");
  for (*ret_mode = GRID_NEAREST; *ret_mode <= GRID_CUBIC && !str_is(mode, modes[*ret_mode][0]) && !str_is(mode, modes[*ret_mode][1]);) (*ret_mode)++;
  for (*ret_beyond = BEYOND_ZERO; *ret_beyond <= BEYOND_REFLECT && !str_is(padding, beyond[*ret_beyond]);) (*ret_beyond)++;
  if (*ret_mode > GRID_CUBIC) return op_fail(c, DIAG_E0304, "attribute 'mode' is %s", diag_quote(c->b.ir->diags, mode));
  return *ret_beyond <= BEYOND_REFLECT || op_fail(c, DIAG_E0304, "attribute 'padding_mode' is %s", diag_quote(c->b.ir->diags, padding));
}

/* Coordinate i of the sampled tensor, of the result's rank: the grid's last axis lists axes from the last, from -1 to 1. */
static Value *grid_coordinate(const Sampler *s, uint32_t i, GridMode mode) {
  OpContext *c = s->c;
  Builder *b = &c->b;
  const uint32_t last = op_rank(c, 1) - 1;
  Value *g = build_slice(b, op_in(c, 1), last, bd_const(b, s->n - 1 - i), op_dims(c)->one, op_dims(c)->one);
  g = build_unsqueeze(b, build_squeeze(b, build_cast(b, g, wide_type(op_dtype(c, 1)), true), 1u << last), 2);
  Value *size = size_as(s, i, wide_type(op_dtype(c, 1)));
  if (!g || !size) return NULL;
  Value *x = fn(c, SC_add, g, 1);
  x = s->corners ? build_fn2(b, SC_mul, fn(c, SC_div, x, 2), fn(c, SC_sub, size, 1)) : fn(c, SC_div, fn(c, SC_sub, build_fn2(b, SC_mul, x, size), 1), 2);
  if (mode == GRID_NEAREST) x = build_fn1(b, SC_round, x);
  if (s->beyond == BEYOND_EDGE) return mode == GRID_CUBIC ? x : clamp(s, x, i); /* cubic: its neighbours alone, as PyTorch and ONNX Runtime do */
  return s->beyond == BEYOND_REFLECT ? reflect(s, x, i) : x;
}

bool import_grid_sample(OpContext *c) {
  Builder *b = &c->b;
  const uint32_t rank = op_rank(c, 0);
  GridMode mode;
  Sampler s = {.c = c, .x = op_in(c, 0), .lead = 2, .n = rank - 2, .corners = op_int(c, "align_corners", 0) != 0, .t = wide_type(op_dtype(c, 0)), .rank = rank};
  if (!grid_modes(c, &mode, &s.beyond) || !op_rank_in(c, 0, 3, 5) || !op_rank_in(c, 1, rank, rank)) return false;
  if (!ir_require_eq(b->ir, op_dim(c, 1, 0), op_dim(c, 0, 0)) || !ir_require_eq(b->ir, op_dim(c, 1, rank - 1), bd_const(b, s.n)))
    return op_fail(c, DIAG_E0402, "a grid %s for %s", op_shape(c, 1), op_shape(c, 0));
  for (uint32_t i = 0; i < rank; i++) s.dims[i] = i < 2 ? op_dim(c, 0, i) : op_dim(c, 1, i - 1);
  Value *x[3];
  for (uint32_t i = 0; i < s.n; i++)
    if (!(x[i] = grid_coordinate(&s, i, mode))) return false;
  const DTypeKind kind = dtype_rows[op_dtype(c, 0)].kind;
  if (mode != GRID_NEAREST && kind == KIND_X) return op_fail(c, DIAG_E0401, "between strings there is nothing: only mode \"nearest\" takes them");
  if (mode != GRID_NEAREST && kind == KIND_C) return op_unsupported(c, "interpolation of complex numbers");
  if (mode != GRID_NEAREST) return op_give(c, 0, op_interpolated(c, interpolate(&s, x, mode == GRID_CUBIC), op_dtype(c, 0)));
  for (uint32_t i = 0; i < s.n; i++) x[i] = build_cast(b, x[i], DT_s64, true);
  return op_give(c, 0, pixel(&s, x));
}

/* ---- DeformConv ---- */
typedef struct Deform {
  Window w;
  int64_t group, offset_groups;
  const Dim *channels;    /* of an offset group */
  const Dim *taps;        /* of a kernel */
} Deform;

static bool deform_shapes(OpContext *c, Deform *f) {
  DimCtx *d = op_dims(c);
  const uint32_t rank = op_rank(c, 0), n = rank - 2;
  const Dim *kernel[MAX_RANK];
  if (!op_rank_in(c, 0, 3, 5) || !op_rank_in(c, 1, rank, rank) || !op_rank_in(c, 2, rank, rank)) return false;
  f->group = op_int(c, "group", 1);
  f->offset_groups = op_int(c, "offset_group", 1);
  if (!op_kernel_sizes(c, &c->in[1], n, kernel)) return false;
  if (!op_window(c, op_in(c, 0), n, kernel, &f->w)) return false;
  if (f->group < 1 || f->offset_groups < 1) return op_fail(c, DIAG_E0304, "%lld groups, %lld of offsets", (long long)f->group, (long long)f->offset_groups);
  f->taps = dim_product(d, kernel, n);
  f->channels = dim_floordiv(d, op_dim(c, 0, 1), dim_const(d, f->offset_groups));
  const Dim *places = dim_mulc(d, f->taps, f->offset_groups);
  bool fits = ir_require_eq(c->b.ir, dim_mulc(d, f->channels, f->offset_groups), op_dim(c, 0, 1)) && ir_require_eq(c->b.ir, dim_mulc(d, op_dim(c, 1, 1), f->group), op_dim(c, 0, 1)) &&
              ir_require_eq(c->b.ir, op_dim(c, 2, 1), dim_mulc(d, places, n)) && ir_require_eq(c->b.ir, op_dim(c, 2, 0), op_dim(c, 0, 0));
  for (uint32_t i = 0; fits && i < n; i++) {
    const Dim *span = dim_addc(d, dim_sub(d, dim_add(d, op_dim(c, 0, 2 + i), dim_add(d, f->w.lo[i], f->w.hi[i])), op_window_span(c, &f->w, i)), 0);
    fits = ir_require_eq(c->b.ir, op_dim(c, 2, 2 + i), dim_addc(d, dim_floordiv(d, span, dim_const(d, f->w.stride[i])), 1));
    fits = fits && (!op_in(c, 4) || (op_rank(c, 4) == rank && ir_require_eq(c->b.ir, op_dim(c, 4, 2 + i), op_dim(c, 2, 2 + i))));
  }
  fits = fits && (!op_in(c, 4) || (ir_require_eq(c->b.ir, op_dim(c, 4, 0), op_dim(c, 0, 0)) && ir_require_eq(c->b.ir, op_dim(c, 4, 1), places)));
  return fits || op_fail(c, DIAG_E0402, "offsets %s do not fit %s and weights %s", op_shape(c, 2), op_shape(c, 0), op_shape(c, 1));
}

/* Coordinate i of the places that are read, [N][G][1][taps...][out...]: place o * stride + tap * dilation - padding, moved by the offset. */
static Value *deform_coordinate(const Sampler *s, const Deform *f, Value *offset /* [N][G][taps...][n][out...] */, uint32_t i) {
  OpContext *c = s->c;
  Builder *b = &c->b;
  Arena *a = op_arena(c);
  const uint32_t n = s->n, axis = 2 + n;
  Value *own = build_squeeze(b, build_slice(b, offset, axis, bd_const(b, i), op_dims(c)->one, op_dims(c)->one), 1u << axis);
  if (!own) return NULL;
  Expr e = {0};
  const uint32_t tap = expr_fn2(a, &e, SC_mul, expr_index(a, &e, 2 + i), expr_const_i(a, &e, DT_s64, f->w.dilation[i]));
  const uint32_t out = expr_fn2(a, &e, SC_mul, expr_index(a, &e, 2 + n + i), expr_const_i(a, &e, DT_s64, f->w.stride[i]));
  const uint32_t at = expr_fn2(a, &e, SC_sub, expr_fn2(a, &e, SC_add, tap, out), expr_dim(a, &e, f->w.lo[i]));
  const uint32_t x = expr_cast(a, &e, s->t, true, expr_input(a, &e, 0, own->type.dtype));
  expr_set_result(a, &e, expr_fn2(a, &e, SC_add, expr_cast(a, &e, s->t, true, at), x));
  return build_unsqueeze(b, build_expr(b, e, &own, 1, (int)own->type.rank, own->type.dims), 4);
}

/* [N][G][C / G][taps...][out...]: what each tap reads, times its mask. */
static Value *deform_columns(OpContext *c, const Deform *f) {
  Builder *b = &c->b;
  const uint32_t n = f->w.n;
  const Dim *groups = bd_const(b, f->offset_groups), *one = op_dims(c)->one;
  const Dim *split[MAX_RANK] = {op_dim(c, 0, 0), groups, f->channels}, *offset[MAX_RANK] = {split[0], groups}, *mask[MAX_RANK] = {split[0], groups, one};
  Sampler s = {.c = c, .lead = 3, .n = n, .beyond = BEYOND_ZERO, .t = wide_type(op_dtype(c, 0)), .rank = 3 + 2 * n, .dims = {split[0], groups, f->channels}};
  for (uint32_t i = 0; i < n; i++) {
    split[3 + i] = op_dim(c, 0, 2 + i);
    offset[2 + i] = mask[3 + i] = s.dims[3 + i] = f->w.taps[i];
    offset[3 + n + i] = mask[3 + n + i] = s.dims[3 + n + i] = op_dim(c, 2, 2 + i);
  }
  offset[2 + n] = bd_const(b, n);
  s.x = build_reshape(b, op_in(c, 0), 3 + n, split);
  Value *moved = build_reshape(b, op_in(c, 2), 3 + 2 * n, offset), *x[3];
  for (uint32_t i = 0; i < n; i++) x[i] = s.x && moved ? deform_coordinate(&s, f, moved, i) : NULL;
  Value *v = s.x && moved ? interpolate(&s, x, false) : NULL;
  return v && op_in(c, 4) ? build_fn2(b, SC_mul, v, build_cast(b, build_reshape(b, op_in(c, 4), 3 + 2 * n, mask), s.t, true)) : v;
}

bool import_deform_conv(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  Deform f;
  if (!deform_shapes(c, &f)) return false;
  const Dim *groups = bd_const(b, f.group), *depth = dim_mul(d, op_dim(c, 1, 1), f.taps), *filters = dim_floordiv(d, op_dim(c, 1, 0), groups);
  if (!ir_require_eq(b->ir, dim_mul(d, filters, groups), op_dim(c, 1, 0))) return op_fail(c, DIAG_E0402, "weights %s for %lld groups", op_shape(c, 1), (long long)f.group);
  const Dim *places = dim_product(d, op_in(c, 2)->type.dims + 2, f.w.n);
  const Dim *const columns[] = {op_dim(c, 0, 0), groups, depth, places}, *const rows[] = {groups, filters, depth};
  const DType wide = wide_type(op_dtype(c, 0));
  Value *v = deform_columns(c, &f);
  if (!v) return false;
  Value *w = build_cast(b, build_reshape(b, op_in(c, 1), 3, rows), wide, true);
  /* w[g,m,k] * v[n,g,k,p] -> [n,g,m,p] */
  static const uint8_t lw[] = {1, 2, 4}, lv[] = {0, 1, 4, 3}, lo[] = {0, 1, 2, 3};
  Value *y = build_contract(b, w, lw, build_reshape(b, v, 4, columns), lv, lo, 4, wide, NULL, NULL);
  const Dim *out[MAX_RANK] = {op_dim(c, 0, 0), op_dim(c, 1, 0)};
  for (uint32_t i = 0; i < f.w.n; i++) out[2 + i] = op_dim(c, 2, 2 + i);
  y = build_reshape(b, y, 2 + f.w.n, out);
  if (op_in(c, 3)) y = build_fn2(b, SC_add, y, op_along_axis(c, build_cast(b, op_in(c, 3), wide, true), 2 + f.w.n, 1));
  return op_give(c, 0, build_cast(b, y, op_dtype(c, 0), true));
}
