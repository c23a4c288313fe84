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
    dim_print_short(&s, dims[i]);
  }
  sb_putc(&s, ']');
  return s.data;
}

const char *build_shape_text(Builder *b, const Value *v) { return build_dims_text(b, v->type.dims, v->type.rank); }

typedef struct Hint { StrBuf text; const Dim *last; } Hint;

static void hint_symbol(void *user, const Dim *symbol) {
  Hint *h = user;
  if (symbol->symbol.origin != DIM_FROM_INPUT || symbol == h->last) return;
  sb_printf(&h->text, "%s --dim %.*s=N", h->last ? "" : ";", (int)symbol->symbol.name.len, symbol->symbol.name.ptr);
  h->last = symbol;
}

const char *build_open_hint(Builder *b, const Dim *const *dims, uint32_t n) {
  Hint h = {.text = sb_new(b->ir->arena)};
  for (uint32_t i = 0; i < n; i++) dim_each_symbol(dims[i], hint_symbol, &h);
  if (!h.last) return "";
  sb_printf(&h.text, " (or sizes that the model declares) would do");
  return sb_view(&h.text).ptr;
}

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
  build_error(b, DIAG_E0501, "a tensor of shape %s and type %s is too large", build_dims_text(b, dims, rank),
              dtype_name(t));
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
      build_error(b, DIAG_E0402, "dimension %u of the result's shape %s is negative", i,
                  build_dims_text(b, dims, rank));
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
typedef struct SymbolPair {
  const Dim *wanted, *other;
  bool found;
} SymbolPair;

static void find_symbol(void *user, const Dim *symbol) {
  SymbolPair *p = user;
  p->found |= symbol == p->wanted;
}

static void find_each_symbol(void *user, const Dim *symbol) {
  SymbolPair *p = user, inner = {.wanted = symbol};
  dim_each_symbol(p->other, find_symbol, &inner);
  p->found |= inner.found;
}

static bool share_symbols(const Dim *x, const Dim *y) {
  SymbolPair p = {.other = y};
  dim_each_symbol(x, find_each_symbol, &p);
  return p.found;
}

static bool may_be_one(const Dim *d) { return d->lo <= 1 && d->hi >= 1; }

/* Whether `out` is a joint_size of which d is a part: max(a, b) of max(a, max(b, c)), too. */
static bool joins(const Dim *out, const Dim *d) {
  if (out == d || (d->kind == DIM_MAX && joins(out, d->pair.a) && joins(out, d->pair.b))) return true;
  if (out->kind == DIM_MIN && out->pair.a->kind == DIM_MAX) out = out->pair.a;
  else if (out->kind == DIM_MIN && out->pair.b->kind == DIM_MAX) out = out->pair.b;
  return out->kind == DIM_MAX && (joins(out->pair.a, d) || joins(out->pair.b, d));
}

/* Sizes of inputs are taken as equal (and checked) where that is what the model's author meant: those made of the same symbols, floor(2n / 2)
 * against n, or one that is never 1, past + now, against another. Nothing is known of those that data decide; those that always differ are not. */
static bool meant_equal(Builder *b, const Dim *x, const Dim *y) {
  return dim_eq(b->ir->dims, x, y) != 0 && !dim_has_data(x) && !dim_has_data(y) && !joins(x, y) && !joins(y, x) && (share_symbols(x, y) || (may_be_one(x) != may_be_one(y) && x->kind != DIM_CONST && y->kind != DIM_CONST));
}

/* min(n, 512) is 1 where n is: those of one n are equal wherever they broadcast. */
static const Dim *without_cap(const Dim *d) {
  while (d->kind == DIM_MIN && (d->pair.a->lo > 1 || d->pair.b->lo > 1)) d = d->pair.a->lo > 1 ? d->pair.b : d->pair.a;
  return d;
}

/* exact: either may be 1, whatever the sizes are made of. */
static bool taken_as_equal(Builder *b, const Dim *x, const Dim *y, bool exact) {
  return exact ? without_cap(x) == without_cap(y) : meant_equal(b, x, y);
}

/* Whether run time must tell if d, unlike the result's size, is 1. */
static bool broadcasts_at_run_time(Builder *b, const Dim *d, const Dim *out, bool exact) {
  return d->kind != DIM_CONST && may_be_one(d) && dim_eq(b->ir->dims, d, out) != 1 && !taken_as_equal(b, d, out, exact);
}

/* The size of two of which either may be 1: the larger one, but 0 where one is 0. */
static const Dim *joint_size(DimCtx *c, const Dim *x, const Dim *y) {
  const Dim *most = dim_max(c, x, y);
  if (dim_is_bad(most) || (x->lo > 0 && y->lo > 0) || most->hi > INT32_MAX) return most;
  return dim_min(c, most, dim_mulc(c, dim_min(c, x, y), most->hi));
}

/* Whether x can be broadcast to y by being 1 alone: it is smaller always, and not 0 where y is 1 (n - 2 for n). */
static bool fits_as_one(DimCtx *c, const Dim *x, const Dim *y) {
  return dim_eq(c, x, y) == 0 && may_be_one(x) && dim_never_above(c, x, y) && dim_eq(c, dim_sub(c, y, x), c->one) == 0;
}

