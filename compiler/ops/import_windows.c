/* Generators of signal processing and sampling: windows, mel weights, affine grids; CenterCropPad. */
#include "ops/shared.h"

/* An expression being built: the arena and the nodes, so that formulas read as such. */
typedef struct Formula {
  Arena *a;
  Expr e;
  DType t; /* of constants */
} Formula;

static uint32_t f_const(Formula *f, double v) { return expr_const_f(f->a, &f->e, f->t, v); }
static uint32_t f_add(Formula *f, uint32_t x, uint32_t y) { return expr_fn2(f->a, &f->e, SC_add, x, y); }
static uint32_t f_sub(Formula *f, uint32_t x, uint32_t y) { return expr_fn2(f->a, &f->e, SC_sub, x, y); }
static uint32_t f_mul(Formula *f, uint32_t x, uint32_t y) { return expr_fn2(f->a, &f->e, SC_mul, x, y); }
static uint32_t f_div(Formula *f, uint32_t x, uint32_t y) { return expr_fn2(f->a, &f->e, SC_div, x, y); }
static uint32_t f_cast(Formula *f, uint32_t x) { return expr_cast(f->a, &f->e, f->t, true, x); }
static uint32_t f_input(Formula *f, uint32_t operand, DType t) { return f_cast(f, expr_input(f->a, &f->e, operand, t)); }

static DType output_type(OpContext *c) {
  DType t = dtype_from_onnx(op_int(c, "output_datatype", 1));
  if (t != DT_NONE && t != DT_b1 && cast_exists(DT_f32, t)) return t;
  (void)op_fail(c, DIAG_E0304, "attribute 'output_datatype' names no type of numbers");
  return DT_NONE;
}

/* A scalar size that may come from data. */
static const Dim *read_size(OpContext *c, Value *v, const char *what) {
  size_t n;
  const Dim *const *d = build_read_dims(&c->b, v, what, 0, INT32_MAX, NULL, &n);
  if (d && n == 1 && d[0]->hi >= 0) return d[0];
  if (d) (void)op_fail(c, DIAG_E0403, "%s must be one number, not negative", what);
  return NULL;
}

/* ---- windows ---- */
/* a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N the size, less one where not periodic */
static const struct { double a0, a1, a2; } windows[] = {{0.5, 0.5, 0}, {25.0 / 46.0, 21.0 / 46.0, 0}, {0.42, 0.5, 0.08}};

bool import_window(OpContext *c) {
  const DType out = output_type(c);
  const Dim *size = read_size(c, c->in[0], "size");
  if (out == DT_NONE || !size) return false;
  Formula f = {.a = op_arena(c), .t = out == DT_f64 || dtype_is_int(out) ? DT_f64 : DT_f32}; /* integers: the middle is 1, not a bit less */
  const Dim *period = op_int(c, "periodic", 1) ? size : dim_addc(op_dims(c), size, -1);
  const uint32_t n = f_cast(&f, expr_index(f.a, &f.e, 0)), length = f_cast(&f, expr_dim(f.a, &f.e, period));
  const uint32_t angle = f_div(&f, f_mul(&f, n, f_const(&f, 2 * 3.14159265358979323846)), length);
  uint32_t w = f_sub(&f, f_const(&f, windows[c->row->arg].a0), f_mul(&f, f_const(&f, windows[c->row->arg].a1), expr_fn1(f.a, &f.e, SC_cos, angle)));
  if (windows[c->row->arg].a2 != 0) {
    const uint32_t twice = expr_fn1(f.a, &f.e, SC_cos, f_mul(&f, angle, f_const(&f, 2)));
    w = f_add(&f, w, f_mul(&f, f_const(&f, windows[c->row->arg].a2), twice));
  }
  expr_set_result(f.a, &f.e, expr_cast(f.a, &f.e, out, true, w));
  return op_give(c, 0, build_expr(&c->b, f.e, NULL, 0, 1, &size));
}

/* ---- mel weights: triangles over the bins of a spectrum, their corners evenly spaced on the mel scale ---- */
enum { MEL_BINS, MEL_LENGTH, MEL_RATE, MEL_LOW, MEL_HIGH, MEL_INPUTS };

