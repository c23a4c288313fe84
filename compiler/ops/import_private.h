/* Shared by the files of the importer. */
#ifndef CASTNET_IMPORT_PRIVATE_H
#define CASTNET_IMPORT_PRIVATE_H

#include "ops/import.h"

/* What a name stands for in a scope; value NULL: its producer failed, which was reported. */
typedef struct Binding { Value *value; } Binding;

typedef struct Scope {
  struct Scope *parent; /* outer graph; NULL at the main graph and in function bodies */
  Map names;            /* -> Binding */
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
} Frame;

typedef struct Missing { /* an operator that cannot be imported, with how often it occurs */
  DiagCode code;
  DiagPlace place;
  Str text;
  size_t count;
} Missing;

typedef struct Importer {
  Arena *a;
  Ir *ir;
  Diags *diags;
  const OnnxModel *model;
  const ImportOptions *opt;
  Map rows;      /* "domain\ntype" -> RowList */
  Map functions; /* "domain\nname\noverload" -> OnnxFunction */
  Map missing;   /* -> Missing */
  Graph *graph;
  Scope *scope;
  Frame *frame;
  size_t n_nodes; /* imported so far, functions inlined */
  unsigned depth; /* of graphs in graphs */
  bool gave_up;   /* a budget is exhausted: stop */
} Importer;

enum { MAX_NODES = 400000, MAX_CALL_DEPTH = 100, MAX_GRAPH_DEPTH = 60 };

typedef struct RowList { VEC(const OnnxOpRow *) rows; } RowList;

Str canonical_domain(Str domain); /* "ai.onnx" is "" */
const OnnxOpRow *import_find_row(Importer *im, Str domain, Str type, int version, bool *ret_known);
/* Arity, element types, attributes of a context against its row. False after diagnostics. */
bool import_check(OpContext *c);
/* The node's attributes with references resolved by the current frame. */
const OnnxAttr *import_attrs(Importer *im, const OnnxNode *n, size_t *ret_n);

bool import_graph_body(Importer *im, const OnnxGraph *g, Graph *into);
bool import_node(Importer *im, const OnnxNode *n, size_t index);
bool import_call(Importer *im, const OnnxFunction *f, const OnnxNode *n, DiagPlace place);
Value *importer_constant(Importer *im, const OnnxTensor *t);
/* A declared type; symbols are named by their parameter or `<name>_d<k>`. False after a diagnostic. */
bool import_type(Importer *im, const OnnxType *t, Str name, Type *ret);
Binding *scope_find(const Scope *s, Str name);
void scope_bind(Importer *im, Str name, Value *v);

#endif
