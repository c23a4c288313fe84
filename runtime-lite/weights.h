/* SPDX-License-Identifier: MIT-0 */
/* The head of N_weights.bin, and the check that weights belong to the code. */
#ifndef CN_WEIGHTS_H
#define CN_WEIGHTS_H

#include <stdint.h>
#include <string.h>

#include "castnet_abi.h"

/* The first 64 bytes, in the byte order of the target. Weights fit code when `code` is equal: then only their values may differ. */
typedef struct cn_weights_header {
  char magic[8]; /* "CASTNETW" */
  uint32_t version, header_size;
  uint64_t size;       /* bytes, this header included */
  uint64_t code[2];    /* XXH128 of the code that reads them */
  uint64_t content[2]; /* XXH128 of what follows the header */
  uint64_t set;        /* the run of castnet that wrote them */
} cn_weights_header;

/* CASTNET_OK if the weights at p, of at least `size` bytes, belong to the code with the given hash. */
static inline int cn_weights_check(const void *p, size_t given, size_t size, uint64_t code_hi, uint64_t code_lo) {
  cn_weights_header h;
  if (p == NULL || given < size) return CASTNET_ERR_WEIGHTS;
  if ((uintptr_t)p % 64 != 0) return CASTNET_ERR_ALIGN;
  memcpy(&h, p, sizeof h);
  if (memcmp(h.magic, "CASTNETW", 8) != 0 || h.version != 1 || h.header_size != sizeof h || h.size != size) return CASTNET_ERR_WEIGHTS;
  return h.code[0] == code_hi && h.code[1] == code_lo ? CASTNET_OK : CASTNET_ERR_WEIGHTS;
}

/* The same for weights that were built in: they must come from the same run as the code. */
static inline int cn_weights_check_set(const void *p, uint64_t set) {
  cn_weights_header h;
  memcpy(&h, p, sizeof h);
  return memcmp(h.magic, "CASTNETW", 8) == 0 && h.set == set ? CASTNET_OK : CASTNET_ERR_WEIGHTS;
}

#endif
