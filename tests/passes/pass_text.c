/* pass_text PASS...: reads a graph's text from standard input, runs the passes on it in order, verifies the graph before and
 * after each, and prints the result's text; without passes, the text as it was read. Exit 1 with a line on standard error
 * for bad text, a graph that is refused, or diagnostics of a pass. */
#include "ir/ir.h"
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>

static bool legalise_for_kernels(Ir *ir) { return pass_legalise(ir, true, true, true); }
static bool legalise_for_nests(Ir *ir) { return pass_legalise(ir, false, false, false); }
static bool layout_by_8(Ir *ir) { return pass_layout(ir, (LayoutTile){8, 12}); }

typedef struct PassName {
  const char *name;
  bool (*run)(Ir *ir);
} PassName;

static const PassName passes[] = {{"simplify", pass_simplify}, {"recurrent", pass_recurrent}, {"raise", pass_raise}, {"power", pass_power}, {"rows", pass_rows}, {"product", pass_product}, {"heads", pass_heads}, {"widen", pass_widen}, {"quantise", pass_quantise}, {"legalise", legalise_for_kernels},
                                  {"nests", legalise_for_nests}, {"fold", pass_fold}, {"fuse", pass_fuse}, {"phases", pass_phases}, {"whole", pass_whole}, {"resized", pass_resized}, {"gather", pass_gather},
                                  {"layout", layout_by_8}, {"narrow", pass_narrow}, {"sink", pass_sink}, {"subnormal", pass_subnormal}};

static const PassName *find(const char *name) {
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
    if (strcmp(passes[i].name, name) == 0) return &passes[i];
  return NULL;
}

static Str read_all(Arena *a) {
  StrBuf b = sb_new(a);
  char piece[1 << 16];
  for (size_t n; (n = fread(piece, 1, sizeof piece, stdin)) > 0;) sb_put(&b, piece, n);
  return b.len ? sb_view(&b) : str_c("");
}

static bool verified(const Ir *ir, Arena *a, const char *when) {
  StrBuf fault = sb_new(a);
  if (ir_verify(ir, &fault)) return true;
  (void)fprintf(stderr, "%s: %s\n", when, fault.data);
  return false;
}

static bool run(Arena *a, Diags *d, char **names) {
  Ir *ir = ir_parse(a, d, read_all(a));
  if (!ir || !verified(ir, a, "as read")) return false;
  for (; *names; names++) {
    const PassName *pass = find(*names);
    if (!pass) return (void)fprintf(stderr, "no pass %s\n", *names), false;
    if (!pass->run(ir) || diags_any(d) || !verified(ir, a, *names)) return false;
  }
  StrBuf b = sb_new(a);
  ir_print(&b, ir);
  return !b.len || fwrite(b.data, 1, b.len, stdout) == b.len;
}

int main(int argc, char **argv) {
  Door door;
  (void)argc;
  if (setjmp(door.env)) return (void)fprintf(stderr, "%s\n", door.text), 1;
  Arena *a = arena_new(&door, 0);
  Diags d = {.arena = a};
  const bool ok = run(a, &d, argv + 1);
  for (size_t i = 0; i < d.list.n; i++) (void)fprintf(stderr, "%.*s\n", STR_ARG(d.list.data[i].text));
  arena_free(a);
  return ok ? 0 : 1;
}
