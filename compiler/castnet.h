/* castnet as a library: an ONNX model in, C source out.
 *
 * A `castnet` object is one compile: make it, compile once, read what came of it, write the files, free it. Objects are
 * independent of each other; one is used by one thread at a time. Everything returned belongs to the object.
 * Structs that the caller fills begin with `size` (sizeof of the caller's struct); they grow only at their end, and
 * zero is the default of each member. Nothing here exits, prints, or changes the process. */
#ifndef CASTNET_CASTNET_H
#define CASTNET_CASTNET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct castnet castnet;

/* Also the exit codes of the command line. */
typedef enum castnet_status {
  CASTNET_STATUS_OK = 0,
  CASTNET_STATUS_MODEL = 1,       /* the model or its data is at fault, or uses what is not supported */
  CASTNET_STATUS_USAGE = 2,       /* an option is */
  CASTNET_STATUS_DIFFERS = 3,     /* a check disagreed */
  CASTNET_STATUS_ENVIRONMENT = 4, /* out of memory, a full disk, no C compiler */
  CASTNET_STATUS_BUG = 5          /* castnet is */
} castnet_status;

/* Bytes that need not be text and are not terminated. */
typedef struct castnet_slice {
  const char *ptr;
  size_t length;
} castnet_slice;

const char *castnet_version(void); /* "0.1.0" */
castnet *castnet_new(void);        /* NULL when out of memory */
void castnet_free(castnet *c);     /* NULL is fine */

/* ---- compiling ---------------------------------------------------------------------------------------------------- */
typedef struct castnet_dim_bound {
  const char *name; /* of a symbolic dimension in the model */
  int64_t lo, hi;   /* its range, 0 <= lo <= hi; equal ones fix it */
} castnet_dim_bound;

/* Nodes of this type call a C function of the user's (castnet_op in generated headers). */
typedef struct castnet_custom_op {
  const char *domain, *type, *symbol;
} castnet_custom_op;

typedef struct castnet_options {
  size_t size;
  const char *name;    /* every external symbol and file starts with it, made a C identifier; NULL: the model file's stem */
  const char *target;  /* castnet_target_name; NULL: "c99" */
  const char *weights; /* "auto", "c", "asm", "embed" or "bin"; NULL: "auto" */
  const char *outputs; /* who owns outputs: "caller" or "workspace"; NULL: "caller" */
  const castnet_dim_bound *dims;
  size_t n_dims;
  const castnet_custom_op *ops;
  size_t n_ops;
  int no_fuse;         /* neither optimise the graph nor fuse steps: the program as the model says it */
  int allow_symlinks;  /* external data may be reached through symbolic links */
  uint64_t max_memory; /* bytes of working memory, 0: no limit */
  /* The text form after a stage ("model", "graph", "passes", "program", "plan") goes to dump, and compiling ends there. */
  const char *dump_stage;
  void (*dump)(void *user, const char *text, size_t length);
  void *dump_user;
  int float_qdq;       /* compute between DequantizeLinear and QuantizeLinear in float as written, not in integers */
  int no_reuse;        /* every tensor has memory of its own: to find faults of planning */
  const char *threads; /* "on": steps worth it run in shares on castnet_env.parallel_for; "off": none; "all": all that can, to find faults; NULL: by the target */
  int poison;          /* between steps the code overwrites all of the workspace that no later one reads: to find faults of planning */
  int ignore_output_shapes; /* sizes that the graph's outputs are declared to have are not believed, where only data decide them */
  int no_winograd;     /* compute 3x3 convolutions directly, not by Winograd's tiles where these are quicker */
  int no_blocks;       /* keep channels plain: no convolution computes on blocks of a vector's channels */
  int flush_subnormals; /* a call takes operands and results below the least normal number as zero */
  int keep_subnormals; /* weights of products and convolutions below the least normal number are what they are, not zero (slow on x86) */
} castnet_options;

/* Compiles the model at `path`; options may be NULL. Whatever is not CASTNET_STATUS_OK left diagnostics. */
castnet_status castnet_compile(castnet *c, const char *path, const castnet_options *options);

/* Writes the fixed set of files into `dir`, which is made if its parent exists: all of them, or nothing that builds. */
castnet_status castnet_write(castnet *c, const char *dir);
/* A depfile for make and ninja: the files of castnet_write(c, dir) depend on all that was read. */
castnet_status castnet_write_depfile(castnet *c, const char *path, const char *dir);
/* Names of the files of a compile, known without it, in the order in which they are written. */
size_t castnet_n_files(const castnet *c);
const char *castnet_file_name(const castnet *c, size_t i);

/* ---- diagnostics -------------------------------------------------------------------------------------------------- */
typedef struct castnet_diagnostic {
  const char *code;      /* "E0303" */
  castnet_status status; /* what a process that ends with it returns */
  castnet_slice file, node_name, op_type, domain; /* empty where they do not apply */
  int64_t node;          /* index in its graph, -1 where there is none */
  castnet_slice text;    /* one line */
  castnet_slice tensors; /* the tensors concerned, may be empty */
  castnet_slice hint;    /* what to do, may be empty */
  const char *printed;   /* all of it as the command line prints it: up to three lines */
} castnet_diagnostic;

size_t castnet_n_diagnostics(const castnet *c);
const castnet_diagnostic *castnet_get_diagnostic(const castnet *c, size_t i);
size_t castnet_n_dropped_diagnostics(const castnet *c); /* beyond the most that are kept */

