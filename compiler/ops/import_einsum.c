/* Einsum: any equation, as pairwise contractions from left to right. */
#include "ops/shared.h"

/* Labels: 'A'-'Z' and 'a'-'z' as 0..51, ellipsis axes from 52 counted from the innermost. */
enum { LABEL_ELLIPSIS = 52, N_LABELS = LABEL_ELLIPSIS + MAX_RANK, NO_LABEL = 255 };

typedef struct Labels {
  uint8_t at[MAX_RANK];
  uint32_t n;
} Labels;

typedef struct Einsum {
  Str text;              /* what is left to parse */
  size_t uses[N_LABELS]; /* inputs that have it, with repetitions */
  uint32_t ellipsis;     /* most axes that an ellipsis stands for */
} Einsum;

static int label_of(char ch) {
  if (ch >= 'A' && ch <= 'Z') return ch - 'A';
  if (ch >= 'a' && ch <= 'z') return 26 + ch - 'a';
  return -1;
}

static void skip_spaces(Einsum *e) {
  while (e->text.len && *e->text.ptr == ' ') e->text.ptr++, e->text.len--;
}

static bool accept(Einsum *e, const char *word) {
  skip_spaces(e);
  const size_t n = strlen(word);
  if (e->text.len < n || memcmp(e->text.ptr, word, n) != 0) return false;
  e->text.ptr += n;
  e->text.len -= n;
  return true;
}

static bool add_label(OpContext *c, Labels *l, int label) {
  if (l->n == MAX_RANK) return op_fail(c, DIAG_E0304, "attribute 'equation' has a term of more than %d axes", MAX_RANK);
  l->at[l->n++] = (uint8_t)label;
  return true;
}

/* One term; `rank` tells how many axes an ellipsis stands for (the output's: as many as the inputs'). */
static bool parse_term(OpContext *c, Einsum *e, bool output, uint32_t rank, Labels *l) {
  bool dots = false;
  Labels head = {.n = 0}, tail = {.n = 0};
  for (;;) {
    if (accept(e, "...")) {
      if (dots) return op_fail(c, DIAG_E0304, "attribute 'equation' has two ellipses in a term");
      dots = true;
      continue;
    }
    skip_spaces(e);
    const int label = e->text.len ? label_of(*e->text.ptr) : -1;
    if (label < 0) break;
    e->text.ptr++, e->text.len--;
    if (!add_label(c, dots ? &tail : &head, label)) return false;
  }
  const uint32_t named = head.n + tail.n;
  if (!output && (dots ? named > rank : named != rank))
    return op_fail(c, DIAG_E0402, "attribute 'equation' has a term of %u axes for an input of rank %u", named, rank);
  const uint32_t hidden = !dots ? 0 : output ? e->ellipsis : rank - named;
  if (!output && hidden > e->ellipsis) e->ellipsis = hidden;
  *l = head;
  for (uint32_t k = hidden; k-- > 0;)
    if (!add_label(c, l, LABEL_ELLIPSIS + (int)k)) return false;
  for (uint32_t k = 0; k < tail.n; k++)
    if (!add_label(c, l, tail.at[k])) return false;
  if (!output)
    for (uint32_t k = 0; k < l->n; k++) e->uses[l->at[k]]++;
  return true;
}

/* Without `->`: the ellipsis, then every label that occurs once, in alphabetical order. */
static void implicit_output(const Einsum *e, Labels *l) {
  l->n = 0;
  for (uint32_t k = e->ellipsis; k-- > 0;) l->at[l->n++] = (uint8_t)(LABEL_ELLIPSIS + k);
  for (int k = 0; k < LABEL_ELLIPSIS && l->n < MAX_RANK; k++)
    if (e->uses[k] == 1) l->at[l->n++] = (uint8_t)k;
}

static int find_label(const Labels *l, uint8_t label) {
  for (uint32_t k = 0; k < l->n; k++)
    if (l->at[k] == label) return (int)k;
  return -1;
}

