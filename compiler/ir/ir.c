#include "ir/ir.h"

const char *const op_names[OP_COUNT] = {
#define OP(name, attr) #name,
#include "ir/op.def"
#undef OP
};

Ir *ir_new(Arena *a, Diags *d) {
  Ir *ir = NEW(a, Ir);
  ir->arena = a;
  ir->diags = d;
  ir->dims = dim_ctx_new(a);
  ir->main = graph_new(ir, NULL);
  ir->checking = ir->main;
  return ir;
}

Graph *graph_new(Ir *ir, Graph *parent) {
  Graph *g = NEW(ir->arena, Graph);
  g->ir = ir;
  g->parent = parent;
  return g;
}

bool graph_is_within(const Graph *g, const Graph *outer) {
  while (g && g != outer) g = g->parent;
  return g == outer;
}

static Value *value_new(Ir *ir, Type type, Str name) {
  Value *v = NEW(ir->arena, Value);
  v->id = ir->n_values++;
  v->type = type;
  v->name = name;
  return v;
}

Value *graph_add_value(Graph *g, Type type, Str name) {
  Value *v = value_new(g->ir, type, name);
  v->graph = g;
  return v;
}

Value *ir_add_const(Ir *ir, Type type, const Tensor *data, Str name) {
  Value *v = value_new(ir, type, name);
  v->data = data;
  v->graph = ir->main;
  vec_push(ir->arena, ir->constants, v);
  return v;
}

Node *graph_add_node(Graph *g, Op op, Value *const *in, size_t n_in, const Type *out_types, size_t n_out, const void *attr,
                     DiagPlace src) {
  Arena *a = g->ir->arena;
  Node *n = NEW(a, Node);
  n->op = op;
  n->graph = g;
  n->attr = attr;
  n->src = src;
  n->n_in = (uint32_t)n_in;
  n->in = arena_dup(a, in, n_in * sizeof *in);
  n->n_out = (uint32_t)n_out;
  n->out = NEW_ARRAY(a, Value *, n_out);
  for (uint32_t i = 0; i < n_out; i++) {
    n->out[i] = graph_add_value(g, out_types[i], (Str){0});
    n->out[i]->def = n;
    n->out[i]->def_index = i;
  }
  vec_push(a, g->nodes, n);
  return n;
}

bool ir_require_eq(Ir *ir, const Dim *a, const Dim *b) {
  int eq = dim_eq(ir->dims, a, b);
  if (eq >= 0) return eq == 1;
  if (dim_is_bad(a) || dim_is_bad(b)) return false;
  for (size_t i = 0; i < ir->n_checks; i++)
    if (((ir->checks[i].a == a && ir->checks[i].b == b) || (ir->checks[i].a == b && ir->checks[i].b == a)) && graph_is_within(ir->checking, ir->checks[i].graph))
      return true;
  if (ir->n_checks == ir->cap_checks) ir->checks = vec_grow(ir->arena, ir->checks, &ir->cap_checks, sizeof *ir->checks);
  ir->checks[ir->n_checks++] = (struct IrDimCheck){a, b, ir->checking};
  return true;
}

bool ir_require_le(Ir *ir, const Dim *a, const Dim *b) {
  const int le = dim_le(ir->dims, a, b);
  return le >= 0 ? le == 1 : ir_require_eq(ir, dim_max(ir->dims, a, b), b);
}

Type type_tensor(Ir *ir, DType t, uint32_t rank, const Dim *const *dims) {
  return (Type){.kind = TYPE_TENSOR, .dtype = t, .rank = rank, .dims = arena_dup(ir->arena, dims, rank * sizeof *dims)};
}

bool type_same(const Type *a, const Type *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case TYPE_TENSOR:
      return a->dtype == b->dtype && a->rank == b->rank &&
             (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
    case TYPE_MAP: return a->dtype == b->dtype && a->key == b->key;
    default: return type_same(a->elem, b->elem);
  }
}

static Type map_outside(Arena *a, const MapType *m) {
  const Type map = {.kind = TYPE_MAP, .dtype = m->value, .key = m->key};
  return m->sequence ? (Type){.kind = TYPE_SEQUENCE, .elem = arena_dup(a, &map, sizeof map)} : map;
}

Type type_outside(Arena *a, const Type *t) {
  const SeqType *s = t->seq;
  if (t->map) return map_outside(a, t->map);
  if (!s) return *t;
  Type *tensor = NEW(a, Type), *sequence = NEW(a, Type);
  *tensor = (Type){.kind = TYPE_TENSOR, .dtype = s->dtype, .rank = s->rank > 0 ? (uint32_t)s->rank : 0, .dims = s->dims};
  *sequence = (Type){.kind = TYPE_SEQUENCE, .elem = tensor};
  if (s->form == SEQ_SEQUENCE) return *sequence;
  return (Type){.kind = TYPE_OPTIONAL, .elem = s->form == SEQ_OPTIONAL ? tensor : sequence};
}

