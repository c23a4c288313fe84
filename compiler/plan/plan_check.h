/* The plan checker: whether a memory plan is sound. Shares no code with what makes plans; runs on every compile.
 * O(n log n). */
#ifndef CASTNET_PLAN_CHECK_H
#define CASTNET_PLAN_CHECK_H

#include "base/base.h"

typedef struct PlanItem {
  int64_t lower, upper;       /* live in steps [lower, upper): written in step lower, last read in step upper - 1 */
  size_t offset, size, align; /* bytes; align a power of two */
} PlanItem;

/* Item b lies in the storage of item a, from byte `at` of a on, and wholly inside. An item has at most one such a. */
typedef enum PlanAliasKind {
  ALIAS_IN_PLACE, /* b replaces a: the step that writes b is the last that reads a, or anything that a is a part of */
  ALIAS_SLICE,    /* b is a piece of a's value; a lives as long as b does. Slices may overlap */
  ALIAS_PART      /* b is written where a has it (concat); a lives as long as b does. Parts of one a do not overlap */
} PlanAliasKind;

typedef struct PlanAlias {
  size_t a, b; /* indices of items */
  size_t at;   /* bytes */
  PlanAliasKind kind;
} PlanAlias;

typedef enum PlanFaultKind {
  PLAN_SOUND,
  PLAN_FAULT_ITEM,      /* a: life ends before it begins, or align is no power of two */
  PLAN_FAULT_BOUNDS,    /* a: does not lie inside the arena */
  PLAN_FAULT_ALIGN,     /* a: offset is not a multiple of align */
  PLAN_FAULT_OVERLAP,   /* a and b: the same bytes at the same time, and no alias says so */
  PLAN_FAULT_ALIAS,     /* b: no such items, two storages, or in its own storage */
  PLAN_FAULT_INSIDE,    /* b does not lie where a has it, or not wholly inside */
  PLAN_FAULT_LIFETIME,  /* b outlives the a that it is a slice or part of */
  PLAN_FAULT_IN_PLACE   /* a is still needed when b is written over it, or is overwritten twice */
} PlanFaultKind;

typedef struct PlanFault {
  PlanFaultKind kind;
  size_t a, b; /* items */
} PlanFault;
const char *plan_fault_text(PlanFaultKind kind);

/* True when sound. The storage of a whole alias group counts as taken from its first write to its last read. */
bool plan_check(Arena *scratch, const PlanItem *items, size_t n, const PlanAlias *aliases, size_t n_aliases,
                size_t arena_size, PlanFault *ret);

#endif