/* A label that occurs twice in a term reads the diagonal. */
static Value *diagonal(OpContext *c, Value *v, Labels *l) {
  Labels kept = {.n = 0};
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  for (uint32_t i = 0; i < l->n; i++) {
    const int at = find_label(&kept, l->at[i]);
    if (at < 0) {
      dims[kept.n] = v->type.dims[i];
      kept.at[kept.n++] = l->at[i];
    } else if (!ir_require_eq(c->b.ir, dims[at], v->type.dims[i])) {
      (void)op_fail(c, DIAG_E0402, "a repeated label has different dimensions in shape %s", build_shape_text(&c->b, v));
      return NULL;
    }
  }
  if (kept.n == l->n) return v;
  for (uint32_t i = 0; i < l->n; i++)
    index[i] = build_affine_coord(&c->b, kept.n, (uint32_t)find_label(&kept, l->at[i]));
  *l = kept;
  return build_view(&c->b, v, kept.n, dims, index);
}

/* Sums away what neither the output nor another term has. */
static Value *sum_unused(OpContext *c, Value *v, Labels *l, const bool *needed) {
  uint32_t mask = 0;
  Labels kept = {.n = 0};
  for (uint32_t i = 0; i < l->n; i++) {
    if (needed[l->at[i]]) kept.at[kept.n++] = l->at[i];
    else mask |= 1u << i;
  }
  *l = kept;
  return build_reduce(&c->b, REDUCE_SUM, v, mask, false);
}

/* v at the sizes that its ellipsis broadcasts to, where only run time tells whether one is 1. */
static Value *spread(OpContext *c, Value *v, const Labels *l, const Value *other, const Labels *lo) {
  const Dim *dims[MAX_RANK];
  for (uint32_t i = 0; i < l->n; i++) {
    const int at = l->at[i] < LABEL_ELLIPSIS || dim_is(v->type.dims[i], 1) ? -1 : find_label(lo, l->at[i]);
    const Dim *both = at < 0 ? NULL : build_broadcast_dim(&c->b, v->type.dims[i], other->type.dims[at]);
    dims[i] = both ? both : v->type.dims[i];
  }
  return build_expand(&c->b, v, l->n, dims);
}

/* Drops axes of 1 where the other term's is not, so that a label has one size. */
static Value *drop_ones(OpContext *c, Value *v, Labels *l, const Value *other, const Labels *lo) {
  uint32_t mask = 0;
  Labels kept = {.n = 0};
  for (uint32_t i = 0; i < l->n; i++) {
    const int at = find_label(lo, l->at[i]);
    if (at >= 0 && dim_is(v->type.dims[i], 1) && !dim_is(other->type.dims[at], 1)) mask |= 1u << i;
    else kept.at[kept.n++] = l->at[i];
  }
  *l = kept;
  return mask ? build_squeeze(&c->b, v, mask) : v;
}

/* v's axes in the order of `out`, with axes of 1 for labels that it lacks. */
static Value *aligned(OpContext *c, Value *v, const Labels *l, const Labels *out) {
  uint32_t perm[MAX_RANK] = {0}, n = 0, missing = 0;
  for (uint32_t o = 0; o < out->n; o++) {
    const int at = find_label(l, out->at[o]);
    if (at >= 0) perm[n++] = (uint32_t)at;
    else missing |= 1u << o;
  }
  v = build_transpose(&c->b, v, perm);
  return missing ? build_unsqueeze(&c->b, v, missing) : v;
}

