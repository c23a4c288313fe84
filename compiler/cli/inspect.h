/* What the parts of `castnet inspect` share. */
#ifndef CASTNET_INSPECT_H
#define CASTNET_INSPECT_H

#include "cli/builder.h"

/* What the C compiler made of the generated code. */
typedef struct Measured {
  const char *compiler; /* NULL: there was none */
  bool has_code, has_stack;
  uint64_t code;        /* bytes of instructions and constants of N.c, without weights */
  uint64_t stack;       /* bytes that a call of N_run takes at most, the caller's hooks apart */
} Measured;

typedef struct Inspection {
  const char *model, *target;
  const castnet *compiled;
  Measured measured;
} Inspection;

/* Compiles the generated files of the folder without linking. False after a diagnostic. */
bool inspect_measure(Cli *c, const BuildOptions *o, Workdir *w, const castnet_interface *m, Measured *ret);
/* Longest path of calls from `root`, in bytes of stack, by the call graph that gcc writes (-fcallgraph-info=su). False when
 * the text has no such function, or the graph a circle or a frame of unknown size. */
bool inspect_stack(Arena *a, Str graph, const char *root, uint64_t *ret);
/* Bytes of the read-only allocated sections of an ELF object. False when it is none. */
bool inspect_code(Str object, uint64_t *ret);

void inspect_print(const Inspection *n, StrBuf *b);
void inspect_print_json(const Inspection *n, StrBuf *b);
void inspect_print_html(const Inspection *n, StrBuf *b);

#endif
