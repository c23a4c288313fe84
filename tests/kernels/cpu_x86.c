/* Which features of the target descriptions this CPU has: x86. */
#include "cpu.h"

#include <string.h>

int cpu_has(const char *feature, size_t n) {
#define FEATURE(name) \
  if (n == sizeof name - 1 && !memcmp(feature, name, n)) return __builtin_cpu_supports(name)
  FEATURE("avx2");
  FEATURE("fma");
  FEATURE("avx512f");
  FEATURE("avx512vl");
  FEATURE("avx512bw");
  FEATURE("avx512dq");
  FEATURE("avx512vnni");
#undef FEATURE
  return 0;
}
