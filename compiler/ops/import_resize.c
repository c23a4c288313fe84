/* Resize and Upsample. Each output coordinate maps to an input coordinate; taps about it are gathered and weighted.
 * Indices and weights are small tensors in graph arithmetic, so that known sizes fold to constants and run-time sizes
 * need no other code. */
#include "ops/shared.h"

typedef enum ResizeMode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } ResizeMode;
typedef enum CoordMode {
  COORD_HALF_PIXEL,
  COORD_PYTORCH_HALF_PIXEL,
  COORD_HALF_PIXEL_SYMMETRIC,
  COORD_ALIGN_CORNERS,
  COORD_ASYMMETRIC,
  COORD_CROP,
  COORD_TF_HALF_PIXEL
} CoordMode;
typedef enum NearestMode {
  NEAREST_PREFER_FLOOR,
  NEAREST_PREFER_CEIL,
  NEAREST_FLOOR,
  NEAREST_CEIL,
  NEAREST_BY_SCALE /* Resize 10, as its conformance case and runtimes have it: floor where the axis grows, ceil where it shrinks */
} NearestMode;

typedef struct Resize {
  ResizeMode mode;
  CoordMode coord;
  NearestMode nearest;
  bool antialias, exclude_outside;
  float cubic_a, extrapolation;
} Resize;

/* One axis: sizes, and the scale and the region as f64 scalars of the graph. */
typedef struct ResizeAxis {
  const Dim *in, *out;
  Value *operands[3]; /* scale, region start, region end (COORD_CROP) */
  bool exact;         /* the scale is out / in, rounded */
} ResizeAxis;

/* ---- expressions in f64 ---- */
typedef struct Ex {
  Arena *a;
  Expr e;
} Ex;

static uint32_t ex_c(Ex *x, double v) { return expr_const_f(x->a, &x->e, DT_f64, v); }
static uint32_t ex2(Ex *x, ScalarFn fn, uint32_t p, uint32_t q) { return expr_fn2(x->a, &x->e, fn, p, q); }
static uint32_t ex_add(Ex *x, uint32_t p, uint32_t q) { return ex2(x, SC_add, p, q); }
static uint32_t ex_sub(Ex *x, uint32_t p, uint32_t q) { return ex2(x, SC_sub, p, q); }
static uint32_t ex_mul(Ex *x, uint32_t p, uint32_t q) { return ex2(x, SC_mul, p, q); }
static uint32_t ex_div(Ex *x, uint32_t p, uint32_t q) { return ex2(x, SC_div, p, q); }
static uint32_t ex_floor(Ex *x, uint32_t p) { return expr_fn1(x->a, &x->e, SC_floor, p); }
static uint32_t ex_ceil(Ex *x, uint32_t p) { return expr_fn1(x->a, &x->e, SC_ceil, p); }
static uint32_t ex_where(Ex *x, uint32_t c, uint32_t p, uint32_t q) {
  return expr_fn3(x->a, &x->e, SC_select, c, p, q);
}
static uint32_t ex_index(Ex *x, uint32_t axis) {
  return expr_cast(x->a, &x->e, DT_f64, true, expr_index(x->a, &x->e, axis));
}
static uint32_t ex_dim(Ex *x, const Dim *d) {
  int64_t v;
  return dim_is_const(d, &v) ? ex_c(x, (double)v) : expr_cast(x->a, &x->e, DT_f64, true, expr_dim(x->a, &x->e, d));
}

/* (i + 0.5) / scale */
static uint32_t ex_centre(Ex *x, uint32_t i, uint32_t scale) { return ex_div(x, ex_add(x, i, ex_c(x, 0.5)), scale); }

/* The input's coordinate in the middle of COORD_CROP's region, or at the place of i among `gaps`. */
static uint32_t ex_crop(Ex *x, uint32_t i, uint32_t last, uint32_t gaps, uint32_t single) {
  const uint32_t from = expr_input(x->a, &x->e, 1, DT_f64), to = expr_input(x->a, &x->e, 2, DT_f64);
  const uint32_t span = ex_mul(x, ex_sub(x, to, from), last);
  const uint32_t at = ex_where(x, single, ex_mul(x, span, ex_c(x, 0.5)), ex_div(x, ex_mul(x, i, span), gaps));
  return ex_add(x, at, ex_mul(x, from, last));
}