/* ---- what was compiled --------------------------------------------------------------------------------------------- */
typedef enum castnet_kind { CASTNET_KIND_TENSOR, CASTNET_KIND_SEQUENCE, CASTNET_KIND_OPTIONAL, CASTNET_KIND_MAP } castnet_kind;

typedef struct castnet_extent {
  int64_t value;  /* -1: known at run time only */
  int32_t symbol; /* index of the dimension in castnet_interface.dims that it equals, else -1 */
} castnet_extent;

typedef struct castnet_type {
  castnet_kind kind;
  int dtype;                       /* tensor: TensorProto.DataType; map: of the values */
  int key;                         /* map: of the keys */
  size_t rank;                     /* tensor */
  const castnet_extent *dims;      /* tensor: [rank] */
  const struct castnet_type *elem; /* sequence, optional */
} castnet_type;

/* A member of N_inputs or N_outputs. */
typedef struct castnet_field {
  castnet_slice name; /* in the model */
  const char *c_name; /* in C */
  castnet_type type;
  int sized; /* outputs: {data, capacity, dims}, else a pointer */
  int owned; /* outputs: by the library, else by the caller (no capacity where it is the library's) */
} castnet_field;

/* A member of N_dims. */
typedef struct castnet_dim_field {
  castnet_slice name;
  const char *c_name;
  int64_t lo, hi;
} castnet_dim_field;

typedef struct castnet_interface {
  const char *prefix; /* N */
  const char *cflags; /* what generated code is to be built with */
  const castnet_field *inputs, *outputs;
  size_t n_inputs, n_outputs;
  const castnet_dim_field *dims; /* none: no N_dims, no N_workspace_size */
  size_t n_dims;
  int weights_at_run_time; /* castnet_env.weights must point to N_weights.bin */
  const char *const *sources; /* [n_sources] the C files but that of the weights, the last of them with N_run: "N.c" */
  size_t n_sources;
  const char *device; /* what pointers of inputs and outputs are to: "cuda"; "": the memory of the machine that calls */
  int big_endian;          /* the target's byte order */
} castnet_interface;

/* NULL before a successful compile. */
const castnet_interface *castnet_get_interface(const castnet *c);

/* Bytes; 0 where sizes are not known before the call. */
typedef struct castnet_memory {
  uint64_t workspace;       /* as planned */
  uint64_t lower_bound;     /* no plan for this order of steps needs less */
  uint64_t file_order_peak; /* live at most when the nodes run unfused in the file's order */
} castnet_memory;
castnet_memory castnet_get_memory(const castnet *c);

/* Of a target that is code for several levels of machines, each of them, ascending; else the target itself. */
typedef struct castnet_level {
  const char *target;
  uint32_t isa;         /* what castnet_env.isa must reach; 0: every machine */
  uint64_t workspace;   /* bytes that the level needs by itself; 0 where sizes are not known before the call */
  uint64_t weights;     /* bytes of constants that it reads */
  uint64_t own_weights; /* of those that no other level reads */
} castnet_level;
size_t castnet_n_levels(const castnet *c);
castnet_level castnet_get_level(const castnet *c, size_t i);
/* Levels differ in sizes, and so in what is best in which order: what follows, and castnet_get_memory, is that of one of them, until another is
 * chosen of the one that needs the most workspace. */
void castnet_choose_level(castnet *c, size_t i);

/* A call of N_run, of the number that castnet_env.step gets. */
typedef struct castnet_step {
  const char *function;
  castnet_slice node_name, op_type; /* the ONNX node; the last one when several are fused */
  int64_t macs, bytes; /* multiply-accumulates of products and convolutions; bytes read and written once; -1: known at run time only */
  castnet_slice ops;   /* the types of all nodes that it computes: "Conv, Relu" */
  castnet_slice how;   /* "nest", "gemm", "conv direct", "conv winograd 4x4", a routine's name ... */
} castnet_step;
size_t castnet_n_steps(const castnet *c);
castnet_step castnet_get_step(const castnet *c, size_t i);

/* What an inspection shows of the plan: buffers of the workspace over the steps of the program. Offsets are -1 where they
 * are known at run time only. */
typedef struct castnet_buffer {
  castnet_slice name;    /* of the value first held; empty: scratch and values without a name */
  int64_t offset, bytes;
  size_t first, last;    /* steps: written, last used */
  int64_t storage_of;    /* the buffer written over in place, else -1 */
} castnet_buffer;
size_t castnet_n_buffers(const castnet *c);
castnet_buffer castnet_get_buffer(const castnet *c, size_t i);

typedef struct castnet_plan_step {
  const char *kind;                 /* "nest", "conv", ... */
  castnet_slice node_name, op_type; /* the ONNX node; the last one when several are fused */
} castnet_plan_step;
size_t castnet_n_plan_steps(const castnet *c);
castnet_plan_step castnet_get_plan_step(const castnet *c, size_t i);

typedef struct castnet_size {
  uint64_t nodes, parameters, parameter_bytes; /* of the model's file: nodes; elements and bytes of initializers and Constant nodes, in bodies too */
  uint64_t subnormal_parameters;               /* of those, float32 numbers between 0 and 2^-126 */
  uint64_t weights;                            /* bytes that the generated code holds or is given */
} castnet_size;
castnet_size castnet_get_size(const castnet *c);

/* ---- tables -------------------------------------------------------------------------------------------------------- */
const char *castnet_target_name(size_t i); /* NULL behind the last */

#ifdef __cplusplus
}
#endif
#endif
