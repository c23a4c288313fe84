/* Shared by the files of the interpreter. */
#ifndef CASTNET_INTERP_PRIVATE_H
#define CASTNET_INTERP_PRIVATE_H

#include "interp/interp.h"

enum { STRIP = 256, MOST_ITERATIONS = 1 << 20 /* under a budget */ };

typedef struct Interp {
  Arena *a;
  const Program *p;
  int64_t *symbols;     /* by symbol index */
  bool *bound;          /* which of them have a value */
  unsigned char **data; /* by buffer; NULL until written */
  const Graph *running; /* whose steps are being run */
  const int64_t *born;  /* by buffer: the first step that touches it; -1: none */
  bool *unknown;        /* by buffer: it depends on what a custom operator computed */
  bool has_unknown;     /* some buffer is */
  bool met_open;        /* the step needs a dimension that has no value */
  uint64_t budget, spent;
} Interp;

typedef struct Interval { /* an access as numbers */
  unsigned char *base;
  size_t size; /* of an element */
  DType dtype;
  int64_t offset, stride[MAX_RANK];
  const IndirectTerm *indirect;
  uint32_t n_indirect;
  int64_t ind_stride[MAX_RANK], ind_bound[MAX_RANK];
} Interval;

InterpStatus interp_dim(Interp *in, const Dim *d, int64_t *ret);
/* The same, or an upper bound while data have not decided it. */
InterpStatus interp_size(Interp *in, const Dim *d, int64_t *ret);
/* Storage of a tensor's buffer, allocated at first use within the budget. */
InterpStatus interp_buffer(Interp *in, uint32_t buffer, unsigned char **ret);
InterpStatus interp_access(Interp *in, const Access *a, uint32_t n_axes, Interval *ret);
/* The first element of a tensor's window. */
InterpStatus interp_tensor(Interp *in, uint32_t tensor, unsigned char **ret);

/* One evaluation of an expression over `n` <= STRIP points that differ in the last of n_axes coordinates. */
typedef struct StripEval {
  Interp *in;
  const Expr *e;
  uint32_t n_axes;
  Interval *loads; /* by operand */
  const void **given; /* by operand: a strip of compute values instead of a load, or NULL */
  void **strips;   /* [e->n] of STRIP compute elements */
} StripEval;
InterpStatus strip_new(Interp *in, const Expr *e, uint32_t n_axes, const Access *loads, uint32_t n_loads, uint32_t first, StripEval *ret);
InterpStatus strip_run(StripEval *s, const int64_t *point, size_t n);
/* Stores n compute values along the last axis (stride 0 axes allowed) through an access. */
InterpStatus strip_store(StripEval *s, const Interval *to, const int64_t *point, uint32_t n_axes, const void *values, size_t n);

/* Element l of the strip: set, or combined with what is there. */
InterpStatus strip_update(StripEval *s, const Interval *to, const int64_t *point, uint32_t n_axes, size_t l, ScatterKind kind,
                          const void *value);

InterpStatus interp_nest(Interp *in, const Nest *n);
InterpStatus interp_contract(Interp *in, const Step *s);
InterpStatus interp_recurrent(Interp *in, const Step *s);
InterpStatus interp_extern(Interp *in, const Step *s);
InterpStatus interp_symbols(Interp *in, const Step *s);
InterpStatus interp_assign(Interp *in, const Step *s);
/* Runs a mark of control flow at step *at; *at becomes the next step. */
InterpStatus interp_control(Interp *in, size_t *at);
/* Equalities that could not be proved, of the graph that runs, as soon as all that they speak of is known. */
InterpStatus interp_check_dims(const Interp *in);

#endif
