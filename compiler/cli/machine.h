/* The machine that castnet runs on, in the levels of targets. */
#ifndef CASTNET_MACHINE_H
#define CASTNET_MACHINE_H

#include "base/target.h"

/* What runs of the target's code where a call may use `isa` (0: what this machine reaches): one of its levels, or the target itself. */
const Target *machine_level(const Target *t, uint32_t isa);

#endif
