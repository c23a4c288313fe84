/* Operators on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch. */
#include "ops/regex.h"
#include "ops/shared.h"

#include "castnet_abi.h"
#include "ops/text.h"

#include <stdlib.h>

static ExternAttrValue int_value(const char *name, int64_t v) { return (ExternAttrValue){.name = str_c(name), .kind = EXTERN_INT, .n = 1, .i = v}; }

static bool routine(OpContext *c, const char *symbol, bool strings, const ExternAttrValue *attrs, size_t n_attrs, Value *const *in, size_t n_in,
                    const Type *types, size_t n_out, Value **ret) {
  const ExternAttr e = {.symbol = str_c(symbol), .strings = strings, .attrs = arena_dup(op_arena(c), attrs, n_attrs * sizeof *attrs), .n_attrs = n_attrs};
  return build_extern(&c->b, e, in, n_in, types, n_out, ret);
}

bool import_string_concat(OpContext *c) {
  Builder *b = &c->b;
  Value *in[] = {c->in[0], c->in[1]};
  const Dim *dims[MAX_RANK];
  uint32_t rank;
  if (!build_broadcast(b, in, 2, &rank, dims)) return false;
  for (size_t k = 0; k < 2; k++) in[k] = build_expand(b, in[k], rank, dims);
  if (!in[0] || !in[1]) return false;
  const Type type = type_tensor(b->ir, DT_str, rank, dims);
  return routine(c, "cn_op_string_concat", true, NULL, 0, in, 2, &type, 1, c->out);
}

/* Data decide the number of columns: one routine counts, another splits. */
bool import_string_split(OpContext *c) {
  Builder *b = &c->b;
  const Type *x = &c->in[0]->type;
  if (x->rank == MAX_RANK) return op_fail(c, DIAG_E0402, "the input's rank is %u", x->rank);
  const int64_t most = op_int(c, "maxsplit", -1);
  if (op_has_attr(c, "maxsplit") && most < 0) return op_fail(c, DIAG_E0304, "attribute 'maxsplit' is %lld", (long long)most);
  const ExternAttrValue attrs[] = {{.name = STR("delimiter"), .kind = EXTERN_STRING, .n = 1, .s = op_str(c, "delimiter", "")}, int_value("maxsplit", most)};
  const Dim *dims[MAX_RANK];
  size_t n;
  const Type counted[] = {type_tensor(b->ir, DT_s64, x->rank, x->dims), type_tensor(b->ir, DT_s64, 1, &op_dims(c)->one)};
  Value *counts[2];
  if (!routine(c, "cn_op_split_count", false, attrs, 2, c->in, 1, counted, 2, counts)) return false;
  const Dim *const *columns = build_read_dims(b, counts[1], "pieces", 0, INT32_MAX, NULL, &n);
  if (!columns) return false;
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[x->rank] = columns[0];
  const Type type = type_tensor(b->ir, DT_str, x->rank + 1, dims);
  if (op_wants(c, 1)) c->out[1] = counts[0];
  return routine(c, "cn_op_split", false, attrs, 2, c->in, 1, &type, 1, c->out);
}

/* ---- StringNormalizer ---- */
static castnet_string text_of(const void *s) { return (castnet_string){((const Str *)s)->ptr, ((const Str *)s)->len}; }
static int by_bytes(const void *a, const void *b) { return cn_order_strings(text_of(a), text_of(b)); }
static int by_folded(const void *a, const void *b) { return cn_case_compare(text_of(a), text_of(b)); }

