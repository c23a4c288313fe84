#include "frontend/reader.h"

#include <stdio.h>

#include "base/io.h"

enum { BUDGET_FIXED = 48 << 20, BUDGET_TIMES_FILE = 3 };

bool reader_open(Reader *r, Arena *a, Diags *d, const char *path, const OnnxLoadOptions *opt) {
  *r = (Reader){.arena = a, .diags = d, .path = path, .start = arena_used(a)};
  r->allow_symlinks = opt && opt->allow_symlinks;
  r->name = arena_str(d->arena, str_c(path));
  r->externals = map_new(a);
  if (!file_map(a, d, path, &r->file)) return false;
  if (!size_mul(r->file.len, BUDGET_TIMES_FILE, &r->limit) || !size_add(r->limit, BUDGET_FIXED, &r->limit))
    r->limit = SIZE_MAX;
  vec_push(a, r->files, arena_str(a, str_c(path)));
  return true;
}

size_t reader_offset(const Reader *r, const void *at) { return (size_t)((uintptr_t)at - (uintptr_t)r->file.ptr); }

bool reader_fail(Reader *r, DiagCode code, const char *at, const char *fmt, ...) {
  if (r->failed) return false;
  r->failed = true;
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  DiagPlace place = {.file = r->name};
  if (at) (void)diag_add(r->diags, code, place, "at byte %zu of %zu: %s", reader_offset(r, at), r->file.len, text);
  else (void)diag_add(r->diags, code, place, "%s", text);
  return false;
}

void *reader_alloc(Reader *r, size_t n, size_t size) {
  size_t bytes, used = arena_used(r->arena) - r->start;
  if (!size_mul(n, size, &bytes) || used > r->limit || bytes > r->limit - used) {
    (void)reader_fail(r, DIAG_E0502, NULL,
                      "decoding needs more than %zu bytes of memory (%d MiB and %d times the file)", r->limit,
                      BUDGET_FIXED >> 20, BUDGET_TIMES_FILE);
    return NULL;
  }
  return arena_alloc(r->arena, bytes);
}
