/* Helpers that several import families share, and the meanings of rows' arguments. */
#ifndef CASTNET_OPS_SHARED_H
#define CASTNET_OPS_SHARED_H

#include "ops/import.h"

/* import_reduce */
enum {
  RED_SUM = REDUCE_SUM, RED_PROD = REDUCE_PROD, RED_MAX = REDUCE_MAX, RED_MIN = REDUCE_MIN,
  RED_MEAN = 100, RED_L1, RED_L2, RED_LOG_SUM, RED_LOG_SUM_EXP, RED_SUM_SQUARE
};
/* import_softmax */
enum { SOFTMAX_PLAIN, SOFTMAX_LOG, SOFTMAX_HARD };

/* Sets output k; false when building it failed (and was reported). */
static inline bool op_give(OpContext *c, size_t k, Value *v) {
  c->out[k] = v;
  return v != NULL;
}
static inline bool op_wants(const OpContext *c, size_t k) { return k < c->n_out && c->node->outputs[k].len > 0; }
static inline const char *op_shape(OpContext *c, size_t k) { return build_shape_text(&c->b, c->in[k]); }
static inline DimCtx *op_dims(const OpContext *c) { return c->b.ir->dims; }
static inline Arena *op_arena(const OpContext *c) { return c->b.ir->arena; }

/* A list of integers from attribute `name` or constant input k, whichever is there. *ret_given false when neither is.
 * False after a diagnostic (E0306: not constant). */
bool op_int_list(OpContext *c, const char *name, size_t input, const int64_t **ret, size_t *ret_n, bool *ret_given);
/* Requires rank lo..hi of input k (E0402). */
/* Input k, where it is given, holds one element. */
bool op_one_element(OpContext *c, size_t k);
bool op_rank_in(OpContext *c, size_t k, uint32_t lo, uint32_t hi);
/* The rank that the model declares for output k, or -1. */
int64_t op_declared_rank(const OpContext *c, size_t k);
/* Input k, where it is a vector of open length, has n elements: compared in the call. n < 0: nothing says it. E0402 where it cannot be. */
bool op_hold_length(OpContext *c, size_t k, int64_t n);
/* A number (s64, one element) that only data tell, and that the result's rank hangs on, in lo..hi, but at most 8: what it is in this import, in which the import function may
 * rely on it where it checks it in the call, too. False where what follows has to be imported for one value after the other: the import function
 * returns false then, and is called again. Once a node, before anything is checked. */
bool op_choose(OpContext *c, Value *number, int64_t lo, int64_t hi, int64_t *ret);
/* As op_hold_length; where nothing says the length (told < 0) it is chosen. */
bool op_choose_length(OpContext *c, size_t k, int64_t told, int64_t lo, int64_t hi);
/* Input k, where it is a vector of integers of open length, has at most n elements, and is filled up to that. */
bool op_fill_length(OpContext *c, size_t k, int64_t n, bool in_front, int64_t fill);
/* v with its rank raised to `rank` so that its one axis is axis `axis` of it; scalars stay. For per-channel operands. */
Value *op_along_axis(OpContext *c, Value *v, uint32_t rank, uint32_t axis);
/* The axis attribute, made positive. */
bool op_axis_attr(OpContext *c, const char *name, int64_t absent, uint32_t rank, uint32_t *ret);
/* Mask of axes first .. rank - 1. */
static inline uint32_t axes_from(uint32_t first, uint32_t rank) { return first >= rank ? 0 : ((1u << (rank - first)) - 1) << first; }
/* Scalar constant of v's element type. */
Value *op_scalar_like(OpContext *c, const Value *v, double x);
/* v, interpolated in f32 or f64, as t. Integers are truncated, but what rounding alone left just below a whole number is that number, so that an image of one value
 * stays one. */
Value *op_interpolated(OpContext *c, Value *v, DType t);

/* A constant [n] of host elements, strings as Str, which live on. */
Value *op_vector(OpContext *c, DType t, size_t n, const void *host);
/* x at integer places `index` (any shape, checked) of `axis`: the index's axes stand where that was. */
Value *op_gather(OpContext *c, Value *x, Value *index, uint32_t axis);
/* Elements of a vector at places `index` (s64, any shape), checked. */
Value *op_take(OpContext *c, Value *vector, Value *index);
/* n distinct host elements (of equal ones the first) as constants: themselves, ascending, and where each was (s64). */
bool op_sorted(OpContext *c, DType type, size_t n, const void *host, Value **ret_keys, Value **ret_places);
/* x cast to or from strings. */
Value *op_cast_text(OpContext *c, Value *x, DType to);
/* A vector with elements `updates` at places `index` (wrapped once if negative, checked). */
Value *op_scatter_vector(OpContext *c, Value *v, Value *updates, Value *index);
/* Axes that only data decides, as s64 [rank]: 1 where the vector of *ret_n axes names one, else 0. */
Value *op_axes_flags(OpContext *c, Value *axes, uint32_t rank, uint32_t *ret_n);
/* A vector of `rank - n_flagged` elements: those of `v` (s64 [rank]) whose flag is 0, in order. */
Value *op_unflagged(OpContext *c, Value *v, Value *flags, uint32_t rank, uint32_t n_flagged);

