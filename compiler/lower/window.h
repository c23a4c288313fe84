/* Which driver of runtime-lite runs a sliding window whose sizes are known but for the batch. */
#ifndef CASTNET_WINDOW_H
#define CASTNET_WINDOW_H

#include "lower/scratch.h"

#include "kernels/window.h"

/* The WINDOW row of kernels.def that does what `general` does for this window, or general (always where code is to be small). */
const char *window_driver(const Target *t, const char *general, const WindowDims *w);

/* Scratch in bytes of a direct convolution where all sizes are known and the target gains by it, else NULL. */
const Dim *window_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels,
                         const Dim *m);

/* Bytes of scratch of a call for `blocks` output blocks of a convolution over blocked channels, n at a time; w->images: those of the call, or
 * many where they are not known. */
const Dim *window_blocked_scratch(DimCtx *c, const Target *t, const cn_window *w, bool plain, size_t blocks, size_t n);
/* Such a convolution in runtime-lite's terms, of one image. False where a size is not known. */
bool window_blocked(DimCtx *c, const WindowDims *w, int64_t groups, const Dim *channels, const Dim *m, cn_window *ret);

#endif
