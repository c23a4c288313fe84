/* Which driver of runtime-lite runs a sliding window. */
#ifndef CASTNET_WINDOW_H
#define CASTNET_WINDOW_H

#include "lower/scratch.h"

#include "kernels/blocked.h"

/* The WINDOW row of kernels.def that does what `general` does for this window, or general (always where code is to be small). */
const char *window_driver(const Target *t, const char *general, const WindowDims *w);

/* Scratch in bytes of a direct convolution where all sizes are known and the target gains by it, else NULL. */
const Dim *window_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels,
                         const Dim *m);

/* The same where heights or widths are open and a direct convolution gains at usual ones (dim_eval): each call decides, so the scratch is no more than one that
 * gains may have. NULL without vectors, where the code of one driver is enough. */
const Dim *window_open_direct(DimCtx *c, const Target *t, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels,
                              const Dim *m);

/* The window of a convolution over blocked channels, whose heights and widths may be open. */
typedef struct BlockedWindow {
  cn_window most;      /* large ones in place of those that are open, and as many images: what needs no less memory */
  cn_window usual;     /* one image, of usual sizes (dim_eval) where they are open */
  const Dim *out[2];   /* height and width of the output */
  bool open, many;     /* sizes are; the number of images is */
} BlockedWindow;

/* Of a step with attr.block: images, or slices of volumes, whose window has their number as its first dimension. */
WindowDims window_blocked_dims(DimCtx *c, const PTensor *x, const PTensor *y, const ConvStep *s);
BlockedWindow window_blocked(DimCtx *c, const WindowDims *w, const Dim *images, int64_t groups, const Dim *channels, const Dim *m);
/* Bytes of scratch of a call; none where it computes no blocks. */
const Dim *window_blocked_scratch(DimCtx *c, const Target *t, const BlockedWindow *w, cn_blocked_input input, const BlockedCall *call);

#endif
