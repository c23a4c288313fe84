/* SPDX-License-Identifier: MIT-0 */
/* Sizes of attention, for kernels and for castnet's memory planning alike. */
#ifndef CN_KERNELS_ATTENTION_H
#define CN_KERNELS_ATTENTION_H

/* Queries at a time, keys at a time: their scores are 48 KiB. Any layer's NR divides the keys. */
#define CN_ATTENTION_QUERIES 48

#define CN_ATTENTION_KEYS 256

#endif
