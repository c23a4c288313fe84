/* What header.c, run_c.c, weights.c and emit.c know of the model together: its fields, dimensions, workspace, weights. */
#ifndef CASTNET_FRAME_H
#define CASTNET_FRAME_H

#include "backend/emit.h"
#include "base/hash.h"

/* A graph input or output as a member of N_inputs or N_outputs. */
typedef struct IoField {
  Str name; /* C */
  Str onnx;
  Type type;
  uint32_t tensor, buffer; /* NO_TENSOR, NO_BUFFER where the program has none */
  uint32_t content;        /* tensor of an output that is a sequence or optional, into which its items point */
  bool sized;              /* some dimension is not constant: {data, capacity, dims} in outputs */
  bool owned;              /* by the library: lies in the workspace */
} IoField;

/* A constant in the blob, in order of first use. */
typedef struct WeightsPart {
  const Tensor *data;
  size_t offset, size; /* bytes, from the blob's start */
  uint32_t levels;     /* a bit for each level that reads it */
} WeightsPart;
enum { WEIGHTS_ALIGN = 64, WEIGHTS_SMALL_ALIGN = 16, WEIGHTS_HEADER = 64, WEIGHTS_WORDS_MAX = 4 * 1024 * 1024 };

typedef struct OffsetDim {
  const Dim *dim;
  size_t placed_after; /* as in Buffer */
} OffsetDim;

/* What is one for all levels of a target; a target without levels is its own only one. */
typedef struct Common {
  const BackendOptions *opt;
  struct Frame **frames;  /* [n_frames] of the levels, ascending */
  size_t n_frames;
  const Dim *need;        /* bytes of workspace that are enough for every level */
  size_t align;           /* of the workspace */
  bool exact;             /* the size needed is known before the call */
  VEC(WeightsPart *) weights;
  Map weights_by_key;     /* XXH128 of the content, or the tensor's address -> WeightsPart */
  size_t weights_end;     /* behind the last part */
  size_t weights_size;    /* the header included, a multiple of WEIGHTS_ALIGN */
  Hash128 code_hash;      /* of the code without weights, names of runs and comments on top: what weights must fit */
  Hash128 content_hash;   /* of the weights */
  uint64_t set_id;
} Common;

typedef struct Frame {
  Arena *arena;
  Diags *diags;
  const Program *program;
  const BackendOptions *opt;     /* with the level as the target */
  Common *common;
  size_t level;                  /* of common->frames */
  const struct Language *lang; /* backend/language.h */
  Str name;
  IoField *in, *out;
  size_t n_in, n_out;
  bool has_dims;   /* some input dimension is a symbol: there is N_dims */
  bool *in_dims;   /* [symbols] is a field of N_dims */
  Str *dim_fields; /* [symbols] its name there */
  Str *locals;     /* [symbols] its name in N_run */
  const Dim *arena_bytes; /* of the whole workspace: the program's, and what outputs that the library owns add */
  const Dim **placed;     /* [buffers] bytes from the workspace's start of such outputs, else NULL */
  const int64_t *decided; /* [symbols] program_decided */
  Map offsets;            /* an offset that is not constant, and when it is known -> Str *, the local of N_run that holds it */
  VEC(OffsetDim) offset_dims; /* the same offsets in order */
  VEC(uint32_t) strings;  /* constant buffers of strings, as they are used */
} Frame;

/* frame.c: everything but weights, strings and hashes. programs: one for each level, of one Ir. NULL after diagnostics. */
Common *frames_new(Arena *a, Diags *d, const Program *const *programs, const BackendOptions *opt);
static inline bool frame_is_level(const Frame *f) { return f->common->opt->target->n_levels > 0; } /* one of several */
bool frame_needs_data(const Type *t); /* its size is known only when data has been seen */
static inline bool frame_weights_in_c(const Frame *f) {
  return f->opt->weights == WEIGHTS_C || (f->opt->weights == WEIGHTS_AUTO && f->common->weights_size <= WEIGHTS_WORDS_MAX);
}
static inline bool frame_weights_asm(const Frame *f) {
  return f->opt->weights == WEIGHTS_ASM || (f->opt->weights == WEIGHTS_AUTO && !frame_weights_in_c(f));
}
/* Whether the code checks at run time that the weights are its own. */
static inline bool frame_weights_checked(const Frame *f) { return f->common->weights.n > 0 && !frame_weights_in_c(f); }

/* emit.c */
EmitCtx *emit_new(Frame *f);

/* weights.c */
size_t weights_place(Frame *f, uint32_t buffer); /* offset from the blob's start, the header included */
void weights_hash(Frame *f);                     /* content_hash, once all are placed */
Str weights_union(const Frame *f);                     /* the type of weights in words */
bool weights_files(Frame *f, FileSet *ret);

/* types_c.c: how a field is declared. */
void types_shape(Frame *f, StrBuf *b, const Type *t);       /* "[batch][3]", in the names of N_dims */
void types_print(Frame *f, StrBuf *b, const Type *t);        /* "N_tensor_f32": of what a sequence or optional holds */
void types_declare_structs(Frame *f, StrBuf *b);             /* structs of sequences, maps, optionals that fields need */
void types_input_field(Frame *f, StrBuf *b, const IoField *io);
void types_output_field(Frame *f, StrBuf *b, const IoField *io);

/* stops_c.c: what N_run does once data have decided sizes. */
Str stops_offset_local(const Frame *f, size_t i);   /* of offset_dims[i] */
void stops_symbols(Frame *f, const EmitCtx *c, bool *has); /* marks what run_stop prints */
/* words: all that the calls name; outer: locals of N_run that hold dimensions, by dim's id. */
void stops_print(Frame *f, const Map *words, const Map *outer, const EmitStop *stop, StrBuf *b);

/* header.c, run_c.c: texts for templates/model.h.in and model.c.in */
void header_print(Frame *f, StrBuf *b);            /* what lies between the common part and the end */
void run_workspace_size(Frame *f, StrBuf *b);      /* N_workspace_size, or nothing */
void run_strings(Frame *f, StrBuf *b);             /* tables of constant strings */
void run_body(Frame *f, EmitCtx *c, StrBuf *b); /* the body of N_run */

#endif