static uint32_t to_mel(Formula *f, uint32_t hertz) {
  const uint32_t ratio = f_add(f, f_const(f, 1), f_div(f, hertz, f_const(f, 700)));
  return f_mul(f, f_const(f, 2595 / 2.30258509299404568402), expr_fn1(f->a, &f->e, SC_log, ratio));
}

/* The bin at corner k. */
static uint32_t mel_corner(Formula *f, const uint32_t *in, uint32_t k) {
  const uint32_t low = to_mel(f, in[MEL_LOW]), high = to_mel(f, in[MEL_HIGH]);
  const uint32_t step = f_div(f, f_sub(f, high, low), f_add(f, in[MEL_BINS], f_const(f, 2)));
  const uint32_t mel = f_add(f, f_mul(f, k, step), low);
  const uint32_t power = expr_fn1(f->a, &f->e, SC_exp, f_mul(f, mel, f_const(f, 2.30258509299404568402 / 2595)));
  const uint32_t hertz = f_mul(f, f_const(f, 700), f_sub(f, power, f_const(f, 1)));
  const uint32_t bin = f_div(f, f_mul(f, f_add(f, in[MEL_LENGTH], f_const(f, 1)), hertz), in[MEL_RATE]);
  return expr_fn1(f->a, &f->e, SC_floor, bin);
}

static uint32_t mel_weight(Formula *f, const uint32_t *in) {
  Arena *a = f->a;
  Expr *e = &f->e;
  const uint32_t j = f_cast(f, expr_index(a, e, 0)), k = f_cast(f, expr_index(a, e, 1)), one = f_const(f, 1), zero = f_const(f, 0);
  const uint32_t low = mel_corner(f, in, k), mid = mel_corner(f, in, f_add(f, k, one)), high = mel_corner(f, in, f_add(f, k, f_const(f, 2)));
  const uint32_t rise = f_sub(f, mid, low), fall = f_sub(f, high, mid);
  const uint32_t at_mid = expr_fn2(a, e, SC_eq, j, mid), flat = expr_fn2(a, e, SC_eq, rise, zero);
  uint32_t up = expr_fn3(a, e, SC_select, flat, expr_fn3(a, e, SC_select, at_mid, one, zero), f_div(f, f_sub(f, j, low), rise));
  up = expr_fn3(a, e, SC_select, expr_fn2(a, e, SC_ge, j, low), up, zero);
  const uint32_t down = expr_fn3(a, e, SC_select, expr_fn2(a, e, SC_lt, j, high), f_div(f, f_sub(f, high, j), fall), zero);
  const uint32_t falls = expr_fn2(a, e, SC_gt, fall, zero), right = expr_fn2(a, e, SC_gt, j, mid);
  /* The falling side, where there is one, includes the middle. */
  const uint32_t on_down = expr_fn2(a, e, SC_or, right, expr_fn2(a, e, SC_and, at_mid, falls));
  return expr_fn3(a, e, SC_select, on_down, down, up);
}

bool import_mel_weights(OpContext *c) {
  const DType out = output_type(c);
  DimCtx *d = op_dims(c);
  const Dim *mels = read_size(c, c->in[MEL_BINS], "num_mel_bins"), *length = read_size(c, c->in[MEL_LENGTH], "dft_length");
  if (out == DT_NONE || !mels || !length) return false;
  const Dim *dims[] = {dim_addc(d, dim_floordiv(d, length, dim_const(d, 2)), 1), mels};
  Formula f = {.a = op_arena(c), .t = DT_f64};
  Value *in[MEL_INPUTS];
  uint32_t e[MEL_INPUTS];
  for (uint32_t i = 0; i < MEL_INPUTS; i++) {
    in[i] = build_reshape(&c->b, c->in[i], 0, NULL);
    if (!in[i]) return false;
    e[i] = f_input(&f, i, in[i]->type.dtype);
  }
  expr_set_result(f.a, &f.e, expr_cast(f.a, &f.e, out, true, mel_weight(&f, e)));
  return op_give(c, 0, build_expr(&c->b, f.e, in, MEL_INPUTS, 2, dims));
}

