/* C identifiers and comments from ONNX names, which may hold any bytes. */
#ifndef CASTNET_NAMES_H
#define CASTNET_NAMES_H

#include "base/base.h"

/* Names in use in one C scope. */
typedef struct NameScope {
  Arena *arena;
  Map used;
} NameScope;

NameScope names_scope(Arena *a);
void names_reserve(NameScope *s, const char *name); /* never given out */

/* [A-Za-z0-9_] kept, others `_`, `x` before a digit, `x_` before a prefix that is not the model's to use (`__`, `cn_`), `_` after a
 * keyword, cut at 48 characters; eight hash digits are added when it was cut or is taken in the scope. An empty name becomes `fallback`. */
Str names_add(NameScope *s, Str onnx_name, const char *fallback);
/* The same without a scope. */
Str names_identifier(Arena *a, Str onnx_name, const char *fallback);
/* The same for what the files and symbols of a model begin with: N_run is a name of nobody else, N.h hides no header of C. */
Str names_model(Arena *a, Str onnx_name);

/* The original for a C comment of one line, quoted: ends no comment, holds no trigraph and no backslash before a newline. */
void names_comment(StrBuf *b, Str s, size_t max);
void names_bare_comment(StrBuf *b, Str s, size_t max); /* without the quotes */
/* A C string literal's content, any bytes, without the quotes (octal escapes, no trigraphs). */
void names_c_string(StrBuf *b, Str s);

/* Calls f for each word (identifier or number) of a C text, comments, strings, characters and members of
 * structs (an input may be called `w`) left out. */
void names_each_word(Str text, void (*f)(void *user, Str word), void *user);

#endif
