/* Support vector machines (ai.onnx.ml): values of a kernel against the vectors, then products with coefficients. */
#include "ops/shared.h"

typedef struct Svm {
  DType type; /* computed in */
  const float *coefficients, *rho, *vectors, *prob_a, *prob_b;
  size_t n_coefficients, n_rho, n_numbers, n_prob_a, n_prob_b;
  size_t n_vectors, n_features;
} Svm;

static Value *matrix(OpContext *c, DType t, size_t rows, size_t columns, const float *v) {
  const Dim *dims[] = {bd_const(&c->b, (int64_t)rows), bd_const(&c->b, (int64_t)columns)};
  return build_cast(&c->b, build_reshape(&c->b, build_floats(&c->b, v, rows * columns), 2, dims), t, true);
}

static bool read_svm(OpContext *c, int64_t n_vectors, Svm *s) {
  if (!op_rank_in(c, 0, 2, 2)) return false;
  s->type = op_dtype(c, 0) == DT_f64 ? DT_f64 : DT_f32;
  s->coefficients = op_floats(c, "coefficients", &s->n_coefficients);
  s->rho = op_floats(c, "rho", &s->n_rho);
  s->vectors = op_floats(c, "support_vectors", &s->n_numbers);
  s->prob_a = op_floats(c, "prob_a", &s->n_prob_a);
  s->prob_b = op_floats(c, "prob_b", &s->n_prob_b);
  if (n_vectors < 0 || (size_t)n_vectors > s->n_numbers || (n_vectors && s->n_numbers % (size_t)n_vectors))
    return op_fail(c, DIAG_E0304, "attribute 'support_vectors' has %zu numbers for %lld vectors", s->n_numbers, (long long)n_vectors);
  if (!s->n_coefficients || !s->n_rho) return op_fail(c, DIAG_E0304, "attribute '%s' is empty", s->n_rho ? "coefficients" : "rho");
  s->n_vectors = (size_t)n_vectors;
  s->n_features = n_vectors ? s->n_numbers / (size_t)n_vectors : 0;
  return true;
}

static Value *times(OpContext *c, Value *x, Value *w) { return build_matmul(&c->b, x, w); }

/* x [N][F] times constant rows [M][F], given row by row: [N][M] */
static Value *times_rows(OpContext *c, Value *x, DType t, size_t rows, size_t columns, const float *v) {
  const uint32_t perm[] = {1, 0};
  return times(c, x, build_transpose(&c->b, matrix(c, t, rows, columns, v), perm));
}

/* Squared distances of rows of x [N][F] to the vectors [M][F]: [N][M] */
static Value *distances(OpContext *c, Value *x, const Svm *s) {
  Builder *b = &c->b;
  if (!ir_require_eq(b->ir, op_dim(c, 0, 1), bd_const(b, (int64_t)s->n_features)))
    return (void)op_fail(c, DIAG_E0402, "shape %s for vectors of %zu features", op_shape(c, 0), s->n_features), NULL;
  Value *apart = build_fn2(b, SC_sub, build_unsqueeze(b, x, 2), matrix(c, s->type, s->n_vectors, s->n_features, s->vectors));
  return build_reduce(b, REDUCE_SUM, build_fn2(b, SC_mul, apart, apart), 4, false);
}

/* The kernel of each row with each vector: [N][n_vectors]. NULL after a diagnostic. */
static Value *kernel_values(OpContext *c, Value *x, const Svm *s) {
  Builder *b = &c->b;
  size_t n;
  const float none[3] = {0, 0, 0}, *p = op_floats(c, "kernel_params", &n);
  const Str kind = op_str(c, "kernel_type", "LINEAR");
  if (n != 0 && n != 3) return (void)op_fail(c, DIAG_E0304, "attribute 'kernel_params' has %zu values, 3 are asked", n), NULL;
  if (n == 0) p = none;
  if (str_is(kind, "RBF")) {
    Value *d = distances(c, x, s);
    return d ? build_fn1(b, SC_exp, build_fn2(b, SC_mul, d, op_scalar_like(c, d, (double)-p[0]))) : NULL;
  }
  Value *dot = times_rows(c, x, s->type, s->n_vectors, s->n_features, s->vectors);
  if (!dot || str_is(kind, "LINEAR")) return dot;
  Value *at = build_fn2(b, SC_add, build_fn2(b, SC_mul, dot, op_scalar_like(c, dot, (double)p[0])), op_scalar_like(c, dot, (double)p[1]));
  if (str_is(kind, "SIGMOID")) return build_fn1(b, SC_tanh, at);
  if (str_is(kind, "POLY")) return build_fn2(b, SC_pow, at, op_scalar_like(c, dot, (double)p[2]));
  (void)op_fail(c, DIAG_E0304, "attribute 'kernel_type' is %s", diag_quote(b->ir->diags, kind));
  return NULL;
}

