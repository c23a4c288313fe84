/* Nests, point by point in strips along the last axis. */
#include "interp/interp_private.h"

typedef struct Walk { /* the points of axes [0, n) */
  const int64_t *extent;
  uint32_t n;
  int64_t point[MAX_RANK];
} Walk;

static bool walk_empty(const Walk *w) {
  for (uint32_t j = 0; j < w->n; j++)
    if (w->extent[j] <= 0) return true;
  return false;
}

static bool walk_next(Walk *w) {
  for (uint32_t j = w->n; j-- > 0;) {
    if (++w->point[j] < w->extent[j]) return true;
    w->point[j] = 0;
  }
  return false;
}

static InterpStatus spend(Interp *in, int64_t n) {
  in->spent += (uint64_t)n;
  return in->budget && in->spent > in->budget ? INTERP_ERR_BUDGET : INTERP_OK;
}

/* Calls f for each strip of the domain's axes [from, n_axes), the leading coordinates fixed in point. */
typedef InterpStatus (*StripFn)(void *user, const int64_t *point, size_t n);
static InterpStatus each_strip(Interp *in, const int64_t *extent, uint32_t from, uint32_t n_axes, int64_t *point, StripFn f, void *user) {
  Walk w = {.extent = extent + from, .n = n_axes > from ? n_axes - from - 1 : 0};
  int64_t last = n_axes > from ? extent[n_axes - 1] : 1;
  if (walk_empty(&w) || last <= 0) return INTERP_OK;
  do {
    memcpy(point + from, w.point, w.n * sizeof *point);
    for (int64_t i = 0; i < last; i += STRIP) {
      if (n_axes > from) point[n_axes - 1] = i;
      size_t n = last - i < STRIP ? (size_t)(last - i) : STRIP;
      InterpStatus st = spend(in, (int64_t)n);
      if (st == INTERP_OK) st = f(user, point, n);
      if (st != INTERP_OK) return st;
    }
  } while (walk_next(&w));
  return INTERP_OK;
}

typedef struct NestRun {
  Interp *in;
  const Nest *n;
  StripEval map, post;
  Interval store;
  int64_t extent[MAX_RANK];
  unsigned char acc[STRIP * 8]; /* lanes of partial results */
  size_t lanes;                 /* in use */
  int64_t best;                 /* ARG*: where */
  int64_t seen;
} NestRun;

static const void *result(const StripEval *s) { return s->strips[s->e->n - 1]; }

static InterpStatus map_strip(void *user, const int64_t *point, size_t n) {
  NestRun *r = user;
  InterpStatus st = strip_run(&r->map, point, n);
  return st == INTERP_OK ? strip_store(&r->map, &r->store, point, r->n->n_axes, result(&r->map), n) : st;
}

/* Combines a strip into the lanes, lane by lane. */
static InterpStatus reduce_strip(void *user, const int64_t *point, size_t n) {
  NestRun *r = user;
  InterpStatus st = strip_run(&r->map, point, n);
  if (st != INTERP_OK) return st;
  DType acc = dtype_compute(r->n->acc);
  size_t size = dtype_host_size(acc), both = n < r->lanes ? n : r->lanes;
  const unsigned char *x = result(&r->map);
  const void *args[2] = {r->acc, x};
  scalar_eval_strip(reduce_combiner(r->n->reduce), acc, args, r->acc, both);
  if (n > r->lanes) {
    memcpy(r->acc + r->lanes * size, x + r->lanes * size, (n - r->lanes) * size);
    r->lanes = n;
  }
  return INTERP_OK;
}

static bool better(const NestRun *r, const void *x, const void *acc) {
  DType t = dtype_compute(r->n->acc);
  bool max = r->n->reduce == REDUCE_ARGMAX;
  uint8_t wins, x_nan = 0, acc_nan = 0;
  const void *args[2] = {x, acc};
  scalar_eval_strip(max ? (r->n->arg_last ? SC_ge : SC_gt) : r->n->arg_last ? SC_le : SC_lt, t, args, &wins, 1);
  if (dtype_is_float(t)) {
    scalar_eval_strip(SC_isnan, t, &x, &x_nan, 1);
    scalar_eval_strip(SC_isnan, t, &acc, &acc_nan, 1);
  }
  return wins || (x_nan && (r->n->arg_last || !acc_nan));
}

static InterpStatus arg_strip(void *user, const int64_t *point, size_t n) {
  NestRun *r = user;
  InterpStatus st = strip_run(&r->map, point, n);
  size_t size = dtype_host_size(dtype_compute(r->n->acc));
  const unsigned char *x = result(&r->map);
  for (size_t l = 0; l < n && st == INTERP_OK; l++, r->seen++) {
    if (r->seen && !better(r, x + l * size, r->acc)) continue;
    memcpy(r->acc, x + l * size, size);
    r->best = r->seen;
  }
  return st;
}

