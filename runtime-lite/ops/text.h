/* SPDX-License-Identifier: MIT-0 */
/* Operators that make strings: StringConcat, StringSplit, StringNormalizer. */
#ifndef CN_OPS_TEXT_H
#define CN_OPS_TEXT_H

#include "base.h"
#include "ops/case.h"
#include "ops/find.h"
#include "ops/order.h"
#include "text_space.h"

/* ---- StringConcat ---- */
/* in: x, y of one shape. out: each pair as one string. */
CN_NOINLINE int cn_op_string_concat(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                    size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_string *x = (const castnet_string *)in[0].data, *y = (const castnet_string *)in[1].data;
  castnet_string *z = (castnet_string *)out[0].data;
  const size_t n = cn_elements(&in[0]);
  size_t total = 0;
  char *p = NULL;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size;
  for (size_t i = 0; i < n; i++) {
    if (x[i].length > SIZE_MAX - total || y[i].length > SIZE_MAX - total - x[i].length) return CASTNET_ERR_DIM;
    total += x[i].length + y[i].length;
  }
  const int error = cn_text_new(env, total, &p);
  if (error != CASTNET_OK) return error;
  for (size_t i = 0; i < n; i++) {
    const size_t a = x[i].length, b = y[i].length;
    if (a) memcpy(p, x[i].ptr, a);
    if (b) memcpy(p + a, y[i].ptr, b);
    z[i].ptr = a + b ? p : "";
    z[i].length = a + b;
    if (a + b) p += a + b;
  }
  return CASTNET_OK;
}

/* ---- StringSplit ---- */
/* What is left of a string that is split, and how often it may be split still. */
typedef struct cn_split {
  const char *at;
  size_t left;
  int64_t most;
  int done;
} cn_split;

CN_INLINE int cn_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The next piece between runs of blanks (space, \t \n \v \f \r); none is empty. 0 at the end. */
CN_INLINE int cn_split_blanks(cn_split *s, castnet_string *ret) {
  size_t n = 0;
  while (s->left && cn_is_blank(*s->at)) s->at++, s->left--;
  if (s->left == 0) return 0;
  if (s->most == 0) n = s->left;
  while (n < s->left && !cn_is_blank(s->at[n])) n++;
  ret->ptr = s->at;
  ret->length = n;
  s->at += n;
  s->left -= n;
  s->most--;
  return 1;
}

/* The next piece between delimiters, perhaps empty. 0 at the end. */
CN_INLINE int cn_split_at(castnet_string delimiter, cn_split *s, castnet_string *ret) {
  size_t n = 0;
  if (s->done) return 0;
  while (s->most != 0 && n + delimiter.length <= s->left && memcmp(s->at + n, delimiter.ptr, delimiter.length) != 0) n++;
  ret->ptr = s->at;
  if (s->most == 0 || n + delimiter.length > s->left) {
    ret->length = s->left;
    s->done = 1;
    return 1;
  }
  ret->length = n;
  s->at += n + delimiter.length;
  s->left -= n + delimiter.length;
  s->most--;
  return 1;
}

CN_NOINLINE int cn_split_next(castnet_string delimiter, cn_split *s, castnet_string *ret) {
  return delimiter.length == 0 ? cn_split_blanks(s, ret) : cn_split_at(delimiter, s, ret);
}

CN_INLINE cn_split cn_split_begin(castnet_string x, int64_t most) {
  cn_split s;
  s.at = x.length ? x.ptr : "";
  s.left = x.length;
  s.most = most;
  s.done = 0;
  return s;
}

/* in: x. out: how many pieces each string has; [1] the most of them. Attributes: delimiter, maxsplit (negative: no limit). */
CN_NOINLINE int cn_op_split_count(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                  size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_string *x = (const castnet_string *)in[0].data;
  int64_t *counts = (int64_t *)out[0].data, most = 0;
  const size_t n = cn_elements(&in[0]);
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (size_t i = 0; i < n; i++) {
    cn_split s = cn_split_begin(x[i], attrs[1].value.i);
    castnet_string piece;
    counts[i] = 0;
    while (cn_split_next(attrs[0].value.s, &s, &piece)) counts[i]++;
    if (counts[i] > most) most = counts[i];
  }
  ((int64_t *)out[1].data)[0] = most;
  return CASTNET_OK;
}

/* in: x. out: the pieces of each string, empty strings behind them: [x's shape][the most]. They lie in the strings that are split. */
CN_NOINLINE int cn_op_split(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                            void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_string *x = (const castnet_string *)in[0].data;
  castnet_string *y = (castnet_string *)out[0].data;
  const size_t n = cn_elements(&in[0]), most = (size_t)out[0].dims[out[0].rank - 1];
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (size_t i = 0; i < n; i++) {
    cn_split s = cn_split_begin(x[i], attrs[1].value.i);
    for (size_t k = 0; k < most; k++, y++) {
      if (cn_split_next(attrs[0].value.s, &s, y)) continue;
      y->ptr = "";
      y->length = 0;
    }
  }
  return CASTNET_OK;
}

/* ---- StringNormalizer ---- */
/* Whether s is one of the words: ascending, by folded characters where `fold` is set. */
CN_INLINE int cn_is_word(const castnet_tensor *words, int fold, castnet_string s) {
  const castnet_string *w = (const castnet_string *)words->data;
  size_t lo = 0, hi = (size_t)words->dims[0];
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const int c = fold ? cn_case_compare(w[mid], s) : cn_order_strings(w[mid], s);
    if (c == 0) return 1;
    if (c < 0) lo = mid + 1;
    else hi = mid;
  }
  return 0;
}

/* in: x [n], stop words [k] ascending. out: the strings that are no stop words, in lower or upper case; one empty string where none is
 * left. Attributes: fold, whether the words are compared without regard to case; to, CN_TO_LOWER, CN_TO_UPPER or -1. */
CN_NOINLINE int cn_op_normalize(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_string *x = (const castnet_string *)in[0].data;
  castnet_string *y = (castnet_string *)out[0].data;
  const int fold = attrs[0].value.i != 0, to = (int)attrs[1].value.i;
  const size_t n = cn_elements(&in[0]);
  size_t total = 0, kept = 0;
  char *p = NULL;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size;
  for (size_t i = 0; i < n; i++) {
    if (cn_is_word(&in[1], fold, x[i])) continue;
    y[kept++] = x[i];
    if (to < 0) continue;
    const size_t length = cn_case_text(to, x[i], NULL);
    if (length > SIZE_MAX - total) return CASTNET_ERR_DIM;
    total += length;
  }
  const int error = cn_text_new(env, total, &p);
  if (error != CASTNET_OK) return error;
  for (size_t i = 0; to >= 0 && i < kept; i++) {
    const size_t length = cn_case_text(to, y[i], p);
    y[i].ptr = length ? p : "";
    y[i].length = length;
    if (length) p += length;
  }
  if (kept == 0) {
    y[kept].ptr = "";
    y[kept++].length = 0;
  }
  out[0].dims[out[0].rank - 1] = (int64_t)kept;
  return CASTNET_OK;
}

#endif