/* A routine of runtime-lite (ops.def) with integers for attributes. `scratch` in bytes, or NULL; types of results as build_extern's:
 * their data symbols are what it decides. A random one is neither folded nor shared. */
typedef struct RoutineInt { const char *name; int64_t v; } RoutineInt;
bool op_routine(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs, const Dim *scratch,
                const Type *types, size_t n_out, Value **ret);
bool op_routine_random(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs,
                       const Dim *scratch, const Type *types, size_t n_out, Value **ret);

/* The same, called once more before, without room for its results (data NULL): then it only decides their dimensions. For results
 * whose data symbols have no bound. */
bool op_routine_measured(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs,
                         const Type *types, size_t n_out, Value **ret);

/* Sliding windows: attributes kernel_shape, strides, dilations, pads, auto_pad of convolution and pooling. */
typedef struct Window {
  uint32_t n;
  int64_t kernel[MAX_RANK]; /* 0 where only the weights' size in a call tells it */
  int64_t stride[MAX_RANK], dilation[MAX_RANK];
  const Dim *taps[MAX_RANK]; /* the kernel's sizes */
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  bool same; /* auto_pad SAME_*: the output size is decided by it */
} Window;
/* Sizes of a window by the last n axes of weights; open ones are those of attribute kernel_shape where there is one, and *w gets them. */
bool op_kernel_sizes(OpContext *c, Value **w, uint32_t n, const Dim **ret);
/* Over the last n axes of x. kernel NULL: from the attribute, else given (and the attribute must agree). Padding as auto_pad says. */
bool op_window(OpContext *c, const Value *x, uint32_t n, const Dim *const *kernel, Window *ret);
/* From the first element that a window reads on axis i to the last one. */
const Dim *op_window_span(OpContext *c, const Window *w, uint32_t i);
/* AveragePool with the node's attributes of x [N][C][spatial...]. */
Value *op_average_pool(OpContext *c, Value *x);
/* v as a scalar when it has one element, else v; NULL stays NULL. For scales and zero points. */
Value *op_single(OpContext *c, Value *v);
/* Products of integers in s32; zero points are scalars, one a row of x, one a column of y, or NULL. */
Value *op_matmul_integer(OpContext *c, Value *x, Value *x_zero, Value *y, Value *y_zero);
/* The integers of `bits` bits, low bits first, in rows of bytes: u8 v [rows][bytes] as u8 [rows][bytes * 8 / bits]. */
Value *op_unpacked(OpContext *c, Value *v, const Dim *rows, const Dim *bytes, int64_t bits);
/* The exact sum of products of integers times both scales, in f32, plus a bias; zero points and bias may be NULL. */
Value *op_scaled_product(OpContext *c, Value *x, Value *x_scale, Value *x_zero, Value *w, Value *w_scale, Value *w_zero, Value *bias);
/* The channels' axis moved from the end to axis 1, or back. */
Value *op_channels_moved(OpContext *c, Value *x, bool back);
/* Elements start .. start + count of an axis, both at least 0; E0402, or a check of the call, where it has fewer. */
Value *op_part(OpContext *c, Value *x, uint32_t axis, const Dim *start, const Dim *count);
/* v, required to have x's shape (E0402). */
Value *op_keep_shape(OpContext *c, Value *v, const Value *x);
/* ai.onnx.ml's post_transform of scores [N][M]. NULL after a diagnostic. */
Value *op_post_transform(OpContext *c, Value *scores);
/* Conv with the node's attributes; bias and zero points may be NULL. NULL after a diagnostic. */
Value *op_conv(OpContext *c, Value *x, Value *w, Value *bias, Value *x_zero, Value *w_zero);
/* y through com.microsoft's attribute 'activation', with its n parameters. NULL after a diagnostic. */
Value *op_activation(OpContext *c, Value *y, const float *p, size_t n);

#endif
