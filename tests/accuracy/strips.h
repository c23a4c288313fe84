/* What is done for each of 2^32 arguments, strip by strip. */
#ifndef ACCURACY_STRIPS_H
#define ACCURACY_STRIPS_H

#include <stddef.h>
#include <stdint.h>

#define ACCURACY(name, parity, c, mpfr, f32, f64) \
  void screen_##name(const float *x, double *want, size_t n); \
  void judged_##name(const float *x, float *got, size_t n);
#include "accuracy/functions.def"
#undef ACCURACY

typedef struct StripFormat {
  double least, most; /* powers of two: the smallest normal number, the largest number's binade */
  double scale;       /* 2^(digits - 1) */
} StripFormat;

size_t strip_open(const StripFormat *f, const float *got, const double *want, double limit, size_t n);
size_t strip_asymmetric(const float *got, const float *mirrored, uint32_t flip, size_t n);

#endif