/* Where sizes are given: whole numbers but for one division, so that what falls on a place of the input falls there. */
static uint32_t ex_exact(Ex *x, const Resize *r, const ResizeAxis *ax) {
  const uint32_t i = ex_index(x, 0), in = ex_dim(x, ax->in), out = ex_dim(x, ax->out), one = ex_c(x, 1), two = ex_c(x, 2);
  if (r->coord == COORD_ASYMMETRIC) return ex_div(x, ex_mul(x, i, in), out);
  const uint32_t centre = ex_mul(x, ex_add(x, ex_mul(x, i, two), one), in), twice = ex_mul(x, out, two);
  if (r->coord == COORD_TF_HALF_PIXEL) return ex_div(x, centre, twice);
  const uint32_t single = ex2(x, SC_eq, out, one), half = ex_div(x, ex_sub(x, centre, out), twice);
  if (r->coord == COORD_PYTORCH_HALF_PIXEL) return ex_where(x, single, ex_c(x, 0), half);
  const uint32_t last = ex_sub(x, in, one), gaps = ex_sub(x, out, one);
  if (r->coord == COORD_ALIGN_CORNERS) return ex_where(x, single, ex_c(x, 0), ex_div(x, ex_mul(x, i, last), gaps));
  return r->coord == COORD_CROP ? ex_crop(x, i, last, gaps, single) : half;
}

/* Input coordinate of output coordinate i (axis 0 of the domain). The exact output width is scale * in, not rounded. */
static uint32_t ex_coord(Ex *x, const Resize *r, const ResizeAxis *ax) {
  if (ax->exact) return ex_exact(x, r, ax);
  const uint32_t i = ex_index(x, 0), scale = expr_input(x->a, &x->e, 0, DT_f64);
  if (r->coord == COORD_ASYMMETRIC) return ex_div(x, i, scale);
  if (r->coord == COORD_TF_HALF_PIXEL) return ex_centre(x, i, scale);
  const uint32_t half = ex_c(x, 0.5);
  if (r->coord == COORD_HALF_PIXEL) return ex_sub(x, ex_centre(x, i, scale), half);
  const uint32_t in = ex_dim(x, ax->in), one = ex_c(x, 1), width = ex_mul(x, scale, in);
  if (r->coord == COORD_HALF_PIXEL_SYMMETRIC) {
    const uint32_t adjust = ex_div(x, ex_dim(x, ax->out), width),
                   offset = ex_mul(x, ex_mul(x, in, half), ex_sub(x, one, adjust));
    return ex_add(x, offset, ex_sub(x, ex_centre(x, i, scale), half));
  }
  const uint32_t last = ex_sub(x, in, one), gaps = ex_sub(x, width, one);
  if (r->coord == COORD_ALIGN_CORNERS) return ex_where(x, ex2(x, SC_eq, width, one), ex_c(x, 0), ex_div(x, ex_mul(x, i, last), gaps));
  const uint32_t single = ex2(x, SC_eq, ex_dim(x, ax->out), one);
  if (r->coord == COORD_PYTORCH_HALF_PIXEL) return ex_where(x, single, ex_c(x, 0), ex_sub(x, ex_centre(x, i, scale), half));
  return ex_crop(x, i, last, ex_sub(x, ex_dim(x, ax->out), one), single); /* the region's width is no scale * in */
}

static uint32_t ex_clamp_index(Ex *x, uint32_t at, const ResizeAxis *ax) {
  const uint32_t last = ex_sub(x, ex_dim(x, ax->in), ex_c(x, 1));
  const uint32_t v = ex2(x, SC_max, ex2(x, SC_min, at, last), ex_c(x, 0));
  return expr_cast(x->a, &x->e, DT_s64, true, v);
}

/* (a+2)|t|^3 - (a+3)t^2 + 1 up to 1, a|t|^3 - 5a t^2 + 8a|t| - 4a up to 2, 0 beyond. */
static uint32_t ex_cubic(Ex *x, uint32_t t, double a) {
  const uint32_t u = expr_fn1(x->a, &x->e, SC_abs, t);
  const uint32_t near =
      ex_add(x, ex_mul(x, ex_mul(x, ex_sub(x, ex_mul(x, ex_c(x, a + 2), u), ex_c(x, a + 3)), u), u), ex_c(x, 1));
  uint32_t far = ex_sub(x, ex_mul(x, ex_c(x, a), u), ex_c(x, 5 * a));
  far = ex_sub(x, ex_mul(x, ex_add(x, ex_mul(x, far, u), ex_c(x, 8 * a)), u), ex_c(x, 4 * a));
  const uint32_t beyond = ex_where(x, ex2(x, SC_lt, u, ex_c(x, 2)), far, ex_c(x, 0));
  return ex_where(x, ex2(x, SC_le, u, ex_c(x, 1)), near, beyond);
}

