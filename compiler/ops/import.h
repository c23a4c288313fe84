/* Import: ONNX nodes to canonical nodes. One row of onnx.def an operator, one function a family.
 *
 * Before a row's function runs, the importer has resolved the opset version, checked the number of inputs and outputs,
 * the element types against the row's signature, and the attributes' names and types against the row's list; the function
 * sees only what can be right, checks values and shapes, and builds. It never sees another node. */
#ifndef CASTNET_IMPORT_H
#define CASTNET_IMPORT_H

#include "frontend/model.h"
#include "ir/build.h"

typedef struct OpContext OpContext;
typedef bool (*ImportFn)(OpContext *c);

/* Sets of element types for signatures. */
typedef struct OnnxOpRow {
  const char *domain; /* "" is ai.onnx */
  const char *type;
  int since, until;   /* the versions (opset numbers) that this row covers, until inclusive; 999 open */
  /* "T I? -> T O*": one word an operand: a type variable, `?` may be left out, `*` any number (last only), `+` one or more.
   * A variable in lower case may be another type for each operand. */
  const char *signature;
  const char *types;  /* "T:float,int I:s32,s64": the sets (import_types.c) that each variable ranges over, any type if absent */
  const char *attrs;  /* "axis:i alpha:f mode:s perm:I scales:F keys:S value:t body:g !to:i" (! required) */
  ImportFn import;
  int arg;            /* for the family's function: a ScalarFn, a ReduceKind ... */
} OnnxOpRow;
extern const OnnxOpRow onnx_op_rows[];
extern const size_t n_onnx_op_rows;

/* Of a number that data decide (op_choose): what it is taken for in this import, or from where on. */
typedef struct Choice {
  bool made;
  int64_t number, from;
} Choice;

struct OpContext {
  Builder b;
  const OnnxOpRow *row;
  const OnnxNode *node;
  int version;      /* opset version that the model imports for the domain */
  Value **in;       /* [n_in], NULL where left out; trailing absent ones are there up to the signature's length (at least 16 slots) */
  size_t n_in;      /* as written in the node */
  Value **out;      /* [n_out] to be filled; entries whose name is empty may stay NULL */
  size_t n_out;
  const OnnxAttr *attrs; /* the node's, references to a function's attributes resolved */
  size_t n_attrs;
  struct Importer *importer; /* for bodies: op_body */
  Choice choice;
};

/* Attributes, by name, with the default when absent. Types were checked. */
bool op_has_attr(const OpContext *c, const char *name);
int64_t op_int(const OpContext *c, const char *name, int64_t absent);
float op_float(const OpContext *c, const char *name, float absent);
Str op_str(const OpContext *c, const char *name, const char *absent);
const int64_t *op_ints(const OpContext *c, const char *name, size_t *ret_n); /* NULL, 0 when absent */
const float *op_floats(const OpContext *c, const char *name, size_t *ret_n);
const Str *op_strs(const OpContext *c, const char *name, size_t *ret_n);
const OnnxTensor *op_tensor(const OpContext *c, const char *name);
const OnnxType *op_type(const OpContext *c, const char *name);
const OnnxGraph *op_graph(const OpContext *c, const char *name);

/* Reports at this node. Return their value: `return op_fail(c, DIAG_E0304, "axis %d ...")`. */
BASE_PRINTF(3, 4) bool op_fail(OpContext *c, DiagCode code, const char *fmt, ...);
/* E0306 for a use that is right but that castnet does not compile. */
BASE_PRINTF(2, 3) bool op_unsupported(OpContext *c, const char *fmt, ...);

/* axis in [-rank, rank) made positive, or E0304. */
bool op_axis(OpContext *c, int64_t axis, uint32_t rank, uint32_t *ret);
/* Axes from attribute `name` or, where the version moved it, from input k: mask over rank; absent: *ret_given false. */
bool op_axes_mask(OpContext *c, const char *name, size_t input, uint32_t rank, uint32_t *ret_mask, bool *ret_given);
/* Axes from attribute `axes` in its order, each once: [*ret_n] of at most rank; absent: all. E0304. */
bool op_axes_list(OpContext *c, uint32_t rank, uint32_t *ret, size_t *ret_n);
static inline Value *op_in(const OpContext *c, size_t k) { return c->in[k]; }
static inline uint32_t op_rank(const OpContext *c, size_t k) { return c->in[k]->type.rank; }
static inline const Dim *op_dim(const OpContext *c, size_t k, uint32_t axis) { return c->in[k]->type.dims[axis]; }
static inline DType op_dtype(const OpContext *c, size_t k) { return c->in[k]->type.dtype; }

/* The sizes that the model declares for output k when that is a graph output, where they are constants and its rank is `rank`: [rank], NULL where nothing is
 * declared; or NULL. They are the model's word, so what depends on them must be checked. */
const Dim *const *op_declared(const OpContext *c, size_t k, uint32_t rank);
/* The rank that the node gives its output holds only where this size is not 1. */
void op_takes_not_one(OpContext *c, const Dim *d);

/* The tensor of that name where the node stands. NULL after a diagnostic. */
Value *op_named(OpContext *c, Str name);

/* An ONNX tensor as a constant value of the graph. NULL after a diagnostic. */
Value *op_constant(OpContext *c, const OnnxTensor *t);
/* A sparse attribute, made dense. NULL when absent or after a diagnostic. */
Value *op_sparse_constant(OpContext *c, const char *name);

/* Bodies of control flow, the scope around them in sight. make gives input i of the body: a value that it adds to b->graph, or any
 * other that the body may see. NULL after a diagnostic. */
typedef Value *(*BodyInputFn)(OpContext *c, Builder *b, size_t i, void *user);
Graph *op_body(OpContext *c, const OnnxGraph *g, size_t n_inputs, BodyInputFn make, void *user);
/* The nodes of a body, made part of the graph that is being imported; inputs [n_inputs]. Its outputs, NULL after a diagnostic. */
Value **op_inline(OpContext *c, const OnnxGraph *g, Value *const *inputs, size_t n_inputs, size_t *ret_n);

/* What is imported from here on goes into g; returns where it went before. */
Graph *op_enter(OpContext *c, Graph *g);

/* ---- one declaration a family, from the rows that name it ---- */
#define ROW(domain, type, since, until, signature, types, attrs, fn, arg) bool import_##fn(OpContext *c);
#include "ops/onnx.def"
#undef ROW

/* ---- the importer ---- */
typedef struct ImportOptions {
  const char *path; /* for diagnostics */
  /* --dim name=lo..hi */
  const struct ImportDim { Str name; int64_t lo, hi; bool exact; /* by this name, not by what is shown of it */ } *dims;
  size_t n_dims;
  /* --op domain::Type=symbol */
  const struct ImportOp { Str domain, type, symbol; } *ops;
  size_t n_ops;
  bool ignore_output_shapes; /* sizes that the graph's outputs are declared to have are not believed */
} ImportOptions;

/* NULL after diagnostics (all that could be found: every unsupported node is listed). */
Ir *import_model(Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *opt);

#endif
