/* The public options as the stages take them. */
#ifndef CASTNET_OPTIONS_H
#define CASTNET_OPTIONS_H

#include "castnet.h"
#include "pipeline.h"

/* False after E0001. Texts are copied; ret->dump is left to the caller. */
bool castnet_read_options(Arena *a, Diags *d, const char *path, const castnet_options *o, PipelineOptions *ret);

/* For castnet's own tools: to be called before castnet_compile. */
void castnet_on_graph(castnet *c, GraphHook hook, void *user);

#endif