static uint32_t ex_triangle(Ex *x, uint32_t t) {
  return ex2(x, SC_max, ex_sub(x, ex_c(x, 1), expr_fn1(x->a, &x->e, SC_abs, t)), ex_c(x, 0));
}

/* ---- index and weight tensors ---- */
static Value *emit(OpContext *c, Ex *x, uint32_t result, const ResizeAxis *ax, uint32_t rank, const Dim *const *dims) {
  expr_set_result(x->a, &x->e, result);
  const bool crop = ax->operands[1] != NULL;
  return build_expr(&c->b, x->e, ax->operands, crop ? 3 : 1, (int)rank, dims);
}

static Value *nearest_index(OpContext *c, const Resize *r, const ResizeAxis *ax) {
  Ex x = {op_arena(c), {0}};
  const uint32_t at = ex_coord(&x, r, ax);
  uint32_t v;
  switch (r->nearest) {
    case NEAREST_PREFER_FLOOR: v = ex_ceil(&x, ex_sub(&x, at, ex_c(&x, 0.5))); break;
    case NEAREST_PREFER_CEIL: v = ex_floor(&x, ex_add(&x, at, ex_c(&x, 0.5))); break;
    case NEAREST_FLOOR: v = ex_floor(&x, at); break;
    case NEAREST_CEIL: v = ex_ceil(&x, at); break;
    default:
      v = ex_where(&x, ex2(&x, SC_lt, expr_input(x.a, &x.e, 0, DT_f64), ex_c(&x, 1)), ex_ceil(&x, at), ex_floor(&x, at));
      break;
  }
  return emit(c, &x, ex_clamp_index(&x, v, ax), ax, 1, &ax->out);
}

/* Taps about a coordinate: floor(x) + 1 - reach .. floor(x) + reach. Antialiasing widens the kernel by 1 / scale where
 * that shrinks, so that the reach may be decided at run time. */
static const Dim *resize_reach(OpContext *c, const Resize *r, const ResizeAxis *ax) {
  Builder *b = &c->b;
  const double radius = r->mode == RESIZE_CUBIC ? 2 : 1;
  if (!r->antialias) return bd_const(b, (int64_t)radius);
  Value *scale = build_fn2(b, SC_min, ax->operands[0], build_scalar_f(b, DT_f64, 1));
  Value *reach = build_fn1(b, SC_ceil, build_fn2(b, SC_div, build_scalar_f(b, DT_f64, radius), scale));
  size_t n;
  const Dim *const *d =
      build_read(b, build_cast(b, reach, DT_s64, true), (ReadDims){.what = "reach", .lo = 1, .hi = INT16_MAX}, &n);
  if (d && d[0]->hi > INT16_MAX) {
    (void)op_fail(c, DIAG_E0403, "the scale is too small");
    return NULL;
  }
  return d ? d[0] : NULL;
}

/* floor(x) + 1 - reach */
static uint32_t ex_first_tap(OpContext *c, Ex *x, uint32_t at, const Dim *reach) {
  const Dim *before = dim_sub(op_dims(c), op_dims(c)->one, reach);
  return dim_is(before, 0) ? ex_floor(x, at) : ex_add(x, ex_floor(x, at), ex_dim(x, before));
}

static Value *tap_index(OpContext *c, const Resize *r, const ResizeAxis *ax, const Dim *reach, const Dim *const *dims) {
  Ex x = {op_arena(c), {0}};
  const uint32_t first = ex_first_tap(c, &x, ex_coord(&x, r, ax), reach);
  return emit(c, &x, ex_clamp_index(&x, ex_add(&x, first, ex_index(&x, 1)), ax), ax, 2, dims);
}

