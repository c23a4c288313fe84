/* Shared by the files of the importer. */
#ifndef CASTNET_IMPORT_PRIVATE_H
#define CASTNET_IMPORT_PRIVATE_H

#include "ops/import.h"

/* What a name stands for in a scope. */
typedef struct Binding {
  Value *value; /* NULL: its producer failed, which was reported; or absent */
  bool absent;  /* a function's input that its caller leaves out */
} Binding;

typedef struct Scope {
  struct Scope *parent; /* outer graph; NULL at the main graph and in function bodies */
  Map names;            /* -> Binding */
  Map types;            /* value_info and outputs as declared: name -> OnnxType */
  Map variables;        /* names that Gradient nodes of this graph take derivatives by */
} Scope;

/* A function body being imported: its actual attributes and opset versions. */
typedef struct Frame {
  struct Frame *parent;
  const OnnxFunction *function; /* NULL: the model itself */
  const OnnxAttr *attrs;
  size_t n_attrs;
  const OnnxOpset *opsets;
  size_t n_opsets;
  unsigned depth;
  Str path; /* names of the calling nodes, "a/b/": before the names of the body's nodes */
} Frame;

typedef struct Missing { /* an operator that cannot be imported, with how often it occurs */
  DiagCode code;
  DiagPlace place;
  Str text, tensors;
  size_t count;
} Missing;

/* Nodes of a graph, and the names by which others see results of them: its outputs. */
typedef struct NodeList {
  const OnnxNode *nodes;
  size_t n;
  const Str *seen;
  size_t n_seen;
  const OnnxNode *inlined; /* the If that they are a branch of, the call that they are the function of; else NULL */
} NodeList;

/* What is left to do of a list of nodes behind one of them. */
typedef struct Rest {
  const OnnxNode *node;
  const NodeList *list;
  size_t from;  /* a place in its order */
  Scope *scope;
  Frame *frame;
} Rest;

/* An If whose results have other ranks in one branch than in the other, a Loop that may end before a state changes its rank, or a node whose result's rank
 * hangs on a number that data decide: what follows is imported behind each branch. */
typedef struct Split {
  const OnnxNode *node; /* NULL: none was met */
  Value *cond;
  const OnnxGraph *branches[2]; /* of an If */
  struct Loop *loop;            /* once more, or not; NULL for others */
  const OpContext *again;       /* the node with `number`, or with a greater one; NULL for others */
  int64_t number;
  VEC(Rest) rests;      /* innermost first: of the list that it lies in, of the lists around that this one was inlined in */
} Split;

typedef struct Importer {
  Arena *a;
  Ir *ir;
  Diags *diags;
  const OnnxModel *model;
  const ImportOptions *opt;
  Map rows;      /* "domain\ntype" -> RowList */
  Map functions; /* "domain\nname\noverload" -> OnnxFunction */
  Map missing;   /* -> Missing */
  Map declared;  /* name -> OnnxType of the main graph's outputs (types of intermediate values are often wrong), made when first asked for */
  bool has_declared;
  Map orders;    /* address of a graph's nodes -> NodeOrder: a function's body is sorted once */
  Map locals;    /* address of a body -> Map of the names that it defines */
  Graph *graph;
  Scope *scope;
  Frame *frame;
  size_t work, budget; /* nodes and operands imported so far, functions inlined; the most of them */
  unsigned depth;      /* of graphs in graphs */
  Split split;
  unsigned n_splits;        /* that what is being imported lies behind */
  const OnnxNode *inlining; /* the next body is a branch of this If */
  Map carried;         /* what loops were found to carry: import_loop.c */
  bool gave_up;        /* a budget is exhausted: stop */
  VEC(const Dim *) not_one; /* sizes that a Squeeze without axes took not to be 1 */
} Importer;

enum {
  WORK_INLINED = 100000, /* what inlining may add to the file's own nodes and operands */
  WORK_SPLIT = 100,      /* what a branch that is imported with all that follows it costs besides that */
  MAX_CALL_DEPTH = 100,
  MAX_GRAPH_DEPTH = 60,
  MAX_ATTRS = 256 /* of one node */
};

typedef struct RowList { VEC(const OnnxOpRow *) rows; } RowList;

typedef struct NodeOrder {
  bool ok;
  size_t n;
  const size_t *nodes; /* topological: the file's own order where it is one */
} NodeOrder;

