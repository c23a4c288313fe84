/* The graph: few canonical operators over values of known type and rank (docs/ARCHITECTURE.md).
 *
 * Importing builds it from ONNX; passes rewrite it; lowering turns it into a program of steps (lower/program.h).
 * Nothing from here on knows ONNX operator versions. Shapes are always the logical shapes of ONNX; dimensions are
 * expressions (ir/dim.h); layout lives on the program's buffers. */
#ifndef CASTNET_IR_H
#define CASTNET_IR_H

#include "base/diag.h"
#include "ir/dim.h"
#include "ir/dtype.h"
#include "ir/expr.h"

enum { MAX_RANK = 16 };

typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Value Value;

/* ---- types ---------------------------------------------------------------------------------------------------------- */
typedef enum TypeKind { TYPE_TENSOR, TYPE_SEQUENCE, TYPE_OPTIONAL, TYPE_MAP } TypeKind;

/* Behind a graph's inputs and outputs a sequence or optional is a tensor as any other, u8 [lines][64]: its content in the form
 * of runtime-lite/ops/sequence.h. What it holds stands here. */
typedef enum SeqForm { SEQ_SEQUENCE, SEQ_OPTIONAL, SEQ_OPTIONAL_SEQUENCE } SeqForm; /* of tensors, of a tensor, of a sequence of tensors */
enum { SEQ_RANK_UNKNOWN = -1, SEQ_RANK_MIXED = -2, SEQ_LINE = 64 };
typedef struct SeqType {
  SeqForm form;
  DType dtype;            /* of the tensors */
  int32_t rank;           /* of the tensors: checked when one is taken out */
  const Dim *const *dims; /* [rank], NULL where they differ or are not known */
  bool guess;             /* some of the tensors may have another rank: nothing was declared */
} SeqType;

/* A map, or a sequence of maps, is u64 [maps][3] there: the caller's struct of pointers to keys and to values, and how many there are, as
 * runtime-lite/ops/maps.h has it. */
typedef struct MapType {
  bool sequence;
  DType key, value;
} MapType;

typedef struct Type {
  TypeKind kind;
  DType dtype;             /* tensor: element; map: value */
  DType key;               /* map */
  uint32_t rank;           /* tensor */
  const Dim *const *dims;  /* tensor: [rank] */
  const struct Type *elem; /* sequence, optional */
  const SeqType *seq;      /* tensor: the sequence or optional that it stands for, or NULL */
  const MapType *map;      /* tensor: the map or sequence of maps, or NULL */
} Type;

/* Constant content of a tensor: elements little-endian and packed as ONNX packs them; `bytes` may be unaligned and lies
 * in the mapped model or an arena. Strings in `strings`. */
typedef struct Tensor {
  DType dtype;
  size_t n; /* elements */
  const void *bytes;
  size_t n_bytes;
  const Str *strings;
} Tensor;
int64_t tensor_int(const Tensor *t, size_t k); /* element k of any integer or bool type; u64 keeps its bits */
double tensor_real(const Tensor *t, size_t k); /* element k of any real type */

/* ---- operators -------------------------------------------------------------------------------------------------------- */
typedef enum Op {
#define OP(name, attr) OP_##name,
#include "ir/op.def"
#undef OP
  OP_COUNT
} Op;
extern const char *const op_names[OP_COUNT];

/* An index as an affine function of output coordinates: offset + sum(coef[j] * out[j]); NULL coefficients are 0. */
typedef struct Affine {
  const Dim *offset;
  const Dim *const *coef; /* [rank of the output] */
} Affine;

/* Coefficient of coordinate j: NULL where it is 0. */
static inline const Dim *affine_coef(const Affine *f, uint32_t j) {
  return f->coef && f->coef[j] && !dim_is(f->coef[j], 0) ? f->coef[j] : NULL;
}

typedef struct PointwiseAttr { Expr expr; } PointwiseAttr;      /* operands broadcast to the output by NumPy's rule */
typedef struct ViewAttr { const Affine *index; } ViewAttr;      /* [input rank]: which element each output point reads */
typedef enum PadMode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } PadMode;
typedef struct PadAttr {
  PadMode mode;                  /* in[1], a scalar, is the value of PAD_CONSTANT; absent: zero */
  const Dim *const *lo, *const *hi; /* [rank], may be negative (crops) */
} PadAttr;
typedef struct ConcatAttr { uint32_t axis; } ConcatAttr;
/* out[o] = data[i] with i[a] = affine(o), or an element of an index operand, at an affine place, wrapped once if negative
 * and checked against the bound. Covers Gather, GatherElements, GatherND. in[0] data, in[1..] index tensors. */
