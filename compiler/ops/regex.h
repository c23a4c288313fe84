/* Regular expressions in RE2's syntax (github.com/google/re2/wiki/Syntax), made into the automaton over bytes that cn_op_regex of
 * runtime-lite runs. Text and pattern are UTF-8. */
#ifndef CASTNET_REGEX_H
#define CASTNET_REGEX_H

#include "base/base.h"

typedef struct ReRange { uint32_t lo, hi; } ReRange; /* characters */
typedef VEC(ReRange) ReClass;                         /* ascending and apart once it is finished */

typedef enum ReKind { RE_EMPTY, RE_CLASS, RE_BYTE, RE_ASSERT, RE_CAT, RE_ALT, RE_REPEAT } ReKind;
typedef struct ReNode {
  ReKind kind;
  ReClass set;                 /* RE_CLASS */
  int assertion;               /* RE_ASSERT: CN_RE_... */
  struct ReNode *a, *b;        /* RE_CAT, RE_ALT: both; RE_REPEAT: a */
  int32_t min, max;            /* RE_REPEAT: -1 without a limit */
} ReNode;

typedef struct ReError {
  const char *why; /* NULL: none */
  bool unsupported; /* right in RE2, but not compiled */
  size_t at;       /* byte of the pattern */
} ReError;

/* NULL after an error. */
const ReNode *regex_parse(Arena *a, Str pattern, ReError *ret);

/* [n][3] states as cn_op_regex takes them; NULL after an error. */
const int32_t *regex_compile(Arena *a, Str pattern, size_t *ret_n, ReError *ret_error);

/* Sets of characters. */
void re_class_add(Arena *a, ReClass *c, uint32_t lo, uint32_t hi);
void re_class_finish(ReClass *c);                 /* sorts, joins */
void re_class_negate(Arena *a, ReClass *c);       /* of a finished one */
void re_class_fold(Arena *a, ReClass *c);         /* adds what differs in case only */
void re_class_add_all(Arena *a, ReClass *c, const ReClass *more);
/* \d, \w, \s by their letter; "alpha" and its like. False when there is none of the name. */
bool re_class_perl(Arena *a, ReClass *c, char letter);
bool re_class_posix(Arena *a, ReClass *c, Str name);

#endif
