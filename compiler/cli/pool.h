/* The pool of threads (runtime-lite/pool/) as files. */
#ifndef CASTNET_POOL_FILES_H
#define CASTNET_POOL_FILES_H

#include "base/diag.h"

/* castnet_pool.h and castnet_pool.c into an existing folder. False after E0003. */
bool pool_write(Arena *a, Diags *d, const char *dir);

#endif
