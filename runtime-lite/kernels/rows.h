/* SPDX-License-Identifier: MIT-0 */
/* Sizes of rows, for kernels and for what chooses them alike. */
#ifndef CN_KERNELS_ROWS_H
#define CN_KERNELS_ROWS_H

/* Vectors of a row that softmax holds in registers from its maximum to its quotients, at most. */
#define CN_SOFTMAX_SHORT 8

#endif
