/* NumPy's .npy files, versions 1 to 3: row-major, little-endian; structs are not read. Strings are bytes ("S") or characters
 * ("U") of one width, padded with zeros. */
#ifndef CASTNET_NPY_H
#define CASTNET_NPY_H

#include "base/diag.h"
#include "frontend/model.h"

/* bfloat16 and the 8-bit floats of ml_dtypes come as void types of their size (V1, V2); `hint`, a TensorProto.DataType, says
 * what they are, and is taken where the widths agree. NULL after E0601. */
const OnnxTensor *npy_read(Arena *a, Diags *d, const char *path, int hint);
/* Whether .npy can say what t holds: no string ends with a zero byte. */
bool npy_holds(const OnnxTensor *t);
/* Strings are written as "S". Types that NumPy has not are written as void types of their size, sub-byte types one element a byte. False after E0003 or
 * E0601 (what npy_holds refuses). */
bool npy_write(Arena *a, Diags *d, const char *path, const OnnxTensor *t);

#endif
