/* The program: steps over buffers, what lowering makes of the graph, what the planner places, what the interpreter runs
 * and the backends print. No C text in it.
 *
 * Tensors are windows (offset and strides, in elements) into buffers. A nest is an iteration domain with a scalar
 * expression a point; a kernel step is a row of a family with operands. Each step states all that it reads and writes. */
#ifndef CASTNET_PROGRAM_H
#define CASTNET_PROGRAM_H

#include "ir/ir.h"

/* ---- storage ---------------------------------------------------------------------------------------------------------- */
typedef enum BufferKind {
  BUF_INPUT,  /* the caller's, read only; index: which graph input */
  BUF_OUTPUT, /* the caller's (or the workspace's, by --outputs); index: which graph output */
  BUF_CONST,  /* weights */
  BUF_ARENA   /* placed in the workspace by the planner */
} BufferKind;

typedef struct Buffer {
  BufferKind kind;
  uint32_t index;
  DType dtype;
  const Dim *n;       /* elements */
  const Tensor *data; /* BUF_CONST */
  size_t align;       /* bytes, a power of two */
  Str name;           /* the ONNX value it first held, or empty */
  /* by the planner: */
  const Dim *offset;  /* BUF_ARENA: bytes from the workspace's start; NULL while unplaced */
  size_t placed_after; /* so many steps of main: a later one decided sizes that its place depends on; 0: known before the call */
  uint32_t alias_of;  /* shares the storage of an earlier arena or output buffer (in place); NO_BUFFER: its own */
} Buffer;
#define NO_BUFFER UINT32_MAX
#define NO_TENSOR UINT32_MAX

typedef struct PTensor {
  DType dtype;
  uint32_t rank;
  const Dim *const *dims;    /* [rank] */
  uint32_t buffer;
  const Dim *offset;         /* elements from the buffer's start */
  const Dim *const *strides; /* [rank], elements */
  Str name;
} PTensor;

/* ---- accesses ----------------------------------------------------------------------------------------------------------- */
/* One element of a tensor for each point of a domain, counted in elements from the tensor's window start:
 * offset + sum(stride[j] * point[j]) + sum over indirect terms of stride * value. An indirect value is a node (s64) of the
 * step's expression, wrapped once if negative; one outside [0, bound) makes the call return CASTNET_ERR_INDEX. */
typedef struct IndirectTerm {
  uint32_t node;
  const Dim *stride, *bound;
  bool sure; /* all in range and none negative, whether constants or by how they were computed */
} IndirectTerm;

typedef struct Access {
  uint32_t tensor;
  const Dim *offset;
  const Dim *const *stride; /* [axes of the domain] */
  const IndirectTerm *indirect;
  uint32_t n_indirect;
} Access;

/* ---- steps -------------------------------------------------------------------------------------------------------------- */
typedef enum StepKind {
#define STEP(name, attr) STEP_##name,
#include "lower/step.def"
#undef STEP
  STEP_COUNT
} StepKind;
extern const char *const step_names[STEP_COUNT];

/* The functions that combine, and the value that changes nothing (bits of the compute type). */
ScalarFn reduce_combiner(ReduceKind kind);   /* not for ARGMAX, ARGMIN */
ScalarFn scatter_combiner(ScatterKind kind); /* not for SCATTER_SET */
uint64_t reduce_identity(ReduceKind kind, DType acc);

typedef enum NestMode {
  NEST_MAP,     /* store(point) = map */
  NEST_REDUCE,  /* the last n_reduce axes are reduced: store(outer point) = post(reduce(map)) */
  NEST_SCAN,    /* along the last axis: store(point) = map combined with all before it (fn = scan_fn) */
  NEST_SCATTER  /* store(point) op= map, in domain order, the store's place may be indirect */
} NestMode;

/* Operand k of `map` (EXPR_INPUT) is loads[k], after the nodes that its indirect terms name; EXPR_INDEX axes are domain axes. `post` (NEST_REDUCE): operand 0 is the
 * reduced value, operand k the k-1'th of post_loads, over the outer axes. Extents of 0 are possible. */
typedef struct Nest {
  NestMode mode;
  uint32_t n_axes, n_reduce; /* NEST_SCAN: n_reduce 0 */
  const Dim *const *extent; /* [n_axes] */
  Expr map;
  const Access *loads;
  uint32_t n_loads;
  ReduceKind reduce;
  bool arg_last;        /* ARGMAX, ARGMIN */
  DType acc;            /* accumulator's type; ARG*: type compared */
  Expr post;
  const Access *post_loads;
  uint32_t n_post_loads;
  ScalarFn scan_fn;
  bool scan_exclusive;
  ScatterKind scatter;
  Access store;         /* NEST_REDUCE: over the outer axes */
} Nest;

