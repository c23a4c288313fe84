#include "cli/progress.h"

#include <stdio.h>
#include <time.h>

enum { BAR = 30, WHAT = 40 };

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Progress progress_begin(const Cli *c, size_t total) {
  return (Progress){.terminal = c->terminal, .begin = now(), .total = total};
}

void progress_tick(void *progress) {
  static const char full[] = "##############################", empty[] = "..............................";
  Progress *p = progress;
  if (!p->terminal || !p->what || now() - p->begin < 1.0) return;
  int n = p->done >= p->total ? BAR : (int)(p->done * BAR / p->total);
  (void)fprintf(stderr, "\r[%.*s%.*s] %zu/%zu %-*.*s", n, full, BAR - n, empty, p->done, p->total, WHAT, WHAT, p->what);
  (void)fflush(stderr);
  p->shown = true;
}

void progress_step(Progress *p, const char *what) {
  if (!p) return;
  if (p->what) p->done++;
  p->what = what;
  progress_tick(p);
}

void progress_end(Progress *p) {
  if (p->shown) (void)fprintf(stderr, "\r%*s\r", BAR + WHAT + 24, "");
  *p = (Progress){0};
}
