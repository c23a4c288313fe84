#ifndef CPU_H
#define CPU_H

#include <stddef.h>

/* Whether this machine has a feature named in a CPU row of targets; n: the length of the word. */
int cpu_has(const char *feature, size_t n);

#endif
