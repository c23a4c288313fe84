/* The decoded ONNX file: what the file says, nothing resolved or normalised, in arena structs that point into it.
 *
 * - Strings are slices of the mapped file and may hold any byte. An absent string is {NULL, 0}; none is NUL-terminated.
 * - Tensor data is little-endian on every host and NOT aligned (it lies in the file where the writer put it): read it
 *   with memcpy, and swap on a big-endian host.
 * - Not decoded, because nothing reads them: documentation and metadata below the model's own, training information,
 *   device configurations, quantisation annotations. Unknown fields are skipped.
 * - Where protobuf would merge (a singular submessage given twice, two members of a oneof) the file is refused; a
 *   string or number given twice keeps the last, as in protobuf.
 * - Files stay mapped until the arena is freed. */
#ifndef CASTNET_FRONTEND_MODEL_H
#define CASTNET_FRONTEND_MODEL_H

#include "base/base.h"
#include "base/diag.h"

/* AttributeProto.AttributeType */
typedef enum {
  ONNX_ATTR_UNDEFINED = 0,
  ONNX_ATTR_FLOAT = 1,
  ONNX_ATTR_INT = 2,
  ONNX_ATTR_STRING = 3,
  ONNX_ATTR_TENSOR = 4,
  ONNX_ATTR_GRAPH = 5,
  ONNX_ATTR_FLOATS = 6,
  ONNX_ATTR_INTS = 7,
  ONNX_ATTR_STRINGS = 8,
  ONNX_ATTR_TENSORS = 9,
  ONNX_ATTR_GRAPHS = 10,
  ONNX_ATTR_SPARSE_TENSOR = 11,
  ONNX_ATTR_SPARSE_TENSORS = 12,
  ONNX_ATTR_TYPE_PROTO = 13,
  ONNX_ATTR_TYPE_PROTOS = 14
} OnnxAttrType;

typedef struct OnnxTensor {
  Str name;
  int32_t data_type; /* TensorProto.DataType, known to dtype.def once loaded */
  bool has_raw, external;
  size_t n_dims;
  const int64_t *dims; /* none negative */
  size_t n_elements;   /* product of dims, 1 for a scalar */
  Str raw;             /* raw_data as in the file; empty when external */
  /* Contiguous elements as ONNX packs them (sub-byte types low bits first); typed fields are converted to this form.
   * Points into the model or its external file wherever those bytes lie there already. NULL for strings. */
  const void *data;
  size_t data_bytes;
  const Str *strings; /* data_type STRING: n_strings == n_elements */
  size_t n_strings;
} OnnxTensor;

/* The values are [NNZ]; the indices are int64, [NNZ, rank] or linear [NNZ]. Neither order nor range is checked here. */
typedef struct OnnxSparse {
  const OnnxTensor *values, *indices; /* never NULL */
  size_t n_dims;
  const int64_t *dims; /* of the dense tensor */
} OnnxSparse;

typedef enum {
  ONNX_TYPE_NONE, /* no type was given */
  ONNX_TYPE_TENSOR,
  ONNX_TYPE_SPARSE,
  ONNX_TYPE_SEQUENCE,
  ONNX_TYPE_MAP,
  ONNX_TYPE_OPTIONAL,
  ONNX_TYPE_OPAQUE
} OnnxTypeKind;

typedef struct OnnxDim {
  enum { ONNX_DIM_NONE, ONNX_DIM_VALUE, ONNX_DIM_PARAM } kind;
  int64_t value; /* may be negative in a hostile or careless file */
  Str param;
} OnnxDim;

typedef struct OnnxType {
  OnnxTypeKind kind;
  int32_t elem_type; /* tensor, sparse: TensorProto.DataType, 0 when absent; any number in a bad file */
  bool has_shape;    /* false: rank unknown */
  size_t n_dims;
  const OnnxDim *dims;
  int32_t key_type;            /* map */
  const struct OnnxType *elem; /* sequence, optional: element; map: value; NULL when absent */
  Str opaque_domain, opaque_name;
  Str denotation;
} OnnxType;

typedef struct OnnxValueInfo {
  Str name;
  const OnnxType *type; /* NULL when absent */
} OnnxValueInfo;

struct OnnxGraph;