/* Operators of the standard that may have no row yet: with the version of their domain that brought them. */
typedef struct OnnxKnownOp {
  const char *domain, *type;
  int since;
} OnnxKnownOp;
extern const OnnxKnownOp onnx_known_ops[];
extern const size_t n_onnx_known_ops;
const OnnxKnownOp *onnx_known_op(Str domain, Str type); /* NULL: no such operator */

Str canonical_domain(Str domain); /* "ai.onnx" is "" */
DiagPlace import_file_place(const Importer *im);
DiagPlace import_node_place(const Importer *im, const OnnxNode *n, size_t index);
Binding *scope_find(const Scope *s, Str name);
Scope *scope_new(Importer *im); /* in the current one */
void scope_bind(Importer *im, Str name, Value *v);

/* import_rows.c: the version imported for a domain; the row for it; the operators that have none. */
void import_index_rows(Importer *im);
int import_opset_version(const Importer *im, Str domain);
const OnnxOpRow *import_find_row(Importer *im, Str domain, Str type, int version);
void import_report_missing(Importer *im, const OnnxNode *n, DiagPlace place, int version);
void import_flush_missing(Importer *im);

/* Arity, element types, attributes of a context against its row. False after diagnostics. */
bool import_check(OpContext *c);
bool import_check_outputs(OpContext *c);
/* The node's attributes with references resolved by the current frame. NULL after a diagnostic. */
const OnnxAttr *import_attrs(Importer *im, const OnnxNode *n, DiagPlace place, size_t *ret_n);

/* import_order.c */
const NodeOrder *import_order(Importer *im, const OnnxNode *nodes, size_t n);
size_t import_count_work(const OnnxModel *m);

/* import_peak.c: bytes live at most when the main graph's nodes run one by one; 0 where that has no bound. */
size_t import_file_order_peak(Importer *im, const OnnxGraph *g);

/* import_graph.c */
bool import_nodes(Importer *im, const NodeList *l);
/* Those from place `from` of their order on. */
bool import_nodes_from(Importer *im, const NodeList *l, size_t from);
/* One import of the model, with `now` for its open sizes; NULL after diagnostics. */
Ir *import_once(Importer *im, Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *now);
/* Whether all that was said from a place on is that types, shapes or values do not fit. */
bool import_only_misfits(const Diags *d, size_t from);
/* The rest of a list behind each branch of im->split, from place `from` on; binds what is seen of it. */
bool import_behind_branches(Importer *im, const NodeList *l, size_t from, DiagPlace place);
/* import_choose.c: the results of a node for one branch of a split with `again`. NULL after a diagnostic. */
Value **choose_branch(const Split *split, Importer *im, int which, size_t *ret_n);
/* v without axes: one element. */
Value *control_scalar(Builder *b, Value *v);
NodeList import_graph_nodes(Importer *im, const OnnxGraph *g);
bool import_main_graph(Importer *im, const OnnxGraph *g);
void import_declare_types(Importer *im, const OnnxValueInfo *v, size_t n);

/* import_functions.c */
bool import_index_functions(Importer *im);
const OnnxFunction *import_find_function(Importer *im, const OnnxNode *n);
bool import_call(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place);

/* import_custom.c: operators that the user brings. NULL when it is none of them. */
const struct ImportOp *import_find_custom(const Importer *im, const OnnxNode *n);
bool import_custom(OpContext *c, const struct ImportOp *op);

/* import_types.c */
Value *import_constant_value(Importer *im, const OnnxTensor *t);
Value *import_sparse_value(Importer *im, const OnnxSparse *s, Str name);
/* A declared type; unnamed dimensions are the symbols `<name>_d<k>`. False after a diagnostic. */
bool import_type(Importer *im, const OnnxType *t, Str name, Type *ret);
/* A declared dimension as a constant or over those of the model's inputs; NULL where it is neither. */
const Dim *import_known_dim(Importer *im, const OnnxDim *d);
/* What a declared sequence or optional holds. */
bool import_seq_type(Importer *im, const OnnxType *t, Str name, SeqType *ret);
void import_declare_symbols(Importer *im, const OnnxGraph *g);
bool import_dims_exist(Arena *a, Diags *d, const OnnxGraph *g, const ImportOptions *opt); /* or E0001 for one that no input has */

#endif
