/* Writing the fixed set of files of a compile: all or nothing that builds.
 *
 * All are written as temporaries `.castnet-*` in the folder first. Then the set's last file (the header) is removed, the
 * others are renamed in order, and the last comes last: whoever is killed in between leaves a set without its header, which
 * does not build. Temporaries of killed runs are removed by the next run in that folder; those of a living one are locked. */
#ifndef CASTNET_FILES_H
#define CASTNET_FILES_H

#include "base/base.h"
#include "base/diag.h"

typedef struct FileWriter FileWriter;
void file_put(FileWriter *w, const void *p, size_t n); /* errors are kept and reported by fileset_write */

/* Either `text`, or what `write` puts when it is not NULL (large files, made while they are written). */
typedef struct OutFile {
  Str name; /* within the folder */
  Str text;
  void (*write)(FileWriter *w, const void *user);
  const void *user;
} OutFile;

typedef struct FileSet {
  Arena *arena;
  VEC(OutFile) files; /* the last one makes the set complete */
} FileSet;

/* Makes the folder if its parent exists. False after E0003. */
bool fileset_write(const FileSet *s, Diags *d, const char *dir);
/* One file at `path`, whole or not at all. */
bool file_write(Arena *a, Diags *d, const char *path, Str text);

/* `targets: sources` in make's syntax, every name escaped for it. */
void depfile_print(StrBuf *b, const Str *targets, size_t n_targets, const Str *sources, size_t n_sources);

#endif
