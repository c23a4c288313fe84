/* SPDX-License-Identifier: MIT-0 */
/* Which level of the x86-64 psABI this machine reaches. By hand, since __builtin_cpu_supports wants data of libgcc. */
#ifndef CN_ISA_X86_H
#define CN_ISA_X86_H

#include <cpuid.h>
#include <stddef.h>
#include <stdint.h>

#include "castnet_abi.h"

/* What runs before it is known what the machine can do: every x86-64 has to execute it, whatever the file is compiled for. No
 * function of another target is inlined here, nor called: macros only. */
#define CN_ISA_BASELINE __attribute__((target("arch=x86-64")))

/* Register state that the operating system saves (XCR0); asked only after CPUID said that XGETBV is there. */
CN_ISA_BASELINE static inline uint32_t cn_isa_xcr0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* 1 x86-64, 2 x86-64-v2 (SSE4.2, POPCNT), 3 x86-64-v3 (AVX2, FMA, BMI), 4 x86-64-v4 (AVX-512 F, BW, CD, DQ, VL),
 * 5 with AVX-512 VNNI too. */
CN_ISA_BASELINE static inline uint32_t cn_isa_x86(void) {
  const uint32_t v2_c = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23; /* SSE3 SSSE3 CX16 SSE4.1/2 POPCNT */
  const uint32_t v3_c = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;          /* FMA MOVBE OSXSAVE AVX F16C */
  const uint32_t v3_b = 1u << 3 | 1u << 5 | 1u << 8;                                   /* BMI1 AVX2 BMI2 */
  const uint32_t v4_b = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;          /* F DQ CD BW VL */
  uint32_t a, b, c, d, b7, c7, most;
  __cpuid(0, most, b, c, d);
  if (most < 1) return 1;
  __cpuid(1, a, b, c, d);
  if ((c & v2_c) != v2_c) return 1;
  if ((c & v3_c) != v3_c || most < 7) return 2;
  __cpuid_count(7, 0, a, b7, c7, d);
  if ((b7 & v3_b) != v3_b) return 2;
  __cpuid(0x80000000u, a, b, c, d);
  if (a < 0x80000001u) return 2;
  __cpuid(0x80000001u, a, b, c, d);
  const uint32_t saved = cn_isa_xcr0();
  if ((saved & 0x6u) != 0x6u || !(c & 1u << 5)) return 2; /* LZCNT */
  if ((b7 & v4_b) != v4_b || (saved & 0xe6u) != 0xe6u) return 3;
  return c7 & 1u << 11 ? 5 : 4;
}

/* Whether AMX's tiles with bf16 products are there and this process may use them, for which it asks: Linux wants that before a process's first tile (arch_prctl,
 * ARCH_REQ_XCOMP_PERM of XTILEDATA), since each thread's state grows by 8 KB. Elsewhere no. */
CN_ISA_BASELINE static inline int cn_isa_tiles(void) {
#if defined(__linux__) && defined(__x86_64__)
  uint32_t a, b, c, d;
  long status = 158; /* the number of arch_prctl */
  __cpuid_count(7, 0, a, b, c, d);
  if (!(d & 1u << 22) || !(d & 1u << 24) || (cn_isa_xcr0() & 3u << 17) != 3u << 17) return 0; /* AMX-BF16, AMX-TILE */
  __asm__ volatile("syscall" : "+a"(status) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return status == 0;
#else
  return 0;
#endif
}

/* The levels of cn_isa_x86, and 6 with AMX too. */
CN_ISA_BASELINE static inline uint32_t cn_isa_x86_amx(void) {
  const uint32_t isa = cn_isa_x86();
  return isa == 5 && cn_isa_tiles() ? 6 : isa;
}

/* What env->isa says, 0 where it says nothing. */
CN_ISA_BASELINE static inline uint32_t cn_isa_said(const castnet_env *env) {
  return env != NULL && env->size >= offsetof(castnet_env, isa) + sizeof env->isa ? env->isa : 0;
}

/* The level that a call may use: what env->isa says, or the machine where it says nothing. */
CN_ISA_BASELINE static inline uint32_t cn_isa_x86_of(const castnet_env *env) {
  const uint32_t isa = cn_isa_said(env);
  return isa != 0 ? isa : cn_isa_x86();
}

CN_ISA_BASELINE static inline uint32_t cn_isa_x86_amx_of(const castnet_env *env) {
  const uint32_t isa = cn_isa_said(env);
  return isa != 0 ? isa : cn_isa_x86_amx();
}

#endif
