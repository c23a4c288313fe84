/* Convolutions over blocked channels. */
#ifndef CASTNET_LOWER_BLOCKED_H
#define CASTNET_LOWER_BLOCKED_H

#include "lower/lower_private.h"

bool lower_blocked_conv(Lower *l, const Node *n, ConvStep *s);
/* Of images, or any tensor: at usual sizes where they are open, of one where their number is; 2^40 where they are more. */
int64_t lower_usual_bytes(DType t, uint32_t rank, const Dim *const *dims);
/* Blocks at a time with which one driver does all of a convolution's; 0: only one by one, or in tiles that waste more of an image of so many pixels. */
uint32_t lower_blocked_even(const Target *t, const ConvStep *s, size_t pixels);
/* How a pointwise convolution computes whose input s->before computes, so many blocks at a time, and what it needs; the weights for that. */
uint32_t lower_blocked_computed(Lower *l, ConvStep *s, uint32_t wide, uint32_t weights, uint32_t out);

#endif
