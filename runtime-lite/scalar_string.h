/* SPDX-License-Identifier: MIT-0 */
/* Strings as elements: bytes of any value, equal where length and bytes are. */
#ifndef CN_SCALAR_STRING_H
#define CN_SCALAR_STRING_H

#include <stdint.h>
#include <string.h>

#include "castnet_abi.h"

static inline uint8_t cn_eq_str(castnet_string a, castnet_string b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.ptr, b.ptr, a.length) == 0);
}

static inline uint8_t cn_ne_str(castnet_string a, castnet_string b) { return !cn_eq_str(a, b); }

static inline castnet_string cn_select_str(uint8_t c, castnet_string a, castnet_string b) { return c ? a : b; }

#endif
