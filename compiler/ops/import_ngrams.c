/* TfIdfVectorizer: the pool becomes a table of words and sorted tables of n-grams by words' numbers; a routine counts, the weights are built. */
#include "ops/shared.h"

#include "castnet_abi.h"
#include "ops/order.h"

#include <stdlib.h>

typedef struct Gram {
  const int32_t *words; /* [size] */
  size_t size, at;      /* which of the pool it is */
} Gram;

typedef struct Pool {
  DType type;
  size_t n, n_sizes;
  const void *host;
  int64_t min, max;
  const int64_t *begins;  /* [n_sizes] where the n-grams of each size begin */
  const int64_t *columns; /* of each n-gram */
  size_t n_columns;
  int32_t *numbers; /* [n] of each element's word */
} Pool;

static int gram_order(const void *a, const void *b) {
  const Gram *x = a, *y = b;
  for (size_t i = 0; i < x->size; i++)
    if (x->words[i] != y->words[i]) return x->words[i] < y->words[i] ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static bool read_pool(OpContext *c, Pool *p) {
  const bool strings = op_has_attr(c, "pool_strings");
  if (strings == op_has_attr(c, "pool_int64s")) return op_fail(c, DIAG_E0304, "one of 'pool_strings' and 'pool_int64s' is asked");
  if (strings != (op_dtype(c, 0) == DT_str)) return op_fail(c, DIAG_E0401, "input 0 is %s, which the pool is not", dtype_name(op_dtype(c, 0)));
  p->type = strings ? DT_str : DT_s64;
  if (strings) p->host = op_strs(c, "pool_strings", &p->n);
  else p->host = op_ints(c, "pool_int64s", &p->n);
  p->begins = op_ints(c, "ngram_counts", &p->n_sizes);
  p->columns = op_ints(c, "ngram_indexes", &p->n_columns);
  p->min = op_int(c, "min_gram_length", 1);
  p->max = op_int(c, "max_gram_length", 1);
  if (p->min < 1 || p->max < p->min) return op_fail(c, DIAG_E0304, "n-grams of %lld to %lld words", (long long)p->min, (long long)p->max);
  if (p->n > INT32_MAX) return op_fail(c, DIAG_E0304, "the pool has %zu words", p->n);
  for (size_t i = 0; i < p->n_columns; i++)
    if (p->columns[i] < 0 || p->columns[i] >= INT32_MAX) return op_fail(c, DIAG_E0304, "attribute 'ngram_indexes' holds %lld", (long long)p->columns[i]);
  size_t grams = 0;
  for (size_t i = 0; i < p->n_sizes; i++) {
    const int64_t end = i + 1 < p->n_sizes ? p->begins[i + 1] : (int64_t)p->n;
    if (p->begins[i] < 0 || end < p->begins[i] || end > (int64_t)p->n || (size_t)(end - p->begins[i]) % (i + 1))
      return op_fail(c, DIAG_E0304, "attribute 'ngram_counts' does not fit the pool");
    grams += (size_t)(end - p->begins[i]) / (i + 1);
  }
  if (grams != p->n_columns || grams == 0) return op_fail(c, DIAG_E0304, "%zu columns for %zu n-grams", p->n_columns, grams);
  return true;
}

/* ---- words ---- */
typedef struct Word {
  const castnet_tensor *pool;
  size_t at;
} Word;

static int word_order(const void *a, const void *b) {
  const Word *x = a, *y = b;
  return cn_order_compare(x->pool, x->at, y->at);
}

/* The distinct words, ascending, as a constant; p->numbers says which each element is. */
static Value *words_of(OpContext *c, Pool *p) {
  Arena *a = op_arena(c);
  const size_t size = p->type == DT_str ? sizeof(Str) : sizeof(int64_t);
  const castnet_tensor pool = {.data = (void *)(uintptr_t)p->host, .dtype = (uint32_t)dtype_rows[p->type].onnx};
  Word *words = NEW_ARRAY(a, Word, p->n);
  char *distinct = arena_array(a, p->n, size);
  size_t n = 0;
  p->numbers = NEW_ARRAY(a, int32_t, p->n);
  for (size_t i = 0; i < p->n; i++) words[i] = (Word){&pool, i};
  if (p->n) qsort(words, p->n, sizeof *words, word_order);
  for (size_t i = 0; i < p->n; i++) {
    if (i == 0 || word_order(&words[i - 1], &words[i]) != 0) memcpy(distinct + n++ * size, (const char *)p->host + words[i].at * size, size);
    p->numbers[words[i].at] = (int32_t)n - 1;
  }
  return op_vector(c, p->type, n, distinct);
}

/* ---- tables ---- */
typedef struct Tables {
  VEC(int32_t) rows, columns;
  int64_t *counts; /* [n_sizes] */
} Tables;

/* Of equal n-grams the last counts. */
static void add_size(Arena *a, const Pool *p, size_t size, size_t first_gram, Tables *t) {
  const size_t begin = (size_t)p->begins[size - 1], end = size < p->n_sizes ? (size_t)p->begins[size] : p->n, n = (end - begin) / size;
  Gram *grams = NEW_ARRAY(a, Gram, n);
  for (size_t i = 0; i < n; i++) grams[i] = (Gram){p->numbers + begin + i * size, size, first_gram + i};
  if (n) qsort(grams, n, sizeof *grams, gram_order);
  for (size_t i = 0; i < n; i++) {
    if (i + 1 < n && memcmp(grams[i].words, grams[i + 1].words, size * sizeof(int32_t)) == 0) continue;
    for (size_t k = 0; k < size; k++) vec_push(a, t->rows, grams[i].words[k]);
    vec_push(a, t->columns, (int32_t)p->columns[grams[i].at]);
    t->counts[size - 1]++;
  }
}

static Tables tables_of(Arena *a, const Pool *p) {
  Tables t = {.counts = NEW_ARRAY(a, int64_t, p->n_sizes)};
  size_t grams = 0;
  for (size_t size = 1; size <= p->n_sizes; size++) {
    const size_t end = size < p->n_sizes ? (size_t)p->begins[size] : p->n;
    if ((int64_t)size >= p->min && (int64_t)size <= p->max) add_size(a, p, size, grams, &t);
    grams += (end - (size_t)p->begins[size - 1]) / size;
  }
  return t;
}

/* ---- weights ---- */
/* The i-th weight is that of column ngram_indexes[i]. */
static bool weigh(OpContext *c, const Pool *p, size_t columns, Value *counts, Value **ret) {
  Builder *b = &c->b;
  const Str mode = op_str(c, "mode", "");
  const bool tf = str_is(mode, "TF"), idf = str_is(mode, "IDF");
  size_t n;
  const float *given = op_floats(c, "weights", &n);
  if (!tf && !idf && !str_is(mode, "TFIDF")) return op_fail(c, DIAG_E0304, "attribute 'mode' is none of TF, IDF, TFIDF");
  if (n && n != p->n_columns) return op_fail(c, DIAG_E0304, "%zu weights for %zu n-grams", n, p->n_columns);
  *ret = counts;
  if (idf && counts) *ret = build_cast(b, build_fn2(b, SC_gt, counts, op_scalar_like(c, counts, 0)), DT_f32, true);
  if (tf || !n) return true;
  float *weights = NEW_ARRAY(op_arena(c), float, columns);
  for (size_t i = 0; i < columns; i++) weights[i] = 1;
  for (size_t i = 0; i < n; i++) weights[p->columns[i]] = given[i];
  *ret = build_fn2(b, SC_mul, *ret, build_floats(b, weights, columns));
  return true;
}

bool import_tfidf_vectorizer(OpContext *c) {
  Builder *b = &c->b;
  Arena *a = op_arena(c);
  Pool p;
  const int64_t skips = op_int(c, "max_skip_count", 0);
  if (!read_pool(c, &p)) return false;
  if (op_rank(c, 0) > 2) return op_fail(c, DIAG_E0402, "shape %s, [C] or [N, C] is asked", op_shape(c, 0));
  if (skips < 0) return op_fail(c, DIAG_E0304, "attribute 'max_skip_count' is %lld", (long long)skips);
  int64_t columns = 0;
  for (size_t i = 0; i < p.n_columns; i++)
    if (p.columns[i] >= columns) columns = p.columns[i] + 1;
  if (columns > 1 << 20 && columns / 4 > (int64_t)p.n_columns) return op_fail(c, DIAG_E0304, "attribute 'ngram_indexes' asks for %lld columns", (long long)columns);
  Value *words = words_of(c, &p);
  const Tables t = tables_of(a, &p);
  const size_t n_sizes = (size_t)(p.max < (int64_t)p.n_sizes ? p.max : (int64_t)p.n_sizes);
  const ExternAttrValue attrs[] = {{.name = STR("first"), .kind = EXTERN_INT, .n = 1, .i = p.min}, {.name = STR("skips"), .kind = EXTERN_INT, .n = 1, .i = skips},
                                   {.name = STR("counts"), .kind = EXTERN_INTS, .n = n_sizes, .ints = t.counts}};
  const uint32_t rank = op_rank(c, 0);
  const Dim *const in_dims[] = {rank == 2 ? op_dim(c, 0, 0) : op_dims(c)->one, rank ? op_dim(c, 0, rank - 1) : op_dims(c)->one};
  const Dim *const out_dims[] = {in_dims[0], bd_const(b, columns)};
  Value *x = c->in[0]->type.dtype == DT_str ? c->in[0] : build_cast(b, c->in[0], DT_s64, true);
  Value *const in[] = {build_reshape(b, x, 2, in_dims), words, op_vector(c, DT_s32, t.rows.n, t.rows.data), op_vector(c, DT_s32, t.columns.n, t.columns.data)};
  const Type type = type_tensor(b->ir, DT_f32, 2, out_dims);
  const ExternAttr e = {.symbol = STR("cn_op_ngrams"), .attrs = arena_dup(a, attrs, sizeof attrs), .n_attrs = 3, .scratch = dim_mulc(op_dims(c), in_dims[1], 8)};
  Value *counts, *y = NULL;
  if (!in[0] || !build_extern(b, e, in, 4, &type, 1, &counts) || !weigh(c, &p, (size_t)columns, counts, &y)) return false;
  return op_give(c, 0, rank == 2 ? y : build_reshape(b, y, 1, &out_dims[1]));
}
