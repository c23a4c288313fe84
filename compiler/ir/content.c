/* Content of small tensors at import time: integers as dimension expressions, so that the shape arithmetic that
 * exporters write out (Shape, Gather, Concat, Reshape) vanishes, and moved bytes of small constants of any type. */
#include "ir/build_priv.h"

/* ---- elements of constant tensors ---- */
static uint64_t tensor_bits(const Tensor *t, size_t k) {
  const unsigned bits = dtype_rows[t->dtype].bits;
  const unsigned char *p = t->bytes;
  if (bits < 8) {
    const size_t per_byte = 8 / bits;
    return (uint64_t)(p[k / per_byte] >> (k % per_byte * bits)) & ((1u << bits) - 1);
  }
  uint64_t u = 0;
  for (unsigned i = 0; i < bits / 8 && i < 8; i++) u |= (uint64_t)p[k * (bits / 8) + i] << 8 * i;
  return u;
}

int64_t tensor_int(const Tensor *t, size_t k) {
  const DTypeRow *r = &dtype_rows[t->dtype];
  uint64_t u = tensor_bits(t, k);
  if (r->kind != KIND_S || r->bits >= 64) return (int64_t)u;
  const unsigned shift = 64 - r->bits;
  return (int64_t)(u << shift) >> shift;
}

double tensor_real(const Tensor *t, size_t k) {
  if (dtype_rows[t->dtype].kind != KIND_F) {
    int64_t i = tensor_int(t, k);
    return t->dtype == DT_u64 ? (double)(uint64_t)i : (double)i;
  }
  uint64_t u = tensor_bits(t, k);
  double d;
  float f;
  if (t->dtype == DT_f64) {
    memcpy(&d, &u, sizeof d);
    return d;
  }
  if (t->dtype == DT_f32) {
    uint32_t w = (uint32_t)u;
    memcpy(&f, &w, sizeof f);
    return (double)f;
  }
  uint64_t narrow;
  dtype_write_bits(t->dtype, u, &narrow);
  cast_eval_strip(t->dtype, DT_f32, true, &narrow, &f, 1);
  return (double)f;
}

bool content_wrap(DType t, int64_t v, int64_t *ret) {
  const DTypeRow *r = &dtype_rows[t];
  if (r->kind == KIND_B) {
    *ret = v != 0;
    return true;
  }
  if (r->bits >= 64) {
    *ret = v;
    return r->kind == KIND_S || v >= 0;
  }
  const unsigned shift = 64 - r->bits;
  *ret = r->kind == KIND_S ? (int64_t)((uint64_t)v << shift) >> shift : (int64_t)((uint64_t)v << shift >> shift);
  return true;
}

/* ---- what a type holds ---- */
static int64_t absolute(int64_t v) { return v < 0 ? (v == INT64_MIN ? INT64_MAX : -v) : v; }

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

static int64_t magnitude(const Dim *d);

static int64_t poly_magnitude(const Dim *d) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < d->poly.n_terms; i++) {
    const DimTerm *t = &d->poly.terms[i];
    int64_t product = absolute(t->coef);
    for (uint32_t k = 0; k < t->n_factors; k++)
      if (!i64_mul(product, magnitude(t->factors[k]), &product)) return INT64_MAX;
    if (!i64_add(sum, product, &sum)) return INT64_MAX;
  }
  return sum;
}

/* The most that |d| can be where no size is above OPEN_SIZE but those declared so; INT64_MAX: unknown. */
static int64_t magnitude(const Dim *d) {
  const int64_t range = larger(absolute(d->lo), absolute(d->hi));
  int64_t v = INT64_MAX, by;
  switch (d->kind) {
    case DIM_SYMBOL: v = d->lo >= 0 && d->lo <= OPEN_SIZE && d->hi == INT32_MAX ? OPEN_SIZE : range; break;
    case DIM_POLY: v = poly_magnitude(d); break;
    case DIM_FLOORDIV: /* rounding down takes what is negative one further */
      v = magnitude(d->pair.a);
      if (v < INT64_MAX && dim_is_const(d->pair.b, &by) && by > 0) v = v / by + (v % by != 0);
      break;
    case DIM_MOD: v = magnitude(d->pair.b); break;
    case DIM_MIN:
    case DIM_MAX: v = larger(magnitude(d->pair.a), magnitude(d->pair.b)); break;
    case DIM_SUM:
      if (!i64_add(magnitude(d->pair.a), magnitude(d->pair.b), &v)) v = INT64_MAX;
      break;
    case DIM_CONST:
    case DIM_BAD: break;
  }
  return v < range ? v : range;
}

