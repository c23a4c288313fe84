/* Reading files by mapping them. A mapping lives as long as the arena. */
#ifndef CASTNET_IO_H
#define CASTNET_IO_H

#include "base/base.h"
#include "base/diag.h"

/* Maps the regular file behind fd read only and closes fd. An empty file gives an empty, non-NULL slice. NULL, or why
 * not ("is a directory"). */
const char *file_map_fd(Arena *a, int fd, Str *ret);
/* The same by path; false after E0002. */
bool file_map(Arena *a, Diags *d, const char *path, Str *ret);

#endif
