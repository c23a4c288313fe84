/* ai.onnx.ml: what maps labels and categories to each other. Keys are sorted here, searched by a routine that gives places; the values
 * at those places are a gather. */
#include "ops/shared.h"

#include "castnet_abi.h"
#include "ops/order.h"

#include <stdlib.h>

/* ---- tables ---- */
/* n keys or values of one type: host elements, strings as Str. */
typedef struct Column {
  DType type;
  size_t n;
  const void *host;
} Column;

typedef struct Place {
  castnet_tensor keys;
  size_t at;
} Place;

static int place_order(const void *a, const void *b) {
  const Place *x = a, *y = b;
  const int c = cn_order_compare(&x->keys, x->at, y->at);
  return c ? c : (x->at > y->at) - (x->at < y->at);
}

static size_t element_size(DType t) { return t == DT_str ? sizeof(Str) : dtype_host_size(t); }

static const char *element(const Column *v, size_t i) { return (const char *)v->host + i * element_size(v->type); }

/* A constant of the elements of v at the given places, then those of `last`. */
static Value *column_value(OpContext *c, const Column *v, const Place *at, size_t n, const Column *last) {
  const size_t size = element_size(v->type), more = last ? last->n : 0;
  char *host = arena_array(op_arena(c), n + more, size);
  for (size_t i = 0; i < n; i++) memcpy(host + i * size, element(v, at[i].at), size);
  if (more) memcpy(host + n * size, last->host, more * size);
  return op_vector(c, v->type, n + more, host);
}

/* The distinct keys' places in ascending order; how many. */
static size_t sort_column(OpContext *c, const Column *keys, Place **ret) {
  Place *places = NEW_ARRAY(op_arena(c), Place, keys->n);
  const castnet_tensor t = {.data = (void *)(uintptr_t)keys->host, .dtype = (uint32_t)dtype_rows[keys->type].onnx};
  size_t n = 0;
  for (size_t i = 0; i < keys->n; i++) places[i] = (Place){t, i};
  if (keys->n) qsort(places, keys->n, sizeof *places, place_order);
  for (size_t i = 0; i < keys->n; i++)
    if (n == 0 || cn_order_compare(&t, places[n - 1].at, places[i].at) != 0) places[n++] = places[i];
  *ret = places;
  return n;
}

bool op_sorted(OpContext *c, DType type, size_t n, const void *host, Value **ret_keys, Value **ret_places) {
  const Column keys = {type, n, host};
  Place *places;
  const size_t distinct = sort_column(c, &keys, &places);
  int64_t *at = NEW_ARRAY(op_arena(c), int64_t, distinct);
  for (size_t i = 0; i < distinct; i++) at[i] = (int64_t)places[i].at;
  *ret_keys = column_value(c, &keys, places, distinct, NULL);
  *ret_places = build_ints(&c->b, at, distinct);
  return *ret_keys && *ret_places;
}

/* values[k] where x is keys[k] (the first of equal ones), else `missing`, or CASTNET_ERR_OP where that is NULL. */
static Value *look_up(OpContext *c, Value *x, Column keys, Column values, const void *missing) {
  if (!x) return NULL;
  Place *places;
  const size_t n = sort_column(c, &keys, &places);
  const Column none = {values.type, 1, missing};
  Value *const in[] = {x, column_value(c, &keys, places, n, NULL)};
  const RoutineInt attrs[] = {{"refuse", missing == NULL}};
  const Type type = type_tensor(c->b.ir, DT_s64, x->type.rank, x->type.dims);
  Value *at;
  if (!op_routine(c, "cn_op_find", in, 2, attrs, 1, NULL, &type, 1, &at)) return NULL;
  return op_take(c, column_value(c, &values, places, n, missing ? &none : NULL), at);
}

/* ---- attributes ---- */
static bool tensor_column(OpContext *c, const char *name, Column *ret) {
  const OnnxTensor *t = op_tensor(c, name);
  if (!t) return true;
  const Value *v = op_constant(c, t);
  if (!v) return false;
  *ret = (Column){v->type.dtype, v->data->n, tensor_host_elements(op_arena(c), v->data)};
  return true;
}

/* "keys_": keys_strings, keys_int64s, keys_floats or keys_tensor, whichever the node has. */
static bool read_column(OpContext *c, const char *prefix, Column *ret) {
  Arena *a = op_arena(c);
  const char *strings = arena_printf(a, "%sstrings", prefix).ptr, *ints = arena_printf(a, "%sint64s", prefix).ptr;
  const char *floats = arena_printf(a, "%sfloats", prefix).ptr, *tensor = arena_printf(a, "%stensor", prefix).ptr;
  const int given = op_has_attr(c, strings) + op_has_attr(c, ints) + op_has_attr(c, floats) + op_has_attr(c, tensor);
  if (given != 1) return op_fail(c, DIAG_E0304, "%d attributes '%s...', one is asked", given, prefix);
  *ret = (Column){.type = DT_str};
  if (op_has_attr(c, strings)) ret->host = op_strs(c, strings, &ret->n);
  else if (op_has_attr(c, ints)) *ret = (Column){.type = DT_s64}, ret->host = op_ints(c, ints, &ret->n);
  else if (op_has_attr(c, floats)) *ret = (Column){.type = DT_f32}, ret->host = op_floats(c, floats, &ret->n);
  else return tensor_column(c, tensor, ret);
  return true;
}

