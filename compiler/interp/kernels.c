/* Kernel families, by the definition: plain sums over strips. The order of summation is the reference's own; kernels agree
 * with it within the bound that docs/NUMERICS.md derives from the length of a sum. */
#include "interp/interp_private.h"

typedef struct Sizes { int64_t v[MAX_RANK]; } Sizes;

static InterpStatus eval_dims(Interp *in, const Dim *const *d, uint32_t n, int64_t *ret) {
  InterpStatus st = INTERP_OK;
  for (uint32_t i = 0; i < n && st == INTERP_OK; i++) st = interp_dim(in, d[i], &ret[i]);
  return st;
}

/* n elements, `stride` apart, as values of type acc (a wider or equal type). */
static void gather_as(DType from, const unsigned char *base, int64_t at, int64_t stride, size_t n, DType acc, void *out) {
  unsigned char raw[STRIP * 8], wide[STRIP * 8];
  size_t size = dtype_host_size(from);
  for (size_t i = 0; i < n; i++) memcpy(raw + i * size, base + (at + (int64_t)i * stride) * (int64_t)size, size);
  DType c = dtype_compute(from);
  if (c != from) cast_eval_strip(from, c, true, raw, wide, n);
  else memcpy(wide, raw, n * size);
  if (c != acc) cast_eval_strip(c, acc, true, wide, out, n);
  else memcpy(out, wide, n * dtype_host_size(c));
}

static void scatter_from(DType to, unsigned char *base, int64_t at, int64_t stride, size_t n, DType acc, const void *in) {
  unsigned char raw[STRIP * 8];
  size_t size = dtype_host_size(to);
  if (acc != to) cast_eval_strip(acc, to, true, in, raw, n);
  else memcpy(raw, in, n * size);
  for (size_t i = 0; i < n; i++) memcpy(base + (at + (int64_t)i * stride) * (int64_t)size, raw + i * size, size);
}

/* acc += (x - zx) * (y - zy) over a strip. */
static void multiply_add(DType acc, const void *x, const void *y, void *sum, size_t n) {
  unsigned char product[STRIP * 8];
  const void *xy[2] = {x, y}, *both[2] = {sum, product};
  scalar_eval_strip(SC_mul, acc, xy, product, n);
  scalar_eval_strip(SC_add, acc, both, sum, n);
}

static void subtract(DType acc, void *x, const void *zero, size_t n) {
  const void *args[2] = {x, zero};
  scalar_eval_strip(SC_sub, acc, args, x, n);
}

static void repeat(DType t, const void *element, void *out, size_t n) {
  size_t size = dtype_host_size(t);
  for (size_t i = 0; i < n; i++) memcpy((unsigned char *)out + i * size, element, size);
}

/* ---- zero points: one, or one a row (m of the first operand), or one a column (of the second) --------------------------------- */
typedef struct Zero {
  const unsigned char *data;
  DType dtype;
  int64_t n;
} Zero;

static InterpStatus zero_new(Interp *in, uint32_t tensor, Zero *ret) {
  *ret = (Zero){0};
  if (tensor == NO_TENSOR) return INTERP_OK;
  const PTensor *t = &in->p->tensors.data[tensor];
  unsigned char *base;
  InterpStatus st = interp_tensor(in, tensor, &base);
  ret->data = base;
  ret->dtype = t->dtype;
  ret->n = 1;
  for (uint32_t a = 0; a < t->rank && st == INTERP_OK; a++) {
    int64_t d;
    st = interp_dim(in, t->dims[a], &d);
    ret->n *= d;
  }
  return st;
}

static void zero_strip(const Zero *z, int64_t at, bool along, size_t n, DType acc, void *out) {
  int64_t first = z->n > 1 ? at : 0;
  gather_as(z->dtype, z->data, first, z->n > 1 && along ? 1 : 0, n, acc, out);
}

/* ---- product ------------------------------------------------------------------------------------------------------------------------ */
typedef struct Product {
  DType acc, ta, tb, tc;
  unsigned char *a, *b, *c;
  int64_t m, n, k, a_m, a_k, b_k, b_n, c_m, c_n;
  Zero za, zb;
} Product;

static void product_strip(const Product *p, int64_t i, int64_t j, size_t n, int64_t at_a, int64_t at_b, int64_t at_c) {
  unsigned char sum[STRIP * 8] = {0}, x[STRIP * 8], y[STRIP * 8], z[STRIP * 8], one[8];
  for (int64_t k = 0; k < p->k; k++) {
    gather_as(p->ta, p->a, at_a + i * p->a_m + k * p->a_k, 0, 1, p->acc, one);
    if (p->za.data) {
      zero_strip(&p->za, i, false, 1, p->acc, z);
      subtract(p->acc, one, z, 1);
    }
    repeat(p->acc, one, x, n);
    gather_as(p->tb, p->b, at_b + k * p->b_k + j * p->b_n, p->b_n, n, p->acc, y);
    if (p->zb.data) {
      zero_strip(&p->zb, j, true, n, p->acc, z);
      subtract(p->acc, y, z, n);
    }
    multiply_add(p->acc, x, y, sum, n);
  }
  scatter_from(p->tc, p->c, at_c + i * p->c_m + j * p->c_n, p->c_n, n, p->acc, sum);
}

