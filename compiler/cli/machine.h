/* The machine that castnet runs on, in the levels of targets. */
#ifndef CASTNET_MACHINE_H
#define CASTNET_MACHINE_H

#include "base/target.h"

/* Which of the target's levels runs where a call may use `isa` (0: what this machine reaches); 0 where it has none. */
size_t machine_level(const Target *t, uint32_t isa);

#endif
