#include "ir/build.h"

#include "ir/build_priv.h"

Diag *build_error(Builder *b, DiagCode code, const char *fmt, ...) {
  StrBuf s = sb_new(b->ir->diags->arena);
  va_list ap;
  va_start(ap, fmt);
  sb_vprintf(&s, fmt, ap);
  va_end(ap);
  return diag_add(b->ir->diags, code, b->place, "%.*s", (int)s.len, s.data ? s.data : "");
}

/* ---- text ---- */
const char *build_dims_text(Builder *b, const Dim *const *dims, uint32_t rank) {
  StrBuf s = sb_new(b->ir->arena);
  sb_putc(&s, '[');
  for (uint32_t i = 0; i < rank; i++) {
    if (i) sb_puts(&s, ", ");
    dim_print(&s, dims[i]);
  }
  sb_putc(&s, ']');
  return s.data;
}

const char *build_shape_text(Builder *b, const Value *v) { return build_dims_text(b, v->type.dims, v->type.rank); }

/* ---- dimensions ---- */
const Dim *bd_const(Builder *b, int64_t v) { return dim_const(b->ir->dims, v); }

const Dim *bd_data_symbol(Builder *b, const char *what, int64_t lo, int64_t hi, const Dim *bound) {
  DimCtx *c = b->ir->dims;
  Str name;
  size_t k = c->symbols.n;
  do {
    name = arena_printf(b->ir->arena, "%s_%zu", what, k++);
  } while (dim_symbol_find(c, name));
  const Dim *d = dim_symbol(c, name, lo, hi, DIM_FROM_DATA);
  if (bound) dim_symbol_set_bound(d, bound);
  return d;
}

const Dim **build_dims_copy(Builder *b, const Dim *const *dims, uint32_t rank) {
  const Dim **p = NEW_ARRAY(b->ir->arena, const Dim *, rank);
  for (uint32_t i = 0; i < rank; i++) p[i] = dims[i];
  return p;
}

/* Constants are simpler than input symbols, those than what only data decides. */
static int dim_complexity(const Dim *d) {
  if (d->kind == DIM_CONST) return 0;
  if (d->kind == DIM_SYMBOL) return d->symbol.origin == DIM_FROM_INPUT ? 1 : 3;
  return 2;
}

const Dim *build_same_dim(Builder *b, const Dim *x, const Dim *y, const char *what) {
  if (x == y) return x;
  if (dim_is_bad(x) || dim_is_bad(y)) return x; /* reported where the type is made */
  if (!ir_require_eq(b->ir, x, y)) {
    const Dim *const both[] = {x, y};
    build_error(b, DIAG_E0402, "%s differ: %s", what, build_dims_text(b, both, 2));
    return NULL;
  }
  return dim_complexity(y) < dim_complexity(x) ? y : x;
}

/* ---- types ---- */
enum { COUNT_BITS = 62 }; /* element counts and byte sizes beyond 2^62 are refused */

static bool size_certainly_fits(Builder *b, DType t, uint32_t rank, const Dim *const *dims) {
  int64_t lo = 1;
  bool over = false;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i]->lo <= 0) return true; /* it may be empty */
    if (!over && !i64_mul(lo, dims[i]->lo, &lo)) over = true;
  }
  int64_t bytes = dtype_rows[t].bits >= 8 ? dtype_rows[t].bits / 8 : 1;
  if (!over && i64_mul(lo, bytes, &lo) && lo <= (int64_t)1 << COUNT_BITS) return true;
  build_error(b, DIAG_E0501, "a tensor of shape %s and type %s is too large", build_dims_text(b, dims, rank), dtype_name(t));
  return false;
}

bool build_type(Builder *b, DType t, uint32_t rank, const Dim *const *dims, Type *ret) {
  if (rank > MAX_RANK) {
    build_error(b, DIAG_E0306, "rank %u is more than %d", rank, MAX_RANK);
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (dim_is_bad(dims[i])) {
      build_error(b, DIAG_E0501, "the size of dimension %u overflows 64 bits", i);
      return false;
    }
    if (dims[i]->hi < 0) {
      build_error(b, DIAG_E0402, "dimension %u of the result's shape %s is negative", i, build_dims_text(b, dims, rank));
      return false;
    }
  }
  if (!size_certainly_fits(b, t, rank, dims)) return false;
  *ret = type_tensor(b->ir, t, rank, dims);
  return true;
}

Value *build_emit(Builder *b, Op op, Value *const *in, size_t n, Type t, const void *attr) {
  return graph_add_node(b->graph, op, in, n, &t, 1, attr, b->place)->out[0];
}

/* ---- broadcasting ---- */
/* One axis of two shapes. Where it is unknown whether a size is 1, the sizes are taken as equal, and checked at run time. */
static const Dim *broadcast_dim(Builder *b, const Dim *x, const Dim *y) {
  if (x == y || dim_is(y, 1)) return x;
  if (dim_is(x, 1)) return y;
  if (dim_is_bad(x)) return x;
  if (dim_is_bad(y)) return y;
  if (!ir_require_eq(b->ir, x, y)) return NULL;
  return dim_complexity(y) < dim_complexity(x) ? y : x;
}

static void broadcast_error(Builder *b, Value *const *v, size_t n) {
  StrBuf s = sb_new(b->ir->arena);
  for (size_t k = 0; k < n; k++) sb_printf(&s, "%s%s", k ? k + 1 == n ? " and " : ", " : "", build_shape_text(b, v[k]));
  build_error(b, DIAG_E0402, "shapes %s do not broadcast together", s.data);
}

bool build_broadcast(Builder *b, Value *const *v, size_t n, uint32_t *ret_rank, const Dim **ret_dims) {
  uint32_t rank = 0;
  for (size_t k = 0; k < n; k++) {
    if (!v[k]) return false;
    if (v[k]->type.rank > rank) rank = v[k]->type.rank;
  }
  for (uint32_t i = 0; i < rank; i++) ret_dims[i] = b->ir->dims->one;
  for (size_t k = 0; k < n; k++) {
    const Type *t = &v[k]->type;
    for (uint32_t i = 0; i < t->rank; i++) {
      uint32_t o = rank - t->rank + i;
      ret_dims[o] = broadcast_dim(b, ret_dims[o], t->dims[i]);
      if (ret_dims[o]) continue;
      broadcast_error(b, v, n);
      return false;
    }
  }
  *ret_rank = rank;
  return true;
}
