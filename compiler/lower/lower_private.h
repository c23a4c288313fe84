/* Shared by the files of lowering: its state and the helpers of lower.c. */
#ifndef CASTNET_LOWER_PRIVATE_H
#define CASTNET_LOWER_PRIVATE_H

#include "lower/lower.h"
#include "lower/virt.h"

typedef struct Slot { /* what is known of a graph value */
  Virt *virt;          /* NULL: not lowered (its producer failed or is dead) */
  uint32_t uses;
  int32_t output;      /* index of the graph output that it is, or -1 */
  uint32_t result;     /* the tensor last made for it, or NO_TENSOR */
} Slot;

typedef struct Lower {
  Arena *a;
  Ir *ir;
  Program *p;
  const LowerOptions *opt;
  Slot *slots;         /* by value id */
  int32_t *decided;     /* by symbol: one more than the last step that makes it, or 0 */
  VEC(Virt *) spare;    /* read for the last time: memory of the next ones */
  VEC(int32_t) step_of; /* by tensor: the step that writes it, or -1 */
  VEC(int32_t) written; /* by buffer: the last step that writes to it, or -1 */
  int32_t barrier;      /* the first step of the block of control flow that steps are added to: earlier ones are finished */
  int64_t workspace;    /* most_conv_bytes, once they are counted */
  bool failed;
} Lower;

/* One function an operator; false after a diagnostic. */
typedef bool (*LowerFn)(Lower *l, const Node *n);
bool lower_pointwise(Lower *l, const Node *n);
bool lower_view(Lower *l, const Node *n);
bool lower_reshape(Lower *l, const Node *n);
bool lower_pad(Lower *l, const Node *n);
bool lower_concat(Lower *l, const Node *n);
bool lower_gather(Lower *l, const Node *n);
bool lower_scatter(Lower *l, const Node *n);
bool lower_reduce(Lower *l, const Node *n);
bool lower_scan(Lower *l, const Node *n);
bool lower_contract(Lower *l, const Node *n);
bool lower_codes(Lower *l, const Node *n);
bool lower_conv(Lower *l, const Node *n);
bool lower_pool(Lower *l, const Node *n);
bool lower_lrn(Lower *l, const Node *n);
bool lower_softmax(Lower *l, const Node *n);
bool lower_norm(Lower *l, const Node *n);
void lower_fuse_attention(Lower *l); /* over all steps, once they are made */
void lower_join_depthwise(Lower *l); /* the same */
void lower_move_depthwise(Lower *l); /* the same */
void lower_shuffle_groups(Lower *l); /* the same */
void lower_shared_bytes(Program *p);       /* the same */
bool lower_recurrent(Lower *l, const Node *n);
bool lower_extern(Lower *l, const Node *n);
bool lower_try_trees(Lower *l, const Node *n); /* a tree ensemble by vectors; false: not this one */
bool lower_symbols(Lower *l, const Node *n);
bool lower_dims(Lower *l, const Node *n);
bool lower_if(Lower *l, const Node *n);
bool lower_loop(Lower *l, const Node *n);
void lower_nodes(Lower *l, const Graph *g); /* its steps, behind those that there are */
void lower_find_sure(Lower *l);    /* IndirectTerm.sure, over all steps, once they are made */
void lower_name_origins(Lower *l); /* Step.with, over all steps, once they are made */
bool lower_check_symbols(Lower *l); /* E0306 for sizes that no step makes */

const Virt *lower_virt(Lower *l, const Value *v);
void lower_set_virt(Lower *l, const Value *v, const Virt *virt);
Virt *lower_new_virt(Lower *l, const Virt *virt); /* a copy, in spare memory if there is some */
/* A stored, dense, row-major tensor of v; copies if v is not one yet. NO_TENSOR for NULL. */
uint32_t lower_dense(Lower *l, const Value *v, DiagPlace src);
/* v as a stored tensor, dense or a window (any strides, no arithmetic). */
uint32_t lower_window(Lower *l, const Value *v, DiagPlace src);
/* A new buffer with a dense tensor of v's type; a graph output's lies in the output. Becomes v's virtual value. */
uint32_t lower_result(Lower *l, const Value *v);
/* Step `step` writes the tensor. */
void lower_writes(Lower *l, uint32_t tensor, int32_t step);
uint32_t lower_temp(Lower *l, DType t, uint32_t rank, const Dim *const *dims, Str name);
uint32_t lower_constant(Lower *l, DType t, uint32_t rank, const Dim *const *dims, const Tensor *data, Str name);
/* A window of a tensor: per-axis offset and the sizes of the window. */
uint32_t lower_subtensor(Lower *l, uint32_t tensor, const Dim *const *offset, const Dim *const *dims);
/* A dense tensor in a buffer, from an element on. */
uint32_t lower_place(Lower *l, DType t, uint32_t rank, const Dim *const *dims, uint32_t buffer, const Dim *offset);
/* A step that writes v (over `rank` axes of `dims`) to a tensor of that shape. */
void lower_store(Lower *l, const Virt *v, uint32_t rank, const Dim *const *dims, uint32_t tensor, DiagPlace src);
void lower_materialise(Lower *l, const Value *v, DiagPlace src);
/* Adds a step; the operands' order is the family's. scratch in bytes or NULL. */
void lower_decides(Lower *l, const Dim *symbol); /* by the next step */
Step *lower_step(Lower *l, StepKind kind, const uint32_t *in, size_t n_in, const uint32_t *out, size_t n_out, const void *attr,
                 const Dim *scratch, DiagPlace src);
/* A call of a routine, behind one that measures its results where it asks for that. */
void lower_routine(Lower *l, const ExternAttr *attr, const uint32_t *in, size_t n_in, const uint32_t *out, size_t n_out, DiagPlace src);
/* A dense tensor in a buffer of its own. */
uint32_t lower_tensor(Lower *l, DType t, uint32_t rank, const Dim *const *dims, Buffer b);
/* By buffer: how many steps read it, the one step that writes it, -1 or -2 where there is none or several. */
typedef struct Readers { uint32_t *reads; int32_t *writer; } Readers;
Readers lower_readers(Lower *l);
/* The step that made all of an arena tensor which this is the only read of, if it is of that kind; else NULL. */
const Step *lower_only_maker(Lower *l, const Readers *r, uint32_t tensor, StepKind kind, int32_t *ret_index);
void lower_drop_steps(Lower *l, const bool *gone); /* [steps] */
/* lower_sequence.c: a graph input, and output i, that is a sequence or optional. */
void lower_sequence_input(Lower *l, const Value *v, uint32_t index);
void lower_sequence_output(Lower *l, const Value *v, uint32_t index, Str name);
/* lower_map.c: the same of maps. */
void lower_map_input(Lower *l, const Value *v, uint32_t index);
void lower_map_output(Lower *l, const Value *v, uint32_t index, Str name);
bool lower_unsupported(Lower *l, const Node *n, const char *what);
/* Fuses a pointwise result into the step that made one of its operands; true if done. */
bool lower_try_epilogue(Lower *l, const Node *n, const Virt *const *operands);

#endif