InterpStatus interp_contract(Interp *in, const Step *s) {
  const ContractStep *c = s->attr;
  Product p = {.acc = c->acc, .ta = in->p->tensors.data[s->in[0]].dtype, .tb = in->p->tensors.data[s->in[1]].dtype,
               .tc = in->p->tensors.data[s->out[0]].dtype};
  const Dim *d[9] = {c->m, c->n, c->k, c->a_m, c->a_k, c->b_k, c->b_n, c->c_m, c->c_n};
  int64_t v[9], batch[MAX_RANK], sa[MAX_RANK], sb[MAX_RANK], sc[MAX_RANK], point[MAX_RANK] = {0};
  InterpStatus st = eval_dims(in, d, 9, v);
  if (st == INTERP_OK) st = eval_dims(in, c->batch, c->n_batch, batch);
  if (st == INTERP_OK) st = eval_dims(in, c->a_batch, c->n_batch, sa);
  if (st == INTERP_OK) st = eval_dims(in, c->b_batch, c->n_batch, sb);
  if (st == INTERP_OK) st = eval_dims(in, c->c_batch, c->n_batch, sc);
  if (st == INTERP_OK) st = interp_tensor(in, s->in[0], &p.a);
  if (st == INTERP_OK) st = interp_tensor(in, s->in[1], &p.b);
  if (st == INTERP_OK) st = interp_tensor(in, s->out[0], &p.c);
  if (st == INTERP_OK) st = zero_new(in, s->in[2], &p.za);
  if (st == INTERP_OK) st = zero_new(in, s->in[3], &p.zb);
  if (st != INTERP_OK) return st;
  p.m = v[0], p.n = v[1], p.k = v[2], p.a_m = v[3], p.a_k = v[4], p.b_k = v[5], p.b_n = v[6], p.c_m = v[7], p.c_n = v[8];
  int64_t batches = 1;
  for (uint32_t i = 0; i < c->n_batch; i++) batches *= batch[i];
  for (int64_t b = 0; b < batches; b++) {
    int64_t at_a = 0, at_b = 0, at_c = 0;
    for (uint32_t i = 0; i < c->n_batch; i++) at_a += point[i] * sa[i], at_b += point[i] * sb[i], at_c += point[i] * sc[i];
    for (int64_t i = 0; i < p.m; i++) {
      for (int64_t j = 0; j < p.n; j += STRIP) {
        size_t n = p.n - j < STRIP ? (size_t)(p.n - j) : STRIP;
        in->spent += n * (size_t)(p.k + 1);
        if (in->budget && in->spent > in->budget) return INTERP_ERR_BUDGET;
        product_strip(&p, i, j, n, at_a, at_b, at_c);
      }
    }
    for (uint32_t i = c->n_batch; i-- > 0;) {
      if (++point[i] < batch[i]) break;
      point[i] = 0;
    }
  }
  return interp_epilogue(in, &c->epilogue, s->out[0]);
}

/* ---- epilogue: a nest over the output, in place ---------------------------------------------------------------------------------------- */
InterpStatus interp_epilogue(Interp *in, const Epilogue *e, uint32_t out) {
  if (!e->expr.n) return INTERP_OK;
  const PTensor *t = &in->p->tensors.data[out];
  Access *loads = NEW_ARRAY(in->a, Access, e->n_loads + 1);
  loads[0] = (Access){.tensor = out, .offset = in->p->dims->zero, .stride = t->strides};
  memcpy(loads + 1, e->loads, e->n_loads * sizeof *loads);
  Nest n = {.mode = NEST_MAP, .n_axes = t->rank, .extent = t->dims, .map = e->expr, .loads = loads, .n_loads = e->n_loads + 1, .store = loads[0]};
  return interp_nest(in, &n);
}

/* ---- sliding windows --------------------------------------------------------------------------------------------------------------------- */
typedef struct Window {
  uint32_t n;
  int64_t in[3], out[3], kernel[3], pad[3];
  const int64_t *stride, *dilation, *up; /* up: input dilation, or NULL */
} Window;

/* Flat place in the image that output point o reads at tap t; -1 where there is none. */
static int64_t window_place(const Window *w, const int64_t *o, const int64_t *t) {
  int64_t at = 0;
  for (uint32_t i = 0; i < w->n; i++) {
    int64_t x = o[i] * w->stride[i] + t[i] * w->dilation[i] - w->pad[i], up = w->up ? w->up[i] : 1;
    if (x < 0 || x % up || x / up >= w->in[i]) return -1;
    at = at * w->in[i] + x / up;
  }
  return at;
}