const Dim *type_count(Ir *ir, const Type *t) { return dim_product(ir->dims, t->dims, t->rank); }

static bool host_is_little(void) {
  const uint16_t one = 1;
  unsigned char low;
  memcpy(&low, &one, 1);
  return low == 1;
}

void tensor_reverse(DType t, size_t n_bytes, const void *in, void *out) {
  const unsigned char *from = in;
  unsigned char *to = out;
  size_t size = dtype_rows[t].bits < 8 ? 1 : dtype_rows[t].bits / 8;
  if (dtype_rows[t].kind == KIND_C) size /= 2;
  for (size_t i = 0; i < n_bytes; i += size)
    for (size_t k = 0; k < size; k++) to[i + k] = from[i + size - 1 - k];
}

/* Whole-byte elements between little-endian and host order. */
static void swap_elements(DType t, size_t n, const unsigned char *in, unsigned char *out) {
  size_t n_bytes = n * (dtype_rows[t].bits / 8);
  if (!host_is_little()) tensor_reverse(t, n_bytes, in, out);
  else if (n) memcpy(out, in, n_bytes);
}

const void *tensor_host_elements(Arena *a, const Tensor *t) {
  if (dtype_rows[t->dtype].kind == KIND_X) return t->strings;
  unsigned bits = dtype_rows[t->dtype].bits;
  if (bits >= 8 && host_is_little() && (uintptr_t)t->bytes % (bits / 8) == 0) return t->bytes;
  unsigned char *out = arena_array(a, t->n, dtype_host_size(t->dtype));
  const unsigned char *in = t->bytes;
  if (bits >= 8) {
    swap_elements(t->dtype, t->n, in, out);
    return out;
  }
  unsigned per = 8 / bits, mask = (1u << bits) - 1;
  for (size_t i = 0; i < t->n; i++) {
    unsigned v = (unsigned)in[i / per] >> (i % per * bits) & mask;
    if (dtype_rows[t->dtype].kind == KIND_S && v >> (bits - 1)) v |= ~mask;
    out[i] = (unsigned char)v;
  }
  return out;
}

const Tensor *tensor_take_host(Arena *a, DType t, size_t n, void *elements) {
  if (dtype_rows[t].bits < 8 || !host_is_little()) return tensor_from_host(a, t, n, elements);
  Tensor *r = NEW(a, Tensor);
  *r = (Tensor){.dtype = t, .n = n, .bytes = elements};
  if (!dtype_bytes(t, n, &r->n_bytes)) door_leave(arena_door(a), DOOR_MEMORY, "out of memory (constant)");
  return r;
}

const Tensor *tensor_from_host(Arena *a, DType t, size_t n, const void *elements) {
  Tensor *r = NEW(a, Tensor);
  r->dtype = t;
  r->n = n;
  if (dtype_rows[t].kind == KIND_X) {
    r->strings = elements;
    return r;
  }
  unsigned bits = dtype_rows[t].bits;
  if (!dtype_bytes(t, n, &r->n_bytes)) door_leave(arena_door(a), DOOR_MEMORY, "out of memory (constant)");
  unsigned char *out = arena_array(a, r->n_bytes, 1);
  if (bits >= 8) {
    swap_elements(t, n, elements, out);
  } else {
    unsigned per = 8 / bits, mask = (1u << bits) - 1;
    for (size_t i = 0; i < n; i++)
      out[i / per] = (unsigned char)(out[i / per] | (((const unsigned char *)elements)[i] & mask) << (i % per * bits));
  }
  r->bytes = out;
  return r;
}

/* Whether the operand's axes, aligned at the end, are those of x in [from, to) and 1 elsewhere. */
static bool spans(const Type *operand, const Type *x, uint32_t from, uint32_t to) {
  if (operand->rank > x->rank) return false;
  uint32_t shift = x->rank - operand->rank;
  for (uint32_t a = 0; a < x->rank; a++) {
    const bool present = a >= shift, inside = a >= from && a < to, one = !present || dim_is(operand->dims[a - shift], 1);
    if (inside ? (present ? operand->dims[a - shift] != x->dims[a] : !dim_is(x->dims[a], 1)) : !one) return false;
  }
  return true;
}

NormOperand norm_operand_kind(const Type *operand, const Type *x, uint32_t axis) {
  if (spans(operand, x, axis, x->rank)) return NORM_BY_PLACE;
  return axis && spans(operand, x, axis - 1, axis) ? NORM_BY_ROW : NORM_BY_OTHER;
}
