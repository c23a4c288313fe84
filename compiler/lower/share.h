/* Which steps run in shares on the caller's threads, in how many, and with how much scratch. A share's work follows from sizes alone, so
 * that results do not depend on threads. */
#ifndef CASTNET_SHARE_H
#define CASTNET_SHARE_H

#include "base/target.h"
#include "lower/program.h"

/* Fills `share` of main's steps and gives each share its scratch; before planning. all: of every step that can be parted, to find faults. */
void program_share(Program *p, const Target *t, bool all);

/* How one step would be parted, its memory apart (n 0: not). */
StepShare step_share(const Program *p, const Target *t, const Step *s);

/* Bytes of scratch that one of n shares of a convolution needs which computes its input (ConvStep.before): of its own pixels, no more than go together. */
int64_t share_computed_bytes(const ConvStep *s, uint32_t n);

/* By step: bytes of the workspace that are in use while it runs, scratch apart. bytes: of a tensor, or of its buffer; the largest one counts. */
int64_t *share_live_bytes(Arena *a, const Program *p, int64_t (*bytes)(const Program *p, uint32_t tensor));

/* Whether neighbours along the axis share lines of the cache, where elements are written or where some are read: it is parted by whole lines. */
bool share_by_lines(const Nest *n, uint32_t axis);

/* The planned step as nests may be parted: nothing is read that another share may have overwritten. */
bool share_is_safe(const Program *p, const Nest *n);

#endif