/* How often 2 certainly divides d. */
static unsigned twos(const Dim *d) {
  int64_t any = 0;
  unsigned n = 0;
  if (d->kind == DIM_CONST) any = d->value;
  else if (d->kind != DIM_POLY) return 0;
  else
    for (uint32_t i = 0; i < d->poly.n_terms; i++) any |= d->poly.terms[i].coef;
  while (any != 0 && !(any >> n & 1)) n++;
  return n;
}

/* Where den is a power of two, d / den has to be a float itself. Else it is rounded and only its floor and ceiling are believed: a quotient q that is not
 * whole is 1 / den or more away from the next whole number k, half a unit in the last place between them is at most |k| * 2^-bits, and |k| * den is
 * below |d| + den. */
static bool float_holds(DType t, const Dim *d, int64_t den) {
  const int64_t most = magnitude(d), limit = (int64_t)1 << (t == DT_f64 ? 53 : 24);
  if (most == INT64_MAX || (t != DT_f32 && t != DT_f64)) return false;
  return (den & (den - 1)) ? most <= limit - den : most >> twos(d) <= limit;
}

/* By its range or, as s32, by being what a size may be: a product of symbols may be the size of a tensor, which has 32 bits by definition and is checked
 * where it is used as one. With a factor beyond what s32 holds it is none. */
bool content_holds(DType t, const Dim *d, int64_t den) {
  const DTypeRow *r = &dtype_rows[t];
  if (r->kind == KIND_F) return float_holds(t, d, den);
  if (r->bits >= 64) return r->kind == KIND_S || d->lo >= 0;
  const unsigned bits = r->kind == KIND_B ? 1 : r->bits - (r->kind == KIND_S);
  const int64_t hi = ((int64_t)1 << bits) - 1, lo = r->kind == KIND_S ? -hi - 1 : 0;
  if (d->lo >= lo && d->hi <= hi) return true;
  if (t != DT_s32 || d->kind == DIM_CONST) return false;
  for (uint32_t i = 0; d->kind == DIM_POLY && i < d->poly.n_terms; i++)
    if (d->poly.terms[i].coef < lo || d->poly.terms[i].coef > hi) return false;
  return true;
}

/* ---- what is known of a value ---- */
bool build_small_count(uint32_t rank, const Dim *const *dims, size_t max, size_t *ret) {
  size_t n = 1;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t v;
    if (!dim_is_const(dims[i], &v) || v < 0 || !size_mul(n, (size_t)v, &n)) return false;
  }
  *ret = n;
  return n <= max;
}

static bool has_int_content(DType t) { return dtype_is_int(t) || dtype_rows[t].kind == KIND_B; }

const Dim *const *build_content(Builder *b, Value *v, size_t *ret_n) {
  size_t n;
  if (!v || v->type.kind != TYPE_TENSOR || !build_small_count(v->type.rank, v->type.dims, CONTENT_MAX, &n)) return NULL;
  *ret_n = n;
  if (n == 0 && !v->content && has_int_content(v->type.dtype)) v->content = NEW_ARRAY(b->ir->arena, const Dim *, 0);
  if (v->content || !v->data || !has_int_content(v->type.dtype)) return v->content;
  const Dim **c = NEW_ARRAY(b->ir->arena, const Dim *, n);
  for (size_t k = 0; k < n; k++) {
    int64_t i = tensor_int(v->data, k);
    if (v->type.dtype == DT_u64 && i < 0) return NULL;
    c[k] = bd_const(b, i);
  }
  v->content = c;
  return c;
}

/* The n elements of v as new symbols. */
static const Dim **read_symbols(Builder *b, Value *v, const ReadDims *r, size_t n) {
  const Dim **symbols = NEW_ARRAY(b->ir->arena, const Dim *, n), **content = NEW_ARRAY(b->ir->arena, const Dim *, n);
  for (size_t k = 0; k < n; k++) {
    int64_t exact;
    if (r->exact && r->exact[k] && dim_is_const(r->exact[k], &exact)) { /* the symbol only checks */
      symbols[k] = bd_data_symbol(b, r->what, exact, exact, NULL);
      content[k] = r->exact[k];
    } else {
      content[k] = symbols[k] = bd_data_symbol(b, r->what, r->lo, r->hi, r->bound ? r->bound[k] : NULL);
    }
  }
  SymbolsAttr *attr = NEW(b->ir->arena, SymbolsAttr);
  attr->symbols = symbols;
  (void)graph_add_node(b->graph, OP_SYMBOLS, &v, 1, NULL, 0, attr, b->place);
  return content;
}

