/* The builder: how import functions make canonical nodes. Each function checks types and shapes, infers the result,
 * folds the content of small integer tensors through (shape arithmetic), and returns the new value. On bad arguments it
 * reports at the builder's place and returns a value of the right type where possible, else NULL; NULL inputs give NULL. */
#ifndef CASTNET_BUILD_H
#define CASTNET_BUILD_H

#include "ir/ir.h"

typedef struct Builder {
  Ir *ir;
  Graph *graph;
  DiagPlace place;
} Builder;

BASE_PRINTF(3, 4) Diag *build_error(Builder *b, DiagCode code, const char *fmt, ...);

/* `[2, n + 1]`, for diagnostics. */
const char *build_dims_text(Builder *b, const Dim *const *dims, uint32_t rank);
const char *build_shape_text(Builder *b, const Value *v);
/* What a user may say where sizes are not known that have to be; empty where only data know it. To be put behind a diagnostic. */
const char *build_open_hint(Builder *b, const Dim *const *dims, uint32_t n);

/* ---- dimensions, shorthands ---- */
const Dim *bd_const(Builder *b, int64_t v);
/* A new data-dependent dimension lo..hi, bound (may be NULL) above by an expression. */
const Dim *bd_data_symbol(Builder *b, const char *what, int64_t lo, int64_t hi, const Dim *bound);
/* Content of v as expressions if known at compile time (constant or symbolic), else NULL: integers, bools, and whole sizes that
 * an exporter converted to f32 or f64. */
const Dim *const *build_content(Builder *b, Value *v, size_t *ret_n);
/* The elements of an integer tensor as dimensions: its content, or new data symbols that a SYMBOLS node reads at run time.
 * E0306 when the number of elements is unknown or over 256. */
typedef struct ReadDims {
  const char *what;         /* names the symbols */
  int64_t lo, hi;           /* their range */
  const Dim *const *bound;  /* [n] what each is at most, or NULL */
  const Dim *const *exact;  /* [n] what the model declares each to be, NULL elements: nothing; checked at run time; or NULL */
  int64_t count;            /* how many a vector of open length has to have, compared at run time; 0: nothing says it */
} ReadDims;
const Dim *const *build_read(Builder *b, Value *v, ReadDims r, size_t *ret_n);
const Dim *const *build_read_dims(Builder *b, Value *v, const char *what, int64_t lo, int64_t hi, const Dim *const *bound, size_t *ret_n);
/* Makes each size that data decide one new symbol where there are several such, so that strides are products of symbols and not of sums. exact: as in
 * ReadDims, or NULL. */
bool build_name_dims(Builder *b, const char *what, const Dim **dims, const Dim *const *exact, uint32_t rank);
/* Same, all constants: copies into an array. False when not known or not constant. */
bool build_const_ints(Builder *b, Value *v, const int64_t **ret, size_t *ret_n);
/* Constant float scalar or vector (any float or integer type, as double). */
bool build_const_floats(Builder *b, Value *v, const double **ret, size_t *ret_n);
/* The size that two sizes of an axis broadcast to; NULL when they cannot, which is not reported. */
const Dim *build_broadcast_dim(Builder *b, const Dim *x, const Dim *y);
/* The size that x expands to where `want` is asked for, which is 1 or that size; NULL when it cannot. resolved: x stands in want where that was 1. */
const Dim *build_expand_dim(Builder *b, const Dim *x, const Dim *want, bool resolved);
/* NumPy broadcasting of n shapes; false after an error. ret_dims holds MAX_RANK. Where only run time tells whether an
 * operand's size is 1, the operand is replaced by a view of the result's size, and that it is 1 or that size is checked. */
bool build_broadcast(Builder *b, Value **v, size_t n, uint32_t *ret_rank, const Dim **ret_dims);

/* ---- constants ---- */
Value *build_scalar_f(Builder *b, DType t, double v);  /* rank 0 */
Value *build_scalar_i(Builder *b, DType t, int64_t v); /* rank 0, integer or bool */
Value *build_zero(Builder *b, DType t);                /* rank 0, of any type: 0, false, the empty string */
Value *build_tensor(Builder *b, DType t, uint32_t rank, const int64_t *dims, const void *bytes); /* content of a Tensor, copied */
Value *build_ints(Builder *b, const int64_t *v, size_t n);                                       /* s64 vector */
Value *build_floats(Builder *b, const float *v, size_t n);                                       /* f32 vector */
Value *build_dims(Builder *b, const Dim *const *content, size_t n);                              /* s64 vector of dimension values */
Value *build_dim_scalar(Builder *b, const Dim *d);                                               /* s64 scalar */

/* ---- element-wise ---- */
Value *build_fn1(Builder *b, ScalarFn fn, Value *x);
Value *build_fn2(Builder *b, ScalarFn fn, Value *x, Value *y); /* same type; broadcasts */
Value *build_fn3(Builder *b, ScalarFn fn, Value *x, Value *y, Value *z);
Value *build_cast(Builder *b, Value *x, DType to, bool saturate); /* x itself when of that type */
Value *build_bits(Builder *b, Value *x, DType to); /* the values that have x's bits; bits_exist(x's type, to) */
/* An expression over n operands, broadcast together (and with `dims` if rank >= 0: the output's shape). */
Value *build_expr(Builder *b, Expr e, Value *const *in, size_t n, int rank, const Dim *const *dims);

