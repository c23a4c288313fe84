#include "cli/machine.h"

#if defined(__x86_64__)
#include "isa/x86.h"
#endif

/* The functions of runtime-lite that targets name in their rows, as far as this machine can run them. */
static const struct {
  const char *name;
  uint32_t (*detect)(void);
} detectors[] = {
#if defined(__x86_64__)
    {"cn_isa_x86", cn_isa_x86},
    {"cn_isa_x86_amx", cn_isa_x86_amx},
#endif
    {"", NULL},
};

static uint32_t own_level(const Target *t) {
  for (size_t i = 0; detectors[i].detect; i++)
    if (strcmp(detectors[i].name, t->isa_detect) == 0) return detectors[i].detect();
  return 0;
}

size_t machine_level(const Target *t, uint32_t isa) {
  if (t->n_levels == 0) return 0;
  if (isa == 0) isa = own_level(t);
  size_t i = t->n_levels - 1;
  while (i > 0 && t->levels[i]->isa_level > isa) i--;
  return i;
}