bool import_string_normalizer(OpContext *c) {
  Builder *b = &c->b;
  DimCtx *d = op_dims(c);
  const Type *x = &c->in[0]->type;
  const Str action = op_str(c, "case_change_action", "NONE");
  const bool lower = str_is(action, "LOWER"), upper = str_is(action, "UPPER"), fold = op_int(c, "is_case_sensitive", 0) == 0;
  if (!lower && !upper && !str_is(action, "NONE")) return op_fail(c, DIAG_E0304, "attribute 'case_change_action' is %s", diag_quote(b->ir->diags, action));
  if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && !ir_require_eq(b->ir, x->dims[0], d->one)))
    return op_fail(c, DIAG_E0402, "shape %s, [C] or [1, C] is asked", op_shape(c, 0));
  size_t n;
  const Str *given = op_strs(c, "stopwords", &n);
  Str *words = arena_dup(op_arena(c), given, n * sizeof *given);
  if (n) qsort(words, n, sizeof *words, fold ? by_folded : by_bytes);
  const ExternAttrValue attrs[] = {int_value("fold", fold), int_value("to", lower ? CN_TO_LOWER : upper ? CN_TO_UPPER : -1)};
  const Dim *count = dim_max(d, x->dims[x->rank - 1], d->one);
  const Dim *dims[] = {d->one, bd_data_symbol(b, "kept", 1, count->hi < INT32_MAX ? count->hi : INT32_MAX, count)};
  const Type type = type_tensor(b->ir, DT_str, x->rank, dims + 2 - x->rank);
  Value *const in[] = {c->in[0], op_vector(c, DT_str, n, words)};
  return routine(c, "cn_op_normalize", true, attrs, 2, in, 2, &type, 1, c->out);
}

/* ---- RegexFullMatch ---- */
bool import_regex_full_match(OpContext *c) {
  Builder *b = &c->b;
  ReError error;
  size_t n = 0;
  const Str pattern = op_str(c, "pattern", "");
  const int32_t *states = regex_compile(op_arena(c), pattern, &n, &error);
  if (!states && error.unsupported) return op_unsupported(c, "%s in a regular expression", error.why);
  if (!states) return op_fail(c, DIAG_E0304, "attribute 'pattern' is %s: %s (at byte %zu)", diag_quote(b->ir->diags, pattern), error.why, error.at);
  const int64_t dims[] = {(int64_t)n, 3};
  Value *const in[] = {c->in[0], build_tensor(b, DT_s32, 2, dims, tensor_from_host(op_arena(c), DT_s32, 3 * n, states)->bytes)};
  const Type type = type_tensor(b->ir, DT_b1, c->in[0]->type.rank, c->in[0]->type.dims);
  return op_routine(c, "cn_op_regex", in, 2, NULL, 0, bd_const(b, 14 * (int64_t)n), &type, 1, c->out);
}

/* ---- Cast ---- */
/* Precision and least normal exponent of the types of real numbers. */
static void text_format(DType t, int64_t *precision, int64_t *least) {
  static const struct { DType t; int precision, least; } formats[] = {
      {DT_f32, 24, -126}, {DT_f16, 11, -14}, {DT_bf16, 8, -126}, {DT_f8e4m3fn, 4, -6}, {DT_f8e4m3fnuz, 4, -7}, {DT_f8e5m2, 3, -14}, {DT_f8e5m2fnuz, 3, -15},
      {DT_f8e8m0, 1, -127}, {DT_f4e2m1, 2, 0}, {DT_f6e2m3, 4, 0}, {DT_f6e3m2, 3, -2}};
  *precision = 53;
  *least = -1022;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (formats[i].t == t) *precision = formats[i].precision, *least = formats[i].least;
}

Value *op_cast_text(OpContext *c, Value *x, DType to) {
  Builder *b = &c->b;
  const DType from = x->type.dtype;
  const DTypeKind kind = dtype_rows[to == DT_str ? from : to].kind;
  ExternAttrValue attrs[] = {int_value("precision", 0), int_value("least", 0)};
  const DType wide = kind == KIND_S ? DT_s64 : kind == KIND_U || (to == DT_str && kind == KIND_B) ? DT_u64 : to == DT_f32 ? DT_f32 : DT_f64;
  const Type type = type_tensor(b->ir, to == DT_str ? DT_str : wide, x->type.rank, x->type.dims);
  Value *y;
  if (from == to) return x;
  text_format(from, &attrs[0].i, &attrs[1].i);
  if (to == DT_str) {
    x = build_cast(b, x, wide, true);
    return x && routine(c, "cn_op_to_text", true, attrs, 2, &x, 1, &type, 1, &y) ? y : NULL;
  }
  return routine(c, "cn_op_from_text", false, NULL, 0, &x, 1, &type, 1, &y) ? build_cast(b, y, to, true) : NULL;
}