static Value *tap_weight(OpContext *c, const Resize *r, const ResizeAxis *ax, const Dim *reach,
                         const Dim *const *dims) {
  Builder *b = &c->b;
  Ex x = {op_arena(c), {0}};
  const uint32_t at = ex_coord(&x, r, ax);
  const uint32_t tap = ex_add(&x, ex_first_tap(c, &x, at, reach), ex_index(&x, 1));
  uint32_t t = ex_sub(&x, tap, at);
  if (r->antialias) t = ex_mul(&x, t, ex2(&x, SC_min, expr_input(x.a, &x.e, 0, DT_f64), ex_c(&x, 1)));
  uint32_t w = r->mode == RESIZE_CUBIC ? ex_cubic(&x, t, (double)r->cubic_a) : ex_triangle(&x, t);
  if (r->exclude_outside) {
    const uint32_t zero = ex_c(&x, 0);
    w = ex_where(&x, ex2(&x, SC_lt, tap, zero), zero, w);
    w = ex_where(&x, ex2(&x, SC_lt, tap, ex_dim(&x, ax->in)), w, zero);
  }
  Value *v = emit(c, &x, w, ax, 2, dims);
  if (!r->exclude_outside && !r->antialias) return v;
  Value *sum = build_reduce(b, REDUCE_SUM, v, 2, true), *none = build_scalar_f(b, DT_f64, 0);
  sum = build_fn3(b, SC_select, build_fn2(b, SC_eq, sum, none), build_scalar_f(b, DT_f64, 1), sum);
  return build_fn2(b, SC_div, v, sum);
}

/* COORD_CROP: true where the coordinate lies inside the input. */
static Value *inside(OpContext *c, const Resize *r, const ResizeAxis *ax) {
  Ex x = {op_arena(c), {0}};
  const uint32_t at = ex_coord(&x, r, ax), last = ex_sub(&x, ex_dim(&x, ax->in), ex_c(&x, 1));
  const uint32_t both = ex2(&x, SC_and, ex2(&x, SC_le, ex_c(&x, 0), at), ex2(&x, SC_le, at, last));
  return emit(c, &x, both, ax, 1, &ax->out);
}

/* ---- one axis of a tensor ---- */
/* Places are clamped to the axis (ex_clamp_index): all lie in it where it has any. Where it has none, nothing may be asked for. */
static bool has_places(OpContext *c, const Value *x, uint32_t axis, const Value *index) {
  DimCtx *d = op_dims(c);
  const Dim *wanted = dim_min(d, index->type.dims[0], d->one);
  for (uint32_t a = 0; a < x->type.rank; a++)
    if (a != axis) wanted = dim_mul(d, wanted, dim_min(d, x->type.dims[a], d->one));
  if (ir_require_eq(c->b.ir, dim_mul(d, wanted, dim_min(d, x->type.dims[axis], d->one)), wanted)) return true;
  return op_fail(c, DIAG_E0402, "input %s has no elements to resize", build_shape_text(&c->b, x));
}

/* x gathered along `axis` at index, of rank 1 or 2 ([out][taps]: the taps come right behind the axis). */
static Value *gather_axis(OpContext *c, const ResizeAxis *ax, Value *x, uint32_t axis, Value *index) {
  if (!x || !index) return NULL;
  const uint32_t r = index->type.rank, rank = x->type.rank + r - 1;
  const Dim *dims[MAX_RANK];
  GatherAxis axes[MAX_RANK] = {{0}};
  Affine place[2];
  if (rank > MAX_RANK || !has_places(c, x, axis, index)) return NULL;
  for (uint32_t j = 0; j < r; j++) {
    dims[axis + j] = index->type.dims[j];
    place[j] = build_affine_coord(&c->b, rank, axis + j);
  }
  for (uint32_t i = 0; i < x->type.rank; i++) {
    const uint32_t o = i < axis ? i : i + r - 1;
    axes[i] = i == axis ? (GatherAxis){.indirect = true, .operand = 1, .place = place, .inside = x->type.dims[axis] == ax->in}
                        : (GatherAxis){.affine = build_affine_coord(&c->b, rank, o)};
    if (i != axis) dims[o] = x->type.dims[i];
  }
  Value *const in[] = {x, index};
  return build_gather(&c->b, in, 2, rank, dims, axes);
}

/* v's axes placed from `axis` on of a tensor of rank `rank`. */
static Value *placed(OpContext *c, Value *v, uint32_t axis, uint32_t rank) {
  const Dim *dims[MAX_RANK];
  if (!v) return NULL;
  for (uint32_t i = 0; i < rank - axis; i++) dims[i] = i < v->type.rank ? v->type.dims[i] : op_dims(c)->one;
  return build_reshape(&c->b, v, rank - axis, dims);
}