/* What a kernel does to each finished output element: expr over operand 0 (the kernel's result) and loads[k-1], accessed
 * over the output tensor's axes. n == 0: nothing. The backend finds the in-register set (bias, clamp, residual) in it. */
typedef struct Epilogue {
  Expr expr;
  const Access *loads;
  uint32_t n_loads;
} Epilogue;

/* Few rows by an operand of the call, read as it lies: whose columns, or rows, have their elements side by side (runtime-lite/kernels/thin_f32.h). FEW: by a
 * few constant columns (few_f32.h). */
typedef enum Thin { THIN_NOT, THIN_DOTS, THIN_ROWS, THIN_FEW } Thin;

/* out[b][m][n] = sum_k a[b][m][k] * b[b][k][n]. Operands in[0] = A, in[1] = B (or its packed form), in[2..3] zero points
 * or NO_TENSOR; strides are elements of the operand's buffer window. */
typedef struct ContractStep {
  uint32_t n_batch;
  const Dim *const *batch;                       /* [n_batch] extents */
  const Dim *m, *n, *k;
  const Dim *const *a_batch, *const *b_batch, *const *c_batch; /* [n_batch] strides; 0 where broadcast */
  const Dim *a_m, *a_k, *b_k, *b_n, *c_m, *c_n;  /* strides */
  bool b_packed;                                 /* in[1] is packed for the target's kernel */
  DType b_type;                                  /* of what is packed: f32, or of one row f16, bf16 (runtime-lite/kernels/row_16_f32.h), and u4, u8: codes (row_codes_f32.h) */
  size_t block;                                  /* of codes: the depth that has one scale, in[2], and zero, in[3] or else: */
  float zero;
  Thin thin;                                     /* else it may lie so that nobody has to */
  bool lines;                                    /* the step's scratch is for a part of in[0] */
  bool split;                                    /* the target may multiply by parts (amx/split_f32.h) */
  DType acc;                                     /* s32: 8-bit operands, the integer kernel */
  int32_t a_zero;                                /* integer: A's zero point where in[2] is absent */
  const Dim *pack_bytes;                         /* integer: of scratch, ahead of the kernel's own */
  Epilogue epilogue;
} ContractStep;

/* softmax(q k) v: in[0] q and in[1] k as operands of `scores`, in[2] v as the second of `sum`, then what the scores' epilogue loads and what the sum's does.
 * shape: a tensor of the scores' shape, never stored. masked: the epilogue may hide keys, and never makes less of a greater score. safe: the
 * softmax is. */
typedef struct AttentionStep {
  ContractStep scores, sum;
  uint32_t shape;
  bool masked, safe;
} AttentionStep;

/* A convolution by tiles of the result (lower/winograd.h). */
typedef struct Winograd {
  size_t side;               /* of a tile, in pixels; 0: none */
  size_t band, groups, part; /* as cn_winograd_f32_args has them */
  size_t bands;              /* of one image */
} Winograd;

/* A driver over blocked channels and what one call of it computes (cn_blocked_way of kernels/blocked.h). */
typedef struct BlockedCall {
  const char *driver; /* NULL: none */
  uint32_t blocks;    /* of a part */
  uint32_t wide, pixels, slides; /* blocks at a time, their pixels, outputs that slide */
  size_t tasks;       /* 0: sizes are open, the number of images perhaps */
} BlockedCall;

/* A depthwise convolution of which the step computes the pixels that it is about to read (lower_depthwise.c); in[0] is its x. */
typedef struct ConvBefore {
  const struct ConvStep *conv; /* NULL: none */
  uint32_t image;              /* its result, a tensor that is never stored */
  uint32_t weights, bias;      /* which of the step's operands; no bias: NO_TENSOR there */
  size_t fixed, pixel;         /* floats of scratch: of a call, and of each pixel that is computed together with others */
  size_t least, most;          /* pixels that are */
} ConvBefore;

/* Groups that lie across the ends of blocks: the channels and outputs of each, and the most channels that a block of outputs reads, in whole blocks; 0: none do. */
typedef struct Straddle { size_t channels, outputs, most; } Straddle;

