/* SPDX-License-Identifier: MIT-0 */
/* RegexFullMatch: an automaton over bytes that castnet has made of the pattern, run with all its states at once (K. Thompson, CACM
 * 11 (1968)): time is the text's length times the number of states, whatever the pattern. */
#ifndef CN_OPS_AUTOMATON_H
#define CN_OPS_AUTOMATON_H

#include "base.h"
#include "ops/find.h"

/* A state is three numbers: kind, a, b. RANGE: a byte from a & 0xff to a >> 8, then b. SPLIT: a and b. ASSERT: b where a holds. */
enum { CN_RE_MATCH, CN_RE_RANGE, CN_RE_SPLIT, CN_RE_ASSERT };
enum { CN_RE_TEXT_BEGIN, CN_RE_TEXT_END, CN_RE_LINE_BEGIN, CN_RE_LINE_END, CN_RE_WORD_EDGE, CN_RE_NO_WORD_EDGE };

/* States [n] reached, and which those are. */
typedef struct cn_re_set {
  int32_t *list, *stack;
  unsigned char *has; /* by state */
  size_t n;
} cn_re_set;

CN_INLINE int cn_re_is_word(castnet_string s, size_t i) {
  const char c = s.ptr[i];
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* Whether an assertion holds before byte `at`. */
CN_NOINLINE int cn_re_holds(int32_t kind, castnet_string s, size_t at) {
  const int begin = at == 0, end = at == s.length;
  int edge;
  switch (kind) {
    case CN_RE_TEXT_BEGIN: return begin;
    case CN_RE_TEXT_END: return end;
    case CN_RE_LINE_BEGIN: return begin || s.ptr[at - 1] == '\n';
    case CN_RE_LINE_END: return end || s.ptr[at] == '\n';
    default:
      edge = (!begin && cn_re_is_word(s, at - 1)) != (!end && cn_re_is_word(s, at));
      return kind == CN_RE_WORD_EDGE ? edge : !edge;
  }
}

/* Adds a state, and all that follow without a byte. */
CN_NOINLINE void cn_re_add(const int32_t *program, cn_re_set *set, int32_t state, castnet_string s, size_t at) {
  size_t depth = 0;
  if (set->has[state]) return;
  set->has[state] = 1;
  set->stack[depth++] = state;
  while (depth) {
    const int32_t i = set->stack[--depth], *p = program + 3 * (size_t)i;
    const int go = p[0] == CN_RE_SPLIT || (p[0] == CN_RE_ASSERT && cn_re_holds(p[1], s, at));
    set->list[set->n++] = i;
    for (int k = p[0] == CN_RE_SPLIT ? 1 : 2; go && k < 3; k++) {
      if (set->has[p[k]]) continue;
      set->has[p[k]] = 1;
      set->stack[depth++] = p[k];
    }
  }
}

CN_NOINLINE int cn_re_match(const int32_t *program, cn_re_set *now, cn_re_set *next, castnet_string s) {
  int matched = 0;
  cn_re_add(program, now, 0, s, 0);
  for (size_t at = 0; now->n; at++) {
    cn_re_set *const done = now;
    matched = 0;
    for (size_t k = 0; k < done->n; k++) {
      const int32_t *p = program + 3 * (size_t)done->list[k];
      done->has[done->list[k]] = 0;
      if (p[0] == CN_RE_MATCH && at == s.length) matched = 1;
      if (p[0] != CN_RE_RANGE || at == s.length) continue;
      const int32_t c = (unsigned char)s.ptr[at];
      if (c >= (p[1] & 0xff) && c <= p[1] >> 8) cn_re_add(program, next, p[2], s, at + 1);
    }
    done->n = 0;
    now = next;
    next = done;
  }
  return matched;
}

/* in: x, the states s32 [n][3], of which the first is where it starts. out: whether all of a string matches. Scratch: 14 n bytes. */
CN_NOINLINE int cn_op_regex(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                            void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_string *x = (const castnet_string *)in[0].data;
  const int32_t *program = (const int32_t *)in[1].data;
  const size_t n = (size_t)in[1].dims[0], count = cn_elements(&in[0]);
  int32_t *const lists = (int32_t *)scratch;
  unsigned char *const flags = (unsigned char *)(lists + 3 * n);
  cn_re_set now = {lists, lists + 2 * n, flags, 0}, next = {lists + n, lists + 2 * n, flags + n, 0};
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch_size, (void)env;
  memset(flags, 0, 2 * n);
  for (size_t i = 0; i < count; i++) ((uint8_t *)out[0].data)[i] = (uint8_t)cn_re_match(program, &now, &next, x[i]);
  return CASTNET_OK;
}

#endif
