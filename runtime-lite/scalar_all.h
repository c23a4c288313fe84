/* SPDX-License-Identifier: MIT-0 */
/* Every scalar function, for castnet's own interpreter and for tests; generated code takes only the chunks that it needs. */
#ifndef CN_SCALAR_ALL_H
#define CN_SCALAR_ALL_H

#include <stddef.h>
#include <stdint.h>

#include "scalar_float.h"
#include "scalar_int.h"
#include "scalar_logic.h"
#include "scalar_compare.h"
#include "scalar_mod.h"
#include "scalar_cast.h"
#include "scalar_cast_int.h"
#include "scalar_f16.h"
#include "scalar_f8.h"
#include "scalar_packed.h"
#include "scalar_sqrt.h"
#include "scalar_exp.h"
#include "scalar_log.h"
#include "scalar_hyperbolic.h"
#include "scalar_special.h"
#include "scalar_arc.h"
#include "scalar_trig.h"
#include "scalar_single.h"
#include "scalar_complex.h"
#include "scalar_string.h"
#include "scalar_pow.h"

#endif
