/* What the attention operators have in common: heads, who sees whom, softmax over keys. */
#ifndef CASTNET_OPS_ATTENTION_H
#define CASTNET_OPS_ATTENTION_H

#include "ops/shared.h"

Value *op_split_heads(OpContext *c, Value *x, int64_t n);      /* [B][S][n * h] as [B][n][S][h]; rank 4 as it is */
Value *op_join_heads(OpContext *c, Value *x);                  /* the reverse */
Value *op_grouped_matmul(OpContext *c, Value *x, Value *y);    /* [B][n][S][a] by [B][kv][a][T]: a head of y serves n / kv of x */
Value *op_swap_last(OpContext *c, Value *x);                   /* [B][n][S][T] as [B][n][T][S] */

typedef struct Visibility {
  bool causal;
  int64_t left, right; /* window, -1: open */
  const Dim *past;     /* keys before this block of queries */
  Value *valid;        /* s64 [B]: keys that are no padding, or NULL; then the queries are the last of them */
} Visibility;

/* b1 [S][T], [B][1][S][T] with `valid`: whether query i sees key j. NULL when all are seen. */
Value *op_visible(OpContext *c, const Visibility *v, const Dim *queries, const Dim *keys);
Value *op_bias_of(OpContext *c, Value *allowed, DType t);      /* 0 where true, -infinity elsewhere; NULL of NULL */
Value *op_mask_bias(OpContext *c, Value *mask, const Dim *keys, DType t);
/* The same of com.microsoft's masks: numbers of valid keys [B], or [B][T] or [B][S][T], 1 visible; `filter` where hidden. */
Value *op_index_bias(OpContext *c, Value *mask, const Dim *batch, const Dim *keys, DType t, float filter);
/* x [B][n][S][h], the first `dim` (NULL: all) of h turned by tables [places][dim / 2] at positions s64 [B][S], or by [B][S][dim / 2] without. */
typedef struct Rotation {
  Value *cos, *sin, *positions;
  const Dim *dim;
  bool interleaved;
} Rotation;
Value *op_rotated(OpContext *c, Value *x, const Rotation *r);
/* RotaryEmbedding of inputs x, cos, sin, positions or NULL, with the node's attributes. */
bool op_rotary(OpContext *c);
Value *op_blind(OpContext *c, Value *bias); /* b1 [..][S][1]: whether the bias [..][S][T] hides all keys from a query, whose scores softmax would make NaN; NULL of NULL */
Value *op_unless_blind(OpContext *c, Value *x, Value *blind); /* x [B][n][S].. with zeros for such queries; x itself without */

#endif
