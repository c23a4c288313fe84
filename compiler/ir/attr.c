#include "ir/attr.h"

#include <stddef.h>

/* The last argument is a length or names: told apart by the kind. */
#define ARG_ENUM(arg) N_NONE, arg
#define ARG_DIMS(arg) arg, NULL
#define ARG_INTS(arg) arg, NULL
#define ARG_LABELS(arg) arg, NULL
#define ARG_ACTS(arg) arg, NULL
#define ARG_U8(arg) N_NONE, NULL
#define ARG_U32(arg) N_NONE, NULL
#define ARG_BOOL(arg) N_NONE, NULL
#define ARG_I64(arg) N_NONE, NULL
#define ARG_F32(arg) N_NONE, NULL
#define ARG_MASK(arg) N_NONE, NULL
#define ARG_DTYPE(arg) N_NONE, NULL
#define ARG_FN(arg) N_NONE, NULL
#define ARG_STR(arg) N_NONE, NULL
#define ARG_DIM(arg) N_NONE, NULL
#define ARG_AFFINES(arg) N_NONE, NULL
#define ARG_AXES(arg) N_NONE, NULL
#define ARG_EXPR(arg) N_NONE, NULL
#define ARG_VALUES(arg) N_NONE, NULL

const AttrField attr_fields[] = {
#define FIELD(op, type, member, kind, arg) {#member, OP_##op, ATTR_##kind, offsetof(type, member), ARG_##kind(arg)},
#include "ir/attr.def"
#undef FIELD
};
const size_t n_attr_fields = sizeof attr_fields / sizeof *attr_fields;

const char *const act_names[] = {
    "sigmoid", "tanh", "relu", "affine", "leaky_relu", "thresholded_relu", "scaled_tanh", "hard_sigmoid", "elu", "softsign", "softplus"};

size_t attr_size(Op op) {
  static const size_t sizes[OP_COUNT] = {
#define OP(name, attr) sizeof(attr),
#include "ir/op.def"
#undef OP
  };
  return sizes[op];
}

static bool rank_of(const Value *v, size_t *ret) {
  if (!v || v->type.kind != TYPE_TENSOR) return false;
  *ret = v->type.rank;
  return true;
}

static bool elements_of(const Value *v, size_t *ret) {
  int64_t d, n = 1;
  if (!v || v->type.kind != TYPE_TENSOR) return false;
  for (uint32_t i = 0; i < v->type.rank; i++) {
    if (!dim_is_const(v->type.dims[i], &d) || d < 0 || d > 1 << 20) return false;
    n *= d;
    if (n > 1 << 20) return false;
  }
  *ret = (size_t)n;
  return true;
}

bool attr_count(const Node *n, const AttrField *f, size_t *ret) {
  switch (f->count) {
    case N_NONE: return false;
    case N_RANK_IN0: return n->n_in > 0 && rank_of(n->in[0], ret);
    case N_RANK_IN1: return n->n_in > 1 && rank_of(n->in[1], ret);
    case N_RANK_OUT: return n->n_out > 0 && rank_of(n->out[0], ret);
    case N_SPATIAL: return *ret = n->op == OP_CONV ? ((const ConvAttr *)n->attr)->n_spatial : ((const PoolAttr *)n->attr)->n_spatial, true;
    case N_ELEMENTS_IN0: return n->n_in > 0 && elements_of(n->in[0], ret);
    case N_ELEMENTS_OUT: return n->n_out > 0 && elements_of(n->out[0], ret);
    case N_JOINED: return *ret = ((const IfAttr *)n->attr)->n_joined * (sizeof(JoinedDim) / sizeof(const Dim *)), true;
    case N_CARRIED: return *ret = ((const LoopAttr *)n->attr)->n_carried * (sizeof(CarriedDim) / sizeof(const Dim *)), true;
    case N_ACTS: {
      const RecurrentAttr *r = n->attr;
      return *ret = (r->direction == 2 ? 2 : 1) * (size_t)attr_acts(r->cell), true;
    }
  }
  return false;
}

uint32_t attr_coordinates(const Node *n) {
  const Value *v = n->op == OP_SCATTER ? (n->n_in > 1 ? n->in[1] : NULL) : n->n_out ? n->out[0] : NULL;
  return v && v->type.kind == TYPE_TENSOR ? v->type.rank : 0;
}
