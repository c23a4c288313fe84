/* SPDX-License-Identifier: MIT-0 */
/* The tables of kernels/trees_f32.h, for any vector width, since the compiler writes them. */
#ifndef CN_KERNELS_TREES_H
#define CN_KERNELS_TREES_H

#define CN_TREES_GROUP 16 /* trees whose nodes lie side by side, whatever the vectors */

#define CN_TREES_LEAVES 32 /* of a tree at most */

/* Where a NaN leads. */
#define CN_TREES_NAN_NO 0 /* as if the comparison did not hold */

#define CN_TREES_NAN_YES 1

#define CN_TREES_NAN_EITHER 2 /* as the node says */

#endif