typedef struct GatherAxis {
  bool indirect;
  Affine affine;         /* when not indirect: the index itself */
  uint32_t operand;      /* when indirect: which input holds it */
  const Affine *place;   /* when indirect: [rank of that input] coordinates to read, over output coordinates */
  bool inside;           /* when indirect: what is read lies in [0, size of the data's axis) by how it was computed: nothing to wrap or check */
} GatherAxis;
typedef struct GatherAttr { const GatherAxis *axes; } GatherAttr; /* [data rank] */
typedef enum ReduceKind {
  REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL, REDUCE_ARGMAX, REDUCE_ARGMIN
} ReduceKind;
typedef struct ReduceAttr {
  ReduceKind kind;
  uint32_t axes;   /* bit mask of reduced input axes; the output keeps them with size 1 (a view squeezes) */
  bool last;       /* ARGMAX, ARGMIN: the last of equal elements */
  DType acc;       /* accumulator type */
} ReduceAttr;
typedef enum ScatterKind { SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX } ScatterKind;
/* out = in[0] with elements at computed places replaced or combined: place as in GatherAttr over the coordinates of the updates in[1];
 * in[2..] index tensors. */
typedef struct ScatterAttr { ScatterKind kind; const GatherAxis *axes; } ScatterAttr;
typedef struct ScanAttr { ScalarFn fn; uint32_t axis; bool exclusive, reverse; } ScanAttr; /* cumulative fn along axis */
/* Product of in[0] and in[1] over labelled axes (Einstein summation with each operand's labels distinct): labels are small
 * integers, one an axis; those absent from `out` are summed. in[2], in[3]: zero points of integer products, or absent. */
typedef struct ContractAttr {
  const uint8_t *a, *b, *out; /* [rank of in[0]], [rank of in[1]], [output rank] */
  DType acc;                  /* f32, f64, s32 ... */
} ContractAttr;
/* Product of in[0] x [...][K] f32 by weights kept as codes, in[1] [N][K] of u8 or u4, constants as are in[2] scales [N][K / block] and in[3] zeros
 * [N][K / block], f32, or, absent, `zero`: a code is worth (code - zero) * scale. */
typedef struct CodesAttr { int64_t block; float zero; } CodesAttr; /* block divides K */
/* Convolution, in[0] x [N][C][spatial...], in[1] w [M][C/group][kernel...], in[2] bias [M] or absent, integer: in[3], in[4] zero
 * points of x, w. `dilate_x` spreads the input with zeros (transposed convolution after its kernel is flipped and its axes swapped by views). */
/* Slices of volumes as images (pass_layout): in[0] is [volumes * in][channel blocks][H][W][block], the result [volumes * out][...]; slice z of a result sees
 * the `taps` slices of its volume from z * stride - pad on, whose channels are w's, tap after tap. out 0: none. */
typedef struct ConvSlices { int64_t in, out, taps, stride, pad; } ConvSlices;
typedef struct ConvAttr {
  uint32_t n_spatial;
  int64_t group;
  const int64_t *stride, *dilation, *dilate_x;   /* [n_spatial] */
  const Dim *const *pad_lo, *const *pad_hi;      /* [n_spatial] in elements of the spread input, may be negative */
  DType acc;
  int64_t block; /* by pass_layout, 0: plain. Results, and inputs of rank 5, are [N][channel blocks][H][W][block]; w stays plain */
  ConvSlices slices;
} ConvAttr;
/* Slices that one of the result sees: 1 of images. */
static inline int64_t conv_depth(const ConvAttr *a) { return a->slices.out ? a->slices.taps : 1; }
typedef enum PoolKind { POOL_MAX, POOL_AVERAGE, POOL_LP, POOL_SUM } PoolKind;
typedef struct PoolAttr { /* of [N][C][n_spatial axes]; out[1], if present: MaxPool's flat indices (s64) */
  PoolKind kind;
  uint32_t n_spatial;
  const int64_t *kernel, *stride, *dilation;
  const Dim *const *pad_lo, *const *pad_hi;
  bool count_include_pad;
  bool column_major; /* of the indices */
  int64_t p;         /* POOL_LP */
  int64_t block;     /* by pass_layout: as ConvAttr's, in and out */
} PoolAttr;
/* x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta of [N][C][...], one more of them above where size is even. */
typedef struct LrnAttr {
  int64_t size;
  float alpha, beta, bias;
  int64_t channels; /* by pass_layout: of [N][blocks][H][W][block]; 0: plain */
} LrnAttr;
/* safe: what is not a number, as where all of a row is minus infinity, is 0 (not of a logarithm). */
typedef struct SoftmaxAttr { uint32_t axis; bool log, safe; } SoftmaxAttr;
typedef enum NormKind { NORM_LAYER, NORM_RMS } NormKind;
/* Normalises over the axes from `axis` on: (x - mean) / sqrt(var + eps) * scale + bias; in[1] scale, in[2] bias broadcast or absent. */
typedef struct NormAttr { NormKind kind; uint32_t axis; float epsilon; } NormAttr;
/* How a scale or bias lies to a normalised x: one element a place of a row, one a row (along the axis before `axis`), or neither. */
typedef enum NormOperand { NORM_BY_PLACE, NORM_BY_ROW, NORM_BY_OTHER } NormOperand;
NormOperand norm_operand_kind(const Type *operand, const Type *x, uint32_t axis);
typedef enum CellKind { CELL_RNN, CELL_GRU, CELL_LSTM } CellKind;
/* ONNX's RNN, GRU, LSTM: in: X W R B sequence_lens initial_h initial_c P (absent ones NULL); out: Y Y_h Y_c (LSTM).
 * Activations: RNN 1, GRU 2, LSTM 3 a direction. */