static bool key_type_fits(OpContext *c, DType keys) {
  if (op_dtype(c, 0) == keys) return true;
  return op_fail(c, DIAG_E0401, "input 0 is %s, the keys are %s", dtype_name(op_dtype(c, 0)), dtype_name(keys));
}

/* The value for what is no key, of the type of the values. */
static bool read_default(OpContext *c, DType type, const void **ret) {
  Arena *a = op_arena(c);
  Column given = {.type = DT_NONE};
  if (!tensor_column(c, "default_tensor", &given)) return false;
  if (given.n) {
    *ret = given.host;
    return (given.n == 1 && given.type == type) || op_fail(c, DIAG_E0304, "attribute 'default_tensor' is not one value of the values' type");
  }
  const int64_t i = op_int(c, "default_int64", -1);
  const int16_t i16 = -1;
  const double zero = -0.0;
  const float f = op_float(c, "default_float", -0.0f);
  const Str s = op_str(c, "default_string", "_Unused");
  switch (type) {
    case DT_str: *ret = arena_dup(a, &s, sizeof s); return true;
    case DT_s64: *ret = arena_dup(a, &i, sizeof i); return true;
    case DT_f32: *ret = arena_dup(a, &f, sizeof f); return true;
    case DT_f64: *ret = arena_dup(a, &zero, sizeof zero); return true;
    case DT_s16: *ret = arena_dup(a, &i16, sizeof i16); return true;
    default: return op_fail(c, DIAG_E0304, "values of type %s", dtype_name(type));
  }
}

/* 0 .. n - 1 */
static Column count_column(OpContext *c, size_t n) {
  int64_t *v = NEW_ARRAY(op_arena(c), int64_t, n);
  for (size_t i = 0; i < n; i++) v[i] = (int64_t)i;
  return (Column){DT_s64, n, v};
}

/* Strings to integers or back, by the input's type. */
static bool map_either_way(OpContext *c, Column strings, Column ints) {
  const bool from_strings = op_dtype(c, 0) == DT_str;
  const void *missing;
  if (strings.n != ints.n) return op_fail(c, DIAG_E0304, "%zu strings for %zu integers", strings.n, ints.n);
  const Column keys = from_strings ? strings : ints, values = from_strings ? ints : strings;
  return read_default(c, values.type, &missing) && op_give(c, 0, look_up(c, c->in[0], keys, values, missing));
}

/* ---- operators ---- */
bool import_label_encoder(OpContext *c) {
  Column keys = {.type = DT_str}, values;
  const void *missing;
  if (c->row->until == 1) {
    keys.host = op_strs(c, "classes_strings", &keys.n);
    return map_either_way(c, keys, count_column(c, keys.n));
  }
  if (!read_column(c, "keys_", &keys) || !read_column(c, "values_", &values) || !key_type_fits(c, keys.type)) return false;
  if (keys.n != values.n) return op_fail(c, DIAG_E0304, "%zu values for %zu keys", values.n, keys.n);
  return read_default(c, values.type, &missing) && op_give(c, 0, look_up(c, c->in[0], keys, values, missing));
}

bool import_category_mapper(OpContext *c) {
  Column strings = {.type = DT_str}, ints = {.type = DT_s64};
  strings.host = op_strs(c, "cats_strings", &strings.n);
  ints.host = op_ints(c, "cats_int64s", &ints.n);
  return map_either_way(c, strings, ints);
}

/* A new last axis with a one at the category's place. */
bool import_one_hot_encoder(OpContext *c) {
  Builder *b = &c->b;
  Column cats = {.type = DT_str};
  cats.host = op_strs(c, "cats_strings", &cats.n);
  const bool strings = cats.n > 0;
  if (strings == op_has_attr(c, "cats_int64s")) return op_fail(c, DIAG_E0304, "one of 'cats_strings' and 'cats_int64s' is asked");
  if (!strings) cats = (Column){.type = DT_s64}, cats.host = op_ints(c, "cats_int64s", &cats.n);
  if (strings && !key_type_fits(c, DT_str)) return false;
  if (!strings && op_dtype(c, 0) == DT_str) return key_type_fits(c, DT_s64);
  const int64_t nowhere = -1;
  Value *x = strings ? c->in[0] : build_cast(b, c->in[0], DT_s64, true);
  Value *at = look_up(c, x, cats, count_column(c, cats.n), op_int(c, "zeros", 1) ? &nowhere : NULL);
  if (!at) return false;
  if (at->type.rank == MAX_RANK) return op_fail(c, DIAG_E0402, "the input's rank is %u", at->type.rank);
  const Column numbers = count_column(c, cats.n);
  Value *hit = build_fn2(b, SC_eq, build_unsqueeze(b, at, 1u << at->type.rank), op_vector(c, DT_s64, numbers.n, numbers.host));
  return op_give(c, 0, build_cast(b, hit, DT_f32, true));
}
