/* What the builder's files share; nothing outside ir/ includes it. */
#ifndef CASTNET_BUILD_PRIV_H
#define CASTNET_BUILD_PRIV_H

#include "ir/build.h"

enum { CONTENT_MAX = 256 }; /* elements of a tensor whose content is followed at import time */

/* A tensor type after the size checks (E0501); false after a diagnostic. */
bool build_type(Builder *b, DType t, uint32_t rank, const Dim *const *dims, Type *ret);
/* A node with one output. */
Value *build_emit(Builder *b, Op op, Value *const *in, size_t n, Type t, const void *attr);
/* Requires that two dimensions agree; E0402 `what` when they certainly do not. Returns the simpler of the two, or NULL. */
const Dim *build_same_dim(Builder *b, const Dim *x, const Dim *y, const char *what);
const Dim **build_dims_copy(Builder *b, const Dim *const *dims, uint32_t rank);
/* Coefficients for an affine index over `rank` coordinates, all NULL. */
const Dim **build_coefs(Builder *b, uint32_t rank);

/* How an operand's coordinate moves with the result's where size d broadcasts to out: 0, 1, or min(d - 1, 1) where only run
 * time tells. False when it cannot. exact: sizes made of the same symbols are not taken as equal, either. */
bool build_broadcast_coef(Builder *b, const Dim *d, const Dim *out, bool exact, const Dim **ret);

/* ---- content ---- */
/* Number of elements when every dimension is constant and the product at most max. */
bool build_small_count(uint32_t rank, const Dim *const *dims, size_t max, size_t *ret);
/* A value of known content: a constant when all of it is constant, else a DIMS node (cast to t). */
Value *build_known(Builder *b, Type t, const Dim *const *content, size_t n);
/* v as dtype t computes it: the low bits kept. False if that is not an int64. */
bool content_wrap(DType t, int64_t v, int64_t *ret);
/* Floats computed from sizes are believed to be exact where they are for all open sizes, those without a declared maximum, up to this one; others are
 * computed when they are known. */
enum { OPEN_SIZE = 1 << 19 };
/* Whether an element of type t holds d exactly, which else would wrap or be rounded. A float may be d / den, den > 0: exactly if den is a power of two,
 * else such that its floor and ceiling are those of the quotient. */
bool content_holds(DType t, const Dim *d, int64_t den);

/* Output element k of a data movement is element `element` of input `operand`. */
typedef struct MoveSource {
  uint32_t operand;
  size_t element;
} MoveSource;
/* The moved tensor when all that is read is known at import time (content or constant bytes), else NULL. */
Value *build_moved(Builder *b, Type t, Value *const *in, const MoveSource *src, size_t n);
/* Steps a row-major coordinate; false behind the last one. */
bool coord_next(uint32_t rank, const Dim *const *dims, int64_t *coord);
/* Row-major element number; false when a coordinate lies outside. */
bool coord_flat(uint32_t rank, const Dim *const *dims, const int64_t *coord, size_t *ret);
/* Value of an affine index at a constant coordinate; false when it is not constant. */
bool affine_at(const Affine *f, uint32_t rank, const int64_t *coord, int64_t *ret);
/* The value of a point-wise expression when it can be computed at import time, else NULL. `computed`, the expression's node's
 * output if there is one, takes what is known of it but has no content: fractions of sizes. */
Value *build_expr_known(Builder *b, const Expr *e, Value *const *in, size_t n, Type t, Value *computed);

#endif
