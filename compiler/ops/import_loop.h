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

typedef VEC(Carried) CarriedList;

typedef struct Peeled { /* an iteration that was made ahead of the loop */
  const struct Peeled *before;
  Value **elements; /* [n] for the stacked outputs */
  size_t n;
} Peeled;

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
  bool *kept;          /* [n_states] those that an iteration gives as it got them: the body sees what they start as */
  const Dim *iteration;
  size_t first_symbol; /* those from here on belong to the body */
  Type *types;         /* [n_states] in the body */
  CarriedList carried;
  bool ranks_change;   /* why there is no body */
  const Peeled *peeled; /* the last one */
  uint32_t n_peeled;
};

/* The states as the loop leaves them, then the stacked outputs. NULL after a diagnostic. */
Value **loop_make(Loop *l, size_t *ret_n);
/* The same for a loop whose states may change their rank; NULL also with the importer's split set, where data decide whether they do. */
Value **loop_run(Loop *l, size_t *ret_n);
/* A split loop's results behind one more iteration (which 0) or none, in the graph that is being imported. */
Value **loop_branch(OpContext *c, const Loop *l, int which, size_t *ret_n);
/* The body, as an ONNX graph. */
Graph *loop_import_body(Loop *l);
/* x at one place of an axis, which it loses. */
Value *loop_place(Builder *b, Value *x, uint32_t axis, const Dim *place);

/* ---- what its files share ---- */
/* The iteration's number, and the states' types as the first iteration has them. */
void loop_begin(Loop *l);
/* Whether it may differ from one iteration to the next. */
bool loop_is_inner(const Loop *l, const Dim *d);
/* The size that a stacked output's items have where no iteration makes one: the standard leaves it open; what the body declares holds, as in ONNX
 * Runtime, else 0. k: among the stacked outputs. */
const Dim *loop_unmade(const Loop *l, size_t k, uint32_t axis);
/* A scalar of the rank that the body declares: exporters write both [] and [1]. */
Value *loop_as_declared(Builder *b, Value *scalar, const OnnxType *t);

/* 1, 0, or -1 where only data tells. */
int control_truth(Builder *b, Value *v);

#endif