static const Dim *broadcast_dim(Builder *b, const Dim *x, const Dim *y, bool exact) {
  if (x == y || dim_is(y, 1)) return x;
  if (dim_is(x, 1) || dim_is_bad(y)) return y;
  if (dim_is_bad(x)) return x;
  const bool x_one = may_be_one(x), y_one = may_be_one(y);
  if (!x_one && !y_one && dim_eq(b->ir->dims, x, y) == 0) return NULL;
  if ((!x_one && !y_one) || dim_eq(b->ir->dims, x, y) == 1 || taken_as_equal(b, x, y, exact)) return dim_complexity(y) < dim_complexity(x) ? y : x;
  if (!x_one || joins(x, y) || fits_as_one(b->ir->dims, y, x)) return x;
  if (fits_as_one(b->ir->dims, x, y)) return y;
  return !y_one || joins(y, x) ? y : joint_size(b->ir->dims, x, y);
}

const Dim *build_broadcast_dim(Builder *b, const Dim *x, const Dim *y) { return broadcast_dim(b, x, y, false); }

const Dim *build_expand_dim(Builder *b, const Dim *x, const Dim *want, bool resolved) {
  DimCtx *c = b->ir->dims;
  if (dim_is_bad(x) || dim_is_bad(want)) return c->bad;
  /* a slice's size, cut off at a table's end, is no larger than what is wanted: that is the result's, as models go on with it */
  const bool wanted = may_be_one(x) && (resolved || (share_symbols(x, want) && dim_never_above(c, x, want)));
  const Dim *out = wanted ? want : resolved ? x : broadcast_dim(b, x, want, true);
  if (!out || want == out || dim_is(want, 1)) return out;
  if (resolved || !may_be_one(want)) return ir_require_eq(b->ir, want, out) ? out : NULL;
  return ir_require_eq(b->ir, dim_mul(c, dim_addc(c, want, -1), dim_sub(c, want, out)), c->zero) ? out : NULL;
}

bool build_broadcast_coef(Builder *b, const Dim *d, const Dim *out, bool exact, const Dim **ret) {
  DimCtx *c = b->ir->dims;
  *ret = dim_is(d, 1) && !dim_is(out, 1) ? c->zero : c->one;
  if (dim_is(d, 1) || d == out || dim_is_bad(d) || dim_is_bad(out)) return true;
  if (!broadcasts_at_run_time(b, d, out, exact)) return ir_require_eq(b->ir, d, out);
  if (dim_eq(c, d, out) == 0) { /* such as n for 2n */
    *ret = c->zero;
    return ir_require_eq(b->ir, d, c->one);
  }
  /* 0 for 1, else 1; and d is 1 or the result's size */
  *ret = dim_min(c, dim_addc(c, d, -1), c->one);
  return ir_require_eq(b->ir, dim_mul(c, dim_addc(c, d, -1), dim_sub(c, d, out)), c->zero);
}

static bool broadcast_error(Builder *b, Value *const *v, size_t n) {
  StrBuf s = sb_new(b->ir->arena);
  for (size_t k = 0; k < n; k++) sb_printf(&s, "%s%s", k ? k + 1 == n ? " and " : ", " : "", build_shape_text(b, v[k]));
  build_error(b, DIAG_E0402, "shapes %s do not broadcast together", s.data);
  return false;
}

/* v as it reads at coordinates of dims, as a view where only run time tells which of its axes are 1. */
static Value *broadcast_view(Builder *b, Value *v, uint32_t rank, const Dim *const *dims) {
  Affine index[MAX_RANK];
  const Dim *out[MAX_RANK];
  bool views = false;
  for (uint32_t i = 0; i < v->type.rank; i++) {
    const uint32_t o = rank - v->type.rank + i;
    const Dim **coef = build_coefs(b, v->type.rank);
    if (!build_broadcast_coef(b, v->type.dims[i], dims[o], false, &coef[i])) return NULL;
    const bool run_time = !dim_is(coef[i], 1) && !dim_is(v->type.dims[i], 1);
    index[i] = (Affine){b->ir->dims->zero, coef};
    out[i] = run_time ? dims[o] : v->type.dims[i];
    if (!run_time) coef[i] = b->ir->dims->one;
    views |= run_time;
  }
  return views ? build_view(b, v, v->type.rank, out, index) : v;
}

bool build_broadcast(Builder *b, Value **v, size_t n, uint32_t *ret_rank, const Dim **ret_dims) {
  uint32_t rank = 0;
  for (size_t k = 0; k < n; k++) {
    if (!v[k]) return false;
    if (v[k]->type.rank > rank) rank = v[k]->type.rank;
  }
  for (uint32_t i = 0; i < rank; i++) ret_dims[i] = b->ir->dims->one;
  for (size_t k = 0; k < n; k++) {
    const Type *t = &v[k]->type;
    for (uint32_t i = 0; i < t->rank; i++) {
      const uint32_t o = rank - t->rank + i;
      ret_dims[o] = build_broadcast_dim(b, ret_dims[o], t->dims[i]);
      if (!ret_dims[o]) return broadcast_error(b, v, n);
    }
  }
  *ret_rank = rank;
  for (size_t k = 0; k < n; k++) {
    Value *view = broadcast_view(b, v[k], rank, ret_dims);
    if (!view) return broadcast_error(b, v, n);
    v[k] = view;
  }
  return true;
}
