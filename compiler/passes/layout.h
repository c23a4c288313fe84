/* What the files of pass_layout share (layout.c: images; layout_volume.c: volumes). */
#ifndef CASTNET_LAYOUT_H
#define CASTNET_LAYOUT_H

#include "passes/passes.h"

enum { LAYOUT_SIDE = 1 << 20 }; /* no axis is longer, no step or reach of a window larger */

typedef struct Copy { Value *v; const Graph *graph; } Copy; /* NULL: none; where it is made: bodies may read it, nobody outside */

typedef struct Layout {
  Arena *arena; /* of the pass */
  int64_t block, sums;
  int64_t *ahead; /* by value id before the pass: products of the chain of convolutions, one image's, that reads it */
  bool *taken;    /* so: whether somebody computes on its blocks, behind element-wise work and moves perhaps */
  bool *left;     /* so: whether somebody reads it plain, or alone what element-wise work makes of it */
  VEC(Value *) of;     /* by id of the plain view: [N][blocks][H][W][block], what lies behind the channels is anything; NULL: none */
  VEC(Value *) slices; /* so of volumes: [N * D][blocks][H][W][block] */
  VEC(Copy) copies;    /* by id of a plain value: the same, copied into blocks or slices for a convolution or what else wanted it */
} Layout;

/* A size; -1 where it is open. */
int64_t layout_size(const Value *v, uint32_t axis);
/* The channels are known; sizes behind them modest each and together, or open. */
bool layout_is_modest(const Value *v);
/* A window along one spatial axis, none of whose sizes overflows what a kernel counts. */
bool layout_is_modest_window(const ConvAttr *a, const Value *w, const Value *y, uint32_t i);
bool layout_is_full(const Value *v, const Value *out);   /* of the result's shape */
bool layout_is_single(const Value *v);                   /* one element */
/* Whether a convolution whose input is plain pays for the copy into blocks. */
bool layout_worth_a_copy(const Layout *l, const Node *n);
/* A constant [channels][each] with zeros behind, in whole blocks, of the shape `dims`. */
Value *layout_fill_up(Builder *b, const Layout *l, const Value *v, int64_t channels, int64_t each, uint32_t rank, const Dim *const *dims);
/* The copy of a plain value that was made before where this graph sees it, or NULL; notes one. */
Value *layout_copy_of(const Builder *b, Layout *l, const Value *plain);
void layout_note_copy(const Builder *b, Layout *l, const Value *plain, Value *v);
void layout_note(Layout *l, bool slices, const Value *plain, Value *blocked);

/* Rewrites of nodes over volumes, [N][C][D][H][W]; operands that they take for look_ahead. */
uint32_t layout_volume_chained(const Layout *l, const Node *n);
bool layout_volume(Builder *b, const Node *n, Layout *l, Value **ret);

#endif