/* in[0] x, in[1] w, in[2] bias or NO_TENSOR, in[3], in[4] zero points or NO_TENSOR. */
typedef struct ConvStep {
  ConvAttr attr;
  const Dim *channels;      /* input channels of a group */
  const Dim *const *kernel; /* [n_spatial] */
  bool depthwise;           /* one input channel a group, no input dilation: its own kernel, weights as they are */
  bool direct, open;        /* cn_conv_f32_direct runs it; or, where a call's sizes are better for that, cn_conv_f32 */
  bool interleaved;         /* the groups' channels of the result in turns: channel i of group g is plane i * groups + g; cn_conv_f32 */
  bool w_packed;            /* in[1] holds row panels for the target's kernel; else the step packs into scratch */
  const Dim *pack_bytes;    /* of scratch, ahead of the kernel's own */
  int32_t in_zero;          /* integer (attr.acc s32): x's zero point where in[3] is absent */
  uint32_t parts;           /* attr.block: groups of whole blocks, or blocks where groups are not; 1: one group */
  Straddle straddle;        /* attr.block */
  BlockedCall most, rest;   /* attr.block, without Winograd: the first blocks, as many as the widest driver takes; the others */
  size_t rest_weights;      /* floats of weights ahead of those of the others */
  Winograd winograd;        /* attr.block */
  ConvBefore before;        /* attr.block */
  Epilogue epilogue;
} ConvStep;

/* in[0] [N][blocks][H][W][block], each element over (bias + scale * the sum of squares of `below` + 1 + `above` channels)^(quarters / 4). */
typedef struct LrnStep {
  size_t channels, below, above;
  float scale, bias;
  int quarters;
} LrnStep;
/* in[0] as [outer][n][inner], dense, softmax along n. safe: 0 where it would not be a number. */
typedef struct SoftmaxStep {
  const Dim *outer, *n, *inner;
  bool log, safe;
} SoftmaxStep;
/* in[0] as [rows][n], dense; in[1] scale, in[2] bias or NO_TENSOR: [n], or one a row, [period] repeated. */
typedef struct NormStep {
  NormKind kind;
  const Dim *rows, *n, *period;
  bool scale_rows, bias_rows;
  float epsilon;
} NormStep;
typedef struct PoolStep { PoolAttr attr; } PoolStep;          /* in: gates' input part, -, R (packed if r_packed), GRU's h bias, lengths, h, c, peepholes; out: Y, Y_h, Y_c; NO_TENSOR where absent. */
typedef struct RecurrentStep {
  RecurrentAttr attr;
  uint32_t gates, n_acts; /* of one direction */
  bool r_packed;
  size_t packed;          /* floats of one direction's packed R */
  unsigned nr;            /* panel width */
} RecurrentStep;

/* A symbol that this step decides: dimension `axis` of its output `out`. */
typedef struct SymbolDef { const Dim *symbol; uint32_t out, axis; } SymbolDef;
typedef struct ExternStep {
  ExternAttr attr;
  const SymbolDef *defs;
  uint32_t n_defs;
  const uint32_t *measures; /* [n_measures] tensors whose dimensions it decides without touching them: no output; NULL: it fills its outputs */
  uint32_t n_measures;
} ExternStep;

/* Symbols read from the elements of an integer tensor in[0], each held against its range (CASTNET_ERR_DIM). No output. */
typedef struct SymbolsStep {
  const Dim *const *symbols; /* [n] */
  size_t n;
} SymbolsStep;

/* Symbols get values of expressions, all at once; in[0], a condition, if `others` is given: those where it is false. `again`: a loop's sizes
 * at the end of an iteration, first assigned ahead of it; the bytes of in[0], where those states have been made, then go to the place that out[0]
 * has in the new sizes (u8 tensors; the places may overlap). */
typedef struct AssignStep {
  const Dim *const *symbols, *const *values, *const *others; /* [n] */
  size_t n;
  bool again;
} AssignStep;
/* Control flow lies flat among the steps, its parts marked: IF .. ELSE .. END_IF, LOOP .. END_LOOP, one in the other. Planning and printing
 * follow the steps' order; what lives through a loop lives until its end.
 * in[0]: the condition, b1. graph: whose nodes follow, or END_IF: have ended; NULL: copies of the graph around. */
typedef struct BranchStep { const Graph *graph; } BranchStep;
/* in[0]: the condition of another iteration, or NO_TENSOR; out: what is written by parts. END_LOOP has the same. */
typedef struct LoopStep {
  const Graph *graph;
  const Dim *iteration, *trips;
} LoopStep;

