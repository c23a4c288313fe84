/* What the decoders of the frontend share: one Reader a file.
 *
 * Each message is decoded twice by nanopb: the first pass counts (its submessages are jumped over), then exact arrays
 * are allocated within the budget, then the second pass fills them and descends. Time stays linear in the file. */
#ifndef CASTNET_FRONTEND_READER_H
#define CASTNET_FRONTEND_READER_H

#include <pb_decode.h>

#include "base/diag.h"
#include "frontend/field.h"
#include "frontend/model.h"

enum {
  READER_MAX_DEPTH = 100, /* message levels, the outermost included */
  READER_MAX_BAD = 100    /* refused tensors, each with its diagnostic */
};

typedef struct Reader {
  Arena *arena;
  Diags *diags;
  const char *path;
  Str name;            /* the path again, for diagnostics, as long-lived as they are */
  Str file;            /* the mapping */
  size_t start, limit; /* arena bytes in use before, and allowed at the end */
  unsigned depth;
  bool counting;         /* which pass */
  bool failed;           /* reading stopped; its diagnostic is given */
  unsigned n_bad;        /* tensors refused; reading goes on to find the others */
  Map externals;         /* normalised location -> ExternalFile */
  VEC(Str) files;        /* read so far, the file itself first */
  bool allow_symlinks;
} Reader;

/* Maps the file; false after a diagnostic. */
bool reader_open(Reader *r, Arena *a, Diags *d, const char *path, const OnnxLoadOptions *opt);
/* Zeroed memory for n * size bytes; NULL after E0502 when that passes the budget. */
void *reader_alloc(Reader *r, size_t n, size_t size);
/* Stops reading with a diagnostic at a byte of the file, or about the whole of it (at is NULL). Always false. */
bool reader_fail(Reader *r, DiagCode code, const char *at, const char *fmt, ...) BASE_PRINTF(4, 5);
size_t reader_offset(const Reader *r, const void *at);

/* The two passes over one message; m is the zeroed nanopb struct with its fields set. Between them a decoder may look
 * at counts and numbers to decide where fields go. */
bool message_count(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m);
bool message_fill(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m);
bool message_read(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m); /* both */

/* FieldRead functions; the type in the comment is what ret points to. */
bool tensor_read(Reader *r, Str bytes, void *ret); /* OnnxTensor */
bool sparse_read(Reader *r, Str bytes, void *ret); /* OnnxSparse */
bool entry_read(Reader *r, Str bytes, void *ret);  /* OnnxEntry */
bool type_read(Reader *r, Str bytes, void *ret);   /* OnnxType */

/* The bytes that external_data names: exactly length of them. NULL, or why they cannot be had. */
const char *external_find(Reader *r, const OnnxEntry *entries, size_t n, size_t length, Str *ret);

#endif
