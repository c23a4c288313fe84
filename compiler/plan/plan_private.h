/* Shared by the files of planning. */
#ifndef CASTNET_PLAN_PRIVATE_H
#define CASTNET_PLAN_PRIVATE_H

#include "plan/plan.h"

enum { ALIGN = 64 };


typedef struct Planner {
  Arena *a;
  Program *p;
  Life *life;        /* by buffer */
  const Dim **bytes; /* by buffer: size, aligned, data-dependent parts at their bounds */
  int64_t *typical;  /* by symbol: the value that sizes are compared at */
  int64_t *level;    /* by buffer: the step that decides its size, NOT_DECIDED: known before the call */
  const int64_t *block; /* by step: program_blocks */
  bool *again;       /* by step: a loop decides its sizes anew */
  bool *owned;       /* by buffer: an output that lies in the workspace */
} Planner;

/* Whether the buffer has storage of its own in the workspace. */
bool plan_has_place(const Planner *l, size_t buffer);

/* Bytes live at most in the steps' present order, results in place taken into account. */
size_t plan_live_peak(Planner *l);

/* join.c: lets what is copied into a part of a larger buffer lie there from the start. */
void plan_join(Planner *l);

/* regions.c: places what open symbols decide behind the rest, and fills program->regions. */
bool plan_regions(Planner *l, Diags *d, bool reuse);
/* Checks what plan_check cannot, offsets that are expressions (dynamic: all, else those of the regions): buffers at one place live apart, but for what is replaced in place; a place
 * is known when it is first used. Lives as the steps have them. */
bool plan_check_slots(const Planner *l, Diags *d, bool dynamic);

#endif
