/* Which features of the target descriptions this CPU has: x86. */
#include "cpu.h"

#include <string.h>

#include "isa/x86.h"

int cpu_has(const char *feature, size_t n) {
#define FEATURE(name) \
  if (n == sizeof name - 1 && !memcmp(feature, name, n)) return __builtin_cpu_supports(name)
  FEATURE("avx2");
  FEATURE("fma");
  if (n == 4 && !memcmp(feature, "f16c", n)) return cn_isa_x86() >= 3; /* no word of clang 14 */
  FEATURE("avx512f");
  FEATURE("avx512vl");
  FEATURE("avx512bw");
  FEATURE("avx512dq");
  FEATURE("avx512vnni");
  if ((n == 8 && !memcmp(feature, "amx-tile", n)) || (n == 8 && !memcmp(feature, "amx-bf16", n))) return cn_isa_x86_amx() >= 6; /* asks for it, too */
#undef FEATURE
  return 0;
}