bool import_svm_regressor(OpContext *c) {
  Builder *b = &c->b;
  Svm s = {0};
  if (!read_svm(c, op_int(c, "n_supports", 0), &s)) return false;
  Value *x = build_cast(b, op_in(c, 0), s.type, true), *k = s.n_vectors ? kernel_values(c, x, &s) : x;
  if (!k) return false;
  if (s.n_vectors && s.n_coefficients != s.n_vectors) return op_fail(c, DIAG_E0304, "%zu coefficients for %zu vectors", s.n_coefficients, s.n_vectors);
  Value *y = times(c, k, matrix(c, s.type, s.n_coefficients, 1, s.coefficients));
  if (!y) return false;
  y = build_fn2(b, SC_add, y, op_scalar_like(c, y, (double)s.rho[0]));
  if (op_int(c, "one_class", 0))
    y = build_fn3(b, SC_select, build_fn2(b, SC_gt, y, op_scalar_like(c, y, 0)), op_scalar_like(c, y, 1), op_scalar_like(c, y, -1));
  return op_give(c, 0, build_cast(b, op_post_transform(c, y), DT_f32, true));
}

/* ---- classification: a decision for each pair of classes ---- */
typedef struct Classes {
  size_t n, n_pairs, n_counts;
  const int64_t *counts, *ints; /* [n_counts] vectors of each class; labels, or */
  const Str *strings;
} Classes;

static bool read_classes(OpContext *c, Classes *k, int64_t *ret_vectors) {
  size_t n_ints, n_strings;
  k->counts = op_ints(c, "vectors_per_class", &k->n_counts);
  k->ints = op_ints(c, "classlabels_ints", &n_ints);
  k->strings = op_strs(c, "classlabels_strings", &n_strings);
  k->n = n_ints + n_strings;
  k->n_pairs = k->n * (k->n - 1) / 2;
  *ret_vectors = 0;
  if (k->n < 1 || (n_ints && n_strings)) return op_fail(c, DIAG_E0304, "exactly one list of class labels must be given");
  if (k->n > 10000) return op_fail(c, DIAG_E0304, "%zu classes", k->n);
  for (size_t i = 0; i < k->n_counts; i++)
    if (k->counts[i] < 0 || !i64_add(*ret_vectors, k->counts[i], ret_vectors)) return op_fail(c, DIAG_E0304, "attribute 'vectors_per_class' holds %lld", (long long)k->counts[i]);
  return *ret_vectors == 0 || k->n_counts == k->n || op_fail(c, DIAG_E0304, "attribute 'vectors_per_class' has %zu values for %zu classes", k->n_counts, k->n);
}

/* Scores of all pairs i < j [N][pairs]: coefficients of row j - 1 for the vectors of class i, of row i for those of class j. */
static Value *pair_scores(OpContext *c, Value *kernel, const Svm *s, const Classes *k) {
  float *w = arena_array(op_arena(c), s->n_vectors * k->n_pairs, sizeof *w);
  size_t *first = NEW_ARRAY(op_arena(c), size_t, k->n + 1), p = 0;
  for (size_t i = 0; i < k->n; i++) first[i + 1] = first[i] + (size_t)k->counts[i];
  for (size_t i = 0; i < k->n; i++) {
    for (size_t j = i + 1; j < k->n; j++, p++) {
      for (size_t v = first[i]; v < first[i + 1]; v++) w[v * k->n_pairs + p] = s->coefficients[(j - 1) * s->n_vectors + v];
      for (size_t v = first[j]; v < first[j + 1]; v++) w[v * k->n_pairs + p] = s->coefficients[i * s->n_vectors + v];
    }
  }
  Value *rho = build_cast(&c->b, build_floats(&c->b, s->rho, k->n_pairs), s->type, true);
  return build_fn2(&c->b, SC_add, times(c, kernel, matrix(c, s->type, s->n_vectors, k->n_pairs, w)), rho);
}

/* How many pairs each class wins: [N][classes] */
static Value *votes(OpContext *c, Value *scores, const Classes *k) {
  Builder *b = &c->b;
  float *won = arena_array(op_arena(c), k->n_pairs * k->n, sizeof *won), *lost = arena_array(op_arena(c), k->n_pairs * k->n, sizeof *lost);
  size_t p = 0;
  for (size_t i = 0; i < k->n; i++)
    for (size_t j = i + 1; j < k->n; j++, p++) won[p * k->n + i] = 1, lost[p * k->n + j] = 1;
  Value *wins = build_cast(b, build_fn2(b, SC_gt, scores, op_scalar_like(c, scores, 0)), DT_f32, true);
  Value *losses = build_fn2(b, SC_sub, op_scalar_like(c, wins, 1), wins);
  return build_fn2(b, SC_add, times(c, wins, matrix(c, DT_f32, k->n_pairs, k->n, won)), times(c, losses, matrix(c, DT_f32, k->n_pairs, k->n, lost)));
}

