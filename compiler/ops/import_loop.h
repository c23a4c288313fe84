/* Loops as operators' import functions make them: Loop, Scan, SequenceMap. */
#ifndef CASTNET_IMPORT_LOOP_H
#define CASTNET_IMPORT_LOOP_H

#include "ops/import_private.h"

typedef struct Scanned { /* an input of which each iteration sees one place along an axis */
  Value *x;
  uint32_t axis;
  bool reverse;
} Scanned;

typedef struct Carried { /* a size of a state that iterations change */
  uint32_t state, axis;
  CarriedDim dim;
} Carried;

typedef struct Loop Loop;
struct Loop {
  OpContext *c;
  const OnnxGraph *body;
  bool counted;     /* ONNX's Loop: the body is given the iteration's number and the condition, and gives the next condition */
  const Dim *trips; /* at most so many */
  Value *cond;      /* the first condition, or NULL */
  size_t n_states, n_scanned;
  Value **init;     /* [n_states] */
  Scanned *scanned; /* [n_scanned] */
  Graph *(*import)(Loop *l); /* makes the body with states of the types below */
  void *user;
  /* found: */
  const Dim *iteration;
  size_t first_symbol; /* those from here on belong to the body */
  Type *types;         /* [n_states] in the body */
  VEC(Carried) carried;
};

/* The states as the loop leaves them, then the stacked outputs. NULL after a diagnostic. */
Value **loop_make(Loop *l, size_t *ret_n);

#endif
