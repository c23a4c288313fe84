/* SPDX-License-Identifier: MIT-0 */
/* The geometry of sliding windows, shared by convolution and pooling: which element of the input a place of the output
 * reads at a tap of the kernel. One to three spatial dimensions; missing ones lead and have size 1. */
#ifndef CN_KERNELS_WINDOW_H
#define CN_KERNELS_WINDOW_H

#include "base.h"

/* Tensors are [images][groups * c][in...] and [images][groups * m][out...]. Output o at tap t reads place
 * (o * stride + t * dilation - pad) / up where that is whole and inside of the input, else the fill value. */
typedef struct cn_window {
  size_t images, groups, c, m; /* c, m: channels of one group; pooling has groups = channels, c = m = 1 */
  size_t in[3], out[3], kernel[3], stride[3], dilation[3];
  size_t up[3];     /* input dilation, 1 for a plain convolution: the stride of a transposed one */
  ptrdiff_t pad[3]; /* before the first element; negative crops */
  size_t pad_end[3]; /* behind the last, where CN_POOL_INCLUDE_PAD counts it; windows may reach beyond it (ceil mode) */
} cn_window;

CN_INLINE size_t cn_volume(const size_t dims[3]) { return dims[0] * dims[1] * dims[2]; }

/* A convolution without a window (1x1, stride 1, no padding) sees the image as one row. */
CN_INLINE cn_window cn_window_flat(const cn_window *w) {
  cn_window flat = *w;
  int plain = 1;
  for (int i = 0; i < 3; i++)
    plain &= w->kernel[i] == 1 && w->stride[i] == 1 && w->up[i] == 1 && w->pad[i] == 0 && w->in[i] == w->out[i];
  if (plain) {
    flat.in[2] = flat.out[2] = cn_volume(w->in);
    flat.in[0] = flat.in[1] = flat.out[0] = flat.out[1] = 1;
  }
  return flat;
}

/* Place read along an axis, -1 where there is none. */
CN_INLINE ptrdiff_t cn_window_place(const cn_window *w, int axis, size_t o, size_t tap) {
  ptrdiff_t x = (ptrdiff_t)(o * w->stride[axis] + tap * w->dilation[axis]) - w->pad[axis];
  if (x < 0) return -1;
  if (w->up[axis] != 1) {
    if ((size_t)x % w->up[axis]) return -1;
    x = (ptrdiff_t)((size_t)x / w->up[axis]);
  }
  return (size_t)x < w->in[axis] ? x : -1;
}

/* Minus infinity, which C99 can name only through math.h: what a maximum starts from. */
CN_INLINE float cn_least_f32(void) {
  const uint32_t bits = 0xff800000u;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The taps along an axis, from *ret_first on, of which one of the outputs o .. o + count sees the input, not padding alone (without input dilation). */
CN_INLINE size_t cn_window_taps(const cn_window *w, int axis, size_t o, size_t count, size_t *ret_first) {
  const ptrdiff_t d = (ptrdiff_t)w->dilation[axis], before = w->pad[axis] - (ptrdiff_t)((o + count - 1) * w->stride[axis]);
  const ptrdiff_t room = (ptrdiff_t)w->in[axis] + w->pad[axis] - (ptrdiff_t)(o * w->stride[axis]); /* from the first window's start to the input's end */
  const size_t first = before > 0 ? cn_min((size_t)((before + d - 1) / d), w->kernel[axis]) : 0;
  const size_t end = room > 0 ? cn_min((size_t)((room + d - 1) / d), w->kernel[axis]) : 0;
  *ret_first = first;
  return end > first ? end - first : 0;
}

/* What a pool does with its window; neither average nor sum: the maximum. */
#define CN_POOL_AVERAGE 1u

#define CN_POOL_INCLUDE_PAD 2u

#define CN_POOL_SUM 4u

/* Elements of a window that an average divides by, along one axis: those inside, or inside of the padded input. */
CN_INLINE size_t cn_pool_count(const cn_window *w, unsigned flags, int axis, size_t o) {
  size_t count = 0;
  if (!(flags & CN_POOL_AVERAGE)) return 1;
  for (size_t t = 0; t < w->kernel[axis]; t++) {
    if (flags & CN_POOL_INCLUDE_PAD) {
      const ptrdiff_t end = (ptrdiff_t)(w->in[axis] + w->pad_end[axis]) + w->pad[axis];
      count += (ptrdiff_t)(o * w->stride[axis] + t * w->dilation[axis]) < end;
    } else {
      count += cn_window_place(w, axis, o, t) >= 0;
    }
  }
  return cn_max(count, 1);
}

/* First output o with o * stride + tap * dilation - pad >= bound (without input dilation), at most out. */
CN_INLINE size_t cn_window_first(const cn_window *w, int axis, size_t tap, size_t bound) {
  ptrdiff_t x = (ptrdiff_t)bound + w->pad[axis] - (ptrdiff_t)(tap * w->dilation[axis]);
  if (x <= 0) return 0;
  return cn_min(w->out[axis], w->stride[axis] == 1 ? (size_t)x : cn_ceil_div((size_t)x, w->stride[axis]));
}

#endif
