/* import_model [--dim name=lo..hi]... FILE...: imports ONNX models. One file: its graph, or its diagnostics. More: a line each,
 * `ok FILE` or `FILE: first diagnostic`, and the count. Exit code 1 when any is refused. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/import.h"

enum { MAX_DIMS = 16 };

static bool parse_dim(const char *text, struct ImportDim *ret) {
  const char *eq = strchr(text, '=');
  if (!eq) return false;
  char *end;
  ret->name = (Str){text, (size_t)(eq - text)};
  ret->lo = ret->hi = strtoll(eq + 1, &end, 10);
  if (strncmp(end, "..", 2) == 0) ret->hi = strtoll(end + 2, &end, 10);
  return *end == 0;
}

static bool import_one(const char *path, ImportOptions opt, bool only) {
  Door door;
  Arena *a = arena_new(&door, 0);
  if (setjmp(door.env)) return printf("%s: %s\n", path, door.text), false;
  Diags d = {.arena = a};
  opt.path = path;
  const OnnxModel *m = onnx_load_model(a, &d, path, NULL);
  Ir *ir = m ? import_model(a, &d, m, &opt) : NULL;
  StrBuf text = sb_new(a);
  if (ir && only) ir_print(&text, ir);
  else if (ir) sb_printf(&text, "ok %s\n", path);
  for (size_t i = 0; !ir && i < d.list.n && (only || i < 1); i++) diag_print(&text, &d.list.data[i], false);
  fwrite(text.data ? text.data : "", 1, text.len, stdout);
  arena_free(a);
  return ir != NULL;
}

int main(int argc, char **argv) {
  struct ImportDim dims[MAX_DIMS];
  ImportOptions opt = {.dims = dims};
  int first = 1, n_ok = 0;
  for (; first + 1 < argc && strcmp(argv[first], "--dim") == 0 && opt.n_dims < MAX_DIMS; first += 2)
    if (!parse_dim(argv[first + 1], &dims[opt.n_dims++])) return fprintf(stderr, "--dim name=lo..hi\n"), 2;
  for (int i = first; i < argc; i++) n_ok += import_one(argv[i], opt, argc - first == 1);
  if (argc - first > 1) printf("%d of %d models import\n", n_ok, argc - first);
  return n_ok == argc - first ? 0 : 1;
}