static void fold_lanes(NestRun *r) { /* by halving */
  DType acc = dtype_compute(r->n->acc);
  size_t size = dtype_host_size(acc);
  if (r->lanes == 0) dtype_write_bits(acc, reduce_identity(r->n->reduce, acc), r->acc);
  while (r->lanes > 1) {
    size_t half = r->lanes / 2, rest = r->lanes - half;
    const void *args[2] = {r->acc, r->acc + rest * size};
    scalar_eval_strip(reduce_combiner(r->n->reduce), acc, args, r->acc, half);
    r->lanes = rest;
  }
}

static InterpStatus run_reduce(NestRun *r) {
  const Nest *n = r->n;
  uint32_t outer = n->n_axes - n->n_reduce;
  bool arg = n->reduce == REDUCE_ARGMAX || n->reduce == REDUCE_ARGMIN;
  InterpStatus st = strip_new(r->in, &n->post, outer, n->post_loads, n->n_post_loads, 1, &r->post);
  Walk w = {.extent = r->extent, .n = outer};
  if (st != INTERP_OK || walk_empty(&w)) return st;
  r->post.given[0] = arg ? (const void *)&r->best : r->acc;
  do {
    int64_t point[MAX_RANK] = {0};
    memcpy(point, w.point, outer * sizeof *point);
    r->lanes = 0;
    r->seen = r->best = 0;
    st = each_strip(r->in, r->extent, outer, n->n_axes, point, arg ? arg_strip : reduce_strip, r);
    if (!arg) fold_lanes(r);
    if (st == INTERP_OK) st = strip_run(&r->post, w.point, 1);
    if (st == INTERP_OK) st = strip_store(&r->post, &r->store, w.point, outer, result(&r->post), 1);
  } while (st == INTERP_OK && walk_next(&w));
  return st;
}

/* One element at a time: order matters. Only what is stored is rounded, as generated code does. */
static InterpStatus scan_strip(void *user, const int64_t *point, size_t n) {
  NestRun *r = user;
  InterpStatus st = strip_run(&r->map, point, n);
  DType acc = dtype_compute(r->n->acc);
  size_t size = dtype_host_size(acc);
  int64_t at[MAX_RANK] = {0};
  memcpy(at, point, r->n->n_axes * sizeof *at);
  if (st == INTERP_OK && point[r->n->n_axes - 1] == 0)
    dtype_write_bits(acc, r->n->scan_fn == SC_mul ? reduce_identity(REDUCE_PROD, acc) : 0, r->acc);
  for (size_t l = 0; l < n && st == INTERP_OK; l++, at[r->n->n_axes - 1]++) {
    if (r->n->scan_exclusive) st = strip_store(&r->map, &r->store, at, r->n->n_axes, r->acc, 1);
    const void *args[2] = {r->acc, (const unsigned char *)result(&r->map) + l * size};
    scalar_eval_strip(r->n->scan_fn, acc, args, r->acc, 1);
    if (!r->n->scan_exclusive && st == INTERP_OK) st = strip_store(&r->map, &r->store, at, r->n->n_axes, r->acc, 1);
  }
  return st;
}

static InterpStatus scatter_strip(void *user, const int64_t *point, size_t n) {
  NestRun *r = user;
  InterpStatus st = strip_run(&r->map, point, n);
  DType t = dtype_compute(r->store.dtype);
  for (size_t l = 0; l < n && st == INTERP_OK; l++) {
    unsigned char *value = (unsigned char *)(uintptr_t)result(&r->map) + l * dtype_host_size(t);
    st = strip_update(&r->map, &r->store, point, r->n->n_axes, l, r->n->scatter, value);
  }
  return st;
}

InterpStatus interp_nest(Interp *in, const Nest *n) {
  NestRun *r = NEW(in->a, NestRun);
  r->in = in;
  r->n = n;
  InterpStatus st = strip_new(in, &n->map, n->n_axes, n->loads, n->n_loads, 0, &r->map);
  uint32_t outer = n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->n_axes;
  if (st == INTERP_OK) st = interp_access(in, &n->store, outer, &r->store);
  for (uint32_t j = 0; j < n->n_axes && st == INTERP_OK; j++) st = interp_dim(in, n->extent[j], &r->extent[j]);
  if (st != INTERP_OK) return st;
  int64_t point[MAX_RANK] = {0};
  switch (n->mode) {
    case NEST_MAP: return each_strip(in, r->extent, 0, n->n_axes, point, map_strip, r);
    case NEST_REDUCE: return run_reduce(r);
    case NEST_SCAN: return each_strip(in, r->extent, 0, n->n_axes, point, scan_strip, r);
    case NEST_SCATTER: return each_strip(in, r->extent, 0, n->n_axes, point, scatter_strip, r);
  }
  return INTERP_UNSUPPORTED;
}