/* The classes' probabilities [N][classes] from those of the pairs. */
static Value *probabilities(OpContext *c, Value *scores, const Svm *s, const Classes *k) {
  Builder *b = &c->b;
  Value *a = build_floats(b, s->prob_a, k->n_pairs), *o = build_floats(b, s->prob_b, k->n_pairs);
  Value *z = build_fn2(b, SC_add, build_fn2(b, SC_mul, build_cast(b, scores, DT_f32, true), a), o);
  Value *p = build_fn1(b, SC_sigmoid, build_fn1(b, SC_neg, z));
  p = build_fn3(b, SC_clip, p, build_scalar_f(b, DT_f32, 1e-7), build_scalar_f(b, DT_f32, 1 - 1e-7));
  const Dim *dims[] = {op_dim(c, 0, 0), bd_const(b, (int64_t)k->n)};
  const Type out = type_tensor(b->ir, DT_f32, 2, dims);
  const Dim *scratch = bd_const(b, (int64_t)((2 * k->n * k->n + k->n) * sizeof(float)));
  Value *y;
  return p && op_routine(c, "cn_op_couple_pairs", &p, 1, NULL, 0, scratch, &out, 1, &y) ? y : NULL;
}

/* Labels [N] by class number. */
static Value *labels_at(OpContext *c, const Classes *k, Value *index) {
  return op_take(c, k->strings ? op_vector(c, DT_str, k->n, k->strings) : build_ints(&c->b, k->ints, k->n), index);
}

/* One score decides between two classes, or whether the one class is met: its label is then 1, else 0 (ONNX Runtime's rule). */
static Value *label_by_one(OpContext *c, const Svm *s, const Classes *k, Value *most, Value *class, bool has_probability) {
  Builder *b = &c->b;
  bool positive = true;
  for (size_t i = 0; i < s->n_coefficients; i++) positive = positive && s->coefficients[i] >= 0;
  Value *one = build_scalar_i(b, DT_s64, 1), *high = build_fn2(b, SC_ge, most, op_scalar_like(c, most, 0.5));
  if (k->n == 2) return labels_at(c, k, has_probability || !positive ? class : build_fn3(b, SC_select, high, one, class));
  Value *met = build_cast(b, build_fn2(b, SC_gt, most, op_scalar_like(c, most, 0)), DT_s64, true);
  return k->strings ? labels_at(c, k, k->n == 1 ? build_fn2(b, SC_mul, met, build_scalar_i(b, DT_s64, 0)) : met) : met;
}

/* Scores as they are given out; one score of two classes stands beside its negative. */
static Value *final_scores(OpContext *c, Value *scores, bool second) {
  Value *both[] = {build_fn1(&c->b, SC_neg, scores), scores};
  if (second && dim_is(scores->type.dims[1], 1) && !str_is(op_str(c, "post_transform", "NONE"), "PROBIT")) scores = build_concat(&c->b, both, 2, 1);
  return build_cast(&c->b, op_post_transform(c, scores), DT_f32, true);
}

bool import_svm_classifier(OpContext *c) {
  Builder *b = &c->b;
  Svm s = {0};
  Classes k = {0};
  int64_t n_vectors;
  if (!read_classes(c, &k, &n_vectors) || !read_svm(c, n_vectors, &s)) return false;
  const size_t asked = n_vectors ? (k.n - 1) * s.n_vectors : k.n;
  if (n_vectors ? s.n_coefficients != asked : s.n_coefficients % asked != 0) return op_fail(c, DIAG_E0304, "%zu coefficients for %zu classes and %zu vectors", s.n_coefficients, k.n, s.n_vectors);
  const bool probable = n_vectors && s.n_prob_a > 0;
  if (n_vectors && (k.n < 2 || s.n_rho < k.n_pairs || (probable && (s.n_prob_a < k.n_pairs || s.n_prob_b < k.n_pairs))))
    return op_fail(c, DIAG_E0304, "'rho', 'prob_a' or 'prob_b' is too short for %zu pairs of classes", k.n_pairs);
  Value *x = build_cast(b, op_in(c, 0), s.type, true), *scores, *ballot;
  if (n_vectors) {
    Value *kernel = kernel_values(c, x, &s);
    if (!kernel || !(scores = pair_scores(c, kernel, &s, &k))) return false;
    ballot = votes(c, scores, &k);
    if (probable) scores = probabilities(c, scores, &s, &k);
  } else {
    scores = times_rows(c, x, s.type, k.n, s.n_coefficients / k.n, s.coefficients);
    if (!scores) return false;
    ballot = scores = build_fn2(b, SC_add, scores, op_scalar_like(c, scores, (double)s.rho[0]));
  }
  Value *class = build_arg(b, true, ballot, 1, false, false);
  Value *label = s.n_rho == 1 ? label_by_one(c, &s, &k, build_reduce(b, REDUCE_MAX, ballot, 2, false), class, probable) : labels_at(c, &k, class);
  if (!scores || !op_give(c, 0, label)) return false;
  return c->n_out < 2 || op_give(c, 1, final_scores(c, scores, s.n_rho == 1 && k.n == 2));
}
