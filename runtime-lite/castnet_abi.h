/* SPDX-License-Identifier: MIT-0 */
/* The common part of every generated header, the same text in each. runtime-lite includes it for the types. */
#include <stddef.h>
#include <stdint.h>

#if defined(CASTNET_ABI) && CASTNET_ABI != 1
#error "headers of different castnet ABIs in one translation unit"
#endif
#ifndef CASTNET_ABI
#define CASTNET_ABI 1

/* What a call returns. */
enum {
  CASTNET_OK = 0,
  CASTNET_ERR_WORKSPACE = 1, /* the workspace is too small: ws_needed of the outputs says how much is */
  CASTNET_ERR_ALIGN = 2,     /* the workspace, or the weights, do not have the alignment that the header states */
  CASTNET_ERR_CAPACITY = 3,  /* an output has no room: dims are filled, nothing was written */
  CASTNET_ERR_DIM = 4,       /* a dimension is out of range, dimensions do not fit together, or a size overflows */
  CASTNET_ERR_INDEX = 5,     /* an index in the data is out of range */
  CASTNET_ERR_ISA = 6,       /* this machine lacks instructions that the code was compiled for */
  CASTNET_ERR_WEIGHTS = 7,   /* the weights are missing, of another version, or belong to other code */
  CASTNET_ERR_TRIP = 8,      /* a loop went on beyond max_trip */
  CASTNET_ERR_OP = 9,        /* a custom operator failed, or data that an operator refuses */
  CASTNET_ERR_DEVICE = 10    /* an accelerator refused a launch or a copy */
};

/* The environment of a call. All zero is the default, as is NULL; read up to `size`, grows only at its end. */
typedef struct castnet_env {
  size_t size;         /* sizeof(castnet_env) of the caller */
  const void *weights; /* --weights=bin: the content of N_weights.bin, aligned to 64 bytes */
  size_t weights_size;
  /* Calls fn(arg, i) for each i < n, in any order, on any threads, and returns 0 when all are done. NULL: this thread. */
  int (*parallel_for)(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg);
  void *parallel_user;
  uint32_t isa; /* what N_detect() returned; 0: detected in the call */
  uint32_t line_ns; /* nanoseconds that a cache line takes to another of parallel_for's threads and back: where that is long, small models use one; 0: little */
  uint64_t seed;     /* of random operators */
  uint64_t max_trip; /* the most rounds of a loop; 0: no limit */
  void (*step)(void *user, uint32_t step, int phase); /* called before (phase 0) and after (phase 1) each step */
  void *step_user;
  void *state;  /* --state: recurrent state, updated in place */
  void *stream; /* accelerators */
  /* With parallel_for, for the same user: calls fn(arg, from, to), from < to, so that each i < n lies in one range, as parallel_for does
   * fn(arg, i): neighbours at once, which saves what each does for itself. NULL: parallel_for does all. */
  int (*parallel_ranges)(void *user, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg);
  uint32_t threads; /* that parallel_for and parallel_ranges have, the caller's with them: more than two, and steps are parted finer; 0: two */
} castnet_env;

/* Bytes, UTF-8 where the model says text; not terminated. */
typedef struct castnet_string {
  const char *ptr;
  size_t length;
} castnet_string;

/* Bit patterns of the element types that C has not. */
typedef uint16_t castnet_f16;
typedef uint16_t castnet_bf16;
typedef uint8_t castnet_f8e4m3fn;
typedef uint8_t castnet_f8e4m3fnuz;
typedef uint8_t castnet_f8e5m2;
typedef uint8_t castnet_f8e5m2fnuz;
typedef uint8_t castnet_f8e8m0;
typedef uint8_t castnet_f6e2m3; /* in the low 6 bits */
typedef uint8_t castnet_f6e3m2;
typedef struct castnet_c64 { float re, im; } castnet_c64;
typedef struct castnet_c128 { double re, im; } castnet_c128;

/* A tensor of any type and shape, row-major: operands of custom operators. */
typedef struct castnet_tensor {
  void *data;      /* inputs are not written; NULL in outputs of a first call that asks for their shapes only */
  int64_t *dims;   /* [rank] */
  uint32_t rank;
  uint32_t dtype;  /* TensorProto.DataType: 1 float, 2 uint8, 3 int8, ... */
  size_t capacity; /* elements that data has room for */
} castnet_tensor;

/* An attribute of a custom operator. `kind` names the member; the plural ones have n elements. */
enum { CASTNET_INT, CASTNET_FLOAT, CASTNET_STRING, CASTNET_INTS, CASTNET_FLOATS, CASTNET_STRINGS };
typedef struct castnet_attr {
  const char *name;
  int kind;
  size_t n;
  union {
    int64_t i;
    float f;
    castnet_string s;
    const int64_t *ints;
    const float *floats;
    const castnet_string *strings;
  } value;
} castnet_attr;

/* A custom operator (--op domain::Type=symbol): CASTNET_OK or an error, which the call returns. */
typedef int castnet_op(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out,
                       const castnet_attr *attrs, size_t n_attrs, void *scratch, size_t scratch_size,
                       const castnet_env *env);
#endif
