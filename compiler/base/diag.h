/* Diagnostics: what is wrong with a model, its data or the command, collected, each with its place.
 * One row of diag.def makes the code, the one-line text, `castnet explain` and the documentation. */
#ifndef CASTNET_DIAG_H
#define CASTNET_DIAG_H

#include "base/base.h"

typedef enum DiagCode {
#define DIAG(code, exit_code, title, explanation) DIAG_##code,
#include "base/diag.def"
#undef DIAG
  DIAG_COUNT
} DiagCode;

typedef struct DiagRow {
  const char *name;  /* "E0123" */
  int exit_code;     /* 1 model or data, 2 usage, 3 a check disagreed, 4 environment, 5 a bug in castnet */
  const char *title;
  const char *explanation; /* what it means, and what to do */
} DiagRow;
extern const DiagRow diag_rows[DIAG_COUNT];

/* Where: any part may be left out ({0}). */
typedef struct DiagPlace {
  Str file;
  bool has_node;
  size_t node;  /* index in its graph, file order */
  Str node_name, op_type, domain;
} DiagPlace;

typedef struct Diag {
  DiagCode code;
  DiagPlace place;
  Str text;    /* what is wrong, one line, already escaped */
  Str tensors; /* the tensors concerned, may be empty */
  Str hint;    /* what to do, may be empty */
} Diag;

typedef struct Diags {
  Arena *arena;
  VEC(Diag) list;
  size_t n_dropped; /* beyond DIAGS_MAX */
} Diags;
enum { DIAGS_MAX = 1000 };

/* %S-free printf: pass model strings through diag_quote first. Returns the entry so that tensors/hint can be set. */
Diag *diag_add(Diags *d, DiagCode code, DiagPlace place, const char *fmt, ...) BASE_PRINTF(4, 5);
/* A model's string, escaped, quoted and cut at 120 bytes, NUL-terminated; lives in the diagnostics' arena. */
const char *diag_quote(Diags *d, Str s);
static inline bool diags_any(const Diags *d) { return d->list.n != 0; }
/* The greppable line and at most two lines more, each ended with a newline. */
void diag_print(StrBuf *out, const Diag *d, bool colour);
int diags_exit_code(const Diags *d); /* 0 when empty, else the largest of the rows' */

#endif
