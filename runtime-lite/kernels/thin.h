/* SPDX-License-Identifier: MIT-0 */
/* Sizes of products of few rows, for kernels and for what chooses them alike. */
#ifndef CN_KERNELS_THIN_H
#define CN_KERNELS_THIN_H

/* Rows, at most: they share what is read of the other operand. */
#define CN_THIN_ROWS 8

#endif