typedef enum ActKind { /* with ONNX's alpha and beta where it has them */
  ACT_SIGMOID, ACT_TANH, ACT_RELU, ACT_AFFINE, ACT_LEAKY_RELU, ACT_THRESHOLDED_RELU, ACT_SCALED_TANH, ACT_HARD_SIGMOID, ACT_ELU,
  ACT_SOFTSIGN, ACT_SOFTPLUS
} ActKind;
typedef struct RecurrentAct { ActKind kind; float alpha, beta; } RecurrentAct;
typedef struct RecurrentAttr {
  CellKind cell;
  int64_t hidden;
  uint8_t direction; /* 0 forward, 1 reverse, 2 both */
  bool batch_first, linear_before_reset, input_forget;
  bool prepared; /* by pass_recurrent: in[0] holds the gates' input part [steps][batch][directions][gates * hidden], in[3] GRU's bias of gate h */
  float clip; /* 0: none */
  const RecurrentAct *acts; /* [directions][activations of the cell] */
} RecurrentAttr;
/* A runtime function of one ABI (castnet_tensor in and out): a row of ops.def, or a user's custom operator. */
typedef enum ExternAttrKind { EXTERN_INT, EXTERN_FLOAT, EXTERN_STRING, EXTERN_INTS, EXTERN_FLOATS, EXTERN_STRINGS } ExternAttrKind;
typedef struct ExternAttrValue {
  Str name;
  ExternAttrKind kind;
  size_t n;
  union { int64_t i; float f; Str s; const int64_t *ints; const float *floats; const Str *strings; };
} ExternAttrValue;
typedef struct ExternAttr {
  Str symbol;                 /* the C function */
  bool custom;                /* defined by the user, not in runtime-lite */
  bool random;                /* never folded, never shared */
  bool strings;               /* makes strings: its environment is that of a cn_text (runtime-lite/text_space.h) */
  bool measured;              /* called once without room for its results, to decide their sizes, then to fill them */
  const ExternAttrValue *attrs;
  size_t n_attrs;
  const Dim *scratch;         /* bytes of scratch it needs; NULL: none */
} ExternAttr;
typedef struct DimsAttr { const Dim *const *content; } DimsAttr; /* a tensor of dimension values, s64 */
/* Element k of in[0] (flat, any integer type) becomes the value of the data symbol symbols[k], checked to lie in its range. */
typedef struct SymbolsAttr { const Dim *const *symbols; } SymbolsAttr;
/* in[0] b1, one element. The branches' outputs are the node's; they see the values around them. `joined`: sizes in which the branches'
 * results differ, symbols of the node's own types. */
typedef struct JoinedDim { const Dim *symbol, *on_then, *on_else; } JoinedDim;
/* The gradient of in[0] with respect to the first n_xs of its variables in[1 .. n], which hold the values in[n + 1 .. 2 n]; an output each. */
typedef struct GradientAttr { uint32_t n_xs; } GradientAttr;
typedef struct IfAttr {
  Graph *then_graph, *else_graph;
  const JoinedDim *joined;
  uint32_t n_joined;
} IfAttr;
/* in: the first condition (b1, one element) or NULL, then the states as they start. The body sees the values around it; its inputs are the
 * states, its outputs the next condition if in[0] is given, the next states, then an element of each stacked output.
 * out: the last states, then the stacked outputs [done or trips][element]. */
typedef struct CarriedDim { /* a size that an iteration may change */
  const Dim *symbol; /* in the body */
  const Dim *last;   /* a symbol: after the loop */
  const Dim *init;   /* before it, over outer symbols */
  const Dim *next;   /* at the end of an iteration */
} CarriedDim;
typedef struct LoopAttr {
  Graph *body;
  const Dim *iteration; /* a symbol of the body: 0, 1 ... */
  const Dim *trips;     /* at most so many, an expression over outer symbols */
  const Dim *done;      /* a symbol: how many there were */
  uint32_t n_states, n_stacked, n_carried;
  const CarriedDim *carried;
} LoopAttr;
typedef struct NoAttr { char none; } NoAttr;

