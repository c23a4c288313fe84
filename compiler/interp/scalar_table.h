/* The scalar functions as a table: one row of scalar.def each. Generated code prints calls of them, the interpreter evaluates
 * strips of elements with the very same functions.
 *
 * Functions exist for compute types (dtype_compute). Narrow floats and sub-byte integers are cast around them: a strip of
 * a sub-byte type holds one element a byte (s4 and s2 sign-extended; f4e2m1 as its code). */
#ifndef CASTNET_SCALAR_TABLE_H
#define CASTNET_SCALAR_TABLE_H

#include "ir/dtype.h"

typedef enum ScalarFn {
#define SCALAR(name, arity, types, result, c_format) SC_##name,
#include "scalar.def"
#undef SCALAR
  SC_COUNT
} ScalarFn;

typedef struct ScalarRow {
  const char *name;     /* "exp": the function for f32 is cn_exp_f32 */
  unsigned arity;       /* 1 to 3; the first argument of select is b1, all others have the function's type */
  uint32_t types;       /* bit DT_x: exists for compute type x */
  DType result;         /* DT_NONE: as the last argument */
  const char *c_format; /* infix C text that means the same for floats, a %s an argument; or NULL */
} ScalarRow;
extern const ScalarRow scalar_rows[SC_COUNT];

bool scalar_exists(ScalarFn fn, DType t);      /* t or its compute type */
DType scalar_result(ScalarFn fn, DType t);     /* type of fn's result when computed at t (t itself, or b1) */
ScalarFn scalar_from_name(Str name);           /* SC_COUNT if unknown */

/* out[i] = fn(args[0][i], ...) for n elements of compute type t, for which fn exists. out may be one of args. */
void scalar_eval_strip(ScalarFn fn, DType t, const void *const *args, void *out, size_t n);

/* A conversion is a path of at most CAST_STEPS calls, innermost first: f16 -> s4 is cn_cast_f16_f32, cn_cast_f32_s8, cn_sat_s4.
 * Paths round once: where an intermediate float could round, it is rounded to odd. */
enum { CAST_STEPS = 4 };
typedef struct CastStep {
  const char *name; /* of the function of one argument */
  DType from, to;   /* types as stored: a step to s4 takes and gives int8_t */
  void (*strip)(const void *in, void *out, size_t n);
} CastStep;

bool cast_exists(DType from, DType to); /* both numeric: no strings, no complex numbers */
/* Number of steps, 0 for a plain copy. saturate: for float8 targets; all else saturates or wraps as docs/NUMERICS.md says. */
size_t cast_path(DType from, DType to, bool saturate, const CastStep *ret[CAST_STEPS]);
void cast_eval_strip(DType from, DType to, bool saturate, const void *in, void *out, size_t n); /* in and out disjoint */

/* The same for the value of type `to` that has x's bits, between types as computed (dtype_compute): f16 -> s16 is cn_cast_f32_f16, cn_cast_u16_s16. */
bool bits_exist(DType from, DType to); /* both numeric, of one width */
size_t bits_path(DType from, DType to, const CastStep *ret[CAST_STEPS]);
void bits_eval_strip(DType from, DType to, const void *in, void *out, size_t n); /* strips of the compute types, disjoint */

size_t dtype_strip_size(DType t); /* bytes of an element in a strip */

#endif