static Value *resize_axis(OpContext *c, const Resize *r, const ResizeAxis *ax, Value *x, uint32_t axis) {
  Builder *b = &c->b;
  if (!x) return NULL;
  const uint32_t rank = x->type.rank;
  const DType t = x->type.dtype;
  if (r->mode == RESIZE_NEAREST) {
    x = gather_axis(c, ax, x, axis, nearest_index(c, r, ax));
  } else {
    const Dim *reach = resize_reach(c, r, ax);
    if (!reach) return NULL;
    const Dim *const dims[] = {ax->out, dim_mulc(op_dims(c), reach, 2)};
    Value *weights = build_cast(b, tap_weight(c, r, ax, reach, dims), t, true);
    x = build_fn2(b, SC_mul, gather_axis(c, ax, x, axis, tap_index(c, r, ax, reach, dims)),
                  placed(c, weights, axis, rank + 1));
    x = build_reduce(b, REDUCE_SUM, x, 1u << (axis + 1), false);
  }
  if (r->coord != COORD_CROP || !x) return x;
  Value *mask = placed(c, inside(c, r, ax), axis, rank);
  return build_fn3(b, SC_select, mask, x, op_scalar_like(c, x, (double)r->extrapolation));
}

/* ---- attributes, sizes ---- */
static bool choose(OpContext *c, const char *attr, const char *absent, const char *const *names, size_t n, int *ret) {
  const Str s = op_str(c, attr, absent);
  for (*ret = 0; (size_t)*ret < n; ++*ret)
    if (str_is(s, names[*ret])) return true;
  return op_fail(c, DIAG_E0304, "attribute '%s' is %s", attr, diag_quote(c->b.ir->diags, s));
}

static bool resize_attrs(OpContext *c, Resize *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic"}, *const nearest[] = {"round_prefer_floor",
                                                                                         "round_prefer_ceil", "floor",
                                                                                         "ceil"};
  static const char *const coords[] = {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners",
                                       "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
  const bool is_resize = str_is(c->node->op_type, "Resize"), modern = is_resize && c->row->since >= 11;
  int mode, coord = COORD_ASYMMETRIC, near = is_resize ? NEAREST_BY_SCALE : NEAREST_FLOOR;
  if (str_is(op_str(c, "mode", "nearest"), "bilinear")) mode = RESIZE_LINEAR; /* Upsample before version 7 */
  else if (!choose(c, "mode", "nearest", modes, 3, &mode)) return false;
  if (modern && !choose(c, "coordinate_transformation_mode", "half_pixel", coords, 7, &coord)) return false;
  if (modern && !choose(c, "nearest_mode", "round_prefer_floor", nearest, 4, &near)) return false;
  *r = (Resize){(ResizeMode)mode,
                (CoordMode)coord,
                (NearestMode)near,
                op_int(c, "antialias", 0) != 0,
                op_int(c, "exclude_outside", 0) != 0,
                op_float(c, "cubic_coeff_a", -0.75f),
                op_float(c, "extrapolation_value", 0)};
  if (r->antialias && r->mode == RESIZE_NEAREST)
    return op_fail(c, DIAG_E0304, "attribute 'antialias' does not go with mode nearest");
  return true;
}

/* floor(d * scale) as an expression when the scale is a small fraction with a denominator that is a power of two. */
static const Dim *scaled_dim(OpContext *c, const Dim *d, double scale) {
  for (int64_t q = 1; q <= 1 << 10; q *= 2) {
    const double p = scale * (double)q;
    if (p >= 1 && p <= 1 << 20 && p == (double)(int64_t)p)
      return dim_floordiv(op_dims(c), dim_mulc(op_dims(c), d, (int64_t)p), bd_const(&c->b, q));
  }
  return NULL;
}

