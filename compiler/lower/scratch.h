/* Scratch that kernel steps need, in bytes, as the formulas of runtime-lite state it (kernels/conv_f32.h, plane_f32.h,
 * pool_f32.h), as dimension expressions; upper bounds where the kernel adapts to sizes. */
#ifndef CASTNET_SCRATCH_H
#define CASTNET_SCRATCH_H

#include "base/target.h"
#include "lower/program.h"

typedef struct WindowDims { /* three spatial axes, missing ones lead with size 1 */
  const Dim *in[3], *out[3], *kernel[3], *pad_lo[3], *pad_hi[3];
  int64_t stride[3], dilation[3], up[3];
} WindowDims;
/* x [N][C][in...], y [N][M][out...]; kernel: [n] extents. up NULL: no input dilation. */
WindowDims window_dims(DimCtx *c, const PTensor *x, const PTensor *y, uint32_t n, const Dim *const *kernel, const int64_t *stride,
                       const int64_t *dilation, const int64_t *up, const Dim *const *pad_lo, const Dim *const *pad_hi);

const Dim *scratch_pack(DimCtx *c, const Target *t, const Dim *k, const Dim *n, bool rows);
/* A product's copy of a part of its first operand, of so many rows. */
const Dim *scratch_lines(DimCtx *c, const Target *t, const Dim *rows);
const Dim *scratch_conv(DimCtx *c, const Target *t, const WindowDims *w, const Dim *depth);
/* A direct convolution that gains (cn_conv_direct_wins): the band is no more than the image, nor than that may have. */
const Dim *scratch_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *channels);
const Dim *scratch_plane(DimCtx *c, const Target *t, const WindowDims *w, bool counts);

#endif
