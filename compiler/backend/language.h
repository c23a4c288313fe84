/* What differs between the languages that a program is printed in: a row each, compiler/backend/language.c. Names, dimensions,
 * header, weights, frame and expressions are the same in all. */
#ifndef CASTNET_LANGUAGE_H
#define CASTNET_LANGUAGE_H

#include "backend/bundle_table.h"
#include "backend/frame.h"

typedef struct Language {
  const char *name;          /* the word of LANGUAGE in targets/<target>.def */
  const char *suffix;        /* of the file that holds the steps */
  const char *skeleton;      /* templates/ */
  const char *restrict_word;
  const char *bad_index;     /* what a step function does when it meets an index out of range */
  const char *device;        /* what the pointers of inputs and outputs are to; "": the memory of the machine that calls */
  size_t head;               /* bytes of the workspace ahead of what the planner placed, a multiple of WEIGHTS_ALIGN */
  bool (*const *steps)(EmitCtx *c, const Step *s); /* [STEP_COUNT]; NULL entries: no such step can be printed */
  void (*item)(StrBuf *b, const BundleChunk *item); /* an item of runtime-lite */
  void (*header)(const Frame *f, StrBuf *b);       /* what N.h declares besides; NULL: nothing */
  void (*weights)(Frame *f, StrBuf *b);            /* what declares the weights ahead of the steps */
  void (*functions)(const Frame *f, StrBuf *b);    /* functions of the header besides N_run; NULL: there are none */
  void (*run_head)(const Frame *f, StrBuf *b);     /* N_run: checks before anything else */
  void (*run_weights)(const Frame *f, StrBuf *b);  /* N_run: declares `w` */
  void (*run_places)(const Frame *f, StrBuf *b);   /* N_run: what the calls need besides `m` and `w`; NULL: nothing */
} Language;

extern const Language language_c, language_cuda;
const Language *language_of(const Target *t);

/* The steps of each. */
extern bool (*const c_steps[STEP_COUNT])(EmitCtx *c, const Step *s);
extern bool (*const cuda_steps[STEP_COUNT])(EmitCtx *c, const Step *s);

/* Of C, shared with others: the check that weights in the host's memory belong to the code, and their declaration. */
void language_c_check_weights(const Frame *f, StrBuf *b);
void language_c_declare_weights(Frame *f, StrBuf *b);
/* The body of N_check_weights, where weights are given at run time. */
void language_c_weights_entry(const Frame *f, StrBuf *b);

#endif