/* The output sizes that scales give, one an axis listed in axes. */
static bool sizes_from_scales(OpContext *c, Value *scales, const Dim *const *in, size_t n, const Dim *const *exact,
                              const Dim **ret) {
  Builder *b = &c->b;
  const double *known;
  size_t n_known;
  bool whole = build_const_floats(b, scales, &known, &n_known);
  for (size_t k = 0; k < n; k++) {
    if (whole && !(known[k] > 0 && known[k] < 1e9)) return op_fail(c, DIAG_E0403, "scale %zu is %g", k, known[k]);
    ret[k] = whole ? scaled_dim(c, in[k], known[k]) : NULL;
    whole &= ret[k] != NULL;
  }
  if (whole) return true;
  Value *real = build_fn2(b, SC_mul, scales, build_cast(b, build_dims(b, in, n), DT_f64, true));
  Value *sizes = build_cast(b, build_fn1(b, SC_floor, real), DT_s64, true);
  const Dim *const *d = build_read(b, sizes, (ReadDims){.what = "size", .hi = INT32_MAX, .exact = exact}, &n_known);
  for (size_t k = 0; d && k < n; k++) ret[k] = d[k];
  return d != NULL;
}

/* keep_aspect_ratio_policy: one scale for all axes, the smallest or the largest of theirs; sizes rounded half up. */
static bool keep_aspect(OpContext *c, const Dim *const *in, size_t n, const Dim *const *exact, Value **scales,
                        const Dim **out) {
  Builder *b = &c->b;
  const Str policy = op_str(c, "keep_aspect_ratio_policy", "stretch");
  if (str_is(policy, "stretch")) return true;
  const bool larger = str_is(policy, "not_smaller");
  if (!larger && !str_is(policy, "not_larger"))
    return op_fail(c, DIAG_E0304, "attribute 'keep_aspect_ratio_policy' is %s", diag_quote(b->ir->diags, policy));
  Value *one = build_reduce(b, larger ? REDUCE_MAX : REDUCE_MIN, *scales, 1, true);
  const Dim *len = bd_const(b, (int64_t)n);
  *scales = build_expand(b, one, 1, &len);
  Value *real = build_fn2(b, SC_add, build_fn2(b, SC_mul, *scales, build_cast(b, build_dims(b, in, n), DT_f64, true)),
                          build_scalar_f(b, DT_f64, 0.5));
  size_t n_read;
  const Dim *const *d = build_read(b, build_cast(b, build_fn1(b, SC_floor, real), DT_s64, true),
                                   (ReadDims){.what = "size", .hi = INT32_MAX, .exact = exact}, &n_read);
  for (size_t k = 0; d && k < n; k++) out[k] = d[k];
  return d != NULL;
}

static Value *element(OpContext *c, Value *v, size_t k) {
  DimCtx *d = op_dims(c);
  return build_squeeze(&c->b, build_slice(&c->b, v, 0, dim_const(d, (int64_t)k), d->one, d->one), 1);
}

static bool vector_of(OpContext *c, const Value *v, size_t n, const char *what) {
  if (v->type.rank == 1 && ir_require_eq(c->b.ir, v->type.dims[0], bd_const(&c->b, (int64_t)n))) return true;
  return op_fail(c, DIAG_E0402, "%s has shape %s; %zu values are needed", what, build_shape_text(&c->b, v), n);
}

/* The order in which the n axes listed cost least: those that shrink first; of those that grow the last axis of x first, whose neighbours
 * are gathered one by one, while those of any other lie side by side. */
static void order_axes(const Dim *const *in, const Dim *const *out, const uint32_t *axes, size_t n, size_t *ret) {
  uint32_t key[MAX_RANK]; /* what comes first has the smaller one */
  for (size_t k = 0; k < n; k++) {
    int64_t from, to;
    const bool shrinks = dim_eval(in[k], NULL, &from) && dim_eval(out[k], NULL, &to) && to < from;
    size_t j = k;
    key[k] = shrinks ? axes[k] : 2 * MAX_RANK - axes[k];
    for (; j > 0 && key[k] < key[ret[j - 1]]; j--) ret[j] = ret[j - 1];
    ret[j] = k;
  }
}