static bool next(int64_t *point, const int64_t *extent, uint32_t n) {
  for (uint32_t i = n; i-- > 0;) {
    if (++point[i] < extent[i]) return true;
    point[i] = 0;
  }
  return false;
}

static int64_t volume(const int64_t *d, uint32_t n) {
  int64_t v = 1;
  for (uint32_t i = 0; i < n; i++) v *= d[i];
  return v;
}

typedef struct Conv {
  Interp *in;
  Window w;
  DType acc, tx, tw, ty;
  unsigned char *x, *weights, *y, *bias;
  int64_t images, groups, c, m; /* c, m: of one group */
  Zero zx, zw;
} Conv;

/* One output element of channel row m (all groups counted) and image. */
static void conv_point(const Conv *v, int64_t image, int64_t m, const int64_t *o, int64_t out_index) {
  unsigned char sum[8] = {0}, x[8], y[8], z[8];
  int64_t group = m / v->m, taps = volume(v->w.kernel, v->w.n), pixels = volume(v->w.in, v->w.n), t[3] = {0}, tap = 0;
  do {
    int64_t at = window_place(&v->w, o, t);
    for (int64_t c = 0; at >= 0 && c < v->c; c++) {
      gather_as(v->tx, v->x, ((image * v->groups + group) * v->c + c) * pixels + at, 0, 1, v->acc, x);
      gather_as(v->tw, v->weights, (m * v->c + c) * taps + tap, 0, 1, v->acc, y);
      if (v->zx.data) zero_strip(&v->zx, 0, false, 1, v->acc, z), subtract(v->acc, x, z, 1);
      if (v->zw.data) zero_strip(&v->zw, m, false, 1, v->acc, z), subtract(v->acc, y, z, 1);
      multiply_add(v->acc, x, y, sum, 1);
    }
    tap++;
  } while (next(t, v->w.kernel, v->w.n));
  if (v->bias) {
    gather_as(v->ty, v->bias, m, 0, 1, v->acc, x);
    const void *args[2] = {sum, x};
    scalar_eval_strip(SC_add, v->acc, args, sum, 1);
  }
  scatter_from(v->ty, v->y, out_index, 0, 1, v->acc, sum);
}

static InterpStatus window_new(Interp *in, const PTensor *x, const PTensor *y, uint32_t n, const Dim *const *pad, Window *ret) {
  ret->n = n;
  InterpStatus st = eval_dims(in, x->dims + 2, n, ret->in);
  if (st == INTERP_OK) st = eval_dims(in, y->dims + 2, n, ret->out);
  return st == INTERP_OK ? eval_dims(in, pad, n, ret->pad) : st;
}

InterpStatus interp_conv(Interp *in, const Step *s) {
  const ConvStep *c = s->attr;
  const PTensor *x = &in->p->tensors.data[s->in[0]], *w = &in->p->tensors.data[s->in[1]], *y = &in->p->tensors.data[s->out[0]];
  Conv *v = NEW(in->a, Conv);
  v->in = in;
  v->acc = c->attr.acc;
  v->tx = x->dtype, v->tw = w->dtype, v->ty = y->dtype;
  InterpStatus st = window_new(in, x, y, c->attr.n_spatial, c->attr.pad_lo, &v->w);
  v->w.stride = c->attr.stride, v->w.dilation = c->attr.dilation, v->w.up = c->attr.dilate_x;
  int64_t head[2] = {0}, weights[5];
  if (st == INTERP_OK) st = eval_dims(in, y->dims, 2, head);
  if (st == INTERP_OK) st = eval_dims(in, w->dims, 2 + v->w.n, weights);
  if (st == INTERP_OK) st = interp_tensor(in, s->in[0], &v->x);
  if (st == INTERP_OK) st = interp_tensor(in, s->in[1], &v->weights);
  if (st == INTERP_OK && s->in[2] != NO_TENSOR) st = interp_tensor(in, s->in[2], &v->bias);
  if (st == INTERP_OK) st = zero_new(in, s->in[3], &v->zx);
  if (st == INTERP_OK) st = zero_new(in, s->in[4], &v->zw);
  if (st == INTERP_OK) st = interp_tensor(in, s->out[0], &v->y);
  if (st != INTERP_OK) return st;
  memcpy(v->w.kernel, weights + 2, v->w.n * sizeof *weights);
  v->images = head[0], v->groups = c->attr.group, v->c = weights[1], v->m = head[1] / v->groups;
  int64_t index = 0, cost = volume(v->w.kernel, v->w.n) * v->c;
  for (int64_t image = 0; image < v->images; image++) {
    for (int64_t m = 0; m < head[1]; m++) {
      int64_t o[3] = {0};
      if (volume(v->w.out, v->w.n) == 0) continue;
      do {
        in->spent += (uint64_t)cost;
        if (in->budget && in->spent > in->budget) return INTERP_ERR_BUDGET;
        conv_point(v, image, m, o, index++);
      } while (next(o, v->w.out, v->w.n));
    }
  }
  return interp_epilogue(in, &c->epilogue, s->out[0]);
}