/* How a step is parted among threads, by sizes alone (lower/share.h): each share is the same work whoever does it, alone or not. */
typedef struct StepShare {
  uint32_t n;          /* shares; 0: the step runs whole */
  uint32_t few;        /* into how many two threads take them, neighbours together: n, or a half or a fourth of it */
  uint32_t spread;     /* from so many threads on the kernel hands out all of the step itself, phase by phase; 0: never */
  uint32_t axis;       /* of a nest's domain or a product's batches: the one that is parted; SHARE_TASKS: the kernel's own tasks are; SHARE_DIRECTIONS: a recurrent layer's two */
  const Dim *slot;     /* bytes of each share's scratch, NULL where there is none */
  const Dim *elements; /* of the result: fewer than `least` run whole; NULL: its size is known, and parting it pays */
  int64_t least;
} StepShare;
#define SHARE_TASKS UINT32_MAX
#define SHARE_DIRECTIONS (UINT32_MAX - 1)

typedef struct Step {
  StepKind kind;
  uint32_t n_in, n_out;
  const uint32_t *in, *out; /* tensors, NO_TENSOR where absent; all that is read and written, epilogue operands included behind the family's own */
  uint32_t scratch;         /* a tensor (u8) live during the step only, or NO_TENSOR */
  const void *attr;         /* the struct that step.def names */
  StepShare share;
  DiagPlace src;            /* the ONNX node (the last one when fused) */
  const DiagPlace *with;    /* [n_with] the ones that it computes on the way, in order */
  uint32_t n_with;
} Step;

typedef struct Block { VEC(Step) steps; } Block;

/* Once main's step `step` has decided its symbols, the call needs `bytes` of workspace, all before included. */
typedef struct Region { size_t step; const Dim *bytes; } Region;

/* content: of a sequence or optional, whose items stand in `tensor` and point into it; else NO_TENSOR. */
typedef struct ProgramOutput { uint32_t tensor; Type type; Str name; uint32_t content; } ProgramOutput;

typedef struct Program {
  Arena *arena;
  const Ir *ir;
  DimCtx *dims;
  VEC(Buffer) buffers;
  VEC(PTensor) tensors;
  VEC(uint32_t) inputs;        /* tensor of each graph input */
  VEC(ProgramOutput) outputs;
  Block main;
  bool parts_all;              /* steps are parted whether it pays or not */
  uint32_t longest_trip;       /* ns that a line may take between threads and back for the shares to pay; 0: any */
  bool makes_strings;          /* some step takes bytes at the workspace's end for new strings */
  /* by the planner: */
  const Dim *arena_bytes;      /* workspace size, without the regions */
  VEC(Region) regions;         /* what data ask for beyond that, by ascending steps */
  size_t peak, lower_bound, file_order_peak; /* bytes, where static */
} Program;

/* Calls f for each symbol that the step decides, again or not. */
void step_each_symbol(const Step *s, void (*f)(void *user, const Dim *symbol), void *user);
/* Whether another step has decided its symbols before. */
static inline bool step_decides_again(const Step *s) { return s->kind == STEP_ASSIGN && ((const AssignStep *)s->attr)->again; }
/* How many blocks deeper the next step is: 1, 0, -1. */
int step_nesting(const Step *s);
/* By step: the one that opened the innermost block that it lies in (IF, ELSE, LOOP), -1 in none. */
int64_t *program_blocks(Arena *a, const Program *p);
bool program_has_control(const Program *p);
/* By symbol: which step of main decides it, NOT_DECIDED where none does. */
enum { NOT_DECIDED = -1 };
int64_t *program_decided(Arena *a, const Program *p);
/* The step that decides the last data symbol of d, NOT_DECIDED where there is none; INT64_MAX where one never is. */
int64_t program_level(const int64_t *decided, const Dim *d);
uint32_t program_add_buffer(Program *p, Buffer b);
uint32_t program_add_tensor(Program *p, PTensor t);
/* Drops axes of extent 1, merges axes that every access walks alike. */
void nest_simplify(Arena *a, DimCtx *c, Nest *n);
bool program_verify(const Program *p, StrBuf *ret); /* false: ret says which step is unsound */
void program_print(StrBuf *b, const Program *p);
/* True if strides are the row-major ones of dims. */
bool ptensor_is_contiguous(DimCtx *c, const PTensor *t);

#endif
