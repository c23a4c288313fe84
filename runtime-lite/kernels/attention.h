/* SPDX-License-Identifier: MIT-0 */
/* Sizes of attention, for kernels and for castnet's memory planning alike. */
#ifndef CN_KERNELS_ATTENTION_H
#define CN_KERNELS_ATTENTION_H

/* Queries at a time, keys at a time: their scores are 48 KiB. Any layer's NR divides the keys. */
#define CN_ATTENTION_QUERIES 48

#define CN_ATTENTION_KEYS 256

/* Keys at a time that may be masked for a whole band of queries: four vectors of any layer, so that the sums without them are the same. */
#define CN_ATTENTION_CHUNK 64

#endif