typedef struct OnnxAttr {
  Str name;
  Str ref_attr_name; /* in functions: the function's attribute that this one stands for */
  int32_t type;      /* OnnxAttrType; where the file has none (IR version 1), that of the one value present */
  bool has_type, has_f, has_i, has_s;
  float f;
  int64_t i;
  Str s;
  const OnnxTensor *t;
  const struct OnnxGraph *g;
  const OnnxType *tp;
  const OnnxSparse *sparse;
  const float *floats;
  size_t n_floats;
  const int64_t *ints;
  size_t n_ints;
  const Str *strings;
  size_t n_strings;
  const OnnxTensor *const *tensors;
  size_t n_tensors;
  const struct OnnxGraph *const *graphs;
  size_t n_graphs;
  const OnnxType *const *type_protos;
  size_t n_type_protos;
  const OnnxSparse *const *sparse_tensors;
  size_t n_sparse_tensors;
} OnnxAttr;

typedef struct OnnxNode {
  Str name, op_type, domain, overload;
  const Str *inputs; /* an empty one is an absent optional input */
  size_t n_inputs;
  const Str *outputs;
  size_t n_outputs;
  const OnnxAttr *attrs;
  size_t n_attrs;
} OnnxNode;

typedef struct OnnxGraph {
  Str name;
  const OnnxNode *nodes; /* in file order, which need not be topological */
  size_t n_nodes;
  const OnnxTensor *initializers;
  size_t n_initializers;
  const OnnxSparse *sparse_initializers; /* named by values->name */
  size_t n_sparse_initializers;
  const OnnxValueInfo *inputs, *outputs, *value_info;
  size_t n_inputs, n_outputs, n_value_info;
} OnnxGraph;

typedef struct OnnxOpset {
  Str domain;
  int64_t version;
} OnnxOpset;

typedef struct OnnxEntry {
  Str key, value;
} OnnxEntry;

typedef struct OnnxFunction {
  Str name, domain, overload;
  const Str *inputs, *outputs;
  size_t n_inputs, n_outputs;
  const Str *attributes; /* without default */
  size_t n_attributes;
  const OnnxAttr *attribute_protos; /* with default */
  size_t n_attribute_protos;
  const OnnxNode *nodes;
  size_t n_nodes;
  const OnnxOpset *opsets;
  size_t n_opsets;
  const OnnxValueInfo *value_info;
  size_t n_value_info;
} OnnxFunction;

typedef struct OnnxModel {
  int64_t ir_version;
  const OnnxOpset *opsets;
  size_t n_opsets;
  Str producer_name, producer_version, domain, doc;
  int64_t model_version;
  const OnnxGraph *graph; /* never NULL */
  const OnnxFunction *functions;
  size_t n_functions;
  const OnnxEntry *metadata;
  size_t n_metadata;
  Str file; /* the whole file's bytes (its hash names the model) */
  const Str *files; /* all that were read, for depfiles: the model, then external data in order of first use */
  size_t n_files;
} OnnxModel;

/* A value of a data set (input_0.pb …): the file does not say which kind it is, the model does. */
typedef struct OnnxValue {
  OnnxTypeKind kind; /* TENSOR, SPARSE, SEQUENCE, MAP or OPTIONAL */
  Str name;
  int32_t elem_type;             /* sequence, optional: the file's SequenceProto.DataType / OptionalProto.DataType */
  const OnnxTensor *tensor;      /* TENSOR */
  const OnnxSparse *sparse;      /* SPARSE */
  const struct OnnxValue *items; /* SEQUENCE: elements; MAP: values, one a key; OPTIONAL: one or none */
  size_t n_items;
  int32_t key_type; /* MAP: TensorProto.DataType */
  const int64_t *keys;
  const Str *string_keys;
  size_t n_keys;
} OnnxValue;

typedef struct OnnxLoadOptions {
  bool allow_symlinks; /* in the path of external data below the model's directory */
} OnnxLoadOptions;

/* NULL after diagnostics. Memory: at most 48 MiB + 3 times the file in the arena (E0502 beyond), besides the mapping.
 * opt may be NULL. */
const OnnxModel *onnx_load_model(Arena *a, Diags *d, const char *path, const OnnxLoadOptions *opt);
const OnnxTensor *onnx_load_tensor(Arena *a, Diags *d, const char *path);
const OnnxValue *onnx_load_value(Arena *a, Diags *d, const char *path, OnnxTypeKind kind);

#endif