/* Product of two terms, keeping the labels that are still needed. */
static Value *multiply(OpContext *c, Value *x, Labels *lx, Value *y, Labels ly, const bool *needed) {
  Value *given = x;
  x = spread(c, x, lx, y, &ly);
  y = x ? spread(c, y, &ly, given, lx) : NULL;
  Value *sx = y ? drop_ones(c, x, lx, y, &ly) : NULL;
  const Labels full_x = *lx;
  Labels both = *lx, out = {.n = 0};
  Value *sy = sx ? drop_ones(c, y, &ly, sx, &full_x) : NULL;
  if (!sy) return NULL;
  for (uint32_t i = 0; i < ly.n; i++) {
    if (find_label(&both, ly.at[i]) >= 0) continue;
    if (both.n == MAX_RANK) {
      (void)op_unsupported(c, "products of more than %d axes", MAX_RANK);
      return NULL;
    }
    both.at[both.n++] = ly.at[i];
  }
  for (uint32_t i = 0; i < both.n; i++)
    if (needed[both.at[i]]) out.at[out.n++] = both.at[i];
  *lx = out;
  if (out.n == both.n) return build_fn2(&c->b, SC_mul, aligned(c, sx, &full_x, &out), aligned(c, sy, &ly, &out));
  return build_contract(&c->b, sx, full_x.at, sy, ly.at, out.at, out.n, DT_NONE, NULL, NULL);
}

static bool parse_equation(OpContext *c, Einsum *e, Labels *terms, Labels *out) {
  for (size_t k = 0; k < c->n_in; k++) {
    if (k && !accept(e, ",")) return op_fail(c, DIAG_E0304, "attribute 'equation' does not have %zu terms", c->n_in);
    if (!parse_term(c, e, false, op_rank(c, k), &terms[k])) return false;
  }
  if (accept(e, "->")) {
    if (!parse_term(c, e, true, 0, out)) return false;
  } else {
    implicit_output(e, out);
  }
  skip_spaces(e);
  if (e->text.len)
    return op_fail(c, DIAG_E0304, "attribute 'equation' is malformed at %s", diag_quote(c->b.ir->diags, e->text));
  for (uint32_t i = 0; i < out->n; i++) {
    bool twice = false;
    for (uint32_t j = 0; j < i; j++) twice |= out->at[j] == out->at[i];
    if (twice || e->uses[out->at[i]] == 0) return op_fail(c, DIAG_E0304, "attribute 'equation': bad output label");
  }
  return true;
}

/* Labels of the output and of terms from `first` on. */
static void needed_labels(const Labels *out, const Labels *terms, size_t first, size_t n, bool *needed) {
  memset(needed, 0, N_LABELS * sizeof *needed);
  for (uint32_t i = 0; i < out->n; i++) needed[out->at[i]] = true;
  for (size_t k = first; k < n; k++)
    for (uint32_t i = 0; i < terms[k].n; i++) needed[terms[k].at[i]] = true;
}

bool import_einsum(OpContext *c) {
  Einsum e = {.text = op_str(c, "equation", "")};
  Labels *terms = NEW_ARRAY(op_arena(c), Labels, c->n_in), out;
  bool needed[N_LABELS];
  if (!parse_equation(c, &e, terms, &out)) return false;
  Value *acc = diagonal(c, op_in(c, 0), &terms[0]);
  Labels l = terms[0];
  for (size_t k = 1; acc && k < c->n_in; k++) {
    needed_labels(&out, terms, k, c->n_in, needed);
    acc = sum_unused(c, acc, &l, needed);
    Value *next = diagonal(c, op_in(c, k), &terms[k]);
    needed_labels(&out, terms, k + 1, c->n_in, needed);
    for (uint32_t i = 0; i < l.n; i++) needed[l.at[i]] = true; /* shared with what was multiplied so far */
    next = next ? sum_unused(c, next, &terms[k], needed) : NULL;
    if (!acc || !next) return false;
    needed_labels(&out, terms, k + 1, c->n_in, needed);
    acc = multiply(c, acc, &l, next, terms[k], needed);
  }
  needed_labels(&out, terms, c->n_in, c->n_in, needed);
  if (!acc || !(acc = sum_unused(c, acc, &l, needed))) return false;
  return op_give(c, 0, aligned(c, acc, &l, &out));
}
