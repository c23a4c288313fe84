/* Between the frame of N.c (run_c.c) and the printers of steps (emit_*.c).
 *
 * A step becomes one static function in `functions` and one call in `calls`, the body of N_run. Pointers reach step functions as
 * arguments: `static void step_3_conv1(const float *restrict x, const float *restrict w, float *restrict y)`; a dimension that
 * is not constant is computed there from the symbols it depends on, which are arguments too, under the same names as in N_run.
 * Steps whose functions have the same text share one.
 *
 * Every identifier of `functions` and `calls` that starts with cn_ or CN_ is taken from runtime-lite by itself; names made
 * from the model never start so. Symbols are called dim_... (frame.c), which belongs to them alone: printers may call their
 * locals anything else but dim0, dim1 ..., what a function computes of them (emit_dims.c).
 *
 * What N_run declares before the calls:
 *   in, out, ws, ws_size, env    its parameters
 *   e                            castnet_env, complete (shorter ones of older callers are filled up with zeros)
 *   m                            unsigned char *, the workspace
 *   w                            const unsigned char *, the weights
 *   each symbol                  const int64_t for those of inputs; int64_t, 0 at first, for those that data decides
 *   o<N>                         int64_t, offsets in bytes that are not constants
 *   text                         cn_text, where some step makes strings */
#ifndef CASTNET_EMIT_H
#define CASTNET_EMIT_H

#include "backend/backend.h"
#include "backend/names.h"

/* Where the storage of a buffer is: an expression over the locals of N_run. */
typedef struct EmitBuffer {
  Str base;          /* "m", "w", "in->x", "out->y.data", "strings_3"; empty: a constant not used yet */
  const Dim *offset; /* bytes behind it; NULL: base is a pointer of the buffer's own type */
  Str local;         /* the local that holds the offset, or empty */
} EmitBuffer;

/* Symbols that a step function takes as arguments. */
typedef struct SymbolSet {
  bool *has; /* [dims->symbols.n] */
} SymbolSet;

/* Where in N_run's body a step has decided sizes without a bound: stops_c.c prints what follows from them. Or a line that counts only if
 * something needs its symbol. */
typedef struct EmitStop {
  size_t at;         /* bytes of calls before it */
  size_t step;       /* of main */
  unsigned indent;
  const Dim *symbol; /* a line: of this symbol */
  Str line;
} EmitStop;

typedef struct EmitCtx {
  Arena *arena;
  Diags *diags;
  const Program *program;
  const BackendOptions *opt;
  struct Frame *frame; /* backend/frame.h: the rest of the backend */
  Str name; /* the model's C name */
  StrBuf functions, calls;
  unsigned indent;        /* of calls, in blanks */
  uint32_t n_steps;       /* numbered so far, blocks of control flow included */
  BackendCalls made;      /* [n_steps] */
  const Str *symbols;     /* [dims->symbols.n] the locals' names */
  EmitBuffer *buffers;    /* [program->buffers.n] */
  NameScope step_names;
  VEC(const Dim *) parts; /* that some text has a mark for; emit_dims.c */
  Map part_marks;         /* id of such a part -> Str *, its mark */
  bool *decided;          /* [dims->symbols.n] by a step printed so far */
  const Graph *running;   /* whose nodes' steps are being printed */
  bool *checked;          /* [ir->n_checks] printed behind the step that decided the last symbol of it */
  VEC(EmitStop) stops;    /* ascending */
  Map shared;             /* text of a step function -> its name */
  const char *bad_index;  /* statement where an index is out of range */
} EmitCtx;

/* ---- dimensions ---- */
/* An int64_t expression over symbols, parenthesised where needed, for the text of a step function, a call or a line (below). */
void emit_dim(EmitCtx *c, StrBuf *b, const Dim *d);
void emit_dim_as(EmitCtx *c, StrBuf *b, const Dim *d, const char *type); /* the same as that integer type */
/* `(params) { body }` with every compound part of its dimensions in a local of its own. */
Str emit_dims_function(EmitCtx *c, Str text);
/* The text of a call or a line with its dimensions as they are. */
Str emit_dims_whole(EmitCtx *c, Str text);
SymbolSet emit_symbols_new(EmitCtx *c);
void emit_symbols_add(EmitCtx *c, SymbolSet *s, const Dim *d);     /* every symbol that d depends on */
/* The same for a d that decides only about shares, so that the step's function need not use them: its body then says so. */
void emit_symbols_beside(EmitCtx *c, SymbolSet *s, const Dim *d, StrBuf *body);
void emit_symbol_params(EmitCtx *c, StrBuf *b, const SymbolSet *s); /* ", int64_t dim_batch, int64_t dim_length" */
void emit_symbol_args(EmitCtx *c, StrBuf *b, const SymbolSet *s);   /* ", dim_batch, dim_length" */

/* ---- pointers ---- */
/* The first element of the tensor's window, typed: `(const float *)(w + 640)`, `in->x + 3`, `(float *)(m + o2)`. */
void emit_pointer(EmitCtx *c, StrBuf *b, uint32_t tensor, bool write);
/* The same, to write, of a type that is not the tensor's: scratch, whose place is whole and aligned. */
void emit_pointer_as(EmitCtx *c, StrBuf *b, uint32_t tensor, const char *type);
/* The C element type: "float". */
const char *emit_ctype(const EmitCtx *c, uint32_t tensor);
/* "\"conv1\" [1][8][24][24], workspace + 640" for a comment: nothing in it ends one. */
void emit_describe(EmitCtx *c, StrBuf *b, uint32_t tensor);
/* "[1][8][24][24]" */
void emit_shape(EmitCtx *c, StrBuf *b, uint32_t rank, const Dim *const *dims);

/* The buffer whose place this one has: an earlier one that it replaces, or itself. */
uint32_t emit_storage(const Program *p, uint32_t buffer);

/* ---- functions and calls ---- */
/* The function `static RESULT step_<number>_<node>REST` where rest is "(params) { body }\n"; comment: lines for its head
 * without delimiters, or empty (not part of what is compared). An equal one given before is used again. Returns its name. */
Str emit_function(EmitCtx *c, const Step *s, const char *result, Str comment, Str rest);
/* The function `static RESULT <name>_<suffix>REST`, which belongs to the one of that name; never shared. Returns its own. */
Str emit_beside(EmitCtx *c, Str name, const char *suffix, const char *result, Str rest);
/* One numbered call in N_run: the hook, `name(args)`, and, where the function returns an error code (int), the return. */
void emit_call(EmitCtx *c, const Step *s, Str name, bool may_fail, Str args);
/* A line of N_run that is there if the symbol's value is needed anywhere. */
void emit_line_of(EmitCtx *c, const Dim *symbol, const char *fmt, ...) BASE_PRINTF(3, 4);
/* A line of N_run as it is, indented ("for (...) {"). */
void emit_line(EmitCtx *c, const char *fmt, ...) BASE_PRINTF(2, 3);

/* ---- the printers of steps: fill functions and calls for program->main. False after diagnostics. ---- */
bool emit_steps(EmitCtx *c);

#endif
