#include "cli/compare.h"

#include "interp/scalar_table.h"
#include "ir/ir.h"

#include <inttypes.h>

typedef struct Compare {
  Arena *a;
  Diags *d; /* for quoting */
  const Tolerance *t;
  Comparison *r;
} Compare;

BASE_PRINTF(2, 3) static void differ(Compare *c, const char *fmt, ...) {
  c->r->ok = false;
  if (c->r->why.len) return;
  StrBuf b = sb_new(c->a);
  va_list ap;
  va_start(ap, fmt);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  c->r->why = sb_view(&b);
}

static double magnitude(double x) { return x < 0 ? -x : x; }
static bool is_nan(double x) { return x != x; }
static bool is_finite(double x) { return x - x == 0; }

/* "[0][3]" */
static Str place(Arena *a, const OnnxTensor *t, size_t i) {
  StrBuf b = sb_new(a);
  size_t rest = i, step = t->n_elements;
  for (size_t k = 0; k < t->n_dims; k++) {
    step /= (size_t)t->dims[k];
    sb_printf(&b, "[%zu]", rest / step);
    rest %= step;
  }
  return t->n_dims ? sb_view(&b) : STR("the scalar");
}

static Str shape(Arena *a, const OnnxTensor *t) {
  StrBuf b = sb_new(a);
  DType d = dtype_from_onnx(t->data_type);
  sb_puts(&b, d == DT_NONE ? "?" : dtype_name(d));
  for (size_t k = 0; k < t->n_dims; k++) sb_printf(&b, "[%" PRId64 "]", t->dims[k]);
  return sb_view(&b);
}

/* Elements as doubles; the reals of complex numbers one after the other. */
static double *as_doubles(Arena *a, const OnnxTensor *t, size_t *ret_n) {
  DType d = dtype_from_onnx(t->data_type);
  Tensor flat = {.dtype = d, .n = t->n_elements, .bytes = t->data, .n_bytes = t->data_bytes};
  if (dtype_rows[d].kind == KIND_C) {
    flat.dtype = d == DT_c64 ? DT_f32 : DT_f64;
    flat.n *= 2;
  }
  double *ret = NEW_ARRAY(a, double, flat.n);
  const void *host = tensor_host_elements(a, &flat);
  cast_eval_strip(flat.dtype, DT_f64, true, host, ret, flat.n);
  *ret_n = flat.n;
  return ret;
}

static void compare_floats(Compare *c, const OnnxTensor *got, const OnnxTensor *want) {
  size_t n, worst = 0;
  const double *x = as_doubles(c->a, got, &n), *y = as_doubles(c->a, want, &n);
  double most = -1;
  c->r->quantum = quantum_of(y, n);
  if (c->r->quantum > 0) c->r->quanta = quantum_count(x, y, n, c->r->quantum);
  for (size_t i = 0; i < n; i++) {
    if (x[i] == y[i] || (is_nan(x[i]) && is_nan(y[i]))) continue;
    bool finite = is_finite(x[i]) && is_finite(y[i]);
    double by = finite ? magnitude(x[i] - y[i]) : 1.0 / 0.0;
    double rel = !finite ? by : y[i] != 0 ? by / magnitude(y[i]) : 0; /* beside a zero only atol counts */
    if (by > c->r->max_abs) c->r->max_abs = by;
    if (rel > c->r->max_rel) c->r->max_rel = rel;
    double excess = finite ? by - (c->t->atol + c->t->rtol * magnitude(y[i])) : by;
    if (excess <= 0) continue;
    c->r->n_bad++;
    if (excess > most) {
      most = excess;
      worst = i;
    }
  }
  if (most < 0) return;
  Str at = place(c->a, want, n == want->n_elements ? worst : worst / 2);
  differ(c, "%zu of %zu elements differ; the worst, at %.*s, is %.9g, recorded %.9g (atol %g, rtol %g)", c->r->n_bad, n, STR_ARG(at),
         x[worst], y[worst], c->t->atol, c->t->rtol);
}

/* An integer or boolean as text. */
static Str number(Arena *a, DType t, const void *p) {
  uint64_t bits = dtype_read_bits(t, p);
  unsigned w = dtype_host_size(t) >= 8 ? 64 : (unsigned)(8 * dtype_host_size(t));
  if (dtype_rows[t].kind != KIND_S) return arena_printf(a, "%" PRIu64, bits);
  int64_t v = (int64_t)(w < 64 ? bits << (64 - w) : bits);
  return arena_printf(a, "%" PRId64, w < 64 ? v >> (64 - w) : v);
}

