/* SPDX-License-Identifier: MIT-0 */
/* The layer of simd/avx512.h with AVX-512 VNNI: pairs are multiplied and added to the sums by one instruction. */
#ifndef CN_SIMD_AVX512VNNI_H
#define CN_SIMD_AVX512VNNI_H

#include "simd/avx512.h"

#undef CN_SIMD
#define CN_SIMD __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,avx2,fma")))

CN_KERNEL cn_vs32 cn_vs32_dot2_vnni(cn_vs32 a, cn_vs32 b, cn_vs32 acc) { return _mm512_dpwssd_epi32(acc, a, b); }

/* In place of that of simd/avx512.h. */
#define cn_vs32_dot2 cn_vs32_dot2_vnni

#endif
