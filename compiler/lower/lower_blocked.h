/* Convolutions over blocked channels. */
#ifndef CASTNET_LOWER_BLOCKED_H
#define CASTNET_LOWER_BLOCKED_H

#include "lower/lower_private.h"

bool lower_blocked_conv(Lower *l, const Node *n, ConvStep *s);

#endif
