/* A bar on the terminal for what takes over a second; nothing elsewhere. */
#ifndef CASTNET_PROGRESS_H
#define CASTNET_PROGRESS_H

#include "cli/cli.h"

typedef struct Progress {
  bool terminal;
  double begin; /* seconds */
  size_t done, total;
  const char *what; /* the present step */
  bool shown;
} Progress;

Progress progress_begin(const Cli *c, size_t total);
/* A step begins, and the one before it is done. NULL is fine. */
void progress_step(Progress *p, const char *what);
void progress_tick(void *progress); /* while waiting */
void progress_end(Progress *p);     /* leaves an empty line behind */

#endif
