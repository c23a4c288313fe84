/* SPDX-License-Identifier: MIT-0 */
/* Complex numbers as elements: moved, chosen, compared and added, part by part. */
#ifndef CN_SCALAR_COMPLEX_H
#define CN_SCALAR_COMPLEX_H

#include <stdint.h>

#include "castnet_abi.h"

static inline uint8_t cn_eq_c64(castnet_c64 a, castnet_c64 b) { return a.re == b.re && a.im == b.im; }

static inline uint8_t cn_eq_c128(castnet_c128 a, castnet_c128 b) { return a.re == b.re && a.im == b.im; }

static inline uint8_t cn_ne_c64(castnet_c64 a, castnet_c64 b) { return !cn_eq_c64(a, b); }

static inline uint8_t cn_ne_c128(castnet_c128 a, castnet_c128 b) { return !cn_eq_c128(a, b); }

static inline castnet_c64 cn_add_c64(castnet_c64 a, castnet_c64 b) {
  const castnet_c64 sum = {a.re + b.re, a.im + b.im};
  return sum;
}

static inline castnet_c128 cn_add_c128(castnet_c128 a, castnet_c128 b) {
  const castnet_c128 sum = {a.re + b.re, a.im + b.im};
  return sum;
}

static inline castnet_c64 cn_select_c64(uint8_t c, castnet_c64 a, castnet_c64 b) { return c ? a : b; }

static inline castnet_c128 cn_select_c128(uint8_t c, castnet_c128 a, castnet_c128 b) { return c ? a : b; }

#endif