/* ---- nodes, values, graphs ------------------------------------------------------------------------------------------ */
struct Value {
  uint32_t id;     /* in its graph's root, creation order */
  Str name;        /* ONNX name, any bytes, may be empty */
  Type type;
  Node *def;       /* NULL: input or constant */
  uint32_t def_index;
  const Tensor *data;         /* constant content, or NULL */
  const Dim *const *content;  /* integer tensors of up to 256 elements: each element as an expression, or NULL */
  const Dim *const *fraction; /* small f32 and f64 tensors that sizes went into: elements fraction[k] / denominator, or NULL */
  int64_t denominator;
  const struct SeqItems *items; /* sequences, optionals: the tensors in it, where they are known, or NULL */
  Graph *graph;    /* where it is defined */
};

typedef struct SeqItems {
  uint32_t n;
  Value *const *values; /* [n] */
} SeqItems;

struct Node {
  Op op;
  uint32_t n_in, n_out;
  Value **in;  /* NULL where an optional operand is absent */
  Value **out;
  const void *attr; /* the struct that op.def names */
  DiagPlace src;    /* the ONNX node it came from */
  Graph *graph;
  bool dead;
};

struct Graph {
  struct Ir *ir;
  Graph *parent; /* NULL: the main graph; captured values of outer graphs are used directly */
  VEC(Node *) nodes; /* topological order */
  VEC(Value *) inputs;
  VEC(Value *) outputs;
  VEC(Str) output_names; /* of each output: two may be one value, or an input */
};

/* Everything of one compile. */
typedef struct Ir {
  Arena *arena;
  DimCtx *dims;
  Diags *diags;
  Graph *main;
  uint32_t n_values;
  VEC(Value *) constants;
  size_t folded_bytes, folded_products; /* of constants that pass_fold made, and summed for them */
  /* Equalities of dimensions that could not be proved: checked where `graph` begins to run, the main one at the head of N_run, or as soon as
   * data have decided all that they speak of (CASTNET_ERR_DIM). */
  struct IrDimCheck { const Dim *a, *b; const Graph *graph; } *checks;
  size_t n_checks, cap_checks;
  const Graph *checking; /* whose nodes are being made: new checks hold where that graph runs */
  size_t file_order_peak; /* bytes live at most when the model's nodes run one by one in the file's order; 0: no bound */
} Ir;

Ir *ir_new(Arena *a, Diags *d);
/* Its graphs anew, over the same dimensions, types and constant contents; what is dead is left out. */
Ir *ir_clone(const Ir *ir);
Graph *graph_new(Ir *ir, Graph *parent);
bool graph_is_within(const Graph *g, const Graph *outer); /* it is `outer`, or lies in a body of it */
Value *graph_add_value(Graph *g, Type type, Str name);
Value *ir_add_const(Ir *ir, Type type, const Tensor *data, Str name);
Node *graph_add_node(Graph *g, Op op, Value *const *in, size_t n_in, const Type *out_types, size_t n_out, const void *attr, DiagPlace src);
/* Requires a == b: false when certainly different (nothing reported); records a run-time check when unknown. */
bool ir_require_eq(Ir *ir, const Dim *a, const Dim *b);
bool ir_require_le(Ir *ir, const Dim *a, const Dim *b); /* the same for a <= b */

/* The elements in host byte order and aligned, one a byte where sub-byte; strings as Str. Perhaps the content itself. */
const void *tensor_host_elements(Arena *a, const Tensor *t);
/* The reverse: host elements as constant content. */
const Tensor *tensor_from_host(Arena *a, DType t, size_t n, const void *elements);
/* The same, and the elements, which live as long as the arena, may become the content. */
const Tensor *tensor_take_host(Arena *a, DType t, size_t n, void *elements);
/* The bytes of each number of a tensor's content in the other order (a complex one is two numbers; packed ones stay). */
void tensor_reverse(DType t, size_t n_bytes, const void *in, void *out);

Type type_tensor(Ir *ir, DType t, uint32_t rank, const Dim *const *dims); /* copies dims */
bool type_same(const Type *a, const Type *b);
const Dim *type_count(Ir *ir, const Type *t); /* elements */
/* The type as the model's user sees it: a sequence or optional of tensors, whose unknown dimensions are NULL; else t itself. */
Type type_outside(Arena *a, const Type *t);

/* Structure check: order, arity, types of each operator. Returns false and describes the first violation in ret. */
bool ir_verify(const Ir *ir, StrBuf *ret);

/* Text form (ir/text.c), read back for tests of passes. */
void ir_print(StrBuf *b, const Ir *ir);
Ir *ir_parse(Arena *a, Diags *d, Str text);

#endif
