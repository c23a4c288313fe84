/* Winograd's minimal filtering for convolutions over blocked channels: where it is worth it and its error is small, and its weights. */
#ifndef CASTNET_WINOGRAD_H
#define CASTNET_WINOGRAD_H

#include "base/target.h"
#include "lower/program.h"

#include "kernels/window.h"

/* From so many bands on it does not matter whether shares take whole ones. */
enum { WINOGRAD_MANY_BANDS = 16 };

/* w: the convolution, w->m its output channels in whole blocks; weights [m][c][3][3]; room: bytes that a call's scratch may take;
 * shared: bands, or the groups of one band, are to be an even number. */
Winograd winograd_choose(const Target *t, const cn_window *w, const float *weights, size_t m, int64_t room, bool shared);

/* Weights [m][c][3][3], transformed in double and rounded once: [places][groups][c][blocks of the group][lanes], zeros behind m. */
float *winograd_pack(Arena *a, const Winograd *v, const float *weights, size_t m, size_t c, size_t lanes);

#endif
