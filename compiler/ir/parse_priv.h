/* Shared by the files that read the graph's text form. */
#ifndef CASTNET_PARSE_PRIV_H
#define CASTNET_PARSE_PRIV_H

#include "ir/attr.h"

typedef struct Parse {
  Arena *a;
  Diags *diags;
  Ir *ir;
  const char *start; /* of all text */
  Str s;             /* what is left */
  Map values;        /* number -> Value, of all graphs in sight */
  bool failed;       /* the first error was reported */
  unsigned depth;    /* of graphs in graphs, of expressions */
} Parse;
enum { PARSE_DEPTH = 100 };

/* Reports an error at the place reached, once. Always false. */
bool parse_fail(Parse *p, const char *what);
void parse_blank(Parse *p);                 /* over blanks */
bool parse_is(Parse *p, const char *text);  /* over blanks and text, if it is next */
bool parse_want(Parse *p, const char *text);
bool parse_next(Parse *p, char ch);         /* looks only */
Str parse_word(Parse *p);                   /* letters, digits, _ */
bool parse_string(Parse *p, Str *ret);      /* "..." with escapes */
bool parse_uint(Parse *p, uint64_t most, uint64_t *ret); /* decimal or 0x */
bool parse_int(Parse *p, int64_t *ret);
bool parse_f32(Parse *p, float *ret);
bool parse_dim(Parse *p, const Dim **ret);
bool parse_expr(Parse *p, Value *const *in, size_t n_in, Expr *ret);
/* The attributes of n, whose operands and results are known. */
bool parse_attrs(Parse *p, Node *n);

#endif
