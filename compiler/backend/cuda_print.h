/* What the printers of CUDA kernels share. A step is one `__global__` function and its launch in N_run. */
#ifndef CASTNET_CUDA_PRINT_H
#define CASTNET_CUDA_PRINT_H

#include "backend/emit_kernel.h"
#include "backend/emit_nest.h"

enum { CUDA_THREADS = 256, CUDA_TILE = 64 }; /* runtime-lite/cuda: CN_CUDA_THREADS, CN_CUDA_TILE */

bool cuda_nest(EmitCtx *c, const Step *s);
bool cuda_contract(EmitCtx *c, const Step *s);
bool cuda_conv(EmitCtx *c, const Step *s);
bool cuda_pool(EmitCtx *c, const Step *s);
bool cuda_recurrent(EmitCtx *c, const Step *s);

bool cuda_mentions(EmitCtx *c, Str text, const char *word);

/* Declares the coordinates that `text` mentions, of the row-major number `flat` over the axes that `in` names (NULL: all). */
typedef struct CudaPoint {
  const char *flat, *type; /* "p", "int64_t" */
  uint32_t n;
  const Dim *const *extent; /* [n] */
  const bool *in;           /* [n] */
  const Str *coords;        /* [n] */
} CudaPoint;
void cuda_declare_point(EmitCtx *c, StrBuf *b, const CudaPoint *p, Str text, unsigned indent);
/* A dimension behind `/` or `%`. */
void cuda_divisor(EmitCtx *c, StrBuf *b, const Dim *d);
/* The number of points. */
const Dim *cuda_points(EmitCtx *c, const CudaPoint *p);

/* The function with the body in k, and its launch in `blocks` blocks. Every symbol of the body must be in k. */
void cuda_finish(KernelPrinter *k, bool may_fail, const Dim *blocks);
const Dim *cuda_blocks(EmitCtx *c, const Dim *threads);

#endif