const Dim *const *build_read(Builder *b, Value *v, ReadDims r, size_t *ret_n) {
  size_t n;
  if (!v) return NULL;
  const Dim *const *known = build_content(b, v, ret_n);
  if (known) return known;
  if (!build_small_count(v->type.rank, v->type.dims, CONTENT_MAX, &n) && v->type.rank == 1 && r.count > 0) {
    const Dim *len = bd_const(b, r.count);
    if (ir_require_eq(b->ir, v->type.dims[0], len)) v = build_reshape(b, v, 1, &len);
  }
  if (!build_small_count(v->type.rank, v->type.dims, CONTENT_MAX, &n)) {
    build_error(b, DIAG_E0306, "the number of elements of %s, %s, must be known and at most %d%s", r.what, build_shape_text(b, v), CONTENT_MAX,
                build_open_hint(b, v->type.dims, v->type.rank));
    return NULL;
  }
  if (r.count > 0 && (size_t)r.count != n) r.bound = r.exact = NULL; /* of another length, which the caller refuses */
  const Dim **content = read_symbols(b, v, &r, n);
  const bool size = r.lo >= INT32_MIN && r.hi <= INT32_MAX; /* what the model computes of more than sizes may wrap */
  if (size && b->graph == v->graph) v->content = content; /* else they are known in that body only */
  *ret_n = n;
  return content;
}

bool build_name_dims(Builder *b, const char *what, const Dim **dims, const Dim *const *exact, uint32_t rank) {
  const Dim *open[MAX_RANK], *told[MAX_RANK] = {0};
  uint32_t n = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (!dim_has_data(dims[i])) continue;
    if (exact) told[n] = exact[i];
    open[n++] = dims[i];
  }
  if (n < 2) return true; /* a sum by itself is as good */
  Value *v = build_dims(b, open, n);
  if (!v) return false;
  const Dim *const *named = read_symbols(b, v, &(ReadDims){.what = what, .hi = INT32_MAX, .exact = told}, n);
  for (uint32_t i = 0, k = 0; i < rank; i++)
    if (dim_has_data(dims[i])) dims[i] = named[k++];
  return true;
}

const Dim *const *build_read_dims(Builder *b, Value *v, const char *what, int64_t lo, int64_t hi,
                                  const Dim *const *bound, size_t *ret_n) {
  return build_read(b, v, (ReadDims){.what = what, .lo = lo, .hi = hi, .bound = bound}, ret_n);
}

bool build_const_ints(Builder *b, Value *v, const int64_t **ret, size_t *ret_n) {
  if (!v) return false;
  const Tensor *t = v->data;
  const bool data = t && has_int_content(v->type.dtype);
  size_t n;
  const Dim *const *content = data ? NULL : build_content(b, v, &n);
  if (data) n = t->n;
  else if (!content) return false;
  int64_t *out = NEW_ARRAY(b->ir->arena, int64_t, n);
  for (size_t k = 0; k < n; k++) {
    if (data) out[k] = tensor_int(t, k);
    else if (!dim_is_const(content[k], &out[k])) return false;
  }
  *ret = out;
  *ret_n = n;
  return true;
}

bool build_const_floats(Builder *b, Value *v, const double **ret, size_t *ret_n) {
  if (!v) return false;
  const int64_t *ints;
  size_t n;
  double *out;
  if (v->data && v->data->bytes && dtype_rows[v->type.dtype].kind == KIND_F) {
    n = v->data->n;
    out = NEW_ARRAY(b->ir->arena, double, n);
    for (size_t k = 0; k < n; k++) out[k] = tensor_real(v->data, k);
  } else {
    if (!build_const_ints(b, v, &ints, &n)) return false;
    out = NEW_ARRAY(b->ir->arena, double, n);
    for (size_t k = 0; k < n; k++) out[k] = (double)ints[k];
  }
  *ret = out;
  *ret_n = n;
  return true;
}

/* ---- values of known content ---- */
/* f32 and f64: those that sizes are computed in. */
static int64_t whole_float_bits(DType t, int64_t v) {
  const double d = (double)v;
  const float f = (float)v;
  uint32_t w;
  int64_t bits;
  memcpy(&w, &f, sizeof f);
  memcpy(&bits, &d, sizeof d);
  return t == DT_f64 ? bits : (int64_t)w;
}