/* ---- data movement ---- */
Value *build_reshape(Builder *b, Value *x, uint32_t rank, const Dim *const *dims); /* counts must agree */
Value *build_transpose(Builder *b, Value *x, const uint32_t *perm);
Value *build_expand(Builder *b, Value *x, uint32_t rank, const Dim *const *dims); /* NumPy broadcast to exactly dims */
Value *build_expand_exact(Builder *b, Value *x, uint32_t rank, const Dim *const *dims); /* same; to those of build_expand_dim */
Value *build_squeeze(Builder *b, Value *x, uint32_t axes_mask);
Value *build_unsqueeze(Builder *b, Value *x, uint32_t out_axes_mask); /* bits are output axes */
/* out[i] = x[start + i*step] on one axis, `count` elements. */
Value *build_slice(Builder *b, Value *x, uint32_t axis, const Dim *start, const Dim *count, const Dim *step);
Value *build_view(Builder *b, Value *x, uint32_t rank, const Dim *const *dims, const Affine *index);
Value *build_pad(Builder *b, Value *x, PadMode mode, const Dim *const *lo, const Dim *const *hi, Value *value /* or NULL */);
Value *build_concat(Builder *b, Value *const *in, size_t n, uint32_t axis);
Value *build_gather(Builder *b, Value *const *in, size_t n, uint32_t rank, const Dim *const *dims, const GatherAxis *axes);
/* The affine index that is output coordinate j of `rank` coordinates; or a constant. */
Affine build_affine_coord(Builder *b, uint32_t rank, uint32_t j);
Affine build_affine_const(Builder *b, uint32_t rank, const Dim *d);
Value *build_scatter(Builder *b, ScatterKind kind, Value *const *in, size_t n, const GatherAxis *axes);

/* ---- reductions and composites ---- */
/* keepdims false squeezes. axes_mask 0 reduces nothing. Mean is a sum divided by the count. */
Value *build_reduce(Builder *b, ReduceKind kind, Value *x, uint32_t axes_mask, bool keepdims);
Value *build_reduce_mean(Builder *b, Value *x, uint32_t axes_mask, bool keepdims);
Value *build_arg(Builder *b, bool max, Value *x, uint32_t axis, bool keepdims, bool last);
Value *build_scan(Builder *b, ScalarFn fn, Value *x, uint32_t axis, bool exclusive, bool reverse);
Value *build_matmul(Builder *b, Value *x, Value *y);                                       /* NumPy matmul */
Value *build_matmul_acc(Builder *b, Value *x, Value *y, DType acc, Value *x_zero, Value *y_zero); /* as build_contract's */
/* acc DT_NONE: chosen by type. zero points NULL if none. */
Value *build_contract(Builder *b, Value *x, const uint8_t *lx, Value *y, const uint8_t *ly, const uint8_t *lout, uint32_t out_rank,
                      DType acc, Value *x_zero, Value *y_zero);
Value *build_codes(Builder *b, Value *x, Value *codes, Value *scales, Value *zeros /* or NULL */, CodesAttr attr);
Value *build_conv(Builder *b, Value *x, Value *w, Value *bias, Value *x_zero, Value *w_zero, ConvAttr attr);
/* ret_indices NULL if not wanted. ceil rounds the output size up as ONNX says. */
Value *build_pool(Builder *b, Value *x, PoolAttr attr, bool ceil_mode, Value **ret_indices);
Value *build_lrn(Builder *b, Value *x, LrnAttr attr); /* x of rank 3 or more */
Value *build_softmax(Builder *b, Value *x, SoftmaxAttr attr);
Value *build_norm(Builder *b, NormKind kind, Value *x, Value *scale, Value *bias, uint32_t axis, float epsilon);
bool build_recurrent(Builder *b, Value *const *in /* [8] */, RecurrentAttr attr, Value **ret /* [3] */);
/* ---- sequences and optionals: runtime-lite/ops/sequence.h says how they lie in memory ---- */
/* What tensors of a sequence take: bytes of elements; lines before them; lines in all. */
const Dim *build_seq_item_bytes(Builder *b, DType t, uint32_t rank, const Dim *const *dims);
int64_t build_seq_head_lines(uint32_t rank);
const Dim *build_seq_item_lines(Builder *b, DType t, uint32_t rank, const Dim *const *dims);
/* The type of a sequence in at most so many lines; false after a diagnostic. */
bool build_seq_type(Builder *b, SeqType s, const Dim *lines, Type *ret);
/* What holds of the tensors of both; the form is x's. */
SeqType build_seq_join(Builder *b, SeqType x, SeqType y);
/* What stands for both of two values, of different branches or iterations: NULL when they are tensors. An optional sequence may take the
 * place of a sequence. False when they do not go together, which is not reported. */
bool build_seq_merge(Builder *b, const Type *x, const Type *y, const SeqType **ret);
SeqType build_seq_of(const Type *t); /* a sequence of tensors of that type */

/* Any runtime function; out_types decide the results. */
bool build_extern(Builder *b, ExternAttr attr, Value *const *in, size_t n_in, const Type *out_types, size_t n_out, Value **ret);

#endif