/* ---- affine grids ---- */
/* The place of a cell among n, in [-1, 1]: at its centre, or with the outer cells' centres at the ends. */
static uint32_t grid_place(Formula *f, uint32_t axis, const Dim *n, bool align_corners) {
  const uint32_t i = f_cast(f, expr_index(f->a, &f->e, axis)), size = f_cast(f, expr_dim(f->a, &f->e, n)), one = f_const(f, 1), two = f_const(f, 2);
  if (align_corners) return f_sub(f, f_div(f, f_mul(f, two, i), expr_fn2(f->a, &f->e, SC_max, f_sub(f, size, one), one)), one); /* of one alone: -1 */
  return f_sub(f, f_div(f, f_add(f, f_mul(f, two, i), one), size), one);
}

/* theta [N][s][s + 1], size (N, C, spatial): out [N][spatial][s] = theta * (x, y, (z,) 1) */
bool import_affine_grid(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Type *theta = &c->in[0]->type;
  size_t n;
  int64_t told = op_declared_rank(c, 0);
  if (told < 0 && theta->rank == 3 && dim_is_const(theta->dims[1], &told)) told += 2;
  if (!op_choose_length(c, 1, told, 4, 5)) return false;
  const Dim *const *size = build_read(b, c->in[1], (ReadDims){.what = "size", .hi = INT32_MAX}, &n);
  if (!size) return false;
  if (n < 4 || n > 5 || theta->rank != 3) return op_fail(c, DIAG_E0402, "theta of shape %s for %zu sizes", op_shape(c, 0), n);
  const uint32_t s = (uint32_t)n - 2;
  if (!ir_require_eq(b->ir, theta->dims[1], bd_const(b, s)) || !ir_require_eq(b->ir, theta->dims[2], bd_const(b, s + 1)) || !ir_require_eq(b->ir, theta->dims[0], size[0]))
    return op_fail(c, DIAG_E0402, "theta of shape %s for %u spatial axes", op_shape(c, 0), s);
  Formula f = {.a = op_arena(c), .t = dtype_compute(theta->dtype)};
  Value *columns[4];
  const Dim *dims[5] = {size[0]};
  uint32_t sum = 0;
  for (uint32_t k = 0; k < s; k++) dims[1 + k] = size[2 + k];
  dims[s + 1] = dim_const(d, s);
  for (uint32_t k = 0; k <= s; k++) { /* column k multiplies x, y, z: the last spatial axis first */
    const Dim *column_dims[5] = {theta->dims[0], d->one, d->one, d->one, d->one};
    column_dims[s + 1] = dim_const(d, s);
    columns[k] = build_reshape(b, build_slice(b, c->in[0], 2, dim_const(d, k), d->one, d->one), s + 2, column_dims);
    uint32_t term = f_input(&f, k, theta->dtype);
    if (k < s) term = f_mul(&f, term, grid_place(&f, s - k, size[1 + s - k], op_int(c, "align_corners", 0) != 0));
    sum = k ? f_add(&f, sum, term) : term;
  }
  expr_set_result(f.a, &f.e, expr_cast(f.a, &f.e, theta->dtype, true, sum));
  return op_give(c, 0, build_expr(b, f.e, columns, s + 1, (int)s + 2, dims));
}

/* ---- CenterCropPad ---- */
bool import_center_crop_pad(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Type *x = &c->in[0]->type;
  uint32_t axes[MAX_RANK];
  size_t n_axes, n;
  const Dim *lo[MAX_RANK], *hi[MAX_RANK], *two = dim_const(d, 2);
  if (!op_axes_list(c, x->rank, axes, &n_axes)) return false;
  const Dim *const *shape = build_read(b, c->in[1], (ReadDims){.what = "shape", .hi = INT32_MAX, .count = (int64_t)n_axes}, &n);
  if (!shape) return false;
  if (n != n_axes) return op_fail(c, DIAG_E0402, "%zu sizes for %zu axes", n, n_axes);
  for (uint32_t i = 0; i < x->rank; i++) lo[i] = hi[i] = d->zero;
  for (size_t i = 0; i < n; i++) {
    const Dim *more = dim_sub(d, shape[i], x->dims[axes[i]]), *less = dim_mulc(d, more, -1);
    const Dim *padded = dim_max(d, dim_floordiv(d, more, two), d->zero), *cropped = dim_max(d, dim_floordiv(d, less, two), d->zero);
    lo[axes[i]] = dim_sub(d, padded, cropped);
    hi[axes[i]] = dim_sub(d, more, lo[axes[i]]);
  }
  return op_give(c, 0, build_pad(b, c->in[0], PAD_CONSTANT, lo, hi, NULL));
}
