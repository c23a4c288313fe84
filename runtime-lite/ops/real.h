/* SPDX-License-Identifier: MIT-0 */
/* Elements of f32 and f64 tensors as double: routines compute in it, one source for both, and round once. */
#ifndef CN_OPS_REAL_H
#define CN_OPS_REAL_H

#include "base.h"

CN_INLINE double cn_real_load(const castnet_tensor *t, size_t i) {
  return t->dtype == 11 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

CN_INLINE void cn_real_store(const castnet_tensor *t, size_t i, double v) {
  if (t->dtype == 11) ((double *)t->data)[i] = v;
  else ((float *)t->data)[i] = (float)v;
}

#endif
