/* Programs kept between runs of castnet, in $XDG_CACHE_HOME/castnet or ~/.cache/castnet. */
#ifndef CASTNET_CACHE_H
#define CASTNET_CACHE_H

#include "cli/builder.h"

/* The path of the program built from what lies in the folder with these options, or NULL where there is no cache. */
const char *cache_path(Cli *c, const BuildOptions *o, const Workdir *w, const castnet *m);
bool cache_has(const char *path);
/* Keeps a program; a failure is no error. */
void cache_put(Cli *c, const char *program, const char *path);

#endif