/* Resizes the n axes listed; scales or sizes given, region NULL unless it is used. */
static bool resize(OpContext *c, const Resize *r, const uint32_t *axes, size_t n, Value *scales, Value *sizes,
                   Value *region) {
  Builder *b = &c->b;
  Value *x = op_in(c, 0);
  const Dim *in[MAX_RANK], *out[MAX_RANK];
  size_t n_read;
  const Dim *const *declared = op_declared(c, 0, x->type.rank), *exact[MAX_RANK];
  for (size_t k = 0; k < n; k++) {
    in[k] = x->type.dims[axes[k]];
    exact[k] = declared ? declared[axes[k]] : NULL;
  }
  bool stretch = false;
  if (!vector_of(c, sizes ? sizes : scales, n, sizes ? "sizes" : "scales")) return false;
  if (sizes) {
    stretch = str_is(op_str(c, "keep_aspect_ratio_policy", "stretch"), "stretch");
    const Dim *const *d =
        build_read(b, sizes, (ReadDims){.what = "size", .hi = INT32_MAX, .exact = stretch ? exact : NULL, .count = (int64_t)n}, &n_read);
    if (!d) return false;
    memcpy(out, d, n * sizeof *out);
    Value *wanted = build_cast(b, build_dims(b, out, n), DT_f64, true), *given = build_cast(b, build_dims(b, in, n), DT_f64, true);
    scales = build_fn2(b, SC_div, wanted, given); /* apart: C orders no arguments, and what is built is numbered */
    if (!keep_aspect(c, in, n, exact, &scales, out)) return false;
  } else {
    scales = build_cast(b, scales, DT_f64, true);
    if (!scales || !sizes_from_scales(c, scales, in, n, exact, out)) return false;
  }
  if (region && !vector_of(c, region, 2 * n, "roi")) return false;
  region = build_cast(b, region, DT_f64, true);
  const DType t = x->type.dtype, compute = r->mode == RESIZE_NEAREST ? t
                                           : dtype_is_float(t)       ? dtype_compute(t)
                                           : dtype_rows[t].bits > 16 ? DT_f64
                                                                     : DT_f32;
  x = build_cast(b, x, compute, true);
  size_t order[MAX_RANK];
  order_axes(in, out, axes, n, order);
  for (size_t j = 0; j < n; j++) {
    const size_t k = order[j];
    const double *s;
    const bool same = in[k] == out[k] && r->coord != COORD_CROP &&
                      build_const_floats(b, element(c, scales, k), &s, &n_read) && s[0] == 1;
    if (same || (sizes && in[k] == out[k] && r->coord != COORD_CROP)) continue;
    ResizeAxis ax = {in[k], out[k], {element(c, scales, k), NULL, NULL}, stretch};
    if (region) ax.operands[1] = element(c, region, k);
    if (region) ax.operands[2] = element(c, region, n + k);
    x = resize_axis(c, r, &ax, x, axes[k]);
  }
  return op_give(c, 0, op_interpolated(c, x, t));
}

static Value *nonempty(Value *v) { return v && v->type.rank == 1 && dim_is(v->type.dims[0], 0) ? NULL : v; }

bool import_resize(OpContext *c) {
  Resize r;
  size_t n;
  uint32_t axes[MAX_RANK];
  if (!resize_attrs(c, &r)) return false;
  const bool first = c->row->since < 11; /* X, scales */
  Value *region = first ? NULL : nonempty(op_in(c, 1)), *scales = nonempty(op_in(c, first ? 1 : 2)),
        *sizes = first ? NULL : nonempty(op_in(c, 3));
  if (!scales == !sizes) return op_fail(c, DIAG_E0305, "one of scales and sizes must be given");
  if (!op_axes_list(c, op_rank(c, 0), axes, &n)) return false;
  if (r.coord == COORD_CROP && !region) return op_fail(c, DIAG_E0305, "roi must be given for tf_crop_and_resize");
  return resize(c, &r, axes, n, scales, sizes, r.coord == COORD_CROP ? region : NULL);
}

/* Scales as an attribute (version 7), as height and width (version 1), or as input 1. */
bool import_upsample(OpContext *c) {
  Resize r;
  size_t n;
  uint32_t axes[MAX_RANK];
  if (!resize_attrs(c, &r)) return false;
  const float *f = op_floats(c, "scales", &n);
  const float both[] = {op_float(c, "height_scale", 1), op_float(c, "width_scale", 1)};
  Value *scales = op_in(c, 1);
  if (c->row->until < 7) scales = build_floats(&c->b, both, 2);
  else if (c->row->until < 9) scales = build_floats(&c->b, f, n);
  if (c->row->until < 7 && op_rank(c, 0) < 2)
    return op_fail(c, DIAG_E0402, "input %s must have rank 2 or more", op_shape(c, 0));
  const size_t count = c->row->until < 7 ? 2 : op_rank(c, 0);
  for (size_t k = 0; k < count; k++) axes[k] = op_rank(c, 0) - (uint32_t)count + (uint32_t)k;
  return scales && resize(c, &r, axes, count, scales, NULL, NULL);
}