static Value *known_constant(Builder *b, Type t, const Dim *const *content, size_t n) {
  const unsigned bits = dtype_rows[t.dtype].bits;
  if (bits < 8) return NULL;
  const size_t size = bits / 8;
  unsigned char *bytes = arena_array(b->ir->arena, n, size);
  for (size_t k = 0; k < n; k++) {
    int64_t v, wrapped;
    if (!dim_is_const(content[k], &v) || !content_wrap(t.dtype, v, &wrapped)) return NULL;
    if (dtype_is_float(t.dtype)) wrapped = whole_float_bits(t.dtype, v);
    for (size_t i = 0; i < size; i++) bytes[k * size + i] = (unsigned char)((uint64_t)wrapped >> 8 * i);
  }
  Tensor *data = NEW(b->ir->arena, Tensor);
  *data = (Tensor){.dtype = t.dtype, .n = n, .bytes = bytes, .n_bytes = n * size};
  return ir_add_const(b->ir, t, data, (Str){0});
}

Value *build_known(Builder *b, Type t, const Dim *const *content, size_t n) {
  const Dim *const *copy = arena_dup(b->ir->arena, content, n * sizeof *content);
  Value *v = known_constant(b, t, content, n);
  if (!v) {
    DimsAttr *attr = NEW(b->ir->arena, DimsAttr);
    attr->content = copy;
    Type s64 = t;
    s64.dtype = DT_s64;
    v = build_emit(b, OP_DIMS, NULL, 0, s64, attr);
    v->content = copy;
    if (t.dtype != DT_s64) {
      Expr e = {0};
      (void)expr_cast(b->ir->arena, &e, t.dtype, true, expr_input(b->ir->arena, &e, 0, DT_s64));
      PointwiseAttr *cast = NEW(b->ir->arena, PointwiseAttr);
      cast->expr = e;
      v = build_emit(b, OP_POINTWISE, &v, 1, t, cast);
    }
  }
  v->content = copy;
  return v;
}

/* ---- moved elements ---- */
static Value *moved_bytes(Builder *b, Type t, Value *const *in, const MoveSource *src, size_t n) {
  const unsigned bits = dtype_rows[t.dtype].bits;
  if (bits < 8 || dtype_rows[t.dtype].kind == KIND_X) return NULL;
  const size_t size = bits / 8;
  for (size_t k = 0; k < n; k++) {
    const Value *v = in[src[k].operand];
    if (!v->data || !v->data->bytes) return NULL;
  }
  unsigned char *bytes = arena_array(b->ir->arena, n, size);
  for (size_t k = 0; k < n; k++)
    memcpy(bytes + k * size, (const unsigned char *)in[src[k].operand]->data->bytes + src[k].element * size, size);
  Tensor *data = NEW(b->ir->arena, Tensor);
  *data = (Tensor){.dtype = t.dtype, .n = n, .bytes = bytes, .n_bytes = n * size};
  return ir_add_const(b->ir, t, data, (Str){0});
}

Value *build_moved(Builder *b, Type t, Value *const *in, const MoveSource *src, size_t n) {
  Value *v = moved_bytes(b, t, in, src, n);
  if (v) return v;
  const Dim **content = NEW_ARRAY(b->ir->arena, const Dim *, n);
  for (size_t k = 0; k < n; k++) {
    size_t n_known;
    const Dim *const *known = build_content(b, in[src[k].operand], &n_known);
    if (!known) return NULL;
    content[k] = known[src[k].element];
  }
  return build_known(b, t, content, n);
}

/* ---- coordinates ---- */
bool coord_next(uint32_t rank, const Dim *const *dims, int64_t *coord) {
  for (uint32_t i = rank; i-- > 0;) {
    if (++coord[i] < dims[i]->value) return true;
    coord[i] = 0;
  }
  return false;
}

bool coord_flat(uint32_t rank, const Dim *const *dims, const int64_t *coord, size_t *ret) {
  size_t flat = 0;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t d;
    if (!dim_is_const(dims[i], &d) || coord[i] < 0 || coord[i] >= d) return false;
    if (!size_mul(flat, (size_t)d, &flat) || !size_add(flat, (size_t)coord[i], &flat)) return false;
  }
  *ret = flat;
  return true;
}

bool affine_at(const Affine *f, uint32_t rank, const int64_t *coord, int64_t *ret) {
  int64_t sum;
  if (!dim_is_const(f->offset, &sum)) return false;
  for (uint32_t j = 0; j < rank; j++) {
    int64_t c, term;
    if (!f->coef || !f->coef[j]) continue;
    if (!dim_is_const(f->coef[j], &c) || !i64_mul(c, coord[j], &term) || !i64_add(sum, term, &sum)) return false;
  }
  *ret = sum;
  return true;
}