static void compare_integers(Compare *c, const OnnxTensor *got, const OnnxTensor *want) {
  DType t = dtype_from_onnx(want->data_type);
  if (t == DT_u8 || t == DT_s8) {
    size_t n;
    const double *u = as_doubles(c->a, got, &n), *v = as_doubles(c->a, want, &n);
    c->r->quantum = 1;
    c->r->quanta = quantum_count(u, v, n, 1);
  }
  size_t n = want->n_elements, size = dtype_host_size(t), first = n;
  const char *x = tensor_host_elements(c->a, &(Tensor){.dtype = t, .n = n, .bytes = got->data, .n_bytes = got->data_bytes});
  const char *y = tensor_host_elements(c->a, &(Tensor){.dtype = t, .n = n, .bytes = want->data, .n_bytes = want->data_bytes});
  for (size_t i = n; i > 0; i--) {
    if (memcmp(x + (i - 1) * size, y + (i - 1) * size, size) == 0) continue;
    c->r->n_bad++;
    first = i - 1;
  }
  if (first == n) return;
  Str at = place(c->a, want, first), mine = number(c->a, t, x + first * size), recorded = number(c->a, t, y + first * size);
  differ(c, "%zu of %zu elements differ; the first, at %.*s, is %.*s, recorded %.*s", c->r->n_bad, n, STR_ARG(at), STR_ARG(mine),
         STR_ARG(recorded));
}

static void compare_strings(Compare *c, const OnnxTensor *got, const OnnxTensor *want) {
  size_t n = want->n_elements, first = n;
  for (size_t i = n; i > 0; i--) {
    if (str_eq(got->strings[i - 1], want->strings[i - 1])) continue;
    c->r->n_bad++;
    first = i - 1;
  }
  if (first == n) return;
  Str at = place(c->a, want, first);
  differ(c, "%zu of %zu strings differ; the first, at %.*s, is %s, recorded %s", c->r->n_bad, n, STR_ARG(at),
         diag_quote(c->d, got->strings[first]), diag_quote(c->d, want->strings[first]));
}

static bool same_shape(const OnnxTensor *a, const OnnxTensor *b) {
  if (a->data_type != b->data_type || a->n_dims != b->n_dims) return false;
  for (size_t k = 0; k < a->n_dims; k++)
    if (a->dims[k] != b->dims[k]) return false;
  return true;
}

static void compare_tensors(Compare *c, const OnnxTensor *got, const OnnxTensor *want) {
  DTypeKind kind = dtype_rows[dtype_from_onnx(want->data_type)].kind;
  c->r->n += want->n_elements;
  if (!same_shape(got, want)) {
    Str mine = shape(c->a, got), recorded = shape(c->a, want);
    differ(c, "it is %.*s, recorded %.*s", STR_ARG(mine), STR_ARG(recorded));
  } else if (c->t->random) {
    return;
  } else if (kind == KIND_X) {
    compare_strings(c, got, want);
  } else if (kind == KIND_F || kind == KIND_C) {
    compare_floats(c, got, want);
  } else {
    compare_integers(c, got, want);
  }
}

static void compare_any(Compare *c, const OnnxValue *got, const OnnxValue *want);

/* The order of a map's keys means nothing. */
static void compare_maps(Compare *c, const OnnxValue *got, const OnnxValue *want) {
  Map index = map_new(c->a);
  bool strings = want->string_keys != NULL;
  if (got->n_keys != want->n_keys || got->key_type != want->key_type || (got->n_keys && strings != (got->string_keys != NULL))) {
    differ(c, "it has %zu keys, recorded %zu", got->n_keys, want->n_keys);
    return;
  }
  for (size_t i = 0; i < got->n_keys; i++) {
    Str key = strings ? got->string_keys[i] : (Str){(const char *)&got->keys[i], sizeof *got->keys};
    map_put(&index, key, (void *)(uintptr_t)&got->items[i]);
  }
  for (size_t i = 0; i < want->n_keys && c->r->ok; i++) {
    Str key = strings ? want->string_keys[i] : (Str){(const char *)&want->keys[i], sizeof *want->keys};
    const OnnxValue *item = map_get(&index, key);
    if (!item) differ(c, "a recorded key is missing: %s", strings ? diag_quote(c->d, key) : arena_printf(c->a, "%" PRId64, want->keys[i]).ptr);
    else compare_any(c, item, &want->items[i]);
  }
}

static void compare_any(Compare *c, const OnnxValue *got, const OnnxValue *want) {
  if (got->kind != want->kind) {
    differ(c, "it is of another kind (tensor, sequence, map, optional) than recorded");
  } else if (want->kind == ONNX_TYPE_TENSOR) {
    compare_tensors(c, got->tensor, want->tensor);
  } else if (want->kind == ONNX_TYPE_MAP) {
    compare_maps(c, got, want);
  } else if (got->n_items != want->n_items) {
    differ(c, "it has %zu elements, recorded %zu", got->n_items, want->n_items);
  } else {
    for (size_t i = 0; i < want->n_items; i++) compare_any(c, &got->items[i], &want->items[i]);
  }
}

void compare_values(Arena *a, Diags *d, const OnnxValue *got, const OnnxValue *want, const Tolerance *t, Comparison *ret) {
  *ret = (Comparison){.ok = true, .random = t->random};
  compare_any(&(Compare){a, d, t, ret}, got, want);
}
