/* SPDX-License-Identifier: MIT-0 */
/* Every routine of ops.def. */
#ifndef CN_OPS_ALL_H
#define CN_OPS_ALL_H

#include "castnet_abi.h"

#include "ops/bits.h"
#include "ops/automaton.h"
#include "ops/boxes.h"
#include "ops/det.h"
#include "ops/find.h"
#include "ops/fourier.h"
#include "ops/linear_attention.h"
#include "ops/maps.h"
#include "ops/ngrams.h"
#include "ops/number_text.h"
#include "ops/order.h"
#include "ops/random.h"
#include "ops/regions.h"
#include "ops/text.h"
#include "ops/svm.h"
#include "ops/sequence.h"
#include "ops/sequence_io.h"
#include "ops/trees.h"

#endif
