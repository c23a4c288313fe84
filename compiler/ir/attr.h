/* Attributes of the graph's operators as tables of fields (ir/attr.def). */
#ifndef CASTNET_ATTR_H
#define CASTNET_ATTR_H

#include "ir/ir.h"

typedef enum AttrKind {
  ATTR_U8, ATTR_U32, ATTR_BOOL, ATTR_I64, ATTR_F32,
  ATTR_ENUM,    /* an int */
  ATTR_MASK,    /* uint32_t, printed in hexadecimal */
  ATTR_DTYPE, ATTR_FN, ATTR_STR,
  ATTR_DIM,     /* may be NULL */
  ATTR_DIMS, ATTR_INTS, ATTR_LABELS, ATTR_ACTS, /* pointers to arrays */
  ATTR_AFFINES, /* of the axes of in[0], over output coordinates */
  ATTR_AXES,    /* GatherAxis of the axes of in[0] */
  ATTR_EXPR, ATTR_VALUES
} AttrKind;

typedef enum AttrCount {
  N_NONE, N_RANK_IN0, N_RANK_IN1, N_RANK_OUT, N_SPATIAL, N_ELEMENTS_IN0, N_ELEMENTS_OUT, N_ACTS,
  N_JOINED, N_CARRIED /* dimensions in all */
} AttrCount;

typedef struct AttrField {
  const char *name;
  Op op;
  AttrKind kind;
  size_t at;         /* in the struct */
  AttrCount count;
  const char *names; /* ENUM: separated by blanks */
} AttrField;
extern const AttrField attr_fields[];
extern const size_t n_attr_fields;

size_t attr_size(Op op); /* bytes of the attribute struct */
/* Length of an array field of this node; false when the node's types do not tell. */
bool attr_count(const Node *n, const AttrField *f, size_t *ret);
/* Coordinates that affine indices of this node's axes are over. */
uint32_t attr_coordinates(const Node *n);
/* The pointer of an array field. */
static inline const void *attr_array(const Node *n, const AttrField *f) {
  const void *p;
  memcpy(&p, (const char *)n->attr + f->at, sizeof p);
  return p;
}
static inline uint32_t attr_acts(CellKind cell) { return cell == CELL_LSTM ? 3 : cell == CELL_GRU ? 2 : 1; }
extern const char *const act_names[];
enum { ACT_KINDS = ACT_SOFTPLUS + 1 };

#endif
