/* SPDX-License-Identifier: MIT-0 */
/* f32 functions that are computed in f64 and rounded once more. */
#ifndef CN_SCALAR_SINGLE_H
#define CN_SCALAR_SINGLE_H

#include "base.h"
#include <stdint.h>

CN_INLINE float cn_sinh_f32(float x) { return (float)cn_sinh_f64(x); }

CN_INLINE float cn_cosh_f32(float x) { return (float)cn_cosh_f64(x); }

CN_INLINE float cn_asinh_f32(float x) { return (float)cn_asinh_f64(x); }

CN_INLINE float cn_acosh_f32(float x) { return (float)cn_acosh_f64(x); }

CN_INLINE float cn_atanh_f32(float x) { return (float)cn_atanh_f64(x); }

CN_INLINE float cn_erfc_f32(float x) { return (float)cn_erfc_f64(x); }

CN_INLINE float cn_atan_f32(float x) { return (float)cn_atan_f64(x); }

CN_INLINE float cn_atan2_f32(float y, float x) { return (float)cn_atan2_f64(y, x); }

#endif
