/* What a Cortex-M4F needs before main: vectors, .data, .bss, the FPU; the four functions of string.h; semihosting. */
#include "firmware.h"

#include <string.h>

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, STOPPED_BY_APPLICATION = 0x20026 };

static void semihost(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void firmware_print(const char *text) { semihost(SYS_WRITE0, text); }

void firmware_exit(int code) {
  const uint32_t block[2] = {STOPPED_BY_APPLICATION, (uint32_t)code};
  semihost(SYS_EXIT_EXTENDED, block);
  for (;;) continue;
}

static void fault(void) {
  firmware_print("a fault\n");
  firmware_exit(3);
}

static void reset(void) {
  volatile uint32_t *const cpacr = (volatile uint32_t *)0xe000ed88u;
  *cpacr |= 0xfu << 20; /* CP10 and CP11: the FPU */
  __asm__ volatile("dsb\nisb" ::: "memory");
  for (uint32_t *to = data_start, *from = data_load; to < data_end;) *to++ = *from++;
  for (uint32_t *p = bss_start; p < bss_end;) *p++ = 0;
  firmware_exit(main());
}

/* Initial stack pointer, reset, NMI, faults, ... */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  unsigned char *d = to;
  const unsigned char *s = from;
  for (size_t i = 0; i < n; i++) d[i] = s[i];
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  unsigned char *d = to;
  const unsigned char *s = from;
  if (d < s) return memcpy(to, from, n);
  while (n--) d[n] = s[n];
  return to;
}

void *memset(void *p, int c, size_t n) {
  unsigned char *d = p;
  for (size_t i = 0; i < n; i++) d[i] = (unsigned char)c;
  return p;
}

int memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < n; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
